package chart

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
)

// Sizes in pixels of a map and of what is beside it.
const mapHeight, mapTitle, barLeft, barWidth = 330, 72, 14, 12

// drawMap draws a map of two parameters: the mean as colour, chances as contours, marks on top, and
// the colour bar beside it.
func (s *canvas) drawMap(d Drawing) {
	places := Trace{X: d.Surface.X, Y: d.Surface.Y}
	f := Panel{X: d.X, Y: d.Y, Height: mapHeight, Traces: append([]Trace{places}, d.Traces...)}.frame()
	f.Traces, f.surface = d.Traces, d.Surface
	s.axisTitle(d.X.Title, s.draw(f))
}

// cividis has twelve steps of the colour map of that name (Nuñez, Anderton, Renslow 2018), which is
// alike to the colour-blind and dark for low values.
var cividis = []color.RGBA{
	{0x00, 0x20, 0x4d, 0xff}, {0x00, 0x30, 0x6f, 0xff}, {0x2a, 0x40, 0x6c, 0xff}, {0x48, 0x52, 0x6b, 0xff}, {0x5e, 0x62, 0x6e, 0xff}, {0x72, 0x73, 0x74, 0xff},
	{0x87, 0x84, 0x79, 0xff}, {0x9e, 0x96, 0x77, 0xff}, {0xb6, 0xa9, 0x71, 0xff}, {0xd0, 0xbe, 0x67, 0xff}, {0xea, 0xd3, 0x57, 0xff}, {0xff, 0xea, 0x46, 0xff},
}

// colourAt interpolates the colour of a fraction of the scale, 0 to 1.
func colourAt(part float64) color.RGBA {
	at := math.Max(0, math.Min(part, 1)) * float64(len(cividis)-1)
	i := min(int(at), len(cividis)-2)
	between := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (at-float64(i))*(float64(b)-float64(a)))) }
	a, b := cividis[i], cividis[i+1]
	return color.RGBA{between(a.R, b.R), between(a.G, b.G), between(a.B, b.B), 0xff}
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func (s Surface) scale() scale {
	values := slices.DeleteFunc(slices.Concat(s.Mean...), math.IsNaN)
	return scaleOf(Axis{Range: []float64{slices.Min(values), slices.Max(values)}})
}

// surface writes the colours, and the contours or the texts of the cells. The labels of the
// contours are returned, to be written on top of everything else.
func (s *canvas) surface(f frame) (labels string) {
	of, scale := f.surface, f.surface.scale()
	x, dx := gridOf(f.x, of.X)
	y, dy := gridOf(f.y, of.Y)
	said := ""
	if !s.still {
		said = " data-said=" + jsonAttribute(map[string]any{"places": []float64{x, dx, y, dy}, "x": of.AtX, "y": of.AtY, "text": of.Text, "note": of.Note, "aim": of.Aim, "chances": of.Chances})
	}
	fmt.Fprintf(s, `<svg data-kind="surface"%s>`, said)
	if of.Smooth {
		s.heatmap(f, scale)
	} else {
		s.cellGrid(f, scale)
	}
	s.WriteString(`</svg>`)
	if of.Smooth && of.Chance != nil {
		return s.contourLines(f)
	}
	return ""
}

// gridOf is the place of the first value of an axis and the step to the next. Values are evenly
// spaced, and each is in the middle of its cell.
func gridOf(axis scale, values []any) (first, step float64) {
	first = axis.at(values[0])
	return first, (axis.at(values[len(values)-1]) - first) / float64(max(1, len(values)-1))
}

// heatmap writes an image with a pixel for each value, transparent if there is none; browsers blend
// them.
func (s *canvas) heatmap(f frame, scale scale) {
	of := f.surface
	picture := image.NewRGBA(image.Rect(0, 0, len(of.X), len(of.Y)))
	for i, row := range of.Mean {
		for j, value := range row {
			if !math.IsNaN(value) {
				picture.SetRGBA(j, len(of.Y)-1-i, colourAt(scale.at(value)))
			}
		}
	}
	var out bytes.Buffer // takes everything
	png.Encode(&out, picture)
	x, dx := gridOf(f.x, of.X)
	y, dy := gridOf(f.y, of.Y)
	fmt.Fprintf(s, `<image x="%s" y="%s" width="%s" height="%s" preserveAspectRatio="none" href="data:image/png;base64,%s"/>`, percent(x-dx/2), percent(1-y-dy*(float64(len(of.Y))-0.5)),
		percent(dx*float64(len(of.X))), percent(dy*float64(len(of.Y))), base64.StdEncoding.EncodeToString(out.Bytes()))
}

// cellGrid writes a grid of cells with their texts, for axes without an order.
func (s *canvas) cellGrid(f frame, scale scale) {
	of := f.surface
	wide, tall := 1/float64(len(of.X)), 1/float64(len(of.Y))
	size := math.Min(13, math.Max(9, f.widths()[0]*wide/5))
	for i, row := range of.Mean {
		for j, value := range row {
			if math.IsNaN(value) {
				continue
			}
			x, y, part := f.x.at(of.X[j]), 1-f.y.at(of.Y[i]), scale.at(value)
			fmt.Fprintf(s, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s" stroke="var(--surface)" stroke-width="2"/>`, percent(x-wide/2), percent(y-tall/2), percent(wide), percent(tall), hex(colourAt(part)))
			ink := words.Either(part > 0.5, "#111111", "#ffffff")
			var lines []string
			if of.Cells != nil {
				lines = strings.Split(words.Terse(of.Cells[i][j]), "\n")
			}
			for k, line := range lines {
				if float64(len(lines))*(size+2) > tall*float64(f.Height) {
					break
				}
				fits := slices.IndexFunc(f.widths(), func(width float64) bool { return widthOf(line, size) > wide*width-2 }) // in the first so many windows; -1 in all
				if fits == 0 {
					continue
				}
				class := map[int]string{1: ` class="wide"`, 2: ` class="roomy"`}[fits]
				fmt.Fprintf(s, `<text%s x="%s" y="%s" dy="%s" font-size="%s" text-anchor="middle" fill="%s">%s</text>`, class, percent(x), percent(y), design.FormatUpTo((float64(k)-float64(len(lines)-1)/2)*(size+2)+0.35*size, 1), design.FormatUpTo(size, 1), ink, html.EscapeString(line))
			}
		}
	}
}

var contourLevels = []struct {
	level, width float64
	dash         string
}{{0.1, 1.5, "2 4"}, {0.5, 2, "8 5"}, {0.9, 3, "none"}}

// isFree tells whether a label at a place of the map overlaps none of the others, in a narrow
// window too.
func (f frame) isFree(at [2]float64, others [][2]float64) bool {
	return !slices.ContainsFunc(others, func(other [2]float64) bool {
		return math.Abs(at[0]-other[0])*f.widths()[1] < 26 && math.Abs(at[1]-other[1])*float64(f.Height) < 17
	})
}

// contourLines writes the contours of the chance. It returns their labels, which avoid marks if
// they can.
func (s *canvas) contourLines(f frame) (labels string) {
	x, dx := gridOf(f.x, f.surface.X)
	y, dy := gridOf(f.y, f.surface.Y)
	var taken [][2]float64
	for _, t := range f.Traces {
		taken = append(taken, lists.Of(len(t.X), func(i int) [2]float64 { return [2]float64{f.x.at(t.X[i]), 1 - f.y.at(t.Y[i])} })...)
	}
	for _, line := range contourLevels {
		var d strings.Builder
		var longest [][2]float64
		for _, path := range contours(f.surface.Chance, line.level) {
			letter := "M"
			var inside [][2]float64
			for _, at := range path {
				px, py := x+dx*at[0], 1-y-dy*at[1]
				d.WriteString(letter + design.FormatUpTo(side*px, 1) + "," + design.FormatUpTo(side*py, 1))
				letter = "L"
				if px > 0.04 && px < 0.96 && py > 0.04 && py < 0.96 {
					inside = append(inside, [2]float64{px, py})
				}
			}
			if len(inside) > len(longest) {
				longest = inside
			}
		}
		if d.Len() == 0 {
			continue
		}
		s.path(d.String(), fmt.Sprintf(`fill="none" stroke="#ffffff" stroke-width="%g" vector-effect="non-scaling-stroke"`, line.width+3), "")
		s.path(d.String(), fmt.Sprintf(`fill="none" stroke="#111111" stroke-width="%g" stroke-dasharray="%s" vector-effect="non-scaling-stroke"`, line.width, line.dash), "")
		if len(longest) > 6 {
			usual := int(float64(len(longest)) * line.level)
			best := usual
			for i, at := range longest {
				if f.isFree(at, taken) && (!f.isFree(longest[best], taken) || max(i-usual, usual-i) < max(best-usual, usual-best)) {
					best = i
				}
			}
			at := longest[best]
			taken = append(taken, at)
			labels += outlinedText(percent(at[0]), percent(at[1]), fmt.Sprintf("%.0f%%", 100*line.level), `dy="4" fill="#111111" stroke="#ffffff" font-size="13" text-anchor="middle"`)
		}
	}
	return labels
}

// crossing is where a contour crosses the border between two neighbours of a grid: a place and the
// one above it (up), or the one to its right.
type crossing struct {
	column, row int
	up          bool
}

// contours are the lines of a level through a grid of values, in units of columns and rows, by
// marching squares (Lorensen and Cline 1987, in two dimensions). They are straight within each
// square of four neighbours, and leave out squares with a missing value.
func contours(values [][]float64, level float64) (paths [][][2]float64) {
	next := map[crossing][]crossing{}
	var order []crossing
	join := func(a, b crossing) {
		next[a], next[b] = append(next[a], b), append(next[b], a)
		order = append(order, a, b)
	}
	over := func(i, j int) bool { return values[i][j] >= level }
	for i := range len(values) - 1 {
		for j := range len(values[i]) - 1 {
			middle := (values[i][j] + values[i][j+1] + values[i+1][j] + values[i+1][j+1]) / 4
			if math.IsNaN(middle) {
				continue
			}
			// The borders that the contour crosses, in order around the square.
			var cut []crossing
			for _, border := range []struct {
				crossing
				crossed bool
			}{
				{crossing{j, i, false}, over(i, j) != over(i, j+1)}, {crossing{j + 1, i, true}, over(i, j+1) != over(i+1, j+1)},
				{crossing{j, i + 1, false}, over(i+1, j) != over(i+1, j+1)}, {crossing{j, i, true}, over(i, j) != over(i+1, j)},
			} {
				if border.crossed {
					cut = append(cut, border.crossing)
				}
			}
			switch {
			case len(cut) == 2:
				join(cut[0], cut[1])
			case len(cut) == 4 && (middle >= level) == over(i, j): // a saddle whose middle is on the side of its lower left corner
				join(cut[0], cut[1])
				join(cut[2], cut[3])
			case len(cut) == 4:
				join(cut[3], cut[0])
				join(cut[1], cut[2])
			}
		}
	}
	place := func(c crossing) [2]float64 {
		here, there := values[c.row][c.column], 0.0
		if c.up {
			there = values[c.row+1][c.column]
			return [2]float64{float64(c.column), float64(c.row) + (level-here)/(there-here)}
		}
		there = values[c.row][c.column+1]
		return [2]float64{float64(c.column) + (level-here)/(there-here), float64(c.row)}
	}
	follow := func(start crossing) {
		path := [][2]float64{place(start)}
		for at := start; len(next[at]) > 0; {
			to := next[at][0]
			next[at] = next[at][1:]
			back := slices.Index(next[to], at)
			next[to] = slices.Delete(next[to], back, back+1)
			path, at = append(path, place(to)), to
		}
		paths = append(paths, path)
	}
	for _, c := range order { // open lines first, from their ends at the edges, then closed ones
		if len(next[c]) == 1 {
			follow(c)
		}
	}
	for _, c := range order {
		if len(next[c]) > 0 {
			follow(c)
		}
	}
	return paths
}

// colourBar writes what is beside a map: the name of its y axis, and the scale of its colours.
func (s *canvas) colourBar(f frame) {
	of, scale := f.surface, f.surface.scale()
	fmt.Fprintf(&s.defs, `<linearGradient id="%s-colours" x1="0" x2="0" y1="1" y2="0">`, s.id)
	for i, c := range cividis {
		fmt.Fprintf(&s.defs, `<stop offset="%s" stop-color="%s"/>`, design.FormatUpTo(float64(i)/float64(len(cividis)-1), 3), hex(c))
	}
	s.defs.WriteString(`</linearGradient>`)
	fmt.Fprintf(s, `<svg x="100%%" overflow="visible"><g font-size="%d" fill="var(--muted)"><rect x="%d" width="%d" height="100%%" fill="url(#%s-colours)"/>`, wordSize, barLeft, barWidth, s.id)
	wide := 0.0
	for _, one := range scale.ticks(f.Height / 50) {
		fmt.Fprintf(s, `<text x="%d" y="%s" dy="0.32em">%s</text>`, barLeft+barWidth+4, percent(1-one.at), html.EscapeString(one.words))
		wide = math.Max(wide, widthOf(one.words, wordSize))
	}
	fmt.Fprintf(s, `</g>%s</svg>`, verticalText(barLeft+barWidth+wide+20, f.Height, of.MeanName))
	s.WriteString(verticalText(-mapTitle+6, f.Height, f.Y.Title))
}

func verticalText(x float64, height int, text string) string {
	return fmt.Sprintf(`<text transform="translate(%s,%d) rotate(-90)" font-size="13" text-anchor="middle" fill="var(--muted)">%s</text>`, design.FormatUpTo(x, 0), height/2, fitted(text, float64(height), truncated))
}
