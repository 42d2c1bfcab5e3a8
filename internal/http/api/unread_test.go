package api_test

import (
	"fmt"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

// at follows a path of names and indices through JSON; what is not there at all is not null.
func at(t *testing.T, value any, path string) any {
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
			var i int
			fmt.Sscan(step, &i)
			if i >= len(v) {
				t.Fatalf("%s: there is no item %s", path, step)
			}
			value = v[i]
		default:
			t.Fatalf("%s: %v has no %s", path, value, step)
		}
	}
	return value
}

// TestWhatWasNeverReadIsNull: of a metric without a single reading there is no number anywhere, nor is there one of the chance to keep a limit on it. Once it is
// read there are both.
func TestWhatWasNeverReadIsNull(t *testing.T) {
	t.Parallel()
	for name, algorithm := range map[string]string{"paper's": `"algorithm": {"name": "rpol-ucb", "horizon": 20}`, "default": `"algorithm": {"name": "log-cei", "horizon": 20}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sitetest.New(t)
			study := "/studies/" + s.NewStudy(strings.Replace(sitetest.Screen, `"algorithm": {"name": "rpol-ucb", "horizon": 20}`, algorithm, 1))
			s.API("POST", study+"/import", "temperature,catalyst,yield\n30,A,71\n35,A,80\n50,B,60\n45,B,66\n25,A,70\n55,B,58\n", "Content-Type", "text/csv").Want(200)
			look := func() map[string]any {
				asked := s.API("POST", study+"/ask", `{}`).Want(201).JSON()
				events := s.API("GET", study+"/ledger?limit=1000", nil).Want(200).JSON()["events"].([]any)
				return map[string]any{
					"trial":     at(t, asked, "trials/0"),
					"stored":    at(t, events[len(events)-1], "data"),
					"state":     s.API("GET", study+"/state", nil).Want(200).JSON(),
					"posterior": s.API("POST", study+"/posterior", `{"points": [{"temperature": 40, "catalyst": "A"}, {"temperature": 41, "catalyst": "B"}]}`).Want(200).JSON(),
					"history":   s.API("GET", study+"/history", nil).Want(200).JSON(),
				}
			}
			ofMetric := []string{"trial/decision/mean/%s", "trial/decision/sd/%s", "stored/decision/mean/%s", "stored/decision/sd/%s",
				"posterior/metrics/%s/mean/1", "posterior/metrics/%s/sd/1", "posterior/metrics/%s/lower/0", "posterior/metrics/%s/upper/0", "posterior/metrics/%s/lower95/1", "posterior/metrics/%s/upper95/1",
				"history/rounds/5/ahead/%s"}
			ofLimits := []string{"trial/decision/feasibility_probability", "stored/decision/feasibility_probability", "posterior/feasibility_probability/0", "posterior/feasibility_probability/1",
				"state/violation/impurity/estimated", "history/rounds/5/violation/impurity/estimated", "state/recommendation"}
			before := look()
			for _, path := range ofMetric {
				if got := at(t, before, fmt.Sprintf(path, "impurity")); got != nil {
					t.Errorf("%s is %v", fmt.Sprintf(path, "impurity"), got)
				}
				if at(t, before, fmt.Sprintf(path, "yield")) == nil {
					t.Errorf("%s is null, and it was read", fmt.Sprintf(path, "yield"))
				}
			}
			for _, path := range ofLimits {
				if got := at(t, before, path); got != nil {
					t.Errorf("%s is %v", path, got)
				}
			}
			if got := at(t, before, "state/undecided"); got != nil {
				t.Errorf("state/undecided is %v", got)
			}
			because := s.API("POST", study+"/compare", `{"algorithms": [{"name": "cei"}, {"name": "rpol-ucb"}]}`).Want(200).JSON()
			for i := range 2 {
				sitetest.Lacks(t, at(t, because, fmt.Sprintf("choices/%d/because", i)).(string), "chance to stay within", "impurity 0")
			}
			for i, impurity := range []float64{0.3, 0.31, 0.2, 0.25, 0.28, 0.33} {
				s.API("POST", fmt.Sprintf("%s/trials/%d/tell", study, i+1), fmt.Sprintf(`{"metrics": {"impurity": %g}}`, impurity)).Want(200)
			}
			after := look()
			for _, path := range append(ofLimits, ofMetric...) {
				if strings.Contains(path, "%s") {
					path = fmt.Sprintf(path, "impurity")
				}
				if at(t, after, path) == nil {
					t.Errorf("%s stays null after impurity was read", path)
				}
			}
			if verified := s.API("POST", study+"/verify", `{}`).Want(200).JSON(); verified["ok"] != true {
				t.Errorf("%v", verified)
			}
		})
	}
}
