package db_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/testwait"
	"headroom/migrations"
)

// schema describes every column, index, trigger, constraint and function of ours at url.
func schema(t *testing.T, url string) []string {
	t.Helper()
	conn := must.Get(pgx.Connect(t.Context(), url))(t)
	defer conn.Close(t.Context())
	rows := must.Get(conn.Query(t.Context(), `
		SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) AS line FROM information_schema.columns WHERE table_schema = 'public'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
		UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
		UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
		ORDER BY line`))(t)
	return must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
}

// TestAnInterruptedMigrationGoesOn: a step is done whole, with the note of it, or not at all, so that
// after a program that died in its middle the next one goes on from the step before.
func TestAnInterruptedMigrationGoesOn(t *testing.T) {
	t.Parallel()
	url, ctx := dbtest.EmptyURL(t), t.Context()
	somebody := must.Get(pgx.Connect(ctx, url))(t)
	defer somebody.Close(ctx)
	must.Get(somebody.Exec(ctx, `BEGIN; CREATE TABLE studies ()`))(t) // what the step makes, too, so that it waits
	died := make(chan error)
	go func() { died <- db.Migrate(ctx, url) }()
	other := must.Get(pgx.Connect(ctx, url))(t)
	defer other.Close(ctx)
	killed := false
	testwait.Eventually(t, "a step that waits", func() bool {
		must.Do(t, other.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%CREATE TABLE%'`).Scan(&killed))
		return killed
	})
	if err := <-died; !errors.Is(err, study.ErrUnavailable) { // which a starting server waits for
		t.Errorf("it was killed and says %v", err)
	}
	must.Get(somebody.Exec(ctx, `ROLLBACK`))(t)
	if err := db.Migrate(ctx, url); err != nil {
		t.Error(err)
	}
}

// TestOnlyAServerMigratesWhatIsInUse: what is done beside one leaves a database as it is, unless that is
// empty.
func TestOnlyAServerMigratesWhatIsInUse(t *testing.T) {
	t.Parallel()
	url, ctx := dbtest.EmptyURL(t), t.Context()
	must.Get(db.Beside(ctx, url, ""))(t).Close()
	conn := must.Get(pgx.Connect(ctx, url))(t)
	defer conn.Close(ctx)
	must.Get(conn.Exec(ctx, `UPDATE schema_migrations SET version = 0`))(t)
	if _, err := db.Beside(ctx, url, ""); err == nil || !strings.Contains(err.Error(), "it is at schema 0, and this program needs ") {
		t.Errorf("an older schema: %v", err)
	}
}

// Each step's way back leaves what was there before the step, also where the tables are full.
func TestMigrationsGoDownAndUpAgain(t *testing.T) {
	t.Parallel()
	d := filled(t)
	url, ctx := d.Pool().Config().ConnString(), t.Context()
	to := func(version uint) []string {
		t.Helper()
		if err := db.MigrateTo(ctx, url, version); err != nil {
			t.Fatalf("to schema %d: %v", version, err)
		}
		return schema(t, url)
	}
	latest := migrations.Latest
	full := schema(t, url)
	down := [][]string{full}
	for version := latest; version > 0; version-- {
		down = append(down, to(version-1))
	}
	for version := range latest {
		if diff := cmp.Diff(down[latest-version], to(version)); diff != "" {
			t.Errorf("up again to schema %d (-before +after)\n%s", version, diff)
		}
	}
	if diff := cmp.Diff(full, to(latest)); diff != "" {
		t.Errorf("up again to the last schema (-before +after)\n%s", diff)
	}
	for _, line := range to(0) {
		if !strings.Contains(line, "schema_migrations") { // the migrator's own table
			t.Errorf("the way back leaves %s", line)
		}
	}
	if err := db.MigrateTo(ctx, url, latest+1); err == nil {
		t.Error("there is no such schema")
	}
}
