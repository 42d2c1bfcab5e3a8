package problems

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// set lets the algorithm look at all arms together.
func (p *armsPlayer) set() *policy.Set {
	set := &policy.Set{Points: p.cfg.Space.Arms, Free: everyArm(len(p.cfg.Space.Dims)), Unlike: p.unlike,
		Joint: p.joint(), Reread: p.reread, Distance: p.distance, Earlier: p.sightOf, Design: p.design}
	for _, seed := range p.cfg.SafeSeeds {
		set.Seeds = append(set.Seeds, seed.Arm)
	}
	return set
}

// unlike is the squared distance of two points in unit coordinates; the problems have no categories.
func (p *armsPlayer) unlike(u, v []float64) float64 {
	sum := 0.0
	for k := range u {
		sum += square(u[k] - v[k])
	}
	return sum
}

// sightOf is what the decision of an earlier round saw; given constraints keep their present values.
func (p *armsPlayer) sightOf(round int) *policy.Sight {
	s := *p.earlier[round-1]
	s.Costs = slices.Clone(s.Costs)
	for j, given := range s.Given {
		if given {
			s.Costs[j] = p.sight.Costs[j]
		}
	}
	return &s
}

// design is the point of the space-filling sequence whose turn it is.
func (p *armsPlayer) design() []float64 {
	return search.Halton(p.round(), len(p.cfg.Space.Dims), p.cfg.Seed)[p.round()-1]
}

// joint returns how to draw target k's function over the arms, μ + width·chol(Cov)·n. Targets whose variances are the same share the root.
func (p *armsPlayer) joint() func(among []int) func(k int, width float64, normal func() float64) []float64 {
	over := p.jointOver()
	return func(among []int) func(k int, width float64, normal func() float64) []float64 {
		return func(k int, width float64, normal func() float64) []float64 {
			drawn := over(k, width, normal)
			if among == nil {
				return drawn
			}
			some := make([]float64, len(among))
			for n, i := range among {
				some[n] = drawn[i]
			}
			return some
		}
	}
}

func (p *armsPlayer) jointOver() func(k int, width float64, normal func() float64) []float64 {
	roots := map[*regression][][]float64{}
	return func(k int, width float64, normal func() float64) []float64 {
		narrowed := p.narrowing(k)
		if roots[narrowed] == nil {
			covariance := make([][]float64, p.arms.Len())
			for i := range covariance {
				covariance[i] = narrowed.post.row(i)
			}
			roots[narrowed], _ = factor.SemidefiniteRoot(context.Background(), covariance)
		}
		n := make([]float64, p.arms.Len())
		for i := range n {
			n[i] = normal()
		}
		drawn := slices.Clone(p.data[k].post.Means(p.slot[k]))
		for i, row := range roots[narrowed] {
			drawn[i] += p.targets[k].shift + width*factor.Dot(row, n)
		}
		return drawn
	}
}

// reread prepares target k's posterior at some arms after a reading equal to value at arm x. With c(y) the posterior covariance of x and y,
//
//	μ′(y) = μ(y) + c(y)(value − μ(x))/(c(x) + λ),   σ′²(y) = σ²(y) − c(y)²/(c(x) + λ).
func (p *armsPlayer) reread(k int, among []int) func(x int, value float64) policy.Estimate {
	narrowed := p.narrowing(k).post
	now := estimate(p.data[k].post, narrowed, p.slot[k], p.targets[k].shift)
	return func(x int, value float64) policy.Estimate {
		c := narrowed.row(x)
		total := narrowed.Variance(x) + p.targets[k].lambda
		after := policy.Estimate{Mean: make([]float64, len(among)), SD: make([]float64, len(among))}
		for i, y := range among {
			after.Mean[i] = now.Mean[y] + c[y]*(value-now.Mean[x])/total
			after.SD[i] = math.Sqrt(math.Max(narrowed.Variance(y)-c[y]*c[y]/total, 0))
		}
		return after
	}
}

// distance is the distance of two arms in the problem's units.
func (p *armsPlayer) distance(i, j int) float64 {
	sum := 0.0
	for k, d := range p.cfg.Space.Dims {
		sum += square((p.cfg.Space.Arms[i][k] - p.cfg.Space.Arms[j][k]) * (d.High - d.Low))
	}
	return math.Sqrt(sum)
}
