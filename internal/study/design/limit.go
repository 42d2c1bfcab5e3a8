package design

import "headroom/internal/optimizer"

// cost is the limit as the optimizer has it, but for the metric's place among the others.
func (c Constraint) cost() optimizer.Cost {
	sign := 1.0
	if c.Op == ">=" {
		sign = -1
	}
	return optimizer.Cost{Name: c.Name, Sign: sign, Threshold: c.Threshold}
}

// Excess is g = value − threshold for ≤ and threshold − value for ≥, in the metric's units: how far
// value is beyond the limit.
func (c Constraint) Excess(value float64) float64 { return c.cost().Excess(value) }

// Holds tells whether value is within the limit, g ≤ 0.
func (c Constraint) Holds(value float64) bool { return c.Excess(value) <= 0 }

// Headroom is −g, how far value is within the limit, negative beyond it.
func (c Constraint) Headroom(value float64) float64 { return 0 - c.Excess(value) }

// Exceeded is the value that is beyond the limit by g.
func (c Constraint) Exceeded(g float64) float64 { return c.Threshold + c.cost().Sign*g }

// Headroom is the distance of value to the nearest limit on metric, min_j −g_j; nil when nothing
// limits it.
func (d Definition) Headroom(metric string, value float64) *float64 {
	var nearest *float64
	for _, c := range d.Constraints {
		if c.Metric != metric {
			continue
		}
		if room := c.Headroom(value); nearest == nil || room < *nearest {
			nearest = &room
		}
	}
	return nearest
}

// Better tells whether value a improves on b.
func (o Objective) Better(a, b float64) bool {
	if o.Direction == "minimize" {
		return a < b
	}
	return a > b
}
