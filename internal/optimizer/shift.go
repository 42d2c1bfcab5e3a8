package optimizer

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"headroom/internal/lists"
	"headroom/internal/optimizer/cores"
	"headroom/internal/optimizer/factor"
	"headroom/internal/optimizer/gp"
)

// ShiftLimit is the Bayes factor from which a shift is more likely than none if one study in a
// hundred has one.
const ShiftLimit = 100

const (
	fewestOfShift = 20   // the fewest readings a shift is looked for in; three of them lie beyond each outermost moment
	shiftMargin   = 0.15 // share of the readings on each side without a moment
	mostMoments   = 16   // the largest number of moments, evenly spread
)

// mostSurprise is the size at which z is cut: with one such z alone ln B ≤ z²/2 = ln ShiftLimit,
// whatever u is, so that no single slip passes for a shift.
var mostSurprise = math.Sqrt(2 * math.Log(ShiftLimit))

// shifts are those of every metric; nil where there are too few readings, or so many of each
// candidate that there are no rows.
func (s *shown) shifts(ctx context.Context) ([]*LevelShift, error) {
	list := make([]*LevelShift, len(s.cfg.Metrics))
	return list, cores.Each(len(s.sources), func(i int) error {
		src := &s.sources[i]
		if src.rounds == nil || src.arrived < fewestOfShift {
			return nil
		}
		rows, err := src.Rows(ctx)
		if err != nil {
			return err
		}
		moments, after := afterMoments(rows.Read)
		if err := rows.Data.Factor().SolveLowerMany(ctx, after); err != nil {
			return err
		}
		spread := priorVariance(rows.Data, rows.Read)
		for m, k := range slices.Backward(src.targets) { // the first that a metric serves stays
			at, along, times := likeliestShift(after, clipped(rows.Z[m][:rows.Read], mostSurprise), spread)
			list[s.targets[k].metric] = &LevelShift{src.rounds[moments[at]], s.transforms[k].sign*along > 0, times, ShiftLimit}
		}
		return nil
	})
}

// clipped is z cut to ±most.
func clipped(z []float64, most float64) []float64 {
	return lists.Map(z, func(v float64) float64 { return max(-most, min(most, v)) })
}

// likeliestShift returns the index of the largest B_τ, a there, and the mean of all B_τ; after
// holds the L⁻¹u, z is L⁻¹y, and variance is s².
func likeliestShift(after [][]float64, z []float64, variance float64) (at int, along, times float64) {
	logs := make([]float64, len(after))
	for i, u := range after {
		a, b := factor.Dot(u, z), factor.Dot(u, u)
		if logs[i] = a*a/2/(b+1/variance) - math.Log1p(variance*b)/2; i == 0 || logs[i] > logs[at] {
			at, along = i, a
		}
	}
	return at, along, math.Exp(min(floats.LogSumExp(logs)-math.Log(float64(len(logs))), mostLog))
}

// mostLog keeps Bayes factors finite.
const mostLog = 700

// priorVariance is the mean of k(x, x) over the first n readings.
func priorVariance(data *gp.Data, n int) (mean float64) {
	for i := range n {
		mean += data.Kernel().Diagonal(data.Inputs().Row(i)) / float64(n)
	}
	return mean
}

// afterMoments returns the rows from which a shift of n readings is looked for, and u of each.
func afterMoments(n int) (moments []int, after [][]float64) {
	first := int(math.Round(shiftMargin * float64(n)))
	spread := n - 2*first
	count := min(spread+1, mostMoments)
	after = factor.Matrix(count, n)
	for i := range count {
		moment := first + i*spread/(count-1)
		for row := moment; row < n; row++ {
			after[i][row] = 1
		}
		moments = append(moments, moment)
	}
	return moments, after
}
