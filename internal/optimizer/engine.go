package optimizer

import "slices"

// Engine is the version of the optimizer that a decision records. It changes whenever the same history could
// lead to a different suggestion.
const Engine = "4"

// Engines before the fourth found their way up by polls alone, looked at no limit of known form in a first design, and compared places with those read only,
// not with those that wait; their first designs ended without a reading too.
var beforeFourth = []string{"1", "2", "3"}

// As returns cfg with the rules of an engine, so that what an older one chose can be verified: a better search would find some of its maxima wanting.
func (cfg *Config) As(engine string) *Config {
	older := slices.Contains(beforeFourth, engine)
	if older == cfg.BeforeFourth {
		return cfg
	}
	other := *cfg
	other.BeforeFourth = older
	return &other
}
