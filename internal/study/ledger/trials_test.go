package ledger

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"headroom/internal/study/design"
)

// queue is a study of candidates with one limit of known form and one sampled.
func queue(t testing.TB) design.Definition { return example(t, "queue") }

// placedAt fails unless trial 1 of an oven lies at these settings, for people and for the
// algorithm.
func (b *bench) placedAt(what string, temperature, share float64) {
	b.Helper()
	trial, point := b.snap.Trial(1), b.round(1).Point
	if got := trial.Parameters["temperature"].Number; got != temperature {
		b.Errorf("%s: at %v °C, want %v", what, got, temperature)
	}
	if !slices.Equal(point, b.snap.Place(1).U) || point[0] != share {
		b.Errorf("%s: placed at %v, played at %v, want %v of the range", what, b.snap.Place(1).U, point, share)
	}
}

func TestATrialLiesWhereItsSettingsAre(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(1)
	b.placedAt("chosen", 21, 0.025)
	used := b.snap.Trial(1).Parameters.Clone()
	used["temperature"] = design.NumberValue(25)
	before := b.snap
	b.add(Told, ToldData{Number: 1, Telling: Telling{Parameters: used, Metrics: map[string]Reading{"yield": {Value: 1}}}})
	b.placedAt("told that others were used", 25, 0.125)
	if !b.snap.Trial(1).SettingsChanged {
		t.Error("the settings used are not those chosen")
	}
	b.move(1, "temperature", 30)
	b.placedAt("corrected", 30, 0.25)
	b.reconfigure(func(d *design.Definition) { d.Parameters[0].High = new(100.0) })
	b.placedAt("in wider bounds", 30, 0.125)
	b.tell(1, map[string]float64{"impurity": 1})
	b.placedAt("told more", 30, 0.125)
	b.move(1, "temperature", 21)
	if b.snap.Trial(1).SettingsChanged {
		t.Error("the settings are those chosen again")
	}
	if before.Place(1).U[0] != 0.025 {
		t.Error("an earlier snapshot has moved")
	}
}

func TestFailedAndAbandonedTrialsComeBackWhenTheyAreTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(2)
	b.close(Failed, 1, "spilled")
	b.close(Abandoned, 2, "no time")
	b.reconfigure(func(d *design.Definition) { d.Constraints[0].Threshold = 0.3 })
	one, two := b.snap.Trial(1), b.snap.Trial(2)
	if one.Status != StatusFailed || one.Reason != "spilled" || two.Status != StatusAbandoned || two.Reason != "no time" || one.Waiting() || two.Waiting() {
		t.Errorf("%+v\n%+v", one, two)
	}
	b.refuses("failing again", Draft{Failed, ClosedData{Number: 1, Reason: "x", Cause: BySettings}})
	b.refuses("abandoning again", Draft{Abandoned, ClosedData{Number: 2, Reason: "x"}})
	b.close(Excluded, 1, "wrong batch")
	if one := b.snap.Trial(1); one.Reason != "wrong batch" {
		t.Errorf("excluded because of %q", one.Reason)
	}
	b.close(Included, 1, "it was the right one")
	if one := b.snap.Trial(1); one.Reason != "spilled" {
		t.Errorf("failed because of %q", one.Reason)
	}
	b.close(Excluded, 2, "wrong batch")
	b.refuses("failing by an unknown cause", Draft{Failed, ClosedData{Number: 2, Reason: "x", Cause: "weather"}})
	b.add(Told, ToldData{Number: 1, Telling: Telling{Note: "the pump leaks"}})
	b.add(Told, ToldData{Number: 1, Telling: Telling{Parameters: b.snap.Trial(1).Parameters}})
	if one := b.snap.Trial(1); one.Status != StatusFailed || one.Reason != "spilled" || one.Note != "the pump leaks" {
		t.Errorf("with a note: %+v", one)
	}
	b.tell(1, map[string]float64{"yield": 1})
	b.tell(2, map[string]float64{"yield": 1, "impurity": 0.2})
	one, two = b.snap.Trial(1), b.snap.Trial(2)
	if one.Status != StatusPartial || one.Reason != "" || one.Cause != "" || two.Status != StatusCompleted || two.Reason != "wrong batch" {
		t.Errorf("%+v\n%+v", one, two)
	}
	b.close(Included, 2, "it was the right one")
	if two := b.snap.Trial(2); two.Reason != "" {
		t.Errorf("completed because of %q", two.Reason)
	}
	b.refuses("closing what is not there", Draft{Failed, ClosedData{Number: 3, Reason: "x", Cause: BySettings}})
	b.close(Failed, 1, "spilled again")
	if one := b.snap.Trial(1); one.Status != StatusFailed || len(b.round(1).Closed) != 1 {
		t.Errorf("%+v, closed during %v", one, b.round(1).Closed)
	}
}

func TestNotesAddUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(1)
	for _, note := range []string{"cloudy", "", "clock ran slow"} {
		b.add(Told, ToldData{Number: 1, Telling: Telling{Note: note}})
	}
	if got := b.snap.Trial(1); got.Note != "cloudy\nclock ran slow" || got.Status != StatusSuggested {
		t.Errorf("%+v", got)
	}
}

func TestCorrectionsHoldTheFirstValueAndTheLast(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(1)
	b.tell(1, map[string]float64{"yield": 70})
	b.correct(1, &Reading{Value: 7, StdDev: new(0.5)})
	b.correct(1, &Reading{Value: 71})
	if m := b.snap.Trial(1).Metrics["yield"]; m.Value != 71 || m.StdDev != nil || !m.Corrected || *m.Original != 70 || m.ToldSeq != 3 {
		t.Errorf("%+v", m)
	}
	for name, value := range map[string]CorrectedValue{
		"nothing before":      {After: &Reading{Value: 1}},
		"another value":       {Before: &Reading{Value: 70}},
		"a deviation, untold": {Before: &Reading{Value: 71, StdDev: new(0.5)}},
	} {
		b.refuses(name, Draft{Corrected, CorrectedData{Number: 1, Metrics: map[string]CorrectedValue{"yield": value}}})
	}
	b.correct(1, &Reading{Value: 71, StdDev: new(0.5)})
	for name, before := range map[string]*Reading{"another deviation": {Value: 71, StdDev: new(0.4)}, "no deviation": {Value: 71}, "another value": {Value: 70, StdDev: new(0.5)}} {
		b.refuses(name, Draft{Corrected, CorrectedData{Number: 1, Metrics: map[string]CorrectedValue{"yield": {Before: before}}}})
	}
	b.refuses("no trial", Draft{Corrected, CorrectedData{Number: 2, Metrics: map[string]CorrectedValue{"yield": {Before: &Reading{Value: 71, StdDev: new(0.5)}}}}})
}

func TestAnArchivedStudyIsToldNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(2)
	b.tell(1, map[string]float64{"yield": 70})
	b.add(Edited, EditedData{State: new(Archived)})
	b.refuses("telling", Draft{Told, ToldData{Number: 2, Telling: Telling{Metrics: map[string]Reading{"yield": {Value: 1}}}}})
	b.refuses("correcting", Draft{Corrected, CorrectedData{Number: 1, Metrics: map[string]CorrectedValue{"yield": {Before: &Reading{Value: 70}}}}})
	b.refuses("choosing", Draft{Chosen, b.chosen(2)})
}

func TestKnownValuesStandAndFallWithTheSettings(t *testing.T) {
	t.Parallel()
	b := newBench(t, queue(t))
	chosen := func(candidate int, known map[string]float64) ChosenData {
		return ChosenData{Number: 1, Origin: Manual, Seen: 1, Engine: "1", Candidate: &candidate, KnownValues: known,
			Parameters: design.Settings{"x": design.NumberValue(1), "mode": design.TextValue("slow")}}
	}
	within := map[string]float64{"load": -1, "backlog limit": 2}
	for name, d := range map[string]ChosenData{
		"after the last candidate":   chosen(4, within),
		"before the first candidate": chosen(-1, within),
		"without a known value":      chosen(1, map[string]float64{"load": -1}),
	} {
		b.refuses(name, Draft{Chosen, d})
	}
	b.add(Chosen, chosen(1, within))
	trial := b.snap.Trial(1)
	if load := trial.Metrics["load"]; load.Value != -1 || !load.Known || *load.Headroom != 1 || trial.Metrics["backlog"].Value != 2 || trial.Status != StatusSuggested {
		t.Errorf("%+v", trial)
	}
	if trial.Feasible == nil || !*trial.Feasible || !maps.Equal(b.snap.KnownValues(1), within) || !slices.Equal(b.round(1).Costs, []float64{-1, 2}) || b.snap.Place(1).Arm != 1 {
		t.Errorf("feasible %v, known %v, costs %v, at %+v", trial.Feasible, b.snap.KnownValues(1), b.round(1).Costs, b.snap.Place(1))
	}
	b.refuses("correcting what is known", Draft{Corrected, CorrectedData{Number: 1, Metrics: map[string]CorrectedValue{"load": {Before: &Reading{Value: -1}}}}})
	b.refuses("using other settings without their known values", Draft{Told, ToldData{Number: 1, Telling: Telling{Parameters: design.Settings{"x": design.NumberValue(3), "mode": design.TextValue("fast")}}, Candidate: new(3)}})
	moved := CorrectedData{Number: 1, Parameters: &CorrectedSettings{Before: trial.Parameters, After: design.Settings{"x": design.NumberValue(3), "mode": design.TextValue("fast")}}, Candidate: new(3)}
	b.refuses("correcting settings without their known values", Draft{Corrected, moved})
	moved.KnownValues = map[string]float64{"load": 5, "backlog limit": 4}
	b.add(Corrected, moved)
	if trial := b.snap.Trial(1); *trial.Feasible || trial.Metrics["load"].Value != 5 || b.snap.Place(1).Arm != 3 || b.round(1).Costs[0] != 5 {
		t.Errorf("%+v at %+v", trial, b.snap.Place(1))
	}
	first := design.Settings{"x": design.NumberValue(0), "mode": design.TextValue("slow")}
	b.add(Corrected, CorrectedData{Number: 1, Parameters: &CorrectedSettings{Before: moved.Parameters.After, After: first}, Candidate: new(0), KnownValues: within})
	if b.snap.Place(1).Arm != 0 {
		t.Errorf("the first candidate is at %+v", b.snap.Place(1))
	}
	oven := newBench(t, oven(t))
	data := oven.chosen(1)
	data.KnownValues = map[string]float64{"impurity": 0.1}
	oven.refuses("knowing what is measured", Draft{Chosen, data})
}

func TestWhatIsEdited(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.add(Edited, EditedData{Description: new("what it is for")})
	if b.snap.Definition.Description != "what it is for" || b.snap.Definition.Name != "Oven" || b.snap.State != Open {
		t.Errorf("%+v", b.snap.Definition)
	}
	if !b.snap.CreatedAt.Equal(b.events[0].At) || !b.snap.UpdatedAt.Equal(b.events[1].At) || b.snap.CreatedAt.Equal(b.snap.UpdatedAt) {
		t.Errorf("created %v, updated %v", b.snap.CreatedAt, b.snap.UpdatedAt)
	}
	if err := (Event{Data: []byte(`{"number": 1, "reason": "x"} {}`)}).Decode(new(ClosedData)); err == nil || !strings.Contains(err.Error(), "follows") {
		t.Errorf("data with something behind them: %v", err)
	}
}

func TestAFoldOfNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	if same, err := Fold("bench", b.snap, nil, nil); err != nil || same != b.snap {
		t.Errorf("%v, %v", same, err)
	}
	if snap, err := Fold("bench", nil, nil, nil); err == nil {
		t.Errorf("a study without events is %+v", snap)
	}
}
