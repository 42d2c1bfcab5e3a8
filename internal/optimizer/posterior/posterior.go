// Package posterior is what readings say of latent functions at any place. The functions of one
// posterior share their kernel and the points and noise of their readings, so their variances and
// covariances are one. It is worked out by the rows of a factor (Rows), or, where there are many
// more readings than candidates, over all candidates at once (Candidates). Values are responses in
// modelled units, of prior mean 0. Errors are those of the context, but for numbers that cannot be
// computed with.
package posterior

import (
	"context"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// Posterior is that of some functions.
type Posterior interface {
	// Gain is γ of the readings, ½ ln det(I + Λ⁻¹K), nats.
	Gain() float64
	// Predict predicts the functions at points, beside a reference or, for nil, not.
	Predict(ctx context.Context, at Points, beside *Reference) (Prediction, error)
	// Means are those of every function alone, in O(n) a point, from the readings alone: they are
	// the same whatever waits.
	Means(ctx context.Context, at Points) ([][]float64, error)
	// Played is what was expected of the functions at the point of this round, to the same bits as
	// Predict, if it is at hand.
	Played(round int) (p Prediction, known bool)
	// Covariances prepares those of one point with some others.
	Covariances(ctx context.Context, at Points, among []int) (func(x int) []float64, error)
	// Refer makes the first point one to compare others with.
	Refer(x Points) *Reference
	// Rows is the same posterior by the rows of a factor.
	Rows(ctx context.Context) (*Rows, error)
}

// Points are places as a posterior sees them.
type Points struct {
	Inputs *kernel.Inputs
	Arms   []int // which candidates they are; nil where one is none
	// Listed: they are all of a list that is asked for again and again, the candidates or others,
	// Inputs being the same each time.
	Listed bool
	// Rows are, where that is known, which of the rows of a factor stand at the points, −1 for
	// none: what is believed there costs O(n²) for all of them together. It may differ by rounding.
	Rows []int
}

// Prediction is what is made of some points: the functions' means, their latent variance, and the
// covariance with the reference, if there is one.
type Prediction struct {
	Means               [][]float64
	Variances, Together []float64
}

// Reference is a point x* that others are compared with.
type Reference struct {
	Inputs *kernel.Inputs // of it alone
	arm    int
	solved []float64 // v(x*) = L⁻¹k(X, x*), so that the covariance of f(x) and f(x*) is k(x, x*) − v(x)ᵀv(x*); nil without rows

	weights checkpoint.Once[[][]float64] // gp.Data.Weights of v(x*)
}

// MostKept is how many numbers are kept at most of a list's solutions, or of the posterior over all
// candidates: 64 MB. Beyond it the points are solved for each time.
const MostKept = 8 << 20

// Regression is all rows of the readings that a posterior conditions on the first of, and what is
// kept of lists of points there.
type Regression struct {
	Data *gp.Data
	Kept Solutions
}
