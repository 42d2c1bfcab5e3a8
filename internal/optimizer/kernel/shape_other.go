//go:build !amd64

package kernel

func squaredDistances(dst, x, inverse, ys []float64, stride int) {
	squaredDistancesGo(dst, x, inverse, ys, stride)
}

func shape(form form, values []float64, variance float64) { shapeGo(form, values, variance) }
