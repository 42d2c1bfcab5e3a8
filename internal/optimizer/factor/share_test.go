package factor_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"headroom/internal/optimizer/factor"
)

// TestPrefixesGrowAtOnce lets goroutines append to prefixes of one factor; the race detector watches.
func TestPrefixesGrowAtOnce(t *testing.T) {
	t.Parallel()
	rows := definite(rand.New(rand.NewPCG(1, 2)), 60)
	whole, trunk := factorOf(t, rows), new(factor.Cholesky)
	for _, row := range rows[:50] {
		if err := trunk.Append(row); err != nil {
			t.Fatal(err)
		}
	}
	branches := make([]*factor.Cholesky, 8)
	var group sync.WaitGroup
	for g := range branches {
		branches[g] = trunk.Prefix(50 - g%3)
		group.Go(func() {
			for _, row := range rows[branches[g].Len():] {
				if err := branches[g].Append(row); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, branch := range branches {
		sameBits(t, "branch", branch, whole)
	}
}
