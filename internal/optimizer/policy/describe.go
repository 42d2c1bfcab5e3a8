package policy

import (
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

// SettingType is how a setting is written.
type SettingType string

const (
	Number   SettingType = "number"
	Integer  SettingType = "integer"
	Boolean  SettingType = "boolean"
	Text     SettingType = "text"     // one of Choices
	Schedule SettingType = "schedule" // {"schedule": "constant", "value": 2} and the like
	Form     SettingType = "form"     // {"form": "exponential", "rate": 1} and the like
	Points   SettingType = "points"   // a list of parameter objects
)

// Per says whether a setting may be an object keyed by metric or constraint name, with "default"
// for the rest.
type Per string

const (
	PerStudy      Per = ""
	PerMetric     Per = "metric"
	PerConstraint Per = "constraint"
)

// Setting is one thing that can be set about an algorithm. Low and High are nil where there is no
// limit.
type Setting struct {
	Name         string
	Type         SettingType
	Per          Per
	Default      any    // nil: worked out or not used, as DefaultMeans says
	DefaultMeans string // how an absent value is worked out
	Low, High    *float64
	LowExclusive bool
	Choices      []string
	Meaning      string
	Paper        any // the value with preset "paper"; nil = Default

	// workOut is the value of an absent setting without Default, for each name that it may be keyed
	// by ("" for one of the study), from settings that have one or stand before it; false where it
	// is not used. Nil where an absent setting never is.
	workOut func(c Context, s Settings, name string) (float64, bool)
}

// LeftToUser is the Paper of a setting for which the papers have no value: it is asked for, in
// these words, unless it follows from what was given.
type LeftToUser string

// Context is what the meaning of an absent setting depends on.
type Context struct {
	Metrics      []string // the modelled metrics; the objective's first
	Constraints  []string // names, in order
	CostMetrics  []string // the metric of each constraint
	Horizon      int      // T
	Dimensions   int      // number of parameters searched
	Paper        bool     // preset "paper"
	Standardized bool     // outputs are standardised
	Fitted       bool     // hyperparameters are fitted
	Listed       bool     // only candidates may be chosen
}

// Fault is one thing wrong; Path is relative to the settings, like "beta.value".
type Fault struct{ Path, Message string }

// registry is every algorithm, in the order to offer them.
var registry = []Description{
	logCEI,
	rpolUCB, rpolCensored, rpolSW,
	ckbUCB, ckbTS, ckbRand, ckbAny, ckbLyapunov, ckbRestart, ckbSW,
	scgpUCB,
	penaltyNoiseless, penaltyNoisy, igpUCB,
	config, epbo, cei, scbo,
	safeOpt, stageOpt, sgpUCB,
	randomSearch, halton,
}

// Descriptions lists every algorithm, in the order to offer them.
func Descriptions() []Description { return registry }

// Find returns the description of the algorithm of that name.
func Find(name string) (Description, bool) {
	for _, d := range registry {
		if d.Name == name {
			return d, true
		}
	}
	return Description{}, false
}

// New returns the algorithm of that name with resolved settings.
func New(name string, c Context, s Settings) (Policy, bool) {
	d, ok := Find(name)
	if !ok {
		return nil, false
	}
	return d.build(c, s), true
}

func limit(v float64) *float64 { return &v }

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
