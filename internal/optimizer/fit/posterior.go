package fit

import (
	"math"
	"slices"

	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
)

// posterior is the negative log posterior of θ = (ln ℓ_1, …, ln ℓ_G, ln λ), of which only the free ones may move. It keeps the
// factor of the θ evaluated last, for the gradient.
type posterior struct {
	problem *Problem
	inputs  *kernel.Inputs
	columns [][]float64 // the inputs by coordinate
	y       []float64
	told    []float64 // noise variance told, or 0 where λ holds

	low, high []float64 // equal where θ is fixed

	at      []float64
	kernel  *kernel.Function
	factor  *factor.Cholesky
	weights []float64 // α = A⁻¹ y
	rows    [][]float64
}

func newPosterior(problem *Problem) *posterior {
	chosen := subset(problem.Inputs, problem.Median, problem.Dims)
	p := &posterior{problem: problem, inputs: kernel.NewInputs(len(problem.Dims)), columns: make([][]float64, len(problem.Dims))}
	for _, i := range chosen {
		p.inputs.Append(problem.Inputs[i])
		p.y = append(p.y, problem.Y[i])
		variance := 0.0
		if problem.NoiseSD != nil && problem.NoiseSD[i] > 0 {
			variance = max(problem.NoiseSD[i]*problem.NoiseSD[i], LeastNoise)
		}
		p.told = append(p.told, variance)
		for c, v := range problem.Inputs[i] {
			p.columns[c] = append(p.columns[c], v)
		}
	}
	p.rows = make([][]float64, len(p.y))
	for i := range p.rows {
		p.rows[i] = make([]float64, i+1)
	}
	p.weights = make([]float64, len(p.y))
	p.setBounds()
	return p
}

// setBounds says how far each θ may move.
func (p *posterior) setBounds() {
	for g, median := range p.problem.Median {
		low, high := math.Log(median/farLengthscale), math.Log(median*farLengthscale)
		if !p.problem.FreeLengthscales {
			low = math.Log(median)
			if p.problem.Start.Lengthscales != nil {
				low = math.Log(p.problem.Start.Lengthscales[g])
			}
			high = low
		}
		p.low, p.high = append(p.low, low), append(p.high, high)
	}
	low, high := math.Log(LeastNoise), math.Log(mostNoise)
	if !p.problem.FreeNoise {
		low = math.Log(p.problem.Start.Lambda)
		high = low
	}
	p.low, p.high = append(p.low, low), append(p.high, high)
}

// starts are where to search from: the previous hyperparameters, the prior medians, and short and long lengthscales with much and
// little noise, since the same readings may be explained by a wiggly function or by noise.
func (p *posterior) starts() [][]float64 {
	var starts [][]float64
	add := func(lengthscales []float64, factor, lambda float64) {
		start := make([]float64, 0, len(p.low))
		for _, l := range lengthscales {
			start = append(start, math.Log(l*factor))
		}
		start = append(start, math.Log(lambda))
		for i := range start {
			start[i] = min(max(start[i], p.low[i]), p.high[i])
		}
		for _, other := range starts {
			if slices.Equal(start, other) {
				return
			}
		}
		starts = append(starts, start)
	}
	if before := p.problem.Start; before.Lengthscales != nil || before.Lambda != 0 {
		lengthscales, lambda := before.Lengthscales, before.Lambda
		if lengthscales == nil {
			lengthscales = p.problem.Median
		}
		if lambda == 0 {
			lambda = medianNoise
		}
		add(lengthscales, 1, lambda)
	}
	add(p.problem.Median, 1, medianNoise)
	add(p.problem.Median, 0.4, 0.005)
	add(p.problem.Median, 2.5, 0.2)
	return starts
}

// hyperparameters are ℓ and λ at θ; those that are fixed come back as they were given.
func (p *posterior) hyperparameters(theta []float64) (lengthscales []float64, lambda float64) {
	G := len(p.problem.Median)
	lengthscales = make([]float64, G)
	for g := range lengthscales {
		lengthscales[g] = math.Exp(theta[g])
	}
	lambda = math.Exp(theta[G])
	if theta[G] == p.low[G] {
		lambda = LeastNoise // to the bit, as e^ln may round off it
	}
	if !p.problem.FreeLengthscales {
		copy(lengthscales, p.problem.Median)
		copy(lengthscales, p.problem.Start.Lengthscales)
	}
	if !p.problem.FreeNoise {
		lambda = p.problem.Start.Lambda
	}
	return lengthscales, lambda
}

// value returns the negative log posterior at θ, +∞ where the kernel matrix is not positive definite.
func (p *posterior) value(theta []float64) float64 {
	lengthscales, lambda := p.hyperparameters(theta)
	each := make([]float64, len(p.problem.Dims))
	for c, g := range p.problem.Dims {
		each[c] = lengthscales[g]
	}
	k, err := kernel.New(p.problem.Kernel, each, p.problem.Variance)
	if err != nil {
		return math.Inf(1)
	}
	for i, row := range p.rows {
		k.Row(row, p.inputs.Row(i), p.inputs.Prefix(i+1))
		noise := p.told[i]
		if noise == 0 {
			noise = lambda
		}
		row[i] += noise
	}
	L, err := factor.New(p.rows)
	if err != nil {
		return math.Inf(1)
	}
	z := make([]float64, len(p.y))
	L.SolveLower(z, p.y)
	value := 0.5*factor.Dot(z, z) + 0.5*float64(len(z))*math.Log(2*math.Pi)
	for i := range z {
		value += math.Log(L.Row(i)[i])
	}
	L.SolveUpper(p.weights, z)
	p.at, p.kernel, p.factor = slices.Clone(theta), k, L
	return value + p.penalty(theta)
}

// penalty is the negative log prior.
func (p *posterior) penalty(theta []float64) float64 {
	sum := 0.0
	for i, v := range theta {
		deviation := p.deviation(i, v)
		sum += 0.5 * deviation * deviation
	}
	return sum
}

// deviation is how many prior standard deviations θ_i lies from its median, 0 where it is fixed.
func (p *posterior) deviation(i int, theta float64) float64 {
	switch {
	case p.low[i] == p.high[i]:
		return 0
	case i < len(p.problem.Median):
		return (theta - math.Log(p.problem.Median[i])) / spreadLengthscale
	default:
		return (theta - math.Log(medianNoise)) / spreadNoise
	}
}

// gradient returns the derivatives of the negative log posterior at the θ evaluated last, 0 for what is fixed:
// −½ tr(W ∂A/∂θ) with W = ααᵀ − A⁻¹.
func (p *posterior) gradient() []float64 {
	G := len(p.problem.Median)
	gradient := make([]float64, G+1)
	inverse := p.rows // no longer needed as the kernel matrix
	p.factor.Inverse(inverse)
	if p.problem.FreeLengthscales {
		p.addLengthscales(gradient, inverse)
	}
	if p.problem.FreeNoise {
		_, lambda := p.hyperparameters(p.at)
		for i, told := range p.told {
			if told == 0 {
				gradient[G] -= 0.5 * lambda * (p.weights[i]*p.weights[i] - inverse[i][i])
			}
		}
	}
	for i, v := range p.at {
		spread := spreadLengthscale
		if i == G {
			spread = spreadNoise
		}
		gradient[i] += p.deviation(i, v) / spread
	}
	return gradient
}

// addLengthscales subtracts ½ Σ_ij W_ij ∂K_ij/∂ln ℓ_g from each entry g.
func (p *posterior) addLengthscales(gradient []float64, inverse [][]float64) {
	lengthscales, _ := p.hyperparameters(p.at)
	weights := make([]float64, len(p.y))
	for i := range p.y {
		row := weights[:i+1]
		p.spread(row, i)
		for j := range row {
			row[j] *= p.weights[i]*p.weights[j] - inverse[i][j]
		}
		for c, column := range p.columns {
			g := p.problem.Dims[c]
			gradient[g] -= p.coordinate(row, column, i) / (lengthscales[g] * lengthscales[g])
		}
	}
}

// spread writes the part of ∂K_ij/∂ln ℓ that all coordinates share, for j ≤ i: see coordinate for the rest. A stationary
// kernel does not move on the diagonal; the linear kernel's diagonal counts half, as pairs off it count twice in the trace.
func (p *posterior) spread(row []float64, i int) {
	if p.kernel.Stationary() {
		p.kernel.Slopes(row, p.inputs.Row(i), p.inputs.Prefix(i+1))
		return
	}
	for j := range row {
		row[j] = -2 * p.problem.Variance
	}
	row[i] /= 2
}

// coordinate returns Σ_j weights_j (x_i − x_j)², for the linear kernel Σ_j weights_j x_i x_j.
func (p *posterior) coordinate(weights, column []float64, i int) float64 {
	if !p.kernel.Stationary() {
		return column[i] * factor.Dot(weights, column)
	}
	sum, x := 0.0, column[i]
	column = column[:len(weights)]
	for j, w := range weights {
		d := x - column[j]
		sum += w * d * d
	}
	return sum
}
