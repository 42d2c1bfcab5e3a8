package optimizer

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/must"
	"headroom/internal/optimizer/policy"
)

// stateOf plays a few rounds of an algorithm on arms and returns the state with what its next
// decision sees of all of them.
func stateOf(t *testing.T, algorithm string, rounds int) (*State, *History, *policy.Input) {
	t.Helper()
	cfg := toyConfig(t, algorithm, grounds()[0], 2)
	h, _ := play(t, cfg, rounds)
	state := must.Get(Replay(background, cfg, h))(t)
	places := cfg.Space.places()
	return state, h, sure(deciding(state).inputAt(background, places, toyKnown().at(places), state.draw(state.Round())))
}

// TestReread compares the posterior that one more reading would give with that of a history that
// has it.
func TestReread(t *testing.T) {
	t.Parallel()
	state, h, input := stateOf(t, "safeopt", 7)
	const x, value = 14, 0.37
	among := []int{3, 14, 30}
	const cost = 1 // the second constraint, target 2, metric 2
	a := state.next.regime.transforms[1+cost]
	longer := &History{Rounds: append(slices.Clone(h.Rounds), Round{Point: state.cfg.Space.Arms[x], Arm: x,
		Readings: []Reading{{}, {}, {Told: true, Value: a.toMetric(value - a.shift), Revealed: 8}}})}
	// A pending round narrows the others' variance; only the cost that was read is compared.
	after := must.Get(Replay(background, state.cfg, longer))(t)
	want := sure(after.decision.estimate(background, state.cfg.Space.places(), nil))[1+cost]
	got := input.Costs[cost].Reread(x, value, input.Set.Noise(1+cost, x), among, sure(input.Set.Covariances(1+cost, among))(x))
	for i, y := range among {
		near(t, 8, "reread mean", got.Mean[i], want.Mean[y])
		near(t, 8, "reread sd", got.SD[i], want.SD[y])
	}
}

// TestEarlier compares what an earlier decision is said to have seen with what a history of that
// length shows.
func TestEarlier(t *testing.T) {
	t.Parallel()
	state, h, input := stateOf(t, "stageopt", 9)
	for n := 1; n < 9; n++ {
		then := must.Get(Replay(background, state.cfg, seenAt(h, n)))(t)
		places := state.cfg.Space.places()
		want := sure(deciding(then).inputAt(background, places, toyKnown().at(places), then.draw(n)))
		got := sure(input.Set.Earlier(n))
		if got.Round != n || !cmp.Equal(got.Reward, want.Reward, near9) || !cmp.Equal(got.Costs, want.Costs, near9) || !cmp.Equal(got.Beta, want.Beta) {
			t.Errorf("decision %d is said to have seen something else than it did", n)
		}
		if !slices.Equal(got.Set.Seeds, want.Set.Seeds) {
			t.Errorf("decision %d had the seeds %v, said to have %v", n, want.Set.Seeds, got.Set.Seeds)
		}
	}
}

// TestSafePlaces holds that safe seeds are among the places of a continuous space, each place once,
// and that safe algorithms start there.
func TestSafePlaces(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"safeopt", "stageopt", "sgp-ucb"} {
		cfg := toyConfig(t, algorithm, grounds()[3], 1)
		h, decisions := play(t, cfg, 5)
		if !samePlace(decisions[0].Place, cfg.SafeSeeds[0]) {
			t.Errorf("%s starts at %v", algorithm, decisions[0].Place)
		}
		state := must.Get(Replay(background, cfg, h))(t)
		places := state.finitePlaces(background, state.draw(6))
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

// TestWhatHappenedIsNotForgotten: the violation that the model estimates is that of all rounds by all
// readings, as with an algorithm that never forgets.
func TestWhatHappenedIsNotForgotten(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"rpol-sw-ucb", "ckb-sw-ucb", "ckb-restart-ucb", "penalty-noisy"} {
		cfg := toyConfig(t, algorithm, grounds()[0], 1)
		h, _ := play(t, cfg, 13)
		got := sure(mustReplay(t, cfg, h).ViolationTrace(background))
		want := sure(mustReplay(t, toyConfig(t, "rpol-ucb", grounds()[0], 1), h).ViolationTrace(background))
		for i := range want {
			near(t, i+1, algorithm+": estimated violation", got[i][0].Estimated, want[i][0].Estimated)
		}
	}
}

// TestForgetting compares algorithms that forget with a history that never had the forgotten
// rounds.
func TestForgetting(t *testing.T) {
	t.Parallel()
	for algorithm, first := range map[string]int{"rpol-sw-ucb": 8, "ckb-sw-ucb": 8, "ckb-restart-ucb": 11, "penalty-noisy": 13} {
		cfg := toyConfig(t, algorithm, grounds()[0], 1)
		h, _ := play(t, cfg, 13)
		state := must.Get(Replay(background, cfg, h))(t)
		if got := state.traits.Earliest(14); got != first {
			t.Fatalf("%s: decision 14 sees rounds from %d, want %d", algorithm, got, first)
		}
		forgotten := &History{Rounds: slices.Clone(h.Rounds)}
		for i := range first - 1 {
			forgotten.Rounds[i].Excluded = true
		}
		blank := must.Get(Replay(background, cfg, forgotten))(t)
		v := must.Get(blank.acting(background, 14, state.Multipliers(), nil))(t)
		places := cfg.Space.places()
		got, want := sure(state.decision.estimate(background, places, nil)), sure(v.estimate(background, places, nil))
		if !cmp.Equal(got, want, near9) || !cmp.Equal(state.next.gain, v.gain, near9) {
			t.Errorf("%s remembers what it should have forgotten", algorithm)
		}
	}
}

// TestWhatIsShownAfterForgetting: until the new epoch has a reading, what is believed and recommended
// is what the ended one taught, while the decision knows nothing; without any of it nothing is
// recommended.
func TestWhatIsShownAfterForgetting(t *testing.T) {
	t.Parallel()
	for algorithm, length := range map[string]int{"ckb-restart-ucb": 5, "penalty-noisy": 4} {
		cfg, never := toyConfig(t, algorithm, grounds()[0], 1), toyConfig(t, "rpol-ucb", grounds()[0], 1)
		without := func(h *History, from, to int) *History {
			h = &History{Rounds: slices.Clone(h.Rounds)}
			for n := from; n <= to; n++ {
				h.Rounds[n-1].Excluded = true
			}
			return h
		}
		ended := played(cfg, 2*length, 3)
		state, only := mustReplay(t, cfg, ended), mustReplay(t, never, without(ended, 1, length))
		places := cfg.Space.places()
		got, chances := must.Get2(state.Believe(background, places, nil))(t)
		want, likely := must.Get2(only.Believe(background, places, nil))(t)
		for i := range want {
			if !cmp.Equal(got[i].Mean, want[i].Mean, near9) || !cmp.Equal(got[i].SD, want[i].SD, near9) || !cmp.Equal(chances, likely, near9) {
				t.Errorf("%s: of metric %d is shown what the ended epoch did not teach", algorithm, i)
			}
		}
		if d := sure(state.Suggest(background, toyKnown())); d.SD[0] < 0.9 {
			t.Errorf("%s: decision %d knows its place to within %v", algorithm, 2*length+1, d.SD[0])
		}
		first := played(cfg, length, 3)
		if got, want := sure(mustReplay(t, cfg, first).Recommendation(background)), sure(mustReplay(t, never, first).Recommendation(background)); got != want || want == 0 {
			t.Errorf("%s: after the first epoch trial %d is recommended, with all readings %d", algorithm, got, want)
		}
		blank := mustReplay(t, cfg, without(ended, length+1, 2*length))
		if got, open := sure(blank.Recommendation(background)), sure(blank.Undecided(background)); got != 0 || open.Round != 0 {
			t.Errorf("%s: by the prior alone trial %d is recommended, and trial %d undecided", algorithm, got, open.Round)
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
		state := must.Get(Replay(background, cfg, h))(t)
		if at := state.AtCeiling(); !slices.Equal(at, []int{0}) {
			t.Errorf("%s with the multiplier %v is not at its ceiling", algorithm, state.Multipliers())
		}
	}
	free, _, _ := stateOf(t, "ckb-lyapunov", 3)
	if len(free.AtCeiling()) > 0 {
		t.Error("a queue has a ceiling")
	}
}

// TestBoundsHold plays algorithms with the widths of the theory on a function of the assumed norm;
// their bounds must hold at every round.
func TestBoundsHold(t *testing.T) {
	t.Parallel()
	for algorithm, own := range map[string]map[string]any{
		"rpol-ucb": nil, "rpol-sw-ucb": {"window": 30}, "ckb-ucb": {"slater": 0.6, "slack": 0}, "ckb-lyapunov": {"slater": 0.6, "slack": 0.1},
		"scgp-ucb": {"slater": 0.6}, "penalty-noiseless": {"epoch_length": 4, "reuse": false}, "penalty-noisy": {"epoch_length": 4, "reuse": false},
	} {
		cfg := toyConfig(t, algorithm, grounds()[0], 1)
		settings := map[string]any{"beta": map[string]any{"schedule": "theory", "B": 6, "R": 0.05, "p": 0.1}}
		maps.Copy(settings, own)
		cfg.Settings = resolved(t, cfg, settings)
		h, _ := play(t, cfg, 20)
		state := must.Get(Replay(background, cfg, h))(t)
		best := math.Inf(-1)
		for _, u := range cfg.Space.Arms {
			if givenValue(0, u) <= 0 {
				best = max(best, toy(u, 0, 0)[0])
			}
		}
		regret, bounds := 0.0, sure(state.RegretBounds(background))
		for i, row := range sure(state.ViolationTrace(background)) {
			v := row[0]
			suffered := v.Soft
			if d, _ := policy.Find(algorithm); !d.Theorem.Soft {
				suffered = v.Hard
			}
			if !v.HasBound || suffered > v.Bound {
				t.Errorf("%s round %d: %+v", algorithm, i+1, v)
			}
			if regret += best - toy(h.Rounds[i].Point, 0, 0)[0]; regret > bounds[i] {
				t.Errorf("%s round %d: regret %g, bound %g", algorithm, i+1, regret, bounds[i])
			}
		}
	}
}

// TestRegretBoundIsOfTheDecisions: in units of the objective, whatever those are modelled in, the
// bound on regret is Σ 2βσ of the decisions that the algorithm made, and of no others; it needs no
// limits.
func TestRegretBoundIsOfTheDecisions(t *testing.T) {
	t.Parallel()
	for _, costs := range []int{0, 2} {
		cfg := toyConfig(t, "rpol-ucb", grounds()[1], costs)
		cfg.Standardize, cfg.Objective.Sign = true, -1
		h, decisions := play(t, cfg, 12)
		h.Rounds[5].Suggested, h.Rounds[7].Excluded = false, true
		state := must.Get(Replay(background, cfg, h))(t)
		trace := sure(state.Trace(background))
		want, bounds := 0.0, sure(state.RegretBounds(background))
		for i := range trace {
			if i != 5 && i != 7 {
				shown := trace[i].latentSD[0] * state.regimeAt(i + 1).transforms[0].scale
				want += 2 * trace[i].Beta[0] * shown
				if i < 5 {
					near(t, i+1, "deviation", decisions[i].SD[0], shown)
				}
			}
			near(t, i+1, "bound on regret", bounds[i], want)
		}
		for j := range cfg.Costs {
			v := sure(state.Violations(background))[j]
			if v.Known < 11 || v.Bounded.Known != v.Known-2 {
				t.Errorf("the bound is for %d of %d rounds", v.Bounded.Known, v.Known)
			}
		}
	}
	cfg := toyConfig(t, "log-cei", grounds()[1], 1)
	h, _ := play(t, cfg, 2)
	if state, err := Replay(background, cfg, h); err != nil || sure(state.RegretBounds(background)) != nil {
		t.Errorf("%v, and a bound on regret of an algorithm that draws none", err)
	}
}

// TestBoundsFollowWhatWasRead compares bounds that readings and multipliers go into with their
// formulas.
func TestBoundsFollowWhatWasRead(t *testing.T) {
	t.Parallel()
	cfg := toyConfig(t, "scgp-ucb", grounds()[0], 1)
	cfg.Costs[0].Threshold, cfg.Costs[0].Margin = -0.7, 0.1
	cfg.Settings = resolved(t, cfg, map[string]any{"slater": 0.6, "objective_bound": 2})
	h, _ := play(t, cfg, 9)
	state, err := Replay(background, cfg, h)
	if err != nil {
		t.Fatal(err)
	}
	queue, slack, regret, trace, bounds := 0.0, 0.0, 0.0, sure(state.Trace(background)), sure(state.RegretBounds(background))
	for i, row := range sure(state.ViolationTrace(background)) {
		root := math.Sqrt(float64(i + 1))
		moved := h.Rounds[i].Costs[0] + 0.7 + 0.1 + 1/root
		regret += 2*trace[i].Beta[0]*trace[i].latentSD[0] + 2*2*min(1/root/0.6, 1) + (moved*moved/2+queue*max(1/root-0.6, 0))/(0.6*root/16)
		queue, slack = max(queue+moved, 0), slack+1/root
		near(t, i+1, "bound of the queue", row[0].Bound, max(queue-slack, 0))
		near(t, i+1, "bound on regret", bounds[i], regret)
	}
	if queue < slack {
		t.Errorf("the queue %g is shorter than the slack %g", queue, slack)
	}

	cfg = toyConfig(t, "penalty-noisy", grounds()[0], 1)
	cfg.Costs[0].Threshold = -0.4
	cfg.Settings = resolved(t, cfg, map[string]any{"epoch_length": 4, "step": 0.5, "reuse": false, "beta": map[string]any{"schedule": "theory", "B": 1, "R": 0.05, "p": 0.1}})
	h, _ = play(t, cfg, 11)
	if state, err = Replay(background, cfg, h); err != nil {
		t.Fatal(err)
	}
	noise := 2 * 0.05 * (math.Sqrt(4*4) + math.Sqrt(4*math.Log(2*10/0.1)))
	sum := 0.0
	regret, trace, bounds = 0, sure(state.Trace(background)), sure(state.RegretBounds(background))
	for i, row := range sure(state.ViolationTrace(background)) {
		if i%4 == 0 {
			sum, regret = 0, regret+trace[i].Multipliers[0]*noise
		}
		cost := h.Rounds[i].Readings[1].Value + 0.4
		sum += cost
		regret += 2*trace[i].Beta[0]*trace[i].latentSD[0] - trace[i].Multipliers[0]*cost
		near(t, i+1, "bound of the epochs", row[0].Bound, max(4*trace[i].Multipliers[0]/0.5+sum+float64(1+i/4)*noise, 0))
		near(t, i+1, "bound on regret", bounds[i], regret)
	}
	if trace[10].Multipliers[0] == 0 {
		t.Error("no multiplier moved")
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
	state := must.Get(Replay(background, cfg, h))(t)
	moved := 0
	for n, trace := range sure(state.Trace(background)) {
		round := n + 1
		anew := must.Get(state.acting(background, round, state.pastMultipliers.items[n], nil))(t)
		near(t, round, "information gain", trace.InformationGain[0], anew.gain[0])
		estimates := must.Get(state.ownEstimates(background, round, state.pastMultipliers.items[n], moment{regime: state.regimeAt(round)}))(t)
		next := state.policy.Step(state.pastMultipliers.items[n], &policy.Revealed{Round: round, Own: estimates[1:]})
		if round < len(state.pastMultipliers.items) {
			near(t, round, "multiplier", state.pastMultipliers.items[round][0], next[0])
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
		if got := dropped(inOrder(c.last), inOrder(c.now)); got != c.want {
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
