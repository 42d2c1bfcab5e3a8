package fit

import (
	"context"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/descent"
)

// mode is where a search ended.
type mode struct {
	at          []float64
	value       float64
	evaluations int
}

// limits of one search, in log units: hyperparameters are then within about 0.1 % of the mode.
var limits = descent.Limits{Flat: 1e-3, Steps: 60, First: 0.5, Longest: 1.5}

// minimise follows the posterior downhill from start inside its bounds. The error is that of ctx.
func minimise(ctx context.Context, p *posterior, start []float64) (mode, error) {
	var m mode
	search := descent.New(start, p.low, p.high, limits)
	for theta := search.Next(); theta != nil; theta = search.Next() {
		if err := checkpoint.Reach(ctx); err != nil {
			return m, err
		}
		m.evaluations++
		search.Tell(p.value(theta), p.gradient)
	}
	m.at, m.value = search.Best()
	return m, nil
}
