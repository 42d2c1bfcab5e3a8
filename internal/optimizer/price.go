package optimizer

import (
	"cmp"
	"context"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// pricedAtOnce is how many places are predicted at a time, the most promising first.
const pricedAtOnce = 64

// Price is what one limit costs: the best expected reward by its threshold τ, all else unchanged,
//
//	best(τ) = max { E f(x) : P(g_j(x) ≤ 0 for all j) ≥ 0.9, with g of the limit moved to τ },
//
// over the candidates, or over space-filling points and the points played, the best of them
// polished. It never falls as the limit is loosened. Its slope at the present threshold is the
// limit's Lagrange multiplier in that problem (its shadow price).
type Price struct {
	Steps []PriceStep // by rising threshold; none while some metric has no reading, or all of the limit's are equal
	// Slope is (best(τ+h) − best(τ−h))/2h for a step h, in units of the objective per unit of the
	// limit's metric; over one step where only one side has a best. HasSlope is false if neither
	// has.
	Slope    float64
	HasSlope bool
}

// PriceStep is the best at one threshold.
type PriceStep struct {
	Threshold float64
	Found     bool // some place is probable enough to keep every limit
	Place     Place
	Best, SD  float64 // of the objective's latent function there, metric units
}

const (
	priceSteps = 5 // on each side of the threshold
	// priceStep is the largest step, as a share of the standard deviation of the undoubted
	// readings: larger ones could miss a peak.
	priceStep = 0.25
	// priceEffort is the share of a decision's search that polishing one step of the curve may
	// take.
	priceEffort = 0.3
)

// pricedPlace is a place that may be the best at some thresholds.
type pricedPlace struct {
	place     Place
	reward    float64 // E f, metric units, to be made large
	best, sd  float64
	others    float64 // the probability that the limits on other metrics are kept
	mean, dev float64 // of the response of the moved limit's metric; mean is its present excess where it is given
	// sameSide is the probability that the other limits on that metric on the same side are kept,
	// otherSide that one on the other side is broken.
	sameSide, otherSide float64
}

// Price computes the curve of limit j. known gives the values of Given constraints.
func (s *shown) Price(ctx context.Context, j int, known Known) (Price, error) {
	var p Price
	if !s.modelReady() {
		return p, nil
	}
	p.Steps = lists.Map(s.pricedThresholds(j), func(threshold float64) PriceStep { return PriceStep{Threshold: threshold} })
	if len(p.Steps) == 0 {
		return p, nil
	}
	order, at := p.order(s.cfg.Costs[j]), s.screeningPlaces()
	if s.arms != nil {
		at = s.allowedArms()
	}
	at, err := s.worthPricing(ctx, at, j, p.Steps[order[len(order)-1]].Threshold, known)
	if err != nil {
		return p, err
	}
	best := make([]*pricedPlace, len(p.Steps))
	for len(at) > 0 && slices.Contains(best, nil) {
		if err := checkpoint.Reach(ctx); err != nil {
			return p, err
		}
		block := at[:min(pricedAtOnce, len(at))]
		at = at[len(block):]
		list, err := s.priceOf(ctx, j, block, known)
		if err != nil {
			return p, err
		}
		slices.SortStableFunc(list, func(a, b pricedPlace) int { return cmp.Compare(b.reward, a.reward) })
		for i, step := range p.Steps {
			if found := slices.IndexFunc(list, func(c pricedPlace) bool { return s.keepProbability(c, j, step.Threshold) >= safeEnough }); best[i] == nil && found >= 0 {
				best[i] = &list[found]
			}
		}
	}
	if err := s.polishSteps(ctx, j, p.Steps, order, best, known); err != nil {
		return p, err
	}
	for i, found := range best {
		if found != nil {
			step := &p.Steps[i]
			step.Found, step.Place, step.Best, step.SD = true, found.place, found.best, found.sd
		}
	}
	p.setSlope()
	return p, nil
}

// pricedThresholds are the thresholds of limit j to look at: the present one and priceSteps on each
// side, at a distance of 1, 2 or 5 times a power of ten. They keep the sign of the readings if all
// have one: a metric that is never negative has no limit below 0.
func (s *shown) pricedThresholds(j int) []float64 {
	c, count, mean, squares := s.cfg.Costs[j], 0.0, 0.0, 0.0
	least, largest := c.Threshold, c.Threshold
	for n, r := range s.history.Rounds {
		doubted := c.Knowledge == Learned && r.Readings[c.Metric].InDoubt
		if excess, told := s.excess(n+1, j); told && !r.Excluded && !doubted { // Welford's sums
			count++
			away := excess - mean
			mean += away / count
			squares += away * (excess - mean)
			value := c.Threshold + c.Sign*excess
			least, largest = min(least, value), max(largest, value)
		}
	}
	if !(squares > 0) || math.IsInf(squares, 0) {
		return nil
	}
	most := priceStep * math.Sqrt(squares/count)
	if c.Threshold != 0 && (least >= 0 || largest <= 0) {
		most = min(most, math.Abs(c.Threshold)/(priceSteps+1))
	}
	power := math.Pow(10, math.Floor(math.Log10(most)))
	step := power
	for _, times := range []float64{2, 5} {
		if times*power <= most {
			step = times * power
		}
	}
	var list []float64
	for k := -priceSteps; k <= priceSteps; k++ {
		threshold := c.Threshold
		if k != 0 {
			threshold = roundToStep(c.Threshold+float64(k)*step, step)
		}
		list = append(list, threshold)
	}
	if len(slices.Compact(slices.Clone(list))) < len(list) { // a step is lost in the rounding of the threshold
		return nil
	}
	return list
}

// roundToStep removes the rounding error of adding decimal numbers, four digits below the step.
func roundToStep(sum, step float64) float64 {
	digit := math.Pow(10, 4-math.Floor(math.Log10(step)))
	if rounded := math.Round(sum*digit) / digit; digit >= 1 && !math.IsInf(sum*digit, 0) {
		return rounded
	}
	return sum
}

// order lists the steps from the tightest threshold to the loosest.
func (p Price) order(c Cost) []int {
	order := lists.Below(len(p.Steps))
	if c.Sign < 0 { // a floor
		slices.Reverse(order)
	}
	return order
}

// worthPricing are the places whose means keep every limit, with limit j at a threshold, by falling
// expected reward. A probability of 0.9 needs that.
func (s *shown) worthPricing(ctx context.Context, at []Place, j int, threshold float64, known Known) ([]Place, error) {
	if len(at) == 0 {
		return nil, nil
	}
	estimates, err := s.meansAt(ctx, at, known.at(at))
	if err != nil {
		return nil, err
	}
	for k := range estimates {
		estimates[k].SD = make([]float64, len(at))
	}
	list := slices.DeleteFunc(s.pricedAt(j, at, estimates, s.knownRows(at, known)), func(c pricedPlace) bool { return !(s.keepProbability(c, j, threshold) > 0) })
	slices.SortStableFunc(list, func(a, b pricedPlace) int { return cmp.Compare(b.reward, a.reward) })
	return lists.Map(list, func(c pricedPlace) Place { return c.place }), nil
}

// priceOf are the pricedPlaces of some places.
func (s *shown) priceOf(ctx context.Context, j int, at []Place, known Known) ([]pricedPlace, error) {
	estimates, err := s.estimate(ctx, at, known.at(at))
	if err != nil {
		return nil, err
	}
	return s.pricedAt(j, at, estimates, s.knownRows(at, known)), nil
}

func (s *shown) pricedAt(j int, at []Place, estimates []policy.Estimate, known [][]float64) []pricedPlace {
	regime, list, moved := s.regime, make([]pricedPlace, len(at)), s.cfg.Costs[j]
	elsewhere := slices.DeleteFunc(s.cfg.learned(), func(k int) bool { return moved.Knowledge == Learned && s.cfg.Costs[k].Metric == moved.Metric })
	for i, place := range at {
		c := pricedPlace{place: place, others: s.keepAllChance(elsewhere, estimates, i), sameSide: 1}
		c.best, c.sd = regime.transforms[0].moments(estimates[0].Mean[i], estimates[0].SD[i])
		c.reward = regime.transforms[0].sign * c.best
		for k, cost := range s.cfg.Costs {
			switch {
			case k == j && cost.Knowledge == Given:
				c.mean = cost.Excess(known[i][k])
			case k == j:
				c.mean, c.dev = estimates[1+k].Mean[i]-regime.transforms[1+k].shift, estimates[1+k].SD[i]
			case cost.Knowledge == Given:
				if cost.Excess(known[i][k]) > 0 {
					c.others = 0
				}
			case cost.Metric == moved.Metric && cost.Sign == moved.Sign:
				c.sameSide = min(c.sameSide, s.keepChance(estimates, k, i))
			case cost.Metric == moved.Metric:
				c.otherSide = max(c.otherSide, s.breakChance(estimates, k, i))
			}
		}
		list[i] = c
	}
	return list
}

// keepProbability is the probability that a place keeps every limit, with limit j at a threshold.
func (s *shown) keepProbability(c pricedPlace, j int, threshold float64) float64 {
	cost := s.cfg.Costs[j]
	if cost.Knowledge == Given {
		if c.mean-cost.Sign*(threshold-cost.Threshold) > 0 {
			return 0
		}
		return c.others
	}
	kept := chanceBelow(c.mean-s.regime.transforms[1+j].limit(threshold), c.dev, s.regime.models[cost.Metric].freedom)
	return c.others * max(0, min(kept, c.sameSide)-c.otherSide)
}

// polishSteps polishes the best place of each step on a continuous space, from the tightest
// threshold on. A place within one is within every looser one, so each step starts from the better
// of its own and the previous best.
func (s *shown) polishSteps(ctx context.Context, j int, steps []PriceStep, order []int, best []*pricedPlace, known Known) error {
	var before *pricedPlace
	for _, i := range order {
		if before != nil && (best[i] == nil || before.reward > best[i].reward) {
			best[i] = before
		}
		if best[i] != nil && s.arms == nil {
			polished, err := s.polishPrice(ctx, j, *best[i], steps[i].Threshold, known)
			if err != nil {
				return err
			}
			best[i] = &polished
		}
		before = best[i]
	}
	return nil
}

// polishPrice polishes a place with limit j at a threshold.
func (s *shown) polishPrice(ctx context.Context, j int, from pricedPlace, threshold float64, known Known) (pricedPlace, error) {
	score := func(c pricedPlace) search.Score {
		chance := s.keepProbability(c, j, threshold)
		if chance >= safeEnough {
			return search.Score{Allowed: true, Value: c.reward, Tie: chance, Relative: true}
		}
		return search.Score{Value: chance}
	}
	problem := s.cfg.Space.maximumProblem(ctx, func(at []Place) ([]search.Score, error) {
		list, err := s.priceOf(ctx, j, at, known)
		return lists.Map(list, score), err
	})
	u, _, err := problem.Polish(from.place.U, score(from), s.spacing(), finestStep, int(priceEffort*float64(s.effort().budget)), s.draw(s.Round()).Seed)
	if err != nil {
		return from, err
	}
	list, err := s.priceOf(ctx, j, []Place{{U: u, Arm: -1}}, known)
	if err != nil || list[0].reward < from.reward {
		return from, err
	}
	return list[0], nil
}

// setSlope computes the slope from the steps next to the present threshold.
func (p *Price) setSlope() {
	now := len(p.Steps) / 2
	low, high := now, now
	if p.Steps[now].Found || p.Steps[now-1].Found && p.Steps[now+1].Found {
		if p.Steps[now-1].Found {
			low--
		}
		if p.Steps[now+1].Found {
			high++
		}
	}
	if low < high {
		a, b := p.Steps[low], p.Steps[high]
		p.Slope, p.HasSlope = (b.Best-a.Best)/(b.Threshold-a.Threshold), true
	}
}
