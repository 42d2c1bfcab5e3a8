package view

import (
	"strings"
	"testing"

	"headroom/internal/study"
	"headroom/web/templates"
)

// TestCalibrationVerdict: the tails of the binomial distribution decide, whose values are known:
// P(X ≤ 34 of 40) = 0.0139, P(X ≤ 35) = 0.0480 and P(X = 100 of 100) = 0.0059 at 95 %.
func TestCalibrationVerdict(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		inside, n int
		want      string
	}{
		{37, 40, "as it should be."}, {35, 40, "as it should be."}, {34, 40, tooNarrow}, {40, 40, "as it should be."}, {100, 100, tooWide}, {3, 4, "too few to judge."}, {5, 5, "as it should be."}, {2, 5, tooNarrow},
	} {
		if got := calibrationVerdict(test.inside, test.n); got != test.want {
			t.Errorf("%d of %d: %q, want %q", test.inside, test.n, got, test.want)
		}
	}
	if p := binomialTail(34, 40, 0.95); p < 0.0138 || p > 0.0140 {
		t.Errorf("P(X ≤ 34) = %g", p)
	}
	if words := coverageWords(study.Coverage{Count: 40, Coverage95: 37.0 / 40}); words != "37 of 40 readings fell in the 95\u202f% band predicted for them (noise included): as it should be." {
		t.Error(words)
	}
}

func TestDriftIsSeenWhereReadingsStayOnOneSide(t *testing.T) {
	t.Parallel()
	steady, shifted := []study.Residual{}, []study.Residual{}
	for i := range 40 {
		z := []float64{0.8, -0.9, 0.3, -0.4, 1.1, -0.9}[i%6]
		steady = append(steady, study.Residual{Number: i + 1, Z: z})
		if i >= 20 {
			z -= 1.5
		}
		shifted = append(shifted, study.Residual{Number: i + 1, Z: z})
	}
	steady[7].Z = 60 // one wrong reading
	if d := (drifting{study.DriftOf(steady), "yield"}); d.Since != 0 || !strings.Contains(d.inWords(), "no sign of it in 40 readings") {
		t.Errorf("steady readings: %s", d.inWords())
	}
	d := drifting{study.DriftOf(shifted), "yield"}
	if d.Since < 19 || d.Since > 22 || !strings.Contains(d.inWords(), "lower than predicted") {
		t.Errorf("readings lower by 1.5 from trial 21 on: %s", d.inWords())
	}
}

// TestWordsOfDriftFollowItsChart: of a sum that is drawn far beyond its limit it is never said that
// there was no sign of it.
func TestWordsOfDriftFollowItsChart(t *testing.T) {
	t.Parallel()
	var residuals []study.Residual
	for i := range 60 {
		z := []float64{0.3, -0.3}[i%2]
		if i >= 10 && i < 20 { // grows to 9.5, then falls by 1/2 ± 0.3
			z = 1.45
		}
		residuals = append(residuals, study.Residual{Number: i + 1, Z: z})
	}
	d := drifting{study.DriftOf(residuals), "yield"}
	if want := "Yield: no sign of it any more. From trial 11 to 29 it came out higher than predicted, again and again, until the model had caught up."; d.inWords() != want {
		t.Errorf("%s\nwant %s\n%v", d.inWords(), want, d.Up)
	}
	if line, look := trustInShort(templates.Trust{}, []drifting{d}); !strings.HasSuffix(line, "; no sign of drift any more.") || look {
		t.Errorf("%s, %v", line, look)
	}
	for i := range 20 {
		residuals = append(residuals, study.Residual{Number: 61 + i, Z: -1})
	}
	for i := range 40 {
		residuals = append(residuals, study.Residual{Number: 81 + i, Z: 0.2})
	}
	if d := (drifting{study.DriftOf(residuals), "yield"}); !strings.Contains(d.inWords(), "lower than predicted") || !strings.HasSuffix(d.inWords(), "caught up; 1 time before that.") {
		t.Errorf("%s", d.inWords())
	}
}
