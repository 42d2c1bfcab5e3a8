package factor

import "golang.org/x/sys/cpu"

// fast and wide tell that the processor has the instructions of dot_amd64.s and of dot512_amd64.s.
// Tests turn them off to compare.
var (
	fast = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	wide = fast && cpu.X86.HasAVX512F
)

//go:noescape
func dot1AVX2(s *[1]partial, a, b *float64, n int)

//go:noescape
func dot4AVX2(s *[4]partial, a0, a1, a2, a3, b *float64, n int)

//go:noescape
func dot12AVX2(s *[12]partial, a0, a1, a2, a3, b0, b1, b2 *float64, n int)

//go:noescape
func dot24AVX512(s *[24]partial, a0, a1, a2, a3, b0, b1, b2, b3, b4, b5 *float64, n int)

//go:noescape
func axpyAVX2(alpha float64, x, y *float64, n int)

//go:noescape
func axpy4AVX2(alpha *[4]float64, x0, x1, x2, x3, y *float64, n int)

//go:noescape
func axpy4AVX512(alpha *[4]float64, x0, x1, x2, x3, y *float64, n int)

//go:noescape
func finish4AVX2(s *[16]partial, l0, l1, l2, l3, b0, b1, b2, b3 *float64)

func dot1(s *[1]partial, a, b *float64, n int) {
	if fast {
		dot1AVX2(s, a, b, n)
	} else {
		dot1Go(s, a, b, n)
	}
}

func dot4(s *[4]partial, a0, a1, a2, a3, b *float64, n int) {
	if fast {
		dot4AVX2(s, a0, a1, a2, a3, b, n)
	} else {
		dot4Go(s, a0, a1, a2, a3, b, n)
	}
}

func dot12(s *[12]partial, a0, a1, a2, a3, b0, b1, b2 *float64, n int) {
	if fast {
		dot12AVX2(s, a0, a1, a2, a3, b0, b1, b2, n)
	} else {
		dot12Go(s, a0, a1, a2, a3, b0, b1, b2, n)
	}
}

func dot24(s *[24]partial, a0, a1, a2, a3, b0, b1, b2, b3, b4, b5 *float64, n int) {
	if wide {
		dot24AVX512(s, a0, a1, a2, a3, b0, b1, b2, b3, b4, b5, n)
	} else {
		dot12((*[12]partial)(s[:12]), a0, a1, a2, a3, b0, b1, b2, n)
		dot12((*[12]partial)(s[12:]), a0, a1, a2, a3, b3, b4, b5, n)
	}
}

func axpy(alpha float64, x, y *float64, n int) {
	if fast {
		axpyAVX2(alpha, x, y, n)
	} else {
		axpyGo(alpha, x, y, n)
	}
}

func axpy4(alpha *[4]float64, x0, x1, x2, x3, y *float64, n int) {
	switch {
	case wide:
		axpy4AVX512(alpha, x0, x1, x2, x3, y, n)
	case fast:
		axpy4AVX2(alpha, x0, x1, x2, x3, y, n)
	default:
		axpy4Go(alpha, x0, x1, x2, x3, y, n)
	}
}

func finish4(s *[16]partial, l0, l1, l2, l3, b0, b1, b2, b3 *float64) {
	if fast {
		finish4AVX2(s, l0, l1, l2, l3, b0, b1, b2, b3)
	} else {
		finish4Go(s, l0, l1, l2, l3, b0, b1, b2, b3)
	}
}
