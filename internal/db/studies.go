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

// Studies is the study.Store, which says what its methods do.
type Studies struct {
	db *DB

	// Decisions of one study follow one another: within this process by a queue in memory, among
	// processes by a lock in the database. Only the head of each queue holds a connection, one of a
	// pool of their own: however many wait, writes find theirs free.
	choosing scheduler.Queues
	locks    *pgxpool.Pool
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
			if _, err := s.store(ctx, tx, id, last, cmd.Key, part); err != nil {
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
	err = s.db.write(ctx, func(conn *pgxpool.Conn) (err error) {
		confirmed, cancel := confirming(ctx)
		defer cancel()
		stored, err = s.store(confirmed, conn, id, known, key, add)
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
		if why := last.Fits(endOf(known, news)); why != nil {
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

// endOf is the end of a ledger whose events, behind the one that is known, are these.
func endOf(known study.Known, news []ledger.Event) study.Known {
	if n := len(news); n > 0 {
		return study.Known{Version: news[n-1].Seq, Hash: news[n-1].Hash}
	}
	return known
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

func (s *Studies) Ends(ctx context.Context, id string) (row, last study.Known, err error) {
	vouch := s.db.voucher(ctx)
	err = s.db.in(ctx).QueryRow(ctx, `
		SELECT studies.version, studies.hash, coalesce(seq, 0), coalesce(events.hash, '') FROM studies
		LEFT JOIN events ON study_id = id AND seq = (SELECT max(seq) FROM events WHERE study_id = $1)
		WHERE id = $1`, id).Scan(&row.Version, &row.Hash, &last.Version, &last.Hash)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return row, last, noStudy(id)
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
	confirmed, cancel := confirming(ctx)
	defer cancel()
	_, err = s.db.in(ctx).Exec(confirmed, `UPDATE studies SET verified = $2 WHERE id = $1 AND (coalesce((verified ->> 'version')::bigint, 0) <= $3 OR NOT $4)`, id, text, outcome.Version, outcome.OK)
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

// A write is one statement, and so one transaction in one round trip: the study's row, then, if
// that was written, the events and the answer under the idempotency key. It returns how many rows of
// studies it wrote.
const (
	insertRow = `
		WITH row AS (
			INSERT INTO studies (id, name, state, algorithm, version, hash, updated_at, trials, waiting, oldest_waiting, feasible, known, best, limits, simulated_lab, words, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $23)
			RETURNING id)`
	// The hash of the last event says that no other was written since: it follows from all events.
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

// store writes add behind last, in one statement, and tells whether it wrote the study's row.
func (s *Studies) store(ctx context.Context, q querier, id string, last study.Known, key *study.IdempotencyKey, add study.Append) (stored bool, err error) {
	if err := checkAppend(last, add); err != nil {
		return false, err
	}
	row, own := updateRow, any(last.Hash) // the argument that only this row has
	if last == nothing {
		row, own = insertRow, add.After.CreatedAt
	}
	now := add.After.Summary()
	sql, arguments := row+insertEvents, []any{
		id, now.Name, string(now.State), now.Algorithm, now.Version, add.After.Hash, now.UpdatedAt,
		now.Trials, now.Waiting, now.OldestWaiting, now.Feasible, now.Known, now.Best, now.Limits, now.SimulatedLab, add.After.Definition.Words()}
	author := "" // the same of all
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
	if last := endOf(known, add.Events); end(add) != last {
		return fmt.Errorf("the study after the append is at event %d, the ledger at %d", add.After.Version, last.Version)
	}
	return nil
}

func (s *Studies) Events(ctx context.Context, id string, after int64, limit int) ([]ledger.Event, error) {
	var found []ledger.Event
	batch := &pgx.Batch{}
	batch.Queue(`SELECT FROM studies WHERE id = $1`, id).QueryRow(func(row pgx.Row) error { return row.Scan() })
	queueEvents(batch, id, after, limit, &found)
	vouch := s.db.voucher(ctx)
	err := s.db.in(ctx).SendBatch(ctx, batch).Close()
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, noStudy(id)
	case err != nil || len(found) == 0:
		return nil, unavailable(ctx, err)
	}
	return found, vouch(map[string]study.Known{id: endOf(study.Known{}, found)})
}

// queueEvents reads the events with after < seq into found, at most limit (0 = all), in order.
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

const doneInto = `INSERT INTO idempotency_keys (caller, request, key, body_hash, study_id, version, trials, made, created_at)`

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
		_, err = tx.Exec(ctx, doneInto+` VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, doneColumns(*key, study.Done{Made: made}, d.now())...)
		return err
	})
}

// Summaries lists studies, newest change first: one read of the studies' rows, of a page as many as
// it has.
func (s *Studies) Summaries(ctx context.Context, wanted study.Listing) ([]ledger.Summary, error) {
	before, id := pgtype.Timestamptz{InfinityModifier: pgtype.Infinity, Valid: true}, ""
	if wanted.After != nil {
		before, id = pgtype.Timestamptz{Time: wanted.After.UpdatedAt, Valid: true}, wanted.After.ID
	}
	ends := map[string]study.Known{}
	vouch := s.db.voucher(ctx)
	found, err := list(ctx, s.db.in(ctx), func(row pgx.CollectableRow) (ledger.Summary, error) {
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

// cleanUp removes what has expired, at the start and then every hour, until ctx ends.
func (d *DB) cleanUp(ctx context.Context) {
	for ctx.Err() == nil {
		if err := d.removeExpired(ctx, time.Now()); err != nil && ctx.Err() == nil {
			slog.Warn("what has expired could not be removed", "error", err)
		}
		sleep(ctx, cleanUpEvery)
	}
}

// removeExpired removes old answers, ended sessions, PINs and links nobody used. Tokens and shares
// stay: people want to see whom they once let in. So does each person's latest session, which says
// when they were last seen.
func (d *DB) removeExpired(ctx context.Context, now time.Time) error {
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM idempotency_keys WHERE created_at < $1`, now.Add(-doneKept))
	batch.Queue(`DELETE FROM credentials WHERE kind IN ('session', 'sign_in') AND expires_at < $1
		AND id NOT IN (SELECT DISTINCT ON (person_id) id FROM credentials WHERE kind = 'session' ORDER BY person_id, used_at DESC)`, now)
	batch.Queue(`DELETE FROM pins WHERE last_used < $1`, now.Add(-account.SessionLife))
	return d.pool.SendBatch(ctx, batch).Close()
}

// A choosing lock is a lease: PostgreSQL ends it when its holder has been silent for choosingLease,
// as one that is frozen is, or cut off. Whoever waits for the lock gives up after lockTime, to be
// asked again.
const (
	choosingLease = 10 * time.Second
	renewal       = choosingLease / 4
	lockTime      = 4 * time.Second
)

// tookTooLong is PostgreSQL's code of a statement that was ended.
const tookTooLong = "57014"

var errLeaseLost error = &study.Later{Sentence: "The server was away for too long while it chose, and another one may choose by now."}

// Choosing runs choose while holding the study's choosing lock. Should the lock be lost, choose's
// context ends.
func (s *Studies) Choosing(ctx context.Context, id string, choose func(ctx context.Context) error) error {
	leave, err := s.choosing.Enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	lock, err := s.locks.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginLocked(id)})
	if err != nil {
		if pgError(err).Code == tookTooLong && ctx.Err() == nil {
			return &study.Later{Sentence: fmt.Sprintf("Another server has been choosing for this study for more than %v.", lockTime)}
		}
		return unavailable(ctx, err)
	}
	// The lock lasts as long as this transaction, in which nothing else happens: choose reads and
	// writes through the other pool.
	defer func() {
		ending, cancel := context.WithTimeout(context.Background(), answerTimeout)
		defer cancel()
		_ = lock.Rollback(ending) // where that fails the connection is closed, which gives the lock back too
	}()
	return holding(ctx, lock, choose)
}

// beginLocked begins a transaction that has the study's choosing lock, in one round trip. Such
// statements take no arguments, so the id, which anybody may have made up, is written in
// hexadecimal digits.
func beginLocked(id string) string {
	return fmt.Sprintf(`BEGIN; SELECT pg_advisory_xact_lock(hashtext('headroom choosing'),
		hashtext(convert_from(decode('%x', 'hex'), 'UTF8')))`, id)
}

// holding runs choose and renews the lease meanwhile.
func holding(ctx context.Context, lock pgx.Tx, choose func(ctx context.Context) error) error {
	within, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	chosen := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		if renew(ctx, lock, chosen) != nil {
			lose(errLeaseLost)
		}
	})
	err := choose(within)
	close(chosen)
	renewing.Wait()
	if err != nil && errors.Is(context.Cause(within), errLeaseLost) {
		return errLeaseLost
	}
	return err
}

// renew says now and then that the holder of lock is alive, until what it holds the lock for is
// done.
func renew(ctx context.Context, lock pgx.Tx, done <-chan struct{}) error {
	ticker := time.NewTicker(renewal)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ticker.C:
		}
		said, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewal)
		_, err := lock.Exec(said, `SELECT`)
		cancel()
		if err != nil {
			return err
		}
	}
}
