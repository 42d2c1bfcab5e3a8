package optimizer

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// ending is the spell during which decision t finds the round failed or abandoned, if it does.
func (r *Round) ending(t int) (spell Spell, ended bool) {
	for _, c := range r.Closed {
		if c.From <= t && (c.To == 0 || t < c.To) {
			return c, true
		}
	}
	return Spell{}, false
}

func (r *Round) closedAt(t int) bool {
	_, ended := r.ending(t)
	return ended
}

func (r Reading) seenAt(t int) bool { return r.Told && r.Revealed < t }

// told lists the included rounds with a reading of the metric that the next decision sees.
func (s *task) told(metric int) []int {
	var rounds []int
	for i, r := range s.history.Rounds {
		if !r.Excluded && r.Readings[metric].Told {
			rounds = append(rounds, i+1)
		}
	}
	return rounds
}

// Unread tells whether the next decision sees no reading of the metric, so that all that is
// believed of it is its prior.
func (s *task) Unread(metric int) bool { return len(s.told(metric)) == 0 }

// readSince tells whether a reading that counts was told after decision t was made, which the next
// decision sees.
func (s *task) readSince(t int) bool {
	return slices.ContainsFunc(s.history.Rounds, func(r Round) bool {
		return !r.Excluded && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.Revealed >= t && reading.seenAt(s.Round()) })
	})
}

// readAmong tells whether decision t had seen a reading of the metric in one of the rounds given.
func (s *task) readAmong(rounds []int, t, metric int) bool {
	return slices.ContainsFunc(rounds, func(n int) bool {
		r := &s.history.Rounds[n-1]
		return !r.Excluded && r.Readings[metric].seenAt(t)
	})
}

// playedBefore lists the rounds before t that were played at the same place.
func (s *task) playedBefore(t int) (rounds []int) {
	here := s.placeOf(t)
	for n := 1; n < t; n++ {
		if samePlace(s.placeOf(n), here) {
			rounds = append(rounds, n)
		}
	}
	return rounds
}

// excess is g_j of a round's reading in metric units, against the true threshold.
func (s *task) excess(round int, c Cost, j int) (float64, bool) {
	r := &s.history.Rounds[round-1]
	if c.Knowledge == Given {
		return c.Excess(r.Costs[j]), true
	}
	reading := r.Readings[c.Metric]
	return c.Excess(reading.Value), reading.Told
}

// readBeyond tells whether a reading of round n is beyond a learned limit.
func (s *task) readBeyond(n int) bool {
	return slices.ContainsFunc(s.cfg.Costs, func(c Cost) bool {
		if c.Knowledge == Given {
			return false
		}
		reading := s.history.Rounds[n-1].Readings[c.Metric]
		return reading.Told && c.Excess(reading.Value) > 0
	})
}

// readingsVary tells whether there is reason to believe that a second reading of the same settings
// would differ from the first: the noise of some metric is given, or came with a reading, or two
// readings of the same settings differed.
func (s *task) readingsVary() bool {
	s.varies.Do(func() { s.vary = s.history.differ(s.cfg) })
	return s.vary
}

// differ is what readingsVary finds out.
func (h *History) differ(cfg *Config) bool {
	for i, m := range cfg.Metrics {
		if !cfg.Fit || !m.FreeNoise {
			return true
		}
		first := map[string]float64{}
		for _, r := range h.Rounds {
			reading := r.Readings[i]
			if r.Excluded || !reading.Told {
				continue
			}
			at := string(bitsOf(r.Point))
			before, again := first[at]
			if reading.SD > 0 || again && reading.Value != before {
				return true
			}
			first[at] = reading.Value
		}
	}
	return false
}

// firstAt is the first round that was played where round t was.
func (s *task) firstAt(t int) int {
	s.compared.Do(func() {
		played := make(map[string]int, len(s.history.Rounds))
		for i, r := range s.history.Rounds {
			at := string(bitsOf(r.Point))
			if _, again := played[at]; !again {
				played[at] = i + 1
			}
			s.first = append(s.first, played[at])
		}
	})
	return s.first[t-1]
}

// tried tells which places a round that counts has tried or asked for.
func (s *task) tried() func(Place) bool {
	key := func(u []float64) string { return string(bitsOf(u)) }
	if s.cfg.Space.Arms == nil { // a ledger keeps settings in clean decimals, a little beside the place that was found
		key = func(u []float64) string {
			rounded := make([]float64, len(u))
			for k, x := range u {
				rounded[k] = math.Round(x * 1e6)
			}
			return string(bitsOf(rounded))
		}
	}
	played := map[string]bool{}
	for _, r := range s.history.Rounds {
		if !r.Excluded && !r.closedAt(s.Round()) {
			played[key(r.Point)] = true
		}
	}
	return func(p Place) bool { return played[key(p.U)] }
}

// bitsOf are the bytes of numbers, which tell points apart.
func bitsOf(u []float64) []byte {
	bits := make([]byte, 0, 8*len(u))
	for _, x := range u {
		bits = binary.LittleEndian.AppendUint64(bits, math.Float64bits(x))
	}
	return bits
}

// placeKey tells places apart: by their candidate, else by their coordinates.
func placeKey(p Place) string {
	if p.Arm >= 0 {
		return fmt.Sprint(p.Arm)
	}
	return fmt.Sprint(p.U)
}

func samePlace(a, b Place) bool {
	if a.Arm >= 0 || b.Arm >= 0 {
		return a.Arm == b.Arm
	}
	for i := range a.U {
		if math.Abs(a.U[i]-b.U[i]) > 1e-12 {
			return false
		}
	}
	return true
}

// costsOf are the values of constraints that were known beforehand, at the points of some rounds.
func (s *task) costsOf(rounds []int) func(j, i int) float64 {
	return func(j, i int) float64 { return s.history.Rounds[rounds[i]-1].Costs[j] }
}

// givenAt are the given constraints' values at x_t, 0 for learned ones.
func (s *task) givenAt(t int) []float64 {
	out := make([]float64, len(s.cfg.Costs))
	for j, c := range s.cfg.Costs {
		if c.Knowledge == Given {
			out[j] = c.given(s.history.Rounds[t-1].Costs[j])
		}
	}
	return out
}

// designed tells whether decision t, if it is the algorithm's, belongs to a first design of so many
// rounds.
func (s *task) designed(t, design int) bool { return t <= design || design > 0 && s.blind(t) }

// blind tells that a policy which weighs what was read would have nothing to weigh at decision t:
// its first design goes on until the first reading, so that a plate of fifty asked for at once is
// fifty places.
func (s *task) blind(t int) bool {
	if s.traits.Incumbent == nil {
		return false
	}
	return !slices.ContainsFunc(s.history.Rounds, func(r Round) bool {
		return !r.Excluded && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.seenAt(t) })
	})
}

// chosenBefore are the rounds before decision t that the algorithm chose by its model.
func (s *task) chosenBefore(t int) []int {
	var chosen []int
	design := s.settings.InitialDesign()
	for n := 1; n < t; n++ {
		if s.history.Rounds[n-1].Suggested && !s.designed(n, design) {
			chosen = append(chosen, n)
		}
	}
	return chosen
}

// beyond tells whether a reading of round n that decision t sees is beyond one of the limits, and
// whether that is known of the round. Readings of excluded rounds count: they happened.
func (s *task) beyond(n, t int, costs []int) (broken, known bool) {
	known = true
	for _, j := range costs {
		c := s.cfg.Costs[j]
		reading := s.history.Rounds[n-1].Readings[c.Metric]
		if !reading.seenAt(t) {
			known = false
		} else if c.Excess(reading.Value) > 0 {
			return true, true
		}
	}
	return false, known
}

// completed is the round during which the last reading of round n that any target needs was told,
// if the round is included and all were.
func (s *task) completed(n int) (last int, ok bool) {
	r := &s.history.Rounds[n-1]
	if r.Excluded {
		return 0, false
	}
	for _, t := range s.targets {
		if t.metric < 0 {
			continue
		}
		reading := r.Readings[t.metric]
		if !reading.Told {
			return 0, false
		}
		last = max(last, reading.Revealed)
	}
	return last, true
}
