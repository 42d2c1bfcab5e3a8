package optimizer

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"headroom/internal/lists"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
)

// estimate is the posterior of every target at some places, in modelled units with margins.
// known(j, i) is the value of given constraint j at place i in metric units; for a nil known the
// means of given constraints are 0.
func (v *view) estimate(ctx context.Context, at []Place, known func(j, i int) float64) ([]policy.Estimate, error) {
	return v.gather(at, known, nil, func(i int, points posterior.Points) (posterior.Prediction, error) {
		return v.sources[i].Predict(ctx, points, nil)
	})
}

// gather makes estimates of the predictions of every source at some places, and sets the
// covariances with the incumbent, unless that is nil.
func (v *view) gather(at []Place, known func(j, i int) float64, incumbent *policy.Incumbent, predict func(i int, points posterior.Points) (posterior.Prediction, error)) ([]policy.Estimate, error) {
	out, points := v.givenEstimates(at, known), v.pointsBySource(at)
	return out, v.eachSource(func(i int) error {
		p, err := predict(i, points[i])
		if err == nil {
			v.addPrediction(&v.sources[i], p, out, incumbent)
		}
		return err
	})
}

// manyRows is the number of a factor's rows from which its work is worth spreading over the cores.
const manyRows = 256

// eachSource calls do with every source, on all cores where factors are large.
func (v *view) eachSource(do func(i int) error) error {
	if len(v.sources) < 2 || v.sources[0].arrived < manyRows {
		for i := range v.sources {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	}
	return cores.Each(len(v.sources), do)
}

// onCores calls do, which must be short, with each of n indices, on all cores.
func onCores(n int, do func(i int)) {
	_ = cores.Stretches(n, func(from, to int) error {
		for i := from; i < to; i++ {
			do(i)
		}
		return nil
	})
}

// addPrediction sets the estimates of a source's targets, without deviations where it predicts no
// variances, and the covariances with the incumbent, unless that is nil.
func (v *view) addPrediction(src *source, p posterior.Prediction, out []policy.Estimate, incumbent *policy.Incumbent) {
	for n, k := range src.targets {
		if v.transforms[k].priorOnly {
			clear(p.Means[n])
		}
		floats.AddConst(v.transforms[k].shift, p.Means[n])
		out[k] = policy.Estimate{Mean: p.Means[n]}
		if p.Variances != nil {
			out[k].SD = deviations(p.Variances, v.sdFactor(v.targets[k].metric))
		}
		if incumbent != nil {
			incumbent.Covariance[k] = p.ReferenceCovariances
		}
	}
}

// givenEstimates are the estimates of the targets that are not regressed: the value of a given
// constraint, with deviation 0, else zeros.
func (v *view) givenEstimates(at []Place, known func(j, i int) float64) []policy.Estimate {
	out := make([]policy.Estimate, len(v.targets))
	for k, t := range v.targets {
		if v.sourceOf[k] >= 0 {
			continue
		}
		out[k] = policy.Estimate{Mean: make([]float64, len(at)), SD: make([]float64, len(at))}
		if t.metric < 0 && known != nil {
			for i := range at {
				out[k].Mean[i] = v.cfg.Costs[t.cost].given(known(t.cost, i))
			}
		}
	}
	return out
}

// deviations are the standard deviations of these variances, times a factor.
func deviations(variances []float64, factor float64) []float64 {
	return lists.Map(variances, func(v float64) float64 { return factor * math.Sqrt(max(v, 0)) })
}

// meansAt is estimate without deviations, in O(n) a place.
func (v *view) meansAt(ctx context.Context, at []Place, known func(j, i int) float64) ([]policy.Estimate, error) {
	return v.gather(at, known, nil, func(i int, points posterior.Points) (p posterior.Prediction, err error) {
		p.Means, err = v.sources[i].Means(ctx, points)
		return p, err
	})
}

// meansOf is meansAt at the places of some rounds, in ascending order, many of which were read.
func (v *view) meansOf(ctx context.Context, rounds []int) ([]policy.Estimate, error) {
	at := v.placesAt(rounds)
	out, err := v.gather(at, v.costsOf(rounds), nil, func(i int, points posterior.Points) (p posterior.Prediction, err error) {
		src := &v.sources[i]
		points.Rows = src.rowsAt(len(at), func(round int) int {
			if i, found := slices.BinarySearch(rounds, round); found {
				return i
			}
			return -1
		})
		p.Means, err = src.Means(ctx, points)
		return p, err
	})
	if err != nil {
		return nil, err
	}
	first := map[int]int{}
	for i, round := range rounds {
		place := v.firstRounds()[round-1]
		if _, again := first[place]; !again {
			first[place] = i
		}
		v.copyEstimate(out, i, first[place])
	}
	return out, nil
}

// copyEstimate sets the estimates at place i to those at place first, which is the same place: sums
// in another order differ by rounding, which must not choose between replicates.
func (v *view) copyEstimate(estimates []policy.Estimate, i, first int) {
	for k := range v.targets {
		if v.sourceOf[k] < 0 {
			continue
		}
		e := estimates[k]
		if e.Mean[i] = e.Mean[first]; e.SD != nil {
			e.SD[i] = e.SD[first]
		}
	}
}

// predictPlayed is the posterior of every target at the place of round t when decision t was made.
// Where round t's reading was the next to arrive, the factor's next row has it, to the same bits.
func (v *view) predictPlayed(ctx context.Context, t int, known func(j, i int) float64) ([]policy.Estimate, error) {
	return v.gather([]Place{v.placeOf(t)}, known, nil, func(i int, points posterior.Points) (posterior.Prediction, error) {
		if p, there := v.sources[i].Played(t); there {
			return p, nil
		}
		return v.sources[i].Predict(ctx, points, nil)
	})
}

// newInput is the part of an algorithm's input that every algorithm has; incumbent may be nil.
func (v *view) newInput(draw Draw, estimates []policy.Estimate, incumbent *policy.Incumbent) *policy.Input {
	input := &policy.Input{Round: v.round, Horizon: v.cfg.Horizon, Beta: v.beta, Lambda: v.lambda, Multipliers: v.multipliers, Draw: draw,
		Reward: estimates[0], Costs: estimates[1:], Incumbent: incumbent}
	if v.traits.Draws != nil && len(draw.Z) != len(v.targets) {
		input.Draw.Z = v.traits.Draws(draw.Seed, v.beta)
	}
	input.Given = lists.Map(v.cfg.Costs, func(c Cost) bool { return c.Knowledge == Given })
	return input
}

// past lists the earlier rounds as the decision sees them.
func (v *view) past() []policy.Past {
	var list []policy.Past
	for n := 1; n < v.round; n++ {
		r := &v.history.Rounds[n-1]
		p := policy.Past{Point: r.Point, Suggested: r.Suggested, Excluded: r.Excluded}
		p.Reward, p.Costs, p.Complete = v.outcome(n)
		if r.Gone || v.cfg.Fit && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.InDoubt }) {
			p.Complete = false
		}
		list = append(list, p)
	}
	return list
}

// outcome returns round n's reward and costs in modelled units, ok if the view's decision sees all.
func (v *view) outcome(n int) (reward float64, costs []float64, ok bool) {
	r := &v.history.Rounds[n-1]
	for k, target := range v.targets {
		var value float64
		if target.metric < 0 {
			value = v.cfg.Costs[target.cost].given(r.currentCosts()[target.cost])
		} else {
			reading := r.Readings[target.metric]
			if !reading.seenAt(v.round) {
				return 0, nil, false
			}
			value = v.transforms[k].target(reading.Value)
		}
		if k == 0 {
			reward = value
		} else {
			costs = append(costs, value)
		}
	}
	return reward, costs, true
}

// pointsBySource are the places as each source's kernel takes them. Kernels with the same inputs
// share them.
func (v *view) pointsBySource(at []Place) []posterior.Points {
	points, all := map[bool]posterior.Points{}, make([]posterior.Points, len(v.sources))
	for i := range v.sources {
		k := v.sources[i].kernel
		byIndex := k.Name == "covariance"
		if _, known := points[byIndex]; !known {
			points[byIndex] = v.points(k, at)
		}
		all[i] = points[byIndex]
	}
	return all
}

// points are places as the posterior of a regression with that kernel takes them.
func (v *view) points(k Kernel, at []Place) posterior.Points {
	var p posterior.Points
	if v.arms != nil && !slices.ContainsFunc(at, func(place Place) bool { return place.Arm < 0 }) {
		p.Arms = lists.Map(at, func(place Place) int { return place.Arm })
	}
	if list := v.listOf(at); list != nil {
		p.Inputs, p.Listed = list.inputs(k), true
		return p
	}
	p.Inputs = kernel.NewInputs(v.inputWidth(k))
	p.Inputs.Reserve(len(at))
	for _, place := range at {
		p.Inputs.Append(v.kernelInput(k, place))
	}
	return p
}

// listOf returns the candidates or the shortlist if the places are that list, all of it and in its
// order, else nil.
func (v *view) listOf(at []Place) *placeList {
	switch short := v.shortlist; {
	case v.isEveryArm(at):
		return v.arms
	case short != nil && len(at) == len(short.places) && &at[0] == &short.places[0]:
		return short.placeList
	}
	return nil
}

// noiseAt is λ of one more reading of target k at a place, 0 for a given one.
func (v *view) noiseAt(k int, at Place) float64 {
	metric := v.targets[k].metric
	if metric < 0 {
		return 0
	}
	m := v.model(metric)
	return m.noise.atPlace(at, m.lambda)
}

// keepChance is the chance that learned cost j is within its limit at place i, without the margin.
func (v *view) keepChance(estimates []policy.Estimate, j, i int) float64 {
	g := estimates[1+j]
	return chanceBelow(g.Mean[i]-v.regime.transforms[1+j].margin, g.SD[i], v.regime.models[v.cfg.Costs[j].Metric].freedom)
}

// breakChance is the chance that cost j is beyond its limit, without the margin, to full precision
// where it is small; 0 for a given cost.
func (v *view) breakChance(estimates []policy.Estimate, j, i int) float64 {
	c, g := v.cfg.Costs[j], estimates[1+j]
	if c.Knowledge == Given {
		return 0
	}
	return chanceAbove(g.Mean[i]-v.regime.transforms[1+j].margin, g.SD[i], v.regime.models[c.Metric].freedom)
}

// keepAllChance is the chance that all of some learned costs are within their limits at place i.
func (v *view) keepAllChance(costs []int, estimates []policy.Estimate, i int) float64 {
	return v.cfg.chanceAll(costs, func(j int) float64 { return v.keepChance(estimates, j, i) }, func(j int) float64 { return v.breakChance(estimates, j, i) })
}

// chances are the feasibility probabilities at places with these estimates; known as in Believe.
func (v *view) chances(estimates []policy.Estimate, places int, known [][]float64) []float64 {
	out, learned := make([]float64, places), v.cfg.learned()
	onCores(places, func(i int) {
		out[i] = v.keepAllChance(learned, estimates, i)
		for j, c := range v.cfg.Costs {
			if c.Knowledge == Given && known != nil && c.given(known[i][j])-c.Margin > 0 {
				out[i] = 0
			}
		}
	})
	return out
}

// ahead predicts a reading of target k with noise λ, given the function's estimate there: the mean
// and the standard deviation of its response.
func (v *view) ahead(k int, lambda float64, latent policy.Estimate) (mean, sd float64) {
	return latent.Mean[0] - v.transforms[k].shift, math.Sqrt(latent.SD[0]*latent.SD[0] + lambda)
}

// residual is (reading − mean)/sd of round t's reading of target k's metric, given the function's
// estimate there; 0 without a reading. The sd includes the extra noise of a reading in doubt.
func (v *view) residual(t, k int, latent policy.Estimate) float64 {
	metric := v.targets[k].metric
	r := v.history.Rounds[t-1].Readings[metric]
	if !r.Told {
		return 0
	}
	mean, sd := v.ahead(k, v.readingLambda(t, r, v.model(metric)), latent)
	transform := v.regime.transforms[k]
	return transform.sign * (transform.response(r.Value) - mean) / sd
}

// inflatedBy is the factor by which inflation c has enlarged the variance of the prediction of
// round t's reading of target k's metric,
//
//	(s² + λ) / (s²/a + λ/b),
//
// where s² is the variance of the function, and a and b are c if c multiplies the kernel's variance
// and λ, else 1. Dividing noise that was told by c, too, would let each fit's c depend on the last
// one's and shrink.
func (v *view) inflatedBy(t, k int, latent policy.Estimate) float64 {
	metric := v.targets[k].metric
	m, r := v.model(metric), v.history.Rounds[t-1].Readings[metric]
	variance, lambda := latent.SD[0]*latent.SD[0], v.readingLambda(t, r, m)
	bareVariance, bareLambda := variance, lambda // both times c: equal sums are to give c to the bit
	if !v.cfg.Metrics[metric].FreeVariance {
		bareVariance *= m.inflation
	}
	if !m.inflated || r.SD > 0 {
		bareLambda *= m.inflation
	}
	return m.inflation * ((variance + lambda) / (bareVariance + bareLambda))
}

// betaOf is the confidence width of target k, NaN where the algorithm has none.
func betaOf(v *view, k int) float64 {
	if k < len(v.beta) {
		return v.beta[k]
	}
	return math.NaN()
}

// informationGain is γ of the regression of target k that the algorithm acts on, or of the arrived
// readings where there is none.
func informationGain(acted, shown *view, k int) float64 {
	if acted.sourceOf[k] >= 0 {
		return acted.gain[k]
	}
	src := &shown.sources[shown.sourceOf[k]]
	return src.Gain()
}

// student is the Student-t distribution with so many degrees of freedom. Fits use it in place of
// the normal one, since hyperparameters estimated from few readings make normal bands too narrow.
func student(freedom float64) distuv.StudentsT {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
}

// halfWidth is the half width, in standard deviations, of the central interval with probability
// share of a Student-t distribution; a freedom of 0 stands for a normal one.
func halfWidth(share, freedom float64) float64 {
	if freedom == 0 {
		return math.Sqrt2 * math.Erfinv(share)
	}
	return student(freedom).Quantile((1 + share) / 2)
}

// normalDeviate is the normal deviate with the tail probability that t has in a Student-t
// distribution; t itself for a freedom of 0.
func normalDeviate(t, freedom float64) float64 {
	if freedom == 0 {
		return t
	}
	beyond := max(student(freedom).CDF(-math.Abs(t)), minTail)
	return math.Copysign(distuv.UnitNormal.Quantile(beyond), t)
}

// minTail is the least tail probability that is told from smaller ones.
const minTail = 1e-300

// chanceBelow is P(X ≤ 0) for X = mean + sd·T, T being Student-t with so many degrees of freedom,
// normal for 0.
func chanceBelow(mean, sd, freedom float64) float64 {
	switch {
	case sd == 0 && mean <= 0:
		return 1
	case sd == 0:
		return 0
	case freedom == 0:
		return 0.5 * math.Erfc(mean/(sd*math.Sqrt2))
	}
	return student(freedom).CDF(-mean / sd)
}

// chanceAbove is P(X > 0) of the same X, to full precision where it is small.
func chanceAbove(mean, sd, freedom float64) float64 {
	if sd == 0 {
		return 1 - chanceBelow(mean, sd, freedom)
	}
	return chanceBelow(-mean, sd, freedom)
}
