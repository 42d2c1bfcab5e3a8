package design

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
)

// TestApplyChangesWhatIsNamed: parts are found by name, a limit without one by its metric; what is
// left out stays.
func TestApplyChangesWhatIsNamed(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	d.Constraints[0].Name = "impurity" // as every checked definition names it
	stricter, wider, brown := d.Constraints[0], d.Parameters[0], d.RecordedMetrics[0]
	stricter.Name, stricter.Threshold, wider.High, brown.Unit = "", 0.4, new(80.0), "AU"
	after, faults := Reconfiguration{Parameters: []Parameter{wider}, Constraints: []Constraint{stricter}, RecordedMetrics: []RecordedMetric{brown},
		Unavailable: map[string][]Value{"catalyst": {TextValue("B")}}, Stop: &Stop{Within: 0.02, Risk: 0.1}}.Apply(d)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if c := after.Constraints[0]; c.Name != "impurity" || c.Threshold != 0.4 || *after.Parameters[0].High != 80 || after.RecordedMetrics[0].Unit != "AU" || len(after.Unavailable["catalyst"]) != 1 {
		t.Errorf("after the change: %+v", after)
	}
	if after.Constraints[2].Threshold != 8 || len(after.Parameters) != 5 || *d.Parameters[0].High != 60 || d.Constraints[0].Threshold != 0.5 {
		t.Errorf("something else has changed: %+v, before %+v", after, d)
	}
	if again, _ := (Reconfiguration{}).Apply(after); len(again.Unavailable["catalyst"]) != 1 || again.Stop == nil || *again.Stop != (Stop{0.02, 0.1}) {
		t.Error("what has run out, or when to stop, is forgotten by a change that says nothing of it")
	}
	back, _ := Reconfiguration{Unavailable: map[string][]Value{"catalyst": {}, "nothing": {}}}.Apply(after)
	if gone, there := back.Unavailable["catalyst"]; there {
		t.Errorf("a choice that came again leaves a list of what has run out: %v", gone)
	}
	if _, there := back.Unavailable["nothing"]; !there {
		t.Error("a list for a parameter that there is not passes unseen")
	}
	for location, change := range map[string]Reconfiguration{
		"parameters[0].name":         {Parameters: []Parameter{{Name: "pressure"}}},
		"constraints[0].name":        {Constraints: []Constraint{{Name: "acidity", Metric: "pH"}}},
		"recorded_metrics[0].metric": {RecordedMetrics: []RecordedMetric{{Metric: "smell"}}},
	} {
		_, faults := change.Apply(d)
		wantFault(t, faults, location, "cannot be added or renamed")
	}
}

// TestApplyKeepsWhatIsNotMentioned of a part: whoever tells a limit's threshold anew does not mean to
// take its unit away.
func TestApplyKeepsWhatIsNotMentioned(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	limit, number, recorded := d.Constraints[0], d.Parameters[0], d.RecordedMetrics[0]
	plausible := []float64{0, 100}
	d.Objective.Unit, d.Objective.Plausible, number.Unit, number.Step, limit.Unit, limit.Plausible, recorded.Unit, recorded.Plausible =
		"%", plausible, "°C", new(0.5), "ppm", plausible, "AU", plausible
	d.Parameters[0], d.Constraints[0], d.RecordedMetrics[0] = number, limit, recorded
	bare := Reconfiguration{
		Parameters:  []Parameter{{Name: number.Name, Type: number.Type, Low: number.Low, High: new(50.0)}},
		Constraints: []Constraint{{Metric: limit.Metric, Op: limit.Op, Threshold: 0.4}}, RecordedMetrics: []RecordedMetric{{Metric: recorded.Metric}},
		Objective: &Objective{Metric: d.Objective.Metric, Direction: d.Objective.Direction},
	}
	told := func(d Definition) string {
		p, c, r := d.Parameters[0], d.Constraints[0], d.RecordedMetrics[0]
		return fmt.Sprint(d.Objective, p.Unit, p.Step != nil, c.Unit, c.Plausible, r)
	}
	if after, faults := bare.Apply(d); told(after) != told(d) || *after.Parameters[0].High != 50 || after.Constraints[0].Threshold != 0.4 || len(faults) > 0 {
		t.Errorf("%v: before %s, after %s", faults, told(d), told(after))
	}
	bare.Constraints[0].Plausible = []float64{}
	if after, _ := bare.Apply(d); after.Constraints[0].Plausible != nil {
		t.Error("what is plausible cannot be taken away")
	}
	bare.Whole = true
	if after, _ := bare.Apply(d); after.Objective.Unit != "" || after.Parameters[0].Step != nil || after.Constraints[0].Unit != "" || after.RecordedMetrics[0].Plausible != nil {
		t.Errorf("whole parts keep what they do not have: %s", told(after))
	}
}

func TestBetterFollowsTheDirection(t *testing.T) {
	t.Parallel()
	most, least := Objective{Direction: "maximize"}, Objective{Direction: "minimize"}
	if !most.Better(2, 1) || most.Better(1, 2) || most.Better(1, 1) || !least.Better(1, 2) || least.Better(2, 1) || least.Better(1, 1) {
		t.Error("better is not what improves")
	}
}

func TestNoSpaceWithoutAUnit(t *testing.T) {
	t.Parallel()
	if got := WithUnit("47", "", " ") + "|" + WithUnit("47", "°C", " "); got != "47|47 °C" {
		t.Error(got)
	}
}

// TestViewpointsAreSettings: settings that cannot be read are no place to look from, and a
// covariance of candidates knows no others.
func TestViewpointsAreSettings(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, bufferScreen())
	good := Settings{"temperature": NumberValue(30), "cycles": NumberValue(3), "salt": NumberValue(1), "time": NumberValue(1), "catalyst": TextValue("A")}
	bad := Settings{"temperature": NumberValue(300), "cycles": NumberValue(3), "salt": NumberValue(1), "time": NumberValue(1), "catalyst": TextValue("A")}
	if places, faults := c.Viewpoints([]Settings{good}, "points"); len(faults) > 0 || len(places) != 1 || len(places[0].U) != 5 {
		t.Errorf("places %v, faults %v", places, faults)
	}
	_, faults := c.Viewpoints([]Settings{good, bad}, "points")
	wantFault(t, faults, "points[1].temperature", "")

	var d Definition
	must.Do(t, json.Unmarshal([]byte(`{"name": "Listed", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 3}], "candidates": [{"x": 0}, {"x": 1}],
		"objective": {"metric": "y", "direction": "minimize"}, "algorithm": {"name": "rpol-ucb", "horizon": 20},
		"model": {"fit": "fixed", "kernel": {"matrix": [[1, 0.2], [0.2, 1]]}, "noise_variance": {"y": 0.001}}}`), &d))
	listed := mustCompile(t, d)
	if places, faults := listed.Viewpoints([]Settings{{"x": NumberValue(1)}}, "points"); len(faults) > 0 || places[0].Arm != 1 {
		t.Errorf("a candidate: places %v, faults %v", places, faults)
	}
	_, faults = listed.Viewpoints([]Settings{{"x": NumberValue(2)}}, "points")
	wantFault(t, faults, "points[0]", "not one of the 2 candidates")
	d.Model = Model{}
	if places, faults := mustCompile(t, d).Viewpoints([]Settings{{"x": NumberValue(2)}}, "points"); len(faults) > 0 || places[0].Arm >= 0 {
		t.Errorf("beside the candidates of a study with a kernel: places %v, faults %v", places, faults)
	}
}

// TestEditDistanceIsThatOfTheWholeTable as far as it is looked at, against the table of Wagner and
// Fischer (1974).
func TestEditDistanceIsThatOfTheWholeTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SliceOfN(rapid.SampledFrom([]rune("abé")), 0, 6)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		row := make([]int, len(b)+1)
		for j := range row {
			row[j] = j
		}
		for i, x := range a {
			next := []int{i + 1}
			for j, y := range b {
				replaced := row[j]
				if x != y {
					replaced++
				}
				next = append(next, min(replaced, row[j+1]+1, next[j]+1))
			}
			row = slices.Clone(next)
		}
		if got, want := min(editDistance(a, b, mostSlips), mostSlips+1), min(row[len(b)], mostSlips+1); got != want {
			t.Fatalf("%q and %q are %d apart, want %d", string(a), string(b), got, want)
		}
	})
}

// TestApplyKeepsTheAlgorithmThatIsNotNamed with its settings, but for what is said; one that is named
// comes with its own.
func TestApplyKeepsTheAlgorithmThatIsNotNamed(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	eta, caution := map[string]json.RawMessage{"eta": json.RawMessage(`3`)}, map[string]json.RawMessage{"caution": json.RawMessage(`2`)}
	d.Algorithm = Algorithm{Name: "rpol-ucb", Horizon: 80, Settings: eta}
	for name, c := range map[string]struct{ said, want Algorithm }{
		"nothing":      {Algorithm{}, d.Algorithm},
		"a horizon":    {Algorithm{Horizon: 50}, Algorithm{Name: "rpol-ucb", Horizon: 50, Settings: eta}},
		"settings":     {Algorithm{Settings: caution}, Algorithm{Name: "rpol-ucb", Horizon: 80, Settings: caution}},
		"another name": {Algorithm{Name: "log-cei"}, Algorithm{Name: "log-cei", Horizon: 80}},
	} {
		if got, faults := (Reconfiguration{Algorithm: &c.said}).Apply(d); len(faults) > 0 || !reflect.DeepEqual(got.Algorithm, c.want) {
			t.Errorf("with %s said it is %+v, %v", name, got.Algorithm, faults)
		}
	}
}

// TestApplyRefusesWhatIsSaidTwice: neither is right.
func TestApplyRefusesWhatIsSaidTwice(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	twice := Reconfiguration{Parameters: slices.Repeat(d.Parameters[:1], 2), Constraints: slices.Repeat(d.Constraints[:1], 2)}
	_, faults := twice.Apply(d)
	for _, field := range []string{"parameters[1].name", "constraints[1].name"} {
		if !slices.ContainsFunc(faults, func(f Fault) bool { return f.Field == field }) {
			t.Errorf("nothing is wrong with %s: %v", field, faults)
		}
	}
}

// TestFaultsOfAChangeArePlaced where what they are of was sent, or at its list where it was not.
func TestFaultsOfAChangeArePlaced(t *testing.T) {
	t.Parallel()
	d := Definition{Parameters: []Parameter{{Name: "a"}, {Name: "b"}}, Constraints: []Constraint{{Name: "pH low", Metric: "pH"}}}
	change := Reconfiguration{Parameters: []Parameter{{Name: "b"}}, Constraints: []Constraint{{Name: "pH low", Metric: "pH"}}}
	faults := Faults{{Field: "parameters[1].low", Message: "m"}, {Field: "parameters[0].of[1]", Message: "m"}, {Field: "constraints[0]", Message: "m"}, {Field: "parameters", Message: "m"}, {Field: "", Message: "m"}}
	got := fmt.Sprint(change.Placed(d, faults))
	if want := `[parameters[0].low: m parameters: "a", which stays: m constraints[0]: m parameters: m m]`; got != want {
		t.Errorf("placed %s, want %s", got, want)
	}
	faults = Faults{{Field: "unavailable.n[0]", Message: "m"}, {Field: "algorithm.settings.beta", Message: "m"}, {Field: "input_constraints[0]", Message: "m"}}
	change = Reconfiguration{Algorithm: &Algorithm{}}
	got = fmt.Sprint(change.Placed(d, faults))
	if want := `[unavailable: unavailable.n[0], which stays: m algorithm.settings.beta: m input_constraints: input_constraints[0], which stays: m]`; got != want {
		t.Errorf("placed %s, want %s", got, want)
	}
}
