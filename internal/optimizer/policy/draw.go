package policy

// standardised is (draw − μ)/σ of every target drawn at place i, so that replay has them without
// drawing again; 0 of others.
func standardised(s *Input, i int) []float64 {
	z := make([]float64, 1+len(s.Costs))
	for k, e := range s.targets() {
		if s.Functions[k] != nil && e.SD[i] > 0 {
			z[k] = (s.Functions[k][i] - e.Mean[i]) / e.SD[i]
		}
	}
	return z
}
