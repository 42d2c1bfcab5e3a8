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
	// Refused tells that a point on the way was not allowed or of a higher rank, so that what was
	// found may lie at the edge of what is, where slopes say little.
	Refused bool
	// Joined tells that it went no further because it had come near to another that stands higher.
	Joined bool
}

// joined is how near, in every coordinate, a point comes to a higher one to be taken for another on
// its way to the same top.
const joined = 0.02

// Slope is how a value v(x) − Σ_k p_k [h_k(x)]⁺ changes around a point: Along holds the slopes of v
// along every axis, Kinks the other terms.
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

// climb is a descent of a value turned upside down.
type climb interface {
	Next() []float64
	Wants(value float64) bool
	Tell(value float64, local func() descent.Local)
}

// smoothClimb has no kinks.
type smoothClimb struct{ *descent.Descent }

func (c smoothClimb) Tell(value float64, local func() descent.Local) {
	c.Descent.Tell(value, func() []float64 { return local().Gradient })
}

// Ascend moves allowed points uphill along the slopes of their value, which Rise gives and which
// has no kinks, on the axes that are continuous, until a step brings less than least. All are
// worked out together, a step of each at a time; one that joins a higher one goes no further. The
// error is that of Rise.
func (p Problem) Ascend(from []Ascent, least float64) error {
	climbs := make([]climb, len(from))
	for i, a := range from {
		low, high := p.room(a.U)
		climbs[i] = smoothClimb{descent.New(a.U, low, high, limits(least))}
	}
	return p.ascend(from, climbs)
}

func limits(least float64) descent.Limits {
	return descent.Limits{Flat: 1e-5, Least: least, Steps: 40, First: 0.05, Longest: 0.25}
}

// Ridges are ascents of a problem whose values have kinks. They can be joined by others on the way,
// and go on where they stopped.
type Ridges struct {
	Problem Problem
	Ascents []Ascent
	climbs  []climb
}

// Add adds an allowed point, to be led up until a step would bring less than least.
func (r *Ridges) Add(u []float64, score Score, least float64) {
	low, high := r.Problem.room(u)
	r.Ascents = append(r.Ascents, Ascent{U: u, Score: score})
	far := limits(least)
	far.Steps *= 3
	r.climbs = append(r.climbs, descent.NewKinked(u, low, high, far))
}

// Resume lets ascent i go on until a step would bring less than least.
func (r *Ridges) Resume(i int, least float64) { r.climbs[i].(*descent.Kinked).Resume(least) }

// Follow moves all on, as Ascend does, as far as they go. The error is that of Rise.
func (r *Ridges) Follow() error { return r.Problem.ascend(r.Ascents, r.climbs) }

// Highest are the numbers of the ascents that joined no other, the highest first.
func (r *Ridges) Highest() (order []int) {
	for i, a := range r.Ascents {
		if !a.Joined {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch a, b := r.Ascents[i].Score, r.Ascents[j].Score; {
		case a.Above(b):
			return -1
		case b.Above(a):
			return 1
		}
		return 0
	})
	return order
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
		values, around, wanted := make([]float64, len(points)), make([]Slope, len(points)), []int{}
		for n, i := range whose {
			values[n] = -scores[n].Value
			if !scores[n].Allowed || scores[n].Rank > from[i].Score.Rank {
				from[i].Refused, values[n] = true, math.Inf(1)
			}
			if climbs[i].Wants(values[n]) {
				wanted = append(wanted, n)
			}
		}
		some, err := slopes(wanted)
		if err != nil {
			return err
		}
		for k, n := range wanted {
			around[n] = some[k]
		}
		for n, i := range whose {
			if values[n] < math.Inf(1) && scores[n].Above(from[i].Score) {
				from[i].U, from[i].Score = points[n], scores[n]
			}
			climbs[i].Tell(values[n], around[n].down)
		}
	}
}

// nextSteps are the points that the climbs ask for next, and whose they are; those that are not
// allowed are refused at once.
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

// hasJoined tells whether an ascent has come near to one that stands higher, or as high and comes
// before it.
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
