package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"headroom/internal/must"
)

// TestALimitOfTwelveHundred: 1,200 is asked about, what it would do is seen before it is stored,
// and then it is 1200.
func TestALimitOfTwelveHundred(t *testing.T) {
	t.Parallel()
	study := buffer("Twelve hundred")
	study["constraints"] = []map[string]any{{"metric": "pressure", "op": "<=", "threshold": 900, "unit": "mbar"}}
	id := site.makeStudy(t, study)
	for i, pressure := range []float64{780, 860, 950, 1100} {
		site.api(t, "POST", "/studies/"+id+"/trials", map[string]any{"parameters": map[string]any{"temperature": 25 + 8*i, "cycles": 2 + i}, "metrics": map[string]any{"yield": 60 + 4*i, "pressure": pressure}}, nil)
	}
	limit := func() float64 {
		var read struct {
			Constraints []struct {
				Threshold float64 `json:"threshold"`
			} `json:"constraints"`
		}
		site.api(t, "GET", "/studies/"+id, nil, &read)
		return read.Constraints[0].Threshold
	}
	p := newAdmin(t)
	p.open("/studies/" + id + "/reconfigure")
	p.fill("#f-constraints_0_threshold", "1,200")
	p.fill("#f-reason", "a stronger vessel")
	p.press("See what this would change")
	p.sees("can be read as 1.2 or as 1200; which is meant?")
	p.holds("#f-constraints_0_threshold", "1,200")
	p.audit("the question which number is meant")
	p.keep("words-limit-asked")
	p.press("1.2")
	p.sees("Trials 1 and 2 would break a limit.")
	p.sees("Limit of pressure from 900 to 1.2")
	if got := limit(); got != 900 {
		t.Fatalf("the limit is %v before anybody confirmed it", got)
	}
	p.fill("#f-constraints_0_threshold", "1,200")
	p.press("Preview again")
	p.press("1200")
	p.sees("Trials 3 and 4 would be within every limit.")
	p.audit("the preview of a limit")
	p.whole("the preview of a limit")
	p.keep("words-limit-preview")
	p.press("Change it")
	p.sees("The change is in effect from the next decision on.")
	if got := limit(); got != 1200 {
		t.Errorf("the limit is %v", got)
	}
}

// TestAColumnTooManyIsNamedOnAPhone: what is wrong with rows is said in words that are whole, and in
// those of the page.
func TestAColumnTooManyIsNamedOnAPhone(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("A column too many"))
	p := newAdmin(t)
	p.size(390, 844)
	p.open("/studies/" + id + "/import")
	p.fill("#f-text", "temperature;cycles;yield;impurity;acidity\n41,5;3;61;0,3;7\n")
	p.press("Check")
	p.sees("Nothing was imported: one place needs another look.")
	p.sees("the box below leaves such columns out")
	p.words("a column too many")
	p.audit("a column too many")
	p.size(1440, 1000)
	p.fill("#f-text", "temperature [K];cycles;yield;impurity\n303;3;61;0,3\n")
	p.press("Check")
	p.sees("there is no column for the parameter")
	p.words("another unit")
	p.size(390, 844)
	p.fill("#f-text", "temperature;cycles;yield;impurity;acidity\n41,5;3;61;0,3;7\n")
	p.press("Check")
	p.sees("one place needs another look.")
	p.click("#f-ignore")
	p.press("Check")
	p.sees("1 row is ready to be imported.")
}

// TestTheTimeOfDayStays where a page says it, in the reader's zone, while what was a moment ago becomes
// longer ago, by the server's clock.
func TestTheTimeOfDayStays(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Moments"))
	site.ask(t, id, 1)
	p := newTab(t, site.base)
	p.before(`{
		const every = setInterval, now = Date.now;
		setInterval = (f, ms) => every(() => { f(); if (ms === 30000) window.looked = true; }, ms === 30000 ? 100 : ms);
		window.later = 3 * 3600e3; // as of a clock that is wrong
		Date.now = () => now() + later;
		Object.defineProperty(performance, "timeOrigin", { value: performance.timeOrigin + later });
	}`)
	p.zone("Asia/Kolkata")
	p.signIn(site.link(t))
	p.open("/studies/" + id)
	p.fill(result(1, 0), "61.5")
	p.reload()
	p.drawn()
	p.sees("You typed this just now; it is not saved yet")
	ask[any](p, `window.looked = false, 0`)
	p.until("a look at the clock", `window.looked`)
	if just := ask[string](p, `document.querySelector("#trials td time").textContent`); just != "just now" {
		t.Errorf("to somebody whose clock is wrong the trial is from %q", just)
	}
	ask[any](p, `window.later += 120000, 0`)
	p.until("the trial to be older", `document.querySelector("#trials td time").textContent.startsWith("2")`)
	p.until("what was typed to be older", `document.querySelector("[data-typed] time").textContent.startsWith("2")`)
	at := must.Get(time.Parse(time.RFC3339, ask[string](p, `document.querySelector("#ledger time").dateTime`)))(t).In(time.FixedZone("GMT+5:30", 19800))
	clock, exact := ask[string](p, `document.querySelector("#ledger time").textContent`), ask[string](p, `document.querySelector("#ledger time").title`)
	if !strings.HasSuffix(clock, at.Format("15:04")) || exact != at.Format("2 January 2006, 15:04:05 MST") {
		t.Errorf("of %v the ledger says %q, and to a pointer %q", at, clock, exact)
	}
	if typed := ask[string](p, `document.querySelector("[data-typed] time").title`); !strings.HasSuffix(typed, "GMT+5:30") {
		t.Errorf("what was typed is, to a pointer, from %q", typed)
	}
	ask[any](p, `window.later += 86400000, 0`)
	p.until("the day, when another has begun", fmt.Sprintf(`document.querySelector("#ledger time").textContent === %q`, at.Format("2 Jan 15:04")))
	p.media(emulation.SetEmulatedMediaParams{Media: "print"})
	if shown := ask[[]string](p, `[...document.querySelectorAll("time")].map((time) => time.checkVisibility() && getComputedStyle(time).fontSize + " " + getComputedStyle(time, "::after").content).filter((shown) => shown && !/^0px "\d+ .* GMT\+5:30"$/.test(shown))`); len(shown) > 0 {
		t.Errorf("on paper moments are %q", shown)
	}
}

// TestFirstReadingsAreAskedAbout: a sign too many in the fourth reading, two numbers in one field,
// and one that can be read in two ways.
func TestFirstReadingsAreAskedAbout(t *testing.T) {
	t.Parallel()
	study := buffer("First readings")
	study["objective"] = map[string]any{"metric": "yield", "direction": "maximize", "unit": "g"}
	delete(study, "recorded_metrics")
	id := site.makeStudy(t, study)
	site.ask(t, id, 5)
	for i, yield := range []float64{61.7, 75.8, 58.4} {
		site.tell(t, id, i+1, map[string]any{"yield": yield, "impurity": 0.3 + 0.04*float64(i)})
	}
	p := newAdmin(t)
	p.open("/studies/" + id)
	save := func(number int, yield, impurity string) {
		p.fill(result(number, 0), yield)
		p.fill(result(number, 1), impurity)
		p.click(fmt.Sprintf("#card-%d .entry button.primary", number))
	}
	save(4, "72 73", "0.31")
	p.sees("looks like more than one number; write one")
	save(4, "-72", "0.31")
	p.sees("Yield −72")
	p.sees("72 g would fit: was the sign typed wrongly?")
	save(4, "0.34", "66")
	p.sees("Exchanged with impurity, both would look like the other readings.")
	p.keep("words-first-readings")
	save(4, "1,200", "0.31")
	p.sees("can be read as 1.2 or as 1200")
	p.audit("a result that can be read in two ways")
	p.size(390, 844)
	p.keep("words-result-asked-390")
	p.press("1200")
	p.sees("Yield 1200 g?")
	save(4, "72", "0.31")
	p.sees("Saved · trial 4: yield 72 g, impurity 0.31 %")
	site.counts(t, id, "told", 4)
}

// TestWhatAScriptTellsStandsInDoubt on top of the page until somebody says what to do about it.
func TestWhatAScriptTellsStandsInDoubt(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Told by a script"))
	site.play(t, id, 12)
	told := func(number int, yield float64) {
		site.ask(t, id, 1)
		var answer struct {
			Doubts []struct {
				Metric string `json:"metric"`
			} `json:"doubts"`
		}
		site.api(t, "POST", fmt.Sprintf("/studies/%s/trials/%d/tell", id, number), map[string]any{"metrics": map[string]any{"yield": yield, "impurity": 0.4}}, &answer)
		if len(answer.Doubts) == 0 || answer.Doubts[0].Metric != "yield" {
			t.Errorf("a yield of %v is answered with the doubts %v", yield, answer.Doubts)
		}
	}
	told(13, 900)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.sees("Trial 13 is in doubt: not counted as the best reading")
	p.sees("Yield 900")
	p.drawn()
	p.audit("a trial in doubt")
	p.keep("words-doubt-1440")
	p.dark()
	p.contrast("a trial in doubt, dark")
	p.keep("words-doubt-1440-dark")
	p.size(390, 844)
	p.keep("words-doubt-390-dark")
	p.light()
	p.keep("words-doubt-390")
	p.size(1440, 1000)
	p.press("It is right")
	p.sees("Saved: the trial is right as it is.")
	p.seesNot("is in doubt")
	p.sees("900 % at trial 13")
	told(14, -90000)
	p.reload()
	p.press("Exclude the trial")
	p.until("the trial's page", `location.pathname.endsWith("/trials/14") && document.body`)
	p.open("/studies/" + id)
	p.seesNot("is in doubt")
	site.counts(t, id, "confirmed", 1)
	site.counts(t, id, "excluded", 1)
}
