package ledger

import (
	"math"
	"testing"
)

func TestSnapshotFiguresForPages(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	if b.snap.Best() != nil {
		t.Error("best of nothing")
	}
	readings := []map[string]float64{{"yield": 90, "impurity": 0.9}, {"yield": 60, "impurity": 0.4}, {"yield": 70}, {"yield": 65, "impurity": 0.1}, {}, {"yield": 64, "impurity": 0.5}}
	for i, metrics := range readings {
		b.choose(1)
		if len(metrics) > 0 {
			b.tell(i+1, metrics)
		}
	}
	feasible, known := b.snap.Feasibility()
	if best := b.snap.BestSoFar(); feasible != 3 || known != 4 || b.snap.Best().Number != 4 ||
		best[0] != 0 || best[1] != 2 || best[2] != 2 || best[3] != 4 || best[5] != 4 {
		t.Errorf("%d of %d, best %v", feasible, known, best)
	}
	if waiting := b.snap.WaitingTrials(); len(waiting) != 2 || waiting[0].Number != 3 || waiting[1].Number != 5 {
		t.Errorf("waiting %v", waiting)
	}
	last := b.snap.ViolationSoFar()[5][0]
	if math.Abs(last.Hard-0.4) > 1e-12 || last.Soft != 0 || last.Rounds != 1 || last.Known != 4 {
		t.Errorf("%+v", last)
	}
	b.close(Excluded, 4, "x")
	if b.snap.Best().Number != 6 {
		t.Error("an excluded trial is never best")
	}
}
