package study

import (
	"fmt"
	"testing"

	"headroom/internal/memory/memorytest"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// ledgers are the events of so many studies of so many trials.
func ledgers(t *testing.T, studies, trials int) [][]ledger.Event {
	t.Helper()
	all := make([][]ledger.Event, studies)
	for i := range all {
		b := newBench(t, oven())
		for n := range trials {
			b.ask(1)
			x := b.snap.Trial(n + 1).Parameters["temperature"].Number / 60
			b.tell(n+1, map[string]float64{"yield": 70 + 20*x - 30*x*x, "impurity": x * x})
		}
		all[i] = b.events
	}
	return all
}

// size is how many bytes are kept, of how many versions.
func size(s *Service) (bytes int64, versions int) {
	for _, held := range s.Derived.Held() {
		bytes += held.Bytes
	}
	return bytes, s.Derived.Held()["versions"].Entries
}

// A service is led through every version of some studies, replayed; what it says it keeps is what
// the heap holds, and within its limit.
func TestNoMoreIsKeptThanTheLimit(t *testing.T) {
	all := ledgers(t, 4, 25)
	for _, limit := range []int64{1 << 30, 2 << 20, 600 << 10} {
		before := memorytest.Held()
		s := NewService(nil, Options{CacheBytes: limit})
		fill(t, s, all)
		held := memorytest.Held() - before
		said, versions := size(s)
		if said > limit || versions < 2 {
			t.Errorf("limit %d: %d bytes in %d versions", limit, said, versions)
		}
		if ratio := float64(said) / float64(held); ratio < 0.75 || ratio > 1.3 {
			t.Errorf("limit %d: it says that it holds %d bytes, and holds %d", limit, said, held)
		}
		s.Stop()
	}
}

func fill(t *testing.T, s *Service, all [][]ledger.Event) {
	t.Helper()
	for i, events := range all {
		var snap *ledger.Snapshot
		for n := range events {
			next, err := ledger.Fold(fmt.Sprint("study ", i), snap, events[n:n+1], nil)
			if err != nil {
				t.Fatal(err)
			}
			snap = s.Derived.Put(next)
			if _, err := s.state(t.Context(), snap); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestStatesAreExtendedNotMadeAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	if b.service.toExtend(b.snap) == nil {
		t.Error("the state that the decision was made from is there to extend")
	}
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Algorithm: &design.Algorithm{Name: "ckb-ucb", Horizon: 50}, Reason: "x"}))
	if b.service.toExtend(b.snap) != nil {
		t.Error("a state under another definition is no use")
	}
}

func TestOneVersionIsReplayedOnceAndAStudyAsItMightBeApart(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	again, mightBe := *b.snap, *b.snap
	state := func(snap *ledger.Snapshot) *optimizer.State {
		state, err := b.service.state(t.Context(), snap)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	if state(&again) != state(b.snap) {
		t.Error("the same version read twice has two states")
	}
	mightBe.Hash = "of a correction that is only looked at"
	used, _ := size(b.service)
	if state(&mightBe) == state(b.snap) {
		t.Error("a study as it might be has the state of the study as it is")
	}
	if now, _ := size(b.service); b.service.toExtend(b.snap) != state(b.snap) || used != now {
		t.Error("a study as it might be is kept")
	}
}

// TestChartsOfOtherPlacesAreOthers: what is kept of a chart is found by all of its places,
// candidates among them.
func TestChartsOfOtherPlacesAreOthers(t *testing.T) {
	t.Parallel()
	known := map[chartOf]bool{}
	for _, places := range [][]optimizer.Place{{{U: []float64{0.5}, Arm: -1}}, {{U: []float64{0.25}, Arm: -1}}, {{U: []float64{0.5}, Arm: 3}}, {{Arm: 3}},
		{{U: []float64{0.5}, Arm: -1}, {U: []float64{0.25}, Arm: -1}}} {
		if at := chartAt(places); known[at] || at != chartAt(places) {
			t.Errorf("%v is found as another chart", places)
		} else {
			known[at] = true
		}
	}
}
