package pages_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
	"headroom/internal/view/chart"
)

// influenced is a study in which y depends on the second parameter far more than on the first, and on a choice.
const influenced = `{"name": "Influence",
	"parameters": [{"name": "weak", "type": "real", "low": 0, "high": 1}, {"name": "strong", "type": "real", "low": 0, "high": 1}, {"name": "kind", "type": "categorical", "choices": ["A", "B"]}],
	"objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}, {"metric": "pressure", "op": "<=", "threshold": 4, "unit": "bar"}],
	"algorithm": {"name": "rpol-ucb", "horizon": 20}, "model": {"outputs": "raw"}, "seed": 7}`

func influencedStudy(s *sitetest.Site) string {
	id := s.NewStudy(influenced)
	csv := "weak,strong,kind,yield,impurity\n"
	for i := range 16 {
		weak, strong := float64(i%4)/3, float64(i/4)/3
		csv += fmt.Sprintf("%.3f,%.3f,%s,%.3f,%.3f\n", weak, strong, []string{"A", "B"}[(i+i/4)%2], 2*strong+0.1*weak, 0.1+0.2*weak)
	}
	s.API("POST", "/studies/"+id+"/import", csv, "Content-Type", "text/csv").Want(200)
	return "/studies/" + id
}

// drawingIn reads what a chart of the page is drawn from.
func drawingIn(t *testing.T, page, id string) chart.Drawing {
	t.Helper()
	found := regexp.MustCompile(`(?s)<script id="` + id + `-data" type="application/json">(.*?)</script>`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no chart %s in %.400s", id, page)
	}
	var drawing chart.Drawing
	if err := json.Unmarshal([]byte(found[1]), &drawing); err != nil {
		t.Fatal(err)
	}
	return drawing
}

// TestParametersStandInOrderOfInfluence: the slices are sorted, the map opens on the first two, points fade, and a metric without a reading has no slice.
func TestParametersStandInOrderOfInfluence(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	at := influencedStudy(s)
	beliefs := page(s, at+"/parts/beliefs")
	grid := drawingIn(t, beliefs, "chart-slices").Grid
	if len(grid.Cells) != 6 || grid.Cells[0].X.Title != "strong" || grid.Cells[3].Group != "impurity" {
		t.Fatalf("%d cells, the first along %q", len(grid.Cells), grid.Cells[0].X.Title)
	}
	if !strings.Contains(beliefs, "Sorted by how much the expected yield changes from its lowest to its highest along each parameter") {
		t.Error("the order is not explained")
	}
	if !strings.Contains(beliefs, `<option value="strong" selected`) {
		t.Error("the map does not open on the most influential parameter")
	}
	faint, full := 0, 0
	for _, trace := range grid.Cells[0].Traces {
		for _, seen := range trace.Fade {
			if seen < 0.5 {
				faint++
			}
			if seen > 0.9 {
				full++
			}
		}
	}
	if faint == 0 || full == 0 {
		t.Errorf("%d faint points, %d full ones", faint, full)
	}
	if strings.Contains(beliefs, "Pressure (bar)") || strings.Contains(beliefs, "hance within every limit 9") || !strings.Contains(beliefs, "Pressure is without a reading, so nothing is said of the limits.") {
		t.Error("something is said of pressure, which was never read")
	}
}

// TestChoicesAreAGridOfValues: nothing is drawn between choices, which have no order.
func TestChoicesAreAGridOfValues(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	at := influencedStudy(s)
	beliefs := page(s, at+"/parts/beliefs?x=kind&y=strong")
	start := strings.Index(beliefs, `class="plot" id="chart-map-`) + len(`class="plot" id="`)
	drawing := drawingIn(t, beliefs, beliefs[start:start+strings.Index(beliefs[start:], `"`)])
	surface := drawing.Surface
	if surface.Smooth || len(surface.X) != 2 || len(surface.Y) != 7 || len(surface.Cells) != 7 || len(drawing.X.Categories) != 2 || drawing.Y.Categories[0] == drawing.Y.Categories[6] {
		t.Errorf("%+v", surface)
	}
	if smooth := page(s, at+"/parts/beliefs?x=weak&y=strong"); !strings.Contains(smooth, `"smooth":true`) {
		t.Error("the map of two numbers is not smooth")
	}
}

// TestOtherAlgorithmsNext are named with what they would do, and marked on the map.
func TestOtherAlgorithmsNext(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	at := influencedStudy(s)
	beliefs := page(s, at+"/parts/beliefs?others=yes&x=weak&y=strong")
	for _, name := range []string{"log-cei", "ckb-ucb", "scbo"} {
		if !strings.Contains(beliefs, "<dt>"+name+"</dt>") {
			t.Errorf("%s is missing", name)
		}
	}
	if !strings.Contains(beliefs, string(`"style":"`+chart.Other+`"`)) {
		t.Error("the map has no mark of them")
	}
	if strings.Contains(page(s, at+"/parts/beliefs"), "<dt>scbo</dt>") {
		t.Error("they are shown without being asked for")
	}
}
