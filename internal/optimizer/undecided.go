package optimizer

import (
	"context"
	"math"
)

// Undecided is a point that looks better than what is recommended and within every limit, without being known to be.
type Undecided struct {
	Round  int // 0: there is none
	Chance float64
	// Readings is how many more of each metric there would tell, should they leave the means as they are: the least number with which the
	// feasibility probability reaches 0.9; 0 where mostReadings would not do.
	Readings int
}

// mostReadings is how many further readings are thought of.
const mostReadings = 1000

// Undecided returns the round of the told, included point with the highest posterior mean reward among those where the mean of every cost is
// within its limit, if it is not probable enough to be recommended. The error is that of ctx.
func (s *State) Undecided(ctx context.Context) (Undecided, error) {
	recommended, err := s.Recommendation(ctx)
	if err != nil {
		return Undecided{}, err
	}
	estimates, err := s.lookingBack(ctx)
	if err != nil {
		return Undecided{}, err
	}
	best, found := math.Inf(-1), Undecided{}
	if recommended > 0 {
		best = s.expectedReward(estimates[0].Mean[recommended-1], estimates[0].SD[recommended-1])
	}
	for i, r := range s.history.Rounds {
		if r.Excluded || !r.Readings[s.cfg.Objective.Metric].Told || !(s.chanceAfter(i+1, 0, true) > 0) {
			continue
		}
		chance := s.chanceAfter(i+1, 0, false)
		if value := s.expectedReward(estimates[0].Mean[i], estimates[0].SD[i]); value > best && chance < safeEnough {
			best, found = value, Undecided{Round: i + 1, Chance: chance}
		}
	}
	if found.Round > 0 {
		found.Readings = s.readingsToTell(found.Round)
	}
	return found, nil
}

// readingsToTell is the least number of further readings after which the point of a round would be safe enough, 0 if there is none.
func (s *State) readingsToTell(round int) int {
	low, high := 0, mostReadings
	if s.chanceAfter(round, high, false) < safeEnough {
		return 0
	}
	for high-low > 1 {
		if middle := (low + high) / 2; s.chanceAfter(round, middle, false) >= safeEnough {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// chanceAfter is the feasibility probability at the point of a round after n more readings of every metric there that leave the means as they are:
// each cost's variance σ² becomes 1/(1/σ² + n/λ). With sure, the means count as the truth.
func (s *State) chanceAfter(round, n int, sure bool) float64 {
	chance := 1.0
	for j, c := range s.cfg.Costs {
		if c.Knowledge == Given {
			if c.given(s.history.Rounds[round-1].Costs[j])-c.Margin > 0 {
				return 0
			}
			continue
		}
		m, e := s.display.era.models[c.Metric], s.lookBack.estimates[1+j]
		mean, variance := e.Mean[round-1]-s.display.era.transforms[1+j].margin, e.SD[round-1]*e.SD[round-1]
		if variance > 0 && !sure {
			variance = 1 / (1/variance + float64(n)/m.noise.at(s.placeOf(round), m.lambda))
		} else {
			variance = 0
		}
		chance *= below(mean, math.Sqrt(variance), m.freedom)
	}
	return chance
}
