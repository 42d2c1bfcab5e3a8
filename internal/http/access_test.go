package server

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
)

// audiences is who the contract lets use what, written down a second time: a route that is not here, or differs, fails.
var audiences = map[Access]string{
	Public:   "GET /healthz, GET /readyz, GET /share/{secret}",
	SignedIn: "GET /api/v1/studies, GET /api/v1/algorithms, GET /api/v1/openapi.json, GET /api/v1/docs",
	Viewer:   "GET /metrics",
	Operator: "POST /api/v1/studies, POST /api/v1/studies/import",
	Admin:    "POST /api/v1/tokens, GET /api/v1/tokens, DELETE /api/v1/tokens/{token}",
	StudyViewer: "GET /api/v1/studies/{id}, GET /api/v1/studies/{id}/trials, GET /api/v1/studies/{id}/trials/{number}, GET /api/v1/studies/{id}/state, " +
		"POST /api/v1/studies/{id}/posterior, POST /api/v1/studies/{id}/acquisition, POST /api/v1/studies/{id}/compare, GET /api/v1/studies/{id}/history, " +
		"POST /api/v1/studies/{id}/verify, GET /api/v1/studies/{id}/export.csv, GET /api/v1/studies/{id}/export.json, GET /api/v1/studies/{id}/ledger, " +
		"GET /api/v1/studies/{id}/events, GET /studies/{id}/stream",
	StudyOperator: "PATCH /api/v1/studies/{id}, POST /api/v1/studies/{id}/reconfigure, POST /api/v1/studies/{id}/ask, POST /api/v1/studies/{id}/trials, " +
		"POST /api/v1/studies/{id}/trials/{number}/tell, POST /api/v1/studies/{id}/tell, POST /api/v1/studies/{id}/trials/{number}/corrections, " +
		"POST /api/v1/studies/{id}/trials/{number}/replicates, POST /api/v1/studies/{id}/trials/{number}/fail, POST /api/v1/studies/{id}/trials/{number}/abandon, " +
		"POST /api/v1/studies/{id}/trials/{number}/exclude, POST /api/v1/studies/{id}/trials/{number}/include, POST /api/v1/studies/{id}/import",
	StudyAdmin: "POST /api/v1/studies/{id}/shares, GET /api/v1/studies/{id}/shares, DELETE /api/v1/studies/{id}/shares/{share}",
}

// verdicts is what each kind of caller meets on each kind of route: 0 is let through.
var verdicts = map[string]map[Access]int{
	"nobody":                 {Public: 0, SignedIn: 401, Viewer: 401, Operator: 401, Admin: 401, StudyViewer: 401, StudyOperator: 401, StudyAdmin: 401},
	"bad token":              {Public: 0, SignedIn: 401, Viewer: 401, Operator: 401, Admin: 401, StudyViewer: 401, StudyOperator: 401, StudyAdmin: 401},
	"viewer":                 {Public: 0, SignedIn: 0, Viewer: 0, Operator: 403, Admin: 403, StudyViewer: 0, StudyOperator: 403, StudyAdmin: 403},
	"operator":               {Public: 0, SignedIn: 0, Viewer: 0, Operator: 0, Admin: 403, StudyViewer: 0, StudyOperator: 0, StudyAdmin: 403},
	"admin":                  {Public: 0, SignedIn: 0, Viewer: 0, Operator: 0, Admin: 0, StudyViewer: 0, StudyOperator: 0, StudyAdmin: 0},
	"viewer of this study":   {Public: 0, SignedIn: 0, Viewer: 403, Operator: 403, Admin: 403, StudyViewer: 0, StudyOperator: 403, StudyAdmin: 403},
	"operator of this study": {Public: 0, SignedIn: 0, Viewer: 403, Operator: 403, Admin: 403, StudyViewer: 0, StudyOperator: 0, StudyAdmin: 403},
	"operator of another":    {Public: 0, SignedIn: 0, Viewer: 403, Operator: 403, Admin: 403, StudyViewer: 404, StudyOperator: 404, StudyAdmin: 404},
	"share of this study":    {Public: 0, SignedIn: 0, Viewer: 403, Operator: 403, Admin: 403, StudyViewer: 0, StudyOperator: 403, StudyAdmin: 403},
	"share of another":       {Public: 0, SignedIn: 0, Viewer: 403, Operator: 403, Admin: 403, StudyViewer: 404, StudyOperator: 404, StudyAdmin: 404},
}

func TestEveryRouteHasItsAudience(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	mine, other := s.newStudy(screen), s.newStudy(screen)
	callers := map[string]string{
		"nobody": "", "bad token": "headroom_WRONG", "viewer": s.token(account.Viewer, ""), "operator": s.token(account.Operator, ""), "admin": s.admin,
		"viewer of this study": s.token(account.Viewer, mine), "operator of this study": s.token(account.Operator, mine), "operator of another": s.token(account.Operator, other),
		"share of this study": s.share(mine), "share of another": s.share(other),
	}
	expected := expectedAudiences(t)
	walked := 0
	err := chi.Walk(s.router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		access, pinned := expected[method+" "+pattern]
		if !pinned {
			return nil // pages: see TestPagesHaveTheirAudience
		}
		walked++
		for caller, secret := range callers {
			got := s.knock(method, fill(pattern, mine), secret)
			if want := verdicts[caller][access]; want == 0 && (got == 401 || got == 403 || got == 404 && strings.HasSuffix(pattern, "{id}")) || want != 0 && got != want {
				t.Errorf("%s %s by %s: %d, want %d", method, pattern, caller, got, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if walked != len(expected) {
		t.Errorf("%d of the %d routes that were expected are served", walked, len(expected))
	}
}

// TestAPIAudiencesAreAllExpected: no route of the API is missing from the list above.
func TestAPIAudiencesAreAllExpected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	expected := expectedAudiences(t)
	err := chi.Walk(s.router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if _, ok := expected[method+" "+pattern]; !ok && strings.HasPrefix(pattern, "/api/") {
			t.Errorf("%s %s has no expected audience", method, pattern)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPagesHaveTheirAudience walks the pages with their own table's audiences: strangers and other studies' callers stay out,
// and whatever changes something needs more than a viewer.
func TestPagesHaveTheirAudience(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	mine, other := s.newStudy(screen), s.newStudy(screen)
	viewer, stranger := s.token(account.Viewer, mine), s.token(account.Operator, other)
	for _, rt := range (&Server{}).pageRoutes() {
		path := fill(rt.Pattern, mine)
		if strings.HasPrefix(rt.Pattern, "/studies/{id}") != rt.Access.forStudy() {
			t.Errorf("%s %s: a page about one study must have an audience of that study", rt.Method, rt.Pattern)
		}
		if rt.Access == Public {
			continue
		}
		if got := s.knock(rt.Method, path, ""); got != 401 && got != 303 {
			t.Errorf("%s %s by nobody: %d", rt.Method, rt.Pattern, got)
		}
		if got := s.knock(rt.Method, path, stranger); rt.Access.forStudy() && got != 404 {
			t.Errorf("%s %s by another study's operator: %d", rt.Method, rt.Pattern, got)
		}
		if got := s.knock(rt.Method, path, viewer); rt.Access.role() != account.Viewer && got != 403 {
			t.Errorf("%s %s by a viewer: %d", rt.Method, rt.Pattern, got)
		}
	}
}

func TestViewersMayPreviewButNotCorrect(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	s.api("POST", "/studies/"+id+"/trials", `{"parameters": {"temperature": 30, "catalyst": "A"}, "metrics": {"yield": 71, "impurity": 0.3}}`).want(201)
	viewer := s.token(account.Viewer, id)
	path := "/api/v1/studies/" + id + "/trials/1/corrections"
	body := `{"metrics": {"yield": 17}, "reason": "typo"}`
	s.call("POST", path+"?dry_run=true", viewer, body).want(200)
	s.call("POST", path, viewer, body).want(403)
	s.call("POST", path+"?dry_run=false", viewer, body).want(403)
	if faults := s.call("POST", path+"?dry_run=1", s.admin, body).faults(422); faults["query.dry_run"] == "" {
		t.Errorf("faults %v", faults)
	}
	if version := s.api("GET", "/studies/"+id, nil).want(200).json()["version"]; version != 3.0 {
		t.Errorf("version %v: something was stored", version)
	}
}

func expectedAudiences(t *testing.T) map[string]Access {
	t.Helper()
	expected := map[string]Access{}
	for access, list := range audiences {
		for _, one := range strings.Split(list, ", ") {
			expected[one] = access
		}
	}
	return expected
}

// fill puts this study, and things it does not have, into a pattern.
func fill(pattern, id string) string {
	return strings.NewReplacer("{id}", id, "{number}", "7", "{token}", "none", "{share}", "none", "{secret}", "none", "*", "none").Replace(pattern)
}

// knock makes a request and returns the status without reading the body, which may be a stream.
func (s *site) knock(method, path, secret string) int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	response, err := noRedirects.Do(s.request(ctx, method, path, secret, nil))
	if err != nil {
		s.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// share makes a share link and returns its secret.
func (s *site) share(id string) string {
	s.t.Helper()
	address, _ := s.api("POST", "/studies/"+id+"/shares", `{"name": "Reviewer"}`).want(201).json()["url"].(string)
	_, secret, found := strings.Cut(address, "http://headroom.test/share/")
	if !found {
		s.t.Fatalf("share at %q", address)
	}
	return secret
}

func TestShareLinkBecomesACookie(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id, other := s.newStudy(screen), s.newStudy(screen)
	opened := s.call("GET", "/share/"+s.share(id), "", nil).want(303)
	if got := opened.header.Get("Location"); got != "/studies/"+id {
		t.Errorf("Location %q", got)
	}
	cookie := opened.header.Get("Set-Cookie")
	for _, part := range []string{"headroom-share=", "HttpOnly", "SameSite=Lax", "Path=/", "Expires="} {
		if !strings.Contains(cookie, part) {
			t.Errorf("cookie %q lacks %s", cookie, part)
		}
	}
	sent, _, _ := strings.Cut(cookie, ";")
	s.call("GET", "/api/v1/studies/"+id, "", nil, "Cookie", sent).want(200)
	s.call("GET", "/api/v1/studies/"+other, "", nil, "Cookie", sent).want(404)
	s.call("POST", "/api/v1/studies/"+id+"/ask", "", `{}`, "Cookie", sent).want(403)
	list := s.call("GET", "/api/v1/studies", "", nil, "Cookie", sent).want(200).json()["studies"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["id"] != id {
		t.Errorf("a share sees %v", list)
	}
	s.call("GET", "/share/headroom_WRONG", "", nil).want(404)
	s.call("GET", "/share/"+s.admin, "", nil).want(404)
}

func TestSecureSiteMarksItsCookies(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *Options) { o.PublicURL = "https://headroom.test" })
	id := s.newStudy(screen)
	address := s.api("POST", "/studies/"+id+"/shares", `{}`).want(201).json()["url"].(string)
	opened := s.call("GET", strings.TrimPrefix(address, "https://headroom.test"), "", nil).want(303)
	if cookie := opened.header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-headroom-share=") || !strings.Contains(cookie, "Secure") || strings.Contains(cookie, "Domain") {
		t.Errorf("cookie %q", cookie)
	}
	if opened.header.Get("Strict-Transport-Security") == "" {
		t.Error("no Strict-Transport-Security")
	}
}

func TestOtherSitesCannotUseCookies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.test"}} {
		if detail := s.call("POST", "/api/v1/studies/"+id+"/verify", "", `{}`, append(headers, "Cookie", "headroom-share="+s.share(id))...).want(403).json()["detail"]; !strings.Contains(detail.(string), "another site") {
			t.Errorf("%v: %v", headers, detail)
		}
		s.call("POST", "/api/v1/studies/"+id+"/posterior", s.admin, `{"points": [{"temperature": 30, "catalyst": "A"}]}`, headers...).want(200)
	}
}

func TestBadTokensAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	limited := false
	for range 80 {
		a := s.call("GET", "/api/v1/studies", "headroom_WRONG", nil)
		if limited = a.status == http.StatusTooManyRequests; limited {
			if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 1 {
				t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
			}
			break
		}
		a.want(401)
	}
	if !limited {
		t.Error("80 wrong tokens were not too many")
	}
	if status := s.call("GET", "/api/v1/studies", "headroom_WRONG", nil, "X-Forwarded-For", "10.9.8.7", "X-Real-Ip", "10.9.8.7").status; status != 429 {
		t.Errorf("a forged address was believed: %d", status)
	}
	s.call("GET", "/api/v1/studies", s.admin, nil).want(200) // good credentials still work
	s.call("GET", "/api/v1/studies", "", nil).want(401)
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	made := s.api("POST", "/tokens", map[string]any{"name": "Robot", "role": "operator", "study_id": id, "expires_at": time.Now().Add(time.Hour)}, "Idempotency-Key", "k1").want(201).json()
	secret, _ := made["token"].(string)
	if secret == "" || made["role"] != "operator" || made["study_id"] != id {
		t.Fatalf("made %v", made)
	}
	s.call("GET", "/api/v1/studies/"+id, secret, nil).want(200)
	again := s.api("POST", "/tokens", map[string]any{"name": "Robot", "role": "operator"}, "Idempotency-Key", "k1")
	again.want(422)
	text := s.api("GET", "/tokens", nil).want(200)
	if strings.Contains(string(text.body), secret) {
		t.Error("the list tells the secret")
	}
	s.api("DELETE", "/tokens/"+made["id"].(string), nil).want(204)
	s.call("GET", "/api/v1/studies/"+id, secret, nil).want(401)
	s.api("DELETE", "/tokens/none", nil).want(404)
	for body, at := range map[string]string{
		`{"name": "", "role": "viewer"}`: "body.name", `{"name": "a", "role": "king"}`: "body.role", `{"name": "a", "role": "viewer", "study_id": "none"}`: "body.study_id",
		`{"name": "a", "role": "viewer", "expires_at": "2020-01-01T00:00:00Z"}`: "body.expires_at",
	} {
		if faults := s.api("POST", "/tokens", body).faults(422); faults[at] == "" || len(faults) != 1 {
			t.Errorf("%s: %v", body, faults)
		}
	}
}

func TestRepeatedTokenCreationKeepsTheSecret(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	body := `{"name": "Robot", "role": "viewer"}`
	first := s.api("POST", "/tokens", body, "Idempotency-Key", "k").want(201).json()
	again := s.api("POST", "/tokens", body, "Idempotency-Key", "k").want(201).json()
	if first["id"] != again["id"] || first["token"] == nil || again["token"] != nil {
		t.Errorf("first %v, again %v", first, again)
	}
	if tokens := s.api("GET", "/tokens", nil).json()["tokens"].([]any); len(tokens) != 2 { // and the admin's
		t.Errorf("%d tokens", len(tokens))
	}
}

// TestRevokedTokenLosesItsStream: an open stream ends when its credential does, at once.
func TestRevokedTokenLosesItsStream(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	made := s.api("POST", "/tokens", `{"name": "Screen", "role": "viewer"}`).want(201).json()
	lines := s.listen("/api/v1/studies/"+id+"/events", made["token"].(string))
	if got := lines.next(t); got != "id: 1" {
		t.Fatalf("the stream begins with %q", got)
	}
	s.api("DELETE", "/tokens/"+made["id"].(string), nil).want(204)
	lines.untilEnd(t)
}

// lineStream reads a stream line by line.
type lineStream struct {
	lines chan string
}

func (s *site) listen(path, secret string, headers ...string) *lineStream {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(cancel)
	response, err := noRedirects.Do(s.request(ctx, "GET", path, secret, nil, headers...))
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("status %d, %v", response.StatusCode, response.Header)
	}
	out := &lineStream{make(chan string, 1000)}
	go func() {
		defer response.Body.Close()
		defer close(out.lines)
		for scan := bufio.NewScanner(response.Body); scan.Scan(); {
			out.lines <- scan.Text()
		}
	}()
	return out
}

// next returns the next line that says something.
func (l *lineStream) next(t *testing.T) string {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case line, open := <-l.lines:
			if !open {
				t.Fatal("the stream ended")
			}
			if line != "" && !slices.Contains([]string{":", "retry: 2000"}, line) {
				return line
			}
		case <-deadline:
			t.Fatal("the stream is silent")
		}
	}
}

func (l *lineStream) untilEnd(t *testing.T) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case _, open := <-l.lines:
			if !open {
				return
			}
		case <-deadline:
			t.Fatal("the stream did not end")
		}
	}
}
