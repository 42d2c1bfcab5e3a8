package problems

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/optimizer"
	"headroom/internal/optimizer/kernel"
)

// Prior is the model that suits the functions.
func (in *Instance) Prior() (optimizer.Kernel, error) {
	k := optimizer.Kernel{Name: in.Kernel, Variance: in.Variance, Matrix: in.Matrix}
	for range in.Axes {
		k.Lengthscales = append(k.Lengthscales, in.Lengthscale)
	}
	if in.Matrix != nil {
		_, err := kernel.NewCovariance(in.Matrix, in.Variance)
		return k, err
	}
	_, err := kernel.New(k.Name, k.Lengthscales, k.Variance)
	return k, err
}

// Space is 𝒳 in unit coordinates; the kernel sees the problem's own.
func (in *Instance) Space() optimizer.Space {
	var s optimizer.Space
	stepped := false
	for _, a := range in.Axes {
		d := optimizer.Dim{Low: a.Low, High: a.High}
		if a.Step > 0 {
			d.Levels = a.Levels()
			stepped = true
		}
		s.Dims = append(s.Dims, d)
	}
	for _, x := range in.Arms {
		s.Arms = append(s.Arms, in.Unit(x))
	}
	if stepped {
		s.Settle = func(u []float64) bool {
			for k, d := range s.Dims {
				if d.Levels > 0 {
					u[k] = math.Round(u[k]*float64(d.Levels-1)) / float64(d.Levels-1)
				}
			}
			return true
		}
	}
	return s
}

// Unit maps a point to unit coordinates.
func (in *Instance) Unit(x []float64) []float64 {
	u := make([]float64, len(x))
	for k, a := range in.Axes {
		u[k] = (x[k] - a.Low) / (a.High - a.Low)
	}
	return u
}

// Point is the point that a place stands for.
func (in *Instance) Point(at optimizer.Place) []float64 {
	if at.Arm >= 0 {
		return in.Arms[at.Arm]
	}
	x := make([]float64, len(at.U))
	for k, a := range in.Axes {
		x[k] = a.Low + at.U[k]*(a.High-a.Low)
	}
	return x
}

// SafePlaces are the places of the safe points; among arms, the nearest ones that are within the
// limits.
func (in *Instance) SafePlaces(s optimizer.Space) []optimizer.Place {
	var places []optimizer.Place
	for _, x := range in.Safe {
		at := optimizer.Place{U: in.Unit(x), Arm: -1}
		if in.Arms != nil {
			at.Arm = in.nearestArm(x)
			at.U = s.Arms[at.Arm]
		}
		if Within(in.CostsAt(1, in.Point(at))) {
			places = append(places, at)
		}
	}
	return places
}

func (in *Instance) nearestArm(x []float64) int {
	distances := make([]float64, len(in.Arms))
	for i, arm := range in.Arms {
		for k := range x {
			distances[i] += square(arm[k] - x[k])
		}
	}
	return floats.MinIdx(distances)
}
