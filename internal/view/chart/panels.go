package chart

// Panels are charts one above the other over the same x axis, with one legend, hovered and zoomed together.
type Panels struct {
	X      Axis    `json:"x"`
	List   []Panel `json:"list"`
	Events []Event `json:"events,omitempty"`
}

// Panel is one of them.
type Panel struct {
	Title  string     `json:"title"`
	Height int        `json:"height"` // pixels
	Y      Axis       `json:"y"`
	Traces []Trace    `json:"traces"`
	Limit  *LimitPath `json:"limit,omitempty"`
	// Caption is what it shows today; a page writes those of all panels together.
	Caption string `json:"-"`
}

// LimitPath is a threshold as it stood at each trial: it holds Y[i] from X[i] on, to the end of the axis. Without X it holds all along.
type LimitPath struct {
	X     []float64 `json:"x"`
	Y     []float64 `json:"y"`
	Label string    `json:"label"` // of the last
	Above bool      `json:"above"` // values above it break it
}

// Event is a mark on the axis: something that happened between two trials.
type Event struct {
	X    float64 `json:"x"`
	Kind string  `json:"kind"` // what the legend calls it
	Text string  `json:"text"`
}

// Height is how many pixels the panels need, with the space for titles, marks, axis and legend.
func (p Panels) Height() int {
	height := panelsFoot
	for _, panel := range p.List {
		height += panelGap + panel.Height
	}
	if len(p.Events) > 0 {
		height += panelsEvents
	}
	return height
}

// Pixels of a title, of the row of marks where there are any, and of the axis with a legend of two lines; plots.js has the same.
const (
	panelGap     = 22
	panelsEvents = 10
	panelsFoot   = 76
)
