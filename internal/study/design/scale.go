package design

import (
	"fmt"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/policy"
)

const (
	ScaleLinear = "linear"
	ScaleLog    = "log"
)

// A parameter spans decades if its highest value is decades times its lowest. If it has fewLevels
// or more distinct values, which span aDecade or more, their spacing decides instead. Both are
// ratios, which no unit changes; the spacing is a comparison of two ratios and needs no threshold.
const (
	decades   = 100
	aDecade   = 10
	fewLevels = 4
)

// WhyLog returns the reason why a real or integer parameter of d belongs on a log scale, "" if
// there is none. levels are the values that it takes in a list of candidates or in a table, in any
// order and with repetitions; none if all values between its bounds are possible. People who space
// levels by factors expect a factor to have the same effect everywhere.
//
// There is no reason if the model is fixed or lengthscales are given, since these imply a scale,
// nor for parts of a mixture, which are amounts that add up.
func (d Definition) WhyLog(p Parameter, levels []float64) string {
	m := d.Model
	switch {
	case d.Algorithm.Preset != "", m.Fit == fitFixed, m.Inputs == inputsRaw, !policy.Absent(m.Lengthscales):
		return ""
	case slices.ContainsFunc(d.Parameters, func(q Parameter) bool { return slices.Contains(q.Of, p.Name) }):
		return ""
	case p.Type != Real && p.Type != Integer || p.Step != nil || p.Low == nil || p.High == nil || !(*p.Low > 0) || !(*p.High > *p.Low):
		return ""
	}
	levels = slices.Compact(slices.Sorted(slices.Values(levels)))
	n := len(levels)
	switch {
	case n > 0 && !(levels[0] > 0), n > 2 && !spacedByRatio(levels):
	case n >= fewLevels && levels[n-1] >= aDecade*levels[0]:
		return fmt.Sprintf("its %d values from %s to %s are spaced by factors rather than by differences", n, formatNumber(levels[0]), formatNumber(levels[n-1]))
	case n < fewLevels && *p.High >= decades**p.Low:
		return fmt.Sprintf("%s is %s times %s", formatNumber(*p.High), formatNumber(math.Round(*p.High / *p.Low)), formatNumber(*p.Low))
	}
	return ""
}

// spacedByRatio reports whether the ratios of neighbouring levels are more nearly constant than
// their differences: whether the steps between the logarithms of ascending positive levels vary
// less, relative to their mean, than those between the levels, and less than those between random
// values, whose steps have an exponential distribution with a coefficient of variation of 1. So a
// measured column that is crowded at its low end is not taken for chosen levels.
func spacedByRatio(levels []float64) bool {
	return variation(levels, math.Log) < min(1, variation(levels, func(x float64) float64 { return x }))
}

// variation returns the coefficient of variation of the steps between ascending levels after a
// transformation: their standard deviation (÷n) over their mean.
func variation(levels []float64, of func(float64) float64) float64 {
	steps := float64(len(levels) - 1)
	mean := (of(levels[len(levels)-1]) - of(levels[0])) / steps
	square := 0.0
	for i := range len(levels) - 1 {
		d := (of(levels[i+1])-of(levels[i]))/mean - 1
		square += d * d / steps
	}
	return math.Sqrt(square)
}

// Levels returns the numbers that a parameter takes in the rows of a table or list of candidates.
func Levels(rows []Settings, name string) []float64 {
	return lists.Pick(rows, func(row Settings) (float64, bool) {
		v, given := row[name]
		return v.Number, given && !v.IsText
	})
}

// ScaleOf returns the scale of a parameter of d: the given one, else log if there is a reason for
// it and nobody chose a kernel.
func (d Definition) ScaleOf(p Parameter) string {
	switch {
	case p.Scale != "":
		return p.Scale
	case policy.Absent(d.Model.Kernel) && d.WhyLog(p, Levels(d.Candidates, p.Name)) != "":
		return ScaleLog
	}
	return ScaleLinear
}
