package optimizer

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/fit"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/probit"
)

// works is a probit Gaussian process of where trials work, from the trials with a reading and those
// that failed because of their settings. Trials that failed by chance, were abandoned or excluded,
// or are pending teach nothing. It depends on the outcomes alone, not on earlier models of fewer
// outcomes.
type works struct {
	model    *probit.Model
	kernel   Kernel  // whose name determines the inputs
	baseRate float64 // the chance behind the prior mean
	outcomes outcomes
}

// outcomes are trials that worked or failed, by the kernel inputs of their settings.
type outcomes struct {
	inputs [][]float64
	worked []bool
}

// Works counts the trials that tell where trials work. Its JSON is the API's.
type Works struct {
	Failed int `json:"failed"` // trials that failed because of their settings
	Of     int `json:"of"`     // those and the trials that worked
}

// The prior of the probit model. The kernel is the mixed one with the prior median lengthscales of
// fits, or the candidates' own covariance. A factor of the lengthscales and the latent standard
// deviation are free; they maximise the evidence with log-normal priors over a grid. The
// objective's lengthscales are not used: they say nothing of where trials fail. Whether a trial
// works mostly changes once along a parameter, and sharply, so the median lengthscale is a range or
// two and the latent function far beyond ±1 over most of it. The prior mean gives the chance to
// work that the outcomes have together with usualOutcomes more, of which usualFailures failed.
const (
	medianStretch, spreadStretch = 5, 0.5
	medianLatent, spreadLatent   = 16, 0.7
	usualOutcomes, usualFailures = 5, 0.5

	// mostOutcomes is how many trials take part, since the cost grows with their cube.
	mostOutcomes = 150

	// worksWeight is the power of the chance to work that multiplies an expected improvement: a
	// failed trial gains nothing, teaches nothing of the objective, and, at places chosen for
	// looking good, is more frequent than the model says.
	worksWeight = 4

	// A place is unlikely if the chance to work is below unlikely and below unlikelyShare of the
	// base rate, so that not all places are where trials mostly fail.
	unlikely, unlikelyShare = 0.5, 0.75
)

var (
	stretches = []float64{2, 4, 8, 16}
	latents   = []float64{4, 8, 16, 32}
)

// learnWorks returns the model of where trials work for the next decision; nil while none has
// failed because of its settings, and for published algorithms, which do not consider it.
func (s *decision) learnWorks(ctx context.Context, prior *decision) (*works, error) {
	k := Kernel{Name: "mixed"}
	if own := s.cfg.Metrics[s.cfg.Objective.Metric].Kernel; own.Name == "covariance" {
		k = own
	}
	if s.cfg.Paper || len(s.failedBySettings()) == 0 { // most studies: their outcomes are not listed
		return nil, nil
	}
	all := s.outcomes(k)
	if prior != nil && prior.works != nil && prior.works.outcomes.same(all) {
		return prior.works, nil
	}
	out := &works{kernel: k, outcomes: all}
	out.baseRate = (float64(len(all.worked)-all.failed()) + usualOutcomes - usualFailures) / (float64(len(all.worked)) + usualOutcomes)
	part, err := all.mostInformative(ctx, s.cfg.Space.inputLengthscales(s.cfg.Space.priorLengthscales()))
	if err != nil {
		return nil, err
	}
	best := math.Inf(-1)
	for _, stretch := range stretches {
		for _, latent := range latents {
			function, err := s.worksKernel(k, stretch, latent)
			if err != nil {
				return nil, err
			}
			mean := math.Sqrt2 * math.Erfinv(2*out.baseRate-1) * math.Sqrt(1+latent*latent)
			model, err := probit.Fit(ctx, function, part.inputs, part.worked, mean)
			if err != nil {
				return nil, err
			}
			if value := model.Evidence() + logPrior(stretch, medianStretch, spreadStretch) + logPrior(latent, medianLatent, spreadLatent); value > best {
				best, out.model = value, model
			}
		}
	}
	return out, nil
}

// logPrior is the logarithm of a log-normal prior, up to a constant.
func logPrior(v, median, spread float64) float64 {
	z := math.Log(v/median) / spread
	return -z * z / 2
}

// worksKernel is the probit model's kernel, of mean variance latent².
func (s *task) worksKernel(k Kernel, stretch, latent float64) (*kernel.Function, error) {
	k.Variance = latent * latent
	if k.Matrix != nil {
		mean := 0.0
		for i, row := range k.Matrix {
			mean += row[i] / float64(len(k.Matrix))
		}
		k.Variance /= mean
		return s.kernelFunction(k)
	}
	k.Lengthscales = floats.ScaleTo(make([]float64, len(s.cfg.Space.Dims)), stretch, s.cfg.Space.priorLengthscales())
	return s.kernelFunction(k)
}

// outcomes are the outcomes that the next decision sees.
func (s *task) outcomes(k Kernel) (all outcomes) {
	t, failed := s.Round(), s.failedBySettings()
	for i := range s.history.Rounds {
		r := &s.history.Rounds[i]
		worked := !r.closedAt(t) && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.seenAt(t) })
		if _, fails := slices.BinarySearch(failed, i+1); fails || worked && !r.Excluded {
			all.inputs, all.worked = append(all.inputs, s.kernelInput(k, s.placeOf(i+1))), append(all.worked, worked)
		}
	}
	return all
}

func (o outcomes) failed() int {
	return lists.Count(o.worked, func(worked bool) bool { return !worked })
}

// failedBySettings lists the rounds of which the next decision knows that they failed because of
// their settings.
func (s *task) failedBySettings() []int {
	return s.history.roundsWhere(1, s.Round(), func(_ int, r *Round) bool {
		ending, ended := r.ending(s.Round())
		return ended && ending.Cause == BySettings && !r.Excluded
	})
}

func (o outcomes) same(other outcomes) bool {
	return slices.Equal(o.worked, other.worked) && slices.EqualFunc(o.inputs, other.inputs, slices.Equal)
}

// mostInformative returns mostOutcomes outcomes, in their order, or all if they are fewer: half of
// them nearest to one of the other kind, to locate the edge, and half farthest from all taken
// before, one after another, for the rest of the space.
func (o outcomes) mostInformative(ctx context.Context, lengthscales []float64) (outcomes, error) {
	n := len(o.worked)
	if n <= mostOutcomes {
		return o, nil
	}
	apart := func(i, j int) float64 {
		sum := 0.0
		for c, x := range o.inputs[i] {
			d := (x - o.inputs[j][c]) / lengthscales[c]
			sum += d * d
		}
		return sum
	}
	edge, order := make([]float64, n), lists.Below(n)
	for i := range edge {
		if err := checkpoint.Reach(ctx); err != nil {
			return o, err
		}
		edge[i] = math.Inf(1)
		for j, worked := range o.worked {
			if worked != o.worked[i] {
				edge[i] = min(edge[i], apart(i, j))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(edge[a], edge[b]) })
	taken := fit.Farthest(o.inputs, lengthscales, order[:mostOutcomes/2], n, mostOutcomes-mostOutcomes/2)
	return outcomes{lists.At(o.inputs, taken), lists.At(o.worked, taken)}, nil
}

// worksAt is the latent function at some places; nil while no trial has failed.
func (s *decision) worksAt(ctx context.Context, at []Place) (*policy.Estimate, error) {
	if s.works == nil {
		return nil, nil
	}
	means, variances, err := s.works.model.Predict(ctx, s.points(s.works.kernel, at).Inputs)
	return &policy.Estimate{Mean: means, SD: deviations(variances, 1)}, err
}

// addWorks adds to scores the chance that trials work: to the logarithm of an expectation, its
// logarithm times worksWeight. Other scores stay as published, and unlikely places are marked.
func (s *decision) addWorks(scores policy.Scores, latent *policy.Estimate) policy.Scores {
	if latent == nil {
		return scores
	}
	if !s.traits.LogExpectation {
		scores.Unlikely = make([]bool, len(latent.Mean))
	}
	for i, mean := range latent.Mean {
		chance, _, _ := policy.LogChance(mean, latent.SD[i]*latent.SD[i])
		if !s.traits.LogExpectation {
			scores.Unlikely[i] = chance < math.Log(min(unlikely, s.works.baseRate*unlikelyShare))
			continue
		}
		scores.Value[i] += worksWeight * chance
		if scores.Fallback != nil {
			scores.Fallback[i] += worksWeight * chance
		}
	}
	return scores
}

// worksSlopes are the slopes, along the kernel inputs of places, of what addWorks adds to their
// scores; nil where it adds nothing.
func (s *decision) worksSlopes(ctx context.Context, at []Place, latent *policy.Estimate) ([][]float64, error) {
	if latent == nil || !s.traits.LogExpectation {
		return nil, nil
	}
	means, variances, err := s.works.model.Gradients(ctx, s.points(s.works.kernel, at).Inputs)
	if err != nil {
		return nil, err
	}
	for i, along := range means {
		_, byMean, byVariance := policy.LogChance(latent.Mean[i], latent.SD[i]*latent.SD[i])
		for c := range along {
			along[c] = worksWeight * (byMean*along[c] + byVariance*variances[i][c])
		}
	}
	return means, nil
}

// Works counts the trials that failed because of their settings, and those that can tell, whether
// or not the algorithm takes account of it.
func (s *task) Works() Works {
	all := s.outcomes(Kernel{})
	return Works{Failed: all.failed(), Of: len(all.worked)}
}

// WorksChance is the chance that a trial works at each of some places; 1 where none has failed
// because of its settings, and for published algorithms.
func (s *decision) WorksChance(ctx context.Context, at []Place) ([]float64, error) {
	chances := slices.Repeat([]float64{1}, len(at))
	latent, err := s.worksAt(ctx, at)
	if latent == nil || err != nil {
		return chances, err
	}
	for i, mean := range latent.Mean {
		value, _, _ := policy.LogChance(mean, latent.SD[i]*latent.SD[i])
		chances[i] = math.Exp(value)
	}
	return chances, nil
}

// avoided are settings that are not suggested again: those of a trial that failed because of its
// settings; those in whose place others were used, while suggestions are mostly run elsewhere; and,
// until something new has been read, those of a trial that failed by chance or was abandoned.
// Otherwise an algorithm that learned nothing of them would repeat them. On a continuous space,
// settings within avoidedReach of these count as the same, and around those that were not used what
// is as near as what was.
type avoided struct {
	points  [][]float64 // unit coordinates
	used    [][]float64 // where they were not used: what was
	inputs  [][]float64 // of the points
	reach   []float64   // of the points, squared: up to there settings count as the same
	inverse []float64   // 1/(length an input is measured by)
}

// avoidedReach is how near settings count as the same, as a share of the objective's lengthscales,
// or of a parameter's range where that is shorter, since a parameter that hardly matters to the
// objective may be what makes trials fail.
const avoidedReach = 0.1

// listAvoided gathers the settings that the next decision avoids; nil where there are none.
func (s *decision) listAvoided() *avoided {
	out, t, elsewhere := &avoided{}, s.Round(), s.mostlyElsewhere()
	for i := range s.history.Rounds {
		r := &s.history.Rounds[i]
		if ending, ended := r.ending(t); ended && !r.Excluded && (ending.Cause == BySettings || !s.readBetween(ending.From, t)) {
			out.points, out.used = append(out.points, r.Point), append(out.used, nil)
		}
		if elsewhere && r.elsewhere() && r.countsAt(t) {
			out.points, out.used = append(out.points, r.Asked), append(out.used, r.Point)
		}
	}
	if len(out.points) == 0 {
		return nil
	}
	if space := s.cfg.Space; space.Arms == nil {
		lengthscales := slices.Clone(s.regime.models[s.cfg.Objective.Metric].kernel.Lengthscales)
		for k, d := range space.Dims {
			lengthscales[k] = 1 / min(lengthscales[k], d.inputRange())
		}
		out.inverse = space.inputLengthscales(lengthscales)
		out.inputs = lists.Map(out.points, space.features)
		for i, used := range out.used {
			out.reach = append(out.reach, avoidedReach*avoidedReach)
			if used != nil {
				out.reach[i] = out.apart(space.features(used), out.inputs[i])
			}
		}
	}
	return out
}

// mostlyElsewhere tells whether most suggested trials with a reading were run at other settings, as
// by an instrument that rounds, drifts or is stuck. What somebody overlooked once may be suggested
// again.
func (s *decision) mostlyElsewhere() bool {
	moved, run := 0, 0
	for i := range s.history.Rounds {
		if r := &s.history.Rounds[i]; r.Asked != nil && r.countsAt(s.Round()) {
			run++
			if r.elsewhere() {
				moved++
			}
		}
	}
	return 2*moved > run
}

// apart is the square of the distance of two places, by their kernel inputs.
func (a *avoided) apart(x, y []float64) float64 {
	sum := 0.0
	for c := range x {
		d := (x[c] - y[c]) * a.inverse[c]
		sum += d * d
	}
	return sum
}

// isAvoided tells whether a place is among the settings that the next decision avoids.
func (s *decision) isAvoided(p Place) bool {
	switch {
	case s.avoided == nil:
		return false
	case s.avoided.inputs == nil:
		return slices.ContainsFunc(s.avoided.points, func(u []float64) bool { return slices.Equal(u, p.U) })
	}
	x := s.cfg.Space.features(p.U)
	for i, y := range s.avoided.inputs {
		if s.avoided.apart(x, y) <= s.avoided.reach[i] {
			return true
		}
	}
	return false
}
