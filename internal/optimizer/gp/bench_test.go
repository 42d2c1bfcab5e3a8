package gp_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

// laboratory is n readings of a function of two coordinates under matern52, and M places to
// predict.
func laboratory(b tester, n, M int) (d *gp.Data, y []float64, X *kernel.Inputs) {
	b.Helper()
	k, err := kernel.New("matern52", []float64{0.3, 0.3}, 1)
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	place := func() []float64 { return []float64{random.Float64(), random.Float64()} }
	d, X = gp.NewData(k), kernel.NewInputs(2)
	points, lambdas := make([][]float64, n), make([]float64, n)
	for i := range points {
		points[i], lambdas[i] = place(), 0.01
		y = append(y, math.Sin(6*points[i][0])+0.1*random.NormFloat64())
	}
	if err := d.AppendAll(b.Context(), points, lambdas, nil); err != nil {
		b.Fatal(err)
	}
	for range M {
		X.Append(place())
	}
	return d, y, X
}

func BenchmarkAppend(b *testing.B) {
	d, _, X := laboratory(b, 1000, 1)
	for b.Loop() {
		if err := d.Clone().Append(X.Row(0), 0.01); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPosterior(b *testing.B) {
	d, y, X := laboratory(b, 1000, 2000)
	z := d.Whiten(nil, y)
	zs := [][]float64{z}
	b.Run("from nothing n=1000", func(b *testing.B) {
		points, lambdas := make([][]float64, d.Len()), make([]float64, d.Len())
		for i := range points {
			points[i], lambdas[i] = d.Inputs().Row(i), d.Noise(i)
		}
		for b.Loop() {
			if err := gp.NewData(d.Kernel()).AppendAll(b.Context(), points, lambdas, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("whiten n=1000", func(b *testing.B) {
		for b.Loop() {
			d.Whiten(nil, y)
		}
	})
	b.Run("predict n=1000", func(b *testing.B) {
		for b.Loop() {
			d.Predict(X.Row(0), z)
		}
	})
	b.Run("predict many n=1000 M=2000", func(b *testing.B) {
		for b.Loop() {
			predictMany(b, d, X, zs)
		}
	})
	b.Run("means n=1000 M=2000", func(b *testing.B) {
		for b.Loop() {
			meanMany(b, d, X, zs)
		}
	})
	b.Run("covariance n=1000 M=500", func(b *testing.B) {
		for b.Loop() {
			covarianceOf(b, d, X.Prefix(500))
		}
	})
	b.Run("drop first n=1000", func(b *testing.B) {
		for b.Loop() {
			d.Prefix(1000).DropFirst()
		}
	})
	for _, M := range []int{100, 1728} {
		b.Run(fmt.Sprintf("arms update M=%d", M), func(b *testing.B) {
			arms, err := gp.NewArms(b.Context(), d.Kernel(), X.Prefix(M), 1)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := arms.Update(b.Context(), 3, []float64{1}, 0.1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
