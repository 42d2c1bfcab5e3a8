package gp_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/optimizer/gp"
)

// TestOwnIsPredictMany grows the variances at the data's own points in random steps, and forgets
// some between: they must be those of what knows nothing of it to rounding, those of all points at
// once to the bit, and never rise.
func TestOwnIsPredictMany(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-3)
		d := s.data(t)
		grown := new(gp.OwnVariances)
		for range 4 {
			grown = grown.Prefix(rapid.IntRange(0, grown.Len()).Draw(t, "kept"))
			n := rapid.IntRange(grown.Len(), d.Len()).Draw(t, "then")
			before, data := grown, d.Prefix(n)
			grown = ownOf(t, before, data)
			fresh := ownOf(t, new(gp.OwnVariances), data)
			_, want := predictMany(t, data, data.Inputs(), nil)
			for i := range n {
				is := grown.Variance(i)
				if is != fresh.Variance(i) || math.Abs(is-want[i]) > 1e-9 {
					t.Fatalf("variance of point %d of %d: %v grown, %v at once, want %v", i, n, is, fresh.Variance(i), want[i])
				}
				if i < before.Len() && is > before.Variance(i) {
					t.Fatalf("the variance of point %d rises from %v to %v", i, before.Variance(i), is)
				}
			}
		}
	})
}

// TestOwnKnowsNoScale: beside readings of hardly any noise there is one of so much that it tells
// nothing: its point's variance is what the others leave.
func TestOwnKnowsNoScale(t *testing.T) {
	t.Parallel()
	d, _, _ := laboratory(t, 40, 1)
	for _, noise := range []float64{1e-6, 1e6, 1e16} {
		data := d.Clone()
		x := []float64{0.123, 0.456}
		_, before := data.Predict(x)
		must.Do(t, data.Append(x, noise))
		must.Do(t, data.Append([]float64{0.9, 0.1}, 1e-6))
		_, want := data.Predict(x)
		if is := ownOf(t, new(gp.OwnVariances), data).Variance(40); math.Abs(is-want) > 1e-9*before {
			t.Errorf("with noise %g the variance is %v, want %v", noise, is, want)
		}
	}
}

func ownOf(t tester, o *gp.OwnVariances, d *gp.Data) *gp.OwnVariances {
	t.Helper()
	grown := must.Get(o.Extend(t.Context(), d))(t)
	return grown
}

// TestOwnGoesBack by whole blocks of points, to the same bits as what never went on.
func TestOwnGoesBack(t *testing.T) {
	t.Parallel()
	d, _, _ := laboratory(t, 300, 1)
	grown := new(gp.OwnVariances)
	for _, n := range []int{50, 96, 300, 299, 200, 192, 191, 95, 300, 250} {
		kept := grown.Prefix(n)
		if kept.Len() > n || n < grown.Len() && kept.Len() <= n-96 {
			t.Errorf("%d of %d are kept for %d", kept.Len(), grown.Len(), n)
		}
		grown = ownOf(t, kept, d.Prefix(n))
		fresh := ownOf(t, new(gp.OwnVariances), d.Prefix(n))
		for i := range n {
			if grown.Variance(i) != fresh.Variance(i) {
				t.Fatalf("point %d of %d: %v, from nothing %v", i, n, grown.Variance(i), fresh.Variance(i))
			}
		}
	}
}
