package optimizer

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/search"
)

// Functions are drawn jointly over places, one place after another. A value that was drawn is like
// a reading without noise: with L Lᵀ the covariance of the readings and of the places drawn before
// x, L_x the row of x and n standard normal, a draw of f ~ GP(μ, w²k_t) is at x
//
//	f(x) = Σ_s L_xs z_s + L_xx w n,   and z_x = w n,
//
// whatever the order. So only places that may still be chosen need to be drawn. Given the values
// drawn so far, f(x) is normal with mean m(x) = v(x)ᵀz and a standard deviation of at most w σ′(x),
// where σ′ is the deviation given a few of the readings and the places drawn. A place is ruled out
// when its score would be too low even if each of its functions, or, where the score is a sum of
// functions with weights c and perhaps cut, their sum, were ruledOut deviations in its favour:
//
//	score(f) − score(m) ≤ Σ_k |c_k| [f_k − m_k]⁺,   of which the deviation is √Σ_k (c_k w_k σ′_k)².
//
// A larger deviation has a probability of some 10⁻⁹: over thousands of places, fewer than one
// decision in a hundred thousand would differ.
const (
	ruledOut     = 6
	firstDrawn   = 48  // places drawn before any is ruled out; then twice as many each time
	mostDrawn    = 192 // places drawn at a time after ruling out; all the rest is drawn next
	mostLeft     = 0.9 // the rest is also drawn when more than this share of it was not ruled out
	fewPlaces    = 256 // up to so many places are drawn without ruling out
	picksFrom    = 4   // the places to draw next are picked from so many times as many
	boundingRows = 128 // readings that deviations are bounded by
	boundedAgain = 16  // highest places whose bounds are updated when one is picked

	// drawnNoise is the noise variance of drawn values, as a share of the prior variance, against
	// rounding errors.
	drawnNoise = 1e-11
)

// drawing draws the functions of some targets over places.
type drawing struct {
	*decision
	at           []Place
	template     *policy.Input // the input without estimates
	known        func(j, i int) float64
	given        []policy.Estimate // of targets that are not regressed
	widths       []float64
	normal       *rand.Rand
	drawnSources []*drawnSource // per source
	functions    [][]float64    // per target, of which some were drawn
}

// drawnSource is a source with the drawn places as further readings.
type drawnSource struct {
	*source
	inputs           *kernel.Inputs // of all places
	full             posterior.Rows // all readings, and the places drawn
	partial          posterior.Rows // the first boundingRows readings, and the places drawn
	partialVariances []float64      // given the first boundingRows readings; where some target is not drawn
}

// newDrawing prepares drawing functions of the targets over places, by their widths and the seed of
// the template.
func (s *decision) newDrawing(ctx context.Context, at []Place, known func(j, i int) float64, blind *policy.Input, widths []float64) (*drawing, error) {
	d := &drawing{decision: s, at: at, template: blind, known: known, given: s.givenEstimates(at, known), widths: widths,
		normal: rand.New(rand.NewPCG(blind.Draw.Seed, 0)), functions: make([][]float64, len(s.targets))}
	for k, width := range widths {
		switch {
		case width == 0:
		case s.sourceOf[k] < 0:
			d.functions[k] = d.given[k].Mean
		default:
			d.functions[k] = make([]float64, len(at))
		}
	}
	for i := range s.sources {
		src := &s.sources[i]
		rows, err := src.Rows(ctx)
		if err != nil {
			return nil, err
		}
		one := &drawnSource{source: src, inputs: s.points(src.kernel, at).Inputs, full: posterior.Rows{Data: rows.Data.Clone()}}
		one.partial.Data = one.full.Data
		if rows.Read > boundingRows || rows.Data.Len() > rows.Read {
			one.partial.Data = rows.Data.Prefix(min(boundingRows, rows.Read))
		}
		one.full.Z = lists.Map(rows.Z, slices.Clone)
		if slices.ContainsFunc(one.targets, func(k int) bool { return widths[k] == 0 }) {
			p, err := one.partial.Predict(ctx, posterior.Points{Inputs: one.inputs}, nil)
			if err != nil {
				return nil, err
			}
			one.partialVariances = p.Variances
		}
		d.drawnSources = append(d.drawnSources, one)
	}
	return d, nil
}

// drawOver draws functions over the places that have a chance to be chosen, or over all. It returns
// which these are, in ascending order, and the algorithm's input there.
func (s *decision) drawOver(
	ctx context.Context, at []Place, known func(j, i int) float64, blind *policy.Input, widths []float64, all bool,
) (chosen []int, input *policy.Input, err error) {
	d, err := s.newDrawing(ctx, at, known, blind, widths)
	if err != nil {
		return nil, nil, err
	}
	if err := checkpoint.Reach(ctx); err != nil {
		return nil, nil, err
	}
	left, size := lists.Below(len(at)), firstDrawn
	if len(at) <= fewPlaces {
		size = 2 * mostDrawn
	}
	for ; len(left) > 0; size *= 2 {
		picks := left
		if size <= mostDrawn {
			if picks, left, err = d.selectNext(ctx, left, chosen, size); err != nil {
				return nil, nil, err
			}
		}
		if err = d.draw(ctx, picks); err != nil {
			return nil, nil, err
		}
		chosen = append(chosen, picks...)
		left = without(left, picks)
	}
	if rest := without(lists.Below(len(at)), chosen); all {
		if err = d.draw(ctx, rest); err != nil {
			return nil, nil, err
		}
		chosen = append(chosen, rest...)
	}
	slices.Sort(chosen)
	input, err = s.inputAt(ctx, lists.At(at, chosen), func(j, i int) float64 { return known(j, chosen[i]) }, blind.Draw)
	if err == nil {
		d.setFunctions(input, chosen)
	}
	return chosen, input, err
}

// drawAll returns the scores of places in one draw of all targets' functions.
func (s *decision) drawAll(ctx context.Context, at []Place, known Known, draw Draw) (policy.Scores, error) {
	input, err := s.inputWithoutEstimates(ctx, at, known.at(at), draw)
	if err != nil {
		return policy.Scores{}, err
	}
	all := lists.Below(len(at))
	d, err := s.newDrawing(ctx, at, known.at(at), input, slices.Repeat([]float64{1}, len(s.targets)))
	if err != nil {
		return policy.Scores{}, err
	}
	if err := d.draw(ctx, all); err != nil {
		return policy.Scores{}, err
	}
	d.setFunctions(input, all)
	return policy.Sampled(input), nil
}

// setFunctions sets the functions of an input at its places.
func (d *drawing) setFunctions(input *policy.Input, places []int) {
	input.Functions = make([][]float64, len(d.functions))
	for k, f := range d.functions {
		if f != nil {
			input.Functions[k] = lists.At(f, places)
		}
	}
}

// draw draws the functions at some places.
func (d *drawing) draw(ctx context.Context, places []int) error {
	normal := factor.Matrix(len(d.targets), len(places))
	for k := range normal {
		for p := range places {
			if d.sourceOf[k] >= 0 && d.widths[k] != 0 {
				normal[k][p] = d.widths[k] * d.normal.NormFloat64()
			}
		}
	}
	return cores.Each(len(d.drawnSources), func(i int) error {
		one := d.drawnSources[i]
		rows, err := appendDrawn(ctx, one.full.Data, one.inputs, places)
		for p, row := range rows {
			for n, k := range one.targets {
				if len(row) > len(one.full.Z[n]) {
					one.full.Z[n] = append(one.full.Z[n], normal[k][p])
				}
				if d.widths[k] != 0 {
					d.functions[k][places[p]] = d.transforms[k].shift + factor.Dot(row, one.full.Z[n])
				}
			}
		}
		return err
	})
}

// appendDrawn appends places to data and returns L_x of each. A place whose value the others or the
// prior determine is not appended; its L_x comes without L_xx.
func appendDrawn(ctx context.Context, data *gp.Data, inputs *kernel.Inputs, places []int) (rows [][]float64, err error) {
	var xs [][]float64
	var noise []float64
	for _, i := range places {
		xs, noise = append(xs, inputs.Row(i)), append(noise, drawnNoise*data.Kernel().Diagonal(inputs.Row(i)))
	}
	before := data.Len()
	if err = factor.ErrNotPositiveDefinite; !slices.Contains(noise, 0) {
		err = data.AppendAll(ctx, xs, noise, nil)
	}
	switch {
	case err == nil:
		for r := before; r < data.Len(); r++ {
			rows = append(rows, data.Factor().Row(r))
		}
		return rows, nil
	case !errors.Is(err, factor.ErrNotPositiveDefinite):
		return nil, err
	case len(places) == 1:
		return [][]float64{data.Solve(xs[0])}, nil
	}
	if rows, err = appendDrawn(ctx, data, inputs, places[:len(places)/2]); err != nil {
		return nil, err
	}
	more, err := appendDrawn(ctx, data, inputs, places[len(places)/2:])
	return append(rows, more...), err
}

// boundedPlaces are places with the means of their functions given the values drawn, per target,
// and upper bounds of their scores.
type boundedPlaces struct {
	of     []int
	means  [][]float64
	scores []search.Score
}

func (b boundedPlaces) higher(i, j int) int { return search.Higher(b.scores[i], b.scores[j]) }

// pick selects the places at these positions.
func (b boundedPlaces) pick(positions []int) boundedPlaces {
	means := lists.Map(b.means, func(means []float64) []float64 { return lists.At(means, positions) })
	return boundedPlaces{lists.At(b.of, positions), means, lists.At(b.scores, positions)}
}

// selectNext returns the places to draw next, and the rest of those that are not ruled out.
func (d *drawing) selectNext(ctx context.Context, left, chosen []int, size int) (picks, rest []int, err error) {
	of, err := d.boundScores(ctx, left)
	if err != nil {
		return nil, nil, err
	}
	least := search.Score{Rank: ranks}
	if len(chosen) > 0 {
		if least, err = d.runnerUpScore(ctx, chosen); err != nil {
			return nil, nil, err
		}
	}
	positions := lists.Where(len(left), func(i int) bool { return !outOfReach(of.scores[i], least) })
	rest = lists.At(left, positions)
	if len(rest) <= size || len(chosen) > 0 && float64(len(rest)) > mostLeft*float64(len(left)) {
		return rest, nil, nil
	}
	slices.SortStableFunc(positions, of.higher)
	picks, err = d.pickFrom(ctx, of.pick(positions[:min(picksFrom*size, len(positions))]), size)
	return picks, without(rest, picks), err
}

// boundScores bounds the scores of places from above.
func (d *drawing) boundScores(ctx context.Context, places []int) (boundedPlaces, error) {
	b, variances := boundedPlaces{of: places, means: make([][]float64, len(d.targets))}, make([][]float64, len(d.drawnSources))
	for k, e := range d.given {
		if d.sourceOf[k] < 0 {
			b.means[k] = lists.At(e.Mean, places)
		}
	}
	for i, one := range d.drawnSources {
		at := posterior.Points{Inputs: one.inputs.Pick(places)}
		drawn := posterior.Rows{Data: one.full.Data, Z: one.full.Z, Read: one.full.Data.Len()}
		means, err := drawn.Means(ctx, at)
		if err != nil {
			return b, err
		}
		for n, k := range one.targets {
			floats.AddConst(d.transforms[k].shift, means[n])
			b.means[k] = means[n]
		}
		p, err := one.partial.Predict(ctx, at, nil)
		if err != nil {
			return b, err
		}
		variances[i] = p.Variances
	}
	var err error
	b.scores, err = d.bestScores(places, b.means, variances)
	return b, err
}

// bestScores bounds scores from above at places with these means per target and, per source,
// variances.
func (d *drawing) bestScores(places []int, means, variances [][]float64) ([]search.Score, error) {
	input, favoured := *d.template, make([][]float64, len(means))
	estimates, n := make([]policy.Estimate, len(means)), len(means[0])
	input.Functions = make([][]float64, len(means))
	sums := make([]float64, n)
	var weights []float64
	if d.traits.Weights != nil {
		weights = d.traits.Weights(d.template)
	}
	for k, mean := range means {
		estimates[k] = policy.Estimate{Mean: mean, SD: make([]float64, n)}
		if i := d.sourceOf[k]; i >= 0 && d.widths[k] == 0 {
			estimates[k].SD = deviations(lists.At(d.drawnSources[i].partialVariances, places), 1)
		} else if i >= 0 {
			estimates[k].SD = deviations(variances[i], 1)
		}
		if d.widths[k] == 0 {
			continue
		}
		input.Functions[k], favoured[k] = mean, slices.Clone(mean)
		sign := 1.0
		if k > 0 {
			sign = -1
		}
		factor.Axpy(sign*ruledOut*d.widths[k], estimates[k].SD, favoured[k])
		for i, sd := range estimates[k].SD {
			if weights != nil {
				sd *= weights[k] * d.widths[k]
				sums[i] += sd * sd
			}
		}
	}
	input.Reward, input.Costs = estimates[0], estimates[1:]
	usual, err := d.scoresOf(&input, d.traits.Upper)
	if err != nil {
		return nil, err
	}
	input.Functions = favoured
	scores, err := d.scoresOf(&input, d.traits.Upper)
	if err != nil || weights == nil {
		return scores, err
	}
	for i := range scores {
		above := ruledOut * math.Sqrt(sums[i])
		scores[i].Value, scores[i].Tie = min(scores[i].Value, usual[i].Value+above), min(scores[i].Tie, usual[i].Tie+above)
	}
	return scores, nil
}

// scoresOf are the scores of an input, by upper or, for nil, by the policy, all places having one
// rank.
func (d *drawing) scoresOf(input *policy.Input, upper func(*policy.Input) policy.Scores) ([]search.Score, error) {
	var raw policy.Scores
	var err error
	if upper != nil {
		raw = upper(input)
	} else if raw, err = d.policy.Score(input); err != nil {
		return nil, err
	}
	return lists.Of(len(raw.Value), func(i int) search.Score { return searchScore(raw, i) }), nil
}

// runnerUpScore is the score of the best place drawn that differs noticeably from the very best. A
// place below it is neither chosen nor the runner-up.
func (d *drawing) runnerUpScore(ctx context.Context, chosen []int) (search.Score, error) {
	input, at := *d.template, lists.At(d.at, chosen)
	if slices.Contains(d.widths, 0) { // bounds of the other targets need their estimates
		estimates, err := d.estimate(ctx, at, func(j, i int) float64 { return d.known(j, chosen[i]) })
		if err != nil {
			return search.Score{}, err
		}
		input.Reward, input.Costs = estimates[0], estimates[1:]
	}
	d.setFunctions(&input, chosen)
	scores, err := d.scoresOf(&input, nil)
	if err != nil {
		return search.Score{}, err
	}
	first, least := 0, search.Score{Rank: ranks}
	for i, score := range scores {
		if score.Above(scores[first]) {
			first = i
		}
	}
	for i, score := range scores {
		if i != first && (at[i].Arm >= 0 || distinct(at[i].U, at[first].U)) && score.Above(least) {
			least = score
		}
	}
	return least, nil
}

// outOfReach tells whether a score whose upper bound is best is below another, ties included.
func outOfReach(best, score search.Score) bool {
	below := score
	below.Value -= tie * math.Max(1, math.Abs(score.Value))
	below.Tie = math.Inf(-1)
	return below.Above(best) || best.Value == score.Value && score.Above(best)
}

// pickFrom picks places one after another, each the one of the highest bound given that those
// before it will be drawn. Bounds fall with each place picked, so an older bound is still a bound,
// and only the highest are updated.
func (d *drawing) pickFrom(ctx context.Context, of boundedPlaces, size int) ([]int, error) {
	left := make([]*residualCovariance, len(d.drawnSources))
	for i, one := range d.drawnSources {
		covariance, err := one.partial.Data.Covariance(ctx, one.inputs.Pick(of.of))
		if err != nil {
			return nil, err
		}
		variances := lists.Of(len(covariance), func(x int) float64 { return covariance[x][x] })
		left[i] = &residualCovariance{covariance: covariance, variances: variances}
	}
	order, lookedAt := lists.Below(len(of.of)), make([]int, len(of.of)) // lookedAt: how many were taken when a place's bound was last updated
	var taken []int
	for looked := len(order); len(taken) < size; looked = min(boundedAgain, len(order)) {
		if err := checkpoint.Reach(ctx); err != nil {
			return nil, err
		}
		if err := d.boundAgain(of, order[:looked], left); err != nil {
			return nil, err
		}
		for n := looked - 1; n >= 0; n-- { // sort what was updated into the order, before equals
			i, behind := order[n], order[n+1:]
			lookedAt[i] = len(taken)
			before, _ := slices.BinarySearchFunc(behind, i, of.higher)
			copy(order[n:], behind[:before])
			order[n+before] = i
		}
		for next := order[0]; len(taken) < size && lookedAt[next] == len(taken); next = order[0] {
			taken, order = append(taken, next), order[1:]
			for _, one := range left {
				one.condition(next)
			}
		}
	}
	picks := lists.At(of.of, taken)
	for _, one := range d.drawnSources {
		if one.partial.Data == one.full.Data { // draw appends them
			continue
		}
		if _, err := appendDrawn(ctx, one.partial.Data, one.inputs, picks); err != nil {
			return nil, err
		}
	}
	return picks, nil
}

// boundAgain updates the bounds of the places at some positions, with the variances left there.
func (d *drawing) boundAgain(of boundedPlaces, positions []int, left []*residualCovariance) error {
	variances := lists.Map(left, func(one *residualCovariance) []float64 { return lists.At(one.variances, positions) })
	some := of.pick(positions)
	scores, err := d.bestScores(some.of, some.means, variances)
	for n, score := range scores {
		of.scores[positions[n]] = score
	}
	return err
}

// residualCovariance is a covariance of places given the values at those taken.
type residualCovariance struct {
	covariance [][]float64 // before any is taken, the lower triangle
	variances  []float64
	taken      [][]float64 // u of each value taken: the covariance is reduced by u uᵀ
}

// condition conditions on the value at place x.
func (r *residualCovariance) condition(x int) {
	variance, u := r.variances[x], make([]float64, len(r.variances))
	if !(variance > 0) {
		return
	}
	copy(u, r.covariance[x][:x+1])
	for i := x + 1; i < len(u); i++ {
		u[i] = r.covariance[i][x]
	}
	for _, before := range r.taken {
		factor.Axpy(-before[x], before, u)
	}
	for i := range u {
		u[i] /= math.Sqrt(variance)
		r.variances[i] = max(0, r.variances[i]-u[i]*u[i])
	}
	r.variances[x] = 0
	r.taken = append(r.taken, u)
}

// inputOf is the input of one place that was or is to be played. Where a policy draws whole
// functions and the draw was not recorded, it is drawn at that place alone.
func (s *decision) inputOf(ctx context.Context, at Place, known func(j, i int) float64, draw Draw) (*policy.Input, error) {
	input, err := s.inputAt(ctx, []Place{at}, known, draw)
	if err != nil {
		return nil, err
	}
	return s.withDraw(ctx, input, at, known)
}

// withDraw adds to the input of one place the draw there of a policy that draws whole functions,
// unless it was recorded.
func (s *decision) withDraw(ctx context.Context, input *policy.Input, at Place, known func(j, i int) float64) (*policy.Input, error) {
	if s.traits.Drawn == nil || len(input.Draw.Z) == len(s.targets) {
		return input, nil
	}
	if widths := s.traits.Functions(input); widths != nil {
		d, err := s.newDrawing(ctx, []Place{at}, known, input, widths)
		if err == nil {
			err = d.draw(ctx, []int{0})
		}
		if err != nil {
			return nil, err
		}
		d.setFunctions(input, []int{0})
	}
	input.Draw.Z = s.drawnAt(input, 0)
	return input, nil
}

// drawnAt is what is recorded of the functions drawn, at place i; 0 where none were.
func (s *decision) drawnAt(input *policy.Input, i int) []float64 {
	if input.Functions == nil {
		return make([]float64, len(s.targets))
	}
	return s.traits.Drawn(input, i)
}
