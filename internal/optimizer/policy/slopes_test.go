package policy

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestScoresRiseAlongTheirSlopes compares the slopes of scores, kinks included, with differences;
// estimates are far beyond what is cut as well.
func TestScoresRiseAlongTheirSlopes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 0))
	var kinked, cutOff int
	for _, d := range Descriptions() {
		p := ordinary(t, d)
		traits := p.Traits()
		if traits.Slopes == nil || traits.LogExpectation || traits.NeedsSet {
			continue
		}
		for range 300 {
			s := line(1, []float64{4 * random.NormFloat64()}, []float64{random.Float64()}, []float64{4 * random.NormFloat64()}, []float64{random.Float64()})
			s.Multipliers[0], s.Draw.Z = 3*random.Float64(), []float64{random.NormFloat64(), random.NormFloat64()}
			by := traits.Slopes(s)
			for _, kink := range by.Kinks {
				if kink.Height[0] > 0 {
					kinked++
				} else {
					cutOff++
				}
			}
			for target, of := range []struct {
				estimate Estimate
				slope    Estimate
			}{{s.Reward, by.Reward}, {s.Costs[0], by.Costs[0]}} {
				mean, sd := of.slope.Mean[0], of.slope.SD[0]
				for _, kink := range by.Kinks {
					if kink.Target == target && kink.Height[0] > 0 {
						mean, sd = mean-kink.Price*kink.ByMean, sd-kink.Price*kink.BySD
					}
				}
				checkSlope(t, d.Name+", by a mean", p, s, &of.estimate.Mean[0], mean)
				checkSlope(t, d.Name+", by a deviation", p, s, &of.estimate.SD[0], sd)
			}
		}
	}
	if kinked < 1000 || cutOff < 1000 {
		t.Errorf("%d kinks above 0 and %d below", kinked, cutOff)
	}
}

// checkSlope compares the slope of the score by one number of the input with a difference.
func checkSlope(t *testing.T, what string, p Policy, s *Input, at *float64, slope float64) {
	t.Helper()
	const step = 1e-6
	middle := *at
	*at = middle + step
	above := sure(p.Score(s)).Value[0]
	*at = middle - step
	below := sure(p.Score(s)).Value[0]
	*at = middle
	if want := (above - below) / (2 * step); math.Abs(slope-want) > 1e-6*(1+math.Abs(want)) {
		t.Errorf("%s: the slope is %g, by differences %g", what, slope, want)
	}
}
