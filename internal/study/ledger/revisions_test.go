package ledger

import (
	"testing"

	"headroom/internal/study/design"
)

// TestRevisionsAndLimitsAsTheyStood: what changed the rules is listed in order, and each trial keeps
// the limit under which it was chosen.
func TestRevisionsAndLimitsAsTheyStood(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	limit := b.snap.Definition.Constraints[0].Threshold
	b.choose(1)
	b.tell(1, map[string]float64{"yield": 70, "impurity": 0.4})
	b.reconfigure(func(d *design.Definition) {
		d.Constraints = append([]design.Constraint(nil), d.Constraints...)
		d.Constraints[0].Threshold = limit / 2
	})
	b.choose(1)
	before := b.snap
	b.correct(1, &Reading{Value: 71})
	b.close(Excluded, 1, "wrong batch")
	var kinds []Kind
	for _, revision := range b.snap.Revisions {
		kinds = append(kinds, revision.Kind)
	}
	if len(kinds) != 4 || kinds[0] != Created || kinds[1] != Reconfigured || kinds[2] != Corrected || kinds[3] != Excluded {
		t.Fatalf("%v", kinds)
	}
	if last := b.snap.Revisions[3]; last.Number != 1 || last.Reason != "wrong batch" || last.After != 2 {
		t.Errorf("%+v", last)
	}
	if len(before.Revisions) != 2 {
		t.Errorf("an earlier version has %d revisions", len(before.Revisions))
	}
	through := b.snap.LimitsThrough()
	if through[0][0].Threshold != limit || through[1][0].Threshold != limit/2 {
		t.Errorf("the limits were %v and %v, want %v and %v", through[0][0].Threshold, through[1][0].Threshold, limit, limit/2)
	}
}
