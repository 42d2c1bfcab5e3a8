package e2e

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

// framed is a script's frame number n of a chart: its element, its box in the window, where values
// stand in that, and from where to where its axes are seen.
func framed(chart string, n int) string {
	return fmt.Sprintf(`((svg) => {
		const box = svg.getBoundingClientRect(), zoom = svg.querySelector(".zoom"), ends = (name) => svg.dataset[name].split(" ").map(Number), part = (name, value) => (value - ends(name)[0]) / (ends(name)[1] - ends(name)[0]);
		const whole = parseFloat(zoom.getAttribute("width") ?? 100) / 100, left = parseFloat(zoom.getAttribute("x") ?? 0) / 100, value = (part) => ends("x")[0] + part * (ends("x")[1] - ends("x")[0]);
		return {svg, left: 0, top: 0, width: box.width, height: box.height, box, x: (v) => box.width * (left + whole * part("x", v)), y: (v) => box.height * (1 - part("y", v)), seen: [value(-left / whole), value((1 - left) / whole)],
			marks: [...svg.querySelectorAll("[data-kind=marks]")].flatMap((group) => { const said = JSON.parse(group.dataset.said), trials = JSON.parse(group.dataset.trials ?? "[]");
				return [...group.querySelectorAll("use")].map((use, i) => ({name: group.dataset.name, text: said[i], trial: trials[i], at: parseFloat(use.getAttribute("x")) / 100, x: value(parseFloat(use.getAttribute("x")) / 100), y: ends("y")[0] + (1 - parseFloat(use.getAttribute("y")) / 100) * (ends("y")[1] - ends("y")[0])})) })};
	})(document.querySelectorAll("%s svg.frame")[%d])`, chart, n)
}

// mouse moves over a chart, from one place to another with the button down where there are two; x
// and y are expressions of frame, in pixels.
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
		fmt.Fprintf(&steps, `for (const kind of %s) frame.svg.dispatchEvent(new PointerEvent(kind, {bubbles: true, pointerType: "mouse", clientX: frame.box.left + %s, clientY: frame.box.top + %s}));`, kinds, place[0], place[1])
	}
	ask[any](p, fmt.Sprintf(`(() => { document.querySelector(%q).scrollIntoView(); const frame = %s; %s return 0 })()`, chart, framed(chart, frame), steps.String()))
}

// ticks are what is written at the x axis of frame number n of a chart.
func (p *tab) ticks(chart string, n int) string {
	p.t.Helper()
	return ask[string](p, fmt.Sprintf(`document.querySelectorAll("%s svg.frame")[%d].querySelector("[data-axis=x]").textContent`, chart, n))
}

// zoomTrials drags over the panels from one trial to another, and returns what they show then.
func zoomTrials(p *tab, chart string, from, to int) []float64 {
	p.t.Helper()
	middle := `frame.top + frame.height / 2`
	p.mouse(chart, 0, [2]string{fmt.Sprintf("frame.x(%d)", from), middle}, [2]string{fmt.Sprintf("frame.x(%d)", to), middle})
	shown := ask[[]float64](p, framed(chart, 0)+`.seen`)
	if math.Abs(shown[0]-float64(from)) > 0.1 || math.Abs(shown[1]-float64(to)) > 0.1 {
		p.t.Fatalf("dragging from trial %d to %d shows %v", from, to, shown)
	}
	return shown
}

// squeezed is a text without its white space, which breaks lines where there is no room.
func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }

// TestChartsAnswer: a chart says what is under the pointer, over all panels at once; it zooms,
// hides what is pressed in the legend, and opens a trial.
func TestChartsAnswer(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Pointed at"))
	site.play(t, id, 8)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()

	p.mouse("#chart-progress", 1, [2]string{"frame.x(5) + 1", "frame.top + 3"})
	said := p.text("#chart-progress .tip")
	for _, word := range []string{"Trial 5", "yield", "impurity", "limit 0.5"} {
		if !strings.Contains(said, word) {
			t.Errorf("over trial 5 it says %q, without %q", said, word)
		}
	}
	for _, text := range ask[[]string](p, framed("#chart-progress", 0)+`.marks.filter((mark) => Math.abs(mark.x - 5) < 0.1).map((mark) => mark.text)`) {
		if !strings.Contains(squeezed(said), squeezed(text)) {
			t.Errorf("over trial 5 it says %q, not what was read: %q", said, text)
		}
	}
	p.mouse("#chart-slices", 0, [2]string{"frame.left + frame.width", "frame.top + 4"})
	expected := ask[[]string](p, `(([band, line]) => [JSON.parse(line.dataset.said).at(-1), JSON.parse(band.dataset.said).at(-1)])([...document.querySelectorAll("#chart-slices svg.frame")[0].querySelectorAll("[data-kind=line]")])`)
	if said := p.text("#chart-slices .tip"); !strings.Contains(said, "expected "+expected[0]) || !strings.Contains(said, expected[1]) {
		t.Errorf("over a slice it says %q, not %q", said, expected)
	}
	p.mouse("#chart-slices", 0, [2]string{"-45", "-45"})
	if p.count("#chart-slices .tip[hidden]") == 0 {
		t.Error("beside the slice it still says something")
	}

	for _, zoomed := range []struct {
		from, to int
		ticks    string
	}{{2, 6, "23456"}, {3, 5, "345"}} {
		zoomTrials(p, "#chart-progress", zoomed.from, zoomed.to)
		if ticks := p.ticks("#chart-progress", p.count("#chart-progress svg.frame")-1); ticks != zoomed.ticks {
			t.Errorf("zoomed from trial %d to %d the axis has the ticks %s", zoomed.from, zoomed.to, ticks)
		}
	}
	ask[any](p, `document.querySelector("#chart-progress").dispatchEvent(new MouseEvent("dblclick")); 0`)
	if shown := ask[[]float64](p, framed("#chart-progress", 0)+`.seen`); shown[0] != 0.5 || shown[1] != 9.5 {
		t.Errorf("a double click leaves %v", shown)
	}

	within := `[...document.querySelectorAll('#chart-progress .frame [data-name="within the limit"] use')].filter((mark) => getComputedStyle(mark.parentNode).display !== "none").length`
	before := ask[int](p, within)
	p.click(`#chart-progress button[data-name="within the limit"]`)
	if left := ask[int](p, within); before == 0 || left != 0 {
		t.Errorf("%d traces of a name were drawn, %d after it was pressed", before, left)
	}
	p.click(`#chart-progress button[data-name="within the limit"]`)
	if again := ask[int](p, within); again != before {
		t.Errorf("pressed again, %d of %d came back", again, before)
	}

	// The keyboard does what pressing does, and stays on the name when the chart is drawn again.
	ask[any](p, `document.querySelector('#chart-progress button[data-name="within the limit"]').focus(), 0`)
	p.keys(" ")
	if left := ask[int](p, within); left != 0 || p.count(`#chart-progress button[data-name="within the limit"][aria-pressed="false"]:focus`) != 1 {
		t.Errorf("after the space key %d traces are left, the focus is on %s", left, ask[string](p, "document.activeElement.outerHTML"))
	}
	p.keys(" ")
	if again := ask[int](p, within); again != before {
		t.Errorf("after another, %d of %d came back", again, before)
	}

	first := ask[int](p, framed("#chart-progress", 0)+`.marks.find((mark) => mark.trial).trial`)
	ask[any](p, `(() => { const frame = `+framed("#chart-progress", 0)+`, mark = frame.marks.find((mark) => mark.trial);
		frame.svg.dispatchEvent(new MouseEvent("click", {bubbles: true, clientX: frame.box.left + frame.x(mark.x), clientY: frame.box.top + frame.y(mark.y)})); return 0 })()`)
	p.until("the trial's page", fmt.Sprintf(`location.pathname.endsWith("/trials/%d")`, first))
}

// TestAChartAnswersAFinger, which is nowhere before it presses, and gone when the click comes.
func TestAChartAnswersAFinger(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Touched"))
	site.play(t, id, 8)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	ask[any](p, `(() => { const frame = `+framed("#chart-progress", 1)+`, at = {bubbles: true, pointerType: "touch", clientX: frame.box.left + frame.x(5) + 1, clientY: frame.box.top + 3};
		for (const kind of ["pointerdown", "pointerup", "pointerleave", "click"]) (kind === "pointerleave" ? document.querySelector("#chart-progress") : frame.svg).dispatchEvent(new PointerEvent(kind, at));
		return 0 })()`)
	if said := p.text("#chart-progress .tip"); !strings.Contains(said, "Trial 5") {
		t.Errorf("where a finger pressed, over trial 5, it says %q", said)
	}
}

// TestChartsNameValuesAsPagesDo: what stands over a slice is a value that its parameter has, with
// powers of ten as elsewhere; and zooming in ends where ticks would say the same.
func TestChartsNameValuesAsPagesDo(t *testing.T) {
	t.Parallel()
	definition := buffer("Read off")
	parameters := definition["parameters"].([]map[string]any)
	parameters[1]["high"] = 11
	definition["parameters"] = append(parameters, map[string]any{"name": "salt", "type": "real", "low": 1e-9, "high": 1e-5, "scale": "log"})
	id := site.makeStudy(t, definition)
	site.play(t, id, 8)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	titles := ask[[]string](p, `(() => { const titles = []; document.querySelector("#chart-slices").scrollIntoView();
		for (const svg of document.querySelectorAll("#chart-slices svg.frame")) {
			const box = svg.getBoundingClientRect(), [low, high] = svg.dataset.x.split(" "), log = svg.dataset.x.includes("log");
			for (let n = log ? 4 : 0; n <= (log ? 36 : 10); n++) {
				if (!log && Number(high) > 12) continue;
				const at = log ? n / 40 : (n + 1 - low) / (high - low);
				svg.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: box.left + at * box.width, clientY: box.top + box.height - 1}));
				const said = document.querySelector("#chart-slices .tip b")?.textContent;
				if (said) titles.push(said);
			}
		}
		return titles })()`)
	if len(titles) < 50 {
		t.Errorf("over the slices stand only %q", titles)
	}
	for _, title := range titles {
		if !regexp.MustCompile(`^([1-9]|1[01]|[1-9](\.\d+)?×10⁻[⁶⁷⁸⁹])$`).MatchString(title) {
			t.Errorf("over a slice stands %q", title)
		}
	}
	slice := ask[int](p, `[...document.querySelectorAll("#chart-slices svg.frame")].findIndex((svg) => svg.dataset.x.includes("log"))`)
	for _, zoom := range []struct {
		from, to, ticks string
	}{{"frame.width * 0.05", "frame.width * 0.8", "10⁻⁸10⁻⁷10⁻⁶"}, {"frame.width * 0.3", "frame.width * 0.65", "2×10⁻⁸5×10⁻⁸1×10⁻⁷"}} {
		p.mouse("#chart-slices", slice, [2]string{zoom.from, "frame.height / 2"}, [2]string{zoom.to, "frame.height / 2"})
		if ticks := p.ticks("#chart-slices", slice); ticks != zoom.ticks {
			t.Errorf("zoomed into, a logarithmic axis has the ticks %s", ticks)
		}
	}
	p.until("an end of zooming in", `(() => { const node = document.querySelector("#chart-progress"), svg = node.querySelector("svg.frame"); node.scrollIntoView();
		for (let n = 0; n < 20; n++) {
			const box = svg.getBoundingClientRect();
			for (const [kind, at] of [["pointerdown", 0.50], ["pointerup", 0.62]]) svg.dispatchEvent(new PointerEvent(kind, {bubbles: true, pointerType: "mouse", clientX: box.left + 9, clientY: box.top + at * box.height}));
		}
		const ticks = [...svg.querySelectorAll("[data-axis=y] text")].map((text) => text.textContent);
		return ticks.length > 1 && ticks.length < 12 && new Set(ticks).size === ticks.length })()`)
}

// TestWhatIsUnfoldedStaysSo: when the study changes, the numbers and the trust that somebody reads
// stay unfolded, also where they were fetched.
func TestWhatIsUnfoldedStaysSo(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, shaped("Unfolded", 1, 1))
	site.told(t, id, 1, 1, 70)
	site.ask(t, id, 1)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	p.click("#chart-progress-numbers > summary")
	p.until("the numbers", `document.querySelectorAll("#chart-progress-numbers td").length > 70`)
	p.click("#trust > summary")
	site.api(t, "POST", "/studies/"+id+"/trials/71/tell", map[string]any{"metrics": map[string]any{"yield": 71.5, "impurity 1": 0.4}}, nil)
	p.until("the change", `document.querySelector("#trial-71 td:nth-child(2)")?.textContent.includes("within")`)
	p.until("both to stay unfolded", `document.querySelector("#trust[open]") && document.querySelectorAll("#chart-progress-numbers[open] td").length > 70 && document.querySelector("#chart-progress-numbers").textContent.includes("71.5")`)

	// What somebody works in stays at its place in the window, though what stands below it shrinks,
	// and charts are as high at once as they will be.
	p.drawn() // nothing of the change before comes meanwhile
	before := ask[float64](p, `(() => {
		const field = document.querySelector("#f-metric"), choose = document.querySelector("#beliefs-choose");
		choose.open = true;
		document.body.style.paddingBottom = "1000px";
		choose.style.marginBottom = "300px";
		field.focus();
		scrollBy(0, field.getBoundingClientRect().top - 300);
		window.old = field;
		window.high = [];
		const note = () => { high.push(document.querySelector("#beliefs .beliefs").offsetHeight); if (high.length < 400) requestAnimationFrame(note); };
		note();
		return field.getBoundingClientRect().top })()`)
	ask[any](p, `htmx.trigger(document.body, "changed", {})`)
	p.until("the model drawn anew", "!old.isConnected")
	p.ready()
	if after := ask[float64](p, `document.querySelector("#f-metric").getBoundingClientRect().top`); math.Abs(after-before) > 1 {
		t.Errorf("the field with the cursor went from %g to %g", before, after)
	}
	if high := ask[[]int](p, `[...new Set(high)]`); len(high) != 1 {
		t.Errorf("charts are %v pixels high, one after the other", high)
	}
}
