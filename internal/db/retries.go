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

// answersKept is how long an answer can be had again under its Idempotency-Key.
const answersKept = 48 * time.Hour

// claim makes later requests with the same key wait until this transaction ends, and finds the answer of an earlier one:
// *study.AlreadyAnswered, or study.ErrReused when that was another request.
func claim(ctx context.Context, tx pgx.Tx, retry *study.Retry) error {
	if retry == nil {
		return nil
	}
	scope := strings.Join([]string{retry.Caller, retry.Method, retry.Path, retry.Key}, "\n")
	var answered error
	batch := &pgx.Batch{}
	batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, scope)
	queueLookup(batch, retry, &answered)
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return answered
}

// queueLookup finds the answer that a request had before.
func queueLookup(batch *pgx.Batch, retry *study.Retry, answered *error) {
	batch.Queue(`
		SELECT body_hash, status, location, etag, body FROM retries
		WHERE caller = $1 AND method = $2 AND path = $3 AND key = $4`, retry.Caller, retry.Method, retry.Path, retry.Key,
	).QueryRow(func(row pgx.Row) error {
		var hash []byte
		var first study.Answer
		err := row.Scan(&hash, &first.Status, &first.Location, &first.ETag, &first.Body)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		case !bytes.Equal(hash, retry.Body[:]):
			*answered = study.ErrReused
		default:
			*answered = &study.AlreadyAnswered{Answer: first}
		}
		return nil
	})
}

// answerColumns are the columns of an answer.
func answerColumns(retry study.Retry, answer study.Answer, now time.Time) []any {
	if answer.Body == nil {
		answer.Body = []byte{}
	}
	return []any{retry.Caller, retry.Method, retry.Path, retry.Key, retry.Body[:], answer.Status, answer.Location, answer.ETag, answer.Body, now}
}

// Answered returns *study.AlreadyAnswered when the request was answered before, study.ErrReused when its key was used for
// another, else nil. Ask it before checking a request against the present state, which may have moved on
// since the first answer.
func (d *DB) Answered(ctx context.Context, retry *study.Retry) error {
	if retry == nil {
		return nil
	}
	var answered error
	batch := &pgx.Batch{}
	queueLookup(batch, retry, &answered)
	timeline := d.seen.timeline()
	if err := d.pool.SendBatch(ctx, batch).Close(); err != nil {
		return away(ctx, err)
	}
	return d.confirmAnswer(ctx, timeline, answered)
}

// Once runs do at most once for a retry key, for writes that are not a study's (those pass Retry in study.Command): do's
// writes through Accounts with the ctx it is given and the answer it returns commit together. The answer is stored without
// secrets; do hands those to its caller by other means. Errors: *study.AlreadyAnswered, study.ErrReused, or do's own.
// Without a retry key (nil) do's writes still commit together.
func (d *DB) Once(ctx context.Context, retry *study.Retry, do func(ctx context.Context) (study.Answer, error)) error {
	return d.transact(ctx, func(tx pgx.Tx) error {
		if err := claim(ctx, tx, retry); err != nil {
			return err
		}
		answer, err := do(context.WithValue(ctx, transactionKey{}, tx))
		if err != nil || retry == nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO retries (caller, method, path, key, body_hash, status, location, etag, body, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, answerColumns(*retry, answer, d.now())...)
		return err
	})
}
