package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// drawnTraces are the traces that a chart shows, after the expression of its element.
const drawnTraces = `.sheet?.frames.flatMap((frame) => frame.traces)`

// mouse moves over a chart, from one place to another with the button down where there are two; x and y are expressions of frame, in pixels.
func (p *tab) mouse(chart string, frame int, places ...[2]string) {
	p.t.Helper()
	var steps strings.Builder
	for i, place := range places {
		kinds := `["pointermove"]`
		switch {
		case len(places) > 1 && i == 0:
			kinds = `["pointermove", "pointerdown"]`
		case len(places) > 1 && i == len(places)-1:
			kinds = `["pointermove", "pointerup"]`
		}
		fmt.Fprintf(&steps, `for (const kind of %s) node.querySelector("svg").dispatchEvent(new PointerEvent(kind, {bubbles: true, pointerType: "mouse", clientX: box.left + %s, clientY: box.top + %s}));`, kinds, place[0], place[1])
	}
	ask[any](p, fmt.Sprintf(`(() => { const node = document.querySelector(%q); node.scrollIntoView(); const box = node.querySelector("svg").getBoundingClientRect(), frame = node.sheet.frames[%d]; %s return 0 })()`, chart, frame, steps.String()))
}

// zoomTrials drags over the panels from one trial to another, and returns what they show then.
func zoomTrials(p *tab, chart string, from, to int) []float64 {
	p.t.Helper()
	middle := `frame.top + frame.height / 2`
	p.mouse(chart, 0, [2]string{fmt.Sprintf("frame.x(%d)", from), middle}, [2]string{fmt.Sprintf("frame.x(%d)", to), middle})
	shown := ask[[]float64](p, fmt.Sprintf(`document.querySelector(%q).sheet.frames[0].x.domain()`, chart))
	if math.Abs(shown[0]-float64(from)) > 0.1 || math.Abs(shown[1]-float64(to)) > 0.1 {
		p.t.Fatalf("dragging from trial %d to %d shows %v", from, to, shown)
	}
	return shown
}

// squeezed is a text without its white space, which breaks lines where there is no room.
func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }

// TestChartsAnswer: a chart says what is under the pointer, over all panels at once; it zooms, hides what is pressed in the legend, and opens a trial.
func TestChartsAnswer(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Pointed at"))
	site.play(t, id, 8)
	p := newTab(t, site.base)
	p.signIn(site.link(t))
	p.open("/studies/" + id)
	p.drawn()
	checkTicks(t, p)
	p.mouse("#chart-progress", 1, [2]string{"frame.x(5) + 1", "frame.top + 3"})
	said := p.text("#chart-progress .tip")
	for _, word := range []string{"Trial 5", "yield", "impurity", "limit 0.5"} {
		if !strings.Contains(said, word) {
			t.Errorf("over trial 5 it says %q, without %q", said, word)
		}
	}
	for _, text := range ask[[]string](p, `document.querySelector("#chart-progress")`+drawnTraces+`.filter((trace) => trace.text && trace.x.includes(5)).map((trace) => trace.text[trace.x.indexOf(5)])`) {
		if !strings.Contains(squeezed(said), squeezed(text)) {
			t.Errorf("over trial 5 it says %q, not what was read: %q", said, text)
		}
	}
	p.mouse("#chart-slices", 0, [2]string{"frame.left + frame.width", "frame.top + 4"})
	expected := ask[string](p, `(({y, low, high}) => [y, low, high].map((values) => plots.brief(values.at(-1))).join(" "))(document.querySelector("#chart-slices").sheet.frames[0].traces.reduce((all, trace) => ({...all, ...(trace.style === "line" ? {y: trace.y} : trace.style === "band" ? {low: trace.low, high: trace.high} : {})}), {}))`)
	var mean, low, high string
	if _, err := fmt.Sscan(expected, &mean, &low, &high); err != nil {
		t.Fatalf("%v in %q", err, expected)
	}
	if said := p.text("#chart-slices .tip"); !strings.Contains(said, "expected "+mean) || !strings.Contains(said, low+" to "+high) {
		t.Errorf("over a slice it says %q, at %s expected", said, expected)
	}
	p.mouse("#chart-slices", 0, [2]string{"-5", "-5"})
	if p.count("#chart-slices .tip[hidden]") == 0 {
		t.Error("beside the slice it still says something")
	}

	zoomTrials(p, "#chart-progress", 2, 6)
	ask[any](p, `document.querySelector("#chart-progress").dispatchEvent(new MouseEvent("dblclick")); 0`)
	if shown := ask[[]float64](p, `document.querySelector("#chart-progress").sheet.frames[0].x.domain()`); shown[0] != 0.5 || shown[1] != 9.5 {
		t.Errorf("a double click leaves %v", shown)
	}

	within := `document.querySelector("#chart-progress")` + drawnTraces + `.filter((trace) => trace.name === "within the limit").length`
	before := ask[int](p, within)
	p.click(`#chart-progress [data-name="within the limit"]`)
	if left := ask[int](p, within); before == 0 || left != 0 {
		t.Errorf("%d traces of a name were drawn, %d after it was pressed", before, left)
	}
	p.click(`#chart-progress [data-name="within the limit"]`)
	if again := ask[int](p, within); again != before {
		t.Errorf("pressed again, %d of %d came back", again, before)
	}

	first := ask[int](p, `document.querySelector("#chart-progress").sheet.frames[0].traces.find((t) => t.trial).trial[0]`)
	ask[any](p, `(() => { const node = document.querySelector("#chart-progress"), frame = node.sheet.frames[0], trace = frame.traces.find((t) => t.trial), box = node.querySelector("svg").getBoundingClientRect();
		node.dispatchEvent(new MouseEvent("click", {clientX: box.left + frame.x(trace.x[0]), clientY: box.top + frame.y(trace.y[0])})); return 0 })()`)
	p.until("the trial's page", fmt.Sprintf(`location.pathname.endsWith("/trials/%d")`, first))
}
