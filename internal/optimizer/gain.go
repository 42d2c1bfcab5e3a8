package optimizer

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"headroom/internal/lists"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/search"
)

// Gain is the distribution of the best value of the objective within the limits, in metric units:
//
//	f* = max { f(x) : g_j(x) ≤ 0 for all j, p(x) ≥ v }
//
// over all x that may be chosen. f and g are draws from the posterior. p(x) is the chance that a
// trial works at x: learned from failures, and 1 where a trial gave a reading. v is uniform on [0,
// 1], so that a place works in a share p(x) of the draws, and in no draw in which a likelier place
// does not. Where people gave a plausible range of the objective, values of f are cut to it.
//
// Its JSON is the API's.
type Gain struct {
	Best BestRange `json:"best"`
	// Feasible is the probability that some place is within every limit. Best and ChanceLeft are
	// taken over the draws in which one is.
	Feasible float64 `json:"feasible"`
	// ChanceLeft holds, for each share asked for, the probability that f* is better than f at the
	// recommended place by more than that share of Of, or that this place is beyond a limit; empty
	// where nothing is recommended.
	ChanceLeft []ChanceLeft `json:"chance_left"`
	OfRange    bool         `json:"-"` // Of is the range of the readings
}

// BestRange is the central interval that contains f* with probability Level.
type BestRange struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`
}

// ChanceLeft is the probability that more than a share is left to gain, estimated from the draws,
// with the upper end of its one-sided 95 % confidence interval (Clopper and Pearson, 1934).
type ChanceLeft struct {
	MoreThan float64 `json:"more_than"`
	// Of is what MoreThan is a share of. It is |μ| at the recommended place if μ and all readings
	// of the objective have one sign, and the first share of |μ| is less than their range or the
	// readings are equal. Otherwise 0 is no natural origin of the scale, and Of is the range of μ
	// and the readings. Readings in doubt are left out.
	Of     float64 `json:"of"`
	Chance float64 `json:"chance"`
	AtMost float64 `json:"at_most"`
}

// chanceLeft is the ChanceLeft of a share that the gain exceeds in more of the draws.
func chanceLeft(share, of float64, more int) ChanceLeft {
	left := ChanceLeft{share, of, float64(more) / draws, 1}
	if more < draws {
		left.AtMost = distuv.Beta{Alpha: float64(more) + 1, Beta: float64(draws - more)}.Quantile(0.95)
	}
	return left
}

// gainLevel is the Level of BestRange.
const gainLevel = 0.9

// Gain draws functions from the posterior (see paths) and finds the maximum of each: among a finite
// set of promising places and, on a continuous space, uphill from there. ok is false before every
// metric has a reading and a scale, and where no draw has a place within the limits. The standard
// error of a probability p is √(p(1 − p)/256). plausible is the range of the objective, in its
// unit, that values of f are cut to; nil for none.
func (s *decision) Gain(ctx context.Context, known Known, plausible []float64, shares ...float64) (gain Gain, ok bool, err error) {
	if s.works == nil {
		return s.shown.gainWhere(ctx, known, nil, plausible, shares)
	}
	read := map[string]bool{}
	for _, round := range s.told(s.cfg.Objective.Metric) {
		read[string(lists.Bits(s.placeOf(round).U))] = true
	}
	return s.shown.gainWhere(ctx, known, func(ctx context.Context, at []Place) ([]float64, error) {
		chances, err := s.WorksChance(ctx, at)
		for i, place := range at {
			if read[string(lists.Bits(place.U))] {
				chances[i] = 1
			}
		}
		return chances, err
	}, plausible, shares)
}

// gainWhere is Gain where works gives the chance that a trial works, nil for 1 everywhere.
func (s *shown) gainWhere(ctx context.Context, known Known, works chanceAt, plausible, shares []float64) (gain Gain, ok bool, err error) {
	if !s.modelReady() {
		return Gain{}, false, nil
	}
	recommended, err := s.Recommendation(ctx)
	if err != nil {
		return Gain{}, false, err
	}
	at, err := s.likelyMaximisers(ctx, known, works, recommended)
	if err != nil || len(at) == 0 {
		return Gain{}, false, err
	}
	drawn, err := s.drawPaths(ctx, at, known, works)
	if errors.Is(err, factor.ErrNotPositiveDefinite) { // the numbers are too far apart to draw functions
		return Gain{}, false, nil
	}
	if err != nil {
		return Gain{}, false, err
	}
	best, err := drawn.maxima(ctx)
	if err != nil {
		return Gain{}, false, err
	}
	t := s.regime.transforms[0]
	valueOf := func(reward float64) float64 {
		value := t.toMetric(reward - t.shift)
		if plausible != nil {
			value = min(max(value, plausible[0]), plausible[1])
		}
		return value
	}
	var found, left []float64
	for i, reward := range best {
		if math.IsInf(reward, -1) {
			continue
		}
		value := valueOf(reward)
		found = append(found, value)
		switch {
		case recommended > 0 && drawn.scoreAt(i, 0).Allowed:
			left = append(left, t.sign*(value-valueOf(drawn.values[0][i][0])))
		case recommended > 0:
			left = append(left, math.Inf(1))
		}
	}
	if len(found) == 0 {
		return Gain{}, false, nil
	}
	slices.Sort(found)
	gain = Gain{Best: BestRange{quantile(found, (1-gainLevel)/2), quantile(found, (1+gainLevel)/2), gainLevel}, Feasible: float64(len(found)) / draws, ChanceLeft: []ChanceLeft{}}
	if recommended > 0 {
		var unit float64
		if unit, gain.OfRange, err = s.shareUnit(ctx, recommended, shares); err != nil {
			return Gain{}, false, err
		}
		for _, share := range shares {
			more := lists.Count(left, func(l float64) bool { return l > share*unit })
			gain.ChanceLeft = append(gain.ChanceLeft, chanceLeft(share, unit, more))
		}
	}
	return gain, true, nil
}

// quantile interpolates the p-quantile of sorted values (type 6 of Hyndman and Fan, 1996).
func quantile(sorted []float64, p float64) float64 {
	rank := p*float64(len(sorted)+1) - 1
	below := min(max(int(math.Floor(rank)), 0), len(sorted)-1)
	above := min(below+1, len(sorted)-1)
	part := min(max(rank-float64(below), 0), 1)
	return sorted[below] + part*(sorted[above]-sorted[below])
}

// shareUnit computes ChanceLeft.Of, and tells whether it is a range.
func (s *shown) shareUnit(ctx context.Context, recommended int, shares []float64) (size float64, ofRange bool, err error) {
	beliefs, _, err := s.Believe(ctx, []Place{s.placeOf(recommended)}, nil)
	if err != nil {
		return 0, false, err
	}
	objective := s.cfg.Objective.Metric
	rounds := s.told(objective)
	if sure := s.history.undoubted(objective, rounds); len(sure) > 0 {
		rounds = sure
	}
	readings := s.history.values(objective, rounds)
	mean, low, high := beliefs[objective].Mean[0], slices.Min(readings), slices.Max(readings)
	least, most := min(mean, low), max(mean, high)
	size = math.Abs(mean)
	if (least > 0 || most < 0) && (len(shares) == 0 || low == high || shares[0]*size < most-least) {
		return size, false, nil
	}
	return most - least, true, nil
}

// The largest numbers of places at which functions are drawn first: spread over the space, played,
// and most promising.
const (
	spreadPlaces    = 48
	playedPlaces    = 96
	promisingPlaces = 128
)

// optimism is the number of standard deviations in a place's favour when promising places are
// chosen.
const optimism = 2

// preselection chooses the places at which functions are drawn, by scores at which every target
// lies a number of standard deviations from its mean (see scoresAt).
type preselection struct {
	*shown
	known      Known
	works      chanceAt
	width      float64      // the central interval of ±width standard deviations contains all draws but one
	lowerBound search.Score // of a draw's maximum: the best score where everything is width deviations worse
}

// ratedPlace is a place with its score where everything is optimism deviations better than
// expected, and the upper bound where everything is width deviations better. Before pruneFrom
// rounds upper is +∞.
type ratedPlace struct {
	Place
	optimistic, upper search.Score
}

// likelyMaximisers are the places where functions are drawn first; the recommended one comes first.
// The others are the most promising of those that may be chosen and of those played, and some
// spread over the space, without those whose upper bound is below preselection.lowerBound. Lists
// that are short enough are taken whole.
func (s *shown) likelyMaximisers(ctx context.Context, known Known, works chanceAt, recommended int) ([]Place, error) {
	var at, others []Place
	if recommended > 0 {
		at = []Place{s.placeOf(recommended)}
	}
	rounds := s.history.roundsWhere(1, s.Round(), func(_ int, r *Round) bool { return !r.Gone })
	if s.arms == nil {
		others = s.withSpreadPoints(nil)
	} else {
		others = s.allowedArms()
	}
	c := s.newPreselection(known, works)
	fromPlayed, err := c.mostPromising(ctx, s.placesAt(rounds), rounds, playedPlaces)
	if err != nil {
		return nil, err
	}
	fromOthers, err := c.mostPromising(ctx, others, nil, promisingPlaces)
	if err != nil {
		return nil, err
	}
	spread, err := c.mostPromising(ctx, others[:min(spreadPlaces, len(others))], nil, spreadPlaces)
	if err != nil {
		return nil, err
	}
	for _, from := range slices.Concat(spread, fromPlayed, fromOthers) {
		if !c.lowerBound.Above(from.upper) {
			at = append(at, from.Place)
		}
	}
	return unique(at), nil
}

// newPreselection is a preselection that has not rated any place.
func (s *shown) newPreselection(known Known, works chanceAt) *preselection {
	c := &preselection{shown: s, known: known, works: works, lowerBound: search.Score{Value: math.Inf(-1)}}
	for _, m := range s.regime.models {
		c.width = max(c.width, halfWidth(1-1./draws, m.freedom))
	}
	return c
}

// mostPromising returns at most so many of the places, those of the largest optimistic scores, in
// their order; rounds are those that played them, nil if none did. After many rounds, places are
// rated in the order of a bound of their scores, and only as long as one of the rest can be among
// the best.
func (c *preselection) mostPromising(ctx context.Context, at []Place, rounds []int, most int) ([]ratedPlace, error) {
	many, unbounded := len(c.history.Rounds) >= pruneFrom, search.Score{Allowed: true, Value: math.Inf(1)}
	all := lists.Map(at, func(place Place) ratedPlace { return ratedPlace{Place: place, upper: unbounded} })
	if len(at) <= most && !many {
		return all, nil
	}
	chances, err := c.works.of(ctx, at)
	if err != nil {
		return nil, err
	}
	byOptimistic := func(a, b int) int { return cmp.Or(search.Higher(all[a].optimistic, all[b].optimistic), a-b) }
	left, step, best := lists.Below(len(at)), len(at), []int(nil)
	if rounds == nil && c.arms == nil && many {
		estimates, err := c.boundEstimates(ctx, at, c.known)
		if err != nil {
			return nil, err
		}
		c.rate(all, left, estimates, chances)
		slices.SortFunc(left, byOptimistic)
		step = most
	}
	for {
		left = slices.DeleteFunc(left, func(i int) bool { return c.lowerBound.Above(all[i].upper) })
		if len(left) == 0 || len(best) == most && all[best[most-1]].optimistic.Above(all[left[0]].optimistic) {
			slices.Sort(best)
			return lists.At(all, best), nil
		}
		some := left[:min(step, len(left))]
		left = left[len(some):]
		estimates, err := c.estimatesOf(ctx, lists.At(at, some), lists.At(rounds, some), c.known)
		if err != nil {
			return nil, err
		}
		c.rate(all, some, estimates, lists.At(chances, some))
		best = append(best, some...)
		slices.SortFunc(best, byOptimistic)
		best = best[:min(most, len(best))]
	}
}

// rate sets the scores of some of the places and, after many rounds, their upper bounds, and
// lowerBound.
func (c *preselection) rate(all []ratedPlace, some []int, estimates []policy.Estimate, chances []float64) {
	for n, score := range c.scoresAt(estimates, chances, optimism) {
		all[some[n]].optimistic = score
	}
	if len(c.history.Rounds) < pruneFrom {
		return
	}
	for n, score := range c.scoresAt(estimates, chances, c.width) {
		all[some[n]].upper = score
	}
	for _, score := range c.scoresAt(estimates, chances, -c.width) {
		if score.Allowed && score.Above(c.lowerBound) {
			c.lowerBound = score
		}
	}
}

// estimatesOf is estimate at places, at those of played rounds by the posterior there.
func (s *shown) estimatesOf(ctx context.Context, at []Place, rounds []int, known Known) ([]policy.Estimate, error) {
	if rounds != nil {
		return s.inSampleOf(ctx, rounds, known.at(at))
	}
	return s.estimate(ctx, at, known.at(at))
}

// boundingShare divides the rows of a factor: the first rows/boundingShare bound deviations.
const boundingShare = 4

// boundEstimates is estimate with the deviations given the first rows of each factor, which are at
// least as large and take a sixteenth of the work.
func (s *shown) boundEstimates(ctx context.Context, at []Place, known Known) ([]policy.Estimate, error) {
	return s.gather(at, known.at(at), nil, func(i int, points posterior.Points) (p posterior.Prediction, err error) {
		if p.Means, err = s.sources[i].Means(ctx, points); err != nil {
			return p, err
		}
		rows, err := s.sources[i].Rows(ctx)
		if err != nil {
			return p, err
		}
		p.Variances, err = rows.VariancesAfter(ctx, rows.Data.Len()/boundingShare, points.Inputs)
		return p, err
	})
}

// scoresAt scores places as if every target lay a number of standard deviations from its mean, in
// the place's favour where it is positive. The score is the reward where every cost is within its
// limit and the chance that trials work is at least Φ(−deviations), otherwise minus the largest
// excess. Scores rise with the deviations.
func (s *shown) scoresAt(estimates []policy.Estimate, chances []float64, optimism float64) []search.Score {
	least := distuv.UnitNormal.CDF(-optimism)
	scores := make([]search.Score, len(chances))
	for i := range scores {
		worst := 0.0
		for k := 1; k < len(estimates); k++ {
			worst = max(worst, estimates[k].Mean[i]-s.margin(k)-optimism*estimates[k].SD[i])
		}
		scores[i] = search.Score{Allowed: worst == 0 && chances[i] >= least, Value: -worst}
		if scores[i].Allowed {
			scores[i].Value = estimates[0].Mean[i] + optimism*estimates[0].SD[i]
		}
	}
	return scores
}

// region is a box around a place where some draws are highest. Evaluating a draw takes as many
// kernel values as there are readings and places drawn at, so draws are evaluated at a few points P
// of the region, all of them together. Between these a draw is approximated by the mean of its
// process given its values there,
//
//	f(x) ≈ f(z) + k(x, P) (k(P, P) + ε)⁻¹ (f(P) − f(z)),
//
// z being the place, and the approximation is climbed. Only values of the draw itself count.
type region struct {
	paths        *paths
	axes         []search.Axis // all are fixed but those that the region spans
	step         float64       // the space's spacing
	draws        []int         // those highest at the place, with the same hyperparameters
	at           [][]float64   // P, the place first
	values       [][][]float64 // per draw, point and target
	interpolants []interpolant // per metric; nil where the prior is certain
}

// interpolant is what draws of one metric are interpolated by in a region.
type interpolant struct {
	*path
	function *kernel.Function
	inputs   *kernel.Inputs
	root     *factor.Cholesky
}

const (
	regionReach      = 2   // half width of a region, in spacings, along each coordinate
	regionPoints     = 8   // points for each coordinate
	regionPolls      = 30  // evaluations of a climb, for each coordinate
	mostSpanned      = 8   // numbers that a region spans: the work grows with their square
	changeResolution = 1e6 // shares of change are rounded to multiples of 1/changeResolution
)

// backtracking are the fractions of the way to the top of the approximation that are tried until
// one is allowed and higher: where limits are active, the top may lie beyond them.
var backtracking = []float64{1, 0.98, 0.9, 0.7}

// maxima are the largest rewards within the limits, draw by draw; −∞ where no place is within them.
func (p *paths) maxima(ctx context.Context) ([]float64, error) {
	tops := lists.Of(draws, p.top)
	if p.state.arms == nil {
		if err := p.climb(ctx, tops); err != nil {
			return nil, err
		}
	}
	best := make([]float64, draws)
	for i, top := range tops {
		if best[i] = top.score.Value; !top.score.Allowed {
			best[i] = math.Inf(-1)
		}
	}
	return best, nil
}

// climb moves every draw's maximum uphill from the highest place that it was drawn at.
func (p *paths) climb(ctx context.Context, tops []climber) error {
	regions := p.regions(tops)
	for some := range slices.Chunk(regions, p.regionsAtOnce(regions)) {
		if err := cores.Each(len(some), func(n int) error { return some[n].evaluate(ctx) }); err != nil {
			return err
		}
		var climbs []func() error
		for _, r := range some {
			for d, i := range r.draws {
				climbs = append(climbs, func() (err error) { tops[i], err = r.climb(ctx, d, tops[i]); return err })
			}
		}
		if err := cores.Each(len(climbs), func(n int) error { return climbs[n]() }); err != nil {
			return err
		}
		for _, r := range some {
			r.values, r.interpolants = nil, nil
		}
	}
	return nil
}

// regionsAtOnce is how many regions are kept in memory at a time. Each has covariances of all its
// points, of which there are at least as many as choices: with a parameter of a thousand choices,
// all regions together took 8 GB.
func (p *paths) regionsAtOnce(regions []*region) int {
	const few, mostNumbers = 8, 8_000_000
	numbers := 1
	for _, r := range regions {
		numbers = max(numbers, 2*len(p.perMetric)*len(r.at)*len(r.at))
	}
	return max(few, mostNumbers/numbers)
}

// regions are those around the places that draws are highest at, one for each place and set of
// hyperparameters.
func (p *paths) regions(tops []climber) (list []*region) {
	sets, spread := 1, [][]float64(nil)
	for _, path := range p.perMetric {
		sets = max(sets, len(path.sets))
	}
	type name struct {
		place *float64
		set   int
	}
	known := map[name]int{}
	for i, top := range tops {
		n, ok := known[name{&top.u[0], i % sets}]
		if !ok {
			n = len(list)
			known[name{&top.u[0], i % sets}] = n
			axes := p.spannedAxes(top.u, i, n)
			if spread == nil { // every region spans the same number of coordinates
				spread = search.Halton(regionPoints*countFree(axes), countFree(axes), p.state.cfg.Seed)
			}
			list = append(list, p.newRegion(top.u, axes, spread))
		}
		list[n].draws = append(list[n].draws, i)
	}
	return list
}

// newRegion makes the region around a place: the place, points spread around it, and those that
// differ from it in one choice.
func (p *paths) newRegion(place []float64, axes []search.Axis, spread [][]float64) *region {
	s := p.state
	r := &region{paths: p, axes: axes, step: s.spacing(), at: [][]float64{place}}
	add := func(u []float64) {
		if u, ok := s.cfg.Space.settle(u); ok && !slices.ContainsFunc(r.at, func(other []float64) bool { return slices.Equal(u, other) }) {
			r.at = append(r.at, u)
		}
	}
	for _, part := range spread {
		u := slices.Clone(place)
		for k, axis := range axes {
			if axis.Fixed {
				continue
			}
			if !axis.Choice {
				u[k] = min(max(u[k]+regionReach*r.step*min(max(2.4*part[0]-1.2, -1), 1), 0), 1)
			}
			part = part[1:]
		}
		add(u)
	}
	for k, axis := range axes {
		if axis.Choice {
			for _, v := range axisValues(axis) {
				u := slices.Clone(place)
				u[k] = v
				add(u)
			}
		}
	}
	return r
}

// countFree counts the axes that are not fixed.
func countFree(axes []search.Axis) int {
	return lists.Count(axes, func(axis search.Axis) bool { return !axis.Fixed })
}

// spannedAxes returns the axes of the nth region, around the place of a draw, with those fixed that
// it does not span. Of more than mostSpanned numbers it spans those along which some function
// changes most,
//
//	E (f(x) − f(x′))² = k(x, x) + k(x′, x′) − 2 k(x, x′),   x′ being x moved by the space's spacing,
//
// as a share of k(x, x) + k(x′, x′). Equal ones are taken in an order that differs from region to
// region.
func (p *paths) spannedAxes(place []float64, draw, n int) []search.Axis {
	s, axes := p.state, p.state.cfg.Space.axes()
	numbers := lists.Where(len(axes), func(k int) bool { return !axes[k].Fixed && !axes[k].Choice })
	if len(numbers) <= mostSpanned {
		return axes
	}
	x, changes := s.cfg.Space.features(place), make([]float64, len(axes))
	for _, k := range numbers {
		u := slices.Clone(place)
		if u[k] = place[k] + s.spacing(); u[k] > 1 {
			u[k] = max(place[k]-s.spacing(), 0)
		}
		moved := s.cfg.Space.features(u)
		for m := range p.perMetric {
			function := p.perMetric[m].set(draw).data.Kernel()
			if prior := function.Diagonal(x) + function.Diagonal(moved); prior > 0 {
				changes[k] = max(changes[k], math.Round(changeResolution*(1-2*function.At(x, moved)/prior)))
			}
		}
	}
	random := rand.New(rand.NewPCG(s.cfg.Seed, gainStream+uint64(n)))
	random.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	slices.SortStableFunc(numbers, func(a, b int) int { return cmp.Compare(changes[b], changes[a]) })
	for _, k := range numbers[mostSpanned:] {
		axes[k].Fixed = true
	}
	return axes
}

// evaluate computes the draws at the region's points, and the interpolants.
func (r *region) evaluate(ctx context.Context) (err error) {
	if r.values, err = r.paths.valuesAt(ctx, r.draws, r.at); err != nil {
		return err
	}
	for m := range r.paths.perMetric {
		near := interpolant{path: &r.paths.perMetric[m]}
		near.function, near.inputs = near.set(r.draws[0]).data.Kernel(), r.paths.state.points(near.kernel, asPlaces(r.at)).Inputs
		covariance := factor.Triangle(0, len(r.at))
		for n, row := range covariance {
			near.function.Row(row, near.inputs.Row(n), near.inputs.Prefix(n+1))
		}
		near.root, err = jitteredCholesky(covariance)
		if errors.Is(err, factor.ErrNotPositiveDefinite) { // the prior is certain: there is nothing to climb
			r.interpolants = nil
			return nil
		}
		if err != nil {
			return err
		}
		r.interpolants = append(r.interpolants, near)
	}
	return nil
}

// climb moves one of the region's draws uphill from its highest point.
func (r *region) climb(ctx context.Context, d int, top climber) (climber, error) {
	p, i := r.paths, r.draws[d]
	scores, err := p.scorePoints(ctx, i, r.at, r.values[d])
	if err != nil {
		return top, err
	}
	for n, is := range scores {
		if is.Above(top.score) {
			top = climber{r.at[n], is}
		}
	}
	if !top.score.Allowed || r.interpolants == nil {
		return top, nil
	}
	s, guess := p.state, r.interpolate(d)
	problem := search.Problem{Axes: r.axes, Settle: r.settle, Score: func(points [][]float64) ([]search.Score, error) {
		return p.scorePoints(ctx, i, points, guess(points))
	}}
	end, _, err := problem.Polish(top.u, top.score, r.step/2, r.step/64, regionPolls*countFree(r.axes), s.cfg.Seed)
	if err != nil || slices.Equal(end, top.u) {
		return top, err
	}
	for _, part := range backtracking {
		u, ok := s.cfg.Space.settle(search.Between(top.u, end, part))
		if !ok {
			continue
		}
		values, err := p.valuesAt(ctx, r.draws[d:d+1], [][]float64{u})
		if err != nil {
			return top, err
		}
		is, err := p.scorePoints(ctx, i, [][]float64{u}, values[0])
		if err != nil {
			return top, err
		}
		if is[0].Above(top.score) {
			return climber{u, is[0]}, nil
		}
	}
	return top, nil
}

// settle is Space.Settle, restricted to the region.
func (r *region) settle(u []float64) bool {
	for k, axis := range r.axes {
		if !axis.Choice && math.Abs(u[k]-r.at[0][k]) > regionReach*r.step {
			return false
		}
	}
	settle := r.paths.state.cfg.Space.Settle
	return settle == nil || settle(u)
}

// interpolate returns the approximation of one of the region's draws, which gives values per point
// and target.
func (r *region) interpolate(d int) func(points [][]float64) [][]float64 {
	weights := make([][][]float64, len(r.interpolants)) // per metric and target
	for m, near := range r.interpolants {
		weights[m] = factor.Matrix(len(near.targets), len(r.at))
		for t, k := range near.targets {
			w := weights[m][t]
			for n := range w {
				w[n] = r.values[d][n][k] - r.values[d][0][k]
			}
			near.root.SolveLower(w, w)
			near.root.SolveUpper(w, w)
		}
	}
	row := make([]float64, len(r.at))
	return func(points [][]float64) [][]float64 {
		values := r.paths.givenValues(points)
		for n, u := range points {
			x := r.paths.state.cfg.Space.features(u)
			for m, near := range r.interpolants {
				if m == 0 || near.function != r.interpolants[m-1].function {
					near.function.Row(row, x, near.inputs)
				}
				for t, k := range near.targets {
					values[n][k] = r.values[d][0][k] + factor.Dot(row, weights[m][t])
				}
			}
		}
		return values
	}
}
