package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

func demo(t testing.TB, asks int, seed uint64) Game {
	return Game{Problem: problem(t, "demo"), Asks: asks, Batch: 1, Noise: Noise{Kind: OwnNoise}, Told: ToldTrue, Seed: seed}
}

// TestDemoIsTheOneThatIsMade: a game of seed 7 is, trial by trial, what a newcomer's button makes.
func TestDemoIsTheOneThatIsMade(t *testing.T) {
	t.Parallel()
	r, played := withLedger(t, demo(t, study.DemoTrials, 7))
	d, err := study.Demo()
	if err != nil {
		t.Fatal(err)
	}
	s := study.NewService(newLedgers(), study.Options{})
	t.Cleanup(s.Stop)
	made, err := s.Create(t.Context(), study.Command{By: "rehearsal"}, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Simulate(t.Context(), study.Command{By: "Ana"}, made.ID, study.DemoTrials, study.DemoSlips...); err != nil {
		t.Fatal(err)
	}
	for run, _ := s.Simulated(made.ID); run.Going; run, _ = s.Simulated(made.ID) {
		time.Sleep(5 * time.Millisecond)
	}
	want := only(t, s)
	if difference := cmp.Diff(want.Definition, played.Definition); difference != "" {
		t.Errorf("the demo is another study than is made:\n%s", difference)
	}
	for i, trial := range want.Trials {
		if difference := cmp.Diff(choiceOf(trial), choiceOf(played.Trials[i])); difference != "" {
			t.Fatalf("trial %d differs, made (-) and played (+):\n%s", i+1, difference)
		}
		for metric, m := range trial.Metrics {
			if r.Asks[i].Read[metric] != m.Value || r.Asks[i].Told[metric] != *m.StdDev {
				t.Errorf("%s of trial %d is %v, recorded as %v", metric, i+1, m.Value, r.Asks[i].Read[metric])
			}
		}
	}
	if !played.Trials[5].Metrics["yield"].Corrected || !played.Trials[10].Excluded || played.Trials[23].Status != ledger.StatusCompleted {
		t.Error("nothing slipped in the demo's lab")
	}
}

func TestDemoRefusals(t *testing.T) {
	t.Parallel()
	for _, change := range []func(g *Game){
		func(g *Game) { g.Start = 5 }, func(g *Game) { g.Batch = 2 }, func(g *Game) { g.Told = ToldNone }, func(g *Game) { g.Mishaps.Fail = 0.1 },
	} {
		g := demo(t, 5, 1)
		change(&g)
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), "the demo's own lab") {
			t.Errorf("%+v gives %v", g, err)
		}
	}
	if g := (Game{Problem: problem(t, "demo"), Algorithm: design.Algorithm{Horizon: 7}}); g.definition().Algorithm.Horizon != 7 {
		t.Error("a horizon that is asked for is not the study's")
	}
}
