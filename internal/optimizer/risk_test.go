package optimizer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"headroom/internal/must"
)

// cautiously is plain under the default algorithm.
func cautiously(t testing.TB, d, costs int, horizon int, settings string) *Config {
	return plain(t, d, costs, func(cfg *Config) { cfg.Algorithm, cfg.Horizon = "log-cei", horizon }, settings)
}

// read is a history whose rounds read these values of the one cost, whose limit is 0; NaN waits.
func read(values ...float64) *History {
	h := &History{}
	for i, value := range values {
		r := Round{Point: []float64{float64(i) / 20}, Arm: -1, Suggested: true, Readings: make([]Reading, 2)}
		if !math.IsNaN(value) {
			r.Readings[0] = Reading{Told: true, Value: float64(i), Revealed: i + 1}
			r.Readings[1] = Reading{Told: true, Value: value, Revealed: i + 1}
		}
		h.Rounds = append(h.Rounds, r)
	}
	return h
}

// TestStepsOfReadings: the step that a limit's readings come in is the largest that fits them and the
// limit, told to any digits, and none fits readings that have all their digits.
func TestStepsOfReadings(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		values       []float64
		limit, steps float64
	}{
		{[]float64{0, 0, 1, 0, 1}, 0, 1},
		{[]float64{0, 0, 7, 0}, 0, 0},
		{[]float64{12, 18, 24}, 18, 6},
		{[]float64{12, 18, 24, 23}, 18, 1},
		{[]float64{0.3, 0.7, 1.1, 0.4}, 0.6, 0.1},
		{[]float64{0.3, 0.7, 1.1}, 0.65, 0.05},
		{[]float64{1e4 + 0.2, 1e4 - 0.6}, 1e4, 0.2},
		{[]float64{2, 2}, 2, 0},
		{[]float64{math.NaN(), 4, math.NaN(), 1, -5}, 1, 3},
		{[]float64{random.Float64(), random.Float64(), random.Float64(), 5, 11}, 2, 0},
		{[]float64{math.Pi, math.Sqrt2, 1}, 0, 0},
	} {
		for _, unit := range []float64{1, 1.8, 4e-7} {
			cfg, h := cautiously(t, 1, 1, 10, `{}`), read(c.values...)
			cfg.Standardize, cfg.Costs[0].Threshold = true, unit*c.limit+32*unit
			for i := range h.Rounds {
				if r := &h.Rounds[i].Readings[1]; r.Told {
					r.Value = unit*r.Value + 32*unit
				}
			}
			s := mustReplay(t, cfg, h)
			if got, want := 2*s.halfStep(s.targets[1], s.Round()), unit*c.steps; math.Abs(got-want) > 1e-6*want {
				t.Errorf("%v beside %g come in steps of %g, not %g", c.values, c.limit, got/unit, c.steps)
			}
			cfg.Standardize = false
			if s := mustReplay(t, cfg, h); s.halfStep(s.targets[1], s.Round()) != 0 {
				t.Errorf("%v: with raw outputs a limit has a step", c.values)
			}
		}
	}
}

// TestRepetitionsShowNoStep: a setting that reads the same again says no more of a step than once.
func TestRepetitionsShowNoStep(t *testing.T) {
	t.Parallel()
	cfg := cautiously(t, 1, 1, 10, `{}`)
	cfg.Standardize, cfg.Costs[0].Threshold = true, 0
	for _, c := range []struct {
		values []float64
		step   float64
	}{
		{[]float64{0, 7, 7, 7}, 0},
		{[]float64{0, 7, 8, 7}, 1},
	} {
		h := read(c.values...)
		for i := range h.Rounds[1:] {
			h.Rounds[1+i].Point = h.Rounds[1].Point
		}
		s := mustReplay(t, cfg, h)
		if got := 2 * s.halfStep(s.targets[1], s.Round()); got != c.step {
			t.Errorf("%v, the last three at the same settings, come in steps of %g, not %g", c.values, got, c.step)
		}
	}
}

// TestRiskIsABudget works the risk that is left out by hand: r + (r·n − k)/(T − t + 1), between
// r/10 and r.
func TestRiskIsABudget(t *testing.T) {
	t.Parallel()
	wait := math.NaN()
	cfg := cautiously(t, 1, 1, 20, `{"most_risk": {"a": 0.1}}`)
	for _, test := range []struct {
		name    string
		change  func(cfg *Config, h *History)
		history *History
		now     float64
		trials  int
		soFar   int
	}{
		{name: "nothing yet", history: read(), now: 0.1, trials: 20},
		{name: "all within: nothing is saved up", history: read(-1, -1, -1, -1), now: 0.1, trials: 20},
		{name: "one of four beyond", history: read(-1, 1, -1, -1), now: 0.1 + (0.4-1)/16, trials: 20, soFar: 1},
		{name: "what waits has earned nothing", history: read(-1, 1, -1, wait), now: 0.1 + (0.3-1)/16, trials: 20, soFar: 1},
		{name: "overdrawn", history: read(1, 1, 1, -1), now: 0.01, trials: 20, soFar: 3},
		{name: "at the limit is within", history: read(0, 0, 0, 0), now: 0.1, trials: 20},
		{name: "taken out, it happened", history: read(-1, 1, -1, -1), change: func(_ *Config, h *History) { h.Rounds[1].Excluded = true }, now: 0.1 + (0.4-1)/16, trials: 20, soFar: 1},
		{name: "people's own", history: read(1, 1, 1, -1), change: func(_ *Config, h *History) { h.Rounds[0].Suggested, h.Rounds[2].Suggested = false, false },
			now: 0.1 + (0.2-1)/16, trials: 18, soFar: 1},
		{name: "past the plan", history: read(append(slices.Repeat([]float64{-1}, 20), 1)...), now: 0.1, trials: 21, soFar: 1},
		{name: "first design", history: read(1, 1, 1, 1), change: func(cfg *Config, _ *History) {
			cfg.Settings = resolved(t, cfg, map[string]any{"most_risk": map[string]any{"A": 0.1}, "initial_design": 3})
		}, now: 0.1 + (0.1-1)/16, trials: 17, soFar: 1},
	} {
		here := *cfg
		if test.change != nil {
			test.change(&here, test.history)
		}
		got := sure(mustReplay(t, &here, test.history).Risks(background))[0]
		if math.Abs(got.Now-test.now) > 1e-15 || got.Trials != test.trials || got.SoFar != test.soFar || math.Abs(got.Allowed-0.1*float64(test.trials)) > 1e-12 {
			t.Errorf("%s: %+v, want now %g of %d trials with %d beyond", test.name, got, test.now, test.trials, test.soFar)
		}
	}
	expected := func(values ...float64) float64 {
		return sure(mustReplay(t, cfg, read(values...)).Risks(background))[0].Expected
	}
	if told, waiting := expected(-1, 1, -1), expected(-1, 1, -1, wait); told == 0 || waiting != told {
		t.Errorf("%g expected of three that were read, and %g with one that waits", told, waiting)
	}
	if none := sure(mustReplay(t, cautiously(t, 1, 1, 20, `{}`), read(1)).Risks(background)); none != nil {
		t.Errorf("nobody asked for %+v", none)
	}
}

// TestRiskOfOneLimit holds only the limit that is named, each by itself those that are, and any of
// them for one number.
func TestRiskOfOneLimit(t *testing.T) {
	t.Parallel()
	chosen := func(settings string) (a, b float64) {
		cfg := cautiously(t, 2, 2, 100, settings)
		cfg.Costs[0].Threshold, cfg.Costs[1].Threshold = 0.5, 0.5
		h := &History{}
		for i := range 9 {
			x, y := float64(i%3)*0.2, float64(i/3)*0.2 // rewards rise with both, and so do the costs
			told := func(v float64) Reading { return Reading{Told: true, Value: v, Revealed: i + 1} }
			h.Rounds = append(h.Rounds, Round{Point: []float64{x, y}, Arm: -1, Readings: []Reading{told(x + y), told(x), told(y)}})
		}
		state := mustReplay(t, cfg, h)
		d := sure(state.Suggest(background, Known{}))
		estimates := sure(state.shown.estimate(background, []Place{d.Place}, nil))
		return state.shown.breakChance(estimates, 0, 0), state.shown.breakChance(estimates, 1, 0)
	}
	const most, free = 0.02, 0.05
	if a, b := chosen(`{}`); a < free || b < free {
		t.Fatalf("without a risk %g and %g are taken, too little to see a difference", a, b)
	}
	for _, test := range []struct {
		settings string
		kept     func(a, b float64) bool
	}{
		{`{"most_risk": {"a": 0.02}}`, func(a, b float64) bool { return a <= most && b >= free }},
		{`{"most_risk": {"B": 0.02}}`, func(a, b float64) bool { return a >= free && b <= most }},
		{`{"most_risk": {"default": 0.02, "a": 1}}`, func(a, b float64) bool { return a >= free && b <= most }},
		{`{"most_risk": {"default": 0.02}}`, func(a, b float64) bool { return a <= most && b <= most && 1-(1-a)*(1-b) > most }},
		{`{"most_risk": 0.02}`, func(a, b float64) bool { return 1-(1-a)*(1-b) <= most }},
	} {
		if a, b := chosen(test.settings); !test.kept(a, b) {
			t.Errorf("%s takes %g of a and %g of b", test.settings, a, b)
		}
	}
}

// TestBatchIsNotSaferThanItsTrials: a trial that waits takes the doubt from its surroundings, and
// has not said yet that they are within the limit.
func TestBatchIsNotSaferThanItsTrials(t *testing.T) {
	t.Parallel()
	cfg, h := cautiously(t, 1, 1, 40, `{"most_risk": 0.05}`), &History{}
	cfg.Costs[0].Threshold = 0.6
	for i, x := range []float64{0, 0.2, 0.4} {
		h.Rounds = append(h.Rounds, Round{Point: []float64{x}, Arm: -1, Readings: []Reading{{Told: true, Value: x, Revealed: i + 1}, {Told: true, Value: x, Revealed: i + 1}}})
	}
	for range 8 {
		state := mustReplay(t, cfg, h)
		d := sure(state.Suggest(background, Known{}))
		if risk := 1 - d.FeasibilityProbability; risk > 0.05+1e-9 {
			t.Errorf("trial %d of the batch, at %.3f, breaks the limit with a chance of %.3f", state.Round(), d.Place.U[0], risk)
		}
		h.Rounds = append(slices.Clip(h.Rounds), Round{Point: d.Place.U, Arm: -1, Suggested: true, Readings: make([]Reading, 2)})
	}
}

// TestWhatWaitsMakesNothingSafe: what an algorithm that stays within the safe set chooses in a batch is
// within it by the readings alone.
func TestWhatWaitsMakesNothingSafe(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"safeopt", "stageopt", "sgp-ucb"} {
		cfg, h := plain(t, 1, 1, func(cfg *Config) {
			cfg.Algorithm, cfg.Horizon, cfg.SafeSeeds = algorithm, 9, []Place{{U: []float64{0}, Arm: -1}}
			cfg.Costs[0].Threshold = 0.6
		}, `{"beta": 2}`), &History{}
		for i, x := range []float64{0, 0.2, 0.4} {
			h.Rounds = append(h.Rounds, Round{Point: []float64{x}, Arm: -1, Readings: []Reading{{Told: true, Value: x, Revealed: i + 1}, {Told: true, Value: x, Revealed: i + 1}}})
		}
		narrower := 0
		for range 8 {
			state := mustReplay(t, cfg, h)
			d := sure(state.Suggest(background, Known{}))
			g := sure(state.shown.estimate(background, []Place{d.Place}, nil))[1]
			if u := g.Mean[0] + 2*g.SD[0]; u > 1e-9 && d.Place.U[0] != 0 {
				t.Errorf("%s: trial %d of the batch, at %.3f, may lie %.3f beyond the limit", algorithm, state.Round(), d.Place.U[0], u)
			}
			if soon := sure(deciding(state).estimate(background, []Place{d.Place}, nil))[1]; soon.SD[0] < g.SD[0] {
				narrower++
			}
			h.Rounds = append(slices.Clip(h.Rounds), Round{Point: d.Place.U, Arm: -1, Suggested: true, Readings: make([]Reading, 2)})
		}
		if narrower < 5 {
			t.Errorf("%s: what waits took doubt from %d of 8 places: this test shows nothing", algorithm, narrower)
		}
	}
}

// drawn is a study on 30 candidates whose two functions are drawn from the prior that it is
// modelled with. The objective rises with the cost.
func drawnStudy(t *testing.T, random *rand.Rand, settings string) (cfg *Config, truth [][]float64) {
	cfg = cautiously(t, 1, 1, 15, settings)
	cfg.Standardize, cfg.Costs[0].Threshold = true, 1.3
	for m := range cfg.Metrics {
		cfg.Metrics[m].Lambda = 1e-6
	}
	for i := range 30 {
		cfg.Space.Arms = append(cfg.Space.Arms, []float64{float64(i) / 29})
	}
	prior := mat.NewSymDense(30, nil)
	for i := range 30 {
		for j := range i + 1 {
			w := math.Sqrt(5) * math.Abs(cfg.Space.Arms[i][0]-cfg.Space.Arms[j][0]) / 0.3
			prior.SetSym(i, j, (1+w+w*w/3)*math.Exp(-w))
		}
		prior.SetSym(i, i, 1+1e-10)
	}
	var factor mat.Cholesky
	if !factor.Factorize(prior) {
		t.Fatal("no factor")
	}
	var l mat.TriDense
	factor.LTo(&l)
	for range 2 {
		normal, f := mat.NewVecDense(30, nil), mat.NewVecDense(30, nil)
		for i := range 30 {
			normal.SetVec(i, random.NormFloat64())
		}
		f.MulVec(&l, normal)
		truth = append(truth, f.RawVector().Data)
	}
	for i, cost := range truth[1] {
		truth[0][i] = 0.3*truth[0][i] + cost
	}
	return cfg, truth
}

// TestBudgetIsKeptWhereChancesAreRight plays functions drawn from the model's own prior: the trials
// beyond the limit are then as many as expected, which are at most as many as allowed. Without the
// risk they are several times as many.
func TestBudgetIsKeptWhereChancesAreRight(t *testing.T) {
	t.Parallel()
	const games = 200
	random := rand.New(rand.NewPCG(16, 6))
	var allowed, expected, soFar, squares float64
	for game := range games {
		cfg, truth := drawnStudy(t, random, `{"most_risk": 0.1}`)
		unit := FittedMetric{Set: true, Scale: 1, Count: 2}
		h := &History{Fits: []Fit{{From: 1, Metrics: []FittedMetric{unit, unit}}}}
		state := mustReplay(t, cfg, h)
		for n := 1; n <= cfg.Horizon; n++ {
			d := sure(state.Suggest(background, Known{}))
			r := Round{Point: d.Place.U, Arm: d.Place.Arm, Suggested: true}
			for m := range truth {
				r.Readings = append(r.Readings, Reading{Told: true, Value: truth[m][d.Place.Arm], Revealed: n})
			}
			h = &History{Rounds: append(slices.Clip(h.Rounds), r), Fits: h.Fits}
			state = sure(state.Extend(background, h))
		}
		b := sure(state.Risks(background))[0]
		if game == 0 {
			if diff := cmp.Diff(b, sure(mustReplay(t, cfg, h).Risks(background))[0]); diff != "" {
				t.Errorf("replayed anew the budget differs:\n%s", diff)
			}
		}
		allowed, expected, soFar, squares = allowed+b.Allowed/games, expected+b.Expected/games, soFar+float64(b.SoFar)/games, squares+float64(b.SoFar*b.SoFar)/games
	}
	off := 3 * math.Sqrt((squares-soFar*soFar)/games)
	if expected > allowed || soFar > allowed+off || math.Abs(soFar-expected) > off || soFar == 0 {
		t.Errorf("%.2f allowed, %.2f expected, %.2f ± %.2f beyond", allowed, expected, soFar, off/3)
	}
}

// TestLimitsOnOneMetricAreOnOneNumber: what lies beyond one of two limits does not lie beyond the
// other, and what breaks the tighter of two on one side may break both.
func TestLimitsOnOneMetricAreOnOneNumber(t *testing.T) {
	t.Parallel()
	const most, least = 0.4, -0.3
	cfg := plain(t, 1, 1, func(c *Config) {
		c.Standardize, c.Costs[0].Threshold = true, most
		c.Costs = append(c.Costs, Cost{Name: "low", Metric: 1, Sign: -1, Threshold: least}, Cost{Name: "loose", Metric: 1, Sign: 1, Threshold: 2 * most})
	}, `{}`)
	s := mustReplay(t, cfg, played(cfg, 9, 5))
	var at []Place
	for i := range 41 {
		at = append(at, Place{U: []float64{float64(i) / 40}, Arm: -1})
	}
	within := func(belief Belief, i int, most float64) float64 {
		of := distuv.Normal{Mu: belief.Mean[i], Sigma: belief.SD[i]}
		return of.CDF(most) - of.CDF(least)
	}
	beliefs, chances := must.Get2(s.Believe(background, at, nil))(t)
	estimates := sure(s.shown.estimate(background, at, nil))
	for i, chance := range chances {
		want := within(beliefs[1], i, most)
		if math.Abs(chance-want) > 1e-9 {
			t.Errorf("at %v within both with %v, want %v", at[i].U, chance, want)
		}
		var breaks []float64
		for j := range cfg.Costs {
			breaks = append(breaks, s.shown.breakChance(estimates, j, i))
		}
		if any := s.cfg.chanceAny(breaks, []int{0, 1, 2}); math.Abs(any-(1-want)) > 1e-9 {
			t.Errorf("at %v beyond one with %v, want %v", at[i].U, any, 1-want)
		}
	}
	for _, step := range sure(s.Price(background, 0, Known{})).Steps {
		if !step.Found {
			continue
		}
		beliefs := s.beliefs([]Place{step.Place})
		if chance := within(beliefs[1], 0, step.Threshold); chance < safeEnough-1e-6 {
			t.Errorf("with a limit of %v the settings priced are within both with %v", step.Threshold, chance)
		}
	}
	chance := func(round, n int) float64 {
		return s.shown.chanceAfter(sure(s.shown.inSample(background)), round, n, false)
	}
	for round := 1; round <= 9; round++ {
		own := s.beliefs([]Place{s.placeOf(round)})
		if got, want := chance(round, 0), within(own[1], 0, most); math.Abs(got-want) > 1e-9 {
			t.Errorf("trial %d is within both with %v, want %v", round, got, want)
		}
	}
}
