package kernel

import (
	"fmt"
	"slices"
)

// Inputs are n input vectors of p coordinates, row after row, and once more coordinate after
// coordinate, as distances take them. They grow at the end; a prefix shares
// what it has and is never overwritten: appended to, it copies. Do not copy Inputs; take a Prefix.
// Coordinates are kept as given, not divided by lengthscales, so
// that metrics with different kernels share them.
type Inputs struct {
	p      int
	values []float64

	columns []float64 // coordinate c of vector i is columns[c*stride+i]
	stride  int
	shared  bool // what follows the last vector in columns may be others'
}

// NewInputs returns no input vectors, of p ≥ 1 coordinates each.
func NewInputs(p int) *Inputs {
	if p < 1 {
		panic(fmt.Sprintf("kernel: inputs of %d coordinates", p))
	}
	return &Inputs{p: p}
}

// Reserve makes room for n vectors.
func (X *Inputs) Reserve(n int) {
	X.values = slices.Grow(X.values, max(0, n*X.p-len(X.values)))
	if X.shared || n > X.stride {
		X.grow(X.Len(), n)
	}
}

// InputsOf returns the rows as Inputs; there must be at least one.
func InputsOf(rows [][]float64) *Inputs {
	X := NewInputs(len(rows[0]))
	for _, x := range rows {
		X.Append(x)
	}
	return X
}

// Len is the number n of input vectors.
func (X *Inputs) Len() int { return len(X.values) / X.p }

// Coordinates is the number p of coordinates of each.
func (X *Inputs) Coordinates() int { return X.p }

// Append adds x at the end.
func (X *Inputs) Append(x []float64) {
	if len(x) != X.p {
		panic(fmt.Sprintf("kernel: an input vector of %d coordinates among ones of %d", len(x), X.p))
	}
	n := X.Len()
	if X.shared || n == X.stride {
		X.grow(n, max(2*n, 8))
	}
	for c, v := range x {
		X.columns[c*X.stride+n] = v
	}
	X.values = append(X.values, x...)
}

// grow makes columns of its own for the n vectors, with room for stride.
func (X *Inputs) grow(n, stride int) {
	columns := make([]float64, X.p*stride)
	for c := range X.p {
		copy(columns[c*stride:], X.columns[c*X.stride:][:n])
	}
	X.columns, X.stride, X.shared = columns, stride, false
}

// Row returns input vector i, to be read only.
func (X *Inputs) Row(i int) []float64 { return X.values[i*X.p : (i+1)*X.p : (i+1)*X.p] }

// column is coordinate c of the input vectors, one after another.
func (X *Inputs) column(c int) []float64 { return X.columns[c*X.stride:][:X.Len()] }

// Prefix returns the first n input vectors.
func (X *Inputs) Prefix(n int) *Inputs { return X.Slice(0, n) }

// Slice returns the input vectors from, …, to−1.
func (X *Inputs) Slice(from, to int) *Inputs {
	return &Inputs{X.p, X.values[from*X.p : to*X.p : to*X.p], X.columns[min(from, len(X.columns)):], X.stride, true}
}
