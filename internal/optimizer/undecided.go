package optimizer

import (
	"context"
	"math"

	"headroom/internal/optimizer/policy"
)

// Undecided is a point of which it is not known enough that it is within every limit: what is
// recommended, where its feasibility probability is below 0.9, else one that looks better.
type Undecided struct {
	Round  int // 0: there is none
	Chance float64
	// Readings is how many more of each metric there would tell, should they leave the means as
	// they are: the least number with which the feasibility probability reaches 0.9; 0 where
	// mostReadings would not do.
	Readings int
}

// mostReadings is how many further readings are thought of.
const mostReadings = 1000

// Undecided returns the recommended round if its point is not known enough to be within every
// limit, and otherwise that of the told, included point of the largest expected reward, more than
// the recommended one's, among those where the mean of every cost is within its limit, if that is
// not known enough. The error is that of ctx.
func (s *shown) Undecided(ctx context.Context) (Undecided, error) {
	recommended, err := s.Recommendation(ctx)
	if err != nil || !s.modelStands() {
		return Undecided{}, err
	}
	estimates, err := s.inSample(ctx)
	if err != nil {
		return Undecided{}, err
	}
	rewards := s.expectedRewards(estimates[0])
	best, found := math.Inf(-1), Undecided{}
	if recommended > 0 {
		best = rewards[recommended-1]
		found = Undecided{Round: recommended, Chance: s.chanceAfter(estimates, recommended, 0, false)}
	}
	if recommended == 0 || found.Chance >= safeEnough {
		found = Undecided{}
		for _, n := range s.told(s.cfg.Objective.Metric) {
			chance := s.chanceAfter(estimates, n, 0, false)
			if rewards[n-1] > best && chance < safeEnough && s.chanceAfter(estimates, n, 0, true) > 0 {
				best, found = rewards[n-1], Undecided{Round: n, Chance: chance}
			}
		}
	}
	if found.Round > 0 {
		found.Readings = s.readingsToTell(estimates, found.Round)
	}
	return found, nil
}

// readingsToTell is the least number of further readings after which the point of a round would be
// safe enough, 0 if there is none.
func (s *shown) readingsToTell(estimates []policy.Estimate, round int) int {
	low, high := 0, mostReadings
	if s.chanceAfter(estimates, round, high, false) < safeEnough {
		return 0
	}
	for high-low > 1 {
		if middle := (low + high) / 2; s.chanceAfter(estimates, round, middle, false) >= safeEnough {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// chanceAfter is the feasibility probability at the point of a round after n more readings of every
// metric there that leave the means as they are: each cost's variance σ² becomes 1/(1/σ² + n/λ).
// With sure, the means count as the truth.
func (s *shown) chanceAfter(estimates []policy.Estimate, round, n int, sure bool) float64 {
	chance := 1.0
	for j, c := range s.cfg.Costs {
		if c.Knowledge == Given {
			if c.given(s.history.Rounds[round-1].Costs[j])-c.Margin > 0 {
				return 0
			}
			continue
		}
		m, e := s.model(c.Metric), estimates[1+j]
		mean, variance := e.Mean[round-1]-s.regime.transforms[1+j].margin, e.SD[round-1]*e.SD[round-1]
		if variance > 0 && !sure {
			variance = 1 / (1/variance + float64(n)/m.noise.at(s.placeOf(round), m.lambda))
		} else {
			variance = 0
		}
		chance *= below(mean, math.Sqrt(variance), m.freedom)
	}
	return chance
}
