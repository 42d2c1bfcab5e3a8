package optimizer

import (
	"context"
	"math"

	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/warp"
)

// fittable tells whether a metric has hyperparameters to fit.
func (s *task) fittable(metric int) bool {
	m := s.cfg.Metrics[metric]
	return s.cfg.Fit && (m.FreeLengthscales || m.FreeNoise || m.FreeVariance) && m.Kernel.Name != "covariance"
}

// standard is the mean and the standard deviation (÷n) of the readings; the latter 1 if they are
// all equal.
func (s *task) standard(metric int, rounds []int) (centre, scale float64) {
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
	return centre, scale
}

// toldNoise is the mean λ of the readings of these rounds where each came with its standard
// deviation, else 0: no reading is left then to fit the noise of the next one from.
func (s *task) toldNoise(metric int, rounds []int, f FittedMetric) float64 {
	m := metricModel{centre: f.Centre, scale: f.Scale, warp: f.warp(), told: f.told(), count: f.Count}
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

func (v *view) fitProblem(metric int, rounds []int, f FittedMetric) fit.Problem {
	m := v.cfg.Metrics[metric]
	now := v.next.regime.models[metric]
	k := v.targetOf(metric)
	a := v.cfg.transform(v.targets[k], metricModel{centre: f.Centre, scale: f.Scale, warp: f.warp()})
	p := fit.Problem{Kernel: m.Kernel.Name, Dims: v.cfg.Space.owners(), Categories: v.cfg.Space.categories(), Variance: m.Kernel.Variance,
		FreeLengthscales: m.FreeLengthscales, FreeNoise: m.FreeNoise, FreeVariance: m.FreeVariance, FreeInteraction: true,
		Start: fit.Hyperparameters{Lengthscales: now.kernel.Lengthscales, Lambda: m.lambdaAt(f.Scale), Interaction: now.kernel.Interaction}}
	if now.fitted && m.FreeNoise {
		p.Start.Lambda = now.lambda / now.inflation
	}
	if now.fitted {
		p.Start.Told = now.told
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

// Prior medians of lengthscales. That of a number grows with the root of how many parameters there
// are, as distances do: otherwise, with many, every point would be alone (Hvarfner, Hellsten,
// Nardi: Vanilla Bayesian Optimization Performs Great in High Dimensions, 2024). A category's
// choices are √2 apart in one-hot inputs; with 0.3 they would share nothing (a matern52 correlation
// of 0.001), with √2 half (0.52) until the readings say otherwise.
const (
	rangeShare     = 0.2 // of a parameter's range, times √(number of parameters)
	categoryMedian = math.Sqrt2
)

// priorLengthscales are the prior medians of every parameter's lengthscale.
func (s Space) priorLengthscales() (medians []float64) {
	for _, d := range s.Dims {
		median := categoryMedian
		if d.Kind != Categorical {
			median = rangeShare * math.Sqrt(float64(len(s.Dims))) * d.inputRange()
		}
		medians = append(medians, median)
	}
	return medians
}

// unwarpedNoise is λ from which readings that replicates show to be noisy are modelled as they are:
// a limit on a metric is one on the mean of its readings, and the mean of warped readings would
// come out as their median.
const unwarpedNoise = 0.1

// fitNoise looks at the settings read more than once: it puts wrong readings, and the noise of
// settings where it differs, into f, and tells whether noise is what readings differ by in a good
// part.
func (v *view) fitNoise(ctx context.Context, metric int, rounds []int, f *FittedMetric) (noisy bool, err error) {
	if !v.cfg.Metrics[metric].FreeNoise {
		return false, nil
	}
	y, settings := v.replicated(metric, rounds, *f)
	wrong := fit.Wrong(y, settings)
	for i, square := range wrong {
		if square > 0 {
			f.Wrong = append(f.Wrong, NoiseAt{rounds[i], square})
		}
	}
	groups := fit.Groups(y, settings, wrong)
	if len(groups) == 0 {
		return false, nil
	}
	whole, err := fit.MAP(ctx, v.fitProblem(metric, rounds, *f))
	if err != nil {
		return false, err
	}
	differing := fit.FitNoise(groups, whole.Lambda)
	if math.IsInf(differing.Freedom, 1) {
		return whole.Lambda > unwarpedNoise, nil
	}
	f.Lambda = differing.Typical
	for _, g := range groups {
		f.Settings = append(f.Settings, NoiseAt{g.Setting, differing.Of(g.Replicates)})
	}
	return true, nil
}

// replicated are the readings of these rounds, standardised by f, and the first round with the same
// settings as each; −1 for a reading that told its own noise.
func (s *task) replicated(metric int, rounds []int, f FittedMetric) (y []float64, settings []int) {
	first := map[string]int{}
	plain := transform{sign: 1, centre: f.Centre, scale: f.Scale, warp: warp.Identity}
	for _, n := range rounds {
		reading, key := s.history.Rounds[n-1].Readings[metric], placeKey(s.placeOf(n))
		if _, known := first[key]; !known {
			first[key] = n
		}
		setting := first[key]
		if reading.SD > 0 {
			setting = -1
		}
		y, settings = append(y, plain.response(reading.Value)), append(settings, setting)
	}
	return y, settings
}
