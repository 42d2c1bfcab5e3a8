package optimizer

import (
	"slices"

	"headroom/internal/optimizer/warp"
)

// metricModel is a metric's hyperparameters during a regime.
type metricModel struct {
	kernel        Kernel
	lambda        float64
	noise         *noise // where λ differs from lambda
	centre, scale float64
	warp          warp.Warp
	told          float64 // multiplies the noise variances told with readings
	inflation     float64 // the part of lambda, unless it was told, and of the kernel's variance that is not fitted
	freedom       float64 // degrees of freedom of the bands, 0 for normal ones
	fitted        bool    // all free hyperparameters, not only centre and scale
	count         int     // readings the last fit was made from
}

// listRegimes cuts the history at its fits.
func (s *task) listRegimes() []*regime {
	next := len(s.history.Rounds) + 1
	first := s.firstModels()
	list := []*regime{{from: 1, models: first, said: first}}
	for _, fit := range s.history.Fits {
		last := list[len(list)-1]
		said := s.refitted(last.said, fit)
		models := said
		if s.traits.Expects {
			models = s.refitted(last.models, fit.uninflated())
		}
		if fit.From <= last.from {
			last.models, last.said = models, said
			continue
		}
		last.until = fit.From
		list = append(list, &regime{from: fit.From, models: models, said: said})
	}
	list[len(list)-1].until = next + 1
	return list
}

func (s *task) firstModels() []metricModel {
	models := make([]metricModel, len(s.cfg.Metrics))
	for i, m := range s.cfg.Metrics {
		models[i] = metricModel{kernel: m.Kernel, lambda: m.lambdaAt(1), scale: 1, warp: warp.Identity, told: 1, inflation: 1}
		if s.cfg.Standardize && m.Lambda > 0 {
			models[i].lambda = m.Lambda
		}
	}
	return models
}

// lambdaAt is λ in modelled units when the scale is known.
func (m Metric) lambdaAt(scale float64) float64 {
	if m.NoiseVariance > 0 {
		return max(1/utmost, min(m.NoiseVariance/(scale*scale), utmost))
	}
	return m.Lambda
}

// uninflated is the fit without inflation where the noise was told. Residuals are noise for the
// most part then, and how wide that is was told: they say little of how wide the function's own
// uncertainty is, enough for what is said of it on average, and too little to decide by.
func (f Fit) uninflated() Fit {
	f.Metrics = slices.Clone(f.Metrics)
	for i := range f.Metrics {
		if f.Metrics[i].Told > 0 {
			f.Metrics[i].Inflation = 1
		}
	}
	return f
}

func (s *task) refitted(models []metricModel, fit Fit) []metricModel {
	models = slices.Clone(models)
	for i, f := range fit.Metrics {
		if !f.Set {
			continue
		}
		m, metric := &models[i], s.cfg.Metrics[i]
		m.count = f.Count
		if s.cfg.Standardize {
			m.centre, m.scale = f.Centre, f.Scale
		}
		m.lambda = metric.lambdaAt(m.scale)
		if s.cfg.Fit {
			m.take(f, metric)
			if metric.FreeNoise {
				m.noise = s.noiseKnown(f, m.inflation)
			}
		}
	}
	return models
}

// warp is how the readings are warped; a fit that says nothing leaves them as they are.
func (f FittedMetric) warp() warp.Warp {
	if f.Warp.Scale > 0 {
		return f.Warp
	}
	return warp.Identity
}

// told is the factor of the noise variances told; a fit that says nothing leaves them as they are.
func (f FittedMetric) told() float64 {
	if f.Told > 0 {
		return f.Told
	}
	return 1
}

// take puts the hyperparameters of a fit in force that are free; what is given stays. The model is
// a fitted one when all lengthscales and noise that are free, and something at all, was fitted.
func (m *metricModel) take(f FittedMetric, free Metric) {
	lengthscales, noise := free.FreeLengthscales && f.Lengthscales != nil, free.FreeNoise && f.Lambda > 0
	variance := free.FreeVariance && f.Variance > 0
	if lengthscales {
		m.kernel.Lengthscales = f.Lengthscales
	}
	if f.Interaction > 0 {
		m.kernel.Interaction = f.Interaction
	}
	if noise {
		m.lambda = f.Lambda
	}
	m.kernel.Variance = free.Kernel.Variance
	if variance {
		m.kernel.Variance = f.Variance
	}
	m.warp, m.told, m.inflation, m.freedom = warp.Identity, 1, 1, f.Freedom
	if free.Warp {
		m.warp = f.warp()
	}
	if f.Inflation > 0 {
		m.inflation = f.Inflation
	}
	if variance {
		m.kernel.Variance *= m.inflation
	}
	if noise {
		m.told = f.told()
	}
	if noise && f.Told == 0 { // what was told is not for residuals to correct
		m.lambda *= m.inflation
	}
	m.fitted = (lengthscales || noise || variance) && lengthscales == free.FreeLengthscales && noise == free.FreeNoise
}

func (m metricModel) sameRegression(o metricModel) bool {
	return m.lambda == o.lambda && m.noise.same(o.noise) && sameKernel(m.kernel, o.kernel)
}

func sameKernel(a, b Kernel) bool {
	if a.Name != b.Name || a.Variance != b.Variance || a.Interaction != b.Interaction {
		return false
	}
	if a.Matrix != nil || b.Matrix != nil {
		return len(a.Matrix) == len(b.Matrix) && len(a.Matrix) > 0 && &a.Matrix[0] == &b.Matrix[0]
	}
	return slices.Equal(a.Lengthscales, b.Lengthscales)
}

// leastNoise is the smallest noise variance that a told standard deviation can claim, in modelled
// units.
const leastNoise = 1e-6

// readingLambda is λ of round's reading: what was told with it, else what is known of it and of the
// settings.
func (s *task) readingLambda(round int, r Reading, m metricModel) float64 {
	if !s.cfg.Fit || r.SD <= 0 || !s.scaled(m) {
		return m.noise.of(round, s.placeOf(round), m.lambda)
	}
	sd := r.SD / m.scale * m.warp.Slope((r.Value-m.centre)/m.scale)
	return max(min(m.told*sd*sd, utmost), leastNoise)
}
