package api_test

import (
	"encoding/json"
	"testing"

	"headroom/internal/http/sitetest"
)

func TestReferencePages(t *testing.T) {
	s := sitetest.Beside(t)
	docs := s.API("GET", "/docs", nil).Want(200)
	page := string(docs.Body)
	for _, sign := range []string{"POST /api/v1/studies/{id}/ask", "Idempotency-Key", "/static/app.css?v=", "additionalProperties"} {
		sitetest.Says(t, page, sign)
	}
	sitetest.Lacks(t, page, "<script", "style=", `\u003c`, "src=\"http", "href=\"http", "url(", " onclick")
	list := s.API("GET", "/algorithms", nil).Want(200)
	var algorithms struct {
		Algorithms []struct {
			Name, Source, Feedback string
			Settings               []struct {
				Name, Type, Meaning string
				Default             any
				DefaultMeans        string `json:"default_means"`
			}
		}
	}
	if err := json.Unmarshal(list.Body, &algorithms); err != nil || len(algorithms.Algorithms) == 0 {
		t.Fatalf("%v: %s", err, list.Body)
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
