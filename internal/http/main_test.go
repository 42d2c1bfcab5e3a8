package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/study"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// site is the real server on a database of its own.
type site struct {
	t       testing.TB
	db      *db.DB
	router  chi.Router
	url     string
	admin   string // a token
	log     *logBuffer
	answers *answerCheck
}

// logBuffer keeps the log for tests to read.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newSite starts a server; change, when given, changes its options.
func newSite(t testing.TB, change ...func(*Options)) *site {
	t.Helper()
	s := &site{t: t, db: dbtest.New(t), log: &logBuffer{}}
	handler := s.server(change...)
	s.router = handler.(chi.Router)
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	s.url = web.URL
	s.admin = s.token(account.Admin, "")
	s.answers = newAnswerCheck(t, s)
	return s
}

// server is the whole program's handler on the site's database, with nothing cached.
func (s *site) server(change ...func(*Options)) http.Handler {
	s.t.Helper()
	service := study.NewService(s.db.Studies, study.Options{})
	s.t.Cleanup(service.Stop)
	options := Options{
		Studies: service, Accounts: s.db.Accounts, Database: s.db, PublicURL: "http://headroom.test", Version: "test",
		Log: slog.New(slog.NewJSONHandler(s.log, nil)),
	}
	for _, c := range change {
		c(&options)
	}
	handler, err := New(options)
	if err != nil {
		s.t.Fatal(err)
	}
	return handler
}

// token makes an API token straight in the store.
func (s *site) token(role account.Role, studyID string) string {
	s.t.Helper()
	_, secret, err := s.db.Accounts.CreateToken(s.t.Context(), account.Identity{Name: "Setup", Role: account.Admin},
		account.NewToken{Name: "Test " + string(role), Role: role, StudyID: studyID})
	if err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// answer is what came back.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// call makes a request as token (none when empty). body is text, or a value to send as JSON, or nil. headers come in pairs.
func (s *site) call(method, path, token string, body any, headers ...string) answer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	response, err := noRedirects.Do(s.request(ctx, method, path, token, body, headers...))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	out := answer{s.t, response.StatusCode, response.Header, text}
	if s.answers != nil {
		s.answers.check(method, path, out)
	}
	return out
}

var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (s *site) request(ctx context.Context, method, path, token string, body any, headers ...string) *http.Request {
	s.t.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	case []byte:
		reader = bytes.NewReader(body)
	default:
		text, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	if reader != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return request
}

// want fails the test unless the status is as given.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// json reads the body.
func (a answer) json() map[string]any {
	a.t.Helper()
	var out map[string]any
	if err := json.Unmarshal(a.body, &out); err != nil {
		a.t.Fatalf("%v in %s", err, a.body)
	}
	return out
}

// faults returns the problem's errors, location → message, after checking its form.
func (a answer) faults(status int) map[string]string {
	a.t.Helper()
	a.want(status)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Fatalf("Content-Type %q: %s", got, a.body)
	}
	var p problem
	if err := json.Unmarshal(a.body, &p); err != nil || p.Status != status || p.Title == "" || p.Detail == "" {
		a.t.Fatalf("not a problem: %s (%v)", a.body, err)
	}
	out := map[string]string{}
	for _, f := range p.Errors {
		out[f.Location] = f.Message
	}
	return out
}

// api makes an admin's request to the API.
func (s *site) api(method, path string, body any, headers ...string) answer {
	s.t.Helper()
	return s.call(method, "/api/v1"+path, s.admin, body, headers...)
}

// screen is a small study: two parameters and a limit.
const screen = `{"name": "Buffer screen",
	"parameters": [{"name": "temperature", "type": "real", "low": 20, "high": 60, "unit": "°C"}, {"name": "catalyst", "type": "categorical", "choices": ["A", "B"]}],
	"objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}],
	"algorithm": {"name": "rpol-ucb", "horizon": 20}, "seed": 7}`

// newStudy makes a study and returns its id.
func (s *site) newStudy(definition string) string {
	s.t.Helper()
	id, _ := s.api("POST", "/studies", definition).want(201).json()["id"].(string)
	if id == "" {
		s.t.Fatal("no id")
	}
	return id
}

// eventually polls until true, for what other goroutines do.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			t.Fatal("in vain: " + what)
		case <-tick.C:
		}
	}
}

// quietLog is a logger that writes where the site's log is read.
func (s *site) quietLog() *slog.Logger { return slog.New(slog.NewJSONHandler(s.log, nil)) }
