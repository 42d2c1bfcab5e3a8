package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// ImportResult says what was, or would be, imported.
type ImportResult struct {
	Snapshot       *ledger.Snapshot `json:"-"`
	Rows           int              `json:"rows"`
	Numbers        []int            `json:"numbers"`
	UnknownColumns []string         `json:"unknown_columns,omitempty"`
	DryRun         bool             `json:"dry_run"`
	// Doubts are values that people should look at again; nothing is refused for them.
	Doubts []Doubt `json:"doubts,omitempty"`
	// Health is what is found in the study with these rows.
	Health []Finding `json:"health,omitempty"`
}

// ImportCSV takes in a table: each row a round of its own, chosen then told, in order; all rows or
// none.
func (s *Service) ImportCSV(ctx context.Context, cmd Command, id string, file io.Reader, opt ImportOptions) (ImportResult, error) {
	snap, err := s.latest(ctx, id)
	if err != nil {
		return ImportResult{}, err
	}
	rows, unknown, parsed := parseCSV(snap.Compiled(), file, opt)
	result := ImportResult{Snapshot: snap, Rows: len(rows), UnknownColumns: unknown, DryRun: opt.DryRun}
	if opt.DryRun {
		if parsed != nil {
			return ImportResult{}, parsed
		}
		ruled, err := ruleImport(snap, snap, rows)
		result.Numbers, result.Doubts, result.Health = ruled.numbers, doubtRows(snap, rows), Health(snap, settingsOf(rows)...)
		return result, err
	}
	result.Snapshot, result.Numbers, err = s.choose(ctx, cmd, id, func(_ context.Context, now *ledger.Snapshot) (ruling, error) {
		if parsed != nil {
			return ruling{}, parsed
		}
		ruled, err := ruleImport(now, snap, rows)
		if err == nil {
			_, err = askBack(cmd, func() []Doubt { return doubtRows(now, rows) })
		}
		return ruled, err
	})
	if err != nil {
		return ImportResult{}, err
	}
	result.Health = Health(result.Snapshot)
	return result, nil
}

func settingsOf(rows []importRow) []design.Settings {
	return lists.Map(rows, func(row importRow) design.Settings { return row.Parameters })
}

// ruleImport rules on rows that were read under the definition of readUnder.
func ruleImport(snap, readUnder *ledger.Snapshot, rows []importRow) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	if err := mayChoose(snap); err != nil {
		return ruling{}, err
	}
	if !snap.SameDefinition(readUnder) {
		return ruling{}, conflict("The study was reconfigured while the table was read; please import it again.")
	}
	if len(rows) == 0 {
		return ruling{}, design.NewInvalid("", "the table has no rows", nil)
	}
	var ruled ruling
	var faults design.Faults
	seen := snap.Version
	for i, row := range rows {
		number := len(snap.Trials) + 1 + i
		known, wrong := knownIn(snap.Compiled(), row, row.Parameters)
		faults = append(faults, wrong...)
		ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Chosen, Data: ledger.ChosenData{Number: number, Origin: ledger.Imported, Parameters: row.Parameters,
			Candidate: candidateOf(row.place), Note: row.Note, Seen: seen, Engine: optimizer.Engine, KnownValues: known}})
		seen++
		if len(row.Metrics) > 0 || row.Used != nil {
			told, wrong := toldOfRow(snap.Compiled(), row, number)
			faults = append(faults, wrong...)
			ruled.drafts = append(ruled.drafts, ledger.Draft{Kind: ledger.Told, Data: told})
			seen++
		}
		ruled.numbers = append(ruled.numbers, number)
	}
	return ruled, faults.Err()
}

// toldOfRow is what was read in a row, and at which settings where others had been chosen.
func toldOfRow(c *design.Compiled, row importRow, number int) (ledger.ToldData, design.Faults) {
	told := ledger.ToldData{Number: number, Telling: ledger.Telling{Metrics: row.Metrics, Parameters: row.Used}}
	if row.Used == nil {
		return told, nil
	}
	used, place, faults := c.PlaceUsed(row.Used, fmt.Sprintf("lines[%d]", row.Line))
	if len(faults) > 0 {
		return told, faults
	}
	told.Parameters = used
	told.Candidate = candidateOf(place)
	told.KnownValues, faults = knownIn(c, row, row.Used)
	return told, faults
}

// knownIn gives a row's known constraints their values at settings: worked out where the settings
// decide them, else from the row's own columns.
func knownIn(c *design.Compiled, row importRow, settings design.Settings) (map[string]float64, design.Faults) {
	known := c.KnownAlone(settings)
	var f design.Faults
	for _, k := range c.Def.Constraints {
		if _, follows := known[k.Name]; follows || !k.Given() {
			continue
		}
		value, there := row.Known[k.Metric]
		if !there {
			f.Add(fmt.Sprintf("lines[%d].%s", row.Line, k.Metric), nil, "is missing; the settings do not say what %s is, so it must stand in the table", k.Metric)
		}
		known[k.Name] = value
	}
	return known, f
}

// doubtRows judges the rows of a table by the readings there are and by each other.
func doubtRows(snap *ledger.Snapshot, rows []importRow) []Doubt {
	var doubts []Doubt
	for _, metric := range snap.Definition.MetricNames() {
		var values []float64
		var lines []int
		for _, row := range rows {
			if reading, there := row.Metrics[metric]; there {
				values, lines = append(values, reading.Value), append(lines, row.Line)
			}
		}
		known := snap.Range(metric, 0)
		for i, others := range ledger.RangesWithout(values) {
			if doubt := snap.DoubtReading(metric, values[i], nil, known.With(others)); doubt != nil {
				doubts = append(doubts, Doubt{fmt.Sprintf("lines[%d].%s", lines[i], metric), exactly(values[i]), doubt.Why})
			}
		}
	}
	for _, row := range rows {
		for _, fault := range row.beyond {
			doubts = append(doubts, doubtBeyond(snap, row, fault))
		}
	}
	for _, row := range rows {
		worked := snap.Compiled().KnownAlone(row.Parameters)
		for _, c := range snap.Definition.Constraints {
			told, there := row.Known[c.Metric]
			if value, follows := worked[c.Name]; there && follows && !agrees(told, value) {
				doubts = append(doubts, Doubt{fmt.Sprintf("lines[%d].%s", row.Line, c.Metric), exactly(told),
					fmt.Sprintf("%s follows from the settings, and is %s there; %s is not kept. Are the settings right?", design.Capitalised(c.Metric), exactly(value), exactly(told))})
			}
		}
	}
	with := map[string]int{}
	for _, t := range snap.Trials {
		with[describe(snap.Definition, t.Parameters)] = t.Number
	}
	for _, row := range rows {
		for _, doubt := range ledger.DoubtSettings(snap.Definition, row.Parameters, row.Parameters, row.Used) {
			doubts = append(doubts, Doubt{fmt.Sprintf("lines[%d].%s", row.Line, doubt.Parameter), exactly(doubt.Value), doubt.Why})
		}
		if number := with[describe(snap.Definition, row.Parameters)]; number > 0 {
			doubts = append(doubts, Doubt{fmt.Sprintf("lines[%d]", row.Line), describe(snap.Definition, row.Parameters), replicateText(number)})
		}
	}
	return doubts[:min(len(doubts), mostDoubts)]
}

// doubtBeyond asks whether a row was really run with settings that may not be chosen.
func doubtBeyond(snap *ledger.Snapshot, row importRow, fault design.Fault) Doubt {
	what, of := strings.CutPrefix(fault.Field, fmt.Sprintf("lines[%d].", row.Line))
	if !of {
		settings := describe(snap.Definition, row.Parameters)
		return Doubt{fault.Field, settings, fmt.Sprintf("%s %s. Was it really run so?", settings, fault.Message)}
	}
	return Doubt{fault.Field, fmt.Sprint(fault.Value), fmt.Sprintf("%s: %s. Was it really run so?", design.Capitalised(what), fault.Message)}
}

const mostDoubts = 100

// LargestBundle bounds an imported study, in bytes.
const LargestBundle = 1 << 30

// Export writes the study as it was at the snapshot, with its ledger up to there, as a
// ledger.Bundle.
func (s *Service) Export(ctx context.Context, snap *ledger.Snapshot, w io.Writer) error {
	head, err := json.Marshal(ledger.Bundle{Format: ledger.BundleFormat, Definition: snap.Definition, State: snap.State, Version: snap.Version, Hash: snap.Hash, Events: []ledger.Event{}})
	if err != nil {
		return err
	}
	tail := []byte("]}") // the events come between
	before := bytes.TrimSuffix(head, tail)
	for after := int64(0); after < snap.Version; {
		events, err := s.eventsUpTo(ctx, snap, after)
		if err != nil {
			return err
		}
		text, err := json.Marshal(events)
		if err != nil {
			return err
		}
		// Nothing is written before the first events are there, so that their absence can still be
		// told.
		if _, err := w.Write(slices.Concat(before, text[1:len(text)-1])); err != nil { // without the brackets of a list
			return err
		}
		before, after = []byte(","), after+int64(len(events))
	}
	_, err = w.Write(tail)
	return err
}

// ImportBundle makes a study of an exported one, with the same ledger, state and hashes. The file
// is read part by part, and each part is stored before the next is read: all of them in one
// transaction, which ends well only if the bundle does. cmd.Key.Body is asked for its sum after
// the last byte is read.
func (s *Service) ImportBundle(ctx context.Context, cmd Command, file io.Reader) (*ledger.Snapshot, error) {
	leave, err := s.imports.Enter(ctx, "")
	if err != nil {
		return nil, err
	}
	defer leave()
	id := newID()
	var after *ledger.Snapshot
	parts := func(yield func(Append, error) bool) {
		bundle := ledger.NewBundleReader(file)
		for events, err := range bundle.Parts() {
			switch {
			case err == nil:
				after, err = s.takeIn(id, after, events)
			case errors.Is(err, ledger.ErrMemberTooLarge):
				err = &refusal{"The study cannot be imported: " + err.Error() + ".", ErrTooLarge}
			}
			if !yield(Append{Events: events, After: after}, err) || err != nil {
				return
			}
		}
		if err := bundle.Describes(after); err != nil {
			yield(Append{}, err)
			return
		}
		if cmd.Key != nil { // what was done is known when the whole file is
			yield(appendTo(after, nil, nil), nil)
		}
	}
	if err := s.store.Create(ctx, id, cmd, parts); err != nil {
		return nil, err
	}
	return s.Derived.Put(after), nil
}

// takeIn adds events that may have been written by anybody: each must be what the rules make of a
// request.
func (s *Service) takeIn(id string, before *ledger.Snapshot, events []ledger.Event) (*ledger.Snapshot, error) {
	admit, at := s.admit(), int64(0)
	after, err := ledger.FoldAdmitted(id, before, events, func(now *ledger.Snapshot, e ledger.Event) error {
		at = e.Seq - 1
		return admit(now, e)
	})
	if err != nil {
		return nil, design.NewInvalid(fmt.Sprintf("events[%d]", at), err.Error(), nil)
	}
	return after, nil
}
