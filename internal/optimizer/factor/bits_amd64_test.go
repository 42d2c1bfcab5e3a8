package factor

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestAssemblyAgreesWithGoToTheBit compares the inner loops on numbers of very different size, where any other order of summation shows.
func TestAssemblyAgreesWithGoToTheBit(t *testing.T) {
	t.Parallel()
	// The machine running the tests must have the instructions for the comparison to mean anything.
	if !fast {
		t.Fatal("this processor has no AVX2 and FMA; run the tests on one that has")
	}
	rapid.Check(t, func(t *rapid.T) {
		n, skew := 4*rapid.IntRange(1, 12).Draw(t, "n/4"), rapid.IntRange(0, 3).Draw(t, "skew")
		number := rapid.Custom(func(t *rapid.T) float64 {
			return math.Ldexp(rapid.Float64Range(-1, 1).Draw(t, "m"), rapid.IntRange(-40, 40).Draw(t, "e"))
		})
		var p [7]*float64
		for i := range p {
			p[i] = &rapid.SliceOfN(number, n+skew, n+skew).Draw(t, "row")[skew]
		}
		var start [12]partial
		for i := range start {
			start[i] = partial{number.Draw(t, "start"), 1, 2, 3}
		}
		asm1, pure1 := [1]partial{start[0]}, [1]partial{start[0]}
		dot1AVX2(&asm1, p[0], p[4], n)
		dot1Go(&pure1, p[0], p[4], n)
		asm4, pure4 := [4]partial(start[:4]), [4]partial(start[:4])
		dot4AVX2(&asm4, p[0], p[1], p[2], p[3], p[4], n)
		dot4Go(&pure4, p[0], p[1], p[2], p[3], p[4], n)
		asm12, pure12 := start, start
		dot12AVX2(&asm12, p[0], p[1], p[2], p[3], p[4], p[5], p[6], n)
		dot12Go(&pure12, p[0], p[1], p[2], p[3], p[4], p[5], p[6], n)
		if asm1 != pure1 || asm4 != pure4 || asm12 != pure12 {
			t.Fatalf("assembly\n%v\n%v\n%v\nGo\n%v\n%v\n%v", asm1, asm4, asm12, pure1, pure4, pure12)
		}
		asmY := rapid.SliceOfN(number, n, n).Draw(t, "y")
		pureY := append([]float64{}, asmY...)
		alpha := number.Draw(t, "alpha")
		axpyAVX2(alpha, p[0], &asmY[0], n)
		axpyGo(alpha, p[0], &pureY[0], n)
		for i := range asmY {
			if asmY[i] != pureY[i] {
				t.Fatalf("axpy[%d]: %v in assembly, %v in Go", i, asmY[i], pureY[i])
			}
		}
	})
}
