package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/warp"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// TestTheReportIsThePageOnPaper: its charts are the page's, with what they say and what their lines
// are, and a limit that the page only names is drawn; nothing in it can be pressed or leads to the
// server.
func TestTheReportIsThePageOnPaper(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(12, 0, "yield", "impurity", "pressure")
	b.limit(0, 0.45)
	b.end(ledger.Excluded, 3)
	b.fit()
	v := b.facts(8)
	along := study.Slice{Parameter: "x", Metrics: map[string]study.Band{}}
	for i := range 5 {
		along.At = append(along.At, design.NumberValue(float64(i)/4))
	}
	for _, metric := range []string{"yield", "impurity", "pressure"} {
		along.Metrics[metric] = study.Band{Mean: []float64{1, 2, 3, 2, 1}, SD: []float64{1, 1, 1, 1, 1}, Lower95: []float64{0, 1, 2, 1, 0}, Upper95: []float64{2, 3, 4, 3, 2}}
	}
	along.Feasible, along.Open = []float64{1, 1, 0.5, 0.2, 0}, []bool{true, true, true, true, true}
	v.Slices = []study.Slice{along}
	page := v.Progress().Chart
	v.Paper, v.Whole, v.Head.Operates, v.Gained, v.Entries = true, true, false, true, b.events
	v.Latest, v.Board.Last = b.snap, b.events[len(b.events)-1]
	for _, together := range Amended(b.snap) {
		v.Board.Amended = append(v.Board.Amended, Amendment{together, b.events[together[0].Seq-1]})
	}
	v.Board.Unseen = 1
	report := v.Report()
	if want := "1 earlier one is not shown; the export has all of them."; report.Amends.More != want {
		t.Errorf("of other corrections it says %q, want %q", report.Amends.More, want)
	}
	shown := report.Progress.Chart
	if want := "Yield (%); Impurity (%) and its limit; Impurity: cumulative violation (points); Pressure (bar) and its limit"; titlesOf(shown.Drawing) != want {
		t.Errorf("the panels are %q", titlesOf(shown.Drawing))
	}
	for _, note := range page.Notes {
		if !strings.Contains(note, "not drawn") && !slices.Contains(shown.Notes, note) {
			t.Errorf("the report does not say %q", note)
		}
	}
	var drawn strings.Builder
	must.Do(t, templates.ReportView(report).Render(t.Context(), &drawn))
	says(t, "the report", drawn.String(), []string{"· 0.5 % before trial 13", "Recommended: the settings of trial 8", "Chance to stay within every limit, as the model sees it: ", "<s class=\"was\">counted</s>", "<b>taken out</b>", "pump", `data-name="change of a limit"`, `data-name="exclusion"`, `data-name="model refitted"`,
		"Slices through the recommended point, trial 8", ">Yield</span> (%)<", ">best within today’s limits so far<", ">violation so far (hard)<", ">with margin paying back (soft)<", ">limit<", ">model’s 95 % band<", ">expected<", "by the limits as they are now"},
		[]string{"<button", "<form", "<a ", "hx-get", "of 12 trials: the newest", "far from it, so not drawn"})
}

func TestAStudyInTheList(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	earlier := now.Add(-2 * time.Hour)
	one := ledger.Summary{Name: "Oven", Trials: 1, Waiting: 2, OldestWaiting: &earlier, Feasible: 0, Known: 3, Algorithm: "log-cei", UpdatedAt: now,
		Best: &ledger.BestTrial{Number: 4, Metric: "yield", Value: 71.25, Unit: "%"}, Limits: []ledger.Limit{{Metric: "impurity", Op: "<=", Threshold: 0.5, Unit: "%"}, {Metric: "purity", Op: ">=", Threshold: 12000}}}
	line := Line(one, now)
	says(t, "the line", whole(line), []string{"1 trial ", "2 waiting", "2 h ago", "best reading of yield 71.25 % at trial\u00a04", "0 of 3 within every limit", "violated", "impurity ≤ 0.5 %", "purity ≥ 12 000", "just now"}, nil)
	if line.Algorithm == "" || line.Algorithm == "log-cei" {
		t.Errorf("the algorithm is called %q", line.Algorithm)
	}
}

// TestWordsOfVerification: what holds, what differs and what could not be replayed are three answers.
// Whoever reads it may do so by another program than the one that verified: during an upgrade some
// servers are older.
func TestWordsOfVerification(t *testing.T) {
	t.Parallel()
	snap := &ledger.Snapshot{ID: "k3v9x2m7qd4t", Version: 30, Hash: "9f86"}
	stored, replayed := 71.2, 71.20000081
	for name, c := range map[string]struct {
		outcome    study.Verification
		ok, partly bool
		text       string
		different  []string
	}{
		"holds": {outcome: study.Verification{OK: true, LedgerIntact: true, Checked: 12, Rules: study.RulesPresent}, ok: true, text: "up to ledger entry 30: 12 decisions replayed."},
		"gone": {outcome: study.Verification{OK: true, LedgerIntact: true, Checked: 1, Unchecked: 12, Rules: study.RulesGone, GoneEngines: []string{"1", "4"}}, ok: true, partly: true,
			text: "1 decision replayed. 12 decisions were made by rules of engines 1 and 4, which the program that verified it does not have, and could not be replayed."},
		"differs": {outcome: study.Verification{LedgerIntact: true, Checked: 12, Rules: study.RulesPresent, Different: []study.Difference{
			{Number: 3, Field: "mean.yield", Stored: 61.5, Replayed: 62.0}, {Number: 4, Field: "acquisition", Stored: &stored, Replayed: &replayed}, {Number: 5, Field: "acquisition", Stored: (*float64)(nil), Replayed: &stored},
			{Number: 6, Field: "model.yield.lengthscales", Stored: []float64{0.5, 2}, Replayed: []float64{0.25, 2}},
			{Number: 7, Field: "parameters", Stored: design.Settings{"temperature": design.NumberValue(33), "catalyst": design.TextValue("B")}}}},
			text: "12 decisions replayed.", different: []string{
				"Trial 3, mean.yield: the ledger has 61.5, the replay gives 62.", "Trial 4, acquisition: the ledger has 71.2, the replay gives 71.20000081.", "Trial 5, acquisition: the ledger has nothing, the replay gives 71.2.",
				"Trial 6, model.yield.lengthscales: the ledger has 0.5, 2, the replay gives 0.25, 2.", "Trial 7, parameters: the ledger has catalyst B, temperature 33, the replay gives nothing."}},
		"tampered with": {outcome: study.Verification{Checked: 2, Rules: study.RulesPresent, Different: []study.Difference{{Field: "ledger", Replayed: "event 4: its hash is 9f86, but its content gives 86d0"}}},
			text: "2 decisions replayed.", different: []string{"The ledger’s hashes do not follow from each other: an entry was changed, or one is missing.", "Event 4: its hash is 9f86, but its content gives 86d0."}},
	} {
		text, err := json.Marshal(c.outcome) // as the database keeps it
		if err != nil {
			t.Fatal(err)
		}
		var kept study.Verification
		must.Do(t, json.Unmarshal(text, &kept))
		now := time.Now()
		v := Facts{Asked: Asked{Now: now}, Snap: snap, Latest: snap, Board: BoardFacts{Verification: Verification{Last: &study.Verified{Verification: kept, Version: snap.Version, Hash: snap.Hash, At: now}}}}
		shown := v.Verified()
		if shown.OK != c.ok || shown.Partly != c.partly || !strings.Contains(shown.Text, c.text) || !slices.Equal(shown.Different, c.different) {
			t.Errorf("%s: %+v", name, shown)
		}
		var line strings.Builder
		must.Do(t, templates.VerifiedLine(shown).Render(t.Context(), &line))
		says(t, name, line.String(), []string{map[string]string{"holds": "<b>verified <", "gone": "<b>verified in part <", "differs": "<b>does not verify ✗ <", "tampered with": "<b>does not verify ✗ <"}[name]}, nil)
	}
}

// TestWhatAVerificationFailedOf: nobody is told to press again where that cannot help.
func TestWhatAVerificationFailedOf(t *testing.T) {
	t.Parallel()
	for wrong, again := range map[error]bool{study.ErrConflict: false, study.ErrUnavailable: true} {
		v := Facts{Latest: &ledger.Snapshot{}}
		v.Board.Verification.Failed = fmt.Errorf("it stopped: %w", wrong)
		if shown := v.Verified(); !strings.Contains(shown.Trouble, "it stopped") || strings.Contains(shown.Trouble, "Press again") != again {
			t.Errorf("after %v: %s", wrong, shown.Trouble)
		}
	}
}

func TestDescriptionsReachNoOtherHost(t *testing.T) {
	t.Parallel()
	got := Markdown("![logo **x**](https://evil.example/a.png) <script>alert(1)</script> [link](javascript:alert(1))")
	for _, bad := range []string{"<img", "<script", "javascript:", "evil.example"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q holds %q", got, bad)
		}
	}
}

// TestTheTableAndTheSentenceExpectTheSame: what a decision's sentence predicts stands beside the
// reading too, also where so few readings were fitted that none is doubted by them; what it was blind
// to stands in neither.
func TestTheTableAndTheSentenceExpectTheSame(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(3, 0, "yield")
	b.fit()
	decision := &ledger.Decision{Because: "Trial 4 tries x 0.5: predicted yield 72 ± 2 %.", Seen: b.snap.Version, Mean: ledger.Numbers{"yield": 72, "impurity": 0}, SD: ledger.Numbers{"yield": 1.2, "impurity": 1},
		Model: map[string]ledger.MetricModel{"yield": {Scale: 4, Lambda: 0.16}, "impurity": {Scale: 1, Lambda: 0.1}}}
	b.add(ledger.Chosen, ledger.ChosenData{Number: 4, Origin: ledger.Suggested, Seen: b.snap.Version, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.5)}, Decision: decision})
	b.tell(4, map[string]float64{"yield": 73, "impurity": 0.2})
	facts := b.facts(0).Of(b.snap.Trial(4)).metricFacts()
	if facts[0].Predicted != "72.0\u202f±\u202f2.0\u202f%" || facts[1].Predicted != "" {
		t.Errorf("beside the readings stands %q and %q", facts[0].Predicted, facts[1].Predicted)
	}
	if why := b.facts(0).Of(b.snap.Trial(4)).card().Why; !strings.HasSuffix(why, "yield 72\u202f±\u202f2\u202f%.") {
		t.Errorf("a line may end within a value of %q", why)
	}
}

// TestACorrectionSaysAllThatItChanges: also a standard deviation alone, and what cannot be told
// before the model is fitted again.
func TestACorrectionSaysAllThatItChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	old, better := 0.5, 0.25
	b.add(ledger.Told, ledger.ToldData{Number: b.ask(0.5), Telling: ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 70, StdDev: &old}}}})
	b.add(ledger.Corrected, ledger.CorrectedData{Number: 1, Metrics: map[string]ledger.CorrectedValue{"yield": {Before: &ledger.Reading{Value: 70, StdDev: &old}, After: &ledger.Reading{Value: 70, StdDev: &better}}}, Reason: "all three weighed"})
	text, _ := eventWords(b.snap, b.events[len(b.events)-1])
	says(t, "the ledger", text, []string{"corrected yield of trial 1 from 70 ± 0.5 % to 70 ± 0.25 %"}, nil)
	if fact := b.facts(0).Of(b.snap.Trial(1)).metricFacts()[0]; fact.By != "Ana" || fact.CorrectedBy != "Ana" || fact.Original != "" {
		t.Errorf("the reading is %+v", fact)
	}
	data := ledger.CorrectedData{Number: 1, Metrics: map[string]ledger.CorrectedValue{"yield": {Before: &ledger.Reading{Value: 1234.5678}, After: &ledger.Reading{Value: 1234.5687}}}}
	if amend := correctionLines(b.snap.Definition.Unit, b.snap.Definition, data, templates.Amend{})[0]; amend.Before != "1234.5678\u202f%" || amend.After != "1234.5687\u202f%" {
		t.Errorf("of a small correction the table says %+v", amend)
	}
	says(t, "a small correction", correctedWords(b.snap.Definition.Unit, b.snap.Definition, data), []string{"from 1234.5678 % to 1234.5687 %"}, nil)
	impact := study.Impact{After: b.snap.Definition, Trial: b.snap.Trial(1)}
	says(t, "the preview", CorrectionConsequences(b.snap, impact).Summary, []string{"How the limits stand, what is recommended and what is suggested next would not change."}, nil)
	over := *b.snap
	over.State = ledger.Finished
	says(t, "the preview of a study that is over", CorrectionConsequences(&over, impact).Summary, []string{"How the limits stand and what is recommended would not change."}, []string{"suggested"})
	impact.DecisionsAfter = 1
	says(t, "of one decision", CorrectionConsequences(b.snap, impact).Summary, []string{"1 decision was made from the old value; it keeps what it recorded."}, nil)
	says(t, "the preview of another unit", ChangeConsequences(b.snap, study.Impact{}).Summary, []string{"suggested next would not change."}, []string{"look different"})
	after := b.snap.Definition
	after.Parameters, after.Constraints = slices.Clone(after.Parameters), slices.Clone(after.Constraints)
	after.Parameters[0].Unit, after.Constraints[0].Unit = "K", "g"
	kelvin := ChangeConsequences(b.snap, study.Impact{After: after, Turned: []study.TurnedTrial{{Number: 1, Before: new(false)}}, NextBefore: &design.Settings{"x": design.NumberValue(0.5)}, NextAfter: &design.Settings{"x": design.NumberValue(300)},
		Violation: map[string][2]study.ViolationOut{"impurity": {{Tally: optimizer.Tally{Hard: 2}}, {Tally: optimizer.Tally{Hard: 3}}}}, Changes: []design.Change{{Path: "parameters[x].high", Before: []byte("1"), After: []byte("333")}}})
	says(t, "the preview of other units", strings.ReplaceAll(fmt.Sprint(kelvin.Summary, kelvin.Changes), words.Thin, " "),
		[]string{"Highest x from 1 to 333 K. For trial 1 it would not be known whether a limit is broken.", "{Violation of impurity 2 points 3 g}", "{Next suggestion x 0.5 x 300 K}"}, []string{"Every trial would stand"})
	impact.Withheld = "the model would take too much memory"
	says(t, "the preview", CorrectionConsequences(b.snap, impact).Summary, []string{"Nothing can be said of the rest: the model would take too much memory"}, []string{"would not change"})
}

// TestAnotherFormulaSaysWhatItsSettingsWouldBreak, which is not which trials do: they keep their
// values.
func TestAnotherFormulaSaysWhatItsSettingsWouldBreak(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(3, 0, "yield", "impurity")
	const none, keep = "No trial would change sides", "Trials keep the values that they were chosen with."
	impact := study.Impact{After: b.snap.Definition, ByFormula: []study.TurnedTrial{{Number: 1, After: new(false)}, {Number: 2, After: new(false)}, {Number: 3, After: new(true)}, {Number: 4}}}
	says(t, "of all kinds", ChangeConsequences(b.snap, impact).Summary, []string{"The settings of trials 1 and 2 would break a limit by its new formula. The settings of trial 3 would break no limit by its new formula. " +
		"Whether the settings of trial 4 would break a limit by its new formula is not known. " + keep}, []string{none})
	impact.ByFormula = nil
	says(t, "of none", ChangeConsequences(b.snap, impact).Summary, []string{none}, []string{"formula", keep})
}

// TestChangesAreWrittenForPeople: lists and what has run out, without the marks of JSON, and numbers
// to their last digit as all of the page are.
func TestChangesAreWrittenForPeople(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{`null`: "nothing", ``: "nothing", `[]`: "nothing", `{"ligand":["L2","L3"]}`: "ligand: L2, L3",
		`["temperature + 2*cycles <= 70"]`: "temperature + 2*cycles <= 70", `[0,100]`: "0, 100", `1e-09`: "1 × 10⁻⁹", `-0.00001234567890123`: "−1.234567890123 × 10⁻⁵", `-12500`: "−12 500", `0.1234567890123`: "0.1234567890123", `"log"`: "log", `true`: "true"} {
		if got := strings.ReplaceAll(plainJSON([]byte(raw)), words.Thin, " "); got != want {
			t.Errorf("%s is written %q, want %q", raw, got, want)
		}
	}
}

// TestWhatHasRunOutIsSaid: what is unavailable from now on, and what is there again, each value once
// and nothing of those for which nothing changed.
func TestWhatHasRunOutIsSaid(t *testing.T) {
	t.Parallel()
	limit := design.Change{Path: "constraints[impurity].threshold", Before: []byte("0.5"), After: []byte("0.45")}
	for _, c := range []struct{ path, before, after, want string }{
		{"unavailable", `null`, `{"solvent":["DMF"]}`, "said that solvent DMF is unavailable"},
		{"unavailable", `{"solvent":["DMF"]}`, `null`, "said that solvent DMF is available again"},
		{"unavailable.solvent", `["DMF"]`, `["toluene"]`, "said that solvent toluene is unavailable and solvent DMF is available again"},
		{"unavailable", `{"solvent":["DMF","water"]}`, `{"base":[1,2.5],"solvent":["THF","water"]}`, "said that base 1 and 2.5 are unavailable, solvent THF is unavailable and solvent DMF is available again"},
	} {
		stock := design.Change{Path: c.path, Before: []byte(c.before), After: []byte(c.after)}
		data := must.Get(json.Marshal(ledger.ReconfiguredData{Definition: newBench(t, twoLimits).snap.Definition, Changes: []design.Change{stock}}))(t)
		if got, _ := eventWords(&ledger.Snapshot{}, ledger.Event{Kind: ledger.Reconfigured, Data: data}); got != c.want {
			t.Errorf("from %s to %s is told as %q", c.before, c.after, got)
		}
		both := changesWords(newBench(t, twoLimits).snap.Definition, []design.Change{limit, stock}, "changed ", "said that ")
		if want := "changed limit of impurity from 0.5 to 0.45" + words.Thin + "%, and " + c.want; both != want {
			t.Errorf("beside a limit that is %q", both)
		}
	}
}

// TestAnotherUnitSaysInWhichNumbersWereTold: they are not converted, and stand with the new one from then on.
func TestAnotherUnitSaysInWhichNumbersWereTold(t *testing.T) {
	t.Parallel()
	d := newBench(t, twoLimits).snap.Definition
	change := func(path, before, after string) string {
		return changesWords(d, []design.Change{{Path: path, Before: json.RawMessage(before), After: json.RawMessage(after)}}, "changed ", "")
	}
	weighed := func(before, after string) string {
		inGrams := design.Definition{Parameters: []design.Parameter{{Name: "x", Unit: "g"}}}
		said, _, _ := strings.Cut(changesWords(inGrams, []design.Change{{Path: "parameters[x].step", Before: json.RawMessage(before), After: json.RawMessage(after)}, {Path: "parameters[x].unit", Before: json.RawMessage(`"mg"`), After: json.RawMessage(`"g"`)}}, "", ""), " (")
		return said
	}
	for said, want := range map[string]string{
		change("constraints[impurity].unit", `"g/l"`, `"mg/l"`): "changed unit of impurity from g/l to mg/l (numbers told before are in g/l, and are not converted)",
		change("objective.unit", "null", `"g"`):                 "changed objective unit from nothing to g (numbers told before have no unit, and are not converted)",
		change("parameters[x].low", "0", "1"):                   "changed lowest x from 0 to 1",
		weighed("0.5", "null"):                                  "step of x from 0.5_mg to nothing, unit of x from mg to g",
		weighed("null", "0.5"):                                  "step of x from nothing to 0.5_g, unit of x from mg to g",
		change("stop.risk", "0.05", "0.2"):                      "changed stop risk from 5 to 20_%",
		change("objective.plausible", "null", "[0,100]"):        "changed what is plausible of the objective from nothing to 0 – 100",
		change("constraints[impurity].op", `"<="`, `">="`):      "changed sign of impurity from ≤ to ≥",
		change("input_constraints", "null", `["x <= 1"]`):       "changed rules for the settings from nothing to x <= 1",
		changesWords(d, []design.Change{{Path: "constraints[impurity].threshold", Before: json.RawMessage("0.5"), After: json.RawMessage("5000")}, {Path: "constraints[impurity].unit", Before: json.RawMessage(`"g"`), After: json.RawMessage(`"%"`)}}, "", ""): "limit of impurity from 0.5_g to 5000_%, unit of impurity from g to % (numbers told before are in g, and are not converted)",
		change("algorithm.name", `"log-cei"`, `"random"`):       "changed algorithm from log-cei to random",
		change("algorithm.settings.noise.unit", "2", "3"):       "changed noise unit from 2 to 3",
		change("algorithm.settings.margin.co.op", "0.1", "0.2"): "changed margin co op from 0.1 to 0.2",
	} {
		if got := strings.ReplaceAll(said, words.Thin, "_"); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestWhatWasChangedIsNamed as people name it, of a recorded metric too.
func TestWhatWasChangedIsNamed(t *testing.T) {
	t.Parallel()
	d := design.Definition{RecordedMetrics: []design.RecordedMetric{{Metric: "pH"}, {Metric: "colour"}}}
	for path, want := range map[string]string{"recorded_metrics[1].plausible": "what is plausible of colour", "recorded_metrics[0].unit": "unit of pH", "constraints[impurity].op": "sign of impurity",
		"parameters[rest].of": "what shares the total of rest", "parameters[rest].total": "total of rest", "objective.unit": "objective unit", "parameters[a[1].low].high": "highest a[1].low"} {
		if name, _ := changeName(d, design.Change{Path: path}); name != want {
			t.Errorf("%s is named %q, want %q", path, name, want)
		}
	}
}

// TestTheModelOfADecisionIsToldWhole: with what bends readings and widens bands, or that nothing
// does.
func TestTheModelOfADecisionIsToldWhole(t *testing.T) {
	t.Parallel()
	d := newBench(t, twoLimits).snap.Definition
	plain := ledger.MetricModel{Kernel: "matern52", Variance: 1, Lambda: 0.1, Scale: 1}
	bent := plain
	bent.Warp, bent.Inflation, bent.Freedom = warp.Warp{Power: 0.85, Centre: -0.055, Scale: 0.99}, 1.458, 5
	if said := warpWords(warp.Warp{Power: 0, Scale: 2, Origin: -1, Unit: 0.5}); said != "power 0, centre 0, scale 2, origin −1, unit 0.5" {
		t.Error(said)
	}
	table := modelTable(d, &ledger.Decision{Model: map[string]ledger.MetricModel{"yield": plain, "impurity": bent}})
	for i, want := range [][]string{{"none", "1", "normal"}, {"power 0.85, centre −0.055, scale 0.99", "1.46", "Student-t with 5"}} {
		if row := table.Rows[i]; !slices.Equal(row[len(row)-3:], want) || len(row) != len(table.Head) {
			t.Errorf("the model is told as %q", row)
		}
	}
}

// TestOneTrialThatFailedIsOne: the chance that a trial works is told with how many taught it.
func TestOneTrialThatFailedIsOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Suggested, Seen: 1, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.5)}, Decision: &ledger.Decision{Works: &ledger.Works{Chance: 0.5, Failed: 1, Of: 1}}})
	says(t, "the decision", whole(b.facts(0).Of(b.snap.Trial(1)).decisionFacts()), []string{"1 of 1 trial before it had failed because of the settings"}, nil)
}

// TestTheReportSaysWhatParametersAre: all of it, to every digit.
func TestTheReportSaysWhatParametersAre(t *testing.T) {
	t.Parallel()
	d := design.Definition{Parameters: []design.Parameter{{Name: "salt", Type: design.Real, Low: new(0.001), High: new(1013.2512345), Scale: "log", Step: new(0.001)}, {Name: "base", Type: design.Categorical, Choices: []string{"A", "B"}}}}
	says(t, "the table", whole(parameterTable(d).Rows), []string{"0.001 1013.2512345  logarithmic, in steps of 0.001", "A, B"}, nil)
}
