package chart

import (
	"fmt"
	"math"
	"strings"
)

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
