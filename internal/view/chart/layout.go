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

// frame is a panel's axes and what stands on them.
func (p Panel) frame() frame {
	var xs, ys [][]any
	for _, t := range p.Traces {
		xs, ys = append(xs, t.X), append(ys, t.Y, t.Low, t.High)
	}
	return frame{x: scaleOf(p.X, xs...), y: scaleOf(p.Y, ys...), xAxis: p.X, yAxis: p.Y, xWords: "all", yWords: "all", traces: p.Traces, limits: p.Limits, height: p.Height}
}

// panels stand above each other over one x axis.
func (s *sheet) panels(d Drawing) {
	for _, panel := range d.Panels {
		s.title(panel.Title)
		panel.X = d.X
		f := panel.frame()
		f.xWords = "none"
		s.draw(f)
	}
	changes := frame{x: scaleOf(d.X), y: scale{categories: []string{""}}, xAxis: d.X, xWords: "all", yWords: "none", height: axisHeight, class: "changes"}
	at := map[string]int{}
	for _, event := range d.Events {
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
	s.axisTitle(d.X.Title)
}

// axisTitle writes the name of the x axis below the frame that has been drawn.
func (s *sheet) axisTitle(title string) {
	fmt.Fprintf(s, `<div class="axis">%s</div>`, html.EscapeString(title))
}

// wideColumns is how many cells stand side by side where there is room, and narrowColumns where
// there is little.
const wideColumns, narrowColumns = 4, 2

// cellHeight is that of cells in pixels, aloneHeight that of one that stands alone.
const cellHeight, aloneHeight = 80, 170

// cells stand side by side. Those of one group stand in rows of their own; where that is one row
// each, the columns share the lowest axis.
func (s *sheet) cells(cells []Panel) {
	groups := [][]Panel{}
	most := 0
	for i, cell := range cells {
		if i == 0 || cell.Group != cells[i-1].Group {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		*last = append(*last, cell)
		most = max(most, len(*last))
	}
	for n, group := range groups {
		s.title(group[0].Title)
		fmt.Fprintf(s, `<div class="abreast" style="--columns:%d">`, min(most, wideColumns))
		for i, cell := range group {
			f := cell.frame()
			f.height, f.small, f.unnamed = cellHeight, true, i > 0
			if len(cells) == 1 {
				f.height, f.small = aloneHeight, false
			}
			if most <= wideColumns && n < len(groups)-1 {
				f.xWords = "narrow"
			}
			switch {
			case i%narrowColumns != 0:
				f.yWords = "none"
			case i%wideColumns != 0:
				f.yWords = "narrow"
			}
			fmt.Fprintf(s, `<div class="cell-%s">`, f.xWords)
			s.draw(f)
			s.axisTitle(cell.X.Title)
			s.WriteString("</div>")
		}
		s.WriteString("</div>")
	}
}
