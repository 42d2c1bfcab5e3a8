package pages

import (
	"fmt"
	"math"
	"slices"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// gridSamples is how many values of a parameter a map shows beside choices, which have no order and so no values between.
const gridSamples = 7

// unordered tells whether a parameter's choices have no order.
func (v visit) unordered(name string) bool {
	return parameter(v.snap.Definition, name).Type == design.Categorical
}

// mapChart is one metric's mean over two parameters, with the chance to stay within every limit: as contours, or written in each cell where choices
// have no order.
func (v visit) mapChart(o outlook, drawn study.Map, recommended *study.Recommendation) templates.Chart {
	d := v.snap.Definition
	px, py := parameter(d, o.x), parameter(d, o.y)
	unit := unitOf(d, o.metric)
	chances := len(d.Constraints) > 0 && v.modelStands()
	surface := templates.Surface{Smooth: !v.unordered(o.x) && !v.unordered(o.y), Mean: inSixDigits(drawn.Mean[o.metric]), MeanName: axisName(o.metric, unit)}
	if chances {
		surface.Chance = inSixDigits(drawn.Feasible)
	}
	surface.Note = "(± one standard deviation, without the noise of a reading)"
	for _, x := range drawn.X {
		surface.X, surface.AtX = append(surface.X, v.mapValue(x, surface.Smooth, px)), append(surface.AtX, o.x+" "+settingText(px, x))
	}
	for _, y := range drawn.Y {
		surface.Y, surface.AtY = append(surface.Y, v.mapValue(y, surface.Smooth, py)), append(surface.AtY, o.y+" "+settingText(py, y))
	}
	table := templates.Table{Head: []templates.Column{{Name: o.x, Unit: px.Unit, Number: true}, {Name: o.y, Unit: py.Unit, Number: true}, {Name: "Expected " + o.metric, Unit: unit, Number: true}, {Name: "Chance within every limit", Number: true}}}
	bi, bj := 0, 0
	step := 1
	if surface.Smooth {
		step = 5
	}
	for i, y := range drawn.Y {
		line, cells, fits := make([]string, len(drawn.X)), make([]string, len(drawn.X)), make([]string, len(drawn.X))
		for j, x := range drawn.X {
			mean, sd, chance := drawn.Mean[o.metric][i][j], drawn.SD[o.metric][i][j], drawn.Feasible[i][j]
			cells[j] = alike(sd)(mean)
			line[j], fits[j] = uncertain(mean, sd, unit), percent(chance)
			if chances {
				cells[j] += "\n" + fits[j]
			}
			if i%step == 0 && j%step == 0 {
				table.Rows = append(table.Rows, []string{settingText(px, x), settingText(py, y), alike(sd)(mean), v.chanceText(chance)})
			}
			if chance > drawn.Feasible[bi][bj] {
				bi, bj = i, j
			}
		}
		surface.Text = append(surface.Text, line)
		if chances {
			surface.Chances = append(surface.Chances, fits)
		}
		if !surface.Smooth {
			surface.Cells = append(surface.Cells, cells)
		}
	}
	caption := fmt.Sprintf("Colour is the expected %s", o.metric)
	if len(axisNames(d)) > 2 {
		caption += ", the other settings held " + o.held
	}
	caption += "."
	switch {
	case chances && surface.Smooth:
		caption += " " + chanceWords(drawn.Feasible) + fmt.Sprintf("; it is best, %s, at %s %s and %s %s.", percent(drawn.Feasible[bi][bj]),
			o.x, design.WithUnit(settingText(px, drawn.X[bj]), px.Unit, thin), o.y, design.WithUnit(settingText(py, drawn.Y[bi]), py.Unit, thin))
	case chances:
		caption += " Below it stands the chance to stay within every limit. Choices have no order, so nothing is drawn between them."
	case len(d.Constraints) > 0:
		caption += " " + capitalised(listed(v.unread())) + " " + isOrAre(len(v.unread())) + " without a reading, so nothing is said of the limits."
	}
	if chances && slices.ContainsFunc(v.snap.Trials, func(t *ledger.Trial) bool { return t.Cause == ledger.BySettings && !t.Excluded }) {
		caption += " That a trial may fail is not counted in this chance."
	}
	title := capitalised(o.metric) + " over " + o.x + " and " + o.y
	x, y := axisOf(px), axisOf(py)
	x.Whole, y.Whole = px.Type == design.Integer, py.Type == design.Integer
	if !surface.Smooth {
		x, y = gridAxis(x, surface.X), gridAxis(y, surface.Y)
	}
	traces := []templates.Trace{}
	if surface.Smooth {
		traces = v.observedOn(o, recommended)
	}
	chart := v.chart("map-"+shortHash([]string{o.metric, o.x, o.y}), title, caption, x, y, traces, nil, table)
	chart.Tall, chart.Drawing.Surface = true, &surface
	return chart
}

// mapValue is a value on an axis of the map: in words, where the map is a grid of cells.
func (v visit) mapValue(value design.Value, smooth bool, p design.Parameter) any {
	if smooth {
		return plotValue(value)
	}
	return settingText(p, value)
}

// gridAxis is an axis of cells.
func gridAxis(axis templates.Axis, values []any) templates.Axis {
	axis.Log, axis.Whole, axis.Range, axis.Categories = false, false, nil, nil
	for _, value := range values {
		axis.Categories = append(axis.Categories, value.(string))
	}
	return axis
}

// observedOn are the trials as points of the map, and the recommended settings.
func (v visit) observedOn(o outlook, recommended *study.Recommendation) []templates.Trace {
	points := v.noMarks()
	points.places = true
	from := max(0, len(v.snap.Trials)-mostObservations)
	for i := range v.snap.Trials[from:] {
		t := v.snap.Trials[from+i]
		if t.Excluded {
			continue
		}
		style, text := templates.Style(v.markOf(t)), fmt.Sprintf("Trial %d: %s", t.Number, v.stateWords(t))
		points.add(style, plotValue(t.Parameters[o.x]), plotValue(t.Parameters[o.y]), text, t.Number)
	}
	if recommended != nil && v.modelStands() {
		points.add(templates.Recommended, plotValue(recommended.Parameters[o.x]), plotValue(recommended.Parameters[o.y]), fmt.Sprintf("recommended: the settings of trial %d", recommended.Number), recommended.Number)
	}
	return points.all()
}

// chanceWords say what the lines of a map are, or on which side of all of them it lies.
func chanceWords(chance [][]float64) string {
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, row := range chance {
		lowest, highest = min(lowest, slices.Min(row)), max(highest, slices.Max(row))
	}
	switch {
	case lowest >= 0.9:
		return "The chance to stay within every limit is 90" + thin + "% or more everywhere here, so no lines are drawn"
	case highest <= 0.1:
		return "The chance to stay within every limit is 10" + thin + "% or less everywhere here, so no lines are drawn"
	}
	return "Lines: a chance of 10 (dotted), 50 (dashed) and 90" + thin + "% (bold) to stay within every limit, where there are such"
}
