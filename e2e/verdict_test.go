package e2e

import (
	"math"
	"testing"
)

// TestTheAnswerIsSeenFirst by whoever opens the page, and below it each reading stands where the
// API has it. That the numbers of the answer are those of the API is seen in
// TestVerdictEqualsTheAPI.
func TestTheAnswerIsSeenFirst(t *testing.T) {
	t.Parallel()
	id := site.makeStudy(t, buffer("Verdict"))
	site.play(t, id, 12)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.sees("Recommended: the settings of trial")
	// The answer stands above everything else, and what is below the fold has not been fetched.
	if !ask[bool](p, `document.querySelector("#verdict").getBoundingClientRect().bottom < innerHeight && document.querySelectorAll("[data-later]").length > 0`) {
		t.Error("the answer is not the first thing, or everything was fetched at once")
	}
	p.drawn()
	var history struct {
		Rounds []struct {
			Values map[string]float64 `json:"values"`
		} `json:"rounds"`
	}
	site.api(t, "GET", "/studies/"+id+"/history", nil, &history)
	drawn := ask[[]float64](p, framed("#chart-progress", 0)+`.marks.filter((mark) => ["within the limit", "limit broken", "within limits", "a limit broken", "not known yet"].includes(mark.name)).sort((a, b) => a.x - b.x).map((mark) => mark.y)`)
	ends := ask[[]float64](p, framed("#chart-progress", 0)+`.svg.dataset.y.split(" ").map(Number)`)
	var within []float64 // the range drawn; what lies beyond it is said below
	for _, round := range history.Rounds {
		if y := round.Values["yield"]; y >= ends[0] && y <= ends[1] {
			within = append(within, y)
		}
	}
	if len(drawn) != len(within) || len(within) < len(history.Rounds)-2 {
		t.Fatalf("%d readings are drawn of %d, of which %d lie from %v to %v", len(drawn), len(history.Rounds), len(within), ends[0], ends[1])
	}
	for i, want := range within {
		if math.Abs(drawn[i]-want) > 1e-4*(ends[1]-ends[0]) { // places are written to the hundredth of a per cent
			t.Errorf("reading %d of those is drawn at %v, the API has %v", i+1, drawn[i], want)
		}
	}
	if height := ask[int](p, "document.documentElement.scrollHeight"); height > 3000 {
		t.Errorf("the page is %d pixels high", height)
	}
	p.press("What moving a limit would be worth")
	p.until("the curves of the limits", `document.querySelector("#prices .plot svg")`)
	p.click("#beliefs-choose > summary")
	for _, c := range [][2]string{{"Redraw", "Redraw"}, {"What would other algorithms do next?", "What other algorithms would do next"}} {
		press, holds := c[0], c[1]
		ask[any](p, `window.old = document.querySelector(".beliefs"), 0`)
		p.press(press)
		p.until("the model drawn anew", "!old.isConnected")
		p.sees(holds)
		p.ready()
		if got := ask[string](p, "document.activeElement.textContent"); got != holds {
			t.Errorf("after %q the cursor is at %.40q", press, got)
		}
	}
	p.audit("the whole study page")
}
