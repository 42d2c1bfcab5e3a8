package fit_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/optimizer/fit"
)

// smooth is n readings of a smooth function of d coordinates with noise sd 0.15.
func smooth(n, d int) fit.Problem {
	random := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	p := fit.Problem{Kernel: "matern52", FreeLengthscales: true, FreeNoise: true}
	for c := range d {
		p.Dims = append(p.Dims, c)
		p.Median = append(p.Median, 0.3)
	}
	for range n {
		x := make([]float64, d)
		y := 0.15 * random.NormFloat64()
		for c := range x {
			x[c] = random.Float64()
			y += math.Sin(6*x[c]/float64(c+1)) / math.Sqrt(float64(d))
		}
		p.Inputs = append(p.Inputs, x)
		p.Y = append(p.Y, y)
	}
	return p
}

func BenchmarkMAP(b *testing.B) {
	for _, n := range []int{50, 200, 500} {
		for _, d := range []int{2, 6} {
			b.Run(fmt.Sprintf("n=%d/d=%d", n, d), func(b *testing.B) {
				problem := smooth(n, d)
				evaluations := 0
				for b.Loop() {
					evaluations = 0
					if _, err := fit.MAP(counting(context.Background(), &evaluations), problem); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(evaluations), "evaluations")
			})
		}
	}
}
