package optimizer

import (
	"context"
	"slices"
	"sync"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
)

// task is what an algorithm is given: a configuration, and what happened.
type task struct {
	cfg      *Config
	history  *History
	policy   policy.Policy
	traits   policy.Traits // of the policy
	settings policy.Settings
	targets  []target
	arms     *arms
	spread   *spread
	room     int64 // bytes that the model may take

	varies sync.Once
	vary   bool // see readingsVary

	compared sync.Once
	first    []int // see firstAt
}

// Round is the number of the next decision.
func (s *task) Round() int { return len(s.history.Rounds) + 1 }

// History is what the state was made from.
func (s *task) History() *History { return s.history }

// Context is what the algorithm's settings are read against.
func (cfg *Config) Context() policy.Context {
	c := policy.Context{Horizon: cfg.Horizon, Paper: cfg.Paper, Standardized: cfg.Standardize, Fitted: cfg.Fit, Listed: cfg.Space.Arms != nil}
	for _, d := range cfg.Space.Dims {
		if !d.Derived {
			c.Dimensions++
		}
	}
	for _, m := range cfg.Metrics {
		c.Metrics = append(c.Metrics, m.Name)
	}
	for _, cost := range cfg.Costs {
		c.Constraints = append(c.Constraints, cost.Name)
		metric := ""
		if cost.Metric >= 0 {
			metric = cfg.Metrics[cost.Metric].Name
		}
		c.CostMetrics = append(c.CostMetrics, metric)
	}
	return c
}

// DecisionSeed is the random seed of decision t, below 2⁵³ so that every JSON reader keeps it
// (SplitMix64 of study seed and round).
func (cfg *Config) DecisionSeed(t int) uint64 {
	z := cfg.Seed + uint64(t)*0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return (z ^ (z >> 31)) >> 11
}

// horizon is the T of the algorithm's constants in round t, 0 where it is the number of rounds
// planned.
func (s *task) horizon(t int) int {
	if s.traits.Horizon == nil {
		return 0
	}
	return s.traits.Horizon(t)
}

// placeOf is where round t was played.
func (s *task) placeOf(t int) Place {
	r := &s.history.Rounds[t-1]
	return Place{r.Point, r.Arm}
}

// targetOf is the first target that a metric serves.
func (s *task) targetOf(metric int) int {
	return slices.IndexFunc(s.targets, func(t target) bool { return t.metric == metric })
}

// draw is what chance contributes to decision t: what was recorded, else its seed, from which
// numbers are drawn when they are needed.
func (s *task) draw(t int) Draw {
	d := Draw{Seed: s.cfg.DecisionSeed(t)}
	if t <= len(s.history.Rounds) {
		if recorded := s.history.Rounds[t-1].Draw; recorded.Z != nil || recorded.Seed != 0 {
			d = recorded
		}
	}
	return d
}

// scaled tells whether a metric's unit is known: outputs are modelled as they are, or a fit has
// given a scale.
func (s *task) scaled(m metricModel) bool { return !s.cfg.Standardize || m.count > 0 }

func (s *task) function(k Kernel) (*kernel.Function, error) {
	if k.Name == "covariance" {
		return kernel.NewCovariance(k.Matrix, k.Variance)
	}
	f, err := kernel.New(k.Name, s.cfg.Space.spread(k.Lengthscales), k.Variance)
	if err != nil {
		return nil, err
	}
	f = f.WithCategories(s.cfg.Space.categories())
	if k.Interaction == 0 {
		return f, nil
	}
	return f.WithInteraction(k.Interaction)
}

func (s *task) inputWidth(k Kernel) int {
	if k.Name == "covariance" {
		return 1
	}
	return s.cfg.Space.width()
}

// kernelInput is what the kernel sees of a place: its features, or its arm's index.
func (s *task) kernelInput(k Kernel, at Place) []float64 {
	if k.Name == "covariance" {
		return []float64{float64(at.Arm)}
	}
	return s.cfg.Space.features(at.U)
}

func (s *task) appendRounds(ctx context.Context, d *gp.Data, k Kernel, order []arrival, kept *gp.Kept) error {
	xs := make([][]float64, len(order))
	lambdas := make([]float64, len(order))
	for i, a := range order {
		r := s.history.Rounds[a.round-1]
		xs[i], lambdas[i] = s.kernelInput(k, Place{r.Point, r.Arm}), a.lambda
	}
	return d.AppendKept(ctx, xs, lambdas, kept)
}

// Budget is how the risk asked for stands.
type Budget struct {
	Costs    []int   // the limits it is of: one, or all together
	Most     float64 // r
	Trials   int     // N, chosen by the model so far and to be chosen by the plan
	Allowed  float64 // r·N trials beyond
	Expected float64 // Σ of the chances, stated when the trials so far were chosen, that they break it
	SoFar    int     // trials among them whose reading was beyond
	Now      float64 // the risk that the next decision may take
}

// Budgets returns how the risk of each limit stands for which one was asked, or of all together.
// The error is that of ctx.
func (s *account) Budgets(ctx context.Context) ([]Budget, error) {
	var list []Budget
	if len(s.next.allowances) == 0 {
		return nil, nil
	}
	trace, err := s.Trace(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range s.next.allowances {
		b := Budget{Costs: a.costs, Most: a.most, Now: a.now}
		chosen := s.chosenBefore(s.Round())
		for _, n := range chosen {
			b.Expected += anyOf(trace[n-1].breaks, a.costs)
			if broken, _ := s.beyond(n, s.Round(), a.costs); broken {
				b.SoFar++
			}
		}
		b.Trials = len(chosen) + max(0, s.cfg.Horizon-len(s.history.Rounds))
		b.Allowed = a.most * float64(b.Trials)
		list = append(list, b)
	}
	return list, nil
}
