package optimizer

import (
	"context"
	"math"

	"headroom/internal/optimizer/policy"
)

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
