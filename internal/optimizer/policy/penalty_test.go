package policy

import "testing"

// TestSamplingWithinAnEpoch: the penalised response alone is drawn, once, and recorded so that it
// needs no second draw.
func TestSamplingWithinAnEpoch(t *testing.T) {
	t.Parallel()
	a := made(t, "penalty-noiseless", `{"acquisition": "thompson"}`, studyOf(1))
	s := line(2, []float64{1, 2}, []float64{0.5, 0.25}, nil, nil)
	s.Beta, s.Draw.Seed = s.Beta[:1], 5
	want := []float64{1.3, 1.8}
	equal(t, "widths", a.Traits().Functions(s), []float64{2, 0})
	s.Functions = [][]float64{want, nil}
	scores := sure(a.Score(s))
	equal(t, "score", scores.Value, want)
	if scores.Reason != Sample {
		t.Errorf("it is chosen by the rule %q", scores.Reason)
	}
	s.Draw.Z = a.Traits().Drawn(s, 1)
	s.Set, s.Functions = nil, nil
	equal(t, "recorded", s.Draw.Z, []float64{(want[1] - 2) / 0.25, 0})
	equal(t, "estimate", a.Estimates(s, 1), want[1:])
	bounds := made(t, "penalty-noiseless", `{}`, studyOf(1))
	if traits := bounds.Traits(); traits.Drawn != nil || !traits.RisesWithUncertainty {
		t.Error("optimistic bounds are drawn")
	}
}

// TestDrawOfNoWidthIsTheMean: nothing is drawn with a width of 0.
func TestDrawOfNoWidthIsTheMean(t *testing.T) {
	t.Parallel()
	a := made(t, "penalty-noiseless", `{"acquisition": "thompson", "beta": 0}`, studyOf(1))
	s := line(0, []float64{1, 2}, []float64{0.5, 0.25}, []float64{9, 9}, []float64{0, 0})
	s.Functions = make([][]float64, 2)
	equal(t, "widths", a.Traits().Functions(s), []float64{0, 0})
	equal(t, "score", sure(a.Score(s)).Value, []float64{1, 2})
	equal(t, "draws", a.Traits().Drawn(s, 1), []float64{0, 0})
}
