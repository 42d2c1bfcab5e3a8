package optimizer

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// plain is a study of d continuous parameters with one cost a metric, rpol-ucb with a constant
// width.
func plain(t testing.TB, d, costs int, change func(*Config), settings string) *Config {
	t.Helper()
	cfg := &Config{Objective: Objective{Sign: 1}, Algorithm: "rpol-ucb", Horizon: 100, Seed: 7}
	lengthscales := make([]float64, d)
	for k := range d {
		cfg.Space.Dims = append(cfg.Space.Dims, Dim{High: 1})
		lengthscales[k] = 0.3
	}
	kernel := Kernel{Name: "matern52", Lengthscales: lengthscales, Variance: 1}
	cfg.Metrics = []Metric{{Name: "yield", Kernel: kernel, Lambda: 0.01}}
	for j := range costs {
		name := string(rune('a' + j))
		cfg.Metrics = append(cfg.Metrics, Metric{Name: name, Kernel: kernel, Lambda: 0.01})
		cfg.Costs = append(cfg.Costs, Cost{Name: name, Metric: 1 + j, Sign: 1, Threshold: 0.2 * float64(j)})
	}
	if change != nil {
		change(cfg)
	}
	var raw map[string]json.RawMessage
	must.Do(t, json.Unmarshal([]byte(settings), &raw))
	var faults []policy.Fault
	if cfg.Settings, faults = described(cfg.Algorithm).Resolve(raw, cfg.Context()); len(faults) > 0 {
		t.Fatal(faults)
	}
	return cfg
}

// played is a history of n rounds at scattered points, every reading told in its own round.
func played(cfg *Config, n int, seed uint64) *History {
	random := rand.New(rand.NewPCG(seed, 0))
	h := &History{}
	for t := 1; t <= n; t++ {
		u := make([]float64, len(cfg.Space.Dims))
		for k := range u {
			u[k] = random.Float64()
		}
		u, _ = cfg.Space.settle(u)
		h.Rounds = append(h.Rounds, Round{Point: u, Arm: -1, Suggested: true, Readings: readings(cfg, u, t, random)})
	}
	return h
}

func readings(cfg *Config, u []float64, t int, random *rand.Rand) []Reading {
	out := make([]Reading, len(cfg.Metrics))
	for i := range out {
		v := 0.05 * random.NormFloat64()
		for k, c := range u {
			v += math.Sin(5*c+float64(i+k)) / math.Sqrt(float64(len(u)))
		}
		out[i] = Reading{Told: true, Value: v, Revealed: t}
	}
	return out
}

// background is the context of tests that nobody ends.
var background = context.Background()

// sure is a result that cannot fail.
func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// beliefs is what is believed of each metric at places.
func (s *shown) beliefs(at []Place) []Belief {
	beliefs, _, err := s.Believe(background, at, nil)
	return sure(beliefs, err)
}

// feasibility is the feasibility probability at places, without given constraints.
func (s *shown) feasibility(at ...Place) []float64 {
	_, chances, err := s.Believe(background, at, nil)
	return sure(chances, err)
}

func mustReplay(t testing.TB, cfg *Config, h *History) *State {
	t.Helper()
	s := must.Get(Replay(background, cfg, h))(t)
	return s
}

// deciding is the next decision with what it compares places with.
func deciding(s *State) *decision { return sure(s.withIncumbent(background)) }

// TestIncumbentsAreFoundForDecisions: what is read of a state needs none, and the next state goes on
// from what a decision found.
func TestIncumbentsAreFoundForDecisions(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 2, 1, func(c *Config) { c.Algorithm = "log-cei" }, `{}`)
	h := played(cfg, 30, 3)
	s := mustReplay(t, cfg, h)
	s.Models()
	s.beliefs([]Place{s.placeOf(1)})
	sure(s.Recommendation(background))
	sure(s.Violations(background))
	if _, found := s.next.resolved.Kept(); found {
		t.Error("reading a state finds what decisions compare places with")
	}
	d := sure(s.Suggest(background, Known{}))
	before, found := s.next.resolved.Kept()
	if !found {
		t.Fatal("a decision keeps nothing of what it compared places with")
	}
	waiting := Round{Point: d.Place.U, Arm: -1, Suggested: true, Readings: make([]Reading, len(cfg.Metrics))}
	next := sure(s.Extend(background, &History{Rounds: append(slices.Clip(h.Rounds), waiting)}))
	if now := deciding(next).eligibleMeans.estimates; &now[0].Mean[0] != &before.eligibleMeans.estimates[0].Mean[0] {
		t.Error("the means at the points read are worked out again though nothing was read")
	}
}

// grid is a dense grid of allowed points, side points along each of one or two parameters.
func grid(cfg *Config, side int) []Place {
	var at []Place
	across := side
	if len(cfg.Space.Dims) == 1 {
		across = 1
	}
	for i := range side {
		for j := range across {
			u := []float64{float64(i) / float64(side-1), float64(j) / float64(side-1)}[:len(cfg.Space.Dims)]
			if v, ok := cfg.Space.settle(u); ok {
				at = append(at, Place{U: v, Arm: -1})
			}
		}
	}
	return at
}

// TestSuggestionIsTheMaximum compares suggestions with dense grids: they must come within a
// thousandth of the acquisition's range.
func TestSuggestionIsTheMaximum(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.IntRange(1, 2).Draw(rt, "parameters")
		n := rapid.IntRange(0, 60).Draw(rt, "rounds")
		costs := rapid.IntRange(0, 2).Draw(rt, "constraints")
		cfg := plain(t, d, costs, func(c *Config) {
			switch rapid.IntRange(0, 3).Draw(rt, "space") {
			case 1:
				c.Space.Settle = func(u []float64) bool { u[0] = math.Round(u[0]*7) / 7; return true }
				c.Space.Dims[0].Levels = 8
			case 2:
				c.Space.Settle = func(u []float64) bool { return u[0]+2*u[len(u)-1] <= 1.3 }
			case 3:
				c.Space.Dims[0] = Dim{Kind: Categorical, Choices: 3}
				c.Space.Settle = func(u []float64) bool { u[0] = (float64(c.Space.Dims[0].Choice(u[0])) + 0.5) / 3; return true }
			}
		}, `{"beta": 1.5}`)
		s := mustReplay(t, cfg, played(cfg, n, rapid.Uint64().Draw(rt, "seed")))
		decision := must.Get(s.Suggest(background, Known{}))(rt)
		at := grid(cfg, 101)
		values := sure(s.Acquisition(background, at, Known{})).Values
		low, high, best := math.Inf(1), math.Inf(-1), 0
		for i, v := range values {
			if v > high {
				best = i
			}
			low, high = math.Min(low, v), math.Max(high, v)
		}
		if decision.Acquisition < high-1e-3*(high-low) {
			rt.Fatalf("suggested %v with acquisition %v, the grid reaches %v at %v (range %v)", decision.Place.U, decision.Acquisition, high, at[best].U, high-low)
		}
		if recomputed := sure(s.Acquisition(background, []Place{decision.Place}, Known{})).Values[0]; math.Abs(recomputed-decision.Acquisition) > 1e-9 {
			rt.Fatalf("the decision says %v, the acquisition there is %v", decision.Acquisition, recomputed)
		}
	})
}

// TestSmallChancesAreSearched: where every place is all but sure to break a limit, constrained expected
// improvement still asks at one of the largest chance, as small as it is.
func TestSmallChancesAreSearched(t *testing.T) {
	t.Parallel()
	for _, threshold := range []float64{-3, -16, -40} {
		cfg := plain(t, 2, 1, func(c *Config) { c.Algorithm, c.Costs[0].Threshold = "cei", threshold }, `{}`)
		s := mustReplay(t, cfg, played(cfg, 20, 3))
		highest := slices.Max(sure(s.Acquisition(background, grid(cfg, 101), Known{})).Values)
		if found := sure(s.Suggest(background, Known{})).Acquisition; found < (1-1e-3)*highest {
			t.Errorf("with a limit of %g it suggests a place of %g, where the grid has one of %g", threshold, found, highest)
		}
	}
}

// TestLargeStudiesKeepTheirMaximum compares suggestions after a thousand rounds, where most places
// are ruled out by bounds and the search may spend less, with a dense grid.
func TestLargeStudiesKeepTheirMaximum(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		cfg := plain(t, 2, 2, func(c *Config) { c.Seed = seed }, `{"beta": 1.5}`)
		s := mustReplay(t, cfg, played(cfg, 1000, seed))
		decision := must.Get(s.Suggest(background, Known{}))(t)
		values := sure(s.Acquisition(background, grid(cfg, 101), Known{})).Values
		low, high := slices.Min(values), slices.Max(values)
		if decision.Acquisition < high-1e-3*(high-low) {
			t.Errorf("seed %d: suggested %v with acquisition %v, the grid reaches %v (range %v)", seed, decision.Place.U, decision.Acquisition, high, high-low)
		}
	}
}

// TestFirstDesignKeepsKnownLimits: a limit whose formula is known is kept from the first suggestion
// on, as long as some place keeps it, however it is written, and also where each trial brings
// another one; no settings come twice.
func TestFirstDesignKeepsKnownLimits(t *testing.T) {
	t.Parallel()
	for _, limit := range []struct {
		Cost
		most  func(round int) float64 // of the first coordinate
		value func(u, most float64) float64
	}{
		{Cost{Sign: 1}, func(int) float64 { return 0.35 }, func(u, most float64) float64 { return u - most }},
		{Cost{Sign: 1, Threshold: 0.35}, func(int) float64 { return 0.35 }, func(u, _ float64) float64 { return u }},
		{Cost{Sign: -1, Threshold: 0.65}, func(int) float64 { return 0.35 }, func(u, _ float64) float64 { return 1 - u }},
		{Cost{Sign: 1, Threshold: 1}, func(round int) float64 { return []float64{0.3, 0.6, 0.45}[round%3] }, func(u, most float64) float64 { return u / most }},
	} {
		for _, g := range grounds() {
			for _, algorithm := range []string{"log-cei", "rpol-ucb"} {
				limit.Name, limit.Metric, limit.Knowledge = "limit", -1, Given
				cfg := toyConfig(t, algorithm, g, 0)
				cfg.Costs = []Cost{limit.Cost}
				cfg.Settings = resolved(t, cfg, map[string]any{"initial_design": 6})
				state := mustReplay(t, cfg, &History{})
				seen := map[string]bool{}
				for round := range 6 {
					most := limit.most(round)
					d := sure(state.Suggest(background, Known{At: func(_ int, u []float64) float64 { return limit.value(u[0], most) }}))
					if d.Reason != policy.FirstDesign || d.Place.U[0] > most {
						t.Errorf("%s on %s: round %d of the design is at %v, beyond the limit", algorithm, g.name, state.Round(), d.Place.U)
					}
					seen[string(lists.Bits(d.Place.U))] = true
					state = sure(state.Extend(background, told(cfg, state.history, d)))
				}
				if len(seen) < 6 {
					t.Errorf("%s on %s: the design has %d places for 6 rounds", algorithm, g.name, len(seen))
				}
				nowhere := Known{At: func(int, []float64) float64 { return limit.Threshold + limit.Sign }}
				if d, err := mustReplay(t, cfg, &History{}).Suggest(background, nowhere); err != nil || d.Reason != policy.FirstDesign {
					t.Errorf("%s on %s: with a limit that nothing keeps, the design is %+v, %v", algorithm, g.name, d, err)
				}
			}
		}
	}
}

// TestTheNearestIsChosenWhereAllBreakAKnownLimit: where no place keeps a limit whose formula is known, the
// one that is beyond it by the least, whatever the limit's unit.
func TestTheNearestIsChosenWhereAllBreakAKnownLimit(t *testing.T) {
	t.Parallel()
	for _, g := range grounds() {
		for _, unit := range []float64{0.01, 1, 1000} {
			cfg := toyConfig(t, "log-cei", g, 0)
			cfg.Costs = []Cost{{Name: "limit", Sign: 1, Metric: -1, Knowledge: Given}}
			cfg.Settings = resolved(t, cfg, map[string]any{"initial_design": 3})
			state := mustReplay(t, cfg, &History{})
			beyond := Known{At: func(_ int, u []float64) float64 { return unit * (2 + u[0]) }}
			for range 3 {
				state = sure(state.Extend(background, told(cfg, state.history, sure(state.Suggest(background, beyond)))))
			}
			if d := sure(state.Suggest(background, beyond)); d.Reason != policy.LeastBad || d.Place.U[0] > 1e-3 {
				t.Errorf("on %s, in units of %g: %s at %v", g.name, unit, d.Reason, d.Place.U)
			}
		}
	}
}

// TestWhatWasTriedIsAskedForBeforeALimitIsBroken: of a short list whose readings do not vary, what is not
// tried yet is asked for first, but not where it is known to break a limit that something else keeps, nor
// at more risk than is left.
func TestWhatWasTriedIsAskedForBeforeALimitIsBroken(t *testing.T) {
	t.Parallel()
	list := func(c *Config) {
		c.Algorithm, c.Fit = "log-cei", true
		for i := range 6 {
			c.Space.Arms = append(c.Space.Arms, []float64{float64(i) / 5})
		}
		for i := range c.Metrics {
			c.Metrics[i].Lambda, c.Metrics[i].FreeNoise = 1e-6, true
		}
	}
	told := func(cfg *Config) *State { // of the first four, of which the last lies at the limit
		h := &History{}
		for i, u := range cfg.Space.Arms[:4] {
			readings := []Reading{{Told: true, Value: u[0], Revealed: i + 1}}
			if len(cfg.Metrics) > 1 {
				readings = append(readings, Reading{Told: true, Value: 5 * (u[0] - 0.6), Revealed: i + 1})
			}
			h.Rounds = append(h.Rounds, Round{Point: u, Arm: i, Suggested: true, Costs: make([]float64, 1), Readings: readings})
		}
		return mustReplay(t, cfg, h)
	}
	known := plain(t, 1, 1, func(c *Config) {
		list(c)
		c.Metrics, c.Costs[0].Metric, c.Costs[0].Knowledge = c.Metrics[:1], -1, Given
	}, `{"initial_design": 1}`)
	at := func(limit float64) Known {
		return Known{At: func(_ int, u []float64) float64 { return u[0] - limit }}
	}
	if d := sure(told(known).Suggest(background, at(0.9))); d.Place.Arm != 4 {
		t.Errorf("with one left within the limit candidate %d is chosen", d.Place.Arm)
	}
	if d := sure(told(known).Suggest(background, at(0.7))); d.Place.Arm > 3 || d.Reason == policy.LeastBad {
		t.Errorf("with none left within it candidate %d is chosen: %s", d.Place.Arm, d.Reason)
	}
	if d := sure(told(known).Suggest(background, at(-1))); d.Place.Arm != 4 || d.Reason != policy.LeastBad {
		t.Errorf("with none within it candidate %d is chosen: %s", d.Place.Arm, d.Reason)
	}
	risky := plain(t, 1, 1, list, `{"initial_design": 1, "most_risk": 0.05}`)
	if d := sure(told(risky).Suggest(background, Known{})); d.Place.Arm > 3 {
		t.Errorf("at more risk than is allowed candidate %d is chosen: %s", d.Place.Arm, d.Reason)
	}
}

// found is a study whose best place, on the edge of its limit, is known but for a thousandth:
// settings u ≤ ½ of the first parameter keep the limit, and the reward rises to there.
func found(t *testing.T) (*Config, *History) {
	t.Helper()
	cfg := plain(t, 2, 1, func(c *Config) {
		c.Algorithm, c.Fit = "log-cei", true
		for i := range c.Metrics {
			c.Metrics[i].Lambda, c.Metrics[i].FreeNoise = 1e-8, true // readings do not vary
			c.Metrics[i].Kernel.Lengthscales = []float64{2, 2}
		}
	}, `{}`)
	points := append(search.Halton(30, 2, 1), []float64{0.5, 0.6})
	for _, d := range []float64{-0.03, -0.01, -0.001, 0.001, 0.01, 0.03} {
		points = append(points, []float64{0.5 + d, 0.6}, []float64{0.499, 0.6 + d})
	}
	h := &History{}
	for i, u := range points {
		reward, cost := u[0]-2*(u[1]-0.6)*(u[1]-0.6), u[0]-0.5
		h.Rounds = append(h.Rounds, Round{Point: u, Arm: -1, Suggested: true, Readings: []Reading{{Told: true, Value: reward, Revealed: i + 1}, {Told: true, Value: cost, Revealed: i + 1}}, Costs: make([]float64, 1)})
	}
	return cfg, h
}

// batch asks for trials one after another without telling results.
func batch(t *testing.T, cfg *Config, h *History, count int) (decisions []Decision) {
	t.Helper()
	state := mustReplay(t, cfg, h)
	for range count {
		d := sure(state.Suggest(background, Known{}))
		decisions = append(decisions, d)
		rounds := slices.Clone(state.history.Rounds)
		state = sure(state.Extend(background, &History{Fits: h.Fits, Rounds: append(rounds, Round{Point: d.Place.U, Arm: -1, Suggested: true,
			Readings: make([]Reading, len(cfg.Metrics)), Costs: make([]float64, len(cfg.Costs)), Draw: d.Draw})}))
	}
	return decisions
}

// TestABatchAtAFoundPeakIsHeldApart: where little is left to gain, no trial of a batch lies beside
// another, and all but the first keep the limit and lie where the best may be: surely while few
// trials wait, and of more rather than not.
func TestABatchAtAFoundPeakIsHeldApart(t *testing.T) {
	t.Parallel()
	cfg, h := found(t)
	beside := func(list []Decision) (count int) {
		for i, d := range list {
			if slices.ContainsFunc(list[:i], func(o Decision) bool { return search.Within(leastDistance, o.Place.U, d.Place.U) }) {
				count++
			}
		}
		return count
	}
	unsure := *cfg
	unsure.Metrics = slices.Clone(cfg.Metrics)
	unsure.Metrics[1].Lambda, unsure.Metrics[1].FreeNoise = 0.0001, false
	careful := *cfg
	careful.Settings = resolved(t, &careful, map[string]any{"caution": 4})
	for _, game := range []struct {
		cfg    *Config
		size   int
		chance float64 // once many trials wait
	}{{&unsure, manyPending, 1}, {cfg, 3 * manyPending, 0.5}, {&careful, 3 * manyPending, 0.84}} {
		size, list := game.size, batch(t, game.cfg, h, game.size)
		if n := beside(list); n > 0 {
			t.Errorf("%d of a batch of %d lie beside another", n, size)
		}
		for _, d := range list {
			if slices.ContainsFunc(h.Rounds, func(r Round) bool { return search.Within(1e-6, r.Point, d.Place.U) }) {
				t.Errorf("%v was tried before", d.Place.U)
			}
		}
		if list[0].Reason != policy.Improve {
			t.Errorf("the first is chosen for %s", list[0].Reason)
		}
		for waiting, d := range list[1:] {
			chance := game.chance
			if waiting < manyPending {
				chance = safeEnough
			}
			if d.Reason != policy.Apart || !(d.FeasibilityProbability >= chance) || !search.Within(0.2, d.Place.U, []float64{0.5, 0.6}) {
				t.Errorf("%v is chosen for %s with a chance of %.2f", d.Place.U, d.Reason, d.FeasibilityProbability)
			}
		}
	}
}

// TestSafeAlgorithmsGoOnFromTheirSeeds: before there is a model, nothing but what somebody knows to
// be safe is tried, and readings there that hardly differ do not make the far corner safe.
func TestSafeAlgorithmsGoOnFromTheirSeeds(t *testing.T) {
	t.Parallel()
	seeds := []Place{{U: []float64{0.2, 0.3}, Arm: -1}, {U: []float64{0.21, 0.3}, Arm: -1}}
	for _, a := range policy.Descriptions() {
		if !a.NeedsSafeSeeds {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			cfg := plain(t, 2, 1, func(c *Config) {
				adaptive(c)
				c.Metrics[1].Warp = true
				c.Algorithm, c.SafeSeeds, c.Costs[0].Threshold, c.Horizon = a.Name, seeds, 0.6, 16
			}, `{}`)
			h, state, furthest := &History{}, mustReplay(t, cfg, &History{}), 0.0
			for n := range 14 {
				if state.FitDue() {
					h = &History{Rounds: h.Rounds, Fits: append(h.Fits, sure(state.FitNow(background)))}
					state = sure(state.Extend(background, h))
				}
				u := sure(state.Suggest(background, Known{})).Place.U
				if n < 2 && !slices.ContainsFunc(seeds, func(seed Place) bool { return slices.Equal(seed.U, u) }) {
					t.Errorf("round %d is at %v", n+1, u)
				}
				furthest = max(furthest, u[0])
				h = &History{Fits: h.Fits, Rounds: append(slices.Clip(h.Rounds), Round{Point: u, Arm: -1, Suggested: true,
					Readings: []Reading{{Told: true, Value: u[0] + u[1], Revealed: n + 1}, {Told: true, Value: u[0], Revealed: n + 1}}})}
				state = sure(state.Extend(background, h))
			}
			if furthest < 0.3 || furthest > 0.7 {
				t.Errorf("it goes as far as %g, where the limit is 0.6", furthest)
			}
		})
	}
}

// TestAFirstDesignIsOfDifferentSettings: candidates with the same settings are one to it.
func TestAFirstDesignIsOfDifferentSettings(t *testing.T) {
	t.Parallel()
	cfg := plain(t, 1, 1, func(c *Config) {
		for i := range 12 {
			c.Space.Arms = append(c.Space.Arms, []float64{float64(i%3) / 2})
		}
	}, `{"initial_design": 3}`)
	h, seen := &History{}, map[float64]bool{}
	for n := range 3 {
		place := sure(mustReplay(t, cfg, h).Suggest(background, Known{})).Place
		seen[place.U[0]] = true
		h.Rounds = append(h.Rounds, Round{Point: place.U, Arm: place.Arm, Readings: []Reading{{Told: true, Value: 1, Revealed: n + 1}, {Told: true, Revealed: n + 1}}})
	}
	if len(seen) != 3 {
		t.Errorf("three trials at %v", slices.Collect(maps.Keys(seen)))
	}
}
