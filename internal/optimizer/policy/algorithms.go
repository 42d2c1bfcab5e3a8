package policy

import "headroom/internal/lists"

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

// Names lists their names.
func Names() []string { return lists.Map(registry, func(d Description) string { return d.Name }) }

// Find returns the description of the algorithm of that name.
func Find(name string) (Description, bool) {
	return lists.Find(registry, func(d Description) bool { return d.Name == name })
}
