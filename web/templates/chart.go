package templates

import "headroom/internal/view/chart"

// Chart is one chart: what is drawn, the sentence under it, and the table behind it.
type Chart struct {
	ID      string
	Title   string
	Caption string
	Notes   []string // further sentences of the caption
	Beside  bool     // the caption stands beside the plot where there is room
	Drawing chart.Drawing
	Table   Table
	Later   string // address of the table, when it is fetched once somebody opens it
}
