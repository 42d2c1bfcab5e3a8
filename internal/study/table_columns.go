package study

import (
	"strings"
	"unicode"

	"headroom/internal/study/design"
)

const (
	columnNumber = "number"
	columnStatus = "status"
	columnNote   = "note"
	// chosenBefore begins the titles of columns with settings that were chosen where others were
	// used.
	chosenBefore = "chosen "
)

// columnKind is what a column holds.
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

// ofNumbers tells whether a column holds numbers.
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
	col := column{title: title, name: name}
	switch design.FoldCase(name) {
	case design.FoldCase(columnNumber):
		col.kind = columnIgnored
		return col
	case design.FoldCase(columnStatus):
		col.kind = columnOfStatus
		return col
	case design.FoldCase(columnNote):
		col.kind = columnOfNotes
		return col
	}
	for i, p := range d.Parameters {
		if design.FoldCase(p.Name) == design.FoldCase(name) {
			return column{title: title, name: p.Name, kind: columnParameter, parameter: i}
		}
	}
	for _, m := range d.Metrics() {
		if design.FoldCase(m.Name) != design.FoldCase(name) {
			continue
		}
		if m.Known {
			return column{title: title, name: m.Name, kind: columnGiven}
		}
		return column{title: title, name: m.Name, kind: columnMetric}
	}
	for i, p := range d.Parameters {
		if design.FoldCase(chosenBefore+p.Name) == design.FoldCase(name) {
			return column{title: title, name: chosenBefore + p.Name, kind: columnChosen, parameter: i}
		}
	}
	if metric, found := deviationOf(d, name); found {
		return column{title: title, name: metric + deviationAfter, kind: columnDeviation, metric: metric}
	}
	return col
}

func columnNames(d design.Definition) []string {
	var names []string
	for _, p := range d.Parameters {
		names = append(names, p.Name)
	}
	return append(append(names, d.MetricNames()...), columnNumber, columnStatus, columnNote)
}

// formulaStarts are the characters after which a spreadsheet computes instead of showing a text;
// some take the full-width ones alike.
const formulaStarts = "=+-@\t\r＝＋－＠"

// harmless keeps a spreadsheet from computing a text: it puts an apostrophe before one that begins,
// after any apostrophes of its own and what spreadsheets pass over, like a formula. plain takes it
// off again.
func harmless(text string) string {
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

// deviationOf finds the metric whose standard deviations a column of that title has.
func deviationOf(d design.Definition, name string) (metric string, found bool) {
	for _, m := range d.Metrics() {
		if !m.Known && design.FoldCase(m.Name+deviationAfter) == design.FoldCase(name) {
			return m.Name, true
		}
	}
	return "", false
}

// pending is what people write for a result that is not there yet.
const pending = "PENDING"
