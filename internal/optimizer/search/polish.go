package search

import (
	"math"
	"math/rand/v2"
)

// Score orders points: those of the lowest Rank first, of them an allowed one before any that is
// not, then by Value, then by Tie.
type Score struct {
	Rank    int
	Allowed bool
	Value   float64
	Tie     float64
}

// Above tells whether a is better than b by more than rounding.
func (a Score) Above(b Score) bool {
	if a.Rank != b.Rank {
		return a.Rank < b.Rank
	}
	if a.Allowed != b.Allowed {
		return a.Allowed
	}
	slack := 1e-12 * math.Max(1, math.Abs(b.Value))
	if math.Abs(a.Value-b.Value) > slack {
		return a.Value > b.Value
	}
	return a.Tie > b.Tie+1e-12*math.Max(1, math.Abs(b.Tie))
}

// Axis says how one coordinate of the unit cube can be moved.
type Axis struct {
	Fixed  bool // not moved by the search
	Levels int  // 0: continuous; otherwise the number of equidistant values
	Choice bool // the levels have no order
}

// Problem is a function to maximise over the unit cube.
type Problem struct {
	Axes []Axis
	// Settle snaps u in place to a point that can be chosen and reports whether it is allowed.
	Settle func(u []float64) bool
	// Score scores many points at once.
	Score func(points [][]float64) ([]Score, error)
	// Rise is Score that can tell how the values change around some of the points, by their numbers
	// and once, for Ascend; nil where they have no slopes.
	Rise func(points [][]float64) ([]Score, func(of []int) ([]Slope, error), error)
}

// Polish improves start, whose score is known, by polling around it: along every axis and, because
// a maximum often lies on a kink that runs across the axes, along randomly turned orthogonal
// directions. The step doubles after a success and halves after some failures until it is below
// finest or the evaluations are used up. It returns the best point found, or the error of Score.
//
// See Audet & Dennis (2006), Mesh adaptive direct search.
func (p Problem) Polish(start []float64, score Score, step, finest float64, evaluations int, seed uint64) ([]float64, Score, error) {
	random := rand.New(rand.NewPCG(seed, 1))
	best := start
	failures := 0
	for turn := 0; step > finest && evaluations > 0; turn++ {
		polls := p.poll(best, step, random, turn)
		evaluations -= max(len(polls), 1)
		moved := false
		if len(polls) > 0 {
			scores, err := p.Score(polls)
			if err != nil {
				return nil, Score{}, err
			}
			for i, s := range scores {
				if s.Above(score) {
					best, score, moved = polls[i], s, true
				}
			}
		}
		switch failures++; {
		case moved:
			step, failures = math.Min(2*step, 0.5), 0
		case failures == patience:
			step, failures = step/2, 0
		}
	}
	return best, score, nil
}

// patience is how many polls in a row must fail before the step halves. On a kink the directions
// that lead upwards fill a narrow cone, which one turned basis easily misses.
const patience = 4

// poll lists the allowed points around best.
func (p Problem) poll(best []float64, step float64, random *rand.Rand, turn int) [][]float64 {
	var free []int
	var polls [][]float64
	add := func(change func(u []float64)) {
		u := append([]float64(nil), best...)
		change(u)
		for k := range u {
			u[k] = math.Min(math.Max(u[k], 0), 1)
		}
		if p.Settle != nil && !p.Settle(u) {
			return
		}
		if !same(u, best) {
			polls = append(polls, u)
		}
	}
	for k, axis := range p.Axes {
		switch {
		case axis.Fixed:
		case axis.Choice:
			for c := range axis.Levels {
				add(func(u []float64) { u[k] = (float64(c) + 0.5) / float64(axis.Levels) })
			}
		case axis.Levels > 1:
			leap := math.Max(step, 1/float64(axis.Levels-1))
			add(func(u []float64) { u[k] += leap })
			add(func(u []float64) { u[k] -= leap })
		case axis.Levels == 0:
			free = append(free, k)
		}
	}
	for _, direction := range directions(len(free), random, turn%2 == 1) {
		for _, sign := range []float64{step, -step} {
			add(func(u []float64) {
				for i, k := range free {
					u[k] += sign * direction[i]
				}
			})
		}
	}
	return polls
}

// directions returns d orthonormal directions: the axes, or a randomly turned basis.
func directions(d int, random *rand.Rand, turned bool) [][]float64 {
	basis := make([][]float64, d)
	for i := range basis {
		basis[i] = make([]float64, d)
		if !turned {
			basis[i][i] = 1
			continue
		}
		for k := range basis[i] {
			basis[i][k] = random.NormFloat64()
		}
		orthonormalise(basis[i], basis[:i])
	}
	return basis
}

// orthonormalise makes v orthogonal to the basis and of length 1 (Gram–Schmidt).
func orthonormalise(v []float64, basis [][]float64) {
	for _, b := range basis {
		product := 0.0
		for k := range v {
			product += v[k] * b[k]
		}
		for k := range v {
			v[k] -= product * b[k]
		}
	}
	length := 0.0
	for _, c := range v {
		length += c * c
	}
	length = math.Sqrt(length)
	for k := range v {
		v[k] /= length
	}
}

func same(a, b []float64) bool {
	for k := range a {
		if a[k] != b[k] {
			return false
		}
	}
	return true
}
