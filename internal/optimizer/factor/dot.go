package factor

import "math"

// The summation order. Every sum of products in this package is
//
//	Σ a_i b_i = (s₀ + s₁) + (s₂ + s₃),   s_l = Σ_{i ≡ l mod 4} a_i b_i,
//
// each s_l starting at 0 and taking its products by ascending i with one rounding each (fused
// multiply-add). Four lanes are what one vector register holds; the order does not depend on the
// machine, on how many sums are worked out together, or on where a sum is interrupted and taken up
// again, so the bits are always the same.

// lanes is the number of partial sums s_l.
const lanes = 4

// partial holds the lanes of one sum.
type partial [lanes]float64

// total adds the lanes up.
func (s *partial) total() float64 { return (s[0] + s[1]) + (s[2] + s[3]) }

// Dot returns Σ a_i b_i over the length of a in the order of this package; b must be at least as
// long.
//
//go:norace
func Dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s [1]partial
	whole := len(a) &^ (lanes - 1)
	if whole > 0 {
		dot1(&s, &a[0], &b[0], whole)
	}
	for i := whole; i < len(a); i++ {
		s[0][i-whole] = math.FMA(a[i], b[i], s[0][i-whole])
	}
	return s[0].total()
}

// Axpy adds alpha·x to y, y_i ← alpha x_i + y_i with one rounding each; y must be at least as long
// as x.
//
//go:norace
func Axpy(alpha float64, x, y []float64) {
	y = y[:len(x)]
	whole := len(x) &^ (lanes - 1)
	if whole > 0 {
		axpy(alpha, &x[0], &y[0], whole)
	}
	for i := whole; i < len(x); i++ {
		y[i] = math.FMA(alpha, x[i], y[i])
	}
}
