package pages_test

import (
	"context"
	"fmt"
	"html"
	"iter"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/account"
	"headroom/internal/db/dbtest"
	"headroom/internal/http/sitetest"
	"headroom/internal/must"
	"headroom/internal/study"
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

func trials(s *sitetest.Site, study string) int {
	return len(s.API("GET", study+"/trials", nil).Want(200).JSON()["trials"].([]any))
}

// TestNumbersAreReadInTheUnitTheyWereTypedIn: each form of a trial says in which units its numbers are
// typed, and is not taken in others.
func TestNumbersAreReadInTheUnitTheyWereTypedIn(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := newTrial(s)
	s.API("POST", study+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}, "metrics": {"yield": 60, "impurity": 0.3}}`).Want(201)
	blank := newTrialOf(s, strings.ReplaceAll(sitetest.Screen, `"%"`, `" % "`)) // which browsers send as it is
	form := url.Values{"metric.0": {"61.5"}}
	fillIn(form, s.Page(blank+"/trials/1"))
	post(s, blank+"/trials/1/tell", form).Want(303)
	forms := map[string]url.Values{
		"/trials/1/tell":    {"metric.0": {"61.5"}, "used.0": {"31"}, "used.1": {"A"}},
		"/trials/2/correct": {"metric.0": {"61"}, "used.0": {"31"}, "used.1": {"A"}, "reason": {"typo"}, "do": {"correct"}},
		"/own":              {"metric.0": {"62"}, "used.0": {"33"}, "used.1": {"B"}, "do": {"forecast"}},
	}
	for path, form := range forms {
		fillIn(form, s.Page(study+strings.TrimSuffix(path, "/tell")))
	}
	s.API("POST", study+"/reconfigure", `{"parameters": [{"name": "temperature", "type": "real", "low": 20, "high": 60, "unit": "K"}, {"name": "catalyst", "type": "categorical", "choices": ["A", "B"]}],
		"objective": {"metric": "yield", "direction": "maximize", "unit": "g"}, "reason": "another balance"}`).Want(200)
	for path, form := range forms {
		post(s, study+path, form).Want(422).Says("this was typed in % and would now be read in g: look", "this was typed in °C and would now be read in K: look", `name="unit.metric.0" value="g"`, `name="unit.used.0" value="K"`)
		form.Set("unit.metric.0", "g")
		form.Set("unit.used.0", "K")
		if answer := post(s, study+path, form); answer.Status >= 400 {
			t.Errorf("%s, looked at: %d %s", path, answer.Status, answer.Body)
		}
	}
}

// TestFaultyFormsComeBackAsTyped: every form that is refused stands there again, with what was
// typed, the fault beside its field, and nothing stored.
func TestFaultyFormsComeBackAsTyped(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	s.API("POST", study+"/trials/1/tell", `{"metrics": {"yield": 71}}`).Want(200)
	before := events(t, s, study)
	inSteps := "/studies/" + s.NewStudy(`{"name": "Steps", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 10, "step": 0.5}, {"name": "z", "type": "real", "low": 0, "high": 1}],
		"objective": {"metric": "y", "direction": "maximize"}}`)
	for path, c := range map[string]struct {
		form         url.Values
		typed, fault string // both on the page
	}{
		study + "/edit":             {url.Values{"name": {strings.Repeat("long ", 100)}, "state": {"open"}}, "long long", "f-name"},
		study + "/own":              {url.Values{"used.0": {"thirty"}, "used.1": {"A"}, "note": {"by hand"}}, "by hand", "f-used_0"},
		study + "/own?":             {url.Values{"used.0": {"99"}, "do": {"rest"}}, "99", "f-used_0"},
		study + "/own??":            {url.Values{"used.0": {"30"}, "note": {"by hand"}, "do": {"rest"}}, "by hand", "f-note"},
		study + "/own???":           {url.Values{"used.0": {""}, "do": {"rest"}}, "fill in what is given", "f-used_0"},
		inSteps + "/own?":           {url.Values{"used.0": {"99"}, "do": {"rest"}}, "99 is above the highest, 10", "f-used_0"},
		inSteps + "/own":            {url.Values{"used.0": {"4,25"}, "do": {"rest"}}, "x 4.25? Its steps are 0.5 apart: 4.5 would be tried.", "f-used_0"},
		study + "/trials/1/tell":    {url.Values{"metric.1": {"O,3x"}, "note": {"cloudy"}}, "O,3x", "r-1-f-metric_1"},
		study + "/trials/1/correct": {url.Values{"metric.0": {"17"}, "reason": {" "}}, "17", "f-reason"},
		study + "/trials/1/close":   {url.Values{"kind": {"settings"}, "reason": {strings.Repeat("it leaked, ", 200)}}, "it leaked, it leaked", "r-1-f-reason"},
		study + "/trials/1/close?":  {url.Values{"kind": {"excluded"}, "reason": {strings.Repeat("wrong bottle, ", 200)}}, "wrong bottle, wrong bottle", "exclude-f-reason"},
		study + "/reconfigure":      {url.Values{"constraints.0.threshold": {"much"}, "reason": {"stricter"}, "algorithm.name": {"rpol-ucb"}, "algorithm.horizon": {"20"}}, "stricter", "f-constraints_0_threshold"},
		"/studies/new":              {url.Values{"name": {"Mine"}, "parameters.0.name": {"x"}, "parameters.0.type": {"real"}, "parameters.0.low": {"5"}, "parameters.0.high": {"2"}, "objective.metric": {"y"}, "algorithm.name": {"rpol-ucb"}}, "Mine", "f-parameters_0_low"},
		"/studies/new?":             {url.Values{"name": {"Mine"}, "parameters.0.name": {"x"}, "parameters.0.type": {"real"}, "parameters.0.low": {"1"}, "parameters.0.high": {"2"}, "objective.metric": {"y"}, "model.lengthscales": {`{"y": 0.3`}, "model.fit": {"fixed"}}, "such as {", "f-model_lengthscales"},
		"/people/invites":           {url.Values{"invite.name": {""}, "invite.role": {"operator"}}, "invite.role", "f-invite_name"},
		"/people/tokens":            {url.Values{"token.name": {"Robot"}, "token.role": {"viewer"}, "token.expires_at": {"tomorrow"}}, "Robot", "f-token_expires_at"},
		study + "/shares":           {url.Values{"name": {"Reviewer"}, "expires_at": {""}}, "Reviewer", "f-expires_at"},
		study + "/import":           {url.Values{"text": {"temperature,catalyst,yield\n9e101,A,1"}, "do": {"import"}}, "9e101,A,1", "line 2, temperature"},
	} {
		page := string(post(s, path, c.form).Want(422).Body)
		sitetest.Says(t, page, c.typed)
		if marked := regexp.MustCompile(`id="` + c.fault + `"[^>]*aria-invalid="true"`); !marked.MatchString(page) && !strings.Contains(page, c.fault+"</td>") {
			t.Errorf("%s: no fault at %s", path, c.fault)
		}
	}
	sitetest.Same(t, "events were stored", events(t, s, study), before)
}

// TestAFaultOfATableIsPlacedOnce: beside its line and column stands what is wrong there, however the
// fault was found.
func TestAFaultOfATableIsPlacedOnce(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	for row, c := range map[string]struct{ where, again, what string }{
		"9e101,A,1": {"line 2, temperature", "line 2, temperature: ", "9e+101 lies"},
		"47,A,hot":  {"line 2, yield", "line 2, column yield", "number"},
		"47,A":      {"line 2", "line 2 has", "has 2 cells"},
	} {
		page := string(post(s, study+"/import", url.Values{"text": {"temperature,catalyst,yield\n" + row}, "do": {"import"}}).Want(422).Body)
		if !strings.Contains(page, ">"+c.where+"<") || strings.Contains(page, c.again) || !strings.Contains(page, c.what) {
			t.Errorf("%s: %s", row, regexp.MustCompile(`(?s)<table.*?</table>`).FindString(page))
		}
	}
}

// TestReconfiguringChangesWhatWasTyped, and nothing that has no field.
func TestReconfiguringChangesWhatWasTyped(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	before := s.API("GET", study, nil).Want(200).JSON()
	twice(t, s, study+"/reconfigure", url.Values{"parameters.0.low": {"10"}, "parameters.0.high": {"80,5"}, "parameters.0.unit": {"°C"}, "parameters.1.unavailable": {"B"}, "constraints.0.threshold": {"0,4"}, "constraints.0.unit": {"%"},
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

// TestFormSentTwiceWorksOnce: the second sending is led to the same place, and nothing is stored
// again.
func TestFormSentTwiceWorksOnce(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	for path, c := range map[string]struct {
		form url.Values
		to   string
	}{
		study + "/edit":               {url.Values{"name": {"Renamed"}, "state": {"open"}}, study + "?done=edited&saved="},
		study + "/own":                {url.Values{"used.0": {"30,5"}, "used.1": {"B"}}, study + "?done=own&saved="},
		study + "/ask":                {url.Values{"count": {"1"}}, study + "?done=asked#next"},
		study + "/trials/1/tell":      {url.Values{"metric.0": {"71,2"}}, study + "?done=saved&saved="},
		study + "/trials/1/replicate": {url.Values{}, study + "?done=replicated#next"},
		study + "/import":             {url.Values{"text": {"temperature,catalyst,yield\n40,A,1"}, "do": {"import"}}, study + "?done=imported&saved="},
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
	rest, asked := url.Values{"used.0": {"30,5"}, "used.1": {""}, "count": {"3"}, "do": {"rest"}, "key": {"another"}}, trials(s, study)
	for range 2 {
		to := post(s, study+"/own", rest).Want(303).Header.Get("Location")
		if !strings.HasPrefix(to, study+"?done=asked&saved=") {
			t.Errorf("asking for the rest leads to %q", to)
		}
	}
	sitetest.Same(t, "trials asked for", trials(s, study)-asked, 3)
	plate, there := url.Values{"count": {"96"}, "key": {"plate"}}, trials(s, study)
	for range 2 {
		post(s, study+"/ask", plate).Want(303)
	}
	sitetest.Same(t, "trials of a plate", trials(s, study)-there, 96)
	post(s, study+"/ask", url.Values{"count": {"51"}, "key": {""}}).Want(303)
	sitetest.Same(t, "trials without a key", trials(s, study)-there, 96+51)
	more, so := url.Values{"count": {"3"}, "key": {"thrice"}}, trials(s, study)
	for range 2 {
		post(s, study+"/trials/1/replicate", more).Want(303)
	}
	sitetest.Same(t, "repetitions", trials(s, study)-so, 3)
	s.API("GET", fmt.Sprintf("%s/trials/%d", study, so+3), nil).Want(200).Has("replicate_of", 1)
	for count, why := range map[string]string{"0": "between 1 and 50 trials", "51": "between 1 and 50 trials", "x": "write a whole number"} {
		post(s, study+"/trials/1/replicate", url.Values{"count": {count}, "key": {count}}).Want(422).Says(why)
	}
	post(s, study+"/ask", url.Values{"count": {"1537"}, "key": {"many"}}).Want(422).Says("between 1 and 384 trials")
	whole := url.Values{"used.0": {"44"}, "used.1": {"A"}, "key": {"third"}}
	post(s, study+"/own", whole).Want(303)
	whole.Set("do", "rest")
	post(s, study+"/own", whole).Want(422).Says("This form was sent before")
	sitetest.Says(t, s.Page(study), ", with temperature held")
	sitetest.Says(t, s.Page(study+"/trials/"+strconv.Itoa(asked+1)), "held, as asked: 30.5")
	for path, c := range map[string]struct {
		form   url.Values
		secret string
	}{
		"/people/tokens":  {url.Values{"token.name": {"Robot"}, "token.role": {"viewer"}}, "it cannot be shown again. Scripts"},
		"/people/invites": {url.Values{"invite.name": {"Ana"}, "invite.role": {"viewer"}}, "It works once"},
		study + "/shares": {url.Values{"name": {"Reviewer"}, "expires_at": {time.Now().AddDate(0, 0, 30).Format(time.DateOnly)}}, "Send it to them"},
	} {
		c.form.Set("key", "k")
		first, again := string(post(s, path, c.form).Want(200).Says(c.secret).Body), string(post(s, path, c.form).Want(200).Says("This form was sent twice").Body)
		if strings.Contains(again, c.secret) || strings.Count(again, "/revoke") != strings.Count(first, "/revoke") {
			t.Errorf("%s made what it makes twice", path)
		}
	}
	invite := regexp.MustCompile(`/people/invites/[^"/]+/revoke`)
	revoke := invite.FindString(s.Page("/people"))
	post(s, revoke, url.Values{}).Want(303)
	if again := invite.FindString(s.Page("/people")); revoke == "" || again != "" {
		t.Errorf("an invite is revoked at %q, and then at %q", revoke, again)
	}
	made := url.Values{"key": {"k"}, "name": {"Twice"}, "parameters.0.name": {"x"}, "parameters.0.type": {"real"}, "parameters.0.low": {"0"}, "parameters.0.high": {"1"},
		"objective.metric": {"y"}, "objective.direction": {"maximize"}, "algorithm.name": {"rpol-ucb"}, "algorithm.horizon": {"20"}}
	first, again := post(s, "/studies/new", made).Want(303).Header.Get("Location"), post(s, "/studies/new", made).Want(303).Header.Get("Location")
	if first, _, _ = strings.Cut(first, "?"); first != again {
		t.Errorf("made %s and %s", first, again)
	}
	made.Set("key", "another")
	post(s, "/studies/new", made).Want(303)
	sitetest.Says(t, s.Page("/people"), ">Twice ("+strings.TrimPrefix(first, "/studies/")+")<") // studies of one name are told apart
}

// TestAnotherFormUnderTheSameKeyIsRefused: a key that was used for something else does not pass for
// having worked. Whoever changed something after the answer was lost is told so, and sends it again.
func TestAnotherFormUnderTheSameKeyIsRefused(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	formAt := map[string]string{study + "/own": `<form method="post" class="panel`, study + "/edit": `<form method="post" class="panel`,
		study + "/trials/1/tell": `action="` + study + `/trials/1/tell"`, study + "/ask": `action="` + study + `/ask"`}
	for path, forms := range map[string][2]url.Values{
		study + "/own":           {{"used.0": {"31"}, "used.1": {"A"}}, {"used.0": {"50"}, "used.1": {"A"}}},
		study + "/trials/1/tell": {{"metric.0": {"71"}}, {"metric.1": {"0.3"}}},
		study + "/ask":           {{"count": {"1"}}, {"count": {"2"}}},
		study + "/edit":          {{"name": {"Screen"}, "state": {"open"}}, {"name": {"Screen 2"}, "state": {"open"}}},
	} {
		before, after := forms[0], forms[1]
		before.Set("key", "k")
		after.Set("key", "k")
		post(s, path, before).Want(303)
		stored := events(t, s, study)
		page := string(post(s, path, after).Want(422).Says("This form was sent before", "What it says now is not saved yet").Lacks("Idempotency-Key").Body)
		for _, list := range after {
			if list[0] != "k" && !strings.Contains(page, `value="`+list[0]+`"`) {
				t.Errorf("%s does not hold %q any more", path, list[0])
			}
		}
		_, page, _ = strings.Cut(page, formAt[path])
		key := regexp.MustCompile(`name="key" value="([^"]*)"`).FindStringSubmatch(page)
		sitetest.Same(t, path+": events", events(t, s, study), stored)
		if key == nil || key[1] == "k" {
			t.Fatalf("%s has the key %q still", path, key)
		}
		after.Set("key", key[1])
		post(s, path, after).Want(303)
		if events(t, s, study) == stored {
			t.Errorf("%s stored nothing under its new key", path)
		}
	}
	study = newTrial(s)
	post(s, study+"/trials/1/tell", url.Values{"key": {"one"}, "metric.0": {"71"}}).Want(303)
	post(s, study+"/trials/1/tell", url.Values{"key": {"other"}, "metric.0": {"72"}}).Want(422).Says("a result of this trial was saved meanwhile").Lacks("somebody else") // in another tab
}

// TestPartsAreAnsweredInPlace: htmx gets the form, or where to go, without a page around it.
func TestPartsAreAnsweredInPlace(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	inPlace := []string{"HX-Request", "true", "HX-Current-URL", "http://headroom.test" + study}
	post(s, study+"/trials/1/tell", url.Values{"metric.0": {"x"}}, inPlace...).Want(422).Says(`aria-invalid="true"`).Lacks("<html")
	saved := post(s, study+"/trials/1/tell", url.Values{"metric.0": {"71"}}, inPlace...).Want(200)
	if len(saved.Body) != 0 || saved.Header.Get("HX-Trigger") != `{"changed": {"seen": 3}}` || saved.Header.Get("X-Saved") != "1" {
		t.Errorf("saved: %v %s", saved.Header, saved.Body)
	}
	asked := post(s, study+"/ask", url.Values{}, inPlace...).Want(200)
	if asked.Header.Get("HX-Trigger") != `{"changed": {"seen": 4}}` || strings.Contains(string(asked.Body), "<html") {
		t.Errorf("asked: %v", asked.Header)
	}
	sitetest.Same(t, "sent to", post(s, study+"/edit", url.Values{"name": {"Other"}, "state": {"open"}}, inPlace...).Want(204).Header.Get("HX-Redirect"), study+"?done=edited&saved=")
}

// TestRowsBeyondTheBoundsAreAskedBack: a table may tell of a trial that ran where none may be
// chosen, once somebody says so.
func TestRowsBeyondTheBoundsAreAskedBack(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	before := events(t, s, study)
	rows := url.Values{"text": {"temperature,catalyst,yield\n61.5,A,71"}}
	const question = "Line 2: Temperature 61.5\u202f°C? That is above the highest that may be chosen, 60\u202f°C: was it really used?"
	rows.Set("do", "check")
	checked := string(post(s, study+"/import", rows).Want(200).Body)
	rows.Set("do", "import")
	asked := string(post(s, study+"/import", rows).Want(422).Says("The table can be imported, but some of it looks odd.").Body)
	if !strings.Contains(checked, question) || !strings.Contains(asked, question) || events(t, s, study) != before {
		t.Errorf("checked: %v, imported: %v, %d events stored", strings.Contains(checked, question), strings.Contains(asked, question), events(t, s, study)-before)
	}
	_, sure, _ := strings.Cut(asked, `name="sure" value="`)
	sure, _, _ = strings.Cut(sure, `"`)
	rows.Set("sure", sure)
	post(s, study+"/import", rows).Want(303)
	s.API("GET", study+"/trials/2", nil).Want(200).Has("parameters/temperature", 61.5)
	s.Call("GET", study, s.Admin, nil).Want(200)
}

// TestATableOfWaitingTrialsIsRecognised: rows with the numbers and settings of trials that wait are
// asked about once, and the box that tells their results makes no trials of them.
func TestATableOfWaitingTrialsIsRecognised(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	s.API("POST", study+"/ask", `{"count": 2}`).Want(201)
	table := strings.ReplaceAll(string(s.API("GET", study+"/export.csv", nil).Want(200).Body), ",,,", ",71,0.3,")
	rows := url.Values{"text": {table}, "do": {"check"}}
	asked := htmlText(string(post(s, study+"/import", rows).Want(200).Body))
	sitetest.Says(t, asked, "3 rows have the number and settings of trials that wait for results, as line 2 of trial 1. Are these their results? The box “Each row tells of the trial whose number it has” saves them there, and makes no trials.")
	if strings.Contains(asked, "a replicate on purpose?") {
		t.Error("each row is asked about, too")
	}
	rows.Set("by_number", "yes")
	post(s, study+"/import", rows).Want(200).Says("All good: the table has something new of 3 trials. Press Import.")
	rows.Set("do", "import")
	post(s, study+"/import", rows).Want(303)
	s.API("GET", study+"/trials", nil).Want(200).Has("trials/2/status", "completed").Has("next", nil)
	rows.Set("text", "number,yield\n1,72\n2,712\n")
	post(s, study+"/import", rows).Want(422).Says("trial 1 has 71 % already; to correct it, give a reason")
	rows.Set("reason", "wrong well")
	rows.Del("by_number")
	post(s, study+"/import", rows).Want(422).Says("the reason", "is for correcting results of trials that are here. The box “Each row tells of the trial whose number it has” goes with it.")
	rows.Set("by_number", "yes")
	rows.Set("do", "check")
	post(s, study+"/import", rows).Want(200).Says("The table can be imported, but some of it looks odd. It corrects results of trials 1 and 2.")
	rows.Set("do", "import")
	asked = string(post(s, study+"/import", rows).Want(422).Says("71.2\u202f% would fit").Body)
	_, sure, _ := strings.Cut(asked, `name="sure" value="`)
	sure, _, _ = strings.Cut(sure, `"`)
	rows.Set("sure", sure)
	post(s, study+"/import", rows).Want(303)
	s.API("GET", study+"/trials/2", nil).Want(200).Has("metrics/yield/value", 712.0)
}

// TestATableThatOnlyContradictsTheSettings is not called known already without saying what is not
// kept.
func TestATableThatOnlyContradictsTheSettings(t *testing.T) {
	s := sitetest.Beside(t)
	study := "/studies/" + s.NewStudy(strings.Replace(sitetest.Screen, `"constraints": [`, `"constraints": [{"metric": "cost", "op": "<=", "threshold": 500, "expression": "temperature * 2"}, `, 1))
	s.API("POST", study+"/ask", nil).Want(201)
	for _, press := range []string{"check", "import"} {
		post(s, study+"/import", url.Values{"text": {"number,cost\n1,999"}, "by_number": {"yes"}, "do": {press}}).Want(422).Says("Line 2: Cost follows from the settings", "999 is not kept")
	}
}

// TestATableIsTakenBack from its closing message, once its consequences were seen, by whoever may
// save, in a finished study, too; not twice.
func TestATableIsTakenBack(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	rows := url.Values{"text": {"temperature,catalyst,yield,impurity\n40,A,50,0.9\n41,B,,\n"}, "do": {"import"}, "key": {"rows"}}
	closing := post(s, study+"/import", rows).Want(303).Header.Get("Location")
	if again := post(s, study+"/import", rows).Want(303).Header.Get("Location"); again != closing {
		t.Errorf("sent twice, it leads to %s and %s", closing, again)
	}
	_, address, found := strings.Cut(s.Page(closing), `<a href="`+study+`/undo`)
	address, _, _ = strings.Cut(study+"/undo"+address, `"`)
	if !found || !strings.HasSuffix(address, fmt.Sprintf("?event=%d", events(t, s, study))) {
		t.Fatalf("the closing message leads to %s", address)
	}
	s.Call("GET", address, s.Token(account.Viewer, ""), nil).Want(403)
	s.Call("GET", study+"/undo?event=99", s.Admin, nil).Want(422).Says("must be a whole number from 1 to 5")
	post(s, study+"/undo?event=99", url.Values{}).Want(422).Says("must be a whole number from 1 to 5")
	sitetest.Says(t, s.Page(address), "wrote entries 3 to 5 of the ledger in one go", "about trials 2 and 3")
	s.API("PATCH", study, `{"state": "finished"}`).Want(200)
	why := url.Values{"do": {"preview"}, "reason": {""}}
	post(s, address, why).Want(422).Says("say why, so that others can follow")
	why.Set("reason", "wrong file")
	preview := string(post(s, address, why).Want(200).Says("Trials 2 and 3 would count as not run.").Body)
	_, shown, _ := strings.Cut(preview, `name="shown" value="`)
	shown, _, _ = strings.Cut(shown, `"`)
	before := events(t, s, study)
	why.Set("do", "save")
	post(s, address, why).Want(200).Says("What this would change") // which nobody had seen
	sitetest.Same(t, "events", events(t, s, study), before)
	why.Set("shown", shown)
	to := post(s, address, why).Want(303).Header.Get("Location")
	if !strings.HasPrefix(to, study+"?done=taken-back&event="+strconv.Itoa(before+3)) {
		t.Errorf("then comes %s", to)
	}
	s.API("GET", study+"/trials/2", nil).Want(200).Has("status", "abandoned").Has("reason", "wrong file").Has("metrics/yield", nil)
	post(s, address, why).Want(422).Says("There is nothing to take back")
	sitetest.Says(t, s.Page(study+"/trials/2"), "take back all 2…")
	s.API("PATCH", study, `{"state": "archived"}`).Want(200)
	sitetest.Says(t, s.Page(address), "This study is archived.")
	post(s, address, why).Want(422).Says("The study is archived")
}

// TestOddValuesAreAskedBackOnce: a value far outside is stored only when the person is sure.
func TestOddValuesAreAskedBackOnce(t *testing.T) {
	s := sitetest.Beside(t)
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

// TestAPointIsForetoldWithWhatIsKnownOfIt: a limit that follows from the settings and from what a
// trial brings stands in the forecast, and what could still be gained is not denied where it
// depends on that.
func TestAPointIsForetoldWithWhatIsKnownOfIt(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Power", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 10}], "objective": {"metric": "yield", "direction": "maximize"},
		"constraints": [{"metric": "room", "op": ">=", "threshold": 0, "unit": "kW", "expression": "omega - 3*x", "context": ["omega"]}], "algorithm": {"name": "log-cei", "horizon": 20}, "seed": 7}`)
	for i := range 5 {
		s.API("POST", "/studies/"+id+"/trials", fmt.Sprintf(`{"parameters": {"x": %d}, "context": {"omega": 30}, "metrics": {"yield": %d}}`, 2*i, 50+7*i-i*i)).Want(201)
	}
	form := url.Values{"used.0": {"8"}, "context.omega": {"20"}, "do": {"forecast"}}
	if before := post(s, "/studies/"+id+"/own", form).Want(200).Says("−4\u202fkW, known beforehand", "≥\u202f0\u202fkW"); strings.Contains(string(before.Body), "no model yet") {
		t.Error("the fit that the decision would use, which nothing has been asked by yet, tells nothing")
	}
	s.API("POST", "/studies/"+id+"/ask", `{"context": {"omega": 30}}`).Want(201)
	post(s, "/studies/"+id+"/ask", url.Values{"count": {"3"}, "context.omega": {"much"}}).Want(422).Says(`name="count" value="3"`, `value="much"`, "omega: write a number")
	if verdict := s.Page("/studies/" + id + "/parts/verdict"); !strings.Contains(verdict, "That depends on what each trial brings with it") || strings.Contains(verdict, "no settings have a 90") {
		t.Errorf("the verdict denies what it cannot know: %s", verdict)
	}
}

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

// TestNumbersThatCanBeReadInTwoWaysAreAskedAbout: wherever a number is typed, nothing is stored
// until one of the two was pressed; then that one is.
func TestNumbersThatCanBeReadInTwoWaysAreAskedAbout(t *testing.T) {
	s := sitetest.Beside(t)
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
		{study + "/own", "used.0", url.Values{"used.1": {""}, "do": {"rest"}}},
		{study + "/reconfigure", "constraints.0.threshold", changed},
		{study + "/reconfigure", "parameters.0.high", changed},
		{study + "/reconfigure", "stop.risk", changed},
		{"/studies/new", "constraints.0.threshold", url.Values{"name": {"New"}, "parameters.0.name": {"x"}, "parameters.0.type": {"real"}, "parameters.0.low": {"1"}, "parameters.0.high": {"2"}, "do": {"save"}}},
	} {
		page := string(post(s, c.path, with(c.form, c.field, "1,200")).Want(422).Body)
		if buttons := meant(page); len(buttons) != 2 || buttons["1.2"] != c.form.Get("do")+" 1.2 "+c.field || buttons["1200"] != c.form.Get("do")+" 1200 "+c.field {
			t.Errorf("%s, %s: the buttons are %q", c.path, c.field, buttons)
		}
		sitetest.Says(t, page, `value="1,200"`, "can be read as 1.2 or as 1200")
		post(s, c.path, with(c.form, c.field, "72 73")).Want(422).Says("looks like more than one number")
	}
	sitetest.Same(t, "events were stored", events(t, s, study), before)
	post(s, study+"/trials/1/tell", url.Values{"metric.1": {"1,200"}, "meant": {" 1.2 metric.1"}}).Want(303)
	sitetest.Same(t, "1.2 was pressed, and stored is", reading(s, study, "1", "impurity"), 1.2)
}

func reading(s *sitetest.Site, study, number, metric string) any {
	read := s.API("GET", study+"/trials/"+number, nil).Want(200).JSON()["metrics"].(map[string]any)[metric]
	if read == nil {
		return nil
	}
	return read.(map[string]any)["value"]
}

// TestTheReadersLanguageAndOtherReadingsDecide what they can decide, and what a form was filled in
// with is not asked about.
func TestTheReadersLanguageAndOtherReadingsDecide(t *testing.T) {
	s := sitetest.Beside(t)
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
	post(s, study+"/trials/3/tell", url.Values{"metric.1": {"1.4 g"}}).Want(303)
	post(s, study+"/trials/4/tell", url.Values{"metric.1": {"1.1"}}).Want(303)
	post(s, study+"/trials/5/tell", url.Values{"metric.1": {"1,200"}}).Want(303) // and 1200 is unlike these
	if buttons := meant(string(post(s, study+"/trials/5/tell", url.Values{"metric.0": {"1,200"}}).Want(422).Body)); len(buttons) != 2 {
		t.Errorf("without a reading of the metric, the buttons are %q", buttons)
	}
	for number, want := range map[string]float64{"1": 1.25, "2": 1.225, "5": 1.2} {
		sitetest.Same[any](t, "trial "+number, reading(s, study, number, "impurity"), want)
	}
	page := string(post(s, study+"/trials/2/correct", url.Values{"metric.0": {""}, "metric.1": {"1.225"}, "used.0": {"31"}, "used.1": {"A"}, "reason": {"typo"}, "do": {"preview"}}, german...).Want(200).Body)
	sitetest.Says(t, page, "What this would change")
}

// TestStandardDeviationsAreTyped beside their readings, as tables and scripts tell them, and are
// corrected like them; a corrected value keeps the one that it had.
func TestStandardDeviationsAreTyped(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrialOf(s, weighed)
	for wrong, why := range map[string]string{
		"71 ± few": "write a number such as", "71 ± 0": "", "± 2": "write the value before its standard deviation", "71 ±": "write the standard deviation after ±",
	} {
		post(s, study+"/trials/1/tell", url.Values{"metric.0": {wrong}}).Want(422).Says(`aria-invalid="true"`, why)
	}
	deviation := func(value, deviation float64) {
		t.Helper()
		read := s.API("GET", study+"/trials/1", nil).Want(200).JSON()["metrics"].(map[string]any)["yield"].(map[string]any)
		sitetest.Same[any](t, "the reading", []any{read["value"], read["stddev"]}, []any{value, deviation})
	}
	post(s, study+"/trials/1/tell", url.Values{"metric.0": {"71,2 g +- 0,5 g"}}).Want(303)
	deviation(71.2, 0.5)
	twice(t, s, study+"/trials/1/correct", url.Values{"metric.0": {"71.2 ± 0.25"}, "reason": {"three weighings"}}).Want(303)
	deviation(71.2, 0.25)
	twice(t, s, study+"/trials/1/correct", url.Values{"metric.0": {"70.2"}, "reason": {"typo"}}).Want(303)
	deviation(70.2, 0.25)
}

// TestTablesAreAskedHowTheyWriteDecimals where their own numbers do not show it.
func TestTablesAreAskedHowTheyWriteDecimals(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrialOf(s, weighed)
	open, shown := "temperature;catalyst;yield\n31;A;1.200\n40;A;7\n", "temperature,catalyst,yield\n30.5,A,\"1,200\"\n"
	page := string(post(s, study+"/import", url.Values{"text": {open}, "do": {"check"}}).Want(422).Body)
	if buttons := meant(page); buttons["1.200 is 1.2"] != "check point decimal" || buttons["1.200 is 1200"] != "check comma decimal" || !strings.Contains(page, "line 2, yield") {
		t.Errorf("the buttons are %q", buttons)
	}
	page = string(post(s, study+"/import", url.Values{"text": {open}, "meant": {"check comma decimal"}}).Want(200).Body)
	sitetest.Says(t, page, "2 rows are ready", `name="decimal" value="comma"`)
	s.API("POST", study+"/import", open, "Content-Type", "text/csv").Want(422)
	s.API("POST", study+"/import?decimal=full", open, "Content-Type", "text/csv").Want(422)
	s.API("POST", study+"/import?decimal=comma", open, "Content-Type", "text/csv").Want(200)
	s.API("POST", study+"/import", shown, "Content-Type", "text/csv").Want(200)
	for _, number := range []string{"2", "4"} {
		sitetest.Same(t, "trial "+number, reading(s, study, number, "yield"), 1200.0)
	}
	pasted := url.Values{"name": {"New"}, "objective.metric": {"y"}, "objective.direction": {"maximize"}, "algorithm.name": {"log-cei"}, "candidates": {"flow;ligand\n1.200;A\n7;B"}, "do": {"save"}}
	if buttons := meant(string(post(s, "/studies/new", pasted).Want(422).Body)); buttons["1.200 is 1200"] != "save comma decimal" {
		t.Errorf("pasted combinations: the buttons are %q", buttons)
	}
	pasted.Set("meant", "save comma decimal")
	made, _, _ := strings.Cut(post(s, "/studies/new", pasted).Want(303).Header.Get("Location"), "?")
	s.API("GET", made, nil).Want(200).Has("parameters/0/high", 1200)
}

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

// TestAChangedLimitShowsFirstWhatItDoes: what becomes of the trials, and nothing stored until it
// was seen; nor when something else was typed, or told meanwhile.
func TestAChangedLimitShowsFirstWhatItDoes(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	s.API("POST", study+"/trials", `{"parameters": {"temperature": 40, "catalyst": "B"}}`).Want(201)
	s.API("POST", study+"/trials", `{"parameters": {"temperature": 50, "catalyst": "B"}}`).Want(201)
	s.API("POST", study+"/tell", `{"trials": [{"number": 1, "metrics": {"yield": 71, "impurity": 0.4}}, {"number": 2, "metrics": {"yield": 75, "impurity": 0.3}}]}`).Want(200)
	before := events(t, s, study)
	form := url.Values{"parameters.0.low": {"20"}, "parameters.0.high": {"60"}, "parameters.0.unit": {"°C"}, "constraints.0.threshold": {"0.35"}, "constraints.0.unit": {"%"},
		"objective.unit": {"%"}, "algorithm.name": {"log-cei"}, "algorithm.horizon": {"30"}, "reason": {"purer"}, "do": {"save"}}
	page := string(post(s, study+"/reconfigure", form).Want(200).Body)
	sitetest.Says(t, page, "Limit of impurity from 0.5 to 0.35", "Trial 1 would break a limit", "<th scope=\"row\">Trials within every limit</th><td>2 of 2</td><td>1 of 2</td>", "Change it")
	form.Set("shown", shownMark.FindStringSubmatch(page)[1])
	form.Set("constraints.0.threshold", "0.25")
	post(s, study+"/reconfigure", form).Want(200).Says("Nothing is changed yet", "Trials 1 and 2 would break a limit")
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
	sitetest.Same(t, "events were stored", events(t, s, study), before+1)
}

// TestOnlyTheLastSavingsStandAboveTheCards: a table that was imported does not bury them, nor do many
// results saved within a minute; and a bench without trials says so.
func TestOnlyTheLastSavingsStandAboveTheCards(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s) // which waits
	post(s, study+"/import", url.Values{"do": {"import"}, "text": {"temperature,catalyst,yield\n31,A,71\n32,A,72\n33,B,73"}}).Want(303)
	if page := s.Page(study + "/bench"); strings.Contains(page, `class="saved"`) {
		t.Error("what was imported is told of as saved just now")
	}
	for number := 5; number <= 9; number++ {
		post(s, study+"/ask", url.Values{}).Want(303)
		post(s, study+"/trials/"+strconv.Itoa(number)+"/tell", url.Values{"metric.0": {strconv.Itoa(60 + number)}}).Want(303)
	}
	page := s.Page(study + "/bench")
	if strings.Count(page, `class="saved"`) != 3 || !strings.Contains(page, `id="saved-9"`) || strings.Contains(page, `id="saved-5"`) {
		t.Errorf("%d savings stand above the cards", strings.Count(page, `class="saved"`))
	}
	empty := "/studies/" + s.NewStudy(strings.Replace(sitetest.Screen, "Buffer", "Empty", 1))
	if page := s.Page(empty + "/bench"); !strings.Contains(page, "There are no trials yet.") || strings.Contains(page, "has its results") {
		t.Error("a bench without trials says that they have results")
	}
}

// away is a server that takes no new study, as it stops.
type away struct{ study.Store }

func (away) Create(context.Context, string, study.Command, iter.Seq2[study.Append, error]) error {
	return &study.Later{Sentence: "The server is stopping."}
}

// TestAFormCanBeTriedAgain: where a form was sent to is often no page.
func TestAFormCanBeTriedAgain(t *testing.T) {
	s := sitetest.Beside(t, sitetest.Asking(t, func(of study.Store) study.Store { return away{of} }))
	post(s, "/studies/demo", url.Values{}, "Referer", "http://headroom.test/studies?archived=yes").Want(503).Says(`href="/studies?archived=yes">Try again`)
	post(s, "/studies/demo", url.Values{}).Want(503).Says(`href="/">Try again`).Lacks("atabase")
}

// fillIn gives a form the values that its page hides in it.
func fillIn(form url.Values, page string) {
	for _, hidden := range regexp.MustCompile(`type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		form.Set(hidden[1], html.UnescapeString(hidden[2]))
	}
}

// TestTwoPeopleTellOneTrial: who saves a result of a trial whose settings somebody else has put
// right meanwhile leaves those as they are, unless they typed others.
func TestTwoPeopleTellOneTrial(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	form := url.Values{"used.0": {"30"}, "used.1": {"A"}}
	fillIn(form, s.Page(study+"/trials/1"))
	s.API("POST", study+"/trials/1/tell", `{"metrics": {"yield": 71}, "parameters": {"temperature": 31.5, "catalyst": "B"}}`).Want(200)
	form.Set("metric.1", "much")
	post(s, study+"/trials/1/tell", form).Want(422).Says(`name="used.0" value="31.5"`, `name="was.used.0" value="31.5"`)
	form.Set("metric.1", "0.3")
	form.Set("used.1", "A")
	post(s, study+"/trials/1/tell", form).Want(303)
	s.API("GET", study+"/trials/1", nil).Has("parameters/temperature", 31.5, "parameters/catalyst", "B", "metrics/impurity/value", 0.3)
	s.API("POST", study+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}}`).Want(201)
	form = url.Values{"used.0": {"29"}, "used.1": {"A"}, "metric.1": {"0.3"}}
	fillIn(form, s.Page(study+"/trials/2"))
	s.API("POST", study+"/trials/2/tell", `{"metrics": {"yield": 71}, "parameters": {"temperature": 31.5, "catalyst": "B"}}`).Want(200)
	post(s, study+"/trials/2/tell", form).Want(303)
	s.API("GET", study+"/trials/2", nil).Has("parameters/temperature", 29.0, "parameters/catalyst", "B")
}

// TestTwoPeopleCorrectOneTrial: who corrects one value does not undo what somebody else corrected
// since the form was opened.
func TestTwoPeopleCorrectOneTrial(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	s.API("POST", study+"/trials/1/tell", `{"metrics": {"yield": 712, "impurity": 0.2}}`).Want(200)
	form := url.Values{"metric.0": {"712"}, "metric.1": {"0.3"}, "used.0": {"30"}, "used.1": {"A"}, "reason": {"read wrongly"}}
	fillIn(form, s.Page(study+"/trials/1/correct"))
	s.API("POST", study+"/trials/1/corrections", `{"metrics": {"yield": 71.2}, "parameters": {"temperature": 31.5, "catalyst": "A"}, "reason": "typo"}`).Want(200)
	form.Set("do", "preview")
	page := string(post(s, study+"/trials/1/correct", form).Want(200).Says(`name="metric.0" value="71.2"`, `name="metric.1" value="0.3"`, `name="used.0" value="31.5"`).Body)
	form.Set("do", "correct")
	form.Set("metric.0", "71.2")
	form.Set("used.0", "31.5")
	fillIn(form, page)
	post(s, study+"/trials/1/correct", form).Want(303)
	s.API("GET", study+"/trials/1", nil).Has("parameters/temperature", 31.5, "metrics/yield/value", 71.2, "metrics/impurity/value", 0.3)
	fillIn(form, s.Page(study+"/trials/1/correct"))
	form.Set("metric.0", "71.3")
	form.Set("metric.1", "0.4")
	s.API("POST", study+"/trials/1/corrections", `{"metrics": {"impurity": null}, "reason": "another sample"}`).Want(200)
	post(s, study+"/trials/1/correct", form).Want(422).Says("somebody has taken this value back meanwhile", `name="metric.1" value="0.4"`)
	s.API("GET", study+"/trials/1", nil).Has("metrics/yield/value", 71.2)
	form.Set("metric.1", "")
	fillIn(form, string(post(s, study+"/trials/1/correct", form).Want(200).Says("not as it was in the preview").Body))
	post(s, study+"/trials/1/correct", form).Want(303)
	s.API("GET", study+"/trials/1", nil).Has("metrics/yield/value", 71.3)
}

// TestTwoPeopleChangeOneStudy: who widens a range does not loosen the limit that somebody else has
// tightened since the form was opened, unless they typed one.
func TestTwoPeopleChangeOneStudy(t *testing.T) {
	s := sitetest.Beside(t)
	study := newTrial(s)
	page := s.Page(study + "/reconfigure")
	form := url.Values{"parameters.0.low": {"20"}, "parameters.0.high": {"80"}, "parameters.0.unit": {"°C"}, "constraints.0.threshold": {"0.5"}, "constraints.0.unit": {"%"},
		"objective.unit": {"%"}, "algorithm.name": {"log-cei"}, "algorithm.horizon": {"30"}, "reason": {"a larger oven"}, "do": {"save"}}
	sitetest.Says(t, page, `name="constraints.0.threshold" value="0.5"`)
	fillIn(form, page)
	s.API("POST", study+"/reconfigure", `{"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.4}], "reason": "purer"}`).Want(200)
	post(s, study+"/reconfigure", form).Want(200).Says(`name="constraints.0.threshold" value="0.4"`, `name="parameters.0.high" value="80"`)
	twice(t, s, study+"/reconfigure", form).Want(303)
	limit := func() any {
		return s.API("GET", study, nil).JSON()["constraints"].([]any)[0].(map[string]any)["threshold"]
	}
	if limit() != 0.4 {
		t.Errorf("the limit is %v again", limit())
	}
	form.Set("constraints.0.threshold", "0.6")
	form.Del("key")
	twice(t, s, study+"/reconfigure", form).Want(303)
	if limit() != 0.6 {
		t.Errorf("the limit stays at %v where another was typed", limit())
	}
	form.Set("at", "99")
	post(s, study+"/reconfigure", form).Want(422).Says("events so far")
}

// TestAPreviewOfWhatIsConfirmed: a doubted value counts in it as it will, once somebody has said that it
// is to be kept.
func TestAPreviewOfWhatIsConfirmed(t *testing.T) {
	s := sitetest.Beside(t)
	study := toldStudy(s)
	form := url.Values{"metric.0": {"712"}, "metric.1": {"0.3"}, "used.0": {"30"}, "used.1": {"A"}, "reason": {"typo"}, "do": {"preview"}}
	page := string(post(s, study+"/trials/1/correct", form).Want(200).Body)
	sitetest.Says(t, page, "Trial 1 would be: within limits.", "Yield 712\u202f%?", "Correct it anyway")
	form.Set("do", "correct")
	form.Set("shown", shownMark.FindStringSubmatch(page)[1])
	post(s, study+"/trials/1/correct", form).Want(303)
	if kept := s.API("GET", study+"/trials/1", nil).Want(200).JSON(); kept["doubts"] != nil {
		t.Errorf("what was confirmed is in doubt: %v", kept["doubts"])
	}
}

// TestTwoPeopleEditOneStudy: who changes the description of a study that somebody paused and renamed
// meanwhile neither opens it nor gives it its old name.
func TestTwoPeopleEditOneStudy(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	form := url.Values{"name": {"Buffer screen"}, "description": {"Ana's words"}, "state": {"open"}}
	fillIn(form, s.Page("/studies/"+id+"/edit"))
	s.API("PATCH", "/studies/"+id, `{"name": "Renamed", "state": "paused"}`).Want(200)
	post(s, "/studies/"+id+"/edit", form).Want(303)
	s.API("GET", "/studies/"+id, nil).Has("name", "Renamed", "state", "paused", "description", "Ana's words")
	form.Set("at", "99")
	form.Set("key", "another")
	post(s, "/studies/"+id+"/edit", form).Want(422).Says("3 events so far", "Ana&#39;s words")
	s.API("GET", "/studies/"+id, nil).Has("version", 3.0)
	const asIs = " indented\r\nand more\n"
	s.API("PATCH", "/studies/"+id, map[string]string{"description": asIs}).Want(200)
	untouched := url.Values{"name": {"Renamed"}, "description": {strings.ReplaceAll(strings.ReplaceAll(asIs, "\r\n", "\n"), "\n", "\r\n")}, "state": {"paused"}, "key": {"untouched"}, "at": {"4"}}
	post(s, "/studies/"+id+"/edit", untouched).Want(303)
	s.API("GET", "/studies/"+id, nil).Has("description", asIs, "version", 4.0)
}

// TestWhatTwoPeopleWriteInOnePlace: who was slower is told what the other wrote, and nothing is put in its place unless they send theirs again.
func TestWhatTwoPeopleWriteInOnePlace(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	form := url.Values{"name": {"Buffer screen"}, "description": {"Ana's words"}, "state": {"finished"}}
	fillIn(form, s.Page("/studies/"+id+"/edit"))
	s.API("PATCH", "/studies/"+id, `{"description": "Ben's words", "state": "finished"}`).Want(200)
	page := post(s, "/studies/"+id+"/edit", form).Want(422).Says("Ben&#39;s words", "Ana&#39;s words</textarea>", "One field needs another look").Body
	s.API("GET", "/studies/"+id, nil).Has("description", "Ben's words", "version", 2.0)
	fillIn(form, string(page))
	post(s, "/studies/"+id+"/edit", form).Want(303)
	post(s, "/studies/"+id+"/edit", form).Want(303) // whose answer was lost
	s.API("GET", "/studies/"+id, nil).Has("description", "Ana's words", "state", "finished", "version", 3.0)
}

// TestPhonesOfferAMinus where a value may be below 0: the keys that some offer for decimals have none.
func TestPhonesOfferAMinus(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Cold", "parameters": [{"name": "temperature", "type": "real", "low": -20, "high": 40}, {"name": "time", "type": "real", "low": 0, "high": 9}],
		"objective": {"metric": "potential", "direction": "maximize", "plausible": [-900, 900]}, "constraints": [{"metric": "drift", "op": ">=", "threshold": -2}, {"metric": "loss", "op": "<=", "threshold": 2}]}`)
	page := s.Page("/studies/" + id + "/own")
	for name, minus := range map[string]bool{"used.0": true, "used.1": false, "metric.0": true, "metric.1": true, "metric.2": false} {
		field := regexp.MustCompile(`<input[^>]* name="` + name + `"[^>]*>`).FindString(page)
		if field == "" || strings.Contains(field, `inputmode="decimal"`) == minus {
			t.Errorf("that %s may be below 0 is %t: %s", name, minus, field)
		}
	}
}

// TestALinkThatHasEnded says so, and is not offered to be revoked, as if it worked still.
func TestALinkThatHasEnded(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := sitetest.On(t, url)
	study := "/studies/" + s.NewStudy(sitetest.Screen)
	s.API("POST", study+"/shares", `{"name": "Reviewer", "expires_at": "`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)+`"}`).Want(201)
	database := must.Get(pgx.Connect(t.Context(), url))(t)
	defer database.Close(t.Context())
	must.Get(database.Exec(t.Context(), `UPDATE credentials SET expires_at = now() - interval '1 second' WHERE kind = 'share'`))(t) // an hour passes
	page := s.Page(study + "/shares")
	sitetest.Says(t, page, "ended ")
	sitetest.Lacks(t, page, "/revoke")
}
