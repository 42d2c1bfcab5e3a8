package view

import (
	"fmt"
	"net/url"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// tablePage is how many trials the table shows at a time.
const tablePage = 6

// trialFilters are the choices above the table; those about limits are offered where there are any.
var trialFilters = []struct {
	word, label string
	ofLimits    bool // asks nothing where there are no limits
	keep        func(*ledger.Trial) bool
}{
	{"", "All", false, func(*ledger.Trial) bool { return true }},
	{"waiting", "Waiting", false, (*ledger.Trial).Waiting},
	{"feasible", "Within limits", true, func(t *ledger.Trial) bool { return t.Feasible != nil && *t.Feasible }},
	{"violated", "Limit broken", true, func(t *ledger.Trial) bool { return t.Feasible != nil && !*t.Feasible }},
	{"unknown", "Not known", true, func(t *ledger.Trial) bool { return t.Feasible == nil }},
	{"closed", "Failed or not run", false, func(t *ledger.Trial) bool {
		return t.Status == ledger.StatusFailed || t.Status == ledger.StatusAbandoned
	}},
	{"excluded", "Excluded", false, func(t *ledger.Trial) bool { return t.Excluded }},
}

// TrialFilters are the words for which trials to show.
func TrialFilters() []string {
	list := make([]string, len(trialFilters))
	for i, f := range trialFilters {
		list[i] = f.word
	}
	return list
}

// Trials is the table, newest first: of the trials that pass a filter those below a number, from the newest on where it is 0.
func (v Facts) Trials(chosen string, below int) templates.Trials {
	table := templates.Trials{Study: v.Head, Total: len(v.Snap.Trials), Show: chosen, Below: below}
	for _, f := range trialFilters {
		current := f.word == chosen
		if current {
			v.fillTrials(&table, f.keep, chosen, below)
		}
		if f.ofLimits && !current && !v.limited() {
			continue
		}
		filter := v.trialsLink(f.word, 0)
		filter.Label, filter.Current = f.label, current
		table.Filters = append(table.Filters, filter)
	}
	if best := v.recommended(); best != nil && !v.Working {
		for i := range table.Rows {
			table.Rows[i].Recommended = best.Number == table.Rows[i].Number
		}
	}
	return table
}

// fillTrials puts one page of trials into the table.
func (v Facts) fillTrials(table *templates.Trials, keep func(*ledger.Trial) bool, chosen string, below int) {
	matching, before := 0, 0
	var listed []*ledger.Trial
	for i := len(v.Snap.Trials) - 1; i >= 0; i-- {
		t := v.Snap.Trials[i]
		if !keep(t) {
			continue
		}
		matching++
		switch {
		case below > 0 && t.Number >= below:
			before++
		case len(listed) < tablePage:
			listed = append(listed, t)
		}
	}
	v.listTrials(table, listed)
	table.Shown = fmt.Sprintf("%d–%d of %s, newest first", before+1, before+len(table.Rows), words.Count(matching, "trial", "trials"))
	if before+len(table.Rows) < matching {
		table.Older = v.trialsLink(chosen, listed[len(listed)-1].Number)
	}
	if before > 0 {
		table.Newer = v.trialsLink(chosen, 0)
	}
}

// trialsLink leads to the table with that filter, in place where the page can.
func (v Facts) trialsLink(show string, below int) templates.Filter {
	query := url.Values{}
	if show != "" {
		query.Set("show", show)
	}
	if below > 0 {
		query.Set("below", fmt.Sprint(below))
	}
	return v.link("trials", query)
}

// listTrials writes trials as lines of the table, the numbers of a column with equally many decimals.
func (v Facts) listTrials(table *templates.Trials, trials []*ledger.Trial) {
	d := v.Snap.Definition
	settings, metrics := make([]func(design.Value) string, len(d.Parameters)), map[string]func(float64) string{}
	for i, p := range d.Parameters {
		table.Settings = append(table.Settings, templates.Column{Name: p.Name, Unit: p.Unit, Number: true})
		var shown []design.Value
		for _, t := range trials {
			if value, there := t.Parameters[p.Name]; there {
				shown = append(shown, value)
			}
			if value, instead := v.chosenInstead(t)[p.Name]; instead {
				shown = append(shown, value)
			}
		}
		settings[i] = words.Settings(p, shown)
	}
	for _, metric := range TableMetrics(d) {
		table.Metrics = append(table.Metrics, templates.Column{Name: metric, Unit: UnitOf(d, metric), Number: true})
		var shown []float64
		for _, t := range trials {
			m, there := t.Metrics[metric]
			switch {
			case there && m.StdDev == nil:
				shown = append(shown, m.Value)
			case there:
				table.Note = "± one standard deviation of the reading, as told with it."
			}
		}
		metrics[metric] = words.Column(shown)
	}
	for _, t := range trials {
		table.Rows = append(table.Rows, v.trialRow(t, settings, metrics))
	}
}

func (v Facts) trialRow(t *ledger.Trial, settings []func(design.Value) string, metrics map[string]func(float64) string) templates.TrialRow {
	d := v.Snap.Definition
	row := templates.TrialRow{
		Number: t.Number, URL: TrialURL(v.Snap.ID, t.Number), Mark: v.markOf(t), State: v.StateWords(t), Excluded: t.Excluded,
		Note: t.Note, When: Stamp(t.CreatedAt, v.Now), Operates: v.Head.Operates,
	}
	chosen := v.chosenInstead(t)
	for i, p := range d.Parameters {
		value, there := t.Parameters[p.Name]
		cell := templates.Cell{Missing: !there}
		if there {
			cell.Text = settings[i](value)
		}
		if other, instead := chosen[p.Name]; instead {
			cell.Chosen = settings[i](other)
		}
		row.Settings = append(row.Settings, cell)
	}
	for _, metric := range TableMetrics(d) {
		row.Metrics = append(row.Metrics, v.metricCell(t, metric, metrics[metric]))
	}
	return row
}

// chosenInstead are the settings that were chosen for a trial where others were used.
func (v Facts) chosenInstead(t *ledger.Trial) design.Settings {
	instead := design.Settings{}
	if !t.SettingsChanged {
		return instead
	}
	for name, value := range v.Snap.Chosen(t.Number) {
		if value != t.Parameters[name] {
			instead[name] = value
		}
	}
	return instead
}

func (v Facts) metricCell(t *ledger.Trial, metric string, show func(float64) string) templates.Cell {
	m, there := t.Metrics[metric]
	if !there {
		return templates.Cell{Missing: true}
	}
	cell := templates.Cell{Text: show(m.Value), Broken: m.Headroom != nil && *m.Headroom < 0}
	if m.StdDev != nil {
		cell.Text = words.Uncertain(m.Value, *m.StdDev, "")
	}
	if m.Corrected && m.Original != nil {
		cell.Was = show(*m.Original)
	}
	return cell
}
