package db_test

import (
	"testing"
	"time"

	"headroom/internal/db/dbtest"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
)

// snapshotWhere polls for something that happens in the background.
func snapshotWhere(t *testing.T, s *study.Service, id string, holds func(*ledger.Snapshot) bool) *ledger.Snapshot {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		snap, err := s.Snapshot(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		if holds(snap) {
			return snap
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it did not happen")
		}
	}
}

func TestAFitThatTakesLongIsKeptWhenItIsReady(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t).Studies
	s := study.NewService(store, study.Options{FitPatience: time.Nanosecond})
	t.Cleanup(s.Stop)
	id := create(t, s, reactor()).ID
	before := len(play(t, s, id, 5).Fits) // the first design, and a trial after the first fit, which is waited for
	ask(t, s, id, 1)                      // is due a fit and does not wait for it
	snap := snapshotWhere(t, s, id, func(now *ledger.Snapshot) bool { return len(now.Fits) > before })
	if fit := snap.Fits[before]; before == 0 || fit.From != len(snap.Trials)+1 || len(fit.Metrics["yield"].Lengthscales) != 2 {
		t.Fatalf("after trial %d: %+v", len(snap.Trials), fit)
	}
	written := mustEvents(t, s, id)
	if last := written[len(written)-1]; last.Kind != ledger.Fitted || last.By != "optimizer" {
		t.Fatalf("a fit nobody waited for is the optimizer's own, and its event the last: not %s by %s", last.Kind, last.By)
	}
	snap = play(t, s, id, 2)
	wantVerified(t, s, id, len(snap.Trials))
	last := snap.Trial(len(snap.Trials)).Decision.Model["yield"]
	if last.Scale == 1 || last.Lengthscales[0] == 0.3 {
		t.Fatalf("the later decision does not use the fit: %+v", last)
	}
}

func TestStopEndsFits(t *testing.T) {
	t.Parallel()
	s := study.NewService(dbtest.New(t).Studies, study.Options{FitPatience: time.Nanosecond})
	id := create(t, s, reactor()).ID
	play(t, s, id, 7)
	s.Stop()
	play(t, s, id, 1) // goes on with the model as it is
	s.Stop()
}

func mustEvents(t *testing.T, s *study.Service, id string) []ledger.Event {
	t.Helper()
	events, err := s.Events(t.Context(), id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return events
}
