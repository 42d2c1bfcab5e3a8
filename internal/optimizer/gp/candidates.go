package gp

import (
	"fmt"
	"slices"

	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
)

// Candidates keeps the posterior means and variances at M fixed points up to date while data are appended, in O(nM)
// a point and O(M) memory. For a new point i with w = L⁻ᵀ L[i,:i], its posterior covariance with candidate c,
// given the points before it, is k(x_i,c) − Σ_s w_s k(x_s,c); divided by L_ii it is the v_i(c) that enters
// mean += v_i z_i and variance −= v_i². Kernel rows are worked out again rather than kept. It agrees with PredictMany to about 1e-9.
type Candidates struct {
	inputs    *kernel.Inputs
	seen      int // number of data taken in
	told      int // number of entries of each z taken in
	means     [][]float64
	variances []float64
}

// NewCandidates works out the posterior of the responses zs at the points X from nothing.
func NewCandidates(d *Data, X *kernel.Inputs, zs [][]float64) *Candidates {
	c := &Candidates{inputs: X, seen: d.Len(), told: told(d, zs)}
	c.means, c.variances = d.PredictMany(X, zs)
	return c
}

// told is the common length of the responses.
func told(d *Data, zs [][]float64) int {
	if len(zs) == 0 {
		return d.Len()
	}
	for _, z := range zs {
		if len(z) != len(zs[0]) || len(z) > d.Len() {
			panic(fmt.Sprintf("gp: responses of %d and %d entries to %d points", len(z), len(zs[0]), d.Len()))
		}
	}
	return len(zs[0])
}

// Means returns one slice of M per response, Variances the latent variances; both to be read only.
func (c *Candidates) Means() [][]float64   { return c.means }
func (c *Candidates) Variances() []float64 { return c.variances }

// Clone returns Candidates that can be updated without touching c.
func (c *Candidates) Clone() *Candidates {
	clone := *c
	clone.means = make([][]float64, len(c.means))
	for r, m := range c.means {
		clone.means[r] = slices.Clone(m)
	}
	clone.variances = slices.Clone(c.variances)
	return &clone
}

// Update takes in the points that d has beyond those seen. d must begin with the data seen before, and each z with
// the entries seen before; a point that was seen without a reading cannot be given one later.
func (c *Candidates) Update(d *Data, zs [][]float64) {
	from, n := c.seen, d.Len()
	if n < from || len(zs) != len(c.means) || c.told < from && told(d, zs) != c.told {
		panic("gp: the data do not continue those the candidates were worked out from")
	}
	if n == from {
		return
	}
	M := c.inputs.Len()
	covariances, weights := matrix(n-from, M), make([][]float64, n-from)
	for a := range weights {
		i := from + a
		d.kernel.Row(covariances[a], d.inputs.Row(i), c.inputs)
		weights[a] = make([]float64, i)
		d.factor.SolveUpper(weights[a], d.factor.Row(i)[:i])
	}
	row := make([]float64, M)
	for s := range n - 1 {
		d.kernel.Row(row, d.inputs.Row(s), c.inputs)
		for a := max(0, s+1-from); a < len(weights); a++ {
			factor.Axpy(-weights[a][s], row, covariances[a])
		}
	}
	for a, v := range covariances {
		c.take(d, from+a, v, zs)
	}
	c.seen, c.told = n, told(d, zs)
}

// take brings in point i, v holding its posterior covariance with every candidate given the points before it.
func (c *Candidates) take(d *Data, i int, v []float64, zs [][]float64) {
	pivot := d.factor.Row(i)[i]
	for m := range v {
		v[m] /= pivot
		c.variances[m] = max(0, c.variances[m]-float64(v[m]*v[m]))
	}
	for r, z := range zs {
		if i < len(z) {
			factor.Axpy(z[i], v, c.means[r])
		}
	}
}
