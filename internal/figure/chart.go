package figure

import (
	"bytes"
	"errors"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"headroom/internal/view/chart"
	"headroom/internal/view/words"
)

// The colours are those of the pages, in light.
var (
	ink      = color.RGBA{0x19, 0x1c, 0x20, 0xff}
	faint    = color.RGBA{0xe0, 0xe3, 0xe6, 0xff}
	feasible = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	violated = color.RGBA{0xc4, 0x4f, 0x00, 0xff}
	unknown  = color.RGBA{0x6b, 0x73, 0x7c, 0xff}
	yellow   = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	second   = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
	limitRed = color.RGBA{0xb3, 0x12, 0x2a, 0xff}
	shade    = color.NRGBA{0xb3, 0x12, 0x2a, 0x12}
	bandBlue = color.NRGBA{0x00, 0x72, 0xb2, 0x29}
)

// marks are how points of a style look: the shape says as much as the colour.
var marks = map[chart.Style]draw.GlyphStyle{
	chart.Feasible:    {Shape: draw.CircleGlyph{}, Color: feasible, Radius: 2.8},
	chart.Violated:    {Shape: draw.PyramidGlyph{}, Color: violated, Radius: 3.5},
	chart.Unknown:     {Shape: draw.RingGlyph{}, Color: unknown, Radius: 2.8},
	chart.Excluded:    {Shape: draw.CrossGlyph{}, Color: unknown, Radius: 2.8},
	chart.Original:    {Shape: draw.PlusGlyph{}, Color: ink, Radius: 3.5},
	chart.Doubted:     {Shape: polygon{corners: 3, turn: math.Pi, inner: 1}, Color: limitRed, Radius: 3.5},
	chart.Waiting:     {Shape: polygon{corners: 4, inner: 1}, Color: ink, Radius: 3.7},
	chart.Recommended: {Shape: polygon{corners: 10, inner: 0.45, filled: true}, Color: yellow, Radius: 6},
	chart.Other:       {Shape: polygon{corners: 6, inner: 1}, Color: second, Radius: 4},
	"metric0":         {Shape: draw.CircleGlyph{}, Color: ink, Radius: 2.2},
	"metric1":         {Shape: polygon{corners: 4, turn: math.Pi / 4, inner: 1, filled: true}, Color: second, Radius: 3},
	"metric2":         {Shape: polygon{corners: 3, turn: math.Pi, inner: 1, filled: true}, Color: feasible, Radius: 3},
	"metric3":         {Shape: draw.PlusGlyph{}, Color: unknown, Radius: 2.8},
}

// lines are how lines of a style look; all but one hold their value until the next point.
var lines = map[chart.Style]draw.LineStyle{
	chart.Step:      {Color: ink, Width: 1.4},
	chart.Line:      {Color: feasible, Width: 1.4},
	chart.Estimate:  {Color: feasible, Width: 2.4},
	chart.Second:    {Color: second, Width: 1.4, Dashes: []vg.Length{5, 3}},
	chart.Bound:     {Color: unknown, Width: 1.4, Dashes: []vg.Length{1.5, 2.5}},
	chart.Threshold: {Color: limitRed, Width: 1.3, Dashes: []vg.Length{6, 3}},
}

// letters stand for events above the axes.
var letters = map[string]string{"correction": "c", "exclusion": "x", "inclusion": "i", "change of a limit": "l", "change of settings": "s", fitted: "f"}

// fitted is what the model does by itself, often: no line is drawn for it.
const fitted = "model refitted"

// width is that of every chart, in inches.
const width = 7.2

// SVG draws a frame as an element to put into a page, labelled for those who do not see it by the element of the id given.
func SVG(f chart.Frame, labelledBy string) (string, error) {
	canvas := vgsvg.New(width*vg.Inch, vg.Length(f.Height)*vg.Inch)
	axes, err := axesOf(f)
	if err != nil {
		return "", err
	}
	all := draw.Crop(draw.New(canvas), vg.Points(2), -vg.Points(14), vg.Points(2), -vg.Points(4))
	if f.Surface != nil {
		drawScale(draw.Crop(all, all.Max.X-all.Min.X-vg.Points(scaleWidth-14), vg.Points(14), 0, 0), f.Surface.Ends)
		all = draw.Crop(all, 0, -vg.Points(scaleWidth), 0, 0)
	}
	axes.Draw(all)
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return "", err
	}
	start := bytes.Index(out.Bytes(), []byte("<svg"))
	if start < 0 {
		return "", errors.New("the drawing has no svg element")
	}
	return `<svg role="img" aria-labelledby="` + labelledBy + `"` + joined(string(out.Bytes()[start+len("<svg"):])), nil
}

// path is one as it is drawn, with its form and its style.
var path = regexp.MustCompile(`<path d="([^"]*)" style="([^"]+)" />\n`)

// joined makes one path of those that follow each other in the same style: a chart of many marks is a third smaller so, and looks the same, since all
// marks of a style turn the same way.
func joined(svg string) string {
	var out strings.Builder
	style, end := "", 0 // of the path that is still open, and of what has been read
	for _, at := range path.FindAllStringSubmatchIndex(svg, -1) {
		next := svg[at[4]:at[5]]
		if at[0] != end || next != style {
			closePath(&out, style)
			out.WriteString(svg[end:at[0]] + `<path d="`)
		}
		out.WriteString(svg[at[2]:at[3]])
		style, end = next, at[1]
	}
	closePath(&out, style)
	out.WriteString(svg[end:])
	return out.String()
}

// closePath ends a path in a style; "" where none is open.
func closePath(out *strings.Builder, style string) {
	if style != "" {
		out.WriteString(`" style="` + style + `" />` + "\n")
	}
}

// plain is the font of all words in a chart.
func plain(size float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
}

// place is where a value stands on an axis: a number, or one of the axis's choices.
func place(a chart.Axis, value any) float64 {
	switch x := value.(type) {
	case float64:
		return x
	case int:
		return float64(x)
	case string:
		return float64(slices.Index(a.Categories, x))
	}
	return math.NaN() // which gonum refuses to draw
}

func places(a chart.Axis, values []any) []float64 {
	list := make([]float64, len(values))
	for i, value := range values {
		list[i] = place(a, value)
	}
	return list
}

// drawing is a frame that is drawn, with the ranges of its axes.
type drawing struct {
	chart.Frame
	axes                   *plot.Plot
	left, right, low, high float64
}

// axesOf are a frame's axes with everything on them, from the back to the front.
func axesOf(f chart.Frame) (*plot.Plot, error) {
	d := drawing{Frame: f, axes: plot.New()}
	var xs, ys []float64
	for _, t := range f.Traces {
		xs, ys = append(xs, places(f.X, t.X)...), slices.Concat(ys, places(f.Y, t.Y), places(f.Y, t.Low), places(f.Y, t.High))
	}
	for _, limit := range f.Limits {
		ys = append(ys, limit.Y...)
	}
	if s := f.Surface; s != nil {
		xs, ys = places(f.X, s.X), places(f.Y, s.Y)
		d.low, d.high = rangeOf(f.Y, ys, 0)
	} else {
		d.low, d.high = rangeOf(f.Y, ys, 0.06)
	}
	d.left, d.right = rangeOf(f.X, xs, 0)
	for _, a := range []*plot.Axis{&d.axes.X, &d.axes.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = plain(9), plain(8)
		a.LineStyle.Color, a.Label.TextStyle.Color, a.Tick.Label.Color = unknown, ink, ink
	}
	d.axes.X.Label.Text, d.axes.Y.Label.Text = words.Shorten(f.X.Title, 2*longestLabel), shortened(f.Y.Title)
	d.scale()
	grid := plotter.NewGrid()
	grid.Vertical.Width, grid.Horizontal.Color = 0, faint
	d.axes.Add(grid)
	steps := []func() error{d.surface}
	for _, limit := range f.Limits {
		steps = append(steps, func() error { return d.shade(limit) })
	}
	for _, t := range f.Traces {
		steps = append(steps, func() error { return d.trace(t) })
	}
	for _, limit := range f.Limits {
		steps = append(steps, func() error { return d.limit(limit) })
	}
	for _, step := range append(steps, d.events) {
		if err := step(); err != nil {
			return nil, err
		}
	}
	d.scale() // what was added has stretched it
	return d.axes, nil
}

// rangeOf is that of an axis: as it says, of its choices, or of what is drawn with some room.
func rangeOf(a chart.Axis, values []float64, room float64) (low, high float64) {
	switch {
	case len(a.Range) == 2:
		return a.Range[0], a.Range[1]
	case len(a.Categories) > 0:
		return -0.5, float64(len(a.Categories)) - 0.5
	case len(values) == 0:
		return 0, 1
	}
	low, high = slices.Min(values), slices.Max(values)
	if low == high {
		more := math.Max(math.Abs(low)*0.1, 0.5)
		return low - more, high + more
	}
	return low - room*(high-low), high + room*(high-low)
}

// scale gives the axes their ranges and ticks.
func (d drawing) scale() {
	d.axes.X.Min, d.axes.X.Max, d.axes.Y.Min, d.axes.Y.Max = d.left, d.right, d.low, d.high
	mark(d.X, &d.axes.X)
	mark(d.Y, &d.axes.Y)
}

// mark gives an axis its kind of ticks.
func mark(a chart.Axis, on *plot.Axis) {
	on.Tick.Marker = numbers{}
	if a.Log && on.Min > 0 {
		on.Scale, on.Tick.Marker = plot.LogScale{}, powers{}
	}
	if a.Whole {
		on.Tick.Marker = whole{}
	}
	if len(a.Categories) > 0 {
		var ticks plot.ConstantTicks
		for i, name := range a.Categories {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: shortened(name)})
		}
		on.Tick.Marker = ticks
	}
}

// longestLabel is how many characters stand at a place of a chart or its axes; longer ones would take all room from what is drawn.
const longestLabel = 30

func shortened(name string) string { return words.Shorten(name, longestLabel) }

// inside moves a value to the edge of the range where it lies beyond it.
func (d drawing) inside(y float64) float64 { return math.Max(d.low, math.Min(y, d.high)) }

func (d drawing) pairs(x, y []float64) plotter.XYs {
	points := make(plotter.XYs, len(x))
	for i := range x {
		points[i] = plotter.XY{X: x[i], Y: d.inside(y[i])}
	}
	return points
}

// area fills what corners enclose. They are kept within the range of x: unlike lines and marks, areas are not cut at the edge, and what lies far beyond
// it is at no place that can be written down.
func (d drawing) area(corners plotter.XYs, in color.Color) error {
	for i := range corners {
		corners[i].X = math.Max(d.left, math.Min(corners[i].X, d.right))
	}
	polygon, err := plotter.NewPolygon(corners)
	if err != nil {
		return err
	}
	polygon.Color, polygon.LineStyle.Width = in, 0
	d.axes.Add(polygon)
	return nil
}

func (d drawing) line(points plotter.XYs, style draw.LineStyle, step bool) error {
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.LineStyle = style
	if step {
		line.StepStyle = plotter.PostStep
	}
	d.axes.Add(line)
	return nil
}

// halfBar is half the width of a bar at a choice, whose neighbours are 1 away.
const halfBar = 0.25

// trace draws one series.
func (d drawing) trace(t chart.Trace) error {
	x, y, low, high := places(d.X, t.X), places(d.Y, t.Y), places(d.Y, t.Low), places(d.Y, t.High)
	style, isLine := lines[t.Style]
	switch {
	case len(x) == 0:
		return nil
	case t.Style == chart.BandStyle:
		back := d.pairs(x, low)
		slices.Reverse(back)
		return d.area(append(d.pairs(x, high), back...), bandBlue)
	case t.Style == chart.Spans:
		for i := range x {
			if err := d.line(plotter.XYs{{X: x[i], Y: d.inside(low[i])}, {X: x[i], Y: d.inside(high[i])}}, draw.LineStyle{Color: unknown, Width: 1}, false); err != nil {
				return err
			}
		}
		return nil
	case t.Style == chart.Bars:
		for i := range x {
			sides := []float64{x[i] - halfBar, x[i] + halfBar}
			err := errors.Join(d.area(append(d.pairs(sides, []float64{low[i], low[i]}), plotter.XY{X: sides[1], Y: d.inside(high[i])}, plotter.XY{X: sides[0], Y: d.inside(high[i])}), bandBlue),
				d.line(d.pairs(sides, []float64{y[i], y[i]}), lines[chart.Line], false))
			if err != nil {
				return err
			}
		}
		return nil
	case isLine:
		return d.line(d.pairs(x, y), style, t.Style != chart.Line)
	}
	return d.marks(t, x, y)
}

// crowd is from how many marks of a style on they are smaller.
const crowd = 300

// marks draws points, those beyond the range not at all; on a surface each stands on white.
func (d drawing) marks(t chart.Trace, x, y []float64) error {
	look, known := marks[t.Style]
	if !known {
		return errors.New("no mark is drawn as " + string(t.Style))
	}
	if len(x) > crowd {
		look.Radius *= 0.57
	}
	var points plotter.XYs
	var styles []draw.GlyphStyle
	for i := range x {
		if y[i] < d.low || y[i] > d.high {
			continue
		}
		seen := look
		if len(t.Fade) > 0 {
			solid := look.Color.(color.RGBA)
			seen.Color = color.NRGBA{solid.R, solid.G, solid.B, uint8(math.Round(10*t.Fade[i]) * 25.5)} // in ten steps, each of which is one path
		}
		points, styles = append(points, plotter.XY{X: x[i], Y: y[i]}), append(styles, seen)
	}
	if d.Surface != nil && t.Style != chart.Recommended {
		if err := d.scatter(points, func(int) draw.GlyphStyle {
			return draw.GlyphStyle{Shape: draw.CircleGlyph{}, Color: color.White, Radius: 4.2}
		}); err != nil {
			return err
		}
	}
	return d.scatter(points, func(i int) draw.GlyphStyle { return styles[i] })
}

func (d drawing) scatter(points plotter.XYs, style func(int) draw.GlyphStyle) error {
	if len(points) == 0 {
		return nil
	}
	scatter, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	scatter.GlyphStyleFunc = style
	d.axes.Add(scatter)
	return nil
}

// corners are those of a limit, from the left edge where it begins nowhere, to the right one.
func (d drawing) corners(limit chart.LimitPath) plotter.XYs {
	var corners plotter.XYs
	for i, y := range limit.Y {
		x := d.left
		if len(limit.X) > 0 {
			x = limit.X[i]
		}
		if i > 0 {
			corners = append(corners, plotter.XY{X: x, Y: d.inside(limit.Y[i-1])})
		}
		corners = append(corners, plotter.XY{X: x, Y: d.inside(y)})
	}
	return append(corners, plotter.XY{X: d.right, Y: corners[len(corners)-1].Y})
}

// shade darkens the side that breaks a limit.
func (d drawing) shade(limit chart.LimitPath) error {
	far := d.low
	if limit.Above {
		far = d.high
	}
	corners := d.corners(limit)
	return d.area(append(corners, plotter.XY{X: d.right, Y: far}, plotter.XY{X: corners[0].X, Y: far}), shade)
}

// crowded is the part of a chart's height at its top that belongs to the letters of events.
const crowded = 0.12

func (d drawing) limit(limit chart.LimitPath) error {
	corners := d.corners(limit)
	end := corners[len(corners)-1]
	above := vg.Length(2)
	if d.high-end.Y < crowded*(d.high-d.low) {
		above = -10
	}
	return errors.Join(d.line(corners, lines[chart.Threshold], false), d.word(end.X, end.Y, limit.Label, limitRed, draw.XRight, above))
}

// word writes a word at a place, so far above it.
func (d drawing) word(x, y float64, word string, in color.Color, align text.XAlignment, above vg.Length) error {
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{shortened(word)}})
	if err != nil {
		return err
	}
	labels.TextStyle[0].Font, labels.TextStyle[0].Color, labels.TextStyle[0].XAlign = plain(8), in, align
	labels.Offset = vg.Point{Y: above}
	d.axes.Add(labels)
	return nil
}

// mostNotes is how many places of an axis have room for letters; events that fall into one share it.
const mostNotes = 60

// events marks places of the x axis with thin lines and letters.
func (d drawing) events() error {
	type note struct {
		x    float64
		text string
	}
	var notes []note
	at := map[int]int{}
	for _, event := range d.Events {
		place := int(mostNotes * (event.X - d.left) / (d.right - d.left))
		n, there := at[place]
		if !there {
			n = len(notes)
			at[place], notes = n, append(notes, note{x: event.X})
		}
		if !strings.Contains(notes[n].text, letters[event.Kind]) {
			notes[n].text += letters[event.Kind]
		}
	}
	for _, n := range notes {
		if n.text != letters[fitted] {
			dotted := draw.LineStyle{Color: unknown, Width: 0.6, Dashes: []vg.Length{2, 2}}
			if err := d.line(plotter.XYs{{X: n.x, Y: d.low}, {X: n.x, Y: d.high}}, dotted, false); err != nil {
				return err
			}
		}
		if err := d.word(n.x, d.high, n.text, unknown, draw.XCenter, 2); err != nil {
			return err
		}
	}
	return nil
}

// polygon is a mark with corners on one circle, every other one on a smaller circle where inner is less than 1.
type polygon struct {
	corners     int
	turn, inner float64
	filled      bool
}

// DrawGlyph implements draw.GlyphDrawer.
func (p polygon) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	for i := range p.corners {
		r := float64(style.Radius)
		if i%2 == 1 {
			r *= p.inner
		}
		angle := p.turn + math.Pi/2 + 2*math.Pi*float64(i)/float64(p.corners)
		corner := vg.Point{X: at.X + vg.Length(r*math.Cos(angle)), Y: at.Y + vg.Length(r*math.Sin(angle))}
		if i == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	edge := style.Color
	if p.filled {
		c.SetColor(style.Color)
		c.Fill(path)
		edge = ink
	}
	c.SetLineStyle(draw.LineStyle{Color: edge, Width: 0.7})
	c.Stroke(path)
}

// whole are ticks at whole numbers.
type whole struct{}

// Ticks implements plot.Ticker.
func (whole) Ticks(low, high float64) []plot.Tick {
	step := math.Max(1, math.Pow(10, math.Floor(math.Log10(math.Max(high-low, 1)))))
	for _, finer := range []float64{5, 2} {
		if step >= finer && (high-low)/step < 4 {
			step = math.Max(1, math.Round(step/finer))
			break
		}
	}
	var ticks []plot.Tick
	for x := math.Ceil(low/step) * step; x <= high; x += step {
		ticks = append(ticks, plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'f', -1, 64)})
	}
	return ticks
}
