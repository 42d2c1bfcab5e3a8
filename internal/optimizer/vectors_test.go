package optimizer

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// vectors are numbers worked out by an independent implementation: 12 rounds of each algorithm on 25 arms.
type vectors struct {
	T          int         `json:"T"`
	Candidates [][]float64 `json:"candidates"`
	G          []float64   `json:"g"`
	GAfter     []float64   `json:"g_after"`
	GT         [][]float64 `json:"g_t"`
	Algorithms []struct {
		Name    string         `json:"name"`
		Kernel  vectorKernel   `json:"kernel"`
		KernelG *vectorKernel  `json:"kernel_g"`
		Lambda  float64        `json:"lam"`
		LambdaG *float64       `json:"lam_g"`
		Params  map[string]any `json:"params"`
		Metrics struct {
			Hard, Soft float64
			N          float64
		} `json:"metrics"`
		Rounds []vectorRound `json:"rounds"`
	} `json:"algorithms"`
}

type vectorKernel struct {
	Name        string          `json:"name"`
	Lengthscale json.RawMessage `json:"lengthscale"`
	Variance    float64         `json:"variance"`
}

type vectorRound struct {
	Index int        `json:"index"`
	BetaF float64    `json:"beta_f"`
	BetaG float64    `json:"beta_g"`
	Mult  float64    `json:"mult"`
	Q     *float64   `json:"Q"`
	Acq   []*float64 `json:"acq"`
	Ties  int        `json:"ties"`
	MeanF []float64  `json:"mu_f"`
	SDF   []float64  `json:"sd_f"`
	MeanG []float64  `json:"mu_g"`
	SDG   []float64  `json:"sd_g"`
	GainF float64    `json:"gain_f"`
	GainG float64    `json:"gain_g"`
	Y     float64    `json:"y"`
	C     float64    `json:"c"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	var v vectors
	data, err := os.ReadFile("testdata/algorithms.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func (k vectorKernel) kernel(t *testing.T) Kernel {
	t.Helper()
	out := Kernel{Name: k.Name, Variance: k.Variance}
	var one float64
	if json.Unmarshal(k.Lengthscale, &one) == nil {
		out.Lengthscales = []float64{one, one}
	} else if err := json.Unmarshal(k.Lengthscale, &out.Lengthscales); err != nil {
		t.Fatal(err)
	}
	return out
}

// settingsOf translates a vector's parameters into an algorithm and its settings.
func settingsOf(t *testing.T, name string, p map[string]any) (algorithm string, settings map[string]any) {
	t.Helper()
	number := func(key string) float64 { return p[key].(float64) }
	constant := func(f, g float64) any {
		return map[string]any{"r": map[string]any{"schedule": "constant", "value": f}, "c": map[string]any{"schedule": "constant", "value": g}}
	}
	theory := func(bf, bg float64) any {
		return map[string]any{
			"r": map[string]any{"schedule": "theory", "B": bf, "R": number("R"), "p": 0.1},
			"c": map[string]any{"schedule": "theory", "B": bg, "R": number("R"), "p": 0.1}}
	}
	beta := func() any {
		if v, ok := p["value"]; ok {
			return constant(v.(float64), v.(float64))
		}
		if v, ok := p["value_f"]; ok {
			return constant(v.(float64), number("value_g"))
		}
		return theory(number("B_f"), number("B_g"))
	}
	ckb := func() map[string]any {
		return map[string]any{"beta": beta(), "objective_bound": number("B"), "constraint_bound": number("G"),
			"multiplier_cap": number("rho"), "step": number("V"), "slack": number("eps")}
	}
	switch name {
	case "rpol_ucb_theory", "rpol_ucb_const", "rpol_ucb_pair":
		return "rpol-ucb", map[string]any{"beta": beta()}
	case "ckb_ucb_wide_clip", "ckb_ucb_slack":
		return "ckb-ucb", ckb()
	}
	return "", nil
}

// vectorConfig is the study of a vector: reward r to maximise, one cost c ≤ 0.
func vectorConfig(t *testing.T, v vectors, i int) *Config {
	t.Helper()
	a := v.Algorithms[i]
	algorithm, settings := settingsOf(t, a.Name, a.Params)
	if algorithm == "" {
		return nil
	}
	cfg := &Config{
		Space: Space{Dims: []Dim{{High: 1}, {High: 1}}, Arms: v.Candidates},
		Metrics: []Metric{{Name: "r", Kernel: a.Kernel.kernel(t), Lambda: a.Lambda},
			{Name: "c", Kernel: a.Kernel.kernel(t), Lambda: a.Lambda}},
		Objective: Objective{Metric: 0, Sign: 1},
		Costs:     []Cost{{Name: "c", Metric: 1, Sign: 1}},
		Algorithm: algorithm, Horizon: v.T,
	}
	if a.KernelG != nil {
		cfg.Metrics[1].Kernel, cfg.Metrics[1].Lambda = a.KernelG.kernel(t), *a.LambdaG
	}
	raw := map[string]json.RawMessage{}
	for key, value := range settings {
		raw[key], _ = json.Marshal(value)
	}
	var faults []Fault
	cfg.Settings, faults = ResolveSettings(algorithm, raw, cfg.Context())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return cfg
}

func TestVectors(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	for i, a := range v.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			cfg := vectorConfig(t, v, i)
			if cfg == nil {
				t.Fatalf("no algorithm plays %s", a.Name)
			}
			replayVector(t, v, i, cfg)
		})
	}
}

// replayVector feeds the recorded choices and readings, and compares what each next decision would use.
func replayVector(t *testing.T, v vectors, i int, cfg *Config) {
	t.Helper()
	a := v.Algorithms[i]
	h := &History{}
	places := cfg.Space.places()
	state, err := Replay(cfg, h)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range a.Rounds {
		near(t, n+1, "beta of the reward", state.Models()[0].Beta, want.BetaF)
		near(t, n+1, "beta of the cost", state.Models()[1].Beta, want.BetaG)
		near(t, n+1, "multiplier", state.Multipliers()[0], wantedMultiplier(want))
		near(t, n+1, "information gain", state.Models()[0].InformationGain, want.GainF)
		near(t, n+1, "information gain of the cost", state.Models()[1].InformationGain, want.GainG)
		belief := state.Posterior(places)
		scores := state.Acquisition(places, Known{})
		for arm := range places {
			near(t, n+1, "mean", belief[0].Mean[arm], want.MeanF[arm])
			near(t, n+1, "sd", belief[0].SD[arm], want.SDF[arm])
			near(t, n+1, "mean of the cost", belief[1].Mean[arm], want.MeanG[arm])
			near(t, n+1, "sd of the cost", belief[1].SD[arm], want.SDG[arm])
			near(t, n+1, "acquisition", scores.Values[arm], *want.Acq[arm])
		}
		if want.Ties == 1 && scores.Argmax != want.Index {
			t.Errorf("round %d: chooses arm %d, want %d", n+1, scores.Argmax, want.Index)
		}
		h = &History{Rounds: append(h.Rounds[:n:n], vectorHistory(v, want, n+1))}
		if state, err = state.Extend(h); err != nil {
			t.Fatal(err)
		}
	}
}

func wantedMultiplier(r vectorRound) float64 {
	if r.Q != nil {
		return *r.Q
	}
	return r.Mult
}

func vectorHistory(v vectors, r vectorRound, round int) Round {
	return Round{Point: v.Candidates[r.Index], Arm: r.Index, Suggested: true,
		Readings: []Reading{{Told: true, Value: r.Y, Revealed: round}, {Told: true, Value: r.C, Revealed: round}}}
}

func near(t *testing.T, round int, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("round %d: %s is %v, want %v", round, what, got, want)
	}
}
