package optimizer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headroom/internal/must"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// ground is a space to play on.
type ground struct {
	name  string
	space Space
	safe  Place // keeps every limit of the toy below
}

func grounds() []ground {
	grid := Space{Dims: []Dim{{High: 1}, {High: 1}}}
	for i := range 36 {
		grid.Arms = append(grid.Arms, []float64{float64(i%6) / 5, float64(i/6) / 5})
	}
	mixed := Space{Dims: []Dim{{High: 1}, {Kind: Categorical, Choices: 3}, {High: 1, Levels: 5}}, Settle: func(u []float64) bool {
		u[1] = (math.Floor(math.Min(u[1], 0.999)*3) + 0.5) / 3
		u[2] = math.Round(u[2]*4) / 4
		return u[0]+u[2] <= 1.8
	}}
	return []ground{
		{"arms", grid, Place{U: grid.Arms[0], Arm: 0}},
		{"one dimension", Space{Dims: []Dim{{High: 1}}}, Place{U: []float64{0}, Arm: -1}},
		{"two dimensions", Space{Dims: []Dim{{High: 1}, {High: 1}}}, Place{U: []float64{0, 0}, Arm: -1}},
		{"mixed", mixed, Place{U: []float64{0, 0.5 / 3, 0}, Arm: -1}},
	}
}

// toy is the reward and the costs at a point, with a fixed ripple in place of noise.
func toy(u []float64, round, costs int) []float64 {
	sum := 0.0
	for _, x := range u {
		sum += x
	}
	mean := sum / float64(len(u))
	ripple := 0.05 * math.Sin(float64(7*round))
	values := []float64{math.Sin(5*mean) + mean + ripple, mean - 0.6 - ripple, 0.5*u[0] - 0.35 + ripple}
	return values[:1+costs]
}

// givenValue is the toy's first cost as a formula.
func givenValue(_ int, u []float64) float64 { return toy(u, 0, 1)[1] }

// options are settings under which a round depends on others than it does without them. Each is
// played like an algorithm of its own, under the algorithm's name with a comma and its own.
var options = []struct {
	name     string
	settings map[string]any
}{
	{"ckb-ucb, doubling", map[string]any{"horizon": "doubling"}},
	{"ckb-ucb, doubling and reuse", map[string]any{"horizon": "doubling_reuse"}},
	{"ckb-lyapunov, doubling", map[string]any{"horizon": "doubling"}},
	{"ckb-rand, doubling", map[string]any{"horizon": "doubling", "distribution": "uniform"}},
	{"ckb, thompson and random", map[string]any{"explore_limits": "random"}},
	{"ckb, ucb and thompson", map[string]any{"explore_objective": "ucb", "explore_limits": "thompson", "horizon": "doubling"}},
	{"penalty-noiseless, thompson", map[string]any{"epoch_length": 4, "acquisition": "thompson"}},
	{"penalty-noiseless, thompson afresh", map[string]any{"epoch_length": 4, "acquisition": "thompson", "reuse": false}},
	{"rpol-ucb, srinivas", map[string]any{"beta": map[string]any{"schedule": "srinivas", "B": 0.1}}},
	{"ckb, random and ucb", map[string]any{"explore_objective": "random"}},
}

// algorithms are the names of all, and of their options.
func algorithms() (names []string) {
	for _, a := range policy.Descriptions() {
		names = append(names, a.Name)
	}
	for _, o := range options {
		names = append(names, o.name)
	}
	return names
}

// described is the description of an algorithm by its name or an option's.
func described(name string) policy.Description {
	algorithm, _, _ := strings.Cut(name, ",")
	a, _ := policy.Find(algorithm)
	return a
}

// toySettings are the settings without which an algorithm does not start, or those of an option.
func toySettings(algorithm string) map[string]any {
	for _, o := range options {
		if o.name == algorithm {
			return o.settings
		}
	}
	switch algorithm {
	case "rpol-censored-ucb":
		return map[string]any{"delay_window": 3, "response_bound": 0.1}
	case "rpol-sw-ucb", "ckb-sw-ucb":
		return map[string]any{"window": 6}
	case "ckb-restart-ucb":
		return map[string]any{"restart_every": 5}
	case "penalty-noiseless", "penalty-noisy":
		return map[string]any{"epoch_length": 4, "reuse": false}
	}
	return nil
}

// toyConfig is a study of the toy under an algorithm.
func toyConfig(t *testing.T, algorithm string, g ground, costs int) *Config {
	t.Helper()
	a := described(algorithm)
	cfg := &Config{Space: g.space, Algorithm: a.Name, Horizon: 40, Seed: 11, SafeSeeds: []Place{g.safe},
		Objective: Objective{Sign: 1}, Metrics: []Metric{{Name: "yield"}}}
	for j := range costs {
		c := Cost{Name: fmt.Sprint("limit ", j), Metric: 1 + j, Sign: 1}
		if a.NeedsGivenConstraint {
			c.Metric, c.Knowledge = -1, Given
		} else {
			cfg.Metrics = append(cfg.Metrics, Metric{Name: fmt.Sprint("cost ", j)})
		}
		cfg.Costs = append(cfg.Costs, c)
	}
	for i := range cfg.Metrics {
		cfg.Metrics[i].Kernel = Kernel{Name: "matern52", Lengthscales: slices.Repeat([]float64{0.4}, len(g.space.Dims)), Variance: 1}
		cfg.Metrics[i].Lambda = 0.02
	}
	cfg.Settings = resolved(t, cfg, toySettings(algorithm))
	return cfg
}

func toyKnown() Known { return Known{At: givenValue} }

// play makes a decision, tells the readings of it late for every third round, and goes on.
func play(t *testing.T, cfg *Config, rounds int) (*History, []Decision) {
	t.Helper()
	h := &History{}
	state := must.Get(Replay(background, cfg, h))(t)
	var decisions []Decision
	for n := 1; n <= rounds; n++ {
		d, err := state.Suggest(background, toyKnown())
		if err != nil {
			t.Fatalf("round %d: %v", n, err)
		}
		decisions = append(decisions, d)
		h = told(cfg, h, d)
		if state, err = state.Extend(background, h); err != nil {
			t.Fatal(err)
		}
	}
	return h, decisions
}

// told is the history after decision d and its readings; the last metric of every third round and
// the first of every fifth come one round late.
func told(cfg *Config, h *History, d Decision) *History {
	n := len(h.Rounds) + 1
	next := &History{Rounds: slices.Clone(h.Rounds)}
	costs := make([]float64, len(cfg.Costs))
	for j := range costs {
		costs[j] = givenValue(j, d.Place.U)
	}
	next.Rounds = append(next.Rounds, Round{Point: d.Place.U, Arm: d.Place.Arm, Suggested: true, Costs: costs, Draw: d.Draw,
		Readings: make([]Reading, len(cfg.Metrics))})
	last := len(cfg.Metrics) - 1
	for s := max(1, n-1); s <= n; s++ {
		r := &next.Rounds[s-1]
		r.Readings = slices.Clone(r.Readings)
		for m, value := range toy(r.Point, s, last) {
			late := m == last && s%3 == 0 || m == 0 && s%5 == 0
			if late == (s < n) {
				r.Readings[m] = Reading{Told: true, Value: value, Revealed: n}
			}
		}
	}
	return next
}

func TestGamesOfEveryAlgorithm(t *testing.T) {
	t.Parallel()
	for i, name := range algorithms() {
		for place, g := range grounds() {
			if place == 1+i%2 { // one dimension or two, in turn
				continue
			}
			for costs := range 3 {
				if costs != 1 && costs != 2*(place%2) { // every ground with one cost, and with none or two in turn
					continue
				}
				cfg := toyConfig(t, name, g, costs)
				if described(name).NeedsGivenConstraint && costs == 0 || samples(cfg) && costs != 1 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, g.name, costs), func(t *testing.T) {
					t.Parallel()
					playAndReplay(t, cfg)
				})
			}
		}
	}
}

// samples tells whether a decision draws functions over thousands of places, which takes long.
func samples(cfg *Config) bool {
	sampler := described(cfg.Algorithm).Build(cfg.Context(), cfg.Settings).Traits().Drawn != nil
	return sampler && cfg.Space.Arms == nil
}

// enough is how many rounds show all that an algorithm does: the toy's windows, epochs and restarts
// are shorter.
func enough(cfg *Config) int {
	if samples(cfg) {
		return 4
	}
	return 9
}

func playAndReplay(t *testing.T, cfg *Config) {
	t.Helper()
	h, decisions := play(t, cfg, enough(cfg))
	for i, d := range decisions {
		if u, ok := cfg.Space.settle(d.Place.U); !ok || !slices.Equal(u, d.Place.U) {
			t.Errorf("round %d is played at %v, which cannot be made", i+1, d.Place.U)
		}
		for _, v := range slices.Concat(d.Estimates, d.Mean, d.SD, d.Multipliers, d.Beta, []float64{d.Acquisition, d.FeasibilityProbability}) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("round %d: %+v is not finite", i+1, d)
			}
		}
	}
	anew := must.Get(Replay(background, cfg, h))(t)
	checkSameTrace(t, anew, decisions)
	checkLookingBack(t, anew, h)
	checkTwoParts(t, cfg, h, anew)
	checkDecidedAgain(t, cfg, h, decisions)
}

// seenAt is the history that decision t saw.
func seenAt(h *History, t int) *History {
	seen := &History{Rounds: slices.Clone(h.Rounds[:t-1])}
	for i := range seen.Rounds {
		r := &seen.Rounds[i]
		r.Readings = slices.Clone(r.Readings)
		for m, reading := range r.Readings {
			if reading.Revealed >= t {
				r.Readings[m] = Reading{}
			}
		}
	}
	return seen
}

// checkSameTrace compares what each decision recorded with what replay makes of that round.
func checkSameTrace(t *testing.T, state *State, decisions []Decision) {
	t.Helper()
	for i, trace := range sure(state.Trace(background)) {
		d := decisions[i]
		close := func(what string, got, want []float64) {
			if !cmp.Equal(got, want, near9, cmpopts.EquateEmpty()) {
				t.Errorf("round %d: %s replays as %v, was %v", i+1, what, got, want)
			}
		}
		close("multipliers", trace.Multipliers, d.Multipliers)
		close("beta", trace.Beta[:len(d.Beta)], d.Beta)
	}
}

var near9 = cmp.Comparer(within9)

func within9(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(a)) || math.IsNaN(a) && math.IsNaN(b)
}

// checkLookingBack compares what replay says that earlier decisions acted on with what they did act
// on.
func checkLookingBack(t *testing.T, state *State, h *History) {
	t.Helper()
	places := []Place{{U: h.Rounds[0].Point, Arm: h.Rounds[0].Arm}, {U: h.Rounds[2].Point, Arm: h.Rounds[2].Arm}}
	for n := 2; n < state.Round(); n++ {
		then := must.Get(Replay(background, state.cfg, seenAt(h, n)))(t)
		back := must.Get(state.acting(background, n, state.pastMultipliers.items[n-1], nil))(t)
		if !cmp.Equal(sure(back.estimate(background, places, nil)), sure(then.decision.estimate(background, places, nil)), near9) || !cmp.Equal(back.gain, then.next.gain, near9) {
			t.Errorf("decision %d acted on something else than replay says", n)
		}
	}
}

// checkTwoParts replays a history at once and in two parts.
func checkTwoParts(t *testing.T, cfg *Config, h *History, whole *State) {
	t.Helper()
	part := must.Get(Replay(background, cfg, seenAt(h, len(h.Rounds)/2)))(t)
	joined := must.Get(part.Extend(background, h))(t)
	if !cmp.Equal(joined.Multipliers(), whole.Multipliers(), near9) {
		t.Errorf("in two parts the multipliers are %v, at once %v", joined.Multipliers(), whole.Multipliers())
	}
	if diff := cmp.Diff(joined.Models(), whole.Models(), near9); diff != "" {
		t.Errorf("the models differ in two parts:\n%s", diff)
	}
	places := []Place{{U: h.Rounds[0].Point, Arm: h.Rounds[0].Arm}, {U: h.Rounds[2].Point, Arm: h.Rounds[2].Arm}}
	if diff := cmp.Diff(sure(joined.Acquisition(background, places, toyKnown())), sure(whole.Acquisition(background, places, toyKnown())), near9); diff != "" {
		t.Errorf("the acquisition differs in two parts:\n%s", diff)
	}
}

// checkDecidedAgain makes one decision again from what it saw.
func checkDecidedAgain(t *testing.T, cfg *Config, h *History, decisions []Decision) {
	t.Helper()
	n := 3 * len(decisions) / 4
	state := must.Get(Replay(background, cfg, seenAt(h, n)))(t)
	again := must.Get(state.Suggest(background, toyKnown()))(t)
	if diff := cmp.Diff(decisions[n-1], again, near9); diff != "" {
		t.Errorf("decision %d made again differs:\n%s", n, diff)
	}
}

// TestSamplesAreRecorded holds that the recorded draws give back what a Thompson sample was worth
// at the chosen point.
func TestSamplesAreRecorded(t *testing.T) {
	t.Parallel()
	_, decisions := play(t, toyConfig(t, "ckb-ts", grounds()[0], 2), 12)
	for i, d := range decisions {
		worth := d.Estimates[0]
		for j, phi := range d.Multipliers {
			worth -= phi * d.Estimates[1+j]
		}
		near(t, i+1, "worth of the sample", worth, d.Acquisition)
	}
}

// TestHaltonSpreads tries every arm once before any twice, and takes the points of the sequence
// elsewhere.
func TestHaltonSpreads(t *testing.T) {
	t.Parallel()
	_, decisions := play(t, toyConfig(t, "halton", grounds()[0], 1), 40)
	first := search.Halton(1, 2, 11)[0]
	if got, want := decisions[0].Place.U, []float64{math.Round(5*first[0]) / 5, math.Round(5*first[1]) / 5}; !cmp.Equal(got, want, near9) {
		t.Errorf("the first arm is %v; %v is nearest to %v", got, want, first)
	}
	tried := map[int]int{}
	for i, d := range decisions {
		tried[d.Place.Arm]++
		if i == 35 && len(tried) != 36 {
			t.Errorf("36 rounds try %d of 36 arms", len(tried))
		}
	}
	cfg := toyConfig(t, "halton", grounds()[2], 1)
	_, decisions = play(t, cfg, 5)
	for i, u := range search.Halton(5, 2, cfg.Seed) {
		if !slices.Equal(decisions[i].Place.U, u) {
			t.Errorf("round %d is at %v, the sequence at %v", i+1, decisions[i].Place.U, u)
		}
	}
}

// TestRandomIsUniform counts where random search goes.
func TestRandomIsUniform(t *testing.T) {
	t.Parallel()
	_, decisions := play(t, toyConfig(t, "random", grounds()[2], 0), 200)
	counts := map[[2]bool]int{}
	for _, d := range decisions {
		counts[[2]bool{d.Place.U[0] < 0.5, d.Place.U[1] < 0.5}]++
	}
	for quarter, n := range counts {
		if n < 25 || n > 75 {
			t.Errorf("%d of 200 points are in quarter %v", n, quarter)
		}
	}
	arms := map[int]bool{}
	_, decisions = play(t, toyConfig(t, "random", grounds()[0], 0), 100)
	for _, d := range decisions {
		arms[d.Place.Arm] = true
	}
	if len(arms) < 25 {
		t.Errorf("100 rounds try %d of 36 arms", len(arms))
	}
}

// TestCorrectedIsToldRight corrects a reading, and excludes a round, in the middle; the state must
// be that of a history told right at once.
func TestCorrectedIsToldRight(t *testing.T) {
	t.Parallel()
	for _, name := range algorithms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := toyConfig(t, name, grounds()[0], 1)
			h, _ := play(t, cfg, 12)
			wrong := &History{Rounds: slices.Clone(h.Rounds)}
			wrong.Rounds[4].Readings = slices.Clone(wrong.Rounds[4].Readings)
			wrong.Rounds[4].Readings[0].Value += 3
			wrong.Rounds[6].Excluded = true
			state := must.Get(Replay(background, cfg, wrong))(t)
			corrected := must.Get(state.Extend(background, h))(t)
			right := must.Get(Replay(background, cfg, h))(t)
			if diff := cmp.Diff(right.Multipliers(), corrected.Multipliers()); diff != "" {
				t.Errorf("multipliers:\n%s", diff)
			}
			places := cfg.Space.places()
			known := toyKnown()
			if diff := cmp.Diff(sure(right.Acquisition(background, places, known)), sure(corrected.Acquisition(background, places, known)), near9); diff != "" {
				t.Errorf("acquisition:\n%s", diff)
			}
			if diff := cmp.Diff(sure(right.Trace(background)), sure(corrected.Trace(background)), near9, cmp.AllowUnexported(RoundTrace{})); diff != "" {
				t.Errorf("trace:\n%s", diff)
			}
		})
	}
}

func TestNothingAllowed(t *testing.T) {
	t.Parallel()
	g := grounds()[0]
	g.space.Available = make([]bool, len(g.space.Arms))
	for _, a := range policy.Descriptions() {
		state := must.Get(Replay(background, toyConfig(t, a.Name, g, 1), &History{}))(t)
		if _, err := state.Suggest(background, toyKnown()); !errors.Is(err, ErrNoneAllowed) {
			t.Errorf("%s with no arm left: %v", a.Name, err)
		}
	}
}
