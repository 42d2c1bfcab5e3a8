package db_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/db"
	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// crowd is how many callers do the same thing at once.
const crowd = 20

// bench is two servers on one database, with one study.
type bench struct {
	stores   []*db.DB
	services []*study.Service
	id       string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	url := dbtest.URL(t)
	b := &bench{}
	for range 2 {
		store := open(t, url)
		service := serve(t, store)
		b.stores, b.services = append(b.stores, store), append(b.services, service)
	}
	snap := must.Get(b.services[0].Create(t.Context(), study.Command{By: "Ana"}, definition()))(t)
	b.id = snap.ID
	return b
}

func definition() design.Definition {
	low, high := 0.0, 1.0
	return design.Definition{
		Name:        "Race",
		Parameters:  []design.Parameter{{Name: "x", Type: design.Real, Low: &low, High: &high}},
		Objective:   design.Objective{Metric: "y", Direction: "maximize"},
		Constraints: []design.Constraint{{Metric: "c", Op: "<=", Threshold: 0.5}},
		Algorithm:   design.Algorithm{Name: "rpol-ucb", Horizon: 100},
		Seed:        7,
	}
}

// atOnce runs do for every member of the crowd, spread over both servers, and returns the errors.
func (b *bench) atOnce(do func(i int, s *study.Service) error) []error {
	errs := make([]error, crowd)
	var start, wait sync.WaitGroup
	start.Add(1)
	for i := range errs {
		wait.Go(func() {
			start.Wait()
			errs[i] = do(i, b.services[i%len(b.services)])
		})
	}
	start.Done()
	wait.Wait()
	return errs
}

// ask asks on one of the servers, once more where the other has been choosing for so long that it is
// told to.
func (b *bench) ask(ctx context.Context, s *study.Service, cmd study.Command) (numbers []int, err error) {
	for err = study.ErrUnavailable; errors.Is(err, study.ErrUnavailable); {
		_, numbers, err = s.Ask(ctx, cmd, b.id, study.Ask{})
	}
	return numbers, err
}

// intact checks the ledger and returns the study.
func (b *bench) intact(t *testing.T) *ledger.Snapshot {
	t.Helper()
	must.Do(t, b.stores[1].CheckLedgers(t.Context()))
	return must.Get(b.services[1].Snapshot(t.Context(), b.id, 0))(t)
}

func TestCrowdAsksAndTells(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var mutex sync.Mutex
	var numbers []int
	for _, err := range b.atOnce(func(i int, s *study.Service) error {
		got, err := b.ask(t.Context(), s, study.Command{By: fmt.Sprint("asker ", i)})
		mutex.Lock()
		defer mutex.Unlock()
		numbers = append(numbers, got...)
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	slices.Sort(numbers)
	for i, number := range numbers {
		if number != i+1 {
			t.Fatalf("the numbers are %v", numbers)
		}
	}
	if len(numbers) != crowd {
		t.Fatalf("%d trials were asked for, %d came", crowd, len(numbers))
	}
	// Each trial is told by two callers, a metric each, while others ask for more.
	for _, err := range b.atOnce(func(i int, s *study.Service) error {
		metrics := map[string]ledger.Reading{[]string{"y", "c"}[i%2]: {Value: float64(i) / crowd}}
		if i >= crowd/2 {
			_, err := b.ask(t.Context(), s, study.Command{By: "asker"})
			return err
		}
		_, err := s.Tell(t.Context(), study.Command{By: "teller"}, b.id, i/2+1, ledger.Telling{Metrics: metrics})
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	snap := b.intact(t)
	if len(snap.Trials) != crowd+crowd/2 {
		t.Fatalf("there are %d trials", len(snap.Trials))
	}
	for i := range crowd / 2 {
		metric := []string{"y", "c"}[i%2]
		if got := snap.Trials[i/2].Metrics[metric]; got.Value != float64(i)/crowd {
			t.Errorf("%s of trial %d is %v", metric, i/2+1, got.Value)
		}
	}
}

func TestCrowdTellsTheSameTrial(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	must.Get2(b.services[0].Ask(t.Context(), study.Command{By: "Ana"}, b.id, study.Ask{}))(t)
	accepted := 0
	for _, err := range b.atOnce(func(i int, s *study.Service) error {
		_, err := s.Tell(t.Context(), study.Command{By: "teller"}, b.id, 1, ledger.Telling{Metrics: map[string]ledger.Reading{"y": {Value: float64(i)}}})
		return err
	}) {
		switch {
		case err == nil:
			accepted++
		case !errors.Is(err, study.ErrConflict):
			t.Error(err)
		}
	}
	if accepted != 1 {
		t.Fatalf("%d values were accepted for one metric", accepted)
	}
	b.intact(t)
}

func TestCrowdRetriesOneAsk(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := &study.IdempotencyKey{Caller: "token:a", Request: "POST /ask", Key: "k", Body: sha256.New()}
	for _, err := range b.atOnce(func(_ int, s *study.Service) error {
		_, err := b.ask(t.Context(), s, study.Command{By: "Ana", Key: key})
		return err
	}) {
		var first *study.AlreadyDone
		if err != nil && (!errors.As(err, &first) || !slices.Equal(first.Done.Trials, []int{1})) {
			t.Error(err)
		}
	}
	if snap := b.intact(t); len(snap.Trials) != 1 {
		t.Fatalf("one ask made %d trials", len(snap.Trials))
	}
}

func TestCrowdCreatesStudies(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, err := range b.atOnce(func(_ int, s *study.Service) error {
		_, err := s.Create(t.Context(), study.Command{By: "Ana"}, definition())
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	if all, err := b.stores[0].Studies.Summaries(t.Context(), study.Listing{}); err != nil || len(all) != crowd+1 {
		t.Fatalf("there are %d studies, %v", len(all), err)
	}
	must.Do(t, b.stores[0].CheckLedgers(t.Context()))
}

// unlocked is a store whose server has lost its choosing lock without knowing it: while it writes
// what it decided, another decides.
type unlocked struct {
	study.Store
	meanwhile func()
}

func (u *unlocked) Choosing(ctx context.Context, _ string, choose func(ctx context.Context) error) error {
	return choose(ctx)
}

func (u *unlocked) Write(ctx context.Context, id string, cmd study.Command, known study.Known, decide func([]ledger.Event) (study.Append, error)) error {
	u.meanwhile()
	return u.Store.Write(ctx, id, cmd, known, decide)
}

// TestDecisionIsGivenUpWhenAnotherCameFirst: who chose meanwhile chose on its own, and who narrowed the
// bounds waited for the lock so that nothing beyond them is tried any more.
func TestDecisionIsGivenUpWhenAnotherCameFirst(t *testing.T) {
	t.Parallel()
	for what, meanwhile := range map[string]func(t *testing.T, b *bench) error{
		"an ask": func(t *testing.T, b *bench) error {
			_, _, err := b.services[1].Ask(t.Context(), ana, b.id, study.Ask{})
			return err
		},
		"other bounds": func(t *testing.T, b *bench) error {
			low := 0.99
			_, err := b.services[1].Reconfigure(t.Context(), ana, b.id, design.Reconfiguration{
				Parameters: []design.Parameter{{Name: "x", Type: design.Real, Low: &low, High: new(1.0)}}, Reason: "it burns below"})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			late := study.NewService(&unlocked{b.stores[0].Studies, func() { must.Do(t, meanwhile(t, b)) }}, study.Options{})
			t.Cleanup(late.Stop)
			before := must.Get(late.Snapshot(t.Context(), b.id, 0))(t)
			if _, _, err := late.Ask(t.Context(), ana, b.id, study.Ask{}); !errors.Is(err, study.ErrUnavailable) {
				t.Fatalf("a decision beside another got %v", err)
			}
			if snap := b.intact(t); snap.Version != before.Version+1 {
				t.Fatalf("after event %d there are %d", before.Version, snap.Version)
			}
		})
	}
}

// failing is a store whose choosing lock is free once the gate opens, and of which writes of some
// numbers fail in the database.
type failing struct {
	study.Store
	entered, gate chan struct{} // entered hears of who comes for the lock
	fail          map[int]func(ctx context.Context, cmd *study.Command) context.Context
	writes        int
}

func (f *failing) Choosing(ctx context.Context, id string, choose func(ctx context.Context) error) error {
	f.entered <- struct{}{}
	<-f.gate
	return f.Store.Choosing(ctx, id, choose)
}

func (f *failing) Write(ctx context.Context, id string, cmd study.Command, known study.Known, decide func([]ledger.Event) (study.Append, error)) error {
	f.writes++
	if fail := f.fail[f.writes]; fail != nil {
		ctx = fail(ctx, &cmd)
	}
	return f.Store.Write(ctx, id, cmd, known, decide)
}

// joining tells when its caller has joined those who wait.
type joining struct {
	context.Context
	joined func()
}

func (j joining) Done() <-chan struct{} {
	j.joined()
	return j.Context.Done()
}

// TestWhatIsNotWrittenIsNotBuiltOn: a decision is made while the one before it is written. Where
// that fails, the ledger is as if it had not been asked for.
func TestWhatIsNotWrittenIsNotBuiltOn(t *testing.T) {
	t.Parallel()
	const asks, fail = 9, 3
	b := newBench(t)
	used := &study.IdempotencyKey{Caller: "token:a", Request: "POST /ask", Key: "k", Body: sha256.New()}
	b.tellSome(t, b.id, used)
	store := &failing{Store: b.stores[0].Studies, entered: make(chan struct{}, asks), gate: make(chan struct{})}
	store.fail = map[int]func(context.Context, *study.Command) context.Context{
		3: func(ctx context.Context, cmd *study.Command) context.Context { cmd.Key = used; return ctx },
		5: func(ctx context.Context, cmd *study.Command) context.Context { cmd.IfMatch = 1; return ctx },
		6: func(ctx context.Context, _ *study.Command) context.Context { return gone(ctx) },
	}
	overlapping := study.NewService(store, study.Options{})
	t.Cleanup(overlapping.Stop)
	came := make(chan error, asks)
	for i := range asks {
		joined := make(chan struct{})
		go func() {
			_, _, err := overlapping.Ask(joining{t.Context(), sync.OnceFunc(func() { close(joined) })}, ana, b.id, study.Ask{})
			came <- err
		}()
		<-joined
		if i == 0 {
			<-store.entered // alone, so that the others wait together
		}
	}
	close(store.gate)
	var before, stale, left int
	for range asks {
		var done *study.AlreadyDone
		switch err := <-came; {
		case errors.As(err, &done):
			before++
		case errors.Is(err, study.ErrStale):
			stale++
		case errors.Is(err, context.Canceled):
			left++
		case err != nil:
			t.Error(err)
		}
	}
	if before != 1 || stale != 1 || left != 1 {
		t.Errorf("%d had been carried out before, %d were stale and %d left, want one each", before, stale, left)
	}
	b.intact(t)
	alone := must.Get(b.services[1].Create(t.Context(), ana, definition()))(t)
	b.tellSome(t, alone.ID, nil)
	for _, count := range []int{1, asks - fail - 1} {
		must.Get2(b.services[1].Ask(t.Context(), ana, alone.ID, study.Ask{Count: &count}))(t)
	}
	// Those who wait together are served in parts where that takes long, each from what was read then.
	seen := regexp.MustCompile(`"seen":\d+`)
	decided := cmp.Comparer(func(a, b string) bool { return seen.ReplaceAllString(a, "") == seen.ReplaceAllString(b, "") })
	if diff := cmp.Diff(b.said(t, alone.ID), b.said(t, b.id), decided); diff != "" {
		t.Errorf("without the asks that failed, and with them: %s", diff)
	}
}

// gone is the context of a caller who has left.
func gone(ctx context.Context) context.Context {
	ctx, leave := context.WithCancel(ctx)
	leave()
	return ctx
}

// tellSome asks for some trials and tells their results, the first under a key.
func (b *bench) tellSome(t *testing.T, id string, key *study.IdempotencyKey) {
	t.Helper()
	for n := range 4 {
		_, numbers := must.Get2(b.services[1].Ask(t.Context(), study.Command{By: "Ana", Key: key}, id, study.Ask{}))(t)
		key = nil
		readings := map[string]ledger.Reading{"y": {Value: float64(n % 3)}, "c": {Value: float64(n) / crowd}}
		must.Get(b.services[1].Tell(t.Context(), ana, id, numbers[0], ledger.Telling{Metrics: readings}))(t)
	}
}

// said is what the events of a study say.
func (b *bench) said(t *testing.T, id string) (all []string) {
	t.Helper()
	events := must.Get(b.stores[1].Studies.Events(t.Context(), id, 0, 0))(t)
	for _, e := range events {
		all = append(all, string(e.Data))
	}
	return all
}
