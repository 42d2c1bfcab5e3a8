package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"headroom/internal/must"
)

// state is a study in one of the states that pages have to cope with.
type state struct{ name, id string }

// states seeds a study in every one of them; those that take long are small here, and as large as
// HEADROOM_LONG_STUDY says on demand.
func (s *server) states(t *testing.T) []state {
	t.Helper()
	var list []state
	add := func(name string, definition map[string]any, then func(id string)) {
		id := s.makeStudy(t, definition)
		if then != nil {
			then(id)
		}
		list = append(list, state{name, id})
	}
	add("no-trials", buffer("No trials"), nil)
	add("nothing-feasible", buffer("Nothing feasible"), func(id string) {
		s.rows(t, id, "temperature,cycles,yield,impurity", 8, func(i int) string { return fmt.Sprintf("%d,%d,%d,%.2f", 25+4*i, 1+i, 40+3*i, 0.6+0.02*float64(i)) })
	})
	add("metric-missing", buffer("One metric missing"), func(id string) {
		s.rows(t, id, "temperature,cycles,yield", 6, func(i int) string { return fmt.Sprintf("%d,%d,%d", 25+5*i, 1+i, 40+3*i) })
	})
	add("everything-pending", buffer("Everything pending"), func(id string) { s.ask(t, id, 6) })
	add("failed", buffer("A failed trial"), func(id string) {
		s.play(t, id, 3)
		s.ask(t, id, 2)
		s.api(t, "POST", "/studies/"+id+"/trials/4/fail", map[string]any{"reason": "column broke"}, nil)
		s.api(t, "POST", "/studies/"+id+"/trials/5/abandon", map[string]any{"reason": "no time"}, nil)
	})
	add("corrected-and-refitted", buffer("Corrected in the past, refitted"), func(id string) {
		s.play(t, id, 7)
		s.api(t, "POST", "/studies/"+id+"/trials/2/corrections", map[string]any{"metrics": map[string]any{"yield": 12.5}, "reason": "typo"}, nil)
		s.api(t, "POST", "/studies/"+id+"/trials/3/exclude", map[string]any{"reason": "not calibrated"}, nil)
		s.api(t, "POST", "/studies/"+id+"/reconfigure", map[string]any{"constraints": []map[string]any{{"metric": "impurity", "op": "<=", "threshold": 0.45, "unit": "%"}}, "reason": "purer"}, nil)
		s.ask(t, id, 1) // fits again what was corrected
	})
	add("one-parameter", shaped("One parameter", 1, 1), func(id string) { s.told(t, id, 1, 1, 7) })
	add("twenty-parameters", shaped("Twenty parameters", 20, 1), func(id string) { s.told(t, id, 20, 1, 24) })
	add("eight-constraints", shaped("Eight constraints", 3, 8), func(id string) { s.told(t, id, 3, 8, 10) })
	add("choices-only", choicesOnly(), func(id string) {
		s.rows(t, id, "catalyst,solvent,yield,impurity", 8, func(i int) string {
			return fmt.Sprintf("%s,%s,%d,%.2f", string("ABC"[i%3]), []string{"water", "ethanol"}[i%2], 50+3*(i%5), 0.3+0.04*float64(i%6))
		})
	})
	add("paused", buffer("Paused"), func(id string) {
		s.play(t, id, 3)
		s.ask(t, id, 1)
		s.api(t, "PATCH", "/studies/"+id, map[string]any{"state": "paused"}, nil)
	})
	add("finished", buffer("Finished"), func(id string) {
		s.play(t, id, 6)
		s.api(t, "PATCH", "/studies/"+id, map[string]any{"state": "finished"}, nil)
	})
	trials, err := strconv.Atoi(os.Getenv("HEADROOM_LONG_STUDY"))
	if err != nil {
		trials = 1000
	}
	add("long", shaped(fmt.Sprintf("%d trials", trials), 2, 1), func(id string) { s.told(t, id, 2, 1, trials) })
	return list
}

// shaped is a study with that many parameters and limits.
func shaped(name string, parameters, limits int) map[string]any {
	var list, constraints []map[string]any
	for i := range parameters {
		list = append(list, map[string]any{"name": fmt.Sprintf("setting %d", i+1), "type": "real", "low": 0, "high": 10, "unit": "bar"})
	}
	for i := range limits {
		constraints = append(constraints, map[string]any{"metric": fmt.Sprintf("impurity %d", i+1), "op": "<=", "threshold": 0.6, "unit": "%"})
	}
	definition := map[string]any{"name": name, "parameters": list, "objective": map[string]any{"metric": "yield", "direction": "maximize", "unit": "%"}, "constraints": constraints, "seed": 7}
	if parameters == 2 { // a long one
		definition["model"] = map[string]any{"fit": "fixed"}
	}
	return definition
}

func choicesOnly() map[string]any {
	definition := buffer("Choices only")
	definition["parameters"] = []map[string]any{{"name": "catalyst", "type": "categorical", "choices": []string{"A", "B", "C"}}, {"name": "solvent", "type": "categorical", "choices": []string{"water", "ethanol"}}}
	return definition
}

// told imports rows of a study made by shaped: settings spread by a simple sequence, readings that
// follow from them.
func (s *server) told(t *testing.T, id string, parameters, limits, rows int) {
	t.Helper()
	var head []string
	for i := range parameters {
		head = append(head, fmt.Sprintf("setting %d", i+1))
	}
	head = append(head, "yield")
	for i := range limits {
		head = append(head, fmt.Sprintf("impurity %d", i+1))
	}
	s.rows(t, id, strings.Join(head, ","), rows, func(row int) string {
		var cells []string
		sum := 0.0
		for i := range parameters {
			x := float64((row*(7919+104729*i)+31*i)%1000) / 100
			sum += x / float64(parameters)
			cells = append(cells, fmt.Sprintf("%.2f", x))
		}
		cells = append(cells, fmt.Sprintf("%.2f", 80-1.5*(sum-6)*(sum-6)))
		for i := range limits {
			cells = append(cells, fmt.Sprintf("%.3f", 0.1+0.07*sum+0.02*float64(i)))
		}
		return strings.Join(cells, ",")
	})
}

// rows imports a table.
func (s *server) rows(t *testing.T, id, head string, count int, row func(i int) string) {
	t.Helper()
	table := []string{head}
	for i := range count {
		table = append(table, row(i))
	}
	request := must.Get(http.NewRequestWithContext(t.Context(), "POST", s.base+"/api/v1/studies/"+id+"/import", bytes.NewReader([]byte(strings.Join(table, "\n")+"\n"))))(t)
	request.Header.Set("Authorization", "Bearer "+adminToken)
	request.Header.Set("Content-Type", "text/csv")
	answer := must.Get(http.DefaultClient.Do(request))(t)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("importing %d rows: %s", count, answer.Status)
	}
}

// TestEveryState opens the study's page in every state, on a desk and on a phone, and where there
// is most to be seen the board and the report too: nothing on the console, nothing that axe objects
// to, no id twice, no page wider than its window. A viewer without rights is in TestRoles, every
// kind of page in every guise in TestEveryPageInEveryGuise.
func TestEveryState(t *testing.T) {
	t.Parallel()
	p := newTab(t, site.base)
	p.signIn(site.link(t))
	for _, state := range site.states(t) {
		study := "/studies/" + state.id
		p.size(1440, 1000)
		p.open(study)
		p.drawn()
		p.inspect(state.name)
		p.size(390, 844)
		p.inspect(state.name + "-phone")
		if state.name == "corrected-and-refitted" {
			p.open(study + "/board")
			p.drawn()
			p.inspect(state.name + "-board-phone")
			p.open(study + "/report")
			p.inspect(state.name + "-report-phone")
		}
	}
	p.size(1440, 1000)
}

// inspect audits a page that stands, and keeps its picture when HEADROOM_SCREENSHOTS is set.
func (p *tab) inspect(what string) {
	p.t.Helper()
	p.until("the page to rest", `!document.querySelector(".htmx-request")`)
	p.audit(what)
	p.keep("state-" + what)
}
