package optimizer

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// Gain is the best value of the objective within the limits, as a random variable, in metric units:
//
//	f* = max { f(x) : g_j(x) ≤ 0 for all j, p(x) ≥ v }
//
// over all x that may be chosen, f and g being draws from the posterior, p(x) the chance that a
// trial works at x, where failures taught it, 1 where one gave a reading, and v uniform on [0, 1]:
// a place is one where trials work in p(x) of the draws, and in none of those in which a likelier
// place is not.
type Gain struct {
	Low, High float64 // the central interval that holds f* with probability Level
	Level     float64
	// Feasible is the probability that some place is within every limit; Low and High are of the
	// draws in which there is one.
	Feasible float64
	// Left are, for each share asked for, the probability that f* is better than f at the
	// recommended place by more than that share of Unit; nil where nothing is recommended.
	Left []ChanceLeft
	// Unit is the size of the recommended place's posterior mean where that and all readings of the
	// objective are of one sign, else, as the scale's 0 is then no measure of size, the distance
	// from the least reading to the largest.
	Unit float64
}

// ChanceLeft is the probability that more than a share is left to gain, as the draws have it, and
// what it is at most: the upper end of the one-sided 95 % confidence interval (Clopper and Pearson,
// 1934) that so many draws leave.
type ChanceLeft struct{ MoreThan, Chance, AtMost float64 }

// chanceLeft is that of so many draws.
func chanceLeft(share float64, more int) ChanceLeft {
	left := ChanceLeft{share, float64(more) / draws, 1}
	if more < draws {
		left.AtMost = distuv.Beta{Alpha: float64(more) + 1, Beta: float64(draws - more)}.Quantile(0.95)
	}
	return left
}

// gainLevel is the probability of the interval.
const gainLevel = 0.9

// chanceAt is the chance of something at some places.
type chanceAt func(ctx context.Context, at []Place) ([]float64, error)

// Gain draws functions from the posterior (see paths) and takes the best place of each: among a
// finite set of promising places, and on a continuous space from there up hill. ok is false before
// every metric has a reading and a scale, and where no draw has a place within the limits. The
// standard error of a probability p is √(p(1 − p)/256). The error is that of ctx.
func (s *decision) Gain(ctx context.Context, known Known, shares ...float64) (gain Gain, ok bool, err error) {
	if s.works == nil {
		return s.shown.gainWhere(ctx, known, nil, shares)
	}
	read := map[string]bool{}
	for _, round := range s.told(s.cfg.Objective.Metric) {
		read[string(bitsOf(s.placeOf(round).U))] = true
	}
	return s.shown.gainWhere(ctx, known, func(ctx context.Context, at []Place) ([]float64, error) {
		chances, err := s.WorksChance(ctx, at)
		for i, place := range at {
			if read[string(bitsOf(place.U))] {
				chances[i] = 1
			}
		}
		return chances, err
	}, shares)
}

// gainWhere is Gain with the chance that a trial works, nil for 1 everywhere.
func (s *shown) gainWhere(ctx context.Context, known Known, works chanceAt, shares []float64) (gain Gain, ok bool, err error) {
	if !s.modelStands() {
		return Gain{}, false, nil
	}
	recommended, err := s.Recommendation(ctx)
	if err != nil {
		return Gain{}, false, err
	}
	at, err := s.contendersForBest(ctx, known, works, recommended)
	if err != nil || len(at) == 0 {
		return Gain{}, false, err
	}
	drawn, err := s.drawPaths(ctx, at, known, works)
	if errors.Is(err, factor.ErrNotPositiveDefinite) { // no functions can be drawn of such numbers, so nothing is said
		return Gain{}, false, nil
	}
	if err != nil {
		return Gain{}, false, err
	}
	best, err := drawn.bests(ctx)
	if err != nil {
		return Gain{}, false, err
	}
	t := s.regime.transforms[0]
	var found, left []float64
	for i, reward := range best {
		if math.IsInf(reward, -1) {
			continue
		}
		value := t.metric(reward - t.shift)
		found = append(found, value)
		if recommended > 0 {
			left = append(left, t.sign*(value-t.metric(drawn.values[0][i][0]-t.shift)))
		}
	}
	if len(found) == 0 {
		return Gain{}, false, nil
	}
	slices.Sort(found)
	gain = Gain{Level: gainLevel, Low: quantile(found, (1-gainLevel)/2), High: quantile(found, (1+gainLevel)/2), Feasible: float64(len(found)) / draws}
	if recommended > 0 {
		if gain.Unit, err = s.unit(ctx, recommended); err != nil {
			return Gain{}, false, err
		}
		for _, share := range shares {
			more := 0
			for _, l := range left {
				if l > share*gain.Unit {
					more++
				}
			}
			gain.Left = append(gain.Left, chanceLeft(share, more))
		}
	}
	return gain, true, nil
}

// quantile of sorted values, with the weights of their expected ranks (type 6 of Hyndman and Fan,
// 1996).
func quantile(sorted []float64, p float64) float64 {
	rank := p*float64(len(sorted)+1) - 1
	below := min(max(int(math.Floor(rank)), 0), len(sorted)-1)
	above := min(below+1, len(sorted)-1)
	part := min(max(rank-float64(below), 0), 1)
	return sorted[below] + part*(sorted[above]-sorted[below])
}

// unit is what shares of a gain are shares of: see Gain.
func (s *shown) unit(ctx context.Context, recommended int) (float64, error) {
	beliefs, err := s.Posterior(ctx, []Place{s.placeOf(recommended)})
	if err != nil {
		return 0, err
	}
	objective := s.cfg.Objective.Metric
	least, most := beliefs[objective].Mean[0], beliefs[objective].Mean[0]
	for _, round := range s.told(objective) {
		value := s.history.Rounds[round-1].Readings[objective].Value
		least, most = min(least, value), max(most, value)
	}
	if least > 0 || most < 0 {
		return math.Abs(beliefs[objective].Mean[0]), nil
	}
	return most - least, nil
}

// How many places a draw is looked at in, at first: some spread over the space, those played, and
// those that promise most, up to so many of each.
const (
	spreadPlaces    = 48
	playedPlaces    = 96
	promisingPlaces = 128
)

// optimism is how many standard deviations better than expected a place is thought of.
const optimism = 2

// contendersForBest are places where the best of a draw may lie; what is recommended is the first.
// They are, of all that may be chosen those that promise most where everything comes out well by
// optimism, of those played likewise, and some spread over the space. Few are enough to be all.
func (s *shown) contendersForBest(ctx context.Context, known Known, works chanceAt, recommended int) ([]Place, error) {
	var first, played, others []Place
	var rounds []int
	if recommended > 0 {
		first = []Place{s.placeOf(recommended)}
	}
	for i, r := range s.history.Rounds {
		if s.arms == nil || s.cfg.Space.available(r.Arm) {
			played, rounds = append(played, Place{r.Point, r.Arm}), append(rounds, i+1)
		}
	}
	if s.arms == nil {
		others = s.amidSpread(nil)
	} else {
		others = s.allowedArms()
	}
	at := slices.Concat(first, others[:min(spreadPlaces, len(others))])
	best, err := s.mostPromising(ctx, played, rounds, known, works, playedPlaces)
	if err != nil {
		return nil, err
	}
	at = append(at, best...)
	if best, err = s.mostPromising(ctx, others, nil, known, works, promisingPlaces); err != nil {
		return nil, err
	}
	at = append(at, best...)
	listed := map[string]bool{}
	return slices.DeleteFunc(at, func(p Place) bool {
		name := string(bitsOf(p.U))
		again := listed[name]
		listed[name] = true
		return again
	}), nil
}

// of is the chance at some places, 1 where it is nil.
func (c chanceAt) of(ctx context.Context, at []Place) ([]float64, error) {
	if c == nil {
		return slices.Repeat([]float64{1}, len(at)), nil
	}
	return c(ctx, at)
}

// mostPromising are at most so many places, in their order, that promise most; rounds are those that
// played them, if any did. After many rounds the others are looked at from the highest bound on,
// and only until none that is left can promise as much.
func (s *shown) mostPromising(ctx context.Context, at []Place, rounds []int, known Known, works chanceAt, most int) ([]Place, error) {
	if len(at) <= most {
		return at, nil
	}
	chances, err := works.of(ctx, at)
	if err != nil {
		return nil, err
	}
	order, step := indices(len(at)), len(at)
	var bounds []search.Score
	if rounds == nil && s.arms == nil && len(s.history.Rounds) >= pruneFrom {
		estimates, err := s.boundEstimates(ctx, at, known)
		if err != nil {
			return nil, err
		}
		bounds = s.promises(estimates, chances)
		order, step = byPromise(bounds), most
	}
	var scores []search.Score // of the first in that order
	for len(scores) < len(at) {
		some := order[len(scores):min(len(scores)+step, len(at))]
		estimates, err := s.estimatesOf(ctx, pick(at, some), pick(rounds, some), known)
		if err != nil {
			return nil, err
		}
		scores = append(scores, s.promises(estimates, pick(chances, some))...)
		if n := len(scores); n < len(at) && scores[byPromise(scores)[most-1]].Above(bounds[order[n]]) {
			break
		}
	}
	best := pick(order, byPromise(scores)[:most])
	slices.Sort(best)
	return pick(at, best), nil
}

// estimatesOf is estimate, of places that rounds played by what is known of those.
func (s *shown) estimatesOf(ctx context.Context, at []Place, rounds []int, known Known) ([]policy.Estimate, error) {
	if rounds != nil {
		return s.inSampleOf(ctx, rounds, known.at(at))
	}
	return s.estimate(ctx, at, known.at(at))
}

// boundingShare is the share of the rows of a factor that deviations are bounded by.
const boundingShare = 4

// boundEstimates is estimate with the deviations that the first rows of each factor leave, which
// are at least as large and take a sixteenth of the work.
func (s *shown) boundEstimates(ctx context.Context, at []Place, known Known) ([]policy.Estimate, error) {
	estimates, err := s.meansAt(ctx, at, known.at(at))
	if err != nil {
		return nil, err
	}
	for k := range estimates {
		estimates[k].SD = make([]float64, len(at))
	}
	for i := range s.sources {
		src := &s.sources[i]
		rows, err := src.Rows(ctx)
		if err != nil {
			return nil, err
		}
		variances, err := rows.VariancesAfter(ctx, rows.Data.Len()/boundingShare, s.points(src.kernel, at))
		if err != nil {
			return nil, err
		}
		for _, k := range src.targets {
			estimates[k].SD = roots(variances, s.width(s.targets[k].metric))
		}
	}
	return estimates, nil
}

// promises are what places promise: a reward optimism standard deviations above its mean where no
// cost as far below its own is beyond its limit and trials are as likely to work as a normal number
// is to lie as far above its mean, else the smallest such excess. They rise with the deviations.
func (s *shown) promises(estimates []policy.Estimate, chances []float64) []search.Score {
	least := distuv.UnitNormal.CDF(-optimism)
	scores := make([]search.Score, len(chances))
	for i := range scores {
		worst := 0.0
		for k := 1; k < len(estimates); k++ {
			worst = max(worst, estimates[k].Mean[i]-s.margin(k)-optimism*estimates[k].SD[i])
		}
		scores[i] = search.Score{Allowed: worst == 0 && chances[i] >= least, Value: -worst}
		if scores[i].Allowed {
			scores[i].Value = estimates[0].Mean[i] + optimism*estimates[0].SD[i]
		}
	}
	return scores
}

// byPromise are the indices of scores, the best first.
func byPromise(scores []search.Score) []int {
	order := indices(len(scores))
	slices.SortStableFunc(order, func(a, b int) int { return byScore(climber{score: scores[a]}, climber{score: scores[b]}) })
	return order
}

// indices are 0 to n−1.
func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
