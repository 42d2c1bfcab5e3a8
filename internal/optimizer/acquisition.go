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

// decision is everything an algorithm decides by: a view and, for the next decision, what follows
// it.
type decision struct {
	*view
	shown   *shown   // the posterior from the readings alone
	avoided *avoided // settings that it does not choose again, nil for none
	works   *works   // the model of where trials work, nil while none has failed
}

// withIncumbent returns the decision with its incumbent found.
func (s *decision) withIncumbent(ctx context.Context) (*decision, error) {
	whole, err := s.view.withIncumbent(ctx)
	if err != nil {
		return nil, err
	}
	v := *whole
	v.shortlist = s.shortlist
	return &decision{view: &v, shown: s.shown, avoided: s.avoided, works: s.works}, nil
}

// inputAt is the algorithm's input at some places.
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

// inputFrom is the input with given estimates.
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

// inputWithoutEstimates is the input of some places with empty estimates.
func (s *decision) inputWithoutEstimates(ctx context.Context, at []Place, known func(j, i int) float64, draw Draw) (*policy.Input, error) {
	input := s.inputFrom(ctx, at, known, draw, make([]policy.Estimate, len(s.targets)))
	var err error
	input.Works, err = s.worksAt(ctx, at)
	return input, err
}

// score is the algorithm's acquisition at the places of the input, with the chance that trials
// work.
func (s *decision) score(input *policy.Input) (policy.Scores, error) {
	scores, err := s.policy.Score(input)
	if err != nil {
		return scores, err
	}
	return s.addWorks(scores, input.Works), nil
}

// tooRisky tells for each place whether its chance to break a limit exceeds the risk that the
// decision may take; nil where no risk is bounded.
func (s *decision) tooRisky(ctx context.Context, at []Place, estimates []policy.Estimate) ([]bool, error) {
	if len(s.allowances) == 0 {
		return nil, nil
	}
	beyond, err := s.riskExcess(ctx, at, estimates)
	return lists.Map(beyond, func(part float64) bool { return part > 0 }), err
}

// riskExcess returns, for each place, (p − a)/a at its maximum over the allowances, p being its
// chance to break the limits and a the risk that the decision may take. p is the chance that is
// shown, from the readings alone: a pending trial makes nothing less risky before its result is
// known.
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

// set is the finite set of places for algorithms that look at it as a whole. What is expensive is
// computed when the algorithm asks for it.
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
	fresh := s.mayChoose()
	set.Known = lists.Map(at, func(p Place) bool { return s.cfg.Space.offers(p) && (!fresh(p) || s.isAvoided(p)) })
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

// earlier is the input that decision t had of the same places.
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

// mayChoose tells which places can be chosen: those that are available and, where the algorithm
// avoids known places and a second reading would equal the first, were not tried. It only restricts
// finite lists.
func (s *decision) mayChoose() func(Place) bool {
	if !s.traits.AvoidsKnown || s.cfg.Space.Arms == nil && s.shortlist == nil || s.readingsVary() {
		return s.cfg.Space.offers
	}
	tried := s.tried()
	return func(p Place) bool { return s.cfg.Space.offers(p) && !tried(p) }
}

// Ranks of places. One of a higher rank is chosen only where none of a lower rank may be.
const (
	rankUsual    = iota
	rankUnlikely // trials hardly work there: see policy.Scores
	rankAvoided
	ranks
)

// maximum is the result of the search for the largest acquisition.
type maximum struct {
	place    Place
	value    float64
	runnerUp *RunnerUp
	reason   string
	draw     Draw
	among    *scoredPlaces // the list that it was chosen from; nil on a continuous space
}

// reason is the rule to report: LeastBad where an algorithm that looks within the limits had to use
// its fallback.
func reason(usual string, fellBack bool) string {
	if fellBack && (usual == policy.Optimistic || usual == policy.Improve) {
		return policy.LeastBad
	}
	return usual
}

// scoredPlaces are the places of a finite list that the algorithm chooses among, with their scores.
type scoredPlaces struct {
	at       []Place
	draw     Draw
	input    *policy.Input
	scores   policy.Scores
	values   []float64
	allowed  []bool
	fellBack bool
	dropped  bool // whether dropWorseTried left some out
}

// climber is a point that a search moves uphill, and its score there.
type climber struct {
	u     []float64
	score search.Score
}

// searchScores converts scores to those that searches compare, with the places' ranks.
func (s *decision) searchScores(raw policy.Scores, at []Place) []search.Score {
	scores := make([]search.Score, len(at))
	for i, p := range at {
		scores[i] = searchScore(raw, i)
		scores[i].Rank = max(scores[i].Rank, s.rank(raw, p, i))
	}
	return scores
}

// searchScore converts score i. A place that is not allowed has its fallback for a value.
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

// choosable returns the values to maximise and the places that may be chosen. Of the lowest rank
// with any, these are the first that are not empty of: places that mayChoose allows and the
// algorithm allows; places that mayChoose allows, by the algorithm's fallback; and both again for
// all available places. An algorithm that maximises an expectation takes the third before the
// second: what it does not allow is known or too likely to break a limit.
func (s *decision) choosable(scores policy.Scores, at []Place) (values []float64, allowed []bool, fellBack bool) {
	ranked := lists.Of(len(at), func(i int) int { return s.rank(scores, at[i], i) })
	fresh, available := s.mayChoose(), s.cfg.Space.offers
	order := []struct {
		usable   func(Place) bool
		fallback bool
	}{{fresh, false}, {fresh, true}, {available, false}, {available, true}}
	if s.traits.LogExpectation {
		order[1], order[2] = order[2], order[1]
	}
	for rank := range ranks {
		for _, of := range order {
			values, permitted := scores.Value, scores.Allowed
			if of.fallback {
				values, permitted = scores.Fallback, nil
			}
			allowed := lists.Of(len(at), func(i int) bool {
				return ranked[i] == rank && of.usable(at[i]) && (permitted == nil || permitted[i])
			})
			if values != nil && slices.Contains(allowed, true) {
				return values, allowed, of.fallback
			}
		}
	}
	return scores.Value, make([]bool, len(at)), false
}

// dropWorseTried marks tried places as not allowed that are less sure to keep the limits than x*,
// where the best score is at such a place and promises little, and tells whether it did. Otherwise
// a setting that is almost sure to break a limit would be read again and again for a trace of
// improvement.
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

// littleShare is the share of the gain so far, from the least reward played to the incumbent's,
// below which an expected improvement counts as little.
const littleShare = 1e-3

// littleToGain tells whether the largest score, the logarithm of an expected improvement, is
// little.
func (s *decision) littleToGain(most float64) bool {
	return s.incumbent != nil && most < math.Log(littleShare*(s.incumbent.mean[0]-s.incumbent.least))
}

// rank is the rank of place p, which has index i among those scored.
func (s *decision) rank(scores policy.Scores, p Place, i int) int {
	switch {
	case s.isAvoided(p):
		return rankAvoided
	case scores.Unlikely != nil && scores.Unlikely[i]:
		return rankUnlikely
	}
	return rankUsual
}

// tie is the difference up to which scores count as equal, times max(1, |largest|).
const tie = 1e-9

// Argmax returns the lowest index of the largest value; ties go to the largest untruncated value.
// It is −1 if none is allowed.
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

// ties lists, in order, the indices whose values are equal to the largest within the tolerance,
// among the given ones or, for nil, all allowed ones.
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

// descending lists the indices of scores, the largest score first, equal ones in ascending order.
func descending(scores []search.Score) []int {
	order := lists.Below(len(scores))
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(search.Higher(scores[a], scores[b]), a-b) })
	return order
}
