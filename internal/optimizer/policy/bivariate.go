package policy

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

const (
	// mostCorrelated keeps the densities of two variables finite.
	mostCorrelated = 1 - 1e-9
	// leastChance is the smallest chance that another is divided by.
	leastChance = 1e-12
)

// rules are Gauss–Legendre rules on [−1, 1], for integrals up to a correlation of that size. What
// they leave is below 1e-6 up to .99 (TestChanceGiven).
var rules = [3]rule{newRule(0.3, 6), newRule(0.75, 12), newRule(1, 20)}

type rule struct {
	until         float64
	nodes, weight []float64
}

func newRule(until float64, count int) rule {
	r := rule{until, make([]float64, count), make([]float64, count)}
	quad.Legendre{}.FixedLocations(r.nodes, r.weight, -1, 1)
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
	for n, x := range by.nodes {
		var size float64
		if a == b {
			size = a * a / (1 + math.Sin(half*(1+x)))
		} else {
			sin, cos := math.Sincos(half * (1 + x))
			size = (a*a + b*b - 2*a*b*sin) / (2 * cos * cos)
		}
		sum += by.weight[n] * math.Exp(-size-scale)
	}
	return max(leastChance, min(normal(b)+half*sum/(2*math.Pi), 1))
}

// leastChanceGiven is at most chanceGiven: the integral, and each of the sums that stand for it, has
// the sign of r, and of its exponents none is above −a²/2 or −b²/2, nor, where a and b have one sign
// and r the other, above the sum of both.
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

// slopesOfChance are the derivatives of ln chanceGiven, whose value is given, by a, b and r.
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
