package gp

import "headroom/internal/optimizer/factor"

// Predict is PredictMany at one place, as simple as it can be: what tests compare with.
func (d *Data) Predict(x []float64, zs ...[]float64) (means []float64, variance float64) {
	v := d.Solve(x)
	for _, z := range zs {
		means = append(means, factor.Dot(z, v))
	}
	return means, d.variance(x, v)
}

// Noise is λ_i of point i.
func (d *Data) Noise(i int) float64 { return d.noise[i] }
