package fit

import (
	"cmp"
	"context"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/kernel"
)

// posterior is the negative log posterior of θ = (ln ℓ_1, …, ln ℓ_G, ln λ, ln σ², logit a), of
// which only the free ones move. Where most readings told their noise, the logarithm of the factor
// of told noise comes after these or, where every reading did, takes the place of ln λ. It keeps
// the factor L of the θ evaluated last, for the gradient.
type posterior struct {
	problem *Problem
	inputs  *kernel.Inputs
	y       []float64
	told    []float64 // noise variance told or known, 0 where it is λ
	scaled  []bool    // which of them are multiplied by the factor
	toldAt  int       // index of the factor's logarithm in θ, −1 for none
	much    float64   // the factor with which the average told noise variance is 4·medianNoise

	low, high []float64 // equal where θ is fixed

	at      []float64
	kernel  *kernel.Function
	factor  *factor.Cholesky
	weights []float64 // α = A⁻¹ y

	rows, inverse, room [][]float64 // of the factor, of A⁻¹, and for computing that
}

func newPosterior(problem *Problem) *posterior {
	chosen := subset(problem.Inputs, problem.Median, problem.Dims)
	p, count, sum := &posterior{problem: problem, inputs: kernel.NewInputs(len(problem.Dims))}, 0, 0.0
	for _, i := range chosen {
		p.inputs.Append(problem.Inputs[i])
		p.y = append(p.y, problem.Y[i])
		variance := 0.0
		if problem.NoiseSD != nil && problem.NoiseSD[i] > 0 {
			variance = Told(problem.NoiseSD[i]*problem.NoiseSD[i], 1)
		}
		p.told = append(p.told, variance)
		scaled := problem.FreeNoise && variance > 0 && (problem.Known == nil || !problem.Known[i])
		p.scaled = append(p.scaled, scaled)
		if scaled {
			count++
			sum += variance
		}
	}
	p.much = 4 * medianNoise * float64(count) / sum
	switch p.toldAt = len(problem.Median) + 3; {
	case 2*count <= len(p.scaled):
		p.toldAt = -1
		clear(p.scaled)
	case !slices.Contains(p.told, 0):
		p.toldAt = len(problem.Median)
	}
	p.setBounds()
	return p.another()
}

// forNoise tells whether the factor of told noise takes the place of λ.
func (p *posterior) forNoise() bool { return p.toldAt == len(p.problem.Median) }

// another is the same posterior, for concurrent evaluation.
func (p *posterior) another() *posterior {
	other, n := *p, len(p.y)
	other.rows, other.inverse, other.room = factor.Triangle(0, n), factor.Triangle(0, n), factor.Square(n)
	other.weights = make([]float64, n)
	return &other
}

// setBounds sets the bounds of each θ.
func (p *posterior) setBounds() {
	bound := func(free bool, low, high, fixed float64) {
		if !free {
			low, high = fixed, fixed
		}
		p.low, p.high = append(p.low, low), append(p.high, high)
	}
	fixed := p.problem.Start.Lengthscales
	if fixed == nil {
		fixed = p.problem.Median
	}
	for g, median := range p.problem.Median {
		bound(p.problem.FreeLengthscales, math.Log(median/farLengthscale), math.Log(median*farLengthscale), math.Log(fixed[g]))
	}
	factor := func() { bound(true, -math.Log(farTold), math.Log(farTold), 0) }
	if p.toldAt == len(p.low) {
		factor()
	} else {
		bound(p.problem.FreeNoise, math.Log(LeastNoise), math.Log(mostNoise), math.Log(p.problem.Start.Lambda))
	}
	bound(p.problem.FreeVariance, math.Log(leastVariance), math.Log(mostVariance), math.Log(p.problem.Variance))
	bound(p.problem.mixes(), -farInteraction, farInteraction, p.problem.Start.logit())
	if p.toldAt == len(p.low) {
		factor()
	}
}

// mixes tells whether there is an interaction to fit.
func (p *Problem) mixes() bool { return p.Kernel == kernel.Anova }

// logit is the logit of the interaction, or of its prior median where it is 0.
func (h Hyperparameters) logit() float64 {
	return logit(cmp.Or(h.Interaction, kernel.MedianInteraction))
}

func logit(share float64) float64 { return math.Log(share / (1 - share)) }

// starts are where to search from: the previous hyperparameters, the prior medians, and short and
// long lengthscales with little and much noise, since the same readings may come from a wiggly
// function or from noise.
func (p *posterior) starts() [][]float64 {
	var starts [][]float64
	median, much := medianNoise, 4*medianNoise
	if p.forNoise() {
		median, much = 1, p.much
	}
	add := func(lengthscales []float64, factor, lambda, variance, logitInteraction, told float64) {
		start := make([]float64, 0, len(p.low))
		for _, l := range lengthscales {
			start = append(start, math.Log(l*factor))
		}
		start = append(start, math.Log(lambda), math.Log(variance), logitInteraction, math.Log(told))[:len(p.low)]
		for i := range start {
			start[i] = min(max(start[i], p.low[i]), p.high[i])
		}
		if !slices.ContainsFunc(starts, func(other []float64) bool { return slices.Equal(start, other) }) {
			starts = append(starts, start)
		}
	}
	if before := p.problem.Start; before.Lengthscales != nil || before.Lambda != 0 || before.Told != 0 {
		lengthscales, lambda := before.Lengthscales, before.Lambda
		if lengthscales == nil {
			lengthscales = p.problem.Median
		}
		if p.forNoise() {
			lambda = before.Told
		}
		add(lengthscales, 1, cmp.Or(lambda, median), cmp.Or(before.Variance, p.problem.Variance), before.logit(), cmp.Or(before.Told, 1))
	}
	add(p.problem.Median, 1, median, p.problem.Variance, logit(kernel.MedianInteraction), 1)
	add(p.problem.Median, 0.4, median/10, p.problem.Variance, logit(kernel.MedianInteraction), 1)
	add(p.problem.Median, 2.5, much, p.problem.Variance, logit(kernel.MedianInteraction), p.much)
	return starts
}

// hyperparameters are ℓ, λ, σ² and a at θ; fixed ones are returned as they were given.
func (p *posterior) hyperparameters(theta []float64) Hyperparameters {
	G := len(p.problem.Median)
	at := Hyperparameters{Lengthscales: lists.Map(theta[:G], math.Exp), Lambda: math.Exp(theta[G]), Variance: math.Exp(theta[G+1])}
	if theta[G] == p.low[G] {
		at.Lambda = LeastNoise // to the bit, as e^ln may round off it
	}
	if !p.problem.FreeLengthscales {
		copy(at.Lengthscales, p.problem.Median)
		copy(at.Lengthscales, p.problem.Start.Lengthscales)
	}
	if !p.problem.FreeNoise {
		at.Lambda = p.problem.Start.Lambda
	}
	if p.toldAt >= 0 {
		at.Told = math.Exp(theta[p.toldAt])
	}
	if p.forNoise() {
		at.Lambda = medianNoise
	}
	if !p.problem.FreeVariance {
		at.Variance = p.problem.Variance
	}
	if p.problem.mixes() {
		at.Interaction = 1 / (1 + math.Exp(-theta[G+2]))
	}
	return at
}

// value returns the negative log posterior at θ, +∞ where the kernel matrix is not positive
// definite.
func (p *posterior) value(theta []float64) float64 {
	now := p.hyperparameters(theta)
	k, err := p.problem.function(now)
	if err != nil {
		return math.Inf(1)
	}
	for i, row := range p.rows {
		k.Row(row, p.inputs.Row(i), p.inputs.Prefix(i+1))
		row[i] += p.noise(i, now)
	}
	L := new(factor.Cholesky)
	if L.Adopt(context.Background(), p.rows) != nil {
		return math.Inf(1)
	}
	value := p.unexplained(L, p.y)
	L.SolveUpper(p.weights, p.weights)
	p.at, p.kernel, p.factor = slices.Clone(theta), k, L
	return value + p.penalty(theta)
}

// unexplained is the negative log density of readings, given the factor L of A; it leaves L⁻¹y in
// weights.
func (p *posterior) unexplained(L *factor.Cholesky, y []float64) float64 {
	z := p.weights
	L.SolveLower(z, y)
	value := 0.5*factor.Dot(z, z) + 0.5*float64(len(z))*math.Log(2*math.Pi)
	for i := range z {
		value += math.Log(L.Row(i)[i])
	}
	return value
}

// function is the kernel with these hyperparameters.
func (p *Problem) function(at Hyperparameters) (*kernel.Function, error) {
	each := lists.Map(p.Dims, func(g int) float64 { return at.Lengthscales[g] })
	k, err := kernel.New(p.Kernel, each, at.Variance)
	if err != nil {
		return nil, err
	}
	if p.Categories != nil {
		k = k.WithCategories(p.Categories)
	}
	return k.WithInteraction(at.Interaction)
}

// penalty is the negative log prior.
func (p *posterior) penalty(theta []float64) float64 {
	sum := 0.0
	for i, v := range theta {
		value, _ := p.prior(i, v)
		sum += value
	}
	return sum
}

// prior is the negative log prior of θ_i, without its constant, and its slope; both are 0 where θ_i
// is fixed.
func (p *posterior) prior(i int, theta float64) (value, slope float64) {
	G := len(p.problem.Median)
	switch {
	case p.low[i] == p.high[i]:
		return 0, 0
	case i < G:
		return normal(theta, math.Log(p.problem.Median[i]), spreadLengthscale)
	case i == p.toldAt:
		return tailed(theta, spreadTold)
	case i == G:
		return normal(theta, math.Log(medianNoise), spreadNoise)
	case i == G+2:
		return normal(theta, logit(kernel.MedianInteraction), spreadInteraction)
	default:
		variance := math.Exp(theta)
		return rateVariance*variance - shapeVariance*theta, rateVariance*variance - shapeVariance
	}
}

// Told is λ of a reading with a told noise variance, times a factor.
func Told(variance, factor float64) float64 { return max(factor*max(variance, LeastNoise), LeastNoise) }

// noise is λ of reading i.
func (p *posterior) noise(i int, at Hyperparameters) float64 {
	switch {
	case p.scaled[i]:
		return Told(p.told[i], at.Told)
	case p.told[i] > 0:
		return p.told[i]
	}
	return at.Lambda
}

// normal is ½ ((θ − mean)/spread)² and its slope.
func normal(theta, mean, spread float64) (value, slope float64) {
	deviation := (theta - mean) / spread
	return 0.5 * deviation * deviation, deviation / spread
}

// tailed is the negative logarithm of a Student-t density, up to a constant, and its slope.
func tailed(theta, spread float64) (value, slope float64) {
	z := theta / spread
	return 0.5 * (freedomTold + 1) * math.Log1p(z*z/freedomTold), (freedomTold + 1) * z / (freedomTold + z*z) / spread
}

// gradient returns the derivatives of the negative log posterior at the θ evaluated last, 0 for
// fixed ones: −½ tr(W ∂A/∂θ) with W = ααᵀ − A⁻¹.
func (p *posterior) gradient() []float64 {
	G := len(p.problem.Median)
	gradient := make([]float64, len(p.low))
	inverse := p.inverse
	p.factor.Inverse(inverse, p.room)
	if p.problem.FreeLengthscales {
		p.addLengthscales(gradient, inverse)
	}
	if p.problem.FreeLengthscales && p.kernel.Categories() != nil || p.problem.mixes() {
		p.addChoices(gradient, inverse)
	}
	if p.problem.FreeNoise {
		now := p.hyperparameters(p.at)
		for i, told := range p.told {
			of := G
			if p.scaled[i] {
				of = p.toldAt
			}
			if noise := p.noise(i, now); told == 0 || p.scaled[i] && noise > LeastNoise {
				gradient[of] -= 0.5 * noise * (p.weights[i]*p.weights[i] - inverse[i][i])
			}
		}
	}
	if p.problem.FreeVariance {
		gradient[G+1] -= 0.5 * p.signal(inverse)
	}
	for i, v := range p.at {
		_, slope := p.prior(i, v)
		gradient[i] += slope
	}
	return gradient
}

// signal is tr(W K), as tr(W A) − Σ W_ii Λ_ii with tr(W A) = yᵀα − n.
func (p *posterior) signal(inverse [][]float64) float64 {
	now := p.hyperparameters(p.at)
	trace := factor.Dot(p.y, p.weights) - float64(len(p.y))
	for i := range p.told {
		trace -= p.noise(i, now) * (p.weights[i]*p.weights[i] - inverse[i][i])
	}
	return trace
}

// addLengthscales subtracts ½ Σ_ij W_ij ∂K_ij/∂ln ℓ_g from each entry g.
func (p *posterior) addLengthscales(gradient []float64, inverse [][]float64) {
	lengthscales := p.hyperparameters(p.at).Lengthscales
	weights := make([]float64, len(p.y))
	for i := range p.y {
		row := weights[:i+1]
		p.spread(row, i)
		for j := range row {
			row[j] *= p.weights[i]*p.weights[j] - inverse[i][j]
		}
		for c, g := range p.problem.Dims {
			if p.number(c) {
				gradient[g] -= p.coordinate(row, p.inputs.Column(c), i) / (lengthscales[g] * lengthscales[g])
			}
		}
	}
}

// number tells whether the kernel takes coordinate c for a number. Only mixed and anova distinguish
// categories.
func (p *posterior) number(c int) bool {
	return p.kernel.Categories() == nil || p.problem.Categories == nil || p.problem.Categories[c] < 0
}

// addChoices is addLengthscales for the categories of a mixed or an anova kernel, where ∂K_ij is a
// multiple of K_ij + Constant if i and j differ in the category; and the same for the interaction
// of an anova kernel, with ∂a/∂ logit a = a(1 − a). The diagonal of K depends on neither.
func (p *posterior) addChoices(gradient []float64, inverse [][]float64) {
	values, slopes, mixing := make([]float64, len(p.y)), make([]float64, len(p.y)), 0.0
	for i := range p.y {
		x, row := p.inputs.Row(i), values[:i]
		if p.problem.mixes() {
			p.kernel.RowAndSlopes(row, slopes, x, p.inputs.Prefix(i))
		} else {
			p.kernel.Row(row, x, p.inputs.Prefix(i))
		}
		for j := range row {
			weight := p.weights[i]*p.weights[j] - inverse[i][j]
			row[j] = (row[j] + p.kernel.Constant()) * weight
			mixing += slopes[j] * weight
		}
		if !p.problem.FreeLengthscales {
			continue
		}
		for _, category := range p.kernel.Categories() {
			chosen := category.Chosen(x)
			gradient[p.problem.Dims[chosen]] -= category.Slope * differing(row, p.inputs.Column(chosen))
		}
	}
	if p.problem.mixes() {
		a := p.hyperparameters(p.at).Interaction
		gradient[len(p.problem.Median)+2] -= mixing * a * (1 - a)
	}
}

// differing is the sum of the values of points with another choice than that of the column chosen.
func differing(values, chosen []float64) float64 {
	sum := 0.0
	for j, v := range values {
		if chosen[j] != 1 {
			sum += v
		}
	}
	return sum
}

// spread writes the part of ∂K_ij/∂ln ℓ that all coordinates share, for j ≤ i; coordinate has the
// rest. The diagonal of a stationary kernel does not depend on ℓ. That of the linear kernel counts
// half, since other pairs count twice in the trace.
func (p *posterior) spread(row []float64, i int) {
	if p.kernel.Stationary() {
		p.kernel.Slopes(row, p.inputs.Row(i), p.inputs.Prefix(i+1))
		return
	}
	variance := p.hyperparameters(p.at).Variance
	for j := range row {
		row[j] = -2 * variance
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
