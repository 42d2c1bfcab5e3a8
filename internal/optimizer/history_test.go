package optimizer

import (
	"slices"
	"sync"
	"testing"
)

// TestAppendOnlyLists grows many lists from beginnings of each other, at once; the race detector
// watches.
func TestAppendOnlyLists(t *testing.T) {
	t.Parallel()
	var trunk appendOnly[int]
	for i := range 100 {
		trunk = trunk.append(i)
	}
	var all sync.WaitGroup
	for branch := range 8 {
		all.Go(func() {
			at := 60 + 5*branch
			grown := trunk.prefix(at)
			for i := range 200 {
				grown = grown.append(-branch, i)
			}
			for i, v := range grown.items {
				want := i
				if i >= at {
					want = []int{-branch, (i - at) / 2}[(i-at)%2]
				}
				if v != want {
					t.Errorf("item %d of branch %d is %d, want %d", i, branch, v, want)
				}
			}
		})
	}
	all.Wait()
	if !slices.IsSorted(trunk.items) || len(trunk.items) != 100 {
		t.Error("the trunk has changed")
	}
	one, other := trunk.append(7), trunk.append(8)
	if one.items[100] != 7 || other.items[100] != 8 {
		t.Errorf("two ends are %d and %d", one.items[100], other.items[100])
	}
	if again := one.append(9); &again.items[0] != &one.items[0] {
		t.Error("a list that has room is copied")
	}
}
