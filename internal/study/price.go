package study

import (
	"context"
	"strings"

	"headroom/internal/derived"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Price is the best expected objective by the threshold of one limit, all else as it is.
type Price struct {
	Constraint string      `json:"constraint"`
	Metric     string      `json:"metric"`
	Op         string      `json:"op"`
	Threshold  float64     `json:"threshold"`
	Unit       string      `json:"unit"`
	Curve      []PriceStep `json:"curve"` // by threshold, rising; empty while some metric has no readings to tell by
	// Slope is what the threshold is worth, in units of the objective for each of the metric: the
	// limit's multiplier. Null where it is not known.
	Slope *float64 `json:"slope"`
}

// PriceStep is the best settings with a chance of 0.9 to stay within every limit, this one being
// moved to the threshold; all null where there are none.
type PriceStep struct {
	Threshold  float64          `json:"threshold"`
	Best       *float64         `json:"best"` // expected objective there
	SD         *float64         `json:"sd"`
	Parameters *design.Settings `json:"parameters"`
}

// PriceOf works out what moving the limit of that name would be worth.
func (s *Models) PriceOf(ctx context.Context, snap *ledger.Snapshot, name string) (Price, error) {
	c := snap.Compiled()
	j := -1
	for i, known := range c.ConstraintNames {
		if strings.EqualFold(known, name) {
			j = i
		}
	}
	if j < 0 {
		return Price{}, design.NewInvalid("constraint", "must name one of the constraints: "+design.Listed(c.ConstraintNames, "or"), name)
	}
	known, faults := c.Known(design.Brought{})
	if len(faults) > 0 {
		return Price{}, conflict("What a limit costs depends here on what each trial brings with it, so it cannot be said beforehand.")
	}
	state, err := s.state(ctx, snap)
	if err != nil {
		return Price{}, err
	}
	return derived.Get(ctx, s.Derived, snap, priceAt(c.ConstraintNames[j]), func(ctx context.Context) (Price, error) {
		worked, err := compute(ctx, s.Derived, snap.ID, func(ctx context.Context) (optimizer.Price, error) { return state.Price(ctx, j, known) })
		return priceOf(c, j, worked), err
	})
}

func priceOf(c *design.Compiled, j int, worked optimizer.Price) Price {
	limit := c.Def.Constraints[j]
	out := Price{Constraint: limit.Name, Metric: limit.Metric, Op: limit.Op, Threshold: limit.Threshold, Unit: limit.Unit, Curve: []PriceStep{}}
	for _, step := range worked.Steps {
		told := PriceStep{Threshold: step.Threshold}
		if step.Found {
			settings := c.Settings(step.Place)
			told.Best, told.SD, told.Parameters = finiteOrNil(step.Best), finiteOrNil(step.SD), &settings
		}
		out.Curve = append(out.Curve, told)
	}
	if worked.HasSlope {
		out.Slope = finiteOrNil(worked.Slope)
	}
	return out
}
