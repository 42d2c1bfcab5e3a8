package optimizer

import (
	"cmp"
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
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

// climber is one polished start.
type climber struct {
	u     []float64
	score search.Score
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
}

// scoreList scores a finite list. The error is ErrNoneAllowed where there is nothing to choose
// among.
func (s *decision) scoreList(ctx context.Context, at []Place, known Known) (*scoredPlaces, error) {
	if len(at) == 0 {
		return nil, ErrNoneAllowed
	}
	l := &scoredPlaces{draw: s.draw(s.Round())}
	of, input, err := s.choices(ctx, at, known.at(at), l.draw, false)
	if err != nil {
		return nil, err
	}
	if len(of) == 0 {
		return nil, ErrNoneAllowed
	}
	l.at, l.input = pick(at, of), input
	if l.scores, err = s.score(input); err != nil {
		return nil, err
	}
	if err := s.askFurther(l.scores, l.at, false); err != nil {
		return nil, err
	}
	l.values, l.allowed, l.fellBack = s.effective(l.scores, l.at)
	return l, nil
}

// best takes the largest score of a finite list.
func (s *decision) best(ctx context.Context, at []Place, known Known) (maximum, error) {
	l, err := s.scoreList(ctx, at, known)
	if err != nil {
		return maximum{}, err
	}
	return s.bestWhere(l, func(int) bool { return true })
}

// bestWhere takes the largest score of the places, by their index, that also suit.
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
	if s.traits.Drawn != nil {
		found.draw.Z = s.drawnAt(l.input, chosen)
	}
	for i, p := range l.at { // beside the best of a continuous space lie others that are hardly another choice
		allowed[i] = allowed[i] && i != chosen && (p.Arm >= 0 || distinct(p.U, l.at[chosen].U))
	}
	if second := Argmax(l.values, l.scores.Untruncated, allowed, l.scores.Relative); second >= 0 {
		found.runnerUp = &RunnerUp{Place: l.at[second], Acquisition: l.values[second]}
	}
	return found, nil
}

// askFurther asks which places are allowed after all, from the largest score down, until no more
// could be chosen or come next, or of all.
func (s *decision) askFurther(scores policy.Scores, at []Place, all bool) error {
	if scores.AllowedAfterAll == nil {
		return nil
	}
	order, found := indices(len(at)), []int{}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.rank(scores, at[a], a), s.rank(scores, at[b], b)), cmp.Compare(scores.Value[b], scores.Value[a]))
	})
	for _, i := range order {
		if !all && s.decided(scores, at, found, i) {
			break
		}
		if !scores.Allowed[i] && s.cfg.Space.offers(at[i]) {
			var err error
			if scores.Allowed[i], err = scores.AllowedAfterAll(i); err != nil {
				return err
			}
		}
		if scores.Allowed[i] && s.cfg.Space.offers(at[i]) {
			found = append(found, i)
		}
	}
	return nil
}

// decided tells whether, of the places found, one will be chosen and another come next whether or
// not place i is allowed.
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

func reason(usual string, fellBack bool) string {
	if fellBack && (usual == policy.Optimistic || usual == policy.Improve) {
		return policy.LeastBad
	}
	return usual
}

// scoreAll scores places for climbing.
func (s climbing) scoreAll(ctx context.Context, at []Place) ([]search.Score, string, error) {
	input, err := s.inputAt(ctx, at, s.known.at(at), s.chance)
	if err != nil {
		return nil, "", err
	}
	raw, err := s.score(input)
	if err != nil {
		return nil, "", err
	}
	scores, reason := s.order(raw, at)
	return scores, reason, nil
}

// order puts scores in the order that climbing needs: by rank, and fallbacks below everything
// allowed.
func (s *decision) order(raw policy.Scores, at []Place) ([]search.Score, string) {
	scores := make([]search.Score, len(at))
	for i, p := range at {
		scores[i] = ordered(raw, i)
		scores[i].Rank = max(scores[i].Rank, s.rank(raw, p, i))
	}
	return scores, raw.Reason
}

// ordered is score i in that order, among places of one rank.
func ordered(raw policy.Scores, i int) search.Score {
	score := search.Score{Allowed: raw.Allowed == nil || raw.Allowed[i], Value: raw.Value[i]}
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

func byScore(a, b climber) int { return higher(a.score, b.score) }

// higher orders scores, the higher first.
func higher(a, b search.Score) int {
	switch {
	case a.Above(b):
		return -1
	case b.Above(a):
		return 1
	}
	return 0
}

// leaders are the best scored places, no two of them alike.
func leaders(at []Place, scores []search.Score, count int) []climber {
	var list []climber
	for _, i := range descending(scores) {
		if len(list) == count {
			break
		}
		if !slices.ContainsFunc(list, func(c climber) bool { return !differ(c.u, at[i].U, startDistance) }) {
			list = append(list, climber{at[i].U, scores[i]})
		}
	}
	return list
}

// polish moves every climber up, on all cores; each is deterministic by itself.
func polish(problem search.Problem, climbers []climber, step, finest float64, budget int, seed uint64) error {
	work := cores.New()
	for i := range climbers {
		work.Go(func() (err error) {
			c := &climbers[i]
			c.u, c.score, err = problem.Polish(c.u, c.score, step, finest, budget, seed+uint64(i))
			return err
		})
	}
	return work.Wait()
}

// effective resolves which places may be chosen: of those of the lowest rank that are left and
// would teach something, those the algorithm allows, else by its fallback; if nothing would, of all
// that are left; and so on with the next rank.
func (s *decision) effective(scores policy.Scores, at []Place) (values []float64, allowed []bool, fellBack bool) {
	ranked := make([]int, len(at))
	for i, p := range at {
		ranked[i] = s.rank(scores, p, i)
	}
	for rank := range ranks {
		for _, usable := range s.usables() {
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

// usables tell which places may be chosen, one after another where none may be.
func (s *decision) usables() []func(Place) bool {
	return []func(Place) bool{s.teaches(), s.cfg.Space.offers}
}

// A place of a higher rank is chosen only where none of a lower one may be.
const (
	rankUsual    = iota
	rankUnlikely // it hardly works: see policy.Scores
	rankSpent
	ranks
)

// rank is that of place p, number i among those scored.
func (s *decision) rank(scores policy.Scores, p Place, i int) int {
	switch {
	case s.isSpent(p):
		return rankSpent
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
