package optimizer

import (
	"slices"

	"headroom/internal/optimizer/policy"
)

// ending is the spell during which decision t finds the round failed or abandoned, if it does.
func (r *Round) ending(t int) (spell Spell, ended bool) {
	for _, c := range r.Closed {
		if c.From <= t && (c.To == 0 || t < c.To) {
			return c, true
		}
	}
	return Spell{}, false
}

// spent are settings that are not suggested again by themselves: those of a trial that failed because of its settings, and those of one that failed by
// chance or was abandoned until something new has been read. Otherwise an algorithm which learned nothing would ask for the same again. On a
// continuous space what lies within spentReach of them counts as the same.
type spent struct {
	points  [][]float64 // unit coordinates
	inputs  [][]float64 // of the points
	inverse []float64   // 1/(length an input is measured by)
}

// spentReach is how near settings count as the same: as a share of the objective's lengthscales, or of a parameter's range where that is shorter, since
// what hardly matters to the objective may be what fails.
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
		lengthscales := slices.Clone(s.era.models[s.cfg.Objective.Metric].kernel.Lengthscales)
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

// readSince tells whether a reading that counts was told after decision t was made, which the next decision sees.
func (s *study) readSince(t int) bool {
	return slices.ContainsFunc(s.history.Rounds, func(r Round) bool {
		return !r.Excluded && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.Revealed >= t && reading.seenAt(s.Round()) })
	})
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

// A place of a higher rank is chosen only where none of a lower one may be.
const (
	rankUsual    = iota
	rankUnlikely // it hardly works: see policy.Scores
	rankSpent
	ranks
)

// rank is that of place p, number i among those scored.
func (s *decision) rank(scores policy.Scores, p Place, i int) int {
	switch {
	case s.isSpent(p):
		return rankSpent
	case scores.Unlikely != nil && scores.Unlikely[i]:
		return rankUnlikely
	}
	return rankUsual
}
