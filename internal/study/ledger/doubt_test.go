package ledger

import "testing"

func TestDoubtFallsOnWhatLiesFarOutside(t *testing.T) {
	t.Parallel()
	known := []float64{0.3, 0.62, 0.41, 0.5}
	for value, want := range map[float64]*Doubt{5.1: {Above: true, Extreme: 0.62}, -2: {Extreme: 0.3}, 0.9: nil, 1.26: nil, 1.27: {Above: true, Extreme: 0.62}, -0.34: nil} {
		if got := doubtBy(known, value); (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%v: %+v, want %+v", value, got, want)
		}
	}
	if got := doubtBy(known[:3], 5.1); got != nil {
		t.Errorf("three values are too few to doubt: %+v", got)
	}
	for value, doubted := range map[float64]bool{-7: false, -13: true, 1: true} {
		if got := doubtBy([]float64{-6, -6, -6, -6}, value); (got != nil) != doubted {
			t.Errorf("after four equal ones, %v: %+v", value, got)
		}
	}
}
