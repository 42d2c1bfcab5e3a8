package optimizer

import (
	"context"

	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/policy"
)

// inSample returns the posteriors shown, at the points of all rounds, per target. The error is that
// of ctx.
func (s *shown) inSample(ctx context.Context) ([]policy.Estimate, error) {
	return s.lookedBack.Get(ctx, s.lookBack)
}

func (s *shown) lookBack(ctx context.Context) ([]policy.Estimate, error) {
	var at []Place
	for t := range s.history.Rounds {
		at = append(at, s.placeOf(t+1))
	}
	out, points := s.givenEstimates(at, nil), s.seen(at)
	err := s.eachSource(func(i int) error {
		src := &s.sources[i]
		points[i].Rows = src.rowsAt(len(at), func(round int) int { return round - 1 })
		p, err := src.Predict(ctx, points[i], nil)
		if err == nil {
			s.take(src, p, out)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range at {
		s.repeat(out, i, s.firstAt(i+1)-1)
	}
	return out, nil
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
