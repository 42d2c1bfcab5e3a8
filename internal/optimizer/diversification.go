package optimizer

import (
	"context"
	"errors"
	"math"
	"slices"

	"headroom/internal/optimizer/policy"
)

// A batch asked for when the best place has been found would lie there to the sixth digit: a
// waiting trial leaves its neighbours hardly any deviation, and the rest of the space promises less
// still. Where so little is at stake, the next trial keeps at least leastDistance, in some unit
// coordinate, from every trial that waits, and goes where the limits are kept with the probability
// that a recommendation needs: what is learned elsewhere should not be paid for with trials beyond
// a limit.
const (
	leastDistance = 0.02
	// littleShare is the share of what has been gained so far, the difference between the
	// incumbent's reward and the least one played, below which what a place promises is little.
	littleShare = 1e-3

	// Of diverse: the fewest space-filling points, and how many multiplications are spent on more.
	fewestDiverse = 64
	diverseWork   = 4_000_000_000
)

// littleLeft tells whether trials wait and what was found beside them promises little.
func (s *decision) littleLeft(found maximum) bool {
	waiting, _ := s.underWay()
	if s.incumbent == nil || len(waiting) == 0 {
		return false
	}
	gained := s.incumbent.mean[0] - s.incumbent.least
	return found.value < math.Log(littleShare*gained)
}

// nearPending tells of a place whether it lies within leastDistance of a trial that waits, in every
// unit coordinate.
func (s *decision) nearPending() func(Place) bool {
	waiting, _ := s.underWay()
	return func(p Place) bool {
		return slices.ContainsFunc(waiting, func(w Place) bool { return !differ(p.U, w.U, leastDistance) })
	}
}

// diverse are space-filling points and points around the incumbent: the shortlist while there is
// one, else a list as long. Beyond some thousand rounds it is shorter, since each costs O(n²).
func (s *decision) diverse() []Place {
	if s.shortlist != nil {
		return s.shortlist.places
	}
	n, seed := len(s.history.Rounds), s.draw(s.Round()).Seed
	count := min(listed, max(fewestDiverse, diverseWork/(n*n)))
	return s.placesOf(s.cfg.overhanging(count, seed), s.nearIncumbent(s.effort().near, seed))
}

// diversified is the best of the places not tried yet that lie apart from those that wait, and what
// was found where there is none.
func (s *decision) diversified(ctx context.Context, known Known, found maximum) (maximum, error) {
	among := found.among
	if among == nil {
		var err error
		if among, err = s.scoreList(ctx, s.diverse(), known); errors.Is(err, ErrNoneAllowed) {
			return found, nil
		} else if err != nil {
			return maximum{}, err
		}
	}
	beside, tried, least := s.nearPending(), s.tried(), math.Log(safeEnough)
	elsewhere, err := s.bestWhere(among, func(i int) bool {
		return among.scores.Allowed[i] && among.scores.Fallback[i] >= least && !beside(among.at[i]) && !tried(among.at[i])
	})
	if errors.Is(err, ErrNoneAllowed) {
		return found, nil
	}
	elsewhere.reason = policy.Apart
	return elsewhere, err
}
