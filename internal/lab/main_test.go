package lab

import (
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"headroom/internal/db/dbtest"
	"headroom/internal/must"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// found are the problems that tests have asked for: to draw one takes as long as to play it.
var found sync.Map

// problem is a copy of its own.
func problem(t testing.TB, name string) *Problem {
	t.Helper()
	make, _ := found.LoadOrStore(name, sync.OnceValues(func() (*Problem, error) { return Find(name) }))
	p := must.Get(make.(func() (*Problem, error))())(t)
	own := *p
	return &own
}

func played(t testing.TB, g Game) *Record {
	t.Helper()
	return must.Get(g.Play(t.Context(), nil))(t)
}

// allPlayed plays games beside each other, and returns their records in the order of the games.
func allPlayed(t testing.TB, games ...Game) []*Record {
	t.Helper()
	records := make([]*Record, len(games))
	var beside errgroup.Group
	beside.SetLimit(runtime.GOMAXPROCS(0))
	for i, g := range games {
		beside.Go(func() (err error) {
			records[i], err = g.Play(t.Context(), nil)
			return err
		})
	}
	must.Do(t, beside.Wait())
	return records
}

// timeless is a record without the times that asks took.
func timeless(r *Record) *Record {
	for i := range r.Asks {
		r.Asks[i].Seconds = 0
	}
	return r
}
