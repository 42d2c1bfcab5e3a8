// Package db keeps studies and accounts in PostgreSQL: one file per entity, its SQL beside its only
// caller.
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

// DB is an open database with the background work that belongs to it: a listener, a notifier, a
// cleaner. Studies is the study.Store, Accounts the account.Store.
type DB struct {
	Studies  *Studies
	Accounts *Accounts

	pool     *pgxpool.Pool
	fence    *fence
	vouching scheduler.Queues // of those who have the database confirm what was read
	listener *listener
	notifier *notifier
	now      func() time.Time

	background sync.WaitGroup
	running    context.Context // ends with Close
	stop       context.CancelFunc
}

// Connections a server opens at most, all told, unless the URL says otherwise (pool_max_conns):
// well below PostgreSQL's default limit of 100, so that two servers and a person with psql fit.
const (
	maxConnections = 25
	minConnections = 3 // one to listen, one to hold a choosing lock, one for everything else
)

// share divides a server's connections: one listens, a third of the others hold choosing locks, the
// rest read and write.
func share(connections int32) (general, choosing int32) {
	choosing = max(1, (connections-1)/3)
	return connections - 1 - choosing, choosing
}

// What bounds every wait for the database. A database that does not answer at all is noticed much
// sooner, by its breaker.
const (
	// answerTimeout bounds a connection attempt at each server that the URL names, and every wait for
	// an answer after which the breaker opens, unless the URL says otherwise (connect_timeout).
	answerTimeout = 2500 * time.Millisecond
	// lockWait bounds how long a statement waits for what another has locked, unless the URL says
	// otherwise (lock_timeout).
	lockWait = 5 * time.Second
	// statementTime bounds a statement, unless the URL says otherwise (statement_timeout).
	statementTime = 30 * time.Second
	// idleTime bounds how long a transaction may wait for its program: one that has been frozen
	// lets go of what it had locked.
	idleTime = 10 * time.Second
)

// Up migrates and opens the database at url. A server that goes back behind what stands in file of
// it, see Keep, is refused; "" for no file.
func Up(ctx context.Context, url, file string) (*DB, error) { return begin(ctx, url, file, false) }

// Beside is Up beside a server that may be using the database: it migrates an empty one only.
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

// Keep keeps what is seen of the database in Up's file, so that programs started later refuse what
// goes back behind it.
func (d *DB) Keep() error {
	if err := d.fence.save(); err != nil {
		return fmt.Errorf("what is seen of the database cannot be kept, HEADROOM_DATA_DIR must be a folder that can be written to: %w", err)
	}
	d.background.Go(func() { d.fence.keep(d.running) })
	return nil
}

// Room says how many connections the database takes of all its clients, and how many of them
// this server may open.
func (d *DB) Room(ctx context.Context) (taken, opened int32, err error) {
	err = d.pool.QueryRow(ctx, `
		SELECT least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - coalesce(current_setting('reserved_connections', true)::int, 0),
			(SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()), (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user))`).Scan(&taken)
	return taken, 1 + d.pool.Config().MaxConns + d.Studies.locks.Config().MaxConns, unavailable(ctx, err)
}

// open connects to a database that has been migrated, and starts the background work.
func (f *fence) open(ctx context.Context, url string) (*DB, error) {
	config, err := poolConfig(url)
	if err != nil {
		return nil, err
	}
	f.findPrimary(ctx, config.ConnConfig)
	breaker := newBreaker()
	f.promotion = breaker.open
	config.ConnConfig.Tracer, config.PingTimeout = breaker, config.ConnConfig.ConnectTimeout
	config.ConnConfig.ValidateConnect, config.ConnConfig.OnNotice, config.BeforeConnect = f.admit, hearNotice, f.prepare
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error { // every time is read in UTC, as ledgers have it
		codec := &pgtype.TimestamptzCodec{ScanLocation: time.UTC}
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: codec})
		return nil
	}
	config.PrepareConn = func(_ context.Context, conn *pgx.Conn) (bool, error) { return f.current(conn), nil }
	config.ShouldPing = func(_ context.Context, idle pgxpool.ShouldPingParams) bool {
		return idle.IdleDuration > time.Second && f.current(idle.Conn) // of another server it is not used anyway
	}
	choosing := config.Copy()
	config.MaxConns, choosing.MaxConns = share(config.MaxConns)
	config.MinConns, choosing.MinConns = min(config.MinConns, config.MaxConns), 0
	choosing.ConnConfig.RuntimeParams["statement_timeout"] = milliseconds(lockTime)
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
	d.start() // first, since it notices where what is asked next is not answered
	if err := d.Ready(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// poolConfig reads url and fills in what it leaves open.
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
	for setting, limit := range map[string]time.Duration{"statement_timeout": statementTime, "lock_timeout": lockWait, "idle_in_transaction_session_timeout": idleTime} {
		if _, given := config.ConnConfig.RuntimeParams[setting]; !given {
			config.ConnConfig.RuntimeParams[setting] = milliseconds(limit)
		}
	}
	return config, nil
}

// milliseconds is a time as PostgreSQL's settings take it.
func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func prepareConfig(config *pgconn.Config) {
	if config.ConnectTimeout == 0 || config.ConnectTimeout > time.Minute {
		config.ConnectTimeout = answerTimeout
	}
	config.RuntimeParams["application_name"] = "headroom"
	config.RuntimeParams["timezone"] = "UTC"
}

// start runs the background work until Close.
func (d *DB) start() {
	d.running, d.stop = context.WithCancel(context.Background())
	for _, work := range []func(context.Context){d.listener.run, d.listener.watch, d.notifier.run, d.cleanUp} {
		d.background.Go(func() { work(d.running) })
	}
}

// Close ends the background work and closes every connection. Callers must have ended their
// requests.
func (d *DB) Close() {
	d.stop()
	d.background.Wait()
	d.closePools()
}

func (d *DB) closePools() {
	d.Studies.locks.Close()
	d.pool.Close()
}

// transact runs do in a transaction: the one that Once put in ctx, else its own. Errors of a lost
// connection wrap study.ErrUnavailable.
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
		defer func() { _ = tx.Rollback(ctx) }() // of what was not committed
		if err := do(tx); err != nil {
			return err
		}
		confirmed, cancel := confirming(ctx)
		defer cancel()
		return tx.Commit(confirmed)
	})
	return d.confirmDone(ctx, timeline, unavailable(ctx, err))
}

// transactionKey finds the transaction that Once put in a context.
type transactionKey struct{}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// in returns what statements of ctx run in.
func (d *DB) in(ctx context.Context) querier {
	if outer, ok := ctx.Value(transactionKey{}).(pgx.Tx); ok {
		return outer
	}
	return d.pool
}

// list runs a query and collects its rows by the columns' names.
func list[T any](ctx context.Context, q querier, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, _ := q.Query(ctx, sql, args...) // its error is the rows'
	found, err := pgx.CollectRows(rows, scan)
	return found, unavailable(ctx, err)
}

// What PostgreSQL shows is not always what it promises to keep. Under synchronous replication a
// commit waits for the standby, and nobody sees it meanwhile; but where the wait was cancelled, or
// the primary was started again, it stands there, and is lost with the primary. So nothing is told,
// to a client that asks again or to one that looks, until a later commit of our own had its
// standby's word: standbys receive everything in its order.

// confirmTime is how long a commit is waited for, which under synchronous replication is for a
// standby's word.
const confirmTime = 10 * time.Second

// confirming bounds the wait for a commit, which goes on when the caller leaves: those who come
// after wait in memory for their turn at the study, and not each on a connection for what this one
// has locked.
func confirming(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), confirmTime)
}

// errUnconfirmed is a commit of which nobody knows whether it will last.
var errUnconfirmed error = &study.Later{Sentence: "No standby of the database has confirmed what is stored."}

// unconfirmedKey marks a connection whose commit did not get its standby's word.
const unconfirmedKey = "headroom unconfirmed"

// hearNotice hears that somebody ended a commit's wait for the standby, which PostgreSQL then
// reports as done.
func hearNotice(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.Routine == "SyncRepWaitForLSN" { // the message is in the server's language
		conn.CustomData()[unconfirmedKey] = true
	}
}

// write runs do, which commits, on a connection of its own.
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

// confirm returns nil once everything that could be read on a timeline will outlive a failover, as
// far as the database promises that.
func (d *DB) confirm(ctx context.Context, timeline int64) error {
	waiting, cancel := context.WithTimeout(ctx, confirmTime)
	defer cancel()
	err := d.write(waiting, func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(waiting, `SELECT pg_logical_emit_message(true, 'headroom', '') WHERE current_setting('synchronous_standby_names') <> ''`)
		return err
	})
	if err == nil && d.fence.timeline() != timeline {
		err = errUnconfirmed // another server was asked than was read
	}
	return unavailable(ctx, err)
}

// voucher returns what is asked of the ends of ledgers that are read after it: it returns nil once
// they are known to outlive a failover. What is read in a transaction is vouched for by its commit.
func (d *DB) voucher(ctx context.Context) func(read map[string]study.Known) error {
	if _, inside := ctx.Value(transactionKey{}).(pgx.Tx); inside {
		return func(map[string]study.Known) error { return nil }
	}
	timeline := d.fence.timeline()
	return func(read map[string]study.Known) error {
		if d.fence.knows(read) {
			return nil
		}
		waiting, cancel := context.WithTimeout(ctx, confirmTime)
		defer cancel()
		// One after another: who waited here often finds that it was vouched for meanwhile.
		leave, err := d.vouching.Enter(waiting, "all")
		if err != nil {
			return unavailable(ctx, err)
		}
		defer leave()
		if d.fence.knows(read) {
			return nil
		}
		if err = d.confirm(waiting, timeline); err == nil {
			d.fence.note(read)
		}
		return err
	}
}

// confirmDone lets what was done before be told again once it is known to last.
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

// breaker is the circuit breaker of a database that does not answer. One that refuses says so by
// itself; one that is silent, as when it is frozen or the network is cut, would keep everybody
// waiting. While the breaker is open, what waits for the database ends, and what comes new is not
// begun.
//
// Every statement, and every wait for a connection, passes here: breaker is the pools' tracer.
type breaker struct {
	mutex  sync.Mutex
	closed context.Context // ends when the breaker opens
	trip   context.CancelFunc
}

// errSilent is why a statement was given up.
var errSilent = errors.New("the database does not answer")

func newBreaker() *breaker {
	b := &breaker{}
	b.closed, b.trip = context.WithCancel(context.Background())
	return b
}

// open ends what waits for the database; reset lets begin again. Both may be said again and again.
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

// bound returns ctx bounded by the breaker. Whoever gets it must release it.
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

// TraceAcquireStart begins a wait for a connection, TraceAcquireEnd ends it.
func (b *breaker) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return b.bound(ctx)
}

func (b *breaker) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireEndData) {
	release(ctx)
}

// TraceQueryStart begins a statement, TraceQueryEnd ends it.
func (b *breaker) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return b.bound(ctx)
}

func (b *breaker) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	release(ctx)
}

// TraceBatchStart begins statements sent together, TraceBatchEnd ends them; TraceBatchQuery is told
// of each.
func (b *breaker) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return b.bound(ctx)
}

func (b *breaker) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (b *breaker) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	release(ctx)
}

// unavailable wraps err with study.ErrUnavailable when it says that the database cannot be reached or is
// going down, so that callers can tell "try again" from a mistake. A caller who left keeps the
// error of its context.
func unavailable(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, study.ErrUnavailable) {
		return err
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = errSilent // nobody but the breaker ends what a caller still waits for
	}
	if pgError(err).Code != "" && lostConnection(err) {
		return fmt.Errorf("%w (%w)", &study.Later{Sentence: "The database is there, and cannot do this now."}, err)
	}
	if errors.Is(err, errSilent) || lostConnection(err) {
		return fmt.Errorf("%w: %w", study.ErrUnavailable, err)
	}
	return err
}

func lostConnection(err error) bool {
	if _, connecting := errors.AsType[*pgconn.ConnectError](err); connecting { // also who is not let in, as while a password is changed or a database restored
		return true
	}
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return goingDown(said.Code)
	}
	if _, ours := errors.AsType[*fs.PathError](err); ours { // a file that a backup goes to; its disk is full
		return false
	}
	var network net.Error // which every error number of the system is, too
	return errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, puddle.ErrClosedPool) || errors.Is(err, driver.ErrBadConn)
}

// goingDown knows the SQLSTATE classes of a server that starts, stops, is full or is a standby, and of
// one that took a transaction back: 08 connection exception, 40 transaction rollback, as of a
// deadlock, 53 insufficient resources, 55P03 what another has locked, 57 operator intervention, which
// includes a statement that took too long; 25P03, a transaction ended because nothing happened in it;
// and 25006, a write sent to a standby. PostgreSQL manual, appendix A.
func goingDown(code string) bool {
	return slices.Contains([]string{"08", "40", "53", "57"}, code[:min(2, len(code))]) || slices.Contains([]string{"55P03", "25P03", "25006"}, code)
}

// undefinedTable is PostgreSQL's code of a table that is not there.
const undefinedTable = "42P01"

// pgError is what PostgreSQL says in err: its code, and the constraint that was broken. It is
// empty where err comes from elsewhere.
func pgError(err error) pgconn.PgError {
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return *said
	}
	return pgconn.PgError{}
}
