package study

import (
	"errors"
	"runtime/debug"
	"testing"

	"headroom/internal/study/ledger"
)

// The limit is the whole program's: tests beside this one run under it for a moment.
func TestTheCacheKeepsToTheProgramsMemory(t *testing.T) {
	before := debug.SetMemoryLimit(800 << 20)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	if got := mostCached(); got != 400<<20 {
		t.Errorf("%d MiB of 800", got>>20)
	}
	debug.SetMemoryLimit(1 << 50)
	if got := mostCached(); got != 1<<30 {
		t.Errorf("%d MiB where there is no limit to speak of", got>>20)
	}
}

// Where a model would be too large, trials are refused with what that would take and what helps;
// telling goes on, and a reader is told the same.
func TestATooLargeModelIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.service.room.bytes = 10
	b.ask(3)
	for n := range 3 {
		b.tell(n+1, map[string]float64{"yield": 50 + float64(n), "impurity": 0.1})
	}
	ruled, err := b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{})
	b.refused(ruled, err, ErrConflict, "of up to 3 readings would take 0.0 MiB of memory and less than a minute, and a model may take 0.0 MiB here")
	if _, err := b.service.StateOf(t.Context(), b.snap); !errors.Is(err, ErrConflict) {
		t.Errorf("the state of too large a model is answered with %v", err)
	}
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": {Value: 1}}, Reason: "typo"}))
}
