package optimizer

import (
	"context"

	"headroom/internal/optimizer/policy"
)

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
	n := len(s.history.Rounds)
	trace := make([][]Violation, n)
	for i := range trace {
		trace[i] = make([]Violation, len(s.cfg.Costs))
	}
	bounds, err := s.bounds(ctx)
	if err != nil {
		return nil, err
	}
	estimates, err := s.shown.inSample(ctx)
	if err != nil {
		return nil, err
	}
	expected := s.shown.expectedExcess(estimates)
	for j, c := range s.cfg.Costs {
		var v Violation
		for i := range n {
			if excess, ok := s.excess(i+1, c, j); ok {
				v.Add(excess)
				v.Estimated += expected(i, j)
			}
			if bounds != nil {
				v.Bound, v.HasBound = bounds[i][j], true
			}
			trace[i][j] = v
		}
	}
	return trace, nil
}

// bounds follows the algorithm's own bound on the cumulative violation after each round, [round][constraint] in metric units; nil for algorithms without one.
func (s *account) bounds(ctx context.Context) ([][]float64, error) {
	if s.traits.Bound == nil || len(s.history.Rounds) == 0 || len(s.cfg.Costs) == 0 {
		return nil, nil
	}
	upTo := make([][]float64, len(s.history.Rounds))
	trace, err := s.Trace(ctx)
	if err != nil {
		return nil, err
	}
	steps := make([]policy.Footstep, len(trace))
	for i, t := range trace {
		upTo[i], steps[i] = make([]float64, len(s.cfg.Costs)), s.footstep(i+1, t)
	}
	for j := range s.cfg.Costs {
		for i, bound := range s.traits.Bound(j, steps) {
			upTo[i][j] = bound
		}
	}
	return upTo, nil
}

// footstep is what the bound needs to know of one round.
func (s *account) footstep(t int, trace RoundTrace) policy.Footstep {
	f := policy.Footstep{Suggested: s.history.Rounds[t-1].Suggested && !s.history.Rounds[t-1].Excluded, Multipliers: trace.Multipliers,
		Beta: make([]float64, len(s.targets)), SD: make([]float64, len(s.targets)), Gain: make([]float64, len(s.targets)), Lambda: make([]float64, len(s.targets)), Scale: make([]float64, len(s.targets))}
	regime := s.regimeAt(t)
	for k, target := range s.targets {
		f.Scale[k] = 1
		if m := target.metric; m >= 0 && trace.latent != nil {
			f.Beta[k], f.SD[k], f.Gain[k], f.Scale[k] = trace.Beta[m], trace.latent[m], trace.InformationGain[m], regime.transforms[k].scale
			f.Lambda[k] = regime.models[m].lambda
		}
	}
	return f
}
