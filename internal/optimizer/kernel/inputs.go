package kernel

import "fmt"

// Inputs are n input vectors of p coordinates, row after row. They grow at the end; a prefix shares what it has and is
// never overwritten: appended to, it copies. Do not copy Inputs; take a Prefix. Coordinates are kept as given, not divided by lengthscales, so
// that metrics with different kernels share them.
type Inputs struct {
	p      int
	values []float64
}

// NewInputs returns no input vectors, of p ≥ 1 coordinates each.
func NewInputs(p int) *Inputs {
	if p < 1 {
		panic(fmt.Sprintf("kernel: inputs of %d coordinates", p))
	}
	return &Inputs{p: p}
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
	X.values = append(X.values, x...)
}

// Row returns input vector i, to be read only.
func (X *Inputs) Row(i int) []float64 { return X.values[i*X.p : (i+1)*X.p : (i+1)*X.p] }

// Prefix returns the first n input vectors.
func (X *Inputs) Prefix(n int) *Inputs { return &Inputs{X.p, X.values[: n*X.p : n*X.p]} }

// Slice returns the input vectors from, …, to−1.
func (X *Inputs) Slice(from, to int) *Inputs {
	return &Inputs{X.p, X.values[from*X.p : to*X.p : to*X.p]}
}
