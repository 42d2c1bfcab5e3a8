package lab

import (
	"math"
	"math/rand/v2"

	"headroom/internal/study/design"
)

// surface is a random smooth function of settings in unit coordinates (a category's being its index),
//
//	f(u) = Σ_w h_w cos(φ_w + Σ_k a_wk(u_k)),
//
// where a_wk is linear in a number and any value of a category. The first waves depend on one parameter each and are the highest, as main effects are in
// most laboratories; at most matters parameters have an influence.
type surface struct{ waves []wave }

type wave struct {
	height, phase float64
	slopes        []float64
	offsets       [][]float64 // of categories; nil for numbers
}

const (
	matters      = 6
	mainWaves    = 8
	jointWaves   = 8
	mainHeight   = 1.5
	mainSlope    = 3
	jointSlope   = 1.5
	mainOffset   = 1.2
	jointOffsets = 0.5
)

func newSurface(parameters []design.Parameter, random *rand.Rand) surface {
	order := random.Perm(len(parameters)) // by importance
	order = order[:min(matters, len(order))]
	var s surface
	for i := range mainWaves {
		s.waves = append(s.waves, newWave(parameters, order[i%len(order):i%len(order)+1], mainHeight, mainSlope, mainOffset, random))
	}
	for range jointWaves {
		s.waves = append(s.waves, newWave(parameters, order, 1, jointSlope, jointOffsets, random))
	}
	return s
}

// newWave depends on the parameters in on.
func newWave(parameters []design.Parameter, on []int, height, slope, offset float64, random *rand.Rand) wave {
	w := wave{
		height: height * random.NormFloat64(), phase: 2 * math.Pi * random.Float64(),
		slopes: make([]float64, len(parameters)), offsets: make([][]float64, len(parameters)),
	}
	for _, k := range on {
		w.slopes[k] = slope * random.NormFloat64()
		for range parameters[k].Choices {
			w.offsets[k] = append(w.offsets[k], offset*random.NormFloat64())
		}
	}
	return w
}

func (s surface) at(u []float64) float64 {
	sum := 0.0
	for _, w := range s.waves {
		angle := w.phase
		for k, x := range u {
			if w.offsets[k] != nil {
				angle += w.offsets[k][int(x)]
			} else {
				angle += w.slopes[k] * x
			}
		}
		sum += w.height * math.Cos(angle)
	}
	return sum
}

// standardised are the values at points, with mean 0 and standard deviation 1.
func standardised(points [][]float64, s surface) []float64 {
	values := make([]float64, len(points))
	truths := make([]Values, len(points))
	for i, u := range points {
		values[i] = s.at(u)
		truths[i] = Values{"": values[i]}
	}
	centre, size := mean(values), spread([]string{""}, truths)[""]
	for i := range values {
		values[i] = (values[i] - centre) / size
	}
	return values
}
