package study

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

const (
	columnNumber = "number"
	columnStatus = "status"
	columnNote   = "note"
	// chosenBefore begins the titles of columns with settings that were chosen where others were
	// used.
	chosenBefore = "chosen "
)

type columnKind int

const (
	columnUnknown columnKind = iota
	columnIgnored
	columnOfStatus
	columnParameter
	columnChosen
	columnMetric
	columnGiven // a metric that is known when a decision is made
	columnDeviation
	columnOfNotes
)

type column struct {
	title     string // as in the file
	name      string // the parameter's or metric's own name
	kind      columnKind
	parameter int    // index into the study's
	metric    string // whose standard deviations the column has
}

func (col column) ofNumbers(d design.Definition) bool {
	switch col.kind {
	case columnMetric, columnGiven, columnDeviation:
		return true
	case columnParameter, columnChosen:
		return d.Parameters[col.parameter].Type != design.Categorical
	}
	return false
}

// columnOf finds what a title means, ignoring case.
func columnOf(d design.Definition, title string) column {
	name := plain(strings.TrimSpace(title))
	folded := design.FoldCase(name)
	is := func(known string) bool { return design.FoldCase(known) == folded }
	switch {
	case is(columnNumber):
		return column{title: title, name: name, kind: columnIgnored}
	case is(columnStatus):
		return column{title: title, name: name, kind: columnOfStatus}
	case is(columnNote):
		return column{title: title, name: name, kind: columnOfNotes}
	}
	for i, p := range d.Parameters {
		if is(p.Name) {
			return column{title: title, name: p.Name, kind: columnParameter, parameter: i}
		}
	}
	metrics := d.Metrics()
	for _, m := range metrics {
		switch {
		case !is(m.Name):
		case m.Known:
			return column{title: title, name: m.Name, kind: columnGiven}
		default:
			return column{title: title, name: m.Name, kind: columnMetric}
		}
	}
	for i, p := range d.Parameters {
		if is(chosenBefore + p.Name) {
			return column{title: title, name: chosenBefore + p.Name, kind: columnChosen, parameter: i}
		}
	}
	for _, m := range metrics {
		if !m.Known && is(m.Name+deviationAfter) {
			return column{title: title, name: m.Name + deviationAfter, kind: columnDeviation, metric: m.Name}
		}
	}
	return column{title: title, name: name}
}

func columnNames(d design.Definition) []string {
	return append(append(d.ParameterNames(), d.MetricNames()...), columnNumber, columnStatus, columnNote)
}

// formulaStarts are the characters after which a spreadsheet computes instead of showing a text;
// some take the full-width ones alike.
const formulaStarts = "=+-@\t\r＝＋－＠"

// Harmless keeps a spreadsheet from computing a text: it puts an apostrophe before one that begins,
// after any apostrophes of its own and what spreadsheets pass over, like a formula. plain takes it
// off again.
func Harmless(text string) string {
	if beginsFormula(text) {
		return "'" + text
	}
	return text
}

func plain(cell string) string {
	if strings.HasPrefix(cell, "'") && beginsFormula(cell) {
		return cell[1:]
	}
	return cell
}

func beginsFormula(text string) bool {
	for _, r := range text {
		if strings.ContainsRune(formulaStarts, r) {
			return true
		}
		if r != '\'' && !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf) {
			return false
		}
	}
	return false
}

const (
	// deviationAfter ends the title of the column with the standard deviations told of a metric.
	deviationAfter = " stddev"
	// plusMinus stands before a standard deviation in the cell of its reading.
	plusMinus = "±"
)

// pending is what people write for a result that is not there yet.
const pending = "PENDING"

// WriteCSV writes the trials as a table that can be imported again, to the same settings, readings
// with their standard deviations and notes: blank cells are not measured. Where settings other than
// those chosen were used, further columns have those that chosen tells of a trial; nil tells
// nothing.
func WriteCSV(w io.Writer, d design.Definition, trials []*ledger.Trial, chosen func(number int) design.Settings) error {
	out := csv.NewWriter(w)
	titles := append([]string{columnNumber, columnStatus}, lists.Map(d.ParameterNames(), Harmless)...)
	metrics, deviations := metricColumns(d, trials)
	titles = append(append(titles, metrics...), columnNote)
	otherwise := usedOtherwise(d, trials, chosen)
	for _, p := range otherwise {
		titles = append(titles, Harmless(chosenBefore+p.Name))
	}
	if err := out.Write(titles); err != nil {
		return err
	}
	for _, t := range trials {
		cells := cellsOf(t, d, deviations)
		for _, p := range otherwise {
			cells = append(cells, chosenCell(t, p, chosen))
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func cellsOf(t *ledger.Trial, d design.Definition, deviations map[string]bool) []string {
	cells := []string{strconv.Itoa(t.Number), string(t.Status)}
	for _, p := range d.Parameters {
		cells = append(cells, SettingCell(t.Parameters[p.Name]))
	}
	for _, m := range d.MetricNames() {
		cells = append(cells, readingCells(t, m, deviations[m])...)
	}
	return append(cells, Harmless(t.Note))
}

// SettingCell is a setting in the cell of a spreadsheet.
func SettingCell(v design.Value) string {
	if v.IsText {
		return Harmless(v.Text)
	}
	return v.String()
}

// usedOtherwise are the parameters that some trial was run with at another value than the chosen
// one.
func usedOtherwise(d design.Definition, trials []*ledger.Trial, chosen func(int) design.Settings) (parameters []design.Parameter) {
	for _, p := range d.Parameters {
		differs := func(t *ledger.Trial) bool { return chosenCell(t, p, chosen) != "" }
		if columnOf(d, chosenBefore+p.Name).kind == columnChosen && slices.ContainsFunc(trials, differs) {
			parameters = append(parameters, p)
		}
	}
	return parameters
}

// chosenCell is the value chosen for a parameter, "" where it is the one used.
func chosenCell(t *ledger.Trial, p design.Parameter, chosen func(int) design.Settings) string {
	if chosen == nil || !t.SettingsChanged {
		return ""
	}
	if value := chosen(t.Number)[p.Name]; value != t.Parameters[p.Name] {
		return SettingCell(value)
	}
	return ""
}

// metricColumns are the titles of the metrics' columns, and for each metric whether one with its
// standard deviations follows: where some were told, and the title is not another's.
func metricColumns(d design.Definition, trials []*ledger.Trial) (titles []string, deviations map[string]bool) {
	deviations = map[string]bool{}
	for _, m := range d.MetricNames() {
		titles = append(titles, Harmless(m))
		told := slices.ContainsFunc(trials, func(t *ledger.Trial) bool { return t.Metrics[m].StdDev != nil })
		if told && columnOf(d, m+deviationAfter).kind == columnDeviation {
			titles, deviations[m] = append(titles, Harmless(m+deviationAfter)), true
		}
	}
	return titles, deviations
}

// readingCells are the cells of one metric: the value, and its standard deviation in a column of
// its own or, where that has none, beside it.
func readingCells(t *ledger.Trial, metric string, column bool) []string {
	value, deviation := "", ""
	if measured, there := t.Metrics[metric]; there {
		value = design.NumberValue(measured.Value).String()
		if measured.StdDev != nil {
			deviation = design.NumberValue(*measured.StdDev).String()
		}
	}
	switch {
	case column:
		return []string{value, deviation}
	case deviation != "":
		return []string{value + plusMinus + deviation}
	}
	return []string{value}
}
