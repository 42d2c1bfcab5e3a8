package optimizer

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/search"
)

// draws is how many functions are drawn of each metric.
const draws = 256

// paths are functions drawn from the posterior. At a finite set Z of places they are drawn exactly
// and jointly; elsewhere a path is the mean of the process given the readings and the values drawn
// at Z. With c(·, ·) the posterior covariance, A = k(X, X) + Λ, and L Lᵀ = c(Z, Z) + ε,
//
//	f(Z) = μ(Z) + τ L ξ,   f(x) = μ(x) + c(x, Z) w,   w = τ L⁻ᵀ ξ,   c(x, Z) w = k(x, Z) w − k(x, X) A⁻¹ k(X, Z) w,
//
// where ξ is standard normal and τ² = a ν/χ²_ν, one for each metric and draw, if predictions are
// Student-t with ν degrees of freedom, else τ² = a, a being the square of view.sdFactor (see also
// scales). So a path is a sum of n + |Z| kernels, as a posterior mean is of n. (Wilson,
// Borovitskiy, Terenin, Mostowsky, Deisenroth: Pathwise Conditioning of Gaussian Processes, 2021,
// with the process at Z in place of random features, which not every kernel has.) ξ depends on the
// place and τ on the draw, not on the study's version: results change with the posterior, and not
// by chance.
type paths struct {
	state     *shown
	known     Known
	at        []Place       // Z
	values    [][][]float64 // per target, draw and place of Z, without margins
	perMetric []path

	works          chanceAt
	workChances    []float64 // per place of Z, the chance that trials work there
	workThresholds []float64 // per draw, the chance from which trials work: v of Gain
}

// path are the functions drawn of one metric, with each of some sets of hyperparameters in turn,
// since the true ones are not known.
type path struct {
	metric  int
	targets []int
	kernel  Kernel
	sets    []pathSet
	xi      [][]float64 // ξ per draw and place; overwritten with w
	scales  []float64   // τ per draw
}

// chanceAt gives the chance of something at some places.
type chanceAt func(ctx context.Context, at []Place) ([]float64, error)

// of is the chance at some places, 1 for a nil c.
func (c chanceAt) of(ctx context.Context, at []Place) ([]float64, error) {
	if c == nil {
		return slices.Repeat([]float64{1}, len(at)), nil
	}
	return c(ctx, at)
}

// pathSet is what draws with one set of hyperparameters are made of.
type pathSet struct {
	*basis
	read    [][]float64 // per target: A⁻¹ y
	means   [][]float64 // per target: A⁻¹ y, then zeros
	weights [][]float64 // per draw of the set: −A⁻¹ k(X, Z) w, then w
}

// basis is what the draws of all metrics with one regression have in common.
type basis struct {
	data       *gp.Data
	inputs     *kernel.Inputs   // Z
	root       *factor.Cholesky // of c(Z, Z)
	points     *kernel.Inputs   // X, then Z
	projection [][]float64      // −A⁻¹ k(X, Z), per reading; nil where draws are needed at Z only
}

// drawPaths draws functions of every metric at places.
func (s *shown) drawPaths(ctx context.Context, at []Place, known Known, works chanceAt) (_ *paths, err error) {
	p := &paths{state: s, known: known, at: at, values: make([][][]float64, len(s.targets)), works: works, workThresholds: make([]float64, draws)}
	if p.workChances, err = works.of(ctx, at); err != nil {
		return nil, err
	}
	for i, part := range rand.New(rand.NewPCG(s.cfg.Seed, gainStream-1)).Perm(draws) {
		p.workThresholds[i] = (float64(part) + 0.5) / draws
	}
	given := s.givenEstimates(at, known.at(at))
	of := make([]path, len(s.cfg.Metrics))
	for k, t := range s.targets {
		p.values[k] = factor.Matrix(draws, len(at))
		if t.metric >= 0 {
			of[t.metric].metric, of[t.metric].targets = t.metric, append(of[t.metric].targets, k)
			continue
		}
		for i := range p.values[k] {
			for n, mean := range given[k].Mean {
				p.values[k][i][n] = mean - s.margin(k)
			}
		}
	}
	p.perMetric = slices.DeleteFunc(of, func(o path) bool { return o.targets == nil })
	return p, p.draw(ctx)
}

// draw draws the functions of every metric.
func (p *paths) draw(ctx context.Context) error {
	if err := cores.Each(len(p.perMetric), func(m int) error { return p.prepare(ctx, &p.perMetric[m]) }); err != nil {
		return err
	}
	var bases []*basis
	var pieces []func() error
	for m := range p.perMetric {
		of := &p.perMetric[m]
		for h := range of.sets {
			set := &of.sets[h]
			if known := slices.IndexFunc(bases, func(b *basis) bool { return b.data == set.data }); known >= 0 {
				set.basis = bases[known]
			} else {
				set.inputs = p.state.points(of.kernel, p.at).Inputs
				bases = append(bases, set.basis)
			}
			pieces = append(pieces, func() error { return p.drawSet(ctx, of, h) })
		}
	}
	if err := cores.Each(len(bases), func(n int) error { return bases[n].solve(ctx, p.state.arms == nil) }); err != nil {
		return err
	}
	return cores.Each(len(pieces), func(n int) error { return pieces[n]() })
}

// prepare sets what the functions of a metric are drawn from.
func (p *paths) prepare(ctx context.Context, of *path) error {
	src := &p.state.sources[p.state.sourceOf[of.targets[0]]]
	rows, err := src.Rows(ctx)
	if err != nil {
		return err
	}
	of.kernel, of.xi, of.scales = src.kernel, p.normals(of.metric), p.state.scales(of.metric)
	of.sets, err = p.state.pathSets(ctx, src, rows, of.targets)
	return err
}

// solve computes the covariance at Z and, with between, what evaluates draws between the places of
// Z.
func (b *basis) solve(ctx context.Context, between bool) error {
	solved, err := b.data.Solved(ctx, b.inputs)
	if err != nil {
		return err
	}
	covariance, err := b.data.CovarianceFrom(ctx, b.inputs, solved)
	if err != nil {
		return err
	}
	if b.root, err = jitteredCholesky(covariance); err != nil || !between {
		return err
	}
	n := b.data.Len()
	b.points, b.projection = b.data.Inputs().Prefix(n), factor.Matrix(n, len(solved))
	for i := range solved {
		b.points.Append(b.inputs.Row(i))
		solved[i] = solved[i][:n]
	}
	return cores.Stretches(len(solved), func(from, to int) error {
		err := b.data.Factor().SolveUpperMany(ctx, solved[from:to])
		for r, row := range b.projection {
			for i := from; i < to; i++ {
				row[i] = -solved[i][r]
			}
		}
		return err
	})
}

// pathSets regresses the targets of one metric with the fitted hyperparameters, or with some drawn
// around them if they come from few readings.
func (s *shown) pathSets(ctx context.Context, src *source, rows *posterior.Rows, targets []int) ([]pathSet, error) {
	weights, err := rows.Weights(ctx, nil)
	if err != nil {
		return nil, err
	}
	fitted := pathSet{basis: &basis{data: rows.Data}, read: lists.Map(targets, func(k int) []float64 { return weights[slices.Index(src.targets, k)] })}
	models, err := s.sampledModels(s.targets[targets[0]].metric, src, rows)
	if err != nil || len(models) == 0 {
		return []pathSet{fitted}, err
	}
	var sets []pathSet
	for _, m := range models {
		set, err := s.regressed(ctx, src, m, targets)
		if err != nil {
			set = fitted // such hyperparameters cannot be computed with
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// hyperparameterSets sets of hyperparameters are drawn where there are at most fewHyperparameters
// readings; with more they are known well enough.
const (
	hyperparameterSets = 16
	fewHyperparameters = 150
)

// sampledModels are models of a metric with hyperparameters drawn from their posterior; none where
// they are not fitted or are known well, and where all readings are in doubt.
func (s *shown) sampledModels(metric int, src *source, rows *posterior.Rows) ([]metricModel, error) {
	m, rounds := s.regime.models[metric], s.history.undoubted(metric, src.rounds)
	if !m.fitted || !s.fittable(metric) || rows.Of == nil || rows.Read > fewHyperparameters || len(rounds) == 0 {
		return nil, nil
	}
	f := FittedMetric{Centre: m.centre, Scale: m.scale, Warp: m.warp, Lambda: m.lambda / m.inflation,
		Settings: inflated(m.noise.list, 1/m.inflation), Wrong: inflated(m.noise.contradicting, 1/m.inflation)}
	problem := s.fitProblem(metric, rounds, f)
	random := rand.New(rand.NewPCG(s.cfg.Seed, hyperparameterStream+uint64(metric)))
	drawn, err := fit.Around(problem, hyperparameterSets, random.NormFloat64)
	var models []metricModel
	for _, d := range drawn {
		next := m
		next.apply(FittedMetric{Lengthscales: d.Lengthscales, Lambda: d.Lambda, Variance: d.Variance, Interaction: d.Interaction,
			Warp: m.warp, Told: d.Told, Inflation: m.inflation, Freedom: m.freedom}, s.cfg.Metrics[metric])
		models = append(models, next)
	}
	return models, err
}

// regressed regresses the source's readings with another model.
func (s *shown) regressed(ctx context.Context, src *source, m metricModel, targets []int) (set pathSet, err error) {
	function, err := s.kernelFunction(m.kernel)
	if err != nil {
		return set, err
	}
	order := slices.Clone(src.group.order[:src.arrived])
	for i, a := range order {
		order[i].lambda = s.readingLambda(a.round, s.history.Rounds[a.round-1].Readings[s.targets[targets[0]].metric], m)
	}
	set.basis = &basis{data: gp.NewData(function)}
	if err := s.appendRounds(ctx, set.data, m.kernel, order, nil); err != nil {
		return set, err
	}
	zs := lists.Map(targets, func(k int) []float64 { return set.data.Whiten(nil, s.regime.responses[k][:src.arrived]) })
	set.read, err = set.data.Weights(ctx, zs)
	return set, err
}

// drawSet draws the functions of every draw that uses set h.
func (p *paths) drawSet(ctx context.Context, of *path, h int) error {
	s, set, count := p.state, &of.sets[h], len(of.sets)
	means, err := set.data.MeanMany(ctx, set.inputs, set.read)
	if err != nil {
		return err
	}
	var w [][]float64
	for i := h; i < draws; i += count {
		w = append(w, of.xi[i])
	}
	if set.projection != nil {
		set.means, set.weights = factor.Matrix(len(set.read), set.points.Len()), factor.Matrix(len(w), set.points.Len())
		for t, weights := range set.read {
			copy(set.means[t], weights[:len(set.projection)])
		}
	}
	return cores.Stretches(len(w), func(from, to int) error {
		for d, deviations := range multiplyRoot(set.root, w[from:to]) {
			i := h + (from+d)*count
			for t, k := range of.targets {
				level := s.regime.transforms[k].shift - s.margin(k)
				for n, mean := range means[t] {
					p.values[k][i][n] = mean + level + s.targets[k].sign*of.scales[i]*deviations[n]
				}
			}
		}
		if err := checkpoint.Reach(ctx); err != nil || set.projection == nil {
			return err
		}
		if err := set.root.SolveUpperMany(ctx, w[from:to]); err != nil {
			return err
		}
		for d := from; d < to; d++ {
			for n := range w[d] {
				w[d][n] *= of.scales[h+d*count]
			}
		}
		set.fillWeights(set.weights[from:to], w[from:to])
		return nil
	})
}

// multiplyRoot is L ξ for every ξ.
func multiplyRoot(L *factor.Cholesky, xi [][]float64) [][]float64 {
	const height = 4
	out, tall := factor.Matrix(len(xi), L.Len()), factor.Matrix(height, L.Len())
	first, to := make([][]float64, len(xi)), make([][]float64, len(xi))
	for r := 0; r < L.Len(); r += height {
		end := min(r+height, L.Len())
		rows := tall[:end-r]
		for i := range rows {
			rows[i] = rows[i][:end]
			copy(rows[i], L.Row(r+i)) // zeros follow
		}
		for d := range xi {
			first[d], to[d] = xi[d][:end], out[d][r:end]
		}
		factor.Products(to, rows, first)
	}
	return out
}

// fillWeights sets the weights of draws, given w.
func (b *basis) fillWeights(weights, w [][]float64) {
	n, first := len(b.projection), make([][]float64, len(w))
	for d := range w {
		first[d] = weights[d][:n]
		copy(weights[d][n:], w[d])
	}
	factor.Products(first, b.projection, w)
}

// jitterSteps is how many jitters jitteredCholesky tries.
const jitterSteps = 6

// jitteredCholesky is L with L Lᵀ = C + ε for the lower triangle of a covariance C, which it
// changes. The jitter ε is the least of 1e-10, 1e-8, … times the largest variance with which C + ε
// has a factor; otherwise the error is factor.ErrNotPositiveDefinite.
func jitteredCholesky(covariance [][]float64) (*factor.Cholesky, error) {
	largest := math.SmallestNonzeroFloat64
	for i, row := range covariance {
		largest = max(largest, row[i])
	}
	added, more := 0.0, 1e-10*largest
	for range jitterSteps {
		for i, row := range covariance {
			row[i] += more - added
		}
		added, more = more, 100*more
		if root, err := factor.New(covariance); !errors.Is(err, factor.ErrNotPositiveDefinite) {
			return root, err
		}
	}
	return nil, factor.ErrNotPositiveDefinite
}

// Streams that separate these random numbers from others of the same seed.
const (
	gainStream           = 0x6761696e00
	hyperparameterStream = 0x6879706572
)

// normals are ξ of one metric, per draw and place.
func (p *paths) normals(metric int) [][]float64 {
	xi := factor.Matrix(draws, len(p.at))
	for n, place := range p.at {
		name := fnv.New64a()
		name.Write(lists.Bits(place.U))
		random := rand.New(rand.NewPCG(p.state.cfg.Seed^name.Sum64(), gainStream+uint64(metric)))
		for i := range xi {
			xi[i][n] = random.NormFloat64()
		}
	}
	return xi
}

// scales are τ of one metric, per draw. If centre and scale are estimates from n readings, they are
// uncertain, too: of independent normal readings the next is
//
//	centre + scale √((n + 1)/(n − 1)) t,   t being Student-t with n − 1 degrees of freedom.
//
// So draws are wider by that root, with n − 1 degrees of freedom at most.
func (s *shown) scales(metric int) []float64 {
	random := rand.New(rand.NewPCG(s.cfg.Seed, gainStream+uint64(metric)))
	scales := make([]float64, draws)
	m, width := s.regime.models[metric], s.sdFactor(metric)
	freedom := m.freedom
	if n := float64(m.count); s.cfg.Standardize && n > 1 {
		width *= math.Sqrt((n + 1) / (n - 1))
		freedom = min(cmp.Or(freedom, n-1), n-1)
	}
	for i := range scales {
		scales[i] = width
		if u := random.Float64(); freedom > 0 {
			scales[i] *= math.Sqrt(freedom / distuv.ChiSquared{K: freedom}.Quantile(u))
		}
	}
	return scales
}

// drawScore scores a place by the targets' values there: it is allowed where every limit holds and
// trials work.
func drawScore(values []float64, works bool) search.Score {
	if !works || slices.ContainsFunc(values[1:], func(g float64) bool { return g > 0 }) {
		return search.Score{Value: math.Inf(-1)}
	}
	return search.Score{Allowed: true, Value: values[0]}
}

// scoreAt scores place n of Z by draw i.
func (p *paths) scoreAt(i, n int) search.Score {
	values := lists.Map(p.values, func(of [][]float64) float64 { return of[i][n] })
	return drawScore(values, p.workChances[n] >= p.workThresholds[i])
}

// top is the highest place of Z by draw i.
func (p *paths) top(i int) climber {
	var top climber
	for n, place := range p.at {
		if is := p.scoreAt(i, n); n == 0 || is.Above(top.score) {
			top = climber{place.U, is}
		}
	}
	return top
}

// scorePoints scores points by the values of draw i there.
func (p *paths) scorePoints(ctx context.Context, i int, points, values [][]float64) ([]search.Score, error) {
	var chances []float64
	if p.works != nil {
		var err error
		if chances, err = p.works(ctx, asPlaces(points)); err != nil {
			return nil, err
		}
	}
	return lists.Of(len(points), func(n int) search.Score {
		return drawScore(values[n], p.works == nil || chances[n] >= p.workThresholds[i])
	}), nil
}

// valuesAt evaluates some draws, which have the same hyperparameters, at points: per draw, point
// and target.
func (p *paths) valuesAt(ctx context.Context, some []int, points [][]float64) ([][][]float64, error) {
	s, values := p.state, make([][][]float64, len(some))
	for d := range values {
		values[d] = p.givenValues(points)
	}
	sums := map[*basis][][]float64{} // by metric: of each target's mean, then of the draws
	for m := range p.perMetric {
		set := p.perMetric[m].set(some[0])
		sums[set.basis] = append(sums[set.basis], set.means...)
		for _, i := range some {
			sums[set.basis] = append(sums[set.basis], set.weights[i/len(p.perMetric[m].sets)])
		}
	}
	at := kernel.InputsOf(s.features(asPlaces(points)))
	for b, weights := range sums {
		var err error
		if sums[b], err = gp.Sums(ctx, b.data.Kernel(), b.points, at, weights); err != nil {
			return nil, err
		}
	}
	for m := range p.perMetric {
		of := &p.perMetric[m]
		b, means := of.set(some[0]).basis, len(of.targets)
		for t, k := range of.targets {
			level := s.regime.transforms[k].shift - s.margin(k)
			for d := range some {
				for n, deviation := range sums[b][means+d] {
					values[d][n][k] = sums[b][t][n] + level + s.targets[k].sign*deviation
				}
			}
		}
		sums[b] = sums[b][means+len(some):]
	}
	return values, nil
}

// givenValues has the values of given constraints at points, per point and target, and zeros for
// others.
func (p *paths) givenValues(points [][]float64) [][]float64 {
	values := factor.Matrix(len(points), len(p.values))
	for n, u := range points {
		for j, c := range p.state.cfg.Costs {
			if c.Knowledge == Given {
				values[n][1+j] = c.Excess(p.known.At(j, u))
			}
		}
	}
	return values
}

// set is the set of hyperparameters of draw i.
func (p *path) set(i int) *pathSet { return &p.sets[i%len(p.sets)] }
