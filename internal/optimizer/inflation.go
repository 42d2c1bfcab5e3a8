package optimizer

import "context"

// freedom is the degrees of freedom ν of the distribution that a fitted model's predictions are
// taken from: hyperparameters are estimated, and what a table holds is rarely a Gaussian process.
// Bands of 50, 80 and 95 % held 51.3, 81.9 and 95.3 % of new settings of twelve tables; with ν = 4
// 52.3, 83.2 and 96.3 %. With a thirteenth table, of one parameter and without noise, 54.3, 83.2
// and 95.6 %.
const freedom = 5

// inflation is the scale c of the Student-t distribution with 3 degrees of freedom that the study's
// own one-step-ahead residuals z come from, as they would have been without inflation: the fixed
// point of
//
//	c = (5 + Σ min(w z², 9)) / (5 + n),   w = 4 / (3 + z²/c),
//
// within 0.25 and 4. The 5 stand for what is believed before there are residuals; w, and the 9
// while there are few, keep a wrong reading from widening everything. The weights of 3 degrees let
// the middle of the residuals decide, the 4 of the bands see to the tails.
func (s *account) inflation(ctx context.Context, metric int) (float64, error) {
	trace, err := s.Trace(ctx)
	if err != nil {
		return 0, err
	}
	var squares []float64
	for i, t := range trace {
		r, m := &s.history.Rounds[i], s.regimeAt(i + 1).said[metric]
		if !m.fitted || r.Excluded || !r.Readings[metric].Told || t.residuals == nil {
			continue
		}
		z := t.residuals[metric]
		squares = append(squares, z*z*m.inflation)
	}
	return scaleOf(squares), nil
}

// scaleOf is the fixed point that inflation describes, for squared residuals.
func scaleOf(squares []float64) float64 {
	const before, most = 5, 9
	c := 1.0
	for range 30 {
		sum := float64(before)
		for _, square := range squares {
			sum += min(4*square/(3+square/c), most)
		}
		c = min(max(sum/(before+float64(len(squares))), 0.25), 4)
	}
	return c
}
