package policy

import (
	"math"
	"slices"
	"strings"
)

// Description describes one algorithm to people, to the settings form and to the API.
type Description struct {
	Name     string // the name the API uses
	Title    string // in words
	Source   string // the paper
	Feedback string // what it assumes of the readings
	Summary  string // when to use it, one sentence
	Beware   string // what one who runs it has to know of it, a sentence; "" for nothing
	Settings []Setting
	// Theorem is what was proved of the bound that the algorithm draws, nil for one that draws
	// none.
	Theorem *Theorem
	// What a study must offer before the algorithm can run.
	NeedsGivenConstraint bool // at least one known-form or sampled constraint
	NeedsSafeSeeds       bool
	// Compares: it says how much a place improves on the best one so far, where one is likely to be
	// within the limits.
	Compares bool
	// ForDrift: it looks only at the last trials, for functions that change with time.
	ForDrift bool

	build func(Context, Settings) Policy
	check func(Context, Settings) []Fault // rules between settings as they were given; nil for none
}

// Advice is when to use it, and what to know before.
func (d Description) Advice() string {
	return strings.TrimSpace(d.Summary + " " + d.Beware)
}

// spreadDesign is the usual number of rounds of the first design.
func spreadDesign(dimensions int) int { return max(4, dimensions+2) }

// designSetting is how the first design is set, given what an absent value means.
func designSetting(means string, rounds func(dimensions int) int) Setting {
	return Setting{Name: "initial_design", Type: Integer, Low: limit(0), High: limit(1000), Paper: 0,
		DefaultMeans: means + " when the model is fitted, otherwise 0",
		workOut: func(c Context, _ Settings, _ string) (float64, bool) {
			if !c.Fitted {
				return 0, true
			}
			return float64(rounds(c.Dimensions)), true
		},
		Meaning: "number of scrambled Halton points tried before the algorithm decides; rounds of any origin count, imported ones too"}
}

// clearMargin is the practical margin of rectified learning: at 0 it ends just outside the limit.
const clearMargin = 0.05

// keepingClear are the settings with clearMargin for limits without a margin. What is known before
// the choice needs none.
func keepingClear(list []Setting) []Setting {
	for i := range list {
		if list[i].Name == "margin" {
			list[i].Default, list[i].DefaultMeans = nil, "0.05 on standardised outputs without the paper preset, otherwise 0"
			list[i].workOut = func(c Context, _ Settings, constraint string) (float64, bool) {
				if c.Standardized && c.CostMetrics[slices.Index(c.Constraints, constraint)] != "" {
					return clearMargin, true
				}
				return 0, true
			}
		}
	}
	return list
}

// common are the settings that every algorithm understands, beside designSetting.
var common = []Setting{
	{Name: "pending", Type: Text, Default: "variance", Choices: []string{"variance", "ignore"}, Paper: "ignore",
		Meaning: "whether trials without a result yet narrow the uncertainty, so that the same point is not asked twice"},
	{Name: "margin", Type: Number, Per: PerConstraint, Default: 0.0, Low: limit(0), High: limit(10), Paper: 0.0,
		Meaning: "distance to keep from the limit, in standard deviations of the metric"},
}

var betaSetting = Setting{Name: "beta", Type: Schedule, Per: PerMetric,
	Choices:      []string{"constant", "sqrt_log", "theory"},
	Default:      Beta{Schedule: "constant", Value: 2},
	Paper:        LeftToUser(`the published width needs B, a bound on the function's norm, and R, the scale of the noise: give {"schedule": "theory", "B": …, "R": …}, or a width of your own`),
	DefaultMeans: "constant 2; with the paper preset none: B and R must be given, or a width of your own",
	Meaning:      "confidence width: constant, sqrt_log (value·√ln(1+t)), or the paper's formula with norm bound B, noise scale R and confidence p"}

// settings completes an algorithm's own settings with the common ones.
func settings(own ...Setting) []Setting {
	return append(append(own, designSetting("max(4, parameters + 2)", spreadDesign)), common...)
}

// rootHorizon is ⌈√T⌉.
func rootHorizon(c Context, _ Settings, _ string) (float64, bool) {
	return math.Ceil(math.Sqrt(float64(c.Horizon))), true
}
