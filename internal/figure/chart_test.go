package figure

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A chart of everything there is draws each of it, is labelled, and stands alone as an element.
func TestChartDrawsEverything(t *testing.T) {
	t.Parallel()
	line := Curve{X: []float64{1, 2, 3}, Y: []float64{1, 3, 2}}
	bare := Chart{X: Axis{Name: "trial", Whole: true}, Y: Axis{Name: "yield (%)"}, Curves: []Curve{line}}
	before, err := bare.SVG("title")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(before, `<svg role="img" aria-labelledby="title"`) || !strings.Contains(before, ">yield (%)<") || strings.Contains(before, "<?xml") {
		t.Errorf("the element begins with %.120s", before)
	}
	for what, add := range map[string]func(*Chart){
		"a band": func(c *Chart) { c.Bands = []Band{{line.X, []float64{0, 1, 1}, []float64{2, 4, 3}}} },
		"a threshold": func(c *Chart) {
			c.Threshold = &Threshold{X: []float64{1, 2, 3}, Y: []float64{2, 1, 1}, Label: "limit 1", Above: true}
		},
		"a note":   func(c *Chart) { c.Notes = []Note{{X: 2, Text: "corrected"}} },
		"dots":     func(c *Chart) { c.Marks = []Marks{{"", Dot, line.X, line.Y}} },
		"diamonds": func(c *Chart) { c.Marks = []Marks{{"", Diamond, line.X, line.Y}} },
		"a star":   func(c *Chart) { c.Marks = []Marks{{"", Star, line.X[:1], line.Y[:1]}} },
		"choices":  func(c *Chart) { c.X.Names = []string{"water", "ethanol"} },
	} {
		c := bare
		add(&c)
		after, err := c.SVG("title")
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if after == before || strings.Contains(after, "NaN") {
			t.Errorf("%s changes nothing, or is broken", what)
		}
	}
}

// However large, small or near to each other numbers are, what is drawn of them lies on the paper.
func TestChartOfExtremesIsDrawn(t *testing.T) {
	t.Parallel()
	extremes := []float64{0, 1, -1, 71.2, 5e-324, 1e-307, 3e-307, -2e-308, 1e-200, 1e-160, 1e30, 1e99, 1e100, -1e100, 1e9, 1e9 + 1e-6}
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.SampledFrom(extremes)
		list := func(label string) []float64 { return rapid.SliceOfN(number, 3, 3).Draw(t, label) }
		on := rapid.SampledFrom([][]float64{{1, 2, 3}, {-1e100, 0, 1e100}, {1e-307, 2e-307, 3e-307}, {1e-200, 1e-190, 1e90}, {1e-290, 2e-290, 3e-290}, {0, 1e-300, 1e-298}, {1e9, 1e9 + 1, 1e9 + 5}}).Draw(t, "x")
		y := list("y")
		c := Chart{X: Axis{Name: "x", Low: on[0], High: on[2], Log: on[0] > 0 && rapid.Bool().Draw(t, "log")}, Y: Axis{Name: "y"}}
		c.Curves = []Curve{{X: on, Y: y}}
		c.Bands = []Band{{on, list("low"), list("high")}}
		c.Marks = []Marks{{"", Dot, on, list("marks")}}
		if !c.X.Log {
			c.Notes = []Note{{X: number.Draw(t, "note"), Text: "c"}}
			c.Bands = append(c.Bands, Band{list("along"), list("from"), list("to")})
			c.Marks = append(c.Marks, Marks{"", Star, list("places"), list("stars")})
		}
		c.Threshold = &Threshold{X: on, Y: list("limit"), Label: "limit"}
		if rapid.Bool().Draw(t, "surface") {
			c = Chart{X: c.X, Y: c.X, Surface: &Surface{X: on, Y: on, Value: [][]float64{y, y, list("value")}, Chance: [][]float64{{0, 0.2, 1}, {0.3, 0.5, 0.7}, {1, 1, 0}}}}
		} else if rapid.Bool().Draw(t, "robust") {
			c.Y.Low, c.Y.High, _ = Robust(y, list("must")...)
		}
		drawn, err := c.SVG("title")
		if err != nil || strings.Contains(drawn, "NaN") || strings.Contains(drawn, "Inf") {
			t.Fatalf("%v %s", err, drawn)
		}
	})
}

// Marks of a style are one path with a piece for each; what is drawn between them, or can be looked through, stays apart.
func TestMarksOfAStyleAreOnePath(t *testing.T) {
	t.Parallel()
	const n = 300
	dots, triangles := Marks{Shape: Dot}, Marks{Shape: Triangle}
	for i := range n {
		dots.X, dots.Y = append(dots.X, float64(i)), append(dots.Y, math.Sin(float64(i)))
		triangles.X, triangles.Y = append(triangles.X, float64(i)), append(triangles.Y, math.Cos(float64(i)))
	}
	bare, err := Chart{X: Axis{High: n}, Y: Axis{Low: -1, High: 1}}.SVG("title")
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := Chart{X: Axis{High: n}, Y: Axis{Low: -1, High: 1}, Marks: []Marks{dots, triangles}}.SVG("title")
	if err != nil {
		t.Fatal(err)
	}
	if more := strings.Count(drawn, "<path") - strings.Count(bare, "<path"); more != 2 {
		t.Errorf("two kinds of marks are %d paths", more)
	}
	if pieces := strings.Count(drawn, "Z") - strings.Count(bare, "Z"); pieces != 2*n {
		t.Errorf("%d marks are drawn in %d pieces", 2*n, pieces)
	}
	const one, other, clear = `<path d="M1" style="fill:#000000" />` + "\n", `<path d="M2" style="fill:#111111" />` + "\n", `<path d="M3" style="fill:#000000;fill-opacity:0.5" />` + "\n"
	for given, want := range map[string]string{
		"<svg>" + one + one + other + "</svg>": `<svg><path d="M1M1" style="fill:#000000" />` + "\n" + other + "</svg>",
		one + "<g>" + one + "</g>":             one + "<g>" + one + "</g>",
		clear + clear + one:                    clear + clear + one,
		"nothing":                              "nothing",
	} {
		if got := joined(given); got != want {
			t.Errorf("%q is joined to %q", given, got)
		}
	}
}

// What lies beyond the range is drawn at its edge, not outside the axes.
func TestChartKeepsToItsRange(t *testing.T) {
	t.Parallel()
	c := Chart{Y: Axis{Low: 0, High: 1}, Marks: []Marks{{"", Dot, []float64{1, 2}, []float64{0.5, 1e9}}}}
	axes, err := c.axes()
	if err != nil || axes.Y.Min != 0 || axes.Y.Max != 1 {
		t.Errorf("the axis goes from %v to %v, %v", axes.Y.Min, axes.Y.Max, err)
	}
}

// Thinning keeps the lowest and the highest of each stretch, in their order, and all of a short series.
func TestThin(t *testing.T) {
	t.Parallel()
	y := make([]float64, 1000)
	for i := range y {
		y[i] = math.Sin(float64(i))
	}
	y[777], y[123] = 50, -50
	keep, stretch := Thin(y, 100)
	kept := map[int]bool{}
	for i, k := range keep {
		kept[k] = true
		if i > 0 && k <= keep[i-1] {
			t.Fatalf("%d comes after %d", k, keep[i-1])
		}
	}
	if stretch != 10 || len(keep) > 200 || !kept[777] || !kept[123] {
		t.Errorf("%d of 1000 kept in stretches of %d; the extremes are kept: %v, %v", len(keep), stretch, kept[777], kept[123])
	}
	if keep, stretch := Thin(y[:200], 100); len(keep) != 200 || stretch != 1 {
		t.Errorf("%d of 200 kept in stretches of %d", len(keep), stretch)
	}
}

// One far value does not flatten the rest, and is counted; what must be seen is in the range.
func TestRobust(t *testing.T) {
	t.Parallel()
	values := []float64{1e6}
	for i := range 40 {
		values = append(values, 10+float64(i%5))
	}
	low, high, outside := Robust(values, 30)
	if low > 10 || high < 30 || high > 40 || outside != 1 {
		t.Errorf("from %v to %v, %d outside", low, high, outside)
	}
	if low, high, outside := Robust(values[1:]); low > 10 || high < 14 || outside != 0 {
		t.Errorf("without it from %v to %v, %d outside", low, high, outside)
	}
	if low, high, _ := Robust([]float64{3}); low >= 3 || high <= 3 {
		t.Errorf("a single value is drawn from %v to %v", low, high)
	}
}

// Ticks of a count are whole, few, and each once.
func TestWholeTicks(t *testing.T) {
	t.Parallel()
	for _, high := range []float64{1.5, 3.5, 24.5, 99.5, 1000.5, 5000.5} {
		seen := map[string]bool{}
		for _, tick := range (whole{}).Ticks(0.5, high) {
			if tick.Value != math.Trunc(tick.Value) || seen[tick.Label] {
				t.Errorf("to %v: tick %v %q", high, tick.Value, tick.Label)
			}
			seen[tick.Label] = true
		}
		if len(seen) < 1 || len(seen) > 25 {
			t.Errorf("to %v: %d ticks", high, len(seen))
		}
	}
}

// A chart on which nothing has been read yet may have changes marked on it.
func TestChartOfNotesAlone(t *testing.T) {
	t.Parallel()
	chart := Chart{X: Axis{Name: "trial", Whole: true, Low: 0.5, High: 1.5}, Y: Axis{Name: "yield"}, Notes: []Note{{X: 1, Text: "excluded"}}, Height: 2}
	if drawn, err := chart.SVG("title"); err != nil || !strings.Contains(drawn, "excluded") || strings.Contains(drawn, "NaN") {
		t.Errorf("%v, %.200s", err, drawn)
	}
}

// Names of any length leave room for what is drawn.
func TestLongNamesLeaveRoom(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("W", 200)
	names := []string{long, "B", "C"}
	on, row := []float64{0, 1, 2}, []float64{1, 2, 3}
	for _, c := range []Chart{
		{X: Axis{Name: "x", Names: names}, Y: Axis{Name: "y", Names: []string{"A", "B", "C"}}, Surface: &Surface{X: on, Y: on, Value: [][]float64{row, row, row}, Cells: [][]string{names, names, names}}},
		{X: Axis{Name: long, Names: names}, Y: Axis{Name: long, Names: names}, Surface: &Surface{X: on, Y: on, Value: [][]float64{row, row, row}, Cells: [][]string{names, names, names}, Low: long, High: long}},
		{X: Axis{Name: long, Names: names}, Y: Axis{Name: long}, Curves: []Curve{{X: on, Y: row}}, Notes: []Note{{X: 1, Text: long}}},
	} {
		drawn, err := c.SVG("title")
		if err != nil || strings.Contains(drawn, "NaN") || strings.Contains(drawn, "Inf") {
			t.Errorf("%v %s", err, drawn)
		}
	}
}
