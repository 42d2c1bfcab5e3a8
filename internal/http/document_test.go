package http_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"headroom/internal/http/sitetest"
)

// TestDocumentMatchesRouter: every route of the API is in the document and nothing else is.
func TestDocumentMatchesRouter(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	var served, documented []string
	err := chi.Walk(s.Router, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(pattern, "/api/") {
			served = append(served, method+" "+pattern)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pattern, operations := range s.Document.At("paths") {
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
	s := sitetest.New(t)
	for name := range s.Document.At("components", "schemas") {
		if _, err := s.Document.Schema("components", "schemas", name); err != nil {
			t.Error(err)
		}
	}
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case map[string]any:
			if ref, ok := node["$ref"].(string); ok {
				s.Document.At(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
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
	walk(any(s.Document.Tree()))
}
