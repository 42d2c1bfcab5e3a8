package cores_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headroom/internal/optimizer/cores"
)

func TestGroupsDoEveryPiece(t *testing.T) {
	t.Parallel()
	wrong := errors.New("no luck")
	var done, atOnce, most atomic.Int64
	g := cores.New()
	for i := range 40 {
		g.Go(func() error {
			now := atOnce.Add(1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			done.Add(1)
			atOnce.Add(-1)
			if i == 7 {
				return wrong
			}
			return nil
		})
	}
	if err := g.Wait(); !errors.Is(err, wrong) || done.Load() != 40 || most.Load() > int64(cores.Count()) {
		t.Errorf("%v after %d pieces, up to %d at once on %d processors", err, done.Load(), most.Load(), cores.Count())
	}
}

// TestTheErrorIsThatOfTheFirstPiece, whichever was the first to have one: what people are told must
// not depend on how busy a processor is.
func TestTheErrorIsThatOfTheFirstPiece(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, other := errors.New("first"), errors.New("other")
		failing := func(i int) error {
			if i > 0 {
				return other
			}
			time.Sleep(time.Second) // of the test's own clock, which goes on when all others are done or wait
			return first
		}
		g := cores.New()
		for i := range 3 {
			g.Go(func() error { return failing(i) })
		}
		if err := g.Wait(); err != first {
			t.Errorf("of a group: %v", err)
		}
		if err := cores.Each(3, failing); err != first {
			t.Errorf("of pieces taken in turn: %v", err)
		}
	})
}

// stumble panics; its name must be found in the stack.
func stumble() error { panic("over a stone") }

func TestPanicsOfPiecesReachTheWaiter(t *testing.T) {
	t.Parallel()
	g, others := cores.New(), new(atomic.Int64)
	defer func() {
		cause, _ := recover().(string)
		if !strings.HasPrefix(cause, "over a stone") || !strings.Contains(cause, "cores_test.stumble") || others.Load() != 10 {
			t.Errorf("after %d other pieces Wait panics with %q", others.Load(), cause)
		}
	}()
	for range 5 {
		g.Go(func() error { others.Add(1); return nil })
		g.Go(stumble)
		g.Go(func() error { others.Add(1); return nil })
	}
	t.Errorf("Wait returns %v", g.Wait())
}
