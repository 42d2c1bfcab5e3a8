package pages_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
)

// figureOf is the figure of the report whose title begins so.
func figureOf(t *testing.T, report, title string) string {
	t.Helper()
	for _, figure := range regexp.MustCompile(`(?s)<figure[ >].*?</figure>`).FindAllString(report, -1) {
		if strings.Contains(figure, ". "+title) {
			return figure
		}
	}
	t.Fatalf("no figure %s", title)
	return ""
}

// The report has the map of the page: colours, contours of the chance, readings, the star, and a table whose numbers are those of the API.
func TestTheReportHasTheMap(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	continuous := strings.Replace(sitetest.Screen, `{"name": "catalyst", "type": "categorical", "choices": ["A", "B"]}`, `{"name": "salt", "type": "real", "low": 0, "high": 10, "unit": "mM"}`, 1)
	study := "/studies/" + s.NewStudy(continuous)
	var rows strings.Builder
	rows.WriteString("temperature,salt,yield,impurity\n")
	for i := range 16 {
		x, y := float64(i%4), float64(i/4)
		fmt.Fprintf(&rows, "%g,%g,%g,%g\n", 22+10*x, 1+2.5*y, 60+8*x-x*x*x+y, 0.2+0.1*x+0.02*y)
	}
	s.API("POST", study+"/import", rows.String(), "Content-Type", "text/csv").Want(200)
	s.API("POST", study+"/ask", nil).Want(201)
	report := html.UnescapeString(string(s.Call("GET", study+"/report", s.Admin, nil).Want(200).Body))
	figure := figureOf(t, report, "Yield over ")
	for what, mark := range map[string]string{"the colours": `<image `, "the darkest colour": "#00204d", "the lightest": "#ffea46", "a dot": `fill="var(--feasible)"`, "a triangle": `fill="var(--violated)"`, "the star": `fill="var(--star)"`,
		"a dashed contour": `stroke="#111111" stroke-width="2" stroke-dasharray="8 5"`, "the white around marks": `stroke="var(--surface)"`} {
		if !strings.Contains(figure, mark) {
			t.Errorf("the map lacks %s", what)
		}
	}
	cell := regexp.MustCompile(`<td[^>]*>(.*?)</td>`)
	row := regexp.MustCompile(`(?s)<tbody>\s*<tr>.*?</tr>`).FindString(figure)
	head := regexp.MustCompile(`<th[^>]*class="number"[^>]*>\s*([^<\s]+)`).FindAllStringSubmatch(figure, -1)
	cells := cell.FindAllStringSubmatch(row, -1)
	if len(cells) != 7 || len(head) != 6 || !strings.Contains(figure, "temperature") {
		t.Fatalf("the map's table has %d columns and %d heads", len(cells), len(head))
	}
	across, up := "salt", "temperature"
	if strings.Contains(figure, "salt ↓") {
		across, up = up, across
	}
	asked := fmt.Sprintf(`{"points": [{%q: %s, %q: %s}]}`, across, head[3][1], up, cells[0][1])
	metrics := s.API("POST", study+"/posterior", asked).Want(200).JSON()["metrics"].(map[string]any)["yield"].(map[string]any)
	shown, err := strconv.ParseFloat(strings.Fields(cells[4][1])[0], 64)
	if mean := metrics["mean"].([]any)[0].(float64); err != nil || shown < mean-0.6 || shown > mean+0.6 {
		t.Errorf("the map has %s where the API has %v", cells[4][1], mean)
	}
	grid := "/studies/" + strings.TrimPrefix(reviewed(s), "/studies/")
	choices := html.UnescapeString(string(s.Call("GET", grid+"/report", s.Admin, nil).Want(200).Body))
	if figure := figureOf(t, choices, "Yield over "); strings.Contains(figure, "stroke-dasharray") || !strings.Contains(figure, "Choices have no order") {
		t.Error("contours are drawn between choices")
	}
}

// Charts over trials mark corrections, exclusions, changes of limits and refits; a trial that was taken out has a mark of its own.
func TestTheReportMarksWhatWasChanged(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := reviewed(s)
	s.API("POST", study+"/trials/3/include", `{"reason": "it stirred"}`).Want(200)
	s.API("POST", study+"/trials/4/exclude", `{"reason": "spilled"}`).Want(200)
	s.API("POST", study+"/reconfigure", `{"algorithm": {"name": "rpol-ucb", "horizon": 40}, "reason": "more time"}`).Want(200)
	s.API("POST", study+"/ask", nil).Want(201)
	report := string(s.Call("GET", study+"/report", s.Admin, nil).Want(200).Body)
	for _, title := range []string{"Yield (%)", "Impurity (%) and its limit", "Cumulative violation", "Price of breaking"} {
		figure := figureOf(t, report, title)
		for _, change := range []string{"correction", "exclusion", "inclusion", "change of a limit", "change of settings", "model refitted"} {
			if !regexp.MustCompile(`<g data-name="`+change+`"[^>]*><use `).MatchString(figure) || !strings.Contains(figure, "<span>"+change+"</span>") {
				t.Errorf("%s does not mark the %s, or does not say which mark that is", title, change)
			}
		}
	}
	for variable, there := range map[string]bool{"--feasible: #0072b2": true, "--surface: #ffffff": true, "--ink: #e9ecef": false} {
		if strings.Contains(report, variable) != there {
			t.Errorf("has the report %s? It must have the light colours and no others", variable)
		}
	}
	if !strings.Contains(report, "Calibration and drift") {
		t.Error("the report says nothing of drift")
	}
}

// The report is strict: every element is closed in its order, no attribute stands twice, and every time has its zone.
func TestTheReportIsStrict(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	study := reviewed(s)
	post(s, study+"/board/verify", nil).Want(303)
	report := string(s.Call("GET", study+"/report", s.Admin, nil).Want(200).Body)
	closed := regexp.MustCompile(`<(meta|br|hr|col)((?:\s[^>]*[^/>])?)>`).ReplaceAllString(strings.TrimPrefix(report, "<!doctype html>"), "<$1$2/>")
	decoder := xml.NewDecoder(strings.NewReader(closed))
	decoder.Entity = xml.HTMLEntity
	elements := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("after %d elements: %v: %.200s", elements, err, closed[max(0, int(decoder.InputOffset())-150):])
		}
		if start, is := token.(xml.StartElement); is {
			elements++
			seen := map[string]bool{}
			for _, a := range start.Attr {
				if key := a.Name.Space + ":" + a.Name.Local; seen[key] {
					t.Errorf("%s has %s twice", start.Name.Local, a.Name.Local)
				} else {
					seen[key] = true
				}
			}
		}
	}
	if elements < 200 {
		t.Errorf("only %d elements", elements)
	}
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(report, "\x00")
	zoned := regexp.MustCompile(`\d\d:\d\d(:\d\d)?( UTC)?`)
	for _, table := range regexp.MustCompile(`(?s)<table>.*?</table>`).FindAllString(report, -1) {
		if zoned.MatchString(table) && !strings.Contains(table, "(UTC)") {
			t.Errorf("a table has times without a zone: %.200s", table)
		}
		text = strings.Replace(text, regexp.MustCompile(`<[^>]*>`).ReplaceAllString(table, "\x00"), "", 1)
	}
	for _, at := range zoned.FindAllString(text, -1) {
		if !strings.HasSuffix(at, " UTC") {
			t.Errorf("the time %s has no zone", at)
		}
	}
}
