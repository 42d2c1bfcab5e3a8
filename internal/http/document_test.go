package http_test

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"headroom/internal/http/sitetest"
)

// TestDocumentMatchesRouter: every route of the API is in the document and nothing else is.
func TestDocumentMatchesRouter(t *testing.T) {
	s := sitetest.Beside(t)
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
	s := sitetest.Beside(t)
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

// clientsDocument is what the clients are generated from.
const clientsDocument = "../../clients/openapi.json"

// TestClientsDocumentIsTheServers: the clients in this repository are made from the document as the server gives it now.
func TestClientsDocumentIsTheServers(t *testing.T) {
	s := sitetest.Beside(t)
	tree := s.API("GET", "/openapi.json?version=3.0", nil).Want(200).JSON()
	delete(tree, "servers") // whoever uses a client says where the server is
	tree["info"].(map[string]any)["version"] = "1"
	withoutExamples(tree)
	text, err := json.MarshalIndent(tree, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(clientsDocument, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	stored, err := os.ReadFile(clientsDocument)
	if err != nil {
		t.Fatal(err)
	}
	if string(stored) != string(text) {
		t.Error("clients/openapi.json is not what the server says: see clients/README.md")
	}
}

func withoutExamples(node any) {
	switch node := node.(type) {
	case map[string]any:
		delete(node, "example")
		for _, child := range node {
			withoutExamples(child)
		}
	case []any:
		for _, child := range node {
			withoutExamples(child)
		}
	}
}
