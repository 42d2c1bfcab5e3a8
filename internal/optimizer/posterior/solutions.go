package posterior

import (
	"context"
	"sync"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// Solutions keeps the solutions of a list of points, and the variances at the readings' own points,
// for the rows of a regression as far as they have been asked for.
type Solutions struct {
	mu    sync.Mutex
	fixed *gp.Fixed
	own   *gp.Own
}

// of returns the solutions for all rows of data. Callers that ask at the same time may do the same
// work.
func (c *Solutions) of(ctx context.Context, points *kernel.Inputs, data *gp.Data) (*gp.Fixed, error) {
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

// ofOwn returns the variances at the points of all rows of data. Callers that ask at the same time
// may do the same work.
func (c *Solutions) ofOwn(ctx context.Context, data *gp.Data) (*gp.Own, error) {
	own, err := c.ownUpTo(data.Len()).Extend(ctx, data)
	if err == nil {
		c.keepOwn(own)
	}
	return own, err
}

// Take takes over what another keeps of the first n rows.
func (c *Solutions) Take(from *Solutions, n int) {
	c.keep(from.upTo(n))
	c.keepOwn(from.ownUpTo(n))
}

// upTo is what is kept of the first n rows, nil for nothing.
func (c *Solutions) upTo(n int) *gp.Fixed {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fixed == nil {
		return nil
	}
	return c.fixed.Prefix(min(n, c.fixed.Len()))
}

// keep takes what has been worked out, unless more is kept of the same points.
func (c *Solutions) keep(fixed *gp.Fixed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fixed != nil && (c.fixed == nil || fixed.Len() > c.fixed.Len() || fixed.Points() != c.fixed.Points()) {
		c.fixed = fixed
	}
}

// ownUpTo is what is kept of the points of the first n rows.
func (c *Solutions) ownUpTo(n int) *gp.Own {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own == nil {
		return new(gp.Own)
	}
	return c.own.Prefix(n)
}

// keepOwn takes what has been worked out, unless more is kept.
func (c *Solutions) keepOwn(own *gp.Own) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own.Len() > 0 && (c.own == nil || own.Len() > c.own.Len()) {
		c.own = own
	}
}
