package chart

// Grid is small charts side by side, those of one group in rows of their own.
type Grid struct {
	Cells []SliceCell
}

// SliceCell is one of them.
type SliceCell struct {
	Group  string
	Title  string
	X      Axis
	Y      Axis
	Traces []Trace
	Limits []Limit
}
