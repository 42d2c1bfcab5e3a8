package policy

import "math"

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
