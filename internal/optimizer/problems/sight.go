package problems

import (
	"math"
	"slices"

	"headroom/internal/optimizer"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
)

// regression is a posterior over the arms from a list of rounds, brought up to date when it is looked at.
type regression struct {
	function *kernel.Function
	arms     *kernel.Inputs
	lambda   float64
	rounds   int // about how many readings to expect
	targets  []int

	post        posterior
	first       int // earliest round that counts
	taken       int // rounds of the list taken in
	multipliers []float64
}

// sync takes in the rounds of the list that are new. It starts afresh when the earliest round that counts or, for responses
// that depend on them, the multipliers have changed.
func (r *regression) sync(list []int, first int, multipliers []float64, reading func(round int) (arm int, ys []float64)) error {
	if r.post == nil || first != r.first || !slices.Equal(multipliers, r.multipliers) {
		r.post, r.first, r.taken = newPosterior(r.function, r.arms, len(r.targets), r.rounds), first, 0
		r.multipliers = slices.Clone(multipliers)
	}
	for ; r.taken < len(list); r.taken++ {
		if list[r.taken] < first {
			continue
		}
		arm, ys := reading(list[r.taken])
		if err := r.post.Update(arm, ys, r.lambda); err != nil {
			return err
		}
	}
	return nil
}

// look makes the sight of the decision under way.
func (p *armsPlayer) look() error {
	t := p.round()
	p.sight = &policy.Sight{Round: t, Horizon: p.cfg.Horizon, Multipliers: p.multipliers,
		Draw: policy.Draw{Seed: p.cfg.DecisionSeed(t)}}
	for _, c := range p.cfg.Costs {
		p.sight.Given = append(p.sight.Given, c.Knowledge == optimizer.Given)
	}
	var err error
	var estimates []policy.Estimate
	width := policy.Width{Round: t, Multipliers: p.multipliers, Gain: make([]float64, len(p.targets)), Lambda: make([]float64, len(p.targets))}
	for k, target := range p.targets {
		width.Lambda[k] = target.lambda
	}
	switch {
	case p.traits.Censoring != nil:
		estimates, err = p.censored(width.Gain)
	case p.traits.Response != nil:
		estimates, err = p.penalised(t, width.Gain)
	default:
		estimates, err = p.arrived(t, width.Gain)
	}
	if err != nil {
		return err
	}
	p.sight.Reward, p.sight.Costs = estimates[0], estimates[1:]
	p.sight.Beta, p.sight.Lambda = p.policy.Beta(width), width.Lambda
	if c := p.traits.Censoring; c != nil {
		p.sight.Beta = c.Widen(p.sight.Beta, p.recentDeviations(t, c.Window))
	}
	if p.traits.Draws != nil {
		p.sight.Draw.Z = p.traits.Draws(p.sight.Draw.Seed, p.sight.Beta)
	}
	if p.traits.LooksBack {
		p.sight.Past = p.past()
	}
	if p.traits.LooksAtAll {
		p.sight.Set = p.set()
		p.earlier = append(p.earlier, p.sight)
	}
	return nil
}

// arrived regresses every target on its arrived readings, pending points narrowing the variance.
func (p *armsPlayer) arrived(t int, gain []float64) ([]policy.Estimate, error) {
	first := p.traits.Earliest(t)
	estimates := make([]policy.Estimate, len(p.targets))
	for k, target := range p.targets {
		data := p.data[k]
		if data == nil {
			estimates[k] = p.givenEstimate(k)
			continue
		}
		if err := data.sync(p.arrivals[target.metric], first, nil, p.readings(data)); err != nil {
			return nil, err
		}
		narrowed, err := p.narrow(k, first)
		if err != nil {
			return nil, err
		}
		gain[k] = data.post.Gain()
		estimates[k] = estimate(data.post, narrowed.post, p.slot[k], target.shift)
	}
	return estimates, nil
}

// readings looks up the responses of a regression's targets.
func (p *armsPlayer) readings(data *regression) func(round int) (int, []float64) {
	return func(round int) (int, []float64) {
		r := &p.history.Rounds[round-1]
		var ys []float64
		for _, k := range data.targets {
			ys = append(ys, r.Readings[p.targets[k].metric].Value)
		}
		return r.Arm, ys
	}
}

// narrowing is the regression that target k's variance comes from.
func (p *armsPlayer) narrowing(k int) *regression {
	if !p.late || !p.cfg.Settings.PendingNarrows() {
		return p.data[k]
	}
	return p.narrowed[p.firstAlike(k)]
}

// narrow brings narrowing up to date.
func (p *armsPlayer) narrow(k, first int) (*regression, error) {
	n := p.narrowing(k)
	if n == p.data[k] {
		return n, nil
	}
	return n, n.sync(p.everyRound(), first, nil, func(round int) (int, []float64) { return p.history.Rounds[round-1].Arm, nil })
}

func (p *armsPlayer) everyRound() []int {
	list := make([]int, len(p.history.Rounds))
	for i := range list {
		list[i] = i + 1
	}
	return list
}

// givenEstimate is a given constraint's value with certainty.
func (p *armsPlayer) givenEstimate(k int) policy.Estimate {
	e := policy.Estimate{Mean: make([]float64, p.arms.Len()), SD: make([]float64, p.arms.Len())}
	for i := range e.Mean {
		e.Mean[i] = p.given[k-1][i] + p.cfg.Costs[k-1].Margin
	}
	return e
}

// censored regresses every target on all chosen points, responses counting as 0 until they arrive and for good when they come late.
func (p *armsPlayer) censored(gain []float64) ([]policy.Estimate, error) {
	if p.zeroed == nil {
		p.zeroed = map[int]*rows{}
	}
	estimates := make([]policy.Estimate, len(p.targets))
	for k, target := range p.targets {
		if target.metric < 0 {
			estimates[k] = p.givenEstimate(k)
			continue
		}
		data := p.zeroed[k]
		if data == nil {
			data = newRows(target.function, p.arms, 1)
			p.zeroed[k] = data
		}
		if err := p.countArrived(data, target); err != nil {
			return nil, err
		}
		gain[k] = data.gain
		estimates[k] = estimate(data, data, 0, target.shift)
	}
	return estimates, nil
}

// countArrived takes in the points chosen since, with responses 0, and then the responses that arrived since and in time.
func (p *armsPlayer) countArrived(data *rows, target armsTarget) error {
	for n := len(data.ranks); n < len(p.history.Rounds); n++ {
		if err := data.Update(p.history.Rounds[n].Arm, []float64{0}, target.lambda); err != nil {
			return err
		}
	}
	for ; data.revised < len(p.arrivals[target.metric]); data.revised++ {
		n := p.arrivals[target.metric][data.revised]
		r := &p.history.Rounds[n-1]
		if reading := r.Readings[target.metric]; reading.Revealed-n <= p.traits.Censoring.Window {
			data.revise(r.Arm, 0, reading.Value/target.lambda)
		}
	}
	return nil
}

// recentDeviations is Σ_{s=max(1,t−m)}^{t−1} σ_t(x_s) per target.
func (p *armsPlayer) recentDeviations(t, window int) []float64 {
	sums := make([]float64, len(p.targets))
	for n := max(1, t-window); n < t; n++ {
		for k := range sums {
			if data := p.zeroed[k]; data != nil {
				sums[k] += math.Sqrt(data.variances[p.history.Rounds[n-1].Arm])
			}
		}
	}
	return sums
}

// penalised regresses the one penalised response with the reward's model.
func (p *armsPlayer) penalised(t int, gain []float64) ([]policy.Estimate, error) {
	first := p.traits.Earliest(t)
	data := p.data[0]
	if len(data.targets) > 1 {
		data = p.regression(p.targets[0])
		data.targets = []int{0}
		p.data[0], p.slot[0] = data, 0
	}
	err := data.sync(p.complete(), first, p.multipliers, func(round int) (int, []float64) {
		reward, costs := p.outcome(round)
		return p.history.Rounds[round-1].Arm, []float64{p.traits.Response(reward, costs, p.multipliers)}
	})
	if err != nil {
		return nil, err
	}
	narrowed, err := p.narrow(0, first)
	if err != nil {
		return nil, err
	}
	gain[0] = data.post.Gain()
	estimates := []policy.Estimate{estimate(data.post, narrowed.post, 0, 0)}
	for k := 1; k < len(p.targets); k++ {
		if p.targets[k].metric < 0 {
			estimates = append(estimates, p.givenEstimate(k))
		} else {
			estimates = append(estimates, policy.Estimate{Mean: make([]float64, p.arms.Len()), SD: make([]float64, p.arms.Len())})
		}
	}
	return estimates, nil
}

// complete lists the rounds whose readings have all arrived, in the order in which they completed.
func (p *armsPlayer) complete() []int {
	var list []int
	when := func(n int) int {
		latest := 0
		for _, target := range p.targets {
			if target.metric >= 0 {
				r := p.history.Rounds[n-1].Readings[target.metric]
				if !r.Told {
					return math.MaxInt
				}
				latest = max(latest, r.Revealed)
			}
		}
		return latest
	}
	for n := 1; n < p.round(); n++ {
		if when(n) < math.MaxInt {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return when(a) - when(b) })
	return list
}

func (p *armsPlayer) outcome(n int) (reward float64, costs []float64) {
	reward, _ = p.value(0, n)
	for k := 1; k < len(p.targets); k++ {
		v, _ := p.value(k, n)
		costs = append(costs, v)
	}
	return reward, costs
}

// past lists the earlier rounds.
func (p *armsPlayer) past() []policy.Past {
	var list []policy.Past
	for n := range p.history.Rounds {
		past := policy.Past{Point: p.history.Rounds[n].Point, Suggested: true, Complete: true}
		for k := range p.targets {
			_, ok := p.value(k, n+1)
			past.Complete = past.Complete && ok
		}
		if past.Complete {
			past.Reward, past.Costs = p.outcome(n + 1)
		}
		list = append(list, past)
	}
	return list
}
