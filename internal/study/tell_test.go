package study

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/lists"
	"headroom/internal/must"
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
		"not finite":         {ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: math.Inf(1)}}}, "metrics.yield", "must be a number between -1e100 and 1e100"},
		"beyond computing":   {ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: -2e100}}}, "metrics.yield", "1e100"},
		"no deviation":       {ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 1, StdDev: new(0.0)}}}, "metrics.yield.stddev", "above 0"},
		"a wild deviation":   {ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 1, StdDev: new(1e101)}}}, "metrics.yield.stddev", "must be above 0 and at most 1e100"},
		"settings outside":   {ledger.Telling{Parameters: design.Settings{"temperature": design.NumberValue(600), "cycles": design.NumberValue(2)}}, "parameters.temperature", "10 times the range beyond 20 to 60"},
		"half the settings":  {ledger.Telling{Parameters: design.Settings{"temperature": design.NumberValue(50)}}, "parameters.cycles", "missing"},
		"a note with a zero": {ledger.Telling{Note: "a\x00b"}, "note", "U+0000"},
		"a note like a book": {ledger.Telling{Note: strings.Repeat("µ", 10001)}, "note", "10000"},
	} {
		_, err := ruleTell(b.snap, 1, c.telling)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		wantFault(t, faultsOf(t, err), c.location, c.message)
		for metric, r := range c.telling.Metrics {
			if got, is := faultsOf(t, err)[0].Value.(float64); r.StdDev != nil && (!is || got != *r.StdDev) {
				t.Errorf("%s: the fault of %s shows %v, not what was sent", name, metric, faultsOf(t, err)[0].Value)
			}
		}
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
	_, err := ruleTellMany(b.snap, []NumberedTelling{yield(1, 1), yield(2, 2), yield(1, 3)})
	wantFault(t, faultsOf(t, err), "trials[2].metrics.yield", "is given twice for trial 1")
	b.must(ruleTellMany(b.snap, []NumberedTelling{yield(2, 2), yield(1, 1), impurity}))
	if one, two := b.snap.Trial(1), b.snap.Trial(2); one.Metrics["yield"].Value != 1 || two.Metrics["yield"].Value != 2 || two.Status != ledger.StatusCompleted {
		t.Errorf("%+v\n%+v", one, two)
	}
	_, err = ruleTellMany(b.snap, []NumberedTelling{yield(3, 1), yield(3, 1), yield(2, 1)})
	wantFault(t, faultsOf(t, err), "trials[1].metrics.yield", "is given twice for trial 3")
	ruled, err := ruleTellMany(b.snap, []NumberedTelling{yield(3, 1), yield(2, 1)})
	b.refused(ruled, err, ErrConflict, "yield of trial 2 has been told already. To change it, use the trial's corrections (…/trials/2/corrections).")
	ruled, err = ruleTellMany(b.snap, []NumberedTelling{yield(1, 1), yield(3, 1), yield(2, 1)})
	b.refused(ruled, err, ErrConflict, "corrections (…/trials/1/corrections). Of the 3 trials told of, these are refused for such a reason: 1, 2.")
	if ruled, _ := ruleTellMany(b.snap, []NumberedTelling{yield(3, 1), {3, ledger.Telling{Note: "x"}}}); !slices.Equal(ruled.numbers, []int{3, 3}) || len(ruled.drafts) != 2 {
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

// TestWhatIsRepeatedWasRunSo: neither a step nor bounds move settings that were run, where those that
// were chosen for them may still be.
func TestWhatIsRepeatedWasRunSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, bufferScreen())
	at := func(temperature, time float64) design.Settings {
		return design.Settings{"temperature": design.NumberValue(temperature), "cycles": design.NumberValue(3), "salt": design.NumberValue(0.1), "time": design.NumberValue(time), "catalyst": design.TextValue("B")}
	}
	own := func(settings design.Settings, metrics map[string]ledger.Reading) design.Settings {
		b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: settings, Metrics: metrics}))
		return b.snap.Trial(len(b.snap.Trials)).Parameters
	}
	if planned := own(at(40, 0.81), nil); !planned.Equal(at(40, 0.8)) {
		t.Errorf("planned at %v", planned)
	}
	if doubts := DoubtOwn(b.snap, OwnTrial{Parameters: at(41, 0.81)}, nil); len(doubts) != 1 || doubts[0].Field != "parameters.time" || doubts[0].Text != "Time 0.81? Its steps are 0.1 apart: 0.8 would be tried." {
		t.Errorf("of what a step moves is said %+v", doubts)
	}
	run := OwnTrial{Parameters: at(40, 0.81), Metrics: map[string]ledger.Reading{"pH": {Value: 7.2}}}
	if got := own(run.Parameters, run.Metrics); !got.Equal(run.Parameters) {
		t.Errorf("run at %v", got)
	}
	if doubts := DoubtOwn(b.snap, run, nil); len(doubts) != 1 || doubts[0].Text != doubtReplicateText(2) {
		t.Errorf("run twice at the same settings: %+v", doubts)
	}
	b.must(ruleTell(b.snap, 1, ledger.Telling{Parameters: at(70, 0.8)}))
	for number, want := range map[int]design.Settings{1: at(70, 0.8), 2: at(40, 0.81)} {
		if why := WhyNotAgain(b.snap, b.snap.Trial(number)); why != "" {
			t.Errorf("trial %d: %s", number, why)
		}
		b.must(b.service.ruleReplicate(t.Context(), Command{By: "Ana"}, b.snap, number))
		again := b.snap.Trial(len(b.snap.Trials))
		if !again.Parameters.Equal(want) || again.ReplicateOf != number {
			t.Errorf("trial %d is repeated as %+v", number, again)
		}
		b.must(b.service.ruleReplicate(t.Context(), Command{By: "Ana"}, b.snap, again.Number)) // and what repeats it likewise
		if third := b.snap.Trial(len(b.snap.Trials)); !third.Parameters.Equal(want) || third.ReplicateOf != again.Number {
			t.Errorf("trial %d is repeated again as %+v", number, third)
		}
	}
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{InputConstraints: &[]string{"temperature <= 35"}, Reason: "boils over"}))
	_, err := b.service.ruleReplicate(t.Context(), Command{By: "Ana"}, b.snap, 1)
	b.refused(ruling{}, err, ErrConflict, "Trial 1 cannot be repeated as it was: temperature 70 is above the highest, 60.")
	_, err = b.service.ruleReplicate(t.Context(), Command{By: "Ana"}, b.snap, 2)
	b.refused(ruling{}, err, ErrConflict, "Trial 2 cannot be repeated as it was: it breaks the input constraint")
	must.Get(b.service.foldImported("again", nil, b.events))(t)
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
	own.Metrics = map[string]ledger.Reading{"load": {Value: 1}}
	_, err = b.service.ruleOwn(t.Context(), Command{}, b.snap, own)
	b.refused(ruling{}, err, ErrConflict, "cannot be told")
	own.Metrics = nil
	_, err = b.service.ruleAsk(t.Context(), Command{}, b.snap, Ask{Brought: design.Brought{Context: map[string]float64{"omega": 2}}})
	wantFault(t, faultsOf(t, err), "constraint_values.backlog", "missing")
	own.Parameters = design.Settings{"x": design.NumberValue(2), "mode": design.TextValue("slow")}
	_, err = b.service.ruleOwn(t.Context(), Command{}, b.snap, own)
	wantFault(t, faultsOf(t, err), "parameters.x", "not one of the 4 candidates")
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
	_, err = ruleCorrect(b.snap, Correction{Number: 1, Parameters: chosen, Reason: "x"})
	wantFault(t, faultsOf(t, err), "parameters", "kept already")
	_, err = ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": {Value: 71}}, Reason: "a\x00b"})
	wantFault(t, faultsOf(t, err), "reason", "U+0000")
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Parameters: design.Settings{"temperature": design.NumberValue(33), "cycles": design.NumberValue(3)}, Reason: "misread"}))
	if trial := b.snap.Trial(1); trial.Parameters["temperature"].Number != 33 || !trial.SettingsChanged {
		t.Errorf("%+v", trial)
	}
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Parameters: chosen, Reason: "no, right after all"}))
	if b.snap.Trial(1).SettingsChanged {
		t.Error("the settings are those chosen again")
	}
}

// TestAPreviewCountsTheDecisionsThatKnewTheOldValue: not those that knew the one before it.
func TestAPreviewCountsTheDecisionsThatKnewTheOldValue(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.service.store = &kept{bench: b}
	at := func(temperature, cycles float64) design.Settings {
		return design.Settings{"temperature": design.NumberValue(temperature), "cycles": design.NumberValue(cycles)}
	}
	counts := func(what string, want int, c Correction) {
		t.Helper()
		c.Number, c.Reason = 1, "typo"
		if impact := must.Get(b.service.PreviewCorrection(t.Context(), Command{}, "bench", c))(t); impact.DecisionsAfter != want {
			t.Errorf("%s: %d decisions, want %d", what, impact.DecisionsAfter, want)
		}
	}
	yield := func(value float64) map[string]*ledger.Reading {
		return map[string]*ledger.Reading{"yield": {Value: value}}
	}
	b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: at(40, 5)}))
	b.ask(1)
	b.tell(1, map[string]float64{"yield": 70})
	b.ask(1)
	counts("a reading as told", 1, Correction{Metrics: yield(71)})
	b.must(ruleTell(b.snap, 1, ledger.Telling{Metrics: map[string]ledger.Reading{"impurity": {Value: 0.3}}, Parameters: at(41, 5)}))
	b.ask(1)
	counts("a setting told since", 1, Correction{Parameters: at(42, 5)})
	counts("one that is as chosen", 3, Correction{Parameters: at(41, 6)})
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Metrics: yield(71), Parameters: at(41, 6), Reason: "typo"}))
	counts("what no decision has seen", 0, Correction{Metrics: yield(72), Parameters: at(41, 7)})
	b.ask(1)
	counts("corrected again", 1, Correction{Metrics: yield(72)})
	counts("its setting, too", 1, Correction{Parameters: at(41, 7)})
	counts("and another, which stayed", 2, Correction{Parameters: at(42, 7)})
	counts("and a reading, which stayed", 2, Correction{Metrics: map[string]*ledger.Reading{"yield": {Value: 72}, "impurity": nil}})
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
	ruled, err = ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 2, Reason: "again", Cause: ledger.ByChance})
	b.refused(ruled, err, ErrConflict, "failed by chance already")
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
	must.Do(t, b.events[len(b.events)-1].Decode(&data))
	got := lists.Map(data.Changes, func(c design.Change) string { return c.Path + " " + string(c.Before) + " " + string(c.After) })
	if want := "constraints[impurity].threshold 0.5 0.3|parameters[temperature].high 60 50"; strings.Join(got, "|") != want {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
	if trial := b.snap.Trial(1); *trial.Feasible {
		t.Error("feasibility follows the present limit")
	}
	for name, change := range map[string]design.Reconfiguration{
		"parameters[0].name":  {Parameters: []design.Parameter{{Name: "speed", Type: design.Real, Low: new(0.0), High: new(1.0)}}, Reason: "x"},
		"constraints[0].name": {Constraints: []design.Constraint{{Metric: "smell", Op: "<="}}, Reason: "x"},
		"objective.metric":    {Objective: &design.Objective{Metric: "speed", Direction: "maximize"}, Reason: "x"},
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

// TestAMixtureStaysWhatItsTrialsAreOf: the parts of those there are do not add up to another total, nor
// is the remainder what others leave. Before the first trial, all of it can be changed.
func TestAMixtureStaysWhatItsTrialsAreOf(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(rest *design.Parameter){
		"parameters[0].total": func(rest *design.Parameter) { rest.Total = new(90.0) },
		"parameters[0].of":    func(rest *design.Parameter) { rest.Of = []string{"oil"} },
	} {
		b := newBench(t, thirds())
		rest := b.snap.Definition.Parameters[2]
		change(&rest)
		reconfiguration := design.Reconfiguration{Parameters: []design.Parameter{rest}, Reason: "another recipe"}
		must.Get(ruleReconfigure(b.snap, reconfiguration))(t)
		b.ask(1)
		_, err := ruleReconfigure(b.snap, reconfiguration)
		wantFault(t, faultsOf(t, err), field, "make a new study")
		rest = b.snap.Definition.Parameters[2]
		rest.Of, rest.High = []string{"soap", "oil"}, new(60.0)
		b.must(ruleReconfigure(b.snap, design.Reconfiguration{Parameters: []design.Parameter{rest}, Reason: "less water"}))
	}
}

// learnt is the oven after enough trials for a fitted model, with one more waiting.
func learnt(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, oven())
	for i := range 8 {
		b.ask(1)
		p := b.snap.Trial(i + 1).Parameters
		temperature, cycles := p["temperature"].Number, p["cycles"].Number
		b.tell(i+1, map[string]float64{"yield": 85 - 0.03*math.Pow(temperature-48, 2) - 0.8*math.Pow(cycles-7, 2), "impurity": 0.15 + 0.0003*math.Pow(temperature-20, 2) + 0.02*cycles})
	}
	b.ask(1)
	return b
}

func yields(value float64) ledger.Telling {
	return ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: value}}}
}

func TestResultsAreDoubtedByTheirDecisionsPrediction(t *testing.T) {
	t.Parallel()
	b := learnt(t)
	trial := b.snap.Trial(9)
	expected := b.snap.Predicted(trial, "yield")
	if expected == nil || expected.SD <= trial.Decision.SD["yield"] {
		t.Fatalf("expected a reading with its noise, got %+v beside ± %v", expected, trial.Decision.SD["yield"])
	}
	if doubts := DoubtTelling(b.snap, trial, yields(expected.Mean-3.9*expected.SD)); len(doubts) != 0 {
		t.Errorf("3.9 standard deviations are doubted: %+v", doubts)
	}
	odd := DoubtTelling(b.snap, trial, yields(expected.Mean-4.1*expected.SD))
	if len(odd) != 1 || odd[0].Field != "metrics.yield" || !strings.Contains(odd[0].Text, "is expected (95\u202f%, noise included)") {
		t.Fatalf("4.1 standard deviations: %+v", odd)
	}
	slip := DoubtTelling(b.snap, trial, yields(math.Round(expected.Mean*100)))
	if len(slip) != 1 || !strings.Contains(slip[0].Text, "would fit: was the decimal point mistyped?") {
		t.Errorf("a decimal point left out: %+v", slip)
	}
	if fraction := DoubtTelling(b.snap, trial, yields(expected.Mean/100)); len(fraction) != 1 || !strings.Contains(fraction[0].Text, "was a fraction typed instead of per cent?") {
		t.Errorf("a fraction for per cent: %+v", fraction)
	}
	if Doubted(odd) == Doubted(slip) || Doubted(nil) != "" {
		t.Error("a confirmation is not of one value")
	}
	// At other settings the decision's prediction says nothing, but the range of readings does.
	elsewhere := yields(900)
	elsewhere.Parameters = maps.Clone(trial.Parameters)
	elsewhere.Parameters["temperature"] = design.NumberValue(62.5)
	both := DoubtTelling(b.snap, trial, elsewhere)
	if len(both) != 2 || !strings.Contains(both[0].Text, "The highest so far is") || strings.Contains(both[0].Text, "expected") || !strings.Contains(both[1].Text, "above the highest that may be chosen, 60\u202f°C: was it really used?") {
		t.Errorf("%+v", both)
	}
	tenth := ledger.Telling{Parameters: maps.Clone(trial.Parameters)}
	tenth.Parameters["temperature"] = design.NumberValue(trial.Parameters["temperature"].Number / 10)
	if doubts := DoubtTelling(b.snap, trial, tenth); len(doubts) != 1 || !strings.Contains(doubts[0].Text, "was chosen: was the decimal point or the sign mistyped?") {
		t.Errorf("a tenth of the temperature: %+v", doubts)
	}
	// Put back to what was chosen nothing is odd, and the prediction holds again.
	b.must(ruleTell(b.snap, 9, tenth))
	back := yields(expected.Mean - 4.1*expected.SD)
	back.Parameters = b.snap.Chosen(9)
	if doubts := DoubtTelling(b.snap, b.snap.Trial(9), back); len(doubts) != 1 || !strings.Contains(doubts[0].Text, "is expected (95\u202f%, noise included)") {
		t.Errorf("put back to the settings chosen: %+v", doubts)
	}
}

func TestCorrectionsAndOwnPointsAreDoubtedByTheSameRule(t *testing.T) {
	t.Parallel()
	b := learnt(t)
	trial := b.snap.Trial(8)
	c := Correction{Number: 8, Metrics: map[string]*ledger.Reading{"yield": {Value: 10 * trial.Metrics["yield"].Value}, "impurity": nil}}
	if doubts := DoubtCorrection(b.snap, trial, c); len(doubts) != 1 || !strings.Contains(doubts[0].Text, "would fit") {
		t.Errorf("a correction: %+v", doubts)
	}
	own := OwnTrial{Parameters: trial.Parameters, Metrics: map[string]ledger.Reading{"yield": {Value: 10 * trial.Metrics["yield"].Value}}}
	ruled := must.Get(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, own))(t)
	doubts := DoubtOwn(b.snap, own, ruled.decision())
	if len(doubts) != 2 || !strings.Contains(doubts[0].Text, "would fit") || doubts[1].Text != "The same settings as trial 8: a replicate on purpose?" {
		t.Errorf("an own point: %+v", doubts)
	}
	m := newBench(t, mixture())
	m.ask(1)
	own.Parameters, own.Metrics = m.snap.Trial(1).Parameters.Clone(), nil
	delete(own.Parameters, "water")
	if doubts := DoubtOwn(m.snap, own, nil); len(doubts) != 1 || !strings.Contains(doubts[0].Text, "a replicate on purpose?") {
		t.Errorf("an own mixture, of which the others say what is left: %+v", doubts)
	}
}

// TestRowsOfTrialsThatEndedAreAskedAbout: a table brings no ends of trials, and those that lack a result
// would wait for it.
func TestRowsOfTrialsThatEndedAreAskedAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	const table = "status,temperature,cycles,yield,impurity\nFailed,30,2,,\nabandoned,35,3,61,\nfailed,40,4,61,0.3\nsuggested,45,5,,\nFAIL,50,6,,\n"
	rows, _ := must.Get2(parseCSV(b.snap.Compiled(), strings.NewReader(table), ImportOptions{}))(t)
	var got []string
	for _, d := range doubtRows(b.snap, rows) {
		got = append(got, d.Field+": "+d.Text)
	}
	if want := []string{"lines[2]: Its status is failed; the imported trial waits for results until you record that here, too.",
		"lines[3]: Its status is abandoned; the imported trial waits for results until you record that here, too.",
		"lines[6]: Its status is fail; the imported trial waits for results until you record that here, too."}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestRowsAreDoubtedByEachOther(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	rows, _ := must.Get2(parseCSV(b.snap.Compiled(), strings.NewReader("temperature,cycles,yield,impurity\n30,2,61,0.3\n35,3,645,0.31\n40,4,70,0.33\n45,5,66,0.4\n50,6,68,0.41\n"), ImportOptions{}))(t)
	doubts := doubtRows(b.snap, rows)
	if len(doubts) != 1 || doubts[0].Field != "lines[3].yield" || !strings.Contains(doubts[0].Text, "64.5\u202f% would fit") {
		t.Errorf("%+v", doubts)
	}
	b.must(ruleImport(b.snap, b.snap, rows[:1]))
	doubts = doubtRows(b.snap, rows[:1])
	if len(doubts) != 1 || doubts[0].Text != "The same settings as trial 1: a replicate on purpose?" {
		t.Errorf("imported twice: %+v", doubts)
	}
}

func TestPlausibleBoundsAreDoubtedNeverRefused(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Objective.Plausible = []float64{0, 100}
	b := newBench(t, d)
	b.ask(1)
	if doubts := DoubtTelling(b.snap, b.snap.Trial(1), yields(712)); len(doubts) != 1 || doubts[0].Text != "Yield 712\u202f%? Plausible is 0 to 100\u202f%." {
		t.Errorf("%+v", doubts)
	}
	b.must(ruleTell(b.snap, 1, yields(712)))
	for message, bounds := range map[string][]float64{"two numbers": {1}, "must be below": {3, 3}, "between -1e100": {0, math.Inf(1)}} {
		d.Objective.Plausible = bounds
		_, err := d.Check()
		wantFault(t, faultsOf(t, err), "objective.plausible", message)
	}
}

func TestAnOvershootIsRecordedAndLivedWith(t *testing.T) {
	t.Parallel()
	for name, algorithm := range map[string]string{"default": "", "rpol-ucb": "rpol-ucb", "scbo": "scbo"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := oven()
			d.Algorithm.Name = algorithm
			b := newBench(t, d)
			for i := range 6 {
				b.ask(1)
				told := ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 60 + float64(i)}, "impurity": {Value: 0.2}}}
				if i >= 4 { // the last ones are the best, so that the recommendation lies beyond the bounds
					told.Parameters = design.Settings{"temperature": design.NumberValue(64 + float64(i)), "cycles": design.NumberValue(2)}
				}
				b.must(ruleTell(b.snap, i+1, told))
			}
			b.ask(2)
			if used := b.snap.Trial(6); used.Parameters["temperature"].Number != 69 || !used.SettingsChanged || b.snap.Chosen(6)["temperature"].Number > 60 {
				t.Errorf("used %v, chosen %v", used.Parameters, b.snap.Chosen(6))
			}
			look := func() {
				readEverything(t, b)
				slices, err := b.service.Slices(t.Context(), b.snap, b.snap.Trial(6).Parameters, 5)
				if writable(t, slices, err); len(slices) != 2 {
					t.Errorf("%d slices through a point beyond the bounds", len(slices))
				}
				mapped, err := b.service.Map(t.Context(), b.snap, "temperature", "cycles", b.snap.Trial(6).Parameters, 4)
				writable(t, mapped, err)
			}
			look()
			if table := CSV(b.snap.Definition, b.snap.Trials, b.snap.Chosen, design.DecimalPoint); !bytes.Contains(table, []byte(",69,2,")) {
				t.Errorf("%s", table)
			}
			temperature := b.snap.Definition.Parameters[0]
			temperature.High = new(21.0) // so that what was tried lies farther beyond it than could be told
			b.must(ruleReconfigure(b.snap, design.Reconfiguration{Parameters: []design.Parameter{temperature}, Reason: "no oven left"}))
			look()
		})
	}
}

// TestWhatStaysFarBeyondBoundsNarrowedSince is taken as it was: of a trial of which something else is
// corrected or told, and of an exported table. Others so far away are still refused.
func TestWhatStaysFarBeyondBoundsNarrowedSince(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of          design.Definition
		narrow      design.Parameter
		ran, other  map[string]float64 // settings; other ones that leave those of the narrowed parameter
		elsewhere   map[string]float64
		readings    [2]map[string]float64 // told before, and after
		narrowed    string
		unreachable string
	}{
		"a parameter": {oven(), design.Parameter{Name: "temperature", Type: design.Real, Low: new(20.0), High: new(21.0)},
			map[string]float64{"temperature": 55, "cycles": 4}, map[string]float64{"temperature": 55, "cycles": 5}, map[string]float64{"temperature": 54, "cycles": 5},
			[2]map[string]float64{{"yield": 61}, {"impurity": 0.3}}, "temperature", "parameters.temperature"},
		"a remainder": {thirds(), design.Parameter{Name: "water", Type: design.Remainder, Total: new(100.0), Of: []string{"oil", "soap"}, Low: new(0.0), High: new(1.0)},
			map[string]float64{"oil": 100.0 / 3, "soap": 100.0 / 7}, map[string]float64{"oil": 100.0 / 7, "soap": 100.0 / 3}, map[string]float64{"oil": 100.0 / 3, "soap": 100.0 / 3},
			[2]map[string]float64{{"foam": 61}, {"cost": 3}}, "water", "parameters.water"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := func(numbers map[string]float64) design.Settings {
				s := design.Settings{}
				for name, x := range numbers {
					s[name] = design.NumberValue(x)
				}
				return s
			}
			told := func(metrics map[string]float64, at map[string]float64) ledger.Telling {
				telling := ledger.Telling{Parameters: settings(at), Metrics: map[string]ledger.Reading{}}
				for name, x := range metrics {
					telling.Metrics[name] = ledger.Reading{Value: x}
				}
				return telling
			}
			b := newBench(t, c.of)
			b.ask(1)
			b.must(ruleTell(b.snap, 1, told(c.readings[0], c.ran)))
			was := b.snap.Trial(1).Parameters[c.narrowed]
			b.must(ruleReconfigure(b.snap, design.Reconfiguration{Parameters: []design.Parameter{c.narrow}, Reason: "finer"}))
			b.must(ruleTell(b.snap, 1, told(c.readings[1], c.ran)))
			b.must(ruleCorrect(b.snap, Correction{Number: 1, Parameters: settings(c.other), Reason: "read off the wrong line"}))
			if is := b.snap.Trial(1).Parameters[c.narrowed]; is != was {
				t.Errorf("%s was %v, and is %v", c.narrowed, was, is)
			}
			_, err := ruleCorrect(b.snap, Correction{Number: 1, Parameters: settings(c.elsewhere), Reason: "typo"})
			wantFault(t, faultsOf(t, err), c.unreachable, "10 times the range beyond")

			table := string(CSV(b.snap.Definition, b.snap.Trials, b.snap.Chosen, design.DecimalPoint))
			other := newBench(t, b.snap.Definition)
			for _, into := range []*bench{other, b} {
				into.table(t, table)
				if got, want := into.snap.Trials[len(into.snap.Trials)-1], b.snap.Trial(1); !got.Parameters.Equal(want.Parameters) {
					t.Errorf("%v is imported as %v", want.Parameters, got.Parameters)
				}
				must.Get(into.service.foldImported("again", nil, into.events))(t)
				into.ask(2)
				state, err := into.service.StateOf(t.Context(), into.snap)
				writable(t, state, err)
			}
		})
	}
}

// thirds is a mixture of three parts.
func thirds() design.Definition {
	part := func(name string) design.Parameter {
		return design.Parameter{Name: name, Type: design.Real, Low: new(0.0), High: new(50.0)}
	}
	return design.Definition{Name: "Soap", Objective: design.Objective{Metric: "foam", Direction: "maximize"}, Constraints: []design.Constraint{{Metric: "cost", Op: "<=", Threshold: 5}},
		Parameters: []design.Parameter{part("oil"), part("soap"), {Name: "water", Type: design.Remainder, Total: new(100.0), Of: []string{"oil", "soap"}}}}
}

// kept is a store of one study in memory.
type kept struct {
	Store
	bench    *bench
	verified *Verified
}

func (k *kept) Verified(context.Context, string) (*Verified, error) { return k.verified, nil }

func (k *kept) KeepVerified(ctx context.Context, _ string, outcome Verified) error {
	if k.verified == nil || k.verified.Version <= outcome.Version || !outcome.OK {
		k.verified = &outcome
	}
	return ctx.Err()
}

func (k *kept) Choosing(ctx context.Context, _ string, choose func(context.Context) error) error {
	return choose(ctx)
}

func (k *kept) Events(_ context.Context, _ string, after int64, limit int) ([]ledger.Event, error) {
	events := k.bench.events[after:]
	if limit > 0 && limit < len(events) {
		events = events[:limit]
	}
	return events, nil
}

func (k *kept) Ends(context.Context, string) (row, last Known, err error) {
	end := k.bench.events[len(k.bench.events)-1]
	return Known{k.bench.snap.Version, k.bench.snap.Hash}, Known{end.Seq, end.Hash}, nil
}

func (k *kept) Write(_ context.Context, _ string, _ Command, _ Known, decide func([]ledger.Event) (Append, error)) error {
	appended, err := decide(nil)
	if err == nil {
		k.bench.events, k.bench.snap = append(k.bench.events, appended.Events...), appended.After
	}
	return err
}

// TestANoteAloneIsWrittenInOneWay: a program leaves metrics out where a form has none of them.
func TestANoteAloneIsWrittenInOneWay(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.service.store = &kept{bench: b}
	b.ask(1)
	note := ledger.Telling{Note: "cloudy"}
	must.Get(b.service.Tell(t.Context(), Command{}, "bench", 1, note))(t)
	must.Get(b.service.TellMany(t.Context(), Command{}, "bench", []NumberedTelling{{1, note}}))(t)
	for _, e := range b.events[len(b.events)-2:] {
		if !strings.Contains(string(e.Data), `"metrics":{}`) {
			t.Errorf("the ledger has %s", e.Data)
		}
	}
	b.must(ruleTell(b.snap, 1, note)) // as the ledgers have it of programs that told it before
	must.Get(b.service.foldImported("again", nil, b.events))(t)
}

func TestUndoTakesBackOnesOwnLastTellingWithinAMinute(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.service.store = &kept{bench: b}
	b.service.now = func() time.Time { return b.clock }
	undo := func(author string, number int) error {
		_, err := b.service.Undo(t.Context(), Command{By: "Ana", Author: author}, "bench", number)
		return err
	}
	b.ask(2)
	b.tell(1, map[string]float64{"impurity": 0.2})
	chosen := b.snap.Trial(1).Parameters
	told := yields(71.2)
	told.Parameters = design.Settings{"temperature": design.NumberValue(63), "cycles": design.NumberValue(2)}
	told.Note = "overshoot"
	b.must(ruleTell(b.snap, 1, told))

	for sentence, err := range map[string]error{"Ana saved the last results": undo("person:another Ana", 1), "did not save results": undo("person:ana", 2), "There is no trial 3": undo("person:ana", 3)} {
		if err == nil || !strings.Contains(err.Error(), sentence) {
			t.Errorf("want %q, got %v", sentence, err)
		}
	}
	b.clock = b.clock.Add(UndoTime + time.Second)
	if err := undo("person:ana", 1); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "more than a minute ago") {
		t.Errorf("after a minute: %v", err)
	}
	b.clock = b.clock.Add(-UndoTime)
	if metrics, left := Undoable(b.snap, b.snap.Trial(1), "person:ana", b.clock); len(metrics) != 1 || metrics[0] != "yield" || left <= UndoTime-2*time.Second || left > UndoTime {
		t.Errorf("undoable: %v for %v", metrics, left)
	}
	if metrics, _ := Undoable(b.snap, b.snap.Trial(1), "person:another Ana", b.clock); len(metrics) != 0 {
		t.Errorf("another Ana could undo %v", metrics)
	}
	must.Do(t, undo("person:ana", 1))
	after := b.snap.Trial(1)
	if _, there := after.Metrics["yield"]; there || after.Metrics["impurity"].Value != 0.2 || !after.Parameters.Equal(chosen) || after.Note != "overshoot" || !after.Waiting() {
		t.Errorf("after the undo: %+v", after)
	}
	if last := b.events[len(b.events)-1]; last.Kind != ledger.Corrected || !strings.Contains(string(last.Data), undoReason) {
		t.Errorf("the ledger says %s %s", last.Kind, last.Data)
	}
	if err := undo("person:ana", 1); !errors.Is(err, ErrConflict) {
		t.Errorf("undone twice: %v", err)
	}
	readEverything(t, b)
	told = yields(71.3)
	told.Note = "overshoot"
	b.must(ruleTell(b.snap, 1, told))
	if note := b.snap.Trial(1).Note; note != "overshoot" {
		t.Errorf("saved again, the note is %q", note)
	}
	// A slip on a trial that had failed is no reading of it.
	b.must(ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 2, Reason: "pump broke", Cause: ledger.BySettings}))
	b.must(ruleClose(b.snap, ledger.Excluded, ledger.ClosedData{Number: 2, Reason: "wrong batch"}))
	b.must(ruleClose(b.snap, ledger.Included, ledger.ClosedData{Number: 2, Reason: "it was the right one"}))
	before := b.snap.History(b.snap.Compiled()).Rounds[1].Closed
	b.must(ruleTell(b.snap, 2, yields(50)))
	must.Do(t, undo("person:ana", 2))
	failed := b.snap.Trial(2)
	if failed.Status != ledger.StatusFailed || failed.Cause != ledger.BySettings || failed.Reason != "pump broke" || len(failed.Metrics) != 0 {
		t.Errorf("after the undo of a slip: %+v", failed)
	}
	if again := b.snap.History(b.snap.Compiled()).Rounds[1].Closed; len(again) != len(before) || again[0] != before[0] {
		t.Errorf("the trial was closed during %v, now %v", before, again)
	}
	// Nor is at which settings it failed.
	b.must(ruleTell(b.snap, 2, ledger.Telling{Parameters: design.Settings{"temperature": design.NumberValue(44), "cycles": design.NumberValue(3)}}))
	must.Do(t, undo("person:ana", 2))
	if back := b.snap.Trial(2); back.Status != ledger.StatusFailed || !maps.Equal(back.Parameters, failed.Parameters) {
		t.Errorf("after the undo of settings: %+v", back)
	}
}

// TestUndoIsOverWhereAClockRanAhead: what a clock that was hours ahead has dated is not just saved until
// that hour has come; clocks of servers differ by less than a minute.
func TestUndoIsOverWhereAClockRanAhead(t *testing.T) {
	t.Parallel()
	for ahead, undoable := range map[time.Duration]bool{3 * time.Hour: false, UndoTime + time.Second: false, 5 * time.Second: true} {
		b := newBench(t, oven())
		b.service.store = &kept{bench: b}
		b.ask(1)
		b.clock = b.clock.Add(ahead)
		b.must(ruleTell(b.snap, 1, yields(71.2)))
		now := b.clock.Add(-ahead)
		b.service.now = func() time.Time { return now }
		metrics, left := Undoable(b.snap, b.snap.Trial(1), "person:ana", now)
		if (len(metrics) == 1) != undoable || left > UndoTime {
			t.Errorf("saved %v ahead: %v can be undone for %v", ahead, metrics, left)
		}
		if _, err := b.service.Undo(t.Context(), Command{By: "Ana", Author: "person:ana"}, "bench", 1); (err == nil) != undoable || err != nil && !errors.Is(err, ErrConflict) {
			t.Errorf("saved %v ahead: %v", ahead, err)
		}
	}
}

// TestProgramsAreNotAskedBack: what nobody asks to be doubted is not judged either, which would
// cost a look at every trial for each result told; forms are asked until they confirm what is
// doubted, and nothing else.
func TestProgramsAreNotAskedBack(t *testing.T) {
	t.Parallel()
	if _, err := confirm(Command{}, func() []Doubt { t.Error("judged for nobody"); return nil }); err != nil {
		t.Error(err)
	}
	sure, asked := "", 0
	if confirmed, err := confirm(Command{Sure: &sure}, func() []Doubt { asked++; return nil }); confirmed || err != nil || asked != 1 {
		t.Errorf("a form's value was judged %d times, %v", asked, err)
	}
	odd := []Doubt{{Field: "metrics.yield", Value: "712"}}
	for what, c := range map[string]struct {
		sure  string
		taken bool
	}{"nothing": {"", false}, "another value": {Doubted([]Doubt{{Field: "metrics.yield", Value: "71.2"}}), false}, "it": {Doubted(odd), true}} {
		confirmed, err := confirm(Command{Sure: &c.sure}, func() []Doubt { return odd })
		if doubtful := new(Doubtful); (err == nil) != c.taken || confirmed != c.taken || err != nil && (!errors.As(err, &doubtful) || len(doubtful.Doubts) != 1) {
			t.Errorf("sure of %s: %v", what, err)
		}
	}
}

// TestOtherSettingsWhereALimitDependsOnSomethingElseSince: what was brought with a trial belongs to the
// limit as it was then, which its value at the settings that were used goes by.
func TestOtherSettingsWhereALimitDependsOnSomethingElseSince(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Constraints = []design.Constraint{{Metric: "load", Op: "<=", Threshold: 50, Expression: "temperature + cycles - slack", Context: []string{"slack"}}}
	b := newBench(t, d)
	b.table(t, "temperature,cycles,load,yield\n30,4,20,61\n")
	for range 2 {
		b.must(b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{Brought: design.Brought{Context: map[string]float64{"slack": 7}}}))
	}
	b.tell(2, map[string]float64{"yield": 61})
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Constraints: []design.Constraint{{Metric: "load", Op: "<=", Threshold: 50, Expression: "temperature + reserve", Context: []string{"reserve"}}}, Reason: "another rule"}))
	used := design.Settings{"temperature": design.NumberValue(35), "cycles": design.NumberValue(4)}
	b.must(ruleCorrect(b.snap, Correction{Number: 2, Parameters: used, Reason: "typo"}))
	b.must(ruleTell(b.snap, 3, ledger.Telling{Parameters: used, Metrics: map[string]ledger.Reading{"yield": {Value: 62}}}))
	for _, number := range []int{2, 3} {
		if load := b.snap.Trial(number).Metrics["load"].Value; load != 35+4-7 {
			t.Errorf("trial %d has load %v", number, load)
		}
	}
	_, err := ruleCorrect(b.snap, Correction{Number: 1, Parameters: used, Reason: "typo"})
	if err == nil || !strings.Contains(err.Error(), "imported without slack") {
		t.Errorf("the row of a table is corrected: %v", err)
	}
	before, other := b.snap, b.snap.Definition.Constraints[0]
	other.Expression = "2 * (" + other.Expression + ")"
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Constraints: []design.Constraint{other}, Reason: "another rule"}))
	if by := turnedByFormula(before, b.snap); len(by) == 0 || by[0].Number != 1 || by[0].Before == nil || by[0].After != nil {
		t.Errorf("by a formula of what was not brought with trial 1, turned are %+v", by)
	}
	must.Get(b.service.foldImported("again", nil, b.events))(t)
}

// TestSettingsPutBackAreTheCandidateThatWasChosen, also where another one is equal.
func TestSettingsPutBackAreTheCandidateThatWasChosen(t *testing.T) {
	t.Parallel()
	d := oven()
	at := func(temperature float64) design.Settings {
		return design.Settings{"temperature": design.NumberValue(temperature), "cycles": design.NumberValue(3)}
	}
	d.Candidates = []design.Settings{at(30), at(40), at(30)}
	d.Algorithm = design.Algorithm{Name: "rpol-ucb", Horizon: 20}
	d.Model = design.Model{Kernel: rawJSON(`{"name": "covariance", "matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 4]]}`), Fit: "fixed", Outputs: "raw"}
	b := newBench(t, d)
	b.ask(3)
	for number := 1; number <= 3; number++ {
		chosen := *b.snap.Trial(number).Candidate
		is := func(what string, want int) {
			t.Helper()
			if got := *b.snap.Trial(number).Candidate; got != want || b.snap.Place(number).Arm != want {
				t.Errorf("trial %d, %s: candidate %d, place %+v, want %d", number, what, got, b.snap.Place(number), want)
			}
		}
		b.must(ruleTell(b.snap, number, ledger.Telling{Parameters: d.Candidates[chosen], Metrics: map[string]ledger.Reading{"yield": {Value: 62}}}))
		is("run as chosen", chosen)
		b.must(ruleCorrect(b.snap, Correction{Number: number, Parameters: d.Candidates[(chosen+1)%2], Reason: "typo"}))
		b.must(ruleCorrect(b.snap, Correction{Number: number, Parameters: d.Candidates[chosen], Reason: "it was right"}))
		is("put back", chosen)
	}
	must.Get(b.service.foldImported("again", nil, b.events))(t)
}

// TestAChangedFormulaJudgesNoTrialOfBefore: settings told, put right or taken back have the value of
// the formula that their trial was chosen under, and those chosen the one that was recorded.
func TestAChangedFormulaJudgesNoTrialOfBefore(t *testing.T) {
	t.Parallel()
	d := oven()
	load := design.Constraint{Metric: "load", Op: "<=", Threshold: 50, Expression: "temperature + cycles"}
	d.Constraints = []design.Constraint{load}
	b := newBench(t, d)
	b.ask(2)
	chosen, recorded := b.snap.Trial(2).Parameters, b.snap.Trial(2).Metrics["load"].Value
	load.Expression = "10 * temperature"
	before := b.snap
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Constraints: []design.Constraint{load}, Reason: "another rule"}))
	broken := []TurnedTrial{{1, new(true), new(false)}, {2, new(true), new(false)}}
	if turned, by := turnedTrials(before, b.snap), turnedByFormula(before, b.snap); len(turned) > 0 || !reflect.DeepEqual(by, broken) {
		t.Errorf("no trial turns, %+v; by the new formula both break the limit, %+v", turned, by)
	}
	if by := turnedByFormula(b.snap, b.snap); by != nil {
		t.Errorf("where no formula changes, turned by it are %+v", by)
	}
	used := design.Settings{"temperature": design.NumberValue(35), "cycles": design.NumberValue(4)}
	b.must(ruleTell(b.snap, 1, ledger.Telling{Parameters: used, Metrics: map[string]ledger.Reading{"yield": {Value: 62}}}))
	b.must(ruleTell(b.snap, 2, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 61}}}))
	b.must(ruleCorrect(b.snap, Correction{Number: 2, Parameters: used, Reason: "typo"}))
	for _, number := range []int{1, 2} {
		if got := b.snap.Trial(number).Metrics["load"].Value; got != 35+4 {
			t.Errorf("trial %d has load %v", number, got)
		}
		if now := b.snap.KnownValues(number)["load"]; now != 350 {
			t.Errorf("by the formula in force trial %d has load %v", number, now)
		}
	}
	b.must(ruleCorrect(b.snap, Correction{Number: 2, Parameters: chosen, Reason: "it was right"}))
	if got := b.snap.Trial(2).Metrics["load"].Value; got != recorded {
		t.Errorf("back at the settings chosen it has load %v, which was recorded as %v", got, recorded)
	}
	must.Get(b.service.foldImported("again", nil, b.events))(t)
}
