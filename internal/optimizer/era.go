package optimizer

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/warp"
)

// metricModel is a metric's hyperparameters during an era.
type metricModel struct {
	kernel        Kernel
	lambda        float64
	noise         *noise // where λ differs from lambda
	centre, scale float64
	warp          warp.Warp
	inflation     float64 // the part of lambda and of the kernel's variance that is not fitted
	freedom       float64 // degrees of freedom of the bands, 0 for normal ones
	fitted        bool    // all free hyperparameters, not only centre and scale
	count         int     // readings the last fit was made from
}

// era is a stretch of decisions, from ≤ t < until, made with the same hyperparameters. Its regressions hold the readings
// that its last decision sees, in the order of their arrival, so that each decision's data are a prefix.
type era struct {
	from, until int
	models      []metricModel
	transforms  []transform       // per target
	groups      []*group          // distinct regressions
	groupOf     []int             // by metric
	answers     []strand[float64] // per target: y, the responses in the order of its regression; none for given ones
	whitened    [][]float64       // per target: z = L⁻¹y; nil for given ones
	own         []*group          // regressions on other points than the arrived readings', where the algorithm has such
	ownOf       []int             // by target; −1 for none
}

// group is a regression shared by the metrics of equal kernel, noise and arrived rounds.
type group struct {
	model    metricModel
	function *kernel.Function
	order    []arrival
	arrivals strand[arrival] // order, to go on from
	came     continuation    // what it was made from, while building only
	begun    *group          // of the prior state, whose first known rows these continue; nil for none
	known    int

	posterior.Regression // without data where there is a standing
	standing             *standing
}

// eras cuts the history at its fits.
func (s *study) eras() []*era {
	next := len(s.history.Rounds) + 1
	list := []*era{{from: 1, models: s.firstModels()}}
	for _, fit := range s.history.Fits {
		last := list[len(list)-1]
		models := s.refitted(last.models, fit)
		if fit.From <= last.from {
			last.models = models
			continue
		}
		last.until = fit.From
		list = append(list, &era{from: fit.From, models: models})
	}
	list[len(list)-1].until = next + 1
	return list
}

func (s *study) firstModels() []metricModel {
	models := make([]metricModel, len(s.cfg.Metrics))
	for i, m := range s.cfg.Metrics {
		models[i] = metricModel{kernel: m.Kernel, lambda: m.lambdaAt(1), scale: 1, warp: warp.Identity, inflation: 1}
		if s.cfg.Standardize && m.Lambda > 0 {
			models[i].lambda = m.Lambda
		}
	}
	return models
}

// scaled tells whether a metric's unit is known: outputs are modelled as they are, or a fit has given a scale.
func (s *study) scaled(m metricModel) bool { return !s.cfg.Standardize || m.count > 0 }

// lambdaAt is λ in modelled units when the scale is known.
func (m Metric) lambdaAt(scale float64) float64 {
	if m.NoiseVariance > 0 {
		return max(1/utmost, min(m.NoiseVariance/(scale*scale), utmost))
	}
	return m.Lambda
}

func (s *study) refitted(models []metricModel, fit Fit) []metricModel {
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

// warp is how the readings are bent; a fit that says nothing leaves them as they are.
func (f FittedMetric) warp() warp.Warp {
	if f.Warp.Scale > 0 {
		return f.Warp
	}
	return warp.Identity
}

// take puts the hyperparameters of a fit in force that are free; what is given stays. The model is a fitted one when all lengthscales and
// noise that are free, and something at all, was fitted.
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
	m.warp, m.inflation, m.freedom = warp.Identity, 1, f.Freedom
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
		m.lambda *= m.inflation
	}
	m.fitted = (lengthscales || noise || variance) && lengthscales == free.FreeLengthscales && noise == free.FreeNoise
}

// leastNoise is the smallest noise variance that a told standard deviation can claim, in modelled units.
const leastNoise = 1e-6

// readingLambda is λ of round's reading: what was told with it, else what is known of it and of the settings.
func (s *study) readingLambda(round int, r Reading, m metricModel) float64 {
	if !s.cfg.Fit || r.SD <= 0 || !s.scaled(m) {
		return m.noise.of(round, s.placeOf(round), m.lambda)
	}
	sd := r.SD / m.scale * m.warp.Slope((r.Value-m.centre)/m.scale)
	return max(min(sd*sd, utmost), leastNoise)
}

// seen is the number of leading arrivals that decision t sees.
func (g *group) seen(t int) int {
	return sort.Search(len(g.order), func(i int) bool { return g.order[i].revealed >= t })
}

// regressAll works out the regressions of every era.
func (s *evidence) regressAll(ctx context.Context) error {
	s.eraList = s.eras()
	s.agreed = s.agree()
	s.excluded = s.listExcluded()
	for _, e := range s.eraList {
		if err := s.build(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// build works out the regressions of an era, taking over what the prior state's worked out for the same rounds.
func (s *evidence) build(ctx context.Context, e *era) error {
	if err := s.regressMetrics(ctx, e); err != nil {
		return err
	}
	for _, k := range s.targets {
		var m metricModel
		if k.metric >= 0 {
			m = e.models[k.metric]
		} else {
			m.scale, m.warp = 1, warp.Identity
		}
		e.transforms = append(e.transforms, s.cfg.transform(k, m))
	}
	e.answers, e.whitened = make([]strand[float64], len(s.targets)), make([][]float64, len(s.targets))
	for k, t := range s.targets {
		if t.metric < 0 {
			continue
		}
		g := e.groups[e.groupOf[t.metric]]
		e.answers[k] = s.responses(e, k, g)
		if g.Data == nil {
			continue
		}
		e.whitened[k] = g.Data.Whiten(s.whitenedBefore(k, g, e.answers[k].items), e.answers[k].items)
	}
	for _, g := range e.groups {
		if g.Data != nil {
			continue
		}
		if err := s.stand(ctx, e, g); err != nil {
			return err
		}
	}
	return s.buildOwn(ctx, e)
}

// regressMetrics makes the distinct regressions of the metrics, on all cores.
func (s *evidence) regressMetrics(ctx context.Context, e *era) error {
	e.groupOf = make([]int, len(s.cfg.Metrics))
	work := cores.New()
	for i, m := range e.models {
		came := s.arrivals(i, m, e.until)
		found := slices.IndexFunc(e.groups, func(g *group) bool { return g.model.sameRegression(m) && g.came.same(came) })
		if found < 0 {
			found = len(e.groups)
			order := came.order()
			g := &group{model: m, order: order.items, arrivals: order, came: came}
			e.groups = append(e.groups, g)
			work.Go(func() error {
				if err := s.regress(ctx, g, s.crowded(e, len(g.order))); err != nil {
					return fmt.Errorf("metric %s: %w", s.cfg.Metrics[i].Name, err)
				}
				return nil
			})
		}
		e.groupOf[i] = found
	}
	return work.Wait()
}

// whitenedBefore is the beginning of target k's z that the prior state has worked out already.
func (s *evidence) whitenedBefore(k int, g *group, y []float64) []float64 {
	for _, old := range s.priorEras() {
		if g.begun == nil || old.groups[old.groupOf[s.targets[k].metric]] != g.begun {
			continue
		}
		n := 0
		for n < g.known && y[n] == old.answers[k].items[n] {
			n++
		}
		return old.whitened[k][:n]
	}
	return nil
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

// regress factorises K + Λ for a group's arrivals, unless they are crowded, appending to a factor of the prior state that agrees with their beginning.
func (s *evidence) regress(ctx context.Context, g *group, crowded bool) (err error) {
	if g.function, err = s.function(g.model.kernel); err != nil || crowded {
		return err
	}
	g.Data = gp.NewData(g.function, s.inputWidth(g.model.kernel))
	for _, e := range s.priorEras() {
		for _, old := range slices.Concat(e.groups, e.own) {
			same := s.agreeing(old, g)
			if same > g.known {
				g.function, g.Data, g.begun, g.known = old.function, old.Data.Prefix(same), old, same
			}
			g.Kept.Take(&old.Kept, same)
		}
	}
	return s.appendRounds(ctx, g.Data, g.model.kernel, g.order[g.known:])
}

func (s *evidence) priorEras() []*era {
	if s.prior == nil {
		return nil
	}
	return s.prior.eraList
}

// agreeing is the number of leading arrivals whose points and noise are the same in an earlier regression.
func (s *evidence) agreeing(old, now *group) int {
	if old.Data == nil || !old.model.sameRegression(now.model) {
		return 0
	}
	n := 0
	for n < len(old.order) && n < len(now.order) {
		a, b := old.order[n], now.order[n]
		if a.round != b.round || a.lambda != b.lambda || !s.samePoint(a.round) {
			break
		}
		n++
	}
	return n
}

// samePoint tells whether a round was played at the same point in the history this state extends.
func (s *evidence) samePoint(round int) bool {
	if s.prior == nil || round > len(s.prior.history.Rounds) {
		return false
	}
	a, b := s.prior.history.Rounds[round-1], s.history.Rounds[round-1]
	return a.Arm == b.Arm && slices.Equal(a.Point, b.Point)
}

func (s *study) appendRounds(ctx context.Context, d *gp.Data, k Kernel, order []arrival) error {
	xs := make([][]float64, len(order))
	lambdas := make([]float64, len(order))
	for i, a := range order {
		r := s.history.Rounds[a.round-1]
		xs[i], lambdas[i] = s.input(k, Place{r.Point, r.Arm}), a.lambda
	}
	return d.AppendAll(ctx, xs, lambdas)
}

func (s *study) function(k Kernel) (*kernel.Function, error) {
	if k.Name == "covariance" {
		return kernel.NewCovariance(k.Matrix, k.Variance)
	}
	f, err := kernel.New(k.Name, s.cfg.Space.spread(k.Lengthscales), k.Variance)
	if err != nil {
		return nil, err
	}
	f = f.WithCategories(s.cfg.Space.categories())
	if k.Interaction == 0 {
		return f, nil
	}
	return f.WithInteraction(k.Interaction)
}

func (s *study) inputWidth(k Kernel) int {
	if k.Name == "covariance" {
		return 1
	}
	return s.cfg.Space.width()
}

// input is what the kernel sees of a place: its features, or its arm's index.
func (s *study) input(k Kernel, at Place) []float64 {
	if k.Name == "covariance" {
		return []float64{float64(at.Arm)}
	}
	return s.cfg.Space.features(at.U)
}

// responses are target k's responses for the arrivals, in modelled units, going on from those of the prior state.
func (s *evidence) responses(e *era, k int, g *group) strand[float64] {
	metric := s.targets[k].metric
	answer := func(a arrival) float64 {
		return e.transforms[k].response(s.history.Rounds[a.round-1].Readings[metric].Value)
	}
	var y strand[float64]
	if before := s.arrivedBefore(metric, e.models[metric], e.until); before != nil {
		answers, n := s.prior.eraList[len(s.prior.eraList)-1].answers[k], before.seen(s.agreed.seen-1)
		for n < len(before.order) && n < len(g.order) && before.order[n] == g.order[n] && answers.items[n] == answer(g.order[n]) {
			n++
		}
		y = answers.prefix(n)
	}
	var more []float64
	for _, a := range g.order[len(y.items):] {
		more = append(more, answer(a))
	}
	return y.append(more...)
}
