package db_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/db/dbtest"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

func TestEventsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	// Numbers that jsonb would rewrite, and characters that must survive.
	add := l.noted(before, `{"description":"µ \u0000 \"q\" 🜁","numbers":[1e-7,1e+300,0.1,-0,5e-324,12345678901234567]}`)
	if err := d.Studies.Write(ctx, "one", study.Command{}, 1, func([]ledger.Event) (study.Append, error) { return add, nil }); err == nil {
		t.Fatal("data that is not canonical has another hash, and must be refused")
	}
	l, before = createStudy(t, d, "two")
	add = l.noted(before, `{"description":"µ \u0000 \"q\" 🜁","numbers":[1e-7,1e+300,0.1,5e-324]}`)
	if err := d.Studies.Write(ctx, "two", study.Command{}, 1, func([]ledger.Event) (study.Append, error) { return add, nil }); err != nil {
		t.Fatal(err)
	}
	got, err := d.Studies.Events(ctx, "two", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(add.Events, got); diff != "" {
		t.Fatalf("(-written +read)\n%s", diff)
	}
	if err := d.Studies.CheckLedger(ctx, "two"); err != nil {
		t.Fatal(err)
	}
}

func TestWriteGivesTheNewsAndChecksTheVersion(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	add := l.noted(before, `{"name":"a"}`)
	write := func(cmd study.Command, known int64, decide func([]ledger.Event) (study.Append, error)) error {
		return d.Studies.Write(ctx, "one", cmd, known, decide)
	}
	if err := write(study.Command{IfMatch: 1}, 0, func(news []ledger.Event) (study.Append, error) {
		if len(news) != 1 || news[0].Kind != ledger.Created {
			t.Errorf("got the news %v", news)
		}
		return add, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := write(study.Command{IfMatch: 1}, 1, func([]ledger.Event) (study.Append, error) {
		t.Error("a stale write was decided")
		return study.Append{}, nil
	}); !errors.Is(err, study.ErrStale) {
		t.Fatalf("a stale write got %v", err)
	}
	refusal := errors.New("no")
	if err := write(study.Command{}, 2, func([]ledger.Event) (study.Append, error) { return study.Append{}, refusal }); !errors.Is(err, refusal) {
		t.Fatalf("a refused write got %v", err)
	}
	if version, err := d.Studies.Version(ctx, "one"); err != nil || version != 2 {
		t.Fatalf("at version %d, %v", version, err)
	}
	err := d.Studies.Write(ctx, "nowhere", study.Command{}, 0, func([]ledger.Event) (study.Append, error) {
		t.Error("a study that is not there was decided")
		return study.Append{}, nil
	})
	if !errors.Is(err, study.ErrNotFound) {
		t.Fatalf("no study got %v", err)
	}
	if _, err := d.Studies.Events(ctx, "nowhere", 0, 0); !errors.Is(err, study.ErrNotFound) {
		t.Fatalf("no study's events got %v", err)
	}
}

func TestWriteRefusesEventsThatDoNotContinue(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	good := l.noted(before, `{"name":"a"}`)
	for name, spoil := range map[string]func(*study.Append){
		"a gap":             func(a *study.Append) { a.Events[0].Seq++ },
		"another hash":      func(a *study.Append) { a.Events[0].Hash = strings.Repeat("a", 64) },
		"other data":        func(a *study.Append) { a.Events[0].Data = json.RawMessage(`{"name":"b"}`) },
		"no state":          func(a *study.Append) { a.After = nil },
		"another state":     func(a *study.Append) { a.After.Version = 1 },
		"a missing trial":   func(a *study.Append) { a.Touched = []int{1} },
		"events left out":   func(a *study.Append) { a.Events = nil },
		"an event repeated": func(a *study.Append) { a.Events = append(a.Events, a.Events[0]) },
	} {
		after := *good.After
		bad := study.Append{Events: []ledger.Event{good.Events[0]}, After: &after}
		spoil(&bad)
		if err := d.Studies.Write(ctx, "one", study.Command{}, 1, func([]ledger.Event) (study.Append, error) { return bad, nil }); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if err := d.Studies.Write(ctx, "one", study.Command{}, 1, func([]ledger.Event) (study.Append, error) { return good, nil }); err != nil {
		t.Fatal(err)
	}
}

func TestCreatingAStudyTwiceIsAConflict(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	createStudy(t, d, "one")
	if err := d.Studies.Create(t.Context(), "one", study.Command{}, newBook().created()); !errors.Is(err, study.ErrConflict) {
		t.Fatalf("got %v", err)
	}
}

func TestLedgerIsAppendOnly(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	createStudy(t, d, "one")
	for _, statement := range []string{`UPDATE events SET by = 'Bo'`, `DELETE FROM events`, `TRUNCATE events`, `TRUNCATE studies CASCADE`} {
		if _, err := d.Pool().Exec(ctx, statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: got %v", statement, err)
		}
	}
}

func TestTamperingIsFound(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	add := l.noted(before, `{"name":"a"}`)
	if err := d.Studies.Write(ctx, "one", study.Command{}, 1, func([]ledger.Event) (study.Append, error) { return add, nil }); err != nil {
		t.Fatal(err)
	}
	if err := d.Studies.CheckLedger(ctx, "one"); err != nil {
		t.Fatal(err)
	}
	// Somebody with the database's own rights can switch the trigger off, but not go unseen.
	if _, err := d.Pool().Exec(ctx, `ALTER TABLE events DISABLE TRIGGER USER; UPDATE events SET data = '{"name":"b"}' WHERE seq = 2`); err != nil {
		t.Fatal(err)
	}
	if err := d.Studies.CheckLedger(ctx, "one"); err == nil || !strings.Contains(err.Error(), "event 2") {
		t.Fatalf("changed data got %v", err)
	}
	if _, err := d.Pool().Exec(ctx, `DELETE FROM events WHERE seq = 2`); err != nil {
		t.Fatal(err)
	}
	if err := d.Studies.CheckLedger(ctx, "one"); err == nil {
		t.Fatal("an event cut off at the end was not missed")
	}
}

func TestReadTablesFollow(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	add := l.noted(before, `{"name":"a"}`)
	feasible, sd := true, 0.25
	add.After.Trials = []ledger.Trial{
		{Number: 1, Origin: ledger.Suggested, Status: ledger.StatusCompleted, Feasible: &feasible, CreatedAt: l.now, By: "Ana",
			Parameters: design.Settings{"x": {Number: 1.5}}, Metrics: map[string]ledger.Measurement{"y": {Value: 3, StdDev: &sd, ToldAt: l.now, By: "Bo"}}},
		{Number: 2, Origin: ledger.Manual, Status: ledger.StatusPartial, CreatedAt: l.now.Add(time.Minute), By: "Ana", Parameters: design.Settings{"x": {Number: 2}}},
		{Number: 3, Origin: ledger.Manual, Status: ledger.StatusSuggested, CreatedAt: l.now, By: "Ana", Parameters: design.Settings{"x": {Number: 2}}},
	}
	add.Touched = []int{1, 2, 3}
	if err := d.Studies.Write(ctx, "one", study.Command{}, 1, func([]ledger.Event) (study.Append, error) { return add, nil }); err != nil {
		t.Fatal(err)
	}
	waitingSince := l.now
	want := ledger.Summary{ID: "one", Name: "Buffer screen", State: ledger.Open, Version: 2, CreatedAt: before.CreatedAt, UpdatedAt: l.now,
		Trials: 3, Waiting: 2, OldestWaiting: &waitingSince, Algorithm: "rpol-ucb"}
	createStudy(t, d, "two")
	for _, ids := range [][]string{nil, {"one"}, {"two", "one"}} {
		got, err := d.Studies.Summaries(ctx, ids)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Fatalf("summaries of %v (-want +got)\n%s", ids, diff)
		}
		if ids != nil && len(got) != len(ids) {
			t.Fatalf("%d summaries of %v", len(got), ids)
		}
	}
	if none, err := d.Studies.Summaries(ctx, []string{}); err != nil || len(none) != 0 {
		t.Fatalf("no ids got %v, %v", none, err)
	}
	// The reading is taken back.
	again := l.noted(add.After, `{"name":"b"}`)
	again.After.Trials = append([]ledger.Trial{}, add.After.Trials...)
	again.After.Trials[0].Metrics = nil
	again.Touched = []int{1}
	if err := d.Studies.Write(ctx, "one", study.Command{}, 2, func([]ledger.Event) (study.Append, error) { return again, nil }); err != nil {
		t.Fatal(err)
	}
	var observations int
	if err := d.Pool().QueryRow(ctx, `SELECT count(*) FROM observations`).Scan(&observations); err != nil || observations != 0 {
		t.Fatalf("%d observations are left, %v", observations, err)
	}
}

func TestNoNumberThatIsNoneGetsIn(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		branch := *l
		add := branch.noted(before, `{"name":"a"}`)
		add.After.Trials = []ledger.Trial{{Number: 1, Metrics: map[string]ledger.Measurement{"y": {Value: value}}}}
		add.Touched = []int{1}
		if err := d.Studies.Write(ctx, "one", study.Command{}, 1, func([]ledger.Event) (study.Append, error) { return add, nil }); err == nil {
			t.Errorf("%v was stored", value)
		}
	}
}

// Twenty writers at once: each appends one event, and none is lost or numbered twice.
func TestWritersTakeTurns(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, state := createStudy(t, d, "one")
	const writers = 20
	var wait sync.WaitGroup
	var alone sync.Mutex
	for range writers {
		wait.Go(func() {
			if err := d.Studies.Write(ctx, "one", study.Command{}, 1, func(news []ledger.Event) (study.Append, error) {
				if !alone.TryLock() {
					t.Error("two writers decided at once")
					alone.Lock()
				}
				defer alone.Unlock()
				if int64(len(news))+1 != l.last.Seq {
					t.Errorf("%d news, but the ledger is at %d", len(news), l.last.Seq)
				}
				add := l.noted(state, `{"name":"a"}`)
				state = add.After
				return add, nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if version, err := d.Studies.Version(ctx, "one"); err != nil || version != writers+1 {
		t.Fatalf("at version %d, %v", version, err)
	}
	if err := d.Studies.CheckLedger(ctx, "one"); err != nil {
		t.Fatal(err)
	}
}

// Twenty requests under one key: one effect, and the same answer for all.
func TestRetriesHaveOneEffect(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	retry := study.Retry{Caller: "token:a", Method: "POST", Path: "/api/v1/studies/one/ask", Key: "k", Body: [32]byte{7}}
	var effects atomic.Int32
	ask := func(retry study.Retry) error {
		return d.Studies.Write(ctx, "one", study.Command{Retry: &retry}, 1, func([]ledger.Event) (study.Append, error) {
			effects.Add(1)
			add := l.noted(before, `{"name":"a"}`)
			add.Answer = &study.Answer{Status: 201, Location: "/there", ETag: `"2"`, Body: []byte(`{"trials":[]}`)}
			return add, nil
		})
	}
	var wait sync.WaitGroup
	var answered atomic.Int32
	for range 20 {
		wait.Go(func() {
			var first *study.AlreadyAnswered
			switch err := ask(retry); {
			case err == nil:
			case errors.As(err, &first):
				answered.Add(1)
				if diff := cmp.Diff(study.Answer{Status: 201, Location: "/there", ETag: `"2"`, Body: []byte(`{"trials":[]}`)}, first.Answer); diff != "" {
					t.Error(diff)
				}
			default:
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if effects.Load() != 1 || answered.Load() != 19 {
		t.Fatalf("%d effects, %d answers again", effects.Load(), answered.Load())
	}
	other := retry
	other.Body[0]++
	if err := ask(other); !errors.Is(err, study.ErrReused) {
		t.Fatalf("another body got %v", err)
	}
	if err := d.Answered(ctx, &other); !errors.Is(err, study.ErrReused) {
		t.Fatalf("another body got %v", err)
	}
	stranger := retry
	stranger.Caller = "token:b"
	if err := d.Answered(ctx, &stranger); err != nil {
		t.Fatalf("another caller got %v", err)
	}
	stale := study.Command{Retry: &retry, IfMatch: 1}
	var first *study.AlreadyAnswered
	if err := d.Studies.Write(ctx, "one", stale, 1, nil); !errors.As(err, &first) {
		t.Fatalf("the answer comes before If-Match, but got %v", err)
	}
	if err := d.RemoveExpired(ctx, time.Now().Add(47*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := d.Answered(ctx, &retry); !errors.As(err, &first) {
		t.Fatalf("after 47 hours got %v", err)
	}
	if err := d.RemoveExpired(ctx, time.Now().Add(49*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := d.Answered(ctx, &retry); err != nil {
		t.Fatalf("after 49 hours got %v", err)
	}
}

func TestConcurrentCreatesUnderOneKeyMakeOneStudy(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	retry := &study.Retry{Caller: "token:a", Method: "POST", Path: "/api/v1/studies", Key: "k"}
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			first := newBook().created()
			first.Answer = &study.Answer{Status: 201}
			err := d.Studies.Create(ctx, string(rune('a'+i)), study.Command{Retry: retry}, first)
			var before *study.AlreadyAnswered
			if err != nil && !errors.As(err, &before) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if all, err := d.Studies.Summaries(ctx, nil); err != nil || len(all) != 1 {
		t.Fatalf("%d studies, %v", len(all), err)
	}
}

// Far more choosers than connections: each is alone, and writes go on meanwhile.
func TestChoosingIsSerialAndBlocksNoWrites(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	release, entered := make(chan struct{}), make(chan struct{}, 1)
	let := sync.OnceFunc(func() { close(release) })
	defer let() // or a failure here would wait for ever
	var inside, most, done atomic.Int32
	var wait sync.WaitGroup
	for range 60 {
		wait.Go(func() {
			if err := d.Studies.Choosing(ctx, "one", func(context.Context) error {
				most.Store(max(most.Load(), inside.Add(1)))
				select {
				case entered <- struct{}{}:
				default:
				}
				<-release
				inside.Add(-1)
				done.Add(1)
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	receive(t, entered)
	write, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := d.Studies.Write(write, "one", study.Command{}, 1, func([]ledger.Event) (study.Append, error) { return l.noted(before, `{"name":"a"}`), nil }); err != nil {
		t.Fatalf("a write waited for the choosers: %v", err)
	}
	if err := d.Studies.Choosing(write, "two", func(context.Context) error { return nil }); err != nil {
		t.Fatalf("another study waited: %v", err)
	}
	impatient, leave := context.WithCancel(ctx)
	leave()
	if err := d.Studies.Choosing(impatient, "one", func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Fatalf("a caller who left got %v", err)
	}
	let()
	wait.Wait()
	if most.Load() != 1 || done.Load() != 60 {
		t.Fatalf("%d chose, %d at once", done.Load(), most.Load())
	}
}

// Two servers share the lock, too.
func TestChoosingIsSerialAmongServers(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	one, two := open(t, url), open(t, url)
	inside, release := make(chan struct{}), make(chan struct{})
	let := sync.OnceFunc(func() { close(release) })
	defer let() // or a failure here would wait for ever
	first := make(chan error, 1)
	go func() {
		first <- one.Studies.Choosing(t.Context(), "s", func(context.Context) error { close(inside); <-release; return nil })
	}()
	receive(t, inside)
	second := make(chan error, 1)
	var early atomic.Bool
	early.Store(true)
	go func() {
		second <- two.Studies.Choosing(t.Context(), "s", func(context.Context) error {
			if early.Load() {
				t.Error("the second server chose while the first did")
			}
			return nil
		})
	}()
	awaitLockWait(t, one)
	early.Store(false)
	let()
	for _, result := range []chan error{first, second} {
		if err := receive(t, result); err != nil {
			t.Error(err)
		}
	}
}
