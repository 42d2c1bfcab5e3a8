package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// CorrectionConsequences puts what a correction would change into words.
func CorrectionConsequences(snap *ledger.Snapshot, impact study.Impact) *templates.Consequences {
	out := consequences(snap, snap.Definition.Constraints, impact)
	out.Summary = fmt.Sprintf("Trial %d would be: %s.", impact.Trial.Number, stateWords(snap.Definition, impact.Trial))
	made := fmt.Sprintf(" %s made from the old value; they keep what they recorded.", words.Count(impact.DecisionsAfter, "decision was", "decisions were"))
	out.Summary += words.Either(impact.DecisionsAfter == 0, " No decision was made from the old value.", made)
	if len(out.Changes) == 0 {
		out.Summary += " Nothing else would look different."
	}
	return out
}

// consequences lists what a change would change, constraints being those afterwards.
func consequences(snap *ledger.Snapshot, constraints []design.Constraint, impact study.Impact) *templates.Consequences {
	d, out := snap.Definition, templates.Consequences{}
	add := func(name, before, after string) {
		if before != after {
			out.Changes = append(out.Changes, templates.BeforeAfter{Name: name, Before: before, After: after})
		}
	}
	was, would, trials := impact.Trials[0], impact.Trials[1], len(snap.Trials)
	of := func(n int) string { return fmt.Sprintf("%d of %d", n, trials) }
	add("Trials within every limit", of(was.Within), of(would.Within))
	add("Trials that break a limit", of(was.Broken), of(would.Broken))
	add("Recommended", recommendedWords(d.Objective, impact.Recommendation[0]), recommendedWords(d.Objective, impact.Recommendation[1]))
	for _, c := range constraints {
		violation := impact.Violation[c.Name]
		add("Violation of "+c.Name, words.Roughly(violation[0].Hard, c.Unit), words.Roughly(violation[1].Hard, c.Unit))
		if price, there := impact.Multipliers[c.Name]; there {
			add("Multiplier of "+c.Name, words.Rough(price[0]), words.Rough(price[1]))
		}
	}
	add("Next suggestion", nextText(d, impact.NextBefore), nextText(d, impact.NextAfter))
	return &out
}

func recommendedWords(o design.Objective, r *study.Recommendation) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("trial %d, expected %s %s %s", r.Number, o.Metric, words.Uncertain(r.Mean[o.Metric], r.SD[o.Metric], o.Unit), withoutNoise)
}

func nextText(d design.Definition, next *design.Settings) string {
	if next == nil {
		return "none"
	}
	return settingsLine(d, *next)
}

// ChangeConsequences puts what a change of limits, bounds or settings would change into words.
func ChangeConsequences(snap *ledger.Snapshot, constraints []design.Constraint, impact study.Impact) *templates.Consequences {
	out := consequences(snap, constraints, impact)
	var broken, within []int
	for _, t := range impact.Turned {
		switch {
		case t.After != nil && *t.After:
			within = append(within, t.Number)
		case t.After != nil:
			broken = append(broken, t.Number)
		}
	}
	slices.SortStableFunc(impact.Changes, func(a, b design.Change) int { // limits and bounds first
		return cmp.Compare(strings.Count(b.Path, "["), strings.Count(a.Path, "["))
	})
	said := []string{design.Capitalised(changesWords(snap.Definition, impact.Changes)) + "."}
	if len(broken) > 0 {
		said = append(said, design.Capitalised(trialsInWords(broken))+" would break a limit.")
	}
	if len(within) > 0 {
		said = append(said, design.Capitalised(trialsInWords(within))+" would be within every limit.")
	}
	if len(broken)+len(within) == 0 && len(snap.Trials) > 0 && len(constraints) > 0 {
		said = append(said, "Every trial would stand to the limits as it does.")
	}
	if impact.Withheld != "" {
		said = append(said, "Of the rest nothing can be said: "+impact.Withheld)
	} else if len(out.Changes) == 0 {
		said = append(said, "Nothing would look different yet.")
	}
	if impact.Refitted {
		said = append(said, "The model is fitted again with the next ask, so the suggestion may still differ.")
	}
	out.Summary = strings.Join(said, " ")
	return out
}

// ForecastOf puts what a decision expects into words: readings, with their noise, and what is known
// beforehand by the limit's name.
func ForecastOf(snap *ledger.Snapshot, decision *ledger.Decision, beforehand map[string]float64) *templates.Forecast {
	d := snap.Definition
	shown := &templates.Forecast{}
	if decision == nil {
		return shown
	}
	known := 0
	for _, metric := range Modelled(d) {
		line := templates.ForecastLine{Name: metric, Reading: "no model yet", Limit: limitsText(d, metric)}
		if expected := snap.ForetoldBy(decision, metric); expected != nil {
			line.Reading = words.Uncertain(expected.Mean, expected.SD, UnitOf(d, metric))
			known++
		}
		shown.Metrics = append(shown.Metrics, line)
	}
	if chance := decision.FeasibilityProbability; len(d.Constraints) > 0 && known == len(shown.Metrics) && chance != nil {
		shown.Chance = words.Percent(*chance)
	}
	for _, c := range d.Constraints {
		if value, there := beforehand[c.Name]; there {
			shown.Metrics = append(shown.Metrics, templates.ForecastLine{Name: c.Metric, Reading: words.Quantity(value, c.Unit) + ", known beforehand", Limit: limitsText(d, c.Metric)})
		}
	}
	return shown
}

// trialsInWords names trials, the first of them when there are many.
func trialsInWords(numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("trial %d", numbers[0])
	}
	const most = 5
	var words []string
	for i, number := range numbers {
		if i == most-1 && len(numbers) > most {
			words = append(words, fmt.Sprintf("%d more", len(numbers)-i))
			break
		}
		words = append(words, strconv.Itoa(number))
	}
	return "trials " + design.Listed(words, "and")
}
