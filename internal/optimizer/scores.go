package optimizer

import (
	"cmp"
	"math"
	"slices"

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
}

// climber is one polished start.
type climber struct {
	u     []float64
	score search.Score
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

// descending is the order of scores, the largest first, and of equal ones the first.
func descending(scores []search.Score) []int {
	order := indices(len(scores))
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(higher(scores[a], scores[b]), a-b) })
	return order
}
