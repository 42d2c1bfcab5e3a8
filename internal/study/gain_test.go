package study

import (
	"testing"

	"headroom/internal/optimizer"
)

// TestWhatCouldBeGainedIsPlausible: a model knows of no end to a yield, people do; what a reading
// has refuted of it does not count.
func TestWhatCouldBeGainedIsPlausible(t *testing.T) {
	t.Parallel()
	bestOf := func(plausible ...float64) optimizer.BestRange {
		d := oven()
		d.Objective.Plausible = plausible
		b := newBench(t, d)
		for n, yield := range []float64{40, 55, 80, 62, 71, 66} {
			b.ask(1)
			b.tell(n+1, map[string]float64{"yield": yield, "impurity": 0.1})
		}
		gain, err := b.service.GainOf(t.Context(), b.snap)
		if err != nil || gain == nil {
			t.Fatalf("%v, %v", gain, err)
		}
		return gain.Best
	}
	free := bestOf()
	if !(free.High > 85) {
		t.Fatalf("%+v is no wonder", free)
	}
	if told := bestOf(0, 85); told.High != 85 || told.Low != free.Low {
		t.Errorf("%+v, where 0 to 85 is plausible and %+v without that", told, free)
	}
	if refuted := bestOf(0, 75); refuted != free {
		t.Errorf("%+v, where a reading of 80 is beyond what was called plausible; want %+v", refuted, free)
	}
}
