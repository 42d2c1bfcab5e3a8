package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
)

// Arms keeps the whole posterior over M arms, means μ_r of the responses and covariance Σ, at O(M²)
// a reading, whatever their number. A reading y of arm i with noise variance λ moves them by
//
//	s = Σ_ii + λ,   g = Σ_·i,   μ_r ← μ_r + g (y_r − μ_ri)/s,   Σ ← Σ − g gᵀ/s.
//
// The vectors u = g/√s of the last readings are kept apart and subtracted from the matrix many at a
// time, which is several times faster. Changing one Arms is not safe for concurrent use; clones
// share what they do not change.
type Arms struct {
	base      [][]float64 // Σ before the last readings; never changed once made
	shares    [][]float64 // u of the last readings: Σ = base − Σ_s u_s u_sᵀ
	means     [][]float64
	variances []float64 // the diagonal of Σ
	gain      float64
}

// foldAfter is how many readings are subtracted from the matrix at once.
const foldAfter = 64

// NewArms returns the prior over the arms X for a number of responses that are read together.
func NewArms(ctx context.Context, k *kernel.Function, X *kernel.Inputs, responses int) (*Arms, error) {
	work := checkpoint.NewMeter(ctx)
	a := &Arms{base: factor.Matrix(X.Len(), X.Len()), means: factor.Matrix(responses, X.Len()), variances: make([]float64, X.Len())}
	for i, row := range a.base {
		k.Row(row, X.Row(i), X)
		a.variances[i] = row[i]
		if err := work.Spend(kernelWork * len(row)); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Update adds one reading of arm i with noise variance lambda > 0; ys holds one value per response.
// A nil ys is a pending trial: the covariance shrinks, the means stay. It reaches checkpoints. On
// an error, that of ctx or what is wrong with the reading, a is unchanged.
func (a *Arms) Update(ctx context.Context, i int, ys []float64, lambda float64) error {
	if i < 0 || i >= a.Len() {
		return fmt.Errorf("arm %d does not exist; there are %d", i+1, a.Len())
	}
	if !(lambda > 0) || math.IsInf(lambda, 1) {
		return fmt.Errorf("the noise variance of arm %d is %g; it must be a positive number", i+1, lambda)
	}
	if ys != nil && len(ys) != len(a.means) {
		return fmt.Errorf("%d readings for %d responses", len(ys), len(a.means))
	}
	if len(a.shares) >= foldAfter {
		if err := a.fold(ctx); err != nil {
			return err
		}
	}
	share := a.Covariances(i)
	total := share[i] + lambda
	for r, y := range ys {
		factor.Axpy((y-a.means[r][i])/total, share, a.means[r])
	}
	a.gain += 0.5 * math.Log1p(share[i]/lambda)
	root := math.Sqrt(total)
	for j := range share {
		share[j] /= root
		a.variances[j] = max(a.variances[j]-share[j]*share[j], 0)
	}
	a.shares = append(a.shares[:len(a.shares):len(a.shares)], share)
	return nil
}

// fold subtracts the shares from the matrix.
func (a *Arms) fold(ctx context.Context) error {
	folded, err := a.Covariance(ctx)
	if err == nil {
		a.base, a.shares = folded, nil
	}
	return err
}

// Len is the number M of arms, Gain the information gain of the readings taken in, in nats.
func (a *Arms) Len() int      { return len(a.base) }
func (a *Arms) Gain() float64 { return a.gain }

// Means returns the M posterior means of every response, Variances the M latent variances; both to be
// read only.
func (a *Arms) Means() [][]float64   { return a.means }
func (a *Arms) Variances() []float64 { return a.variances }

// At returns the posterior means of every response at arm i.
func (a *Arms) At(i int) []float64 {
	return lists.Map(a.means, func(of []float64) float64 { return of[i] })
}

// Covariances returns the posterior covariances of arm i with every arm.
func (a *Arms) Covariances(i int) []float64 {
	row := slices.Clone(a.base[i])
	for _, u := range a.shares {
		factor.Axpy(-u[i], u, row)
	}
	row[i] = a.variances[i]
	return row
}

// Covariance returns the M×M posterior covariance, symmetric to the last bit. It costs O(M²).
func (a *Arms) Covariance(ctx context.Context) ([][]float64, error) {
	work := checkpoint.NewMeter(ctx)
	M := a.Len()
	taken, byArm := factor.Matrix(M, M), factor.Matrix(M, len(a.shares))
	for s, u := range a.shares {
		for i, v := range u {
			byArm[i][s] = v
		}
	}
	if len(a.shares) > 0 {
		if err := factor.Gram(ctx, taken, byArm); err != nil {
			return nil, err
		}
	}
	for i, row := range taken {
		for j, v := range row[:i] {
			row[j] = a.base[i][j] - v
			taken[j][i] = row[j]
		}
		row[i] = a.variances[i]
		if err := work.Spend(4 * i); err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// Clone returns Arms that can be updated without touching a, in O(M).
func (a *Arms) Clone() *Arms {
	return &Arms{a.base, a.shares, lists.Map(a.means, slices.Clone), slices.Clone(a.variances), a.gain}
}
