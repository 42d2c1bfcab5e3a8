package policy

import (
	"math/rand/v2"
	"slices"
)

func (d *drawing) is(seed uint64, width []float64, among []int) bool {
	return d != nil && d.seed == seed && slices.Equal(d.width, width) && (d.among == nil) == (among == nil) && slices.Equal(d.among, among)
}

// drawFunctions draws the targets' functions over some of the places, all if among is nil, from the
// posterior widened by width; a given cost is what it is. of tells which targets are drawn, nil for
// all; there is nothing of the others. The draws are in the order of among, and to be read only.
func drawFunctions(s *Input, width []float64, among []int, of []bool) ([][]float64, error) {
	if last := s.Set.last; last.is(s.Draw.Seed, width, among) {
		return last.drawn, nil
	}
	random := rand.New(rand.NewPCG(s.Draw.Seed, 0))
	joint, err := s.Set.Joint(among)
	if err != nil {
		return nil, err
	}
	drawn := make([][]float64, 1+len(s.Costs))
	for k := range drawn {
		switch {
		case of != nil && !of[k]:
		case k == 0 || !s.Given[k-1]:
			drawn[k] = joint(k, width[k], random.NormFloat64)
		case among == nil:
			drawn[k] = s.Costs[k-1].Mean
		default:
			drawn[k] = make([]float64, len(among))
			for n, i := range among {
				drawn[k][n] = s.Costs[k-1].Mean[i]
			}
		}
	}
	s.Set.last = &drawing{s.Draw.Seed, slices.Clone(width), among, drawn}
	return drawn, nil
}

// standardised is (draw − μ)/σ of every target drawn at place i, whose draws are the n-th, so that
// replay has them without drawing again; 0 of others.
func standardised(s *Input, drawn [][]float64, i, n int) []float64 {
	z := make([]float64, len(drawn))
	for k, e := range s.targets() {
		if drawn[k] != nil && e.SD[i] > 0 {
			z[k] = (drawn[k][n] - e.Mean[i]) / e.SD[i]
		}
	}
	return z
}
