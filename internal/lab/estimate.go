package lab

import (
	"math"
	"slices"

	"headroom/internal/lists"
)

// Estimate is a mean over games with its standard error, s/√n, and the median. Games in which a
// figure has no meaning are left out; N counts the others.
type Estimate struct {
	Mean, Error, Median float64
	N                   int
}

// estimateOf estimates from one value a game.
func estimateOf(values []float64) Estimate {
	kept := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	e := Estimate{Mean: math.NaN(), Error: math.NaN(), Median: math.NaN(), N: len(kept)}
	if e.N == 0 {
		return e
	}
	n := float64(e.N)
	e.Mean = 0
	for _, v := range kept {
		e.Mean += v / n
	}
	if e.N > 1 && !math.IsInf(e.Mean, 0) {
		square := 0.0
		for _, v := range kept {
			square += (v - e.Mean) * (v - e.Mean)
		}
		e.Error = math.Sqrt(square / (n * (n - 1)))
	}
	slices.Sort(kept)
	low, high := kept[(e.N-1)/2], kept[e.N/2]
	if e.Median = low; high != low {
		e.Median = low + (high-low)/2
	}
	return e
}

// Paired estimates the difference a − b of games played from the same seeds, in the same order: the
// start rows and the noise, which they share, drop out of it.
func Paired(a, b []float64) Estimate {
	differences := make([]float64, len(a))
	for i := range a {
		differences[i] = a[i] - b[i]
	}
	return estimateOf(differences)
}

// Over is the mean of independent estimates, one a problem, each of the same weight; its error is
// √(Σ s²) over their number. Problems where a figure has no meaning are left out.
func Over(estimates []Estimate) Estimate {
	kept := slices.DeleteFunc(slices.Clone(estimates), func(e Estimate) bool { return math.IsNaN(e.Mean) })
	var all Estimate
	square, n := 0.0, float64(len(kept))
	for _, e := range kept {
		all.N += e.N
		all.Mean += e.Mean / n
		all.Median += e.Median / n
		square += e.Error * e.Error
	}
	if n == 0 {
		return estimateOf(nil)
	}
	all.Error = math.Sqrt(square) / n
	return all
}

// along estimates step by step from lists of as many steps, one a game.
func along(games [][]float64) []Estimate {
	list := make([]Estimate, len(games[0]))
	for t := range list {
		list[t] = estimateOf(lists.Map(games, func(steps []float64) float64 { return steps[t] }))
	}
	return list
}

// mean is NaN of nothing.
func mean(values []float64) float64 { return sum(values) / float64(len(values)) }

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

func last(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return values[len(values)-1]
}

// deviation is the standard deviation of all there is.
func deviation(of []float64) float64 {
	mean, square := 0.0, 0.0
	for i, v := range of {
		step := v - mean
		mean += step / float64(i+1)
		square += step * (v - mean)
	}
	return math.Sqrt(square / float64(max(1, len(of))))
}
