package problems

import (
	"math"
	"math/rand/v2"
)

var systemProblems = []Problem{
	// Its optimum lies on the budget; it was found by nested search over the sigmoid servers'
	// rates, the logarithmic ones following from equal marginal utility per cost.
	{Name: "rate-allocation", Horizon: 350, Source: "Shi, Eryilmaz (2022), section E.2: data rates of four servers; constants reconstructed",
		Summary: "four data rates, utility against an electricity budget",
		in: Instance{
			Axes: alike(2, "server1", "server2", "server3", "server4"), Limits: []string{"electricity"},
			Reward: func(_ int, x []float64) float64 {
				return sigmoidUtility(x[0]) + logarithmicUtility(x[1]) + sigmoidUtility(x[2]) + logarithmicUtility(x[3])
			},
			Costs:  func(_ int, x, g []float64) { g[0] = 0.2*x[0] + 0.4*x[1] + 0.8*x[2] + 1.2*x[3] - 2 },
			Noise:  []Noise{Gaussian(0.01), uniform(0.2 * 0.2 / 3)},
			Kernel: "matern52", Lengthscale: 1,
			Optima: []Optimum{{1, 2.8188737837, []float64{1.6544152, 0.9686810, 1.3177152, 0.1895603}}},
			Safe:   [][]float64{{0.5, 0.5, 0.5, 0.5}},
		}},
	// Node i has the share x_i ∈ [0,1] of its processors: it then serves h₁ = 3x₁, h₂ = 2x₂ jobs a
	// round for an energy of x₁² + x₂²/2. With ω_t ~ Poisson(2) jobs arriving, g_t(x) = ω_t − h₁ −
	// h₂ is known before round t is chosen. Spending least energy for 3x₁ + 2x₂ = 2 gives x = (6,
	// 8)/17 and f* = −4/17.
	{Name: "queue", Horizon: 500, Source: "Zhou, Ji: Provably Efficient Bayesian Optimization with Unknown Constraints (2022), appendix A: two computing nodes; rates and energies reconstructed",
		Summary: "energy of two computing nodes that must serve random arrivals known before each round",
		in: Instance{
			Axes: alike(1, "node1", "node2"), Limits: []string{"queue"},
			Reward: func(_ int, x []float64) float64 { return -x[0]*x[0] - x[1]*x[1]/2 },
			Costs:  func(_ int, x, g []float64) { g[0] = arrivals - served(x) },
			Given: &Given{
				Number: "arrivals", Forms: []string{"arrivals - 3*node1 - 2*node2"},
				Draw:  func(random *rand.Rand) float64 { return float64(Poisson(random, arrivals)) },
				Costs: func(jobs float64, x, g []float64) { g[0] = jobs - served(x) },
			},
			Noise:  []Noise{Gaussian(0.01), Noiseless()},
			Kernel: "se", Lengthscale: 0.5,
			Optima: []Optimum{{1, -4. / 17, []float64{6. / 17, 8. / 17}}},
			Safe:   [][]float64{{1, 1}},
		}},
}

// Constants of the utilities, reconstructed: the published ones refer to a work that could not be
// consulted.
const utilityRate, utilityShift = 5.0, 1.0

// sigmoidUtility is c(1/(1 + e^{−a(x−b)}) + d) and logarithmicUtility c(ln(ax + b) + d), with c and
// d such that U(0) = 0 and U(2) = 1.
func sigmoidUtility(x float64) float64 {
	at := func(x float64) float64 { return 1 / (1 + math.Exp(-utilityRate*(x-utilityShift))) }
	return (at(x) - at(0)) / (at(2) - at(0))
}

func logarithmicUtility(x float64) float64 {
	at := func(x float64) float64 { return math.Log(utilityRate*x + utilityShift) }
	return (at(x) - at(0)) / (at(2) - at(0))
}

// arrivals is the mean number of jobs a round.
const arrivals = 2.0

// served is how many jobs of the queue are, a round.
func served(x []float64) float64 { return 3*x[0] + 2*x[1] }
