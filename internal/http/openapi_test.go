package server

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"headroom/internal/study"
	"headroom/internal/study/design"
)

// answerCheck holds every answer of the API against the schema that the served OpenAPI document has for it.
type answerCheck struct {
	t        testing.TB
	router   chi.Router
	document map[string]any
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	seen     map[string]bool // operations whose success was checked
}

func newAnswerCheck(t testing.TB, s *site) *answerCheck {
	t.Helper()
	text := s.call("GET", "/api/v1/openapi.json", s.admin, nil).want(200).body
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	return &answerCheck{t: t, router: s.router, document: document.(map[string]any), compiler: compiler, seen: map[string]bool{}}
}

// check validates an answer, whatever it is.
func (c *answerCheck) check(method, target string, a answer) {
	c.t.Helper()
	path, _, _ := strings.Cut(target, "?")
	route := chi.NewRouteContext()
	if !strings.HasPrefix(path, "/api/") || a.status == http.StatusNotModified || a.header.Get("Content-Encoding") != "" || !c.router.Match(route, method, path) {
		return
	}
	pattern := route.RoutePattern()
	key := strconv.Itoa(a.status)
	operation := c.at("paths", pattern, strings.ToLower(method))
	if operation["responses"].(map[string]any)[key] == nil {
		if a.status < 400 {
			c.t.Errorf("%s %s answers %d, which the document does not say", method, pattern, a.status)
			return
		}
		c.validate("#/components/responses/Problem/content/"+escape("application/problem+json")+"/schema", a)
		return
	}
	c.mu.Lock()
	c.seen[method+" "+pattern] = true
	c.mu.Unlock()
	content, _ := operation["responses"].(map[string]any)[key].(map[string]any)["content"].(map[string]any)
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	if len(a.body) == 0 && content == nil {
		return
	}
	if content[media] == nil {
		c.t.Errorf("%s %s answers %s, which the document does not say", method, pattern, media)
		return
	}
	if media == "application/json" {
		c.validate("#/paths/"+escape(pattern)+"/"+strings.ToLower(method)+"/responses/"+key+"/content/"+escape(media)+"/schema", a)
	}
}

func escape(pointer string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(pointer, "~", "~0"), "/", "~1"), "{", "%7B"), "}", "%7D")
}

func (c *answerCheck) at(keys ...string) map[string]any {
	node := c.document
	for _, key := range keys {
		next, ok := node[key].(map[string]any)
		if !ok {
			c.t.Errorf("the document has nothing at %v", keys)
			return map[string]any{"responses": map[string]any{}}
		}
		node = next
	}
	return node
}

func (c *answerCheck) validate(pointer string, a answer) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	schema, err := c.compiler.Compile("openapi.json" + pointer)
	if err != nil {
		c.t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err != nil {
		c.t.Errorf("%v in %s", err, a.body)
		return
	}
	if err := schema.Validate(value); err != nil {
		c.t.Errorf("%v\nin %s", err, a.body)
	}
}

// TestDocumentMatchesRouter: every route of the API is in the document and nothing else is.
func TestDocumentMatchesRouter(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var served, documented []string
	err := chi.Walk(s.router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(pattern, "/api/") {
			served = append(served, method+" "+pattern)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pattern, operations := range s.answers.at("paths") {
		for method := range operations.(map[string]any) {
			documented = append(documented, strings.ToUpper(method)+" "+pattern)
		}
	}
	slices.Sort(served)
	slices.Sort(documented)
	if diff := cmp.Diff(served, documented); diff != "" {
		t.Error(diff)
	}
	if len(served) < 30 {
		t.Errorf("only %d routes were walked", len(served))
	}
}

// TestDocumentIsSound: its schemas compile, and every reference leads somewhere.
func TestDocumentIsSound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name := range s.answers.at("components", "schemas") {
		if _, err := s.answers.compiler.Compile("openapi.json#/components/schemas/" + name); err != nil {
			t.Error(err)
		}
	}
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case map[string]any:
			if ref, ok := node["$ref"].(string); ok {
				s.answers.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
			}
			for _, child := range node {
				walk(child)
			}
		case []any:
			for _, child := range node {
				walk(child)
			}
		}
	}
	walk(any(s.answers.document))
}

// TestRequestSchemasAgreeWithDecoder: what the decoder says about these bodies, the documented schema says too.
func TestRequestSchemasAgreeWithDecoder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bodies := []string{
		`{}`, `{"metrics": {}}`, `{"metrics": {"y": 1}, "note": null}`, `{"metrics": {"y": {"value": 1, "stddev": 2}}}`, `{"metrics": {"y": {"stddev": 2}}}`,
		`{"metrics": {"y": null}}`, `{"metrics": {"y": null}, "reason": "typo"}`, `{"reason": "r"}`, `{"points": [{"x": 1, "c": "A"}]}`, `{"points": [{"x": null}]}`, `{"points": {}}`,
		`{"count": 2}`, `{"count": 1.5}`, `{"Count": 2}`, `{"count": null}`, `{"trials": [{"number": 1, "metrics": {}}]}`, `{"trials": [{"metrics": {}}]}`,
		`{"algorithms": [{"name": "rpol-ucb", "settings": {"eta": 1}}]}`, screen, strings.Replace(screen, `"threshold": 0.5, `, "", 1), strings.Replace(screen, `"seed"`, `"sead"`, 1),
		`{"parameters": {"x": true}}`, `{"parameters": {"x": "A"}, "metrics": {"y": 1}}`,
	}
	for pattern, which := range map[string]reflect.Type{
		"/api/v1/studies": reflect.TypeFor[design.Definition](), "/api/v1/studies/{id}/ask": reflect.TypeFor[study.Ask](),
		"/api/v1/studies/{id}/trials/{number}/tell": reflect.TypeFor[tellRequest](), "/api/v1/studies/{id}/tell": reflect.TypeFor[bulkTellRequest](),
		"/api/v1/studies/{id}/trials": reflect.TypeFor[trialRequest](), "/api/v1/studies/{id}/trials/{number}/corrections": reflect.TypeFor[correctionRequest](),
		"/api/v1/studies/{id}/posterior": reflect.TypeFor[pointsRequest](), "/api/v1/studies/{id}/compare": reflect.TypeFor[compareRequest](),
	} {
		schema, err := s.answers.compiler.Compile("openapi.json#/paths/" + escape(pattern) + "/post/requestBody/content/" + escape("application/json") + "/schema")
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range bodies {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			decoded := decodeJSON([]byte(body), reflect.New(which).Interface())
			documented := schema.Validate(value)
			if (decoded == nil) != (documented == nil) {
				t.Errorf("%s with %s: decoder %v, schema %v", pattern, body, decoded, documented)
			}
		}
	}
}

func TestReferencePages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	docs := s.api("GET", "/docs", nil).want(200)
	page := string(docs.body)
	for _, sign := range []string{"POST /api/v1/studies/{id}/ask", "Idempotency-Key", "/static/app.css?v=", "additionalProperties"} {
		if !strings.Contains(page, sign) {
			t.Errorf("the page lacks %q", sign)
		}
	}
	for _, sign := range []string{"<script", "style=", "http://", "https://", " onclick"} {
		if strings.Contains(page, sign) {
			t.Errorf("the page has %q, which the content policy forbids or which is from elsewhere", sign)
		}
	}
	list := s.api("GET", "/algorithms", nil).want(200)
	var algorithms algorithmList
	if err := json.Unmarshal(list.body, &algorithms); err != nil || len(algorithms.Algorithms) == 0 {
		t.Fatalf("%v: %s", err, list.body)
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
