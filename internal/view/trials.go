package view

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rsc.io/qr"

	"headroom/internal/lists"
	"headroom/internal/optimizer/policy"
	"headroom/internal/optimizer/warp"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

const tablePage = 6

type trialFilter struct {
	word, label string
	ofLimits    bool // offered only where there are limits
	keep        func(*ledger.Trial) bool
}

var trialFilters = []trialFilter{
	{"", "All", false, func(*ledger.Trial) bool { return true }},
	{"waiting", "Waiting", false, func(t *ledger.Trial) bool { return t.Waiting() && !t.Excluded }},
	{"feasible", "Within limits", true, func(t *ledger.Trial) bool { return t.Feasible != nil && *t.Feasible }},
	{"violated", "Limit broken", true, func(t *ledger.Trial) bool { return t.Feasible != nil && !*t.Feasible }},
	{"unknown", "Not known", true, func(t *ledger.Trial) bool { return t.Feasible == nil }},
	{"closed", "Failed or not run", false, func(t *ledger.Trial) bool {
		return t.Status == ledger.StatusFailed || t.Status == ledger.StatusAbandoned
	}},
	{"excluded", "Excluded", false, func(t *ledger.Trial) bool { return t.Excluded }},
}

// TrialFilters are the values of the query's show.
func TrialFilters() []string {
	return lists.Map(trialFilters, func(f trialFilter) string { return f.word })
}

// Trials is the table, newest first: the page asked for, or on paper all that a report lists.
func (v Facts) Trials() templates.Trials {
	table := templates.Trials{Total: len(v.Snap.Trials), Show: v.Show, Below: v.Below, Paper: v.Paper}
	l := trialsTable{Facts: v}
	if v.Paper {
		l.fillPaper(&table)
	} else {
		l.filters(&table)
	}
	table.Folded = lettersAbreast(table) > words.Either(v.Paper, lettersOnPaper, lettersOnScreen)
	if best := v.recommended(); best != nil && !v.Working {
		for i := range table.Rows {
			table.Rows[i].Recommended = best.Number == table.Rows[i].Number
		}
	}
	return table
}

func (l trialsTable) filters(table *templates.Trials) {
	for _, f := range trialFilters {
		current := f.word == l.Show
		if current {
			l.fillPage(table, f.keep)
		}
		if f.ofLimits && !current && !limited(l.Snap.Definition) {
			continue
		}
		filter := l.link(f.word, 0)
		filter.Label, filter.Current = f.label, current
		table.Filters = append(table.Filters, filter)
	}
}

// fillPaper fills the table of a report, in columns that fit on a sheet of paper.
func (l trialsTable) fillPaper(table *templates.Trials) {
	trials := slices.Clone(l.reportedTrials())
	slices.Reverse(trials)
	l.fillRows(table, trials)
	for i, t := range trials {
		table.Rows[i].Note = strings.Trim(t.Note+"; "+t.Reason, "; ")
	}
	if len(trials) < len(l.Snap.Trials) {
		table.Shown = fmt.Sprintf("%d of %d trials: the newest, and of the others those recommended, best, corrected or taken out. The export as CSV has all of them.", len(trials), len(l.Snap.Trials))
	}
	if limitsChanged(l.Snap.Revisions) {
		table.Note = strings.TrimSpace(table.Note + " The results are by the limits as they are now.")
	}
}

func (v trialsTable) fillPage(table *templates.Trials, keep func(*ledger.Trial) bool) {
	matching := slices.DeleteFunc(slices.Clone(v.Snap.Trials), func(t *ledger.Trial) bool { return !keep(t) })
	slices.Reverse(matching)
	before := 0
	if v.Below > 0 {
		before = max(0, slices.IndexFunc(matching, func(t *ledger.Trial) bool { return t.Number < v.Below })) // from the newest if none is left
	}
	listed := matching[before:min(before+tablePage, len(matching))]
	v.fillRows(table, listed)
	table.Shown = fmt.Sprintf("%d–%d of %s, newest first", before+1, before+len(listed), design.Count(len(matching), "trial", "trials"))
	if before+len(listed) < len(matching) {
		table.Older = v.link(v.Show, listed[len(listed)-1].Number)
	}
	if before > 0 {
		table.Newer = v.link(v.Show, 0)
	}
}

// link leads to the table with a filter, in place where the page can.
func (v trialsTable) link(show string, below int) templates.Filter {
	query := url.Values{}
	if show != "" {
		query.Set("show", show)
	}
	if below > 0 {
		query.Set("below", fmt.Sprint(below))
	}
	return v.Facts.link("trials", query)
}

// trialsTable makes the table, in which the numbers of a column have the same decimals.
type trialsTable struct {
	Facts
	settings []func(design.Value) string
	metrics  []func(float64) string
}

func (l trialsTable) fillRows(table *templates.Trials, trials []*ledger.Trial) {
	for _, p := range l.Snap.Definition.Parameters {
		head := number(p.Name, p.Unit)
		head.Number = p.Type != design.Categorical
		table.Settings = append(table.Settings, head)
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
		table.Metrics = append(table.Metrics, number(metric, l.Snap.Definition.Unit(metric)))
		var shown []float64
		for _, m := range readings(trials, metric) {
			if m.StdDev == nil {
				shown = append(shown, m.Value)
			} else {
				table.Note = "± one standard deviation of the reading, as told with it."
			}
			if was := firstTold(m); was != nil {
				shown = append(shown, *was)
			}
		}
		l.metrics = append(l.metrics, words.Column(shown))
	}
	table.Rows = lists.Map(trials, l.row)
}

func (l trialsTable) row(t *ledger.Trial) templates.TrialRow {
	row := templates.TrialRow{
		Number: t.Number, URL: l.trialURL(t.Number), Mark: markOf(l.Snap.Definition, t), State: stateWords(l.Snap.Definition, t), Excluded: t.Excluded,
		Note: t.Note, When: l.stamp(t.CreatedAt),
	}
	chosen := l.Of(t).chosenInstead()
	for i, p := range l.Snap.Definition.Parameters {
		value, there := t.Parameters[p.Name]
		cell := templates.Cell{Missing: !there}
		if there {
			cell.Text = l.withUnitThen(l.settings[i](value), p.Name, l.Snap.Since(t.Number, p.Name))
		}
		if other, instead := chosen[p.Name]; instead {
			cell.Chosen = l.withUnitThen(l.settings[i](other), p.Name, t.ChosenSeq)
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
		if was := firstTold(m); was != nil {
			cell.Was = l.withUnitThen(l.metrics[i](*was), metric, m.ToldSeq)
		}
		cell.Text = l.withUnitThen(cell.Text, metric, l.Snap.Since(t.Number, metric))
		row.Metrics = append(row.Metrics, cell)
	}
	return row
}

// mostReportTrials bounds the table of a report, so that it remains a file that people can open and
// print.
const mostReportTrials = 1000

// reportedTrials are the trials that a report lists: all, or if there are many the newest half of
// mostReportTrials and, of the others, those of which something is to be said.
func (v Facts) reportedTrials() []*ledger.Trial {
	trials := v.Snap.Trials
	if len(trials) <= mostReportTrials {
		return trials
	}
	best, recommended := v.Snap.Best(), v.recommended()
	special := func(t *ledger.Trial) bool {
		return t.Excluded || t.SettingsChanged || slices.ContainsFunc(slices.Collect(maps.Values(t.Metrics)), func(m ledger.Measurement) bool { return m.Corrected }) || t == best || recommended != nil && recommended.Number == t.Number
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

// As many letters of settings and readings fit side by side on a sheet of a report, and in a window of
// a desk; a column has room for at least fewestLetters, with the space beside it.
const lettersOnPaper, lettersOnScreen, fewestLetters = 55, 100, 7

// lettersAbreast is how many letters columns need that divide no number and no word.
func lettersAbreast(table templates.Trials) (sum int) {
	columns := slices.Concat(table.Settings, table.Metrics)
	widths := lists.Map(columns, func(column templates.Column) int { return max(fewestLetters, longestWord(column.Name)+1) })
	for _, row := range table.Rows {
		for i, cell := range slices.Concat(row.Settings, row.Metrics) {
			widths[i] = max(widths[i], words.Either(columns[i].Number, utf8.RuneCountInString(cell.Text), longestWord(cell.Text))+1)
		}
	}
	for _, width := range widths {
		sum += width
	}
	return sum
}

func longestWord(text string) (letters int) {
	for _, word := range strings.Fields(text) {
		letters = max(letters, utf8.RuneCountInString(word))
	}
	return letters
}

// Page is the page of a trial.
func (v Tried) Page() templates.TrialPage {
	t, d := v.Trial, v.Snap.Definition
	shown := templates.TrialPage{
		Study: v.Head, Card: v.card(), State: stateWords(d, t), Mark: markOf(d, t), Excluded: t.Excluded, Reason: v.reasonLine(), Waiting: t.Waiting(),
		Ended: t.Status == ledger.StatusFailed || t.Status == ledger.StatusAbandoned, Key: v.Key, Previous: t.Number - 1,
		Facts: v.decisionFacts(), Model: modelTable(d, t.Decision), History: v.entries(),
	}
	if v.Snap.State == ledger.Open {
		shown.NotAgain = study.WhyNotAgain(v.Snap, t)
	}
	if len(t.Doubts) > 0 && !t.Excluded {
		shown.Doubtful = new(v.inDoubt())
	}
	if v.Head.Operates {
		shown.Saved = v.savedJustNow()
	}
	if t.Number < len(v.Snap.Trials) {
		shown.Following = t.Number + 1
	}
	if v.Earlier > 0 {
		shown.Earlier = design.Count(v.Earlier, "earlier entry is", "earlier entries are") + " in the study’s ledger."
	}
	return shown
}

// decisionFacts are the numbers behind the decision, without those of metrics that it had no
// prediction of.
func (v Tried) decisionFacts() (facts []templates.Fact) {
	d, decision := v.Snap.Definition, v.Trial.Decision
	if decision == nil {
		return nil
	}
	add := func(name, value, meaning string) {
		facts = append(facts, templates.Fact{Name: name, Value: value, Meaning: meaning})
	}
	objective := d.Objective.Metric
	blind := slices.DeleteFunc(Modelled(d), func(metric string) bool { return v.hadPrediction(v.Trial, metric) })
	add("Algorithm", decision.Algorithm, "")
	add("Decided from", fmt.Sprintf("ledger entry %d", decision.Seen), "the last one it saw")
	for _, metric := range Modelled(d) {
		if slices.Contains(blind, metric) {
			add("Predicted "+metric, "nothing", "no reading that the model could learn from yet")
		} else if mean, there := decision.Mean[metric]; there {
			add("Predicted "+metric, words.Uncertain(mean, decision.SD[metric], v.unitThen(metric)), "what the model expected here (posterior mean); ± holds about two times in three, without the noise of a reading")
		}
		if beta, there := decision.Beta[metric]; there {
			add("Width for "+metric+" (β)", words.Rough(beta), "how many standard deviations of doubt it allowed for")
		}
	}
	if x, there := decision.Estimates[objective]; there && !slices.Contains(blind, objective) {
		add("Estimate for the objective", words.Rough(x), "modelled units, turned so that more is better")
	}
	for _, c := range d.Constraints {
		if x, there := decision.LimitEstimate(d, c); there && !slices.Contains(blind, c.Metric) {
			add("Estimate for "+c.Name, words.Rough(x), "modelled units, with the margin that is kept; 0 or less stays within the limit")
		}
		if x, there := decision.Multipliers[c.Name]; there {
			add("Multiplier of "+c.Name, words.Rough(x), "the price of breaking the limit")
		}
	}
	if t := decision.Horizon; t > 0 {
		add("Horizon (T)", strconv.Itoa(t), fmt.Sprintf("length of the phase that began with trial %d, from which the algorithm’s constants follow", t))
	}
	if chance := decision.FeasibilityProbability; len(d.Constraints) > 0 && len(blind) == 0 && chance != nil {
		add("Chance to stay within every limit", words.Percent(*chance), "")
	}
	if w := decision.Works; w != nil {
		add("Chance that it works", words.Percent(w.Chance), fmt.Sprintf("%d of %s before it had failed because of the settings", w.Failed, design.Count(w.Of, "trial", "trials")))
	}
	if decision.ExpectedImprovement != nil && !slices.Contains(blind, objective) {
		add("Expected improvement", words.RoughlyApart(*decision.ExpectedImprovement, v.unitThen(objective)),
			fmt.Sprintf("of %s alone, on average over trial %d, which all points are compared with; a worse result counts as no improvement", objective, decision.Incumbent))
	}
	if decision.Acquisition != nil {
		add("Score (acquisition)", words.Rough(*decision.Acquisition), scoreMeaning(decision))
	}
	if decision.RunnerUp != nil {
		add("Runner-up", settingsLine(*v.Snap.InUnitsOf(decision.Seen), decision.RunnerUp.Parameters), "score "+words.Rough(decision.RunnerUp.Acquisition))
	}
	add("Random seed", strconv.FormatUint(decision.RandomSeed, 10), "")
	add("Engine", decision.Engine, "version of the optimizer")
	return facts
}

func scoreMeaning(decision *ledger.Decision) string {
	algorithm, _ := policy.Find(decision.Algorithm)
	switch {
	case decision.Reason == policy.Apart:
		return "the logarithm of what is otherwise maximised; here a random draw was"
	case algorithm.Compares:
		return "the logarithm of what was maximised"
	}
	return "what was maximised"
}

func modelTable(d design.Definition, decision *ledger.Decision) templates.Table {
	table := templates.Table{Head: []templates.Column{column("Metric"), column("Kernel"), column("Lengthscales"), number("Variance", ""), number("λ", ""), number("Centre", ""), number("Scale", ""),
		column("Output warping"), number("Inflation", ""), column("Bands")}}
	if decision == nil {
		return table
	}
	for _, metric := range Modelled(d) {
		m, there := decision.Model[metric]
		if !there {
			continue
		}
		lengthscales := lists.Map(m.Lengthscales, words.Rough)
		kernel := m.Kernel + words.Either(m.Interaction > 0, ", interaction "+words.Rough(m.Interaction), "")
		table.Rows = append(table.Rows, []string{metric, kernel, strings.Join(lengthscales, ", "), words.Rough(m.Variance), words.Rough(m.Lambda), words.Rough(m.Centre), words.Rough(m.Scale),
			warpWords(m.Warp), words.Rough(cmp.Or(m.Inflation, 1)), words.Either(m.Freedom > 0, "Student-t with "+words.Rough(m.Freedom), "normal")})
	}
	return table
}

func warpWords(w warp.Warp) string {
	if w.IsZero() {
		return "none"
	}
	said := fmt.Sprintf("power %s, centre %s, scale %s", words.Rough(w.Power), words.Rough(w.Centre), words.Rough(w.Scale))
	return said + words.Either(w.Logarithmic(), fmt.Sprintf(", origin %s, unit %s", words.Rough(w.Origin), words.Rough(w.Unit)), "")
}

// Sheet is a trial on paper: what to set, the limits, blanks to write in, and the address of its
// page.
func (v Tried) Sheet(address string) (templates.SheetPage, error) {
	code, err := qr.Encode(address, qr.M)
	if err != nil {
		return templates.SheetPage{}, err
	}
	d := v.Snap.Definition
	sheet := templates.SheetPage{Study: v.Head, Card: v.card(), Used: settingsOf(v.Snap.Definition, v.Trial.Parameters), Address: address, Code: qrPath(code), Size: code.Size + 2*quietZone, Printed: words.Exact(v.Now)}
	for _, metric := range append(computedMetrics(d), Told(d)...) {
		line, known := templates.SheetLine{Name: metric, Unit: d.Unit(metric), Limit: limitsText(d, metric)}, d.Metric(metric).Known
		if m, there := v.Trial.Metrics[metric]; there {
			line.Value, line.Note = Measured(v.Snap, v.Trial, metric, m), words.Either(known, "known beforehand", "saved already")
		} else if known {
			continue
		}
		sheet.Lines = append(sheet.Lines, line)
	}
	return sheet, nil
}

// WaitingSheet is all waiting trials on paper that are to be run.
func (v Facts) WaitingSheet() templates.WaitingSheet {
	sheet := templates.WaitingSheet{Study: v.Head, Printed: words.Exact(v.Now), Statuses: string(ledger.StatusSuggested + "," + ledger.StatusPartial)}
	waiting := v.Snap.ToRun()
	trials := lists.Of(len(waiting), func(i int) *ledger.Trial { return &waiting[i] })
	trialsTable{Facts: v}.fillRows(&sheet.Trials, trials)
	if gone := lists.Pick(trials, func(t *ledger.Trial) (string, bool) { return strconv.Itoa(t.Number), v.Of(t).gone() }); len(gone) > 0 {
		sheet.Gone = "Settings that may no longer be chosen: those of " + words.Either(len(gone) == 1, "trial ", "trials ") + design.Listed(gone, "and") + "."
	}
	return sheet
}

// quietZone is the white margin that readers of QR codes need, in modules.
const quietZone = 4

// qrPath draws the dark modules of a QR code as one SVG path, a rectangle for each run of
// neighbours.
func qrPath(code *qr.Code) string {
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			run := 0
			for x+run < code.Size && code.Black(x+run, y) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+quietZone, y+quietZone, run, run)
				x += run
			}
		}
	}
	return path.String()
}
