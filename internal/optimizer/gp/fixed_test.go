package gp_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/optimizer/gp"
)

// TestFixedIsPredictMany grows the solutions at fixed points in random steps, forgets some and
// grows again; they must predict to the same bits.
func TestFixedIsPredictMany(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t, 1e-3)
		d, X := s.data(t), s.places()
		z := d.Whiten(nil, s.y)
		fixed := gp.NewFixed(X)
		var err error
		for _, n := range []int{rapid.IntRange(0, d.Len()).Draw(t, "first"), d.Len()} {
			if fixed, err = fixed.Extend(t.Context(), d.Prefix(n)); err != nil {
				t.Fatal(err)
			}
		}
		short := fixed.Prefix(rapid.IntRange(0, d.Len()).Draw(t, "kept"))
		for _, f := range []*gp.Fixed{fixed, short} {
			data, told := d.Prefix(f.Len()), z[:min(f.Len(), rapid.IntRange(0, d.Len()).Draw(t, "told"))]
			means, variances := must.Get2(f.Predict(t.Context(), data, [][]float64{z[:f.Len()], told}))(t)
			wantMeans, wantVariances := predictMany(t, data, X, [][]float64{z[:f.Len()], told})
			if !slices.Equal(variances, wantVariances) || !slices.Equal(means[0], wantMeans[0]) || !slices.Equal(means[1], wantMeans[1]) {
				t.Fatalf("at %d of %d data the fixed points differ", f.Len(), d.Len())
			}
		}
		if again, err := short.Extend(t.Context(), d); err != nil || again.Len() != d.Len() {
			t.Fatal("a prefix cannot be extended", err)
		}
	})
}

// TestPosteriorsCanEnd stops what takes long at its first checkpoint.
func TestPosteriorsCanEnd(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	ctx := checkpoint.With(t.Context(), func(context.Context) error { return stop })
	d, y, X := laboratory(t, 1000, 2000)
	zs := [][]float64{d.Whiten(nil, y)}
	many := slices.Repeat(zs, 50) // whole lengths of which take long enough
	weights := weightsOf(t, d, many)
	points, lambdas := make([][]float64, d.Len()), make([]float64, d.Len())
	for i := range points {
		points[i], lambdas[i] = d.Inputs().Row(i), d.Noise(i)
	}
	arms := must.Get(gp.NewArms(t.Context(), d.Kernel(), X, 1))(t)
	for name, work := range map[string]func() error{
		"AppendAll":   func() error { return gp.NewData(d.Kernel()).AppendAll(ctx, points, lambdas, nil) },
		"PredictMany": func() error { _, _, err := d.PredictMany(ctx, X, zs); return err },
		"MeanMany":    func() error { _, err := d.MeanMany(ctx, X, weights); return err },
		"Weights":     func() error { _, err := d.Weights(ctx, many); return err },
		"OwnMeans":    func() error { _, err := d.OwnMeans(ctx, many, weights); return err },
		"Covariance":  func() error { _, err := d.Covariance(ctx, X); return err },
		"Fixed":       func() error { _, err := gp.NewFixed(X).Extend(ctx, d); return err },
		"Own":         func() error { _, err := new(gp.OwnVariances).Extend(ctx, d); return err },
		"NewArms":     func() error { _, err := gp.NewArms(ctx, d.Kernel(), X, 1); return err },
		"Arms": func() error {
			a := arms.Clone()
			for range 100 {
				if err := a.Update(ctx, 3, []float64{1}, 0.1); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		if err := work(); !errors.Is(err, stop) {
			t.Errorf("%s goes on after it was stopped: %v", name, err)
		}
	}
}
