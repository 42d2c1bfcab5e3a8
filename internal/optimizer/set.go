package optimizer

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/policy"
)

// joint prepares to draw targets' functions over some of the places, all if among is nil: μ +
// width·chol(Cov)·n.
func (v *view) joint(ctx context.Context, at []Place, among []int) (func(k int, width float64, normal func() float64) []float64, error) {
	if among != nil {
		all := at
		at = make([]Place, len(among))
		for n, i := range among {
			at[n] = all[i]
		}
	}
	means, roots, err := v.meansAndRoots(ctx, at)
	return func(k int, width float64, normal func() float64) []float64 {
		drawn, n := make([]float64, len(at)), make([]float64, len(at))
		for i := range n {
			n[i] = normal()
		}
		source := v.sourceOf[k]
		mean, root := means[source][slices.Index(v.sources[source].targets, k)], roots[source]
		inShares(len(at), func(c int) error {
			drawn[c] = mean[c] + (v.transforms[k].shift + width*factor.Dot(root[c], n))
			return nil
		})
		return drawn
	}, err
}

// meansAndRoots are the means of every source's targets, and the roots of the posterior covariances
// over the places, worked out beside each other: who draws one function draws them all.
func (v *view) meansAndRoots(ctx context.Context, at []Place) (means, roots [][][]float64, err error) {
	means, roots = make([][][]float64, len(v.sources)), make([][][]float64, len(v.sources))
	work := cores.New()
	for i, src := range v.sources {
		points := v.points(src.kernel, at)
		if means[i], err = src.Means(ctx, points); err != nil {
			return nil, nil, err
		}
		work.Go(func() (err error) {
			roots[i], err = factor.SemidefiniteRoot(ctx, func() ([][]float64, error) { return src.Covariance(ctx, points) })
			return err
		})
	}
	return means, roots, work.Wait()
}

// reread prepares target k's posterior at some of the places after one more reading at place x.
// With c(y) the posterior covariance of places x and y, and s = c(x) + λ,
//
//	μ′(y) = μ(y) + c(y)(value − μ(x))/s,   σ′²(y) = σ²(y) − c(y)²/s.
func (v *view) reread(ctx context.Context, at []Place, k int, among []int) (func(x int, value float64) policy.Estimate, error) {
	src := &v.sources[v.sourceOf[k]]
	m := v.regime.models[v.targets[k].metric]
	covariances, err := src.Covariances(ctx, v.points(src.kernel, at), among)
	if err != nil {
		return nil, err
	}
	estimates, err := v.estimate(ctx, at, nil)
	if err != nil {
		return nil, err
	}
	at0 := estimates[k]
	return func(x int, value float64) policy.Estimate {
		c := covariances(x)
		total := at0.SD[x]*at0.SD[x] + m.noise.at(at[x], m.lambda)
		after := policy.Estimate{Mean: make([]float64, len(among)), SD: make([]float64, len(among))}
		for i, y := range among {
			after.Mean[i] = at0.Mean[y] + c[i]*(value-at0.Mean[x])/total
			after.SD[i] = math.Sqrt(max(0, at0.SD[y]*at0.SD[y]-c[i]*c[i]/total))
		}
		return after
	}, nil
}
