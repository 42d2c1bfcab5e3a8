// Package figure draws lines with bands of standard error, in panels side by side, as SVG and as PNG.
package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is some panels side by side with one legend.
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

// Sizes on paper.
const (
	panelWidth, panelHeight = 4.4 * vg.Inch, 3 * vg.Inch
	titleRoom, legendRow    = 0.3 * vg.Inch, 0.2 * vg.Inch
	legendColumn            = 2.2 * vg.Inch
)

// palette is Okabe and Ito's, told apart by colour-blind readers; more lines repeat it dashed.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff},
	{0xcc, 0x79, 0xa7, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff},
}

// style is how line number i of the legend looks.
func style(i int) draw.LineStyle {
	s := draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(1.5)}
	if i/len(palette)%2 == 1 {
		s.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	return s
}

// names are the lines' names over all panels, each once.
func (f Figure) names() (names []string, index map[string]int) {
	index = map[string]int{}
	for _, p := range f.Panels {
		for _, l := range p.Lines {
			if _, known := index[l.Name]; !known {
				index[l.Name] = len(names)
				names = append(names, l.Name)
			}
		}
	}
	return names, index
}

// size is the figure's width, height and the height of its legend.
func (f Figure) size() (width, height, legend vg.Length) {
	names, _ := f.names()
	width = panelWidth * vg.Length(len(f.Panels))
	columns := max(1, int(width/legendColumn))
	legend = legendRow * vg.Length((len(names)+columns-1)/columns)
	return width, titleRoom + panelHeight + legend, legend
}

// SVG draws the figure as vectors.
func (f Figure) SVG() ([]byte, error) {
	width, height, _ := f.size()
	return f.drawn(vgsvg.New(width, height))
}

// PNG draws the figure as a picture.
func (f Figure) PNG() ([]byte, error) {
	width, height, _ := f.size()
	return f.drawn(vgimg.PngCanvas{Canvas: vgimg.New(width, height)})
}

func (f Figure) drawn(canvas interface {
	vg.CanvasSizer
	io.WriterTo
}) ([]byte, error) {
	if err := f.draw(draw.New(canvas)); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err := canvas.WriteTo(&out)
	return out.Bytes(), err
}

func (f Figure) draw(all draw.Canvas) error {
	names, index := f.names()
	_, _, legend := f.size()
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	words := plot.New().Title.TextStyle
	words.XAlign, words.YAlign = draw.XLeft, draw.YBottom
	all.FillText(words, vg.Point{X: all.Min.X + vg.Points(8), Y: all.Max.Y - titleRoom + vg.Points(8)}, f.Title)
	tiles := draw.Tiles{Rows: 1, Cols: len(f.Panels)}
	panels := draw.Crop(all, 0, 0, legend, -titleRoom)
	for i, p := range f.Panels {
		axes, err := p.axes(index)
		if err != nil {
			return fmt.Errorf("panel %s: %w", p.Y, err)
		}
		axes.Draw(draw.Crop(tiles.At(panels, i, 0), vg.Points(4), -vg.Points(10), 0, 0))
	}
	drawLegend(draw.Crop(all, 0, 0, 0, legend-(all.Max.Y-all.Min.Y)), names)
	return nil
}

// axes are the panel's, with its bands behind its lines.
func (p Panel) axes(index map[string]int) (*plot.Plot, error) {
	axes := plot.New()
	axes.X.Label.Text, axes.Y.Label.Text = p.X, p.Y
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	axes.Add(grid)
	for _, l := range p.Lines {
		if l.Band == nil {
			continue
		}
		band, err := plotter.NewPolygon(l.edge())
		if err != nil {
			return nil, err
		}
		shade := style(index[l.Name]).Color.(color.RGBA)
		band.Color, band.LineStyle.Width = color.NRGBA{shade.R, shade.G, shade.B, 0x30}, 0
		axes.Add(band)
	}
	for _, l := range p.Lines {
		line, err := plotter.NewLine(l.points())
		if err != nil {
			return nil, err
		}
		line.LineStyle = style(index[l.Name])
		axes.Add(line)
	}
	if low := axes.Y.Min; low > 0 && low < axes.Y.Max/2 { // down to 0 where that is not far
		axes.Y.Min = 0
	}
	return axes, nil
}

func (l Line) points() plotter.XYs {
	points := make(plotter.XYs, len(l.X))
	for i := range l.X {
		points[i] = plotter.XY{X: l.X[i], Y: l.Y[i]}
	}
	return points
}

// edge goes forth along the top of the band and back along its bottom.
func (l Line) edge() plotter.XYs {
	var edge plotter.XYs
	for i := range l.X {
		edge = append(edge, plotter.XY{X: l.X[i], Y: l.Y[i] + l.Band[i]})
	}
	for i := len(l.X) - 1; i >= 0; i-- {
		edge = append(edge, plotter.XY{X: l.X[i], Y: l.Y[i] - l.Band[i]})
	}
	return edge
}

func drawLegend(c draw.Canvas, names []string) {
	columns := max(1, int((c.Max.X-c.Min.X)/legendColumn))
	step := (c.Max.X - c.Min.X) / vg.Length(columns)
	words := plot.New().Legend.TextStyle
	for i, name := range names {
		at := vg.Point{X: c.Min.X + vg.Points(10) + step*vg.Length(i%columns), Y: c.Max.Y - legendRow*(vg.Length(i/columns)+0.7)}
		key := vg.Points(18)
		c.StrokeLine2(style(i), at.X, at.Y+vg.Points(4), at.X+key, at.Y+vg.Points(4))
		c.FillText(words, vg.Point{X: at.X + key + vg.Points(5), Y: at.Y}, name)
	}
}
