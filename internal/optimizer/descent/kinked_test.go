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

func TestScan(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 4, 6} {
		for _, kinks := range []int{0, 1, 2, 4} {
			worse, total, most := 0, 0, 0
			worst := 0.0
			for range 200 {
				k := randomKinked(random, n, kinks)
				start, low, high := make([]float64, n), make([]float64, n), make([]float64, n)
				for i := range start {
					start[i], high[i] = random.Float64(), 1
				}
				d := descent.NewKinked(start, low, high, descent.Limits{Least: 1e-13, Steps: 200, First: 0.05, Longest: 0.25})
				asked := 0
				for x := d.Next(); x != nil; x = d.Next() {
					value, local := k.at(x)
					d.Tell(value, func() descent.Local { return local })
					asked++
				}
				x, value := d.Best()
				total += asked
				most = max(most, asked)
				// no better nearby
				better := 0.0
				for r := 1e-2; r > 1e-7; r /= 2 {
					for range 30 * n {
						y := make([]float64, n)
						for i := range y {
							y[i] = min(max(x[i]+r*random.NormFloat64(), 0), 1)
						}
						v, _ := k.at(y)
						better = max(better, value-v)
					}
				}
				if better > 1e-9*max(1, math.Abs(value)) {
					worse++
					worst = max(worst, better)
				}
			}
			t.Logf("n=%d kinks=%d: mean asked %.1f most %d, %d not lowest, worst %.2g", n, kinks, float64(total)/200, most, worse, worst)
		}
	}
}
