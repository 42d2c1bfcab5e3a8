package view

import (
	"math"
	"slices"
	"strings"

	"headroom/internal/study"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
)

// How many interquartile ranges beyond the quartiles a reading may lie before the range of a chart
// leaves it out: early ones, of the first third, are often far from where a study goes; late ones
// must be absurd, such as slips by a power of ten.
const earlyFence, lateFence = 3, 15

// measure is how values lie on an axis: as they are, or by their logarithms.
type measure struct {
	log      bool
	to, from func(float64) float64
}

var (
	asTheyAre = measure{false, func(x float64) float64 { return x }, func(x float64) float64 { return x }}
	byRatios  = measure{true, math.Log, math.Exp}
)

// all is where values lie.
func (m measure) all(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, x := range values {
		out[i] = m.to(x)
	}
	return out
}

// measureOf is how a metric's values lie on the axes of charts: by their logarithms where its model
// compares them so, and all that is drawn lies above 0.
func measureOf(metric study.MetricState, drawn ...[]float64) measure {
	warp := metric.Warp
	if warp == nil || !(warp.Unit > 0) {
		return asTheyAre
	}
	for _, values := range drawn {
		if slices.ContainsFunc(values, func(x float64) bool { return !(x > 0) }) {
			return asTheyAre
		}
	}
	return byRatios
}

// axis is one on which values lie so, and reach from the first to the last of the range, none where
// there is nothing to draw.
func (m measure) axis(within []float64) chart.Axis {
	if len(within) == 0 {
		return chart.Axis{}
	}
	low, high := m.from(within[0]), m.from(within[1])
	return chart.Axis{Range: []float64{low, high}, Log: m.log, Plain: m.log && low >= words.Small && high < words.Large}
}

// robustRange is the range of a chart's y axis: that of the readings in their order, except
// outliers, so that they do not flatten everything else. What must be seen is always inside. above
// and below count the readings left out.
func robustRange(readings, must []float64) (within []float64, above, below int) {
	if len(readings)+len(must) == 0 {
		return nil, 0, 0
	}
	low, high := math.Inf(1), math.Inf(-1)
	q1, q3 := math.Inf(-1), math.Inf(1)
	if sorted := slices.Sorted(slices.Values(readings)); len(sorted) >= 8 {
		q1, q3 = quantile(sorted, 0.25), quantile(sorted, 0.75)
	}
	width := q3 - q1
	for i, y := range readings {
		fence := float64(lateFence)
		if i < len(readings)/3 {
			fence = earlyFence
		}
		if width > 0 && (y < q1-fence*width || y > q3+fence*width) {
			continue
		}
		low, high = math.Min(low, y), math.Max(high, y)
	}
	for _, y := range must {
		low, high = math.Min(low, y), math.Max(high, y)
	}
	for _, y := range readings {
		if y > high {
			above++
		}
		if y < low {
			below++
		}
	}
	room := 0.06 * (high - low)
	if room == 0 {
		room = math.Max(math.Abs(high)*0.1, 1e-9)
	}
	return []float64{low - room, high + room}, above, below
}

// takeIn widens a range by up to its own height on either side, so that values are seen that must
// not flatten the rest; beyond counts those that are not.
func takeIn(within, values []float64) (wider []float64, beyond int) {
	if len(within) == 0 {
		return within, 0
	}
	low, high := within[0], within[1]
	height := high - low
	for _, y := range values {
		switch {
		case y < within[0]-height || y > within[1]+height:
			beyond++
		default:
			low, high = math.Min(low, y-0.06*height), math.Max(high, y+0.06*height)
		}
	}
	if low >= within[0] && high <= within[1] {
		return within, beyond
	}
	return []float64{math.Min(low, within[0]), math.Max(high, within[1])}, beyond
}

// quantile is the q-th of sorted values, between two of them in proportion.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// beyondWords says how many readings a chart's range leaves out, "" for none.
func beyondWords(above, below int) string {
	var parts []string
	if above > 0 {
		parts = append(parts, words.Count(above, "reading", "readings")+" above the range drawn")
	}
	if below > 0 {
		parts = append(parts, words.Count(below, "reading", "readings")+" below the range drawn")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "."
}
