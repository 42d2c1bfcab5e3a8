package study

import (
	"encoding/json"
	"reflect"
	"testing"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

// TestWhatCouldBeGainedIsPlausible: a model knows of no end to a yield, people do; what a reading
// has refuted of it does not count. The chances are of the same best as the band.
func TestWhatCouldBeGainedIsPlausible(t *testing.T) {
	t.Parallel()
	gainOf := func(plausible ...float64) optimizer.Gain {
		d := oven()
		d.Objective.Plausible, d.Stop = plausible, &design.Stop{Within: 0.1, Risk: 0.05}
		b := newBench(t, d)
		for n, yield := range []float64{40, 55, 80, 62, 71, 66} {
			b.ask(1)
			b.tell(n+1, map[string]float64{"yield": yield, "impurity": 0.1})
		}
		gain, err := b.service.GainOf(t.Context(), b.snap)
		if err != nil || gain == nil {
			t.Fatalf("%v, %v", gain, err)
		}
		return *gain
	}
	free := gainOf()
	if !(free.Best.High > 85) {
		t.Fatalf("%+v is no wonder", free)
	}
	if told := gainOf(0, 85).Best; told.High != 85 || told.Low != free.Best.Low {
		t.Errorf("%+v, where 0 to 85 is plausible and %+v without that", told, free.Best)
	}
	if told := gainOf(0, 80).ChanceLeft[0]; told.Chance > 0.1 || !(free.ChanceLeft[0].Chance > 0.3) {
		t.Errorf("%+v, where nothing above the best reading is plausible and %+v without that", told, free.ChanceLeft[0])
	}
	if refuted := gainOf(0, 75); !reflect.DeepEqual(refuted, free) {
		t.Errorf("%+v, where a reading of 80 is beyond what was called plausible; want %+v", refuted, free)
	}
}

// TestNothingIsGainedByAModelThatIsWideForSafety: such a model promised more than there was in 42 of 60 looks at
// a reaction; one of raw outputs is as it was given.
func TestNothingIsGainedByAModelThatIsWideForSafety(t *testing.T) {
	t.Parallel()
	for _, outputs := range []string{"standardize", "raw"} {
		d := oven()
		d.Algorithm.Name, d.Model.Outputs = "stageopt", outputs
		d.Algorithm.Settings = map[string]json.RawMessage{"safe_seeds": rawJSON(`[{"temperature": 30, "cycles": 2}]`)}
		b := newBench(t, d)
		for n, yield := range []float64{0.1, 0.3, 0.2} {
			b.ask(1)
			b.tell(n+1, map[string]float64{"yield": yield, "impurity": 0.1})
		}
		b.ask(1)
		if gain, err := b.service.GainOf(t.Context(), b.snap); err != nil || (gain == nil) != (outputs == "standardize") {
			t.Errorf("of %s outputs %+v, %v", outputs, gain, err)
		}
	}
}
