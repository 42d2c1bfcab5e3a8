package policy

import "math"

var cei = Description{
	Name: "cei", Title: "Constrained expected improvement over readings",
	Source:   "Schonlau, Welch, Jones: Global versus Local Search in Constrained Optimization of Computer Models, 1998; Gardner et al., 2014",
	Feedback: rpolUCB.Feedback,
	Summary:  "What most tools ship: looks for one best point, and counts no violation on the way.",
	Settings: settings(),
	Build:    func(Context, Settings) Policy { return improvement{} },
}

// improvement is x_t = argmax EI(x)·Π_j P(g_j(x) ≤ 0), EI over the largest reward told of an
// included round with every reading told and within its limit; before there is one, Π_j P alone.
type improvement struct{ plain }

func (improvement) Traits() Traits { return Traits{NeedsPast: true, NeedsReadings: true} }

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

// incumbent is the largest reward of an included round that is complete and within its limits.
func incumbent(past []Past) (best float64, any bool) {
	best = math.Inf(-1)
	for _, p := range past {
		if p.Complete && !p.Excluded && excess(p.Costs) == 0 {
			best, any = math.Max(best, p.Reward), true
		}
	}
	return best, any
}
