// Package descent minimises a smooth function inside a box by projected BFGS: coordinates at a
// bound that the negative gradient points beyond stay there, the others move along −H g, H being
// BFGS's estimate of the inverse Hessian (Nocedal & Wright, Numerical Optimization, 6.1 and 16.7).
//
// A Descent asks for values instead of calling a function, so that those of many descents can be
// computed together.
package descent

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/lists"
	"headroom/internal/optimizer/factor"
)

// Limits of a descent, in the units of its coordinates.
type Limits struct {
	Flat    float64 // it ends where no free coordinate has a larger slope
	Least   float64 // it ends after a step that gained less
	Steps   int     // it ends after so many steps
	First   float64 // longest step in any coordinate while nothing is known of the curvature
	Longest float64 // longest step in any coordinate
}

const (
	sufficient = 1e-4 // share of the decrease predicted by the gradient that a step must gain (Armijo)
	mostHalves = 12   // values asked for along one direction
)

// search is what Descent and Kinked have in common.
type search struct {
	limits    Limits
	low, high []float64

	at        []float64 // the best point so far, nil before the first finite value
	value     float64
	curvature *inverseHessian

	trial            []float64 // the point asked for, nil at the end
	step, promised   float64   // the fraction of the direction that leads there, and the change predicted
	shortened, steps int
}

func begin(start, low, high []float64, limits Limits) search {
	return search{limits: limits, low: low, high: high, trial: slices.Clone(start)}
}

// Next is the point whose value is asked for, to be read only; nil when the descent has ended.
func (d *search) Next() []float64 { return d.trial }

// Best is the best point found and its value; nil if no value was finite.
func (d *search) Best() (at []float64, value float64) { return d.at, d.value }

// turnBack is called when a direction led nowhere: the curvature misleads, so one more direction is
// tried without it.
func (d *search) turnBack(turn func()) {
	d.trial = nil
	if d.curvature != nil {
		d.curvature = nil
		turn()
	}
}

// Descent is one search. Use New.
type Descent struct {
	search
	gradient, direction []float64 // at the best point, and from there to the point asked for
}

// New starts a descent; coordinates with equal bounds do not move.
func New(start, low, high []float64, limits Limits) *Descent {
	return &Descent{search: begin(start, low, high, limits)}
}

// Wants tells whether Tell will call local if the value is this: the descent continues from there.
func (d *Descent) Wants(value float64) bool {
	if d.at == nil {
		return value < math.Inf(1)
	}
	return value <= d.value+sufficient*d.promised && !(d.value-value < d.limits.Least)
}

// Tell answers Next with the value there, +∞ if there is none. local, which gives the gradient and
// no kinks, is called only if the descent continues from there.
func (d *Descent) Tell(value float64, local func() Local) {
	switch {
	case d.at == nil && !(value < math.Inf(1)):
		d.trial = nil
	case d.at == nil:
		d.at, d.value, d.gradient = d.trial, value, local().Gradient
		d.turn()
	case value <= d.value+sufficient*d.promised:
		d.arrive(value, local)
	default:
		d.shorten(value)
	}
}

// arrive takes the step.
func (d *Descent) arrive(value float64, local func() Local) {
	if d.value-value < d.limits.Least {
		d.at, d.value, d.trial = d.trial, value, nil
		return
	}
	there := local().Gradient
	d.curvature = d.curvature.learn(difference(d.trial, d.at), difference(there, d.gradient))
	d.at, d.value, d.gradient = d.trial, value, there
	d.turn()
}

// shorten shortens the step: to the minimum of the parabola through both values and the slope,
// within limits.
func (d *Descent) shorten(value float64) {
	d.step *= shorter(value-d.value, d.promised)
	if d.shortened++; d.shortened == mostHalves || !d.propose() {
		d.turnBack(d.turn)
	}
}

// shorter is the factor by which to shorten a step, given the change of the value and the one
// predicted.
func shorter(change, promised float64) float64 {
	if math.IsInf(change, 1) {
		return 0.5
	}
	return min(max(-0.5*promised/(change-promised), 0.1), 0.5)
}

// turn finds a direction from the best point.
func (d *Descent) turn() {
	d.trial = nil
	if d.steps == d.limits.Steps {
		return
	}
	d.steps++
	free := d.free()
	if largest(d.gradient, free) < d.limits.Flat {
		return
	}
	longest := d.limits.Longest
	if d.curvature == nil {
		longest = d.limits.First
	}
	d.direction = d.curvature.descend(d.gradient, free, longest)
	d.step, d.shortened = 1, 0
	if !d.propose() {
		d.turnBack(d.turn)
	}
}

// propose asks for the point at the present step along the direction, unless the way there does not
// lead down.
func (d *Descent) propose() bool {
	d.trial, d.promised = make([]float64, len(d.at)), 0
	for i, x := range d.at {
		d.trial[i] = min(max(x+d.step*d.direction[i], d.low[i]), d.high[i])
		d.promised += d.gradient[i] * (d.trial[i] - x)
	}
	return d.promised < 0
}

// free tells which coordinates may move: not those at a bound that the negative gradient points
// beyond.
func (d *Descent) free() []bool {
	free := make([]bool, len(d.at))
	for i, v := range d.at {
		free[i] = !(v <= d.low[i] && d.gradient[i] >= 0 || v >= d.high[i] && d.gradient[i] <= 0)
	}
	return free
}

func largest(gradient []float64, free []bool) float64 {
	most := 0.0
	for i, g := range gradient {
		if free == nil || free[i] {
			most = max(most, math.Abs(g))
		}
	}
	return most
}

func difference(a, b []float64) []float64 { return floats.SubTo(make([]float64, len(a)), a, b) }

func product(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// inverseHessian is BFGS's estimate H; nil before the first step.
type inverseHessian struct{ h [][]float64 }

// descend returns −H g over the free coordinates, at most longest in any.
func (c *inverseHessian) descend(gradient []float64, free []bool, longest float64) []float64 {
	direction := make([]float64, len(gradient))
	most := 0.0
	for i := range direction {
		if !free[i] {
			continue
		}
		if c == nil {
			direction[i] = -gradient[i]
		} else {
			for j, g := range gradient {
				if free[j] {
					direction[i] -= c.h[i][j] * g
				}
			}
		}
		most = max(most, math.Abs(direction[i]))
	}
	if most > longest {
		floats.Scale(longest/most, direction)
	}
	return direction
}

// learn updates H given that the gradient changed by y over the step s: H ← (I − s yᵀ/ρ) H (I − y
// sᵀ/ρ) + s sᵀ/ρ with ρ = sᵀy, starting from H = ρ/(yᵀy) I. A step with non-positive curvature is
// ignored.
func (c *inverseHessian) learn(s, y []float64) *inverseHessian {
	rho := product(s, y)
	if !(rho > 1e-10*math.Sqrt(product(s, s)*product(y, y))) {
		return c
	}
	if c == nil {
		c = unlearned(len(s), rho/product(y, y))
	}
	hy := c.times(y)
	scale := (1 + product(y, hy)/rho) / rho
	for i := range c.h {
		for j := range c.h[i] {
			c.h[i][j] += scale*s[i]*s[j] - (hy[i]*s[j]+s[i]*hy[j])/rho
		}
	}
	return c
}

// unlearned is H = scale·I.
func unlearned(n int, scale float64) *inverseHessian {
	c := &inverseHessian{factor.Matrix(n, n)}
	for i, row := range c.h {
		row[i] = scale
	}
	return c
}

// times is H v.
func (c *inverseHessian) times(v []float64) []float64 {
	return lists.Map(c.h, func(row []float64) float64 { return product(row, v) })
}
