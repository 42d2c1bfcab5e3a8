package policy

import (
	"slices"
	"testing"
)

// TestFunctionsAreDrawnOnce scores places and asks what was drawn at the chosen one; other places
// and another seed are drawn anew.
func TestFunctionsAreDrawnOnce(t *testing.T) {
	t.Parallel()
	s := line(1, filled(4, 0), filled(4, 1), filled(4, 0), filled(4, 1))
	times := 0
	s.Draw.Seed = 0
	s.Set.Joint = func(among []int) (func(int, float64, func() float64) []float64, error) {
		times++
		return func(_ int, width float64, normal func() float64) []float64 {
			values := make([]float64, 4)
			for i := range values {
				values[i] = width * normal()
			}
			return values
		}, nil
	}
	first := sure(drawFunctions(s, []float64{1, 2}, nil, nil))
	for i, c := range []struct {
		seed  uint64
		width []float64
		among []int
		times int
		same  bool
	}{
		{0, []float64{1, 2}, nil, 1, true},
		{0, []float64{1, 1}, nil, 2, false},
		{0, []float64{1, 1}, []int{0, 1, 2, 3}, 3, false},
		{1, []float64{1, 2}, nil, 4, false},
		{0, []float64{1, 2}, nil, 5, true},
	} {
		s.Draw.Seed = c.seed
		again := sure(drawFunctions(s, c.width, c.among, nil))
		if times != c.times || slices.EqualFunc(again, first, slices.Equal) != c.same {
			t.Errorf("call %d: after %d preparations %v, first %v", i, times, again, first)
		}
	}
}
