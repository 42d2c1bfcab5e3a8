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

// Gain is the best value of the objective within the limits, as a random variable, in metric units:
//
//	f* = max { f(x) : g_j(x) ≤ 0 for all j, p(x) ≥ v }
//
// over all x that may be chosen, f and g being draws from the posterior, p(x) the chance that a
// trial works at x, where failures taught it, 1 where one gave a reading, and v uniform on [0, 1]:
// a place is one where trials work in p(x) of the draws, and in none of those in which a likelier
// place is not. Where people called values of the objective plausible, f is moved to the nearest of them
// wherever it is beyond.
//
// Its JSON is that of the API.
type Gain struct {
	Best BestRange `json:"best"`
	// Feasible is the probability that some place is within every limit; Best and ChanceLeft are of
	// the draws in which there is one.
	Feasible float64 `json:"feasible"`
	// ChanceLeft are, for each share asked for, the probability that f* is better than f at the
	// recommended place by more than that share of Of, or that this place is beyond a limit where
	// another is not; none where nothing is recommended.
	ChanceLeft []ChanceLeft `json:"chance_left"`
	// OfRange tells that Of is how far the readings lie apart.
	OfRange bool `json:"-"`
}

// BestRange is the central interval that holds f* with probability Level.
type BestRange struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`
}

// ChanceLeft is the probability that more than a share is left to gain, as the draws have it, and
// what it is at most: the upper end of the one-sided 95 % confidence interval (Clopper and Pearson,
// 1934) that so many draws leave.
type ChanceLeft struct {
	MoreThan float64 `json:"more_than"`
	// Of is the size of the recommended place's posterior mean where that and all readings of the
	// objective are of one sign and the first share of it is less than what they lie apart, if they do, else, as
	// the scale's 0 is then no measure of size, the distance from the least reading to the largest. Readings
	// in doubt are left out.
	Of     float64 `json:"of"`
	Chance float64 `json:"chance"`
	AtMost float64 `json:"at_most"`
}

// chanceLeft is that of so many draws.
func chanceLeft(share, of float64, more int) ChanceLeft {
	left := ChanceLeft{share, of, float64(more) / draws, 1}
	if more < draws {
		left.AtMost = distuv.Beta{Alpha: float64(more) + 1, Beta: float64(draws - more)}.Quantile(0.95)
	}
	return left
}

// gainLevel is the probability of the interval.
const gainLevel = 0.9

// Gain draws functions from the posterior (see paths) and takes the best place of each: among a
// finite set of promising places, and on a continuous space from there up hill. ok is false before
// every metric has a reading and a scale, and where no draw has a place within the limits. The
// standard error of a probability p is √(p(1 − p)/256). plausible are the lowest and the highest value of
// the objective, in its unit, that f is kept within; nil for none.
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

// gainWhere is Gain with the chance that a trial works, nil for 1 everywhere.
func (s *shown) gainWhere(ctx context.Context, known Known, works chanceAt, plausible, shares []float64) (gain Gain, ok bool, err error) {
	if !s.modelStands() {
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
	if errors.Is(err, factor.ErrNotPositiveDefinite) { // no functions can be drawn of such numbers, so nothing is said
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

// quantile of sorted values, with the weights of their expected ranks (type 6 of Hyndman and Fan,
// 1996).
func quantile(sorted []float64, p float64) float64 {
	rank := p*float64(len(sorted)+1) - 1
	below := min(max(int(math.Floor(rank)), 0), len(sorted)-1)
	above := min(below+1, len(sorted)-1)
	part := min(max(rank-float64(below), 0), 1)
	return sorted[below] + part*(sorted[above]-sorted[below])
}

// shareUnit is what shares of a gain are shares of: see ChanceLeft.
func (s *shown) shareUnit(ctx context.Context, recommended int, shares []float64) (size float64, ofRange bool, err error) {
	beliefs, err := s.Posterior(ctx, []Place{s.placeOf(recommended)})
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

// How many places a draw is looked at in, at first: some spread over the space, those played, and
// those that promise most, up to so many of each.
const (
	spreadPlaces    = 48
	playedPlaces    = 96
	promisingPlaces = 128
)

// optimism is how many standard deviations better than expected a place is thought of.
const optimism = 2

// preselection compares places where the best of a draw may lie.
type preselection struct {
	*shown
	known  Known
	works  chanceAt
	width  float64      // how many standard deviations around a mean hold all draws but one
	lowest search.Score // the best that a place has where everything comes out as much worse
}

// ratedPlace is a place, what it promises, and what it hopes for where everything comes out better by
// the contest's width; before many rounds anything.
type ratedPlace struct {
	Place
	optimistic, upper search.Score
}

// likelyMaximisers are places where the best of a draw may lie; what is recommended is the first.
// They are, of all that may be chosen those that promise most where everything comes out well by
// optimism, of those played likewise, and some spread over the space, without those that hope for
// less than is certain elsewhere. Few are enough to be all.
func (s *shown) likelyMaximisers(ctx context.Context, known Known, works chanceAt, recommended int) ([]Place, error) {
	var at, others []Place
	var rounds []int
	if recommended > 0 {
		at = []Place{s.placeOf(recommended)}
	}
	for t := 1; t < s.Round(); t++ {
		if !s.history.Rounds[t-1].Gone {
			rounds = append(rounds, t)
		}
	}
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
		if !c.lowest.Above(from.upper) {
			at = append(at, from.Place)
		}
	}
	return unique(at), nil
}

// newPreselection is one in which nothing is certain yet.
func (s *shown) newPreselection(known Known, works chanceAt) *preselection {
	c := &preselection{shown: s, known: known, works: works, lowest: search.Score{Value: math.Inf(-1)}}
	for _, m := range s.regime.models {
		c.width = max(c.width, halfWidth(1-1./draws, m.freedom))
	}
	return c
}

// mostPromising are at most so many places, in their order, that promise most; rounds are those that
// played them, if any did. After many rounds the others are looked at from the highest bound on,
// and only those that hope for more than is certain, until none that is left can promise as much.
func (c *preselection) mostPromising(ctx context.Context, at []Place, rounds []int, most int) ([]ratedPlace, error) {
	many, anything := len(c.history.Rounds) >= pruneFrom, search.Score{Allowed: true, Value: math.Inf(1)}
	all := lists.Map(at, func(place Place) ratedPlace { return ratedPlace{Place: place, upper: anything} })
	if len(at) <= most && !many {
		return all, nil
	}
	chances, err := c.works.of(ctx, at)
	if err != nil {
		return nil, err
	}
	byPromise := func(a, b int) int { return cmp.Or(search.Higher(all[a].optimistic, all[b].optimistic), a-b) }
	left, step, best := lists.Below(len(at)), len(at), []int(nil)
	if rounds == nil && c.arms == nil && many {
		estimates, err := c.boundEstimates(ctx, at, c.known)
		if err != nil {
			return nil, err
		}
		c.rate(all, left, estimates, chances)
		slices.SortFunc(left, byPromise)
		step = most
	}
	for {
		left = slices.DeleteFunc(left, func(i int) bool { return c.lowest.Above(all[i].upper) })
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
		slices.SortFunc(best, byPromise)
		best = best[:min(most, len(best))]
	}
}

// rate says what some of the contenders promise and, after many rounds, hope for.
func (c *preselection) rate(all []ratedPlace, some []int, estimates []policy.Estimate, chances []float64) {
	for n, promise := range c.scoresAt(estimates, chances, optimism) {
		all[some[n]].optimistic = promise
	}
	if len(c.history.Rounds) < pruneFrom {
		return
	}
	for n, hope := range c.scoresAt(estimates, chances, c.width) {
		all[some[n]].upper = hope
	}
	for _, certain := range c.scoresAt(estimates, chances, -c.width) {
		if certain.Allowed && certain.Above(c.lowest) {
			c.lowest = certain
		}
	}
}

// estimatesOf is estimate, of places that rounds played by what is known of those.
func (s *shown) estimatesOf(ctx context.Context, at []Place, rounds []int, known Known) ([]policy.Estimate, error) {
	if rounds != nil {
		return s.inSampleOf(ctx, rounds, known.at(at))
	}
	return s.estimate(ctx, at, known.at(at))
}

// boundingShare is the share of the rows of a factor that deviations are bounded by.
const boundingShare = 4

// boundEstimates is estimate with the deviations that the first rows of each factor leave, which
// are at least as large and take a sixteenth of the work.
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

// scoresAt are what places promise: a reward so many standard deviations above its mean where no
// cost as far below its own is beyond its limit and trials are as likely to work as a normal number
// is to lie as far above its mean, else the smallest such excess. They rise with the deviations.
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

// region is the surroundings of a place that some draws are highest at. To follow a draw takes as
// many kernels as there are data and places drawn at, so that is done at a few points around, for
// all the draws together. Between them a draw is taken for the mean of its process given its values
// there,
//
//	f(x) ≈ f(z) + k(x, P) (k(P, P) + ε)⁻¹ (f(P) − f(z)),
//
// and climbed; where that leads to counts for what the draw is there.
type region struct {
	paths        *paths
	axes         []search.Axis // fixed but for those it spans
	step         float64       // the space's spacing
	draws        []int         // with the same hyperparameters
	at           [][]float64
	values       [][][]float64 // per draw, point and target
	interpolants []interpolant // per metric; nil where there is nothing to climb
}

// interpolant is the covariance of a metric's function between a region's points.
type interpolant struct {
	*path
	function *kernel.Function
	inputs   *kernel.Inputs
	root     *factor.Cholesky
}

const (
	regionReach      = 2   // of a region, in spacings, along each coordinate
	regionPoints     = 8   // around a place, for each coordinate
	regionPolls      = 30  // on the way up, for each coordinate
	mostSpanned      = 8   // numbers that a region spans: what it takes grows with their square
	changeResolution = 1e6 // shares of change that differ by less than one part in so many are level
)

// backtracking are the parts of a way up that are looked at until one is allowed and higher: where
// limits are active, its end may lie beyond them.
var backtracking = []float64{1, 0.98, 0.9, 0.7}

// maxima are the largest rewards within the limits, draw by draw, −∞ where there is none.
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

// climb leads every draw from the highest place that it was drawn at up hill.
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

// regionsAtOnce is how many regions are explored before any is left. Each holds covariances of all its points,
// of which there are at least as many as choices: of a parameter with a thousand choices all took 8 GB.
func (p *paths) regionsAtOnce(regions []*region) int {
	const few, mostNumbers = 8, 8_000_000
	numbers := 1
	for _, r := range regions {
		numbers = max(numbers, 2*len(p.perMetric)*len(r.at)*len(r.at))
	}
	return max(few, mostNumbers/numbers)
}

// regions are those of the places that draws are highest at.
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
			if spread == nil { // of as many coordinates as every region spans
				spread = search.Halton(regionPoints*countFree(axes), countFree(axes), p.state.cfg.Seed)
			}
			list = append(list, p.newRegion(top.u, axes, spread))
		}
		list[n].draws = append(list[n].draws, i)
	}
	return list
}

// newRegion is the region of a place: it, points spread around it, and those that differ from it in one
// choice.
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

// countFree is how many axes are not fixed.
func countFree(axes []search.Axis) int {
	return lists.Count(axes, func(axis search.Axis) bool { return !axis.Fixed })
}

// spannedAxes are the axes, of which those are fixed that the nth region, around the place of a draw, does
// not span. Of many numbers it spans those along which some function changes most, by
//
//	E (f(x) − f(x′))² = k(x, x) + k(x′, x′) − 2 k(x, x′),   x′ being x moved by the space's spacing,
//
// as a share of k(x, x) + k(x′, x′), and of those that are level other ones than the next region.
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

// evaluate follows the draws to the region's points.
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
		if errors.Is(err, factor.ErrNotPositiveDefinite) { // what the prior is sure of has nothing to climb
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

// climb leads one of the draws, by its number in the region, from the highest point up hill.
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
		u, ok := s.cfg.Space.settle(between(top.u, end, part))
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

// settle is that of the space, in the region.
func (r *region) settle(u []float64) bool {
	for k, axis := range r.axes {
		if !axis.Choice && math.Abs(u[k]-r.at[0][k]) > regionReach*r.step {
			return false
		}
	}
	settle := r.paths.state.cfg.Space.Settle
	return settle == nil || settle(u)
}

// interpolate gives the values that one of the draws, by its number in the region, is taken to have at
// points, per point and target.
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
