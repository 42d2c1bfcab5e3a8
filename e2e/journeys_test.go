package e2e

import (
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"headroom/internal/must"
)

// result is the field of a trial's metric at that place among the told ones.
func result(trial, metric int) string { return fmt.Sprintf("#r-%d-f-metric_%d", trial, metric) }

// tableRows counts the lines of the table behind a chart.
func (p *tab) tableRows(chart string) int {
	p.t.Helper()
	return ask[int](p, fmt.Sprintf(`document.querySelectorAll("#%s ~ .under tbody tr").length`, chart))
}

func TestFirstLight(t *testing.T) {
	t.Parallel()
	p := newTab(t, site.base)
	p.signIn(site.link(t))
	p.press("New study")
	p.until("the form", `document.querySelector("#define")`)

	p.fill("#f-name", "First light")
	p.fill("#f-parameters_0_name", "temperature")
	p.fill("#f-parameters_0_low", "20")
	p.fill("#f-parameters_0_unit", "°C")
	p.fill("#f-parameters_1_name", "catalyst")
	p.choose("#f-parameters_1_type", "categorical")
	p.until("the choices", `document.querySelector("#f-parameters_1_choices")`)
	p.fill("#f-parameters_1_choices", "A, B")
	p.press("+ Add a parameter")
	p.until("a third parameter", `document.querySelector("#f-parameters_2_name")`)
	p.holds("#f-parameters_0_name", "temperature")
	p.fill("#f-objective_metric", "yield")
	p.fill("#f-objective_unit", "%")
	p.fill("#f-constraints_0_metric", "impurity")
	p.fill("#f-constraints_0_threshold", "0,5")
	p.press("Make the study")
	p.until("the missing limit beside its field", `document.querySelector("#f-parameters_0_high[aria-invalid]") && document.activeElement.id === "f-parameters_0_high"`)
	p.audit("faulty form")
	p.fill("#f-parameters_0_high", "60")
	p.press("Make the study")
	p.sees("The study is made.")
	p.sees("No trials yet")
	if drafts := ask[int](p, "Object.keys(localStorage).length"); drafts != 0 {
		t.Errorf("%d drafts remain after the study was made", drafts)
	}

	p.press("Ask for next trial")
	p.until("the card", `document.querySelector("#card-1")`)
	p.click(result(1, 0))
	p.keys("71,25" + kb.Enter)
	p.until("the next field", fmt.Sprintf(`document.activeElement.matches(%q)`, result(1, 1)))
	p.keys("0.31" + kb.Enter)
	p.sees("Nothing is waiting")
	p.drawn()
	p.until("the result in the table", `/71\.25[\s\S]*0\.31/.test(document.querySelector("#trial-1").innerText)`)
	p.until("the chart", framed("#chart-progress", 0)+`.marks.some((mark) => Math.abs(mark.y - 71.25) < 0.05)`)
	p.sees("single reading within the limits: 71.25 %")

	p.press("Ask for next trial")
	p.until("the second card", `document.querySelector("#card-2")`)
	p.fill(result(2, 0), "75")
	p.fill(result(2, 1), "0.7")
	p.press("Save result")
	p.drawn()
	p.until("the second mark, a broken limit", framed("#chart-progress", 0)+`.marks.some((mark) => mark.name === "limit broken" && Math.abs(mark.y - 75) < 0.05)`)
	p.sees("1 of 2 within every limit")
}

func TestTwoTabsKeepWhatIsTyped(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Two tabs"))
	site.play(t, id, 6)
	site.ask(t, id, 2)
	mine := newAdmin(t)
	mine.open("/studies/" + id)
	mine.listening()
	mine.drawn()
	zoomed := zoomTrials(mine, "#chart-progress", 2, 5)
	mine.fill(result(7, 0), "84.")

	theirs := mine.another()
	theirs.open("/studies/" + id)
	theirs.fill(result(8, 0), "82.5")
	theirs.fill(result(8, 1), "0.42")
	theirs.click("#card-8 button[type=submit]")
	theirs.until("the card gone", `!document.querySelector("#card-8")`)

	mine.until("the other's result", `document.querySelector("#trial-8").innerText.includes("82.5")`)
	mine.until("the other's card gone", `!document.querySelector("#card-8")`)
	mine.until("the redrawn chart", framed("#chart-progress", 0)+`.marks.some((mark) => Math.abs(mark.y - 82.5) < 0.05)`)
	mine.holds(result(7, 0), "84.")
	if !ask[bool](mine, fmt.Sprintf(`document.activeElement.matches(%q)`, result(7, 0))) {
		t.Errorf("the cursor left the field")
	}
	if got := ask[[]float64](mine, framed("#chart-progress", 0)+`.seen`); math.Abs(got[0]-zoomed[0]) > 1e-6 || math.Abs(got[1]-zoomed[1]) > 1e-6 {
		t.Errorf("the zoom to %v became %v", zoomed, got)
	}
	mine.keys("5")
	mine.reload()
	mine.comesToHold(result(7, 0), "84.5")
	mine.fill(result(7, 1), "0.4")
	mine.click("#card-7 button[type=submit]")
	mine.sees("Nothing is waiting")
	if got := ask[int](mine, `Object.keys(localStorage).length`); got != 0 {
		t.Errorf("%d drafts remain after saving", got)
	}
}

// A browser has six connections to a server, which pages that are not seen leave to those that are: also those that nobody has seen yet.
func TestHiddenTabRestsAndCatchesUp(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"visible", "hidden"} {
		t.Run(first+" at first", func(t *testing.T) {
			t.Parallel()
			id := site.makeStudy(t, buffer("Hidden"))
			p := newAdmin(t)
			p.before(fmt.Sprintf(`window.pretend = %q; Object.defineProperty(Document.prototype, "visibilityState", {get: () => window.pretend})
				{
					const Source = EventSource;
					window.EventSource = class extends Source { constructor(...given) { super(...given); window.source = this; } };
				}`, first))
			p.open("/studies/" + id)
			if first == "visible" {
				p.listening()
				ask[any](p, `window.pretend = "hidden"; document.dispatchEvent(new Event("visibilitychange")); 0`)
			}
			p.until("no stream", `[undefined, EventSource.CLOSED].includes(window.source?.readyState) && document.querySelector("[data-live]").dataset.state === "rest"`)
			site.ask(t, id, 1)
			if p.count("#card-1") != 0 {
				t.Error("a hidden page fetched")
			}
			ask[any](p, `window.pretend = "visible"; document.dispatchEvent(new Event("visibilitychange")); 0`)
			p.until("what was missed", `document.querySelector("#card-1")`)
			site.ask(t, id, 1)
			p.until("what comes after", `document.querySelector("#card-2")`)
		})
	}
}

// A connection that was cut without a word, as where a network forgets it, is one that the browser takes to be open for as long as it likes; and so is
// one by which it tries again, where it heard of the end of the first.
func TestASilentStreamIsReplaced(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{"Silent": "", "Silent when tried again": `source.onerror(new Event("error"));`} {
		id := site.makeStudy(t, buffer(name))
		p := newAdmin(t)
		p.before(`{
			const [Source, later] = [EventSource, setTimeout];
			window.EventSource = class extends Source {
				constructor(...given) { super(...given); window.source = this; }
				addEventListener(kind, hear) { super.addEventListener(kind, (event) => window.silenced === this || hear(event)); }
			};
			window.setTimeout = (what, after) => later(what, after === 40000 ? 1000 : after);
		}`)
		p.open("/studies/" + id)
		p.listening()
		p.forgive(end != "")
		ask[any](p, "window.silenced = source;"+end+" 0")
		site.ask(t, id, 1)
		p.until("what was missed", `document.querySelector("#card-1")`)
	}
}

// behindProxy opens a page of an admin behind a proxy that answers some requests itself, with a status.
func behindProxy(t *testing.T, status int, answers func(*http.Request) bool) *tab {
	t.Helper()
	passes := httputil.NewSingleHostReverseProxy(must.Get(url.Parse(site.base))(t))
	passes.FlushInterval, passes.ErrorLog = -1, log.New(io.Discard, "", 0)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answers(r) {
			http.Error(w, "<h1>"+http.StatusText(status)+"</h1>", status)
			return
		}
		passes.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	t.Cleanup(proxy.CloseClientConnections)
	p := newTab(t, proxy.URL)
	p.signIn(proxy.URL + must.Get(url.Parse(site.link(t)))(t).Path)
	return p
}

// TestARefusedStreamIsTriedAgain: browsers give up what is refused, as by a server that starts.
func TestARefusedStreamIsTriedAgain(t *testing.T) {
	t.Parallel()
	var refusals atomic.Int64
	p := behindProxy(t, http.StatusServiceUnavailable, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/stream") && refusals.Add(1) <= 2 })
	id := site.makeStudy(t, buffer("Refused"))
	p.before(`{ const later = setTimeout; window.setTimeout = (what, after) => after < 10000 && later(what, after) }`) // silence replaces none
	p.forgive(true)
	p.open("/studies/" + id)
	p.listening()
	site.ask(t, id, 1)
	p.until("what comes after", `document.querySelector("#card-1")`)
}

// TestAPartThatGetsNoAnswerIsFetchedAgain: its connection died, while that of the stream did not, or is another one by now.
func TestAPartThatGetsNoAnswerIsFetchedAgain(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("No answer"))
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.listening()
	p.drawn()
	ask[any](p, `{
		const send = XMLHttpRequest.prototype.send;
		XMLHttpRequest.prototype.send = function(...given) {
			if (!window.unheard && this.timeout) setTimeout(() => this.dispatchEvent(new ProgressEvent("timeout")), 500);
			if (window.unheard) send.apply(this, given);
			window.unheard = true;
		};
	} 0`)
	p.forgive(true)
	site.ask(t, id, 1)
	p.until("all of the page as it is", `window.unheard && document.querySelector("#card-1") && document.querySelector("#trial-1") && !document.querySelector("[hx-get].htmx-request")`)
}

func TestCorrectionWithPreview(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Correction"))
	site.play(t, id, 12)
	before := site.version(t, id)
	p := newAdmin(t)
	p.open("/studies/" + id + "/trials/2/correct")
	p.fill("#f-metric_1", "0.05")
	p.press("See what this would change")
	p.until("the missing reason", `document.querySelector("#f-reason[aria-invalid]")`)
	p.fill("#f-reason", "typo")
	p.press("See what this would change")
	p.sees("What this would change")
	p.sees("Violation of impurity")
	p.sees("decisions were made from the old value")
	p.audit("preview")
	if after := site.version(t, id); after != before {
		t.Fatalf("the preview stored something: version %d became %d", before, after)
	}
	p.sees("Impurity 0.05 %?")
	p.press("Correct it anyway")
	p.sees("Corrected. The ledger has both values.")
	p.until("both values", `document.querySelector("main table").innerText.includes("0.05") && document.querySelector("main table s.was")`)
	p.open("/studies/" + id + "?below=3")
	p.drawn()
	p.until("the mark in the table", `document.querySelector("#trials").scrollIntoView(), document.querySelector("#trial-2 s.was")`)
	p.sees("corrected impurity of trial 2")
}

// version returns the seq of the study's last event.
func (s *server) version(t *testing.T, id string) int64 {
	t.Helper()
	var state struct {
		Version int64 `json:"version"`
	}
	s.api(t, "GET", "/studies/"+id+"/state", nil, &state)
	return state.Version
}

// TestAWrongTableIsTakenBack by keys, and that again; what somebody else types meanwhile of one of
// its trials stays, and counts once it is saved.
func TestAWrongTableIsTakenBack(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Wrong table"))
	site.play(t, id, 3)
	p := newAdmin(t)
	p.open("/studies/" + id + "/import")
	p.fill("#f-text", "temperature,cycles,yield,impurity\n41.5,3,61.2,0.9\n50,4,,\n")
	p.press("Check")
	p.press("Import")
	p.sees("The rows are imported.")
	other := p.another()
	other.open("/studies/" + id + "/bench")
	other.listening()
	other.fill(result(5, 0), "61.5")

	p.focus(`a[href*="/undo"]`) // from here on by keys
	p.keys(kb.Enter)
	p.sees("about trials 4 and 5.")
	p.focus("#f-reason")
	p.keys("another study’s file" + kb.Enter)
	p.sees("Trials 4 and 5 would count as not run. No decision was made from what would be taken back.")
	p.audit("taking a table back")
	p.keys(kb.Tab + kb.Tab + kb.Enter)
	p.sees("Taken back. The ledger has all of it.")
	p.drawn()
	p.until("what is left of it", `/not run/.test(document.querySelector("#trial-4").innerText) && !/61\.2/.test(document.querySelector("#trials").innerText)`)

	other.holds(result(5, 0), "61.5")
	other.press("Save result")
	other.until("it saved", `!document.querySelector("#r-5-f-metric_0")?.value`)
	p.press("Take this back…")
	p.fill("#f-reason", "it was ours")
	p.press("See what this would change")
	p.sees("Trial 4 would be as it was before. Trial 5 has later entries, and what they say stays.")
	p.press("Take it back")
	p.sees("Taken back.")
	p.drawn()
	p.until("all of it", `/61\.2/.test(document.querySelector("#trial-4").innerText) && /61\.5/.test(document.querySelector("#trial-5").innerText)`)
}

func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("No scripts"))
	site.play(t, id, 5)
	p := newTab(t, site.base)
	p.withoutScripts()
	p.open(site.link(t))
	p.click("main form button")
	p.sees("Studies")
	p.open("/studies/" + id)
	p.click(".ask button")
	p.sees("Here is what to try next.")
	p.fill(result(6, 0), "abc")
	p.click("#card-6 button[type=submit]")
	p.sees("write a number such as 0.31 or 0,31")
	p.fill(result(6, 0), "61.5")
	p.fill(result(6, 1), "0.44")
	p.click("main .entry button[type=submit]")
	p.sees("Saved. Thank you.")
	p.press("Show everything on one page")
	p.until("the result in the table", `document.querySelector("#trial-6").innerText.includes("61.5")`)
	if rows := p.tableRows("chart-progress"); rows != 6 {
		t.Errorf("the table behind the chart has %d rows, not 6", rows)
	}
	p.open("/studies/new")
	p.fill("#f-name", "By hand")
	p.click(`button[value="add-constraints"]`)
	p.until("a second limit", `document.querySelector("#f-constraints_1_metric")`)
	p.holds("#f-name", "By hand")
	p.click(`button[value="remove-parameters.1"]`)
	p.until("one parameter", `!document.querySelector("#f-parameters_1_name")`)
	p.fill("#f-parameters_0_name", "x")
	p.fill("#f-parameters_0_low", "0")
	p.fill("#f-parameters_0_high", "1")
	p.fill("#f-objective_metric", "y")
	p.click(".actions button.primary")
	p.sees("The study is made.")
}

func TestRoles(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Roles"))
	site.play(t, id, 2)
	site.ask(t, id, 1)
	name, link := site.invite(t, "Vera", "viewer")
	vera := newTab(t, site.base)
	vera.open(link)
	vera.sees("Welcome, " + name)
	vera.reload() // looking does not use the link up
	vera.press("Join")
	vera.until("the studies", `location.pathname === "/studies"`)
	if vera.count(`a[href="/studies/new"]`) != 0 || vera.count(`a[href="/people"]`) != 0 {
		t.Error("a viewer is offered what they may not do")
	}
	vera.open("/studies/" + id)
	vera.sees("Trial 3 tries")
	if vera.count("form.entry") != 0 || vera.count(".ask") != 0 {
		t.Error("a viewer is offered to enter results")
	}
	vera.audit("viewer")
	for _, path := range []string{"/people", "/studies/new", "/studies/" + id + "/edit"} {
		vera.open(path)
		vera.sees("Not allowed")
	}
	vera.open(link)
	vera.sees("This link has been used")

	admin := newAdmin(t)
	admin.open("/people")
	admin.fill("#f-token_name", "HPLC upload")
	admin.press("Make token")
	admin.sees("it cannot be shown again")
	secret := strings.TrimSpace(admin.text(".secret"))
	admin.open("/people")
	admin.seesNot(secret)
	admin.fill("#f-invite_name", "Dana")
	if n := ask[int](admin, `(() => {
		let sent = 0;
		addEventListener("submit", (event) => { sent += !event.defaultPrevented; event.preventDefault(); });
		for (const _ of "12") document.querySelector("#f-invite_name").form.requestSubmit();
		return sent;
	})()`); n != 1 {
		t.Errorf("a form that is pressed twice is sent %d times", n)
	}
	admin.open("/people")
	ask[any](admin, `Object.defineProperty(navigator, "onLine", { get: () => false, configurable: true }), window.fetched = fetch, window.fetch = (_, { signal }) => new Promise((_, refuse) => signal?.addEventListener("abort", refuse)), 0`)
	admin.fill("#f-token_name", "Scales")
	admin.press("Make token") // into the void, from which no word comes, and where the browser would put a page of its own
	admin.sees("What you entered is still here, and was not sent")
	if got := admin.value("#f-token_name"); got != "Scales" {
		t.Errorf("what was entered is %q", got)
	}
	ask[any](admin, `window.fetch = fetched, 0`) // the browser knows no way out, yet the server is on the same machine
	admin.press("Make token")
	admin.sees("it cannot be shown again")

	admin.open("/studies/" + id + "/shares")
	admin.fill("#f-name", "Auditor")
	admin.press("Make link")
	admin.sees("Link for Auditor")
	share := strings.TrimSpace(admin.text(".secret"))
	auditor := newTab(t, site.base)
	auditor.open(share)
	auditor.until("the live board", `location.pathname.endsWith("/board") && document.querySelector("#trial-3")`)
	auditor.open("/studies/" + id + "/board?at=3")
	auditor.sees("As it was right after")
	if got := auditor.count("#trials tbody tr"); got != 1 {
		t.Errorf("after event 3 there is 1 trial, the board shows %d", got)
	}
	ask[any](auditor, `document.querySelector("#verify-button").focus(); 0`) // as a key press leaves it
	auditor.press("Verify")
	auditor.sees("✓")
	auditor.until("the cursor where it was", `document.activeElement.id === "verify-button"`)
	ask[any](auditor, `htmx.trigger("#verified form", "htmx:responseError", {xhr: {status: 503, responseText: '{"detail": "Press it again."}'}}); 0`) // nothing sends this form by itself
	auditor.sees("Press it again.")
	auditor.open("/people")
	auditor.sees("Not allowed")
	auditor.open(share)
	auditor.listening()
	auditor.forgive(true)
	admin.open("/studies/" + id + "/shares")
	admin.press("Revoke")
	auditor.sees("This link has ended. Ask whoever sent it for a new one.")
	auditor.seesNot("Your sign-in")
	auditor.seesNot("connection lost")    // the server is there, and has turned the link away
	ask[any](auditor, `checkSignIn(); 0`) // as when the stream is tried again
	auditor.sees("This link has ended. Ask whoever sent it for a new one.")
	auditor.reload()
	auditor.sees("Did you use a read-only link? It has ended")
	auditor.open(share)
	auditor.sees("This link has expired, was revoked, or never existed. Ask whoever sent it for a new one.")
	auditor.forgive(false)

	admin.open("/people")
	admin.click(`tr:has(label[for^="role-"]):not(:has(.badge)) form[action$="/disable"] button`)
	admin.sees("every session of theirs has ended")
}

func TestConnectionLostAndServerRestart(t *testing.T) {
	t.Parallel()
	own := must.Get(start(filepath.Join(filepath.Dir(program), "restarted")))(t)
	t.Cleanup(func() { own.stop() })
	id := own.makeStudy(t, buffer("Restart"))
	own.play(t, id, 3)
	own.ask(t, id, 2)
	p := newTab(t, own.base)
	p.signIn(own.link(t))
	p.open("/studies/" + id)
	p.listening()
	p.fill(result(4, 0), "63.5")
	p.fill(result(4, 1), "0.41")
	p.forgive(true)
	must.Do(t, own.stop())
	p.press("Save result")
	p.sees("Connection lost.")
	p.holds(result(4, 0), "63.5")
	p.click("#close-5 summary") // which leads to a page of its own
	p.fill("#r-5-f-reason", "it boiled over")
	p.click("#close-5 button[value=chance]")
	p.sees("What you entered is still here, and was not sent")
	p.holds("#r-5-f-reason", "it boiled over")
	must.Do(t, own.run())
	p.drawn()
	p.until("the result saved by itself", `document.querySelector("#trial-4").innerText.includes("63.5")`)
	p.listening()
	p.until("no banner", `!document.querySelector("#connection").textContent`)
	p.forgive(false)
	own.counts(t, id, "told", 4)
	own.ask(t, id, 1)
	p.until("life after the restart", `document.querySelector("#card-6")`)
	// What was asked for meanwhile is asked for also where its form was drawn anew before that.
	ask[any](p, `(() => { const go = fetch; window.fetch = (...what) => what[0] === "/readyz" && !window.now ? Promise.reject() : go(...what); window.asked = document.querySelector("form.ask") })()`)
	p.forgive(true)
	must.Do(t, own.stop())
	p.fill("#ask-count", "2")
	p.press("Ask for next trial")
	p.sees("Connection lost.")
	must.Do(t, own.run())
	p.until("the form drawn anew", "!asked.isConnected")
	ask[any](p, "window.now = true")
	p.until("what was asked for", `document.querySelector("#card-8")`)
	p.forgive(false)
}

// TestNobodyWaitsForEver: a server that is frozen takes what is sent, and says nothing. Whoever sent it is told so, presses again or waits, and it is
// entered once.
func TestNobodyWaitsForEver(t *testing.T) {
	t.Parallel()
	own := must.Get(start(filepath.Join(filepath.Dir(program), "frozen")))(t)
	signal := func(s os.Signal) { must.Do(t, own.process.Process.Signal(s)) }
	t.Cleanup(func() { signal(syscall.SIGCONT); own.stop() })
	id := own.makeStudy(t, buffer("Frozen"))
	own.play(t, id, 1)
	own.ask(t, id, 1)
	p := newTab(t, own.base)
	p.signIn(own.link(t))
	p.open("/studies/" + id + "/bench")
	p.listening()
	p.fill(result(2, 0), "63.5")
	p.fill(result(2, 1), "0.41")
	page := p.another() // which is busy with loading, and says to the other what its banner says
	page.open("/studies/" + id + "/trials/1/correct")
	page.fill("#f-metric_0", "61.5")
	page.fill("#f-reason", "typo")
	p.forgive(true)
	page.forgive(true)
	signal(syscall.SIGSTOP)
	ask[any](page, `setInterval(() => {
		const banner = document.getElementById("connection").textContent;
		localStorage.setItem("said", banner);
		if (!window.pressed || banner && pressed < 2) document.querySelector("form[data-draft] button.primary").click(window.pressed = (window.pressed ?? 0) + 1);
	}, 100); 0`)
	p.press("Save result")
	p.sees("No answer yet. What you entered is kept and will be sent as soon as the server answers.")
	p.until("the same on the other page", `localStorage.getItem("said").startsWith("No answer yet. What you entered is still here.")`)
	p.press("Save result")
	p.holds(result(2, 0), "63.5")
	signal(syscall.SIGCONT)
	p.sees("Saved · trial 2: yield 63.5 %, impurity 0.41 %")
	p.until("no banner", `!document.querySelector("#connection").textContent`)
	page.sees("What this would change")
	own.counts(t, id, "told", 2)
}

// TestAProxyThatWaitedTooLong: what stands before the server may give up sooner than the browser does. Nothing was refused.
func TestAProxyThatWaitedTooLong(t *testing.T) {
	t.Parallel()
	var late atomic.Bool
	p := behindProxy(t, http.StatusGatewayTimeout, func(r *http.Request) bool { return r.Method == http.MethodPost && late.CompareAndSwap(true, false) })
	id := site.makeStudy(t, buffer("Behind a proxy"))
	site.ask(t, id, 1)
	p.open("/studies/" + id)
	p.listening()
	p.fill(result(1, 0), "63.5")
	p.fill(result(1, 1), "0.41")
	p.forgive(true)
	late.Store(true)
	p.press("Save result")
	p.sees("No answer yet. What you entered is kept and will be sent as soon as the server answers.")
	p.sees("Saved · trial 1: yield 63.5 %, impurity 0.41 %")
	p.until("no banner", `!document.querySelector("#connection").textContent`)
	site.counts(t, id, "told", 1)
}
