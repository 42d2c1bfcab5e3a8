package optimizer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
)

// unit is an affine change of a metric's unit.
type unit struct{ factor, offset float64 }

func (u unit) of(v float64) float64 { return u.factor*v + u.offset }

// units are those of a study's metrics and parameters.
type units struct {
	metrics, parameters []unit
	order               []int // where each choice of the categorical parameter is listed
	extend              bool  // the state is extended round by round, not replayed
}

// TestGamesInOtherUnitsAreTheSame plays every algorithm on a small table in two units of every metric,
// thresholds moved along, and of every parameter, and with the choices of a category listed in two
// orders, all at once. What is suggested, and the multipliers, must be the same, also before the
// first fit and with late readings. (A constraint of known form is no metric: its unit stays.)
func TestGamesInOtherUnitsAreTheSame(t *testing.T) {
	t.Parallel()
	none := []int{0, 1, 2, 3, 4}
	plain := units{metrics: []unit{{1, 0}, {1, 0}, {1, 0}}, parameters: []unit{{1, 0}, {1, 0}}, order: none}
	other := units{metrics: []unit{{1000, -17}, {0.002, 40}, {3e6, 5e5}}, parameters: []unit{{40, -3}, {0.01, 7}}, order: []int{3, 0, 4, 2, 1}, extend: true}
	compare := func(a policy.Description, name, settings, kernel string, late int) {
		t.Run(a.Name+" "+name, func(t *testing.T) {
			t.Parallel()
			want, wantPrices := playTable(t, a, settings, kernel, late, plain)
			got, gotPrices := playTable(t, a, settings, kernel, late, other)
			if !slices.Equal(got, want) {
				t.Errorf("it suggests %v, not %v", got, want)
			}
			for i, p := range wantPrices {
				for j := range p {
					if math.Abs(gotPrices[i][j]-p[j]) > 1e-6*max(1, math.Abs(p[j])) {
						t.Fatalf("round %d: multipliers %v, %v as it was", i+1, gotPrices[i], p)
					}
				}
			}
		})
	}
	for algorithm, settings := range map[string]string{"ckb-ucb": `{"horizon": "doubling"}`, "ckb-lyapunov": `{"horizon": "doubling_reuse"}`,
		"ckb": `{"horizon": "doubling", "explore_limits": "random"}`, "penalty-noiseless": `{"acquisition": "thompson"}`} {
		a, _ := policy.Find(algorithm)
		compare(a, settings, settings, "mixed", 0)
		compare(a, settings+" late", settings, "matern52", 3)
	}
	for i, a := range policy.Descriptions() {
		for n, c := range []struct {
			name, settings, kernel string
			late                   int
		}{{"as it comes", `{}`, "mixed", 0}, {"with an interaction", `{}`, "anova", 0}, {"without a first design", `{"initial_design": 0}`, "matern52", 0}, {"late", `{"initial_design": 2}`, "matern52", 3}} {
			if n == 2+i%2 { // without a first design or late, in turn
				continue
			}
			compare(a, c.name, c.settings, c.kernel, c.late)
		}
	}
}

// playTable plays 14 rounds on 30 arms and returns the arms and the multipliers before each round.
// Readings arrive late rounds after theirs.
func playTable(t *testing.T, a policy.Description, settings, kernel string, late int, in units) (arms []int, multipliers [][]float64) {
	t.Helper()
	ctx := context.Background()
	random := rand.New(rand.NewPCG(3, 5))
	cfg := &optimizer.Config{Objective: optimizer.Objective{Sign: -1}, Algorithm: a.Name, Horizon: 14, Seed: 9, Standardize: true, Fit: true}
	var lengthscales []float64
	for _, u := range in.parameters {
		cfg.Space.Dims = append(cfg.Space.Dims, optimizer.Dim{Low: u.of(0), High: u.of(1)})
		lengthscales = append(lengthscales, 0.3*u.factor)
	}
	cfg.Space.Dims = append(cfg.Space.Dims, optimizer.Dim{Kind: optimizer.Categorical, Choices: 5})
	lengthscales = append(lengthscales, 2)
	var choices []int
	for range 30 {
		choices = append(choices, random.IntN(5))
		cfg.Space.Arms = append(cfg.Space.Arms, []float64{random.Float64(), random.Float64(), (float64(in.order[choices[len(choices)-1]]) + 0.5) / 5})
	}
	for i, name := range []string{"f", "g", "h"} {
		cfg.Metrics = append(cfg.Metrics, optimizer.Metric{Name: name, Lambda: 1.1, FreeLengthscales: true, FreeNoise: true, FreeVariance: true, Warp: true,
			Kernel: optimizer.Kernel{Name: kernel, Variance: 1, Lengthscales: lengthscales}})
		if i > 0 {
			sign := float64(3 - 2*i)
			cfg.Costs = append(cfg.Costs, optimizer.Cost{Name: "limit " + name, Metric: i, Sign: sign, Threshold: in.metrics[i].of(0.2), Margin: 0.02})
		}
	}
	if a.NeedsGivenConstraint {
		cfg.Metrics = cfg.Metrics[:1]
		for j := range cfg.Costs {
			cfg.Costs[j].Metric, cfg.Costs[j].Knowledge, cfg.Costs[j].Threshold = -1, optimizer.Given, 0.2
		}
	}
	cfg.SafeSeeds = []optimizer.Place{{U: cfg.Space.Arms[4], Arm: 4}}
	value := func(metric, arm int) float64 {
		u := cfg.Space.Arms[arm]
		return math.Sin(5*u[0]+float64(metric)) * math.Cos(4*u[1]-2*float64(metric)+float64(choices[arm]*choices[arm]))
	}
	raw := map[string]json.RawMessage{}
	must.Do(t, json.Unmarshal([]byte(settings), &raw))
	for name, v := range map[string]string{"epoch_length": "3", "window": "8", "delay_window": "4", "response_bound": "0.5", "restart_every": "6"} {
		if slices.ContainsFunc(a.Settings, func(s policy.Setting) bool { return s.Name == name }) {
			raw[name] = json.RawMessage(v)
		}
	}
	var faults []policy.Fault
	if cfg.Settings, faults = a.Resolve(raw, cfg.Context()); len(faults) > 0 {
		t.Fatal(faults)
	}
	var known optimizer.Known
	given := make([]float64, len(cfg.Costs))
	if a.NeedsGivenConstraint {
		known.Arms = make([][]float64, len(cfg.Costs))
		for j := range cfg.Costs {
			for arm := range cfg.Space.Arms {
				known.Arms[j] = append(known.Arms[j], value(1+j, arm))
			}
		}
	}
	h := &optimizer.History{}
	state := replay(t, cfg, h)
	next := func() {
		if !in.extend {
			state = replay(t, cfg, h)
			return
		}
		longer := must.Get(state.Extend(ctx, h))(t)
		state = longer
	}
	for n := 1; n <= cfg.Horizon; n++ {
		if state.FitDue() {
			fit := must.Get(state.FitNow(ctx))(t)
			h = &optimizer.History{Rounds: h.Rounds, Fits: append(slices.Clone(h.Fits), fit)}
			next()
		}
		d, err := state.Suggest(ctx, known)
		if err != nil {
			t.Fatal(err)
		}
		if n == 2 && d.Place.Arm == arms[0] {
			// Equal readings have no scale: whoever chooses the same arm twice at first is given
			// another.
			if d, err = state.Own(ctx, optimizer.Place{U: cfg.Space.Arms[7], Arm: 7}, known); err != nil {
				t.Fatal(err)
			}
		}
		arms, multipliers = append(arms, d.Place.Arm), append(multipliers, state.Multipliers())
		round := optimizer.Round{Point: d.Place.U, Arm: d.Place.Arm, Suggested: true, Draw: d.Draw}
		for i := range cfg.Metrics {
			round.Readings = append(round.Readings, optimizer.Reading{Value: in.metrics[i].of(value(i, d.Place.Arm)), Revealed: n + late})
		}
		for j := range given {
			if known.Arms != nil {
				given[j] = known.Arms[j][d.Place.Arm]
			}
		}
		round.Costs = slices.Clone(given)
		h = &optimizer.History{Rounds: append(slices.Clone(h.Rounds), round), Fits: h.Fits}
		for i := range h.Rounds {
			readings := slices.Clone(h.Rounds[i].Readings)
			for m := range readings {
				readings[m].Told = readings[m].Revealed <= n
			}
			h.Rounds[i].Readings = readings
		}
		next()
	}
	return arms, multipliers
}

func replay(t *testing.T, cfg *optimizer.Config, h *optimizer.History) *optimizer.State {
	t.Helper()
	state, err := optimizer.Replay(context.Background(), cfg, h)
	if err != nil {
		t.Fatal(fmt.Errorf("replay: %w", err))
	}
	return state
}
