package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// chosenBy is what the sentence about a decision needs to know beside its numbers.
type chosenBy struct {
	by           string
	withinLimits bool // some trial so far is known to be within every limit
	best         bool // some counts as the best so far: it is not taken out, nor in doubt
	algorithm    policy.Description
	blind        map[string]string // what is missing of a metric before anything can be expected of it
	seen         *ledger.Snapshot  // what was decided from
}

// decidedBy is that of a decision by a state of the snapshot, compiled so.
func decidedBy(by string, snap *ledger.Snapshot, compiled *design.Compiled, state *optimizer.State) chosenBy {
	feasible, _ := snap.Feasibility()
	return chosenBy{by: by, withinLimits: feasible > 0, best: snap.Best() != nil, algorithm: compiled.Algorithm, blind: blind(snap, state), seen: snap}
}

// aside says of a trial that it is no result to go by, where it waits, broke a limit or is in doubt.
func (who chosenBy) aside(number int) string {
	switch t := who.seen.Trial(number); {
	case t == nil || t.Status == ledger.StatusSuggested:
		return " (which waits for its results)"
	case t.Waiting():
		return " (which waits for more results)"
	case who.broke(number):
		return " (which broke a limit)"
	case len(t.Doubts) > 0:
		return " (which is in doubt)"
	}
	return ""
}

func (who chosenBy) reads(number int, settings design.Settings) bool {
	t := who.seen.Trial(number)
	return t != nil && t.Parameters.Equal(settings)
}

// broke tells whether a trial is beyond a limit by what is known of it.
func (who chosenBy) broke(number int) bool {
	t := who.seen.Trial(number)
	return t != nil && t.Feasible != nil && !*t.Feasible
}

// blind is what is missing of metrics of which the next decision of a state expects nothing yet.
func blind(snap *ledger.Snapshot, state *optimizer.State) map[string]string {
	why := map[string]string{}
	for k, metric := range snap.Compiled().MetricNames {
		switch {
		case !snap.HasReading(metric):
			why[metric] = "no reading"
		case !state.Foresees(k):
			why[metric] = "too few readings"
		}
	}
	return why
}

// explain says in plain words what a trial tries, what the model expects of it and why it was
// chosen.
func explain(d design.Definition, p ledger.ChosenData, who chosenBy) string {
	tries := fmt.Sprintf("Trial %d tries %s", p.Number, describeSettings(d, p.Parameters))
	if len(p.Held) > 0 {
		tries += fmt.Sprintf(" (held, as asked: %s)", describeSettings(d, p.HeldSettings()))
	}
	reason := p.Decision.Reason
	if reason == policy.FirstDesign || reason == policy.Space {
		return tries + ". " + because(d, p, who)
	}
	predicted := predictions(d, p, who)
	if w := p.Decision.Works; w != nil {
		predicted += fmt.Sprintf(", chance that it works %s: %d of %s", design.FormatPercent(w.Chance), w.Failed,
			design.Count(w.Of, "trial failed because of its settings", "trials failed because of their settings"))
	}
	sentence := tries + ": " + predicted + ". " + because(d, p, who)
	if reason != policy.Own {
		sentence += phase(p.Decision.Horizon)
	}
	if strings.Contains(predicted, "±") {
		sentence += " Here ± holds about two times in three, without the noise of a reading."
	}
	return sentence
}

// phase says whose T the algorithm's constants follow from, where it is not the number of trials
// planned: a phase of T trials begins with trial T.
func phase(horizon int) string {
	if horizon == 0 {
		return ""
	}
	return fmt.Sprintf(" The algorithm’s constants are those of T = %d, the length of the phase that began with trial %d.", horizon, horizon)
}

// mostSettings is how many settings a sentence names; the card above it shows them all.
const mostSettings = 6

func describeSettings(d design.Definition, s design.Settings) string {
	parts := lists.Pick(d.Parameters, func(p design.Parameter) (string, bool) {
		v, ok := s[p.Name]
		return describeSetting(d, p, v), ok
	})
	if len(parts) > mostSettings {
		more := len(parts) - mostSettings + 1
		parts = append(parts[:mostSettings-1], fmt.Sprintf("%d more settings", more))
	}
	return design.Listed(parts, "and")
}

// describeSetting writes "47 °C" when the unit tells which parameter is meant, "6 cycles" for a
// count in the plural (but "cycles 1", "temp 6" and "k 6"), else the name before the value.
func describeSetting(d design.Definition, p design.Parameter, v design.Value) string {
	value, name := design.WithUnit(design.Name(design.WriteSetting(p, v)), p.Unit, " "), design.Name(p.Name)
	switch {
	case p.Unit != "" && unitIsUnique(d, p):
		return value
	case p.Unit == "" && p.Type == design.Integer && v.Number != 1 && strings.HasSuffix(p.Name, "s") && !design.IsSymbol(p.Name):
		return value + " " + name
	default:
		return name + " " + value
	}
}

func unitIsUnique(d design.Definition, p design.Parameter) bool {
	return !slices.ContainsFunc(d.Parameters, func(other design.Parameter) bool { return other.Name != p.Name && other.Unit == p.Unit })
}

// predictions lists the objective and every constraint: mean ± sd, the limit, and the chance to
// stay within it, or within all where there are several.
func predictions(d design.Definition, p ledger.ChosenData, who chosenBy) string {
	e := expectation{ChosenData: p, blind: who.blind, limits: map[string][]design.Constraint{}}
	learned, foretold, kept := 0, true, true
	for _, c := range d.Constraints {
		if value, ok := p.KnownValues[c.Name]; ok {
			kept = kept && c.Holds(value)
			continue
		}
		learned++
		foretold = foretold && who.blind[c.Metric] == ""
		e.limits[c.Metric] = append(e.limits[c.Metric], c)
	}
	all, o := "", d.Objective
	if chance := p.Decision.FeasibilityProbability; learned == 1 && kept && chance != nil {
		e.chance = ", chance to stay within " + design.FormatPercent(*chance)
	} else if learned > 0 && foretold && chance != nil {
		all = "chance to stay within every limit " + design.FormatPercent(*chance)
	}
	parts := []string{e.of(o.Metric, o.Metric, o.Unit)}
	if parts[0] != "" && who.blind[o.Metric] == "" {
		parts[0] = "predicted " + parts[0]
	}
	for _, c := range d.Constraints {
		name, limits := c.Name, e.limits[c.Metric]
		if len(limits) > 1 {
			name = c.Metric
		}
		if value, ok := p.KnownValues[c.Name]; ok {
			parts = append(parts, fmt.Sprintf("%s %s (limit %s, known beforehand)", design.Name(c.Name),
				design.WithUnit(design.WriteNumber(value), c.Unit, " "), design.WithUnit(design.WriteNumber(c.Threshold), c.Unit, " ")))
		} else if c.Metric != o.Metric && c.Name == limits[0].Name {
			parts = append(parts, e.of(name, c.Metric, c.Unit))
		}
	}
	parts = slices.DeleteFunc(append(parts, all), func(part string) bool { return part == "" })
	return strings.Join(parts, ", ")
}

// expectation is what is expected of the metrics at a chosen point.
type expectation struct {
	ledger.ChosenData
	blind  map[string]string
	limits map[string][]design.Constraint // those that are learned, by metric
	chance string                         // to stay within the limit, where it is the only one
}

// of says what is expected of a metric, once, with all of its limits. One of which readings are
// missing has no number: it would be the prior's alone.
func (e expectation) of(name, metric, unit string) string {
	name = design.Name(name)
	if why := e.blind[metric]; why != "" {
		return why + " of " + name + " yet" + e.within(metric, design.WriteNumber, "")
	}
	mean, ok := e.Decision.Mean[metric]
	if !ok {
		return ""
	}
	sd := e.Decision.SD[metric]
	limit := func(threshold float64) string { return design.WriteLimit(threshold, sd) }
	return name + " " + design.WithUnit(design.WriteUncertain(mean, sd), unit, " ") + e.within(metric, limit, e.chance)
}

func (e expectation) within(metric string, write func(threshold float64) string, chance string) string {
	limits := lists.Map(e.limits[metric], func(c design.Constraint) string { return design.WithUnit(write(c.Threshold), c.Unit, " ") })
	switch len(limits) {
	case 0:
		return ""
	case 1:
		return " (limit " + limits[0] + chance + ")"
	}
	return " (limits " + design.Listed(limits, "and") + ")"
}

// safeByDistance tells whether settings are safe by their distance to others that are, and a Lipschitz
// constant, whatever the model believes of them.
func safeByDistance(d design.Definition) bool {
	return !policy.Absent(d.Algorithm.Settings["lipschitz"])
}

func because(d design.Definition, p ledger.ChosenData, who chosenBy) string {
	highest, objective := "highest", design.Name(d.Objective.Metric)
	if d.Objective.Direction == "minimize" {
		highest = "lowest"
	}
	limits, learned, none := limitNames(d), learnedLimits(d, p, nil), ""
	both := design.Listed(append([]string{objective}, learned...), "and")
	if learned != nil {
		none = noneYet(who)
	}
	switch p.Decision.Reason {
	case policy.FirstDesign:
		return "Chosen to spread the first trials over the whole space, before there is enough data for the model."
	case policy.Space:
		return "Chosen to fill the space; this algorithm does not use the results."
	case policy.Restart:
		return "Chosen to spread trials over the whole space once more: the region around the best of the last search shrank to nothing without anything better."
	case policy.Own:
		return ownChoice(p, who)
	case policy.Optimistic:
		if limits == nil || who.algorithm.Heedless {
			return fmt.Sprintf("Chosen because its optimistic %s is the %s of all.", objective, highest)
		}
		among := "points whose " + design.Listed(limits, "and") + " could still be within " + theirLimits(limits)
		switch {
		case who.algorithm.NeedsSafeSeeds && safeByDistance(d):
			among = "the safe settings and the points that the Lipschitz constant says keep " + keptWithin(limits)
		case who.algorithm.NeedsSafeSeeds:
			among = "the safe settings and the points that the model believes to keep " + keptWithin(limits)
		}
		return fmt.Sprintf("Chosen because its optimistic %s is the %s among %s.", objective, highest, among) + noneYet(who)
	case policy.TradeOff:
		if limits == nil {
			return fmt.Sprintf("Chosen because its optimistic %s is the %s of all.", objective, highest)
		}
		return fmt.Sprintf("Chosen because its optimistic %s is the best after a price for possibly breaking the %s%s.", objective, limitsOn(limits), prices(d, p)) + noneYet(who)
	case policy.LeastBad: // of those left alone, since they failed or were tried, some may be within
		looks := fmt.Sprintf("looks able to stay within the %s", limitsOn(limits))
		if chance := p.Decision.FeasibilityProbability; chance != nil && *chance >= 0.5 { // most_risk allows less
			looks = fmt.Sprintf("is as sure to stay within the %s as it has to be now", limitsOn(limits))
		}
		return fmt.Sprintf("Chosen because no point that may be tried now %s, and this one comes closest.", looks) + noneYet(who)
	case policy.Explore:
		learns := fmt.Sprintf("%s is the %s", objective, highest)
		if learned != nil {
			learns = fmt.Sprintf("the %s %s", limitsOn(learned), plural(learned, "lies", "lie"))
		}
		return fmt.Sprintf("Chosen to learn where %s: it is where the model is least sure among the points it may try.", learns) + none
	case policy.Seed:
		return fmt.Sprintf("Drawn among the safe settings, from which this algorithm learns %s first.", both) + none
	case policy.Sample:
		return fmt.Sprintf("Chosen because it is the best in one random draw of what %s could be, given the results so far.", both) + none
	case policy.Improve:
		return improves(d, p, who)
	case policy.Apart:
		such := "such points"
		if learned != nil {
			such = "the points there that are likely to keep " + keptWithin(learned)
		}
		return fmt.Sprintf("Chosen apart from the trials that wait, beside which hardly anything is left to gain: of %s it promises the largest improvement of %s%s.", such, objective, over(d, p, who))
	case policy.Settled:
		sure, best := "", "the best so far"
		if number := p.Decision.Incumbent; number > 0 && who.aside(number) != "" {
			best = fmt.Sprintf("trial %d", number) + who.aside(number)
		}
		if chances := weighedWith(d, p, who); chances != "" {
			sure = ", and of those whose chance " + chances + " is no less than that of " + best
		}
		return "Chosen where hardly anything is left to gain: of the points not tried yet" + sure + ", it promises most."
	}
	return fmt.Sprintf("Chosen by %s.", p.Decision.Algorithm)
}

// improves says what a point promises over the best one so far, or that it has the best chance
// where none is known to be good.
func improves(d design.Definition, p ledger.ChosenData, who chosenBy) string {
	learned, objective := learnedLimits(d, p, nil), design.Name(d.Objective.Metric)
	compared := p.Decision.ExpectedImprovement != nil
	switch broken := brokenLimits(d, p); {
	case broken != nil:
		return fmt.Sprintf("Chosen although it is known to break the %s: no point within promises any improvement.", limitsOn(broken))
	case compared && who.reads(p.Decision.Incumbent, p.Parameters):
		return readsAgain(d, p, who)
	case learned != nil && !compared && (who.algorithm.Compares || !who.best):
		return fmt.Sprintf("Chosen because it has the best chance to keep %s.", keptWithin(learned)) + noneYet(who)
	case learned != nil && compared && hardlyImproves(d, p) && who.broke(p.Decision.Incumbent):
		return fmt.Sprintf("Chosen for its chance to keep %s, weighed with %s: it was compared with trial %d, which broke a limit, and hardly any improvement of %s over that one is expected.",
			keptWithin(learned), objective, p.Decision.Incumbent, objective)
	}
	sentence := fmt.Sprintf("Chosen because it promises the largest improvement of %s%s", objective, over(d, p, who))
	if chances := weighedWith(d, p, who); chances != "" {
		sentence += ", weighed with the chance " + chances
	}
	return sentence + "."
}

// readsAgain says why what all points are compared with is read once more, which is not within the
// limits where nothing that was tried is.
func readsAgain(d design.Definition, p ledger.ChosenData, who chosenBy) string {
	number, within, beyond := p.Decision.Incumbent, "", ""
	if limits := learnedLimits(d, p, who.blind); limits != nil {
		within, beyond = " and as far within the "+limitsOn(limits), " and how far from the "+limitsOn(limits)
	}
	know := "whether they are as good" + within + " as they seem"
	if who.broke(number) {
		know = "how good they are" + beyond
	}
	return fmt.Sprintf("Chosen to read the settings of trial %d%s again: to know %s is worth more than what another point promises.", number, cmp.Or(who.aside(number), ", the best so far,"), know)
}

// weighedWith are the chances that an improvement is weighed with: of limits of which readings tell, and
// to work where failures taught it.
func weighedWith(d design.Definition, p ledger.ChosenData, who chosenBy) string {
	var chances []string
	if limits := learnedLimits(d, p, who.blind); limits != nil {
		chances = append(chances, "to stay within the "+limitsOn(limits))
	}
	if p.Decision.Works != nil && who.algorithm.Compares { // others only leave out where hardly anything works
		chances = append(chances, "to work")
	}
	return design.Listed(chances, "and")
}

// hardlyAny is the share of the prediction's standard deviation up to which an expected improvement
// is not worth a number.
const hardlyAny = 1e-3

// hardlyImproves tells whether what a point is expected to improve is not worth a number.
func hardlyImproves(d design.Definition, p ledger.ChosenData) bool {
	return *p.Decision.ExpectedImprovement <= hardlyAny*p.Decision.SD[d.Objective.Metric]
}

// over is how much a point is expected to improve on the best one, counting no improvement where it
// is worse.
func over(d design.Definition, p ledger.ChosenData, who chosenBy) string {
	gain := p.Decision.ExpectedImprovement
	if gain == nil {
		return ""
	}
	best := fmt.Sprintf("over trial %d", p.Decision.Incumbent) + who.aside(p.Decision.Incumbent)
	if hardlyImproves(d, p) {
		return ", though hardly any " + best
	}
	return ", on average " + design.Apart(design.WriteBeside(*gain, *gain), d.Objective.Unit, " ") + " " + best
}

func ownChoice(p ledger.ChosenData, who chosenBy) string {
	person := cmp.Or(who.by, "a person")
	if p.ReplicateOf > 0 {
		return fmt.Sprintf("Repeats trial %d on purpose; asked for by %s, not chosen by the algorithm.", p.ReplicateOf, person)
	}
	return fmt.Sprintf("Chosen by %s, not by the algorithm.", person)
}

func noneYet(who chosenBy) string {
	if who.withinLimits {
		return ""
	}
	return " No trial is known to be within every limit yet."
}

// prices tells the multipliers of the decision, when the algorithm has any.
func prices(d design.Definition, p ledger.ChosenData) string {
	var parts []string
	for _, c := range d.Constraints {
		if q, ok := p.Decision.Multipliers[c.Name]; ok {
			text := design.FormatBrief(q)
			if len(d.Constraints) > 1 {
				text = design.Name(c.Name) + " " + text
			}
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + plural(parts, "multiplier ", "multipliers ") + strings.Join(parts, ", ") + ")"
}

// plural is one of two words, by how many are named.
func plural(names []string, one, many string) string {
	if len(names) == 1 {
		return one
	}
	return many
}

// limitsOn names limits, as "limit on impurity" or "limits on pH low and pH high".
func limitsOn(names []string) string {
	return plural(names, "limit on ", "limits on ") + design.Listed(names, "and")
}

func keptWithin(names []string) string {
	return design.Listed(names, "and") + " within " + theirLimits(names)
}

func theirLimits(names []string) string { return plural(names, "the limit", "their limits") }

func limitNames(d design.Definition) []string {
	return lists.Pick(d.Constraints, func(c design.Constraint) (string, bool) { return design.Name(c.Name), true })
}

// learnedLimits are those of which readings tell, but for what is missing of a metric.
func learnedLimits(d design.Definition, p ledger.ChosenData, missing map[string]string) []string {
	return lists.Pick(d.Constraints, func(c design.Constraint) (string, bool) {
		_, known := p.KnownValues[c.Name]
		return design.Name(c.Name), !known && missing[c.Metric] == ""
	})
}

// brokenLimits are those that are known beforehand to be broken.
func brokenLimits(d design.Definition, p ledger.ChosenData) []string {
	return lists.Pick(d.Constraints, func(c design.Constraint) (string, bool) {
		value, known := p.KnownValues[c.Name]
		return design.Name(c.Name), known && !c.Holds(value)
	})
}
