package design

import (
	"math"
	"slices"
)

func (s *space) hasMixture() bool {
	return slices.ContainsFunc(s.axes, func(a *axis) bool { return a.Type == Remainder })
}

// fill implements optimizer.Space.Fill: it moves a point of the unit cube, in place, to one at
// which the parts of every total leave its remainder within bounds. Each u is taken as the quantile
// of a part within its possible values. With n parts to go, and S left to distribute above their
// lows and the remainder's, the part's amount x above its low is drawn from the density (S − x)ⁿ⁻¹
// truncated to what is possible,
//
//	P(x ≤ z) = 1 − (1 − z/S)ⁿ,
//
// which maps evenly spread points to evenly spread points of the simplex if no high truncates it.
func (s *space) fill(u []float64) {
	r := s.rows.Get().(*row)
	defer s.rows.Put(r)
	x := r[:len(s.axes)]
	for i, a := range s.axes {
		x[i] = a.physical(u[i])
	}
	shared := make([]bool, len(s.axes))
	for _, a := range s.axes {
		if a.Type == Remainder {
			s.distribute(a, x, u, shared)
		}
	}
}

// distribute distributes a total over its parts. Parts that belong to an earlier total keep their
// values.
func (s *space) distribute(a *axis, x, u []float64, shared []bool) {
	left := *a.Total
	var parts []int
	low, high := 0.0, 0.0 // sums of the bounds of the remaining parts
	for _, j := range a.of {
		if shared[j] {
			left -= x[j]
			continue
		}
		shared[j] = true
		parts = append(parts, j)
		low, high = low+s.axes[j].low, high+s.axes[j].high
	}
	for n, j := range parts {
		part := s.axes[j]
		low, high = low-part.low, high-part.high
		least, most := math.Max(part.low, left-a.high-high), math.Min(part.high, left-a.low-low)
		x[j] = part.nearestBetween(least, most, cutSimplex(u[j], least-part.low, most-part.low, left-a.low-low-part.low, len(parts)-n))
		u[j] = part.unit(x[j])
		left -= x[j]
	}
}

// cutSimplex returns the quantile u of the density (total − z)ⁿ⁻¹ truncated to [least, most].
func cutSimplex(u, least, most, total float64, n int) float64 {
	if !(total > 0) {
		return least
	}
	beyond := func(z float64) float64 { return math.Pow(math.Max(0, 1-z/total), float64(n)) }
	above := beyond(least) - u*(beyond(least)-beyond(most))
	return math.Max(least, math.Min(total*(1-math.Pow(above, 1/float64(n))), most))
}

// nearestBetween returns the value nearest to z above the low that can be set, between least and
// most if there is one.
func (a *axis) nearestBetween(least, most, z float64) float64 {
	x := math.Max(a.low, math.Min(math.Max(least, math.Min(a.low+z, most)), a.high))
	if a.step == 0 {
		return x
	}
	x = a.snap(x)
	switch {
	case x > most:
		return a.snap(x - a.step)
	case x < least:
		return a.snap(x + a.step)
	}
	return x
}
