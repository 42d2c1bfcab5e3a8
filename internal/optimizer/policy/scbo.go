package policy

import (
	"math"
	"math/rand/v2"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/search"
)

var scbo = Description{
	Name: "scbo", Title: "Scalable constrained optimisation in a trust region",
	Source:   "Eriksson, Poloczek: Scalable Constrained Bayesian Optimization, 2021",
	Feedback: rpolUCB.Feedback,
	Summary:  "For many parameters: random draws of the functions in a region around the best point so far.",
	Settings: settings(),
	Build:    func(c Context, s Settings) Policy { return trustRegion{design: s.InitialDesign()} },
}

// trustRegion draws f and all g jointly over the places in a region of length L around the
// incumbent and takes the best place that is feasible in the draw, else the one with the least Σ_j
// [g_j]⁺. A place is in the region when each of its numbers is within L/2 of the incumbent's, in
// unit coordinates, and at most ⌈L·C⌉ of its C categories differ (Wan, Nguyen, Ha, Ru, Lu, Osborne:
// Think Global and Act Local, 2021: Hamming distance); the order in which choices are listed does
// not matter. Known places are left out while there are others.
//
// The incumbent is the past round with the largest reward among those within every limit, else with
// the least Σ_j [c_j]⁺. L is 0.8 at first, doubles, up to 1.6, after 10 rounds in a row that
// improved the incumbent, and halves after d in a row that did not. Below 2⁻⁷ the search restarts:
// with as many space-filling rounds as at first, then with a region around the best of what came
// since. The model keeps all readings. All of this is computed from the readings, so there is
// nothing to record.
type trustRegion struct {
	plain
	design int // rounds of the first design, which do not move L
}

func (a trustRegion) Traits() Traits {
	return Traits{NeedsPast: true, NeedsSet: true, AvoidsKnown: true, Propose: a.propose, Considers: a.considers, Functions: a.functions, Drawn: standardised}
}

const (
	firstSide, leastSide, largestSide = 0.8, 1.0 / 128, 1.6
	successes                         = 10
	perturbed                         = 20 // coordinates changed on average
	proposals                         = 2000
)

// region is where the next place is searched; centre is nil before there is an incumbent.
type region struct {
	centre  []float64
	side    float64 // L
	opening int     // rounds still to be spread over the space before the region counts
}

func (a trustRegion) region(s *Input) region {
	r := region{side: firstSide}
	patience := max(1, count(s.Set.Free))
	var best Past
	up, down := 0, 0
	for i, p := range s.Past {
		spread := r.opening > 0
		r.opening = max(0, r.opening-1)
		if !p.Complete || p.Excluded {
			continue
		}
		better := r.centre == nil || surpasses(p, best)
		if better {
			best, r.centre = p, p.Point
		}
		switch {
		case !p.Suggested || i < a.design || spread:
			continue
		case better:
			up, down = up+1, 0
		default:
			up, down = 0, down+1
		}
		if up == successes {
			r.side, up = math.Min(2*r.side, largestSide), 0
		}
		if down == patience {
			r.side, down = r.side/2, 0
		}
		if r.side < leastSide {
			r, up, down = region{side: firstSide, opening: max(1, a.design)}, 0, 0
		}
	}
	return r
}

// surpasses tells whether p is less far beyond the limits than best or, if equally far, has the
// larger reward.
func surpasses(p, best Past) bool {
	over, bestOver := excess(p.Costs), excess(best.Costs)
	if over != bestOver {
		return over < bestOver
	}
	return p.Reward > best.Reward
}

// contains tells whether a place is in the region.
func (r region) contains(u []float64, set *Set) bool {
	if r.centre == nil {
		return true
	}
	categories, changed := 0, 0
	for k := range u {
		switch n := set.Choices[k]; {
		case !set.Free[k]:
		case n > 0:
			categories++
			if choiceOf(u[k], n) != choiceOf(r.centre[k], n) {
				changed++
			}
		case math.Abs(u[k]-r.centre[k]) > r.side/2:
			return false
		}
	}
	return changed <= r.changes(categories)
}

// changes is how many of some categories may differ from the incumbent's.
func (r region) changes(categories int) int {
	return min(int(math.Ceil(r.side*float64(categories))), categories)
}

// choiceOf is the index of the choice at a unit coordinate.
func choiceOf(u float64, choices int) int { return min(max(int(u*float64(choices)), 0), choices-1) }

// propose fills the region with Halton points, each of which changes every coordinate of the
// incumbent with probability min(1, 20/d), but no more categories than the region allows. It moves
// them back towards the incumbent where hardly any are allowed, and adds the points tried before.
func (a trustRegion) propose(s *Input) [][]float64 {
	r := a.region(s)
	if r.opening > 0 {
		return [][]float64{s.Set.Design()}
	}
	d := len(s.Set.Free)
	points := search.Halton(proposals, d, s.Draw.Seed)
	source := rand.New(rand.NewPCG(s.Draw.Seed, 1))
	categories := len(lists.Where(len(s.Set.Choices), func(k int) bool { return s.Set.Choices[k] > 0 && s.Set.Free[k] }))
	for _, u := range points {
		if r.centre == nil {
			break
		}
		always, left := source.IntN(d), r.changes(categories)
		for _, k := range source.Perm(d) {
			change := k == always || source.Float64() < perturbed/float64(d)
			switch category := s.Set.Choices[k] > 0; {
			case !change || category && left == 0:
				u[k] = r.centre[k]
			case category:
				left--
			default:
				low, high := math.Max(0, r.centre[k]-r.side/2), math.Min(1, r.centre[k]+r.side/2)
				u[k] = low + u[k]*(high-low)
			}
		}
	}
	if r.centre != nil && s.Set.Reach != nil {
		points = s.Set.Reach(points, r.centre)
	}
	return append(points, lists.Map(s.Past, func(p Past) []float64 { return p.Point })...)
}

// functions draws all targets with their own widths; none while the places only fill the space.
func (a trustRegion) functions(s *Input) []float64 {
	if a.region(s).opening > 0 {
		return nil
	}
	return filled(1+len(s.Costs), 1)
}

func (a trustRegion) Score(s *Input) (Scores, error) {
	if s.Functions == nil {
		return Scores{Reason: Restart, Value: lists.Map(s.Set.Points, func(u []float64) float64 { return -s.Set.Dissimilarity(u, s.Set.Design()) })}, nil
	}
	return Sampled(s), nil
}

// Sampled are the scores of places by the functions drawn there: the reward where all limits are
// kept, else −Σ_j [g_j]⁺.
func Sampled(s *Input) Scores {
	f := s.Functions[0]
	scores := Scores{Value: f, Allowed: make([]bool, len(f)), Fallback: make([]float64, len(f)), Reason: Sample}
	for i := range f {
		for _, g := range s.Functions[1:] {
			scores.Fallback[i] -= positive(g[i])
		}
		scores.Allowed[i] = scores.Fallback[i] == 0
	}
	return scores
}

// considered is the largest number of places that functions are drawn over; of more, as many are
// chosen at random.
const considered = 1000

// considers lists the places to choose from: those of the region that are not known yet; if there
// are none, unknown ones anywhere; if all are known, those of the region.
func (a trustRegion) considers(s *Input) []int {
	r := a.region(s)
	var inside, fresh, both []int
	for i, u := range s.Set.Points {
		within := r.opening > 0 || r.contains(u, s.Set)
		if within {
			inside = append(inside, i)
		}
		if !s.Set.Known[i] {
			fresh = append(fresh, i)
			if within {
				both = append(both, i)
			}
		}
	}
	for _, list := range [][]int{both, fresh, inside} {
		if len(list) > considered {
			random := rand.New(rand.NewPCG(s.Draw.Seed, 2))
			random.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
			list = list[:considered]
			slices.Sort(list)
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

func (trustRegion) Estimates(s *Input, i int) []float64 { return s.at(i, s.Draw.Z) }
