package design

import "math"

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
	points := arms
	if arms == nil {
		points = s.spread(probePoints)
	}
	for _, x := range points {
		visit(x)
	}
	for _, x := range points {
		if arms != nil || s.inBounds(x) {
			s.keep(x)
		}
	}
	if arms != nil {
		return
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
