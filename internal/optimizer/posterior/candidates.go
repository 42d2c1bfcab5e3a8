package posterior

import (
	"context"
	"math"

	"headroom/internal/lists"
	"headroom/internal/optimizer/gp"
)

// Candidates is the posterior over all candidates, or, at a decision that is long past, what was
// noted of the one that it chose.
type Candidates struct {
	Arms     *gp.Arms // from the readings; nil at a decision long past
	Narrowed *gp.Arms // with the points that wait
	Noted    *Noted   // in place of them; nil for a present decision
	Waiting  bool     // whether points wait
	// ByRows regresses the readings by the rows of a factor, for what is asked beyond the
	// candidates.
	ByRows func(context.Context) (*Rows, error)
}

// Noted is what a decision expected at its own round's place.
type Noted struct {
	Round              int
	Gain               float64
	Means              []float64
	Variance, Narrowed float64 // narrowed by points that wait; NaN where nothing needs it
}

// Gain is γ of the readings.
func (c *Candidates) Gain() float64 {
	if c.Noted != nil {
		return c.Noted.Gain
	}
	return c.Arms.Gain()
}

// Rows is the same posterior by the rows of a factor.
func (c *Candidates) Rows(ctx context.Context) (*Rows, error) { return c.ByRows(ctx) }

// Predict predicts the functions at points.
func (c *Candidates) Predict(ctx context.Context, at Points, beside *Reference) (p Prediction, err error) {
	if c.Arms == nil || at.Arms == nil {
		rows, err := c.ByRows(ctx)
		if err != nil {
			return p, err
		}
		return rows.Predict(ctx, at, beside)
	}
	if p.Means, err = c.Means(ctx, at); err != nil {
		return p, err
	}
	p.Variances = pick(c.Narrowed.Variances(), at.Arms)
	if beside != nil {
		p.Together = pick(c.Narrowed.Covariances(beside.arm), at.Arms)
	}
	return p, nil
}

// Means are those of every function alone.
func (c *Candidates) Means(ctx context.Context, at Points) ([][]float64, error) {
	if c.Arms == nil || at.Arms == nil {
		rows, err := c.ByRows(ctx)
		if err != nil {
			return nil, err
		}
		return rows.Means(ctx, at)
	}
	return lists.Map(c.Arms.Means(), func(means []float64) []float64 { return pick(means, at.Arms) }), nil
}

// Played is what was noted of the round.
func (c *Candidates) Played(round int) (p Prediction, known bool) {
	n := c.Noted
	if n == nil || n.Round != round || c.Waiting && math.IsNaN(n.Narrowed) {
		return p, false
	}
	p.Variances = []float64{n.Variance}
	if c.Waiting {
		p.Variances[0] = n.Narrowed
	}
	p.Means = lists.Map(n.Means, func(mean float64) []float64 { return []float64{mean} })
	return p, true
}

// Covariances prepares those of one point with some others.
func (c *Candidates) Covariances(ctx context.Context, at Points, among []int) (func(x int) []float64, error) {
	if c.Arms == nil || at.Arms == nil {
		rows, err := c.ByRows(ctx)
		if err != nil {
			return nil, err
		}
		return rows.Covariances(ctx, at, among)
	}
	arms := pick(at.Arms, among)
	return func(x int) []float64 { return pick(c.Narrowed.Covariances(at.Arms[x]), arms) }, nil
}

// Refer makes the first point one to compare others with.
func (c *Candidates) Refer(x Points) *Reference { return &Reference{Inputs: x.Inputs, arm: x.Arms[0]} }

// pick are the values with these indices.
func pick[T any](from []T, indices []int) []T {
	return lists.Map(indices, func(n int) T { return from[n] })
}
