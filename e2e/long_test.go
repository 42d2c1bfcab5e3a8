package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// titration is a study of four parameters and two limits, one of them broken often, with that many
// results and one trial waiting.
func titration(t *testing.T, trials int) string {
	t.Helper()
	id := site.makeStudy(t, map[string]any{
		"name": fmt.Sprintf("Titration of %d", trials),
		"parameters": []map[string]any{
			{"name": "salt", "type": "real", "low": 0, "high": 10, "unit": "mM"}, {"name": "buffer", "type": "real", "low": 0, "high": 10, "unit": "mM"},
			{"name": "enzyme", "type": "real", "low": 0, "high": 10, "unit": "mM"}, {"name": "temperature", "type": "real", "low": 20, "high": 60, "unit": "°C"},
		},
		"objective": map[string]any{"metric": "yield", "direction": "maximize", "unit": "%"},
		"constraints": []map[string]any{
			{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}, {"metric": "pressure", "op": "<=", "threshold": 4, "unit": "bar"},
		},
	})
	draw := rand.New(rand.NewPCG(3, 3))
	site.rows(t, id, "salt,buffer,enzyme,temperature,yield,impurity,pressure", trials, func(k int) string {
		reach := max(0.25, 1-0.75*float64(k)/float64(trials))
		near := func(centre, span float64) float64 { return centre + reach*span*(2*draw.Float64()-1) }
		salt, buffer, enzyme, heat := near(5, 5), near(5, 5), near(5, 5), min(60, max(20, near(42, 20)))
		return fmt.Sprintf("%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f", salt, buffer, enzyme, heat,
			80-math.Pow(salt-5, 2)-math.Pow(buffer-4, 2)/2-math.Pow(heat-45, 2)/40+0.8*draw.NormFloat64(),
			0.1+math.Pow(heat/60, 4)+enzyme/60+0.02*draw.NormFloat64(), 1+salt/5+heat/60+0.05*draw.NormFloat64())
	})
	site.ask(t, id, 1)
	return id
}

// timed says how long a page took that was just opened: when it was first painted, when its first
// chart was drawn, how long the model's charts took from being scrolled to, and its longest task.
// Times depend on the machine and what else it does, so they are told and not judged.
func (p *tab) timed(turn string) {
	p.t.Helper()
	ask[any](p, `window.longest = 0; new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration) }).observe({type: "longtask", buffered: true}); 0`)
	p.until("the page", `document.readyState === "complete" && performance.getEntriesByName("first-contentful-paint").length`)
	const drawn = `performance.getEntriesByName("chart-%s")[0]?.startTime`
	ask[any](p, `document.querySelector("#progress").scrollIntoView(), 0`)
	p.until("the panels", fmt.Sprintf(drawn, "progress"))
	ask[any](p, `document.querySelector("#beliefs").scrollIntoView(), window.sought = performance.now(), 0`)
	p.until("the slices", fmt.Sprintf(drawn, "slices"))
	p.t.Logf("%s: first paint %.0f ms, panels drawn at %.0f ms, the model's charts %.0f ms after they were scrolled to, longest task %.0f ms", turn,
		ask[float64](p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`), ask[float64](p, fmt.Sprintf(drawn, "progress")),
		ask[float64](p, `Math.max(0, `+fmt.Sprintf(drawn, "slices")+` - window.sought)`), ask[float64](p, `window.longest`))
}

// TestAThousandTrialsStayLight: what a long study's page sends, fetches and draws stays small, one
// chart is drawn at a time, nothing jumps, and the page is no longer than three windows. With -v it
// says how long it took.
func TestAThousandTrialsStayLight(t *testing.T) {
	t.Parallel()
	id := titration(t, 1000)
	p := newAdmin(t)
	p.size(1440, 900)
	for _, turn := range []string{"cold", "warm"} {
		p.open("/studies/" + id)
		p.timed(turn)
	}
	ask[any](p, `window.moved = 0; window.movers = []; new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) { window.moved += entry.value; window.movers.push(entry.sources.map(({node}) => node?.id || node?.className || node?.nodeName).join(" ")) } }).observe({type: "layout-shift", buffered: true}); 0`)
	p.drawn()

	for _, entry := range []struct{ what, of string }{{"the page", "navigation"}, {"everything fetched", "resource"}} {
		bytes := ask[int](p, fmt.Sprintf(`performance.getEntriesByType(%q).reduce((sum, entry) => sum + entry.decodedBodySize, 0)`, entry.of))
		if most := map[string]int{"navigation": 100_000, "resource": 900_000}[entry.of]; bytes == 0 || bytes > most {
			t.Errorf("%s takes %d bytes, at most %d are meant", entry.what, bytes, most)
		}
	}
	sections := ask[map[string]int](p, `Object.fromEntries(performance.getEntriesByType("resource").filter((entry) => entry.name.includes("/parts/")).map((entry) => [entry.name.split("/parts/")[1], entry.decodedBodySize]))`)
	for name, bytes := range sections {
		if bytes > 300_000 {
			t.Errorf("the section %s takes %d bytes", name, bytes)
		}
	}
	if len(sections) < 4 {
		t.Errorf("sections were not fetched as they were seen: %v", sections)
	}
	if elements := ask[int](p, `Math.max(...[...document.querySelectorAll("[data-chart]")].map((chart) => chart.querySelectorAll("*").length))`); elements < 30 || elements > 1600 { // of which each of some 700 readings along the lines is one
		t.Errorf("a chart of a thousand trials has %d elements", elements)
	}
	if moved := ask[float64](p, `window.moved`); moved > 0.1 {
		t.Errorf("the layout shifts by %.3f: %s", moved, ask[string](p, `window.movers.join("; ")`))
	}
	if height := ask[int](p, `document.documentElement.scrollHeight`); height >= 3000 {
		t.Errorf("with one trial waiting the page is %d pixels high", height)
	}
}

// TestACardThatComesInPartsStaysWhereItIs: a slow connection brings the fields of a waiting trial
// after its settings and its reason.
func TestACardThatComesInPartsStaysWhereItIs(t *testing.T) {
	t.Parallel()
	id := titration(t, 12)
	p := newAdmin(t)
	p.size(1440, 900)
	p.open("/studies/" + id)
	ask[any](p, `(async () => {
		const page = (await (await fetch(location.href)).text()).replace(/<script.*?<\/script>/gs, ""), cut = page.indexOf('<div class="card-entry">');
		const frame = document.body.appendChild(document.createElement("iframe"));
		frame.style = "width: 1440px; height: 900px";
		const arriving = frame.contentDocument;
		arriving.open();
		arriving.write(page.slice(0, cut));
		await Promise.all([...arriving.querySelectorAll("link[rel=stylesheet]")].map((link) => link.sheet || new Promise((loaded) => link.addEventListener("load", loaded))));
		const place = () => arriving.querySelector(".why-more").getBoundingClientRect().top - arriving.querySelector(".card").getBoundingClientRect().top;
		const before = place();
		arriving.write(page.slice(cut));
		arriving.close();
		window.places = [before, place()];
	})(), 0`)
	p.until("the page in parts", `window.places`)
	if places := ask[[]float64](p, `window.places`); places[0] < 50 || places[0] != places[1] {
		t.Errorf("the reason of a trial stands %.0f pixels below the card's top, and %.0f once its fields have come", places[0], places[1])
	}
}
