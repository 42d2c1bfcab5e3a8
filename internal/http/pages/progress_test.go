package pages_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"headroom/internal/http/sitetest"
	"headroom/internal/view/chart"
)

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

// TestAChangedLimitDoesNotRepaintHistory: each reading is judged by the limit of its time, which is drawn as it stood.
func TestAChangedLimitDoesNotRepaintHistory(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	curve(s, id, 10, 0, "yield", "impurity", "pressure")
	s.API("POST", "/studies/"+id+"/reconfigure", `{"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.3, "unit": "%"},
		{"metric": "pressure", "op": "<=", "threshold": 4, "unit": "bar"}], "reason": "new rule"}`).Want(200)
	s.API("POST", "/studies/"+id+"/trials/2/corrections", `{"metrics": {"yield": 61}, "reason": "typo"}`).Want(200)
	progress := page(s, "/studies/"+id+"/parts/progress")
	panels := drawingIn(t, progress, "chart-progress").Panels
	limit := panels.List[1].Limit
	if limit == nil || len(limit.Y) != 2 || limit.Y[0] != 0.5 || limit.Y[1] != 0.3 || limit.X[1] != 10.5 {
		t.Errorf("the limit is drawn as %+v", limit)
	}
	violated := 0
	for _, trace := range panels.List[1].Traces {
		if trace.Style == chart.Violated {
			violated = len(trace.X)
		}
	}
	if violated != 3 {
		t.Errorf("%d readings are marked as beyond the limit of their time, want 3", violated)
	}
	if !strings.Contains(progress, "limit broken in 3 of 10 trials") || !strings.Contains(progress, "Each is judged by the limit of its time; by today’s, 0.3\u202f%, it is 6.") {
		t.Errorf("the caption repaints history: %s", regexp.MustCompile(`(?s)<figcaption.*?</figcaption>`).FindString(progress))
	}
	kinds := map[string]string{}
	for _, event := range panels.Events {
		kinds[event.Kind] = event.Text
	}
	if !strings.Contains(kinds["change of a limit"], "limit of impurity from 0.5 to 0.3") || kinds["correction"] != "correction of trial 2 after trial 10: typo" {
		t.Errorf("marks on the axis: %v", kinds)
	}
}

// TestManyTrialsAreDrawnWithoutLying: every reading lies in a span or has a mark, and the page says so; the table comes when it is opened.
func TestManyTrialsAreDrawnWithoutLying(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(strings.Replace(screened, "log-cei", "random", 1))
	curve(s, id, 450, 0, "yield", "impurity", "pressure")
	progress := page(s, "/studies/"+id+"/parts/progress")
	if len(progress) > 100_000 {
		t.Errorf("%d bytes", len(progress))
	}
	panels := drawingIn(t, progress, "chart-progress").Panels.List
	var spans chart.Trace
	single, broken := 0, map[int]float64{}
	for _, trace := range panels[0].Traces {
		switch trace.Style {
		case chart.Spans:
			spans = trace
		case chart.Feasible, chart.Violated:
			single += len(trace.X)
		}
	}
	if single >= 450 || single < 60 {
		t.Errorf("%d single marks", single)
	}
	for _, trace := range panels[1].Traces {
		if trace.Style == chart.Violated {
			for i, x := range trace.X {
				broken[int(x.(float64))] = trace.Y[i].(float64)
			}
		}
	}
	const size = 3
	if len(spans.X) != 450/size {
		t.Fatalf("%d spans", len(spans.X))
	}
	for _, trial := range s.API("GET", "/studies/"+id+"/history", nil).Want(200).JSON()["rounds"].([]any) {
		i := (int(number(t, trial, "number")) - 1) / size
		if y := number(t, trial, "values", "yield"); y < spans.Low[i].(float64) || y > spans.High[i].(float64) {
			t.Fatalf("trial %v is outside its span", number(t, trial, "number"))
		}
		impurity := number(t, trial, "values", "impurity")
		if marked, there := broken[int(number(t, trial, "number"))]; there != (impurity > 0.5) || there && marked != impurity {
			t.Fatalf("trial %v, of impurity %v, is marked as one that broke its limit: %t at %v", number(t, trial, "number"), impurity, there, marked)
		}
	}
	if !strings.Contains(progress, "each grey bar spans all readings of 3 trials") {
		t.Error("the page does not say what is drawn")
	}
	if strings.Contains(progress, "<td") || !strings.Contains(page(s, "/studies/"+id+"/parts/progress-table"), "<td class=\"number\">"+strconv.Itoa(450)+"<") {
		t.Error("the table does not wait until it is opened")
	}
}

// TestQuietLimitsFold: a limit that was never near being broken is a sentence, not a chart.
func TestQuietLimitsFold(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	curve(s, id, 12, 0, "yield", "impurity", "pressure")
	progress := page(s, "/studies/"+id+"/parts/progress")
	for _, panel := range drawingIn(t, progress, "chart-progress").Panels.List {
		if strings.Contains(panel.Title, "Pressure") {
			t.Errorf("%s is drawn", panel.Title)
		}
	}
	if !strings.Contains(progress, "Pressure ≤ 4\u202fbar: never broken and far from it, so not drawn; the closest reading was 1.9167\u202fbar at trial 12, 2.08\u202fbar inside.") {
		t.Errorf("%s", progress[strings.Index(progress, "figcaption"):])
	}
	near, few := s.NewStudy(screened), s.NewStudy(screened)
	curve(s, near, 12, 1.65, "yield", "impurity", "pressure") // 0.43 bar inside, of readings that lie 0.92 bar apart
	curve(s, few, 4, 0, "yield", "impurity", "pressure")
	s.API("POST", "/studies/"+id+"/reconfigure", `{"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"},
		{"metric": "pressure", "op": "<=", "threshold": 1.5, "unit": "bar"}], "reason": "new rule"}`).Want(200)
	for what, id := range map[string]string{"near": near, "little read": few, "broken by today’s rule": id} {
		drawn := 0
		for _, panel := range drawingIn(t, page(s, "/studies/"+id+"/parts/progress"), "chart-progress").Panels.List {
			if panel.Limit != nil {
				drawn++
			}
		}
		if drawn != 2 {
			t.Errorf("%s: %d of 2 limits are drawn", what, drawn)
		}
	}
}

// TestLongTablesNameTheirNewestLines: of thousands of trials a table has the newest, says so, and says where the others are.
func TestLongTablesNameTheirNewestLines(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(strings.Replace(screened, "log-cei", "random", 1))
	curve(s, id, 600, 0, "yield", "impurity", "pressure")
	table := page(s, "/studies/"+id+"/parts/progress-table")
	if lines := strings.Count(table, "<tr>") - 1; lines != 500 {
		t.Errorf("%d lines", lines)
	}
	if !strings.Contains(table, "The newest 500 of 600 trials.") || !strings.Contains(table, "/export.csv") || !strings.Contains(table, ">600<") || strings.Contains(table, ">100<") {
		t.Errorf("the table does not say what it has: %.400s", table)
	}
	few := s.NewStudy(strings.Replace(screened, "log-cei", "random", 1))
	curve(s, few, 80, 0, "yield", "impurity", "pressure")
	if strings.Contains(page(s, "/studies/"+few+"/parts/progress-table"), "The newest") {
		t.Error("a whole table says that it is not")
	}
}

// TestProgressDrawsNothingOfThePrior: before a reading there is no chart, and before the model stands no estimate of its own beside what was read.
func TestProgressDrawsNothingOfThePrior(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	id := s.NewStudy(screened)
	s.API("POST", "/studies/"+id+"/ask", `{"count": 1}`).Want(201)
	if progress := page(s, "/studies/"+id+"/parts/progress"); !strings.Contains(progress, "Yield: no reading yet.") || strings.Contains(progress, "data-chart") {
		t.Errorf("with nothing read, progress is %.1500s", progress)
	}
	s.API("POST", "/studies/"+id+"/trials/1/tell", `{"metrics": {"impurity": 0.9}}`).Want(200)
	progress := page(s, "/studies/"+id+"/parts/progress")
	if strings.Contains(progress, "allowing for noise") || strings.Contains(progress, "model’s estimate of it") {
		t.Errorf("the prior alone is shown as an estimate: %.3000s", progress)
	}
	for _, said := range []string{"Yield: no reading yet.", "limit broken in 1 of 1 trial", "Cumulative violation of impurity"} {
		if !strings.Contains(progress, said) {
			t.Errorf("progress does not say %q: %.3000s", said, progress)
		}
	}
}

// TestManyLimitsStayCalm: of many limits, those that are broken most are drawn at once and the others stand folded, named with how often they were broken.
func TestManyLimitsStayCalm(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	limits, head := "", "x,yield"
	for j := range 6 {
		limits += fmt.Sprintf(`, {"metric": "impurity %d", "op": "<=", "threshold": 0.5}`, j+1)
		head += fmt.Sprintf(",impurity %d", j+1)
	}
	id := s.NewStudy(`{"name": "Six limits", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"},
		"constraints": [` + limits[2:] + `], "algorithm": {"name": "random", "horizon": 20}, "seed": 7}`)
	csv := head + "\n"
	for i := range 10 {
		csv += fmt.Sprintf("%g,%d", float64(i)/10, 50+i)
		for j := range 6 { // impurity j+1 is broken in the last j trials
			value := 0.49 - 0.04*float64(i%3)
			if i >= 10-j {
				value = 0.6
			}
			csv += fmt.Sprintf(",%g", value)
		}
		csv += "\n"
	}
	s.API("POST", "/studies/"+id+"/import", csv, "Content-Type", "text/csv").Want(200)
	progress := page(s, "/studies/"+id+"/parts/progress")
	titles := func(chart string) string {
		var list []string
		for _, panel := range drawingIn(t, progress, chart).Panels.List {
			list = append(list, panel.Title)
		}
		return strings.Join(list, "; ")
	}
	if got, want := titles("chart-progress"), "Yield; Impurity 4 and its limit; Cumulative violation of impurity 4; Impurity 5 and its limit; Cumulative violation of impurity 5; "+
		"Impurity 6 and its limit; Cumulative violation of impurity 6"; got != want {
		t.Errorf("drawn at once: %s", got)
	}
	if got, want := titles("chart-limits"), "Impurity 1 and its limit; Impurity 2 and its limit; Cumulative violation of impurity 2; Impurity 3 and its limit; Cumulative violation of impurity 3"; got != want {
		t.Errorf("folded away: %s", got)
	}
	if want := "3 more limits, broken less often: impurity 1 (never broken), impurity 2 (broken in 1 of 10) and impurity 3 (broken in 2 of 10)"; !strings.Contains(progress, want) {
		t.Errorf("the fold does not say %q", want)
	}
	for chart, words := range map[string][2]string{"chart-progress": {"Impurity 6: limit broken in 5 of 10 trials", "Impurity 2: limit broken"}, "chart-limits": {"Impurity 2: limit broken in 1 of 10 trials", "Impurity 6"}} {
		if caption := drawingIn(t, progress, chart).Caption; !strings.Contains(caption, words[0]) || strings.Contains(caption, words[1]) {
			t.Errorf("%s says %s", chart, caption)
		}
	}
}

// TestLegendsSpeakOfTheLimitsThereAre: none is spoken of where there is none, and a mark that keeps one of two limits is not called within every limit.
func TestLegendsSpeakOfTheLimitsThereAre(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t)
	free := s.NewStudy(`{"name": "No limit", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}], "objective": {"metric": "yield", "direction": "maximize"}, "algorithm": {"name": "random", "horizon": 20}, "seed": 7}`)
	s.API("POST", "/studies/"+free+"/import", "x,yield\n0.1,3\n0.5,4\n", "Content-Type", "text/csv").Want(200)
	s.API("POST", "/studies/"+free+"/ask", `{"count": 2}`).Want(201)
	s.API("POST", "/studies/"+free+"/trials/4/fail", `{"reason": "spilled"}`).Want(200)
	trials := page(s, "/studies/"+free+"/parts/trials")
	if strings.Contains(trials, "imit") || strings.Count(trials, "measured") != 2 || !regexp.MustCompile(`mark waiting(.|\n){1,200}waiting`).MatchString(trials) || !regexp.MustCompile(`mark unknown(.|\n){1,200}failed`).MatchString(trials) {
		t.Errorf("without a limit, the trials are %s", trials)
	}
	two := s.NewStudy(screened)
	curve(s, two, 10, 0, "yield", "impurity", "pressure")
	for id, want := range map[string]map[chart.Style]string{
		free: {chart.Feasible: "a reading"},
		two:  {chart.Feasible: "within limits", chart.Violated: "a limit broken"},
	} {
		progress := page(s, "/studies/"+id+"/parts/progress")
		for _, panel := range drawingIn(t, progress, "chart-progress").Panels.List {
			for _, trace := range panel.Traces {
				if name, marked := want[trace.Style]; marked && trace.Name != name {
					t.Errorf("%s: %q, want %q", panel.Title, trace.Name, name)
				}
				if id == free && len(trace.Text) > 0 && trace.Text[0] != "yield 3" {
					t.Errorf("over a reading it says %q", trace.Text[0])
				}
			}
		}
	}
}
