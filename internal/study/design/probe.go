package design

import (
	"fmt"
	"math"
)

const (
	probePoints   = 400    // spread over the space to try expressions at
	searchPoints  = 20_000 // tried before a space counts as empty
	cornersUpTo   = 8      // parameters; beyond that, only corners next to the two extreme ones
	maxProbesKept = 200
)

// sample tries points all over the space, or all candidates: it measures how large the numbers are
// that each limit compares, and keeps some allowed points for expressions to be tried at.
func (s *space) sample(arms [][]float64) {
	s.scales = make([]float64, len(s.limits))
	visit := func(x []float64) {
		for i, limit := range s.limits {
			if left, right, defined := limit.sides(x); defined {
				s.scales[i] = math.Max(s.scales[i], math.Max(math.Abs(left), math.Abs(right)))
			}
		}
	}
	if arms != nil {
		for _, x := range arms {
			visit(x)
		}
		for _, x := range arms {
			s.keep(x)
		}
		return
	}
	points := s.spread(probePoints)
	for _, x := range points {
		visit(x)
	}
	for _, x := range points {
		if s.inBounds(x) {
			s.keep(x)
		}
	}
	for k := 0; s.shares() && k < probePoints; k++ {
		s.keepFilled(k)
	}
	for k := probePoints; len(s.probes) == 0 && k < searchPoints; k++ {
		if x := s.along(k); s.inBounds(x) {
			s.keep(x)
		}
		s.keepFilled(k)
	}
}

// keepFilled keeps point k of the recurrence where it leaves every remainder within its bounds.
func (s *space) keepFilled(k int) {
	if !s.shares() {
		return
	}
	u := s.recurrence(k)
	s.fill(u)
	if x := s.settled(u); s.inBounds(x) {
		s.keep(x)
	}
}

// keep keeps x as a probe if no limit forbids it.
func (s *space) keep(x []float64) {
	if len(s.probes) < maxProbesKept && s.broken(x, personSlack) < 0 {
		s.probes = append(s.probes, x)
	}
}

// spread returns the physical values of corners, the centre and n points between.
func (s *space) spread(n int) [][]float64 {
	var points [][]float64
	d := len(s.axes)
	u := make([]float64, d)
	add := func() { points = append(points, s.settled(u)) }
	if d <= cornersUpTo {
		for corner := range 1 << d {
			for i := range u {
				u[i] = float64(corner >> i & 1)
			}
			add()
		}
	} else {
		for _, from := range []float64{0, 1} {
			for flipped := -1; flipped < d; flipped++ {
				for i := range u {
					u[i] = from
				}
				if flipped >= 0 {
					u[flipped] = 1 - from
				}
				add()
			}
		}
	}
	for i := range u {
		u[i] = 0.5
	}
	add()
	for k := range n {
		points = append(points, s.along(k))
	}
	return points
}

// settled returns the physical values that can be set nearest to u.
func (s *space) settled(u []float64) []float64 {
	x := make([]float64, len(u))
	for i := range s.axes {
		a := &s.axes[i]
		x[i] = a.physical(u[i])
		if a.step > 0 {
			x[i] = a.snap(x[i])
		}
	}
	s.remainders(x)
	return x
}

// along returns the physical values that can be set nearest to point k of the recurrence.
func (s *space) along(k int) []float64 { return s.settled(s.recurrence(k)) }

// recurrence returns point k of an additive recurrence that fills the space evenly in any
// dimension,
//
//	u_i = frac(½ + (k+1) φ^{−i−1}),   φ^{d+1} = φ + 1,
//
// after Roberts, "The unreasonable effectiveness of quasirandom sequences" (2018).
func (s *space) recurrence(k int) []float64 {
	u := make([]float64, len(s.axes))
	for i := range u {
		_, u[i] = math.Modf(0.5 + float64(k+1)*s.steps[i])
	}
	return u
}

// recurrenceSteps are the powers φ^{−i−1} of a recurrence in d dimensions.
func recurrenceSteps(d int) []float64 {
	phi := 2.0
	for range 40 {
		phi = math.Pow(1+phi, 1/float64(d+1))
	}
	steps := make([]float64, d)
	for i := range steps {
		steps[i] = math.Pow(phi, -float64(i+1))
	}
	return steps
}

// verify tries what Check alone needs to know: that every expression has a value wherever it will
// be asked for one, that something can be suggested at all, and (in models) that matrices are
// covariances.
func (b *compiler) verify(costsGood bool) {
	s := b.out.space
	if len(*b.faults) > 0 {
		return
	}
	b.verifyLimits()
	switch {
	case len(*b.faults) > 0:
		return
	case len(s.probes) == 0 && b.out.arms != nil:
		b.faults.Add("input_constraints", nil, "no candidate is within all input constraints")
	case len(s.probes) == 0 && len(s.limits) > 0:
		b.faults.Add("input_constraints", nil, "no settings were found that are within all input constraints and the remainders' bounds; loosen one")
	case len(s.probes) == 0:
		b.faults.Add("parameters", nil, "no settings were found that keep every remainder within its low and high")
	case !b.anyAvailable():
		b.faults.Add("unavailable", nil, "nothing is left to suggest; something has to stay available")
	}
	if costsGood {
		b.verifyForms()
		b.verifyMatrices()
	}
}

func (b *compiler) anyAvailable() bool {
	s := b.out.space
	if arms := b.out.Config.Space.Available; arms != nil {
		for _, available := range arms {
			if available {
				return true
			}
		}
		return false
	}
	for i := range s.axes {
		if a := &s.axes[i]; a.levels > 0 && len(a.gone) >= a.levels {
			return false
		}
	}
	return true
}

// verifyLimits reports input constraints that have no value somewhere in the space.
func (b *compiler) verifyLimits() {
	s := b.out.space
	points := b.out.arms
	if points == nil {
		points = s.spread(probePoints)
	}
	for _, limit := range s.limits {
		for _, x := range points {
			if _, _, defined := limit.sides(x); !defined && (b.out.arms != nil || s.inBounds(x)) {
				b.faults.Add(fmt.Sprintf("input_constraints[%d]", limit.number), limit.text,
					"has no finite value at %s (a division by zero, an overflow, or a root or logarithm of a negative number)", s.describe(x))
				break
			}
		}
	}
}

// contextTrials are numbers that stand for a context not known yet; an expression is at fault where
// none of them gives it a value.
var contextTrials = []float64{1, 0.5, 7, 100, 1e4, 0, -1, -100}

// verifyForms reports known forms that have no value somewhere in the space.
func (b *compiler) verifyForms() {
	for _, g := range b.out.given {
		if g.value == nil {
			continue
		}
		points := b.out.space.probes
		if b.out.arms != nil {
			points = b.out.arms
		}
		for i, x := range points {
			if b.out.arms != nil && !b.out.Config.Space.Available[i] {
				continue
			}
			if v := g.try(x); !Computable(v) {
				b.faults.Add(constraintAt(g.cost)+".expression", g.Expression,
					"%s at %s (a division by zero, an overflow, or a root or logarithm of a negative number)", uncomputable(v), b.out.space.describe(x))
				break
			}
		}
	}
}

// try is the value at x under a context for which it can be computed with, or else under the last
// one tried.
func (g givenCost) try(x []float64) (v float64) {
	var r row
	copy(r[:], x)
	for _, trial := range contextTrials {
		for i := range g.Context {
			r[len(x)+i] = trial
		}
		if v = g.value(r[:len(x)+len(g.Context)]); Computable(v) {
			break
		}
	}
	return v
}
