package optimizer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/policy"
)

// stateOf plays a few rounds of an algorithm on arms and returns the state with what its next decision sees of all of them.
func stateOf(t *testing.T, algorithm string, rounds int) (*State, *History, *policy.Input) {
	t.Helper()
	cfg := toyConfig(t, algorithm, grounds()[0], 2)
	h, _ := play(t, cfg, rounds)
	state, err := Replay(background, cfg, h)
	if err != nil {
		t.Fatal(err)
	}
	places := cfg.Space.places()
	return state, h, sure(state.decision.inputAt(background, places, toyKnown().at(places), state.draw(state.Round())))
}

// TestReread compares the posterior that one more reading would give with that of a history that has it.
func TestReread(t *testing.T) {
	t.Parallel()
	state, h, input := stateOf(t, "safeopt", 7)
	const x, value = 14, 0.37
	among := []int{3, 14, 30}
	const cost = 1 // the second constraint, target 2, metric 2
	a := state.next.regime.transforms[1+cost]
	longer := &History{Rounds: append(slices.Clone(h.Rounds), Round{Point: state.cfg.Space.Arms[x], Arm: x,
		Readings: []Reading{{}, {}, {Told: true, Value: a.metric(value - a.shift), Revealed: 8}}})}
	// A pending round narrows the others' variance; only the cost that was read is compared.
	after, err := Replay(background, state.cfg, longer)
	if err != nil {
		t.Fatal(err)
	}
	want := sure(after.decision.estimate(background, state.cfg.Space.places(), nil))[1+cost]
	got := sure(input.Set.Reread(1+cost, among))(x, value)
	for i, y := range among {
		near(t, 8, "reread mean", got.Mean[i], want.Mean[y])
		near(t, 8, "reread sd", got.SD[i], want.SD[y])
	}
}

// TestEarlier compares what an earlier decision is said to have seen with what a history of that length shows.
func TestEarlier(t *testing.T) {
	t.Parallel()
	state, h, input := stateOf(t, "stageopt", 9)
	for n := 1; n < 9; n++ {
		then, err := Replay(background, state.cfg, seenAt(h, n))
		if err != nil {
			t.Fatal(err)
		}
		places := state.cfg.Space.places()
		want := sure(then.decision.inputAt(background, places, toyKnown().at(places), then.draw(n)))
		got := sure(input.Set.Earlier(n))
		if got.Round != n || !cmp.Equal(got.Reward, want.Reward, near9) || !cmp.Equal(got.Costs, want.Costs, near9) || !cmp.Equal(got.Beta, want.Beta) {
			t.Errorf("decision %d is said to have seen something else than it did", n)
		}
		if !slices.Equal(got.Set.Seeds, want.Set.Seeds) {
			t.Errorf("decision %d had the seeds %v, said to have %v", n, want.Set.Seeds, got.Set.Seeds)
		}
	}
}

// TestJoint draws many functions: their mean and covariance must be the posterior's, the latter times the square of the width.
func TestJoint(t *testing.T) {
	t.Parallel()
	state, _, input := stateOf(t, "ckb-ts", 6)
	const width, draws = 1.5, 40000
	source := rand.New(rand.NewPCG(5, 0))
	i, j := 8, 9
	var sum, square, product, other float64
	joint := sure(input.Set.Joint(nil))
	for range draws {
		f := joint(0, width, source.NormFloat64)
		sum, other = sum+f[i], other+f[j]
		square, product = square+f[i]*f[i], product+f[i]*f[j]
	}
	mean, otherMean := sum/draws, other/draws
	src := &state.next.sources[state.next.sourceOf[0]]
	covariance := sure(src.Covariance(background, state.next.points(src.kernel, state.cfg.Space.places())))
	within := func(what string, got, want, tolerance float64) {
		if math.Abs(got-want) > tolerance {
			t.Errorf("%s of the draws is %g, want %g", what, got, want)
		}
	}
	root := sure(factor.SemidefiniteRoot(background, func() ([][]float64, error) {
		return src.Covariance(background, state.next.points(src.kernel, state.cfg.Space.places()))
	}))
	var normals []float64
	f := joint(0, width, func() float64 {
		normals = append(normals, source.NormFloat64())
		return normals[len(normals)-1]
	})
	for c, row := range root {
		within(fmt.Sprint("place ", c), f[c], input.Reward.Mean[c]+width*factor.Dot(row, normals), 1e-9)
	}
	within("mean", mean, input.Reward.Mean[i], 5*width*input.Reward.SD[i]/math.Sqrt(draws))
	within("variance", square/draws-mean*mean, width*width*covariance[i][i], 0.05*width*width*covariance[i][i])
	within("covariance", product/draws-mean*otherMean, width*width*covariance[max(i, j)][min(i, j)], 0.05*width*width*math.Sqrt(covariance[i][i]*covariance[j][j]))
}

// TestSafePlaces holds that safe seeds are among the places of a continuous space, each place once, and that safe algorithms start there.
func TestSafePlaces(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"safeopt", "stageopt", "sgp-ucb"} {
		cfg := toyConfig(t, algorithm, grounds()[3], 1)
		h, decisions := play(t, cfg, 5)
		if !samePlace(decisions[0].Place, cfg.SafeSeeds[0]) {
			t.Errorf("%s starts at %v", algorithm, decisions[0].Place)
		}
		state, err := Replay(background, cfg, h)
		if err != nil {
			t.Fatal(err)
		}
		places := sure(state.finitePlaces(background, state.draw(6)))
		seeds := 0
		for i, p := range places {
			if samePlace(p, cfg.SafeSeeds[0]) {
				seeds++
			}
			for _, q := range places[i+1:] {
				if slices.Equal(p.U, q.U) {
					t.Fatalf("%v is listed twice", p.U)
				}
			}
		}
		if seeds != 1 || len(places) < 1000 {
			t.Errorf("%d places with the seed %d times", len(places), seeds)
		}
	}
}

// TestQueueOfEstimates follows ckb-lyapunov's queue by hand from what each decision recorded.
func TestQueueOfEstimates(t *testing.T) {
	t.Parallel()
	cfg := toyConfig(t, "ckb-lyapunov", grounds()[0], 2)
	cfg.Settings = resolved(t, cfg, map[string]any{"slack": map[string]any{"limit 0": 0.1}, "constraint_bound": 0.7})
	_, decisions := play(t, cfg, 15)
	queue := []float64{0, 0}
	for i, d := range decisions {
		for j, slack := range []float64{0.1, 0} {
			near(t, i+1, "queue", d.Multipliers[j], queue[j])
			if math.Abs(d.Estimates[1+j]) > 0.7 {
				t.Errorf("round %d: the estimate %g is not cut", i+1, d.Estimates[1+j])
			}
			queue[j] = max(queue[j]+d.Estimates[1+j]+slack, 0)
		}
	}
}

// TestForgetting compares algorithms that forget with a history that never had the forgotten rounds.
func TestForgetting(t *testing.T) {
	t.Parallel()
	for algorithm, first := range map[string]int{"rpol-sw-ucb": 8, "ckb-sw-ucb": 8, "ckb-restart-ucb": 11, "penalty-noisy": 13} {
		cfg := toyConfig(t, algorithm, grounds()[0], 1)
		h, _ := play(t, cfg, 13)
		state, err := Replay(background, cfg, h)
		if err != nil {
			t.Fatal(err)
		}
		if got := state.traits.Earliest(14); got != first {
			t.Fatalf("%s: decision 14 sees rounds from %d, want %d", algorithm, got, first)
		}
		forgotten := &History{Rounds: slices.Clone(h.Rounds)}
		for i := range first - 1 {
			forgotten.Rounds[i].Excluded = true
		}
		blank, err := Replay(background, cfg, forgotten)
		if err != nil {
			t.Fatal(err)
		}
		v, err := blank.acting(background, 14, state.Multipliers(), nil)
		if err != nil {
			t.Fatal(err)
		}
		places := cfg.Space.places()
		got, want := sure(state.decision.estimate(background, places, nil)), sure(v.estimate(background, places, nil))
		if !cmp.Equal(got, want, near9) || !cmp.Equal(state.next.gain, v.gain, near9) {
			t.Errorf("%s remembers what it should have forgotten", algorithm)
		}
	}
}

// TestCeiling raises a multiplier until its cap.
func TestCeiling(t *testing.T) {
	t.Parallel()
	for algorithm, settings := range map[string]map[string]any{
		"penalty-noiseless": {"epoch_length": 1, "kappa_max": 1.2},
		"ckb-ucb":           {"beta": 0, "multiplier_cap": 0.1, "step": 0.01, "slack": 1},
	} {
		cfg := toyConfig(t, algorithm, grounds()[0], 1)
		cfg.Settings = resolved(t, cfg, settings)
		h, _ := play(t, cfg, 2)
		for i := range h.Rounds {
			h.Rounds[i].Readings = []Reading{{Told: true, Revealed: i + 1}, {Told: true, Value: 5, Revealed: i + 1}}
		}
		state, err := Replay(background, cfg, h)
		if err != nil {
			t.Fatal(err)
		}
		if at := state.AtCeiling(); len(at) != 1 || !at[0] {
			t.Errorf("%s with the multiplier %v is not at its ceiling", algorithm, state.Multipliers())
		}
	}
	free, _, _ := stateOf(t, "ckb-lyapunov", 3)
	if slices.Contains(free.AtCeiling(), true) {
		t.Error("a queue has a ceiling")
	}
}

// TestBoundsHold plays algorithms with the widths of the theory on a function of the assumed norm; their bounds must hold at every round.
func TestBoundsHold(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"rpol-ucb", "ckb-ucb", "ckb-lyapunov"} {
		cfg := toyConfig(t, algorithm, grounds()[0], 1)
		settings := map[string]any{"beta": map[string]any{"schedule": "theory", "B": 6, "R": 0.05, "p": 0.1}}
		if algorithm != "rpol-ucb" {
			settings["slater"], settings["slack"] = 0.6, 0
		}
		cfg.Settings = resolved(t, cfg, settings)
		h, _ := play(t, cfg, 20)
		state, err := Replay(background, cfg, h)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range sure(state.ViolationTrace(background)) {
			v := row[0]
			suffered := v.Soft
			if algorithm == "rpol-ucb" {
				suffered = v.Hard
			}
			if !v.HasBound || suffered > v.Bound {
				t.Errorf("%s round %d: %+v", algorithm, i+1, v)
			}
		}
	}
}

// TestWindowsSlide compares windows made from the ones before with windows regressed from nothing.
func TestWindowsSlide(t *testing.T) {
	t.Parallel()
	cfg := toyConfig(t, "ckb-sw-ucb", grounds()[0], 1)
	cfg.Costs[0].Threshold = -0.35
	cfg.Settings = resolved(t, cfg, map[string]any{"window": 24, "beta": 0.5, "slack": 0.2, "step": 1})
	h, _ := play(t, cfg, 150)
	for i, r := range h.Rounds {
		if i%40 == 30 { // a reading that comes late leaves out of turn
			r.Readings[0].Revealed += 9
		}
	}
	state, err := Replay(background, cfg, h)
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for n, trace := range sure(state.Trace(background)) {
		round := n + 1
		anew, err := state.acting(background, round, state.path.items[n], nil)
		if err != nil {
			t.Fatal(err)
		}
		near(t, round, "information gain", trace.InformationGain[0], anew.gain[0])
		estimates, err := state.ownEstimates(background, round, state.path.items[n], moment{regime: state.regimeAt(round)})
		if err != nil {
			t.Fatal(err)
		}
		next := state.policy.Step(state.path.items[n], &policy.Revealed{Round: round, Own: estimates[1:]})
		if round < len(state.path.items) {
			near(t, round, "multiplier", state.path.items[round][0], next[0])
		}
		if next[0] != 0 {
			moved++
		}
	}
	if moved < 50 {
		t.Errorf("the multiplier is above 0 in %d rounds only", moved)
	}
	for _, c := range []struct {
		last, now []int
		want      int
	}{{[]int{1, 2, 3}, []int{1, 2, 3, 4}, 0}, {[]int{1, 2, 3}, []int{2, 3, 4}, 1}, {[]int{1, 2, 3}, []int{1, 3, 4}, 6}, {nil, []int{1}, 1}} {
		if got := leaving(inOrder(c.last), inOrder(c.now)); got != c.want {
			t.Errorf("from %v to %v %d leave, want %d", c.last, c.now, got, c.want)
		}
	}
}

func inOrder(rounds []int) []arrival {
	var order []arrival
	for _, n := range rounds {
		order = append(order, arrival{round: n})
	}
	return order
}
