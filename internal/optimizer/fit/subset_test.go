package fit

import (
	"slices"
	"testing"
)

func TestSubset(t *testing.T) {
	t.Parallel()
	var inputs [][]float64
	for i := range 2000 {
		inputs = append(inputs, []float64{float64(i%7) * 1e-3})
	}
	inputs[321] = []float64{5} // alone, and early
	chosen := subset(inputs, []float64{0.3}, []int{0})
	if len(chosen) != MostPoints || !slices.IsSorted(chosen) || len(slices.Compact(slices.Clone(chosen))) != MostPoints {
		t.Fatalf("%d chosen: %v", len(chosen), chosen)
	}
	if chosen[len(chosen)-1] != 1999 || !slices.Contains(chosen, 2000-MostPoints/2) || !slices.Contains(chosen, 321) {
		t.Errorf("the latest readings or the lone one are missing: %v", chosen)
	}
	if few := subset(inputs[:3], []float64{0.3}, []int{0}); !slices.Equal(few, []int{0, 1, 2}) {
		t.Errorf("of 3 readings %v take part", few)
	}
}
