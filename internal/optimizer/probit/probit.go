// Package probit models outcomes that are yes or no by a latent function h with a Gaussian process
// prior of constant mean m and covariance k, and
//
//	P(yes at x | h) = Φ(h(x)),   Φ the standard normal distribution function.
//
// Given outcomes y_i = ±1 at points X, the posterior of h is approximated by Laplace's method, by a
// normal distribution around the mode ĥ of
//
//	Ψ(h) = Σ_i ln Φ(y_i h_i) − ½ (h − m)ᵀ K⁻¹ (h − m),   K = k(X, X),
//
// which is concave (Rasmussen & Williams, Gaussian Processes for Machine Learning, algorithms 3.1
// and 3.2). With g = ∇ Σ ln Φ(y h) and W = −∇∇ Σ ln Φ(y h) at a point h, a Newton step is the
// regression (package gp) of the responses h − m + W⁻¹ g with noise variances W⁻¹, and the
// posterior is that of the last step. So
//
//	mean(x) = m + k(x, X)(K + W⁻¹)⁻¹(ĥ − m + W⁻¹ g),   variance(x) = k(x, x) − k(x, X)(K + W⁻¹)⁻¹k(X, x),
//	P(yes at x) = Φ(mean/√(1 + variance)).
package probit

import (
	"context"
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
	mostSteps      = 50    // Newton steps at most; some six suffice from the prior mean
	settled        = 1e-10 // gain in Ψ, in nats, below which a step is the last
	leastCurvature = 1e-10 // smallest W: more certain outcomes no longer count
)

// Fit returns the posterior given outcomes yes at the points of these inputs, at least one, with
// prior mean m. It costs O(n³) a step, some six steps, and reaches checkpoints. The error is that
// of ctx, or of a covariance that cannot be computed with.
func Fit(ctx context.Context, k *kernel.Function, inputs [][]float64, yes []bool, m float64) (*Model, error) {
	n := len(inputs)
	X, covariances := kernel.InputsOf(inputs), factor.Matrix(n, n)
	for i, row := range covariances {
		k.Row(row, X.Row(i), X)
	}
	now := point{h: slices.Repeat([]float64{m}, n), weights: make([]float64, n)}
	now.value = now.psi(yes, m)
	model := &Model{mean: m}
	for range mostSteps {
		if err := model.regress(ctx, k, inputs, yes, now); err != nil {
			return nil, err
		}
		next := now.towards(model.weights[0], covariances, yes, m)
		gain := next.value - now.value
		if gain > 0 {
			now = next
		}
		if gain <= settled {
			break
		}
	}
	if err := model.regress(ctx, k, inputs, yes, now); err != nil {
		return nil, err
	}
	model.evidence = now.value - model.data.Gain(n)
	return model, nil
}

// point is a point on the way to the mode: h = m + K weights.
type point struct {
	h, weights []float64
	value      float64 // Ψ
}

func (p point) psi(yes []bool, m float64) float64 {
	sum := 0.0
	for i, h := range p.h {
		likelihood, _, _ := policy.LogChance(signed(h, yes[i]), 0)
		sum += likelihood - 0.5*p.weights[i]*(h-m)
	}
	return sum
}

// halvings bounds how often a step that leads down is halved.
const halvings = 20

// towards goes to the point of these weights, or half as far and so on, until Ψ is not smaller. As
// Ψ is concave, some part of the way leads up.
func (p point) towards(weights []float64, covariances [][]float64, yes []bool, m float64) point {
	next := point{h: make([]float64, len(p.h)), weights: make([]float64, len(p.h))}
	for part, tries := 1.0, 0; ; part, tries = part/2, tries+1 {
		for i, w := range p.weights {
			next.weights[i] = w + part*(weights[i]-w)
		}
		for i, row := range covariances {
			next.h[i] = m + factor.Dot(row, next.weights)
		}
		if next.value = next.psi(yes, m); next.value >= p.value || tries == halvings {
			return next
		}
	}
}

// regress computes the posterior after a Newton step from a point.
func (model *Model) regress(ctx context.Context, k *kernel.Function, inputs [][]float64, yes []bool, at point) error {
	noise, responses := make([]float64, len(inputs)), make([]float64, len(inputs))
	for i, h := range at.h {
		_, slope, _ := policy.LogChance(signed(h, yes[i]), 0) // φ/Φ
		w := max(slope*(slope+signed(h, yes[i])), leastCurvature)
		noise[i] = 1 / w
		responses[i] = h - model.mean + signed(slope, yes[i])/w
	}
	model.data = gp.NewData(k, k.Coordinates())
	if err := model.data.AppendAll(ctx, inputs, noise, nil); err != nil {
		return err
	}
	model.z = model.data.Whiten(nil, responses)
	var err error
	model.weights, err = model.data.Weights(ctx, [][]float64{model.z})
	return err
}

func signed(v float64, yes bool) float64 {
	if yes {
		return v
	}
	return -v
}

// Evidence approximates the log probability of the outcomes under the prior, Ψ(ĥ) − ½ ln det(I +
// W^½ K W^½) (equation 3.32), in nats.
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
