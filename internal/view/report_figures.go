package view

import (
	"fmt"
	"slices"
	"strings"

	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Figure is a chart of a report: a part of a chart of the page, with the sentence under it.
type Figure struct {
	Title, Caption string
	Drawing        chart.Drawing
	Table          templates.Table // behind it, where the trials' table is not
}

// mostReportSlices is how many charts of the model along one parameter a report draws.
const mostReportSlices = 24

// figures are the charts of the page one by one, and what is to be said of them together.
func (v reporting) figures() (list []Figure, note string) {
	p := v.panelling()
	list = figuresOf(p.panelsOf(slices.DeleteFunc(p.all(), func(j int) bool { return !v.Snap.HasReading(v.Snap.Definition.Constraints[j].Metric) }), true))
	note = p.denseWords()
	if len(v.Slices) > 0 {
		believed, more := v.believedFigures()
		list, note = append(list, believed...), strings.TrimSpace(note+" "+more)
	}
	if prices := v.priceChart(); prices != nil {
		for i, cell := range prices.Drawing.Cells {
			list = append(list, Figure{Title: cell.Title + " by the " + cell.X.Title, Caption: prices.Notes[0] + " " + prices.Notes[i+1], Drawing: alone(cell)})
		}
	}
	if drift := (trusting{v.Facts}).section().Chart; drift != nil {
		drift.Drawing.Panels[0].Caption = drift.Caption
		list = append(list, figuresOf(drift.Drawing)...)
	}
	return list, note
}

// paperHeight is that of a panel that has paper for itself, in pixels.
const paperHeight = 150

// figuresOf are the panels of a chart one by one.
func figuresOf(d chart.Drawing) (list []Figure) {
	for _, panel := range d.Panels {
		panel.Height = paperHeight
		one := chart.Drawing{X: d.X, Panels: []chart.Panel{panel}, Events: d.Events}
		list = append(list, Figure{Title: panel.Title, Caption: panel.Caption, Drawing: one})
	}
	return list
}

// believedFigures are the map of the page that nobody has changed, and what the model believes along each parameter.
func (v reporting) believedFigures() (list []Figure, note string) {
	o := v.Outlook()
	o.Metrics = o.metricsShown()
	if o.X != "" {
		shown := o.mapChart()
		list = append(list, Figure{Title: shown.Title, Caption: shown.Caption + " The table has some of its values.", Drawing: shown.Drawing, Table: o.mapTable()})
	}
	cells := o.sliceGrid().Drawing.Cells
	if len(cells) > mostReportSlices {
		note = fmt.Sprintf("Of %d charts of the model along one parameter the first %d are drawn; the study’s page has all of them.", len(cells), mostReportSlices)
		cells = cells[:mostReportSlices]
	}
	for i, cell := range cells {
		caption := "The other settings are held " + o.Held + "; readings fade with the distance of theirs from that. The band is of the true value, without the noise of a reading."
		if i == 0 {
			caption = influenceWords(o.Snap.Definition, o.influences(), o.Held) + " " + caption
		}
		list = append(list, Figure{Title: cell.Title + " along " + cell.X.Title, Caption: caption, Drawing: alone(cell)})
	}
	return list, note
}

// alone is a small chart by itself.
func alone(cell chart.Panel) chart.Drawing { return chart.Drawing{Cells: []chart.Panel{cell}} }

// mapTableSide is how many values of each parameter the table of a map has: what fits on a sheet of paper.
const mapTableSide = 6

// mapTable has some of the map's values: a row for a value of one parameter, a column for one of the other.
func (o Outlook) mapTable() templates.Table {
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
	mean, chances := words.Alike(slices.Min(sure)), o.limited() && o.ModelStands()
	for _, i := range slices.Backward(rows) {
		row := []string{words.Setting(py, o.Map.Y[i])}
		for _, j := range columns {
			cell := mean(o.Map.Mean[o.Metric][i][j])
			if chances {
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
