package pages_test

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

// post sends a form as the site's admin.
func post(s *sitetest.Site, path string, form url.Values, headers ...string) sitetest.Answer {
	headers = append(headers, "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
	return s.Call("POST", path, s.Admin, form.Encode(), headers...)
}

// newTrial makes a study with one trial of somebody's own choice and returns the study's address.
func newTrial(s *sitetest.Site) string { return newTrialOf(s, sitetest.Screen) }

func newTrialOf(s *sitetest.Site, definition string) string {
	id := s.NewStudy(definition)
	s.API("POST", "/studies/"+id+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}}`).Want(201)
	return "/studies/" + id
}

func events(t *testing.T, s *sitetest.Site, study string) int {
	t.Helper()
	return len(s.API("GET", study+"/ledger", nil).Want(200).JSON()["events"].([]any))
}

// TestFaultyFormsComeBackAsTyped: every form that is refused stands there again, with what was typed, the fault beside its field, and nothing stored.
func TestFaultyFormsComeBackAsTyped(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrial(s)
	s.API("POST", study+"/trials/1/tell", `{"metrics": {"yield": 71}}`).Want(200)
	before := events(t, s, study)
	for path, c := range map[string]struct {
		form         url.Values
		typed, fault string // both on the page
	}{
		study + "/edit":             {url.Values{"name": {strings.Repeat("long ", 100)}, "state": {"open"}}, "long long", "f-name"},
		study + "/own":              {url.Values{"used.0": {"thirty"}, "used.1": {"A"}, "note": {"by hand"}}, "by hand", "f-used_0"},
		study + "/trials/1/tell":    {url.Values{"metric.1": {"O,3x"}, "note": {"cloudy"}}, "O,3x", "r-1-f-metric_1"},
		study + "/trials/1/correct": {url.Values{"metric.0": {"17"}, "reason": {" "}}, "17", "f-reason"},
		study + "/trials/1/close":   {url.Values{"kind": {"settings"}, "reason": {strings.Repeat("it leaked, ", 200)}}, "it leaked, it leaked", "reason-1"},
		study + "/trials/1/close?":  {url.Values{"kind": {"excluded"}, "reason": {strings.Repeat("wrong bottle, ", 200)}}, "wrong bottle, wrong bottle", "exclude-reason"},
		study + "/reconfigure":      {url.Values{"constraints.0.threshold": {"much"}, "reason": {"stricter"}, "algorithm.name": {"rpol-ucb"}, "algorithm.horizon": {"20"}}, "stricter", "f-constraints_0_threshold"},
		"/studies/new":              {url.Values{"name": {"Mine"}, "parameters.0.name": {"x"}, "parameters.0.type": {"real"}, "parameters.0.low": {"5"}, "parameters.0.high": {"2"}, "objective.metric": {"y"}, "algorithm.name": {"rpol-ucb"}}, "Mine", "f-parameters_0_low"},
		"/people/invites":           {url.Values{"invite.name": {""}, "invite.role": {"operator"}}, "invite.role", "f-invite_name"},
		"/people/tokens":            {url.Values{"token.name": {"Robot"}, "token.role": {"viewer"}, "token.expires_at": {"tomorrow"}}, "Robot", "f-token_expires_at"},
		study + "/shares":           {url.Values{"name": {"Reviewer"}, "expires_at": {""}}, "Reviewer", "f-expires_at"},
		study + "/import":           {url.Values{"text": {"temperature,catalyst,yield\n999,A,1"}, "do": {"import"}}, "999,A,1", "line 2, temperature"},
	} {
		page := string(post(s, path, c.form).Want(422).Body)
		if !strings.Contains(page, c.typed) {
			t.Errorf("%s: %q, which was typed, is lost", path, c.typed)
		}
		if marked := regexp.MustCompile(`id="` + c.fault + `"[^>]*aria-invalid="true"`); !marked.MatchString(page) && !strings.Contains(page, c.fault+"</td>") {
			t.Errorf("%s: no fault at %s", path, c.fault)
		}
	}
	if after := events(t, s, study); after != before {
		t.Errorf("%d events were stored", after-before)
	}
}

// TestReconfiguringChangesWhatWasTyped, and nothing that has no field.
func TestReconfiguringChangesWhatWasTyped(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrial(s)
	before := s.API("GET", study, nil).Want(200).JSON()
	twice(t, s, study+"/reconfigure", url.Values{"parameters.0.low": {"10"}, "parameters.0.high": {"80,5"}, "parameters.0.unit": {"°C"}, "unavailable.1.choices": {"B"}, "constraints.0.threshold": {"0,4"}, "constraints.0.unit": {"%"},
		"objective.unit": {"%"}, "algorithm.name": {"log-cei"}, "algorithm.horizon": {"30"}, "reason": {"a new bath"}}).Want(303)
	after := s.API("GET", study, nil).Want(200).JSON()
	parameters := before["parameters"].([]any)
	maps.Copy(parameters[0].(map[string]any), map[string]any{"low": 10.0, "high": 80.5})
	if !reflect.DeepEqual(after["parameters"], parameters) {
		t.Errorf("the parameters are %v, want %v", after["parameters"], parameters)
	}
	if want := map[string]any{"catalyst": []any{"B"}}; !reflect.DeepEqual(after["unavailable"], want) {
		t.Errorf("%v has run out, want %v", after["unavailable"], want)
	}
	limit := after["constraints"].([]any)[0].(map[string]any)
	algorithm := after["algorithm"].(map[string]any)
	if limit["threshold"] != 0.4 || limit["op"] != "<=" || algorithm["name"] != "log-cei" || algorithm["horizon"] != 30.0 {
		t.Errorf("the limit is %v, the algorithm %v", limit, algorithm)
	}
}

// TestFormSentTwiceWorksOnce: the second sending is led to the same place, and nothing is stored again.
func TestFormSentTwiceWorksOnce(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrial(s)
	for path, c := range map[string]struct {
		form url.Values
		to   string
	}{
		study + "/edit":               {url.Values{"name": {"Renamed"}, "state": {"open"}}, study + "?done=edited"},
		study + "/own":                {url.Values{"used.0": {"30,5"}, "used.1": {"B"}}, study + "?done=own&saved="},
		study + "/ask":                {url.Values{"count": {"1"}}, study + "?done=asked#next"},
		study + "/trials/1/tell":      {url.Values{"metric.0": {"71,2"}}, study + "?done=saved&saved="},
		study + "/trials/1/replicate": {url.Values{}, study + "?done=replicated#next"},
		study + "/import":             {url.Values{"text": {"temperature,catalyst,yield\n40,A,1"}, "do": {"import"}}, study + "?done=imported#trials"},
	} {
		before := events(t, s, study)
		c.form.Set("key", "k")
		var stored [2]int
		for i := range stored {
			if got := post(s, path, c.form).Want(303).Header.Get("Location"); !strings.HasPrefix(got, c.to) {
				t.Errorf("%s leads to %q, want %q", path, got, c.to)
			}
			stored[i] = events(t, s, study) - before
		}
		if stored[0] == 0 || stored[1] != stored[0] {
			t.Errorf("%s stored %d events, then %d", path, stored[0], stored[1]-stored[0])
		}
	}
	made := url.Values{"key": {"k"}, "name": {"Twice"}, "parameters.0.name": {"x"}, "parameters.0.type": {"real"}, "parameters.0.low": {"0"}, "parameters.0.high": {"1"},
		"objective.metric": {"y"}, "objective.direction": {"maximize"}, "algorithm.name": {"rpol-ucb"}, "algorithm.horizon": {"20"}}
	first, again := post(s, "/studies/new", made).Want(303).Header.Get("Location"), post(s, "/studies/new", made).Want(303).Header.Get("Location")
	if first, _, _ = strings.Cut(first, "?"); first != again {
		t.Errorf("made %s and %s", first, again)
	}
}

// TestAnotherFormUnderTheSameKeyIsRefused: a key that was used for something else does not pass for having worked.
func TestAnotherFormUnderTheSameKeyIsRefused(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrial(s)
	post(s, study+"/own", url.Values{"key": {"k"}, "used.0": {"31"}, "used.1": {"A"}}).Want(303)
	if page := string(post(s, study+"/own", url.Values{"key": {"k"}, "used.0": {"50"}, "used.1": {"A"}}).Want(422).Body); !strings.Contains(page, `value="50"`) {
		t.Error("what was typed is lost")
	}
}

// TestPartsAreAnsweredInPlace: htmx gets the form, or where to go, without a page around it.
func TestPartsAreAnsweredInPlace(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrial(s)
	inPlace := []string{"HX-Request", "true", "HX-Current-URL", "http://headroom.test" + study}
	if form := string(post(s, study+"/trials/1/tell", url.Values{"metric.0": {"x"}}, inPlace...).Want(422).Body); strings.Contains(form, "<html") || !strings.Contains(form, `aria-invalid="true"`) {
		t.Errorf("a faulty entry answers %s", form)
	}
	saved := post(s, study+"/trials/1/tell", url.Values{"metric.0": {"71"}}, inPlace...).Want(200)
	if len(saved.Body) != 0 || saved.Header.Get("HX-Trigger") != `{"changed": {"seen": 3}}` || saved.Header.Get("X-Saved") != "1" {
		t.Errorf("saved: %v %s", saved.Header, saved.Body)
	}
	asked := post(s, study+"/ask", url.Values{}, inPlace...).Want(200)
	if asked.Header.Get("HX-Trigger") != `{"changed": {"seen": 4}}` || strings.Contains(string(asked.Body), "<html") {
		t.Errorf("asked: %v", asked.Header)
	}
	if to := post(s, study+"/edit", url.Values{"name": {"Other"}, "state": {"open"}}, inPlace...).Want(204).Header.Get("HX-Redirect"); to != study+"?done=edited" {
		t.Errorf("sent to %q", to)
	}
}

// TestRowsBeyondTheBoundsAreAskedBack: a table may tell of a trial that ran where none may be chosen, once somebody says so.
func TestRowsBeyondTheBoundsAreAskedBack(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrial(s)
	before := events(t, s, study)
	rows := url.Values{"text": {"temperature,catalyst,yield\n61.5,A,71"}}
	const question = "Line 2: Temperature: 61.5 is above the highest, 60. Was it really run so?"
	rows.Set("do", "check")
	checked := string(post(s, study+"/import", rows).Want(200).Body)
	rows.Set("do", "import")
	asked := string(post(s, study+"/import", rows).Want(422).Body)
	if !strings.Contains(checked, question) || !strings.Contains(asked, question) || events(t, s, study) != before {
		t.Errorf("checked: %v, imported: %v, %d events stored", strings.Contains(checked, question), strings.Contains(asked, question), events(t, s, study)-before)
	}
	_, sure, _ := strings.Cut(asked, `name="sure" value="`)
	sure, _, _ = strings.Cut(sure, `"`)
	rows.Set("sure", sure)
	post(s, study+"/import", rows).Want(303)
	trial := s.API("GET", study+"/trials/2", nil).Want(200).JSON()
	if trial["parameters"].(map[string]any)["temperature"] != 61.5 {
		t.Errorf("imported %v", trial)
	}
	s.Call("GET", study, s.Admin, nil).Want(200)
}

// TestOddValuesAreAskedBackOnce: a value far outside is stored only when the person is sure.
func TestOddValuesAreAskedBackOnce(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrial(s)
	for _, yield := range []string{"70", "71", "72", "73"} {
		s.API("POST", study+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}, "metrics": {"yield": `+yield+`}}`).Want(201)
	}
	before := events(t, s, study)
	odd := url.Values{"key": {"k"}, "metric.0": {"712"}}
	asked := string(post(s, study+"/trials/1/tell", odd).Want(422).Body)
	if !strings.Contains(asked, "The highest so far is 73") || events(t, s, study) != before {
		t.Error("an odd value was not asked back")
	}
	_, sure, _ := strings.Cut(asked, `name="sure" value="`)
	sure, _, _ = strings.Cut(sure, `"`)
	for _, other := range []url.Values{{"sure": {"yes"}}, {"sure": {sure}, "metric.0": {"713"}}} { // sure of nothing, or of another value
		unsure := maps.Clone(odd)
		maps.Copy(unsure, other)
		post(s, study+"/trials/1/tell", unsure).Want(422)
	}
	odd.Set("sure", sure)
	post(s, study+"/trials/1/tell", odd).Want(303)
	odd.Del("sure")
	post(s, study+"/trials/1/tell", odd).Want(303) // the answer was lost, and the form is sent again as it was before the question
	if events(t, s, study) != before+1 {
		t.Error("a sure value was not stored")
	}
}

// TestAPointIsForetoldWithWhatIsKnownOfIt: a limit that follows from the settings and from what a trial brings stands in the forecast, and what could still
// be gained is not denied where it depends on that.
func TestAPointIsForetoldWithWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(`{"name": "Power", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 10}], "objective": {"metric": "yield", "direction": "maximize"},
		"constraints": [{"metric": "room", "op": ">=", "threshold": 0, "unit": "kW", "expression": "omega - 3*x", "context": ["omega"]}], "algorithm": {"name": "log-cei", "horizon": 20}, "seed": 7}`)
	for i := range 5 {
		s.API("POST", "/studies/"+id+"/trials", fmt.Sprintf(`{"parameters": {"x": %d}, "context": {"omega": 30}, "metrics": {"yield": %d}}`, 2*i, 50+7*i-i*i)).Want(201)
	}
	s.API("POST", "/studies/"+id+"/ask", `{"context": {"omega": 30}}`).Want(201)
	form := url.Values{"used.0": {"8"}, "context.omega": {"20"}, "do": {"forecast"}}
	if forecast := string(post(s, "/studies/"+id+"/own", form).Want(200).Body); !strings.Contains(forecast, "−4\u202fkW, known beforehand") || !strings.Contains(forecast, "≥ 0\u202fkW") {
		t.Errorf("the forecast does not say what breaks the limit: %s", forecast[strings.Index(forecast, "What to expect"):])
	}
	if verdict := page(s, "/studies/"+id+"/parts/verdict"); !strings.Contains(verdict, "That depends on what each trial brings with it") || strings.Contains(verdict, "no settings have a 90") {
		t.Errorf("the verdict denies what it cannot know: %s", verdict)
	}
}
