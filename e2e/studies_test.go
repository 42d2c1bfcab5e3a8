package e2e

import (
	"fmt"
	"math"
	"testing"
)

// buffer is the study of most journeys: two settings, one limit.
func buffer(name string) map[string]any {
	return map[string]any{
		"name":        name,
		"description": "Which **buffer** gives the best yield? See [the plan](https://example.org/plan).",
		"parameters": []map[string]any{
			{"name": "temperature", "type": "real", "low": 20, "high": 60, "unit": "°C"},
			{"name": "cycles", "type": "integer", "low": 1, "high": 12},
		},
		"objective":        map[string]any{"metric": "yield", "direction": "maximize", "unit": "%"},
		"constraints":      []map[string]any{{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}},
		"recorded_metrics": []map[string]any{{"metric": "colour"}},
		"seed":             7,
	}
}

type trial struct {
	Number     int            `json:"number"`
	Parameters map[string]any `json:"parameters"`
}

// makeStudy makes a study through the API.
func (s *server) makeStudy(t *testing.T, definition map[string]any) string {
	t.Helper()
	var made struct {
		ID string `json:"id"`
	}
	s.api(t, "POST", "/studies", definition, &made)
	return made.ID
}

// ask asks for so many trials.
func (s *server) ask(t *testing.T, id string, count int) {
	t.Helper()
	s.api(t, "POST", "/studies/"+id+"/ask", map[string]any{"count": count}, nil)
}

// tell tells what a trial brought.
func (s *server) tell(t *testing.T, id string, number int, metrics map[string]any) {
	t.Helper()
	s.api(t, "POST", fmt.Sprintf("/studies/%s/trials/%d/tell", id, number), map[string]any{"metrics": metrics}, nil)
}

// play asks for n trials and tells what a made-up laboratory measures.
func (s *server) play(t *testing.T, id string, n int) {
	t.Helper()
	for range n {
		var asked struct {
			Trials []trial `json:"trials"`
		}
		s.api(t, "POST", "/studies/"+id+"/ask", map[string]any{"count": 1}, &asked)
		chosen := asked.Trials[0]
		temperature, cycles := chosen.Parameters["temperature"].(float64), chosen.Parameters["cycles"].(float64)
		yield, impurity := laboratory(temperature, cycles)
		s.tell(t, id, chosen.Number, map[string]any{"yield": yield, "impurity": impurity})
	}
}

// laboratory is smooth, with its best yield where the impurity is too high.
func laboratory(temperature, cycles float64) (yield, impurity float64) {
	yield = 85 - 0.03*(temperature-48)*(temperature-48) - 0.8*(cycles-7)*(cycles-7)
	impurity = 0.15 + 0.5*math.Pow((temperature-20)/40, 2) + 0.02*cycles
	return math.Round(yield*10) / 10, math.Round(impurity*1000) / 1000
}
