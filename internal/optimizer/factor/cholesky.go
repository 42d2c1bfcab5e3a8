// Package factor keeps the Cholesky factor of a symmetric positive definite matrix that grows a row at a time, and solves
// with it.
//
// All sums are taken in one order (see Dot), so a factor grown row by row, in blocks, or from nothing is the same
// to the last bit on every machine, and so are solves of one or of many right-hand sides.
package factor

import (
	"errors"
	"fmt"
	"math"
)

// ErrNotPositiveDefinite tells that a matrix has no Cholesky factor: a pivot came out zero, negative or not a number.
var ErrNotPositiveDefinite = errors.New("the matrix is not positive definite")

// Cholesky is the lower triangle L with L Lᵀ = A, kept row after row, so that the factor of a leading block of A is
// a prefix. The zero value is the factor of the empty matrix. A prefix shares memory with the factor it was taken
// from and is never overwritten; reading is safe for many goroutines, changing one Cholesky is not.
type Cholesky struct {
	n      int
	packed Vector // row i starts at i(i+1)/2
}

// New returns the factor of a matrix given by rows, row i holding at least A[i,0..i].
func New(rows [][]float64) (*Cholesky, error) {
	c := new(Cholesky)
	return c, c.AppendRows(rows)
}

// Len is the number of rows n.
func (c *Cholesky) Len() int { return c.n }

// Row returns L[i,0..i], to be read only.
func (c *Cholesky) Row(i int) []float64 {
	start := triangle(i)
	return c.packed.values[start : start+i+1 : start+i+1]
}

// Prefix returns the factor of the leading n×n block.
func (c *Cholesky) Prefix(n int) *Cholesky {
	if n < 0 || n > c.n {
		panic(fmt.Sprintf("factor: prefix of %d rows of a factor of %d", n, c.n))
	}
	return &Cholesky{n: n, packed: c.packed.Prefix(triangle(n))}
}

// Clone returns a factor that shares no memory with c.
func (c *Cholesky) Clone() *Cholesky {
	clone := &Cholesky{n: c.n}
	clone.packed.Append(c.packed.values...)
	return clone
}

// Append grows A by one row and column: row holds A[n,0..n], its last entry the diagonal. It costs O(n²). On an
// error, ErrNotPositiveDefinite, c is unchanged.
func (c *Cholesky) Append(row []float64) error { return c.AppendRows([][]float64{row}) }

// AppendRows appends one row after another, row i of them holding at least A[n+i,0..n+i]. The factor is the same to the last bit
// as if they were appended one by one, but works on many rows at once. On an error, ErrNotPositiveDefinite, c is
// unchanged.
func (c *Cholesky) AppendRows(rows [][]float64) error {
	first := c.n
	values := c.packed.Extend(triangle(first+len(rows)) - triangle(first))
	own := make([][]float64, len(rows))
	for r, row := range rows {
		if len(row) < first+r+1 {
			panic(fmt.Sprintf("factor: row %d has %d entries", first+r, len(row)))
		}
		own[r], values = values[:first+r+1], values[first+r+1:]
		copy(own[r], row)
	}
	for len(own) > 0 {
		panel := own[:min(panelRows, len(own))]
		own = own[len(panel):]
		if err := c.factorise(panel); err != nil {
			c.packed.withdraw(triangle(first+len(rows)) - triangle(first))
			c.n = first
			return err
		}
	}
	return nil
}

// factorise turns the next few rows of A, in place, into those of L: row i of L solves L[:i] v = A[i,:i], and
// L[i,i]² = A[i,i] − vᵀv. Finished rows are put to use on the rest four at a time.
func (c *Cholesky) factorise(rows [][]float64) error {
	c.solvePanelFrom(rows, 0, c.n)
	for len(rows) > 0 {
		n := c.n
		height := min(4-n&3, len(rows))
		for i := n; i < n+height; i++ {
			row := rows[i-n]
			c.solveFrom(row[:i], n)
			pivot := row[i] - Dot(row[:i], row)
			if !(pivot > 0) || math.IsInf(pivot, 1) {
				return fmt.Errorf("%w: row %d leaves the pivot %g", ErrNotPositiveDefinite, i, pivot)
			}
			row[i] = math.Sqrt(pivot)
			c.n++
		}
		rows = rows[height:]
		c.solvePanelFrom(rows, n, c.n)
	}
	return nil
}

// triangle is the number of entries in the first n rows.
func triangle(n int) int { return n * (n + 1) / 2 }
