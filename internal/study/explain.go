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

// background is what the explanation of a decision needs to know beside its numbers.
type background struct {
	by           string
	withinLimits bool // some trial so far is known to be within every limit
	best         bool // some trial counts as the best so far: it is not excluded nor in doubt
	algorithm    policy.Description
	unpredicted  map[string]string // by metric, what is missing before the model predicts it
	seen         *ledger.Snapshot  // what the decision was made from
}

// backgroundOf returns the background of a decision made from a state of the snapshot, compiled as
// given.
func backgroundOf(by string, snap *ledger.Snapshot, compiled *design.Compiled, state *optimizer.State) background {
	feasible, _ := snap.Feasibility()
	return background{by: by, withinLimits: feasible > 0, best: snap.Best() != nil, algorithm: compiled.Algorithm, unpredicted: unpredicted(snap, state), seen: snap}
}

// remark returns a remark in brackets on a trial whose results are incomplete, in doubt or beyond a
// limit.
func (who background) remark(number int) string {
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

func (who background) reads(number int, settings design.Settings) bool {
	t := who.seen.Trial(number)
	return t != nil && t.Parameters.Equal(settings)
}

// broke reports whether a trial is known to be beyond a limit.
func (who background) broke(number int) bool {
	t := who.seen.Trial(number)
	return t != nil && t.Feasible != nil && !*t.Feasible
}

// unpredicted returns, by metric, what is missing before the state predicts anything of it.
func unpredicted(snap *ledger.Snapshot, state *optimizer.State) map[string]string {
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

// explanation is what a sentence on a chosen trial is made from.
type explanation struct {
	background
	ledger.ChosenData
	d design.Definition
}

// explain says in plain words what a trial tries, what the model predicts and why it was chosen.
func explain(d design.Definition, p ledger.ChosenData, who background) string {
	e := explanation{who, p, d}
	tries := fmt.Sprintf("Trial %d tries %s", p.Number, describeSettings(d, p.Parameters))
	if len(p.Held) > 0 {
		tries += fmt.Sprintf(" (held, as asked: %s)", describeSettings(d, p.HeldSettings()))
	}
	reason := p.Decision.Reason
	if reason == policy.FirstDesign || reason == policy.Space {
		return tries + ". " + e.whyChosen()
	}
	predicted := e.predictions()
	if w := p.Decision.Works; w != nil {
		predicted += fmt.Sprintf(", chance that it works %s: %d of %s", design.FormatPercent(w.Chance), w.Failed,
			design.Count(w.Of, "trial failed because of its settings", "trials failed because of their settings"))
	}
	sentence := tries + ": " + predicted + ". " + e.whyChosen()
	if reason != policy.Own {
		sentence += phaseText(p.Decision.Horizon)
	}
	if strings.Contains(predicted, "±") {
		sentence += " Here ± holds about two times in three, without the noise of a reading."
	}
	return sentence
}

// phaseText says which phase's T the algorithm's constants use, unless it is the number of trials
// planned. A phase of T trials begins with trial T.
func phaseText(horizon int) string {
	if horizon == 0 {
		return ""
	}
	return fmt.Sprintf(" The algorithm’s constants are those of T = %d, the length of the phase that began with trial %d.", horizon, horizon)
}

// mostSettings is how many settings a sentence names; the page lists them all.
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

// describeSetting writes "47 °C" if only one parameter has that unit, "6 cycles" for a count in the
// plural (but "cycles 1", "temp 6" and "k 6"), else the name before the value.
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
// stay within it, or within all limits if there are several.
func (e explanation) predictions() string {
	of := expectation{explanation: e, limits: map[string][]design.Constraint{}}
	learned, foretold, kept := 0, true, true
	for _, c := range e.d.Constraints {
		if value, ok := e.KnownValues[c.Name]; ok {
			kept = kept && c.Holds(value)
			continue
		}
		learned++
		foretold = foretold && e.unpredicted[c.Metric] == ""
		of.limits[c.Metric] = append(of.limits[c.Metric], c)
	}
	all, o := "", e.d.Objective
	if chance := e.Decision.FeasibilityProbability; learned == 1 && kept && chance != nil {
		of.chance = ", chance to stay within " + design.FormatPercent(*chance)
	} else if learned > 0 && foretold && chance != nil {
		all = "chance to stay within every limit " + design.FormatPercent(*chance)
	}
	parts := []string{of.metric(o.Metric, o.Metric, o.Unit)}
	if parts[0] != "" && e.unpredicted[o.Metric] == "" {
		parts[0] = "predicted " + parts[0]
	}
	for _, c := range e.d.Constraints {
		name, limits := c.Name, of.limits[c.Metric]
		if len(limits) > 1 {
			name = c.Metric
		}
		if value, ok := e.KnownValues[c.Name]; ok {
			parts = append(parts, fmt.Sprintf("%s %s (limit %s, known beforehand)", design.Name(c.Name),
				design.WithUnit(design.WriteNumber(value), c.Unit, " "), design.WithUnit(design.WriteNumber(c.Threshold), c.Unit, " ")))
		} else if c.Metric != o.Metric && c.Name == limits[0].Name {
			parts = append(parts, of.metric(name, c.Metric, c.Unit))
		}
	}
	parts = slices.DeleteFunc(append(parts, all), func(part string) bool { return part == "" })
	return strings.Join(parts, ", ")
}

// expectation has what is predicted of the metrics at a chosen point.
type expectation struct {
	explanation
	limits map[string][]design.Constraint // learned ones, by metric
	chance string                         // to stay within the limit, if there is only one
}

// metric says once what is predicted of a metric, with all of its limits. If readings are missing
// there is no number, since it would be that of the prior alone.
func (e expectation) metric(name, metric, unit string) string {
	name = design.Name(name)
	if why := e.unpredicted[metric]; why != "" {
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

// safeByDistance reports whether settings count as safe by a Lipschitz constant and their distance
// to safe ones, whatever the model predicts.
func safeByDistance(d design.Definition) bool {
	return !policy.Absent(d.Algorithm.Settings["lipschitz"])
}

func (e explanation) whyChosen() string {
	highest, objective := "highest", design.Name(e.d.Objective.Metric)
	if e.d.Objective.Direction == "minimize" {
		highest = "lowest"
	}
	limits, learned, none := e.limitNames(), e.learnedLimits(nil), ""
	both := design.Listed(append([]string{objective}, learned...), "and")
	if learned != nil {
		none = e.noneFeasibleYet()
	}
	switch e.Decision.Reason {
	case policy.FirstDesign:
		return "Chosen to spread the first trials over the whole space, before there is enough data for the model."
	case policy.Space:
		return "Chosen to fill the space; this algorithm does not use the results."
	case policy.Restart:
		return "Chosen to spread trials over the whole space once more: the region around the best of the last search shrank to nothing without anything better."
	case policy.Own:
		return e.ownChoice()
	case policy.Optimistic:
		if limits == nil || e.algorithm.Heedless {
			return fmt.Sprintf("Chosen because its optimistic %s is the %s of all.", objective, highest)
		}
		among := "points whose " + design.Listed(limits, "and") + " could still be within " + theirLimits(limits)
		switch {
		case e.algorithm.NeedsSafeSeeds && safeByDistance(e.d):
			among = "the safe settings and the points that the Lipschitz constant says keep " + keptWithin(limits)
		case e.algorithm.NeedsSafeSeeds:
			among = "the safe settings and the points that the model believes to keep " + keptWithin(limits)
		}
		return fmt.Sprintf("Chosen because its optimistic %s is the %s among %s.", objective, highest, among) + e.noneFeasibleYet()
	case policy.TradeOff:
		if limits == nil {
			return fmt.Sprintf("Chosen because its optimistic %s is the %s of all.", objective, highest)
		}
		return fmt.Sprintf("Chosen because its optimistic %s is the best after a price for possibly breaking the %s%s.", objective, limitsOn(limits), e.prices()) + e.noneFeasibleYet()
	case policy.LeastBad: // points avoided since they failed or were tried may be within
		looks := fmt.Sprintf("looks able to stay within the %s", limitsOn(limits))
		if chance := e.Decision.FeasibilityProbability; chance != nil && *chance >= 0.5 { // most_risk may allow less
			looks = fmt.Sprintf("is as sure to stay within the %s as it has to be now", limitsOn(limits))
		}
		return fmt.Sprintf("Chosen because no point that may be tried now %s, and this one comes closest.", looks) + e.noneFeasibleYet()
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
		return e.whyImproves()
	case policy.Apart:
		such := "points"
		if learned != nil {
			such += " that are likely to keep " + keptWithin(learned) + ","
		}
		return fmt.Sprintf("Chosen away from the waiting trials, near which hardly anything is left to gain: of the other %s it is the best in one random draw of what %s could be, given the results so far, so that the waiting trials cover where the best may lie.", such, both)
	case policy.Settled:
		sure, best := "", "the best so far"
		if number := e.Decision.Incumbent; number > 0 && e.remark(number) != "" {
			best = fmt.Sprintf("trial %d", number) + e.remark(number)
		}
		if chances := e.weighedWith(); chances != "" {
			sure = ", and of those whose chance " + chances + " is no less than that of " + best
		}
		return "Chosen where hardly anything is left to gain: of the points not tried yet" + sure + ", it promises most."
	}
	return fmt.Sprintf("Chosen by %s.", e.Decision.Algorithm)
}

// whyImproves says what a point promises over the best one so far, or that it has the best chance
// to be feasible if none is known to be.
func (e explanation) whyImproves() string {
	learned, objective := e.learnedLimits(nil), design.Name(e.d.Objective.Metric)
	compared := e.Decision.ExpectedImprovement != nil
	switch broken := e.brokenLimits(); {
	case broken != nil:
		return fmt.Sprintf("Chosen although it is known to break the %s: no point within promises any improvement.", limitsOn(broken))
	case compared && e.reads(e.Decision.Incumbent, e.Parameters):
		return e.whyReadAgain()
	case learned != nil && !compared && (e.algorithm.Compares || !e.best):
		return fmt.Sprintf("Chosen because it has the best chance to keep %s.", keptWithin(learned)) + e.noneFeasibleYet()
	case learned != nil && compared && e.hardlyImproves() && e.broke(e.Decision.Incumbent):
		return fmt.Sprintf("Chosen for its chance to keep %s, weighed with %s: it was compared with trial %d, which broke a limit, and hardly any improvement of %s over that one is expected.",
			keptWithin(learned), objective, e.Decision.Incumbent, objective)
	}
	sentence := fmt.Sprintf("Chosen because it promises the largest improvement of %s%s", objective, e.improvementOver())
	if chances := e.weighedWith(); chances != "" {
		sentence += ", weighed with the chance " + chances
	}
	return sentence + "."
}

// whyReadAgain says why the incumbent is read once more. It is not within the limits if no trial
// is.
func (e explanation) whyReadAgain() string {
	number, within, beyond := e.Decision.Incumbent, "", ""
	if limits := e.learnedLimits(e.unpredicted); limits != nil {
		within, beyond = " and as far within the "+limitsOn(limits), " and how far from the "+limitsOn(limits)
	}
	know := "whether they are as good" + within + " as they seem"
	if e.broke(number) {
		know = "how good they are" + beyond
	}
	return fmt.Sprintf("Chosen to read the settings of trial %d%s again: to know %s is worth more than what another point promises.", number, cmp.Or(e.remark(number), ", the best so far,"), know)
}

// weighedWith names the chances that an improvement is multiplied with: to keep limits with
// readings, and to work if trials have failed.
func (e explanation) weighedWith() string {
	var chances []string
	if limits := e.learnedLimits(e.unpredicted); limits != nil {
		chances = append(chances, "to stay within the "+limitsOn(limits))
	}
	if e.Decision.Works != nil && e.algorithm.Compares { // others only avoid where hardly anything works
		chances = append(chances, "to work")
	}
	return design.Listed(chances, "and")
}

// hardlyAny is the part of the prediction's standard deviation up to which an expected improvement
// is not worth a number.
const hardlyAny = 1e-3

func (e explanation) hardlyImproves() bool {
	return *e.Decision.ExpectedImprovement <= hardlyAny*e.Decision.SD[e.d.Objective.Metric]
}

// improvementOver says by how much a point is expected to improve on the incumbent, where a worse
// value counts as no improvement.
func (e explanation) improvementOver() string {
	gain := e.Decision.ExpectedImprovement
	if gain == nil {
		return ""
	}
	best := fmt.Sprintf("over trial %d", e.Decision.Incumbent) + e.remark(e.Decision.Incumbent)
	if e.hardlyImproves() {
		return ", though hardly any " + best
	}
	return ", on average " + design.Apart(design.WriteBeside(*gain, *gain), e.d.Objective.Unit, " ") + " " + best
}

func (e explanation) ownChoice() string {
	person := cmp.Or(e.by, "a person")
	if e.ReplicateOf > 0 {
		return fmt.Sprintf("Repeats trial %d on purpose; asked for by %s, not chosen by the algorithm.", e.ReplicateOf, person)
	}
	return fmt.Sprintf("Chosen by %s, not by the algorithm.", person)
}

func (e explanation) noneFeasibleYet() string {
	if e.withinLimits {
		return ""
	}
	return " No trial is known to be within every limit yet."
}

// prices lists the multipliers of the decision, if the algorithm has any.
func (e explanation) prices() string {
	var parts []string
	for _, c := range e.d.Constraints {
		if q, ok := e.Decision.Multipliers[c.Name]; ok {
			text := design.FormatBrief(q)
			if len(e.d.Constraints) > 1 {
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

func (e explanation) limitNames() []string {
	return lists.Pick(e.d.Constraints, func(c design.Constraint) (string, bool) { return design.Name(c.Name), true })
}

// learnedLimits returns the limits that are learned from readings, except those of metrics in
// missing.
func (e explanation) learnedLimits(missing map[string]string) []string {
	return lists.Pick(e.d.Constraints, func(c design.Constraint) (string, bool) {
		_, known := e.KnownValues[c.Name]
		return design.Name(c.Name), !known && missing[c.Metric] == ""
	})
}

// brokenLimits returns the limits that are known beforehand to be broken.
func (e explanation) brokenLimits() []string {
	return lists.Pick(e.d.Constraints, func(c design.Constraint) (string, bool) {
		value, known := e.KnownValues[c.Name]
		return design.Name(c.Name), known && !c.Holds(value)
	})
}
