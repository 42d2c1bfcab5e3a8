package db_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/migrations"
)

// version1 is a backup that the program of schema 1 wrote: three studies with trials played,
// corrected, excluded, failed and waiting.
func version1(t *testing.T) []byte {
	t.Helper()
	file, err := os.ReadFile("testdata/version1.backup.gz")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// columns describes every column and index of the schema.
func columns(t *testing.T, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `
		SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) AS line FROM information_schema.columns WHERE table_schema = 'public'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
		UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
		UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		ORDER BY line`)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantCounts checks that the list shows of version1's studies what their ledgers say, and that the
// ledgers are whole.
func wantCounts(t *testing.T, url string) {
	t.Helper()
	d := open(t, url)
	defer d.Close()
	if checked, err := d.CheckLedgers(t.Context()); err != nil || checked != 3 {
		t.Fatalf("%d ledgers are whole, %v", checked, err)
	}
	listed, err := d.Studies.Summaries(t.Context(), study.Listing{})
	if err != nil {
		t.Fatal(err)
	}
	type counts struct {
		Trials, Waiting, Feasible, Known, Best int
		Oldest                                 bool
	}
	got := map[string]counts{}
	service := study.NewService(d.Studies, study.Options{})
	defer service.Stop()
	for _, one := range listed {
		c := counts{one.Trials, one.Waiting, one.Feasible, one.Known, 0, one.OldestWaiting != nil}
		if one.Best != nil {
			c.Best = one.Best.Number
		}
		got[one.Name] = c
		snap, err := service.Snapshot(t.Context(), one.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(snap.Summary(), one); diff != "" {
			t.Errorf("%s (-ledger +row)\n%s", one.Name, diff)
		}
	}
	// As the program of schema 1 counted them.
	want := map[string]counts{
		"Reactor":   {Trials: 12, Waiting: 3, Feasible: 5, Known: 8, Best: 8, Oldest: true},
		"Minimised": {Trials: 3, Known: 3},
		"Empty":     {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

// studiesOfVersion1 serves what an earlier program wrote, of which list tells.
func studiesOfVersion1(t *testing.T) (service *study.Service, list []ledger.Summary) {
	t.Helper()
	url := dbtest.EmptyURL(t)
	if err := db.Restore(t.Context(), url, bytes.NewReader(version1(t))); err != nil {
		t.Fatal(err)
	}
	d := open(t, url)
	service = serve(t, d)
	list, err := d.Studies.Summaries(t.Context(), study.Listing{})
	if err != nil || len(list) != 3 {
		t.Fatalf("%v, %v", list, err)
	}
	return service, list
}

// What was restored can be taken out and taken in again.
func TestStudiesOfVersion1MoveOn(t *testing.T) {
	t.Parallel()
	service, list := studiesOfVersion1(t)
	ctx := t.Context()
	for _, one := range list {
		snap, err := service.Snapshot(ctx, one.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := service.Export(ctx, snap, &file); err != nil {
			t.Fatal(err)
		}
		again, err := service.ImportBundle(ctx, study.Command{By: "Ana"}, &file)
		if err != nil {
			t.Errorf("%s: %v", one.Name, err)
			continue
		}
		if again.Hash != snap.Hash {
			t.Errorf("%s: another hash", one.Name)
		}
	}
}

// What an earlier program began goes on: results are told, trials asked for, and what was decided
// by its rules is said to be so, not taken for forged.
func TestStudiesOfVersion1GoOn(t *testing.T) {
	t.Parallel()
	service, list := studiesOfVersion1(t)
	ctx := t.Context()
	for _, one := range list {
		before, open := one.Trials, ledger.Open
		if _, err := service.Edit(ctx, study.Command{By: "Ana"}, one.ID, ledger.EditedData{State: &open}); err != nil {
			t.Fatal(err)
		}
		snap, numbers, err := service.Ask(ctx, study.Command{By: "Ana"}, one.ID, study.Ask{})
		if err != nil {
			t.Errorf("%s: %v", one.Name, err)
			continue
		}
		metrics := map[string]ledger.Reading{snap.Definition.Objective.Metric: {Value: 61}}
		if snap, err = service.Tell(ctx, study.Command{By: "Ana"}, one.ID, numbers[0], ledger.Telling{Metrics: metrics}); err != nil {
			t.Errorf("%s: %v", one.Name, err)
			continue
		}
		if len(snap.Definition.Algorithm.Settings) == 0 || snap.Definition.Stop == nil {
			t.Errorf("%s: not every setting is there: %+v", one.Name, snap.Definition)
		}
		found, err := service.Verify(ctx, snap)
		decided := 0
		for _, trial := range snap.Trials[:before] {
			if trial.Decision != nil {
				decided++
			}
		}
		want := study.Verification{OK: true, Checked: 1, Different: []study.Difference{}, LedgerIntact: true, Rules: study.RulesPresent}
		if decided > 0 {
			want.Rules, want.Unchecked, want.GoneEngines = study.RulesGone, decided, []string{"1"}
		}
		if diff := cmp.Diff(want, found); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +found)\n%s", one.Name, err, diff)
		}
	}
}

// Down and up again, step by step and with data: the schemas are the same each time, and no ledger
// loses an entry.
func TestMigrationsGoDownAndUpAgain(t *testing.T) {
	t.Parallel()
	url, ctx := dbtest.EmptyURL(t), t.Context()
	to := func(schema uint) []string {
		t.Helper()
		if err := db.MigrateTo(ctx, url, schema); err != nil {
			t.Fatalf("to schema %d: %v", schema, err)
		}
		return columns(t, url)
	}
	latest, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	schemas := [][]string{to(0)}
	for n := uint(1); n <= latest; n++ {
		schemas = append(schemas, to(n))
		if slices.Equal(schemas[n], schemas[n-1]) {
			t.Errorf("step %d changes nothing that this test sees", n)
		}
	}
	to(0)
	if err := db.Restore(ctx, url, bytes.NewReader(version1(t))); err != nil {
		t.Fatal(err)
	}
	wantCounts(t, url)
	for n := latest - 1; n >= 1; n-- {
		if diff := cmp.Diff(schemas[n], to(n)); diff != "" {
			t.Errorf("down to schema %d (-up +down)\n%s", n, diff)
		}
	}
	for n := uint(2); n <= latest; n++ {
		if diff := cmp.Diff(schemas[n], to(n)); diff != "" {
			t.Errorf("up again to schema %d (-before +after)\n%s", n, diff)
		}
	}
	wantCounts(t, url)
	to(0)
	if diff := cmp.Diff(schemas[latest], to(latest)); diff != "" {
		t.Errorf("from nothing (-before +after)\n%s", diff)
	}
	if err := db.MigrateTo(ctx, url, latest+1); err == nil {
		t.Error("there is no such schema")
	}
}
