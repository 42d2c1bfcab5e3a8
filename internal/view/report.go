package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Bounds on a report, so that it stays a file that people can open and print.
const (
	mostReportTrials = 1000 // lines of the table of trials
	mostReportLedger = 1500 // lines of the ledger
	mostReportAmends = 500  // corrections, exclusions and changes
)

// reporting is a study that is reported, with what happened in it.
type reporting struct {
	Facts
	past *Past
}

// Report is the study in one file, and the charts that are still to be drawn into it.
func (v Facts) Report(p *Past) (templates.Report, []Figure, error) { return reporting{v, p}.report() }

func (v reporting) report() (templates.Report, []Figure, error) {
	p := v.past
	d := v.Snap.Definition
	report := templates.Report{
		Name: d.Name, Description: Markdown(d.Description), State: string(v.Snap.State), Notes: study.Notes(v.Snap),
		Entry: v.Snap.Version, Entries: v.Board.Entries, Hash: v.Snap.Hash, Made: words.Exact(v.Now), Verification: v.verificationLines(),
	}
	last, err := v.teller().entryOf(p.last)
	if err != nil {
		return report, nil, err
	}
	report.Moment, report.Event = words.Exact(p.last.At), last.By+" "+last.Text+"."
	report.Parameters, report.Facts = parameterTable(d), studyFacts(d)
	report.Limits = v.limitTable()
	report.Amends, report.Ledger, report.LedgerNote = p.amendTable(), p.ledgerTable(), p.ledgerNote()
	report.Verdict = v.reportVerdict()
	if len(v.Snap.Trials) == 0 {
		return report, nil, nil
	}
	kept := v.reportedTrials()
	report.Trials, report.TrialsNote = v.trialTable(kept)
	if len(kept) < len(v.Snap.Trials) {
		report.TrialsNote = strings.TrimSpace(fmt.Sprintf("%d of %d trials: the newest, and of the others those recommended, best, corrected or taken out. The export as CSV has all of them. ", len(kept), len(v.Snap.Trials)) + report.TrialsNote)
	}
	if p.limitsChanged() {
		report.TrialsNote = strings.TrimSpace(report.TrialsNote + " The results are by the limits as they are now.")
	}
	if v.Modelless != "" {
		return report, nil, nil
	}
	report.Theorem, report.Trust = trusting{v.Facts}.theorem(), trustLines(trusting{v.Facts}.section())
	var figures []Figure
	figures, report.FiguresNote = v.figures()
	return report, figures, nil
}

// parameterTable lists what can be set.
func parameterTable(d design.Definition) templates.Table {
	table := templates.Table{Head: []templates.Column{{Name: "Parameter"}, {Name: "Kind"}, {Name: "From", Number: true}, {Name: "To", Number: true}, {Name: "Unit"}, {Name: "Choices, steps"}}}
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
	wanted := "as high as possible"
	if d.Objective.Direction == "minimize" {
		wanted = "as low as possible"
	}
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
func Algorithm(name string) optimizer.Algorithm {
	all := optimizer.Algorithms()
	return all[max(0, slices.IndexFunc(all, func(a optimizer.Algorithm) bool { return a.Name == name }))]
}

// trustLines say how far the model's bands can be trusted, and whether the process has drifted.
func trustLines(t templates.Trust) []string {
	lines := append([]string{t.Summary}, t.Calibrations...)
	for _, d := range t.Drifts {
		lines = append(lines, "Drift: "+d.Text)
	}
	return lines
}
