package optimizer

import (
	"context"
	"errors"
	"math"
	"slices"

	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/search"
)

// region is the surroundings of a place that some draws are highest at. To follow a draw takes as
// many kernels as there are data and places drawn at, so that is done at a few points around, for
// all the draws together. Between them a draw is taken for the mean of its process given its values
// there,
//
//	f(x) ≈ f(z) + k(x, P) (k(P, P) + ε)⁻¹ (f(P) − f(z)),
//
// and climbed; where that leads to counts for what the draw is there.
type region struct {
	paths  *paths
	axes   []search.Axis
	step   float64 // the space's spacing
	draws  []int   // with the same hyperparameters
	at     [][]float64
	values [][][]float64 // per draw, point and target
	near   []nearby      // per metric; nil where there is nothing to climb
}

// nearby is the covariance of a metric's function between a region's points.
type nearby struct {
	*path
	function *kernel.Function
	inputs   *kernel.Inputs
	root     *factor.Cholesky
}

const (
	regionReach  = 2  // of a region, in spacings, along each coordinate
	regionPoints = 8  // around a place, for each coordinate
	regionPolls  = 30 // on the way up, for each coordinate
)

// backwards are the parts of a way up that are looked at until one is allowed and higher: where
// limits are active, its end may lie beyond them.
var backwards = []float64{1, 0.98, 0.9, 0.7}

// bests are the largest rewards within the limits, draw by draw, −∞ where there is none.
func (p *paths) bests(ctx context.Context) ([]float64, error) {
	tops := make([]climber, draws)
	for i := range tops {
		tops[i] = p.top(i)
	}
	if p.state.arms == nil {
		if err := p.climb(ctx, tops); err != nil {
			return nil, err
		}
	}
	best := make([]float64, draws)
	for i, top := range tops {
		if best[i] = top.score.Value; !top.score.Allowed {
			best[i] = math.Inf(-1)
		}
	}
	return best, nil
}

// climb leads every draw from the highest place that it was drawn at up hill.
func (p *paths) climb(ctx context.Context, tops []climber) error {
	regions, of, within := p.regions(tops)
	if err := inShares(len(regions), func(n int) error { return regions[n].explore(ctx) }); err != nil {
		return err
	}
	return inShares(draws, func(i int) (err error) {
		tops[i], err = regions[of[i]].climb(ctx, within[i], tops[i])
		return err
	})
}

// regions are those of the places that draws are highest at, which of them is each draw's, and which
// draw of that it is.
func (p *paths) regions(tops []climber) (list []*region, of, within []int) {
	axes, step, sets := p.state.cfg.Space.axes(), p.state.spacing(), 1
	spread := search.Halton(regionPoints*len(axes), len(axes), p.state.cfg.Seed)
	for _, path := range p.of {
		sets = max(sets, len(path.sets))
	}
	type name struct {
		place *float64
		set   int
	}
	known := map[name]int{}
	of, within = make([]int, draws), make([]int, draws)
	for i, top := range tops {
		n, ok := known[name{&top.u[0], i % sets}]
		if !ok {
			n = len(list)
			known[name{&top.u[0], i % sets}] = n
			list = append(list, p.around(top.u, axes, step, spread))
		}
		of[i], within[i] = n, len(list[n].draws)
		list[n].draws = append(list[n].draws, i)
	}
	return list, of, within
}

// around is the region of a place: it, points spread around it, and those that differ from it in one
// choice.
func (p *paths) around(place []float64, axes []search.Axis, step float64, spread [][]float64) *region {
	s, r := p.state, &region{paths: p, axes: axes, step: step, at: [][]float64{place}}
	add := func(u []float64) {
		if u, ok := s.cfg.Space.settle(u); ok && !slices.ContainsFunc(r.at, func(other []float64) bool { return slices.Equal(u, other) }) {
			r.at = append(r.at, u)
		}
	}
	for _, part := range spread {
		u := slices.Clone(place)
		for k, axis := range axes {
			if !axis.Choice {
				u[k] = min(max(u[k]+regionReach*step*min(max(2.4*part[k]-1.2, -1), 1), 0), 1)
			}
		}
		add(u)
	}
	for k, axis := range axes {
		if axis.Choice {
			for _, v := range across(axis) {
				u := slices.Clone(place)
				u[k] = v
				add(u)
			}
		}
	}
	return r
}

// explore follows the draws to the region's points.
func (r *region) explore(ctx context.Context) (err error) {
	if r.values, err = r.paths.follow(ctx, r.draws, r.at); err != nil {
		return err
	}
	for m := range r.paths.of {
		near := nearby{path: &r.paths.of[m]}
		near.function, near.inputs = near.set(r.draws[0]).data.Kernel(), r.paths.state.points(near.kernel, asPlaces(r.at)).Inputs
		covariance := factor.Triangle(0, len(r.at))
		for n, row := range covariance {
			near.function.Row(row, near.inputs.Row(n), near.inputs.Prefix(n+1))
		}
		near.root, err = raisedRoot(ctx, covariance)
		if errors.Is(err, factor.ErrNotPositiveDefinite) { // what the prior is sure of has nothing to climb
			r.near = nil
			return nil
		}
		if err != nil {
			return err
		}
		r.near = append(r.near, near)
	}
	return nil
}

// climb leads one of the draws, by its number in the region, from the highest point up hill.
func (r *region) climb(ctx context.Context, d int, top climber) (climber, error) {
	p, i := r.paths, r.draws[d]
	scores, err := p.judge(ctx, i, r.at, r.values[d])
	if err != nil {
		return top, err
	}
	for n, is := range scores {
		if is.Above(top.score) {
			top = climber{r.at[n], is}
		}
	}
	if !top.score.Allowed || r.near == nil {
		return top, nil
	}
	s, guess := p.state, r.guess(d)
	problem := search.Problem{Axes: r.axes, Settle: r.settle, Score: func(points [][]float64) ([]search.Score, error) {
		return p.judge(ctx, i, points, guess(points))
	}}
	end, _, err := problem.Polish(top.u, top.score, r.step/2, r.step/64, regionPolls*len(top.u), s.cfg.Seed)
	if err != nil || slices.Equal(end, top.u) {
		return top, err
	}
	for _, part := range backwards {
		u, ok := s.cfg.Space.settle(between(top.u, end, part))
		if !ok {
			continue
		}
		values, err := p.follow(ctx, r.draws[d:d+1], [][]float64{u})
		if err != nil {
			return top, err
		}
		is, err := p.judge(ctx, i, [][]float64{u}, values[0])
		if err != nil {
			return top, err
		}
		if is[0].Above(top.score) {
			return climber{u, is[0]}, nil
		}
	}
	return top, nil
}

// settle is that of the space, in the region.
func (r *region) settle(u []float64) bool {
	for k, axis := range r.axes {
		if !axis.Choice && math.Abs(u[k]-r.at[0][k]) > regionReach*r.step {
			return false
		}
	}
	settle := r.paths.state.cfg.Space.Settle
	return settle == nil || settle(u)
}

// guess gives the values that one of the draws, by its number in the region, is taken to have at
// points, per point and target.
func (r *region) guess(d int) func(points [][]float64) [][]float64 {
	weights := make([][][]float64, len(r.near)) // per metric and target
	for m, near := range r.near {
		weights[m] = matrix(len(near.targets), len(r.at))
		for t, k := range near.targets {
			w := weights[m][t]
			for n := range w {
				w[n] = r.values[d][n][k] - r.values[d][0][k]
			}
			near.root.SolveLower(w, w)
			near.root.SolveUpper(w, w)
		}
	}
	row := make([]float64, len(r.at))
	return func(points [][]float64) [][]float64 {
		values := r.paths.givenValues(points)
		for n, u := range points {
			x := r.paths.state.cfg.Space.features(u)
			for m, near := range r.near {
				near.function.Row(row, x, near.inputs)
				for t, k := range near.targets {
					values[n][k] = r.values[d][0][k] + factor.Dot(row, weights[m][t])
				}
			}
		}
		return values
	}
}
