package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"headroom/internal/must"
)

// TestStart counts the clicks of somebody who has just been given the link to a fresh server, until
// the first suggestion stands on the page; then the demo, its simulated lab and the reviewer's
// board.
func TestStart(t *testing.T) {
	t.Parallel()
	own := must.Get(start(filepath.Join(filepath.Dir(program), "fresh")))(t)
	t.Cleanup(func() { own.stop() })
	p := newTab(t, own.base)
	clicks := 0
	press := func(text string) { p.t.Helper(); p.press(text); clicks++ }
	p.signIn(own.link(t))
	clicks++ // signIn's
	p.sees("No studies yet")
	p.audit("fresh")
	press("Reaction")
	p.sees("What is your experiment like?")
	press("Make the study")
	p.sees("The study is made.")
	press("Ask for next trial")
	p.until("the first suggestion", `document.querySelector("#card-1")`)
	if clicks > 6 {
		t.Errorf("the first suggestion took %d clicks", clicks)
	}

	p.open("/studies")
	p.press("Demo, templates and simulated labs")
	p.press("Make the demo study")
	p.sees("Nobody measures here")
	p.until("the demo's trials without a reload", `/It has run 24 trials/.test(document.querySelector("#lab").innerText)`)
	p.drawn()
	p.sees("24")
	p.press("Let the simulated lab run 5 trials")
	p.until("5 more", `/It has run 5 trials/.test(document.querySelector("#lab").innerText)`)
	p.inspect("simulated")

	p.press("Reviewer’s board")
	p.until("the board", `location.pathname.endsWith("/board") && document.querySelector("#board-moment")`)
	p.drawn()
	board := ask[string](p, `location.pathname`)
	ask[any](p, `scrollTo(0, 500); window.same = "page"; const slider = document.getElementById("at"); slider.focus({preventScroll: true}); slider.value = 9; slider.dispatchEvent(new Event("change", {bubbles: true})); 0`)
	p.until("entry 9 in place", `document.querySelector("#board-moment").dataset.at === "9" && location.search === "?at=9"`)
	if !ask[bool](p, `window.same === "page" && scrollY === 500 && document.activeElement.id === "at"`) {
		t.Error("moving the slider jumped, or lost the focus")
	}
	last := ask[string](p, `document.getElementById("at").max`)
	own.ask(t, strings.Split(board, "/")[2], 1)
	p.until("the new end of the slider while it looks back", `document.getElementById("at").max > `+last+` && document.getElementById("at").value === "9"`)
	p.sees("As it was right after entry 9 of " + ask[string](p, `document.getElementById("at").max`))
	p.press("Back to now")
	p.until("now", `location.search === "" && document.getElementById("at").value === document.getElementById("at").max`)
	p.press("Verify")
	p.sees("✓")
	p.press("Report in one file")
	p.until("the report", `location.pathname.endsWith("/report")`) // the board has a head of the ledger too
	p.sees("Head of the ledger")
	p.ready()
	p.audit("report")

	p.before(`document.addEventListener("readystatechange", () => { const slider = document.getElementById("at"); if (document.readyState === "interactive") slider.value = 7 })`)
	p.open(board)
	p.until("the entry that the slider was moved to before the scripts came", `document.querySelector("#board-moment")?.dataset.at === "7"`)
}

// Who shares a server with many finds a study by words of it, and goes on from there.
func TestFindAStudy(t *testing.T) {
	t.Parallel()
	p := newAdmin(t)
	for i := range 10 {
		site.makeStudy(t, buffer(fmt.Sprintf("Zeolith %d", i)))
	}
	old := site.makeStudy(t, buffer("Zeolith of last year"))
	site.api(t, "PATCH", "/studies/"+old, map[string]any{"state": "archived"}, nil)
	p.open("/studies")
	p.fill("#find", "YIELD zeolith 7")
	p.keys("\r")
	p.until("what was found", `location.search.includes("find=")`)
	p.sees("Zeolith 7")
	p.seesNot("Zeolith 6")
	p.holds("#find", "YIELD zeolith 7")
	p.audit("found")
	p.fill("#find", "zeolith year")
	p.press("Find")
	p.sees("Only archived studies have each word of “zeolith year”")
	p.audit("nothing found")
	p.press("Show archived")
	p.sees("Zeolith of last year")
	p.press("All studies")
	p.until("all of them", `location.search === ""`)
	p.holds("#find", "")
}
