package design

import (
	"fmt"
	"slices"
	"strings"

	"headroom/internal/optimizer/kernel"
)

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
		return slices.Contains(arms, true)
	}
	return !slices.ContainsFunc(s.axes, func(a axis) bool { return a.levels > 0 && len(a.gone) >= a.levels })
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

// contextTrials are numbers that stand for a context not known yet; an expression is at fault where
// none of them gives it a value.
var contextTrials = []float64{1, 0.5, 7, 100, 1e4, 0, -1, -100}

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

func (b *compiler) verifyMatrices() {
	var seen []*float64
	for _, metric := range b.out.Config.Metrics {
		matrix := metric.Kernel.Matrix
		if matrix == nil || slices.Contains(seen, &matrix[0][0]) {
			continue
		}
		seen = append(seen, &matrix[0][0])
		if _, err := kernel.NewCovariance(matrix, metric.Kernel.Variance); err != nil {
			b.faults.Add("model.kernel", nil, "%s: %s", metric.Name, strings.TrimSuffix(err.Error(), "."))
		}
	}
}
