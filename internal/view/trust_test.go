package view

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
)

// TestThatToldDeviationsCountOtherwiseIsSaid: beside how well bands were predicted, where it shows.
func TestThatToldDeviationsCountOtherwiseIsSaid(t *testing.T) {
	t.Parallel()
	for scale, want := range map[float64]string{0: "", 1: "", 0.998: "", 1.62: "1.6 times as told, since readings scatter more", 0.4: "0.4 times as told, since readings scatter less"} {
		if got := strings.Join(toldScaleWords("yield", scale), ""); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%g is said as %q", scale, got)
		}
	}
}

// TestImportedRowsWereNotPredicted: who brings hundreds is told why nothing is said of them.
func TestImportedRowsWereNotPredicted(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	said := func() string { return strings.Join(b.facts(0).trust().Calibrations, " ") }
	says(t, "without any", said(), []string{"before 5 readings have been predicted."}, []string{"mported"})
	b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Imported, Seen: b.snap.Version, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.5)}})
	says(t, "with one", said(), []string{"before 5 readings have been predicted. Rows imported before there was a model were not."}, nil)
}

// TestEachMetricHasAMarkOfItsOwn: of more than there are marks those are drawn that drift, or come nearest
// to it.
func TestEachMetricHasAMarkOfItsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.ask(0.5)
	var list []metricDrift
	for i, sum := range []float64{1, 4, 0, 3, 0, 2} {
		list = append(list, metricDrift{study.Drift{Numbers: []int{1}, Residuals: []float64{1}, Up: []float64{sum}, Down: []float64{0}, Since: i / 4}, fmt.Sprintf("metric %d", i)})
	}
	drift := b.facts(0).driftChart(list)
	names := lists.Map(drift.Drawing.Panels[0].Traces, func(trace chart.Trace) string { return trace.Name + string(trace.Style) })
	if strings.Join(names, ", ") != "metric 4metric0, metric 5metric1, metric 1metric2, metric 3metric3" || len(drift.Table.Rows) != len(list) {
		t.Errorf("drawn are %q, of %d numbers", names, len(drift.Table.Rows))
	}
	says(t, "the caption", drift.Caption, []string{"Of 6 metrics, the 4 are drawn whose sums went farthest"}, nil)
}

func TestDriftIsSeenWhereReadingsStayOnOneSide(t *testing.T) {
	t.Parallel()
	steady, shifted := []optimizer.Innovation{}, []optimizer.Innovation{}
	for i := range 40 {
		z := []float64{0.8, -0.9, 0.3, -0.4, 1.1, -0.9}[i%6]
		steady = append(steady, optimizer.Innovation{Round: i + 1, Z: z})
		if i >= 20 {
			z -= 1.5
		}
		shifted = append(shifted, optimizer.Innovation{Round: i + 1, Z: z})
	}
	steady[7].Z = 60 // one wrong reading
	if d := (metricDrift{study.DriftOf(optimizer.Calibration{Innovations: steady}), "yield"}); d.Since != 0 || !strings.Contains(d.text(), "no sign of it in 40 readings") {
		t.Errorf("steady readings: %s", d.text())
	}
	d := metricDrift{study.DriftOf(optimizer.Calibration{Innovations: shifted}), "yield"}
	if d.Since < 19 || d.Since > 22 || !strings.Contains(d.text(), "lower than predicted") {
		t.Errorf("readings lower by 1.5 from trial 21 on: %s", d.text())
	}
}

// TestAShiftIsSaid: where all readings together tell of a shift, it is said whatever the residuals do, and
// how much likelier it makes them; where they do not, it is not.
func TestAShiftIsSaid(t *testing.T) {
	t.Parallel()
	shift := optimizer.LevelShift{Since: 21, Rising: true, Factor: 5059.4, Limit: 100}
	for factor, want := range map[float64]string{
		5059.4: "Yield has come to lie higher than the settings explain since about trial 21: its readings are 5100 times likelier with a shift there than without; if one process in a hundred has a shift, it takes 100 times for one to be more likely than none.",
		3e276:  "readings are over 1\u202f000\u202f000 times likelier",
		99:     "Yield: no sign of it in 0 readings.",
	} {
		shift.Factor = factor
		d := metricDrift{study.DriftOf(optimizer.Calibration{Shift: &shift}), "yield"}
		if line, look := trustSummary([]metricDrift{d}, false); !strings.Contains(d.text(), want) || look != (factor > 100) {
			t.Errorf("got  %s (%s, %v)\nwant %s", d.text(), line, look, want)
		}
	}
}

// TestWordsOfDriftFollowItsChart: of a sum that is drawn far beyond its limit it is never said that
// there was no sign of it.
func TestWordsOfDriftFollowItsChart(t *testing.T) {
	t.Parallel()
	var residuals []optimizer.Innovation
	for i := range 60 {
		z := []float64{0.3, -0.3}[i%2]
		if i >= 10 && i < 20 { // grows to 9.5, then falls by 1/2 ± 0.3
			z = 1.45
		}
		residuals = append(residuals, optimizer.Innovation{Round: i + 1, Z: z})
	}
	d := metricDrift{study.DriftOf(optimizer.Calibration{Innovations: residuals}), "yield"}
	if want := "Yield: no sign of it any more. From trial 11 to 29 it came out higher than predicted, again and again, until the model had caught up."; d.text() != want {
		t.Errorf("%s\nwant %s\n%v", d.text(), want, d.Up)
	}
	if points, _, _ := d.traces(0); points.Text[0] != "yield 0.30 standard deviations" || points.Text[1] != "yield −0.30 standard deviations" {
		t.Errorf("the points say %q", points.Text[:2])
	}
	says(t, "the caption", newBench(t, twoLimits).facts(0).driftChart([]metricDrift{d}).Caption,
		[]string{"may have drifted: one that does not change and is predicted well gets there by chance about once in 850 readings."}, []string{"probably"})
	if line, look := trustSummary([]metricDrift{d}, false); !strings.HasSuffix(line, "; no sign of drift any more.") || look {
		t.Errorf("%s, %v", line, look)
	}
	for i := range 20 {
		residuals = append(residuals, optimizer.Innovation{Round: 61 + i, Z: -1})
	}
	for i := range 40 {
		residuals = append(residuals, optimizer.Innovation{Round: 81 + i, Z: 0.2})
	}
	if d := (metricDrift{study.DriftOf(optimizer.Calibration{Innovations: residuals}), "yield"}); !strings.Contains(d.text(), "lower than predicted") || !strings.HasSuffix(d.text(), "caught up; once before that.") {
		t.Errorf("%s", d.text())
	}
}

// known is a lab in which yield is 10x, of which 5 can be had up to trial 2 and 8 later, and nothing
// below x = 0.
type known struct{ design.SimulatedLab }

func (known) Name() string    { return "known" }
func (known) Summary() string { return "a line" }
func (known) Study() design.Definition {
	low, high := 0.0, 1.0
	return design.Definition{Parameters: []design.Parameter{{Name: "x", Type: design.Real, Low: &low, High: &high}},
		Objective:   design.Objective{Metric: "yield", Direction: "maximize"},
		Constraints: []design.Constraint{{Metric: "energy", Op: "<=", Threshold: 4, Unit: "kWh"}}}
}
func (known) Read(int, design.Settings, *rand.Rand) map[string]design.SimulatedReading { return nil }
func (known) StdDev() map[string]float64                                               { return nil }
func (known) Truth(_ int, at design.Settings) map[string]float64 {
	if x := at["x"].Number; x >= 0 {
		return map[string]float64{"yield": 10 * x}
	}
	return map[string]float64{"yield": math.NaN()}
}
func (known) Best(number int) design.Settings {
	if number <= 2 {
		return design.Settings{"x": design.NumberValue(0.5)}
	}
	return design.Settings{"x": design.NumberValue(0.8)}
}

const ofKnown = `{"name": "Truth", "simulated_lab": "known", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}],
	"objective": {"metric": "yield", "direction": "maximize", "unit": "%"}, "constraints": [{"metric": "energy", "op": "<=", "threshold": 4, "unit": "kWh"}],
	"algorithm": {"name": "ckb-ucb", "horizon": 13}, "seed": 7}`

func init() {
	design.ProvideSimulatedLabs(func() []design.SimulatedLab { return []design.SimulatedLab{known{}} })
}

// TestTruthStandsBesideReadings: where the lab knows it, the best of each trial and R(t)/t are said
// and drawn, and no more once the limit is another than the problem's, something has run out, or somebody measures;
// what is true along a parameter is drawn all the same.
func TestTruthStandsBesideReadings(t *testing.T) {
	t.Parallel()
	b := newBench(t, ofKnown)
	for _, x := range []float64{0.3, 0.4, 0.2} { // behind by 2, 1 and 6
		b.tell(b.ask(x), map[string]float64{"yield": 10 * x, "energy": 3})
	}
	v := b.facts(0)
	p := v.progressPanels()
	panel, said, _ := p.bestPanel()
	says(t, "the objective", said, []string{"In truth 8 % can be had within the limits; on average the trials so far are 3 points behind what could be had with each (R(t)/t)."}, nil)
	says(t, "its panel", whole(panel), []string{"[5 5 8 8]", "[3 3.5 3 3]"}, nil)
	says(t, "the table", whole(p.table(nil)), []string{"Best in truth", "R(t)/t"}, nil)
	b.ask(-1)
	_, said, _ = b.facts(0).progressPanels().bestPanel()
	says(t, "with one at which there is no truth", said, []string{"the trials so far are 3 points behind what could be had with each (R(t)/t)."}, nil)
	at := []design.Value{design.NumberValue(-1), design.NumberValue(0), design.NumberValue(0.25)}
	slice := func(v Facts) string {
		line := Outlook{Facts: v, Point: design.Settings{"x": design.NumberValue(0)}}.trueAlong("yield", "x", at)
		return whole(line.Y)
	}
	if got := slice(v); got != "[0 2.5]" {
		t.Errorf("the truth along x is %s", got)
	}
	was := b.snap.Definition.Constraints[0].Threshold
	b.limit(0, 5)
	v = b.facts(0)
	_, said, _ = v.progressPanels().bestPanel()
	says(t, "the objective of another limit", said, nil, []string{"In truth"})
	if got := slice(v); got != "[0 2.5]" {
		t.Errorf("under another limit the truth along x is %s", got)
	}
	b.limit(0, was)
	_, said, _ = b.facts(0).progressPanels().bestPanel()
	says(t, "with the limit put back before the next trial", said, []string{"In truth"}, nil)
	d := known{}.Study()
	for _, gone := range [][]design.Value{{}, {design.NumberValue(0.8)}} {
		if d.Unavailable = map[string][]design.Value{"x": gone}; d.IsProblemOf(known{}) != (len(gone) == 0) {
			t.Errorf("without x of %v what the lab knows to be the best is taken for what can be had: %t", gone, d.IsProblemOf(known{}))
		}
	}
	real := newBench(t, twoLimits)
	real.curve(3, 0, "yield", "impurity", "pressure")
	if got := slice(real.facts(0)); got != "[]" {
		t.Errorf("of a real laboratory the truth is known: %s", got)
	}
}

// TestAverageAgainstItsLimit: a limit that has a price says where its average stands and what is
// left to spend; one that has none does not.
func TestAverageAgainstItsLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t, ofKnown)
	for _, energy := range []float64{6, 1, 2} {
		b.tell(b.ask(0.5), map[string]float64{"yield": 5, "energy": energy})
	}
	v := b.facts(0)
	_, said, _ := v.progressPanels().limitPanel(0)
	says(t, "a limit without a price", said, nil, []string{"On average"})
	v.Readout.Multipliers = map[string]float64{"energy": 1}
	panel, said, _ := v.progressPanels().limitPanel(0)
	says(t, "a limit with room", said, []string{"On average energy is 3 kWh per trial against its limit of 4 kWh (V(t)/t is −1 kWh)", "3 kWh in sum is left to spend, so that the 10 readings still to come may average 4.3 kWh or less."}, nil)
	says(t, "its panel", whole(panel), []string{"[6 3.5 3 3]"}, nil)
	says(t, "the violation", v.progressPanels().violationCaption(b.snap.Definition.Constraints[0], study.ViolationOut{Tally: optimizer.Tally{Hard: 6, Rounds: 1, Largest: 6}}), []string{"1 of 3 readings went beyond the limit of 4 kWh, by 6 kWh in sum, 2 kWh per reading, at most 6 kWh in one (hard)"}, nil)
	says(t, "no violation", v.progressPanels().violationCaption(b.snap.Definition.Constraints[0], study.ViolationOut{}), []string{"none of 3 readings went beyond the limit of 4 kWh."}, []string{"in sum"})
	b.tell(b.ask(0.5), map[string]float64{"yield": 5, "energy": 11})
	b.end(ledger.Failed, b.ask(0.5)) // which leaves a reading less
	b.ask(0.5)                       // whose reading comes
	v = b.facts(0)
	v.Readout.Multipliers = map[string]float64{"energy": 1}
	_, said, _ = v.progressPanels().limitPanel(0)
	says(t, "an overspent limit", said, []string{"(V(t)/t is 1 kWh): 4 kWh in sum is overspent, so that the 8 readings still to come may average 3.5 kWh or less."}, []string{"left to spend"})
	b.end(ledger.Excluded, len(b.snap.Trials)) // which need not be run
	for range 6 {
		b.end(ledger.Failed, b.ask(0.5))
	}
	v = b.facts(0)
	v.Readout.Multipliers = map[string]float64{"energy": 1}
	_, said, _ = v.progressPanels().limitPanel(0)
	says(t, "the last one", said, []string{"so that the reading still to come may be 0 kWh or less."}, nil)
}

// TestLongStudiesRunFaster: a press lets the lab run a twentieth of what is planned, no fewer than
// 5 trials and no more than a run may have.
func TestLongStudiesRunFaster(t *testing.T) {
	t.Parallel()
	for horizon, want := range map[string]int{"13": 5, "350": 17, "10000": 25} {
		b := newBench(t, strings.Replace(ofKnown, `"horizon": 13`, `"horizon": `+horizon, 1))
		if panel := b.facts(0).Lab(); panel.AtOnce != want {
			t.Errorf("of %s trials %d are run at once, want %d", horizon, panel.AtOnce, want)
		}
	}
}

// bounded says of every row that regret is bounded by 4 a trial, and of the last one that violation
// of a limit is by 9, of which left is left.
func bounded(v *Facts, limit string, left float64) {
	why, nine := "growth rate only, because it is a test", 9.0
	for i := range v.History {
		bound := 4 * float64(i+1)
		v.History[i].Regret = &study.RegretOut{Bound: &bound, BoundKind: "growth", BoundWhy: why}
		v.Readout.Regret = v.History[i].Regret
	}
	out := v.Readout.Violation[limit]
	out.Bound, out.BoundKind, out.BoundWhy, out.Left = &nine, &why, &why, &left
	v.Readout.Violation[limit] = out
}

// TestRegretStandsBesideItsBound: the bound is drawn and said, in the objective's unit, and beside
// it the true regret of the algorithm's own trials where a lab knows it; a bound that would flatten
// the truth is said only.
func TestRegretStandsBesideItsBound(t *testing.T) {
	t.Parallel()
	b := newBench(t, ofKnown)
	for _, x := range []float64{0.3, 0.4, 0.2} { // behind by 2, 1 and 6
		b.tell(b.ask(x), map[string]float64{"yield": 10 * x, "energy": 3})
	}
	b.add(ledger.Chosen, ledger.ChosenData{Number: 4, Origin: ledger.Manual, Seen: b.snap.Version, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0)}})
	b.tell(4, map[string]float64{"yield": 0, "energy": 3}) // behind by 8, and nobody's but Ana's
	v := b.facts(0)
	if panel, said := v.progressPanels().regretPanel(); len(panel.Traces) > 0 || said != "" {
		t.Errorf("without a bound %q is said", said)
	}
	bounded(&v, "energy", 9)
	panel, said := v.progressPanels().regretPanel()
	says(t, "regret", said, []string{"behind the best that can be had within the limits, in sum.", "its bound is 16 points (growth rate only, because it is a test).",
		"In truth, which only the simulated lab knows, it is 9 points."}, []string{"margins", "too far away"})
	says(t, "its panel", whole(panel), []string{"Yield: cumulative regret (points)", "[4 8 12 16 16]", "[2 3 9 9 9]"}, nil)
	says(t, "the page", whole(panels(v)), []string{"Yield: cumulative regret"}, nil)
	says(t, "the table", whole(v.ProgressTable()), []string{"Bound on regret so far", "12"}, nil)
	says(t, "what it rests on", whole(*v.theorem()), []string{"What do the bounds on violation and regret rest on? Of 17 assumptions", "It bounds the regret Σ_s [E f(π*)",
		"Here, over the same trials: 16 points. It shows how regret grows with trials, and is no promise.", "For the bound on regret: Some mixture of settings can keep the slack ε", "9 kWh for energy. Left under it: 9 kWh."}, nil)
	v.Readout.Violation = nil // as before the limit is read
	says(t, "what it rests on without limits", whole(*v.theorem()), []string{"What does the bound on regret rest on? Of 17 assumptions", "Here, over the trials that the algorithm chose itself: 16 points."}, []string{"violation ["})
	for i := range v.History {
		*v.History[i].Regret.Bound *= 6
	}
	panel, said = v.progressPanels().regretPanel()
	says(t, "regret far below its bound", said, []string{"its bound is 96 points", "The bound is too far away to be drawn beside it."}, nil)
	if len(panel.Traces) != 1 || panel.Traces[0].Style != chart.Sixth {
		t.Errorf("beside a bound far away %+v is drawn", panel.Traces)
	}
	real := newBench(t, twoLimits)
	real.curve(3, 0, "yield", "impurity", "pressure")
	v = real.facts(0)
	bounded(&v, "impurity", 9)
	panel, said = v.progressPanels().regretPanel()
	says(t, "regret of a real laboratory", said, []string{"its bound is 12"}, []string{"In truth"})
	if len(panel.Traces) != 1 || panel.Traces[0].Style != chart.Bound {
		t.Errorf("of a real laboratory %+v is drawn", panel.Traces)
	}
}

// TestWhatIsLeftIsSaid beside the bound it is left of.
func TestWhatIsLeftIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t, ofKnown)
	b.tell(b.ask(0.5), map[string]float64{"yield": 5, "energy": 6})
	v := b.facts(0)
	limit := b.snap.Definition.Constraints[0]
	caption := func() string {
		return v.progressPanels().violationCaption(limit, v.Readout.Violation["energy"])
	}
	says(t, "without a bound", caption(), nil, []string{"Left under it"})
	bounded(&v, "energy", 7)
	says(t, "with room", caption(), []string{"is 9 kWh (growth rate only, because it is a test). Left under it: 7 kWh."}, nil)
	bounded(&v, "energy", -0.5)
	says(t, "beyond", caption(), []string{"Left under it: nothing; the readings, noise included, are beyond it by 0.5 kWh."}, nil)
}

// TestEveryDriftIsNamedBesideTheAnswer: a limit's metric that drifts is not hidden by the
// objective's. So is one whose bands are too narrow.
func TestEveryDriftIsNamedBesideTheAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(6, 0, "yield", "impurity", "pressure")
	b.fit()
	v := b.facts(1)
	v.Readout.Calibration = map[string]optimizer.Calibration{}
	for i, metric := range []string{"yield", "impurity", "pressure"} {
		c := optimizer.Calibration{Coverage: optimizer.Coverage{Count: 30, Coverage95: 29. / 30}}
		if metric != "pressure" {
			c.Shift = &optimizer.LevelShift{Since: 2 + i, Rising: i == 0, Factor: 5000, Limit: 100}
		}
		v.Readout.Calibration[metric] = c
	}
	says(t, "the doubt", v.Verdict().Doubt, []string{"Yield has come to lie higher than the settings explain since about trial 2. Impurity has come to lie lower than the settings explain since about trial 3. The process may have drifted, and what is expected here rests on older readings too."}, []string{"Pressure"})
	v.Readout.Calibration = map[string]optimizer.Calibration{"pressure": {Coverage: optimizer.Coverage{Count: 30, Coverage95: 0.5}, Innovations: []optimizer.Innovation{{Round: 1, Z: 3}}}, "yield": {Coverage: optimizer.Coverage{Count: 4}}}
	says(t, "of bands that are too narrow", v.Verdict().Doubt, []string{"Of the readings, 15 of 30 of pressure fell in bands that should hold 95 %: what is expected here, and each chance, is less certain than stated."}, []string{"ield"})
	if summary := v.trust().Summary; !strings.Contains(summary, "Some bands are not as they should be") {
		t.Error(summary)
	}
}

// TestTheBestThatIsGoneIsNamed: where it may be chosen no more, the answer says why it is another;
// where nothing tried may be, that is why there is none.
func TestTheBestThatIsGoneIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(6, -1, "yield", "impurity", "pressure")
	b.fit()
	narrow := func(low, high float64) {
		d := b.snap.Definition
		d.Parameters = slices.Clone(d.Parameters)
		d.Parameters[0].Low, d.Parameters[0].High = &low, &high
		b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{}, Reason: "the seal"})
		b.fit()
	}
	says(t, "with all on offer", b.facts(3).Verdict().Doubt, nil, []string{"may be chosen"})
	says(t, "with all of them broken", b.facts(0).Verdict().None, []string{"no settings tried are more likely to stay within every limit"}, nil)
	narrow(0, 0.5)
	says(t, "with the best gone", b.facts(3).Verdict().Doubt, []string{"The settings of trial 6, the best reading, may no longer be chosen."}, nil)
	says(t, "with the others broken", b.facts(0).Verdict().None, []string{"no settings tried that may still be chosen are more likely to stay within every limit"}, nil)
	narrow(0.45, 0.48)
	says(t, "with all gone", b.facts(0).Verdict().None, []string{"none of the settings tried may still be chosen"}, nil)
}
