package pages

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

const (
	sliceSamples = 101
	mapSamples   = 41
	// mostSlices is how many slice charts are drawn before the page shows one metric at a time.
	mostSlices = 12
	// mostObservations is how many observations a chart of the model shows, the newest.
	mostObservations = 1000
)

// outlook is what the beliefs section was asked to show.
type outlook struct {
	point   design.Settings
	through string
	held    string // the same, of the settings that a chart has no axis for
	metrics []string
	metric  string // of the map
	x, y    string
	form    templates.Form
}

// beliefs is what the model believes: a map of two parameters and a slice along each.
func (s *Site) beliefs(ctx context.Context, v visit) (templates.Beliefs, error) {
	section := templates.Beliefs{Study: v.head, Action: v.url, At: v.at}
	if v.parts {
		section.Part = v.head.URL("/parts/beliefs")
	}
	if !v.anyTold() {
		section.Empty = "After the first result, the model’s picture of each metric will be drawn here: what it expects, how sure it is, and where the limits leave room."
		return section, nil
	}
	readout, err := s.Studies.StateOf(ctx, v.snap)
	if section.Empty = withoutModel(err); section.Empty != "" {
		return section, nil
	}
	if err != nil {
		return section, err
	}
	o := v.outlook(readout.Recommendation)
	section.Form, section.Through = o.form, o.through
	v.beliefInputs(&section, o)
	if section.Slices, err = s.sliceRows(ctx, v, o, readout); err != nil {
		return section, err
	}
	if len(section.Slices) == 0 {
		section.Empty = "This study’s prior knows only its candidates, so there is nothing to draw between them. The trials are in the table below."
		return section, nil
	}
	if o.x == "" {
		return section, nil
	}
	drawn, err := s.Studies.Map(ctx, v.snap, o.x, o.y, o.point, mapSamples)
	if err != nil {
		return section, err
	}
	chart := v.mapChart(o, drawn)
	section.Map = &chart
	return section, nil
}

// beliefsQuery keeps what chooses the charts where that is not the usual choice: a metric, two parameters, and the settings of the point
// that the slices pass through, with the trial that the form showed before somebody set them.
func (v visit) beliefsQuery() url.Values {
	d, kept := v.snap.Definition, url.Values{}
	if metric := v.query.Get("metric"); metric != d.Objective.Metric && slices.Contains(modelled(d), metric) {
		kept.Set("metric", metric)
	}
	x, y := mapAxes(d, v.query.Get("x"), v.query.Get("y"))
	if usualX, usualY := mapAxes(d, "", ""); x != usualX || y != usualY {
		kept.Set("x", x)
		kept.Set("y", y)
	}
	shown := v.trialNamed(v.query.Get("from"))
	for i, p := range d.Parameters {
		field := pinField(i)
		if text := v.query.Get(field); v.query.Has(field) && p.Type != design.Remainder && (shown == nil || text != design.FormatSetting(p, shown.Parameters[p.Name])) {
			kept.Set(field, text)
			if shown != nil {
				kept.Set("from", strconv.Itoa(shown.Number))
			}
		}
	}
	return kept
}

// trialNamed is the trial of that number, nil when there is none.
func (v visit) trialNamed(text string) *ledger.Trial {
	number, _ := strconv.Atoi(text)
	return v.snap.Trial(number)
}

// anyTold tells whether any modelled metric has a value yet.
func (v visit) anyTold() bool {
	metrics := modelled(v.snap.Definition)
	return slices.ContainsFunc(v.snap.Trials, func(t *ledger.Trial) bool {
		return slices.ContainsFunc(metrics, func(metric string) bool { _, there := t.Metrics[metric]; return there && !t.Excluded })
	})
}

// outlook reads what to show from the query; what is missing or senseless is replaced by a good choice.
func (v visit) outlook(recommended *study.Recommendation) outlook {
	d, query := v.snap.Definition, v.query
	o := outlook{form: templates.Form{Values: map[string][]string{}, Errors: map[string]string{}}}
	trial := v.snap.Trial(len(v.snap.Trials))
	o.through = fmt.Sprintf("through the last trial, %d", trial.Number)
	if best := v.snap.Best(); best != nil {
		trial, o.through = best, fmt.Sprintf("through the best trial so far, %d", best.Number)
	}
	if recommended != nil {
		trial, o.through = v.snap.Trial(recommended.Number), fmt.Sprintf("through the recommended point, trial %d", recommended.Number)
	}
	o.point, o.held = trial.Parameters.Clone(), fmt.Sprintf("as in trial %d", trial.Number)
	o.form.Values["from"] = []string{fmt.Sprint(trial.Number)}
	if o.readPins(d, query, v.pinnedFrom(trial)) {
		o.through, o.held = "through the point you set", "at the point you set"
	}
	o.metric = query.Get("metric")
	if !slices.Contains(modelled(d), o.metric) {
		o.metric = d.Objective.Metric
	}
	o.metrics = modelled(d)
	if axes := axisNames(d); len(o.metrics)*len(axes) > mostSlices {
		o.metrics = []string{o.metric}
	}
	o.x, o.y = mapAxes(d, query.Get("x"), query.Get("y"))
	o.form.Values["metric"], o.form.Values["x"], o.form.Values["y"] = []string{o.metric}, []string{o.x}, []string{o.y}
	return o
}

// pinnedFrom is the trial whose settings the form showed when it was sent. Fields that still hold them were not set by the person,
// and follow the recommendation.
func (v visit) pinnedFrom(now *ledger.Trial) design.Settings {
	if trial := v.trialNamed(v.query.Get("from")); trial != nil {
		return trial.Parameters
	}
	return now.Parameters
}

// readPins takes the point from the form's fields and tells whether any was set by the person.
func (o *outlook) readPins(d design.Definition, query url.Values, shown design.Settings) bool {
	changed := false
	for i, p := range d.Parameters {
		field := pinField(i)
		o.form.Values[field] = []string{design.FormatSetting(p, o.point[p.Name])}
		if !query.Has(field) || p.Type == design.Remainder || query.Get(field) == design.FormatSetting(p, shown[p.Name]) {
			continue
		}
		o.form.Values[field] = query[field]
		value, err := pinned(p, query.Get(field))
		if err != nil {
			o.form.Errors[field] = err.Error()
			continue
		}
		changed = changed || value != o.point[p.Name]
		o.point[p.Name] = value
	}
	return changed
}

func pinField(i int) string { return fmt.Sprintf("pin.%d", i) }

func pinned(p design.Parameter, text string) (design.Value, error) {
	if p.Type == design.Categorical {
		if slices.Contains(p.Choices, text) {
			return design.TextValue(text), nil
		}
		return design.Value{}, fmt.Errorf("choose one of the list")
	}
	x, err := decimal(text)
	if err != nil {
		return design.Value{}, err
	}
	if p.Low != nil && x < *p.Low || p.High != nil && x > *p.High {
		return design.Value{}, fmt.Errorf("between %s and %s", number(*p.Low), number(*p.High))
	}
	return design.NumberValue(x), nil
}

// axisNames are the parameters that can be set, which charts can have along an axis.
func axisNames(d design.Definition) []string {
	var names []string
	for _, p := range d.Parameters {
		if p.Type != design.Remainder {
			names = append(names, p.Name)
		}
	}
	return names
}

// mapAxes chooses the two parameters of the map; "" when there are fewer than two.
func mapAxes(d design.Definition, x, y string) (string, string) {
	names := axisNames(d)
	if len(names) < 2 {
		return "", ""
	}
	if !slices.Contains(names, x) {
		x = names[0]
	}
	if !slices.Contains(names, y) || y == x {
		y = names[slices.IndexFunc(names, func(name string) bool { return name != x })]
	}
	return x, y
}

// beliefInputs are the form above the charts.
func (v visit) beliefInputs(section *templates.Beliefs, o outlook) {
	d := v.snap.Definition
	section.Metric = templates.Input{Name: "metric", Label: "Map of", Kind: "select", Options: optionsOf(modelled(d))}
	if o.x != "" {
		section.Axes[0] = templates.Input{Name: "x", Label: "across", Kind: "select", Options: optionsOf(axisNames(d))}
		section.Axes[1] = templates.Input{Name: "y", Label: "up", Kind: "select", Options: optionsOf(axisNames(d))}
	} else {
		section.Metric.Label = "Metric"
	}
	for i, p := range d.Parameters {
		if p.Type == design.Remainder {
			continue
		}
		in := settingInput(pinField(i), p)
		in.Label, in.Help = p.Name+" at", ""
		section.Pins = append(section.Pins, in)
	}
}

func optionsOf(names []string) []templates.Option {
	options := make([]templates.Option, len(names))
	for i, name := range names {
		options[i] = templates.Option{Value: name, Label: name}
	}
	return options
}

// sliceRows draws, for each metric shown, a slice along each parameter.
func (s *Site) sliceRows(ctx context.Context, v visit, o outlook, readout study.Readout) ([]templates.SliceRow, error) {
	drawn, err := s.Studies.Slices(ctx, v.snap, o.point, sliceSamples)
	if err != nil || len(drawn) == 0 {
		return nil, err
	}
	d := v.snap.Definition
	var rows []templates.SliceRow
	for _, metric := range o.metrics {
		row := templates.SliceRow{Metric: "Slices of " + metric}
		for _, slice := range drawn {
			if band, there := slice.Metrics[metric]; there {
				row.Charts = append(row.Charts, v.sliceChart(d, o, metric, slice, band, readout))
			}
		}
		if len(row.Charts) > 0 {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func parameter(d design.Definition, name string) design.Parameter {
	for _, p := range d.Parameters {
		if p.Name == name {
			return p
		}
	}
	return design.Parameter{}
}

func plotValue(v design.Value) any {
	if v.IsText {
		return v.Text
	}
	return v.Number
}

func axisOf(p design.Parameter) templates.Axis {
	return templates.Axis{Title: axisName(p.Name, p.Unit), Log: p.Scale == "log", Categories: p.Choices}
}

// sliceChart is one metric along one parameter, the others held.
func (v visit) sliceChart(d design.Definition, o outlook, metric string, slice study.Slice, band study.Band, readout study.Readout) templates.Chart {
	p := parameter(d, slice.Parameter)
	unit := unitOf(d, metric)
	mean := templates.Trace{Name: "expected", Style: templates.Line}
	spread := templates.Trace{Name: "model’s 95" + thin + "% band", Style: templates.BandStyle}
	table := templates.Table{Head: []templates.Column{{Name: p.Name, Unit: p.Unit, Number: true}, {Name: "Expected", Unit: unit, Number: true}, {Name: "95 % from", Number: true}, {Name: "to", Number: true}, {Name: "Chance within all limits", Number: true}}}
	for i, at := range slice.At {
		x := plotValue(at)
		mean.X, mean.Y = append(mean.X, x), append(mean.Y, band.Mean[i])
		spread.X, spread.Low, spread.High = append(spread.X, x), append(spread.Low, band.Lower95[i]), append(spread.High, band.Upper95[i])
		if i%5 == 0 || len(slice.At) < 30 {
			table.Rows = append(table.Rows, []string{settingText(p, at), rough(band.Mean[i]), rough(band.Lower95[i]), rough(band.Upper95[i]), percent(slice.Feasible[i])})
		}
	}
	traces := []templates.Trace{spread, mean}
	if p.Type == design.Categorical {
		mean.Style, mean.Name = templates.Bars, "expected, with the model’s 95"+thin+"% band"
		mean.Low, mean.High = spread.Low, spread.High
		traces = []templates.Trace{mean}
	}
	traces = append(traces, v.observed(p.Name, metric, readout.Recommendation)...)
	title := capitalised(metric) + " along " + p.Name
	caption := sliceCaption(d, p, metric, slice, band)
	chart := v.chart("slice-"+shortHash([]string{metric, p.Name}), title, caption, axisOf(p), templates.Axis{Title: axisName(metric, unit)}, traces, limitsOn(d, metric), table)
	return chart
}

// observed are the readings over one parameter. They lie at the other settings of their own trials, not on the slice.
func (v visit) observed(name, metric string, recommended *study.Recommendation) []templates.Trace {
	var points marks
	from := max(0, len(v.snap.Trials)-mostObservations)
	for i := range v.snap.Trials[from:] {
		t := v.snap.Trials[from+i]
		m, there := t.Metrics[metric]
		if !there || t.Excluded {
			continue
		}
		style := styleOf(t)
		if recommended != nil && recommended.Number == t.Number {
			style = templates.Recommended
		}
		points.add(style, plotValue(t.Parameters[name]), m.Value, fmt.Sprintf("Trial %d: %s", t.Number, v.measured(metric, m)), trialURL(v.snap.ID, t.Number))
	}
	return points.all()
}

func limitsOn(d design.Definition, metric string) []templates.Limit {
	var limits []templates.Limit
	for _, c := range d.Constraints {
		if c.Metric == metric {
			limits = append(limits, limitLineOf(c))
		}
	}
	return limits
}

func sliceCaption(d design.Definition, p design.Parameter, metric string, slice study.Slice, band study.Band) string {
	low, high := extremes(band.Mean)
	best, word := high, "highest"
	if metric == d.Objective.Metric && d.Objective.Direction == "minimize" || isLimited(d, metric, "<=") {
		best, word = low, "lowest"
	}
	unit := unitOf(d, metric)
	caption := fmt.Sprintf("Expected %s is %s (%s) at %s.", metric, word, uncertain(band.Mean[best], band.SD[best], unit), design.WithUnit(settingText(p, slice.At[best]), p.Unit, thin))
	if len(d.Constraints) > 0 {
		likely := 0
		for _, chance := range slice.Feasible {
			if chance >= 0.9 {
				likely++
			}
		}
		caption += fmt.Sprintf(" Along this line %s of the range has a 90"+thin+"%% chance to stay within every limit.", percent(float64(likely)/float64(len(slice.Feasible))))
	}
	return caption
}

func limitLineOf(c design.Constraint) templates.Limit {
	return templates.Limit{Value: c.Threshold, Label: "limit " + quantity(c.Threshold, c.Unit), Above: c.Op == "<="}
}

// isLimited tells whether a metric other than the objective has a limit of that kind.
func isLimited(d design.Definition, metric, op string) bool {
	return metric != d.Objective.Metric && slices.ContainsFunc(d.Constraints, func(c design.Constraint) bool { return c.Metric == metric && c.Op == op })
}

// extremes are the places of the smallest and the largest value.
func extremes(values []float64) (low, high int) {
	for i, x := range values {
		if x < values[low] {
			low = i
		}
		if x > values[high] {
			high = i
		}
	}
	return low, high
}

// mapChart is one metric's mean over two parameters, with the chance to stay within every limit as contours.
func (v visit) mapChart(o outlook, drawn study.Map) templates.Chart {
	d := v.snap.Definition
	px, py := parameter(d, o.x), parameter(d, o.y)
	unit := unitOf(d, o.metric)
	surface := templates.Surface{Smooth: px.Type != design.Categorical && py.Type != design.Categorical, Mean: drawn.Mean[o.metric], MeanName: axisName(o.metric, unit)}
	if len(d.Constraints) > 0 {
		surface.Chance = drawn.Feasible
	}
	for _, x := range drawn.X {
		surface.X = append(surface.X, plotValue(x))
	}
	table := templates.Table{Head: []templates.Column{{Name: o.x, Unit: px.Unit, Number: true}, {Name: o.y, Unit: py.Unit, Number: true}, {Name: "Expected " + o.metric, Unit: unit, Number: true}, {Name: "Chance within all limits", Number: true}}}
	bi, bj := 0, 0
	for i, y := range drawn.Y {
		surface.Y = append(surface.Y, plotValue(y))
		line := make([]string, len(drawn.X))
		for j, x := range drawn.X {
			mean, sd, chance := drawn.Mean[o.metric][i][j], drawn.SD[o.metric][i][j], drawn.Feasible[i][j]
			line[j] = fmt.Sprintf("%s %s, %s %s\n%s\nchance within every limit %s", o.x, settingText(px, x), o.y, settingText(py, y), uncertain(mean, sd, unit), percent(chance))
			if i%5 == 0 && j%5 == 0 {
				table.Rows = append(table.Rows, []string{settingText(px, x), settingText(py, y), rough(mean), percent(chance)})
			}
			if chance > drawn.Feasible[bi][bj] {
				bi, bj = i, j
			}
		}
		surface.Text = append(surface.Text, line)
	}
	caption := fmt.Sprintf("Colour is the expected %s", o.metric)
	if len(axisNames(d)) > 2 {
		caption += ", the other settings held " + o.held
	}
	caption += "."
	if surface.Chance != nil {
		caption += fmt.Sprintf(" Lines: a chance of 10, 50 (dashed) and 90"+thin+"%% (bold) to stay within every limit; it is best, %s, at %s %s and %s %s.", percent(drawn.Feasible[bi][bj]),
			o.x, design.WithUnit(settingText(px, drawn.X[bj]), px.Unit, thin), o.y, design.WithUnit(settingText(py, drawn.Y[bi]), py.Unit, thin))
	}
	title := capitalised(o.metric) + " over " + o.x + " and " + o.y
	chart := v.chart("map-"+shortHash([]string{o.metric, o.x, o.y}), title, caption, axisOf(px), axisOf(py), v.observedOn(o), nil, table)
	chart.Tall, chart.Drawing.Surface = true, &surface
	return chart
}

// observedOn are the trials as points of the map.
func (v visit) observedOn(o outlook) []templates.Trace {
	var points marks
	from := max(0, len(v.snap.Trials)-mostObservations)
	for i := range v.snap.Trials[from:] {
		t := v.snap.Trials[from+i]
		if t.Excluded {
			continue
		}
		style, text := styleOf(t), fmt.Sprintf("Trial %d: %s", t.Number, stateWords(t))
		if t.Waiting() && t.Feasible == nil {
			style = templates.Waiting
		}
		points.add(style, plotValue(t.Parameters[o.x]), plotValue(t.Parameters[o.y]), text, trialURL(v.snap.ID, t.Number))
	}
	return points.all()
}
