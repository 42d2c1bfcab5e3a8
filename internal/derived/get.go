package derived

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"headroom/internal/scheduler"
	"headroom/internal/supervisor"
)

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
