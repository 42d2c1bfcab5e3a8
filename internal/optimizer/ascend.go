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

// smooth tells whether the next decision's score has slopes that can be followed: the algorithm and
// every kernel have some, and no coordinate moves with others.
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

// ascend leads starts that are allowed up along the slopes of the score, and polishes the best of
// them: little where slopes tell all, more where some axis has levels or where the way up came to
// the edge of what is allowed. It returns them in the order of their scores.
func (s climbing) ascend(problem search.Problem, climbers []climber) ([]climber, error) {
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
	err := polish(problem, risen[:min(e.fine, len(risen))], s.spacing()/8, finestStep, budget, s.chance.Seed+starts)
	slices.SortStableFunc(risen, byScore)
	return risen, err
}

// slopes works out scores with their slopes along the unit coordinates. What does not depend on the
// place is worked out once.
type slopes struct {
	climbing
	rows     []*posterior.Rows // per source
	zs       [][][]float64     // per source: what means are taken of, z of every target and v(x*) last, where there is an incumbent
	backward [][][]float64     // per source: L⁻ᵀz of them
}

func (s climbing) slopes() *slopes {
	up := &slopes{climbing: s}
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

// rise scores points of the space on all cores, to the same bits as scoreAll, and gives the slopes
// of the scores along each coordinate.
func (up *slopes) rise(ctx context.Context) func(points [][]float64) ([]search.Score, []search.Slope, error) {
	return func(points [][]float64) ([]search.Score, []search.Slope, error) {
		places, inclined := asPlaces(points), make([]gp.Inclined, len(up.rows))
		for i := range inclined {
			inclined[i] = gp.NewInclined(len(up.zs[i]), len(points))
		}
		large := up.rows[0].Data.Len() >= largeFrom
		if large {
			if err := up.inclineBySource(ctx, places, inclined); err != nil {
				return nil, nil, err
			}
		}
		scores, along := make([]search.Score, len(places)), make([]search.Slope, len(places))
		return scores, along, cores.Stretches(len(places), func(from, to int) error {
			some := make([]gp.Inclined, len(inclined))
			for i := range some {
				some[i] = inclined[i].Part(from, to)
				if large {
					continue
				}
				if err := up.incline(ctx, i, places[from:to], some[i]); err != nil {
					return err
				}
			}
			values, slopes, err := up.at(ctx, places[from:to], some)
			copy(scores[from:to], values)
			copy(along[from:to], slopes)
			return err
		})
	}
}

// incline works out the posterior of a source at some places, with its slopes.
func (up *slopes) incline(ctx context.Context, source int, places []Place, out gp.Inclined) error {
	if err := checkpoint.Reach(ctx); err != nil {
		return err
	}
	inputs := up.decision.points(up.decision.sources[source].kernel, places).Inputs
	return up.rows[source].Data.InclineInto(ctx, out, inputs, up.zs[source], up.backward[source])
}

// largeFrom is from how many rows on a factor, of a megabyte and more, does not stay in a core's
// cache from one step to the next.
const largeFrom = 512

// inclineBySource is incline of every source on all cores, for large factors. What takes longest is
// to fetch them: each core passes over those of its own sources for all
// places, and only over what then is left for some of the places.
func (up *slopes) inclineBySource(ctx context.Context, places []Place, out []gp.Inclined) error {
	work, count := cores.New(), cores.Count()
	for i := range up.rows {
		pieces := 1
		if i >= len(up.rows)/count*count {
			pieces = min(count, len(places))
		}
		for piece := range pieces {
			from, to := piece*len(places)/pieces, (piece+1)*len(places)/pieces
			work.Go(func() error { return up.incline(ctx, i, places[from:to], out[i].Part(from, to)) })
		}
	}
	return work.Wait()
}

// at are the scores with their slopes at places where the posterior is this.
func (up *slopes) at(ctx context.Context, places []Place, inclined []gp.Inclined) ([]search.Score, []search.Slope, error) {
	s := up.decision
	input := s.bareInput(up.chance)
	estimates := s.givenEstimates(places, up.known.at(places))
	input.Rival = s.rival(places)
	for i := range s.sources {
		src, rows := &s.sources[i], up.rows[i]
		s.take(src, posterior.Prediction{Means: inclined[i].Means[:len(rows.Z)], Variances: inclined[i].Variances}, estimates)
		if input.Rival == nil {
			continue
		}
		together := rows.Together(s.beside(i), s.points(src.kernel, places).Inputs, inclined[i].Means[len(rows.Z)])
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
	along := make([]search.Slope, len(places))
	for n, place := range places {
		u := place.U
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

// alongInputs are the slopes of place n's score along the kernel inputs, by the chain rule: the
// score by means and deviations, these by the inputs.
func (up *slopes) alongInputs(n int, u []float64, inclined []gp.Inclined, input *policy.Input, by policy.Slopes) []float64 {
	v := up.decision.view
	along := make([]float64, up.decision.cfg.Space.width())
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
		x, gradient := up.decision.kernelInput(src.kernel, Place{U: u, Arm: -1}), make([]float64, len(along))
		up.rows[i].Data.Kernel().Gradients([][]float64{gradient}, x, v.beside(i).Inputs, [][]float64{{1}})
		factor.Axpy(slope, gradient, along)
		factor.Axpy(-slope, means[len(up.rows[i].Z)], along)
	}
	return along
}

// addTarget adds, along the kernel inputs, the slopes at place n of what moves so much with the
// mean and with the deviation of source i's target number m.
func (up *slopes) addTarget(to []float64, n, i, m int, inclined []gp.Inclined, input *policy.Input, byMean, bySD float64) {
	v := up.decision.view
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

// alongUnits turns slopes along the kernel inputs at a point into those along its unit coordinates,
// 0 for a category.
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
