package policy

import (
	"math"
	"slices"
	"testing"
)

// walked are three rounds under two limits, the second one somebody's own. Objective units are 2
// modelled ones, those of the limits 3 and 5.
func walked() []RoundSummary {
	scale := []float64{2, 3, 5}
	return []RoundSummary{
		{Suggested: true, Beta: []float64{1, 2, 3}, SD: []float64{0.5, 0.4, 0.3}, Lambda: make([]float64, 3),
			Scale: scale, Multipliers: []float64{1, 2}, After: []float64{1.5, 2.5}, Costs: []float64{0.2, -0.1}},
		{Beta: []float64{9, 9, 9}, SD: []float64{9, 9, 9}, Lambda: make([]float64, 3),
			Scale: scale, Multipliers: []float64{7, 7}, After: []float64{1.5, 2.5}, Costs: []float64{3, 4}},
		{Suggested: true, Beta: []float64{1.5, 2.5, 3.5}, SD: []float64{0.2, 0.1, 0.6}, Lambda: make([]float64, 3),
			Scale: scale, Multipliers: []float64{4, 0.5}, After: []float64{4, 0.3}, Costs: []float64{-0.3, 0.6}},
	}
}

// TestBoundsInClosedForm compares bounds with the papers' formulas worked out by hand. 2βσ of the
// objective is 1 in the first round and 0.6 in the third.
func TestBoundsInClosedForm(t *testing.T) {
	t.Parallel()
	const cuts = `"objective_bound": 2, "constraint_bound": {"limit1": 1, "limit2": 3}, "multiplier_cap": 9, ` +
		`"step": {"limit1": 4, "limit2": 8}, "slack": {"limit1": 0.1, "limit2": 0.2}`
	perRound := 1.1*1.1/8 + 3.2*3.2/16 // Σ_k (G_k + ε_k)²/(2V_k)
	noise := 2 * 0.5 * (math.Sqrt(4*2*2) + math.Sqrt(2*math.Log(2*25/0.05)))
	root3 := math.Sqrt(3)
	for _, c := range []struct {
		algorithm, settings string
		regret              []float64
		violation           [][]float64 // of the limits that are worked out
	}{
		{"rpol-ucb", theory, []float64{2, 2, 3.2}, nil},
		{"rpol-censored-ucb", theory + `, "delay_window": 2`, []float64{2, 2, 3.2}, nil},
		{"rpol-sw-ucb", theory + `, "window": 3, "drift_width": 0.7`, []float64{2 * (1 + 1.4), 4.8, 2 * (1 + 1.4 + 0.6 + 1.4)},
			[][]float64{{3 * (3 + 6.4), 28.2, 3 * (3 + 6.4 + 1.9 + 1.5)}}},
		{"ckb-ucb", theory + "," + cuts, []float64{2 * (1 + perRound), 2 * (1 + perRound), 2 * (1.6 + 2*perRound)}, nil},
		{"ckb-ucb", theory + `, "slater": 0.5,` + cuts, []float64{2 * (1 + perRound + 1.6), 2 * (1 + perRound + 1.6), 2 * (1.6 + 2*perRound + 3.2)}, nil},
		{"ckb-lyapunov", theory + `, "slater": 0.5,` + cuts, []float64{2 * (1 + perRound + 1.6), 2 * (1 + perRound + 1.6), 2 * (1.6 + 2*perRound + 3.2)}, nil},
		// ε_1 = 1 > δ, V_1 = 0.0375, Q = (1, 2), g + ε = (1.2, 0.9); ε_3 = 1/√3 < δ.
		{"scgp-ucb", theory + `, "objective_bound": 2, "slater": 0.6`, []float64{134, 134, 165.4235449383972},
			[][]float64{{3 * (1.5 - 1), 1.5, 3 * (4 - 1 - 1/root3)}, {5 * (2.5 - 1), 7.5, 0}}},
		{"scgp-ucb", theory + `, "objective_bound": 2, "slater": 0.6, "variant": "ii"`, []float64{31.77777777777778, 31.77777777777778, 66.79372439113266},
			[][]float64{{3 * (1.5 - 0.3), 3.6, 3 * (4 - 0.3 - 0.3/root3)}, {5 * (2.5 - 0.3), 11, 0}}},
		{"scgp-ucb", theory + `, "objective_bound": 2`, nil, [][]float64{{1.5, 1.5, 3 * (4 - 1 - 1/root3)}}},
		// Σ (2B + 2βσ)/S is 2.5, then 4.8.
		{"penalty-noiseless", theory + `, "epoch_length": 2, "psi": {"form": "exponential", "rate": 0.5}`, []float64{2, 2, 3.2},
			[][]float64{{12 * math.Log(3.5), 12 * math.Log(3.5), 12 * math.Log(5.8)}, {20 * math.Log(3.5), 20 * math.Log(3.5), 20 * math.Log(5.8)}}},
		{"penalty-noiseless", theory + `, "epoch_length": 2, "psi": {"form": "polynomial", "rate": 0.5, "power": 3}`, []float64{2, 2, 3.2},
			[][]float64{{12 * (math.Cbrt(3.5) - 1), 12 * (math.Cbrt(3.5) - 1), 12 * (math.Cbrt(5.8) - 1)}}},
		// Widths of 1 and 1.5 stand for B.
		{"penalty-noiseless", `"beta": 1.5, "epoch_length": 2`, []float64{2, 2, 3.2},
			[][]float64{{6 * math.Log(1+(1+2*1)/2.0), 6 * math.Log(2.5), 6 * math.Log(1+(1+2+0.6+3)/2)}}},
		// Σ_j κ_j c_j is 0 in the first round and −0.9 in the third, which begins the second epoch.
		{"penalty-noisy", theory + `, "epoch_length": 2, "step": {"limit1": 0.25, "limit2": 2}`,
			[]float64{2 * (1 + math.Sqrt(5)*noise), 2 * (1 + math.Sqrt(5)*noise), 2 * (1 + math.Sqrt(5)*noise + 0.6 + 0.9 + math.Sqrt(16.25)*noise)},
			[][]float64{{3 * (2*1/0.25 + 0.2 + noise), 3 * (2*7/0.25 + 0.2 + noise), 3 * (2*4/0.25 - 0.3 + 2*noise)},
				{5 * (2*2/2 - 0.1 + noise), 5 * (2*7/2 - 0.1 + noise), 5 * (2*0.5/2 + 0.6 + 2*noise)}}},
		{"penalty-noisy", `"beta": 2, "epoch_length": 2`, nil, [][]float64{nil, nil}},
	} {
		context := studyOf(2)
		if c.algorithm == "scgp-ucb" {
			context = knownBefore(context)
		}
		traits := made(t, c.algorithm, "{"+c.settings+"}", context).Traits()
		rounds := walked()
		equal(t, c.algorithm+" "+c.settings+": regret", traits.RegretBound(rounds), c.regret)
		for j, want := range c.violation {
			equal(t, c.algorithm+" "+c.settings+": violation", traits.Bound(j, rounds), want)
		}
	}
}

// TestBoundsOfWaitingRounds: rounds that wait for a reading do not count where readings are in the
// bound.
func TestBoundsOfWaitingRounds(t *testing.T) {
	t.Parallel()
	rounds := walked()
	rounds[2].Costs = []float64{-0.3, math.NaN()}
	for algorithm, settings := range map[string]string{
		"penalty-noisy": theory + `, "epoch_length": 2`, "scgp-ucb": theory + `, "slater": 0.6`,
	} {
		context := studyOf(2)
		if algorithm == "scgp-ucb" {
			context = knownBefore(context)
		}
		traits := made(t, algorithm, "{"+settings+"}", context).Traits()
		if bound := traits.RegretBound(rounds); bound[2] != bound[1] {
			t.Errorf("%s: a round that waits makes %g of %g", algorithm, bound[2], bound[1])
		}
		if bound := traits.Bound(1, rounds); slices.ContainsFunc(bound, math.IsNaN) {
			t.Errorf("%s: a round that waits makes %v", algorithm, bound)
		}
	}
}

// TestPsiInverse: ψ(ψ₊⁻¹(y)) = y.
func TestPsiInverse(t *testing.T) {
	t.Parallel()
	for _, psi := range []Psi{{Form: "exponential", Rate: 0.3}, {Form: "polynomial", Rate: 2, Power: 1.5}} {
		for _, y := range []float64{1, 1.5, 40} {
			equal(t, psi.Form, []float64{psi.At(psi.Inverse(y))}, []float64{y})
		}
	}
}
