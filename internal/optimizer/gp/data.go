// Package gp regresses a function on noisy readings with a Gaussian process of prior mean 0.
//
// For points X, readings y with noise variances Λ = diag(λ), and prior covariance k, with K = k(X,
// X) and L Lᵀ = K + Λ:
//
//	z = L⁻¹ y,   v(x) = L⁻¹ k(X, x)
//	mean(x) = v(x)ᵀ z,   variance(x) = k(x, x) − v(x)ᵀ v(x)
//	information gain = ½ ln det(I + Λ^{−½} K Λ^{−½}) = Σ ln L_ss − ½ Σ ln λ_s
//
// (Rasmussen & Williams, Gaussian Processes for Machine Learning, algorithm 2.1). Variances are
// those of the latent function, without noise. Because row s of L knows only the points before it,
// one factor holds the posterior of every round at once.
package gp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
)

// Data are the points that condition a posterior, in the order their readings arrived, with their
// noise and one factor L. Readings themselves are kept outside, as z, so that metrics with the same
// points share one Data. Reading is safe for many goroutines, changing one Data is not; a prefix
// never changes.
type Data struct {
	kernel *kernel.Function
	inputs *kernel.Inputs
	noise  []float64 // λ_s
	gains  []float64 // information gain of the first s+1 points, nats
	factor *factor.Cholesky
}

// NewData returns no points, of p input coordinates each, as many as the kernel takes.
func NewData(k *kernel.Function, p int) *Data {
	if p != k.Coordinates() {
		panic(fmt.Sprintf("gp: points of %d coordinates for a kernel that takes %d", p, k.Coordinates()))
	}
	return &Data{kernel: k, inputs: kernel.NewInputs(p), factor: new(factor.Cholesky)}
}

// Len is the number n of points.
func (d *Data) Len() int { return d.inputs.Len() }

// Inputs are the points, to be read only.
func (d *Data) Inputs() *kernel.Inputs { return d.inputs }

// Kernel is the prior covariance.
func (d *Data) Kernel() *kernel.Function { return d.kernel }

// Noise returns λ_i of point i.
func (d *Data) Noise(i int) float64 { return d.noise[i] }

// Factor is L, to be read only.
func (d *Data) Factor() *factor.Cholesky { return d.factor }

// Append adds a point whose reading has noise variance lambda > 0. It costs O(n²). On an error d is
// unchanged.
func (d *Data) Append(x []float64, lambda float64) error {
	return d.AppendAll(context.Background(), [][]float64{x}, []float64{lambda})
}

// AppendAll adds points in order, to the same bits as Append does one by one, but faster and on all
// cores. It reaches checkpoints on the way. The error is that of ctx, or says which point cannot be
// used and why; d is then unchanged.
func (d *Data) AppendAll(ctx context.Context, xs [][]float64, lambdas []float64) error {
	return d.AppendKept(ctx, xs, lambdas, nil)
}

// AppendKept is AppendAll, which takes up the rows of the first points, where there are none yet,
// from what was kept of them.
func (d *Data) AppendKept(ctx context.Context, xs [][]float64, lambdas []float64, kept *Kept) error {
	if len(xs) != len(lambdas) {
		return fmt.Errorf("%d points have %d noise variances", len(xs), len(lambdas))
	}
	n := d.Len()
	for i, x := range xs {
		if err := d.check(x, lambdas[i]); err != nil {
			return fmt.Errorf("point %d: %w", n+i+1, err)
		}
	}
	grown := d.Prefix(n)
	taken := grown.takeUp(kept, xs, lambdas)
	n, xs, lambdas = n+taken, xs[taken:], lambdas[taken:]
	work := checkpoint.NewMeter(ctx)
	for i := 0; i < len(xs); i += rowsAtOnce {
		until := min(len(xs), i+rowsAtOnce)
		if err := grown.appendRows(ctx, work, xs[i:until], lambdas[i:until]); err != nil {
			return err
		}
	}
	grown.noise = append(grown.noise, lambdas...)
	grown.addGains(n)
	*d = *grown
	return nil
}

// rowsAtOnce is how many rows of K + Λ there are at a time beside the factor, which thousands of
// points fill with hundreds of megabytes already.
const rowsAtOnce = 384

// appendRows adds points, with a row each, to inputs and factor.
func (d *Data) appendRows(ctx context.Context, work *checkpoint.Meter, xs [][]float64, lambdas []float64) error {
	n := d.Len()
	rows := factor.Triangle(n, len(xs))
	for i, x := range xs {
		d.inputs.Append(x)
		d.kernel.Row(rows[i], x, d.inputs)
		rows[i][n+i] += lambdas[i]
		if err := work.Spend(kernelWork * (n + i)); err != nil {
			return err
		}
	}
	err := d.factor.Adopt(ctx, rows)
	if errors.Is(err, factor.ErrNotPositiveDefinite) {
		return fmt.Errorf("the kernel and noise variances of the points do not fit together; a larger noise variance helps: %w", err)
	}
	return err
}

func (d *Data) check(x []float64, lambda float64) error {
	if err := d.kernel.Check(x); err != nil {
		return err
	}
	if !(lambda > 0) || math.IsInf(lambda, 1) {
		return fmt.Errorf("its noise variance is %g; it must be a positive number", lambda)
	}
	return nil
}

// addGains works out the information gains from point from on.
func (d *Data) addGains(from int) {
	gain := d.Gain(from)
	for i := from; i < d.Len(); i++ {
		gain += math.Log(d.factor.Row(i)[i]) - 0.5*math.Log(d.Noise(i))
		d.gains = append(d.gains, gain)
	}
}

// Prefix returns the first n points, sharing memory with d, at no cost. It may be appended to: d
// does not notice.
func (d *Data) Prefix(n int) *Data {
	return &Data{d.kernel, d.inputs.Prefix(n), d.noise[:n:n], d.gains[:n:n], d.factor.Prefix(n)}
}

// Clone returns the same points as a Data that can be changed without d noticing, at no cost.
func (d *Data) Clone() *Data { return d.Prefix(d.Len()) }

// DropFirst removes the oldest point in O(n²), for sliding windows. Prefixes taken before keep it.
func (d *Data) DropFirst() {
	n := d.Len()
	d.inputs, d.noise, d.gains = d.inputs.Slice(1, n), d.noise[1:n:n], nil
	d.factor.DropFirst()
	d.addGains(0)
}

// Gain returns the information gain of the first n points, in nats.
func (d *Data) Gain(n int) float64 {
	if n == 0 {
		return 0
	}
	return d.gains[n-1]
}

// Whiten returns z = L⁻¹ y for the first len(y) points. When z already holds the first entries of
// the answer, only the rest is worked out, in O(n) an entry and to the same bits; z itself is left
// as it is.
func (d *Data) Whiten(z, y []float64) []float64 {
	whole := make([]float64, len(y))
	copy(whole, z)
	d.factor.SolveLowerFrom(whole, y, len(z))
	return whole
}

// AheadMean returns the mean predicted for point i from the points before it, Σ_{s<i} L_is z_s; z
// may be shorter than i, the points after its end then having no reading.
func (d *Data) AheadMean(i int, z []float64) float64 {
	return factor.Dot(z[:min(i, len(z))], d.factor.Row(i))
}

// AheadVariance returns the latent variance predicted for point i from the points before it, L_ii²
// − λ_i. It is worked out as k(x_i, x_i) − Σ_{s<i} L_is², which does not cancel and has the bits of
// Predict on the first i points.
func (d *Data) AheadVariance(i int) float64 {
	return d.variance(d.inputs.Row(i), d.factor.Row(i)[:i])
}
