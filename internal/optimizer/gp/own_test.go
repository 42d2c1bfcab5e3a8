package gp_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/optimizer/gp"
)

// TestOwnIsPredictMany grows the solutions at the data's own points in random steps, forgets some
// and grows again; they must predict to the same bits as what knows nothing of it, at any stretch
// of the points.
func TestOwnIsPredictMany(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-3)
		d := s.data(t)
		own := new(gp.Own)
		var err error
		for _, n := range []int{rapid.IntRange(0, d.Len()).Draw(t, "first"), rapid.IntRange(0, d.Len()).Draw(t, "then"), d.Len()} {
			if own, err = own.Prefix(min(n, own.Len())).Extend(t.Context(), d.Prefix(n)); err != nil {
				t.Fatal(err)
			}
			if own.Len() != n {
				t.Fatalf("%d of %d data", own.Len(), n)
			}
			if n == 0 {
				continue
			}
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			to := rapid.IntRange(from+1, n).Draw(t, "to")
			data := d.Prefix(n)
			_, want := predictMany(t, data, data.Inputs().Slice(from, to), nil)
			if !slices.Equal(own.Variances(data, from, to), want) {
				t.Fatalf("from %d to %d of %d data their own points differ", from, to, n)
			}
		}
	})
}
