package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
)

func example() Figure {
	x := []float64{1, 50, 100}
	return Figure{Title: "a & b < c", Panels: []Panel{
		{X: "round t", Y: "regret / t", Lines: []Line{
			{Name: "falling", X: x, Y: []float64{2, 0.5, -0.2}, Band: []float64{0.3, 0.2, 0.1}},
			{Name: "flat", X: x, Y: []float64{1, 1, 1}}}},
		{X: "round t", Y: "violation", Lines: []Line{{Name: "flat", X: x, Y: []float64{0, 0, 0}}}},
	}}
}

// TestSVG reads the drawing back: well formed, finite, with every name and axis.
func TestSVG(t *testing.T) {
	t.Parallel()
	drawing, err := example().SVG()
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	d := xml.NewDecoder(bytes.NewReader(drawing))
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
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s has %s = %q", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			if word := strings.TrimSpace(string(e)); word != "" {
				words = append(words, word)
			}
		}
	}
	all := "|" + strings.Join(words, "|") + "|"
	for _, word := range []string{"a & b < c", "round t", "regret / t", "violation", "falling"} {
		if !strings.Contains(all, "|"+word+"|") {
			t.Errorf("%q is not in the drawing: %s", word, all)
		}
	}
	if strings.Count(all, "|flat|") != 1 {
		t.Error("a name shared by two panels must stand in the legend once")
	}
}

// TestPNG looks for the colours of both lines and of the band.
func TestPNG(t *testing.T) {
	t.Parallel()
	content, err := example().PNG()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[3]uint32]int{} // colours to within 4
	for x := range img.Bounds().Dx() {
		for y := range img.Bounds().Dy() {
			r, g, b, _ := img.At(x, y).RGBA()
			seen[[3]uint32{r >> 10, g >> 10, b >> 10}]++
		}
	}
	band := [3]uint32{0xcf, 0xe5, 0xf1} // the first colour at 3/16 on white
	for what, c := range map[string][3]uint32{"the falling line": {0x00, 0x72, 0xb2}, "the flat line": {0xd5, 0x5e, 0x00}, "the ground": {0xff, 0xff, 0xff}, "the band": band} {
		if n := seen[[3]uint32{c[0] >> 2, c[1] >> 2, c[2] >> 2}]; n < 100 {
			t.Errorf("%s has %d pixels", what, n)
		}
	}
}

func TestWhatCannotBeDrawnIsAnError(t *testing.T) {
	t.Parallel()
	f := example()
	f.Panels[0].Lines[0].Y[1] = math.NaN()
	if _, err := f.SVG(); err == nil || !strings.Contains(err.Error(), "regret / t") {
		t.Errorf("a line through NaN gives %v", err)
	}
}
