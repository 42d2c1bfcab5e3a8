package lab

import (
	"math"
	"slices"
)

// Curves are a run at some of its rounds: small enough to keep.
type Curves struct {
	Seed    uint64
	Rounds  []int
	Optimum float64 // f* of the last round, among the points that could be played
	// Values has, for each of Quantities, one entry a round kept.
	Values map[string][]float64
	Points [][]float64 // chosen in the rounds kept
}

// Quantity is a number that a run has after every round.
type Quantity struct {
	Name  string
	Title string
	of    func(r *Run, i int) float64
}

// Quantities are what records keep, sums over rounds 1..t except for the multiplier.
var Quantities = []Quantity{
	{"regret", "regret", func(r *Run, i int) float64 { return r.Regret[i] }},
	{"positive", "positive part of regret", func(r *Run, i int) float64 { return r.Positive[i] }},
	{"hard", "hard violation", func(r *Run, i int) float64 { return r.Hard[i] }},
	{"soft", "soft violation", func(r *Run, i int) float64 { return r.Soft[i] }},
	{"balance", "sum of g", func(r *Run, i int) float64 { return r.Balance[i] }},
	{"violated", "rounds in violation", func(r *Run, i int) float64 { return float64(r.Violated[i]) }},
	{"utility", "sum of f", func(r *Run, i int) float64 { return r.Utility[i] }},
	{"multiplier", "largest multiplier", func(r *Run, i int) float64 { return largest(r.Multipliers[i]) }},
}

func largest(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Max(v)
}

// keptRounds is about how many rounds a record keeps.
const keptRounds = 200

// Kept lists the rounds that records of T rounds keep: evenly spaced, the first and the last among them.
func Kept(horizon int) []int {
	count := min(keptRounds, horizon)
	list := []int{1}
	for i := 1; i <= count; i++ {
		if t := i * horizon / count; t > list[len(list)-1] {
			list = append(list, t)
		}
	}
	return list
}

// Curves keeps some rounds of the run.
func (r *Run) Curves(seed uint64) *Curves {
	kept := &Curves{Seed: seed, Rounds: Kept(len(r.Regret)), Optimum: r.Optimum, Values: map[string][]float64{}}
	for _, t := range kept.Rounds {
		for _, q := range Quantities {
			kept.Values[q.Name] = append(kept.Values[q.Name], q.of(r, t-1))
		}
		kept.Points = append(kept.Points, r.Points[t-1])
	}
	return kept
}

// Series is a quantity over the rounds kept: the mean over seeds and its standard error (0 for a single seed).
type Series struct{ Mean, Error []float64 }

// Summarise averages a quantity over records of equal rounds. Averaged divides it by t first.
func Summarise(records []*Curves, quantity string, averaged bool) Series {
	var s Series
	for i := range records[0].Rounds {
		var values []float64
		for _, r := range records {
			v := r.Values[quantity][i]
			if averaged {
				v /= float64(r.Rounds[i])
			}
			values = append(values, v)
		}
		mean, standardError := meanAndError(values)
		s.Mean, s.Error = append(s.Mean, mean), append(s.Error, standardError)
	}
	return s
}

// meanAndError is the mean and its standard error, √(Σ(v − mean)²/(n(n − 1))).
func meanAndError(values []float64) (mean, standardError float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	if n < 2 {
		return mean, 0
	}
	for _, v := range values {
		standardError += square(v - mean)
	}
	return mean, math.Sqrt(standardError / (n * (n - 1)))
}
