package problems

import "math"

var classicProblems = []Problem{
	// Minus the Branin–Hoo function within (x₁ − 2.5)² + (x₂ − 7.5)² ≤ 50. Of its three minima
	// 0.397887 only (π, 2.275) is inside.
	{Name: "branin", Horizon: 100, Source: "Gelbart, Snoek, Adams (2014): Branin–Hoo within a disk",
		Summary: "three equal minima, one of them within the limit",
		in: Instance{
			Axes: []Axis{{Name: "x1", Low: -5, High: 10}, {Name: "x2", High: 15}}, Limits: []string{"disk"},
			Reward: func(_ int, x []float64) float64 { return -braninHoo(x[0], x[1]) },
			Costs:  func(_ int, x, g []float64) { g[0] = square(x[0]-2.5) + square(x[1]-7.5) - 50 },
			Kernel: "matern52", Lengthscale: 4, Fitted: true,
			Optima: []Optimum{{1, -braninHoo(math.Pi, 2.275), []float64{math.Pi, 2.275}}},
			Safe:   [][]float64{{2.5, 7.5}},
		}},
	// Minus cos 2x cos y + sin x, within cos x cos y − sin x sin y ≤ 0.5. Its minimum −2 is at
	// (3π/2, 0).
	{Name: "gardner-1", Horizon: 100, Source: "Gardner et al. (2014), first problem",
		Summary: "several pockets, the best on the edge of the space",
		in: Instance{
			Axes: alike(6, "x", "y"), Limits: []string{"c"},
			Reward: func(_ int, x []float64) float64 { return -math.Cos(2*x[0])*math.Cos(x[1]) - math.Sin(x[0]) },
			Costs:  func(_ int, x, g []float64) { g[0] = math.Cos(x[0]+x[1]) - 0.5 },
			Kernel: "se", Lengthscale: 1,
			Optima: []Optimum{{1, 2, []float64{3 * math.Pi / 2, 0}}},
			Safe:   [][]float64{{3, 0}},
		}},
	{Name: "gardner-2", Horizon: 100, Source: "Gardner et al. (2014), second problem",
		Summary: "two small pockets within the limit, readings without noise",
		in:      sine(nil, 0, firstPhase)},
	// −x₁ − x₂, within 3/2 − x₁ − 2x₂ − ½ sin(2π(x₁² − 2x₂)) ≤ 0 and x₁² + x₂² ≤ 3/2. The best
	// point lies on the first limit.
	{Name: "gramacy", Horizon: 100, Source: "Gramacy et al. (2016), section 2.2",
		Summary: "a straight objective, and a wavy limit that holds two of three pockets back",
		in: Instance{
			Axes: alike(1, "x1", "x2"), Limits: []string{"wave", "disk"},
			Reward: func(_ int, x []float64) float64 { return -x[0] - x[1] },
			Costs: func(_ int, x, g []float64) {
				g[0] = 1.5 - x[0] - 2*x[1] - 0.5*math.Sin(2*math.Pi*(x[0]*x[0]-2*x[1]))
				g[1] = x[0]*x[0] + x[1]*x[1] - 1.5
			},
			Kernel: "matern52", Lengthscale: 0.3, Fitted: true,
			Optima: []Optimum{{1, -0.59978805201, []float64{0.19512268289553658, 0.40466536911453094}}},
			Safe:   [][]float64{{0.7, 0.7}},
		}},
	// Minus the six-dimensional Hartmann function, within ‖x‖ ≤ 1, where its minimum −3.32237 lies.
	{Name: "hartmann6", Horizon: 200, Source: "Letham et al. (2019): six-dimensional Hartmann function, ‖x‖ ≤ 1",
		Summary: "six parameters, six local minima, one smooth limit",
		in: Instance{
			Axes: alike(1, "x1", "x2", "x3", "x4", "x5", "x6"), Limits: []string{"norm"},
			Reward: func(_ int, x []float64) float64 {
				sum := 0.0
				for i, weight := range hartmannWeights {
					exponent := 0.0
					for k := range x {
						exponent += hartmannScales[i][k] * square(x[k]-hartmannCentres[i][k])
					}
					sum += weight * math.Exp(-exponent)
				}
				return sum
			},
			Costs: func(_ int, x, g []float64) {
				g[0] = -1
				for _, v := range x {
					g[0] += v * v
				}
			},
			Kernel: "matern52", Lengthscale: 0.5, Fitted: true,
			Optima: []Optimum{{1, 3.322368, []float64{0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573}}},
			Safe:   [][]float64{{0.3, 0.3, 0.3, 0.3, 0.3, 0.3}},
		}},
}

func braninHoo(x, y float64) float64 {
	return square(y-5.1/(4*math.Pi*math.Pi)*x*x+5/math.Pi*x-6) + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10
}

var (
	hartmannWeights = [4]float64{1, 1.2, 3, 3.2}
	hartmannScales  = [4][6]float64{
		{10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}}
	hartmannCentres = [4][6]float64{
		{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886}, {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
		{0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650}, {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}}
)
