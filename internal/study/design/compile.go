package design

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/kernel"
	"headroom/internal/optimizer/policy"
)

// Compile compiles a checked definition. It uses no defaults: anything not written out is an error.
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

// Chosen returns d, from which c was compiled, without everything that the present defaults would
// add: Check restores it.
func (c *Compiled) Chosen(d Definition) Definition {
	d.Algorithm.Settings = c.Algorithm.Chosen(d.Algorithm.Settings, c.Config.Context())
	if *d.Stop == DefaultStop() {
		d.Stop = nil
	}
	for _, leaveOut := range []func(*Model){
		func(m *Model) { m.Lengthscales = nil }, func(m *Model) { m.Variance = nil }, func(m *Model) { m.Lambda = nil }, func(m *Model) { m.Start = nil },
	} {
		less := d.Model
		leaveOut(&less)
		if whole := c.completed(less); (Definition{Model: whole}).Same(Definition{Model: c.Def.Model}) {
			d.Model = less
		}
	}
	return d
}

// space sets Config.Space: axes, candidates and input constraints.
func (b *compiler) space() {
	c := b.out
	c.space = newSpace(c.Def.Parameters, c.Def.Unavailable)
	b.unavailable()
	c.Config.Space.Dims = lists.Map(c.space.axes, func(a *axis) optimizer.Dim { return a.dim(c.Def.Model.Inputs == inputsRaw) })
	b.candidates()
	b.limits()
	c.Config.Space.Settle = c.space.settle
	if c.arms == nil {
		if c.space.hasMixture() {
			c.Config.Space.Fill = c.space.fill
		}
		c.Config.Space.Inside = lists.Map(c.space.probes, c.space.units)
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

// Condition parses a comparison over the parameters, such as an input constraint, and returns a
// function that reports whether it holds.
func (c *Compiled) Condition(text string) (holds func(Settings) bool, err error) {
	limit, err := parseComparison(text, c.space.variables(nil))
	if err != nil {
		return nil, err
	}
	return func(at Settings) bool { return limit.holds(c.space.lookup(at), 0) }, nil
}

// MaxCandidates is how many candidates a study may list: no other list is longer.
const MaxCandidates = 10_000

func (b *compiler) candidates() {
	c := b.out
	if c.Def.Candidates == nil {
		return
	}
	if n := len(c.Def.Candidates); n == 0 || n > MaxCandidates {
		b.faults.Add("candidates", n, "there are %d candidates; give 1 to %d", n, MaxCandidates)
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
		x, _ := c.space.read(candidate, fmt.Sprintf("candidates[%d]", i), strictness{}, b.faults)
		c.arms[i] = x
		whole[i] = c.space.settings(x)
		if _, listed := c.armIndex[keyOf(x)]; !listed {
			c.armIndex[keyOf(x)] = i
		}
	}
	c.Def.Candidates = whole
}

func (b *compiler) unavailable() {
	c := b.out
	names := namesOf(c.space.axes)
	for _, name := range slices.Sorted(maps.Keys(c.Def.Unavailable)) {
		if b.faults.Full() {
			return
		}
		at := "unavailable." + Shorten(name)
		i, known := c.space.index[name]
		if !known {
			b.faults.Add(at, nil, "%s", UnknownName("parameter", name, names))
			continue
		}
		a := c.space.axes[i]
		if a.Type == Remainder || a.Type == Real && a.step == 0 && c.Def.Candidates == nil {
			b.faults.Add(at, nil, "%s takes any value in its range; only choices, whole numbers, steps and candidates can be unavailable", name)
			continue
		}
		for j, v := range c.Def.Unavailable[name] {
			location := fmt.Sprintf("%s[%d]", at, j)
			before := len(*b.faults)
			x := a.read(v, location, strictness{}, b.faults)
			switch listed := c.Def.Candidates != nil; {
			case len(*b.faults) > before || v.IsText:
			case listed && !slices.Contains(Levels(c.Def.Candidates, name), x):
				b.faults.Add(location, v, "%s", c.noCandidateHas(name))
			case !listed && a.step > 0 && a.rounded(a.snap(x)) != x:
				b.faults.Add(location, v, "%s has no such value; its steps are %s from %s", name, formatNumber(a.step), formatNumber(a.low))
			}
		}
	}
}

// costs sets Config.Costs and Config.Objective, and parses the expressions of known constraints.
func (b *compiler) costs() {
	c := b.out
	c.metrics = c.Def.Metrics()
	c.Config.Objective = optimizer.Objective{Metric: 0, Sign: 1}
	if c.Def.Objective.Direction == "minimize" {
		c.Config.Objective.Sign = -1
	}
	c.MetricNames = lists.Pick(c.metrics, func(m MetricInfo) (string, bool) { return m.Name, m.Modelled })
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

// settings reads the algorithm's settings and checks what the algorithm requires of the study.
func (b *compiler) settings() {
	c := b.out
	algorithm, known := policy.Find(c.Def.Algorithm.Name)
	if !known {
		return // Check has said so
	}
	c.Algorithm = algorithm
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

// maxSafeSeeds limits the list to what a person may write.
const maxSafeSeeds = 1000

func (b *compiler) safeSeeds(at string, needed bool) {
	raw := b.out.Def.Algorithm.Settings["safe_seeds"]
	var seeds []Settings
	if !policy.Absent(raw) && json.Unmarshal(raw, &seeds) != nil {
		if raw[0] == '[' { // anything but a list is reported already
			b.faults.Add(at, nil, "must be a list of points, each an object of parameter values")
		}
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

// Compiled is the compiled form of a checked definition. It is immutable and safe for concurrent
// use.
type Compiled struct {
	Def             Definition
	Config          *optimizer.Config
	Algorithm       policy.Description
	MetricNames     []string // order of Config.Metrics: the objective's, then those of learned constraints
	ConstraintNames []string // order of Config.Costs

	space    *space
	arms     [][]float64    // candidates' physical values
	armIndex map[string]int // by keyOf; the first of equal candidates
	given    []givenCost
	metrics  []MetricInfo
}

// givenCost is a constraint whose metric is known when a decision is made.
type givenCost struct {
	cost int // index into Config.Costs
	Constraint
	value formula // of parameters and context; nil when sampled
}

// Metric returns the metric of that name.
func (c *Compiled) Metric(name string) (m MetricInfo, there bool) {
	return lists.Find(c.metrics, func(m MetricInfo) bool { return m.Name == name })
}

// HasParameters reports whether the study has all these parameters.
func (c *Compiled) HasParameters(s Settings) bool {
	for name := range s {
		if _, known := c.space.index[name]; !known {
			return false
		}
	}
	return true
}

// WideForSafety reports whether the priors are kept so wide that nothing far from the readings
// seems safe. That is so for algorithms that expand from safe settings: their readings hardly
// differ, and a prior scaled to them would call everything safe.
func (c *Compiled) WideForSafety() bool { return c.Algorithm.NeedsSafeSeeds && c.Config.Standardize }

// compiler compiles a definition whose parameters and names are valid, and collects the faults of
// the rest.
type compiler struct {
	out    *Compiled
	faults *Faults
	// completes says that defaults are written out; otherwise a missing setting is a fault.
	completes bool
}

func newCompiler(d Definition, f *Faults) *compiler {
	c := &Compiled{Def: d, Config: &optimizer.Config{
		Algorithm:   d.Algorithm.Name,
		Horizon:     d.Algorithm.Horizon,
		Seed:        d.Seed,
		Standardize: d.Model.Outputs == outputsScaled,
		Fit:         d.Model.Fit == fitMAP,
		Paper:       d.Algorithm.Preset == presetPaper,
	}}
	return &compiler{out: c, faults: f}
}

func (b *compiler) models() {
	before := len(*b.faults)
	given := b.readModel()
	if b.completes && len(*b.faults) == before {
		b.completeModel(given)
		given = b.readModel()
	}
	c, m := b.out, b.out.Def.Model
	b.start(m.Start)
	for _, name := range c.MetricNames {
		metric := optimizer.Metric{Name: name}
		if k := given.kernels.at(name); k != nil {
			metric.Kernel.Name, metric.Kernel.Matrix = k.name, k.matrix
		} else {
			b.missing("kernel", name)
		}
		switch v := given.variances.at(name); {
		case v != nil:
			metric.Kernel.Variance = *v
		case m.Start != nil:
			metric.Kernel.Variance, metric.FreeVariance = m.Start.Variance, true
		default:
			b.missing("variance", name)
		}
		b.lengthscales(&metric, given.lengths, m.Start)
		b.noise(&metric, given.lambdas.at(name), given.noises.at(name), m.Start)
		// A given noise is the same for all readings as they are; after warping it would differ
		// between them.
		metric.Warp = m.Warp == warpYeoJohnson && metric.FreeNoise && metric.Kernel.Matrix == nil
		c.Config.Metrics = append(c.Config.Metrics, metric)
	}
}

// missing adds a fault for a setting that a complete definition must have. While a definition is
// being completed, its absence is due to another fault.
func (b *compiler) missing(part, metric string) {
	if !b.completes {
		b.faults.Add("model."+part, nil, "is not written out for %s", metric)
	}
}

func (b *compiler) start(s *Start) {
	const at = "model.start"
	switch {
	case s == nil:
	case !b.out.Config.Fit:
		b.faults.Add(at, nil, "is where fits begin; with fit %q give lengthscales, variance and lambda themselves", fitFixed)
	case !(s.Lengthscale >= leastLengthscale && s.Lengthscale <= mostLengthscale):
		b.faults.Add(at+".lengthscale", s.Lengthscale, "must be between %s and %s of each range", formatNumber(leastLengthscale), formatNumber(mostLengthscale))
	case !(s.Variance >= leastVariance && s.Variance <= mostVariance):
		b.faults.Add(at+".variance", s.Variance, "must be between %s and %s", formatNumber(leastVariance), formatNumber(mostVariance))
	case !(s.Lambda >= leastVariance && s.Lambda <= mostVariance):
		b.faults.Add(at+".lambda", s.Lambda, "must be between %s and %s", formatNumber(leastVariance), formatNumber(mostVariance))
	}
}

func (b *compiler) lengthscales(metric *optimizer.Metric, given byMetric[[]float64], start *Start) {
	if metric.Kernel.Matrix != nil {
		if given.by[metric.Name] != nil {
			b.faults.Add("model.lengthscales."+metric.Name, nil, "a covariance between candidates has no lengthscales; leave them out")
		}
		return
	}
	switch lengths := given.at(metric.Name); {
	case lengths != nil:
		metric.Kernel.Lengthscales = slices.Clone(*lengths)
	case start != nil:
		metric.FreeLengthscales = true
		metric.Kernel.Lengthscales = lists.Map(b.out.Config.Space.Dims, func(d optimizer.Dim) float64 { return start.Lengthscale * extentOf(d) })
	default:
		b.missing("lengthscales", metric.Name)
	}
}

func (b *compiler) noise(metric *optimizer.Metric, lambda, noise *float64, start *Start) {
	if lambda != nil && noise != nil {
		b.faults.Add("model.noise_variance", *noise, "%s is given both lambda and noise_variance, which say the same in different units; give one", metric.Name)
	}
	switch {
	case noise != nil:
		metric.NoiseVariance = *noise
	case lambda != nil:
		metric.Lambda = *lambda
	case start != nil:
		metric.Lambda, metric.FreeNoise = start.Lambda, true
	default:
		b.missing("lambda", metric.Name)
	}
}

// completeModel writes out the model's defaults: the numbers themselves if the model is fixed,
// their starting values if it is fitted.
func (b *compiler) completeModel(given givenModel) {
	c, m := b.out, &b.out.Def.Model
	lacking := func(given func(metric string) bool) []string {
		return slices.DeleteFunc(slices.Clone(c.MetricNames), given)
	}
	m.Kernel = c.completeSetting(m.Kernel, lacking(func(name string) bool { return given.kernels.at(name) != nil }), defaultKernel)
	usualLambda := 1 + 2/float64(c.Def.Algorithm.Horizon)
	if c.Config.Fit {
		m.Start = cmp.Or(m.Start, &Start{Lengthscale: defaultLengthscale, Variance: defaultVariance, Lambda: usualLambda})
		return
	}
	m.Variance = c.completeSetting(m.Variance, lacking(func(name string) bool { return given.variances.at(name) != nil }), defaultVariance)
	m.Lambda = c.completeSetting(m.Lambda, lacking(func(name string) bool { return given.lambdas.at(name) != nil || given.noises.at(name) != nil }), usualLambda)
	m.Lengthscales = c.completeSetting(m.Lengthscales, lacking(func(name string) bool {
		k := given.kernels.at(name)
		return given.lengths.at(name) != nil || k != nil && k.matrix != nil
	}), defaultLengthscales(c.Config.Space.Dims))
}

// defaultLengthscales returns one number if it is the same for all parameters, else a list.
func defaultLengthscales(dims []optimizer.Dim) any {
	each := lists.Map(dims, func(d optimizer.Dim) float64 { return defaultLengthscale * extentOf(d) })
	if slices.ContainsFunc(each, func(l float64) bool { return l != each[0] }) {
		return each
	}
	return each[0]
}

// completeSetting adds value to a setting of the model for the metrics that lack one.
func (c *Compiled) completeSetting(raw json.RawMessage, lacking []string, value any) json.RawMessage {
	switch {
	case len(lacking) == 0:
		return raw
	case policy.Absent(raw) && len(lacking) == len(c.MetricNames):
		return policy.AsJSON(value)
	}
	by := map[string]json.RawMessage{}
	maps.Copy(by, policy.AsObject(raw))
	for _, name := range lacking {
		by[name] = policy.AsJSON(value)
	}
	return policy.AsJSON(by)
}

// completed returns the model with the defaults written out that this definition would give it.
func (c *Compiled) completed(m Model) Model {
	out := &Compiled{Def: c.Def, Config: c.Config, MetricNames: c.MetricNames, space: c.space, arms: c.arms}
	out.Def.Model = m
	var faults Faults
	b := compiler{out: out, faults: &faults}
	b.completeModel(b.readModel())
	return out.Def.Model
}

// verify makes the checks that only Check needs: that every expression has a value wherever it may
// be evaluated, that something can be suggested at all, and that matrices are covariances.
func (b *compiler) verify(costsGood bool) {
	s := b.out.space
	if len(*b.faults) > 0 {
		return
	}
	b.verifyLimits()
	if b.out.arms == nil {
		b.verifyInequalities()
	}
	switch {
	case len(*b.faults) > 0:
		return
	case len(s.probes) == 0 && b.out.arms != nil:
		b.faults.Add("input_constraints", nil, "no candidate is within all input constraints")
	case len(s.probes) == 0 && len(s.limits) > 0:
		b.faults.Add("input_constraints", nil, "no settings were found that are within all input constraints and the remainders' bounds; loosen one")
	case len(s.probes) == 0:
		b.faults.Add("parameters", nil, "no settings were found that keep every remainder within its low and high")
	case !b.anyAvailable():
		b.faults.Add("unavailable", nil, "nothing is left to suggest; leave something available")
	}
	if costsGood {
		b.verifyForms()
		b.verifyMatrices()
	}
}

// verifyInequalities reports two limits that are opposites, as in a sum that must equal its total:
// together they allow hardly any point.
func (b *compiler) verifyInequalities() {
	if one, other := b.out.space.oppositeLimits(); other != nil {
		b.faults.Add(fmt.Sprintf("input_constraints[%d]", other.number), other.text, "with %q it holds only where both sides are equal; %s", one.text, totalsAdvice)
	}
}

func (b *compiler) anyAvailable() bool {
	if b.out.arms != nil {
		return slices.Contains(b.out.Config.Space.Available, true)
	}
	return !slices.ContainsFunc(b.out.space.axes, func(a *axis) bool { return a.levels > 0 && len(a.unavailable) >= a.levels })
}

// verifyLimits reports input constraints without a value somewhere in the space.
func (b *compiler) verifyLimits() {
	s, points := b.out.space, b.out.space.points(b.out.arms)
	for _, limit := range s.limits {
		for _, x := range points {
			if _, _, defined := limit.sides(x); !defined && (b.out.arms != nil || s.inBounds(x)) {
				b.faults.Add(fmt.Sprintf("input_constraints[%d]", limit.number), limit.text,
					"has no finite value at %s (a division by zero, an overflow, or a root or logarithm of a negative number)", s.describe(x))
				break
			}
		}
	}
}

// verifyForms reports expressions of known constraints without a value somewhere in the space.
func (b *compiler) verifyForms() {
	for _, g := range b.out.given {
		if g.value == nil {
			continue
		}
		points := b.out.space.probes
		if b.out.arms != nil {
			points = b.out.arms
		}
		for i, x := range points {
			if b.out.arms != nil && !b.out.Config.Space.Available[i] {
				continue
			}
			if v := g.tryContexts(x); !Computable(v) {
				b.faults.Add(constraintAt(g.cost)+".expression", g.Expression,
					"%s at %s (a division by zero, an overflow, or a root or logarithm of a negative number)", whyNotComputable(v), b.out.space.describe(x))
				break
			}
		}
	}
}

// contextTrials are values for contexts that are not known yet. An expression is at fault where it
// has no value with any of them.
var contextTrials = []float64{1, 0.5, 7, 100, 1e4, 0, -1, -100}

// tryContexts returns the value at x under the first context in contextTrials that gives a
// computable one, or else under the last.
func (g givenCost) tryContexts(x []float64) (v float64) {
	var r row
	copy(r[:], x)
	for _, trial := range contextTrials {
		for i := range g.Context {
			r[len(x)+i] = trial
		}
		if v = g.value(r[:len(x)+len(g.Context)]); Computable(v) {
			break
		}
	}
	return v
}

func (b *compiler) verifyMatrices() {
	var seen []*float64
	for _, metric := range b.out.Config.Metrics {
		matrix := metric.Kernel.Matrix
		if matrix == nil || slices.Contains(seen, &matrix[0][0]) {
			continue
		}
		seen = append(seen, &matrix[0][0])
		if _, err := kernel.NewCovariance(matrix, metric.Kernel.Variance); err != nil {
			b.faults.Add("model.kernel", nil, "%s: %s", metric.Name, strings.TrimSuffix(err.Error(), "."))
		}
	}
}
