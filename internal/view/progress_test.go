package view

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/warp"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

func panels(v Facts) []chart.Panel { return v.Progress().Chart.Drawing.Panels }

// pointsOf counts the marks of a style in a panel.
func pointsOf(p chart.Panel, style chart.Style) (n int) {
	for _, trace := range p.Traces {
		if trace.Style == style {
			n += len(trace.X)
		}
	}
	return n
}

// TestAChangedLimitDoesNotRepaintHistory: each reading is judged by the limit of its time, which is
// drawn as it stood.
func TestAChangedLimitDoesNotRepaintHistory(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(10, 0, "yield", "impurity", "pressure")
	if head := b.facts(0).Progress().Chart.Table.Head[1].Name; head != "Result" {
		t.Errorf("of limits that never changed stands %q", head)
	}
	b.limit(0, 0.3)
	before := b.snap.Trial(2).Metrics["yield"].Value
	b.add(ledger.Corrected, ledger.CorrectedData{Number: 2, Reason: "typo", Metrics: map[string]ledger.CorrectedValue{"yield": {Before: &ledger.Reading{Value: before}, After: &ledger.Reading{Value: 61}}}})
	progress := b.facts(0).Progress()
	drawn := progress.Chart.Drawing
	limit := drawn.Panels[1].Limits[0]
	if len(limit.Y) != 2 || limit.Y[0] != 0.5 || limit.Y[1] != 0.3 || limit.X[1] != 10.5 {
		t.Errorf("the limit is drawn as %+v", limit)
	}
	if n := pointsOf(drawn.Panels[1], chart.Violated); n != 3 {
		t.Errorf("%d readings are marked as beyond the limit of their time, want 3", n)
	}
	says(t, "the caption", captionOf(progress.Chart), []string{"limit broken in 3 of 10 trials", "Each is judged by the limit of its time; by today’s, ≤ 0.3 %, it is 6."}, nil)
	if head := progress.Chart.Table.Head[1].Name; head != "Result by today’s limits" {
		t.Errorf("beside the limits of then stands %q", head)
	}
	kinds := map[string]string{}
	for _, event := range drawn.Events {
		kinds[event.Kind] = event.Text
	}
	if !strings.Contains(kinds["change of a limit"], "limit of impurity from 0.5 to 0.3") || kinds["correction"] != "correction of trial 2 after trial 10: typo" {
		t.Errorf("marks on the axis: %v", kinds)
	}
}

// TestALimitTurnedAroundIsSaid: from which side to which, where the threshold stays too.
func TestALimitTurnedAroundIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(3, 0, "yield", "impurity", "pressure")
	d := b.snap.Definition
	d.Constraints = slices.Clone(d.Constraints)
	d.Constraints[0].Op = ">="
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{}, Reason: "it is a purity"})
	others := newBench(t, twoLimits)
	others.curve(2, 0.3, "impurity")
	others.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{}, Reason: "it is a purity"})
	says(t, "of as many trials that are others", others.facts(0).progressPanels().limitWords(0), []string{"limit broken in 1 of 2 trials; lowest 0.4 % at trial 1. Each is judged by the limit of its time; by today’s, ≥ 0.5 %, it is 1."}, nil)
	if path := b.facts(0).progressPanels().limitPath(0); !slices.Equal(path.X, []float64{0.5, 3.5}) || !slices.Equal(path.Above, []bool{true, false}) {
		t.Errorf("the limit is drawn as %+v", path)
	}
	revisions := b.snap.Revisions
	inOther := slices.Clone(d.Constraints)
	inOther[0].Threshold, inOther[0].Unit = 5000, "ppm"
	said := limitChanges(revisions[0].Limits, revisions[1].Limits) + "; " + limitChanges(d.Constraints, inOther) + "; " + formerLimits(b.snap, 0) + "; " + formerLimits(b.snap, 1)
	says(t, "the change", said, []string{"limit of impurity from ≤ 0.5 to ≥ 0.5 %; limit of impurity from 0.5 % to 5000 ppm; ≤ 0.5 % before trial 4; "}, []string{"pressure"})
}

// TestAFormulaThatIsAnotherIsSaid, once for all limits of its metric; where the results stand under
// it, nothing is said of limits.
func TestAFormulaThatIsAnotherIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(twoLimits, `"constraints": [`, `"constraints": [{"metric": "load", "op": "<=", "threshold": 0.9, "expression": "x"},
		{"name": "least load", "metric": "load", "op": ">=", "threshold": 0.1, "expression": "x"}, `, 1))
	b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Suggested, Seen: 1, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.3)},
		KnownValues: map[string]float64{"load": 0.3, "least load": 0.3}})
	d := b.snap.Definition
	d.Constraints = slices.Clone(d.Constraints)
	d.Constraints[0].Expression, d.Constraints[1].Expression = "2*x", "2*x"
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{}, Reason: "two at a time"})
	v := b.facts(0)
	if said := v.Of(b.snap.Trial(1)).card().Since; said != "Since it was chosen: formula of load from x to 2*x." {
		t.Errorf("of a trial that waits it is said: %s", said)
	}
	if events := v.progressPanels().events(); len(events) != 1 || events[0].Text != "formula of load from x to 2*x" {
		t.Errorf("over the trials stands %+v", events)
	}
	says(t, "a limit on it", v.progressPanels().limitWords(0), []string{"limit broken in 0 of 1 trial; highest 0.3 at trial 1. Up to trial 1 another formula held; since then it is 2*x."}, nil)
	v.Paper = true
	if note := v.Trials().Note; strings.Contains(note, "limits") {
		t.Errorf("below the trials stands %q", note)
	}
}

// TestWhatWaitsIsMarkedWhereItsDecisionForetold: the numbers of a decision that knew no units are
// those of the prior.
func TestWhatWaitsIsMarkedWhereItsDecisionForetold(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	wait := func() {
		number := len(b.snap.Trials) + 1
		b.add(ledger.Chosen, ledger.ChosenData{Number: number, Origin: ledger.Suggested, Seen: b.snap.Version, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.5)},
			Decision: &ledger.Decision{Seen: b.snap.Version, Mean: ledger.Numbers{"yield": 0.7}, SD: ledger.Numbers{"yield": 1}}})
	}
	b.curve(3, 0, "yield", "impurity", "pressure")
	wait()
	b.fit()
	if n := pointsOf(panels(b.facts(0))[0], chart.Waiting); n != 0 {
		t.Errorf("%d marks of what a decision before the first fit foretold", n)
	}
	wait()
	if n := pointsOf(panels(b.facts(0))[0], chart.Waiting); n != 1 {
		t.Errorf("%d marks of what one after it foretold", n)
	}
	since := func(want string) { // the best reading
		t.Helper()
		if said := fmt.Sprint(b.facts(0).Progress()); !strings.Contains(said, want) {
			t.Errorf("it does not say %q: %s", want, said)
		}
	}
	since("at trial 3, the last one.")
	b.tell(4, map[string]float64{"yield": 20})
	since("at trial 3; 1 reading since then.")
	b.tell(5, map[string]float64{"yield": 99, "impurity": 0.1, "pressure": 2})
	late := b.ask(0.9)
	b.tell(b.ask(0.1), map[string]float64{"yield": 50})
	b.tell(late, map[string]float64{"yield": 120, "impurity": 0.1, "pressure": 2})
	since("at trial 6, the last one.")
}

// TestWithoutABestReadingItIsSaidWhy: trials within every limit are not denied because none of them
// counts.
func TestWithoutABestReadingItIsSaidWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	caption := func(what, want string) {
		t.Helper()
		says(t, what, captionOf(b.facts(0).Progress().Chart), []string{want}, nil)
	}
	b.tell(b.ask(0.1), map[string]float64{"yield": 60, "impurity": 0.9, "pressure": 2})
	caption("none within", "No trial is known to be within every limit yet.")
	b.end(ledger.Excluded, 1)
	says(t, "sums of an excluded trial, which happened", fmt.Sprint(b.facts(0).ProgressTable().Rows), []string{"0.9 0.5 0.4 0.4"}, nil)
	b.end(ledger.Included, 1)
	b.tell(b.ask(0.2), map[string]float64{"impurity": 0.1, "pressure": 2})
	caption("one not read", "No best reading yet: what is within every limit is without a reading of yield.")
	b.tell(2, map[string]float64{"yield": 61})
	b.end(ledger.Excluded, 2)
	caption("one excluded", "No best reading yet: what is within every limit is excluded.")
	b.tell(b.ask(0.3), map[string]float64{"impurity": 0.2, "pressure": 2})
	b.become(ledger.Finished)
	caption("finished", "No best reading: what is within every limit is excluded or without a reading of yield.")

	b = newBench(t, `{"name": "No limit", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize", "plausible": [0, 100]}, "algorithm": {"name": "random", "horizon": 20}, "seed": 7}`)
	b.tell(b.ask(0.1), map[string]float64{"yield": 700})
	b.ask(0.2)
	caption("in doubt, without limits", "No best reading yet: what was read is in doubt.")
}

// TestManyTrialsAreDrawnWithoutLying: every reading lies in a span, those that broke a limit have a
// mark, and the page says so.
func TestManyTrialsAreDrawnWithoutLying(t *testing.T) {
	t.Parallel()
	const n, size = 450, 3
	b := newBench(t, twoLimits)
	b.curve(n, 0, "yield", "impurity", "pressure")
	v := b.facts(0)
	drawn := panels(v)
	if single := pointsOf(drawn[0], chart.Feasible) + pointsOf(drawn[0], chart.Violated); single >= n || single < newestMarks {
		t.Errorf("%d single marks", single)
	}
	broken := map[int]any{}
	var spanned chart.Trace
	for i, panel := range drawn[:2] {
		for _, trace := range panel.Traces {
			switch {
			case i == 0 && trace.Style == chart.Spans:
				spanned = trace
			case i == 1 && trace.Style == chart.Violated:
				for k, x := range trace.X {
					broken[x.(int)] = trace.Y[k]
				}
			}
		}
	}
	if len(spanned.X) != n/size {
		t.Fatalf("%d spans", len(spanned.X))
	}
	for _, trial := range b.snap.Trials {
		i := (trial.Number - 1) / size
		if y := trial.Metrics["yield"].Value; y < spanned.Low[i].(float64) || y > spanned.High[i].(float64) {
			t.Fatalf("trial %d is outside its span", trial.Number)
		}
		impurity := trial.Metrics["impurity"].Value
		if marked, there := broken[trial.Number]; there != (impurity > 0.5) || there && marked != impurity {
			t.Fatalf("trial %d, of impurity %v, is marked as one that broke its limit: %t at %v", trial.Number, impurity, there, marked)
		}
	}
	progress := v.Progress().Chart
	says(t, "the caption", captionOf(progress), []string{"each grey bar spans all readings of 3 trials"}, nil)
	if progress.Later == "" || len(progress.Table.Rows) > 0 || len(v.ProgressTable().Rows) != n {
		t.Error("the table does not wait until it is opened")
	}
	if drawn := progress.Drawing.HTML("chart", "title"); len(drawn) > 100_000 {
		t.Errorf("drawn it takes %d bytes", len(drawn))
	}
	lines := func(v Facts) string {
		var out strings.Builder
		must.Do(t, templates.NewestLines(v.ProgressTable(), len(v.Snap.Trials), v.Head).Render(t.Context(), &out))
		return out.String()
	}
	says(t, "a whole table", lines(v), []string{">450<", ">1<"}, []string{"The newest"})
	b.curve(150, 0, "yield", "impurity", "pressure")
	says(t, "a long table", lines(b.facts(0)), []string{"The newest 500 of 600 trials.", "/export.csv", ">600<", ">101<"}, []string{">100<"})
}

// TestQuietLimitsFold: a limit that was never near being broken is a sentence, not a chart.
func TestQuietLimitsFold(t *testing.T) {
	t.Parallel()
	limits := func(v Facts) (n int) {
		for _, panel := range panels(v) {
			n += len(panel.Limits)
		}
		return n
	}
	of := func(n int, shift float64) *bench {
		b := newBench(t, twoLimits)
		b.curve(n, shift, "yield", "impurity", "pressure")
		return b
	}
	far := of(12, 0)
	if n := limits(far.facts(0)); n != 1 {
		t.Errorf("%d limits are drawn", n)
	}
	says(t, "the caption", captionOf(far.facts(0).Progress().Chart),
		[]string{"Pressure ≤ 4 bar: never broken and far from it, so not drawn; the closest reading was 1.91667 bar at trial 12, 2.08 bar inside."}, nil)
	far.limit(1, 10)
	says(t, "the caption under a limit that was loosened", captionOf(far.facts(0).Progress().Chart),
		[]string{"Pressure ≤ 10 bar: never broken and far from it, so not drawn; the closest reading was 1.91667 bar at trial 12, 8.08 bar inside."}, nil)
	far.limit(1, 1.95)
	if n := limits(far.facts(0)); n != 2 {
		t.Errorf("with a limit that was moved close to the readings %d of 2 are drawn", n)
	}
	far.limit(1, 1.5)
	same := newBench(t, twoLimits)
	for range 6 {
		same.tell(same.ask(0.5), map[string]float64{"yield": 60, "impurity": 0.6, "pressure": 4})
	}
	for what, b := range map[string]*bench{"always at it": same, "near": of(12, 1.65) /* 0.43 bar inside, of readings that lie 0.92 bar apart */, "little read": of(4, 0), "broken by today’s rule": far} {
		if n := limits(b.facts(0)); n != 2 {
			t.Errorf("%s: %d of 2 limits are drawn", what, n)
		}
	}
}

// TestProgressDrawsNothingOfThePrior: before a reading there is no chart, and before the model
// stands no estimate of its own beside what was read.
func TestProgressDrawsNothingOfThePrior(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.ask(0.5)
	progress := b.facts(0).Progress()
	says(t, "progress", progress.Empty, []string{"Yield: no reading yet."}, nil)
	if progress.Chart.ID != "" {
		t.Errorf("%+v is drawn", progress.Chart)
	}
	b.tell(1, map[string]float64{"impurity": 0.9})
	v := b.facts(0)
	estimate, sums := 0.3, v.Readout.Violation["impurity"]
	sums.Estimated = &estimate
	v.Readout.Violation["impurity"], v.History[0].Violation["impurity"] = sums, sums
	shown := v.Progress().Chart
	says(t, "progress", captionOf(shown)+shown.Drawing.HTML("chart", "title"), []string{"Yield: no reading yet.", "limit broken in 1 of 1 trial", "Impurity: cumulative violation"}, []string{"allowing for noise", "model’s estimate of it"})
}

// TestManyLimitsStayCalm: of many limits, those that are broken most are drawn at once and the
// others stand folded, named with how often they were broken.
func TestManyLimitsStayCalm(t *testing.T) {
	t.Parallel()
	var limits []string
	for j := range 6 {
		limits = append(limits, fmt.Sprintf(`{"metric": "impurity %d", "op": "<=", "threshold": 0.5}`, j+1))
	}
	b := newBench(t, `{"name": "Six limits", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"},
		"constraints": [`+strings.Join(limits, ", ")+`], "algorithm": {"name": "random", "horizon": 20}, "seed": 7}`)
	for i := range 10 {
		told := map[string]float64{"yield": float64(50 + i)}
		for j := range 6 { // impurity j+1 is broken in the last j trials
			value := 0.49 - 0.04*float64(i%3)
			if i >= 10-j {
				value = 0.6
			}
			told[fmt.Sprintf("impurity %d", j+1)] = value
		}
		b.tell(b.ask(float64(i)/10), told)
	}
	progress := b.facts(0).Progress()
	for _, c := range []struct{ shown, gone, titles, caption string }{
		{"Impurity 6: limit broken in 5 of 10 trials", "Impurity 2: limit broken", "Yield; Impurity 4 and its limit; Impurity 4: cumulative violation; Impurity 5 and its limit; Impurity 5: cumulative violation; Impurity 6 and its limit; Impurity 6: cumulative violation", titlesOf(progress.Chart.Drawing) + "\n" + captionOf(progress.Chart)},
		{"Impurity 2: limit broken in 1 of 10 trials", "Impurity 6", "Impurity 1 and its limit; Impurity 2 and its limit; Impurity 2: cumulative violation; Impurity 3 and its limit; Impurity 3: cumulative violation", titlesOf(progress.More.Drawing) + "\n" + captionOf(*progress.More)},
	} {
		says(t, "the chart", c.caption, []string{c.shown, c.titles + "\n"}, []string{c.gone + ":"})
	}
	says(t, "the fold", progress.MoreLimits, []string{"3 more limits, broken no more often: impurity 1 (never broken), impurity 2 (broken in 1 of 10) and impurity 3 (broken in 2 of 10)"}, nil)
}

func captionOf(c templates.Chart) string { return strings.Join(c.Notes, " ") }

func titlesOf(d chart.Drawing) string {
	return strings.Join(lists.Map(d.Panels, func(panel chart.Panel) string { return panel.Title }), "; ")
}

// TestLegendsSpeakOfTheLimitsThereAre: none is spoken of where there is none, and a mark that keeps
// one of two limits is not called within every limit.
func TestLegendsSpeakOfTheLimitsThereAre(t *testing.T) {
	t.Parallel()
	free := newBench(t, `{"name": "No limit", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"}, "algorithm": {"name": "random", "horizon": 20}, "seed": 7}`)
	free.tell(free.ask(0.1), map[string]float64{"yield": 3})
	free.tell(free.ask(0.5), map[string]float64{"yield": 4})
	free.ask(0.7)
	free.ask(0.8)
	free.end(ledger.Failed, 4)
	rows := free.facts(0).Trials().Rows
	for i, want := range []string{"unknown failed", "waiting waiting", "feasible measured", "feasible measured"} {
		if got := rows[i].Mark + " " + rows[i].State; got != want {
			t.Errorf("trial %d is %s, want %s", rows[i].Number, got, want)
		}
	}
	two := newBench(t, twoLimits)
	two.curve(10, 0, "yield", "impurity", "pressure")
	for b, want := range map[*bench]map[chart.Style]string{free: {chart.Feasible: "a reading"}, two: {chart.Feasible: "within limits", chart.Violated: "a limit broken"}} {
		for _, panel := range panels(b.facts(0)) {
			for _, trace := range panel.Traces {
				if name, marked := want[trace.Style]; marked && trace.Name != name {
					t.Errorf("%s: %q, want %q", panel.Title, trace.Name, name)
				}
				if b == free && len(trace.Text) > 0 && trace.Text[0] != "yield 3" {
					t.Errorf("over a reading it says %q", trace.Text[0])
				}
			}
		}
	}
}

func TestRangesLeaveOutEarlyOutliers(t *testing.T) {
	t.Parallel()
	readings := []float64{-500, 100, 70, 71, 72, 70, 73, 74, 71, 75, 76, 78}
	within := robustRange(readings, nil)
	if said := beyondWords(readings, within); said != "1 reading above the range drawn, 1 reading below the range drawn." || within[0] < 60 || within[1] > 90 {
		t.Errorf("%v: %q", within, said)
	}
	// The same readings late in a study are no beginnings: they are drawn, unless they are absurd.
	late := []float64{70, 71, 72, 70, 73, 74, 71, 75, 76, 78, 95, 7000}
	within = robustRange(late, nil)
	if said := beyondWords(late, within); said != "1 reading above the range drawn." || within[1] < 95 || within[1] > 120 {
		t.Errorf("%v: %q", within, said)
	}
	if within = robustRange(readings, []float64{100}); beyondWords(readings, within) != "1 reading below the range drawn." {
		t.Errorf("%v, though 100 must be seen", within)
	}
	if within = robustRange(nil, []float64{0, 0}); within[1] != 1 {
		t.Errorf("the range of nothing but 0 is %v", within)
	}
	if within = robustRange([]float64{5, 5, 5}, nil); !(within[0] < 5 && within[1] > 5) {
		t.Errorf("equal readings leave no range: %v", within)
	}
}

// TestWhatIsDrawnIsNotSaidToBeBeyond: readings that the first value of a corrected one brings into the
// range are drawn, and not said to lie beyond it.
func TestWhatIsDrawnIsNotSaidToBeBeyond(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(twoLimits, `{"metric": "impurity"`, `{"name": "not too impure", "metric": "impurity"`, 1))
	for i, impurity := range []float64{0.75, 1.4, 0.8, 0.43, 0.42, 0.4, 0.41, 0.42, 0.12, 0.44, 0.43, 0.42, 0.41, 0.4, 0.43, 0.42} {
		b.tell(b.ask(float64(i)/16), map[string]float64{"impurity": impurity})
	}
	was, is := ledger.Reading{Value: 0.8}, ledger.Reading{Value: 2}
	b.add(ledger.Corrected, ledger.CorrectedData{Number: 3, Metrics: map[string]ledger.CorrectedValue{"impurity": {Before: &was, After: &is}}, Reason: "typo"})
	panel, _, beyond := b.facts(0).progressPanels().limitPanel(0)
	if high := panel.Y.Range[1]; high < 0.8 || high > 1.4 {
		t.Fatalf("drawn up to %v, with the first value and without what is further away", high)
	}
	if beyond != "Not too impure: 2 readings above the range drawn." {
		t.Error(beyond)
	}
}

// TestABrokenLimitIsAlwaysSeen: a reading that broke a limit and is too far away to be drawn where it
// is stands at the edge, well beyond the limit.
func TestABrokenLimitIsAlwaysSeen(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	for i, impurity := range []float64{5.5, 0.43, 0.42, 0.4, 0.41, 0.42, 0.44, 0.43, 0.42, 0.41, 0.4, 0.43} {
		b.tell(b.ask(float64(i)/12), map[string]float64{"impurity": impurity})
	}
	panel, _, beyond := b.facts(0).progressPanels().limitPanel(0)
	at := slices.IndexFunc(panel.Traces, func(trace chart.Trace) bool { return trace.Style == chart.Violated })
	limit, high := panel.Limits[0].Y[0], panel.Y.Range[1]
	if broken := panel.Traces[at]; broken.Y[0].(float64) > high || broken.Y[0].(float64) < limit+0.1*(high-panel.Y.Range[0]) || !strings.HasSuffix(broken.Text[0], "limit broken, beyond the range drawn") {
		t.Errorf("with a limit of %v up to %v it is drawn as %+v", limit, high, broken)
	}
	if high > 1 || beyond != "Impurity: 1 reading above the range drawn." {
		t.Errorf("drawn up to %v: %q", high, beyond)
	}
}

// TestNoMarkIsLost: what is in doubt or foretold is drawn where it is, or at the edge of the range
// that is drawn, also where a logarithm has no place for it.
func TestNoMarkIsLost(t *testing.T) {
	t.Parallel()
	marks := func(b *bench, style chart.Style, warped *warp.Warp) (axis chart.Axis, drawn chart.Trace) {
		v := b.facts(0)
		v.Readout.Metrics["yield"] = study.MetricState{Warp: warped}
		panel, _, _ := v.progressPanels().bestPanel()
		for _, trace := range panel.Traces {
			if trace.Style == style {
				drawn = trace
			}
		}
		return panel.Y, drawn
	}
	definition := strings.Replace(twoLimits, `"unit": "%"}`, `"unit": "%", "plausible": [0, 100]}`, 1)
	only := newBench(t, definition)
	for i, yield := range []float64{712, 71200} {
		only.tell(only.ask(float64(i)/4), map[string]float64{"yield": yield})
	}
	if axis, drawn := marks(only, chart.Doubted, nil); !slices.Equal(drawn.Y, []any{712.0, 71200.0}) || axis.Range[0] > 712 || axis.Range[1] < 71200 || strings.Contains(whole(drawn.Text), "beyond") {
		t.Errorf("all that there is is in doubt, and drawn on %v as %+v", axis.Range, drawn)
	}
	below := newBench(t, definition)
	below.curve(9, 0, "yield")
	below.tell(below.ask(0.9), map[string]float64{"yield": -30})
	axis, drawn := marks(below, chart.Doubted, &warp.Warp{Scale: 1, Unit: 1e-6})
	if y, is := drawn.Y[0].(float64); !is || !axis.Log || !(y > axis.Range[0] && y < axis.Range[1]) || !strings.HasSuffix(drawn.Text[0], "beyond the range drawn") {
		t.Errorf("what has no logarithm is drawn on %+v as %+v", axis, drawn)
	}
	wider := newBench(t, definition)
	wider.curve(9, 0, "yield")
	wider.add(ledger.Told, ledger.ToldData{Number: wider.ask(0.8), Telling: ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 104}}}})
	wider.add(ledger.Corrected, ledger.CorrectedData{Number: 10, Metrics: map[string]ledger.CorrectedValue{"yield": {Before: &ledger.Reading{Value: 104}, After: &ledger.Reading{Value: 70}}}, Reason: "typo"})
	wider.tell(wider.ask(0.9), map[string]float64{"yield": 102})
	if axis, drawn := marks(wider, chart.Doubted, nil); axis.Range[1] < 102 || drawn.Y[0] != 102.0 || strings.Contains(drawn.Text[0], "beyond") {
		t.Errorf("in a range made wider, %v, it is drawn as %+v", axis.Range, drawn)
	}
	waits := newBench(t, definition)
	waits.curve(9, 0, "yield")
	waits.fit()
	waits.add(ledger.Chosen, ledger.ChosenData{Number: 10, Origin: ledger.Suggested, Seen: waits.snap.Version, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.5)},
		Decision: &ledger.Decision{Seen: waits.snap.Version, Mean: ledger.Numbers{"yield": 400}, SD: ledger.Numbers{"yield": 1}}})
	if axis, drawn := marks(waits, chart.Waiting, nil); drawn.Y[0].(float64) > axis.Range[1] || !strings.HasSuffix(drawn.Text[0], "beyond the range drawn") {
		t.Errorf("what is foretold far away is drawn on %v as %+v", axis.Range, drawn)
	}
}

func TestMultiplierWordsFollowFacts(t *testing.T) {
	t.Parallel()
	at := func(numbers ...int) map[int][]int {
		rounds := map[int][]int{}
		for _, n := range numbers {
			rounds[n] = []int{n}
		}
		return rounds
	}
	for _, test := range []struct {
		path   []float64
		broken map[int][]int
		want   string
		not    string
	}{
		{[]float64{0, 0, 1, 1, 3}, at(2, 4), "It rose after trials 2 and 4, which broke the limit.", "others"},
		{[]float64{1, 1.4, 1.7, 2}, at(2), "It rose after every trial, whether the limit was broken or not, as the algorithm’s rule has it.", "which"},
		{[]float64{0, 1, 2, 3}, at(1, 2, 3), "It rose after trials 1, 2 and 3, which broke the limit.", "others"},
		{[]float64{0, 0, 0}, at(), "It has not moved.", "rose"},
		{[]float64{3, 2, 1}, at(), "It has only fallen.", "rose"},
		{[]float64{0, 1, 1, 1}, at(), "It rose after trial 1, not for a reading beyond the limit but as the algorithm’s rule has it.", "estimate"},
		{[]float64{0, 1, 0.5, 1.5}, at(1), "after trial 1, which broke the limit, and after 1 other, as the algorithm’s rule has it. It fell after 1 trial.", "estimate"},
	} {
		words := multiplierWords(test.path, test.broken, test.path[len(test.path)-1], false)
		if !strings.Contains(words, test.want) || strings.Contains(words, test.not) {
			t.Errorf("%v: %s", test.path, words)
		}
	}
	if words := multiplierWords([]float64{0, 5}, at(1), 5, true); !strings.Contains(words, "the most that the algorithm’s settings allow") {
		t.Error(words)
	}
}

// TestALimitThatWasLoosenedFar does not flatten the readings, and is drawn as long as it does not.
func TestALimitThatWasLoosenedFar(t *testing.T) {
	t.Parallel()
	for _, loosened := range []struct {
		to, least, most float64
		said            string
	}{{50, 0.835, 1, " Its limit of 50" + words.Thin + "%, from trial 9 on, lies beyond the range drawn."}, {4, 4, 5, ""}} {
		b := newBench(t, twoLimits)
		b.curve(8, 0.2, "yield", "impurity", "pressure")
		b.limit(0, loosened.to)
		b.curve(3, 0.3, "yield", "impurity", "pressure")
		panel, said, _ := b.facts(0).progressPanels().limitPanel(0)
		if high := panel.Y.Range[1]; high < loosened.least || high > loosened.most {
			t.Errorf("a limit of 0.5 and then %g, and readings up to 0.835, are drawn on %v", loosened.to, panel.Y.Range)
		}
		if !strings.HasSuffix(said, ", it is 0."+loosened.said) {
			t.Error(said)
		}
	}
}

// A metric whose model compares readings by their ratios is drawn so, and none of them is beyond the
// range. A limit or reading of 0 has no place there.
func TestRatiosAreDrawn(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	for i, impurity := range []float64{40, 20, 3, 0.3, 30, 0.2, 0.4, 0.45, 0.3} {
		b.tell(b.ask(float64(i)/10), map[string]float64{"yield": 60, "impurity": impurity, "pressure": 2})
	}
	v := b.facts(0)
	v.Readout.Metrics["impurity"] = study.MetricState{Warp: &warp.Warp{Scale: 1, Unit: 1e-6}}
	panel, _, beyond := v.progressPanels().limitPanel(0)
	if y := panel.Y; !y.Log || !(y.Range[0] > 0 && y.Range[0] < 0.2 && y.Range[1] > 40 && y.Range[1] < 1000) || beyond != "" {
		t.Errorf("impurity is drawn on %+v; %s", panel.Y, beyond)
	}
	if panel, _, _ := v.progressPanels().limitPanel(1); panel.Y.Log {
		t.Error("pressure is drawn by its ratios")
	}
	b.limit(0, 0)
	v = b.facts(0)
	v.Readout.Metrics["impurity"] = study.MetricState{Warp: &warp.Warp{Scale: 1, Unit: 1e-6}}
	if panel, _, _ := v.progressPanels().limitPanel(0); panel.Y.Log {
		t.Error("a limit of 0 is drawn on a logarithmic axis")
	}
}

// What was told first is seen beside what it was corrected to, unless it is so far away that it
// would flatten everything else.
func TestFirstValuesAreTakenIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first  []float64
		want   []float64
		beyond int
	}{
		{nil, []float64{60, 80}, 0},
		{[]float64{70}, []float64{60, 80}, 0},
		{[]float64{50}, []float64{48.8, 80}, 0},
		{[]float64{99, 712, -300}, []float64{60, 100.2}, 2},
	} {
		within, beyond := widen([]float64{60, 80}, c.first, 1)
		if math.Abs(within[0]-c.want[0]) > 1e-9 || math.Abs(within[1]-c.want[1]) > 1e-9 || beyond != c.beyond {
			t.Errorf("with %v: from %v, %d beyond; want %v, %d", c.first, within, beyond, c.want, c.beyond)
		}
	}
}

// TestWordsOfAMapFollowItsLines: lines that are not there are not spoken of.
func TestWordsOfAMapFollowItsLines(t *testing.T) {
	t.Parallel()
	for want, chance := range map[string][][]float64{
		"As the model sees it, the chance to stay within every limit is 90\u202f% or more everywhere": {{0.95, 0.99}, {0.9, 0.91}},
		"As the model sees it, the chance to stay within every limit is 10\u202f% or less everywhere": {{0.05, 0.001}, {0.1, 0}},
		"Lines: a chance of 10 (dotted)": {{0.05, 0.5}, {0.1, 0}},
	} {
		if got := chanceWords(chance, "to stay within every limit"); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s", chance, got)
		}
	}
}

// TestTheBestIsOfWhatMayBeChosen where something may be, in the words below slices and below a map.
func TestTheBestIsOfWhatMayBeChosen(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(6, 0, "yield", "impurity", "pressure")
	b.fit()
	at := []design.Value{design.NumberValue(0), design.NumberValue(0.5), design.NumberValue(1)}
	band := study.Band{Mean: []float64{1, 3, 2}, SD: []float64{1, 1, 1}}
	o := Outlook{Facts: b.facts(1), Metric: "yield", X: "x", Y: "x"}
	o.Map = study.Map{X: at, Y: at[:1]}
	for _, c := range []struct {
		open        []bool
		along, over string
	}{
		{[]bool{true, true, true}, "highest: 3.0 at x 0.5.", "; among the places that the map is drawn from it is highest, 90 %, at x 0.5 and x 0."},
		{[]bool{true, false, true}, "highest: 2.0 at x 1 (of what may be chosen).", "; among the places that the map is drawn from it is highest among what may be chosen, 20 %, at x 1 and x 0."},
		{[]bool{false, false, false}, "highest: 3.0 at x 0.5.", "; among the places that the map is drawn from it is highest, 90 %, at x 0.5 and x 0."},
	} {
		if got := o.sliceWords("yield", []study.Slice{{Parameter: "x", At: at, Metrics: map[string]study.Band{"yield": band}, Open: c.open}}); !strings.HasSuffix(got, c.along) {
			t.Errorf("%v: %s", c.open, got)
		}
		o.Map.Open = [][]bool{c.open}
		if got := o.mapCaption([][]float64{{0.1, 0.9, 0.2}}, "to stay within every limit"); !strings.Contains(got, c.over) {
			t.Errorf("%v: %s", c.open, got)
		}
	}
}

// TestChartsSetNamesApart that are written right to left beside numbers.
func TestChartsSetNamesApart(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.NewReplacer(`"name": "x"`, `"name": "חום"`, "yield", "תפוקה", "impurity", "זיהום").Replace(twoLimits))
	b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Suggested, Seen: 1, Engine: "1", Parameters: design.Settings{"חום": design.NumberValue(0.5)}})
	b.tell(1, map[string]float64{"תפוקה": 3, "זיהום": 0.3, "pressure": 2})
	b.fit()
	o := Outlook{Facts: b.facts(1), Metric: "תפוקה", X: "חום", Y: "חום"}
	at := []design.Value{design.NumberValue(0), design.NumberValue(1)}
	o.Map = study.Map{X: at, Y: at[:1], Feasible: [][]float64{{0.1, 0.9}}, Open: [][]bool{{true, true}}}
	along := study.Slice{Parameter: "חום", At: at, Metrics: map[string]study.Band{"תפוקה": {Mean: []float64{1, 2}, SD: []float64{1, 1}}}, Open: []bool{true, true}}
	best := 80.0
	price := study.Price{Constraint: "זיהום", Metric: "זיהום", Op: "<=", Threshold: 0.5, Curve: []study.PriceStep{{Threshold: 0.4, Best: &best, SD: &best}, {Threshold: 0.5, Best: &best, SD: &best}, {Threshold: 0.6, Best: &best, SD: &best}}}
	for _, said := range []string{o.mapCaption(o.Map.Feasible, "to stay"), o.influenceWords([]study.Slice{along}), o.sliceWords("תפוקה", []study.Slice{along}), priceWords(o.Snap.Definition.Objective, price)} {
		if bare := isolated.ReplaceAllString(said, ""); bare == said || strings.ContainsFunc(bare, func(r rune) bool { return unicode.Is(unicode.Hebrew, r) }) {
			t.Error(said)
		}
	}
}

// isolated is a name that is set apart.
var isolated = regexp.MustCompile("\u2068[^\u2069]*\u2069")

// TestTheChanceThatATrialWorksIsDrawn once failures taught it: along each parameter, with the
// trials that failed at its foot, and over two in the chance of a good end.
func TestTheChanceThatATrialWorksIsDrawn(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(6, 0, "yield", "impurity", "pressure")
	b.end(ledger.Failed, b.ask(0.9))
	b.tell(b.ask(0.3), map[string]float64{"yield": 70})
	b.fit()
	o := b.facts(1).Outlook()
	flat := study.Band{Mean: []float64{1, 2}, SD: []float64{1, 1}, Lower95: []float64{0, 1}, Upper95: []float64{2, 3}}
	along := study.Slice{Parameter: "x", At: []design.Value{design.NumberValue(0), design.NumberValue(1)}, Feasible: []float64{0.9, 0.2}, Works: []float64{0.8, 0.25}, Open: []bool{true, true},
		Metrics: map[string]study.Band{"yield": flat, "impurity": flat, "pressure": flat}}
	o.Slices = []study.Slice{along}
	grid := o.sliceGrid()
	cells := grid.Drawing.Cells
	last := cells[len(cells)-1]
	if len(cells) != 4 || last.Title != "Chance that a trial works (%)" || !reflect.DeepEqual(last.Traces[0].Y, []any{80.0, 25.0}) || !slices.Equal(last.Traces[1].Trial, []int{7}) {
		t.Errorf("the last of %d cells is %+v", len(cells), last)
	}
	for _, cell := range cells {
		for _, trace := range cell.Traces {
			if trace.Style == chart.Unknown && trace.Name != last.Traces[1].Name {
				t.Errorf("○ is both “%s” and “%s”", trace.Name, last.Traces[1].Name)
			}
		}
	}
	says(t, "the table", whole(grid.Table), []string{"Chance that it works", "80 %", "25 %"}, nil)
	if along.Works = nil; len(Outlook{Facts: Facts{Asked: o.Asked, Snap: o.Snap, Slices: []study.Slice{along}}, Metrics: o.Metrics}.sliceGrid().Drawing.Cells) != 3 {
		t.Error("a chance that nothing taught is drawn")
	}

	within, works := [][]float64{{0.5, 1}}, [][]float64{{0.5, 0.25}}
	for _, c := range []struct {
		limits []design.Constraint
		drawn  study.Map
		chance [][]float64
		aim    string
	}{
		{o.Snap.Definition.Constraints, study.Map{Feasible: within}, within, "to stay within every limit"},
		{o.Snap.Definition.Constraints, study.Map{Feasible: within, Works: works}, [][]float64{{0.25, 0.25}}, "that a trial works and stays within every limit"},
		{nil, study.Map{Feasible: within, Works: works}, works, "that a trial works"},
	} {
		o.Map, o.Snap.Definition.Constraints = c.drawn, c.limits
		if chance, aim := o.chances(); aim != c.aim || !reflect.DeepEqual(chance, c.chance) {
			t.Errorf("the chance %s is %v; want %s, %v", aim, chance, c.aim, c.chance)
		}
	}
}

// TestPriceWords say which way loosens a limit, what a step is worth in the objective's unit, and
// nothing of what is too little to tell.
func TestPriceWords(t *testing.T) {
	t.Parallel()
	o := design.Objective{Metric: "yield", Direction: "maximize", Unit: "g"}
	price := func(op string, best ...float64) study.Price {
		p := study.Price{Constraint: "pH low", Metric: "pH", Op: op, Threshold: 7}
		sd := 0.2
		for i, x := range best {
			step := study.PriceStep{Threshold: 7 + 0.5*float64(i-len(best)/2)}
			if x > 0 {
				step.Best, step.SD = &best[i], &sd
			}
			p.Curve = append(p.Curve, step)
		}
		if best[0] > 0 && best[2] > 0 {
			slope := best[2] - best[0]
			p.Slope = &slope
		}
		return p
	}
	for _, test := range []struct {
		price study.Price
		want  string
	}{
		{price("<=", 1, 3, 4.25), "Raising the limit of pH low from 7 to 7.5 would be worth about 1.3_g of yield; lowering it to 6.5 would cost about 2_g of yield (slope, the limit’s multiplier: 3.3_g for each unit of pH)."},
		{price(">=", 4.25, 3, 1), "Lowering the limit of pH low from 7 to 6.5 would be worth about 1.3_g of yield; raising it to 7.5 would cost about 2_g of yield (slope, the limit’s multiplier: −3.3_g for each unit of pH)."},
		{price("<=", 2.995, 3, 3.005), "Raising the limit of pH low from 7 to 7.5 would gain next to nothing; lowering it to 6.5 would cost next to nothing."},
		{price("<=", 0, 3, 4), "Raising the limit of pH low from 7 to 7.5 would be worth about 1_g of yield; lowering it to 6.5 would leave no settings that probably keep every limit."},
		{price("<=", 0, 0, 4), "pH low: no settings have a 90_% chance to stay within every limit as it is."},
	} {
		if got := priceWords(o, test.price); got != strings.ReplaceAll(test.want, "_", words.Thin) {
			t.Errorf("%q", got)
		}
	}
	o.Unit = "%"
	shares := price("<=", 1, 3, 4.25)
	shares.Unit = "%"
	says(t, "of shares", priceWords(o, shares), []string{"from 7 to 7.5 % would be worth about 1.3 points of yield", "to 6.5 % would cost about 2 points of yield", "3.3 points for each point of pH"}, nil)
	shares.Unit = "Pa s"
	says(t, "of a unit that ends in s", priceWords(o, shares), []string{"3.3 points for each Pa s of pH"}, nil)
}

// TestPricesThatDifferByNothingAreDrawnFlat: beside the standard deviation of what is expected, as the
// words beside the chart have it, so that the axis has no digits that mean nothing; what differs is drawn
// as large as there is room, however far readings lie apart.
func TestPricesThatDifferByNothingAreDrawnFlat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		best      []float64
		low, high float64
	}{{[]float64{100.45971, 100.45975, 100.45978}, 100.36, 100.56}, {[]float64{96, 100, 101}, 95.6, 101.4}, {[]float64{3.1, 3.4, 4.1}, 3, 4.2}} {
		v := newBench(t, twoLimits).facts(0)
		v.Readout.Metrics["yield"] = study.MetricState{Model: optimizer.Model{Scale: 400}}
		price := study.Price{Constraint: "impurity", Metric: "impurity", Op: "<=", Threshold: 0.5}
		for i := range c.best {
			price.Curve = append(price.Curve, study.PriceStep{Threshold: 0.4 + 0.1*float64(i), Best: &c.best[i], SD: new(0.1), Parameters: &design.Settings{"x": design.NumberValue(0)}})
		}
		v.Prices = []study.Price{price}
		if drawn := v.priceChart().Drawing.Cells[0].Y.Range; math.Abs(drawn[0]-c.low) > 0.01 || math.Abs(drawn[1]-c.high) > 0.01 {
			t.Errorf("%v is drawn from %v to %v", c.best, drawn[0], drawn[1])
		}
	}
}

// TestPricesHaveAsManyDecimals: in a column of the table, whatever each needs by itself.
func TestPricesHaveAsManyDecimals(t *testing.T) {
	t.Parallel()
	v := newBench(t, twoLimits).facts(0)
	price := study.Price{Constraint: "impurity", Metric: "impurity", Op: "<=", Unit: "%"}
	for i, best := range []float64{61, 65, 81} {
		price.Curve = append(price.Curve, study.PriceStep{Threshold: 0.35 + 0.05*float64(i), Best: &best, SD: new([]float64{4.5, 11, 0.7}[i]), Parameters: &design.Settings{"x": design.NumberValue(0)}})
	}
	v.Prices = []study.Price{price}
	for i, want := range []string{"0.35 % 61.0 4.5", "0.40 % 65.0 11.0", "0.45 % 81.0 0.7"} {
		if row := v.priceChart().Table.Rows[i]; strings.ReplaceAll(strings.Join(row[1:4], " "), words.Thin, " ") != want {
			t.Errorf("row %d has %q, not %q", i, row, want)
		}
	}
}

// TestNoLimitIsPassedOverAmongPrices: of one that no move would leave settings for there is no line, and a word.
func TestNoLimitIsPassedOverAmongPrices(t *testing.T) {
	t.Parallel()
	v := newBench(t, twoLimits).facts(0)
	price := func(name string, best ...*float64) study.Price {
		p := study.Price{Constraint: name, Metric: name, Op: "<="}
		for i, x := range best {
			p.Curve = append(p.Curve, study.PriceStep{Threshold: float64(i), Best: x, SD: x, Parameters: &design.Settings{"x": design.NumberValue(0)}})
		}
		return p
	}
	none := price("pressure", nil, nil, nil)
	if v.Prices = []study.Price{none}; v.priceChart() != nil {
		t.Error("there is a chart without a line")
	}
	v.Prices = []study.Price{price("impurity", nil, new(1.0), new(2.0)), none}
	drawn := v.priceChart()
	says(t, "the words", strings.Join(drawn.Notes, " "), []string{"limit of impurity", "Pressure: no settings have a 90"}, nil)
	if len(drawn.Drawing.Cells) != 1 || len(drawn.Table.Rows) != 3 {
		t.Errorf("%d panels, %d rows", len(drawn.Drawing.Cells), len(drawn.Table.Rows))
	}
}

// TestWhatATrialBringsIsNotForeseen: limits that depend on it are in no chance that is told of
// settings beforehand, and where there are no others, no chance is told.
func TestWhatATrialBringsIsNotForeseen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ learned, aim string }{
		{"", ""},
		{`, {"metric": "heat", "op": "<=", "threshold": 2}`, "to stay within every limit that is learned"},
	} {
		b := newBench(t, `{"name": "Queue", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"},
			"constraints": [{"metric": "backlog", "op": "<=", "threshold": 0, "expression": "x - omega", "context": ["omega"]}`+c.learned+`], "algorithm": {"name": "log-cei", "horizon": 20}}`)
		b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Suggested, Seen: 1, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.5)},
			Brought: design.Brought{Context: map[string]float64{"omega": 2}}, KnownValues: map[string]float64{"backlog": -1.5}})
		told := map[string]float64{"yield": 3, "heat": 1}
		if c.learned == "" {
			delete(told, "heat")
		}
		b.tell(1, told)
		b.fit()
		v := b.facts(1)
		o := Outlook{Facts: v, Metric: "yield", X: "x", Y: "x", Metrics: []string{"yield"}}
		o.Map = study.Map{X: []design.Value{design.NumberValue(1)}, Y: []design.Value{design.NumberValue(1)}, Feasible: [][]float64{{1}}, Open: [][]bool{{true}}}
		chance, aim := o.chances()
		if aim != c.aim || (chance == nil) != (aim == "") {
			t.Errorf("%q: the chance %s is %v", c.learned, aim, chance)
		}
		says(t, "the map", o.mapCaption(chance, aim), []string{"Nothing is said of limits that depend on what a trial brings.", aim}, []string{"every limit is", "every limit,"})
		band := study.Band{Mean: []float64{1}, SD: []float64{1}, Lower95: []float64{0}, Upper95: []float64{2}}
		along := []study.Slice{{Parameter: "x", At: o.Map.X, Feasible: []float64{1}, Metrics: map[string]study.Band{"yield": band}}}
		if table := whole(o.sliceTable(along)); strings.Contains(table, "Chance within") != (c.aim != "") || strings.Contains(table, "every limit ") != (c.aim != "") {
			t.Errorf("%q: the table of slices is %s", c.learned, table)
		}
		delete(v.Readout.Recommendation.Mean, "backlog") // which nobody models
		verdict := v.Verdict()
		says(t, "the answer", verdict.Answer.Brought+verdict.Limits[0].Room, []string{", with what that trial broughtinside, with what that trial brought"}, nil)
	}
}

// TestNoModelEstimatesWhatIsKnown: what a limit of known form came to is no estimate, and an
// estimate of next to nothing is none.
func TestNoModelEstimatesWhatIsKnown(t *testing.T) {
	t.Parallel()
	b := newBench(t, `{"name": "Known", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"},
		"constraints": [{"metric": "load", "op": "<=", "threshold": 0.2, "expression": "x"}, {"name": "hottest", "metric": "heat", "op": "<=", "threshold": 2}], "algorithm": {"name": "log-cei", "horizon": 20}}`)
	b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Suggested, Seen: 1, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.5)}, KnownValues: map[string]float64{"load": 0.5}})
	b.tell(1, map[string]float64{"yield": 3, "heat": 3})
	b.fit()
	v := b.facts(0)
	v.Readout.Metrics["heat"] = study.MetricState{Model: optimizer.Model{Scale: 2}}
	little := 6.84e-108
	for name, out := range v.Readout.Violation {
		out.Estimated = &little
		v.Readout.Violation[name], v.History[0].Violation[name] = out, out
	}
	said := captionOf(v.Progress().Chart)
	says(t, "the caption", said, []string{"Violation of load: 1 of 1 reading went beyond the limit of 0.2, by 0.3 in sum", "The model, allowing for noise, estimates 0."}, []string{"10⁻"})
	if strings.Count(said, "The model") != 1 {
		t.Errorf("a model estimates what is known: %s", said)
	}
	says(t, "the table", whole(v.ProgressTable()), []string{"Name:Limit then ", "Name:Hottest then "}, []string{"10⁻"})
}

// TestWhereAMetricIsBestAlongLines: nowhere along one that is flat; and where some lines are not
// spoken of, that is said.
func TestWhereAMetricIsBestAlongLines(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	along := func(low, high float64) study.Slice {
		return study.Slice{Parameter: "x", At: []design.Value{design.NumberValue(0), design.NumberValue(1)}, Metrics: map[string]study.Band{"yield": {Mean: []float64{low, high}, SD: []float64{1, 1}}}, Open: []bool{true, true}}
	}
	o := Outlook{Facts: b.facts(0)}
	says(t, "of two lines", o.sliceWords("yield", []study.Slice{along(1, 2), along(5, 5)}), []string{"along these lines is highest: 2.0 at x 1, 5.0 all along x."}, nil)
	says(t, "of one line", o.sliceWords("yield", []study.Slice{along(1, 2)}), []string{"along this line is highest: 2.0 at x 1."}, nil)
	says(t, "of five lines", o.sliceWords("yield", slices.Repeat([]study.Slice{along(1, 2)}, 5)), []string{"along the first 4 lines is highest: "}, nil)
}

// TestAMapOfStepsOnALogScale: its places are evenly spread on the axis, and each has the value of the
// step that is nearest to it there. What lies evenly is drawn as it is.
func TestAMapOfStepsOnALogScale(t *testing.T) {
	t.Parallel()
	b := newBench(t, `{"name": "Steps", "parameters": [{"name": "cycles", "type": "integer", "low": 1, "high": 32, "scale": "log"}, {"name": "x", "type": "real", "low": 0.01, "high": 1, "scale": "log"}],
		"objective": {"metric": "yield", "direction": "maximize"}, "algorithm": {"name": "random", "horizon": 20}, "seed": 7}`)
	o := Outlook{Facts: b.facts(0), Metric: "yield", X: "cycles", Y: "x"}
	o.Map = study.Map{X: parameter(b.snap.Definition, "cycles").Spread(o.MapSamples()), Y: parameter(b.snap.Definition, "x").Spread(o.MapSamples()), Mean: map[string][][]float64{}, SD: map[string][][]float64{}}
	for i := range o.Map.Y {
		o.Map.Mean["yield"], o.Map.SD["yield"] = append(o.Map.Mean["yield"], nil), append(o.Map.SD["yield"], make([]float64, len(o.Map.X)))
		for _, cycles := range o.Map.X {
			o.Map.Mean["yield"][i] = append(o.Map.Mean["yield"][i], 1000*float64(i)+cycles.Number)
		}
	}
	drawn := o.surface(o.Map.Mean["yield"], "to stay")
	for i, row := range drawn.Mean {
		for j, mean := range row {
			place := math.Pow(32, float64(j)/float64(len(row)-1))
			steps := mean - 1000*float64(i)
			if nearest := math.Abs(math.Log(steps / place)); nearest > math.Abs(math.Log((steps+1)/place)) || steps > 1 && nearest > math.Abs(math.Log((steps-1)/place)) {
				t.Fatalf("at %g cycles it has the value of %g", place, steps)
			}
			if drawn.X[j] != steps || drawn.AtX[j] != fmt.Sprintf("cycles %g", steps) || drawn.Chance[i][j] != mean {
				t.Fatalf("at %g cycles it says %s, chance %v", place, drawn.AtX[j], drawn.Chance[i][j])
			}
		}
	}
	if n := len(drawn.Mean); n != len(o.Map.Y) || drawn.X[0] != 1.0 || drawn.X[len(drawn.X)-1] != 32.0 {
		t.Errorf("%d rows of %d, from %v to %v", n, len(o.Map.Y), drawn.X[0], drawn.X[len(drawn.X)-1])
	}
}

// TestWhereThereIsNoSuchMixtureNothingIsSaid: neither at a place of a map, nor in its table, and words and
// lines go by the others.
func TestWhereThereIsNoSuchMixtureNothingIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t, `{"name": "Mixture", "parameters": [{"name": "a", "type": "real", "low": 0, "high": 1}, {"name": "b", "type": "real", "low": 0, "high": 1}, {"name": "c", "type": "remainder", "total": 1, "of": ["a", "b"]}],
		"objective": {"metric": "yield", "direction": "maximize"}, "constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5}], "algorithm": {"name": "log-cei", "horizon": 20}, "seed": 7}`)
	b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Suggested, Seen: b.snap.Version, Engine: "1", Parameters: design.Settings{"a": design.NumberValue(0.5), "b": design.NumberValue(0.25), "c": design.NumberValue(0.25)}})
	b.tell(1, map[string]float64{"yield": 60, "impurity": 0.1})
	b.fit()
	o := Outlook{Facts: b.facts(1), Metric: "yield", X: "a", Y: "b"}
	at, nothing := []design.Value{design.NumberValue(0), design.NumberValue(1)}, math.NaN()
	of := func(values ...float64) map[string][][]float64 {
		return map[string][][]float64{"yield": {values[:2], values[2:]}}
	}
	o.Map = study.Map{X: at, Y: at, Mean: of(1, 2, 3, nothing), SD: of(0.1, 0.1, 0.1, nothing), Feasible: [][]float64{{0.92, 0.93}, {0.94, nothing}}, Open: [][]bool{{true, true}, {true, false}}}
	drawn := o.mapChart()
	if surface := drawn.Drawing.Surface; surface.Text[1][1] != "" || surface.Chances[1][1] != "" || surface.Text[1][0] == "" || !math.IsNaN(surface.Mean[1][1]) {
		t.Errorf("the map is %+v", surface)
	}
	says(t, "the caption", drawn.Caption, []string{"Expected yield here: from 1.00 at a 0 and b 0 to 3.00 at a 0 and b 1. Colour is", "90 % or more everywhere here", "94 %, at a 0 and b 1", "Nothing is drawn where the remainder would lie outside the range of c."}, []string{"–"})
	o.Map.Mean, o.Map.SD = of(9.81e-7, 1e-6, 1.0175e-6, nothing), of(2e-9, 2e-9, 2e-10, nothing)
	says(t, "ends on both sides of a power of ten", o.mapChart().Caption, []string{"from 0.9810 × 10⁻⁶ at a 0 and b 0 to 1.01750 × 10⁻⁶ at a 0 and b 1"}, nil)
	if first := drawn.Table.Rows[0]; first[2] != "–" || !strings.HasPrefix(first[1], "3.0") {
		t.Errorf("a row of the table is %q", first)
	}
	o.Map.Feasible[0][0], o.Map.Mean["yield"][0][0] = nothing, nothing
	if chance, aim := o.chances(); !strings.Contains(o.mapCaption(chance, aim), "94\u202f%, at a 0 and b 1") {
		t.Errorf("of a map that begins with nothing: %s", o.mapCaption(chance, aim))
	}
}

// TestTheTableOfAMapHasWhatFits: all values of a parameter that has few, and of many some, from its
// first on, the last of 41 among them.
func TestTheTableOfAMapHasWhatFits(t *testing.T) {
	t.Parallel()
	o := Outlook{Facts: newBench(t, twoLimits).facts(0), Metric: "yield", X: "x", Y: "x"}
	for n, want := range map[int]string{1: "0", 2: "0 1", 9: "0 1 2 3 4 5 6 7 8", 10: "0 2 4 6 8", 41: "0 5 10 15 20 25 30 35 40"} {
		o.Map = study.Map{Y: []design.Value{design.NumberValue(7), design.NumberValue(8)}, Mean: map[string][][]float64{"yield": {make([]float64, n), make([]float64, n)}}}
		o.Map.SD = o.Map.Mean
		for i := range n {
			o.Map.X = append(o.Map.X, design.NumberValue(float64(i)))
		}
		table := o.mapTable(nil, "")
		names := strings.Join(lists.Map(table.Head[1:], func(c templates.Column) string { return c.Name }), " ")
		if names != want || len(table.Rows) != 2 || table.Rows[0][0] != "8" || len(table.Rows[1]) != len(table.Head) {
			t.Errorf("of %d values the table has %s, in rows %q", n, names, table.Rows)
		}
	}
}

// TestSlicesReachToWhatWasUsed: a whole number beyond the bounds, and the recommended one, stand on the axis.
func TestSlicesReachToWhatWasUsed(t *testing.T) {
	t.Parallel()
	b := newBench(t, `{"name": "Steps", "parameters": [{"name": "x", "type": "integer", "low": 1, "high": 12}], "objective": {"metric": "yield", "direction": "maximize"}, "algorithm": {"name": "random", "horizon": 20}, "seed": 7}`)
	for _, x := range []float64{0, 7, 15} {
		b.tell(b.ask(x), map[string]float64{"yield": x})
	}
	b.end(ledger.Failed, b.ask(17))
	b.fit()
	o := b.facts(3).Outlook()
	at := []design.Value{design.NumberValue(1), design.NumberValue(12)}
	flat := study.Band{Mean: []float64{1, 2}, SD: []float64{1, 1}, Lower95: []float64{0, 1}, Upper95: []float64{2, 3}}
	along := study.Slice{Parameter: "x", At: at, Metrics: map[string]study.Band{"yield": flat}, Works: []float64{1, 1}}
	cell, _ := o.sliceCell("yield", along, flat, 10)
	if want := []float64{-0.4, 15.4}; !slices.Equal(cell.X.Range, want) {
		t.Errorf("the axis is from %v, not %v", cell.X.Range, want)
	}
	if got, want := o.worksCell(along).X.Range, []float64{0.6, 17.4}; !slices.Equal(got, want) {
		t.Errorf("that of the chance to work is from %v, not %v", got, want)
	}
}

// TestSmallDifferencesOfLargeNumbersAreDrawn: a line, its band and a map of what varies by
// hundredths about a million are not flat.
func TestSmallDifferencesOfLargeNumbersAreDrawn(t *testing.T) {
	t.Parallel()
	at, mean := []design.Value{design.NumberValue(0), design.NumberValue(1)}, []float64{1e6 + 0.01, 1e6 + 0.02}
	o := Outlook{Facts: newBench(t, twoLimits).facts(0), Metric: "yield", X: "x", Y: "x"}
	o.Map = study.Map{X: at, Y: at[:1], Mean: map[string][][]float64{"yield": {mean}}, SD: map[string][][]float64{"yield": {{0.001, 0.001}}}}
	if drawn := o.surface(nil, "").Mean[0]; !slices.Equal(drawn, mean) {
		t.Errorf("the map is drawn from %v", drawn)
	}
	band := study.Band{Mean: mean, SD: []float64{0.001, 0.001}, Lower95: mean, Upper95: mean}
	cell, _ := o.sliceCell("yield", study.Slice{Parameter: "x", At: at}, band, 10)
	for _, trace := range cell.Traces {
		for _, y := range slices.Concat(trace.Y, trace.Low, trace.High) {
			if y != mean[0] && y != mean[1] {
				t.Errorf("%s is drawn at %v", trace.Name, y)
			}
		}
	}
}

// TestMultipliersOfAnotherAlgorithmsTrials are not said to be those that chose them; nor do bounds
// call these trials the algorithm's own.
func TestMultipliersOfAnotherAlgorithmsTrials(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	for i, algorithm := range []string{"other-ucb", "other-ucb", b.snap.Definition.Algorithm.Name} {
		number := len(b.snap.Trials) + 1
		b.add(ledger.Chosen, ledger.ChosenData{Number: number, Origin: ledger.Suggested, Seen: b.snap.Version, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(float64(i) / 4)},
			Decision: &ledger.Decision{Algorithm: algorithm, Seen: b.snap.Version, Engine: "1"}})
		b.tell(number, map[string]float64{"yield": 60, "impurity": 0.2, "pressure": 2})
	}
	facts := func(b *bench) Facts {
		v := b.facts(0)
		v.Readout.Multipliers = map[string]float64{"impurity": 3}
		v.History = slices.Repeat([]study.HistoryRow{{Multipliers: map[string]float64{"impurity": 1}}}, len(b.snap.Trials))
		return v
	}
	_, notes := facts(b).progressPanels().multiplierPanel([]int{0})
	says(t, "the notes", strings.Join(notes, " "), []string{"from the first trial on: another algorithm chose trials 1 and 2, by the numbers on their pages."}, nil)
	b.limit(0, 0.4)
	_, notes = facts(b).progressPanels().multiplierPanel([]int{0})
	says(t, "the notes with a limit moved", strings.Join(notes, " "), []string{"would have been with log-cei and today’s limits from the first trial on: another algorithm"}, nil)
	v := facts(b)
	bounded(&v, "impurity", 9)
	counted := "the trials that the algorithm chose itself, counting trials 1 and 2 of another algorithm"
	_, regret := v.progressPanels().regretPanel()
	says(t, "the bound on regret", regret, []string{"Over " + counted + ", its bound is 12 points"}, nil)
	says(t, "that on violation", v.progressPanels().violationCaption(b.snap.Definition.Constraints[0], v.Readout.Violation["impurity"]), []string{"bound, on " + counted + ", is 9 points"}, nil)
	budget := func(chosen ...int) string {
		return v.riskOf("any limit", &optimizer.Risk{Most: 0.1, Now: 0.1, Trials: 18, Chosen: chosen}).Words
	}
	says(t, "the budget of risk", budget(2, 3), []string{"10 % of the 18 trials that the model chooses, counting trial 2 of another algorithm, may break any limit"}, nil)
	says(t, "that after a first design", budget(3), []string{"10 % of the 18 trials that the model chooses may break any limit"}, nil)
	own := newBench(t, twoLimits)
	own.curve(3, 0, "yield", "impurity", "pressure")
	if _, notes := facts(own).progressPanels().multiplierPanel([]int{0}); strings.Contains(strings.Join(notes, " "), "another algorithm") {
		t.Errorf("%q", notes)
	}
}

// TestARiseNamesTheTrialThatMovedIt: readings count in the round in which they were told, or at the end of
// its epoch, and none that was taken out; estimates, and what is known beforehand, in that of their own trial.
func TestARiseNamesTheTrialThatMovedIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.fit()
	for range 4 {
		b.ask(0.5)
	}
	for i, impurity := range []float64{0.9, 0.1, 0.8, 0.7} {
		b.tell(i+1, map[string]float64{"yield": 60, "impurity": impurity, "pressure": 2})
		if i == 2 {
			b.ask(0.5)
			b.ask(0.5)
		}
	}
	b.end(ledger.Excluded, 3)
	for _, c := range []struct {
		path       []float64
		byEstimate bool
		want       string
	}{
		{[]float64{1, 1, 1, 1, 3, 3, 5}, false, "It rose after trials 1 and 4, which broke the limit."},
		{[]float64{1, 1, 1, 1, 1, 3, 3}, false, "It rose after trial 1, which broke the limit."},
		{[]float64{1, 1, 3, 3, 5, 5, 5}, true, "It rose after trial 4, which broke the limit, and after 1 other,"},
	} {
		v := b.facts(0)
		v.Readout.Multipliers, v.Readout.ByEstimate = map[string]float64{"impurity": c.path[6]}, c.byEstimate
		for i := range v.History {
			v.History[i].Multipliers = map[string]float64{"impurity": c.path[i]}
		}
		_, notes := v.progressPanels().multiplierPanel([]int{0})
		says(t, fmt.Sprint(c.path), strings.Join(notes, " "), []string{c.want}, nil)
	}
}

// TestARiseBeforeAScaleIsNoReadings: what is read before it is known how large a metric's readings are
// moves no multiplier until it is, and all of it does then.
func TestARiseBeforeAScaleIsNoReadings(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	said := func(byEstimate bool, path ...float64) string {
		v := b.facts(0)
		v.Readout.ByEstimate, v.Readout.Multipliers = byEstimate, map[string]float64{"impurity": path[len(path)-1]}
		for i := range v.History {
			v.History[i].Multipliers = map[string]float64{"impurity": path[i]}
		}
		_, notes := v.progressPanels().multiplierPanel([]int{0})
		return strings.Join(notes, " ")
	}
	for _, impurity := range []float64{0.1, 0.9, 0.2} {
		b.tell(b.ask(impurity), map[string]float64{"yield": 60, "impurity": impurity, "pressure": 2})
	}
	says(t, "without a scale", said(false, 1, 1, 1.4, 1.7), []string{"It rose after trials 2 and 3, not for a reading beyond the limit but"}, nil)
	b.fit()
	for _, byEstimate := range []bool{false, true} {
		says(t, "with one", said(byEstimate, 0, 0, 0, 2), []string{"It rose after trial 2, which broke the limit."}, nil)
	}
	says(t, "with a floor", said(false, 1, 1, 1.4, 3.1), []string{"It rose after trial 2, which broke the limit, and after 1 other, as"}, nil)
}

// TestMultipliersGoByTodaysLimits: they are worked out as if a limit had always been where it is now, so
// that it is that limit which a trial broke when they rose, and not those that chose it.
func TestMultipliersGoByTodaysLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.fit()
	for _, impurity := range []float64{0.1, 0.4, 0.2} {
		b.tell(b.ask(impurity), map[string]float64{"yield": 60, "impurity": impurity, "pressure": 2})
	}
	notes := func() string {
		v := b.facts(0)
		v.Readout.Multipliers = map[string]float64{"impurity": 3}
		for i, price := range []float64{1, 1, 3} {
			v.History[i].Multipliers = map[string]float64{"impurity": price}
		}
		_, notes := v.progressPanels().multiplierPanel([]int{0})
		return strings.Join(notes, " ")
	}
	says(t, "with the limit where it was", notes(), []string{"It rose after trial 2, not for a reading beyond the limit but"}, []string{"would have been"})
	b.limit(0, 0.3)
	says(t, "with it moved", notes(), []string{"It rose after trial 2, which broke the limit.",
		"These are what the multipliers would have been with today’s limits from the first trial on: what each decision used is on its trial’s page."}, nil)
	b.limit(0, 0.5)
	says(t, "with it moved back", notes(), nil, []string{"would have been"})
}

// TestEveryMultiplierIsALineOfItsOwn: eight are told apart, the largest where there are more, and the
// others are quiet.
func TestEveryMultiplierIsALineOfItsOwn(t *testing.T) {
	t.Parallel()
	var limits []string
	prices := map[string]float64{}
	for i := range 10 {
		limits = append(limits, fmt.Sprintf(`{"metric": "m%d", "op": "<=", "threshold": 1}`, i))
		prices[fmt.Sprintf("m%d", i)] = float64(i)
	}
	b := newBench(t, `{"name": "many", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"}, "constraints": [`+strings.Join(limits, ", ")+`]}`)
	b.tell(b.ask(0.5), map[string]float64{"yield": 60, "m0": 0.5})
	v := b.facts(0)
	v.Readout.Multipliers, v.History = prices, []study.HistoryRow{{Multipliers: map[string]float64{"m9": 1}}}
	p := v.progressPanels()
	styles := map[chart.Style]string{}
	panel, _ := p.multiplierPanel(p.allLimits())
	for _, trace := range panel.Traces {
		styles[trace.Style] += " " + strings.TrimPrefix(trace.Name, "multiplier of ")
	}
	if len(styles) != 9 || styles[chart.Sixth] != " m9" || styles[chart.Quiet] != " m1 m0" {
		t.Errorf("multipliers are drawn as %v", styles)
	}
}

// TestLinesOfDifferentNamesLookDifferent: in the legend, which all panels share, none has the style of
// another.
func TestLinesOfDifferentNamesLookDifferent(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(8, 0, "yield", "impurity", "pressure")
	b.tell(b.ask(0.5), map[string]float64{"yield": 60, "impurity": 5.1, "pressure": 2})
	b.fit()
	v := b.facts(0)
	v.Readout.Multipliers = map[string]float64{"impurity": 1}
	names := map[chart.Style]string{}
	for _, panel := range v.Progress().Chart.Drawing.Panels {
		for _, trace := range panel.Traces {
			if other := cmp.Or(names[trace.Style], trace.Name); other != trace.Name {
				t.Errorf("“%s” and “%s” look alike", other, trace.Name)
			}
			names[trace.Style] = trace.Name
		}
	}
	if len(names) < 6 {
		t.Errorf("only these are drawn: %v", names)
	}
}
