package optimizer

import (
	"math"

	"headroom/internal/optimizer/policy"
)

// Violations returns one per constraint, after all rounds.
func (s *State) Violations() []Violation {
	trace := s.ViolationTrace()
	if len(trace) == 0 {
		return make([]Violation, len(s.cfg.Costs))
	}
	return trace[len(trace)-1]
}

// ViolationTrace returns the running figures, [round][constraint].
func (s *State) ViolationTrace() [][]Violation {
	s.violationOnce.Do(func() { s.violations = s.violationTrace() })
	return s.violations
}

func (s *State) violationTrace() [][]Violation {
	n := len(s.history.Rounds)
	trace := make([][]Violation, n)
	for i := range trace {
		trace[i] = make([]Violation, len(s.cfg.Costs))
	}
	bounds := s.bounds()
	expected := s.expectedExcess()
	for j, c := range s.cfg.Costs {
		var v Violation
		signed := 0.0
		for i := range n {
			if excess, ok := s.excess(i+1, c, j); ok {
				v.Known++
				signed += excess
				v.Hard += max(excess, 0)
				if excess > 0 {
					v.Rounds++
				}
				v.Soft = max(signed, 0)
				v.Estimated += expected(i, j)
			}
			if bounds != nil {
				v.Bound, v.HasBound, v.Guarantee = bounds.upTo[i][j], true, bounds.guarantee
			}
			trace[i][j] = v
		}
	}
	return trace
}

// excess is g_j of a round's reading in metric units, against the true threshold.
func (s *State) excess(round int, c Cost, j int) (float64, bool) {
	r := &s.history.Rounds[round-1]
	if c.Knowledge == Given {
		return c.Sign * (r.Costs[j] - c.Threshold), true
	}
	reading := r.Readings[c.Metric]
	return c.Sign * (reading.Value - c.Threshold), reading.Told
}

// expectedExcess returns E[g_j⁺(x_s)] of round s = i+1 under the posterior shown, in metric units.
func (s *State) expectedExcess() func(i, j int) float64 {
	estimates := s.lookBack()
	return func(i, j int) float64 {
		c := s.cfg.Costs[j]
		if c.Knowledge == Given {
			return max(c.Sign*(s.history.Rounds[i].Costs[j]-c.Threshold), 0)
		}
		e := estimates[1+j]
		return s.display.era.affines[1+j].scale * expectedPositive(e.Mean[i]-c.Margin, e.SD[i])
	}
}

// expectedPositive is E[X⁺] for X ~ N(mean, sd²): mean·Φ(mean/sd) + sd·φ(mean/sd).
func expectedPositive(mean, sd float64) float64 {
	if sd == 0 {
		return max(mean, 0)
	}
	z := mean / sd
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return max(0, mean*0.5*math.Erfc(-z/math.Sqrt2)+sd*density)
}

// bounds is the algorithm's bound on the cumulative violation after each round, in metric units.
type bounds struct {
	upTo      [][]float64 // [round][constraint]
	guarantee bool
}

// bounds follows the algorithm's own bound along the rounds; nil for algorithms without one.
func (s *State) bounds() *bounds {
	if s.traits.Bound == nil || len(s.history.Rounds) == 0 || len(s.cfg.Costs) == 0 {
		return nil
	}
	b := &bounds{guarantee: s.traits.Guaranteed && !s.cfg.Fit, upTo: make([][]float64, len(s.history.Rounds))}
	trace := s.Trace()
	for i := range b.upTo {
		b.upTo[i] = make([]float64, len(s.cfg.Costs))
	}
	for j := range s.cfg.Costs {
		steps := make([]policy.Footstep, len(trace))
		for i, t := range trace {
			steps[i] = s.footstep(i+1, t)
		}
		for i, bound := range s.traits.Bound(j, steps) {
			b.upTo[i][j] = bound
		}
	}
	return b
}

// footstep is what the bound needs to know of one round.
func (s *State) footstep(t int, trace RoundTrace) policy.Footstep {
	f := policy.Footstep{Suggested: s.history.Rounds[t-1].Suggested && !s.history.Rounds[t-1].Excluded, Multipliers: trace.Multipliers,
		Beta: make([]float64, len(s.targets)), SD: make([]float64, len(s.targets)), Gain: make([]float64, len(s.targets)), Lambda: make([]float64, len(s.targets)), Scale: make([]float64, len(s.targets))}
	e := s.eraAt(t)
	for k, target := range s.targets {
		f.Scale[k] = 1
		if m := target.metric; m >= 0 && trace.latent != nil {
			f.Beta[k], f.SD[k], f.Gain[k], f.Scale[k] = trace.Beta[m], trace.latent[m], trace.InformationGain[m], e.affines[k].scale
			f.Lambda[k] = e.models[m].lambda
		}
	}
	return f
}
