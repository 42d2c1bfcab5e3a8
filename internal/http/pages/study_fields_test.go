package pages

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/study/design"
)

// rich is a definition with something in every field that a form has.
func rich() design.Definition {
	at := func(x float64) *float64 { return &x }
	return design.Definition{
		Name: "Rich", Description: "two\nlines",
		Parameters: []design.Parameter{
			{Name: "a", Type: design.Real, Low: at(0.5), High: at(60), Unit: "°C", Scale: "log", Step: at(0.5)},
			{Name: "b", Type: design.Integer, Low: at(1), High: at(9), Scale: "linear"},
			{Name: "c", Type: design.Categorical, Choices: []string{"x", "y"}},
			{Name: "d", Type: design.Real, Low: at(0), High: at(1)},
			{Name: "e", Type: design.Remainder, Total: at(1), Of: []string{"d"}, Low: at(0), High: at(1), Unit: "%"},
		},
		Objective:        design.Objective{Metric: "yield", Direction: "maximize", Unit: "%", Plausible: []float64{0, 100}},
		Constraints:      []design.Constraint{{Metric: "load", Name: "at most", Op: "<=", Threshold: 1.25, Unit: "kg", Expression: "a*w", Context: []string{"w", "v"}, Plausible: []float64{-1, 3}}, {Metric: "s", Op: ">=", Sampled: true}},
		RecordedMetrics:  []design.RecordedMetric{{Metric: "colour", Unit: "nm", Plausible: []float64{400, 700}}},
		Stop:             &design.Stop{Within: 0.02, Risk: 0.1},
		SimulatedLab:     "reaction",
		Algorithm:        design.Algorithm{Name: "rpol-sw-ucb", Preset: "paper", Horizon: 120, Settings: map[string]json.RawMessage{"window": json.RawMessage("30")}},
		Model:            design.Model{Kernel: json.RawMessage(`"se"`), Inputs: "unit", Outputs: "raw", Fit: "fixed", Lengthscales: json.RawMessage("[0.5,2]"), NoiseVariance: json.RawMessage("0.25"), Lambda: json.RawMessage("1")},
		InputConstraints: []string{"a + b <= 60", "b <= 8"},
	}
}

// What a form shows of a study is what it reads again.
func TestAFormReadsWhatItShows(t *testing.T) {
	t.Parallel()
	want := rich()
	form := newTyped(definitionValues(want))
	got := form.definition()
	if want.Seed = got.Seed; !form.ok() {
		t.Fatalf("%v", form.faults)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A form of changes changes what it has fields for; the rest stays as the study has it, whatever is sent.
func TestAFormOfChangesKeepsWhatIsFixed(t *testing.T) {
	t.Parallel()
	study := rich()
	other := definitionValues(study)
	for _, name := range []string{"name", "parameters.0.name", "parameters.2.choices", "objective.metric", "constraints.0.metric", "constraints.0.expression", "constraints.0.name", "recorded_metrics.0.unit", "simulated_lab"} {
		other.Set(name, "something else")
	}
	for name, text := range map[string]string{"parameters.0.type": "integer", "parameters.0.step": "7", "parameters.0.high": "70", "constraints.0.threshold": "2", "model.fit": "marginal_likelihood", "stop.within": "", "reason": "x"} {
		other.Set(name, text)
	}
	form := newTyped(other)
	change := form.reconfiguration(study)
	if !form.ok() {
		t.Fatalf("%v", form.faults)
	}
	want := rich()
	seventy := 70.0
	want.Parameters[0].High, want.Constraints[0].Threshold, want.Model.Fit, want.Stop.Within = &seventy, 2, "marginal_likelihood", design.UsualStop().Within
	got := study
	got.Parameters, got.Constraints, got.RecordedMetrics, got.Objective = change.Parameters, change.Constraints, change.RecordedMetrics, *change.Objective
	got.Algorithm, got.Model, got.InputConstraints, got.Stop = *change.Algorithm, *change.Model, *change.InputConstraints, change.Stop
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(rich(), study); diff != "" {
		t.Errorf("the study itself was changed: %s", diff)
	}
}
