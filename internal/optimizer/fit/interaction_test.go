package fit_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/optimizer/fit"
)

// recipes is n readings of value at three categories of four, three and three choices and a number,
// chosen at random.
func recipes(n int, value func(choices [3]int, u float64) float64) fit.Problem {
	random := rand.New(rand.NewPCG(11, 3))
	p := fit.Problem{Kernel: "anova", Median: []float64{math.Sqrt2, math.Sqrt2, math.Sqrt2, 0.4}, FreeLengthscales: true, FreeNoise: true, FreeVariance: true}
	sizes := [3]int{4, 3, 3}
	for k, size := range sizes {
		for range size {
			p.Dims, p.Categories = append(p.Dims, k), append(p.Categories, k)
		}
	}
	p.Dims, p.Categories = append(p.Dims, 3), append(p.Categories, -1)
	for range n {
		var choices [3]int
		var x []float64
		for k, size := range sizes {
			choices[k] = random.IntN(size)
			one := make([]float64, size)
			one[choices[k]] = 1
			x = append(x, one...)
		}
		u := random.Float64()
		p.Inputs, p.Y = append(p.Inputs, append(x, u)), append(p.Y, value(choices, u))
	}
	return p
}

func TestTheReadingsSayWhetherParametersAddUp(t *testing.T) {
	t.Parallel()
	effects := [3][]float64{{-1, 0.2, 0.5, 1.1}, {-0.6, 0.1, 0.9}, {0.4, -0.8, 0.3}}
	sums := recipes(40, func(choices [3]int, u float64) float64 {
		return effects[0][choices[0]] + effects[1][choices[1]] + effects[2][choices[2]] + 0.5*u
	})
	if got := mustFit(t, sums); !(got.Interaction < 0.05) {
		t.Errorf("interaction %.3g of readings that add up", got.Interaction)
	}
	products := recipes(40, func(choices [3]int, u float64) float64 {
		return 3 * effects[0][choices[0]] * effects[1][choices[1]] * effects[2][choices[2]] * math.Cos(3*u)
	})
	if got := mustFit(t, products); !(got.Interaction > 0.4) {
		t.Errorf("interaction %.3g of readings that multiply", got.Interaction)
	}
}

func TestOtherKernelsHaveNoInteraction(t *testing.T) {
	t.Parallel()
	p := recipes(20, func(choices [3]int, u float64) float64 { return float64(choices[0]) + u })
	p.Kernel, p.Start.Interaction = "mixed", 0.123
	if got := mustFit(t, p); got.Interaction != 0 {
		t.Errorf("interaction %v of a kernel without one", got.Interaction)
	}
}

// TestClimbStartsWhereItIsTold: from a mode it stays there, and what it is worth there is what MAP
// says.
func TestClimbStartsWhereItIsTold(t *testing.T) {
	t.Parallel()
	p := recipes(25, func(choices [3]int, u float64) float64 { return float64(choices[0]*choices[1]) + u })
	mode := mustFit(t, p)
	p.Start = mode.Hyperparameters
	other := make([]float64, len(p.Y))
	for i, y := range p.Y {
		other[i] = y * y
	}
	worth, err := fit.LogPosteriors(p, [][]float64{p.Y, other})
	if err != nil || !(math.Abs(worth[0]-mode.LogPosterior) <= 1e-6) {
		t.Errorf("the mode is worth %.12g, MAP says %.12g (%v)", worth, mode.LogPosterior, err)
	}
	squared := p
	squared.Y = other
	if alone, err := fit.LogPosteriors(squared, [][]float64{other}); err != nil || alone[0] != worth[1] {
		t.Errorf("other readings are worth %.12g beside these, %.12g alone (%v)", worth, alone, err)
	}
	evaluations := 0
	again, err := fit.Climb(counting(t.Context(), &evaluations), p)
	if err != nil || again.LogPosterior < mode.LogPosterior-1e-6 || evaluations > 8 {
		t.Errorf("from the mode it climbs to %+v after %d evaluations (%v)", again, evaluations, err)
	}
	p.Start.Lambda = 5
	if low, err := fit.LogPosteriors(p, [][]float64{p.Y}); err != nil || !(low[0] < worth[0]-1) {
		t.Errorf("with a λ of 5 it is worth %g, at the mode %g (%v)", low, worth, err)
	}
}
