package http_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

// readAll reads everything there is of a study, by program and by browser. What cannot be computed
// may be refused, never fail.
func readAll(t *testing.T, s *sitetest.Site, id string, trials int) {
	t.Helper()
	api, page := "/api/v1/studies/"+id, "/studies/"+id
	var settings map[string]any
	if trials > 0 {
		settings, _ = s.API("GET", "/studies/"+id+"/trials/1", nil).Want(200).JSON()["parameters"].(map[string]any)
	}
	read := func(method, path string, body any, allowed ...int) {
		answer := s.Call(method, path, s.Admin, body, "Accept", map[bool]string{true: "application/json", false: "text/html"}[strings.HasPrefix(path, "/api")])
		ok := answer.Status == http.StatusOK
		for _, status := range allowed {
			ok = ok || answer.Status == status
		}
		if !ok {
			t.Errorf("%s %s: %d %.300s", method, path, answer.Status, answer.Body)
		}
	}
	for _, path := range []string{"", "/trials", "/ledger", "/export.csv", "/export.json"} {
		read("GET", api+path, nil)
	}
	for _, path := range []string{"/state", "/history"} {
		read("GET", api+path, nil, 409)
	}
	read("POST", api+"/verify", `{}`)
	read("POST", api+"/posterior", map[string]any{"points": []any{settings}}, 409, 422)
	read("POST", api+"/acquisition", map[string]any{"points": []any{settings}}, 409, 422)
	read("POST", api+"/compare", `{"algorithms": [{"name": "rpol-ucb"}, {"name": "cei"}]}`, 409, 422)
	for _, path := range []string{"", "/board", "/board/beliefs", "/board/trials", "/board/ledger", "/edit", "/reconfigure", "/own", "/import", "/shares", "/parts/status", "/parts/next", "/parts/progress", "/parts/beliefs", "/parts/trials", "/parts/ledger"} {
		read("GET", page+path, nil)
	}
	for n := 1; n <= trials; n++ {
		read("GET", fmt.Sprintf("%s/trials/%d", api, n), nil)
		read("GET", fmt.Sprintf("%s/trials/%d", page, n), nil)
		read("GET", fmt.Sprintf("%s/trials/%d/correct", page, n), nil)
		read("GET", fmt.Sprintf("%s?at=%d", api+"/state", n+1), nil, 409)
		read("GET", fmt.Sprintf("%s/board?at=%d", page, n+1), nil)
	}
}

const knownLoad = `{"name": "Load", "parameters": [{"name": "x1", "type": "real", "low": 0, "high": 1}],
	"objective": {"metric": "yield", "direction": "maximize"}, "constraints": [{"metric": "load", "op": "<=", "threshold": 0.5, %s}],
	"algorithm": {"name": "rpol-ucb", "horizon": 20}, "seed": 7}`

func TestWhatIsTooLargeIsRefusedWhereItEnters(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(fmt.Sprintf(knownLoad, `"expression": "w*x1", "context": ["w"]`))
	at := "/studies/" + id
	for body, want := range map[string]string{`{"context": {"w": 1e308}}`: "body.context.w", `{"context": {"w": -1.1e100}}`: "body.context.w", `{"context": {"w": 1e999}}`: "body.context.w"} {
		s.API("POST", at+"/ask", body).Faults(422, want)
	}
	s.API("POST", at+"/ask", `{"context": {"w": 1e100}}`).Want(201)
	s.API("POST", at+"/ask", `{"context": {"w": -1e100}}`).Want(201)
	for _, body := range []string{`{"metrics": {"yield": 1e101}}`, `{"metrics": {"yield": {"value": 1, "stddev": 1e101}}}`} {
		if faults := s.API("POST", at+"/trials/1/tell", body).Faults(422); len(faults) != 1 {
			t.Errorf("%s: %v", body, faults)
		}
	}
	s.API("POST", at+"/trials/1/tell", `{"metrics": {"yield": {"value": -1e100, "stddev": 1e100}}}`).Want(200)
	readAll(t, s, id, 2)
	// Without a context, an expression that is too large somewhere is refused with the study.
	faults := s.API("POST", "/studies", fmt.Sprintf(knownLoad, `"expression": "x1*1e308"`)).Faults(422)
	sitetest.Says(t, faults["body.constraints[0].expression"], "up to 1e100")
	// With one, where it is asked.
	id = s.NewStudy(fmt.Sprintf(knownLoad, `"expression": "x1*w*1e60", "context": ["w"]`))
	faults = s.API("POST", "/studies/"+id+"/ask", `{"context": {"w": 1e60}}`).Faults(422)
	sitetest.Says(t, faults["body.context"], "load", "up to 1e100", "x1 = ")
	faults = s.API("POST", "/studies/"+id+"/trials", `{"parameters": {"x1": 0.9}, "context": {"w": 1e60}}`).Faults(422)
	if len(faults) == 0 {
		t.Error("a person's own trial is not refused")
	}
	readAll(t, s, id, 0)
}

func TestSampledValuesAreBounded(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Queue", "parameters": [{"name": "x", "type": "integer", "low": 0, "high": 3}], "candidates": [{"x": 0}, {"x": 1}, {"x": 2}],
		"objective": {"metric": "rate", "direction": "maximize"}, "constraints": [{"metric": "backlog", "op": "<=", "threshold": 1, "sampled": true}], "algorithm": {"name": "rpol-ucb", "horizon": 9}}`)
	ask := func(v string) sitetest.Answer {
		return s.API("POST", "/studies/"+id+"/ask", `{"constraint_values": {"backlog": [`+v+`, 0, 0]}}`)
	}
	for _, v := range []string{"1e308", "-1e101"} {
		ask(v).Faults(422, "body.constraint_values.backlog[0]")
	}
	ask("1e100").Want(201)
	ask("-1e100").Want(201)
	readAll(t, s, id, 2)
}

// TestAStudyWithoutAModelCanBeRead: a kernel under which the points cannot be told apart leaves the
// rest of the study to be seen.
func TestAStudyWithoutAModelCanBeRead(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(`{"name": "Far out", "parameters": [{"name": "x", "type": "real", "low": 1e9, "high": 1000000005}], "objective": {"metric": "yield", "direction": "maximize"},
		"constraints": [{"metric": "impurity", "op": "<=", "threshold": 1}], "algorithm": {"name": "rpol-ucb", "horizon": 9},
		"model": {"inputs": "raw", "kernel": "linear", "fit": "fixed", "outputs": "raw", "lambda": 1e-12}}`)
	at := "/studies/" + id
	for n := 1; n <= 2; n++ {
		s.API("POST", at+"/trials", fmt.Sprintf(`{"parameters": {"x": %d}, "metrics": {"yield": 1, "impurity": 0}}`, 1_000_000_000+n)).Want(201)
	}
	s.API("GET", at+"/state", nil).Want(409).Says("cannot be computed")
	readAll(t, s, id, 2)
	s.Call("GET", at, s.Admin, nil, "Accept", "text/html").Want(200).Says("The model cannot be computed")
	choices := s.API("POST", at+"/compare", `{"algorithms": [{"name": "rpol-ucb"}, {"name": "random"}]}`).Want(200).JSON()["choices"].([]any)
	sitetest.Says(t, fmt.Sprint(choices), "cannot be computed")
	s.API("POST", at+"/ask", `{}`).Faults(409)
	s.API("POST", at+"/reconfigure", `{"model": {"fit": "fixed"}, "reason": "told apart in unit coordinates"}`).Want(200)
	s.API("POST", at+"/ask", `{}`).Want(201)
}

// noText is what no database keeps as text.
var noText = []string{"a\x00b", "a\xffb", "\x00", "\xed\xa0\x80"}

// TestTextThatIsNoneIsTheCallersFault: the character U+0000 and what is not UTF-8 are refused
// wherever a text enters, and nothing fails of them.
func TestTextThatIsNoneIsTheCallersFault(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}}`).Want(201)
	study := "/studies/" + id
	check := func(what string, a sitetest.Answer) {
		t.Helper()
		if a.Status < 400 && !strings.HasPrefix(what, "GET") || a.Status >= 500 {
			t.Errorf("%s: %d %.200s", what, a.Status, a.Body)
		}
	}
	post := func(path string, form url.Values) sitetest.Answer {
		return s.Call("POST", path, s.Admin, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
	}
	events := len(s.API("GET", study+"/ledger", nil).JSON()["events"].([]any))
	for path, form := range map[string]url.Values{
		study + "/edit":               {"name": {"Screen"}, "description": {""}, "state": {"open"}, "key": {"k1"}},
		study + "/own":                {"used.0": {"31"}, "used.1": {"A"}, "metric.0": {"1"}, "note": {"by hand"}, "key": {"k2"}},
		study + "/trials/1/tell":      {"metric.0": {"71"}, "note": {"cloudy"}, "key": {"k3"}},
		study + "/trials/1/close":     {"kind": {"settings"}, "reason": {"broke"}, "key": {"k4"}},
		study + "/trials/1/replicate": {"key": {"k5"}},
		study + "/ask":                {"count": {"1"}, "key": {"k6"}},
		study + "/import":             {"text": {"temperature,catalyst,yield,note\n40,A,1,fine"}, "do": {"import"}, "key": {"k7"}},
		study + "/reconfigure":        {"constraints.0.threshold": {"0.4"}, "reason": {"stricter"}, "algorithm.name": {"rpol-ucb"}, "algorithm.horizon": {"20"}, "key": {"k8"}},
		study + "/undo":               {"reason": {"wrong file"}, "key": {"k10"}},
		study + "/shares":             {"name": {"Reviewer"}, "expires_at": {"2026-12-31"}},
		"/studies/new":                {"name": {"Mine"}, "parameters.0.name": {"x"}, "parameters.0.type": {"real"}, "parameters.0.low": {"1"}, "parameters.0.high": {"2"}, "parameters.0.unit": {"m"}, "objective.metric": {"y"}, "objective.direction": {"maximize"}, "objective.unit": {"g"}, "description": {"d"}, "key": {"k9"}},
		"/people/invites":             {"invite.name": {"Bo"}, "invite.role": {"operator"}},
		"/people/tokens":              {"token.name": {"Robot"}, "token.role": {"viewer"}},
	} {
		for field := range form {
			for _, text := range noText {
				wrong := url.Values{}
				maps.Copy(wrong, form)
				wrong[field] = []string{strings.ReplaceAll(form.Get(field), "fine", text)}
				if wrong.Get(field) == form.Get(field) {
					wrong[field] = []string{text}
				}
				check("POST "+path+" "+field+" "+url.QueryEscape(text), post(path, wrong))
			}
		}
	}
	sitetest.Same(t, "events were stored", len(s.API("GET", study+"/ledger", nil).JSON()["events"].([]any)), events)
	for _, text := range noText {
		escaped := url.PathEscape(text)
		for _, call := range []string{
			"GET /api/v1/studies/" + escaped, "GET /api/v1/studies/" + id + "/trials?status=" + escaped, "GET /api/v1/studies/" + id + "/trials/" + escaped,
			"DELETE /api/v1/tokens/" + escaped, "DELETE /api/v1/studies/" + id + "/shares/" + escaped, "GET /api/v1/studies/" + id + "/state?at=" + escaped,
			"GET /studies/" + escaped, "GET " + study + "?x=" + escaped + "&y=" + escaped + "&metric=" + escaped + "&pin.0=" + escaped + "&from=" + escaped,
			"GET " + study + "/parts/beliefs?x=" + escaped + "&metric=" + escaped, "GET " + study + "/trials/" + escaped, "GET " + study + "?show=" + escaped + "&done=" + escaped,
			"GET /share/" + escaped, "GET /sign-in/" + escaped, "GET " + study + "/board?at=" + escaped,
			"POST /people/invites/" + escaped + "/revoke", "POST /people/tokens/" + escaped + "/revoke", "POST /people/" + escaped + "/disable", "POST /people/" + escaped + "/role", "POST " + study + "/shares/" + escaped + "/revoke", "POST /account/sessions/" + escaped + "/end",
		} {
			method, path, _ := strings.Cut(call, " ")
			if method == "POST" {
				check(call, post(path, url.Values{"role": {"viewer"}}))
				continue
			}
			check("GET "+call, s.Call(method, path, s.Admin, nil, "Accept", "text/html"))
		}
		body := `{"parameters": {"temperature": 31, "catalyst": "A"}, "note": "` + strings.ReplaceAll(text, "\x00", `\u0000`) + `"}`
		check("POST a note", s.API("POST", study+"/trials", body))
		check("POST a name", s.API("POST", study+"/trials", `{"parameters": {"temperature": 31, "catalyst": "A"}, "context": {"`+strings.ReplaceAll(text, "\x00", `\u0000`)+`": 1}}`))
		check("POST a table", s.Call("POST", "/api/v1"+study+"/import", s.Admin, "temperature,catalyst,note\n40,A,"+text, "Content-Type", "text/csv"))
	}
}

func TestTimesBeyondTheCalendarAreRefused(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}}`).Want(201)
	for _, at := range []string{"9999-12-31T23:59:59-12:00", "0000-01-01T00:00:00+12:00", "10000-01-01T00:00:00Z", "+20000-01-01T00:00:00Z"} {
		for path, body := range map[string]string{
			"/tokens":                           `{"name": "Robot", "role": "viewer", "expires_at": "` + at + `"}`,
			"/studies/" + id + "/shares":        `{"name": "Reviewer", "expires_at": "` + at + `"}`,
			"/studies/" + id + "/trials/1/tell": `{"metrics": {"yield": 1}, "observed_at": "` + at + `"}`,
		} {
			if faults := s.API("POST", path, body).Faults(http.StatusUnprocessableEntity); faults["body.expires_at"]+faults["body.observed_at"] == "" {
				t.Errorf("%s at %s: %v", path, at, faults)
			}
		}
	}
	s.API("POST", "/tokens", `{"name": "Robot", "role": "viewer", "expires_at": "9999-12-31T23:59:59Z"}`).Want(201)
	s.API("GET", "/tokens", nil).Want(200)
}
