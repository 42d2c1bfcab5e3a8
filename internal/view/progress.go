package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/optimizer"
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

// mostLines is of how many trials a table has a line, the newest; a file has them all.
const mostLines = 500

// Progress is how well the study does: panels over the same trials, of the objective, each limit,
// its violation and its price.
func (v Facts) Progress() templates.Progress {
	progress := templates.Progress{Empty: v.Modelless}
	if len(v.Snap.Trials) == 0 {
		progress.Empty = "When the first results are in, the best value within the limits will be drawn here, and below it how close each limit is."
	}
	if progress.Empty != "" {
		return progress
	}
	p := v.panelling()
	pressing, others := p.byPressure()
	drawing := p.panelsOf(pressing, true)
	if len(drawing.Panels) == 0 {
		progress.Empty = strings.Join(p.notes, " ") + " What comes in will be drawn here."
		return progress
	}
	title := words.Either(!v.limited(), "Readings over trials", "Readings, limits and violation over trials")
	progress.Chart = p.panelChart("chart-progress", title, drawing, slices.DeleteFunc(p.all(), func(j int) bool { return slices.Contains(others, j) }))
	if len(others) > 0 {
		p.notes = nil
		more := p.panelChart("chart-limits", "The other limits and their violation over trials", p.panelsOf(others, false), others)
		progress.More, progress.MoreLimits = &more, p.moreWords(others)
	}
	return progress
}

// ProgressTable is the numbers behind the progress.
func (v Facts) ProgressTable() templates.Table {
	p := v.panelling()
	return p.table(p.all())
}

// panelsOf are the panels of the objective, unless they go with others, and of the limits by their
// place.
func (p *panelling) panelsOf(limits []int, first bool) chart.Drawing {
	drawing := chart.Drawing{X: chart.Axis{Title: trialAxis, Whole: true, Range: []float64{0.5, float64(len(p.Snap.Trials)) + 1.5}}}
	add := func(panel chart.Panel, notes ...string) {
		panel.Caption = strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), " ")
		drawing.Panels = append(drawing.Panels, panel)
		p.note(notes...)
	}
	if first {
		if o := p.Snap.Definition.Objective; p.Snap.HasReading(o.Metric) {
			add(p.bestPanel())
		} else {
			p.note(design.Capitalised(o.Metric) + ": no reading yet.")
		}
		if panel, said := p.regretPanel(); len(panel.Traces) > 0 {
			add(panel, said)
		}
		p.noteQuiet()
	}
	for _, j := range limits {
		add(p.limitPanel(j))
		if c := p.Snap.Definition.Constraints[j]; p.Readout.Violation[c.Name].Hard > 0 {
			add(p.violationPanel(c))
		}
	}
	if panel, notes := p.multiplierPanel(limits); len(panel.Traces) > 0 {
		add(panel, notes...)
	}
	drawing.Events = p.events()
	p.note(p.denseWords())
	return drawing
}

// noteQuiet notes which limits need no panel.
func (p *panelling) noteQuiet() {
	for j := range p.Snap.Definition.Constraints {
		if quiet, line := p.quiet(j); quiet {
			p.note(design.Capitalised(line))
		}
	}
}

// mostLimits is how many limits are drawn at once. Where there are more, and more than one would be
// left over, the others are unfolded when somebody asks.
const mostLimits = 3

// byPressure are the limits that need panels, by their place in the study: those broken most often
// or else come nearest to, and the others where there are many.
func (p *panelling) byPressure() (pressing, others []int) {
	var broken []int
	for j, c := range p.Snap.Definition.Constraints {
		n, _ := p.brokenIn(c)
		broken = append(broken, n)
		if quiet, _ := p.quiet(j); !quiet {
			pressing = append(pressing, j)
		}
	}
	if len(pressing) <= mostLimits+1 {
		return pressing, nil
	}
	slices.SortStableFunc(pressing, func(a, b int) int { return cmp.Compare(broken[b], broken[a]) })
	pressing, others = pressing[:mostLimits], slices.Sorted(slices.Values(pressing[mostLimits:]))
	slices.Sort(pressing)
	return pressing, others
}

// moreWords name the limits that are folded away, and how often each was broken.
func (p *panelling) moreWords(limits []int) string {
	var names []string
	for _, j := range limits {
		c := p.Snap.Definition.Constraints[j]
		broken, known := p.brokenIn(c)
		said := words.Either(broken > 0, fmt.Sprintf("broken in %d of %d", broken, known), "never broken")
		names = append(names, c.Name+" ("+said+")")
	}
	return fmt.Sprintf("%d more limits, broken less often: %s", len(limits), design.Listed(names, "and"))
}

// all are the limits by their place.
func (p *panelling) all() []int {
	var limits []int
	for j := range p.Snap.Definition.Constraints {
		limits = append(limits, j)
	}
	return limits
}

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

// panelChart puts panels under one title, with their numbers behind them or the address where those
// are fetched.
func (p *panelling) panelChart(id, title string, drawing chart.Drawing, limits []int) templates.Chart {
	c := templates.Chart{ID: id, Title: title, Notes: p.notes, Beside: true, Drawing: drawing}
	if len(p.Snap.Trials) > tableAtOnce && p.Fetches() {
		c.Later = p.laterPart("progress-table")
	} else {
		c.Table = p.table(limits)
	}
	return p.framed(c)
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

// denseWords say what is drawn of many trials.
func (p *panelling) denseWords() string {
	if !p.dense() {
		return ""
	}
	return fmt.Sprintf("Of %s, single marks are the newest %d, those that broke a limit and those that were the best so far; each grey bar spans all readings of %s, lowest to highest.",
		words.Count(len(p.Snap.Trials), "trial", "trials"), newestMarks, words.Count((len(p.Snap.Trials)+spans-1)/spans, "trial", "trials"))
}

// table is the numbers behind the panels of some limits, of the newest trials where there are many.
func (p *panelling) table(limits []int) templates.Table {
	d := p.Snap.Definition
	o := d.Objective
	table := templates.Table{Head: []templates.Column{number("Trial", ""), column("Result"), number(design.Capitalised(o.Metric), o.Unit), number("Best so far", o.Unit)}}
	if len(p.regret) > 0 {
		table.Head = append(table.Head, number("Best in truth", o.Unit), number("behind it on average, R(t)/t", o.Unit))
	}
	if p.Readout.Regret != nil {
		table.Head = append(table.Head, number("Bound on regret so far", o.Unit))
	}
	for _, j := range limits {
		c := d.Constraints[j]
		table.Head = append(table.Head, number(design.Capitalised(c.Metric), c.Unit), number("Limit then", c.Unit),
			number("Violation so far, hard", c.Unit), number("soft", c.Unit),
			number("model’s estimate", c.Unit), number("bound", c.Unit))
		if _, priced := p.Readout.Multipliers[c.Name]; priced {
			table.Head = append(table.Head, number("Average so far", c.Unit), number("Multiplier", ""))
		}
	}
	show := p.metricColumns()
	cell := func(t *ledger.Trial, metric string) string {
		if m, there := t.Metrics[metric]; there {
			return show[metric](m.Value)
		}
		return "–"
	}
	for i, t := range p.Snap.Trials {
		if i < len(p.Snap.Trials)-mostLines {
			continue
		}
		best := "–"
		if p.best[i] > 0 {
			best = cell(p.Snap.Trial(p.best[i]), o.Metric)
		}
		line := []string{strconv.Itoa(t.Number), p.StateWords(t), cell(t, o.Metric), best}
		if len(p.regret) > 0 {
			line = append(line, words.Rough(p.reachable[i]), words.Rough(p.regret[i]))
		}
		if p.Readout.Regret != nil {
			line = append(line, words.RoughOr(p.History[i].Regret.Bound))
		}
		for _, j := range limits {
			c := d.Constraints[j]
			v := p.History[i].Violation[c.Name]
			line = append(line, cell(t, c.Metric), words.Number(p.limits[i][j].Threshold))
			line = append(line, p.violationCells(v, p.Snap.HasReading(c.Metric))...)
			if _, priced := p.Readout.Multipliers[c.Name]; priced {
				average := "–"
				if p.sums[i][j].Known > 0 {
					average = words.Rough(p.averageOf(j, i))
				}
				line = append(line, average, words.Rough(p.History[i].Multipliers[c.Name]))
			}
		}
		table.Rows = append(table.Rows, line)
	}
	return table
}

// violationCells are the sums so far, nothing of a limit that was never read, and nothing of the
// model before it stands.
func (p *panelling) violationCells(v study.ViolationOut, read bool) []string {
	if !read {
		return []string{"–", "–", "–", "–"}
	}
	cells := []string{words.Rough(v.Hard), words.Rough(v.Soft), "–", words.RoughOr(v.Bound)}
	if p.ModelStands() {
		cells[2] = words.RoughOr(v.Estimated)
	}
	return cells
}

// metricColumns write each metric's readings with equally many decimals.
func (p *panelling) metricColumns() map[string]func(float64) string {
	show := map[string]func(float64) string{}
	for _, metric := range tableMetrics(p.Snap.Definition) {
		var values []float64
		for _, t := range p.Snap.Trials {
			if m, there := t.Metrics[metric]; there {
				values = append(values, m.Value)
			}
		}
		show[metric] = words.Column(values)
	}
	return show
}

const trialAxis = "trial"

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

// styleOf is the mark of a trial whose value is known.
func styleOf(t *ledger.Trial) chart.Style {
	switch {
	case t.Feasible == nil:
		return chart.Unknown
	case *t.Feasible:
		return chart.Feasible
	}
	return chart.Violated
}

func (p *panelling) violationCaption(c design.Constraint, now study.ViolationOut) string {
	_, known := p.brokenIn(c)
	caption := fmt.Sprintf("Violation of "+c.Name+": readings exceeded the limit by %s%s in sum, %s%s per trial, over %s, at most %s%s in one (hard); counting margin against it leaves %s%s (soft).",
		words.Rough(now.Hard), words.UnitAfter(c.Unit), words.Rough(now.Hard/float64(max(1, known))), words.UnitAfter(c.Unit), words.Count(now.Rounds, "trial", "trials"), words.Rough(now.Largest), words.UnitAfter(c.Unit), words.Rough(now.Soft), words.UnitAfter(c.Unit))
	if now.Hard == 0 {
		caption = "Violation of " + c.Name + ": no reading has exceeded the limit so far."
	}
	if now.Estimated != nil && p.ModelStands() {
		caption += fmt.Sprintf(" The model, allowing for noise, estimates %s%s.", words.Rough(*now.Estimated), words.UnitAfter(c.Unit))
	}
	if now.Bound != nil {
		caption += fmt.Sprintf(" The algorithm’s bound, on the trials it chose itself, is %s%s (%s).", words.Rough(*now.Bound), words.UnitAfter(c.Unit), *now.BoundWhy)
		if dwarfs(now) {
			caption += " It is too far away to be drawn beside them."
		}
		caption = strings.TrimSpace(caption + " " + leftWords(now, c.Unit))
	}
	return caption
}

// leftWords say what is left under a bound.
func leftWords(now study.ViolationOut, unit string) string {
	switch {
	case now.Left == nil:
		return ""
	case *now.Left < 0:
		return fmt.Sprintf("Left under it: nothing; readings, noise and all, are beyond it by %s.", words.With(words.Rough(-*now.Left), unit))
	}
	return fmt.Sprintf("Left under it: %s.", words.With(words.Rough(*now.Left), unit))
}

// regretCaption says what is bounded, how far and for what it is worth, and how it is in truth
// where that is known.
func (p *panelling) regretCaption(now study.RegretOut, far bool) string {
	unit, last := p.Snap.Definition.Objective.Unit, len(p.regretted)-1
	caption := fmt.Sprintf("Regret is how far trials are behind the best that can be had%s, in sum. Over those that the algorithm chose itself its bound is %s (%s).",
		words.Either(p.limited(), " within the limits", ""), words.With(words.Rough(*now.Bound), unit), now.BoundWhy)
	if p.keepsMargins() {
		caption += " The bound counts from the best that keeps the margins too."
	}
	if last >= 0 {
		caption += fmt.Sprintf(" In truth, which only the simulated lab knows, it is %s.", words.With(words.Rough(p.regretted[last]), unit))
	}
	if far {
		caption += " The bound is too far away to be drawn beside it."
	}
	return caption
}

// keepsMargins tells whether the algorithm stays clear of a limit by a margin.
func (p *panelling) keepsMargins() bool {
	return slices.ContainsFunc(p.Snap.Compiled().Config.Costs, func(c optimizer.Cost) bool { return c.Margin > 0 })
}

// dwarfs tells whether the bound is so far away that drawing it would flatten everything else.
func dwarfs(now study.ViolationOut) bool {
	return now.Bound != nil && *now.Bound > 10*max(now.Hard, now.Soft)
}

// push adds a point when there is one.
func push(trace *chart.Trace, x int, y *float64) {
	if y != nil {
		trace.X, trace.Y = append(trace.X, x), append(trace.Y, words.SixDigits(*y))
	}
}

// drawable drops traces without points.
func drawable(traces ...chart.Trace) []chart.Trace {
	kept := []chart.Trace{}
	for _, trace := range traces {
		if len(trace.X) > 0 {
			kept = append(kept, trace)
		}
	}
	return kept
}
