package fit

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Around returns hyperparameters drawn from the Laplace approximation of their posterior at the
// problem's start, which should be its mode: normal in θ with the inverse of the Hessian of the
// negative log posterior as covariance, one draw for each pair of z and −z, z from normals, of
// which each call should give a standard normal number. Directions in which the Hessian is flatter
// than the widest prior count as that prior: the posterior is no wider. What is fixed stays. It
// costs two gradients for each θ that is free; where the kernel matrix is not positive definite it
// returns none.
func Around(problem Problem, count int, normal func() float64) ([]Hyperparameters, error) {
	if err := problem.complete(); err != nil {
		return nil, err
	}
	p := newPosterior(&problem)
	mode := p.starts()[0]
	var free []int
	for i := range mode {
		if p.low[i] < p.high[i] {
			free = append(free, i)
		}
	}
	if len(free) == 0 {
		return nil, nil
	}
	hessian, ok := p.hessian(mode, free)
	var eigen mat.EigenSym
	if !ok || !eigen.Factorize(hessian, true) {
		return nil, nil
	}
	var directions mat.Dense
	eigen.VectorsTo(&directions)
	draws := make([]Hyperparameters, 0, count)
	step := make([]float64, len(free))
	for len(draws) < count {
		clear(step)
		for c, curvature := range eigen.Values(nil) {
			z := normal() / math.Sqrt(max(curvature, widest))
			for r := range step {
				step[r] += z * directions.At(r, c)
			}
		}
		for _, sign := range []float64{1, -1} {
			theta := append([]float64(nil), mode...)
			for r, i := range free {
				theta[i] = min(max(theta[i]+sign*step[r], p.low[i]), p.high[i])
			}
			draws = append(draws, p.hyperparameters(theta))
		}
	}
	return draws[:count], nil
}

// widest is the precision of the widest prior.
const widest = 1 / (spreadNoise * spreadNoise)

// hessian is that of the negative log posterior in the free θ, from differences of its gradient.
func (p *posterior) hessian(at []float64, free []int) (*mat.SymDense, bool) {
	const apart = 0.05
	h := mat.NewSymDense(len(free), nil)
	rows := make([][]float64, len(free))
	for r, i := range free {
		var slopes [2][]float64
		theta := append([]float64(nil), at...)
		low, high := max(at[i]-apart, p.low[i]), min(at[i]+apart, p.high[i])
		for n, v := range []float64{low, high} {
			theta[i] = v
			if math.IsInf(p.value(theta), 1) {
				return nil, false
			}
			slopes[n] = p.gradient()
		}
		rows[r] = make([]float64, len(free))
		for c, j := range free {
			rows[r][c] = (slopes[1][j] - slopes[0][j]) / (high - low)
		}
	}
	for r := range rows {
		for c := range r + 1 {
			h.SetSym(r, c, (rows[r][c]+rows[c][r])/2)
		}
	}
	return h, true
}
