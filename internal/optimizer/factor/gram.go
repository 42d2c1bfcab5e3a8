package factor

import (
	"context"
	"math"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
)

// Gram writes the products of all pairs of rows, dst[i][j] = Σ_k rows[i][k] rows[j][k] for j ≤ i, in the order of Dot. Rows
// have one length; dst[i] has at least i+1 entries. It works on all cores and reaches checkpoints on the way; on an error, that of ctx, dst is useless.
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

// strip is the groups of four rows of a product that begin at first, first + stride, first + 2 stride, ….
type strip struct{ first, stride int }

// every is all rows.
var every = strip{0, 4}

// Inverse writes the lower triangle of A⁻¹ = L⁻ᵀ L⁻¹ to dst, whose row i has at least i+1 entries. It costs about
// as much as the factor did twice over, in one slice: it is for some hundred rows.
func (c *Cholesky) Inverse(dst [][]float64) {
	// Row j of columns is column j of L⁻¹, which is zero before entry j.
	n := c.Len()
	columns := make([][]float64, n)
	memory := make([]float64, n*n)
	for j := range columns {
		columns[j] = memory[j*n : (j+1)*n]
		columns[j][j] = 1
	}
	for first := 0; first < n; first += panelRows {
		c.solveUnits(columns[first:min(first+panelRows, n)], first)
	}
	gram(nil, dst, columns, every, true)
}

// solveUnits solves L v = e_j in place for consecutive unit vectors, the first of them e_first.
func (c *Cholesky) solveUnits(units [][]float64, first int) {
	for r, b := range units {
		c.solveFrom(b[:min(first+len(units), c.Len())], first+r)
	}
	c.solvePanelFrom(nil, units, first+len(units), c.Len())
}

// gram is Gram for a strip; rising tells that row i is zero before entry i, so that those products need not be formed.
func gram(work *checkpoint.Meter, dst, rows [][]float64, of strip, rising bool) error {
	for i := of.first; i < len(rows); i += of.stride {
		height := min(4, len(rows)-i)
		for j := 0; j < i+height; j += 3 {
			width := min(3, i+height-j)
			start := 0
			if rising {
				start = i &^ (lanes - 1)
			}
			var s [12]partial
			products(&s, rows[i:i+height], rows[j:j+width], start)
			for r := range height {
				for c := range width {
					if j+c <= i+r {
						dst[i+r][j+c] = s[4*c+r].total()
					}
				}
			}
		}
		if err := work.Spend(height * (i + height) * len(rows[0])); err != nil {
			return err
		}
	}
	return nil
}

// products fills s_{4c+r} with the lanes of a_r·b_c for up to four a and three b, from entry start, a multiple of lanes, on.
func products(s *[12]partial, a, b [][]float64, start int) {
	n := len(a[0])
	whole := n &^ (lanes - 1)
	if whole > start {
		// Absent rows repeat the last one; their sums are not looked at.
		row := func(m [][]float64, r int) *float64 { return &m[min(r, len(m)-1)][start] }
		dot12(s, row(a, 0), row(a, 1), row(a, 2), row(a, 3), row(b, 0), row(b, 1), row(b, 2), whole-start)
	}
	for r := range a {
		for c := range b {
			for k := max(whole, start); k < n; k++ {
				s[4*c+r][k-whole] = math.FMA(a[r][k], b[c][k], s[4*c+r][k-whole])
			}
		}
	}
}
