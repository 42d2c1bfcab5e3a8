package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The machine running the tests must have the instructions for these comparisons to mean anything; every amd64 server does.
func needFast(t *testing.T) {
	t.Helper()
	if !fast {
		t.Fatal("this processor has no AVX2 and FMA; run the tests on one that has")
	}
}

func equalBits(t rapid.TB, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%s[%d]: %v in assembly, %v in Go", what, i, got[i], want[i])
		}
	}
}

func TestAssemblyAgreesWithGoToTheBit(t *testing.T) {
	t.Parallel()
	needFast(t)
	loops := map[form]func(*float64, float64, int){
		squaredExponential: squaredExponentialAVX2, matern12: matern12AVX2, matern32: matern32AVX2, matern52: matern52AVX2,
	}
	rapid.Check(t, func(t *rapid.T) {
		p, n := rapid.IntRange(1, 9).Draw(t, "p"), 4*rapid.IntRange(1, 9).Draw(t, "n/4")
		number := rapid.OneOf(rapid.Float64Range(-3, 3), rapid.Float64Range(-1e4, 1e4), rapid.Float64())
		x, inverse := make([]float64, p), make([]float64, p)
		for c := range p {
			x[c] = number.Draw(t, "x")
			inverse[c] = rapid.Float64Range(1e-3, 1e3).Draw(t, "1/ℓ")
		}
		ys := rapid.SliceOfN(number, n*p, n*p).Draw(t, "ys")
		copy(ys, x) // one point coincides
		got, want := make([]float64, n), make([]float64, n)
		squaredDistancesAVX2(&got[0], &x[0], &inverse[0], &ys[0], p, n)
		squaredDistancesGo(want, x, inverse, ys)
		equalBits(t, "distance", got, want)
		for form, loop := range loops {
			assembly, pure := append([]float64{}, got...), append([]float64{}, got...)
			loop(&assembly[0], 1.7, n)
			shapeGo(form, pure, 1.7)
			equalBits(t, Names[form], assembly, pure)
			if !(pure[0] == 1.7) {
				t.Fatalf("%s: k(x, x) = %v, want the variance", Names[form], pure[0])
			}
		}
	})
}
