// Package factor keeps the Cholesky factor of a symmetric positive definite matrix that grows a row
// at a time, and solves with it.
//
// All sums are taken in one order (see Dot), so a factor grown row by row, in blocks, or from
// nothing is the same to the last bit on every machine, and so are solves of one or of many
// right-hand sides.
package factor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
)

// ErrNotPositiveDefinite is the error for a matrix without a Cholesky factor: a pivot is zero,
// negative or not a number.
var ErrNotPositiveDefinite = errors.New("the matrix is not positive definite")

// Cholesky is the lower triangle L with L Lᵀ = A, stored by rows, so that the factor of a leading
// block of A is a prefix. The zero value is the factor of the empty matrix. Rows never change and
// are shared by all prefixes: taking a prefix is free, and appending to it copies pointers, not
// numbers. Reading is safe for concurrent use, changing a Cholesky is not. Do not copy a Cholesky;
// take a Prefix.
type Cholesky struct {
	rows [][]float64 // row i has i+1 entries
}

// New returns the factor of a matrix given by rows, row i holding at least A[i,0..i].
func New(rows [][]float64) (*Cholesky, error) {
	c, own := new(Cholesky), Triangle(0, len(rows))
	for i, row := range lower(0, rows) {
		copy(own[i], row)
	}
	return c, c.appendRows(context.Background(), own, 1)
}

// Len is the number of rows n.
func (c *Cholesky) Len() int { return len(c.rows) }

// Row returns L[i,0..i], to be read only.
func (c *Cholesky) Row(i int) []float64 { return c.rows[i] }

// Rows are all rows, to be read only.
func (c *Cholesky) Rows() [][]float64 { return c.rows }

// TakeUp appends rows of L that were computed before, without checking them.
func (c *Cholesky) TakeUp(rows [][]float64) { c.rows = append(c.rows, rows...) }

// Prefix returns the factor of the leading n×n block.
func (c *Cholesky) Prefix(n int) *Cholesky { return &Cholesky{c.rows[:n:n]} }

// Append adds one row and column to A: row holds A[n,0..n], its last entry the diagonal. It costs
// O(n²). The error is ErrNotPositiveDefinite; c is then unchanged.
func (c *Cholesky) Append(row []float64) error {
	return c.appendRows(context.Background(), [][]float64{slices.Clone(row)}, 1)
}

// Adopt appends rows, row i of them holding at least A[n+i,0..n+i], in place: their memory becomes
// L's, or is useless on an error. The factor is the same to the last bit as with Append, but
// computed for many rows at once and on all cores. It reaches checkpoints. On an error, that of ctx
// or ErrNotPositiveDefinite, c is unchanged.
func (c *Cholesky) Adopt(ctx context.Context, rows [][]float64) error {
	return c.appendRows(ctx, rows, cores.Count())
}

func (c *Cholesky) appendRows(ctx context.Context, rows [][]float64, shares int) error {
	work := lists.Of(shares, func(int) *checkpoint.Meter { return checkpoint.NewMeter(ctx) })
	grown := c.Prefix(c.Len())
	grown.rows = slices.Grow(grown.rows, len(rows))
	for len(rows) > 0 {
		height := min(panelRows, len(rows))
		panel := lower(grown.Len(), rows[:height])
		rows = rows[height:]
		if err := grown.solveShared(work, panel); err != nil {
			return err
		}
		if err := grown.factorise(work[0], panel); err != nil {
			return err
		}
	}
	c.rows = grown.rows
	return nil
}

// lower cuts rows n, n+1, … of A after the diagonal.
func lower(n int, rows [][]float64) [][]float64 {
	own := make([][]float64, len(rows))
	for r, row := range rows {
		length := n + r + 1
		own[r] = row[:length:length]
	}
	return own
}

// Triangle returns count rows of zeros of a lower triangle, the first of them row n, which has n+1
// entries. Each starts on a cache line.
func Triangle(n, count int) [][]float64 {
	size := 0
	for r := range count {
		size += (n + r + line) &^ (line - 1)
	}
	memory, rows := make([]float64, size), make([][]float64, count)
	for r := range rows {
		length := n + r + 1
		rows[r] = memory[:length:length]
		memory = memory[(length+line-1)&^(line-1):]
	}
	return rows
}

// Matrix returns rows×columns zeros in one piece.
func Matrix(rows, columns int) [][]float64 {
	memory, m := make([]float64, rows*columns), make([][]float64, rows)
	for i := range m {
		m[i] = memory[i*columns : (i+1)*columns : (i+1)*columns]
	}
	return m
}

// Square returns n rows of n zeros and up to seven more. Each starts on a cache line.
func Square(n int) [][]float64 { return Matrix(n, (n+line-1)&^(line-1)) }

// line is how many numbers a cache line holds.
const line = 8

// sharedFrom is the number of rows from which the next ones are worth sharing among cores.
const sharedFrom = 256

// solveShared solves the next few rows of A with the present rows of L, some of them on each core,
// for which there is a meter.
func (c *Cholesky) solveShared(work []*checkpoint.Meter, rows [][]float64) error {
	shares := min(len(work), len(rows)/3)
	if c.Len() < sharedFrom || shares <= 1 {
		return c.solvePanelFrom(work[0], rows, 0, c.Len())
	}
	return cores.Each(shares, func(share int) error {
		return c.solvePanelFrom(work[share], rows[share*len(rows)/shares:(share+1)*len(rows)/shares], 0, c.Len())
	})
}

// factorise turns the next few rows of A, in place, into those of L, given that they are solved
// with the rows of L before them: row i of L solves L[:i] v = A[i,:i], and L[i,i]² = A[i,i] − vᵀv.
// The rest is solved with finished rows four at a time.
func (c *Cholesky) factorise(work *checkpoint.Meter, rows [][]float64) error {
	for len(rows) > 0 {
		n := c.Len()
		height := min(4-n&3, len(rows))
		for i := n; i < n+height; i++ {
			row := rows[i-n]
			c.solveFrom(row[:i], n)
			pivot := row[i] - Dot(row[:i], row)
			if !(pivot > 0) || math.IsInf(pivot, 1) {
				return fmt.Errorf("%w: row %d leaves the pivot %g", ErrNotPositiveDefinite, i, pivot)
			}
			row[i] = math.Sqrt(pivot)
			c.rows = append(c.rows, row)
		}
		rows = rows[height:]
		if err := c.solvePanelFrom(work, rows, n, c.Len()); err != nil {
			return err
		}
	}
	return nil
}

// DropFirst removes the first row and column of A in O(n²). With L = [l₀₀ 0; l M], the rest of A is
// M Mᵀ + l lᵀ, and the new factor comes from M by rotating l into it (Golub & Van Loan, Matrix
// Computations, 6.5.4). It agrees with the factor computed anew to rounding, not to the bit.
// Earlier prefixes keep their rows.
func (c *Cholesky) DropFirst() {
	n := c.Len() - 1
	rows := make([][]float64, n)
	cosines, sines := make([]float64, n), make([]float64, n)
	for i := range rows {
		old := c.Row(i + 1)
		row := make([]float64, i+1)
		l := old[0]
		for k, m := range old[1 : i+1] {
			row[k] = math.FMA(cosines[k], m, float64(sines[k]*l))
			l = math.FMA(cosines[k], l, -float64(sines[k]*m))
		}
		diagonal := math.Sqrt(math.FMA(l, l, float64(old[i+1]*old[i+1])))
		row[i] = diagonal
		cosines[i], sines[i] = old[i+1]/diagonal, l/diagonal
		rows[i] = row
	}
	c.rows = rows
}

// Gram writes the products of all pairs of rows, dst[i][j] = Σ_k rows[i][k] rows[j][k] for j ≤ i,
// in the order of Dot. Rows have one length; dst[i] has at least i+1 entries. It works on all cores
// and reaches checkpoints on the way; on an error, that of ctx, dst is useless.
func Gram(ctx context.Context, dst, rows [][]float64) error {
	shares := cores.Count()
	if len(rows) < sharedFrom {
		shares = 1
	}
	return cores.Each(shares, func(share int) error { return gram(checkpoint.NewMeter(ctx), dst, rows, share, shares, false) })
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

// Inverse writes the lower triangle of A⁻¹ = L⁻ᵀ L⁻¹ to dst, whose row i has at least i+1 entries.
// It costs about twice as much as the factor, in one slice: it is for some hundred rows. room is a
// Square of n rows to work in.
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
	gram(nil, dst, columns, 0, 1, true)
}

// solveUnits solves L v = e_j in place for consecutive unit vectors, the first of them e_first, a
// multiple of lanes. The zeros before it add nothing to any sum, so the rows and columns before it
// are left out.
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

// gram is Gram for one share of the groups of four rows; with rising, row i is zero before entry i,
// and those products are left out.
func gram(work *checkpoint.Meter, dst, rows [][]float64, share, shares int, rising bool) error {
	for i := 4 * share; i < len(rows); i += 4 * shares {
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
				for r := max(0, j+c-i); r < height; r++ {
					dst[i+r][j+c] = s[4*c+r].total()
				}
			}
		}
		if err := work.Spend(height * (i + height) * len(rows[0])); err != nil {
			return err
		}
	}
	return nil
}

// products fills s_{4c+r} with the lanes of a_r·b_c for up to four a and six b, from entry start
// on, a multiple of lanes.
func products(s *[24]partial, a, b [][]float64, start int) {
	n := len(a[0])
	whole := n &^ (lanes - 1)
	if whole > start {
		// Absent rows repeat the last one; their sums are not used.
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

// panelRows is how many right-hand sides are solved with a row of L while both stay in the
// processor's cache.
const panelRows = 48

// SolveLower solves L v = b for the leading len(b) rows, writing v to dst (which may be b).
func (c *Cholesky) SolveLower(dst, b []float64) { c.SolveLowerFrom(dst, b, 0) }

// SolveLowerFrom is SolveLower when dst already holds the first from entries of v, to the last bit.
// Only b[from:] is read.
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

// tile is four rows of L, the first of them a multiple of four, so that sums over the columns
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

// stretch is how many columns are summed at a time: those of a tile and of three right-hand sides
// fit into the processor's nearest cache.
const stretch = 384

// solveMany solves the tile's four rows, j to j+3, for right-hand sides. sums has four entries for
// each, and more for the idle ones of add.
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

// add adds to the sums of the first right-hand sides, six at most, and returns how many. Absent
// ones repeat the last one; their sums are not used.
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

// finish continues from the sums over the columns before j through the tile's own triangle: b holds
// entries j to j+3.
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

// solveUpper finishes four entries at a time, from the last ones on, and then subtracts their part
// from all entries before, so that these are passed over once for four rows of L.
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

// finishUpper computes entries first to end−1 of x in place, given that the part of later entries
// is already subtracted.
func (c *Cholesky) finishUpper(b []float64, first, end int) {
	for i := end - 1; i >= first; i-- {
		row := c.Row(i)
		b[i] /= row[i]
		for k := first; k < i; k++ {
			b[k] = math.FMA(-b[i], row[k], b[k])
		}
	}
}

// takeOff subtracts the part of the tile's four entries of x, j to j+3, from the entries before
// them.
func (t *tile) takeOff(B [][]float64, j int) {
	for from := 0; from < j; from += stretch {
		length := min(stretch, j-from)
		for _, b := range B {
			alpha := [4]float64{-b[j+3], -b[j+2], -b[j+1], -b[j]}
			axpy4(&alpha, &t[3][from], &t[2][from], &t[1][from], &t[0][from], &b[from], length)
		}
	}
}
