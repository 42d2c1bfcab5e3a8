package factor

import (
	"context"
	"errors"
	"math"

	"headroom/internal/optimizer/checkpoint"
)

// jitter is what SemidefiniteRoot adds to the diagonal, in units of the largest variance: enough
// for rounding, and in a draw no more than 3e-5 of the widest standard deviation.
const jitter = 1e-9

// SemidefiniteRoot returns rows l with l_i·l_j = A_ij + 1e-9·max(diag A)·[i = j] for a symmetric
// positive semidefinite A, whose lower triangle given makes, to be written to. Places that the data
// determine, or that repeat, make A singular. Where rounding outweighs even that, as in a posterior
// covariance whose prior was ten orders larger, A is made once more and it returns the rows of
// PivotedRoot. It works on all cores and reaches checkpoints on the way; the error is that of ctx
// or of given.
func SemidefiniteRoot(ctx context.Context, given func() ([][]float64, error)) ([][]float64, error) {
	a, err := given()
	if err != nil || lift(a) == 0 {
		return a, err
	}
	var l Cholesky
	switch err := l.Adopt(ctx, a); {
	case errors.Is(err, ErrNotPositiveDefinite):
		if a, err = given(); err != nil {
			return nil, err
		}
		lift(a)
		return PivotedRoot(ctx, symmetric(a))
	case err != nil:
		return nil, err
	}
	for i := range a {
		a[i] = l.Row(i)
	}
	return a, nil
}

// lift adds the jitter to the diagonal and returns how much that is.
func lift(a [][]float64) float64 {
	largest := 0.0
	for i := range a {
		largest = max(largest, a[i][i])
	}
	for i := range a {
		a[i][i] += jitter * largest
	}
	return jitter * largest
}

// symmetric is the matrix with a lower triangle.
func symmetric(triangle [][]float64) [][]float64 {
	a := make([][]float64, len(triangle))
	for i := range a {
		a[i] = make([]float64, len(triangle))
	}
	for i, row := range triangle {
		for j, v := range row[:i+1] {
			a[i][j], a[j][i] = v, v
		}
	}
	return a
}

// PivotedRoot returns the rows of an M×r matrix l with l lᵀ = A up to the rounding error that A was
// given with, r being its numerical rank. It takes the largest remaining variance as the next
// pivot, and always ends: when that is 1e-9 of the first, or when some remaining covariance is
// larger than it, which in a semidefinite matrix cannot be, so that what remains is error. A, of
// which only the part that is symmetric counts, is left as it is.
//
// See Higham (2002), Accuracy and Stability of Numerical Algorithms, 10.3.
func PivotedRoot(ctx context.Context, a [][]float64) ([][]float64, error) {
	work := checkpoint.NewMeter(ctx)
	n := len(a)
	rows, left := make([][]float64, n), make([]float64, n) // left is the diagonal of A − l lᵀ
	for i := range a {
		left[i] = a[i][i]
	}
	column, taken := make([]float64, n), make([]bool, n)
	first := 0.0
	for rank := range n {
		pivot := -1
		for i, v := range left {
			if !taken[i] && (pivot < 0 || v > left[pivot]) {
				pivot = i
			}
		}
		variance := left[pivot]
		if rank == 0 {
			first = variance
		}
		if !(variance > jitter*first) {
			break
		}
		for i := range column {
			column[i] = a[i][pivot] - Dot(rows[pivot], rows[i])
			if !taken[i] && !(math.Abs(column[i]) <= (1+jitter)*variance) && i != pivot {
				return rows, nil
			}
		}
		root := math.Sqrt(variance)
		for i, v := range column {
			switch {
			case i == pivot:
				v = variance
			case taken[i]:
				v = 0
			}
			rows[i] = append(rows[i], v/root)
			left[i] -= v / root * (v / root)
		}
		taken[pivot] = true
		if err := work.Spend(n * (rank + 1)); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
