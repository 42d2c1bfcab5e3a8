package policy

import "math"

var cei = Description{
	Name: "cei", Title: "Constrained expected improvement over readings",
	Source:   "Schonlau, Welch, Jones: Global versus Local Search in Constrained Optimization of Computer Models, 1998; Gardner et al., 2014",
	Feedback: rpolUCB.Feedback,
	Summary:  "What most tools ship: looks for one best point, and counts no violation on the way.",
	Settings: settings(),
	build:    func(Context, Settings) Policy { return improvement{} },
}

// improvement is x_t = argmax EI(x)·Π_j P(g_j(x) ≤ 0), EI over the largest reward told of an
// included round with every reading told and within its limit; before there is one, Π_j P alone.
type improvement struct{ unbanded }

func (improvement) Traits() Traits { return Traits{LooksBack: true} }

func (improvement) Score(s *Input) (Scores, error) {
	scores := Scores{Value: filled(len(s.Reward.Mean), 1), Relative: true, Reason: Improve}
	best, any := incumbent(s.Past)
	for i := range scores.Value {
		if any {
			scores.Value[i] = ExpectedImprovement(s.Reward.Mean[i]-best, s.Reward.SD[i])
		}
		for _, g := range s.Costs {
			scores.Value[i] *= normal(ratio(-g.Mean[i], g.SD[i]))
		}
	}
	return scores, nil
}

func (improvement) Estimates(s *Input, i int) []float64 { return means(s, i) }

// incumbent is the largest reward of an included round with every reading told and within its
// limit.
func incumbent(past []Past) (best float64, any bool) {
	best = math.Inf(-1)
	for _, p := range past {
		if p.Complete && !p.Excluded && excess(p.Costs) == 0 {
			best, any = math.Max(best, p.Reward), true
		}
	}
	return best, any
}

// excess is Σ_j [c_j]⁺.
func excess(costs []float64) float64 {
	sum := 0.0
	for _, c := range costs {
		sum += positive(c)
	}
	return sum
}

// ExpectedImprovement is E[max(N(gain, sd²), 0)] = gain·Φ(gain/sd) + sd·φ(gain/sd).
func ExpectedImprovement(gain, sd float64) float64 {
	if sd == 0 {
		return positive(gain)
	}
	z := gain / sd
	return positive(gain*normal(z) + sd*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi))
}

// normal is Φ(z), the standard normal distribution function.
func normal(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// ratio is a/sd; for sd = 0 it is infinite, at a = 0 positively so.
func ratio(a, sd float64) float64 {
	switch {
	case sd > 0:
		return a / sd
	case a >= 0:
		return math.Inf(1)
	}
	return math.Inf(-1)
}
