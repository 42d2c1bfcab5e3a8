package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/figure"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Figure is a chart of a report, to be drawn.
type Figure struct {
	Title, Caption string
	Chart          figure.Chart
	Table          templates.Table // behind it, where the trials' table is not
}

// figures are all charts of a report, and what is to be said of them.
func (v Facts) figures(p *Past) (sketches []Figure, note string) {
	panels := v.panelling()
	if v.Snap.HasReading(v.Snap.Definition.Objective.Metric) {
		sketches = append(sketches, panels.bestSketch(p))
	}
	for j, c := range v.Snap.Definition.Constraints {
		if v.Snap.HasReading(c.Metric) {
			sketches = append(sketches, panels.limitSketch(j, p), v.violationSketch(c))
		}
		if _, priced := v.Readout.Multipliers[c.Name]; priced {
			sketches = append(sketches, v.multiplierSketch(c))
		}
	}
	beliefs, note := v.sliceSketches()
	sketches = append(sketches, beliefs...)
	for _, p := range v.Prices {
		sketches = append(sketches, v.priceSketch(p))
	}
	return append(sketches, v.driftSketches()...), note
}

// overTrials is the x axis of charts over trials.
func (v Facts) overTrials() figure.Axis {
	return figure.Axis{Name: "trial", Whole: true, Low: 0.5, High: float64(len(v.Snap.Trials)) + 0.5}
}

// points collects marks by their shape.
type points [figure.Shapes]figure.Marks

func (m *points) add(shape figure.Shape, x, y float64) {
	m[shape].Shape = shape
	m[shape].X, m[shape].Y = append(m[shape].X, x), append(m[shape].Y, y)
}

// thinned are the marks with the lowest and the highest of each stretch, where there are very many, and what is to be said of that.
func (m *points) thinned() (list []figure.Marks, note string) {
	longest := 1
	for _, marks := range m {
		if len(marks.X) == 0 {
			continue
		}
		keep, stretch := figure.Thin(marks.Y, reportStretches)
		longest = max(longest, stretch)
		if stretch > 1 {
			marks.X, marks.Y = at(marks.X, keep), at(marks.Y, keep)
		}
		list = append(list, marks)
	}
	if longest > 1 {
		note = fmt.Sprintf(" There are too many marks to draw: of every %d of a kind the lowest and the highest are shown.", longest)
	}
	return list, note
}

func at(values []float64, keep []int) []float64 {
	kept := make([]float64, len(keep))
	for i, k := range keep {
		kept[i] = values[k]
	}
	return kept
}

// shapes are how marks of the page's charts are drawn on paper.
var shapes = map[templates.Style]figure.Shape{templates.Feasible: figure.Dot, templates.Violated: figure.Triangle, templates.Unknown: figure.Ring, templates.Excluded: figure.Cross}

// shapeOf is the mark of a trial whose value is known, under the limits as they are now.
func shapeOf(t *ledger.Trial) figure.Shape {
	switch {
	case t.Excluded:
		return figure.Cross
	case t.Feasible == nil:
		return figure.Ring
	case *t.Feasible:
		return figure.Dot
	}
	return figure.Triangle
}

// noteLetters are how charts over trials mark what was changed; noteKey says what they mean.
var noteLetters = []struct {
	letter string
	is     func(turn ledger.Turn, before []design.Constraint) bool
}{
	{"c", func(turn ledger.Turn, _ []design.Constraint) bool { return turn.Kind == ledger.Corrected }},
	{"x", func(turn ledger.Turn, _ []design.Constraint) bool { return turn.Kind == ledger.Excluded }},
	{"i", func(turn ledger.Turn, _ []design.Constraint) bool { return turn.Kind == ledger.Included }},
	{"l", func(turn ledger.Turn, before []design.Constraint) bool { return limitMoved(turn, before) }},
	{"s", func(turn ledger.Turn, before []design.Constraint) bool {
		return turn.Kind == ledger.Reconfigured && !limitMoved(turn, before)
	}},
	{fitted, func(turn ledger.Turn, _ []design.Constraint) bool { return turn.Kind == ledger.Fitted }},
}

// fitted is the letter of what the model does by itself, often: no line is drawn for it.
const fitted = "f"

const noteKey = "Letters above a chart over trials stand where something was changed: c a value corrected, x a trial taken out, i one taken in again, l a limit changed, s other settings of the study changed, f the model refitted."

func limitMoved(turn ledger.Turn, before []design.Constraint) bool {
	return turn.Kind == ledger.Reconfigured && limitChanges(before, turn.Limits) != ""
}

// mostNotes is how many places of an axis have room for letters; changes that fall into one share it.
const mostNotes = 60

// notes are what was changed, as letters on the axis of trials.
func (v Facts) notes() []figure.Note {
	size := (len(v.Snap.Trials) + mostNotes - 1) / mostNotes
	var list []figure.Note
	at := map[int]int{}
	for i, turn := range v.Snap.Turns {
		for _, note := range noteLetters {
			if i == 0 || !note.is(turn, v.Snap.Turns[i-1].Limits) {
				continue
			}
			place := turn.After / max(size, 1)
			n, there := at[place]
			if !there {
				n = len(list)
				at[place], list = n, append(list, figure.Note{X: float64(turn.After) + 0.5})
			}
			if !strings.Contains(list[n].Text, note.letter) {
				list[n].Text += note.letter
			}
			list[n].Slight = list[n].Text == fitted
		}
	}
	return list
}

// bestSketch is the objective over trials with the best within the limits so far.
func (p *panelling) bestSketch(past *Past) Figure {
	o := p.Snap.Definition.Objective
	var marks points
	var values []float64
	doubted := 0
	best := figure.Curve{Step: true}
	for i, running := range p.best {
		t := p.Snap.Trials[i]
		x := float64(t.Number)
		if m, told := t.Metrics[o.Metric]; told {
			marks.add(shapes[styleUnder(p.limits[i], t)], x, m.Value)
			if t.Doubted(o.Metric) {
				doubted++
			} else {
				values = append(values, m.Value)
			}
			if first, changed := past.first[t.Number][o.Metric]; changed {
				marks.add(figure.Plus, x, first)
			}
		} else if mean, predicted := p.awaited(t, o.Metric); predicted {
			marks.add(figure.Diamond, x, mean)
		}
		if running > 0 {
			best.X, best.Y = append(best.X, x), append(best.Y, p.Snap.Trial(running).Metrics[o.Metric].Value)
		}
	}
	caption := "No trial is known to be within every limit yet."
	if t := p.Snap.Best(); t != nil {
		which := "reading within the limits so far, as the limits are now"
		if len(p.Snap.Definition.Constraints) == 0 {
			which = "reading so far"
		}
		caption = fmt.Sprintf("Line: the best %s; %s at trial %d at last.", which, words.Quantity(t.Metrics[o.Metric].Value, o.Unit), t.Number)
	}
	must := best.Y
	if r := p.recommended(); r != nil {
		marks.add(figure.Star, float64(r.Number), r.Mean[o.Metric])
		must = append(slices.Clone(must), r.Mean[o.Metric])
		caption += fmt.Sprintf(" Star: what is expected of the recommended settings, those of trial %d.", r.Number)
	}
	chart := figure.Chart{X: p.overTrials(), Y: figure.Axis{Name: words.AxisName(o.Metric, o.Unit)}}
	var outside int
	chart.Y.Low, chart.Y.High, outside = figure.Robust(values, must...)
	if len(best.X) > 0 {
		chart.Curves = []figure.Curve{onward(best, chart.X.High)}
	}
	return p.overTrialsSketch("Best "+o.Metric+" so far", caption+inDoubt(doubted), chart, &marks, outside)
}

// overTrialsSketch completes a chart over trials: marks, marks on the axis, and what its caption has to say of both.
func (v Facts) overTrialsSketch(title, caption string, chart figure.Chart, marks *points, outside int) Figure {
	var thinned string
	chart.Marks, thinned = marks.thinned()
	chart.Notes = v.notes()
	if outside > 0 {
		caption += fmt.Sprintf(" %s beyond the range that is drawn, and stand at its edge.", words.Count(outside, "reading lies", "readings lie"))
	}
	return Figure{Title: title, Caption: caption + thinned, Chart: chart}
}

// limitSketch is a constraint's metric over trials, against the limit as it stood at each.
func (p *panelling) limitSketch(j int, past *Past) Figure {
	c := p.Snap.Definition.Constraints[j]
	var marks points
	var values []float64
	doubted := 0
	for _, t := range p.Snap.Trials {
		m, there := t.Metrics[c.Metric]
		if !there {
			if mean, predicted := p.awaited(t, c.Metric); predicted {
				marks.add(figure.Diamond, float64(t.Number), mean)
			}
			continue
		}
		marks.add(shapes[readingUnder(p.limits[t.Number-1][j], t, m.Value)], float64(t.Number), m.Value)
		if t.Doubted(c.Metric) {
			doubted++
		} else {
			values = append(values, m.Value)
		}
		if first, changed := past.first[t.Number][c.Metric]; changed {
			marks.add(figure.Plus, float64(t.Number), first)
		}
	}
	line := &figure.Threshold{Label: "limit " + words.Quantity(c.Threshold, c.Unit), Above: c.Op == "<="}
	steps := past.limits[c.Name]
	for i, step := range steps {
		from := float64(step.from) - 0.5
		if i == 0 {
			from = 0.5
		}
		line.X, line.Y = append(line.X, from), append(line.Y, step.value)
	}
	line.X, line.Y = append(line.X, float64(len(p.Snap.Trials))+0.5), append(line.Y, c.Threshold)
	chart := figure.Chart{X: p.overTrials(), Y: figure.Axis{Name: words.AxisName(c.Metric, c.Unit)}, Threshold: line}
	var outside int
	chart.Y.Low, chart.Y.High, outside = figure.Robust(values, line.Y...)
	caption := p.limitWords(j) + " Dashed: the limit as it stood when each trial began; the side that breaks it is shaded."
	switch changes := len(steps) - 1; {
	case changes == 1:
		caption += " It was changed once."
	case changes > 1:
		caption += fmt.Sprintf(" It was changed %d times.", changes)
	}
	return p.overTrialsSketch(words.Capitalised(c.Metric)+" against its limit "+nameWhereOther(c), caption+inDoubt(doubted), chart, &marks, outside)
}

// inDoubt says that readings which the range of a chart does not follow are in doubt.
func inDoubt(readings int) string {
	if readings == 0 {
		return ""
	}
	return fmt.Sprintf(" %s in doubt, drawn at the edge where beyond the range of the others.", words.Count(readings, "reading is", "readings are"))
}

// nameWhereOther is a constraint's name where it is not that of its metric.
func nameWhereOther(c design.Constraint) string {
	if c.Name == c.Metric {
		return words.Limit(c)
	}
	return words.Limit(c) + " (" + c.Name + ")"
}

// violationSketch is how far a limit was exceeded in sum.
func (v Facts) violationSketch(c design.Constraint) Figure {
	hard, soft, estimated, bound := figure.Curve{Step: true}, figure.Curve{Step: true, Style: figure.Dashed}, figure.Curve{Step: true, Style: figure.Dotted}, figure.Curve{Step: true, Style: figure.Dashed}
	add := func(curve *figure.Curve, number int, y *float64) {
		if y != nil {
			curve.X, curve.Y = append(curve.X, float64(number)), append(curve.Y, *y)
		}
	}
	for _, row := range v.History {
		now := row.Violation[c.Name]
		add(&hard, row.Number, &now.Hard)
		add(&soft, row.Number, &now.Soft)
		add(&estimated, row.Number, now.Estimated)
		add(&bound, row.Number, now.Bound)
	}
	now := v.Readout.Violation[c.Name]
	unit := words.UnitAfter(c.Unit)
	caption := fmt.Sprintf("Solid: every excess counts, %s%s in sum at last, over %s, at most %s%s in one. Dashed: distance kept elsewhere pays back, %s%s.", words.Rough(now.Hard), unit, words.Count(now.Rounds, "trial", "trials"), words.Rough(now.Largest), unit, words.Rough(now.Soft), unit)
	if now.Hard == 0 {
		caption = "No reading has exceeded the limit as it is now."
	}
	curves := []figure.Curve{hard, soft}
	if now.Estimated != nil && v.ModelStands() {
		curves = append(curves, estimated)
		caption += fmt.Sprintf(" Dotted: as the model estimates it, allowing for noise, %s%s.", words.Rough(*now.Estimated), unit)
	}
	if now.Bound != nil {
		if *now.Bound <= 10*math.Max(now.Hard, now.Soft) {
			curves = append(curves, bound)
		}
		caption += fmt.Sprintf(" The algorithm’s bound on the trials that it chose is %s%s (%s).", words.Rough(*now.Bound), unit, v.boundKind(now))
	}
	chart := figure.Chart{X: figure.Axis{Name: "trial", Whole: true, Low: 0.5, High: float64(len(v.History)) + 0.5}, Y: figure.Axis{Name: words.AxisName("sum of excess", c.Unit)}, Height: 2, Notes: v.notes()}
	all := []float64{0}
	for _, curve := range curves {
		if len(curve.X) > 0 {
			curve = onward(thinCurve(curve), chart.X.High)
			chart.Curves, all = append(chart.Curves, curve), append(all, curve.Y...)
		}
	}
	chart.Y.Low, chart.Y.High, _ = figure.Robust(all)
	return Figure{Title: "Cumulative violation of " + c.Name, Caption: caption + " Counted against the limit as it is now.", Chart: chart}
}

// onward is a step curve with its last value held to the end of the axis.
func onward(curve figure.Curve, end float64) figure.Curve {
	curve.X, curve.Y = append(slices.Clone(curve.X), end), append(slices.Clone(curve.Y), curve.Y[len(curve.Y)-1])
	return curve
}

// thinCurve keeps of a very long curve the lowest and the highest of each stretch.
func thinCurve(curve figure.Curve) figure.Curve {
	keep, _ := figure.Thin(curve.Y, 2*reportStretches)
	curve.X, curve.Y = at(curve.X, keep), at(curve.Y, keep)
	return curve
}

// multiplierSketch is a constraint's price over trials.
func (v Facts) multiplierSketch(c design.Constraint) Figure {
	price := figure.Curve{Step: true}
	for _, row := range v.History {
		if y, there := row.Multipliers[c.Name]; there {
			price.X, price.Y = append(price.X, float64(row.Number)), append(price.Y, y)
		}
	}
	now := v.Readout.Multipliers[c.Name]
	price.X, price.Y = append(price.X, float64(v.Readout.Round)), append(price.Y, now)
	caption := fmt.Sprintf("What the algorithm charges for a unit of excess in each decision: %s in the next.", words.Rough(now))
	chart := figure.Chart{X: figure.Axis{Name: "trial", Whole: true, Low: 0.5, High: float64(len(v.History)) + 1.5}, Y: figure.Axis{Name: "multiplier"}, Height: 2, Notes: v.notes()}
	chart.Curves = []figure.Curve{onward(thinCurve(price), chart.X.High)}
	return Figure{Title: "Price of breaking " + c.Name + " (multiplier)", Caption: caption, Chart: chart}
}

// sliceSketches are what the model believes along each parameter through the recommended settings, behind the map of two of them.
func (v Facts) sliceSketches() (list []Figure, note string) {
	if len(v.Slices) == 0 {
		return nil, ""
	}
	o := v.Outlook()
	list = o.mapSketch()
	maps := len(list)
	total := 0
	for _, metric := range o.metricsShown() {
		for _, slice := range v.Slices {
			if total++; len(list)-maps < mostReportSlices {
				list = append(list, o.sliceSketch(slice, metric))
			}
		}
	}
	if drawn := len(list) - maps; total > drawn {
		note = fmt.Sprintf("Of %d charts of the model along one parameter the first %d are drawn; the study’s page has all of them.", total, drawn)
	}
	return list, note
}

func (o Outlook) sliceSketch(slice study.Slice, metric string) Figure {
	d := o.Snap.Definition
	p := parameter(d, slice.Parameter)
	unit := UnitOf(d, metric)
	chart := figure.Chart{X: figure.Axis{Name: words.AxisName(p.Name, p.Unit), Log: p.Scale == "log"}, Y: figure.Axis{Name: words.AxisName(metric, unit)}}
	if p.Type == design.Categorical {
		chart.X.Names = p.Choices
	} else {
		chart.X.Low, chart.X.High = *p.Low, *p.High
	}
	place := func(value design.Value) float64 {
		if p.Type == design.Categorical {
			return float64(slices.Index(p.Choices, value.Text))
		}
		return value.Number
	}
	band := slice.Metrics[metric]
	var xs []float64
	for _, value := range slice.At {
		xs = append(xs, place(value))
	}
	var marks points
	o.addReadings(&marks, metric, p.Name, place)
	if p.Type == design.Categorical {
		chart.Bands, chart.Curves = bars(xs, band)
	} else {
		chart.Bands = []figure.Band{{X: xs, Low: band.Lower95, High: band.Upper95}}
		chart.Curves = []figure.Curve{{X: xs, Y: band.Mean}}
	}
	if recommended := o.recommended(); recommended != nil {
		marks.add(figure.Star, place(recommended.Parameters[p.Name]), recommended.Mean[metric])
	}
	for _, c := range d.Constraints {
		if c.Metric == metric && chart.Threshold == nil {
			from, to := xs[0], xs[len(xs)-1]
			if p.Type == design.Categorical {
				from, to = -0.5, float64(len(p.Choices))-0.5
			}
			chart.Threshold = &figure.Threshold{X: []float64{from, to}, Y: []float64{c.Threshold, c.Threshold}, Label: "limit " + words.Quantity(c.Threshold, c.Unit), Above: c.Op == "<="}
		}
	}
	var thinned string
	chart.Marks, thinned = marks.thinned()
	caption := fmt.Sprintf("Line: what the model expects of %s along %s, the other settings %s; shaded: its 95%s%% band, without the noise of a reading. Marks: all readings, wherever their other settings were.", metric, p.Name, o.Held, words.Thin)
	return Figure{Title: words.Capitalised(metric) + " along " + p.Name, Caption: caption + thinned, Chart: chart}
}

// bars are the model's means and bands at choices, which have no order to draw a line along.
func bars(xs []float64, band study.Band) (bands []figure.Band, means []figure.Curve) {
	const half = 0.25
	for i, x := range xs {
		sides := []float64{x - half, x + half}
		bands = append(bands, figure.Band{X: sides, Low: []float64{band.Lower95[i], band.Lower95[i]}, High: []float64{band.Upper95[i], band.Upper95[i]}})
		means = append(means, figure.Curve{X: sides, Y: []float64{band.Mean[i], band.Mean[i]}})
	}
	return bands, means
}

// addReadings marks the readings of included trials along a parameter, in the order of the parameter so that thinning keeps its extremes.
func (v Facts) addReadings(marks *points, metric, parameter string, place func(design.Value) float64) {
	type reading struct {
		x, y  float64
		shape figure.Shape
	}
	var readings []reading
	for _, t := range v.Snap.Trials {
		value, placed := t.Parameters[parameter]
		if m, told := t.Metrics[metric]; told && placed && !t.Excluded {
			readings = append(readings, reading{place(value), m.Value, shapeOf(t)})
		}
	}
	slices.SortStableFunc(readings, func(a, b reading) int { return cmp.Compare(a.x, b.x) })
	for _, r := range readings {
		marks.add(r.shape, r.x, r.y)
	}
}
