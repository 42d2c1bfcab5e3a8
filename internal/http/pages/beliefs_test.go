package pages_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
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

// chartIn is a chart of the page as it is drawn, with its legend.
func chartIn(t *testing.T, page, id string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<div class="plot" id="` + id + `.*?<figcaption`).FindString(page)
	if found == "" {
		t.Fatalf("no chart %s in %.400s", id, page)
	}
	return found
}

// TestParametersStandInOrderOfInfluence: the slices are sorted, the map opens on the first two, points fade, and a metric without a reading has no slice.
func TestParametersStandInOrderOfInfluence(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	at := influencedStudy(s)
	beliefs := page(s, at+"/parts/beliefs")
	slices := chartIn(t, beliefs, "chart-slices")
	along := regexp.MustCompile(`<div class="(?:title|axis)">[^<]*`).FindAllString(slices, -1)
	if got, want := strings.Join(along, " "), `<div class="title">Yield (%) <div class="axis">strong <div class="axis">weak <div class="axis">kind <div class="title">Impurity (%) <div class="axis">strong <div class="axis">weak <div class="axis">kind`; got != want {
		t.Fatalf("the cells are %s", got)
	}
	if !strings.Contains(beliefs, "Sorted by how much the expected yield changes from its lowest to its highest along each parameter") {
		t.Error("the order is not explained")
	}
	if !strings.Contains(beliefs, `<option value="strong" selected`) {
		t.Error("the map does not open on the most influential parameter")
	}
	first := slices[:strings.Index(slices, `class="axis"`)]
	faint, full := strings.Count(first, ` opacity="0.1"`)+strings.Count(first, ` opacity="0.2`), len(regexp.MustCompile(`<use href="[^"]*" x="[^"]*" y="[^"]*"/>`).FindAllString(first, -1))
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
	cells := chartIn(t, beliefs, "chart-map-")
	if rects := strings.Count(cells, "<rect"); strings.Contains(cells, "<image") || rects != 2*7+1 { // and the scale
		t.Errorf("%d cells", rects)
	}
	if smooth := chartIn(t, page(s, at+"/parts/beliefs?x=weak&y=strong"), "chart-map-"); strings.Count(smooth, "<image") != 1 || strings.Count(smooth, "<rect") != 1 {
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
	if !strings.Contains(beliefs, `data-name="other algorithms’ next"`) {
		t.Error("the map has no mark of them")
	}
	if strings.Contains(page(s, at+"/parts/beliefs"), "<dt>scbo</dt>") {
		t.Error("they are shown without being asked for")
	}
}
