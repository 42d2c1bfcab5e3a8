// Package checkpoint divides long work into slices, so that it ends soon after its context, and can
// give way to other work between slices. It has no clock: the hook has.
package checkpoint

import (
	"context"
	"sync"
)

// Slice is about how many multiplications of the optimizer's inner loops fit into a slice: well
// below 10 ms on a processor of our time.
const Slice = 20_000_000

type key struct{}

// gate lets one goroutine at a time through to the hook.
type gate struct {
	turn chan struct{} // of capacity 1, filled by the goroutine at the hook
	hook func(context.Context) error
}

// With returns a context whose work calls hook between slices of at most some 10 ms of computing on
// one processor, and often much sooner, so a hook that measures the time since it last gave way
// costs next to nothing. A hook may wait as long as it likes, for instance for a processor; it must
// return when its context ends. An error ends the work with that error and leaves everything as it
// was.
//
// The hook is never called by two goroutines at once: while it waits, other goroutines of the same
// work stop at their own next checkpoint. No lock that other work waits for is held while it is
// called.
func With(ctx context.Context, hook func(ctx context.Context) error) context.Context {
	return context.WithValue(ctx, key{}, &gate{make(chan struct{}, 1), hook})
}

// Reach ends a slice: it returns the context's error, or what the hook returns.
func Reach(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g, _ := ctx.Value(key{}).(*gate)
	if g == nil {
		return nil
	}
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	return g.hook(ctx)
}

// Without returns a context that ends with ctx and has no hook, for slices that must not be
// divided.
func Without(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, (*gate)(nil)) }

// Meter counts the work of one goroutine and ends a slice whenever enough is done. A nil Meter
// never does.
type Meter struct {
	ctx  context.Context // of the one call that the meter is made for
	done int
}

// NewMeter returns a meter for work under ctx.
func NewMeter(ctx context.Context) *Meter { return &Meter{ctx: ctx} }

// Spend adds an amount of work, in multiplications.
func (m *Meter) Spend(work int) error {
	if m == nil {
		return nil
	}
	if m.done += work; m.done < Slice {
		return nil
	}
	m.done = 0
	return Reach(m.ctx)
}

// Once keeps the first result without an error. Callers do not wait for each other, since the work
// may give way: those that come at the same time all do it. The zero value has no result.
type Once[T any] struct {
	mu    sync.Mutex
	known bool
	value T
}

// Get returns the result kept, or that of work.
func (o *Once[T]) Get(ctx context.Context, work func(ctx context.Context) (T, error)) (T, error) {
	if value, known := o.Kept(); known {
		return value, nil
	}
	made, err := work(ctx)
	if err != nil {
		return made, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.known {
		o.value, o.known = made, true
	}
	return o.value, nil
}

// Kept is the result kept, if there is one.
func (o *Once[T]) Kept() (value T, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.value, o.known
}
