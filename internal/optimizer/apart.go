package optimizer

import (
	"context"
	"errors"
	"math"
	"slices"

	"headroom/internal/optimizer/policy"
)

// A batch asked for when the best place has been found would lie there to the sixth digit: a waiting trial leaves its neighbours hardly any deviation, and the rest of the space
// promises less still. Where so little is at stake, the next trial keeps at least holdingApart, in some unit coordinate, from every trial that waits, and goes where the limits
// are kept with the probability that a recommendation needs: what is learned elsewhere should not be paid for with trials beyond a limit.
const (
	holdingApart = 0.02
	// littleShare is the share of what has been gained so far, the difference between the incumbent's reward and the least one played, below which what a place promises is little.
	littleShare = 1e-3

	// Of elsewhere: the fewest space-filling points, and how many multiplications are spent on more.
	fewestElsewhere = 64
	elsewhereWork   = 4_000_000_000
)

// littleLeft tells whether trials wait and what was found beside them promises little.
func (s *decision) littleLeft(found maximum) bool {
	v := s
	waiting, _ := v.underWay()
	if v.incumbent == nil || len(waiting) == 0 {
		return false
	}
	gained := v.incumbent.mean[0] - v.incumbent.least
	return found.value < math.Log(littleShare*gained)
}

// besideWaiting tells of a place whether it lies within holdingApart of a trial that waits, in every unit coordinate.
func (s *decision) besideWaiting() func(Place) bool {
	waiting, _ := s.underWay()
	return func(p Place) bool {
		return slices.ContainsFunc(waiting, func(w Place) bool { return !differ(p.U, w.U, holdingApart) })
	}
}

// elsewhere are space-filling points and points around the incumbent: the shortlist while there is one, else a list as long. Beyond some thousand rounds it is shorter, since each
// costs O(n²).
func (s *decision) elsewhere() []Place {
	if s.shortlist != nil {
		return s.shortlist.places
	}
	n, seed := len(s.history.Rounds), s.draw(s.Round()).Seed
	count := min(listed, max(fewestElsewhere, elsewhereWork/(n*n)))
	return s.placesOf(s.overhanging(count, seed), s.nearIncumbent(s.effort().near, seed))
}

// heldApart is the best of the places not tried yet that lie apart from those that wait, and what was found where there is none.
func (s *decision) heldApart(ctx context.Context, known Known, found maximum) (maximum, error) {
	at := s.elsewhere()
	beside, tried, least := s.besideWaiting(), s.tried(), math.Log(safeEnough)
	apart, err := s.bestWhere(ctx, at, known, func(scores policy.Scores, i int) bool {
		return scores.Allowed[i] && scores.Fallback[i] >= least && !beside(at[i]) && !tried(at[i])
	})
	if errors.Is(err, ErrNoneAllowed) {
		return found, nil
	}
	apart.reason = policy.Apart
	return apart, err
}
