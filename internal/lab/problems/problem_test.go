package problems

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/must"
	"headroom/internal/optimizer/gp"
	"headroom/internal/optimizer/kernel"
)

func instance(t testing.TB, name string, seed uint64) *Instance {
	t.Helper()
	p := must.Get(Find(name))(t)
	return must.Get(p.New(seed, nil, nil))(t)
}

// published are the optima of the literature, in the problem's phases; the reward is maximised.
var published = map[string][]float64{
	"sine-pocket": {-0.253236}, "sine-pocket-delayed": {-0.253236}, "sine-pocket-drift": {-0.253236, 0.670345, -0.677458},
	"branin": {-0.397887}, "gardner-1": {2}, "gardner-2": {-0.253236}, "hartmann6": {3.32237},
	"pressure-vessel": {-6059.714335}, "speed-reducer": {-2994.471066}, "tension-spring": {-0.012665233},
	"welded-beam": {-1.724852}, "gramacy": {-0.599788}, "queue": {-4. / 17},
}

// TestOptima checks that every optimum is reached at its point, lies within the limits and, where
// it is published, is the published one.
func TestOptima(t *testing.T) {
	t.Parallel()
	for _, p := range Menu() {
		in := instance(t, p.Name, 1)
		for i, o := range in.Optima {
			if got := in.Reward(o.From, o.Point); math.Abs(got-o.Value) > 1e-6*math.Max(1, math.Abs(o.Value)) {
				t.Errorf("%s: the reward at the optimum is %v, not %v", p.Name, got, o.Value)
			}
			for j, g := range in.CostsAt(o.From, o.Point) {
				if g > 2e-5 { // published points are rounded
					t.Errorf("%s: limit %s is passed by %v at the optimum", p.Name, in.Limits[j], g)
				}
			}
			for k, a := range in.Axes {
				if o.Point[k] < a.Low || o.Point[k] > a.High {
					t.Errorf("%s: the optimum's %s is out of range", p.Name, a.Name)
				}
			}
			if want := published[p.Name]; want != nil && math.Abs(o.Value-want[i]) > 1e-5*math.Max(0.1, math.Abs(want[i])) {
				t.Errorf("%s: the optimum is %v, published %v", p.Name, o.Value, want[i])
			}
		}
		for _, x := range in.Safe {
			if !Within(in.CostsAt(1, x)) {
				t.Errorf("%s: %v is no safe seed", p.Name, x)
			}
		}
	}
}

// TestNoBetterPoint searches for points better than the optimum: on dense grids where there are few
// parameters, else by random moves from the optimum and from anywhere.
func TestNoBetterPoint(t *testing.T) {
	t.Parallel()
	for _, p := range Menu() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			in := instance(t, p.Name, 1)
			for _, o := range in.Optima {
				best := densest(t, in, o)
				slack := 1e-4 * math.Max(0.1, math.Abs(o.Value))
				if best > o.Value+slack {
					t.Errorf("a point within the limits reaches %v, the optimum is %v", best, o.Value)
				}
				if len(in.Axes) <= 2 && best < o.Value-0.05*math.Max(1, math.Abs(o.Value)) {
					t.Errorf("a dense grid only reaches %v, the optimum is %v", best, o.Value)
				}
			}
		})
	}
}

func densest(t *testing.T, in *Instance, o Optimum) float64 {
	t.Helper()
	if in.Arms != nil {
		best := must.Get(in.bestArm(o.From))(t)
		return best.Value
	}
	if len(in.Axes) <= 2 {
		grid := must.Get(in.Grid(301))(t)
		return grid.Optimum(o.From).Value
	}
	return wandering(in, o)
}

// wandering keeps the best point within the limits among random moves of many sizes from the
// optimum, and from random points.
func wandering(in *Instance, o Optimum) float64 {
	random := rand.New(rand.NewPCG(5, 0))
	best := math.Inf(-1)
	for i := range 40_000 {
		x := append([]float64(nil), o.Point...)
		size := math.Pow(10, -4*random.Float64())
		for k, a := range in.Axes {
			if i%2 == 0 {
				x[k] += size * (a.High - a.Low) * random.NormFloat64() * float64(random.IntN(2))
			} else {
				x[k] = a.Low + random.Float64()*(a.High-a.Low)
			}
			if a.Step > 0 {
				x[k] = a.Low + a.Step*math.Round((x[k]-a.Low)/a.Step)
			}
			x[k] = math.Min(math.Max(x[k], a.Low), a.High)
		}
		if f := in.Reward(o.From, x); f > best && Within(in.CostsAt(o.From, x)) {
			best = f
		}
	}
	return best
}

// TestGridOptimum compares the 61×61 grid's best point with the published −0.300.
func TestGridOptimum(t *testing.T) {
	t.Parallel()
	grid := must.Get(instance(t, "sine-pocket", 1).Grid(61))(t)
	if got := grid.Optimum(1).Value; math.Abs(got+0.300) > 5e-4 {
		t.Errorf("the best grid point has reward %v, want −0.300", got)
	}
}

// TestNoise checks the moments and the bounds of every kind.
func TestNoise(t *testing.T) {
	t.Parallel()
	for _, kind := range NoiseKinds {
		noise := must.Get(NoiseOf(kind, 0.25))(t)
		random := rand.New(rand.NewPCG(1, 2))
		const n = 200_000
		sum, squares, extreme := 0.0, 0.0, 0.0
		for range n {
			v := noise.Draw(random, nil)
			sum += v
			squares += v * v
			extreme = math.Max(extreme, math.Abs(v))
		}
		tolerance := 0.01
		if kind == "student" {
			tolerance = 0.03 // its fourth moment is infinite
		}
		if math.Abs(sum/n) > 0.005 || math.Abs(squares/n-0.25) > tolerance {
			t.Errorf("%s: mean %v, variance %v", kind, sum/n, squares/n)
		}
		if kind == "uniform" && extreme > math.Sqrt(0.75) || kind == "student" && extreme < 5 {
			t.Errorf("%s: the largest of %d is %v", kind, n, extreme)
		}
	}
	if _, err := NoiseOf("purple", 1); err == nil || !strings.Contains(err.Error(), "gaussian") {
		t.Errorf("an unknown noise gives %v", err)
	}
}

func TestPoisson(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const n = 50_000
	sum, squares := 0.0, 0.0
	for range n {
		v := float64(Poisson(random, 15))
		sum += v
		squares += v * v
	}
	mean := sum / n
	if math.Abs(mean-15) > 0.1 || math.Abs(squares/n-mean*mean-15) > 0.5 {
		t.Errorf("mean %v, variance %v, want 15 and 15", mean, squares/n-mean*mean)
	}
}

// TestReadings writes the substitutes as CSV, reads them back and plays the same problem.
func TestReadings(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func() *Readings{"sensors": SubstituteSensors, "finance": SubstitutePrices} {
		var file bytes.Buffer
		must.Do(t, make().Write(&file))
		table := must.Get(ReadReadings(&file))(t)
		p, _ := Find(name)
		again := must.Get(p.New(1, table, nil))(t)
		in := instance(t, name, 1)
		if again.Optima[0].Value != in.Optima[0].Value || again.Matrix[2][1] != in.Matrix[2][1] {
			t.Errorf("%s: written and read again it is another problem", name)
		}
		for i := range in.Matrix {
			if in.Matrix[i][i] != 1 {
				t.Errorf("%s: arm %d has prior variance %v", name, i, in.Matrix[i][i])
			}
		}
	}
	for text, reason := range map[string]string{"": "header", "a,b\n1,x\n": `"x" is not a finite number`, "a,b\n1,NaN\n": "finite", "a,b\n1,2\n": "rows"} {
		if _, err := ReadReadings(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q gives %v", text, err)
		}
	}
}

// TestRKHS checks the two kinds of constraint: independent, and −f + h.
func TestRKHS(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		for name, sum := range map[string]bool{"rkhs-100": false, "rkhs-100-quarter": true, "rkhs-100-half": true} {
			in := instance(t, name, seed)
			total := func(x []float64) float64 { return in.Reward(1, x) + in.CostsAt(1, x)[0] }
			constant := math.Abs(total(in.Arms[10])-total(in.Arms[70])) < 1e-9
			if constant != sum {
				t.Errorf("%s, seed %d: f + g is constant: %v", name, seed, constant)
			}
		}
	}
	if a, b := instance(t, "rkhs-100", 1), instance(t, "rkhs-100", 2); a.Optima[0].Value == b.Optima[0].Value {
		t.Error("two seeds draw the same functions")
	}
}

// TestNorms works out lower bounds of the sine functions' norms in the kernel's space, √(yᵀK⁻¹y) on
// a grid of 16×16 points: what an honest B of the published confidence widths has to be at least.
func TestNorms(t *testing.T) {
	t.Parallel()
	grid := must.Get(instance(t, "sine-pocket", 1).Grid(16))(t)
	k := must.Get(kernel.New(grid.Kernel, []float64{grid.Lengthscale, grid.Lengthscale}, grid.Variance))(t)
	const jitter = 1e-6
	data := gp.NewData(k)
	var f, g []float64
	for _, x := range grid.Arms {
		must.Do(t, data.Append(x, jitter))
		f, g = append(f, grid.Reward(1, x)), append(g, grid.CostsAt(1, x)[0])
	}
	first, second := floats.Norm(data.Whiten(nil, f), 2), floats.Norm(data.Whiten(nil, g), 2)
	t.Logf("‖f‖ ≥ %.1f, ‖g‖ ≥ %.1f", first, second)
	if first < 15 || first > 16 || second < 4.5 || second > 4.8 {
		t.Errorf("the norms are at least %v and %v", first, second)
	}
}
