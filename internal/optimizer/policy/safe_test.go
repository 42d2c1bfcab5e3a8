package policy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSafeSet(t *testing.T) {
	t.Parallel()
	mean, sd := []float64{0, 1, 2, 3, 4}, []float64{0.1, 0.3, 0.4, 0.2, 0.9}
	cost, costSD := []float64{-1, -2, -0.4, 0.1, 5}, []float64{0.5, 0.5, 0.5, 0.5, 0.5}
	s := line(1, mean, sd, cost, costSD)
	s.Set.Seeds = []int{4}
	s.Set.Noise = func(int, int) float64 { return 0.75 }
	s.Set.Covariances = func(target int, among []int) (func(x int) []float64, error) {
		if target != 1 || !slices.Equal(among, []int{2}) { // at 3 the mean alone is above 0
			t.Errorf("asks about target %d at %v", target, among)
		}
		return func(x int) []float64 {
			if x == 1 {
				return []float64{0.2} // a reading of −2.5 at 1 makes 2 safe
			}
			return []float64{0}
		}, nil
	}
	a := made(t, "safeopt", `{"beta": 1}`, studyOf(1)).(safeSearch)
	in := sure(a.members(s))
	if want := []bool{true, true, false, false, true}; !same(in, want) {
		t.Errorf("the safe set is %v, want %v", in, want)
	}
	if g := marked(sure(a.expanders(s, in, in)), 5); !same(g, []bool{false, true, false, false, false}) {
		t.Errorf("expanders are %v", g)
	}
	scores := sure(a.Score(s)) // of S = {0, 1, 4}, only 4 could be best; the lower bound there is 3.1
	if !same(scores.Allowed, []bool{false, false, false, false, true}) || !sure(scores.CheckAllowed(1)) || sure(scores.CheckAllowed(0)) || sure(scores.CheckAllowed(2)) {
		t.Errorf("maximisers are %v, expanders %v", scores.Allowed, marked(scores.CheckAllowed, 5))
	}
	equal(t, "width", scores.Value, []float64{1, 1, 1, 1, 1.8})

	stage := made(t, "stageopt", `{"beta": 1}`, studyOf(1))
	if first := sure(stage.Score(s)); count(first.Allowed) > 0 || !same(marked(first.CheckAllowed, 5), []bool{false, true, false, false, false}) || first.Reason != Explore {
		t.Errorf("the first stage allows %v", marked(first.CheckAllowed, 5))
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

// marked are the first places of which something is so.
func marked(is func(i int) (bool, error), places int) (list []bool) {
	for i := range places {
		list = append(list, sure(is(i)))
	}
	return list
}

// TestNothingBeyondReachIsMadeSafe reads at one place what could be read there at best, under every
// covariance that two places can have: what is left out as beyond reach stays unsafe.
func TestNothingBeyondReachIsMadeSafe(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 0))
	left, made := 0, 0
	for range 20000 {
		s := line(2, filled(2, 0), filled(2, 1), []float64{-2, random.NormFloat64()}, []float64{random.Float64(), random.Float64()})
		noise := 0.5 * random.Float64() * random.Float64()
		s.Set.Noise = func(int, int) float64 { return noise }
		g := s.Costs[0]
		c := g.SD[0] * g.SD[1] * math.Cos(math.Pi*random.Float64()*random.Float64())
		after := g.Reread(0, g.Mean[0]-2*g.SD[0], noise, []int{1}, []float64{c})
		safe := after.Mean[0]+2*after.SD[0] <= 0
		out := len(withinReach(s, []bool{true, false}, []int{1})) == 0
		if safe && out {
			t.Fatalf("%+v with a covariance of %g is beyond reach, and made safe", g, c)
		}
		left, made = left+count([]bool{out}), made+count([]bool{safe})
	}
	if left < 4000 || made < 4000 {
		t.Errorf("%d are left out, %d made safe", left, made)
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
	if g := marked(sure(a.expanders(s, in, in)), 5); !same(g, []bool{false, true, false, false, false}) {
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
