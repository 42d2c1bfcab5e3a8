package study

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

func TestTellingRules(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	for name, c := range map[string]struct {
		telling  ledger.Telling
		location string
		message  string
	}{
		"nothing":            {ledger.Telling{}, "metrics", "at least one"},
		"unknown metric":     {ledger.Telling{Metrics: map[string]ledger.Reading{"yeild": {Value: 1}}}, "metrics.yeild", `did you mean "yield"`},
		"not finite":         {ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: math.Inf(1)}}}, "metrics.yield", "finite"},
		"beyond computing":   {ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: -2e100}}}, "metrics.yield", "1e100"},
		"no deviation":       {ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 1, StdDev: new(0.0)}}}, "metrics.yield.stddev", "above 0"},
		"settings outside":   {ledger.Telling{Parameters: design.Settings{"temperature": design.NumberValue(600), "cycles": design.NumberValue(2)}}, "parameters.temperature", "10 times the range beyond 20 to 60"},
		"half the settings":  {ledger.Telling{Parameters: design.Settings{"temperature": design.NumberValue(50)}}, "parameters.cycles", "missing"},
		"a note like a book": {ledger.Telling{Note: strings.Repeat("µ", 10001)}, "note", "10000"},
	} {
		_, err := ruleTell(b.snap, 1, c.telling)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		wantFault(t, faultsOf(t, err), c.location, c.message)
	}
}

func TestTellingManyIsAllOrNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(3)
	yield := func(number int, value float64) NumberedTelling {
		return NumberedTelling{number, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: value}}}}
	}
	impurity := NumberedTelling{2, ledger.Telling{Metrics: map[string]ledger.Reading{"impurity": {Value: 0.1}}}}
	for location, told := range map[string][]NumberedTelling{
		"trials":                  nil,
		"trials[1].number":        {yield(1, 1), yield(4, 1)},
		"trials[2].metrics.yield": {yield(1, 1), yield(2, 1), yield(3, math.NaN())},
		"trials[0].metrics":       {{Number: 1}, yield(2, 1)},
	} {
		_, err := ruleTellMany(b.snap, told)
		if err == nil {
			t.Errorf("%s: accepted", location)
			continue
		}
		wantFault(t, faultsOf(t, err), location, "")
	}
	ruled, err := ruleTellMany(b.snap, []NumberedTelling{yield(1, 1), yield(2, 2), yield(1, 3)})
	b.refused(ruled, err, ErrConflict, "yield of trial 1 has been told already")
	b.must(ruleTellMany(b.snap, []NumberedTelling{yield(2, 2), yield(1, 1), impurity}))
	if one, two := b.snap.Trial(1), b.snap.Trial(2); one.Metrics["yield"].Value != 1 || two.Metrics["yield"].Value != 2 || two.Status != ledger.StatusCompleted {
		t.Errorf("%+v\n%+v", one, two)
	}
	ruled, err = ruleTellMany(b.snap, []NumberedTelling{yield(3, 1), yield(3, 1), yield(2, 1)})
	b.refused(ruled, err, ErrConflict, "yield of trial 3")
	if ruled, _ := ruleTellMany(b.snap, []NumberedTelling{yield(3, 1), {3, ledger.Telling{Note: "x"}}}); !slices.Equal(ruled.numbers, []int{3}) || len(ruled.drafts) != 2 {
		t.Errorf("%+v", ruled)
	}
}

func TestWhatAStudyThatIsNotOpenRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(2)
	b.tell(1, map[string]float64{"yield": 70})
	told := ledger.Telling{Metrics: map[string]ledger.Reading{"impurity": {Value: 1}}}
	b.must(ruleEdit(ledger.EditedData{State: new(ledger.Paused)}))
	ruled, err := b.service.ruleAsk(t.Context(), Command{}, b.snap, Ask{})
	b.refused(ruled, err, ErrConflict, "is paused")
	b.must(ruleTell(b.snap, 1, told))
	b.must(ruleEdit(ledger.EditedData{State: new(ledger.Archived)}))
	for name, rule := range map[string]func() (ruling, error){
		"tell":      func() (ruling, error) { return ruleTell(b.snap, 2, told) },
		"tell many": func() (ruling, error) { return ruleTellMany(b.snap, []NumberedTelling{{2, told}}) },
		"correct": func() (ruling, error) {
			return ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": nil}, Reason: "x"})
		},
		"close": func() (ruling, error) {
			return ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 2, Reason: "x", Cause: ledger.BySettings})
		},
		"reconfigure": func() (ruling, error) {
			return ruleReconfigure(b.snap, design.Reconfiguration{Algorithm: &design.Algorithm{Name: "ckb-ucb", Horizon: 50}, Reason: "x"})
		},
		"import": func() (ruling, error) { return ruleImport(b.snap, b.snap, nil) },
	} {
		ruled, err := rule()
		if !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "archived") {
			t.Errorf("%s: %v, %+v", name, err, ruled)
		}
	}
	ruled, err = ruleTell(b.snap, 3, told)
	b.refused(ruled, err, ErrConflict, "archived")
}

func TestTrialsThatAreNotThere(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	ruled, err := ruleTell(b.snap, 2, ledger.Telling{Note: "x"})
	b.refused(ruled, err, ErrNotFound, "There is no trial 2; the study has 1.")
	ruled, err = ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 0, Reason: "x", Cause: ledger.BySettings})
	b.refused(ruled, err, ErrNotFound, "no trial 0")
	ruled, err = b.service.ruleReplicate(t.Context(), Command{}, b.snap, 2)
	b.refused(ruled, err, ErrNotFound, "no trial 2")
}

func TestSettingsReallyUsedAreKeptAsTheyWere(t *testing.T) {
	t.Parallel()
	b := newBench(t, bufferScreen())
	b.ask(1)
	used := b.snap.Trial(1).Parameters.Clone()
	used["time"] = design.NumberValue(1.234) // the step is 0.1
	b.must(ruleTell(b.snap, 1, ledger.Telling{Parameters: used, Metrics: map[string]ledger.Reading{"pH": {Value: 7.75}}, Note: "clock ran slow"}))
	trial := b.snap.Trial(1)
	if trial.Parameters["time"].Number != 1.234 || !trial.SettingsChanged || trial.Note != "clock ran slow" {
		t.Errorf("%+v", trial)
	}
	if place := b.snap.Place(1); math.Abs(place.U[3]-(1.234-0.5)/1.5) > 1e-12 {
		t.Errorf("placed at %v", place)
	}
	if m := trial.Metrics["pH"]; m.Headroom == nil || *m.Headroom != 0.25 {
		t.Errorf("the nearest of two limits is 0.25 away: %+v", m)
	}
}

func TestKnownConstraintsComeWithTheDecision(t *testing.T) {
	t.Parallel()
	b := newBench(t, queue())
	values := map[string][]float64{"backlog": {0, 2, 3, 4}}
	own := OwnTrial{Parameters: design.Settings{"x": design.NumberValue(1), "mode": design.TextValue("slow")}, Brought: design.Brought{Context: map[string]float64{"omega": 2}, ConstraintValues: values}}
	b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, own))
	trial := b.snap.Trial(1)
	if *trial.Candidate != 1 || trial.Metrics["load"].Value != -1 || !trial.Metrics["load"].Known || trial.Metrics["backlog"].Value != 2 {
		t.Fatalf("%+v", trial)
	}
	if trial.Feasible == nil || !*trial.Feasible || trial.Status != ledger.StatusSuggested {
		t.Errorf("both limits are known and hold: %+v", trial)
	}
	_, err := ruleTell(b.snap, 1, ledger.Telling{Metrics: map[string]ledger.Reading{"load": {Value: 1}}})
	b.refused(ruling{}, err, ErrConflict, "cannot be told")
	_, err = b.service.ruleAsk(t.Context(), Command{}, b.snap, Ask{Brought: design.Brought{Context: map[string]float64{"omega": 2}}})
	wantFault(t, faultsOf(t, err), "constraint_values.backlog", "missing")
	own.Parameters = design.Settings{"x": design.NumberValue(2), "mode": design.TextValue("slow")}
	_, err = b.service.ruleOwn(t.Context(), Command{}, b.snap, own)
	wantFault(t, faultsOf(t, err), "parameters", "not one of the 4 candidates")
	// Another arm was really used: its own values of the same moment count.
	b.must(ruleTell(b.snap, 1, ledger.Telling{Parameters: design.Settings{"x": design.NumberValue(3), "mode": design.TextValue("fast")}}))
	if trial := b.snap.Trial(1); *trial.Candidate != 3 || trial.Metrics["load"].Value != -7 || trial.Metrics["backlog"].Value != 4 {
		t.Errorf("%+v", trial)
	}
}

func TestCorrectionRules(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	b.tell(1, map[string]float64{"yield": 70})
	_, err := ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": {Value: 71}}})
	wantFault(t, faultsOf(t, err), "reason", "reason")
	_, err = ruleCorrect(b.snap, Correction{Number: 1, Reason: "x"})
	wantFault(t, faultsOf(t, err), "metrics", "corrected")
	_, err = ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": {Value: 70}}, Reason: "x"})
	wantFault(t, faultsOf(t, err), "metrics.yield", "already")
	_, err = ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"smell": nil}, Reason: "x"})
	wantFault(t, faultsOf(t, err), "metrics.smell", `there is no metric "smell"`)
	ruled, err := ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"impurity": nil}, Reason: "x"})
	b.refused(ruled, err, ErrConflict, "nothing to correct")
	ruled, err = ruleCorrect(b.snap, Correction{Number: 2, Metrics: map[string]*ledger.Reading{"yield": nil}, Reason: "x"})
	b.refused(ruled, err, ErrNotFound, "no trial 2")
	chosen := b.snap.Trial(1).Parameters
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Parameters: design.Settings{"temperature": design.NumberValue(33), "cycles": design.NumberValue(3)}, Reason: "misread"}))
	if trial := b.snap.Trial(1); trial.Parameters["temperature"].Number != 33 || !trial.SettingsChanged {
		t.Errorf("%+v", trial)
	}
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Parameters: chosen, Reason: "no, right after all"}))
	if b.snap.Trial(1).SettingsChanged {
		t.Error("the settings are those chosen again")
	}
}

func TestClosingRules(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(2)
	b.tell(1, map[string]float64{"yield": 70, "impurity": 1})
	for _, c := range []struct {
		kind   ledger.Kind
		number int
		cause  ledger.Cause
		want   string
	}{{ledger.Failed, 1, ledger.BySettings, "exclude it"}, {ledger.Abandoned, 1, "", "exclude it"}, {ledger.Included, 1, "", "not excluded"}} {
		ruled, err := ruleClose(b.snap, c.kind, ledger.ClosedData{Number: c.number, Reason: "x", Cause: c.cause})
		b.refused(ruled, err, ErrConflict, c.want)
	}
	b.must(ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 2, Reason: "x", Cause: ledger.BySettings}))
	ruled, err := ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 2, Reason: "again", Cause: ledger.BySettings})
	b.refused(ruled, err, ErrConflict, "failed because of its settings already")
	b.must(ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 2, Reason: "bad luck", Cause: ledger.ByChance}))
	b.must(ruleClose(b.snap, ledger.Abandoned, ledger.ClosedData{Number: 2, Reason: "not begun"}))
	ruled, err = ruleClose(b.snap, ledger.Abandoned, ledger.ClosedData{Number: 2, Reason: "x"})
	b.refused(ruled, err, ErrConflict, "abandoned already")
	for kind, cause := range map[ledger.Kind]ledger.Cause{ledger.Failed: "", ledger.Excluded: ledger.ByChance} {
		if ruled, err = ruleClose(b.snap, kind, ledger.ClosedData{Number: 2, Reason: "x", Cause: cause}); err == nil {
			t.Errorf("%s by %q is written: %+v", kind, cause, ruled)
		}
	}
	b.must(ruleClose(b.snap, ledger.Excluded, ledger.ClosedData{Number: 2, Reason: "x"}))
	ruled, err = ruleClose(b.snap, ledger.Excluded, ledger.ClosedData{Number: 2, Reason: "x"})
	b.refused(ruled, err, ErrConflict, "excluded already")
}

func TestReconfigurationNamesWhatChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	b.tell(1, map[string]float64{"yield": 70, "impurity": 0.4})
	hot := b.snap.Definition.Parameters[0]
	hot.High = new(50.0)
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Parameters: []design.Parameter{hot}, Reason: "the heater is weak",
		Constraints: []design.Constraint{{Metric: "impurity", Op: "<=", Threshold: 0.3, Unit: "%"}}}))
	var data ledger.ReconfiguredData
	if err := b.events[len(b.events)-1].Decode(&data); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range data.Changes {
		got = append(got, c.Path+" "+string(c.Before)+" "+string(c.After))
	}
	if want := "constraints[impurity].threshold 0.5 0.3|parameters[temperature].high 60 50"; strings.Join(got, "|") != want {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
	if trial := b.snap.Trial(1); *trial.Feasible {
		t.Error("feasibility follows the present limit")
	}
	for name, change := range map[string]design.Reconfiguration{
		"parameters[0].name":  {Parameters: []design.Parameter{{Name: "speed", Type: design.Real, Low: new(0.0), High: new(1.0)}}, Reason: "x"},
		"constraints[0].name": {Constraints: []design.Constraint{{Metric: "smell", Op: "<="}}, Reason: "x"},
		"":                    {Objective: &design.Objective{Metric: "speed", Direction: "maximize"}, Reason: "x"},
		"reason":              {Objective: &design.Objective{Metric: "yield", Direction: "minimize"}},
	} {
		_, err := ruleReconfigure(b.snap, change)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		wantFault(t, faultsOf(t, err), name, "")
	}
	ruled, err := ruleReconfigure(b.snap, design.Reconfiguration{Reason: "nothing"})
	b.refused(ruled, err, ErrConflict, "nothing would change")
}
