package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/study/design"
)

// After any events a study is what folding them all at once gives.
func TestFoldingStepByStepIsFoldingAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		b := newBench(t, oven(t))
		b.choose(2)
		for range rapid.IntRange(1, 25).Draw(r, "events") {
			happen(r, b)
			whole := must.Get(Fold("bench", nil, b.events, nil))(r)
			if diff := cmp.Diff(whole.Summary(), b.snap.Summary()) + cmp.Diff(whole.Trials, b.snap.Trials, asKept); diff != "" {
				r.Fatalf("after event %d (-at once +step by step)\n%s", b.snap.Version, diff)
			}
		}
	})
}

// happen lets one thing happen to the bench's study, if it may.
func happen(r *rapid.T, b *bench) {
	number := rapid.IntRange(1, len(b.snap.Trials)).Draw(r, "trial")
	trial := b.snap.Trial(number)
	value := float64(rapid.IntRange(0, 2).Draw(r, "value"))
	_, told := trial.Metrics["yield"]
	_, limited := trial.Metrics["impurity"]
	switch rapid.IntRange(0, 7).Draw(r, "what") {
	case 0:
		b.choose(1)
	case 1:
		if !told && !limited {
			b.tell(number, map[string]float64{"yield": value, "impurity": 0.1})
		}
	case 2:
		if !told {
			b.tell(number, map[string]float64{"yield": value})
		}
	case 3:
		if !limited {
			b.tell(number, map[string]float64{"impurity": value / 3})
		}
	case 4:
		switch {
		case told && value == 0:
			b.correct(number, nil)
		case told:
			b.correct(number, &Reading{Value: value})
		}
	case 5:
		kind := Excluded
		if trial.Excluded {
			kind = Included
		}
		b.close(kind, number, "so")
	case 6:
		if trial.Status != StatusFailed {
			b.close(Failed, number, "so")
		}
	case 7:
		b.reconfigure(func(d *design.Definition) { d.Constraints[0].Threshold = 0.2 + value/4 })
	}
}
