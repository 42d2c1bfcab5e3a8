package db

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/study"
)

// doneKept is how long a request counts once under its key.
const doneKept = 48 * time.Hour

// claim makes later requests with the same key wait until this transaction ends, and finds what an
// earlier one did: *study.AlreadyDone, or study.ErrReused when that was another request.
func claim(ctx context.Context, tx pgx.Tx, key *study.IdempotencyKey) error {
	if key == nil {
		return nil
	}
	scope := strings.Join([]string{key.Caller, key.Request, key.Key}, "\n")
	var before error
	batch := &pgx.Batch{}
	batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, scope)
	queueLookup(batch, key, &before)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return before
}

// queueLookup finds what a request did before.
func queueLookup(batch *pgx.Batch, key *study.IdempotencyKey, before *error) {
	batch.Queue(`
		SELECT body_hash, study_id, version, trials, made FROM idempotency_keys
		WHERE caller = $1 AND request = $2 AND key = $3`, key.Caller, key.Request, key.Key,
	).QueryRow(func(row pgx.Row) error {
		var hash []byte
		var first study.Done
		err := row.Scan(&hash, &first.Study, &first.Version, &first.Trials, &first.Made)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		case !bytes.Equal(hash, key.Body.Sum(nil)):
			*before = study.ErrReused
		default:
			*before = &study.AlreadyDone{Done: first}
		}
		return nil
	})
}

// doneColumns are the columns of what was done.
func doneColumns(key study.IdempotencyKey, done study.Done, now time.Time) []any {
	return []any{key.Caller, key.Request, key.Key, key.Body.Sum(nil), done.Study, done.Version, done.Trials, done.Made, now}
}

// Before returns *study.AlreadyDone when the request was carried out before, study.ErrReused when
// its key was used for another, else nil. Ask it before checking a request against the present
// state, which may have moved on since then.
func (d *DB) Before(ctx context.Context, key *study.IdempotencyKey) error {
	if key == nil {
		return nil
	}
	var before error
	batch := &pgx.Batch{}
	queueLookup(batch, key, &before)
	timeline := d.fence.timeline()
	if err := d.pool.SendBatch(ctx, batch).Close(); err != nil {
		return unavailable(ctx, err)
	}
	return d.confirmDone(ctx, timeline, before)
}

// Once runs do at most once for an idempotency key, for writes that are not a study's (those pass Key in
// study.Command): do's writes through Accounts with the ctx it is given and what it returns as made
// commit together. That is stored without secrets; do hands those to its caller by other means.
// Errors: *study.AlreadyDone, study.ErrReused, or do's own. Without an idempotency key (nil) do's writes
// still commit together.
func (d *DB) Once(ctx context.Context, key *study.IdempotencyKey, do func(ctx context.Context) (made []byte, err error)) error {
	return d.transact(ctx, func(tx pgx.Tx) error {
		if err := claim(ctx, tx, key); err != nil {
			return err
		}
		made, err := do(context.WithValue(ctx, transactionKey{}, tx))
		if err != nil || key == nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO idempotency_keys (caller, request, key, body_hash, study_id, version, trials, made, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, doneColumns(*key, study.Done{Made: made}, d.now())...)
		return err
	})
}
