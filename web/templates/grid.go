package templates

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

// GridColumns is how many small charts stand side by side where there is room.
const GridColumns = 4

// Pixels of a row of small charts, and below them for the legend; charts.js has the same.
const (
	gridRow  = 144
	gridFoot = 60
)

// Height is how many pixels the grid needs where there is room for all columns.
func (g Grid) Height() int {
	rows, column, group := 0, 0, ""
	for _, cell := range g.Cells {
		if column == 0 || column == GridColumns || cell.Group != group {
			rows, column, group = rows+1, 0, cell.Group
		}
		column++
	}
	return rows*gridRow + gridFoot
}
