package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"strings"
	"testing"
)

func figure() Figure {
	x := []float64{1, 50, 100}
	return Figure{Title: "a & b < c", Panels: []Panel{
		{X: "round t", Y: "regret / t", Lines: []Line{
			{Name: "falling", X: x, Y: []float64{2, 0.5, -0.2}, Band: []float64{0.3, 0.2, 0.1}},
			{Name: "flat", X: x, Y: []float64{1, 1, 1}}}},
		{X: "round t", Y: "violation", Lines: []Line{{Name: "flat", X: x, Y: []float64{0, 0, 0}}}},
	}}
}

// TestSVG reads the drawing back: well formed, with every name, axis and band.
func TestSVG(t *testing.T) {
	t.Parallel()
	elements := map[string]int{}
	var words []string
	d := xml.NewDecoder(bytes.NewReader(figure().SVG()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			elements[e.Name.Local]++
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s has %s = %q", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			words = append(words, string(e))
		}
	}
	all := strings.Join(words, "|")
	for _, word := range []string{"a & b < c", "round t", "regret / t", "violation", "falling", "flat", "prefers-color-scheme:dark"} {
		if !strings.Contains(all, word) {
			t.Errorf("%q is not in the drawing", word)
		}
	}
	if strings.Count(all, "|flat|") != 1 {
		t.Error("a name shared by two panels must stand in the legend once")
	}
	if elements["polygon"] != 1 {
		t.Errorf("%d bands are drawn, not 1", elements["polygon"])
	}
}

// TestPNG looks for the colours of both lines, and of the band where the band must be.
func TestPNG(t *testing.T) {
	t.Parallel()
	f := figure()
	content, err := f.PNG()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if width, height := f.size(); img.Bounds().Dx() != width || img.Bounds().Dy() != height {
		t.Errorf("the picture is %v", img.Bounds())
	}
	frame := f.Panels[0].frame(0)
	for _, c := range []struct {
		what    string
		at      point
		r, g, b uint32
	}{
		{"the flat line", frame.at(25, 1), 0xd5, 0x5e, 0x00},
		{"the falling line", frame.at(75, 0.15), 0x00, 0x72, 0xb2},
		{"the ground", frame.at(80, 2), 0xff, 0xff, 0xff},
	} {
		r, g, b, _ := img.At(int(c.at.x), int(c.at.y)).RGBA()
		if r>>8 != c.r || g>>8 != c.g || b>>8 != c.b {
			t.Errorf("%s is %x %x %x", c.what, r>>8, g>>8, b>>8)
		}
	}
	inBand := frame.at(75, 0.15+0.1)
	if r, _, b, _ := img.At(int(inBand.x), int(inBand.y)).RGBA(); r>>8 > 0xe0 || b>>8 < 0xd0 {
		t.Errorf("the band is %x red, %x blue", r>>8, b>>8)
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ low, high, first, last float64 }{{0, 500, 0, 500}, {-1.2, 2.6, -1, 2}, {0.001, 0.0042, 0.001, 0.004}, {-3e4, 7e4, -2e4, 6e4}} {
		list := ticks(c.low, c.high)
		if len(list) < 3 || len(list) > 7 || label(list[0]) != label(c.first) || label(list[len(list)-1]) != label(c.last) {
			t.Errorf("from %v to %v: %v", c.low, c.high, list)
		}
	}
}
