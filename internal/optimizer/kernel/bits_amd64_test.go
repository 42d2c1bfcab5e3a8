package kernel

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The machine running the tests must have the instructions for these comparisons to mean anything;
// every amd64 server does.
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
	if !wide {
		t.Log("this processor has no AVX-512: its loops are not compared")
	}
	rapid.Check(t, func(t *rapid.T) {
		p, n, more := rapid.IntRange(1, 9).Draw(t, "p"), rapid.IntRange(1, 37).Draw(t, "n"), rapid.IntRange(0, 3).Draw(t, "more")
		number := rapid.OneOf(rapid.Float64Range(-3, 3), rapid.Float64Range(-1e4, 1e4), rapid.Float64())
		x, inverse := make([]float64, p), make([]float64, p)
		ys := rapid.SliceOfN(number, (n+more)*p, (n+more)*p).Draw(t, "ys")
		for c := range p {
			x[c] = number.Draw(t, "x")
			inverse[c] = rapid.OneOf(rapid.Float64Range(1e-3, 1e3), rapid.Just(0.)).Draw(t, "1/ℓ")
			ys[c*(n+more)] = x[c] // one point coincides
		}
		want := make([]float64, n)
		squaredDistancesGo(want, x, inverse, ys, n+more)
		if want[0] != 0 {
			t.Fatalf("%v from a point that coincides", want[0])
		}
		check := func(what string, count int, distances func(dst *float64, n int), loops func(form, []float64, float64)) {
			got := make([]float64, count+1)
			got[count] = 7 // what lies behind is left alone
			distances(&got[0], count)
			equalBits(t, what+" distance", got, append(want[:count:count], 7))
			for _, form := range []form{squaredExponential, matern12, matern32, matern52} {
				assembly, pure := slices.Clone(got), slices.Clone(got[:count])
				loops(form, assembly[:count], 1.7)
				shapeGo(form, pure, 1.7)
				equalBits(t, what+" "+Names[form], assembly, append(pure, 7))
				if !(pure[0] == 1.7) {
					t.Fatalf("%s: k(x, x) = %v, want the variance", Names[form], pure[0])
				}
			}
		}
		if n >= 4 {
			check("AVX2", n&^3, func(dst *float64, n int) { squaredDistancesAVX2(dst, &x[0], &inverse[0], &ys[0], len(ys)/p, p, n) }, shapeAVX2)
		}
		if wide {
			check("AVX-512", n, func(dst *float64, n int) { squaredDistancesAVX512(dst, &x[0], &inverse[0], &ys[0], len(ys)/p, p, n) }, shapeAVX512)
		}
	})
}
