package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// Studies is the study.Store.
type Studies struct {
	db       *DB
	choosing *choosing
}

// head is the end of a study's ledger.
type head struct {
	version int64
	hash    string
}

// noEvents is the head of a study that does not exist yet.
var noEvents = head{hash: strings.Repeat("0", 64)}

// Create writes a new study with its first events.
func (s *Studies) Create(ctx context.Context, id string, cmd study.Command, first study.Append) error {
	return s.write(ctx, id, func(tx pgx.Tx) (study.Append, error) {
		if err := claim(ctx, tx, cmd.Retry); err != nil {
			return first, err
		}
		if err := checkAppend(noEvents, first); err != nil {
			return first, err
		}
		return first, s.append(ctx, tx, id, cmd.Retry, first)
	})
}

// Write appends to a study what decide makes of the events it did not know.
func (s *Studies) Write(ctx context.Context, id string, cmd study.Command, known int64, decide func(news []ledger.Event) (study.Append, error)) error {
	var refused error // decide's own error, which is nobody's lost connection
	err := s.write(ctx, id, func(tx pgx.Tx) (study.Append, error) {
		last, news, err := lockStudy(ctx, tx, id, cmd.Retry, known)
		if err != nil {
			return study.Append{}, err
		}
		if cmd.IfMatch != 0 && cmd.IfMatch != last.version {
			return study.Append{}, fmt.Errorf("it is at version %d, not %d: %w", last.version, cmd.IfMatch, study.ErrStale)
		}
		add, err := decide(news)
		if err != nil {
			refused = err
			return add, err
		}
		if err := checkAppend(last, add); err != nil {
			return add, err
		}
		return add, s.append(ctx, tx, id, cmd.Retry, add)
	})
	if refused != nil {
		return refused
	}
	return err
}

// write runs do in a transaction and tells listeners once it is committed.
func (s *Studies) write(ctx context.Context, id string, do func(tx pgx.Tx) (study.Append, error)) error {
	var added study.Append
	err := s.db.transact(ctx, func(tx pgx.Tx) (err error) {
		added, err = do(tx)
		return err
	})
	if err == nil && len(added.Events) > 0 {
		s.db.notifier.changed(id, added.After.Version)
	}
	return err
}

// lockStudy claims the retry key, locks the study's row until the transaction ends and returns the end of its ledger with
// the events after known. One round trip: each statement sees what was committed when its turn came, so the events are
// those of the locked row.
func lockStudy(ctx context.Context, tx pgx.Tx, id string, retry *study.Retry, known int64) (head, []ledger.Event, error) {
	var answered error
	var last head
	var news []ledger.Event
	batch := &pgx.Batch{}
	queueClaim(batch, retry, &answered)
	batch.Queue(`SELECT version, hash FROM studies WHERE id = $1 FOR NO KEY UPDATE`, id).QueryRow(func(row pgx.Row) error {
		return row.Scan(&last.version, &last.hash)
	})
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

func noStudy(id string) error { return fmt.Errorf("study %s: %w", id, study.ErrNotFound) }

// checkAppend refuses events that do not continue the ledger, before anything is written.
func checkAppend(last head, add study.Append) error {
	if add.After == nil {
		return errors.New("an append must come with the study after it")
	}
	if err := ledger.CheckContinues(last.version, last.hash, add.Events); err != nil {
		return fmt.Errorf("the ledger would break: %w", err)
	}
	end := last
	if n := len(add.Events); n > 0 {
		end = head{add.Events[n-1].Seq, add.Events[n-1].Hash}
	}
	if (head{add.After.Version, add.After.Hash}) != end {
		return fmt.Errorf("the study after the append is at event %d, the ledger at %d", add.After.Version, end.version)
	}
	for _, number := range add.Touched {
		if number < 1 || number > len(add.After.Trials) {
			return fmt.Errorf("trial %d was touched but is not in the study after the append", number)
		}
	}
	return nil
}

// append writes the study's row, the events, the touched trials and the answer, in one round trip.
func (s *Studies) append(ctx context.Context, tx pgx.Tx, id string, retry *study.Retry, add study.Append) error {
	batch := &pgx.Batch{}
	queueStudy(batch, id, add.After)
	queueAppend(batch, id, add.Events)
	queueTrials(batch, id, add.After, add.Touched)
	if retry != nil && add.Answer != nil {
		queueAnswer(batch, *retry, *add.Answer, s.db.now())
	}
	err := tx.SendBatch(ctx, batch).Close()
	if constraintOf(err) == "events_pkey" {
		return fmt.Errorf("a study %s exists already: %w", id, study.ErrConflict)
	}
	return err
}

func queueStudy(batch *pgx.Batch, id string, after *ledger.Snapshot) {
	batch.Queue(`
		INSERT INTO studies (id, name, state, algorithm, version, hash, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, state = excluded.state, algorithm = excluded.algorithm,
			version = excluded.version, hash = excluded.hash, updated_at = excluded.updated_at`,
		id, after.Definition.Name, string(after.State), after.Definition.Algorithm.Name, after.Version, after.Hash, after.CreatedAt, after.UpdatedAt)
}

// Version returns the seq of the last event.
func (s *Studies) Version(ctx context.Context, id string) (int64, error) {
	var version int64
	err := s.db.in(ctx).QueryRow(ctx, `SELECT version FROM studies WHERE id = $1`, id).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, noStudy(id)
	}
	return version, away(ctx, err)
}

// Summaries lists studies, newest change first. Only those in ids when ids is not nil.
func (s *Studies) Summaries(ctx context.Context, ids []string) ([]ledger.Summary, error) {
	return list(ctx, s.db.in(ctx), scanSummary, `
		SELECT id, name, state, version, created_at, updated_at, algorithm, coalesce(every.count, 0), coalesce(waiting.count, 0), waiting.oldest
		FROM studies
		LEFT JOIN (SELECT study_id, count(*) FROM trials GROUP BY study_id) every ON every.study_id = id
		LEFT JOIN (SELECT study_id, count(*), min(created_at) AS oldest FROM trials
			WHERE status IN ('suggested', 'partial') GROUP BY study_id) waiting ON waiting.study_id = id
		WHERE $1::text[] IS NULL OR id = ANY ($1)
		ORDER BY updated_at DESC, id`, ids)
}

func scanSummary(row pgx.CollectableRow) (ledger.Summary, error) {
	var one ledger.Summary
	err := row.Scan(&one.ID, &one.Name, &one.State, &one.Version, &one.CreatedAt, &one.UpdatedAt, &one.Algorithm, &one.Trials, &one.Waiting, &one.OldestWaiting)
	one.CreatedAt, one.UpdatedAt, one.OldestWaiting = one.CreatedAt.UTC(), one.UpdatedAt.UTC(), utc(one.OldestWaiting)
	return one, err
}

func utc(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	in := at.UTC()
	return &in
}
