package search

import (
	"math"
	"slices"

	"headroom/internal/optimizer/descent"
)

// Ascent is a point on its way up.
type Ascent struct {
	U     []float64
	Score Score
	// Refused tells that a point on the way was not allowed or of a higher rank, so that what was found may lie at the edge of what is, where slopes say little.
	Refused bool
	// Joined tells that it went no further because it had come near to another that stands higher.
	Joined bool
}

// joined is how near, in every coordinate, a point comes to a higher one to be taken for another on its way to the same top.
const joined = 0.02

// Slope is how a value v(x) − Σ_k p_k [h_k(x)]⁺ changes around a point: Along holds the slopes of v along every
// axis, Kinks the other terms.
type Slope struct {
	Along []float64
	Kinks []descent.Kink
}

// down is the same of the value turned upside down.
func (s Slope) down() descent.Local {
	local := descent.Local{Gradient: make([]float64, len(s.Along)), Kinks: s.Kinks}
	for k, v := range s.Along {
		local.Gradient[k] = -v
	}
	return local
}

// Effort is how far ascents go: each until a step brings less than Least, and, where values have kinks, the
// highest Fine of them from there until it would bring less than Finest.
type Effort struct {
	Least, Finest float64
	Fine          int
}

// climb is a descent of a value turned upside down.
type climb interface {
	Next() []float64
	Tell(value float64, local func() descent.Local)
}

// smoothClimb has no kinks.
type smoothClimb struct{ *descent.Descent }

func (c smoothClimb) Tell(value float64, local func() descent.Local) {
	c.Descent.Tell(value, func() []float64 { return local().Gradient })
}

// Ascend moves allowed points uphill along the slopes of their value, which Rise gives, on the axes that are continuous. All are worked out
// together, a step of each at a time; one that joins a higher one goes no further. The error is that of Rise.
func (p Problem) Ascend(from []Ascent, effort Effort) error {
	limits := descent.Limits{Flat: 1e-5, Least: effort.Least, Steps: 40, First: 0.05, Longest: 0.25}
	climbs := make([]climb, len(from))
	for i, a := range from {
		low, high := p.room(a.U)
		if p.Kinked {
			climbs[i] = descent.NewKinked(a.U, low, high, limits)
		} else {
			climbs[i] = smoothClimb{descent.New(a.U, low, high, limits)}
		}
	}
	err := p.ascend(from, climbs)
	if err != nil || !p.Kinked {
		return err
	}
	for _, i := range highest(from, effort.Fine) {
		climbs[i].(*descent.Kinked).Resume(effort.Finest)
	}
	return p.ascend(from, climbs)
}

// highest are the ascents that stand highest of those that went on.
func highest(from []Ascent, count int) (list []int) {
	for i, a := range from {
		if !a.Joined {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(i, j int) int {
		switch {
		case from[i].Score.Above(from[j].Score):
			return -1
		case from[j].Score.Above(from[i].Score):
			return 1
		}
		return 0
	})
	return list[:min(count, len(list))]
}

// ascend follows climbs until none asks for more.
func (p Problem) ascend(from []Ascent, climbs []climb) error {
	for {
		points, whose := p.nextSteps(climbs, from)
		if len(points) == 0 {
			return nil
		}
		scores, slopes, err := p.Rise(points)
		if err != nil {
			return err
		}
		for n, i := range whose {
			if !scores[n].Allowed || scores[n].Rank > from[i].Score.Rank {
				from[i].Refused = true
				climbs[i].Tell(math.Inf(1), nil)
				continue
			}
			if scores[n].Above(from[i].Score) {
				from[i].U, from[i].Score = points[n], scores[n]
			}
			climbs[i].Tell(-scores[n].Value, slopes[n].down)
		}
	}
}

// nextSteps are the points that the climbs ask for next, and whose they are; those that are not allowed are refused at once.
func (p Problem) nextSteps(climbs []climb, from []Ascent) (points [][]float64, whose []int) {
	for i, climb := range climbs {
		if from[i].Joined = hasJoined(from, i); from[i].Joined {
			continue
		}
		for u := climb.Next(); u != nil; u = climb.Next() {
			if p.Settle == nil || p.Settle(u) {
				points, whose = append(points, u), append(whose, i)
				break
			}
			from[i].Refused = true
			climb.Tell(math.Inf(1), nil)
		}
	}
	return points, whose
}

// hasJoined tells whether an ascent has come near to one that stands higher, or as high and comes before it.
func hasJoined(all []Ascent, i int) bool {
	for j, other := range all {
		higher := other.Score.Value > all[i].Score.Value || other.Score.Value == all[i].Score.Value && j < i
		if higher && within(joined, other.U, all[i].U) {
			return true
		}
	}
	return false
}

// within tells whether two points are no further apart than distance in any coordinate.
func within(distance float64, a, b []float64) bool {
	for k := range a {
		if math.Abs(a[k]-b[k]) > distance {
			return false
		}
	}
	return true
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
