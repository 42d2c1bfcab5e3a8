package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Studies is the study.Store, which says what its methods do.
type Studies struct {
	db       *DB
	choosing *decisions
}

// nothing is the end of the ledger of a study that does not exist yet.
var nothing = study.Known{Hash: strings.Repeat("0", 64)}

// partTime bounds how long a part of a new study may be in coming.
const partTime = time.Minute

func (s *Studies) Create(ctx context.Context, id string, cmd study.Command, parts iter.Seq2[study.Append, error]) error {
	var refused error // a part's own error, which is nobody's lost connection
	last := nothing
	err := s.db.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', $1, true)`, milliseconds(partTime)); err != nil {
			return err
		}
		for part, err := range parts {
			if err != nil {
				refused = err
				return err
			}
			if err := checkAppend(last, part); err != nil {
				return err
			}
			row, argument := updateRow, any(last.Hash)
			if last == nothing {
				row, argument = insertRow, part.After.CreatedAt
			}
			if _, err := s.execute(ctx, tx, appending(row, id, argument, cmd.Key, part, s.db.now())); err != nil {
				return err
			}
			last = end(part)
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	switch pgError(err).ConstraintName {
	case "studies_pkey":
		return fmt.Errorf("a study %s exists already: %w", id, study.ErrConflict)
	case "idempotency_keys_pkey":
		if before := s.db.Before(ctx, cmd.Key); before != nil {
			return before
		}
	}
	if err == nil {
		s.announce(id, last)
	}
	return err
}

// Write appends to a study what decide makes of the events after known: in one round trip if there
// are none, else while the study is locked.
func (s *Studies) Write(ctx context.Context, id string, cmd study.Command, known study.Known, decide func(news []ledger.Event) (study.Append, error)) error {
	if known.Version > 0 && (cmd.IfMatch == 0 || cmd.IfMatch == known.Version) {
		// A refusal says little: the study may have changed, and a request that was answered before
		// is refused too.
		if add, refused := decide(nil); refused == nil {
			stored, err := s.appendIfUnmoved(ctx, id, cmd.Key, known, add)
			if stored || err != nil {
				return err
			}
		}
	}
	return s.writeLocked(ctx, id, cmd, known, decide)
}

// appendIfUnmoved stores add if the study's ledger still ends with known and the request was not
// answered before.
func (s *Studies) appendIfUnmoved(ctx context.Context, id string, key *study.IdempotencyKey, known study.Known, add study.Append) (stored bool, err error) {
	if err := checkAppend(known, add); err != nil {
		return false, err
	}
	err = s.db.write(ctx, func(conn *pgxpool.Conn) (err error) {
		confirmed, cancel := confirming(ctx)
		defer cancel()
		stored, err = s.execute(confirmed, conn, appending(updateRow, id, known.Hash, key, add, s.db.now()))
		return err
	})
	if pgError(err).ConstraintName == "idempotency_keys_pkey" {
		return false, nil
	}
	if stored && err == nil {
		s.announce(id, end(add))
	}
	return stored, unavailable(ctx, err)
}

// writeLocked lets decide look at the news while the study's row is locked.
func (s *Studies) writeLocked(ctx context.Context, id string, cmd study.Command, known study.Known, decide func(news []ledger.Event) (study.Append, error)) error {
	var refused error // decide's own error, which is nobody's lost connection
	var add study.Append
	var last study.Known
	vouch := s.db.voucher(ctx)
	err := s.db.transact(ctx, func(tx pgx.Tx) (err error) {
		var news []ledger.Event
		last, news, err = lockStudy(ctx, tx, id, cmd.Key, known.Version)
		if err != nil {
			return err
		}
		if cmd.IfMatch != 0 && cmd.IfMatch != last.Version {
			return fmt.Errorf("it is at version %d, not %d: %w", last.Version, cmd.IfMatch, study.ErrStale)
		}
		if add, refused = decide(news); refused != nil {
			return refused
		}
		if err := checkAppend(last, add); err != nil {
			return err
		}
		_, err = s.execute(ctx, tx, appending(updateRow, id, last.Hash, cmd.Key, add, s.db.now()))
		return err
	})
	if refused != nil {
		err = refused
	}
	if err == nil {
		s.announce(id, end(add))
		return nil
	}
	// A refusal, too, tells what was read.
	if unconfirmed := vouch(map[string]study.Known{id: last}); unconfirmed != nil {
		return unconfirmed
	}
	return err
}

// end is the end of a ledger after an append.
func end(added study.Append) study.Known {
	return study.Known{Version: added.After.Version, Hash: added.After.Hash}
}

// execute runs an appending statement and tells whether it wrote the study's row.
func (s *Studies) execute(ctx context.Context, q querier, do statement) (stored bool, err error) {
	var rows int
	err = q.QueryRow(ctx, do.sql, do.arguments...).Scan(&rows)
	return rows == 1, err
}

// announce tells listeners up to where a ledger is stored.
func (s *Studies) announce(id string, end study.Known) {
	s.db.fence.note(map[string]study.Known{id: end})
	s.db.notifier.changed(id, end.Version)
}

// lockStudy locks the study's row until the transaction ends and returns the end of its ledger with
// the events after known. One round trip: each statement sees what was committed when its turn
// came, so the events are those of the locked row, and so is an answer that the request had before.
func lockStudy(ctx context.Context, tx pgx.Tx, id string, key *study.IdempotencyKey, known int64) (study.Known, []ledger.Event, error) {
	var answered error
	var last study.Known
	var news []ledger.Event
	batch := &pgx.Batch{}
	batch.Queue(`SELECT version, hash FROM studies WHERE id = $1 FOR NO KEY UPDATE`, id).QueryRow(func(row pgx.Row) error {
		return row.Scan(&last.Version, &last.Hash)
	})
	if key != nil {
		queueLookup(batch, key, &answered)
	}
	queueEvents(batch, id, known, 0, &news)
	err := tx.SendBatch(ctx, batch).Close()
	switch {
	case answered != nil:
		return last, nil, answered
	case errors.Is(err, pgx.ErrNoRows):
		return last, nil, noStudy(id)
	}
	return last, news, err
}

func noStudy(id string) error {
	return fmt.Errorf("study %s: %w", design.Shorten(id), study.ErrNotFound)
}

// Version is the seq of the last event.
func (s *Studies) Version(ctx context.Context, id string) (int64, error) {
	var end study.Known
	vouch := s.db.voucher(ctx)
	err := s.db.in(ctx).QueryRow(ctx, `SELECT version, hash FROM studies WHERE id = $1`, id).Scan(&end.Version, &end.Hash)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, noStudy(id)
	case err != nil:
		return 0, unavailable(ctx, err)
	}
	return end.Version, vouch(map[string]study.Known{id: end})
}

func (s *Studies) KeepVerified(ctx context.Context, id string, outcome study.Verified) error {
	text, err := json.Marshal(outcome)
	if err != nil {
		return err
	}
	_, err = s.db.in(ctx).Exec(ctx, `UPDATE studies SET verified = $2 WHERE id = $1 AND coalesce((verified ->> 'version')::bigint, 0) <= $3`, id, text, outcome.Version)
	return unavailable(ctx, err)
}

func (s *Studies) Verified(ctx context.Context, id string) (*study.Verified, error) {
	var last *study.Verified
	err := s.db.in(ctx).QueryRow(ctx, `SELECT verified FROM studies WHERE id = $1`, id).Scan(&last)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, noStudy(id)
	}
	return last, unavailable(ctx, err)
}
