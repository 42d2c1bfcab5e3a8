package factor

import (
	"math"
	"unsafe"
)

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

// finish4Go is finish for four right-hand sides b: those of the entries in question, l_r being the
// entries of row r of L from the same column on.
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
