package study

import (
	"container/list"
	"math"
	"sync"

	"headroom/internal/optimizer"
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
	snap  *Snapshot
	bytes int64
}

// priorState is the latest state replayed of a study, which the next one extends.
type priorState struct {
	compiled *compiled
	version  int64
	state    *optimizer.State
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, recent: list.New(), versions: map[string]map[int64]*list.Element{}, newest: map[string]int64{}, prior: map[string]priorState{}}
}

// upTo returns the snapshot of the highest version ≤ at (at = 0: of any), or nil.
func (c *cache) upTo(id string, at int64) *Snapshot {
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
func (c *cache) put(snap *Snapshot) *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.versions[snap.ID][snap.Version]; ok {
		c.recent.MoveToFront(element)
		return element.Value.(*cached).snap
	}
	if c.versions[snap.ID] == nil {
		c.versions[snap.ID] = map[int64]*list.Element{}
	}
	entry := &cached{snap: snap, bytes: snap.bytes()}
	c.versions[snap.ID][snap.Version] = c.recent.PushFront(entry)
	c.newest[snap.ID] = max(c.newest[snap.ID], snap.Version)
	c.used += entry.bytes
	c.shrink()
	return snap
}

// replayed accounts for the state that was worked out for snap, and keeps it to extend if it is the study's latest.
func (c *cache) replayed(snap *Snapshot, state *optimizer.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.versions[snap.ID][snap.Version]
	if !ok || element.Value.(*cached).snap != snap { // a study as it might be, or one dropped meanwhile
		return
	}
	if p, ok := c.prior[snap.ID]; !ok || snap.Version >= p.version {
		c.prior[snap.ID] = priorState{snap.compiled, snap.Version, state}
	}
	entry, extra := element.Value.(*cached), snap.stateBytes()
	entry.bytes += extra
	c.used += extra
	c.shrink()
}

// toExtend returns a state of the same study under the same definition, or nil.
func (c *cache) toExtend(snap *Snapshot) *optimizer.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.prior[snap.ID]; p.compiled == snap.compiled {
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

func (c *cache) forget(snap *Snapshot) {
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

// bytes estimates what snap holds, counting what versions share each time.
func (snap *Snapshot) bytes() int64 {
	n := int64(len(snap.Trials))
	size := n*trialBytes + n*int64(len(snap.compiled.MetricNames))*metricBytes
	for i := range snap.Trials {
		for _, values := range snap.Trials[i].ConstraintValues {
			size += 8 * int64(len(values))
		}
	}
	for _, m := range snap.compiled.Config.Metrics {
		size += 8 * int64(len(m.Kernel.Matrix)) * int64(len(m.Kernel.Matrix))
	}
	return size + int64(len(snap.Definition.Candidates))*metricBytes
}

// stateBytes estimates the replayed state: a packed triangle a metric, and mean and variance of the points searched.
func (snap *Snapshot) stateBytes() int64 {
	n, points := int64(len(snap.Trials)), int64(len(snap.Definition.Candidates))
	if points == 0 {
		points = searchSpace
	}
	return int64(len(snap.compiled.MetricNames)) * (4*n*(n+1) + 32*points)
}
