package view

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Bounds on a report, so that it stays a file that people can open and print.
const (
	mostReportTrials = 1000 // lines of the table of trials
	mostReportLedger = 1500 // entries of the ledger
	mostReportAmends = 500  // corrections, exclusions and changes
)

// Report is the study in one file: the sections of its board, as paper has them, and what it is.
func (v Facts) Report() (templates.Report, error) {
	board, err := v.Content(v.Trials("", 0))
	d := v.Snap.Definition
	return templates.Report{Board: board, Made: words.Exact(v.Now), Parameters: parameterTable(d), Facts: studyFacts(d)}, err
}

// parameterTable lists what can be set.
func parameterTable(d design.Definition) templates.Table {
	table := templates.Table{Head: []templates.Column{column("Parameter"), column("Kind"), number("From", ""), number("To", ""), column("Unit"), column("Choices, steps")}}
	for _, p := range d.Parameters {
		more := strings.Join(p.Choices, ", ")
		switch {
		case p.Type == design.Remainder && p.Total != nil:
			more = "what is left of " + words.Number(*p.Total)
		case p.Step != nil:
			more = "in steps of " + words.Number(*p.Step)
		case p.Scale == "log":
			more = "logarithmic"
		}
		table.Rows = append(table.Rows, []string{p.Name, string(p.Type), optionalNumber(p.Low), optionalNumber(p.High), p.Unit, more})
	}
	return table
}

func optionalNumber(x *float64) string {
	if x == nil {
		return ""
	}
	return words.Number(*x)
}

// studyFacts are how the study decides.
func studyFacts(d design.Definition) []templates.Fact {
	wanted := words.Either(d.Objective.Direction == "minimize", "as low as possible", "as high as possible")
	algorithm := Algorithm(d.Algorithm.Name)
	facts := []templates.Fact{
		{Name: "Objective", Value: words.AxisName(d.Objective.Metric, d.Objective.Unit) + ", " + wanted},
		{Name: "Algorithm", Value: algorithm.Title + " (" + algorithm.Name + ")", Meaning: algorithm.Source},
		{Name: "Trials planned", Value: strconv.Itoa(d.Algorithm.Horizon)},
		{Name: "Model", Value: "kernel " + plainJSON(d.Model.Kernel) + ", hyperparameters " + strings.ReplaceAll(d.Model.Fit, "_", " ")},
		{Name: "Seed", Value: strconv.FormatUint(d.Seed, 10)},
	}
	for _, rule := range d.InputConstraints {
		facts = append(facts, templates.Fact{Name: "Rule for the settings", Value: rule})
	}
	return facts
}

// Algorithm is the description of an algorithm, of the first one when there is none of that name.
func Algorithm(name string) policy.Description {
	all := policy.Descriptions()
	return all[max(0, slices.IndexFunc(all, func(a policy.Description) bool { return a.Name == name }))]
}

// reportedTrials are the trials that the report lists: all, or the newest and those of which
// something is to be said.
func (v Facts) reportedTrials() []*ledger.Trial {
	trials := v.Snap.Trials
	if len(trials) <= mostReportTrials {
		return trials
	}
	recommended := v.recommended()
	special := func(t *ledger.Trial) bool {
		best := v.Snap.Best()
		return t.Excluded || t.SettingsChanged || corrected(t) || best != nil && best.Number == t.Number || recommended != nil && recommended.Number == t.Number
	}
	newest := len(trials) - mostReportTrials/2
	var kept []*ledger.Trial
	for _, t := range trials[:newest] {
		if len(kept) < mostReportTrials/2 && special(t) {
			kept = append(kept, t)
		}
	}
	return append(kept, trials[newest:]...)
}

// How many parameters and metrics have columns of their own on a sheet of paper, and how many
// letters their names may have in all where they are not broken.
const mostColumns, mostLetters = 7, 60

// fitApart tells whether these columns fit on a sheet of paper beside the rest.
func fitApart(columns []templates.Column) bool {
	letters := 0
	for _, column := range columns {
		for _, word := range strings.Fields(column.Name) {
			letters += utf8.RuneCountInString(word)
		}
	}
	return len(columns) <= mostColumns && letters <= mostLetters
}
