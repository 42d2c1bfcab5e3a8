package optimizer

import (
	"math/rand/v2"
	"slices"
)

// While more than manyWaiting trials wait for their results, the search of a continuous space looks
// at a shortlist only and polishes nothing: one of so many trials needs no fifth digit, and what is
// known of the listed places is carried from one decision to the next, at O(n) a place instead of
// O(n²).
const (
	manyWaiting = 8
	listed      = 500 // space-filling points
	listedNear  = 24  // points around the incumbent, at each scale
	relisted    = 64  // readings from one list of space-filling points to the next
)

// shortlist are the incumbent, points around it and space-filling points, which change as readings
// come in, so that in time every place is looked at. It depends on the readings and not on what
// waits: decisions made from the same readings share it.
type shortlist struct {
	*arms
	incumbent *Place
	turn      int
}

// shorten returns the shortlist of the next decision, nil where the search needs none: that of the
// prior state, if it is the same.
func (s *decision) shorten(prior *decision) *shortlist {
	if s.arms != nil || s.traits.LooksAtAll || s.sourceOf[0] < 0 {
		return nil
	}
	src := &s.sources[s.sourceOf[0]]
	if len(src.waiting) <= manyWaiting {
		return nil
	}
	list := &shortlist{turn: src.arrived / relisted, incumbent: s.around}
	if prior != nil && list.same(prior.shortlist) {
		return prior.shortlist
	}
	seed := s.cfg.DecisionSeed(list.turn)
	near := s.nearIncumbent(listedNear, seed)
	if list.incumbent != nil {
		near = append([][]float64{list.incumbent.U}, near...)
	}
	space := s.cfg.Space
	places := asPlaces(append(space.settled(near), space.allowed(s.cfg.overhanging(listed, seed), seed)...))
	if len(places) == 0 {
		return nil
	}
	list.arms = space.list(places)
	return list
}

func (l *shortlist) same(o *shortlist) bool {
	if o == nil || l.turn != o.turn || (l.incumbent == nil) != (o.incumbent == nil) {
		return false
	}
	return l.incumbent == nil || slices.Equal(l.incumbent.U, o.incumbent.U)
}

// Points around the incumbent lie at a few distances, from a fifth of the range down. A narrow peak
// beside the best point known is missed by points spread over the space.
const (
	farthest    = 0.2
	nearScales  = 5
	scaleFactor = 0.2
)

// nearStream keeps these draws apart from others of the same seed.
const nearStream = 0x6e656172

// nearIncumbent scatters points around the incumbent, if there is one, as many at each of several
// scales. Half of the coordinates stay as they are.
func (s *decision) nearIncumbent(each int, seed uint64) [][]float64 {
	if s.around == nil {
		return nil
	}
	random := rand.New(rand.NewPCG(seed, nearStream))
	var points [][]float64
	distance := farthest
	for range nearScales {
		for range each {
			u := slices.Clone(s.around.U)
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
