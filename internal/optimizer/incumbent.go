package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
)

// incumbent is the played point x* that a decision compares the others with.
type incumbent struct {
	place    Place
	round    int            // the first that played it
	inputs   *kernel.Inputs // of x* alone
	solved   []float64      // v(x*) = L⁻¹k(X, x*), so that the covariance of f(x) and f(x*) is k(x, x*) − v(x)ᵀv(x*); nil without rows
	mean     float64        // of f(x*)
	variance float64
	again    float64 // what asking it again is worth: see askAgain
}

// Where readings vary, x* is asked again when nothing else promises this share of what has been gained so far, the difference between its
// reward and the least one played: until it is certain to be within its limits, and for as long as noise differs between settings, since a noisy
// setting may read quiet for a while. On 15 settings of a lathe, what was recommended after 60 trials was beyond the limit in 6 of 20 runs without, in 1
// of 60 with.
const (
	certain    = 0.999
	againShare = 0.1
)

// askAgain is what asking the chosen one of the points played again is worth; uneven tells that noise differs between settings.
func askAgain(played *policy.Sight, chosen int, uneven bool) float64 {
	if played.Chance == nil || !uneven && played.Chance(chosen) >= certain {
		return 0
	}
	return againShare * (played.Reward.Mean[chosen] - slices.Min(played.Reward.Mean))
}

// uneven tells whether the noise of some cost differs between settings.
func (s *State) uneven(e *era) bool {
	return slices.ContainsFunc(s.cfg.Costs, func(c Cost) bool {
		return c.Knowledge == Learned && len(e.models[c.Metric].noise.listed()) > 0
	})
}

// findIncumbent lets the policy pick among the included rounds whose reward the decision sees; it may pick none. Those that wait count too, with what is
// expected of them: else the place that promises most would be asked for again and again in a batch, since its mean stays above that of all that was read.
func (s *State) findIncumbent(ctx context.Context, v *view) error {
	places, rounds := s.contenders(v)
	if len(places) == 0 {
		return nil
	}
	estimates := s.contendedBefore(v, rounds)
	var err error
	if estimates == nil {
		if estimates, err = s.meansAt(ctx, v, places, s.costsOf(rounds)); err != nil {
			return err
		}
	}
	v.contended = contended{rounds, estimates}
	i, again, err := s.pick(ctx, v, places, estimates)
	if err != nil {
		return err
	}
	if i >= 0 {
		v.around = &places[i]
	}
	if waiting, under := s.underWay(v); len(waiting) > 0 {
		expected, err := s.meansAt(ctx, v, waiting, s.costsOf(under))
		if err != nil {
			return err
		}
		count := len(places)
		places, rounds = append(places, waiting...), append(rounds, under...)
		best, promised, err := s.pick(ctx, v, places, joined(estimates, expected))
		if err != nil {
			return err
		}
		if i, again = best, promised; i >= count { // what waits is not asked for again
			again = 0
		}
	}
	if i < 0 {
		return nil
	}
	src := &v.sources[v.sourceOf[0]]
	p, err := s.predict(ctx, v, src, places[i:i+1], nil)
	if err != nil {
		return err
	}
	v.incumbent = &incumbent{place: places[i], round: rounds[i], inputs: s.inputs(src.kernel, places[i:i+1]), variance: p.variances[0],
		mean: p.means[slices.Index(src.targets, 0)][0] + v.transforms[0].shift, again: again}
	if src.data != nil {
		v.incumbent.solved = src.data.Solve(v.incumbent.inputs.Row(0))
	}
	return nil
}

// pick is which of the places the policy compares the others with, -1 for none, and what asking for it again is worth.
func (s *State) pick(ctx context.Context, v *view, places []Place, estimates []policy.Estimate) (i int, again float64, err error) {
	played := s.bareSight(v, Draw{})
	played.Reward, played.Costs = estimates[0], estimates[1:]
	if s.readingsVary() {
		played.Chance = s.chanceAt(ctx, v, places)
	}
	err = interruptible(func() {
		if i = s.traits.Incumbent(played); i >= 0 {
			again = askAgain(played, i, s.uneven(v.era))
		}
	})
	return i, again, err
}

// underWay are the places whose reward is waited for, with their rounds.
func (s *State) underWay(v *view) (places []Place, rounds []int) {
	if s.cfg.before(4) {
		return nil, nil
	}
	rounds = v.sources[v.sourceOf[0]].waiting
	for _, n := range rounds {
		places = append(places, s.placeOf(n))
	}
	return places, rounds
}

// joined are the means of some places followed by those of others.
func joined(some, others []policy.Estimate) []policy.Estimate {
	all := make([]policy.Estimate, len(some))
	for k := range all {
		all[k].Mean = slices.Concat(some[k].Mean, others[k].Mean)
	}
	return all
}

// chanceAt returns how to work out the probability of a place to be within every learned limit, as the view's decision sees it.
func (s *State) chanceAt(ctx context.Context, v *view, at []Place) func(i int) float64 {
	known := map[int]float64{}
	return func(i int) float64 {
		if chance, ok := known[i]; ok {
			return chance
		}
		must(checkpoint.Reach(ctx))
		estimates, err := s.estimate(ctx, v, at[i:i+1], nil)
		must(err)
		known[i] = s.chances(v.era, estimates, 1, nil)[0]
		return known[i]
	}
}

// contenders are the points of the included rounds whose reward decision t sees.
func (s *State) contenders(v *view) (places []Place, rounds []int) {
	for n := s.traits.Earliest(v.round); n < v.round; n++ {
		r := &s.history.Rounds[n-1]
		if !r.Excluded && r.Readings[s.targets[0].metric].seenAt(v.round) {
			places, rounds = append(places, Place{r.Point, r.Arm}), append(rounds, n)
		}
	}
	return places, rounds
}

// costsOf are the values of constraints that were known beforehand, at the points of some rounds.
func (s *State) costsOf(rounds []int) func(j, i int) float64 {
	return func(j, i int) float64 { return s.history.Rounds[rounds[i]-1].Costs[j] }
}

// contended are the posterior means of every target at the points of some rounds.
type contended struct {
	rounds    []int
	estimates []policy.Estimate
}

// contendedBefore are the means that the prior state's next decision compared the points of these rounds by, if nothing was read since; else nil.
func (s *State) contendedBefore(v *view, rounds []int) []policy.Estimate {
	if s.prior == nil || len(s.agreed.touched) > 0 || len(s.prior.next.sources) != len(v.sources) || !slices.Equal(s.prior.next.contended.rounds, rounds) {
		return nil
	}
	for i := range v.sources {
		if !sameReadings(&s.prior.next.sources[i], &v.sources[i]) {
			return nil
		}
	}
	for k, t := range v.transforms {
		if was := s.prior.next.transforms[k]; was.shift != t.shift || was.blind != t.blind {
			return nil
		}
	}
	return s.prior.next.contended.estimates
}

// sameReadings tells whether a source goes on from another, of the state before, with the same readings.
func sameReadings(before, now *source) bool {
	if now.group == nil || now.data == nil || now.group.begun != before.group || now.group.known != now.arrived || now.arrived != before.arrived ||
		!slices.Equal(now.targets, before.targets) {
		return false
	}
	for n, z := range now.z {
		if !slices.Equal(z[:now.arrived], before.z[n][:now.arrived]) {
			return false
		}
	}
	return true
}

// meansAt are the posterior means of every target at some places, in O(n) a place; the estimates have no deviations.
func (s *State) meansAt(ctx context.Context, v *view, at []Place, known func(j, i int) float64) ([]policy.Estimate, error) {
	out := s.givenEstimates(v, at, known)
	for i := range v.sources {
		src := &v.sources[i]
		means, err := s.predictedMeans(ctx, v, src, at)
		if err != nil {
			return nil, err
		}
		for n, mean := range means {
			k := src.targets[n]
			shift(mean, v.transforms[k].shift)
			out[k] = policy.Estimate{Mean: mean}
		}
	}
	return out, nil
}

// together are the covariances of f(x*) with f at the places with these inputs, of which v(x)ᵀv(x*) is explained.
func (c *incumbent) together(src *source, at *kernel.Inputs, explained []float64) []float64 {
	covariances := make([]float64, at.Len())
	src.data.Kernel().Row(covariances, c.inputs.Row(0), at)
	for i := range covariances {
		covariances[i] -= explained[i]
	}
	return covariances
}

// lead is the posterior of f(x) − f(x*) at the places with these inputs, where f(x) has the means and what is predicted:
//
//	Var[f(x) − f(x*)] = Var f(x) + Var f(x*) − 2 Cov(f(x), f(x*)).
func (c *incumbent) lead(at *kernel.Inputs, means []float64, p predicted) *policy.Estimate {
	lead := &policy.Estimate{Mean: make([]float64, at.Len()), SD: make([]float64, at.Len())}
	for i := range means {
		lead.Mean[i] = means[i] - c.mean
		if !slices.Equal(at.Row(i), c.inputs.Row(0)) {
			lead.SD[i] = math.Sqrt(max(0, p.variances[i]+c.variance-2*p.together[i]))
		}
	}
	return lead
}
