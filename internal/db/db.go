// Package db keeps studies and accounts in PostgreSQL: one file per entity, its SQL beside its only
// caller.
package db

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"headroom/internal/account"
	"headroom/internal/study"
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
	vouching chan struct{} // has room for whoever has the database confirm what was read
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

// Open connects to the database at url, which must have been migrated, and starts the background
// work. It remembers what it has seen of the database until it is closed.
func Open(ctx context.Context, url string) (*DB, error) {
	return newFence("").open(ctx, url)
}

// Up migrates and opens the database at url. A server that goes back behind what stands in file of
// it, see Keep, is refused.
func Up(ctx context.Context, url, file string) (*DB, error) {
	f := newFence(file)
	if err := f.load(); err != nil {
		return nil, err
	}
	if err := f.migrate(ctx, url); err != nil {
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
		vouching: make(chan struct{}, 1),
		listener: newListener(config.ConnConfig, breaker, f),
		notifier: newNotifier(pool),
		now:      func() time.Time { return time.Now().UTC() },
	}
	d.Studies = &Studies{db: d, choosing: &decisions{pool: choosingPool}}
	d.Accounts = &Accounts{db: d}
	if err := d.Ready(ctx); err != nil {
		d.closePools()
		return nil, err
	}
	d.start()
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
	d.Studies.choosing.pool.Close()
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
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	found, err := pgx.CollectRows(rows, scan)
	return found, unavailable(ctx, err)
}
