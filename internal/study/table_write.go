package study

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// WriteCSV writes the trials as a table that can be imported again, to the same settings, readings
// with their standard deviations and notes: blank cells are not measured. Where settings other than
// those chosen were used, further columns have those that chosen tells of a trial; nil tells
// nothing.
func WriteCSV(w io.Writer, d design.Definition, trials []*ledger.Trial, chosen func(number int) design.Settings) error {
	out := csv.NewWriter(w)
	titles := []string{columnNumber, columnStatus}
	for _, p := range d.Parameters {
		titles = append(titles, harmless(p.Name))
	}
	metrics, deviations := metricColumns(d, trials)
	titles = append(append(titles, metrics...), columnNote)
	otherwise := usedOtherwise(d, trials, chosen)
	for _, p := range otherwise {
		titles = append(titles, harmless(chosenBefore+p.Name))
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
		cells = append(cells, settingCell(t.Parameters[p.Name]))
	}
	for _, m := range d.MetricNames() {
		cells = append(cells, readingCells(t, m, deviations[m])...)
	}
	return append(cells, harmless(t.Note))
}

func settingCell(v design.Value) string {
	if v.IsText {
		return harmless(v.Text)
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
		return settingCell(value)
	}
	return ""
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
