package policy

import "encoding/json"

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

// Build returns the algorithm of that name with resolved settings.
func Build(name string, c Context, s Settings) (Policy, bool) {
	d, ok := Find(name)
	if !ok {
		return nil, false
	}
	return d.build(c, s), true
}

// Completed checks raw against the algorithm's description and returns it with every setting written
// out: one that was left out as the defaults have it now, null where it is not used. What was given
// as one value stays as it was written. Complete settings are complete already.
func Completed(algorithm string, raw map[string]json.RawMessage, c Context) (map[string]json.RawMessage, []Fault) {
	d, ok := Find(algorithm)
	if !ok {
		return nil, noSuchAlgorithm(algorithm)
	}
	return d.complete(raw, c)
}

// Chosen are those of whole settings that the defaults of now would not say: completed, they are
// whole again.
func Chosen(algorithm string, whole map[string]json.RawMessage, c Context) map[string]json.RawMessage {
	d, _ := Find(algorithm)
	return d.chosen(whole, c)
}

// Resolve completes raw and reads what comes of it.
func Resolve(algorithm string, raw map[string]json.RawMessage, c Context) (Settings, []Fault) {
	whole, faults := Completed(algorithm, raw, c)
	if len(faults) > 0 {
		return Settings{}, faults
	}
	return Read(algorithm, whole, c)
}

// Read reads settings that Completed wrote. It takes nothing from defaults, so that they may change:
// a setting that is not written out is a fault.
func Read(algorithm string, whole map[string]json.RawMessage, c Context) (Settings, []Fault) {
	d, ok := Find(algorithm)
	if !ok {
		return Settings{}, noSuchAlgorithm(algorithm)
	}
	return d.read(whole, c)
}

func noSuchAlgorithm(name string) []Fault { return []Fault{{"", "there is no algorithm " + name}} }
