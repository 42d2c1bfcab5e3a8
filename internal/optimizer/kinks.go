package optimizer

import (
	"math"
	"slices"

	"headroom/internal/optimizer/descent"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// How closely scores with kinks are climbed, as shares of how large and how different scores are.
const (
	nearTop    = 1e-4
	onTop      = 1e-11
	certifying = 2e-5 // step of the polls around what was found, in unit coordinates
	hopLevels  = 4    // places of each coordinate, from 0 to 1, that are looked at from a top
)

// ascendKinks is ascend for scores with kinks, whose scale is that of the metrics: all starts go up
// until hardly more is to be gained, so does what lies across the space from the highest and
// promises most, and the highest of all go to the top. Polls around the best certify it. It returns
// climbers in the order of their scores.
func (s climbing) ascendKinks(problem search.Problem, climbers []climber) ([]climber, error) {
	e := s.effortFor(s.rows())
	climbers = climbers[:min(e.ascents, len(climbers))]
	ridges := &search.Ridges{Problem: problem}
	highest, spread := extent(climbers)
	if err := lead(ridges, climbers, nearTop*max(highest, spread)); err != nil {
		return nil, err
	}
	hops, err := hops(problem, standing(ridges, e.hops/hopsEach), e.hops)
	if err != nil {
		return nil, err
	}
	if err := lead(ridges, hops, nearTop*max(highest, spread)); err != nil {
		return nil, err
	}
	order := ridges.Highest()
	for _, i := range order[:min(e.tops, len(order))] {
		ridges.Resume(i, onTop*max(highest, spread/1000))
	}
	if err := ridges.Follow(); err != nil {
		return nil, err
	}
	risen := standing(ridges, len(order))
	if len(risen) == 0 {
		return climbers, nil
	}
	return s.certify(problem, ridges, risen)
}

// extent is how large the highest score is, and by how much scores of allowed climbers differ.
func extent(climbers []climber) (highest, spread float64) {
	highest = climbers[0].score.Value
	for _, c := range climbers {
		if c.score.Allowed {
			spread = max(spread, math.Abs(highest-c.score.Value))
		}
	}
	return math.Abs(highest), spread
}

// lead leads climbers up until steps bring less than least, beside those that have gone before.
func lead(ridges *search.Ridges, climbers []climber, least float64) error {
	for _, c := range climbers {
		if c.score.Allowed {
			ridges.Add(c.u, c.score, least)
		}
	}
	return ridges.Follow()
}

// standing are the highest ascents, at most so many.
func standing(ridges *search.Ridges, count int) (list []climber) {
	order := ridges.Highest()
	for _, i := range order[:min(count, len(order))] {
		list = append(list, climber{ridges.Ascents[i].U, ridges.Ascents[i].Score})
	}
	return list
}

// certify polls closely around the best, at least once along the axes and once across them, where
// slopes tell all. Where they do not, or where polls find something higher, it polishes.
func (s climbing) certify(problem search.Problem, ridges *search.Ridges, risen []climber) ([]climber, error) {
	e, d, seed := s.effortFor(s.rows()), len(problem.Axes), s.chance.Seed+starts
	doubtful := slices.ContainsFunc(problem.Axes, func(a search.Axis) bool { return a.Levels > 0 }) || slices.ContainsFunc(ridges.Ascents, atEdge)
	if !doubtful {
		top := risen[0].u
		if err := polish(problem, risen[:1], certifying, finestStep, max(4*d, e.settling), seed); err != nil {
			return nil, err
		}
		doubtful = !slices.Equal(top, risen[0].u)
	}
	var err error
	if doubtful {
		err = polish(problem, risen[:min(e.fine, len(risen))], s.spacing()/8, finestStep, e.budget/2, seed)
	}
	slices.SortStableFunc(risen, byScore)
	return risen, err
}

// rows is how many data the largest regression has.
func (s climbing) rows() int {
	most := 0
	for i := range s.sources {
		most = max(most, len(s.sources[i].rounds))
	}
	return most
}

// atEdge tells whether an ascent ended where slopes may not tell all: at what is not allowed, or
// where the score is cut, so that only its ties differ.
func atEdge(a search.Ascent) bool {
	return a.Refused || a.Score.Tie != 0 && a.Score.Tie != a.Score.Value
}

// hops are the most promising places that differ from some tops in one coordinate. A score with
// kinks has many tops, in corners and along sides.
func hops(problem search.Problem, tops []climber, count int) ([]climber, error) {
	var points [][]float64
	for _, top := range tops {
		for k, axis := range problem.Axes {
			for _, v := range across(axis) {
				u := slices.Clone(top.u)
				u[k] = v
				if (problem.Settle == nil || problem.Settle(u)) && !slices.Equal(u, top.u) {
					points = append(points, u)
				}
			}
		}
	}
	if len(points) == 0 {
		return nil, nil
	}
	scores, err := problem.Score(points)
	if err != nil {
		return nil, err
	}
	return leaders(asPlaces(points), scores, count), nil
}

// across are values all along an axis.
func across(axis search.Axis) (values []float64) {
	switch {
	case axis.Choice:
		for c := range axis.Levels {
			values = append(values, (float64(c)+0.5)/float64(axis.Levels))
		}
	case !axis.Fixed:
		for level := range hopLevels {
			values = append(values, float64(level)/(hopLevels-1))
		}
	}
	return values
}

// addKink adds a kink of the score of place n to its slope: where that bends upwards, the slope on
// the side where the place is, since no maximum lies on it.
func (up *slopes) addKink(to *search.Slope, kink policy.Kink, n int, u []float64, gradients []gp.Gradients, input *policy.Input) {
	s, height := up.decision, kink.Height[n]
	if kink.Price == 0 || kink.Price < 0 && height <= 0 {
		return
	}
	var along []float64
	if i := s.sourceOf[kink.Target]; i >= 0 {
		inputs := make([]float64, s.cfg.Space.width())
		up.addTarget(inputs, n, i, slices.Index(s.sources[i].targets, kink.Target), gradients, input, kink.ByMean, kink.BySD)
		along = s.cfg.Space.alongUnits(u, inputs)
	} else {
		along = up.givenSlopes(kink.Target-1, u)
		for k := range along {
			along[k] *= kink.ByMean
		}
	}
	if kink.Price < 0 {
		factor.Axpy(-kink.Price, along, to.Along)
		return
	}
	to.Kinks = append(to.Kinks, descent.Kink{Price: kink.Price, Height: height, Slopes: along})
}

// givenStep is half the distance of the points that slopes of given costs are taken from.
const givenStep = 1e-6

// givenSlopes are those of a given cost along the unit coordinates, by differences.
func (up *slopes) givenSlopes(j int, u []float64) []float64 {
	s := up.decision
	along := make([]float64, len(u))
	for k, d := range s.cfg.Space.Dims {
		if d.Kind == Categorical || d.Levels > 0 {
			continue
		}
		above, below := slices.Clone(u), slices.Clone(u)
		above[k], below[k] = min(u[k]+givenStep, 1), max(u[k]-givenStep, 0)
		value := up.known.at(asPlaces([][]float64{above, below}))
		along[k] = (s.cfg.Costs[j].given(value(j, 0)) - s.cfg.Costs[j].given(value(j, 1))) / (above[k] - below[k])
	}
	return along
}
