package lab

import (
	"errors"
	"slices"
	"testing"
	"time"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// TestLedgers lets two services write to one study in turn, each unaware of what the other wrote.
func TestLedgers(t *testing.T) {
	t.Parallel()
	store, by := newLedgers(), study.Command{By: "Ana"}
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

// TestLedgersList pages through three studies, the last changed first.
func TestLedgersList(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	s, by := study.NewService(newLedgers(), study.Options{Now: clock}), study.Command{By: "Ana"}
	t.Cleanup(s.Stop)
	var ids []string
	for range 3 {
		snap, err := s.Create(t.Context(), by, problem(t, "gramacy").Study)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, snap.ID)
	}
	paused := ledger.Paused
	if _, err := s.Edit(t.Context(), by, ids[0], ledger.EditedData{State: &paused}); err != nil {
		t.Fatal(err)
	}
	want := []string{ids[0], ids[2], ids[1]}
	var got []string
	list := study.Listing{Limit: 1}
	for len(got) < 10 {
		page, next, err := s.Summaries(t.Context(), list)
		if err != nil || len(page) != 1 {
			t.Fatalf("a page of %d, %v", len(page), err)
		}
		if got = append(got, page[0].ID); next == nil {
			break
		}
		list.After = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages are %v, want %v", got, want)
	}
	for what, list := range map[string]study.Listing{
		"state": {States: []ledger.State{ledger.Paused}}, "id": {Only: []string{ids[0], "elsewhere"}},
	} {
		if page, _, err := s.Summaries(t.Context(), list); err != nil || len(page) != 1 || page[0].ID != ids[0] {
			t.Errorf("by %s there are %v, %v", what, page, err)
		}
	}
}
