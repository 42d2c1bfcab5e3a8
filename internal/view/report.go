package view

import (
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Report is the study in one file: the sections of its board as on paper, and its definition.
func (v Facts) Report() templates.Report {
	d := v.Snap.Definition
	return templates.Report{Board: v.Content(), Made: words.Exact(v.Now), For: v.Who.Name, Parameters: parameterTable(d), Facts: v.studyFacts()}
}

func parameterTable(d design.Definition) templates.Table {
	table := templates.Table{Head: []templates.Column{column("Parameter"), column("Kind"), number("From", ""), number("To", ""), column("Unit"), column("Choices, steps")}, Stacks: true}
	for _, p := range d.Parameters {
		more := slices.Clone(p.Choices)
		if p.Type == design.Remainder && p.Total != nil {
			more = append(more, "what is left of "+design.WriteExactly(*p.Total))
		}
		if p.Logarithmic() {
			more = append(more, "logarithmic")
		}
		if p.Step != nil {
			more = append(more, "in steps of "+design.WriteExactly(*p.Step))
		}
		table.Rows = append(table.Rows, []string{p.Name, string(p.Type), optionalNumber(p.Low), optionalNumber(p.High), p.Unit, strings.Join(more, ", ")})
	}
	return table
}

func optionalNumber(x *float64) string {
	if x == nil {
		return ""
	}
	return design.WriteExactly(*x)
}

func (v Facts) studyFacts() []templates.Fact {
	d, algorithm := v.Snap.Definition, v.Snap.Compiled().Algorithm
	wanted := words.Either(d.Objective.Direction == "minimize", "as low as possible", "as high as possible")
	facts := []templates.Fact{
		{Name: "Objective", Value: words.AxisName(d.Objective.Metric, d.Objective.Unit) + ", " + wanted},
		{Name: "Algorithm", Value: algorithm.Title + " (" + algorithm.Name + ")", Meaning: algorithm.Source},
		{Name: "Trials planned", Value: strconv.Itoa(d.Algorithm.Horizon)},
		{Name: "Model", Value: "kernel " + plainJSON(d.Model.Kernel) + ", hyperparameters " + strings.ReplaceAll(d.Model.Fit, "_", " ")},
		{Name: "Seed", Value: strconv.FormatUint(d.Seed, 10)},
	}
	if n := len(d.Candidates); n > 0 {
		facts = append(facts, templates.Fact{Name: "Possible settings", Value: design.Count(n, "listed combination", "listed combinations") + ", and no others"})
	}
	for _, p := range d.Parameters {
		if gone := d.Unavailable[p.Name]; len(gone) > 0 {
			facts = append(facts, templates.Fact{Name: "Unavailable", Value: p.Name + " " + strings.Join(lists.Map(gone, design.Value.String), ", ")})
		}
	}
	return append(facts, lists.Map(d.InputConstraints, func(rule string) templates.Fact { return templates.Fact{Name: "Rule for the settings", Value: rule} })...)
}
