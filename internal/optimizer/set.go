package optimizer

import (
	"math"
	"slices"

	"headroom/internal/optimizer/policy"
)

// set lets an algorithm look at all places together.
func (s *State) set(v *view, at []Place) *policy.Set {
	set := &policy.Set{Free: make([]bool, len(s.cfg.Space.Dims))}
	for k, d := range s.cfg.Space.Dims {
		set.Free[k] = !d.Derived
	}
	for _, p := range at {
		set.Points = append(set.Points, p.U)
	}
	for _, seed := range s.cfg.SafeSeeds {
		if i := slices.IndexFunc(at, func(p Place) bool { return samePlace(p, seed) }); i >= 0 {
			set.Seeds = append(set.Seeds, i)
		}
	}
	set.Joint = func(k int, width float64, normal func() float64) []float64 { return s.joint(v, at, k, width, normal) }
	set.Reread = func(k, x int, value float64) policy.Estimate { return s.reread(v, at, k, x, value) }
	set.Distance = func(i, j int) float64 { return s.distance(at[i], at[j]) }
	return set
}

func samePlace(a, b Place) bool {
	if a.Arm >= 0 || b.Arm >= 0 {
		return a.Arm == b.Arm
	}
	for i := range a.U {
		if math.Abs(a.U[i]-b.U[i]) > 1e-12 {
			return false
		}
	}
	return true
}

// joint draws target k's function over the places: μ + width·chol(Cov)·n. Places that the data determine fully
// (or that repeat) add a vanishing pivot, which counts as 0.
func (s *State) joint(v *view, at []Place, k int, width float64, normal func() float64) []float64 {
	src := &v.sources[v.sourceOf[k]]
	inputs := s.inputs(src.kernel, at)
	mean := src.data.MeanMany(inputs, [][]float64{src.z[slices.Index(src.targets, k)]})[0]
	root := SemidefiniteRoot(src.data.Covariance(inputs))
	n := make([]float64, len(at))
	for i := range n {
		n[i] = normal()
	}
	for i := range mean {
		sum := 0.0
		for c, l := range root[i] {
			sum += l * n[c]
		}
		mean[i] += v.era.affines[k].shift + width*sum
	}
	return mean
}

// SemidefiniteRoot returns the lower-triangular L with L Lᵀ = A for a symmetric positive semidefinite A, taking pivots
// below 1e-10 of the largest diagonal as 0.
func SemidefiniteRoot(a [][]float64) [][]float64 {
	largest := 0.0
	for i := range a {
		largest = max(largest, a[i][i])
	}
	l := make([][]float64, len(a))
	for i := range a {
		l[i] = make([]float64, i+1)
		for j := 0; j <= i; j++ {
			sum := a[i][j]
			for c := 0; c < j; c++ {
				sum -= l[i][c] * l[j][c]
			}
			switch {
			case i != j && l[j][j] > 0:
				l[i][j] = sum / l[j][j]
			case i == j && sum > 1e-10*largest:
				l[i][i] = math.Sqrt(sum)
			}
		}
	}
	return l
}

// reread is target k's posterior at all places after a reading equal to value at place x.
func (s *State) reread(v *view, at []Place, k, x int, value float64) policy.Estimate {
	src := &v.sources[v.sourceOf[k]]
	a := v.era.affines[k]
	data := src.data.Clone()
	lambda := v.era.models[s.targets[k].metric].lambda
	if err := data.Append(s.input(src.kernel, at[x]), lambda); err != nil {
		return s.estimate(v, at, nil)[k] // the point adds nothing: its variance is zero already
	}
	z := append([]float64(nil), src.z[slices.Index(src.targets, k)]...)
	mean, variance := src.data.Predict(s.input(src.kernel, at[x]), z)
	z = append(z, (value-a.shift-mean[0])/math.Sqrt(variance+lambda))
	means, variances := data.PredictMany(s.inputs(src.kernel, at), [][]float64{z})
	shift(means[0], a.shift)
	return policy.Estimate{Mean: means[0], SD: roots(variances)}
}

// distance is the euclidean distance of two places in kernel inputs.
func (s *State) distance(a, b Place) float64 {
	x, y := s.cfg.Space.features(a.U), s.cfg.Space.features(b.U)
	sum := 0.0
	for i := range x {
		sum += (x[i] - y[i]) * (x[i] - y[i])
	}
	return math.Sqrt(sum)
}
