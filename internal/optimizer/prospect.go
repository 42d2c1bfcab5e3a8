package optimizer

import (
	"context"
	"slices"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// prospectBlock is how many places are predicted at a time on the way down from the most promising one.
const prospectBlock = 64

// Prospect returns the place with the highest posterior mean reward among all that may be chosen and whose feasibility probability is at least 0.9,
//
//	x⁺ = argmax { μ_f(x) : Π_j P(g_j(x) ≤ 0) ≥ 0.9 },
//
// what the study could still come to as far as the model knows; ok is false where there is none. Candidates are all looked at; on a continuous space,
// space-filling points and the points played are, and the best of them is polished. The error is that of ctx.
func (s *State) Prospect(ctx context.Context, known Known) (found Place, ok bool, err error) {
	at := s.allowedArms()
	if s.arms == nil {
		at = s.screeningPlaces()
	}
	at, err = s.promising(ctx, at, known)
	if err != nil {
		return Place{}, false, err
	}
	for len(at) > 0 {
		if err := checkpoint.Reach(ctx); err != nil {
			return Place{}, false, err
		}
		block := at[:min(prospectBlock, len(at))]
		at = at[len(block):]
		scores, err := s.scoreProspects(ctx, block, known)
		if err != nil {
			return Place{}, false, err
		}
		best := leaders(block, scores, 1)[0]
		if best.score.Allowed && s.arms != nil {
			return block[slices.IndexFunc(scores, func(x search.Score) bool { return x == best.score })], true, nil
		}
		if best.score.Allowed {
			found, err := s.polishProspect(ctx, best, known)
			return found, err == nil, err
		}
	}
	return Place{}, false, nil
}

// allowedArms are the candidates that may be chosen.
func (s *State) allowedArms() []Place {
	if s.arms == nil {
		return nil
	}
	var at []Place
	for i, place := range s.arms.places {
		if available := s.cfg.Space.Available; available == nil || available[i] {
			at = append(at, place)
		}
	}
	return at
}

// promising are the places where the mean of every cost is within its limit, the highest expected reward first. A probability of 0.9 or more needs
// that: all others are ruled out in O(n) each.
func (s *State) promising(ctx context.Context, at []Place, known Known) ([]Place, error) {
	if len(at) == 0 {
		return nil, nil
	}
	estimates, err := s.meansAt(ctx, s.display, at, known.at(at))
	if err != nil {
		return nil, err
	}
	for k := range estimates {
		estimates[k].SD = make([]float64, len(at))
	}
	sure := s.chances(s.display.era, estimates, len(at), s.knownRows(at, known))
	var order []int
	for i := range at {
		if sure[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := s.expectedReward(estimates[0].Mean[a], 0), s.expectedReward(estimates[0].Mean[b], 0); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return a - b
	})
	kept := make([]Place, len(order))
	for n, i := range order {
		kept[n] = at[i]
	}
	return kept, nil
}

// scoreProspects scores places by their expected reward where they are probable enough to be within the limits, and by that probability where not.
func (s *State) scoreProspects(ctx context.Context, at []Place, known Known) ([]search.Score, error) {
	estimates, err := s.estimate(ctx, s.display, at, known.at(at))
	if err != nil {
		return nil, err
	}
	return s.prospectScores(estimates, s.chances(s.display.era, estimates, len(at), s.knownRows(at, known))), nil
}

func (s *State) prospectScores(estimates []policy.Estimate, chances []float64) []search.Score {
	scores := make([]search.Score, len(chances))
	for i, chance := range chances {
		scores[i] = search.Score{Value: chance}
		if chance >= safeEnough {
			scores[i] = search.Score{Allowed: true, Value: s.expectedReward(estimates[0].Mean[i], estimates[0].SD[i]), Tie: chance}
		}
	}
	return scores
}

// polishProspect climbs from the best point found by screening, and keeps it where nothing near is better.
func (s *State) polishProspect(ctx context.Context, from climber, known Known) (Place, error) {
	problem := search.Problem{Axes: s.cfg.Space.axes(), Settle: s.cfg.Space.Settle,
		Score: func(points [][]float64) ([]search.Score, error) {
			if err := checkpoint.Reach(ctx); err != nil {
				return nil, err
			}
			return s.scoreProspects(ctx, asPlaces(points), known)
		}}
	u, _, err := problem.Polish(from.u, from.score, s.spacing(), finestStep, s.effort().budget, s.draw(s.Round()).Seed)
	return Place{U: u, Arm: -1}, err
}
