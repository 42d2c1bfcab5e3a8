package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"headroom/internal/db/dbtest"
	"headroom/internal/http/sitetest"
)

func TestTokens(t *testing.T) {
	s := sitetest.Beside(t)
	id := s.NewStudy(sitetest.Screen)
	made := s.API("POST", "/tokens", map[string]any{"name": "Robot", "role": "operator", "study_id": id, "expires_at": time.Now().Add(time.Hour)}, "Idempotency-Key", "k1").Want(201).JSON()
	secret, _ := made["token"].(string)
	if secret == "" || made["role"] != "operator" || made["study_id"] != id {
		t.Fatalf("made %v", made)
	}
	s.Call("GET", "/api/v1/studies/"+id, secret, nil).Want(200)
	again := s.API("POST", "/tokens", map[string]any{"name": "Robot", "role": "operator"}, "Idempotency-Key", "k1")
	again.Want(422)
	text := s.API("GET", "/tokens", nil).Want(200)
	text.Lacks(secret)
	s.API("DELETE", "/tokens/"+made["id"].(string), nil).Want(204)
	s.Call("GET", "/api/v1/studies/"+id, secret, nil).Want(401)
	s.API("DELETE", "/tokens/none", nil).Want(404)
	for body, at := range map[string]string{
		`{"name": "", "role": "viewer"}`: "body.name", `{"name": "a", "role": "king"}`: "body.role", `{"name": "a", "role": "viewer", "study_id": "none"}`: "body.study_id",
		`{"name": "a", "role": "viewer", "expires_at": "2020-01-01T00:00:00Z"}`: "body.expires_at",
	} {
		if faults := s.API("POST", "/tokens", body).Faults(422); faults[at] == "" || len(faults) != 1 {
			t.Errorf("%s: %v", body, faults)
		}
	}
}

func TestRepeatedTokenCreationKeepsTheSecret(t *testing.T) {
	s := sitetest.Beside(t)
	body := `{"name": "Robot", "role": "viewer"}`
	first := s.API("POST", "/tokens", body, "Idempotency-Key", "k").Want(201).JSON()
	again := s.API("POST", "/tokens", body, "Idempotency-Key", "k").Want(201).JSON()
	if first["id"] != again["id"] || first["token"] == nil || again["token"] != nil {
		t.Errorf("first %v, again %v", first, again)
	}
	if tokens := s.API("GET", "/tokens", nil).JSON()["tokens"].([]any); len(tokens) != 2 { // and the admin's
		t.Errorf("%d tokens", len(tokens))
	}
}

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

func TestMain(m *testing.M) { dbtest.Main(m) }
