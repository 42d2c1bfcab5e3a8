package optimizer

import (
	"context"
	"fmt"

	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/warp"
)

// When a metric's hyperparameters are fitted again: at every new reading up to fewReadings, which
// costs milliseconds and tells much; then when they have grown by soonGrowth, and beyond
// manyReadings, where little changes and every fit is a regression more to keep, by lateGrowth.
const (
	fewReadings  = 20
	soonGrowth   = 1.1
	manyReadings = 100
	lateGrowth   = 1.5
)

// FitDue tells whether the next decision should be preceded by a fit: at the first decision with
// max(2, initial design) rounds past and two readings of a metric, and, where hyperparameters are
// fitted, when a reading is new among few, when the readings have grown by a tenth, of many by
// half, or when the past was rewritten.
func (s *State) FitDue() bool {
	for i := range s.cfg.Metrics {
		if s.fitDue(i) {
			return true
		}
	}
	return false
}

func (s *State) fitDue(metric int) bool {
	if !s.cfg.Standardize && !s.cfg.Fit {
		return false
	}
	past := len(s.history.Rounds)
	count := len(s.told(metric))
	if past < max(2, s.settings.InitialDesign()) || count < 2 {
		return false
	}
	last := s.next.regime.models[metric].count
	switch {
	case last == 0:
		return true
	case !s.cfg.Fit:
		return false
	}
	changed := s.history.Rewritten || !s.next.regime.models[metric].fitted && s.fittable(metric)
	growth := soonGrowth
	if last >= manyReadings {
		growth = lateGrowth
	}
	return changed || count > last && (count <= fewReadings || float64(count) >= growth*float64(last))
}

// FitNow fits the metrics that are due, on all cores, for the next decision on. It obeys ctx.
func (s *State) FitNow(ctx context.Context) (Fit, error) {
	f := Fit{From: s.Round(), Metrics: make([]FittedMetric, len(s.cfg.Metrics))}
	work := cores.New()
	for i := range s.cfg.Metrics {
		if !s.fitDue(i) {
			continue
		}
		work.Go(func() (err error) {
			if f.Metrics[i], err = s.fitMetric(ctx, i); err != nil {
				return fmt.Errorf("fitting %s: %w", s.cfg.Metrics[i].Name, err)
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return Fit{}, err
	}
	return f, nil
}

func (s *State) fitMetric(ctx context.Context, metric int) (FittedMetric, error) {
	rounds := s.told(metric)
	f := FittedMetric{Set: true, Scale: 1, Count: len(rounds)}
	if s.cfg.Standardize {
		f.Centre, f.Scale = s.standard(metric, rounds)
	}
	if !s.fittable(metric) {
		return f, nil
	}
	noisy, err := s.next.fitNoise(ctx, metric, rounds, &f)
	if err != nil {
		return f, err
	}
	if s.cfg.Metrics[metric].Warp && !noisy {
		f.Warp = warp.Fit(s.standardised(metric, rounds, f), s.zero(metric, rounds, f))
	}
	result, err := fit.MAP(ctx, s.next.fitProblem(metric, rounds, f))
	if err == nil && f.Warp.Scale > 0 && s.cfg.Metrics[metric].Kernel.Name == kernel.Anova && len(rounds) <= fit.MostPoints {
		f.Warp, result, err = s.next.warpWithFit(ctx, metric, rounds, f, result)
	}
	f.Lengthscales, f.Lambda, f.Variance, f.Interaction = result.Lengthscales, result.Lambda, result.Variance, result.Interaction
	if err != nil {
		return f, err
	}
	f.Freedom = freedom
	f.Inflation, err = s.inflation(ctx, metric)
	if f.Settings != nil {
		f.Inflation = max(f.Inflation, 1) // replicates know the noise better than readings of settings that came out quiet
	}
	f.Told = result.Told
	if told := s.toldNoise(metric, rounds, f); told > 0 {
		f.Lambda = told
	}
	return f, err
}
