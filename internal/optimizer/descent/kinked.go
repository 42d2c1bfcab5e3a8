package descent

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/lists"
)

// Kink is a term p·[h(x)]⁺ of a function at a point: the price p > 0, h there and the slopes of h.
type Kink struct {
	Price, Height float64
	Slopes        []float64
}

// Local describes f(x) + Σ_k p_k [h_k(x)]⁺ at a point: the gradient of f, and the kinks, the same
// ones in the same order at every point.
type Local struct {
	Gradient []float64
	Kinks    []Kink
}

// Kinked is a Descent of f(x) + Σ_k p_k [h_k(x)]⁺, f and h_k being smooth. Each direction solves
//
//	min_d  gᵀd + ½ dᵀBd + Σ_k p_k [h_k + a_kᵀd]⁺   between the bounds,
//
// g and a_k being the gradients of f and h_k, B the estimated Hessian of f + Σ_k λ_k h_k, and λ_k ∈
// [0, p_k] the program's multipliers: it follows one smooth piece of the function until it meets a
// kink, and moves along a kink as long as the minimum lies on it. A full step along the tangent of
// a curved kink may miss the kink, and is corrected once by the h_k there.
//
// See Fletcher (1987), Practical Methods of Optimization, 14.4, and Nocedal & Wright (2006),
// Numerical Optimization, 18.5 and, for B, procedure 18.2.
type Kinked struct {
	search
	here   Local    // at the best point
	way    solution // the step, on which the point asked for lies
	rested bool     // the descent has ended since little was left to gain

	corrected bool      // way is a corrected step
	tangent   *solution // the step before the correction, until the corrected one's value is known
	missed    float64   // the value at the end of tangent
}

// NewKinked starts a descent; coordinates with equal bounds do not move.
func NewKinked(start, low, high []float64, limits Limits) *Kinked {
	return &Kinked{search: begin(start, low, high, limits)}
}

// Resume continues with a smaller least gain, if the descent ended since little was left to gain.
func (d *Kinked) Resume(least float64) {
	d.limits.Least = least
	if d.rested {
		d.turn()
	}
}

// Wants tells whether Tell will call local if the value is this.
func (d *Kinked) Wants(value float64) bool {
	return value < math.Inf(1) && (d.at == nil || d.takes(value) || d.corrects())
}

// takes tells whether a step to this value is taken.
func (d *Kinked) takes(value float64) bool { return value <= d.value+sufficient*d.promised }

// corrects tells whether a step that is not taken is corrected.
func (d *Kinked) corrects() bool { return len(d.here.Kinks) > 0 && !d.corrected }

// Tell answers Next with the value there, +∞ if there is none, and a function that describes the
// function there.
func (d *Kinked) Tell(value float64, local func() Local) {
	switch {
	case d.at == nil && !(value < math.Inf(1)):
		d.trial = nil
	case d.at == nil:
		d.at, d.value, d.here = d.trial, value, local()
		d.turn()
	case d.takes(value):
		d.arrive(value, local())
	case d.corrects() && value < math.Inf(1):
		d.correct(value, local().heights())
	default:
		d.shorten(value)
	}
}

// heights are the heights of the kinks.
func (l Local) heights() []float64 {
	return lists.Map(l.Kinks, func(k Kink) float64 { return k.Height })
}

// arrive takes the step.
func (d *Kinked) arrive(value float64, there Local) {
	gained := d.value - value
	d.learn(there)
	d.at, d.value, d.here = d.trial, value, there
	if gained < d.limits.Least {
		d.trial, d.rested = nil, true
		return
	}
	d.turn()
}

// straight is the least relative change of the gradient over the longest step that B assumes, so
// that directions differ from rounding.
const straight = 1e-6

// learn updates B by the change of the gradient of f + Σ λ_k h_k over the step or, so that it stays
// positive definite, by a mean of that and of the change that B predicts (Powell's damping).
func (d *Kinked) learn(there Local) {
	s := difference(d.trial, d.at)
	y := difference(there.lagrangian(d.way.multipliers), d.here.lagrangian(d.way.multipliers))
	expected := floats.ScaleTo(make([]float64, len(s)), -d.step, d.way.left) // B s = −step (g + Aᵀλ + ν)
	if curved, real := product(s, expected), product(s, y); real < 0.2*curved {
		part := 0.8 * curved / (curved - real)
		for i := range y {
			y[i] = part*y[i] + (1-part)*expected[i]
		}
	}
	pull := max(largest(d.here.Gradient, nil), largest(d.way.left, nil))
	for k, kink := range d.here.Kinks {
		pull = max(pull, d.way.multipliers[k]*largest(kink.Slopes, nil))
	}
	if least := straight * pull / d.limits.Longest; product(s, y) < least*product(s, s) {
		floats.ScaleTo(y, least, s)
	}
	d.curvature = d.curvature.learn(s, y)
}

// lagrangian is the gradient of f + Σ λ_k h_k.
func (l Local) lagrangian(multipliers []float64) []float64 {
	sum := slices.Clone(l.Gradient)
	for k, kink := range l.Kinks {
		floats.AddScaled(sum, multipliers[k], kink.Slopes)
	}
	return sum
}

// turn finds a step from the best point.
func (d *Kinked) turn() {
	d.trial, d.tangent, d.rested, d.corrected = nil, nil, false, false
	if d.steps == d.limits.Steps {
		return
	}
	d.steps++
	d.way = d.program(d.here.heights()).solve()
	d.step, d.shortened = 1, 0
	if expected := product(d.way.step, d.way.left)/2 - d.change(d.way.step); !(expected > d.limits.Least) {
		d.rested = true
	} else if !d.propose() {
		d.turnBack(d.turn)
	}
}

// program is the program of the step from the best point, with these heights of the kinks.
func (d *Kinked) program(heights []float64) program {
	p := program{gradient: d.here.Gradient, inverse: d.curvature}
	for k, kink := range d.here.Kinks {
		p.kinks = append(p.kinks, Kink{kink.Price, heights[k], kink.Slopes})
	}
	longest := d.limits.Longest
	if d.curvature == nil {
		longest = d.limits.First
		p.inverse = unlearned(len(d.at), longest/max(largest(p.gradient, nil), math.SmallestNonzeroFloat64))
	}
	for i, x := range d.at {
		up, down := min(d.high[i]-x, longest), max(d.low[i]-x, -longest)
		p.kinks = append(p.kinks, bound(len(d.at), i, 1, -up), bound(len(d.at), i, -1, down))
	}
	return p
}

// bound is sign·d_i + height ≤ 0.
func bound(n, i int, sign, height float64) Kink {
	slopes := make([]float64, n)
	slopes[i] = sign
	return Kink{math.Inf(1), height, slopes}
}

// change is the predicted change of the function over a step, by the gradients.
func (d *Kinked) change(step []float64) float64 {
	change := product(d.here.Gradient, step)
	for _, k := range d.here.Kinks {
		change += k.Price * (max(k.Height+product(k.Slopes, step), 0) - max(k.Height, 0))
	}
	return change
}

// propose asks for the point at the present fraction of the step, unless that does not lead down.
func (d *Kinked) propose() bool {
	d.trial = make([]float64, len(d.at))
	for i, x := range d.at {
		d.trial[i] = d.settled(i, x+d.step*d.way.step[i])
	}
	d.promised = d.change(difference(d.trial, d.at))
	return d.promised < 0
}

// settled moves coordinate i between its bounds, and onto one that it hardly misses.
func (d *Kinked) settled(i int, v float64) float64 {
	const hardly = 1e-12
	switch {
	case v < d.low[i]+hardly:
		return d.low[i]
	case v > d.high[i]-hardly:
		return d.high[i]
	}
	return v
}

// correct replaces a full step that missed curved kinks by one that takes account of their heights
// there.
func (d *Kinked) correct(value float64, heights []float64) {
	s := difference(d.trial, d.at)
	for k, kink := range d.here.Kinks {
		heights[k] -= product(kink.Slopes, s)
	}
	tangent := d.way
	d.corrected, d.tangent, d.missed = true, &tangent, value
	d.way = d.program(heights).solve()
	if !d.propose() {
		d.shorten(value)
	}
}

// shorten shortens the step along the tangents: to the minimum of the parabola through both values
// and the slope, within limits.
func (d *Kinked) shorten(value float64) {
	if d.tangent != nil {
		d.way, value, d.tangent = *d.tangent, d.missed, nil
		d.promised = d.change(d.way.step)
	}
	d.step *= shorter(value-d.value, d.promised)
	if d.shortened++; d.shortened == mostHalves || !d.propose() {
		d.turnBack(d.turn)
	}
}

// program is min_d gᵀd + ½ dᵀBd + Σ_k p_k [h_k + a_kᵀd]⁺. A bound of d is a term with an infinite
// price.
type program struct {
	gradient []float64
	kinks    []Kink
	inverse  *inverseHessian // B⁻¹
}

// solution is d, the multipliers λ, and left = g + Aᵀλ = −Bd.
type solution struct{ step, multipliers, left []float64 }

const (
	settled    = 1e-9 // a sweep that moves no coordinate by more, relative to the largest, is the last
	mostSweeps = 100
	ridge      = 1e-13 // added to the diagonal in face, relative to it, so that any number of terms may be free
)

// dual is an iterate of the program's dual, max over λ_k ∈ [0, p_k] of hᵀλ − ½ (g + Aᵀλ)ᵀB⁻¹(g +
// Aᵀλ).
type dual struct {
	program
	across [][]float64 // B⁻¹a_k
	steep  []float64   // a_kᵀB⁻¹a_k
	lambda []float64
	step   []float64 // −B⁻¹(g + Aᵀλ)
}

// solve maximises the dual along one multiplier after another, and then along all multipliers
// between their bounds together, until nothing moves (Moré & Toraldo, On the solution of large
// quadratic programming problems with bound constraints, 1991).
func (p program) solve() solution {
	n := len(p.gradient)
	d := dual{p, make([][]float64, len(p.kinks)), make([]float64, len(p.kinks)), make([]float64, len(p.kinks)), make([]float64, n)}
	for k, kink := range p.kinks {
		d.across[k] = p.inverse.times(kink.Slopes)
		d.steep[k] = product(kink.Slopes, d.across[k])
	}
	d.follow()
	for range mostSweeps {
		moved := d.sweep()
		if moved <= settled*largest(d.step, nil) {
			break
		}
		for d.follow(); d.face(); d.follow() {
		}
		d.follow()
	}
	return solution{d.step, d.lambda, d.left()}
}

// left is g + Aᵀλ.
func (d *dual) left() []float64 {
	left := slices.Clone(d.gradient)
	for k, kink := range d.kinks {
		if d.lambda[k] != 0 {
			floats.AddScaled(left, d.lambda[k], kink.Slopes)
		}
	}
	return left
}

// follow computes the step from the multipliers.
func (d *dual) follow() { floats.ScaleTo(d.step, -1, d.inverse.times(d.left())) }

// height is the height of a kink after the step.
func (d *dual) height(k int) float64 { return d.kinks[k].Height + product(d.kinks[k].Slopes, d.step) }

// sweep maximises the dual along one multiplier after another, and returns the largest move of a
// coordinate of the step.
func (d *dual) sweep() (most float64) {
	for k, kink := range d.kinks {
		if d.steep[k] <= 0 {
			continue
		}
		to := min(max(d.lambda[k]+d.height(k)/d.steep[k], 0), kink.Price)
		by := to - d.lambda[k]
		d.lambda[k] = to
		for i, v := range d.across[k] {
			d.step[i] -= by * v
			most = max(most, math.Abs(by*v))
		}
	}
	return most
}

// face moves the multipliers between their bounds towards the maximum of the dual with the others
// fixed, up to the first bound, and tells whether it reached one.
func (d *dual) face() bool {
	free := lists.Where(len(d.kinks), func(k int) bool { return 0 < d.lambda[k] && d.lambda[k] < d.kinks[k].Price })
	matrix, by := make([][]float64, len(free)), make([]float64, len(free))
	for r, k := range free {
		by[r] = d.height(k)
		for _, l := range free[:r+1] {
			matrix[r] = append(matrix[r], product(d.kinks[k].Slopes, d.across[l]))
		}
		matrix[r][r] *= 1 + ridge
	}
	solveSmall(matrix, by)
	part, first := 1.0, -1
	for r, k := range free {
		bound := 0.0
		if by[r] > 0 {
			bound = d.kinks[k].Price
		}
		if room := (bound - d.lambda[k]) / by[r]; by[r] != 0 && room < part {
			part, first = room, k
		}
	}
	for r, k := range free {
		d.lambda[k] = min(max(d.lambda[k]+part*by[r], 0), d.kinks[k].Price)
	}
	if first >= 0 && d.lambda[first] < d.kinks[first].Price/2 {
		d.lambda[first] = 0
	} else if first >= 0 {
		d.lambda[first] = d.kinks[first].Price
	}
	return first >= 0
}

// solveSmall solves A x = b in place by A = L D Lᵀ, L and D replacing the lower triangle of A;
// where a pivot is 0, so is x.
func solveSmall(a [][]float64, b []float64) {
	for i, row := range a {
		whole := row[i]
		for j := range i {
			for k := range j {
				row[j] -= row[k] * a[j][k] * a[k][k]
			}
			row[j] = over(row[j], a[j][j])
			row[i] -= row[j] * row[j] * a[j][j]
			b[i] -= row[j] * b[j]
		}
		row[i] = max(row[i], ridge*whole)
	}
	for i := len(a) - 1; i >= 0; i-- {
		b[i] = over(b[i], a[i][i])
		for j := i + 1; j < len(a); j++ {
			b[i] -= a[j][i] * b[j]
		}
	}
}

func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
