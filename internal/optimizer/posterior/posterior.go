// Package posterior is what readings say of latent functions at any place. The functions of one
// posterior share their kernel and the points and noise of their readings, so their variances and
// covariances are one. It is worked out by the rows of a factor (Rows), or, where there are many
// more readings than candidates, over all candidates at once (Candidates). Values are responses in
// modelled units, of prior mean 0. Errors are those of the context, but for numbers that cannot be
// computed with.
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
	Means                           [][]float64
	Variances, ReferenceCovariances []float64
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

// Solutions keeps the solutions of a list of points, and the variances at the readings' own points,
// for the rows of a regression as far as they have been asked for.
type Solutions struct {
	mu    sync.Mutex
	fixed *gp.Fixed
	own   *gp.OwnVariances
}

// of returns the solutions for all rows of data. Callers that ask at the same time may do the same
// work.
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

// ofOwn returns the variances at the points of all rows of data. Callers that ask at the same time
// may do the same work.
func (c *Solutions) ofOwn(ctx context.Context, data *gp.Data) (*gp.OwnVariances, error) {
	own, err := c.ownUpTo(data.Len()).Extend(ctx, data)
	if err == nil {
		c.keepOwn(own)
	}
	return own, err
}

// Take takes over what another keeps of the first n rows.
func (c *Solutions) Take(from *Solutions, n int) {
	c.keep(from.upTo(n))
	c.keepOwn(from.ownUpTo(n))
}

// upTo is what is kept of the first n rows, nil for nothing.
func (c *Solutions) upTo(n int) *gp.Fixed {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fixed == nil || n == 0 {
		return nil
	}
	return c.fixed.Prefix(min(n, c.fixed.Len()))
}

// keep takes what has been worked out, unless more is kept of the same points.
func (c *Solutions) keep(fixed *gp.Fixed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fixed != nil && (c.fixed == nil || fixed.Len() > c.fixed.Len() || fixed.Points() != c.fixed.Points()) {
		c.fixed = fixed
	}
}

// ownUpTo is what is kept of the points of the first n rows.
func (c *Solutions) ownUpTo(n int) *gp.OwnVariances {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own == nil {
		return new(gp.OwnVariances)
	}
	return c.own.Prefix(n)
}

// keepOwn takes what has been worked out, unless more is kept.
func (c *Solutions) keepOwn(own *gp.OwnVariances) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own.Len() > 0 && (c.own == nil || own.Len() > c.own.Len()) {
		c.own = own
	}
}

// Rows is the posterior by the rows of a factor L Lᵀ = K + Λ.
type Rows struct {
	// The first Read points of Data carry responses, the rest wait and narrow the variance only.
	Data *gp.Data
	Read int
	Z    [][]float64 // per function: L⁻¹y, as long as Data, 0 for points that wait
	Of   *Regression // which has the first Read rows; nil where a window makes them something else
	Next int         // the round of the regression's reading after them; 0 for none

	pending *Solutions // of lists, with the points that wait; nil without any

	weights checkpoint.Once[[][]float64] // gp.Data.Weights of Z
	own     checkpoint.Once[[][]float64] // gp.Data.OwnMeans
}

// Narrow makes room for points that wait behind the readings. It goes on from a posterior of the
// same readings that has the first of those points, if there is one.
func (r *Rows) Narrow(before *Rows) {
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
func (r *Rows) Predict(ctx context.Context, at Points, beside *Reference) (Prediction, error) {
	if at.Rows != nil && beside == nil {
		return r.predictOwn(ctx, at)
	}
	p, err := r.predict(ctx, at, r.WithReference(beside))
	if err == nil && beside != nil {
		explained := p.Means[len(r.Z)]
		p.Means, p.ReferenceCovariances = p.Means[:len(r.Z)], r.ReferenceCovariances(beside, at.Inputs, explained)
	}
	return p, err
}

// predictOwn is Predict where it is known which rows stand at points.
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

// elsewhere are the points at which no row stands.
func (p Points) elsewhere() Points {
	return Points{Inputs: p.Inputs.Pick(lists.Where(len(p.Rows), func(i int) bool { return p.Rows[i] < 0 }))}
}

// joined are the values of all points: those of the rows that stand there, and those elsewhere.
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

// predict takes means of zs, at all points of a list by what is kept of them.
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

// Means are those of every function alone; points that wait have no weight.
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
func (r *Rows) MeansBeside(ctx context.Context, at Points, beside *Reference) (of [][]float64, explained []float64, err error) {
	if beside == nil {
		of, err = r.Means(ctx, at)
		return of, nil, err
	}
	weights, err := r.Weights(ctx, beside)
	if err != nil {
		return nil, nil, err
	}
	of, err = r.Data.MeanMany(ctx, at.Inputs, weights)
	if err != nil {
		return nil, nil, err
	}
	return of[:len(r.Z)], of[len(r.Z)], nil
}

// Weights are gp.Data.Weights of what means are taken of beside a reference, or, for nil, without.
func (r *Rows) Weights(ctx context.Context, beside *Reference) ([][]float64, error) {
	weights, err := r.weights.Get(ctx, func(ctx context.Context) ([][]float64, error) { return r.Data.Weights(ctx, r.Z) })
	if err != nil || beside == nil {
		return weights, err
	}
	of, err := beside.weights.Get(ctx, func(ctx context.Context) ([][]float64, error) {
		return r.Data.Weights(ctx, r.WithReference(beside)[len(r.Z):])
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

// VariancesAfter are what the first rows alone leave of the variances at points, at least those of all.
func (r *Rows) VariancesAfter(ctx context.Context, rows int, at *kernel.Inputs) ([]float64, error) {
	_, variances, err := r.Data.Prefix(min(rows, r.Data.Len())).PredictMany(ctx, at, nil)
	return variances, err
}

// Played is what the factor's next row says, when its reading is that of the round.
func (r *Rows) Played(round int) (p Prediction, known bool) {
	if r.Of == nil || r.Data.Len() > r.Read || r.Next != round {
		return p, false
	}
	p.Means = lists.Map(r.Z, func(z []float64) []float64 { return []float64{r.Of.Data.AheadMean(r.Read, z)} })
	p.Variances = []float64{r.Of.Data.AheadVariance(r.Read)}
	return p, true
}

// ownVariances are those at the points of the rows, by what is kept of the readings.
func (r *Rows) ownVariances(ctx context.Context) (*gp.OwnVariances, error) {
	if r.Of == nil || r.pending != nil {
		return new(gp.OwnVariances).Extend(ctx, r.Data)
	}
	return r.Of.Kept.ofOwn(ctx, r.Data)
}

// Covariances prepares those of one point with some others.
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

// Refer makes the first point one to compare others with.
func (r *Rows) Refer(x Points) *Reference {
	return &Reference{Inputs: x.Inputs, solved: r.Data.Solve(x.Inputs.Row(0))}
}

// WithReference is what means are taken of: Z, and v(x*) last where there is a reference.
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

// ReferenceCovariances are the covariances of the functions at the reference with those at points, of which
// v(x)ᵀv(x*) is explained.
func (r *Rows) ReferenceCovariances(x *Reference, at *kernel.Inputs, explained []float64) []float64 {
	covariances := make([]float64, at.Len())
	r.Data.Kernel().Row(covariances, x.Inputs.Row(0), at)
	for n := range covariances {
		covariances[n] -= explained[n]
	}
	return covariances
}

// Same tells whether another posterior has the same readings' whitened responses.
func (r *Rows) Same(o *Rows) bool {
	return r.Read == o.Read && slices.EqualFunc(r.Z, o.Z, func(a, b []float64) bool { return slices.Equal(a[:r.Read], b[:r.Read]) })
}

// Candidates is the posterior over all candidates, or, at a decision that is long past, what was
// noted of the one that it chose.
type Candidates struct {
	Arms       *gp.Arms // from the readings; nil at a decision long past
	Narrowed   *gp.Arms // with the points that wait
	Noted      *Noted   // in place of them; nil for a present decision
	HasPending bool     // whether points wait
	// ByRows regresses the readings by the rows of a factor, for what is asked beyond the
	// candidates.
	ByRows func(context.Context) (*Rows, error)
}

// Noted is what a decision expected at its own round's place.
type Noted struct {
	Round              int
	Gain               float64
	Means              []float64
	Variance, Narrowed float64 // narrowed by points that wait; NaN where nothing needs it
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
func (c *Candidates) Predict(ctx context.Context, at Points, beside *Reference) (p Prediction, err error) {
	if c.Arms == nil || at.Arms == nil {
		rows, err := c.ByRows(ctx)
		if err != nil {
			return p, err
		}
		return rows.Predict(ctx, at, beside)
	}
	if p.Means, err = c.Means(ctx, at); err != nil {
		return p, err
	}
	p.Variances = lists.At(c.Narrowed.Variances(), at.Arms)
	if beside != nil {
		p.ReferenceCovariances = lists.At(c.Narrowed.Covariances(beside.arm), at.Arms)
	}
	return p, nil
}

// Means are those of every function alone.
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
	if n == nil || n.Round != round || c.HasPending && math.IsNaN(n.Narrowed) {
		return p, false
	}
	p.Variances = []float64{n.Variance}
	if c.HasPending {
		p.Variances[0] = n.Narrowed
	}
	p.Means = lists.Map(n.Means, func(mean float64) []float64 { return []float64{mean} })
	return p, true
}

// Covariances prepares those of one point with some others.
func (c *Candidates) Covariances(ctx context.Context, at Points, among []int) (func(x int) []float64, error) {
	if c.Arms == nil || at.Arms == nil {
		rows, err := c.ByRows(ctx)
		if err != nil {
			return nil, err
		}
		return rows.Covariances(ctx, at, among)
	}
	arms := lists.At(at.Arms, among)
	return func(x int) []float64 { return lists.At(c.Narrowed.Covariances(at.Arms[x]), arms) }, nil
}

// Refer makes the first point one to compare others with.
func (c *Candidates) Refer(x Points) *Reference { return &Reference{Inputs: x.Inputs, arm: x.Arms[0]} }
