package kernel

import "golang.org/x/sys/cpu"

// fast and wide tell that the processor has the instructions of shape_amd64.s and of
// shape512_amd64.s.
var (
	fast = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	wide = fast && cpu.X86.HasAVX512F
)

// constants are those of shape_amd64.s, four times each to fill a register. Their order is the
// assembly's.
//
//lint:ignore U1000 the assembly reads it
var constants = fourTimes(append([]float64{
	log2e, ln2High, ln2Low, smallest, farthest, 1, -0.5, 3, 5, 1. / 3,
}, inverseFactorials[:]...))

//lint:ignore U1000 constants uses it
func fourTimes(values []float64) (table [22][4]float64) {
	for i, v := range values {
		table[i] = [4]float64{v, v, v, v}
	}
	return table
}

// In what follows n is a positive multiple of 4 for AVX2, and positive for AVX-512.

// squaredDistancesAVX2 is squaredDistancesGo for n vectors of p ≥ 1 coordinates.
//
//go:noescape
func squaredDistancesAVX2(dst, x, inverse, ys *float64, stride, p, n int)

//go:noescape
func squaredDistancesAVX512(dst, x, inverse, ys *float64, stride, p, n int)

//go:noescape
func squaredExponentialAVX2(values *float64, variance float64, n int)

//go:noescape
func matern12AVX2(values *float64, variance float64, n int)

//go:noescape
func matern32AVX2(values *float64, variance float64, n int)

//go:noescape
func matern52AVX2(values *float64, variance float64, n int)

//go:noescape
func squaredExponentialAVX512(values *float64, variance float64, n int)

//go:noescape
func matern12AVX512(values *float64, variance float64, n int)

//go:noescape
func matern32AVX512(values *float64, variance float64, n int)

//go:noescape
func matern52AVX512(values *float64, variance float64, n int)

func squaredDistances(dst, x, inverse, ys []float64, stride int) {
	whole := 0
	switch {
	case wide && len(dst) > 0:
		whole = len(dst)
		squaredDistancesAVX512(&dst[0], &x[0], &inverse[0], &ys[0], stride, len(x), whole)
	case fast && len(dst) >= 4:
		whole = len(dst) &^ 3
		squaredDistancesAVX2(&dst[0], &x[0], &inverse[0], &ys[0], stride, len(x), whole)
	}
	if whole < len(dst) {
		squaredDistancesGo(dst[whole:], x, inverse, ys[whole:], stride)
	}
}

func shape(form form, values []float64, variance float64) {
	whole := 0
	switch {
	case wide && len(values) > 0:
		whole = len(values)
		shapeAVX512(form, values, variance)
	case fast && len(values) >= 4:
		whole = len(values) &^ 3
		shapeAVX2(form, values[:whole], variance)
	}
	shapeGo(form, values[whole:], variance)
}

func shapeAVX2(form form, values []float64, variance float64) {
	switch form {
	case squaredExponential:
		squaredExponentialAVX2(&values[0], variance, len(values))
	case matern12:
		matern12AVX2(&values[0], variance, len(values))
	case matern32:
		matern32AVX2(&values[0], variance, len(values))
	case matern52, mixed:
		matern52AVX2(&values[0], variance, len(values))
	}
}

func shapeAVX512(form form, values []float64, variance float64) {
	switch form {
	case squaredExponential:
		squaredExponentialAVX512(&values[0], variance, len(values))
	case matern12:
		matern12AVX512(&values[0], variance, len(values))
	case matern32:
		matern32AVX512(&values[0], variance, len(values))
	case matern52, mixed:
		matern52AVX512(&values[0], variance, len(values))
	}
}
