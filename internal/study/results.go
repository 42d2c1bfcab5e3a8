package study

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// ImportResult is what was imported, or would be.
type ImportResult struct {
	Snapshot       *ledger.Snapshot
	Rows           int
	Numbers        []int
	Corrected      []int // by number: trials of which it corrects readings
	UnknownColumns []string
	// Of a dry run: values that people should check, for which no row is refused, and what Health
	// finds in the study with these rows.
	Doubts []Doubt
	Health []Finding
}

// tellRows tells what the rows of a table say of trials that are there, all of it or nothing.
func (s *Service) tellRows(ctx context.Context, cmd Command, rows []importRow, opt ImportOptions, result ImportResult) (ImportResult, error) {
	readUnder := result.Snapshot
	if opt.DryRun {
		ruled, doubts, err := ruleResults(readUnder, readUnder, rows, opt, true)
		result.Rows, result.Numbers, result.Doubts = len(ruled.numbers), ruled.numbers, doubts
		result.Corrected = lists.Pick(ruled.drafts, func(d ledger.Draft) (int, bool) {
			corrected, is := d.Data.(ledger.CorrectedData)
			return corrected.Number, is
		})
		return result, err
	}
	after, err := s.change(ctx, cmd, readUnder.ID, nil, func(now *ledger.Snapshot) (ruling, error) {
		ruled, doubts, err := ruleResults(now, readUnder, rows, opt, cmd.Sure != nil)
		if err == nil {
			_, err = confirm(cmd, func() []Doubt { return doubts })
		}
		result.Rows, result.Numbers = len(ruled.numbers), ruled.numbers
		return ruled, err
	})
	result.Snapshot = after
	return result, err
}

// mayRead returns why rows that were read under the definition of readUnder say nothing of snap.
func mayRead(snap, readUnder *ledger.Snapshot, rows []importRow) error {
	if !snap.SameDefinition(readUnder) {
		return conflict("The study was reconfigured while the table was read; please import it again.")
	}
	if len(rows) == 0 {
		return design.NewInvalid("", "the table has no rows; below the names of the columns, each line is a trial", nil)
	}
	return nil
}

// ruleResults rules on rows of trials that are there. What stands there already is left out, so that
// the same table may be sent again, with more in it. numbers are of the trials that change. If people
// are asked, what they are asked about counts as confirmed.
func ruleResults(snap, readUnder *ledger.Snapshot, rows []importRow, opt ImportOptions, asked bool) (ruled ruling, doubts []Doubt, err error) {
	if err := cmp.Or(mayTell(snap), mayRead(snap, readUnder, rows)); err != nil {
		return ruling{}, nil, err
	}
	var faults design.Faults
	var results []rowResult
	lines := map[int]int{} // by the trial's number
	for _, row := range rows {
		trial := snap.Trial(row.Number)
		first, twice := lines[row.Number]
		var said rowResult
		var wrong design.Faults
		switch lines[row.Number] = row.Line; {
		case trial == nil:
			wrong.Add(columnNumber, row.Number, "%s", noSuchTrial(snap, row.Number))
		case twice:
			wrong.Add(columnNumber, row.Number, "line %d is of trial %d, too", first, row.Number)
		default:
			said, wrong = row.rule(snap, trial, opt.Reason)
		}
		for _, fault := range wrong {
			fault.Message = fmt.Sprintf("line %d, %s: %s", row.Line, fault.Field, fault.Message)
			faults = append(faults, design.Faults{fault}.Within(row.at())...)
		}
		results = append(results, said)
		if len(said.drafts) > 0 {
			ruled.numbers = append(ruled.numbers, row.Number)
		}
	}
	if err := faults.Bounded().Err(); err != nil {
		return ruled, nil, err
	}
	ruled.drafts = tellingsFirst(results)
	if !asked {
		return ruled, nil, nil
	}
	events, err := ledger.Next(snap, snap.UpdatedAt, "", ruled.drafts...)
	if err != nil {
		return ruling{}, nil, err
	}
	after, err := ledger.Fold(snap.ID, snap, events, nil)
	if err != nil {
		return ruling{}, nil, err
	}
	for _, said := range results {
		odd := said.doubts(snap, after)
		if doubts = append(doubts, odd...); len(odd) > 0 && len(doubts) <= mostDoubts {
			said.mark(true)
		}
	}
	ruled.drafts = tellingsFirst(results)
	return ruled, firstDoubts(doubts), nil
}

// tellingsFirst returns the drafts of all results, those that tell before the others, so that all that
// is told is judged together. Of tellings, only those that were not confirmed are.
func tellingsFirst(results []rowResult) (drafts []ledger.Draft) {
	var others []ledger.Draft
	for _, said := range results {
		for _, draft := range said.drafts {
			if told, is := draft.Data.(ledger.ToldData); is {
				told.Unasked = !told.Confirmed
				drafts = append(drafts, ledger.Draft{Kind: draft.Kind, Data: told})
			} else {
				others = append(others, draft)
			}
		}
	}
	return append(drafts, others...)
}

// rowResult is what is new in a row: readings, a note and settings; corrections; and that its trial
// failed or was not run.
type rowResult struct {
	row     importRow
	trial   *ledger.Trial
	told    ledger.Telling
	changed Correction
	ruling
}

// rule returns what is new in the row. There are corrections only if there is a reason for any.
func (row importRow) rule(snap *ledger.Snapshot, trial *ledger.Trial, reason string) (said rowResult, faults design.Faults) {
	said = rowResult{row: row, trial: trial, changed: Correction{Number: trial.Number, Metrics: map[string]*ledger.Reading{}, Reason: reason},
		told: ledger.Telling{Metrics: map[string]ledger.Reading{}, Parameters: usedInstead(snap, trial, row.Parameters)}}
	waits := slices.ContainsFunc(snap.Compiled().MetricNames, func(metric string) bool {
		_, read := row.Metrics[metric]
		_, there := trial.Metrics[metric]
		return !read && !there
	})
	for _, name := range slices.Sorted(maps.Keys(row.Metrics)) {
		reading, unit := row.Metrics[name], snap.UnitTold(trial.Number, name)
		switch there, is := trial.Metrics[name]; {
		case !is:
			said.told.Metrics[name] = reading
		case isThere(reading, there) && (!row.InUnit[name] || unit == snap.Definition.Unit(name)):
		case reason == "":
			faults.Add(name, readingText(reading), "trial %d has %s already; to correct it, give a reason", trial.Number,
				design.WithUnit(readingText(ledger.Reading{Value: there.Value, StdDev: there.StdDev}), unit, " "))
		default:
			said.changed.Metrics[name] = &reading
		}
	}
	ended, ending, _ := snap.Ending(trial.Number)
	kind, data := row.ending(ended, ending, len(said.told.Metrics) > 0)
	if stands := strings.Contains("\n"+trial.Note+"\n", "\n"+row.Note+"\n"); !stands && row.Note != ending.Reason && (kind == "" || row.Note != data.Reason) {
		said.told.Note = row.Note
	}
	add := func(ruled ruling, err error) {
		if wrong, ok := err.(*design.Invalid); ok {
			for _, fault := range wrong.Faults {
				fault.Field = fault.Field[strings.IndexByte(fault.Field, '.')+1:] // of metrics or parameters
				faults = append(faults, fault)
			}
		} else if err != nil {
			faults.Add(columnStatus, row.ended, "%s", err)
		}
		said.drafts = append(said.drafts, ruled.drafts...)
	}
	if len(said.told.Metrics) > 0 || said.told.Parameters != nil || said.told.Note != "" {
		ruled, err := ruleTell(snap, trial.Number, said.told)
		if add(ruled, err); err == nil {
			said.told.Parameters = ruled.drafts[0].Data.(ledger.ToldData).Parameters // remainders filled in
		}
	}
	if len(said.changed.Metrics) > 0 {
		add(ruleCorrect(snap, said.changed))
	}
	switch {
	case kind == "":
	case !waits:
		faults.Add(columnStatus, row.ended, "trial %d has all its results; to leave them out, exclude it", trial.Number)
	case len(checkReason(data.Reason)) > 0:
		faults.Add(columnNote, nil, "%s", checkReason(data.Reason)[0].Message)
	default:
		add(ruleOf(kind, trial.Number, data), nil)
	}
	return said, faults
}

// doubts returns what people are asked about the row, whose readings all others judge that are there
// after the table.
func (said rowResult) doubts(snap, after *ledger.Snapshot) (doubts []Doubt) {
	doubts = said.row.doubtKnown(snap.Definition, func(c design.Constraint) (float64, bool) {
		value, there := after.Trial(said.row.Number).Metrics[c.Metric]
		return value.Value, there
	})
	for _, d := range append(DoubtTelling(after, said.trial, said.told), DoubtCorrection(after, said.trial, said.changed)...) {
		d.Field = said.row.at() + d.Field[strings.IndexByte(d.Field, '.'):]
		doubts = append(doubts, d)
	}
	if said.told.Parameters == nil {
		return doubts
	}
	var others []string
	for _, p := range snap.Definition.Parameters {
		if was, is := said.trial.Parameters[p.Name], said.told.Parameters[p.Name]; was != is {
			others = append(others, fmt.Sprintf("%s %s, not %s", design.Name(p.Name), design.WithUnit(design.WriteSetting(p, is), p.Unit, design.Thin),
				design.WithUnit(design.WriteSetting(p, was), snap.UnitTold(said.trial.Number, p.Name), design.Thin)))
		}
	}
	return append(doubts, Doubt{said.row.at(), settingsText(snap.Definition, said.told.Parameters), fmt.Sprintf("Was trial %d really run with %s?", said.trial.Number, design.Listed(others, "and"))})
}

// doubtKnown returns the doubts about values of the row that contradict those that follow from its
// settings.
func (row importRow) doubtKnown(d design.Definition, follows func(design.Constraint) (float64, bool)) (doubts []Doubt) {
	for _, c := range d.Constraints {
		told, there := row.Known[c.Metric]
		if value, known := follows(c); there && known && !closeTo(told, value) && !design.Abbreviates(told, value) {
			doubt := Doubt{row.at() + "." + c.Metric, exactText(told),
				fmt.Sprintf("%s follows from the settings, and is %s there; %s is not kept. Are the settings right?", design.OpeningName(c.Metric), exactText(value), exactText(told))}
			if !slices.Contains(doubts, doubt) { // a metric may have two limits
				doubts = append(doubts, doubt)
			}
		}
	}
	return doubts
}

// ending returns the event that ends the row's trial as its status says, with the row's note as the
// reason. It is "" if the trial has ended so already, unless a reading would open it again. A table
// that was exported does not say of which cause.
func (row importRow) ending(ended ledger.Kind, as ledger.ClosedData, read bool) (kind ledger.Kind, data ledger.ClosedData) {
	data = ledger.ClosedData{Number: row.Number, Reason: cmp.Or(row.Note, "so its row of a table says: "+row.ended)}
	switch {
	case strings.HasPrefix(row.ended, "abandon"):
		kind = ledger.Abandoned
	case strings.Contains(row.ended, string(ledger.ByChance)):
		kind, data.Cause = ledger.Failed, ledger.ByChance
	case row.ended != "":
		kind, data.Cause = ledger.Failed, ledger.BySettings
	}
	switch another := kind != ended || data.Cause == ledger.ByChance && as.Cause != ledger.ByChance; {
	case another:
		return kind, data
	case read:
		return kind, as
	}
	return "", data
}

// isThere reports whether a table says nothing new of a reading that is there: the same, perhaps
// rounded, and of the standard deviation perhaps nothing.
func isThere(said ledger.Reading, there ledger.Measurement) bool {
	return design.Abbreviates(said.Value, there.Value) &&
		(said.StdDev == nil || there.StdDev != nil && design.Abbreviates(*said.StdDev, *there.StdDev))
}

// readingText writes a reading as tables do.
func readingText(r ledger.Reading) string {
	if r.StdDev == nil {
		return exactText(r.Value)
	}
	return exactText(r.Value) + plusMinus + exactText(*r.StdDev)
}

// usedInstead returns the settings that a trial used according to those that a row says, nil if they
// are the ones chosen or kept, perhaps rounded, as befits the widest bounds since it was chosen.
func usedInstead(snap *ledger.Snapshot, trial *ledger.Trial, said design.Settings) design.Settings {
	used, chosen := trial.Parameters.Clone(), snap.Chosen(trial.Number)
	for _, p := range snap.Definition.Parameters {
		value, there := said[p.Name]
		if there && value != chosen[p.Name] && value != used[p.Name] {
			if p = widestSince(snap, trial.ChosenSeq, p); !p.Rounds(value, chosen[p.Name]) && !p.Rounds(value, used[p.Name]) {
				used[p.Name] = value
			}
		}
	}
	if used.Equal(trial.Parameters) {
		return nil
	}
	for _, p := range snap.Definition.Parameters {
		if p.Type == design.Remainder {
			sumUp(p, used, said, trial.Parameters)
		}
	}
	return used
}

// widestSince returns a parameter with the widest bounds that it had since event seq.
func widestSince(snap *ledger.Snapshot, seq int64, p design.Parameter) design.Parameter {
	low, high := "parameters["+p.Name+"].low", "parameters["+p.Name+"].high"
	for _, r := range snap.Revisions {
		for _, c := range r.Changes {
			if r.Seq < seq || c.Path != low && c.Path != high {
				continue
			}
			var was *float64 // nil where a remainder had none
			switch _ = json.Unmarshal(c.Before, &was); {
			case was == nil:
			case c.Path == low && p.Low != nil:
				p.Low = new(min(*p.Low, *was))
			case c.Path == high && p.High != nil:
				p.High = new(max(*p.High, *was))
			}
		}
	}
	return p
}

// sumUp makes a mixture that was used sum up if a part of it is unlike the one kept: by its parts as
// the row writes them if that says the remainder, which else is left out, as what the parts leave.
func sumUp(remainder design.Parameter, used, said, kept design.Settings) {
	mixture := append(slices.Clone(remainder.Of), remainder.Name)
	if !slices.ContainsFunc(mixture, func(part string) bool { return used[part] != kept[part] }) {
		return
	}
	if _, there := said[remainder.Name]; !there {
		delete(used, remainder.Name)
		return
	}
	for _, part := range mixture {
		if value, there := said[part]; there {
			used[part] = value
		}
	}
}

// firstDoubts returns the doubts that people are asked about, the first ones.
func firstDoubts(doubts []Doubt) []Doubt { return doubts[:min(len(doubts), mostDoubts)] }

const mostDoubts = 100
