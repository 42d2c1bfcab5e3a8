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
