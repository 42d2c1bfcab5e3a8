package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headroom/internal/must"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/scheduler"
)

// compute holds a place for so many slices of 5 ms, yielding between them.
func compute(slices int) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		for range slices {
			time.Sleep(5 * time.Millisecond) // of the test's own clock
			if err := checkpoint.Reach(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestLongWorkKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduler.New(1)
		long := make(chan error, 1)
		go func() { long <- s.Compute(scheduler.With(t.Context(), scheduler.Checking), "verified", compute(2000)) }()
		synctest.Wait()
		for range 20 {
			start := time.Now()
			must.Do(t, s.Compute(scheduler.With(t.Context(), scheduler.Choosing), "bench", compute(1)))
			if waited := time.Since(start); waited > 20*time.Millisecond {
				t.Fatalf("5 ms of work took %v beside a long one", waited)
			}
		}
		if err := <-long; err != nil {
			t.Fatal(err)
		}
	})
}

func TestStudiesShareEvenly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduler.New(1)
		var mu sync.Mutex
		done := map[string]time.Time{}
		var all sync.WaitGroup
		run := func(study string) {
			all.Go(func() {
				if err := s.Compute(scheduler.With(t.Context(), scheduler.Reading), study, compute(20)); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if last := done[study]; time.Now().After(last) {
					done[study] = time.Now()
				}
			})
		}
		start := time.Now()
		for range 10 { // one study asks for ten times as much
			run("greedy")
		}
		run("modest")
		all.Wait()
		if took := done["modest"].Sub(start); took > 250*time.Millisecond {
			t.Errorf("100 ms of work beside another study's took %v; half of the processor is 200 ms", took)
		}
		if took := done["greedy"].Sub(start); took < time.Second {
			t.Errorf("1.1 s of work on one place was done after %v", took)
		}
	})
}

func TestUrgentWorkComesFirstAndNobodyStarves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduler.New(1)
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for _, study := range []string{"a", "b", "c"} { // choosing without end
			all.Go(func() {
				for ctx.Err() == nil {
					_ = s.Compute(scheduler.With(ctx, scheduler.Choosing), study, compute(1))
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		must.Do(t, s.Compute(scheduler.With(ctx, scheduler.Checking), "d", compute(4)))
		if took := time.Since(start); took > 500*time.Millisecond {
			t.Errorf("20 ms of checking beside others' choosing took %v", took)
		}
		if f := s.Counts()[scheduler.Choosing]; f.Slices < 5 || f.Running != 1 {
			t.Errorf("choosing beside it: %+v", f)
		}
		stop()
		all.Wait()
	})
}

func TestTheOrderOfThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduler.New(1)
		hold, order := make(chan struct{}), []string{}
		var all sync.WaitGroup
		all.Go(func() {
			_ = s.Compute(scheduler.With(t.Context(), scheduler.Reading), "first", func(context.Context) error { <-hold; return nil })
		})
		synctest.Wait()
		for _, w := range []struct {
			study   string
			urgency scheduler.Urgency
		}{{"check", scheduler.Checking}, {"read", scheduler.Reading}, {"choose", scheduler.Choosing}} {
			all.Go(func() {
				_ = s.Compute(scheduler.With(t.Context(), w.urgency), w.study, func(context.Context) error { order = append(order, w.study); return nil })
			})
			synctest.Wait()
		}
		close(hold)
		all.Wait()
		if want := []string{"choose", "read", "check"}; !slices.Equal(order, want) {
			t.Errorf("served %v, want %v", order, want)
		}
	})
}

func TestWhoeverLeavesGivesThePlaceBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduler.New(1)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 2)
		go func() { left <- s.Compute(scheduler.With(ctx, scheduler.Checking), "a", compute(1000)) }()
		synctest.Wait()
		go func() { left <- s.Compute(scheduler.With(ctx, scheduler.Checking), "b", compute(1000)) }()
		time.Sleep(100 * time.Millisecond)
		cancel()
		for range 2 {
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("left with %v", err)
			}
		}
		if err := s.Compute(scheduler.With(ctx, scheduler.Choosing), "c", compute(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("came with an ended context and got %v", err)
		}
		must.Do(t, s.Compute(scheduler.With(t.Context(), scheduler.Choosing), "c", compute(1)))
		for u, f := range s.Counts() {
			if f.Running != 0 || f.Waiting != 0 {
				t.Errorf("%v after all have left: %+v", u, f)
			}
		}
	})
}

// Several goroutines of one piece of work yield together, and none of them goes on without the
// place.
func TestYieldsOfOneWorkGoTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduler.New(1)
		var mu sync.Mutex
		active := map[string]int{}
		enter := func(study string, by int) {
			mu.Lock()
			defer mu.Unlock()
			active[study] += by
			if active["wide"] > 0 && active["other"] > 0 {
				t.Error("two studies compute in one place")
			}
		}
		var all sync.WaitGroup
		all.Go(func() {
			_ = s.Compute(scheduler.With(t.Context(), scheduler.Reading), "wide", func(ctx context.Context) error {
				for range 50 {
					var parts sync.WaitGroup
					for range 4 {
						parts.Go(func() {
							if checkpoint.Reach(ctx) == nil {
								enter("wide", 1)
								time.Sleep(5 * time.Millisecond)
								enter("wide", -1)
							}
						})
					}
					parts.Wait()
				}
				return nil
			})
		})
		synctest.Wait()
		for range 10 {
			_ = s.Compute(scheduler.With(t.Context(), scheduler.Choosing), "other", func(context.Context) error {
				enter("other", 1)
				time.Sleep(5 * time.Millisecond)
				enter("other", -1)
				return nil
			})
		}
		all.Wait()
	})
}

// Nor do they where it is not given back, because their context ended meanwhile.
func TestALostPlaceIsLostToAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduler.New(1)
		ctx, cancel := context.WithCancel(t.Context())
		reached := make(chan error, 2)
		var all sync.WaitGroup
		all.Go(func() {
			_ = s.Compute(scheduler.With(ctx, scheduler.Reading), "wide", func(ctx context.Context) error {
				time.Sleep(20 * time.Millisecond)
				var parts sync.WaitGroup
				for range cap(reached) {
					parts.Go(func() { reached <- checkpoint.Reach(ctx) })
				}
				parts.Wait()
				return nil
			})
		})
		synctest.Wait()
		all.Go(func() {
			_ = s.Compute(scheduler.With(t.Context(), scheduler.Choosing), "other", func(context.Context) error {
				time.Sleep(50 * time.Millisecond)
				return nil
			})
		})
		time.Sleep(30 * time.Millisecond)
		cancel()
		for range cap(reached) {
			if err := <-reached; !errors.Is(err, context.Canceled) {
				t.Errorf("goes on without the place: %v", err)
			}
		}
		all.Wait()
		for u, want := range map[scheduler.Urgency]time.Duration{scheduler.Reading: 20 * time.Millisecond, scheduler.Choosing: 50 * time.Millisecond} {
			if got := s.Counts()[u].Computed; got != want {
				t.Errorf("%v has computed for %v, want %v", u, got, want)
			}
		}
	})
}

// A study that comes new has saved up nothing by having been away.
func TestNewcomersStartLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduler.New(1)
		var there time.Duration
		var all sync.WaitGroup
		start := time.Now()
		all.Go(func() {
			_ = s.Compute(scheduler.With(t.Context(), scheduler.Reading), "there", compute(220)) // 1.1 s, the last 0.1 s of it beside the newcomer
			there = time.Since(start)
		})
		time.Sleep(time.Second)
		for range 3 {
			all.Go(func() { _ = s.Compute(scheduler.With(t.Context(), scheduler.Reading), "newcomer", compute(200)) })
		}
		all.Wait()
		if there > 1300*time.Millisecond {
			t.Errorf("the study that was there was done after %v; sharing evenly it is 1.2 s", there)
		}
	})
}

// growing is an urgency that changes.
type growing struct{ now scheduler.Urgency }

func (g *growing) Now() scheduler.Urgency { return g.now }

// TestUrgencyMayGrow: of work that waits for its slice, and of work that has had one; each slice is
// counted as what it was given for.
func TestUrgencyMayGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, work := scheduler.New(1), &growing{scheduler.Checking}
		hold, order := make(chan struct{}), []string{}
		var all sync.WaitGroup
		do := func(urgent scheduler.Urgent, study string) {
			all.Go(func() {
				_ = s.Compute(scheduler.With(t.Context(), urgent), study, func(ctx context.Context) error {
					if study == "first" {
						<-hold
					}
					order = append(order, study)
					return nil
				})
			})
			synctest.Wait()
		}
		do(scheduler.Reading, "first")
		do(scheduler.Reading, "reads")
		do(work, "grows")
		if f := s.Counts(); f[scheduler.Checking].Waiting != 1 {
			t.Errorf("before: %+v", f)
		}
		work.now = scheduler.Choosing
		if f := s.Counts(); f[scheduler.Checking].Waiting != 0 || f[scheduler.Choosing].Waiting != 1 {
			t.Errorf("after: %+v", f)
		}
		close(hold)
		all.Wait()
		if want := []string{"first", "grows", "reads"}; !slices.Equal(order, want) || s.Counts()[scheduler.Choosing].Slices != 1 || s.Counts()[scheduler.Choosing].Running != 0 {
			t.Errorf("served %v, want %v; %+v", order, want, s.Counts())
		}
	})
}
