package policy

import (
	"math/rand/v2"
	"testing"
)

// TestRulesOfExploration: each function's estimate comes from the rule that was named for it, and
// is recorded so that it needs no second draw.
func TestRulesOfExploration(t *testing.T) {
	t.Parallel()
	const seed = 9
	input := func() *Input {
		s := line(2, []float64{1, 2}, []float64{0.5, 0.25}, []float64{0.5, 3}, []float64{0.5, 1})
		s.Draw.Seed = seed
		return s
	}
	function := func(mean, sd []float64) []float64 { // the first that the seed draws
		n := rand.New(rand.NewPCG(seed, 0))
		return []float64{mean[0] + 2*sd[0]*n.NormFloat64(), mean[1] + 2*sd[1]*n.NormFloat64()}
	}
	n, alone := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 0))
	beside, z := 2*n.NormFloat64(), 2*alone.NormFloat64() // random widths beside drawn functions have numbers of their own
	reward, cost := []float64{1, 2}, []float64{0.5, 3}
	rewardSD, costSD := []float64{0.5, 0.25}, []float64{0.5, 1}
	band := func(mean, sd []float64, width float64) []float64 {
		return []float64{mean[0] + width*sd[0], mean[1] + width*sd[1]}
	}
	for _, test := range []struct {
		objective, limits string
		f, g              []float64
		drawn             []int
		reason            string
	}{
		{"ucb", "ucb", band(reward, rewardSD, 2), band(cost, costSD, -2), nil, TradeOff},
		{"thompson", "ucb", function(reward, rewardSD), band(cost, costSD, -2), []int{0}, Sample},
		{"ucb", "thompson", band(reward, rewardSD, 2), function(cost, costSD), []int{1}, Sample},
		{"random", "thompson", band(reward, rewardSD, beside), function(cost, costSD), []int{1}, Sample},
		{"random", "ucb", band(reward, rewardSD, z), band(cost, costSD, -2), nil, Sample},
		{"ucb", "random", band(reward, rewardSD, 2), band(cost, costSD, -z), nil, Sample},
	} {
		name := test.objective + " and " + test.limits
		a := made(t, "ckb", `{"truncate": false, "explore_objective": "`+test.objective+`", "explore_limits": "`+test.limits+`"}`, studyOf(1))
		s := input()
		traits := a.Traits()
		if traits.Draws != nil {
			s.Draw.Z = traits.Draws(seed, s.Beta)
		}
		s.Multipliers = []float64{0.5}
		var asked []int
		if traits.Functions != nil {
			s.Functions = make([][]float64, 2)
			for k, width := range traits.Functions(s) {
				if width == 2 {
					asked, s.Functions[k] = append(asked, k), [][]float64{test.f, test.g}[k]
				}
			}
			equal(t, name+", weights", traits.Weights(s), []float64{1, 0.5})
		}
		scores := sure(a.Score(s))
		equal(t, name, scores.Value, []float64{test.f[0] - 0.5*test.g[0], test.f[1] - 0.5*test.g[1]})
		if scores.Reason != test.reason {
			t.Errorf("%s is chosen by the rule %q", name, scores.Reason)
		}
		if traits.Drawn != nil {
			s.Draw.Z = traits.Drawn(s, 1)
		}
		s.Set, s.Functions = nil, nil // nothing is drawn again
		equal(t, name+", estimates", a.Estimates(s, 1), []float64{test.f[1], test.g[1]})
		if len(asked) != len(test.drawn) || len(asked) > 0 && asked[0] != test.drawn[0] {
			t.Errorf("%s draws the functions %v, want %v", name, asked, test.drawn)
		}
	}
}
