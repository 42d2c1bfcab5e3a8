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

// tableAtOnce is up to how many trials the numbers behind the progress stand in the page; of more
// they are fetched when somebody opens them.
const tableAtOnce = 60

// Heights of panels in pixels.
const (
	bestHeight   = 132
	limitHeight  = 84
	lesserHeight = 51
)

// Up to mostMarks trials every one has its mark. With more, marks are those of the newest trials
// and those that stand out; the rest is drawn as bars that span the readings of a few trials each,
// so that nothing is left out.
const (
	mostMarks   = 400
	newestMarks = 60
	spans       = 200
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

// measure is how values lie on an axis: as they are, or by their logarithms.
type measure struct {
	log      bool
	to, from func(float64) float64
}

var (
	asTheyAre = measure{false, func(x float64) float64 { return x }, func(x float64) float64 { return x }}
	byRatios  = measure{true, func(x float64) float64 { return math.Log(max(x, 0)) }, math.Exp} // of what has none: below all others
)

// measureOf is how a metric's values lie on the axes of charts: by their logarithms where its model
// compares them so, and all that is drawn lies above 0.
func measureOf(metric study.MetricState, drawn ...[]float64) measure {
	warp := metric.Warp
	if warp == nil || !(warp.Unit > 0) || slices.ContainsFunc(slices.Concat(drawn...), func(x float64) bool { return !(x > 0) }) {
		return asTheyAre
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
	return chart.Axis{Range: []float64{low, high}, Log: m.log, Plain: m.log && low >= design.PlainFrom && high < design.PlainBelow}
}

// How many interquartile ranges beyond the quartiles a reading may lie before the range of a chart
// leaves it out: early ones, of the first third, are often far from where a study goes; late ones
// must be absurd, such as slips by a power of ten.
const earlyFence, lateFence = 3, 15

// robustRange is the range of a chart's y axis: that of the readings in their order, except
// outliers, so that they do not flatten everything else. What must be seen is always inside.
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

// quantile is the q-th of several sorted values, between two of them in proportion; q is below 1.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func (m measure) all(values []float64) []float64 {
	return lists.Map(values, m.to)
}

// takeIn widens a range by up to so many of its own heights on either side, so that values are seen
// that must not flatten the rest; beyond counts those that are not.
func takeIn(within, values []float64, heights float64) (wider []float64, beyond int) {
	if len(within) == 0 {
		return within, 0
	}
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

// beyondWords says how many readings the range that is drawn leaves out, "" for none.
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

// edged moves marks that lie beyond the range drawn, as they are measured, to its edge, and says
// so.
func edged(m measure, within []float64, marks []chart.Trace) {
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

func drawable(traces ...chart.Trace) []chart.Trace {
	return slices.DeleteFunc(traces, func(trace chart.Trace) bool { return len(trace.X) == 0 })
}

// ledgerLine is where the ledger stands, for what is kept outside it.
func (v Facts) ledgerLine() string {
	return fmt.Sprintf("ledger entry %d, %s · head %s", v.Snap.Version, words.Exact(v.Snap.UpdatedAt), v.Snap.Hash)
}

// framed completes a chart with what a picture of it says that somebody saves, study, moment and
// head of the ledger, and where its marks lead.
func (v Facts) framed(c templates.Chart) templates.Chart {
	d := &c.Drawing
	d.Foot = v.Snap.Definition.Name + " · " + v.ledgerLine()
	if c.Paper = v.Paper; !v.Paper {
		d.Trials = v.Head.URL("/trials/")
	}
	return c
}

// overTrials is the axis of what is drawn over trials, with room for what would come next.
func (v Facts) overTrials() chart.Axis {
	return chart.Axis{Title: "trial", Whole: true, Range: []float64{0.5, float64(len(v.Snap.Trials)) + 1.5}}
}

// marks collects points by shape.
type marks struct {
	limits int  // that the study has, which a legend names
	places bool // marks stand where trials are, not at what is expected of them
	traces map[chart.Style]*chart.Trace
	fade   float64 // how much is seen of the marks added from now on, 0 for all
}

func noMarks(d design.Definition) marks {
	return marks{limits: len(d.Constraints), traces: map[chart.Style]*chart.Trace{}}
}

var markNames = map[chart.Style]string{
	chart.Unknown: "not known yet", chart.Waiting: "waiting", chart.Recommended: "recommended", chart.Excluded: "excluded",
	chart.Original: "as first told", chart.Doubted: "in doubt",
}

// name is what a legend calls a mark. Where there are several limits, the same mark stands for one
// of them in its own panel and for all elsewhere.
func (m *marks) name(style chart.Style) string {
	switch {
	case style == chart.Feasible:
		return []string{"a reading", "within the limit", "within limits"}[min(m.limits, 2)]
	case style == chart.Violated:
		return words.Either(m.limits == 1, "limit broken", "a limit broken")
	case !m.places && (style == chart.Waiting || style == chart.Recommended):
		return markNames[style] + " (expected)"
	case m.places && style == chart.Unknown:
		return "failed, or not known yet"
	}
	return markNames[style]
}

func (m *marks) add(style chart.Style, x, y any, text string, trial int) {
	trace := m.traces[style]
	if trace == nil {
		trace = &chart.Trace{Name: m.name(style), Style: style}
		m.traces[style] = trace
	}
	trace.X, trace.Y = append(trace.X, x), append(trace.Y, y)
	trace.Text, trace.Trial = append(trace.Text, text), append(trace.Trial, trial)
	if m.fade > 0 {
		trace.Fade = append(trace.Fade, m.fade)
	}
}

// all returns the traces in a fixed order, so that colours and legends stay where they are.
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

// styleUnder is the mark of a trial under the limits of its time.
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

// readingUnder is the mark of a reading under one limit as it stood.
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

// lineStyles tell the lines of a panel from each other.
var lineStyles = []chart.Style{chart.Step, chart.Second, chart.Estimate, chart.Bound, chart.Fifth, chart.Sixth, chart.Seventh, chart.Eighth}

// lineStyle is how line number i of a panel looks; where there are more than can be told apart, the
// others are quiet.
func lineStyle(i int) chart.Style {
	if i < len(lineStyles) {
		return lineStyles[i]
	}
	return chart.Quiet
}
