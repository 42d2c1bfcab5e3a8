package kernel

var shapes = [...]func(values []float64, variance float64){
	squaredExponential: squaredExponentialGo,
	matern12:           matern12Go,
	matern32:           matern32Go,
	matern52:           matern52Go,
}

func squaredDistances(dst, x, inverse, ys []float64) { squaredDistancesGo(dst, x, inverse, ys) }
