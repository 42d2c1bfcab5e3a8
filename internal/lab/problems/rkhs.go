package problems

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

var rkhsProblems = []Problem{
	{Name: "rkhs-100", Horizon: 10_000, Source: "Zhou, Ji (2022), section 5, with an independent constraint",
		Summary: "100 arms, f and g two independent draws from a space of smooth functions",
		build:   func(seed uint64, _, _ *Readings) (*Instance, error) { return rkhs(seed, independent) }},
	{Name: "rkhs-100-quarter", Horizon: 10_000, Source: "Zhou, Ji (2022), section 5; its earlier version, appendix F.1",
		Summary: "100 arms, g = −f + B/4: what is good is also within the limit",
		build:   func(seed uint64, _, _ *Readings) (*Instance, error) { return rkhs(seed, 0.25) }},
	{Name: "rkhs-100-half", Horizon: 10_000, Source: "the same with h = B/2",
		Summary: "100 arms, g = −f + B/2: what is good is also within the limit",
		build:   func(seed uint64, _, _ *Readings) (*Instance, error) { return rkhs(seed, 0.5) }},
}

const (
	rkhsArms        = 100
	rkhsLengthscale = 0.2
	rkhsNoise       = 0.01
	// independent asks for a constraint drawn by itself instead of g = −f + share·B.
	independent = -1.0
	// rkhsSlack is the least distance, as a share of B, by which some arm keeps the limit.
	rkhsSlack = 0.1
	// rkhsSafe is the number of safe seeds: the arms furthest within the limit.
	rkhsSafe = 5
	// rkhsTries bounds the draws made in search of functions with an arm within the limit.
	rkhsTries = 1000
)

// rkhs draws f = Σ_i a_i k(·, x_i), a_i uniform on [−1,1] and the x_i the arms themselves, k
// squared exponential with ℓ = 0.2, and g the same way or as −f + share·B, B = max |f|. Functions
// without an arm that keeps the limit by 0.1·B are drawn again: the published description does not
// say what was done about them.
func rkhs(seed uint64, share float64) (*Instance, error) {
	random := rand.New(rand.NewPCG(seed, 0x726b6873))
	for range rkhsTries {
		f, g := smoothDraw(random), smoothDraw(random)
		bound := floats.Norm(f, math.Inf(1))
		if share != independent {
			for i := range g {
				g[i] = share*bound - f[i]
			}
		}
		in := rkhsInstance(f, g)
		best, err := in.bestArm(1)
		if err != nil || floats.Min(g) > -rkhsSlack*bound {
			continue
		}
		in.Optima = []Optimum{best}
		in.Safe = in.safest(rkhsSafe)
		return in, nil
	}
	return nil, fmt.Errorf("seed %d draws no functions with an arm within the limit", seed)
}

func rkhsInstance(f, g []float64) *Instance {
	in := &Instance{
		Axes: []Axis{{Name: "x", High: 1}}, Limits: []string{"g"},
		Reward: func(_ int, x []float64) float64 { return f[rkhsArm(x)] },
		Costs:  func(_ int, x, cost []float64) { cost[0] = g[rkhsArm(x)] },
		Noise:  []Noise{Gaussian(rkhsNoise), Gaussian(rkhsNoise)},
		Kernel: "se", Lengthscale: rkhsLengthscale, Variance: 1,
	}
	for i := range f {
		in.Arms = append(in.Arms, []float64{rkhsPoint(i)})
	}
	return in
}

func rkhsPoint(i int) float64  { return float64(i) / (rkhsArms - 1) }
func rkhsArm(x []float64) int  { return int(math.Round(x[0] * (rkhsArms - 1))) }
func square(v float64) float64 { return v * v }

func smoothDraw(random *rand.Rand) []float64 {
	f := make([]float64, rkhsArms)
	for support := range rkhsArms {
		weight := 2*random.Float64() - 1
		for i := range f {
			f[i] += weight * math.Exp(-0.5*square((rkhsPoint(i)-rkhsPoint(support))/rkhsLengthscale))
		}
	}
	return f
}
