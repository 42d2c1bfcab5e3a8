package optimizer

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/kernel"
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

// noise is what is known of λ beyond one number for a metric; nil knows nothing.
type noise struct {
	list, contradicting []NoiseAt          // as the fit named them
	settings            map[string]float64 // λ by place
	wrong               map[int]float64    // λ of single readings, by round
}

// noiseKnown looks up the places that a fit names; every λ is multiplied by factor.
func (s *task) noiseKnown(f FittedMetric, factor float64) *noise {
	if f.Settings == nil && f.Wrong == nil {
		return nil
	}
	settings, wrong := inflated(f.Settings, factor), inflated(f.Wrong, factor)
	n := &noise{settings, wrong, map[string]float64{}, map[int]float64{}}
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

func (n *noise) listed() []NoiseAt {
	if n == nil {
		return nil
	}
	return n.list
}

func (n *noise) contradicted() []NoiseAt {
	if n == nil {
		return nil
	}
	return n.contradicting
}

// of is λ of round's reading at a place, or otherwise where nothing is known.
func (n *noise) of(round int, at Place, otherwise float64) float64 {
	if n == nil {
		return otherwise
	}
	if lambda, ok := n.wrong[round]; ok {
		return lambda
	}
	return n.at(at, otherwise)
}

// at is λ of one more reading at a place, or otherwise where nothing is known.
func (n *noise) at(p Place, otherwise float64) float64 {
	if n != nil {
		if lambda, ok := n.settings[placeKey(p)]; ok {
			return lambda
		}
	}
	return otherwise
}

// inflated are these λ times a factor.
func inflated(list []NoiseAt, factor float64) []NoiseAt {
	var out []NoiseAt
	for _, at := range list {
		out = append(out, NoiseAt{at.Round, factor * at.Lambda})
	}
	return out
}

func (n *noise) same(o *noise) bool {
	if n == nil || o == nil {
		return n == o
	}
	return maps.Equal(n.settings, o.settings) && maps.Equal(n.wrong, o.wrong)
}

// freedom is the degrees of freedom ν of the distribution that a fitted model's predictions are
// taken from: hyperparameters are estimated, and what a table holds is rarely a Gaussian process.
// Bands of 50, 80 and 95 % held 51.3, 81.9 and 95.3 % of new settings of twelve tables; with ν = 4
// 52.3, 83.2 and 96.3 %. With a thirteenth table, of one parameter and without noise, 54.3, 83.2
// and 95.6 %.
const freedom = 5

// inflation is the scale c of the Student-t distribution with 3 degrees of freedom that the study's
// own one-step-ahead residuals z come from, as they would have been without inflation: the fixed
// point of
//
//	c = (5 + Σ min(w z², 9)) / (5 + n),   w = 4 / (3 + z²/c),
//
// within 0.25 and 4. The 5 stand for what is believed before there are residuals; w, and the 9
// while there are few, keep a wrong reading from widening everything. The weights of 3 degrees let
// the middle of the residuals decide, the 4 of the bands see to the tails.
func (s *account) inflation(ctx context.Context, metric int) (float64, error) {
	trace, err := s.Trace(ctx)
	if err != nil {
		return 0, err
	}
	var squares []float64
	for i, t := range trace {
		r, m := &s.history.Rounds[i], s.regimeAt(i + 1).said[metric]
		if !m.fitted || r.Excluded || !r.Readings[metric].Told || t.residuals == nil {
			continue
		}
		z := t.residuals[metric]
		squares = append(squares, z*z*m.inflation)
	}
	return scaleOf(squares), nil
}

// scaleOf is the fixed point that inflation describes, for squared residuals.
func scaleOf(squares []float64) float64 {
	const before, most = 5, 9
	c := 1.0
	for range 30 {
		sum := float64(before)
		for _, square := range squares {
			sum += min(4*square/(3+square/c), most)
		}
		c = min(max(sum/(before+float64(len(squares))), 0.25), 4)
	}
	return c
}

// straight is the largest told deviation, as a part of its reading, over which a logarithm is a
// straight line, to 5 %: beyond it the noise told of a reading says little of the noise of its logarithm.
const straight = 0.1

// zero is the value 0 as f centres and scales it, from which logarithms are taken; −∞ where the noise
// told of a reading forbids it.
func (s *task) zero(metric int, rounds []int, f FittedMetric) float64 {
	for _, n := range rounds {
		if r := s.history.Rounds[n-1].Readings[metric]; r.SD > straight*r.Value {
			return math.Inf(-1)
		}
	}
	return -f.Centre / f.Scale
}

// standardised are the readings as f centres and scales them.
func (s *task) standardised(metric int, rounds []int, f FittedMetric) []float64 {
	z := make([]float64, len(rounds))
	for i, n := range rounds {
		z[i] = (s.history.Rounds[n-1].Readings[metric].Value - f.Centre) / f.Scale
	}
	return z
}

// mostTurns is how often warpWithFit turns from the warp to the hyperparameters and back; it ends
// before where neither moves.
const mostTurns = 4

// warpWithFit chooses the output warping together with the hyperparameters, where an interaction is
// among them: what adds up does not when it is warped, so that readings like a normal sample are
// not what to look for. From the hyperparameters found under f's warp, it looks for those under
// none; from the better of both it goes on to the warp that explains the readings best as the
// hyperparameters stand, and to the hyperparameters from there, in turn.
func (v *view) warpWithFit(ctx context.Context, metric int, rounds []int, f FittedMetric, found fit.Result) (warp.Warp, fit.Result, error) {
	candidates := warp.Candidates(v.standardised(metric, rounds, f), v.zero(metric, rounds, f))
	if candidates == nil {
		return f.Warp, found, nil
	}
	at, straight := 0, 0
	for i, c := range candidates {
		switch {
		case c.Warp == f.Warp:
			at = i
		case c.Power == 1:
			straight = i
		}
	}
	problems := make([]fit.Problem, len(candidates))
	readings := make([][]float64, len(candidates))
	for i, c := range candidates {
		warped := f
		warped.Warp = c.Warp
		problems[i] = v.fitProblem(metric, rounds, warped)
		readings[i] = problems[i].Y
	}
	// under is the problem with a candidate, to go on from what was found.
	under := func(i int) fit.Problem {
		p := problems[i]
		p.Start = found.Hyperparameters
		return p
	}
	try := func(i int) (better bool, err error) {
		result, err := fit.Climb(ctx, under(i))
		if err == nil && result.LogPosterior+candidates[i].LogStretch > found.LogPosterior+candidates[at].LogStretch {
			at, found, better = i, result, true
		}
		return better, err
	}
	if at != straight {
		if _, err := try(straight); err != nil {
			return f.Warp, found, err
		}
	}
	for range mostTurns {
		worth, err := fit.LogPosteriors(under(at), readings)
		if err != nil {
			return f.Warp, found, err
		}
		best, most := at, found.LogPosterior+candidates[at].LogStretch
		for i, value := range worth {
			if value+candidates[i].LogStretch > most {
				best, most = i, value+candidates[i].LogStretch
			}
		}
		if best == at {
			break
		}
		if better, err := try(best); err != nil || !better {
			return candidates[at].Warp, found, err
		}
	}
	return candidates[at].Warp, found, nil
}
