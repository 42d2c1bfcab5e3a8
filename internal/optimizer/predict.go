package optimizer

import (
	"context"

	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// splitFrom is the number of points from which a prediction is shared among the cores.
const splitFrom = 256

// predict is gp.Data.PredictMany on all cores. Points are independent of each other, so the result is the same to the last bit.
func predict(ctx context.Context, d *gp.Data, at *kernel.Inputs, zs [][]float64) (means [][]float64, variances []float64, err error) {
	variances = make([]float64, at.Len())
	means, err = onAllCores(at, len(zs), func(part *kernel.Inputs, from int) ([][]float64, error) {
		m, v, err := d.PredictMany(ctx, part, zs)
		copy(variances[from:], v)
		return m, err
	})
	return means, variances, err
}

// predictMeans is gp.Data.MeanMany on all cores.
func predictMeans(ctx context.Context, d *gp.Data, at *kernel.Inputs, zs [][]float64) ([][]float64, error) {
	return onAllCores(at, len(zs), func(part *kernel.Inputs, _ int) ([][]float64, error) { return d.MeanMany(ctx, part, zs) })
}

// onAllCores computes rows of values, one value a point, a share of the points on each core.
func onAllCores(at *kernel.Inputs, rows int, compute func(part *kernel.Inputs, from int) ([][]float64, error)) ([][]float64, error) {
	shares := cores.Count()
	if at.Len() < splitFrom || shares == 1 {
		return compute(at, 0)
	}
	out := make([][]float64, rows)
	for r := range out {
		out[r] = make([]float64, at.Len())
	}
	work := cores.New()
	for share := range shares {
		from, to := share*at.Len()/shares, (share+1)*at.Len()/shares
		work.Go(func() error {
			part, err := compute(at.Slice(from, to), from)
			for r, values := range part {
				copy(out[r][from:], values)
			}
			return err
		})
	}
	return out, work.Wait()
}
