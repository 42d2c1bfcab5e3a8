package optimizer

import "strconv"

// Engine is the version of the optimizer that a decision records. It changes whenever the same history could
// lead to a different suggestion.
//
// Engines before the fourth found their way up by polls alone, looked at no limit of known form in a first design, and compared places with those read only,
// not with those that wait; their first designs ended without a reading too. The fourth held nothing apart from what waits: see apart.go.
const Engine = "5"

// As returns cfg with the rules of an engine, so that what an older one chose can be verified: a better search would find some of its maxima wanting.
func (cfg *Config) As(engine string) *Config {
	generation := 0
	if n, err := strconv.Atoi(engine); err == nil && engine != Engine {
		generation = n
	}
	if generation == cfg.Generation {
		return cfg
	}
	other := *cfg
	other.Generation = generation
	return &other
}

// before tells whether the rules are those of engines before the one of that number.
func (cfg *Config) before(generation int) bool {
	return cfg.Generation > 0 && cfg.Generation < generation
}
