package optimizer

import (
	"context"
	"slices"
	"sync"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// arms are the candidates as the regressions see them, nil on a continuous space.
type arms struct {
	places            []Place
	features, indices *kernel.Inputs
}

// newArms lists the candidates.
func (s Space) newArms() *arms {
	if s.Arms == nil {
		return nil
	}
	a := &arms{places: s.places(), features: kernel.NewInputs(s.width()), indices: kernel.NewInputs(1)}
	for i, u := range s.Arms {
		a.features.Append(s.features(u))
		a.indices.Append([]float64{float64(i)})
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
func (s *State) everyArm(at []Place) bool {
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

// onArms tells whether every place is a candidate.
func onArms(at []Place) bool {
	return !slices.ContainsFunc(at, func(p Place) bool { return p.Arm < 0 })
}

// mostKept is how many numbers are kept at most of the candidates' solutions, or of the posterior over all of them: 64 MB. Beyond it the candidates
// are solved for at every decision.
const mostKept = 8 << 20

// solutions keeps the candidates' solutions for the rows of a regression as far as they have been asked for.
type solutions struct {
	mu    sync.Mutex
	fixed *gp.Fixed
}

// of returns the solutions for the first rows of the regression, data. Callers that ask at the same time may do the same work.
func (c *solutions) of(ctx context.Context, points *kernel.Inputs, data *gp.Data) (*gp.Fixed, error) {
	fixed := c.upTo(data.Len())
	if fixed == nil {
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

func (c *solutions) keep(fixed *gp.Fixed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fixed == nil || fixed.Len() > c.fixed.Len() {
		c.fixed = fixed
	}
}
