package study

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

func TestCacheDropsWhatWasUsedLongestAgo(t *testing.T) {
	t.Parallel()
	made := newBench(t, oven()).snap
	one := made.BytesBeside()
	version := func(id string, v int64) *ledger.Snapshot {
		snap := *made
		snap.ID, snap.Version = id, v
		return &snap
	}
	c := newCache(5 * one)
	first := c.put(version("a", 1))
	if again := c.put(version("a", 1)); again != first {
		t.Error("one version, one snapshot")
	}
	c.put(version("a", 2))
	c.put(version("b", 7))
	if c.upTo("a", 0).Version != 2 || c.upTo("a", 1) != first || c.upTo("b", 6) != nil || c.upTo("b", 9).Version != 7 {
		t.Fatalf("kept %v", c.studies)
	}
	for v := range int64(50) {
		c.put(version(fmt.Sprint("c", v), v+1))
		if c.upTo("a", 1) != first { // used again and again
			t.Fatalf("a@1 went before the %d others that nobody asks for", v+1)
		}
	}
	if used, versions := c.size(); used > c.limit || versions > 5 || len(c.studies) > 5 || c.upTo("a", 0) != first || c.upTo("b", 0) != nil {
		t.Errorf("%d bytes of %d in %d versions of %d studies", used, c.limit, versions, len(c.studies))
	}
}

// What is held stays while others are at work, beside a quarter of the limit for those, and goes as anything else when it is let go of.
func TestWhatIsHeldStays(t *testing.T) {
	t.Parallel()
	made := newBench(t, oven()).snap
	one := made.BytesBeside()
	version := func(id string) *ledger.Snapshot {
		snap := *made
		snap.ID, snap.Version = id, 1
		return &snap
	}
	c := newCache(8 * one)
	large := c.put(version("large"))
	c.grew(large, c.replayOf(large), 20*one)
	letGo := c.hold(large)
	others := func(from int) {
		for i := range 30 {
			c.put(version(fmt.Sprint("small", from+i)))
		}
	}
	others(0)
	if _, versions := c.size(); c.upTo("large", 0) != large || versions < 2 || versions > 4 {
		t.Errorf("beside what is held, %d versions are kept; what is held: %v", versions-1, c.upTo("large", 0))
	}
	letGo()
	others(100)
	if used, _ := c.size(); c.upTo("large", 0) != nil || used > c.limit {
		t.Errorf("what was let go of stays, with %d of %d bytes", used, c.limit)
	}
}

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

// The cache is filled with every version of some studies, replayed; what it says it holds is what the heap holds, and within its limit.
func TestCacheHoldsNoMoreThanItsLimit(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	all := ledgers(t, 4, 25)
	for _, limit := range []int64{1 << 30, 2 << 20, 600 << 10} {
		before := heap()
		c := newCache(limit)
		fill(t, c, all)
		held := heap() - before
		said, versions := c.size()
		if said > limit || versions < 2 {
			t.Errorf("limit %d: %d bytes in %d versions", limit, said, versions)
		}
		if ratio := float64(said) / float64(held); ratio < 0.75 || ratio > 1.3 {
			t.Errorf("limit %d: it says that it holds %d bytes, and holds %d", limit, said, held)
		}
		runtime.KeepAlive(c)
	}
}

func fill(t *testing.T, c *cache, all [][]ledger.Event) {
	t.Helper()
	for i, events := range all {
		var snap *ledger.Snapshot
		for n := range events {
			next, err := ledger.Fold(fmt.Sprint("study ", i), snap, events[n:n+1], nil)
			if err != nil {
				t.Fatal(err)
			}
			snap = c.put(next)
			var state *optimizer.State
			if prior := c.toExtend(snap); prior != nil {
				state, err = prior.Extend(t.Context(), snap.History(snap.Compiled()))
			} else {
				state, err = optimizer.Replay(t.Context(), snap.Compiled().Config, snap.History(snap.Compiled()))
			}
			if err != nil {
				t.Fatal(err)
			}
			c.replayOf(snap).state = state
			c.replayed(snap, state)
		}
	}
}

// Looking back and forth at a growing study replays many of its versions; few of them stay replayed, and those that somebody waits for as far as there is room.
func TestFewStatesOfAStudyStay(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	for n := range 12 {
		b.ask(1)
		b.tell(n+1, map[string]float64{"yield": 70, "impurity": 0.2})
	}
	c := b.service.cache
	version := func(v int64) *ledger.Snapshot {
		past, err := ledger.Fold(b.snap.ID, nil, b.events[:v], b.snap)
		if err != nil {
			t.Fatal(err)
		}
		return c.put(past)
	}
	look := func(versions ...int64) {
		t.Helper()
		for _, v := range versions {
			if _, err := b.service.state(t.Context(), version(v)); err != nil {
				t.Fatal(err)
			}
		}
	}
	replayed := func(want ...int64) {
		t.Helper()
		var got []int64
		for version, element := range c.studies[b.snap.ID].versions {
			if element.Value.(*cached).state > 0 {
				got = append(got, version)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("replayed are versions %v, want %v", got, want)
		}
	}
	look(b.snap.Version, 3, 9, 5, 7, 11, 9)
	replayed(9, 11, b.snap.Version)
	for _, waitedFor := range []int64{9, 11, 13} {
		defer c.hold(version(waitedFor))()
	}
	look(13, 15, 17)
	replayed(9, 11, 13, 17, b.snap.Version)
	c.limit = 1 // no room but for what is waited for, and of that for no more than ever
	look(19)
	replayed(13, 19)
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
		p, _, err := kept.get([]optimizer.Place{{U: []float64{u}, Arm: arm}}, func() (Posterior, error) {
			computed++
			return Posterior{FeasibilityProbability: []float64{u}}, err
		})
		return p, err
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
