package templates

import (
	"strings"

	"headroom/internal/view/chart"
	"headroom/web/static"
)

// drawingScripts are the addresses of what charts are drawn with, in the order in which they are needed.
func drawingScripts() string {
	var list []string
	for _, file := range []string{"vendor/d3-7.9.2.min.js", "axes.js", "plots.js", "pointing.js"} {
		list = append(list, static.URL(file))
	}
	return strings.Join(list, " ")
}

// Chart is one chart: what is drawn, the sentence under it, and the table behind it. The script charts.js draws it.
type Chart struct {
	ID      string
	Title   string
	Caption string
	Notes   []string // further sentences of the caption
	Tall    bool
	Beside  bool // the caption stands beside the plot where there is room
	Height  int  // of the plot in pixels, 0 for the usual one
	Drawing chart.Drawing
	Table   Table
	Later   string // address of the table, when it is fetched once somebody opens it
}
