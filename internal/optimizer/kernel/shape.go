package kernel

import "math"

// farthest bounds squared distances, so that far points have correlation 0 and not ∞·0.
const farthest = 1e300

// squaredDistancesGo writes w² = Σ_c ((x_c − y_c)/ℓ_c)² to dst, at most farthest; ℓ is given by its
// inverses, coordinates with an inverse of 0 count for
// nothing, and coordinate c of y_i is ys[c*stride+i].
func squaredDistancesGo(dst, x, inverse, ys []float64, stride int) {
	for i := range dst {
		sum := 0.0
		for c, by := range inverse {
			if by != 0 {
				d := float64((x[c] - ys[c*stride+i]) * by)
				sum = math.FMA(d, d, sum)
			}
		}
		dst[i] = min(sum, farthest)
	}
}

// shapeGo turns squared distances w² into σ² times the correlation of a stationary form in the
// numbers, in place. The loops in assembly take the same steps on several values at a time.
func shapeGo(form form, values []float64, variance float64) {
	switch form {
	case squaredExponential:
		for i, w2 := range values {
			values[i] = variance * exp(-0.5*w2)
		}
	case matern12:
		for i, w2 := range values {
			values[i] = variance * exp(-math.Sqrt(w2))
		}
	case matern32:
		for i, w2 := range values {
			s := math.Sqrt(float64(3 * w2))
			values[i] = float64(variance*(1+s)) * exp(-s)
		}
	case matern52, mixed:
		for i, w2 := range values {
			t := float64(5 * w2) // s²
			s := math.Sqrt(t)
			values[i] = float64(variance*math.FMA(t, 1./3, 1+s)) * exp(-s)
		}
	}
}

// Constants of exp: log₂e, and ln 2 in two parts, the first with zeros at its end so that n·ln2High
// is exact.
const (
	log2e   = 1.44269504088896338700e+00
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
	// smallest is where e^x leaves the normal numbers; below it exp is 0.
	smallest = -708
)

// inverseFactorials are 1/k!, k = 13 to 2: the Taylor series of e^r, whose next term is below 5e-18
// for |r| ≤ ln2/2.
var inverseFactorials = [...]float64{
	1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320,
	1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2,
}

// exp returns e^x for x ≤ 0 to about one unit in the last place, and 0 below −708. With n = x/ln 2
// rounded to even and r = x − n ln 2, e^x = 2ⁿ e^r. Unlike math.Exp it takes the same steps on
// every machine.
func exp(x float64) float64 {
	if !(x >= smallest) {
		return 0
	}
	n := math.RoundToEven(float64(x * log2e))
	r := math.FMA(-n, ln2Low, math.FMA(-n, ln2High, x))
	series := inverseFactorials[0]
	for _, c := range inverseFactorials[1:] {
		series = math.FMA(series, r, c)
	}
	series = math.FMA(series, r, 1)
	series = math.FMA(series, r, 1)
	return math.Float64frombits(math.Float64bits(series) + uint64(int64(n))<<52)
}
