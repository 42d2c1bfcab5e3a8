package optimizer

import (
	"cmp"
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/probit"
)

// works is what failures taught: a probit Gaussian process on which settings worked, those of
// trials with a reading, and which failed because of their settings. Trials that failed by chance,
// were abandoned, excluded or wait teach nothing. It is made from the outcomes alone, whatever was
// made of fewer of them.
type works struct {
	model    *probit.Model
	kernel   Kernel // of which the name says what inputs are
	base     float64
	failed   int
	outcomes outcomes
}

// outcomes are trials that worked or failed, by the inputs of their settings.
type outcomes struct {
	inputs [][]float64
	worked []bool
}

// Works is what is known of where trials work.
type Works struct {
	Failed int // trials that failed because of their settings
	Of     int // those and the trials that worked
}

// The prior of the probit model. The kernel is the product one of numbers and categories, with the
// prior median lengthscales of fits, or the candidates' own covariance; what is free are one factor
// to the lengthscales and the latent standard deviation, found over a grid by the largest evidence
// and log-normal priors: what the objective's readings say of its lengthscales says nothing of
// where trials fail. Whether a trial works mostly changes once along a parameter, and sharply: the
// median lengthscale is a range or two, the latent function far beyond ±1 over most of it. The
// prior mean is that of a chance which the outcomes give with usualOutcomes more, of which
// usualFailures failed.
const (
	medianStretch, spreadStretch = 5, 0.5
	medianLatent, spreadLatent   = 16, 0.7
	usualOutcomes, usualFailures = 5, 0.5

	// mostOutcomes is how many trials take part, since the cost grows with their cube.
	mostOutcomes = 150

	// worksWeight is how often the chance that a trial works multiplies what is expected of it:
	// what fails gains nothing, teaches nothing of the objective, and works less often than the
	// model says of a place that was chosen because it looked good.
	worksWeight = 4

	// A place is unlikely where a trial more probably fails than works, or, where trials fail so
	// often that all places would be, with less than unlikelyShare of the chance of one of which
	// nothing is known.
	unlikely, unlikelyShare = 0.5, 0.75
)

var (
	stretches = []float64{2, 4, 8, 16}
	latents   = []float64{4, 8, 16, 32}
)

// logPrior is the logarithm of a log-normal prior, but for a constant.
func logPrior(v, median, spread float64) float64 {
	z := math.Log(v/median) / spread
	return -z * z / 2
}

func (s *task) worksKernel(k Kernel, stretch, latent float64) (*kernel.Function, error) {
	k.Variance = latent * latent
	if k.Matrix != nil {
		mean := 0.0
		for i, row := range k.Matrix {
			mean += row[i] / float64(len(k.Matrix))
		}
		k.Variance /= mean
		return s.function(k)
	}
	for _, length := range s.cfg.Space.priorLengthscales() {
		k.Lengthscales = append(k.Lengthscales, stretch*length)
	}
	return s.function(k)
}

// outcomes are those that the next decision sees.
func (s *task) outcomes(k Kernel) (all outcomes) {
	t := s.Round()
	for i := range s.history.Rounds {
		r := &s.history.Rounds[i]
		ending, ended := r.ending(t)
		failed := ended && ending.Cause == BySettings
		worked := !ended && slices.ContainsFunc(r.Readings, func(reading Reading) bool { return reading.seenAt(t) })
		if !r.Excluded && (failed || worked) {
			all.inputs, all.worked = append(all.inputs, s.kernelInput(k, s.placeOf(i+1))), append(all.worked, worked)
		}
	}
	return all
}

func (o outcomes) failed() (count int) {
	for _, worked := range o.worked {
		if !worked {
			count++
		}
	}
	return count
}

func (o outcomes) same(other outcomes) bool {
	return slices.Equal(o.worked, other.worked) && slices.EqualFunc(o.inputs, other.inputs, slices.Equal)
}

// telling are all outcomes where they are few. Of many, half of mostOutcomes are those nearest to
// one of the other kind, between which the edge lies, and half those farthest from all taken
// before, one after another, which say what lies away from it; in their order.
func (o outcomes) telling(ctx context.Context, lengthscales []float64) (outcomes, error) {
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
	edge, order := make([]float64, n), make([]int, n)
	for i := range edge {
		if err := checkpoint.Reach(ctx); err != nil {
			return o, err
		}
		edge[i], order[i] = math.Inf(1), i
		for j, worked := range o.worked {
			if worked != o.worked[i] {
				edge[i] = min(edge[i], apart(i, j))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(edge[a], edge[b]) })
	taken := slices.Clone(order[:mostOutcomes/2])
	alone := slices.Repeat([]float64{math.Inf(1)}, n) // from what is taken
	for i := 0; ; i++ {
		for j := range alone {
			alone[j] = min(alone[j], apart(j, taken[i]))
		}
		if i < mostOutcomes/2-1 {
			continue
		}
		if len(taken) == mostOutcomes {
			break
		}
		farthest := 0
		for j, distance := range alone {
			if distance > alone[farthest] {
				farthest = j
			}
		}
		taken = append(taken, farthest)
	}
	slices.Sort(taken)
	var part outcomes
	for _, i := range taken {
		part.inputs, part.worked = append(part.inputs, o.inputs[i]), append(part.worked, o.worked[i])
	}
	return part, nil
}

// at is the latent function at some places.
func (w *works) at(ctx context.Context, v *view, at []Place) (*policy.Estimate, error) {
	means, variances, err := w.model.Predict(ctx, v.points(w.kernel, at).Inputs)
	return &policy.Estimate{Mean: means, SD: roots(variances, 1)}, err
}

// Works tells how many trials failed because of their settings and of how many, whether or not the
// algorithm takes account of it.
func (s *task) Works() Works {
	all := s.outcomes(Kernel{})
	return Works{Failed: all.failed(), Of: len(all.worked)}
}

// spentReach is how near settings count as the same: as a share of the objective's lengthscales, or
// of a parameter's range where that is shorter, since what hardly matters to the objective may be
// what fails.
const spentReach = 0.1
