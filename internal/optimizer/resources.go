package optimizer

import (
	"fmt"
	"iter"
	"slices"

	"headroom/internal/optimizer/gp"
)

// Resources are what a replay has to work with. None of them changes a bit of what comes of it.
type Resources struct {
	Kept *gp.Kept // rows of earlier states, so that they are not worked out again; nil for none
	Room int64    // bytes that the model may take; 0 for MostRoom
}

// MostRoom is how many bytes a model may take at most: 2 GiB, which one kernel fills with some
// 23,000 readings.
const MostRoom = 2 << 30

// MostListed is how many candidates a study lists at most for the posterior over all of them, which
// takes the place of rows where readings are many.
const MostListed = 2896 // its square is posterior.MostKept

func (r Resources) room() int64 {
	if r.Room <= 0 {
		return MostRoom
	}
	return min(r.Room, MostRoom)
}

// TooLarge is why there is no model: it would take more memory than it may.
type TooLarge struct {
	Readings    int // of the largest regression
	Regressions int
	Bytes, Room int64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%d regressions of up to %d readings take %d bytes, and there are %d", e.Regressions, e.Readings, e.Bytes, e.Room)
}

// checkRoom refuses a model that would take more memory than it may, before any of it is worked
// out: a triangle of rows for each regression.
func (s *evidence) checkRoom() error {
	need := TooLarge{Room: s.room}
	for _, regime := range s.regimes {
		for _, g := range slices.Concat(regime.groups, regime.own) {
			n := len(g.order)
			if s.inSequence(regime, n) {
				continue
			}
			need.Readings, need.Regressions, need.Bytes = max(need.Readings, n), need.Regressions+1, need.Bytes+4*int64(n)*int64(n+1)
		}
	}
	if need.Bytes > need.Room {
		return &need
	}
	return nil
}

// KeptFrom is from how many readings on a regression is worth keeping: reading its rows, which are
// n², takes as long at 1500 as working them out, which is n³, and at 2000 three quarters of that; see
// docs/benchmarks.md.
const KeptFrom = 2048

// Pieces are what can be kept of the state's regressions from so many readings on, so that a later
// one need not work it out again.
func (s *State) Pieces(from int) iter.Seq2[gp.Key, gp.Piece] {
	return func(yield func(gp.Key, gp.Piece) bool) {
		for _, regime := range s.regimes {
			for _, g := range slices.Concat(regime.groups, regime.own) {
				if g.Data == nil || g.Data.Len() < from {
					continue
				}
				for key, piece := range g.Data.Pieces(Engine) {
					if !yield(key, piece) {
						return
					}
				}
			}
		}
	}
}

// NewKept are the pieces of earlier states, to go on from.
func NewKept(pieces map[gp.Key]gp.Piece) *gp.Kept { return gp.NewKept(Engine, pieces) }
