package ledger

import (
	"math"
	"testing"

	"headroom/internal/study/design"
)

func TestALimitOnTheObjectiveHasAnEstimateOfItsOwn(t *testing.T) {
	t.Parallel()
	d := oven(t)
	d.Constraints = append(d.Constraints, design.Constraint{Metric: "yield", Op: ">=", Threshold: 20}, design.Constraint{Metric: "smell", Op: "<="})
	checked, err := d.Check()
	if err != nil {
		t.Fatal(err)
	}
	decision := Decision{Estimates: Estimates(checked, []float64{3, -1, -2, math.NaN()})}
	if decision.Estimates["yield"] != 3 || len(decision.Estimates) != 3 {
		t.Errorf("%v", decision.Estimates)
	}
	for i, want := range []float64{-1, -2} {
		if got, there := decision.LimitEstimate(checked, checked.Constraints[i]); !there || got != want {
			t.Errorf("limit on %s: %v, %v", checked.Constraints[i].Name, got, there)
		}
	}
	if got, there := decision.LimitEstimate(checked, checked.Constraints[2]); there {
		t.Errorf("a limit without an estimate has %v", got)
	}
}
