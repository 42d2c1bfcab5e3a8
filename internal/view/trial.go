package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rsc.io/qr"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Page is one trial with everything behind it.
func (v Tried) Page() (templates.TrialPage, error) {
	t, d := v.t, v.Snap.Definition
	shown := templates.TrialPage{
		Study: v.Head, Card: v.card(), State: stateWords(d, t), Mark: markOf(d, t), Excluded: t.Excluded, Reason: v.reasonLine(), Waiting: t.Waiting(),
		Ended: t.Status == ledger.StatusFailed || t.Status == ledger.StatusAbandoned, Because: whyOf(t), Key: v.Key, Previous: t.Number - 1,
		Metrics: v.metricFacts(), Facts: v.decisionFacts(), Model: modelTable(d, t.Decision),
	}
	if len(t.Doubts) > 0 && !t.Excluded {
		shown.Doubtful = new(v.inDoubt())
	}
	if v.Head.Operates {
		shown.Saved = v.savedJustNow()
	}
	if t.Number < len(v.Snap.Trials) {
		shown.Following = t.Number + 1
	}
	if v.Earlier > 0 {
		shown.Earlier = words.Count(v.Earlier, "earlier entry is", "earlier entries are") + " in the study’s ledger."
	}
	var err error
	shown.History, err = v.entries()
	return shown, err
}

// metricFacts are a trial's readings beside what was predicted for them.
func (v Tried) metricFacts() []templates.MetricFact {
	d := v.Snap.Definition
	var facts []templates.MetricFact
	for _, metric := range tableMetrics(d) {
		m, there := v.t.Metrics[metric]
		if !there {
			continue
		}
		unit := UnitOf(d, metric)
		fact := templates.MetricFact{Name: metric, Value: Measured(d, metric, m), By: m.By, At: v.stamp(m.ToldAt),
			Predicted: v.foretold(metric, unit), Limit: cmp.Or(limitsText(d, metric), "–"), Headroom: "–"}
		if m.Known {
			fact.By = ""
		}
		if m.Corrected && m.Original != nil {
			fact.Original = words.Number(*m.Original)
		}
		if m.Headroom != nil {
			fact.Headroom, fact.Broken = words.Quantity(*m.Headroom, unit), *m.Headroom < 0
		}
		facts = append(facts, fact)
	}
	return facts
}

// foretold is the reading that a trial's decision expected of a metric, where the model had learnt
// the metric by then.
func (v Tried) foretold(metric, unit string) string {
	chosen := *v.t
	chosen.SettingsChanged = false
	expected := v.Snap.Foretold(&chosen, metric)
	switch {
	case expected == nil:
		return "–"
	case v.t.SettingsChanged:
		return words.Uncertain(expected.Mean, expected.SD, unit) + " at the settings chosen"
	}
	return words.Uncertain(expected.Mean, expected.SD, unit)
}

// foreseen tells whether a trial's decision knew anything of a metric: a reading, and in which
// units the model works. Its numbers are the prior's alone where it did not.
func (v Tried) foreseen(metric string) bool {
	read := slices.ContainsFunc(v.Snap.Trials, func(other *ledger.Trial) bool {
		m, there := other.Metrics[metric]
		return there && m.ToldSeq <= v.t.Decision.Seen
	})
	return read && scaledFor(v.Snap, metric, v.t.Number)
}

// decisionFacts are the numbers behind a decision, but of metrics that it was blind to.
func (v Tried) decisionFacts() (facts []templates.Fact) {
	d, decision := v.Snap.Definition, v.t.Decision
	if decision == nil {
		return nil
	}
	add := func(name, value, meaning string) {
		facts = append(facts, templates.Fact{Name: name, Value: value, Meaning: meaning})
	}
	objective := d.Objective.Metric
	blind := slices.DeleteFunc(Modelled(d), func(metric string) bool { return v.foreseen(metric) })
	add("Algorithm", decision.Algorithm, "")
	add("Decided from", fmt.Sprintf("ledger entry %d", decision.Seen), "the last one it saw")
	for _, metric := range Modelled(d) {
		if slices.Contains(blind, metric) {
			add("Predicted "+metric, "nothing", "no reading that the model could learn from yet")
		} else if mean, there := decision.Mean[metric]; there {
			add("Predicted "+metric, words.Uncertain(mean, decision.SD[metric], UnitOf(d, metric)), "posterior mean ± standard deviation at this point, without the noise of a reading")
		}
		if beta, there := decision.Beta[metric]; there {
			add("Width for "+metric+" (β)", words.Rough(beta), "how many standard deviations of doubt it allowed for")
		}
	}
	if x, there := decision.Estimates[objective]; there && !slices.Contains(blind, objective) {
		add("Optimistic "+objective, words.Rough(x), "estimate used, modelled units")
	}
	for _, c := range d.Constraints {
		if x, there := decision.LimitEstimate(d, c); there && !slices.Contains(blind, c.Metric) {
			add("Estimate for "+c.Name, words.Rough(x), "modelled units; 0 or less stays within the limit")
		}
		if x, there := decision.Multipliers[c.Name]; there {
			add("Multiplier of "+c.Name, words.Rough(x), "the price of breaking the limit")
		}
	}
	if t := decision.Horizon; t > 0 {
		add("Horizon (T)", strconv.Itoa(t), fmt.Sprintf("length of the phase that began with trial %d, from which the algorithm’s constants follow", t))
	}
	if chance := decision.FeasibilityProbability; len(d.Constraints) > 0 && len(blind) == 0 && chance != nil {
		add("Chance to stay within every limit", words.Percent(*chance), "")
	}
	if w := decision.Works; w != nil {
		add("Chance that it works", words.Percent(w.Chance), fmt.Sprintf("%d of %d trials before it had failed because of their settings", w.Failed, w.Of))
	}
	if decision.ExpectedImprovement != nil && !slices.Contains(blind, objective) {
		add("Expected improvement", words.Roughly(*decision.ExpectedImprovement, UnitOf(d, objective)),
			fmt.Sprintf("on average over trial %d, the best so far as the model sees it; a worse result counts as no improvement", decision.Incumbent))
	}
	if decision.Acquisition != nil {
		add("Score (acquisition)", words.Rough(*decision.Acquisition), "what was maximised, modelled units")
	}
	if decision.RunnerUp != nil {
		add("Runner-up", settingsLine(d, decision.RunnerUp.Parameters), "score "+words.Rough(decision.RunnerUp.Acquisition))
	}
	add("Random seed", strconv.FormatUint(decision.RandomSeed, 10), "")
	add("Engine", decision.Engine, "version of the optimizer")
	return facts
}

func modelTable(d design.Definition, decision *ledger.Decision) templates.Table {
	table := templates.Table{Head: []templates.Column{column("Metric"), column("Kernel"), column("Lengthscales"), number("Variance", ""), number("λ", ""), number("Centre", ""), number("Scale", "")}}
	if decision == nil {
		return table
	}
	for _, metric := range Modelled(d) {
		m, there := decision.Model[metric]
		if !there {
			continue
		}
		var lengthscales []string
		for _, l := range m.Lengthscales {
			lengthscales = append(lengthscales, words.Rough(l))
		}
		kernel := m.Kernel
		if m.Interaction > 0 {
			kernel += ", interaction " + words.Rough(m.Interaction)
		}
		table.Rows = append(table.Rows, []string{metric, kernel, strings.Join(lengthscales, ", "), words.Rough(m.Variance), words.Rough(m.Lambda), words.Rough(m.Centre), words.Rough(m.Scale)})
	}
	return table
}

// Sheet is a trial on paper: what to set, the limits, blanks to write in, and the address of its
// page.
func (v Tried) Sheet(address string) (templates.SheetPage, error) {
	code, err := qr.Encode(address, qr.M)
	if err != nil {
		return templates.SheetPage{}, err
	}
	d := v.Snap.Definition
	sheet := templates.SheetPage{Study: v.Head, Card: v.card(), Address: address, Code: modules(code), Size: code.Size + 2*quietZone, Printed: words.Exact(v.Now)}
	for _, c := range d.Constraints {
		if m, there := v.t.Metrics[c.Metric]; there && m.Known {
			sheet.Lines = append(sheet.Lines, templates.SheetLine{Name: c.Metric, Limit: limitsText(d, c.Metric), Value: Measured(d, c.Metric, m), Note: "known beforehand"})
		}
	}
	for _, metric := range Told(d) {
		line := templates.SheetLine{Name: metric, Unit: UnitOf(d, metric), Limit: limitsText(d, metric)}
		if m, there := v.t.Metrics[metric]; there {
			line.Value, line.Note = Measured(d, metric, m), "saved already"
		}
		sheet.Lines = append(sheet.Lines, line)
	}
	return sheet, nil
}

// quietZone is the white margin that readers of codes need, in modules.
const quietZone = 4

// modules draws a code's dark modules as one SVG path, a run of neighbours at a time.
func modules(code *qr.Code) string {
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			run := 0
			for x+run < code.Size && code.Black(x+run, y) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+quietZone, y+quietZone, run, run)
				x += run
			}
		}
	}
	return path.String()
}
