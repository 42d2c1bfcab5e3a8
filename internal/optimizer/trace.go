package optimizer

import (
	"context"
	"sync"

	"headroom/internal/optimizer/checkpoint"
)

// tracing is how far the trace has come. Callers that need it at the same time work on it in turns,
// a round each.
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
		// What was regressed once can be again, so an error would have shown in Replay. Should it
		// not, the round is traced without numbers.
		round = RoundTrace{Multipliers: round.Multipliers, Horizon: round.Horizon}
	}
	l.rounds = append(l.rounds, round)
	return false, nil
}

// traceRound looks back at decision t.
func (s *account) traceRound(ctx context.Context, t int, slid windows) (RoundTrace, error) {
	trace := RoundTrace{Multipliers: s.path.items[t-1], Horizon: s.horizon(t), before: s.playedBefore(t)}
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
		mean, sd := shown.regime.transforms[k].moments(f.mean, f.sd)
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
