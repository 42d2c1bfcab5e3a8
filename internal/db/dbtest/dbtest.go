// Package dbtest gives every test a database of its own on a real PostgreSQL: one server a test binary, one migrated template,
// cloned for each test.
package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"headroom/internal/db"
	"headroom/internal/db/pglocal"
)

// template is the migrated database that tests get copies of.
const template = "headroom_template"

// patience bounds what a test waits for its database.
const patience = time.Minute

// cluster is the server of this test binary.
type cluster struct {
	server *pglocal.Server
	admin  *pgxpool.Pool
	count  atomic.Int64
}

var running *cluster

// Main runs a package's tests with a PostgreSQL beside them: func TestMain(m *testing.M) { dbtest.Main(m) }.
func Main(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "headroom-dbtest-")
	if err != nil {
		return complain(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	// What is lost in a crash may be lost: the cluster dies with the tests.
	server, err := pglocal.Start(ctx, dir, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=500")
	if err != nil {
		return complain(err)
	}
	defer server.Stop()
	admin, err := pgxpool.New(ctx, server.URL)
	if err != nil {
		return complain(err)
	}
	defer admin.Close()
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+template); err != nil {
		return complain(err)
	}
	if err := db.Migrate(ctx, onDatabase(server.URL, template)); err != nil {
		return complain(err)
	}
	running = &cluster{server: server, admin: admin}
	return m.Run()
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "the tests need a PostgreSQL server:", err)
	return 1
}

// New opens a fresh, migrated, empty database, which is dropped when the test ends.
func New(t testing.TB) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// URL makes a fresh, migrated, empty database, which is dropped when the test ends.
func URL(t testing.TB) string {
	t.Helper()
	return create(t, " TEMPLATE "+template)
}

// EmptyURL makes a database without any tables, which is dropped when the test ends.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return create(t, "")
}

func create(t testing.TB, how string) string {
	t.Helper()
	if running == nil {
		t.Fatal("this package's TestMain must call dbtest.Main")
	}
	name := fmt.Sprintf("test_%d", running.count.Add(1))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := running.admin.Exec(ctx, "CREATE DATABASE "+name+how); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := running.admin.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return onDatabase(running.server.URL, name)
}

// onDatabase is the URL of another database on the same server.
func onDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err) // pglocal made it
	}
	u.Path = "/" + name
	return u.String()
}
