package optimizer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOneRuleForBothIsThePublishedAlgorithm plays the primal-dual method with one rule of
// exploration for objective and limits: it decides, to the last bit, what the published algorithm
// of that rule does.
func TestOneRuleForBothIsThePublishedAlgorithm(t *testing.T) {
	t.Parallel()
	for rule, algorithm := range map[string]string{"ucb": "ckb-ucb", "thompson": "ckb-ts", "random": "ckb-rand"} {
		for _, g := range grounds()[:2] {
			cfg, general := toyConfig(t, algorithm, g, 2), toyConfig(t, "ckb", g, 2)
			general.Settings = resolved(t, general, map[string]any{"explore_objective": rule, "explore_limits": rule})
			_, want := play(t, cfg, enough(cfg))
			_, got := play(t, general, enough(cfg))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s on %s:\n%s", algorithm, g.name, diff)
			}
		}
	}
}

// TestPhasesAreRecorded: a decision and its trace say which T its constants followed from, 0 where
// that was planned.
func TestPhasesAreRecorded(t *testing.T) {
	t.Parallel()
	cfg := toyConfig(t, "ckb-ucb, doubling", grounds()[0], 1)
	h, decisions := play(t, cfg, 9)
	trace := sure(mustReplay(t, cfg, h).Trace(background))
	for i, want := range []int{1, 2, 2, 4, 4, 4, 4, 8, 8} {
		if decisions[i].Horizon != want || trace[i].Horizon != want {
			t.Errorf("round %d was decided with T = %d and replays with %d, want %d", i+1, decisions[i].Horizon, trace[i].Horizon, want)
		}
		first := i+1 == want // of a phase
		if m := trace[i].Multipliers[0]; first && m != 0 {
			t.Errorf("the phase of round %d begins with a multiplier of %g", i+1, m)
		}
		if gain := trace[i].InformationGain[0]; first != (gain == 0) {
			t.Errorf("round %d sees an information gain of %g", i+1, gain)
		}
	}
	planned, decided := play(t, toyConfig(t, "ckb-ucb", grounds()[0], 1), 3)
	if trace := sure(mustReplay(t, toyConfig(t, "ckb-ucb", grounds()[0], 1), planned).Trace(background)); decided[2].Horizon != 0 || trace[2].Horizon != 0 {
		t.Errorf("a planned horizon is recorded as %d and %d", decided[2].Horizon, trace[2].Horizon)
	}
}
