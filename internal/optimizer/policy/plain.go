package policy

// unpriced is an algorithm without multipliers.
type unpriced struct{}

func (unpriced) Start() []float64                    { return nil }
func (unpriced) Step([]float64, *Revealed) []float64 { return nil }

// unbanded is an unpriced algorithm without a confidence width.
type unbanded struct{ unpriced }

func (unbanded) Beta(Width) []float64 { return nil }

// means are the posterior means of the reward and of each cost at place i.
func means(s *Input, i int) []float64 {
	v := []float64{s.Reward.Mean[i]}
	for _, g := range s.Costs {
		v = append(v, g.Mean[i])
	}
	return v
}
