package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// tableAtOnce is the number of trials up to which the numbers behind a chart are part of the page.
// With more they are fetched when somebody unfolds them.
const tableAtOnce = 60

// Heights of panels in pixels.
const (
	bestHeight   = 132
	limitHeight  = 84
	lesserHeight = 51
)

// Up to mostMarks trials each have a mark of their own. With more, only the newest and those that
// stand out do; the readings of all are drawn as at most mostBars bars, each from the lowest to the
// highest reading of a few trials, so that nothing is left out.
const (
	mostMarks   = 400
	newestMarks = 60
	mostBars    = 200
)

func plotValue(v design.Value) any {
	if v.IsText {
		return v.Text
	}
	return v.Number
}

func axisOf(p design.Parameter) chart.Axis {
	axis := chart.Axis{Title: words.AxisName(p.Name, p.Unit), Log: p.Logarithmic(), Categories: p.Choices, Whole: p.Type == design.Integer}
	axis.Plain = axis.Log && *p.Low >= design.PlainFrom && *p.High < design.PlainBelow
	return axis
}

// axisScale is the scale of an axis, linear or logarithmic, with the function to it and its
// inverse.
type axisScale struct {
	log      bool
	to, from func(float64) float64
}

var (
	linear      = axisScale{false, func(x float64) float64 { return x }, func(x float64) float64 { return x }}
	logarithmic = axisScale{true, func(x float64) float64 { return math.Log(max(x, 0)) }, math.Exp} // x ≤ 0 lies below all others
)

// axisScaleOf chooses the scale for a metric's charts: logarithmic where its model works on
// logarithms and everything drawn is above 0, else linear.
func axisScaleOf(metric study.MetricState, drawn ...[]float64) axisScale {
	warp := metric.Warp
	if warp == nil || !(warp.Unit > 0) || slices.ContainsFunc(slices.Concat(drawn...), func(x float64) bool { return !(x > 0) }) {
		return linear
	}
	return logarithmic
}

// axis has the range within, which is on the scale.
func (m axisScale) axis(within []float64) chart.Axis {
	low, high := m.from(within[0]), m.from(within[1])
	return chart.Axis{Range: []float64{low, high}, Log: m.log, Plain: m.log && low >= design.PlainFrom && high < design.PlainBelow}
}

// The range of a chart leaves out readings that lie more than so many interquartile ranges beyond
// the quartiles. Those of the first third are often far from where the study goes later; a later
// one has to be absurd, such as a slip by a power of ten.
const earlyFence, lateFence = 3, 15

// robustRange is the range of a chart's y axis: that of the readings, in their order of time,
// without outliers, which would flatten everything else, widened to contain must.
func robustRange(readings, must []float64) (within []float64) {
	if len(readings)+len(must) == 0 {
		return nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	q1, q3 := math.Inf(-1), math.Inf(1)
	if sorted := slices.Sorted(slices.Values(readings)); len(sorted) >= 8 {
		q1, q3 = quantile(sorted, 0.25), quantile(sorted, 0.75)
	}
	width := q3 - q1
	for i, y := range readings {
		fence := words.Either(i < len(readings)/3, earlyFence, float64(lateFence))
		if width > 0 && (y < q1-fence*width || y > q3+fence*width) {
			continue
		}
		low, high = math.Min(low, y), math.Max(high, y)
	}
	for _, y := range must {
		low, high = math.Min(low, y), math.Max(high, y)
	}
	room := cmp.Or(0.06*(high-low), math.Abs(high)*0.1, 1)
	return []float64{low - room, high + room}
}

// quantile interpolates the q-quantile of two or more sorted values, q < 1.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// allTo puts values on the scale.
func (m axisScale) allTo(values []float64) []float64 {
	return lists.Map(values, m.to)
}

// widen extends a range, by at most heights of its own height on either side, to contain values,
// and counts the values that are beyond that.
func widen(within, values []float64, heights float64) (wider []float64, beyond int) {
	low, high := within[0], within[1]
	height := high - low
	for _, y := range values {
		if y < within[0]-heights*height || y > within[1]+heights*height {
			beyond++
		} else {
			low, high = math.Min(low, y-0.06*height), math.Max(high, y+0.06*height)
		}
	}
	return []float64{low, high}, beyond
}

// besideTheRest widens a range where marks lie beyond it, so that they stand apart from the others
// when they are moved to its edge.
func besideTheRest(m axisScale, within []float64, marks []chart.Trace) (wider []float64) {
	low, high := within[0], within[1]
	room := 0.2 * (high - low)
	for _, trace := range marks {
		for _, y := range trace.Y {
			switch value := m.to(y.(float64)); {
			case value < within[0]:
				low = within[0] - room
			case value > within[1]:
				high = within[1] + room
			}
		}
	}
	return []float64{low, high}
}

// beyondWords says how many readings are outside the range drawn, "" for none.
func beyondWords(readings, within []float64) string {
	above, below := 0, 0
	for _, y := range readings {
		if y > within[1] {
			above++
		}
		if y < within[0] {
			below++
		}
	}
	over, under := design.Count(above, "reading", "readings")+" above the range drawn", design.Count(below, "reading", "readings")+" below the range drawn"
	switch {
	case above > 0 && below > 0:
		return over + ", " + under + "."
	case above+below > 0:
		return words.Either(above > 0, over, under) + "."
	}
	return ""
}

// moveToEdge moves marks outside the range drawn to its edge, and says so in their texts.
func moveToEdge(m axisScale, within []float64, marks []chart.Trace) {
	for _, trace := range marks {
		for i, y := range trace.Y {
			value, room := m.to(y.(float64)), 0.03*(within[1]-within[0])
			if at := min(max(value, within[0]+room), within[1]-room); at != value {
				trace.Y[i] = m.from(at)
				trace.Text[i] += ", beyond the range drawn"
			}
		}
	}
}

func nonEmpty(traces ...chart.Trace) []chart.Trace {
	return slices.DeleteFunc(traces, func(trace chart.Trace) bool { return len(trace.X) == 0 })
}

// ledgerLine identifies the state of the ledger, for copies that leave the program.
func (v Facts) ledgerLine() string {
	return fmt.Sprintf("ledger entry %d, %s · head %s", v.Snap.Version, words.Exact(v.Snap.UpdatedAt), v.Snap.Hash)
}

// withSource completes a chart with the address that its marks lead to, and with the line by which
// a saved picture names study, moment and head of the ledger.
func (v Facts) withSource(c templates.Chart) templates.Chart {
	d := &c.Drawing
	d.Foot = v.Snap.Definition.Name + " · " + v.ledgerLine()
	c.Paper, d.Still = v.Paper, v.Paper
	if !v.Paper {
		d.Trials = v.Head.URL("/trials/")
	}
	return c
}

// trialAxis is the x axis of charts over trials, with room for the next one.
func (v Facts) trialAxis() chart.Axis {
	return chart.Axis{Title: "trial", Whole: true, Range: []float64{0.5, float64(len(v.Snap.Trials)) + 1.5}}
}

// marks collects the points of a chart by shape.
type marks struct {
	limits int  // of the study
	onMap  bool // marks are at a trial's settings, not at its readings
	failed bool // failed trials are marked too
	traces map[chart.Style]*chart.Trace
	fade   float64 // opacity of the marks added from now on, 0 for opaque
}

func newMarks(d design.Definition) marks {
	return marks{limits: len(d.Constraints), traces: map[chart.Style]*chart.Trace{}}
}

var markNames = map[chart.Style]string{
	chart.Unknown: "not known yet", chart.Waiting: "waiting", chart.Recommended: "recommended", chart.Excluded: "excluded",
	chart.Original: "as first told", chart.Doubted: "in doubt",
}

// failedOrUnknown is the name of chart.Unknown where failed trials are marked too.
const failedOrUnknown = "failed, or not known yet"

// name is the name of a mark in the legend. If there are several limits, the same mark means one
// limit in that limit's panel, and all limits elsewhere.
func (m *marks) name(style chart.Style) string {
	switch {
	case style == chart.Feasible:
		return []string{"a reading", "within the limit", "within limits"}[min(m.limits, 2)]
	case style == chart.Violated:
		return words.Either(m.limits == 1, "limit broken", "a limit broken")
	case !m.onMap && (style == chart.Waiting || style == chart.Recommended):
		return markNames[style] + " (expected)"
	case m.failed && style == chart.Unknown:
		return failedOrUnknown
	}
	return markNames[style]
}

func (m *marks) add(style chart.Style, x, y any, text string, trial int) {
	trace := m.traces[style]
	if trace == nil {
		trace = &chart.Trace{Name: m.name(style), Style: style}
		m.traces[style] = trace
	}
	trace.Add(x, y)
	trace.Text, trace.Trial = append(trace.Text, text), append(trace.Trial, trial)
	if m.fade > 0 {
		trace.Fade = append(trace.Fade, m.fade)
	}
}

// all returns the traces in a fixed order, which keeps colours and legends in place.
func (m *marks) all() []chart.Trace {
	return m.of(chart.Original, chart.Unknown, chart.Feasible, chart.Violated, chart.Excluded, chart.Doubted, chart.Waiting, chart.Recommended)
}

func (m *marks) of(styles ...chart.Style) (traces []chart.Trace) {
	for _, style := range styles {
		if trace := m.traces[style]; trace != nil {
			traces = append(traces, *trace)
		}
	}
	return traces
}

// styleUnder is the mark of a trial under the given limits.
func styleUnder(limits []design.Constraint, t *ledger.Trial) chart.Style {
	if t.Excluded {
		return chart.Excluded
	}
	if t.Feasible == nil {
		return chart.Unknown
	}
	for _, c := range limits {
		if m, there := t.Metrics[c.Metric]; there && !c.Holds(m.Value) {
			return chart.Violated
		}
	}
	return chart.Feasible
}

// readingUnder is the mark of a reading under one limit.
func readingUnder(limit design.Constraint, t *ledger.Trial, value float64) chart.Style {
	switch {
	case t.Excluded:
		return chart.Excluded
	case !limit.Holds(value):
		return chart.Violated
	}
	return chart.Feasible
}

func failedBySettings(t *ledger.Trial) bool { return t.Cause == ledger.BySettings && !t.Excluded }
func limitLabel(c design.Constraint) string { return "limit " + words.Quantity(c.Threshold, c.Unit) }

// lineStyles are the styles of lines that share a panel.
var lineStyles = []chart.Style{chart.Step, chart.Second, chart.Estimate, chart.Bound, chart.Fifth, chart.Sixth, chart.Seventh, chart.Eighth}

// lineStyle is the style of line i of a panel, whose line 0 has the style first; Quiet where there are
// more than can be told apart.
func lineStyle(first chart.Style, i int) chart.Style {
	if i < len(lineStyles) {
		return lineStyles[(slices.Index(lineStyles, first)+i)%len(lineStyles)]
	}
	return chart.Quiet
}
