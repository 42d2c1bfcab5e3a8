package optimizer

import (
	"context"
	"slices"
	"sync"

	"headroom/internal/optimizer/gp"
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

// onArms tells whether every place is a candidate.
func onArms(at []Place) bool {
	return !slices.ContainsFunc(at, func(p Place) bool { return p.Arm < 0 })
}

// mostKept is how many numbers are kept at most of a list's solutions, or of the posterior over all of them: 64 MB. Beyond it the places
// are solved for at every decision.
const mostKept = 8 << 20

// solutions keeps the solutions of a list of places for the rows of a regression as far as they have been asked for.
type solutions struct {
	mu    sync.Mutex
	fixed *gp.Fixed
}

// of returns the solutions for the first rows of the regression, data. Callers that ask at the same time may do the same work.
func (c *solutions) of(ctx context.Context, points *kernel.Inputs, data *gp.Data) (*gp.Fixed, error) {
	fixed := c.upTo(data.Len())
	if fixed == nil || fixed.Points() != points {
		fixed = gp.NewFixed(points)
	}
	fixed, err := fixed.Extend(ctx, data)
	if err == nil {
		c.keep(fixed)
	}
	return fixed, err
}

// upTo is what is kept of the first n rows, nil for nothing.
func (c *solutions) upTo(n int) *gp.Fixed {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fixed == nil {
		return nil
	}
	return c.fixed.Prefix(min(n, c.fixed.Len()))
}

// keep takes what has been worked out, unless more is kept of the same points.
func (c *solutions) keep(fixed *gp.Fixed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fixed == nil || fixed.Len() > c.fixed.Len() || fixed.Points() != c.fixed.Points() {
		c.fixed = fixed
	}
}
