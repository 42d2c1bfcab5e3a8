package optimizer

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Posterior bands are those of a Student-t distribution where a fit says so: hyperparameters are
// estimated from few readings, and a normal band around them promises too much.

func student(freedom float64) distuv.StudentsT {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
}

// half is the half width, in standard deviations, of the central interval that holds this share of
// a Student-t distribution with so many degrees of freedom, 0 standing for a normal one.
func half(share, freedom float64) float64 {
	if freedom == 0 {
		return math.Sqrt2 * math.Erfinv(share)
	}
	return student(freedom).Quantile((1 + share) / 2)
}

// below is P(X ≤ 0) for X = mean + sd·T, T being Student-t with so many degrees of freedom, normal
// for 0.
func below(mean, sd, freedom float64) float64 {
	switch {
	case sd == 0 && mean <= 0:
		return 1
	case sd == 0:
		return 0
	case freedom == 0:
		return 0.5 * math.Erfc(mean/(sd*math.Sqrt2))
	}
	return student(freedom).CDF(-mean / sd)
}

// above is P(X > 0) of the same X, to full precision where it is small.
func above(mean, sd, freedom float64) float64 {
	if sd == 0 {
		return 1 - below(mean, sd, freedom)
	}
	return below(-mean, sd, freedom)
}
