package plot

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strconv"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// PNG draws the figure on white.
func (f Figure) PNG() ([]byte, error) {
	width, height := f.size()
	p := pixels{image.NewRGBA(image.Rect(0, 0, width, height))}
	draw.Draw(p.image, p.image.Bounds(), image.White, image.Point{}, draw.Src)
	f.draw(p)
	var out bytes.Buffer
	err := png.Encode(&out, p.image)
	return out.Bytes(), err
}

type pixels struct{ image *image.RGBA }

// shade reads a colour of the palette, with an opacity.
func shade(name string, opacity float64) color.Color {
	if name == ink {
		return color.NRGBA{0x57, 0x60, 0x6a, 0xff}
	}
	rgb, _ := strconv.ParseUint(name[1:], 16, 32)
	return color.NRGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), uint8(255 * opacity)}
}

// fill paints polygons at once, so that where they overlap nothing is painted twice.
func (p pixels) fill(polygons [][]point, c color.Color) {
	r := vector.NewRasterizer(p.image.Bounds().Dx(), p.image.Bounds().Dy())
	for _, polygon := range polygons {
		for i, at := range polygon {
			if i == 0 {
				r.MoveTo(float32(at.x), float32(at.y))
			} else {
				r.LineTo(float32(at.x), float32(at.y))
			}
		}
		r.ClosePath()
	}
	r.Draw(p.image, p.image.Bounds(), image.NewUniform(c), image.Point{})
}

// Dashes and the gaps between them, in pixels.
const dash, gap = 6.0, 4.0

func (p pixels) line(points []point, colour string, width float64, dashed bool) {
	width = math.Max(width, 1)
	var strokes [][]point
	run := 0.0
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		if length == 0 {
			continue
		}
		if !dashed {
			strokes = append(strokes, stroke(a, b, width))
			continue
		}
		for from := 0.0; from < length; {
			phase := math.Mod(run+from, dash+gap)
			to := math.Min(length, from+dash-phase)
			if phase < dash {
				strokes = append(strokes, stroke(between(a, b, from/length), between(a, b, to/length), width))
				from = to
			} else {
				from += dash + gap - phase
			}
		}
		run += length
	}
	p.fill(strokes, shade(colour, 1))
}

func between(a, b point, share float64) point {
	return point{a.x + share*(b.x-a.x), a.y + share*(b.y-a.y)}
}

// stroke is a straight line as a rectangle, a little longer than the line so that joints close. All strokes turn the same
// way, so that overlaps add up to covered.
func stroke(a, b point, width float64) []point {
	length := math.Max(math.Hypot(b.x-a.x, b.y-a.y), 1e-9)
	x, y := (b.x-a.x)/length*width/2, (b.y-a.y)/length*width/2
	a, b = point{a.x - x/2, a.y - y/2}, point{b.x + x/2, b.y + y/2}
	return []point{{a.x - y, a.y + x}, {b.x - y, b.y + x}, {b.x + y, b.y - x}, {a.x + y, a.y - x}}
}

func (p pixels) area(points []point, colour string) { p.fill([][]point{points}, shade(colour, 0.2)) }

func (p pixels) text(at point, words string, anchor int) {
	x := at.x - float64(len(words)*letterWidth)*float64(anchor+1)/2
	d := font.Drawer{Dst: p.image, Src: image.NewUniform(color.NRGBA{0x24, 0x29, 0x2f, 0xff}), Face: basicfont.Face7x13,
		Dot: fixed.P(int(math.Round(x)), int(math.Round(at.y)))}
	d.DrawString(words)
}
