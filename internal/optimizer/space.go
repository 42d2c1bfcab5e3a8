package optimizer

import (
	"math"
	"slices"
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

// unlike is the squared distance of two points in unit coordinates, two different choices being 1 apart: they have no order.
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

// relabelled takes a point of a space-filling sequence to the arms' choices in the order in which the arms first have them, so that it
// matters nowhere how choices are listed.
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

// inputRange is the extent of a parameter in kernel inputs, which default lengthscales are a fraction of.
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
