package study

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// ImportResult is what was imported, or would be.
type ImportResult struct {
	Snapshot       *ledger.Snapshot
	Rows           int
	Numbers        []int
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
	lines := map[int]int{} // by the trial's number
	for _, row := range rows {
		trial := snap.Trial(row.Number)
		first, twice := lines[row.Number]
		var said ruling
		var odd []Doubt
		var wrong design.Faults
		switch lines[row.Number] = row.Line; {
		case trial == nil:
			wrong.Add(columnNumber, row.Number, "%s", noSuchTrial(snap, row.Number))
		case twice:
			wrong.Add(columnNumber, row.Number, "line %d is of trial %d, too", first, row.Number)
		default:
			said, odd, wrong = row.rule(snap, trial, opt.Reason, asked)
		}
		for _, fault := range wrong {
			fault.Message = fmt.Sprintf("line %d, %s: %s", row.Line, fault.Field, fault.Message)
			faults = append(faults, design.Faults{fault}.Within(row.at())...)
		}
		doubts = append(doubts, odd...)
		said.mark(len(odd) > 0 && len(doubts) <= mostDoubts)
		if ruled.drafts = append(ruled.drafts, said.drafts...); len(said.drafts) > 0 {
			ruled.numbers = append(ruled.numbers, row.Number)
		}
	}
	return ruled, firstDoubts(doubts), faults.Bounded().Err()
}

// rule returns what is new in the row: readings, a note and settings, corrections if there is a
// reason for any, and that its trial failed or was not run; and, if people are asked, its doubts.
func (row importRow) rule(snap *ledger.Snapshot, trial *ledger.Trial, reason string, asked bool) (said ruling, doubts []Doubt, faults design.Faults) {
	told := ledger.Telling{Metrics: map[string]ledger.Reading{}, Parameters: usedInstead(snap.Definition, row.Parameters, snap.Chosen(trial.Number), trial.Parameters)}
	changed := Correction{Number: trial.Number, Metrics: map[string]*ledger.Reading{}, Reason: reason}
	for _, name := range slices.Sorted(maps.Keys(row.Metrics)) {
		reading := row.Metrics[name]
		switch there, is := trial.Metrics[name]; {
		case !is:
			told.Metrics[name] = reading
		case there.Reads(reading):
		case reason == "":
			faults.Add(name, reading.Value, "trial %d has %s already; to correct it, give a reason", trial.Number, design.FormatNumber(there.Value))
		default:
			changed.Metrics[name] = &reading
		}
	}
	kind, data := row.ending(trial)
	if kind == "" && row.ended == "" && !strings.Contains(trial.Note, row.Note) {
		told.Note = row.Note
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
	if len(told.Metrics) > 0 || told.Parameters != nil || told.Note != "" {
		add(ruleTell(snap, trial.Number, told))
	}
	if len(changed.Metrics) > 0 {
		add(ruleCorrect(snap, changed))
	}
	all := importRow{OwnTrial: OwnTrial{Metrics: maps.Clone(row.Metrics)}}
	for name, there := range trial.Metrics {
		all.Metrics[name] = ledger.Reading{Value: there.Value}
	}
	if kind != "" && !all.waits(snap.Compiled()) {
		faults.Add(columnStatus, row.ended, "trial %d has all its results; to leave them out, exclude it", trial.Number)
	} else if kind != "" {
		add(ruleClose(snap, kind, data))
	}
	if !asked {
		return said, nil, faults
	}
	for _, d := range append(DoubtTelling(snap, trial, told), DoubtCorrection(snap, trial, changed)...) {
		d.Field = row.at() + d.Field[strings.IndexByte(d.Field, '.'):]
		doubts = append(doubts, d)
	}
	if told.Parameters != nil {
		var others []string
		for _, p := range snap.Definition.Parameters {
			if was, is := trial.Parameters[p.Name], told.Parameters[p.Name]; was != is {
				others = append(others, fmt.Sprintf("%s %s, not %s", design.Name(p.Name), design.WriteSetting(p, is), design.WriteSetting(p, was)))
			}
		}
		doubts = append(doubts, Doubt{row.at(), settingsText(snap.Definition, told.Parameters), fmt.Sprintf("Was trial %d really run with %s?", trial.Number, design.Listed(others, "and"))})
	}
	return said, doubts, faults
}

// ending returns the event that ends the row's trial as its status says, "" if it says nothing new.
// The row's note is the reason.
func (row importRow) ending(trial *ledger.Trial) (kind ledger.Kind, data ledger.ClosedData) {
	data = ledger.ClosedData{Number: trial.Number, Reason: cmp.Or(row.Note, "so its row of a table says: "+row.ended)}
	switch {
	case strings.HasPrefix(row.ended, "abandon"):
		kind = ledger.Abandoned
	case strings.Contains(row.ended, string(ledger.ByChance)):
		kind, data.Cause = ledger.Failed, ledger.ByChance
	case row.ended != "":
		kind, data.Cause = ledger.Failed, ledger.BySettings
	}
	if trial.Status == ledger.Status(kind) {
		kind = ""
	}
	return kind, data
}

// usedInstead returns the settings that were used according to those that a row says, nil if they are
// the ones chosen or kept, perhaps rounded.
func usedInstead(d design.Definition, said, chosen, kept design.Settings) design.Settings {
	used := kept.Clone()
	for _, p := range d.Parameters {
		if value, there := said[p.Name]; there && !p.Rounds(value, chosen[p.Name]) && !p.Rounds(value, kept[p.Name]) {
			used[p.Name] = value
		}
	}
	if used.Equal(kept) {
		return nil
	}
	return used
}

// firstDoubts returns the doubts that people are asked about, the first ones.
func firstDoubts(doubts []Doubt) []Doubt { return doubts[:min(len(doubts), mostDoubts)] }

const mostDoubts = 100
