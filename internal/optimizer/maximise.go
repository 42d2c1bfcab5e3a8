package optimizer

import (
	"context"
	"errors"
	"math"
	"slices"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

func (s *decision) maximise(ctx context.Context, known Known) (maximum, error) {
	if s.arms != nil {
		return s.best(ctx, s.arms.places, known)
	}
	if s.traits.LooksAtAll {
		return s.best(ctx, s.finitePlaces(ctx, s.draw(s.Round())), known)
	}
	found, err := s.highest(ctx, known)
	if err == nil && s.littleLeft(found) {
		return s.diversified(ctx, known, found)
	}
	return found, err
}

// highest looks for the largest acquisition on a continuous space.
func (s *decision) highest(ctx context.Context, known Known) (maximum, error) {
	if s.shortlist != nil {
		if found, err := s.best(ctx, s.shortlist.places, known); !errors.Is(err, ErrNoneAllowed) {
			return found, err
		}
	}
	return s.climbing(known).climb(ctx, s.startingPlaces())
}

// climbing is the search for the highest score on a continuous space, with what is known of the given
// costs and what chance contributes.
type climbing struct {
	*decision
	known  Known
	chance Draw
}

func (s *decision) climbing(known Known) climbing { return climbing{s, known, s.draw(s.Round())} }

// climb screens the space, leads the best points found up hill, and polishes the best of those to
// the end.
func (s climbing) climb(ctx context.Context, at []Place) (maximum, error) {
	if len(at) == 0 {
		return maximum{}, ErrNoneAllowed
	}
	climbers, reasonGiven, err := s.screen(ctx, at)
	if err != nil {
		return maximum{}, err
	}
	problem := search.Problem{Axes: s.cfg.Space.axes(), Settle: s.cfg.Space.Settle,
		Score: func(points [][]float64) ([]search.Score, error) {
			if err := checkpoint.Reach(ctx); err != nil {
				return nil, err
			}
			scores, _, err := s.scoreAll(ctx, asPlaces(points))
			return scores, err
		}}
	climbing := climbers[0].score.Allowed && s.smooth()
	if climbing {
		if problem.Rise, err = s.rise(ctx); err != nil {
			return maximum{}, err
		}
	}
	switch {
	case !climbing:
		climbers, err = s.poll(problem, climbers)
	case s.traits.Expects:
		climbers, err = s.ascend(problem, climbers)
	default:
		climbers, err = s.ascendKinks(problem, climbers)
	}
	if err != nil {
		return maximum{}, err
	}
	top := climbers[0]
	if !top.score.Allowed && math.IsInf(top.score.Value, -1) {
		return maximum{}, ErrNoneAllowed
	}
	found := maximum{place: Place{U: top.u, Arm: -1}, value: top.score.Value, draw: s.chance, reason: reason(reasonGiven, !top.score.Allowed)}
	for _, c := range climbers[1:] {
		if distinct(c.u, top.u) {
			found.runnerUp = &RunnerUp{Place: Place{U: c.u, Arm: -1}, Acquisition: c.score.Value}
			break
		}
	}
	return found, nil
}

// poll polishes starts coarsely, and the best of them to the end. It returns them in the order of
// their scores.
func (s climbing) poll(problem search.Problem, climbers []climber) ([]climber, error) {
	e, seed := s.effort(), s.chance.Seed
	climbers = climbers[:min(e.coarse, len(climbers))]
	if err := polish(problem, climbers, s.spacing(), s.spacing()/16, e.budget/4, seed); err != nil {
		return nil, err
	}
	slices.SortStableFunc(climbers, byScore)
	err := polish(problem, climbers[:min(e.fine, len(climbers))], s.spacing()/8, finestStep, e.budget, seed+starts)
	slices.SortStableFunc(climbers, byScore)
	return climbers, err
}

// startingPlaces are like screeningPlaces, but spread over a box that reaches beyond the space, and
// drawn back to its sides: a maximum often lies on a side or in a corner, where points from within
// hardly come. Of many points tried only the incumbent is among them: what lies around the others
// is known.
func (s *decision) startingPlaces() []Place {
	near := s.nearIncumbent(s.effort().near, s.draw(s.Round()).Seed)
	if near == nil || len(s.history.Rounds) <= fewRounds {
		return s.amidSpread(append(near, s.pointsPlayed()...))
	}
	return s.amidSpread(append(near, s.around.U))
}

// finitePlaces are the places that an algorithm which looks at all of them together chooses among
// on a continuous space: those it proposes, else the screening points and the safe seeds. No place
// is listed twice.
func (s *decision) finitePlaces(ctx context.Context, draw Draw) []Place {
	if s.traits.Propose != nil {
		none := s.inputFrom(ctx, nil, nil, draw, make([]policy.Estimate, len(s.targets)))
		if at := s.allowedPlaces(s.traits.Propose(none)); len(at) > 0 {
			return at
		}
	}
	var points [][]float64
	for _, seed := range s.cfg.SafeSeeds {
		points = append(points, seed.U)
	}
	for _, p := range s.screeningPlaces() {
		points = append(points, p.U)
	}
	return s.allowedPlaces(points)
}
