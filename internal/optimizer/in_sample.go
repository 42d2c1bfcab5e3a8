package optimizer

import (
	"context"
	"sync"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
)

// predictedAtOnce is the posteriors of how many rounds are worked out together: a factor that does
// not fit into the processor's cache is passed over once for all of them.
const predictedAtOnce = 384

// inSample is how far the in-sample predictions have come: the posteriors shown, at the points of
// the first rounds, per target.
type inSample struct {
	mu        sync.Mutex
	rounds    int
	estimates []policy.Estimate
}

// inSample returns the posteriors shown, at the points of all rounds. The error is that of ctx,
// later calls going on from there.
func (s *shown) inSample(ctx context.Context) ([]policy.Estimate, error) {
	n := len(s.history.Rounds)
	for {
		from, estimates := s.soFar.known(len(s.targets))
		if from == n {
			return estimates, nil
		}
		until := min(n, from+predictedAtOnce)
		further, err := s.predictRounds(ctx, from, until, estimates)
		if err != nil {
			return nil, err
		}
		s.soFar.add(from, until, further)
		if err := checkpoint.Reach(ctx); err != nil {
			return nil, err
		}
	}
}

// inSampleOf is estimate at the points of these rounds, to the same bits, by what is known of all.
func (s *shown) inSampleOf(ctx context.Context, rounds []int, known func(j, i int) float64) ([]policy.Estimate, error) {
	all, err := s.inSample(ctx)
	if err != nil {
		return nil, err
	}
	places := make([]Place, len(rounds))
	for i, round := range rounds {
		places[i] = s.placeOf(round)
	}
	out := s.givenEstimates(places, known)
	for k, of := range s.sourceOf {
		if of < 0 {
			continue
		}
		for _, round := range rounds {
			out[k].Mean, out[k].SD = append(out[k].Mean, all[k].Mean[round-1]), append(out[k].SD, all[k].SD[round-1])
		}
	}
	return out, nil
}

// known are the posteriors of the rounds looked at.
func (l *inSample) known(targets int) (rounds int, estimates []policy.Estimate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.estimates == nil {
		l.estimates = make([]policy.Estimate, targets)
	}
	return l.rounds, l.estimates
}

// add keeps the posteriors of the rounds from+1 to until, unless somebody else was first.
func (l *inSample) add(from, until int, further []policy.Estimate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rounds != from {
		return
	}
	longer := make([]policy.Estimate, len(further))
	for k, e := range further {
		longer[k] = policy.Estimate{Mean: append(l.estimates[k].Mean, e.Mean...), SD: append(l.estimates[k].SD, e.SD...)}
	}
	l.rounds, l.estimates = until, longer
}

// predictRounds returns the posteriors shown at the points of the rounds from+1 to until; those of the
// rounds before are known.
func (s *shown) predictRounds(ctx context.Context, from, until int, known []policy.Estimate) ([]policy.Estimate, error) {
	at := make([]Place, 0, until-from)
	for t := from + 1; t <= until; t++ {
		at = append(at, s.placeOf(t))
	}
	out := s.givenEstimates(at, nil)
	err := s.eachSource(func(i int) error {
		src := &s.sources[i]
		p, err := s.predictRows(ctx, src, from, s.points(src.kernel, at))
		if err == nil {
			s.take(src, p, out)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range at {
		switch first := s.firstAt(from + i + 1); {
		case first <= from:
			s.repeat(out, i, known, first-1)
		default:
			s.repeat(out, i, out, first-1-from)
		}
	}
	return out, nil
}

// predictRows is what a source predicts at the points of the rounds from+1 on.
func (s *shown) predictRows(ctx context.Context, src *source, from int, at posterior.Points) (posterior.Prediction, error) {
	rows, ok := src.Posterior.(*posterior.Rows)
	if !ok || rows.Of == nil {
		return src.Predict(ctx, at, nil)
	}
	return rows.PredictOf(ctx, at, src.among(func(round int) int { return round - from - 1 }))
}

// expectedExcess returns E[g_j⁺(x_s)] of round s = i+1 under the posterior shown, whose estimates
// at all rounds are given, in metric units, as [i][j].
func (s *shown) expectedExcess(estimates []policy.Estimate) [][]float64 {
	out := make([][]float64, len(s.history.Rounds))
	onCores(len(out), func(i int) {
		for j, c := range s.cfg.Costs {
			if c.Knowledge == Given {
				out[i] = append(out[i], max(c.Excess(s.history.Rounds[i].Costs[j]), 0))
				continue
			}
			e, t := estimates[1+j], s.regime.transforms[1+j]
			out[i] = append(out[i], t.excess(e.Mean[i]-t.margin, e.SD[i], c.Threshold))
		}
	})
	return out
}

// onCores does something short for each of n indices, on all cores.
func onCores(n int, do func(i int)) {
	_ = cores.Stretches(n, func(from, to int) error {
		for i := from; i < to; i++ {
			do(i)
		}
		return nil
	})
}
