package optimizer

import (
	"context"
	"errors"
	"math"
	"slices"

	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// ErrNoneAllowed is returned by Suggest when the algorithm may choose nothing.
var ErrNoneAllowed = errors.New("the algorithm may choose none of the points")

// Suggest makes the next decision. The error is ErrNoneAllowed when the algorithm may choose nothing, or ctx's.
func (s *decision) Suggest(ctx context.Context, known Known) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	if s.designed(s.Round(), s.settings.InitialDesign()) {
		return s.firstDesign(ctx, known)
	}
	found, err := s.maximise(ctx, known)
	if err != nil {
		return Decision{}, err
	}
	d, err := s.decision(ctx, found.place, known, found.draw)
	if err != nil {
		return Decision{}, err
	}
	d.Acquisition, d.HasScore, d.RunnerUp, d.Reason = found.value, true, found.runnerUp, Reason(found.reason)
	return d, nil
}

// designed tells whether decision t, if it is the algorithm's, belongs to a first design of so many rounds.
func (s *study) designed(t, design int) bool { return t <= design || design > 0 && s.blind(t) }

// blind tells that a policy which weighs what was read would have nothing to weigh at decision t: its first design goes on until the first reading, so that a
// plate of fifty asked for at once is fifty places.
func (s *study) blind(t int) bool {
	if s.traits.Incumbent == nil {
		return false
	}
	return !slices.ContainsFunc(s.history.Rounds, func(r Round) bool {
		return !r.Excluded && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.seenAt(t) })
	})
}

// Own returns the decision record of a point that somebody else chose as the next round. The error is that of ctx.
func (s *decision) Own(ctx context.Context, at Place, known Known) (Decision, error) {
	d, err := s.decision(ctx, at, known, s.draw(s.Round()))
	d.Reason = ReasonOwn
	return d, err
}

// decision writes down the numbers behind choosing a place.
func (s *decision) decision(ctx context.Context, at Place, known Known, draw Draw) (Decision, error) {
	places := []Place{at}
	sight, err := s.sightOf(ctx, at, known.at(places), draw)
	if err != nil {
		return Decision{}, err
	}
	beliefs, chances, err := s.shown.Believe(ctx, places, s.knownRows(places, known))
	if err != nil {
		return Decision{}, err
	}
	draw.Z = sight.Draw.Z
	d := Decision{Place: at, Round: s.Round(), Multipliers: s.multipliers, Draw: draw, Estimates: s.policy.Estimates(sight, 0)}
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
	if sight.Rival != nil {
		best, t := s.incumbent, s.transforms[0]
		improvement := policy.ExpectedGain(sight, 0)
		d.ExpectedImprovement, d.Incumbent = math.Abs(t.metric(best.mean[0]+improvement)-t.metric(best.mean[0])), best.round
	}
	return d, nil
}

// knownRows tabulates the given constraints' values; nil when there are none.
func (s *study) knownRows(places []Place, known Known) [][]float64 {
	if !slices.ContainsFunc(s.cfg.Costs, func(c Cost) bool { return c.Knowledge == Given }) {
		return nil
	}
	value := known.at(places)
	rows := make([][]float64, len(places))
	for i := range rows {
		rows[i] = make([]float64, len(s.cfg.Costs))
		for j, c := range s.cfg.Costs {
			if c.Knowledge == Given {
				rows[i][j] = value(j, i)
			}
		}
	}
	return rows
}

// firstDesign takes the next point of the scrambled Halton sequence that is allowed, or the arm nearest to it that has not been tried. What would break a
// limit of known form is passed over as long as something else is left, and so are settings that are spent.
func (s *decision) firstDesign(ctx context.Context, known Known) (Decision, error) {
	place, ok := s.designPlace(s.keepsKnownLimits(known))
	if !ok {
		return Decision{}, ErrNoneAllowed
	}
	d, err := s.decision(ctx, place, known, s.draw(s.Round()))
	d.FirstDesign, d.Reason = true, ReasonFirstDesign
	return d, err
}

// keepsKnownLimits tells of a place whether all costs of known form are at most 0 there.
func (s *study) keepsKnownLimits(known Known) func(Place) bool {
	return func(at Place) bool {
		for _, row := range s.knownRows([]Place{at}, known) {
			if slices.Max(row) > 0 { // costs of other kinds are 0 in it
				return false
			}
		}
		return true
	}
}

// designTries bounds how many points of the sequence are tried for one that the input constraints allow.
const designTries = 4096

func (s *decision) designPlace(keeps func(Place) bool) (Place, bool) {
	space := s.cfg.Space
	t := s.Round()
	if space.Arms != nil {
		return s.nearestFreshArm(s.designPoint(), keeps)
	}
	var allowed, kept []Place
	for _, u := range search.Halton(designTries+t, len(space.Dims), s.cfg.Seed) {
		v, ok := space.settle(u)
		if !ok {
			continue
		}
		allowed = append(allowed, Place{U: v, Arm: -1})
		if keeps(allowed[len(allowed)-1]) {
			kept = append(kept, allowed[len(allowed)-1])
		}
		if len(kept) >= t && !s.isSpent(kept[len(kept)-1]) {
			return kept[len(kept)-1], true
		}
	}
	switch { // the limits leave hardly any room, or none
	case len(kept) > 0:
		return kept[t%len(kept)], true
	case len(allowed) >= t:
		return allowed[t-1], true
	}
	return s.anyPlace()
}

// designPoint is the point of the sequence whose turn it is: with arms as it comes, elsewhere the one that is allowed.
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

// anyPlace is an allowed point of a finer search, for spaces that the sequence hardly meets.
func (s *study) anyPlace() (Place, bool) {
	places := s.screeningPlaces()
	if len(places) == 0 {
		return Place{}, false
	}
	return places[s.Round()%len(places)], true
}

// nearestFreshArm is the arm nearest to u: among those that keep a rule and have not been tried, or are not spent, or are, and only then among the others.
func (s *decision) nearestFreshArm(u []float64, keeps func(Place) bool) (Place, bool) {
	space := s.cfg.Space
	tried := map[int]bool{}
	for _, r := range s.history.Rounds {
		tried[r.Arm] = true
	}
	for _, allowed := range []func(Place) bool{keeps, func(Place) bool { return true }} {
		for _, left := range []func(Place) bool{func(p Place) bool { return !tried[p.Arm] }, func(p Place) bool { return !s.isSpent(p) }, s.left} {
			best, nearest := math.Inf(1), Place{Arm: -1}
			for i, a := range space.Arms {
				at := Place{U: a, Arm: i}
				if distance := space.unlike(a, u); distance < best && s.left(at) && left(at) && allowed(at) {
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

// Acquisition returns what the next Suggest would maximise, at the given places. The error is that of ctx.
func (s *decision) Acquisition(ctx context.Context, at []Place, known Known) (Scores, error) {
	sight, err := s.sight(ctx, at, known.at(at), s.draw(s.Round()))
	if err != nil {
		return Scores{}, err
	}
	scores, err := s.score(sight)
	if err != nil {
		return Scores{}, err
	}
	values, allowed, _ := s.effective(scores, at)
	return Scores{Values: values, Logarithmic: scores.Logarithmic, Allowed: allowed, Argmax: Argmax(values, scores.Untruncated, allowed, scores.Relative)}, nil
}

// effective resolves which places may be chosen: of those of the lowest rank that are left and would teach something, those the algorithm allows, else by
// its fallback; if nothing would, of all that are left; and so on with the next rank.
func (s *decision) effective(scores policy.Scores, at []Place) (values []float64, allowed []bool, fellBack bool) {
	ranked := make([]int, len(at))
	for i, p := range at {
		ranked[i] = s.rank(scores, p, i)
	}
	usables := []func(Place) bool{s.teaches(), s.left}
	for rank := range ranks {
		for _, usable := range usables {
			fits := func(i int) bool { return ranked[i] == rank && usable(at[i]) }
			if allowed, any := allowing(len(at), fits, scores.Allowed); any {
				return scores.Value, allowed, false
			}
			if scores.Fallback == nil {
				continue
			}
			if allowed, any := allowing(len(at), fits, nil); any {
				return scores.Fallback, allowed, true
			}
		}
	}
	return scores.Value, make([]bool, len(at)), false
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

// left tells whether a place has not run out.
func (s *study) left(p Place) bool { return p.Arm < 0 || s.cfg.Space.available(p.Arm) }

// tie is how close scores count as equal, times max(1, |largest|).
const tie = 1e-9

// Argmax is the lowest index among the largest values, ties going to the largest untruncated value; −1 if none is allowed.
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

// ties lists, in order, the indices (among some, or all) whose values come within the tolerance of the largest.
func ties(values []float64, among []int, allowed []bool, relative bool) []int {
	if among == nil {
		for i := range values {
			if allowed[i] {
				among = append(among, i)
			}
		}
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
	var out []int
	for _, i := range among {
		if values[i] >= largest-tie*size {
			out = append(out, i)
		}
	}
	return out
}
