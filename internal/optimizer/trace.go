package optimizer

import (
	"context"
	"math"
	"slices"
	"sync"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
)

// tracing is how far the trace has come. Callers that need it at the same time work on it in turns, a round each.
type tracing struct {
	mu     sync.Mutex
	rounds []RoundTrace
	slid   windows
}

// Trace returns one entry per round. The error is that of ctx, later calls going on from there.
func (s *account) Trace(ctx context.Context) ([]RoundTrace, error) {
	for {
		if done, err := s.traceFurther(ctx); done || err != nil {
			return s.trace.rounds, err
		}
		if err := checkpoint.Reach(ctx); err != nil {
			return nil, err
		}
	}
}

// keepTrace takes over what the prior state has traced of rounds of which nothing differs.
func (s *account) keepTrace(prior *account) {
	if prior == nil {
		return
	}
	l := &prior.trace
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.rounds), s.agreed.decision-1, s.agreed.record-1)
	s.trace.rounds = l.rounds[:n:n]
}

// traceFurther traces the next round and tells whether there was none left.
func (s *account) traceFurther(ctx context.Context) (done bool, err error) {
	l := &s.trace
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rounds) == len(s.history.Rounds) {
		return true, nil
	}
	if l.slid == nil {
		l.slid = windows{}
	}
	round, err := s.traceRound(checkpoint.Without(ctx), len(l.rounds)+1, l.slid)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		// What was regressed once can be again, so an error would have shown in Replay. Should it not, the round is traced without numbers.
		round = RoundTrace{Multipliers: round.Multipliers}
	}
	l.rounds = append(l.rounds, round)
	return false, nil
}

// traceRound looks back at decision t.
func (s *account) traceRound(ctx context.Context, t int, slid windows) (RoundTrace, error) {
	trace := RoundTrace{Multipliers: s.path.items[t-1]}
	shown, err := s.observed(ctx, t, slid)
	if err != nil {
		return trace, err
	}
	acted := shown
	acted.multipliers = s.path.items[t-1]
	if s.traits.ActsOnOwnData() {
		acted, err = s.acting(ctx, t, s.path.items[t-1], slid)
	} else {
		err = acted.widths(ctx)
	}
	if err != nil {
		return trace, err
	}
	predicted, err := shown.played(ctx, t, nil)
	if err != nil {
		return trace, err
	}
	believed := predicted
	if acted != shown {
		if believed, err = acted.played(ctx, t, nil); err != nil {
			return trace, err
		}
	}
	for i := range s.cfg.Metrics {
		k := s.targetOf(i)
		trace.Beta = append(trace.Beta, betaOf(acted, k))
		trace.InformationGain = append(trace.InformationGain, gainOf(acted, shown, k))
		f := shown.ahead(t, k, predicted[k])
		mean, sd := shown.era.transforms[k].moments(f.mean, f.sd)
		latent := predicted[k].SD[0]
		if acted.sourceOf[k] >= 0 {
			latent = believed[k].SD[0]
		}
		trace.Ahead, trace.latent = append(trace.Ahead, Prediction{Mean: mean, SD: sd}), append(trace.latent, latent)
		trace.residuals = append(trace.residuals, shown.residual(t, k, f))
	}
	for j := range s.cfg.Costs {
		trace.breaks = append(trace.breaks, shown.breaks(predicted, j, 0))
	}
	return trace, nil
}

// targetOf is the first target that a metric serves.
func (s *study) targetOf(metric int) int {
	return slices.IndexFunc(s.targets, func(t target) bool { return t.metric == metric })
}

// gainOf is γ of what the algorithm regresses for target k, or of the arrived readings where it regresses nothing.
func gainOf(acted, shown *view, k int) float64 {
	if acted.sourceOf[k] >= 0 {
		return acted.gain[k]
	}
	src := &shown.sources[shown.sourceOf[k]]
	return src.Gain()
}

// placeOf is where round t was played.
func (s *study) placeOf(t int) Place {
	r := &s.history.Rounds[t-1]
	return Place{r.Point, r.Arm}
}

// betaOf is target k's confidence width, NaN where the algorithm has none.
func betaOf(v *view, k int) float64 {
	if k < len(v.beta) {
		return v.beta[k]
	}
	return math.NaN()
}

// forecast is a prediction of one reading in modelled units: of its response, with the noise.
type forecast struct{ mean, sd float64 }

// ahead predicts the reading of round t's own point from what decision t expected of the function there.
func (v *view) ahead(t, k int, latent policy.Estimate) forecast {
	metric := v.targets[k].metric
	lambda := v.readingLambda(t, v.history.Rounds[t-1].Readings[metric], v.era.models[metric])
	return forecast{latent.Mean[0] - v.transforms[k].shift, math.Sqrt(latent.SD[0]*latent.SD[0] + lambda)}
}

// residual is how many standard deviations round t's reading of target k's metric came out above its forecast; 0 without a reading.
func (v *view) residual(t, k int, f forecast) float64 {
	r := v.history.Rounds[t-1].Readings[v.targets[k].metric]
	if !r.Told {
		return 0
	}
	transform := v.era.transforms[k]
	return transform.sign * (transform.response(r.Value) - f.mean) / f.sd
}
