package http_test

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"headroom/internal/account"
	"headroom/internal/http/sitetest"
)

func TestEveryAnswerIsGuarded(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	for _, path := range []string{"/healthz", "/api/v1/studies", "/api/v1/studies/" + id, "/api/v1/docs", "/nosuch", "/api/v1/nosuch"} {
		h := s.Call("GET", path, s.Admin, nil).Header
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
	s := sitetest.Beside(t)
	packed := s.Call("GET", "/api/v1/openapi.json", s.Admin, nil, "Accept-Encoding", "gzip")
	if packed.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(packed.Header.Get("Vary"), "Accept-Encoding") {
		t.Fatalf("headers %v", packed.Header)
	}
	unpack, err := gzip.NewReader(strings.NewReader(string(packed.Body)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpack)
	if err != nil || !strings.Contains(string(text), `"openapi":"3.1.0"`) {
		t.Errorf("%v: %.80s", err, text)
	}
}

func TestMetrics(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	s.API("POST", "/studies/"+id+"/ask", nil).Want(201)
	s.API("GET", "/studies/"+id+"/state", nil).Want(200)
	s.API("GET", "/nosuch/"+id, nil).Want(404)
	s.Listen("/studies/"+id+"/stream", s.Admin).Next()
	s.Call("GET", "/metrics", "", nil).Want(401)
	text := string(s.Call("GET", "/metrics", s.Token(account.Viewer, ""), nil).Want(200).Body)
	for _, sign := range []string{
		`headroom_http_request_duration_seconds_count{method="POST",route="/api/v1/studies/{id}/ask",status="201"} 1`,
		"headroom_ask_duration_seconds_count 1", "headroom_replay_duration_seconds_count 1", "headroom_open_streams 1", "go_goroutines",
		`headroom_cache_bytes{cache="states"} `, `headroom_cache_entries{cache="versions"} 2`, `headroom_turns{state="waiting",urgency="choosing"} 0`,
		`headroom_turns{state="running",urgency="reading"} 0`, `headroom_computed_seconds_total{urgency="choosing"} `,
	} {
		sitetest.Says(t, text, sign)
	}
	sitetest.Lacks(t, text, `headroom_cache_bytes{cache="states"} 0`, `headroom_turns_total{urgency="choosing"} 0`)
	sitetest.Lacks(t, text, id)
}

func TestLogNamesRequestsButNoSecrets(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	secret := s.Share(id)
	opened := s.Call("GET", "/share/"+secret, "", nil).Want(303)
	log := s.Log.String()
	for _, sign := range []string{opened.Header.Get("X-Request-Id"), `"route":"/share/{secret}"`, `"status":303`, `"client":"127.0.0.1"`} {
		sitetest.Says(t, log, sign)
	}
	sitetest.Lacks(t, log, secret, s.Admin)
}
