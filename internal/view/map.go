package view

import (
	"fmt"
	"math"
	"slices"

	"headroom/internal/study/design"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// mapChart is one metric's mean over two parameters, with the chance to stay within every limit: as
// contours, or written in each cell where choices have no order.
func (o Outlook) mapChart() templates.Chart {
	drawn := o.Map
	d := o.Snap.Definition
	px, py := parameter(d, o.X), parameter(d, o.Y)
	unit := UnitOf(d, o.Metric)
	chance, aim := o.chances()
	surface := chart.Surface{Smooth: o.smooth(), Mean: shortRows(drawn.Mean[o.Metric]), MeanName: words.AxisName(o.Metric, unit)}
	if chance != nil {
		surface.Chance, surface.Aim = shortRows(chance), aim
	}
	surface.Note = "(± one standard deviation, without the noise of a reading)"
	for _, x := range drawn.X {
		surface.X, surface.AtX = append(surface.X, o.mapValue(x, surface.Smooth, px)), append(surface.AtX, o.X+" "+words.Setting(px, x))
	}
	for _, y := range drawn.Y {
		surface.Y, surface.AtY = append(surface.Y, o.mapValue(y, surface.Smooth, py)), append(surface.AtY, o.Y+" "+words.Setting(py, y))
	}
	table := templates.Table{Head: []templates.Column{{Name: o.X, Unit: px.Unit, Number: true}, {Name: o.Y, Unit: py.Unit, Number: true}, {Name: "Expected " + o.Metric, Unit: unit, Number: true}, {Name: "Chance " + aim, Number: true}}}
	bi, bj := 0, 0
	step := words.Either(surface.Smooth, 5, 1)
	for i, y := range drawn.Y {
		line, cells, fits := make([]string, len(drawn.X)), make([]string, len(drawn.X)), make([]string, len(drawn.X))
		for j, x := range drawn.X {
			mean, sd := drawn.Mean[o.Metric][i][j], drawn.SD[o.Metric][i][j]
			cells[j], fits[j] = words.Alike(sd)(mean), "–"
			line[j] = words.Uncertain(mean, sd, unit)
			if chance != nil {
				fits[j] = words.Percent(chance[i][j])
				cells[j] += "\n" + fits[j]
				if chance[i][j] > chance[bi][bj] {
					bi, bj = i, j
				}
			}
			if i%step == 0 && j%step == 0 {
				table.Rows = append(table.Rows, []string{words.Setting(px, x), words.Setting(py, y), words.Alike(sd)(mean), fits[j]})
			}
		}
		surface.Text = append(surface.Text, line)
		if chance != nil {
			surface.Chances = append(surface.Chances, fits)
		}
		if !surface.Smooth {
			surface.Cells = append(surface.Cells, cells)
		}
	}
	caption := fmt.Sprintf("Colour is the expected %s", o.Metric)
	if len(axisNames(d)) > 2 {
		caption += ", the other settings held " + o.Held
	}
	caption += "."
	switch {
	case chance != nil && surface.Smooth:
		caption += " " + chanceWords(chance, aim) + fmt.Sprintf("; it is best, %s, at %s %s and %s %s.", words.Percent(chance[bi][bj]),
			o.X, words.With(words.Setting(px, drawn.X[bj]), px.Unit), o.Y, words.With(words.Setting(py, drawn.Y[bi]), py.Unit))
	case chance != nil:
		caption += " Below it stands the chance " + aim + ". Choices have no order, so nothing is drawn between them."
	}
	if len(d.Constraints) > 0 && !o.ModelStands() {
		caption += " " + design.Capitalised(design.Listed(o.unread(), "and")) + " " + words.IsOrAre(len(o.unread())) + " without a reading, so nothing is said of the limits."
	}
	if chance != nil && drawn.Works == nil && slices.ContainsFunc(o.Snap.Trials, failedBySettings) {
		caption += " That a trial may fail is not counted in this chance."
	}
	title := design.Capitalised(o.Metric) + " over " + o.X + " and " + o.Y
	x, y := axisOf(px), axisOf(py)
	x.Whole, y.Whole = px.Type == design.Integer, py.Type == design.Integer
	if !surface.Smooth {
		x, y = gridAxis(x, surface.X), gridAxis(y, surface.Y)
	}
	var traces []chart.Trace
	if surface.Smooth {
		traces = o.observedOn()
	}
	return o.framed(templates.Chart{ID: "chart-map-" + shortHash([]string{o.Metric, o.X, o.Y}), Title: title, Caption: caption, Table: table,
		Drawing: chart.Drawing{X: x, Y: y, Traces: traces, Surface: &surface}})
}

// mapValue is a value on an axis of the map: in words, where the map is a grid of cells.
func (o Outlook) mapValue(value design.Value, smooth bool, p design.Parameter) any {
	if smooth {
		return plotValue(value)
	}
	return words.Setting(p, value)
}

// gridAxis is an axis of cells.
func gridAxis(axis chart.Axis, values []any) chart.Axis {
	axis.Log, axis.Whole, axis.Range, axis.Categories = false, false, nil, nil
	for _, value := range values {
		axis.Categories = append(axis.Categories, value.(string))
	}
	return axis
}

// observedOn are the trials as points of the map, and the recommended settings.
func (o Outlook) observedOn() []chart.Trace {
	points := noMarks(o.Snap.Definition)
	points.places = true
	from := max(0, len(o.Snap.Trials)-mostObservations)
	for i := range o.Snap.Trials[from:] {
		t := o.Snap.Trials[from+i]
		if t.Excluded {
			continue
		}
		style, text := chart.Style(o.markOf(t)), fmt.Sprintf("Trial %d: %s", t.Number, o.StateWords(t))
		points.add(style, plotValue(t.Parameters[o.X]), plotValue(t.Parameters[o.Y]), text, t.Number)
	}
	if recommended := o.recommended(); recommended != nil {
		points.add(chart.Recommended, plotValue(recommended.Parameters[o.X]), plotValue(recommended.Parameters[o.Y]), fmt.Sprintf("recommended: the settings of trial %d", recommended.Number), recommended.Number)
	}
	return points.all()
}

// chances are what is known of how a trial over the map would end, and the words for a good end:
// within every limit where their model stands, and with a reading where failures taught how likely
// that is.
func (o Outlook) chances() (chance [][]float64, aim string) {
	limits := len(o.Snap.Definition.Constraints) > 0 && o.ModelStands()
	switch works := o.Map.Works; {
	case works == nil && limits:
		return o.Map.Feasible, "to stay within every limit"
	case works != nil && !limits:
		return works, "that a trial works"
	case works != nil:
		for i, row := range o.Map.Feasible {
			chance = append(chance, make([]float64, len(row)))
			for j, within := range row {
				chance[i][j] = works[i][j] * within
			}
		}
		return chance, "that a trial works and stays within every limit"
	}
	return nil, "to stay within every limit"
}

// chanceWords say what the lines of a map are, or on which side of all of them it lies.
func chanceWords(chance [][]float64, aim string) string {
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, row := range chance {
		lowest, highest = min(lowest, slices.Min(row)), max(highest, slices.Max(row))
	}
	switch {
	case lowest >= 0.9:
		return "The chance " + aim + " is 90" + words.Thin + "% or more everywhere here, so no lines are drawn"
	case highest <= 0.1:
		return "The chance " + aim + " is 10" + words.Thin + "% or less everywhere here, so no lines are drawn"
	}
	return "Lines: a chance of 10 (dotted), 50 (dashed) and 90" + words.Thin + "% (bold) " + aim + ", where there are such"
}
