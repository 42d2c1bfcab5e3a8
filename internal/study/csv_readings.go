package study

import (
	"bytes"
	"slices"
	"strings"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

const (
	// deviationAfter ends the title of the column with the standard deviations told of a metric.
	deviationAfter = " stddev"
	// plusMinus stands before a standard deviation in the cell of its reading.
	plusMinus = "±"
)

// keepLineEnds writes carriage returns before line feeds within quoted cells so that package csv,
// which reads CRLF as LF there, reads them as they are.
func keepLineEnds(text []byte) []byte {
	if !bytes.Contains(text, []byte("\r\n")) {
		return text
	}
	kept, quoted := make([]byte, 0, len(text)), false
	for i, c := range text {
		if c == '"' {
			quoted = !quoted
		}
		if quoted && c == '\n' && i > 0 && text[i-1] == '\r' {
			kept = append(kept, '\r')
		}
		kept = append(kept, c)
	}
	return kept
}

// deviationOf finds the metric whose standard deviations a column of that title has.
func deviationOf(d design.Definition, name string) (metric string, found bool) {
	for _, m := range d.Metrics() {
		if !m.Known && design.FoldCase(m.Name+deviationAfter) == design.FoldCase(name) {
			return m.Name, true
		}
	}
	return "", false
}

// readReading reads the cell of a metric: a value, or a value ± its standard deviation.
func (t *table) readReading(row *importRow, i int, cell string) {
	name := t.columns[i].name
	text, deviation, told := strings.Cut(cell, plusMinus)
	value, good := t.readNumber(row, i, strings.TrimSpace(text))
	reading := ledger.Reading{Value: value}
	if good && told {
		var sd float64
		sd, good = t.readDeviation(row, i, strings.TrimSpace(deviation))
		reading.StdDev = &sd
	}
	if good {
		row.Metrics[name] = reading
	}
}

func (t *table) readNumber(row *importRow, i int, cell string) (float64, bool) {
	value, err := t.number(cell)
	switch {
	case err != nil:
		t.cellFault(row.Line, i, cell, "%s", wrongNumber(cell, err, "leave it blank or write "+pending+" if it is not measured"))
	case !design.Computable(value):
		t.cellFault(row.Line, i, cell, "a finite number of at most 1e100 in size is needed")
	default:
		return value, true
	}
	return 0, false
}

func (t *table) readDeviation(row *importRow, i int, cell string) (float64, bool) {
	sd, err := t.number(cell)
	if err != nil || !(sd > 0 && sd <= design.Largest) {
		t.cellFault(row.Line, i, cell, "%q is no standard deviation; leave it blank where none is known, else write a number above 0", design.Shorten(cell))
		return 0, false
	}
	return sd, true
}

// readDeviations reads the columns of standard deviations, once the readings are there that they
// belong to.
func (t *table) readDeviations(row *importRow, cells []string) {
	for i, col := range t.columns {
		cell := strings.TrimSpace(cells[i])
		if col.kind != columnDeviation || notMeasured(cell) {
			continue
		}
		reading, there := row.Metrics[col.metric]
		sd, good := t.readDeviation(row, i, cell)
		switch {
		case !good:
		case !there && t.filled(col.metric, cells): // with what is a fault already
		case !there:
			t.cellFault(row.Line, i, cell, "belongs to a reading of %s, and there is none", col.metric)
		case reading.StdDev != nil && *reading.StdDev != sd:
			t.cellFault(row.Line, i, cell, "is another standard deviation than the one beside the value of %s", col.metric)
		default:
			row.Metrics[col.metric] = ledger.Reading{Value: reading.Value, StdDev: &sd}
		}
	}
}

func notMeasured(cell string) bool { return cell == "" || strings.EqualFold(cell, pending) }

// filled tells whether something stands in the column of a metric.
func (t *table) filled(metric string, cells []string) bool {
	i := slices.IndexFunc(t.columns, func(col column) bool { return col.kind == columnMetric && col.name == metric })
	return i >= 0 && !notMeasured(strings.TrimSpace(cells[i]))
}

// metricColumns are the titles of the metrics' columns, and for each metric whether one with its
// standard deviations follows: where some were told, and the title is not another's.
func metricColumns(d design.Definition, trials []*ledger.Trial) (titles []string, deviations map[string]bool) {
	deviations = map[string]bool{}
	for _, m := range d.MetricNames() {
		titles = append(titles, harmless(m))
		told := slices.ContainsFunc(trials, func(t *ledger.Trial) bool { return t.Metrics[m].StdDev != nil })
		if told && columnOf(d, m+deviationAfter).kind == columnDeviation {
			titles, deviations[m] = append(titles, harmless(m+deviationAfter)), true
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
