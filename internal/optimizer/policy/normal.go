package policy

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"

	"headroom/internal/lists"
)

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

// ratio is a/sd; for sd = 0 it is infinite, positive at a = 0.
func ratio(a, sd float64) float64 {
	switch {
	case sd > 0:
		return a / sd
	case a >= 0:
		return math.Inf(1)
	}
	return math.Inf(-1)
}

const (
	mostCorrelated = 1 - 1e-9
	// leastChance is the smallest chance that another is divided by.
	leastChance = 1e-12
)

// rules are for integrals up to a correlation of that size. Their error is below 1e-6 up to .99
// (TestChanceGiven).
var rules = [3]struct {
	until float64
	Rule
}{{0.3, NewRule(6)}, {0.75, NewRule(12)}, {1, NewRule(20)}}

// Rule is a Gauss–Legendre rule of integration over [−1, 1].
type Rule struct{ Nodes, Weights []float64 }

// NewRule returns the rule with so many points.
func NewRule(points int) Rule {
	r := Rule{make([]float64, points), make([]float64, points)}
	quad.Legendre{}.FixedLocations(r.Nodes, r.Weights, -1, 1)
	return r
}

func bind(correlation float64) float64 {
	return max(-mostCorrelated, min(correlation, mostCorrelated))
}

// chanceGiven is Φ₂(a, b; r)/Φ(a), the probability that B ≤ b where A ≤ a, for standard normal A
// and B of correlation r, at least leastChance:
//
//	Φ₂(a, b; r) = Φ(a)Φ(b) + (1/2π) ∫₀^{asin r} exp(−(a² + b² − 2ab sin θ)/(2 cos² θ)) dθ
//
// (Drezner, Wesolowsky, On the Computation of the Bivariate Normal Integral, 1990). Φ(a) is taken
// into the exponent, so that the quotient keeps its digits in the tails.
func chanceGiven(a, b, r float64) float64 {
	if r == 0 || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return max(normal(b), leastChance)
	}
	if a == b && r >= mostCorrelated {
		return 1
	}
	by := &rules[len(rules)-1]
	for i := len(rules) - 2; i >= 0 && math.Abs(r) < rules[i].until; i-- {
		by = &rules[i]
	}
	half, scale, sum := math.Asin(r)/2, logNormal(a), 0.0
	for n, x := range by.Nodes {
		var size float64
		if a == b {
			size = a * a / (1 + math.Sin(half*(1+x)))
		} else {
			sin, cos := math.Sincos(half * (1 + x))
			size = (a*a + b*b - 2*a*b*sin) / (2 * cos * cos)
		}
		sum += by.Weights[n] * math.Exp(-size-scale)
	}
	return max(leastChance, min(normal(b)+half*sum/(2*math.Pi), 1))
}

// leastChanceGiven is a lower bound of chanceGiven: the integral, and each sum that approximates
// it, has the sign of r. None of its exponents is above −a²/2 or −b²/2, nor, where a and b have one
// sign and r the other, above their sum.
func leastChanceGiven(a, b, r float64) float64 {
	if r >= 0 || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return max(normal(b), leastChance)
	}
	size := max(a*a, b*b)
	if a*b >= 0 {
		size = a*a + b*b
	}
	return max(normal(b)+r/4*math.Exp(-size/2-logNormal(a)), leastChance)
}

// slopesOfChance are the derivatives of ln chanceGiven by a, b and r, given its value.
func slopesOfChance(a, b, r, value float64) (byA, byB, byR float64) {
	if math.IsInf(a, 0) || math.IsInf(b, 0) {
		return 0, 0, 0
	}
	scale, rest := logNormal(a), math.Sqrt(1-r*r)
	byA = math.Exp(logDensity(a)-scale) * (normal((b-r*a)/rest)/value - 1)
	byB = math.Exp(logDensity(b)-scale+logNormal((a-r*b)/rest)) / value
	byR = math.Exp(-(a*a+b*b-2*r*a*b)/(2*rest*rest)-scale) / (2 * math.Pi * rest * value)
	return byA, byB, byR
}

func filled(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

func negated(v []float64) []float64 { return floats.ScaleTo(make([]float64, len(v)), -1, v) }

// positive is [a]⁺ = max(a, 0).
func positive(a float64) float64 { return max(a, 0) }

func clip(v, low, high float64) float64 { return min(max(v, low), high) }

// excess is Σ_j [c_j]⁺.
func excess(costs []float64) float64 {
	sum := 0.0
	for _, c := range costs {
		sum += positive(c)
	}
	return sum
}

func count(marked []bool) int { return lists.Count(marked, func(is bool) bool { return is }) }
