package study

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// TestWhatScriptsTellIsDoubted: a reading far beside its prediction is taken, and stands in doubt
// at its trial until it is confirmed, corrected or taken out of the data. It is not announced as
// the best until then.
func TestWhatScriptsTellIsDoubted(t *testing.T) {
	t.Parallel()
	b := learnt(t)
	b.service.store = &kept{bench: b}
	best, expected := b.snap.Best().Number, b.snap.Predicted(b.snap.Trial(9), "yield")
	absurd := 10 * expected.Mean
	b.must(ruleTell(b.snap, 9, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: absurd}, "impurity": {Value: 0.45}}}))
	if d := b.snap.Trial(9).Doubts; len(d) != 1 || d[0].Metric != "yield" || d[0].Value != absurd || len(d[0].Expected) != 2 || !strings.Contains(d[0].Why, "is expected (95\u202f%, noise included)") {
		t.Fatalf("doubts %+v", d)
	}
	if got := b.snap.Best().Number; got != best {
		t.Errorf("trial %d, in doubt, is announced as the best", got)
	}
	if found := InDoubt(b.snap); len(found) != 1 || found[0].Trial != 9 || found[0].Kind != "doubt" {
		t.Errorf("found %+v", found)
	}
	history := func() optimizer.Reading { return b.snap.History(b.snap.Compiled()).Rounds[8].Readings[0] }
	if r := history(); !r.InDoubt || math.Abs(r.Expected-expected.Mean) > 1e-9 || !strings.HasSuffix(InDoubt(b.snap)[0].Remedy, "of little weight in the model") {
		t.Errorf("the model reads it as %+v", r)
	}
	before := b.snap
	must.Get(b.service.Confirm(t.Context(), Command{By: "Ana"}, "bench", 9))(t)
	if len(b.snap.Trial(9).Doubts) != 0 || b.snap.Best().Number != 9 || len(InDoubt(b.snap)) != 0 || len(before.Trial(9).Doubts) != 1 {
		t.Errorf("confirmed: %+v, best %d", b.snap.Trial(9).Doubts, b.snap.Best().Number)
	}
	if r := history(); r.InDoubt || !b.snap.History(b.snap.Compiled()).Rewritten {
		t.Errorf("confirmed, the model reads it as %+v", r)
	}
	if _, err := b.service.Confirm(t.Context(), Command{By: "Ana"}, "bench", 9); !errors.Is(err, ErrConflict) {
		t.Errorf("confirmed twice: %v", err)
	}
	if _, err := b.service.Confirm(t.Context(), Command{By: "Ana"}, "bench", 99); !errors.Is(err, ErrNotFound) {
		t.Errorf("a trial that is not there: %v", err)
	}
	readEverything(t, b)
}

// TestRowsThatNobodyWasAskedAboutAreDoubted: what a program imports stands in doubt as what it tells,
// where it is odd in its table, too; what a person was asked about does not.
func TestRowsThatNobodyWasAskedAboutAreDoubted(t *testing.T) {
	t.Parallel()
	const table = "temperature,cycles,yield,impurity\n40,5,7120,0.3\n41,5,71.5,0.31\n"
	for name, sure := range map[string]bool{"a program": false, "a person": true} {
		b := learnt(t)
		b.service.store = &kept{bench: b}
		var cmd Command
		if sure {
			dry := must.Get(b.service.ImportCSV(t.Context(), cmd, "bench", strings.NewReader(table), ImportOptions{DryRun: true}))(t)
			cmd.Sure = new(Doubted(dry.Doubts))
		}
		must.Get(b.service.ImportCSV(t.Context(), cmd, "bench", strings.NewReader(table), ImportOptions{}))(t)
		if odd, plain := b.snap.Trial(10), b.snap.Trial(11); odd.Doubted("yield") == sure || odd.Doubted("impurity") || len(plain.Doubts) > 0 {
			t.Errorf("%s imports, and of the rows is doubted %+v, %+v", name, odd.Doubts, plain.Doubts)
		}
		must.Get(b.service.foldImported("again", nil, b.events))(t)
	}
}

// TestADryRunSaysWhatWillBeInDoubt of the rows of a table: a slip in its first row as well as in its last,
// which only the other rows show, settings beyond the bounds, and each of more than anybody is shown.
func TestADryRunSaysWhatWillBeInDoubt(t *testing.T) {
	t.Parallel()
	const header = "status,temperature,cycles,yield,impurity\n"
	many := header
	for i := range 3 * mostDoubts {
		many += fmt.Sprintf("completed,%d,5,%d,0.3\n", 30+i%2+i%3*100, 60+i%7)
	}
	for name, table := range map[string]string{
		"a decimal point":     header + "completed,40,5,712,0.3\ncompleted,41,5,71.5,0.31\ncompleted,42,5,73,0.29\ncompleted,43,5,75,0.3\ncompleted,44,5,70,0.031\n",
		"a slip not grave":    header + "completed,40,5,2.1,0.3\ncompleted,41,5,20,0.31\ncompleted,42,5,73,0.29\ncompleted,43,5,75,0.3\ncompleted,44,5,70,0.3\n",
		"exchanged":           header + "completed,40,5,0.3,71\ncompleted,41,5,71.5,0.31\ncompleted,42,5,73,0.29\ncompleted,43,5,75,0.3\n",
		"beyond the bounds":   header + "completed,62,5,71,0.3\ncompleted,41,5,71.5,0.31\n",
		"more than are shown": many,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, oven())
			b.service.store = &kept{bench: b}
			dry := must.Get(b.service.ImportCSV(t.Context(), Command{}, "bench", strings.NewReader(table), ImportOptions{DryRun: true}))(t)
			must.Get(b.service.ImportCSV(t.Context(), Command{}, "bench", strings.NewReader(table), ImportOptions{}))(t)
			var stand []string
			for _, trial := range b.snap.Trials {
				for _, d := range trial.Doubts {
					stand = append(stand, fmt.Sprintf("lines[%d].%s: %s", trial.Number+1, d.Metric+d.Parameter, d.Why))
				}
			}
			said := lists.Map(dry.Doubts, func(d Doubt) string { return d.Field + ": " + d.Text })
			if len(stand) == 0 || len(said) > mostDoubts || !slices.Equal(said, stand[:min(len(stand), mostDoubts)]) {
				t.Errorf("the dry run says\n%s\nand in doubt are\n%s", strings.Join(said, "\n"), strings.Join(stand, "\n"))
			}
			if last := b.snap.Trial(3 * mostDoubts); last != nil && len(last.Doubts) != 1 {
				t.Errorf("of the last of many: %+v", last.Doubts)
			}
			// What is told of other trials later changes nothing of it, nor in how many steps it is read.
			doubts := lists.Map(b.snap.Trials, func(trial *ledger.Trial) []ledger.Doubted { return trial.Doubts })
			b.ask(1)
			b.tell(len(b.snap.Trials), map[string]float64{"yield": 1e6, "impurity": 1e-6})
			var stepwise *ledger.Snapshot
			for i := range b.events {
				stepwise = must.Get(ledger.Fold("bench", stepwise, b.events[i:i+1], nil))(t)
			}
			for _, read := range []*ledger.Snapshot{b.snap, stepwise, must.Get(b.service.foldImported("bench", nil, b.events))(t)} {
				if again := lists.Map(read.Trials[:len(doubts)], func(trial *ledger.Trial) []ledger.Doubted { return trial.Doubts }); !reflect.DeepEqual(again, doubts) {
					t.Errorf("in doubt were %+v\nand now %+v", doubts, again)
				}
			}
		})
	}
}

// TestWhatNobodyWasShownIsInDoubt: a person who confirms what is shown of a long table has confirmed
// nothing else.
func TestWhatNobodyWasShownIsInDoubt(t *testing.T) {
	t.Parallel()
	table := "temperature,cycles,yield,impurity\n"
	for range mostDoubts + 5 {
		table += "162,5,71,0.3\n"
	}
	b := newBench(t, oven())
	b.service.store = &kept{bench: b}
	options := ImportOptions{BeyondBounds: true, DryRun: true}
	dry := must.Get(b.service.ImportCSV(t.Context(), Command{}, "bench", strings.NewReader(table), options))(t)
	options.DryRun = false
	must.Get(b.service.ImportCSV(t.Context(), Command{Sure: new(Doubted(dry.Doubts))}, "bench", strings.NewReader(table), options))(t)
	if n := len(b.snap.Trials); n != mostDoubts+5 || len(InDoubt(b.snap)) != 5 || len(b.snap.Trial(n).Doubts) != 1 {
		t.Errorf("%d of %d rows are in doubt", len(InDoubt(b.snap)), n)
	}
}

// TestWhatMayBeADangerCountsInFull: a reading in doubt that breaks a limit teaches the model as any other.
func TestWhatMayBeADangerCountsInFull(t *testing.T) {
	t.Parallel()
	b := learnt(t)
	b.must(ruleTell(b.snap, 9, ledger.Telling{Metrics: map[string]ledger.Reading{"impurity": {Value: 45}}}))
	r := b.snap.History(b.snap.Compiled()).Rounds[8].Readings[1]
	if d := InDoubt(b.snap); len(d) != 1 || r.InDoubt || !r.Told || strings.Contains(d[0].Remedy, "weight") {
		t.Errorf("in doubt is %+v, and the model reads %+v", d, r)
	}
}

func TestADoubtGoesWithItsReason(t *testing.T) {
	t.Parallel()
	b := learnt(t)
	at := func(temperature float64) design.Settings {
		return design.Settings{"temperature": design.NumberValue(temperature), "cycles": design.NumberValue(3)}
	}
	b.must(ruleTell(b.snap, 9, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: -900}}, Parameters: at(77)}))
	b.must(ruleTell(b.snap, 9, ledger.Telling{Metrics: map[string]ledger.Reading{"impurity": {Value: 0.2}}, Parameters: at(66)}))
	doubted := func() string {
		return strings.Join(lists.Map(b.snap.Trial(9).Doubts, func(d ledger.Doubted) string { return d.Metric + d.Parameter }), " ")
	}
	correct := func(c Correction) {
		c.Number, c.Reason = 9, "typo"
		b.must(ruleCorrect(b.snap, c))
	}
	if got := doubted(); got != "yield temperature" {
		t.Fatalf("in doubt: %q", got)
	}
	correct(Correction{Parameters: at(46)})
	if got := doubted(); got != "yield" {
		t.Errorf("with the settings put right, in doubt: %q", got)
	}
	shown := Doubted(Asked(b.snap.Trial(9).Doubts))
	correct(Correction{Metrics: map[string]*ledger.Reading{"yield": {Value: 900}}})
	b.service.store = &kept{bench: b}
	if _, err := b.service.Confirm(t.Context(), Command{By: "Ana", Sure: &shown}, "bench", 9); !errors.Is(err, ErrConflict) {
		t.Errorf("shown another doubt than that, confirmed: %v", err)
	}
	if got := doubted(); got != "yield" {
		t.Errorf("corrected to what is as odd, in doubt: %q", got)
	}
	b.must(ruleClose(b.snap, ledger.Excluded, ledger.ClosedData{Number: 9, Reason: "wrong bottle"}))
	if found := InDoubt(b.snap); len(found) != 0 {
		t.Errorf("excluded, yet %+v", found)
	}
	b.must(ruleClose(b.snap, ledger.Included, ledger.ClosedData{Number: 9, Reason: "not wrong"}))
	correct(Correction{Metrics: map[string]*ledger.Reading{"yield": {Value: 70}}})
	if got := doubted(); got != "" || len(InDoubt(b.snap)) != 0 {
		t.Errorf("put right, yet in doubt: %q", got)
	}
	readEverything(t, b)
}

// TestSettingsThatStayAreNotDoubtedAgain: who says that another setting was otherwise, too, says nothing
// anew of one that somebody has confirmed, or that nobody has.
func TestSettingsThatStayAreNotDoubtedAgain(t *testing.T) {
	t.Parallel()
	b := learnt(t)
	b.service.store = &kept{bench: b}
	at := func(temperature, cycles float64) ledger.Telling {
		return ledger.Telling{Parameters: design.Settings{"temperature": design.NumberValue(temperature), "cycles": design.NumberValue(cycles)}}
	}
	b.must(ruleTell(b.snap, 9, at(62.5, 4)))
	b.must(ruleTell(b.snap, 9, at(62.5, 3)))
	if d := b.snap.Trial(9).Doubts; len(d) != 1 || d[0].Parameter != "temperature" {
		t.Errorf("not confirmed, in doubt: %+v", d)
	}
	must.Get(b.service.Confirm(t.Context(), Command{By: "Ana"}, "bench", 9))(t)
	b.must(ruleTell(b.snap, 9, at(62.5, 5)))
	b.must(ruleCorrect(b.snap, Correction{Number: 9, Parameters: at(62.5, 6).Parameters, Reason: "miscounted"}))
	if d := b.snap.Trial(9).Doubts; len(d) != 0 || len(DoubtTelling(b.snap, b.snap.Trial(9), at(62.5, 7))) != 0 {
		t.Errorf("confirmed, yet in doubt: %+v", d)
	}
	if d := b.must(ruleTell(b.snap, 9, at(63, 6))).Trial(9).Doubts; len(d) != 1 {
		t.Errorf("another temperature, in doubt: %+v", d)
	}
}

// TestWhatWasExpectedElsewhereIsNoDoubt: a reading that is in doubt by its decision's prediction is judged
// again, and counts in full, once other settings are said to have been used.
func TestWhatWasExpectedElsewhereIsNoDoubt(t *testing.T) {
	t.Parallel()
	b := learnt(t)
	expected := b.snap.Predicted(b.snap.Trial(9), "yield").Mean
	b.must(ruleTell(b.snap, 9, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: expected / 10}}}))
	slipped := func() bool { return b.snap.History(b.snap.Compiled()).Rounds[8].Readings[0].InDoubt }
	if d := b.snap.Trial(9).Doubts; len(d) != 1 || !strings.Contains(d[0].Why, "is expected") || !slipped() {
		t.Fatalf("in doubt: %+v", d)
	}
	elsewhere := design.Settings{"temperature": design.NumberValue(20), "cycles": design.NumberValue(1)}
	b.must(ruleCorrect(b.snap, Correction{Number: 9, Parameters: elsewhere, Reason: "wrong oven"}))
	if d := b.snap.Trial(9).Doubts; slipped() || slices.ContainsFunc(d, func(d ledger.Doubted) bool { return strings.Contains(d.Why, "is expected") }) {
		t.Errorf("at other settings, in doubt: %+v", d)
	}
	b.must(ruleTell(b.snap, 9, ledger.Telling{Parameters: b.snap.Chosen(9)}))
	if d := b.snap.Trial(9).Doubts; len(d) > 1 {
		t.Errorf("doubted twice: %+v", d)
	}
}

// TestImportedTrialsAreDoubtedWhenTheyAreToldLater: rows are judged with their table, and what is told
// of them later as of any trial.
func TestImportedTrialsAreDoubtedWhenTheyAreToldLater(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.table(t, "temperature,cycles,yield,impurity\n30,2,61,0.3\n40,4,700,0.33\n45,5,66,0.4\n47,5,64,0.4\n50,6,,\n")
	b.must(ruleTell(b.snap, 5, yields(6800)))
	if d := b.snap.Trial(5).Doubts; len(d) != 1 || d[0].Metric != "yield" || len(b.snap.Trial(2).Doubts) != 0 {
		t.Errorf("told later, in doubt: %+v, and in the table %+v", d, b.snap.Trial(2).Doubts)
	}
	if d := b.must(ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": {Value: 61000}}, Reason: "typo"})).Trial(1).Doubts; len(d) != 1 {
		t.Errorf("corrected, in doubt: %+v", d)
	}
}

// TestWhatFormsConfirmedIsNotDoubtedAgain: the telling keeps that whoever told it was asked, also
// in a ledger that comes from elsewhere.
func TestWhatFormsConfirmedIsNotDoubtedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.service.store = &kept{bench: b}
	b.ask(1)
	odd := ""
	_, err := b.service.Tell(t.Context(), Command{By: "Ana", Sure: &odd}, "bench", 1, yields(721))
	doubtful := new(Doubtful)
	if !errors.As(err, &doubtful) {
		t.Fatalf("721 %% as a first reading: %v", err)
	}
	sure := Doubted(doubtful.Doubts)
	must.Get(b.service.Tell(t.Context(), Command{By: "Ana", Sure: &sure}, "bench", 1, yields(721)))(t)
	if d := b.snap.Trial(1).Doubts; len(d) != 0 || !strings.Contains(string(b.events[len(b.events)-1].Data), `"confirmed":true`) {
		t.Errorf("asked and confirmed, yet doubted: %+v", d)
	}
	admit := b.service.admit()
	for i, e := range b.events {
		now, err := ledger.Fold("bench", nil, b.events[:i], nil)
		if i == 0 {
			now, err = nil, nil
		}
		if err := errors.Join(err, admit(now, e)); err != nil {
			t.Errorf("event %d is not admitted: %v", e.Seq, err)
		}
	}
}
