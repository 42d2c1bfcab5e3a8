package view

import (
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// TestTheReportDrawsThePagesCharts: every panel and slice of the page is a figure, which says what the page says of it and what its lines are; limits that
// the page only names are drawn.
func TestTheReportDrawsThePagesCharts(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(12, 0, "yield", "impurity", "pressure")
	b.limit(0, 0.45)
	b.end(ledger.Excluded, 3)
	b.fit()
	v := b.facts(8)
	along := study.Slice{Parameter: "x", Metrics: map[string]study.Band{}}
	for i := range 5 {
		along.At = append(along.At, design.NumberValue(float64(i)/4))
	}
	for _, metric := range []string{"yield", "impurity", "pressure"} {
		along.Metrics[metric] = study.Band{Mean: []float64{1, 2, 3, 2, 1}, SD: []float64{1, 1, 1, 1, 1}, Lower95: []float64{0, 1, 2, 1, 0}, Upper95: []float64{2, 3, 4, 3, 2}}
	}
	along.Feasible = []float64{1, 1, 0.5, 0.2, 0}
	v.Slices = []study.Slice{along}
	past := v.NewPast()
	for _, event := range b.events {
		if err := past.Take(event); err != nil {
			t.Fatal(err)
		}
	}
	report, figures, err := v.Report(past)
	if err != nil {
		t.Fatal(err)
	}
	var titles, captions []string
	drawings := ""
	for i, f := range figures {
		titles, captions = append(titles, f.Title), append(captions, f.Caption)
		drawn := f.Drawing.HTML("chart", "title")
		for _, change := range []string{"change of a limit", "exclusion", "model refitted"} {
			if strings.Contains(drawn, `data-name="`+change+`"`) != (i < 4) {
				t.Errorf("%s: is a %s marked? It must be in the charts over trials alone", f.Title, change)
			}
		}
		drawings += drawn
	}
	want := []string{"Yield (%)", "Impurity (%) and its limit", "Cumulative violation of impurity (%)", "Pressure (bar) and its limit", "Yield (%) along x", "Impurity (%) along x", "Pressure (bar) along x"}
	if !slices.Equal(titles, want) {
		t.Errorf("the figures are %q", titles)
	}
	all := strings.Join(captions, "\n")
	for _, note := range v.Progress().Chart.Notes {
		if !strings.Contains(note, "not drawn") && !strings.Contains(all, note) {
			t.Errorf("no figure says %q", note)
		}
	}
	says(t, "the captions", all, []string{"held as in trial 8"}, nil)
	says(t, "the legends", drawings, []string{">best within today’s limits so far<", ">violation so far (hard)<", ">with margin paying back (soft)<", ">limit<", ">model’s 95 % band<", ">expected<"}, []string{"<button"})
	says(t, "the report", whole(report), []string{"0.5 % before trial 13", "Recommended: the settings of trial 8", "the trial counted taken out pump"}, []string{"of 12 trials: the newest"})
}

func TestAStudyInTheList(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	earlier := now.Add(-2 * time.Hour)
	one := ledger.Summary{Name: "Oven", Trials: 1, Waiting: 2, OldestWaiting: &earlier, Feasible: 0, Known: 3, Algorithm: "log-cei", UpdatedAt: now,
		Best: &ledger.BestTrial{Number: 4, Metric: "yield", Value: 71.25, Unit: "%"}, Limits: []ledger.Limit{{Metric: "impurity", Op: "<=", Threshold: 0.5, Unit: "%"}, {Metric: "purity", Op: ">=", Threshold: 12000}}}
	line := Line(one, now)
	says(t, "the line", whole(line), []string{"1 trial ", "2 waiting", "2 h ago", "best reading of yield 71.25 % at trial 4", "feasible 0 of 3", "violated", "impurity ≤ 0.5 %", "purity ≥ 12 000", "just now"}, nil)
	if line.Algorithm == "" || line.Algorithm == "log-cei" {
		t.Errorf("the algorithm is called %q", line.Algorithm)
	}
}
