package pages

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
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

// trialsQuery keeps which trials to show and below which number to begin.
func (v visit) trialsQuery() url.Values {
	kept := url.Values{}
	if show := v.query.Get("show"); show != "" {
		kept.Set("show", show)
	}
	if below := v.query.Get("below"); !pointless(below, int64(len(v.snap.Trials))) {
		kept.Set("below", below)
	}
	return kept
}

// pointless tells whether a place in a list, counted from its end, means no more than the list's beginning. What is no number has a point:
// to be refused.
func pointless(place string, last int64) bool {
	n, err := strconv.ParseInt(place, 10, 64)
	return place == "" || err == nil && (n <= 0 || n > last)
}

// trials is the table, newest first.
func (s *Site) trials(ctx context.Context, v visit) (templates.Trials, error) {
	q := request.QueryOf(v.trialsQuery())
	chosen, _ := q.One("show")
	below := int(q.Whole("below", 0, int64(len(v.snap.Trials)), 0))
	if err := q.Err(); err != nil {
		return templates.Trials{}, err
	}
	table := templates.Trials{Study: v.head, Total: len(v.snap.Trials), Show: chosen, Below: below}
	var keep func(*ledger.Trial) bool
	for _, f := range trialFilters {
		current := f.word == chosen
		if current {
			keep = f.keep
		}
		if f.ofLimits && !current && !v.limited() {
			continue
		}
		filter := v.trialsLink(f.word, 0)
		filter.Label, filter.Current = f.label, current
		table.Filters = append(table.Filters, filter)
	}
	if keep == nil {
		return table, problem.InQuery(design.NewInvalid("show", "must be one of the filters above the table", chosen))
	}
	v.fillTrials(&table, keep, chosen, below)
	if len(table.Rows) > 0 && !v.working {
		readout, err := s.Studies.StateOf(ctx, v.snap)
		if err != nil && withoutModel(err) == "" {
			return table, err
		}
		if v.modelStands() {
			markRecommended(table.Rows, readout.Recommendation)
		}
	}
	return table, nil
}

func markRecommended(rows []templates.TrialRow, recommended *study.Recommendation) {
	for i := range rows {
		rows[i].Recommended = recommended != nil && recommended.Number == rows[i].Number
	}
}

// fillTrials puts one page of trials into the table.
func (v visit) fillTrials(table *templates.Trials, keep func(*ledger.Trial) bool, chosen string, below int) {
	matching, before := 0, 0
	var listed []*ledger.Trial
	for i := len(v.snap.Trials) - 1; i >= 0; i-- {
		t := v.snap.Trials[i]
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
	table.Shown = fmt.Sprintf("%d–%d of %s, newest first", before+1, before+len(table.Rows), count(matching, "trial", "trials"))
	if before+len(table.Rows) < matching {
		table.Older = v.trialsLink(chosen, listed[len(listed)-1].Number)
	}
	if before > 0 {
		table.Newer = v.trialsLink(chosen, 0)
	}
}

// trialsLink leads to the table with that filter, in place where the page can.
func (v visit) trialsLink(show string, below int) templates.Filter {
	query := url.Values{}
	if show != "" {
		query.Set("show", show)
	}
	if below > 0 {
		query.Set("below", fmt.Sprint(below))
	}
	return v.link("trials", query)
}

// link is an address of this page with a query, and of one of its parts.
func (v visit) link(part string, query url.Values) templates.Filter {
	if v.at > 0 {
		query.Set("at", strconv.FormatInt(v.at, 10))
	}
	suffix := ""
	if len(query) > 0 {
		suffix = "?" + query.Encode()
	}
	return templates.Filter{URL: v.url + suffix + "#" + part, Part: v.partURL(part, query)}
}

// fetches tells whether the page fetches some of its sections once it stands.
func (v visit) fetches() bool {
	return !v.whole && (v.parts || len(v.snap.Trials) >= longStudy)
}

// laterPart is where the page fetches a section at the moment that it shows.
func (v visit) laterPart(name string) string {
	query := url.Values{}
	if v.at > 0 {
		query.Set("at", strconv.FormatInt(v.at, 10))
	}
	return v.partURL(name, query)
}

// partURL is where the page fetches one of its sections, to put it in place.
func (v visit) partURL(part string, query url.Values) string {
	path := v.head.URL("/parts/" + part)
	if !v.parts {
		path = v.head.URL("/board/" + part)
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// listTrials writes trials as lines of the table, the numbers of a column with equally many decimals.
func (v visit) listTrials(table *templates.Trials, trials []*ledger.Trial) {
	d := v.snap.Definition
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
		settings[i] = settingColumn(p, shown)
	}
	for _, metric := range tableMetrics(d) {
		table.Metrics = append(table.Metrics, templates.Column{Name: metric, Unit: unitOf(d, metric), Number: true})
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
		metrics[metric] = column(shown)
	}
	for _, t := range trials {
		table.Rows = append(table.Rows, v.trialRow(t, settings, metrics))
	}
}

// settingColumn writes values of a parameter with equally many decimals, as many as its usual form needs, or on a log scale with equally many digits.
func settingColumn(p design.Parameter, values []design.Value) func(design.Value) string {
	var decimals int
	for _, value := range values {
		_, fraction, _ := strings.Cut(design.FormatSetting(p, value), ".")
		decimals = max(decimals, len(fraction))
	}
	return func(value design.Value) string {
		switch {
		case value.IsText || powerOf(value.Number) != 0:
			return settingText(p, value)
		case p.Scale == "log" && p.Type == design.Real && p.Step == nil && value.Number > 0:
			return design.Typeset(design.FormatFixed(value.Number, max(0, logDigits-1-design.ExponentOf(value.Number))))
		}
		return design.Typeset(design.FormatFixed(value.Number, decimals))
	}
}

// logDigits is how many digits a value on a log scale is written with, as FormatSetting does.
const logDigits = 4

func (v visit) trialRow(t *ledger.Trial, settings []func(design.Value) string, metrics map[string]func(float64) string) templates.TrialRow {
	d := v.snap.Definition
	row := templates.TrialRow{
		Number: t.Number, URL: trialURL(v.snap.ID, t.Number), Mark: v.markOf(t), State: v.stateWords(t), Excluded: t.Excluded,
		Note: t.Note, When: stamp(t.CreatedAt, v.now), Operates: v.head.Operates,
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
	for _, metric := range tableMetrics(d) {
		row.Metrics = append(row.Metrics, v.metricCell(t, metric, metrics[metric]))
	}
	return row
}

// chosenInstead are the settings that were chosen for a trial where others were used.
func (v visit) chosenInstead(t *ledger.Trial) design.Settings {
	instead := design.Settings{}
	if !t.SettingsChanged {
		return instead
	}
	for name, value := range v.snap.Chosen(t.Number) {
		if value != t.Parameters[name] {
			instead[name] = value
		}
	}
	return instead
}

func (v visit) metricCell(t *ledger.Trial, metric string, show func(float64) string) templates.Cell {
	m, there := t.Metrics[metric]
	if !there {
		return templates.Cell{Missing: true}
	}
	cell := templates.Cell{Text: show(m.Value), Broken: m.Headroom != nil && *m.Headroom < 0}
	if m.StdDev != nil {
		cell.Text = uncertain(m.Value, *m.StdDev, "")
	}
	if m.Corrected && m.Original != nil {
		cell.Was = show(*m.Original)
	}
	return cell
}
