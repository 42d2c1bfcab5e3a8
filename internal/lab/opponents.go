package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/lab/problems"
	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/search"
)

// opponent is an algorithm that only the simulator plays, on continuous problems with limits
// learned from readings.
type opponent struct {
	settings []string // names of the settings it takes
	make     func(e Experiment, in *problems.Instance, seed uint64, settings map[string]float64) (player[decision], error)
}

var opponents = map[string]opponent{
	"admmbo":     {nil, newADMMBO},
	"oco-bandit": {[]string{"step", "exploration"}, newOCO},
}

// check returns the settings of an opponent, all of them positive numbers, or what is wrong with
// them or the experiment.
func (o opponent) check(e Experiment, in *problems.Instance) (settings map[string]float64, err error) {
	if in.Arms != nil || in.Given != nil || in.Matrix != nil || in.Stepped() {
		return nil, fmt.Errorf("%s plays continuous problems without steps or a grid, with limits that are learned from readings", e.Algorithm)
	}
	if in.Delay > 0 {
		return nil, fmt.Errorf("%s plays problems whose readings come at once", e.Algorithm)
	}
	settings = map[string]float64{}
	for name, raw := range e.Settings {
		if !slices.Contains(o.settings, name) {
			return nil, fmt.Errorf("%s has no setting %q; it has %s", e.Algorithm, name, cmp.Or(strings.Join(o.settings, ", "), "none"))
		}
		var v float64
		if json.Unmarshal(raw, &v) != nil || !(v > 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("settings of %s: %s must be a positive number", e.Algorithm, name)
		}
		settings[name] = v
	}
	return settings, nil
}

// oco is after Cao and Liu (2018), Online convex optimization with time-varying constraints and
// bandit feedback. On 𝒳 scaled to [−1,1]^d every step plays v + εu and v − εu, u uniform on the
// sphere, and moves by
//
//	∇̂h = (d/2ε)(h(v + εu) − h(v − εu)) u,   v ← Π[v + η(∇̂f − Σ_j λ_j ∇̂g_j)],   λ_j ← [λ_j + η(g_j − ηλ_j)]⁺,
//
// Π onto [−(1−ε), 1−ε]^d, g_j the mean of the two readings. Settings: step η (0.1/√T by default),
// exploration ε (0.1). The original's constants are not all known.
type oco struct {
	random        *rand.Rand
	step, radius  float64
	point, ray    []float64
	multipliers   []float64
	second        bool
	limits        []string
	firstReadings Values
}

func newOCO(e Experiment, in *problems.Instance, seed uint64, settings map[string]float64) (player[decision], error) {
	p := &oco{random: rand.New(rand.NewPCG(seed, 0x6f636f)), step: cmp.Or(settings["step"], 0.1/math.Sqrt(float64(e.T()))),
		radius: min(cmp.Or(settings["exploration"], 0.1), 1), multipliers: make([]float64, len(in.Limits)), limits: in.Limits}
	p.point = lists.Of(len(in.Axes), func(int) float64 { return (1 - p.radius) * (2*p.random.Float64() - 1) })
	return p, nil
}

func (p *oco) choose(context.Context, int) ([]decision, error) {
	side := p.radius
	if p.second {
		side = -p.radius
	} else {
		p.ray = onSphere(p.random, len(p.point))
	}
	u := lists.Of(len(p.point), func(k int) float64 { return (p.point[k] + side*p.ray[k] + 1) / 2 })
	return []decision{{place: optimizer.Place{U: u, Arm: -1}, multipliers: slices.Clone(p.multipliers)}}, nil
}

func onSphere(random *rand.Rand, d int) []float64 {
	u, length := make([]float64, d), 0.0
	for k := range u {
		u[k] = random.NormFloat64()
		length += u[k] * u[k]
	}
	for k := range u {
		u[k] /= math.Sqrt(length)
	}
	return u
}

// learn moves the point once both ends of the ray are read.
func (p *oco) learn(_ context.Context, told []outcome) error {
	readings := readingsIn(told)
	if p.second = !p.second; p.second {
		p.firstReadings = readings
		return nil
	}
	slope := func(name string) float64 {
		return float64(len(p.point)) / (2 * p.radius) * (p.firstReadings[name] - readings[name])
	}
	ascent := slope(rewardName)
	for j, lambda := range p.multipliers {
		ascent -= lambda * slope(p.limits[j])
		g := (p.firstReadings[p.limits[j]] + readings[p.limits[j]]) / 2
		p.multipliers[j] = math.Max(lambda+p.step*(g-p.step*lambda), 0)
	}
	for k := range p.point {
		moved := p.point[k] + p.step*ascent*p.ray[k]
		p.point[k] = math.Min(math.Max(moved, p.radius-1), 1-p.radius)
	}
	return nil
}

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

func newADMMBO(e Experiment, in *problems.Instance, seed uint64, _ map[string]float64) (player[decision], error) {
	k, err := kernel.New(in.Kernel, slices.Repeat([]float64{in.Lengthscale}, len(in.Axes)), in.Variance)
	if err != nil {
		return nil, err
	}
	p := &admmbo{in: in, rho: admmPenalty, left: admmFirstX}
	p.candidates = lists.Map(search.Halton(admmCandidates, len(in.Axes), seed), func(u []float64) []float64 { return in.Point(optimizer.Place{U: u, Arm: -1}) })
	p.objective = admmData{data: gp.NewData(k), lambda: e.lambda(in, 0)}
	p.x = p.candidates[0]
	for j := range in.Limits {
		p.limits = append(p.limits, admmData{data: gp.NewData(k), lambda: e.lambda(in, 1+j)})
		upper := lists.Map(in.Axes, func(a problems.Axis) float64 { return a.High })
		p.z, p.y = append(p.z, upper), append(p.y, make([]float64, len(in.Axes)))
	}
	p.before = slices.Clone(p.z)
	return p, nil
}

func (p *admmbo) choose(ctx context.Context, _ int) ([]decision, error) {
	p.place = p.x
	if !p.done {
		var err error
		if p.place, err = p.mostPromising(ctx); err != nil {
			return nil, err
		}
	}
	return []decision{{place: optimizer.Place{U: p.in.Unit(p.place), Arm: -1}}}, nil
}

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

func (p *admmbo) function() *admmData {
	if p.step == 0 {
		return &p.objective
	}
	return &p.limits[p.step-1]
}

// contribution returns what a reading adds to the step's goal besides the quadratic.
func (p *admmbo) contribution(value float64) float64 {
	if p.step == 0 {
		return value
	}
	return indicator(value > 0)
}

// incumbent returns the evaluated point with the least value of the step's goal, from readings.
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

// improvement returns the expected excess of room over the step's contribution: E[room − f]⁺ of a
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
	primal, dual, size := 0.0, 0.0, floats.Norm(p.x, 2)
	for j := range p.z {
		for k := range p.x {
			primal += squared(p.x[k] - p.z[j][k])
			dual += squared(p.rho * (p.z[j][k] - p.before[j][k]))
		}
		size = max(size, floats.Norm(p.z[j], 2))
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
