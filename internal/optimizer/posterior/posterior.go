// Package posterior computes the posterior of latent functions at any place, given readings. The
// functions of one posterior share their kernel and the points and noise of their readings, and
// therefore variances and covariances. It is computed by the rows of a factor (Rows) or, where
// there are many more readings than candidates, over all candidates at once (Candidates). Values
// are responses in modelled units, of prior mean 0. Errors are those of the context, or of numbers
// that cannot be computed with.
package posterior

import (
	"context"
	"math"
	"slices"
	"sync"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// Posterior is the posterior of some functions.
type Posterior interface {
	// Gain is γ of the readings, ½ ln det(I + Λ⁻¹K), nats.
	Gain() float64
	// Predict predicts the functions at points, with covariances with a reference unless it is nil.
	Predict(ctx context.Context, at Points, reference *Reference) (Prediction, error)
	// Means are the means of every function, in O(n) a point. Pending points do not change them.
	Means(ctx context.Context, at Points) ([][]float64, error)
	// Played is the prediction at the point of this round, to the same bits as Predict, if it is
	// already known.
	Played(round int) (p Prediction, known bool)
	// Covariances prepares the covariances of one point with some others.
	Covariances(ctx context.Context, at Points, among []int) (func(x int) []float64, error)
	// Refer makes a Reference of the first point.
	Refer(x Points) *Reference
	// Rows is the same posterior by the rows of a factor.
	Rows(ctx context.Context) (*Rows, error)
}

// Points are places as a posterior takes them.
type Points struct {
	Inputs *kernel.Inputs
	Arms   []int // the candidates that they are; nil where one is none
	// Listed: they are all of a list that is used again and again, always with the same Inputs.
	Listed bool
	// Rows is, where known, a row of the factor at each point, −1 for none: predictions at such
	// points cost O(n²) for all of them together, and may differ by rounding.
	Rows []int
}

// Prediction is the posterior at some points: the functions' means, their latent variance, and the
// covariance with the reference, if there is one.
type Prediction struct {
	Means                           [][]float64
	Variances, ReferenceCovariances []float64
}

// Reference is a point x* whose covariances with others are wanted.
type Reference struct {
	Inputs *kernel.Inputs // x* alone
	arm    int
	solved []float64 // v(x*) = L⁻¹k(X, x*), so that the covariance of f(x) and f(x*) is k(x, x*) − v(x)ᵀv(x*); nil without rows

	weights checkpoint.Once[[][]float64] // gp.Data.Weights of v(x*)
}

// MostKept is the largest number of float64 kept of a list's solutions, or of the posterior over
// all candidates: 64 MB. Points beyond it are solved for each time.
const MostKept = 8 << 20

// Regression is all rows of the readings, of which a posterior conditions on the first, and what is
// cached of points there.
type Regression struct {
	Data *gp.Data
	Kept Solutions
}

// Solutions caches the solutions of a list of points, and the variances at the readings' own
// points, for as many rows of a regression as were needed so far.
type Solutions struct {
	mu    sync.Mutex
	fixed *gp.Fixed
	own   *gp.OwnVariances
}

// of returns the solutions for all rows of data. Concurrent callers may do the same work.
func (c *Solutions) of(ctx context.Context, points *kernel.Inputs, data *gp.Data) (*gp.Fixed, error) {
	fixed := c.upTo(data.Len())
	if fixed == nil || fixed.Points() != points {
		fixed = gp.NewFixed(points)
	}
	fixed, err := fixed.Extend(ctx, data)
	if err == nil {
		c.keep(fixed)
	}
	return fixed, err
}

// ofOwn returns the variances at the points of all rows of data. Concurrent callers may do the same
// work.
func (c *Solutions) ofOwn(ctx context.Context, data *gp.Data) (*gp.OwnVariances, error) {
	own, err := c.ownUpTo(data.Len()).Extend(ctx, data)
	if err == nil {
		c.keepOwn(own)
	}
	return own, err
}

// Take takes over what another has for the first n rows.
func (c *Solutions) Take(from *Solutions, n int) {
	c.keep(from.upTo(n))
	c.keepOwn(from.ownUpTo(n))
}

// upTo is what is cached for the first n rows, nil for nothing.
func (c *Solutions) upTo(n int) *gp.Fixed {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fixed == nil || n == 0 {
		return nil
	}
	return c.fixed.Prefix(min(n, c.fixed.Len()))
}

// keep caches fixed, unless it has more rows of the same points.
func (c *Solutions) keep(fixed *gp.Fixed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fixed != nil && (c.fixed == nil || fixed.Len() > c.fixed.Len() || fixed.Points() != c.fixed.Points()) {
		c.fixed = fixed
	}
}

// ownUpTo is what is cached of the variances at the points of the first n rows.
func (c *Solutions) ownUpTo(n int) *gp.OwnVariances {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own == nil {
		return new(gp.OwnVariances)
	}
	return c.own.Prefix(n)
}

// keepOwn caches own, unless it has more rows.
func (c *Solutions) keepOwn(own *gp.OwnVariances) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own.Len() > 0 && (c.own == nil || own.Len() > c.own.Len()) {
		c.own = own
	}
}

// Rows is the posterior by the rows of a factor L Lᵀ = K + Λ.
type Rows struct {
	// The first Read points of Data have readings; the rest are pending and only reduce the
	// variance.
	Data *gp.Data
	Read int
	Z    [][]float64 // per function: L⁻¹y, as long as Data, 0 for pending points
	Of   *Regression // the one whose first Read rows these are; nil with a window
	Next int         // the round of the regression's next reading; 0 for none

	pending *Solutions // of lists, with the pending points; nil without any

	weights checkpoint.Once[[][]float64] // gp.Data.Weights of Z
	own     checkpoint.Once[[][]float64] // gp.Data.OwnMeans
}

// StartPending prepares for pending points after the readings. It starts from a posterior of the
// same readings and the first of those points, if there is one.
func (r *Rows) StartPending(before *Rows) {
	r.pending = &Solutions{}
	if before == nil {
		r.Data = r.Data.Clone()
		return
	}
	r.Data = before.Data.Clone()
	r.pending.Take(before.pending, before.Data.Len())
}

// Gain is γ of the readings.
func (r *Rows) Gain() float64 { return r.Data.Gain(r.Read) }

// Rows is the posterior itself.
func (r *Rows) Rows(context.Context) (*Rows, error) { return r, nil }

// Predict predicts the functions at points.
func (r *Rows) Predict(ctx context.Context, at Points, reference *Reference) (Prediction, error) {
	if at.Rows != nil && reference == nil {
		return r.predictOwn(ctx, at)
	}
	p, err := r.predict(ctx, at, r.WithReference(reference))
	if err == nil && reference != nil {
		explained := p.Means[len(r.Z)]
		p.Means, p.ReferenceCovariances = p.Means[:len(r.Z)], r.ReferenceCovariances(reference, at.Inputs, explained)
	}
	return p, err
}

// predictOwn is Predict where at.Rows is known.
func (r *Rows) predictOwn(ctx context.Context, at Points) (p Prediction, err error) {
	if p.Means, err = r.Means(ctx, at); err != nil {
		return p, err
	}
	own, err := r.ownVariances(ctx)
	if err != nil {
		return p, err
	}
	there, err := r.predict(ctx, at.elsewhere(), nil)
	if err == nil {
		p.Variances = at.joined(there.Variances, own.Variance)
	}
	return p, err
}

// elsewhere are the points without a row.
func (p Points) elsewhere() Points {
	return Points{Inputs: p.Inputs.Pick(lists.Where(len(p.Rows), func(i int) bool { return p.Rows[i] < 0 }))}
}

// joined are the values at all points: own gives those of rows, elsewhere has the others.
func (p Points) joined(elsewhere []float64, own func(row int) float64) []float64 {
	values := make([]float64, len(p.Rows))
	for i, row := range p.Rows {
		if row >= 0 {
			values[i] = own(row)
		} else {
			values[i], elsewhere = elsewhere[0], elsewhere[1:]
		}
	}
	return values
}

// predict returns means of zs, and variances; for a list of points by its cached solutions.
func (r *Rows) predict(ctx context.Context, at Points, zs [][]float64) (p Prediction, err error) {
	if r.Of == nil || !at.Listed || r.Data.Len()*at.Inputs.Len() > MostKept {
		p.Means, p.Variances, err = r.Data.PredictMany(ctx, at.Inputs, zs)
		return p, err
	}
	fixed, err := r.Of.Kept.of(ctx, at.Inputs, r.Of.Data.Prefix(r.Read))
	if err == nil && r.pending != nil {
		r.pending.keep(fixed)
		fixed, err = r.pending.of(ctx, at.Inputs, r.Data)
	}
	if err == nil {
		p.Means, p.Variances, err = fixed.Predict(ctx, r.Data, zs)
	}
	return p, err
}

// Means are the means of every function; pending points have no weight.
func (r *Rows) Means(ctx context.Context, at Points) ([][]float64, error) {
	weights, err := r.Weights(ctx, nil)
	if err != nil {
		return nil, err
	}
	if at.Rows == nil {
		return r.Data.Prefix(r.Read).MeanMany(ctx, at.Inputs, weights)
	}
	own, err := r.ownMeans(ctx)
	if err != nil {
		return nil, err
	}
	of, err := r.Means(ctx, at.elsewhere())
	for n, mean := range of {
		of[n] = at.joined(mean, func(row int) float64 { return own[n][row] })
	}
	return of, err
}

// MeansBeside are the means, and v(x)ᵀv(x*) for a reference x*, nil without one.
func (r *Rows) MeansBeside(ctx context.Context, at Points, reference *Reference) (of [][]float64, explained []float64, err error) {
	if reference == nil {
		of, err = r.Means(ctx, at)
		return of, nil, err
	}
	weights, err := r.Weights(ctx, reference)
	if err != nil {
		return nil, nil, err
	}
	of, err = r.Data.MeanMany(ctx, at.Inputs, weights)
	if err != nil {
		return nil, nil, err
	}
	return of[:len(r.Z)], of[len(r.Z)], nil
}

// Weights are the gp.Data.Weights of WithReference.
func (r *Rows) Weights(ctx context.Context, reference *Reference) ([][]float64, error) {
	weights, err := r.weights.Get(ctx, func(ctx context.Context) ([][]float64, error) { return r.Data.Weights(ctx, r.Z) })
	if err != nil || reference == nil {
		return weights, err
	}
	of, err := reference.weights.Get(ctx, func(ctx context.Context) ([][]float64, error) {
		return r.Data.Weights(ctx, r.WithReference(reference)[len(r.Z):])
	})
	return append(weights[:len(r.Z):len(r.Z)], of...), err
}

// ownMeans are the means at the points of the rows.
func (r *Rows) ownMeans(ctx context.Context) ([][]float64, error) {
	return r.own.Get(ctx, func(ctx context.Context) ([][]float64, error) {
		weights, err := r.Weights(ctx, nil)
		if err != nil {
			return nil, err
		}
		return r.Data.OwnMeans(ctx, r.Z, weights)
	})
}

// VariancesAfter are the variances at points given the first rows alone, which are at least those
// given all.
func (r *Rows) VariancesAfter(ctx context.Context, rows int, at *kernel.Inputs) ([]float64, error) {
	_, variances, err := r.Data.Prefix(min(rows, r.Data.Len())).PredictMany(ctx, at, nil)
	return variances, err
}

// Played is given by the factor's next row if its reading is that of the round.
func (r *Rows) Played(round int) (p Prediction, known bool) {
	if r.Of == nil || r.Data.Len() > r.Read || r.Next != round {
		return p, false
	}
	p.Means = lists.Map(r.Z, func(z []float64) []float64 { return []float64{r.Of.Data.AheadMean(r.Read, z)} })
	p.Variances = []float64{r.Of.Data.AheadVariance(r.Read)}
	return p, true
}

// ownVariances are the variances at the points of the rows, from the cache of the regression.
func (r *Rows) ownVariances(ctx context.Context) (*gp.OwnVariances, error) {
	if r.Of == nil || r.pending != nil {
		return new(gp.OwnVariances).Extend(ctx, r.Data)
	}
	return r.Of.Kept.ofOwn(ctx, r.Data)
}

// Covariances prepares the covariances of one point with some others.
func (r *Rows) Covariances(ctx context.Context, at Points, among []int) (func(x int) []float64, error) {
	some := at.Inputs.Pick(among)
	solved, err := r.Data.Solved(ctx, some)
	return func(i int) []float64 {
		x, covariances := at.Inputs.Row(i), make([]float64, len(among))
		v := r.Data.Solve(x)
		r.Data.Kernel().Row(covariances, x, some)
		for n := range covariances {
			covariances[n] -= factor.Dot(v, solved[n])
		}
		return covariances
	}, err
}

// Refer makes a Reference of the first point.
func (r *Rows) Refer(x Points) *Reference {
	return &Reference{Inputs: x.Inputs, solved: r.Data.Solve(x.Inputs.Row(0))}
}

// WithReference is Z, followed by v(x*) where there is a reference.
func (r *Rows) WithReference(x *Reference) [][]float64 {
	if x == nil {
		return r.Z
	}
	solved := x.solved
	if solved == nil {
		solved = r.Data.Solve(x.Inputs.Row(0))
	}
	return append(r.Z[:len(r.Z):len(r.Z)], solved)
}

// ReferenceCovariances are the covariances of the functions at the reference and at points, given
// explained, their v(x)ᵀv(x*).
func (r *Rows) ReferenceCovariances(x *Reference, at *kernel.Inputs, explained []float64) []float64 {
	covariances := make([]float64, at.Len())
	r.Data.Kernel().Row(covariances, x.Inputs.Row(0), at)
	for n := range covariances {
		covariances[n] -= explained[n]
	}
	return covariances
}

// Same tells whether another posterior has the same whitened responses.
func (r *Rows) Same(o *Rows) bool {
	return r.Read == o.Read && slices.EqualFunc(r.Z, o.Z, func(a, b []float64) bool { return slices.Equal(a[:r.Read], b[:r.Read]) })
}

// Candidates is the posterior over all candidates or, for a past decision, what was noted of the
// candidate that it chose.
type Candidates struct {
	Arms        *gp.Arms // given the readings; nil for a past decision
	WithPending *gp.Arms // given the readings and pending points
	Noted       *Noted   // of a past decision, else nil
	HasPending  bool
	// ByRows regresses the readings by the rows of a factor, for places that are no candidates.
	ByRows func(context.Context) (*Rows, error)
}

// Noted is what a decision predicted at its own place.
type Noted struct {
	Round                     int
	Gain                      float64
	Means                     []float64
	Variance, PendingVariance float64 // PendingVariance is given pending points, too; NaN where it is not needed
}

// Gain is γ of the readings.
func (c *Candidates) Gain() float64 {
	if c.Noted != nil {
		return c.Noted.Gain
	}
	return c.Arms.Gain()
}

// Rows is the same posterior by the rows of a factor.
func (c *Candidates) Rows(ctx context.Context) (*Rows, error) { return c.ByRows(ctx) }

// Predict predicts the functions at points.
func (c *Candidates) Predict(ctx context.Context, at Points, reference *Reference) (p Prediction, err error) {
	if c.Arms == nil || at.Arms == nil {
		rows, err := c.ByRows(ctx)
		if err != nil {
			return p, err
		}
		return rows.Predict(ctx, at, reference)
	}
	if p.Means, err = c.Means(ctx, at); err != nil {
		return p, err
	}
	p.Variances = lists.At(c.WithPending.Variances(), at.Arms)
	if reference != nil {
		p.ReferenceCovariances = lists.At(c.WithPending.Covariances(reference.arm), at.Arms)
	}
	return p, nil
}

// Means are the means of every function.
func (c *Candidates) Means(ctx context.Context, at Points) ([][]float64, error) {
	if c.Arms == nil || at.Arms == nil {
		rows, err := c.ByRows(ctx)
		if err != nil {
			return nil, err
		}
		return rows.Means(ctx, at)
	}
	return lists.Map(c.Arms.Means(), func(means []float64) []float64 { return lists.At(means, at.Arms) }), nil
}

// Played is what was noted of the round.
func (c *Candidates) Played(round int) (p Prediction, known bool) {
	n := c.Noted
	if n == nil || n.Round != round || c.HasPending && math.IsNaN(n.PendingVariance) {
		return p, false
	}
	p.Variances = []float64{n.Variance}
	if c.HasPending {
		p.Variances[0] = n.PendingVariance
	}
	p.Means = lists.Map(n.Means, func(mean float64) []float64 { return []float64{mean} })
	return p, true
}

// Covariances prepares the covariances of one point with some others.
func (c *Candidates) Covariances(ctx context.Context, at Points, among []int) (func(x int) []float64, error) {
	if c.Arms == nil || at.Arms == nil {
		rows, err := c.ByRows(ctx)
		if err != nil {
			return nil, err
		}
		return rows.Covariances(ctx, at, among)
	}
	arms := lists.At(at.Arms, among)
	return func(x int) []float64 { return lists.At(c.WithPending.Covariances(at.Arms[x]), arms) }, nil
}

// Refer makes a Reference of the first point.
func (c *Candidates) Refer(x Points) *Reference { return &Reference{Inputs: x.Inputs, arm: x.Arms[0]} }
