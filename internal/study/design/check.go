package design

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"headroom/internal/optimizer/policy"
)

const (
	maxDescription = 100_000 // characters
	maxHorizon     = 1_000_000
	// MaxSeed is the largest seed. JSON readers that use float64 would change a larger one.
	MaxSeed = 1<<53 - 1

	defaultAlgorithm = "log-cei"
	defaultHorizon   = 100
)

// Check returns the definition with its defaults written out, or *Invalid with every fault. It does
// not draw a seed. A definition that Check returned passes Check unchanged.
func (d Definition) Check() (Definition, error) {
	c := checker{d: d, taken: map[string]string{}}
	c.general()
	parametersGood := c.passes(c.parameters)
	metricsGood := c.passes(c.metrics)
	c.algorithm()
	c.stop()
	c.modelWords()
	c.simulatedLab()
	if parametersGood {
		b := newCompiler(c.d, &c.faults)
		b.completes = true
		b.space()
		if metricsGood {
			b.costs()
			b.models()
			b.settings()
		}
		b.verify(metricsGood)
		c.d = b.out.Def
	}
	return c.d, c.faults.Err()
}

func (c *checker) general() {
	if wrong := CheckName(c.d.Name); wrong != "" {
		c.faults.Add("name", c.d.Name, "the study's name %s", wrong)
	}
	if wrong := CheckDescription(c.d.Description); wrong != "" {
		c.faults.Add("description", nil, "%s", wrong)
	}
	if c.d.Seed > MaxSeed {
		c.faults.Add("seed", c.d.Seed, "must be at most %d", int64(MaxSeed))
	}
}

// CheckDescription says what makes text unfit as a study's description, "" if nothing does.
func CheckDescription(text string) string {
	if n := utf8.RuneCountInString(text); n > maxDescription {
		return fmt.Sprintf("has %d characters; at most %d are allowed", n, maxDescription)
	}
	return CheckText(text)
}

func (c *checker) algorithm() {
	a := &c.d.Algorithm
	a.Name = cmp.Or(a.Name, defaultAlgorithm)
	if _, there := policy.Find(a.Name); !there {
		c.faults.Add("algorithm.name", a.Name, "%s", UnknownName("algorithm", a.Name, policy.Names()))
	}
	c.word(&a.Preset, "algorithm.preset", "", presetPaper)
	a.Horizon = cmp.Or(a.Horizon, defaultHorizon)
	if a.Horizon < 1 || a.Horizon > maxHorizon {
		c.faults.Add("algorithm.horizon", a.Horizon, "must be a whole number of rounds from 1 to %d", maxHorizon)
		a.Horizon = defaultHorizon // so that no further faults follow from it
	}
}

func (c *checker) stop() {
	c.d.Stop = cmp.Or(c.d.Stop, new(DefaultStop()))
	target := *c.d.Stop
	if !(target.Within > 0 && target.Within <= 1) {
		c.faults.Add("stop.within", target.Within, "must be a share above 0 and at most 1, such as 0.01 for one per cent of the recommended value")
	}
	if !(target.Risk > 0 && target.Risk < 1) {
		c.faults.Add("stop.risk", target.Risk, "must be a chance between 0 and 1, such as 0.05")
	}
}

// modelWords checks the words of the model and writes out their defaults. Its numbers are checked
// when they are read.
func (c *checker) modelWords() {
	m := &c.d.Model
	for _, raw := range []*[]byte{(*[]byte)(&m.Kernel), (*[]byte)(&m.Lengthscales), (*[]byte)(&m.Variance), (*[]byte)(&m.Lambda), (*[]byte)(&m.NoiseVariance)} {
		if policy.Absent(*raw) {
			*raw = nil
		}
	}
	c.word(&m.Inputs, "model.inputs", inputsUnit, inputsRaw)
	paper := c.d.Algorithm.Preset == presetPaper
	if paper {
		c.word(&m.Fit, "model.fit", fitFixed, fitMAP)
	} else {
		c.word(&m.Fit, "model.fit", fitMAP, fitFixed)
	}
	if paper || m.Fit == fitFixed {
		c.word(&m.Outputs, "model.outputs", outputsRaw, outputsScaled)
	} else {
		c.word(&m.Outputs, "model.outputs", outputsScaled, outputsRaw)
	}
	c.warp(m)
	if m.Kernel == nil {
		m.Kernel = []byte(`"` + c.kernel() + `"`)
	}
}

// kernel returns the default kernel. With categorical parameters and fitted hyperparameters it
// learns the effects of numbers and choices from the data of all choices together, and how far the
// effects add up is fitted.
func (c *checker) kernel() string {
	if c.d.Model.Fit == fitMAP && slices.ContainsFunc(c.d.Parameters, func(p Parameter) bool { return p.Type == Categorical }) {
		return kernelOfChoices
	}
	return defaultKernel
}

// warp writes out whether readings are warped, if they can be: the fit chooses the transformation,
// and only standardised readings have no unit.
func (c *checker) warp(m *Model) {
	const at = "model.warp"
	switch {
	case m.Fit == fitMAP && m.Outputs == outputsScaled:
		c.word(&m.Warp, at, warpYeoJohnson, WarpNone)
	case m.Warp == warpYeoJohnson:
		c.faults.Add(at, m.Warp, "needs outputs %q and fit %q", outputsScaled, fitMAP)
	default:
		c.word(&m.Warp, at, "", WarpNone)
	}
}

const (
	maxChoices     = 1000
	maxWholeNumber = 1<<53 - 1 // the largest up to which float64 is exact
	// leastRange is the smallest range, relative to the size of the bounds, within which floating
	// point can tell settings apart.
	leastRange = 1e-9
	// leastNumber is the smallest normal float64.
	leastNumber = 0x1p-1022
	// maxSteps limits the number of steps so that they stay apart in unit coordinates.
	maxSteps = 1e9
)

// parameters checks that a space can be made of the parameters.
func (c *checker) parameters() {
	c.d.Parameters = slices.Clone(c.d.Parameters)
	n := len(c.d.Parameters)
	switch {
	case n == 0:
		c.faults.Add("parameters", nil, "give at least one parameter")
	case n > maxParameters:
		c.faults.Add("parameters", n, "there are %d parameters; at most %d are allowed", n, maxParameters)
		return
	}
	for i := range c.d.Parameters {
		p := &c.d.Parameters[i]
		at := fmt.Sprintf("parameters[%d]", i)
		c.claim(p.Name, "a parameter", at+".name")
		c.unit(p.Unit, at+".unit")
		c.parameter(p, at)
	}
	c.remainders()
	c.checkTotalChoices()
}

const (
	// mostNumbers limits the numbers that a decision stores for the places it considers, one for
	// each choice and place. Ten thousand candidates with twenty thousand choices took 10 GB.
	mostNumbers = 12_000_000
	// searchedPlaces is used for the number of places if no candidates are listed: the search
	// considers several for each choice.
	searchedPlaces = 6000
)

func (c *checker) checkTotalChoices() {
	choices := 0
	for _, p := range c.d.Parameters {
		choices += max(1, len(p.Choices))
	}
	if most := mostNumbers / max(searchedPlaces, len(c.d.Candidates)); choices > most {
		c.faults.Add("parameters", choices, "have %d choices in all, a parameter without choices counting as one; at most %d are allowed, and %d with ten thousand candidates", choices, most, mostNumbers/MaxCandidates)
	}
}

func (c *checker) parameter(p *Parameter, at string) {
	switch p.Type {
	case Real, Integer:
		p.Scale = c.d.ScaleOf(*p)
		c.word(&p.Scale, at+".scale", ScaleLinear, ScaleLog)
		c.bounds(p, at)
		c.step(p, at)
		c.unused(at, p, "choices", "total", "of")
	case Categorical:
		c.choices(p, at)
		c.unused(at, p, "low", "high", "scale", "step", "total", "of")
	case Remainder:
		c.unused(at, p, "choices", "step", "scale")
	case "":
		c.faults.Add(at+".type", nil, `is missing; it must be "real", "integer", "categorical" or "remainder"`)
	default:
		c.faults.Add(at+".type", p.Type, `must be "real", "integer", "categorical" or "remainder"`)
	}
}

// unused reports fields that have no meaning for a parameter of this type.
func (c *checker) unused(at string, p *Parameter, fields ...string) {
	given := map[string]bool{
		"low": p.Low != nil, "high": p.High != nil, "step": p.Step != nil, "total": p.Total != nil,
		"choices": p.Choices != nil, "of": p.Of != nil, "scale": p.Scale != "" && p.Scale != "linear",
	}
	for _, field := range fields {
		if given[field] {
			c.faults.Add(at+"."+field, nil, "has no meaning for a parameter of type %s; leave it out", p.Type)
		}
	}
	if slices.Contains(fields, "scale") {
		p.Scale = ""
	}
}

func (c *checker) bounds(p *Parameter, at string) {
	low := c.bound(p.Low, at+".low")
	high := c.bound(p.High, at+".high")
	if !low || !high {
		return
	}
	size := math.Max(math.Abs(*p.Low), math.Abs(*p.High))
	switch {
	case *p.Low >= *p.High:
		c.faults.Add(at+".low", *p.Low, "low %s must be below high %s", formatNumber(*p.Low), formatNumber(*p.High))
	case *p.High-*p.Low < leastRange*size:
		c.faults.Add(at+".high", *p.High, "low and high are too close together to be told apart; write the parameter as the difference from %s", formatNumber(*p.Low))
	case *p.High-*p.Low < leastNumber/leastRange:
		c.faults.Add(at+".high", *p.High, "low and high are too close to 0 to be told apart; choose a smaller unit")
	case p.Logarithmic() && *p.Low <= 0:
		c.faults.Add(at+".low", *p.Low, "low %s must be above 0 for a log scale", formatNumber(*p.Low))
	case p.Logarithmic() && *p.Low < leastNumber:
		c.faults.Add(at+".low", *p.Low, "low is too close to 0 for a log scale; choose a smaller unit")
	case p.Logarithmic() && !Finite(*p.High / *p.Low):
		c.faults.Add(at+".low", *p.Low, "high may be at most 1e300 times low on a log scale; raise low, or use the logarithm as the parameter")
	}
	if p.Type == Integer {
		c.whole(*p.Low, at+".low")
		c.whole(*p.High, at+".high")
	}
}

func (c *checker) bound(b *float64, location string) bool {
	switch {
	case b == nil:
		c.faults.Add(location, nil, "is missing; give a number")
	case !Computable(*b):
		c.faults.Add(location, nil, NotComputable)
	default:
		return true
	}
	return false
}

func (c *checker) whole(x float64, location string) {
	switch {
	case x != math.Trunc(x):
		c.faults.Add(location, x, "%s must be a whole number for a parameter of type integer", formatNumber(x))
	case math.Abs(x) > maxWholeNumber:
		c.faults.Add(location, x, "must be at most %d in size: larger whole numbers cannot be told apart; choose a larger unit", maxWholeNumber)
	}
}

func (c *checker) step(p *Parameter, at string) {
	if p.Step == nil {
		return
	}
	step := *p.Step
	switch {
	case p.Type == Integer && step != 1:
		c.faults.Add(at+".step", step, "an integer parameter has steps of 1; leave step out, or make the parameter real, with that step")
	case !(step > 0) || !Finite(step):
		c.faults.Add(at+".step", nil, "must be above 0")
	case p.Low == nil || p.High == nil:
	case step > (*p.High-*p.Low)*(1+1e-9):
		c.faults.Add(at+".step", step, "step %s is wider than the range from %s to %s", formatNumber(step), formatNumber(*p.Low), formatNumber(*p.High))
	case step*maxSteps < (*p.High-*p.Low)*(1-1e-9):
		c.faults.Add(at+".step", step, "step %s is too fine for the range; leave it out for a continuous parameter", formatNumber(step))
	}
}

func (c *checker) choices(p *Parameter, at string) {
	n := len(p.Choices)
	switch {
	case n == 0:
		c.faults.Add(at+".choices", nil, "give at least one choice")
	case n > maxChoices:
		c.faults.Add(at+".choices", n, "there are %d choices; at most %d are allowed", n, maxChoices)
		return
	}
	seen := map[string]bool{}
	for i, choice := range p.Choices {
		location := fmt.Sprintf("%s.choices[%d]", at, i)
		if wrong := CheckName(choice); wrong != "" {
			c.faults.Add(location, choice, "a choice %s", wrong)
		} else if seen[choice] {
			c.faults.Add(location, choice, "%q is in the list twice", choice)
		}
		seen[choice] = true
	}
}

func (c *checker) remainders() {
	types := map[string]ParameterType{}
	for _, p := range c.d.Parameters {
		types[p.Name] = p.Type
	}
	for i := range c.d.Parameters {
		if p := &c.d.Parameters[i]; p.Type == Remainder {
			c.remainder(p, fmt.Sprintf("parameters[%d]", i), types)
		}
	}
}

func (c *checker) remainder(p *Parameter, at string, types map[string]ParameterType) {
	if c.bound(p.Total, at+".total") {
		p.Low = cmp.Or(p.Low, new(float64))
		p.High = cmp.Or(p.High, new(*p.Total))
		c.bounds(p, at)
	}
	switch n := len(p.Of); {
	case n == 0:
		c.faults.Add(at+".of", nil, "name the parameters that share the total with this one")
	case n > maxParameters:
		c.faults.Add(at+".of", n, "names %d parameters; there are %d", n, len(c.d.Parameters))
		return
	}
	for i, name := range p.Of {
		location := fmt.Sprintf("%s.of[%d]", at, i)
		switch kind, known := types[name]; {
		case !known:
			c.faults.Add(location, name, "%s", UnknownName("parameter", name, c.d.ParameterNames()))
		case name == p.Name:
			c.faults.Add(location, name, "a remainder cannot be part of itself")
		case kind != Real && kind != Integer:
			c.faults.Add(location, name, "%q is of type %s; only real and integer parameters can share a total", name, kind)
		case slices.Contains(p.Of[:i], name):
			c.faults.Add(location, name, "%q is in the list twice", name)
		}
	}
}

const maxConstraints = 50

// metrics checks the objective, constraints and recorded metrics, and writes out the constraints'
// names.
func (c *checker) metrics() {
	c.objective()
	c.d.Constraints = slices.Clone(c.d.Constraints)
	if n := len(c.d.Constraints); n > maxConstraints {
		c.faults.Add("constraints", n, "there are %d constraints; at most %d are allowed", n, maxConstraints)
		return
	}
	if n := len(c.d.RecordedMetrics); n > maxMetrics {
		c.faults.Add("recorded_metrics", n, "there are %d recorded metrics; at most %d metrics are allowed in all", n, maxMetrics)
		return
	}
	c.constraintMetrics()
	c.constraintNames()
	for i := range c.d.Constraints {
		c.constraint(&c.d.Constraints[i], constraintAt(i))
	}
	c.sharedMetrics()
	c.limitsAgree()
	c.recorded()
	c.contextNames()
	if n := len(c.d.MetricNames()); n > maxMetrics {
		at := "recorded_metrics"
		if len(c.d.RecordedMetrics) == 0 {
			at = "constraints"
		}
		c.faults.Add(at, n, "there are %d metrics in all; at most %d are allowed", n, maxMetrics)
	}
}

func (c *checker) objective() {
	o := c.d.Objective
	c.claim(o.Metric, "the objective's metric", "objective.metric")
	c.unit(o.Unit, "objective.unit")
	c.plausible(o.Plausible, "objective.plausible")
	if o.Direction != "maximize" && o.Direction != "minimize" {
		c.faults.Add("objective.direction", o.Direction, `must be "maximize" or "minimize"`)
	}
}

// constraintMetrics reserves the name of every metric.
func (c *checker) constraintMetrics() {
	seen := map[string]bool{c.d.Objective.Metric: true}
	for i, k := range c.d.Constraints {
		if !seen[k.Metric] {
			c.claim(k.Metric, "the metric of "+constraintAt(i), constraintAt(i)+".metric")
		}
		seen[k.Metric] = true
	}
}

// constraintNames writes out default names. A constraint may have the name of its own metric.
func (c *checker) constraintNames() {
	seen := map[string]bool{}
	for i := range c.d.Constraints {
		k := &c.d.Constraints[i]
		k.Name = cmp.Or(k.Name, k.Metric)
		switch {
		case k.Name != k.Metric:
			c.claim(k.Name, "the name of "+constraintAt(i), constraintAt(i)+".name")
		case seen[k.Name] && k.Name != "":
			c.faults.Add(constraintAt(i)+".name", k.Name, "%s has another limit; give each limit on it a name of its own", k.Metric)
		}
		seen[k.Name] = true
	}
}

func (c *checker) constraint(k *Constraint, at string) {
	c.unit(k.Unit, at+".unit")
	c.plausible(k.Plausible, at+".plausible")
	if k.Op != "<=" && k.Op != ">=" {
		c.faults.Add(at+".op", k.Op, `must be "<=" or ">="`)
	}
	if !Computable(k.Threshold) {
		c.faults.Add(at+".threshold", nil, NotComputable)
	}
	switch {
	case k.Sampled && k.Expression != "":
		c.faults.Add(at+".sampled", true, "a constraint has either an expression or sampled values, not both")
	case k.Sampled && c.d.Candidates == nil:
		c.faults.Add(at+".sampled", true, "sampled values are one per candidate; give candidates")
	case k.Context != nil && k.Expression == "":
		c.faults.Add(at+".context", k.Context, "context goes with an expression; give one or leave context out")
	}
	if k.Given() && k.Metric == c.d.Objective.Metric {
		c.faults.Add(at+".metric", k.Metric, "the objective's metric must be measured; it cannot be of known form or sampled")
	}
}

// contextNames checks the names of the context's numbers. Several formulas may share one.
func (c *checker) contextNames() {
	all := map[string]bool{}
	for i, k := range c.d.Constraints {
		if n := len(k.Context); n > maxContext {
			c.faults.Add(constraintAt(i)+".context", n, "has %d names; at most %d are allowed", n, maxContext)
			continue
		}
		for j, name := range k.Context {
			location := fmt.Sprintf("%s.context[%d]", constraintAt(i), j)
			switch {
			case CheckName(name) != "":
				c.faults.Add(location, name, "the name %s", CheckName(name))
			case !isIdentifier(name):
				c.faults.Add(location, name, noIdentifier, name)
			case slices.Contains(c.d.ParameterNames(), name):
				c.faults.Add(location, name, "%q is a parameter; expressions can use it without naming it here", name)
			case c.taken[FoldCase(name)] != "":
				c.faults.Add(location, name, nameTaken, name, c.taken[FoldCase(name)])
			case slices.Contains(k.Context[:j], name):
				c.faults.Add(location, name, "%q is in the list twice", name)
			}
			all[name] = true
		}
	}
	if len(all) > maxContext {
		c.faults.Add("constraints", len(all), "there are %d context names; at most %d are allowed", len(all), maxContext)
	}
}

// sharedMetrics checks that constraints on one metric agree about it.
func (c *checker) sharedMetrics() {
	metrics := c.d.Metrics()
	for i, k := range c.d.Constraints {
		m := metrics[slices.IndexFunc(metrics, func(m MetricInfo) bool { return m.Name == k.Metric })]
		if k.Unit != "" && k.Unit != m.Unit {
			c.faults.Add(constraintAt(i)+".unit", k.Unit, "%s is in %s elsewhere; a metric has one unit", k.Metric, m.Unit)
		}
		if k.Plausible != nil && !slices.Equal(k.Plausible, m.Plausible) {
			c.faults.Add(constraintAt(i)+".plausible", k.Plausible, "%s has another plausible range elsewhere; a metric has one", k.Metric)
		}
		first := slices.IndexFunc(c.d.Constraints, func(other Constraint) bool { return other.Metric == k.Metric })
		if other := c.d.Constraints[first]; k.Expression != other.Expression || k.Sampled != other.Sampled || !slices.Equal(k.Context, other.Context) {
			c.faults.Add(constraintAt(i)+".metric", k.Metric, "%s is shared with %s and must come from the same place: give both the same expression and context, or sampled", k.Metric, constraintAt(first))
		}
	}
}

// limitsAgree checks that some value of each metric satisfies all limits on it.
func (c *checker) limitsAgree() {
	for i, k := range c.d.Constraints {
		for _, other := range c.d.Constraints[:i] {
			least, most := k.Threshold, other.Threshold
			if k.Op == "<=" {
				least, most = most, least
			}
			if k.Metric == other.Metric && k.Op != other.Op && least > most {
				c.faults.Add(constraintAt(i)+".threshold", k.Threshold, "no %s is at least %s and at most %s, as %s and %s require", k.Metric, formatNumber(least), formatNumber(most), other.Name, k.Name)
			}
		}
	}
}

func (c *checker) recorded() {
	for i, r := range c.d.RecordedMetrics {
		at := fmt.Sprintf("recorded_metrics[%d]", i)
		c.claim(r.Metric, "a recorded metric", at+".metric")
		c.unit(r.Unit, at+".unit")
		c.plausible(r.Plausible, at+".plausible")
	}
}

// plausible checks the plausible range of a metric; nil means none.
func (c *checker) plausible(bounds []float64, at string) {
	switch {
	case bounds == nil:
	case len(bounds) != 2:
		c.faults.Add(at, bounds, "must be two numbers, the lowest and the highest plausible value")
	case !Computable(bounds[0]), !Computable(bounds[1]):
		c.faults.Add(at, nil, "must be two numbers between -1e100 and 1e100")
	case bounds[0] >= bounds[1]:
		c.faults.Add(at, bounds, "the lowest plausible value, %s, must be below the highest, %s", formatNumber(bounds[0]), formatNumber(bounds[1]))
	}
}
