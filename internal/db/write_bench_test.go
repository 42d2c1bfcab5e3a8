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
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// The load of the write benchmarks: clients tell results to studies, each the next of its own, on a server that keeps what it commits.
const (
	loadStudies = 20
	loadClients = 8
	loadWaiting = 200 // trials of each study that wait for a result
	loadSlice   = 400 // writes in a row of one kind, before the other kind's turn
)

// load is a database with studies whose waiting trials are told one after another.
type load struct {
	b       *testing.B
	service *study.Service
	bare    *pgxpool.Pool
	ids     []string
	told    int // trials told so far, over all studies
	first   int // the first waiting trial of each study
	version int64
}

func newLoad(b *testing.B, trials int) *load {
	b.Helper()
	url := dbtest.Own(b).URL(b)
	store := open(b, url)
	l := &load{b: b, service: study.NewService(store.Studies, study.Options{}), first: trials + 1}
	b.Cleanup(l.service.Stop)
	var err error
	if l.bare, err = pgxpool.New(b.Context(), url+"&pool_max_conns=8"); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(l.bare.Close)
	l.fill(trials)
	return l
}

// fill makes the studies: trials told and loadWaiting not, and beside each a row for the bare transaction.
func (l *load) fill(trials int) {
	l.b.Helper()
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
	l.ids = l.ids[:0]
	for range loadStudies {
		id := create(l.b, l.service, reactor()).ID
		done, err := l.service.ImportCSV(l.b.Context(), ana, id, strings.NewReader(rows.String()), study.ImportOptions{})
		if err != nil {
			l.b.Fatal(err)
		}
		l.version = done.Snapshot.Version
		if _, err := l.bare.Exec(l.b.Context(), bareCopy, id, "bare "+id); err != nil {
			l.b.Fatal(err)
		}
		l.ids = append(l.ids, id)
	}
	l.told = 0
}

// tell tells the next waiting trial, as POST …/tell does.
func (l *load) tell(ctx context.Context, i int) error {
	number := l.first + i/loadStudies
	_, err := l.service.Tell(ctx, ana, l.ids[i%loadStudies], number, ledger.Telling{Metrics: map[string]ledger.Reading{
		"yield": {Value: 71.25}, "impurity": {Value: 0.31}}})
	return err
}

// What a bare transaction writes: the rows that telling writes, prepared beforehand.
const (
	bareCopy  = `INSERT INTO studies SELECT (jsonb_populate_record(s, jsonb_build_object('id', $2::text))).* FROM studies s WHERE id = $1`
	bareStudy = `UPDATE studies SET version = $2, hash = $3, updated_at = $4 WHERE id = $1`
	bareEvent = `INSERT INTO events (study_id, seq, at, by, kind, data, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)`
)

// transact makes the same rows in a bare transaction: begin, update, insert, commit.
func (l *load) transact(ctx context.Context, i int) error {
	id, seq, at := "bare "+l.ids[i%loadStudies], l.version+1+int64(i/loadStudies), time.Now()
	data := fmt.Sprintf(`{"metrics":{"impurity":{"value":0.31},"yield":{"value":71.25}},"number":%d}`, l.first+i/loadStudies)
	return pgx.BeginFunc(ctx, l.bare, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, bareStudy, id, seq, strings.Repeat("0", 64), at); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, bareEvent, id, seq, at, "Ana", "told", data, strings.Repeat("0", 64))
		return err
	})
}

// crowd lets the clients write numbers from to from+loadSlice, and returns how long that took.
func (l *load) crowd(write func(ctx context.Context, i int) error) time.Duration {
	l.b.Helper()
	var wait sync.WaitGroup
	begin := time.Now()
	for client := range loadClients {
		wait.Go(func() {
			for i := client; i < loadSlice; i += loadClients {
				if err := write(l.b.Context(), l.told+i); err != nil {
					l.b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	return time.Since(begin)
}

// BenchmarkTell compares telling with a bare transaction of the same rows, in turns of loadSlice so that both meet the same machine.
// share is how much of the bare transaction's rate is reached. Run it with -benchtime=10x.
func BenchmarkTell(b *testing.B) {
	for _, trials := range []int{10, 300, 1000} {
		b.Run(fmt.Sprintf("trials=%d", trials), func(b *testing.B) {
			l := newLoad(b, trials)
			var bare, told time.Duration
			writes := 0
			for b.Loop() {
				if l.told+loadSlice > loadStudies*loadWaiting {
					b.StopTimer()
					l.fill(trials)
					b.StartTimer()
				}
				bare += l.crowd(l.transact)
				told += l.crowd(l.tell)
				l.told += loadSlice
				writes += loadSlice
			}
			b.ReportMetric(float64(writes)/bare.Seconds(), "bare/s")
			b.ReportMetric(float64(writes)/told.Seconds(), "tells/s")
			b.ReportMetric(bare.Seconds()/told.Seconds(), "share")
		})
	}
}
