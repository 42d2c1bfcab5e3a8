package lab

import "testing"

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

// TestFailuresTeach: where a region crashes and the best lies at its edge, at most 5 of 16 asks fail, and none at settings that had failed; nor does any
// on candidates, a third of which fail.
func TestFailuresTeach(t *testing.T) {
	t.Parallel()
	table, err := problem(t, "made-mixed").Failing("temperature > 100")
	if err != nil {
		t.Fatal(err)
	}
	for p, seeds := range map[*Problem]uint64{problem(t, "made-crash"): 5, table: 2} {
		var fails []float64
		again := 0.0
		var games []Game
		for seed := range seeds {
			games = append(games, Game{Problem: p, Asks: 16, Batch: 1, Noise: Noise{Kind: OwnNoise}, Seed: seed + 1})
		}
		for _, r := range allPlayed(t, games...) {
			fails = append(fails, count(r.Asks, failed))
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
