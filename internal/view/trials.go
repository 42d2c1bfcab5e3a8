package view

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

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

// Trials is the table, newest first: those asked for, on paper all that a report lists.
func (v Facts) Trials() templates.Trials {
	table := templates.Trials{Total: len(v.Snap.Trials), Show: v.Show, Below: v.Below, Paper: v.Paper}
	l := listing{Facts: v}
	if v.Paper {
		l.fillPaper(&table)
	} else {
		l.filters(&table)
	}
	if best := v.recommended(); best != nil && !v.Working {
		for i := range table.Rows {
			table.Rows[i].Recommended = best.Number == table.Rows[i].Number
		}
	}
	return table
}

// filters offers what to show, and puts what is chosen into the table.
func (l listing) filters(table *templates.Trials) {
	for _, f := range trialFilters {
		current := f.word == l.Show
		if current {
			l.fill(table, f.keep)
		}
		if f.ofLimits && !current && !limited(l.Snap.Definition) {
			continue
		}
		filter := l.link(f.word, 0)
		filter.Label, filter.Current = f.label, current
		table.Filters = append(table.Filters, filter)
	}
}

// fillPaper puts the trials of a report into the table, in columns that fit on a sheet of paper.
func (l listing) fillPaper(table *templates.Trials) {
	trials := slices.Clone(l.reportedTrials())
	slices.Reverse(trials)
	l.list(table, trials)
	table.Folded = !fitApart(slices.Concat(table.Settings, table.Metrics))
	for i, t := range trials {
		table.Rows[i].Note = strings.Trim(t.Note+"; "+t.Reason, "; ")
	}
	if len(trials) < len(l.Snap.Trials) {
		table.Shown = fmt.Sprintf("%d of %d trials: the newest, and of the others those recommended, best, corrected or taken out. The export as CSV has all of them.", len(trials), len(l.Snap.Trials))
	}
	if slices.ContainsFunc(l.Snap.Revisions, func(revision ledger.Revision) bool {
		return limitChanges(l.Snap.Revisions[0].Limits, revision.Limits) != ""
	}) {
		table.Note = strings.TrimSpace(table.Note + " The results are by the limits as they are now.")
	}
}

// fill puts one page of trials into the table.
func (v listing) fill(table *templates.Trials, keep func(*ledger.Trial) bool) {
	matching, before := 0, 0
	var listed []*ledger.Trial
	for i := len(v.Snap.Trials) - 1; i >= 0; i-- {
		t := v.Snap.Trials[i]
		if !keep(t) {
			continue
		}
		matching++
		switch {
		case v.Below > 0 && t.Number >= v.Below:
			before++
		case len(listed) < tablePage:
			listed = append(listed, t)
		}
	}
	v.list(table, listed)
	table.Shown = fmt.Sprintf("%d–%d of %s, newest first", before+1, before+len(table.Rows), words.Count(matching, "trial", "trials"))
	if before+len(table.Rows) < matching {
		table.Older = v.link(v.Show, listed[len(listed)-1].Number)
	}
	if before > 0 {
		table.Newer = v.link(v.Show, 0)
	}
}

// link leads to the table with that filter, in place where the page can.
func (v listing) link(show string, below int) templates.Filter {
	query := url.Values{}
	if show != "" {
		query.Set("show", show)
	}
	if below > 0 {
		query.Set("below", fmt.Sprint(below))
	}
	return v.Facts.link("trials", query)
}

// listing writes trials as lines of a table, the numbers of a column with equally many decimals.
type listing struct {
	Facts
	settings []func(design.Value) string
	metrics  []func(float64) string
}

// list puts trials into a table.
func (l listing) list(table *templates.Trials, trials []*ledger.Trial) {
	for _, p := range l.Snap.Definition.Parameters {
		table.Settings = append(table.Settings, number(p.Name, p.Unit))
		var shown []design.Value
		for _, t := range trials {
			if value, there := t.Parameters[p.Name]; there {
				shown = append(shown, value)
			}
			if value, instead := l.Of(t).chosenInstead()[p.Name]; instead {
				shown = append(shown, value)
			}
		}
		l.settings = append(l.settings, words.Settings(p, shown))
	}
	for _, metric := range tableMetrics(l.Snap.Definition) {
		table.Metrics = append(table.Metrics, number(metric, UnitOf(l.Snap.Definition, metric)))
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
		l.metrics = append(l.metrics, words.Column(shown))
	}
	for _, t := range trials {
		table.Rows = append(table.Rows, l.row(t))
	}
}

func (l listing) row(t *ledger.Trial) templates.TrialRow {
	row := templates.TrialRow{
		Number: t.Number, URL: l.trialURL(t.Number), Mark: markOf(l.Snap.Definition, t), State: stateWords(l.Snap.Definition, t), Excluded: t.Excluded,
		Note: t.Note, When: l.stamp(t.CreatedAt),
	}
	chosen := l.Of(t).chosenInstead()
	for i, p := range l.Snap.Definition.Parameters {
		value, there := t.Parameters[p.Name]
		cell := templates.Cell{Missing: !there}
		if there {
			cell.Text = l.settings[i](value)
		}
		if other, instead := chosen[p.Name]; instead {
			cell.Chosen = l.settings[i](other)
		}
		row.Settings = append(row.Settings, cell)
	}
	for i, metric := range tableMetrics(l.Snap.Definition) {
		m, there := t.Metrics[metric]
		if !there {
			row.Metrics = append(row.Metrics, templates.Cell{Missing: true})
			continue
		}
		cell := templates.Cell{Text: l.metrics[i](m.Value), Broken: m.Headroom != nil && *m.Headroom < 0}
		if m.StdDev != nil {
			cell.Text = words.Uncertain(m.Value, *m.StdDev, "")
		}
		if m.Corrected && m.Original != nil {
			cell.Was = l.metrics[i](*m.Original)
		}
		row.Metrics = append(row.Metrics, cell)
	}
	return row
}

// mostReportTrials bounds the table of a report, so that it stays a file that people can open and
// print.
const mostReportTrials = 1000

// reportedTrials are the trials that the report lists: all, or the newest and those of which
// something is to be said.
func (v Facts) reportedTrials() []*ledger.Trial {
	trials := v.Snap.Trials
	if len(trials) <= mostReportTrials {
		return trials
	}
	recommended := v.recommended()
	special := func(t *ledger.Trial) bool {
		best := v.Snap.Best()
		return t.Excluded || t.SettingsChanged || corrected(t) || best != nil && best.Number == t.Number || recommended != nil && recommended.Number == t.Number
	}
	newest := len(trials) - mostReportTrials/2
	var kept []*ledger.Trial
	for _, t := range trials[:newest] {
		if len(kept) < mostReportTrials/2 && special(t) {
			kept = append(kept, t)
		}
	}
	return append(kept, trials[newest:]...)
}

func corrected(t *ledger.Trial) bool {
	for _, m := range t.Metrics {
		if m.Corrected {
			return true
		}
	}
	return false
}

// How many parameters and metrics have columns of their own on a sheet of paper, and how many
// letters their names may have in all where they are not broken.
const mostColumns, mostLetters = 7, 60

// fitApart tells whether these columns fit on a sheet of paper beside the rest.
func fitApart(columns []templates.Column) bool {
	letters := 0
	for _, column := range columns {
		for _, word := range strings.Fields(column.Name) {
			letters += utf8.RuneCountInString(word)
		}
	}
	return len(columns) <= mostColumns && letters <= mostLetters
}
