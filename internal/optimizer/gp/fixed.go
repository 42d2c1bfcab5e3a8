package gp

import (
	"context"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
)

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

// fewRows is up to how many rows are added one by one, or an eighth of those there are: many at a
// time are worked out faster from the beginning.
const fewRows = 8

// Extend returns the solutions for d, f being those of a prefix of d. It costs O(nM) a row and
// reaches checkpoints on the way; the error is that of ctx.
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

// solve works out the rows that d has and f has not, for many points at a time on all cores.
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
// points, to the same bits as PredictMany of the data that f was made for.
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
