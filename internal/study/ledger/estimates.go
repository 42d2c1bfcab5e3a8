package ledger

import "headroom/internal/study/design"

// Estimates keys the estimates of a decision, as optimizer.Decision has them: the reward's stands
// under the objective's metric, each limit's under its constraint's name. What is not finite is
// left out.
func Estimates(d design.Definition, values []float64) map[string]float64 {
	by := map[string]float64{}
	for i, v := range values {
		switch {
		case !design.Finite(v):
		case i == 0:
			by[d.Objective.Metric] = v
		default:
			by[estimateKey(d, d.Constraints[i-1])] = v
		}
	}
	return by
}

// LimitEstimate is what the decision took for g of constraint c of the study d, in modelled units,
// if it had an estimate.
func (decision *Decision) LimitEstimate(d design.Definition, c design.Constraint) (float64, bool) {
	v, there := decision.Estimates[estimateKey(d, c)]
	return v, there
}

// estimateKey is the constraint's name, made another for a limit on the objective itself that is
// called like its metric.
func estimateKey(d design.Definition, c design.Constraint) string {
	if c.Name == d.Objective.Metric {
		return c.Name + " (limit)"
	}
	return c.Name
}
