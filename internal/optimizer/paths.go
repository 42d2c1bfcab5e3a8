package optimizer

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// draws is how many functions are drawn of each metric.
const draws = 512

// paths are functions drawn from the posterior: exactly, and jointly, at a finite set Z of places, and between them the mean of the process given the readings and the values
// drawn there. With c(·, ·) the posterior covariance, A = k(X, X) + Λ, and L Lᵀ = c(Z, Z) + ε,
//
//	f(Z) = μ(Z) + τ L ξ,   f(x) = μ(x) + c(x, Z) w,   w = τ L⁻ᵀ ξ,   c(x, Z) w = k(x, Z) w − k(x, X) A⁻¹ k(X, Z) w,
//
// ξ being normal, and τ² = ν/χ²_ν, one for each metric and draw, where predictions are Student-t with ν degrees of freedom, else τ = 1. So a path is the sum of n + |Z| kernels, as a
// posterior mean is of n. (Wilson, Borovitskiy, Terenin, Mostowsky, Deisenroth: Pathwise Conditioning of Gaussian Processes, 2021, with the process at Z in place of random features,
// which not every kernel has.) ξ belongs to the place and τ to the draw, not to the study's version: what is made of the draws changes as the posterior does, and not by chance.
type paths struct {
	state  *State
	known  Known
	at     []Place       // Z
	values [][][]float64 // per target, draw and place of Z: see level
	of     []path
}

// path are the functions drawn of one metric.
type path struct {
	targets  []int
	kernel   Kernel
	function *kernel.Function
	points   *kernel.Inputs // X, then Z
	means    [][]float64    // per target: A⁻¹ y
	weights  [][]float64    // per draw: −A⁻¹ k(X, Z) w, then w
}

// drawPaths draws functions of every metric, at places where the targets have these estimates.
func (s *State) drawPaths(ctx context.Context, at []Place, known Known, estimates []policy.Estimate) (*paths, error) {
	p := &paths{state: s, known: known, at: at, values: make([][][]float64, len(s.targets))}
	for k := range s.targets {
		p.values[k] = matrix(draws, len(at))
		for i := range p.values[k] {
			for n, mean := range estimates[k].Mean {
				p.values[k][i][n] = mean - s.margin(k)
			}
		}
	}
	of := make([]*path, len(s.cfg.Metrics))
	for k, t := range s.targets {
		if t.metric < 0 {
			continue
		}
		if of[t.metric] == nil {
			of[t.metric] = &path{}
		}
		of[t.metric].targets = append(of[t.metric].targets, k)
	}
	for metric, path := range of {
		if path == nil {
			continue
		}
		if err := p.draw(ctx, path, metric); err != nil {
			return nil, err
		}
		p.of = append(p.of, *path)
	}
	return p, nil
}

// margin is what target k lies above its value at the true limit.
func (s *State) margin(k int) float64 {
	if s.targets[k].metric < 0 {
		return s.cfg.Costs[s.targets[k].cost].Margin
	}
	return s.display.era.transforms[k].margin
}

// draw draws the functions of one metric.
func (p *paths) draw(ctx context.Context, of *path, metric int) error {
	s := p.state
	src, err := s.byRows(ctx, s.display, &s.display.sources[s.display.sourceOf[of.targets[0]]])
	if err != nil {
		return err
	}
	Z := s.inputs(src.kernel, p.at)
	root, err := rootOf(ctx, src.data, Z)
	if err != nil {
		return err
	}
	xi, scales := p.normals(metric), s.scales(metric)
	err = inShares(draws, func(i int) error {
		for n := range p.at {
			deviation := scales[i] * factor.Dot(root.Row(n), xi[i])
			for _, k := range of.targets {
				p.values[k][i][n] += s.targets[k].sign * deviation
			}
		}
		return checkpoint.Reach(ctx)
	})
	if err != nil {
		return err
	}
	if s.arms != nil {
		return nil
	}
	of.kernel, of.function = src.kernel, src.data.Kernel()
	for _, k := range of.targets {
		of.means = append(of.means, src.data.Backward(src.z[slices.Index(src.targets, k)]))
	}
	of.points = src.data.Inputs().Prefix(src.data.Len())
	for n := range p.at {
		of.points.Append(Z.Row(n))
	}
	if err := root.SolveUpperMany(ctx, xi); err != nil {
		return err
	}
	for i, w := range xi {
		for n := range w {
			w[n] *= scales[i]
		}
	}
	return of.weigh(ctx, src.data, Z, xi)
}

// weigh makes weights of w.
func (of *path) weigh(ctx context.Context, data *gp.Data, Z *kernel.Inputs, w [][]float64) error {
	taken := matrix(draws, data.Len())
	row := make([]float64, Z.Len())
	for r := range data.Len() {
		data.Kernel().Row(row, data.Inputs().Row(r), Z)
		for i := range w {
			taken[i][r] = -factor.Dot(row, w[i])
		}
	}
	if err := data.Factor().SolveLowerMany(ctx, taken); err != nil {
		return err
	}
	if err := data.Factor().SolveUpperMany(ctx, taken); err != nil {
		return err
	}
	of.weights = taken
	for i := range taken {
		of.weights[i] = append(taken[i], w[i]...)
	}
	return nil
}

// rootOf is L with L Lᵀ = c(X, X) + ε, ε being the least power of a hundred from 1e-10 of the largest variance on with which there is one.
func rootOf(ctx context.Context, d *gp.Data, X *kernel.Inputs) (*factor.Cholesky, error) {
	covariance, err := d.Covariance(ctx, X)
	if err != nil {
		return nil, err
	}
	largest := math.SmallestNonzeroFloat64
	for i, row := range covariance {
		largest = max(largest, row[i])
	}
	added := 0.0
	for more := 1e-10 * largest; ; more *= 100 {
		for i, row := range covariance {
			row[i] += more - added
		}
		added = more
		root := new(factor.Cholesky)
		if err := root.AppendRows(ctx, covariance); !errors.Is(err, factor.ErrNotPositiveDefinite) {
			return root, err
		}
	}
}

// inShares does n pieces of work beside each other on all cores.
func inShares(n int, piece func(i int) error) error {
	work, shares := cores.New(), cores.Count()
	for share := range shares {
		work.Go(func() error {
			for i := share; i < n; i += shares {
				if err := piece(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return work.Wait()
}

// matrix returns rows×columns zeros in one piece.
func matrix(rows, columns int) [][]float64 {
	memory, m := make([]float64, rows*columns), make([][]float64, rows)
	for i := range m {
		m[i] = memory[i*columns : (i+1)*columns : (i+1)*columns]
	}
	return m
}

// gainStream keeps these draws apart from others of the same seed.
const gainStream = 0x6761696e

// normals are ξ of one metric, per draw and place.
func (p *paths) normals(metric int) [][]float64 {
	xi := matrix(draws, len(p.at))
	for n, place := range p.at {
		name := fnv.New64a()
		name.Write(bitsOf(place.U))
		random := rand.New(rand.NewPCG(p.state.cfg.Seed^name.Sum64(), gainStream+uint64(metric)))
		for i := range xi {
			xi[i][n] = random.NormFloat64()
		}
	}
	return xi
}

// scales are τ of one metric, per draw.
func (s *State) scales(metric int) []float64 {
	random := rand.New(rand.NewPCG(s.cfg.Seed, gainStream+uint64(metric)))
	scales := make([]float64, draws)
	freedom := s.display.era.models[metric].freedom
	for i := range scales {
		scales[i] = 1
		if u := random.Float64(); freedom > 0 {
			scales[i] = math.Sqrt(freedom / distuv.ChiSquared{K: freedom}.Quantile(u))
		}
	}
	return scales
}

// score judges a place by the targets' values there: it is allowed where every limit holds.
func score(values []float64) search.Score {
	for _, g := range values[1:] {
		if g > 0 {
			return search.Score{Value: math.Inf(-1)}
		}
	}
	return search.Score{Allowed: true, Value: values[0]}
}

// scores judges the places of Z by draw i.
func (p *paths) scores(i int) []search.Score {
	scores, values := make([]search.Score, len(p.at)), make([]float64, len(p.values))
	for n := range scores {
		for k := range p.values {
			values[k] = p.values[k][i][n]
		}
		scores[n] = score(values)
	}
	return scores
}

// scorer judges other places by draw i.
func (p *paths) scorer(ctx context.Context, i int) func(points [][]float64) ([]search.Score, error) {
	values := make([]float64, len(p.values))
	row := make([]float64, p.longest())
	return func(points [][]float64) ([]search.Score, error) {
		scores := make([]search.Score, len(points))
		for n, u := range points {
			for j, c := range p.state.cfg.Costs {
				if c.Knowledge == Given {
					values[1+j] = c.Excess(p.known.At(j, u))
				}
			}
			for m := range p.of {
				p.follow(&p.of[m], i, u, row, values)
			}
			scores[n] = score(values)
		}
		return scores, checkpoint.Reach(ctx)
	}
}

// longest is the largest number of kernels that a path is the sum of.
func (p *paths) longest() int {
	most := 0
	for _, of := range p.of {
		most = max(most, of.points.Len())
	}
	return most
}

// follow writes the values of the path's targets of draw i at u; row is to be written to.
func (p *paths) follow(of *path, i int, u, row, values []float64) {
	s := p.state
	row = row[:of.points.Len()]
	of.function.Row(row, s.input(of.kernel, Place{U: u, Arm: -1}), of.points)
	deviation := factor.Dot(of.weights[i], row)
	for n, k := range of.targets {
		values[k] = factor.Dot(of.means[n], row) + s.display.era.transforms[k].shift - s.margin(k) + s.targets[k].sign*deviation
	}
}
