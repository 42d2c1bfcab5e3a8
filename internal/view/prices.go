package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Priced tells whether a limit's price is a curve, with more than one point of it known.
func Priced(p study.Price) bool {
	xs, _ := curveOf(p)
	return len(xs) > 1
}

// curveOf is where a price's curve is known.
func curveOf(p study.Price) (xs, ys []float64) {
	for _, step := range p.Curve {
		if step.Best != nil {
			xs, ys = append(xs, step.Threshold), append(ys, *step.Best)
		}
	}
	return xs, ys
}

// priceMeaning says what the curves are of.
func priceMeaning(o design.Objective) string {
	word := words.Either(o.Direction == "minimize", "lowest", "highest")
	return fmt.Sprintf("Each line is the %s %s that the model expects among settings with a 90%s%% chance to stay within every limit, one limit being moved and the others not.", word, o.Metric, words.Thin)
}

// priceWords say what one step this way and that of a limit would be worth.
func priceWords(o design.Objective, p study.Price) string {
	now, looser, tighter := len(p.Curve)/2, len(p.Curve)/2+1, len(p.Curve)/2-1
	loosen, tighten := "Raising", "lowering"
	if p.Op == ">=" {
		loosen, tighten, looser, tighter = "Lowering", "raising", tighter, looser
	}
	at := func(i int) string { return words.Quantity(p.Curve[i].Threshold, p.Unit) }
	from := words.Number(p.Curve[now].Threshold)
	worth := func(i int) string {
		return "about " + words.With(words.Brief(math.Abs(*p.Curve[i].Best-*p.Curve[now].Best)), o.Unit) + " of " + o.Metric
	}
	matters := func(i int) bool {
		return p.Curve[i].Best != nil && math.Abs(*p.Curve[i].Best-*p.Curve[now].Best) > littleBesideSD**p.Curve[now].SD
	}
	move := fmt.Sprintf("%s the limit of %s from %s to %s ", loosen, p.Constraint, from, at(looser))
	switch {
	case p.Curve[now].Best == nil:
		return fmt.Sprintf("%s: no settings have a 90%s%% chance to stay within every limit as it is.", design.Capitalised(p.Constraint), words.Thin)
	case matters(looser):
		move += "would be worth " + worth(looser)
	default:
		move += "would gain next to nothing"
	}
	switch {
	case p.Curve[tighter].Best == nil:
		move += fmt.Sprintf("; %s it to %s would leave no settings that probably keep every limit", tighten, at(tighter))
	case matters(tighter):
		move += fmt.Sprintf("; %s it to %s would cost %s", tighten, at(tighter), worth(tighter))
	default:
		move += fmt.Sprintf("; %s it to %s would cost next to nothing", tighten, at(tighter))
	}
	return move + slopeWords(p, o) + "."
}

// littleBesideSD is the share of the standard deviation of what is expected that a difference is
// not worth a word.
const littleBesideSD = 0.05

// slopeWords name the slope, the limit's multiplier, "" where it is none or unknown.
func slopeWords(p study.Price, o design.Objective) string {
	if p.Slope == nil || *p.Slope == 0 {
		return ""
	}
	return fmt.Sprintf(" (slope, the limit’s multiplier: %s for each %s of %s)", words.With(words.Brief(*p.Slope), o.Unit), cmp.Or(p.Unit, "unit"), p.Metric)
}

// priceChart draws the curves side by side; nil where there is none.
func (v Facts) priceChart() *templates.Chart {
	if len(v.Prices) == 0 {
		return nil
	}
	d := v.Snap.Definition
	var cells []chart.Panel
	notes := []string{priceMeaning(d.Objective) + " Dashed: the limit as it is."}
	table := templates.Table{Head: []templates.Column{column("Limit"), number("At", ""), number("Best expected "+d.Objective.Metric, d.Objective.Unit),
		number("±", d.Objective.Unit), column("With")}}
	var all []float64
	for _, p := range v.Prices {
		_, ys := curveOf(p)
		all = append(all, ys...)
	}
	low, high := spanned(all)
	for _, p := range v.Prices {
		notes = append(notes, priceWords(d.Objective, p))
		best := chart.Trace{Name: "best expected", Style: chart.Line}
		for _, step := range p.Curve {
			row := []string{p.Constraint, words.Quantity(step.Threshold, p.Unit), "–", "", "no settings probably keep every limit"}
			if step.Best != nil {
				best.X, best.Y = append(best.X, step.Threshold), append(best.Y, words.SixDigits(*step.Best))
				row = []string{row[0], row[1], words.Alike(*step.SD)(*step.Best), words.Brief(*step.SD), settingsLine(d, *step.Parameters)}
			}
			table.Rows = append(table.Rows, row)
		}
		limit := chart.Trace{Name: "limit as it is", Style: chart.Threshold, X: []any{p.Threshold, p.Threshold}, Y: []any{low, high}}
		cells = append(cells, chart.Panel{Group: "prices", Title: words.AxisName(design.Capitalised(d.Objective.Metric), d.Objective.Unit),
			X: chart.Axis{Title: words.AxisName("limit of "+p.Constraint, p.Unit)}, Y: chart.Axis{Range: []float64{low, high}}, Traces: []chart.Trace{limit, best}})
	}
	return new(v.framed(templates.Chart{ID: "chart-prices", Title: "What moving a limit would be worth", Beside: true, Notes: notes, Table: table, Drawing: chart.Drawing{Cells: cells}}))
}

// spanned is a range with some room around values, of which there is one.
func spanned(values []float64) (low, high float64) {
	low, high = slices.Min(values), slices.Max(values)
	room := 0.08 * (high - low)
	if room == 0 {
		room = math.Max(math.Abs(low), 1) * 0.01
	}
	return low - room, high + room
}
