package design

import (
	"slices"

	"headroom/internal/optimizer"
)

// Compiled is a checked definition made ready to compute with. It is immutable and safe for
// concurrent use.
type Compiled struct {
	Def             Definition
	Config          *optimizer.Config
	MetricNames     []string // order of Config.Metrics: the objective's, then those of learned constraints
	ConstraintNames []string // order of Config.Costs

	space    *space
	arms     [][]float64    // candidates' physical values
	armIndex map[string]int // by the bytes of the physical values; the first of equal ones
	given    []givenCost
	metrics  []MetricInfo
}

// givenCost is a constraint whose metric is known when a decision is made.
type givenCost struct {
	cost int // index into Config.Costs
	Constraint
	value formula // of parameters and context; nil when sampled
}

// Metric describes the metric of that name, if there is one.
func (c *Compiled) Metric(name string) (m MetricInfo, there bool) {
	i := slices.IndexFunc(c.metrics, func(m MetricInfo) bool { return m.Name == name })
	if i < 0 {
		return m, false
	}
	return c.metrics[i], true
}

// compiler compiles a definition whose parameters and names are in order, noting faults in what is
// left to check.
type compiler struct {
	out    *Compiled
	faults *Faults
	// completes: what is left to defaults is written out; else it is a fault.
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
