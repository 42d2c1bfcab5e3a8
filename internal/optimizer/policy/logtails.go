package policy

import "math"

// The logarithms of a normal distribution's tails. What follows keeps its digits where e^{−z²/2}
// has long underflowed, so that points that are hopeless can still be told apart (Ament, Daulton,
// Eriksson, Balandat, Bakshy: Unexpected Improvements to Expected Improvement for Bayesian
// Optimization, 2023). With φ and Φ the standard normal density and distribution function, and for
// z = −x < 0 Mills' ratio
//
//	R(x) = Φ(−x)/φ(x) = 1/(x + c(x)),   c(x) = 1/(x + 2/(x + 3/(x + …)))
//
// (Laplace's continued fraction), both logarithms follow without cancellation:
//
//	ln Φ(−x) = −x²/2 − ln√(2π) − ln(x + c),
//	h(−x) = φ(x) − xΦ(−x) = φ(x) (1 − xR) = φ(x) c/(x + c).

const (
	// farTail is the x from which the continued fraction is used; 60 terms of it are exact to
	// rounding there.
	farTail      = 4
	laplaceTerms = 60
)

// logRootTwoPi is ln√(2π).
var logRootTwoPi = 0.5 * math.Log(2*math.Pi)

// logDensity is ln φ(z).
func logDensity(z float64) float64 { return -z*z/2 - logRootTwoPi }

// laplace is c(x) for x ≥ farTail.
func laplace(x float64) float64 {
	c := 0.0
	for k := laplaceTerms; k >= 1; k-- {
		c = float64(k) / (x + c)
	}
	return c
}

// logNormal is ln Φ(z). Its error is within 1e-13 of the result's size for |z| ≤ 1e6 and beyond,
// down to −∞ for z = −∞.
func logNormal(z float64) float64 {
	switch {
	case z > 0:
		return math.Log1p(-0.5 * math.Erfc(z/math.Sqrt2))
	case z > -farTail:
		return math.Log(0.5 * math.Erfc(-z/math.Sqrt2))
	case math.IsInf(z, -1):
		return z
	}
	x := -z
	return logDensity(x) - math.Log(x+laplace(x))
}

// logImprovement is ln h(z), h(z) = E[max(N(z, 1), 0)] = φ(z) + zΦ(z). Its error is within 1e-13 of
// max(1, |ln h|) for |z| ≤ 1e6 and beyond.
func logImprovement(z float64) float64 {
	switch {
	case z > -farTail:
		return math.Log(math.Exp(logDensity(z)) + z*normal(z))
	case math.IsInf(z, -1):
		return z
	}
	x := -z
	c := laplace(x)
	return logDensity(x) + math.Log(c/(x+c))
}

// logExpectedImprovement is ln E[max(N(gain, sd²), 0)] = ln sd + ln h(gain/sd).
func logExpectedImprovement(gain, sd float64) float64 {
	if sd == 0 {
		return math.Log(positive(gain))
	}
	return math.Log(sd) + logImprovement(gain/sd)
}
