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

	// The keyboard does what pressing does, and stays on the name when the chart is drawn again.
	ask[any](p, `document.querySelector('#chart-progress [data-name="within the limit"]').focus(), 0`)
	p.keys(" ")
	if left := ask[int](p, within); left != 0 || p.count(`#chart-progress [data-name="within the limit"][aria-pressed="false"]:focus`) != 1 {
		t.Errorf("after the space key %d traces are left, the focus is on %s", left, ask[string](p, "document.activeElement.outerHTML"))
	}
	p.keys(" ")
	if again := ask[int](p, within); again != before {
		t.Errorf("after another, %d of %d came back", again, before)
	}

	first := ask[int](p, `document.querySelector("#chart-progress").sheet.frames[0].traces.find((t) => t.trial).trial[0]`)
	ask[any](p, `(() => { const node = document.querySelector("#chart-progress"), frame = node.sheet.frames[0], trace = frame.traces.find((t) => t.trial), box = node.querySelector("svg").getBoundingClientRect();
		node.dispatchEvent(new MouseEvent("click", {clientX: box.left + frame.x(trace.x[0]), clientY: box.top + frame.y(trace.y[0])})); return 0 })()`)
	p.until("the trial's page", fmt.Sprintf(`location.pathname.endsWith("/trials/%d")`, first))
}

// TestWhatIsUnfoldedStaysSo: when the study changes, the numbers and the trust that somebody reads stay unfolded, also where they were fetched.
func TestWhatIsUnfoldedStaysSo(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, shaped("Unfolded", 1, 1))
	site.told(t, id, 1, 1, 70)
	site.asks(t, id, 1)
	p := newTab(t, site.base)
	p.signIn(site.link(t))
	p.open("/studies/" + id)
	p.drawn()
	p.click("#chart-progress-numbers > summary")
	p.until("the numbers", `document.querySelectorAll("#chart-progress-numbers td").length > 70`)
	p.click("#trust > summary")
	site.api(t, "POST", "/studies/"+id+"/trials/71/tell", map[string]any{"metrics": map[string]any{"yield": 71.5, "impurity 1": 0.4}}, nil)
	p.until("the change", `document.querySelector("#trial-71 td:nth-child(2)")?.textContent.includes("within")`)
	p.until("both to stay unfolded", `document.querySelector("#trust[open]") && document.querySelectorAll("#chart-progress-numbers[open] td").length > 70 && document.querySelector("#chart-progress-numbers").textContent.includes("71.5")`)
}

// TestTicksHaveNoIdleDigits: what a subtraction leaves behind is no digit of a tick, and ticks at the end of an axis keep clear of those before.
func TestTicksHaveNoIdleDigits(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Ticks"))
	site.play(t, id, 3)
	p := newTab(t, site.base)
	p.signIn(site.link(t))
	p.open("/studies/" + id)
	p.drawn()
	if got := ask[string](p, `[0.2, 0.3, 0.4, 0.5].map(plots.alike([0.2, 0.3, 0.4, 0.5])).join(" ")`); got != "0.2 0.3 0.4 0.5" {
		t.Errorf("ticks at tenths are written %s", got)
	}
	touching := ask[string](p, `(() => { const root = plots.add(document.body, "svg"), found = [];
		plots.frameOf(root, {left: 40, top: 0, width: 100, height: 40}, {x: {domain: [0.6, 12.4], ticks: 6, whole: true}, y: {domain: [0, 1]}}, {size: 11, inward: true, bare: {y: true}});
		const boxes = [...root.querySelectorAll("text")].map((text) => text.getBoundingClientRect()).sort((a, b) => a.left - b.left);
		for (let i = 1; i < boxes.length; i++) if (boxes[i].left < boxes[i - 1].right + 4) found.push(i);
		root.remove(); return boxes.length < 3 ? "only " + boxes.length : found.join(" ") })()`)
	if touching != "" {
		t.Errorf("ticks touch: %s", touching)
	}
}
