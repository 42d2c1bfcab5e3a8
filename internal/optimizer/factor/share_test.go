package factor_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/factor"
)

// TestSharedWorkGivesTheSameBits compares work on all cores, on one, and a row at a time, on enough
// rows to be shared and summed over in several stretches.
func TestSharedWorkGivesTheSameBits(t *testing.T) {
	t.Parallel()
	const n = 820
	rows := definite(rand.New(rand.NewPCG(3, 4)), n)
	alone, shared, single := factorOf(t, rows), factorOf(t, rows[:100]), new(factor.Cholesky)
	must.Do(t, shared.Adopt(t.Context(), copied(rows[100:])))
	for _, row := range rows {
		must.Do(t, single.Append(row))
	}
	sameBits(t, "shared", shared, single)
	sameBits(t, "alone", alone, single)
	products, wide := make([][]float64, n), make([][]float64, n)
	random := rand.New(rand.NewPCG(5, 6))
	for i := range products {
		products[i], wide[i] = make([]float64, n), make([]float64, 70)
		for k := range wide[i] {
			wide[i][k] = random.NormFloat64()
		}
	}
	must.Do(t, factor.Gram(t.Context(), products, wide))
	for i := range wide {
		for j := range i + 1 {
			if want := factor.Dot(wide[i], wide[j]); products[i][j] != want {
				t.Fatalf("product %d, %d is %g, want %g", i, j, products[i][j], want)
			}
		}
	}
}

// copied are rows that can be written to.
func copied(rows [][]float64) [][]float64 {
	own := make([][]float64, len(rows))
	for i, row := range rows {
		own[i] = slices.Clone(row)
	}
	return own
}

// TestPrefixesGrowAtOnce lets goroutines append to prefixes of one factor; the race detector
// watches.
func TestPrefixesGrowAtOnce(t *testing.T) {
	t.Parallel()
	rows := definite(rand.New(rand.NewPCG(1, 2)), 60)
	whole, trunk := factorOf(t, rows), new(factor.Cholesky)
	for _, row := range rows[:50] {
		must.Do(t, trunk.Append(row))
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
