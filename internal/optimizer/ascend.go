package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/descent"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/search"
)

// The size of the search over a continuous space.
const (
	starts        = 12   // starting points that are polished; see effort
	mostAscents   = 24   // starting points of ascents along slopes; see effort
	finestStep    = 1e-5 // in unit coordinates
	startDistance = 0.1  // between starts, in some coordinate, so that they lie on different hills
)

// climbing is the search for the highest score on a continuous space, with the given costs and the
// random numbers of the decision.
type climbing struct {
	*decision
	known  Known
	chance Draw
}

// climbing is the search for the next decision.
func (s *decision) climbing(known Known) climbing { return climbing{s, known, s.draw(s.Round())} }

// scoreAll returns the scores of places, and the policy's reason.
func (s climbing) scoreAll(ctx context.Context, at []Place) ([]search.Score, string, error) {
	input, err := s.inputAt(ctx, at, s.known.at(at), s.chance)
	if err != nil {
		return nil, "", err
	}
	raw, err := s.score(input)
	if err != nil {
		return nil, "", err
	}
	return s.searchScores(raw, at), raw.Reason, nil
}

// effort is how much a search may spend.
type effort struct {
	ascents  int     // starts that ascend along slopes
	coarse   int     // starts that are polished coarsely, where there are no slopes
	fine     int     // the best of those, which are polished to the end
	budget   int     // evaluations of a full polish
	settling int     // evaluations of a polish where slopes led to the top
	near     int     // starting points near the incumbent, at each distance
	least    float64 // gain of a step below which an ascent ends
	tops     int     // ascents of scores with kinks that go on to the very top
	hops     int     // further ascents from there
}

// fewRounds is the number of rounds up to which the effort is not reduced.
const fewRounds = 300

// effort falls with the number of rounds, since an evaluation costs O(n²): beyond fewRounds there
// are about 25 million multiplications for each parameter of a start, but at least 16 evaluations.
func (s *task) effort() effort { return s.effortFor(len(s.history.Rounds)) }

func (s *task) effortFor(n int) effort {
	d := len(s.cfg.Space.Dims)
	if n <= fewRounds {
		return effort{ascents: mostAscents, coarse: starts, fine: 3, budget: 400 * d, settling: 40 * d, near: 24,
			least: 1e-6, tops: mostAscents, hops: mostHops}
	}
	budget, hops := max(16, 50_000_000/(n*n))*d, hopsEach*max(mostHops/hopsEach*fewRounds*fewRounds/(n*n), 1)
	return effort{ascents: 8, coarse: 6, fine: 2, budget: min(budget, 400*d), near: 6, least: 1e-4, tops: 2, hops: hops}
}

// The number of hops: from each top looked around from, and in all.
const (
	hopsEach = 3
	mostHops = 12 * hopsEach
)

// spacing is the typical distance of neighbouring screening points in unit coordinates.
func (s *task) spacing() float64 {
	return math.Max(0.02, 0.5*math.Pow(screenPoints, -1/float64(len(s.cfg.Space.Dims))))
}

// leaders are the places of the highest scores, at most count, no two within startDistance.
func leaders(at []Place, scores []search.Score, count int) []climber {
	var list []climber
	for _, i := range descending(scores) {
		if len(list) == count {
			break
		}
		if !slices.ContainsFunc(list, func(c climber) bool { return search.Within(startDistance, c.u, at[i].U) }) {
			list = append(list, climber{at[i].U, scores[i]})
		}
	}
	return list
}

// polish polishes every climber, on all cores; each is deterministic by itself.
func polish(problem search.Problem, climbers []climber, step, finest float64, budget int, seed uint64) error {
	return cores.Each(len(climbers), func(i int) (err error) {
		c := &climbers[i]
		c.u, c.score, err = problem.Polish(c.u, c.score, step, finest, budget, seed+uint64(i))
		return err
	})
}

// smooth tells whether slopes of the next decision's score can be followed: the algorithm and every
// kernel have them, and no coordinate depends on others.
func (s *decision) smooth() bool {
	if s.traits.Slopes == nil || s.arms != nil || slices.ContainsFunc(s.cfg.Space.Dims, func(d Dim) bool { return d.Derived }) {
		return false
	}
	return !slices.ContainsFunc(s.sources, func(src source) bool {
		rows, ok := src.Posterior.(*posterior.Rows)
		return !ok || rows.Data.Len() == 0 || !rows.Data.Kernel().Stationary()
	})
}

// ascend moves starts that are allowed up the slopes of the score, and polishes the best of them,
// more where some axis has levels or an ascent met the edge of what is allowed. It returns them in
// the order of their scores.
func (s climbing) ascend(problem search.Problem, climbers []climber) ([]climber, error) {
	e, climbs := s.effort(), &search.Climbs{Problem: problem}
	if err := climbFrom(climbs, climbers[:min(e.ascents, len(climbers))], e.least); err != nil {
		return nil, err
	}
	budget := e.settling
	if hasLevels(problem.Axes) || slices.ContainsFunc(climbs.Ascents, func(a search.Ascent) bool { return a.Refused }) {
		budget = e.budget / 2
	}
	return s.finish(problem, highestOf(climbs, len(climbers)), e.fine, budget)
}

// hasLevels tells whether some axis has levels.
func hasLevels(axes []search.Axis) bool {
	return slices.ContainsFunc(axes, func(a search.Axis) bool { return a.Levels > 0 })
}

// finish polishes the best so many climbers to the end. It returns all in the order of their
// scores.
func (s climbing) finish(problem search.Problem, climbers []climber, fine, budget int) ([]climber, error) {
	err := polish(problem, climbers[:min(fine, len(climbers))], s.spacing()/8, finestStep, budget, s.chance.Seed+starts)
	slices.SortStableFunc(climbers, byScore)
	return climbers, err
}

// slopeScorer computes scores with their slopes along the unit coordinates. What does not depend on
// the place is computed once.
type slopeScorer struct {
	climbing
	rows    []*posterior.Rows // per source
	zs      [][][]float64     // per source: z of every target, and v(x*) last where there is an incumbent
	weights [][][]float64     // per source: gp.Data.Weights of zs
}

func (s climbing) newSlopeScorer(ctx context.Context) (*slopeScorer, error) {
	up := &slopeScorer{climbing: s}
	for i := range s.sources {
		rows := s.sources[i].Posterior.(*posterior.Rows) // since it is smooth
		weights, err := rows.Weights(ctx, s.reference(i))
		if err != nil {
			return nil, err
		}
		up.rows, up.zs, up.weights = append(up.rows, rows), append(up.zs, rows.WithReference(s.reference(i))), append(up.weights, weights)
	}
	return up, nil
}

// scoreWithSlopes returns search.Problem.Rise: it scores points on all cores, to the same bits as
// scoreAll, and gives the slopes of the scores at some of them.
func (s climbing) scoreWithSlopes(ctx context.Context) (func(points [][]float64) ([]search.Score, func(of []int) ([]search.Slope, error), error), error) {
	up, err := s.newSlopeScorer(ctx)
	return func(points [][]float64) ([]search.Score, func(of []int) ([]search.Slope, error), error) {
		at := up.newEvaluation(asPlaces(points))
		for i, rows := range up.rows {
			at.posterior[i] = gp.NewPredictions(len(up.zs[i]), len(points), rows.Data.Len())
		}
		scores := make([]search.Score, len(points))
		err := up.spreadWork(ctx, len(points), func(source, from, to int) error {
			part := at.part(from, to)
			return up.rows[source].Data.PredictInto(ctx, part.posterior[source], part.inputs[source], up.zs[source])
		}, func(from, to int) error {
			some, err := up.scoreFrom(ctx, at.part(from, to))
			copy(scores[from:to], some)
			return err
		})
		return scores, func(of []int) ([]search.Slope, error) { return up.slopesAt(ctx, up.subset(at, of)) }, err
	}, err
}

// evaluation is the posterior at some places, per source.
type evaluation struct {
	places    []Place
	inputs    []*kernel.Inputs
	posterior []gp.Predictions
}

// newEvaluation has room for the posterior at some places.
func (up *slopeScorer) newEvaluation(at []Place) evaluation {
	f := evaluation{places: at, posterior: make([]gp.Predictions, len(up.rows))}
	f.inputs = lists.Map(up.pointsBySource(at), func(points posterior.Points) *kernel.Inputs { return points.Inputs })
	return f
}

// subset is the evaluation of some of the places.
func (up *slopeScorer) subset(f evaluation, places []int) evaluation {
	of := up.newEvaluation(lists.At(f.places, places))
	for i, p := range f.posterior {
		of.posterior[i] = p.Of(places)
	}
	return of
}

// part is the evaluation of places from to to−1, in the same memory.
func (f evaluation) part(from, to int) evaluation {
	part := evaluation{places: f.places[from:to]}
	for i, p := range f.posterior {
		part.inputs, part.posterior = append(part.inputs, f.inputs[i].Slice(from, to)), append(part.posterior, p.Part(from, to))
	}
	return part
}

const (
	// largeFrom is the number of rows from which a factor, of a megabyte and more, does not stay in
	// a core's cache from one step to the next.
	largeFrom = 512
	// littleWork is how many multiplications take as long as waking another core.
	littleWork = 3_000_000
	// scoring is the work of a score without the posterior, in multiplications.
	scoring = 40_000
)

// spreadWork calls ofSource for each source and then calls then, for all places: on all cores where
// that is much work. Reading large factors from memory takes longest, so each core passes over
// those of its own sources for all places, and places are divided only for the sources left over.
func (up *slopeScorer) spreadWork(ctx context.Context, places int, ofSource func(source, from, to int) error, then func(from, to int) error) error {
	reach := func(source, from, to int) error {
		if err := checkpoint.Reach(ctx); err != nil {
			return err
		}
		return ofSource(source, from, to)
	}
	all := func(from, to int) error {
		for i := range up.rows {
			if err := reach(i, from, to); err != nil {
				return err
			}
		}
		return then(from, to)
	}
	switch n := up.rows[0].Data.Len(); {
	case places == 0:
		return nil
	case places*(scoring+len(up.rows)*n*n) < littleWork:
		return all(0, places)
	case n < largeFrom:
		return cores.Stretches(places, all)
	}
	work, count := cores.New(), cores.Count()
	for i := range up.rows {
		pieces := 1
		if i >= len(up.rows)/count*count {
			pieces = min(count, places)
		}
		for piece := range pieces {
			work.Go(func() error { return reach(i, piece*places/pieces, (piece+1)*places/pieces) })
		}
	}
	if err := work.Wait(); err != nil {
		return err
	}
	return then(0, places)
}

// scoreFrom are the scores at places, given the posterior there.
func (up *slopeScorer) scoreFrom(ctx context.Context, at evaluation) ([]search.Score, error) {
	input, err := up.input(ctx, at)
	if err != nil {
		return nil, err
	}
	if input.TooRisky, err = up.tooRisky(ctx, at.places, slices.Concat([]policy.Estimate{input.Reward}, input.Costs)); err != nil {
		return nil, err
	}
	raw, err := up.score(input)
	if err != nil {
		return nil, err
	}
	return up.searchScores(raw, at.places), nil
}

// input is the algorithm's input at places, given the posterior there.
func (up *slopeScorer) input(ctx context.Context, at evaluation) (*policy.Input, error) {
	estimates, incumbent := up.givenEstimates(at.places, up.known.at(at.places)), up.decision.newIncumbentInput(at.places)
	for i, rows := range up.rows {
		src, p := &up.sources[i], posterior.Prediction{Variances: at.posterior[i].Variances}
		p.Means = lists.Map(at.posterior[i].Means, slices.Clone)
		if incumbent != nil {
			p.ReferenceCovariances = rows.ReferenceCovariances(up.reference(i), at.inputs[i], p.Means[len(rows.Z)])
		}
		up.addPrediction(src, p, estimates, incumbent)
	}
	input := up.newInput(up.chance, estimates, incumbent)
	var err error
	input.Works, err = up.worksAt(ctx, at.places)
	return input, err
}

// slopesAt are the slopes of the scores at places. It overwrites the posterior there.
func (up *slopeScorer) slopesAt(ctx context.Context, at evaluation) ([]search.Slope, error) {
	along, gradients := make([]search.Slope, len(at.places)), make([]gp.Gradients, len(up.rows))
	for i := range gradients {
		gradients[i] = gp.NewGradients(len(at.places))
	}
	return along, up.spreadWork(ctx, len(at.places), func(source, from, to int) error {
		part := at.part(from, to)
		return up.rows[source].Data.GradientsInto(ctx, gradients[source].Part(from, to), part.inputs[source], part.posterior[source], up.weights[source])
	}, func(from, to int) error {
		some := lists.Map(gradients, func(g gp.Gradients) gp.Gradients { return g.Part(from, to) })
		return up.writeSlopes(ctx, along[from:to], at.part(from, to), some)
	})
}

// writeSlopes writes the slopes at places, given the posterior and its gradients.
func (up *slopeScorer) writeSlopes(ctx context.Context, along []search.Slope, at evaluation, gradients []gp.Gradients) error {
	input, err := up.input(ctx, at)
	if err != nil {
		return err
	}
	working, err := up.worksSlopes(ctx, at.places, input.Works)
	if err != nil {
		return err
	}
	by := up.traits.Slopes(input)
	for n, place := range at.places {
		u := place.U
		inputs := up.inputSlopes(n, u, gradients, input, by)
		if working != nil {
			factor.Axpy(1, working[n], inputs)
		}
		along[n].Along = up.cfg.Space.unitSlopes(u, inputs)
		for j, g := range by.Costs {
			if v := up.sourceOf[1+j]; v < 0 && g.Mean[n] != 0 {
				factor.Axpy(g.Mean[n], up.givenSlopes(j, u), along[n].Along)
			}
		}
		for _, kink := range by.Kinks {
			up.addKink(&along[n], kink, n, u, gradients, input)
		}
	}
	return nil
}

// inputSlopes are the slopes of place n's score along the kernel inputs, by the chain rule: of the
// score by means and deviations, and of these by the inputs.
func (up *slopeScorer) inputSlopes(n int, u []float64, gradients []gp.Gradients, input *policy.Input, by policy.Slopes) []float64 {
	v := up.decision.view
	along := make([]float64, up.decision.cfg.Space.width())
	for i := range v.sources {
		src := &v.sources[i]
		for m, k := range src.targets {
			slope := by.Reward
			if k > 0 {
				slope = by.Costs[k-1]
			}
			up.addTargetSlopes(along, n, i, m, gradients, input, slope.Mean[n], slope.SD[n])
		}
		if by.Covariance == nil {
			continue
		}
		means := gradients[i].Means[n]
		slope := 0.0
		for _, k := range src.targets {
			slope += by.Covariance[k][n]
		}
		x, gradient := up.decision.kernelInput(src.kernel, Place{U: u, Arm: -1}), make([]float64, len(along))
		up.rows[i].Data.Kernel().Gradients([][]float64{gradient}, x, v.reference(i).Inputs, [][]float64{{1}})
		factor.Axpy(slope, gradient, along)
		factor.Axpy(-slope, means[len(up.rows[i].Z)], along)
	}
	return along
}

// addTargetSlopes adds, along the kernel inputs, the slopes at place n of a quantity with the given
// derivatives by the mean and the deviation of source i's target number m.
func (up *slopeScorer) addTargetSlopes(to []float64, n, i, m int, gradients []gp.Gradients, input *policy.Input, byMean, bySD float64) {
	v := up.decision.view
	k, estimate := v.sources[i].targets[m], input.Reward
	if k > 0 {
		estimate = input.Costs[k-1]
	}
	if !v.transforms[k].priorOnly {
		factor.Axpy(byMean, gradients[i].Means[n][m], to)
	}
	if sd := estimate.SD[n]; sd > 0 {
		factor.Axpy(bySD/(2*sd), gradients[i].Variances[n], to)
	}
}

// unitSlopes converts slopes along the kernel inputs at a point into those along its unit
// coordinates, 0 for a category.
func (s Space) unitSlopes(u, inputs []float64) []float64 {
	out := make([]float64, len(u))
	at := 0
	for k, d := range s.Dims {
		switch d.Kind {
		case Linear:
			out[k] = inputs[at] * (d.High - d.Low)
		case Logarithmic:
			ratio := d.High / d.Low
			out[k] = inputs[at] * d.Low * math.Pow(ratio, u[k]) * math.Log(ratio)
		}
		at += d.inputs()
	}
	return out
}

// How scores with kinks are climbed.
const (
	nearTop    = 1e-4  // gain at which ascents pause, as a share of the size and range of scores
	onTop      = 1e-11 // gain at which the highest ascents end, likewise
	certifying = 2e-5  // step of the polls around the best, in unit coordinates
	hopLevels  = 4     // values of each coordinate, from 0 to 1, to hop to from a top
)

// ascendKinks is ascend for scores with kinks, which are on the scale of the metrics. All starts
// ascend until little more is to be gained, then do the most promising hops from the highest of
// them, and the highest of all continue to the very top. Polls around the best certify it. It
// returns climbers in the order of their scores.
func (s climbing) ascendKinks(problem search.Problem, climbers []climber) ([]climber, error) {
	e := s.effortFor(s.rows())
	climbers = climbers[:min(e.ascents, len(climbers))]
	ridges := &search.Climbs{Problem: problem, Kinked: true}
	highest, spread := scoreRange(climbers)
	if err := climbFrom(ridges, climbers, nearTop*max(highest, spread)); err != nil {
		return nil, err
	}
	hops, err := hops(problem, highestOf(ridges, e.hops/hopsEach), e.hops)
	if err != nil {
		return nil, err
	}
	if err := climbFrom(ridges, hops, nearTop*max(highest, spread)); err != nil {
		return nil, err
	}
	order := ridges.Highest()
	for _, i := range order[:min(e.tops, len(order))] {
		ridges.Resume(i, onTop*max(highest, spread/1000))
	}
	if err := ridges.Follow(); err != nil {
		return nil, err
	}
	risen := highestOf(ridges, len(order))
	if len(risen) == 0 {
		return climbers, nil
	}
	return s.certify(problem, ridges, risen)
}

// scoreRange is the size of the highest score, and the largest difference to it among allowed
// climbers.
func scoreRange(climbers []climber) (highest, spread float64) {
	highest = climbers[0].score.Value
	for _, c := range climbers {
		if c.score.Allowed {
			spread = max(spread, math.Abs(highest-c.score.Value))
		}
	}
	return math.Abs(highest), spread
}

// climbFrom adds ascents from allowed climbers that end when steps gain less than least, and
// follows all.
func climbFrom(climbs *search.Climbs, climbers []climber, least float64) error {
	for _, c := range climbers {
		if c.score.Allowed {
			climbs.Add(c.u, c.score, least)
		}
	}
	return climbs.Follow()
}

// highestOf are the highest ascents, at most count.
func highestOf(climbs *search.Climbs, count int) []climber {
	order := climbs.Highest()
	return lists.Map(order[:min(count, len(order))], func(i int) climber { return climber{climbs.Ascents[i].U, climbs.Ascents[i].Score} })
}

// certify polls closely around the best, at least once along the axes and once across them, where
// slopes are reliable. Where they are not, or polls find something higher, it polishes.
func (s climbing) certify(problem search.Problem, ridges *search.Climbs, risen []climber) ([]climber, error) {
	e, d := s.effortFor(s.rows()), len(problem.Axes)
	if !hasLevels(problem.Axes) && !slices.ContainsFunc(ridges.Ascents, atEdge) {
		top := risen[0].u
		if err := polish(problem, risen[:1], certifying, finestStep, max(4*d, e.settling), s.chance.Seed+starts); err != nil {
			return nil, err
		}
		if slices.Equal(top, risen[0].u) {
			return risen, nil
		}
	}
	return s.finish(problem, risen, e.fine, e.budget/2)
}

// rows is the number of rows of the largest regression.
func (s climbing) rows() int {
	most := 0
	for i := range s.sources {
		most = max(most, len(s.sources[i].rounds))
	}
	return most
}

// atEdge tells whether an ascent ended where slopes are not reliable: at the edge of what is
// allowed, or where the score is cut, so that only its ties differ.
func atEdge(a search.Ascent) bool {
	return a.Refused || a.Score.Tie != 0 && a.Score.Tie != a.Score.Value
}

// hops are the most promising places that differ from some tops in one coordinate. A score with
// kinks has many tops, in corners and along sides.
func hops(problem search.Problem, tops []climber, count int) ([]climber, error) {
	var points [][]float64
	for _, top := range tops {
		for k, axis := range problem.Axes {
			for _, v := range axisValues(axis) {
				u := slices.Clone(top.u)
				u[k] = v
				if (problem.Settle == nil || problem.Settle(u)) && !slices.Equal(u, top.u) {
					points = append(points, u)
				}
			}
		}
	}
	if len(points) == 0 {
		return nil, nil
	}
	scores, err := problem.Score(points)
	if err != nil {
		return nil, err
	}
	return leaders(asPlaces(points), scores, count), nil
}

// axisValues are values all along an axis.
func axisValues(axis search.Axis) []float64 {
	switch {
	case axis.Choice:
		return lists.Of(axis.Levels, func(c int) float64 { return (float64(c) + 0.5) / float64(axis.Levels) })
	case !axis.Fixed:
		return lists.Of(hopLevels, func(level int) float64 { return float64(level) / (hopLevels - 1) })
	}
	return nil
}

// addKink adds a kink of place n's score to its slope. Where the kink bends upwards, only the slope
// on the place's side is added, since no maximum lies on such a kink.
func (up *slopeScorer) addKink(to *search.Slope, kink policy.Kink, n int, u []float64, gradients []gp.Gradients, input *policy.Input) {
	s, height := up.decision, kink.Height[n]
	if kink.Price == 0 || kink.Price < 0 && height <= 0 {
		return
	}
	var along []float64
	if i := s.sourceOf[kink.Target]; i >= 0 {
		inputs := make([]float64, s.cfg.Space.width())
		up.addTargetSlopes(inputs, n, i, slices.Index(s.sources[i].targets, kink.Target), gradients, input, kink.ByMean, kink.BySD)
		along = s.cfg.Space.unitSlopes(u, inputs)
	} else {
		along = up.givenSlopes(kink.Target-1, u)
		for k := range along {
			along[k] *= kink.ByMean
		}
	}
	if kink.Price < 0 {
		factor.Axpy(-kink.Price, along, to.Along)
		return
	}
	to.Kinks = append(to.Kinks, descent.Kink{Price: kink.Price, Height: height, Slopes: along})
}

// givenStep is half the distance of the points between which givenSlopes takes differences.
const givenStep = 1e-6

// givenSlopes are the slopes of a given cost along the unit coordinates, by differences.
func (up *slopeScorer) givenSlopes(j int, u []float64) []float64 {
	s := up.decision
	along := make([]float64, len(u))
	for k, d := range s.cfg.Space.Dims {
		if d.Kind == Categorical || d.Levels > 0 {
			continue
		}
		above, below := slices.Clone(u), slices.Clone(u)
		above[k], below[k] = min(u[k]+givenStep, 1), max(u[k]-givenStep, 0)
		value := up.known.at(asPlaces([][]float64{above, below}))
		along[k] = (s.cfg.Costs[j].given(value(j, 0)) - s.cfg.Costs[j].given(value(j, 1))) / (above[k] - below[k])
	}
	return along
}
