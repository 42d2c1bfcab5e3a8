package descent

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// program is min_d gᵀd + ½ dᵀBd + Σ_k p_k [h_k + a_kᵀd]⁺. A bound of d is a term of infinite price.
type program struct {
	gradient []float64
	kinks    []Kink
	inverse  *inverseHessian // B⁻¹
}

// solution is d, the multipliers λ and what they leave of the gradient there, g + Aᵀλ = −Bd.
type solution struct{ step, multipliers, left []float64 }

// A sweep that moves no coordinate by more than settled, of the largest one, is the last.
const (
	settled    = 1e-9
	mostSweeps = 100
	ridge      = 1e-13 // relative, so that as many terms may be free as there are, see face
)

// dual is the program's, max over λ_k ∈ [0, p_k] of hᵀλ − ½ (g + Aᵀλ)ᵀB⁻¹(g + Aᵀλ), on the way.
type dual struct {
	program
	across [][]float64 // B⁻¹a_k
	steep  []float64   // a_kᵀB⁻¹a_k
	lambda []float64
	step   []float64 // −B⁻¹(g + Aᵀλ)
}

// solve maximises the dual along one multiplier after another, and then along all those together
// that are between their bounds, until nothing moves (Moré & Toraldo, On the solution of large
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

// follow works the step out from the multipliers.
func (d *dual) follow() { floats.ScaleTo(d.step, -1, d.inverse.times(d.left())) }

// height is that of a kink after the step.
func (d *dual) height(k int) float64 { return d.kinks[k].Height + product(d.kinks[k].Slopes, d.step) }

// sweep moves one multiplier after another to where the dual is largest along it, and tells how far
// the step's coordinates moved at most.
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

// face moves the multipliers between their bounds towards where the dual is largest while the
// others stay, as far as the first bound, and tells whether it came to one.
func (d *dual) face() bool {
	var free []int
	for k, kink := range d.kinks {
		if 0 < d.lambda[k] && d.lambda[k] < kink.Price {
			free = append(free, k)
		}
	}
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

// solveSmall solves A x = b in place by A = L D Lᵀ, the lower triangle of A becoming L and D; where
// nothing is left of a pivot its x is 0.
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
