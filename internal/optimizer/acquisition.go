package optimizer

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// decision is what the algorithm decides by: a view, and of the next decision what else it goes by.
type decision struct {
	*view
	shown   *shown   // what its readings alone say
	avoided *avoided // settings that it leaves alone, nil for none
	works   *works   // where trials work, as it knows it; nil while none has failed
}

// withIncumbent is the decision with what it compares places with.
func (s *decision) withIncumbent(ctx context.Context) (*decision, error) {
	whole, err := s.view.withIncumbent(ctx)
	if err != nil {
		return nil, err
	}
	v := *whole
	v.shortlist = s.shortlist
	return &decision{view: &v, shown: s.shown, avoided: s.avoided, works: s.works}, nil
}

// inputAt is what the algorithm sees at some places when it makes the decision of view v.
func (s *decision) inputAt(ctx context.Context, at []Place, known func(j, i int) float64, draw Draw) (*policy.Input, error) {
	estimates, incumbent, err := s.estimateBeside(ctx, at, known)
	if err != nil {
		return nil, err
	}
	input := s.inputFrom(ctx, at, known, draw, estimates)
	input.Incumbent = incumbent
	if input.TooRisky, err = s.tooRisky(ctx, at, estimates); err != nil {
		return nil, err
	}
	input.Works, err = s.worksAt(ctx, at)
	return input, err
}

// inputFrom is the input with the estimates known.
func (s *decision) inputFrom(ctx context.Context, at []Place, known func(j, i int) float64, draw Draw, estimates []policy.Estimate) *policy.Input {
	input := s.newInput(draw, estimates, nil)
	if s.traits.NeedsPast {
		input.Past = s.past()
	}
	if s.traits.NeedsSet {
		input.Set = s.set(ctx, at, known)
	}
	return input
}

// inputWithoutEstimates is what the algorithm knows of some places without estimates.
func (s *decision) inputWithoutEstimates(ctx context.Context, at []Place, known func(j, i int) float64, draw Draw) (*policy.Input, error) {
	input := s.inputFrom(ctx, at, known, draw, make([]policy.Estimate, len(s.targets)))
	var err error
	input.Works, err = s.worksAt(ctx, at)
	return input, err
}

// score is the algorithm's acquisition at the places of the input.
func (s *decision) score(input *policy.Input) (policy.Scores, error) {
	scores, err := s.policy.Score(input)
	if err != nil {
		return scores, err
	}
	return s.addWorks(scores, input.Works), nil
}

// tooRisky tells of each place whether its chance to break a limit is larger than what is left of
// the risk asked for; nil where none was.
func (s *decision) tooRisky(ctx context.Context, at []Place, estimates []policy.Estimate) ([]bool, error) {
	if len(s.allowances) == 0 {
		return nil, nil
	}
	beyond, err := s.riskExcess(ctx, at, estimates)
	return lists.Map(beyond, func(part float64) bool { return part > 0 }), err
}

// riskExcess is by what part of what is left of the risk asked for the chance of each place to break a
// limit exceeds it. The chance is the one that the decision states, of the readings alone and as wide
// as is said: beside a trial that waits nothing is less risky before its result has come.
func (s *decision) riskExcess(ctx context.Context, at []Place, estimates []policy.Estimate) ([]float64, error) {
	if s.shown.shownDiffers() || s.hasPending() {
		var err error
		if estimates, err = s.shown.estimate(ctx, at, nil); err != nil {
			return nil, err
		}
	}
	beyond, breaks := make([]float64, len(at)), make([]float64, len(s.cfg.Costs))
	for i := range at {
		for j := range breaks {
			breaks[j] = s.breakChance(estimates, j, i)
		}
		beyond[i] = slices.Max(lists.Map(s.allowances, func(a allowance) float64 { return (s.cfg.chanceAny(breaks, a.costs) - a.now) / a.now }))
	}
	return beyond, nil
}

// set lets an algorithm look at all places together. What it asks for is worked out when it asks.
func (s *decision) set(ctx context.Context, at []Place, known func(j, i int) float64) *policy.Set {
	set := &policy.Set{
		Free:          lists.Map(s.cfg.Space.Dims, func(d Dim) bool { return !d.Derived && !d.Held }),
		Choices:       lists.Map(s.cfg.Space.Dims, func(d Dim) int { return d.Choices }),
		Dissimilarity: s.cfg.Space.dissimilarity,
	}
	if s.cfg.Space.Settle != nil {
		set.Reach = func(points [][]float64, from []float64) [][]float64 {
			return s.cfg.Space.reach(points, from, s.draw(s.round).Seed)
		}
	}
	teaches := s.mayChoose()
	set.Known = lists.Map(at, func(p Place) bool { return s.cfg.Space.offers(p) && (!teaches(p) || s.isAvoided(p)) })
	set.Points = lists.Map(at, Place.point)
	for _, seed := range s.cfg.SafeSeeds {
		if i := slices.IndexFunc(at, func(p Place) bool { return samePlace(p, seed) }); i >= 0 {
			set.Seeds = append(set.Seeds, i)
		}
	}
	set.Covariances = func(k int, among []int) (func(x int) []float64, error) {
		src := &s.sources[s.sourceOf[k]]
		return src.Covariances(ctx, s.points(src.kernel, at), among)
	}
	set.Noise = func(k, x int) float64 { return s.noiseAt(k, at[x]) }
	if s.shown != nil && s.shown.round == s.round && s.hasPending() {
		set.SettledSDs = func() ([][]float64, error) {
			estimates, err := s.shown.estimate(ctx, at, nil)
			return lists.Map(estimates, func(e policy.Estimate) []float64 { return e.SD })[1:], err
		}
	}
	features := sync.OnceValue(func() [][]float64 { return s.features(at) })
	set.Distance = func(i, j int) float64 { return distance(features()[i], features()[j]) }
	set.Earlier = func(t int) (*policy.Input, error) { return s.earlier(ctx, t, at, known) }
	set.Design = sync.OnceValue(s.designPoint)
	set.Pause = func() error { return checkpoint.Reach(ctx) }
	return set
}

// earlier is what decision t saw of the places.
func (s *decision) earlier(ctx context.Context, t int, at []Place, known func(j, i int) float64) (*policy.Input, error) {
	if err := checkpoint.Reach(ctx); err != nil {
		return nil, err
	}
	v, err := s.acting(ctx, t, s.pastMultipliers.items[t-1], nil)
	if err == nil {
		v, err = v.withIncumbent(ctx)
	}
	if err != nil {
		return nil, err
	}
	then := &decision{view: v, shown: s.shown}
	return then.inputAt(ctx, at, known, s.draw(t))
}

// mayChoose tells which of a list of places, candidates or a shortlist, a policy that avoids known
// ones may choose: those that are left, and were not played or whose reading may differ from the
// last.
func (s *decision) mayChoose() func(Place) bool {
	if !s.traits.AvoidsKnown || s.cfg.Space.Arms == nil && s.shortlist == nil || s.readingsVary() {
		return s.cfg.Space.offers
	}
	tried := s.tried()
	return func(p Place) bool { return s.cfg.Space.offers(p) && !tried(p) }
}

// A place of a higher rank is chosen only where none of a lower one may be.
const (
	rankUsual    = iota
	rankUnlikely // it hardly works: see policy.Scores
	rankAvoided
	ranks
)

// maximum is what the search for the largest acquisition found.
type maximum struct {
	place    Place
	value    float64
	runnerUp *RunnerUp
	reason   string
	draw     Draw
	among    *scoredPlaces // nil where it was climbed to
}

func reason(usual string, fellBack bool) string {
	if fellBack && (usual == policy.Optimistic || usual == policy.Improve) {
		return policy.LeastBad
	}
	return usual
}

// scoredPlaces are those of a finite list that the algorithm chooses among, and what it makes of
// them.
type scoredPlaces struct {
	at       []Place
	draw     Draw
	input    *policy.Input
	scores   policy.Scores
	values   []float64
	allowed  []bool
	fellBack bool
	dropped  bool // see dropWorseTried
}

// climber is one polished start.
type climber struct {
	u     []float64
	score search.Score
}

// searchScores puts scores in the order that climbing needs: by rank, and fallbacks below everything
// allowed.
func (s *decision) searchScores(raw policy.Scores, at []Place) []search.Score {
	scores := make([]search.Score, len(at))
	for i, p := range at {
		scores[i] = searchScore(raw, i)
		scores[i].Rank = max(scores[i].Rank, s.rank(raw, p, i))
	}
	return scores
}

// searchScore is score i in that order, among places of one rank.
func searchScore(raw policy.Scores, i int) search.Score {
	score := search.Score{Allowed: raw.Allowed == nil || raw.Allowed[i], Value: raw.Value[i], Relative: raw.Relative}
	switch {
	case score.Allowed && raw.Untruncated != nil:
		score.Tie = raw.Untruncated[i]
	case score.Allowed:
	case raw.Fallback != nil:
		score.Value = raw.Fallback[i]
	default:
		score.Value, score.Rank = math.Inf(-1), ranks
	}
	return score
}

func byScore(a, b climber) int { return search.Higher(a.score, b.score) }

// choosable resolves which places may be chosen: of those of the lowest rank that are left and
// would teach something, those the algorithm allows, else by its fallback; if nothing would, of all
// that are left; and so on with the next rank. Where what is not allowed is known to break a limit, or
// too likely to, what would teach nothing comes before the fallback.
func (s *decision) choosable(scores policy.Scores, at []Place) (values []float64, allowed []bool, fellBack bool) {
	ranked := lists.Of(len(at), func(i int) int { return s.rank(scores, at[i], i) })
	teaching, left := s.mayChoose(), s.cfg.Space.offers
	order := []struct {
		usable   func(Place) bool
		fallback bool
	}{{teaching, false}, {teaching, true}, {left, false}, {left, true}}
	if s.traits.LogExpectation {
		order[1], order[2] = order[2], order[1]
	}
	for rank := range ranks {
		for _, of := range order {
			values, permitted := scores.Value, scores.Allowed
			if of.fallback {
				values, permitted = scores.Fallback, nil
			}
			fits := func(i int) bool { return ranked[i] == rank && of.usable(at[i]) }
			if allowed, any := allowing(len(at), fits, permitted); any && values != nil {
				return values, allowed, of.fallback
			}
		}
	}
	return scores.Value, make([]bool, len(at)), false
}

// dropWorseTried leaves out, where the place of the largest score promises little and was tried, what was
// tried and is less sure to keep the limits than x*, and tells whether it did: a setting that is all
// but sure to break one would be read again and again for a trace of improvement.
func (s *decision) dropWorseTried(scores policy.Scores, at []Place, allowed []bool) bool {
	best := Argmax(scores.Value, scores.Untruncated, allowed, scores.Relative)
	if best < 0 || !s.littleToGain(scores.Value[best]) {
		return false
	}
	incumbent := slices.IndexFunc(at, func(p Place) bool { return samePlace(p, s.incumbent.place) })
	if incumbent < 0 || !allowed[incumbent] {
		return false
	}
	tried := s.tried()
	worse := func(i int) bool { return scores.Fallback[i] < scores.Fallback[incumbent] && tried(at[i]) }
	if !worse(best) {
		return false
	}
	for i := range allowed {
		allowed[i] = allowed[i] && !worse(i)
	}
	return true
}

// littleShare is the share of what has been gained so far, the difference between the incumbent's
// reward and the least one played, below which what a place promises is little.
const littleShare = 1e-3

// littleToGain tells whether the largest score, the logarithm of what a place promises, is of little.
func (s *decision) littleToGain(most float64) bool {
	return s.incumbent != nil && most < math.Log(littleShare*(s.incumbent.mean[0]-s.incumbent.least))
}

// rank is that of place p, number i among those scored.
func (s *decision) rank(scores policy.Scores, p Place, i int) int {
	switch {
	case s.isAvoided(p):
		return rankAvoided
	case scores.Unlikely != nil && scores.Unlikely[i]:
		return rankUnlikely
	}
	return rankUsual
}

// allowing marks the places that fit and, where that is not nil, are permitted.
func allowing(places int, fits func(i int) bool, permitted []bool) (allowed []bool, any bool) {
	allowed = make([]bool, places)
	for i := range allowed {
		allowed[i] = fits(i) && (permitted == nil || permitted[i])
		any = any || allowed[i]
	}
	return allowed, any
}

// tie is how close scores count as equal, times max(1, |largest|).
const tie = 1e-9

// Argmax is the lowest index among the largest values, ties going to the largest untruncated value;
// −1 if none is allowed.
func Argmax(values, untruncated []float64, allowed []bool, relative bool) int {
	candidates := ties(values, nil, allowed, relative)
	if untruncated != nil && len(candidates) > 1 {
		candidates = ties(untruncated, candidates, allowed, relative)
	}
	if len(candidates) == 0 {
		return -1
	}
	return candidates[0]
}

// ties lists, in order, the indices (among some, or all) whose values come within the tolerance of
// the largest.
func ties(values []float64, among []int, allowed []bool, relative bool) []int {
	if among == nil {
		among = lists.Where(len(values), func(i int) bool { return allowed[i] })
	}
	if len(among) == 0 {
		return nil
	}
	largest := math.Inf(-1)
	for _, i := range among {
		largest = math.Max(largest, values[i])
	}
	size := math.Abs(largest)
	if !relative {
		size = math.Max(1, size)
	}
	return slices.DeleteFunc(slices.Clone(among), func(i int) bool { return !(values[i] >= largest-tie*size) })
}

// descending is the order of scores, the largest first, and of equal ones the first.
func descending(scores []search.Score) []int {
	order := lists.Below(len(scores))
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(search.Higher(scores[a], scores[b]), a-b) })
	return order
}
