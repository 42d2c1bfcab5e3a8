package gp

import (
	"fmt"
	"math"
	"slices"

	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
)

// Arms keeps the whole posterior over M arms, means μ_r of the responses and covariance Σ, at O(M²) a reading however many
// there have been. A reading y of arm i with noise variance λ moves them by
//
//	s = Σ_ii + λ,   g = Σ_·i,   μ_r ← μ_r + g (y_r − μ_ri)/s,   Σ ← Σ − g gᵀ/s.
type Arms struct {
	means      [][]float64
	covariance [][]float64
	gain       float64
	count      int
}

// NewArms returns the prior over the arms X for a number of responses that are read together.
func NewArms(k *kernel.Function, X *kernel.Inputs, responses int) *Arms {
	a := &Arms{means: matrix(responses, X.Len()), covariance: matrix(X.Len(), X.Len())}
	for i, row := range a.covariance {
		k.Row(row, X.Row(i), X)
	}
	return a
}

// Update takes in one reading of arm i with noise variance lambda > 0, ys holding one value per response.
// A nil ys is a pending trial: the covariance shrinks, the means stay.
func (a *Arms) Update(i int, ys []float64, lambda float64) error {
	if i < 0 || i >= len(a.covariance) {
		return fmt.Errorf("arm %d does not exist; there are %d", i+1, len(a.covariance))
	}
	if !(lambda > 0) || math.IsInf(lambda, 1) {
		return fmt.Errorf("the noise variance of arm %d is %g; it must be a positive number", i+1, lambda)
	}
	if ys != nil && len(ys) != len(a.means) {
		return fmt.Errorf("%d readings for %d responses", len(ys), len(a.means))
	}
	shared := slices.Clone(a.covariance[i])
	total := shared[i] + lambda
	for r, y := range ys {
		factor.Axpy((y-a.means[r][i])/total, shared, a.means[r])
	}
	a.gain += 0.5 * math.Log1p(shared[i]/lambda)
	// g/√s times itself keeps Σ symmetric to the last bit.
	root := math.Sqrt(total)
	for j := range shared {
		shared[j] /= root
	}
	for j, row := range a.covariance {
		factor.Axpy(-shared[j], shared, row)
		row[j] = max(row[j], 0)
	}
	a.count++
	return nil
}

// Len is the number M of arms, Count the number of readings taken in, Gain their information gain in nats.
func (a *Arms) Len() int      { return len(a.covariance) }
func (a *Arms) Count() int    { return a.count }
func (a *Arms) Gain() float64 { return a.gain }

// Means returns the M posterior means of response r, Covariance the M×M posterior covariance; both to be read only.
func (a *Arms) Means(r int) []float64   { return a.means[r] }
func (a *Arms) Covariance() [][]float64 { return a.covariance }

// Variance returns the latent variance of arm i.
func (a *Arms) Variance(i int) float64 { return a.covariance[i][i] }

// Clone returns Arms that can be updated without touching a.
func (a *Arms) Clone() *Arms {
	clone := &Arms{means: matrix(len(a.means), a.Len()), covariance: matrix(a.Len(), a.Len()), gain: a.gain, count: a.count}
	for r := range a.means {
		copy(clone.means[r], a.means[r])
	}
	for i := range a.covariance {
		copy(clone.covariance[i], a.covariance[i])
	}
	return clone
}
