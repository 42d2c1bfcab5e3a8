package problems

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"headroom/internal/lists"
)

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
			Axes: axesUpTo(6, "x", "y"), Limits: []string{"c"},
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
			Axes: axesUpTo(1, "x1", "x2"), Limits: []string{"wave", "disk"},
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
			Axes: axesUpTo(1, "x1", "x2", "x3", "x4", "x5", "x6"), Limits: []string{"norm"},
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

var engineeringProblems = []Problem{
	{Name: "pressure-vessel", Horizon: 200, Source: "Coello, Montes (2002), problem 3",
		Summary: "cost of a vessel, four limits, two thicknesses in steps of 1/16 inch",
		in: Instance{
			Axes: []Axis{{"shell", 0.0625, 6.1875, 0.0625}, {"head", 0.0625, 6.1875, 0.0625},
				{"radius", 10, 200, 0}, {"length", 10, 200, 0}},
			Limits: []string{"shell stress", "head stress", "volume", "length limit"},
			Reward: func(_ int, x []float64) float64 {
				return -(0.6224*x[0]*x[2]*x[3] + 1.7781*x[1]*x[2]*x[2] + 3.1661*x[0]*x[0]*x[3] + 19.84*x[0]*x[0]*x[2])
			},
			Costs: func(_ int, x, g []float64) {
				g[0] = 0.0193*x[2] - x[0]
				g[1] = 0.00954*x[2] - x[1]
				g[2] = 1_296_000 - math.Pi*x[2]*x[2]*x[3] - 4./3*math.Pi*x[2]*x[2]*x[2]
				g[3] = x[3] - 240
			},
			Optima: []Optimum{{1, -6059.714335, []float64{0.8125, 0.4375, 42.0984455958, 176.6365958424}}},
			Safe:   [][]float64{{2, 2, 80, 150}},
		}},
	{Name: "speed-reducer", Horizon: 200, Source: "Golinski (1970); Mezura-Montes, Coello (2005)",
		Summary: "weight of a gearbox, seven parameters, eleven limits",
		in: Instance{
			Axes: []Axis{{"face width", 2.6, 3.6, 0}, {"module", 0.7, 0.8, 0}, {"teeth", 17, 28, 1}, {"length 1", 7.3, 8.3, 0},
				{"length 2", 7.3, 8.3, 0}, {"diameter 1", 2.9, 3.9, 0}, {"diameter 2", 5, 5.5, 0}},
			Limits: []string{"bending", "surface", "deflection 1", "deflection 2", "stress 1", "stress 2", "pitch", "width least", "width most", "shaft 1", "shaft 2"},
			Reward: func(_ int, x []float64) float64 {
				return -(0.7854*x[0]*x[1]*x[1]*(3.3333*x[2]*x[2]+14.9334*x[2]-43.0934) - 1.508*x[0]*(x[5]*x[5]+x[6]*x[6]) +
					7.4777*(math.Pow(x[5], 3)+math.Pow(x[6], 3)) + 0.7854*(x[3]*x[5]*x[5]+x[4]*x[6]*x[6]))
			},
			Costs: func(_ int, x, g []float64) {
				g[0] = 27/(x[0]*x[1]*x[1]*x[2]) - 1
				g[1] = 397.5/(x[0]*x[1]*x[1]*x[2]*x[2]) - 1
				g[2] = 1.93*math.Pow(x[3], 3)/(x[1]*x[2]*math.Pow(x[5], 4)) - 1
				g[3] = 1.93*math.Pow(x[4], 3)/(x[1]*x[2]*math.Pow(x[6], 4)) - 1
				g[4] = math.Sqrt(square(745*x[3]/(x[1]*x[2]))+16.9e6)/(110*math.Pow(x[5], 3)) - 1
				g[5] = math.Sqrt(square(745*x[4]/(x[1]*x[2]))+157.5e6)/(85*math.Pow(x[6], 3)) - 1
				g[6] = x[1]*x[2]/40 - 1
				g[7] = 5*x[1]/x[0] - 1
				g[8] = x[0]/(12*x[1]) - 1
				g[9] = (1.5*x[5]+1.9)/x[3] - 1
				g[10] = (1.1*x[6]+1.9)/x[4] - 1
			},
			Optima: []Optimum{{1, -2994.471066, []float64{3.5, 0.7, 17, 7.3, 7.715319911, 3.350214666, 5.286654465}}},
			Safe:   [][]float64{{3.55, 0.7, 17, 7.9, 8, 3.6, 5.4}},
		}},
	{Name: "tension-spring", Horizon: 200, Source: "Coello, Montes (2002), problem 2",
		Summary: "weight of a spring, three parameters, four limits of very different steepness",
		in: Instance{
			Axes:   []Axis{{"wire", 0.05, 2, 0}, {"coil", 0.25, 1.3, 0}, {"turns", 2, 15, 0}},
			Limits: []string{"deflection", "shear", "surge", "outer diameter"},
			Reward: func(_ int, x []float64) float64 { return -(x[2] + 2) * x[1] * x[0] * x[0] },
			Costs: func(_ int, x, g []float64) {
				d, D, n := x[0], x[1], x[2]
				g[0] = 1 - D*D*D*n/(71785*d*d*d*d)
				g[1] = (4*D*D-d*D)/(12566*(D*d*d*d-d*d*d*d)) + 1/(5108*d*d) - 1
				g[2] = 1 - 140.45*d/(D*D*n)
				g[3] = (d+D)/1.5 - 1
			},
			Optima: []Optimum{{1, -0.0126652328, []float64{0.0516890614, 0.3567177470, 11.2889653}}},
			Safe:   [][]float64{{0.055, 0.4, 11}},
		}},
	// A bar of length L welded to a wall, loaded by P at its end: weld thickness h and length l,
	// bar height t and thickness b, in inches.
	{Name: "welded-beam", Horizon: 200, Source: "Rao (1996); Coello, Montes (2002), problem 1",
		Summary: "cost of a beam, four parameters, seven limits in units from inches to pounds per square inch",
		in: Instance{
			Axes:   []Axis{{"weld thickness", 0.1, 2, 0}, {"weld length", 0.1, 10, 0}, {"bar height", 0.1, 10, 0}, {"bar thickness", 0.1, 2, 0}},
			Limits: []string{"shear stress", "bending stress", "side", "weld cost", "least weld", "deflection", "buckling load"},
			Reward: func(_ int, x []float64) float64 {
				return -(1.10471*x[0]*x[0]*x[1] + 0.04811*x[2]*x[3]*(14+x[1]))
			},
			Costs: func(_ int, x, g []float64) {
				h, l, t, b := x[0], x[1], x[2], x[3]
				radius := math.Sqrt(l*l/4 + square((h+t)/2))
				moment := load * (length + l/2)
				polar := 2 * math.Sqrt2 * h * l * (l*l/12 + square((h+t)/2))
				primary, torsion := load/(math.Sqrt2*h*l), moment*radius/polar
				g[0] = math.Sqrt(primary*primary+primary*torsion*l/radius+torsion*torsion) - 13_600
				g[1] = 6*load*length/(b*t*t) - 30_000
				g[2] = h - b
				g[3] = 0.10471*h*h + 0.04811*t*b*(14+l) - 5
				g[4] = 0.125 - h
				g[5] = 4*load*math.Pow(length, 3)/(young*t*t*t*b) - 0.25
				g[6] = load - 4.013*young*math.Sqrt(t*t*math.Pow(b, 6)/36)/(length*length)*(1-t/(2*length)*math.Sqrt(young/(4*shear)))
			},
			Optima: []Optimum{{1, -1.7248523086, []float64{0.205729639786, 3.470488665628, 9.036623910358, 0.205729639786}}},
			Safe:   [][]float64{{0.3, 4, 9, 0.35}},
		}},
}

// Constants of the welded beam: P in lb, L in inches, E and G in psi.
const load, length, young, shear = 6000, 14, 30e6, 12e6

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

// phase has f and g from a round on.
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

var sineNoise = []Noise{Gaussian(0.05), Gaussian(0.05)}

// sine returns a problem whose functions change from phase to phase, with readings of a mean delay.
func sine(noise []Noise, delay float64, phases ...phase) Instance {
	at := func(t int) phase {
		for _, p := range slices.Backward(phases) {
			if p.optimum.From <= t {
				return p
			}
		}
		return phases[0]
	}
	in := Instance{
		Axes: axesUpTo(6, "x1", "x2"), Limits: []string{"g"},
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
	independent     = -1.0 // in place of share: g is drawn by itself
	rkhsSlack       = 0.1  // least distance, as a share of B, by which some arm keeps the limit
	rkhsSafe        = 5    // number of safe seeds: the arms furthest within the limit
	rkhsTries       = 1000 // most draws in search of such functions
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
	in.Arms = lists.Of(len(f), func(i int) []float64 { return []float64{rkhsPoint(i)} })
	return in
}

func rkhsPoint(i int) float64 { return float64(i) / (rkhsArms - 1) }

// rkhsArm returns the index of the nearest arm: a study that the problem answers may have other
// settings.
func rkhsArm(x []float64) int {
	return int(math.Round(min(max(x[0], 0), 1) * (rkhsArms - 1)))
}

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

var systemProblems = []Problem{
	// Its optimum lies on the budget; it was found by nested search over the sigmoid servers'
	// rates, the logarithmic ones following from equal marginal utility per cost.
	{Name: "rate-allocation", Horizon: 350, Source: "Shi, Eryilmaz (2022), section E.2: data rates of four servers; constants reconstructed",
		Summary: "four data rates, utility against an electricity budget",
		in: Instance{
			Axes: axesUpTo(2, "server1", "server2", "server3", "server4"), Limits: []string{"electricity"},
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
			Axes: axesUpTo(1, "node1", "node2"), Limits: []string{"queue"},
			Reward: func(_ int, x []float64) float64 { return -x[0]*x[0] - x[1]*x[1]/2 },
			Costs:  func(_ int, x, g []float64) { g[0] = arrivals - jobsServed(x) },
			Given: &KnownCosts{
				Number: "arrivals", Forms: []string{"arrivals - 3*node1 - 2*node2"},
				Draw:  func(random *rand.Rand) float64 { return float64(Poisson(random, arrivals)) },
				Costs: func(jobs float64, x, g []float64) { g[0] = jobs - jobsServed(x) },
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

// arrivals is the mean number of jobs in a round.
const arrivals = 2.0

func jobsServed(x []float64) float64 { return 3*x[0] + 2*x[1] }

// Mixture returns the value of the best mixture of arms in round t, E_π* f of Zhou and Ji (2022,
// Section 2), with which their regret R₊ compares: the linear program
//
//	max Σ_i π_i f(x_i)   over   π ≥ 0, Σ_i π_i = 1, Σ_i π_i g_j(x_i) ≤ 0 for all j,
//
// solved by the simplex method. It is at least the value of the best arm within the limits, and
// needs at most one arm more than there are limits. Some arm has to be within all limits.
func (in *Instance) Mixture(t int) (float64, error) {
	best, err := in.bestArm(t)
	if err != nil {
		return 0, err
	}
	n, m := len(in.Arms), len(in.Limits)
	share, loss := mat.NewDense(1+m, n+m, nil), make([]float64, n+m)
	total, basis := make([]float64, 1+m), []int{0}
	total[0] = 1
	for i, x := range in.Arms {
		loss[i] = best.Value - in.Reward(t, x)
		share.Set(0, i, 1)
		for j, g := range in.CostsAt(t, x) {
			share.Set(1+j, i, g)
		}
		if slices.Equal(x, best.Point) {
			basis[0] = i
		}
	}
	for j := range m {
		row := share.RawRowView(1 + j)
		// In units of the median |g|: by the largest one, arms near the limit would all look alike.
		sizes := lists.Pick(row[:n], func(g float64) (float64, bool) { return math.Abs(g), g != 0 })
		if slices.Sort(sizes); len(sizes) > 0 {
			floats.Scale(1/sizes[len(sizes)/2], row[:n])
		}
		row[n+j] = 1 // slack
		basis = append(basis, n+j)
	}
	gain, _, err := lp.Simplex(loss, share, total, 0, basis)
	if err != nil {
		return 0, fmt.Errorf("the best mixture of %d arms: %w", n, err)
	}
	return best.Value + math.Max(-gain, 0), nil
}
