package db_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/testwait"
)

// shelf counts what a server reads of the rows that were kept.
type shelf struct {
	study.RowStore
	read atomic.Int64
}

func (s *shelf) Each(ctx context.Context, id string, use func(study.KeptRows)) error {
	return s.RowStore.Each(ctx, id, func(rows study.KeptRows) { s.read.Add(1); use(rows) })
}

// diary is a log.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (d *diary) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(line)
}

// says is how often the log has a text.
func (d *diary) says(text string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Count(d.text.String(), text)
}

// started is a server that has nothing at hand, on a shelf or, for nil, none, and what it logs.
func started(t *testing.T, d *db.DB, on study.RowStore) (*study.Service, *diary) {
	t.Helper()
	log := &diary{}
	s := study.NewService(d.Studies, study.Options{RowStore: on, Log: slog.New(slog.NewTextHandler(log, nil))})
	t.Cleanup(s.Stop)
	return s, log
}

// said is what a server makes of a study: state, history, and what it would decide.
type said struct {
	State    study.Readout
	History  []study.HistoryRow
	Decision *ledger.Decision
}

func sayAll(t *testing.T, s *study.Service, id string) (all said) {
	t.Helper()
	snap, err := s.Snapshot(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	if all.State, err = s.StateOf(t.Context(), snap); err != nil {
		t.Fatal(err)
	}
	if all.History, err = s.HistoryOf(t.Context(), snap); err != nil {
		t.Fatal(err)
	}
	own := design.Settings{"temperature": design.NumberValue(33), "cycles": design.NumberValue(5)}
	if _, all.Decision, err = s.Forecast(t.Context(), ana, id, study.OwnTrial{Parameters: own}); err != nil {
		t.Fatal(err)
	}
	return all
}

// longFixed is a study of so many trials whose model is given.
func longFixed(t *testing.T, s *study.Service, trials int) *ledger.Snapshot {
	t.Helper()
	definition := reactor()
	definition.Model.Fit, definition.Model.Outputs, definition.Model.Lambda = "fixed", "raw", []byte("0.01")
	id := create(t, s, definition).ID
	var table strings.Builder
	table.WriteString("temperature,cycles,yield,impurity\n")
	for i := range trials {
		at := design.Settings{"temperature": design.NumberValue(20 + 40*float64(i)/float64(trials)), "cycles": design.NumberValue(float64(1 + i%12))}
		read := run(at)
		fmt.Fprintf(&table, "%g,%g,%g,%g\n", at["temperature"].Number, at["cycles"].Number, read["yield"].Value, read["impurity"].Value)
	}
	done := must.Get(s.ImportCSV(t.Context(), ana, id, strings.NewReader(table.String()), study.ImportOptions{}))(t)
	return done.Snapshot
}

// pieces is how many pieces are kept of a study.
func pieces(t *testing.T, d *db.DB, id string) (count int) {
	t.Helper()
	must.Do(t, d.Pool().QueryRow(t.Context(), `SELECT count(*) FROM kept_rows WHERE study_id = $1`, id).Scan(&count))
	return count
}

// A server that starts reads the rows that another one kept behind requests, and says the same to
// the last bit as one that works all out from nothing; rows that are damaged, or forged under the
// right sums, it throws away, says so once, and says the same.
func TestAServerThatStartsReadsWhatWasKept(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	first, _ := started(t, d, d.KeptRows())
	now := longFixed(t, first, optimizer.KeptFrom+16)
	sayAll(t, first, now.ID)
	const all = optimizer.KeptFrom/256 + 1 // pieces, the last one of 16 rows
	come := func(what string) {
		t.Helper()
		testwait.Eventually(t, what, func() bool { return pieces(t, d, now.ID) == all })
	}
	come("what is kept")
	first.Stop()
	fromNothing, _ := started(t, d, nil)
	want := sayAll(t, fromNothing, now.ID)
	for _, c := range []struct {
		name, damage string
		whole        bool // the sums are made right again
	}{
		{"nothing", `SELECT`, false},
		{"damaged bytes", `UPDATE kept_rows SET numbers = set_byte(numbers, 100, get_byte(numbers, 100) # 1)`, false},
		{"cut short", `UPDATE kept_rows SET numbers = substr(numbers, 1, length(numbers) - 8)`, true},
		{"a forged last row",
			`UPDATE kept_rows SET numbers = set_byte(numbers, length(numbers) - 9, get_byte(numbers, length(numbers) - 9) # 1)`, true},
	} {
		must.Get(d.Pool().Exec(t.Context(), c.damage))(t)
		if c.whole {
			must.Get(d.Pool().Exec(t.Context(), `UPDATE kept_rows SET sum = sha256(numbers)`))(t)
		}
		on := &shelf{RowStore: d.KeptRows()}
		s, log := started(t, d, on)
		if diff := cmp.Diff(want, sayAll(t, s, now.ID)); diff != "" {
			t.Fatalf("%s: (-from nothing +from what was kept)\n%s", c.name, diff)
		}
		if on.read.Load() == 0 {
			t.Errorf("%s: nothing was read", c.name)
		}
		complaints := 1
		if c.name == "nothing" {
			complaints = 0
		}
		come("keeping it anew after " + c.name)
		if n := log.says("level=WARN"); n != complaints {
			t.Errorf("%s: %d complaints\n%s", c.name, n, &log.text)
		}
		s.Stop()
	}
	after, _ := started(t, d, d.KeptRows())
	ask(t, after, now.ID, 1)
	wantVerified(t, after, now.ID, 1)
}

// rowsOf are so many pieces of a study, of 1000 bytes each.
func rowsOf(from, count byte) iter.Seq2[study.RowsKey, func() study.KeptRows] {
	return func(yield func(study.RowsKey, func() study.KeptRows) bool) {
		for i := from; i < from+count; i++ {
			if !yield(study.RowsKey{i}, func() study.KeptRows {
				return study.KeptRows{Key: study.RowsKey{i}, First: int(i), Numbers: bytes.Repeat([]byte{i}, 1000)}
			}) {
				return
			}
		}
	}
}

// What is kept is bounded, is replaced by what is wanted now, and goes
// with its study.
func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	createStudy(t, d, "one")
	createStudy(t, d, "two")
	createStudy(t, d, "three")
	clock := time.Now()
	d.SetClock(func() time.Time { clock = clock.Add(time.Minute); return clock })
	k := d.BoundedRows(5500)
	keep := func(id string, from, count byte) {
		t.Helper()
		must.Do(t, k.Keep(t.Context(), id, rowsOf(from, count)))
	}
	kept := func() (all []string) {
		t.Helper()
		for _, id := range []string{"one", "two", "three"} {
			must.Do(t, k.Each(t.Context(), id, func(rows study.KeptRows) {
				if len(rows.Numbers) != 1000 || rows.Numbers[999] != rows.Key[0] || rows.First != int(rows.Key[0]) {
					t.Errorf("of %s: %v", id, rows)
				}
				all = append(all, id+" "+string('0'+rows.Key[0]))
			}))
		}
		return all
	}
	want := func(all ...string) {
		t.Helper()
		if diff := cmp.Diff(all, kept()); diff != "" {
			t.Errorf("(-want +kept)\n%s", diff)
		}
	}
	keep("one", 1, 6)
	want("one 1", "one 2", "one 3", "one 4", "one 5")
	keep("one", 2, 2)
	want("one 2", "one 3")
	keep("two", 1, 3)
	want("one 2", "one 3", "two 1", "two 2", "two 3")
	keep("three", 7, 1)
	want("two 1", "two 2", "two 3", "three 7")
	keep("two", 9, 0)
	want("three 7")
	must.Get(d.Pool().Exec(t.Context(), `INSERT INTO studies
		SELECT (jsonb_populate_record(studies, '{"id": "four"}')).* FROM studies WHERE id = 'one'`))(t)
	keep("four", 1, 1)
	must.Get(d.Pool().Exec(t.Context(), `DELETE FROM studies WHERE id = 'four'`))(t)
	if n := pieces(t, d, "four"); n > 0 {
		t.Errorf("%d pieces outlive their study", n)
	}
	if err := k.Forget(t.Context(), "three"); err != nil || len(kept()) > 0 {
		t.Errorf("kept is %v, %v", kept(), err)
	}
}
