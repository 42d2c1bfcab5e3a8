package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"headroom/internal/optimizer/policy"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Bounds on a report, so that it stays a file that people can open and print.
const (
	mostReportTrials = 1000 // lines of the table of trials
	mostReportLedger = 1500 // lines of the ledger
	mostReportAmends = 500  // corrections, exclusions and changes
)

// reporting is a study that is reported, with what happened in it.
type reporting struct {
	Facts
	past *Past
}

// Report is the study in one file, and the charts that are still to be drawn into it.
func (v Facts) Report(p *Past) (templates.Report, []Figure, error) { return reporting{v, p}.report() }

func (v reporting) report() (templates.Report, []Figure, error) {
	p := v.past
	d := v.Snap.Definition
	report := templates.Report{
		Name: d.Name, Description: Markdown(d.Description), State: string(v.Snap.State), Notes: study.Notes(v.Snap),
		Entry: v.Snap.Version, Entries: v.Board.Entries, Hash: v.Snap.Hash, Made: words.Exact(v.Now), Verification: v.verificationLines(),
	}
	last, err := v.teller().entryOf(p.last)
	if err != nil {
		return report, nil, err
	}
	report.Moment, report.Event = words.Exact(p.last.At), last.By+" "+last.Text+"."
	report.Parameters, report.Facts = parameterTable(d), studyFacts(d)
	report.Limits = v.limitTable()
	report.Amends, report.Ledger, report.LedgerNote = p.amendTable(), p.ledgerTable(), p.ledgerNote()
	report.Verdict = v.reportVerdict()
	if len(v.Snap.Trials) == 0 {
		return report, nil, nil
	}
	kept := v.reportedTrials()
	report.Trials, report.TrialsNote = v.trialTable(kept)
	if len(kept) < len(v.Snap.Trials) {
		report.TrialsNote = strings.TrimSpace(fmt.Sprintf("%d of %d trials: the newest, and of the others those recommended, best, corrected or taken out. The export as CSV has all of them. ", len(kept), len(v.Snap.Trials)) + report.TrialsNote)
	}
	if p.limitsChanged() {
		report.TrialsNote = strings.TrimSpace(report.TrialsNote + " The results are by the limits as they are now.")
	}
	if v.Modelless != "" {
		return report, nil, nil
	}
	report.Theorem, report.Trust = trusting{v.Facts}.theorem(), trustLines(trusting{v.Facts}.section())
	var figures []Figure
	figures, report.FiguresNote = v.figures()
	return report, figures, nil
}

// parameterTable lists what can be set.
func parameterTable(d design.Definition) templates.Table {
	table := templates.Table{Head: []templates.Column{{Name: "Parameter"}, {Name: "Kind"}, {Name: "From", Number: true}, {Name: "To", Number: true}, {Name: "Unit"}, {Name: "Choices, steps"}}}
	for _, p := range d.Parameters {
		more := strings.Join(p.Choices, ", ")
		switch {
		case p.Type == design.Remainder && p.Total != nil:
			more = "what is left of " + words.Number(*p.Total)
		case p.Step != nil:
			more = "in steps of " + words.Number(*p.Step)
		case p.Scale == "log":
			more = "logarithmic"
		}
		table.Rows = append(table.Rows, []string{p.Name, string(p.Type), optionalNumber(p.Low), optionalNumber(p.High), p.Unit, more})
	}
	return table
}

func optionalNumber(x *float64) string {
	if x == nil {
		return ""
	}
	return words.Number(*x)
}

// studyFacts are how the study decides.
func studyFacts(d design.Definition) []templates.Fact {
	wanted := words.Either(d.Objective.Direction == "minimize", "as low as possible", "as high as possible")
	algorithm := Algorithm(d.Algorithm.Name)
	facts := []templates.Fact{
		{Name: "Objective", Value: words.AxisName(d.Objective.Metric, d.Objective.Unit) + ", " + wanted},
		{Name: "Algorithm", Value: algorithm.Title + " (" + algorithm.Name + ")", Meaning: algorithm.Source},
		{Name: "Trials planned", Value: strconv.Itoa(d.Algorithm.Horizon)},
		{Name: "Model", Value: "kernel " + plainJSON(d.Model.Kernel) + ", hyperparameters " + strings.ReplaceAll(d.Model.Fit, "_", " ")},
		{Name: "Seed", Value: strconv.FormatUint(d.Seed, 10)},
	}
	for _, rule := range d.InputConstraints {
		facts = append(facts, templates.Fact{Name: "Rule for the settings", Value: rule})
	}
	return facts
}

// Algorithm is the description of an algorithm, of the first one when there is none of that name.
func Algorithm(name string) policy.Description {
	all := policy.Descriptions()
	return all[max(0, slices.IndexFunc(all, func(a policy.Description) bool { return a.Name == name }))]
}

// trustLines say how far the model's bands can be trusted, and whether the process has drifted.
func trustLines(t templates.Trust) []string {
	lines := append([]string{t.Summary}, t.Calibrations...)
	for _, d := range t.Drifts {
		lines = append(lines, "Drift: "+d.Text)
	}
	return lines
}

// reportVerdict is the answer that the page gives, for paper.
func (v reporting) reportVerdict() templates.ReportVerdict {
	shown := v.Verdict()
	verdict := templates.ReportVerdict{Heading: shown.Heading}
	add := func(format string, values ...any) {
		verdict.Words = append(verdict.Words, fmt.Sprintf(format, values...))
	}
	if answer := shown.Answer; answer != nil {
		verdict.Heading = "Recommended: the settings of trial " + strconv.Itoa(answer.Number)
		verdict.Settings, verdict.Expected = answer.Settings, v.expectedTable(*answer, shown.Limits)
		if answer.Chance != nil {
			add("Chance to stay within every limit, as far as the model knows: %s.", answer.Chance.Text)
		}
		if answer.Works != nil {
			add("Chance that a trial works there, as far as the model knows: %s.", answer.Works.Text)
		}
		if shown.Unsure != "" {
			add("%s", shown.Unsure)
		}
		if shown.Doubt != "" {
			add("%s", shown.Doubt)
		}
	} else {
		add("%s", shown.None)
	}
	for j, c := range v.Snap.Definition.Constraints {
		if risk := shown.Limits[j].Risk; risk != nil {
			add("%s: %s", design.Capitalised(c.Name), riskInWords(*risk))
		}
	}
	if shown.Risk != nil {
		add("%s", riskInWords(*shown.Risk))
	}
	if closest := shown.Closest; closest != nil {
		add("Closest to the limits: trial %d, with %s. %s", closest.Number, settingsInWords(closest.Settings), closest.Words)
	}
	if open := shown.Undecided; open != nil {
		add("Looks better: trial %d, with %s. Expected there: %s. %s", open.Number, settingsInWords(open.Settings), believedInWords(open.Expected, open.Chance), shown.More)
	}
	if gain := shown.Gain; gain.Best != nil {
		add("How much better it could get: the best within the limits lies at %s to %s with a chance of %s, without the noise of a reading. %s",
			gain.Best.Low.Text, words.With(gain.Best.High.Text, gain.Best.Unit), gain.Best.Level, gain.Words)
	} else if gain.Words != "" {
		add("%s", gain.Words)
	}
	if lucky := shown.Lucky; lucky != nil {
		add("%s, which may owe something to luck: %s at trial %d.", lucky.What, lucky.Value.Text, lucky.Number)
	}
	return verdict
}

func riskInWords(r templates.Risk) string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s allowed, %s expected so far, %s so far. %s", r.Words, r.Allowed.Text, r.Expected.Text, r.SoFar.Text, r.Next))
}

// expectedTable is what is expected of recommended settings, each metric beside the limits on it.
func (v reporting) expectedTable(answer templates.Answer, limits []templates.LimitLine) templates.Table {
	table := templates.Table{Head: []templates.Column{{Name: "Metric"}, {Name: "Expected", Number: true}, {Name: "Model’s 95" + words.Thin + "% band, without the noise of a reading", Number: true},
		{Name: "A reading there, ± one standard deviation, noise included", Number: true}}}
	if len(limits) > 0 {
		table.Head = append(table.Head, templates.Column{Name: "Limit"}, templates.Column{Name: "Distance to the limit"})
	}
	for _, e := range answer.Expected {
		one := func(value templates.Value) string { return words.With(value.Text, e.Unit) }
		var asks, rooms []string
		for j, c := range v.Snap.Definition.Constraints {
			if c.Metric == e.Metric && limits[j].Headroom != nil {
				asks, rooms = append(asks, words.Unbroken(words.Limit(c))), append(rooms, limits[j].Headroom.Text+" "+limits[j].Room)
			}
		}
		row := []string{e.Metric, one(e.Mean), e.Low.Text + " to " + one(e.High), "±" + words.Thin + one(e.ReadingSD), strings.Join(asks, "; "), strings.Join(rooms, "; ")}
		table.Rows = append(table.Rows, row[:len(table.Head)])
	}
	return table
}

// believedInWords is what the model says of some settings: each metric with its band, then the
// chance to stay within every limit where there are any.
func believedInWords(expected []templates.Expected, chance *templates.Value) string {
	var said []string
	band := "model’s 95" + words.Thin + "% band without the noise of a reading"
	for _, e := range expected {
		said = append(said, fmt.Sprintf("%s %s (%s %s to %s)", e.Metric, words.With(e.Mean.Text, e.Unit), band, e.Low.Text, words.With(e.High.Text, e.Unit)))
		band = "band"
	}
	text := strings.Join(said, ", ")
	if chance != nil {
		text += ", with a chance of " + chance.Text + " to stay within every limit"
	}
	return text
}

// reportedTrials are the trials that the report lists: all, or the newest and those of which
// something is to be said.
func (v reporting) reportedTrials() []*ledger.Trial {
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

// How many parameters and metrics have columns of their own on a sheet of paper, and how many
// letters their names may have in all where they are not broken.
const mostColumns, mostLetters = 7, 60

// fitsApart tells whether these columns fit on a sheet of paper beside the rest.
func fitsApart(columns []templates.Column) bool {
	letters := 0
	for _, column := range columns {
		for _, word := range strings.Fields(column.Name) {
			letters += utf8.RuneCountInString(word)
		}
	}
	return len(columns) <= mostColumns && letters <= mostLetters
}

// trialTable lists trials, newest first, as the page's table does: with what was told first where
// that was corrected, and what was chosen where other settings were used.
func (v reporting) trialTable(trials []*ledger.Trial) (table templates.Table, note string) {
	var list templates.Trials
	newestFirst := slices.Clone(trials)
	slices.Reverse(newestFirst)
	listing{Facts: v.Facts}.list(&list, newestFirst)
	columns := slices.Concat(list.Settings, list.Metrics)
	apart := fitsApart(columns)
	if !apart {
		columns = []templates.Column{{Name: "Settings"}, {Name: "Readings"}}
	}
	table = templates.Table{Head: slices.Concat([]templates.Column{{Name: "Trial", Number: true}, {Name: "Result"}}, columns, []templates.Column{{Name: "Note, reason"}})}
	for i, t := range newestFirst {
		line := list.Rows[i]
		row := []string{strconv.Itoa(t.Number), line.State}
		if apart {
			for _, cell := range slices.Concat(line.Settings, line.Metrics) {
				row = append(row, cellWords(cell, ""))
			}
		} else {
			row = append(row, cellsInWords(list.Settings, line.Settings), cellsInWords(list.Metrics, line.Metrics))
		}
		table.Rows = append(table.Rows, append(row, strings.Trim(t.Note+"; "+t.Reason, "; ")))
	}
	return table, list.Note
}

// cellWords is a cell without marks of its own, for paper.
func cellWords(cell templates.Cell, unit string) string {
	if cell.Missing {
		return "–"
	}
	text := words.With(cell.Text, unit)
	if cell.Was != "" {
		text += " (first told " + cell.Was + ")"
	}
	if cell.Chosen != "" {
		text += " (chosen " + cell.Chosen + ")"
	}
	return text
}

// cellsInWords are the cells of several columns in one line, those that are missing left out.
func cellsInWords(columns []templates.Column, cells []templates.Cell) string {
	var said []string
	for i, cell := range cells {
		if !cell.Missing {
			said = append(said, columns[i].Name+" "+cellWords(cell, columns[i].Unit))
		}
	}
	return strings.Join(said, ", ")
}

// Figure is a chart of a report: a part of a chart of the page, with the sentence under it.
type Figure struct {
	Title, Caption string
	Drawing        chart.Drawing
	Table          templates.Table // behind it, where the trials' table is not
}

// mostReportSlices is how many charts of the model along one parameter a report draws.
const mostReportSlices = 24

// figures are the charts of the page one by one, and what is to be said of them together.
func (v reporting) figures() (list []Figure, note string) {
	p := v.panelling()
	list = figuresOf(p.panelsOf(slices.DeleteFunc(p.all(), func(j int) bool { return !v.Snap.HasReading(v.Snap.Definition.Constraints[j].Metric) }), true))
	note = p.denseWords()
	if len(v.Slices) > 0 {
		believed, more := v.believedFigures()
		list, note = append(list, believed...), strings.TrimSpace(note+" "+more)
	}
	if prices := v.priceChart(); prices != nil {
		for i, cell := range prices.Drawing.Cells {
			list = append(list, Figure{Title: cell.Title + " by the " + cell.X.Title, Caption: prices.Notes[0] + " " + prices.Notes[i+1], Drawing: alone(cell)})
		}
	}
	if drift := (trusting{v.Facts}).section().Chart; drift != nil {
		drift.Drawing.Panels[0].Caption = drift.Caption
		list = append(list, figuresOf(drift.Drawing)...)
	}
	return list, note
}

// paperHeight is that of a panel that has paper for itself, in pixels.
const paperHeight = 150

// figuresOf are the panels of a chart one by one.
func figuresOf(d chart.Drawing) (list []Figure) {
	for _, panel := range d.Panels {
		panel.Height = paperHeight
		one := chart.Drawing{X: d.X, Panels: []chart.Panel{panel}, Events: d.Events}
		list = append(list, Figure{Title: panel.Title, Caption: panel.Caption, Drawing: one})
	}
	return list
}

// believedFigures are the map of the page that nobody has changed, and what the model believes
// along each parameter.
func (v reporting) believedFigures() (list []Figure, note string) {
	o := v.Outlook()
	o.Metrics = o.metricsShown()
	if o.X != "" {
		shown := o.mapChart()
		list = append(list, Figure{Title: shown.Title, Caption: shown.Caption + " The table has some of its values.", Drawing: shown.Drawing, Table: o.mapTable()})
	}
	cells := o.sliceGrid().Drawing.Cells
	if len(cells) > mostReportSlices {
		note = fmt.Sprintf("Of %d charts of the model along one parameter the first %d are drawn; the study’s page has all of them.", len(cells), mostReportSlices)
		cells = cells[:mostReportSlices]
	}
	for i, cell := range cells {
		caption := "The other settings are held " + o.Held + "; readings fade with the distance of theirs from that. The band is of the true value, without the noise of a reading."
		if i == 0 {
			caption = influenceWords(o.Snap.Definition, o.influences(), o.Held) + " " + caption
		}
		list = append(list, Figure{Title: cell.Title + " along " + cell.X.Title, Caption: caption, Drawing: alone(cell)})
	}
	return list, note
}

// alone is a small chart by itself.
func alone(cell chart.Panel) chart.Drawing { return chart.Drawing{Cells: []chart.Panel{cell}} }

// mapTableSide is how many values of each parameter the table of a map has: what fits on a sheet of
// paper.
const mapTableSide = 6

// mapTable has some of the map's values: a row for a value of one parameter, a column for one of
// the other.
func (o Outlook) mapTable() templates.Table {
	px, py := parameter(o.Snap.Definition, o.X), parameter(o.Snap.Definition, o.Y)
	rows, columns := spread(len(o.Map.Y)), spread(len(o.Map.X))
	table := templates.Table{Head: []templates.Column{{Name: o.Y + " ↓, " + o.X + " →", Unit: py.Unit}}}
	for _, j := range columns {
		table.Head = append(table.Head, templates.Column{Name: words.Setting(px, o.Map.X[j]), Unit: px.Unit, Number: true})
	}
	var sure []float64 // standard deviations
	for _, i := range rows {
		for _, j := range columns {
			sure = append(sure, o.Map.SD[o.Metric][i][j])
		}
	}
	mean, chances := words.Alike(slices.Min(sure)), o.limited() && o.ModelStands()
	for _, i := range slices.Backward(rows) {
		row := []string{words.Setting(py, o.Map.Y[i])}
		for _, j := range columns {
			cell := mean(o.Map.Mean[o.Metric][i][j])
			if chances {
				cell += " (" + words.Terse(words.Percent(o.Map.Feasible[i][j])) + ")"
			}
			row = append(row, cell)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// spread are at most mapTableSide of n places, evenly, both ends among them.
func spread(n int) []int {
	side := min(n, mapTableSide)
	var list []int
	for k := range side {
		list = append(list, k*(n-1)/max(side-1, 1))
	}
	return list
}
