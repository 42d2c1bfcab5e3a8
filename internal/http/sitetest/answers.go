package sitetest

import (
	"bytes"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is the OpenAPI document that sites serve, against which all their answers are held.
type Document struct {
	t      testing.TB
	router chi.Router
	*described
}

// described is what all sites of a test binary, which have the same routes, share of it, as the
// first of them served it.
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
		tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		Must(t, err)
		compiler := jsonschema.NewCompiler()
		Must(t, compiler.AddResource("openapi.json", tree))
		first.described = &described{tree: tree.(map[string]any), compiler: compiler}
	}
	return &Document{t, s.Router, first.described}
}

// Tree is the whole document.
func (d *Document) Tree() map[string]any { return d.tree }

// At is the object that the keys lead to.
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

// check holds an answer against the document, whatever it is.
func (d *Document) check(method, target string, a Answer) {
	d.t.Helper()
	path, _, _ := strings.Cut(target, "?")
	route := chi.NewRouteContext()
	if !strings.HasPrefix(path, "/api/") || a.Status == http.StatusNotModified || a.Header.Get("Content-Encoding") != "" || !d.router.Match(route, method, path) {
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
	schema, err := d.Schema(keys...)
	Must(d.t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body))
	if err != nil {
		d.t.Errorf("%v in %s", err, a.Body)
		return
	}
	if err := schema.Validate(value); err != nil {
		d.t.Errorf("%v\nin %s", err, a.Body)
	}
}
