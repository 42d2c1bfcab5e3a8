// Package fit finds the maximum a posteriori hyperparameters of a Gaussian process: lengthscales,
// noise variance, the kernel's variance and, for an anova kernel, its interaction. Where most
// readings told their own noise, a factor of the told noise is fitted as well; where every reading
// did, it replaces the noise variance.
//
// With A = σ² C(ℓ) + Λ, L Lᵀ = A and α = A⁻¹y, it maximises
//
//	−½ yᵀα − Σ ln L_ii − (n/2) ln 2π − ½ Σ_g (ln ℓ_g − ln m_g)²/s_ℓ² − ½ (ln λ − ln m_λ)²/s_λ² + p ln σ² − q σ² − ½ (logit a − logit m_a)²/s_a²
//
// over ln ℓ, ln λ, ln σ² and logit a = ln(a/(1 − a)). The priors of ℓ and λ are log-normal, with
// the mode taken in logarithms, where it does not depend on units; that of σ² has the density of
// Gamma(p + 1, q), the interaction a is logit-normal, and the logarithm of the factor of told noise
// is Student-t. Gradients are exact, ½ tr((ααᵀ − A⁻¹) ∂A/∂θ) (Rasmussen & Williams, equation 5.9).
package fit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"headroom/internal/lists"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/descent"
)

// The priors. Readings are standardised, so λ is the share of their variance that is noise.
const (
	// spreadLengthscale is s_ℓ: 95 % of lengthscales within a factor 7 of the median, 0.06 to 2.8
	// ranges with four parameters, so that a parameter that does not matter can be seen not to.
	// With 1.25 good rows of tables were found later.
	spreadLengthscale = 1
	// medianNoise m_λ is a noise sd of 22 % of the readings' own; spreadNoise s_λ leaves 0.003 to
	// 0.95 within 95 %, so a few dozen readings overrule it.
	medianNoise = 0.05
	spreadNoise = 1.5
	// spreadTold takes the place of s_λ for the factor of told noise variances, whose median is 1:
	// 88 % of the told standard deviations are within a factor 3 of the true ones. The tails are
	// those of a Student-t, since some people tell an instrument's repeatability where runs differ
	// a hundred times as much.
	spreadTold, freedomTold = 1.12, 4.
	// The kernel's variance exceeds that of the readings where these lie closer together than a
	// lengthscale. ln σ² − σ² is the logarithm of Gamma(2, 1), largest at 1.
	shapeVariance, rateVariance = 1, 1
	// m_a is kernel.MedianInteraction: with ½ tables were predicted worse from few readings.
	// spreadInteraction s_a leaves 0.02 to 0.86 within 95 %.
	spreadInteraction = 1.5
)

// Limits of the search.
const (
	// LeastNoise is the smallest λ, fitted or told: below it the factor gains nothing but rounding
	// error.
	LeastNoise = 1e-6
	mostNoise  = 10
	// farTold bounds the factor of told noise variances: standard deviations are wrong by a factor
	// 1000 at most, either way.
	farTold = 1e6
	// leastVariance and mostVariance bound a free σ².
	leastVariance, mostVariance = 0.01, 100
	// farInteraction bounds |logit a|: beyond it a kernel is a sum or a product to all purposes.
	farInteraction = 5
	// farLengthscale is the largest factor between a lengthscale and its median, either way; beyond
	// it a parameter does not matter at all, or points are uncorrelated.
	farLengthscale = 50
	// MostPoints is the largest number of readings in a fit; see subset. An ask waits for its fit,
	// whose cost grows with the cube of this number.
	MostPoints = 250
)

// Problem says what to fit.
type Problem struct {
	Kernel string      // se, matern12, matern32, matern52, mixed, anova or linear
	Inputs [][]float64 // n points of p coordinates, by arrival
	// Dims says, for each coordinate, which lengthscale it belongs to, counted from 0: the one-hot
	// coordinates of a category share one.
	Dims []int
	// Categories says which category each coordinate belongs to, −1 for a number; nil: all are
	// numbers.
	Categories []int
	Y          []float64 // n readings, standardised, prior mean 0
	// NoiseSD are told standard deviations in the units of Y, 0 where none was told; nil for none
	// at all. A factor of them is fitted where most readings have one and the noise is free, but
	// not of those marked in Known, which are known in another way.
	NoiseSD []float64
	Known   []bool    // nil for none
	Median  []float64 // prior median of each lengthscale, in the units of Inputs
	// What is free. The rest stays as in Start.
	FreeLengthscales, FreeNoise, FreeVariance bool
	// Start is a point to start from, such as the previous fit. Lengthscales nil, Lambda 0 and
	// Interaction 0 stand for the prior medians, Told 0 for 1 and Variance 0 for the problem's.
	Start    Hyperparameters
	Variance float64 // σ² where it is fixed, and where searches start; 0 stands for 1
}

// Hyperparameters are what is fitted.
type Hyperparameters struct {
	Lengthscales []float64
	Lambda       float64
	Variance     float64
	Interaction  float64 // 0 but for an anova kernel
	Told         float64 // the factor of told noise variances, 0 if not fitted; it replaces Lambda where all readings told theirs
}

// Result is the best mode found.
type Result struct {
	Hyperparameters
	LogPosterior float64 // nats, without the priors' constants
}

// MAP returns the best of the modes found from several starts, on all cores. It is deterministic:
// the same problem gives the same bits on one machine. Its error is that of ctx, or names the
// reading that cannot be used.
func MAP(ctx context.Context, problem Problem) (Result, error) {
	return search(ctx, problem, func(starts [][]float64) [][]float64 { return starts })
}

// complete sets the kernel's variance, and refuses readings that cannot be computed with.
func (p *Problem) complete() error {
	p.Variance = cmp.Or(p.Variance, 1)
	for i, x := range p.Inputs {
		if !finite(x...) || !finite(p.Y[i]) {
			return fmt.Errorf("input or reading %d is not finite", i+1)
		}
	}
	for i, sd := range p.NoiseSD {
		if !(sd >= 0) || !finite(sd) {
			return fmt.Errorf("noise standard deviation %d is %g; it must be 0 or positive", i+1, sd)
		}
	}
	return nil
}

func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// search returns the best of the modes found from those of the starts that from selects.
func search(ctx context.Context, problem Problem, from func(starts [][]float64) [][]float64) (Result, error) {
	if err := problem.complete(); err != nil {
		return Result{}, err
	}
	posterior := newPosterior(&problem)
	starts := from(posterior.starts())
	modes := make([]mode, len(starts))
	if err := cores.Each(len(starts), func(i int) (err error) {
		modes[i], err = minimise(ctx, posterior.another(), starts[i])
		return err
	}); err != nil {
		return Result{}, err
	}
	var best mode
	for _, found := range modes {
		if found.at != nil && (best.at == nil || found.value < best.value) {
			best = found
		}
	}
	if best.at == nil {
		return Result{}, fmt.Errorf("no hyperparameters near the prior give a positive definite kernel matrix")
	}
	return Result{posterior.hyperparameters(best.at), -best.value}, nil
}

// mode is where a search ended.
type mode struct {
	at    []float64
	value float64
}

// limits of one search, in log units: hyperparameters are then within about 0.1 % of the mode.
var limits = descent.Limits{Flat: 1e-3, Steps: 60, First: 0.5, Longest: 1.5}

// minimise minimises the negative log posterior from start inside its bounds. The error is that of
// ctx.
func minimise(ctx context.Context, p *posterior, start []float64) (mode, error) {
	var m mode
	search := descent.New(start, p.low, p.high, limits)
	for theta := search.Next(); theta != nil; theta = search.Next() {
		if err := checkpoint.Reach(ctx); err != nil {
			return m, err
		}
		search.Tell(p.value(theta), func() descent.Local { return descent.Local{Gradient: p.gradient()} })
	}
	m.at, m.value = search.Best()
	return m, nil
}

// Climb is MAP from the problem's start alone.
func Climb(ctx context.Context, problem Problem) (Result, error) {
	return search(ctx, problem, func(starts [][]float64) [][]float64 { return starts[:1] })
}

// LogPosteriors returns, for each list of readings in place of the problem's, what MAP maximises,
// at the problem's start; nil where the kernel matrix is not positive definite. There may be no
// more than MostPoints readings. It costs O(n²) for each list, after one factorisation.
func LogPosteriors(problem Problem, readings [][]float64) ([]float64, error) {
	if err := problem.complete(); err != nil {
		return nil, err
	}
	posterior := newPosterior(&problem)
	start := posterior.starts()[0]
	if math.IsInf(posterior.value(start), 1) {
		return nil, nil
	}
	return lists.Map(readings, func(y []float64) float64 {
		return -posterior.unexplained(posterior.factor, y) - posterior.penalty(start)
	}), nil
}

// Around returns hyperparameters drawn from the Laplace approximation of their posterior at the
// problem's start, which should be its mode: θ is normal, with the inverse Hessian of the negative
// log posterior for its covariance. Draws come in pairs of z and −z; each call of normal must give
// a standard normal number. Directions in which the Hessian is flatter than the widest prior count
// as flat as that prior. Fixed hyperparameters stay. It costs two gradients for each free θ, and
// returns none where the kernel matrix is not positive definite.
func Around(problem Problem, count int, normal func() float64) ([]Hyperparameters, error) {
	if err := problem.complete(); err != nil {
		return nil, err
	}
	p := newPosterior(&problem)
	mode := p.starts()[0]
	free := lists.Where(len(mode), func(i int) bool { return p.low[i] < p.high[i] })
	if len(free) == 0 {
		return nil, nil
	}
	hessian, ok := p.hessian(mode, free)
	var eigen mat.EigenSym
	if !ok || !eigen.Factorize(hessian, true) {
		return nil, nil
	}
	var directions mat.Dense
	eigen.VectorsTo(&directions)
	draws := make([]Hyperparameters, 0, count)
	step := make([]float64, len(free))
	for len(draws) < count {
		clear(step)
		for c, curvature := range eigen.Values(nil) {
			z := normal() / math.Sqrt(max(curvature, widest))
			for r := range step {
				step[r] += z * directions.At(r, c)
			}
		}
		for _, sign := range []float64{1, -1} {
			theta := append([]float64(nil), mode...)
			for r, i := range free {
				theta[i] = min(max(theta[i]+sign*step[r], p.low[i]), p.high[i])
			}
			draws = append(draws, p.hyperparameters(theta))
		}
	}
	return draws[:count], nil
}

// widest is the precision of the widest prior.
const widest = 1 / (spreadNoise * spreadNoise)

// hessian is the Hessian of the negative log posterior in the free θ, by differences of its
// gradient.
func (p *posterior) hessian(at []float64, free []int) (*mat.SymDense, bool) {
	const apart = 0.05
	h := mat.NewSymDense(len(free), nil)
	rows := make([][]float64, len(free))
	for r, i := range free {
		var slopes [2][]float64
		theta := append([]float64(nil), at...)
		low, high := max(at[i]-apart, p.low[i]), min(at[i]+apart, p.high[i])
		for n, v := range []float64{low, high} {
			theta[i] = v
			if math.IsInf(p.value(theta), 1) {
				return nil, false
			}
			slopes[n] = p.gradient()
		}
		rows[r] = make([]float64, len(free))
		for c, j := range free {
			rows[r][c] = (slopes[1][j] - slopes[0][j]) / (high - low)
		}
	}
	for r := range rows {
		for c := range r + 1 {
			h.SetSym(r, c, (rows[r][c]+rows[c][r])/2)
		}
	}
	return h, true
}

// subset lists the readings that take part in a fit, in order: all of them up to MostPoints. Of
// more, half of MostPoints are the latest ones, which lie where the study looks now, often close
// together, and determine the noise. The others are, one after another, the earlier ones farthest
// from all chosen so far, in prior lengthscales; they determine the lengthscales.
func subset(inputs [][]float64, medians []float64, dims []int) []int {
	all := lists.Below(len(inputs))
	if len(all) <= MostPoints {
		return all
	}
	lengthscales := lists.Map(dims, func(g int) float64 { return medians[g] })
	earlier := len(all) - MostPoints/2
	return Farthest(inputs, lengthscales, all[earlier:], earlier, MostPoints-MostPoints/2)
}

// Farthest adds more points to the chosen ones, each the one farthest from all chosen before it
// among the first points, in units of the lengthscales. It returns them all in ascending order.
func Farthest(inputs [][]float64, lengthscales []float64, chosen []int, among, more int) []int {
	distance := slices.Repeat([]float64{math.Inf(1)}, len(inputs)) // squared, to the nearest chosen; of those −1
	choose := func(i int) {
		for j, x := range inputs {
			sum := 0.0
			for c, v := range x {
				d := (v - inputs[i][c]) / lengthscales[c]
				sum += d * d
			}
			distance[j] = min(distance[j], sum)
		}
		distance[i] = -1
	}
	for _, i := range chosen {
		choose(i)
	}
	chosen = slices.Clone(chosen)
	for range more {
		next := floats.MaxIdx(distance[:among])
		choose(next)
		chosen = append(chosen, next)
	}
	slices.Sort(chosen)
	return chosen
}
