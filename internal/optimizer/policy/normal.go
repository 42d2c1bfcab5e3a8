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

// LogChance is ln Φ(h/√(1 + v)), the logarithm of the chance of a yes where the latent function of
// a probit model has mean h and variance v, with its derivatives by both: with u = h/√(1 + v),
//
//	∂/∂h = φ(u)/(Φ(u) √(1 + v)),   ∂/∂v = −u φ(u)/(2 Φ(u) (1 + v)).
func LogChance(h, v float64) (value, byMean, byVariance float64) {
	root := math.Sqrt(1 + v)
	u := h / root
	value = logNormal(u)
	slope := math.Exp(logDensity(u) - value)
	return value, slope / root, -u * slope / (2 * (1 + v))
}

// ExpectedImprovement is E[max(N(gain, sd²), 0)] = gain·Φ(gain/sd) + sd·φ(gain/sd).
func ExpectedImprovement(gain, sd float64) float64 {
	if sd == 0 {
		return positive(gain)
	}
	z := gain / sd
	return positive(gain*normal(z) + sd*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi))
}

// normal is Φ(z), the standard normal distribution function.
func normal(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// ratio is a/sd; for sd = 0 it is infinite, at a = 0 positively so.
func ratio(a, sd float64) float64 {
	switch {
	case sd > 0:
		return a / sd
	case a >= 0:
		return math.Inf(1)
	}
	return math.Inf(-1)
}
