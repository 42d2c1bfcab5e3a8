package optimizer

import (
	"slices"
	"sync/atomic"
)

// without are the numbers of a list that are not among others.
func without(list, others []int) []int {
	gone := map[int]bool{}
	for _, i := range others {
		gone[i] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return gone[i] })
}

// appendOnly is a persistent vector that grows along a line of states: the first to append to its
// end does so in place, anybody else copies. Items are never overwritten, so reading needs no lock.
// The zero value is empty.
type appendOnly[T any] struct {
	items []T
	end   *atomic.Int64 // of what has been written behind items
}

// append returns the list with more at its end.
func (s appendOnly[T]) append(more ...T) appendOnly[T] {
	n := len(s.items)
	if len(more) == 0 {
		return s
	}
	if s.end != nil && n+len(more) <= cap(s.items) && s.end.CompareAndSwap(int64(n), int64(n+len(more))) {
		s.items = append(s.items, more...)
		return s
	}
	own := appendOnly[T]{make([]T, n, 2*(n+len(more))), new(atomic.Int64)}
	copy(own.items, s.items)
	own.items = append(own.items, more...)
	own.end.Store(int64(len(own.items)))
	return own
}

// prefix returns the first n items.
func (s appendOnly[T]) prefix(n int) appendOnly[T] { return appendOnly[T]{s.items[:n], s.end} }
