// Package problems has test problems with known optima. It is pure: no input or output, no clock;
// the same seed draws the same problem everywhere.
//
// Every problem maximises a reward f(x) over x ∈ 𝒳 within the limits g_j(x) ≤ 0; a published
// minimisation is negated. Points are in the problem's own units.
package problems

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/kernel"
)

// Problem is one entry of the menu.
type Problem struct {
	Name    string
	Source  string // where it is published
	Summary string // what it tests, one sentence
	Horizon int    // T usually played
	// Substitute returns a replacement for the published table of readings that the arms come from;
	// nil if they come from none.
	Substitute func() *Readings

	in    Instance                                                        // if nothing is random
	build func(seed uint64, readings, prior *Readings) (*Instance, error) // otherwise
}

// Axis is one parameter of 𝒳.
type Axis struct {
	Name      string
	Low, High float64
	Step      float64 // values Low, Low + Step, …, High; 0 for a continuous parameter
}

// Optimum is the best point within the limits from a round on.
type Optimum struct {
	From  int
	Value float64
	Point []float64
}

// Instance is a problem with definite functions.
type Instance struct {
	Axes   []Axis
	Arms   [][]float64 // the only points that can be played, nil when 𝒳 is continuous
	Limits []string    // names of the constraints
	// Reward is f and Costs writes g_j to g, as they are in round t, without noise.
	Reward func(t int, x []float64) float64
	Costs  func(t int, x, g []float64)
	// Given, if not nil, has the constraint functions g_t, which are then known everywhere before
	// round t is chosen; their expectation is Costs.
	Given *KnownCosts
	Noise []Noise // of a reading: the reward's, then each cost's
	Delay float64 // mean of the Poisson distributed number of rounds until a reading arrives, each metric's by itself
	// Kernel, its lengthscale in units of 𝒳 and its variance are a model that suits the functions;
	// Matrix, if not nil, is the arms' prior covariance instead.
	Kernel      string
	Lengthscale float64
	Variance    float64
	Matrix      [][]float64
	Lambda      float64 // λ of every metric; 0 for its noise variance
	// Fitted: no model is known to suit, so outputs are standardised and hyperparameters fitted.
	Fitted bool
	Optima []Optimum   // in order of From
	Safe   [][]float64 // points known to be within the limits, for the algorithms that start from some
	Lab    *Laboratory // its names and units, nil if it has none
}

// KnownCosts are constraint functions that follow from one number, which is known before each
// round.
type KnownCosts struct {
	Number string   // its name
	Forms  []string // g_j as a formula of the number and the axes
	Draw   func(random *rand.Rand) float64
	Costs  func(number float64, x, g []float64) // writes g_j to g
}

// Menu lists every problem, in the order to offer them.
func Menu() []Problem { return menu }

var menu = slices.Concat(sineProblems, rkhsProblems, readingProblems, systemProblems, classicProblems, engineeringProblems, laboratoryProblems)

// Find returns the problem of that name; the error lists the names there are.
func Find(name string) (Problem, error) {
	var names []string
	for _, p := range menu {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Problem{}, fmt.Errorf("there is no problem %q; there are %s", name, strings.Join(names, ", "))
}

// New returns the problem's functions. The seed matters if they are random. readings are the table
// that they come from, nil for the substitute, and prior is the table of the prior covariance, nil
// for the same.
func (p Problem) New(seed uint64, readings, prior *Readings) (*Instance, error) {
	switch {
	case p.Substitute == nil && (readings != nil || prior != nil):
		return nil, fmt.Errorf("%s takes no table of readings", p.Name)
	case p.Substitute != nil && readings == nil:
		readings = p.Substitute()
	}
	if p.build != nil {
		return p.build(seed, readings, prior)
	}
	in := p.in
	if in.Kernel == "" {
		in.Kernel, in.Lengthscale, in.Fitted = "matern52", 1, true
	}
	in.Variance = 1
	if in.Noise == nil {
		in.Noise = slices.Repeat([]Noise{Noiseless()}, 1+len(in.Limits))
	}
	return &in, nil
}

func axesUpTo(high float64, names ...string) []Axis {
	return lists.Map(names, func(name string) Axis { return Axis{Name: name, High: high} })
}

// Optimum returns the best point within the limits in round t.
func (in *Instance) Optimum(t int) Optimum {
	for _, o := range slices.Backward(in.Optima) {
		if o.From <= t {
			return o
		}
	}
	return in.Optima[0]
}

// StandsStill reports whether a laboratory could have the problem: its functions do not change over
// the rounds, readings come at once, and it has no prior of its own.
func (in *Instance) StandsStill() bool {
	return in.Given == nil && in.Delay == 0 && in.Matrix == nil && len(in.Optima) == 1
}

// CostsAt returns g_j(x) in round t.
func (in *Instance) CostsAt(t int, x []float64) []float64 {
	g := make([]float64, len(in.Limits))
	in.Costs(t, x, g)
	return g
}

const largestGrid = 200_000

// Grid returns the instance on a grid of side points along each continuous parameter; stepped ones
// keep their steps. The optima are the best grid points.
func (in *Instance) Grid(side int) (*Instance, error) {
	if in.Arms != nil {
		return nil, fmt.Errorf("this problem has arms already; it takes no grid")
	}
	if side < 2 {
		return nil, fmt.Errorf("a grid needs at least 2 points along each parameter, not %d", side)
	}
	count, values := 1, make([][]float64, len(in.Axes))
	for i, a := range in.Axes {
		values[i] = a.values(side)
		if count *= len(values[i]); count > largestGrid {
			return nil, fmt.Errorf("a grid of %d points along each of %d parameters is larger than %d points; take fewer", side, len(in.Axes), largestGrid)
		}
	}
	grid := *in
	grid.Arms = Combinations(values)
	grid.Optima = nil
	for _, o := range in.Optima {
		best, err := grid.bestArm(o.From)
		if err != nil {
			return nil, err
		}
		grid.Optima = append(grid.Optima, best)
	}
	return &grid, nil
}

// Combinations returns all points with one of the values of each axis, the last axis varying first.
func Combinations(values [][]float64) [][]float64 {
	points := [][]float64{nil}
	for _, list := range values {
		var longer [][]float64
		for _, p := range points {
			for _, v := range list {
				longer = append(longer, append(slices.Clone(p), v))
			}
		}
		points = longer
	}
	return points
}

// Levels returns the number of values of a stepped parameter.
func (a Axis) Levels() int { return int(math.Round((a.High-a.Low)/a.Step)) + 1 }

func (a Axis) values(side int) []float64 {
	if a.Step > 0 {
		side = a.Levels()
	}
	return lists.Of(side, func(i int) float64 { return a.Low + (a.High-a.Low)*float64(i)/float64(side-1) })
}

func (in *Instance) bestArm(t int) (Optimum, error) {
	best := Optimum{From: t, Value: math.Inf(-1)}
	for _, x := range in.Arms {
		if f := in.Reward(t, x); f > best.Value && Within(in.CostsAt(t, x)) {
			best.Value, best.Point = f, x
		}
	}
	if best.Point == nil {
		return best, fmt.Errorf("no point that can be played is within the limits in round %d; take a finer grid", t)
	}
	return best, nil
}

// Within reports whether every limit is kept.
func Within(g []float64) bool {
	return !slices.ContainsFunc(g, func(v float64) bool { return v > 0 })
}

// safest returns at most count arms furthest within the limits in round 1.
func (in *Instance) safest(count int) [][]float64 {
	worst := func(x []float64) float64 { return slices.Max(in.CostsAt(1, x)) }
	within := slices.DeleteFunc(slices.Clone(in.Arms), func(x []float64) bool { return worst(x) > 0 })
	slices.SortStableFunc(within, func(a, b []float64) int { return cmp.Compare(worst(a), worst(b)) })
	return within[:min(count, len(within))]
}

// Prior returns the model that suits the functions.
func (in *Instance) Prior() (optimizer.Kernel, error) {
	k := optimizer.Kernel{Name: in.Kernel, Variance: in.Variance, Matrix: in.Matrix, Lengthscales: slices.Repeat([]float64{in.Lengthscale}, len(in.Axes))}
	if in.Matrix != nil {
		_, err := kernel.NewCovariance(in.Matrix, in.Variance)
		return k, err
	}
	_, err := kernel.New(k.Name, k.Lengthscales, k.Variance)
	return k, err
}

// Space returns 𝒳 in unit coordinates; the kernel sees the problem's own.
func (in *Instance) Space() optimizer.Space {
	var s optimizer.Space
	for _, a := range in.Axes {
		d := optimizer.Dim{Low: a.Low, High: a.High}
		if a.Step > 0 {
			d.Levels = a.Levels()
		}
		s.Dims = append(s.Dims, d)
	}
	for _, x := range in.Arms {
		s.Arms = append(s.Arms, in.Unit(x))
	}
	if in.Stepped() {
		s.Settle = func(u []float64) bool {
			for k, d := range s.Dims {
				if d.Levels > 0 {
					u[k] = math.Round(u[k]*float64(d.Levels-1)) / float64(d.Levels-1)
				}
			}
			return true
		}
	}
	return s
}

// Stepped reports whether a parameter has steps.
func (in *Instance) Stepped() bool {
	return slices.ContainsFunc(in.Axes, func(a Axis) bool { return a.Step > 0 })
}

// Unit maps a point to unit coordinates.
func (in *Instance) Unit(x []float64) []float64 {
	return lists.Of(len(x), func(k int) float64 { return (x[k] - in.Axes[k].Low) / (in.Axes[k].High - in.Axes[k].Low) })
}

// Point returns the point of a place.
func (in *Instance) Point(at optimizer.Place) []float64 {
	if at.Arm >= 0 {
		return in.Arms[at.Arm]
	}
	return lists.Of(len(at.U), func(k int) float64 { return in.Axes[k].Low + at.U[k]*(in.Axes[k].High-in.Axes[k].Low) })
}

// SafePlaces returns the places of the safe points; among arms, those of the nearest ones that are
// within the limits.
func (in *Instance) SafePlaces(s optimizer.Space) []optimizer.Place {
	var places []optimizer.Place
	for _, x := range in.Safe {
		at := optimizer.Place{U: in.Unit(x), Arm: -1}
		if in.Arms != nil {
			at.Arm = in.nearestArm(x)
			at.U = s.Arms[at.Arm]
		}
		if Within(in.CostsAt(1, in.Point(at))) {
			places = append(places, at)
		}
	}
	return places
}

func (in *Instance) nearestArm(x []float64) int {
	distances := make([]float64, len(in.Arms))
	for i, arm := range in.Arms {
		for k := range x {
			distances[i] += square(arm[k] - x[k])
		}
	}
	return floats.MinIdx(distances)
}

// Noise is what a reading adds to the true value; its mean is 0.
type Noise struct {
	Variance float64
	// Draw returns the noise of a reading at x. The number of draws from random does not depend on
	// x.
	Draw func(random *rand.Rand, x []float64) float64
}

// Noiseless returns noise that is 0.
func Noiseless() Noise {
	return Noise{0, func(*rand.Rand, []float64) float64 { return 0 }}
}

// Gaussian returns normal noise.
func Gaussian(variance float64) Noise {
	sd := math.Sqrt(variance)
	return Noise{variance, func(random *rand.Rand, _ []float64) float64 { return sd * random.NormFloat64() }}
}

// degreesOfFreedom is the number of degrees of freedom of heavy-tailed noise: the smallest integer
// with a finite variance.
const degreesOfFreedom = 3

// student returns noise with Student's t distribution with 3 degrees of freedom, scaled to the
// variance.
func student(variance float64) Noise {
	scale := math.Sqrt(variance * (degreesOfFreedom - 2) / degreesOfFreedom)
	return Noise{variance, func(random *rand.Rand, _ []float64) float64 {
		normal, square := random.NormFloat64(), 0.0
		for range degreesOfFreedom {
			n := random.NormFloat64()
			square += n * n
		}
		return scale * normal / math.Sqrt(square/degreesOfFreedom)
	}}
}

// uniform returns uniform noise on ±√(3·variance).
func uniform(variance float64) Noise {
	half := math.Sqrt(3 * variance)
	return Noise{variance, func(random *rand.Rand, _ []float64) float64 { return half * (2*random.Float64() - 1) }}
}

// NoiseKinds lists the names that NoiseOf knows: student has heavy tails, uniform is bounded.
var NoiseKinds = []string{"gaussian", "student", "uniform"}

// NoiseOf returns the noise of a named kind.
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
	limit, product := math.Exp(-mean), 1.0
	for count := 0; ; count++ {
		if product *= random.Float64(); product <= limit {
			return count
		}
	}
}
