package chart

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
	"headroom/web/static"
)

// canvas collects the HTML of a chart. It is HTML around SVG whose places are fractions of the
// width and height, while texts, marks and lines keep their size. So one picture serves windows of
// every width, and zooming stretches the content of a frame.
type canvas struct {
	strings.Builder
	id      string
	still   bool     // see Drawing
	markers []string // used so far, each defined once
	defs    strings.Builder
	names   []string         // in the legend
	styles  map[string]Style // of names
}

// HTML draws the chart. id has to be unique in the page; labelledBy names the elements that label
// the chart for those who do not see it.
func (d Drawing) HTML(id, labelledBy string) string {
	s := &canvas{id: id, still: d.Still, styles: map[string]Style{}}
	kind := "map"
	switch {
	case d.Panels != nil:
		kind = "panels"
		s.panels(d)
	case d.Cells != nil:
		kind = "cells"
		s.cells(d.Cells)
	default:
		s.drawMap(d)
	}
	return fmt.Sprintf(`<div role="img" aria-labelledby="%s" class="%s"><svg class="defs" width="0" height="0"><defs>%s</defs></svg>%s</div>`,
		html.EscapeString(labelledBy), kind, s.definitions(), s.String()) + s.legend()
}

// definitions are the SVG elements that others refer to: the hatching of limits, and marks.
func (s *canvas) definitions() string {
	return fmt.Sprintf(`<pattern id="%s-hatch" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0,0V8" stroke="var(--limit)" stroke-width="1.6" opacity="0.55"/></pattern>`, s.id) + s.defs.String()
}

func (s *canvas) addToLegend(name string, style Style) {
	if _, known := s.styles[name]; !known && name != "" {
		s.names, s.styles[name] = append(s.names, name), style
	}
}

func (s *canvas) legend() string {
	out := `<div class="legend">`
	for _, name := range s.names {
		out += "<span>" + key(s.styles[name]) + "<span>" + html.EscapeString(name) + "</span></span>"
	}
	return out + "</div>"
}

// frame is one pair of axes with all that is drawn on it.
type frame struct {
	Panel
	x, y           scale
	xWords, yWords string // in which windows ticks have texts: "all", "wide", "narrow" or "none"
	surface        *Surface
	small          bool
	abreast        int  // how many small ones a wide window has side by side
	noLimitLabel   bool // the values of its limits are written in another frame
	class          string
}

// Minimal widths in pixels, approximately, of frames, of small ones and of maps, in a wide window,
// a narrow one and, for maps, which have more beside them, a slim one. Small ones share that of a
// wide window.
var frameWidths, smallWidths, mapWidths = []float64{620, 260}, []float64{760, 120}, []float64{430, 260, 130}

const leftWords, wordSize = 50, 12

func (f frame) widths() []float64 {
	switch {
	case f.small:
		return []float64{smallWidths[0] / float64(f.abreast), smallWidths[1]}
	case f.surface != nil:
		return mapWidths
	}
	return frameWidths
}

// draw writes the frame, and returns in how many rows the texts of its x axis are in each window.
func (s *canvas) draw(f frame) (rows []int) {
	fmt.Fprintf(s, `<svg class="%s" width="100%%" height="%d" overflow="visible"%s%s>`, strings.TrimSpace("frame "+f.class), f.Height, f.x.attributes("x"), f.y.attributes("y"))
	rows = s.ticks(f)
	s.WriteString(`<svg class="clip" overflow="visible"><svg class="zoom" overflow="visible">`)
	var onto string
	if f.surface != nil {
		onto = s.surface(f)
	}
	labels := lists.Map(f.Limits, func(limit Limit) string { return s.limit(f, limit) })
	for _, t := range f.Traces {
		s.trace(f, t)
	}
	s.WriteString(onto + strings.Join(labels, "") + `</svg></svg>`)
	if f.surface != nil {
		s.colourBar(f)
	}
	s.WriteString(`</svg>`)
	return rows
}

// attributes has the ends of a numeric axis and the kind of its ticks, for pointing and zooming.
func (s scale) attributes(axis string) string {
	if s.Categories != nil {
		return ""
	}
	ends := fmt.Sprintf(` data-%s="%s %s`, axis, strconv.FormatFloat(s.low, 'g', -1, 64), strconv.FormatFloat(s.high, 'g', -1, 64))
	for _, kind := range []struct {
		is   bool
		name string
	}{{s.log, "log"}, {s.Plain, "plain"}, {s.Whole, "whole"}} {
		if kind.is {
			ends += " " + kind.name
		}
	}
	return ends + `"`
}

// ticks writes grid lines and the texts at them, and returns in how many rows those below the frame
// are in each window.
func (s *canvas) ticks(f frame) (rows []int) {
	fmt.Fprintf(s, `<g data-axis="y" font-size="%d" stroke="var(--grid)" fill="var(--muted)" text-anchor="end">`, wordSize)
	ups := f.y.ticks(f.yTicks())
	shorten, class := shortener(ups, leftWords), words.Either(f.yWords == "all", "", ` class="`+f.yWords+`"`)
	for _, one := range ups {
		at := percent(1 - one.at)
		fmt.Fprintf(s, `<g><line x1="-4" x2="100%%" y1="%[1]s" y2="%[1]s"/><text x="-7" y="%[1]s" dy="0.32em" stroke="none"%[2]s%[3]s</text></g>`, at, class, yTickText(one.words, shorten))
	}
	fmt.Fprintf(s, `</g><g data-axis="x" font-size="%d" stroke="var(--grid)" fill="var(--muted)" text-anchor="middle">`, wordSize)
	for window, width := range f.widths() {
		rows = append(rows, s.xTicks(f, width, window))
	}
	s.WriteString(`</g><g stroke="var(--line-strong)"><line y2="100%"/><line y1="100%" x2="100%" y2="100%"/></g>`)
	return rows
}

// yTickText completes the text element of a tick on the left. A number that is a little too long is
// compressed, since its power of ten must not be cut off.
func yTickText(words string, shorten func(string, float64) string) string {
	if width := widthOf(words, wordSize); width > leftWords && width < 1.5*leftWords {
		return fmt.Sprintf(` textLength="%d" lengthAdjust="spacingAndGlyphs">%s`, leftWords, html.EscapeString(words))
	}
	return ">" + fitted(words, leftWords, shorten)
}

func (f frame) yTicks() int {
	switch {
	case f.small:
		return 4
	case f.Height < 100:
		return 3
	}
	return max(2, f.Height/36)
}

// Categories without room beside each other are written in alternate rows: up to usualRows, or more
// if one would have less than leastRoom pixels, and no more than there are categories. Rows are
// rowHeight apart, and texts of a row wordGap.
const usualRows, rowHeight, leastRoom, wordGap = 4, 14, 24, 12

// rowsOf is the number of rows for the categories of an axis of that width, and the room that each
// has.
func rowsOf(ticks []tick, width float64) (rows int, room float64) {
	widest := 0.0
	for _, one := range ticks {
		widest = math.Max(widest, widthOf(one.words, wordSize))
	}
	for rows = 1; ; rows++ {
		room = float64(rows)*width/float64(len(ticks)) - wordGap
		if room >= widest || rows == len(ticks) || rows >= usualRows && room >= leastRoom {
			return rows, room
		}
	}
}

// xTicks writes the ticks of the x axis that a window has room for.
func (s *canvas) xTicks(f frame, width float64, window int) (rows int) {
	ticks := f.x.ticks(max(3, int(width/[]float64{80, 60, 60}[window])))
	rows, room := 1, width
	if f.x.Categories != nil {
		rows, room = rowsOf(ticks, width)
	} else {
		ticks = withoutOverlap(ticks, width, f.small)
	}
	shorten := shortener(ticks, room)
	for i, one := range ticks {
		at, below := percent(one.at), ""
		if f.xWords == "all" || f.xWords == "narrow" && window > 0 {
			half, inward := math.Min(widthOf(one.words, wordSize), room)/2, ""
			switch left, right := half-one.at*width, half-(1-one.at)*width; {
			case f.x.Categories != nil:
				if over := math.Max(left, right) - wordGap/4; over > 0 {
					inward = fmt.Sprintf(` dx="%s"`, design.FormatUpTo(math.Copysign(over, left-right), 1))
				}
			case f.small && left > 0:
				inward = ` text-anchor="start"`
			case f.small && right > 0:
				inward = ` text-anchor="end"`
			}
			below = fmt.Sprintf(`<text x="%s" y="100%%" dy="%d" stroke="none"%s>%s</text>`, at, 17+i%rows*rowHeight, inward, fitted(one.words, room, shorten))
		}
		fmt.Fprintf(s, `<g class="%s"><line x1="%[2]s" x2="%[2]s" y2="100%%"/>%[3]s</g>`, []string{"wide", "narrow", "slim"}[window], at, below)
	}
	return rows
}

// fitted is the content of a text element, shortened to that many pixels, with the whole text on
// hover.
func fitted(text string, width float64, shorten func(string, float64) string) string {
	short := shorten(text, width)
	return words.Either(short == text, html.EscapeString(text), html.EscapeString(short)+"<title>"+html.EscapeString(text)+"</title>")
}

// shortener is the function that shortens the texts of an axis: at their beginning if cutting their
// ends would make them alike, as with “ligand A” and “ligand B”.
func shortener(ticks []tick, width float64) func(string, float64) string {
	seen := map[string]bool{}
	for _, one := range ticks {
		seen[truncated(one.words, width)] = true
	}
	if len(seen) == len(ticks) {
		return truncated
	}
	return func(text string, width float64) string {
		letters := []rune(text)
		slices.Reverse(letters)
		letters = []rune(truncated(string(letters), width))
		slices.Reverse(letters)
		return string(letters)
	}
}

// percent writes a fraction of the width or height, from the left or from above.
func percent(part float64) string { return design.FormatUpTo(100*part, 2) + "%" }

// side is the width and height of the view box in which paths are drawn, before they are stretched.
const side = 1000

func (f frame) px(value any) string { return design.FormatUpTo(side*f.x.at(value), 1) }
func (f frame) py(value any) string { return design.FormatUpTo(side*(1-f.y.at(value)), 1) }

// path writes a path that is stretched with its frame; more has further attributes of its svg
// element.
func (s *canvas) path(d, attributes, more string) {
	fmt.Fprintf(s, `<svg viewBox="0 0 %[1]d %[1]d" preserveAspectRatio="none" %[2]s><path d="%[3]s" %[4]s/></svg>`, side, more, d, attributes)
}

// hoverAttributes are the attributes for hovering: name, kind, and the texts of each place.
func (s *canvas) hoverAttributes(t Trace, kind string, texts []string) string {
	of := fmt.Sprintf(`data-name="%s" data-kind="%s"`, html.EscapeString(t.Name), kind)
	if len(texts) > 0 && !s.still {
		of += " data-said=" + jsonAttribute(texts)
	}
	return of
}

var quoted = strings.NewReplacer("&", "&amp;", "'", "&#39;")

// jsonAttribute is a value as JSON in single quotes.
func jsonAttribute(value any) string {
	text, _ := json.Marshal(value) // of texts and finite numbers
	return "'" + quoted.Replace(string(text)) + "'"
}

func (s *canvas) trace(f frame, t Trace) {
	s.addToLegend(t.Name, t.Style)
	var d strings.Builder
	texts, letter, between := make([]string, len(t.X)), "M", ","
	line, isLine := lines[t.Style]
	switch {
	case len(t.X) == 0:
	case t.Style == BandStyle || isLine && t.Y == nil:
		fill := words.Either(isLine, fmt.Sprintf(`fill="var(--%s)" fill-opacity="0.19"`, line.colour), `fill="var(--band)"`)
		for i, x := range t.X {
			d.WriteString(letter + f.px(x) + "," + f.py(t.High[i]))
			texts[i], letter = f.y.hoverText(t.Low[i])+" to "+f.y.hoverText(t.High[i]), "L"
		}
		for i, x := range slices.Backward(t.X) {
			d.WriteString("L" + f.px(x) + "," + f.py(t.Low[i]))
		}
		s.path(d.String()+"Z", fill, s.hoverAttributes(t, "line", texts))
	case t.Style == Spans:
		for i, x := range t.X {
			d.WriteString("M" + f.px(x) + "," + f.py(t.Low[i]) + "V" + f.py(t.High[i]))
			texts[i] = "from " + f.y.hoverText(t.Low[i]) + " to " + f.y.hoverText(t.High[i])
		}
		s.path(d.String(), spanLook, s.hoverAttributes(t, "spans", texts))
	case t.Style == Bars:
		s.bars(f, t)
	case isLine:
		next, kind := "L,", "line"
		if line.holds {
			next, kind = "HV", "held"
		}
		for i, x := range t.X {
			d.WriteString(letter + f.px(x) + between + f.py(t.Y[i]))
			texts[i], letter, between = f.y.hoverText(t.Y[i]), next[:1], next[1:]
		}
		s.path(d.String(), line.attributes(), s.hoverAttributes(t, kind, texts))
	default:
		s.marks(f, t)
	}
}

func (s *canvas) bars(f frame, t Trace) {
	cap, mean := s.symbol(marker{level, 4, "", "feasible"}), s.symbol(marker{level, 11, "", "feasible"})
	var texts []string
	fmt.Fprintf(s, `<g data-name="%s">`, html.EscapeString(t.Name))
	for i, x := range t.X {
		at, low, high := percent(f.x.at(x)), percent(1-f.y.at(t.Low[i])), percent(1-f.y.at(t.High[i]))
		fmt.Fprintf(s, `<line x1="%[1]s" x2="%[1]s" y1="%[2]s" y2="%[3]s" stroke="var(--feasible)" stroke-width="2"/>`, at, low, high)
		fmt.Fprintf(s, `<use href="#%[1]s" x="%[2]s" y="%[3]s"/><use href="#%[1]s" x="%[2]s" y="%[4]s"/>`, cap, at, low, high)
		texts = append(texts, f.y.hoverText(t.Y[i])+", "+f.y.hoverText(t.Low[i])+" to "+f.y.hoverText(t.High[i]))
	}
	fmt.Fprintf(s, `<g %s>`, s.hoverAttributes(t, "bars", texts))
	for i, x := range t.X {
		fmt.Fprintf(s, `<use href="#%s" x="%s" y="%s"/>`, mean, percent(f.x.at(x)), percent(1-f.y.at(t.Y[i])))
	}
	s.WriteString(`</g></g>`)
}

func (s *canvas) symbol(l marker) string {
	drawn := fmt.Sprintf(`d="%s" %s`, l.outline(l.r), l.attributes())
	at := slices.Index(s.markers, drawn)
	if at < 0 {
		at = len(s.markers)
		s.markers = append(s.markers, drawn)
		fmt.Fprintf(&s.defs, `<path id="%s-%d" %s/>`, s.id, at, drawn)
	}
	return s.id + "-" + strconv.Itoa(at)
}

// crowd is the number of marks of a kind above which they are smaller.
const crowd = 250

// marks writes marks, without those whose place is beyond the axes.
func (s *canvas) marks(f frame, t Trace) {
	mark := marks[t.Style]
	standing := lists.Where(len(t.X), func(i int) bool { return f.x.shows(t.X[i]) && f.y.shows(t.Y[i]) })
	opacity := ""
	switch {
	case len(standing) > crowd:
		mark, opacity = mark.crowded(), ` opacity="0.7"`
	case f.small && t.Style == Recommended:
		mark.r *= 0.85
	case f.small:
		mark.r *= 0.65
	}
	symbol := s.symbol(mark)
	var marks strings.Builder
	for _, i := range standing {
		seen := ""
		if len(t.Fade) > 0 && t.Fade[i] < 1 {
			seen = ` opacity="` + design.FormatUpTo(t.Fade[i], 2) + `"`
		}
		fmt.Fprintf(&marks, `<use href="#%s" x="%s" y="%s"%s/>`, symbol, percent(f.x.at(t.X[i])), percent(1-f.y.at(t.Y[i])), seen)
	}
	of := s.hoverAttributes(t, "marks", lists.At(t.Text, standing))
	if trials := lists.At(t.Trial, standing); len(trials) > 0 && !s.still {
		of += " data-trials=" + jsonAttribute(trials)
	}
	fmt.Fprintf(s, `<g %s%s>%s</g>`, of, opacity, marks.String())
}

// limit writes the line of a limit and hatches the side that breaks it. Its label is returned, to
// be written on top of everything else.
func (s *canvas) limit(f frame, limit Limit) (label string) {
	s.addToLegend(limitName, Threshold)
	if len(limit.X) == 0 {
		limit.X = []float64{f.x.low}
	}
	fmt.Fprintf(s, `<g data-name="%s">`, limitName)
	d := ""
	for i, y := range limit.Y {
		left, right := f.x.at(limit.X[i]), 1.0
		if f.x.Categories != nil {
			left = 0
		}
		if i+1 < len(limit.Y) {
			right = f.x.at(limit.X[i+1])
		}
		at := math.Max(0, math.Min(1-f.y.at(y), 1))
		top, height := at, 1-at
		if limit.Above[i] {
			top, height = 0, at
		}
		fmt.Fprintf(s, `<rect x="%s" y="%s" width="%s" height="%s" fill="url(#%s-hatch)"/>`, percent(left), percent(top), percent(math.Max(0, right-left)), percent(height), s.id)
		if d == "" {
			d = "M" + design.FormatUpTo(side*left, 1) + "," + f.py(y)
		} else {
			d += "V" + f.py(y)
		}
		d += "H" + design.FormatUpTo(side*right, 1)
	}
	line, texts := lines[Threshold], lists.Map(limit.Y, func(y float64) string { return f.y.hoverText(y) })
	if f.small {
		line.width = 1.5
	}
	s.path(d, line.attributes(), s.hoverAttributes(Trace{Name: limitName}, "limit", texts))
	s.WriteString(`</g>`)
	return s.limitLabel(f, limit)
}

// markRoom is the distance in pixels of a limit's label from marks. leastEnd is how far to the
// right the label ends at least, as a fraction of the width: it belongs to the end of the line.
const markRoom, leastEnd = 12, 0.75

// limitName is the name of a panel's limit in the legend.
const limitName = "limit"

// limitLabel is the value of a limit at its line: above it if values above break it, if there is
// room; on the other side if it would be further right there, because of marks; and left of marks
// in the way.
func (s *canvas) limitLabel(f frame, limit Limit) string {
	size := words.Either(f.small, 11, 13.0)
	last, above := limit.Y[len(limit.Y)-1], limit.Above[len(limit.Y)-1]
	if f.noLimitLabel || limit.Label == "" || !f.y.shows(last) {
		return ""
	}
	high := float64(f.Height)
	end := (1 - f.y.at(last)) * high
	var places [][2]float64 // of marks, as fractions of the width and pixels from the top, the rightmost first
	for _, t := range f.Traces {
		for i, x := range t.X {
			if marks[t.Style].outline != nil {
				places = append(places, [2]float64{f.x.at(x), (1 - f.y.at(t.Y[i])) * high})
			}
		}
	}
	slices.SortFunc(places, func(a, b [2]float64) int { return cmp.Compare(b[0], a[0]) })
	wide := (widthOf(limit.Label, size) + 10) / f.widths()[0]
	// clear is how far to the right the label can end between these heights, 0 where that is
	// nowhere.
	clear := func(from, to float64) float64 {
		right := 1.0
		for _, place := range places {
			if x, y := place[0], place[1]; x > right-wide && x <= right && y > from-6 && y < to+6 {
				right = x - markRoom/f.widths()[0]
			}
		}
		if right < leastEnd {
			return 0
		}
		return right
	}
	roomOver, roomUnder := end-size-4 > 0, end+size+6 < high
	over := above && roomOver || !above && !roomUnder
	right, other := clear(end-size-4, end), clear(end, end+size+4)
	if !over {
		right, other = other, right
	}
	if other > right && (over && roomUnder || !over && roomOver) {
		over, right = !over, other
	}
	right = cmp.Or(right, 1)
	below := words.Either(over, -5, size+2)
	return fmt.Sprintf(`<g data-name="%s">%s</g>`, limitName, outlinedText(percent(right), percent(1-f.y.at(last)), limit.Label, fmt.Sprintf(`dx="-3" dy="%g" fill="var(--limit)" stroke="var(--surface)" font-size="%g" text-anchor="end"`, below, size)))
}

// outlinedText is a text that is readable on any background.
func outlinedText(x, y, text, attributes string) string {
	return fmt.Sprintf(`<text x="%s" y="%s" paint-order="stroke" stroke-width="4" stroke-linejoin="round" %s>%s</text>`, x, y, attributes, html.EscapeString(text))
}

// Sizes of a figure in pixels: its frames, the space around each, and its border and texts.
const (
	figureColumns             = 3
	figureWide, figureHigh    = 340, 230
	figureLeft, figureStep    = 64, figureWide + 92
	figureTop, figureRow      = 64, figureHigh + 80
	figureBorder, figureWords = 12, 13
)

// Figure draws cells as a self-contained SVG file for documents: on white, with colours written
// out, and without attributes for hovering.
func Figure(title string, cells []Panel) []byte {
	s := &canvas{id: "figure", styles: map[string]Style{}}
	columns := max(1, min(len(cells), figureColumns))
	for i, cell := range cells {
		f := cell.frame()
		f.Height = figureHigh
		if !f.y.log && f.y.low > 0 && f.y.low < f.y.high/2 {
			f.y.low = 0 // 0 is near enough to be shown
		}
		fmt.Fprintf(s, `<svg x="%d" y="%d" width="%d" height="%d" overflow="visible">`,
			figureLeft+i%columns*figureStep, figureTop+i/columns*figureRow, figureWide, figureHigh)
		fmt.Fprintf(s, `<text y="-10" font-weight="650">%s</text>`, html.EscapeString(cell.Title))
		s.draw(f)
		fmt.Fprintf(s, `<text x="50%%" y="%d" text-anchor="middle" fill="var(--muted)">%s</text></svg>`, figureHigh+36, html.EscapeString(cell.X.Title))
	}
	width, x, y := columns*figureStep, figureBorder, figureTop-30+(len(cells)+columns-1)/columns*figureRow
	for _, name := range s.names {
		wide := int(widthOf(name, figureWords)) + 46
		if x > figureBorder && x+wide > width {
			x, y = figureBorder, y+22
		}
		fmt.Fprintf(s, `<svg x="%d" y="%d" overflow="visible">%s<text x="28" y="12">%s</text></svg>`, x, y, key(s.styles[name]), html.EscapeString(name))
		x += wide
	}
	drawn := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" `+
		`font-family="system-ui, sans-serif" font-size="%[3]d" fill="var(--ink)"><style>.wide{display:none}</style><defs>%[4]s</defs>`+
		`<rect width="100%%" height="100%%" fill="var(--surface)"/><text x="%[5]d" y="24" font-size="16" font-weight="650">%[6]s</text>%[7]s</svg>`,
		width, y+22+figureBorder, figureWords, s.definitions(), figureBorder, html.EscapeString(title), s)
	return []byte(colourReplacer.Replace(interactive.ReplaceAllString(drawn, "")))
}

var interactive = regexp.MustCompile(` (data-[a-z]+|class="(frame|clip|zoom|key-mark)[^"]*"|aria-hidden)(=('[^']*'|"[^"]*"))?`)

var lightColour = regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`)

// colourReplacer writes out the colours of light pages, that of bands as it is on white.
var colourReplacer = func() *strings.Replacer {
	colours := []string{"var(--band)", "#d6e8f3"}
	for _, rule := range lightColour.FindAllStringSubmatch(static.LightColours(), -1) {
		colours = append(colours, "var(--"+rule[1]+")", rule[2])
	}
	for i, colour := range seriesColours {
		colours = append(colours, fmt.Sprintf("var(--series%d)", i), colour)
	}
	return strings.NewReplacer(colours...)
}()

// seriesColours are Okabe and Ito's, which colour-blind readers can tell apart.
var seriesColours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// Series is the style of line i of a figure, or of its band if the trace has Low and High instead
// of Y. Lines beyond the number of colours repeat them dashed.
func Series(i int) Style { return Style(fmt.Sprintf("series%d", i%(2*len(seriesColours)))) }

func init() {
	for i := range 2 * len(seriesColours) {
		line := pen{colour: fmt.Sprintf("series%d", i%len(seriesColours)), width: 2}
		if i >= len(seriesColours) {
			line.dash = "7 4"
		}
		lines[Series(i)] = line
	}
}
