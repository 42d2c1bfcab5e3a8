package optimizer

import (
	"math"
	"math/rand/v2"
	"slices"

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

// available tells whether arm i may be suggested.
func (s Space) available(i int) bool { return s.Available == nil || s.Available[i] }

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
