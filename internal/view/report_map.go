package view

import (
	"slices"
	"strings"

	"headroom/internal/figure"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// mapTableSide is how many values of each parameter the table of a map has: what fits on a sheet of paper.
const mapTableSide = 6

// mapSketch is the map of the page that nobody has changed: the objective over the two parameters along which it changes most. The list is empty
// where there is none.
func (o Outlook) mapSketch() []Figure {
	if o.X == "" {
		return nil
	}
	shown := o.mapChart()
	chart := figure.Chart{X: o.mapAxis(o.X, o.Map.X), Y: o.mapAxis(o.Y, o.Map.Y), Surface: o.surface(shown), Height: 4.2}
	caption := shown.Caption
	if o.smooth() {
		var marks points
		o.addPlaces(&marks)
		var thinned string
		chart.Marks, thinned = marks.thinned()
		caption += thinned
	}
	return []Figure{{Title: shown.Title, Caption: caption + " The table has some of its values.", Chart: chart, Table: o.mapTable(shown)}}
}

// mapAxis is an axis of the map: of numbers, or of places without order.
func (o Outlook) mapAxis(name string, values []design.Value) figure.Axis {
	p := parameter(o.Snap.Definition, name)
	axis := figure.Axis{Name: words.AxisName(p.Name, p.Unit), Log: p.Scale == "log"}
	if o.smooth() {
		axis.Low, axis.High = values[0].Number, values[len(values)-1].Number
		return axis
	}
	axis.Log = false
	for _, value := range values {
		axis.Names = append(axis.Names, words.Setting(p, value))
	}
	return axis
}

// surface is the map's colours, and the chance to stay within every limit.
func (o Outlook) surface(said templates.Chart) *figure.Surface {
	shown := said.Drawing.Surface
	s := figure.Surface{Value: o.Map.Mean[o.Metric], Chance: shown.Chance, Cells: shown.Cells}
	place := func(values []design.Value) (at []float64) {
		for i, value := range values {
			if shown.Smooth {
				at = append(at, value.Number)
			} else {
				at = append(at, float64(i))
			}
		}
		return at
	}
	s.X, s.Y = place(o.Map.X), place(o.Map.Y)
	all := slices.Concat(s.Value...)
	low, high := slices.Min(all), slices.Max(all)
	one, unit := words.Alike((high-low)/10), UnitOf(o.Snap.Definition, o.Metric)
	s.Low, s.High = words.With(one(low), unit), words.With(one(high), unit)
	return &s
}

// addPlaces marks where the trials are on the map, and the recommended settings.
func (o Outlook) addPlaces(marks *points) {
	for _, t := range o.Snap.Trials {
		if t.Excluded {
			continue
		}
		shape := shapeOf(t)
		if t.Waiting() && t.Feasible == nil {
			shape = figure.Diamond
		}
		marks.add(shape, t.Parameters[o.X].Number, t.Parameters[o.Y].Number)
	}
	if recommended := o.recommended(); recommended != nil {
		marks.add(figure.Star, recommended.Parameters[o.X].Number, recommended.Parameters[o.Y].Number)
	}
}

// mapTable has some of the map's values: a row for a value of one parameter, a column for one of the other.
func (o Outlook) mapTable(said templates.Chart) templates.Table {
	px, py := parameter(o.Snap.Definition, o.X), parameter(o.Snap.Definition, o.Y)
	rows, columns := spread(len(o.Map.Y)), spread(len(o.Map.X))
	table := templates.Table{Head: []templates.Column{{Name: o.Y + " ↓, " + o.X + " →", Unit: py.Unit}}}
	for _, j := range columns {
		table.Head = append(table.Head, templates.Column{Name: words.Setting(px, o.Map.X[j]), Unit: px.Unit, Number: true})
	}
	var sure []float64 // standard deviations
	for _, i := range rows {
		for _, j := range columns {
			sure = append(sure, o.Map.SD[o.Metric][i][j])
		}
	}
	mean := words.Alike(slices.Min(sure))
	for _, i := range slices.Backward(rows) {
		row := []string{words.Setting(py, o.Map.Y[i])}
		for _, j := range columns {
			cell := mean(o.Map.Mean[o.Metric][i][j])
			if said.Drawing.Surface.Chance != nil {
				cell += " (" + terse.Replace(words.Percent(o.Map.Feasible[i][j])) + ")"
			}
			row = append(row, cell)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// terse says "over" and "under" as narrow columns have room for.
var terse = strings.NewReplacer("over ", ">", "under ", "<")

// spread are at most mapTableSide of n places, evenly, both ends among them.
func spread(n int) []int {
	side := min(n, mapTableSide)
	var list []int
	for k := range side {
		list = append(list, k*(n-1)/max(side-1, 1))
	}
	return list
}
