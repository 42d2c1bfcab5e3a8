package lab

import (
	"math"
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

// TestDemo: a game of seed 7 is, trial by trial, what a newcomer's button makes, and goes on as well: within 40 trials it comes within 2 % of the best,
// and does not ask one setting again and again.
func TestDemo(t *testing.T) {
	t.Parallel()
	g := demo(t, 40, 7)
	r, played := withLedger(t, g)
	d, err := study.Demo()
	if err != nil {
		t.Fatal(err)
	}
	s := study.NewService(new(book), study.Options{})
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
	if difference := cmp.Diff(want.Definition, played.Definition); difference != "" || len(want.Trials) != study.DemoTrials {
		t.Errorf("the demo is another study than is made, of %d trials:\n%s", len(want.Trials), difference)
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
	longest, run := 0, 0
	for i := range r.Asks {
		if run++; i == 0 || !g.Problem.near(r.Asks[i].Settings, r.Asks[i-1].Settings) {
			run = 1
		}
		longest = max(longest, run)
	}
	f := figures(g.Problem, r)
	t.Logf("within 2 %% after %v asks, share %.4f at the end; one setting %d times in a row, %v asks to known ones before", f["to2"], f["final"], longest, f["rereading"])
	if f["in2"] != 1 {
		t.Errorf("after 40 trials the demo has found %.3g of the best", f["final"])
	}
	if longest > 3 || f["rereading"] > math.Ceil(oneInEight*(f["to2"]-1)) {
		t.Errorf("one setting is asked for %d times in a row; of %v asks before the best is found %v go to known settings", longest, f["to2"]-1, f["rereading"])
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
