package pages

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// progress is how well the study does: the objective, then a row of charts for each constraint.
func (s *Site) progress(ctx context.Context, v visit) (templates.Progress, error) {
	progress := templates.Progress{Study: v.head}
	if len(v.snap.Trials) == 0 {
		progress.Empty = "When the first results are in, the best value within the limits will be drawn here, and beside it how close each limit is."
		return progress, nil
	}
	rows, err := s.Studies.HistoryOf(ctx, v.snap)
	if progress.Empty = withoutModel(err); progress.Empty != "" {
		return progress, nil
	}
	if err != nil {
		return progress, err
	}
	readout, err := s.Studies.StateOf(ctx, v.snap)
	if err != nil {
		return progress, err
	}
	progress.Best = v.bestChart(readout.Recommendation)
	for _, c := range v.snap.Definition.Constraints {
		row := templates.ConstraintProgress{Title: constraintTitle(c), Value: v.valueChart(c), Violation: v.violationChart(c, rows, readout)}
		if _, priced := readout.Multipliers[c.Name]; priced {
			chart := v.multiplierChart(c, rows, readout)
			row.Multiplier = &chart
		}
		progress.Constraints = append(progress.Constraints, row)
	}
	progress.Calibration = calibrationLine(v.snap.Definition, readout.Calibration)
	return progress, nil
}

// calibrationLine says how often readings fell inside the band predicted for them.
func calibrationLine(d design.Definition, calibrations map[string]study.Calibration) string {
	line := ""
	for _, metric := range modelled(d) {
		c, there := calibrations[metric]
		if !there || c.Count < 5 {
			continue
		}
		if line == "" {
			line = "How far to trust its bands (calibration): the 95" + thin + "% band drawn beforehand held "
		} else {
			line += ", "
		}
		line += fmt.Sprintf("%.0f%s%% of %d readings of %s", 100*c.Coverage95, thin, c.Count, metric)
	}
	if line == "" {
		return ""
	}
	return line + "."
}

const trialAxis = "trial"

// marks collects points by shape.
type marks struct {
	traces map[templates.Style]*templates.Trace
}

var markNames = map[templates.Style]string{
	templates.Feasible: "within every limit", templates.Violated: "a limit broken", templates.Unknown: "not known yet",
	templates.Waiting: "waiting (predicted)", templates.Recommended: "recommended",
}

func (m *marks) add(style templates.Style, x, y any, text, link string) {
	if m.traces == nil {
		m.traces = map[templates.Style]*templates.Trace{}
	}
	trace := m.traces[style]
	if trace == nil {
		trace = &templates.Trace{Name: markNames[style], Style: style}
		m.traces[style] = trace
	}
	trace.X, trace.Y = append(trace.X, x), append(trace.Y, y)
	trace.Text, trace.Link = append(trace.Text, text), append(trace.Link, link)
}

// all returns the traces in a fixed order, so that colours and legends stay where they are.
func (m *marks) all() []templates.Trace {
	var traces []templates.Trace
	for _, style := range []templates.Style{templates.Unknown, templates.Feasible, templates.Violated, templates.Waiting, templates.Recommended} {
		if trace := m.traces[style]; trace != nil {
			traces = append(traces, *trace)
		}
	}
	return traces
}

// styleOf is the mark of a trial whose value is known.
func styleOf(t *ledger.Trial) templates.Style {
	switch {
	case t.Feasible == nil:
		return templates.Unknown
	case *t.Feasible:
		return templates.Feasible
	}
	return templates.Violated
}

// bestChart is the objective over trials, with the best value within the limits so far.
func (v visit) bestChart(recommended *study.Recommendation) templates.Chart {
	d := v.snap.Definition
	o := d.Objective
	var points marks
	best := templates.Trace{Name: "best within limits so far", Style: templates.Step}
	table := templates.Table{Head: []templates.Column{{Name: "Trial", Number: true}, {Name: capitalised(o.Metric), Unit: o.Unit, Number: true}, {Name: "Result"}, {Name: "Best so far", Unit: o.Unit, Number: true}}}
	running := v.snap.BestSoFar()
	for i := range v.snap.Trials {
		t := v.snap.Trials[i]
		value := v.plotObjective(&points, t)
		bestText := "–"
		if running[i] > 0 {
			y := v.snap.Trial(running[i]).Metrics[o.Metric].Value
			best.X, best.Y = append(best.X, t.Number), append(best.Y, y)
			bestText = number(y)
		}
		table.Rows = append(table.Rows, []string{strconv.Itoa(t.Number), value, stateWords(t), bestText})
	}
	if recommended != nil {
		if m, told := v.snap.Trial(recommended.Number).Metrics[o.Metric]; told {
			points.add(templates.Recommended, recommended.Number, m.Value, fmt.Sprintf("Trial %d, recommended", recommended.Number), trialURL(v.snap.ID, recommended.Number))
		}
	}
	title := "Best " + o.Metric + " within the limits so far"
	if len(d.Constraints) == 0 {
		title = "Best " + o.Metric + " so far"
	}
	return v.chart("best", title, v.bestCaption(recommended), templates.Axis{Title: trialAxis, Whole: true}, templates.Axis{Title: axisName(o.Metric, o.Unit)},
		append([]templates.Trace{best}, points.all()...), nil, table)
}

// plotObjective marks a trial's objective, or what is predicted while it waits, and returns it as text.
func (v visit) plotObjective(points *marks, t *ledger.Trial) string {
	o := v.snap.Definition.Objective
	if m, told := t.Metrics[o.Metric]; told {
		points.add(styleOf(t), t.Number, m.Value, fmt.Sprintf("Trial %d: %s, %s", t.Number, v.measured(o.Metric, m), stateWords(t)), trialURL(v.snap.ID, t.Number))
		return number(m.Value)
	}
	if t.Waiting() && t.Decision != nil {
		if mean, predicted := t.Decision.Mean[o.Metric]; predicted {
			points.add(templates.Waiting, t.Number, mean, fmt.Sprintf("Trial %d waits; predicted %s", t.Number, uncertain(mean, t.Decision.SD[o.Metric], o.Unit)), trialURL(v.snap.ID, t.Number))
		}
	}
	return "–"
}

func (v visit) bestCaption(recommended *study.Recommendation) string {
	d := v.snap.Definition
	best := v.snap.Best()
	if best == nil {
		if len(d.Constraints) == 0 {
			return "No " + d.Objective.Metric + " has been measured yet."
		}
		return "No trial is known to be within every limit yet."
	}
	since := len(v.snap.Trials) - best.Number
	caption := fmt.Sprintf("Best so far: %s at trial %d", quantity(best.Metrics[d.Objective.Metric].Value, d.Objective.Unit), best.Number)
	switch since {
	case 0:
		caption += ", the last one."
	default:
		caption += fmt.Sprintf("; %s since then.", count(since, "trial", "trials"))
	}
	if recommended == nil {
		return caption + " Nothing is recommended yet: no trial has a 90" + thin + "% chance to stay within every limit."
	}
	caption += fmt.Sprintf(" Recommended: trial %d, predicted %s", recommended.Number, uncertain(recommended.Mean[d.Objective.Metric], recommended.SD[d.Objective.Metric], d.Objective.Unit))
	if len(d.Constraints) == 0 {
		return caption + "."
	}
	return caption + fmt.Sprintf(", chance to stay within every limit %s.", percent(recommended.FeasibilityProbability))
}

// valueChart is a constraint's metric over trials against its limit.
func (v visit) valueChart(c design.Constraint) templates.Chart {
	var points marks
	table := templates.Table{Head: []templates.Column{{Name: "Trial", Number: true}, {Name: capitalised(c.Metric), Unit: c.Unit, Number: true}, {Name: "Limit"}}}
	within, known, worst := 0, 0, 0
	for i := range v.snap.Trials {
		t := v.snap.Trials[i]
		m, there := t.Metrics[c.Metric]
		if !there {
			v.plotPredicted(&points, t, c)
			continue
		}
		style, words := templates.Feasible, "within"
		if broken(c, m.Value) {
			style, words = templates.Violated, "broken"
		} else {
			within++
		}
		known++
		if worst == 0 || c.Excess(m.Value) > c.Excess(v.snap.Trial(worst).Metrics[c.Metric].Value) {
			worst = t.Number
		}
		points.add(style, t.Number, m.Value, fmt.Sprintf("Trial %d: %s, limit %s", t.Number, v.measured(c.Metric, m), words), trialURL(v.snap.ID, t.Number))
		table.Rows = append(table.Rows, []string{strconv.Itoa(t.Number), number(m.Value), words})
	}
	caption := "Nothing measured yet."
	if known > 0 {
		extreme := "highest"
		if c.Op == ">=" {
			extreme = "lowest"
		}
		caption = fmt.Sprintf("Within the limit in %d of %s; %s %s at trial %d.", within, count(known, "trial", "trials"), extreme,
			quantity(v.snap.Trial(worst).Metrics[c.Metric].Value, c.Unit), worst)
	}
	return v.chart("value-"+shortHash([]string{c.Name}), capitalised(c.Metric)+" against its limit", caption,
		templates.Axis{Title: trialAxis, Whole: true}, templates.Axis{Title: axisName(c.Metric, c.Unit)}, renamed(points.all()), []templates.Limit{limitLineOf(c)}, table)
}

// renamed makes the legend speak of this limit alone.
func renamed(traces []templates.Trace) []templates.Trace {
	for i := range traces {
		switch traces[i].Style {
		case templates.Feasible:
			traces[i].Name = "within the limit"
		case templates.Violated:
			traces[i].Name = "limit broken"
		}
	}
	return traces
}

func (v visit) plotPredicted(points *marks, t *ledger.Trial, c design.Constraint) {
	if !t.Waiting() || t.Decision == nil {
		return
	}
	if mean, predicted := t.Decision.Mean[c.Metric]; predicted {
		points.add(templates.Waiting, t.Number, mean, fmt.Sprintf("Trial %d waits; predicted %s", t.Number, uncertain(mean, t.Decision.SD[c.Metric], c.Unit)), trialURL(v.snap.ID, t.Number))
	}
}

func limitLineOf(c design.Constraint) templates.Limit {
	return templates.Limit{Value: c.Threshold, Label: "limit " + quantity(c.Threshold, c.Unit), Above: c.Op == "<="}
}

// violationChart is how far a limit was exceeded in sum, with the model's estimate and the algorithm's bound.
func (v visit) violationChart(c design.Constraint, rows []study.HistoryRow, readout study.Readout) templates.Chart {
	hard := templates.Trace{Name: "hard: every excess counts", Style: templates.Step}
	soft := templates.Trace{Name: "soft: margin pays back", Style: templates.Second}
	estimated := templates.Trace{Name: "model’s estimate", Style: templates.Line}
	bound := templates.Trace{Name: "bound", Style: templates.Bound}
	table := templates.Table{Head: []templates.Column{{Name: "Trial", Number: true}, {Name: "Hard", Unit: c.Unit, Number: true}, {Name: "Soft", Unit: c.Unit, Number: true}, {Name: "Estimate", Unit: c.Unit, Number: true}, {Name: "Bound", Unit: c.Unit, Number: true}}}
	for _, row := range rows {
		now := row.Violation[c.Name]
		push(&hard, row.Number, &now.Hard)
		push(&soft, row.Number, &now.Soft)
		push(&estimated, row.Number, now.Estimated)
		push(&bound, row.Number, now.Bound)
		if now.BoundKind != nil {
			bound.Name = "bound (" + *now.BoundKind + ")"
		}
		table.Rows = append(table.Rows, []string{strconv.Itoa(row.Number), rough(now.Hard), rough(now.Soft), optional(now.Estimated), optional(now.Bound)})
	}
	bound.Off = dwarfs(readout.Violation[c.Name])
	return v.chart("violation-"+shortHash([]string{c.Name}), "Cumulative violation of "+c.Name, violationCaption(c, readout.Violation[c.Name]),
		templates.Axis{Title: trialAxis, Whole: true}, templates.Axis{Title: axisName("sum of excess", c.Unit), FromZero: true},
		drawable(hard, soft, estimated, bound), nil, table)
}

func violationCaption(c design.Constraint, now study.ViolationOut) string {
	caption := fmt.Sprintf("Readings exceeded the limit by %s%s in sum, over %s (hard); counting margin against it leaves %s%s (soft).",
		rough(now.Hard), unitAfter(c.Unit), count(now.Rounds, "trial", "trials"), rough(now.Soft), unitAfter(c.Unit))
	if now.Hard == 0 {
		caption = "No reading has exceeded the limit so far."
	}
	if now.Estimated != nil {
		caption += fmt.Sprintf(" The model, allowing for noise, estimates %s%s.", rough(*now.Estimated), unitAfter(c.Unit))
	}
	if now.Bound != nil {
		caption += fmt.Sprintf(" The algorithm’s bound, on the trials it chose itself, is %s%s (%s).", rough(*now.Bound), unitAfter(c.Unit), *now.BoundKind)
		if dwarfs(now) {
			caption += " Press its name to draw it."
		}
	}
	return caption
}

// dwarfs tells whether the bound is so far away that drawing it would flatten everything else.
func dwarfs(now study.ViolationOut) bool {
	return now.Bound != nil && *now.Bound > 10*max(now.Hard, now.Soft)
}

// push adds a point when there is one.
func push(trace *templates.Trace, x int, y *float64) {
	if y != nil {
		trace.X, trace.Y = append(trace.X, x), append(trace.Y, *y)
	}
}

func optional(x *float64) string {
	if x == nil {
		return "–"
	}
	return rough(*x)
}

// drawable drops traces without points.
func drawable(traces ...templates.Trace) []templates.Trace {
	var kept []templates.Trace
	for _, trace := range traces {
		if len(trace.X) > 0 {
			kept = append(kept, trace)
		}
	}
	return kept
}

// multiplierChart is a constraint's price over trials.
func (v visit) multiplierChart(c design.Constraint, rows []study.HistoryRow, readout study.Readout) templates.Chart {
	trace := templates.Trace{Name: "multiplier", Style: templates.Step}
	table := templates.Table{Head: []templates.Column{{Name: "Trial", Number: true}, {Name: "Multiplier", Number: true}}}
	for _, row := range rows {
		if price, there := row.Multipliers[c.Name]; there {
			trace.X, trace.Y = append(trace.X, row.Number), append(trace.Y, price)
			table.Rows = append(table.Rows, []string{strconv.Itoa(row.Number), rough(price)})
		}
	}
	now := readout.Multipliers[c.Name]
	trace.X, trace.Y = append(trace.X, readout.Round), append(trace.Y, now)
	table.Rows = append(table.Rows, []string{strconv.Itoa(readout.Round) + " (next)", rough(now)})
	caption := fmt.Sprintf("The next decision weighs possible excess with %s.", rough(now))
	if len(trace.Y) > 1 {
		first, _ := trace.Y[0].(float64)
		switch {
		case now > first:
			caption += fmt.Sprintf(" It has risen from %s: the limit has been getting dearer to break.", rough(first))
		case now < first:
			caption += fmt.Sprintf(" It has fallen from %s.", rough(first))
		}
	}
	if slices.Contains(readout.AtCeiling, c.Name) {
		caption += " That is the most the algorithm's settings allow."
	}
	return v.chart("multiplier-"+shortHash([]string{c.Name}), "Price of breaking it (multiplier)", caption,
		templates.Axis{Title: trialAxis, Whole: true}, templates.Axis{Title: "multiplier", FromZero: true}, []templates.Trace{trace}, nil, table)
}

// chart puts the parts of a chart over trials together.
func (v visit) chart(id, title, caption string, x, y templates.Axis, traces []templates.Trace, limits []templates.Limit, table templates.Table) templates.Chart {
	x.Range = []float64{0.5, float64(len(v.snap.Trials)) + 1.5}
	return templates.Chart{
		ID: "chart-" + id, Title: title, Caption: caption, Table: table,
		Drawing: templates.Drawing{Title: title, Caption: caption, Group: "trials", X: x, Y: y, Traces: traces, Limits: limits},
	}
}
