package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// keyParts presses a key in the parts that a busy browser hears one by one, with meanwhile done between going down and giving its character.
func (p *tab) keyParts(key rune, meanwhile func()) {
	p.t.Helper()
	for i, part := range kb.Encode(key) {
		if i == 1 {
			meanwhile()
		}
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, *part); err != nil {
			p.t.Fatal(err)
		}
	}
}

// slow lets the page's own work take that many times as long.
func (p *tab) slow(times float64) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: times}); err != nil {
		p.t.Fatal(err)
	}
}

// kinds counts the events of a kind in the study's ledger.
func (s *server) kinds(t *testing.T, id, kind string) int {
	t.Helper()
	var ledger struct {
		Events []struct {
			Kind string `json:"kind"`
		} `json:"events"`
	}
	s.api(t, "GET", "/studies/"+id+"/ledger?after=0&limit=1000", nil, &ledger)
	count := 0
	for _, event := range ledger.Events {
		if event.Kind == kind {
			count++
		}
	}
	return count
}

// A key goes down, then gives its character: what Enter did with the first part must not count again with the second.
func TestEnterMovesOnAndSavesNothingEarly(t *testing.T) {
	t.Parallel()
	study := buffer("Enter")
	delete(study, "recorded_metrics")
	id := site.makeStudy(t, study)
	p := newTab(t, site.base)
	p.signIn(site.link(t))
	p.open("/studies/" + id)
	p.press("Ask for next trial")
	p.until("the card", `document.querySelector("#card-1")`)
	second := fmt.Sprintf(`document.activeElement.matches(%q)`, result(1, 1))

	p.click(result(1, 0))
	p.keys("71,25")
	p.keyParts('\r', func() { p.until("the next field", second) })
	p.keys("0.3")
	if !ask[bool](p, second) {
		t.Fatal("the cursor left the second field")
	}
	if got := site.kinds(t, id, "told"); got != 0 {
		t.Fatalf("Enter in the first field saved %d results", got)
	}
	p.keys("1" + kb.Enter)
	p.until("the result in the table", `/71\.25[\s\S]*0\.31/.test(document.querySelector("#trial-1").innerText)`)
	if got := site.kinds(t, id, "told"); got != 1 {
		t.Errorf("%d results were saved, not 1", got)
	}
}

// While somebody types on a slow machine, others' results arrive: each lets the page fetch its parts again. Browsers that cannot move an
// element without taking it out lose the cursor with it.
func TestTypingThroughRefreshes(t *testing.T) {
	t.Parallel()
	for _, browser := range []struct{ name, script string }{
		{"moving", `0`},
		{"taking out", `delete Element.prototype.moveBefore, delete DocumentFragment.prototype.moveBefore, delete Document.prototype.moveBefore, 0`},
	} {
		t.Run(browser.name, func(t *testing.T) {
			id := site.makeStudy(t, buffer("Typing "+browser.name))
			site.play(t, id, 2)
			site.api(t, "POST", "/studies/"+id+"/ask", map[string]any{"count": 4}, nil)
			p := newTab(t, site.base)
			p.signIn(site.link(t))
			p.open("/studies/" + id)
			p.until("the stream", `document.querySelector("[data-live]").dataset.state === "on"`)
			ask[int](p, browser.script)
			p.slow(4)
			p.click(result(3, 0))
			other := 4
			for _, key := range "71,25\r0.31" {
				if key == ',' || key == '\r' {
					site.api(t, "POST", fmt.Sprintf("/studies/%s/trials/%d/tell", id, other), map[string]any{"metrics": map[string]any{"yield": 60 + float64(other), "impurity": 0.3}}, nil)
					p.until("the other's card gone", fmt.Sprintf(`!document.querySelector("#card-%d")`, other))
					other++
				}
				p.keys(string(key))
			}
			if first, last := p.value(result(3, 0)), p.value(result(3, 1)); first != "71,25" || last != "0.31" {
				t.Fatalf("typed 71,25 and 0.31, the fields hold %q and %q", first, last)
			}
			if !ask[bool](p, fmt.Sprintf(`document.activeElement.matches(%q)`, result(3, 1))) {
				t.Error("the cursor left the field")
			}
			p.slow(1)
		})
	}
}
