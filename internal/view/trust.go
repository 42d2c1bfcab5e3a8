package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// trust says how far the model's bands can be trusted, and whether the process has drifted.
func (v Facts) trust() templates.Trust {
	var t templates.Trust
	drifted := lists.Pick(v.metricsShown(), func(metric string) (metricDrift, bool) {
		c := v.Readout.Calibration[metric]
		return metricDrift{study.DriftOf(c), metric}, c.Count >= study.FewPredictions
	})
	for _, d := range drifted {
		t.Calibrations = slices.Concat(t.Calibrations, calibrationWords(d.metric, v.Readout.Calibration[d.metric]), toldScaleWords(d.metric, v.Readout.Metrics[d.metric].Told))
		line := templates.Drift{Text: d.text()}
		if d.isDrifting() && v.Head.Operates && !v.Snap.State.Over() && !v.Snap.Compiled().Algorithm.ForDrift {
			line.Offer = v.Head.URL("/reconfigure?way=drift&since=" + strconv.Itoa(d.Since))
		}
		t.Drifts = append(t.Drifts, line)
	}
	if len(drifted) > 0 {
		t.Chart = new(v.driftChart(drifted))
	} else {
		unsaid := fmt.Sprintf("Nothing can be said before %d readings have been predicted.", study.FewPredictions)
		if slices.ContainsFunc(v.Snap.Trials, func(t *ledger.Trial) bool { return t.Origin == ledger.Imported }) {
			unsaid += " Rows imported before there was a model were not."
		}
		t.Calibrations = append(t.Calibrations, unsaid)
	}
	t.Theorem = v.theorem()
	t.Summary, t.Open = trustSummary(drifted, slices.ContainsFunc(drifted, func(d metricDrift) bool { return bandsMisjudged(v.Readout.Calibration[d.metric]) }))
	t.Open = t.Open || v.Paper
	return t
}

// modelDoubt says that what the model expects may not hold: because a metric drifts, unless the
// algorithm looks at the last trials only, or because its bands are too narrow. It is "" if nothing
// speaks for either.
func (v Facts) modelDoubt() string {
	calibrations := v.Readout.Calibration
	said := lists.Map(study.Drifting(v.Snap, calibrations), func(found study.Finding) string { return found.Says })
	if len(said) > 0 {
		said = append(said, "The process may have drifted, and what is expected here rests on older readings too.")
	}
	narrow := lists.Map(study.Miscalibrated(v.Snap, calibrations), func(found study.Finding) string {
		c := calibrations[found.Metric]
		return fmt.Sprintf("%d of %d of %s", c.Inside(), c.Count, design.Name(found.Metric))
	})
	if len(narrow) > 0 {
		said = append(said, "Of the readings, "+design.Listed(narrow, "and")+" fell in bands that should hold 95"+words.Thin+"%: what is expected here, and each chance, is less certain than stated.")
	}
	return strings.Join(said, " ")
}

// bandsMisjudged tells whether the readings speak against the bands drawn before them.
func bandsMisjudged(c optimizer.Calibration) bool {
	return slices.ContainsFunc([]optimizer.Coverage{c.Coverage, c.New, c.Repeated}, func(c optimizer.Coverage) bool { return study.JudgeBands(c) > study.NothingAgainst })
}

// trustSummary is one line on calibration and drift; look tells whether either needs attention.
func trustSummary(drifted []metricDrift, misjudged bool) (line string, look bool) {
	if len(drifted) == 0 {
		return "Can the model be trusted? Too early to say.", false
	}
	line = "Can the model be trusted? Nothing speaks against its bands"
	if misjudged {
		line = "Can the model be trusted? Some bands are not as they should be"
	}
	switch {
	case slices.ContainsFunc(drifted, metricDrift.isDrifting):
		return line + "; the process may have drifted.", true
	case slices.ContainsFunc(drifted, func(d metricDrift) bool { return len(d.Past) > 0 }):
		return line + "; no sign of drift any more.", misjudged
	}
	return line + "; no sign of drift.", misjudged
}

// calibrationWords counts the readings inside the bands drawn before them, at new and at repeated
// settings separately where there are both.
func calibrationWords(metric string, c optimizer.Calibration) []string {
	lines := []string{design.OpeningName(metric) + ": " + study.CoverageWords(c.Coverage)}
	if c.New.Count > 0 && c.Repeated.Count > 0 {
		lines = append(lines, design.OpeningName(metric)+" at new settings: "+study.CoverageWords(c.New), design.OpeningName(metric)+" at repeated settings: "+study.CoverageWords(c.Repeated))
	}
	return lines
}

// toldScaleWords says by what factor the standard deviations told with readings are scaled, if they
// are.
func toldScaleWords(metric string, scale float64) []string {
	times := words.Brief(scale)
	if scale <= 0 || times == "1" {
		return nil
	}
	return []string{fmt.Sprintf("%s: standard deviations told with readings count %s times as told, since readings scatter %s than they say.", design.OpeningName(metric), times, words.Either(scale > 1, "more", "less"))}
}

type metricDrift struct {
	study.Drift
	metric string
}

func (d metricDrift) isDrifting() bool { return d.Since > 0 }

// mostTimes is the largest factor that is written as a number.
const mostTimes = 1e6

// text says whether the metric drifts, or did, if the sum crossed its limit and came back.
func (d metricDrift) text() string {
	past := len(d.Past)
	switch {
	case d.Shifted != nil:
		times := words.Brief(min(d.Shifted.Factor, mostTimes))
		return fmt.Sprintf("%s: its readings are %s%s times likelier with a shift there than without; if one process in a hundred has a shift, it takes %s times for one to be more likely than none.",
			d.Came(d.metric), words.Either(d.Shifted.Factor > mostTimes, "over ", ""), times, words.Brief(d.Shifted.Limit))
	case d.Since > 0:
		return d.Came(d.metric) + "."
	case past == 0:
		return fmt.Sprintf("%s: no sign of it in %s.", design.OpeningName(d.metric), design.Count(len(d.Numbers), "reading", "readings"))
	}
	last := d.Past[past-1]
	said := fmt.Sprintf("%s: no sign of it any more. From trial %d to %d it came out %s than predicted, again and again, until the model had caught up", design.OpeningName(d.metric), last.From, last.Until, words.Either(last.Rising, "higher", "lower"))
	if past > 1 {
		said += fmt.Sprintf("; %s before that", words.Either(past == 2, "once", design.Count(past-1, "time", "times")))
	}
	return said + "."
}

// mostDrifts is how many metrics the drift chart shows: there are as many marks and lines to tell
// them apart.
const mostDrifts = 4

// driftChart draws the residuals over trials, and their CUSUM against its limit.
func (v Facts) driftChart(list []metricDrift) templates.Chart {
	residuals := chart.Panel{Title: "Residual (standard deviations)", Height: limitHeight}
	sums := chart.Panel{Title: "Its sum on either side (CUSUM)", Height: limitHeight}
	table := templates.Table{Head: []templates.Column{column("Metric"), number("Trial", ""), number("Residual", ""), number("CUSUM up", ""), number("CUSUM down", "")}}
	var zs []float64
	ss := []float64{study.CUSUMLimit + 1, -study.CUSUMLimit - 1}
	drawn, others := list, ""
	if len(list) > mostDrifts {
		far := func(d metricDrift) float64 {
			return words.Either(d.isDrifting(), math.Inf(1), max(slices.Max(d.Up), slices.Max(d.Down)))
		}
		drawn = slices.SortedStableFunc(slices.Values(list), func(a, b metricDrift) int { return cmp.Compare(far(b), far(a)) })[:mostDrifts]
		others = fmt.Sprintf(" Of %d metrics, the %d are drawn whose sums went farthest; the study’s page has the numbers of all.", len(list), mostDrifts)
	}
	for i, d := range drawn {
		points, up, down := d.traces(i)
		residuals.Traces, sums.Traces = append(residuals.Traces, points), append(sums.Traces, up, down)
		zs, ss = append(zs, d.Residuals...), append(ss, d.Up...)
		for _, down := range d.Down {
			ss = append(ss, -down)
		}
	}
	for _, d := range list {
		for j := max(0, len(d.Numbers)-tableAtOnce); j < len(d.Numbers); j++ {
			table.Rows = append(table.Rows, []string{d.metric, strconv.Itoa(d.Numbers[j]), words.Fixed(d.Residuals[j], 2), words.Fixed(d.Up[j], 2), words.Fixed(d.Down[j], 2)})
		}
	}
	residuals.Y.Range = robustRange(zs, []float64{-3, 3})
	sums.Y.Range = robustRange(nil, ss)
	sums.Limits = []chart.Limit{{X: []float64{0.5}, Y: []float64{study.CUSUMLimit}, Label: strconv.Itoa(study.CUSUMLimit), Above: []bool{true}}}
	drawing := chart.Drawing{X: v.trialAxis()}
	ends := drawing.X.Range
	sums.Traces = append(sums.Traces, chart.Trace{Name: "limit", Style: chart.Threshold, X: []any{ends[0], ends[1]}, Y: []any{-study.CUSUMLimit, -study.CUSUMLimit}})
	drawing.Panels = []chart.Panel{residuals, sums}
	caption := "Residual: each point is a reading minus what all readings before it led to expect, in standard deviations of a reading (noise included); where a prediction has long tails, the distance that 5\u202f% exceed counts as 2. The sum below, in which no residual counts as more than " + strconv.Itoa(study.CUSUMMost) + ", grows when readings come out on one side again and again; beyond 5 or −5 the process may have drifted: one that does not change and is predicted well gets there by chance about once in " + strconv.Itoa(study.CUSUMFalseAlarm) + " readings."
	return v.withSource(templates.Chart{ID: "chart-drift", Title: "Readings against their predictions", Caption: caption + others, Table: table, Drawing: drawing})
}

// traces are the residuals of metric i, only the newest if there are many, and their sums on either
// side, which hold to the end of the last trial.
func (d metricDrift) traces(i int) (points, up, down chart.Trace) {
	points = chart.Trace{Name: d.metric, Style: chart.Style(fmt.Sprintf("metric%d", i))}
	up = chart.Trace{Name: "sum for " + d.metric, Style: lineStyle(chart.Step, i)}
	down = up
	last := len(d.Numbers) - 1
	for j, number := range d.Numbers {
		if len(d.Numbers) < 2*mostMarks || j > last-mostMarks {
			points.Add(number, d.Residuals[j])
			points.Text = append(points.Text, d.metric+" "+words.Fixed(d.Residuals[j], 2)+" standard deviations")
		}
		up.Add(number, d.Up[j])
		down.Add(number, -d.Down[j])
	}
	up.Add(d.Numbers[last]+1, d.Up[last])
	down.Add(d.Numbers[last]+1, -d.Down[last])
	return points, up, down
}

// standingMarks are the words for how an assumption stands, each with a mark in front.
var standingMarks = map[policy.Standing]string{policy.Met: "✓ met", policy.NotMet: "✗ not met", policy.Unknown: "? cannot be known"}

// theorem is what the bounds on violation and regret rest on, nil if none is drawn.
func (v Facts) theorem() *templates.Theorem {
	var figures []string
	for _, c := range v.Snap.Definition.Constraints {
		if now := v.Readout.Violation[c.Name]; now.Bound != nil && v.Snap.HasReading(c.Metric) {
			figures = append(figures, strings.TrimSuffix(fmt.Sprintf("%s for %s. %s", words.RoughlyApart(*now.Bound, c.Unit), design.Name(c.Name), boundLeftWords(now, c.Unit)), "."))
		}
	}
	theorem, regret := study.TheoremOf(v.Snap, v.Readout), v.Readout.Regret
	bounded := regret != nil && regret.Bound != nil
	if theorem == nil || len(figures) == 0 && !bounded {
		return nil
	}
	whole := *theorem
	shown := templates.Theorem{
		Source:      fmt.Sprintf("%s (%s, %d).", theorem.Name, theorem.Paper, theorem.Year),
		Assumptions: templates.Table{Head: []templates.Column{column("Here"), column("The theorem assumes"), column("Why")}},
	}
	var drawn []string
	if len(figures) > 0 {
		drawn = append(drawn, "violation")
		shown.Said = append(shown.Said, "It bounds "+theorem.Bounds+".",
			"Here, over "+v.boundedTrials()+": "+strings.Join(figures, "; ")+". "+boundVerdict(*theorem, "violation"))
	}
	if bounded {
		drawn, whole = append(drawn, "regret"), theorem.OnRegret()
		shown.Said = append(shown.Said, "It bounds "+theorem.Regret+".",
			fmt.Sprintf("Here, over %s: %s. %s", words.Either(len(figures) > 0, "the same trials", v.boundedTrials()), words.RoughlyApart(*regret.Bound, v.Snap.Definition.Objective.Unit), boundVerdict(whole, "regret")))
	}
	if theorem.Short != "" {
		shown.Said = append(shown.Said, theorem.Short)
	}
	met, notMet, unknown := whole.Counts()
	shown.Summary = fmt.Sprintf("What %s on %s rest on? Of %d assumptions: met here %d, not met %d, and %d cannot be known.",
		words.Either(len(drawn) == 1, "does the bound", "do the bounds"), design.Listed(drawn, "and"), len(whole.Findings), met, notMet, unknown)
	for i, finding := range whole.Findings {
		text := words.Either(i < len(theorem.Findings), "", "For the bound on regret: ") + whole.Assumptions[i].Text
		shown.Assumptions.Rows = append(shown.Assumptions.Rows, []string{standingMarks[finding.Standing], text, words.Sentence(finding.Because)})
	}
	return &shown
}

// boundVerdict says what the bound on violation or regret is worth.
func boundVerdict(theorem study.Theorem, of string) string {
	_, notMet, _ := theorem.Counts()
	return words.Either(notMet == 0 && theorem.Short == "", "It holds if what cannot be known holds.", "It shows how "+of+" grows with trials, and is no promise.")
}

const truthName = "the truth, which only the simulated lab knows"

// truthLines draws the true optimum over trials and the mean of the true values so far. must holds
// their last values, which the chart has to contain; said sums them up, with R(t)/t.
func (p *progressPanels) truthLines() (lines []chart.Trace, must []float64, said string) {
	if len(p.trueMeanRegret) == 0 {
		return nil, nil, ""
	}
	best, reachable := p.line(runningSum{"best that can be had, in truth", chart.Truth, func(i int) *float64 { return &p.trueOptimum[i] }})
	mean, averages := p.line(runningSum{"average of the trials so far, in truth", chart.Seventh, func(i int) *float64 { return design.FiniteOrNil(p.trueAverage[i]) }})
	last, unit := len(p.trueMeanRegret)-1, p.Snap.Definition.Objective.Unit
	behind, within, it := p.trueMeanRegret[last], "within the limits", "it"
	if slices.Min(p.trueOptimum) < slices.Max(p.trueOptimum) {
		it = "what could be had with each"
	}
	if slices.ContainsFunc(p.Snap.Definition.Constraints, design.Constraint.Given) { // these differ between trials
		within += " on average"
	}
	return []chart.Trace{best, mean}, append(reachable, averages[max(0, len(averages)-1):]...), fmt.Sprintf("In truth %s can be had %s; on average the trials so far are %s%s %s (R(t)/t).",
		words.Roughly(p.trueOptimum[last], unit), within, words.RoughlyApart(max(behind, -behind), unit), words.Either(behind < 0, " above, beyond a limit,", " behind"), it)
}

// averageOf is the mean of a metric's readings up to trial i+1, nil if there are none. It equals
// the threshold plus V(t)/t = (1/t) Σ_{s≤t} g_s in the metric's unit.
func (p *progressPanels) averageOf(j, i int) *float64 {
	c, sum := p.Snap.Definition.Constraints[j], p.tallies[i][j]
	if sum.Known == 0 {
		return nil
	}
	return new(c.Exceeded(sum.Balance / float64(sum.Known)))
}

// averageWords says where that mean is, and how much is left before the sum over all planned trials
// breaks the limit.
func (p *progressPanels) averageWords(j int) string {
	last := len(p.tallies) - 1
	c, sum := p.Snap.Definition.Constraints[j], p.tallies[last][j]
	if sum.Known == 0 {
		return ""
	}
	said := fmt.Sprintf("On average %s is %s per trial against its limit of %s (V(t)/t is %s): ", design.Name(c.Metric), words.With(words.RoughOr(p.averageOf(j, last)), c.Unit),
		words.Quantity(c.Threshold, c.Unit), words.RoughlyApart(sum.Balance/float64(sum.Known), c.Unit))
	if sum.Balance > 0 {
		said += words.RoughlyApart(sum.Balance, c.Unit) + " in sum is overspent"
	} else {
		said += "where margin pays for excess, " + words.RoughlyApart(-sum.Balance, c.Unit) + " in sum is left to spend"
	}
	left := p.Snap.Definition.Algorithm.Horizon
	for _, t := range p.Snap.Trials {
		if _, read := t.Metrics[c.Metric]; read || t.Excluded || !t.Waiting() {
			left--
		}
	}
	if left > 0 && !p.Snap.State.Over() {
		said += fmt.Sprintf(", so that the %s %s or %s", words.Either(left == 1, "reading still to come may be", fmt.Sprintf("%d readings still to come may average", left)),
			words.Roughly(c.Exceeded(-sum.Balance/float64(left)), c.Unit), words.Either(c.Op == ">=", "more", "less"))
	}
	return said + "."
}
