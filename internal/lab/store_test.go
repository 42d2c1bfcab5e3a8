package lab

import (
	"errors"
	"testing"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// TestBook lets two services write to one study in turn, each unaware of what the other wrote.
func TestBook(t *testing.T) {
	t.Parallel()
	store, by := new(book), study.Command{By: "Ana"}
	one, other := study.NewService(store, study.Options{}), study.NewService(store, study.Options{})
	t.Cleanup(one.Stop)
	t.Cleanup(other.Stop)
	d := problem(t, "gramacy").Study
	snap, err := one.Create(t.Context(), by, d)
	if err != nil {
		t.Fatal(err)
	}
	at := design.Settings{"x1": design.NumberValue(0.5), "x2": design.NumberValue(0.25)}
	for i, s := range []*study.Service{one, other, one, other} {
		_, number, err := s.AddTrial(t.Context(), by, snap.ID, study.OwnTrial{Parameters: at})
		if err != nil || number != i+1 {
			t.Fatalf("trial %d became %d, %v", i+1, number, err)
		}
	}
	// other has seen everything, one has not seen trial 4.
	for _, s := range []*study.Service{one, other} {
		tell := ledger.Telling{Metrics: map[string]ledger.Reading{"reward": {Value: 1}}}
		number := map[*study.Service]int{one: 4, other: 1}[s]
		if _, err := s.Tell(t.Context(), by, snap.ID, number, tell); err != nil {
			t.Errorf("telling trial %d: %v", number, err)
		}
	}
	stale := by
	stale.IfMatch = 3
	if _, err := one.Tell(t.Context(), stale, snap.ID, 2, ledger.Telling{Note: "late"}); !errors.Is(err, study.ErrStale) {
		t.Errorf("a write for version 3 gives %v", err)
	}
	if _, err := one.Snapshot(t.Context(), "elsewhere", 0); !errors.Is(err, study.ErrNotFound) {
		t.Errorf("a study that is not there gives %v", err)
	}
	if past, err := one.Snapshot(t.Context(), snap.ID, 3); err != nil || len(past.Trials) != 2 {
		t.Errorf("after event 3 there are other trials than 2: %v", err)
	}
	if version, err := store.Version(t.Context(), snap.ID); err != nil || version != 7 {
		t.Errorf("the version is %d, %v; want 7 for a study, four trials and two results", version, err)
	}
}
