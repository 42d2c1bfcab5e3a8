package study

import "headroom/internal/optimizer"

// compiled is a checked definition made ready to compute with. It is immutable and safe for concurrent use.
type compiled struct {
	Def             Definition
	Config          *optimizer.Config
	MetricNames     []string // order of Config.Metrics: the objective's, then those of learned constraints
	ConstraintNames []string // order of Config.Costs
}

// metricKind says where a metric's values come from.
type metricKind int

const (
	metricUnknown  metricKind = iota // no such metric
	metricModelled                   // told, and modelled
	metricRecorded                   // told and kept
	metricKnown                      // worked out at the decision; telling it is a conflict
)

// MetricInfo describes one metric of a study.
type MetricInfo struct {
	Name        string
	Unit        string
	Modelled    bool
	Known       bool // of known form or sampled: its value comes with the decision
	IsObjective bool
	Constraints []Constraint // the limits on it
}

// compile makes a checked definition ready to compute with.
func compile(d Definition) (*compiled, error) { panic("unwritten") }

// place turns settings into unit coordinates. It returns the settings as they will be kept: steps rounded, a
// remainder filled in. With candidates it is the first one with equal settings. What has run out may still be placed.
// Faults are located under location, e.g. "body.parameters".
func (c *compiled) place(s Settings, location string) (Settings, optimizer.Place, []Fault) {
	panic("unwritten")
}

// locate is place for settings that were accepted once: bounds and limits may have been changed since, so the
// coordinates may lie outside the unit cube. arm is the candidate's index kept with the trial, −1 without candidates.
func (c *compiled) locate(s Settings, arm int) optimizer.Place { panic("unwritten") }

// settings turns unit coordinates back into physical values that a person can set.
func (c *compiled) settings(p optimizer.Place) Settings { panic("unwritten") }

// known makes the values of known-form and sampled constraints for one decision: values holds, by metric, one number
// per candidate. Faults are located under location, e.g. "body".
func (c *compiled) known(context map[string]float64, values map[string][]float64, location string) (optimizer.Known, []Fault) {
	panic("unwritten")
}

// knownFor is known where values holds one number for each of the given places instead of each candidate.
func (c *compiled) knownFor(places []optimizer.Place, context map[string]float64, values map[string][]float64, location string) (optimizer.Known, []Fault) {
	panic("unwritten")
}

// knownAt returns the known constraints' metric values at one point, by constraint name.
func (c *compiled) knownAt(s Settings, place optimizer.Place, context map[string]float64, values map[string][]float64, location string) (map[string]float64, []Fault) {
	panic("unwritten")
}

// metric tells what kind of metric name is; for an unknown one it also returns the name that was probably meant, or "".
func (c *compiled) metric(name string) (kind metricKind, meant string) { panic("unwritten") }

// allMetrics lists the metrics in the order of the study: the objective, constraints' metrics, recorded ones.
func (c *compiled) allMetrics() []MetricInfo { panic("unwritten") }
