package study

import (
	"context"
	"fmt"
	"io"

	"headroom/internal/optimizer"
)

// ImportOptions are those of POST …/import.
type ImportOptions struct{ DryRun, IgnoreUnknown bool }

// ImportResult says what was, or would be, imported.
type ImportResult struct {
	Snapshot       *Snapshot `json:"-"`
	Rows           int       `json:"rows"`
	Numbers        []int     `json:"numbers"`
	UnknownColumns []string  `json:"unknown_columns,omitempty"`
	DryRun         bool      `json:"dry_run"`
}

// ImportCSV takes in a table: each row a round of its own, chosen then told, in order; all rows or none.
func (s *Service) ImportCSV(ctx context.Context, cmd Command, id string, file io.Reader, opt ImportOptions) (ImportResult, error) {
	snap, err := s.latest(ctx, id)
	if err != nil {
		return ImportResult{}, err
	}
	rows, unknown, parsed := snap.compiled.parseCSV(file, opt.IgnoreUnknown)
	result := ImportResult{Snapshot: snap, Rows: len(rows), UnknownColumns: unknown, DryRun: opt.DryRun}
	if opt.DryRun {
		if parsed != nil {
			return ImportResult{}, parsed
		}
		ruled, err := ruleImport(snap, snap, rows)
		result.Numbers = ruled.numbers
		return result, err
	}
	result.Snapshot, result.Numbers, err = s.choose(ctx, cmd, id, func(_ context.Context, now *Snapshot) (ruling, error) {
		if parsed != nil {
			return ruling{}, parsed
		}
		return ruleImport(now, snap, rows)
	})
	if err != nil {
		return ImportResult{}, err
	}
	return result, nil
}

// ruleImport rules on rows that were read under the definition of readUnder.
func ruleImport(snap, readUnder *Snapshot, rows []importRow) (ruling, error) {
	if err := mayTell(snap); err != nil {
		return ruling{}, err
	}
	if err := mayChoose(snap); err != nil {
		return ruling{}, err
	}
	if snap.defined != readUnder.defined {
		return ruling{}, conflict("The study was reconfigured while the table was read; please import it again.")
	}
	if len(rows) == 0 {
		return ruling{}, fault("body", "the table has no rows", nil)
	}
	var ruled ruling
	var faults []Fault
	seen := snap.Version
	for i, row := range rows {
		number := len(snap.Trials) + 1 + i
		known, wrong := snap.compiled.knownOfRow(row)
		faults = append(faults, wrong...)
		place := optimizer.Place{U: row.Point, Arm: row.Arm}
		ruled.drafts = append(ruled.drafts, draft{Chosen, ChosenData{Number: number, Origin: Imported, Parameters: row.Settings,
			Candidate: candidateOf(place), Note: row.Note, Seen: seen, Engine: optimizer.Engine, KnownValues: known}})
		seen++
		if len(row.Readings) > 0 {
			ruled.drafts = append(ruled.drafts, draft{Told, ToldData{Number: number, Metrics: row.Readings}})
			seen++
		}
		ruled.numbers = append(ruled.numbers, number)
	}
	return ruled, invalid(faults)
}

// knownOfRow gives a row's known constraints their values: worked out where the settings decide them, else from the row's own column.
func (c *compiled) knownOfRow(row importRow) (map[string]float64, []Fault) {
	if len(c.given) == 0 {
		return nil, nil
	}
	if known, faults := c.knownAt(row.Settings, optimizer.Place{U: row.Point, Arm: row.Arm}, nil, nil, "body"); len(faults) == 0 {
		return known, nil
	}
	known := map[string]float64{}
	var f faults
	for _, g := range c.given {
		value, there := row.Known[g.Metric]
		if !there {
			f.add(fmt.Sprintf("body.lines[%d].%s", row.Line, g.Metric), nil, "is missing; without the context of the decision the value of %s must stand in the table", g.Metric)
		}
		known[g.Name] = value
	}
	return known, f
}
