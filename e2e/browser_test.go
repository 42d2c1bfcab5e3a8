package e2e

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"headroom/internal/must"
	"headroom/internal/testwait"
)

// This is the one file that knows chromedp.

//go:embed testdata/axe-4.14.1.min.js
var axe string

// browser is the context of the one browser; journeys have windows of their own in it, without each
// other's cookies.
var browser context.Context

func startBrowser() (func(), error) {
	path, err := findChromium()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.WSURLReadTimeout(testwait.Timeout),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		stop()
		stopAllocator()
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	browser = ctx
	return func() { stop(); stopAllocator() }, nil
}

func findChromium() (string, error) {
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("these tests need a browser; install it with: apt-get install -y chromium")
}

// tab is one page of a browser window with its own cookies.
type tab struct {
	t       *testing.T
	ctx     context.Context
	base    string
	mutex   sync.Mutex
	wrong   []string
	lenient bool // the connection is being cut on purpose
}

// newTab opens a page of a new person at 1440 × 1000. When the test fails, its picture is kept.
func newTab(t *testing.T, base string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	return watch(t, ctx, base)
}

// another opens a second tab of the same person.
func (p *tab) another() *tab {
	p.t.Helper()
	ctx, cancel := chromedp.NewContext(p.ctx)
	p.t.Cleanup(cancel)
	return watch(p.t, ctx, p.base)
}

var tabs struct {
	sync.Mutex
	count int
}

// watch listens for what no page may do: errors on the console, and requests to other hosts.
func watch(t *testing.T, ctx context.Context, base string) *tab {
	t.Helper()
	must.Do(t, lookAtSources())
	p := &tab{t: t, ctx: ctx, base: base}
	must.Do(t, chromedp.Do(ctx))
	must.Do(t, chromedp.Listen(ctx, p.hear))
	p.size(1440, 1000)
	t.Cleanup(func() {
		p.mutex.Lock()
		wrong := p.wrong
		p.mutex.Unlock()
		for _, w := range wrong {
			t.Error(w)
		}
		if t.Failed() {
			tabs.Lock()
			tabs.count++
			name := fmt.Sprintf("failed-%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), tabs.count)
			tabs.Unlock()
			p.shot(name)
		}
	})
	return p
}

func (p *tab) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.object("exception: " + e.ExceptionDetails.Text + " " + describe(e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			var words []string
			for _, argument := range e.Args {
				words = append(words, describe(argument))
			}
			p.object("console: " + strings.Join(words, " "))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" && !expectedAnswer(e.Entry.Text) {
			p.object("browser: " + e.Entry.Text + " " + e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		asked, err := url.Parse(e.Request.URL)
		if err == nil && (asked.Scheme == "http" || asked.Scheme == "https" || asked.Scheme == "ws") && "http://"+asked.Host != p.base {
			p.object("asked another host: " + e.Request.URL)
		}
	}
}

// expectedAnswer tells of the refusals that pages show to people: the browser logs them as errors.
func expectedAnswer(text string) bool {
	for _, status := range []string{"401", "403", "404", "409", "422"} {
		if strings.Contains(text, "the server responded with a status of "+status) {
			return true
		}
	}
	return false
}

func describe(o *runtime.RemoteObject) string {
	if o == nil {
		return ""
	}
	if o.Description != "" {
		return o.Description
	}
	return string(o.Value)
}

func (p *tab) object(text string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.lenient {
		p.wrong = append(p.wrong, text)
	}
}

// forgive lets the console complain, while the connection is cut on purpose.
func (p *tab) forgive(yes bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.lenient = yes
}

func (p *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, testwait.Timeout)
	defer cancel()
	err := chromedp.Do(ctx, steps...)
	for err != nil && replaced(err) { // by a refresh, between finding an element and using it
		err = chromedp.Do(ctx, steps...)
	}
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

func replaced(err error) bool {
	return strings.Contains(err.Error(), "Could not find node") || strings.Contains(err.Error(), "does not belong to the document") || strings.Contains(err.Error(), "No node")
}

// ready waits until the page and its scripts are there and nothing is being swapped, as a person
// does: what is pressed in that moment may be gone, and chromedp reads a field's attributes while
// they change.
func (p *tab) ready() {
	p.t.Helper()
	p.until("the page at rest", `document.readyState === "complete" && !document.querySelector(".htmx-swapping, .htmx-settling")`)
}

// open goes to a path of the site, or to a whole address.
func (p *tab) open(path string) {
	p.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = p.base + path
	}
	p.do("opening "+path, chromedp.Navigate(path))
}

func (p *tab) reload() {
	p.t.Helper()
	p.do("reloading", chromedp.Reload())
}

// click presses the first visible element that the selector finds.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.ready()
	p.do("clicking "+selector, chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// press clicks the button or link with that text.
func (p *tab) press(text string) {
	p.t.Helper()
	p.ready()
	path := fmt.Sprintf(`//*[self::button or self::a or self::summary][normalize-space(.)=%q]`, text)
	p.do("pressing "+text, chromedp.ScrollIntoView(chromedp.Search(path)), chromedp.Click(chromedp.Search(path), chromedp.NodeVisible))
}

// pressSlowly is press by somebody who lets go after the part of the page around the button was
// drawn anew.
func (p *tab) pressSlowly(text string) {
	p.t.Helper()
	p.ready()
	at := ask[[]float64](p, fmt.Sprintf(`(() => {
		window.slow = [...document.querySelectorAll("button")].find((button) => button.textContent.trim() === %q);
		slow.scrollIntoView({ block: "center", behavior: "instant" });
		const box = slow.getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, text))
	p.do("pressing "+text, chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	p.until("drawn anew", "!slow.isConnected")
	p.ready()
	p.do("letting go of "+text, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

// fill types a text into a field, in place of what it holds.
func (p *tab) fill(selector, text string) {
	p.t.Helper()
	p.ready()
	field := chromedp.CSS(selector)
	p.do("finding "+selector, chromedp.ScrollIntoView(field), chromedp.WaitVisible(field))
	ask[any](p, fmt.Sprintf(`document.querySelector(%q).value = ""; 0`, selector))
	// chromedp's SendKeys reads an element's attributes beside the goroutine that hears of their changes.
	p.do("filling "+selector, chromedp.Focus(field), chromedp.KeyEvent(text))
}

// keys types into whatever has the focus.
func (p *tab) keys(text string) {
	p.t.Helper()
	p.do("typing", chromedp.KeyEvent(text))
}

// choose picks an option of a list.
func (p *tab) choose(selector, value string) {
	p.t.Helper()
	script := fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event("change", {bubbles: true})); return s.value })()`, selector, value)
	if got := ask[string](p, script); got != value {
		p.t.Fatalf("%s has no option %q", selector, value)
	}
}

// ask evaluates an expression in the page.
func ask[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, testwait.Timeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("evaluating %s: %v", expression, err)
	}
	return value
}

// until waits for an expression of the page to become true. Pages may be left meanwhile.
func (p *tab) until(what, expression string) {
	p.t.Helper()
	err := eventually(func() error {
		ctx, cancel := context.WithTimeout(p.ctx, testwait.Timeout/10)
		defer cancel()
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean(("+expression+"))"))
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("it is not so")
		}
		return nil
	})
	if err != nil {
		p.t.Fatalf("waited for %s: %v\n%s", what, err, ask[string](p, textOf("main")))
	}
}

// sees waits for a text somewhere on the page.
func (p *tab) sees(text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("the text %q", text), fmt.Sprintf(`document.body?.innerText.replace(/\s+/g, " ").includes(%s)`, quoted(text)))
}

// seesNot asserts that a text is nowhere on the page.
func (p *tab) seesNot(text string) {
	p.t.Helper()
	p.come()
	if ask[bool](p, fmt.Sprintf(`document.body.innerText.replace(/\s+/g, " ").includes(%s)`, quoted(text))) {
		p.t.Errorf("the page says %q", text)
	}
}

func quoted(text string) string {
	out, _ := json.Marshal(text) // a string always has JSON
	return string(out)
}

func (p *tab) text(selector string) string {
	p.t.Helper()
	p.come()
	return ask[string](p, textOf(selector))
}

func textOf(selector string) string {
	return fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector)
}

// come waits until all of a page has come, of which the first part may say already what it was
// waited for.
func (p *tab) come() {
	p.t.Helper()
	p.until("a whole page", `document.readyState !== "loading"`)
}

func (p *tab) value(selector string) string {
	p.t.Helper()
	p.come()
	return ask[string](p, fmt.Sprintf(`document.querySelector(%q)?.value ?? "(no such field)"`, selector))
}

// holds asserts what a field holds.
func (p *tab) holds(field, want string) {
	p.t.Helper()
	if got := p.value(field); got != want {
		p.t.Errorf("%s holds %q, not %q", field, got, want)
	}
}

// comesToHold waits until a field holds a text.
func (p *tab) comesToHold(field, want string) {
	p.t.Helper()
	p.until(field+" holding "+want, fmt.Sprintf(`document.querySelector(%q)?.value === %q`, field, want))
}

func (p *tab) count(selector string) int {
	p.t.Helper()
	p.come()
	return ask[int](p, fmt.Sprintf(`document.querySelectorAll(%q).length`, selector))
}

func (p *tab) size(width, height int64) {
	p.t.Helper()
	p.do("resizing", chromedp.EmulateViewport(width, height))
}

func (p *tab) dark() {
	p.t.Helper()
	p.media(emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
}

// zone is where the reader is.
func (p *tab) zone(name string) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) media(want emulation.SetEmulatedMediaParams) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, want); err != nil {
		p.t.Fatal(err)
	}
}

// focus puts the cursor where a person has come by keys.
func (p *tab) focus(selector string) {
	p.t.Helper()
	p.ready()
	p.until(selector, fmt.Sprintf(`document.querySelector(%q)?.checkVisibility()`, selector))
	ask[any](p, fmt.Sprintf(`document.querySelector(%q).focus(), 0`, selector))
}

// letters are as large as somebody has set them in their browser, where 16 is usual.
func (p *tab) letters(size int64) {
	p.t.Helper()
	want := page.SetFontSizesParams{FontSizes: &page.FontSizes{Standard: size, Fixed: size * 13 / 16}}
	if _, err := chromedp.Call(p.ctx, page.SetFontSizes, want); err != nil {
		p.t.Fatal(err)
	}
}

// withoutScripts lets the pages opened from now on run no scripts.
func (p *tab) withoutScripts() {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		p.t.Fatal(err)
	}
}

// before runs a script in the pages opened from now on, before their own.
func (p *tab) before(script string) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
		p.t.Fatal(err)
	}
}

// signIn uses a sign-in link as a person does: open it, press the button.
func (p *tab) signIn(link string) {
	p.t.Helper()
	p.open(link)
	p.click("main form button")
	p.until("the studies", `location.pathname === "/studies"`)
}

// newAdmin opens a page of an admin who is signed in already: by the same link, without looking at
// the pages on the way, which other journeys do.
func newAdmin(t *testing.T) *tab {
	t.Helper()
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer := must.Get(stay.PostForm(site.link(t), nil))(t)
	answer.Body.Close()
	p := newTab(t, site.base)
	for _, c := range answer.Cookies() {
		want := network.SetCookieParams{Name: c.Name, Value: c.Value, URL: p.base, HTTPOnly: &c.HttpOnly, SameSite: network.CookieSameSiteLax}
		must.Get(chromedp.Call(p.ctx, network.SetCookie, want))(t)
	}
	return p
}

// keep is shot when HEADROOM_SCREENSHOTS is set: to draw a picture that nobody looks at takes as long
// as to audit its page.
func (p *tab) keep(name string) {
	p.t.Helper()
	if os.Getenv("HEADROOM_SCREENSHOTS") != "" {
		p.shot(name)
	}
}

// shot keeps a picture of the whole page in screenshots/.
func (p *tab) shot(name string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, testwait.Timeout)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		p.t.Logf("no picture of %s: %v", name, err)
		return
	}
	if err := os.MkdirAll("screenshots", 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("screenshots", name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// audit lets axe look for what people with disabilities would stumble over, and checks the page's
// ids and width.
func (p *tab) audit(what string) {
	p.t.Helper()
	p.axe(what, `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]`)
	p.sound(what)
}

// contrast lets axe look for words that are hard to read: the colours are all that differs between
// the light page and the dark one.
func (p *tab) contrast(what string) {
	p.t.Helper()
	p.axe(what, `{type: "rule", values: ["color-contrast"]}`)
}

func (p *tab) axe(what, rules string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, testwait.Timeout)
	defer cancel()
	if !ask[bool](p, `"axe" in window`) {
		ask[any](p, axe+"; 0")
	}
	run := `axe.run(document, {runOnly: ` + rules + `, resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations))`
	found, err := chromedp.Run(ctx, chromedp.Evaluate[string](run, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("axe on %s: %v", what, err)
	}
	var violations []violation
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range violations {
		for _, node := range v.Nodes {
			p.t.Errorf("%s: %s (%s): %.300s\n%s", what, v.ID, v.Help, node.HTML, node.Summary)
		}
	}
}

// sound checks that every id stands once and what is named is there, that fields are described by the
// units beside them and the words below, and that the page is no wider than its window.
func (p *tab) sound(what string) {
	p.t.Helper()
	if doubled := ask[[]string](p, doubledIDs); len(doubled) > 0 {
		p.t.Errorf("%s: %q", what, doubled)
	}
	if units := ask[[]string](p, `[...document.querySelectorAll(".with-unit > .unit")].filter((unit) => !unit.previousElementSibling.getAttribute("aria-describedby")?.split(" ").includes(unit.id)).map((unit) => unit.textContent)`); len(units) > 0 {
		p.t.Errorf("%s: no field is described by its unit: %q", what, units)
	}
	if said := ask[[]string](p, `[...document.querySelectorAll(".field > :is(.help, .error)[id]")].filter(({ id }) => !document.querySelector("[aria-describedby~='" + id + "']")).map(({ textContent }) => textContent)`); len(said) > 0 {
		p.t.Errorf("%s: no field is described by what is said of it: %q", what, said)
	}
	if extra := ask[int](p, "document.documentElement.scrollWidth - innerWidth"); extra > 0 {
		p.t.Errorf("%s: the page is %d pixels wider than its window", what, extra)
	}
}

// doubledIDs finds ids that stand twice, and labels and descriptions of nothing.
const doubledIDs = `(() => {
  const wrong = [], seen = new Set();
  for (const element of document.querySelectorAll("[id]")) {
    if (seen.has(element.id)) wrong.push("two elements have the id " + element.id);
    seen.add(element.id);
  }
  for (const [attribute, list] of [["for", false], ["aria-labelledby", true], ["aria-describedby", true]]) {
    for (const element of document.querySelectorAll("[" + attribute + "]")) {
      const names = element.getAttribute(attribute).split(list ? /\s+/ : /$^/).filter(Boolean);
      for (const name of names) if (!seen.has(name)) wrong.push(attribute + " names nothing: " + name);
    }
  }
  return wrong;
})()`

func (p *tab) light() {
	p.t.Helper()
	p.media(emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}})
}
