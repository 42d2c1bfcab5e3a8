package pages_test

import (
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

var shownMark = regexp.MustCompile(`name="shown" value="([^"]+)"`)

// twice sends a form, sees what it would change, and confirms that.
func twice(t *testing.T, s *sitetest.Site, path string, form url.Values) sitetest.Answer {
	t.Helper()
	page := string(post(s, path, form).Want(200).Body)
	shown := shownMark.FindStringSubmatch(page)
	if shown == nil {
		t.Fatalf("%s shows no preview:\n%s", path, page)
	}
	form = maps.Clone(form)
	form.Set("do", "save")
	form.Set("shown", shown[1])
	return post(s, path, form)
}

// TestAChangedLimitShowsFirstWhatItDoes: what becomes of the trials, and nothing stored until it was seen; nor when something else was typed, or told
// meanwhile.
func TestAChangedLimitShowsFirstWhatItDoes(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrial(s)
	s.API("POST", study+"/trials", `{"parameters": {"temperature": 40, "catalyst": "B"}}`).Want(201)
	s.API("POST", study+"/trials", `{"parameters": {"temperature": 50, "catalyst": "B"}}`).Want(201)
	s.API("POST", study+"/tell", `{"trials": [{"number": 1, "metrics": {"yield": 71, "impurity": 0.4}}, {"number": 2, "metrics": {"yield": 75, "impurity": 0.3}}]}`).Want(200)
	before := events(t, s, study)
	form := url.Values{"parameters.0.low": {"20"}, "parameters.0.high": {"60"}, "parameters.0.unit": {"°C"}, "constraints.0.threshold": {"0.35"}, "constraints.0.unit": {"%"},
		"objective.unit": {"%"}, "algorithm.name": {"log-cei"}, "algorithm.horizon": {"30"}, "reason": {"purer"}, "do": {"save"}}
	page := string(post(s, study+"/reconfigure", form).Want(200).Body)
	for _, words := range []string{"Limit of impurity from 0.5 to 0.35", "Trial 1 would break a limit", "<th scope=\"row\">Trials within every limit</th><td>2 of 3</td><td>1 of 3</td>", "Change it"} {
		if !strings.Contains(page, words) {
			t.Errorf("the preview does not say %q", words)
		}
	}
	form.Set("shown", shownMark.FindStringSubmatch(page)[1])
	form.Set("constraints.0.threshold", "0.25")
	if page := string(post(s, study+"/reconfigure", form).Want(200).Body); !strings.Contains(page, "Nothing is changed yet") || !strings.Contains(page, "Trials 1 and 2 would break a limit") {
		t.Error("another limit is taken for what was previewed")
	}
	if after := events(t, s, study); after != before {
		t.Fatalf("%d events were stored", after-before)
	}
	impact := s.API("POST", study+"/reconfigure?dry_run=true", `{"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.35, "unit": "%"}], "reason": "purer"}`).Want(200).JSON()["impact"].(map[string]any)
	turned := impact["turned"].([]any)
	if len(turned) != 1 || turned[0].(map[string]any)["number"] != 1.0 || turned[0].(map[string]any)["after"] != false || impact["trials"].([]any)[1].(map[string]any)["within"] != 1.0 || impact["next_after"] == nil {
		t.Errorf("the API's impact is %v", impact)
	}
	form.Set("constraints.0.threshold", "0.35")
	form.Del("shown")
	twice(t, s, study+"/reconfigure", form).Want(303)
	if after := events(t, s, study); after != before+1 {
		t.Errorf("%d events were stored", after-before)
	}
}
