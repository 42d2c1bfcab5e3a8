// Package design is what a study is and may be: its definition as a person describes it, the checks
// it must pass, and the definition made ready to compute with: settings to coordinates and back,
// constraints to costs, model words to priors. It knows nothing of what happens in a study.
package design

import (
	"encoding/json"

	"headroom/internal/optimizer/kernel"
)

// Definition is a study as a person describes it. Its JSON is that of the API; a Definition that
// passed Check is complete: names are unique, and every setting in force is written out, so that no
// default is taken when it is read again.
type Definition struct {
	Name             string           `json:"name"`
	Description      string           `json:"description,omitempty"`
	Parameters       []Parameter      `json:"parameters"`
	InputConstraints []string         `json:"input_constraints,omitempty"`
	Candidates       []Settings       `json:"candidates,omitempty"`
	Objective        Objective        `json:"objective"`
	Constraints      []Constraint     `json:"constraints,omitempty"`
	RecordedMetrics  []RecordedMetric `json:"recorded_metrics,omitempty"`
	Algorithm        Algorithm        `json:"algorithm"`
	Model            Model            `json:"model"`
	Seed             uint64           `json:"seed"`
	// Stop is when little enough is left to gain.
	Stop *Stop `json:"stop,omitempty"`
	// Unavailable lists settings that have run out ("out of ligand X"), by parameter.
	Unavailable map[string][]Value `json:"unavailable,omitempty"`
	// SimulatedLab names the problem of the simulator that answers instead of a laboratory, "" for
	// a real one.
	SimulatedLab string `json:"simulated_lab,omitempty"`
}

// ParameterType is what values a parameter takes.
type ParameterType string

const (
	Real        ParameterType = "real"
	Integer     ParameterType = "integer"
	Categorical ParameterType = "categorical"
	Remainder   ParameterType = "remainder" // Total minus the parameters named in Of
)

// Parameter is one setting of the experiment.
type Parameter struct {
	Name    string        `json:"name"`
	Type    ParameterType `json:"type"`
	Low     *float64      `json:"low,omitempty"`
	High    *float64      `json:"high,omitempty"`
	Unit    string        `json:"unit,omitempty"`
	Scale   string        `json:"scale,omitempty"` // linear (default) or log
	Step    *float64      `json:"step,omitempty"`
	Choices []string      `json:"choices,omitempty"`
	Total   *float64      `json:"total,omitempty"`
	Of      []string      `json:"of,omitempty"`
}

// Value is a parameter's value: a finite number, or the text of a choice. Its JSON is a number or a
// string.
type Value struct {
	Number float64
	Text   string
	IsText bool
}

// Settings are parameter values by parameter name.
type Settings map[string]Value

// Objective is the metric to improve.
type Objective struct {
	Metric    string `json:"metric"`
	Direction string `json:"direction"` // maximize or minimize
	Unit      string `json:"unit,omitempty"`
	// Plausible are the lowest and the highest value that need no second look: what lies outside is
	// asked back when it is entered, and never refused.
	Plausible []float64 `json:"plausible,omitempty"`
}

// Constraint is a limit on a metric: it holds when the metric is Op Threshold.
type Constraint struct {
	Name      string  `json:"name,omitempty"` // defaults to the metric
	Metric    string  `json:"metric"`
	Op        string  `json:"op"` // <= or >=
	Threshold float64 `json:"threshold"`
	Unit      string  `json:"unit,omitempty"`
	// Plausible is of the metric, see Objective; limits that share one agree on it.
	Plausible []float64 `json:"plausible,omitempty"`
	// Expression gives the metric's value from the parameters and the Context of the decision
	// instead of readings.
	Expression string   `json:"expression,omitempty"`
	Context    []string `json:"context,omitempty"`
	// Sampled: each decision brings the metric's value at every candidate.
	Sampled bool `json:"sampled,omitempty"`
}

// Given tells whether the constraint's value is known when a decision is made, instead of being
// learned.
func (c Constraint) Given() bool { return c.Expression != "" || c.Sampled }

// Stop says when little enough is left to gain: when more than Within of the recommended value is
// left with a chance of at most Risk.
type Stop struct {
	Within float64 `json:"within"` // share of the recommended value
	Risk   float64 `json:"risk"`
}

// UsualStop is the stop of a study for which none was said, one in a hundred with a chance of one
// in twenty.
func UsualStop() Stop { return Stop{Within: 0.01, Risk: 0.05} }

// RecordedMetric is kept but not modelled.
type RecordedMetric struct {
	Metric    string    `json:"metric"`
	Unit      string    `json:"unit,omitempty"`
	Plausible []float64 `json:"plausible,omitempty"` // see Objective
}

// Algorithm names the algorithm and its settings.
type Algorithm struct {
	Name     string                     `json:"name"`
	Preset   string                     `json:"preset,omitempty"` // "" or "paper"
	Horizon  int                        `json:"horizon"`
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
}

// Model says how metrics are modelled. Kernel, Lengthscales, Variance, Lambda and NoiseVariance may
// each be an object by metric name with "default", so they stay as written here; Check verifies
// them.
type Model struct {
	Kernel        json.RawMessage `json:"kernel,omitempty"`
	Inputs        string          `json:"inputs,omitempty"` // unit or raw
	Lengthscales  json.RawMessage `json:"lengthscales,omitempty"`
	Variance      json.RawMessage `json:"variance,omitempty"`
	Outputs       string          `json:"outputs,omitempty"` // raw or standardize
	Fit           string          `json:"fit,omitempty"`     // fixed or marginal_likelihood
	Warp          string          `json:"warp,omitempty"`    // yeo_johnson or none; only of standardised outputs whose model is fitted
	Lambda        json.RawMessage `json:"lambda,omitempty"`
	NoiseVariance json.RawMessage `json:"noise_variance,omitempty"`
	Start         *Start          `json:"start,omitempty"` // only where hyperparameters are fitted
}

// Start is what the hyperparameters that are fitted are before their first fit.
type Start struct {
	Lengthscale float64 `json:"lengthscale"` // of each parameter, as a share of its range
	Variance    float64 `json:"variance"`
	Lambda      float64 `json:"lambda"`
}

// MetricInfo describes one metric of a study.
type MetricInfo struct {
	Name        string
	Unit        string
	Modelled    bool
	Known       bool         // of known form or sampled: its value comes with the decision
	Constraints []Constraint // the limits on it
	Plausible   []float64    // the lowest and the highest value that need no second look; nil where nobody said
}

// Metrics lists the metrics of a checked definition: the objective, the constraints' metrics, the
// recorded ones.
func (d Definition) Metrics() []MetricInfo {
	all := []MetricInfo{{Name: d.Objective.Metric, Unit: d.Objective.Unit, Modelled: true, Plausible: d.Objective.Plausible}}
	index := map[string]int{d.Objective.Metric: 0}
	for _, k := range d.Constraints {
		i, listed := index[k.Metric]
		if !listed {
			i = len(all)
			index[k.Metric] = i
			all = append(all, MetricInfo{Name: k.Metric, Modelled: !k.Given(), Known: k.Given()})
		}
		if all[i].Unit == "" {
			all[i].Unit = k.Unit
		}
		if all[i].Plausible == nil {
			all[i].Plausible = k.Plausible
		}
		all[i].Constraints = append(all[i].Constraints, k)
	}
	for _, r := range d.RecordedMetrics {
		all = append(all, MetricInfo{Name: r.Metric, Unit: r.Unit, Plausible: r.Plausible})
	}
	return all
}

// MetricNames lists every metric once: the objective's, the constraints', the recorded ones.
func (d Definition) MetricNames() []string {
	names, seen := []string{}, map[string]bool{}
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	add(d.Objective.Metric)
	for _, c := range d.Constraints {
		add(c.Metric)
	}
	for _, m := range d.RecordedMetrics {
		add(m.Metric)
	}
	return names
}

// The words of a definition.
const (
	presetPaper    = "paper"
	fitFixed       = "fixed"
	fitMAP         = "marginal_likelihood"
	warpYeoJohnson = "yeo_johnson"
	// WarpNone models readings as they are.
	WarpNone      = "none"
	outputsRaw    = "raw"
	outputsScaled = "standardize"
	inputsUnit    = "unit"
	inputsRaw     = "raw"
	defaultKernel = "matern52"
	// kernelOfChoices is the default where some parameter is a category and hyperparameters are
	// fitted.
	kernelOfChoices = kernel.Anova
	kernelOfMatrix  = "covariance"
)

// absent tells whether an optional JSON value was left out.
func absent(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }
