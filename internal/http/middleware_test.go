package server

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"headroom/internal/account"
	"headroom/internal/study"
)

func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	for _, path := range []string{"/healthz", "/api/v1/studies", "/api/v1/studies/" + id, "/api/v1/docs", "/nosuch", "/api/v1/nosuch"} {
		h := s.call("GET", path, s.admin, nil).header
		if policy := h.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(policy, "unsafe-eval") {
			t.Errorf("%s: policy %q", path, policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s %q", path, name, got)
			}
		}
		if cache := h.Get("Cache-Control"); cache != "no-store" && cache != "private, no-cache" {
			t.Errorf("%s: Cache-Control %q", path, cache)
		}
		if h.Get("X-Request-Id") == "" {
			t.Errorf("%s: no request id", path)
		}
	}
}

func TestCompression(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	packed := s.call("GET", "/api/v1/openapi.json", s.admin, nil, "Accept-Encoding", "gzip")
	if packed.header.Get("Content-Encoding") != "gzip" || !strings.Contains(packed.header.Get("Vary"), "Accept-Encoding") {
		t.Fatalf("headers %v", packed.header)
	}
	unpack, err := gzip.NewReader(strings.NewReader(string(packed.body)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpack)
	if err != nil || !strings.Contains(string(text), `"openapi":"3.1.0"`) {
		t.Errorf("%v: %.80s", err, text)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	s.api("POST", "/studies/"+id+"/ask", nil).want(201)
	s.api("GET", "/studies/"+id+"/state", nil).want(200)
	s.api("GET", "/nosuch/"+id, nil).want(404)
	s.listen("/studies/"+id+"/stream", s.admin).next(t)
	s.call("GET", "/metrics", "", nil).want(401)
	text := string(s.call("GET", "/metrics", s.token(account.Viewer, ""), nil).want(200).body)
	for _, sign := range []string{
		`headroom_http_request_duration_seconds_count{method="POST",route="/api/v1/studies/{id}/ask",status="201"} 1`,
		"headroom_ask_duration_seconds_count 1", "headroom_replay_duration_seconds_count 1", "headroom_open_streams 1", "go_goroutines",
	} {
		if !strings.Contains(text, sign) {
			t.Errorf("no %s", sign)
		}
	}
	if strings.Contains(text, id) {
		t.Error("metrics name a study")
	}
}

func TestLogNamesRequestsButNoSecrets(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.newStudy(screen)
	secret := s.share(id)
	opened := s.call("GET", "/share/"+secret, "", nil).want(303)
	log := s.log.String()
	for _, sign := range []string{opened.header.Get("X-Request-Id"), `"route":"/share/{secret}"`, `"status":303`, `"client":"127.0.0.1"`} {
		if !strings.Contains(log, sign) {
			t.Errorf("the log lacks %s", sign)
		}
	}
	for _, hidden := range []string{secret, s.admin} {
		if strings.Contains(log, hidden) {
			t.Errorf("the log tells a secret")
		}
	}
}

// TestPanicsAndUnknownErrorsTellNothing: the log has the cause, the answer has not.
func TestPanicsAndUnknownErrorsTellNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := &Server{log: s.quietLog(), metrics: newMetrics()}
	for name, handler := range map[string]http.Handler{
		"panic": server.recoverPanics(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the password is swordfish") })),
		"error": server.handle(func(http.ResponseWriter, *http.Request) error { return errors.New("the password is swordfish") }),
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/studies", nil))
		a := answer{t, w.Code, w.Header(), w.Body.Bytes()}
		if a.faults(500); strings.Contains(string(a.body), "swordfish") {
			t.Errorf("%s: told %s", name, a.body)
		}
	}
	if strings.Count(s.log.String(), "swordfish") < 2 {
		t.Error("the log does not know")
	}
}

func TestStatusTable(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		study.ErrNotFound: 404, study.ErrConflict: 409, study.ErrStale: 412, study.ErrTooLarge: 413, study.ErrReused: 422, study.ErrUnavailable: 503,
		account.ErrNoCredentials: 401, account.ErrExpired: 401, account.ErrNotFound: 404, account.ErrLastAdmin: 409, account.ErrNameTaken: 409,
		&account.Invalid{Field: "name", Message: "give a name"}: 422, invalid("body.x", "is wrong", 1): 422, &http.MaxBytesError{Limit: maxBody}: 413,
		errors.New("anything else"): 500,
	} {
		if got := asProblem(err).Status; got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
