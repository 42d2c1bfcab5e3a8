package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// look opens a page on a desk and on a phone and audits it, on the desk in the dark and on a huge
// screen too, and keeps its pictures when HEADROOM_SCREENSHOTS is set.
func (p *tab) look(name, path string) {
	p.t.Helper()
	guise := func(guise string, check func(what string)) {
		p.t.Helper()
		p.drawn()
		check(name + " " + guise)
		p.keep(name + "-" + guise)
	}
	p.open(path)
	guise("wide", func(what string) {
		p.audit(what)
		p.whole(what)
	})
	p.dark()
	guise("wide-dark", p.contrast)
	p.light()
	p.size(2560, 1400)
	guise("huge", p.sound)
	p.size(390, 844)
	p.open(path)
	guise("phone", func(what string) {
		p.audit(what)
		p.fingers(what)
		p.words(what)
	})
	p.size(1440, 1000)
}

// fingers finds what is pressed and smaller than a finger needs; what stands below a chart is pressed
// less, and may be lower.
func (p *tab) fingers(what string) {
	p.t.Helper()
	if small := ask[[]string](p, `[...document.querySelectorAll("main button, main .button, main summary, .tools > a, .more a, .filters a, .wordmark")].map((e) => [e, e.getBoundingClientRect()])
		.filter(([e, { width, height }]) => e.checkVisibility() && !e.closest("figure.chart, .visually-hidden") && Math.min(width, height) < 44)
		.map(([e, { width, height }]) => e.textContent.trim() + " " + Math.round(width) + " × " + Math.round(height))`); len(small) > 0 {
		p.t.Errorf("%s: too small for a finger: %q", what, small)
	}
}

// whole finds words that are broken between lines, and choices that their lists cut off, but for
// names longer than any word.
func (p *tab) whole(what string) {
	p.t.Helper()
	p.words(what)
	if cut := ask[[]string](p, `[...document.querySelectorAll("main select")].filter((s) => s.checkVisibility()).flatMap((s) => {
		const pen = document.createElement("canvas").getContext("2d");
		const { fontWeight, fontSize, fontFamily } = getComputedStyle(s); // font would be empty, since its figures are tabular
		pen.font = [fontWeight, fontSize, fontFamily].join(" ");
		const arrow = 16;
		return [...s.options].filter((o) => !/\S{21}/.test(o.text) && pen.measureText(o.text).width + 20 + arrow > s.clientWidth).map((o) => o.text);
	})`); len(cut) > 0 {
		p.t.Errorf("%s: lists cut off %q", what, cut)
	}
}

// words finds words that are broken between lines, and titles of charts that leave their frames, of
// which the unit is then cut off.
func (p *tab) words(what string) {
	p.t.Helper()
	if wide := ask[[]string](p, `[...document.querySelectorAll(".plot .title")].filter((t) => t.checkVisibility() && t.scrollWidth > t.clientWidth + 1).map((t) => t.textContent)`); len(wide) > 0 {
		p.t.Errorf("%s: wider than their frames: %q", what, wide)
	}
	if broken := ask[[]string](p, `(() => {
		const broken = [], texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT), range = document.createRange();
		for (let text = texts.nextNode(); text; text = texts.nextNode()) {
			if (!text.parentElement.checkVisibility() || text.parentElement.closest("svg, textarea, option, code, .sheet figcaption, .visually-hidden")) continue;
			for (const word of text.data.matchAll(/(?<![\p{L}\p{N}])[\p{L}\p{N}]{2,20}(?![\p{L}\p{N}])/gu)) {
				range.setStart(text, word.index);
				range.setEnd(text, word.index + word[0].length);
				if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) broken.push(word[0]);
			}
		}
		return broken;
	})()`); len(broken) > 0 {
		p.t.Errorf("%s: broken between lines: %q", what, broken)
	}
}

// drawn waits until every section of the page has been scrolled to and fetched, and every chart
// drawn.
func (p *tab) drawn() {
	p.t.Helper()
	p.ready() // before, what is not read yet cannot be missed
	p.until("the sections", `(() => { const later = document.querySelector("[data-later]"); later?.scrollIntoView(); return !later && !document.querySelector(".htmx-request") })()`)
	p.until("the top again", `(scrollTo(0, 0), true)`)
}

// TestOnPaper: a study that is printed without having been scrolled through says what is missing and
// where all of it is; a sheet of many settings keeps units beside their blanks, and its foot names
// the trial on every page.
func TestOnPaper(t *testing.T) {
	t.Parallel()
	definition := shaped("On paper", 14, 1)
	first := definition["parameters"].([]map[string]any)[0]
	first["name"], first["unit"] = "catalyst of the second step", "mol %"
	id := site.makeStudy(t, definition)
	site.ask(t, id, 1)
	p := newAdmin(t)
	p.size(718, 1000)
	p.media(emulation.SetEmulatedMediaParams{Media: "print"})
	p.before(`window.IntersectionObserver = class { observe() {} unobserve() {} }`)
	p.open("/studies/" + id)
	p.ready()
	p.seesNot("being worked out")
	p.sees("Not printed, because this part was not scrolled to before printing. The whole study is in its report")
	if high := ask[[]float64](p, `[...document.querySelectorAll("[data-later]")].map((e) => e.offsetHeight).filter((high) => high > 120)`); len(high) > 0 {
		t.Errorf("what is missing takes %v pixels of the paper", high)
	}
	p.click(`.only-print a[href$="/report"]`)
	p.sees("On paper")
	// The number of a trial stands in the first of its lines.
	if low := ask[[]string](p, `[...document.querySelectorAll("tbody tr")].filter((row) => {
		const [number, beside] = [...row.cells].map((cell) => { const words = document.createRange(); words.selectNodeContents(cell); return words.getClientRects()[0]?.bottom });
		return Math.abs(number - beside) > 4;
	}).map((row) => row.innerText)`); len(low) > 0 {
		t.Errorf("heads lie lower than their lines: %q", low)
	}
	p.open("/studies/" + id + "/trials/1")
	if near := ask[[]float64](p, `[...document.querySelectorAll(".ledger li")].map((line) => line.querySelector("p").getBoundingClientRect().left - line.querySelector("time").getBoundingClientRect().right)`); len(near) != 1 || near[0] < 8 {
		t.Errorf("what happened to a trial is said %v pixels from when it did", near)
	}
	p.size(740, 1000) // a letter's width, at which blanks are no shorter than on a desk
	p.open("/studies/" + id + "/trials/1/sheet")
	if high := ask[[]float64](p, `[...document.querySelectorAll(".used td")].map((e) => e.scrollHeight - e.clientHeight).filter((more) => more > 4)`); len(high) > 0 {
		t.Errorf("units stand below their blanks, by %v pixels", high)
	}
	if foot := ask[string](p, `(({ display, breakInside }) => display + " " + breakInside)(getComputedStyle(document.querySelector(".sheet > footer")))`); foot != "table-footer-group avoid" {
		t.Errorf("the foot is no foot of every page: %s", foot)
	}
	p.sees("Trial 1 of On paper, printed")
}

// TestMoreCardsAreFolded where a plate waits, so that what is below them stays near. What is typed there
// stays in sight when results come and after a reload.
func TestMoreCardsAreFolded(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Folded"))
	site.ask(t, id, 12)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.listening()
	shown := `[...document.querySelectorAll("#next .card")].filter((card) => card.checkVisibility()).length`
	if n := ask[int](p, shown); n != 8 {
		t.Errorf("%d of 12 cards are shown", n)
	}
	p.press("4 more cards")
	p.until("all cards", shown+" === 12")
	const note = `#card-12 [name="note"]`
	p.click(`#card-12 details:has([name="note"]) > summary`)
	p.fill(note, "cloudy")
	site.tell(t, id, 1, map[string]any{"yield": 71.25, "impurity": 0.2})
	p.until("a card less, and the others", shown+" === 11")
	p.holds(note, "cloudy")
	p.reload()
	p.until("what was typed, in sight", shown+" === 11")
	p.holds(note, "cloudy")
	p.audit("folded cards")
}

// TestAPlateOnPaper: 96 trials that wait stand on one sheet, a row each with blanks for what is not
// read yet, and on the printed bench their cards begin on its first page.
func TestAPlateOnPaper(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Plate"))
	site.ask(t, id, 50)
	site.ask(t, id, 46)
	site.tell(t, id, 2, map[string]any{"yield": 71.25})
	p := newAdmin(t)
	p.open("/studies/" + id + "/bench")
	p.sees("46 more are waiting; they are in the study’s table of trials. All that waits on one sheet")
	p.media(emulation.SetEmulatedMediaParams{Media: "print"})
	if got := ask[string](p, `getComputedStyle(document.querySelector("#next")).breakInside`); got != "auto" {
		t.Errorf("50 cards are kept together on paper (%s), which leaves the first page empty", got)
	}
	p.press("All that waits on one sheet")
	p.sees("What waits in Plate")
	p.size(703, 1000) // A4 without its margins
	p.sound("the sheet")
	if blank := ask[[]int](p, `["tbody tr", ".box", ".box:empty"].map((cells) => document.querySelectorAll(cells).length)`); !slices.Equal(blank, []int{96, 288, 287}) {
		t.Errorf("%d rows, cells for readings and blanks", blank)
	}
	p.media(emulation.SetEmulatedMediaParams{})
	p.audit("the sheet")
	p.dark()
	p.contrast("the sheet in the dark")
	p.light()
	p.press("Import their results")
	p.fill("#f-text", "number;impurity;yield\n96;0,3;61,5\n2;0,31;71,25\n")
	p.press("Check")
	p.sees("the table has something new of 2 trials")
	p.audit("a plate's results")
	p.press("Import")
	p.sees("The rows are imported.")
	p.open("/studies/" + id + "/import?by_number=yes")
	p.fill("#f-text", "number;yield\n2;71,25\n")
	p.press("Check")
	p.sees("all of this is here already")
}

// TestLongTextsFitOnPaper: an address as a reason or a note widens no table of the report beyond it,
// nor the study's long name its sheets.
func TestLongTextsFitOnPaper(t *testing.T) {
	t.Parallel()
	definition := buffer(strings.Repeat("W", 100))
	id, address := site.makeStudy(t, definition), "https://notebook.example/records/"+strings.Repeat("c0ffee", 12)
	site.play(t, id, 2)
	study := "/studies/" + id
	site.api(t, "POST", study+"/trials/1/corrections", map[string]any{"metrics": map[string]any{"yield": 50.5}, "reason": address}, nil)
	site.ask(t, id, 1)
	site.api(t, "POST", study+"/trials/3/tell", map[string]any{"metrics": map[string]any{"yield": 71.2}, "note": address}, nil)
	p := newAdmin(t)
	p.media(emulation.SetEmulatedMediaParams{Media: "print"})
	p.size(687, 1000) // A4 without its margins
	for _, path := range []string{study + "/report", study + "/trials/3/sheet"} {
		p.open(path)
		if wide := ask[[]string](p, `[...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.closest("svg svg, .visually-hidden") && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().right))`); len(wide) > 0 {
			t.Errorf("%s is wider than the paper: %q", path, wide)
		}
	}
}

// TestAPrintedStudyFitsOnPaper: with eight parameters nothing on it is wider than a sheet.
func TestAPrintedStudyFitsOnPaper(t *testing.T) {
	t.Parallel()
	definition := shaped("Eight", 8, 2)
	for i, name := range []string{"temperature", "residence time", "concentration", "equivalents of base", "catalyst loading", "stirring rate", "water content", "pressure"} {
		p := definition["parameters"].([]map[string]any)[i]
		p["name"], p["unit"], p["low"], p["high"] = name, "mmol/L", 100, 900
	}
	id := site.makeStudy(t, definition)
	site.ask(t, id, 4)
	for n := range 4 {
		told := map[string]any{"yield": 71.2345 + float64(n), "impurity 1": 0.1234, "impurity 2": 0.5678}
		site.tell(t, id, n+1, told)
	}
	p := newAdmin(t)
	p.size(703, 1000) // A4 without its margins
	p.open("/studies/" + id)
	p.drawn()
	p.media(emulation.SetEmulatedMediaParams{Media: "print"})
	if wide := ask[[]string](p, `[...document.querySelectorAll("main, main *")].filter((e) => e.checkVisibility() && !e.closest("svg svg, .visually-hidden") && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className + " " + Math.round(e.getBoundingClientRect().right))`); len(wide) > 0 {
		t.Errorf("wider than the paper: %q", wide)
	}
	if whole := p.count("#ledger .panel"); whole != 1 || ask[string](p, `getComputedStyle(document.querySelector("#ledger .panel")).breakInside`) != "auto" {
		t.Errorf("the ledger begins on another page if it is too long for this one: %d", whole)
	}
	// Safari cuts through what stands in a grid.
	if cut := ask[[]string](p, `[...document.querySelectorAll("main figure.chart, main .card, main .verdict > div")].filter((e) => e.checkVisibility() && getComputedStyle(e.parentElement).display === "grid").map((e) => e.className)`); len(cut) > 0 {
		t.Errorf("may be cut between two sheets: %q", cut)
	}
	p.words("printed with eight parameters")
}

// TestSlicesAreNotCutOnPaper: no metric's slices begin on one sheet and end on another, nor does a
// chart stand on another than its heading, or a setting than its name.
func TestSlicesAreNotCutOnPaper(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, shaped("Slices on paper", 5, 2))
	site.told(t, id, 5, 2, 8)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	p.media(emulation.SetEmulatedMediaParams{Media: "print"})
	if breaks := ask[[]string](p, `[...document.querySelectorAll("#beliefs .abreast")].map((e) => getComputedStyle(e).breakInside)`); len(breaks) < 3 || slices.ContainsFunc(breaks, func(how string) bool { return how != "avoid" }) {
		t.Errorf("the slices of the metrics are broken thus: %q", breaks)
	}
	if cut := ask[[]string](p, `[...document.querySelectorAll("#prices, .settings > div")].filter((e) => getComputedStyle(e).breakInside !== "avoid").map((e) => e.innerText)`); len(cut) > 0 || p.count("#prices") != 1 {
		t.Errorf("a name and what it names may be on two sheets: %q", cut)
	}
}

func TestEveryPageInEveryGuise(t *testing.T) {
	t.Parallel()
	full := site.makeStudy(t, buffer("Buffer screen"))
	site.play(t, full, 12)
	site.api(t, "POST", "/studies/"+full+"/trials/3/corrections", map[string]any{"metrics": map[string]any{"yield": 12.5}, "reason": "typo"}, nil)
	site.api(t, "POST", "/studies/"+full+"/trials/5/exclude", map[string]any{"reason": "instrument was not calibrated"}, nil)
	site.api(t, "POST", "/studies/"+full+"/ask", map[string]any{"count": 3}, nil)
	site.api(t, "POST", "/studies/"+full+"/trials/13/fail", map[string]any{"reason": "column broke"}, nil)
	site.api(t, "POST", "/studies/"+full+"/trials/14/tell", map[string]any{"metrics": map[string]any{"yield": 70.5}}, nil)
	empty := site.makeStudy(t, buffer("Nothing yet"))

	p := newTab(t, site.base)
	p.look("sign-in", "/sign-in")
	p.look("dead-link", "/sign-in/headroom_NOSUCHLINK")
	p.signIn(site.link(t))
	p.look("studies", "/studies")
	p.look("new", "/studies/new")
	p.look("study", "/studies/"+full)
	p.sees("that a trial works and stays within every limit")
	p.sees("failed, or not known yet")
	p.open("/studies/" + full)
	p.drawn()
	over := ""
	for _, part := range []string{"0.2", "0.4", "0.6", "0.8"} { // a mark may stand at one
		p.mouse("[id^=chart-map-]", 0, [2]string{"frame.width * " + part, "frame.height * 0.5"})
		over += p.text("[id^=chart-map-] .tip")
	}
	if !strings.Contains(over, "chance that a trial works and stays within every limit") {
		t.Errorf("over the map it says %q", over)
	}
	p.look("study-empty", "/studies/"+empty)
	p.look("trial", "/studies/"+full+"/trials/12")
	p.sees("suggested, asked for by admin (token)")
	p.look("bench", "/studies/"+full+"/bench")
	p.look("sheet", "/studies/"+full+"/trials/15/sheet")
	p.look("trial-excluded", "/studies/"+full+"/trials/5")
	p.look("correct", "/studies/"+full+"/trials/4/correct")
	p.look("own", "/studies/"+full+"/own")
	p.look("edit", "/studies/"+full+"/edit")
	p.look("reconfigure", "/studies/"+full+"/reconfigure")
	p.look("board", "/studies/"+full+"/board?at=20")
	p.look("import", "/studies/"+full+"/import")
	p.look("shares", "/studies/"+full+"/shares")
	for range 2 { // told apart by what stands in their addresses, which is as wide as its letters are
		site.makeStudy(t, buffer("Yield of the second coupling in the small reactor"))
	}
	p.look("people", "/people")
	p.look("account", "/account")
	p.look("nothing-here", "/studies/nosuchstudy")
}
