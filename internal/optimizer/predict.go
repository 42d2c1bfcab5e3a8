package optimizer

import (
	"runtime"
	"sync"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// splitFrom is the number of points from which a prediction is shared among the cores.
const splitFrom = 256

// predict is gp.Data.PredictMany on all cores. Points are independent of each other, so the result is the same to the last bit.
func predict(d *gp.Data, at *kernel.Inputs, zs [][]float64) (means [][]float64, variances []float64) {
	variances = make([]float64, at.Len())
	means = onAllCores(at, len(zs), func(part *kernel.Inputs, from int) [][]float64 {
		m, v := d.PredictMany(part, zs)
		copy(variances[from:], v)
		return m
	})
	return means, variances
}

// predictMeans is gp.Data.MeanMany on all cores.
func predictMeans(d *gp.Data, at *kernel.Inputs, zs [][]float64) [][]float64 {
	return onAllCores(at, len(zs), func(part *kernel.Inputs, _ int) [][]float64 { return d.MeanMany(part, zs) })
}

// onAllCores computes rows of values, one value a point, a share of the points on each core.
func onAllCores(at *kernel.Inputs, rows int, compute func(part *kernel.Inputs, from int) [][]float64) [][]float64 {
	shares := runtime.GOMAXPROCS(0)
	if at.Len() < splitFrom || shares == 1 {
		return compute(at, 0)
	}
	out := make([][]float64, rows)
	for r := range out {
		out[r] = make([]float64, at.Len())
	}
	var wait sync.WaitGroup
	for share := range shares {
		from, to := share*at.Len()/shares, (share+1)*at.Len()/shares
		wait.Add(1)
		go func() {
			defer wait.Done()
			for r, values := range compute(at.Slice(from, to), from) {
				copy(out[r][from:], values)
			}
		}()
	}
	wait.Wait()
	return out
}
