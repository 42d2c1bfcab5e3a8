package descent_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/optimizer/descent"
)

// kinked is a random function f + Σ p [h]⁺ on the unit cube: f a bent bowl, h bent as well.
type kinked struct {
	centre  []float64
	stretch [][]float64
	of      []hinge
}

type hinge struct {
	price, level, bend float64
	across, centre     []float64
}

func randomKinked(random *rand.Rand, n, kinks int) kinked {
	vector := func() []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = random.Float64()
		}
		return v
	}
	k := kinked{centre: vector()}
	for range n {
		row := vector()
		for i := range row {
			row[i] = 2*row[i] - 1
		}
		k.stretch = append(k.stretch, row)
	}
	for range kinks {
		h := hinge{price: math.Exp(3 * random.NormFloat64()), level: 0.2 * random.NormFloat64(), bend: random.NormFloat64(), across: vector(), centre: vector()}
		for i := range h.across {
			h.across[i] = 2*h.across[i] - 1
		}
		k.of = append(k.of, h)
	}
	return k
}

func (k kinked) at(x []float64) (float64, descent.Local) {
	l := descent.Local{Gradient: make([]float64, len(x))}
	value := 0.0
	for r, row := range k.stretch {
		t := 0.0
		for i, v := range row {
			t += v * (x[i] - k.centre[i])
		}
		t *= 1 + float64(r)
		value += math.Log(1 + t*t)
		for i, v := range row {
			l.Gradient[i] += 2 * t / (1 + t*t) * v * (1 + float64(r))
		}
	}
	for _, h := range k.of {
		kink := descent.Kink{Price: h.price, Height: h.level, Slopes: make([]float64, len(x))}
		for i, v := range h.across {
			e := x[i] - h.centre[i]
			kink.Height += v*e + h.bend*e*e
			kink.Slopes[i] = v + 2*h.bend*e
		}
		value += h.price * max(kink.Height, 0)
		l.Kinks = append(l.Kinks, kink)
	}
	return value, l
}

// followKinks works a descent out and counts the values asked for.
func followKinks(d *descent.Kinked, at func(x []float64) (float64, descent.Local)) (asked int) {
	for x := d.Next(); x != nil; x = d.Next() {
		asked++
		value, local := at(x)
		d.Tell(value, func() descent.Local { return local })
	}
	return asked
}

var closely = descent.Limits{Least: 1e-13, Steps: 60, First: 0.05, Longest: 0.25}

// lowerNear is by how much a function is lower somewhere near a point.
func lowerNear(random *rand.Rand, k kinked, x []float64, value float64) float64 {
	most := 0.0
	for r := 1e-3; r > 1e-7; r /= 2 {
		for range 20 * len(x) {
			y := make([]float64, len(x))
			for i := range y {
				y[i] = min(max(x[i]+r*random.NormFloat64(), 0), 1)
			}
			v, _ := k.at(y)
			most = max(most, value-v)
		}
	}
	return most
}

// TestKinkedEndsWhereNothingIsLower follows random functions, bent up or down, of which it may
// leave one in fifty to the polls that certify a search.
func TestKinkedEndsWhereNothingIsLower(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 4, 6} {
		for _, kinks := range []int{0, 1, 2, 4} {
			lower, asked := 0, 0
			for range 100 {
				k := randomKinked(random, n, kinks)
				start, low, high := make([]float64, n), make([]float64, n), make([]float64, n)
				for i := range start {
					start[i], high[i] = random.Float64(), 1
				}
				d := descent.NewKinked(start, low, high, closely)
				asked += followKinks(d, k.at)
				x, value := d.Best()
				if lowerNear(random, k, x, value) > 1e-8*max(1, value) {
					lower++
				}
			}
			if lower > 2 || asked > 100*(12+6*n) {
				t.Errorf("%d coordinates, %d kinks: %d of 100 have something lower near; %d values on average", n, kinks, lower, asked/100)
			}
		}
	}
}

// valley is (1 − x)² + 10·|y − x²|, whose lowest points beside (1, 1) lie on a bent kink; with z
// free to move and w not.
func valley(x []float64) (float64, descent.Local) {
	across := x[1] - x[0]*x[0]
	up := descent.Kink{Price: 10, Height: across, Slopes: []float64{-2 * x[0], 1, 0}}
	down := descent.Kink{Price: 10, Height: -across, Slopes: []float64{2 * x[0], -1, 0}}
	value := (1-x[0])*(1-x[0]) + 10*math.Abs(across) + x[2]
	return value, descent.Local{Gradient: []float64{2 * (x[0] - 1), 0, 1}, Kinks: []descent.Kink{up, down}}
}

func TestKinkedMovesAlongABentKink(t *testing.T) {
	t.Parallel()
	d := descent.NewKinked([]float64{-1, 1, 0.3}, []float64{-2, -2, 0.3}, []float64{2, 2, 0.3}, closely)
	asked := followKinks(d, valley)
	x, value := d.Best()
	if math.Abs(x[0]-1) > 1e-6 || math.Abs(x[1]-1) > 1e-6 || math.Abs(value-0.3) > 1e-12 || x[2] != 0.3 {
		t.Errorf("it ends at %v with %g", x, value)
	}
	if asked > 60 {
		t.Errorf("it asks for %d values", asked)
	}
	d = descent.NewKinked([]float64{-1, 1, 0.3}, []float64{-2, -2, 0}, []float64{0.5, 2, 1}, closely)
	followKinks(d, valley)
	if x, _ = d.Best(); x[0] != 0.5 || math.Abs(x[1]-0.25) > 1e-12 || x[2] != 0 {
		t.Errorf("between bounds it ends at %v", x)
	}
}

func TestKinkedGoesOnWhereItRested(t *testing.T) {
	t.Parallel()
	short := closely
	short.Least = 0.1
	d := descent.NewKinked([]float64{-1, 1, 0.3}, []float64{-2, -2, 0.3}, []float64{2, 2, 0.3}, short)
	first := followKinks(d, valley)
	_, rested := d.Best()
	d.Resume(closely.Least)
	if second := followKinks(d, valley); second == 0 || rested < 0.301 {
		t.Errorf("%d values to %g, and %d more", first, rested, second)
	}
	if _, value := d.Best(); math.Abs(value-0.3) > 1e-12 {
		t.Errorf("it ends at %g", value)
	}
}

func TestKinkedGoesAroundWhatHasNoValue(t *testing.T) {
	t.Parallel()
	wall := func(x []float64) (float64, descent.Local) {
		local := descent.Local{Gradient: []float64{-1}}
		if x[0] > 0.3 {
			return math.Inf(1), local
		}
		return -x[0], local
	}
	d := descent.NewKinked([]float64{0}, []float64{0}, []float64{1}, closely)
	followKinks(d, wall)
	if at, _ := d.Best(); at[0] > 0.3 || at[0] < 0.2999 {
		t.Errorf("a wall at 0.3 stops it at %v", at)
	}
	d = descent.NewKinked([]float64{0.5}, []float64{0}, []float64{1}, closely)
	if asked := followKinks(d, wall); asked != 1 {
		t.Errorf("%d values were asked for from a start without one", asked)
	}
}
