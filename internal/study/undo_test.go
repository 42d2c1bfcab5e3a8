package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/must"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// undoBench is a bench whose service writes, at the time of the bench.
func undoBench(t *testing.T) *bench {
	b := newBench(t, oven())
	b.service.store = &kept{bench: b}
	b.service.now = func() time.Time { b.clock = b.clock.Add(time.Second); return b.clock }
	return b
}

// undo takes back what was written with an event, and checks that the preview says so and that
// another server would admit it.
func (b *bench) undo(t *testing.T, event int64) Undone {
	t.Helper()
	version, undoing := b.snap.Version, Undoing{event, "wrong file"}
	impact := must.Get(b.service.PreviewUndoing(t.Context(), Command{By: "Bo"}, "bench", undoing))(t)
	if b.snap.Version != version {
		t.Fatal("the preview wrote something")
	}
	before := b.snap
	_, numbers, err := b.service.UndoMany(t.Context(), Command{By: "Bo"}, "bench", undoing)
	must.Do(t, err)
	for _, number := range append(slices.Clone(impact.Undone.Back), impact.Undone.NotRun...) {
		if !slices.Contains(numbers, number) {
			t.Errorf("trial %d was to change; %v did", number, numbers)
		}
	}
	if was, is := impact.Trials[1], standingOf(b.snap); was != is || impact.Trials[0] != standingOf(before) {
		t.Errorf("foreseen were %v, there are %v", was, is)
	}
	for _, e := range b.events[version:] {
		if e.Kind != ledger.Told && !strings.Contains(string(e.Data), "wrong file") && !strings.Contains(string(e.Data), "Ana said") {
			t.Errorf("it gives no reason: %s %s", e.Kind, e.Data)
		}
	}
	must.Get(b.service.foldImported("again", nil, b.events))(t)
	readEverything(t, b)
	return *impact.Undone
}

// stands says what holds of trials.
func (b *bench) stands(numbers ...int) (all []string) {
	for _, number := range numbers {
		t := b.snap.Trial(number)
		said := fmt.Sprintf("%d %s", number, t.Status)
		for _, name := range slices.Sorted(maps.Keys(t.Metrics)) {
			m := t.Metrics[name]
			said += fmt.Sprintf(" %s %v", name, m.Value)
			if m.StdDev != nil {
				said += fmt.Sprintf("±%v", *m.StdDev)
			}
			if m.ObservedAt != nil {
				said += m.ObservedAt.Format(" at 15:04")
			}
		}
		said += fmt.Sprintf(" %v %v %s", t.Parameters["temperature"], t.Cause, t.Reason)
		all = append(all, said)
	}
	return all
}

func (b *bench) want(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestATableIsTakenBack: the trials that it made count as not run and nothing of their readings is
// left, in what was violated either; taken back again, their readings stand as before.
func TestATableIsTakenBack(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	b.ask(2)
	b.tell(1, map[string]float64{"yield": 70, "impurity": 0.3})
	b.tell(2, map[string]float64{"yield": 72, "impurity": 0.4})
	before := must.Get(b.service.StateOf(t.Context(), b.snap))(t)
	within, known := b.snap.Feasibility()
	b.table(t, "temperature,cycles,yield,impurity\n30,2,500±3,9\n40,3,510,\n50,4,,\n")
	table, imported := b.snap.Version, b.stands(1, 2, 3, 4)
	b.ask(1)
	b.tell(6, map[string]float64{"yield": 71})

	if undone := b.undo(t, table); fmt.Sprint(undone) != "{[] [3 4 5] [] []}" {
		t.Errorf("undone: %+v", undone)
	}
	b.want(t, "taken back", b.stands(3, 4, 5), []string{"3 abandoned 30  wrong file", "4 abandoned 40  wrong file", "5 abandoned 50  wrong file"})
	after := must.Get(b.service.StateOf(t.Context(), b.snap))(t)
	if is, all := b.snap.Feasibility(); is != within || all != known || after.Violation["impurity"].Hard != before.Violation["impurity"].Hard {
		t.Errorf("%d of %d within every limit, violated by %v; before there were %d of %d, %v", is, all, after.Violation["impurity"].Hard, within, known, before.Violation["impurity"].Hard)
	}
	back := b.snap.Version
	if _, _, err := b.service.UndoMany(t.Context(), Command{}, "bench", Undoing{table, "wrong file"}); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "nothing to take back") {
		t.Errorf("taken back twice: %v", err)
	}
	if undone := b.undo(t, back); fmt.Sprint(undone) != "{[3 4] [] [5] []}" {
		t.Errorf("taken back again: %+v", undone)
	}
	b.want(t, "taken back again", b.stands(1, 2, 3, 4), imported)
	if _, _, err := b.service.UndoMany(t.Context(), Command{}, "bench", Undoing{back, "again"}); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "only their results take that back") {
		t.Errorf("what is left: %v", err)
	}
	b.undo(t, b.snap.Version)
	b.want(t, "and once more", b.stands(3, 4), []string{"3 abandoned 30  wrong file", "4 abandoned 40  wrong file"})
}

// TestWhatWasSaidSinceStays, of trials that a table made: readings that were corrected or told since,
// how they ended, and repetitions of them.
func TestWhatWasSaidSinceStays(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	b.table(t, "temperature,cycles,yield,impurity\n30,2,70,0.3\n31,2,71,0.3\n32,2,72,\n33,2,,\n34,2,74,0.4\n35,2,75,0.4\n")
	table := b.snap.Version
	b.must(ruleCorrect(b.snap, Correction{Number: 2, Metrics: map[string]*ledger.Reading{"yield": {Value: 17}}, Reason: "typo"}))
	b.tell(3, map[string]float64{"impurity": 0.2})
	b.must(ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 4, Reason: "spilled", Cause: ledger.ByChance}))
	b.must(ruleClose(b.snap, ledger.Excluded, ledger.ClosedData{Number: 5, Reason: "odd"}))
	b.must(b.service.ruleReplicate(t.Context(), Command{By: "Ana"}, b.snap, 6))
	b.tell(7, map[string]float64{"yield": 76, "impurity": 0.1})
	if undone := b.undo(t, table); fmt.Sprint(undone) != "{[2 3] [1 5 6] [] [2 3 4 5]}" {
		t.Errorf("undone: %+v", undone)
	}
	b.want(t, "taken back", b.stands(1, 2, 3, 4, 5, 6, 7), []string{"1 abandoned 30  wrong file", "2 partial yield 17 31  ", "3 partial impurity 0.2 32  ",
		"4 failed 33 chance spilled", "5 abandoned 34  odd", "6 abandoned 35  wrong file", "7 completed impurity 0.1 yield 76 35  "})
}

// TestAnEndingSaidSinceStays: a trial whose result was taken back, and which failed afterwards, is not
// told that result again.
func TestAnEndingSaidSinceStays(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	b.ask(1)
	b.tell(1, map[string]float64{"yield": 70, "impurity": 0.3})
	b.undo(t, b.snap.Version)
	back := b.snap.Version
	b.must(ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 1, Reason: "spilled", Cause: ledger.ByChance}))
	if _, _, err := b.service.UndoMany(t.Context(), Command{}, "bench", Undoing{back, "again"}); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "nothing to take back") {
		t.Errorf("taken back again: %v", err)
	}
	if is := b.snap.Trial(1); is.Status != ledger.StatusFailed || len(is.Metrics) > 0 {
		t.Errorf("the trial is %s, with %v", is.Status, is.Metrics)
	}
}

// TestResultsByNumberAreTakenBack: trials are as they were before the table told of them, and as it
// told them once more if that is taken back.
func TestResultsByNumberAreTakenBack(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	b.table(t, "temperature,cycles\n30,2\n31,2\n32,2\n33,2\n34,2\n35,2\n36,2\n37,2\n")
	at := b.clock.Truncate(time.Hour)
	b.must(ruleTell(b.snap, 2, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 72, StdDev: new(1.5)}}, ObservedAt: &at}))
	b.tell(3, map[string]float64{"yield": 73, "impurity": 0.3})
	b.must(ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 5, Reason: "spilled", Cause: ledger.ByChance}))
	b.must(ruleClose(b.snap, ledger.Abandoned, ledger.ClosedData{Number: 8, Reason: "no time"}))
	all := []int{1, 2, 3, 4, 5, 6, 7, 8}
	before := b.stands(all...)
	rows := "number,temperature,yield,impurity,status\n1,,500,9,\n2,,501,9,\n3,,502,0.3,\n4,44,503,,\n5,,504,,\n6,,,,failed\n7,,,,abandoned\n8,,,,failed by chance\n"
	_, err := b.service.ImportCSV(t.Context(), Command{By: "Ana", Author: "person:ana"}, "bench", strings.NewReader(rows), ImportOptions{ByNumber: true, Reason: "plate"})
	must.Do(t, err)
	told, table := b.stands(all...), b.snap.Version
	b.ask(1)
	if undone := b.undo(t, table); fmt.Sprint(undone) != "{[1 2 3 4 5 8] [6] [7] []}" {
		t.Errorf("undone: %+v", undone)
	}
	before[5], before[6] = "6 abandoned 35  wrong file", "7 abandoned 36  so its row of a table says: abandoned"
	before[4], before[7] = strings.Replace(before[4], "spilled", "Ana said: spilled", 1), strings.Replace(before[7], "no time", "Ana said: no time", 1)
	b.want(t, "taken back", b.stands(all...), before)
	if undone := b.undo(t, b.snap.Version); fmt.Sprint(undone) != "{[1 2 3 4 5 6 8] [] [] []}" {
		t.Errorf("taken back again: %+v", undone)
	}
	got := b.stands(all...)
	for i := range got { // in whose name
		got[i] = strings.ReplaceAll(got[i], "Ana said: ", "")
	}
	b.want(t, "taken back again", got, told)
}

// TestUndoingSaysWhatItWouldChange: which decisions were made from what is taken back, by the same
// rules as of a correction.
func TestUndoingSaysWhatItWouldChange(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	b.ask(2)
	b.tell(1, map[string]float64{"yield": 70, "impurity": 0.3})
	b.ask(1)
	b.table(t, "temperature,cycles,yield,impurity\n30,2,500,9\n40,3,510,9\n")
	table := b.snap.Version
	b.ask(2)
	impact := must.Get(b.service.PreviewUndoing(t.Context(), Command{By: "Ana"}, "bench", Undoing{table, "wrong file"}))(t)
	if impact.DecisionsAfter != 2 || impact.Version != b.snap.Version || impact.Violation["impurity"][1].Hard != 0 || impact.Violation["impurity"][0].Hard == 0 {
		t.Errorf("it would change %+v", impact)
	}
	var said map[string]any
	must.Do(t, json.Unmarshal(must.Get(json.Marshal(impact))(t), &said))
	if _, there := said["undone"]; !there {
		t.Errorf("programs read %v", said)
	}
}

// TestWhatCannotBeTakenBackIsRefused, whole.
func TestWhatCannotBeTakenBackIsRefused(t *testing.T) {
	t.Parallel()
	b := undoBench(t)
	b.ask(2)
	b.tell(1, map[string]float64{"yield": 70, "impurity": 0.3})
	_, err := b.service.ImportCSV(t.Context(), Command{By: "Ana"}, "bench", strings.NewReader("number,yield\n1,71\n2,72\n"), ImportOptions{ByNumber: true, Reason: "plate"})
	must.Do(t, err)
	table := b.snap.Version
	undo := func(event int64, reason string) error {
		_, _, err := b.service.UndoMany(t.Context(), Command{}, "bench", Undoing{event, reason})
		return err
	}
	wantFault(t, faultsOf(t, undo(table, " ")), "reason", "give a reason")
	for _, event := range []int64{-1, 0, 1, table + 1} {
		wantFault(t, faultsOf(t, undo(event, "wrong file")), "event", fmt.Sprintf("the study has %d", table))
	}
	archive := func(state ledger.State) {
		must.Get(b.service.Edit(t.Context(), Command{}, "bench", ledger.EditedData{State: &state}))(t)
	}
	archive(ledger.Archived)
	if err := undo(table, "wrong file"); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "archived") {
		t.Errorf("archived: %v", err)
	}
	if err := undo(b.snap.Version, "wrong file"); !errors.Is(err, ErrConflict) {
		t.Errorf("an edit: %v", err)
	}
	archive(ledger.Finished)
	change := design.Reconfiguration{Reason: "as the instrument says"}
	must.Do(t, json.Unmarshal([]byte(`{"objective": {"metric": "yield", "direction": "maximize", "unit": "‰"}}`), &change))
	must.Get(b.service.Reconfigure(t.Context(), Command{}, "bench", change))(t)
	if err := undo(table, "wrong file"); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "Trial 1 cannot be as it was before: the unit of yield has changed since") {
		t.Errorf("in another unit: %v", err)
	}
	if m := b.snap.Trial(2).Metrics["yield"]; m.Value != 72 {
		t.Errorf("a part was taken back: %+v", m)
	}
}
