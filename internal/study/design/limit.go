package design

// Excess is g = value − threshold for ≤ and threshold − value for ≥, in the metric's units: the limit holds when g ≤ 0.
func (c Constraint) Excess(value float64) float64 {
	if c.Op == ">=" {
		return c.Threshold - value
	}
	return value - c.Threshold
}

// Given tells whether the constraint's value is known when a decision is made, instead of being learned.
func (c Constraint) Given() bool { return c.Expression != "" || c.Sampled }

// Headroom is the distance of value to the nearest limit on metric, min_j −g_j; nil when nothing limits it.
func (d Definition) Headroom(metric string, value float64) *float64 {
	var nearest *float64
	for _, c := range d.Constraints {
		if c.Metric != metric {
			continue
		}
		if room := -c.Excess(value); nearest == nil || room < *nearest {
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
