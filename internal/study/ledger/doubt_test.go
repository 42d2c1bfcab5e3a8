package ledger

import (
	"math"
	"slices"
	"strings"
	"testing"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

func TestDoubtByWhatReadingsRangeOver(t *testing.T) {
	t.Parallel()
	known, said := RangeOf(0.3, 0.62, 0.41, 0.5), map[float64]string{0.3: "The lowest so far is 0.3.", 0.62: "The highest so far is 0.62."}
	for value, extreme := range map[float64]float64{5.1: 0.62, -2: 0.3, 0.9: 0, 1.26: 0, 1.27: 0.62, 0.1: 0, 0.05: 0.3, 0.041: 0.3, -0.41: 0.3, 410: 0.62} {
		got := judge(value, design.MetricInfo{}, nil, known)
		if (got == nil) != (extreme == 0) || got != nil && !strings.Contains(got.words(), said[extreme]) {
			t.Errorf("%v: %+v, want one by %v", value, got, extreme)
		}
	}
	if got := judge(5.1, design.MetricInfo{}, nil, RangeOf()); got != nil {
		t.Errorf("nothing is known, yet 5.1 is doubted: %+v", got)
	}
	if got := judge(9, design.MetricInfo{}, nil, RangeOf(0.3, 0.62, 0.41)); got != nil {
		t.Errorf("three values are too few to doubt what no slip explains: %+v", got)
	}
	for value, doubted := range map[float64]bool{-7: false, -13: true, 1: true} {
		if got := judge(value, design.MetricInfo{}, nil, RangeOf(-6, -6, -6, -6)); (got != nil) != doubted {
			t.Errorf("after four equal ones, %v: %+v", value, got)
		}
	}
	if got := judge(0.3, design.MetricInfo{}, nil, RangeOf(0, 0, 0, 0)); got != nil {
		t.Errorf("the first that is not 0: %+v", got)
	}
}

func TestDoubtNamesTheLikelySlip(t *testing.T) {
	t.Parallel()
	known := RangeOf(61, 70.5)
	for value, want := range map[float64]*Slip{
		712: {71.2, 1}, 7125: {71.25, 2}, 65000: {65, 3}, 6.5: {65, -1}, 0.65: {65, -2}, 0.065: {65, -3}, 90: nil,
	} {
		got := judge(value, design.MetricInfo{}, nil, known)
		if (got == nil) != (want == nil) || got != nil && (got.Meant == nil || math.Abs(got.Meant.Meant-want.Meant) > 1e-9 || got.Meant.Power != want.Power) {
			t.Errorf("%v: %+v, want %+v", value, got, want)
		}
	}
	expected := &Expected{Mean: 70, SD: 2}
	if got := judge(-70.3, design.MetricInfo{}, expected, RangeOf()); got == nil || got.Meant == nil || got.Meant.Power != 0 || got.Meant.Meant != 70.3 {
		t.Errorf("a minus too many: %+v", got)
	}
}

// TestWhatWouldFitIsAsExpected: a slip from among the other readings that is not is said to be among them, and
// none that explains the value.
func TestWhatWouldFitIsAsExpected(t *testing.T) {
	t.Parallel()
	m, known := design.MetricInfo{Name: "yield", Unit: "%"}, RangeOf(30, 75, 60, 66)
	for _, c := range []struct {
		expected *Expected
		says     string
	}{
		{&Expected{72, 5, "%"}, "71\u202f% would fit: was the decimal point mistyped?"},
		{nil, "71\u202f% would fit: was the decimal point mistyped?"},
		{&Expected{40, 3, "%"}, "71\u202f% would be among the other readings, though not as expected here: was the decimal point mistyped?"},
	} {
		got := judge(7100, m, c.expected, known)
		if said := got.words(); !strings.HasSuffix(said, c.says) {
			t.Errorf("where %v is expected: %s", c.expected, said)
		}
	}
}

// What was meant is never said to be a value that is odder than the one typed.
func TestASlipExplainsMoreThanItAsks(t *testing.T) {
	t.Parallel()
	known, expected := RangeOf(0.185, 0.615, 0.4, 0.5), &Expected{Mean: 0.48, SD: 0.016}
	if got := judge(0.3, design.MetricInfo{}, expected, known); got == nil || got.Meant != nil {
		t.Errorf("0.3 lies among the readings, a tenth of it does not: %+v", got.Meant)
	}
	if got := judge(0.0003, design.MetricInfo{}, nil, known); got == nil || got.Meant == nil || got.Meant.Power != -3 {
		t.Errorf("before a model is there, 0.3 would fit: %+v", got.Meant)
	}
	if got := judge(0.0031, design.MetricInfo{}, expected, known); got == nil || got.Meant == nil || got.Meant.Power != -2 {
		t.Errorf("no reading is negative, 0.31 would fit: %+v", got.Meant)
	}
}

func TestDoubtByThePrediction(t *testing.T) {
	t.Parallel()
	known := RangeOf(20, 75, 60, 66)
	expected := &Expected{Mean: 70, SD: 2}
	for value, doubted := range map[float64]bool{70: false, 77.9: false, 62.1: false, 78.1: true, 61.9: true, 25: true} {
		got := judge(value, design.MetricInfo{}, expected, known)
		if (got != nil) != doubted || got != nil && !got.Unexpected {
			t.Errorf("%v: %+v", value, got)
		}
	}
	// Between two and four standard deviations, only another power of ten is odd.
	wide := &Expected{Mean: 0.31, SD: 0.1}
	if got := judge(0.03, design.MetricInfo{}, wide, RangeOf(0.2, 0.4, 0.3)); got == nil || got.Meant == nil || got.Meant.Power != -1 {
		t.Errorf("0.03 for 0.3: %+v", got)
	}
	if got := judge(0.58, design.MetricInfo{}, wide, RangeOf(0.2, 0.4, 0.3)); got != nil {
		t.Errorf("0.58: %+v", got)
	}
}

func TestDoubtByWhatIsPlausible(t *testing.T) {
	t.Parallel()
	percent := design.MetricInfo{Plausible: []float64{0, 100}}
	for value, doubted := range map[float64]bool{-0.1: true, 0: false, 100: false, 100.5: true} {
		if got := judge(value, percent, nil, RangeOf()); (got != nil) != doubted || got != nil && !got.Implausible {
			t.Errorf("%v: %+v", value, got)
		}
	}
	if got := judge(712, percent, &Expected{Mean: 500, SD: 300}, RangeOf()); got == nil {
		t.Error("a wild model made 712 % plausible")
	}
}

// TestDoubtsSetNamesApart that are written right to left.
func TestDoubtsSetNamesApart(t *testing.T) {
	t.Parallel()
	p := design.Parameter{Name: "חום", Type: design.Real, Low: new(20.0), High: new(60.0)}
	d := &design.Definition{Parameters: []design.Parameter{p}}
	used := doubtSettings(d, d, design.Settings{p.Name: design.NumberValue(47)}, nil, design.Settings{p.Name: design.NumberValue(470)})
	read := (&Doubt{value: 712, metric: design.MetricInfo{Name: "תפוקה"}}).words()
	if want := "\u2068חום\u2069 470?"; len(used) != 1 || !strings.HasPrefix(used[0].Why, want) {
		t.Errorf("%+v, not %s", used, want)
	}
	if want := "\u2068תפוקה\u2069 712?"; read != want {
		t.Errorf("%s, not %s", read, want)
	}
}

func TestRangesWithout(t *testing.T) {
	t.Parallel()
	got := rangesWithout([]Range{RangeOf(3), RangeOf(9), RangeOf(), RangeOf(1)})
	want := []Range{{2, 1, 9}, {2, 1, 3}, {3, 1, 9}, {2, 3, 9}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestADecisionExpectsReadingsWithTheirNoise(t *testing.T) {
	t.Parallel()
	d := Decision{Mean: map[string]float64{"yield": 70}, SD: map[string]float64{"yield": 3},
		Model: map[string]MetricModel{"yield": {Lambda: 0.04, Centre: 60, Scale: 20}}}
	if got := d.PredictedReading("yield"); got == nil || got.Mean != 70 || got.SD != 5 {
		t.Errorf("√(3² + 0.04·20²) = 5, got %+v", got)
	}
	if d.PredictedReading("impurity") != nil {
		t.Error("nothing is known of impurity")
	}
	snap := &Snapshot{Definition: design.Definition{Objective: design.Objective{Metric: "yield"}}}
	trial := &Trial{Number: 6, Decision: &d}
	if snap.Predicted(trial, "yield") != nil {
		t.Error("no fit was in force: the model is its prior")
	}
	snap.Fits = []FittedData{{From: 6, Metrics: map[string]FittedMetric{"yield": {FittedMetric: optimizer.FittedMetric{Count: 5}}}}}
	if snap.Predicted(trial, "yield") == nil {
		t.Error("a fit of five readings was in force")
	}
	if trial.SettingsChanged = true; snap.Predicted(trial, "yield") != nil {
		t.Error("the decision says nothing of other settings")
	}
}
