package derived

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"headroom/internal/must"
)

// behind calls Behind and does not wait.
func behind(t *testing.T, s *Store[page], of page, work func(ctx context.Context) error) (ready bool) {
	t.Helper()
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	ready, _ = must.Get2(s.Behind(impatient, of, "chart", work))(t)
	synctest.Wait()
	return ready
}

// TestWorkBehindRequestsLastsAsLongAsSomebodyComesBack, and half a minute longer at most.
func TestWorkBehindRequestsLastsAsLongAsSomebodyComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 1<<20)
		defer s.Jobs.Stop()
		of := page{"long", 3, ""}
		var begun, ended atomic.Int32
		work := func(ctx context.Context) error {
			begun.Add(1)
			<-ctx.Done()
			ended.Add(1)
			return ctx.Err()
		}
		for range 10 {
			if behind(t, s, of, work) {
				t.Fatal("unfinished work is ready")
			}
			time.Sleep(15 * time.Second) // of the test's own clock
		}
		if begun.Load() != 1 || ended.Load() != 0 {
			t.Errorf("work that somebody comes back for was begun %d times and ended %d times", begun.Load(), ended.Load())
		}
		time.Sleep(15 * time.Second) // of the test's own clock
		synctest.Wait()
		if ended.Load() != 1 {
			t.Error("work that nobody came back for goes on")
		}
		behind(t, s, of, work)
		if begun.Load() != 2 {
			t.Error("work that was given up is not begun again")
		}
	})
}

// TestWhatLastsIsDoneForWhoAsksAgain: a client whose patience is shorter than the work has it after
// some attempts; one who never comes back has it given up.
func TestWhatLastsIsDoneForWhoAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 1<<20)
		defer s.Jobs.Stop()
		s.Put(page{"slow", 3, ""}) // what is derived from a version that is not kept is not either
		var begun, ended atomic.Int32
		ask := func(of page, takes time.Duration) error {
			impatient, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := Lasting(impatient, s, of, "fit", func(ctx context.Context) (string, error) {
				begun.Add(1)
				select {
				case <-time.After(takes):
					return "done", nil
				case <-ctx.Done():
					ended.Add(1)
					return "", ctx.Err()
				}
			})
			return err
		}
		attempts := 1
		for ; attempts < 10 && ask(page{"slow", 3, ""}, 5*time.Second+time.Millisecond) != nil; attempts++ {
			time.Sleep(time.Second) // of the test's own clock
		}
		if begun.Load() != 1 || attempts != 4 {
			t.Errorf("five seconds of work, asked for in every other second, were begun %d times and there at attempt %d", begun.Load(), attempts)
		}
		if err := ask(page{"endless", 1, ""}, time.Hour); err == nil {
			t.Error("endless work was done")
		}
		time.Sleep(leaseTime + time.Second) // of the test's own clock
		if synctest.Wait(); ended.Load() != 1 {
			t.Error("work that nobody came back for goes on")
		}
	})
}

// TestWhatIsNotKeptIsLetGoOf, although the runtime keeps stopped timers for a while among others.
func TestWhatIsNotKeptIsLetGoOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 1<<20)
		defer s.Jobs.Stop()
		endless := func(id string) {
			impatient, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := Lasting(impatient, s, page{id, 1, ""}, "fit", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}); err == nil {
				t.Error("endless work was done")
			}
			time.Sleep(time.Second) // of the test's own clock
		}
		for i := range 5 {
			endless(fmt.Sprint("before ", i))
		}
		value := must.Get(Lasting(t.Context(), s, page{"not kept", 1, ""}, "fit", func(context.Context) (*[1 << 16]byte, error) {
			for i := range 5 {
				endless(fmt.Sprint("meanwhile ", i))
			}
			return new([1 << 16]byte), nil
		}))(t)
		led := weak.Make(value)
		if runtime.GC(); led.Value() != nil {
			t.Error("what is neither kept nor asked for any more is still in memory")
		}
		time.Sleep(2 * leaseTime) // of the test's own clock
	})
}

// TestWorkBehindRequestsTakesTurns: that of one study one after another, that of another at once; a
// failure is told to those who wait.
func TestWorkBehindRequestsTakesTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, 1<<20)
		defer s.Jobs.Stop()
		finish, broken := make(chan struct{}), errors.New("no luck")
		var mutex sync.Mutex
		var begun []string
		work := func(name string, err error) func(context.Context) error {
			return func(context.Context) error {
				mutex.Lock()
				begun = append(begun, name)
				mutex.Unlock()
				<-finish
				return err
			}
		}
		behind(t, s, page{"long", 3, ""}, work("earlier", nil))
		behind(t, s, page{"long", 4, ""}, work("later", nil))
		behind(t, s, page{"other", 1, ""}, work("other", broken))
		if !slices.Equal(begun, []string{"earlier", "other"}) {
			t.Errorf("at once are begun %v", begun)
		}
		failed := make(chan error)
		go func() {
			ready, _, err := s.Behind(t.Context(), page{"other", 1, ""}, "chart", work("twice", nil))
			if ready {
				t.Error("what failed is ready")
			}
			failed <- err
		}()
		synctest.Wait()
		close(finish)
		if err := <-failed; !errors.Is(err, broken) {
			t.Errorf("whoever waited for work that failed is told %v", err)
		}
		synctest.Wait()
		if !slices.Equal(begun, []string{"earlier", "other", "later"}) {
			t.Errorf("begun are %v", begun)
		}
		s.Jobs.Stop()
		if ready, _, err := s.Behind(t.Context(), page{"late", 1, ""}, "chart", work("late", nil)); ready || err != nil {
			t.Errorf("a program that stops says %t, %v", ready, err)
		}
	})
}
