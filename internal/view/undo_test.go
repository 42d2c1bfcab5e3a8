package view

import (
	"slices"
	"testing"
	"time"

	"headroom/internal/account"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
)

// together begins and tells trials in one request, as a table does, from number on.
func (b *bench) together(number, count int) {
	b.Helper()
	var drafts []ledger.Draft
	for i := range count {
		seen := b.snap.Version + int64(len(drafts))
		drafts = append(drafts,
			ledger.Draft{Kind: ledger.Chosen, Data: ledger.ChosenData{Number: number + i, Origin: ledger.Imported, Seen: seen, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.5)}}},
			ledger.Draft{Kind: ledger.Told, Data: ledger.ToldData{Number: number + i, Telling: ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 60}}}}})
	}
	b.clock = b.clock.Add(time.Second)
	events := must.Get(ledger.Next(b.snap, b.clock, "Ana", drafts...))(b)
	b.snap, b.events = must.Get(ledger.Fold("bench", b.snap, events, nil))(b), append(b.events, events...)
}

// TestALineOfATableLeadsToTakingItBack: the newest of those at hand, wherever somebody may; lines of
// one trial are corrected at the trial.
func TestALineOfATableLeadsToTakingItBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(1, 0, "yield")
	b.together(2, 1)
	b.together(3, 96)
	b.curve(1, 0, "yield")
	leads := func(change func(v *Facts)) (to []string) {
		v := b.facts(0)
		v.Entries = slices.Concat(b.events[:6], b.events[len(b.events)-6:])
		change(&v)
		for _, entry := range v.Ledger().Entries {
			if entry.TakeBack != "" {
				to = append(to, entry.TakeBack)
			}
			if entry.TakeBack != "" && entry.Together != 96 {
				t.Errorf("entry %d was written with %d trials", entry.Seq, entry.Together)
			}
		}
		return to
	}
	if to := leads(func(*Facts) {}); !slices.Equal(to, []string{"/studies/bench/undo?event=197"}) {
		t.Errorf("they lead to %q", to)
	}
	b.limit(0, 0.2)
	b.tell(7, map[string]float64{"impurity": 0.1, "pressure": 2})
	b.tell(8, map[string]float64{"impurity": 0.9, "pressure": 2})
	b.end(ledger.Abandoned, 9)
	for _, entry := range b.facts(0).Ledger().Entries {
		if (entry.Seq == 197) != (entry.Outcome != "") {
			t.Errorf("with entry %d stands %q", entry.Seq, entry.Outcome)
		}
		if entry.Seq == 197 {
			says(t, "the line of a table", entry.Outcome, []string{"All 96 trials by now: 93 waiting for the rest, 1 within limits, 1 limit broken, 1 not run; the best of them 60 % at trial 7."}, nil)
		}
	}
	for what, change := range map[string]func(v *Facts){
		"a viewer": func(v *Facts) { v.Head.Operates = false },
		"a report": func(v *Facts) { v.Paper = true },
		"the past": func(v *Facts) { v.At = b.snap.Version },
	} {
		if to := leads(change); len(to) > 0 {
			t.Errorf("%s is led to %q", what, to)
		}
	}
	b.become(ledger.Archived)
	if to := leads(func(*Facts) {}); len(to) > 0 {
		t.Errorf("in an archived study they lead to %q", to)
	}
}

// TestOneEntryStandsForATable: what was done before it is seen beside it. Its other entries are a
// press away, and a list that begins among them has each.
func TestOneEntryStandsForATable(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(1, 0, "yield")
	b.together(2, mostApart)
	b.together(7, 96)
	b.curve(1, 0, "yield")
	v := b.facts(0)
	shown := func(before int64, earlier int64, want ...int64) {
		t.Helper()
		if got, rest := v.LedgerShown(before); !slices.Equal(got, want) || rest != earlier {
			t.Errorf("before %d: %d and %d earlier, want %d and %d", before, got, rest, want, earlier)
		}
	}
	shown(208, 12, 13, 205, 206, 207) // the first page has four lines
	v.Parts = false
	shown(208, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 205, 206, 207)
	shown(205, 204-LedgerLines, 180, 181, 182, 183, 184, 185, 186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199, 200, 201, 202, 203, 204)
	shown(15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
	for _, entry := range v.Ledger().Entries {
		if (entry.Seq == 205) != (entry.Others > 0) {
			t.Errorf("entry %d stands for %d others", entry.Seq, entry.Others)
		}
		if entry.Seq == 205 && (entry.Others != 191 || entry.OthersIn.URL != "/studies/bench?before=205#ledger") {
			t.Errorf("the table's entry stands for %d others in %q", entry.Others, entry.OthersIn.URL)
		}
	}
	v.Paper = true
	if got, rest := v.LedgerShown(208); len(got) != 207 || rest != 0 || v.Ledger().Entries[2].Others != 0 {
		t.Errorf("on paper there are %d entries, and %d earlier", len(got), rest)
	}
}

// TestWhatATableSavedIsNotUndoneRowByRow: it is taken back as a whole.
func TestWhatATableSavedIsNotUndoneRowByRow(t *testing.T) {
	t.Parallel()
	for rows, want := range map[int]int{mostApart: mostSaved, mostApart + 1: 0} {
		b := newBench(t, twoLimits)
		var drafts []ledger.Draft
		for range rows {
			drafts = append(drafts, ledger.Draft{Kind: ledger.Told, Data: ledger.ToldData{Number: b.ask(0.5), Telling: ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 60}}}}})
		}
		b.clock = b.clock.Add(time.Second)
		events := must.Get(ledger.Next(b.snap, b.clock, "Ana", drafts...))(t)
		for i := range events {
			events[i].Author = "person:ana"
		}
		b.snap = must.Get(ledger.Fold("bench", b.snap, events, nil))(t)
		v := b.facts(0)
		v.Who = account.Identity{Kind: account.BySession, PersonID: "ana"}
		if saved := v.Next().Saved; len(saved) != want {
			t.Errorf("of %d rows, %d are offered to be undone; want %d", rows, len(saved), want)
		}
	}
}

// TestTakingBackSaysWhatBecomesOfTheTrials.
func TestTakingBackSaysWhatBecomesOfTheTrials(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(1, 0, "yield")
	b.together(2, 9)
	says(t, "the page", whole(b.facts(0).Undo(b.events[5])), []string{"By:Ana", "Entries:entries 4 to 21 Trials:trials 2, 3, 4, 5 and 5 more"}, nil)
	says(t, "that of one entry", whole(b.facts(0).Undo(b.events[1])), []string{"Entries:entry 2 Trials:trial 1"}, nil)
	says(t, "that of no trial", whole(b.facts(0).Undo(b.events[0])), []string{"Entries:entry 1 Trials:no trial"}, nil)
	for want, impact := range map[string]study.Impact{
		"Trials 2, 3, 4, 5 and 5 more would count as not run. No decision was made from what would be taken back.": {Undone: &study.Undone{NotRun: []int{2, 3, 4, 5, 6, 7, 8, 9, 10}}},
		"Trial 2 would be as it was before. Trial 3 stays as not run until a result of it is saved. Trial 2 has later entries, and what they say stays. " +
			"1 decision was made from what would be taken back; it keeps what it recorded.": {Undone: &study.Undone{Back: []int{2}, Ended: []int{3}, Since: []int{2}}, DecisionsAfter: 1},
		"Trials 2 and 3 would be as they were before. Trials 4 and 5 stay as not run until results of them are saved. Trials 2 and 3 have later entries, and what they say stays. " +
			"2 decisions were made from what would be taken back; they keep what they recorded.": {Undone: &study.Undone{Back: []int{2, 3}, Ended: []int{4, 5}, Since: []int{2, 3}}, DecisionsAfter: 2},
	} {
		impact.After = b.snap.Definition
		says(t, "the preview", UndoConsequences(b.snap, impact).Summary, []string{want + " How the limits stand"}, nil)
	}
}

// TestWhatWasNotRunIsNotOnTheMap, unless something was read of it: a table that was taken back leaves
// no rings there, nor hides the trials before it.
func TestWhatWasNotRunIsNotOnTheMap(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(2, 0, "yield")
	b.end(ledger.Abandoned, 1)
	b.end(ledger.Failed, b.ask(0.3))
	for range mostObservations {
		b.end(ledger.Abandoned, b.ask(0.4))
	}
	var shown []int
	for _, trace := range (Outlook{Facts: b.facts(0), Metric: "yield", X: "x", Y: "x"}).trialMarks() {
		if trace.Style != chart.Recommended {
			shown = append(shown, trace.Trial...)
		}
	}
	if slices.Sort(shown); !slices.Equal(shown, []int{1, 2, 3}) {
		t.Errorf("on the map are trials %v", shown)
	}
}
