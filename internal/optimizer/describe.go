package optimizer

import "encoding/json"

// Algorithm describes one algorithm to people, to the settings form and to GET /api/v1/algorithms.
type Algorithm struct {
	Name     string // the name the API uses
	Title    string // in words
	Source   string // the paper
	Feedback string // what it assumes of the readings
	Summary  string // when to use it, one sentence
	Settings []Setting
	// What a study must offer before the algorithm can run.
	NeedsKnownConstraint bool // at least one known-form or sampled constraint
	NeedsSafeSeeds       bool
	Simulator            bool // an opponent for simulations only
}

// SettingType is how a setting is written.
type SettingType string

const (
	Number   SettingType = "number"
	Integer  SettingType = "integer"
	Boolean  SettingType = "boolean"
	Choice   SettingType = "choice"
	Schedule SettingType = "schedule" // {"schedule": "constant", "value": 2} and the like
	Form     SettingType = "form"     // {"form": "exponential", "rate": 1} and the like
	Points   SettingType = "points"   // a list of parameter objects
)

// Per says whether a setting may be an object keyed by metric or constraint name, with "default" for the rest.
type Per string

const (
	PerStudy      Per = ""
	PerMetric     Per = "metric"
	PerConstraint Per = "constraint"
)

// Setting is one thing that can be set about an algorithm. Low and High are nil where there is no limit.
type Setting struct {
	Name         string
	Type         SettingType
	Per          Per
	Default      any    // nil: worked out, as DefaultMeans says
	DefaultMeans string // how an absent value is worked out
	Low, High    *float64
	LowExclusive bool
	Choices      []string
	Meaning      string
	Paper        any // the value with preset "paper", nil = Default
}

// Algorithms lists every algorithm a study can use, in the order to offer them.
func Algorithms() []Algorithm { panic("unwritten") }

// Fault is one thing wrong with a configuration; Path is relative to the settings, like "beta.value".
type Fault struct{ Path, Message string }

// Settings are an algorithm's settings, checked and complete. The zero value is not useful.
type Settings struct {
	values map[string]any
}

// ResolveSettings checks raw against the algorithm's description and fills in defaults. metrics and constraints are
// the names that per-metric and per-constraint settings may be keyed by; horizon is T; paper takes the
// published defaults. "safe_seeds" is only checked to be a list: package study translates it into Config.SafeSeeds.
func ResolveSettings(algorithm string, raw map[string]json.RawMessage, metrics, constraints []string, horizon int, paper bool) (Settings, []Fault) {
	panic("unwritten")
}
