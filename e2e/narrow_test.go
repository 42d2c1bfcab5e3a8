package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// TestLongNamesFitAPhone walks the pages with names of a hundred characters and no place to break:
// none is wider than a phone, nor the report than a desk.
func TestLongNamesFitAPhone(t *testing.T) {
	t.Parallel()
	long := func(what string) string { return what + strings.Repeat("W", 100-len(what)) }
	choice := []string{long("water"), long("ethanol")}
	id := site.makeStudy(t, map[string]any{
		"name": long("study"),
		"parameters": []map[string]any{
			{"name": long("temperature"), "type": "real", "low": 20, "high": 60, "unit": "°C"},
			{"name": long("solvent"), "type": "categorical", "choices": choice},
		},
		"objective":        map[string]any{"metric": long("yield"), "direction": "maximize", "unit": "%"},
		"constraints":      []map[string]any{{"name": long("pure"), "metric": long("impurity"), "op": "<=", "threshold": 0.5, "unit": "%"}},
		"recorded_metrics": []map[string]any{{"metric": long("colour")}},
		"seed":             7,
	})
	for i := range 8 {
		x := 20 + 5*float64(i)
		site.api(t, "POST", "/studies/"+id+"/trials", map[string]any{
			"parameters": map[string]any{long("temperature"): x, long("solvent"): choice[i%2]},
			"metrics":    map[string]any{long("yield"): 80 - (x-45)*(x-45)/20, long("impurity"): 0.1 + x/100},
			"note":       long("note"),
		}, nil)
	}
	study := "/studies/" + id
	site.api(t, "POST", study+"/trials/3/corrections", map[string]any{"metrics": map[string]any{long("yield"): 50.5}, "reason": long("typo")}, nil)
	site.api(t, "POST", study+"/trials/4/exclude", map[string]any{"reason": long("spilled")}, nil)
	site.ask(t, id, 2)
	site.api(t, "POST", study+"/trials/10/tell", map[string]any{"metrics": map[string]any{long("impurity"): 0.705}, "parameters": map[string]any{long("temperature"): 61, long("solvent"): choice[0]}}, nil)
	p := newTab(t, site.base)
	p.size(390, 844)
	p.signIn(site.link(t))
	p.open("/people")
	p.fill("#f-invite_name", long("Person"))
	p.press("Make invite link")
	p.sees("Invite link for")
	p.fits("people")
	p.within("people")
	p.open(study + "/shares")
	p.fill("#f-name", long("Auditor"))
	p.press("Make link")
	p.sees("Link for")
	p.fits("shares")
	p.within("shares")
	for _, path := range []string{"/studies", study, study + "/bench", study + "/board", study + "/report", study + "/trials/3", study + "/trials/10", study + "/trials/9/sheet",
		study + "/trials/3/correct", study + "/own", study + "/edit", study + "/reconfigure", study + "/import", study + "/undo", "/studies/new?from=" + id} {
		p.open(path)
		p.drawn()
		p.fits(path)
	}
	p.open(study + "/trials/10")
	if high := ask[float64](p, `Math.max(...[...document.querySelectorAll(".results td")].map((e) => e.offsetHeight))`); high > 100 {
		t.Errorf("what was expected at the settings chosen leaves its name no room: its line is %v pixels high", high)
	}
	p.open(study)
	p.drawn()
	ask[any](p, `document.querySelectorAll(".under details").forEach((details) => { details.open = true })`)
	p.fits("the numbers behind charts")
	// What forms answer: a saving, a doubt, a forecast, a preview.
	p.open(study + "/bench")
	p.fill(result(9, 0), "700")
	p.fill(result(9, 1), "0.3")
	p.click("#card-9 button.primary")
	p.sees("Save anyway")
	p.fits("a doubt")
	p.press("Save anyway")
	p.until("saved", `document.querySelector("#saved-9")`)
	p.fits("saved")
	p.open(study + "/own")
	p.fill("#f-used_0", "44")
	p.choose("#f-used_1", choice[0])
	p.press("What to expect of it")
	p.until("the forecast", `document.querySelector("#forecast")`)
	p.fits("a forecast")
	p.open(study + "/trials/1/correct")
	p.fill("#f-metric_0", "60")
	p.fill("#f-reason", long("typo"))
	p.press("See what this would change")
	p.until("the preview", `document.querySelector("#consequences")`)
	p.fits("a preview")
	p.size(320, 700)
	p.open(study + "/trials/1/correct")
	p.fits("a correction on the smallest phone")
	p.open(study + "/trials/10")
	if beyond := ask[float64](p, `Math.max(...[...document.querySelectorAll(".results td")].map((e) => {
		const text = document.createRange()
		text.selectNodeContents(e)
		return e.getBoundingClientRect().left - text.getBoundingClientRect().left
	}))`); beyond > 1 {
		t.Errorf("what was expected at the settings chosen is cut off by %v pixels on the smallest phone", beyond)
	}
	p.size(1440, 1000)
	p.open(study + "/report")
	p.fits("the report on a desk")
}

// TestASheetOfManySettingsFitsAPhone, with a long unit among them.
func TestASheetOfManySettingsFitsAPhone(t *testing.T) {
	t.Parallel()
	definition := shaped("Many settings", 8, 1)
	definition["parameters"].([]map[string]any)[2]["unit"] = "micromole per litre and minute"
	id := site.makeStudy(t, definition)
	site.ask(t, id, 1)
	p := newAdmin(t)
	p.size(390, 844)
	p.open("/studies/" + id + "/trials/1/sheet")
	p.fits("the sheet")
}

// TestTrialsAreReadOnAPhone: a trial in the table of trials shows its settings and its readings
// without being scrolled sideways.
func TestTrialsAreReadOnAPhone(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, shaped("Trials on a phone", 5, 2))
	site.told(t, id, 5, 2, 8)
	site.ask(t, id, 1)
	p := newAdmin(t)
	p.size(390, 844)
	p.open("/studies/" + id)
	p.drawn()
	if beyond := ask[[]string](p, `[...document.querySelectorAll("#trials td")].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.innerText)`); len(beyond) > 0 {
		t.Errorf("beyond the edge: %q", beyond)
	}
	if first := ask[string](p, `(() => { const [label, unit] = ["::before", "::after"].map((part) => getComputedStyle(document.querySelector("#trial-8 td[data-label='yield']"), part).content); return label + unit })()`); !strings.Contains(first, "yield") || !strings.Contains(first, "%") {
		t.Errorf("a reading is labelled %s", first)
	}
	p.fingers("trials on a phone")
	p.open("/studies/" + id + "/report")
	if beyond := ask[[]string](p, `[...document.querySelectorAll(".trials td")].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.innerText)`); len(beyond) > 0 || p.count(".trials td") < 8 {
		t.Errorf("in the report beyond the edge: %q", beyond)
	}
}

// TestNamesOfTwoWordsStandWhole: neither are twelve settings too narrow for their names and units,
// nor is what is expected for its name.
func TestNamesOfTwoWordsStandWhole(t *testing.T) {
	t.Parallel()
	definition := shaped("Twelve", 12, 1)
	parameters := definition["parameters"].([]map[string]any)
	parameters[11]["name"], parameters[11]["unit"], parameters[11]["high"] = "inducer concentration", "µmol/L", 1000
	definition["objective"].(map[string]any)["metric"] = "drying time"
	id := site.makeStudy(t, definition)
	settings := map[string]any{}
	for _, p := range parameters {
		settings[p["name"].(string)] = 5.125
	}
	for i := range 4 {
		settings["inducer concentration"] = 212.9 + float64(i)
		site.api(t, "POST", "/studies/"+id+"/trials", map[string]any{"parameters": settings, "metrics": map[string]any{"drying time": 14.86 + float64(i), "impurity 1": 0.5057}}, nil)
	}
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	p.words("twelve settings")
	if broken := ask[[]string](p, `[...document.querySelectorAll(".verdict .settings dd, .expected tbody th")].filter((e) => {
		const text = document.createRange();
		text.selectNodeContents(e);
		return Math.max(...[...text.getClientRects()].map((box) => box.bottom)) - Math.min(...[...text.getClientRects()].map((box) => box.top)) > 1.6 * parseFloat(getComputedStyle(e).fontSize);
	}).map((e) => e.innerText)`); len(broken) > 0 {
		t.Errorf("stand in two lines: %q", broken)
	}
}

// TestTablesOfManyColumnsFit: of twenty settings the trials are read without being scrolled, on a
// desk, on paper and in a tablet's hand; so are the parameters and corrections of a report on a
// phone.
func TestTablesOfManyColumnsFit(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, shaped("Many columns", 20, 1))
	site.told(t, id, 20, 1, 3)
	site.api(t, "POST", "/studies/"+id+"/trials/2/corrections", map[string]any{"metrics": map[string]any{"yield": 60.5}, "reason": "read off the wrong line of the printout"}, nil)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	p.unscrolled("on a desk")
	if folded := p.count("#trials .folded"); folded != 3*22 {
		t.Errorf("%d values stand in columns of many", folded)
	}
	p.size(820, 1100)
	p.unscrolled("on a tablet")
	p.size(703, 1000) // A4 without its margins
	p.media(emulation.SetEmulatedMediaParams{Media: "print"})
	p.unscrolled("on paper")
	p.media(emulation.SetEmulatedMediaParams{})
	p.size(390, 844)
	for _, path := range []string{"/report", "/board"} {
		p.open("/studies/" + id + path)
		p.unscrolled(path + " on a phone")
	}
}

// unscrolled wants every table as wide as its place.
func (p *tab) unscrolled(what string) {
	p.t.Helper()
	if wide := ask[[]string](p, `[...document.querySelectorAll(".table-wrap:not(figure *)")].filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map((e) => e.ariaLabel + " " + (e.scrollWidth - e.clientWidth))`); len(wide) > 0 {
		p.t.Errorf("%s: wider than their places, by so many pixels: %q", what, wide)
	}
}

// TestAwkwardNumbersAndNames: powers of ten, long names, units and choices keep to their places on
// a desk, on a phone and on paper.
func TestAwkwardNumbersAndNames(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, map[string]any{
		"name": "Palladium-catalysed coupling of hindered aryl chlorides, set",
		"parameters": []map[string]any{
			{"name": "catalyst concentration", "type": "real", "low": 1e-12, "high": 1e-3, "unit": "mol/L", "scale": "log"},
			{"name": "ligand", "type": "categorical", "choices": []string{"4,5-bis(diphenylphosphino)-9,9-dimethylxanthene", "tri-tert-butylphosphonium tetrafluoroborate", "SPhos"}},
			{"name": "base", "type": "categorical", "choices": []string{"potassium phosphate, tribasic, monohydrate", "caesium carbonate"}},
			{"name": "stirring", "type": "integer", "low": 100, "high": 1000000}, {"name": "pressure", "type": "real", "low": 1, "high": 20, "unit": "bar"}, {"name": "time", "type": "real", "low": 1, "high": 20, "unit": "min"},
		},
		"objective": map[string]any{"metric": "rate of formation of the product", "direction": "maximize", "unit": "µmol/(L·min)"},
		"constraints": []map[string]any{
			{"metric": "palladium in the crude product", "op": "<=", "threshold": 1e-6, "unit": "mol/mol"}, {"metric": "dimer (by-product of homocoupling)", "op": "<=", "threshold": 1.5, "unit": "area %"},
		},
		"seed": 7,
	})
	site.rows(t, id, "catalyst concentration;ligand;base;stirring;pressure;time;rate of formation of the product;palladium in the crude product;dimer (by-product of homocoupling)", 8, func(i int) string {
		return fmt.Sprintf("%.3ge-7;%s;potassium phosphate, tribasic, monohydrate;%d;%d;5;%d;%.2fe-7;0.9%d", 1+float64(i), []string{"SPhos", "4,5-bis(diphenylphosphino)-9,9-dimethylxanthene"}[i%2], 400+i, 2+i, 400+i*i, 2+0.3*float64(i%5), i)
	})
	site.ask(t, id, 1)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	p.words("an awkward study")
	if beyond := ask[float64](p, `((box, inner) => inner.right - box.right)(document.querySelector(".verdict-answer").getBoundingClientRect(), document.querySelector(".expected").getBoundingClientRect())`); beyond > 0 {
		t.Errorf("what is expected reaches %v pixels into what stands beside it", beyond)
	}
	if sizes := ask[[]string](p, `[...new Set([...document.querySelectorAll("dd.long")].map((e) => getComputedStyle(e).fontSize))]`); len(sizes) != 1 || sizes[0] != "18px" {
		t.Errorf("long choices are written in %v", sizes)
	}
	if rows := ask[[]float64](p, `[...new Set([...document.querySelectorAll(".entry-fields input")].filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect().top))]`); len(rows) != 1 {
		t.Errorf("fields beside each other stand at %v", rows)
	}
	p.size(390, 844)
	if parts := ask[[]string](p, `[...document.querySelectorAll(".expected tr")].slice(1).filter((row) => row.cells[0].getBoundingClientRect().right > row.cells[1].getBoundingClientRect().left).map((row) => row.textContent)`); len(parts) > 0 {
		t.Errorf("names and values lie over each other: %q", parts)
	}
	p.size(703, 1000) // A4 without its margins
	p.open("/studies/" + id + "/board")
	p.media(emulation.SetEmulatedMediaParams{Media: "print"})
	if heads := ask[int](p, `document.body.innerText.match(/\b[0-9a-f]{64}\b/g).length`); heads != 1 {
		t.Errorf("on a board's paper the head of the ledger stands %d times", heads)
	}
	if wide := ask[int](p, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		t.Errorf("a board is %d pixels wider than the paper", wide)
	}
	p.media(emulation.SetEmulatedMediaParams{})
	p.size(1440, 1000)
	p.open("/studies/new?from=" + id)
	if cut := ask[[]string](p, `[...document.querySelectorAll(".row input")].filter((e) => e.value.length < 9 && e.scrollWidth > e.clientWidth).map((e) => e.value)`); len(cut) > 0 {
		t.Errorf("of a new study's numbers and units the ends are not seen: %q", cut)
	}
}

// TestNamesWithoutSpacesKeepToThePaper: where a name or a choice is longer than a column, as those of
// chemicals may be, a printed report is no wider for it.
func TestNamesWithoutSpacesKeepToThePaper(t *testing.T) {
	t.Parallel()
	chain := strings.Repeat("phenylene", 20)
	id := site.makeStudy(t, map[string]any{"name": "Chains", "objective": map[string]any{"metric": "yield of " + chain, "direction": "maximize"},
		"parameters": []map[string]any{{"name": "monomer", "type": "categorical", "choices": []string{"oligo" + chain, "thiophene"}}, {"name": "time", "type": "real", "low": 1, "high": 20, "unit": "min"}}})
	site.api(t, "POST", "/studies/"+id+"/trials", map[string]any{"parameters": map[string]any{"monomer": "oligo" + chain, "time": 5}, "metrics": map[string]any{"yield of " + chain: 61.5}}, nil)
	p := newAdmin(t)
	p.size(703, 1000) // A4 without its margins
	p.media(emulation.SetEmulatedMediaParams{Media: "print"})
	for _, path := range []string{"", "/report", "/trials/1"} {
		p.open("/studies/" + id + path)
		p.drawn()
		p.fits("on paper, " + path)
	}
}

// TestTheBarIsOneLine on a tablet, and its links are one on a phone, for an admin too, who has the most
// in it, and on the page whose name is the longest.
func TestTheBarIsOneLine(t *testing.T) {
	t.Parallel()
	p := newAdmin(t)
	p.open("/people")
	for width, parts := range map[int64]string{768: ".bar > *", 390: ".bar nav a"} {
		p.size(width, 1024)
		if high := ask[[]float64](p, `((boxes) => [Math.max(...boxes.map((box) => box.top)), Math.min(...boxes.map((box) => box.bottom))])([...document.querySelectorAll("`+parts+`")].map((e) => e.getBoundingClientRect()))`); high[0] >= high[1] {
			t.Errorf("at %d pixels one of %s begins at %v, below where another ends, at %v", width, parts, high[0], high[1])
		}
	}
}

// fits fails when the page can be scrolled sideways, and names what reaches beyond the window.
func (p *tab) fits(what string) {
	p.t.Helper()
	beyond := ask[[]string](p, `document.documentElement.scrollWidth <= innerWidth ? [] : ["the page"].concat([...document.querySelectorAll("body *")]
		.filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .table-wrap, .table, svg")).slice(0, 5).map((e) => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().right)))`)
	if len(beyond) > 0 {
		p.t.Errorf("%s: wider than its window: %s", what, fmt.Sprint(beyond))
	}
}

// within wants what can be done with the rows of a table within the window.
func (p *tab) within(what string) {
	p.t.Helper()
	if beyond := ask[int](p, `[...document.querySelectorAll(".table-wrap")].filter((e) => e.scrollWidth > e.clientWidth + 1 && e.querySelector("td button")).length`); beyond > 0 {
		p.t.Errorf("%s: %d tables have buttons, and scroll sideways", what, beyond)
	}
}

// TestLettersAreAsLargeAsTheReaderWants: who has set larger letters in their browser gets them, on
// every page as wide as its window.
func TestLettersAreAsLargeAsTheReaderWants(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Large letters"))
	site.play(t, id, 6)
	site.ask(t, id, 2)
	p := newAdmin(t)
	p.letters(32)
	for _, width := range []int64{1440, 390} {
		p.size(width, 900)
		for _, path := range []string{"/studies", "/studies/new", "/people", "/studies/" + id, "/studies/" + id + "/bench", "/studies/" + id + "/trials/6", "/studies/" + id + "/board"} {
			p.open(path)
			p.drawn()
			p.sound(fmt.Sprintf("%s in large letters, %d wide", path, width))
			if size := ask[float64](p, `parseFloat(getComputedStyle(document.querySelector("main p, main label, main li")).fontSize)`); size < 28 {
				t.Errorf("%s: letters of %v pixels, not of 32", path, size)
			}
		}
	}
}

// TestEnlargedAndInMoreContrast: in the low window of an enlarged page nothing stays in sight at its
// cost, and who asks for more contrast reads no grey words.
func TestEnlargedAndInMoreContrast(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Enlarged"))
	site.play(t, id, 3)
	p := newAdmin(t)
	p.size(320, 256) // 1280 × 1024 at 400 %
	p.open("/studies/" + id + "/board")
	p.drawn()
	p.sound("the board at 400 %")
	ask[any](p, `headroom.tell("Connection lost. What you enter is kept; this page catches up by itself."), 0`)
	if stays := ask[[]string](p, `[...document.querySelectorAll("body *")].filter((e) => ["sticky", "fixed"].includes(getComputedStyle(e).position)).map((e) => e.className)`); len(stays) > 0 {
		t.Errorf("these stay in sight: %q", stays)
	}
	if who := ask[bool](p, `(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector(".viewer > .quiet"))`); who {
		t.Error("who is signed in is cut off")
	}
	p.open("/studies/new")
	p.whole("a new study at 400 %")
	p.size(1440, 1000)
	p.open("/studies/" + id + "/board")
	p.drawn()
	const grey = `getComputedStyle(document.querySelector(".quiet")).color !== getComputedStyle(document.body).color`
	if !ask[bool](p, grey) {
		t.Error("nothing is quiet")
	}
	p.media(emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-contrast", Value: "more"}}})
	if ask[bool](p, grey) {
		t.Error("quiet words are grey where more contrast is asked for")
	}
}
