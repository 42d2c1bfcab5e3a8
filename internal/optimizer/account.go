package optimizer

import (
	"context"
	"slices"
	"sync"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
)

// account is what came of the rounds: the multipliers, and what is traced of every decision.
type account struct {
	*evidence
	shown       *shown
	multipliers []float64 // of the next decision
	trace       tracing

	// What is made of the trace when it is first asked for.
	stepped    sync.Once
	steps      []policy.Footstep
	violated   sync.Once
	violations [][]Violation
}

// Multipliers returns one per constraint, for the next decision, or nil for algorithms without.
func (s *account) Multipliers() []float64 { return s.multipliers }

// AtCeiling tells, per constraint, whether its multiplier for the next decision has reached the
// largest value the algorithm lets it have (ρ of the primal-dual algorithms, kappa_max of
// penalty-noiseless); nil for algorithms without one.
func (s *account) AtCeiling() []bool {
	if s.traits.Ceiling == nil {
		return nil
	}
	at := make([]bool, len(s.multipliers))
	for j, m := range s.multipliers {
		at[j] = m >= s.traits.Ceiling(j)
	}
	return at
}

// moment is what a step of the multipliers is made with.
type moment struct {
	regime  *regime
	waiting []bool // costs without a scale of their metric yet, whose readings are left out
	still   []bool // costs whose multipliers do not move at all
	slid    windows
}

// walk moves the multipliers through the rounds, from the first on that can move them otherwise
// than in the prior state.
func (s *account) walk(ctx context.Context, prior *account) error {
	first, q := 1, s.policy.Start()
	scaled := s.scaledFrom()
	if prior != nil {
		first = s.agreed.decision
		s.path, q = prior.path.prefix(first-1), prior.multipliers
		if first <= len(prior.path.items) {
			q = prior.path.items[first-1]
		}
	}
	slid := windows{}
	for t := first; t < s.Round(); t++ {
		if err := checkpoint.Reach(ctx); err != nil {
			return err
		}
		s.path = s.path.append(q)
		m := moment{s.regimeAt(t), make([]bool, len(scaled)), make([]bool, len(scaled)), slid}
		for j, from := range scaled {
			m.waiting[j] = t < from
			m.still[j] = m.waiting[j] && s.traits.MovesByEstimate
		}
		var err error
		if q, err = s.step(ctx, t, q, m); err != nil {
			return err
		}
		if slices.Contains(scaled, t+1) {
			if q, err = s.takeIn(ctx, t, q, scaled); err != nil {
				return err
			}
		}
	}
	s.multipliers = q
	return nil
}

// step moves the multipliers at the end of round t.
func (s *account) step(ctx context.Context, t int, q []float64, m moment) ([]float64, error) {
	r := policy.Revealed{Round: t, Excluded: s.history.Rounds[t-1].Excluded,
		Costs: s.costs(t, m), Given: s.givenAt(t),
		Since: func(first, j int) []float64 { return s.costsSince(first, t, j, m) }}
	if s.traits.MovesByEstimate {
		estimates, err := s.ownEstimates(ctx, t, q, m)
		if err != nil {
			return nil, err
		}
		r.Own = estimates[1:]
	}
	next := s.policy.Step(q, &r)
	for j := range next {
		if m.still[j] {
			next[j] = q[j]
		}
	}
	return next, nil
}

// takeIn goes through rounds 1 to t once more for the costs that have waited until now, in their
// order and with their first scale.
func (s *account) takeIn(ctx context.Context, t int, q []float64, scaled []int) ([]float64, error) {
	others := make([]bool, len(scaled))
	for j, from := range scaled {
		others[j] = from != t+1
	}
	regime := s.regimeAt(t + 1)
	for n := 1; n <= t; n++ {
		var err error
		if q, err = s.step(ctx, n, q, moment{regime, others, others, nil}); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// costs are the readings of every cost that were told during round t, in the units of the moment.
func (s *account) costs(t int, m moment) [][]float64 {
	out := make([][]float64, len(s.cfg.Costs))
	for j := range s.cfg.Costs {
		if m.waiting[j] {
			continue
		}
		told := []arrival{{round: t}}
		if metric := s.targets[1+j].metric; metric >= 0 {
			told = s.tellings(metric, t)
		}
		for _, a := range told {
			if g, _, known := s.costAt(a.round, j, m.regime); known {
				out[j] = append(out[j], g)
			}
		}
	}
	return out
}

// costAt is cost j of round n in modelled units, by the end of which round it was known, and whether
// it is and counts.
func (s *account) costAt(n, j int, regime *regime) (g float64, since int, known bool) {
	r, k := &s.history.Rounds[n-1], s.targets[1+j].metric
	switch {
	case r.Excluded:
		return 0, 0, false
	case k < 0:
		return s.cfg.Costs[j].given(r.Costs[j]), n, true
	}
	reading := r.Readings[k]
	return regime.transforms[1+j].function(reading.Value), reading.Revealed, reading.Told
}

// costsSince are the readings of cost j of rounds first..t told by the end of round t.
func (s *account) costsSince(first, t, j int, m moment) []float64 {
	if m.waiting[j] {
		return nil
	}
	var out []float64
	for n := first; n <= t; n++ {
		if g, since, known := s.costAt(n, j, m.regime); known && since <= t {
			out = append(out, g)
		}
	}
	return out
}

// ownEstimates is what decision t made of the point it chose, as the algorithm's multipliers need
// it.
func (s *account) ownEstimates(ctx context.Context, t int, q []float64, m moment) ([]float64, error) {
	v, err := s.actingIn(ctx, m.regime, t, q, m.slid)
	if err != nil {
		return nil, err
	}
	r := &s.history.Rounds[t-1]
	known := func(j, _ int) float64 { return r.Costs[j] }
	estimates, err := v.played(ctx, t, known)
	if err != nil {
		return nil, err
	}
	then := &decision{view: v}
	input, err := then.drawn(ctx, then.inputFrom(ctx, []Place{s.placeOf(t)}, known, s.draw(t), estimates), s.placeOf(t), known)
	if err != nil {
		return nil, err
	}
	return s.policy.Estimates(input, 0), nil
}
