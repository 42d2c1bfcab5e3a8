package factor

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAssemblyAgreesWithGoToTheBit compares the inner loops on numbers of very different size,
// where any other order of summation shows.
func TestAssemblyAgreesWithGoToTheBit(t *testing.T) {
	t.Parallel()
	// The machine running the tests must have the instructions for the comparison to mean anything.
	if !fast {
		t.Fatal("this processor has no AVX2 and FMA; run the tests on one that has")
	}
	if !wide {
		t.Log("this processor has no AVX-512: its loops are not compared")
	}
	rapid.Check(t, func(t *rapid.T) {
		n, skew := 4*rapid.IntRange(1, 12).Draw(t, "n/4"), rapid.IntRange(0, 3).Draw(t, "skew")
		number := rapid.Custom(func(t *rapid.T) float64 {
			return math.Ldexp(rapid.Float64Range(-1, 1).Draw(t, "m"), rapid.IntRange(-40, 40).Draw(t, "e"))
		})
		var p [10]*float64
		for i := range p {
			p[i] = &rapid.SliceOfN(number, n+skew, n+skew).Draw(t, "row")[skew]
		}
		var start [24]partial
		for i := range start {
			start[i] = partial{number.Draw(t, "start"), 1, 2, 3}
		}
		asm1, pure1 := [1]partial{start[0]}, [1]partial{start[0]}
		dot1AVX2(&asm1, p[0], p[4], n)
		dot1Go(&pure1, p[0], p[4], n)
		asm4, pure4 := [4]partial(start[:4]), [4]partial(start[:4])
		dot4AVX2(&asm4, p[0], p[1], p[2], p[3], p[4], n)
		dot4Go(&pure4, p[0], p[1], p[2], p[3], p[4], n)
		asm12, pure12 := [12]partial(start[:12]), [12]partial(start[:12])
		dot12AVX2(&asm12, p[0], p[1], p[2], p[3], p[4], p[5], p[6], n)
		dot12Go(&pure12, p[0], p[1], p[2], p[3], p[4], p[5], p[6], n)
		if asm1 != pure1 || asm4 != pure4 || asm12 != pure12 {
			t.Fatalf("assembly\n%v\n%v\n%v\nGo\n%v\n%v\n%v", asm1, asm4, asm12, pure1, pure4, pure12)
		}
		if wide {
			wide24, pure24 := start, start
			dot24AVX512(&wide24, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], n)
			dot12Go((*[12]partial)(pure24[:12]), p[0], p[1], p[2], p[3], p[4], p[5], p[6], n)
			dot12Go((*[12]partial)(pure24[12:]), p[0], p[1], p[2], p[3], p[7], p[8], p[9], n)
			if wide24 != pure24 {
				t.Fatalf("wide\n%v\nGo\n%v", wide24, pure24)
			}
		}
		B := rapid.SliceOfN(number, 16, 16).Draw(t, "B")
		asmB, pureB := slices.Clone(B), slices.Clone(B)
		finish4AVX2((*[16]partial)(start[:16]), p[0], p[1], p[2], p[3], &asmB[0], &asmB[4], &asmB[8], &asmB[12])
		finish4Go((*[16]partial)(start[:16]), p[0], p[1], p[2], p[3], &pureB[0], &pureB[4], &pureB[8], &pureB[12])
		sameNumbers(t, "finish", asmB, pureB)
		y := rapid.SliceOfN(number, n, n).Draw(t, "y")
		alpha := [4]float64{number.Draw(t, "alpha"), number.Draw(t, "alpha"), -1, 0.3}
		added := func(add func(y *float64)) []float64 {
			sum := slices.Clone(y)
			add(&sum[0])
			return sum
		}
		sameNumbers(t, "axpy", added(func(y *float64) { axpyAVX2(alpha[0], p[0], y, n) }), added(func(y *float64) { axpyGo(alpha[0], p[0], y, n) }))
		four := added(func(y *float64) { axpy4Go(&alpha, p[0], p[1], p[2], p[3], y, n) })
		sameNumbers(t, "axpy4", added(func(y *float64) { axpy4AVX2(&alpha, p[0], p[1], p[2], p[3], y, n) }), four)
		if wide {
			sameNumbers(t, "wide axpy4", added(func(y *float64) { axpy4AVX512(&alpha, p[0], p[1], p[2], p[3], y, n) }), four)
		}
	})
}

func sameNumbers(t *rapid.T, what string, assembly, pure []float64) {
	t.Helper()
	for i := range pure {
		if math.Float64bits(assembly[i]) != math.Float64bits(pure[i]) && !(math.IsNaN(assembly[i]) && math.IsNaN(pure[i])) {
			t.Fatalf("%s[%d]: %v in assembly, %v in Go", what, i, assembly[i], pure[i])
		}
	}
}
