// Package cores spreads work over the processors.
package cores

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Count is the number of processors to spread work over.
func Count() int { return runtime.GOMAXPROCS(0) }

// Group does pieces of one work beside each other, at most one a processor at a time. Use New.
type Group struct {
	work  errgroup.Group
	first sync.Once
	cause string // what the first piece that panicked says, with its stack
}

// New returns a group without work.
func New() *Group {
	g := new(Group)
	g.work.SetLimit(Count())
	return g
}

// Go does one piece; it waits for a processor first.
func (g *Group) Go(piece func() error) {
	g.work.Go(func() error {
		defer func() {
			if cause := recover(); cause != nil {
				g.first.Do(func() { g.cause = fmt.Sprintf("%v\n\nin a piece of work beside others:\n%s", cause, debug.Stack()) })
			}
		}()
		return piece()
	})
}

// Wait waits for all pieces and returns the first error. When a piece has panicked, so does Wait,
// with what that piece panicked with and its stack: whoever recovers from the panics of the whole
// work meets those of its pieces, too.
func (g *Group) Wait() error {
	err := g.work.Wait()
	if g.cause != "" {
		panic(g.cause)
	}
	return err
}

// Stretches cuts n pieces of work into a stretch for each processor, as even as may be and none of
// them empty, and does those beside each other. It returns the first error.
func Stretches(n int, stretch func(from, to int) error) error {
	g, shares := New(), min(Count(), n)
	for share := range shares {
		g.Go(func() error { return stretch(share*n/shares, (share+1)*n/shares) })
	}
	return g.Wait()
}

// Each does n pieces of work, of which each processor takes the next one that is left. It returns the
// first error, after which its processor takes no more.
func Each(n int, piece func(i int) error) error {
	var taken atomic.Int64
	return Stretches(min(Count(), n), func(int, int) error {
		for i := int(taken.Add(1)) - 1; i < n; i = int(taken.Add(1)) - 1 {
			if err := piece(i); err != nil {
				return err
			}
		}
		return nil
	})
}
