package checkpoint_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/checkpoint"
)

func TestReach(t *testing.T) {
	t.Parallel()
	if err := checkpoint.Reach(t.Context()); err != nil {
		t.Errorf("without a hook: %v", err)
	}
	stop := errors.New("stop")
	hooked := checkpoint.With(t.Context(), func(context.Context) error { return stop })
	if err := checkpoint.Reach(hooked); !errors.Is(err, stop) {
		t.Errorf("the hook's error is lost: %v", err)
	}
	if err := checkpoint.Reach(checkpoint.Without(hooked)); err != nil {
		t.Errorf("the hook is called although it was taken away: %v", err)
	}
	ended, cancel := context.WithCancel(hooked)
	cancel()
	if err := checkpoint.Reach(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended gives %v", err)
	}
	if err := checkpoint.Reach(checkpoint.Without(ended)); !errors.Is(err, context.Canceled) {
		t.Errorf("without a hook, a context that has ended gives %v", err)
	}
}

func TestMeter(t *testing.T) {
	t.Parallel()
	calls := 0
	ctx := checkpoint.With(t.Context(), func(context.Context) error { calls++; return nil })
	m := checkpoint.NewMeter(ctx)
	for range 7 {
		must.Do(t, m.Spend(checkpoint.Slice/2))
	}
	if calls != 3 {
		t.Errorf("three and a half slices of work reached %d checkpoints", calls)
	}
}

// TestOnceKeepsTheFirstResult, however late it came, and no error.
func TestOnceKeepsTheFirstResult(t *testing.T) {
	t.Parallel()
	var once checkpoint.Once[int]
	get := func(value int, err error) (int, error) {
		return once.Get(t.Context(), func(context.Context) (int, error) { return value, err })
	}
	stop := errors.New("stop")
	if _, err := get(1, stop); !errors.Is(err, stop) {
		t.Errorf("the work's error is lost: %v", err)
	}
	if _, known := once.Kept(); known {
		t.Error("what ended with an error is kept")
	}
	slow := must.Get(once.Get(t.Context(), func(context.Context) (int, error) { return 2 + 0*must.Get(get(3, nil))(t), nil }))(t)
	again := must.Get(once.Get(t.Context(), func(context.Context) (int, error) { t.Error("what is known is made again"); return 4, nil }))(t)
	if slow != 3 || again != 3 {
		t.Errorf("%d was kept, and then %d; the first result was 3", slow, again)
	}
}

// The race detector watches that one goroutine at a time is with the hook.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	calls := 0
	ctx := checkpoint.With(t.Context(), func(context.Context) error { calls++; return nil })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if err := checkpoint.Reach(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if calls != 800 {
		t.Errorf("the hook counted %d of 800 calls", calls)
	}
}
