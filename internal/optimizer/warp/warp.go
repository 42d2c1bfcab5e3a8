// Package warp bends readings so that a Gaussian process suits them, by the transform of Yeo and Johnson (Biometrika 87, 2000):
//
//	ψ_p(z) = ((1+z)^p − 1)/p            z ≥ 0, p ≠ 0        ln(1+z)    p = 0
//	         −((1−z)^{2−p} − 1)/(2−p)   z < 0, p ≠ 2        −ln(1−z)   p = 2
//
// with z a standardised reading, so that no unit matters. ψ_p rises, with slope 1 at 0, and ψ_1 is the identity. For p
// between 0 and 2 it takes every value, so its inverse is defined everywhere.
package warp

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// Warp is w(z) = (ψ_Power(z) − Centre)/Scale. Power lies in [0, 2], Scale is positive.
type Warp struct{ Power, Centre, Scale float64 }

// Identity changes nothing.
var Identity = Warp{Power: 1, Scale: 1}

// Candidates lists the powers up to a fourth root of one tail or the other, and Fit chooses among those up to a square root. At a logarithm, the mean of a wide posterior would be far
// from its median.
const (
	leastPower = 0.25
	mostPower  = 1.75
	fitReach   = 0.5 // how far from 1
	powerStep  = 0.05
	// spreadPower is the standard deviation of the prior N(1, spreadPower²) of the power.
	spreadPower = 0.5
)

// Candidate is a warp with
//
//	−n ln Scale + Σ ln dψ_p/dz − (p − 1)²/(2·0.5²),
//
// how it stretches the readings, as a logarithm, with the prior of its power: what is added to the logarithm of the warped readings' density.
type Candidate struct {
	Warp
	LogStretch float64
}

// Candidates are the warps of the powers 0.25, 0.3, …, 1.75, each with the warped readings' mean and standard deviation (÷n) as Centre and Scale; none for readings
// that are all equal.
func Candidates(z []float64) []Candidate {
	var all []Candidate
	for step := range int(math.Round((mostPower-leastPower)/powerStep)) + 1 {
		power := math.Round(100*(leastPower+powerStep*float64(step))) / 100
		w, likelihood := standardised(z, power)
		if !(w.Scale > 0) {
			return nil
		}
		deviation := (power - 1) / spreadPower
		all = append(all, Candidate{w, likelihood - deviation*deviation/2})
	}
	return all
}

// Fit is the candidate of the powers from 0.5 to 1.5 that makes readings z most like a normal sample, the one with the largest LogStretch: the profile likelihood with the prior. It is
// the identity for readings that are all equal.
func Fit(z []float64) Warp {
	best, most := Identity, math.Inf(-1)
	for _, c := range Candidates(z) {
		if math.Abs(c.Power-1) <= fitReach && c.LogStretch > most {
			best, most = c.Warp, c.LogStretch
		}
	}
	return best
}

// standardised is the warp of that power whose readings have mean 0 and variance 1, and its log likelihood up to a constant.
func standardised(z []float64, power float64) (w Warp, likelihood float64) {
	n := float64(len(z))
	w.Power = power
	for _, v := range z {
		w.Centre += psi(v, power) / n
		likelihood += logSlope(v, power)
	}
	variance := 0.0
	for _, v := range z {
		d := psi(v, power) - w.Centre
		variance += d * d / n
	}
	w.Scale = math.Sqrt(variance)
	return w, likelihood - n*math.Log(w.Scale)
}

// To is w(z).
func (w Warp) To(z float64) float64 {
	if w == Identity {
		return z
	}
	return (psi(z, w.Power) - w.Centre) / w.Scale
}

// From is w⁻¹(u).
func (w Warp) From(u float64) float64 {
	if w == Identity {
		return u
	}
	return inverse(w.Centre+w.Scale*u, w.Power)
}

// Slope is dw/dz.
func (w Warp) Slope(z float64) float64 {
	if w == Identity {
		return 1
	}
	return math.Exp(logSlope(z, w.Power)) / w.Scale
}

// logSlope is ln dψ_p/dz = (p−1) ln(1+z) for z ≥ 0, (1−p) ln(1−z) for z < 0.
func logSlope(z, p float64) float64 {
	if z < 0 {
		p = 2 - p
	}
	return (p - 1) * math.Log1p(math.Abs(z))
}

// psi is ψ_p(z).
func psi(z, p float64) float64 {
	if z >= 0 {
		return power(z, p)
	}
	return -power(-z, 2-p)
}

// power is ((1+z)^p − 1)/p for z ≥ 0, without cancellation.
func power(z, p float64) float64 {
	if p == 0 {
		return math.Log1p(z)
	}
	return math.Expm1(p*math.Log1p(z)) / p
}

// inverse is ψ_p⁻¹(u).
func inverse(u, p float64) float64 {
	if u >= 0 {
		return unpower(u, p)
	}
	return -unpower(-u, 2-p)
}

// unpower is (1+pu)^{1/p} − 1 for u ≥ 0.
func unpower(u, p float64) float64 {
	if p == 0 {
		return math.Expm1(u)
	}
	return math.Expm1(math.Log1p(p*u) / p)
}

// Nodes and weights of the Gauss–Hermite rule: ∫ f(x) φ(x) dx ≈ Σ weight_i f(node_i), exact for polynomials of degree 63.
var nodes, weights = func() (x, w []float64) {
	x, w = make([]float64, 32), make([]float64, 32)
	quad.Hermite{}.FixedLocations(x, w, math.Inf(-1), math.Inf(1))
	for i := range x {
		x[i] *= math.Sqrt2
		w[i] /= math.SqrtPi
	}
	return x, w
}()

// Expect is E[f(w⁻¹(U))] for U ~ N(mean, sd²), by the 32-point Gauss–Hermite rule.
func (w Warp) Expect(mean, sd float64, f func(z float64) float64) float64 {
	sum := 0.0
	for i, x := range nodes {
		sum += weights[i] * f(w.From(mean+sd*x))
	}
	return sum
}

// Moments are the mean and the standard deviation of w⁻¹(U) for U ~ N(mean, sd²): exact for the identity, else by Expect's rule.
func (w Warp) Moments(mean, sd float64) (m, s float64) {
	if w == Identity {
		return mean, sd
	}
	m = w.Expect(mean, sd, func(z float64) float64 { return z })
	variance := w.Expect(mean, sd, func(z float64) float64 { return (z - m) * (z - m) })
	return m, math.Sqrt(variance)
}
