package db_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

func TestPoolsShareTheConnectionsOfTheURL(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	for _, c := range []struct {
		setting           string
		general, choosing int32
	}{{"", 16, 8}, {"&pool_max_conns=3", 1, 1}, {"&pool_max_conns=6", 4, 1}, {"&pool_max_conns=100&pool_min_conns=90", 66, 33}} {
		d := must.Get(db.Up(t.Context(), url+c.setting, ""))(t) // as a server starts: what migrates opens no pool
		if general, choosing := d.Connections(); general != c.general || choosing != c.choosing {
			t.Errorf("%q: %d and %d, want %d and %d", c.setting, general, choosing, c.general, c.choosing)
		}
		d.Close()
	}
	for _, few := range []string{"1", "2"} {
		if _, err := db.Up(t.Context(), url+"&pool_max_conns="+few, ""); err == nil || !strings.Contains(err.Error(), "at least 3") {
			t.Errorf("pool_max_conns=%s got %v", few, err)
		}
	}
}

// The fewest connections do for a crowd that asks and tells in many studies at once, and no more
// are opened.
func TestFewConnectionsAreEnough(t *testing.T) {
	t.Parallel()
	url, ctx := dbtest.URL(t), t.Context()
	d := open(t, url+"&pool_max_conns=3")
	service := serve(t, d)
	looker := must.Get(pgx.Connect(ctx, url))(t)
	defer looker.Close(ctx)
	var wait sync.WaitGroup
	for i := range crowd {
		wait.Go(func() {
			by := study.Command{By: fmt.Sprint("person ", i)}
			made, err := service.Create(ctx, by, definition())
			if err != nil {
				t.Error(err)
				return
			}
			asked, numbers, err := service.Ask(ctx, by, made.ID, study.Ask{})
			if err == nil {
				_, err = service.Tell(ctx, by, asked.ID, numbers[0], ledger.Telling{Metrics: map[string]ledger.Reading{"y": {Value: 1}}})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	// Choosing locks of as many studies as there may be, and a request.
	var open int
	if err := d.Studies.Choosing(ctx, "one", func(ctx context.Context) error {
		return looker.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'headroom'`).Scan(&open)
	}); err != nil || open > 3 {
		t.Fatalf("%d connections are open, %v", open, err)
	}
}

// TestRoomIsCounted: as many as the database takes at most, by whichever limit is the least, and
// as this server opens.
func TestRoomIsCounted(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	counts := func() (taken, opened int32) {
		t.Helper()
		taken, opened, err := d.Room(t.Context())
		must.Do(t, err)
		return taken, opened
	}
	if taken, opened := counts(); taken != 500-3 || opened != 25 {
		t.Errorf("of a usual database it says that it takes %d, and that %d are opened", taken, opened)
	}
	var name string
	must.Do(t, d.Pool().QueryRow(t.Context(), `SELECT current_database()`).Scan(&name))
	must.Get(d.Pool().Exec(t.Context(), `ALTER DATABASE `+name+` CONNECTION LIMIT 20`))(t)
	if taken, _ := counts(); taken != 20 {
		t.Errorf("of a narrow database it says that it takes %d", taken)
	}
}
