package optimizer

import (
	"headroom/internal/optimizer/kernel"
)

// arms are places as the regressions see them: the candidates, or those of a shortlist.
type arms struct {
	places            []Place
	features, indices *kernel.Inputs
}

// newArms lists the candidates, nil on a continuous space.
func (s Space) newArms() *arms {
	if s.Arms == nil {
		return nil
	}
	return s.list(s.places())
}

func (s Space) list(places []Place) *arms {
	a := &arms{places: places, features: kernel.NewInputs(s.width()), indices: kernel.NewInputs(1)}
	for _, p := range places {
		a.features.Append(s.features(p.U))
		a.indices.Append([]float64{float64(p.Arm)})
	}
	return a
}

// inputs are the candidates as a kernel sees them.
func (a *arms) inputs(k Kernel) *kernel.Inputs {
	if k.Name == "covariance" {
		return a.indices
	}
	return a.features
}

// everyArm tells whether the places are all candidates in their order.
func (s *study) everyArm(at []Place) bool {
	if s.arms == nil || len(at) != len(s.arms.places) {
		return false
	}
	for i, p := range at {
		if p.Arm != i {
			return false
		}
	}
	return true
}

// listOf is the list that the places are, all of it and in its order: the candidates, the shortlist or nil.
func (v *view) listOf(at []Place) *arms {
	switch short := v.shortlist; {
	case v.everyArm(at):
		return v.arms
	case short != nil && len(at) == len(short.places) && &at[0] == &short.places[0]:
		return short.arms
	}
	return nil
}
