package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"headroom/internal/view/chart"
)

// surface colours a chart over two axes by a value, with contours of a chance on top. x and y are the middles of the cells, rising; values are by row of
// y, then column of x, all finite.
type surface struct {
	*chart.Surface
	x, y []float64
}

// cividis are twelve steps of the map of that name (Nuñez, Anderton, Renslow 2018), alike to the colour-blind, dark for low.
var cividis = []color.RGBA{
	{0x00, 0x20, 0x4d, 0xff}, {0x00, 0x30, 0x6f, 0xff}, {0x2a, 0x40, 0x6c, 0xff}, {0x48, 0x52, 0x6b, 0xff}, {0x5e, 0x62, 0x6e, 0xff}, {0x72, 0x73, 0x74, 0xff},
	{0x87, 0x84, 0x79, 0xff}, {0x9e, 0x96, 0x77, 0xff}, {0xb6, 0xa9, 0x71, 0xff}, {0xd0, 0xbe, 0x67, 0xff}, {0xea, 0xd3, 0x57, 0xff}, {0xff, 0xea, 0x46, 0xff},
}

// Chances are the levels of the contours, and how each is drawn: dotted, dashed, bold.
var chanceLines = []struct {
	level float64
	style draw.LineStyle
}{
	{0.1, draw.LineStyle{Color: ink, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(1.5), vg.Points(2)}}},
	{0.5, draw.LineStyle{Color: ink, Width: vg.Points(1.4), Dashes: []vg.Length{vg.Points(5), vg.Points(3)}}},
	{0.9, draw.LineStyle{Color: ink, Width: vg.Points(2.2)}},
}

// extent is the range of the values.
func (s surface) extent() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range s.Mean {
		for _, value := range row {
			low, high = math.Min(low, value), math.Max(high, value)
		}
	}
	return low, high
}

// step is which of the colours a value has.
func step(value, low, high float64) int {
	if high <= low {
		return len(cividis) / 2
	}
	return min(int(float64(len(cividis))*(value-low)/(high-low)), len(cividis)-1)
}

// Plot implements plot.Plotter: cells of one colour side by side are one rectangle.
func (s surface) Plot(c draw.Canvas, axes *plot.Plot) {
	toX, toY := axes.Transforms(&c)
	across, up := edges(s.x, axes.X.Min, axes.X.Max, axes.X.Scale), edges(s.y, axes.Y.Min, axes.Y.Max, axes.Y.Scale)
	low, high := s.extent()
	gap, over := vg.Length(0), vg.Points(0.5) // where nothing divides the cells, each reaches under the next, so that no paper shows between them
	if s.Cells != nil {
		gap, over = vg.Points(1), 0
	}
	for i, row := range s.Mean {
		for j := 0; j < len(row); {
			k := j + 1
			for s.Cells == nil && k < len(row) && step(row[k], low, high) == step(row[j], low, high) {
				k++
			}
			right, top := min(toX(across[k])+over, c.Max.X), min(toY(up[i+1])+over, c.Max.Y)
			fill(c, cividis[step(row[j], low, high)], toX(across[j])+gap, toY(up[i])+gap, right-gap, top-gap)
			j = k
		}
	}
}

// edges are the borders between cells, half-way on the axis's own scale, and its ends.
func edges(middles []float64, low, high float64, scale plot.Normalizer) []float64 {
	list := []float64{low}
	for i := 1; i < len(middles); i++ {
		between := (middles[i-1] + middles[i]) / 2
		if _, log := scale.(plot.LogScale); log {
			between = math.Sqrt(middles[i-1]) * math.Sqrt(middles[i]) // their product may be no float64
		}
		list = append(list, between)
	}
	return append(list, high)
}

func fill(c draw.Canvas, in color.Color, left, bottom, right, top vg.Length) {
	c.FillPolygon(in, []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}})
}

// grid is a plotter.GridXYZ of the chances.
type grid struct{ surface }

func (g grid) Dims() (columns, rows int) { return len(g.x), len(g.y) }
func (g grid) Z(column, row int) float64 { return g.Chance[row][column] }
func (g grid) X(column int) float64      { return g.x[column] }
func (g grid) Y(row int) float64         { return g.y[row] }

// surface draws the colours, and the contours or what is written in the cells on top.
func (d drawing) surface() error {
	if d.Surface == nil {
		return nil
	}
	s := surface{d.Surface, places(d.X, d.Surface.X), places(d.Y, d.Surface.Y)}
	d.axes.Add(s)
	if s.Chance != nil && s.Smooth {
		for _, line := range chanceLines {
			halo := draw.LineStyle{Color: color.White, Width: line.style.Width + vg.Points(1.6)}
			for _, style := range []draw.LineStyle{halo, line.style} {
				contour := plotter.NewContour(grid{s}, []float64{line.level}, nil)
				contour.LineStyles = []draw.LineStyle{style}
				d.axes.Add(contour)
			}
		}
	}
	low, high := s.extent()
	for i, row := range s.Cells {
		for j, text := range row {
			in := color.Color(color.White)
			if step(s.Mean[i][j], low, high) >= len(cividis)/2 {
				in = ink
			}
			if err := addCell(d.axes, s.x[j], s.y[i], shortened(text), in); err != nil {
				return err
			}
		}
	}
	return nil
}

// addCell writes into the middle of a cell.
func addCell(axes *plot.Plot, x, y float64, words string, in color.Color) error {
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{words}})
	if err != nil {
		return err
	}
	labels.TextStyle[0].Font, labels.TextStyle[0].Color = plain(8), in
	labels.TextStyle[0].XAlign, labels.TextStyle[0].YAlign = text.XCenter, text.YCenter
	axes.Add(labels)
	return nil
}

// scaleWidth is the room for the scale of colours beside the axes.
const scaleWidth = 62

// drawScale draws the scale of colours with its ends in words.
func drawScale(c draw.Canvas, ends [2]string) {
	words := text.Style{Color: ink, Font: plain(8), Handler: plot.DefaultTextHandler}
	left, bottom, top := c.Min.X+vg.Points(8), c.Min.Y+vg.Points(44), c.Max.Y-vg.Points(20)
	height := (top - bottom) / vg.Length(len(cividis))
	for i, in := range cividis {
		fill(c, in, left, bottom+height*vg.Length(i), left+vg.Points(12), bottom+height*vg.Length(i+1))
	}
	c.FillText(words, vg.Point{X: left, Y: bottom - vg.Points(10)}, shortened(ends[0]))
	c.FillText(words, vg.Point{X: left, Y: top + vg.Points(3)}, shortened(ends[1]))
}
