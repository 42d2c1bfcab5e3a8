package chart

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/study/design"
)

// values are numbers as charts have them.
func values(numbers ...float64) []any {
	return lists.Map(numbers, func(x float64) any { return x })
}

// one is a chart of one panel.
func one(x, y Axis, limits []Limit, traces ...Trace) Drawing {
	return Drawing{X: x, Panels: []Panel{{Title: "panel", Height: 100, Y: y, Traces: traces, Limits: limits}}}
}

// wellFormed fails for what is no markup, or has a number that is none.
func wellFormed(t interface{ Fatalf(string, ...any) }, drawn string) {
	reader := xml.NewDecoder(strings.NewReader("<all>" + drawn + "</all>"))
	for {
		if _, err := reader.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in %s", err, drawn)
		}
	}
	if strings.Contains(drawn, "NaN") || strings.Contains(drawn, "Inf") {
		t.Fatalf("no number in %s", drawn)
	}
}

// A chart of everything there is draws each of it differently, is labelled, and names it in the
// legend.
// TestLegendsNeedNoColour: lines and marks that may stand in one chart differ in more than that.
func TestLegendsNeedNoColour(t *testing.T) {
	t.Parallel()
	seen := map[string]Style{}
	look := func(style Style, outline string) {
		if other, taken := seen[outline]; taken {
			t.Errorf("%s and %s look alike", other, style)
		}
		seen[outline] = style
	}
	if got := marks[Violated].outline(1); got != "M0,-1L0.87,0.5L-0.87,0.5Z" {
		t.Errorf("the triangle is drawn as %s", got)
	}
	for style, mark := range marks {
		if !strings.HasPrefix(string(style), "metric") { // which are in a chart of their own
			look(style, fmt.Sprint(mark.outline(5), mark.fill == ""))
		}
	}
	for _, style := range []Style{Step, Estimate, Second, Bound, Fifth, Sixth, Seventh, Eighth, Quiet, Truth, Threshold} {
		look(style, fmt.Sprint(lines[style].width, lines[style].dash))
	}
}

func TestChartDrawsEverything(t *testing.T) {
	t.Parallel()
	x, y := values(1, 2, 3), values(1, 3, 2)
	bare := one(Axis{Title: "trial", Whole: true, Range: []float64{0.5, 3.5}}, Axis{}, nil, Trace{Name: "base", Style: Line, X: x, Y: y})
	before := bare.HTML("id", "title")
	if !strings.HasPrefix(before, `<div role="img" aria-labelledby="title"`) || !strings.Contains(before, ">panel<") || !strings.Contains(before, `<div class="axis">trial<`) || !strings.Contains(before, `<g data-axis="x" `) {
		t.Errorf("the chart begins with %.120s", before)
	}
	drawnAlike := map[string]string{before: "nothing more"}
	check := func(what string, d Drawing) {
		after := d.HTML("id", "title")
		wellFormed(t, after)
		if other := drawnAlike[after]; other != "" {
			t.Errorf("%s looks like %s", what, other)
		}
		drawnAlike[after] = what
	}
	more := func(trace Trace) Drawing {
		trace.Name = "more"
		d := one(Axis{Title: "trial", Whole: true, Range: []float64{0.5, 3.5}}, Axis{}, nil, bare.Panels[0].Traces[0], trace)
		if !strings.Contains(d.HTML("id", "title"), "<span>more</span>") {
			t.Errorf("%s is not in the legend", trace.Style)
		}
		return d
	}
	for _, style := range []Style{Feasible, Violated, Unknown, Waiting, Recommended, Other, Excluded, Original, Doubted, Step, Estimate, Second, Bound, Threshold, "metric0", "metric1", "metric2", "metric3"} {
		check(string(style), more(Trace{Style: style, X: x, Y: y}))
	}
	for _, style := range []Style{Spans, BandStyle, Bars} {
		check(string(style), more(Trace{Style: style, X: x, Y: y, Low: values(0, 1, 1), High: values(2, 4, 3)}))
	}
	check("a faded mark", more(Trace{Style: Feasible, X: x, Y: y, Fade: []float64{1, 0.5, 0.1}}))
	line := bare.Panels[0].Traces[0]
	check("a limit", one(bare.X, Axis{}, []Limit{{X: []float64{1, 2, 3}, Y: []float64{2, 1, 1}, Label: "limit 1", Above: []bool{true, false, true}}}, line))
	check("a limit from below", one(bare.X, Axis{}, []Limit{{X: []float64{1, 2, 3}, Y: []float64{2, 1, 1}, Label: "limit 1", Above: make([]bool, 3)}}, line))
	check("a limit that never changed", one(bare.X, Axis{}, []Limit{{Y: []float64{1}, Label: "limit 1", Above: []bool{false}}}, line))
	for _, kind := range []string{"correction", "exclusion", "inclusion", "change of a limit", "change of settings", "model refitted"} {
		d := one(bare.X, Axis{}, nil, line)
		d.Events = []Event{{X: 2, Kind: kind, Text: "a change"}}
		check(kind, d)
	}
	choices := Axis{Categories: []string{"water", "ethanol"}}
	check("choices", one(choices, Axis{}, nil, Trace{Style: Bars, X: []any{"water", "ethanol"}, Y: values(1, 2), Low: values(0, 1), High: values(2, 3)}))
}

// What is in a name stays words, in the picture, in what it says and in the legend.
func TestNamesAreNoMarkup(t *testing.T) {
	t.Parallel()
	name := `<b>"it's" & more</b>`
	d := Drawing{Cells: []Panel{{Group: name, Title: name, X: Axis{Title: name, Categories: []string{name, "b"}}, Limits: []Limit{{Y: []float64{1}, Label: name, Above: []bool{false}}},
		Traces: []Trace{{Name: name, Style: Feasible, X: []any{name, "b"}, Y: values(1, 2), Text: []string{name, name}, Trial: []int{1, 2}}}}}}
	drawn := d.HTML("id", "title")
	wellFormed(t, drawn)
	if strings.Contains(drawn, "<b>") {
		t.Error(drawn)
	}
}

// Of a title that is too long the unit stays, and no more than that.
func TestTitlesAreCutBeforeTheirUnit(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{"Yield (%)": "<span>Yield</span> (%)", "f(x)": "<span>f(x)</span>", "Yield (%) and its limit": "<span>Yield (%) and its limit</span>", "Yield": "<span>Yield</span>"} {
		if drawn := (Drawing{Panels: []Panel{{Title: title}}}).HTML("id", "title"); !strings.Contains(drawn, want+"</div>") {
			t.Errorf("%q is written %s", title, drawn)
		}
	}
}

// However large, small or near to each other numbers are, they are drawn at places that can be
// written down.
func TestChartOfExtremesIsDrawn(t *testing.T) {
	t.Parallel()
	extremes := []float64{0, 1, -1, 71.2, 5e-324, 1e-307, 3e-307, -2e-308, 1e-200, 1e-160, 1e30, 1e99, 1e100, -1e100, 1e9, 1e9 + 1e-6}
	long := regexp.MustCompile(`\d{8}`)
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.SampledFrom(extremes)
		three := func(label string) []float64 { return rapid.SliceOfN(number, 3, 3).Draw(t, label) }
		list := func(label string) []any { return values(three(label)...) }
		on := rapid.SampledFrom([][]float64{{1, 2, 3}, {-1e100, 0, 1e100}, {1e-307, 2e-307, 3e-307}, {1e-200, 1e-190, 1e90}, {1e-290, 2e-290, 3e-290}, {0, 1e-300, 1e-298}, {1e9, 1e9 + 1, 1e9 + 5}}).Draw(t, "x")
		x := Axis{Title: "x", Range: []float64{on[0], on[2]}, Log: on[0] > 0 && rapid.Bool().Draw(t, "log")}
		along := values(on...)
		d := one(x, Axis{}, []Limit{{X: on, Y: three("limit"), Label: "limit", Above: make([]bool, 3)}}, Trace{Style: Line, X: along, Y: list("y")}, Trace{Style: BandStyle, X: along, Low: list("low"), High: list("high")},
			Trace{Style: Feasible, X: list("where"), Y: list("marks")}, Trace{Style: Spans, X: along, Low: list("from"), High: list("to")})
		d.Events = []Event{{X: number.Draw(t, "event"), Kind: "correction"}}
		if rapid.Bool().Draw(t, "surface") {
			d = Drawing{X: x, Y: x, Surface: &Surface{Smooth: true, X: along, Y: along, Mean: [][]float64{three("one"), three("two"), three("three")}, Chance: [][]float64{{0, 0.2, 1}, {0.3, 0.5, 0.7}, {1, 1, 0}}}}
		}
		drawn := d.HTML("id", "title")
		wellFormed(t, drawn)
		for _, path := range regexp.MustCompile(` (?:d|x|y|width|height)="([^"]*)"`).FindAllStringSubmatch(drawn, -1) {
			if long.MatchString(path[1]) {
				t.Fatalf("a place is %s", path[1])
			}
		}
	})
}

// Marks beyond the range are not drawn, and those of hundreds are smaller; of each kind the look is
// written down once.
func TestMarksKeepToTheirRange(t *testing.T) {
	t.Parallel()
	axis := Axis{Range: []float64{0, 1}}
	marksOf := func(n int) (count int, drawn string) {
		trace := Trace{Style: Feasible, X: values(2), Y: values(0.5), Text: []string{"beyond"}}
		for i := range n {
			trace.X, trace.Y, trace.Text = append(trace.X, float64(i)/float64(n)), append(trace.Y, 0.5), append(trace.Text, "within")
		}
		drawn = one(axis, axis, nil, trace).HTML("id", "title")
		return strings.Count(drawn, "<use"), drawn
	}
	few, drawn := marksOf(3)
	if few != 3 || strings.Contains(drawn, "beyond") || strings.Count(drawn, "within") != 3 || strings.Count(drawn, `<path id=`) != 1 {
		t.Errorf("%d marks of 3 in %s", few, drawn)
	}
	if many, crowded := marksOf(crowd + 1); many != crowd+1 || !strings.Contains(drawn, "a4.5,4.5 ") || !strings.Contains(crowded, "a2.25,2.25 ") {
		t.Errorf("%d marks of a crowd, or as large as ever", many)
	}
	// What lies far beyond the range, as a line that leaves it, keeps a place that can be written
	// down.
	if steep := one(axis, axis, nil, Trace{Style: Line, X: values(0, 1), Y: values(0, 1e100)}).HTML("id", "title"); !strings.Contains(steep, `d="M0,1000L1000,-999000"`) {
		t.Errorf("a line out of sight is drawn as %s", steep)
	}
}

// What is drawn stands where its numbers are: marks in parts of the frame, lines on the plane that
// is stretched over it.
func TestThingsStandAtTheirNumbers(t *testing.T) {
	t.Parallel()
	d := one(Axis{Range: []float64{0, 4}}, Axis{Range: []float64{0, 10}}, []Limit{{X: []float64{0, 2}, Y: []float64{5, 2}, Label: "limit 2", Above: []bool{true, false}}},
		Trace{Name: "marks", Style: Feasible, X: values(1), Y: values(2.5), Text: []string{"said"}, Trial: []int{7}}, Trace{Name: "steps", Style: Step, X: values(1, 2), Y: values(5, 10)},
		Trace{Name: "band", Style: BandStyle, X: values(0, 4), Low: values(1, 2), High: values(3, 4)})
	drawn := d.HTML("id", "title")
	for what, want := range map[string]string{
		"the mark": `<g data-name="marks" data-kind="marks" data-said='["said"]' data-trials='[7]'><use href="#id-0" x="25%" y="75%"/></g>`, "the steps": `d="M250,500H500V0"`,
		"the band": `d="M0,700L1000,600L1000,800L0,900Z"`, "what the band says": `data-said='["1 to 3","2 to 4"]'`, "the limit": `d="M0,500H500V800H1000"`,
		"the side that breaks the first limit": `<rect x="0%" y="0%" width="50%" height="50%"`, "and the second, the other one": `<rect x="50%" y="80%" width="50%" height="20%"`, "the value of the last": ">limit 2</text>",
	} {
		if !strings.Contains(drawn, want) {
			t.Errorf("%s: no %s in\n%s", what, want, drawn)
		}
	}
}

// TestALimitIsNamedBesideMarks: over its line where nothing is in the way, else below it, else left of
// what is; over all of it where marks stand all along.
func TestALimitIsNamedBesideMarks(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`<text x="([\d.]+)%"[^>]* dy="(-?\d+)"[^>]*>limit 5</text>`)
	for _, c := range []struct {
		x, y  []float64
		right float64 // in per cent
		over  bool
	}{
		{nil, nil, 100, true}, {[]float64{96}, []float64{6}, 100, false}, {[]float64{97, 91}, []float64{5, 5}, 89.06, true},
		{[]float64{97, 97}, []float64{6, 4}, 95.06, true}, {[]float64{99, 90, 80, 70}, []float64{5, 5, 5, 5}, 100, true},
	} {
		drawn := one(Axis{Range: []float64{0, 100}}, Axis{Range: []float64{0, 10}}, []Limit{{Y: []float64{5}, Label: "limit 5", Above: []bool{true}}}, Trace{Style: Waiting, X: values(c.x...), Y: values(c.y...)}).HTML("id", "title")
		if !strings.Contains(drawn, `data-kind="limit" data-said='["5"]'`) {
			t.Errorf("pointing at the limit does not say its value: %s", drawn)
		}
		if found := named.FindStringSubmatch(drawn); found == nil || found[1] != design.FormatUpTo(c.right, 2) || strings.HasPrefix(found[2], "-") != c.over {
			t.Errorf("beside marks at %v, %v the limit is named at %v", c.x, c.y, found)
		}
	}
}

// Ticks of an axis have the same decimals, a true minus, and a power of ten where they are very
// large or small; those of a count are whole.
func TestTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		axis      Axis
		low, high float64
		want      []string
	}{
		{Axis{}, 40, 84, []string{"40", "50", "60", "70", "80"}},
		{Axis{}, -0.003, 0.061, []string{"0.00", "0.01", "0.02", "0.03", "0.04", "0.05", "0.06"}},
		{Axis{}, -125, 130, []string{"−100", "−50", "0", "50", "100"}},
		{Axis{}, 0.2, 0.6, []string{"0.2", "0.3", "0.4", "0.5", "0.6"}},
		{Axis{}, 0.2, 0.5, []string{"0.20", "0.25", "0.30", "0.35", "0.40", "0.45", "0.50"}},
		{Axis{}, 9.999978, 10.000012, []string{"9.999980", "9.999985", "9.999990", "9.999995", "10.000000", "10.000005", "10.000010"}},
		{Axis{}, 0, 9.3e-7, []string{"0", "2×10⁻⁷", "4×10⁻⁷", "6×10⁻⁷", "8×10⁻⁷"}},
		{Axis{}, 0, 3e-307, []string{"0", "0.5×10⁻³⁰⁷", "1.0×10⁻³⁰⁷", "1.5×10⁻³⁰⁷", "2.0×10⁻³⁰⁷", "2.5×10⁻³⁰⁷", "3.0×10⁻³⁰⁷"}},
		{Axis{Whole: true}, 0.5, 1.5, []string{"1"}},
		{Axis{Whole: true}, 0.5, 9.5, []string{"2", "4", "6", "8"}},
		{Axis{Whole: true}, 0.5, 5001.5, []string{"1000", "2000", "3000", "4000", "5000"}},
		{Axis{Log: true}, 6, 9, []string{"6", "6.5", "7", "7.5", "8", "8.5", "9"}},
		{Axis{Log: true}, 1, 10, []string{"1", "2", "5", "10"}},
		{Axis{Log: true}, 1e-6, 1e-2, []string{"10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²"}},
		{Axis{Log: true}, 1e-200, 1e90, []string{"10⁻²⁰⁰", "10⁻¹⁴¹", "10⁻⁸²", "10⁻²³", "10³⁶"}},
		{Axis{Log: true, Plain: true}, 1e-4, 1e-2, []string{"0.0001", "0.001", "0.01"}},
		{Axis{Log: true}, 20000, 60000, []string{"20\u202f000", "50\u202f000"}},
		{Axis{Log: true}, 2.4e7, 2.6e7, []string{"2.4\u202f×\u202f10⁷", "2.45\u202f×\u202f10⁷", "2.5\u202f×\u202f10⁷", "2.55\u202f×\u202f10⁷", "2.6\u202f×\u202f10⁷"}},
		{Axis{Categories: []string{"b", "a"}}, 0, 1, []string{"b", "a"}},
	} {
		c.axis.Range = []float64{c.low, c.high}
		var got []string
		for _, one := range scaleOf(c.axis).ticks(5) {
			got = append(got, one.words)
			if one.at < -1e-9 || one.at > 1+1e-9 {
				t.Errorf("a tick of %v to %v stands at %v", c.low, c.high, one.at)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("from %v to %v: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

// Words at an axis do not touch, also where they are long.
func TestTicksKeepClear(t *testing.T) {
	t.Parallel()
	var crowded []tick
	for i := range 40 {
		crowded = append(crowded, tick{float64(i) / 39, strings.Repeat("8", 1+i%5)})
	}
	list := withoutOverlap(crowded, 300, false)
	for i := 1; i < len(list); i++ {
		if apart := 300*(list[i].at-list[i-1].at) - widthOf(list[i].words, 12)/2 - widthOf(list[i-1].words, 12)/2; apart < 4 {
			t.Errorf("%q and %q are %v pixels apart", list[i-1].words, list[i].words, apart)
		}
	}
	if len(list) < 4 || len(list) > 20 {
		t.Errorf("%d of 40 stand", len(list))
	}
	// Of those turned inward at the end of a small axis, the last would touch the one before.
	if kept := withoutOverlap([]tick{{0, "300"}, {0.78, "1000"}, {1, "1200"}}, 190, true); len(kept) != 2 || kept[1].words != "1000" {
		t.Errorf("at a small axis stand %v", kept)
	}
	if short := truncated(strings.Repeat("W", 200), 60); widthOf(short, 12) > 60 || !strings.HasSuffix(short, "…") || truncated("water", 60) != "water" || truncated("1\u202f×\u202f10⁻⁷", leftWords) != "1\u202f×\u202f10⁻⁷" {
		t.Errorf("cut to %q", short)
	}
}

// TestCellsFillTheirRows: as many cells are abreast as leave no row nearly empty, and each row begins
// with the numbers of its axis, in wide windows and in narrow ones.
func TestCellsFillTheirRows(t *testing.T) {
	t.Parallel()
	numbered := regexp.MustCompile(`<div class="cell-all"><svg[^>]*><g data-axis="y".*?stroke="none"( class="\w+")?>`)
	for cells, want := range map[int]string{1: "1", 2: "2 -", 4: "4 - n -", 5: "3 - n w n", 6: "3 - n w n -", 7: "4 - n - all - n", 9: "3 - n w n - all - n"} {
		d := Drawing{Cells: slices.Repeat([]Panel{{Group: "g", Traces: []Trace{{Style: Feasible, X: values(1), Y: values(1)}}}}, cells)}
		drawn := d.HTML("id", "title")
		got := regexp.MustCompile(`--columns:(\d+)`).FindStringSubmatch(drawn)[1]
		for _, cell := range numbered.FindAllStringSubmatch(drawn, -1)[1:] {
			got += map[string]string{"": " all", ` class="none"`: " -", ` class="narrow"`: " n", ` class="wide"`: " w"}[cell[1]]
		}
		if got != want {
			t.Errorf("%d cells: %s, not %s", cells, got, want)
		}
	}
}

// TestEveryChoiceIsWritten: choices that have no room beside each other stand in rows, and the axis's
// name below them; none is left out, in no window, none touches another of its row, and those that
// are cut off are told apart.
// TestLongChoicesStayBelowTheirFrame: with a row each they have its width, and reach below no other.
func TestLongChoicesStayBelowTheirFrame(t *testing.T) {
	t.Parallel()
	for n := 2; n < 9; n++ {
		ticks := slices.Repeat([]tick{{words: "4,5-bis(diphenylphosphino)-9,9-dimethylxanthene"}}, n)
		if rows, room := rowsOf(ticks, 190); room > 190 || rows > n {
			t.Errorf("%d choices have %d rows and %v pixels each, of 190", n, rows, room)
		}
	}
}

func TestEveryChoiceIsWritten(t *testing.T) {
	t.Parallel()
	solvents := []string{"DMF", "2-MeTHF", "toluene", "water", "acetonitrile"}
	var long []string
	for i := range 40 {
		long = append(long, fmt.Sprintf("solvent with number %d", i))
	}
	written := regexp.MustCompile(`<text x="([\d.]+)%" y="100%" dy="(\d+)" stroke="none"(?: dx="(-?[\d.]+)")?>([^<]*)`)
	for _, c := range []struct {
		choices []string
		margin  string
	}{{[]string{"A", "B", "C"}, `<div class="axis">`}, {solvents, `<div class="axis" style="--wide:36px;--narrow:64px">`}, {long, `<div class="axis" style="--wide:64px;--narrow:176px">`}} {
		d := Drawing{Cells: slices.Repeat([]Panel{{Group: "g", X: Axis{Title: "solvent", Categories: c.choices}, Traces: []Trace{{Style: Feasible, X: []any{"A"}, Y: values(1)}}}}, 2)}
		drawn := d.HTML("id", "title")
		wellFormed(t, drawn)
		if !strings.Contains(drawn, c.margin) {
			t.Errorf("the name of the axis below %d choices has another place than %s in\n%s", len(c.choices), c.margin, drawn)
		}
		for window, class := range []string{"wide", "narrow"} {
			ends, count, seen := map[string]float64{}, 0, map[string]bool{}
			for _, group := range strings.Split(drawn[:strings.Index(drawn, `class="axis"`)], `<g class="`)[1:] {
				at := written.FindStringSubmatch(group)
				if !strings.HasPrefix(group, class) || at == nil {
					continue
				}
				x, _ := strconv.ParseFloat(at[1], 64)
				moved, _ := strconv.ParseFloat(at[3], 64)
				room := []float64{smallWidths[0] / 2, smallWidths[1]}[window] // two cells are abreast
				half, middle := widthOf(at[4], wordSize)/2, x/100*room+moved
				if end, there := ends[at[2]]; there && middle-half < end+2 {
					t.Errorf("%s: %q touches what stands before it", class, at[4])
				}
				if middle-half < -4 || middle+half > room+4 { // cells are 10 pixels apart
					t.Errorf("%s: %q goes from %g to %g", class, at[4], middle-half, middle+half)
				}
				if want := c.choices[count]; at[4] != want && (!strings.HasPrefix(want, strings.TrimSuffix(at[4], "…")) && !strings.HasSuffix(want, strings.TrimPrefix(at[4], "…")) || len(at[4]) < 4 || !strings.Contains(group, "<title>"+want)) {
					t.Errorf("%s: choice %q is written %q", class, want, at[4])
				}
				ends[at[2]], count, seen[at[4]] = middle+half, count+1, true
			}
			if count != len(c.choices) || 2*len(seen) < count {
				t.Errorf("%s: %d of %d choices are written, in %d ways", class, count, len(c.choices), len(seen))
			}
		}
	}
}

// TestCellsHoldTheirNumbers: what stands in the cells of a map is no wider than they are, in no
// window, and neither are the choices below them; on a phone, all of it touched.
func TestCellsHoldTheirNumbers(t *testing.T) {
	t.Parallel()
	of := Surface{Y: []any{"A", "B"}}
	for range of.Y {
		of.Mean, of.Cells = append(of.Mean, []float64{1, 2, 3, 4, 5, 6, 7}), append(of.Cells, slices.Repeat([]string{"16.6\n>99 %"}, 7))
	}
	drawn := Drawing{Surface: &of, X: Axis{Categories: []string{"0", "1.67", "3.33", "5", "6.67", "8.33", "10"}}, Y: Axis{Categories: []string{"A", "B"}}}
	for _, choice := range drawn.X.Categories {
		of.X = append(of.X, choice)
	}
	cells := regexp.MustCompile(`<text(?: class="(\w+)")? x="[\d.]+%" y="[\d.]+%" dy="[-\d.]+" font-size="([\d.]+)"[^>]*>([^<]*)`)
	choices := regexp.MustCompile(`<g class="(\w+)"><line [^>]*><text x="[\d.]+%" y="100%" dy="(\d+)"`)
	page := strings.ReplaceAll(drawn.HTML("id", "title"), "&gt;", ">")
	for window, hidden := range []string{"", "wide", "wide roomy"} {
		room := []float64{430, 260, 130}[window] / 7
		for _, text := range cells.FindAllStringSubmatch(page, -1) {
			if size, _ := strconv.ParseFloat(text[2], 64); (text[1] == "" || !strings.Contains(hidden, text[1])) && widthOf(text[3], size) > room {
				t.Errorf("%q of %g pixels is %g wide in a cell of %g", text[3], size, widthOf(text[3], size), room)
			}
		}
		rows := map[string]bool{}
		for _, choice := range choices.FindAllStringSubmatch(page, -1) {
			if choice[1] == []string{"wide", "narrow", "slim"}[window] {
				rows[choice[2]] = true
			}
		}
		if want := []int{1, 1, 2}[window]; len(rows) != want {
			t.Errorf("choices below cells of %g pixels stand in %d rows, not in %d", room, len(rows), want)
		}
	}
}

// TestWhereAMapHasNothingItIsBlank: no colour, no number and no contour stands where there is no value,
// and colours tell those apart that there are.
func TestWhereAMapHasNothingItIsBlank(t *testing.T) {
	t.Parallel()
	nothing := math.NaN()
	mean := [][]float64{{1, 2, 3}, {2, 3, nothing}, {3, nothing, nothing}}
	smooth := Drawing{Surface: &Surface{Smooth: true, X: values(0, 1, 2), Y: values(0, 1, 2), Mean: mean, Chance: [][]float64{{0.2, 0.2, 0.8}, {0.2, 0.8, nothing}, {0.8, nothing, nothing}}}}.HTML("id", "title")
	encoded := regexp.MustCompile(`base64,([^"]+)"`).FindStringSubmatch(smooth)
	picture := must.Get(png.Decode(bytes.NewReader(must.Get(base64.StdEncoding.DecodeString(encoded[1]))(t))))(t)
	for i, row := range mean {
		for j, value := range row {
			red, green, blue, alpha := picture.At(j, 2-i).RGBA()
			if (alpha == 0) != math.IsNaN(value) || value == 3 && (red>>8 != 0xff || green>>8 != 0xea || blue>>8 != 0x46) {
				t.Errorf("%g is drawn in %x %x %x, %x", value, red, green, blue, alpha)
			}
		}
	}
	if !strings.Contains(smooth, `d="M500,750L250,500"`) || strings.Contains(smooth, "NaN") {
		t.Errorf("the contours are drawn as %s", smooth)
	}
	grid := Drawing{X: Axis{Categories: []string{"A", "B"}}, Y: Axis{Categories: []string{"C"}},
		Surface: &Surface{X: []any{"A", "B"}, Y: []any{"C"}, Mean: [][]float64{{1, nothing}}, Cells: [][]string{{"1", "no"}}}}.HTML("id", "title")
	if strings.Count(grid, `stroke="var(--surface)" stroke-width="2"`) != 1 || strings.Contains(grid, ">no<") {
		t.Errorf("cells are drawn as %s", grid)
	}
}

// TestMapsReachToTheirMarks: what was run beyond the range of a map stands on it.
func TestMapsReachToTheirMarks(t *testing.T) {
	t.Parallel()
	drawn := Drawing{Surface: &Surface{Smooth: true, X: values(0, 1), Y: values(0, 1), Mean: [][]float64{{1, 2}, {2, 3}}},
		Traces: []Trace{{Style: Recommended, X: values(1.25), Y: values(-1)}}}.HTML("id", "title")
	for what, want := range map[string]string{"the scale’s colours": `<stop offset="1" stop-color="#ffea46"/>`, "the scale’s numbers": ` dy="0.32em">3`,
		"the mark": `x="100%" y="100%"`, "the colours": `<image x="-40%" y="-25%" width="160%" height="100%"`, "what pointing at it goes by": `"places":[0,0.8,0.5,0.5]`} {
		if !strings.Contains(drawn, want) {
			t.Errorf("%s is not %s in %s", what, want, drawn)
		}
	}
}

// TestTicksAreToldApart however little they differ for their size, on each kind of axis and as the left has
// room for them; so is what pointing at a line says.
func TestTicksAreToldApart(t *testing.T) {
	t.Parallel()
	for _, of := range [][2]float64{{100000.001, 100000.004}, {1e9, 1e9 + 5}, {123456789, 123456789.5}, {1, 1 + 1e-7}, {-100000.004, -100000.001}, {9999.98, 10000.02}, {1e-6, 1.00001e-6}, {3, 4.5}} {
		for _, a := range []Axis{{}, {Log: true}, {Log: true, Plain: true}} {
			a.Range = of[:]
			ticks := scaleOf(a).ticks(4)
			shorten, seen := shortener(ticks, leftWords), map[string]bool{}
			for _, one := range ticks {
				seen[yTickText(one.words, shorten)] = true
			}
			if len(ticks) < 2 || len(seen) < len(ticks) {
				t.Errorf("from %v to %v (%+v) ticks are %v, on the left %v", of[0], of[1], a, ticks, seen)
			}
		}
		middle := of[0] + 0.6*(of[1]-of[0])
		drawn := one(Axis{}, Axis{Range: of[:]}, nil, Trace{Style: Line, X: values(0, 1), Y: values(of[0], middle)}).HTML("id", "title")
		said := regexp.MustCompile(`data-said='\["([^"]*)","([^"]*)"\]'`).FindStringSubmatch(drawn)
		if said[1] == said[2] {
			t.Errorf("%v and %v are both said to be %s", of[0], middle, said[1])
		}
	}
}

// TestPowersAreNotCutOff: −5.0×10⁻⁹ and −5.0×10⁻¹² would both be written “−5.0×…”.
func TestPowersAreNotCutOff(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"−5.0×10⁻⁹", "1.25×10¹²", "3.162\u202f×\u202f10⁻⁸"} {
		if got := yTickText(words, truncated); !strings.HasSuffix(got, ">"+words) || !strings.HasPrefix(got, ` textLength="50"`) {
			t.Errorf("%q is written %q", words, got)
		}
	}
	if got := yTickText("none, or the blank", truncated); !strings.Contains(got, "…<title>") {
		t.Errorf("a long name is written %q", got)
	}
}

// TestContoursAreNumberedBesideMarks: the number on a contour stands over all marks, and where none
// of them is as long as there is such a place on its line.
func TestContoursAreNumberedBesideMarks(t *testing.T) {
	t.Parallel()
	const n = 41
	var grid []any
	chance := make([][]float64, n)
	for i := range n {
		grid = append(grid, float64(i))
		for j := range n {
			chance[i] = append(chance[i], float64(j)/(n-1))
		}
	}
	numbered := regexp.MustCompile(`<text x="([\d.]+)%" y="([\d.]+)%"[^>]*>(\d+)%</text>`)
	at := func(marks ...float64) map[string]float64 {
		d := Drawing{X: Axis{}, Y: Axis{}, Surface: &Surface{Smooth: true, X: grid, Y: grid, Mean: chance, Chance: chance}}
		for _, y := range marks {
			d.Traces = append(d.Traces, Trace{Style: Feasible, X: values(36), Y: values(y)})
		}
		drawn, places := d.HTML("id", "title"), map[string]float64{}
		for _, found := range numbered.FindAllStringSubmatchIndex(drawn, -1) {
			y, err := strconv.ParseFloat(drawn[found[4]:found[5]], 64)
			places[drawn[found[6]:found[7]]] = y
			if err != nil || found[0] < strings.LastIndex(drawn, "<use") {
				t.Errorf("%s lies below marks", drawn[found[0]:found[1]])
			}
		}
		return places
	}
	bare := at()
	if len(bare) != 3 {
		t.Fatalf("numbers stand at %v", bare)
	}
	usual := 40 * (1 - bare["90"]/100)
	if moved := math.Abs(at(usual)["90"] - bare["90"]); moved < 5 || moved > 10 {
		t.Errorf("beside a mark the number moved by %g%% of the height", moved)
	}
	var all []float64
	for y := range n {
		all = append(all, float64(y))
	}
	if full := at(all...); full["90"] != bare["90"] {
		t.Errorf("where marks stand all along, the number stands at %v", full)
	}
}

// A contour of a distance from the middle is a circle: one closed line, everywhere as far away as
// its level says. Of a slope it is a straight line.
func TestContours(t *testing.T) {
	t.Parallel()
	const n = 41
	grid := func(f func(x, y float64) float64) [][]float64 {
		rows := make([][]float64, n)
		for i := range rows {
			for j := range n {
				rows[i] = append(rows[i], f(float64(j), float64(i)))
			}
		}
		return rows
	}
	round := contours(grid(func(x, y float64) float64 { return math.Hypot(x-20, y-20) }), 10.3)
	if len(round) != 1 || round[0][0] != round[0][len(round[0])-1] {
		t.Fatalf("a circle is %d lines", len(round))
	}
	for _, at := range round[0] {
		if away := math.Hypot(at[0]-20, at[1]-20); math.Abs(away-10.3) > 0.02 {
			t.Errorf("the circle passes %v from its middle", away)
		}
	}
	slope := contours(grid(func(x, y float64) float64 { return x + 2*y }), 30.5)
	if len(slope) != 1 {
		t.Fatalf("a slope has %d lines", len(slope))
	}
	for _, at := range slope[0] {
		if math.Abs(at[0]+2*at[1]-30.5) > 1e-9 {
			t.Errorf("the line of a slope passes %v", at)
		}
	}
	// In a saddle the line leaves the middle on the side on which it is.
	if high := contours([][]float64{{1, 0}, {0.4, 1}}, 0.5); len(high) != 2 || max(high[0][0][0], high[0][1][0]) != 1 {
		t.Errorf("a saddle above the level is crossed along %v", high)
	}
	// Two hills that touch in a saddle are two rings, or one, but each border is crossed once.
	rapid.Check(t, func(t *rapid.T) {
		rows := make([][]float64, 5)
		for i := range rows {
			rows[i] = rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1}), 5, 5).Draw(t, "row")
		}
		seen := map[string]bool{}
		for _, path := range contours(rows, 0.5) {
			closed := path[0] == path[len(path)-1]
			edge := func(at [2]float64) bool { return at[0] == 0 || at[0] == 4 || at[1] == 0 || at[1] == 4 }
			if !closed && (!edge(path[0]) || !edge(path[len(path)-1])) {
				t.Fatalf("a line ends within: %v", path)
			}
			if closed {
				path = path[1:]
			}
			for _, at := range path {
				if place := fmt.Sprint(at); seen[place] {
					t.Fatalf("a border is crossed twice at %s", place)
				} else {
					seen[place] = true
				}
			}
		}
	})
}

// A figure stands alone: it has its title, its cells and each name once, bands below lines in the
// colour of theirs, and nothing that needs a page.
func TestFigureStandsAlone(t *testing.T) {
	t.Parallel()
	x, y := values(1, 50, 100), values(2, 0.5, 1)
	cell := Panel{Title: "a & b < c", X: Axis{Title: "round t"}, Limits: []Limit{{Y: []float64{1.5}, Above: []bool{false}}}, Traces: []Trace{
		{Name: "falling", Style: Series(7), X: x, Low: values(1, 0.4, 0.7), High: values(3, 0.6, 1.5)},
		{Name: "falling", Style: Series(7), X: x, Y: y}, {Name: "flat", Style: Series(0), X: x, Y: y}, {Name: "mark", Style: Recommended, X: x, Y: y}}}
	drawn := string(Figure("both & all", []Panel{cell, cell, cell, cell}))
	wellFormed(t, drawn)
	high := cell
	high.Traces = []Trace{{Name: "high", Style: Series(0), X: x, Y: values(95, 90, 100)}}
	high.Limits = nil
	if far := string(Figure("far from 0", []Panel{high})); strings.Contains(far, ">0<") {
		t.Errorf("0 is shown beside values that are far from it: %s", far)
	}
	for text, times := range map[string]int{
		">both &amp; all<": 1, ">a &amp; b &lt; c<": 4, ">round t<": 4, ">falling<": 1, ">flat<": 1, ">limit<": 1, `fill="#d55e00" fill-opacity`: 4,
		`stroke="#d55e00" stroke-width="2" stroke-dasharray`: 4 + 1, `stroke="#0072b2" stroke-width="2" vector`: 4 + 1, `fill="url(#figure-hatch)"`: 4,
		">0.0<": 4, "var(": 0, "data-": 0, `<svg x="64" y="374"`: 1,
	} {
		if n := strings.Count(drawn, text); n != times {
			t.Errorf("%q is %d times in the figure, not %d", text, n, times)
		}
	}
}
