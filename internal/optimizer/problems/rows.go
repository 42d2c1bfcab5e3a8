package problems

import (
	"context"
	"fmt"
	"math"

	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// posterior is a Gaussian process posterior over arms, which takes in readings one at a time.
type posterior interface {
	// Update takes in a reading of arm i with noise variance lambda, ys holding one value per response; a nil ys narrows only.
	Update(i int, ys []float64, lambda float64) error
	Means(response int) []float64
	Variance(i int) float64
	Gain() float64
	// row returns the posterior covariances of arm i with every arm.
	row(i int) []float64
}

// newPosterior keeps the whole covariance where many rounds are played on few arms, else one row a reading.
func newPosterior(k *kernel.Function, arms *kernel.Inputs, responses, rounds int) posterior {
	if rounds > 2*arms.Len() {
		a, err := gp.NewArms(context.Background(), k, arms, responses)
		if err != nil {
			panic(err) // it has no other error than its context's
		}
		return whole{a}
	}
	return newRows(k, arms, responses)
}

// whole is the posterior with its M×M covariance, O(M²) a reading.
type whole struct{ *gp.Arms }

func (w whole) Variance(i int) float64 { return w.Variances()[i] }
func (w whole) row(i int) []float64    { return w.Covariances(i) }

func (w whole) Update(i int, ys []float64, lambda float64) error {
	return w.Arms.Update(context.Background(), i, ys, lambda)
}

// rows is the posterior as the prior less one rank a reading, Σ = K − Σ_s u_s u_sᵀ: O(nM) a reading and in memory. A reading y of arm i with
// noise variance λ moves it by
//
//	g = Σ_·i,   s = g_i + λ,   u = g/√s,   μ ← μ + g (y − μ_i)/s,   diag Σ ← diag Σ − u².
type rows struct {
	kernel    *kernel.Function
	arms      *kernel.Inputs
	ranks     [][]float64
	means     [][]float64
	variances []float64
	gain      float64
	revised   int // responses revised so far
}

func newRows(k *kernel.Function, arms *kernel.Inputs, responses int) *rows {
	p := &rows{kernel: k, arms: arms, variances: make([]float64, arms.Len())}
	for range responses {
		p.means = append(p.means, make([]float64, arms.Len()))
	}
	for i := range p.variances {
		p.variances[i] = k.Diagonal(arms.Row(i))
	}
	return p
}

func (p *rows) row(i int) []float64 {
	g := make([]float64, p.arms.Len())
	p.kernel.Row(g, p.arms.Row(i), p.arms)
	for _, u := range p.ranks {
		factor.Axpy(-u[i], u, g)
	}
	return g
}

func (p *rows) Update(i int, ys []float64, lambda float64) error {
	if !(lambda > 0) {
		return fmt.Errorf("the noise variance of arm %d is %g; it must be a positive number", i+1, lambda)
	}
	g := p.row(i)
	variance := math.Max(g[i], 0)
	total := variance + lambda
	for r, y := range ys {
		factor.Axpy((y-p.means[r][i])/total, g, p.means[r])
	}
	p.gain += 0.5 * math.Log1p(variance/lambda)
	root := math.Sqrt(total)
	for c := range g {
		g[c] /= root
		p.variances[c] = math.Max(p.variances[c]-g[c]*g[c], 0)
	}
	p.ranks = append(p.ranks, g)
	return nil
}

func (p *rows) Means(response int) []float64 { return p.means[response] }
func (p *rows) Variance(i int) float64       { return p.variances[i] }
func (p *rows) Gain() float64                { return p.gain }

// revise adds to an earlier response of arm i: by change·λ, so the means move by Σ_·i change.
func (p *rows) revise(i, response int, change float64) {
	factor.Axpy(change, p.row(i), p.means[response])
}
