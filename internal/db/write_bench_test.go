package db_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// BenchmarkTell compares telling through the service with a bare transaction of the same rows, on a
// server that keeps what it commits, by the number of trials told before. Run it with
// -benchtime=10x.
func BenchmarkTell(b *testing.B) {
	for _, trials := range []int{10, 300, 1000} {
		b.Run(fmt.Sprintf("trials=%d", trials), func(b *testing.B) {
			url := dbtest.OwnURL(b)
			service := serve(b, open(b, url))
			fill := func() (ids []string) {
				for range loadStudies {
					id := create(b, service, reactor()).ID
					must.Get(service.ImportCSV(b.Context(), ana, id, strings.NewReader(loadTable(trials)), study.ImportOptions{}))(b)
					ids = append(ids, id)
				}
				return ids
			}
			compareWithBare(b, url, fill, func(ctx context.Context, id string, i int) error {
				_, err := service.Tell(ctx, ana, id, trials+1+i, ledger.Telling{Metrics: map[string]ledger.Reading{
					"yield": {Value: 71.25}, "impurity": {Value: 0.31}}})
				return err
			})
		})
	}
}

// loadTable is a table of trials with results and, after them, loadWaiting without.
func loadTable(trials int) string {
	var rows strings.Builder
	rows.WriteString("temperature,cycles,yield,impurity\n")
	for i := range trials + loadWaiting {
		fmt.Fprintf(&rows, "%d,%d,", 20+i%41, 1+i%12)
		if i < trials {
			fmt.Fprintf(&rows, "%d.25,0.%d\n", 40+i%37, 10+i%60)
		} else {
			rows.WriteString(",\n")
		}
	}
	return rows.String()
}

// The load for comparing writes: the number of clients and studies, and of each study's trials that
// wait for a result.
const (
	loadStudies = 20
	loadWaiting = 200
	loadClients = 8
	loadSlice   = 400 // writes of one kind in a row, before the other kind's turn
)

// load is a run of the comparison.
type load struct {
	b    *testing.B
	bare *pgxpool.Pool
	ids  []string
	done int // writes of each kind since the studies were made
}

// compareWithBare measures how many tells per second are reached, and how many bare transactions
// that write the same rows, alternately in the same run on the database at url, so that both meet
// the same machine. share is the first over the second. fill makes loadStudies studies with
// loadWaiting waiting trials each and returns their ids; tell reports the result of a study's i-th
// waiting trial, from 0 on.
func compareWithBare(b *testing.B, url string, fill func() (ids []string), tell func(ctx context.Context, id string, i int) error) {
	b.Helper()
	l := &load{b: b, bare: must.Get(pgxpool.New(b.Context(), fmt.Sprintf("%s&pool_max_conns=%d", url, loadClients)))(b)}
	b.Cleanup(l.bare.Close)
	l.begin(fill())
	var bare, told time.Duration
	writes := 0
	for b.Loop() {
		if l.done+loadSlice > loadStudies*loadWaiting {
			b.StopTimer()
			l.begin(fill())
			b.StartTimer()
		}
		bare += l.crowd(l.transact)
		told += l.crowd(tell)
		l.done += loadSlice
		writes += loadSlice
	}
	b.ReportMetric(float64(writes)/bare.Seconds(), "bare/s")
	b.ReportMetric(float64(writes)/told.Seconds(), "tells/s")
	b.ReportMetric(bare.Seconds()/told.Seconds(), "share")
}

// begin adds a row beside each study for the bare transactions.
func (l *load) begin(ids []string) {
	l.b.Helper()
	for _, id := range ids {
		must.Get(l.bare.Exec(l.b.Context(), `
			INSERT INTO studies SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'bare ' || s.id))).* FROM studies s WHERE id = $1`, id))(l.b)
	}
	l.ids, l.done = ids, 0
}

// transact writes what a tell writes, from data prepared beforehand: begin, update the study's row,
// insert the event, commit.
func (l *load) transact(ctx context.Context, id string, i int) error {
	seq, at, hash := 1_000_000+i, time.Now(), strings.Repeat("0", 64)
	data := fmt.Sprintf(`{"metrics":{"impurity":{"value":0.31},"yield":{"value":71.25}},"number":%d}`, i)
	return pgx.BeginFunc(ctx, l.bare, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE studies SET version = $2, hash = $3, updated_at = $4 WHERE id = $1`, "bare "+id, seq, hash, at); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO events (study_id, seq, at, by, kind, data, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			"bare "+id, seq, at, "Ana", "told", data, hash)
		return err
	})
}

// crowd has the clients write a slice, and returns how long that took.
func (l *load) crowd(write func(ctx context.Context, id string, i int) error) time.Duration {
	l.b.Helper()
	var wait sync.WaitGroup
	begin := time.Now()
	for client := range loadClients {
		wait.Go(func() {
			for n := l.done + client; n < l.done+loadSlice; n += loadClients {
				if err := write(l.b.Context(), l.ids[n%loadStudies], n/loadStudies); err != nil {
					l.b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	return time.Since(begin)
}
