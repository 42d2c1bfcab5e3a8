package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	title := words.Either(!limited(v.Snap.Definition), "Readings over trials", "Readings, limits and violation over trials")
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
	drawing := chart.Drawing{X: p.overTrials()}
	add := func(panel chart.Panel, notes ...string) {
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
		n, _ := brokenIn(p.Snap.Trials, c)
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
		broken, known := brokenIn(p.Snap.Trials, c)
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

// table is the numbers behind the panels of some limits, of the newest trials where there are many.
func (p *panelling) table(limits []int) templates.Table {
	o, show := p.Snap.Definition.Objective, p.metricColumns()
	reading := func(t *ledger.Trial, metric string) string {
		if t != nil {
			if m, there := t.Metrics[metric]; there {
				return show[metric](m.Value)
			}
		}
		return "–"
	}
	var table columns
	table.add(number("Trial", ""), func(i int) string { return strconv.Itoa(i + 1) })
	table.add(column("Result"), func(i int) string { return stateWords(p.Snap.Definition, p.Snap.Trials[i]) })
	table.add(number(design.Capitalised(o.Metric), o.Unit), func(i int) string { return reading(p.Snap.Trials[i], o.Metric) })
	table.add(number("Best so far", o.Unit), func(i int) string { return reading(p.Snap.Trial(p.best[i]), o.Metric) })
	if len(p.regret) > 0 {
		table.add(number("Best in truth", o.Unit), func(i int) string { return words.Rough(p.reachable[i]) })
		table.add(number("behind it on average, R(t)/t", o.Unit), func(i int) string { return words.Rough(p.regret[i]) })
	}
	if p.Readout.Regret != nil {
		table.add(number("Bound on regret so far", o.Unit), func(i int) string { return words.RoughOr(p.History[i].Regret.Bound) })
	}
	for _, j := range limits {
		c := p.Snap.Definition.Constraints[j]
		table.add(number(design.Capitalised(c.Metric), c.Unit), func(i int) string { return reading(p.Snap.Trials[i], c.Metric) })
		table.add(number("Limit then", c.Unit), func(i int) string { return words.Number(p.limits[i][j].Threshold) })
		p.violationColumns(&table, c)
		if _, priced := p.Readout.Multipliers[c.Name]; priced {
			table.add(number("Average so far", c.Unit), func(i int) string { return words.RoughOr(p.averageOf(j, i)) })
			table.add(number("Multiplier", ""), func(i int) string { return words.Rough(p.History[i].Multipliers[c.Name]) })
		}
	}
	return table.rows(max(0, len(p.Snap.Trials)-mostLines), len(p.Snap.Trials))
}

// violationColumns are the sums so far, nothing of a limit that was never read.
func (p *panelling) violationColumns(table *columns, c design.Constraint) {
	read := p.Snap.HasReading(c.Metric)
	add := func(name string, s sum) {
		table.add(number(name, c.Unit), func(i int) string { return words.RoughOr(words.Either(read, s.at(i), nil)) })
	}
	hard, soft, estimate, bound := p.violationSums(c)
	add("Violation so far, hard", hard)
	add("soft", soft)
	add("model’s estimate", estimate)
	add("bound", bound)
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
