package design

import (
	"math"
	"slices"
)

// shares tells whether some parameters share a total.
func (s *space) shares() bool {
	return slices.ContainsFunc(s.axes, func(a axis) bool { return a.Type == Remainder })
}

// fill is optimizer.Space.Fill: it takes a point of the unit cube, in place, to one at which the
// parts of every total leave a remainder within its bounds. Part by part, u says where in what is
// possible the part lies. With n parts to go, of which S can still be given away beyond their lows
// and the remainder's, the part above its low x is drawn from the density (S − x)ⁿ⁻¹ cut to what is
// possible,
//
//	P(x ≤ z) = 1 − (1 − z/S)ⁿ,
//
// which spreads evenly spread points evenly over the simplex, as long as no part's high and no
// remainder's high cuts into it.
func (s *space) fill(u []float64) {
	r := s.rows.Get().(*row)
	defer s.rows.Put(r)
	x := r[:len(s.axes)]
	for i := range s.axes {
		x[i] = s.axes[i].physical(u[i])
	}
	shared := make([]bool, len(s.axes))
	for i := range s.axes {
		if a := &s.axes[i]; a.Type == Remainder {
			s.share(a, x, u, shared)
		}
	}
}

// share gives a total away to its parts; those that took part in another one before keep what they
// have.
func (s *space) share(a *axis, x, u []float64, shared []bool) {
	left := *a.Total
	var parts []int
	low, high := 0.0, 0.0 // sums of the bounds of the parts to come
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
		part := &s.axes[j]
		low, high = low-part.low, high-part.high
		least, most := math.Max(part.low, left-a.high-high), math.Min(part.high, left-a.low-low)
		x[j] = part.within(least, most, cutSimplex(u[j], least-part.low, most-part.low, left-a.low-low-part.low, len(parts)-n))
		u[j] = part.unit(x[j])
		left -= x[j]
	}
}

// cutSimplex is the z in [least, most] at which a share u of what the density (total − z)ⁿ⁻¹ puts
// there lies below.
func cutSimplex(u, least, most, total float64, n int) float64 {
	if !(total > 0) {
		return least
	}
	beyond := func(z float64) float64 { return math.Pow(math.Max(0, 1-z/total), float64(n)) }
	above := beyond(least) - u*(beyond(least)-beyond(most))
	return math.Max(least, math.Min(total*(1-math.Pow(above, 1/float64(n))), most))
}

// within is the value that can be set nearest to z above the low, of those between least and most
// if there is one.
func (a *axis) within(least, most, z float64) float64 {
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
