// Package sitetest gives tests the whole site on a database of its own, and checks every answer of
// the API against the OpenAPI document.
package sitetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"headroom/internal/account"
	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	server "headroom/internal/http"
	"headroom/internal/http/problem"
	_ "headroom/internal/lab" // for simulated labs
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/testwait"
)

// Site is the real server on a database of its own.
type Site struct {
	DB       *db.DB
	Router   chi.Router
	URL      string
	Admin    string // a token
	Log      *Log
	Document *Document // nil: answers are not checked
	t        testing.TB
}

// Log keeps the log for tests to read.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *Log) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *Log) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// New starts a server; change, when given, changes its options.
func New(t testing.TB, change ...func(*server.Options)) *Site {
	t.Helper()
	return On(t, dbtest.URL(t), change...)
}

// Beside is New for a test that runs beside others.
func Beside(t *testing.T, change ...func(*server.Options)) *Site {
	t.Helper()
	t.Parallel()
	return New(t, change...)
}

// On is New on the database at url.
func On(t testing.TB, url string, change ...func(*server.Options)) *Site {
	t.Helper()
	store := must.Get(db.Up(t.Context(), url, ""))(t)
	t.Cleanup(store.Close)
	s := &Site{t: t, DB: store, Log: &Log{}}
	handler := s.Server(change...)
	s.Router = handler.(chi.Router)
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	s.URL = web.URL
	s.Admin = s.Token(account.Admin, "")
	s.Document = newDocument(t, s)
	return s
}

// Server returns the whole program's handler on the site's database, with nothing cached.
func (s *Site) Server(change ...func(*server.Options)) http.Handler {
	s.t.Helper()
	service := study.NewService(s.DB.Studies, study.Options{RowStore: s.DB.KeptRows()})
	s.t.Cleanup(service.Stop)
	options := server.Options{
		Studies: service, Accounts: s.DB.Accounts, Database: s.DB, PublicURL: "http://headroom.test", Version: "test",
		Log: slog.New(slog.NewJSONHandler(s.Log, nil)),
	}
	for _, c := range change {
		c(&options)
	}
	return must.Get(server.New(options))(s.t)
}

// Asking is an option: the service uses the store that wrap makes of the site's.
func Asking(t testing.TB, wrap func(study.Store) study.Store) func(*server.Options) {
	return func(o *server.Options) {
		o.Studies = study.NewService(wrap(o.Database.(*db.DB).Studies), study.Options{})
		t.Cleanup(o.Studies.Stop)
	}
}

// Another returns another server of the same site, with nothing cached.
func (s *Site) Another() *Site { return s.At(httptest.NewServer(s.Server())) }

// At returns the site as that server answers for it.
func (s *Site) At(web *httptest.Server) *Site {
	s.t.Cleanup(web.Close)
	there := *s
	there.URL = web.URL
	return &there
}

// Invite makes a link for somebody new directly in the store.
func (s *Site) Invite(name string, role account.Role) (secret string) {
	s.t.Helper()
	_, secret, err := s.DB.Accounts.CreateInvite(s.t.Context(), account.Identity{Name: "Setup", Role: account.Admin}, account.NewInvite{Name: name, Role: role})
	must.Do(s.t, err)
	return secret
}

// Token makes an API token directly in the store. studyID "" stands for every study.
func (s *Site) Token(role account.Role, studyID string) string {
	s.t.Helper()
	var limited *string
	if studyID != "" {
		limited = &studyID
	}
	for name := "Test " + string(role); ; name = "Test " + string(role) + " " + rand.Text()[:6] {
		_, secret, err := s.DB.Accounts.CreateToken(s.t.Context(), account.Identity{Name: "Setup", Role: account.Admin},
			account.NewToken{Name: name, Role: role, StudyID: limited})
		if _, ok := errors.AsType[*account.Invalid](err); ok {
			continue
		}
		must.Do(s.t, err)
		return secret
	}
}

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	t      testing.TB
}

// Call makes a request as token (none when empty). body is text, or a value to send as JSON, or
// nil. headers come in pairs.
func (s *Site) Call(method, path, token string, body any, headers ...string) Answer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), testwait.Timeout)
	defer cancel()
	response := must.Get(NoRedirects.Do(s.Request(ctx, method, path, token, body, headers...)))(s.t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(s.t)
	out := Answer{response.StatusCode, response.Header, text, s.t}
	if s.Document != nil {
		s.Document.check(method, path, out)
	}
	return out
}

// NoRedirects is a client that does not follow redirects and asks for uncompressed answers.
var NoRedirects = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableCompression: true},
}

// Request is what Call sends.
func (s *Site) Request(ctx context.Context, method, path, token string, body any, headers ...string) *http.Request {
	s.t.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	case []byte:
		reader = bytes.NewReader(body)
	default:
		reader = bytes.NewReader(must.Get(json.Marshal(body))(s.t))
	}
	request := must.Get(http.NewRequestWithContext(ctx, method, s.URL+path, reader))(s.t)
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

// Want fails the test unless the status is as given.
func (a Answer) Want(status int) Answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	return a
}

// JSON decodes the body.
func (a Answer) JSON() (out map[string]any) {
	a.t.Helper()
	a.Into(&out)
	return out
}

// Into decodes the body into what value points to.
func (a Answer) Into(value any) Answer {
	a.t.Helper()
	if err := json.Unmarshal(a.Body, value); err != nil {
		a.t.Fatalf("%v in %s", err, a.Body)
	}
	return a
}

// Faults returns the problem's faults, location → message. It fails the test unless the answer is a
// problem of this status with a fault at each of the places named.
func (a Answer) Faults(status int, at ...string) map[string]string {
	a.t.Helper()
	a.Want(status)
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Fatalf("Content-Type %q: %s", got, a.Body)
	}
	var p problem.Problem
	if err := json.Unmarshal(a.Body, &p); err != nil || p.Status != status || p.Title == "" || p.Detail == "" {
		a.t.Fatalf("not a problem: %s (%v)", a.Body, err)
	}
	out := map[string]string{}
	for _, f := range p.Errors {
		out[f.Field] = f.Message
	}
	for _, place := range at {
		if out[place] == "" {
			a.t.Errorf("nothing is wrong at %s: %v", place, out)
		}
	}
	return out
}

// Says fails the test where a text lacks some words.
func Says(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, one := range words {
		if !strings.Contains(text, one) {
			t.Errorf("it lacks %q: %.400s", one, text)
		}
	}
}

// Lacks fails the test where a text has some of the words.
func Lacks(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, one := range words {
		if at := strings.Index(text, one); at >= 0 {
			t.Errorf("it has %q: …%.400s", one, text[max(0, at-100):])
		}
	}
}

// Says fails the test where the answer lacks some words.
func (a Answer) Says(words ...string) Answer {
	a.t.Helper()
	Says(a.t, string(a.Body), words...)
	return a
}

// Lacks fails the test where the answer has some of the words.
func (a Answer) Lacks(words ...string) Answer {
	a.t.Helper()
	Lacks(a.t, string(a.Body), words...)
	return a
}

// At follows a path of names and indices through the body; what is not there at all is not null.
func (a Answer) At(path string) any {
	a.t.Helper()
	return At(a.t, a.JSON(), path)
}

// At follows a path of names and indices through JSON.
func At(t testing.TB, value any, path string) any {
	t.Helper()
	for _, step := range strings.Split(path, "/") {
		switch v := value.(type) {
		case map[string]any:
			next, there := v[step]
			if !there {
				t.Fatalf("%s: there is no %s", path, step)
			}
			value = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				t.Fatalf("%s: there is no item %s", path, step)
			}
			value = v[i]
		default:
			t.Fatalf("%s: %v has no %s", path, value, step)
		}
	}
	return value
}

// Has fails the test unless the body has the values, each after its path. A last name that is
// missing counts as null.
func (a Answer) Has(wants ...any) Answer {
	a.t.Helper()
	body := a.JSON()
	for i := 0; i < len(wants); i += 2 {
		path, want := wants[i].(string), wants[i+1]
		if n, is := want.(int); is {
			want = float64(n)
		}
		within, last := any(body), path
		if at := strings.LastIndexByte(path, '/'); at >= 0 {
			within, last = At(a.t, body, path[:at]), path[at+1:]
		}
		got := any(nil)
		if object, is := within.(map[string]any); !is || object[last] != nil {
			got = At(a.t, within, last)
		}
		if !reflect.DeepEqual(got, want) {
			a.t.Errorf("%s is %v, want %v: %.400s", path, got, want, a.Body)
		}
	}
	return a
}

// Same fails the test unless got is as wanted.
func Same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Page is what the site's admin sees in a browser.
func (s *Site) Page(path string) string {
	s.t.Helper()
	return string(s.Call("GET", path, s.Admin, nil, "Accept", "text/html").Want(http.StatusOK).Body)
}

// API makes an admin's request to the API.
func (s *Site) API(method, path string, body any, headers ...string) Answer {
	s.t.Helper()
	return s.Call(method, "/api/v1"+path, s.Admin, body, headers...)
}

// Screen is a small study: two parameters and a limit.
const Screen = `{"name": "Buffer screen",
	"parameters": [{"name": "temperature", "type": "real", "low": 20, "high": 60, "unit": "°C"}, {"name": "catalyst", "type": "categorical", "choices": ["A", "B"]}],
	"objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}],
	"algorithm": {"name": "rpol-ucb", "horizon": 20}, "seed": 7}`

// NewStudy makes a study and returns its id.
func (s *Site) NewStudy(definition string) string {
	s.t.Helper()
	id, _ := s.API("POST", "/studies", definition).Want(201).JSON()["id"].(string)
	if id == "" {
		s.t.Fatal("no id")
	}
	return id
}

// Share makes a share link and returns its secret.
func (s *Site) Share(id string) string {
	s.t.Helper()
	address, _ := s.API("POST", "/studies/"+id+"/shares", `{"name": "Reviewer"}`).Want(http.StatusCreated).JSON()["url"].(string)
	_, secret, found := strings.Cut(address, "http://headroom.test/share/")
	if !found {
		s.t.Fatalf("share at %q", address)
	}
	return secret
}

// Document is the OpenAPI document that sites serve, by which all their answers are checked.
type Document struct {
	t      testing.TB
	router chi.Router
	*described
}

// described is what the sites of a test binary, which have the same routes, share: the document as
// the first of them served it.
type described struct {
	tree     map[string]any
	mu       sync.Mutex // of the compiler, which keeps what it has compiled
	compiler *jsonschema.Compiler
}

var first struct {
	sync.Mutex
	*described
}

func newDocument(t testing.TB, s *Site) *Document {
	t.Helper()
	first.Lock()
	defer first.Unlock()
	if first.described == nil {
		text := s.Call("GET", "/api/v1/openapi.json", s.Admin, nil).Want(http.StatusOK).Body
		tree := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
		compiler := jsonschema.NewCompiler()
		must.Do(t, compiler.AddResource("openapi.json", tree))
		first.described = &described{tree: tree.(map[string]any), compiler: compiler}
	}
	return &Document{t, s.Router, first.described}
}

// At returns the object that the keys lead to, the whole document without keys.
func (d *Document) At(keys ...string) map[string]any {
	node := d.tree
	for _, key := range keys {
		next, ok := node[key].(map[string]any)
		if !ok {
			d.t.Errorf("the document has nothing at %v", keys)
			return map[string]any{"responses": map[string]any{}}
		}
		node = next
	}
	return node
}

// Schema compiles the schema that the keys lead to.
func (d *Document) Schema(keys ...string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	pointer := "openapi.json#"
	for _, key := range keys {
		pointer += "/" + escaped.Replace(key)
	}
	return d.compiler.Compile(pointer)
}

var escaped = strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")

// check checks an answer against the document.
func (d *Document) check(method, target string, a Answer) {
	d.t.Helper()
	path, _, _ := strings.Cut(target, "?")
	route := chi.NewRouteContext()
	if !strings.HasPrefix(path, "/api/") || a.Header.Get("Content-Encoding") != "" || !d.router.Match(route, method, path) {
		return
	}
	pattern, verb, status := route.RoutePattern(), strings.ToLower(method), strconv.Itoa(a.Status)
	success, told := d.At("paths", pattern, verb)["responses"].(map[string]any)[status].(map[string]any)
	if !told && a.Status < http.StatusBadRequest {
		d.t.Errorf("%s %s answers %d, which the document does not say", method, pattern, a.Status)
		return
	}
	if !told {
		d.validate(a, "components", "responses", "Problem", "content", "application/problem+json", "schema")
		return
	}
	content, _ := success["content"].(map[string]any)
	media, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if len(a.Body) == 0 && content == nil {
		return
	}
	if content[media] == nil {
		d.t.Errorf("%s %s answers %s, which the document does not say", method, pattern, media)
		return
	}
	if media == "application/json" {
		d.validate(a, "paths", pattern, verb, "responses", status, "content", media, "schema")
	}
}

func (d *Document) validate(a Answer, keys ...string) {
	d.t.Helper()
	schema := must.Get(d.Schema(keys...))(d.t)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body))
	if err != nil {
		d.t.Errorf("%v in %s", err, a.Body)
		return
	}
	if err := schema.Validate(value); err != nil {
		d.t.Errorf("%v\nin %s", err, a.Body)
	}
}
