package study

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// byNumber rules on a table that tells of trials that are there.
func (b *bench) byNumber(table, reason string, asked bool) (ruling, []Doubt, error) {
	b.Helper()
	opt := ImportOptions{ByNumber: true, Reason: reason}
	rows, _ := must.Get2(parseCSV(b.snap.Compiled(), strings.NewReader(table), opt))(b)
	return ruleResults(b.snap, b.snap, rows, opt, asked)
}

// imported is what b is after such a table of a program.
func (b *bench) imported(table string) {
	b.Helper()
	ruled, _, err := b.byNumber(table, "", false)
	b.must(ruled, err)
}

// doubted are the trials that are in doubt.
func (b *bench) doubted() []int {
	return lists.Pick(b.snap.Trials, func(t *ledger.Trial) (int, bool) { return t.Number, len(t.Doubts) > 0 })
}

// TestWhatStandsThereIsKnownAgain: a table that was saved by a spreadsheet, which rounds what has no
// room, says nothing new, also where it leaves standard deviations out.
func TestWhatStandsThereIsKnownAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(2)
	sd := 0.001234567
	b.must(ruleTell(b.snap, 1, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 71.23456789012}, "impurity": {Value: 1.23456789e-5, StdDev: &sd}}}))
	for _, cells := range []string{"71.23456789012,1.23456789E-05±0.001234567", "71.23456789,1.23457E-05±1.23457E-03", "71.2346,1.23457E-05", ",1.23456789E-5±0.001234567"} {
		if ruled, _, err := b.byNumber("number,yield,impurity\n1,"+cells+"\n", "", false); err != nil || len(ruled.drafts) > 0 {
			t.Errorf("%s: %d events, %v", cells, len(ruled.drafts), err)
		}
	}
	for cells, want := range map[string]string{
		"71.23,":                "line 2, yield: trial 1 has 71.23456789012 % already",
		"71.2347,":              "line 2, yield: trial 1 has 71.23456789012 % already",
		",1.23457E-05±1.24E-03": "line 2, impurity: trial 1 has 0.0000123456789±0.001234567 % already",
	} {
		_, _, err := b.byNumber("number,yield,impurity\n1,"+cells+"\n", "", false)
		wantFault(t, faultsOf(t, err), "lines[2]."+map[bool]string{true: "impurity", false: "yield"}[cells[0] == ','], want)
		if ruled, _, err := b.byNumber("number,yield,impurity\n1,"+cells+"\n", "misread", false); err != nil || len(ruled.drafts) != 1 {
			t.Errorf("%s with a reason: %d events, %v", cells, len(ruled.drafts), err)
		}
	}
}

// TestARowSaysHowItsTrialEnded: who reads one metric of a failed trial later does not open it again
// with a row that says that it failed; its cause can be corrected, and no note is lost.
func TestARowSaysHowItsTrialEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(3)
	after := func(table string, cause ledger.Cause, reason, note string) {
		t.Helper()
		b.imported(table)
		if got := b.snap.Trial(1); got.Status != ledger.StatusFailed || got.Cause != cause || got.Reason != reason || got.Note != note {
			t.Errorf("after %q: %s %s, %q, notes %q; want %s, %q, %q", table, got.Status, got.Cause, got.Reason, got.Note, cause, reason, note)
		}
		if ruled, _, err := b.byNumber(table, "", false); err != nil || len(ruled.drafts) > 0 {
			t.Errorf("%q again: %d events, %v", table, len(ruled.drafts), err)
		}
	}
	after("number,status,note\n1,failed,dry\n", ledger.BySettings, "dry", "")
	after("number,yield,status,note\n1,12,failed,dry\n", ledger.BySettings, "dry", "")
	after("number,status,note\n1,failed by chance,the tip was clogged\n", ledger.ByChance, "the tip was clogged", "")
	after("number,status,note\n1,failed,looked odd\n", ledger.ByChance, "the tip was clogged", "looked odd")
	after("number,status,note\n1,failed,odd\n", ledger.ByChance, "the tip was clogged", "looked odd\nodd")
	b.must(ruleTell(b.snap, 1, ledger.Telling{Metrics: map[string]ledger.Reading{}, Note: "third"}))
	after("number,note\n1,\"looked odd\nodd\"\n", ledger.ByChance, "the tip was clogged", "looked odd\nodd\nthird")

	b.imported("number,status,note\n3,failed,dry\n")
	b.imported("number,yield,status,note\n3,12,failed,it smelled\n")
	if got := b.snap.Trial(3); got.Status != ledger.StatusFailed || got.Reason != "dry" || got.Note != "it smelled" {
		t.Errorf("read later, with a note of that: %s, %q, notes %q", got.Status, got.Reason, got.Note)
	}
	_, _, err := parseCSV(b.snap.Compiled(), strings.NewReader("number,yield\n1.5,70\n"), ImportOptions{ByNumber: true})
	wantFault(t, faultsOf(t, err), "lines[2].number", "must be the number of a trial")
	_, _, err = b.byNumber("number,status,note\n2,failed,"+strings.Repeat("x", longestReason+1)+"\n", "", false)
	wantFault(t, faultsOf(t, err), "lines[2].note", "line 2, note: must have at most 1000 characters, and has 1001")
}

// TestResultsAreDoubtedByEachOther: the first plate has nothing before it to be judged by, and its
// rows come in any order.
func TestResultsAreDoubtedByEachOther(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		yields string
		odd    int
	}{
		{"7.1,712,7.3,7.05,6.9,7.7,7.2,7.15", 2},
		{"7.1,7.3,7.05,6.9,7.7,7.2,7.15,712", 8},
		{"5,0.2,60,0.1,0.2,3,40,0.1,25,0.2,8,0.3,0.1,0.2,0.1", 0}, // high ones among many low ones are not mistyped
	} {
		d := oven()
		d.Objective.Unit = "mg"
		var table strings.Builder
		table.WriteString("number,yield\n")
		yields := strings.Split(test.yields, ",")
		for i, yield := range slices.Backward(yields) {
			fmt.Fprintf(&table, "%d,%s\n", i+1, yield)
		}
		many := newBench(t, d)
		many.ask(len(yields))
		many.must(ruleTellMany(many.snap, lists.Of(len(yields), func(i int) NumberedTelling {
			return NumberedTelling{len(yields) - i, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: must.Get(strconv.ParseFloat(yields[len(yields)-1-i], 64))(t)}}}}
		})))
		if odd := many.doubted(); slices.Contains(odd, test.odd) != (test.odd > 0) || len(odd) > 1 {
			t.Errorf("%s, told in one request: trials %v stay in doubt", test.yields, odd)
		}
		for _, asked := range []bool{false, true} {
			b := newBench(t, d)
			b.ask(len(yields))
			ruled, doubts, err := b.byNumber(table.String(), "", asked)
			if want := map[bool]int{true: 1, false: 0}[asked && test.odd > 0]; len(doubts) != want {
				t.Errorf("%s: asked about %v", test.yields, doubts)
			}
			events := len(b.events)
			b.must(ruled, err)
			odd := b.doubted()
			if want := test.odd > 0 && !asked; slices.Contains(odd, test.odd) != want || len(odd) > 1 {
				t.Errorf("%s, asked %v: trials %v stay in doubt", test.yields, asked, odd)
			}
			for cut := events; cut < len(b.events); cut++ { // the table is read in two parts
				first := must.Get(ledger.Fold("bench", nil, b.events[:cut], nil))(t)
				again := must.Get(ledger.Fold("bench", first, b.events[cut:], nil))(t)
				for i, trial := range again.Trials {
					if len(trial.Doubts) != len(b.snap.Trials[i].Doubts) {
						t.Fatalf("cut after event %d, trial %d has the doubts %v", cut, trial.Number, trial.Doubts)
					}
				}
			}
		}
	}
}

// TestAnOddRowNamesUnits: settings of before a unit was changed are not compared by their numbers
// alone.
func TestAnOddRowNamesUnits(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	kelvin := b.snap.Definition.Parameters
	kelvin = slices.Clone(kelvin)
	kelvin[0].Low, kelvin[0].High, kelvin[0].Unit = new(293.0), new(333.0), "K"
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Parameters: kelvin, Reason: "kelvin"}))
	_, doubts, err := b.byNumber("number,temperature,yield\n1,320,70\n", "", true)
	was := design.WriteSetting(oven().Parameters[0], b.snap.Trial(1).Parameters["temperature"])
	if want := "Was trial 1 really run with temperature 320\u202fK, not " + was + "\u202f°C?"; err != nil || len(doubts) != 1 || doubts[0].Text != want {
		t.Errorf("%v, %v; want %q", doubts, err, want)
	}
}

// TestAValueThatFollowsFromTheSettings is not told by a table. What contradicts it is asked about, also
// where the row says nothing else that is new, and by the settings that the row says were used.
func TestAValueThatFollowsFromTheSettings(t *testing.T) {
	t.Parallel()
	d := oven()
	for name, op := range map[string]string{"cheap": "<=", "not free": ">="} {
		d.Constraints = append(d.Constraints, design.Constraint{Name: name, Metric: "cost", Op: op, Threshold: map[string]float64{"<=": 1000, ">=": 1}[op], Expression: "temperature * 7 / 3"})
	}
	b := newBench(t, d)
	b.ask(1)
	cost := b.snap.Trial(1).Metrics["cost"].Value
	row := func(cost float64, cells string) string {
		return fmt.Sprintf("number,cost,temperature,yield\n1,%v,%s\n", cost, cells)
	}
	for table, want := range map[string]string{
		row(cost, ",70"): "", row(design.Rounded(cost, 4), ",70"): "", row(70, "30,70"): "Was trial 1 really run",
		row(999, ",70"):   "Cost follows from the settings, and is " + exactText(cost) + " there; 999 is not kept. Are the settings right?",
		row(999, ","):     "999 is not kept.",
		row(cost, "30,7"): "Cost follows from the settings, and is 70 there; " + exactText(cost) + " is not kept.",
	} {
		_, doubts, err := b.byNumber(table, "", true)
		first := append(doubts, Doubt{})[0]
		if err != nil || want == "" && len(doubts) > 0 || !strings.Contains(first.Text, want) || strings.Contains(want, "kept") && (first.Field != "lines[2].cost" || strings.Count(fmt.Sprint(doubts), "kept") != 1) {
			t.Errorf("%q: %v, %v; want %q", table, doubts, err, want)
		}
	}
}

// TestRoundedForWiderBounds: settings that a spreadsheet rounded for the bounds of their time were not
// others, whatever the bounds are now.
func TestRoundedForWiderBounds(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: design.Settings{"temperature": design.NumberValue(35.2455246), "cycles": design.NumberValue(3)}}))
	table := "number,temperature,yield\n1,35.2,70\n"
	for _, bounds := range [][2]float64{{20, 60}, {20, 21}, {34, 36}} {
		narrow := slices.Clone(b.snap.Definition.Parameters)
		if narrow[0].Low, narrow[0].High = &bounds[0], &bounds[1]; bounds[1] < 60 {
			b.must(ruleReconfigure(b.snap, design.Reconfiguration{Parameters: narrow, Reason: "narrower"}))
		}
		if ruled, doubts, err := b.byNumber(table, "", true); err != nil || len(doubts) > 0 || len(ruled.drafts) != 1 {
			t.Errorf("within %v: %v, %v", bounds, doubts, err)
		}
	}
	if _, doubts, err := b.byNumber("number,temperature,yield\n1,35,70\n", "", true); err != nil || len(doubts) != 1 {
		t.Errorf("what was not rounded for these bounds: %v, %v", doubts, err)
	}
}

// TestTheSameNumberInAnotherUnitIsAnother, where the table names the unit; an exported one does not.
func TestTheSameNumberInAnotherUnitIsAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	b.tell(1, map[string]float64{"yield": 70})
	o := b.snap.Definition.Objective
	o.Unit = "g"
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Objective: &o, Reason: "weighed"}))
	for _, table := range []string{"number,yield (g)\n1,70\n", "number,yield\n1,70 g\n"} {
		_, _, err := b.byNumber(table, "", true)
		wantFault(t, faultsOf(t, err), "lines[2].yield", "trial 1 has 70 % already")
	}
	for _, table := range []string{"number,yield (%)\n1,70\n", "number,yield\n1,70 %\n"} {
		if _, _, err := parseCSV(b.snap.Compiled(), strings.NewReader(table), ImportOptions{ByNumber: true}); err == nil {
			t.Errorf("%q is taken for grams", table)
		}
	}
	if ruled, _, err := b.byNumber("number,yield\n1,70\n", "", true); err != nil || len(ruled.drafts) > 0 {
		t.Errorf("as exported: %v, %v", ruled, err)
	}
	ruled, _, err := b.byNumber("number,yield (g)\n1,70\n", "it was weighed", true)
	b.must(ruled, err)
	if unit := b.snap.UnitTold(1, "yield"); unit != "g" {
		t.Errorf("corrected, it is in %s", unit)
	}
	if _, err := ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": {Value: 70}}, Reason: "again"}); err == nil {
		t.Error("what is kept already can be corrected to it")
	}
}
