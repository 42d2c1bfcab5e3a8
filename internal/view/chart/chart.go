// Package chart is the one model of charts, and how they are drawn: for pages, reports and saved
// pictures alike.
package chart

import (
	"fmt"
	"math"
	"strings"
)

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

// look is how a mark is drawn around its place: shape first, then colour. Colours are the page's
// own variables, so that a chart follows light, dark and paper.
type look struct {
	outline    func(r float64) string
	r          float64
	fill, edge string
}

// marks by style; those of events are called as the legend calls them.
var marks = map[Style]look{
	Feasible:             {circle, 4.5, "feasible", "surface"},
	Violated:             {polygon(3, 0, 1), 6.5, "violated", "surface"},
	Unknown:              {circle, 4.5, "", "unknown"},
	Excluded:             {cross, 4, "", "unknown"},
	Original:             {plus, 4.5, "", "unknown"},
	Doubted:              {polygon(3, math.Pi, 1), 6, "", "limit"},
	Waiting:              {polygon(4, 0, 1), 6, "", "ink"},
	Other:                {polygon(6, 0, 1), 7, "second", "surface"},
	Recommended:          {polygon(10, 0, 0.42), 10, "star", "star-edge"},
	"metric0":            {circle, 3.5, "ink", "surface"},
	"metric1":            {polygon(4, math.Pi/4, 1), 4.2, "second", "surface"},
	"metric2":            {polygon(3, math.Pi, 1), 5, "feasible", "surface"},
	"metric3":            {plus, 4, "", "muted"},
	"correction":         {plus, 5.5, "", "ink"},
	"exclusion":          {cross, 4.5, "", "ink"},
	"inclusion":          {circle, 5, "", "ink"},
	"change of a limit":  {level, 5.5, "", "limit"},
	"change of settings": {polygon(4, math.Pi/4, 1), 6, "", "ink"},
	"model refitted":     {upright, 5.5, "", "ink"},
}

func circle(r float64) string {
	return fmt.Sprintf("M%[2]g,0a%[1]g,%[1]g 0 1,0 %[3]g,0a%[1]g,%[1]g 0 1,0 %[4]g,0", r, -r, 2*r, -2*r)
}
func cross(r float64) string {
	return fmt.Sprintf("M%[2]g,%[2]gL%[1]g,%[1]gM%[1]g,%[2]gL%[2]g,%[1]g", r, -r)
}
func plus(r float64) string    { return level(r) + upright(r) }
func upright(r float64) string { return fmt.Sprintf("M0,%gV%g", -r, r) }
func level(r float64) string   { return fmt.Sprintf("M%g,0H%g", -r, r) }

// polygon has its corners on one circle, every other one on a smaller circle where inner is less
// than 1.
func polygon(corners int, turn, inner float64) func(r float64) string {
	return func(r float64) string {
		var d strings.Builder
		for i := range corners {
			radius := r
			if i%2 == 1 {
				radius *= inner
			}
			sin, cos := math.Sincos(turn + 2*math.Pi*float64(i)/float64(corners))
			letter := 'L'
			if i == 0 {
				letter = 'M'
			}
			fmt.Fprintf(&d, "%c%s,%s", letter, short(radius*sin, 2), short(-radius*cos, 2))
		}
		return d.String() + "Z"
	}
}

// attributes are how a mark is filled and edged.
func (l look) attributes() string {
	if l.fill == "" {
		return fmt.Sprintf(`fill="none" stroke="var(--%s)" stroke-width="2"`, l.edge)
	}
	return fmt.Sprintf(`fill="var(--%s)" stroke="var(--%s)"`, l.fill, l.edge)
}

// crowded is the look where hundreds stand: smaller, and without the edge that would cover
// neighbours.
func (l look) crowded() look {
	l.r /= 2
	if l.fill != "" {
		l.edge = l.fill
	}
	return l
}

// pen is how a line is drawn; one that holds its value until the next point is steps.
type pen struct {
	colour string
	width  float64
	dash   string
	holds  bool
}

var lines = map[Style]pen{
	Step:      {"ink", 2, "", true},
	Line:      {"feasible", 2, "", false},
	Estimate:  {"feasible", 4, "", true}, // wider, so that it is seen below what it agrees with
	Second:    {"second", 2, "8 5", true},
	Bound:     {"muted", 2, "2 4", true},
	Truth:     {"ink", 1.5, "2 3", false},
	Threshold: {"limit", 2, "8 5", true},
}

func (p pen) attributes() string {
	dash := ""
	if p.dash != "" {
		dash = ` stroke-dasharray="` + p.dash + `"`
	}
	return fmt.Sprintf(`fill="none" stroke="var(--%s)" stroke-width="%g"%s vector-effect="non-scaling-stroke"`, p.colour, p.width, dash)
}

// drawn is a mark by itself, no larger than a line of text.
func (l look) drawn() string {
	return fmt.Sprintf(`<path d="%s" %s/>`, l.outline(math.Min(6.5, l.r)), l.attributes())
}

// Mark is the mark of a style in a line of text.
func Mark(style Style) string {
	return fmt.Sprintf(`<svg class="mark %s" viewBox="-7 -7 14 14" aria-hidden="true">%s</svg>`, style, marks[style].drawn())
}

// key is the picture of a style beside its name in a legend.
func key(style Style) string {
	inner := ""
	switch {
	case style == BandStyle:
		inner = `<path d="M-9,-5H9V5H-9Z" fill="var(--band)"/>`
	case style == Spans:
		inner = `<path d="M-4,-6V6M0,-3V5M4,-5V5" ` + spanLook + `/>`
	case style == Bars:
		inner = `<path d="M0,-6V6M-3,6H3M-3,-6H3M-6,0H6" ` + lines[Line].attributes() + `/>`
	case lines[style].colour != "":
		inner = `<path d="M-9,0H9" ` + lines[style].attributes() + `/>`
	default:
		inner = marks[style].drawn()
	}
	return `<svg width="22" height="16" viewBox="-11 -8 22 16" aria-hidden="true">` + inner + `</svg>`
}

const spanLook = `fill="none" stroke="var(--unknown)" stroke-width="2" opacity="0.5" vector-effect="non-scaling-stroke"`
