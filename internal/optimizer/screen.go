package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// pruneFrom is the number of rounds from which screening prunes; below it every point is solved
// for.
const pruneFrom = 200

// screened are the places that are still in question, with the posterior means of every target
// there, exact to rounding, and per source v(x)ᵀv(x*) for the incumbent x*, if there is one.
type screened struct {
	at        []Place
	means     [][]float64 // by target
	explained [][]float64
}

// screen scores places and returns the leaders. Where a policy can say how large a score may be,
// places are screened by bounds: the variance after the first m rows of the factor is at least the
// final one, so the bound it gives is at least the final score, and most places are ruled out
// without a full solve. The best place is never ruled out; of the other leaders, lesser ones on
// their own hills may be.
func (s climbing) screen(ctx context.Context, at []Place) ([]climber, string, error) {
	if !s.traits.RisesWithUncertainty && s.traits.Upper == nil || len(s.history.Rounds) < pruneFrom {
		scores, reason, err := s.scoreAll(ctx, at)
		return leaders(at, scores, mostAscents), reason, err
	}
	left, err := s.screenMeans(ctx, at)
	if err != nil {
		return nil, "", err
	}
	for rows := 64; rows < len(s.history.Rounds); rows *= 4 {
		if left, err = s.prune(ctx, left, rows); err != nil {
			return nil, "", err
		}
	}
	scores, reason, err := s.scoreAll(ctx, left.at)
	return leaders(left.at, scores, mostAscents), reason, err
}

// screenMeans works out what is known of all places in O(n) each.
func (s climbing) screenMeans(ctx context.Context, at []Place) (screened, error) {
	all := screened{at: at, means: make([][]float64, len(s.targets)), explained: make([][]float64, len(s.sources))}
	for i := range s.sources {
		src := &s.sources[i]
		rows, err := src.Rows(ctx)
		if err != nil {
			return all, err
		}
		of, explained, err := rows.MeansBeside(ctx, s.points(src.kernel, at), s.beside(i))
		if err != nil {
			return all, err
		}
		for n, k := range src.targets {
			all.means[k] = of[n]
		}
		all.explained[i] = explained
	}
	return all, nil
}

// keep leaves out the places whose bound is below a score.
func (c screened) keep(bounds []search.Score, least search.Score) screened {
	kept := screened{means: make([][]float64, len(c.means)), explained: make([][]float64, len(c.explained))}
	for i, bound := range bounds {
		if least.Above(bound) {
			continue
		}
		kept.at = append(kept.at, c.at[i])
		for k := range c.means {
			if c.means[k] != nil {
				kept.means[k] = append(kept.means[k], c.means[k][i])
			}
		}
		for k := range c.explained {
			if c.explained[k] != nil {
				kept.explained[k] = append(kept.explained[k], c.explained[k][i])
			}
		}
	}
	return kept
}

// prune keeps the places whose bound from the first rows of the factor reaches the best exact score
// among a few promising ones.
func (s climbing) prune(ctx context.Context, from screened, rows int) (screened, error) {
	bounds, err := s.boundAll(ctx, from, rows)
	if err != nil {
		return from, err
	}
	order := make([]int, len(from.at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return byScore(climber{score: bounds[a]}, climber{score: bounds[b]}) })
	var probe []Place
	for _, i := range order[:min(4*starts, len(order))] {
		probe = append(probe, from.at[i])
	}
	exact, _, err := s.scoreAll(ctx, probe)
	if err != nil {
		return from, err
	}
	list := leaders(probe, exact, starts)
	least := list[min(2*s.effort().fine, len(list))-1].score // twice as many as are polished to the end
	least.Value -= 1e-9 * math.Max(1, math.Abs(least.Value))
	least.Tie = math.Inf(-1)
	kept := from.keep(bounds, least)
	if len(kept.at) == 0 { // a bound that falls short of what it bounds says nothing: see Upper of policy.Traits
		return from, nil
	}
	return kept, nil
}

// part are the places from from to to−1.
func (c screened) part(from, to int) screened {
	part := func(values [][]float64) [][]float64 {
		some := make([][]float64, len(values))
		for k, v := range values {
			if v != nil {
				some[k] = v[from:to]
			}
		}
		return some
	}
	return screened{at: c.at[from:to], means: part(c.means), explained: part(c.explained)}
}

// boundAll is boundScores on all cores; a place's bound does not depend on the others.
func (s climbing) boundAll(ctx context.Context, of screened, rows int) ([]search.Score, error) {
	bounds := make([]search.Score, len(of.at))
	return bounds, cores.Stretches(len(of.at), func(from, to int) error {
		some, err := s.boundScores(ctx, of.part(from, to), rows)
		copy(bounds[from:to], some)
		return err
	})
}

// boundScores bounds the scores of places by the standard deviations that the first rows of each
// factor leave.
func (s climbing) boundScores(ctx context.Context, of screened, rows int) ([]search.Score, error) {
	input := s.bareInput(s.chance)
	estimates := s.givenEstimates(of.at, s.known.at(of.at))
	input.Rival = s.rival(of.at)
	for i := range s.sources {
		src := &s.sources[i]
		points := s.points(src.kernel, of.at)
		left, err := src.Rows(ctx)
		if err != nil {
			return nil, err
		}
		variances, err := left.VariancesAfter(ctx, rows, points)
		if err != nil {
			return nil, err
		}
		sd := roots(variances, 1)
		for _, k := range src.targets {
			mean := slices.Clone(of.means[k])
			shift(mean, s.transforms[k].shift)
			estimates[k] = policy.Estimate{Mean: mean, SD: sd}
		}
		if input.Rival != nil {
			together := left.Together(s.beside(i), points.Inputs, of.explained[i])
			for _, k := range src.targets {
				input.Rival.Together[k] = together
			}
		}
	}
	input.Reward, input.Costs = estimates[0], estimates[1:]
	var err error
	if input.Works, err = s.worksAt(ctx, of.at); err != nil {
		return nil, err
	}
	var raw policy.Scores
	if s.traits.Upper != nil {
		raw = s.weigh(s.traits.Upper(input), input.Works)
	} else if raw, err = s.score(input); err != nil {
		return nil, err
	}
	scores, _ := s.order(raw, of.at)
	return scores, nil
}
