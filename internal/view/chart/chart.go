// Package chart is the one model of charts, and how they are drawn: for pages, reports and saved
// pictures alike.
package chart

// Drawing is a chart: a map, panels one above the other, or cells side by side. Its texts are
// plain: nothing in them is markup, and \n breaks a line.
type Drawing struct {
	X       Axis // of the map, or of all panels, which are hovered and zoomed together
	Y       Axis // of the map
	Traces  []Trace
	Surface *Surface
	Panels  []Panel
	Events  []Event // below the panels
	Cells   []Panel // those of one group in rows of their own
	Foot    string  // what a saved picture says of where it comes from
	Trials  string  // address of a trial but for its number
}

// Panel is one pair of axes in a chart of several.
type Panel struct {
	Group  string // of a cell
	Title  string
	Height int  // of a panel, in pixels
	X      Axis // of a cell
	Y      Axis
	Traces []Trace
	Limits []Limit
}

// Event is a mark on the axis: something that happened between two trials.
type Event struct {
	X    float64
	Kind string // what the legend calls it
	Text string
}

// Axis is an axis with its name and unit.
type Axis struct {
	Title      string
	Log        bool
	Categories []string
	Plain      bool      // a logarithmic axis whose numbers need no powers of ten
	Whole      bool      // ticks at whole numbers only
	Range      []float64 // from, to; worked out when empty
}

// Style is how a trace looks; shape first, then colour.
type Style string

const (
	Feasible    Style = "feasible"    // ●
	Violated    Style = "violated"    // ▲
	Unknown     Style = "unknown"     // ○
	Waiting     Style = "waiting"     // ◇
	Recommended Style = "recommended" // ★
	Other       Style = "other"       // ⬡, another algorithm's choice
	Excluded    Style = "excluded"    // ×
	Original    Style = "original"    // +, as first told
	Doubted     Style = "doubted"     // ▽, in doubt, at the edge where it lies beyond it
	Spans       Style = "spans"       // bars from Low to High, of many readings each
	Step        Style = "step"        // a line that holds its value until the next trial
	Line        Style = "line"
	Estimate    Style = "estimate" // a line that holds its value, of what a model makes of it
	Second      Style = "second"   // a second line that holds its value, dashed
	Bound       Style = "bound"    // a bound, dotted
	Truth       Style = "truth"    // a line of what is true, where that is known
	Threshold   Style = "limit"    // a limit beside another, without its hatched side
	BandStyle   Style = "band"     // between Low and High
	Bars        Style = "bars"     // means with error bars, for categories
)

// Trace is one series.
type Trace struct {
	Name  string
	Style Style
	X     []any
	Y     []any
	Low   []any
	High  []any
	Text  []string  // what hovering says
	Trial []int     // the trials that the marks are of; clicking opens them
	Fade  []float64 // how much of each mark is seen
}

// Limit is a threshold as it stood at each trial, drawn as a dashed line with its value at its end;
// the side that breaks it is hatched. It holds Y[i] from X[i] on, to the end of the axis. Without X
// it holds all along.
type Limit struct {
	X     []float64
	Y     []float64
	Label string // of the last
	Above bool   // values above it break it
}

// Surface is a map of two parameters: row i is at Y[i], column j at X[j].
type Surface struct {
	X        []any
	Y        []any
	Mean     [][]float64
	MeanName string
	Smooth   bool        // both axes have numbers
	Chance   [][]float64 // of a good end
	Aim      string      // of what it is the chance, as in "the chance to …"
	Cells    [][]string  // written in the cells of a grid
	// What hovering says: the settings, what is expected there with a note on its ±, and the
	// chance, in words.
	AtX     []string
	AtY     []string
	Text    [][]string
	Note    string
	Chances [][]string
}
