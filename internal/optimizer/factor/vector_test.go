package factor_test

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/optimizer/factor"
)

// TestPrefixesNeverChange appends to random members of a growing family of prefixes and checks every member against a plain copy.
func TestPrefixesNeverChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		vectors, plain := []factor.Vector{{}}, [][]float64{nil}
		next := 0.0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			who := rapid.IntRange(0, len(vectors)-1).Draw(t, "who")
			if rapid.Bool().Draw(t, "fork") {
				n := rapid.IntRange(0, len(plain[who])).Draw(t, "prefix")
				vectors = append(vectors, vectors[who].Prefix(n))
				plain = append(plain, slices.Clone(plain[who][:n]))
				continue
			}
			for range rapid.IntRange(1, 20).Draw(t, "more") {
				next++
				vectors[who].Append(next)
				plain[who] = append(plain[who], next)
			}
		}
		for i, v := range vectors {
			if !slices.Equal(v.Values(), plain[i]) {
				t.Fatalf("vector %d holds %v, want %v", i, v.Values(), plain[i])
			}
		}
	})
}

// TestPrefixesGrowAtOnce lets many goroutines append to prefixes of the same memory; the race detector watches.
func TestPrefixesGrowAtOnce(t *testing.T) {
	t.Parallel()
	var trunk factor.Vector
	trunk.Append(make([]float64, 100)...)
	var group sync.WaitGroup
	for g := range 8 {
		branch := trunk.Prefix(100 - g%2)
		group.Go(func() {
			for i := range 500 {
				branch.Append(float64(g*1000 + i))
			}
			for i, v := range branch.Values()[100-g%2:] {
				if v != float64(g*1000+i) {
					t.Errorf("branch %d holds %g at %d", g, v, i)
					return
				}
			}
		})
	}
	group.Wait()
}
