package lab

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// A short form of the standard set: faults that the default had, each of which these games would
// have shown.

// oneInEight is how many asks before the best is found may go to settings that are known.
const oneInEight = 1. / 8

// TestGamesAreNoWorseWithToldNoise plays the reaction as its lab reads it, told and not told how large the
// noise is: telling it finds the best in no fewer games, and does not turn the search into readings
// of one setting. What is said to be left to gain holds.
func TestGamesAreNoWorseWithToldNoise(t *testing.T) {
	t.Parallel()
	const seeds = 5
	p := problem(t, "reaction")
	found := map[Told]float64{}
	repeats, before, holds, wrong := 0.0, 0.0, 0.0, 0.0
	var games []Game
	for seed := range uint64(seeds) {
		for _, told := range []Told{ToldNone, ToldTrue} {
			games = append(games, Game{Problem: p, Asks: 28, Batch: 1, Noise: Noise{Kind: OwnNoise}, Told: told, Seed: seed + 1})
		}
	}
	for i, r := range allPlayed(t, games...) {
		f := figures(p, r)
		found[games[i].Told] += f["in2"]
		holds += f["held"] / (2 * seeds)
		if f["enough"] > 0 {
			wrong += f["mistaken"]
		}
		if games[i].Told == ToldTrue {
			repeats, before = repeats+f["rereading"], before+f["to2"]-1
		}
	}
	t.Logf("within 2 %% in %v of %d games told, %v untold; told, %v of %v asks before that go to known settings", found[ToldTrue], seeds, found[ToldNone], repeats, before)
	if holds < 0.8 || wrong > 0 {
		t.Errorf("the interval of the best holds it in %.2f of the looks, and little was said to be left where more was: %v", holds, wrong)
	}
	if found[ToldTrue] < found[ToldNone] {
		t.Errorf("the best is found in %v of %d games where the noise is told, in %v where it is not", found[ToldTrue], seeds, found[ToldNone])
	}
	if repeats > oneInEight*before {
		t.Errorf("where the noise is told, %v of the %v asks before the best is found go to known settings", repeats, before)
	}
}

// TestGamesTeachWhatFails: where a region crashes and the best lies at its edge, at most 5 of 16 asks
// fail, and none at settings that had failed; nor does any on candidates, a third of which fail.
func TestGamesTeachWhatFails(t *testing.T) {
	t.Parallel()
	table := must.Get(problem(t, "made-mixed").Failing("temperature > 100"))(t)
	for p, seeds := range map[*Problem]uint64{problem(t, "made-crash"): 5, table: 2} {
		var fails []float64
		again := 0.0
		var games []Game
		for seed := range seeds {
			games = append(games, Game{Problem: p, Asks: 16, Batch: 1, Noise: Noise{Kind: OwnNoise}, Seed: seed + 1})
		}
		for _, r := range allPlayed(t, games...) {
			fails = append(fails, countIf(r.Asks, Trial.fails))
			again += figures(p, r)["again"]
		}
		t.Logf("%s: %v of 16 asks fail, %v of all at settings that had failed", p.Name, fails, again)
		if again > 0 {
			t.Errorf("%s: %v asks fail at settings that had failed before", p.Name, again)
		}
		if p != table && mean(fails) > 5 {
			t.Errorf("%s: %v of 16 asks fail, want at most 5 on average", p.Name, mean(fails))
		}
	}
}

// TestStandardSet: every case can be played; each has a name and a key of its own; a pair differs
// in what is told and in nothing else.
func TestStandardSet(t *testing.T) {
	t.Parallel()
	all := must.Get(Standard(40))(t)
	keys, names := map[string]string{}, map[string]bool{}
	pairs := 0
	for _, c := range all {
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		key, err := c.Key("")
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := keys[key]; taken {
			t.Errorf("%s is the same game as %s", c.Name, other)
		}
		keys[key] = c.Name
		if names[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		names[c.Name] = true
		if c.Untold == "" {
			continue
		}
		pairs++
		c.Told = ToldNone
		if key, err = c.Key(""); err != nil || keys[key] != c.Untold {
			t.Errorf("with nothing told %s is %q, want %q", c.Name, keys[key], c.Untold)
		}
	}
	if want := 3 + 3*len(standardFunctions); pairs != want || len(standardFunctions) < 6 {
		t.Errorf("%d pairs, want %d: three labs, and six continuous problems with three sizes of noise", pairs, want)
	}
	for _, want := range []string{"demo", "machine told", "hartmann6 20 % told", "made-crash", "reaction 1 in 10 unread"} {
		if !names[want] {
			t.Errorf("there is no case %q", want)
		}
	}
	for _, c := range all {
		if c.Start != 0 || c.Asks != 40 && !strings.HasPrefix(c.Name, "made-crash") {
			t.Errorf("%s starts with %d rows and has %d asks", c.Name, c.Start, c.Asks)
		}
	}
}

func demo(t testing.TB, asks int, seed uint64) Game {
	return Game{Problem: problem(t, "demo"), Asks: asks, Batch: 1, Noise: Noise{Kind: OwnNoise}, Told: ToldTrue, Seed: seed}
}

// TestDemo: a game of seed 7 is, trial by trial, what a newcomer's button makes, and goes on as
// well: within 40 trials it comes within 2 % of the best, and does not ask one setting again and
// again.
func TestDemo(t *testing.T) {
	t.Parallel()
	g := demo(t, 40, 7)
	r, played := withLedger(t, g)
	d := must.Get(study.Demo())(t)
	s := study.NewService(new(memoryStore), study.Options{})
	t.Cleanup(s.Stop)
	made := must.Get(s.Create(t.Context(), study.Command{By: "rehearsal"}, d))(t)
	must.Do(t, s.Simulate(t.Context(), study.Command{By: "Ana"}, made.ID, study.DemoTrials, study.DemoMishaps...))
	for run := s.Simulated(made.ID); run.Going; run = s.Simulated(made.ID) {
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
	longest, first := 0, 0 // of asks at the settings of the first of them: a walk along the limit in small steps is none
	for i := range r.Asks {
		if !g.Problem.near(r.Asks[i].Settings, r.Asks[first].Settings) {
			first = i
		}
		longest = max(longest, i+1-first)
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
