package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"headroom/internal/study"
	"headroom/migrations"
)

// Migrate migrates the database at url to this program's schema. It refuses a database that a newer
// program has migrated.
func Migrate(ctx context.Context, url string) error {
	return MigrateTo(ctx, url, migrations.Latest)
}

// MigrateTo migrates the database to schema version target, up or down; 0 is an empty database. The
// file of a step down says what it drops.
func MigrateTo(ctx context.Context, url string, target uint) error {
	return newFence("").migrate(ctx, url, target, false)
}

// migrate is MigrateTo. With inUse it fails if the database is at an older schema.
func (f *fence) migrate(ctx context.Context, url string, target uint, inUse bool) error {
	if target > migrations.Latest {
		return fmt.Errorf("there is no schema %d: the last one is %d", target, migrations.Latest)
	}
	config, err := f.connConfig(ctx, url)
	if err != nil {
		return err
	}
	breaker := newBreaker()
	silent, dial := breaker.now(), config.DialFunc
	watching, done := context.WithCancel(ctx)
	defer done()
	go newListener(config, breaker, f).watchBefore(watching)
	// The migrator has no time limit of its own, but ends when its connection is closed.
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			context.AfterFunc(silent, func() { conn.Close() })
		}
		return conn, err
	}
	err = migrateOn(ctx, stdlib.OpenDB(*config), target, inUse)
	why := migrationError(err)
	if said := pgError(why).Code; said != "" && !isTemporary(said) {
		return err // also if access is denied: a wrong password or name is reported at once
	}
	if away := unavailable(ctx, why); errors.Is(away, study.ErrUnavailable) {
		return away
	}
	return err
}

// migrationError returns the error behind one of the migrator's, which do not unwrap to it.
func migrationError(err error) error {
	if failed, ok := errors.AsType[*database.Error](err); ok {
		return failed.OrigErr
	}
	if failed, ok := errors.AsType[database.Error](err); ok {
		return failed.OrigErr
	}
	return err
}

func migrateOn(ctx context.Context, pool *sql.DB, target uint, inUse bool) error {
	defer pool.Close()
	// Servers that start together migrate one after another, each until it closes its pool.
	alone, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer alone.Close()
	if _, err := alone.ExecContext(ctx, `SELECT pg_advisory_lock(hashtext('headroom migration'))`); err != nil {
		return err
	}
	steps, err := newMigrate(pool)
	if err != nil {
		return err
	}
	defer steps.Close()
	present, dirty, err := steps.Version()
	switch {
	case errors.Is(err, migrate.ErrNilVersion):
	case err != nil:
		return err
	case dirty:
		return fmt.Errorf("migration %d of the database was interrupted: restore a backup, or mend it by hand and set schema_migrations", present)
	case present > migrations.Latest:
		return newerDatabase(present)
	case inUse && present < target:
		return fmt.Errorf("it is at schema %d, and this program needs %d: use the program version of the server that uses it, or start this one as the server, or run “headroom migrate”", present, target)
	}
	if target == 0 {
		err = steps.Down()
	} else {
		err = steps.Migrate(target)
	}
	if err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return fmt.Errorf("migrating the database: %w", err)
	}
	return nil
}

func newMigrate(pool *sql.DB) (*migrate.Migrate, error) {
	files, err := iofs.New(migrations.Files, ".")
	if err != nil {
		return nil, err
	}
	target, err := migratepgx.WithInstance(pool, &migratepgx.Config{})
	if err != nil {
		return nil, err
	}
	return migrate.NewWithInstance("migrations", files, "headroom", &atomicSteps{Driver: target})
}

// atomicSteps runs each step and the record of it in one transaction, so that a program that dies
// in the middle of a step leaves the database as it was before, and the next one can continue. The
// migrator itself would record the step before and after, in transactions of their own.
type atomicSteps struct {
	database.Driver
	next int // the version after the step
}

func (w *atomicSteps) SetVersion(version int, _ bool) error {
	w.next = version
	return nil
}

func (w *atomicSteps) Run(step io.Reader) error {
	note := ";\nDELETE FROM schema_migrations"
	if w.next != database.NilVersion {
		note += fmt.Sprintf("; INSERT INTO schema_migrations VALUES (%d, false)", w.next)
	}
	return w.Driver.Run(io.MultiReader(step, strings.NewReader(note))) // PostgreSQL runs statements sent together in one transaction
}

func newerDatabase(present uint) error {
	return fmt.Errorf("%w: it is at schema %d, this program knows %d; run the newer program", study.ErrNewer, present, migrations.Latest)
}

// Ready reports whether the database answers and has this program's schema.
func (d *DB) Ready(ctx context.Context) error {
	var present uint
	var dirty bool
	err := d.pool.QueryRow(ctx, `SELECT version, dirty FROM schema_migrations`).Scan(&present, &dirty)
	switch {
	case pgError(err).Code == undefinedTable, errors.Is(err, pgx.ErrNoRows):
		return &study.Later{Sentence: "The database has not been migrated."}
	case err != nil:
		return unavailable(ctx, err)
	case present > migrations.Latest:
		return newerDatabase(present)
	case dirty || present < migrations.Latest:
		return &study.Later{Sentence: fmt.Sprintf("The database is at schema %d, and this program needs %d.", present, migrations.Latest)}
	}
	return nil
}
