package gp

import (
	"context"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/factor"
)

// Own keeps the solutions v(x_i) at the data's own points, so that the variances there cost O(n²)
// after a reading instead of O(n³), to the same bits. What row i of L has before its diagonal
// begins v(x_i) (see OwnVariances), so that only v_s(x_i) with s ≥ i is kept: 4n² bytes. Own is
// immutable; what is made from it shares its rows. The zero value is that of no data.
type Own struct {
	rows    [][]float64  // row s holds v_s of the points 0 to s
	squares *factor.Sums // Σ_s v_s², per point; nil until they are wanted
}

// Len is the number n of data.
func (o *Own) Len() int { return len(o.rows) }

// Prefix returns the solutions for the first n data at their own points.
func (o *Own) Prefix(n int) *Own {
	if n == o.Len() {
		return o
	}
	return &Own{rows: o.rows[:n:n]}
}

// Extend returns the solutions for d, o being those of a prefix of d. It costs O(n²) a row and
// reaches checkpoints on the way; the error is that of ctx.
func (o *Own) Extend(ctx context.Context, d *Data) (*Own, error) {
	known := o.Len()
	grown := &Own{rows: o.rows[:known:known]}
	if o.squares != nil {
		grown.squares = o.squares.Clone()
	}
	if missing := d.Len() - known; missing > max(fewRows, known/8) {
		rows, err := solveOwn(ctx, d, known)
		if err != nil {
			return nil, err
		}
		grown.rows = append(grown.rows, rows...)
	}
	work := checkpoint.NewMeter(ctx)
	for s := grown.Len(); s < d.Len(); s++ {
		grown.rows = append(grown.rows, grown.row(d, s))
		if err := work.Spend((s + kernelWork) * s); err != nil {
			return nil, err
		}
	}
	grown.addSquares(d, known)
	return grown, nil
}

// row is v_s of the points 0 to s, (k(x_s, x_i) − Σ_{r<s} L_sr v_r(x_i))/L_ss.
func (o *Own) row(d *Data, s int) []float64 {
	v, L, sums := make([]float64, s+1), d.factor.Row(s), factor.NewSums(s+1)
	d.kernel.Row(v, d.inputs.Row(s), d.inputs.Prefix(s+1))
	for i := range v {
		sums.Begin(i, L[:i], d.factor.Row(i))
	}
	for r, row := range o.rows {
		sums.Add(L[r], row)
	}
	for i := range v {
		v[i] = (v[i] - sums.Total(i)) / L[s]
	}
	return v
}

// solveOwn works out the rows from known on, for many points at a time on all cores.
func solveOwn(ctx context.Context, d *Data, known int) ([][]float64, error) {
	rows := factor.Triangle(known, d.Len()-known)
	own := make([]int, d.Len())
	for i := range own {
		own[i] = i
	}
	return rows, cores.Stretches(len(own), func(from, to int) error {
		return d.solveBlocksOwn(ctx, own[from:to], func(n int, v []float64) {
			i := from + n
			for s := max(known, i); s < len(v); s++ {
				rows[s-known][i] = v[s]
			}
		})
	})
}

// addSquares adds the squares of the rows from known on, or of all where none were added yet.
func (o *Own) addSquares(d *Data, known int) {
	if o.squares == nil {
		o.squares, known = factor.NewSums(0), 0
	}
	for s := known; s < o.Len(); s++ {
		L := d.factor.Row(s)
		o.squares.Append(L, L)
		o.squares.AddSquares(o.rows[s])
	}
}

// Variances returns the latent variances at the data's own points from to to−1, to the same bits as
// OwnVariances of the data that o was made for.
func (o *Own) Variances(d *Data, from, to int) []float64 {
	variances := make([]float64, to-from)
	for i := range variances {
		variances[i] = max(0, d.kernel.Diagonal(d.inputs.Row(from+i))-o.squares.Total(from+i))
	}
	return variances
}
