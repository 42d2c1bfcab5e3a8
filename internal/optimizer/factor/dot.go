package factor

import (
	"math"
	"slices"
	"unsafe"
)

// The summation order. Every sum of products in this package is
//
//	Σ a_i b_i = (s₀ + s₁) + (s₂ + s₃),   s_l = Σ_{i ≡ l mod 4} a_i b_i,
//
// where each s_l starts at 0 and adds its products by ascending i with one rounding each (fused
// multiply-add). One vector register holds four lanes. The order does not depend on the machine, on
// how many sums are computed together, or on where a sum is interrupted and continued, so the bits
// are always the same.

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

// Sums computes M sums of products at once, a term of each at a time: sum i is Σ_s a_s x_s[i], to
// the same bits as Dot(a, x[i]).
type Sums struct {
	lanes [lanes][]float64
	terms int
}

// NewSums returns M empty sums.
func NewSums(M int) *Sums {
	s := new(Sums)
	for l := range s.lanes {
		s.lanes[l] = make([]float64, M)
	}
	return s
}

// Add adds a·x[i] to every sum i.
func (s *Sums) Add(a float64, x []float64) {
	Axpy(a, x, s.lanes[s.terms%lanes])
	s.terms++
}

// AddSquares adds x[i]² to every sum i.
func (s *Sums) AddSquares(x []float64) {
	y := s.lanes[s.terms%lanes][:len(x)]
	for i, v := range x {
		y[i] = math.FMA(v, v, y[i])
	}
	s.terms++
}

// Total returns sum i.
func (s *Sums) Total(i int) float64 {
	return (s.lanes[0][i] + s.lanes[1][i]) + (s.lanes[2][i] + s.lanes[3][i])
}

// Clone returns a copy.
func (s *Sums) Clone() *Sums {
	clone := &Sums{terms: s.terms}
	for l := range s.lanes {
		clone.lanes[l] = slices.Clone(s.lanes[l])
	}
	return clone
}

// The pure Go forms of the inner loops. n is a positive multiple of lanes; every pointer leads to n
// numbers.

// dot1Go adds the products of a and b to the lanes of s.
func dot1Go(s *[1]partial, a, b *float64, n int) {
	addProducts(&s[0], unsafe.Slice(a, n), unsafe.Slice(b, n))
}

// dot4Go adds the products of a_r and b to the lanes of s_r for four a.
func dot4Go(s *[4]partial, a0, a1, a2, a3, b *float64, n int) {
	for r, a := range [4]*float64{a0, a1, a2, a3} {
		addProducts(&s[r], unsafe.Slice(a, n), unsafe.Slice(b, n))
	}
}

// dot12Go adds the products of a_r and b_c to the lanes of s_{4c+r} for four a and three b.
func dot12Go(s *[12]partial, a0, a1, a2, a3, b0, b1, b2 *float64, n int) {
	for r, a := range [4]*float64{a0, a1, a2, a3} {
		for c, b := range [3]*float64{b0, b1, b2} {
			addProducts(&s[4*c+r], unsafe.Slice(a, n), unsafe.Slice(b, n))
		}
	}
}

// axpyGo adds alpha·x to y.
func axpyGo(alpha float64, x, y *float64, n int) {
	xs, ys := unsafe.Slice(x, n), unsafe.Slice(y, n)
	for i, v := range xs {
		ys[i] = math.FMA(alpha, v, ys[i])
	}
}

// axpy4Go adds alpha_r·x_r to y for four x, one after another.
func axpy4Go(alpha *[4]float64, x0, x1, x2, x3, y *float64, n int) {
	for r, x := range [4]*float64{x0, x1, x2, x3} {
		axpyGo(alpha[r], x, y, n)
	}
}

// finish4Go is finish for four right-hand sides. Each b points to entries j to j+3, and each l_r to
// the same columns of row r of L.
func finish4Go(s *[16]partial, l0, l1, l2, l3, b0, b1, b2, b3 *float64) {
	for c, b := range [4]*float64{b0, b1, b2, b3} {
		finish((*[4]float64)(unsafe.Pointer(b)), l0, (*[2]float64)(unsafe.Pointer(l1)), (*[3]float64)(unsafe.Pointer(l2)), (*[4]float64)(unsafe.Pointer(l3)), (*[4]partial)(s[4*c:]))
	}
}

func addProducts(s *partial, a, b []float64) {
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	for i := 0; i+3 < len(a) && i+3 < len(b); i += lanes {
		s0 = math.FMA(a[i], b[i], s0)
		s1 = math.FMA(a[i+1], b[i+1], s1)
		s2 = math.FMA(a[i+2], b[i+2], s2)
		s3 = math.FMA(a[i+3], b[i+3], s3)
	}
	*s = partial{s0, s1, s2, s3}
}
