package pages_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

// fact is a named number on a page of a trial.
func fact(t *testing.T, page, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)>` + regexp.QuoteMeta(name) + `</\w+>\s*<[^>]*>([^<]*)<`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no %q on the page", name)
	}
	return strings.TrimSpace(found[1])
}

func TestALimitOnTheObjectiveIsShownWithItsOwnEstimate(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(`{"name": "Oven", "parameters": [{"name": "temperature", "type": "real", "low": 20, "high": 60}],
		"objective": {"metric": "yield", "direction": "maximize"}, "constraints": [{"metric": "yield", "op": ">=", "threshold": 3}],
		"algorithm": {"name": "rpol-ucb", "horizon": 20}, "model": {"fit": "fixed"}, "seed": 1}`)
	for i := range 3 {
		s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
		s.API("POST", fmt.Sprintf("/studies/%s/trials/%d/tell", id, i+1), fmt.Sprintf(`{"metrics": {"yield": %d}}`, i+1)).Want(200)
	}
	decision := s.API("GET", "/studies/"+id+"/trials/3", nil).Want(200).JSON()["decision"].(map[string]any)
	estimates := decision["estimates"].(map[string]any)
	objective, limit := estimates["yield"].(float64), estimates["yield (limit)"].(float64)
	if objective == limit {
		t.Fatalf("the test needs two different estimates, not %v", estimates)
	}
	page := string(s.Call("GET", "/studies/"+id+"/trials/3", s.Admin, nil, "Accept", "text/html").Want(200).Body)
	if a, b := fact(t, page, "Optimistic yield"), fact(t, page, "Estimate for yield"); a == b || strings.HasPrefix(b, "−") != (limit < 0) {
		t.Errorf("objective %v shown as %s, limit %v as %s", objective, a, limit, b)
	}
}

// TestATrialChosenBlindlyHasNoPredictions: what nobody had read when it was chosen has no number, no chance and no estimate; later trials have them,
// each ± with its name.
func TestATrialChosenBlindlyHasNoPredictions(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"yield": 60, "impurity": 0.2, "pressure": 1}}`).Want(200)
	curve(s, id, 6, 0, "yield", "impurity", "pressure")
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	s.API("POST", "/studies/"+id+"/trials/8/tell", `{"metrics": {"yield": 60, "impurity": 0.2, "pressure": 1}, "parameters": {"x": 0.111}}`).Want(200)
	first := page(s, "/studies/"+id+"/trials/1")
	for _, forbidden := range []string{" ± 1.0", "Chance to stay within every limit", "Optimistic yield", "Estimate for impurity"} {
		if strings.Contains(first, forbidden) {
			t.Errorf("the page of the first trial has %q from the prior alone", forbidden)
		}
	}
	if got := fact(t, first, "Predicted yield"); got != "nothing" {
		t.Errorf("of yield it says %q", got)
	}
	young := s.NewStudy(screened)
	s.API("POST", "/studies/"+young+"/ask", nil).Want(201)
	s.API("POST", "/studies/"+young+"/trials/1/tell", `{"metrics": {"yield": 60, "impurity": 0.2, "pressure": 1}}`).Want(200)
	s.API("POST", "/studies/"+young+"/ask", nil).Want(201)
	if second := page(s, "/studies/"+young+"/trials/2"); strings.Contains(second, "Expected improvement") {
		t.Error("the second trial, chosen before the model stood, has an expected improvement")
	}
	last := page(s, "/studies/"+id+"/trials/8")
	for _, wanted := range []string{"Chance to stay within every limit", "without the noise of a reading", "noise included", "at the settings chosen"} {
		if !strings.Contains(last, wanted) {
			t.Errorf("the page of trial 8 lacks %q", wanted)
		}
	}
}

// TestWhyATrialFailed: one press says whether the settings or bad luck made a trial fail, the page says so, and it can be said otherwise afterwards.
func TestWhyATrialFailed(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrial(s)
	address := study + "/trials/1"
	page := func() string {
		return string(s.Call("GET", address, s.Admin, nil, "Accept", "text/html").Want(200).Body)
	}
	for _, step := range []struct{ kind, reason, shown, ledger, cause string }{
		{"settings", "it leaked", "Failed because of its settings: it leaked", "said that trial 1 failed because of its settings", "settings"},
		{"chance", "a fuse blew", "Failed by chance: a fuse blew", "said that trial 1 failed by chance", "chance"},
		{"abandoned", "never begun", "Not run: never begun", "gave up trial 1", ""},
	} {
		for _, button := range []string{`value="settings">These settings failed`, `value="chance">Bad luck`, `value="abandoned">It will not be run`} {
			if !strings.Contains(page(), button) {
				t.Errorf("before %s: no button %s", step.kind, button)
			}
		}
		post(s, address+"/close", url.Values{"kind": {step.kind}, "reason": {step.reason}}).Want(303)
		for _, said := range []string{step.shown, step.ledger} {
			if !strings.Contains(page(), said) {
				t.Errorf("%s: the page does not say %q", step.kind, said)
			}
		}
		trial := s.API("GET", address, nil).Want(200).JSON()
		if got, _ := trial["cause"].(string); got != step.cause {
			t.Errorf("%s: cause %q", step.kind, got)
		}
	}
	again := string(post(s, address+"/close", url.Values{"kind": {"abandoned"}, "reason": {"as I said"}}).Want(422).Body)
	if !strings.Contains(again, "abandoned already") || !strings.Contains(again, "as I said") {
		t.Error("what was typed in vain is lost, or nothing says why")
	}
	post(s, address+"/close", url.Values{"kind": {"failed"}, "reason": {"x"}}).Want(400)
}
