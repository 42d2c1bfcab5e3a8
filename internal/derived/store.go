// Package derived keeps what is worked out from versions of things, as studies are: states,
// readouts, charts, rendered sections. Whoever wants something that is not there waits for it
// together with all others who want the same (Get), or lets it be worked out behind his back
// (Behind). All of it can be worked out again, and goes when there is no room: what is kept is
// bounded in bytes, what was used longest ago goes first.
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

// Source is a version of something, from which other things are derived.
type Source[S any] interface {
	// Identity is what it is a version of, which, and a hash that tells it from one as it might be.
	Identity() (id string, version int64, hash string)
	// BytesBeside is the memory that it holds and none of some other versions does.
	BytesBeside(others ...S) int64
}

// How much is kept of one thing: so many versions, and beside the newest so many of older ones with
// something large derived from them; of what else is derived from one thing that part of all room,
// so that whoever asks for ever more of one leaves the others theirs.
const (
	mostVersions = 32
	mostBack     = 2
	mostSmall    = 16 // of what else is derived from one thing, in parts of all room
)

// entryBytes is about what the maps and lists of one value take.
const entryBytes = 300

// Store keeps versions and what was derived from them. Its methods are safe for concurrent use.
type Store[S Source[S]] struct {
	*scheduler.Scheduler // by whose Compute all numerical work goes

	Jobs *supervisor.Supervisor // the work that goes on behind requests

	large any   // see New
	limit int64 // of bytes

	mu      sync.Mutex
	used    int64
	recent  *list.List           // of *entry[S], the most recently used first
	things  map[string]*thing[S] // by id
	flights map[key]*flight[S]
	held    map[*version[S]]int // versions from which something is being derived, by how often
	lines   scheduler.Queues    // of what is worked out behind requests, by id

	tasks taskBook
}

type thing[S Source[S]] struct {
	versions []*version[S] // ascending
	content  int64         // bytes of all versions, what they share once
	large    []*version[S] // those from which something large was derived, the last one derived last
	small    int64         // bytes of what else was derived
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

// entry is a place in the order of use: of a version, or of a value derived from one.
type entry[S Source[S]] struct {
	version *version[S]
	what    any // nil is the version itself
	value   any
	bytes   int64
	made    time.Time
}

// key names what is derived from a version.
type key struct {
	id      string
	version int64
	hash    string
	what    any
}

// New returns a store that holds at most limit bytes and lets so many compute at once. What is
// derived under the name large grows with the square of a version: of one thing that of the newest
// version stays, and that of few others.
func New[S Source[S]](limit int64, places int, large any, log *slog.Logger) *Store[S] {
	return &Store[S]{
		Scheduler: scheduler.New(places), Jobs: supervisor.New(log), large: large, limit: limit,
		recent: list.New(), things: map[string]*thing[S]{}, flights: map[key]*flight[S]{}, held: map[*version[S]]int{},
	}
}

// UpTo returns the highest version kept that is not above at (0: the highest of all), or nothing.
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

// Put keeps a version and returns the one to use: the same one, or that which was there before.
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
	s.holds(t, source.BytesBeside(t.beside(at)...))
	t.versions = slices.Insert(t.versions, at, v)
	v.place = s.recent.PushFront(&entry[S]{version: v})
	s.touch(v.place)
	if len(t.versions) > mostVersions {
		s.dropOldest(t)
	}
	s.shrink()
	return source
}

// find is where the version of that number is kept, or would be.
func (t *thing[S]) find(number int64) (at int, there bool) {
	return slices.BinarySearchFunc(t.versions, number, func(v *version[S], number int64) int { return cmp.Compare(v.number, number) })
}

// beside are the versions between which one stands at index at, or would: what neither of them
// shares with it, none does.
func (t *thing[S]) beside(at int) []S {
	return lists.Map(t.versions[max(at-1, 0):min(at+1, len(t.versions))], func(v *version[S]) S { return v.source })
}

// Newest returns what was derived under the name large from the highest version that has it, and
// that version.
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

// kept is where the version of a key is, nil if it is not kept.
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

// keeps tells whether what is derived under a key now would be kept.
func (s *Store[S]) keeps(k key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept(k) != nil
}

// hold keeps a version from going, as often as it is not let go of by -1.
func (s *Store[S]) hold(v *version[S], by int) {
	if v == nil {
		return
	}
	if s.held[v] += by; s.held[v] == 0 {
		delete(s.held, v)
	}
}

// keep keeps what was derived from a version, in place of what was there before, if the version is
// kept itself.
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
		s.fewLarge(t, v)
	} else {
		t.small += bytes
		s.fewSmall(t)
	}
	s.shrink()
}

// bytesOf is the memory that a value holds.
func bytesOf(value any) int64 {
	if sized, ok := value.(interface{ Bytes() int64 }); ok {
		return entryBytes + sized.Bytes()
	}
	return entryBytes + memory.NewMeter().Of(value) + int64(reflect.TypeOf(value).Size())
}

// touch notes that something is used. A version comes before what was derived from it, so that this
// goes first.
func (s *Store[S]) touch(place *list.Element) {
	s.recent.MoveToFront(place)
	s.recent.MoveToFront(place.Value.(*entry[S]).version.place)
}

// fewLarge keeps something large of few versions beside v, from which it was derived just now. That
// of the newest stays to extend; that of the one which was newest before goes, since the two share
// nearly everything; of the others the last stay. What is held goes only where all that takes more
// than half of the room.
func (s *Store[S]) fewLarge(t *thing[S], v *version[S]) {
	var before *version[S]
	if len(t.large) > 0 {
		before = t.newest()
	}
	t.large = append(t.large, v)
	newest := t.newest()
	if newest == v && before != nil && s.held[before] == 0 {
		s.clear(before)
	}
	spare, bytes := len(t.large)-1-mostBack, -newest.bytes
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

// fewSmall keeps what was used last of what else was derived from one thing.
func (s *Store[S]) fewSmall(t *thing[S]) {
	for place := s.recent.Back(); t.small > s.limit/mostSmall; {
		e := place.Value.(*entry[S])
		place = place.Prev()
		if s.things[e.version.id] == t && e.what != nil && e.what != s.large {
			s.remove(e)
		}
	}
}

// shrink drops what was used longest ago until the rest fits. What is held stays, beside a quarter
// of the limit for the others, and so does what was used last, however large it is.
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

// dropOldest drops the version used longest ago of those that nobody holds.
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
	case s.large: // without which the rest says little
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
		s.holds(t, -t.content)
		delete(s.things, v.id)
		return
	}
	s.holds(t, -v.source.BytesBeside(t.beside(at)...))
}

// holds takes note that bytes more are held of a thing's versions, or less.
func (s *Store[S]) holds(t *thing[S], bytes int64) {
	t.content += bytes
	s.used += bytes
}

// Held is how much is kept of one kind.
type Held struct {
	Bytes   int64
	Entries int
}

// Held tells how much is kept: of the versions themselves, under the name "versions", and of what
// was derived from them, by what its name says of its kind.
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

// Work behind requests that nobody has asked for during leaseTime is given up; behindTime bounds
// all of it.
const (
	leaseTime  = 20 * time.Second
	behindTime = 30 * time.Minute
)

// flight is the working out of one thing, for all who wait for it. It ends when nobody does any
// more.
type flight[S Source[S]] struct {
	of      *version[S] // nil if that is not kept
	since   time.Time
	waiting int         // how many, a lease among them; once it is 0, the flight is no longer joined
	lease   *time.Timer // of those who will come back
	urgency atomic.Int64
	end     context.CancelFunc
	done    chan struct{}
	value   any // once done
	err     error
}

// Now is how urgent the most urgent of those who wait is.
func (f *flight[S]) Now() scheduler.Urgency { return scheduler.Urgency(f.urgency.Load()) }

// work is a way to something.
type work struct {
	what   any
	within time.Duration // how old it may be, 0 for any age
	leased bool
	do     func(ctx context.Context) (any, error)
}

// Get returns what is derived from a version under the name what: as it is kept, else as compute
// makes it, once for all who wait. Compute's context is as urgent as the most urgent of them, and
// ends when the last of them has left. An error, or a panic, is told to all and not kept.
func Get[T any, S Source[S]](ctx context.Context, s *Store[S], of S, what any, compute func(ctx context.Context) (T, error)) (T, error) {
	return Fresh(ctx, s, of, what, 0, compute)
}

// Fresh is Get of what is worked out anew when it is older than within.
func Fresh[T any, S Source[S]](ctx context.Context, s *Store[S], of S, what any, within time.Duration, compute func(ctx context.Context) (T, error)) (T, error) {
	return await[T](ctx, s, of, work{what, within, false, func(ctx context.Context) (any, error) { return compute(ctx) }})
}

// Lasting is Get of what takes longer than some wait for one answer: it goes on for leaseTime after
// the last of them has left, so that who asks again finds it further, and one day done.
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

// Behind tells whether work, which goes by the name what, has been done on a version, having waited
// for that until ctx ends at the longest. Where it has not, it goes on behind the request for as
// long as Behind is called for it every now and then, one work of a thing after another, each going
// on from what the one before it left: whoever shows what comes of it comes back, and one who goes
// away takes nothing from the others. Since is when it began. The error is that of work, never that
// ctx has ended.
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
		if errors.Is(f.err, supervisor.ErrStopping) { // another server will do it
			return false, f.since, nil
		}
		return f.err == nil, f.since, f.err
	case <-ctx.Done():
		return false, f.since, nil
	}
}

// join returns what is kept, or lets its caller, who must leave, take part in working it out.
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
		own, end := context.WithCancel(scheduler.With(context.Background(), f)) // with nothing of whoever asks: it is for all
		f.end, s.flights[k] = end, f
		s.hold(v, 1)
		go s.fly(own, k, f, w.do)
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

// leave ends a flight for which nobody waits any more; what it is derived from need not stay then,
// nor what has come of it, to which the runtime's timers would lead for as long as the lease was.
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

func (s *Store[S]) fly(ctx context.Context, k key, f *flight[S], do func(ctx context.Context) (any, error)) {
	defer close(f.done)
	var value any
	err := supervisor.Recovered(ctx, func(ctx context.Context) (err error) {
		value, err = do(ctx)
		return err
	})
	var bytes int64
	kept := err == nil && s.keeps(k)
	if kept {
		bytes = bytesOf(value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flights[k] != f { // everybody left, and others came
		return
	}
	delete(s.flights, k)
	if f.value, f.err = value, err; kept {
		s.keep(k, value, bytes)
	}
	if f.lease != nil && f.lease.Stop() { // who comes back finds what is kept
		s.left(f)
	}
}

// Together serves at once all who want something of one thing at the same time: those who come
// while others are served are served next, together. The zero value is ready.
type Together[Q any] struct {
	mutex   sync.Mutex
	waiting map[string][]Q // by id; a thing that is listed is being served
}

// Join adds one to those who wait at the thing of that id. Unless somebody does so already, it has
// serve called behind its caller with all who wait, and again until nobody does. serve returns
// those whom it left to the next time, when they come first.
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

// take returns all who wait, those left from before first; where nobody does, serving ends.
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
