package study

import (
	"context"
	"slices"
	"strings"

	"headroom/internal/derived"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// StopStatement compares the chance that more than Within of the recommended value can still be
// gained with the risk that the study's owner accepts.
type StopStatement struct {
	design.Stop
	Chance  float64 `json:"chance"`
	AtMost  float64 `json:"at_most"`
	Reached bool    `json:"reached"` // AtMost is at most Risk
}

// StopNow returns the risk of stopping now, nil where nothing is recommended. The first chance of
// gain must be that of the target.
func StopNow(gain *optimizer.Gain, target design.Stop) *StopStatement {
	if gain == nil || len(gain.ChanceLeft) == 0 {
		return nil
	}
	left := gain.ChanceLeft[0]
	return &StopStatement{Stop: target, Chance: left.Chance, AtMost: left.AtMost, Reached: left.AtMost <= target.Risk}
}

// GainOf returns the distribution of what could still be gained, given the model and the values
// that people called plausible; its first chance is that of the study's target. It is nil before
// there is a model, if no draw has settings within every limit, if limits need values that come
// with a decision, and if the model is kept so wide for safety that better settings seem to be
// anywhere.
func (s *Models) GainOf(ctx context.Context, snap *ledger.Snapshot) (*optimizer.Gain, error) {
	return derived.Get(ctx, s.Derived, snap, gainOf, func(ctx context.Context) (*optimizer.Gain, error) { return s.gain(ctx, snap) })
}

func (s *Models) gain(ctx context.Context, snap *ledger.Snapshot) (*optimizer.Gain, error) {
	c := snap.Compiled()
	known, faults := c.Known(design.Brought{})
	if len(faults) > 0 || c.WideForSafety() {
		return nil, nil
	}
	return onState(ctx, s, snap, func(ctx context.Context, state *optimizer.State) (*optimizer.Gain, error) {
		found, ok, err := state.Gain(ctx, known, plausible(snap), snap.Definition.Stop.Within)
		if err != nil || !ok {
			return nil, err
		}
		return &found, nil
	})
}

// plausible returns the lowest and the highest plausible value of the objective, as people gave
// them. It is nil if none were given, or if a reading lies beyond them and disproves them.
func plausible(snap *ledger.Snapshot) []float64 {
	o := snap.Definition.Objective
	read := snap.Range(o.Metric, 0)
	if len(o.Plausible) < 2 || read.Count > 0 && (read.Low < o.Plausible[0] || read.High > o.Plausible[1]) {
		return nil
	}
	return o.Plausible
}

// Price is the best expected objective as a function of one limit's threshold, all else being
// equal.
type Price struct {
	Constraint string      `json:"constraint"`
	Metric     string      `json:"metric"`
	Op         string      `json:"op"`
	Threshold  float64     `json:"threshold"`
	Unit       string      `json:"unit"`
	Curve      []PriceStep `json:"curve"` // by ascending threshold; empty while some metric has no readings
	// Slope is the gain in the objective per unit of the threshold: the limit's multiplier. It is
	// null where unknown.
	Slope *float64 `json:"slope"`
}

// PriceStep has the best settings with a chance of at least 0.9 to stay within every limit if this
// limit is moved to the threshold; all null if there are none.
type PriceStep struct {
	Threshold  float64          `json:"threshold"`
	Best       *float64         `json:"best"` // expected objective there
	SD         *float64         `json:"sd"`
	Parameters *design.Settings `json:"parameters"`
}

// PriceOf returns what moving the limit of that name would be worth.
func (s *Models) PriceOf(ctx context.Context, snap *ledger.Snapshot, name string) (Price, error) {
	c := snap.Compiled()
	j := slices.IndexFunc(c.ConstraintNames, func(known string) bool { return strings.EqualFold(known, name) })
	if j < 0 {
		return Price{}, design.NewInvalid("constraint", design.UnknownName("constraint", name, c.ConstraintNames), name)
	}
	known, faults := c.Known(design.Brought{})
	if len(faults) > 0 {
		return Price{}, conflict("What a limit costs depends here on what each trial brings with it, so it cannot be said beforehand.")
	}
	return derived.Get(ctx, s.Derived, snap, priceAt(c.ConstraintNames[j]), func(ctx context.Context) (Price, error) {
		worked, err := onState(ctx, s, snap, func(ctx context.Context, state *optimizer.State) (optimizer.Price, error) {
			return state.Price(ctx, j, known)
		})
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
			told.Best, told.SD, told.Parameters = design.FiniteOrNil(step.Best), design.FiniteOrNil(step.SD), &settings
		}
		out.Curve = append(out.Curve, told)
	}
	if worked.HasSlope {
		out.Slope = design.FiniteOrNil(worked.Slope)
	}
	return out
}
