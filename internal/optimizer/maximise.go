package optimizer

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// maximum is what the search for the largest acquisition found.
type maximum struct {
	place    Place
	value    float64
	runnerUp *RunnerUp
	reason   string
	draw     Draw
}

func (s *decision) maximise(ctx context.Context, known Known) (maximum, error) {
	if s.arms != nil {
		return s.best(ctx, s.arms.places, known)
	}
	if s.traits.LooksAtAll {
		at, err := s.finitePlaces(ctx, s.draw(s.Round()))
		if err != nil {
			return maximum{}, err
		}
		return s.best(ctx, at, known)
	}
	found, err := s.highest(ctx, known)
	if err == nil && s.littleLeft(found) {
		return s.heldApart(ctx, known, found)
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
	return s.climb(ctx, s.startingPlaces(), known)
}

// places lists the arms, nil on a continuous space.
func (s Space) places() []Place {
	if s.Arms == nil {
		return nil
	}
	at := make([]Place, len(s.Arms))
	for i, u := range s.Arms {
		at[i] = Place{U: u, Arm: i}
	}
	return at
}

// best takes the largest score of a finite list.
func (s *decision) best(ctx context.Context, at []Place, known Known) (maximum, error) {
	return s.bestWhere(ctx, at, known, func(policy.Scores, int) bool { return true })
}

// bestWhere is best of the places, by their index, that also suit.
func (s *decision) bestWhere(ctx context.Context, at []Place, known Known, suits func(scores policy.Scores, i int) bool) (maximum, error) {
	if len(at) == 0 {
		return maximum{}, ErrNoneAllowed
	}
	draw := s.draw(s.Round())
	sight, err := s.sight(ctx, at, known.at(at), draw)
	if err != nil {
		return maximum{}, err
	}
	scores, err := s.score(sight)
	if err != nil {
		return maximum{}, err
	}
	values, allowed, fellBack := s.effective(scores, at)
	for i := range at {
		allowed[i] = allowed[i] && suits(scores, i)
	}
	chosen := Argmax(values, scores.Untruncated, allowed, scores.Relative)
	if chosen < 0 {
		return maximum{}, ErrNoneAllowed
	}
	found := maximum{place: at[chosen], value: values[chosen], reason: reason(scores.Reason, fellBack), draw: draw}
	if s.traits.Drawn != nil {
		if found.draw.Z, err = s.traits.Drawn(sight, chosen); err != nil {
			return maximum{}, err
		}
	}
	for i, p := range at { // beside the best of a continuous space lie others that are hardly another choice
		allowed[i] = allowed[i] && i != chosen && (p.Arm >= 0 || distinct(p.U, at[chosen].U))
	}
	if second := Argmax(values, scores.Untruncated, allowed, scores.Relative); second >= 0 {
		found.runnerUp = &RunnerUp{Place: at[second], Acquisition: values[second]}
	}
	return found, nil
}

func reason(usual string, fellBack bool) string {
	if fellBack && (usual == policy.Optimistic || usual == policy.Improve) {
		return policy.LeastBad
	}
	return usual
}

// How the search over a continuous space is sized.
const (
	screenPoints = 2000 // space-filling points scored first
	starts       = 12   // of which the best are polished; see effort
	mostAscents  = 24   // starts that slopes lead up from; see effort
	finestStep   = 1e-5 // in unit coordinates
	apart        = 0.1  // between starts, in some coordinate, so that they lie on different hills
	overhang     = 0.1  // of the space-filling points beyond each side; see startingPlaces
)

// climber is one polished start.
type climber struct {
	u     []float64
	score search.Score
}

// climb screens the space, leads the best points found up hill, and polishes the best of those to the end.
func (s *decision) climb(ctx context.Context, at []Place, known Known) (maximum, error) {
	draw := s.draw(s.Round())
	if len(at) == 0 {
		return maximum{}, ErrNoneAllowed
	}
	climbers, reasonGiven, err := s.screen(ctx, at, known, draw)
	if err != nil {
		return maximum{}, err
	}
	problem := search.Problem{Axes: s.cfg.Space.axes(), Settle: s.cfg.Space.Settle,
		Score: func(points [][]float64) ([]search.Score, error) {
			if err := checkpoint.Reach(ctx); err != nil {
				return nil, err
			}
			scores, _, err := s.scoreAll(ctx, asPlaces(points), known, draw)
			return scores, err
		}}
	if climbers[0].score.Allowed && s.smooth() {
		problem.Rise = s.slopes(known, draw).rise(ctx)
		climbers, err = s.ascend(problem, climbers, draw.Seed+starts)
	} else {
		climbers, err = s.poll(problem, climbers, draw.Seed)
	}
	if err != nil {
		return maximum{}, err
	}
	top := climbers[0]
	if !top.score.Allowed && math.IsInf(top.score.Value, -1) {
		return maximum{}, ErrNoneAllowed
	}
	found := maximum{place: Place{U: top.u, Arm: -1}, value: top.score.Value, draw: draw, reason: reason(reasonGiven, !top.score.Allowed)}
	for _, c := range climbers[1:] {
		if distinct(c.u, top.u) {
			found.runnerUp = &RunnerUp{Place: Place{U: c.u, Arm: -1}, Acquisition: c.score.Value}
			break
		}
	}
	return found, nil
}

// poll polishes starts coarsely, and the best of them to the end. It returns them in the order of their scores.
func (s *decision) poll(problem search.Problem, climbers []climber, seed uint64) ([]climber, error) {
	e := s.effort()
	climbers = climbers[:min(e.coarse, len(climbers))]
	if err := polish(problem, climbers, s.spacing(), s.spacing()/16, e.budget/4, seed); err != nil {
		return nil, err
	}
	slices.SortStableFunc(climbers, byScore)
	err := polish(problem, climbers[:min(e.fine, len(climbers))], s.spacing()/8, finestStep, e.budget, seed+starts)
	slices.SortStableFunc(climbers, byScore)
	return climbers, err
}

// polish moves every climber up, on all cores; each is deterministic by itself.
func polish(problem search.Problem, climbers []climber, step, finest float64, budget int, seed uint64) error {
	work := cores.New()
	for i := range climbers {
		work.Go(func() (err error) {
			c := &climbers[i]
			c.u, c.score, err = problem.Polish(c.u, c.score, step, finest, budget, seed+uint64(i))
			return err
		})
	}
	return work.Wait()
}

func byScore(a, b climber) int {
	switch {
	case a.score.Above(b.score):
		return -1
	case b.score.Above(a.score):
		return 1
	}
	return 0
}

// effort is how much a search may spend: starts that slopes lead up from, or that are polished coarsely where there are none, of which the best
// are polished to the end, evaluations for each, those that are enough where slopes led to the top, and starting points near the incumbent at each
// distance; and what a step uphill must bring to be followed by another.
type effort struct {
	ascents, coarse, fine, budget, settling, near int
	least                                         float64
}

// fewRounds is up to how many rounds effort is not spared.
const fewRounds = 300

// effort falls as the data grow, since an evaluation costs O(n²): all of it up to fewRounds; beyond, about 25 million multiplications for
// each parameter of a start, but at least 16 evaluations.
func (s *study) effort() effort {
	d, n := len(s.cfg.Space.Dims), len(s.history.Rounds)
	if n <= fewRounds {
		return effort{mostAscents, starts, 3, 400 * d, 40 * d, 24, 1e-6}
	}
	budget := max(16, 50_000_000/(n*n)) * d
	return effort{8, 6, 2, min(budget, 400*d), 0, 6, 1e-4}
}

// spacing is the typical distance between neighbouring screening points in unit coordinates.
func (s *study) spacing() float64 {
	return math.Max(0.02, 0.5*math.Pow(screenPoints, -1/float64(len(s.cfg.Space.Dims))))
}

func (s Space) axes() []search.Axis {
	axes := make([]search.Axis, len(s.Dims))
	for k, d := range s.Dims {
		axes[k] = search.Axis{Fixed: d.Derived, Levels: d.Levels}
		if d.Choices > 0 {
			axes[k].Levels, axes[k].Choice = d.Choices, true
		}
	}
	return axes
}

func asPlaces(points [][]float64) []Place {
	at := make([]Place, len(points))
	for i, u := range points {
		at[i] = Place{U: u, Arm: -1}
	}
	return at
}

// scoreAll scores places for climbing.
func (s *decision) scoreAll(ctx context.Context, at []Place, known Known, draw Draw) ([]search.Score, string, error) {
	sight, err := s.sight(ctx, at, known.at(at), draw)
	if err != nil {
		return nil, "", err
	}
	raw, err := s.score(sight)
	if err != nil {
		return nil, "", err
	}
	scores, reason := s.order(raw, at)
	return scores, reason, nil
}

// order puts scores in the order that climbing needs: by rank, and fallbacks below everything allowed.
func (s *decision) order(raw policy.Scores, at []Place) ([]search.Score, string) {
	scores := make([]search.Score, len(at))
	for i, p := range at {
		scores[i] = search.Score{Rank: s.rank(raw, p, i), Allowed: raw.Allowed == nil || raw.Allowed[i], Value: raw.Value[i]}
		if !scores[i].Allowed {
			scores[i].Value = math.Inf(-1)
			if raw.Fallback != nil {
				scores[i].Value = raw.Fallback[i]
			} else {
				scores[i].Rank = ranks
			}
		} else if raw.Untruncated != nil {
			scores[i].Tie = raw.Untruncated[i]
		}
	}
	return scores, raw.Reason
}

// leaders are the best scored places, no two of them alike.
func leaders(at []Place, scores []search.Score, count int) []climber {
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if scores[a].Above(scores[b]) {
			return -1
		}
		if scores[b].Above(scores[a]) {
			return 1
		}
		return cmp.Compare(a, b)
	})
	var list []climber
	for _, i := range order {
		if len(list) == count {
			break
		}
		if !slices.ContainsFunc(list, func(c climber) bool { return !differ(c.u, at[i].U, apart) }) {
			list = append(list, climber{at[i].U, scores[i]})
		}
	}
	return list
}

// distinct tells whether two points differ by more than a hundredth of the range of some parameter.
func distinct(a, b []float64) bool { return differ(a, b, 0.01) }

// differ tells whether two points are further apart than distance in some coordinate.
func differ(a, b []float64, distance float64) bool {
	for k := range a {
		if math.Abs(a[k]-b[k]) > distance {
			return true
		}
	}
	return false
}

// screeningPlaces are the space-filling points that are allowed, and the points tried before.
func (s *study) screeningPlaces() []Place {
	return s.placesFrom(search.Halton(screenPoints, len(s.cfg.Space.Dims), s.cfg.Seed))
}

// startingPlaces are like screeningPlaces, but spread over a box that reaches beyond the space, and drawn back to its sides: a maximum often lies
// on a side or in a corner, where points from within hardly come. Of many points tried only the incumbent is among them: what lies around the others is known.
func (s *decision) startingPlaces() []Place {
	points := s.overhanging(screenPoints, s.cfg.Seed)
	near := s.nearIncumbent(s.effort().near, s.draw(s.Round()).Seed)
	if near == nil || len(s.history.Rounds) <= fewRounds {
		return s.placesFrom(points, near...)
	}
	return s.placesOf(points, append(near, s.around.U))
}

// overhanging are points spread over a box that reaches beyond the space, drawn back to its sides.
func (s *study) overhanging(count int, seed uint64) [][]float64 {
	points := search.Halton(count, len(s.cfg.Space.Dims), seed)
	for _, u := range points {
		for k := range u {
			u[k] = min(max((1+2*overhang)*u[k]-overhang, 0), 1)
		}
	}
	return points
}

// Points around the incumbent lie at a few distances, from a fifth of the range down. A narrow peak beside the best point known is missed by
// points spread over the space.
const (
	farthest    = 0.2
	nearScales  = 5
	scaleFactor = 0.2
)

// nearIncumbent scatters points around the incumbent, if there is one, as many at each of several scales. Half of the coordinates stay as they are.
func (s *decision) nearIncumbent(each int, seed uint64) [][]float64 {
	if s.around == nil {
		return nil
	}
	random := rand.New(rand.NewPCG(seed, nearStream))
	var points [][]float64
	distance := farthest
	for range nearScales {
		for range each {
			u := slices.Clone(s.around.U)
			always := random.IntN(len(u))
			for k := range u {
				if step := distance * random.NormFloat64(); k == always || random.IntN(2) == 0 {
					u[k] = min(max(u[k]+step, 0), 1)
				}
			}
			points = append(points, u)
		}
		distance *= scaleFactor
	}
	return points
}

// nearStream keeps these draws apart from others of the same seed.
const nearStream = 0x6e656172

// placesFrom are the space-filling points that are allowed, settled, and of some others and the points tried before those that are.
func (s *study) placesFrom(points [][]float64, others ...[]float64) []Place {
	for _, r := range s.history.Rounds {
		others = append(others, r.Point)
	}
	return s.placesOf(points, others)
}

// placesOf are the space-filling points that are allowed, settled, and of some others those that are.
func (s *study) placesOf(points, others [][]float64) []Place {
	return asPlaces(append(s.cfg.Space.allowed(points, s.cfg.Seed), s.cfg.Space.settled(others)...))
}
