package optimizer

import (
	"context"
	"fmt"
	"math"

	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/kernel"
)

// When a metric's hyperparameters are fitted again: at every new reading up to fewReadings, which costs milliseconds and tells much; then when
// they have grown by soonGrowth, and beyond manyReadings, where little changes and every fit is a regression more to keep, by lateGrowth.
const (
	fewReadings  = 20
	soonGrowth   = 1.1
	manyReadings = 100
	lateGrowth   = 1.5
)

// FitDue tells whether the next decision should be preceded by a fit: at the first decision with max(2, initial design) rounds past
// and two readings of a metric, and, where hyperparameters are fitted, when a reading is new among few, when the readings have grown by a tenth,
// of many by half, or when the past was rewritten.
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
	last := s.next.era.models[metric].count
	switch {
	case last == 0:
		return true
	case !s.cfg.Fit:
		return false
	}
	changed := s.history.Rewritten || !s.next.era.models[metric].fitted && s.fittable(metric)
	growth := soonGrowth
	if last >= manyReadings {
		growth = lateGrowth
	}
	return changed || count > last && (count <= fewReadings || float64(count) >= growth*float64(last))
}

// fittable tells whether a metric has hyperparameters to fit.
func (s *study) fittable(metric int) bool {
	m := s.cfg.Metrics[metric]
	return s.cfg.Fit && (m.FreeLengthscales || m.FreeNoise || m.FreeVariance) && m.Kernel.Name != "covariance"
}

// told lists the included rounds with a reading of the metric that the next decision sees.
func (s *study) told(metric int) []int {
	var rounds []int
	for i, r := range s.history.Rounds {
		if !r.Excluded && r.Readings[metric].Told {
			rounds = append(rounds, i+1)
		}
	}
	return rounds
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
		f.Warp = s.fitWarp(metric, rounds, f)
	}
	result, err := fit.MAP(ctx, s.next.fitProblem(metric, rounds, f))
	if err == nil && f.Warp.Scale > 0 && s.cfg.Metrics[metric].Kernel.Name == kernel.Anova && len(rounds) <= fit.MostPoints {
		f.Warp, result, err = s.next.bend(ctx, metric, rounds, f, result)
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
	if told := s.toldNoise(metric, rounds, f); told > 0 {
		f.Lambda = told / f.Inflation // what was told is not for residuals to correct
	}
	return f, err
}

// toldNoise is the mean λ of the readings of these rounds where each came with its standard deviation, else 0: no reading is left then to fit the noise of the next one
// from.
func (s *study) toldNoise(metric int, rounds []int, f FittedMetric) float64 {
	m := metricModel{centre: f.Centre, scale: f.Scale, warp: f.warp(), count: f.Count}
	sum := 0.0
	for _, n := range rounds {
		reading := s.history.Rounds[n-1].Readings[metric]
		if reading.SD <= 0 {
			return 0
		}
		sum += s.readingLambda(n, reading, m)
	}
	return sum / float64(len(rounds))
}

// standard is the mean and the standard deviation (÷n) of the readings; the latter 1 if they are all equal.
func (s *study) standard(metric int, rounds []int) (centre, scale float64) {
	n := float64(len(rounds))
	for _, r := range rounds {
		centre += s.history.Rounds[r-1].Readings[metric].Value / n
	}
	for _, r := range rounds {
		d := s.history.Rounds[r-1].Readings[metric].Value - centre
		scale += d * d / n
	}
	scale = math.Sqrt(scale)
	// Equal readings of a large size leave a deviation that is rounding only.
	if scale <= 1e-14*math.Abs(centre) {
		scale = 1
	}
	if scale == 0 {
		scale = 1
	}
	return centre, scale
}

func (v *view) fitProblem(metric int, rounds []int, f FittedMetric) fit.Problem {
	m := v.cfg.Metrics[metric]
	now := v.next.era.models[metric]
	k := v.targetOf(metric)
	a := v.cfg.transform(v.targets[k], metricModel{centre: f.Centre, scale: f.Scale, warp: f.warp()})
	p := fit.Problem{Kernel: m.Kernel.Name, Dims: v.cfg.Space.owners(), Categories: v.cfg.Space.categories(), Variance: m.Kernel.Variance,
		FreeLengthscales: m.FreeLengthscales, FreeNoise: m.FreeNoise, FreeVariance: m.FreeVariance, FreeInteraction: true,
		Start: fit.Start{Lengthscales: now.kernel.Lengthscales, Lambda: m.lambdaAt(f.Scale), Interaction: now.kernel.Interaction}}
	if now.fitted && m.FreeNoise {
		p.Start.Lambda = now.lambda / now.inflation
	}
	if now.fitted && m.FreeVariance {
		p.Start.Variance = now.kernel.Variance / now.inflation
	}
	p.Median = v.cfg.Space.priorLengthscales()
	if f.Settings != nil {
		p.FreeNoise, p.Start.Lambda = false, f.Lambda
	}
	known := v.noiseKnown(f, 1)
	for _, n := range rounds {
		r := v.history.Rounds[n-1]
		reading := r.Readings[metric]
		p.Inputs = append(p.Inputs, v.cfg.Space.features(r.Point))
		p.Y = append(p.Y, a.response(reading.Value))
		sd := reading.SD / f.Scale * a.warp.Slope((reading.Value-f.Centre)/f.Scale)
		if sd == 0 {
			sd = math.Sqrt(known.of(n, v.placeOf(n), 0))
		}
		p.NoiseSD = append(p.NoiseSD, sd)
	}
	return p
}

// Prior medians of lengthscales. That of a number grows with the root of how many parameters there are, as distances do: otherwise, with many, every
// point would be alone (Hvarfner, Hellsten, Nardi: Vanilla Bayesian Optimization Performs Great in High Dimensions, 2024). A category's
// choices are √2 apart in one-hot inputs; with 0.3 they would share nothing (a matern52 correlation of 0.001), with √2 half (0.52) until
// the readings say otherwise.
const (
	rangeShare     = 0.2 // of a parameter's range, times √(number of parameters)
	categoryMedian = math.Sqrt2
)

// priorLengthscales are the prior medians of every parameter's lengthscale.
func (s Space) priorLengthscales() (medians []float64) {
	for _, d := range s.Dims {
		medians = append(medians, d.priorLengthscale(len(s.Dims)))
	}
	return medians
}

// priorLengthscale is the prior median of the lengthscale of one of so many parameters.
func (d Dim) priorLengthscale(parameters int) float64 {
	if d.Kind == Categorical {
		return categoryMedian
	}
	return rangeShare * math.Sqrt(float64(parameters)) * d.inputRange()
}
