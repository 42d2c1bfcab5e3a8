package optimizer

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// Suggest makes the next decision. The error is ErrNoneAllowed when the algorithm may choose
// nothing, or that of ctx.
func (s *decision) Suggest(ctx context.Context, known Known) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	s, err := s.withIncumbent(ctx)
	if err != nil {
		return Decision{}, err
	}
	if s.inFirstDesign(s.Round(), s.settings.InitialDesign()) {
		return s.firstDesign(ctx, known)
	}
	found, err := s.maximise(ctx, known)
	if err != nil {
		return Decision{}, err
	}
	d, err := s.record(ctx, found.place, known, found.draw)
	if err != nil {
		return Decision{}, err
	}
	d.Acquisition, d.HasScore, d.RunnerUp, d.Reason = found.value, true, found.runnerUp, found.reason
	return d, nil
}

func (s *decision) maximise(ctx context.Context, known Known) (maximum, error) {
	if s.arms != nil {
		return s.bestOf(ctx, s.arms.places, known)
	}
	if s.traits.NeedsSet {
		return s.bestOf(ctx, s.finitePlaces(ctx, s.draw(s.Round())), known)
	}
	found, err := s.maximiseContinuous(ctx, known)
	if err != nil || !s.littleToGain(found.value) {
		return found, err
	}
	if pending, _ := s.pendingPlaces(); len(pending) > 0 {
		return s.diversified(ctx, known, found)
	}
	if !s.tried()(found.place) {
		return found, nil
	}
	settled, err := s.bestOf(ctx, slices.Concat(s.diverse(shortlistSpread, 1), []Place{found.place, s.incumbent.place}), known)
	if errors.Is(err, ErrNoneAllowed) || err == nil && !settled.among.dropped {
		return found, nil
	}
	return settled, err
}

// maximiseContinuous finds the largest acquisition on a continuous space.
func (s *decision) maximiseContinuous(ctx context.Context, known Known) (maximum, error) {
	if s.shortlist != nil {
		if found, err := s.bestOf(ctx, s.shortlist.places, known); !errors.Is(err, ErrNoneAllowed) {
			return found, err
		}
	}
	return s.climbing(known).climb(ctx, s.startingPlaces())
}

// scoreList scores a finite list of places. The error is ErrNoneAllowed where none can be chosen.
func (s *decision) scoreList(ctx context.Context, at []Place, known Known) (*scoredPlaces, error) {
	if len(at) == 0 {
		return nil, ErrNoneAllowed
	}
	l := &scoredPlaces{draw: s.draw(s.Round())}
	of, input, err := s.considered(ctx, at, known.at(at), l.draw, false)
	if err != nil {
		return nil, err
	}
	if len(of) == 0 {
		return nil, ErrNoneAllowed
	}
	l.at, l.input = lists.At(at, of), input
	if l.scores, err = s.score(input); err != nil {
		return nil, err
	}
	if err := s.checkAllowed(l.scores, l.at, false); err != nil {
		return nil, err
	}
	l.values, l.allowed, l.fellBack = s.choosable(l.scores, l.at)
	l.dropped = !l.fellBack && s.dropWorseTried(l.scores, l.at, l.allowed)
	return l, nil
}

// bestOf returns the place of the largest score on a finite list.
func (s *decision) bestOf(ctx context.Context, at []Place, known Known) (maximum, error) {
	l, err := s.scoreList(ctx, at, known)
	if err != nil {
		return maximum{}, err
	}
	return s.bestWhere(l, func(int) bool { return true })
}

// bestWhere returns the place of the largest score among those, by index, for which suits is true.
func (s *decision) bestWhere(l *scoredPlaces, suits func(i int) bool) (maximum, error) {
	allowed := slices.Clone(l.allowed)
	for i := range allowed {
		allowed[i] = allowed[i] && suits(i)
	}
	chosen := Argmax(l.values, l.scores.Untruncated, allowed, l.scores.Relative)
	if chosen < 0 {
		return maximum{}, ErrNoneAllowed
	}
	found := maximum{place: l.at[chosen], value: l.values[chosen], reason: reason(l.scores.Reason, l.fellBack), draw: l.draw, among: l}
	if l.dropped {
		found.reason = policy.Settled
	}
	if s.traits.Drawn != nil {
		found.draw.Z = s.drawnAt(l.input, chosen)
	}
	for i, p := range l.at { // on a continuous space the runner-up must differ noticeably from the best
		allowed[i] = allowed[i] && i != chosen && (p.Arm >= 0 || distinct(p.U, l.at[chosen].U))
	}
	if second := Argmax(l.values, l.scores.Untruncated, allowed, l.scores.Relative); second >= 0 {
		found.runnerUp = &RunnerUp{Place: l.at[second], Acquisition: l.values[second]}
	}
	return found, nil
}

// checkAllowed calls scores.CheckAllowed, from the largest score down, until the choice and the
// runner-up are certain, or for every place when all is set.
func (s *decision) checkAllowed(scores policy.Scores, at []Place, all bool) error {
	if scores.CheckAllowed == nil {
		return nil
	}
	order, found := lists.Below(len(at)), []int{}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.rank(scores, at[a], a), s.rank(scores, at[b], b)), cmp.Compare(scores.Value[b], scores.Value[a]))
	})
	for _, i := range order {
		if !all && s.decided(scores, at, found, i) {
			break
		}
		if !scores.Allowed[i] && s.cfg.Space.offers(at[i]) {
			var err error
			if scores.Allowed[i], err = scores.CheckAllowed(i); err != nil {
				return err
			}
		}
		if scores.Allowed[i] && s.cfg.Space.offers(at[i]) {
			found = append(found, i)
		}
	}
	return nil
}

// decided tells whether the choice and the runner-up among the places found allowed are certain,
// whether or not place i is allowed.
func (s *decision) decided(scores policy.Scores, at []Place, found []int, i int) bool {
	if len(found) == 0 {
		return false
	}
	if s.rank(scores, at[i], i) > s.rank(scores, at[found[0]], found[0]) {
		return true
	}
	value, chosen := scores.Value, slices.Min(ties(scores.Value, found, scores.Allowed, scores.Relative))
	return slices.ContainsFunc(found, func(f int) bool {
		return f != chosen && (at[f].Arm >= 0 || distinct(at[f].U, at[chosen].U)) && value[i] < value[f]-tie*math.Max(1, math.Abs(value[f]))
	})
}

// considered returns the places that the algorithm chooses among, by index and in ascending order,
// and its input there. Of an algorithm that draws functions, places that have next to no chance to
// be chosen are left out, unless all is set.
func (s *decision) considered(ctx context.Context, at []Place, known func(j, i int) float64, draw Draw, all bool) (of []int, input *policy.Input, err error) {
	of = lists.Below(len(at))
	if !s.traits.IgnoresEstimates && s.traits.Considers == nil && s.traits.Functions == nil {
		input, err = s.inputAt(ctx, at, known, draw)
		return of, input, err
	}
	unseen, err := s.inputWithoutEstimates(ctx, at, known, draw)
	if err != nil || s.traits.Functions == nil {
		return of, unseen, err
	}
	if s.traits.Considers != nil {
		of = s.traits.Considers(unseen)
	}
	of = s.lowestRanked(of, at, unseen.Works)
	if len(of) == 0 { // none of those it considers is available
		of = s.lowestRanked(lists.Below(len(at)), at, unseen.Works)
	}
	some, knownOf := lists.At(at, of), func(j, i int) float64 { return known(j, of[i]) }
	widths := s.traits.Functions(unseen)
	if widths == nil || len(of) == 0 {
		input, err = s.inputWithoutEstimates(ctx, some, knownOf, draw)
		return of, input, err
	}
	drawn, input, err := s.drawOver(ctx, some, knownOf, unseen, widths, all)
	return lists.At(of, drawn), input, err
}

// lowestRanked returns those of the places that have the lowest rank for which any may be chosen.
func (s *decision) lowestRanked(of []int, at []Place, works *policy.Estimate) []int {
	scores := s.addWorks(policy.Scores{}, works)
	for rank := range ranks {
		for _, usable := range []func(Place) bool{s.mayChoose(), s.cfg.Space.offers} { // the second only where the first leaves none
			fits := func(i int) bool { return s.rank(scores, at[i], i) == rank && usable(at[i]) }
			if some := slices.DeleteFunc(slices.Clone(of), func(i int) bool { return !fits(i) }); len(some) > 0 {
				return some
			}
		}
	}
	return nil
}

// Own returns the decision record of a point that somebody else chose as the next round.
func (s *decision) Own(ctx context.Context, at Place, known Known) (Decision, error) {
	s, err := s.withIncumbent(ctx)
	if err != nil {
		return Decision{}, err
	}
	d, err := s.record(ctx, at, known, s.draw(s.Round()))
	d.Reason = policy.Own
	return d, err
}

// Acquisition returns what the next Suggest would maximise, at the given places.
func (s *decision) Acquisition(ctx context.Context, at []Place, known Known) (Scores, error) {
	s, err := s.withIncumbent(ctx)
	if err != nil {
		return Scores{}, err
	}
	of, input, err := s.considered(ctx, at, known.at(at), s.draw(s.Round()), true)
	out := Scores{Values: make([]float64, len(at)), Allowed: make([]bool, len(at)), Argmax: -1}
	if err != nil || len(of) == 0 {
		return out, err
	}
	scores, err := s.score(input)
	if err != nil {
		return Scores{}, err
	}
	if err := s.checkAllowed(scores, lists.At(at, of), true); err != nil {
		return out, err
	}
	values, allowed, fellBack := s.choosable(scores, lists.At(at, of))
	if !fellBack {
		s.dropWorseTried(scores, lists.At(at, of), allowed)
	}
	for n, i := range of {
		out.Values[i], out.Allowed[i] = values[n], allowed[n]
	}
	if best := Argmax(values, scores.Untruncated, allowed, scores.Relative); best >= 0 {
		out.Argmax = of[best]
	}
	out.Logarithmic = s.traits.LogExpectation
	return out, nil
}

// decide prepares the next decision; prior is that of the state before, nil for none.
func (s *evidence) decide(ctx context.Context, shown *shown, prior *decision) (*decision, error) {
	d := &decision{view: s.next, shown: shown}
	var before *shortlist
	if prior != nil {
		before = prior.shortlist
	}
	var err error
	if d.shortlist, err = d.makeShortlist(ctx, before); err != nil {
		return nil, err
	}
	shown.shortlist, d.avoided = d.shortlist, d.listAvoided()
	d.works, err = d.learnWorks(ctx, prior)
	return d, err
}

// firstDesign chooses the next allowed point of the scrambled Halton sequence, or the untried arm
// nearest to it. Points that break a limit of known form, avoided ones and ones tried before are
// skipped as long as others are left.
func (s *decision) firstDesign(ctx context.Context, known Known) (Decision, error) {
	place, ok := s.designPlace(s.keepsKnownLimits(known))
	if !ok {
		return Decision{}, ErrNoneAllowed
	}
	d, err := s.record(ctx, place, known, s.draw(s.Round()))
	d.Reason = policy.FirstDesign
	return d, err
}

// designTries bounds how many points of the sequence are tried to find one that the input
// constraints allow.
const designTries = 4096

func (s *decision) designPlace(keeps func(Place) bool) (Place, bool) {
	space := s.cfg.Space
	t := s.Round()
	if space.Arms != nil {
		return s.nearestFreshArm(s.designPoint(), keeps)
	}
	var allowed, kept []Place
	tried := s.tried()
	for _, u := range search.Halton(designTries+t, len(space.Dims), s.cfg.Seed) {
		v, ok := space.settle(u)
		if !ok {
			continue
		}
		allowed = append(allowed, Place{U: v, Arm: -1})
		if keeps(allowed[len(allowed)-1]) {
			kept = append(kept, allowed[len(allowed)-1])
		}
		if n := len(kept); n >= t && !s.isAvoided(kept[n-1]) && !tried(kept[n-1]) {
			return kept[n-1], true
		}
	}
	switch { // few points keep the limits, or none
	case len(kept) > 0:
		return kept[t%len(kept)], true
	case len(allowed) >= t:
		return allowed[t-1], true
	}
	if allowed = s.screeningPlaces(); len(allowed) > 0 { // where hardly any point of the sequence is allowed
		return allowed[t%len(allowed)], true
	}
	return Place{}, false
}

// designPoint is the point of the sequence for this round: with arms as it comes, otherwise an
// allowed one.
func (s *decision) designPoint() []float64 {
	t, d := s.Round(), len(s.cfg.Space.Dims)
	if s.cfg.Space.Arms != nil {
		return s.cfg.Space.relabelled(search.Halton(t, d, s.cfg.Seed)[t-1])
	}
	place, ok := s.designPlace(func(Place) bool { return true })
	if !ok {
		return make([]float64, d)
	}
	return place.U
}

// nearestFreshArm returns the arm nearest to u. It prefers arms that satisfy keeps and, among
// those, untried arms, then arms that are not avoided.
func (s *decision) nearestFreshArm(u []float64, keeps func(Place) bool) (Place, bool) {
	space := s.cfg.Space
	tried := map[string]bool{}
	for _, r := range s.history.Rounds {
		tried[string(lists.Bits(r.Point))] = true
	}
	for _, allowed := range []func(Place) bool{keeps, func(Place) bool { return true }} {
		for _, left := range []func(Place) bool{func(p Place) bool { return !tried[string(lists.Bits(p.U))] }, func(p Place) bool { return !s.isAvoided(p) }, s.cfg.Space.offers} {
			best, nearest := math.Inf(1), Place{Arm: -1}
			for i, a := range space.Arms {
				at := Place{U: a, Arm: i}
				if distance := space.dissimilarity(a, u); distance < best && s.cfg.Space.offers(at) && left(at) && allowed(at) {
					best, nearest = distance, at
				}
			}
			if nearest.Arm >= 0 {
				return nearest, true
			}
		}
	}
	return Place{}, false
}

// When the optimum has been found, all trials of a batch would lie there to the sixth digit: a
// pending trial leaves hardly any uncertainty near it, and the rest of the space promises even
// less. Where so little can be gained, the next trial keeps a distance of leastDistance, in some
// unit coordinate, from every pending one, and is the best of a joint draw of the functions given
// the readings alone. So trials lie where the optimum may be, as often as it may be there.
const (
	leastDistance = 0.02
	// It is drawn over elsewhereSpread space-filling points, others for each trial, and over
	// elsewhereNear times as many points around the incumbent as a search starts from, most of which
	// lie too near to pending trials.
	elsewhereSpread = 128
	elsewhereNear   = 4
	// diverse has fewestDiverse space-filling points at least, and more within diverseWork
	// multiplications.
	fewestDiverse = 64
	diverseWork   = 4_000_000_000
)

// diverse returns so many space-filling points, and near times as many points around the incumbent
// as a search starts from. Beyond some thousand rounds there are fewer, since each costs O(n²).
func (s *decision) diverse(spread, near int) []Place {
	n, seed := len(s.history.Rounds), s.draw(s.Round()).Seed
	count := min(spread, max(fewestDiverse, diverseWork/(n*n)))
	return s.placesOf(s.cfg.overhanging(count, seed), s.nearIncumbent(near*s.effort().near, seed))
}

// diversified returns the place elsewhere that is best in a joint draw of the functions (Thompson
// sampling), or found where there is none. Its value is the usual score.
func (s *decision) diversified(ctx context.Context, known Known, found maximum) (maximum, error) {
	told := &decision{view: s.shown.view, shown: s.shown, works: s.works}
	at, err := s.elsewhere(ctx, told, known)
	if err != nil || len(at) == 0 {
		return found, err
	}
	scores, err := told.drawAll(ctx, at, known, s.draw(s.Round()))
	if err != nil {
		return maximum{}, err
	}
	best := Argmax(scores.Value, nil, scores.Allowed, false)
	if best < 0 {
		best = Argmax(scores.Fallback, nil, slices.Repeat([]bool{true}, len(at)), false)
	}
	chosen, err := s.scoreList(ctx, at[best:best+1], known)
	if err != nil {
		return maximum{}, err
	}
	return maximum{place: at[best], value: chosen.scores.Value[0], draw: chosen.draw, reason: policy.Apart}, nil
}

// elsewhere lists untried places apart from all pending trials that keep all limits with probability
// safeEnough by the readings told: exploring should not cost trials beyond a limit. Of the many wells
// of a plate, which are to cover where the best may lie, P(x)^w ≥ ½ is asked, w being the caution: the
// best often lies at a limit. P(x) includes how surely a trial works, as in the score. None has a risk
// that the decision may not take.
func (s *decision) elsewhere(ctx context.Context, told *decision, known Known) ([]Place, error) {
	pending, _ := s.pendingPlaces()
	tried := s.tried()
	at := slices.DeleteFunc(s.diverse(elsewhereSpread, elsewhereNear), func(p Place) bool {
		near := func(q Place) bool { return search.Within(leastDistance, p.U, q.U) }
		return !s.cfg.Space.offers(p) || s.isAvoided(p) || tried(p) || slices.ContainsFunc(pending, near)
	})
	if len(at) == 0 {
		return nil, nil
	}
	input, err := told.inputAt(ctx, at, known.at(at), Draw{})
	if err != nil {
		return nil, err
	}
	if input.TooRisky, err = s.tooRisky(ctx, at, nil); err != nil {
		return nil, err
	}
	scores, err := told.score(input)
	if err != nil {
		return nil, err
	}
	least := math.Log(safeEnough)
	if len(pending) > manyPending {
		least = -math.Ln2 / s.settings.Value("caution", "")
	}
	return lists.At(at, lists.Where(len(at), func(i int) bool { return scores.Allowed[i] && scores.Fallback[i] >= least })), nil
}

// record returns the record of choosing a place, with the numbers behind it.
func (s *decision) record(ctx context.Context, at Place, known Known, draw Draw) (Decision, error) {
	places := []Place{at}
	input, err := s.inputOf(ctx, at, known.at(places), draw)
	if err != nil {
		return Decision{}, err
	}
	beliefs, chances, err := s.shown.Believe(ctx, places, s.knownRows(places, known))
	if err != nil {
		return Decision{}, err
	}
	draw.Z = input.Draw.Z
	d := Decision{Place: at, Multipliers: s.multipliers, Horizon: s.horizon(s.Round()), Draw: draw, Estimates: s.policy.Estimates(input, 0)}
	for i, b := range beliefs {
		d.Mean, d.SD = append(d.Mean, b.Mean[0]), append(d.SD, b.SD[0])
		if k := s.targetOf(i); k < len(s.beta) {
			d.Beta = append(d.Beta, s.beta[k])
		}
	}
	d.FeasibilityProbability = chances[0]
	if s.works != nil {
		works, err := s.WorksChance(ctx, places)
		if err != nil {
			return Decision{}, err
		}
		d.Works = works[0]
	}
	if input.Incumbent != nil {
		best, t := s.incumbent, s.transforms[0]
		improvement := policy.ExpectedGain(s.asShown(input, at), 0)
		d.ExpectedImprovement, d.Incumbent = math.Abs(t.toMetric(best.mean[0]+improvement)-t.toMetric(best.mean[0])), best.round
	}
	return d, nil
}

// asShown is the input of one place with the standard deviations shown there and at x* in place of
// those that decide. All limits count as given, since the improvement shown is that of the
// objective alone.
func (s *decision) asShown(input *policy.Input, at Place) *policy.Input {
	said, incumbent := *input, *input.Incumbent
	said.Incumbent, said.Costs, said.Given = &incumbent, slices.Clone(input.Costs), slices.Repeat([]bool{true}, len(input.Costs))
	incumbent.SD, incumbent.Covariance, incumbent.Noise = slices.Clone(incumbent.SD), slices.Clone(incumbent.Covariance), slices.Clone(incumbent.Noise)
	for k, t := range s.targets {
		if t.metric < 0 {
			continue
		}
		width, estimate := s.shown.sdFactor(t.metric), &said.Reward
		if k > 0 {
			estimate = &said.Costs[k-1]
		}
		estimate.SD = []float64{width * estimate.SD[0]}
		incumbent.SD[k] *= width
		incumbent.Covariance[k] = []float64{width * width * incumbent.Covariance[k][0]}
		incumbent.Noise[k] = []float64{s.shown.noiseAt(k, at)}
	}
	return &said
}
