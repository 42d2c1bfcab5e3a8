// Package plot draws lines with bands of standard error, as SVG and as PNG.
package plot

import (
	"fmt"
	"math"
)

// Figure is some panels side by side.
type Figure struct {
	Title  string
	Panels []Panel
}

// Panel is one pair of axes.
type Panel struct {
	X, Y  string // names of the axes
	Lines []Line
}

// Line is one curve; Band, when not nil, is drawn from Y − Band to Y + Band. All are of the same length and finite.
type Line struct {
	Name       string
	X, Y, Band []float64
}

// Sizes in pixels.
const (
	panelWidth, panelHeight   = 420, 260
	left, right, top          = 64, 16, 44
	axisRoom, legendRow       = 60, 18
	letterWidth, letterHeight = 7, 13 // of the PNG's font; the SVG's is a little narrower
	keyLength                 = 22
)

// palette is Okabe and Ito's, told apart by colour-blind readers, on light and dark; more lines repeat it dashed.
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

func colour(i int) (name string, dashed bool) { return palette[i%len(palette)], i/len(palette)%2 == 1 }

// ink is the colour of words and axes.
const ink = "ink"

// canvas is what figures are drawn on. Anchor −1, 0, 1: text starts, is centred, ends at x; y is its baseline.
type canvas interface {
	line(points []point, colour string, width float64, dashed bool)
	area(points []point, colour string)
	text(at point, words string, anchor int)
}

type point struct{ x, y float64 }

// size is the figure's width and height.
func (f Figure) size() (width, height int) {
	return panelWidth * len(f.Panels), panelHeight + top + axisRoom + legendRow*f.legendRows()
}

// names are the lines' names over all panels, each once.
func (f Figure) names() []string {
	var names []string
	seen := map[string]bool{}
	for _, p := range f.Panels {
		for _, l := range p.Lines {
			if !seen[l.Name] {
				seen[l.Name] = true
				names = append(names, l.Name)
			}
		}
	}
	return names
}

// legendColumns is how many names fit beside each other.
func (f Figure) legendColumns() int {
	longest := 0
	for _, name := range f.names() {
		longest = max(longest, len(name))
	}
	return max(1, (panelWidth*len(f.Panels)-left)/(longest*letterWidth+keyLength+24))
}

func (f Figure) legendRows() int {
	columns := f.legendColumns()
	return (len(f.names()) + columns - 1) / columns
}

func (f Figure) draw(c canvas) {
	c.text(point{left, 16}, f.Title, -1)
	index := map[string]int{}
	for i, name := range f.names() {
		index[name] = i
	}
	for i, p := range f.Panels {
		p.draw(c, float64(i*panelWidth), index)
	}
	columns := f.legendColumns()
	step := float64(panelWidth*len(f.Panels)-left) / float64(columns)
	for i, name := range f.names() {
		x := left + step*float64(i%columns)
		y := float64(top + panelHeight + axisRoom + legendRow*(i/columns))
		shade, dashed := colour(i)
		c.line([]point{{x, y - 4}, {x + keyLength, y - 4}}, shade, 2, dashed)
		c.text(point{x + keyLength + 6, y}, name, -1)
	}
}

// frame maps values to pixels.
type frame struct{ x0, x1, y0, y1, offset float64 }

func (f frame) at(x, y float64) point {
	return point{f.offset + left + (x-f.x0)/(f.x1-f.x0)*(panelWidth-left-right), top + panelHeight - (y-f.y0)/(f.y1-f.y0)*panelHeight}
}

func (p Panel) draw(c canvas, offset float64, index map[string]int) {
	f := p.frame(offset)
	for _, x := range ticks(f.x0, f.x1) {
		at := f.at(x, f.y0)
		c.line([]point{at, {at.x, at.y + 4}}, ink, 1, false)
		c.text(point{at.x, at.y + 18}, label(x), 0)
	}
	for _, y := range ticks(f.y0, f.y1) {
		at := f.at(f.x0, y)
		c.line([]point{{at.x - 4, at.y}, at}, ink, 1, false)
		c.text(point{at.x - 7, at.y + 4}, label(y), 1)
	}
	if f.y0 < 0 && f.y1 > 0 {
		c.line([]point{f.at(f.x0, 0), f.at(f.x1, 0)}, ink, 0.5, true)
	}
	c.line([]point{f.at(f.x0, f.y1), f.at(f.x0, f.y0), f.at(f.x1, f.y0)}, ink, 1, false)
	c.text(point{offset + left - 40, top - 10}, p.Y, -1)
	c.text(point{offset + panelWidth - right, top + panelHeight + 34}, p.X, 1)
	for _, l := range p.Lines {
		shade, _ := colour(index[l.Name])
		if l.Band != nil {
			c.area(band(f, l), shade)
		}
	}
	for _, l := range p.Lines {
		shade, dashed := colour(index[l.Name])
		points := make([]point, len(l.X))
		for i := range l.X {
			points[i] = f.at(l.X[i], l.Y[i])
		}
		c.line(points, shade, 2, dashed)
	}
}

func band(f frame, l Line) []point {
	var edge []point
	for i := range l.X {
		edge = append(edge, f.at(l.X[i], l.Y[i]+l.Band[i]))
	}
	for i := len(l.X) - 1; i >= 0; i-- {
		edge = append(edge, f.at(l.X[i], l.Y[i]-l.Band[i]))
	}
	return edge
}

// frame spans every line and band, with a little air above and below, or down to 0 where that is not far.
func (p Panel) frame(offset float64) frame {
	f := frame{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1), offset}
	for _, l := range p.Lines {
		for i := range l.X {
			width := 0.0
			if l.Band != nil {
				width = l.Band[i]
			}
			f.x0, f.x1 = math.Min(f.x0, l.X[i]), math.Max(f.x1, l.X[i])
			f.y0, f.y1 = math.Min(f.y0, l.Y[i]-width), math.Max(f.y1, l.Y[i]+width)
		}
	}
	if !(f.x1 > f.x0) {
		f.x0, f.x1 = f.x0-1, f.x0+1
	}
	if !(f.y1 > f.y0) {
		f.y0, f.y1 = f.y0-1, f.y0+1
	}
	air := 0.03 * (f.y1 - f.y0)
	if f.y0 >= 0 && f.y0 < f.y1/2 {
		f.y0, f.y1 = 0, f.y1+air
	} else {
		f.y0, f.y1 = f.y0-air, f.y1+air
	}
	return f
}

// ticks are about five round numbers between low and high: multiples of 1, 2 or 5 times a power of ten.
func ticks(low, high float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (high-low)/(factor*step) <= 6 {
			step *= factor
			break
		}
	}
	var list []float64
	for i := math.Ceil(low / step); i*step <= high; i++ {
		list = append(list, i*step+0) // + 0 turns −0 into 0
	}
	return list
}

func label(v float64) string {
	if math.Abs(v) < 1e-12 {
		return "0"
	}
	return fmt.Sprintf("%.4g", v)
}
