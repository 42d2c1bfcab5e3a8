// Package cores spreads work over the processors.
package cores

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Count is the number of processors to spread work over.
func Count() int { return runtime.GOMAXPROCS(0) }

// Group runs pieces of work concurrently, at most one per processor at a time. Use New.
type Group struct {
	work  errgroup.Group
	errs  []*error // of the pieces, in the order they were given
	first sync.Once
	cause string // what the first piece that panicked says, with its stack
}

// New returns a group without work.
func New() *Group {
	g := new(Group)
	g.work.SetLimit(Count())
	return g
}

// Go runs one piece; it waits for a processor first.
func (g *Group) Go(piece func() error) {
	result := new(error)
	g.errs = append(g.errs, result)
	g.work.Go(func() error {
		defer func() {
			if cause := recover(); cause != nil {
				g.first.Do(func() { g.cause = fmt.Sprintf("%v\n\nin a piece of work beside others:\n%s", cause, debug.Stack()) })
			}
		}()
		*result = piece()
		return nil
	})
}

// Wait waits for all pieces and returns the error of the first, in the order given, that has one.
// If a piece panicked, Wait panics with that value and the piece's stack, so that whoever recovers
// from panics of the whole work also gets those of its pieces.
func (g *Group) Wait() error {
	g.work.Wait()
	if g.cause != "" {
		panic(g.cause)
	}
	for _, err := range g.errs {
		if *err != nil {
			return *err
		}
	}
	return nil
}

// Stretches divides n pieces of work into a stretch for each processor, as even as possible and
// none of them empty, and runs these concurrently. It returns the error of the first that has one.
func Stretches(n int, stretch func(from, to int) error) error {
	g, shares := New(), min(Count(), n)
	for share := range shares {
		g.Go(func() error { return stretch(share*n/shares, (share+1)*n/shares) })
	}
	return g.Wait()
}

// Each does n pieces of work, each processor taking the next one that is left, and none after an
// error. It returns the error of the first piece that has one, which is always reached.
func Each(n int, piece func(i int) error) error {
	var taken atomic.Int64
	errs := make([]error, n)
	if err := Stretches(min(Count(), n), func(int, int) error {
		for i := int(taken.Add(1)) - 1; i < n; i = int(taken.Add(1)) - 1 {
			if errs[i] = piece(i); errs[i] != nil {
				return errs[i]
			}
		}
		return nil
	}); err != nil {
		return cmp.Or(errs...)
	}
	return nil
}
