// Package probit models outcomes that are yes or no by a latent function h with a Gaussian process
// prior of constant mean m and covariance k, and
//
//	P(yes at x | h) = Φ(h(x)),   Φ the standard normal distribution function.
//
// Given outcomes y_i = ±1 at points X, the posterior of h is approximated by expectation propagation
// (Minka 2001; Rasmussen & Williams, Gaussian Processes for Machine Learning, section 3.6): each
// Φ(y_i h_i) is replaced by a normal density in h_i, of precision τ_i and mean ν_i/τ_i, such that
// the posterior of h_i has the mean and variance that it has with Φ(y_i h_i) itself in place of that
// density. So the posterior is the regression (package gp) of the responses ν/τ − m with noise
// variances 1/τ, and
//
//	P(yes at x) = Φ(mean/√(1 + variance)).
//
// Where outcomes change sharply, as where trials begin to fail, h is large and its posterior far from
// normal at its mode: Laplace's method, which expands there, says chances that are much too near to
// ½ (Kuss & Rasmussen, Assessing Approximate Inference for Binary Gaussian Process Classification,
// 2005).
package probit

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/lists"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
)

// Model is the posterior of h. It is immutable.
type Model struct {
	data     *gp.Data
	mean     float64 // m
	z        []float64
	weights  [][]float64 // of z alone, see gp.Data.Weights
	evidence float64
}

const (
	mostSweeps     = 200
	settled        = 1e-6 // change of mean/√(1 + variance) at all outcomes, below which a sweep is the last
	leastPrecision = 1e-10
	// A sweep goes this part of the way that each density would go by itself, less after every sweep
	// that did not change clearly less than the one before: all go at once, and those of near points
	// the same way, too far and back for ever if nothing slows them.
	firstPart, slower = 0.7, 0.8
)

// Fit returns the posterior given outcomes yes at the points of these inputs, at least one, with
// prior mean m. It costs O(n³) a sweep, some twenty sweeps, and reaches checkpoints. The error is that
// of ctx, or of a covariance that cannot be computed with.
func Fit(ctx context.Context, k *kernel.Function, inputs [][]float64, yes []bool, m float64) (*Model, error) {
	model, X := &Model{mean: m}, kernel.InputsOf(inputs)
	all, deviates := slices.Repeat([]site{{precision: leastPrecision}}, len(inputs)), slices.Repeat([]float64{math.Inf(1)}, len(inputs))
	part, change := firstPart, math.Inf(1)
	for range mostSweeps {
		if err := model.regress(ctx, k, inputs, all); err != nil {
			return nil, err
		}
		means, variances, err := model.Predict(ctx, X)
		if err != nil {
			return nil, err
		}
		last := change
		change, model.evidence = 0, -model.data.Gain(len(inputs))-factor.Dot(model.z, model.z)/2
		for i, s := range all {
			next, evidence := s.next(means[i], variances[i], yes[i])
			model.evidence += evidence
			deviate := means[i] / math.Sqrt(1+variances[i])
			change, deviates[i] = max(change, math.Abs(deviate-deviates[i])), deviate
			all[i].precision += part * (next.precision - s.precision)
			all[i].pull += part * (next.pull - s.pull)
		}
		if change < settled {
			break
		}
		if change > slower*last {
			part *= slower
		}
	}
	var err error
	model.weights, err = model.data.Weights(ctx, [][]float64{model.z})
	return model, err
}

// site is the normal density in place of Φ(y_i h_i).
type site struct {
	precision, pull float64 // τ and ν
}

// next is the density with which the posterior of h_i, which has this mean and variance, would have
// the right ones, and what the present one adds to the evidence beside the regression's own.
func (s site) next(mean, variance float64, yes bool) (next site, evidence float64) {
	rest := 1 / max(1/variance-s.precision, leastPrecision) // variance and mean without the density
	c := (mean/variance - s.pull) * rest
	value, slope, _ := policy.LogChance(signed(c, yes), rest)
	curvature := slope * (slope + signed(c, yes)/(1+rest)) // −∂²/∂c² ln Φ(y c/√(1 + rest))
	left, apart := 1-rest*curvature, c-s.pull/s.precision
	next = site{max(curvature/left, leastPrecision), (signed(slope, yes) + c*curvature) / left}
	return next, value + math.Log1p(rest*s.precision)/2 + apart*apart/(2*(1/s.precision+rest))
}

// regress computes the posterior with these densities.
func (model *Model) regress(ctx context.Context, k *kernel.Function, inputs [][]float64, all []site) error {
	noise := lists.Map(all, func(s site) float64 { return 1 / s.precision })
	model.data = gp.NewData(k)
	if err := model.data.AppendAll(ctx, inputs, noise, nil); err != nil {
		return err
	}
	model.z = model.data.Whiten(nil, lists.Map(all, func(s site) float64 { return s.pull/s.precision - model.mean }))
	return nil
}

func signed(v float64, yes bool) float64 {
	if yes {
		return v
	}
	return -v
}

// Evidence approximates the log probability of the outcomes under the prior, in nats (equation 3.65).
func (model *Model) Evidence() float64 { return model.evidence }

// Predict returns mean and variance of h at the points X, in O(n²) a point; the error is that of
// ctx.
func (model *Model) Predict(ctx context.Context, X *kernel.Inputs) (means, variances []float64, err error) {
	of, variances, err := model.data.PredictMany(ctx, X, [][]float64{model.z})
	if err != nil {
		return nil, nil, err
	}
	floats.AddConst(model.mean, of[0])
	return of[0], variances, nil
}

// Gradients returns the gradients of mean and variance of h by the coordinates of the points X, for
// a stationary kernel. The error is that of ctx.
func (model *Model) Gradients(ctx context.Context, X *kernel.Inputs) (means, variances [][]float64, err error) {
	at, by := gp.NewPredictions(0, X.Len(), model.data.Len()), gp.NewGradients(X.Len())
	if err := model.data.PredictInto(ctx, at, X, nil); err != nil {
		return nil, nil, err
	}
	err = model.data.GradientsInto(ctx, by, X, at, model.weights)
	return lists.Map(by.Means, func(mean [][]float64) []float64 { return mean[0] }), by.Variances, err
}
