package optimizer

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/search"
)

// arms are places as the regressions see them: the candidates, or those of a shortlist.
type arms struct {
	places            []Place
	features, indices *kernel.Inputs
}

// newArms lists the candidates, nil on a continuous space.
func (s Space) newArms() *arms {
	if s.Arms == nil {
		return nil
	}
	return s.list(s.places())
}

func (s Space) list(places []Place) *arms {
	a := &arms{places: places, features: kernel.NewInputs(s.width()), indices: kernel.NewInputs(1)}
	for _, p := range places {
		a.features.Append(s.features(p.U))
		a.indices.Append([]float64{float64(p.Arm)})
	}
	return a
}

// inputs are the candidates as a kernel sees them.
func (a *arms) inputs(k Kernel) *kernel.Inputs {
	if k.Name == "covariance" {
		return a.indices
	}
	return a.features
}

// everyArm tells whether the places are all candidates in their order.
func (s *task) everyArm(at []Place) bool {
	if s.arms == nil || len(at) != len(s.arms.places) {
		return false
	}
	for i, p := range at {
		if p.Arm != i {
			return false
		}
	}
	return true
}

// places lists the arms, nil on a continuous space.
func (s Space) places() []Place {
	if s.Arms == nil {
		return nil
	}
	at := make([]Place, len(s.Arms))
	for i, u := range s.Arms {
		at[i] = Place{U: u, Arm: i}
	}
	return at
}

func asPlaces(points [][]float64) []Place {
	at := make([]Place, len(points))
	for i, u := range points {
		at[i] = Place{U: u, Arm: -1}
	}
	return at
}

// at looks up the given constraints' values for some places of one decision.
func (k Known) at(places []Place) func(j, i int) float64 {
	return func(j, i int) float64 {
		if places[i].Arm >= 0 && j < len(k.Arms) && k.Arms[j] != nil {
			return k.Arms[j][places[i].Arm]
		}
		return k.At(j, places[i].U)
	}
}

// left tells whether a place has not run out.
func (s *task) left(p Place) bool { return p.Arm < 0 || s.cfg.Space.available(p.Arm) }

// allowedArms are the candidates that may be chosen.
func (s *task) allowedArms() []Place {
	var at []Place
	for i, place := range s.arms.places {
		if s.cfg.Space.available(i) {
			at = append(at, place)
		}
	}
	return at
}

// knownRows tabulates the given constraints' values; nil when there are none.
func (s *task) knownRows(places []Place, known Known) [][]float64 {
	if !slices.ContainsFunc(s.cfg.Costs, func(c Cost) bool { return c.Knowledge == Given }) {
		return nil
	}
	value := known.at(places)
	rows := make([][]float64, len(places))
	for i := range rows {
		rows[i] = make([]float64, len(s.cfg.Costs))
		for j, c := range s.cfg.Costs {
			if c.Knowledge == Given {
				rows[i][j] = value(j, i)
			}
		}
	}
	return rows
}

// keepsKnownLimits tells of a place whether all costs of known form are at most 0 there.
func (s *task) keepsKnownLimits(known Known) func(Place) bool {
	return func(at Place) bool {
		for _, row := range s.knownRows([]Place{at}, known) {
			if slices.Max(row) > 0 { // costs of other kinds are 0 in it
				return false
			}
		}
		return true
	}
}

// placesOf are the space-filling points that are allowed, settled, and of some others those that
// are.
func (s *task) placesOf(points, others [][]float64) []Place {
	return asPlaces(append(s.cfg.Space.allowed(points, s.cfg.Seed), s.cfg.Space.settled(others)...))
}

// pointsPlayed are the points tried before.
func (s *task) pointsPlayed() (points [][]float64) {
	for _, r := range s.history.Rounds {
		points = append(points, r.Point)
	}
	return points
}

// allowedPlaces settles points and keeps the allowed ones, each once.
func (s *task) allowedPlaces(points [][]float64) []Place {
	var at []Place
	listed := map[string]bool{}
	for _, u := range points {
		v, ok := s.cfg.Space.settle(u)
		if name := fmt.Sprint(v); ok && !listed[name] {
			listed[name] = true
			at = append(at, Place{U: v, Arm: -1})
		}
	}
	return at
}

// screeningPlaces are the space-filling points that are allowed, and the points tried before.
func (s *task) screeningPlaces() []Place {
	return s.placesOf(search.Halton(screenPoints, len(s.cfg.Space.Dims), s.cfg.Seed), s.pointsPlayed())
}

// anyPlace is an allowed point of a finer search, for spaces that the sequence hardly meets.
func (s *task) anyPlace() (Place, bool) {
	places := s.screeningPlaces()
	if len(places) == 0 {
		return Place{}, false
	}
	return places[s.Round()%len(places)], true
}

// spread are overhanging points that are allowed, the same in every round.
type spread struct {
	once   sync.Once
	points [][]float64
}

// amidSpread are the points of the spread, and of some others those that are allowed.
func (s *task) amidSpread(others [][]float64) []Place {
	s.spread.once.Do(func() {
		s.spread.points = s.cfg.Space.allowed(s.cfg.overhanging(screenPoints, s.cfg.Seed), s.cfg.Seed)
	})
	return asPlaces(slices.Concat(s.spread.points, s.cfg.Space.settled(others)))
}

// overhanging are points spread over a box that reaches beyond the space, drawn back to its sides.
func (cfg *Config) overhanging(count int, seed uint64) [][]float64 {
	points := search.Halton(count, len(cfg.Space.Dims), seed)
	for _, u := range points {
		for k := range u {
			u[k] = min(max((1+2*overhang)*u[k]-overhang, 0), 1)
		}
	}
	return points
}

// features are the places' kernel inputs.
func (s *task) features(at []Place) [][]float64 {
	x := make([][]float64, len(at))
	for i, p := range at {
		x[i] = s.cfg.Space.features(p.U)
	}
	return x
}

// distinct tells whether two points differ by more than a hundredth of the range of some parameter.
func distinct(a, b []float64) bool { return differ(a, b, 0.01) }

// differ tells whether two points are further apart than distance in some coordinate.
func differ(a, b []float64, distance float64) bool {
	for k := range a {
		if math.Abs(a[k]-b[k]) > distance {
			return true
		}
	}
	return false
}

// distance is the euclidean distance of two points.
func distance(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum)
}
