package db_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/study"
)

// manyStudies are the rows of 2,000 studies of 200 trials each, manyEvents their ledgers, an entry
// a trial.
const (
	manyStudies = `
		INSERT INTO studies (id, name, state, algorithm, version, hash, created_at, updated_at, trials, waiting, oldest_waiting, feasible, known, best, limits, simulated_lab)
		SELECT 'study' || i, 'Study ' || i, 'open', 'rpol-ucb', 200, repeat('0', 64), timestamptz '2026-01-01' + i * interval '1 minute',
			timestamptz '2026-02-01' + (i * 7919 % 2000) * interval '1 minute', 200, 2, timestamptz '2026-02-01', 100, 198,
			'{"number":17,"metric":"yield","value":71.2,"unit":"%"}', '[]', '' FROM generate_series(1, 2000) AS i`
	manyEvents = `
		INSERT INTO events (study_id, seq, at, by, kind, data, hash)
		SELECT 'study' || i, n, timestamptz '2026-02-01', 'Ana', 'told', '{"metrics":{"impurity":{"value":0.31},"yield":{"value":71.25}},"number":1}', repeat('0', 64)
		FROM generate_series(1, 2000) AS i, generate_series(1, 200) AS n`
)

// databaseOf is a database that statements filled.
func databaseOf(t testing.TB, statements ...string) *db.DB {
	t.Helper()
	d := dbtest.New(t)
	for _, statement := range append(statements, `VACUUM ANALYZE`) {
		if _, err := d.Pool().Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// BenchmarkStudyList lists 2,000 studies of 200 trials: all, and pages of 100 at the start and far
// behind.
func BenchmarkStudyList(b *testing.B) {
	d := databaseOf(b, manyStudies, manyEvents)
	all, err := d.Studies.Summaries(b.Context(), study.Listing{})
	if err != nil {
		b.Fatal(err)
	}
	far := study.Mark{UpdatedAt: all[1800].UpdatedAt, ID: all[1800].ID}
	for _, c := range []struct {
		name string
		list study.Listing
		want int
	}{{"all", study.Listing{}, 2000}, {"first", study.Listing{Limit: 100}, 100}, {"far", study.Listing{Limit: 100, After: &far}, 100}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if got, err := d.Studies.Summaries(b.Context(), c.list); err != nil || len(got) != c.want {
					b.Fatalf("%d studies, %v", len(got), err)
				}
			}
		})
	}
}

// A page is read from the index, from its place on: neither trials nor ledgers are read, nor the
// studies before it.
func TestListReadsNoMoreThanItsPage(t *testing.T) {
	t.Parallel()
	d, ctx := databaseOf(t, manyStudies), t.Context()
	conn, err := d.Pool().Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, setup := range []string{
		`SET plan_cache_mode = force_generic_plan`, // the plan that serves whatever page is asked for
		`PREPARE page (timestamptz, text, text[], text[], bigint) AS ` + db.ListStudies,
	} {
		if _, err := conn.Exec(ctx, setup); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := conn.Query(ctx, `EXPLAIN (ANALYZE, COSTS off, TIMING off) EXECUTE page ('2026-02-01 05:00:00+00', 'study7', NULL, NULL, 100)`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	if !strings.Contains(plan, "Index Scan Backward using studies_last_change on studies (actual rows=100 ") || strings.Contains(plan, "Rows Removed") || strings.Contains(plan, "Sort") {
		t.Fatalf("the plan is\n%s", plan)
	}
}
