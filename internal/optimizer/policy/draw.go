package policy

// standardised is (draw − μ)/σ of every target drawn at place i, so that replay has them without
// drawing again; 0 of others.
func standardised(s *Input, i int) []float64 {
	z := make([]float64, 1+len(s.Costs))
	for k, e := range append([]Estimate{s.Reward}, s.Costs...) {
		if s.Functions[k] != nil && e.SD[i] > 0 {
			z[k] = (s.Functions[k][i] - e.Mean[i]) / e.SD[i]
		}
	}
	return z
}

// drawnAt is μ + zσ of the first targets at place i, as many as there are z.
func drawnAt(s *Input, z []float64, i int) []float64 {
	v := make([]float64, len(z))
	for k, e := range append([]Estimate{s.Reward}, s.Costs...)[:len(z)] {
		v[k] = e.Mean[i] + z[k]*e.SD[i]
	}
	return v
}
