package chart

// Frame is one pair of axes with all that is drawn on it, as a report draws them one after another. The axis names are whole.
type Frame struct {
	X, Y    Axis
	Traces  []Trace
	Limits  []LimitPath
	Events  []Event
	Surface *Surface
	Height  float64 // in inches
}

// Heights on paper in inches.
const panelInches, cellInches, mapInches = 2.2, 2.5, 4.2

// Frames are the panels one by one.
func (p Panels) Frames() []Frame {
	frames := make([]Frame, len(p.List))
	for i, panel := range p.List {
		frames[i] = Frame{X: p.X, Y: panel.Y, Traces: panel.Traces, Events: p.Events, Height: panelInches}
		if panel.Limit != nil {
			frames[i].Limits = []LimitPath{*panel.Limit}
		}
	}
	return frames
}

// Frame is the cell alone.
func (c SliceCell) Frame() Frame {
	frame := Frame{X: c.X, Y: c.Y, Traces: c.Traces, Height: cellInches}
	for _, limit := range c.Limits {
		frame.Limits = append(frame.Limits, LimitPath{Y: []float64{limit.Value}, Label: limit.Label, Above: limit.Above})
	}
	return frame
}

// Frame is a drawing of one pair of axes.
func (d Drawing) Frame() Frame {
	return Frame{X: d.X, Y: d.Y, Traces: d.Traces, Surface: d.Surface, Height: mapInches}
}
