package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// mostLines is how many trials a table has at most, the newest.
const mostLines = 500

// Progress shows how well the study does: panels over the same trials, for the objective, each
// limit, its violation and its multiplier.
func (v Facts) Progress() templates.Progress {
	progress := templates.Progress{Empty: v.Modelless}
	if len(v.Snap.Trials) == 0 {
		progress.Empty = "When the first results are in, the best value within the limits will be drawn here, and below it how close each limit is."
	}
	if progress.Empty != "" {
		return progress
	}
	p := v.progressPanels()
	pressing, others := p.splitLimits()
	drawing := p.panelsOf(pressing, true)
	if len(drawing.Panels) == 0 {
		progress.Empty = strings.Join(p.notes, " ") + " What comes in will be drawn here."
		return progress
	}
	title := words.Either(!limited(v.Snap.Definition), "Readings over trials", "Readings, limits and violation over trials")
	progress.Chart = p.panelChart("chart-progress", title, drawing, slices.DeleteFunc(p.allLimits(), func(j int) bool { return slices.Contains(others, j) }))
	if len(others) > 0 {
		p.notes = nil
		more := p.panelChart("chart-limits", "The other limits and their violation over trials", p.panelsOf(others, false), others)
		progress.More, progress.MoreLimits = &more, p.otherLimitsWords(others)
	}
	return progress
}

// ProgressTable is the table of numbers behind Progress.
func (v Facts) ProgressTable() templates.Table {
	p := v.progressPanels()
	return p.table(p.allLimits())
}

// panelsOf draws the panels of the limits with these indices, below those of the objective if first
// is set.
func (p *progressPanels) panelsOf(limits []int, first bool) chart.Drawing {
	drawing := chart.Drawing{X: p.trialAxis()}
	add := func(panel chart.Panel, notes ...string) {
		drawing.Panels = append(drawing.Panels, panel)
		p.addNotes(notes...)
	}
	if first {
		if o := p.Snap.Definition.Objective; p.Snap.HasReading(o.Metric) {
			add(p.bestPanel())
		} else {
			p.addNotes(design.Capitalised(o.Metric) + ": no reading " + words.Either(readingsExcluded(p.Snap), "that counts.", "yet."))
		}
		if panel, said := p.regretPanel(); len(panel.Traces) > 0 {
			add(panel, said)
		}
		for j := range p.Snap.Definition.Constraints {
			p.addNotes(p.whyNotDrawn(j))
		}
	}
	for _, j := range limits {
		add(p.limitPanel(j))
		if c := p.Snap.Definition.Constraints[j]; p.Readout.Violation[c.Name].Hard > 0 {
			add(p.violationPanel(c))
		}
	}
	if panel, notes := p.multiplierPanel(limits); len(panel.Traces) > 0 {
		add(panel, notes...)
	}
	drawing.Events = p.events()
	if p.dense() {
		p.addNotes(fmt.Sprintf("Of %s, single marks are the newest %d, those that broke a limit and those that were the best so far; each grey bar spans all readings of %s, lowest to highest.",
			design.Count(len(p.Snap.Trials), "trial", "trials"), newestMarks, design.Count(p.trialsPerBar(), "trial", "trials")))
	}
	return drawing
}

// mostLimits is how many limits are drawn at once. If more than one would remain, the remaining
// ones are folded away.
const mostLimits = 3

// splitLimits divides the limits that need a panel, by index, into those broken most often (the
// earlier one where two are equal), which are drawn at once, and the others, if there are many.
func (p *progressPanels) splitLimits() (pressing, others []int) {
	var broken []int
	for j, c := range p.Snap.Definition.Constraints {
		n, _ := countBroken(p.Snap.Trials, c)
		broken = append(broken, n)
		if p.whyNotDrawn(j) == "" {
			pressing = append(pressing, j)
		}
	}
	if len(pressing) <= mostLimits+1 {
		return pressing, nil
	}
	slices.SortStableFunc(pressing, func(a, b int) int { return cmp.Compare(broken[b], broken[a]) })
	pressing, others = pressing[:mostLimits], slices.Sorted(slices.Values(pressing[mostLimits:]))
	slices.Sort(pressing)
	return pressing, others
}

// otherLimitsWords names the limits that are folded away, and how often each was broken.
func (p *progressPanels) otherLimitsWords(limits []int) string {
	names := lists.Map(limits, func(j int) string {
		c := p.Snap.Definition.Constraints[j]
		broken, known := countBroken(p.Snap.Trials, c)
		return design.Name(c.Name) + " (" + words.Either(broken > 0, fmt.Sprintf("broken in %d of %d", broken, known), "never broken") + ")"
	})
	return fmt.Sprintf("%d more limits, broken no more often: %s", len(limits), design.Listed(names, "and"))
}

func (p *progressPanels) allLimits() []int {
	return lists.Below(len(p.Snap.Definition.Constraints))
}

// panelChart puts panels under one title, with their table, or with the address that it is fetched
// from.
func (p *progressPanels) panelChart(id, title string, drawing chart.Drawing, limits []int) templates.Chart {
	c := templates.Chart{ID: id, Title: title, Notes: p.notes, Beside: true, Drawing: drawing}
	if len(p.Snap.Trials) > tableAtOnce && p.Fetches() {
		c.Later = p.laterPart("progress-table")
	} else {
		c.Table = p.table(limits)
	}
	return p.withSource(c)
}

// table has the numbers behind the panels of some limits, of the newest trials if there are many.
func (p *progressPanels) table(limits []int) templates.Table {
	o, show := p.Snap.Definition.Objective, p.metricColumns()
	reading := func(t *ledger.Trial, metric string) string {
		if t != nil {
			if m, there := t.Metrics[metric]; there {
				return p.withUnitThen(show[metric](m.Value), metric, p.Snap.Since(t.Number, metric))
			}
		}
		return "–"
	}
	var table columns
	table.add(number("Trial", ""), func(i int) string { return strconv.Itoa(i + 1) })
	table.add(column("Result"+words.Either(limitsChanged(p.Snap.Revisions), " by today’s limits", "")), func(i int) string { return stateWords(p.Snap.Definition, p.Snap.Trials[i]) })
	table.add(number(design.Capitalised(o.Metric), o.Unit), func(i int) string { return reading(p.Snap.Trials[i], o.Metric) })
	table.add(number("Best so far", o.Unit), func(i int) string { return reading(p.Snap.Trial(p.bestSoFar[i]), o.Metric) })
	if len(p.trueMeanRegret) > 0 {
		table.add(number("Best in truth", o.Unit), func(i int) string { return words.Rough(p.trueOptimum[i]) })
		table.add(number("behind what could be had, on average, R(t)/t", design.UnitApart(o.Unit)), func(i int) string { return words.Rough(p.trueMeanRegret[i]) })
	}
	if p.Readout.Regret != nil {
		table.add(number("Bound on regret so far", design.UnitApart(o.Unit)), func(i int) string { return words.RoughOr(p.History[i].Regret.Bound) })
	}
	for _, j := range limits {
		c := p.Snap.Definition.Constraints[j]
		table.add(number(design.Capitalised(c.Metric), c.Unit), func(i int) string { return reading(p.Snap.Trials[i], c.Metric) })
		table.add(number(words.Either(c.Name == c.Metric, "Limit", design.Capitalised(c.Name))+" then", c.Unit), func(i int) string {
			then := p.limitsThen[i][j]
			return words.Either(then.Unit == c.Unit, design.WriteNumber(then.Threshold), words.Quantity(then.Threshold, then.Unit))
		})
		p.violationColumns(&table, c)
		if _, priced := p.Readout.Multipliers[c.Name]; priced {
			table.add(number("Average so far", c.Unit), func(i int) string { return words.RoughOr(p.averageOf(j, i)) })
			table.add(number("Multiplier", ""), func(i int) string { return words.Rough(p.History[i].Multipliers[c.Name]) })
		}
	}
	return table.rows(max(0, len(p.Snap.Trials)-mostLines), len(p.Snap.Trials))
}

// violationColumns adds the running sums of a limit's violation, empty if it has no reading.
func (p *progressPanels) violationColumns(table *columns, c design.Constraint) {
	_, known := countBroken(p.Snap.Trials, c)
	add := func(name string, s runningSum) {
		table.add(number(name, design.UnitApart(c.Unit)), func(i int) string { return words.RoughOr(words.Either(known > 0, s.at(i), nil)) })
	}
	hard, soft, estimate, bound := p.violationSums(c)
	add("Violation so far, hard", hard)
	add("soft", soft)
	add("model’s estimate", estimate)
	add("bound", bound)
}

// metricColumns gives, for each metric, the function that writes all its readings with the same
// decimals.
func (p *progressPanels) metricColumns() map[string]func(float64) string {
	show := map[string]func(float64) string{}
	for _, metric := range tableMetrics(p.Snap.Definition) {
		var values []float64
		for _, m := range readings(p.Snap.Trials, metric) {
			values = append(values, m.Value)
		}
		show[metric] = words.Column(values)
	}
	return show
}

// series is one metric's readings over trials, as marks, or as marks and bars if there are many
// trials.
type series struct {
	points   marks
	spans    chart.Trace
	values   []float64
	original []float64 // first values of the readings corrected since
}

// seriesOf collects the readings of a metric. style chooses the mark of a reading; stands tells
// which older trials keep a mark of their own when there are many.
func (p *progressPanels) seriesOf(metric string, style func(*ledger.Trial, float64) chart.Style, stands func(*ledger.Trial) bool) series {
	s := series{points: newMarks(p.Snap.Definition)}
	if p.dense() {
		s.spans = p.rangeBars(metric)
	}
	for i, t := range p.Snap.Trials {
		m, there := t.Metrics[metric]
		said := func() string { return design.Name(metric) + " " + Measured(p.Snap, t, metric, m) }
		switch {
		case !there:
			p.plotWaiting(&s.points, t, metric)
			continue
		case shownAsDoubted(t, metric):
			s.points.add(chart.Doubted, t.Number, m.Value, said()+", in doubt", t.Number)
			continue
		case !p.dense() || i >= len(p.Snap.Trials)-newestMarks || stands(t):
			mark := style(t, m.Value)
			s.points.add(mark, t.Number, m.Value, said()+p.limitThenWords(mark), t.Number)
		}
		s.values = append(s.values, m.Value)
		if was := firstTold(m); was != nil {
			s.original = append(s.original, *was)
			s.points.add(chart.Original, t.Number, *was, fmt.Sprintf("%s first told as %s, corrected since", metric, words.Quantity(*was, p.Snap.InUnitsOf(m.ToldSeq).Unit(metric))), t.Number)
		}
	}
	return s
}

// shownAsDoubted tells whether a reading is drawn as in doubt, apart from the others: it is in
// doubt, and its trial counts.
func shownAsDoubted(t *ledger.Trial, metric string) bool { return t.Doubted(metric) && !t.Excluded }

// rangeBars are the bars from the lowest to the highest reading of a few trials each.
func (p *progressPanels) rangeBars(metric string) chart.Trace {
	bars := chart.Trace{Name: "readings, lowest to highest", Style: chart.Spans}
	for trials := range slices.Chunk(p.Snap.Trials, p.trialsPerBar()) {
		read := ledger.RangeOf()
		for t, m := range readings(trials, metric) {
			if !shownAsDoubted(t, metric) {
				read = read.With(ledger.RangeOf(m.Value))
			}
		}
		if read.Count > 0 {
			bars.AddRange(float64(trials[0].Number+trials[len(trials)-1].Number)/2, read.Low, read.High)
		}
	}
	return bars
}

// limitThenWords says how a reading relates to the limits of its time, "" if there are none.
func (p *progressPanels) limitThenWords(style chart.Style) string {
	switch {
	case style == chart.Excluded:
		return ", excluded"
	case len(p.Snap.Definition.Constraints) == 0:
		return ""
	case style == chart.Violated:
		return ", limit broken"
	case style == chart.Feasible:
		return ", within"
	}
	return ", not known"
}

// plotWaiting marks the prediction of a reading that is still to come, if its trial had one.
func (p *progressPanels) plotWaiting(points *marks, t *ledger.Trial, metric string) {
	if !t.Waiting() || !p.hadPrediction(t, metric) {
		return
	}
	if mean, there := t.Decision.Mean[metric]; there {
		expected := expectedWords(*p.Snap.InUnitsOf(t.Decision.Seen), metric, t.Decision.Mean, t.Decision.SD)
		points.add(chart.Waiting, t.Number, mean, metric+" waits, "+expected+" "+withoutNoise, t.Number)
	}
}

// axis is the y axis for a series. Its range contains must, and values of may unless they would
// flatten the rest. said says which readings are outside the range, under name, since several
// limits of one metric have different ranges.
func (p *progressPanels) axis(metric, name string, s series, must, may []float64) (axis chart.Axis, said string) {
	edge := s.points.of(chart.Doubted, chart.Waiting, chart.Recommended) // must not flatten the rest
	if len(s.values)+len(must) == 0 {                                    // there is no rest
		for _, trace := range edge {
			must = append(must, lists.Map(trace.Y, func(y any) float64 { return y.(float64) })...)
		}
	}
	m := axisScaleOf(p.Readout.Metrics[metric], s.values, s.original, must, may)
	within, _ := widen(robustRange(m.allTo(s.values), m.allTo(must)), m.allTo(may), farFactor-1)
	within, beyond := widen(within, m.allTo(s.original), 1)
	broken := s.points.of(chart.Violated)
	within = besideTheRest(m, within, broken)
	moveToEdge(m, within, append(edge, broken...))
	if said = beyondWords(m.allTo(s.values), within); said != "" {
		said = design.OpeningName(name) + ": " + said
	}
	if beyond > 0 {
		said = strings.TrimSpace(said + fmt.Sprintf(" %s: %s corrected since, as first told, beyond the range drawn.", design.OpeningName(name), design.Count(beyond, "reading", "readings")))
	}
	return m.axis(within), said
}

// traces lists everything to be drawn of a series.
func (s *series) traces(lines ...chart.Trace) []chart.Trace {
	return append(nonEmpty(append([]chart.Trace{s.spans}, lines...)...), s.points.all()...)
}

// bestPanel is the objective over trials, with a line of the best reading so far within the limits.
func (p *progressPanels) bestPanel() (panel chart.Panel, said, beyond string) {
	o := p.Snap.Definition.Objective
	best := func(t *ledger.Trial) bool { return p.bestSoFar[t.Number-1] == t.Number }
	line := chart.Trace{Name: "best reading so far", Style: chart.Step}
	if len(p.Snap.Definition.Constraints) > 0 {
		line.Name = "best within today’s limits so far"
	}
	for _, t := range p.Snap.Trials {
		if best(t) {
			line.Add(t.Number, t.Metrics[o.Metric].Value)
		}
	}
	s := p.seriesOf(o.Metric, func(t *ledger.Trial, _ float64) chart.Style { return styleUnder(p.limitsThen[t.Number-1], t) }, best)
	truth, must, said := p.truthLines()
	if n := len(line.Y); n > 0 {
		p.extend(&line)
		must = append(must, line.Y[n].(float64))
	}
	if r := p.recommended(); r != nil {
		mean := r.Mean[o.Metric]
		if len(p.Snap.Trial(r.Number).Doubts) == 0 {
			must = append(must, mean)
		}
		expected := expectedWords(p.Snap.Definition, o.Metric, r.Mean, r.SD)
		s.points.add(chart.Recommended, r.Number, mean, design.Name(o.Metric)+" of the recommended settings, "+expected+" "+withoutNoise, r.Number)
	}
	axis, beyond := p.axis(o.Metric, o.Metric, s, must, nil)
	return chart.Panel{Title: words.AxisName(design.Capitalised(o.Metric), o.Unit), Height: bestHeight, Y: axis, Traces: s.traces(append(truth, line)...)}, strings.TrimSpace(p.bestWords() + " " + said), beyond
}

func (p *progressPanels) bestWords() string {
	best := p.Snap.Best()
	o := p.Snap.Definition.Objective
	if best == nil {
		return whyNoBest(p.Snap)
	}
	text := fmt.Sprintf("Best reading so far: %s at trial %d", words.Quantity(best.Metrics[o.Metric].Value, p.Snap.UnitTold(best.Number, o.Metric)), best.Number)
	since := 0 // readings told after it, whichever trial was asked for first
	for _, m := range readings(p.Snap.Trials, o.Metric) {
		if m.ToldSeq > best.Metrics[o.Metric].ToldSeq {
			since++
		}
	}
	return words.Either(since > 0, text+fmt.Sprintf("; %s since then.", design.Count(since, "reading", "readings")), text+", the last one.")
}

// whyNoBest says why there is no best reading: no trial is within every limit, or none of those
// counts.
func whyNoBest(snap *ledger.Snapshot) string {
	objective := snap.Definition.Objective.Metric
	reasons := lists.Pick(snap.Trials, func(t *ledger.Trial) (string, bool) {
		_, told := t.Metrics[objective]
		why := words.Either(told, "in doubt", "without a reading of "+objective)
		return words.Either(t.Excluded, "excluded", why), t.Feasible != nil && *t.Feasible && (told || limited(snap.Definition))
	})
	slices.Sort(reasons)
	switch {
	case len(reasons) > 0:
		return "No best reading" + words.Either(snap.State.Over(), "", " yet") + ": what " + words.Either(limited(snap.Definition), "is within every limit", "was read") + " is " + design.Listed(slices.Compact(reasons), "or") + "."
	case snap.State.Over():
		return "No trial was found to be within every limit."
	}
	return "No trial is known to be within every limit yet."
}

// whyNotDrawn says why limit j gets no panel, "" if it gets one. It gets none without a reading. On
// a page it also gets none if five readings or more, not all equal, neither break the limit as it
// was then or is now nor come nearer to it than half their range.
func (p *progressPanels) whyNotDrawn(j int) string {
	now := p.Snap.Definition.Constraints[j]
	title := design.Capitalised(design.Name(now.Name) + words.Either(now.Name != now.Metric, ": ", " ") + limitText(now))
	var values []float64
	nearest, closest, at := math.Inf(1), math.Inf(1), 0 // headroom by the limits of then and now, by that of now, and its trial
	for t, m := range readings(p.Snap.Trials, now.Metric) {
		room := now.Headroom(m.Value)
		if nearest = min(nearest, room, p.limitsThen[t.Number-1][j].Headroom(m.Value)); nearest < 0 {
			return ""
		}
		if room < closest {
			closest, at = room, t.Number
		}
		values = append(values, m.Value)
	}
	if len(values) == 0 {
		return title + ": no reading yet."
	}
	apart := slices.Max(values) - slices.Min(values)
	if p.Paper || len(values) < 5 || apart == 0 || nearest < 0.5*apart {
		return ""
	}
	return fmt.Sprintf("%s: never broken and far from it, so not drawn; the closest reading was %s at trial %d, %s inside.", title,
		Measured(p.Snap, p.Snap.Trial(at), now.Metric, p.Snap.Trial(at).Metrics[now.Metric]), at, words.RoughlyApart(closest, now.Unit))
}

// limitPanel is a limit's metric over trials, with the limit as it was at each of them.
func (p *progressPanels) limitPanel(j int) (panel chart.Panel, said, beyond string) {
	now := p.Snap.Definition.Constraints[j]
	style := func(t *ledger.Trial, value float64) chart.Style {
		return readingUnder(p.limitsThen[t.Number-1][j], t, value)
	}
	s := p.seriesOf(now.Metric, style, func(t *ledger.Trial) bool { return style(t, t.Metrics[now.Metric].Value) == chart.Violated })
	path := p.limitPath(j)
	said, lines := p.limitWords(j), []chart.Trace(nil)
	if _, priced := p.Readout.Multipliers[now.Name]; priced {
		average, _ := p.line(runningSum{"average of the trials so far", chart.Eighth, func(i int) *float64 { return p.averageOf(j, i) }})
		lines, said = append(lines, average), said+" "+p.averageWords(j)
	}
	nearest, others := splitNearest(s.values, path.Y)
	axis, beyond := p.axis(now.Metric, now.Name, s, nearest, others)
	for i, y := range path.Y {
		if len(axis.Range) > 0 && (y < axis.Range[0] || y > axis.Range[1]) {
			from, unit := int(path.X[i]+0.5), now.Unit
			when := fmt.Sprintf("from trial %d on", from)
			if i+1 < len(path.X) {
				until := int(path.X[i+1] - 0.5)
				when = words.Either(until == from, fmt.Sprintf("for trial %d", from), fmt.Sprintf("for trials %d to %d", from, until))
				unit = p.limitsThen[from-1][j].Unit
			}
			said += fmt.Sprintf(" Its limit of %s, %s, lies beyond the range drawn.", words.Quantity(y, unit), when)
		}
	}
	title := words.AxisName(design.Capitalised(now.Metric), now.Unit) + " and its limit" + words.Either(now.Name != now.Metric, ", "+now.Name, "")
	return chart.Panel{Title: title, Height: limitHeight, Y: axis, Traces: s.traces(lines...), Limits: []chart.Limit{path}}, said, beyond
}

// splitNearest separates the limit that is nearest to the readings from the others.
func splitNearest(values, limits []float64) (nearest, others []float64) {
	if len(values) == 0 || len(limits) == 0 {
		return limits, nil
	}
	low, high := slices.Min(values), slices.Max(values)
	away := func(y float64) float64 { return max(low-y, y-high, 0) }
	limits = slices.SortedStableFunc(slices.Values(limits), func(a, b float64) int { return cmp.Compare(away(a), away(b)) })
	return limits[:1], limits[1:]
}

// limitPath is the limit that each trial is judged by, and as it is for the next one.
func (p *progressPanels) limitPath(j int) chart.Limit {
	now := p.Snap.Definition.Constraints[j]
	path, was := chart.Limit{Label: limitLabel(now)}, now
	step := func(i int, c design.Constraint) {
		if i == 0 || limitDiffers(was, c) {
			path.X, path.Y, path.Above = append(path.X, float64(i)+0.5), append(path.Y, c.Threshold), append(path.Above, c.Op == "<=")
		}
		was = c
	}
	for i := range p.Snap.Trials {
		step(i, p.limitsThen[i][j])
	}
	step(len(p.Snap.Trials), now)
	return path
}

func (p *progressPanels) limitWords(j int) string {
	now := p.Snap.Definition.Constraints[j]
	known, then, worst, turned := 0, 0, 0, false
	for t, m := range readings(p.Snap.Trials, now.Metric) {
		known++
		if !p.limitsThen[t.Number-1][j].Holds(m.Value) {
			then++
		}
		turned = turned || p.limitsThen[t.Number-1][j].Holds(m.Value) != now.Holds(m.Value)
		if worst == 0 || now.Excess(m.Value) > now.Excess(p.Snap.Trial(worst).Metrics[now.Metric].Value) {
			worst = t.Number
		}
	}
	extreme := words.Either(now.Op == ">=", "lowest", "highest")
	text := fmt.Sprintf("%s: limit broken in %d of %s; %s %s at trial %d.", design.OpeningName(now.Name), then, design.Count(known, "trial", "trials"), extreme,
		Measured(p.Snap, p.Snap.Trial(worst), now.Metric, p.Snap.Trial(worst).Metrics[now.Metric]), worst)
	if today, _ := countBroken(p.Snap.Trials, now); turned {
		text += fmt.Sprintf(" Each is judged by the limit of its time; by today’s, %s, it is %d.", words.Limit(now), today)
	}
	for i, then := range slices.Backward(p.limitsThen) {
		if then[j].Expression != now.Expression {
			return text + fmt.Sprintf(" Up to trial %d another formula held; since then it is %s.", i+1, now.Expression)
		}
	}
	return text
}

// revisionNames are the names, in the legend, of the events on the axis.
var revisionNames = map[ledger.Kind]string{ledger.Corrected: "correction", ledger.Excluded: "exclusion", ledger.Included: "inclusion",
	ledger.Reconfigured: "change of settings", ledger.Fitted: "model refitted"}

const limitChanged = "change of a limit"

// events lists the events on the axis. Those of one kind that would be drawn at one place are
// merged.
func (p *progressPanels) events() []chart.Event {
	type place struct {
		kind string
		bin  int
	}
	at, counts, first := map[place]int{}, []int{}, []string{} // of each event in the list
	var list []chart.Event
	for i, revision := range p.Snap.Revisions {
		kind, marked := revisionNames[revision.Kind]
		if !marked {
			continue
		}
		text := revisionWords(revision)
		if revision.Kind == ledger.Reconfigured {
			if changed := limitChanges(p.Snap.Revisions[i-1].Limits, revision.Limits); changed != "" {
				kind, text = limitChanged, changed
			}
		}
		here := place{kind, revision.After / p.trialsPerBar()}
		if n, there := at[here]; there {
			counts[n]++
			list[n].Text = fmt.Sprintf("%d × %s, the first: %s", counts[n], kind, first[n])
			continue
		}
		at[here], counts, first = len(list), append(counts, 1), append(first, text)
		list = append(list, chart.Event{X: float64(revision.After) + 0.5, Kind: kind, Text: text})
	}
	return list
}

func revisionWords(revision ledger.Revision) string {
	of := words.Either(revision.Number > 0, fmt.Sprintf(" of trial %d", revision.Number), "")
	reason := words.Either(revision.Reason != "", ": "+revision.Reason, "")
	return revisionNames[revision.Kind] + of + fmt.Sprintf(" after trial %d", revision.After) + reason
}
