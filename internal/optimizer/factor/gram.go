package factor

import (
	"context"
	"math"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
)

// Gram writes the products of all pairs of rows, dst[i][j] = Σ_k rows[i][k] rows[j][k] for j ≤ i,
// in the order of Dot. Rows have one length; dst[i] has at least i+1 entries. It works on all cores
// and reaches checkpoints on the way; on an error, that of ctx, dst is useless.
func Gram(ctx context.Context, dst, rows [][]float64) error {
	shares, group := cores.Count(), cores.New()
	if len(rows) < sharedFrom {
		shares = 1
	}
	for share := range shares {
		group.Go(func() error { return gram(checkpoint.NewMeter(ctx), dst, rows, strip{4 * share, 4 * shares}, false) })
	}
	return group.Wait()
}

// Products writes Dot(a[r], b[c]) to dst[c][r] for rows of one length.
func Products(dst, a, b [][]float64) {
	for top := 0; top < len(a); top += 4 {
		rows := a[top:min(top+4, len(a))]
		for first := 0; first < len(b); first += 6 {
			some := b[first:min(first+6, len(b))]
			var s [24]partial
			products(&s, rows, some, 0)
			for c := range some {
				for r := range rows {
					dst[first+c][top+r] = s[4*c+r].total()
				}
			}
		}
	}
}

// strip is the groups of four rows of a product that begin at first, first + stride, first + 2
// stride, ….
type strip struct{ first, stride int }

// every is all rows.
var every = strip{0, 4}

// Inverse writes the lower triangle of A⁻¹ = L⁻ᵀ L⁻¹ to dst, whose row i has at least i+1 entries.
// It costs about as much as the factor did twice over, in one slice: it is for some hundred rows.
// It works in room, a Square of n rows.
func (c *Cholesky) Inverse(dst, room [][]float64) {
	// Row j of columns is column j of L⁻¹, which is zero before entry j. Zeros at the end change no
	// sum, and whole lanes are summed faster.
	n := c.Len()
	columns := make([][]float64, n)
	for j := range columns {
		columns[j] = room[j][:(n+lanes-1)&^(lanes-1)]
		clear(columns[j])
		columns[j][j] = 1
	}
	for first := 0; first < n; first += panelRows {
		c.solveUnits(columns[first:min(first+panelRows, n)], first)
	}
	gram(nil, dst, columns, every, true)
}

// solveUnits solves L v = e_j in place for consecutive unit vectors, the first of them e_first, a
// multiple of lanes. The zeros before it add nothing to any sum, so that
// the rows and columns before it are left out.
func (c *Cholesky) solveUnits(units [][]float64, first int) {
	rest := &Cholesky{make([][]float64, c.Len()-first)}
	for i := range rest.rows {
		rest.rows[i] = c.rows[first+i][first:]
	}
	B := make([][]float64, len(units))
	for r, unit := range units {
		B[r] = unit[first:c.Len()]
		rest.solveFrom(B[r][:len(units)], r)
	}
	rest.solvePanelFrom(nil, B, len(units), rest.Len())
}

// gram is Gram for a strip; rising tells that row i is zero before entry i, so that those products
// need not be formed.
func gram(work *checkpoint.Meter, dst, rows [][]float64, of strip, rising bool) error {
	for i := of.first; i < len(rows); i += of.stride {
		height := min(4, len(rows)-i)
		for j := 0; j < i+height; j += 6 {
			width := min(6, i+height-j)
			start := 0
			if rising {
				start = i &^ (lanes - 1)
			}
			var s [24]partial
			products(&s, rows[i:i+height], rows[j:j+width], start)
			for c := range width {
				var totals [4]float64
				totals4(&totals, (*[4]partial)(s[4*c:]))
				for r := max(0, j+c-i); r < height; r++ {
					dst[i+r][j+c] = totals[r]
				}
			}
		}
		if err := work.Spend(height * (i + height) * len(rows[0])); err != nil {
			return err
		}
	}
	return nil
}

// products fills s_{4c+r} with the lanes of a_r·b_c for up to four a and six b, from entry start, a
// multiple of lanes, on.
//
//go:norace
func products(s *[24]partial, a, b [][]float64, start int) {
	n := len(a[0])
	whole := n &^ (lanes - 1)
	if whole > start {
		// Absent rows repeat the last one; their sums are not looked at.
		row := func(m [][]float64, r int) *float64 { return &m[min(r, len(m)-1)][start] }
		if len(b) <= 3 {
			dot12((*[12]partial)(s[:12]), row(a, 0), row(a, 1), row(a, 2), row(a, 3), row(b, 0), row(b, 1), row(b, 2), whole-start)
		} else {
			dot24(s, row(a, 0), row(a, 1), row(a, 2), row(a, 3), row(b, 0), row(b, 1), row(b, 2), row(b, 3), row(b, 4), row(b, 5), whole-start)
		}
	}
	for r := range a {
		for c := range b {
			for k := max(whole, start); k < n; k++ {
				s[4*c+r][k-whole] = math.FMA(a[r][k], b[c][k], s[4*c+r][k-whole])
			}
		}
	}
}
