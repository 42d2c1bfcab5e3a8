package view

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Content is everything below the board's slider.
func (v Facts) Content() templates.Board {
	last := v.entryOf(v.Board.Last)
	return templates.Board{
		Study: v.Head, Description: Markdown(v.Snap.Definition.Description), At: v.Snap.Version, Last: v.Latest.Version, Past: v.At > 0, Hash: v.Snap.Hash,
		Moment: v.stamp(v.Board.Last.At), Work: v.Work(), Status: v.Status(), Verdict: v.Verdict(), Verified: v.Verified(),
		Event: last.By + " " + last.Text + ".", Amends: v.amends(), Whole: v.BelowNext(),
	}
}

// BelowNext is everything below the next trial.
func (v Facts) BelowNext() templates.Whole {
	whole := templates.Whole{Trials: v.Trials(), Ledger: v.Ledger()}
	if v.Working {
		const later = "This comes with the model, which is being worked out."
		whole.Progress, whole.Beliefs = templates.Progress{Empty: later}, templates.Beliefs{Empty: later, Action: v.URL}
	} else {
		whole.Progress, whole.Beliefs = v.Progress(), v.Beliefs()
	}
	return whole
}

// Verified describes the last verification.
func (v Facts) Verified() templates.Verified {
	is := v.Board.Verification
	last := is.Last
	shown := templates.Verified{Study: v.Head, Known: last != nil, Walked: is.Done, Head: v.Latest.Hash, Events: v.Latest.Version}
	if is.Going {
		shown.Going = is.Wanted
	}
	switch {
	case is.Paused:
		shown.Trouble = "It took too long and was paused; press again, and it goes on from where it is."
	case errors.Is(is.Failed, study.ErrConflict): // nor would another attempt
		shown.Trouble = "It could not be finished. " + is.Failed.Error()
	case is.Failed != nil:
		shown.Trouble = "It could not be finished: " + is.Failed.Error() + ". Press again, and it goes on from where it is."
	}
	if last == nil {
		return shown
	}
	shown.OK, shown.At, shown.Hash = last.OK, v.stamp(last.At), last.Hash
	shown.Text = fmt.Sprintf("up to ledger entry %d: %s replayed.", last.Version, design.Count(last.Checked, "decision", "decisions"))
	if n := last.Unchecked; n > 0 {
		engines := words.Either(len(last.GoneEngines) > 1, "engines ", "engine ") + design.Listed(last.GoneEngines, "and")
		shown.Text, shown.Partly = shown.Text+" "+design.Count(n, "decision was", "decisions were")+" made by rules of "+engines+", which the program that verified it does not have, and could not be replayed.", true
	}
	if since := v.Latest.Version - last.Version; since > 0 {
		shown.Since = design.Count(int(since), "entry has", "entries have") + " been added since."
	}
	shown.Different = differences(last.Verification)
	return shown
}

// differences says what does not come out as it is in the ledger.
func differences(outcome study.Verification) (list []string) {
	if !outcome.LedgerIntact {
		list = append(list, "The ledger’s hashes do not follow from each other: an entry was changed, or one is missing.")
	}
	for _, d := range outcome.Different {
		if d.Number == 0 { // it is about the ledger itself, and Replayed says what
			list = append(list, words.Sentence(fmt.Sprint(d.Replayed)))
			continue
		}
		stored, replayed := plain(d.Stored, " ", design.WriteNumber), plain(d.Replayed, " ", design.WriteNumber)
		if stored == replayed { // to the digits that people read
			stored, replayed = plain(d.Stored, " ", design.WriteExactly), plain(d.Replayed, " ", design.WriteExactly)
		}
		list = append(list, fmt.Sprintf("Trial %d, %s: the ledger has %s, the replay gives %s.", d.Number, d.Field, stored, replayed))
	}
	return list
}

// mostAmends is how many corrections, exclusions and changes a board has, the newest;
// mostReportAmends how many a report.
const mostAmends, mostReportAmends = 100, 500

// MostAmends is how many of them are shown.
func (v Facts) MostAmends() int { return words.Either(v.Paper, mostReportAmends, mostAmends) }

// amends lists what was changed afterwards, newest first, beside what was there before:
// corrections, exclusions and inclusions of trials, and changes of the study.
func (v Facts) amends() templates.Amends {
	var amends templates.Amends
	if n := v.Board.Unseen; n > 0 {
		amends.More = design.Count(n, "earlier one is", "earlier ones are") + " not shown; " + words.Either(v.Paper, "the export", "the ledger") + " has all of them."
	}
	for _, amended := range v.Board.Amended {
		if len(amended.Revisions) > 1 {
			amends.Lines = append(amends.Lines, amended.line(v.Snap.Definition, v.clockStamp(amended.Last.At)))
		} else {
			amends.Lines = append(amends.Lines, v.amendsOf(amended.Last)...)
		}
	}
	return amends
}

// Amended returns the revisions that belong into that list, newest first. Corrections of many trials
// in one request, as where a table is taken back, belong together; others stand alone.
func Amended(snap *ledger.Snapshot) (list [][]ledger.Revision) {
	for rest := snap.Revisions; len(rest) > 0; {
		first, _ := slices.BinarySearchFunc(rest, rest[len(rest)-1].At, func(r ledger.Revision, at time.Time) int { return r.At.Compare(at) })
		request := rest[first:]
		rest = rest[:first]
		of := func(kinds ...ledger.Kind) []ledger.Revision {
			return lists.Pick(request, func(r ledger.Revision) (ledger.Revision, bool) { return r, slices.Contains(kinds, r.Kind) })
		}
		all := of(ledger.Corrected, ledger.Excluded, ledger.Included, ledger.Reconfigured)
		if len(all) > mostApart && len(of(ledger.Corrected)) == len(all) {
			list = append(list, all)
			continue
		}
		for _, r := range slices.Backward(all) {
			list = append(list, []ledger.Revision{r})
		}
	}
	return list
}

// line is the line of many corrections in one request.
func (a Amendment) line(d design.Definition, at templates.Stamp) templates.Amend {
	corrected, readings, emptied := map[string]bool{}, 0, 0
	for _, r := range a.Revisions {
		for name := range r.Stood {
			corrected[name] = true
		}
		readings += lists.Count(d.MetricNames(), func(metric string) bool { _, is := r.Stood[metric]; return is })
		emptied += r.Emptied
	}
	what := lists.Pick(d.MetricNames(), func(metric string) (string, bool) { return design.Name(metric), corrected[metric] })
	settings := slices.ContainsFunc(d.ParameterNames(), func(name string) bool { return corrected[name] })
	if settings {
		what = append(what, "settings")
	}
	line := templates.Amend{At: at, By: a.Last.By, Reason: a.Revisions[0].Reason, After: "corrected"}
	line.What = design.Listed(what, "and") + " of " + TrialsInWords(lists.Map(a.Revisions, func(r ledger.Revision) int { return r.Number }))
	switch {
	case emptied == readings && !settings:
		line.After = "taken back"
	case emptied > 0:
		line.After = design.Count(emptied, "reading", "readings") + " taken back, the rest corrected"
	}
	return line
}

// amendsOf are the lines of one event in the table.
func (v Facts) amendsOf(event ledger.Event) []templates.Amend {
	line := templates.Amend{At: v.clockStamp(event.At), By: event.By}
	switch event.Kind {
	case ledger.Reconfigured:
		data := read[ledger.ReconfiguredData](event.Data)
		line.What, line.After, line.Reason = "the study", changesWords(data.Definition, data.Changes, "", ""), data.Reason
	case ledger.Corrected:
		data := read[ledger.CorrectedData](event.Data)
		line.Number, line.URL, line.Reason = data.Number, v.trialURL(data.Number), data.Reason
		return correctionLines(v.Snap.UnitsReplaced(event.Seq), *v.Snap.InUnitsOf(event.Seq), data, line)
	case ledger.Excluded, ledger.Included:
		data := read[ledger.ClosedData](event.Data)
		line.Number, line.URL, line.Reason = data.Number, v.trialURL(data.Number), data.Reason
		line.What, line.Before, line.After = "the trial", "counted", "taken out"
		if event.Kind == ledger.Included {
			line.Before, line.After = line.After, line.Before
		}
	}
	return []templates.Amend{line}
}

func correctionLines(was func(name string) string, d design.Definition, data ledger.CorrectedData, line templates.Amend) []templates.Amend {
	var lines []templates.Amend
	for _, metric := range inOrder(d, data.Metrics) {
		value, one := data.Metrics[metric], line
		one.What = metric
		one.Before, one.After = correctedReading(value, was(metric), d.Unit(metric))
		lines = append(lines, one)
	}
	if data.Parameters != nil {
		line.What = "settings"
		line.Before, line.After = correctedSettings(was, d, *data.Parameters)
		lines = append(lines, line)
	}
	return lines
}

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
