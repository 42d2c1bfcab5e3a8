package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/lab/problems"
	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
)

// Experiment says what is played. The zero values of the optional fields stand for the problem's
// own.
type Experiment struct {
	Problem   string
	Algorithm string
	Settings  map[string]json.RawMessage `json:",omitempty"`
	Horizon   int                        `json:",omitempty"` // T
	// Grid is the number of points along each continuous parameter among which the maximum is
	// exact; 0 searches the continuous space as a study does.
	Grid  int  `json:",omitempty"`
	Paper bool `json:",omitempty"` // absent settings and λ = 1 + 2/T as published
	Fit   bool `json:",omitempty"` // outputs standardised and hyperparameters fitted, as a study does
	// The model: a kernel name, its lengthscale in the problem's units, its variance, and λ, by
	// default the noise variance.
	Kernel         string   `json:",omitempty"`
	Lengthscale    float64  `json:",omitempty"`
	KernelVariance float64  `json:",omitempty"`
	Lambda         float64  `json:",omitempty"`
	Noise          string   `json:",omitempty"` // one of NoiseKinds, for both variances given here
	NoiseVariance  *float64 `json:",omitempty"` // of a reading of the reward
	CostNoise      *float64 `json:",omitempty"` // variance of a reading of a cost
	Delay          *float64 `json:",omitempty"` // mean number of rounds until a reading arrives

	Readings *problems.Readings `json:"Table,omitempty"`
	Prior    *problems.Readings `json:"PriorTable,omitempty"` // readings whose correlation is the prior covariance; nil for those played
}

// T returns the number of rounds played.
func (e Experiment) T() int {
	if e.Horizon != 0 {
		return e.Horizon
	}
	p, _ := problems.Find(e.Problem)
	return p.Horizon
}

func (e Experiment) instance(seed uint64) (*problems.Instance, error) {
	problem, err := problems.Find(e.Problem)
	if err != nil {
		return nil, err
	}
	if e.Horizon < 0 {
		return nil, fmt.Errorf("a horizon of %d is impossible; it must be at least 1", e.Horizon)
	}
	in, err := problem.New(seed, e.Readings, e.Prior)
	if err != nil {
		return nil, err
	}
	if e.Grid != 0 {
		if in, err = in.Grid(e.Grid); err != nil {
			return nil, err
		}
	}
	return in, e.override(in)
}

func (e Experiment) override(in *problems.Instance) error {
	in.Noise = slices.Clone(in.Noise)
	for i, own := range in.Noise {
		variance := e.CostNoise
		if i == 0 {
			variance = e.NoiseVariance
		}
		if variance == nil && e.Noise == "" {
			continue
		}
		var err error
		if in.Noise[i], err = problems.NoiseOf(cmp.Or(e.Noise, "gaussian"), *cmp.Or(variance, &own.Variance)); err != nil {
			return err
		}
	}
	if !(e.Lambda >= 0) || math.IsInf(e.Lambda, 1) {
		return fmt.Errorf("a λ of %g is impossible; it must be positive, or 0 for the noise variance", e.Lambda)
	}
	if e.Delay != nil {
		if !(*e.Delay >= 0 && *e.Delay <= 500) {
			return fmt.Errorf("a mean delay of %g rounds is out of range: it must be between 0 and 500", *e.Delay)
		}
		in.Delay = *e.Delay
	}
	if e.Kernel != "" {
		if !slices.Contains(kernel.Names, e.Kernel) {
			return fmt.Errorf("there is no kernel %q; there are %s", e.Kernel, strings.Join(kernel.Names, ", "))
		}
		in.Kernel, in.Matrix = e.Kernel, nil
	}
	if e.Lengthscale != 0 {
		in.Lengthscale = e.Lengthscale
	}
	if e.KernelVariance != 0 {
		in.Variance = e.KernelVariance
	}
	return nil
}

// config returns the study that the algorithm sees.
func (e Experiment) config(in *problems.Instance, seed uint64) (*optimizer.Config, error) {
	fitted := e.Fit || in.Fitted
	cfg := &optimizer.Config{Objective: optimizer.Objective{Sign: 1}, Algorithm: e.Algorithm, Horizon: e.T(),
		Seed: seed, Paper: e.Paper, Standardize: fitted, Fit: fitted, Space: in.Space()}
	prior, err := in.Prior()
	if err != nil {
		return nil, err
	}
	for i, name := range metricsOf(in) {
		m := optimizer.Metric{Name: name, Kernel: prior, Lambda: e.lambda(in, i), FreeLengthscales: fitted, FreeNoise: fitted, FreeVariance: fitted, Warp: fitted}
		given := i > 0 && in.Given != nil
		if !given {
			cfg.Metrics = append(cfg.Metrics, m)
		}
		if i > 0 {
			cost := optimizer.Cost{Name: name, Metric: i, Sign: 1}
			if given {
				cost.Metric, cost.Knowledge = -1, optimizer.Given
			}
			cfg.Costs = append(cfg.Costs, cost)
		}
	}
	cfg.SafeSeeds = in.SafePlaces(cfg.Space)
	algorithm, _ := policy.Find(e.Algorithm) // Check has looked for it
	settings, faults := algorithm.Resolve(e.Settings, cfg.Context())
	wrong := lists.Map(faults, func(f policy.Fault) string { return strings.TrimSpace(f.Path + ": " + f.Message) })
	if len(wrong) > 0 {
		return nil, fmt.Errorf("settings of %s: %s", e.Algorithm, strings.Join(wrong, "; "))
	}
	cfg.Settings = settings
	for j := range cfg.Costs {
		cfg.Costs[j].Margin = settings.Margin(cfg.Costs[j].Name)
	}
	return cfg, e.checkFit(algorithm, in, cfg)
}

// maxDrawnArms is the largest number of arms for algorithms that draw whole functions, at O(M³) a
// round.
const maxDrawnArms = 2000

func (e Experiment) checkFit(d policy.Description, in *problems.Instance, cfg *optimizer.Config) error {
	switch traits := d.Build(cfg.Context(), cfg.Settings).Traits(); {
	case traits.Drawn != nil && len(in.Arms) > maxDrawnArms:
		return fmt.Errorf("%s draws whole functions, which takes too long over %d arms; it needs a grid of at most %d", d.Name, len(in.Arms), maxDrawnArms)
	case d.NeedsGivenConstraint && in.Given == nil:
		return fmt.Errorf("%s needs a constraint known before each round, as the problem queue has", d.Name)
	case d.NeedsSafeSeeds && len(cfg.SafeSeeds) == 0:
		return fmt.Errorf("%s needs safe seeds, and %s has none on this grid", d.Name, e.Problem)
	}
	return nil
}

// leastLambda replaces the noise variance of noiseless readings.
const leastLambda = 1e-4

func (e Experiment) lambda(in *problems.Instance, metric int) float64 {
	switch {
	case e.Lambda > 0:
		return e.Lambda
	case e.Paper:
		return 1 + 2/float64(e.T())
	case in.Lambda > 0:
		return in.Lambda
	}
	return math.Max(in.Noise[metric].Variance, leastLambda)
}

// engine decides as a study does: by the state of the history so far, with a fit whenever one is
// due.
type engine struct {
	world   *roundsWorld
	metrics []string
	state   *optimizer.State
	history optimizer.History
	fits    []optimizer.Fit
}

func (e *engine) choose(ctx context.Context, _ int) ([]decision, error) {
	if e.state.FitDue() {
		fit, err := e.state.FitNow(ctx)
		if err != nil {
			return nil, err
		}
		e.fits = append(e.fits, fit)
		if err := e.extend(ctx); err != nil {
			return nil, err
		}
	}
	known := e.world.known()
	d, err := e.state.Suggest(ctx, known)
	if err != nil {
		return nil, err
	}
	round := optimizer.Round{Point: d.Place.U, Arm: d.Place.Arm, Suggested: true, Draw: d.Draw, Readings: make([]optimizer.Reading, len(e.metrics))}
	for j := range known.Arms {
		round.Costs = append(round.Costs, known.Arms[j][d.Place.Arm])
	}
	if known.At != nil {
		for j := range e.world.in.Limits {
			round.Costs = append(round.Costs, known.At(j, d.Place.U))
		}
	}
	e.history.Rounds = append(e.history.Rounds, round)
	return []decision{{d.Place, d.Multipliers}}, nil
}

// learn adds readings, without changing histories that states have been made of.
func (e *engine) learn(ctx context.Context, told []outcome) error {
	now, copied := len(e.history.Rounds), false
	for _, o := range told {
		if o.Number != now && !copied {
			e.history.Rounds, copied = slices.Clone(e.history.Rounds), true
		}
		r := &e.history.Rounds[o.Number-1]
		r.Readings = slices.Clone(r.Readings)
		for i, name := range e.metrics {
			if reading, is := o.Metrics[name]; is {
				r.Readings[i] = optimizer.Reading{Value: reading.Value, Told: true, Revealed: now}
			}
		}
	}
	return e.extend(ctx)
}

func (e *engine) extend(ctx context.Context) error {
	h := e.history
	h.Fits = e.fits
	state, err := e.state.Extend(ctx, &h)
	if err == nil {
		e.state = state
	}
	return err
}
