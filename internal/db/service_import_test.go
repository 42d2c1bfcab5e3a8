package db_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

func TestImportedRowsAreRounds(t *testing.T) {
	t.Parallel()
	s, ctx := newService(t), t.Context()
	id := create(t, s, reactor()).ID
	table := "temperature,cycles,yield,impurity,note\n30,2,61,0.3,first\n40,6,72,PENDING,\n50,8,,,\n"
	dry, err := s.ImportCSV(ctx, ana, id, strings.NewReader(table), study.ImportOptions{DryRun: true})
	if err != nil || dry.Rows != 3 || !cmp.Equal(dry.Numbers, []int{1, 2, 3}) {
		t.Fatalf("%v %+v", err, dry)
	}
	done := must.Get(s.ImportCSV(ctx, ana, id, strings.NewReader(table), study.ImportOptions{}))(t)
	statuses := lists.Map(done.Snapshot.Trials, func(trial *ledger.Trial) ledger.Status { return trial.Status })
	if want := []ledger.Status{ledger.StatusCompleted, ledger.StatusPartial, ledger.StatusSuggested}; !cmp.Equal(statuses, want) {
		t.Fatalf("got %v", statuses)
	}
	if done.Snapshot.Version != 6 || done.Snapshot.Trial(3).Seen != 5 {
		t.Fatalf("version %d, third row decided from event %d", done.Snapshot.Version, done.Snapshot.Trial(3).Seen)
	}
	_, err = s.ImportCSV(ctx, ana, id, strings.NewReader("temperature,cycles,yield\n30,2,61\n99,2,61\n"), study.ImportOptions{})
	if err == nil {
		t.Fatal("a row outside the space must be refused")
	}
	if now, err := s.Snapshot(ctx, id, 0); err != nil || len(now.Trials) != 3 {
		t.Fatal("the good row of a refused table was stored")
	}
	play(t, s, id, 4)
	wantVerified(t, s, id, 4)
}

// long is a study of so many trials, each with a note of so many characters.
func long(t testing.TB, s *study.Service, trials, characters int) *ledger.Snapshot {
	t.Helper()
	snap := create(t, s, reactor())
	note := strings.Repeat("All that was seen. ", 500)[:characters]
	for from := 0; from < trials; from += 500 {
		var table strings.Builder
		table.WriteString("temperature,cycles,yield,impurity,note\n")
		for i := from; i < min(from+500, trials); i++ {
			fmt.Fprintf(&table, "%d,%d,%d.5,0.25,%s\n", 20+i%41, 1+i%12, 40+i%50, note)
		}
		done := must.Get(s.ImportCSV(t.Context(), ana, snap.ID, strings.NewReader(table.String()), study.ImportOptions{}))(t)
		snap = done.Snapshot
	}
	return snap
}

// Parts of a study that cannot be taken leave nothing of the parts before them, whatever is wrong.
func TestImportIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	snap := long(t, s, 400, 20) // events of several parts
	text := string(export(t, s, snap))
	middle := strings.LastIndex(text, `"seq":700,`)
	for name, faulty := range map[string]string{
		"cut short":     text[:middle],
		"changed":       text[:middle] + strings.Replace(text[middle:], `"value":4`, `"value":5`, 1),
		"wrong ending":  strings.Replace(text, `"version":801`, `"version":800`, 1),
		"no JSON there": text[:middle] + "?" + text[middle:],
	} {
		if _, err := s.ImportBundle(t.Context(), ana, strings.NewReader(faulty)); err == nil {
			t.Errorf("%s: imported", name)
		}
	}
	key := &study.IdempotencyKey{Caller: "a", Request: "POST /", Key: "k", Body: sha256.New()}
	made, err := s.ImportBundle(t.Context(), study.Command{By: "Bo", Key: key}, strings.NewReader(text))
	if err != nil || made.Hash != snap.Hash || len(made.Trials) != 400 {
		t.Fatalf("made %v, %v", made, err)
	}
	var before *study.AlreadyDone
	if _, err := s.ImportBundle(t.Context(), study.Command{By: "Bo", Key: key}, strings.NewReader(text)); !errors.As(err, &before) || before.Done.Study != made.ID || before.Done.Version != made.Version {
		t.Fatalf("again: %v", err)
	}
	if all, _, err := s.Summaries(t.Context(), study.Listing{}); err != nil || len(all) != 2 || all[0].Trials != 400 || all[1].Trials != 400 {
		t.Fatalf("%+v, %v", all, err)
	}
}

// BenchmarkImportBundle imports an export of 47 MB into a program that holds nothing else. It
// reports by how much the memory in use grew at most meanwhile, and by how much in the end: what
// the study itself needs.
func BenchmarkImportBundle(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // so that what is in use is little more than what is needed
	text := func() []byte {
		s := newService(b)
		return export(b, s, long(b, s, 5000, 9000))
	}()
	b.SetBytes(int64(len(text)))
	var most, last uint64
	for b.Loop() {
		s := newService(b)
		begin := inUse()
		looked := &looking{file: bytes.NewReader(text), look: func() {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc-min(begin, now.HeapAlloc))
		}}
		made := must.Get(s.ImportBundle(b.Context(), ana, looked))(b)
		last = inUse() - begin
		runtime.KeepAlive(made)
	}
	b.ReportMetric(float64(len(text))/1e6, "MB")
	b.ReportMetric(float64(most)/1e6, "MB-most")
	b.ReportMetric(float64(last)/1e6, "MB-kept")
}

func inUse() uint64 {
	var now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	return now.HeapAlloc
}

// looking looks now and then while it is read.
type looking struct {
	file  io.Reader
	look  func()
	reads int
}

func (l *looking) Read(into []byte) (int, error) {
	if l.reads++; l.reads%20 == 0 {
		l.look()
	}
	return l.file.Read(into)
}
