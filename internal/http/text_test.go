package http_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

// noText is what no database keeps as text.
var noText = []string{"a\x00b", "a\xffb", "\x00", "\xed\xa0\x80"}

// TestTextThatIsNoneIsTheCallersFault: the character U+0000 and what is not UTF-8 are refused wherever a text enters, and nothing fails of them.
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
		study + "/shares":             {"name": {"Reviewer"}, "expires_at": {"2026-12-31"}},
		"/studies/new":                {"name": {"Mine"}, "parameters.0.name": {"x"}, "parameters.0.type": {"real"}, "parameters.0.low": {"1"}, "parameters.0.high": {"2"}, "parameters.0.unit": {"m"}, "objective.metric": {"y"}, "objective.direction": {"maximize"}, "objective.unit": {"g"}, "description": {"d"}, "key": {"k9"}},
		"/people/invites":             {"invite.name": {"Bo"}, "invite.role": {"operator"}},
		"/people/tokens":              {"token.name": {"Robot"}, "token.role": {"viewer"}},
	} {
		for field := range form {
			for _, text := range noText {
				wrong := url.Values{}
				for name, list := range form {
					wrong[name] = list
				}
				wrong[field] = []string{strings.ReplaceAll(form.Get(field), "fine", text)}
				if wrong.Get(field) == form.Get(field) {
					wrong[field] = []string{text}
				}
				check("POST "+path+" "+field+" "+url.QueryEscape(text), post(path, wrong))
			}
		}
	}
	if now := len(s.API("GET", study+"/ledger", nil).JSON()["events"].([]any)); now != events {
		t.Errorf("%d events were stored", now-events)
	}
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
