package problems

import (
	"context"
	"math"
	"slices"

	"headroom/internal/optimizer"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
)

// armsPlayer drives an algorithm on finitely many arms by keeping their posterior up to date, so that a round's cost does not grow with its number
// (or only linearly). It is for fixed models of raw outputs; everything else is replayed. It decides as replay does.
type armsPlayer struct {
	cfg      *optimizer.Config
	policy   policy.Policy
	traits   policy.Traits
	arms     *kernel.Inputs
	targets  []armsTarget // the reward, then each cost
	history  optimizer.History
	narrowed map[int]*regression // by the first target of a model: all chosen points, for the variance where readings are late
	data     []*regression       // per target; shared by targets that are read together; nil where the value is given
	slot     []int               // per target: its response in its regression
	zeroed   map[int]*rows       // per target, for algorithms that count responses as 0 until they arrive

	arrivals    [][]int // per metric: rounds whose reading arrived, in order of arrival
	multipliers []float64
	sight       *policy.Sight   // of the decision under way
	earlier     []*policy.Sight // of the decisions before, for algorithms that look at the whole set
	chosen      int
	given       [][]float64 // per cost, per arm
	late        bool        // some reading came later than its round
}

// armsTarget is a target and how it is modelled.
type armsTarget struct {
	metric   int // −1 when given
	function *kernel.Function
	lambda   float64
	shift    float64 // the margin
}

// armsSuffice tells whether an armsPlayer can play the study.
func armsSuffice(cfg *optimizer.Config) bool {
	p, _ := policy.New(cfg.Algorithm, cfg.Context(), cfg.Settings)
	if traits := p.Traits(); traits.Incumbent != nil || traits.AvoidsKnown {
		return false
	}
	return cfg.Space.Arms != nil && !cfg.Standardize && !cfg.Fit && cfg.Settings.InitialDesign(cfg.Context()) == 0
}

func newArmsPlayer(cfg *optimizer.Config) (player, error) {
	p := &armsPlayer{cfg: cfg, arrivals: make([][]int, len(cfg.Metrics))}
	p.policy, _ = policy.New(cfg.Algorithm, cfg.Context(), cfg.Settings)
	p.traits, p.multipliers = p.policy.Traits(), p.policy.Start()
	p.arms = armsInputs(cfg)
	metrics := []int{cfg.Objective.Metric}
	for _, c := range cfg.Costs {
		metrics = append(metrics, c.Metric)
	}
	for k, m := range metrics {
		t := armsTarget{metric: m}
		if m >= 0 {
			var err error
			if t.function, err = armsKernel(cfg.Metrics[m].Kernel); err != nil {
				return nil, err
			}
			t.lambda = cfg.Metrics[m].Lambda
			if k > 0 {
				t.shift = cfg.Costs[k-1].Margin
			}
		}
		p.targets = append(p.targets, t)
	}
	p.group(false)
	return p, nil
}

func armsKernel(k optimizer.Kernel) (*kernel.Function, error) {
	if k.Matrix != nil {
		return kernel.NewCovariance(k.Matrix, k.Variance)
	}
	return kernel.New(k.Name, k.Lengthscales, k.Variance)
}

// armsInputs are the arms as the kernel sees them: their indices under a covariance, else the problem's units.
func armsInputs(cfg *optimizer.Config) *kernel.Inputs {
	var rows [][]float64
	for i, u := range cfg.Space.Arms {
		if cfg.Metrics[0].Kernel.Matrix != nil {
			rows = append(rows, []float64{float64(i)})
			continue
		}
		x := make([]float64, len(u))
		for k, d := range cfg.Space.Dims {
			x[k] = d.Low + u[k]*(d.High-d.Low)
		}
		rows = append(rows, x)
	}
	return kernel.InputsOf(rows)
}

// group shares one regression among the targets with the same model, as long as their readings come together.
func (p *armsPlayer) group(apart bool) {
	p.data = make([]*regression, len(p.targets))
	p.slot = make([]int, len(p.targets))
	p.narrowed = map[int]*regression{}
	for k, t := range p.targets {
		if t.metric < 0 {
			continue
		}
		first := p.firstAlike(k)
		if first == k || apart {
			p.data[k] = p.regression(t)
		} else {
			p.data[k] = p.data[first]
			p.slot[k] = len(p.data[first].targets)
		}
		p.data[k].targets = append(p.data[k].targets, k)
		if first == k {
			p.narrowed[k] = p.regression(t)
		}
	}
}

func (p *armsPlayer) regression(t armsTarget) *regression {
	return &regression{function: t.function, arms: p.arms, lambda: t.lambda, rounds: p.cfg.Horizon, first: 1}
}

// firstAlike is the first target with the model of target k.
func (p *armsPlayer) firstAlike(k int) int {
	return slices.IndexFunc(p.targets, func(o armsTarget) bool {
		return o.metric >= 0 && o.lambda == p.targets[k].lambda && p.sameKernel(o.metric, p.targets[k].metric)
	})
}

func (p *armsPlayer) sameKernel(a, b int) bool {
	x, y := p.cfg.Metrics[a].Kernel, p.cfg.Metrics[b].Kernel
	return x.Name == y.Name && x.Variance == y.Variance && slices.Equal(x.Lengthscales, y.Lengthscales)
}

// choose takes the largest score.
func (p *armsPlayer) choose(_ context.Context, known optimizer.Known) (choice, error) {
	p.given = known.Arms
	if err := p.look(); err != nil {
		return choice{}, err
	}
	scores := p.policy.Score(p.sight)
	values, allowed := scores.Value, scores.Allowed
	if allowed == nil {
		allowed = everyArm(p.arms.Len())
	} else if !slices.Contains(allowed, true) && scores.Fallback != nil {
		values, allowed = scores.Fallback, everyArm(p.arms.Len())
	}
	p.chosen = optimizer.Argmax(values, scores.Untruncated, allowed, scores.Relative)
	if p.chosen < 0 {
		return choice{}, optimizer.ErrNoneAllowed
	}
	if p.traits.Drawn != nil {
		p.sight.Draw.Z = p.traits.Drawn(p.sight, p.chosen)
	}
	place := optimizer.Place{U: p.cfg.Space.Arms[p.chosen], Arm: p.chosen}
	return choice{place, p.multipliers, optimizer.Draw{Seed: p.sight.Draw.Seed, Z: p.sight.Draw.Z}}, nil
}

func everyArm(n int) []bool {
	all := make([]bool, n)
	for i := range all {
		all[i] = true
	}
	return all
}

// round is t of the decision under way.
func (p *armsPlayer) round() int { return len(p.history.Rounds) + 1 }

// learn takes in the readings and moves the multipliers.
func (p *armsPlayer) learn(_ context.Context, h *optimizer.History, told []arrival) error {
	p.history = *h
	t := len(h.Rounds)
	if !p.late && len(told) < len(p.cfg.Metrics) {
		p.late = true
		p.group(true)
	}
	revealed := policy.Revealed{Round: t, Costs: make([][]float64, len(p.cfg.Costs)), Given: make([]float64, len(p.cfg.Costs)),
		Since: func(first, j int) []float64 { return p.costsSince(first, t, j) }}
	for j, c := range p.cfg.Costs {
		if c.Knowledge == optimizer.Given {
			revealed.Given[j] = h.Rounds[t-1].Costs[j] + c.Margin
			revealed.Costs[j] = []float64{revealed.Given[j]}
		}
	}
	for _, a := range told {
		p.arrivals[a.metric] = append(p.arrivals[a.metric], a.round)
		for j := range p.cfg.Costs {
			if target := p.targets[1+j]; target.metric == a.metric {
				revealed.Costs[j] = append(revealed.Costs[j], h.Rounds[a.round-1].Readings[a.metric].Value+target.shift)
			}
		}
	}
	if p.traits.MovesByEstimate {
		revealed.Own = p.policy.Estimates(p.sight, p.chosen)[1:]
	}
	p.multipliers = p.policy.Step(p.multipliers, &revealed)
	return nil
}

// costsSince are the readings of cost j of rounds first..t told by the end of round t.
func (p *armsPlayer) costsSince(first, t, j int) []float64 {
	var out []float64
	for n := first; n <= t; n++ {
		if v, ok := p.value(1+j, n); ok {
			out = append(out, v)
		}
	}
	return out
}

// value is target k's reading of round n, if it has arrived.
func (p *armsPlayer) value(k, n int) (float64, bool) {
	r := &p.history.Rounds[n-1]
	if m := p.targets[k].metric; m >= 0 {
		return r.Readings[m].Value + p.targets[k].shift, r.Readings[m].Told
	}
	return r.Costs[k-1] + p.cfg.Costs[k-1].Margin, true
}

// estimate reads a posterior's mean, shifted, with the deviations of another where readings are late.
func estimate(data, narrowed posterior, slot int, shift float64) policy.Estimate {
	e := policy.Estimate{Mean: slices.Clone(data.Means(slot))}
	e.SD = make([]float64, len(e.Mean))
	for i := range e.Mean {
		e.Mean[i] += shift
		e.SD[i] = math.Sqrt(math.Max(narrowed.Variance(i), 0))
	}
	return e
}
