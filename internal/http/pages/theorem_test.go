package pages_test

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

// The theorem behind a bound stands on the page, on the board and in the report, each assumption with how it stands here, and in the API's description
// of the algorithm in the same words; what the API calls a guarantee is not called one where an assumption is known not to hold.
func TestTheTheoremBehindABound(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	proven := strings.Replace(sitetest.Screen, `"seed": 7`, `"model": {"outputs": "raw", "fit": "fixed"}, "seed": 7`, 1)
	proven = strings.Replace(proven, `"name": "rpol-ucb"`, `"name": "rpol-ucb", "settings": {"beta": {"schedule": "theory", "B": 2, "R": 0.5}}`, 1)
	study := "/studies/" + s.NewStudy(proven)
	for i := range 4 {
		s.API("POST", study+"/ask", nil).Want(201)
		s.API("POST", fmt.Sprintf("%s/trials/%d/tell", study, i+1), fmt.Sprintf(`{"metrics": {"yield": 0.%d, "impurity": 0.%d}}`, 6-i, 3+i)).Want(200)
	}
	var described map[string]any
	for _, a := range s.API("GET", "/algorithms", nil).Want(200).JSON()["algorithms"].([]any) {
		if a := a.(map[string]any); a["name"] == "rpol-ucb" {
			described = a["theorem"].(map[string]any)
		} else if a["name"] == "log-cei" && a["theorem"] != nil {
			t.Errorf("log-cei draws no bound, and has the theorem %v", a["theorem"])
		}
	}
	assumptions := described["assumptions"].([]any)
	if described["name"] != "Theorem 1 with Lemma 1" || described["year"] != 2022.0 || len(assumptions) != 16 {
		t.Fatalf("the API describes %v", described)
	}
	kind := s.API("GET", study+"/state", nil).Want(200).JSON()["violation"].(map[string]any)["impurity"].(map[string]any)["bound_kind"]
	if kind != "guarantee" {
		t.Fatalf("the bound is a %v", kind)
	}
	everywhere := func(want ...string) {
		t.Helper()
		for _, path := range []string{"?whole", "/board", "/report"} {
			page := html.UnescapeString(string(s.Call("GET", study+path, s.Admin, nil).Want(200).Body))
			if strings.Count(page, `id="theorem"`) != 1 {
				t.Errorf("%s has the theorem %d times", path, strings.Count(page, `id="theorem"`))
			}
			for _, text := range want {
				if !strings.Contains(page, text) {
					t.Errorf("%s does not have %q", path, text)
				}
			}
		}
	}
	everywhere("Theorem 1 with Lemma 1 (Guo, Zhu, Liu: Rectified Pessimistic-Optimistic Learning", "? cannot be known", "B is set to 2 for yield, 2 for impurity", "It holds if what cannot be known holds",
		"a guarantee, if what its theorem assumes holds", assumptions[0].(string), assumptions[15].(string))
	s.API("POST", study+"/trials/2/exclude", `{"reason": "spilled"}`).Want(200)
	everywhere("✗ not met", "No trial corrected, 1 taken out", "is no promise", "no guarantee here: 1 assumption of its theorem is not met")
}
