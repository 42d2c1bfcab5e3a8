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
//
// What takes a context reaches checkpoints on the way; its error is the context's unless it is said
// to be another.
package gp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
)

// Data are the points that condition a posterior, in the order their readings arrived, with their
// noise and one factor L. The readings are kept outside, as z, so that metrics with the same points
// share one Data. Reading is safe for concurrent use, changing one Data is not; a prefix never
// changes.
type Data struct {
	kernel *kernel.Function
	inputs *kernel.Inputs
	noise  []float64 // λ_s
	gains  []float64 // information gain of the first s+1 points, nats
	factor *factor.Cholesky
}

// NewData returns no points, of as many input coordinates as the kernel takes.
func NewData(k *kernel.Function) *Data {
	return &Data{kernel: k, inputs: kernel.NewInputs(k.Coordinates()), factor: new(factor.Cholesky)}
}

// Len is the number n of points.
func (d *Data) Len() int { return d.inputs.Len() }

// Inputs are the points, to be read only.
func (d *Data) Inputs() *kernel.Inputs { return d.inputs }

// Kernel is the prior covariance.
func (d *Data) Kernel() *kernel.Function { return d.kernel }

// Factor is L, to be read only.
func (d *Data) Factor() *factor.Cholesky { return d.factor }

// Append adds a point whose reading has noise variance lambda > 0. It costs O(n²). On an error d is
// unchanged.
func (d *Data) Append(x []float64, lambda float64) error {
	return d.AppendAll(context.Background(), [][]float64{x}, []float64{lambda}, nil)
}

// AppendAll adds points in order, to the same bits as Append one by one, but faster and on all
// cores. If d is empty, the rows of the first points are taken from kept. It reaches checkpoints.
// The error is that of ctx, or says which point cannot be used and why; d is then unchanged.
func (d *Data) AppendAll(ctx context.Context, xs [][]float64, lambdas []float64, kept *Kept) error {
	n := d.Len()
	for i, x := range xs {
		if err := d.check(x, lambdas[i]); err != nil {
			return fmt.Errorf("point %d: %w", n+i+1, err)
		}
	}
	grown := d.Prefix(n)
	taken := grown.takeUp(kept, xs, lambdas)
	n, xs, lambdas = n+taken, xs[taken:], lambdas[taken:]
	for i := 0; i < len(xs); i += rowsAtOnce {
		until := min(len(xs), i+rowsAtOnce)
		if err := grown.appendRows(ctx, xs[i:until], lambdas[i:until]); err != nil {
			return err
		}
	}
	grown.noise = append(grown.noise, lambdas...)
	grown.addGains(n)
	*d = *grown
	return nil
}

// rowsAtOnce is how many rows of K + Λ are in memory at a time beside the factor, which alone fills
// hundreds of megabytes for thousands of points.
const rowsAtOnce = 384

// appendRows adds points, with a row each, to inputs and factor.
func (d *Data) appendRows(ctx context.Context, xs [][]float64, lambdas []float64) error {
	n := d.Len()
	rows := factor.Triangle(n, len(xs))
	for _, x := range xs {
		d.inputs.Append(x)
	}
	if err := checkpoint.Reach(ctx); err != nil {
		return err
	}
	_ = cores.Each(len(xs), func(i int) error {
		d.kernel.Row(rows[i], xs[i], d.inputs.Prefix(n+i+1))
		rows[i][n+i] += lambdas[i]
		return nil
	})
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

// addGains computes the information gains from point from on.
func (d *Data) addGains(from int) {
	gain := d.Gain(from)
	for i := from; i < d.Len(); i++ {
		gain += math.Log(d.factor.Row(i)[i]) - 0.5*math.Log(d.noise[i])
		d.gains = append(d.gains, gain)
	}
}

// Prefix returns the first n points, sharing memory with d, at no cost. Appending to it does not
// change d.
func (d *Data) Prefix(n int) *Data {
	return &Data{d.kernel, d.inputs.Prefix(n), d.noise[:n:n], d.gains[:n:n], d.factor.Prefix(n)}
}

// Clone returns the same points, sharing memory with d, at no cost. Changing it does not change d.
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

// Whiten returns z = L⁻¹ y for the first len(y) points. If z holds the first entries of the answer,
// only the rest is computed, in O(n) an entry and to the same bits; z itself is not changed.
func (d *Data) Whiten(z, y []float64) []float64 {
	whole := make([]float64, len(y))
	copy(whole, z)
	d.factor.SolveLowerFrom(whole, y, len(z))
	return whole
}

// AheadMean returns the mean predicted for point i from the points before it, Σ_{s<i} L_is z_s. If
// z is shorter than i, the points after its end have no reading.
func (d *Data) AheadMean(i int, z []float64) float64 {
	return factor.Dot(z[:min(i, len(z))], d.factor.Row(i))
}

// AheadVariance returns the latent variance predicted for point i from the points before it, L_ii²
// − λ_i. It is computed as k(x_i, x_i) − Σ_{s<i} L_is², which does not cancel and has the bits of
// PredictMany on the first i points.
func (d *Data) AheadVariance(i int) float64 {
	return d.variance(d.inputs.Row(i), d.factor.Row(i)[:i])
}

// In this file every z is L⁻¹y of one response. Points after the end of a z have no reading: like
// pending trials, they reduce the variance and leave the mean unchanged.

// blockPoints is how many points are predicted at a time; with 1000 data their solutions fill a
// megabyte.
const blockPoints = 96

// kernelWork is the work of one covariance, in multiplications of a solve.
const kernelWork = 20

// Solve returns v(x) = L⁻¹k(X, x) in O(n²). The posterior covariance of the latent function at x
// and x′ is k(x, x′) − v(x)ᵀv(x′); with v(x) for a z, v(x′)ᵀv(x) is a mean at x′.
func (d *Data) Solve(x []float64) []float64 {
	v := make([]float64, d.Len())
	d.kernel.Row(v, x, d.inputs)
	d.factor.SolveLower(v, v)
	return v
}

// variance is k(x,x) − vᵀv, at least 0. It never rises with more data: these add terms to vᵀv, and
// rounding is monotone.
func (d *Data) variance(x, v []float64) float64 {
	return max(0, d.kernel.Diagonal(x)-factor.Dot(v, v))
}

// PredictMany returns the posterior means, one slice per response, and the latent variances at the
// points X, to the same bits as at each of them alone. It costs O(n²) a point, on all cores.
func (d *Data) PredictMany(ctx context.Context, X *kernel.Inputs, zs [][]float64) (means [][]float64, variances []float64, err error) {
	means, variances = factor.Matrix(len(zs), X.Len()), make([]float64, X.Len())
	err = d.solveShared(ctx, X, func(i int, v []float64) {
		for r, z := range zs {
			means[r][i] = factor.Dot(z, v)
		}
		variances[i] = d.variance(X.Row(i), v)
	})
	return means, variances, err
}

// OwnMeans returns the posterior means at the data's own points, one slice per response, given its
// z and Weights. It costs O(n²) a response, without a covariance,
//
//	K (K + Λ)⁻¹y = y − Λ (K + Λ)⁻¹y,   y = L z,
//
// and agrees with PredictMany to rounding.
func (d *Data) OwnMeans(ctx context.Context, zs, weights [][]float64) ([][]float64, error) {
	work, means := checkpoint.NewMeter(ctx), factor.Matrix(len(zs), d.Len())
	for i := range d.Len() {
		row := d.factor.Row(i)[:i+1]
		for r, z := range zs {
			means[r][i] = factor.Dot(z[:min(len(z), len(row))], row) - d.noise[i]*weights[r][i]
		}
		if err := work.Spend(len(zs) * len(row)); err != nil {
			return nil, err
		}
	}
	return means, nil
}

// solveBlocks calls use with v(X_i) for each point in turn; v is overwritten afterwards.
func (d *Data) solveBlocks(ctx context.Context, X *kernel.Inputs, use func(i int, v []float64)) error {
	work := checkpoint.NewMeter(ctx)
	block := factor.Matrix(min(blockPoints, X.Len()), d.Len())
	for first := 0; first < X.Len(); first += blockPoints {
		block = block[:min(blockPoints, X.Len()-first)]
		for i, v := range block {
			d.kernel.Row(v, X.Row(first+i), d.inputs)
			if err := work.Spend(kernelWork * d.Len()); err != nil {
				return err
			}
		}
		if err := d.factor.SolveLowerMany(ctx, block); err != nil {
			return err
		}
		for i, v := range block {
			use(first+i, v)
		}
	}
	return nil
}

// solveShared is solveBlocks on all cores; use may be called concurrently for different points.
func (d *Data) solveShared(ctx context.Context, X *kernel.Inputs, use func(i int, v []float64)) error {
	return stretches(X.Len(), d.Len()*(kernelWork+d.Len()/2), func(from, to int) error {
		return d.solveBlocks(ctx, X.Slice(from, to), func(i int, v []float64) { use(from+i, v) })
	})
}

// littleWork is the number of multiplications up to which work stays on one core.
const littleWork = 1_000_000

// stretches calls do for all of so many points, on all cores where their work, in multiplications
// each, is much. Points are independent, so the result is the same to the last bit.
func stretches(points, work int, do func(from, to int) error) error {
	if points*work < littleWork {
		return do(0, points)
	}
	return cores.Stretches(points, do)
}

// MeanMany returns the posterior means, one slice per response, given its Weights, at the points X
// in O(n) a point, on all cores. They agree with PredictMany to rounding.
func (d *Data) MeanMany(ctx context.Context, X *kernel.Inputs, weights [][]float64) ([][]float64, error) {
	cut := lists.Map(weights, func(w []float64) []float64 { return w[:wholeLanes(d.Len())] })
	return Sums(ctx, d.kernel, d.inputs, X, cut)
}

// Sums returns Σ_s w_s k(x, X_s) at the points x, one slice per list of weights. All lists have one
// length and may end in zeros beyond X. Costs and error are those of MeanMany.
func Sums(ctx context.Context, k *kernel.Function, X, at *kernel.Inputs, weights [][]float64) ([][]float64, error) {
	const height = 4
	sums := factor.Matrix(len(weights), at.Len())
	if len(weights) == 0 {
		return sums, nil
	}
	width := len(weights[0])
	return sums, stretches(at.Len(), kernelWork*width, func(from, to int) error {
		work, rows, some := checkpoint.NewMeter(ctx), factor.Matrix(min(height, to-from), width), make([][]float64, len(weights))
		for i := from; i < to; i += height {
			rows = rows[:min(height, to-i)]
			for n, row := range rows {
				k.Row(row, at.Row(i+n), X)
			}
			for r := range some {
				some[r] = sums[r][i:]
			}
			factor.Products(some, rows, weights)
			if err := work.Spend(len(rows) * (kernelWork + len(weights)) * width); err != nil {
				return err
			}
		}
		return nil
	})
}

// Weights returns (K + Λ)⁻¹y = L⁻ᵀz for each z, so that the mean at x is k(x, X) (K + Λ)⁻¹y, with
// zeros at the end that fill whole lanes. It costs O(n²) each.
func (d *Data) Weights(ctx context.Context, zs [][]float64) ([][]float64, error) {
	weights, solved := factor.Matrix(len(zs), wholeLanes(d.Len())), make([][]float64, len(zs))
	for r, z := range zs {
		copy(weights[r], z)
		solved[r] = weights[r][:d.Len()]
	}
	return weights, d.factor.SolveUpperMany(ctx, solved)
}

// wholeLanes is n rounded up to whole lanes of a sum: zeros at the end change no sum, and whole
// lanes are summed faster.
func wholeLanes(n int) int { return (n + 3) &^ 3 }

// Predictions are the posterior at some points, with what its gradients are computed from.
type Predictions struct {
	Means     [][]float64 // per response and point
	Variances []float64

	solved [][]float64 // v(x), per point
}

// NewPredictions has room for the posterior of some responses at some points, from so many data.
func NewPredictions(responses, points, data int) Predictions {
	return Predictions{factor.Matrix(responses, points), make([]float64, points), factor.Matrix(points, data)}
}

// Part are the predictions at points from to to−1, in the same memory.
func (in Predictions) Part(from, to int) Predictions {
	means := lists.Map(in.Means, func(means []float64) []float64 { return means[from:to] })
	return Predictions{means, in.Variances[from:to], in.solved[from:to]}
}

// Of are the predictions at some of the points.
func (in Predictions) Of(points []int) Predictions {
	of := Predictions{Means: factor.Matrix(len(in.Means), len(points))}
	for n, i := range points {
		of.Variances, of.solved = append(of.Variances, in.Variances[i]), append(of.solved, in.solved[i])
		for r, means := range in.Means {
			of.Means[r][n] = means[i]
		}
	}
	return of
}

// PredictInto writes the posterior at the points X to out, to the same bits as PredictMany, in
// O(n²) a point.
func (d *Data) PredictInto(ctx context.Context, out Predictions, X *kernel.Inputs, zs [][]float64) error {
	for i, v := range out.solved {
		d.kernel.Row(v, X.Row(i), d.inputs)
	}
	if err := d.factor.SolveLowerMany(ctx, out.solved); err != nil {
		return err
	}
	for i, v := range out.solved {
		for r, z := range zs {
			out.Means[r][i] = factor.Dot(z, v)
		}
		out.Variances[i] = d.variance(X.Row(i), v)
	}
	return nil
}

// Gradients are the gradients of a posterior by the coordinates of each point.
type Gradients struct {
	Means     [][][]float64 // per point, response and coordinate
	Variances [][]float64   // per point and coordinate
}

// NewGradients has room for the gradients at so many points.
func NewGradients(points int) Gradients {
	return Gradients{make([][][]float64, points), make([][]float64, points)}
}

// Part are the gradients at points from to to−1, in the same memory.
func (g Gradients) Part(from, to int) Gradients {
	return Gradients{g.Means[from:to], g.Variances[from:to]}
}

// GradientsInto writes to out the gradients at the points X,
//
//	∂mean/∂x = Σ_s (L⁻ᵀz)_s ∂k(x, X_s)/∂x,   ∂variance/∂x = −2 Σ_s (L⁻ᵀv(x))_s ∂k(x, X_s)/∂x,
//
// given the predictions there, which it overwrites, and the Weights of each z. The kernel must be
// stationary and d not empty. Costs and error are those of PredictInto.
func (d *Data) GradientsInto(ctx context.Context, out Gradients, X *kernel.Inputs, at Predictions, weights [][]float64) error {
	if err := d.factor.SolveUpperMany(ctx, at.solved); err != nil {
		return err
	}
	all, responses := make([][]float64, len(weights)+1), len(weights)
	for r, w := range weights {
		all[r] = w[:d.Len()]
	}
	for i, w := range at.solved {
		gradients := factor.Matrix(len(all), X.Coordinates())
		all[responses] = w
		d.kernel.Gradients(gradients, X.Row(i), d.inputs, all)
		out.Means[i], out.Variances[i] = gradients[:responses], gradients[responses]
		for c := range out.Variances[i] {
			out.Variances[i][c] *= -2
		}
	}
	return nil
}

// Covariance returns the joint posterior covariance of the latent function at the M points X as the
// lower triangle of an M×M matrix: row i has i+1 entries. It costs O(n²M + nM²).
func (d *Data) Covariance(ctx context.Context, X *kernel.Inputs) ([][]float64, error) {
	solved, err := d.Solved(ctx, X)
	if err != nil {
		return nil, err
	}
	return d.CovarianceFrom(ctx, X, solved)
}

// Solved returns v(x) = L⁻¹ k(X, x) of the M points X, a row each, with zeros at the end that fill
// whole lanes. It costs O(n²M); checkpoints and error are those of Covariance.
func (d *Data) Solved(ctx context.Context, X *kernel.Inputs) ([][]float64, error) {
	solved := factor.Matrix(X.Len(), wholeLanes(d.Len()))
	return solved, d.solveShared(ctx, X, func(i int, v []float64) { copy(solved[i], v) })
}

// CovarianceFrom is Covariance given the result of Solved, in O(nM²).
func (d *Data) CovarianceFrom(ctx context.Context, X *kernel.Inputs, solved [][]float64) ([][]float64, error) {
	posterior := factor.Triangle(0, X.Len())
	if err := factor.Gram(ctx, posterior, solved); err != nil {
		return nil, err
	}
	shares := cores.Count()
	return posterior, cores.Each(shares, func(share int) error { return d.leave(checkpoint.NewMeter(ctx), posterior, X, share, shares) })
}

// leave turns vᵀv into the posterior covariance, in the rows first, first + stride, first + 2
// stride, ….
func (d *Data) leave(work *checkpoint.Meter, explained [][]float64, X *kernel.Inputs, first, stride int) error {
	prior := make([]float64, X.Len())
	for i := first; i < X.Len(); i += stride {
		row := explained[i]
		d.kernel.Row(prior[:i+1], X.Row(i), X.Prefix(i+1))
		for j, v := range row {
			row[j] = prior[j] - v
		}
		row[i] = max(0, row[i])
		if err := work.Spend(kernelWork * (i + 1)); err != nil {
			return err
		}
	}
	return nil
}

// OwnVariances are the latent variances at the data's own points, at O(n²) a reading and n numbers.
// With a_i = k(x_i, x_i) − Σ_{s<i} L_is², the variance there given the points before,
//
//	v(x_i) = Lᵀe_i − λ_i L⁻¹e_i,   so   variance(x_i) = λ_i a_i/L_ii² − Σ_{s>i} (λ_i (L⁻¹)_si)²,
//
// and each row of L⁻¹ subtracts a term from the variances of the points before it. They are
// immutable. The zero value has no data.
type OwnVariances struct {
	variances []float64
	earlier   [][]float64 // of the first block of points, of two, …: n²/24 bytes in all
}

// Len is the number n of data.
func (o *OwnVariances) Len() int { return len(o.variances) }

// Prefix returns the variances given the first n data, or given up to a block fewer.
func (o *OwnVariances) Prefix(n int) *OwnVariances {
	blocks := n / blockPoints
	switch {
	case n >= o.Len():
		return o
	case blocks == 0:
		return new(OwnVariances)
	}
	return &OwnVariances{o.earlier[blocks-1], o.earlier[:blocks:blocks]}
}

// Variance returns the latent variance at point i. It agrees with PredictMany to rounding, and
// never rises.
func (o *OwnVariances) Variance(i int) float64 { return max(0, o.variances[i]) }

// Extend returns the variances for d, of which o has a prefix, to the same bits whatever its
// length. It costs O(n²) a point.
func (o *OwnVariances) Extend(ctx context.Context, d *Data) (*OwnVariances, error) {
	grown, n := &OwnVariances{slices.Clone(o.variances), slices.Clip(o.earlier)}, d.Len()
	for s := o.Len(); s < n; s++ {
		L := d.factor.Row(s)[s]
		grown.variances = append(grown.variances, d.noise[s]*d.AheadVariance(s)/(L*L))
	}
	work, rows := checkpoint.NewMeter(ctx), factor.Matrix(min(n-o.Len(), blockPoints), n)
	for first := o.Len(); first < n; {
		last := min(n, first-first%blockPoints+blockPoints)
		some := rows[:last-first]
		if err := d.inverse(ctx, some, first); err != nil {
			return nil, err
		}
		for r, row := range some {
			grown.narrow(d.noise, row[:first+r])
		}
		if last%blockPoints == 0 {
			grown.earlier = append(grown.earlier, slices.Clone(grown.variances[:last]))
		}
		if err := work.Spend(len(some) * last); err != nil {
			return nil, err
		}
		first = last
	}
	return grown, nil
}

// narrow subtracts the terms of one row of L⁻¹, up to its diagonal.
func (o *OwnVariances) narrow(noise, row []float64) {
	for i, x := range row {
		o.variances[i] -= (noise[i] * x) * (noise[i] * x)
	}
}

// inverse writes rows first, first + 1, … of L⁻¹, each L⁻ᵀe_s up to its diagonal, and 0 after it.
func (d *Data) inverse(ctx context.Context, rows [][]float64, first int) error {
	for r, row := range rows {
		clear(row)
		row[first+r] = 1
	}
	return cores.Stretches(len(rows), func(from, to int) error {
		return d.factor.SolveUpperMany(ctx, lists.Of(to-from, func(r int) []float64 { return rows[from+r][:first+to] }))
	})
}

// Fixed keeps the solutions v(X_i) at M fixed points, so that their posterior costs O(nM) after a
// reading instead of O(n²M), to the same bits. It takes 8nM bytes. Fixed is immutable; what is made
// from it shares its rows.
type Fixed struct {
	points  *kernel.Inputs
	rows    [][]float64  // row s holds v_s of every point
	squares *factor.Sums // Σ_s v_s²
}

// NewFixed returns the points without data.
func NewFixed(points *kernel.Inputs) *Fixed {
	return &Fixed{points: points, squares: factor.NewSums(points.Len())}
}

// Points are the M points.
func (f *Fixed) Points() *kernel.Inputs { return f.points }

// Len is the number n of data.
func (f *Fixed) Len() int { return len(f.rows) }

// Prefix returns the solutions for the first n data.
func (f *Fixed) Prefix(n int) *Fixed {
	if n == f.Len() {
		return f
	}
	prefix := &Fixed{f.points, f.rows[:n:n], factor.NewSums(f.points.Len())}
	for _, row := range prefix.rows {
		prefix.squares.AddSquares(row)
	}
	return prefix
}

// fewRows is how many rows, or an eighth of the present ones if more, are added one by one; more
// are computed faster anew.
const fewRows = 8

// Extend returns the solutions for d, of which f has a prefix. It costs O(nM) a row.
func (f *Fixed) Extend(ctx context.Context, d *Data) (*Fixed, error) {
	grown := &Fixed{f.points, f.rows[:f.Len():f.Len()], f.squares.Clone()}
	if missing := d.Len() - f.Len(); missing > max(fewRows, f.Len()/8) {
		rows, err := f.solve(ctx, d)
		if err != nil {
			return nil, err
		}
		grown.rows = append(grown.rows, rows...)
	}
	work := checkpoint.NewMeter(ctx)
	for s := grown.Len(); s < d.Len(); s++ {
		grown.rows = append(grown.rows, grown.row(d, s))
		if err := work.Spend((s + kernelWork) * f.points.Len()); err != nil {
			return nil, err
		}
	}
	for _, row := range grown.rows[f.Len():] {
		grown.squares.AddSquares(row)
	}
	return grown, nil
}

// row is v_s of every point, (k(x_s, X_i) − Σ_{r<s} L_sr v_r(X_i))/L_ss.
func (f *Fixed) row(d *Data, s int) []float64 {
	v := make([]float64, f.points.Len())
	d.kernel.Row(v, d.inputs.Row(s), f.points)
	L, sums := d.factor.Row(s), factor.NewSums(len(v))
	for r, row := range f.rows {
		sums.Add(L[r], row)
	}
	for i := range v {
		v[i] = (v[i] - sums.Total(i)) / L[s]
	}
	return v
}

// solve computes the rows that d has and f has not, for many points at a time on all cores.
func (f *Fixed) solve(ctx context.Context, d *Data) ([][]float64, error) {
	M, known := f.points.Len(), f.Len()
	rows := factor.Matrix(d.Len()-known, M)
	return rows, d.solveShared(ctx, f.points, func(i int, v []float64) {
		for s := range rows {
			rows[s][i] = v[known+s]
		}
	})
}

// Predict returns the posterior means, one slice per response, and the latent variances at the
// points, to the same bits as PredictMany of d, the data that f was made for.
func (f *Fixed) Predict(ctx context.Context, d *Data, zs [][]float64) (means [][]float64, variances []float64, err error) {
	work := checkpoint.NewMeter(ctx)
	M := f.points.Len()
	means, variances = factor.Matrix(len(zs), M), make([]float64, M)
	for r, z := range zs {
		sums := factor.NewSums(M)
		for s, row := range f.rows[:min(len(z), f.Len())] {
			sums.Add(z[s], row)
			if err := work.Spend(M); err != nil {
				return nil, nil, err
			}
		}
		for i := range means[r] {
			means[r][i] = sums.Total(i)
		}
	}
	for i := range variances {
		variances[i] = max(0, d.kernel.Diagonal(f.points.Row(i))-f.squares.Total(i))
	}
	return means, variances, nil
}
