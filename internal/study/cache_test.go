package study

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"headroom/internal/optimizer"
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

func TestOneVersionIsReplayedOnceAndAStudyAsItMightBeApart(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	c, again, mightBe := b.service.cache, *b.snap, *b.snap
	if c.replayOf(&again) != c.replayOf(b.snap) {
		t.Error("the same version read twice has two states")
	}
	mightBe.Hash = "of a correction that is only looked at"
	if c.replayOf(&mightBe) == c.replayOf(b.snap) {
		t.Error("a study as it might be has the state of the study as it is")
	}
	used := c.used
	state, err := b.service.state(t.Context(), &mightBe)
	if err != nil {
		t.Fatal(err)
	}
	if c.toExtend(b.snap) == state || used != c.used {
		t.Error("a study as it might be is kept")
	}
}

func TestAPosteriorIsWorkedOutOnceAsLongAsItIsKept(t *testing.T) {
	t.Parallel()
	var kept posteriors
	computed := 0
	at := func(u float64, arm int, err error) (Posterior, error) {
		return kept.get([]optimizer.Place{{U: []float64{u}, Arm: arm}}, func() (Posterior, error) {
			computed++
			return Posterior{FeasibilityProbability: []float64{u}}, err
		})
	}
	if _, err := at(0.5, -1, context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for range 3 { // a failure is not kept, a posterior is
		if p, err := at(0.5, -1, nil); err != nil || p.FeasibilityProbability[0] != 0.5 {
			t.Errorf("%v, %v", p, err)
		}
	}
	if computed != 2 {
		t.Errorf("worked out %d times", computed)
	}
	for range 2 {
		if p, _ := at(0.25, -1, nil); p.FeasibilityProbability[0] != 0.25 {
			t.Errorf("the posterior of another place: %v", p)
		}
		if p, _ := at(0.75, 3, nil); p.FeasibilityProbability[0] != 0.75 {
			t.Errorf("the posterior of another place: %v", p)
		}
	}
	if computed != 4 {
		t.Errorf("worked out %d times", computed)
	}
	for i := range 2 * mostPosteriors {
		at(float64(i), -1, nil)
	}
	if len(kept.at) > mostPosteriors {
		t.Errorf("%d are kept", len(kept.at))
	}
}
