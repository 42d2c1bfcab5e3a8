package e2e

import (
	"math"
	"strings"
	"testing"
)

// playDrifting goes on with a study whose yield falls by 9 from one trial on, with readings that
// scatter a little.
func (s *server) playDrifting(t *testing.T, id string, from, to, falls int) {
	t.Helper()
	for number := from; number <= to; number++ {
		var asked struct {
			Trials []trial `json:"trials"`
		}
		s.api(t, "POST", "/studies/"+id+"/ask", map[string]any{"count": 1}, &asked)
		temperature := asked.Trials[0].Parameters["temperature"].(float64)
		yield := 80 - 0.03*(temperature-45)*(temperature-45) + 0.5*math.Sin(float64(7*number))
		if number >= falls {
			yield -= 9
		}
		s.tell(t, id, number, map[string]any{"yield": yield, "impurity": 0.1 + 0.007*(temperature-20)})
	}
}

// TestADriftIsAnsweredByClicks: the page says that the process drifts and offers to look only at
// the trials since then; taking the offer changes the algorithm, the next suggestion is made by it,
// and the ledger says why.
func TestADriftIsAnsweredByClicks(t *testing.T) {
	t.Parallel()
	const falls = 16
	definition := buffer("Ageing column")
	definition["parameters"] = definition["parameters"].([]map[string]any)[:1]
	id := site.makeStudy(t, definition)
	site.playDrifting(t, id, 1, 26, falls)
	p := newAdmin(t)
	p.open("/studies/" + id)
	p.drawn()
	p.sees("the process may have drifted.")
	p.until("the answer to be doubted", `/may have drifted, and what is expected here rests on older readings/.test(document.querySelector("#verdict").innerText)`)
	p.click(`a[href*="way=drift"]`)
	p.sees("Filled in below, and not changed yet")
	p.audit("the offer")
	if reason := p.value(`[name="reason"]`); !strings.Contains(reason, "the process may have drifted") {
		t.Errorf("the reason is %q", reason)
	}
	p.press("See what this would change")
	p.press("Change it")
	p.sees("The change is in effect from the next decision on.")
	var made struct {
		Algorithm struct {
			Name     string         `json:"name"`
			Settings map[string]any `json:"settings"`
		} `json:"algorithm"`
	}
	site.api(t, "GET", "/studies/"+id, nil, &made)
	window, _ := made.Algorithm.Settings["window"].(float64)
	if made.Algorithm.Name != "rpol-sw-ucb" || window < 10 || window > 26-falls+4 {
		t.Errorf("the study goes on with %+v: the trials from before the fall still count", made.Algorithm)
	}
	p.press("Ask for next trial")
	p.until("a suggestion of it", `document.querySelector("#card-27")`)
	p.drawn()
	if p.count(`a[href*="way=drift"]`) != 0 {
		t.Error("the offer that was taken is made again")
	}
	p.until("the answer to be doubted no more", `!/may have drifted/.test(document.querySelector("#verdict").innerText)`)
	site.counts(t, id, "reconfigured", 1)
}
