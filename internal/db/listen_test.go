package db_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/testwait"
)

func open(t testing.TB, url string) *db.DB {
	t.Helper()
	d := must.Get(db.Open(t.Context(), url))(t)
	t.Cleanup(d.Close)
	return d
}

// until polls a query for true.
func until(t *testing.T, d *db.DB, what, query string) {
	t.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for giveUp := time.Now().Add(testwait.Timeout); time.Now().Before(giveUp); <-again.C {
		var yes bool
		if err := d.Pool().QueryRow(t.Context(), query).Scan(&yes); err != nil {
			t.Error(err)
			return
		}
		if yes {
			return
		}
	}
	t.Errorf("%s did not happen", what)
}

func awaitLockWait(t *testing.T, d *db.DB) {
	t.Helper()
	until(t, d, "waiting for a lock", `
		SELECT count(*) > 0 FROM pg_locks JOIN pg_database ON pg_database.oid = database
		WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`)
}

// hold locks rows until the returned function is called, once that many statements wait for them:
// so all of a crowd have started before the first gets on.
func hold(t *testing.T, d *db.DB, table string) (release func(waiting int)) {
	t.Helper()
	tx := must.Get(d.Pool().Begin(t.Context()))(t)
	must.Get(tx.Exec(t.Context(), `SELECT FROM `+table+` FOR UPDATE`))(t)
	return func(waiting int) {
		until(t, d, "waiting for rows", fmt.Sprintf(`
			SELECT count(*) >= %d FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`, waiting))
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func awaitListener(t *testing.T, d *db.DB) {
	t.Helper()
	until(t, d, "listening", `
		SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT id, version FROM studies%' AND state = 'idle'`)
}

// hears waits until the subscriber was told seq.
func hears(t *testing.T, changes <-chan int64, seq int64) {
	t.Helper()
	for receive(t, changes) != seq {
		continue
	}
}

func TestEveryServerHearsOfChanges(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	writer, reader := open(t, url), open(t, url)
	awaitListener(t, reader)
	l, state := createStudy(t, writer, "with:colon")
	changes, cancel := reader.Subscribe("with:colon")
	defer cancel()
	other, cancelOther := reader.Subscribe("another")
	defer cancelOther()
	for range 30 {
		state = l.note(t, writer, "with:colon", state)
	}
	hears(t, changes, 31)
	select {
	case seq := <-other:
		if seq != 0 {
			t.Fatalf("another study heard of %d", seq)
		}
	default:
	}
}

// A writer may die between its commit and its notice: those who watch hear of it at the next
// heartbeat.
func TestChangesWithoutNoticeAreFound(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	writer, reader := open(t, url), open(t, url)
	awaitListener(t, reader)
	changes, cancel := reader.Subscribe("one")
	defer cancel()
	l, state := createStudy(t, reader, "one")
	hears(t, changes, 1)
	writer.StopBackground()
	l.note(t, writer, "one", state)
	hears(t, changes, 2)
}

func TestListenerComesBackAndPokes(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	awaitListener(t, d)
	l, state := createStudy(t, d, "one")
	changes, cancel := d.Subscribe("one")
	defer cancel()
	must.Get(d.Pool().Exec(t.Context(), `
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT id, version FROM studies%'`))(t)
	hears(t, changes, 0) // whatever was missed, look
	l.note(t, d, "one", state)
	hears(t, changes, 2)
}

func TestLostConnectionIsUnavailable(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	l, state := createStudy(t, d, "one")
	add := l.noted(state, `{"name":"a"}`)
	err := d.Studies.Write(t.Context(), "one", study.Command{}, study.Known{}, func(news []ledger.Event) (study.Append, error) {
		if len(news) == 0 {
			return add, errors.New("not from what the caller knew")
		}
		// The connection that holds the row's lock is cut, as by a restart of the server.
		_, err := d.Pool().Exec(t.Context(), `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()`)
		return add, err
	})
	if !errors.Is(err, study.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	if err := write(t, d, "one", state, study.Command{}, add); err != nil {
		t.Fatalf("after the loss nothing was stored, and the next write works; but got %v", err)
	}
	if _, err := db.Open(t.Context(), "postgres://nobody@127.0.0.1:1/nothing"); !errors.Is(err, study.ErrUnavailable) {
		t.Fatalf("no server got %v", err)
	}
}

// TestWhoIsNotLetInComesBack: while a password is changed or a database restored, a server that runs is
// turned away, and its callers are told to come again. One that starts says at once what is wrong.
func TestWhoIsNotLetInComesBack(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	d := open(t, url)
	var backup bytes.Buffer
	must.Get(d.Backup(t.Context(), &backup))(t)
	other := must.Get(pgx.Connect(t.Context(), dbtest.EmptyURL(t)))(t)
	defer other.Close(t.Context())
	must.Get(other.Exec(t.Context(), `ALTER DATABASE `+d.Pool().Config().ConnConfig.Database+` ALLOW_CONNECTIONS false`))(t)
	d.Pool().Reset()
	for what, err := range map[string]error{"a look": d.Ready(t.Context()), "a write": d.Accounts.RevokeToken(t.Context(), "nobody")} {
		if !errors.Is(err, study.ErrUnavailable) {
			t.Errorf("%s got %v", what, err)
		}
	}
	for what, err := range map[string]error{"who starts": db.Migrate(t.Context(), url), "who restores": db.Restore(t.Context(), url, &backup)} {
		if err == nil || errors.Is(err, study.ErrUnavailable) {
			t.Errorf("%s got %v", what, err)
		}
	}
}

func TestUnsupportedSchemasAreRefused(t *testing.T) {
	t.Parallel()
	empty := dbtest.EmptyURL(t)
	if _, err := db.Open(t.Context(), empty); err == nil {
		t.Fatal("a database without tables was opened")
	}
	url := dbtest.URL(t)
	d := open(t, url)
	must.Get(d.Pool().Exec(t.Context(), `UPDATE schema_migrations SET version = 9999`))(t)
	for name, try := range map[string]func() error{
		"Migrate": func() error { return db.Migrate(t.Context(), url) },
		"Ready":   func() error { return d.Ready(t.Context()) },
	} {
		if err := try(); err == nil || errors.Is(err, study.ErrUnavailable) {
			t.Errorf("%s of a newer database got %v", name, err)
		}
	}
}

func TestServersMayMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.EmptyURL(t)
	results := make(chan error, 4)
	for range cap(results) {
		go func() { results <- db.Migrate(t.Context(), url) }()
	}
	for range cap(results) {
		if err := receive(t, results); err != nil {
			t.Error(err)
		}
	}
	open(t, url)
}
