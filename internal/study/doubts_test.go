package study

import (
	"context"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

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
	expected := b.snap.Foretold(trial, "yield")
	if expected == nil || expected.SD <= trial.Decision.SD["yield"] {
		t.Fatalf("expected a reading with its noise, got %+v beside ± %v", expected, trial.Decision.SD["yield"])
	}
	if doubts := DoubtTelling(b.snap, trial, yields(expected.Mean-3.9*expected.SD)); len(doubts) != 0 {
		t.Errorf("3.9 standard deviations are doubted: %+v", doubts)
	}
	odd := DoubtTelling(b.snap, trial, yields(expected.Mean-4.1*expected.SD))
	if len(odd) != 1 || odd[0].Field != "metrics.yield" || !strings.Contains(odd[0].Text, "is expected (95 %, noise included)") {
		t.Fatalf("4.1 standard deviations: %+v", odd)
	}
	slip := DoubtTelling(b.snap, trial, yields(math.Round(expected.Mean*100)))
	if len(slip) != 1 || !strings.Contains(slip[0].Text, "would fit: was the decimal point meant?") {
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
	if doubts := DoubtTelling(b.snap, trial, tenth); len(doubts) != 1 || !strings.Contains(doubts[0].Text, "was chosen: was the decimal point or the sign meant elsewhere?") {
		t.Errorf("a tenth of the temperature: %+v", doubts)
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
	ruled, err := b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, own)
	if err != nil {
		t.Fatal(err)
	}
	doubts := DoubtOwn(b.snap, own, ruled.decision())
	if len(doubts) != 2 || !strings.Contains(doubts[0].Text, "would fit") || doubts[1].Text != "The same settings as trial 8: a replicate on purpose?" {
		t.Errorf("an own point: %+v", doubts)
	}
}

func TestRowsAreDoubtedByEachOther(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	rows, _, err := parseCSV(b.snap.Compiled(), strings.NewReader("temperature,cycles,yield,impurity\n30,2,61,0.3\n35,3,645,0.31\n40,4,70,0.33\n45,5,66,0.4\n50,6,68,0.41\n"), ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
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
			readEverything(t, b)
			slices, err := b.service.Slices(t.Context(), b.snap, b.snap.Trial(6).Parameters, 5)
			if must(t, slices, err); len(slices) != 2 {
				t.Errorf("%d slices through a point beyond the bounds", len(slices))
			}
			mapped, err := b.service.Map(t.Context(), b.snap, "temperature", "cycles", b.snap.Trial(6).Parameters, 4)
			must(t, mapped, err)
			var table strings.Builder
			if err := WriteCSV(&table, b.snap.Definition, b.snap.Trials, b.snap.Chosen); err != nil || !strings.Contains(table.String(), ",69,2,") {
				t.Errorf("%v\n%s", err, table.String())
			}
		})
	}
}

// kept is a store of one study in memory.
type kept struct {
	Store
	bench    *bench
	verified *Verified
}

func (k *kept) Verified(context.Context, string) (*Verified, error) { return k.verified, nil }

func (k *kept) KeepVerified(ctx context.Context, _ string, outcome Verified) error {
	if k.verified == nil || k.verified.Version <= outcome.Version {
		k.verified = &outcome
	}
	return ctx.Err()
}

func (k *kept) Events(_ context.Context, _ string, after int64, limit int) ([]ledger.Event, error) {
	events := k.bench.events[after:]
	if limit > 0 && limit < len(events) {
		events = events[:limit]
	}
	return events, nil
}

func (k *kept) Write(_ context.Context, _ string, _ Command, _ Known, decide func([]ledger.Event) (Append, error)) error {
	appended, err := decide(nil)
	if err == nil {
		k.bench.events, k.bench.snap = append(k.bench.events, appended.Events...), appended.After
	}
	return err
}

func TestUndoTakesBackOnesOwnLastTellingWithinAMinute(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.service.store = &kept{bench: b}
	b.service.options.Now = func() time.Time { return b.clock }
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

	for sentence, err := range map[string]error{"Ana saved the last results": undo("person:another Ana", 1), "was not a saving": undo("person:ana", 2), "There is no trial 3": undo("person:ana", 3)} {
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
	if err := undo("person:ana", 1); err != nil {
		t.Fatal(err)
	}
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
	b.must(ruleTell(b.snap, 1, yields(71.3)))
}

// TestProgramsAreNotAskedBack: what nobody asks to be doubted is not judged either, which would
// cost a look at every trial for each result told; forms are asked until they confirm what is
// doubted, and nothing else.
func TestProgramsAreNotAskedBack(t *testing.T) {
	t.Parallel()
	if _, err := askBack(Command{}, func() []Doubt { t.Error("judged for nobody"); return nil }); err != nil {
		t.Error(err)
	}
	sure, asked := "", 0
	if confirmed, err := askBack(Command{Sure: &sure}, func() []Doubt { asked++; return nil }); confirmed || err != nil || asked != 1 {
		t.Errorf("a form's value was judged %d times, %v", asked, err)
	}
	odd := []Doubt{{Field: "metrics.yield", Value: "712"}}
	for what, c := range map[string]struct {
		sure  string
		taken bool
	}{"nothing": {"", false}, "another value": {Doubted([]Doubt{{Field: "metrics.yield", Value: "71.2"}}), false}, "it": {Doubted(odd), true}} {
		confirmed, err := askBack(Command{Sure: &c.sure}, func() []Doubt { return odd })
		if doubtful := new(Doubtful); (err == nil) != c.taken || confirmed != c.taken || err != nil && (!errors.As(err, &doubtful) || len(doubtful.Doubts) != 1) {
			t.Errorf("sure of %s: %v", what, err)
		}
	}
}
