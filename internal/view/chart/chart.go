// Package chart is the one model of charts: what pages draw with the script plots.js, and reports with package figure.
package chart

// Drawing is what charts.js gets, as JSON. Its texts are plain: nothing in them is markup, and \n breaks a line.
type Drawing struct {
	Title   string   `json:"title"`
	Caption string   `json:"caption"`
	X       Axis     `json:"x"`
	Y       Axis     `json:"y"`
	Traces  []Trace  `json:"traces"`
	Limits  []Limit  `json:"limits,omitempty"`
	Surface *Surface `json:"surface,omitempty"`
	Panels  *Panels  `json:"panels,omitempty"` // in place of X, Y, Traces and Limits
	Grid    *Grid    `json:"grid,omitempty"`   // likewise
	Foot    string   `json:"foot"`             // what a saved picture says of where it comes from
	Trials  string   `json:"trials"`           // address of a trial but for its number
}

// Axis is an axis with its name and unit.
type Axis struct {
	Title      string    `json:"title"`
	Log        bool      `json:"log,omitempty"`
	Categories []string  `json:"categories,omitempty"`
	Plain      bool      `json:"plain,omitempty"` // a logarithmic axis whose numbers need no powers of ten
	Whole      bool      `json:"whole,omitempty"` // ticks at whole numbers only
	Range      []float64 `json:"range,omitempty"` // from, to; worked out when empty
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
	Threshold   Style = "limit"    // a limit beside another, without its hatched side
	BandStyle   Style = "band"     // between Low and High
	Bars        Style = "bars"     // means with error bars, for categories
)

// Trace is one series.
type Trace struct {
	Name  string    `json:"name"`
	Style Style     `json:"style"`
	X     []any     `json:"x"`
	Y     []any     `json:"y,omitempty"`
	Low   []any     `json:"low,omitempty"`
	High  []any     `json:"high,omitempty"`
	Text  []string  `json:"text,omitempty"`  // what hovering says
	Trial []int     `json:"trial,omitempty"` // the trials that the marks are of; clicking opens them
	Fade  []float64 `json:"fade,omitempty"`  // how much of each mark is seen
}

// Limit is a threshold, drawn as a dashed line with its value at its end; the side that breaks it is hatched.
type Limit struct {
	Value float64 `json:"value"`
	Label string  `json:"label"`
	Above bool    `json:"above"` // values above it break it
}

// Surface is a map of two parameters: row i is at Y[i], column j at X[j].
type Surface struct {
	X        []any       `json:"x"`
	Y        []any       `json:"y"`
	Mean     [][]float64 `json:"mean"`
	MeanName string      `json:"meanName"`
	Smooth   bool        `json:"smooth"`           // both axes have numbers
	Chance   [][]float64 `json:"chance,omitempty"` // of being within every limit
	Cells    [][]string  `json:"cells,omitempty"`  // written in the cells of a grid
	// What hovering says: the settings, what is expected there with a note on its ±, and the chance, in words.
	AtX     []string   `json:"atX"`
	AtY     []string   `json:"atY"`
	Text    [][]string `json:"text"`
	Note    string     `json:"note"`
	Chances [][]string `json:"chances,omitempty"`
	Ends    [2]string  `json:"-"` // the lowest and the highest value in words, for paper
}
