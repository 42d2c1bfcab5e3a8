// Package gp regresses a function on noisy readings with a Gaussian process of prior mean 0.
//
// For points X, readings y with noise variances Λ = diag(λ), and prior covariance k, with K = k(X,
// X) and L Lᵀ = K + Λ:
//
//	z = L⁻¹ y,   v(x) = L⁻¹ k(X, x)
//	mean(x) = v(x)ᵀ z,   variance(x) = k(x, x) − v(x)ᵀ v(x)
//	information gain = ½ ln det(I + Λ^{−½} K Λ^{−½}) = Σ ln L_ss − ½ Σ ln λ_s
//
// (Rasmussen & Williams, Gaussian Processes for Machine Learning, algorithm 2.1). Variances are
// those of the latent function, without noise. Because row s of L knows only the points before it,
// one factor holds the posterior of every round at once.
package gp

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"sync"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
)

// Data are the points that condition a posterior, in the order their readings arrived, with their
// noise and one factor L. Readings themselves are kept outside, as z, so that metrics with the same
// points share one Data. Reading is safe for many goroutines, changing one Data is not; a prefix
// never changes.
type Data struct {
	kernel *kernel.Function
	inputs *kernel.Inputs
	noise  []float64 // λ_s
	gains  []float64 // information gain of the first s+1 points, nats
	factor *factor.Cholesky
}

// NewData returns no points, of p input coordinates each, as many as the kernel takes.
func NewData(k *kernel.Function, p int) *Data {
	if p != k.Coordinates() {
		panic(fmt.Sprintf("gp: points of %d coordinates for a kernel that takes %d", p, k.Coordinates()))
	}
	return &Data{kernel: k, inputs: kernel.NewInputs(p), factor: new(factor.Cholesky)}
}

// Len is the number n of points.
func (d *Data) Len() int { return d.inputs.Len() }

// Inputs are the points, to be read only.
func (d *Data) Inputs() *kernel.Inputs { return d.inputs }

// Kernel is the prior covariance.
func (d *Data) Kernel() *kernel.Function { return d.kernel }

// Noise returns λ_i of point i.
func (d *Data) Noise(i int) float64 { return d.noise[i] }

// Factor is L, to be read only.
func (d *Data) Factor() *factor.Cholesky { return d.factor }

// Append adds a point whose reading has noise variance lambda > 0. It costs O(n²). On an error d is
// unchanged.
func (d *Data) Append(x []float64, lambda float64) error {
	return d.AppendAll(context.Background(), [][]float64{x}, []float64{lambda})
}

// AppendAll adds points in order, to the same bits as Append does one by one, but faster and on all
// cores. It reaches checkpoints on the way. The error is that of ctx, or says which point cannot be
// used and why; d is then unchanged.
func (d *Data) AppendAll(ctx context.Context, xs [][]float64, lambdas []float64) error {
	return d.AppendKept(ctx, xs, lambdas, nil)
}

// AppendKept is AppendAll, which takes up the rows of the first points, where there are none yet,
// from what was kept of them.
func (d *Data) AppendKept(ctx context.Context, xs [][]float64, lambdas []float64, kept *Kept) error {
	if len(xs) != len(lambdas) {
		return fmt.Errorf("%d points have %d noise variances", len(xs), len(lambdas))
	}
	n := d.Len()
	for i, x := range xs {
		if err := d.check(x, lambdas[i]); err != nil {
			return fmt.Errorf("point %d: %w", n+i+1, err)
		}
	}
	grown := d.Prefix(n)
	taken := grown.takeUp(kept, xs, lambdas)
	n, xs, lambdas = n+taken, xs[taken:], lambdas[taken:]
	for i := 0; i < len(xs); i += rowsAtOnce {
		until := min(len(xs), i+rowsAtOnce)
		if err := grown.appendRows(ctx, xs[i:until], lambdas[i:until]); err != nil {
			return err
		}
	}
	grown.noise = append(grown.noise, lambdas...)
	grown.addGains(n)
	*d = *grown
	return nil
}

// rowsAtOnce is how many rows of K + Λ there are at a time beside the factor, which thousands of
// points fill with hundreds of megabytes already.
const rowsAtOnce = 384

// appendRows adds points, with a row each, to inputs and factor.
func (d *Data) appendRows(ctx context.Context, xs [][]float64, lambdas []float64) error {
	n := d.Len()
	rows := factor.Triangle(n, len(xs))
	for _, x := range xs {
		d.inputs.Append(x)
	}
	if err := checkpoint.Reach(ctx); err != nil {
		return err
	}
	_ = cores.Each(len(xs), func(i int) error {
		d.kernel.Row(rows[i], xs[i], d.inputs.Prefix(n+i+1))
		rows[i][n+i] += lambdas[i]
		return nil
	})
	err := d.factor.Adopt(ctx, rows)
	if errors.Is(err, factor.ErrNotPositiveDefinite) {
		return fmt.Errorf("the kernel and noise variances of the points do not fit together; a larger noise variance helps: %w", err)
	}
	return err
}

func (d *Data) check(x []float64, lambda float64) error {
	if err := d.kernel.Check(x); err != nil {
		return err
	}
	if !(lambda > 0) || math.IsInf(lambda, 1) {
		return fmt.Errorf("its noise variance is %g; it must be a positive number", lambda)
	}
	return nil
}

// addGains works out the information gains from point from on.
func (d *Data) addGains(from int) {
	gain := d.Gain(from)
	for i := from; i < d.Len(); i++ {
		gain += math.Log(d.factor.Row(i)[i]) - 0.5*math.Log(d.Noise(i))
		d.gains = append(d.gains, gain)
	}
}

// Prefix returns the first n points, sharing memory with d, at no cost. It may be appended to: d
// does not notice.
func (d *Data) Prefix(n int) *Data {
	return &Data{d.kernel, d.inputs.Prefix(n), d.noise[:n:n], d.gains[:n:n], d.factor.Prefix(n)}
}

// Clone returns the same points as a Data that can be changed without d noticing, at no cost.
func (d *Data) Clone() *Data { return d.Prefix(d.Len()) }

// DropFirst removes the oldest point in O(n²), for sliding windows. Prefixes taken before keep it.
func (d *Data) DropFirst() {
	n := d.Len()
	d.inputs, d.noise, d.gains = d.inputs.Slice(1, n), d.noise[1:n:n], nil
	d.factor.DropFirst()
	d.addGains(0)
}

// Gain returns the information gain of the first n points, in nats.
func (d *Data) Gain(n int) float64 {
	if n == 0 {
		return 0
	}
	return d.gains[n-1]
}

// Whiten returns z = L⁻¹ y for the first len(y) points. When z already holds the first entries of
// the answer, only the rest is worked out, in O(n) an entry and to the same bits; z itself is left
// as it is.
func (d *Data) Whiten(z, y []float64) []float64 {
	whole := make([]float64, len(y))
	copy(whole, z)
	d.factor.SolveLowerFrom(whole, y, len(z))
	return whole
}

// AheadMean returns the mean predicted for point i from the points before it, Σ_{s<i} L_is z_s; z
// may be shorter than i, the points after its end then having no reading.
func (d *Data) AheadMean(i int, z []float64) float64 {
	return factor.Dot(z[:min(i, len(z))], d.factor.Row(i))
}

// AheadVariance returns the latent variance predicted for point i from the points before it, L_ii²
// − λ_i. It is worked out as k(x_i, x_i) − Σ_{s<i} L_is², which does not cancel and has the bits of
// Predict on the first i points.
func (d *Data) AheadVariance(i int) float64 {
	return d.variance(d.inputs.Row(i), d.factor.Row(i)[:i])
}

// Conditioned answers for posterior covariances with some fixed points, whose solutions it keeps:
// O(nM) memory.
type Conditioned struct {
	data   *Data
	points *kernel.Inputs
	solved [][]float64 // v(X_i)
}

// Conditioned solves for the points X, in O(n²) each. It reaches checkpoints on the way; the error
// is that of ctx.
func (d *Data) Conditioned(ctx context.Context, X *kernel.Inputs) (*Conditioned, error) {
	c := &Conditioned{data: d, points: X, solved: matrix(X.Len(), d.Len())}
	err := d.solveBlocks(ctx, X, func(i int, v []float64) { copy(c.solved[i], v) })
	return c, err
}

// Covariances returns the posterior covariance of the latent function at x and at each of the
// points, k(x, X_i) − v(x)ᵀ v(X_i). It costs O(n² + nM).
func (c *Conditioned) Covariances(x []float64) []float64 {
	v, covariances := c.data.Solve(x), make([]float64, c.points.Len())
	c.data.kernel.Row(covariances, x, c.points)
	for i := range covariances {
		covariances[i] -= factor.Dot(v, c.solved[i])
	}
	return covariances
}

// The rows of L can be kept outside and taken up again, which costs reading them instead of n³. They
// are kept in pieces, each under a key of all that its rows are a function of: the kernel, and the
// points and noise up to its last row. So data that begin alike share their first pieces, and what
// is kept of others is never found.

// Key is the key of a piece.
type Key [sha256.Size]byte

// Piece are rows of L, From and those that follow.
type Piece struct {
	From int
	Rows [][]float64 // row i has i+1 entries
}

// A piece has largestPiece rows, or at the end, where L grows, half as many again and
// again, and not less than smallestPiece: few rows are left over, and each is kept anew a few times
// only.
const (
	largestPiece  = 256
	smallestPiece = 8
)

// Kept is what was kept of states before. What turns out to be something else than what it stands
// for is not taken, nor is what follows it. A nil Kept has nothing.
type Kept struct {
	Rules  string // by which rows are worked out; a part of every key
	pieces map[Key]Piece

	mu    sync.Mutex
	wrong []Key
}

// NewKept returns pieces to go on from.
func NewKept(rules string, pieces map[Key]Piece) *Kept { return &Kept{Rules: rules, pieces: pieces} }

// Wrong are the keys of what was refused so far.
func (k *Kept) Wrong() []Key {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.wrong)
}

func (k *Kept) refuse(key Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wrong = append(k.wrong, key)
}

// next is the piece that begins with row from, the largest there is; keys are those of pieces by the
// row after their last one.
func (k *Kept) next(keys map[int]Key, from int) (key Key, piece Piece, found bool) {
	for size := largestPiece; size >= smallestPiece; size /= 2 {
		key, possible := keys[from+size]
		if !possible || from%size != 0 {
			continue
		}
		if piece, found = k.pieces[key]; found && piece.whole(from, size) {
			return key, piece, true
		}
	}
	return Key{}, Piece{}, false
}

// whole tells whether a piece has all of rows from, from+1, …, so many of them.
func (p Piece) whole(from, size int) bool {
	if p.From != from || len(p.Rows) != size {
		return false
	}
	for i, row := range p.Rows {
		if len(row) != from+i+1 {
			return false
		}
	}
	return true
}

// keys are those of pieces, by the row after their last one.
func (d *Data) keys(rules string) map[int]Key {
	keys, sum := map[int]Key{}, sha256.New()
	_, _ = io.WriteString(sum, rules+"\n")
	d.kernel.Identify(sum)
	var row []byte
	for i := range d.noise {
		row = row[:0]
		for _, v := range append(d.inputs.Row(i), d.noise[i]) {
			row = binary.LittleEndian.AppendUint64(row, math.Float64bits(v))
		}
		_, _ = sum.Write(row)
		if (i+1)%smallestPiece == 0 {
			keys[i+1] = Key(sum.Sum(nil))
		}
	}
	return keys
}

// Pieces are what can be kept of the data, under the keys that those rules make.
func (d *Data) Pieces(rules string) iter.Seq2[Key, Piece] {
	return func(yield func(Key, Piece) bool) {
		keys, rows := d.keys(rules), d.factor.Rows()
		for from := 0; ; {
			size := largestPiece
			for size >= smallestPiece && from+size > len(rows) {
				size /= 2
			}
			if size < smallestPiece || !yield(keys[from+size], Piece{from, rows[from : from+size]}) {
				return
			}
			from += size
		}
	}
}

// takeUp appends the first of the points as far as their rows were kept, and returns how many. A
// row is a function of those before it, so that its being right says that they are: the last one of
// each piece is worked out anew. The points must have passed check.
func (d *Data) takeUp(kept *Kept, xs [][]float64, lambdas []float64) int {
	if kept == nil || len(kept.pieces) == 0 || d.Len() > 0 {
		return 0
	}
	all := &Data{kernel: d.kernel, inputs: d.inputs.Prefix(0), noise: lambdas, factor: new(factor.Cholesky)}
	for _, x := range xs {
		all.inputs.Append(x)
	}
	keys := all.keys(kept.Rules)
	for {
		n := all.factor.Len()
		key, piece, found := kept.next(keys, n)
		if !found {
			break
		}
		grown := all.factor.Prefix(n)
		grown.TakeUp(piece.Rows)
		if last := grown.Len() - 1; !all.follows(grown, last) {
			kept.refuse(key)
			break
		}
		all.factor = grown
	}
	n := all.factor.Len()
	d.inputs, d.noise, d.factor = all.inputs.Prefix(n), lambdas[:n:n], all.factor
	d.addGains(0)
	return n
}

// follows tells whether row i of L is what follows from the rows before it.
func (d *Data) follows(L *factor.Cholesky, i int) bool {
	row, before := make([]float64, i+1), L.Prefix(i)
	d.kernel.Row(row, d.inputs.Row(i), d.inputs.Prefix(i+1))
	row[i] += d.noise[i]
	return before.Append(row) == nil && sameBits(before.Row(i), L.Row(i))
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}
