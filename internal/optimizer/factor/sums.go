package factor

import (
	"math"
	"slices"
)

// Sums takes M sums of products at once, a term of each at a time: sum i is Σ_s a_s x_s[i], to the
// same bits as Dot(a, x[i]).
type Sums struct {
	lanes [lanes][]float64
	terms int
}

// NewSums returns M empty sums.
func NewSums(M int) *Sums {
	s := new(Sums)
	for l := range s.lanes {
		s.lanes[l] = make([]float64, M)
	}
	return s
}

// Add adds a·x[i] to every sum i.
func (s *Sums) Add(a float64, x []float64) {
	Axpy(a, x, s.lanes[s.terms%lanes])
	s.terms++
}

// AddSquares adds x[i]² to every sum i.
func (s *Sums) AddSquares(x []float64) {
	y := s.lanes[s.terms%lanes][:len(x)]
	for i, v := range x {
		y[i] = math.FMA(v, v, y[i])
	}
	s.terms++
}

// Total returns sum i.
func (s *Sums) Total(i int) float64 {
	return (s.lanes[0][i] + s.lanes[1][i]) + (s.lanes[2][i] + s.lanes[3][i])
}

// Clone returns the same sums, to be added to without s noticing.
func (s *Sums) Clone() *Sums {
	clone := &Sums{terms: s.terms}
	for l := range s.lanes {
		clone.lanes[l] = slices.Clone(s.lanes[l])
	}
	return clone
}
