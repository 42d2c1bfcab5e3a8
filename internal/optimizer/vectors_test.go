package optimizer

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/policy"
)

// vectors are numbers worked out by an independent implementation: 12 rounds of each algorithm on
// 25 arms.
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
	GainG *float64   `json:"gain_g"`
	Y     float64    `json:"y"`
	C     float64    `json:"c"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	var v vectors
	data := must.Get(os.ReadFile("testdata/algorithms.json"))(t)
	must.Do(t, json.Unmarshal(data, &v))
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
	penalty := func() map[string]any {
		return map[string]any{"beta": theoryAt(number("B"), number("delta"), number("R")), "epoch_length": number("S"), "reuse": p["reuse"]}
	}
	with := func(m map[string]any, more map[string]any) map[string]any {
		maps.Copy(m, more)
		return m
	}
	switch name {
	case "rpol_ucb_theory", "rpol_ucb_const", "rpol_ucb_pair":
		return "rpol-ucb", map[string]any{"beta": beta()}
	case "config_const":
		return "config", map[string]any{"beta": beta()}
	case "rpol_censored_scaled":
		return "rpol-censored-ucb", map[string]any{"beta": beta(), "delay_window": number("m"),
			"response_bound": map[string]any{"r": number("B_r"), "c": number("B_c")}}
	case "rpol_sw_const":
		return "rpol-sw-ucb", map[string]any{"beta": beta(), "window": number("W"),
			"drift_width": map[string]any{"r": number("Gamma_f"), "c": number("Gamma_g")}}
	case "ckb_ucb_wide_clip", "ckb_ucb_slack":
		return "ckb-ucb", ckb()
	case "ckb_rand_gauss", "ckb_rand_unif", "ckb_rand_dgauss":
		distribution := map[string]string{"gauss": "gaussian", "unif": "uniform", "dgauss": "truncated_gaussian"}[p["dist"].(string)]
		return "ckb-rand", with(ckb(), map[string]any{"distribution": distribution, "points": number("n_pts"), "spread": number("dg_sd")})
	case "alg2_exp_restart":
		return "penalty-noiseless", with(penalty(), map[string]any{"psi": map[string]any{"form": "exponential", "rate": number("c")}})
	case "alg3_reuse":
		return "penalty-noisy", with(penalty(), map[string]any{"step": number("mu")})
	case "scgp_case1_const":
		return "scgp-ucb", map[string]any{"beta": number("value"), "objective_bound": number("B"), "slater": number("slater"),
			"schedule_bound": number("schedule_B"), "variant": "i"}
	case "igp_ucb":
		return "igp-ucb", map[string]any{"beta": theoryAt(number("B"), number("delta"), number("R"))}
	}
	return "", nil
}

func theoryAt(b, p, r float64) any {
	return map[string]any{"schedule": "theory", "B": b, "R": r, "p": p}
}

// vectorConfig is the study of a vector: reward r to maximise, one cost c ≤ 0, which is given where
// it is sampled.
func vectorConfig(t *testing.T, v vectors, i int) *Config {
	t.Helper()
	a := v.Algorithms[i]
	algorithm, settings := settingsOf(t, a.Name, a.Params)
	if algorithm == "" {
		t.Fatalf("no algorithm plays %s", a.Name)
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
	if algorithm == "scgp-ucb" {
		cfg.Metrics = cfg.Metrics[:1]
		cfg.Costs[0].Metric, cfg.Costs[0].Knowledge = -1, Given
	}
	cfg.Settings = resolved(t, cfg, settings)
	return cfg
}

// resolved are settings that must be without fault.
func resolved(t *testing.T, cfg *Config, settings map[string]any) policy.Settings {
	t.Helper()
	raw := map[string]json.RawMessage{}
	for key, value := range settings {
		var err error
		if raw[key], err = json.Marshal(value); err != nil {
			t.Fatal(err)
		}
	}
	out, faults := described(cfg.Algorithm).Resolve(raw, cfg.Context())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return out
}

func TestVectors(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	if len(v.Algorithms) != 15 {
		t.Fatalf("%d vectors, want 15", len(v.Algorithms))
	}
	for i, a := range v.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			replayVector(t, v, i, vectorConfig(t, v, i))
		})
	}
}

// replayVector feeds the recorded choices and readings, and compares what each next decision would
// use, from a state grown round by round and from one replayed from nothing.
func replayVector(t *testing.T, v vectors, i int, cfg *Config) {
	t.Helper()
	a := v.Algorithms[i]
	var grown *State
	for n, want := range a.Rounds {
		h := vectorHistory(t, v, i, n)
		anew, err := Replay(background, cfg, h)
		if err != nil {
			t.Fatal(err)
		}
		if grown == nil {
			grown = anew
		} else if grown, err = grown.Extend(background, h); err != nil {
			t.Fatal(err)
		}
		for _, state := range []*State{grown, anew} {
			compareRound(t, state, want, Known{Arms: [][]float64{v.GT[n]}}, Draw{Seed: 1, Z: vectorDraw(t, a.Params, want, n)})
		}
	}
	compareViolation(t, v, i)
}

// widthOf is a model's β, 0 where the algorithm has none.
func widthOf(m Model) float64 {
	if m.Beta == nil {
		return 0
	}
	return *m.Beta
}

// compareRound compares what the next decision of a state acts on. Where the algorithm regresses
// something else than the arrived readings, the vector's posterior is that of its own regression,
// so it is read from the view that the decision acts on.
func compareRound(t *testing.T, state *State, want vectorRound, known Known, draw Draw) {
	t.Helper()
	n := state.Round()
	models := state.Models()
	near(t, n, "beta of the reward", widthOf(models[0]), want.BetaF)
	near(t, n, "information gain", models[0].InformationGain, want.GainF)
	if len(models) > 1 {
		near(t, n, "beta of the cost", widthOf(models[1]), want.BetaG)
	}
	if want.GainG != nil {
		near(t, n, "information gain of the cost", models[1].InformationGain, *want.GainG)
	}
	multiplier := 0.0
	if m := state.Multipliers(); m != nil {
		multiplier = m[0]
	}
	near(t, n, "multiplier", multiplier, wantedMultiplier(want))
	places := state.cfg.Space.places()
	acted := sure(state.decision.estimate(background, places, nil))
	shown := state.beliefs(places)
	raw := sure(state.policy.Score(sure(deciding(state).inputAt(background, places, known.at(places), draw))))
	values, allowed, _ := state.choosable(raw, places)
	for arm := range places {
		near(t, n, "mean", acted[0].Mean[arm], want.MeanF[arm])
		near(t, n, "sd", acted[0].SD[arm], want.SDF[arm])
		if want.MeanG != nil {
			near(t, n, "mean of the cost", acted[1].Mean[arm], want.MeanG[arm])
			near(t, n, "sd of the cost", acted[1].SD[arm], want.SDG[arm])
		}
		if !state.traits.ActsOnOwnData() {
			near(t, n, "mean shown", shown[0].Mean[arm], want.MeanF[arm])
			near(t, n, "sd shown", shown[0].SD[arm], want.SDF[arm])
		}
		if allowed[arm] != (want.Acq[arm] != nil) {
			t.Errorf("round %d: arm %d may be chosen: %v", n, arm, allowed[arm])
		} else if allowed[arm] {
			near(t, n, "acquisition", values[arm], *want.Acq[arm])
		}
	}
	if chosen := Argmax(values, raw.Untruncated, allowed, raw.Relative); want.Ties == 1 && chosen != want.Index {
		t.Errorf("round %d: chooses arm %d, want %d", n, chosen, want.Index)
	}
	if draw.Z != nil {
		return // Acquisition draws from the seed
	}
	scores := sure(state.Acquisition(background, places, known))
	for arm := range places {
		if scores.Allowed[arm] {
			near(t, n, "acquisition asked for", scores.Values[arm], *want.Acq[arm])
		}
	}
}

// compareViolation compares the violation of the noiseless table, by telling it in place of the
// readings.
func compareViolation(t *testing.T, v vectors, i int) {
	t.Helper()
	a := v.Algorithms[i]
	cfg := vectorConfig(t, v, 0)
	h := &History{}
	for n, r := range a.Rounds {
		g := v.G[r.Index]
		if change, ok := a.Params["change_at"].(float64); ok && float64(n+1) >= change {
			g = v.GAfter[r.Index]
		}
		h.Rounds = append(h.Rounds, Round{Point: v.Candidates[r.Index], Arm: r.Index, Suggested: true,
			Readings: []Reading{{Told: true, Value: r.Y, Revealed: n + 1}, {Told: true, Value: g, Revealed: n + 1}}})
	}
	state := must.Get(Replay(background, cfg, h))(t)
	got := sure(state.Violations(background))[0]
	near(t, len(a.Rounds), "hard violation", got.Hard, a.Metrics.Hard)
	near(t, len(a.Rounds), "soft violation", got.Soft, a.Metrics.Soft)
	near(t, len(a.Rounds), "rounds in violation", float64(got.Rounds), a.Metrics.N)
}

// wantedMultiplier is the queue where there is one, else the multiplier.
func wantedMultiplier(r vectorRound) float64 {
	if r.Q != nil {
		return *r.Q
	}
	return r.Mult
}

// vectorHistory is the first n rounds of a vector with what was told in them.
func vectorHistory(t *testing.T, v vectors, i, n int) *History {
	t.Helper()
	a := v.Algorithms[i]
	h := &History{}
	for s := range n {
		r := a.Rounds[s]
		round := Round{Point: v.Candidates[r.Index], Arm: r.Index, Suggested: true, Costs: []float64{v.GT[s][r.Index]},
			Draw:     Draw{Seed: 1, Z: vectorDraw(t, a.Params, r, s)},
			Readings: []Reading{vectorReading(r.Y, s, n, delay(a.Params, "delay_f", s)), vectorReading(r.C, s, n, delay(a.Params, "delay_g", s))}}
		if a.Rounds[0].Q != nil {
			round.Readings = round.Readings[:1]
		}
		h.Rounds = append(h.Rounds, round)
	}
	return h
}

// vectorReading is the reading of round s+1 that is told after the given number of rounds, seen
// from the end of round n.
func vectorReading(value float64, s, n, delay int) Reading {
	if s+1+delay > n {
		return Reading{}
	}
	return Reading{Told: true, Value: value, Revealed: s + 1 + delay}
}

func delay(params map[string]any, key string, s int) int {
	delays, ok := params[key].([]any)
	if !ok {
		return 0
	}
	return int(delays[s].(float64))
}

// vectorDraw turns a vector's standard normal or uniform numbers into the widths that were used.
func vectorDraw(t *testing.T, params map[string]any, r vectorRound, s int) []float64 {
	t.Helper()
	draws, ok := params["draws"].([]any)
	if !ok {
		return nil
	}
	z := make([]float64, 2)
	for k, beta := range []float64{r.BetaF, r.BetaG} {
		drawn := draws[s].([]any)[k].(float64)
		switch points := int(params["n_pts"].(float64)); params["dist"] {
		case "gauss":
			z[k] = beta * drawn
		case "unif":
			z[k] = 2 * beta * math.Floor(drawn*float64(points)) / float64(points-1)
		default:
			z[k] = truncatedGaussian(drawn, beta, points, params["dg_sd"].(float64))
		}
	}
	return z
}

// truncatedGaussian is the first point of [0, 2β] at which the distribution function exceeds u.
func truncatedGaussian(u, beta float64, points int, spread float64) float64 {
	distribution := make([]float64, points)
	sum := 0.0
	for k := range distribution {
		z := 2 * beta * float64(k) / float64(points-1)
		sum += math.Exp(-0.5 * math.Pow(z/(beta*spread), 2))
		distribution[k] = sum
	}
	k := 0
	for distribution[k]/sum <= u {
		k++
	}
	return 2 * beta * float64(k) / float64(points-1)
}

func near(t *testing.T, round int, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("round %d: %s is %v, want %v", round, what, got, want)
	}
}
