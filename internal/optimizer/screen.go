package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// pruneFrom is the number of rounds from which screening prunes; below it every point is solved for.
const pruneFrom = 200

// screen scores places and returns the leaders. A policy whose score rises with uncertainty is screened by bounds: the variance
// after the first m rows of the factor is at least the final one, so the score it gives is at least the final one, and most
// places are ruled out without a full solve. The best place is never ruled out; of the other leaders, lesser ones on their own hills may be.
func (s *State) screen(ctx context.Context, at []Place, known Known, draw Draw) ([]climber, string, error) {
	if !s.traits.RisesWithUncertainty || len(s.history.Rounds) < pruneFrom {
		scores, reason, err := s.scoreAll(ctx, at, known, draw)
		return leaders(at, scores, starts), reason, err
	}
	means, err := s.screenMeans(ctx, at)
	if err != nil {
		return nil, "", err
	}
	for rows := 64; rows < len(s.history.Rounds); rows *= 4 {
		if at, means, err = s.prune(ctx, at, means, rows, known, draw); err != nil {
			return nil, "", err
		}
	}
	scores, reason, err := s.scoreAll(ctx, at, known, draw)
	return leaders(at, scores, starts), reason, err
}

// screenMeans are the posterior means of every target at all places, exact to rounding, in O(n) a place.
func (s *State) screenMeans(ctx context.Context, at []Place) ([][]float64, error) {
	means := make([][]float64, len(s.targets))
	for i := range s.next.sources {
		src := &s.next.sources[i]
		of, err := predictMeans(ctx, src.data, s.inputs(src.kernel, at), src.z)
		if err != nil {
			return nil, err
		}
		for n, m := range of {
			means[src.targets[n]] = m
		}
	}
	return means, nil
}

// prune keeps the places whose bound from the first rows of the factor reaches the best exact score among a few promising ones.
func (s *State) prune(ctx context.Context, at []Place, means [][]float64, rows int, known Known, draw Draw) ([]Place, [][]float64, error) {
	bounds, err := s.boundScores(ctx, at, means, rows, known, draw)
	if err != nil {
		return nil, nil, err
	}
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return byScore(climber{score: bounds[a]}, climber{score: bounds[b]}) })
	var probe []Place
	for _, i := range order[:min(4*starts, len(order))] {
		probe = append(probe, at[i])
	}
	exact, _, err := s.scoreAll(ctx, probe, known, draw)
	if err != nil {
		return nil, nil, err
	}
	list := leaders(probe, exact, starts)
	least := list[len(list)-1].score
	least.Value -= 1e-9 * math.Max(1, math.Abs(least.Value))
	least.Tie = math.Inf(-1)
	var kept []Place
	keptMeans := make([][]float64, len(means))
	for i, bound := range bounds {
		if least.Above(bound) {
			continue
		}
		kept = append(kept, at[i])
		for k := range means {
			if means[k] != nil {
				keptMeans[k] = append(keptMeans[k], means[k][i])
			}
		}
	}
	return kept, keptMeans, nil
}

// boundScores scores places with the given means and the standard deviations that the first rows of each factor leave.
func (s *State) boundScores(ctx context.Context, at []Place, means [][]float64, rows int, known Known, draw Draw) ([]search.Score, error) {
	sight := s.bareSight(s.next, draw)
	estimates := s.givenEstimates(s.next, at, known.at(at))
	for i := range s.next.sources {
		src := &s.next.sources[i]
		_, variances, err := predict(ctx, src.data.Prefix(min(rows, src.data.Len())), s.inputs(src.kernel, at), nil)
		if err != nil {
			return nil, err
		}
		sd := roots(variances)
		for _, k := range src.targets {
			mean := slices.Clone(means[k])
			shift(mean, s.next.transforms[k].shift)
			estimates[k] = policy.Estimate{Mean: mean, SD: sd}
		}
	}
	sight.Reward, sight.Costs = estimates[0], estimates[1:]
	raw, err := s.score(sight)
	if err != nil {
		return nil, err
	}
	scores, _ := s.order(raw, len(at))
	return scores, nil
}
