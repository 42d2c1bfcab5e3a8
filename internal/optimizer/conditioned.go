package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
)

// source conditions the functions of one or more targets: on the rows of a factor, or, where there are many more readings than candidates, on the
// posterior over all of them.
type source struct {
	kernel  Kernel
	group   *group // the regression that it is of; nil where a window makes it something else
	arrived int    // readings
	targets []int

	// The first arrived points of data carry responses, the rest are pending and narrow the variance only.
	data   *gp.Data
	rounds []int       // of the points
	z      [][]float64 // per target in targets, as long as data, 0 for pending points

	arms     *gp.Arms // in place of data: the responses' means are in the order of targets
	narrowed *gp.Arms // arms with the pending points
	glimpse  *glimpse // in place of data at an earlier decision
	waiting  []int    // pending rounds

	solutions *solutions // of a list of places, for data with its pending points; nil without any
}

// gain is γ of the readings.
func (src *source) gain() float64 {
	switch {
	case src.arms != nil:
		return src.arms.Gain()
	case src.glimpse != nil:
		return src.glimpse.gain
	}
	return src.data.Gain(src.arrived)
}

// predicted is what a source makes of some places: the responses' means, the latent variances, and the covariances with the incumbent where there
// is one.
type predicted struct {
	means     [][]float64 // per target of the source
	variances []float64
	together  []float64
}

// predict is the posterior of source i at some places, beside the incumbent or not.
func (v *view) predict(ctx context.Context, i int, at []Place, beside bool) (predicted, error) {
	src, with := &v.sources[i], v.incumbent
	if src.arms != nil && onArms(at) {
		if !beside {
			with = nil
		}
		return src.lookUp(at, with), nil
	}
	src, err := v.byRows(ctx, src)
	if err != nil {
		return predicted{}, err
	}
	inputs, zs := v.inputs(src.kernel, at), src.z
	if beside {
		solved := with.solved[i]
		if solved == nil {
			solved = src.data.Solve(with.inputs[i].Row(0))
		}
		zs = append(zs[:len(zs):len(zs)], solved)
	}
	means, variances, err := v.predictRows(ctx, src, at, inputs, zs)
	p := predicted{means: means, variances: variances}
	if err == nil && beside {
		p.means, p.together = means[:len(src.z)], with.together(i, src.data.Kernel(), inputs, means[len(src.z)])
	}
	return p, err
}

// predictedMeans are the responses' means alone, in O(n) a place, from the readings alone: they are the same whatever waits.
func (v *view) predictedMeans(ctx context.Context, src *source, at []Place) ([][]float64, error) {
	if src.arms != nil && onArms(at) {
		return src.lookUp(at, nil).means, nil
	}
	src, err := v.byRows(ctx, src)
	if err != nil {
		return nil, err
	}
	read := make([][]float64, len(src.z))
	for n, z := range src.z {
		read[n] = z[:src.arrived]
	}
	return predictMeans(ctx, src.data.Prefix(src.arrived), v.inputs(src.kernel, at), read)
}

// predictRows regresses on the rows of a factor, at all places of a list by what is kept of them.
func (v *view) predictRows(ctx context.Context, src *source, at []Place, inputs *kernel.Inputs, zs [][]float64) (means [][]float64, variances []float64, err error) {
	if src.group == nil || v.listOf(at) == nil || src.data.Len()*len(at) > mostKept {
		return predict(ctx, src.data, inputs, zs)
	}
	fixed, err := src.group.solutions.of(ctx, inputs, src.group.data.Prefix(src.arrived))
	if err == nil && src.solutions != nil {
		src.solutions.keep(fixed)
		fixed, err = src.solutions.of(ctx, inputs, src.data)
	}
	if err != nil {
		return nil, nil, err
	}
	return fixed.Predict(ctx, src.data, zs)
}

// lookUp is predict where the posterior over all arms is at hand.
func (src *source) lookUp(at []Place, with *incumbent) predicted {
	p := predicted{means: make([][]float64, len(src.targets)), variances: make([]float64, len(at))}
	pick := func(from []float64) []float64 {
		values := make([]float64, len(at))
		for i, place := range at {
			values[i] = from[place.Arm]
		}
		return values
	}
	for n := range src.targets {
		p.means[n] = pick(src.arms.Means(n))
	}
	p.variances = pick(src.narrowed.Variances())
	if with != nil {
		p.together = pick(src.narrowed.Covariances(with.place.Arm))
	}
	return p
}

// byRows is the source by the rows of a factor. One that has none is regressed on one point an arm, whose reading is the mean of the arm's own by
// their precision: the posterior is the same.
func (v *view) byRows(ctx context.Context, src *source) (*source, error) {
	if src.data != nil {
		return src, nil
	}
	g := src.group
	order, answers := v.collapsed(src)
	rows := &source{kernel: src.kernel, arrived: len(order), targets: src.targets, data: gp.NewData(g.function, v.inputWidth(src.kernel))}
	for _, a := range order {
		rows.rounds = append(rows.rounds, a.round)
	}
	err := v.appendRounds(ctx, rows.data, src.kernel, order)
	if err != nil {
		return nil, err
	}
	if err := v.appendPending(ctx, rows, g.model, src.waiting); err != nil {
		return nil, err
	}
	for _, y := range answers {
		z := make([]float64, rows.data.Len())
		copy(z, rows.data.Whiten(nil, y))
		rows.z = append(rows.z, z)
	}
	return rows, nil
}

// collapsed makes one reading of the readings of each arm, y = λ Σ y_s/λ_s with λ = 1/Σ (1/λ_s), per target of the source.
func (v *view) collapsed(src *source) (order []arrival, answers [][]float64) {
	answers = make([][]float64, len(src.targets))
	at := map[int]int{}
	for i, a := range src.group.order[:src.arrived] {
		arm := v.history.Rounds[a.round-1].Arm
		n, ok := at[arm]
		if !ok {
			n = len(order)
			at[arm] = n
			order = append(order, arrival{round: a.round, revealed: a.revealed})
		}
		order[n].lambda += 1 / a.lambda
		for t, k := range src.targets {
			if !ok {
				answers[t] = append(answers[t], 0)
			}
			answers[t][n] += v.answer(k, i) / a.lambda
		}
	}
	for n := range order {
		order[n].lambda = 1 / order[n].lambda
		for t := range answers {
			answers[t][n] *= order[n].lambda
		}
	}
	return order, answers
}

// answer is target k's response in the i-th reading, 0 where readings are not looked at.
func (v *view) answer(k, i int) float64 {
	if v.transforms[k].blind {
		return 0
	}
	return v.era.answers[k].items[i]
}

// covariance is the joint posterior covariance at some places.
func (v *view) covariance(ctx context.Context, src *source, at []Place) ([][]float64, error) {
	if src.arms != nil && v.everyArm(at) {
		return src.narrowed.Covariance(ctx)
	}
	src, err := v.byRows(ctx, src)
	if err != nil {
		return nil, err
	}
	return src.data.Covariance(ctx, v.inputs(src.kernel, at))
}

// covariances prepares the posterior covariances of one place of a list with some others of it.
func (v *view) covariances(ctx context.Context, src *source, at []Place, among []int) (func(x int) []float64, error) {
	if src.arms != nil && onArms(at) {
		return func(x int) []float64 {
			row, some := src.narrowed.Covariances(at[x].Arm), make([]float64, len(among))
			for i, y := range among {
				some[i] = row[at[y].Arm]
			}
			return some
		}, nil
	}
	src, err := v.byRows(ctx, src)
	if err != nil {
		return nil, err
	}
	inputs := v.inputs(src.kernel, at)
	some := kernel.NewInputs(inputs.Coordinates())
	for _, y := range among {
		some.Append(inputs.Row(y))
	}
	conditioned, err := src.data.Conditioned(ctx, some)
	return func(x int) []float64 { return conditioned.Covariances(inputs.Row(x)) }, err
}

// played is the posterior of every target at the place of round t when decision t was made. Where that round's reading was the next to arrive,
// it stands in the factor's row already, to the same bits.
func (v *view) played(ctx context.Context, t int, known func(j, i int) float64) ([]policy.Estimate, error) {
	at := []Place{v.placeOf(t)}
	out := v.givenEstimates(at, known)
	for i := range v.sources {
		src := &v.sources[i]
		means, variance := src.next(t)
		if means == nil {
			p, err := v.predict(ctx, i, at, false)
			if err != nil {
				return nil, err
			}
			variance = p.variances[0]
			for n := range p.means {
				means = append(means, p.means[n][0])
			}
		}
		for n, k := range src.targets {
			if v.transforms[k].blind {
				means[n] = 0
			}
			out[k] = policy.Estimate{Mean: []float64{means[n] + v.transforms[k].shift}, SD: []float64{math.Sqrt(max(variance, 0))}}
		}
	}
	return out, nil
}

// next predicts round t from what stands in the factor's row, when its reading is the next one, or from what was noted then; else the
// means are nil.
func (src *source) next(t int) (means []float64, variance float64) {
	if g := src.glimpse; g != nil && g.round == t {
		switch {
		case len(src.waiting) == 0:
			return slices.Clone(g.means), g.variance
		case !math.IsNaN(g.narrowed):
			return slices.Clone(g.means), g.narrowed
		}
	}
	n := src.arrived
	if src.data == nil || src.group == nil || len(src.waiting) > 0 || n >= len(src.group.order) || src.group.order[n].round != t {
		return nil, 0
	}
	for _, z := range src.z {
		means = append(means, src.group.data.AheadMean(n, z))
	}
	return means, src.group.data.AheadVariance(n)
}
