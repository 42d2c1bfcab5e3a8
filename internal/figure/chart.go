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
)

// Chart is one pair of axes for a document: bands, lines, marks and a threshold. All numbers are finite.
type Chart struct {
	X, Y          Axis
	Surface       *Surface
	Bands         []Band
	Curves        []Curve
	Marks         []Marks
	Threshold     *Threshold
	Notes         []Note
	Width, Height float64 // in inches; 7.2 × 2.5 where 0
}

// Axis is named, with its range; where Low = High the range follows what is drawn. Values beyond a range are drawn at its edge.
type Axis struct {
	Name      string
	Low, High float64
	Log       bool
	Whole     bool     // ticks at whole numbers alone
	Names     []string // of the places 0, 1, … of an axis without order
}

// Band is drawn between Low and High.
type Band struct{ X, Low, High []float64 }

// CurveStyle is how a curve looks.
type CurveStyle int

// The styles of curves.
const (
	Solid CurveStyle = iota
	Dashed
	Dotted
)

// Curve joins its points, or holds each value until the next point where Step.
type Curve struct {
	Name  string
	X, Y  []float64
	Style CurveStyle
	Step  bool
}

// Shape is how marks look; the shape says as much as the colour.
type Shape int

// The shapes of marks.
const (
	Dot      Shape = iota // within the limits
	Triangle              // a limit broken
	Ring                  // not known
	Diamond               // waits
	Star                  // recommended
	Cross                 // taken out
	Plus                  // as first told, corrected since

	Shapes // how many there are
)

// Marks are points of one shape.
type Marks struct {
	Name  string
	Shape Shape
	X, Y  []float64
}

// Threshold is a limit as it stood: Y[i] holds from X[i] until X[i+1]. The side that breaks it, above or below, is shaded.
type Threshold struct {
	X, Y  []float64
	Label string
	Above bool
}

// Note marks a place of the x axis with a word, and with a line through the chart unless it is Slight.
type Note struct {
	X      float64
	Text   string
	Slight bool
}

var (
	ink      = color.RGBA{0x19, 0x1c, 0x20, 0xff}
	faint    = color.RGBA{0xe0, 0xe3, 0xe6, 0xff}
	feasible = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	violated = color.RGBA{0xc4, 0x4f, 0x00, 0xff}
	unknown  = color.RGBA{0x6b, 0x73, 0x7c, 0xff}
	yellow   = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	limitRed = color.RGBA{0xb3, 0x12, 0x2a, 0xff}
	shade    = color.NRGBA{0xb3, 0x12, 0x2a, 0x12}
	bandBlue = color.NRGBA{0x00, 0x72, 0xb2, 0x29}
)

// SVG draws the chart as an element to put into a page, labelled for those who do not see it by the element of the id given.
func (c Chart) SVG(labelledBy string) (string, error) {
	width, height := c.Width, c.Height
	if width == 0 {
		width, height = 7.2, 2.5
	}
	canvas := vgsvg.New(vg.Length(width)*vg.Inch, vg.Length(height)*vg.Inch)
	axes, err := c.axes()
	if err != nil {
		return "", err
	}
	all := draw.Crop(draw.New(canvas), vg.Points(2), -vg.Points(14), vg.Points(2), -vg.Points(4))
	if c.Surface != nil {
		c.Surface.drawScale(draw.Crop(all, all.Max.X-all.Min.X-vg.Points(scaleWidth-14), vg.Points(14), 0, 0))
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

// joined makes one path of those that follow each other in the same opaque style: a chart of many marks is a third smaller so, and looks the same,
// since all marks of a style turn the same way.
func joined(svg string) string {
	var out strings.Builder
	style, end := "", 0 // of the path that is still open, and of what has been read
	for _, at := range path.FindAllStringSubmatchIndex(svg, -1) {
		next := svg[at[4]:at[5]]
		if at[0] != end || next != style || strings.Contains(next, "opacity") {
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

// axes are the chart's axes with everything on them, from the back to the front.
func (c Chart) axes() (*plot.Plot, error) {
	axes := plot.New()
	low, high := c.Y.Low, c.Y.High
	if low == high {
		low, high = c.extent()
	}
	for _, a := range []*plot.Axis{&axes.X, &axes.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = plain(9), plain(8)
		a.LineStyle.Color, a.Label.TextStyle.Color, a.Tick.Label.Color = unknown, ink, ink
	}
	axes.X.Label.Text, axes.Y.Label.Text = c.X.Name, c.Y.Name
	grid := plotter.NewGrid()
	grid.Vertical.Width, grid.Horizontal.Color = 0, faint
	axes.Add(grid)
	if c.Surface != nil {
		c.scale(axes, low, high)
		if err := addSurface(axes, *c.Surface); err != nil {
			return nil, err
		}
	}
	inside := func(y float64) float64 { return math.Max(low, math.Min(y, high)) }
	if t := c.Threshold; t != nil {
		if err := c.addShade(axes, *t, low, high); err != nil {
			return nil, err
		}
	}
	for _, b := range c.Bands {
		if err := c.addBand(axes, b, inside); err != nil {
			return nil, err
		}
	}
	for _, curve := range c.Curves {
		if err := addCurve(axes, curve, inside); err != nil {
			return nil, err
		}
	}
	if t := c.Threshold; t != nil {
		if err := addThreshold(axes, *t, inside, low, high); err != nil {
			return nil, err
		}
	}
	for _, m := range c.Marks {
		if c.Surface != nil {
			if err := addHalo(axes, m); err != nil {
				return nil, err
			}
		}
		if err := addMarks(axes, m, inside); err != nil {
			return nil, err
		}
	}
	if err := addNotes(axes, c.Notes, low, high); err != nil {
		return nil, err
	}
	c.scale(axes, low, high)
	axes.Legend.Top, axes.Legend.Left, axes.Legend.TextStyle.Font = true, true, plain(8)
	axes.Legend.TextStyle.Color = ink
	return axes, nil
}

// scale gives the axes their ranges and ticks.
func (c Chart) scale(axes *plot.Plot, low, high float64) {
	axes.Y.Min, axes.Y.Max = low, high
	if c.X.Low != c.X.High {
		axes.X.Min, axes.X.Max = c.X.Low, c.X.High
	}
	if axes.X.Min == axes.X.Max {
		axes.X.Min, axes.X.Max = axes.X.Min-0.5, axes.X.Max+0.5
	}
	c.X.mark(&axes.X)
	c.Y.mark(&axes.Y)
}

// mark gives an axis its kind of ticks.
func (a Axis) mark(on *plot.Axis) {
	on.Tick.Marker = numbers{}
	if a.Log && on.Min > 0 {
		on.Scale, on.Tick.Marker = plot.LogScale{}, powers{}
	}
	if a.Whole {
		on.Tick.Marker = whole{}
	}
	if len(a.Names) > 0 {
		on.Min, on.Max = -0.5, float64(len(a.Names))-0.5
		var ticks plot.ConstantTicks
		for i, name := range a.Names {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: shortened(name)})
		}
		on.Tick.Marker = ticks
	}
}

// longestLabel is how many characters stand at a place of a chart or its axes; longer ones would take all room from what is drawn.
const longestLabel = 30

func shortened(name string) string {
	if letters := []rune(name); len(letters) > longestLabel {
		return string(letters[:longestLabel-1]) + "…"
	}
	return name
}

// extent is the range of everything drawn, with some room.
func (c Chart) extent() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	grow := func(lists ...[]float64) {
		for _, list := range lists {
			for _, y := range list {
				low, high = math.Min(low, y), math.Max(high, y)
			}
		}
	}
	for _, b := range c.Bands {
		grow(b.Low, b.High)
	}
	for _, curve := range c.Curves {
		grow(curve.Y)
	}
	for _, m := range c.Marks {
		grow(m.Y)
	}
	if c.Threshold != nil {
		grow(c.Threshold.Y)
	}
	switch {
	case low > high:
		return 0, 1
	case low == high:
		room := math.Max(math.Abs(low)*0.1, 0.5)
		return low - room, high + room
	}
	room := (high - low) * 0.06
	return low - room, high + room
}

func pairs(x, y []float64, inside func(float64) float64) plotter.XYs {
	points := make(plotter.XYs, len(x))
	for i := range x {
		points[i] = plotter.XY{X: x[i], Y: inside(y[i])}
	}
	return points
}

// across keeps the corners of an area within the range of x: unlike lines and marks, areas are not cut at the edge, and what lies far beyond it is at
// no place that can be written down.
func (c Chart) across(corners plotter.XYs) plotter.XYs {
	if c.X.Low < c.X.High {
		for i := range corners {
			corners[i].X = math.Max(c.X.Low, math.Min(corners[i].X, c.X.High))
		}
	}
	return corners
}

func (c Chart) addBand(axes *plot.Plot, b Band, inside func(float64) float64) error {
	edge := pairs(b.X, b.High, inside)
	back := pairs(b.X, b.Low, inside)
	slices.Reverse(back)
	polygon, err := plotter.NewPolygon(c.across(append(edge, back...)))
	if err != nil {
		return err
	}
	polygon.Color, polygon.LineStyle.Width = bandBlue, 0
	axes.Add(polygon)
	return nil
}

func addCurve(axes *plot.Plot, curve Curve, inside func(float64) float64) error {
	line, err := plotter.NewLine(pairs(curve.X, curve.Y, inside))
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: [...]color.Color{ink, palette[3], palette[2]}[curve.Style], Width: vg.Points(1.4)}
	switch curve.Style {
	case Dashed:
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	case Dotted:
		line.Dashes = []vg.Length{vg.Points(1.5), vg.Points(2.5)}
	}
	if curve.Step {
		line.StepStyle = plotter.PostStep
	}
	axes.Add(line)
	return nil
}

// steps are the corners of a threshold.
func (t Threshold) steps() plotter.XYs {
	var corners plotter.XYs
	for i, x := range t.X {
		if i > 0 {
			corners = append(corners, plotter.XY{X: x, Y: t.Y[i-1]})
		}
		corners = append(corners, plotter.XY{X: x, Y: t.Y[i]})
	}
	return corners
}

func (c Chart) addShade(axes *plot.Plot, t Threshold, low, high float64) error {
	far := low
	if t.Above {
		far = high
	}
	corners := t.steps()
	for i := range corners {
		corners[i].Y = math.Max(low, math.Min(corners[i].Y, high))
	}
	outline := append(corners, plotter.XY{X: corners[len(corners)-1].X, Y: far}, plotter.XY{X: corners[0].X, Y: far})
	polygon, err := plotter.NewPolygon(c.across(outline))
	if err != nil {
		return err
	}
	polygon.Color, polygon.LineStyle.Width = shade, 0
	axes.Add(polygon)
	return nil
}

// crowded is the part of a chart's height at its top that belongs to the words of notes.
const crowded = 0.12

func addThreshold(axes *plot.Plot, t Threshold, inside func(float64) float64, low, high float64) error {
	corners := t.steps()
	for i := range corners {
		corners[i].Y = inside(corners[i].Y)
	}
	line, err := plotter.NewLine(corners)
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: limitRed, Width: vg.Points(1.3), Dashes: []vg.Length{vg.Points(6), vg.Points(3)}}
	axes.Add(line)
	end := corners[len(corners)-1]
	above := vg.Points(2)
	if high-end.Y < crowded*(high-low) {
		above = -vg.Points(10)
	}
	return addWord(axes, end.X, end.Y, t.Label, limitRed, draw.XRight, above)
}

// addWord writes a word at a place, so far above it.
func addWord(axes *plot.Plot, x, y float64, word string, in color.Color, align text.XAlignment, above vg.Length) error {
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{shortened(word)}})
	if err != nil {
		return err
	}
	labels.TextStyle[0].Font, labels.TextStyle[0].Color, labels.TextStyle[0].XAlign = plain(8), in, align
	labels.Offset = vg.Point{Y: above}
	axes.Add(labels)
	return nil
}

// addNotes marks places of the x axis with thin lines and their words.
func addNotes(axes *plot.Plot, notes []Note, low, high float64) error {
	for _, n := range notes {
		if !n.Slight {
			line, err := plotter.NewLine(plotter.XYs{{X: n.X, Y: low}, {X: n.X, Y: high}})
			if err != nil {
				return err
			}
			line.LineStyle = draw.LineStyle{Color: unknown, Width: vg.Points(0.6), Dashes: []vg.Length{vg.Points(2), vg.Points(2)}}
			axes.Add(line)
		}
		if n.Text == "" {
			continue
		}
		if err := addWord(axes, n.X, high, n.Text, unknown, draw.XCenter, vg.Points(2)); err != nil {
			return err
		}
	}
	return nil
}

func addMarks(axes *plot.Plot, m Marks, inside func(float64) float64) error {
	if len(m.X) == 0 {
		return nil
	}
	scatter, err := plotter.NewScatter(pairs(m.X, m.Y, inside))
	if err != nil {
		return err
	}
	size := vg.Points(2.8)
	if len(m.X) > 300 {
		size = vg.Points(1.6)
	}
	scatter.GlyphStyle = draw.GlyphStyle{Radius: size}
	switch m.Shape {
	case Dot:
		scatter.Shape, scatter.Color = draw.CircleGlyph{}, feasible
	case Triangle:
		scatter.Shape, scatter.Color, scatter.Radius = draw.PyramidGlyph{}, violated, size*1.25
	case Ring:
		scatter.Shape, scatter.Color = draw.RingGlyph{}, unknown
	case Diamond:
		scatter.Shape, scatter.Color = diamond{}, ink
	case Cross:
		scatter.Shape, scatter.Color = draw.CrossGlyph{}, unknown
	case Plus:
		scatter.Shape, scatter.Color, scatter.Radius = draw.PlusGlyph{}, ink, size*1.25
	case Star:
		scatter.Shape, scatter.Color, scatter.Radius = star{}, yellow, vg.Points(6)
	}
	axes.Add(scatter)
	return nil
}

// addHalo puts white under marks, so that they stand out from colours.
func addHalo(axes *plot.Plot, m Marks) error {
	if len(m.X) == 0 || m.Shape == Star {
		return nil
	}
	under, err := plotter.NewScatter(pairs(m.X, m.Y, func(y float64) float64 { return y }))
	if err != nil {
		return err
	}
	under.GlyphStyle = draw.GlyphStyle{Shape: draw.CircleGlyph{}, Color: color.White, Radius: vg.Points(4.2)}
	axes.Add(under)
	return nil
}

// diamond and star are shapes that gonum does not have.
type diamond struct{}

func (diamond) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius * 1.3
	outline(c, style.Color, []vg.Point{{X: at.X, Y: at.Y + r}, {X: at.X + r, Y: at.Y}, {X: at.X, Y: at.Y - r}, {X: at.X - r, Y: at.Y}}, false)
}

type star struct{}

func (star) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	var points []vg.Point
	for i := range 10 {
		r := float64(style.Radius)
		if i%2 == 1 {
			r *= 0.45
		}
		turn := math.Pi/2 + float64(i)*math.Pi/5
		points = append(points, vg.Point{X: at.X + vg.Length(r*math.Cos(turn)), Y: at.Y + vg.Length(r*math.Sin(turn))})
	}
	outline(c, style.Color, points, true)
}

// outline draws a closed path, filled with an edge of ink or empty.
func outline(c *draw.Canvas, in color.Color, points []vg.Point, filled bool) {
	var path vg.Path
	path.Move(points[0])
	for _, p := range points[1:] {
		path.Line(p)
	}
	path.Close()
	if filled {
		c.SetColor(in)
		c.Fill(path)
		in = ink
	}
	c.SetLineStyle(draw.LineStyle{Color: in, Width: vg.Points(0.7)})
	c.Stroke(path)
}

// Thin leaves of the points of a long series, for each of at most places stretches of it, the lowest and the highest, in their order: what stands out
// stays. It tells how many points a stretch has, 1 where all are kept.
func Thin(y []float64, places int) (keep []int, stretch int) {
	if len(y) <= 2*places {
		keep = make([]int, len(y))
		for i := range keep {
			keep[i] = i
		}
		return keep, 1
	}
	stretch = (len(y) + places - 1) / places
	for from := 0; from < len(y); from += stretch {
		low, high := from, from
		for i := from; i < min(from+stretch, len(y)); i++ {
			if y[i] < y[low] {
				low = i
			}
			if y[i] > y[high] {
				high = i
			}
		}
		keep = append(keep, min(low, high))
		if low != high {
			keep = append(keep, max(low, high))
		}
	}
	return keep, stretch
}

// Robust is the range in which to draw values so that single far ones do not flatten the rest: from the lowest to the highest where that is no more
// than three times the range of the middle nine tenths, else that range with its half on either side. What must is in it always; outside counts the values beyond.
func Robust(values []float64, must ...float64) (low, high float64, outside int) {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0, 0, 0
	}
	n := len(sorted)
	low, high = sorted[0], sorted[n-1]
	if from, to := sorted[n/20], sorted[n-1-n/20]; n >= 20 && high-low > 3*(to-from) && to > from {
		low, high = math.Max(low, from-(to-from)/2), math.Min(high, to+(to-from)/2)
	}
	for _, y := range must {
		low, high = math.Min(low, y), math.Max(high, y)
	}
	for _, y := range sorted {
		if y < low || y > high {
			outside++
		}
	}
	room := (high - low) * 0.06
	if room == 0 {
		room = math.Max(math.Abs(low)*0.1, 0.5)
	}
	return low - room, high + room, outside
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
