package chart

// Grid is small charts side by side, those of one group in rows of their own.
type Grid struct {
	Cells []SliceCell `json:"cells"`
}

// SliceCell is one of them.
type SliceCell struct {
	Group  string  `json:"group"`
	Title  string  `json:"title"`
	X      Axis    `json:"x"`
	Y      Axis    `json:"y"`
	Traces []Trace `json:"traces"`
	Limits []Limit `json:"limits,omitempty"`
}

// gridColumns is how many small charts stand side by side where there is room.
const gridColumns = 4

// Pixels of a row of small charts, of the axis below it, and of a legend of one line; plots.js has the same.
const (
	gridRow    = 110
	gridAxis   = 34
	gridLegend = 28
)

// Height is how many pixels the grid needs where there is room for all columns. Where every group takes one row, the columns share the lowest axis.
func (g Grid) Height() int {
	rows, aligned := 0, true
	for start := 0; start < len(g.Cells); {
		end := start
		for end < len(g.Cells) && g.Cells[end].Group == g.Cells[start].Group {
			end++
		}
		lines := (end - start + gridColumns - 1) / gridColumns
		rows, aligned, start = rows+lines, aligned && lines == 1, end
	}
	if aligned {
		return rows*gridRow + gridAxis + gridLegend
	}
	return rows*(gridRow+gridAxis) + gridLegend
}
