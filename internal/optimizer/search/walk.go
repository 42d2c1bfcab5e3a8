package search

import (
	"math"
	"math/rand/v2"
	"slices"
)

// walkStream keeps the walk apart from other draws of the same seed.
const walkStream = 0x77616c6b

// Walk returns n points spread over what settle allows of the unit cube, however small a part of it
// that is, walking from allowed points in turn: each step goes to a point drawn from the line
// through the present one along an axis, along two axes against each other (which keeps sums) or
// along all of them, the line being cut back where a draw is not allowed. There are none without a
// point to start from.
//
// See Smith (1984), Efficient Monte Carlo procedures for generating points uniformly distributed
// over bounded regions (hit and run), and Neal (2003), Slice sampling (the cutting back).
func Walk(axes []Axis, settle func(u []float64) bool, from [][]float64, n int, seed uint64) [][]float64 {
	w := walker{axes: axes, settle: settle, random: rand.New(rand.NewPCG(seed, walkStream))}
	for k, axis := range axes {
		if !axis.Fixed {
			w.free = append(w.free, k)
		}
	}
	if len(from) == 0 || len(w.free) == 0 {
		return from
	}
	var points [][]float64
	each := (n + len(from) - 1) / len(from)
	for _, u := range from {
		for range min(each, n-len(points)) {
			for range w.free {
				u = w.step(u)
			}
			points = append(points, u)
		}
	}
	return points
}

type walker struct {
	axes   []Axis
	settle func(u []float64) bool
	free   []int
	random *rand.Rand
}

func (w *walker) step(u []float64) []float64 {
	k := w.free[w.random.IntN(len(w.free))]
	if levels := w.axes[k].Levels; w.axes[k].Choice {
		v := slices.Clone(u)
		v[k] = (float64(w.random.IntN(levels)) + 0.5) / float64(levels)
		if w.settle(v) {
			return v
		}
		return u
	}
	direction := make([]float64, len(u))
	switch w.random.IntN(3) {
	case 0:
		direction[k] = 1
	case 1:
		direction[k] = 1
		if l := w.free[w.random.IntN(len(w.free))]; l != k && !w.axes[l].Choice {
			direction[l] = -1
		}
	default:
		for _, l := range w.free {
			if !w.axes[l].Choice {
				direction[l] = w.random.NormFloat64()
			}
		}
	}
	return w.along(u, direction)
}

// cuts is how often a line is cut back before the walk stays where it is.
const cuts = 30

// along draws an allowed point of the line through u.
func (w *walker) along(u, direction []float64) []float64 {
	low, high := math.Inf(-1), math.Inf(1)
	for k, slope := range direction {
		if slope != 0 {
			a, b := -u[k]/slope, (1-u[k])/slope
			low, high = math.Max(low, math.Min(a, b)), math.Min(high, math.Max(a, b))
		}
	}
	for range cuts {
		t := low + w.random.Float64()*(high-low)
		v := slices.Clone(u)
		for k := range v {
			v[k] = math.Min(math.Max(v[k]+t*direction[k], 0), 1)
		}
		if w.settle(v) {
			return v
		}
		if t < 0 {
			low = t
		} else {
			high = t
		}
	}
	return u
}
