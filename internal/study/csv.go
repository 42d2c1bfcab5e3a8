package study

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pending is what people write for a result that is not there yet.
const pending = "PENDING"

const (
	columnNumber = "number"
	columnStatus = "status"
	columnNote   = "note"
)

const (
	maxTable = 8 << 20 // bytes
	maxRows  = 10_000
)

// importRow is one row of an imported table: a round, and what was read in it.
type importRow struct {
	Line     int      // in the file, from 1
	Settings Settings // as they will be kept
	Arm      int      // candidate, −1 without candidates
	Point    []float64
	Readings map[string]Reading // by metric; only told ones
	Known    map[string]float64 // values in columns of known-form or sampled metrics, by metric
	Note     string
}

// parseCSV reads an imported table. The error is *Invalid with every bad cell by line and column (locations like
// "body.lines[12].yield"); unknown columns are a fault unless ignoreUnknown, and are listed either way.
func (c *compiled) parseCSV(file io.Reader, ignoreUnknown bool) (rows []importRow, unknown []string, err error) {
	text, err := readTable(file)
	if err != nil {
		return nil, nil, err
	}
	var t table
	for _, separator := range []rune{',', ';'} {
		if candidate := c.readHeader(text, separator); t.cells == nil || candidate.better(t) {
			t = candidate
		}
	}
	unknown = t.checkHeader(c, ignoreUnknown)
	if err := t.faults.invalid(); err != nil {
		return nil, unknown, err
	}
	rows = t.readRows(c)
	if err := t.faults.invalid(); err != nil {
		return nil, unknown, err
	}
	return rows, unknown, nil
}

func readTable(file io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(file, maxTable+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTable {
		return nil, fmt.Errorf("a table has at most %d bytes: %w", maxTable, ErrTooLarge)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return nil, &Invalid{Faults: []Fault{{Location: "body", Message: "the table is not UTF-8; save it as “CSV UTF-8”"}}}
	}
	return text, nil
}

// columnKind is what a column holds.
type columnKind int

const (
	columnUnknown columnKind = iota
	columnIgnored
	columnParameter
	columnMetric
	columnGiven // a metric that is known when a decision is made
	columnOfNotes
)

type column struct {
	title string // as in the file
	name  string // the parameter's or metric's own name
	kind  columnKind
}

// table is a table being read.
type table struct {
	cells        *csv.Reader
	decimalComma bool
	columns      []column
	known        int // columns that mean something
	broken       error
	faults       faults
}

func (c *compiled) readHeader(text []byte, separator rune) table {
	cells := csv.NewReader(bytes.NewReader(text))
	cells.Comma = separator
	cells.FieldsPerRecord = -1
	cells.ReuseRecord = true
	t := table{cells: cells, decimalComma: separator == ';'}
	var titles []string
	titles, t.broken = cells.Read()
	for _, title := range titles {
		col := c.column(strings.Clone(title))
		if col.kind != columnUnknown {
			t.known++
		}
		t.columns = append(t.columns, col)
	}
	return t
}

// better tells which of two readings of the same header makes more of it.
func (t table) better(other table) bool {
	if t.known != other.known {
		return t.known > other.known
	}
	return len(t.columns) > len(other.columns)
}

// column finds what a title means, ignoring case.
func (c *compiled) column(title string) column {
	name := plain(strings.TrimSpace(title))
	col := column{title: title, name: name}
	switch foldCase(name) {
	case foldCase(columnNumber), foldCase(columnStatus):
		col.kind = columnIgnored
		return col
	case foldCase(columnNote):
		col.kind = columnOfNotes
		return col
	}
	for i := range c.space.axes {
		if p := c.space.axes[i].Name; foldCase(p) == foldCase(name) {
			return column{title, p, columnParameter}
		}
	}
	for _, m := range c.metrics {
		if foldCase(m.Name) != foldCase(name) {
			continue
		}
		if m.Known {
			return column{title, m.Name, columnGiven}
		}
		return column{title, m.Name, columnMetric}
	}
	return col
}

// checkHeader reports a header that cannot be used and returns the titles that mean nothing.
func (t *table) checkHeader(c *compiled, ignoreUnknown bool) (unknown []string) {
	if errors.Is(t.broken, io.EOF) {
		t.faults.add("body", nil, "the table is empty; its first line names the columns")
		return nil
	}
	if t.broken != nil {
		t.unreadable(t.broken)
		return nil
	}
	first := map[string]int{}
	for i, col := range t.columns {
		at := fmt.Sprintf("body.columns[%d]", i)
		j, twice := first[foldCase(col.name)]
		switch {
		case col.kind == columnUnknown && strings.TrimSpace(col.title) == "":
			continue // an empty column, as spreadsheets leave behind; its cells are checked
		case col.kind == columnUnknown:
			unknown = append(unknown, col.title)
			if !ignoreUnknown {
				t.faults.add(at, shorten(col.title), "%s; ignore_unknown=true leaves the column out", unknownName("parameter or metric", col.name, c.columnNames()))
			}
		case twice && col.kind != columnIgnored:
			t.faults.add(at, col.title, "columns %d and %d are both %q", j+1, i+1, col.name)
		}
		first[foldCase(col.name)] = i
	}
	for i := range c.space.axes {
		if a := &c.space.axes[i]; a.Type != Remainder && !t.has(a.Name) {
			t.faults.add("body.columns", nil, "there is no column for the parameter %q", a.Name)
		}
	}
	return unknown
}

func (t *table) has(name string) bool {
	return slices.ContainsFunc(t.columns, func(col column) bool { return col.kind != columnUnknown && col.name == name })
}

func (c *compiled) columnNames() []string {
	names := c.space.names()
	for _, m := range c.metrics {
		names = append(names, m.Name)
	}
	return append(names, columnNumber, columnStatus, columnNote)
}

func (t *table) unreadable(err error) {
	var at *csv.ParseError
	if errors.As(err, &at) {
		t.faults.add(fmt.Sprintf("body.lines[%d]", at.Line), nil, "line %d, character %d: %s", at.Line, at.Column, at.Err)
		return
	}
	t.faults.add("body", nil, "the table cannot be read: %s", err)
}

func (t *table) readRows(c *compiled) []importRow {
	var rows []importRow
	for len(rows) <= maxRows {
		cells, err := t.cells.Read()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.unreadable(err)
			return nil
		}
		line, _ := t.cells.FieldPos(0)
		if blank(cells) {
			continue
		}
		if row, ok := t.readRow(c, cells, line); ok {
			rows = append(rows, row)
		}
	}
	t.faults.add("body", nil, "the table has more than %d rows; import it in parts", maxRows)
	return nil
}

func blank(cells []string) bool {
	return !slices.ContainsFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) != "" })
}

// readRow reads one row; ok is false when it has faults, all of which are noted.
func (t *table) readRow(c *compiled, cells []string, line int) (row importRow, ok bool) {
	before := len(t.faults)
	at := fmt.Sprintf("body.lines[%d]", line)
	if len(cells) != len(t.columns) {
		t.faults.add(at, len(cells), "line %d has %d cells; the first line names %d columns%s", line, len(cells), len(t.columns), t.commaHint())
		return row, false
	}
	row = importRow{Line: line, Settings: Settings{}, Readings: map[string]Reading{}, Known: map[string]float64{}}
	for i, cell := range cells {
		t.readCell(c, &row, i, strings.Clone(cell))
	}
	if len(t.faults) > before {
		return row, false
	}
	settings, place, wrong := c.place(row.Settings, at)
	for _, fault := range wrong {
		t.faults.add(fault.Location, fault.Value, "line %d, %s: %s", line, strings.TrimPrefix(strings.TrimPrefix(fault.Location, at), "."), fault.Message)
	}
	row.Settings, row.Point, row.Arm = settings, place.U, place.Arm
	return row, len(wrong) == 0
}

func (t *table) commaHint() string {
	if t.decimalComma {
		return ""
	}
	return "; numbers with a decimal comma need ; between the columns"
}

func (t *table) readCell(c *compiled, row *importRow, i int, cell string) {
	col, trimmed := t.columns[i], strings.TrimSpace(cell)
	empty := trimmed == "" || strings.EqualFold(trimmed, pending)
	switch col.kind {
	case columnOfNotes:
		if wrong := checkNote(plain(cell), "note"); len(wrong) > 0 {
			t.cellFault(row.Line, i, "", "%s", wrong[0].Message)
		}
		row.Note = plain(cell)
	case columnParameter:
		if trimmed != "" {
			t.readSetting(&c.space.axes[c.space.index[col.name]], row, i, trimmed)
		} else if c.space.axes[c.space.index[col.name]].Type != Remainder {
			t.cellFault(row.Line, i, cell, "is empty; every parameter needs a value")
		}
	case columnMetric, columnGiven:
		if empty {
			return
		}
		value, err := t.number(trimmed)
		switch {
		case err != nil:
			t.cellFault(row.Line, i, cell, "%q is not a number; leave it blank or write %s if it is not measured", shorten(trimmed), pending)
		case col.kind == columnGiven:
			row.Known[col.name] = value
		default:
			for _, wrong := range checkReading(Reading{Value: value}, col.name) {
				t.cellFault(row.Line, i, cell, "%s", wrong.Message)
			}
			row.Readings[col.name] = Reading{Value: value}
		}
	case columnUnknown:
		if strings.TrimSpace(col.title) == "" && trimmed != "" {
			t.cellFault(row.Line, i, cell, "the column has no name")
		}
	case columnIgnored:
	}
}

func (t *table) readSetting(a *axis, row *importRow, i int, cell string) {
	if a.Type == Categorical {
		text := plain(cell)
		if !slices.Contains(a.Choices, text) {
			text = cell
		}
		row.Settings[a.Name] = TextValue(text)
		if !slices.Contains(a.Choices, text) {
			t.cellFault(row.Line, i, cell, "%q is unknown; it must be %s", shorten(cell), a.wanted())
		}
		return
	}
	x, err := t.number(cell)
	if err != nil {
		t.cellFault(row.Line, i, cell, "%q is not a number; it must be %s", shorten(cell), a.wanted())
		return
	}
	row.Settings[a.Name] = NumberValue(x)
}

func (t *table) cellFault(line, i int, cell, format string, args ...any) {
	col := t.columns[i]
	name := col.name
	if name == "" {
		name = strconv.Itoa(i + 1)
	}
	var value any
	if cell != "" {
		value = shorten(cell)
	}
	t.faults.add(fmt.Sprintf("body.lines[%d].%s", line, name), value, "line %d, column %s: %s", line, name, fmt.Sprintf(format, args...))
}

// number reads a decimal number, with a decimal comma where columns are separated by semicolons, and with the minus
// sign of typography.
func (t *table) number(cell string) (float64, error) {
	cell = strings.Replace(cell, "−", "-", 1)
	if t.decimalComma && !strings.Contains(cell, ".") {
		cell = strings.Replace(cell, ",", ".", 1)
	}
	return parseNumber(cell)
}

// WriteCSV writes the trials as a table that can be imported again: blank cells are not measured.
func WriteCSV(w io.Writer, d Definition, trials []Trial) error {
	out := csv.NewWriter(w)
	titles := []string{columnNumber, columnStatus}
	metrics := d.metricNames()
	for _, p := range d.Parameters {
		titles = append(titles, harmless(p.Name))
	}
	for _, m := range metrics {
		titles = append(titles, harmless(m))
	}
	if err := out.Write(append(titles, columnNote)); err != nil {
		return err
	}
	for i := range trials {
		if err := out.Write(cellsOf(&trials[i], d.Parameters, metrics)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func cellsOf(t *Trial, parameters []Parameter, metrics []string) []string {
	cells := []string{strconv.Itoa(t.Number), string(t.Status)}
	for _, p := range parameters {
		v := t.Parameters[p.Name]
		if v.IsText {
			cells = append(cells, harmless(v.Text))
		} else {
			cells = append(cells, v.String())
		}
	}
	for _, m := range metrics {
		cell := ""
		if measured, ok := t.Metrics[m]; ok {
			cell = formatNumber(measured.Value)
		}
		cells = append(cells, cell)
	}
	return append(cells, harmless(t.Note))
}

// formulaStarts are the characters after which a spreadsheet computes instead of showing a text.
const formulaStarts = "=+-@\t\r"

// harmless keeps a spreadsheet from computing a text: it puts an apostrophe before one that begins, after any
// apostrophes of its own, like a formula. plain takes it off again.
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
	rest := strings.TrimLeft(text, "'")
	return rest != "" && strings.IndexByte(formulaStarts, rest[0]) >= 0
}
