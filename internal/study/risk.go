package study

import (
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
)

// Risk is the account of most_risk, for one limit or for all together: how many of the trials that
// the model chooses may be beyond it, and how many are.
type Risk struct {
	Most     float64 `json:"most"`     // share of them that may be
	Trials   int     `json:"trials"`   // of the model's: made so far and still planned
	Allowed  float64 `json:"allowed"`  // trials that may be beyond
	Expected float64 `json:"expected"` // trials that would be, by the chances stated when those made so far were chosen
	SoFar    int     `json:"so_far"`   // trials whose reading was
	Now      float64 `json:"now"`      // the largest chance that the next suggestion may have
}

// account adds how the risk that was asked for stands.
func (r *Readout) account(c *design.Compiled, budgets []optimizer.Budget) {
	for _, b := range budgets {
		risk := &Risk{Most: b.Most, Trials: b.Trials, Allowed: b.Allowed, Expected: b.Expected, SoFar: b.SoFar, Now: b.Now}
		if len(b.Costs) > 1 {
			r.Risk = risk
			continue
		}
		name := c.ConstraintNames[b.Costs[0]]
		limit := r.Violation[name]
		limit.Risk = risk
		r.Violation[name] = limit
	}
}
