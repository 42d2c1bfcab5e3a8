package pages_test

import (
	"html"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

var meantButton = regexp.MustCompile(`<button type="submit" name="meant" value="([^"]*)">([^<]*)</button>`)

// meant are the buttons that ask which number is meant: what they send by what they say.
func meant(page string) map[string]string {
	buttons := map[string]string{}
	for _, found := range meantButton.FindAllStringSubmatch(page, -1) {
		buttons[html.UnescapeString(found[2])] = html.UnescapeString(found[1])
	}
	return buttons
}

// weighed has a limit of 500 g, beside which neither 1.2 g nor 1200 g is odd.
var weighed = strings.NewReplacer(`"%"`, `"g"`, "0.5", "500").Replace(sitetest.Screen)

// TestNumbersThatCanBeReadInTwoWaysAreAskedAbout: wherever a number is typed, nothing is stored until one of the two was pressed; then that one is.
func TestNumbersThatCanBeReadInTwoWaysAreAskedAbout(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrialOf(s, weighed)
	changed := url.Values{"parameters.0.low": {"20"}, "parameters.0.high": {"60"}, "parameters.0.unit": {"°C"}, "constraints.0.threshold": {"500"}, "constraints.0.unit": {"g"},
		"objective.unit": {"g"}, "algorithm.name": {"log-cei"}, "algorithm.horizon": {"30"}, "reason": {"new"}, "do": {"save"}}
	with := func(form url.Values, field, text string) url.Values {
		form = maps.Clone(form)
		form.Set(field, text)
		return form
	}
	before := events(t, s, study)
	for _, c := range []struct {
		path, field string
		form        url.Values
	}{
		{study + "/trials/1/tell", "metric.1", url.Values{"note": {"cloudy"}}},
		{study + "/own", "metric.1", url.Values{"used.0": {"30"}, "used.1": {"A"}, "note": {"cloudy"}, "do": {"forecast"}}},
		{study + "/reconfigure", "constraints.0.threshold", changed},
		{study + "/reconfigure", "parameters.0.high", changed},
		{study + "/reconfigure", "stop.risk", changed},
		{"/studies/new", "constraints.0.threshold", url.Values{"name": {"New"}, "parameters.0.name": {"x"}, "parameters.0.type": {"real"}, "parameters.0.low": {"1"}, "parameters.0.high": {"2"}, "do": {"save"}}},
	} {
		page := string(post(s, c.path, with(c.form, c.field, "1,200")).Want(422).Body)
		if buttons := meant(page); len(buttons) != 2 || buttons["1.2"] != c.form.Get("do")+" 1.2 "+c.field || buttons["1200"] != c.form.Get("do")+" 1200 "+c.field {
			t.Errorf("%s, %s: the buttons are %q", c.path, c.field, buttons)
		}
		if !strings.Contains(page, `value="1,200"`) || !strings.Contains(page, "can be read as 1.2 or as 1200") {
			t.Errorf("%s, %s: what was typed is lost, or why it is asked about", c.path, c.field)
		}
		if page := string(post(s, c.path, with(c.form, c.field, "72 73")).Want(422).Body); !strings.Contains(page, "looks like more than one number") {
			t.Errorf("%s, %s: two numbers are taken for one", c.path, c.field)
		}
	}
	if after := events(t, s, study); after != before {
		t.Errorf("%d events were stored", after-before)
	}
	post(s, study+"/trials/1/tell", url.Values{"metric.1": {"1,200"}, "meant": {" 1.2 metric.1"}}).Want(303)
	if got := reading(s, study, "1", "impurity"); got != 1.2 {
		t.Errorf("1.2 was pressed, and %v is stored", got)
	}
}

func reading(s *sitetest.Site, study, number, metric string) any {
	read := s.API("GET", study+"/trials/"+number, nil).Want(200).JSON()["metrics"].(map[string]any)[metric]
	if read == nil {
		return nil
	}
	return read.(map[string]any)["value"]
}

// TestTheReadersLanguageAndOtherReadingsDecide what they can decide, and what a form was filled in with is not asked about.
func TestTheReadersLanguageAndOtherReadingsDecide(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrialOf(s, weighed)
	for range 4 {
		s.API("POST", study+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}}`).Want(201)
	}
	german := []string{"Accept-Language", "de-AT,de;q=0.9,en;q=0.5"}
	if buttons := meant(string(post(s, study+"/trials/1/tell", url.Values{"metric.1": {"1.200"}}, german...).Want(422).Body)); buttons["1.2"] != " 1,2 metric.1" || buttons["1200"] != " 1200 metric.1" {
		t.Errorf("with decimal commas, 1.200 offers %q", buttons)
	}
	post(s, study+"/trials/1/tell", url.Values{"metric.1": {"1,250"}}, german...).Want(303)
	post(s, study+"/trials/2/tell", url.Values{"metric.1": {"1.225"}}, "Accept-Language", "en-GB").Want(303)
	post(s, study+"/trials/3/tell", url.Values{"metric.1": {"1.4"}}).Want(303)
	post(s, study+"/trials/4/tell", url.Values{"metric.1": {"1.1"}}).Want(303)
	post(s, study+"/trials/5/tell", url.Values{"metric.1": {"1,200"}}).Want(303) // and 1200 is unlike these
	if buttons := meant(string(post(s, study+"/trials/5/tell", url.Values{"metric.0": {"1,200"}}).Want(422).Body)); len(buttons) != 2 {
		t.Errorf("without a reading of the metric, the buttons are %q", buttons)
	}
	for number, want := range map[string]float64{"1": 1.25, "2": 1.225, "5": 1.2} {
		if got := reading(s, study, number, "impurity"); got != want {
			t.Errorf("trial %s: stored as %v, want %v", number, got, want)
		}
	}
	page := string(post(s, study+"/trials/2/correct", url.Values{"metric.0": {""}, "metric.1": {"1.225"}, "used.0": {"31"}, "used.1": {"A"}, "reason": {"typo"}, "do": {"preview"}}, german...).Want(200).Body)
	if !strings.Contains(page, "What this would change") {
		t.Error("what the form was filled in with is asked about")
	}
}

// TestTablesAreAskedHowTheyWriteDecimals where their own numbers do not show it.
func TestTablesAreAskedHowTheyWriteDecimals(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrialOf(s, weighed)
	open, shown := "temperature;catalyst;yield\n31;A;1.200\n40;A;7\n", "temperature,catalyst,yield\n30.5,A,\"1,200\"\n"
	page := string(post(s, study+"/import", url.Values{"text": {open}, "do": {"check"}}).Want(422).Body)
	if buttons := meant(page); buttons["1.200 is 1.2"] != "check point decimal" || buttons["1.200 is 1200"] != "check comma decimal" || !strings.Contains(page, "line 2, yield") {
		t.Errorf("the buttons are %q", buttons)
	}
	page = string(post(s, study+"/import", url.Values{"text": {open}, "meant": {"check comma decimal"}}).Want(200).Body)
	if !strings.Contains(page, "2 rows are ready") || !strings.Contains(page, `name="decimal" value="comma"`) {
		t.Error("having said that commas are decimal does not help")
	}
	s.API("POST", study+"/import", open, "Content-Type", "text/csv").Want(422)
	s.API("POST", study+"/import?decimal=full", open, "Content-Type", "text/csv").Want(422)
	s.API("POST", study+"/import?decimal=comma", open, "Content-Type", "text/csv").Want(200)
	s.API("POST", study+"/import", shown, "Content-Type", "text/csv").Want(200)
	for _, number := range []string{"2", "4"} {
		if got := reading(s, study, number, "yield"); got != 1200.0 {
			t.Errorf("trial %s: stored as %v", number, got)
		}
	}
	pasted := url.Values{"name": {"New"}, "objective.metric": {"y"}, "objective.direction": {"maximize"}, "algorithm.name": {"log-cei"}, "candidates": {"flow;ligand\n1.200;A\n7;B"}, "do": {"save"}}
	if buttons := meant(string(post(s, "/studies/new", pasted).Want(422).Body)); buttons["1.200 is 1200"] != "save comma decimal" {
		t.Errorf("pasted combinations: the buttons are %q", buttons)
	}
	pasted.Set("meant", "save comma decimal")
	made := post(s, "/studies/new", pasted).Want(303).Header.Get("Location")
	if high := s.API("GET", made, nil).Want(200).JSON()["parameters"].([]any)[0].(map[string]any)["high"]; high != 1200.0 {
		t.Errorf("the highest flow is %v", high)
	}
}
