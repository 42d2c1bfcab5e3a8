package policy

import "headroom/internal/lists"

var config = Description{
	Name: "config", Title: "Optimistic constrained optimisation",
	Source:   "Xu, Jiang, Jones: Constrained Efficient Global Optimization of Expensive Black-box Functions, 2022",
	Feedback: rpolUCB.Feedback,
	Summary:  "The best optimistic value among points that could be within every limit: like rectified learning, without a price on violation.",
	Settings: settings(betaSetting,
		Setting{Name: "on_infeasible", Type: Text, Default: "least_violation", Choices: []string{"least_violation", "stop"},
			Meaning: "when no point could be within every limit: choose the one whose worst optimistic violation is least, or choose none"}),
	Build: func(c Context, s Settings) Policy {
		return optimisticSearch{newWidths(c, s), s.Text("on_infeasible") == "stop"}
	},
}

// optimisticSearch is x_t = argmax u_f over {x: l_{g_j}(x) ≤ 0 for all j}, u = μ+βσ and l = μ−βσ;
// if there is none, argmin_x max_j l_{g_j}(x), or nothing.
type optimisticSearch struct {
	widths
	stop bool
}

func (optimisticSearch) Traits() Traits { return Traits{RisesWithUncertainty: true} }

func (a optimisticSearch) Score(s *Input) (Scores, error) {
	scores := upperScores(s)
	if len(s.Costs) == 0 {
		return scores, nil
	}
	lowest := worstOf(s, negated(s.Beta))
	scores.Allowed = lists.Map(lowest, func(l float64) bool { return l <= 0 })
	if !a.stop {
		scores.Fallback = negated(lowest)
	}
	return scores, nil
}
