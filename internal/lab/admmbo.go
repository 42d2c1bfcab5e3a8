package lab

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/lab/problems"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// Constants of ADMMBO.
const (
	admmPenalty               = 0.1 // ρ at first
	admmInfeasible            = 50  // M, the price of an infeasible point
	admmFirstX, admmX         = 10, 5
	admmFirstZ, admmZ         = 50, 5
	admmImbalance             = 10 // ratio of the residuals at which ρ moves
	admmAbsolute, admmRelated = 0.05, 0.075
	admmCandidates            = 2000
)

// admmbo is after Ariafar et al. (2019), ADMMBO: Bayesian optimization with unknown constraints
// using ADMM. It splits "least −f within every limit" into copies z_j of x, and sweeps over
//
//	x:   expected improvement on −f(x) + (mρ/2)‖x − z̄ + ȳ/ρ‖²,
//	z_j: expected improvement on 1[g_j(z) > 0] + (ρ/2M)‖x − z + y_j/ρ‖²,
//	y_j ← y_j + ρ(x − z_j),
//
// every evaluation a round; after the residuals are small it plays its incumbent x. Improvement is
// sought among space-filling points, with the model of the experiment. An evaluation feeds only the
// function that its step is about.
type admmbo struct {
	in         *problems.Instance
	candidates [][]float64
	objective  admmData   // of −f
	limits     []admmData // of g_j
	x          []float64
	z, y       [][]float64
	rho        float64
	step       int // 0 the x-step, 1+j the z_j-step
	left       int // evaluations left in the step
	sweep      int
	done       bool
	before     [][]float64 // z before the sweep
	place      []float64
}

// admmData is one function's readings and posterior.
type admmData struct {
	data   *gp.Data
	lambda float64
	points [][]float64
	values []float64
}

func newADMMBO(e Experiment, in *problems.Instance, seed uint64, _ map[string]float64) (player[move], error) {
	prior, err := in.Prior()
	if err != nil {
		return nil, err
	}
	k, err := kernel.New(prior.Name, prior.Lengthscales, prior.Variance)
	if err != nil {
		return nil, err
	}
	p := &admmbo{in: in, rho: admmPenalty, left: admmFirstX}
	for _, u := range search.Halton(admmCandidates, len(in.Axes), seed) {
		p.candidates = append(p.candidates, in.Point(optimizer.Place{U: u, Arm: -1}))
	}
	p.objective = admmData{data: gp.NewData(k, len(in.Axes)), lambda: e.lambda(in, 0)}
	p.x = p.candidates[0]
	for j := range in.Limits {
		p.limits = append(p.limits, admmData{data: gp.NewData(k, len(in.Axes)), lambda: e.lambda(in, 1+j)})
		var upper []float64
		for _, a := range in.Axes {
			upper = append(upper, a.High)
		}
		p.z, p.y = append(p.z, upper), append(p.y, make([]float64, len(in.Axes)))
	}
	p.before = slices.Clone(p.z)
	return p, nil
}

func (p *admmbo) choose(ctx context.Context, _ int) ([]move, error) {
	p.place = p.x
	if !p.done {
		var err error
		if p.place, err = p.mostPromising(ctx); err != nil {
			return nil, err
		}
	}
	return []move{{place: optimizer.Place{U: p.in.Unit(p.place), Arm: -1}}}, nil
}

// quadratic is the step's known term at a point.
func (p *admmbo) quadratic(at []float64) float64 {
	sum, m := 0.0, float64(len(p.z))
	if p.step > 0 {
		j := p.step - 1
		for k := range at {
			sum += squared(p.x[k] - at[k] + p.y[j][k]/p.rho)
		}
		return p.rho / (2 * admmInfeasible) * sum
	}
	for k := range at {
		centre := 0.0
		for j := range p.z {
			centre += (p.z[j][k] - p.y[j][k]/p.rho) / m
		}
		sum += squared(at[k] - centre)
	}
	return m * p.rho / 2 * sum
}

// function is the data of the step's function.
func (p *admmbo) function() *admmData {
	if p.step == 0 {
		return &p.objective
	}
	return &p.limits[p.step-1]
}

// contribution is what a reading adds to the step's goal beside the quadratic.
func (p *admmbo) contribution(value float64) float64 {
	switch {
	case p.step == 0:
		return value
	case value > 0:
		return 1
	}
	return 0
}

// incumbent is the evaluated point with the least value of the step's goal, from readings.
func (p *admmbo) incumbent() (at []float64, value float64) {
	value = math.Inf(1)
	f := p.function()
	for i, x := range f.points {
		if v := p.contribution(f.values[i]) + p.quadratic(x); v < value {
			at, value = x, v
		}
	}
	return at, value
}

// mostPromising maximises the step's expected improvement.
func (p *admmbo) mostPromising(ctx context.Context) ([]float64, error) {
	f := p.function()
	if len(f.points) == 0 {
		return p.candidates[0], nil
	}
	_, best := p.incumbent()
	X := kernel.InputsOf(p.candidates)
	means, variances, err := f.data.PredictMany(ctx, X, [][]float64{f.data.Whiten(nil, f.values)})
	if err != nil {
		return nil, err
	}
	at, most := p.candidates[0], math.Inf(-1)
	for i, x := range p.candidates {
		if v := p.improvement(best-p.quadratic(x), means[0][i], math.Sqrt(variances[i])); v > most {
			at, most = x, v
		}
	}
	return at, nil
}

// improvement is the expected excess of room over the step's contribution: E[room − f]⁺ of a
// normal, or of an indicator.
func (p *admmbo) improvement(room, mean, sd float64) float64 {
	switch {
	case p.step == 0:
		return policy.ExpectedImprovement(room-mean, sd)
	case sd == 0:
		return math.Max(room-p.contribution(mean), 0)
	}
	infeasible := 0.5 * math.Erfc(-mean/(sd*math.Sqrt2))
	return (1-infeasible)*math.Max(room, 0) + infeasible*math.Max(room-1, 0)
}

func (p *admmbo) learn(_ context.Context, told []outcome) error {
	if p.done {
		return nil
	}
	f := p.function()
	value := readingsIn(told)[metricsOf(p.in)[p.step]]
	if p.step == 0 {
		value = -value
	}
	if err := f.data.Append(p.place, f.lambda); err != nil {
		return err
	}
	f.points, f.values = append(f.points, p.place), append(f.values, value)
	if p.left--; p.left == 0 {
		p.finishStep()
	}
	return nil
}

// finishStep takes the incumbent over and goes on to the next step or sweep.
func (p *admmbo) finishStep() {
	at, _ := p.incumbent()
	if p.step == 0 {
		p.x = at
	} else {
		j := p.step - 1
		p.z[j] = at
		for k := range at {
			p.y[j][k] += p.rho * (p.x[k] - at[k])
		}
	}
	if p.step++; p.step > len(p.z) {
		p.finishSweep()
	}
	p.left = map[bool]int{true: admmX, false: admmZ}[p.step == 0]
	if p.sweep == 0 && p.step > 0 {
		p.left = admmFirstZ
	}
}

// finishSweep stops when the residuals are small and balances ρ otherwise.
func (p *admmbo) finishSweep() {
	primal, dual, size := 0.0, 0.0, 0.0
	for j := range p.z {
		for k := range p.x {
			primal += squared(p.x[k] - p.z[j][k])
			dual += squared(p.rho * (p.z[j][k] - p.before[j][k]))
		}
		size = math.Max(size, math.Max(floats.Norm(p.x, 2), floats.Norm(p.z[j], 2)))
	}
	primal, dual = math.Sqrt(primal), math.Sqrt(dual)
	tolerance := admmAbsolute*math.Sqrt(float64(len(p.x))) + admmRelated*size
	p.done = primal < tolerance && dual < tolerance
	if primal > admmImbalance*dual {
		p.rho *= 2
	} else if dual > admmImbalance*primal {
		p.rho /= 2
	}
	p.before = slices.Clone(p.z)
	p.step = 0
	p.sweep++
}

func squared(v float64) float64 { return v * v }
