package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// findPrimaryEvery is how often the servers of a URL that names several are asked who they are.
const findPrimaryEvery = 5 * time.Second

// host is one of the servers that a URL names.
type host struct {
	name string
	port uint16
}

// ways are the attempts at connecting that config makes, in order: one server is tried with TLS and
// without where the URL leaves that open.
func ways(config *pgconn.Config) []*pgconn.FallbackConfig {
	return append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
}

func (h host) isOf(way *pgconn.FallbackConfig) bool { return h == host{way.Host, way.Port} }

// try makes config attempt these ways.
func try(config *pgconn.Config, ways []*pgconn.FallbackConfig) {
	config.Host, config.Port, config.TLSConfig, config.Fallbacks = ways[0].Host, ways[0].Port, ways[0].TLSConfig, ways[1:]
}

// hosts are the servers that config names, in order.
func hosts(config *pgconn.Config) (found []host) {
	for _, way := range ways(config) {
		if one := (host{way.Host, way.Port}); !slices.Contains(found, one) {
			found = append(found, one)
		}
	}
	return found
}

// first makes config try the server in use before the others.
func (f *fence) first(config *pgconn.Config) {
	f.mutex.Lock()
	used := f.host
	f.mutex.Unlock()
	others := ways(config)
	var mine []*pgconn.FallbackConfig
	others = slices.DeleteFunc(others, func(way *pgconn.FallbackConfig) bool {
		if used.isOf(way) {
			mine = append(mine, way)
		}
		return used.isOf(way)
	})
	try(config, append(mine, others...))
}

// connConfig reads url for a single connection, to the server in use of those that it names.
func (f *fence) connConfig(ctx context.Context, url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("HEADROOM_DATABASE_URL: %w", err)
	}
	prepareConfig(&config.Config)
	f.findPrimary(ctx, config)
	f.first(&config.Config)
	config.ValidateConnect = f.admit
	return config, nil
}

// errNoCancel is why PostgreSQL is not asked to end a statement.
var errNoCancel = errors.New("statements are not cancelled")

// prepare makes config, with which the pools open a connection, try the server in use first. A
// statement that is given up is not cancelled, which is what pgx would do: PostgreSQL would end a
// commit's wait for the standby and show everybody what may still be lost. It ends by PostgreSQL's
// own limits of time; the connection is closed.
func (f *fence) prepare(_ context.Context, config *pgx.ConnConfig) error {
	f.first(&config.Config)
	dial, admit := config.DialFunc, config.ValidateConnect
	var connected atomic.Bool
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		err := admit(ctx, conn)
		connected.Store(err == nil)
		return err
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() {
			return nil, errNoCancel
		}
		return dial(ctx, network, address)
	}
	return nil
}

// answer is what a server said of itself.
type answer struct {
	host
	identity
	conn *pgx.Conn
}

// findPrimary asks every server that config names who it is, where there are several: of two that take
// writes the one on the higher timeline is used, whichever the URL names first, and the other one
// is refused aloud.
func (f *fence) findPrimary(ctx context.Context, config *pgx.ConnConfig) {
	named := hosts(&config.Config)
	if len(named) == 1 {
		return
	}
	answers := make([]*answer, len(named))
	var asking sync.WaitGroup
	for i, one := range named {
		asking.Go(func() { answers[i] = askHost(ctx, config, one) })
	}
	asking.Wait()
	answers = slices.DeleteFunc(answers, func(a *answer) bool { return a == nil })
	slices.SortStableFunc(answers, func(a, b *answer) int {
		return cmp.Or(cmp.Compare(f.lastSeen(b.database), f.lastSeen(a.database)), cmp.Compare(b.timeline, a.timeline))
	})
	chosen := false
	for _, a := range answers {
		admitting, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
		err := f.admitAs(admitting, a.conn.PgConn(), a.identity)
		cancel()
		if err == nil && !chosen {
			f.mutex.Lock()
			f.host, chosen = a.host, true
			f.mutex.Unlock()
		}
		closeConn(a.conn)
	}
}

// askHost asks one of the servers of config; nil when it does not say.
func askHost(ctx context.Context, config *pgx.ConnConfig, one host) *answer {
	alone := config.Copy()
	alone.Tracer, alone.ValidateConnect = nil, nil
	try(&alone.Config, slices.DeleteFunc(ways(&alone.Config), func(way *pgconn.FallbackConfig) bool { return !one.isOf(way) }))
	asking, cancel := context.WithTimeout(ctx, alone.ConnectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(asking, alone)
	if err != nil {
		return nil // whoever wants to connect is told
	}
	is, err := identityOf(asking, conn.PgConn())
	if err != nil {
		closeConn(conn)
		return nil
	}
	return &answer{one, is, conn}
}

// lastSeen is the timeline that a database was seen on, 0 when it never was.
func (f *fence) lastSeen(database string) int64 {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if high := f.all[database]; high != nil {
		return high.Timeline
	}
	return 0
}
