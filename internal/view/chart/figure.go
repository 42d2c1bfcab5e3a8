package chart

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// Sizes of a figure in pixels: its frames, what stands around each, and the rest of it.
const (
	figureColumns             = 3
	figureWide, figureHigh    = 340, 230
	figureLeft, figureStep    = 64, figureWide + 92
	figureTop, figureRow      = 64, figureHigh + 80
	figureBorder, figureWords = 12, 13
)

// Figure is cells as an SVG file for documents, which stands alone: on white, with its colours
// written out, and nothing in it that answers a pointer.
func Figure(title string, cells []Panel) []byte {
	s := &sheet{id: "figure", styles: map[string]Style{}}
	columns := max(1, min(len(cells), figureColumns))
	for i, cell := range cells {
		f := cell.frame()
		f.height = figureHigh
		if !f.y.log && f.y.low > 0 && f.y.low < f.y.high/2 {
			f.y.low = 0 // that is not far
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
	return []byte(inked.Replace(answering.ReplaceAllString(drawn, "")))
}

// answering are the attributes by which a page's chart answers a pointer.
var answering = regexp.MustCompile(` (data-[a-z]+|class="(frame|clip|zoom|key-mark)[^"]*"|aria-hidden)(=('[^']*'|"[^"]*"))?`)

// inked writes colours out, as they are on light pages.
var inked = func() *strings.Replacer {
	colours := []string{"ink", "#191c20", "muted", "#565e68", "surface", "#ffffff", "grid", "#e6e8ea", "line-strong", "#7d8690", "feasible", "#0072b2",
		"violated", "#c44f00", "unknown", "#6b737c", "star", "#e69f00", "star-edge", "#6b4a00", "limit", "#b3122a", "second", "#cc79a7", "band", "#d6e8f3"}
	for i, colour := range seriesColours {
		colours = append(colours, fmt.Sprintf("series%d", i), colour)
	}
	for i := 0; i < len(colours); i += 2 {
		colours[i] = "var(--" + colours[i] + ")"
	}
	return strings.NewReplacer(colours...)
}()

// seriesColours are Okabe and Ito's, told apart by colour-blind readers.
var seriesColours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// Series is how line number i of a figure looks, one with Low and High in place of Y its band. More
// than there are colours repeat them dashed.
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
