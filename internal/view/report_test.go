package view

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// TestTheReportDrawsThePagesCharts: every panel and slice of the page is a figure, which says what
// the page says of it and what its lines are; limits that the page only names are drawn.
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

// TestWordsOfVerification: what holds, what differs and what can no longer be replayed are three
// answers.
func TestWordsOfVerification(t *testing.T) {
	t.Parallel()
	snap := &ledger.Snapshot{ID: "k3v9x2m7qd4t", Version: 30, Hash: "9f86"}
	stored, replayed := 71.2, 71.20000081
	for name, c := range map[string]struct {
		outcome    study.Verification
		ok, partly bool
		text       string
		different  []string
	}{
		"holds": {outcome: study.Verification{OK: true, LedgerIntact: true, Checked: 12, Rules: study.RulesPresent}, ok: true, text: "up to ledger entry 30: 12 decisions replayed."},
		"gone": {outcome: study.Verification{OK: true, LedgerIntact: true, Checked: 1, Unchecked: 12, Rules: study.RulesGone, GoneEngines: []string{"1", "4"}}, ok: true, partly: true,
			text: "1 decision replayed. 12 decisions were made by rules that this program no longer has (engines 1 and 4), and cannot be replayed."},
		"differs": {outcome: study.Verification{LedgerIntact: true, Checked: 12, Rules: study.RulesPresent, Different: []study.Difference{
			{Number: 3, Field: "mean.yield", Stored: 61.5, Replayed: 62.0}, {Number: 4, Field: "acquisition", Stored: &stored, Replayed: &replayed}, {Number: 5, Field: "acquisition", Stored: (*float64)(nil), Replayed: &stored},
			{Number: 6, Field: "model.yield.lengthscales", Stored: []float64{0.5, 2}, Replayed: []float64{0.25, 2}},
			{Number: 7, Field: "parameters", Stored: design.Settings{"temperature": design.NumberValue(33), "catalyst": design.TextValue("B")}}}},
			text: "12 decisions replayed.", different: []string{
				"Trial 3, mean.yield: the ledger has 61.5, the replay gives 62.", "Trial 4, acquisition: the ledger has 71.2, the replay gives 71.20000081.", "Trial 5, acquisition: the ledger has nothing, the replay gives 71.2.",
				"Trial 6, model.yield.lengthscales: the ledger has 0.5, 2, the replay gives 0.25, 2.", "Trial 7, parameters: the ledger has catalyst B, temperature 33, the replay gives nothing."}},
	} {
		text, err := json.Marshal(c.outcome) // as the database keeps it
		if err != nil {
			t.Fatal(err)
		}
		var kept study.Verification
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		v := Facts{Snap: snap, Now: now, Board: BoardFacts{Entries: snap.Version, Hash: snap.Hash, Verification: Verification{Known: true, Outcome: kept, Version: snap.Version, Hash: snap.Hash, At: now}}}
		shown := v.Verified()
		if shown.OK != c.ok || shown.Partly != c.partly || !strings.Contains(shown.Text, c.text) || !slices.Equal(shown.Different, c.different) {
			t.Errorf("%s: %+v", name, shown)
		}
		words := map[string]string{"holds": "verified 2", "gone": "verified in part ", "differs": "does not verify "}[name]
		if lines := (reporting{Facts: v}).verificationLines(); !strings.HasPrefix(lines[0], words) {
			t.Errorf("%s: %q", name, lines)
		}
	}
}

func TestDescriptionsReachNoOtherHost(t *testing.T) {
	t.Parallel()
	got := Markdown("![logo **x**](https://evil.example/a.png) <script>alert(1)</script> [link](javascript:alert(1))")
	for _, bad := range []string{"<img", "<script", "javascript:", "evil.example"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q holds %q", got, bad)
		}
	}
}
