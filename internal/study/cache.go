package study

import (
	"container/list"
	"math"
	"sync"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// cache keeps snapshots, with what was replayed from them, by study and version. It is bounded in bytes: what was used longest ago goes
// first. Everything in it can be worked out again from the ledger.
type cache struct {
	mu          sync.Mutex
	limit, used int64
	recent      *list.List // of *cached, the most recently used first
	versions    map[string]map[int64]*list.Element
	newest      map[string]int64 // the highest of versions
	prior       map[string]priorState
}

type cached struct {
	snap   *ledger.Snapshot
	replay *replay // worked out when first asked for
	bytes  int64
}

// priorState is the latest state replayed of a study, which the next one extends.
type priorState struct {
	compiled *design.Compiled
	version  int64
	state    *optimizer.State
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, recent: list.New(), versions: map[string]map[int64]*list.Element{}, newest: map[string]int64{}, prior: map[string]priorState{}}
}

// upTo returns the snapshot of the highest version ≤ at (at = 0: of any), or nil.
func (c *cache) upTo(id string, at int64) *ledger.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	version := c.newest[id]
	if at != 0 && at < version {
		version = highest(c.versions[id], at)
	}
	element, ok := c.versions[id][version]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*cached).snap
}

// highest returns the highest version ≤ at, or 0.
func highest[V any](versions map[int64]V, at int64) (best int64) {
	for v := range versions {
		if v > best && v <= at {
			best = v
		}
	}
	return best
}

// put keeps snap and returns the one to use: the same one, or that which was there before.
func (c *cache) put(snap *ledger.Snapshot) *ledger.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.versions[snap.ID][snap.Version]; ok {
		c.recent.MoveToFront(element)
		return element.Value.(*cached).snap
	}
	if c.versions[snap.ID] == nil {
		c.versions[snap.ID] = map[int64]*list.Element{}
	}
	entry := &cached{snap: snap, replay: newReplay(), bytes: snapshotBytes(snap)}
	c.versions[snap.ID][snap.Version] = c.recent.PushFront(entry)
	c.newest[snap.ID] = max(c.newest[snap.ID], snap.Version)
	c.used += entry.bytes
	c.shrink()
	return snap
}

// replayOf returns the place for the state replayed from snap: one for all who hold the same version, one of its own for a study
// as it might be and for one dropped meanwhile.
func (c *cache) replayOf(snap *ledger.Snapshot) *replay {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry := c.entry(snap); entry != nil {
		return entry.Value.(*cached).replay
	}
	return newReplay()
}

// entry is where snap is kept, nil if it is not; the hash tells a study as it is from one as it might be.
func (c *cache) entry(snap *ledger.Snapshot) *list.Element {
	element, ok := c.versions[snap.ID][snap.Version]
	if !ok || element.Value.(*cached).snap.Hash != snap.Hash {
		return nil
	}
	return element
}

// replayed accounts for the state that was worked out for snap, and keeps it to extend if it is the study's latest.
func (c *cache) replayed(snap *ledger.Snapshot, state *optimizer.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.entry(snap)
	if element == nil {
		return
	}
	if p, ok := c.prior[snap.ID]; !ok || snap.Version >= p.version {
		c.prior[snap.ID] = priorState{snap.Compiled(), snap.Version, state}
	}
	entry, extra := element.Value.(*cached), stateBytes(snap)
	entry.bytes += extra
	c.used += extra
	c.shrink()
}

// toExtend returns a state of the same study under the same definition, or nil.
func (c *cache) toExtend(snap *ledger.Snapshot) *optimizer.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.prior[snap.ID]; p.compiled == snap.Compiled() {
		return p.state
	}
	return nil
}

// shrink drops what was used longest ago until the rest fits. The last one used stays however large it is.
func (c *cache) shrink() {
	for c.used > c.limit && c.recent.Len() > 1 {
		entry := c.recent.Remove(c.recent.Back()).(*cached)
		c.used -= entry.bytes
		c.forget(entry.snap)
	}
}

func (c *cache) forget(snap *ledger.Snapshot) {
	versions := c.versions[snap.ID]
	delete(versions, snap.Version)
	if c.prior[snap.ID].version == snap.Version {
		delete(c.prior, snap.ID)
	}
	switch {
	case len(versions) == 0:
		delete(c.versions, snap.ID)
		delete(c.newest, snap.ID)
	case snap.Version == c.newest[snap.ID]:
		c.newest[snap.ID] = highest(versions, math.MaxInt64)
	}
}

// Sizes in bytes, near enough to bound the cache.
const (
	trialBytes  = 2000 // a trial with its maps and decision
	metricBytes = 200
	searchSpace = 2000 // points that a search keeps on a continuous space
)

// snapshotBytes estimates what snap holds, counting what versions share each time.
func snapshotBytes(snap *ledger.Snapshot) int64 {
	n := int64(len(snap.Trials))
	size := n*trialBytes + n*int64(len(snap.Compiled().MetricNames))*metricBytes
	for _, c := range snap.Definition.Constraints {
		if c.Sampled { // each trial came with a value for each candidate
			size += 8 * n * int64(len(snap.Definition.Candidates))
		}
	}
	for _, m := range snap.Compiled().Config.Metrics {
		size += 8 * int64(len(m.Kernel.Matrix)) * int64(len(m.Kernel.Matrix))
	}
	return size + int64(len(snap.Definition.Candidates))*metricBytes
}

// stateBytes estimates the replayed state: a packed triangle a metric, and mean and variance of the points searched.
func stateBytes(snap *ledger.Snapshot) int64 {
	n, points := int64(len(snap.Trials)), int64(len(snap.Definition.Candidates))
	if points == 0 {
		points = searchSpace
	}
	return int64(len(snap.Compiled().MetricNames)) * (4*n*(n+1) + 32*points)
}
