package lab

import (
	"math"
	"testing"
)

// A short form of the standard set: faults that the default had, each of which these games would have shown.

// oneInEight is how many asks before the best is found may go to settings that are known.
const oneInEight = 1. / 8

// TestToldNoiseDoesNotHurt plays the reaction as its lab reads it, told and not told how large the noise is: telling it finds the best in no fewer games,
// and does not turn the search into readings of one setting. What is said to be left to gain holds.
func TestToldNoiseDoesNotHurt(t *testing.T) {
	t.Parallel()
	const seeds = 5
	p := problem(t, "reaction")
	found := map[Told]float64{}
	repeats, before, holds, wrong := 0.0, 0.0, 0.0, 0.0
	for seed := range uint64(seeds) {
		for _, told := range []Told{ToldNone, ToldTrue} {
			r := played(t, Game{Problem: p, Asks: 40, Batch: 1, Noise: Noise{Kind: OwnNoise}, Told: told, Seed: seed + 1})
			found[told] += reached(p, r, 0.02)
			holds += held(p, r) / (2 * seeds)
			if enough(p, r) > 0 {
				wrong += mistaken(p, r)
			}
			if told == ToldTrue {
				repeats, before = repeats+seeking(p, r, known), before+asksTo(p, r, 0.02)-1
			}
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

// TestDemoFindsTheBest: what a newcomer sees comes within 2 % of the best in its 40 trials, and does not ask one setting again and again.
func TestDemoFindsTheBest(t *testing.T) {
	t.Parallel()
	g := demo(t, 40, 7)
	p, r := g.Problem, played(t, g)
	longest, run := 0, 0
	for i := range r.Asks {
		if run++; i == 0 || !p.near(r.Asks[i].Settings, r.Asks[i-1].Settings) {
			run = 1
		}
		longest = max(longest, run)
	}
	until := asksTo(p, r, 0.02)
	t.Logf("within 2 %% after %v asks, share %.4f at the end; one setting %d times in a row, %v asks to known ones before", until, last(Shares(p, r)), longest, seeking(p, r, known))
	if reached(p, r, 0.02) != 1 {
		t.Errorf("after 40 trials the demo has found %.3g of the best", last(Shares(p, r)))
	}
	if longest > 3 || seeking(p, r, known) > math.Ceil(oneInEight*(until-1)) {
		t.Errorf("one setting is asked for %d times in a row; of %v asks before the best is found %v go to known settings", longest, until-1, seeking(p, r, known))
	}
}

// TestFailuresTeach: where a region crashes and the best lies at its edge, at most 5 of 16 asks fail, and none at settings that had failed; nor does any
// on candidates, a third of which fail.
func TestFailuresTeach(t *testing.T) {
	t.Parallel()
	table, err := problem(t, "made-mixed").Failing("temperature > 100")
	if err != nil {
		t.Fatal(err)
	}
	const seeds = 5
	for _, p := range []*Problem{problem(t, "made-crash"), table} {
		var fails []float64
		again := 0.0
		for seed := range uint64(seeds) {
			r := played(t, Game{Problem: p, Asks: 16, Batch: 1, Noise: Noise{Kind: OwnNoise}, Seed: seed + 1})
			fails = append(fails, count(r.Asks, failed))
			again += failedAgain(p, r)
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
