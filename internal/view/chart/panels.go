package chart

// Panels are charts one above the other over the same x axis, with one legend, hovered and zoomed together.
type Panels struct {
	X      Axis
	List   []Panel
	Events []Event
}

// Panel is one of them.
type Panel struct {
	Title  string
	Height int // pixels
	Y      Axis
	Traces []Trace
	Limit  *LimitPath
	// Caption is what it shows today; a page writes those of all panels together.
	Caption string
}

// LimitPath is a threshold as it stood at each trial: it holds Y[i] from X[i] on, to the end of the axis. Without X it holds all along.
type LimitPath struct {
	X     []float64
	Y     []float64
	Label string // of the last
	Above bool   // values above it break it
}

// Event is a mark on the axis: something that happened between two trials.
type Event struct {
	X    float64
	Kind string // what the legend calls it
	Text string
}
