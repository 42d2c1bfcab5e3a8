package db

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"headroom/internal/account"
	"headroom/internal/scheduler"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// Studies is the study.Store, where its methods are described.
type Studies struct {
	db *DB

	// Decisions of one study are made one at a time: within this process by a queue in memory,
	// across processes by a lock in the database. Only the head of each queue holds a connection,
	// from a separate pool, so that waiting decisions never take the connections of writes.
	choosing scheduler.Queues
	locks    *pgxpool.Pool
}

// noLedger is the end of the ledger of a study that does not exist yet.
var noLedger = study.Known{Hash: strings.Repeat("0", 64)}

// partLimit limits how long a part of a new study may take to arrive.
const partLimit = time.Minute

func (s *Studies) Create(ctx context.Context, id string, cmd study.Command, parts iter.Seq2[study.Append, error]) error {
	var refused error // a part's own error, never a lost connection
	last := noLedger
	err := s.db.transact(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', $1, true)`, milliseconds(partLimit)); err != nil {
			return err
		}
		for part, err := range parts {
			if err != nil {
				refused = err
				return err
			}
			if _, err := s.store(ctx, tx, id, last, cmd.Key, part); err != nil {
				return err
			}
			last = endAfter(part)
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

// Write appends what decide makes of the events after known: in one round trip if there are none,
// else while the study is locked.
func (s *Studies) Write(ctx context.Context, id string, cmd study.Command, known study.Known, decide func(news []ledger.Event) (study.Append, error)) error {
	if known.Version > 0 && (cmd.IfMatch == 0 || cmd.IfMatch == known.Version) {
		// A refusal is not final: the study may have changed, or the request may have been answered
		// before.
		if add, refused := decide(nil); refused == nil {
			stored, err := s.appendIfUnchanged(ctx, id, cmd.Key, known, add)
			if stored || err != nil {
				return err
			}
		}
	}
	return s.writeLocked(ctx, id, cmd, known, decide)
}

// appendIfUnchanged stores add if the study's ledger still ends with known and the request was not
// answered before.
func (s *Studies) appendIfUnchanged(ctx context.Context, id string, key *study.IdempotencyKey, known study.Known, add study.Append) (stored bool, err error) {
	err = s.db.write(ctx, func(conn *pgxpool.Conn) (err error) {
		sent := 0
		for _, e := range add.Events {
			sent += len(e.Data)
		}
		confirmed, cancel := confirming(ctx, sent)
		defer cancel()
		stored, err = s.store(confirmed, conn, id, known, key, add)
		return err
	})
	if pgError(err).ConstraintName == "idempotency_keys_pkey" {
		return false, nil
	}
	if stored && err == nil {
		s.announce(id, endAfter(add))
	}
	return stored, unavailable(ctx, err)
}

// writeLocked calls decide with the new events while the study's row is locked.
func (s *Studies) writeLocked(ctx context.Context, id string, cmd study.Command, known study.Known, decide func(news []ledger.Event) (study.Append, error)) error {
	var refused error // decide's own error, never a lost connection
	var add study.Append
	var last study.Known
	vouch := s.db.confirmer(ctx)
	err := s.db.transact(ctx, func(tx pgx.Tx) (err error) {
		var news []ledger.Event
		last, news, err = lockStudy(ctx, tx, id, cmd.Key, known.Version)
		if err != nil {
			return err
		}
		if why := last.Fits(endWith(known, news)); why != nil {
			return &study.Damaged{ID: id, Why: why}
		}
		if cmd.IfMatch != 0 && cmd.IfMatch != last.Version {
			return fmt.Errorf("study %s is at version %d, not %d: %w", id, last.Version, cmd.IfMatch, study.ErrStale)
		}
		if add, refused = decide(news); refused != nil {
			return refused
		}
		_, err = s.store(ctx, tx, id, last, cmd.Key, add)
		return err
	})
	if refused != nil {
		err = refused
	}
	if err == nil {
		s.announce(id, endAfter(add))
		return nil
	}
	// A refusal, too, reveals what was read.
	if unconfirmed := vouch(map[string]study.Known{id: last}); unconfirmed != nil {
		return unconfirmed
	}
	return err
}

func endAfter(added study.Append) study.Known {
	return study.Known{Version: added.After.Version, Hash: added.After.Hash}
}

// endWith returns the end of a ledger, given its events after known.
func endWith(known study.Known, news []ledger.Event) study.Known {
	if n := len(news); n > 0 {
		return study.Known{Version: news[n-1].Seq, Hash: news[n-1].Hash}
	}
	return known
}

func (s *Studies) announce(id string, end study.Known) {
	s.db.fence.record(map[string]study.Known{id: end})
	s.db.notifier.queue(id, end.Version)
}

// lockStudy locks the study's row until the transaction ends and returns the end of its ledger and
// the events after known, in one round trip. Each statement sees what was committed when it
// started, so the events match the locked row, and so does an earlier answer to the request.
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
		return last, nil, study.NoStudy(id)
	}
	return last, news, err
}

func (s *Studies) Ends(ctx context.Context, id string) (row, last study.Known, err error) {
	vouch := s.db.confirmer(ctx)
	err = s.db.in(ctx).QueryRow(ctx, `
		SELECT studies.version, studies.hash, coalesce(seq, 0), coalesce(events.hash, '') FROM studies
		LEFT JOIN events ON study_id = id AND seq = (SELECT max(seq) FROM events WHERE study_id = $1)
		WHERE id = $1`, id).Scan(&row.Version, &row.Hash, &last.Version, &last.Hash)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return row, last, study.NoStudy(id)
	case err != nil:
		return row, last, unavailable(ctx, err)
	}
	return row, last, vouch(map[string]study.Known{id: row})
}

func (s *Studies) KeepVerified(ctx context.Context, id string, outcome study.Verified) error {
	text, err := json.Marshal(outcome)
	if err != nil {
		return err
	}
	confirmed, cancel := confirming(ctx, len(text))
	defer cancel()
	_, err = s.db.in(ctx).Exec(confirmed, `UPDATE studies SET verified = $2 WHERE id = $1 AND (coalesce((verified ->> 'version')::bigint, 0) <= $3 OR NOT $4)`, id, text, outcome.Version, outcome.OK)
	return unavailable(ctx, err)
}

func (s *Studies) Verified(ctx context.Context, id string) (*study.Verified, error) {
	var last *study.Verified
	err := s.db.in(ctx).QueryRow(ctx, `SELECT verified FROM studies WHERE id = $1`, id).Scan(&last)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, study.NoStudy(id)
	}
	return last, unavailable(ctx, err)
}

// A write is one statement, and so one transaction in one round trip: it writes the study's row
// and, if that succeeds, the events and the answer under the idempotency key. It returns how many
// rows of studies it wrote.
const (
	insertRow = `
		WITH row AS (
			INSERT INTO studies (id, name, state, algorithm, version, hash, updated_at, trials, waiting, oldest_waiting, feasible, known, best, limits, simulated_lab, words, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $23)
			RETURNING id)`
	// The hash of the last event depends on all events, so it shows that no other was written.
	updateRow = `
		WITH row AS (
			UPDATE studies SET name = $2, state = $3, algorithm = $4, version = $5, hash = $6, updated_at = $7,
				trials = $8, waiting = $9, oldest_waiting = $10, feasible = $11, known = $12, best = $13, limits = $14, simulated_lab = $15, words = $16
			WHERE id = $1 AND hash = $23
			RETURNING id)`
	insertEvents = `, entries AS (
			INSERT INTO events (study_id, seq, at, by, kind, data, hash, author)
			SELECT row.id, e.seq, e.at, e.by, e.kind, e.data::json, e.hash, $24
			FROM row, unnest($17::bigint[], $18::timestamptz[], $19::text[], $20::text[], $21::text[], $22::text[]) AS e (seq, at, by, kind, data, hash))`
	insertDone = `, done AS (
			` + doneInto + ` SELECT $25, $26, $27, $28, $29, $30, $31, $32, $33 FROM row)`
	countRows = `
		SELECT count(*) FROM row`
)

// store appends add after last in one statement, and reports whether it wrote the study's row.
func (s *Studies) store(ctx context.Context, q querier, id string, last study.Known, key *study.IdempotencyKey, add study.Append) (stored bool, err error) {
	if err := checkAppend(last, add); err != nil {
		return false, err
	}
	row, own := updateRow, any(last.Hash) // the last argument differs between the two
	if last == noLedger {
		row, own = insertRow, add.After.CreatedAt
	}
	now := add.After.Summary()
	sql, arguments := row+insertEvents, []any{
		id, now.Name, string(now.State), now.Algorithm, now.Version, add.After.Hash, now.UpdatedAt,
		now.Trials, now.Waiting, now.OldestWaiting, now.Feasible, now.Known, now.Best, now.Limits, now.SimulatedLab, add.After.Definition.Words()}
	author := "" // all events have the same
	if len(add.Events) > 0 {
		author = add.Events[0].Author
	}
	arguments = append(append(arguments, eventColumns(add.Events)...), own, author)
	if key != nil && add.Done != nil {
		sql += insertDone
		arguments = append(arguments, doneColumns(*key, *add.Done, s.db.now())...)
	}
	var rows int
	err = q.QueryRow(ctx, sql+countRows, arguments...).Scan(&rows)
	return rows == 1, err
}

// eventColumns returns the columns of events, one array each.
func eventColumns(events []ledger.Event) []any {
	n := len(events)
	seqs, times := make([]int64, n), make([]time.Time, n)
	bys, kinds, data, hashes := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i, e := range events {
		seqs[i], times[i], bys[i], kinds[i], data[i], hashes[i] = e.Seq, e.At, e.By, string(e.Kind), string(e.Data), e.Hash
	}
	return []any{seqs, times, bys, kinds, data, hashes}
}

func checkAppend(known study.Known, add study.Append) error {
	if add.After == nil {
		return errors.New("an append must come with the study after it")
	}
	if err := ledger.CheckContinues(ledger.Event{Seq: known.Version, Hash: known.Hash}, add.Events); err != nil {
		return fmt.Errorf("the ledger would break: %w", err)
	}
	if last := endWith(known, add.Events); endAfter(add) != last {
		return fmt.Errorf("the study after the append is at event %d, the ledger at %d", add.After.Version, last.Version)
	}
	return nil
}

func (s *Studies) Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error) {
	var found []ledger.Event
	batch := &pgx.Batch{}
	batch.Queue(`SELECT FROM studies WHERE id = $1`, id).QueryRow(func(row pgx.Row) error { return row.Scan() })
	queueEvents(batch, id, after, limit, &found)
	vouch := s.db.confirmer(ctx)
	err := s.db.in(ctx).SendBatch(ctx, batch).Close()
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, study.NoStudy(id)
	case err != nil || len(found) == 0:
		return nil, unavailable(ctx, err)
	}
	return found, vouch(map[string]study.Known{id: endWith(study.Known{}, found)})
}

// queueEvents queues a query for the events with seq > after, at most limit (0 = all), in order,
// into found.
func queueEvents(batch *pgx.Batch, id string, after int64, limit int, found *[]ledger.Event) {
	batch.Queue(`
		SELECT seq, at, by, kind, data, hash, author FROM events
		WHERE study_id = $1 AND seq > $2 ORDER BY seq LIMIT nullif($3::bigint, 0)`, id, after, limit,
	).Query(func(rows pgx.Rows) (err error) {
		*found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e ledger.Event, err error) {
			return e, row.Scan(&e.Seq, &e.At, &e.By, &e.Kind, (*[]byte)(&e.Data), &e.Hash, &e.Author)
		})
		return err
	})
}

// doneKept is how long an idempotency key is remembered.
const doneKept = 48 * time.Hour

// claimKey makes later requests with the same key wait until this transaction ends, and returns
// what an earlier one did: *study.AlreadyDone, or study.ErrReused if that was another request.
func claimKey(ctx context.Context, tx pgx.Tx, key *study.IdempotencyKey) error {
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

const doneInto = `INSERT INTO idempotency_keys (caller, request, key, body_hash, study_id, version, trials, made, created_at)`

func doneColumns(key study.IdempotencyKey, done study.Done, now time.Time) []any {
	return []any{key.Caller, key.Request, key.Key, key.Body.Sum(nil), done.Study, done.Version, done.Trials, done.Made, now}
}

// Before returns *study.AlreadyDone if the request was carried out before, study.ErrReused if its
// key was used for another one, else nil. Call it before checking a request against the present
// state, which may have changed since.
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

// Once runs do at most once for an idempotency key, for writes other than to a study (those pass
// Key in study.Command). What do writes through Accounts with its ctx commits together with made,
// the result that is stored. made must contain no secrets; do passes those to its caller by other
// means. Errors: *study.AlreadyDone, study.ErrReused, or do's own. Without a key (nil) do's writes
// still commit together.
func (d *DB) Once(ctx context.Context, key *study.IdempotencyKey, do func(ctx context.Context) (made []byte, err error)) error {
	return d.transact(ctx, func(tx pgx.Tx) error {
		if err := claimKey(ctx, tx, key); err != nil {
			return err
		}
		made, err := do(context.WithValue(ctx, transactionKey{}, tx))
		if err != nil || key == nil {
			return err
		}
		_, err = tx.Exec(ctx, doneInto+` VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, doneColumns(*key, study.Done{Made: made}, d.now())...)
		return err
	})
}

// Summaries returns studies, newest change first, by a single query of their rows.
func (s *Studies) Summaries(ctx context.Context, wanted study.Listing) ([]ledger.Summary, error) {
	before, id := pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}, ""
	if wanted.After != nil {
		before, id = pgtype.Timestamptz{Time: wanted.After.UpdatedAt, Valid: true}, wanted.After.ID
	}
	ends := map[string]study.Known{}
	vouch := s.db.confirmer(ctx)
	found, err := collect(ctx, s.db.in(ctx), func(row pgx.CollectableRow) (ledger.Summary, error) {
		var one ledger.Summary
		var hash string
		err := row.Scan(&one.ID, &one.Name, &one.State, &one.Algorithm, &one.Version, &one.CreatedAt, &one.UpdatedAt,
			&one.Trials, &one.Waiting, &one.OldestWaiting, &one.Feasible, &one.Known, &one.Best, &one.Limits, &one.SimulatedLab, &hash)
		ends[one.ID] = study.Known{Version: one.Version, Hash: hash}
		return one, err
	}, listStudies, before, id, wanted.Only, wanted.States, strings.Fields(design.FoldCase(wanted.Find)), wanted.Limit)
	if err == nil {
		err = vouch(ends)
	}
	return found, err
}

const listStudies = `
	SELECT id, name, state, algorithm, version, created_at, updated_at, trials, waiting, oldest_waiting, feasible, known, best, limits, simulated_lab, hash
	FROM studies
	WHERE (updated_at, id) < ($1, $2) AND ($3::text[] IS NULL OR id = ANY ($3)) AND ($4::text[] IS NULL OR state = ANY ($4))
		AND NOT EXISTS (SELECT FROM unnest($5::text[]) AS word WHERE strpos(words, word) = 0)
	ORDER BY updated_at DESC, id DESC LIMIT nullif($6::bigint, 0)`

const cleanUpEvery = time.Hour

// cleanUp deletes what has expired, at once and then every hour, until ctx ends.
func (d *DB) cleanUp(ctx context.Context) {
	for ctx.Err() == nil {
		if err := d.removeExpired(ctx, time.Now()); err != nil && ctx.Err() == nil {
			slog.Warn("what has expired could not be removed", "error", err)
		}
		sleep(ctx, cleanUpEvery)
	}
}

// removeExpired deletes old answers, ended sessions, expired sign-in links and unused PINs. Tokens
// and shares stay, since people want to see whom they once let in, and so does each person's latest
// session, which says when they were last seen.
func (d *DB) removeExpired(ctx context.Context, now time.Time) error {
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM idempotency_keys WHERE created_at < $1`, now.Add(-doneKept))
	batch.Queue(`DELETE FROM credentials WHERE kind IN ('session', 'sign_in') AND expires_at < $1
		AND id NOT IN (SELECT DISTINCT ON (person_id) id FROM credentials WHERE kind = 'session' ORDER BY person_id, used_at DESC)`, now)
	batch.Queue(`DELETE FROM pins WHERE last_used < $1`, now.Add(-account.SessionLife))
	return d.pool.SendBatch(ctx, batch).Close()
}

// A choosing lock is a lease: PostgreSQL ends it if its holder, frozen or cut off, has been silent
// for choosingLease. Those who wait for it give up after lockPatience, to be asked again.
const (
	choosingLease = 10 * time.Second
	renewal       = choosingLease / 4
	lockPatience  = 4 * time.Second
)

// queryCanceled is PostgreSQL's code for a cancelled statement.
const queryCanceled = "57014"

var errLeaseLost error = &study.Later{Sentence: "The server was away for too long while it chose, and another one may choose by now."}

// Choosing runs choose while holding the study's choosing lock. If the lock is lost, the context of
// choose ends.
func (s *Studies) Choosing(ctx context.Context, id string, choose func(ctx context.Context) error) error {
	leave, err := s.choosing.Enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	lock, err := s.locks.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginLocked(id)})
	if err != nil {
		if pgError(err).Code == queryCanceled && ctx.Err() == nil {
			return &study.Later{Sentence: fmt.Sprintf("Another server has been choosing for this study for more than %v.", lockPatience)}
		}
		return unavailable(ctx, err)
	}
	// The lock lasts as long as this transaction, which does nothing else: choose uses the other
	// pool.
	defer func() {
		ending, cancel := context.WithTimeout(context.Background(), answerTimeout)
		defer cancel()
		_ = lock.Rollback(ending) // if that fails the connection is closed, which also releases the lock
	}()
	return withLease(ctx, lock, choose)
}

// beginLocked returns the statement that begins a transaction with the study's choosing lock, in
// one round trip. It takes no arguments, so the id, which may come from anybody, is written in
// hexadecimal.
func beginLocked(id string) string {
	return fmt.Sprintf(`BEGIN; SELECT pg_advisory_xact_lock(hashtext('headroom choosing'),
		hashtext(convert_from(decode('%x', 'hex'), 'UTF8')))`, id)
}

// withLease runs choose and meanwhile renews the lease.
func withLease(ctx context.Context, lock pgx.Tx, choose func(ctx context.Context) error) error {
	within, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	choosing, chosen := context.WithCancel(context.WithoutCancel(ctx)) // what is chosen is stored also if the caller leaves
	var renewing sync.WaitGroup
	renewing.Go(func() {
		if renew(choosing, lock) != nil {
			lose(errLeaseLost)
		}
	})
	err := choose(within)
	chosen()
	renewing.Wait()
	if err != nil && errors.Is(context.Cause(within), errLeaseLost) {
		return errLeaseLost
	}
	return err
}

// renew shows PostgreSQL now and then that the holder of the lock is alive, until ctx ends.
func renew(ctx context.Context, lock pgx.Tx) error {
	for sleep(ctx, renewal); ctx.Err() == nil; sleep(ctx, renewal) {
		said, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewal)
		_, err := lock.Exec(said, `SELECT`)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}
