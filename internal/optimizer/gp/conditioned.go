package gp

import (
	"context"

	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
)

// Conditioned answers for posterior covariances with some fixed points, whose solutions it keeps:
// O(nM) memory.
type Conditioned struct {
	data   *Data
	points *kernel.Inputs
	solved [][]float64 // v(X_i)
}

// Conditioned solves for the points X, in O(n²) each. It reaches checkpoints on the way; the error
// is that of ctx.
func (d *Data) Conditioned(ctx context.Context, X *kernel.Inputs) (*Conditioned, error) {
	c := &Conditioned{data: d, points: X, solved: matrix(X.Len(), d.Len())}
	err := d.solveBlocks(ctx, X, func(i int, v []float64) { copy(c.solved[i], v) })
	return c, err
}

// Covariances returns the posterior covariance of the latent function at x and at each of the
// points, k(x, X_i) − v(x)ᵀ v(X_i). It costs O(n² + nM).
func (c *Conditioned) Covariances(x []float64) []float64 {
	v, covariances := c.data.Solve(x), make([]float64, c.points.Len())
	c.data.kernel.Row(covariances, x, c.points)
	for i := range covariances {
		covariances[i] -= factor.Dot(v, c.solved[i])
	}
	return covariances
}
