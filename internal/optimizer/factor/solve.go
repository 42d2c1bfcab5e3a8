package factor

import (
	"context"
	"math"

	"headroom/internal/optimizer/checkpoint"
)

// panelRows is how many right-hand sides pass over a row of L while both stay in the processor's
// cache.
const panelRows = 48

// SolveLower solves L v = b for the leading len(b) rows, writing v to dst (which may be b).
func (c *Cholesky) SolveLower(dst, b []float64) { c.SolveLowerFrom(dst, b, 0) }

// SolveLowerFrom solves L v = b when dst already holds the first from entries of v, in the same way
// to the last bit. Only b[from:] is read.
func (c *Cholesky) SolveLowerFrom(dst, b []float64, from int) {
	dst = dst[:len(b)]
	copy(dst[from:], b[from:])
	c.solveFrom(dst, from)
}

// SolveLowerMany solves L v = b in place for every b of B, each for its own leading len(b) rows and
// to the same bits as SolveLower. It reaches checkpoints on the way; on an error, that of ctx, B is
// useless.
func (c *Cholesky) SolveLowerMany(ctx context.Context, B [][]float64) error {
	work := checkpoint.NewMeter(ctx)
	for len(B) > 0 {
		panel := B[:min(panelRows, len(B))]
		B = B[len(panel):]
		shortest := len(panel[0])
		for _, b := range panel {
			shortest = min(shortest, len(b))
		}
		if err := c.solvePanelFrom(work, panel, 0, shortest); err != nil {
			return err
		}
		for _, b := range panel {
			c.solveFrom(b, shortest)
		}
	}
	return nil
}

// solvePanelFrom solves L v = b in place up to entry n of every b, whose entries before from are
// solved already.
func (c *Cholesky) solvePanelFrom(work *checkpoint.Meter, B [][]float64, from, n int) error {
	j := min((from+3)&^3, n)
	for _, b := range B {
		c.solveFrom(b[:j], from)
	}
	var memory [4 * (panelRows + idle)]partial
	sums := memory[:4*(len(B)+idle)]
	for ; j+4 <= n; j += 4 {
		rows := c.tile(j)
		rows.solveMany(sums, B, j)
		if err := work.Spend(4 * len(B) * (j + 4)); err != nil {
			return err
		}
	}
	for _, b := range B {
		c.solveFrom(b[:n], j)
	}
	return nil
}

// solveFrom solves L v = b in place for the leading len(b) rows, b already holding the first from
// entries of v.
func (c *Cholesky) solveFrom(b []float64, from int) {
	j := from
	for ; j < len(b) && j&3 != 0; j++ {
		c.solveRow(b, j)
	}
	for ; j+4 <= len(b); j += 4 {
		rows := c.tile(j)
		rows.solve1(b, j)
	}
	for ; j < len(b); j++ {
		c.solveRow(b, j)
	}
}

// solveRow solves row j alone: v_j = (b_j − L[j,:j]·v[:j])/L[j,j].
func (c *Cholesky) solveRow(b []float64, j int) {
	row := c.Row(j)
	b[j] = (b[j] - Dot(row[:j], b)) / row[j]
}

// tile is four rows of L, the first of them a multiple of four so that the sums over the columns
// before it fill whole lanes.
type tile [4][]float64

func (c *Cholesky) tile(j int) tile {
	return tile{c.Row(j), c.Row(j + 1), c.Row(j + 2), c.Row(j + 3)}
}

// solve1 solves the tile's four rows, j to j+3, for one right-hand side.
//
//go:norace
func (t *tile) solve1(b []float64, j int) {
	var s [4]partial
	if j > 0 {
		dot4(&s, &t[0][0], &t[1][0], &t[2][0], &t[3][0], &b[0], j)
	}
	t.finish(b[j:j+4], j, &s)
}

// stretch is how many columns are summed over at a time: those of a tile and of three right-hand
// sides fit into the processor's nearest cache.
const stretch = 384

// solveMany solves the tile's four rows, j to j+3, for right-hand sides of which sums has four
// each, and more for those that add leaves idle.
//
//go:norace
func (t *tile) solveMany(sums []partial, B [][]float64, j int) {
	clear(sums)
	for from := 0; from < j; from += stretch {
		length := min(stretch, j-from)
		for c := 0; c < len(B); {
			c += t.add(sums[4*c:], B[c:], from, length)
		}
	}
	for ; len(B) >= 4; B, sums = B[4:], sums[16:] {
		finish4((*[16]partial)(sums), &t[0][j], &t[1][j], &t[2][j], &t[3][j], &B[0][j], &B[1][j], &B[2][j], &B[3][j])
	}
	for c, b := range B {
		t.finish(b[j:j+4], j, (*[4]partial)(sums[4*c:]))
	}
}

// idle is how many right-hand sides add may repeat.
const idle = 2

// add adds to the sums of the first few right-hand sides, six at most, and says of how many. Absent
// ones repeat the last one; their sums are not looked at.
func (t *tile) add(sums []partial, B [][]float64, from, length int) int {
	b := func(c int) *float64 { return &B[min(c, len(B)-1)][from] }
	t0, t1, t2, t3 := &t[0][from], &t[1][from], &t[2][from], &t[3][from]
	switch {
	case len(B) > 3:
		dot24((*[24]partial)(sums), t0, t1, t2, t3, b(0), b(1), b(2), b(3), b(4), b(5), length)
		return min(6, len(B))
	case len(B) > 1:
		dot12((*[12]partial)(sums), t0, t1, t2, t3, b(0), b(1), b(2), length)
		return len(B)
	}
	dot4((*[4]partial)(sums), t0, t1, t2, t3, b(0), length)
	return 1
}

// finish takes the sums over columns before j on through the tile's own triangle: b holds entries j
// to j+3.
//
//go:norace
func (t *tile) finish(b []float64, j int, s *[4]partial) {
	finish((*[4]float64)(b), &t[0][j], (*[2]float64)(t[1][j:]), (*[3]float64)(t[2][j:]), (*[4]float64)(t[3][j:]), s)
}

//go:norace
func finish(b *[4]float64, l0 *float64, l1 *[2]float64, l2 *[3]float64, l3 *[4]float64, s *[4]partial) {
	s0, s1, s2, s3 := &s[0], &s[1], &s[2], &s[3]
	v0 := (b[0] - s0.total()) / *l0
	s1[0] = math.FMA(l1[0], v0, s1[0])
	v1 := (b[1] - s1.total()) / l1[1]
	s2[0] = math.FMA(l2[0], v0, s2[0])
	s2[1] = math.FMA(l2[1], v1, s2[1])
	v2 := (b[2] - s2.total()) / l2[2]
	s3[0] = math.FMA(l3[0], v0, s3[0])
	s3[1] = math.FMA(l3[1], v1, s3[1])
	s3[2] = math.FMA(l3[2], v2, s3[2])
	v3 := (b[3] - s3.total()) / l3[3]
	b[0], b[1], b[2], b[3] = v0, v1, v2, v3
}

// SolveUpper solves Lᵀ x = b for the leading len(b) rows, writing x to dst (which may be b):
// x_i = (b_i − Σ_{k>i} L[k,i] x_k)/L[i,i], the sum taken by descending k.
func (c *Cholesky) SolveUpper(dst, b []float64) {
	dst = dst[:len(b)]
	copy(dst, b)
	c.solveUpper(nil, [][]float64{dst})
}

// SolveUpperMany solves Lᵀ x = b in place for every b of B, all of one length and to the same bits
// as SolveUpper, passing over L once for all of them. It reaches checkpoints on the way; on an
// error, that of ctx, B is useless.
func (c *Cholesky) SolveUpperMany(ctx context.Context, B [][]float64) error {
	return c.solveUpper(checkpoint.NewMeter(ctx), B)
}

// solveUpper finishes four entries at a time, from the last ones on, and then takes what they make
// off all those before, so that those are gone through once for four rows of L.
func (c *Cholesky) solveUpper(work *checkpoint.Meter, B [][]float64) error {
	for end := len(B[0]); end > 0; {
		first := (end - 1) &^ 3
		for _, b := range B {
			c.finishUpper(b, first, end)
		}
		if end-first == 4 && first > 0 {
			rows := c.tile(first)
			rows.takeOff(B, first)
		} else {
			for i := end - 1; i >= first; i-- {
				for _, b := range B {
					Axpy(-b[i], c.Row(i)[:first], b)
				}
			}
		}
		if err := work.Spend(len(B) * (end - first) * end); err != nil {
			return err
		}
		end = first
	}
	return nil
}

// finishUpper works out entries first to end−1 of x in place, from which those that follow are
// taken off already.
func (c *Cholesky) finishUpper(b []float64, first, end int) {
	for i := end - 1; i >= first; i-- {
		row := c.Row(i)
		b[i] /= row[i]
		for k := first; k < i; k++ {
			b[k] = math.FMA(-b[i], row[k], b[k])
		}
	}
}

// takeOff takes what the tile's four entries of x, j to j+3, make off the entries before them.
func (t *tile) takeOff(B [][]float64, j int) {
	for from := 0; from < j; from += stretch {
		length := min(stretch, j-from)
		for _, b := range B {
			alpha := [4]float64{-b[j+3], -b[j+2], -b[j+1], -b[j]}
			axpy4(&alpha, &t[3][from], &t[2][from], &t[1][from], &t[0][from], &b[from], length)
		}
	}
}
