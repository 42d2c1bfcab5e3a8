package optimizer

import (
	"context"
	"fmt"
	"slices"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/policy"
)

// State is what an algorithm makes of a history: immutable, safe for concurrent use. It holds what is believed, what is decided of it, and the account of the rounds.
type State struct {
	*account
	*decision
	*shown
}

// study is what an algorithm is given: a configuration, and what happened.
type study struct {
	cfg      *Config
	history  *History
	policy   policy.Policy
	traits   policy.Traits // of the policy
	settings Settings
	targets  []target
	arms     *arms
}

// evidence are the regressions of a study's readings, from which the view of every decision is made.
type evidence struct {
	*study
	eraList  []*era
	excluded []int             // rounds
	path     strand[[]float64] // multipliers of rounds 1..n, before each round's feedback
	next     *view             // what the next decision acts on
	prior    *evidence         // while building only
	agreed   agreement         // with prior
}

// WithCheckpoint returns a context under which the optimizer calls hook between slices of at most some 10 ms of work, from one goroutine at a
// time and without holding a lock that other work waits for: a caller who has a processor on loan can give way there. See
// checkpoint.With for what the hook may do.
func WithCheckpoint(ctx context.Context, hook func(ctx context.Context) error) context.Context {
	return checkpoint.With(ctx, hook)
}

// Replay plays history h into the algorithm of cfg and returns the state after it. cfg and h must be valid (package
// design checks what people typed); a Config that cannot be computed with, such as a kernel matrix that is not
// positive definite with its λ, is an error. So is that of ctx, which ends the work early.
func Replay(ctx context.Context, cfg *Config, h *History) (*State, error) {
	return replay(ctx, cfg, h, nil)
}

// Extend is Replay(cfg, h), reusing what prior worked out where h agrees with prior's history. The result is the
// same to the last bit, except that sliding windows may differ by 1e-9.
func (prior *State) Extend(ctx context.Context, h *History) (*State, error) {
	return replay(ctx, prior.cfg, h, prior)
}

func replay(ctx context.Context, cfg *Config, h *History, prior *State) (*State, error) {
	p, ok := policy.New(cfg.Algorithm, cfg.Context(), cfg.Settings)
	if !ok {
		return nil, fmt.Errorf("there is no algorithm %q", cfg.Algorithm)
	}
	given := &study{cfg: cfg, history: h, policy: p, traits: p.Traits(), settings: cfg.Settings, targets: targets(cfg)}
	e := &evidence{study: given}
	if prior == nil {
		prior = &State{}
		given.arms = cfg.Space.newArms()
	} else {
		given.arms, e.prior = prior.arms, prior.evidence
	}
	if err := e.regressAll(ctx); err != nil {
		return nil, err
	}
	a := &account{evidence: e}
	if err := a.walk(ctx, prior.account); err != nil {
		return nil, err
	}
	var err error
	if e.next, err = e.acting(ctx, a.Round(), a.multipliers, nil); err != nil {
		return nil, err
	}
	a.shown = &shown{}
	if a.shown.view, err = e.observed(ctx, a.Round(), nil); err != nil {
		return nil, err
	}
	d, err := e.decide(ctx, a.shown, prior.decision)
	if err != nil {
		return nil, err
	}
	a.keepTrace(prior.account)
	e.letGo()
	return &State{a, d, a.shown}, nil
}

// Context is what the algorithm's settings are read against.
func (cfg *Config) Context() SettingsContext {
	c := SettingsContext{Horizon: cfg.Horizon, Paper: cfg.Paper, Standardized: cfg.Standardize, Fitted: cfg.Fit, Listed: cfg.Space.Arms != nil}
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

// Round is the number of the next decision.
func (s *study) Round() int { return len(s.history.Rounds) + 1 }

// account is what came of the rounds: the multipliers, and what is traced of every decision.
type account struct {
	*evidence
	shown       *shown
	multipliers []float64 // of the next decision
	trace       tracing
}

// Multipliers returns one per constraint, for the next decision, or nil for algorithms without.
func (s *account) Multipliers() []float64 { return s.multipliers }

// AtCeiling tells, per constraint, whether its multiplier for the next decision has reached the largest value the algorithm lets it
// have (ρ of the primal-dual algorithms, kappa_max of penalty-noiseless); nil for algorithms without one.
func (s *account) AtCeiling() []bool {
	if s.traits.Ceiling == nil {
		return nil
	}
	at := make([]bool, len(s.multipliers))
	for j, m := range s.multipliers {
		at[j] = m >= s.traits.Ceiling(j)
	}
	return at
}

// walk moves the multipliers through the rounds, from the first on that can move them otherwise than in the prior state.
func (s *account) walk(ctx context.Context, prior *account) error {
	first, q := 1, s.policy.Start()
	scaled := s.scaledFrom()
	if prior != nil {
		first = s.agreed.decision
		s.path, q = prior.path.prefix(first-1), prior.multipliers
		if first <= len(prior.path.items) {
			q = prior.path.items[first-1]
		}
	}
	slid := windows{}
	for t := first; t < s.Round(); t++ {
		if err := checkpoint.Reach(ctx); err != nil {
			return err
		}
		s.path = s.path.append(q)
		m := moment{s.eraAt(t), make([]bool, len(scaled)), make([]bool, len(scaled)), slid}
		for j, from := range scaled {
			m.waiting[j] = t < from
			m.still[j] = m.waiting[j] && s.traits.MovesByEstimate
		}
		var err error
		if q, err = s.step(ctx, t, q, m); err != nil {
			return err
		}
		if slices.Contains(scaled, t+1) {
			if q, err = s.takeIn(ctx, t, q, scaled); err != nil {
				return err
			}
		}
	}
	s.multipliers = q
	return nil
}

// moment is what a step of the multipliers is made with.
type moment struct {
	era     *era
	waiting []bool // costs without a scale of their metric yet, whose readings are left out
	still   []bool // costs whose multipliers do not move at all
	slid    windows
}

// step moves the multipliers at the end of round t.
func (s *account) step(ctx context.Context, t int, q []float64, m moment) ([]float64, error) {
	r := policy.Revealed{Round: t, Excluded: s.history.Rounds[t-1].Excluded,
		Costs: s.costs(t, m), Given: s.givenAt(t),
		Since: func(first, j int) []float64 { return s.costsSince(first, t, j, m) }}
	if s.traits.MovesByEstimate {
		estimates, err := s.ownEstimates(ctx, t, q, m)
		if err != nil {
			return nil, err
		}
		r.Own = estimates[1:]
	}
	next := s.policy.Step(q, &r)
	for j := range next {
		if m.still[j] {
			next[j] = q[j]
		}
	}
	return next, nil
}

// scaledFrom is, for each cost, the first decision with a scale of its metric: 1 where outputs are as they are and for given costs, beyond
// the next decision where there is none yet. A price in units that nothing is known of yet would depend on the unit.
func (s *evidence) scaledFrom() []int {
	from := make([]int, len(s.cfg.Costs))
	for j, c := range s.cfg.Costs {
		from[j] = 1
		if c.Knowledge == Given || !s.cfg.Standardize {
			continue
		}
		from[j] = s.Round() + 1
		for _, e := range s.eraList {
			if e.models[c.Metric].count > 0 {
				from[j] = e.from
				break
			}
		}
	}
	return from
}

// takeIn goes through rounds 1 to t once more for the costs that have waited until now, in their order and with their first scale.
func (s *account) takeIn(ctx context.Context, t int, q []float64, scaled []int) ([]float64, error) {
	others := make([]bool, len(scaled))
	for j, from := range scaled {
		others[j] = from != t+1
	}
	e := s.eraAt(t + 1)
	for n := 1; n <= t; n++ {
		var err error
		if q, err = s.step(ctx, n, q, moment{e, others, others, nil}); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// costs are the readings of every cost that were told during round t, in the units of the moment.
func (s *account) costs(t int, m moment) [][]float64 {
	out := make([][]float64, len(s.cfg.Costs))
	for j := range s.cfg.Costs {
		k := s.targets[1+j]
		switch r := &s.history.Rounds[t-1]; {
		case m.waiting[j]:
			continue
		case k.metric < 0:
			if !r.Excluded {
				out[j] = []float64{s.cfg.Costs[j].given(r.Costs[j])}
			}
			continue
		}
		for _, a := range s.tellings(k.metric, t) {
			out[j] = append(out[j], m.era.transforms[1+j].function(s.history.Rounds[a.round-1].Readings[k.metric].Value))
		}
	}
	return out
}

// givenAt are the given constraints' values at x_t, 0 for learned ones.
func (s *study) givenAt(t int) []float64 {
	out := make([]float64, len(s.cfg.Costs))
	for j, c := range s.cfg.Costs {
		if c.Knowledge == Given {
			out[j] = c.given(s.history.Rounds[t-1].Costs[j])
		}
	}
	return out
}

// costsSince are the readings of cost j of rounds first..t told by the end of round t.
func (s *account) costsSince(first, t, j int, m moment) []float64 {
	if m.waiting[j] {
		return nil
	}
	var out []float64
	for n := first; n <= t; n++ {
		r := &s.history.Rounds[n-1]
		if r.Excluded {
			continue
		}
		if metric := s.targets[1+j].metric; metric < 0 {
			out = append(out, s.cfg.Costs[j].given(r.Costs[j]))
		} else if reading := r.Readings[metric]; reading.Told && reading.Revealed <= t {
			out = append(out, m.era.transforms[1+j].function(reading.Value))
		}
	}
	return out
}

// ownEstimates is what decision t made of the point it chose, as the algorithm's multipliers need it.
func (s *account) ownEstimates(ctx context.Context, t int, q []float64, m moment) ([]float64, error) {
	v, err := s.actingIn(ctx, m.era, t, q, m.slid)
	if err != nil {
		return nil, err
	}
	r := &s.history.Rounds[t-1]
	known := func(j, _ int) float64 { return r.Costs[j] }
	estimates, err := v.played(ctx, t, known)
	if err != nil {
		return nil, err
	}
	then := &decision{view: v}
	sight, err := then.drawn(then.sightFrom(ctx, []Place{s.placeOf(t)}, known, s.draw(t), estimates))
	if err != nil {
		return nil, err
	}
	return s.policy.Estimates(sight, 0), nil
}
