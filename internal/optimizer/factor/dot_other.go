//go:build !amd64

package factor

func dot1(s *[1]partial, a, b *float64, n int) { dot1Go(s, a, b, n) }

func dot4(s *[4]partial, a0, a1, a2, a3, b *float64, n int) { dot4Go(s, a0, a1, a2, a3, b, n) }

func dot12(s *[12]partial, a0, a1, a2, a3, b0, b1, b2 *float64, n int) {
	dot12Go(s, a0, a1, a2, a3, b0, b1, b2, n)
}

func axpy(alpha float64, x, y *float64, n int) { axpyGo(alpha, x, y, n) }

func dot24(s *[24]partial, a0, a1, a2, a3, b0, b1, b2, b3, b4, b5 *float64, n int) {
	dot12Go((*[12]partial)(s[:12]), a0, a1, a2, a3, b0, b1, b2, n)
	dot12Go((*[12]partial)(s[12:]), a0, a1, a2, a3, b3, b4, b5, n)
}

func axpy4(alpha *[4]float64, x0, x1, x2, x3, y *float64, n int) {
	axpy4Go(alpha, x0, x1, x2, x3, y, n)
}

func finish4(s *[16]partial, l0, l1, l2, l3, b0, b1, b2, b3 *float64) {
	finish4Go(s, l0, l1, l2, l3, b0, b1, b2, b3)
}
