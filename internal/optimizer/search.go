package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/search"
)

// climb screens the space, moves the best places found uphill, and polishes the best of those.
func (s climbing) climb(ctx context.Context, at []Place) (maximum, error) {
	if len(at) == 0 {
		return maximum{}, ErrNoneAllowed
	}
	climbers, reasonGiven, err := s.screen(ctx, at)
	if err != nil {
		return maximum{}, err
	}
	problem := s.cfg.Space.maximumProblem(ctx, func(at []Place) ([]search.Score, error) {
		scores, _, err := s.scoreAll(ctx, at)
		return scores, err
	})
	climbing := climbers[0].score.Allowed && s.smooth()
	if climbing {
		if problem.Rise, err = s.scoreWithSlopes(ctx); err != nil {
			return maximum{}, err
		}
	}
	switch {
	case !climbing:
		climbers, err = s.poll(problem, climbers)
	case s.traits.LogExpectation:
		climbers, err = s.ascend(problem, climbers)
	default:
		climbers, err = s.ascendKinks(problem, climbers)
	}
	if err != nil {
		return maximum{}, err
	}
	if err := s.followRisk(ctx, problem, &climbers[0]); err != nil {
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

// followRisk polishes a top that uses more than half of the risk the decision may take, along the
// edge of the places within that risk.
func (s climbing) followRisk(ctx context.Context, problem search.Problem, top *climber) error {
	if len(s.allowances) == 0 || !top.score.Allowed {
		return nil
	}
	problem.Beyond = func(points [][]float64) ([]float64, error) {
		at := asPlaces(points)
		estimates, err := s.estimate(ctx, at, nil)
		if err != nil {
			return nil, err
		}
		return s.riskExcess(ctx, at, estimates)
	}
	beyond, err := problem.Beyond([][]float64{top.u})
	if err != nil || beyond[0] < -0.5 {
		return err
	}
	top.u, top.score, err = problem.Polish(top.u, top.score, s.spacing()/8, finestStep, s.effort().settling, s.chance.Seed+2*starts)
	return err
}

// maximumProblem is the problem of finding the highest score on the space.
func (s Space) maximumProblem(ctx context.Context, score func(at []Place) ([]search.Score, error)) search.Problem {
	return search.Problem{Axes: s.axes(), Settle: s.Settle, Score: func(points [][]float64) ([]search.Score, error) {
		if err := checkpoint.Reach(ctx); err != nil {
			return nil, err
		}
		return score(asPlaces(points))
	}}
}

// poll polishes starts coarsely, and the best of them to the end. It returns them in the order of
// their scores.
func (s climbing) poll(problem search.Problem, climbers []climber) ([]climber, error) {
	e := s.effort()
	climbers = climbers[:min(e.coarse, len(climbers))]
	if err := polish(problem, climbers, s.spacing(), s.spacing()/16, e.budget/4, s.chance.Seed); err != nil {
		return nil, err
	}
	slices.SortStableFunc(climbers, byScore)
	return s.finish(problem, climbers, e.fine, e.budget)
}

// startingPlaces are the spread points, points around the incumbent, and the points played; of many
// points played only the incumbent, since what lies around the others is known. The spread reaches
// beyond the space and is drawn back to its sides: a maximum often lies on a side or in a corner,
// where points from within hardly come.
func (s *decision) startingPlaces() []Place {
	near := s.nearIncumbent(s.effort().near, s.draw(s.Round()).Seed)
	if near == nil || len(s.history.Rounds) <= fewRounds {
		return s.withSpreadPoints(append(near, s.pointsPlayed()...))
	}
	return s.withSpreadPoints(append(near, s.searchCentre.U))
}

// finitePlaces are the places that an algorithm which needs a finite set chooses among on a
// continuous space: those it proposes, else the safe seeds and the screening points, each once.
func (s *decision) finitePlaces(ctx context.Context, draw Draw) []Place {
	if s.traits.Propose != nil {
		none := s.inputFrom(ctx, nil, nil, draw, make([]policy.Estimate, len(s.targets)))
		if at := s.allowedPlaces(s.traits.Propose(none)); len(at) > 0 {
			return at
		}
	}
	return s.allowedPlaces(lists.Map(slices.Concat(s.cfg.SafeSeeds, s.screeningPlaces()), Place.point))
}

const (
	// pruneFrom is the number of rounds from which screening prunes; with fewer, every place is
	// scored exactly.
	pruneFrom = 200
	// promising is how many places of the largest bounds are scored first, probed how many of them
	// give the score that others have to reach.
	promising, probed = 256, 4 * starts
)

// screening is what is known of the places that a search may start from.
type screening struct {
	climbing
	at        []Place
	means     [][]float64 // per target, exact to rounding
	explained [][]float64 // per source: v(x)ᵀv(x*) for the incumbent x*, if there is one
	scores    map[int]search.Score
	reason    string
}

// screen returns the places of the highest scores and the policy's reason. Where the policy can
// bound its scores, most places are ruled out without an exact one.
func (s climbing) screen(ctx context.Context, at []Place) ([]climber, string, error) {
	all := &screening{climbing: s, at: at, scores: map[int]search.Score{}}
	left, err := all.relevant(ctx)
	if err != nil {
		return nil, "", err
	}
	scores, err := all.scored(ctx, left)
	return leaders(lists.At(at, left), scores, mostAscents), all.reason, err
}

// relevant lists the places that may be among the highest.
func (s *screening) relevant(ctx context.Context) ([]int, error) {
	left := lists.Below(len(s.at))
	switch bounded := s.traits.RisesWithUncertainty || s.traits.Upper != nil; {
	case bounded && len(s.history.Rounds) >= pruneFrom:
		err := s.screenMeans(ctx)
		for rows := 64; err == nil && rows < len(s.history.Rounds); rows *= 4 {
			left, err = s.prune(ctx, left, rows)
		}
		return left, err
	case s.traits.QuickUpper != nil:
		return s.withAllLeaders(ctx, left)
	}
	return left, nil
}

// scored are the scores of some of the places, each computed once.
func (s *screening) scored(ctx context.Context, some []int) ([]search.Score, error) {
	missing := slices.DeleteFunc(slices.Clone(some), func(i int) bool { _, known := s.scores[i]; return known })
	if len(missing) > 0 {
		scores, reason, err := s.scoreAll(ctx, lists.At(s.at, missing))
		if err != nil {
			return nil, err
		}
		s.reason = reason
		for n, i := range missing {
			s.scores[i] = scores[n]
		}
	}
	return lists.Map(some, func(i int) search.Score { return s.scores[i] }), nil
}

// withAllLeaders lists places, in their order, that include all leaders: the bounds of the others
// are below the last leader.
func (s *screening) withAllLeaders(ctx context.Context, all []int) ([]int, error) {
	bounds, err := s.bounds(ctx, all, s.fullInput, func(input *policy.Input) (policy.Scores, error) { return s.traits.QuickUpper(input), nil })
	if err != nil {
		return nil, err
	}
	order := descending(bounds)
	for count := promising; count < len(all); count *= 2 {
		some := slices.Sorted(slices.Values(order[:count]))
		scores, err := s.scored(ctx, some)
		if err != nil {
			return nil, err
		}
		if list := leaders(lists.At(s.at, some), scores, mostAscents); len(list) == mostAscents && list[mostAscents-1].score.Above(bounds[order[count]]) {
			return some, nil
		}
	}
	return all, nil
}

// screenMeans computes the means at all places, and explained, in O(n) each.
func (s *screening) screenMeans(ctx context.Context) error {
	s.means, s.explained = make([][]float64, len(s.targets)), make([][]float64, len(s.sources))
	points := s.pointsBySource(s.at)
	for i := range s.sources {
		src := &s.sources[i]
		rows, err := src.Rows(ctx)
		if err != nil {
			return err
		}
		of, explained, err := rows.MeansBeside(ctx, points[i], s.reference(i))
		if err != nil {
			return err
		}
		for n, k := range src.targets {
			s.means[k] = of[n]
		}
		s.explained[i] = explained
	}
	return nil
}

// prune keeps the places whose score may reach the best exact scores among a few promising ones. A
// score is bounded by the variances given the first rows of the factor, which are at least the
// final ones, so most places are ruled out without a full solve. The best place is never ruled out;
// lesser leaders on other hills may be.
func (s *screening) prune(ctx context.Context, left []int, rows int) ([]int, error) {
	bounds, err := s.bounds(ctx, left, func(ctx context.Context, of []int) (*policy.Input, error) { return s.partialInput(ctx, of, rows) }, s.tightBound)
	if err != nil {
		return nil, err
	}
	probe := lists.At(left, descending(bounds)[:min(probed, len(bounds))])
	exact, err := s.scored(ctx, probe)
	if err != nil {
		return nil, err
	}
	list := leaders(lists.At(s.at, probe), exact, starts)
	least := list[min(2*s.effort().fine, len(list))-1].score // twice as many as are polished to the end
	least.Value -= 1e-9 * math.Max(1, math.Abs(least.Value))
	least.Tie = math.Inf(-1)
	var kept []int
	for n, i := range left {
		if !least.Above(bounds[n]) {
			kept = append(kept, i)
		}
	}
	if len(kept) == 0 { // the bound does not hold: see Upper of policy.Traits
		return left, nil
	}
	return kept, nil
}

// bounds are the bounds of the scores of some places, by their input, computed on all cores. The
// bound of a place does not depend on the others.
func (s *screening) bounds(ctx context.Context, of []int, known func(context.Context, []int) (*policy.Input, error),
	bound func(*policy.Input) (policy.Scores, error)) ([]search.Score, error) {
	bounds := make([]search.Score, len(of))
	return bounds, cores.Stretches(len(of), func(from, to int) error {
		input, err := known(ctx, of[from:to])
		if err != nil {
			return err
		}
		at := lists.At(s.at, of[from:to])
		if input.Works, err = s.worksAt(ctx, at); err != nil {
			return err
		}
		raw, err := bound(input)
		if err == nil {
			copy(bounds[from:to], s.searchScores(s.addWorks(raw, input.Works), at))
		}
		return err
	})
}

// tightBound is the tightest bound that the policy has.
func (s *screening) tightBound(input *policy.Input) (policy.Scores, error) {
	if s.traits.Upper != nil {
		return s.traits.Upper(input), nil
	}
	return s.policy.Score(input)
}

// fullInput is the exact input of some places.
func (s *screening) fullInput(ctx context.Context, of []int) (*policy.Input, error) {
	at := lists.At(s.at, of)
	estimates, incumbent, err := s.estimateBeside(ctx, at, s.known.at(at))
	if err != nil {
		return nil, err
	}
	return s.newInput(s.chance, estimates, incumbent), nil
}

// partialInput is the input of some places with the standard deviations given the first rows of
// each factor.
func (s *screening) partialInput(ctx context.Context, of []int, rows int) (*policy.Input, error) {
	at := lists.At(s.at, of)
	incumbent := s.newIncumbentInput(at)
	estimates, err := s.gather(at, s.known.at(at), incumbent, func(i int, points posterior.Points) (p posterior.Prediction, err error) {
		left, err := s.sources[i].Rows(ctx)
		if err != nil {
			return p, err
		}
		p.Means = lists.Map(s.sources[i].targets, func(k int) []float64 { return lists.At(s.means[k], of) })
		if incumbent != nil {
			p.ReferenceCovariances = left.ReferenceCovariances(s.reference(i), points.Inputs, lists.At(s.explained[i], of))
		}
		p.Variances, err = left.VariancesAfter(ctx, rows, points.Inputs)
		return p, err
	})
	if err != nil {
		return nil, err
	}
	return s.newInput(s.chance, estimates, incumbent), nil
}
