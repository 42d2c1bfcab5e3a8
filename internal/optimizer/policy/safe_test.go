package policy

import (
	"math"
	"testing"
)

func TestSafeSet(t *testing.T) {
	t.Parallel()
	mean, sd := []float64{0, 1, 2, 3, 4}, []float64{0.1, 0.3, 0.4, 0.2, 0.9}
	cost, costSD := []float64{-1, -2, -0.4, 0.1, 5}, []float64{0.5, 0.5, 0.5, 0.5, 0.5}
	s := line(1, mean, sd, cost, costSD)
	s.Set.Seeds = []int{4}
	s.Set.Reread = func(target int, among []int) (func(x int, value float64) Estimate, error) {
		if target != 1 || len(among) != 2 || among[0] != 2 || among[1] != 3 {
			t.Errorf("asks about target %d at %v", target, among)
		}
		return func(x int, value float64) Estimate {
			if math.Abs(value-(cost[x]-0.5)) > 1e-15 {
				t.Errorf("reads %g at %d", value, x)
			}
			after := Estimate{Mean: []float64{cost[2], cost[3]}, SD: []float64{0.5, 0.5}}
			if x == 1 {
				after.SD[0] = 0.4 // a reading at 1 makes 2 safe
			}
			return after
		}, nil
	}
	a := made(t, "safeopt", `{"beta": 1}`, studyOf(1)).(safeSearch)
	in := sure(a.members(s))
	if want := []bool{true, true, false, false, true}; !same(in, want) {
		t.Errorf("the safe set is %v, want %v", in, want)
	}
	if g := sure(a.expanders(s, in)); !same(g, []bool{false, true, false, false, false}) {
		t.Errorf("expanders are %v", g)
	}
	scores := sure(a.Score(s)) // of S = {0, 1, 4}, only 4 could be best; the lower bound there is 3.1
	if !same(scores.Allowed, []bool{false, true, false, false, true}) {
		t.Errorf("maximisers and expanders are %v", scores.Allowed)
	}
	equal(t, "width", scores.Value, []float64{1, 1, 1, 1, 1.8})

	stage := made(t, "stageopt", `{"beta": 1}`, studyOf(1))
	if first := sure(stage.Score(s)); !same(first.Allowed, []bool{false, true, false, false, false}) || first.Reason != Explore {
		t.Errorf("the first stage allows %v", first.Allowed)
	} else {
		equal(t, "width of the constraint", first.Value, filled(5, 1))
	}
	s.Round = 6 // T/10 = 5
	if second := sure(stage.Score(s)); !same(second.Allowed, in) || second.Value[4] != 4.9 {
		t.Errorf("the second stage allows %v with %v", second.Allowed, second.Value)
	}
	s.Horizon, s.Round = 5000, 10
	if sure(stage.Score(s)).Reason != Explore {
		t.Error("nine rounds without growth end the first stage")
	}
	s.Round = 11
	if sure(stage.Score(s)).Reason == Explore {
		t.Error("ten rounds without growth do not end the first stage")
	}
}

func TestSafeSetByDistance(t *testing.T) {
	t.Parallel()
	s := line(1, filled(5, 0), filled(5, 1), []float64{-2, -1.6, 0.3, -9, -9}, filled(5, 0.5))
	s.Set.Seeds = []int{0}
	a := made(t, "safeopt", `{"beta": 1, "lipschitz": 1}`, studyOf(1)).(safeSearch)
	// From the seed, u = −1.5 reaches 1; from there u = −1.1 reaches 2, whose own u = 0.8 reaches
	// nothing.
	in := sure(a.members(s))
	if !same(in, []bool{true, true, true, false, false}) {
		t.Errorf("reaches %v", in)
	}
	// Optimistically l = −2.5 and −2.1 reach no further than 2 steps: 0 → 2, 1 → 3; 2 has l = −0.2.
	if g := sure(a.expanders(s, in)); !same(g, []bool{false, true, false, false, false}) {
		t.Errorf("expanders are %v", g)
	}
}

func TestSeedRounds(t *testing.T) {
	t.Parallel()
	a := made(t, "sgp-ucb", `{"beta": 1}`, studyOf(1)) // ⌈√50⌉ = 8 rounds
	s := line(1, []float64{1, 2, 3, 4}, filled(4, 1), []float64{-2, 1, 1, 1}, filled(4, 0.5))
	s.Set.Seeds = []int{1, 3}
	counts := map[int]int{}
	for seed := range uint64(400) {
		s.Round, s.Draw.Seed = 8, seed
		scores := sure(a.Score(s))
		if !same(scores.Allowed, []bool{false, true, false, true}) {
			t.Fatalf("allows %v", scores.Allowed)
		}
		if scores.Value[1] > scores.Value[3] {
			counts[1]++
		} else {
			counts[3]++
		}
	}
	if counts[1] < 150 || counts[3] < 150 {
		t.Errorf("the seeds are not equally likely: %v", counts)
	}
	s.Round = 9
	if scores := sure(a.Score(s)); !same(scores.Allowed, []bool{true, true, false, true}) || scores.Value[3] != 5 {
		t.Errorf("then allows %v", scores.Allowed)
	}
}
