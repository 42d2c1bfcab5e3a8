package pages

import (
	"context"
	"slices"
	"strings"

	"headroom/internal/figure"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/web/templates"
)

// mapTableSide is how many values of each parameter the table of a map has: what fits on a sheet of paper.
const mapTableSide = 6

// mapSketch is the map of the page that nobody has changed: the objective over the two parameters along which it changes most. The list is empty
// where there is none.
func (s *Site) mapSketch(ctx context.Context, v visit, state study.Readout, along []study.Slice) ([]sketch, error) {
	objective := v.snap.Definition.Objective.Metric
	if len(along) == 0 || !v.snap.HasReading(objective) {
		return nil, nil
	}
	v.query = nil
	o := v.outlook(state.Recommendation)
	o.chooseAxes(v, influencesOf(along, objective))
	if o.x == "" {
		return nil, nil
	}
	drawn, err := s.mapOf(ctx, v, o)
	if err != nil {
		return nil, err
	}
	words := v.mapChart(o, drawn, state.Recommendation)
	chart := figure.Chart{X: v.mapAxis(o.x, drawn.X, words), Y: v.mapAxis(o.y, drawn.Y, words), Surface: v.surface(o, drawn, words), Height: 4.2}
	caption := words.Caption
	if words.Drawing.Surface.Smooth {
		var marks points
		v.addPlaces(&marks, o, state.Recommendation)
		var thinned string
		chart.Marks, thinned = marks.thinned()
		caption += thinned
	}
	return []sketch{{title: words.Title, caption: caption + " The table has some of its values.", chart: chart, table: v.mapTable(o, drawn, words)}}, nil
}

// mapAxis is an axis of the map: of numbers, or of places without order.
func (v visit) mapAxis(name string, values []design.Value, words templates.Chart) figure.Axis {
	p := parameter(v.snap.Definition, name)
	axis := figure.Axis{Name: axisName(p.Name, p.Unit), Log: p.Scale == "log"}
	if words.Drawing.Surface.Smooth {
		axis.Low, axis.High = values[0].Number, values[len(values)-1].Number
		return axis
	}
	axis.Log = false
	for _, value := range values {
		axis.Names = append(axis.Names, settingText(p, value))
	}
	return axis
}

// surface is the map's colours, and the chance to stay within every limit.
func (v visit) surface(o outlook, drawn study.Map, words templates.Chart) *figure.Surface {
	shown := words.Drawing.Surface
	s := figure.Surface{Value: drawn.Mean[o.metric], Chance: shown.Chance, Cells: shown.Cells}
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
	s.X, s.Y = place(drawn.X), place(drawn.Y)
	all := slices.Concat(s.Value...)
	low, high := slices.Min(all), slices.Max(all)
	one, unit := alike((high-low)/10), unitOf(v.snap.Definition, o.metric)
	s.Low, s.High = design.WithUnit(one(low), unit, thin), design.WithUnit(one(high), unit, thin)
	return &s
}

// addPlaces marks where the trials are on the map, and the recommended settings.
func (v visit) addPlaces(marks *points, o outlook, recommended *study.Recommendation) {
	for _, t := range v.snap.Trials {
		if t.Excluded {
			continue
		}
		shape := shapeOf(t)
		if t.Waiting() && t.Feasible == nil {
			shape = figure.Diamond
		}
		marks.add(shape, t.Parameters[o.x].Number, t.Parameters[o.y].Number)
	}
	if recommended != nil {
		marks.add(figure.Star, recommended.Parameters[o.x].Number, recommended.Parameters[o.y].Number)
	}
}

// mapTable has some of the map's values: a row for a value of one parameter, a column for one of the other.
func (v visit) mapTable(o outlook, drawn study.Map, words templates.Chart) templates.Table {
	px, py := parameter(v.snap.Definition, o.x), parameter(v.snap.Definition, o.y)
	rows, columns := spread(len(drawn.Y)), spread(len(drawn.X))
	table := templates.Table{Head: []templates.Column{{Name: o.y + " ↓, " + o.x + " →", Unit: py.Unit}}}
	for _, j := range columns {
		table.Head = append(table.Head, templates.Column{Name: settingText(px, drawn.X[j]), Unit: px.Unit, Number: true})
	}
	var sure []float64 // standard deviations
	for _, i := range rows {
		for _, j := range columns {
			sure = append(sure, drawn.SD[o.metric][i][j])
		}
	}
	mean := alike(slices.Min(sure))
	for _, i := range slices.Backward(rows) {
		row := []string{settingText(py, drawn.Y[i])}
		for _, j := range columns {
			cell := mean(drawn.Mean[o.metric][i][j])
			if words.Drawing.Surface.Chance != nil {
				cell += " (" + terse.Replace(percent(drawn.Feasible[i][j])) + ")"
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
