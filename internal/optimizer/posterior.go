package optimizer

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/warp"
)

// Models returns one Model per metric, for the next decision.
func (s *shown) Models() []Model {
	out := make([]Model, len(s.cfg.Metrics))
	for i := range out {
		m := s.regime.shownModels[i]
		k := s.targetOf(i)
		beta := betaOf(s.next, k)
		out[i] = Model{Kernel: m.kernel, Lambda: m.lambda, Centre: m.centre, Scale: m.scale, Warp: m.warp, Inflation: m.inflation,
			Freedom: m.freedom, Told: math.Sqrt(cmp.Or(m.toldFactor, 1)), Settings: m.noise.list, Wrong: m.noise.contradicting, Fitted: m.fitted, Scaled: s.scaled(s.regime.models[i]), Count: s.sources[s.sourceOf[k]].arrived, InformationGain: informationGain(s.next, s.view, k)}
		if !math.IsNaN(beta) {
			out[i].Beta = &beta
		}
	}
	return out
}

// Believe returns one Belief per metric, from the data that arrived (in the algorithm's window, if
// it has one, and until that has a reading of each in the one before), and the feasibility
// probabilities P(g_j(x) ≤ 0 for all j) of the latent functions, without margins. With raw outputs,
// a metric of several constraints is regressed towards the first threshold. known holds, for each
// place, one value per constraint in metric units, of which those of Given ones are used; a nil
// known leaves these constraints out.
func (s *shown) Believe(ctx context.Context, at []Place, known [][]float64) ([]Belief, []float64, error) {
	estimates, err := s.estimate(ctx, at, nil)
	if err != nil {
		return nil, nil, err
	}
	beliefs := make([]Belief, len(s.cfg.Metrics))
	for i := range beliefs {
		k := s.targetOf(i)
		freedom := s.regime.models[i].freedom
		width, width95 := betaOf(s.next, k), Normal95
		if freedom > 0 {
			width95 = halfWidth(0.95, freedom)
		}
		if math.IsNaN(width) {
			width = width95
		}
		beliefs[i] = beliefOf(s.regime.transforms[k], estimates[k].Mean, estimates[k].SD, width, width95)
		beliefs[i].ReadingSD = s.readingSDs(k, at, estimates[k])
	}
	return beliefs, s.chances(estimates, len(at), known), nil
}

// Normal95 is the half width, in standard deviations, of the 95 % interval shown where a fit set no
// degrees of freedom, and of the interval expected of a reading: 1.959964, as it is usually
// rounded.
const Normal95 = 1.96

func beliefOf(t transform, mean, sd []float64, width, width95 float64) Belief {
	n := len(mean)
	b := Belief{Mean: make([]float64, n), SD: make([]float64, n), Lower: make([]float64, n), Upper: make([]float64, n),
		Lower95: make([]float64, n), Upper95: make([]float64, n)}
	for i := range mean {
		response := mean[i] - t.shift
		b.Mean[i], b.SD[i] = t.moments(response, sd[i])
		b.Lower[i], b.Upper[i] = t.band(response, sd[i], width)
		b.Lower95[i], b.Upper95[i] = t.band(response, sd[i], width95)
	}
	return b
}

// readingSDs are the standard deviations, in metric units, of readings of target k's metric at
// places where the function has this estimate.
func (s *shown) readingSDs(k int, at []Place, estimate policy.Estimate) []float64 {
	t, out := s.regime.transforms[k], make([]float64, len(at))
	for i, place := range at {
		sd := estimate.SD[i]
		_, out[i] = t.moments(estimate.Mean[i]-t.shift, math.Sqrt(sd*sd+s.noiseAgain(s.targets[k].metric, place)))
	}
	return out
}

// noiseAgain is λ of one more reading of a metric at a place: the average of what was told with
// readings there, if anything was.
func (s *shown) noiseAgain(metric int, at Place) float64 {
	m, sum, told := s.model(metric), 0.0, 0.0
	for i := range s.history.Rounds {
		r := &s.history.Rounds[i]
		if reading := &r.Readings[metric]; reading.SD > 0 && !r.Excluded && samePlace(s.placeOf(i+1), at) {
			sum, told = sum+s.undoubtedLambda(i+1, *reading, m), told+1
		}
	}
	if told == 0 {
		return m.noise.atPlace(at, m.lambda)
	}
	return sum / told
}

// safeEnough is the feasibility probability from which a point counts as within its limits.
const safeEnough = 0.9

// likelier is the feasibility probability that a recommendation needs: it must be more likely to
// keep all limits than to break one.
const likelier = 0.5

// Recommendation returns the round of the told, included and available point of the largest worth,
// or 0 if there is none:
//
//	argmax { P(x)·(μ_f(x) − m) : P(x) ≥ ½ },   P(x) = P(g_j(x) ≤ 0 for all j),
//
// in units of expectedReward, where m, the least expected reward of such a point, is what a broken
// limit counts as. While readings do not vary, points read beyond a limit are excluded. The next
// decision compares other places with the largest worth of all points played, which may be another
// while hardly any keeps the limits. There is none before every metric has a scale and a reading.
func (s *shown) Recommendation(ctx context.Context) (int, error) {
	if !s.modelReady() {
		return 0, nil
	}
	estimates, err := s.inSample(ctx)
	if err != nil {
		return 0, err
	}
	s.recommending.Do(func() { s.recommended, s.rewards = s.recommend(estimates) })
	return s.recommended, nil
}

// recommend computes Recommendation from the estimates at the points of all rounds, and the
// expected rewards of the rounds whose reward was told.
func (s *shown) recommend(estimates []policy.Estimate) (round int, rewards []float64) {
	var known [][]float64
	if slices.ContainsFunc(s.cfg.Costs, func(c Cost) bool { return c.Knowledge == Given }) {
		for _, r := range s.history.Rounds {
			known = append(known, r.currentCosts())
		}
	}
	chances := s.chances(estimates, len(s.history.Rounds), known)
	offered, told := s.onOffer(), s.told(s.cfg.Objective.Metric)
	rewards = make([]float64, len(s.history.Rounds))
	onCores(len(told), func(i int) {
		n := told[i]
		rewards[n-1] = s.expectedReward(estimates[0].Mean[n-1], estimates[0].SD[n-1])
	})
	least := math.Inf(1)
	for _, n := range offered {
		least = min(least, rewards[n-1])
	}
	most, exact := math.Inf(-1), !s.readingsVary()
	for _, n := range offered {
		if chances[n-1] < likelier || exact && s.readBeyond(n) {
			continue
		}
		if worth := chances[n-1] * (rewards[n-1] - least); worth > most {
			most, round = worth, n
		}
	}
	return round, rewards
}

// onOffer are the rounds whose reward was told and whose settings may still be chosen.
func (s *shown) onOffer() []int {
	return slices.DeleteFunc(slices.Clone(s.told(s.cfg.Objective.Metric)), func(n int) bool { return s.history.Rounds[n-1].Gone })
}

// Foresees tells whether the metric can be predicted: it has a reading, and the scale that it is
// regressed in. Before that the posterior is the prior, with a variance in units of which nothing
// is known.
func (s *shown) Foresees(metric int) bool {
	return s.scaled(s.regime.models[metric]) && len(s.told(metric)) > 0
}

// modelReady tells whether every metric has a scale and a reading that is not forgotten.
func (s *shown) modelReady() bool {
	return !s.blank() && !s.cfg.someMetric(func(metric int) bool { return !s.Foresees(metric) })
}

// expectedReward is the posterior mean of a reward with this estimate: in modelled units where
// these are linear in the metric or in its logarithm (a ratio is then worth the same at any size),
// else in metric units.
func (s *shown) expectedReward(mean, sd float64) float64 {
	t := s.regime.transforms[0]
	if t.warp == warp.Identity || t.warp.Logarithmic() {
		return mean
	}
	value, _ := t.moments(mean, sd)
	return t.sign * value
}

// shown is the posterior that is shown: from the arrived data in the window, nothing else.
type shown struct {
	*view
	roundEstimates checkpoint.Once[[]policy.Estimate] // see inSample

	recommending sync.Once // see recommend
	recommended  int
	rewards      []float64
}

// margin is by how much the value of target k exceeds its value without the margin.
func (s *shown) margin(k int) float64 {
	if s.targets[k].metric < 0 {
		return s.cfg.Costs[s.targets[k].cost].Margin
	}
	return s.regime.transforms[k].margin
}

// since is the posterior from the readings of that round and later ones.
func (s *shown) since(ctx context.Context, from int) (*shown, error) {
	v := &view{evidence: s.evidence, round: s.round, regime: s.regime, transforms: s.transforms, forDisplay: true, from: from}
	return &shown{view: v}, v.sourcesArrived(ctx, false)
}

// remembered is what is shown where the algorithm has just forgotten: the posterior of the window
// before as well, until there are readings in the new one.
func (s *shown) remembered(ctx context.Context) (*shown, error) {
	if from := s.earliest(); from > 1 && s.blank() {
		return s.since(ctx, s.traits.Earliest(from-1))
	}
	return s, nil
}

// blank tells whether some metric has no reading in the window.
func (s *shown) blank() bool {
	return slices.ContainsFunc(s.sources, func(src source) bool { return src.arrived == 0 })
}

// inSample returns the estimates of every target at the points of all rounds.
func (s *shown) inSample(ctx context.Context) ([]policy.Estimate, error) {
	return s.roundEstimates.Get(ctx, s.estimateRounds)
}

func (s *shown) estimateRounds(ctx context.Context) ([]policy.Estimate, error) {
	at := lists.Of(len(s.history.Rounds), func(t int) Place { return s.placeOf(t + 1) })
	out, err := s.gather(at, nil, nil, func(i int, points posterior.Points) (posterior.Prediction, error) {
		points.Rows = s.sources[i].rowsAt(len(at), func(round int) int { return round - 1 })
		return s.sources[i].Predict(ctx, points, nil)
	})
	if err != nil {
		return nil, err
	}
	for i := range at {
		s.copyEstimate(out, i, s.firstRounds()[i]-1)
	}
	return out, nil
}

// inSampleOf is estimate at the points of these rounds, to the same bits, taken from inSample.
func (s *shown) inSampleOf(ctx context.Context, rounds []int, known func(j, i int) float64) ([]policy.Estimate, error) {
	all, err := s.inSample(ctx)
	if err != nil {
		return nil, err
	}
	out := s.givenEstimates(s.placesAt(rounds), known)
	for k, of := range s.sourceOf {
		if of < 0 {
			continue
		}
		for _, round := range rounds {
			out[k].Mean, out[k].SD = append(out[k].Mean, all[k].Mean[round-1]), append(out[k].SD, all[k].SD[round-1])
		}
	}
	return out, nil
}

// expectedExcess returns E[g_j⁺(x_s)] of round s = i+1 in metric units, as [i][j], given the
// estimates at all rounds.
func (s *shown) expectedExcess(estimates []policy.Estimate) [][]float64 {
	out := make([][]float64, len(s.history.Rounds))
	onCores(len(out), func(i int) {
		for j, c := range s.cfg.Costs {
			if c.Knowledge == Given {
				out[i] = append(out[i], max(c.Excess(s.history.Rounds[i].Costs[j]), 0))
				continue
			}
			e, t := estimates[1+j], s.regime.transforms[1+j]
			out[i] = append(out[i], t.excess(e.Mean[i]-t.margin, e.SD[i], c.Threshold))
		}
	})
	return out
}
