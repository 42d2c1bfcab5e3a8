package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestTheCursorStaysNear: where the pressed link has gone it is at the heading of its part; an open
// menu closes when it is left; what is drawn anew as it was keeps it; and rows that are wrong have it.
func TestTheCursorStaysNear(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Near"))
	site.play(t, id, 9)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	p.focus("#trials-older")
	p.keys(kb.Enter)
	p.until("the heading of the trials", `document.activeElement.id === "trials-title"`)
	const open = `document.querySelector(".tools details").open`
	p.focus(".tools summary")
	p.keys(kb.Enter)
	p.until("the menu", open)
	p.keys(kb.Tab + kb.Escape)
	p.until("its closing", "!"+open+` && document.activeElement.matches(".tools summary")`)
	p.keys(kb.Enter)
	p.until("the menu again", open)
	p.focus(".tools a")
	p.until("its closing", "!"+open)
	for _, place := range []string{"#chart-progress .legend button + button", "#chart-progress ~ .under summary"} {
		p.focus(place)
		ask[any](p, `window.old = document.activeElement; 0`)
		site.ask(t, id, 1)
		p.until(place+" again", `!old.isConnected && document.activeElement === document.querySelector("`+place+`")`)
	}
	p.open("/studies/" + id + "/import")
	p.fill("textarea", "temperature,yield\n900,x")
	p.focus("button[value=check]")
	p.keys(kb.Enter)
	p.until("what is wrong", `document.activeElement.matches(".notice.bad") && document.activeElement.textContent.includes("Nothing was imported")`)
}

// TestChartsAnswerKeys: arrows say what is where as a pointer does, + zooms and Escape shows all;
// a refresh leaves the cursor there. A double press zooms for who does not drag.
func TestChartsAnswerKeys(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("By keys"))
	site.play(t, id, 8)
	p := newAdmin(t)
	p.before(listener)
	p.open("/studies/" + id)
	p.drawn()
	p.focus("#chart-progress")
	said := func(chart string) string { return squeezed(p.text(chart + " .tip:not([hidden])")) }
	p.keys(kb.ArrowRight)
	first := said("#chart-progress")
	p.keys(kb.ArrowLeft + kb.ArrowLeft)
	before := said("#chart-progress")
	if !strings.HasPrefix(first, "Trial6") || !strings.Contains(first, "yield") || !strings.HasPrefix(before, "Trial4") {
		t.Errorf("arrows say %q, then two to the left %q", first, before)
	}
	p.hears("Trial 4, ")
	whole := p.ticks("#chart-progress", p.count("#chart-progress svg.frame")-1)
	p.keys("+")
	if zoomed := p.ticks("#chart-progress", p.count("#chart-progress svg.frame")-1); zoomed == whole || !strings.Contains(zoomed, "4") {
		t.Errorf("+ shows %s of %s", zoomed, whole)
	}
	site.ask(t, id, 1)
	p.sees("trial 9 of")
	p.ready()
	if !ask[bool](p, `document.activeElement.id === "chart-progress"`) {
		t.Error("a refresh takes the cursor from the chart")
	}
	p.keys(kb.Escape)
	if shown := ask[[]float64](p, framed("#chart-progress", 0)+`.seen`); shown[1]-shown[0] < 8 || said("#chart-progress") != "" {
		t.Errorf("Escape leaves %v and %q", shown, said("#chart-progress"))
	}
	seen := map[string]bool{}
	p.focus("#chart-slices")
	for range 45 {
		p.keys(kb.ArrowRight)
		seen[said("#chart-slices")] = true
	}
	if len(seen) < 30 {
		t.Errorf("through the slices arrows say %d things: %v", len(seen), seen)
	}
	p.focus("[data-chart][id^=chart-map-]")
	p.keys(kb.ArrowUp)
	if over := said("[data-chart][id^=chart-map-]"); !strings.Contains(over, "expected") && !strings.Contains(over, "Trial") {
		t.Errorf("over the map arrows say %q", over)
	}
	if stops := ask[[]int](p, `[...document.querySelectorAll(".legend")].map((e) => [...e.querySelectorAll("button")].filter((name) => name.tabIndex === 0).length)`); len(stops) < 3 || slices.Max(stops) != 1 {
		t.Errorf("Tab stops in legends so often: %v", stops)
	}
	p.focus("#chart-progress .legend button")
	p.keys(kb.ArrowRight + kb.ArrowRight + kb.ArrowLeft)
	if !ask[bool](p, `document.activeElement.tabIndex === 0 && document.activeElement.matches("#chart-progress .legend button:nth-child(2)")`) {
		t.Error("arrows do not go from name to name")
	}
	p.keys(kb.End + kb.ArrowRight)
	if !ask[bool](p, `document.activeElement.matches("#chart-progress .legend button:first-child")`) {
		t.Error("after the last name does not come the first")
	}
	ask[any](p, `(() => { const frame = `+framed("#chart-progress", 0)+`; frame.svg.dispatchEvent(new MouseEvent("dblclick", {bubbles: true, clientX: frame.box.left + frame.x(5), clientY: frame.box.top + 5})); return 0 })()`)
	if shown := ask[[]float64](p, framed("#chart-progress", 0)+`.seen`); shown[1]-shown[0] > 4 || shown[0] > 5 || shown[1] < 5 {
		t.Errorf("a double press at trial 5 shows %v", shown)
	}
}
