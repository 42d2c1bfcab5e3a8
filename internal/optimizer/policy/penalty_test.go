package policy

import (
	"math/rand/v2"
	"testing"
)

// TestSamplingWithinAnEpoch: the penalised response alone is drawn, once, and recorded so that it
// needs no second draw.
func TestSamplingWithinAnEpoch(t *testing.T) {
	t.Parallel()
	a := made(t, "penalty-noiseless", `{"acquisition": "thompson"}`, studyOf(1))
	s := line(2, []float64{1, 2}, []float64{0.5, 0.25}, nil, nil)
	s.Beta, s.Draw.Seed = s.Beta[:1], 5
	s.Set.Joint = func([]int) (func(int, float64, func() float64) []float64, error) {
		return func(k int, width float64, normal func() float64) []float64 {
			if k != 0 {
				t.Errorf("target %d is drawn", k)
			}
			return []float64{1 + width*0.5*normal(), 2 + width*0.25*normal()}
		}, nil
	}
	n := rand.New(rand.NewPCG(5, 0))
	want := []float64{1 + 2*0.5*n.NormFloat64(), 2 + 2*0.25*n.NormFloat64()}
	scores := sure(a.Score(s))
	equal(t, "score", scores.Value, want)
	if scores.Reason != Sample {
		t.Errorf("it is chosen by the rule %q", scores.Reason)
	}
	s.Draw.Z = sure(a.Traits().Drawn(s, 1))
	s.Set = nil
	equal(t, "recorded", s.Draw.Z, []float64{(want[1] - 2) / 0.25, 0})
	equal(t, "estimate", a.Estimates(s, 1), want[1:])
	bounds := made(t, "penalty-noiseless", `{}`, studyOf(1))
	if traits := bounds.Traits(); traits.Drawn != nil || !traits.RisesWithUncertainty {
		t.Error("optimistic bounds are drawn")
	}
}
