package search

import (
	"math"

	"headroom/internal/optimizer/descent"
)

// Ascent is a point on its way up.
type Ascent struct {
	U     []float64
	Score Score
	// Refused tells that a point on the way was not allowed, so that what was found may lie at the edge of what is, where slopes say little.
	Refused bool
}

// ascents are the limits of an ascent, in unit coordinates: it ends where the value rises by less than 1e-6 across a step or 1e-5 across the cube.
var ascents = descent.Limits{Flat: 1e-5, Least: 1e-6, Steps: 40, First: 0.05, Longest: 0.25}

// Ascend moves allowed points uphill along the slopes of their value, which Rise gives, on the axes that are continuous. All are worked out
// together, and each goes the way that it would go alone. The error is that of Rise.
func (p Problem) Ascend(from []Ascent) error {
	climbs := make([]*descent.Descent, len(from))
	for i, a := range from {
		low, high := p.room(a.U)
		climbs[i] = descent.New(a.U, low, high, ascents)
	}
	for {
		var points [][]float64
		var whose []int
		for i, climb := range climbs {
			for u := climb.Next(); u != nil; u = climb.Next() {
				if p.Settle != nil && !p.Settle(u) {
					from[i].Refused = true
					climb.Tell(math.Inf(1), nil)
					continue
				}
				points, whose = append(points, u), append(whose, i)
				break
			}
		}
		if len(points) == 0 {
			return nil
		}
		scores, slopes, err := p.Rise(points)
		if err != nil {
			return err
		}
		for n, i := range whose {
			if !scores[n].Allowed {
				from[i].Refused = true
				climbs[i].Tell(math.Inf(1), nil)
				continue
			}
			if scores[n].Above(from[i].Score) {
				from[i].U, from[i].Score = points[n], scores[n]
			}
			climbs[i].Tell(-scores[n].Value, func() []float64 { return negative(slopes[n]) })
		}
	}
}

// room are the bounds between which a point may move: those of the cube along continuous axes.
func (p Problem) room(u []float64) (low, high []float64) {
	low, high = make([]float64, len(u)), make([]float64, len(u))
	for k, axis := range p.Axes {
		low[k], high[k] = u[k], u[k]
		if !axis.Fixed && axis.Levels == 0 {
			low[k], high[k] = 0, 1
		}
	}
	return low, high
}

func negative(slopes []float64) []float64 {
	down := make([]float64, len(slopes))
	for k, v := range slopes {
		down[k] = -v
	}
	return down
}
