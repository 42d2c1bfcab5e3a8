package chart

import (
	"fmt"
	"html"

	"headroom/internal/view/words"
)

// figure is a number as hovering says it.
func figure(value any) string { return words.FourDigits(number(value)) }

// title writes what stands above a frame.
func (s *sheet) title(title string) {
	fmt.Fprintf(s, `<div class="title">%s</div>`, html.EscapeString(title))
}

// Pixels of the row of events, and of the bare axis where there are none.
const eventsHeight, axisHeight = 18, 8

// panels stand above each other over one x axis.
func (s *sheet) panels(p Panels) {
	x := scaleOf(p.X)
	for _, panel := range p.List {
		s.title(panel.Title)
		var values [][]any
		for _, t := range panel.Traces {
			values = append(values, t.Y, t.Low, t.High)
		}
		f := frame{x: x, y: scaleOf(panel.Y, values...), xAxis: p.X, yAxis: panel.Y, xWords: "none", yWords: "all", traces: panel.Traces, height: panel.Height}
		if panel.Limit != nil {
			f.limits = []LimitPath{*panel.Limit}
		}
		s.draw(f)
	}
	changes := frame{x: x, y: scale{categories: []string{""}}, xAxis: p.X, xWords: "all", yWords: "none", height: axisHeight, class: "changes"}
	at := map[string]int{}
	for _, event := range p.Events {
		i, there := at[event.Kind]
		if !there {
			i = len(changes.traces)
			at[event.Kind], changes.traces = i, append(changes.traces, Trace{Name: event.Kind, Style: Style(event.Kind)})
		}
		t := &changes.traces[i]
		t.X, t.Y, t.Text = append(t.X, event.X), append(t.Y, ""), append(t.Text, event.Text)
		changes.height = eventsHeight
	}
	s.draw(changes)
	s.axisTitle(p.X.Title)
}

// axisTitle writes the name of the x axis below the frame that has been drawn.
func (s *sheet) axisTitle(title string) {
	fmt.Fprintf(s, `<div class="axis">%s</div>`, html.EscapeString(title))
}

// gridColumns is how many small charts stand side by side where there is room, and narrowColumns where there is little.
const gridColumns, narrowColumns = 4, 2

// gridHeight is that of small charts in pixels, aloneHeight that of one that stands alone.
const gridHeight, aloneHeight = 80, 170

// grid draws small charts side by side. Those of one group stand in rows of their own; where that is one row each, the columns share the lowest axis.
func (s *sheet) grid(g Grid) {
	groups := [][]SliceCell{}
	most := 0
	for i, cell := range g.Cells {
		if i == 0 || cell.Group != g.Cells[i-1].Group {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		*last = append(*last, cell)
		most = max(most, len(*last))
	}
	for n, group := range groups {
		s.title(group[0].Title)
		fmt.Fprintf(s, `<div class="abreast" style="--columns:%d">`, min(most, gridColumns))
		for i, cell := range group {
			f := cell.frame()
			f.xWords, f.yWords = "all", "all"
			if len(g.Cells) == 1 {
				f.height, f.small = aloneHeight, false
			}
			if most <= gridColumns && n < len(groups)-1 {
				f.xWords = "narrow"
			}
			switch {
			case i%narrowColumns != 0:
				f.yWords = "none"
			case i%gridColumns != 0:
				f.yWords = "narrow"
			}
			if i > 0 {
				for j := range f.limits {
					f.limits[j].Label = ""
				}
			}
			fmt.Fprintf(s, `<div class="cell-%s">`, f.xWords)
			s.draw(f)
			s.axisTitle(cell.X.Title)
			s.WriteString("</div>")
		}
		s.WriteString("</div>")
	}
}

func (c SliceCell) frame() frame {
	var xs, ys [][]any
	for _, t := range c.Traces {
		xs, ys = append(xs, t.X), append(ys, t.Y, t.Low, t.High)
	}
	f := frame{x: scaleOf(c.X, xs...), y: scaleOf(c.Y, ys...), xAxis: c.X, yAxis: c.Y, traces: c.Traces, height: gridHeight, small: true}
	for _, limit := range c.Limits {
		f.limits = append(f.limits, LimitPath{Y: []float64{limit.Value}, Label: limit.Label, Above: limit.Above})
	}
	return f
}
