package policy

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"headroom/internal/must"
)

// studyOf is a study of m learned constraints, limit1 … limitm on metrics g1 … gm, over 50 rounds.
func studyOf(m int) Context {
	c := Context{Metrics: []string{"f"}, Horizon: 50, Dimensions: 2}
	for j := range m {
		name := string(rune('1' + j))
		c.Metrics = append(c.Metrics, "g"+name)
		c.Constraints = append(c.Constraints, "limit"+name)
		c.CostMetrics = append(c.CostMetrics, "g"+name)
	}
	return c
}

// knownBefore makes every constraint of a study one that is known before the choice.
func knownBefore(c Context) Context {
	c.Metrics = c.Metrics[:1]
	c.CostMetrics = make([]string, len(c.CostMetrics))
	return c
}

func settle(t *testing.T, algorithm, settings string, c Context) (Settings, []Fault) {
	t.Helper()
	var raw map[string]json.RawMessage
	must.Do(t, json.Unmarshal([]byte(settings), &raw))
	d, _ := Find(algorithm)
	return d.Resolve(raw, c)
}

// sure returns a value that comes without an error.
func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func made(t *testing.T, algorithm, settings string, c Context) Policy {
	t.Helper()
	s, faults := settle(t, algorithm, settings, c)
	if len(faults) > 0 {
		t.Fatalf("%s %s: %v", algorithm, settings, faults)
	}
	d, _ := Find(algorithm)
	return d.Build(c, s)
}

func equal(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-12*math.Max(1, math.Abs(want[i]))) {
			t.Fatalf("%s is %v, want %v", what, got, want)
		}
	}
}

const theory = `"beta": {"schedule": "theory", "B": 2, "R": 0.5, "p": 0.05}`

func TestTheoryWidths(t *testing.T) {
	t.Parallel()
	const gamma, lambda, b, r, p = 1.7, 0.3, 2.0, 0.5, 0.05
	standard := func(union float64) float64 { return b + r*math.Sqrt(2*(gamma+1+math.Log(union/p))) }
	response := b + r*math.Sqrt(2*math.Log(50))
	for _, c := range []struct {
		algorithm, settings string
		constraints         int
		want                float64
	}{
		{"rpol-ucb", "", 1, standard(2)},
		{"rpol-ucb", "", 3, standard(4)},
		{"ckb-ucb", "", 1, standard(2)},
		{"ckb-rand", "", 2, standard(3)},
		{"ckb", "", 2, standard(3)},
		{"ckb-lyapunov", "", 2, standard(3)},
		{"ckb-ucb", `,"horizon": "doubling_reuse"`, 1, standard(2)},
		{"ckb-ucb", `,"horizon": "doubling"`, 1, standard(2 * 3 * 4)}, // round 5 is in phase 2
		{"ckb-ts", `,"horizon": "doubling"`, 2, standard(3 * 3 * 4)},
		{"ckb-restart-ucb", `,"restart_every": 4`, 1, standard(2)},
		{"ckb-sw-ucb", `,"window": 4`, 1, standard(2)},
		{"config", "", 2, standard(3)},
		{"epbo", "", 1, standard(2)},
		{"safeopt", "", 1, standard(2)},
		{"stageopt", "", 2, standard(3)},
		{"sgp-ucb", "", 1, standard(2)},
		{"scgp-ucb", "", 2, standard(3)},
		{"igp-ucb", "", 2, standard(1)},
		{"rpol-censored-ucb", `,"delay_window": 2`, 1, b + (r+response)*math.Sqrt(2*(gamma+1+math.Log(4/p)))},
		{"rpol-censored-ucb", `,"delay_window": 2, "response_bound": 0`, 2, b + r*math.Sqrt(2*(gamma+1+math.Log(6/p)))},
		{"rpol-sw-ucb", `,"window": 9`, 1, b + r/math.Sqrt(lambda)*math.Sqrt(2*gamma+2*math.Log(2*50/p))},
		{"rpol-sw-ucb", `,"window": 9`, 2, b + r/math.Sqrt(lambda)*math.Sqrt(2*gamma+2*math.Log(3*50/p))},
		{"penalty-noiseless", `,"epoch_length": 7`, 2, standard(8)},
		{"penalty-noiseless", `,"epoch_length": 7, "acquisition": "thompson"`, 2, standard(16)},
		{"penalty-noisy", `,"epoch_length": 7`, 2, b + r*math.Sqrt(1+0.25+9)*math.Sqrt(2*(gamma+1+math.Log(16/p)))},
	} {
		study := studyOf(c.constraints)
		if c.algorithm == "scgp-ucb" {
			study = knownBefore(study)
		}
		width := WidthInput{Round: 5, Gain: filled(4, gamma), Lambda: filled(4, lambda), Multipliers: []float64{0.5, 3}}
		beta := made(t, c.algorithm, "{"+theory+c.settings+"}", study).Beta(width)
		equal(t, c.algorithm+c.settings, beta, filled(len(beta), c.want))
		if len(beta) == 0 {
			t.Errorf("%s has no width", c.algorithm)
		}
	}
}

// TestKnownLimitsHaveNoBand: a limit that is known before the choice has no posterior, so no λ, and
// maybe no width of its own; its estimate is its value whatever the width of the others.
func TestKnownLimitsHaveNoBand(t *testing.T) {
	t.Parallel()
	study := knownBefore(studyOf(1))
	for _, d := range Descriptions() {
		if !slices.ContainsFunc(d.Settings, func(s Setting) bool { return s.Name == "beta" }) {
			continue
		}
		for _, study.Paper = range []bool{false, true} {
			for _, width := range []string{theory, `"beta": {"f": {"schedule": "theory", "B": 2, "R": 0}}`} {
				own := []string{width}
				for _, s := range d.Settings {
					if s.Name == "constraint_bound" || s.Name == "slater" {
						own = append(own, `"`+s.Name+`": 3`)
					}
				}
				p := made(t, d.Name, withTheory(d, own...), study)
				s := line(0, []float64{1}, []float64{0.5}, []float64{-0.25}, []float64{0})
				s.Beta, s.Lambda = p.Beta(WidthInput{Round: 5, Gain: []float64{1, 0}, Lambda: []float64{0.3, 0}, Multipliers: []float64{1}}), []float64{0.3, 0}
				s.Given, s.Draw.Z, s.Functions = []bool{true}, s.Beta, [][]float64{{1}, nil}
				estimates, score := p.Estimates(s, 0), sure(p.Score(s))
				if values := slices.Concat(s.Beta, estimates, score.Value); slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
					t.Errorf("%s with %s, as published %v: widths %v, estimates %v, score %v", d.Name, width, study.Paper, s.Beta, estimates, score.Value)
				} else if len(estimates) > 1 {
					equal(t, d.Name+": the limit", estimates[1:], []float64{-0.25})
				}
			}
		}
	}
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	w := WidthInput{Round: 6, Gain: filled(3, 1), Lambda: filled(3, 1)}
	log := math.Log(3 * 6 / 0.05)
	equal(t, "srinivas", made(t, "rpol-ucb", `{"beta": {"f": {"schedule": "srinivas", "B": 2, "p": 0.05}, "g1": 4, "default": {"schedule": "srinivas", "B": 0, "p": 0.05}}}`, studyOf(2)).Beta(w),
		[]float64{math.Sqrt(2*4 + 300*log*log*log), 4, math.Sqrt(300 * log * log * log)})
	equal(t, "sqrt_log", made(t, "rpol-ucb", `{"beta": {"schedule": "sqrt_log", "value": 3}}`, studyOf(1)).Beta(w), filled(2, 3*math.Sqrt(math.Log(7))))
	equal(t, "by metric", made(t, "rpol-ucb", `{"beta": {"g1": 4, "default": {"schedule": "constant", "value": 1}}}`, studyOf(1)).Beta(w), []float64{1, 4})
	equal(t, "by default", made(t, "rpol-ucb", `{}`, studyOf(1)).Beta(w), []float64{2, 2})
}

// line is an input of places 0 … n−1 with the given posterior of one constraint.
func line(beta float64, mean, sd, costMean, costSD []float64) *Input {
	s := &Input{Round: 4, Horizon: 50, Beta: []float64{beta, beta}, Lambda: []float64{0.1, 0.1}, Multipliers: []float64{1}, Given: []bool{false},
		Reward: Estimate{mean, sd}, Costs: []Estimate{{costMean, costSD}}, Draw: Draw{Seed: 3}, Set: &Set{Free: []bool{true}, Choices: []int{0}, Known: make([]bool, len(mean))}}
	for i := range mean {
		s.Set.Points = append(s.Set.Points, []float64{float64(i) / 10})
	}
	s.Set.Distance = func(i, j int) float64 { return math.Abs(float64(i - j)) }
	s.Set.Earlier = func(int) (*Input, error) { return s, nil }
	s.Set.Pause = func() error { return nil }
	return s
}

func TestVirtualQueue(t *testing.T) {
	t.Parallel()
	a := made(t, "ckb-lyapunov", `{"beta": 1, "objective_bound": 1, "constraint_bound": 0.5, "step": 4, "slack": 0.2}`, studyOf(1))
	s := line(1, []float64{0.3, 2}, []float64{0.1, 0.1}, []float64{0.2, 3}, []float64{0.1, 0.1})
	s.Multipliers = []float64{6}
	scores := sure(a.Score(s))
	equal(t, "score", scores.Value, []float64{0.4 - 6.0/4*0.1, 1 - 6.0/4*0.5})
	equal(t, "untruncated", scores.Untruncated, []float64{0.4 - 6.0/4*0.1, 2.1 - 6.0/4*2.9})
	equal(t, "queue", a.Step([]float64{6}, &Revealed{Own: []float64{-0.3}}), []float64{5.9})
	equal(t, "empty queue", a.Step([]float64{0.05}, &Revealed{Own: []float64{-0.3}}), []float64{0})
	equal(t, "excluded", a.Step([]float64{6}, &Revealed{Own: []float64{-0.3}, Excluded: true}), []float64{6})
}

func TestMultiplierDefaults(t *testing.T) {
	t.Parallel()
	given := made(t, "ckb-ucb", `{"objective_bound": 2, "constraint_bound": 3, "slater": 0.5}`, studyOf(1)).(ckb)
	equal(t, "4B/δ", given.cap, []float64{16})
	equal(t, "G√T/ρ", given.step, []float64{3 * math.Sqrt(50) / 16})
	equal(t, "raw slack", given.slack, []float64{0})
	standardised := studyOf(1)
	standardised.Standardized = true
	practical := made(t, "ckb-ucb", `{}`, standardised).(ckb)
	equal(t, "practical cap", practical.cap, []float64{10})
	equal(t, "practical slack", practical.slack, []float64{0.05})
}

func TestRestart(t *testing.T) {
	t.Parallel()
	kept := made(t, "ckb-restart-ucb", `{"restart_every": 3, "step": 2, "slack": 0}`, studyOf(1))
	reset := made(t, "ckb-restart-ucb", `{"restart_every": 3, "step": 2, "slack": 0, "reset_multiplier": true}`, studyOf(1))
	for round, first := range map[int]int{1: 1, 3: 1, 4: 4, 6: 4, 7: 7} {
		if got := kept.Traits().First(round); got != first {
			t.Errorf("decision %d forgets what came before round %d, want %d", round, got, first)
		}
	}
	for round, want := range map[int][2]float64{2: {1.5, 1.5}, 3: {1.5, 0}, 6: {1.5, 0}} {
		r := &Revealed{Round: round, Own: []float64{1}}
		equal(t, "kept", kept.Step([]float64{1}, r), want[:1])
		equal(t, "reset", reset.Step([]float64{1}, r), want[1:])
	}
	window := made(t, "ckb-sw-ucb", `{"window": 3}`, studyOf(1))
	for round, first := range map[int]int{1: 1, 4: 1, 5: 2, 9: 6} {
		if got := window.Traits().First(round); got != first {
			t.Errorf("with a window of 3, decision %d sees rounds from %d, want %d", round, got, first)
		}
	}
}

func TestSlidingWindow(t *testing.T) {
	t.Parallel()
	published := made(t, "rpol-sw-ucb", `{"variation_budget": 2, "gamma_T": 16}`, studyOf(1)).(sliding)
	if published.window != 10 { // 16^¼·√(50/2)
		t.Errorf("the published window is %d, want 10", published.window)
	}
	if w := made(t, "rpol-sw-ucb", `{"variation_budget": 1e-6, "gamma_T": 16}`, studyOf(1)).(sliding).window; w != 50 {
		t.Errorf("a window of %d is longer than the horizon", w)
	}
	drifting := made(t, "rpol-sw-ucb", `{"window": 4, "gamma_T": 3, "drift_per_round": {"g1": 0.1}, "drift_width": {"f": 0.7}}`, studyOf(1))
	s := line(1, []float64{1}, []float64{0.5}, []float64{2}, []float64{0.5})
	two := made(t, "rpol-sw-ucb", `{"window": 4, "drift_width": {"f": 0.7, "g1": 0.2, "g2": 0.3}}`, studyOf(2))
	both := line(1, []float64{1}, []float64{0.5}, []float64{2}, []float64{0.5})
	both.Beta, both.Lambda, both.Costs = filled(3, 1), filled(3, 0.1), append(both.Costs, Estimate{[]float64{4}, []float64{0.5}})
	for range 2 { // what was seen stays as it was
		equal(t, "estimates of two", two.Estimates(both, 0), []float64{1 + 0.5 + 0.7, 2 - 0.5 - 0.2, 4 - 0.5 - 0.3})
	}
	width := math.Sqrt(2*4*1.1*3) / 0.1 * 4 * 0.1
	equal(t, "estimates", drifting.Estimates(s, 0), []float64{1 + 0.5 + 0.7, 2 - 0.5 - width})
	s.Costs[0].Mean[0] = 2 + width
	equal(t, "score", sure(drifting.Score(s)).Value, []float64{2.2 - 1.5})
	step := RoundSummary{Suggested: true, Beta: []float64{2, 3}, SD: []float64{0.5, 0.25}, Lambda: []float64{0.1, 0.1}, Scale: []float64{1, 2}, Multipliers: []float64{4}}
	equal(t, "bound", drifting.Traits().Bound(0, []RoundSummary{step}), []float64{2 * (2*3*0.25 + 2*width + (2*2*0.5+2*0.7+2*2)/4)})
}

func TestSampledConstraintSchedules(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string][2]float64{ // V_t and ε_t at t = 4
		`{"objective_bound": 2, "slater": 0.5}`:                              {0.5 * 2 / 16, 0.5},
		`{"objective_bound": 2, "slater": 0.5, "variant": "ii"}`:             {0.25 * 2 / 32, 0.125},
		`{"objective_bound": 2, "slater": 0.5, "schedule_bound": 1}`:         {0.5 * 2 / 8, 0.5},
		`{"objective_bound": 2}`:                                             {2, 0.5},
		`{"objective_bound": 2, "slater": 0.5, "penalty_scale": 3}`:          {6, 0.5},
		`{"objective_bound": 2, "penalty_scale": 0.5, "schedule_bound": 99}`: {1, 0.5},
	} {
		a := made(t, "scgp-ucb", settings, knownBefore(studyOf(1)))
		s := line(2, []float64{0.5, 3}, []float64{0.25, 0}, []float64{-1, 2}, []float64{0, 0})
		s.Multipliers = []float64{0.3}
		equal(t, settings, sure(a.Score(s)).Value, []float64{1 + 0.3/want[0], 2 - 0.6/want[0]})
		equal(t, settings, a.Step([]float64{0.3}, &Revealed{Round: 4, Given: []float64{0.1}}), []float64{0.3 + 0.1 + want[1]})
		equal(t, settings, a.Step([]float64{0.3}, &Revealed{Round: 4, Given: []float64{-9}}), []float64{0})
		equal(t, settings, a.Step([]float64{0.3}, &Revealed{Round: 4, Given: []float64{0.1}, Excluded: true}), []float64{0.3})
	}
}

func TestCensoringWidens(t *testing.T) {
	t.Parallel()
	censored := made(t, "rpol-censored-ucb", `{"delay_window": 2, "response_bound": {"f": 0.5, "g1": 0.25}}`, studyOf(1)).Traits().Censoring
	equal(t, "widths", censored.Widen([]float64{2, 3}, []float64{4, 8}), []float64{2 + 0.5*4, 3 + 0.25*8})
}

func TestEpochs(t *testing.T) {
	t.Parallel()
	told := func(costs ...float64) *Revealed {
		return &Revealed{Round: 6, Since: func(first, j int) []float64 {
			if first != 4 || j != 0 {
				t.Errorf("asks for cost %d since round %d", j, first)
			}
			return costs
		}}
	}
	noiseless := made(t, "penalty-noiseless", `{"epoch_length": 3, "psi": {"form": "polynomial", "rate": 2, "power": 3}, "kappa_max": 40, "reuse": false}`, studyOf(1))
	equal(t, "start", noiseless.Start(), []float64{1})
	equal(t, "response", []float64{noiseless.Traits().Response(1, []float64{0.5}, []float64{4})}, []float64{1 - 4*(8-1)})
	equal(t, "within", []float64{noiseless.Traits().Response(1, []float64{-0.5}, []float64{4})}, []float64{1})
	equal(t, "step", noiseless.Step([]float64{1.5}, told(1, 0)), []float64{1.5 * 8})
	equal(t, "capped", noiseless.Step([]float64{20}, told(1, 0)), []float64{40})
	equal(t, "nothing told", noiseless.Step([]float64{20}, told()), []float64{20})
	equal(t, "within an epoch", noiseless.Step([]float64{20}, &Revealed{Round: 5}), []float64{20})
	noisy := made(t, "penalty-noisy", `{"epoch_length": 3}`, studyOf(1))
	step := 1 / math.Sqrt(17) // ⌈50/3⌉ epochs
	equal(t, "start", noisy.Start(), []float64{0})
	equal(t, "step", noisy.Step([]float64{0.5}, told(0.4, 0.8)), []float64{0.5 + step*0.6})
	equal(t, "never negative", noisy.Step([]float64{0.1}, told(-4)), []float64{0})
	equal(t, "response", []float64{noisy.Traits().Response(1, []float64{-0.5}, []float64{4})}, []float64{3})
	if reason := sure(noisy.Score(line(1, []float64{1}, []float64{0.5}, []float64{2}, []float64{0.5}))).Reason; reason != TradeOff {
		t.Errorf("a penalised response is maximised by the rule %q", reason)
	}
	if noisy.Traits().Earliest(6) != 1 || noiseless.Traits().Earliest(6) != 4 {
		t.Error("rounds of earlier epochs count with reuse, and only then")
	}
	if v := noiseless.Traits().Response(0, []float64{1e300}, []float64{1}); math.IsInf(v, 0) {
		t.Error("a huge cost makes an infinite response")
	}
}

func TestOptimisticSearch(t *testing.T) {
	t.Parallel()
	s := line(1, []float64{1, 2, 3}, []float64{1, 1, 1}, []float64{0.5, 3, 1}, []float64{0.5, 1, 0.25})
	scores := sure(made(t, "config", `{}`, studyOf(1)).Score(s))
	equal(t, "score", scores.Value, []float64{2, 3, 4})
	if !scores.Allowed[0] || scores.Allowed[1] || scores.Allowed[2] {
		t.Errorf("allowed are %v", scores.Allowed)
	}
	equal(t, "least violation", scores.Fallback, []float64{0, -2, -0.75})
	if sure(made(t, "config", `{"on_infeasible": "stop"}`, studyOf(1)).Score(s)).Fallback != nil {
		t.Error("stop goes on")
	}
	equal(t, "penalty", sure(made(t, "epbo", `{"penalty": 2}`, studyOf(1)).Score(s)).Value, []float64{2, 3 - 4, 4 - 1.5})
}

func TestExpectedImprovement(t *testing.T) {
	t.Parallel()
	a := made(t, "cei", `{}`, studyOf(1))
	s := line(1, []float64{1, 3}, []float64{0.5, 0}, []float64{-1, 0.2}, []float64{0.5, 0})
	phi := func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
	s.Past = []Past{{Complete: true, Reward: 9, Costs: []float64{0.1}}, {Complete: true, Reward: 8, Costs: []float64{-1}, Excluded: true}, {Reward: 7}}
	equal(t, "before a feasible reading", sure(a.Score(s)).Value, []float64{phi(2), 0})
	s.Costs[0].Mean[1] = 0
	s.Past = append(s.Past, Past{Complete: true, Reward: 1.25, Costs: []float64{0}})
	density := math.Exp(-0.125) / math.Sqrt(2*math.Pi)
	equal(t, "after", sure(a.Score(s)).Value, []float64{phi(2) * (-0.25*phi(-0.5) + 0.5*density), 1.75})
	if !sure(a.Score(s)).Relative {
		t.Error("ties must be relative")
	}
	if v := ExpectedImprovement(-30, 1); !(v > 0) || v > 1e-190 {
		t.Errorf("far below the best the improvement is %g", v)
	}
}

func same(a, b []bool) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

func TestRandomWidths(t *testing.T) {
	t.Parallel()
	beta := []float64{2, 0.5}
	grid := made(t, "ckb-rand", `{"distribution": "uniform", "points": 5}`, studyOf(1)).(explorer)
	counts := map[float64]int{}
	for seed := range uint64(2000) {
		z := grid.draws(seed, beta)
		counts[z[0]]++
	}
	for k := range 5 {
		if n := counts[float64(k)]; n < 300 || n > 500 {
			t.Errorf("width %d is drawn %d times of 2000, want about 400: %v", k, n, counts)
		}
	}
	narrow := made(t, "ckb-rand", `{"distribution": "truncated_gaussian", "points": 3, "spread": 0.5}`, studyOf(1)).(explorer)
	weights := []float64{1, math.Exp(-2), math.Exp(-8)}
	total := weights[0] + weights[1] + weights[2]
	for _, c := range [][2]float64{{weights[0]/total - 1e-9, 0}, {weights[0]/total + 1e-9, 1}, {1 - weights[2]/total + 1e-9, 2}} {
		if got := narrow.point(c[0]); got != c[1] {
			t.Errorf("a uniform number of %g gives point %g, want %g", c[0], got, c[1])
		}
	}
	gaussian := made(t, "ckb-rand", `{}`, studyOf(1)).(explorer)
	source := rand.New(rand.NewPCG(7, 0))
	equal(t, "Gaussian", gaussian.draws(7, beta), []float64{2 * source.NormFloat64(), 0.5 * source.NormFloat64()})
}

func TestViolationBounds(t *testing.T) {
	t.Parallel()
	steps := []RoundSummary{
		{Suggested: true, Beta: []float64{2, 3}, SD: []float64{0.5, 0.25}, Scale: []float64{1, 10}, Multipliers: []float64{4}},
		{Beta: []float64{9, 9}, SD: []float64{9, 9}, Scale: []float64{1, 10}, Multipliers: []float64{5}},
	}
	rpol := made(t, "rpol-ucb", "{"+theory+"}", studyOf(1)).Traits()
	equal(t, "rpol", rpol.Bound(0, steps), filled(2, 10*(2*3*0.25+(2*2*0.5+2*2)/4)))
	primal := made(t, "ckb-ucb", `{`+theory+`, "constraint_bound": 3, "multiplier_cap": 2, "step": 5, "slack": 0.1}`, studyOf(1)).Traits()
	chi := 2*2*0.5 + 2*2*3*0.25 + 5*2*2/2.0 + 3.1*3.1/10
	equal(t, "ckb", primal.Bound(0, steps), filled(2, 10*(2*chi/2-0.1)))
	queue := made(t, "ckb-lyapunov", `{`+theory+`, "constraint_bound": 3, "slack": 0.1}`, studyOf(1)).Traits()
	equal(t, "lyapunov", queue.Bound(0, steps), []float64{10 * (4 + 3 + 2*3*0.25), 10 * (5 + 3 + 2*3*0.25)})
}
