package design

import (
	"fmt"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/optimizer/policy"
)

// The scales of a number.
const (
	ScaleLinear = "linear"
	ScaleLog    = "log"
)

// A number spans decades when its highest value is decades times its lowest, and fewLevels or more
// values of its own tell how it is spaced from aDecade on. Both are ratios, which no unit changes;
// how it is spaced is a comparison of two ratios, so nothing has to be chosen for it.
const (
	decades   = 100
	aDecade   = 10
	fewLevels = 4
)

// WhyLog says why a real or integer parameter of d belongs on a log scale, "" where nothing speaks for
// one. Levels are the values that it takes in a list of candidates or in a table, in any order and
// any number of times; none where all values between its bounds are possible. Levels decide by
// their spacing: people who place them apart by factors expect a factor to do the same everywhere.
//
// Whoever fixes the model, or gives lengthscales, has a scale in mind; and parts of a mixture are
// amounts that add up.
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

// spacedByRatio tells whether the ratios of neighbours are more nearly constant than their
// differences: whether the steps between the logarithms of ascending positive levels vary less,
// relative to their mean, than those between the levels, and less than those between values that
// fell anywhere: such steps have an exponential distribution, whose coefficient of variation is 1.
// So a column that was merely measured, crowded at its low end, is not taken for levels that
// somebody chose.
func spacedByRatio(levels []float64) bool {
	return variation(levels, math.Log) < min(1, variation(levels, func(x float64) float64 { return x }))
}

// variation is the coefficient of variation of the steps between ascending levels, after a
// transformation: their standard deviation (÷n) over their mean. It has no unit.
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

// Levels are the numbers that a parameter takes in a table, or in the list of candidates; none where
// there is no list.
func Levels(rows []Settings, name string) []float64 {
	return lists.Pick(rows, func(row Settings) (float64, bool) {
		v, given := row[name]
		return v.Number, given && !v.IsText
	})
}

// ScaleOf is the scale that a number of d is put on: the one that is said, else log where something
// speaks for it and nobody chose a kernel.
func (d Definition) ScaleOf(p Parameter) string {
	switch {
	case p.Scale != "":
		return p.Scale
	case policy.Absent(d.Model.Kernel) && d.WhyLog(p, Levels(d.Candidates, p.Name)) != "":
		return ScaleLog
	}
	return ScaleLinear
}
