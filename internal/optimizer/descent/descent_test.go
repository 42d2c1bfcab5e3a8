package descent_test

import (
	"math"
	"testing"

	"headroom/internal/optimizer/descent"
)

var limits = descent.Limits{Flat: 1e-8, Steps: 200, First: 0.1, Longest: 0.5}

// follow works a descent out and counts the values asked for. It asks for gradients where it says so.
func follow(t *testing.T, d *descent.Descent, value func(x []float64) float64, gradient func(x []float64) []float64) (asked int) {
	t.Helper()
	for x := d.Next(); x != nil; x = d.Next() {
		asked++
		wants, told := d.Wants(value(x)), false
		d.Tell(value(x), func() descent.Local { told = true; return descent.Local{Gradient: gradient(x)} })
		if wants != told {
			t.Errorf("at %v, value number %d, it wants a gradient: %v; it asks: %v", x, asked, wants, told)
		}
	}
	return asked
}

// rosenbrock is (1 − x)² + 100 (y − x²)², a bent valley with its lowest point at (1, 1).
func rosenbrock(x []float64) float64 {
	return (1-x[0])*(1-x[0]) + 100*(x[1]-x[0]*x[0])*(x[1]-x[0]*x[0])
}

func rosenbrockSlopes(x []float64) []float64 {
	across := 200 * (x[1] - x[0]*x[0])
	return []float64{-2*(1-x[0]) - 2*x[0]*across, across}
}

func TestDescentFindsTheLowestPoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ start, low, high, want []float64 }{
		"inside":                 {[]float64{-1, 1}, []float64{-2, -2}, []float64{2, 2}, []float64{1, 1}},
		"at a bound":             {[]float64{-1, 1}, []float64{-2, -2}, []float64{0.5, 2}, []float64{0.5, 0.25}},
		"with one that is fixed": {[]float64{-1, 0}, []float64{-2, 0}, []float64{2, 0}, []float64{lowestAtZero, 0}},
	} {
		d := descent.New(c.start, c.low, c.high, limits)
		asked := follow(t, d, rosenbrock, rosenbrockSlopes)
		at, value := d.Best()
		if math.Abs(at[0]-c.want[0]) > 1e-6 || math.Abs(at[1]-c.want[1]) > 1e-6 || value != rosenbrock(at) {
			t.Errorf("%s: it ends at %v with %g, want %v", name, at, value, c.want)
		}
		if asked > 150 {
			t.Errorf("%s: it asks for %d values", name, asked)
		}
	}
}

// lowestAtZero is the x of the lowest point of (1 − x)² + 100 x⁴, a root of 400 x³ + 2x − 2.
const lowestAtZero = 0.161262023

func TestDescentGoesAroundWhatHasNoValue(t *testing.T) {
	t.Parallel()
	wall := func(x []float64) float64 {
		if x[0] > 0.3 {
			return math.Inf(1)
		}
		return -x[0]
	}
	d := descent.New([]float64{0}, []float64{0}, []float64{1}, limits)
	follow(t, d, wall, func([]float64) []float64 { return []float64{-1} })
	if at, _ := d.Best(); at[0] > 0.3 || at[0] < 0.2999 {
		t.Errorf("a wall at 0.3 stops it at %v", at)
	}
	d = descent.New([]float64{0.5}, []float64{0}, []float64{1}, limits)
	if asked := follow(t, d, wall, nil); asked != 1 {
		t.Errorf("%d values were asked for from a start without one", asked)
	}
	if at, _ := d.Best(); at != nil {
		t.Errorf("it found %v where nothing has a value", at)
	}
}

func TestDescentEndsWhereLittleIsGained(t *testing.T) {
	t.Parallel()
	short := limits
	short.Least = 1e-3
	far, near := descent.New([]float64{-1, 1}, []float64{-2, -2}, []float64{2, 2}, limits), descent.New([]float64{-1, 1}, []float64{-2, -2}, []float64{2, 2}, short)
	if all, few := follow(t, far, rosenbrock, rosenbrockSlopes), follow(t, near, rosenbrock, rosenbrockSlopes); few >= all {
		t.Errorf("%d values with a least gain, %d without", few, all)
	}
}
