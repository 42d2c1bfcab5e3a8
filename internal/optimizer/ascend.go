package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/posterior"
	"headroom/internal/optimizer/search"
)

// smooth tells whether the next decision's score has slopes that can be followed: the algorithm and every kernel have some, and no coordinate
// moves with others.
func (s *decision) smooth() bool {
	if s.traits.Slopes == nil || s.arms != nil {
		return false
	}
	for _, d := range s.cfg.Space.Dims {
		if d.Derived {
			return false
		}
	}
	for i := range s.sources {
		if rows, ok := s.sources[i].Posterior.(*posterior.Rows); !ok || rows.Data.Len() == 0 || !rows.Data.Kernel().Stationary() {
			return false
		}
	}
	return true
}

// ascend leads starts that are allowed up along the slopes of the score, and polishes the best of them: little where slopes tell all, more where
// some axis has levels or where the way up came to the edge of what is allowed. It returns them in the order of their scores.
func (s *decision) ascend(problem search.Problem, climbers []climber, seed uint64) ([]climber, error) {
	e := s.effort()
	var ascents []search.Ascent
	for _, c := range climbers[:min(e.ascents, len(climbers))] {
		if c.score.Allowed {
			ascents = append(ascents, search.Ascent{U: c.u, Score: c.score})
		}
	}
	if err := problem.Ascend(ascents, e.least); err != nil {
		return nil, err
	}
	budget := e.settling
	if slices.ContainsFunc(problem.Axes, func(a search.Axis) bool { return a.Levels > 0 }) {
		budget = e.budget / 2
	}
	var risen []climber
	for _, a := range ascents {
		if !a.Joined {
			risen = append(risen, climber{a.U, a.Score})
		}
		if a.Refused {
			budget = e.budget / 2
		}
	}
	slices.SortStableFunc(risen, byScore)
	err := polish(problem, risen[:min(e.fine, len(risen))], s.spacing()/8, finestStep, budget, seed)
	slices.SortStableFunc(risen, byScore)
	return risen, err
}

// slopes works out scores with their slopes along the unit coordinates. What does not depend on the place is worked out once.
type slopes struct {
	state    *decision
	known    Known
	draw     Draw
	rows     []*posterior.Rows // per source
	zs       [][][]float64     // per source: what means are taken of, z of every target and v(x*) last, where there is an incumbent
	backward [][][]float64     // per source: L⁻ᵀz of them
}

func (s *decision) slopes(known Known, draw Draw) *slopes {
	up := &slopes{state: s, known: known, draw: draw}
	for i := range s.sources {
		rows := s.sources[i].Posterior.(*posterior.Rows) // since it is smooth
		zs := rows.Beside(s.beside(i))
		backward := make([][]float64, len(zs))
		for n, z := range zs {
			backward[n] = rows.Data.Backward(z)
		}
		up.rows, up.zs, up.backward = append(up.rows, rows), append(up.zs, zs), append(up.backward, backward)
	}
	return up
}

// rise scores points of the space on all cores, to the same bits as scoreAll, and gives the slopes of the scores along each coordinate.
func (up *slopes) rise(ctx context.Context) func(points [][]float64) ([]search.Score, []search.Slope, error) {
	return func(points [][]float64) ([]search.Score, []search.Slope, error) {
		scores, along := make([]search.Score, len(points)), make([]search.Slope, len(points))
		work, shares := cores.New(), cores.Count()
		for share := range shares {
			from, to := share*len(points)/shares, (share+1)*len(points)/shares
			if from == to {
				continue
			}
			work.Go(func() error {
				if err := checkpoint.Reach(ctx); err != nil {
					return err
				}
				some, slopes, err := up.at(ctx, points[from:to])
				copy(scores[from:to], some)
				copy(along[from:to], slopes)
				return err
			})
		}
		return scores, along, work.Wait()
	}
}

func (up *slopes) at(ctx context.Context, points [][]float64) ([]search.Score, []search.Slope, error) {
	s, places := up.state, asPlaces(points)
	input := s.bareInput(up.draw)
	estimates := s.givenEstimates(places, up.known.at(places))
	input.Rival = s.rival(places)
	inclined := make([]gp.Inclined, len(s.sources))
	for i := range s.sources {
		src := &s.sources[i]
		inputs, rows := s.points(src.kernel, places).Inputs, up.rows[i]
		var err error
		if inclined[i], err = rows.Data.Incline(ctx, inputs, up.zs[i], up.backward[i]); err != nil {
			return nil, nil, err
		}
		s.take(src, posterior.Prediction{Means: inclined[i].Means[:len(rows.Z)], Variances: inclined[i].Variances}, estimates)
		if input.Rival == nil {
			continue
		}
		together := rows.Together(s.beside(i), inputs, inclined[i].Means[len(rows.Z)])
		for _, k := range src.targets {
			input.Rival.Together[k] = together
		}
	}
	input.Reward, input.Costs = estimates[0], estimates[1:]
	var err error
	if input.TooRisky, err = s.tooRisky(ctx, places, estimates); err != nil {
		return nil, nil, err
	}
	if input.Works, err = s.worksAt(ctx, places); err != nil {
		return nil, nil, err
	}
	working, err := s.worksSlopes(ctx, places, input.Works)
	if err != nil {
		return nil, nil, err
	}
	raw, err := s.score(input)
	if err != nil {
		return nil, nil, err
	}
	scores, _ := s.order(raw, places)
	by := s.traits.Slopes(input)
	along := make([]search.Slope, len(points))
	for n, u := range points {
		inputs := up.alongInputs(n, u, inclined, input, by)
		if working != nil {
			factor.Axpy(1, working[n], inputs)
		}
		along[n].Along = s.cfg.Space.alongUnits(u, inputs)
		for j, g := range by.Costs {
			if v := s.sourceOf[1+j]; v < 0 && g.Mean[n] != 0 {
				factor.Axpy(g.Mean[n], up.givenSlopes(j, u), along[n].Along)
			}
		}
		for _, kink := range by.Kinks {
			up.addKink(&along[n], kink, n, u, inclined, input)
		}
	}
	return scores, along, nil
}

// alongInputs are the slopes of place n's score along the kernel inputs, by the chain rule: the score by means and deviations, these by the inputs.
func (up *slopes) alongInputs(n int, u []float64, inclined []gp.Inclined, input *policy.Input, by policy.Slopes) []float64 {
	v := up.state.view
	along := make([]float64, up.state.cfg.Space.width())
	for i := range v.sources {
		src := &v.sources[i]
		for m, k := range src.targets {
			slope := by.Reward
			if k > 0 {
				slope = by.Costs[k-1]
			}
			up.addTarget(along, n, i, m, inclined, input, slope.Mean[n], slope.SD[n])
		}
		if by.Together == nil {
			continue
		}
		means := inclined[i].MeanGradients[n]
		slope := 0.0
		for _, k := range src.targets {
			slope += by.Together[k][n]
		}
		x, gradient := up.state.kernelInput(src.kernel, Place{U: u, Arm: -1}), make([]float64, len(along))
		up.rows[i].Data.Kernel().Gradients([][]float64{gradient}, x, v.beside(i).Inputs, [][]float64{{1}})
		factor.Axpy(slope, gradient, along)
		factor.Axpy(-slope, means[len(up.rows[i].Z)], along)
	}
	return along
}

// addTarget adds, along the kernel inputs, the slopes at place n of what moves so much with the mean and with the
// deviation of source i's target number m.
func (up *slopes) addTarget(to []float64, n, i, m int, inclined []gp.Inclined, input *policy.Input, byMean, bySD float64) {
	v := up.state.view
	k, estimate := v.sources[i].targets[m], input.Reward
	if k > 0 {
		estimate = input.Costs[k-1]
	}
	if !v.transforms[k].blind {
		factor.Axpy(byMean, inclined[i].MeanGradients[n][m], to)
	}
	if sd := estimate.SD[n]; sd > 0 {
		factor.Axpy(bySD/(2*sd), inclined[i].VarianceGradients[n], to)
	}
}

// alongUnits turns slopes along the kernel inputs at a point into those along its unit coordinates, 0 for a category.
func (s Space) alongUnits(u, inputs []float64) []float64 {
	out := make([]float64, len(u))
	at := 0
	for k, d := range s.Dims {
		switch d.Kind {
		case Linear:
			out[k] = inputs[at] * (d.High - d.Low)
		case Logarithmic:
			ratio := d.High / d.Low
			out[k] = inputs[at] * d.Low * math.Pow(ratio, u[k]) * math.Log(ratio)
		}
		at += d.inputs()
	}
	return out
}
