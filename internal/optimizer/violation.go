package optimizer

import (
	"context"
	"math"

	"headroom/internal/optimizer/policy"
)

// Excess is how far a metric's value is beyond the limit, in metric units; the limit holds when it
// is not positive:
//
//	g = Sign·(value − Threshold)
func (c Cost) Excess(value float64) float64 { return c.Sign * (value - c.Threshold) }

// Tally adds up how far one limit was broken by the trials whose value is known, in metric units.
// Excluded trials count: they happened.
//
//	Balance = Σ g,  Soft = [Σ g]⁺,  Hard = Σ [g]⁺,  Largest = max [g]⁺,  Rounds = #{g > 0},  Known = #{g}
type Tally struct {
	Balance, Soft, Hard, Largest float64
	Rounds, Known                int
}

// Add counts one more trial, beyond the limit by g.
func (t *Tally) Add(g float64) {
	t.Known++
	t.Balance += g
	t.Soft = max(t.Balance, 0)
	if g > 0 {
		t.Hard += g
		t.Largest = max(t.Largest, g)
		t.Rounds++
	}
}

// Violations returns one per constraint, after all rounds. The error is that of ctx.
func (s *account) Violations(ctx context.Context) ([]Violation, error) {
	trace, err := s.ViolationTrace(ctx)
	if err != nil {
		return nil, err
	}
	if len(trace) == 0 {
		return make([]Violation, len(s.cfg.Costs)), nil
	}
	return trace[len(trace)-1], nil
}

// ViolationTrace returns the running figures, [round][constraint]. The error is that of ctx.
func (s *account) ViolationTrace(ctx context.Context) ([][]Violation, error) {
	steps, err := s.footsteps(ctx, s.traits.Bound != nil)
	if err != nil {
		return nil, err
	}
	estimates, err := s.shown.inSample(ctx)
	if err != nil {
		return nil, err
	}
	s.violated.Do(func() { s.violations = s.violationTrace(steps, s.shown.expectedExcess(estimates)) })
	return s.violations, nil
}

func (s *account) violationTrace(steps []policy.Footstep, expected [][]float64) [][]Violation {
	n := len(s.history.Rounds)
	trace := make([][]Violation, n)
	for i := range trace {
		trace[i] = make([]Violation, len(s.cfg.Costs))
	}
	for j, c := range s.cfg.Costs {
		var v Violation
		var bound []float64
		if steps != nil {
			bound = s.traits.Bound(j, steps)
		}
		for i := range n {
			if excess, ok := s.excess(i+1, c, j); ok {
				v.Add(excess)
				v.Estimated += expected[i][j]
				if bound != nil && steps[i].Suggested {
					v.Bounded.Add(excess)
				}
			}
			if bound != nil {
				v.Bound, v.HasBound = bound[i], true
			}
			trace[i][j] = v
		}
	}
	return trace
}

// RegretBounds returns the algorithm's bound on the cumulative regret after each round, in units of
// the objective; nil for algorithms without one. The error is that of ctx.
func (s *account) RegretBounds(ctx context.Context) ([]float64, error) {
	steps, err := s.footsteps(ctx, s.traits.RegretBound != nil)
	if steps == nil || err != nil {
		return nil, err
	}
	return s.traits.RegretBound(steps), nil
}

// footsteps are what bounds need to know of the rounds; nil where they are not wanted, or there are
// none.
func (s *account) footsteps(ctx context.Context, wanted bool) ([]policy.Footstep, error) {
	if !wanted || len(s.history.Rounds) == 0 {
		return nil, nil
	}
	trace, err := s.Trace(ctx)
	if err != nil {
		return nil, err
	}
	s.stepped.Do(func() {
		s.steps = make([]policy.Footstep, len(trace))
		for i, t := range trace {
			s.steps[i] = s.footstep(i+1, t)
		}
	})
	return s.steps, nil
}

// footstep is what bounds need to know of one round.
func (s *account) footstep(t int, trace RoundTrace) policy.Footstep {
	f := policy.Footstep{Suggested: s.history.Rounds[t-1].Suggested && !s.history.Rounds[t-1].Excluded, Multipliers: trace.Multipliers,
		Beta: make([]float64, len(s.targets)), SD: make([]float64, len(s.targets)), Gain: make([]float64, len(s.targets)), Lambda: make([]float64, len(s.targets)), Scale: make([]float64, len(s.targets))}
	regime := s.regimeAt(t)
	f.Costs, f.After = s.costsAt(t, regime), s.multipliersAt(t+1)
	for k, target := range s.targets {
		f.Scale[k] = 1
		if m := target.metric; m >= 0 && trace.latent != nil {
			f.Beta[k], f.SD[k], f.Gain[k], f.Scale[k] = trace.Beta[m], trace.latent[m], trace.InformationGain[m], regime.transforms[k].scale
			f.Lambda[k] = regime.models[m].lambda
		}
	}
	return f
}

// costsAt are the costs at x_t in modelled units, as multipliers move by them, NaN where nothing
// counts.
func (s *account) costsAt(t int, regime *regime) []float64 {
	out := make([]float64, len(s.cfg.Costs))
	for j := range out {
		out[j] = math.NaN()
		if g, _, known := s.costAt(t, j, regime); known {
			out[j] = g
		}
	}
	return out
}

// multipliersAt are those of decision t, at most the next one.
func (s *account) multipliersAt(t int) []float64 {
	if t <= len(s.path.items) {
		return s.path.items[t-1]
	}
	return s.multipliers
}
