package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/account"
	"headroom/internal/study"
)

const own = `{"parameters": {"temperature": 30, "catalyst": "A"}}`

func TestStudyIsMadeReadAndChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	made := s.api("POST", "/studies", screen).want(201)
	id := made.json()["id"].(string)
	if made.header.Get("Location") != "/api/v1/studies/"+id || made.header.Get("ETag") != `"1"` || made.json()["state"] != "open" || made.json()["version"] != 1.0 {
		t.Errorf("made %s with %v", made.body, made.header)
	}
	read := s.api("GET", "/studies/"+id, nil).want(200)
	if diff := cmp.Diff(made.json(), read.json()); diff != "" {
		t.Error(diff)
	}
	changed := s.api("PATCH", "/studies/"+id, `{"name": "Buffer screen 2", "state": "paused"}`, "If-Match", `"1"`).want(200)
	if changed.json()["name"] != "Buffer screen 2" || changed.json()["state"] != "paused" || changed.header.Get("ETag") != `"2"` {
		t.Errorf("changed %s", changed.body)
	}
	s.api("POST", "/studies/"+id+"/ask", `{}`).faults(409)
	s.api("PATCH", "/studies/"+id, `{"name": "Too late"}`, "If-Match", `"1"`).faults(412)
	s.api("PATCH", "/studies/"+id, `{"name": "Which?"}`, "If-Match", `1`).faults(400)
	s.api("PATCH", "/studies/"+id, `{"state": "open"}`).want(200)
	after := s.api("POST", "/studies/"+id+"/reconfigure", `{"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.4, "unit": "%"}], "reason": "stricter"}`).want(200)
	if limit := after.json()["constraints"].([]any)[0].(map[string]any)["threshold"]; limit != 0.4 {
		t.Errorf("limit %v", limit)
	}
	if before := s.api("GET", "/studies/"+id+"?at=1", nil).want(200); before.json()["name"] != "Buffer screen" || before.header.Get("ETag") != `"1"` {
		t.Errorf("at 1: %s", before.body)
	}
	for query, at := range map[string]string{"?at=0": "query.at", "?at=99": "query.at", "?at=x": "query.at"} {
		if faults := s.api("GET", "/studies/"+id+query, nil).faults(422); faults[at] == "" {
			t.Errorf("%s: %v", query, faults)
		}
	}
	list := s.api("GET", "/studies", nil).want(200).json()["studies"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["name"] != "Buffer screen 2" {
		t.Errorf("list %v", list)
	}
	s.api("GET", "/studies/nosuch", nil).faults(404)
	s.api("GET", "/studies/no%00such", nil).faults(404)
	s.api("GET", "/nosuch", nil).faults(404)
	if a := s.api("PUT", "/studies/"+id, `{}`); a.status != 405 || a.header.Get("Allow") != "GET, PATCH" {
		t.Errorf("PUT: %d, Allow %q", a.status, a.header.Get("Allow"))
	}
}

func TestFaultyDefinitionsAreRefusedFieldByField(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for body, locations := range map[string][]string{
		`{`: {"body"},
		strings.Replace(screen, `"low": 20`, `"low": 80`, 1):                {"body.parameters[0].low"},
		strings.Replace(screen, `"metric": "impurity"`, `"metric": ""`, 1):  {"body.constraints[0].metric"},
		strings.Replace(screen, `"op": "<="`, `"op": "<"`, 1):               {"body.constraints[0].op"},
		strings.Replace(screen, `rpol-ucb`, `magic`, 1):                     {"body.algorithm.name"},
		strings.Replace(screen, `"name": "catalyst"`, `"name": "Yield"`, 1): nil, // somewhere: names are unique ignoring case
		`{"name": "a", "nmae": "b"}`:                                        {"body.nmae", "body.parameters", "body.objective"},
	} {
		status := 422
		if body == "{" {
			status = 400
		}
		faults := s.api("POST", "/studies", body).faults(status)
		if len(faults) == 0 {
			t.Errorf("%s: no fault is named", body)
		}
		for _, at := range locations {
			if faults[at] == "" {
				t.Errorf("%s: no fault at %s but %v", body, at, faults)
			}
		}
	}
	s.api("POST", "/studies", screen, "Content-Type", "text/plain").faults(415)
	s.api("POST", "/studies", screen, "Content-Type", "application/json; charset=latin1").faults(415)
	s.api("POST", "/studies", screen, "Content-Encoding", "gzip").faults(415)
	s.api("POST", "/studies", `{"name": "`+strings.Repeat("x", maxBody)+`"}`).faults(413)
	if list := s.api("GET", "/studies", nil).json()["studies"].([]any); len(list) != 0 {
		t.Errorf("something was stored: %v", list)
	}
}

func TestTheLoop(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	base := "/studies/" + id
	asked := s.api("POST", base+"/ask", `{"count": 2}`).want(201)
	var suggested trialList
	if err := json.Unmarshal(asked.body, &suggested); err != nil || len(suggested.Trials) != 2 || suggested.Trials[1].Number != 2 || suggested.Trials[0].Decision == nil {
		t.Fatalf("asked: %s", asked.body)
	}
	s.api("POST", base+"/ask", nil).want(201) // no body means one
	s.api("POST", base+"/ask", `{"count": 51}`).faults(422)
	told := s.api("POST", base+"/trials/1/tell", `{"metrics": {"yield": 71.2}}`).want(200).json()
	if told["status"] != "partial" || told["feasible"] != nil {
		t.Errorf("told %v", told)
	}
	told = s.api("POST", base+"/trials/1/tell", `{"metrics": {"impurity": {"value": 0.31, "stddev": 0.02}}}`).want(200).json()
	if told["status"] != "completed" || told["feasible"] != true {
		t.Errorf("told %v", told)
	}
	if detail := s.api("POST", base+"/trials/1/tell", `{"metrics": {"yield": 17.2}}`).want(409).json()["detail"]; !strings.Contains(detail.(string), "corrections") {
		t.Errorf("detail %v", detail)
	}
	if faults := s.api("POST", base+"/trials/2/tell", `{"metrics": {"purity": 1}}`).faults(422); faults["body.metrics.purity"] == "" {
		t.Errorf("faults %v", faults)
	}
	s.api("POST", base+"/trials/99/tell", `{"metrics": {"yield": 1}}`).faults(404)
	s.api("POST", base+"/trials/01/tell", `{"metrics": {"yield": 1}}`).faults(404)

	version := s.version(id)
	if faults := s.api("POST", base+"/tell", `{"trials": [{"number": 2, "metrics": {"yield": 5}}, {"number": 3, "metrics": {"nosuch": 5}}]}`).faults(422); faults["body.trials[1].metrics.nosuch"] == "" {
		t.Errorf("faults %v", faults)
	}
	if s.version(id) != version {
		t.Error("half a bulk tell was stored")
	}
	both := s.api("POST", base+"/tell", `{"trials": [{"number": 3, "metrics": {"yield": 6}}, {"number": 2, "metrics": {"yield": 5, "impurity": 0.7}}]}`).want(200)
	if err := json.Unmarshal(both.body, &suggested); err != nil || suggested.Trials[0].Number != 3 || *suggested.Trials[1].Feasible {
		t.Errorf("both: %s", both.body)
	}

	added := s.api("POST", base+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}, "metrics": {"yield": 60}, "note": "mine"}`).want(201)
	if got := added.json(); got["origin"] != "manual" || got["number"] != 4.0 || added.header.Get("Location") != "/api/v1"+base+"/trials/4" {
		t.Errorf("added %s", added.body)
	}
	for body, at := range map[string]string{
		`{"parameters": {"temperature": 90, "catalyst": "A"}}`: "body.parameters.temperature", `{"parameters": {"temperature": 30, "catalyst": "Z"}}`: "body.parameters.catalyst",
		`{"parameters": {"temperature": 30}}`: "body.parameters.catalyst", `{"parameters": {"temperature": 30, "catalyst": "A", "pressure": 1}}`: "body.parameters.pressure",
		`{"metrics": {}}`: "body.parameters",
	} {
		if faults := s.api("POST", base+"/trials", body).faults(422); faults[at] == "" {
			t.Errorf("%s: %v", body, faults)
		}
	}
	again := s.api("POST", base+"/trials/4/replicates", nil).want(201).json()
	if again["replicate_of"] != 4.0 || again["number"] != 5.0 {
		t.Errorf("replicate %v", again)
	}
	for path, want := range map[string]string{"/trials/5/fail": "failed", "/trials/4/abandon": "abandoned"} {
		if got := s.api("POST", base+path, `{"reason": "leaked"}`).want(200).json(); got["status"] != want || got["reason"] != "leaked" {
			t.Errorf("%s: %v", path, got)
		}
		if faults := s.api("POST", base+path, `{}`).faults(422); faults["body.reason"] == "" {
			t.Errorf("%s: %v", path, faults)
		}
	}
	if got := s.api("POST", base+"/trials/1/exclude", `{"reason": "wrong batch"}`).want(200).json(); got["excluded"] != true {
		t.Errorf("excluded %v", got)
	}
	if got := s.api("POST", base+"/trials/1/include", `{"reason": "right after all"}`).want(200).json(); got["excluded"] != false {
		t.Errorf("included %v", got)
	}
	s.checkPages(id)
}

// checkPages reads the trials in pages and by status.
func (s *site) checkPages(id string) {
	s.t.Helper()
	var page trialPage
	read := func(query string) []int {
		page = trialPage{}
		if err := json.Unmarshal(s.api("GET", "/studies/"+id+"/trials"+query, nil).want(200).body, &page); err != nil {
			s.t.Fatal(err)
		}
		var numbers []int
		for _, trial := range page.Trials {
			numbers = append(numbers, trial.Number)
		}
		return numbers
	}
	for query, want := range map[string][]int{
		"": {1, 2, 3, 4, 5}, "?limit=2": {1, 2}, "?after=2&limit=2": {3, 4}, "?after=4&limit=2": {5}, "?after=99": nil, "?status=completed": {1, 2}, "?status=partial,failed": {3, 5}, "?status=completed&limit=1": {1},
	} {
		got := read(query)
		if diff := cmp.Diff(want, got); diff != "" {
			s.t.Errorf("%s: %s", query, diff)
		}
		more := query == "?limit=2" || query == "?after=2&limit=2" || strings.HasSuffix(query, "limit=1")
		if more != (page.Next != nil) || more && *page.Next != got[len(got)-1] {
			s.t.Errorf("%s: next %v", query, page.Next)
		}
	}
}

func (s *site) version(id string) float64 {
	s.t.Helper()
	return s.api("GET", "/studies/"+id, nil).want(200).json()["version"].(float64)
}

func TestCorrections(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	path := "/studies/" + id + "/trials/1/corrections"
	s.api("POST", "/studies/"+id+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}, "metrics": {"yield": 712, "impurity": 0.3}}`).want(201)
	before := s.version(id)
	impact := s.api("POST", path+"?dry_run=true", `{"metrics": {"yield": 71.2}, "reason": "typo"}`).want(200).json()["impact"].(map[string]any)
	if got := impact["trial"].(map[string]any)["metrics"].(map[string]any)["yield"].(map[string]any)["value"]; got != 71.2 || s.version(id) != before {
		t.Errorf("impact %v", impact)
	}
	corrected := s.api("POST", path, `{"metrics": {"yield": 71.2, "impurity": null}, "reason": "typo"}`).want(200).json()
	metrics := corrected["metrics"].(map[string]any)
	if got := metrics["yield"].(map[string]any); got["value"] != 71.2 || got["corrected"] != true || got["original"] != 712.0 {
		t.Errorf("corrected %v", got)
	}
	if metrics["impurity"] != nil || corrected["status"] != "partial" || corrected["feasible"] != nil {
		t.Errorf("taken back: %v", corrected)
	}
	for body, at := range map[string]string{`{"metrics": {"yield": 1}}`: "body.reason", `{"metrics": {"nosuch": 1}, "reason": "r"}`: "body.metrics.nosuch"} {
		if faults := s.api("POST", path, body).faults(422); faults[at] == "" {
			t.Errorf("%s: %v", body, faults)
		}
	}
	if ledger := string(s.api("GET", "/studies/"+id+"/ledger", nil).body); !strings.Contains(ledger, "712") || !strings.Contains(ledger, "typo") {
		t.Errorf("the old value or the reason is lost: %s", ledger)
	}
}

func TestRepeatedRequestsAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.api("POST", "/studies", screen, "Idempotency-Key", "make").want(201)
	again := s.api("POST", "/studies", screen, "Idempotency-Key", "make").want(201)
	if string(first.body) != string(again.body) || again.header.Get("Location") != first.header.Get("Location") || again.header.Get("ETag") != `"1"` {
		t.Errorf("first %s, again %s", first.body, again.body)
	}
	id := first.json()["id"].(string)
	path := "/studies/" + id + "/trials"
	if detail := s.api("POST", "/studies", strings.Replace(screen, "Buffer", "Other", 1), "Idempotency-Key", "make").want(422).json()["detail"]; detail == "" {
		t.Error("no detail")
	}
	var wait sync.WaitGroup
	answers := make([]answer, 6)
	for i := range answers {
		wait.Go(func() { answers[i] = s.api("POST", path, own, "Idempotency-Key", "mine") })
	}
	wait.Wait()
	for _, a := range answers {
		if a.want(201); string(a.body) != string(answers[0].body) {
			t.Errorf("answers differ: %s and %s", a.body, answers[0].body)
		}
	}
	if version := s.version(id); version != 2 {
		t.Errorf("version %v after one trial", version)
	}
	s.api("POST", path, own, "Idempotency-Key", "two words").faults(400)
	// The same key elsewhere, or from somebody else, is another request.
	s.api("POST", path+"/1/tell", `{"metrics": {"yield": 1}}`, "Idempotency-Key", "mine").want(200)
	if other := s.call("POST", "/api/v1"+path, s.token(account.Operator, ""), own, "Idempotency-Key", "mine").want(201); other.json()["number"] != 2.0 {
		t.Errorf("somebody else's answer: %s", other.body)
	}
	// Failures are not kept.
	s.api("POST", path+"/9/tell", `{"metrics": {"yield": 1}}`, "Idempotency-Key", "early").want(404)
	for s.version(id) < 9 {
		s.api("POST", path, own).want(201)
	}
	// Answered before, although the study has moved on.
	s.api("PATCH", "/studies/"+id, `{"state": "archived"}`).want(200)
	if late := s.api("POST", path, own, "Idempotency-Key", "mine").want(201); string(late.body) != string(answers[0].body) {
		t.Errorf("late %s", late.body)
	}
}

func TestConditionalReads(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	s.api("POST", "/studies/"+id+"/trials", own).want(201)
	for _, path := range []string{"", "/trials", "/trials/1", "/state", "/history", "/ledger", "/export.csv", "/export.json"} {
		read := s.api("GET", "/studies/"+id+path, nil).want(200)
		tag := read.header.Get("ETag")
		if tag != `"2"` {
			t.Errorf("%s: ETag %s", path, tag)
		}
		if same := s.api("GET", "/studies/"+id+path, nil, "If-None-Match", `"1", `+tag); same.status != 304 || len(same.body) != 0 {
			t.Errorf("%s: %d", path, same.status)
		}
		s.api("GET", "/studies/"+id+path+"?at=1", nil, "If-None-Match", tag).want(map[bool]int{true: 404, false: 200}[path == "/trials/1"])
		if head := s.api("HEAD", "/studies/"+id+path, nil).want(200); len(head.body) != 0 || head.header.Get("ETag") != tag {
			t.Errorf("HEAD %s: %v", path, head.header)
		}
	}
	s.api("POST", "/studies/"+id+"/trials", own, "If-Match", `"1"`).faults(412)
	s.api("POST", "/studies/"+id+"/trials", own, "If-Match", `"2"`).want(201)
}

func TestReplayedState(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	base := "/studies/" + id
	for range 8 {
		s.api("POST", base+"/ask", nil).want(201)
	}
	for i := 1; i <= 7; i++ {
		s.api("POST", base+"/tell", map[string]any{"trials": []any{map[string]any{"number": i, "metrics": map[string]float64{"yield": 60 + float64(i*i%7), "impurity": 0.1 * float64(i)}}}}).want(200)
	}
	var state study.Readout
	if err := json.Unmarshal(s.api("GET", base+"/state", nil).want(200).body, &state); err != nil || state.Round != 9 || state.Metrics["yield"].Count != 7 {
		t.Errorf("state %+v (%v)", state, err)
	}
	early := s.api("GET", base+"/state?at=1", nil).want(200).json()
	if early["round"] != 1.0 || early["recommendation"] != nil {
		t.Errorf("at 1: %v", early)
	}
	posterior := s.api("POST", base+"/posterior", `{"points": [{"temperature": 30, "catalyst": "A"}, {"temperature": 50, "catalyst": "B"}]}`).want(200).json()
	if mean := posterior["metrics"].(map[string]any)["yield"].(map[string]any)["mean"].([]any); len(mean) != 2 {
		t.Errorf("posterior %v", posterior)
	}
	if faults := s.api("POST", base+"/posterior", `{"points": [{"temperature": 30}]}`).faults(422); faults["body.points[0].catalyst"] == "" {
		t.Errorf("faults %v", faults)
	}
	acquisition := s.api("POST", base+"/acquisition", `{"points": [{"temperature": 30, "catalyst": "A"}, {"temperature": 50, "catalyst": "B"}]}`).want(200).json()
	if values := acquisition["values"].([]any); len(values) != 2 {
		t.Errorf("acquisition %v", acquisition)
	}
	choices := s.api("POST", base+"/compare", `{"algorithms": [{"name": "rpol-ucb", "settings": {"eta": 2}}]}`).want(200).json()["choices"].([]any)
	if len(choices) != 1 || choices[0].(map[string]any)["because"] == "" {
		t.Errorf("choices %v", choices)
	}
	if faults := s.api("POST", base+"/compare", `{"algorithms": [{"name": "magic"}]}`).faults(422); faults["body.algorithms[0].name"] == "" {
		t.Errorf("faults %v", faults)
	}
	if rounds := s.api("GET", base+"/history", nil).want(200).json()["rounds"].([]any); len(rounds) != 8 {
		t.Errorf("%d rounds", len(rounds))
	}
	verified := s.api("POST", base+"/verify", nil).want(200).json()
	if verified["ok"] != true || verified["ledger_intact"] != true || verified["checked"] != 8.0 {
		t.Errorf("verified %v", verified)
	}
}

func TestWaitingForATrial(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	path := "/studies/" + id + "/trials/1"
	s.api("POST", "/studies/"+id+"/trials", own).want(201)
	start := time.Now()
	if got := s.api("GET", path+"?wait=1", nil).want(200).json(); got["status"] != "suggested" || time.Since(start) < time.Second {
		t.Errorf("after %v: %v", time.Since(start), got["status"])
	}
	waited := make(chan answer, 1)
	go func() { waited <- s.api("GET", path+"?wait=60", nil) }()
	s.api("POST", path+"/tell", `{"metrics": {"yield": 1}}`).want(200)
	s.api("POST", path+"/tell", `{"metrics": {"impurity": 1}}`).want(200)
	select {
	case a := <-waited:
		if got := a.want(200).json()["status"]; got != "completed" {
			t.Errorf("answered %v", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("no answer although the trial is complete")
	}
	if faults := s.api("GET", path+"?wait=61", nil).faults(422); faults["query.wait"] == "" {
		t.Errorf("faults %v", faults)
	}
	s.api("GET", "/studies/"+id+"/trials/2?wait=60", nil).faults(404)
}

func TestTableGoesOutAndIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	path := "/studies/" + id
	table := "Temperature;CATALYST;yield;impurity;colour\n30,5;A;71,2;0,3;red\n40;B;PENDING;;blue\n"
	in := func(query, body string) answer {
		return s.api("POST", path+"/import"+query, body, "Content-Type", "text/csv")
	}
	if faults := in("", table).faults(422); len(faults) == 0 {
		t.Error("an unknown column was accepted")
	}
	dry := in("?dry_run=true&ignore_unknown=true", table).want(200).json()
	if dry["rows"] != 2.0 || dry["dry_run"] != true || s.version(id) != 1 || cmp.Diff(dry["unknown_columns"], []any{"colour"}) != "" {
		t.Errorf("dry run %v", dry)
	}
	done := in("?ignore_unknown=true", table).want(200).json()
	if cmp.Diff(done["numbers"], []any{1.0, 2.0}) != "" || done["dry_run"] != false {
		t.Errorf("imported %v", done)
	}
	if faults := in("", "temperature,catalyst,yield\n30,A,1\n99,A,2\n30,Z,nought\n").faults(422); len(faults) < 3 {
		t.Errorf("faults %v", faults)
	}
	s.api("POST", path+"/import", table).faults(415)
	out := s.api("GET", path+"/export.csv", nil).want(200)
	if got := out.header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment; filename=") {
		t.Errorf("Content-Disposition %q", got)
	}
	copied := s.newStudy(screen)
	s.api("POST", "/studies/"+copied+"/import", string(out.body), "Content-Type", "text/csv").want(200)
	if back := s.api("GET", "/studies/"+copied+"/export.csv", nil).want(200); string(back.body) != string(out.body) {
		t.Errorf("out\n%s\nback\n%s", out.body, back.body)
	}
}

func TestBundleGoesOutAndIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	s.api("POST", "/studies/"+id+"/trials", own).want(201)
	s.api("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"yield": 71.2}}`).want(200)
	bundle := s.api("GET", "/studies/"+id+"/export.json", nil).want(200)
	made := s.api("POST", "/studies/import", bundle.body).want(201).json()
	copied := made["id"].(string)
	if copied == id || made["version"] != 3.0 {
		t.Errorf("made %v", made)
	}
	for _, path := range []string{"/ledger", "/trials", "/export.json"} {
		if diff := cmp.Diff(s.api("GET", "/studies/"+id+path, nil).json(), s.api("GET", "/studies/"+copied+path, nil).json()); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	forged := strings.Replace(string(bundle.body), "71.2", "81.2", 1)
	if faults := s.api("POST", "/studies/import", forged).faults(422); len(faults) == 0 {
		t.Error("no fault")
	}
	s.api("POST", "/studies/import", `{"format": 1`).faults(400)
}

func TestLedgerInPagesAndAsStream(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	for range 4 {
		s.api("POST", "/studies/"+id+"/trials", own).want(201)
	}
	var page ledgerPage
	for query, want := range map[string]struct {
		first, count int
		more         bool
	}{"": {1, 5, false}, "?limit=2": {1, 2, true}, "?after=2&limit=2": {3, 2, true}, "?after=3&limit=2": {4, 2, false}, "?after=5": {0, 0, false}, "?at=3": {1, 3, false}, "?at=3&after=1&limit=1": {2, 1, true}} {
		page = ledgerPage{}
		if err := json.Unmarshal(s.api("GET", "/studies/"+id+"/ledger"+query, nil).want(200).body, &page); err != nil {
			t.Fatal(err)
		}
		if len(page.Events) != want.count || want.count > 0 && page.Events[0].Seq != int64(want.first) || (page.Next != nil) != want.more {
			t.Errorf("%s: %d events, next %v", query, len(page.Events), page.Next)
		}
	}
	whole := s.listen("/api/v1/studies/"+id+"/events", s.admin)
	resumed := s.listen("/api/v1/studies/"+id+"/events", s.admin, "Last-Event-ID", "4")
	changes := s.listen("/studies/"+id+"/stream?after=5", s.admin)
	for _, want := range []string{"1", "2", "3", "4", "5"} {
		if got := whole.next(t); got != "id: "+want {
			t.Errorf("line %q, want id %s", got, want)
		}
		if got := whole.next(t); !strings.HasPrefix(got, `data: {"seq":`+want) || !strings.Contains(got, `"hash":"`) {
			t.Errorf("line %q", got)
		}
	}
	if got := resumed.next(t); got != "id: 5" {
		t.Errorf("resumed at %q", got)
	}
	resumed.next(t)
	s.api("POST", "/studies/"+id+"/trials", own).want(201)
	for _, stream := range []*lineStream{whole, resumed, changes} {
		if got := stream.next(t); got != "id: 6" {
			t.Errorf("news %q", got)
		}
	}
	if event, data := changes.next(t), changes.next(t); event != "event: changed" || data != "data: 6" {
		t.Errorf("changes say %q, %q", event, data)
	}
	s.api("GET", "/studies/"+id+"/events", nil, "Last-Event-ID", "x").faults(400)
	s.api("HEAD", "/studies/"+id+"/events", nil).want(200)
	for query, want := range map[string]int{"?at=1": 1, "": 6} {
		if got := s.api("POST", "/studies/"+id+"/verify"+query, nil).want(200).json(); got["ledger_intact"] != true || got["checked"] != float64(want-1) {
			t.Errorf("verified%s %v", query, got)
		}
	}
	s.api("GET", "/studies/nosuch/events", nil).faults(404)
}

// TestStreamsOutliveTheServersTimeouts: the deadlines that bound other answers do not cut a stream or a wait.
func TestStreamsOutliveTheServersTimeouts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	const timeout = 200 * time.Millisecond
	impatient := httptest.NewUnstartedServer(s.router)
	impatient.Config.ReadTimeout, impatient.Config.WriteTimeout = timeout, timeout
	impatient.Start()
	t.Cleanup(impatient.Close)
	t.Cleanup(impatient.CloseClientConnections)
	started := time.Now()
	s.url = impatient.URL
	stream := s.listen("/studies/"+id+"/stream", s.admin)
	stream.next(t)
	eventually(t, "the timeouts pass", func() bool { return time.Since(started) > 3*timeout })
	s.api("POST", "/studies/"+id+"/trials", own).want(201)
	s.api("GET", "/studies/"+id+"/trials/1?wait=1", nil).want(200)
	for range 3 { // the rest of the first event, then the news
		if got := stream.next(t); got == "id: 2" {
			return
		}
	}
	t.Error("no news after the timeouts")
}

func TestStreamsEndWhenTheServerStops(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	s := newSite(t, func(o *Options) { o.Stopping = stopping })
	id := s.newStudy(screen)
	stream := s.listen("/api/v1/studies/"+id+"/events", s.admin)
	stream.next(t)
	close(stopping)
	stream.untilEnd(t)
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	s.call("GET", "/readyz", "", nil).want(200)
	s.db.Close()
	a := s.api("POST", "/studies/"+id+"/trials", own)
	a.faults(http.StatusServiceUnavailable)
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.call("GET", "/readyz", "", nil).faults(503)
	s.call("GET", "/healthz", "", nil).want(200)
}
