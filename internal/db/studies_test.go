package db_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/testwait"
)

func TestEventsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	// Numbers that jsonb would rewrite, and characters that must survive.
	add := l.noted(before, `{"description":"µ \u0000 \"q\" 🜁","numbers":[1e-7,1e+300,0.1,-0,5e-324,12345678901234567]}`)
	if err := write(t, d, "one", before, study.Command{}, add); err == nil {
		t.Fatal("data that is not canonical has another hash, and must be refused")
	}
	l, before = createStudy(t, d, "two")
	add = l.noted(before, `{"description":"µ \u0000 \"q\" 🜁","numbers":[1e-7,1e+300,0.1,5e-324]}`)
	must.Do(t, write(t, d, "two", before, study.Command{}, add))
	got := must.Get(d.Studies.Events(ctx, "two", 1, 0))(t)
	if diff := cmp.Diff(add.Events, got); diff != "" || got[0].At.Location() != time.UTC {
		t.Fatalf("at %v (-written +read)\n%s", got[0].At, diff)
	}
	must.Do(t, d.CheckLedgers(ctx))
}

func TestWriteGivesTheNewsAndChecksTheVersion(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	add := l.noted(before, `{"name":"a"}`)
	decideOn := func(cmd study.Command, known study.Known, decide func([]ledger.Event) (study.Append, error)) error {
		return d.Studies.Write(ctx, "one", cmd, known, decide)
	}
	must.Do(t, decideOn(study.Command{IfMatch: 1}, study.Known{}, func(news []ledger.Event) (study.Append, error) {
		if len(news) != 1 || news[0].Kind != ledger.Created {
			t.Errorf("got the news %v", news)
		}
		return add, nil
	}))
	if err := decideOn(study.Command{IfMatch: 1}, known(before), func([]ledger.Event) (study.Append, error) { return add, nil }); !errors.Is(err, study.ErrStale) || !strings.HasPrefix(err.Error(), "study one is at version 2, not 1") {
		t.Fatalf("a stale write got %v", err)
	}
	refusal := errors.New("no")
	if err := decideOn(study.Command{}, known(add.After), func([]ledger.Event) (study.Append, error) { return study.Append{}, refusal }); !errors.Is(err, refusal) {
		t.Fatalf("a refused write got %v", err)
	}
	if row, last, err := d.Studies.Ends(ctx, "one"); err != nil || row.Version != 2 || last != row {
		t.Fatalf("at %v, %v, %v", row, last, err)
	}
	err := d.Studies.Write(ctx, "nowhere", study.Command{}, study.Known{}, func([]ledger.Event) (study.Append, error) {
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

// A caller that knows the study as it was is given the news, and what it made without them leaves
// no trace: whether it accepted or refused.
func TestWriteOfOldKnowledgeIsDecidedAgain(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	for id, first := range map[string]error{"accepted": nil, "refused": errors.New("no such trial yet")} {
		l, before := createStudy(t, d, id)
		old := *l
		missed := l.noted(before, `{"name":"a"}`)
		must.Do(t, write(t, d, id, before, study.Command{}, missed))
		premature, right := old.noted(before, `{"name":"b"}`), l.noted(missed.After, `{"name":"b"}`)
		var seen []int
		must.Do(t, d.Studies.Write(ctx, id, study.Command{}, known(before), func(news []ledger.Event) (study.Append, error) {
			seen = append(seen, len(news))
			if len(news) == 0 {
				return premature, first
			}
			return right, nil
		}))
		got := must.Get(d.Studies.Events(ctx, id, 1, 0))(t)
		if diff := cmp.Diff(append(missed.Events, right.Events...), got); diff != "" || !slices.Equal(seen, []int{0, 1}) {
			t.Fatalf("%s: decided on %v news; the ledger (-want +got)\n%s", id, seen, diff)
		}
	}
}

func TestWriteRefusesEventsThatDoNotContinue(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	l, before := createStudy(t, d, "one")
	good := l.noted(before, `{"name":"a"}`)
	for name, spoil := range map[string]func(*study.Append){
		"a gap":             func(a *study.Append) { a.Events[0].Seq++ },
		"another hash":      func(a *study.Append) { a.Events[0].Hash = strings.Repeat("a", 64) },
		"other data":        func(a *study.Append) { a.Events[0].Data = json.RawMessage(`{"name":"b"}`) },
		"no state":          func(a *study.Append) { a.After = nil },
		"another state":     func(a *study.Append) { a.After.Version = 1 },
		"events left out":   func(a *study.Append) { a.Events = nil },
		"an event repeated": func(a *study.Append) { a.Events = append(a.Events, a.Events[0]) },
	} {
		after := *good.After
		bad := study.Append{Events: []ledger.Event{good.Events[0]}, After: &after}
		spoil(&bad)
		if err := write(t, d, "one", before, study.Command{}, bad); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	must.Do(t, write(t, d, "one", before, study.Command{}, good))
}

func TestCreatingAStudyTwiceIsAConflict(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	createStudy(t, d, "one")
	if err := d.Studies.Create(t.Context(), "one", study.Command{}, study.InOnePart(newBook().created())); !errors.Is(err, study.ErrConflict) {
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
	l.note(t, d, "one", before)
	must.Do(t, d.CheckLedgers(ctx))
	must.Get(d.Pool().Exec(ctx, tampered+`UPDATE events SET data = '{"name":"b"}' WHERE seq = 2`))(t)
	if err := d.CheckLedgers(ctx); err == nil || !strings.Contains(err.Error(), "event 2") {
		t.Fatalf("changed data got %v", err)
	}
	must.Get(d.Pool().Exec(ctx, `DELETE FROM events WHERE seq = 2`))(t)
	if err := d.CheckLedgers(ctx); err == nil {
		t.Fatal("an event cut off at the end was not missed")
	}
}

func TestRowFollowsTheLedger(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	s := serve(t, d)
	snap := create(t, s, reactor())
	add := func(metrics map[string]ledger.Reading) {
		t.Helper()
		settings := design.Settings{"temperature": design.NumberValue(40), "cycles": design.NumberValue(3)}
		var err error
		if snap, _, err = s.AddTrial(ctx, ana, snap.ID, study.OwnTrial{Parameters: settings, Metrics: metrics}); err != nil {
			t.Fatal(err)
		}
	}
	reading := func(yield, impurity float64) map[string]ledger.Reading {
		return map[string]ledger.Reading{"yield": {Value: yield}, "impurity": {Value: impurity}}
	}
	add(reading(3, 0.1))
	add(map[string]ledger.Reading{"yield": {Value: 9}}) // waits for the impurity
	waitingSince := snap.UpdatedAt
	add(nil)
	add(reading(8, 0.9)) // not within the limit
	add(reading(4, 0.2))
	add(reading(7, 0.2))
	closed := func(kind ledger.Kind, number int, cause ledger.Cause) {
		t.Helper()
		var err error
		if snap, err = s.Close(ctx, ana, snap.ID, kind, ledger.ClosedData{Number: number, Reason: "so", Cause: cause}); err != nil {
			t.Fatal(err)
		}
	}
	closed(ledger.Excluded, 6, "")
	want := ledger.Summary{ID: snap.ID, Name: "Reactor", State: ledger.Open, Version: snap.Version, CreatedAt: snap.CreatedAt, UpdatedAt: snap.UpdatedAt,
		Trials: 6, Waiting: 2, OldestWaiting: &waitingSince, Feasible: 3, Known: 4,
		Best: &ledger.BestTrial{Number: 5, Metric: "yield", Value: 4, Unit: "%"}, Algorithm: "rpol-ucb",
		Limits: []ledger.Limit{{Name: "impurity", Metric: "impurity", Op: "<=", Threshold: 0.5, Unit: "%"}}}
	other := create(t, s, reactor())
	for _, ids := range [][]string{nil, {snap.ID}, {other.ID, snap.ID}} {
		got := must.Get(d.Studies.Summaries(ctx, study.Listing{Only: ids}))(t)
		if diff := cmp.Diff(want, got[len(got)-1]); diff != "" {
			t.Fatalf("summaries of %v (-want +got)\n%s", ids, diff)
		}
		if ids != nil && len(got) != len(ids) {
			t.Fatalf("%d summaries of %v", len(got), ids)
		}
	}
	if none, err := d.Studies.Summaries(ctx, study.Listing{Only: []string{}}); err != nil || len(none) != 0 {
		t.Fatalf("no ids got %v, %v", none, err)
	}
	// Nothing waits any more, and nothing is the best.
	for number, kind := range map[int]ledger.Kind{1: ledger.Excluded, 2: ledger.Abandoned, 5: ledger.Excluded} {
		closed(kind, number, "")
	}
	closed(ledger.Failed, 3, ledger.BySettings)
	want.Version, want.UpdatedAt, want.Waiting, want.OldestWaiting, want.Best = snap.Version, snap.UpdatedAt, 0, nil, nil
	got := must.Get(d.Studies.Summaries(ctx, study.Listing{Only: []string{snap.ID}}))(t)
	if diff := cmp.Diff([]ledger.Summary{want}, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

// Pages together give every study once, newest change first, also where several changed at the same
// instant.
func TestListGoesOnWhereAPageEnded(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	service := serve(t, d)
	var want []string
	for i := range 7 {
		l := newBook()
		l.now = l.now.Add(time.Duration(i/3) * time.Hour) // three at a time
		first := l.created()
		if i == 4 {
			first.After.State = ledger.Archived
		}
		id := string(rune('a' + i))
		must.Do(t, d.Studies.Create(ctx, id, study.Command{By: "Ana"}, study.InOnePart(first)))
		want = append([]string{id}, want...)
	}
	pages := func(list study.Listing) (ids []string) {
		t.Helper()
		for {
			page, next, err := service.Summaries(ctx, list)
			if err != nil || len(page) > 2 {
				t.Fatalf("%d studies, %v", len(page), err)
			}
			for _, one := range page {
				ids = append(ids, one.ID)
			}
			if next == nil {
				return ids
			}
			mark := must.Get(study.ParseMark(next.String()))(t)
			list.After = &mark
		}
	}
	if diff := cmp.Diff(want, pages(study.Listing{Limit: 2})); diff != "" {
		t.Fatalf("all (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"g", "f", "d", "c", "b", "a"}, pages(study.Listing{Limit: 2, States: []ledger.State{ledger.Open}})); diff != "" {
		t.Fatalf("open ones (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"e"}, pages(study.Listing{Limit: 1, States: []ledger.State{ledger.Archived}})); diff != "" {
		t.Fatalf("archived ones (-want +got)\n%s", diff)
	}
	for _, wrong := range []string{"", "1", ".a", "1.", "x.a", "-1.a", "999999999999999999.a"} {
		if mark, err := study.ParseMark(wrong); err == nil {
			t.Errorf("%q was read as %v", wrong, mark)
		}
	}
}

// A study is found by words of its name, its description, its parameters and its metrics, however they
// are written, as it is called now.
func TestStudiesAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	s := serve(t, d)
	named := func(name, description string) *ledger.Snapshot {
		t.Helper()
		definition := reactor()
		definition.Name, definition.Description = name, description
		return create(t, s, definition)
	}
	oil, odd := named("Ölbad 100 %_2", "Project X\nfor Straße"), named(`back\slash`, strings.Repeat("long ", 2000)+"unheard")
	found := func(want string, ids ...string) {
		t.Helper()
		list, _ := must.Get2(s.Summaries(ctx, study.Listing{Find: want}))(t)
		got := lists.Map(list, func(one ledger.Summary) string { return one.ID })
		slices.Sort(got)
		if slices.Sort(ids); !slices.Equal(got, ids) {
			t.Errorf("%q finds %v, not %v", want, got, ids)
		}
	}
	found("", oil.ID, odd.ID)
	found("  \t ", oil.ID, odd.ID)
	found("ölBAD", oil.ID)
	found("O\u0308lbad", oil.ID)
	found("x project", oil.ID)
	found("YIELD impur", oil.ID, odd.ID)
	found("yield ölbad long")
	found("%_2", oil.ID)
	found("0%")
	found(`\`, odd.ID)
	found("unheard")
	found("'; DROP TABLE studies")
	must.Get(s.Edit(ctx, ana, odd.ID, ledger.EditedData{Name: new("Forward")}))(t)
	found("slash")
	found("forward", odd.ID)
}

func TestNoNumberThatIsNoneGetsIn(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	l, before := createStudy(t, d, "one")
	for _, number := range []string{"NaN", "Infinity", "-Infinity", "1e999"} {
		branch := *l
		add := branch.noted(before, `{"number":`+number+`}`)
		if err := write(t, d, "one", before, study.Command{}, add); err == nil {
			t.Errorf("%s was stored", number)
		}
		if _, err := d.Pool().Exec(t.Context(), `INSERT INTO events SELECT study_id, 2, at, by, kind, $1::text::json, hash FROM events`, string(add.Events[0].Data)); err == nil && number != "1e999" {
			t.Errorf("PostgreSQL stored %s", number)
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
			if err := d.Studies.Write(ctx, "one", study.Command{}, study.Known{}, func(news []ledger.Event) (study.Append, error) {
				if !alone.TryLock() {
					t.Error("two writers decided at once")
					alone.Lock()
				}
				defer alone.Unlock()
				if int64(len(news)) != l.last.Seq {
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
	if row, last, err := d.Studies.Ends(ctx, "one"); err != nil || row.Version != writers+1 || last != row {
		t.Fatalf("at %v, %v, %v", row, last, err)
	}
	must.Do(t, d.CheckLedgers(ctx))
}

// Twenty requests under one key: one effect, and the same answer for all.
func TestRetriesHaveOneEffect(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	l, before := createStudy(t, d, "one")
	key := study.IdempotencyKey{Caller: "token:a", Request: "POST /api/v1/studies/one/ask", Key: "k", Body: sha256.New()}
	add := l.noted(before, `{"name":"a"}`)
	add.Done = &study.Done{Study: "one", Version: 2, Trials: []int{3, 4}}
	ask := func(key study.IdempotencyKey) error { return write(t, d, "one", before, study.Command{Key: &key}, add) }
	var wait sync.WaitGroup
	var effects, answered atomic.Int32
	for range 20 {
		wait.Go(func() {
			var first *study.AlreadyDone
			switch err := ask(key); {
			case err == nil:
				effects.Add(1)
			case errors.As(err, &first):
				answered.Add(1)
				if diff := cmp.Diff(*add.Done, first.Done); diff != "" {
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
	other := key
	other.Body = sha256.New()
	other.Body.Write([]byte("another"))
	if err := ask(other); !errors.Is(err, study.ErrReused) {
		t.Fatalf("another body got %v", err)
	}
	if err := d.Before(ctx, &other); !errors.Is(err, study.ErrReused) {
		t.Fatalf("another body got %v", err)
	}
	stranger := key
	stranger.Caller = "token:b"
	if err := d.Before(ctx, &stranger); err != nil {
		t.Fatalf("another caller got %v", err)
	}
	stale := study.Command{Key: &key, IfMatch: 1}
	var first *study.AlreadyDone
	if err := write(t, d, "one", add.After, stale, add); !errors.As(err, &first) {
		t.Fatalf("the answer comes before If-Match, but got %v", err)
	}
	must.Do(t, d.RemoveExpired(ctx, time.Now().Add(47*time.Hour)))
	if err := d.Before(ctx, &key); !errors.As(err, &first) {
		t.Fatalf("after 47 hours got %v", err)
	}
	must.Do(t, d.RemoveExpired(ctx, time.Now().Add(49*time.Hour)))
	if err := d.Before(ctx, &key); err != nil {
		t.Fatalf("after 49 hours got %v", err)
	}
}

func TestConcurrentCreatesUnderOneKeyMakeOneStudy(t *testing.T) {
	t.Parallel()
	d, ctx := dbtest.New(t), t.Context()
	key := &study.IdempotencyKey{Caller: "token:a", Request: "POST /api/v1/studies", Key: "k", Body: sha256.New()}
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			first := newBook().created()
			first.Done = &study.Done{Study: "one"}
			err := d.Studies.Create(ctx, string(rune('a'+i)), study.Command{Key: key}, study.InOnePart(first))
			var before *study.AlreadyDone
			if err != nil && !errors.As(err, &before) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if all, err := d.Studies.Summaries(ctx, study.Listing{}); err != nil || len(all) != 1 {
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
	write, cancel := context.WithTimeout(ctx, testwait.Timeout)
	defer cancel()
	if err := d.Studies.Write(write, "one", study.Command{}, known(before), func([]ledger.Event) (study.Append, error) { return l.noted(before, `{"name":"a"}`), nil }); err != nil {
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

// Whoever takes the lock of a study's name, whatever is in that, keeps servers from choosing for
// it, and for no other: earlier builds and people at a prompt do.
func TestChoosingLockIsOfTheName(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for _, id := range []string{"abc", "o'clock", `\x6162'; --`, "größer 日本", ""} {
		free := func(name string) (free bool) {
			t.Helper()
			must.Do(t, d.Pool().QueryRow(t.Context(), `
				SELECT pg_try_advisory_xact_lock(hashtext('headroom choosing'), hashtext($1))`, name).Scan(&free))
			return free
		}
		if err := d.Studies.Choosing(t.Context(), id, func(context.Context) error {
			if free(id) || !free(id+"2") {
				t.Errorf("of %q: %t, of another: %t", id, free(id), free(id+"2"))
			}
			return nil
		}); err != nil || !free(id) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// manyStudies are the rows of 2,000 studies of 200 trials each, manyEvents their ledgers, an entry
// a trial.
const (
	manyStudies = `
		INSERT INTO studies (id, name, state, algorithm, version, hash, created_at, updated_at, trials, waiting, oldest_waiting, feasible, known, best, limits, simulated_lab, words)
		SELECT 'study' || i, 'Study ' || i, 'open', 'rpol-ucb', 200, repeat('0', 64), timestamptz '2026-01-01' + i * interval '1 minute',
			timestamptz '2026-02-01' + (i * 7919 % 2000) * interval '1 minute', 200, 2, timestamptz '2026-02-01', 100, 198,
			'{"number":17,"metric":"yield","value":71.2,"unit":"%"}', '[]', '', 'study ' || i FROM generate_series(1, 2000) AS i`
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
		must.Get(d.Pool().Exec(t.Context(), statement))(t)
	}
	return d
}

// BenchmarkStudyList lists 2,000 studies of 200 trials: all, and pages of 100 at the start and far
// behind.
func BenchmarkStudyList(b *testing.B) {
	d := databaseOf(b, manyStudies, manyEvents)
	all := must.Get(d.Studies.Summaries(b.Context(), study.Listing{}))(b)
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
	conn := must.Get(d.Pool().Acquire(ctx))(t)
	defer conn.Release()
	for _, setup := range []string{
		`SET plan_cache_mode = force_generic_plan`, // the plan that serves whatever page is asked for
		`PREPARE page (timestamptz, text, text[], text[], text[], bigint) AS ` + db.ListStudies,
	} {
		must.Get(conn.Exec(ctx, setup))(t)
	}
	rows := must.Get(conn.Query(ctx, `EXPLAIN (ANALYZE, COSTS off, TIMING off) EXECUTE page ('2026-02-01 05:00:00+00', 'study7', NULL, NULL, '{}', 100)`))(t)
	lines := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
	plan := strings.Join(lines, "\n")
	if !strings.Contains(plan, "Index Scan Backward using studies_last_change on studies (actual rows=100 ") || strings.Contains(plan, "Rows Removed") || strings.Contains(plan, "Sort") {
		t.Fatalf("the plan is\n%s", plan)
	}
}
