package factor

import "golang.org/x/sys/cpu"

// fast tells that the processor has the instructions of dot_amd64.s. Tests turn it off to compare.
var fast = cpu.X86.HasAVX2 && cpu.X86.HasFMA

//go:noescape
func dot1AVX2(s *[1]partial, a, b *float64, n int)

//go:noescape
func dot4AVX2(s *[4]partial, a0, a1, a2, a3, b *float64, n int)

//go:noescape
func dot12AVX2(s *[12]partial, a0, a1, a2, a3, b0, b1, b2 *float64, n int)

//go:noescape
func axpyAVX2(alpha float64, x, y *float64, n int)

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

func axpy(alpha float64, x, y *float64, n int) {
	if fast {
		axpyAVX2(alpha, x, y, n)
	} else {
		axpyGo(alpha, x, y, n)
	}
}
