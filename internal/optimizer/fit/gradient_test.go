package fit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"headroom/internal/optimizer/kernel"
)

// wavy is a problem with three coordinates, the last two a category's, some told noise, and a
// repeated point.
func wavy(n int, name string) Problem {
	random := rand.New(rand.NewPCG(7, uint64(n)))
	p := Problem{Kernel: name, Dims: []int{0, 1, 1}, Categories: []int{-1, 1, 1}, Median: []float64{0.3, 0.6}, FreeLengthscales: true, FreeNoise: true, FreeVariance: true, Variance: 1.3}
	for i := range n {
		x := []float64{random.Float64(), 0, 0}
		x[1+i%2] = 1
		if i == n-1 {
			x = p.Inputs[1]
		}
		p.Inputs = append(p.Inputs, x)
		p.Y = append(p.Y, math.Sin(7*x[0])+0.5*x[1]+0.2*random.NormFloat64())
		sd := 0.0
		if i%3 == 0 {
			sd = 0.1
		}
		p.NoiseSD = append(p.NoiseSD, sd)
	}
	return p
}

func TestGradientIsTheSlopeOfTheValue(t *testing.T) {
	t.Parallel()
	for _, name := range kernel.Names {
		problem := wavy(17, name)
		for _, told := range []string{"a third", "all", "two thirds"} {
			for i := range problem.NoiseSD {
				switch {
				case told == "all":
					problem.NoiseSD[i] = 0.7 + 0.05*float64(i)
				case told == "two thirds" && i%3 == 0:
					problem.NoiseSD[i] = 0
				}
			}
			checkGradient(t, name, problem)
			known := problem
			known.Known = slices.Repeat([]bool{false, false, true}, 6)[:17]
			checkGradient(t, name, known)
		}
	}
}

func checkGradient(t *testing.T, name string, problem Problem) {
	t.Helper()
	p := newPosterior(&problem)
	theta := []float64{math.Log(0.4), math.Log(0.9), math.Log(0.07), math.Log(1.3), -0.4, math.Log(1.4)}[:len(p.low)]
	p.value(theta)
	gradient := p.gradient()
	for i := range theta {
		const step = 1e-5
		up, down := append([]float64{}, theta...), append([]float64{}, theta...)
		up[i] += step
		down[i] -= step
		want := (p.value(up) - p.value(down)) / (2 * step)
		if !(math.Abs(gradient[i]-want) <= 1e-6*(1+math.Abs(want))) {
			t.Errorf("%s: gradient[%d] = %.10g, finite difference %.10g", name, i, gradient[i], want)
		}
	}
}
