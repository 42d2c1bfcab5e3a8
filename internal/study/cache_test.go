package study

import (
	"fmt"
	"testing"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

func TestCacheDropsWhatWasUsedLongestAgo(t *testing.T) {
	t.Parallel()
	empty := newBench(t, oven()).snap
	one := snapshotBytes(empty) + trialBytes // a version with one trial, without metrics
	version := func(id string, v int64) *ledger.Snapshot {
		snap := *empty
		snap.ID, snap.Version, snap.Trials = id, v, []*ledger.Trial{{}}
		return &snap
	}
	c := newCache(3 * (one + 3*metricBytes))
	first := c.put(version("a", 1))
	if again := c.put(version("a", 1)); again != first {
		t.Error("one version, one snapshot")
	}
	c.put(version("a", 2))
	c.put(version("b", 7))
	if c.upTo("a", 1) != first { // now used later than a@2
		t.Fatal("a@1 is there")
	}
	c.put(version("b", 8))
	if c.upTo("a", 0) != first || c.upTo("b", 0).Version != 8 || c.upTo("b", 7).Version != 7 {
		t.Errorf("kept %v, newest %v", c.versions, c.newest)
	}
	for v := range int64(50) {
		c.put(version(fmt.Sprint("c", v), v+1))
	}
	if c.used > c.limit || len(c.versions) > 3 || len(c.newest) != len(c.versions) || c.upTo("a", 0) != nil {
		t.Errorf("%d bytes of %d in %d studies", c.used, c.limit, len(c.versions))
	}
}

func TestStatesAreExtendedNotMadeAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	if b.service.cache.toExtend(b.snap) == nil {
		t.Error("the state that the decision was made from is there to extend")
	}
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Algorithm: &design.Algorithm{Name: "ckb-ucb", Horizon: 50}, Reason: "x"}))
	if b.service.cache.toExtend(b.snap) != nil {
		t.Error("a state under another definition is no use")
	}
}
