package factor_test

import (
	"context"
	"errors"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/factor"
)

// TestLongWorkCanEnd stops every long function at its first checkpoint, and counts that there are
// enough of them.
func TestLongWorkCanEnd(t *testing.T) {
	t.Parallel()
	const n = 800
	A := correlated(n)
	whole := must.Get(factor.New(A))(t)
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
		"Adopt":          {n * n * n / 6, func(ctx context.Context) error { return new(factor.Cholesky).Adopt(ctx, copied(A)) }},
		"SolveLowerMany": {n * n * n / 2, func(ctx context.Context) error { return whole.SolveLowerMany(ctx, full()) }},
		"Gram":           {n * n * n / 2, func(ctx context.Context) error { return factor.Gram(ctx, full(), full()) }},
	} {
		calls := 0
		ctx := checkpoint.With(t.Context(), func(context.Context) error { calls++; return nil })
		must.Do(t, work.do(ctx))
		if least := work.multiplications / checkpoint.Slice / 2; calls < max(least, 1) {
			t.Errorf("%s reaches %d checkpoints, want at least %d", name, calls, least)
		}
		if err := work.do(checkpoint.With(t.Context(), func(context.Context) error { return stop })); !errors.Is(err, stop) {
			t.Errorf("%s goes on after it was stopped: %v", name, err)
		}
	}
}
