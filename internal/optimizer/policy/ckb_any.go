package policy

import "slices"

var ckbAny = Description{
	Name: "ckb", Title: "Primal-dual with separate exploration rules for objective and limits",
	Source:   ckbUCB.Source + ", Algorithm 1",
	Feedback: ckbUCB.Feedback,
	Summary:  "The primal-dual method in general: say how the objective is explored and how the limits are; ckb-ucb, ckb-ts and ckb-rand use one rule for both.",
	Beware:   keepsTheSum,
	Settings: ckbWith(slices.Concat([]Setting{
		explorationOf("explore_objective", thompsonSampling, "the objective is", "A_f"),
		explorationOf("explore_limits", upperBounds, "the limits are", "A_g")}, randomWidths)...),
	Theorem: primalDualRate("Theorem 2 with Corollaries 1 and 2", whereExplored(thompsonSampling, deterministicBest), whereExplored(randomExploration, normalWidths)),
	check:   ckbCheck,
	Build: phased(func(c Context, s Settings) Policy {
		return newExplorer(c, s, s.Text("explore_objective"), s.Text("explore_limits"))
	}),
}

func explorationOf(name, rule, what, symbol string) Setting {
	return Setting{Name: name, Type: Text, Default: rule, Choices: []string{upperBounds, thompsonSampling, randomExploration},
		Meaning: symbol + ", how " + what + " explored: ucb, optimistic bounds μ ± βσ; " +
			"thompson, a random draw of the function; random, bounds of a random width"}
}

// whereExplored holds an assumption that only one rule of exploration needs against those that are
// used.
func whereExplored(rule string, needed Assumption) Assumption {
	return Assumption{needed.Text, func(c Circumstances) Finding {
		if c.Settings.Text("explore_objective") != rule && c.Settings.Text("explore_limits") != rule {
			return met("nothing is explored by a rule that needs it")
		}
		return needed.Judge(c)
	}}
}
