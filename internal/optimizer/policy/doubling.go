package policy

import (
	"maps"
	"math/bits"

	"headroom/internal/lists"
)

// The words of horizonSetting.
const (
	plannedHorizon = "planned"
	doublingAfresh = "doubling"
	doublingReuse  = "doubling_reuse"
)

// horizonSetting belongs to algorithms whose constants follow from T.
var horizonSetting = Setting{Name: "horizon", Type: Text, Default: plannedHorizon,
	Choices: []string{plannedHorizon, doublingAfresh, doublingReuse},
	Meaning: "T in the algorithm’s constants: planned, the number of trials planned; " +
		"doubling, for a number that nobody knows: phases of 1, 2, 4, … trials, " +
		"each with its length for T and started afresh, readings, multipliers and all; " +
		"doubling_reuse: readings of earlier phases keep counting"}

// phases is how many phases there can be: 2³¹ − 1 rounds.
const phases = 31

// doubling is the doubling trick of Zhou and Ji's Remark 2: the algorithm runs in phases i = 0, 1,
// 2, … of 2ⁱ rounds, each with the constants of T = 2ⁱ. At the beginning of a phase the multipliers
// are those of round 1 and, unless readings are reused, data and γ start afresh. Each phase that
// starts afresh may fail by itself, so phase i has failure probability p/((i+1)(i+2)), which sums
// to p.
type doubling struct {
	phases []Policy
	reuse  bool
}

// phased makes an algorithm with the horizon of its settings.
func phased(build func(Context, Settings) Policy) func(Context, Settings) Policy {
	return func(c Context, s Settings) Policy {
		if s.plannedHorizon() {
			return build(c, s)
		}
		a := doubling{reuse: s.Text("horizon") == doublingReuse}
		for i := range phases {
			own := s
			if !a.reuse {
				own = s.sharing(float64((i + 1) * (i + 2)))
			}
			c.Horizon = 1 << i
			a.phases = append(a.phases, build(c, own))
		}
		return a
	}
}

// plannedHorizon tells whether T is the number of rounds planned.
func (s Settings) plannedHorizon() bool {
	horizon := s.Text("horizon")
	return horizon == "" || horizon == plannedHorizon
}

// sharing is the settings with the failure probability of every width divided by n.
func (s Settings) sharing(n float64) Settings {
	shared := func(width any) any {
		if b, is := width.(Beta); is {
			b.P /= n
			return b
		}
		return width
	}
	widths := s.values[betaSetting.Name]
	widths.rest, widths.by = shared(widths.rest), maps.Clone(widths.by)
	for name, b := range widths.by {
		widths.by[name] = shared(b)
	}
	s.values = maps.Clone(s.values)
	s.values[betaSetting.Name] = widths
	return s
}

// lastHorizon is the T of the last round's constants. Where readings are reused, it is how many
// readings there may be by then, which λ has to suit.
func (c Circumstances) lastHorizon() int {
	switch c.Settings.Text("horizon") {
	case doublingAfresh:
		return phaseStart(phaseOf(c.Rounds))
	case doublingReuse:
		return max(c.Rounds, 1)
	}
	return c.Horizon
}

// phaseOf is the phase of round t.
func phaseOf(t int) int { return min(bits.Len(uint(max(t, 1)))-1, phases-1) }

// phaseStart is the first round of phase i, and its length.
func phaseStart(i int) int { return 1 << i }

func (a doubling) at(round int) Policy { return a.phases[phaseOf(round)] }

// Traits are those of the phases, which differ only in their horizon.
func (a doubling) Traits() Traits {
	t := a.phases[0].Traits()
	if own := t.First; !a.reuse {
		t.First = func(round int) int {
			start := phaseStart(phaseOf(round))
			if own != nil {
				return max(own(round), start)
			}
			return start
		}
	}
	if t.Upper != nil {
		t.Upper = func(s *Input) Scores { return a.at(s.Round).Traits().Upper(s) }
	}
	if t.Slopes != nil {
		t.Slopes = func(s *Input) Slopes { return a.at(s.Round).Traits().Slopes(s) }
	}
	if t.Bound != nil {
		t.Bound = func(j int, rounds []RoundSummary) []float64 {
			return a.overPhases(rounds, func(t Traits, phase []RoundSummary) []float64 { return t.Bound(j, phase) })
		}
	}
	if t.RegretBound != nil {
		t.RegretBound = func(rounds []RoundSummary) []float64 {
			return a.overPhases(rounds, func(t Traits, phase []RoundSummary) []float64 { return t.RegretBound(phase) })
		}
	}
	t.Horizon = func(round int) int { return phaseStart(phaseOf(round)) }
	return t
}

func (a doubling) Start() []float64                    { return a.phases[0].Start() }
func (a doubling) Beta(w WidthInput) []float64         { return a.at(w.Round).Beta(w) }
func (a doubling) Score(s *Input) (Scores, error)      { return a.at(s.Round).Score(s) }
func (a doubling) Estimates(s *Input, i int) []float64 { return a.at(s.Round).Estimates(s, i) }
func (a doubling) Step(q []float64, r *Revealed) []float64 {
	if phaseOf(r.Round+1) > phaseOf(r.Round) {
		return a.Start()
	}
	return a.at(r.Round).Step(q, r)
}

// overPhases adds up the bounds of the phases' algorithms over their rounds: [Σ_s g(x_s)]⁺ over all
// rounds is at most its sum over the phases, and regret adds up.
func (a doubling) overPhases(rounds []RoundSummary, bound func(Traits, []RoundSummary) []float64) []float64 {
	out := make([]float64, 0, len(rounds))
	for i, before := 0, 0.0; len(out) < len(rounds); i++ {
		phase := rounds[len(out):min(phaseStart(i+1)-1, len(rounds))]
		out = append(out, lists.Map(bound(a.phases[i].Traits(), phase), func(sum float64) float64 { return before + sum })...)
		before = out[len(out)-1]
	}
	return out
}
