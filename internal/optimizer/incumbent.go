package optimizer

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
)

// incumbent is the played point x* that a decision compares others with: the one of the largest
// worth, which is mostly the one recommended.
type incumbent struct {
	place       Place
	round       int                    // the first that played it
	references  []*posterior.Reference // per source
	mean        []float64              // per target, in modelled units with margins
	sd          []float64
	least       float64 // the least mean reward of a point played
	repeatValue float64 // see policy.Incumbent
}

// withIncumbent returns the view with its incumbent, which is found when a decision first needs it.
func (v *view) withIncumbent(ctx context.Context) (*view, error) {
	return v.resolved.Get(ctx, func(ctx context.Context) (*view, error) {
		whole := *v
		if v.traits.Incumbent == nil {
			return &whole, nil
		}
		return &whole, whole.findIncumbent(ctx)
	})
}

// findIncumbent chooses the incumbent among the included rounds whose reward the decision sees, and
// the pending ones, by their expected values. Without the pending ones the most promising place
// would be chosen again and again in a batch, since its mean stays above all that was read.
func (v *view) findIncumbent(ctx context.Context) error {
	places, rounds := v.eligible()
	if len(places) == 0 {
		return nil
	}
	estimates := v.priorMeans.estimates
	var err error
	if !slices.Equal(v.priorMeans.rounds, rounds) {
		if estimates, err = v.meansOf(ctx, rounds); err != nil {
			return err
		}
	}
	v.eligibleMeans = knownMeans{rounds, estimates}
	best, there, err := v.chooseIncumbent(ctx, places, rounds, estimates)
	if err != nil {
		return err
	}
	if best >= 0 {
		v.searchCentre = &places[best]
	}
	read := len(places)
	if pending, pendingRounds := v.pendingPlaces(); len(pending) > 0 {
		expected, err := v.meansAt(ctx, pending, v.costsOf(pendingRounds))
		if err != nil {
			return err
		}
		places, rounds, estimates = append(places, pending...), append(rounds, pendingRounds...), concatMeans(estimates, expected)
		for i, p := range pending { // a place that was read and is pending again counts as read
			if first := slices.IndexFunc(places[:read], func(r Place) bool { return samePlace(p, r) }); first >= 0 {
				v.copyEstimate(estimates, read+i, first)
			}
		}
		if best, there, err = v.chooseIncumbent(ctx, places, rounds, estimates); err != nil {
			return err
		}
	}
	if best < 0 {
		return nil
	}
	v.incumbent = &incumbent{place: places[best], round: rounds[best], least: slices.Min(estimates[0].Mean)}
	if err := v.describeIncumbent(there); err != nil || best >= read || v.incumbent.awaitsLimit(v) { // a pending place is not repeated
		return err
	}
	return v.findRepeatValue(ctx, places, rounds, estimates)
}

// awaitsLimit tells whether the reading of a learned limit is pending at x*, and none was read
// there: it will say what another one is worth.
func (c *incumbent) awaitsLimit(v *view) bool {
	here := func(round int) bool { return samePlace(v.placeOf(round), c.place) }
	return slices.ContainsFunc(v.cfg.learned(), func(j int) bool {
		read := v.history.roundsWhere(1, v.round, func(n int, r *Round) bool {
			return !r.Excluded && r.Readings[v.cfg.Costs[j].Metric].seenAt(v.round) && here(n)
		})
		return len(read) == 0 && slices.ContainsFunc(v.sources[v.sourceOf[1+j]].pending, here)
	})
}

// describeIncumbent sets the posterior at x*, which estimates are, and its references.
func (v *view) describeIncumbent(estimates []policy.Estimate) error {
	c, at := v.incumbent, []Place{v.incumbent.place}
	for _, e := range estimates {
		c.mean, c.sd = append(c.mean, e.Mean[0]), append(c.sd, e.SD[0])
	}
	c.references = make([]*posterior.Reference, len(v.sources))
	return v.eachSource(func(i int) error {
		c.references[i] = v.sources[i].Refer(v.points(v.sources[i].kernel, at))
		return nil
	})
}

// mostOthers is how many other points played, the most promising ones, enter the value of repeating
// x*.
const mostOthers = 16

// findRepeatValue computes what another reading at x* is worth.
func (v *view) findRepeatValue(ctx context.Context, places []Place, rounds []int, estimates []policy.Estimate) error {
	order := lists.Where(len(places), func(i int) bool { return !samePlace(places[i], v.incumbent.place) })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(estimates[0].Mean[b], estimates[0].Mean[a]) })
	order = order[:min(mostOthers, len(order))]
	estimates, incumbent, err := v.estimateBeside(ctx, lists.At(places, order), v.costsOf(lists.At(rounds, order)))
	if err != nil {
		return err
	}
	noise := lists.Of(len(v.targets), func(k int) float64 { return v.noiseAt(k, v.incumbent.place) })
	v.incumbent.repeatValue = v.traits.RepeatValue(v.newInput(Draw{}, estimates, incumbent), noise)
	return nil
}

// chooseIncumbent returns which of the places the policy takes for the incumbent, −1 for none, with
// the estimates there.
func (v *view) chooseIncumbent(ctx context.Context, places []Place, rounds []int, means []policy.Estimate) (best int, there []policy.Estimate, err error) {
	looked := map[int][]policy.Estimate{}
	best, err = v.traits.Incumbent(v.newInput(Draw{}, means, nil), func(some []int) (*policy.Input, error) {
		if err := checkpoint.Reach(ctx); err != nil {
			return nil, err
		}
		estimates, err := v.estimate(ctx, lists.At(places, some), v.costsOf(lists.At(rounds, some)))
		if err != nil {
			return nil, err
		}
		for n, i := range some {
			for _, e := range estimates {
				looked[i] = append(looked[i], policy.Estimate{Mean: e.Mean[n : n+1], SD: e.SD[n : n+1]})
			}
		}
		return v.newInput(Draw{}, estimates, nil), nil
	})
	return best, looked[best], err
}

// pendingPlaces are the places whose reward is pending and that may still be chosen, with their
// rounds.
func (v *view) pendingPlaces() (places []Place, rounds []int) {
	rounds = slices.DeleteFunc(slices.Clone(v.sources[v.sourceOf[0]].pending), func(n int) bool { return v.history.Rounds[n-1].Gone })
	return v.placesAt(rounds), rounds
}

// concatMeans are the means of some places followed by those of others.
func concatMeans(some, others []policy.Estimate) []policy.Estimate {
	all := make([]policy.Estimate, len(some))
	for k := range all {
		all[k].Mean = slices.Concat(some[k].Mean, others[k].Mean)
	}
	return all
}

// eligible are the places of the included rounds whose reward the decision sees and that may still
// be chosen, with these rounds.
func (v *view) eligible() (places []Place, rounds []int) {
	rounds = v.history.roundsWhere(v.traits.Earliest(v.round), v.round, func(_ int, r *Round) bool {
		return !r.Excluded && !r.Gone && r.Readings[v.targets[0].metric].seenAt(v.round)
	})
	return v.placesAt(rounds), rounds
}

// knownMeans are the posterior means of every target at the points of some rounds.
type knownMeans struct {
	rounds    []int
	estimates []policy.Estimate
}

// findPriorMeans returns the eligibleMeans of the prior state's next decision, if these were
// computed and still hold, since nothing was read; else none.
func (v *view) findPriorMeans() (none knownMeans) {
	if v.prior == nil || len(v.agreed.touched) > 0 {
		return none
	}
	before, found := v.prior.next.resolved.Kept()
	if !found || len(before.sources) != len(v.sources) {
		return none
	}
	for i := range v.sources {
		if !sameReadings(&before.sources[i], &v.sources[i]) {
			return none
		}
	}
	for k, t := range v.transforms {
		if was := before.transforms[k]; was.shift != t.shift || was.priorOnly != t.priorOnly {
			return none
		}
	}
	return before.eligibleMeans
}

// sameReadings tells whether a source continues one of the prior state with the same readings.
func sameReadings(before, now *source) bool {
	is, isRows := now.Posterior.(*posterior.Rows)
	was, wasRows := before.Posterior.(*posterior.Rows)
	return isRows && wasRows && is.Of != nil && now.group.continues == before.group && now.group.reused == now.arrived && slices.Equal(now.targets, before.targets) && is.Same(was)
}

// reference is x* as source i takes it, nil while there is none.
func (v *view) reference(i int) *posterior.Reference {
	if v.incumbent == nil {
		return nil
	}
	return v.incumbent.references[i]
}

// newIncumbentInput is what an algorithm sees of x* beside some places, nil while there is no x*.
// The covariances are not set yet.
func (v *view) newIncumbentInput(at []Place) *policy.Incumbent {
	c := v.incumbent
	if c == nil {
		return nil
	}
	return &policy.Incumbent{Mean: c.mean, SD: c.sd, Least: c.least, RepeatValue: c.repeatValue, Covariance: make([][]float64, len(v.targets)),
		Itself: lists.Map(at, func(p Place) bool { return samePlace(p, c.place) }),
		Noise:  lists.Of(len(v.targets), func(k int) []float64 { return lists.Map(at, func(p Place) float64 { return v.noiseAt(k, p) }) })}
}

// estimateBeside is estimate together with the incumbent's input, nil while there is none.
func (v *view) estimateBeside(ctx context.Context, at []Place, known func(j, i int) float64) ([]policy.Estimate, *policy.Incumbent, error) {
	incumbent := v.newIncumbentInput(at)
	estimates, err := v.gather(at, known, incumbent, func(i int, points posterior.Points) (posterior.Prediction, error) {
		return v.sources[i].Predict(ctx, points, v.reference(i))
	})
	return estimates, incumbent, err
}

// Undecided is a point that may be within every limit, but not surely enough: the recommended one
// if its feasibility probability is below 0.9, else one that looks better than it.
type Undecided struct {
	Round  int // 0: there is none
	Chance float64
	// Readings is the least number of further readings of each metric with which the feasibility
	// probability would reach 0.9 if they left the means unchanged; 0 for more than mostReadings.
	Readings int
}

// mostReadings is the largest number of further readings considered.
const mostReadings = 1000

// Undecided returns the recommended round if its feasibility probability is below safeEnough.
// Otherwise it returns, if there is one, the told and included round of the largest expected
// reward, above the recommended one's, whose mean costs are all within their limits and whose
// probability is below it.
func (s *shown) Undecided(ctx context.Context) (Undecided, error) {
	recommended, err := s.Recommendation(ctx)
	if err != nil || !s.modelReady() {
		return Undecided{}, err
	}
	estimates, err := s.inSample(ctx)
	if err != nil {
		return Undecided{}, err
	}
	rewards := s.rewards // which Recommendation made
	best, found := math.Inf(-1), Undecided{}
	if recommended > 0 {
		best = rewards[recommended-1]
		found = Undecided{Round: recommended, Chance: s.chanceAfter(estimates, recommended, 0, false)}
	}
	if recommended == 0 || found.Chance >= safeEnough {
		found = Undecided{}
		for _, n := range s.onOffer() {
			chance := s.chanceAfter(estimates, n, 0, false)
			if rewards[n-1] > best && chance < safeEnough && s.chanceAfter(estimates, n, 0, true) > 0 {
				best, found = rewards[n-1], Undecided{Round: n, Chance: chance}
			}
		}
	}
	if found.Round > 0 {
		found.Readings = s.readingsToTell(estimates, found.Round)
	}
	return found, nil
}

// readingsToTell is the least number of further readings after which the point of a round would be
// safe enough, 0 if there is none.
func (s *shown) readingsToTell(estimates []policy.Estimate, round int) int {
	more := 1 + sort.Search(mostReadings, func(n int) bool { return s.chanceAfter(estimates, round, n+1, false) >= safeEnough })
	if more > mostReadings {
		return 0
	}
	return more
}

// chanceAfter is the feasibility probability at the point of a round after n more readings of every
// metric there that leave the means unchanged: each cost's variance σ² becomes 1/(1/σ² + n/λ). With
// sure, the means count as the truth.
func (s *shown) chanceAfter(estimates []policy.Estimate, round, n int, sure bool) float64 {
	for j, c := range s.cfg.Costs {
		if c.Knowledge == Given && c.given(s.history.Rounds[round-1].currentCosts()[j])-c.Margin > 0 {
			return 0
		}
	}
	by := func(chance func(mean, sd, freedom float64) float64) func(j int) float64 {
		return func(j int) float64 {
			metric, e := s.cfg.Costs[j].Metric, estimates[1+j]
			sd := e.SD[round-1]
			switch {
			case sure:
				sd = 0
			case n > 0 && sd > 0:
				sd = math.Sqrt(1 / (1/(sd*sd) + float64(n)/s.noiseAgain(metric, s.placeOf(round))))
			}
			return chance(e.Mean[round-1]-s.regime.transforms[1+j].margin, sd, s.model(metric).freedom)
		}
	}
	return s.cfg.chanceAll(s.cfg.learned(), by(chanceBelow), by(chanceAbove))
}

// While more than manyPending trials are pending, the search of a continuous space scores a
// shortlist and polishes nothing. One of so many trials needs no fifth digit, and the posterior at
// the listed places is carried from one decision to the next, at O(n) a place instead of O(n²).
const (
	manyPending       = 8
	shortlistSpread   = 500 // space-filling points
	shortlistNear     = 24  // points around the incumbent, at each scale
	shortlistReadings = 64  // readings after which the space-filling points are renewed
)

// shortlist is the incumbent, points around it and space-filling points, which are renewed now and
// then, so that in time every place is scored. It depends on the readings and not on pending
// trials: decisions made from the same readings share it.
type shortlist struct {
	*placeList
	incumbent *Place
	turn      int
}

// makeShortlist returns the shortlist of the next decision, prior if it is the same, or nil where
// the search needs none.
func (v *view) makeShortlist(ctx context.Context, prior *shortlist) (*shortlist, error) {
	if v.arms != nil || v.traits.NeedsSet || v.sourceOf[0] < 0 {
		return nil, nil
	}
	src := &v.sources[v.sourceOf[0]]
	if len(src.pending) <= manyPending {
		return nil, nil
	}
	whole, err := v.withIncumbent(ctx)
	if err != nil {
		return nil, err
	}
	list := &shortlist{turn: src.arrived / shortlistReadings, incumbent: whole.searchCentre}
	if list.same(prior) {
		return prior, nil
	}
	seed := v.cfg.DecisionSeed(list.turn)
	near := whole.nearIncumbent(shortlistNear, seed)
	if list.incumbent != nil {
		near = append([][]float64{list.incumbent.U}, near...)
	}
	space := v.cfg.Space
	places := asPlaces(append(space.settled(near), space.allowed(v.cfg.overhanging(shortlistSpread, seed), seed)...))
	if len(places) == 0 {
		return nil, nil
	}
	list.placeList = space.newPlaceList(places)
	return list, nil
}

func (l *shortlist) same(o *shortlist) bool {
	if o == nil || l.turn != o.turn || (l.incumbent == nil) != (o.incumbent == nil) {
		return false
	}
	return l.incumbent == nil || slices.Equal(l.incumbent.U, o.incumbent.U)
}

// Points around the incumbent lie at nearScales distances, the first of farthest and each the last
// one times scaleFactor: points spread over the space miss a narrow peak near the best known point.
const (
	farthest    = 0.2
	nearScales  = 5
	scaleFactor = 0.2
)

// nearStream separates these random numbers from others of the same seed.
const nearStream = 0x6e656172

// nearIncumbent scatters each points at every scale around the incumbent, if there is one. Half of
// the coordinates stay as they are.
func (s *view) nearIncumbent(each int, seed uint64) [][]float64 {
	if s.searchCentre == nil {
		return nil
	}
	random := rand.New(rand.NewPCG(seed, nearStream))
	var points [][]float64
	distance := farthest
	for range nearScales {
		for range each {
			u := slices.Clone(s.searchCentre.U)
			always := random.IntN(len(u))
			for k := range u {
				if step := distance * random.NormFloat64(); k == always || random.IntN(2) == 0 {
					u[k] = min(max(u[k]+step, 0), 1)
				}
			}
			points = append(points, u)
		}
		distance *= scaleFactor
	}
	return points
}
