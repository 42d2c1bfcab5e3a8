package design

import (
	"encoding/json"
	"fmt"
	"slices"

	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
)

// Compile makes a checked definition ready to compute with. It takes nothing from defaults: what is
// not written out is an error.
func Compile(d Definition) (*Compiled, error) {
	var f Faults
	b := newCompiler(d, &f)
	b.space()
	b.costs()
	b.models()
	b.settings()
	if err := f.Err(); err != nil {
		return nil, fmt.Errorf("the stored definition of %q cannot be computed with: %w", d.Name, err)
	}
	return b.out, nil
}

// Chosen is d, of which c was compiled, without what the defaults of now would say of it: checked,
// it is whole again.
func (c *Compiled) Chosen(d Definition) Definition {
	algorithm, _ := policy.Find(d.Algorithm.Name)
	d.Algorithm.Settings = algorithm.Chosen(d.Algorithm.Settings, c.Config.Context())
	if *d.Stop == UsualStop() {
		d.Stop = nil
	}
	for _, leaveOut := range []func(*Model){
		func(m *Model) { m.Lengthscales = nil }, func(m *Model) { m.Variance = nil }, func(m *Model) { m.Lambda = nil }, func(m *Model) { m.Start = nil },
	} {
		less := d.Model
		leaveOut(&less)
		if sameModel(c.completed(less), c.Def.Model) {
			d.Model = less
		}
	}
	return d
}

// space makes Config.Space: axes, input constraints and candidates.
func (b *compiler) space() {
	c := b.out
	c.space = newSpace(c.Def.Parameters, c.Def.Unavailable)
	b.unavailable()
	for i := range c.space.axes {
		c.Config.Space.Dims = append(c.Config.Space.Dims, c.space.axes[i].dim(c.Def.Model.Inputs == inputsRaw))
	}
	b.candidates()
	b.limits()
	c.Config.Space.Settle = c.space.settle
	if c.arms == nil {
		if c.space.shares() {
			c.Config.Space.Fill = c.space.fill
		}
		for _, probe := range c.Probes() {
			c.Config.Space.Inside = append(c.Config.Space.Inside, probe.U)
		}
		return
	}
	c.Config.Space.Arms = make([][]float64, len(c.arms))
	c.Config.Space.Available = make([]bool, len(c.arms))
	for i, x := range c.arms {
		c.Config.Space.Arms[i] = c.space.units(x)
		c.Config.Space.Available[i] = c.space.available(x) && c.space.broken(x, personSlack) < 0
	}
}

const maxLimits = 50

func (b *compiler) limits() {
	c := b.out
	if n := len(c.Def.InputConstraints); n > maxLimits {
		b.faults.Add("input_constraints", n, "there are %d input constraints; at most %d are allowed", n, maxLimits)
		return
	}
	for i, text := range c.Def.InputConstraints {
		limit, err := parseComparison(text, c.space.variables(nil))
		if err != nil {
			b.faults.Add(fmt.Sprintf("input_constraints[%d]", i), text, "%s", err)
			continue
		}
		limit.number = i
		c.space.limits = append(c.space.limits, limit)
	}
	c.space.sample(c.arms)
}

// Condition reads a comparison over the parameters, such as an input constraint is, and tells where
// it holds.
func (c *Compiled) Condition(text string) (holds func(Settings) bool, err error) {
	limit, err := parseComparison(text, c.space.variables(nil))
	if err != nil {
		return nil, err
	}
	return func(at Settings) bool { return limit.holds(c.space.lookup(at), 0) }, nil
}

const maxCandidates = 10_000

func (b *compiler) candidates() {
	c := b.out
	if c.Def.Candidates == nil {
		return
	}
	if n := len(c.Def.Candidates); n == 0 || n > maxCandidates {
		b.faults.Add("candidates", n, "there are %d candidates; give 1 to %d", n, maxCandidates)
		return
	}
	whole := make([]Settings, len(c.Def.Candidates))
	c.arms = make([][]float64, len(whole))
	c.armIndex = make(map[string]int, len(whole))
	for i, candidate := range c.Def.Candidates {
		if b.faults.Full() {
			c.arms, c.armIndex = nil, nil
			return
		}
		x, _ := c.space.read(candidate, fmt.Sprintf("candidates[%d]", i), reading{}, b.faults)
		c.arms[i] = x
		whole[i] = c.space.exactly(x)
		if _, listed := c.armIndex[keyOf(x)]; !listed {
			c.armIndex[keyOf(x)] = i
		}
	}
	c.Def.Candidates = whole
}

func (b *compiler) unavailable() {
	c := b.out
	names := c.space.names()
	for name, values := range sortedByKey(c.Def.Unavailable) {
		if b.faults.Full() {
			return
		}
		at := "unavailable." + Shorten(name)
		i, known := c.space.index[name]
		if !known {
			b.faults.Add(at, nil, "%s", UnknownName("parameter", name, names))
			continue
		}
		a := &c.space.axes[i]
		if a.Type == Remainder || a.Type == Real && a.step == 0 && c.Def.Candidates == nil {
			b.faults.Add(at, nil, "%s takes any value in its range; only choices, whole numbers, steps and candidates can run out", name)
			continue
		}
		for j, v := range values {
			location := fmt.Sprintf("%s[%d]", at, j)
			x := a.read(v, location, reading{}, b.faults)
			if a.step > 0 && c.Def.Candidates == nil && a.tidy(a.snap(x)) != x {
				b.faults.Add(location, v, "%s has no such value; its steps are %s from %s", name, formatNumber(a.step), formatNumber(a.low))
			}
		}
	}
}

// costs makes Config.Costs and Config.Objective, and the formulas of known-form constraints.
func (b *compiler) costs() {
	c := b.out
	c.metrics = c.Def.Metrics()
	c.Config.Objective = optimizer.Objective{Metric: 0, Sign: 1}
	if c.Def.Objective.Direction == "minimize" {
		c.Config.Objective.Sign = -1
	}
	for _, m := range c.metrics {
		if m.Modelled {
			c.MetricNames = append(c.MetricNames, m.Name)
		}
	}
	for i, k := range c.Def.Constraints {
		cost := k.cost()
		cost.Metric = slices.Index(c.MetricNames, k.Metric)
		if k.Given() {
			cost.Knowledge = optimizer.Given
			b.given(i, k)
		}
		c.ConstraintNames = append(c.ConstraintNames, k.Name)
		c.Config.Costs = append(c.Config.Costs, cost)
	}
}

func (b *compiler) given(i int, k Constraint) {
	g := givenCost{cost: i, Constraint: k}
	if k.Expression != "" {
		var err error
		g.value, err = parseFormula(k.Expression, b.out.space.variables(k.Context))
		if err != nil {
			b.faults.Add(constraintAt(i)+".expression", k.Expression, "%s", err)
			return
		}
	}
	b.out.given = append(b.out.given, g)
}

// settings resolves the algorithm's settings and what the algorithm needs of the study.
func (b *compiler) settings() {
	c := b.out
	algorithm, known := policy.Find(c.Def.Algorithm.Name)
	if !known {
		return // Check has said so
	}
	const at = "algorithm.settings"
	whole, settings, wrong := c.Def.Algorithm.Settings, policy.Settings{}, []policy.Fault(nil)
	if b.completes {
		whole, wrong = algorithm.Completed(whole, c.Config.Context())
	}
	if len(wrong) == 0 {
		c.Def.Algorithm.Settings = whole
		settings, wrong = algorithm.Read(whole, c.Config.Context())
	}
	for _, fault := range wrong {
		location := at
		if fault.Path != "" {
			location += "." + fault.Path
		}
		b.faults.Add(location, nil, "%s", fault.Message)
	}
	c.Config.Settings = settings
	if len(wrong) == 0 {
		for i := range c.Config.Costs {
			c.Config.Costs[i].Margin = settings.Margin(c.ConstraintNames[i])
		}
	}
	if algorithm.NeedsGivenConstraint && len(c.given) == 0 {
		b.faults.Add("algorithm.name", c.Def.Algorithm.Name, "%s needs at least one constraint of known form: give one an expression, or sampled values", c.Def.Algorithm.Name)
	}
	b.safeSeeds(at+".safe_seeds", algorithm.NeedsSafeSeeds)
}

// maxSafeSeeds keeps the list one that a person wrote.
const maxSafeSeeds = 1000

func (b *compiler) safeSeeds(at string, needed bool) {
	raw := b.out.Def.Algorithm.Settings["safe_seeds"]
	var seeds []Settings
	if !absent(raw) && json.Unmarshal(raw, &seeds) != nil {
		b.faults.Add(at, nil, "must be a list of points, each an object of parameter values")
		return
	}
	switch n := len(seeds); {
	case n == 0 && needed:
		b.faults.Add(at, nil, "%s starts from points known to be within every limit; give at least one", b.out.Def.Algorithm.Name)
	case n > maxSafeSeeds:
		b.faults.Add(at, n, "there are %d points; at most %d are allowed", n, maxSafeSeeds)
		return
	}
	for i, seed := range seeds {
		_, place, wrong := b.out.Place(seed, fmt.Sprintf("%s[%d]", at, i))
		for _, fault := range wrong {
			b.faults.Add(fault.Field, fault.Value, "%s", fault.Message)
		}
		b.out.Config.SafeSeeds = append(b.out.Config.SafeSeeds, place)
	}
}
