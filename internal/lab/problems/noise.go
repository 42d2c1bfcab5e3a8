package problems

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Noise is what a reading adds to the true value; its mean is 0.
type Noise struct {
	Variance float64
	// Draw returns the noise of a reading at x. How much of random it uses does not depend on x.
	Draw func(random *rand.Rand, x []float64) float64
}

// Noiseless reads the true value.
func Noiseless() Noise {
	return Noise{0, func(*rand.Rand, []float64) float64 { return 0 }}
}

// Gaussian is normal noise.
func Gaussian(variance float64) Noise {
	sd := math.Sqrt(variance)
	return Noise{variance, func(random *rand.Rand, _ []float64) float64 { return sd * random.NormFloat64() }}
}

// freedom is the number of degrees of freedom of heavy-tailed noise: the fewest whole ones with a
// finite variance.
const freedom = 3

// student is Student's t with 3 degrees of freedom, scaled to the variance.
func student(variance float64) Noise {
	scale := math.Sqrt(variance * (freedom - 2) / freedom)
	return Noise{variance, func(random *rand.Rand, _ []float64) float64 {
		normal, square := random.NormFloat64(), 0.0
		for range freedom {
			n := random.NormFloat64()
			square += n * n
		}
		return scale * normal / math.Sqrt(square/freedom)
	}}
}

// uniform is uniform on ±√(3·variance).
func uniform(variance float64) Noise {
	half := math.Sqrt(3 * variance)
	return Noise{variance, func(random *rand.Rand, _ []float64) float64 { return half * (2*random.Float64() - 1) }}
}

// NoiseKinds are the names that NoiseOf knows: student has heavy tails, uniform bounds.
var NoiseKinds = []string{"gaussian", "student", "uniform"}

// NoiseOf is the noise of a named kind.
func NoiseOf(kind string, variance float64) (Noise, error) {
	at := slices.Index(NoiseKinds, kind)
	switch {
	case at < 0:
		return Noise{}, fmt.Errorf("there is no noise %q; there are %s", kind, strings.Join(NoiseKinds, ", "))
	case !(variance >= 0) || math.IsInf(variance, 1):
		return Noise{}, fmt.Errorf("a noise variance of %g is impossible; it must be at least 0", variance)
	case variance == 0:
		return Noiseless(), nil
	}
	return []func(float64) Noise{Gaussian, student, uniform}[at](variance), nil
}

// Poisson draws a Poisson number of the given mean by multiplying uniforms (Knuth), for means up to
// some hundreds.
func Poisson(random *rand.Rand, mean float64) int {
	limit, product, count := math.Exp(-mean), 1.0, 0
	for {
		product *= random.Float64()
		if product <= limit {
			return count
		}
		count++
	}
}
