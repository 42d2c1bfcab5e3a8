package optimizer

import (
	"maps"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/warp"
)

// metricModel is a metric's hyperparameters during a regime.
type metricModel struct {
	kernel        Kernel
	lambda        float64
	noise         noise // where λ differs from lambda
	centre, scale float64
	warp          warp.Warp
	toldFactor    float64 // multiplies the noise variances told with readings
	inflation     float64 // see FittedMetric; the kernel's variance includes it, and lambda where inflated
	inflated      bool    // noise was fitted, and neither told nor given
	freedom       float64 // degrees of freedom of the bands, 0 for normal ones
	fitted        bool    // all free hyperparameters, not only centre and scale
	count         int     // readings the last fit was made from
}

// scaled tells whether a metric has a scale: outputs are modelled as they are, or a fit has set
// one.
func (s *task) scaled(m metricModel) bool { return !s.cfg.Standardize || m.count > 0 }

// firstModels are the metrics' models before the first fit.
func (s *task) firstModels() []metricModel {
	return lists.Map(s.cfg.Metrics, func(m Metric) metricModel {
		return metricModel{kernel: m.Kernel, lambda: m.lambdaAt(1), scale: 1, warp: warp.Identity, toldFactor: 1, inflation: 1}
	})
}

// lambdaAt is λ in modelled units, given the scale.
func (m Metric) lambdaAt(scale float64) float64 {
	if m.NoiseVariance > 0 {
		return max(1/maxMagnitude, min(m.NoiseVariance/(scale*scale), maxMagnitude))
	}
	return m.Lambda
}

// refitted are the models after a fit.
func (s *task) refitted(models []metricModel, by Fit) []metricModel {
	models = slices.Clone(models)
	for i, f := range by.Metrics {
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
			m.apply(f, metric)
			if metric.FreeNoise {
				m.noise = s.makeNoise(f, m.inflation)
			}
		}
	}
	return models
}

// uninflated is the fit without inflation where the noise was told. Residuals then are mostly noise
// of a known width and say little of the width of the function's own uncertainty: enough to show it
// right on average, too little to decide by.
func (f Fit) uninflated() Fit {
	f.Metrics = slices.Clone(f.Metrics)
	for i := range f.Metrics {
		if f.Metrics[i].Told > 0 {
			f.Metrics[i].Inflation = 1
		}
	}
	return f
}

// warp is how readings are warped, the identity where the fit has none.
func (f FittedMetric) warp() warp.Warp {
	if f.Warp.Scale > 0 {
		return f.Warp
	}
	return warp.Identity
}

// toldFactor multiplies the noise variances that were told; 1 where the fit has none.
func (f FittedMetric) toldFactor() float64 {
	if f.Told > 0 {
		return f.Told
	}
	return 1
}

// apply sets the free hyperparameters to those of a fit; the others stay. The model is a fitted one
// if anything was fitted, and all free lengthscales and the noise, if free, were.
func (m *metricModel) apply(f FittedMetric, free Metric) {
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
	m.warp, m.toldFactor, m.inflation, m.freedom = warp.Identity, 1, 1, f.Freedom
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
		m.toldFactor = f.toldFactor()
	}
	m.inflated = noise && f.Told == 0
	if m.inflated { // residuals do not correct noise that was told
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

// readingLambda is λ of round's reading: as told with it, else as known of the reading or the
// settings; with doubtNoise for one in doubt.
func (s *task) readingLambda(round int, r Reading, m metricModel) float64 {
	lambda := s.undoubtedLambda(round, r, m)
	if s.cfg.Fit && r.InDoubt && s.scaled(m) {
		lambda += m.doubtNoise(r)
	}
	return lambda
}

// doubtNoise is the noise variance added to a reading in doubt, its squared distance from what was
// expected. Next to other readings it then hardly counts, like one that its replicates contradict;
// where nothing else is known it still tells something.
func (m metricModel) doubtNoise(r Reading) float64 {
	distance := m.warp.To(clampMagnitude((r.Value-m.centre)/m.scale)) - m.warp.To(clampMagnitude((r.Expected-m.centre)/m.scale))
	return min(distance*distance, maxMagnitude)
}

// undoubtedLambda is readingLambda of a reading that is not in doubt.
func (s *task) undoubtedLambda(round int, r Reading, m metricModel) float64 {
	if !s.cfg.Fit || r.SD <= 0 || !s.scaled(m) {
		return m.noise.ofReading(round, s.placeOf(round), m.lambda)
	}
	sd := r.SD / m.scale * m.warp.Slope((r.Value-m.centre)/m.scale)
	return min(fit.Told(sd*sd, m.toldFactor), maxMagnitude)
}

// noise is what is known of a metric's λ beyond one number; the zero value knows nothing.
type noise struct {
	list, contradicting []NoiseAt          // of settings and of single readings as in the fit, inflated
	settings            map[string]float64 // λ by place
	wrong               map[int]float64    // λ of single readings, by round
}

// makeNoise makes the noise that a fit found, every λ times a factor.
func (s *task) makeNoise(f FittedMetric, factor float64) noise {
	if f.Settings == nil && f.Wrong == nil {
		return noise{}
	}
	settings, wrong := inflated(f.Settings, factor), inflated(f.Wrong, factor)
	n := noise{settings, wrong, map[string]float64{}, map[int]float64{}}
	for _, at := range settings {
		if at.Round <= len(s.history.Rounds) {
			n.settings[placeKey(s.placeOf(at.Round))] = at.Lambda
		}
	}
	for _, at := range wrong {
		n.wrong[at.Round] = at.Lambda
	}
	return n
}

// ofReading is λ of round's reading at a place, otherwise where nothing is known.
func (n noise) ofReading(round int, at Place, otherwise float64) float64 {
	if lambda, ok := n.wrong[round]; ok {
		return lambda
	}
	return n.atPlace(at, otherwise)
}

// atPlace is λ of one more reading at a place, otherwise where nothing is known.
func (n noise) atPlace(p Place, otherwise float64) float64 {
	if len(n.settings) > 0 {
		if lambda, ok := n.settings[placeKey(p)]; ok {
			return lambda
		}
	}
	return otherwise
}

// inflated multiplies every λ by a factor.
func inflated(list []NoiseAt, factor float64) []NoiseAt {
	var out []NoiseAt
	for _, at := range list {
		out = append(out, NoiseAt{at.Round, factor * at.Lambda})
	}
	return out
}

func (n noise) same(o noise) bool {
	return maps.Equal(n.settings, o.settings) && maps.Equal(n.wrong, o.wrong)
}

// transform is how a target's metric is modelled: with w the warp,
//
//	response = sign·w((value − centre)/scale),   target = response + shift,
//
// the response having prior mean 0. For a cost, margin − shift is the response at the limit, so
// that target − margin ≤ 0 exactly when the limit holds, as w is increasing. The margin is the
// distance to keep from the limit. Where readings come in steps, the limit is half of one beyond its
// threshold, so that a reading equal to that is within it for certain once its noise is small.
type transform struct {
	sign, centre, scale float64
	warp                warp.Warp
	shift, margin       float64
	halfStep            float64 // see task.halfStep
	priorOnly           bool    // readings are not used: every response counts as 0, the prior mean
}

// maxMagnitude bounds standardised readings, responses and λ, so that squares and products of two
// stay within a float64. Only readings that differ by a hundred orders of magnitude reach it.
const maxMagnitude = 1e100

func clampMagnitude(x float64) float64 { return max(-maxMagnitude, min(x, maxMagnitude)) }

func (t transform) response(value float64) float64 {
	if t.priorOnly {
		return 0
	}
	return t.sign * clampMagnitude(t.warp.To(clampMagnitude((value-t.centre)/t.scale)))
}

func (t transform) target(value float64) float64 { return t.response(value) + t.shift }

// toMetric is the value with this response.
func (t transform) toMetric(response float64) float64 {
	return t.centre + t.scale*t.warp.From(t.sign*response)
}

// moments are the mean and standard deviation, in metric units, of a value whose response is
// N(mean, sd²): see warp.Moments.
func (t transform) moments(mean, sd float64) (m, s float64) {
	m, s = t.warp.Moments(t.sign*mean, sd)
	return t.centre + t.scale*m, t.scale * s
}

// band returns the values, in metric units, whose responses lie width standard deviations on each
// side of the mean.
func (t transform) band(mean, sd, width float64) (lower, upper float64) {
	if t.warp == warp.Identity {
		middle, reach := t.toMetric(mean), width*(t.scale*sd)
		return middle - reach, middle + reach
	}
	a, b := t.toMetric(mean-width*sd), t.toMetric(mean+width*sd)
	return min(a, b), max(a, b)
}

// excess is E[g⁺] in metric units, for g = sign·(value − threshold) and a value whose target
// without its margin is N(mean, sd²).
func (t transform) excess(mean, sd, threshold float64) float64 {
	if t.warp.Straight() {
		return t.scale * t.warp.Scale * policy.ExpectedImprovement(mean, sd)
	}
	limit := t.margin - t.shift
	return expectAbove(limit+mean, sd, limit, func(response float64) float64 { return t.sign * (t.toMetric(response) - threshold) })
}

// Gauss–Legendre rules for the part of a normal density above a point below its mean, and above one
// beyond its mean.
var wholeRule, upperRule = policy.NewRule(64), policy.NewRule(32)

// expectAbove is E[f(U); U > from] for U ~ N(mean, sd²), by a Gauss–Legendre rule from there to 8
// standard deviations above the mean, of 64 points, or 32 if it begins above the mean. The rest has
// a probability of 1e-15.
func expectAbove(mean, sd, from float64, f func(u float64) float64) float64 {
	const reach = 8.0
	low := max((from-mean)/max(sd, math.SmallestNonzeroFloat64), -reach)
	switch {
	case sd == 0 && mean > from:
		return f(mean)
	case sd == 0 || low >= reach:
		return 0
	}
	by := wholeRule
	if low >= 0 {
		by = upperRule
	}
	sum, middle, half := 0.0, (reach+low)/2, (reach-low)/2
	for i, node := range by.Nodes {
		x := middle + half*node
		sum += by.Weights[i] * f(mean+sd*x) * math.Exp(-x*x/2)
	}
	return half * sum / math.Sqrt(2*math.Pi)
}

// transform is the transform of target k with the hyperparameters m. With raw outputs the prior
// means of the reward and of g are 0; otherwise they are at the metric's centre.
func (cfg *Config) transform(k target, m metricModel, halfStep float64) transform {
	t := transform{sign: k.sign, centre: m.centre, scale: m.scale, warp: m.warp, halfStep: halfStep}
	if k.cost < 0 {
		return t
	}
	c := cfg.Costs[k.cost]
	if !cfg.Standardize {
		t.centre = c.Threshold
	}
	if t.warp == warp.Identity || t.warp.Logarithmic() { // a logarithm's scale is that of the largest readings, perhaps many times the limit
		t.margin = c.Margin
		t.shift = c.Margin - t.limit(c.Threshold)
		return t
	}
	// The limit is moved by the margin in scales, then warped like a reading.
	t.shift = -t.limit(c.Threshold - t.sign*c.Margin*t.scale)
	t.margin = t.shift + t.limit(c.Threshold)
	return t
}

// limit is the response at a limit of this threshold.
func (t transform) limit(threshold float64) float64 {
	return t.response(threshold + t.sign*t.halfStep)
}

// halfStep is half of the step in which a limit's readings come, as counts do and what is told to
// a few digits: the largest number of which all that decision t sees lie multiples away from the
// limit. One that is rounded, or counted, is at most the limit if the value behind it is at most half
// a step beyond. It is 0 without a step, for a single reading away from the limit, which shows none
// however often the same settings read the same, and for published scores, which see the limit itself.
func (s *task) halfStep(k target, t int) float64 {
	if k.cost < 0 || !s.cfg.Standardize || !s.traits.LogExpectation {
		return 0
	}
	const equal = 1e-9 // of the values' size: what rounding leaves of 0
	step, size, c := 0.0, 0.0, s.cfg.Costs[k.cost]
	var first *Round // whose reading is away from the limit
	another := false // reading away from it
	for i := range s.history.Rounds {
		r := &s.history.Rounds[i]
		reading := r.Readings[k.metric]
		if r.Excluded || reading.InDoubt || !reading.seenAt(t) {
			continue
		}
		size = max(size, math.Abs(reading.Value), math.Abs(c.Threshold))
		away := math.Abs(c.Excess(reading.Value))
		switch {
		case away <= equal*size:
		case first == nil:
			first = r
		case reading.Value != first.Readings[k.metric].Value || !slices.Equal(r.Point, first.Point):
			another = true
		}
		for away > equal*size {
			step, away = away, math.Abs(math.Remainder(step, away))
		}
		if step < 1000*equal*size && step > 0 {
			return 0
		}
	}
	if !another {
		return 0
	}
	return step / 2
}

// fittable tells whether a metric has hyperparameters to fit.
func (s *task) fittable(metric int) bool {
	m := s.cfg.Metrics[metric]
	return s.cfg.Fit && (m.FreeLengthscales || m.FreeNoise || m.FreeVariance) && m.Kernel.Name != "covariance"
}
