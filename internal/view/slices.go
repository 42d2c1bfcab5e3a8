package view

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// sliceGrid draws a slice of each metric shown along each parameter, the most influential first.
func (o Outlook) sliceGrid() templates.Chart {
	along := byInfluence(o.Slices, o.Snap.Definition.Objective.Metric)
	most := max(20, mostFaded/max(1, len(o.Metrics)*len(along)))
	var cells []chart.Panel
	left := 0
	for _, metric := range o.Metrics {
		row, out := o.sliceRow(metric, along, most)
		cells, left = append(cells, row...), left+out
	}
	for _, slice := range along {
		if slice.Works != nil {
			cells = append(cells, o.worksCell(slice))
		}
	}
	ends := words.Either(len(remainderNames(o.Snap.Definition)) > 0, " Lines go as far as there are such mixtures.", "")
	notes := []string{o.influenceWords(along) + ends, "The band is the model’s 95" + words.Thin + "% band of the true value, without the noise of a reading. " + pointsWords(len(o.Snap.Definition.Parameters), left),
		o.sliceWords(o.Metrics[0], along)}
	if o.Paper && len(o.Metrics) < len(o.metricsShown()) {
		notes = append(notes, "The study’s page has those of the other metrics.")
	}
	return o.withSource(templates.Chart{ID: "chart-slices", Title: "Slices " + o.Through, Notes: notes, Table: o.sliceTable(along), Drawing: chart.Drawing{Cells: cells}})
}

// sliceRow is the cells of a metric, with one y axis that fits all of them; left counts the
// readings that are too far from the line to be drawn.
func (o Outlook) sliceRow(metric string, along []study.Slice, most int) (cells []chart.Panel, left int) {
	var all []float64
	var doubted []chart.Trace
	for _, slice := range along {
		band, there := slice.Metrics[metric]
		if !there {
			continue
		}
		cell, out := o.sliceCell(metric, slice, band, most)
		cells, left = append(cells, cell), left+out
		all = slices.Concat(all, band.Lower95, band.Upper95)
		for _, trace := range cell.Traces {
			if trace.Style == chart.Doubted {
				doubted = append(doubted, trace)
				continue
			}
			for _, y := range trace.Y {
				all = append(all, y.(float64))
			}
		}
	}
	for _, limit := range limitsOn(o.Snap.Definition, metric) {
		all = append(all, limit.Y...)
	}
	m := axisScaleOf(o.Readout.Metrics[metric], all)
	within := robustRange(nil, m.allTo(all))
	moveToEdge(m, within, doubted)
	for i := range cells {
		cells[i].Y = m.axis(within)
	}
	return cells, left
}

// pointsWords explains the points, of a study with that many parameters, of which left were left
// out.
func pointsWords(parameters, left int) string {
	switch {
	case parameters == 1:
		return "Points are " + words.Either(left > 0, "some of ", "") + "the readings."
	case left > 0:
		return "Points are the readings nearest to each line; they fade with the distance of their other settings from it."
	}
	return "Points are the readings; they fade with the distance of their other settings from the line."
}

// influenceWords explains the order of the parameters.
func (o Outlook) influenceWords(along []study.Slice) string {
	objective := o.Snap.Definition.Objective
	changes := func(slice study.Slice) string {
		return words.RoughlyApart(influence(slice, objective.Metric), objective.Unit)
	}
	if len(o.Snap.Definition.Parameters) == 1 && len(along) == 1 {
		return fmt.Sprintf("From its lowest to its highest the expected %s changes by %s.", design.Name(objective.Metric), changes(along[0]))
	}
	parts := lists.Map(along, func(slice study.Slice) string { return design.Name(slice.Parameter) + " " + changes(slice) })
	others := words.Either(len(along) > 1, ", the others held "+o.Held, "")
	return fmt.Sprintf("Sorted by how much the expected %s changes from its lowest to its highest along each parameter%s: %s.", design.Name(objective.Metric), others, strings.Join(words.Few(parts, 8), ", "))
}

// sliceCell is one metric along one parameter; left counts the readings that are too far from the
// line to be drawn.
func (o Outlook) sliceCell(metric string, slice study.Slice, band study.Band, most int) (cell chart.Panel, left int) {
	d := o.Snap.Definition
	p := parameter(d, slice.Parameter)
	mean := chart.Trace{Name: "expected", Style: chart.Line}
	spread := chart.Trace{Name: "model’s 95" + words.Thin + "% band", Style: chart.BandStyle}
	for i, at := range slice.At {
		mean.Add(plotValue(at), band.Mean[i])
		spread.AddRange(plotValue(at), band.Lower95[i], band.Upper95[i])
	}
	traces := nonEmpty(spread, mean, o.trueAlong(metric, p.Name, slice.At))
	if p.Type == design.Categorical {
		mean.Style, mean.Name, mean.Low, mean.High = chart.Bars, "expected, with the model’s 95"+words.Thin+"% band", spread.Low, spread.High
		traces = []chart.Trace{mean}
	}
	observed, left := o.fadedMarks(p.Name, metric, most)
	return chart.Panel{Group: metric, Title: words.AxisName(design.Capitalised(metric), d.Unit(metric)), X: sliceAxis(p, observed...), Traces: append(traces, observed...), Limits: limitsOn(d, metric)}, left
}

// sliceAxis is the x axis, widened to settings used beyond the parameter's bounds.
func sliceAxis(p design.Parameter, marks ...chart.Trace) chart.Axis {
	x := axisOf(p)
	if x.Whole {
		low, high := *p.Low, *p.High
		for _, trace := range marks {
			for _, at := range trace.X {
				low, high = min(low, at.(float64)), max(high, at.(float64))
			}
		}
		x.Range = []float64{low - 0.4, high + 0.4}
	}
	return x
}

// worksCell is the chance that a trial works along a parameter, with marks at the bottom where
// trials failed because of their settings.
func (o Outlook) worksCell(slice study.Slice) chart.Panel {
	const name = "Chance that a trial works"
	p := parameter(o.Snap.Definition, slice.Parameter)
	chance := chart.Trace{Name: "expected", Style: chart.Line}
	for i, at := range slice.At {
		chance.Add(plotValue(at), 100*slice.Works[i])
	}
	if p.Type == design.Categorical {
		chance.Style, chance.Low, chance.High = chart.Bars, chance.Y, chance.Y
	}
	failed := chart.Trace{Name: failedOrUnknown, Style: chart.Unknown}
	for _, t := range o.Snap.Trials {
		if failedBySettings(t) {
			failed.Add(plotValue(t.Parameters[p.Name]), 0.0)
			failed.Fade = append(failed.Fade, fadeAt(o.distance(t.Parameters, p.Name)))
			failed.Text, failed.Trial = append(failed.Text, fmt.Sprintf("Trial %d: %s", t.Number, stateWords(o.Snap.Definition, t))), append(failed.Trial, t.Number)
		}
	}
	return chart.Panel{Group: name, Title: name + " (%)", X: sliceAxis(p, failed), Y: chart.Axis{Range: []float64{-4, 104}}, Traces: []chart.Trace{chance, failed}}
}

// mostFaded is roughly how many readings the slices draw in all.
const mostFaded = 700

// fadeLength is the distance, in ranges of the parameters, at which the opacity of a reading has
// fallen to exp(−1/2); it never falls below faintest.
const fadeLength, faintest = 0.25, 0.1

// fadedMarks are the readings over one parameter, at most most of them, which fade with the
// distance of their other settings from the line; left counts the others.
func (o Outlook) fadedMarks(name, metric string, most int) (traces []chart.Trace, left int) {
	type reading struct {
		trial *ledger.Trial
		away  float64
	}
	var list []reading
	for t := range readings(o.Snap.Trials, metric) {
		if !t.Excluded {
			list = append(list, reading{t, o.distance(t.Parameters, name)})
		}
	}
	slices.SortStableFunc(list, func(a, b reading) int { return cmp.Compare(a.away, b.away) })
	if len(list) > most {
		left, list = len(list)-most, list[:most]
	}
	points := newMarks(o.Snap.Definition)
	points.failed = slices.ContainsFunc(o.Snap.Trials, failedBySettings)
	for _, r := range list {
		m := r.trial.Metrics[metric]
		points.fade = fadeAt(r.away)
		style, text := styleOf(r.trial), fmt.Sprintf("Trial %d: %s", r.trial.Number, Measured(o.Snap, r.trial, metric, m))
		if r.trial.Doubted(metric) {
			style, text = chart.Doubted, text+", in doubt"
		}
		points.add(style, plotValue(r.trial.Parameters[name]), m.Value, text, r.trial.Number)
	}
	if recommended := o.recommended(); recommended != nil {
		points.fade = 1
		points.add(chart.Recommended, plotValue(recommended.Parameters[name]), recommended.Mean[metric],
			"recommended, "+expectedWords(o.Snap.Definition, metric, recommended.Mean, recommended.SD), recommended.Number)
	}
	return points.all(), left
}

// fadeAt is the opacity of a mark at a distance.
func fadeAt(away float64) float64 {
	return math.Round(100*math.Max(faintest, math.Exp(-away*away/(2*fadeLength*fadeLength)))) / 100
}

// distance is the Euclidean distance of settings from the point in all parameters but one, each in
// units of its range; different choices are a whole range apart.
func (o Outlook) distance(settings design.Settings, except string) float64 {
	sum := 0.0
	for _, p := range o.Snap.Definition.Parameters {
		a, b := settings[p.Name], o.Point[p.Name]
		switch {
		case p.Name == except || p.Type == design.Remainder || p.Type == design.Categorical && a == b:
		case p.Type == design.Categorical:
			sum++
		case p.Logarithmic() && a.Number > 0 && b.Number > 0:
			step := math.Log(a.Number/b.Number) / math.Log(*p.High / *p.Low)
			sum += step * step
		default:
			step := (a.Number - b.Number) / (*p.High - *p.Low)
			sum += step * step
		}
	}
	return math.Sqrt(sum)
}

// sliceWords says where along the first few slices a metric is best.
func (o Outlook) sliceWords(metric string, along []study.Slice) string {
	d := o.Snap.Definition
	lowest := d.Objective.Direction == "minimize"
	if metric != d.Objective.Metric {
		lowest = slices.ContainsFunc(d.Constraints, func(c design.Constraint) bool { return c.Metric == metric && c.Op == "<=" })
	}
	const most = 4
	parts := lists.Map(along[:min(most, len(along))], func(slice study.Slice) string {
		band, p := slice.Metrics[metric], parameter(d, slice.Parameter)
		best, narrowed := bestIndex(band.Mean, slice.Open, lowest)
		show, where := words.Alike(band.SD[best]), "at "+design.Name(p.Name)+" "+words.With(design.Name(design.WriteSetting(p, slice.At[best])), p.Unit)+words.Either(narrowed, " (of what may be chosen)", "")
		if show(slices.Min(band.Mean)) == show(slices.Max(band.Mean)) {
			where = "all along " + design.Name(p.Name)
		}
		return show(band.Mean[best]) + " " + where
	})
	lines := words.Either(len(along) > most, fmt.Sprintf("the first %d lines", most), words.Either(len(along) == 1, "this line", "these lines"))
	return fmt.Sprintf("Expected %s along %s is %s: %s.", words.AxisName(design.Name(metric), d.Unit(metric)), lines, words.Either(lowest, "lowest", "highest"), strings.Join(parts, ", "))
}

// bestIndex is the index of the lowest or highest value among the open ones, or among all if none
// is open. narrowed tells whether a better value is not open. NaN is no value; the index is -1 if
// there is none.
func bestIndex(values []float64, open []bool, lowest bool) (best int, narrowed bool) {
	better := func(i, j int) bool {
		if j < 0 {
			return !math.IsNaN(values[i])
		}
		return words.Either(lowest, values[i] < values[j], values[i] > values[j])
	}
	ofAll, best := -1, -1
	for i := range values {
		if better(i, ofAll) {
			ofAll = i
		}
		if open[i] && better(i, best) {
			best = i
		}
	}
	if best < 0 {
		return ofAll, false
	}
	return best, better(ofAll, best)
}

// sliceTable has the numbers behind the slices, every sixth of those of long ones.
func (o Outlook) sliceTable(along []study.Slice) templates.Table {
	d := o.Snap.Definition
	type place struct {
		study.Slice
		i int
	}
	var places []place
	for _, slice := range along {
		step := words.Either(len(slice.At) > 30, 6, 1)
		for i := 0; i < len(slice.At); i += step {
			places = append(places, place{slice, i})
		}
	}
	var table columns
	add := func(head templates.Column, cell func(at place) string) {
		table.add(head, func(row int) string { return cell(places[row]) })
	}
	add(column("Along"), func(at place) string { return at.Parameter })
	add(number("At", ""), func(at place) string {
		p := parameter(d, at.Parameter)
		return words.With(words.Settings(p, at.At)(at.At[at.i]), p.Unit)
	})
	for _, metric := range o.Metrics {
		unit := d.Unit(metric)
		value := func(of func(study.Band) []float64) func(at place) string {
			return func(at place) string {
				band := at.Metrics[metric]
				return words.Alike(slices.Min(band.SD))(of(band)[at.i])
			}
		}
		add(number("Expected "+metric, unit), value(func(b study.Band) []float64 { return b.Mean }))
		add(number("95 % from", unit), value(func(b study.Band) []float64 { return b.Lower95 }))
		add(number("to", unit), value(func(b study.Band) []float64 { return b.Upper95 }))
	}
	if limits := o.predictableLimits(); limits != "" {
		add(number("Chance within "+limits, ""), func(at place) string { return words.Percent(at.Feasible[at.i]) })
	}
	if slices.ContainsFunc(along, func(s study.Slice) bool { return s.Works != nil }) {
		add(number("Chance that it works", ""), func(at place) string { return words.Percent(at.Works[at.i]) })
	}
	return table.rows(0, len(places))
}

func limitsOn(d design.Definition, metric string) []chart.Limit {
	return lists.Pick(d.Constraints, func(c design.Constraint) (chart.Limit, bool) {
		return chart.Limit{Label: limitLabel(c), Above: []bool{c.Op == "<="}, Y: []float64{c.Threshold}}, c.Metric == metric
	})
}

// SliceSamples is how many values of a parameter a slice has.
const SliceSamples = 61

// mostSlices is how many slices are drawn before the page shows one metric at a time.
const mostSlices = 24

// Outlook is Facts with the viewer's choice of what to draw of the model.
type Outlook struct {
	Facts
	Point   design.Settings // that the slices pass through
	Through string          // the point in words
	Held    string          // the same, for the settings without an axis in the chart
	Metrics []string
	Metric  string // of the map
	X, Y    string // its axes, "" where there is no map
	Others  bool   // show what other algorithms would choose
	form    templates.Form
}

// Outlook reads the choice from the query and fills in defaults. It chooses the axes of a map only
// once v.Slices is there.
func (v Facts) Outlook() Outlook {
	d := v.Snap.Definition
	v.Query = BeliefsQuery(v.Query, v.Snap)
	o := Outlook{Facts: v, Others: v.Query.Has("others"), Metric: v.Query.Get("metric"), Metrics: v.metricsShown()}
	o.form = templates.Form{Values: url.Values{}, Errors: map[string]string{}}
	trial, through := v.Snap.Trial(len(v.Snap.Trials)), "through the last trial, "
	if best := v.Snap.Best(); best != nil {
		trial, through = best, "through the best trial so far, "
	}
	if r := v.recommended(); r != nil {
		trial, through = v.Snap.Trial(r.Number), "through the recommended point, trial "
	}
	o.Through = through + strconv.Itoa(trial.Number)
	o.Point, o.Held = trial.Parameters.Clone(), fmt.Sprintf("as in trial %d", trial.Number)
	o.form.Values.Set("from", strconv.Itoa(trial.Number))
	if o.readPins() {
		o.Through, o.Held = "through the point you set", "at the point you set"
	}
	if !slices.Contains(o.Metrics, o.Metric) {
		o.Metric = d.Objective.Metric
	}
	if len(o.Metrics)*len(axisNames(d)) > mostSlices {
		o.Metrics = []string{o.Metric}
	}
	o.form.Values.Set("metric", o.Metric)
	o.chooseAxes()
	return o
}

// chooseAxes takes the axes that the query names, or the two parameters along which the objective
// changes most.
func (o *Outlook) chooseAxes() {
	d := o.Snap.Definition
	influences := slices.DeleteFunc(byInfluence(o.Slices, d.Objective.Metric), func(s study.Slice) bool { return !slices.Contains(mapNames(d), s.Parameter) })
	if len(influences) < 2 {
		return
	}
	usualX, usualY := influences[0].Parameter, influences[1].Parameter
	o.X, o.Y = cmp.Or(o.Query.Get("x"), usualX), cmp.Or(o.Query.Get("y"), usualY)
	for name, value := range map[string]string{"x": o.X, "y": o.Y, "usual.x": usualX, "usual.y": usualY} {
		o.form.Values.Set(name, value)
	}
}

// byInfluence sorts slices by how much the expected objective changes along each, the largest
// first.
func byInfluence(all []study.Slice, objective string) []study.Slice {
	return slices.SortedStableFunc(slices.Values(all), func(a, b study.Slice) int { return cmp.Compare(influence(b, objective), influence(a, objective)) })
}

// influence is the range of the expected objective along a slice.
func influence(along study.Slice, objective string) float64 {
	mean := along.Metrics[objective].Mean
	if len(mean) == 0 {
		return 0
	}
	return slices.Max(mean) - slices.Min(mean)
}

// readPins moves the point to the settings in the query, and tells whether that changed it.
// Settings that the query leaves out follow the recommendation.
func (o *Outlook) readPins() bool {
	changed := false
	for i, p := range o.Snap.Definition.Parameters {
		field := pinField(i)
		o.form.Values.Set(field, design.FormatSetting(p, o.Point[p.Name]))
		if !o.Query.Has(field) {
			continue
		}
		text := o.Query.Get(field)
		o.form.Values.Set(field, text)
		value, err := readPin(p, text)
		if err != nil {
			o.form.Errors[field] = err.Error()
			continue
		}
		changed = changed || value != o.Point[p.Name]
		o.Point[p.Name] = value
	}
	return changed
}

func readPin(p design.Parameter, text string) (design.Value, error) {
	if p.Type == design.Categorical {
		if slices.Contains(p.Choices, text) {
			return design.TextValue(text), nil
		}
		return design.Value{}, errors.New("choose one of the list")
	}
	x, err := design.ReadNumber(text, design.Marks{Decimal: '.'})
	if err != nil {
		return design.Value{}, err
	}
	if whole := p.Type == design.Integer; x < *p.Low || x > *p.High || whole && x != math.Trunc(x) {
		return design.Value{}, fmt.Errorf("%sbetween %s and %s", words.Either(whole, "a whole number ", ""), design.WriteNumber(*p.Low), design.WriteNumber(*p.High))
	}
	return design.NumberValue(x), nil
}

// smoothSamples is how many values each parameter of a map has if both are ordered.
const smoothSamples = 41

// MapSamples is how many values each parameter of a map has: fewer if one is a choice, which has no
// values in between.
func (o Outlook) MapSamples() int {
	return words.Either(o.smooth(), smoothSamples, 7)
}

// smooth tells whether both axes of the map are ordered.
func (o Outlook) smooth() bool {
	d := o.Snap.Definition
	return parameter(d, o.X).Type != design.Categorical && parameter(d, o.Y).Type != design.Categorical
}

// trueAlong is the true value of a metric along a parameter at the next trial. It is empty if it is
// not known, or if only listed settings can be played, and leaves out what is not finite, as below
// absolute zero.
func (o Outlook) trueAlong(metric, parameter string, at []design.Value) chart.Trace {
	line := chart.Trace{Name: truthName, Style: chart.Truth}
	lab := o.lab()
	if lab == nil || len(o.Snap.Definition.Candidates) > 0 {
		return line
	}
	settings := o.Point.Clone()
	for _, value := range at {
		settings[parameter] = value
		if y, there := lab.Truth(len(o.Snap.Trials)+1, settings)[metric]; there && design.Finite(y) {
			line.Add(plotValue(value), y)
		}
	}
	return line
}
