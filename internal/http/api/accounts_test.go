package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/account"
	"headroom/internal/db/dbtest"
	"headroom/internal/http/sitetest"
	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/testwait"
)

func TestTokens(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	made := s.API("POST", "/tokens", map[string]any{"name": "Robot", "role": "operator", "study_id": id, "expires_at": time.Now().Add(time.Hour)}, "Idempotency-Key", "k1").Want(201).JSON()
	secret, _ := made["token"].(string)
	if secret == "" || made["role"] != "operator" || made["study_id"] != id {
		t.Fatalf("made %v", made)
	}
	s.Call("GET", "/api/v1/studies/"+id, secret, nil).Want(200)
	again := s.API("POST", "/tokens", map[string]any{"name": "Robot", "role": "operator"}, "Idempotency-Key", "k1")
	again.Want(422)
	text := s.API("GET", "/tokens", nil).Want(200)
	text.Lacks(secret)
	s.API("DELETE", "/tokens/"+made["id"].(string), nil).Want(204)
	s.Call("GET", "/api/v1/studies/"+id, secret, nil).Want(401)
	s.API("DELETE", "/tokens/none", nil).Want(404)
	for body, at := range map[string]string{
		`{"name": "", "role": "viewer"}`: "body.name", `{"name": "a", "role": "king"}`: "body.role", `{"name": "a", "role": "viewer", "study_id": "none"}`: "body.study_id",
		`{"name": "a", "role": "viewer", "study_id": ""}`:                       "body.study_id", // as a script sends what it never set, and no token of every study
		`{"name": "a", "role": "viewer", "expires_at": "2020-01-01T00:00:00Z"}`: "body.expires_at",
	} {
		if faults := s.API("POST", "/tokens", body).Faults(422); faults[at] == "" || len(faults) != 1 {
			t.Errorf("%s: %v", body, faults)
		}
	}
}

func TestRepeatedTokenCreationKeepsTheSecret(t *testing.T) {
	s := sitetest.Beside(t)
	body := `{"name": "Robot", "role": "viewer"}`
	first := s.API("POST", "/tokens", body, "Idempotency-Key", "k").Want(201).JSON()
	again := s.API("POST", "/tokens", body, "Idempotency-Key", "k").Want(201).JSON()
	if first["id"] != again["id"] || first["token"] == nil || again["token"] != nil {
		t.Errorf("first %v, again %v", first, again)
	}
	if tokens := s.API("GET", "/tokens", nil).JSON()["tokens"].([]any); len(tokens) != 2 { // and the admin's
		t.Errorf("%d tokens", len(tokens))
	}
}

func TestReferencePages(t *testing.T) {
	s := sitetest.Beside(t)
	docs := s.API("GET", "/docs", nil).Want(200)
	page := string(docs.Body)
	for _, sign := range []string{"POST /api/v1/studies/{id}/ask", "Idempotency-Key", "/static/app.css?v=", "additionalProperties"} {
		sitetest.Says(t, page, sign)
	}
	sitetest.Lacks(t, page, "<script", "style=", `\u003c`, "src=\"http", "href=\"http", "url(", " onclick")
	list := s.API("GET", "/algorithms", nil).Want(200)
	var algorithms struct {
		Algorithms []struct {
			Name, Source, Feedback string
			Settings               []struct {
				Name, Type, Meaning string
				Default             any
				DefaultMeans        string `json:"default_means"`
			}
		}
	}
	if err := json.Unmarshal(list.Body, &algorithms); err != nil || len(algorithms.Algorithms) == 0 {
		t.Fatalf("%v: %s", err, list.Body)
	}
	for _, a := range algorithms.Algorithms {
		if a.Name == "" || a.Source == "" || a.Feedback == "" {
			t.Errorf("incomplete: %+v", a)
		}
		for _, setting := range a.Settings {
			if setting.Meaning == "" || setting.Type == "" || setting.Default == nil && setting.DefaultMeans == "" {
				t.Errorf("%s: incomplete setting %+v", a.Name, setting)
			}
		}
	}
}

func TestMain(m *testing.M) { dbtest.Main(m) }

// trialList is a list of trials as programs read it.
type trialList struct {
	Trials []ledger.Trial `json:"trials"`
	Next   *int           `json:"next"`
}

const own = `{"parameters": {"temperature": 30, "catalyst": "A"}}`

func TestStudyIsMadeReadAndChanged(t *testing.T) {
	s := sitetest.Beside(t)
	made := s.API("POST", "/studies", sitetest.Screen).Want(201)
	id := made.JSON()["id"].(string)
	if made.Header.Get("Location") != "/api/v1/studies/"+id || made.Header.Get("ETag") != `"1"` || made.JSON()["state"] != "open" || made.JSON()["version"] != 1.0 {
		t.Errorf("made %s with %v", made.Body, made.Header)
	}
	read := s.API("GET", "/studies/"+id, nil).Want(200)
	if diff := cmp.Diff(made.JSON(), read.JSON()); diff != "" {
		t.Error(diff)
	}
	changed := s.API("PATCH", "/studies/"+id, `{"name": "Buffer screen 2", "state": "paused"}`, "If-Match", `"1"`).Want(200)
	if changed.JSON()["name"] != "Buffer screen 2" || changed.JSON()["state"] != "paused" || changed.Header.Get("ETag") != `"2"` {
		t.Errorf("changed %s", changed.Body)
	}
	s.API("POST", "/studies/"+id+"/ask", `{}`).Faults(409)
	s.API("PATCH", "/studies/"+id, `{"name": "Too late"}`, "If-Match", `"1"`).Want(412).Says("is at version 2, not 1: the study has changed since; read it again before you change it")
	s.API("PATCH", "/studies/"+id, `{"name": "Which?"}`, "If-Match", `1`).Faults(400)
	s.API("PATCH", "/studies/"+id, `{"state": "open"}`).Want(200)
	after := s.API("POST", "/studies/"+id+"/reconfigure", `{"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.4, "unit": "%"}], "reason": "stricter"}`).Want(200)
	after.Has("constraints/0/threshold", 0.4)
	if before := s.API("GET", "/studies/"+id+"?at=1", nil).Want(200); before.JSON()["name"] != "Buffer screen" || before.Header.Get("ETag") != `"1"` {
		t.Errorf("at 1: %s", before.Body)
	}
	for query, at := range map[string]string{"?at=0": "query.at", "?at=99": "query.at", "?at=x": "query.at", "?At=1": "query.At", "?at=1&version=1": "query.version"} {
		s.API("GET", "/studies/"+id+query, nil).Faults(422, at)
	}
	list := s.API("GET", "/studies", nil).Want(200).JSON()["studies"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["name"] != "Buffer screen 2" {
		t.Errorf("list %v", list)
	}
	s.API("GET", "/studies/nosuch", nil).Faults(404)
	if answer := s.API("GET", "/studies/"+strings.Repeat("x", 5000), nil).Want(404); len(answer.Body) > 1000 {
		t.Errorf("a long address is answered with %d bytes", len(answer.Body))
	}
	s.API("GET", "/studies/no%00such", nil).Faults(404)
	s.API("GET", "/nosuch", nil).Faults(404)
	if a := s.API("PUT", "/studies/"+id, `{}`); a.Status != 405 || a.Header.Get("Allow") != "GET, HEAD, PATCH" {
		t.Errorf("PUT: %d, Allow %q", a.Status, a.Header.Get("Allow"))
	}
}

func TestFaultyDefinitionsAreRefusedFieldByField(t *testing.T) {
	s := sitetest.Beside(t)
	for body, locations := range map[string][]string{
		`{`: {"body"},
		strings.Replace(sitetest.Screen, `"low": 20`, `"low": 80`, 1):                {"body.parameters[0].low"},
		strings.Replace(sitetest.Screen, `"metric": "impurity"`, `"metric": ""`, 1):  {"body.constraints[0].metric"},
		strings.Replace(sitetest.Screen, `"op": "<="`, `"op": "<"`, 1):               {"body.constraints[0].op"},
		strings.Replace(sitetest.Screen, `rpol-ucb`, `magic`, 1):                     {"body.algorithm.name"},
		strings.Replace(sitetest.Screen, `"name": "catalyst"`, `"name": "Yield"`, 1): nil, // somewhere: names are unique ignoring case
		`{"name": "a", "nmae": "b"}`:                                                 {"body.nmae", "body.parameters", "body.objective"},
		`{"name": "a", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "y"}, "constraints": [{"threshold": 1}], "recorded_metrics": [{}]}`: {"body.objective.direction", "body.constraints[0].op", "body.constraints[0].metric", "body.recorded_metrics[0].metric"},
	} {
		status := 422
		if body == "{" {
			status = 400
		}
		faults := s.API("POST", "/studies", body).Faults(status)
		if len(faults) == 0 {
			t.Errorf("%s: no fault is named", body)
		}
		for _, at := range locations {
			if faults[at] == "" {
				t.Errorf("%s: no fault at %s but %v", body, at, faults)
			}
		}
	}
	s.API("POST", "/studies", sitetest.Screen, "Content-Type", "text/plain").Faults(415)
	s.API("POST", "/studies", sitetest.Screen, "Content-Type", "application/json; charset=latin1").Faults(415)
	s.API("POST", "/studies", sitetest.Screen, "Content-Encoding", "gzip").Faults(415)
	s.API("POST", "/studies", `{"name": "`+strings.Repeat("x", 9<<20)+`"}`).Faults(413)
	if list := s.API("GET", "/studies", nil).JSON()["studies"].([]any); len(list) != 0 {
		t.Errorf("something was stored: %v", list)
	}
}

func TestTheLoop(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	base := "/studies/" + id
	asked := s.API("POST", base+"/ask", `{"count": 2}`).Want(201)
	var suggested trialList
	if err := json.Unmarshal(asked.Body, &suggested); err != nil || len(suggested.Trials) != 2 || suggested.Trials[1].Number != 2 || suggested.Trials[0].Decision == nil {
		t.Fatalf("asked: %s", asked.Body)
	}
	s.API("POST", base+"/ask", nil).Want(201) // no body means one
	for _, count := range []string{"0", "-1", "51"} {
		s.API("POST", base+"/ask", `{"count": `+count+`}`).Faults(422, "body.count")
	}
	s.API("POST", base+"/trials/1/tell", `{"metrics": {"yield": 71.2}}`).Want(200).Has("status", "partial", "feasible", nil)
	s.API("POST", base+"/trials/1/tell", `{"metrics": {"impurity": {"value": 0.31, "stddev": 0.02}}}`).Want(200).Has("status", "completed", "feasible", true)
	if detail := s.API("POST", base+"/trials/1/tell", `{"metrics": {"yield": 17.2}}`).Want(409).JSON()["detail"]; !strings.Contains(detail.(string), "corrections") {
		t.Errorf("detail %v", detail)
	}
	s.API("POST", base+"/trials/2/tell", `{"metrics": {"purity": 1}}`).Faults(422, "body.metrics.purity")
	for _, none := range []sitetest.Answer{s.API("POST", base+"/trials/99/tell", `{"metrics": {"yield": 1}}`), s.API("GET", base+"/trials/99", nil)} {
		none.Want(404).Has("detail", "There is no trial 99; the study has 3.")
	}
	s.API("POST", base+"/trials/01/tell", `{"metrics": {"yield": 1}}`).Faults(404)

	now := version(t, s, id)
	s.API("POST", base+"/tell", `{"trials": [{"number": 2, "metrics": {"yield": 5}}, {"number": 3, "metrics": {"nosuch": 5}}]}`).Faults(422, "body.trials[1].metrics.nosuch")
	if version(t, s, id) != now {
		t.Error("half a bulk tell was stored")
	}
	both := s.API("POST", base+"/tell", `{"trials": [{"number": 3, "metrics": {"yield": 6}}, {"number": 2, "metrics": {"yield": 5, "impurity": 0.7}}]}`).Want(200)
	if err := json.Unmarshal(both.Body, &suggested); err != nil || suggested.Trials[0].Number != 3 || *suggested.Trials[1].Feasible {
		t.Errorf("both: %s", both.Body)
	}

	added := s.API("POST", base+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}, "metrics": {"yield": 60}, "note": "mine"}`).Want(201)
	if got := added.JSON(); got["origin"] != "manual" || got["number"] != 4.0 || added.Header.Get("Location") != "/api/v1"+base+"/trials/4" {
		t.Errorf("added %s", added.Body)
	}
	for body, at := range map[string]string{
		`{"parameters": {"temperature": 90, "catalyst": "A"}}`: "body.parameters.temperature", `{"parameters": {"temperature": 30, "catalyst": "Z"}}`: "body.parameters.catalyst",
		`{"parameters": {"temperature": 30}}`: "body.parameters.catalyst", `{"parameters": {"temperature": 30, "catalyst": "A", "pressure": 1}}`: "body.parameters.pressure",
		`{"metrics": {}}`: "body.parameters",
	} {
		s.API("POST", base+"/trials", body).Faults(422, at)
	}
	s.API("POST", base+"/trials/4/replicates", nil).Want(201).Has("replicate_of", 4, "number", 5)
	for path, want := range map[string]string{"/trials/5/fail": "failed", "/trials/4/abandon": "abandoned"} {
		s.API("POST", base+path, `{"reason": "leaked"}`).Want(200).Has("status", want, "reason", "leaked")
		s.API("POST", base+path, `{}`).Faults(422, "body.reason")
	}
	checkCauses(t, s, base)
	s.API("POST", base+"/trials/1/exclude", `{"reason": "wrong batch"}`).Want(200).Has("excluded", true)
	s.API("POST", base+"/trials/1/include", `{"reason": "right after all"}`).Want(200).Has("excluded", false)
	checkPages(t, s, id)
}

// TestFailuresAreKnown: what failed because of its settings stands in the state and in the
// decisions after it, what failed by chance does not, and a published algorithm says that it takes
// no account of it.
func TestFailuresAreKnown(t *testing.T) {
	t.Parallel()
	for preset, knows := range map[string]bool{"": true, `"paper"`: false} {
		s := sitetest.New(t)
		definition := sitetest.Screen
		if preset != "" {
			definition = strings.Replace(definition, `"horizon": 20`, `"horizon": 20, "preset": "paper", "settings": {"beta": {"schedule": "constant", "value": 2}}`, 1)
		}
		base := "/studies/" + s.NewStudy(definition)
		for i := range 5 {
			s.API("POST", base+"/trials", fmt.Sprintf(`{"parameters": {"temperature": %d, "catalyst": "A"}, "metrics": {"yield": %d, "impurity": 0.1}}`, 25+5*i, 50+i*i)).Want(201)
		}
		works := func() map[string]any {
			return s.API("GET", base+"/state", nil).Want(200).JSON()["works"].(map[string]any)
		}
		asked := func() map[string]any {
			trial := s.API("POST", base+"/ask", nil).Want(201).JSON()["trials"].([]any)[0].(map[string]any)
			return trial["decision"].(map[string]any)
		}
		if got := works(); got["failed"] != 0.0 || got["of"] != 5.0 || knows && got["chance"] != 1.0 { // readings as they are leave the published algorithm nothing to recommend
			t.Errorf("preset %q, nothing failed: %v", preset, got)
		}
		asked()
		s.API("POST", base+"/trials/6/fail", `{"reason": "a fuse blew", "cause": "chance"}`).Want(200)
		if got, decision := works(), asked(); got["failed"] != 0.0 || decision["works"] != nil {
			t.Errorf("preset %q, failed by chance: %v, %v", preset, got, decision["works"])
		}
		s.API("POST", base+"/trials/7/fail", `{"reason": "it boiled over"}`).Want(200)
		got, decision := works(), asked()
		chance, known := got["chance"].(float64)
		if got["failed"] != 1.0 || got["of"] != 6.0 || known != knows || knows && !(0 < chance && chance < 1) {
			t.Errorf("preset %q: %v", preset, got)
		}
		if saw, _ := decision["works"].(map[string]any); knows && (saw["failed"] != 1.0 || saw["of"] != 6.0 || !(saw["chance"].(float64) < 1)) || !knows && saw != nil {
			t.Errorf("preset %q: decided from %v", preset, decision["works"])
		}
		if because := decision["because"].(string); strings.Contains(because, "chance that it works") != knows {
			t.Errorf("preset %q: %s", preset, because)
		}
		said := map[bool]string{true: "Trials that failed because of their settings: 1 of 6; where hardly any trial would work is suggested only when nothing else is left", false: "the published algorithm takes no account of that"}[knows]
		s.API("GET", base+"/state", nil).Want(200).Says(said)
		s.API("POST", base+"/verify", nil).Want(200).Has("ok", true)
	}
}

// checkCauses fails trial 5 and lets it come back: settings unless chance is said, the other cause
// corrects, and only what failed has one.
func checkCauses(t *testing.T, s *sitetest.Site, base string) {
	t.Helper()
	fail, abandon := base+"/trials/5/fail", base+"/trials/5/abandon"
	s.API("POST", base+"/trials/5/tell", `{"metrics": {}, "note": "the seal was old"}`).Want(200).Has("status", "failed", "reason", "leaked")
	s.API("POST", base+"/trials/5/tell", `{"metrics": {"yield": 5}}`).Want(200).Has("status", "partial")
	s.API("POST", base+"/trials/5/corrections", `{"metrics": {"yield": null}, "reason": "it was another trial's"}`).Want(200).Has("status", "suggested")
	for _, step := range []struct {
		path, body string
		status     int
		cause      any
		closed     string
	}{
		{fail, `{"reason": "leaked"}`, 200, "settings", "failed"},
		{fail, `{"reason": "leaked", "cause": "settings"}`, 409, nil, ""},
		{fail, `{"reason": "a fuse blew", "cause": "chance"}`, 200, "chance", "failed"},
		{abandon, `{"reason": "never begun"}`, 200, nil, "abandoned"},
		{fail, `{"reason": "it leaked after all", "cause": null}`, 200, "settings", "failed"},
		{base + "/trials/5/tell", `{"metrics": {"yield": 3}}`, 200, nil, "partial"},
	} {
		got := s.API("POST", step.path, step.body).Want(step.status).JSON()
		if step.status == 200 && (got["cause"] != step.cause || got["status"] != step.closed) {
			t.Errorf("%s %s: %v, %v", step.path, step.body, got["status"], got["cause"])
		}
	}
	for _, cause := range []string{`"Settings"`, `""`, `"settings "`, `"luck"`} {
		s.API("POST", fail, `{"reason": "x", "cause": `+cause+`}`).Faults(422, "body.cause")
	}
	s.API("POST", fail, `{"reason": "x", "cause": 1}`).Faults(422)
	s.API("POST", abandon, `{"reason": "x", "cause": "chance"}`).Faults(422, "body.cause")
	ledger := string(s.API("GET", strings.TrimSuffix(base, "/trials")+"/ledger", nil).Want(200).Body)
	for _, kept := range []string{`{"number":5,"reason":"leaked","cause":"settings"}`, `{"number":5,"reason":"a fuse blew","cause":"chance"}`} {
		sitetest.Says(t, ledger, kept)
	}
}

// checkPages reads the trials in pages and by status.
func checkPages(t *testing.T, s *sitetest.Site, id string) {
	t.Helper()
	var page trialList
	read := func(query string) []int {
		page = trialList{}
		s.API("GET", "/studies/"+id+"/trials"+query, nil).Want(200).Into(&page)
		return lists.Map(page.Trials, func(trial ledger.Trial) int { return trial.Number })
	}
	for query, want := range map[string][]int{
		"": {1, 2, 3, 4, 5}, "?limit=2": {1, 2}, "?after=2&limit=2": {3, 4}, "?after=4&limit=2": {5}, "?after=99": {}, "?status=completed": {1, 2}, "?status=partial,failed": {3, 5}, "?status=completed&limit=1": {1},
	} {
		got := read(query)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
		more := query == "?limit=2" || query == "?after=2&limit=2" || strings.HasSuffix(query, "limit=1")
		if more != (page.Next != nil) || more && *page.Next != got[len(got)-1] {
			t.Errorf("%s: next %v", query, page.Next)
		}
	}
}

func version(t *testing.T, s *sitetest.Site, id string) float64 {
	t.Helper()
	return s.API("GET", "/studies/"+id, nil).Want(200).JSON()["version"].(float64)
}

func TestCorrections(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	path := "/studies/" + id + "/trials/1/corrections"
	s.API("POST", "/studies/"+id+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}, "metrics": {"yield": 712, "impurity": 0.3}}`).Want(201)
	before := version(t, s, id)
	impact := s.API("POST", path+"?dry_run=true", `{"metrics": {"yield": 71.2}, "reason": "typo"}`).Want(200).JSON()["impact"].(map[string]any)
	if got := impact["trial"].(map[string]any)["metrics"].(map[string]any)["yield"].(map[string]any)["value"]; got != 71.2 || version(t, s, id) != before {
		t.Errorf("impact %v", impact)
	}
	corrected := s.API("POST", path, `{"metrics": {"yield": 71.2, "impurity": null}, "reason": "typo"}`).Want(200).JSON()
	metrics := corrected["metrics"].(map[string]any)
	if got := metrics["yield"].(map[string]any); got["value"] != 71.2 || got["corrected"] != true || got["original"] != 712.0 {
		t.Errorf("corrected %v", got)
	}
	if metrics["impurity"] != nil || corrected["status"] != "partial" || corrected["feasible"] != nil {
		t.Errorf("taken back: %v", corrected)
	}
	for body, at := range map[string]string{`{"metrics": {"yield": 1}}`: "body.reason", `{"metrics": {"nosuch": 1}, "reason": "r"}`: "body.metrics.nosuch"} {
		s.API("POST", path, body).Faults(422, at)
	}
	s.API("GET", "/studies/"+id+"/ledger", nil).Says("712", "typo")
}

// TestAPreviewHasNoMultiplierThatWillNotBe: another algorithm may know none, which is not 0.
func TestAPreviewHasNoMultiplierThatWillNotBe(t *testing.T) {
	s := sitetest.Beside(t)
	preview := "/studies/" + s.NewStudy(sitetest.Screen) + "/reconfigure?dry_run=true"
	for change, want := range map[string]int{`"algorithm": {"name": "cei"}`: 0, `"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.4, "unit": "%"}]`: 1} {
		impact := s.API("POST", preview, `{"reason": "r", `+change+`}`).Want(200).JSON()["impact"].(map[string]any)
		if got := impact["multipliers"].(map[string]any); len(got) != want {
			t.Errorf("%s: %v", change, got)
		}
	}
}

// TestFaultsOfAReconfigurationStandWhereTheySaidSo: its lists may leave out what stays, so that the
// second parameter of the study is the first that was sent.
func TestFaultsOfAReconfigurationStandWhereTheySaidSo(t *testing.T) {
	s := sitetest.Beside(t)
	reconfigure := "/studies/" + s.NewStudy(sitetest.Screen) + "/reconfigure"
	for change, at := range map[string]string{
		`"parameters": [{"name": "catalyst", "type": "categorical", "choices": ["A"]}]`:                                    "body.parameters[0].choices",
		`"parameters": [{"name": "catalyst", "type": "categorical", "choices": ["A", "B", "B"]}]`:                          "body.parameters[0].choices[2]",
		`"parameters": [{"name": "catalyst", "type": "integer", "low": 1, "high": 2}]`:                                     "body.parameters[0].type",
		`"objective": {"metric": "purity", "direction": "maximize"}`:                                                       "body.objective.metric",
		`"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "expression": "temperature"}]`:               "body.constraints[0]",
		`"constraints": [{"name": "impurity", "metric": "colour", "op": "<=", "threshold": 0.5}]`:                          "body.constraints[0].metric",
		`"parameters": [{"name": "temperature", "type": "real", "low": 9, "high": 3}], "unavailable": {"catalyst": ["A"]}`: "body.parameters[0].low",
	} {
		s.API("POST", reconfigure, `{"reason": "r", `+change+`}`).Faults(422, at)
	}
}

func TestRepeatedRequestsAreAnsweredOnce(t *testing.T) {
	s := sitetest.Beside(t)
	first := s.API("POST", "/studies", sitetest.Screen, "Idempotency-Key", "make").Want(201)
	again := s.API("POST", "/studies", sitetest.Screen, "Idempotency-Key", "make").Want(201)
	if string(first.Body) != string(again.Body) || again.Header.Get("Location") != first.Header.Get("Location") || again.Header.Get("ETag") != `"1"` {
		t.Errorf("first %s, again %s", first.Body, again.Body)
	}
	id := first.JSON()["id"].(string)
	path := "/studies/" + id + "/trials"
	s.API("POST", "/studies", strings.Replace(sitetest.Screen, "Buffer", "Other", 1), "Idempotency-Key", "make").Faults(422, "header.Idempotency-Key")
	var wait sync.WaitGroup
	answers := make([]sitetest.Answer, 6)
	for i := range answers {
		wait.Go(func() { answers[i] = s.API("POST", path, own, "Idempotency-Key", "mine") })
	}
	wait.Wait()
	for _, a := range answers {
		if a.Want(201); string(a.Body) != string(answers[0].Body) {
			t.Errorf("answers differ: %s and %s", a.Body, answers[0].Body)
		}
	}
	sitetest.Same(t, "version after one trial", version(t, s, id), 2)
	s.API("POST", path, own, "Idempotency-Key", "two words").Faults(400)
	// The same key elsewhere, or from somebody else, is another request.
	s.API("POST", path+"/1/tell", `{"metrics": {"yield": 1}}`, "Idempotency-Key", "mine").Want(200)
	if other := s.Call("POST", "/api/v1"+path, s.Token(account.Operator, ""), own, "Idempotency-Key", "mine").Want(201); other.JSON()["number"] != 2.0 {
		t.Errorf("somebody else's answer: %s", other.Body)
	}
	// Failures are not kept.
	s.API("POST", path+"/9/tell", `{"metrics": {"yield": 1}}`, "Idempotency-Key", "early").Want(404)
	for version(t, s, id) < 9 {
		s.API("POST", path, own).Want(201)
	}
	table := func() sitetest.Answer {
		return s.API("POST", "/studies/"+id+"/import?ignore_unknown=true", "temperature,catalyst,yield,mood\n30,A,61,good\n", "Content-Type", "text/csv", "Idempotency-Key", "table").Want(200)
	}
	asked := func() sitetest.Answer {
		return s.API("POST", "/studies/"+id+"/ask", `{"count": 2}`, "Idempotency-Key", "asked").Want(201)
	}
	told := func() sitetest.Answer {
		return s.API("POST", path+"/3/tell", `{"metrics": {"yield": 4}}`, "Idempotency-Key", "told").Want(200)
	}
	toldMany := func() sitetest.Answer {
		return s.API("POST", "/studies/"+id+"/tell", `{"trials": [{"number": 4, "metrics": {"yield": 5}}, {"number": 4, "metrics": {"impurity": 1}}]}`, "Idempotency-Key", "told").Want(200)
	}
	imported, chosen, one, many := table(), asked(), told(), toldMany()
	before := version(t, s, id)
	told()
	toldMany()
	sitetest.Same(t, "version after telling again", version(t, s, id), before)
	s.API("POST", path+"/2/tell", `{"metrics": {"yield": 3}, "note": "later"}`).Want(200)
	s.API("POST", path+"/3/tell", `{"metrics": {"yield": 44}}`, "Idempotency-Key", "told").Want(422)
	// Answered before, although the study has moved on.
	filed := func() sitetest.Answer {
		return s.API("PATCH", "/studies/"+id, `{"state": "archived"}`, "Idempotency-Key", "filed").Want(200)
	}
	archived := filed()
	if late := s.API("POST", path, own, "Idempotency-Key", "mine").Want(201); string(late.Body) != string(answers[0].Body) {
		t.Errorf("late %s", late.Body)
	}
	for _, both := range [][2]sitetest.Answer{{imported, table()}, {chosen, asked()}, {one, told()}, {many, toldMany()}, {archived, filed()}} {
		if string(both[0].Body) != string(both[1].Body) || both[0].Header.Get("ETag") != both[1].Header.Get("ETag") || !strings.Contains(string(imported.Body), `"mood"`) {
			t.Errorf("first %s, late %s", both[0].Body, both[1].Body)
		}
	}
}

func TestConditionalReads(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	for _, path := range []string{"", "/trials", "/trials/1", "/state", "/history", "/ledger", "/export.csv", "/export.json"} {
		read := s.API("GET", "/studies/"+id+path, nil).Want(200)
		tag := read.Header.Get("ETag")
		if tag != `"2"` {
			t.Errorf("%s: ETag %s", path, tag)
		}
		if same := s.API("GET", "/studies/"+id+path, nil, "If-None-Match", `"1", `+tag); same.Status != 304 || len(same.Body) != 0 {
			t.Errorf("%s: %d", path, same.Status)
		}
		s.API("GET", "/studies/"+id+path+"?at=1", nil, "If-None-Match", tag).Want(map[bool]int{true: 404, false: 200}[path == "/trials/1"])
		if head := s.API("HEAD", "/studies/"+id+path, nil).Want(200); len(head.Body) != 0 || head.Header.Get("ETag") != tag {
			t.Errorf("HEAD %s: %v", path, head.Header)
		}
	}
	for path, body := range map[string]string{"/trials/1/corrections": `{"parameters": {"temperature": 31, "catalyst": "A"}, "reason": "typo"}`, "/reconfigure": `{"stop": {"within": 0.1, "risk": 0.1}, "reason": "in a hurry"}`} {
		if tag := s.API("POST", "/studies/"+id+path+"?dry_run=true", body).Want(200).Header.Get("ETag"); tag != `"2"` {
			t.Errorf("%s, foreseen: ETag %s", path, tag)
		}
	}
	table := s.API("POST", "/studies/"+id+"/import?dry_run=true", "temperature,catalyst,yield\n30,A,71\n", "Content-Type", "text/csv").Want(200)
	sitetest.Same(t, "ETag of a table's dry run", table.Header.Get("ETag"), `"2"`)
	s.API("POST", "/studies/"+id+"/shares", `{}`, "If-Match", `"1"`).Faults(412)
	s.API("POST", "/studies/"+id+"/shares", `{}`, "If-Match", `2`).Faults(400)
	s.API("POST", "/studies/"+id+"/shares", `{}`, "If-Match", `"2"`, "Idempotency-Key", "share").Want(201)
	s.API("POST", "/studies/"+id+"/trials", own, "If-Match", `"1"`).Faults(412)
	s.API("POST", "/studies/"+id+"/trials", own, "If-Match", `"2"`).Want(201)
	s.API("POST", "/studies/"+id+"/shares", `{}`, "If-Match", `"2"`, "Idempotency-Key", "share").Want(201) // answered before
}

func TestReplayedState(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	base := "/studies/" + id
	for range 8 {
		s.API("POST", base+"/ask", nil).Want(201)
	}
	for i := 1; i <= 7; i++ {
		s.API("POST", base+"/tell", map[string]any{"trials": []any{map[string]any{"number": i, "metrics": map[string]float64{"yield": 60 + float64(i*i%7), "impurity": 0.1 * float64(i)}}}}).Want(200)
	}
	var state study.Readout
	if err := json.Unmarshal(s.API("GET", base+"/state", nil).Want(200).Body, &state); err != nil || state.Round != 9 || state.Metrics["yield"].Count != 7 {
		t.Errorf("state %+v (%v)", state, err)
	}
	s.API("GET", base+"/state?at=1", nil).Want(200).Has("round", 1, "recommendation", nil)
	posterior := s.API("POST", base+"/posterior", `{"points": [{"temperature": 30, "catalyst": "A"}, {"temperature": 50, "catalyst": "B"}]}`).Want(200).JSON()
	if mean := posterior["metrics"].(map[string]any)["yield"].(map[string]any)["mean"].([]any); len(mean) != 2 {
		t.Errorf("posterior %v", posterior)
	}
	s.API("POST", base+"/posterior", `{"points": [{"temperature": 30}]}`).Faults(422, "body.points[0].catalyst")
	acquisition := s.API("POST", base+"/acquisition", `{"points": [{"temperature": 30, "catalyst": "A"}, {"temperature": 50, "catalyst": "B"}]}`).Want(200).JSON()
	if values := acquisition["values"].([]any); len(values) != 2 {
		t.Errorf("acquisition %v", acquisition)
	}
	choices := s.API("POST", base+"/compare", `{"algorithms": [{"name": "rpol-ucb", "settings": {"eta": 2}}]}`).Want(200).JSON()["choices"].([]any)
	if len(choices) != 1 || choices[0].(map[string]any)["because"] == "" {
		t.Errorf("choices %v", choices)
	}
	s.API("POST", base+"/compare", `{"algorithms": [{"name": "magic"}]}`).Faults(422, "body.algorithms[0].name")
	s.API("POST", base+"/compare", `{"algorithms": []}`).Faults(422, "body.algorithms")
	history := s.API("GET", base+"/history", nil).Want(200)
	rounds := history.JSON()["rounds"].([]any)
	if numbers := lists.Map(rounds, func(row any) any { return row.(map[string]any)["number"] }); !cmp.Equal(numbers, []any{1., 2., 3., 4., 5., 6., 7., 8.}) {
		t.Errorf("rounds %v", numbers)
	}
	var together struct {
		Rounds []json.RawMessage `json:"rounds"` // what Go writes in one piece
	}
	history.Into(&together)
	if whole, err := json.Marshal(together); err != nil || string(whole) != string(history.Body) {
		t.Errorf("the history is written as %s, in one piece as %s (%v)", history.Body, whole, err)
	}
	if none := s.API("GET", base+"/history?at=1", nil).Want(200); string(none.Body) != `{"rounds":[]}` {
		t.Errorf("the history of no trial is %s", none.Body)
	}
	s.API("POST", base+"/verify", nil).Want(200).Has("ok", true, "ledger_intact", true, "checked", 8)
}

func TestWaitingForATrial(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	path := "/studies/" + id + "/trials/1"
	s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	start := time.Now()
	if got := s.API("GET", path+"?wait=1", nil).Want(200).JSON(); got["status"] != "suggested" || time.Since(start) < time.Second {
		t.Errorf("after %v: %v", time.Since(start), got["status"])
	}
	waited := make(chan sitetest.Answer, 1)
	go func() { waited <- s.API("GET", path+"?wait=60", nil) }()
	s.API("POST", path+"/tell", `{"metrics": {"yield": 1}}`).Want(200)
	s.API("POST", path+"/tell", `{"metrics": {"impurity": 1}}`).Want(200)
	select {
	case a := <-waited:
		a.Want(200).Has("status", "completed")
	case <-time.After(testwait.Timeout):
		t.Error("no answer although the trial is complete")
	}
	start = time.Now()
	if got := s.API("GET", path+"?wait=60&at=2", nil).Want(200).JSON(); got["status"] != "suggested" || time.Since(start) > 30*time.Second {
		t.Errorf("as it was, after %v: %v", time.Since(start), got["status"])
	}
	s.API("GET", path+"?wait=61", nil).Faults(422, "query.wait")
	s.API("GET", path+"?wait=61&at=2", nil).Faults(422, "query.wait")
	s.API("GET", "/studies/"+id+"/trials/2?wait=60", nil).Faults(404)
}

func TestDatabaseAway(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.Call("GET", "/readyz", "", nil).Want(200)
	s.DB.Close()
	a := s.API("POST", "/studies/"+id+"/trials", own)
	a.Faults(http.StatusServiceUnavailable)
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.Call("GET", "/readyz", "", nil).Faults(503)
	s.Call("GET", "/healthz", "", nil).Want(200)
}

func TestLedgerInPages(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	for range 4 {
		s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	}
	type ledgerPage struct {
		Events []ledger.Event `json:"events"`
		Next   *int64         `json:"next"`
	}
	var page ledgerPage
	for query, want := range map[string]struct {
		first, count int
		more         bool
	}{"": {1, 5, false}, "?limit=2": {1, 2, true}, "?after=2&limit=2": {3, 2, true}, "?after=3&limit=2": {4, 2, false}, "?after=5": {0, 0, false}, "?at=3": {1, 3, false}, "?at=3&after=1&limit=1": {2, 1, true}} {
		page = ledgerPage{}
		s.API("GET", "/studies/"+id+"/ledger"+query, nil).Want(200).Into(&page)
		if len(page.Events) != want.count || want.count > 0 && page.Events[0].Seq != int64(want.first) || (page.Next != nil) != want.more {
			t.Errorf("%s: %d events, next %v", query, len(page.Events), page.Next)
		}
	}
	for query, want := range map[string]int{"?at=1": 1, "": 5} {
		s.API("POST", "/studies/"+id+"/verify"+query, nil).Want(200).Has("ledger_intact", true, "checked", float64(want-1))
	}
}

// TestAStudySaysWhatItHasNoneOf: scripts that go through limits or candidates need not know whether there
// are any.
func TestAStudySaysWhatItHasNoneOf(t *testing.T) {
	s := sitetest.Beside(t)
	made := s.API("POST", "/studies", `{"name": "Bare", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "y", "direction": "maximize"}}`).Want(201).JSON()
	for name, want := range map[string]any{"description": "", "input_constraints": []any{}, "candidates": nil, "constraints": []any{}, "recorded_metrics": []any{}} {
		if got, there := made[name]; !there || cmp.Diff(want, got) != "" {
			t.Errorf("%s is %v, %t", name, got, there)
		}
	}
}

// TestReadingsSayWhatIsAbsent: and tell times in UTC, whatever zone they were told in.
func TestReadingsSayWhatIsAbsent(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/trials", own).Want(201)
	told := s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"yield": 1}}`).Want(200)
	yield := told.JSON()["metrics"].(map[string]any)["yield"].(map[string]any)
	for _, name := range []string{"stddev", "observed_at"} {
		if value, there := yield[name]; !there || value != nil {
			t.Errorf("%s is %v, %t", name, value, there)
		}
	}
	ahead := func(by time.Duration) string {
		return `{"number": 1, "metrics": {"impurity": 0.2}, "observed_at": "` + time.Now().Add(by).Format(time.RFC3339) + `"}`
	}
	s.API("POST", "/studies/"+id+"/tell", `{"trials": [`+ahead(23*time.Hour)+`, `+ahead(25*time.Hour)+`]}`).Faults(422, "body.trials[1].observed_at")
	s.API("POST", "/studies/"+id+"/trials/1/tell", strings.Replace(ahead(25*time.Hour), `"number": 1, `, "", 1)).Faults(422, "body.observed_at")
	s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"impurity": {"value": 0.2, "stddev": 0.1}}, "observed_at": "2026-03-01T08:00:00+05:30"}`).Want(200)
	for _, path := range []string{"/trials", "/trials/1", "/ledger", "/export.json"} {
		s.API("GET", "/studies/"+id+path, nil).Want(200).Says("2026-03-01T02:30:00Z").Lacks("+05:30")
	}
}

// Entry over the API: plausible bounds are kept and never refuse, settings used may lie beyond the
// bounds, and the last telling can be undone.
func TestEntryOverTheAPI(t *testing.T) {
	s := sitetest.Beside(t)
	made := s.API("POST", "/studies", `{"name": "Entry", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "seed": 1,
		"objective": {"metric": "yield", "direction": "maximize", "unit": "%", "plausible": [0, 100]}, "recorded_metrics": [{"metric": "colour", "plausible": [1, 5]}]}`).Want(201).JSON()
	base := "/studies/" + made["id"].(string)
	sitetest.Same(t, "plausible became", fmt.Sprint(s.API("GET", base, nil).Want(200).JSON()["objective"].(map[string]any)["plausible"]), "[0 100]")
	for _, bounds := range []string{"[1]", "[5, 5]", "[1, 2, 3]"} {
		s.API("POST", base+"/reconfigure", `{"recorded_metrics": [{"metric": "colour", "plausible": `+bounds+`}], "reason": "x"}`).Faults(422, "body.recorded_metrics[0].plausible")
	}
	s.API("POST", base+"/reconfigure", `{"objective": {"metric": "yield", "direction": "maximize", "unit": "%", "plausible": [0, null]}, "reason": "x"}`).Faults(422)
	s.API("POST", base+"/reconfigure", `{"recorded_metrics": [{"metric": "colour", "plausible": [0, 9]}], "reason": "wider"}`).Want(200)

	s.API("POST", base+"/ask", `{}`).Want(201)
	told := s.API("POST", base+"/trials/1/tell", `{"metrics": {"yield": 712}, "parameters": {"x": 1.25}}`).Want(200).JSON()
	if used := told["parameters"].(map[string]any)["x"]; used != 1.25 || told["settings_changed"] != true {
		t.Errorf("told %v", told)
	}
	s.API("POST", base+"/posterior", `{"points": [{"x": 0.5}]}`).Want(200)
	undone := s.API("POST", base+"/trials/1/undo", `{}`).Want(200).JSON()
	if len(undone["metrics"].(map[string]any)) != 0 || undone["settings_changed"] != false || undone["status"] != "suggested" {
		t.Errorf("undone %v", undone)
	}
	s.API("POST", base+"/trials/1/undo", `{}`).Faults(409)
	s.API("POST", base+"/trials/2/undo", `{}`).Faults(404)
	preview := s.Call("POST", "/api/v1"+base+"/import?dry_run=true", s.Admin, []byte("x,yield\n0.1,61\n0.2,645\n0.3,66\n"), "Content-Type", "text/csv").Want(200).JSON()
	doubts, _ := preview["doubts"].([]any)
	if len(doubts) != 1 || doubts[0].(map[string]any)["location"] != "body.lines[3].yield" {
		t.Errorf("doubts of a dry run: %v", preview["doubts"])
	}
}
