package policy

import (
	"math"
	"math/rand/v2"

	"headroom/internal/optimizer/search"
)

var scbo = Description{
	Name: "scbo", Title: "Scalable constrained optimisation in a trust region",
	Source:   "Eriksson, Poloczek: Scalable Constrained Bayesian Optimization, 2021",
	Feedback: rpolUCB.Feedback,
	Summary:  "For many parameters: random draws of the functions in a region around the best point so far.",
	Settings: settings(),
	build:    func(c Context, s Settings) Policy { return trustRegion{design: s.InitialDesign(c)} },
}

// trustRegion draws f and all g jointly over the places in a box of side L around the incumbent and takes the best that is feasible in
// the draw, else the one with the least Σ_j [g_j]⁺.
//
// The incumbent is the past round with the largest reward among those within every limit, else with the least Σ_j [c_j]⁺. L is 0.8 at
// first, doubles, up to 1.6, after 10 rounds in a row that improved the incumbent and halves after d in a row that did not; below 2⁻⁷ it
// starts at 0.8 again. All of this is worked out from the readings, so there is nothing to record.
type trustRegion struct {
	unbanded
	design int // rounds of the first design, which do not move L
}

func (a trustRegion) Traits() Traits {
	return Traits{LooksBack: true, LooksAtAll: true, Propose: a.propose, Drawn: a.drawn}
}

const (
	firstSide, leastSide, largestSide = 0.8, 1.0 / 128, 1.6
	successes                         = 10
	perturbed                         = 20 // coordinates changed on average
	proposals                         = 2000
)

// region is the box around the incumbent; centre is nil before there is one.
type region struct {
	centre []float64
	side   float64
}

func (a trustRegion) region(s *Sight) region {
	r := region{side: firstSide}
	failures := 0
	for _, free := range s.Set.Free {
		if free {
			failures++
		}
	}
	var best Past
	up, down := 0, 0
	for i, p := range s.Past {
		if !p.Complete || p.Excluded {
			continue
		}
		better := r.centre == nil || surpasses(p, best)
		if better {
			best, r.centre = p, p.Point
		}
		switch {
		case !p.Suggested || i < a.design:
			continue
		case better:
			up, down = up+1, 0
		default:
			up, down = 0, down+1
		}
		if up == successes {
			r.side, up = math.Min(2*r.side, largestSide), 0
		}
		if down >= failures {
			r.side, down = r.side/2, 0
		}
		if r.side < leastSide {
			r.side = firstSide
		}
	}
	return r
}

// surpasses tells whether p is within the limits with a larger reward than best, or closer to them.
func surpasses(p, best Past) bool {
	over, bestOver := excess(p.Costs), excess(best.Costs)
	if over != bestOver {
		return over < bestOver
	}
	return p.Reward > best.Reward
}

func (r region) contains(u []float64, free []bool) bool {
	for k := range u {
		if r.centre != nil && free[k] && math.Abs(u[k]-r.centre[k]) > r.side/2 {
			return false
		}
	}
	return true
}

// propose fills the region with Halton points, each of which changes every coordinate of the incumbent with probability min(1, 20/d),
// and adds the points tried before.
func (a trustRegion) propose(s *Sight) [][]float64 {
	d := len(s.Set.Free)
	r := a.region(s)
	points := search.Halton(proposals, d, s.Draw.Seed)
	source := rand.New(rand.NewPCG(s.Draw.Seed, 1))
	for _, u := range points {
		if r.centre == nil {
			break
		}
		always := source.IntN(d)
		for k := range u {
			if k != always && source.Float64() >= perturbed/float64(d) {
				u[k] = r.centre[k]
				continue
			}
			low, high := math.Max(0, r.centre[k]-r.side/2), math.Min(1, r.centre[k]+r.side/2)
			u[k] = low + u[k]*(high-low)
		}
	}
	for _, p := range s.Past {
		points = append(points, p.Point)
	}
	return points
}

func (a trustRegion) Score(s *Sight) Scores {
	drawn := drawFunctions(s, filled(1+len(s.Costs), 1))
	r := a.region(s)
	scores := Scores{Value: drawn[0], Fallback: make([]float64, len(s.Set.Points)), Allowed: make([]bool, len(s.Set.Points)), Reason: Sample}
	inside := make([]bool, len(s.Set.Points))
	for i, u := range s.Set.Points {
		for _, g := range drawn[1:] {
			scores.Fallback[i] -= positive(g[i])
		}
		inside[i] = r.contains(u, s.Set.Free)
		scores.Allowed[i] = inside[i] && scores.Fallback[i] == 0
	}
	if count(scores.Allowed) == 0 {
		scores.Value, scores.Allowed = scores.Fallback, inside
	}
	return scores
}

func (a trustRegion) drawn(s *Sight, i int) []float64 {
	return standardised(s, drawFunctions(s, filled(1+len(s.Costs), 1)), i)
}

func (trustRegion) Estimates(s *Sight, i int) []float64 { return drawnAt(s, i) }
