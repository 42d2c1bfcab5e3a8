package optimizer

import (
	"math"

	"headroom/internal/optimizer/search"
)

// designTries bounds how many points of the sequence are tried for one that the input constraints
// allow.
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

// designPoint is the point of the sequence whose turn it is: with arms as it comes, elsewhere the
// one that is allowed.
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

// nearestFreshArm is the arm nearest to u: among those that keep a rule and have not been tried, or
// are not spent, or are, and only then among the others.
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
