package factor_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"headroom/internal/optimizer/factor"
)

// correlated is the covariance matrix of n points in a row, e^{−|i−j|/50}, plus noise.
func correlated(n int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, i+1)
		for j := range rows[i] {
			rows[i][j] = math.Exp(-float64(i-j) / 50)
		}
		rows[i][i] += 0.01
	}
	return rows
}

func BenchmarkCholesky(b *testing.B) {
	for _, n := range []int{100, 1000, 2000, 5000} {
		rows := correlated(n)
		b.Run(fmt.Sprintf("n=%d/ours", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := factor.New(rows); err != nil {
					b.Fatal(err)
				}
			}
			report(b, n)
		})
		b.Run(fmt.Sprintf("n=%d/gonum", n), func(b *testing.B) {
			symmetric := mat.NewSymDense(n, nil)
			for i, row := range rows {
				for j, v := range row {
					symmetric.SetSym(i, j, v)
				}
			}
			b.ResetTimer()
			for b.Loop() {
				var c mat.Cholesky
				if !c.Factorize(symmetric) {
					b.Fatal("not positive definite")
				}
			}
			report(b, n)
		})
	}
}

// report adds the rate of the n³/3 operations that a factorisation takes.
func report(b *testing.B, n int) {
	b.ReportMetric(math.Pow(float64(n), 3)/3*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gflop/s")
}

func BenchmarkAppend(b *testing.B) {
	rows := correlated(1000)
	last := rows[999]
	c, err := factor.New(rows[:999])
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := c.Prefix(999).Append(last); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSolves(b *testing.B) {
	c, err := factor.New(correlated(1000))
	if err != nil {
		b.Fatal(err)
	}
	v := make([]float64, 1000)
	fill := func() {
		for i := range v {
			v[i] = 1
		}
	}
	b.Run("lower", func(b *testing.B) {
		for b.Loop() {
			fill()
			c.SolveLower(v, v)
		}
	})
	b.Run("upper", func(b *testing.B) {
		for b.Loop() {
			fill()
			c.SolveUpper(v, v)
		}
	})
	b.Run("drop first", func(b *testing.B) {
		for b.Loop() {
			c.Prefix(1000).DropFirst()
		}
	})
}

// BenchmarkPanels solves with several right-hand sides at once, and inverts, at the sizes of fits
// and of long studies.
func BenchmarkPanels(b *testing.B) {
	for _, n := range []int{250, 1000} {
		c, err := factor.New(correlated(n))
		if err != nil {
			b.Fatal(err)
		}
		for _, sides := range []int{6, 48} {
			B := make([][]float64, sides)
			for r := range B {
				B[r] = make([]float64, n)
			}
			solve := func(name string, solve func(ctx context.Context, B [][]float64) error) {
				b.Run(fmt.Sprintf("n=%d/%s/%d", n, name, sides), func(b *testing.B) {
					for b.Loop() {
						for _, v := range B {
							v[0], v[n-1] = 1, 1
						}
						if err := solve(b.Context(), B); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			solve("lower", c.SolveLowerMany)
			solve("upper", c.SolveUpperMany)
		}
		inverse, room := factor.Triangle(0, n), factor.Square(n)
		b.Run(fmt.Sprintf("n=%d/inverse", n), func(b *testing.B) {
			for b.Loop() {
				c.Inverse(inverse, room)
			}
		})
	}
}
