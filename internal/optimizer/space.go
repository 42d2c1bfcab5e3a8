package optimizer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"headroom/internal/lists"
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

// inputs is the number of the parameter's kernel inputs.
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
		first := len(x)
		x = append(x, make([]float64, d.Choices)...)
		x[first+d.Choice(u)] = 1
		return x
	}
	return append(x, d.Low+u*(d.High-d.Low))
}

// Choice is the index of the choice at unit coordinate u of a categorical parameter.
func (d Dim) Choice(u float64) int {
	return min(max(int(u*float64(d.Choices)), 0), d.Choices-1)
}

// dissimilarity is the squared distance of two points in unit coordinates, where two different
// choices, which have no order, are 1 apart.
func (s Space) dissimilarity(u, v []float64) float64 {
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

// relabelled maps a point of a space-filling sequence to the arms' choices in the order in which
// the arms first have them, so that the order in which choices are listed does not matter.
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

// inputLengthscales gives each kernel input the lengthscale of its parameter.
func (s Space) inputLengthscales(lengthscales []float64) []float64 {
	return lists.At(lengthscales, s.inputParameters())
}

// inputParameters gives, for each kernel input, the index of its parameter.
func (s Space) inputParameters() []int {
	var out []int
	for k, d := range s.Dims {
		out = append(out, slices.Repeat([]int{k}, d.inputs())...)
	}
	return out
}

// categories gives, for each kernel input, the index of its categorical parameter, −1 for a number.
func (s Space) categories() []int {
	out := s.inputParameters()
	for i, k := range out {
		if s.Dims[k].Kind != Categorical {
			out[i] = -1
		}
	}
	return out
}

// inputRange is the extent of a parameter in kernel inputs.
func (d Dim) inputRange() float64 {
	if d.Kind == Categorical {
		return 1
	}
	return d.High - d.Low
}

// Holding is the space with some parameters, by index, held at unit coordinates that Settle does
// not change. Points elsewhere are not suggested; they are modelled as before.
func (s Space) Holding(held map[int]float64) Space {
	s.Dims = slices.Clone(s.Dims)
	for k, u := range held {
		s.Dims[k].Held, s.Dims[k].At = true, u
	}
	settle := s.Settle
	s.Settle = func(u []float64) bool {
		for k, at := range held {
			u[k] = at
		}
		return settle == nil || settle(u)
	}
	if s.Arms != nil {
		s.Available = lists.Of(len(s.Arms), func(i int) bool { return (s.Available == nil || s.Available[i]) && s.holds(s.Arms[i]) })
	}
	return s
}

// sameCoordinate is the largest difference of equal unit coordinates: settling and clean decimals
// round differently.
const sameCoordinate = 1e-9

// holds tells whether a point has the held coordinates.
func (s Space) holds(u []float64) bool {
	for k, d := range s.Dims {
		if d.Held && math.Abs(u[k]-d.At) > sameCoordinate {
			return false
		}
	}
	return true
}

// offers tells whether a place is available and has the held coordinates.
func (s Space) offers(p Place) bool {
	if p.Arm < 0 {
		return s.holds(p.U)
	}
	return s.Available == nil || s.Available[p.Arm]
}

// settle snaps a copy of u and reports whether it is allowed.
func (s Space) settle(u []float64) ([]float64, bool) {
	v := slices.Clone(u)
	return v, s.Settle == nil || s.Settle(v)
}

// fewest is the number of allowed points below which space-filling points do not represent what is
// allowed.
const fewest = 100

// allowed are the allowed ones of space-filling points, settled. Where they are few, as in mixtures
// of many parts, points mapped by Fill are added; where they are still few, as with narrow input
// constraints, points walked to from Inside.
func (s Space) allowed(points [][]float64, seed uint64) [][]float64 {
	found := s.settled(points)
	if len(found) < fewest && s.Fill != nil {
		filled := lists.Map(points, slices.Clone)
		for _, u := range filled {
			s.Fill(u)
		}
		found = append(found, s.settled(filled)...)
	}
	if len(found) < fewest && s.Settle != nil {
		found = append(found, search.Walk(s.axes(), s.Settle, s.settled(s.Inside), len(points)/walked, seed)...)
	}
	return found
}

// walked is how many space-filling points one walked point stands for.
const walked = 4

// settled are the allowed ones of the points, settled.
func (s Space) settled(points [][]float64) [][]float64 {
	return lists.Pick(points, s.settle)
}

// reach returns the points where enough of them are allowed. Otherwise each that is not allowed is
// drawn back towards from, which is, to a random allowed place on the way, with the radial
// distribution of points spread evenly over a ball.
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
			drawn[i] = search.Between(from, u, part*search.Farthest(s.Settle, from, u))
		}
	}
	return drawn
}

// reachStream separates these random numbers from others of the same seed.
const reachStream = 0x7265616368

func (s Space) axes() []search.Axis {
	axes := make([]search.Axis, len(s.Dims))
	for k, d := range s.Dims {
		axes[k] = search.Axis{Fixed: d.Derived || d.Held, Levels: d.Levels}
		if d.Choices > 0 && !d.Held {
			axes[k].Levels, axes[k].Choice = d.Choices, true
		}
	}
	return axes
}

// placeList is a list of places with their kernel inputs: the candidates, or a shortlist.
type placeList struct {
	places            []Place
	features, indices *kernel.Inputs
}

func (s Space) newPlaceList(places []Place) *placeList {
	a := &placeList{places: places, features: kernel.NewInputs(s.width()), indices: kernel.NewInputs(1)}
	for _, p := range places {
		a.features.Append(s.features(p.U))
		a.indices.Append([]float64{float64(p.Arm)})
	}
	return a
}

// inputs are the places' inputs of a kernel.
func (a *placeList) inputs(k Kernel) *kernel.Inputs {
	if k.Name == "covariance" {
		return a.indices
	}
	return a.features
}

// places lists the candidates.
func (s Space) places() []Place {
	return lists.Of(len(s.Arms), func(i int) Place { return Place{s.Arms[i], i} })
}

// asPlaces are points of a continuous space as places.
func asPlaces(points [][]float64) []Place {
	return lists.Map(points, func(u []float64) Place { return Place{U: u, Arm: -1} })
}

func (p Place) point() []float64 { return p.U }

// at looks up the given constraints' values at some places.
func (k Known) at(places []Place) func(j, i int) float64 {
	return func(j, i int) float64 {
		if places[i].Arm >= 0 && j < len(k.Arms) && k.Arms[j] != nil {
			return k.Arms[j][places[i].Arm]
		}
		return k.At(j, places[i].U)
	}
}

// Space-filling points of a search.
const (
	screenPoints = 2000 // points scored first
	overhang     = 0.1  // share of the space by which they reach beyond each side; see startingPlaces
)

// overhanging are points spread over a box that reaches beyond the space, moved back to its sides.
func (cfg *Config) overhanging(count int, seed uint64) [][]float64 {
	points := search.Halton(count, len(cfg.Space.Dims), seed)
	for _, u := range points {
		for k := range u {
			u[k] = min(max((1+2*overhang)*u[k]-overhang, 0), 1)
		}
	}
	return points
}

// distinct tells whether two points differ by more than a hundredth of the range of some parameter.
func distinct(a, b []float64) bool { return !search.Within(0.01, a, b) }

// distance is the euclidean distance of two points.
func distance(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum)
}

// Prior medians of lengthscales. That of a number grows with the root of the number of parameters,
// as distances do: otherwise all points would be uncorrelated in high dimensions (Hvarfner,
// Hellsten, Nardi: Vanilla Bayesian Optimization Performs Great in High Dimensions, 2024). A
// category's choices are √2 apart in one-hot inputs. With a lengthscale of 0.3 they would be
// uncorrelated (0.001 for matern52); with √2 their correlation is 0.52 until the readings say
// otherwise.
const (
	rangeShare     = 0.2 // of a parameter's range, times √(number of parameters)
	categoryMedian = math.Sqrt2
)

// priorLengthscales are the prior medians of the lengthscales.
func (s Space) priorLengthscales() []float64 {
	return lists.Map(s.Dims, func(d Dim) float64 {
		if d.Kind == Categorical {
			return categoryMedian
		}
		return rangeShare * math.Sqrt(float64(len(s.Dims))) * d.inputRange()
	})
}

// placeKey identifies a place by its candidate, else by its coordinates.
func placeKey(p Place) string {
	if p.Arm >= 0 {
		return fmt.Sprint(p.Arm)
	}
	return fmt.Sprint(p.U)
}

func samePlace(a, b Place) bool {
	if a.Arm >= 0 || b.Arm >= 0 {
		return a.Arm == b.Arm
	}
	return search.Within(1e-12, a.U, b.U)
}
