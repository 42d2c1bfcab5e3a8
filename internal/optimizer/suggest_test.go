package optimizer

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/optimizer/policy"
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
	if err := json.Unmarshal([]byte(settings), &raw); err != nil {
		t.Fatal(err)
	}
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

func mustReplay(t testing.TB, cfg *Config, h *History) *State {
	t.Helper()
	s, err := Replay(background, cfg, h)
	if err != nil {
		t.Fatal(err)
	}
	return s
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
		decision, err := s.Suggest(background, Known{})
		if err != nil {
			rt.Fatal(err)
		}
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

// TestLargeStudiesKeepTheirMaximum compares suggestions after a thousand rounds, where most places
// are ruled out by bounds and the search may spend less, with a dense grid.
func TestLargeStudiesKeepTheirMaximum(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		cfg := plain(t, 2, 2, func(c *Config) { c.Seed = seed }, `{"beta": 1.5}`)
		s := mustReplay(t, cfg, played(cfg, 1000, seed))
		decision, err := s.Suggest(background, Known{})
		if err != nil {
			t.Fatal(err)
		}
		values := sure(s.Acquisition(background, grid(cfg, 101), Known{})).Values
		low, high := slices.Min(values), slices.Max(values)
		if decision.Acquisition < high-1e-3*(high-low) {
			t.Errorf("seed %d: suggested %v with acquisition %v, the grid reaches %v (range %v)", seed, decision.Place.U, decision.Acquisition, high, high-low)
		}
	}
}
