package optimizer

import (
	"context"
	"math"

	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/warp"
)

// straight is the largest told deviation, as a part of its reading, over which a logarithm is a
// straight line, to 5 %: beyond it the noise told of a reading says little of the noise of its logarithm.
const straight = 0.1

// zero is the value 0 as f centres and scales it, from which logarithms are taken; −∞ where the noise
// told of a reading forbids it.
func (s *task) zero(metric int, rounds []int, f FittedMetric) float64 {
	for _, n := range rounds {
		if r := s.history.Rounds[n-1].Readings[metric]; r.SD > straight*r.Value {
			return math.Inf(-1)
		}
	}
	return -f.Centre / f.Scale
}

// standardised are the readings as f centres and scales them.
func (s *task) standardised(metric int, rounds []int, f FittedMetric) []float64 {
	z := make([]float64, len(rounds))
	for i, n := range rounds {
		z[i] = (s.history.Rounds[n-1].Readings[metric].Value - f.Centre) / f.Scale
	}
	return z
}

// mostTurns is how often warpWithFit turns from the warp to the hyperparameters and back; it ends
// before where neither moves.
const mostTurns = 4

// warpWithFit chooses the output warping together with the hyperparameters, where an interaction is
// among them: what adds up does not when it is warped, so that readings like a normal sample are
// not what to look for. From the hyperparameters found under f's warp, it looks for those under
// none; from the better of both it goes on to the warp that explains the readings best as the
// hyperparameters stand, and to the hyperparameters from there, in turn.
func (v *view) warpWithFit(ctx context.Context, metric int, rounds []int, f FittedMetric, found fit.Result) (warp.Warp, fit.Result, error) {
	candidates := warp.Candidates(v.standardised(metric, rounds, f), v.zero(metric, rounds, f))
	if candidates == nil {
		return f.Warp, found, nil
	}
	at, straight := 0, 0
	for i, c := range candidates {
		switch {
		case c.Warp == f.Warp:
			at = i
		case c.Power == 1:
			straight = i
		}
	}
	problems := make([]fit.Problem, len(candidates))
	readings := make([][]float64, len(candidates))
	for i, c := range candidates {
		warped := f
		warped.Warp = c.Warp
		problems[i] = v.fitProblem(metric, rounds, warped)
		readings[i] = problems[i].Y
	}
	// under is the problem with a candidate, to go on from what was found.
	under := func(i int) fit.Problem {
		p := problems[i]
		p.Start = found.Hyperparameters
		return p
	}
	try := func(i int) (better bool, err error) {
		result, err := fit.Climb(ctx, under(i))
		if err == nil && result.LogPosterior+candidates[i].LogStretch > found.LogPosterior+candidates[at].LogStretch {
			at, found, better = i, result, true
		}
		return better, err
	}
	if at != straight {
		if _, err := try(straight); err != nil {
			return f.Warp, found, err
		}
	}
	for range mostTurns {
		worth, err := fit.LogPosteriors(under(at), readings)
		if err != nil {
			return f.Warp, found, err
		}
		best, most := at, found.LogPosterior+candidates[at].LogStretch
		for i, value := range worth {
			if value+candidates[i].LogStretch > most {
				best, most = i, value+candidates[i].LogStretch
			}
		}
		if best == at {
			break
		}
		if better, err := try(best); err != nil || !better {
			return candidates[at].Warp, found, err
		}
	}
	return candidates[at].Warp, found, nil
}
