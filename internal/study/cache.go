package study

import (
	"container/list"
	"slices"
	"sync"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// cache keeps snapshots, with what was replayed from them, by study and version. It is bounded in bytes, what versions share being counted once:
// what was used longest ago goes first. Everything in it can be worked out again from the ledger.
type cache struct {
	mu          sync.Mutex
	limit, used int64
	recent      *list.List // of *cached, the most recently used first
	studies     map[string]*cachedStudy
}

// cachedStudy is what is kept of one study.
type cachedStudy struct {
	versions map[int64]*list.Element
	newest   int64 // the highest of versions
	content  int64 // bytes of all versions' trials and definitions, what they share once
	prior    priorState
	back     []*cached // those older than prior whose states were worked out last
}

type cached struct {
	snap   *ledger.Snapshot
	replay *replay // worked out when first asked for
	state  int64   // bytes of the replayed state and of the charts drawn from it
	held   int     // by how many it is held
}

// priorState is the latest state replayed of a study, which the next one extends.
type priorState struct {
	compiled *design.Compiled
	version  int64
	state    *optimizer.State
}

// How much of one study is kept: the newest versions and those looked back at last, and of the latter so many with a state replayed, which grows
// with the square of the trials.
const (
	mostVersions = 32
	mostBack     = 2
)

func newCache(limit int64) *cache {
	return &cache{limit: limit, recent: list.New(), studies: map[string]*cachedStudy{}}
}

// upTo returns the snapshot of the highest version ≤ at (at = 0: of any), or nil.
func (c *cache) upTo(id string, at int64) *ledger.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	study := c.studies[id]
	if study == nil {
		return nil
	}
	version := study.newest
	if at != 0 && at < version {
		version = study.highest(at)
	}
	element, ok := study.versions[version]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*cached).snap
}

// highest returns the highest version ≤ at, or 0.
func (study *cachedStudy) highest(at int64) (best int64) {
	for v := range study.versions {
		if v > best && v <= at {
			best = v
		}
	}
	return best
}

// snapshot is the one kept of a version, nil if there is none.
func (study *cachedStudy) snapshot(version int64) *ledger.Snapshot {
	if element, ok := study.versions[version]; ok {
		return element.Value.(*cached).snap
	}
	return nil
}

// put keeps snap and returns the one to use: the same one, or that which was there before.
func (c *cache) put(snap *ledger.Snapshot) *ledger.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	study := c.studies[snap.ID]
	if study == nil {
		study = &cachedStudy{versions: map[int64]*list.Element{}}
		c.studies[snap.ID] = study
	}
	if element, ok := study.versions[snap.Version]; ok {
		c.recent.MoveToFront(element)
		return element.Value.(*cached).snap
	}
	c.holds(study, snap.BytesBeside(study.neighbours(snap.Version)...))
	study.versions[snap.Version] = c.recent.PushFront(&cached{snap: snap, replay: newReplay()})
	study.newest = max(study.newest, snap.Version)
	if len(study.versions) > mostVersions {
		c.dropLeastRecent(study)
	}
	c.shrink()
	return snap
}

// dropLeastRecent forgets the version used longest ago of those that nobody holds.
func (c *cache) dropLeastRecent(study *cachedStudy) {
	for element := c.recent.Back(); element != nil; element = element.Prev() {
		if one := element.Value.(*cached); one.held == 0 && study.versions[one.snap.Version] == element {
			c.drop(element)
			return
		}
	}
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
	study := c.studies[snap.ID]
	if study == nil {
		return nil
	}
	element, ok := study.versions[snap.Version]
	if !ok || element.Value.(*cached).snap.Hash != snap.Hash {
		return nil
	}
	return element
}

// replayed accounts for the state that was worked out for snap. The study's latest is kept to extend; that of the version before goes, which shares
// nearly everything with it: whoever still looks at that version holds it, and later it is worked out again.
func (c *cache) replayed(snap *ledger.Snapshot, state *optimizer.State) {
	bytes := state.Bytes()
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.entry(snap)
	if element == nil {
		return
	}
	study := c.studies[snap.ID]
	if before := study.prior; before.state == nil || snap.Version >= before.version {
		if old, ok := study.versions[before.version]; ok && old != element {
			c.forgetState(old.Value.(*cached))
		}
		study.prior = priorState{snap.Compiled(), snap.Version, state}
	}
	element.Value.(*cached).state += bytes
	c.used += bytes
	if snap.Version < study.prior.version {
		c.lookedBack(study, element.Value.(*cached))
	}
	c.shrink()
}

// lookedBack keeps the state of an older version, and lets go of all but mostBack of those looked back at; of what somebody waits for only where they take
// more than half of the cache.
func (c *cache) lookedBack(study *cachedStudy, entry *cached) {
	study.back = append(study.back, entry)
	spare, bytes := len(study.back)-mostBack, int64(0)
	for _, b := range study.back {
		bytes += b.state
	}
	for _, waited := range []bool{false, true} {
		study.back = slices.DeleteFunc(study.back, func(b *cached) bool {
			if spare <= 0 || b == entry || b.held > 0 && !(waited && bytes > c.limit/2) {
				return false
			}
			spare, bytes = spare-1, bytes-b.state
			c.forgetState(b)
			return true
		})
	}
}

// grew accounts for what is kept beside a version's state, if the cache still keeps it.
func (c *cache) grew(snap *ledger.Snapshot, r *replay, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.entry(snap)
	if element == nil || element.Value.(*cached).replay != r {
		return
	}
	element.Value.(*cached).state += bytes
	c.used += bytes
	c.shrink()
}

// forgetState lets go of a version's replayed state.
func (c *cache) forgetState(entry *cached) {
	c.used -= entry.state
	entry.state, entry.replay = 0, newReplay()
}

// toExtend returns a state of the same study under the same definition, or nil.
func (c *cache) toExtend(snap *ledger.Snapshot) *optimizer.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	if study := c.studies[snap.ID]; study != nil && study.prior.compiled == snap.Compiled() {
		return study.prior.state
	}
	return nil
}

// hold keeps a version, if the cache has it, until it is let go of: what took minutes to work out for somebody who waits is not to go before it is
// fetched, because others were at work.
func (c *cache) hold(snap *ledger.Snapshot) (letGo func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.entry(snap)
	if element == nil {
		return func() {}
	}
	one := element.Value.(*cached)
	one.held++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		one.held--
		c.shrink()
	}
}

// most is how many bytes may be used: the limit, or a quarter of it beside what is held.
func (c *cache) most() int64 {
	most := c.limit / 4
	for element := c.recent.Front(); element != nil; element = element.Next() {
		if one := element.Value.(*cached); one.held > 0 {
			most += one.state
		}
	}
	return max(most, c.limit)
}

// shrink drops what was used longest ago until the rest fits. The last one used stays however large it is, and what is held.
func (c *cache) shrink() {
	if c.used <= c.limit {
		return
	}
	most := c.most()
	for element := c.recent.Back(); c.used > most && element != c.recent.Front(); {
		before := element.Prev()
		if element.Value.(*cached).held == 0 {
			c.drop(element)
		}
		element = before
	}
}

// holds takes note that bytes more are held of a study, or less.
func (c *cache) holds(study *cachedStudy, bytes int64) {
	study.content += bytes
	c.used += bytes
}

// neighbours are the versions kept next to version, before and after it: what neither of them shares with it, none does.
func (study *cachedStudy) neighbours(version int64) []*ledger.Snapshot {
	var before, after int64
	for v := range study.versions {
		if v < version && v > before {
			before = v
		}
		if v > version && (after == 0 || v < after) {
			after = v
		}
	}
	var kept []*ledger.Snapshot
	for _, v := range []int64{before, after} {
		if snap := study.snapshot(v); snap != nil {
			kept = append(kept, snap)
		}
	}
	return kept
}

// drop forgets a version, and what it alone held.
func (c *cache) drop(element *list.Element) {
	entry := c.recent.Remove(element).(*cached)
	id, version := entry.snap.ID, entry.snap.Version
	study := c.studies[id]
	c.used -= entry.state
	study.back = slices.DeleteFunc(study.back, func(b *cached) bool { return b == entry })
	delete(study.versions, version)
	if study.prior.version == version {
		study.prior = priorState{}
	}
	if version == study.newest {
		study.newest = study.highest(version)
	}
	if len(study.versions) == 0 {
		c.holds(study, -study.content)
		delete(c.studies, id)
		return
	}
	c.holds(study, -entry.snap.BytesBeside(study.neighbours(version)...))
}

// size is how many bytes are held, of how many versions of studies.
func (c *cache) size() (bytes int64, versions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used, c.recent.Len()
}
