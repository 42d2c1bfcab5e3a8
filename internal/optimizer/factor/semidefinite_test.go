package factor_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/factor"
)

// lowRank is a random n×n covariance of the given rank, its entries of order 1.
func lowRank(n, rank int) [][]float64 {
	random := rand.New(rand.NewPCG(2, 0))
	loads, a := make([][]float64, n), make([][]float64, n)
	for i := range loads {
		for range rank {
			loads[i] = append(loads[i], random.NormFloat64())
		}
	}
	for i := range a {
		for j := range loads {
			a[i] = append(a[i], factor.Dot(loads[i], loads[j]))
		}
	}
	return a
}

// holds checks that l lᵀ is a.
func holds(t *testing.T, l, a [][]float64, tolerance float64) {
	t.Helper()
	for i := range a {
		for j := range a {
			width := min(len(l[i]), len(l[j]))
			if got := factor.Dot(l[i][:width], l[j][:width]); !(math.Abs(got-a[i][j]) <= tolerance) {
				t.Fatalf("entry %d, %d of l lᵀ is %g, want %g", i, j, got, a[i][j])
			}
		}
	}
}

func TestSemidefiniteRoot(t *testing.T) {
	t.Parallel()
	a := lowRank(12, 3)
	l, err := factor.SemidefiniteRoot(t.Context(), func() ([][]float64, error) { return lowRank(12, 3), nil })
	if err != nil {
		t.Fatal(err)
	}
	holds(t, l, a, 1e-7)
	if len(l[7]) != 8 {
		t.Errorf("row 7 of a triangle has %d entries", len(l[7]))
	}
}

// TestRootOfRoundedCovariance disturbs a covariance by more than any jitter in proportion to it
// could mend: what is left of a large prior.
func TestRootOfRoundedCovariance(t *testing.T) {
	t.Parallel()
	for _, rounding := range []float64{1e-12, 1e-7, 1e-4} {
		a := lowRank(60, 3)
		random := rand.New(rand.NewPCG(3, 0))
		for i := range a {
			for j := range i + 1 {
				a[i][j] += rounding * random.NormFloat64()
				a[j][i] = a[i][j]
			}
			a[i][i] = max(a[i][i], 0)
		}
		l, err := factor.SemidefiniteRoot(t.Context(), func() ([][]float64, error) {
			given := make([][]float64, len(a))
			for i := range a {
				given[i] = append([]float64(nil), a[i][:i+1]...)
			}
			return given, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		holds(t, l, a, 100*rounding+1e-7)
	}
}

func TestPivotedRoot(t *testing.T) {
	t.Parallel()
	a := lowRank(40, 5)
	l, err := factor.PivotedRoot(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, l, a, 1e-7)
	if rank := len(l[0]); rank != 5 {
		t.Errorf("a matrix of rank 5 has a root of rank %d", rank)
	}
	nothing, err := factor.PivotedRoot(t.Context(), [][]float64{{0, 0}, {0, 0}})
	if err != nil || len(nothing) != 2 || len(nothing[0]) != 0 {
		t.Errorf("the root of nothing is %v, %v", nothing, err)
	}
	if l, err := factor.PivotedRoot(t.Context(), [][]float64{{math.NaN(), 1}, {1, 1}}); err != nil || len(l) != 2 {
		t.Errorf("a matrix with no number in it gives %v, %v", l, err)
	}
}

// TestLongWorkCanEnd stops every long function at its first checkpoint, and counts that there are
// enough of them.
func TestLongWorkCanEnd(t *testing.T) {
	t.Parallel()
	const n = 800
	A := correlated(n)
	whole, err := factor.New(A)
	if err != nil {
		t.Fatal(err)
	}
	full := func() [][]float64 {
		rows := make([][]float64, n)
		for i := range rows {
			rows[i] = make([]float64, n)
			for j := range rows[i] {
				rows[i][j] = A[max(i, j)][min(i, j)]
			}
		}
		return rows
	}
	stop := errors.New("stop")
	for name, work := range map[string]struct {
		multiplications int
		do              func(ctx context.Context) error
	}{
		"AppendRows":     {n * n * n / 6, func(ctx context.Context) error { return new(factor.Cholesky).AppendRows(ctx, A) }},
		"AppendShared":   {n * n * n / 6, func(ctx context.Context) error { return new(factor.Cholesky).AppendShared(ctx, A) }},
		"SolveLowerMany": {n * n * n / 2, func(ctx context.Context) error { return whole.SolveLowerMany(ctx, full()) }},
		"Gram":           {n * n * n / 2, func(ctx context.Context) error { return factor.Gram(ctx, full(), full()) }},
		"SemidefiniteRoot": {n * n * n / 6, func(ctx context.Context) error {
			_, err := factor.SemidefiniteRoot(ctx, func() ([][]float64, error) { return full(), nil })
			return err
		}},
		"PivotedRoot": {n * n * n / 2, func(ctx context.Context) error { _, err := factor.PivotedRoot(ctx, full()); return err }},
	} {
		calls := 0
		ctx := checkpoint.With(t.Context(), func(context.Context) error { calls++; return nil })
		if err := work.do(ctx); err != nil {
			t.Fatal(err)
		}
		if least := work.multiplications / checkpoint.Slice / 2; calls < max(least, 1) {
			t.Errorf("%s reaches %d checkpoints, want at least %d", name, calls, least)
		}
		if err := work.do(checkpoint.With(t.Context(), func(context.Context) error { return stop })); !errors.Is(err, stop) {
			t.Errorf("%s goes on after it was stopped: %v", name, err)
		}
	}
}
