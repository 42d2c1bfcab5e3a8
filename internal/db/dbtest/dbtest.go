// Package dbtest gives every test a database of its own on a real PostgreSQL: each test binary has
// one server with a migrated template, which is cloned for each test.
package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"headroom/internal/db"
	"headroom/internal/db/pglocal"
	"headroom/internal/must"
	"headroom/internal/testwait"
)

// Folder creates a folder that only this user may enter. t.TempDir would put it into another such
// folder, where the user that PostgreSQL runs as when root runs the tests could not reach it.
func Folder(t testing.TB) string {
	t.Helper()
	folder := must.Get(os.MkdirTemp("", "headroom-test-"))(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// template is a migrated database, and migrated how it is copied for each test.
const template, migrated = "headroom_template", " TEMPLATE headroom_template"

// cluster is a PostgreSQL server with a migrated template database.
type cluster struct {
	server *pglocal.Server
	admin  *pgxpool.Pool
	count  atomic.Int64
}

var running *cluster

// Main runs a package's tests with a PostgreSQL beside them: func TestMain(m *testing.M) {
// dbtest.Main(m) }.
func Main(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "headroom-dbtest-")
	if err != nil {
		return complain(err)
	}
	defer os.RemoveAll(dir)
	// The cluster dies with the tests, so a crash may lose data. Until then the databases stay:
	// dropping hundreds, and vacuuming them, took as long as the tests.
	running, err = start(context.Background(), dir, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off", "max_connections=500")
	if err != nil {
		return complain(err)
	}
	defer running.stop()
	return m.Run()
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "the tests need a PostgreSQL server:", err)
	return 1
}

func start(ctx context.Context, dir string, settings ...string) (*cluster, error) {
	// Only this user can enter the socket's folder, so no password is asked for: it would cost each
	// connection thousands of hashes.
	trust := filepath.Join(dir, "trust.conf")
	if err := os.WriteFile(trust, []byte("local all all trust\n"), 0o644); err != nil {
		return nil, err
	}
	server, err := pglocal.Start(ctx, dir, append(settings, "hba_file="+trust)...)
	if err != nil {
		return nil, err
	}
	c := &cluster{server: server}
	if c.admin, err = pgxpool.New(ctx, server.URL); err != nil {
		server.Stop()
		return nil, err
	}
	if _, err = c.admin.Exec(ctx, "CREATE DATABASE "+template); err == nil {
		err = db.Migrate(ctx, onDatabase(server.URL, template))
	}
	if err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *cluster) stop() {
	c.admin.Close()
	c.server.Stop()
}

// OwnURL makes a fresh, migrated, empty database on a server for one test alone. It keeps what it
// commits, as a real server does, and stops when the test ends.
func OwnURL(t testing.TB) string {
	t.Helper()
	c := must.Get(start(t.Context(), Folder(t)))(t)
	t.Cleanup(c.stop)
	return c.create(t, migrated)
}

// New opens a fresh, migrated, empty database.
func New(t testing.TB) *db.DB {
	t.Helper()
	d := must.Get(db.Up(t.Context(), URL(t), ""))(t)
	t.Cleanup(d.Close)
	return d
}

// patient is appended to URLs of the shared server, where nothing is frozen: on a busy machine
// answers and locks may take long.
const patient = "&connect_timeout=60&lock_timeout=60000&idle_in_transaction_session_timeout=60000"

// URL makes a fresh, migrated, empty database.
func URL(t testing.TB) string {
	t.Helper()
	return shared(t).create(t, migrated) + patient
}

// EmptyURL makes a database without any tables.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return shared(t).create(t, "") + patient
}

func shared(t testing.TB) *cluster {
	t.Helper()
	if running == nil {
		t.Fatal("this package's TestMain must call dbtest.Main")
	}
	return running
}

func (c *cluster) create(t testing.TB, how string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", c.count.Add(1))
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Timeout)
	defer cancel()
	must.Get(c.admin.Exec(ctx, "CREATE DATABASE "+name+how))(t)
	return onDatabase(c.server.URL, name)
}

func onDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err) // pglocal made it
	}
	u.Path = "/" + name
	return u.String()
}
