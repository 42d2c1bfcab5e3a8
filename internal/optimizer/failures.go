package optimizer

import "slices"

// spent are settings that are not suggested again by themselves: those of a trial that failed
// because of its settings, and those of one that failed by chance or was abandoned until something
// new has been read. Otherwise an algorithm which learned nothing would ask for the same again. On
// a continuous space what lies within spentReach of them counts as the same.
type spent struct {
	points  [][]float64 // unit coordinates
	inputs  [][]float64 // of the points
	inverse []float64   // 1/(length an input is measured by)
}

// spentReach is how near settings count as the same: as a share of the objective's lengthscales, or
// of a parameter's range where that is shorter, since what hardly matters to the objective may be
// what fails.
const spentReach = 0.1

// listSpent gathers the settings that the next decision leaves alone; nil where there are none.
func (s *decision) listSpent() *spent {
	out, t := &spent{}, s.Round()
	for i := range s.history.Rounds {
		r := &s.history.Rounds[i]
		if ending, ended := r.ending(t); ended && !r.Excluded && (ending.Cause == BySettings || !s.readSince(ending.From)) {
			out.points = append(out.points, r.Point)
		}
	}
	if len(out.points) == 0 {
		return nil
	}
	if space := s.cfg.Space; space.Arms == nil {
		lengthscales := slices.Clone(s.regime.models[s.cfg.Objective.Metric].kernel.Lengthscales)
		for k, d := range space.Dims {
			lengthscales[k] = 1 / min(lengthscales[k], d.inputRange())
		}
		out.inverse = space.spread(lengthscales)
		for _, u := range out.points {
			out.inputs = append(out.inputs, space.features(u))
		}
	}
	return out
}

// isSpent tells whether a place is among the settings that the next decision leaves alone.
func (s *decision) isSpent(p Place) bool {
	switch {
	case s.spent == nil:
		return false
	case s.spent.inputs == nil:
		return slices.ContainsFunc(s.spent.points, func(u []float64) bool { return slices.Equal(u, p.U) })
	}
	x := s.cfg.Space.features(p.U)
	return slices.ContainsFunc(s.spent.inputs, func(y []float64) bool {
		sum := 0.0
		for c := range x {
			d := (x[c] - y[c]) * s.spent.inverse[c]
			sum += d * d
		}
		return sum <= spentReach*spentReach
	})
}
