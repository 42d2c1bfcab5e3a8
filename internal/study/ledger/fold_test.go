package ledger

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

// asKept compares what is kept of trials, too, but not what is worked out of a whole study.
var asKept = cmp.Options{cmpopts.IgnoreUnexported(Snapshot{}), cmp.AllowUnexported(Trial{}, record{}, closedSpan{}, Doubted{})}

// eventful is a study in which something of every kind has happened.
func eventful(t testing.TB) *bench {
	b := newBench(t, oven(t))
	b.choose(3)
	b.tell(2, map[string]float64{"yield": 50})
	b.tell(1, map[string]float64{"yield": 70, "impurity": 0.4})
	b.close(Failed, 3, "spilled")
	b.choose(1)
	b.correct(1, &Reading{Value: 7.5})
	b.correct(2, nil)
	b.tell(3, map[string]float64{"impurity": 0.9})
	b.close(Excluded, 3, "contaminated")
	b.reconfigure(func(d *design.Definition) { d.Constraints[0].Threshold = 0.3 })
	b.add(Edited, EditedData{Name: new("Oven 2"), State: new(Paused)})
	return b
}

func TestFoldGivesTheSameInOneGoAndStepByStep(t *testing.T) {
	t.Parallel()
	b := eventful(t)
	whole, err := Fold("bench", nil, b.events, nil)
	if err != nil {
		t.Fatal(err)
	}
	var step *Snapshot
	for _, e := range b.events {
		if step, err = Fold("bench", step, []Event{e}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []*Snapshot{step, b.snap} {
		if diff := cmp.Diff(whole, other, asKept); diff != "" {
			t.Fatalf("(-whole +step)\n%s", diff)
		}
		if diff := cmp.Diff(whole.History(whole.compiled), other.History(other.compiled)); diff != "" {
			t.Fatalf("histories (-whole +step)\n%s", diff)
		}
	}
}

func TestFoldLeavesEarlierSnapshotsAsTheyWere(t *testing.T) {
	t.Parallel()
	b := eventful(t)
	var kept []*Snapshot
	var texts []string
	var snap *Snapshot
	for _, e := range b.events {
		var err error
		if snap, err = Fold("bench", snap, []Event{e}, nil); err != nil {
			t.Fatal(err)
		}
		kept, texts = append(kept, snap), append(texts, shown(t, snap))
	}
	for i, snap := range kept {
		if now := shown(t, snap); now != texts[i] {
			t.Errorf("the snapshot of event %d changed later:\n%s\n%s", i+1, texts[i], now)
		}
	}
}

func shown(t testing.TB, snap *Snapshot) string {
	text := must.Get(json.Marshal(snap))(t)
	return string(text) + fmt.Sprint(snap.History(snap.compiled))
}

func TestEventsOfATrialAreThoseAboutIt(t *testing.T) {
	t.Parallel()
	b := eventful(t)
	about := map[int][]int64{}
	for _, e := range b.events {
		var data struct{ Number int }
		must.Do(t, json.Unmarshal(e.Data, &data))
		if data.Number > 0 {
			about[data.Number] = append(about[data.Number], e.Seq)
		}
	}
	for number, want := range about {
		if diff := cmp.Diff(want, b.snap.EventsOf(number)); diff != "" {
			t.Errorf("trial %d: %s", number, diff)
		}
	}
	// Two futures of one past do not write over each other.
	one, other := *b, *b
	one.close(Excluded, 1, "contaminated")
	other.add(Edited, EditedData{})
	other.close(Excluded, 1, "contaminated")
	if first, second := one.snap.EventsOf(1), other.snap.EventsOf(1); first[3] != second[3]-1 {
		t.Errorf("one future has events %v, the other %v", first, second)
	}
}

func TestFoldShowsTrialsAsTheyStand(t *testing.T) {
	t.Parallel()
	snap := eventful(t).snap
	one, two, three := snap.Trial(1), snap.Trial(2), snap.Trial(3)
	if m := one.Metrics["yield"]; m.Value != 7.5 || !m.Corrected || *m.Original != 70 || one.Status != StatusCompleted {
		t.Errorf("corrected: %+v", one)
	}
	if m := one.Metrics["impurity"]; *one.Feasible || *m.Headroom > -0.0999 || *m.Headroom < -0.1001 {
		t.Errorf("the stricter limit 0.3 is broken by 0.4: %+v", one)
	}
	if len(two.Metrics) != 0 || two.Status != StatusSuggested || two.Feasible != nil {
		t.Errorf("taken back: %+v", two)
	}
	if three.Status != StatusPartial || !three.Excluded || three.Reason != "contaminated" {
		t.Errorf("failed, told, excluded: %+v", three)
	}
	if snap.Definition.Name != "Oven 2" || snap.State != Paused || snap.Trial(0) != nil || snap.Trial(5) != nil {
		t.Errorf("%+v", snap.Definition)
	}
}

func TestFoldRefusesEventsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	open := newBench(t, oven(t))
	open.add(Edited, EditedData{Name: new("Oven 3")})
	open.choose(1)
	open.tell(1, map[string]float64{"yield": 1})
	choose := func(change func(*ChosenData)) Draft {
		data := ChosenData{Number: 2, Origin: Manual, Parameters: design.Settings{"temperature": design.NumberValue(30), "cycles": design.NumberValue(3)}, Seen: open.snap.Version, Engine: "1"}
		change(&data)
		return Draft{Chosen, data}
	}
	for name, d := range map[string]Draft{
		"is 'created' again":     {Created, CreatedData{Definition: open.snap.Definition}},
		"skips a trial":          choose(func(c *ChosenData) { c.Number = 3 }),
		"sees the future":        choose(func(c *ChosenData) { c.Seen = open.snap.Version + 1 }),
		"sees nothing":           choose(func(c *ChosenData) { c.Seen = 0 }),
		"sees less than before":  choose(func(c *ChosenData) { c.Seen = open.snap.Trial(1).Seen - 1 }),
		"unknown origin":         choose(func(c *ChosenData) { c.Origin = "fate" }),
		"unknown candidate":      choose(func(c *ChosenData) { c.Candidate = new(0) }),
		"repeats the future":     choose(func(c *ChosenData) { c.ReplicateOf = 2 }),
		"tells no trial":         {Told, ToldData{Number: 2, Telling: Telling{Metrics: map[string]Reading{"impurity": {Value: 1}}}}},
		"tells twice":            {Told, ToldData{Number: 1, Telling: Telling{Metrics: map[string]Reading{"yield": {Value: 1}}}}},
		"tells no metric":        {Told, ToldData{Number: 1, Telling: Telling{Metrics: map[string]Reading{"smell": {Value: 1}}}}},
		"corrects another value": {Corrected, CorrectedData{Number: 1, Metrics: map[string]CorrectedValue{"yield": {Before: &Reading{Value: 2}}}}},
		"corrects what is not":   {Corrected, CorrectedData{Number: 1, Metrics: map[string]CorrectedValue{"impurity": {Before: &Reading{Value: 2}}}}},
		"other settings before":  {Corrected, CorrectedData{Number: 1, Parameters: &CorrectedSettings{Before: design.Settings{}, After: design.Settings{}}}},
		"includes the included":  {Included, ClosedData{Number: 1, Reason: "x"}},
		"excludes no trial":      {Excluded, ClosedData{Number: 2, Reason: "x"}},
		"fits the past":          {Fitted, FittedData{From: 1, Seen: 1, Metrics: map[string]FittedMetric{"yield": {FittedMetric: optimizer.FittedMetric{Scale: 1}}}}},
		"fits no metric":         {Fitted, FittedData{From: 2, Seen: 1, Metrics: map[string]FittedMetric{"smell": {FittedMetric: optimizer.FittedMetric{Scale: 1}}}}},
		"no such state":          {Edited, EditedData{State: new(State("asleep"))}},
		"takes a parameter away": {Reconfigured, ReconfiguredData{Definition: func() design.Definition { d := open.snap.Definition; d.Parameters = d.Parameters[:1]; return d }()}},
	} {
		open.refuses(name, d)
	}
	// Whoever verifies or takes in a bundle by an older program is not told that something is wrong with it.
	open.refuses("no such kind", Draft{"eaten", ClosedData{Number: 1, Reason: "x"}}, "perhaps a newer program wrote it")
	open.refuses("unknown member", Draft{Failed, map[string]any{"number": 1, "reason": "x", "mood": "bad"}}, "mood", "perhaps a newer program wrote it")
	if _, err := Fold("bench", open.snap, open.events, nil); err == nil {
		t.Error("the whole ledger again does not follow itself")
	}
}
