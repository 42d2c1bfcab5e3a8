package optimizer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/search"
)

// width is the number of kernel inputs that the space's parameters become.
func (s Space) width() int {
	n := 0
	for _, d := range s.Dims {
		n += d.inputs()
	}
	return n
}

func (d Dim) inputs() int {
	if d.Kind == Categorical {
		return d.Choices
	}
	return 1
}

// features maps unit coordinates to kernel inputs.
func (s Space) features(u []float64) []float64 {
	x := make([]float64, 0, s.width())
	for k, d := range s.Dims {
		x = d.appendInputs(x, u[k])
	}
	return x
}

func (d Dim) appendInputs(x []float64, u float64) []float64 {
	switch d.Kind {
	case Logarithmic:
		return append(x, d.Low*math.Pow(d.High/d.Low, u))
	case Categorical:
		chosen := d.Choice(u)
		for i := range d.Choices {
			if i == chosen {
				x = append(x, 1)
			} else {
				x = append(x, 0)
			}
		}
		return x
	}
	return append(x, d.Low+u*(d.High-d.Low))
}

// Choice is the index of the choice that unit coordinate u stands for, of a categorical parameter.
func (d Dim) Choice(u float64) int {
	return min(max(int(u*float64(d.Choices)), 0), d.Choices-1)
}

// choices is the number of choices of a categorical parameter, 0 of any other.
func (d Dim) choices() int {
	if d.Kind == Categorical {
		return d.Choices
	}
	return 0
}

// unlike is the squared distance of two points in unit coordinates, two different choices being 1
// apart: they have no order.
func (s Space) unlike(u, v []float64) float64 {
	sum := 0.0
	for k, d := range s.Dims {
		switch difference := u[k] - v[k]; {
		case d.Kind != Categorical:
			sum += difference * difference
		case d.Choice(u[k]) != d.Choice(v[k]):
			sum++
		}
	}
	return sum
}

// relabelled takes a point of a space-filling sequence to the arms' choices in the order in which
// the arms first have them, so that it matters nowhere how choices are listed.
func (s Space) relabelled(u []float64) []float64 {
	v := slices.Clone(u)
	for k, d := range s.Dims {
		if d.Kind != Categorical {
			continue
		}
		var met []int
		for _, arm := range s.Arms {
			if c := d.Choice(arm[k]); !slices.Contains(met, c) {
				met = append(met, c)
			}
		}
		choice := met[min(int(u[k]*float64(len(met))), len(met)-1)]
		v[k] = (float64(choice) + 0.5) / float64(d.Choices)
	}
	return v
}

// spread gives each kernel input the lengthscale of its parameter.
func (s Space) spread(lengthscales []float64) []float64 {
	var out []float64
	for k, d := range s.Dims {
		for range d.inputs() {
			out = append(out, lengthscales[k])
		}
	}
	return out
}

// owners says, for each kernel input, which parameter it belongs to.
func (s Space) owners() []int {
	var out []int
	for k, d := range s.Dims {
		for range d.inputs() {
			out = append(out, k)
		}
	}
	return out
}

// categories says, for each kernel input, which categorical parameter it belongs to, −1 for a
// number.
func (s Space) categories() []int {
	out := s.owners()
	for i, k := range out {
		if s.Dims[k].Kind != Categorical {
			out[i] = -1
		}
	}
	return out
}

// inputRange is the extent of a parameter in kernel inputs, which default lengthscales are a
// fraction of.
func (d Dim) inputRange() float64 {
	if d.Kind == Categorical {
		return 1
	}
	return d.High - d.Low
}

// offers tells whether a place has not run out.
func (s Space) offers(p Place) bool { return p.Arm < 0 || s.Available == nil || s.Available[p.Arm] }

// settle snaps a copy of u and reports whether it is allowed.
func (s Space) settle(u []float64) ([]float64, bool) {
	v := append([]float64(nil), u...)
	return v, s.Settle == nil || s.Settle(v)
}

// fewest is the number of allowed points below which space-filling points do not show what there
// is.
const fewest = 100

// allowed are space-filling points that are allowed, settled. Where there are hardly any, as of a
// mixture of many parts, they are taken to where they leave a remainder; where that does not help,
// since input constraints leave next to nothing, others are found walking from points that are
// known to be allowed.
func (s Space) allowed(points [][]float64, seed uint64) [][]float64 {
	found := s.settled(points)
	if len(found) < fewest && s.Fill != nil {
		filled := make([][]float64, len(points))
		for i, u := range points {
			filled[i] = slices.Clone(u)
			s.Fill(filled[i])
		}
		found = append(found, s.settled(filled)...)
	}
	if len(found) < fewest && s.Settle != nil {
		found = append(found, search.Walk(s.axes(), s.Settle, s.settled(s.Inside), len(points)/walked, seed)...)
	}
	return found
}

// walked is how many space-filling points one that is walked to stands for.
const walked = 4

// settled are those of the points that are allowed, settled.
func (s Space) settled(points [][]float64) [][]float64 {
	var found [][]float64
	for _, u := range points {
		if v, ok := s.settle(u); ok {
			found = append(found, v)
		}
	}
	return found
}

// reach leaves points as they are where enough are allowed. Otherwise it draws each that is not
// allowed back towards one that is, to a place on the way that is allowed, spread as evenly as
// points of a ball are along its radii.
func (s Space) reach(points [][]float64, from []float64, seed uint64) [][]float64 {
	if len(s.settled(points)) >= fewest {
		return points
	}
	random := rand.New(rand.NewPCG(seed, reachStream))
	drawn := make([][]float64, len(points))
	for i, u := range points {
		drawn[i] = u
		if _, ok := s.settle(u); !ok {
			part := math.Pow(random.Float64(), 1/float64(len(u)))
			drawn[i] = between(from, u, part*s.farthest(from, u))
		}
	}
	return drawn
}

// reachStream keeps these draws apart from others of the same seed.
const reachStream = 0x7265616368

// halvings is how closely farthest looks.
const halvings = 20

// farthest is a part of the way from an allowed point to another that leads to an allowed one, the
// whole allowed part of it on convex spaces.
func (s Space) farthest(from, to []float64) float64 {
	low, high := 0.0, 1.0
	for range halvings {
		middle := (low + high) / 2
		if _, ok := s.settle(between(from, to, middle)); ok {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// between is the point that part of the way from one point to another.
func between(from, to []float64, part float64) []float64 {
	u := make([]float64, len(from))
	for k := range u {
		u[k] = from[k] + part*(to[k]-from[k])
	}
	return u
}

func (s Space) axes() []search.Axis {
	axes := make([]search.Axis, len(s.Dims))
	for k, d := range s.Dims {
		axes[k] = search.Axis{Fixed: d.Derived, Levels: d.Levels}
		if d.Choices > 0 {
			axes[k].Levels, axes[k].Choice = d.Choices, true
		}
	}
	return axes
}

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

// allowedArms are the candidates that may be chosen.
func (s *task) allowedArms() []Place {
	return slices.DeleteFunc(slices.Clone(s.arms.places), func(p Place) bool { return !s.cfg.Space.offers(p) })
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
