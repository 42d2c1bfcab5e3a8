package problems

import "math"

var sineProblems = []Problem{
	{Name: "sine-pocket", Horizon: 500, Source: "Gardner et al. (2014), second problem; Guo, Zhu, Liu (2022), figure 1",
		Summary: "two small pockets within the limit, the better one hard to find",
		in:      sine(sineNoise, 0, firstPhase)},
	{Name: "sine-pocket-delayed", Horizon: 500, Source: "Guo, Zhu, Liu (2022), figure 2",
		Summary: "sine-pocket with every reading Poisson(15) rounds late",
		in:      sine(sineNoise, 15, firstPhase)},
	{Name: "sine-pocket-drift", Horizon: 500, Source: "Guo, Zhu, Liu (2022), figure 3",
		Summary: "sine-pocket whose functions change after rounds 100 and 300",
		in:      sine(sineNoise, 0, firstPhase, secondPhase, thirdPhase)},
}

// phase is f and g from a round on.
type phase struct {
	optimum Optimum
	f, g    func(x, y float64) float64
}

var firstPhase = phase{
	Optimum{1, 1 - math.Asin(0.95), []float64{3 * math.Pi / 2, math.Asin(0.95)}},
	func(x, y float64) float64 { return -math.Sin(x) - y },
	func(x, y float64) float64 { return math.Sin(x)*math.Sin(y) + 0.95 },
}

// In the second phase the best point lies on x₂ = 0, in the third on x₁ = 0, where the limit is
// reached.
var secondX, thirdY = math.Pi - math.Asin(0.5/-math.Sin(5)), math.Asin(0.95 / -math.Sin(5))

var secondPhase = phase{
	Optimum{101, -math.Sin(secondX - 5), []float64{secondX, 0}},
	func(x, y float64) float64 { return -math.Sin(x-5) - y },
	func(x, y float64) float64 { return math.Sin(x)*math.Sin(y+5) + 0.5 },
}

var thirdPhase = phase{
	Optimum{301, -math.Sin(4) - thirdY, []float64{0, thirdY}},
	func(x, y float64) float64 { return -math.Sin(x+4) - y },
	func(x, y float64) float64 { return math.Sin(x+5)*math.Sin(y) + 0.95 },
}

// sineNoise has the variance 0.05, in both readings.
var sineNoise = []Noise{Gaussian(0.05), Gaussian(0.05)}

// sine changes its functions from phase to phase; readings come with a mean delay.
func sine(noise []Noise, delay float64, phases ...phase) Instance {
	at := func(t int) phase {
		now := phases[0]
		for _, p := range phases {
			if p.optimum.From <= t {
				now = p
			}
		}
		return now
	}
	in := Instance{
		Axes: alike(6, "x1", "x2"), Limits: []string{"g"},
		Reward: func(t int, x []float64) float64 { return at(t).f(x[0], x[1]) },
		Costs:  func(t int, x, g []float64) { g[0] = at(t).g(x[0], x[1]) },
		Noise:  noise, Delay: delay,
		Kernel: "se", Lengthscale: 1, Safe: [][]float64{{4.7, 1.6}},
	}
	for _, p := range phases {
		in.Optima = append(in.Optima, p.optimum)
	}
	return in
}
