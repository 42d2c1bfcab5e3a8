package policy

import "math"

var config = Description{
	Name: "config", Title: "Optimistic constrained optimisation",
	Source:   "Xu, Jiang, Jones: Constrained Efficient Global Optimization of Expensive Black-box Functions, 2022",
	Feedback: rpolUCB.Feedback,
	Summary:  "The best optimistic value among points that could be within every limit: like rectified learning, without a price on violation.",
	Settings: settings(betaSetting,
		Setting{Name: "on_infeasible", Type: Text, Default: "least_violation", Choices: []string{"least_violation", "stop"},
			Meaning: "when no point could be within every limit: choose the one whose worst optimistic violation is least, or choose none"}),
	build: func(c Context, s Settings) Policy {
		return optimisticSearch{widths: newWidths(c, s), stop: s.Text("on_infeasible") == "stop"}
	},
}

// optimisticSearch is x_t = argmax u_f over {x: l_{g_j}(x) ≤ 0 for all j}, u = μ+βσ and l = μ−βσ;
// if there is none, argmin_x max_j l_{g_j}(x), or nothing.
type optimisticSearch struct {
	unpriced
	widths
	stop bool
}

func (optimisticSearch) Traits() Traits { return Traits{RisesWithUncertainty: true} }

func (a optimisticSearch) Score(s *Input) (Scores, error) {
	scores := upperScores(s)
	if len(s.Costs) == 0 {
		return scores, nil
	}
	worst := filled(len(scores.Value), math.Inf(-1))
	for j, g := range s.Costs {
		for i, l := range lower(g, s.Beta[1+j]) {
			worst[i] = math.Max(worst[i], l)
		}
	}
	scores.Allowed = make([]bool, len(worst))
	for i, w := range worst {
		scores.Allowed[i] = w <= 0
		worst[i] = -w
	}
	if !a.stop {
		scores.Fallback = worst
	}
	return scores, nil
}

func (optimisticSearch) Estimates(s *Input, i int) []float64 { return optimistic(s, i) }
