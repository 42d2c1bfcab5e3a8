package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// TestACorrectedReadingStandsBesideWhatItWas: to its own digits, also where readings have standard
// deviations, and not where it is the same again or the deviation alone was corrected.
func TestACorrectedReadingStandsBesideWhatItWas(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	wide, narrow := 0.02, 0.01
	correct := func(number int, before, after ledger.Reading) {
		b.add(ledger.Corrected, ledger.CorrectedData{Number: number, Metrics: map[string]ledger.CorrectedValue{"impurity": {Before: &before, After: &after}}, Reason: "typo"})
	}
	first, second, third := ledger.Reading{Value: 0.31, StdDev: &wide}, ledger.Reading{Value: 0.35, StdDev: &wide}, ledger.Reading{Value: 0.31, StdDev: &narrow}
	b.add(ledger.Told, ledger.ToldData{Number: b.ask(0.5), Telling: ledger.Telling{Metrics: map[string]ledger.Reading{"impurity": first}}})
	correct(1, first, second)
	if cell := b.facts(0).Trials().Rows[0].Metrics[1]; cell.Was != "0.31" {
		t.Errorf("%q stands beside what it was, %q", cell.Text, cell.Was)
	}
	correct(1, second, third)
	if cell := b.facts(0).Trials().Rows[0].Metrics[1]; cell.Was != "" {
		t.Errorf("%q stands beside what it is, %q", cell.Text, cell.Was)
	}
	b.tell(b.ask(0.6), map[string]float64{"impurity": 0.3})
	correct(2, ledger.Reading{Value: 0.3}, ledger.Reading{Value: 0.4})
	correct(2, ledger.Reading{Value: 0.4}, ledger.Reading{Value: 0.3})
	panel, _, _ := b.facts(0).progressPanels().limitPanel(0)
	if marks := pointsOf(panel, chart.Original); marks != 0 {
		t.Errorf("%d marks of what was first told, and is so again", marks)
	}
}

// TestOnlyNumbersStandFlushRight: choices are words.
func TestOnlyNumbersStandFlushRight(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(twoLimits, `{"name": "x",`, `{"name": "base", "type": "categorical", "choices": ["A", "B"]}, {"name": "x",`, 1))
	if columns := b.facts(0).Trials().Settings; columns[0].Number || !columns[1].Number {
		t.Errorf("columns %+v", columns)
	}
}

// TestWhatIsWorkedOutStandsOnce on the sheet and in the forecast, with all limits on it.
func TestWhatIsWorkedOutStandsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(twoLimits, `"constraints": [`, `"constraints": [{"metric": "load", "op": "<=", "threshold": 0.9, "expression": "x"},
		{"name": "least load", "metric": "load", "op": ">=", "threshold": 0.1, "expression": "x"}, `, 1))
	known := map[string]float64{"load": 0.3, "least load": 0.3}
	b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Suggested, Seen: 1, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.3)}, KnownValues: known})
	sheet := must.Get(b.facts(0).Of(b.snap.Trial(1)).Sheet("http://headroom.test/studies/bench/trials/1"))(t)
	forecast := ForecastOf(b.snap, &ledger.Decision{}, known)
	onSheet := lists.Map(sheet.Lines, func(line templates.SheetLine) string { return line.Name + " " + line.Limit })
	expected := lists.Map(forecast.Metrics, func(line templates.ForecastLine) string { return line.Name + " " + line.Limit })
	for _, lines := range [][]string{onSheet, expected} {
		if len(lines) != 4 || !slices.Contains(lines, "load ≤\u202f0.9, ≥\u202f0.1") {
			t.Errorf("it lists %q", lines)
		}
	}
}

// TestAPageOfTheTableIsNotEmpty while there are trials of the kind: those on it may have become
// others since it was asked for.
func TestAPageOfTheTableIsNotEmpty(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	for range 9 {
		b.ask(0.5)
	}
	for i := range 3 {
		b.tell(i+1, map[string]float64{"yield": 60, "impurity": 0.2, "pressure": 2})
	}
	v := b.facts(0)
	v.Show, v.Below = "waiting", 4
	if table := v.Trials(); len(table.Rows) != 6 || table.Rows[0].Number != 9 || table.Newer.URL != "" {
		t.Errorf("%d trials, %s, newer ones at %q", len(table.Rows), table.Shown, table.Newer.URL)
	}
	b.add(ledger.Excluded, ledger.ClosedData{Number: 9, Reason: "the wrong vial"})
	v = b.facts(0)
	v.Show = "waiting"
	if table := v.Trials(); len(table.Rows) != 5 || table.Rows[0].Number != 8 {
		t.Errorf("with one that nobody waits for any more, %s", table.Shown)
	}
}

func TestAReportListsTheNewestTrialsAndThoseOfWhichSomethingIsToBeSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.ask(0.5)
	v := b.facts(0)
	v.Modelless = "Its kernel is gone."
	for n, want := range map[int]int{mostReportTrials: mostReportTrials, mostReportTrials + 1: mostReportTrials/2 + 3} {
		snap := *b.snap
		snap.Trials = nil
		for i := range n {
			snap.Trials = append(snap.Trials, &ledger.Trial{Number: i + 1, Excluded: i == 3, SettingsChanged: i == 5,
				Metrics: map[string]ledger.Measurement{"yield": {Corrected: i == 7}}})
		}
		v.Snap = &snap
		listed := lists.Map(v.reportedTrials(), func(t *ledger.Trial) int { return t.Number })
		if len(listed) != want || listed[len(listed)-1] != n || n > want && !slices.Equal(listed[:4], []int{4, 6, 8, n - mostReportTrials/2 + 1}) {
			t.Errorf("of %d trials a report lists %d: %v…", n, len(listed), listed[:4])
		}
	}
}

// TestALongSettingHasManyLetters, in whichever script.
func TestALongSettingHasManyLetters(t *testing.T) {
	t.Parallel()
	for value, long := range map[string]bool{"этиловый спирт": false, "二甲基亚砜与水的混合物": false, "a mixture of water and ethanol": true} {
		if (templates.Setting{Value: value}).IsLong() != long {
			t.Errorf("%s is taken for %t", value, !long)
		}
	}
}

// TestWhatIsCopiedIsNoFormula where it is pasted into a spreadsheet, as in the table that is exported.
func TestWhatIsCopiedIsNoFormula(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(twoLimits, `{"name": "x",`, `{"name": "=base", "type": "categorical", "choices": ["=1+1", "B"]}, {"name": "x", "unit": "bar",`, 1))
	b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Manual, Seen: 1, Engine: "1", Parameters: design.Settings{"=base": design.TextValue("=1+1"), "x": design.NumberValue(-0.5)}})
	copied := b.facts(0).Of(b.snap.Trial(1)).copyText()
	if want := "'=base\tx (bar)\n'=1+1\t-0.5"; copied != want {
		t.Errorf("%q is copied, want %q", copied, want)
	}
}

// TestATrialSaysWhatWasChangedSince: its sentence speaks of the limits that it was chosen under.
func TestATrialSaysWhatWasChangedSince(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(2, 0, "yield", "impurity", "pressure")
	number := b.ask(0.9)
	since := func(number int) string {
		v := b.facts(0)
		return v.Of(b.snap.Trial(number)).card().Since
	}
	if said := since(number); said != "" {
		t.Errorf("with nothing changed: %s", said)
	}
	b.limit(0, 0.3)
	if gone := b.facts(0).WaitingSheet().Gone; gone != "" {
		t.Errorf("the sheet says before: %s", gone)
	}
	says(t, "with a limit moved", since(number), []string{"Since it was chosen: limit of impurity from 0.5 to 0.3 %."}, []string{"no more"})
	d := b.snap.Definition
	d.Parameters = slices.Clone(d.Parameters)
	d.Parameters[0].High = new(0.8)
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{}, Reason: "the valve"})
	says(t, "with narrower bounds", since(number), []string{"from 0.5 to 0.3 %. Its settings may no longer be chosen."}, nil)
	says(t, "the sheet", b.facts(0).WaitingSheet().Gone, []string{fmt.Sprintf("Settings that may no longer be chosen: those of trial %d.", number)}, nil)
	before := d
	d.Objective.Direction, d.Algorithm = "minimize", design.Algorithm{Name: "rpol-ucb", Horizon: 30}
	turned := []design.Change{{Path: "algorithm.name", Before: json.RawMessage(`"log-cei"`), After: json.RawMessage(`"rpol-ucb"`)}, {Path: "algorithm.horizon", Before: json.RawMessage(`20`), After: json.RawMessage(`30`)},
		{Path: "objective.direction", Before: json.RawMessage(`"maximize"`), After: json.RawMessage(`"minimize"`)}}
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: must.Get(d.Check())(t), Changes: turned, Reason: "it is a loss"})
	says(t, "with another goal", since(number), []string{"Since it was chosen: limit of impurity from 0.5 to 0.3 %, algorithm from log-cei to rpol-ucb, objective direction from maximize to minimize. Its settings"}, []string{"horizon"})
	own := len(b.snap.Trials) + 1
	b.add(ledger.Chosen, ledger.ChosenData{Number: own, Origin: ledger.Manual, Seen: b.snap.Version, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.5)}})
	turned = slices.Clone(turned)
	for i := range turned {
		turned[i].Before, turned[i].After = turned[i].After, turned[i].Before
	}
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: before, Changes: turned, Reason: "it is a gain"})
	says(t, "with the goal that it was chosen for again", since(number), []string{"from 0.5 to 0.3 %. Its settings"}, []string{"objective", "algorithm"})
	says(t, "of settings that a person chose", since(own), []string{"Since it was chosen: objective direction from minimize to maximize."}, []string{"algorithm"})
	if said := since(b.ask(0.55)); said != "" {
		t.Errorf("chosen since: %s", said)
	}
	says(t, "with its results", since(1), []string{"from 0.5 to 0.3 %."}, nil)
	b.tell(number, map[string]float64{"yield": 80, "impurity": 0.6, "pressure": 2})
	says(t, "beyond the bounds, with its results", since(number), []string{"from 0.5 to 0.3 %."}, []string{"no more"})
	b.end(ledger.Abandoned, own) // or they are what to do
	b.end(ledger.Abandoned, own+1)
	for number, why := range map[int]string{1: "", number: "Trial 3 cannot be repeated as it was: x 0.9 is above the highest, 0.8."} {
		v := b.facts(0)
		v.Readout.Undecided = &study.Undecided{Recommendation: study.Recommendation{Number: number}, Readings: new(2)}
		if got := v.Of(b.snap.Trial(number)).Page().NotAgain; got != why {
			t.Errorf("trial %d cannot be repeated: %q", number, got)
		}
		if advised := strings.Contains(verdictFacts{v}.nextStep(), "Repeat trial"); advised != (why == "") {
			t.Errorf("to repeat trial %d is advised: %v", number, advised)
		}
	}
}

// TestWhatIsRepeatedBeyondTheBoundsMayBe, as long as the settings chosen for what it repeats may.
func TestWhatIsRepeatedBeyondTheBoundsMayBe(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	used := design.Settings{"x": design.NumberValue(1.2)}
	b.add(ledger.Told, ledger.ToldData{Number: b.ask(0.9), Telling: ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 70}}, Parameters: used}})
	for _, of := range []int{1, 2} {
		b.add(ledger.Chosen, ledger.ChosenData{Number: of + 1, Origin: ledger.Manual, Seen: b.snap.Version, Engine: "1", Parameters: used, ReplicateOf: of})
	}
	since := func() string {
		v := b.facts(0)
		return v.Of(b.snap.Trial(2)).card().Since + v.Of(b.snap.Trial(3)).card().Since
	}
	if said := since(); said != "" {
		t.Errorf("of what was just asked for it is said: %s", said)
	}
	d := b.snap.Definition
	d.Parameters = slices.Clone(d.Parameters)
	d.Parameters[0].High = new(0.8)
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{}, Reason: "the valve"})
	if said := since(); said != strings.Repeat("Its settings may no longer be chosen.", 2) {
		t.Errorf("with narrower bounds it is said: %s", said)
	}
}

// TestAReadingIsInTheUnitItWasToldIn, whatever the unit became since; one that was corrected afterwards
// is in that.
func TestAReadingIsInTheUnitItWasToldIn(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(3, 0, "yield", "impurity", "pressure")
	d := b.snap.Definition
	d.Constraints = slices.Clone(d.Constraints)
	d.Constraints[0].Threshold, d.Constraints[0].Unit = 5000, "ppm"
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{{Path: "constraints[impurity].unit", Before: json.RawMessage(`"%"`), After: json.RawMessage(`"ppm"`)}}, Reason: "finer"})
	b.add(ledger.Corrected, ledger.CorrectedData{Number: 3, Metrics: map[string]ledger.CorrectedValue{"impurity": {Before: &ledger.Reading{Value: 0.5}, After: &ledger.Reading{Value: 5000}}}, Reason: "in ppm"})
	v := b.facts(0)
	says(t, "the ledger", whole(v.entries()), []string{"impurity 0.31 %, pressure", "corrected impurity of trial 3 from 0.5 % to 5000 ppm"}, []string{"0.31 ppm"})
	says(t, "the table of corrections", whole(v.amendsOf(b.events[len(b.events)-1])), []string{"Before:0.5 % After:5000 ppm"}, nil)
	says(t, "a trial", whole(v.Of(b.snap.Trial(2)).metricFacts()), []string{"Value:0.31 % "}, []string{"0.31 ppm"})
	says(t, "one corrected", whole(v.Of(b.snap.Trial(3)).metricFacts()), []string{"Value:5000 ppm "}, nil)
	says(t, "the table", whole(v.Trials().Rows), []string{"Text:0.31 % ", "Text:5000.00 Was:0.50 % "}, []string{"0.31 ppm"})
	says(t, "what was told first", whole(v.Of(b.snap.Trial(3)).card().Told), []string{"Value:5000 ppm Original:0.5 %"}, nil)
	says(t, "the numbers behind the charts", whole(v.ProgressTable().Rows), []string{" 0.31 % 0.5 % ", " 5000.00 5000 "}, nil)
	says(t, "what each is judged by", v.progressPanels().limitWords(0), []string{"limit broken in 0 of 3 trials"}, []string{"of its time"})
	says(t, "the mark of what was told first", whole(v.Progress().Chart), []string{"impurity first told as 0.5 %, corrected since"}, []string{"0.5 ppm"})
	says(t, "the notes", strings.Join(study.Notes(b.snap), " "), []string{"Readings of impurity told in another unit than today’s: 2 of 3; they count"}, nil)
	b.curve(2, 0, "yield", "impurity")
	d.Constraints = slices.Clone(d.Constraints)
	d.Constraints[0].Threshold, d.Constraints[0].Unit = 0.3, "%"
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{{Path: "constraints[impurity].unit", Before: json.RawMessage(`"ppm"`), After: json.RawMessage(`"%"`)}}, Reason: "back"})
	b.add(ledger.Corrected, ledger.CorrectedData{Number: 3, Metrics: map[string]ledger.CorrectedValue{"impurity": {Before: &ledger.Reading{Value: 5000}, After: &ledger.Reading{Value: 0.51}}}, Reason: "in per cent"})
	says(t, "a limit of its time", strings.Join(b.facts(0).Progress().Chart.Notes, " "), []string{"Its limit of 5000 ppm, for trials 4 to 5, lies beyond the range drawn."}, nil)
}

// TestWhatACorrectionReplacedIsInItsOwnUnit: of readings and settings that were told before and after a unit
// was changed, each has its own, and a setting that stays keeps it.
func TestWhatACorrectionReplacedIsInItsOwnUnit(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(twoLimits, `{"name": "x",`, `{"name": "flow", "type": "real", "low": 0, "high": 9, "unit": "mL"}, {"name": "x", "unit": "bar",`, 1))
	settings := func(flow, x float64) design.Settings {
		return design.Settings{"flow": design.NumberValue(flow), "x": design.NumberValue(x)}
	}
	b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Manual, Seen: 1, Engine: "1", Parameters: settings(2, 0.5)})
	b.tell(1, map[string]float64{"yield": 60})
	d := b.snap.Definition
	d.Parameters, d.Constraints = slices.Clone(d.Parameters), slices.Clone(d.Constraints)
	d.Parameters[0].Unit, d.Parameters[1].Unit, d.Constraints[0].Unit, d.Objective.Unit = "L", "psi", "ppm", "mg"
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{{Path: "constraints[impurity].unit", Before: json.RawMessage(`"%"`), After: json.RawMessage(`"ppm"`)}}, Reason: "finer"})
	sheet := must.Get(b.facts(0).Of(b.snap.Trial(1)).Sheet("http://headroom.test"))(t)
	says(t, "what to set, and the blanks for what was used", whole(sheet.Card.Settings)+whole(sheet.Used), []string{"Name:flow Value:2 Unit:mL", "Name:flow Value:2 Unit:L"}, nil)
	b.tell(1, map[string]float64{"impurity": 3000})
	b.add(ledger.Corrected, ledger.CorrectedData{Number: 1, Reason: "typo",
		Metrics:    map[string]ledger.CorrectedValue{"yield": {Before: &ledger.Reading{Value: 60}, After: &ledger.Reading{Value: 61}}, "impurity": {Before: &ledger.Reading{Value: 3000}, After: &ledger.Reading{Value: 4000}}},
		Parameters: &ledger.CorrectedSettings{Before: settings(2, 0.5), After: settings(2, 0.75)}})
	v := b.facts(0)
	says(t, "the ledger", v.entries()[0].Text, []string{"corrected yield of trial 1 from 60 % to 61 mg and corrected impurity of trial 1 from 3000 ppm to 4000 ppm and corrected the settings of trial 1 to flow 2 mL, x 0.75 psi"}, nil)
	says(t, "the table of corrections", whole(v.amendsOf(b.events[len(b.events)-1])), []string{"Before:60 % After:61 mg", "Before:3000 ppm After:4000 ppm", "Before:flow 2 mL, x 0.5 bar After:flow 2 mL, x 0.75 psi"}, nil)
	says(t, "the notes", strings.Join(study.Notes(b.snap), " "), []string{"Settings of flow in another unit than today’s: 1 of 1; they count as the numbers that they are"}, []string{"Settings of x"})
}

// TestAKnownValueIsInTheUnitOfItsFormula: settings that are corrected after the unit and the formula were
// changed have their value by the formula that they were chosen with.
func TestAKnownValueIsInTheUnitOfItsFormula(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(twoLimits, `"constraints": [`, `"constraints": [{"metric": "load", "op": "<=", "threshold": 9, "unit": "kg", "expression": "2*x"}, `, 1))
	at := func(x float64) design.Settings { return design.Settings{"x": design.NumberValue(x)} }
	b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Suggested, Seen: 1, Engine: "1", Parameters: at(0.5), KnownValues: map[string]float64{"load": 1}})
	d := b.snap.Definition
	d.Constraints = slices.Clone(d.Constraints)
	d.Constraints[0].Expression, d.Constraints[0].Threshold, d.Constraints[0].Unit = "2000*x", 9000, "g"
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{{Path: "constraints[load].unit", Before: json.RawMessage(`"kg"`), After: json.RawMessage(`"g"`)}}, Reason: "weighed"})
	b.add(ledger.Corrected, ledger.CorrectedData{Number: 1, Parameters: &ledger.CorrectedSettings{Before: at(0.5), After: at(0.75)}, KnownValues: map[string]float64{"load": 1.5}, Reason: "read"})
	v := b.facts(0)
	says(t, "the trial", whole(v.Of(b.snap.Trial(1)).metricFacts()), []string{"Value:1.5 kg "}, []string{"1.5 g"})
	says(t, "the table", whole(v.Trials().Rows), []string{"Text:1.5 kg "}, nil)
	says(t, "the notes", strings.Join(study.Notes(b.snap), " "), []string{"Values of load in another unit than today’s: 1 of 1"}, nil)
}

// TestASettingIsInTheUnitItWasChosenIn, in the table, too, where the heading has today's; one that was
// corrected afterwards is in that.
func TestASettingIsInTheUnitItWasChosenIn(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(twoLimits, `{"name": "x",`, `{"name": "x", "unit": "bar",`, 1))
	b.curve(2, 0, "yield", "impurity", "pressure")
	first, second := b.snap.Trial(1).Parameters, b.snap.Trial(2).Parameters
	d := b.snap.Definition
	d.Parameters = slices.Clone(d.Parameters)
	d.Parameters[0].Unit = "psi"
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{{Path: "parameters[x].unit", Before: json.RawMessage(`"bar"`), After: json.RawMessage(`"psi"`)}}, Reason: "the gauge"})
	b.add(ledger.Corrected, ledger.CorrectedData{Number: 2, Parameters: &ledger.CorrectedSettings{Before: second, After: design.Settings{"x": design.NumberValue(0.75)}}, Reason: "read"})
	rows := b.facts(0).Trials().Rows
	want := fmt.Sprintf("0.75, chosen %.2f bar; %.2f bar", second["x"].Number, first["x"].Number)
	if got := fmt.Sprintf("%s, chosen %s; %s", rows[0].Settings[0].Text, rows[0].Settings[0].Chosen, rows[1].Settings[0].Text); strings.ReplaceAll(got, words.Thin, " ") != want {
		t.Errorf("the table says %q, not %q", got, want)
	}
	set := fmt.Sprintf("Value:%s Unit:bar Was:", design.FormatNumber(first["x"].Number))
	v := b.facts(1)
	says(t, "its card", whole(v.Of(b.snap.Trial(1)).card()), []string{set, "Copy:x (bar)"}, []string{"x (psi)"})
	says(t, "one corrected", whole(v.Of(b.snap.Trial(2)).card()), []string{fmt.Sprintf("Value:0.75 Unit:psi Was:%s bar", design.FormatNumber(second["x"].Number)), "Copy:x (psi)"}, nil)
	says(t, "the answer", whole(*verdictFacts{v}.answer(*v.Readout.Recommendation)), []string{set, "Copy:x (bar)"}, []string{"psi"})
	number := b.ask(0.25)
	d.Parameters = slices.Clone(d.Parameters)
	d.Parameters[0].Unit = "Pa"
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{{Path: "parameters[x].unit", Before: json.RawMessage(`"psi"`), After: json.RawMessage(`"Pa"`)}}, Reason: "SI"})
	for _, told := range []struct {
		x    float64
		unit string
	}{{0.25, "psi"}, {0.5, "Pa"}} { // the first is what it was chosen at
		b.add(ledger.Told, ledger.ToldData{Number: number, Telling: ledger.Telling{Metrics: map[string]ledger.Reading{}, Parameters: design.Settings{"x": design.NumberValue(told.x)}}})
		says(t, "the ledger", b.facts(0).entries()[0].Text, []string{fmt.Sprintf("with the settings really used: x %g %s", told.x, told.unit)}, nil)
	}
}

// TestAnotherUnitRenamesNoOlderNumber: the best reading is in one unit wherever it stands, and what was
// predicted in that of the sentence that says so.
func TestAnotherUnitRenamesNoOlderNumber(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(3, 0, "yield", "impurity", "pressure")
	b.fit()
	b.add(ledger.Chosen, ledger.ChosenData{Number: 4, Origin: ledger.Suggested, Seen: b.snap.Version, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.5)},
		Decision: &ledger.Decision{Seen: b.snap.Version, Mean: ledger.Numbers{"yield": 75}, SD: ledger.Numbers{"yield": 2}, Model: map[string]ledger.MetricModel{"yield": {Scale: 1}}, ExpectedImprovement: new(3.0), RunnerUp: &ledger.RunnerUp{Parameters: design.Settings{"x": design.NumberValue(0.25)}}}})
	d := b.snap.Definition
	d.Objective.Unit, d.Parameters = "mg", slices.Clone(d.Parameters)
	d.Parameters[0].Unit = "K"
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{{Path: "objective.unit", Before: json.RawMessage(`"%"`), After: json.RawMessage(`"mg"`)}, {Path: "parameters[x].unit", Before: json.RawMessage(`""`), After: json.RawMessage(`"K"`)}}, Reason: "weighed"})
	v := b.facts(0)
	says(t, "the card of what waits", v.Next().Cards[0].Since, []string{"Since it was chosen: unit of x from nothing to K, unit of yield from % to mg."}, nil)
	says(t, "the mark of what waits", whole(v.Progress().Chart), []string{"yield waits, expected 75.0 ± 2.0 % "}, nil)
	says(t, "the best reading", v.progressPanels().bestWords(), []string{"80.6 % at trial 3"}, []string{"mg"})
	says(t, "the list of studies", Line(b.snap.Summary(), b.clock).Best, []string{"80.6 % at trial\u00a03"}, []string{"mg"})
	b.tell(4, map[string]float64{"yield": 70})
	trial := b.facts(0).Of(b.snap.Trial(4))
	says(t, "what was predicted", whole(trial.decisionFacts()), []string{"75.0 ± 2.0 %", "3 points", "x 0.25 "}, []string{"mg", "K"})
	says(t, "what was expected before", whole(trial.metricFacts()), []string{"Value:70 mg ", "Predicted:75.0 ± 2.0 % "}, nil)
}

// TestManyColumnsFold: where numbers and words would not stand side by side, settings share a column
// and readings another; in a report sooner.
func TestManyColumnsFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		columns        int
		value          string
		screen, report bool
	}{{7, "7.25", false, false}, {8, "7.25", false, true}, {14, "7.25", false, true}, {15, "7.25", true, true}, {7, "1.967 × 10⁻⁶ ± 0.2", true, true}, {4, "two words", false, false}} {
		table := templates.Trials{Rows: []templates.TrialRow{{}}}
		for range c.columns {
			table.Settings = append(table.Settings, templates.Column{Name: "salt", Number: c.value != "two words"})
			table.Rows[0].Settings = append(table.Rows[0].Settings, templates.Cell{Text: c.value})
		}
		if letters := lettersAbreast(table); letters > lettersOnScreen != c.screen || letters > lettersOnPaper != c.report {
			t.Errorf("%d columns of %s need %d letters", c.columns, c.value, letters)
		}
	}
}

// TestAScoreSaysWhetherItWasMaximised: where a random draw chose, the score beside it was not.
func TestAScoreSaysWhetherItWasMaximised(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{policy.Improve: "the logarithm of what was maximised", policy.Apart: "here a random draw was"} {
		if said := scoreMeaning(&ledger.Decision{Algorithm: "log-cei", Reason: reason}); !strings.HasSuffix(said, want) {
			t.Errorf("of a score of %s it says %q", reason, said)
		}
	}
}
