// Package chart models charts and draws them as HTML and SVG, in one way for pages, reports and
// saved pictures.
package chart

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
)

// Drawing is a chart: a map, panels below each other over one x axis, or cells side by side. Its
// texts are plain: they hold no markup, and \n breaks a line.
type Drawing struct {
	X       Axis    // of the map, or of all panels, which are hovered and zoomed together
	Y       Axis    // of the map
	Traces  []Trace // on the map
	Surface *Surface
	Panels  []Panel
	Events  []Event // below the panels
	Cells   []Panel // each group in rows of its own
	Foot    string  // the source that a saved picture names
	Trials  string  // address of a trial, without its number at the end
	Still   bool    // nothing is said where it is pointed at
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

// Event is a mark on the x axis: something that happened between two trials.
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
	Plain      bool      // a logarithmic axis whose numbers are written without powers of ten
	Whole      bool      // ticks at whole numbers only
	Range      []float64 // from, to; that of the values if empty
}

// Style is how a trace looks: the shape of its marks, or the colour and dashes of its line.
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
	Doubted     Style = "doubted"     // ▽, in doubt
	Spans       Style = "spans"       // bars from Low to High, of many readings each
	Step        Style = "step"        // a line that holds its value until the next trial
	Line        Style = "line"
	Estimate    Style = "estimate" // a step line of what a model estimates
	Second      Style = "second"   // a step line of dashes and dots
	Bound       Style = "bound"    // a dotted step line
	Fifth       Style = "fifth"    // further step lines
	Sixth       Style = "sixth"
	Seventh     Style = "seventh"
	Eighth      Style = "eighth"
	Quiet       Style = "quiet" // one of many step lines, told apart only by name
	Truth       Style = "truth" // a line of true values
	Threshold   Style = "limit" // a limit without a hatched side
	BandStyle   Style = "band"  // between Low and High
	Bars        Style = "bars"  // means with error bars, for categories
)

// Trace is one series.
type Trace struct {
	Name  string
	Style Style
	X     []any
	Y     []any
	Low   []any
	High  []any
	Text  []string  // said when hovering over a mark
	Trial []int     // the mark's trial, which a click opens
	Fade  []float64 // opacity of the mark
}

// Add appends a point, AddRange a place of a band or a bar.
func (t *Trace) Add(x, y any) { t.X, t.Y = append(t.X, x), append(t.Y, y) }
func (t *Trace) AddRange(x, low, high any) {
	t.X, t.Low, t.High = append(t.X, x), append(t.Low, low), append(t.High, high)
}

// Limit is a threshold over the trials: a dashed line with its value at the end, and a hatched side
// that breaks it. It is Y[i] from X[i] on, up to the next X or the end of the axis. Without X it is
// constant.
type Limit struct {
	X     []float64
	Y     []float64
	Above []bool // values above Y[i] break it, else those below
	Label string // of the last threshold
}

// Surface is a map of two parameters: row i is at Y[i], column j at X[j]. A place without a value
// has NaN and empty texts.
type Surface struct {
	X        []any
	Y        []any
	Mean     [][]float64
	MeanName string
	Smooth   bool        // both axes have numbers: colours blend, and Chance is drawn as contours
	Chance   [][]float64 // probability that a trial ends well
	Aim      string      // what ending well means, as in "the chance to …"
	Cells    [][]string  // written in the cells, unless Smooth
	// Said when hovering: the settings, what is expected there with a note on its ±, and Chance in
	// words.
	AtX     []string
	AtY     []string
	Text    [][]string
	Note    string
	Chances [][]string
}

// marker is the outline of a mark around its place, with its colours, which are CSS variables of
// the page, so that a chart follows light, dark and paper.
type marker struct {
	outline    func(r float64) string
	r          float64
	fill, edge string
}

// marks has the marker of each style; those of events are under their names in the legend.
var marks = map[Style]marker{
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
	"correction":         {ringed(plus), 6.5, "", "ink"},
	"exclusion":          {ringed(cross), 6.5, "", "ink"},
	"inclusion":          {ringed(circle), 6.5, "", "ink"},
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
func plus(r float64) string { return level(r) + upright(r) }

// ringed is an outline in a circle.
func ringed(outline func(r float64) string) func(r float64) string {
	return func(r float64) string { return circle(r) + outline(r/2) }
}
func upright(r float64) string { return fmt.Sprintf("M0,%gV%g", -r, r) }
func level(r float64) string   { return fmt.Sprintf("M%g,0H%g", -r, r) }

// polygon has its corners on a circle, or alternately on it and on one inner times as large.
func polygon(corners int, turn, inner float64) func(r float64) string {
	return func(r float64) string {
		var d strings.Builder
		for i := range corners {
			radius := r
			if i%2 == 1 {
				radius *= inner
			}
			sin, cos := math.Sincos(turn + 2*math.Pi*float64(i)/float64(corners))
			letter := words.Either(i == 0, 'M', 'L')
			fmt.Fprintf(&d, "%c%s,%s", letter, design.FormatUpTo(radius*sin, 2), design.FormatUpTo(-radius*cos, 2))
		}
		return d.String() + "Z"
	}
}

func (l marker) attributes() string {
	return words.Either(l.fill == "", fmt.Sprintf(`fill="none" stroke="var(--%s)" stroke-width="2"`, l.edge), fmt.Sprintf(`fill="var(--%s)" stroke="var(--%s)"`, l.fill, l.edge))
}

// crowded is the marker where there are hundreds: smaller, and without an edge that would cover
// others.
func (l marker) crowded() marker {
	l.r /= 2
	if l.fill != "" {
		l.edge = l.fill
	}
	return l
}

type pen struct {
	colour string
	width  float64
	dash   string
	holds  bool // in steps: each value holds until the next point
}

var lines = map[Style]pen{
	Step:      {"ink", 2, "", true},
	Line:      {"feasible", 2, "", false},
	Estimate:  {"feasible", 4, "", true}, // wider, to be seen under a line that it equals
	Second:    {"second", 2, "11 3 2 3", true},
	Bound:     {"muted", 2, "2 4", true},
	Fifth:     {"violated", 2, "5 3", true},
	Sixth:     {"ink", 2, "8 3 2 3 2 3", true},
	Seventh:   {"second", 3, "3 6", true},
	Eighth:    {"feasible", 4, "11 3", true},
	Quiet:     {"unknown", 1, "", true},
	Truth:     {"ink", 1.5, "2 3", false},
	Threshold: {"limit", 2, "8 5", true},
}

func (p pen) attributes() string {
	dash := words.Either(p.dash != "", ` stroke-dasharray="`+p.dash+`"`, "")
	return fmt.Sprintf(`fill="none" stroke="var(--%s)" stroke-width="%g"%s vector-effect="non-scaling-stroke"`, p.colour, p.width, dash)
}

// drawn is a mark by itself, no larger than a line of text.
func (l marker) drawn() string {
	return fmt.Sprintf(`<path d="%s" %s/>`, l.outline(math.Min(6.5, l.r)), l.attributes())
}

// Mark is the mark of a style, as part of a text.
func Mark(style Style) string {
	return fmt.Sprintf(`<svg class="mark %s" viewBox="-7 -7 14 14" aria-hidden="true">%s</svg>`, style, marks[style].drawn())
}

// key is the picture of a style in a legend.
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

// scale maps the values of an axis to fractions of its length.
type scale struct {
	Axis
	low, high float64
	log       bool // where Log is asked for and all values are above 0
}

// scaleOf is the scale of an axis: over its range, else over the range of the values.
func scaleOf(a Axis, values ...[]any) scale {
	if len(a.Categories) > 0 {
		return scale{Axis: a}
	}
	s := scale{Axis: a, low: 0, high: 1, log: a.Log}
	if len(a.Range) == 2 {
		s.low, s.high = a.Range[0], a.Range[1]
	} else if all := slices.DeleteFunc(lists.Map(slices.Concat(values...), number), math.IsNaN); len(all) > 0 {
		s.low, s.high = slices.Min(all), slices.Max(all)
	}
	s.log = s.log && s.low > 0
	// The ends are set so far apart that ticks differ within the precision of a float64.
	if size := math.Max(math.Abs(s.low), math.Abs(s.high)); s.high-s.low <= 1e-9*size || s.high == s.low {
		size = cmp.Or(size, 1)
		s.low, s.high, s.log = s.low-0.05*size, s.high+0.05*size, false
	}
	return s
}

func number(value any) float64 {
	switch x := value.(type) {
	case float64:
		return x
	case int:
		return float64(x)
	}
	return math.NaN()
}

// far is where places beyond an axis are clamped, in lengths of the axis.
const far = 1000

// at is the place of a value: 0 at the low end and 1 at the high one. A category has the middle of
// its share.
func (s scale) at(value any) float64 {
	if s.Categories != nil {
		name, _ := value.(string)
		return (float64(slices.Index(s.Categories, name)) + 0.5) / float64(len(s.Categories))
	}
	x := number(value)
	if s.log {
		x = (math.Log(x) - math.Log(s.low)) / (math.Log(s.high) - math.Log(s.low))
	} else {
		x = (x - s.low) / (s.high - s.low)
	}
	if math.IsNaN(x) {
		return -far
	}
	return math.Max(-far, math.Min(x, far))
}

// shows tells whether a value is between the ends.
func (s scale) shows(value any) bool {
	at := s.at(value)
	return at >= -1e-9 && at <= 1+1e-9
}

type tick struct {
	at    float64
	words string
}

// ticks are at most about most places of an axis, with their texts.
func (s scale) ticks(most int) (list []tick) {
	add := func(values []float64, word func(float64) string) {
		list = append(list, lists.Map(values, func(x float64) tick { return tick{s.at(x), word(x)} })...)
	}
	switch {
	case s.Categories != nil:
		for _, name := range s.Categories {
			if name == "" {
				continue // of the row of events
			}
			list = append(list, tick{s.at(name), name})
		}
	case s.log:
		s.logTicks(most, add)
	case s.Whole:
		values := evenTicks(s.low, s.high, max(1, min(most, int(s.high-s.low))))
		values = slices.DeleteFunc(values, func(x float64) bool { return x != math.Trunc(x) })
		add(values, tickFormat(values))
	default:
		values := evenTicks(s.low, s.high, most)
		add(values, tickFormat(values))
	}
	return list
}

// logTicks are powers of ten if there are a few, else 1, 2 and 5 times powers of ten, else even
// steps.
func (s scale) logTicks(most int, add func([]float64, func(float64) string)) {
	first, last := int(math.Ceil(math.Log10(s.low)-1e-9)), int(math.Floor(math.Log10(s.high)+1e-9))
	if last-first >= 2 {
		var values []float64
		for power := first; power <= last; power += (last - first + most) / most {
			values = append(values, design.Scaled(1, power))
		}
		add(values, func(x float64) string {
			if s.Plain {
				return words.FourDigits(x)
			}
			return "10" + design.Superscript(int(math.Round(math.Log10(x))))
		})
		return
	}
	var fine []float64
	for power := first - 1; power <= last+1; power++ {
		for _, times := range []float64{1, 2, 5} {
			if x := design.Scaled(times, power); s.shows(x) {
				fine = append(fine, x)
			}
		}
	}
	if len(fine) < 2 {
		fine = evenTicks(s.low, s.high, most)
	}
	add(fine, func(x float64) string { return s.hoverText(x) })
}

// evenTicks are about so many multiples of 1, 2 or 5 times a power of ten between two ends.
func evenTicks(low, high float64, about int) (list []float64) {
	times, power := tidyStep(math.Max((high-low)/float64(about), finestStep))
	step := design.Scaled(times, power)
	for k := math.Ceil(low/step - 1e-9); k*step <= high+step*1e-9 && len(list) < 4*about+4; k++ {
		list = append(list, design.Scaled(k*times, power)+0) // no −0
	}
	return list
}

// finestStep is the smallest step between ticks, since subnormal numbers have too few digits for
// less.
const finestStep = 1e-321

// tidyStep is the one of 1, 2, 5 and 10 times a power of ten that is nearest to step on a
// logarithmic scale.
func tidyStep(step float64) (times float64, power int) {
	power = int(math.Floor(math.Log10(step)))
	switch over := step / design.Scaled(1, power); {
	case over >= math.Sqrt(50):
		return 1, power + 1
	case over >= math.Sqrt(10):
		return 5, power
	case over >= math.Sqrt2:
		return 2, power
	}
	return 1, power
}

// tickFormat writes the ticks of an axis, all with the same decimals, or the same power of ten.
func tickFormat(ticks []float64) func(float64) string {
	most, step := 0.0, 0.0
	for i, x := range ticks {
		most = math.Max(most, math.Abs(x))
		if i == 1 {
			step = x - ticks[0]
		}
	}
	step = cmp.Or(step, most)
	if most == 0 {
		return func(float64) string { return "0" }
	}
	finest := int(math.Floor(math.Log10(step) + 1e-9))
	if most < design.PlainBelow && (most >= 1 || step >= design.PlainFrom/10) { // no power of ten is needed
		return func(x float64) string { return words.Fixed(x, max(0, -finest)) }
	}
	power := int(math.Floor(math.Log10(most) + 1e-9))
	return func(x float64) string {
		if x == 0 {
			return "0"
		}
		return words.Fixed(x/design.Scaled(1, power), max(0, power-finest)) + "×10" + design.Superscript(power)
	}
}

// widthOf estimates the width of a text, in pixels, in the fonts of a page.
func widthOf(text string, size float64) float64 {
	sum := 0.0
	for _, r := range text {
		switch {
		case r == '.' || r == ',' || r == ' ' || r == 'i' || r == 'l' || r == 'j' || r == 't' || r == 'f' || r == '\'' || r == '(' || r == ')' || r == '\u202f':
			sum += 0.32
		case r >= '\u2070' && r <= '\u207f' || r == '¹' || r == '²' || r == '³': // raised
			sum += 0.4
		case r == 'm' || r == 'w' || r == 'M' || r == 'W' || r == '×' || r >= 0x1100:
			sum += 0.95
		case r >= 'A' && r <= 'Z':
			sum += 0.7
		default:
			sum += 0.57
		}
	}
	return sum * size
}

// withoutOverlap leaves out ticks whose texts would touch the one before, on an axis of that many
// pixels, where those at its ends may be turned inward.
func withoutOverlap(ticks []tick, width float64, inward bool) (list []tick) {
	end := math.Inf(-1)
	for _, one := range ticks {
		at, half := one.at*width, widthOf(one.words, wordSize)/2
		switch {
		case inward && half > at:
			at += half
		case inward && half > width-at:
			at -= half
		}
		if at-half >= end {
			list = append(list, one)
			end = at + half + 8
		}
	}
	return list
}

// truncated is a text shortened to that many pixels.
func truncated(text string, width float64) string {
	if widthOf(text, wordSize) <= width {
		return text
	}
	letters := []rune(text)
	end := len(letters)
	for end > 1 && widthOf(string(letters[:end])+"…", wordSize) > width {
		end--
	}
	return string(letters[:end]) + "…"
}

// hoverText is a value as said when hovering: to four digits, or to more on an axis so short that
// four would be the same from end to end.
func (s scale) hoverText(value any) string {
	x := number(value)
	if apart := s.high - s.low; apart > 0 && math.Abs(x) > 1000*apart {
		return words.Alike(apart / 1000)(x)
	}
	return words.FourDigits(x)
}

// title writes the text above a frame. A unit at its end stays when there is no room for the rest.
func (s *canvas) title(title string) {
	at := strings.LastIndex(title, " (")
	if at < 0 || !strings.HasSuffix(title, ")") {
		at = len(title)
	}
	fmt.Fprintf(s, `<div class="title"><span>%s</span>%s</div>`, html.EscapeString(title[:at]), html.EscapeString(title[at:]))
}

// Heights in pixels of the row of events, and of the bare axis if there are none.
const eventsHeight, axisHeight = 18, 8

// frame is the panel as a frame, with its axes fitted to what it holds.
func (p Panel) frame() frame {
	var xs, ys [][]any
	for _, t := range p.Traces {
		xs, ys = append(xs, t.X), append(ys, t.Y, t.Low, t.High)
	}
	return frame{Panel: p, x: scaleOf(p.X, xs...), y: scaleOf(p.Y, ys...), xWords: "all", yWords: "all"}
}

func (s *canvas) panels(d Drawing) {
	for _, panel := range d.Panels {
		s.title(panel.Title)
		panel.X = d.X
		f := panel.frame()
		f.xWords = "none"
		s.draw(f)
	}
	changes := frame{Panel: Panel{Height: axisHeight}, x: scaleOf(d.X), y: scaleOf(Axis{Categories: []string{""}}), xWords: "all", yWords: "none", class: "changes"}
	for _, event := range d.Events {
		i := slices.IndexFunc(changes.Traces, func(t Trace) bool { return t.Name == event.Kind })
		if i < 0 {
			i, changes.Traces = len(changes.Traces), append(changes.Traces, Trace{Name: event.Kind, Style: Style(event.Kind)})
		}
		t := &changes.Traces[i]
		t.Add(event.X, "")
		t.Text = append(t.Text, event.Text)
		changes.Height = eventsHeight
	}
	s.axisTitle(d.X.Title, s.draw(changes))
}

// axisTitle writes the name of the x axis, below as many rows of tick texts as a wide window has, or
// a narrower one.
func (s *canvas) axisTitle(title string, rows []int) {
	below := func(rows int) int { return 22 + (rows-1)*rowHeight }
	lower := words.Either(slices.Max(rows) > 1, fmt.Sprintf(` style="--wide:%dpx;--narrow:%dpx"`, below(rows[0]), below(slices.Max(rows[1:]))), "")
	fmt.Fprintf(s, `<div class="axis"%s>%s</div>`, lower, html.EscapeString(title))
}

// wideColumns is how many cells are side by side at most in a wide window, narrowColumns in a narrow
// one.
const wideColumns, narrowColumns = 4, 2

// cellHeight is the height of cells in pixels, aloneHeight that of a single one.
const cellHeight, aloneHeight = 80, 170

// cells draws cells side by side, each group in rows of its own. If each group is one row, only the
// last has texts at the x axis where the window is wide.
func (s *canvas) cells(cells []Panel) {
	groups := [][]Panel{}
	most := 0
	for i, cell := range cells {
		if i == 0 || cell.Group != cells[i-1].Group {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		*last = append(*last, cell)
		most = max(most, len(*last))
	}
	rows := (most + wideColumns - 1) / wideColumns
	columns := (most + rows - 1) / rows // five are three above two
	for n, group := range groups {
		s.title(group[0].Title)
		fmt.Fprintf(s, `<div class="abreast" style="--columns:%d">`, columns)
		for i, cell := range group {
			f := cell.frame()
			f.Height, f.small, f.abreast, f.noLimitLabel = cellHeight, true, columns, i > 0
			if len(cells) == 1 {
				f.Height, f.small = aloneHeight, false
			}
			if rows == 1 && n < len(groups)-1 {
				f.xWords = "narrow"
			}
			switch wide, narrow := i%columns == 0, i%narrowColumns == 0; {
			case !wide && !narrow:
				f.yWords = "none"
			case !wide:
				f.yWords = "narrow"
			case !narrow:
				f.yWords = "wide"
			}
			fmt.Fprintf(s, `<div class="cell-%s">`, f.xWords)
			s.axisTitle(cell.X.Title, s.draw(f))
			s.WriteString("</div>")
		}
		s.WriteString("</div>")
	}
}
