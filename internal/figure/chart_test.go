package figure

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/view/chart"
)

// values are numbers as charts have them.
func values(numbers ...float64) []any {
	list := make([]any, len(numbers))
	for i, x := range numbers {
		list[i] = x
	}
	return list
}

// A chart of everything there is draws each of it, is labelled, and stands alone as an element.
func TestChartDrawsEverything(t *testing.T) {
	t.Parallel()
	x, y := values(1, 2, 3), values(1, 3, 2)
	bare := chart.Frame{X: chart.Axis{Title: "trial", Whole: true}, Y: chart.Axis{Title: "yield (%)"}, Traces: []chart.Trace{{Style: chart.Line, X: x, Y: y}}, Height: 2}
	before, err := SVG(bare, "title")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(before, `<svg role="img" aria-labelledby="title"`) || !strings.Contains(before, ">yield (%)<") || strings.Contains(before, "<?xml") {
		t.Errorf("the element begins with %.120s", before)
	}
	drawnAlike := map[string]string{before: "nothing more"}
	check := func(what string, add func(*chart.Frame)) {
		f := bare
		add(&f)
		after, err := SVG(f, "title")
		if err != nil || strings.Contains(after, "NaN") {
			t.Errorf("%s: %v", what, err)
		}
		if other := drawnAlike[after]; other != "" {
			t.Errorf("%s looks like %s", what, other)
		}
		drawnAlike[after] = what
	}
	for _, style := range []chart.Style{chart.Feasible, chart.Violated, chart.Unknown, chart.Waiting, chart.Recommended, chart.Other, chart.Excluded, chart.Original, chart.Doubted,
		chart.Step, chart.Estimate, chart.Second, chart.Bound, chart.Threshold, "metric0", "metric1", "metric2", "metric3"} {
		check(string(style), func(f *chart.Frame) { f.Traces = append(f.Traces, chart.Trace{Style: style, X: x, Y: y}) })
	}
	for _, style := range []chart.Style{chart.Spans, chart.BandStyle, chart.Bars} {
		check(string(style), func(f *chart.Frame) {
			f.Traces = append(f.Traces, chart.Trace{Style: style, X: x, Y: y, Low: values(0, 1, 1), High: values(2, 4, 3)})
		})
	}
	check("a faded mark", func(f *chart.Frame) {
		f.Traces = append(f.Traces, chart.Trace{Style: chart.Feasible, X: x, Y: y, Fade: []float64{1, 0.5, 0.1}})
	})
	check("a limit", func(f *chart.Frame) {
		f.Limits = []chart.LimitPath{{X: []float64{1, 2, 3}, Y: []float64{2, 1, 1}, Label: "limit 1", Above: true}}
	})
	check("a limit that never changed", func(f *chart.Frame) { f.Limits = []chart.LimitPath{{Y: []float64{1}, Label: "limit 1"}} })
	for kind, letter := range letters {
		check(kind, func(f *chart.Frame) { f.Events = []chart.Event{{X: 2, Kind: kind}} })
		if letter == "" {
			t.Errorf("%s has no letter", kind)
		}
	}
	check("choices", func(f *chart.Frame) {
		f.X = chart.Axis{Categories: []string{"water", "ethanol"}}
		f.Traces = []chart.Trace{{Style: chart.Bars, X: []any{"water", "ethanol"}, Y: values(1, 2), Low: values(0, 1), High: values(2, 3)}}
	})
	if _, err := SVG(chart.Frame{Traces: []chart.Trace{{Style: "blob", X: x, Y: y}}, Height: 2}, "title"); err == nil {
		t.Error("a mark that nobody knows is drawn")
	}
}

// However large, small or near to each other numbers are, what is drawn of them lies on the paper.
func TestChartOfExtremesIsDrawn(t *testing.T) {
	t.Parallel()
	extremes := []float64{0, 1, -1, 71.2, 5e-324, 1e-307, 3e-307, -2e-308, 1e-200, 1e-160, 1e30, 1e99, 1e100, -1e100, 1e9, 1e9 + 1e-6}
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.SampledFrom(extremes)
		list := func(label string) []any { return values(rapid.SliceOfN(number, 3, 3).Draw(t, label)...) }
		three := func(label string) []float64 { return rapid.SliceOfN(number, 3, 3).Draw(t, label) }
		on := rapid.SampledFrom([][]float64{{1, 2, 3}, {-1e100, 0, 1e100}, {1e-307, 2e-307, 3e-307}, {1e-200, 1e-190, 1e90}, {1e-290, 2e-290, 3e-290}, {0, 1e-300, 1e-298}, {1e9, 1e9 + 1, 1e9 + 5}}).Draw(t, "x")
		x := chart.Axis{Title: "x", Range: []float64{on[0], on[2]}, Log: on[0] > 0 && rapid.Bool().Draw(t, "log")}
		f := chart.Frame{X: x, Y: chart.Axis{Title: "y"}, Height: 2}
		along := values(on...)
		f.Traces = []chart.Trace{{Style: chart.Line, X: along, Y: list("y")}, {Style: chart.BandStyle, X: along, Low: list("low"), High: list("high")}, {Style: chart.Feasible, X: along, Y: list("marks")}}
		if !f.X.Log {
			f.Events = []chart.Event{{X: number.Draw(t, "event"), Kind: "correction"}}
			f.Traces = append(f.Traces, chart.Trace{Style: chart.BandStyle, X: list("along"), Low: list("from"), High: list("to")}, chart.Trace{Style: chart.Recommended, X: list("places"), Y: list("stars")})
		}
		f.Limits = []chart.LimitPath{{X: on, Y: three("limit"), Label: "limit"}}
		if rapid.Bool().Draw(t, "surface") {
			f = chart.Frame{X: x, Y: x, Height: 2, Surface: &chart.Surface{Smooth: true, X: along, Y: along, Mean: [][]float64{three("one"), three("two"), three("three")}, Chance: [][]float64{{0, 0.2, 1}, {0.3, 0.5, 0.7}, {1, 1, 0}}}}
		}
		drawn, err := SVG(f, "title")
		if err != nil || strings.Contains(drawn, "NaN") || strings.Contains(drawn, "Inf") {
			t.Fatalf("%v %s", err, drawn)
		}
	})
}

// Marks that look the same and follow each other are one path with a piece for each; what is drawn between them keeps its place.
func TestMarksOfAStyleAreOnePath(t *testing.T) {
	t.Parallel()
	const n = 300
	dots, triangles := chart.Trace{Style: chart.Feasible}, chart.Trace{Style: chart.Violated}
	for i := range n {
		dots.X, dots.Y = append(dots.X, i), append(dots.Y, math.Sin(float64(i)))
		triangles.X, triangles.Y = append(triangles.X, i), append(triangles.Y, math.Cos(float64(i)))
	}
	f := chart.Frame{X: chart.Axis{Range: []float64{0, n}}, Y: chart.Axis{Range: []float64{-1, 1}}, Height: 2}
	bare, err := SVG(f, "title")
	if err != nil {
		t.Fatal(err)
	}
	f.Traces = []chart.Trace{dots, triangles}
	drawn, err := SVG(f, "title")
	if err != nil {
		t.Fatal(err)
	}
	if more := strings.Count(drawn, "<path") - strings.Count(bare, "<path"); more != 2 {
		t.Errorf("two kinds of marks are %d paths", more)
	}
	if pieces := strings.Count(drawn, "Z") - strings.Count(bare, "Z"); pieces != 2*n {
		t.Errorf("%d marks are drawn in %d pieces", 2*n, pieces)
	}
	const one, other = `<path d="M1" style="fill:#000000" />` + "\n", `<path d="M2" style="fill:#111111" />` + "\n"
	for given, want := range map[string]string{
		"<svg>" + one + one + other + "</svg>": `<svg><path d="M1M1" style="fill:#000000" />` + "\n" + other + "</svg>",
		one + "<g>" + one + "</g>":             one + "<g>" + one + "</g>",
		"nothing":                              "nothing",
	} {
		if got := joined(given); got != want {
			t.Errorf("%q is joined to %q", given, got)
		}
	}
}

// Marks beyond the range are not drawn; lines go along its edge.
func TestChartKeepsToItsRange(t *testing.T) {
	t.Parallel()
	f := chart.Frame{X: chart.Axis{Range: []float64{0, 3}}, Y: chart.Axis{Range: []float64{0, 1}}, Height: 2, Traces: []chart.Trace{{Style: chart.Feasible, X: values(1), Y: values(0.5)}, {Style: chart.Line, X: values(0, 3), Y: values(0, 1)}}}
	within, err := SVG(f, "title")
	if err != nil {
		t.Fatal(err)
	}
	f.Traces[0] = chart.Trace{Style: chart.Feasible, X: values(1, 2), Y: values(0.5, 1e9)}
	f.Traces[1].Y = values(0, 1e9)
	if beyond, err := SVG(f, "title"); err != nil || beyond != within {
		t.Errorf("%v: what lies beyond the range is drawn", err)
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

// A chart on which nothing has been read yet may have changes marked on it; those at one place share it.
func TestChartOfEventsAlone(t *testing.T) {
	t.Parallel()
	f := chart.Frame{X: chart.Axis{Title: "trial", Whole: true, Range: []float64{0.5, 1.5}}, Height: 2, Events: []chart.Event{{X: 1, Kind: "exclusion"}, {X: 1, Kind: "correction"}, {X: 1, Kind: "exclusion"}}}
	if drawn, err := SVG(f, "title"); err != nil || !strings.Contains(drawn, ">xc<") || strings.Contains(drawn, "NaN") {
		t.Errorf("%v, %.200s", err, drawn)
	}
}

// Names of any length leave room for what is drawn.
func TestLongNamesLeaveRoom(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("W", 200)
	names, three := []string{long, "B", "C"}, []string{"A", "B", "C"}
	row := []float64{1, 2, 3}
	choices := func(names []string) []any { return []any{names[0], names[1], names[2]} }
	surface := chart.Surface{X: choices(names), Y: choices(three), Mean: [][]float64{row, row, row}, Cells: [][]string{names, names, names}, Ends: [2]string{long, long}}
	for _, f := range []chart.Frame{
		{X: chart.Axis{Title: long, Categories: names}, Y: chart.Axis{Title: long, Categories: three}, Surface: &surface, Height: 4},
		{X: chart.Axis{Title: long, Categories: names}, Y: chart.Axis{Title: long}, Traces: []chart.Trace{{Style: chart.Line, X: choices(names), Y: values(row...)}}, Limits: []chart.LimitPath{{Y: []float64{2}, Label: long}}, Height: 2},
	} {
		drawn, err := SVG(f, "title")
		if err != nil || strings.Contains(drawn, "NaN") || strings.Contains(drawn, "Inf") || regexp.MustCompile(`[ML,]-\d{3}`).MatchString(drawn) {
			t.Errorf("%v %s", err, drawn)
		}
	}
}
