// Package warp transforms readings so that they suit a Gaussian process, by the transform of Yeo
// and Johnson (Biometrika 87, 2000):
//
//	ψ_p(z) = ((1+z)^p − 1)/p            z ≥ 0, p ≠ 0        ln(1+z)    p = 0
//	−((1−z)^{2−p} − 1)/(2−p)   z < 0, p ≠ 2        −ln(1−z)   p = 2
//
// with z a standardised reading, so that the unit does not matter. ψ_p is increasing, with slope 1
// at 0, and ψ_1 is the identity. For p between 0 and 2 it takes every value, so its inverse is
// defined everywhere.
//
// Readings above 0 that range over decades are modelled by their logarithm instead: by ψ_0 of (z −
// Origin)/Unit, which is the logarithm of all readings, and as far below the least as they range
// above it. Further below it is −ln(1−x) at x < 0, where ψ_0 would fall like a square: what an
// instrument reads slightly below zero would lie thousands of deviations from the others.
package warp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"headroom/internal/lists"
)

// Warp is w(z) = (ψ_Power((z − Origin)/Unit) − Centre)/Scale. Power lies in [0, 2], Scale is
// positive, and so is Unit, of which 0 stands for 1. Its JSON is part of ledgers, which are hashed.
type Warp struct {
	Power  float64 `json:"power"`
	Centre float64 `json:"centre"`
	Scale  float64 `json:"scale"`
	Origin float64 `json:"origin,omitempty"`
	Unit   float64 `json:"unit,omitempty"`
}

// IsZero tells whether w is the identity, which is not written to JSON.
func (w Warp) IsZero() bool { return w == Identity || w == Warp{} }

// Logarithmic tells whether w is the logarithm of readings.
func (w Warp) Logarithmic() bool { return w.Unit > 0 }

// Beyond tells whether z lies below all readings that a logarithm was taken of, where w is no
// logarithm.
func (w Warp) Beyond(z float64) bool { return w.Logarithmic() && w.input(z) < 0 }

// Straight tells whether w is linear.
func (w Warp) Straight() bool { return w.Power == 1 && !w.Logarithmic() }

// powerAt is the p of ψ_p at x, or at ψ_p(x), which has the same sign: 2 below a logarithm.
func (w Warp) powerAt(x float64) float64 {
	if w.Logarithmic() && x < 0 {
		return 2
	}
	return w.Power
}

// input is (z − Origin)/Unit.
func (w Warp) input(z float64) float64 {
	if !w.Logarithmic() {
		return z
	}
	return (z - w.Origin) / w.Unit
}

// Identity is the warp that changes nothing.
var Identity = Warp{Power: 1, Scale: 1}

// Candidates has the powers down to a fourth root of either tail, Fit chooses among those down to a
// square root. With stronger ones the mean of a wide posterior would be far from its median.
const (
	leastPower = 0.25
	mostPower  = 1.75
	fitReach   = 0.5 // how far from 1
	powerStep  = 0.05
	// leastSpread is the deviation up to which no warp is chosen: that of standardised readings is
	// 1, or rounding if all are equal, and that of logarithms is so small only where these are
	// linear.
	leastSpread = 1e-6
	// spreadPower is the standard deviation of the prior N(1, spreadPower²) of the power.
	spreadPower = 0.5
)

// Candidate is a warp with
//
//	−n ln Scale + Σ ln dψ_p/dz − (p − 1)²/(2·0.5²),
//
// the logarithm of how it stretches the readings, with the prior of its power: it is added to the
// log density of the warped readings.
type Candidate struct {
	Warp
	LogStretch float64
}

// Candidates are the warps of the powers 0.25, 0.3, …, 1.75 and, where all readings lie above zero,
// which is the z of the value 0, the logarithm, with the prior of power 0. Centre and Scale are the
// mean and the standard deviation (÷n) of the warped readings. There are none for readings that are
// all equal.
func Candidates(z []float64, zero float64) []Candidate {
	var all []Candidate
	for step := range int(math.Round((mostPower-leastPower)/powerStep)) + 1 {
		power := math.Round(100*(leastPower+powerStep*float64(step))) / 100
		w, likelihood := standardised(z, power)
		if !(w.Scale > leastSpread) {
			return nil
		}
		all = append(all, Candidate{w, likelihood - penalty(power)})
	}
	return append(all, logarithms(z, zero)...)
}

// penalty is −ln of the power's prior, up to a constant.
func penalty(power float64) float64 {
	deviation := (power - 1) / spreadPower
	return deviation * deviation / 2
}

// logarithms is the candidate ln(z − zero), if all z are above zero: with d = z − zero and Unit =
// (min d)²/max d, ψ_0((z − zero − Unit)/Unit) = ln(d/Unit) for d ≥ Unit.
func logarithms(z []float64, zero float64) []Candidate {
	least, most := slices.Min(z)-zero, slices.Max(z)-zero
	unit := least * (least / most)
	if !(least > 0 && most > least && unit > 0) {
		return nil
	}
	w := Warp{Origin: zero + unit, Unit: unit}
	of, likelihood := standardised(lists.Map(z, w.input), w.Power)
	if !(of.Scale > leastSpread) {
		return nil
	}
	w.Centre, w.Scale = of.Centre, of.Scale
	return []Candidate{{w, likelihood - float64(len(z))*math.Log(unit) - penalty(w.Power)}}
}

// Fit is the candidate with the largest LogStretch, the profile likelihood with the prior, among
// the powers from 0.5 to 1.5 and the logarithm: the one that makes readings z most like a normal
// sample. It is the identity for readings that are all equal.
func Fit(z []float64, zero float64) Warp {
	best, most := Identity, math.Inf(-1)
	for _, c := range Candidates(z, zero) {
		if (math.Abs(c.Power-1) <= fitReach || c.Logarithmic()) && c.LogStretch > most {
			best, most = c.Warp, c.LogStretch
		}
	}
	return best
}

// standardised is the warp of a power with which the readings have mean 0 and variance 1, and its
// log likelihood up to a constant.
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
	x := w.input(z)
	return (psi(x, w.powerAt(x)) - w.Centre) / w.Scale
}

// From is w⁻¹(u).
func (w Warp) From(u float64) float64 {
	if w == Identity {
		return u
	}
	x := w.Centre + w.Scale*u
	x = inverse(x, w.powerAt(x))
	if !w.Logarithmic() {
		return x
	}
	return w.Origin + w.Unit*x
}

// Slope is dw/dz.
func (w Warp) Slope(z float64) float64 {
	if w == Identity {
		return 1
	}
	x := w.input(z)
	slope := math.Exp(logSlope(x, w.powerAt(x))) / w.Scale
	if !w.Logarithmic() {
		return slope
	}
	return slope / w.Unit
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

// mostExponent and mostLogarithm keep inverses of a logarithm and of a power, and their squares,
// within a float64.
const mostExponent, mostLogarithm = 230, 350

// unpower is (1+pu)^{1/p} − 1 for u ≥ 0.
func unpower(u, p float64) float64 {
	if p == 0 {
		return math.Expm1(min(u, mostExponent))
	}
	return math.Expm1(min(math.Log1p(p*u)/p, mostLogarithm))
}

// Nodes and weights of the Gauss–Hermite rule: ∫ f(x) φ(x) dx ≈ Σ weight_i f(node_i), exact for
// polynomials of degree 63.
var nodes, weights = func() (x, w []float64) {
	x, w = make([]float64, 32), make([]float64, 32)
	quad.Hermite{}.FixedLocations(x, w, math.Inf(-1), math.Inf(1))
	for i := range x {
		x[i] *= math.Sqrt2
		w[i] /= math.SqrtPi
	}
	return x, w
}()

// Moments are the mean and the standard deviation of w⁻¹(U) for U ~ N(mean, sd²): exact for a
// linear w, else by a rule of 32 points. For a logarithm, where far tails nobody believes in would
// determine them (the mean would be e^{sd²/2} times the median), they are the median, and half the
// central interval of ±sd.
func (w Warp) Moments(mean, sd float64) (m, s float64) {
	switch {
	case w.Straight():
		return w.From(mean), w.Scale * sd
	case w.Logarithmic():
		return w.From(mean), (w.From(mean+sd) - w.From(mean-sd)) / 2
	}
	var z [32]float64
	for i, x := range nodes {
		z[i] = w.From(mean + sd*x)
		m += weights[i] * z[i]
	}
	variance := 0.0
	for i, z := range z {
		variance += weights[i] * ((z - m) * (z - m))
	}
	return m, math.Sqrt(variance)
}
