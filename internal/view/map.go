package view

import (
	"fmt"
	"math"
	"net/url"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// mostObservations is how many trials a map shows at most, the newest.
const mostObservations = 400

// Beliefs is what the model believes: a map over two parameters and a slice along each.
func (v Facts) Beliefs() templates.Beliefs {
	section := templates.Beliefs{At: v.At, Part: v.partURL("beliefs", nil)}
	if !v.Paper {
		section.Action = v.URL
	}
	if section.Empty = v.NothingBelieved(); section.Empty != "" {
		return section
	}
	if len(v.Slices) == 0 {
		section.Empty = "This study’s prior knows only its candidates, so there is nothing to draw between them. The trials are in the table below."
		return section
	}
	o := v.Outlook()
	section.Form, section.Through = o.form, o.Through
	o.inputs(&section)
	section.Set = len(o.Query) > words.Either(o.Others, 1, 0)
	section.Slices = new(o.sliceGrid())
	if o.X != "" {
		section.Map = new(o.mapChart())
	}
	section.Prices = v.priceChart()
	section.Trust = v.trust()
	if o.Others {
		section.Others = o.otherChoices(section.Map)
	} else if !v.Paper {
		section.OthersPart = v.partURL("beliefs", url.Values{"others": {"yes"}})
	}
	return section
}

// NothingBelieved says why there is nothing to draw of a model, "" if there is.
func (v Facts) NothingBelieved() string {
	objective := v.Snap.Definition.Objective.Metric
	switch {
	case !slices.ContainsFunc(Modelled(v.Snap.Definition), v.Snap.HasReading):
		return words.Either(readingsExcluded(v.Snap), "After the next result that counts", "After the first result") + ", the model’s picture of each metric will be drawn here: what it expects, how sure it is, and where the limits leave room."
	case v.Modelless != "":
		return v.Modelless
	case !v.Snap.HasReading(objective):
		return "The model’s picture of each metric will be drawn here once " + objective + " has a reading."
	case len(v.metricsShown()) > 0:
		return ""
	}
	return design.Capitalised(v.whyNoModel()) + words.Either(v.Snap.State.Over(), ".", "; its picture of each metric will then be drawn here.")
}

func (o Outlook) inputs(section *templates.Beliefs) {
	d := o.Snap.Definition
	section.Metric = templates.Input{Name: "metric", Label: "Map of", Kind: "select", Options: optionsOf(o.metricsShown())}
	if o.X != "" {
		axes := optionsOf(mapNames(d))
		section.Axes = [2]templates.Input{{Name: "x", Label: "across", Kind: "select", Options: axes}, {Name: "y", Label: "up", Kind: "select", Options: axes}}
	} else {
		section.Metric.Label = "Metric"
	}
	for i, p := range d.Parameters {
		if p.Type != design.Remainder {
			in := SettingInput(pinField(i), p)
			in.Label, in.Help = p.Name+" at", ""
			section.Pins = append(section.Pins, in)
		}
	}
}

// OtherAlgorithms lists the algorithms that are asked what they would do next on the same readings.
func OtherAlgorithms(d design.Definition) []string {
	return slices.DeleteFunc([]string{"log-cei", "rpol-ucb", "ckb-ucb", "scbo"}, func(name string) bool { return name == d.Algorithm.Name })
}

// otherChoices says what other algorithms would do next, and marks it on the map onto, if there is
// one.
func (o Outlook) otherChoices(onto *templates.Chart) []templates.Fact {
	if len(o.Choices) == 0 {
		return []templates.Fact{{Name: "None", Value: "The other algorithms cannot choose here without being told more."}}
	}
	var list []templates.Fact
	points := chart.Trace{Name: "other algorithms’ next", Style: chart.Other}
	for _, choice := range o.Choices {
		list = append(list, templates.Fact{Name: choice.Name, Value: o.whole(choice.Because)})
		if choice.Parameters == nil || onto == nil || !onto.Drawing.Surface.Smooth {
			continue
		}
		points.Add(plotValue((*choice.Parameters)[o.X]), plotValue((*choice.Parameters)[o.Y]))
		points.Text = append(points.Text, choice.Name+" would try "+settingsLine(o.Snap.Definition, *choice.Parameters))
	}
	if len(points.X) > 0 {
		onto.Drawing.Traces = append(onto.Drawing.Traces, points)
	}
	return list
}

// mapChart draws a metric's mean over two parameters, with the chance to stay within every limit:
// as contours, or in each cell if an axis is not ordered.
func (o Outlook) mapChart() templates.Chart {
	d := o.Snap.Definition
	chance, aim := o.chances()
	surface := o.surface(chance, aim)
	drawing := chart.Drawing{X: axisOf(parameter(d, o.X)), Y: axisOf(parameter(d, o.Y)), Surface: &surface}
	if surface.Smooth {
		drawing.Traces = o.trialMarks()
	} else {
		drawing.X.Categories, drawing.Y.Categories = categoriesOf(surface.X), categoriesOf(surface.Y)
	}
	return o.withSource(templates.Chart{ID: "chart-map-" + shortHash([]string{o.Metric, o.X, o.Y}), Title: design.OpeningName(o.Metric) + " over " + design.Name(o.X) + " and " + design.Name(o.Y),
		Caption: o.mapExtremes() + o.mapCaption(chance, aim), Table: o.mapTable(chance, aim), Printed: o.Paper, Drawing: drawing})
}

// surface is the map without its marks.
func (o Outlook) surface(chance [][]float64, aim string) chart.Surface {
	d, drawn, unit := o.Snap.Definition, o.Map, o.Snap.Definition.Unit(o.Metric)
	surface := chart.Surface{Smooth: o.smooth(), MeanName: words.AxisName(o.Metric, unit), Aim: aim, Note: withoutNoise}
	px, py := parameter(d, o.X), parameter(d, o.Y)
	mean, sd := drawn.Mean[o.Metric], drawn.SD[o.Metric]
	columns, rows := evenlySpaced(px, drawn.X, surface.Smooth), evenlySpaced(py, drawn.Y, surface.Smooth)
	surface.X, surface.AtX = mapValues(drawn.X, columns, surface.Smooth, px)
	surface.Y, surface.AtY = mapValues(drawn.Y, rows, surface.Smooth, py)
	cell := func(i, j int) string { return words.Alike(sd[i][j])(mean[i][j]) }
	surface.Mean = grid(rows, columns, func(i, j int) float64 { return mean[i][j] })
	surface.Text = grid(rows, columns, func(i, j int) string {
		return words.Either(math.IsNaN(mean[i][j]), "", words.Uncertain(mean[i][j], sd[i][j], unit))
	})
	if chance != nil {
		percent := func(i, j int) string { return words.Either(math.IsNaN(mean[i][j]), "", words.Percent(chance[i][j])) }
		surface.Chance, surface.Chances = grid(rows, columns, func(i, j int) float64 { return chance[i][j] }), grid(rows, columns, percent)
		cell = func(i, j int) string { return words.Alike(sd[i][j])(mean[i][j]) + "\n" + percent(i, j) }
	}
	if !surface.Smooth {
		surface.Cells = grid(rows, columns, cell)
	}
	return surface
}

// grid has the value of each of some rows and columns.
func grid[T any](rows, columns []int, value func(i, j int) T) [][]T {
	return lists.Map(rows, func(i int) []T { return lists.Map(columns, func(j int) T { return value(i, j) }) })
}

// evenlySpaced gives, for each place of a map's axis, the index of the value to show there. Places
// are evenly spaced on the axis. So are the values, except those in steps on a logarithmic scale:
// of these each place takes the nearest.
func evenlySpaced(p design.Parameter, values []design.Value, smooth bool) (places []int) {
	if !smooth || !p.Logarithmic() {
		return lists.Below(len(values))
	}
	at := func(i int) float64 { return math.Log(values[i].Number) }
	nearest, last := 0, len(values)-1
	for k := range smoothSamples {
		place := at(0) + (at(last)-at(0))*float64(k)/(smoothSamples-1)
		for nearest < last && at(nearest+1)-place <= place-at(nearest) {
			nearest++
		}
		places = append(places, nearest)
	}
	return places
}

// mapExtremes says what the lowest and highest values on the map are and where, for readers who do
// not see the colours; "" if the map is empty.
func (o Outlook) mapExtremes() string {
	means, sds := slices.Concat(o.Map.Mean[o.Metric]...), slices.Concat(o.Map.SD[o.Metric]...)
	low, _ := bestIndex(means, make([]bool, len(means)), true)
	high, _ := bestIndex(means, make([]bool, len(means)), false)
	if low < 0 || high < 0 {
		return ""
	}
	end := func(at int) string {
		return words.With(design.WriteTogether(sds[at], means[low], means[high])(means[at]), o.Snap.Definition.Unit(o.Metric)) + " " + o.mapPlace(at)
	}
	return fmt.Sprintf("Expected %s here: from %s to %s. ", design.Name(o.Metric), end(low), end(high))
}

// mapPlace names a place of the map's data, by its index row by row.
func (o Outlook) mapPlace(at int) string {
	px, py := parameter(o.Snap.Definition, o.X), parameter(o.Snap.Definition, o.Y)
	x, y := o.Map.X[at%len(o.Map.X)], o.Map.Y[at/len(o.Map.X)]
	return fmt.Sprintf("at %s %s and %s %s", design.Name(o.X), words.With(design.WriteSetting(px, x), px.Unit), design.Name(o.Y), words.With(design.WriteSetting(py, y), py.Unit))
}

// mapCaption explains the colours and lines of the map, and says where the chance is largest.
func (o Outlook) mapCaption(chance [][]float64, aim string) string {
	d := o.Snap.Definition
	caption := "Colour is the expected " + design.Name(o.Metric) + words.Either(len(axisNames(d)) > 2, ", the other settings held "+o.Held, "") + "."
	if slices.ContainsFunc(slices.Concat(o.Map.Mean[o.Metric]...), math.IsNaN) {
		caption += " Nothing is drawn where the remainder would lie outside the range of " + design.Listed(remainderNames(d), "or") + "."
	}
	switch {
	case chance != nil && o.smooth():
		best, narrowed := bestIndex(slices.Concat(chance...), slices.Concat(o.Map.Open...), false)
		caption += " " + chanceWords(chance, aim) + fmt.Sprintf("; among the places that the map is drawn from it is highest%s, %s, %s.", words.Either(narrowed, " among what may be chosen", ""), words.Percent(slices.Concat(chance...)[best]), o.mapPlace(best))
	case chance != nil:
		caption += " Cells with room for it show that value, and below it the chance " + aim + ". Choices have no order, so nothing is drawn between them."
	}
	if len(d.Constraints) > 0 && !o.ModelStands() {
		why := "of some metric there are too few readings"
		if missing := unread(o.Snap); len(missing) > 0 {
			why = noReadingWords(o.Snap, missing)
		}
		caption += " " + design.Capitalised(why) + ", so nothing is said of the limits."
	}
	if !o.Snap.Definition.Foreseeable() {
		caption += " Nothing is said of limits that depend on what a trial brings."
	}
	if chance != nil && o.Map.Works == nil && slices.ContainsFunc(o.Snap.Trials, failedBySettings) {
		caption += " That a trial may fail is not counted in this chance."
	}
	return caption
}

// mapTable has the map's values, with a row for each value of one parameter and a column for each
// of the other.
func (o Outlook) mapTable(chance [][]float64, aim string) templates.Table {
	px, py := parameter(o.Snap.Definition, o.X), parameter(o.Snap.Definition, o.Y)
	across, up := 1, 1
	if o.smooth() { // at most nine ordered values fit on a sheet of paper
		across, up = max(1, (len(o.Map.X)+6)/8), max(1, (len(o.Map.Y)+6)/8)
	}
	what := "Expected " + words.AxisName(design.Name(o.Metric), o.Snap.Definition.Unit(o.Metric)) + words.Either(chance == nil, "", " (chance "+aim+")")
	table := templates.Table{Head: []templates.Column{{Name: what + ": " + design.Name(o.Y) + " ↓, " + design.Name(o.X) + " →", Unit: py.Unit}}}
	for j := 0; j < len(o.Map.X); j += across {
		table.Head = append(table.Head, number(design.WriteSetting(px, o.Map.X[j]), px.Unit))
	}
	for i := (len(o.Map.Y) - 1) / up * up; i >= 0; i -= up {
		row := []string{design.WriteSetting(py, o.Map.Y[i])}
		for j := 0; j < len(o.Map.X); j += across {
			cell := words.Alike(o.Map.SD[o.Metric][i][j])(o.Map.Mean[o.Metric][i][j])
			if chance != nil && !math.IsNaN(chance[i][j]) {
				cell += " (" + words.Terse(words.Percent(chance[i][j])) + ")"
			}
			row = append(row, cell)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// mapValues returns the values at the places of a map's axis, as texts if the map is a grid of
// cells, and what is said when one points at them.
func mapValues(values []design.Value, places []int, smooth bool, p design.Parameter) (at []any, said []string) {
	for _, i := range places {
		text := design.WriteSetting(p, values[i])
		at, said = append(at, words.Either[any](smooth, plotValue(values[i]), text)), append(said, design.Name(p.Name)+" "+design.Name(text))
	}
	return at, said
}

// categoriesOf converts the places of a grid's axis to categories.
func categoriesOf(places []any) []string {
	return lists.Map(places, func(place any) string { return place.(string) })
}

// trialMarks are the trials, and the recommended settings, as points of the map.
func (o Outlook) trialMarks() []chart.Trace {
	points := newMarks(o.Snap.Definition)
	points.onMap, points.failed = true, true
	ran := lists.Pick(o.Snap.Trials, func(t *ledger.Trial) (*ledger.Trial, bool) { return t, !t.Excluded && !notRun(t) })
	for _, t := range ran[max(0, len(ran)-mostObservations):] {
		style, text := chart.Style(markOf(o.Snap.Definition, t)), fmt.Sprintf("Trial %d: %s", t.Number, stateWords(o.Snap.Definition, t))
		points.add(style, plotValue(t.Parameters[o.X]), plotValue(t.Parameters[o.Y]), text, t.Number)
	}
	if recommended := o.recommended(); recommended != nil {
		points.add(chart.Recommended, plotValue(recommended.Parameters[o.X]), plotValue(recommended.Parameters[o.Y]), fmt.Sprintf("recommended: the settings of trial %d", recommended.Number), recommended.Number)
	}
	return points.all()
}

// chances is the probability over the map that a trial ends well, and the words for that: that it
// stays within the limits, if these are predicted, and that it works, if failures have taught how
// likely that is. It is nil if neither is known.
func (o Outlook) chances() (chance [][]float64, aim string) {
	limits := o.predictableLimits()
	switch works := o.Map.Works; {
	case works == nil && limits != "":
		return o.Map.Feasible, "to stay within " + limits
	case works != nil && limits == "":
		return works, "that a trial works"
	case works != nil:
		both := func(i, j int) float64 { return works[i][j] * o.Map.Feasible[i][j] }
		return grid(lists.Below(len(works)), lists.Below(len(works[0])), both), "that a trial works and stays within " + limits
	}
	return nil, ""
}

// chanceWords explains the contours, or says that the whole map lies on one side of all of them.
func chanceWords(chance [][]float64, aim string) string {
	all := slices.DeleteFunc(slices.Concat(chance...), math.IsNaN)
	lowest, highest := slices.Min(all), slices.Max(all)
	if lowest >= 0.9 || highest <= 0.1 {
		side := words.Either(lowest >= 0.9, "90"+words.Thin+"% or more", "10"+words.Thin+"% or less")
		return "As the model sees it, the chance " + aim + " is " + side + " everywhere here, so no lines are drawn"
	}
	return "Lines: a chance of 10 (dotted), 50 (dashed) and 90" + words.Thin + "% (bold) " + aim + ", where there are such"
}
