// Package derived caches values computed from versions of things such as studies: states, readouts,
// charts, rendered sections. Callers who want the same value wait for one computation of it (Get),
// or have it computed in the background (Behind). Every value can be computed again, so the cache
// is bounded in bytes and drops the least recently used ones.
package derived

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"headroom/internal/lists"
	"headroom/internal/memory"
	"headroom/internal/scheduler"
	"headroom/internal/supervisor"
)

// Source is a version of a thing from which values are derived.
type Source[S any] interface {
	// Identity returns the thing's id, the version, and a hash that distinguishes it from a
	// hypothetical version of that number.
	Identity() (id string, version int64, hash string)
	// BytesBeside returns the memory that this version holds and none of the others does.
	BytesBeside(others ...S) int64
}

// How much is kept of one thing: mostVersions versions, large values of the newest and of mostOlder
// older ones, and other values up to 1/smallShare of the limit, so that requests for ever new
// values of one thing do not evict those of others.
const (
	mostVersions = 32
	mostOlder    = 2
	smallShare   = 16 // limit on small values of one thing, as a fraction of the limit
)

// entryBytes estimates the maps and list elements for one value.
const entryBytes = 300

// Store caches versions and the values derived from them. Its methods are safe for concurrent use.
type Store[S Source[S]] struct {
	*scheduler.Scheduler // all numerical work goes through its Compute

	Jobs *supervisor.Supervisor // background work

	large any   // see New
	limit int64 // in bytes

	mu      sync.Mutex
	used    int64
	recent  *list.List           // of *entry[S], the most recently used first
	things  map[string]*thing[S] // by id
	flights map[key]*flight[S]
	held    map[*version[S]]int   // versions from which values are being derived, with the number of those
	lines   scheduler.Queues      // queues of background work, by id
	tasks   map[taskKey]*Progress // the last of each kind for each thing
}

type thing[S Source[S]] struct {
	versions []*version[S] // ascending
	content  int64         // bytes of all versions, shared memory counted once
	large    []*version[S] // those with a large value, in the order of computation
	small    int64         // bytes of all other values
}

type version[S Source[S]] struct {
	source S
	id     string
	number int64
	hash   string
	place  *list.Element
	values map[any]*list.Element
	bytes  int64 // of the values
}

// entry is an element of the list in order of use: a version, or a value derived from one.
type entry[S Source[S]] struct {
	version *version[S]
	what    any // nil for the version itself
	value   any
	bytes   int64
	made    time.Time
}

// key identifies a value derived from a version.
type key struct {
	id      string
	version int64
	hash    string
	what    any
}

// New returns a store that holds at most limit bytes and lets places computations run at the same
// time. Values with the name large grow with the square of a version's size, so that of one thing
// only the newest and a few others are kept.
func New[S Source[S]](limit int64, places int, large any, log *slog.Logger) *Store[S] {
	return &Store[S]{
		Scheduler: scheduler.New(places), Jobs: supervisor.New(log), large: large, limit: limit,
		recent: list.New(), things: map[string]*thing[S]{}, flights: map[key]*flight[S]{}, held: map[*version[S]]int{}, tasks: map[taskKey]*Progress{},
	}
}

// UpTo returns the highest cached version that is at most at; 0 means the highest of all.
func (s *Store[S]) UpTo(id string, at int64) (source S, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.things[id]; t != nil {
		for _, v := range slices.Backward(t.versions) {
			if at == 0 || v.number <= at {
				s.touch(v.place)
				return v.source, true
			}
		}
	}
	return source, false
}

// Put caches a version and returns the one to use, which is the cached one if there is one already.
func (s *Store[S]) Put(source S) S {
	id, number, hash := source.Identity()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.things[id]
	if t == nil {
		t = &thing[S]{}
		s.things[id] = t
	}
	at, there := t.find(number)
	if there {
		s.touch(t.versions[at].place)
		return t.versions[at].source
	}
	v := &version[S]{source: source, id: id, number: number, hash: hash, values: map[any]*list.Element{}}
	s.addBytes(t, source.BytesBeside(t.neighbours(at)...))
	t.versions = slices.Insert(t.versions, at, v)
	v.place = s.recent.PushFront(&entry[S]{version: v})
	s.touch(v.place)
	if len(t.versions) > mostVersions {
		s.dropOldest(t)
	}
	s.shrink()
	return source
}

// find returns the index at which the version of that number is kept or belongs.
func (t *thing[S]) find(number int64) (at int, there bool) {
	return slices.BinarySearchFunc(t.versions, number, func(v *version[S], number int64) int { return cmp.Compare(v.number, number) })
}

// neighbours returns the neighbours of the version at index at: what it shares with neither of them
// it shares with none.
func (t *thing[S]) neighbours(at int) []S {
	return lists.Map(t.versions[max(at-1, 0):min(at+1, len(t.versions))], func(v *version[S]) S { return v.source })
}

// Newest returns the large value of the highest version that has one, and that version.
func Newest[T any, S Source[S]](s *Store[S], id string) (from S, value T, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.things[id]
	if t == nil || len(t.large) == 0 {
		return from, value, false
	}
	v := t.newest()
	value, found = v.values[s.large].Value.(*entry[S]).value.(T)
	return v.source, value, found
}

func (t *thing[S]) newest() *version[S] {
	return slices.MaxFunc(t.large, func(a, b *version[S]) int { return cmp.Compare(a.number, b.number) })
}

// kept returns the cached version of a key, nil if there is none.
func (s *Store[S]) kept(k key) *version[S] {
	t := s.things[k.id]
	if t == nil {
		return nil
	}
	if at, there := t.find(k.version); there && t.versions[at].hash == k.hash {
		return t.versions[at]
	}
	return nil
}

// hold protects a version from eviction (by = 1), until it is called with −1 as often.
func (s *Store[S]) hold(v *version[S], by int) {
	if v == nil {
		return
	}
	if s.held[v] += by; s.held[v] == 0 {
		delete(s.held, v)
	}
}

// keep caches a value in place of an earlier one, if its version is cached.
func (s *Store[S]) keep(k key, value any, bytes int64) {
	v := s.kept(k)
	if v == nil {
		return
	}
	if before := v.values[k.what]; before != nil {
		s.remove(before.Value.(*entry[S]))
	}
	v.values[k.what] = s.recent.PushFront(&entry[S]{version: v, what: k.what, value: value, bytes: bytes, made: time.Now()})
	v.bytes += bytes
	s.used += bytes
	s.touch(v.values[k.what])
	if t := s.things[k.id]; k.what == s.large {
		s.trimLarge(t, v)
	} else {
		t.small += bytes
		s.trimSmall(t)
	}
	s.shrink()
}

func bytesOf(value any) int64 {
	if sized, ok := value.(interface{ Bytes() int64 }); ok {
		return entryBytes + sized.Bytes()
	}
	return entryBytes + memory.NewMeter().Of(value) + int64(reflect.TypeOf(value).Size())
}

// touch marks an entry as used. Its version is put before it, so that values are dropped before
// their version.
func (s *Store[S]) touch(place *list.Element) {
	s.recent.MoveToFront(place)
	s.recent.MoveToFront(place.Value.(*entry[S]).version.place)
}

// trimLarge drops large values when one of v has been added. That of the newest version stays, to
// be extended. That of the previous newest is dropped, since the two share nearly everything. Of
// the others the latest mostOlder stay. Held versions are dropped only if all of them take more than
// half of the limit.
func (s *Store[S]) trimLarge(t *thing[S], v *version[S]) {
	var before *version[S]
	if len(t.large) > 0 {
		before = t.newest()
	}
	t.large = append(t.large, v)
	newest := t.newest()
	if newest == v && before != nil && s.held[before] == 0 {
		s.clear(before)
	}
	spare, bytes := len(t.large)-1-mostOlder, -newest.bytes
	for _, old := range t.large {
		bytes += old.bytes
	}
	for _, held := range []bool{false, true} {
		for _, old := range slices.Clone(t.large) {
			if spare <= 0 || old == v || old == newest || (s.held[old] > 0) != held || held && bytes <= s.limit/2 {
				continue
			}
			spare, bytes = spare-1, bytes-old.bytes
			s.clear(old)
		}
	}
}

// trimSmall drops the least recently used small values of a thing that has too many.
func (s *Store[S]) trimSmall(t *thing[S]) {
	for place := s.recent.Back(); t.small > s.limit/smallShare; {
		e := place.Value.(*entry[S])
		place = place.Prev()
		if s.things[e.version.id] == t && e.what != nil && e.what != s.large {
			s.remove(e)
		}
	}
}

// shrink drops the least recently used entries until the rest fits. Held versions stay, with a
// quarter of the limit for the others, and so does the last one used, however large it is.
func (s *Store[S]) shrink() {
	most := s.limit / 4
	for v := range s.held {
		most += v.bytes
	}
	most = max(most, s.limit)
	for place := s.recent.Back(); place != nil && s.used > most; {
		last := s.recent.Front().Value.(*entry[S]).version
		if v := place.Value.(*entry[S]).version; v == last || s.held[v] > 0 {
			place = place.Prev()
			continue
		}
		s.evict(place.Value.(*entry[S]))
		place = s.recent.Back()
	}
}

// dropOldest drops the least recently used version that is not held.
func (s *Store[S]) dropOldest(t *thing[S]) {
	for place := s.recent.Back(); place != nil; place = place.Prev() {
		if e := place.Value.(*entry[S]); s.things[e.version.id] == t && e.what == nil && s.held[e.version] == 0 {
			s.drop(e.version)
			return
		}
	}
}

func (s *Store[S]) evict(e *entry[S]) {
	switch e.what {
	case nil:
		s.drop(e.version)
	case s.large: // the other values are of little use without it
		s.clear(e.version)
	default:
		s.remove(e)
	}
}

func (s *Store[S]) remove(e *entry[S]) {
	s.recent.Remove(e.version.values[e.what])
	delete(e.version.values, e.what)
	e.version.bytes -= e.bytes
	s.used -= e.bytes
	if e.what != s.large {
		s.things[e.version.id].small -= e.bytes
	}
}

func (s *Store[S]) clear(v *version[S]) {
	for _, place := range v.values {
		s.remove(place.Value.(*entry[S]))
	}
	t := s.things[v.id]
	t.large = slices.DeleteFunc(t.large, func(one *version[S]) bool { return one == v })
}

func (s *Store[S]) drop(v *version[S]) {
	s.clear(v)
	s.recent.Remove(v.place)
	t := s.things[v.id]
	at, _ := t.find(v.number)
	t.versions = slices.Delete(t.versions, at, at+1)
	if len(t.versions) == 0 {
		s.addBytes(t, -t.content)
		delete(s.things, v.id)
		return
	}
	s.addBytes(t, -v.source.BytesBeside(t.neighbours(at)...))
}

func (s *Store[S]) addBytes(t *thing[S], bytes int64) {
	t.content += bytes
	s.used += bytes
}

// Held is how much is cached of one kind.
type Held struct {
	Bytes   int64
	Entries int
}

// Held returns how much is cached: of versions under the name "versions", and of values by the Kind
// of their names.
func (s *Store[S]) Held() map[string]Held {
	s.mu.Lock()
	defer s.mu.Unlock()
	by := map[string]Held{}
	add := func(kind string, bytes int64, entries int) {
		by[kind] = Held{by[kind].Bytes + bytes, by[kind].Entries + entries}
	}
	for _, t := range s.things {
		add("versions", t.content, len(t.versions))
		for _, v := range t.versions {
			for what, place := range v.values {
				kind := "other"
				if named, ok := what.(interface{ Kind() string }); ok {
					kind = named.Kind()
				}
				add(kind, place.Value.(*entry[S]).bytes, 1)
			}
		}
	}
	return by
}

// Background work ends leaseTime after it was last asked for, and after behindTime in any case.
const (
	leaseTime  = 20 * time.Second
	behindTime = 30 * time.Minute
)

// flight is one computation for all who wait for it. It is cancelled when nobody waits any more.
type flight[S Source[S]] struct {
	of      *version[S] // nil if it is not cached
	since   time.Time
	waiting int         // number of waiters, including the lease; at 0 nobody joins the flight any more
	lease   *time.Timer // for callers who will come back
	urgency atomic.Int64
	end     context.CancelFunc
	done    chan struct{}
	value   any // valid once done is closed
	err     error
}

// Now returns the urgency of the most urgent waiter.
func (f *flight[S]) Now() scheduler.Urgency { return scheduler.Urgency(f.urgency.Load()) }

type work struct {
	what   any
	within time.Duration // maximal age, 0 for any
	leased bool
	do     func(ctx context.Context) (any, error)
}

// Get returns the value of a version that has the name what: the cached one, or else the result of
// compute, which runs once for all who wait. The context of compute has the urgency of the most
// urgent of them and ends when the last of them has left. Errors and panics are returned to all and
// not cached.
func Get[T any, S Source[S]](ctx context.Context, s *Store[S], of S, what any, compute func(ctx context.Context) (T, error)) (T, error) {
	return Fresh(ctx, s, of, what, 0, compute)
}

// Fresh is Get for a value that is computed again when it is older than within.
func Fresh[T any, S Source[S]](ctx context.Context, s *Store[S], of S, what any, within time.Duration, compute func(ctx context.Context) (T, error)) (T, error) {
	return await[T](ctx, s, of, work{what, within, false, func(ctx context.Context) (any, error) { return compute(ctx) }})
}

// Lasting is Get for a value that takes longer than some callers wait: the computation goes on for
// leaseTime after the last of them has left, so that repeated requests finally get it.
func Lasting[T any, S Source[S]](ctx context.Context, s *Store[S], of S, what any, compute func(ctx context.Context) (T, error)) (T, error) {
	return await[T](ctx, s, of, work{what, 0, true, func(ctx context.Context) (any, error) { return compute(ctx) }})
}

func await[T any, S Source[S]](ctx context.Context, s *Store[S], of S, w work) (T, error) {
	value, f := s.join(ctx, of, w)
	if f != nil {
		defer s.leave(f)
		select {
		case <-f.done:
			value = f.value
			if f.err != nil {
				return *new(T), f.err
			}
		case <-ctx.Done():
			return *new(T), ctx.Err()
		}
	}
	return value.(T), nil
}

// Behind reports whether the work named what has been done on a version, after waiting for that
// until ctx ends. If it is not done, it goes on in the background as long as Behind is called for
// it now and then; the works on one thing run one at a time, since each continues from the results
// of the one before. since is when it began. The error is that of the work and never that ctx has
// ended.
func (s *Store[S]) Behind(ctx context.Context, of S, what any, do func(ctx context.Context) error) (ready bool, since time.Time, err error) {
	id, _, _ := of.Identity()
	inLine := func(ctx context.Context) error {
		leave, err := s.lines.Enter(ctx, id)
		if err != nil {
			return err
		}
		defer leave()
		return do(ctx)
	}
	_, f := s.join(ctx, of, work{what, 0, true, func(ctx context.Context) (any, error) {
		return true, s.Jobs.Do(ctx, "preparation", id, behindTime, inLine)
	}})
	if f == nil {
		return true, time.Time{}, nil
	}
	defer s.leave(f)
	select {
	case <-f.done:
		if errors.Is(f.err, supervisor.ErrStopping) { // another server will do the work
			return false, f.since, nil
		}
		return f.err == nil, f.since, f.err
	case <-ctx.Done():
		return false, f.since, nil
	}
}

// join returns the cached value, or the flight that computes it. The caller must leave that flight.
func (s *Store[S]) join(ctx context.Context, of S, w work) (value any, f *flight[S]) {
	id, number, hash := of.Identity()
	k := key{id, number, hash, w.what}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.kept(k)
	if v != nil && v.values[w.what] != nil {
		e := v.values[w.what].Value.(*entry[S])
		if w.within == 0 || time.Since(e.made) < w.within {
			s.touch(v.values[w.what])
			return e.value, nil
		}
	}
	urgency := int64(scheduler.Of(ctx).Now())
	if f = s.flights[k]; f == nil || f.waiting == 0 {
		f = &flight[S]{of: v, since: time.Now(), done: make(chan struct{})}
		f.urgency.Store(urgency)
		own, end := context.WithCancel(scheduler.With(context.Background(), f)) // independent of the first caller, since the result is for all
		f.end, s.flights[k] = end, f
		s.hold(v, 1)
		go s.run(own, k, f, w.do)
	}
	f.waiting++
	f.urgency.Store(min(f.urgency.Load(), urgency))
	if w.leased && (f.lease == nil || !f.lease.Reset(leaseTime)) {
		f.waiting++
		if f.lease == nil {
			f.lease = time.AfterFunc(leaseTime, func() { s.leave(f) })
		}
	}
	return nil, f
}

// leave cancels a flight for which nobody waits any more. It drops the flight's references, because
// the runtime's timer keeps the flight itself reachable as long as the lease.
func (s *Store[S]) leave(f *flight[S]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left(f)
}

func (s *Store[S]) left(f *flight[S]) {
	if f.waiting--; f.waiting == 0 {
		f.end()
		s.hold(f.of, -1)
		f.of, f.value = nil, nil
		s.shrink()
	}
}

func (s *Store[S]) run(ctx context.Context, k key, f *flight[S], do func(ctx context.Context) (any, error)) {
	defer close(f.done)
	var value any
	err := supervisor.Recovered(ctx, func(ctx context.Context) (err error) {
		value, err = do(ctx)
		return err
	})
	var bytes int64
	if err == nil {
		bytes = bytesOf(value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flights[k] != f { // everybody left, and others started a new flight
		return
	}
	delete(s.flights, k)
	if f.value, f.err = value, err; err == nil {
		s.keep(k, value, bytes)
	}
	if f.lease != nil && f.lease.Stop() { // a caller who comes back finds the cached value
		s.left(f)
	}
}

// Together collects requests about one thing and serves all that are waiting at the same time.
// Those that arrive while others are served are served next. The zero value is ready to use.
type Together[Q any] struct {
	mutex   sync.Mutex
	waiting map[string][]Q // by id; things that have an entry are being served
}

// Join adds a request about the thing of that id. Unless the thing is being served already, serve
// is called in the background with all waiting requests, again and again until there are none.
// serve returns the requests that it leaves for its next call, where they come first.
func (t *Together[Q]) Join(id string, one Q, serve func(all []Q) (left []Q)) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	_, served := t.waiting[id]
	if t.waiting == nil {
		t.waiting = map[string][]Q{}
	}
	t.waiting[id] = append(t.waiting[id], one)
	if served {
		return
	}
	go func() {
		for all := t.take(id, nil); all != nil; {
			all = t.take(id, serve(all))
		}
	}()
}

// take returns the waiting requests, those in left first. If there are none, serving ends.
func (t *Together[Q]) take(id string, left []Q) []Q {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	all := append(slices.Clip(left), t.waiting[id]...)
	if len(all) == 0 {
		delete(t.waiting, id)
		return nil
	}
	t.waiting[id] = nil
	return all
}
