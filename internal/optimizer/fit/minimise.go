package fit

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/checkpoint"
)

// mode is where a search ended.
type mode struct {
	at          []float64
	value       float64
	evaluations int
}

// Limits of one search, in log units.
const (
	flat       = 1e-3 // gradient at which to stop: hyperparameters are then within about 0.1 % of the mode
	mostSteps  = 60
	longest    = 1.5  // of a step in any coordinate
	sufficient = 1e-4 // share of the decrease promised by the gradient that a step must bring (Armijo)
	mostHalves = 12
)

// minimise follows the posterior downhill from start inside its bounds by projected BFGS: coordinates at a bound that want to leave
// stay there, the others move along −H g with H the inverse Hessian as learned so far (Nocedal & Wright, Numerical Optimization, 6.1 and
// 16.7). The error is that of ctx.
func minimise(ctx context.Context, p *posterior, start []float64) (mode, error) {
	x := slices.Clone(start)
	m := mode{value: p.value(x), evaluations: 1}
	if !(m.value < math.Inf(1)) {
		return m, ctx.Err()
	}
	gradient := p.gradient()
	var curvature *inverseHessian
	for range mostSteps {
		if err := checkpoint.Reach(ctx); err != nil {
			return m, err
		}
		free := p.free(x, gradient)
		if largest(gradient, free) < flat {
			break
		}
		direction := curvature.descend(gradient, free)
		next, value, ok := p.search(&m, x, gradient, direction)
		if !ok {
			if curvature == nil {
				break
			}
			curvature = nil // what was learned misleads: once more along the gradient
			continue
		}
		nextGradient := p.gradient()
		curvature = curvature.learn(difference(next, x), difference(nextGradient, gradient))
		x, gradient, m.value = next, nextGradient, value
	}
	m.at = x
	return m, nil
}

// search goes along direction, shortening the step until the value falls enough.
func (p *posterior) search(m *mode, x, gradient, direction []float64) (next []float64, value float64, ok bool) {
	step := 1.0
	for range mostHalves {
		next = make([]float64, len(x))
		slope := 0.0
		for i := range x {
			next[i] = min(max(x[i]+step*direction[i], p.low[i]), p.high[i])
			slope += gradient[i] * (next[i] - x[i])
		}
		if slope >= 0 {
			return nil, 0, false
		}
		value = p.value(next)
		m.evaluations++
		if value <= m.value+sufficient*slope {
			return next, value, true
		}
		// The parabola through both values and the slope says how far to go, within reason.
		shorter := 0.5
		if !math.IsInf(value, 1) {
			shorter = min(max(-0.5*slope/(value-m.value-slope), 0.1), 0.5)
		}
		step *= shorter
	}
	return nil, 0, false
}

// free tells which coordinates may move: not those at a bound that the gradient pushes against.
func (p *posterior) free(x, gradient []float64) []bool {
	free := make([]bool, len(x))
	for i, v := range x {
		free[i] = !(v <= p.low[i] && gradient[i] >= 0 || v >= p.high[i] && gradient[i] <= 0)
	}
	return free
}

func largest(gradient []float64, free []bool) float64 {
	most := 0.0
	for i, g := range gradient {
		if free[i] {
			most = max(most, math.Abs(g))
		}
	}
	return most
}

func difference(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

func product(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// inverseHessian is BFGS's estimate H; nil knows nothing yet.
type inverseHessian struct{ h [][]float64 }

// descend returns −H g over the free coordinates, at most longest in any.
func (c *inverseHessian) descend(gradient []float64, free []bool) []float64 {
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
	limit := longest
	if c == nil {
		limit = 0.5 // a gradient says nothing about how far
	}
	if most > limit {
		for i := range direction {
			direction[i] *= limit / most
		}
	}
	return direction
}

// learn brings in that the gradient changed by y over the step s:
// H ← (I − s yᵀ/ρ) H (I − y sᵀ/ρ) + s sᵀ/ρ with ρ = sᵀy, starting from H = ρ/(yᵀy) I. A step over which the curvature was not
// positive teaches nothing.
func (c *inverseHessian) learn(s, y []float64) *inverseHessian {
	rho := product(s, y)
	if !(rho > 1e-10*math.Sqrt(product(s, s)*product(y, y))) {
		return c
	}
	n := len(s)
	if c == nil {
		c = &inverseHessian{make([][]float64, n)}
		for i := range c.h {
			c.h[i] = make([]float64, n)
			c.h[i][i] = rho / product(y, y)
		}
	}
	hy := make([]float64, n)
	for i := range hy {
		hy[i] = product(c.h[i], y)
	}
	scale := (1 + product(y, hy)/rho) / rho
	for i := range c.h {
		for j := range c.h[i] {
			c.h[i][j] += scale*s[i]*s[j] - (hy[i]*s[j]+s[i]*hy[j])/rho
		}
	}
	return c
}
