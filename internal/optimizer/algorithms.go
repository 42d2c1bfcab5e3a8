package optimizer

import (
	"encoding/json"

	"headroom/internal/optimizer/policy"
)

// The descriptions of the algorithms live with them in package policy; these names make the optimizer's types complete.
type (
	Algorithm   = policy.Description // one algorithm, described to people, forms and the API
	Setting     = policy.Setting     // one thing that can be set about an algorithm
	SettingType = policy.SettingType
	Settings    = policy.Settings // checked and complete
	Fault       = policy.Fault    // one thing wrong; Path is relative to the settings, like "beta.value"
	// SettingsContext is what the meaning of an absent setting depends on.
	SettingsContext = policy.Context
	Theorem         = policy.Theorem       // what was proved about the bound that an algorithm draws
	Standing        = policy.Standing      // whether one of its assumptions is met in a study
	Finding         = policy.Finding       // and why
	Circumstances   = policy.Circumstances // what assumptions are held against
)

// How an assumption stands.
const (
	Met     = policy.Met
	NotMet  = policy.NotMet
	Unknown = policy.Unknown
)

// FindAlgorithm returns the description of the algorithm of that name.
func FindAlgorithm(name string) (Algorithm, bool) { return policy.Find(name) }

// How settings are written, and what they may be keyed by.
const (
	Number        = policy.Number
	Integer       = policy.Integer
	Boolean       = policy.Boolean
	Text          = policy.Text
	Schedule      = policy.Schedule
	Form          = policy.Form
	Points        = policy.Points
	PerStudy      = policy.PerStudy
	PerMetric     = policy.PerMetric
	PerConstraint = policy.PerConstraint
)

// Algorithms lists every algorithm a study can use, in the order to offer them.
func Algorithms() []Algorithm { return policy.Descriptions() }

// CompleteSettings checks raw against the algorithm's description and returns it with everything that was left out as the defaults have it now, null for what is
// not used. "safe_seeds" is only checked to be a list: package design translates it into Config.SafeSeeds.
func CompleteSettings(algorithm string, raw map[string]json.RawMessage, context SettingsContext) (map[string]json.RawMessage, []Fault) {
	return policy.Complete(algorithm, raw, context)
}

// ReadSettings reads what CompleteSettings returned, whatever the defaults are by now.
func ReadSettings(algorithm string, whole map[string]json.RawMessage, context SettingsContext) (Settings, []Fault) {
	return policy.Read(algorithm, whole, context)
}

// ResolveSettings is both.
func ResolveSettings(algorithm string, raw map[string]json.RawMessage, context SettingsContext) (Settings, []Fault) {
	return policy.Resolve(algorithm, raw, context)
}

// ChosenSettings are those of whole settings that the defaults of now would not say.
func ChosenSettings(algorithm string, whole map[string]json.RawMessage, context SettingsContext) map[string]json.RawMessage {
	return policy.Chosen(algorithm, whole, context)
}
