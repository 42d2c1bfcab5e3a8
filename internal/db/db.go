// Package db stores studies and accounts in PostgreSQL: one file per entity, with its SQL beside
// its only caller.
package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/puddle/v2"

	"headroom/internal/account"
	"headroom/internal/scheduler"
	"headroom/internal/study"
	"headroom/migrations"
)

var (
	_ study.Store   = (*Studies)(nil)
	_ account.Store = (*Accounts)(nil)
)

// DB is an open database with its background work: a listener, a notifier, and the removal of what
// has expired. Studies is the study.Store, Accounts the account.Store.
type DB struct {
	Studies  *Studies
	Accounts *Accounts

	pool          *pgxpool.Pool
	fence         *fence
	confirmations scheduler.Queues // callers that wait for a confirmation of what they read
	listener      *listener
	notifier      *notifier
	now           func() time.Time

	background sync.WaitGroup
	running    context.Context // ended by Close
	stop       context.CancelFunc
}

// The number of connections that a server opens at most, unless the URL says otherwise
// (pool_max_conns): well below PostgreSQL's default limit of 100, so that two servers and a person
// with psql fit.
const (
	maxConnections = 25
	minConnections = 3 // one to listen, one to hold a choosing lock, one for everything else
)

// Time limits for every wait for the database. The breaker notices much sooner if the database does
// not answer at all.
const (
	// answerTimeout limits a connection attempt to each server that the URL names, and is the time
	// without an answer after which the breaker opens, unless the URL says otherwise
	// (connect_timeout).
	answerTimeout = 2500 * time.Millisecond
	// lockLimit limits how long a statement waits for a lock, unless the URL says otherwise
	// (lock_timeout).
	lockLimit = 5 * time.Second
	// statementLimit limits a statement, unless the URL says otherwise (statement_timeout).
	statementLimit = 30 * time.Second
	// idleLimit limits how long a transaction may wait for its program, so that a frozen program
	// loses its locks.
	idleLimit = 10 * time.Second
)

// Up migrates and opens the database at url. It refuses a server that lacks what file, which Keep
// writes, says was seen of the database; "" means no file.
func Up(ctx context.Context, url, file string) (*DB, error) { return begin(ctx, url, file, false) }

// Beside is Up while another server may be using the database: it migrates only an empty one.
func Beside(ctx context.Context, url, file string) (*DB, error) { return begin(ctx, url, file, true) }

func begin(ctx context.Context, url, file string, inUse bool) (*DB, error) {
	f := newFence(file)
	if err := f.load(); err != nil {
		return nil, err
	}
	if err := f.migrate(ctx, url, migrations.Latest, inUse); err != nil {
		return nil, fmt.Errorf("the database cannot be used: %w", err)
	}
	return f.open(ctx, url)
}

// Keep keeps what is seen of the database in Up's file, so that programs started later refuse a
// server that lacks it.
func (d *DB) Keep() error {
	if err := d.fence.save(); err != nil {
		return fmt.Errorf("what is seen of the database cannot be kept: HEADROOM_DATA_DIR must be a folder that can be written to: %w", err)
	}
	d.background.Go(func() { d.fence.saveChanges(d.running) })
	return nil
}

// Room returns how many connections the database accepts from all its clients, and how many of them
// this server may open.
func (d *DB) Room(ctx context.Context) (taken, opened int32, err error) {
	err = d.pool.QueryRow(ctx, `
		SELECT least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - coalesce(current_setting('reserved_connections', true)::int, 0),
			(SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()), (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user))`).Scan(&taken)
	return taken, 1 + d.pool.Config().MaxConns + d.Studies.locks.Config().MaxConns, unavailable(ctx, err)
}

func (f *fence) open(ctx context.Context, url string) (*DB, error) {
	config, err := poolConfig(url)
	if err != nil {
		return nil, err
	}
	f.findPrimary(ctx, config.ConnConfig)
	breaker := newBreaker()
	f.promotion = breaker.open
	config.ConnConfig.Tracer, config.PingTimeout = breaker, config.ConnConfig.ConnectTimeout
	config.ConnConfig.ValidateConnect, config.ConnConfig.OnNotice, config.BeforeConnect = f.admit, noticeCancelledWait, f.prepare
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error { // read times in UTC, as ledgers have them
		codec := &pgtype.TimestamptzCodec{ScanLocation: time.UTC}
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: codec})
		return nil
	}
	config.PrepareConn = func(_ context.Context, conn *pgx.Conn) (bool, error) { return f.current(conn), nil }
	config.ShouldPing = func(_ context.Context, idle pgxpool.ShouldPingParams) bool {
		return idle.IdleDuration > time.Second && f.current(idle.Conn) // a connection to another server is not used anyway
	}
	choosing := config.Copy()
	// One connection listens, a third of the others hold choosing locks, the rest read and write.
	choosing.MaxConns = max(1, (config.MaxConns-1)/3)
	config.MaxConns -= 1 + choosing.MaxConns
	config.MinConns, choosing.MinConns = min(config.MinConns, config.MaxConns), 0
	choosing.ConnConfig.RuntimeParams["statement_timeout"] = milliseconds(lockPatience)
	choosing.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = milliseconds(choosingLease)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	choosingPool, err := pgxpool.NewWithConfig(ctx, choosing)
	if err != nil {
		pool.Close()
		return nil, unavailable(ctx, err)
	}
	d := &DB{
		pool:     pool,
		fence:    f,
		listener: newListener(config.ConnConfig, breaker, f),
		notifier: &notifier{pool: pool, wake: make(chan struct{}, 1), pending: map[string]int64{}},
		now:      func() time.Time { return time.Now().UTC() },
	}
	d.Studies = &Studies{db: d, locks: choosingPool}
	d.Accounts = &Accounts{db: d}
	d.start() // before Ready, which waits in vain without the breaker
	if err := d.Ready(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func poolConfig(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("HEADROOM_DATABASE_URL: %w", err)
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = maxConnections
	}
	if config.MaxConns < minConnections {
		return nil, fmt.Errorf("HEADROOM_DATABASE_URL: pool_max_conns must be at least %d, not %d", minConnections, config.MaxConns)
	}
	prepareConfig(&config.ConnConfig.Config)
	for setting, limit := range map[string]time.Duration{"statement_timeout": statementLimit, "lock_timeout": lockLimit, "idle_in_transaction_session_timeout": idleLimit} {
		if _, given := config.ConnConfig.RuntimeParams[setting]; !given {
			config.ConnConfig.RuntimeParams[setting] = milliseconds(limit)
		}
	}
	return config, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func prepareConfig(config *pgconn.Config) {
	if config.ConnectTimeout == 0 || config.ConnectTimeout > time.Minute {
		config.ConnectTimeout = answerTimeout
	}
	config.RuntimeParams["application_name"] = "headroom"
	config.RuntimeParams["timezone"] = "UTC"
}

func (d *DB) start() {
	d.running, d.stop = context.WithCancel(context.Background())
	for _, work := range []func(context.Context){d.listener.run, d.listener.watch, d.notifier.run, d.cleanUp} {
		d.background.Go(func() { work(d.running) })
	}
}

// Close ends the background work and closes every connection. Requests must have ended before.
func (d *DB) Close() {
	d.stop()
	d.background.Wait()
	d.Studies.locks.Close()
	d.pool.Close()
}

// transact runs do in the transaction that Once put in ctx, or else in one of its own. Errors of a
// lost connection wrap study.ErrUnavailable.
func (d *DB) transact(ctx context.Context, do func(tx pgx.Tx) error) error {
	if outer, ok := ctx.Value(transactionKey{}).(pgx.Tx); ok {
		return unavailable(ctx, do(outer))
	}
	timeline := d.fence.timeline()
	err := d.write(ctx, func(conn *pgxpool.Conn) error {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }() // no effect after a commit
		if err := do(tx); err != nil {
			return err
		}
		confirmed, cancel := confirming(ctx, 0)
		defer cancel()
		return tx.Commit(confirmed)
	})
	return d.confirmDone(ctx, timeline, unavailable(ctx, err))
}

type transactionKey struct{}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// in returns the transaction or pool in which statements under ctx run.
func (d *DB) in(ctx context.Context) querier {
	if outer, ok := ctx.Value(transactionKey{}).(pgx.Tx); ok {
		return outer
	}
	return d.pool
}

func collect[T any](ctx context.Context, q querier, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, _ := q.Query(ctx, sql, args...) // CollectRows returns its error
	found, err := pgx.CollectRows(rows, scan)
	return found, unavailable(ctx, err)
}

// PostgreSQL may show what it does not guarantee to keep. Under synchronous replication a commit
// waits for the standby and is invisible meanwhile. But if that wait is cancelled, or the primary
// restarts, the commit becomes visible and is lost if the primary is. So nothing that was read is
// reported, neither as the result of an earlier request nor to readers, until a later commit of our
// own has been confirmed by the standby, since standbys receive everything in order.

// confirmLimit is how long to wait for a commit, which under synchronous replication includes the
// standby's confirmation.
const confirmLimit = 10 * time.Second

// sendLimit is how much longer to wait for each MiB that comes with a commit: over a slow line, or on
// a small machine, a large table would else be refused each time it is imported.
const sendLimit = 2 * time.Second

// confirming returns a context for a commit, which goes on when the caller leaves. Otherwise later
// writers of the study would each wait on a connection for its locks, instead of in memory for
// their turn. sent is how many bytes come with the commit.
func confirming(ctx context.Context, sent int) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), confirmLimit+sendLimit*time.Duration(sent)>>20)
}

// errUnconfirmed is the error for a commit that may not last.
var errUnconfirmed error = &study.Later{Sentence: "No standby of the database has confirmed what is stored."}

// unconfirmedKey marks a connection whose commit the standby has not confirmed.
const unconfirmedKey = "headroom unconfirmed"

// noticeCancelledWait notices that somebody cancelled a commit's wait for the standby, which
// PostgreSQL then reports as success.
func noticeCancelledWait(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.Routine == "SyncRepWaitForLSN" { // the message is in the server's language
		conn.CustomData()[unconfirmedKey] = true
	}
}

// write runs do, which commits, on a connection of its own and checks that the commit was
// confirmed.
func (d *DB) write(ctx context.Context, do func(conn *pgxpool.Conn) error) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	marks := conn.Conn().PgConn().CustomData()
	delete(marks, unconfirmedKey)
	if err := do(conn); err != nil {
		return err
	}
	if marks[unconfirmedKey] != nil {
		return errUnconfirmed
	}
	return nil
}

// confirm returns nil once everything that could be read on a timeline will survive a failover, as
// far as the database guarantees that.
func (d *DB) confirm(ctx context.Context, timeline int64) error {
	waiting, cancel := context.WithTimeout(ctx, confirmLimit)
	defer cancel()
	err := d.write(waiting, func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(waiting, `SELECT pg_logical_emit_message(true, 'headroom', '') WHERE current_setting('synchronous_standby_names') <> ''`)
		return err
	})
	if err == nil && d.fence.timeline() != timeline {
		err = errUnconfirmed // the confirmation came from another server
	}
	return unavailable(ctx, err)
}

// confirmer returns a function that returns nil once the ends of ledgers that were read after this
// call will survive a failover. What is read in a transaction is confirmed by its commit.
func (d *DB) confirmer(ctx context.Context) func(read map[string]study.Known) error {
	if _, inside := ctx.Value(transactionKey{}).(pgx.Tx); inside {
		return func(map[string]study.Known) error { return nil }
	}
	timeline := d.fence.timeline()
	return func(read map[string]study.Known) error {
		if d.fence.knows(read) {
			return nil
		}
		waiting, cancel := context.WithTimeout(ctx, confirmLimit)
		defer cancel()
		// One at a time: those who waited often find that everything has been confirmed meanwhile.
		leave, err := d.confirmations.Enter(waiting, "all")
		if err != nil {
			return unavailable(ctx, err)
		}
		defer leave()
		if d.fence.knows(read) {
			return nil
		}
		if err = d.confirm(waiting, timeline); err == nil {
			d.fence.record(read)
		}
		return err
	}
}

// confirmDone confirms a *study.AlreadyDone before it is reported.
func (d *DB) confirmDone(ctx context.Context, timeline int64, err error) error {
	var first *study.AlreadyDone
	if !errors.As(err, &first) {
		return err
	}
	if unconfirmed := d.confirm(ctx, timeline); unconfirmed != nil {
		return unconfirmed
	}
	return err
}

// breaker is a circuit breaker for a database that does not answer. Unlike one that refuses, a
// silent one, which is frozen or cut off from the network, would keep everybody waiting. While the
// breaker is open, everything that waits for the database ends and nothing new starts.
//
// It is the pools' tracer, so every statement and every wait for a connection passes through it.
type breaker struct {
	mutex  sync.Mutex
	closed context.Context // ends when the breaker opens
	trip   context.CancelFunc
}

// errSilent is the reason why the breaker ends a statement.
var errSilent = errors.New("the database does not answer")

func newBreaker() *breaker {
	b := &breaker{}
	b.closed, b.trip = context.WithCancel(context.Background())
	return b
}

// open ends what waits for the database; reset allows new work. Both may be repeated.
func (b *breaker) open() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.trip()
}

func (b *breaker) reset() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.closed.Err() != nil {
		b.closed, b.trip = context.WithCancel(context.Background())
	}
}

func (b *breaker) now() context.Context {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.closed
}

// bounded is a context that also ends when the breaker opens.
type bounded struct {
	context.Context
	release func()
}

// bound returns ctx bounded by the breaker. The caller must release it.
func (b *breaker) bound(ctx context.Context) context.Context {
	within, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.now(), func() { cancel(errSilent) })
	return bounded{within, func() { stop(); cancel(nil) }}
}

func release(ctx context.Context) {
	if b, ok := ctx.(bounded); ok {
		b.release()
	}
}

// TraceAcquireStart bounds a wait for a connection, which TraceAcquireEnd ends.
func (b *breaker) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return b.bound(ctx)
}

func (b *breaker) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireEndData) {
	release(ctx)
}

// TraceQueryStart bounds a statement, which TraceQueryEnd ends.
func (b *breaker) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return b.bound(ctx)
}

func (b *breaker) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	release(ctx)
}

// TraceBatchStart bounds statements sent together, which TraceBatchEnd ends; TraceBatchQuery is
// called for each.
func (b *breaker) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return b.bound(ctx)
}

func (b *breaker) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (b *breaker) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	release(ctx)
}

// unavailable wraps err with study.ErrUnavailable if it means that the database cannot be reached
// or is shutting down, so that callers can tell when to try again. If the caller has left, the
// error of its context is kept.
func unavailable(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, study.ErrUnavailable) {
		return err
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = errSilent // only the breaker cancels what a caller still waits for
	}
	if pgError(err).Code != "" && lostConnection(err) {
		return fmt.Errorf("%w (%w)", &study.Later{Sentence: "The database answers, but cannot do this now."}, err)
	}
	if errors.Is(err, errSilent) || lostConnection(err) {
		return fmt.Errorf("%w: %w", study.ErrUnavailable, err)
	}
	return err
}

func lostConnection(err error) bool {
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting { // also if access is denied, as while a password is changed or a database restored
		return true
	}
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return isTemporary(said.Code)
	}
	if _, ours := errors.AsType[*fs.PathError](err); ours { // writing a backup to its file failed, as on a full disk
		return false
	}
	var network net.Error // every errno is a net.Error, too
	return errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, puddle.ErrClosedPool) || errors.Is(err, driver.ErrBadConn)
}

// isTemporary reports whether a SQLSTATE code belongs to a server that is starting, stopping, full
// or a standby, or that rolled a transaction back: class 08 connection exception, 40 transaction
// rollback, as in a deadlock, 53 insufficient resources, 57 operator intervention, which includes a
// statement timeout; 55P03 lock not available, 25P03 idle transaction timeout, and 25006, a write
// sent to a standby. PostgreSQL manual, appendix A.
func isTemporary(code string) bool {
	return slices.Contains([]string{"08", "40", "53", "57"}, code[:min(2, len(code))]) || slices.Contains([]string{"55P03", "25P03", "25006"}, code)
}

// undefinedTable is PostgreSQL's code for a missing table.
const undefinedTable = "42P01"

// pgError returns PostgreSQL's error in err, with its code and the violated constraint; empty if
// err comes from elsewhere.
func pgError(err error) pgconn.PgError {
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return *said
	}
	return pgconn.PgError{}
}
