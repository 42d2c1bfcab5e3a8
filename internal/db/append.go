package db

import (
	"errors"
	"fmt"
	"time"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// A write is one statement, and so one transaction in one round trip: the study's row, then, if
// that was written, the events and the answer under the idempotency key. It returns how many rows of
// studies it wrote.
const (
	insertRow = `
		WITH row AS (
			INSERT INTO studies (id, name, state, algorithm, version, hash, updated_at, trials, waiting, oldest_waiting, feasible, known, best, limits, simulated_lab, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $22)
			RETURNING id)`
	// The hash of the last event says that no other was written since: it follows from all events.
	updateRow = `
		WITH row AS (
			UPDATE studies SET name = $2, state = $3, algorithm = $4, version = $5, hash = $6, updated_at = $7,
				trials = $8, waiting = $9, oldest_waiting = $10, feasible = $11, known = $12, best = $13, limits = $14, simulated_lab = $15
			WHERE id = $1 AND hash = $22
			RETURNING id)`
	insertEvents = `, entries AS (
			INSERT INTO events (study_id, seq, at, by, kind, data, hash, author)
			SELECT row.id, e.seq, e.at, e.by, e.kind, e.data::json, e.hash, $23
			FROM row, unnest($16::bigint[], $17::timestamptz[], $18::text[], $19::text[], $20::text[], $21::text[]) AS e (seq, at, by, kind, data, hash))`
	insertDone = `, done AS (
			INSERT INTO idempotency_keys (caller, request, key, body_hash, study_id, version, trials, made, created_at)
			SELECT $24, $25, $26, $27, $28, $29, $30, $31, $32 FROM row)`
	countRows = `
		SELECT count(*) FROM row`
)

// statement is SQL with its arguments.
type statement struct {
	sql       string
	arguments []any
}

// appending writes add. row is insertRow or updateRow, last the argument that only it has.
func appending(row, id string, last any, key *study.IdempotencyKey, add study.Append, at time.Time) statement {
	now := add.After.Summary()
	s := statement{row + insertEvents, []any{
		id, now.Name, string(now.State), now.Algorithm, now.Version, add.After.Hash, now.UpdatedAt,
		now.Trials, now.Waiting, now.OldestWaiting, now.Feasible, now.Known, now.Best, now.Limits, now.SimulatedLab}}
	author := "" // the same of all
	if len(add.Events) > 0 {
		author = add.Events[0].Author
	}
	s.arguments = append(append(s.arguments, eventColumns(add.Events)...), last, author)
	if key != nil && add.Done != nil {
		s.sql += insertDone
		s.arguments = append(s.arguments, doneColumns(*key, *add.Done, at)...)
	}
	s.sql += countRows
	return s
}

// eventColumns are the columns of events, one array each, however many events there are.
func eventColumns(events []ledger.Event) []any {
	n := len(events)
	seqs, times := make([]int64, n), make([]time.Time, n)
	bys, kinds, data, hashes := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, e := range events {
		seqs[i], times[i], bys[i], kinds[i], data[i], hashes[i] = e.Seq, e.At, e.By, string(e.Kind), string(e.Data), e.Hash
	}
	return []any{seqs, times, bys, kinds, data, hashes}
}

// checkAppend refuses events that do not continue the ledger, before anything is written.
func checkAppend(known study.Known, add study.Append) error {
	if add.After == nil {
		return errors.New("an append must come with the study after it")
	}
	if err := ledger.CheckContinues(ledger.Event{Seq: known.Version, Hash: known.Hash}, add.Events); err != nil {
		return fmt.Errorf("the ledger would break: %w", err)
	}
	end := known
	if n := len(add.Events); n > 0 {
		end = study.Known{Version: add.Events[n-1].Seq, Hash: add.Events[n-1].Hash}
	}
	if (study.Known{Version: add.After.Version, Hash: add.After.Hash}) != end {
		return fmt.Errorf("the study after the append is at event %d, the ledger at %d", add.After.Version, end.Version)
	}
	return nil
}
