package view

import (
	"fmt"
	"slices"
	"strings"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// framed completes a chart with what a picture of it says that somebody saves, study, moment and
// head of the ledger, and where its marks lead.
func (v Facts) framed(c templates.Chart) templates.Chart {
	d := &c.Drawing
	d.Foot = fmt.Sprintf("%s · ledger entry %d, %s · head %s", v.Snap.Definition.Name, v.Snap.Version, words.Exact(v.Snap.UpdatedAt), v.Snap.Hash)
	if c.Paper = v.Paper; !v.Paper {
		d.Trials = strings.TrimSuffix(TrialURL(v.Snap.ID, 0), "0")
	}
	return c
}

// marks collects points by shape.
type marks struct {
	limits int  // that the study has, which a legend names
	places bool // marks stand where trials are, not at what is expected of them
	traces map[chart.Style]*chart.Trace
	fade   float64 // how much is seen of the marks added from now on, 0 for all
}

func noMarks(d design.Definition) marks { return marks{limits: len(d.Constraints)} }

var markNames = map[chart.Style]string{
	chart.Unknown: "not known yet", chart.Waiting: "waiting", chart.Recommended: "recommended", chart.Excluded: "excluded",
	chart.Original: "as first told", chart.Doubted: "in doubt",
}

// name is what a legend calls a mark. Where there are several limits, the same mark stands for one
// of them in its own panel and for all elsewhere.
func (m *marks) name(style chart.Style) string {
	switch {
	case style == chart.Feasible && m.limits == 0:
		return "a reading"
	case style == chart.Feasible && m.limits == 1:
		return "within the limit"
	case style == chart.Feasible:
		return "within limits"
	case style == chart.Violated && m.limits == 1:
		return "limit broken"
	case style == chart.Violated:
		return "a limit broken"
	case !m.places && (style == chart.Waiting || style == chart.Recommended):
		return markNames[style] + " (expected)"
	case m.places && style == chart.Unknown:
		return "failed, or not known yet"
	}
	return markNames[style]
}

func (m *marks) add(style chart.Style, x, y any, text string, trial int) {
	if m.traces == nil {
		m.traces = map[chart.Style]*chart.Trace{}
	}
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
	traces := []chart.Trace{}
	for _, style := range []chart.Style{chart.Original, chart.Unknown, chart.Feasible, chart.Violated, chart.Excluded, chart.Doubted, chart.Waiting, chart.Recommended} {
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

// limitLine is a limit as charts name it, without its places.
func limitLine(c design.Constraint) chart.Limit {
	return chart.Limit{Label: "limit " + words.Quantity(c.Threshold, c.Unit), Above: c.Op == "<="}
}

// lineStyle tells line number i of a panel from the others.
func lineStyle(i int) chart.Style {
	return []chart.Style{chart.Step, chart.Second, chart.Estimate, chart.Bound}[i%4]
}

// overTrials is the axis of what is drawn over trials, with room for what would come next.
func (v Facts) overTrials() chart.Axis {
	return chart.Axis{Title: "trial", Whole: true, Range: []float64{0.5, float64(len(v.Snap.Trials)) + 1.5}}
}

// edged moves marks that lie beyond the range drawn, as they are measured, to its edge, and says
// so. Where there is no range, it is theirs.
func edged(m measure, within []float64, marks ...chart.Trace) []float64 {
	for _, trace := range marks {
		for i, y := range trace.Y {
			value := m.to(y.(float64))
			if len(within) == 0 {
				within, _, _ = robustRange(nil, []float64{value})
			}
			room := 0.03 * (within[1] - within[0])
			if at := min(max(value, within[0]+room), within[1]-room); at != value {
				trace.Y[i] = m.from(at)
				trace.Text[i] += ", beyond the range drawn"
			}
		}
	}
	return within
}

// drawable drops traces without points.
func drawable(traces ...chart.Trace) []chart.Trace {
	return slices.DeleteFunc(traces, func(trace chart.Trace) bool { return len(trace.X) == 0 })
}

// shortRows are rows of numbers to the digits that a chart can show.
func shortRows(rows [][]float64) [][]float64 {
	short := make([][]float64, len(rows))
	for i, row := range rows {
		for _, x := range row {
			short[i] = append(short[i], words.SixDigits(x))
		}
	}
	return short
}
