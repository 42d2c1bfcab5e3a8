package study

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

const (
	columnNumber = "number"
	columnStatus = "status"
	columnNote   = "note"
	// chosenBefore begins the title of a column with the settings that were chosen where others
	// were used.
	chosenBefore = "chosen "
)

type columnKind int

const (
	columnUnknown columnKind = iota
	columnOfNumbers
	columnOfStatus
	columnParameter
	columnChosen
	columnMetric
	columnGiven // a metric that is known when a decision is made
	columnDeviation
	columnOfNotes
)

type column struct {
	title     string // as written in the file
	name      string // the parameter's or metric's own name
	kind      columnKind
	parameter int    // index into the study's
	metric    string // of a column of standard deviations
	unit      string // may follow its numbers
	saysUnit  bool   // the title does
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

// knownColumns returns the columns that a table of the study may have, in order of precedence.
func knownColumns(d design.Definition) []column {
	columns := []column{{name: columnNumber, kind: columnOfNumbers}, {name: columnStatus, kind: columnOfStatus}, {name: columnNote, kind: columnOfNotes}}
	for i, p := range d.Parameters {
		columns = append(columns, column{name: p.Name, kind: columnParameter, parameter: i, unit: p.Unit})
	}
	for _, m := range d.Metrics() {
		kind := columnMetric
		if m.Known {
			kind = columnGiven
		}
		columns = append(columns, column{name: m.Name, kind: kind, unit: m.Unit})
	}
	for i, p := range d.Parameters {
		columns = append(columns, column{name: chosenBefore + p.Name, kind: columnChosen, parameter: i, unit: p.Unit})
	}
	for _, m := range d.Metrics() {
		if !m.Known {
			columns = append(columns, column{name: m.Name + deviationAfter, kind: columnDeviation, metric: m.Name, unit: m.Unit})
		}
	}
	return columns
}

// isNamed reports whether the title of the column is the name of a parameter or a metric.
func (col column) isNamed() bool {
	return col.kind == columnParameter || col.kind == columnMetric || col.kind == columnGiven
}

// columnOf returns what a title means, ignoring case, with or without the unit after a name.
func columnOf(d design.Definition, title string) column {
	name, known := unescape(strings.TrimSpace(title)), knownColumns(d)
	col, found := lists.Find(known, func(col column) bool { return design.FoldCase(col.name) == design.FoldCase(name) })
	if !found {
		col, found = lists.Find(known, func(col column) bool { return col.isNamed() && hasUnit(name, col.name, col.unit) })
		col.saysUnit = found
	}
	if !found || col.kind == columnOfNumbers || col.kind == columnOfStatus || col.kind == columnOfNotes {
		col.name = name // as typed
	}
	col.title = title
	return col
}

// hasUnit reports whether a title is that name with its unit, as in "Temperature (°C)" and
// "Temperature / °C".
func hasUnit(title, name, unit string) bool {
	behind, is := strings.CutPrefix(design.FoldCase(title), design.FoldCase(name))
	rest := strings.TrimLeft(behind, " ([/,")
	return is && unit != "" && rest != behind && strings.TrimRight(rest, " )]") == design.FoldCase(unit)
}

// titleHint returns a hint about an unknown title that begins with a known name: another unit, or
// standard deviations.
func titleHint(d design.Definition, title string) string {
	for _, col := range knownColumns(d) {
		behind, is := strings.CutPrefix(design.FoldCase(title), design.FoldCase(col.name))
		rest := strings.TrimLeft(behind, " _")
		withUnit := rest != "" && strings.ContainsRune("([/", rune(rest[0]))
		switch {
		case !is || !col.isNamed():
		case withUnit && col.unit == "":
			return "; " + col.name + " has no unit"
		case withUnit:
			return "; " + col.name + " is in " + col.unit
		case col.kind == columnMetric && rest != behind:
			return fmt.Sprintf("; standard deviations of %s stand in a column %q", col.name, col.name+deviationAfter)
		}
	}
	return ""
}

func columnNames(d design.Definition) []string {
	return append(append(d.ParameterNames(), d.MetricNames()...), columnNumber, columnStatus, columnNote)
}

// formulaStarts are the characters that make a spreadsheet compute a text instead of showing it;
// some spreadsheets accept the full-width ones, too.
const formulaStarts = "=+-@\t\r＝＋－＠"

// EscapeFormula keeps a spreadsheet from computing a text: it puts an apostrophe before one that
// looks like a formula after any apostrophes of its own and characters that spreadsheets skip.
// plain removes it.
func EscapeFormula(text string) string {
	if beginsFormula(text) {
		return "'" + text
	}
	return text
}

func unescape(cell string) string {
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
	// deviationAfter ends the title of the column with a metric's standard deviations.
	deviationAfter = " stddev"
	// plusMinus precedes a standard deviation in the cell of its reading.
	plusMinus = "±"
)

// pending is what people write for a result that is not there yet.
const pending = "PENDING"

// CSV returns the trials as a table. Imported again, it gives the same settings, readings with
// standard deviations, and notes; a blank cell is not measured. chosen returns the settings chosen
// for a trial; where others were used they follow in further columns, unless chosen is nil. With
// decimal commas, as spreadsheets of some languages expect them, semicolons separate the columns
// and a UTF-8 byte order mark comes first.
func CSV(d design.Definition, trials []*ledger.Trial, chosen func(number int) design.Settings, decimals design.Decimals) []byte {
	var file bytes.Buffer // takes everything
	out, commas := csv.NewWriter(&file), decimals == design.DecimalComma
	if commas {
		out.Comma = ';'
		file.WriteString("\ufeff")
	}
	titles := append([]string{columnNumber, columnStatus}, lists.Map(d.ParameterNames(), EscapeFormula)...)
	metrics, deviations := metricColumns(d, trials)
	titles = append(append(titles, metrics...), columnNote)
	otherwise := usedOtherwise(d, trials, chosen)
	titles = append(titles, lists.Map(otherwise, func(p design.Parameter) string { return EscapeFormula(chosenBefore + p.Name) })...)
	out.Write(titles)
	withComma := lists.Map(titles, func(title string) bool { return commas && columnOf(d, title).ofNumbers(d) })
	for _, t := range trials {
		cells := append(cellsOf(t, d, deviations), lists.Map(otherwise, func(p design.Parameter) string { return chosenCell(t, p, chosen) })...)
		for i := range cells {
			if withComma[i] {
				cells[i] = strings.ReplaceAll(cells[i], ".", ",")
			}
		}
		out.Write(cells)
	}
	out.Flush()
	return file.Bytes()
}

func cellsOf(t *ledger.Trial, d design.Definition, deviations map[string]bool) []string {
	cells := []string{strconv.Itoa(t.Number), string(t.Status)}
	cells = append(cells, lists.Map(d.Parameters, func(p design.Parameter) string { return SettingCell(t.Parameters[p.Name]) })...)
	for _, m := range d.MetricNames() {
		cells = append(cells, readingCells(t, m, deviations[m])...)
	}
	return append(cells, EscapeFormula(t.Note))
}

// SettingCell returns a setting as the text of a spreadsheet cell.
func SettingCell(v design.Value) string {
	if v.IsText {
		return EscapeFormula(v.Text)
	}
	return v.String()
}

// usedOtherwise returns the parameters with a value other than the chosen one in some trial.
func usedOtherwise(d design.Definition, trials []*ledger.Trial, chosen func(int) design.Settings) (parameters []design.Parameter) {
	for _, p := range d.Parameters {
		differs := func(t *ledger.Trial) bool { return chosenCell(t, p, chosen) != "" }
		if columnOf(d, chosenBefore+p.Name).kind == columnChosen && slices.ContainsFunc(trials, differs) {
			parameters = append(parameters, p)
		}
	}
	return parameters
}

// chosenCell returns the value chosen for a parameter, "" if it is the one used.
func chosenCell(t *ledger.Trial, p design.Parameter, chosen func(int) design.Settings) string {
	if chosen == nil || !t.SettingsChanged {
		return ""
	}
	if value := chosen(t.Number)[p.Name]; value != t.Parameters[p.Name] {
		return SettingCell(value)
	}
	return ""
}

// metricColumns returns the titles of the metrics' columns, and for which metrics a column with
// standard deviations follows: where some were told and the title has no other meaning.
func metricColumns(d design.Definition, trials []*ledger.Trial) (titles []string, deviations map[string]bool) {
	deviations = map[string]bool{}
	for _, m := range d.MetricNames() {
		titles = append(titles, EscapeFormula(m))
		told := slices.ContainsFunc(trials, func(t *ledger.Trial) bool { return t.Metrics[m].StdDev != nil })
		if told && columnOf(d, m+deviationAfter).kind == columnDeviation {
			titles, deviations[m] = append(titles, EscapeFormula(m+deviationAfter)), true
		}
	}
	return titles, deviations
}

// readingCells returns the cells of one metric: the value, and its standard deviation in a column
// of its own or, if there is none, beside the value.
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

const (
	maxTable   = 8 << 20 // bytes
	maxRows    = 10_000
	maxColumns = 1000
	// longestTitle is above the length of every known title, in bytes.
	longestTitle = 2000
)

// importRow is one row of an imported table: a person's own trial with its readings, and its
// settings as they will be kept.
type importRow struct {
	Line   int // of the file, from 1
	Number int // as it stands there, 0 for none
	OwnTrial
	Known  map[string]float64 // values of known constraints in the row, by metric
	Chosen design.Settings    // settings chosen, as read, if others were used
	Used   design.Settings    // settings used, nil if they are those chosen
	InUnit map[string]bool    // readings of which the table says that they are in today's unit
	place  optimizer.Place    // of the chosen settings
	record bool               // its status says that it is a trial from a study
	ended  string             // its status if that means failed or abandoned
	beyond design.Faults      // why its settings, which were used, could not be chosen
}

// at returns the location of the row in faults.
func (row importRow) at() string { return fmt.Sprintf("lines[%d]", row.Line) }

// waits reports whether the row's trial will wait for a reading.
func (row importRow) waits(c *design.Compiled) bool {
	return slices.ContainsFunc(c.MetricNames, func(metric string) bool { _, read := row.Metrics[metric]; return !read })
}

// used returns the settings that the row was run with.
func (row importRow) used() design.Settings {
	if row.Used != nil {
		return row.Used
	}
	return row.Parameters
}

// parseCSV reads a table to be imported. The error is *Invalid with every bad cell by line and
// column (locations like "lines[12].yield"). Unknown columns are faults unless they are ignored,
// and are listed either way.
func parseCSV(c *design.Compiled, file io.Reader, opt ImportOptions) (rows []importRow, unknown []string, err error) {
	text, err := readTable(file)
	if err != nil {
		return nil, nil, err
	}
	t := openTable(c, text)
	t.beyondBounds, t.byNumber = opt.BeyondBounds, opt.ByNumber
	unknown = t.checkHeader(c, opt.IgnoreUnknown)
	if err := t.faults.Err(); err != nil {
		return nil, unknown, err
	}
	t.marks = t.detectMarks(c.Def, text, opt.Decimals)
	rows = t.readRows(c)
	if err := t.faults.Err(); err != nil {
		return nil, unknown, err
	}
	return rows, unknown, nil
}

// openTable reads the header with the separator that makes most sense of it.
func openTable(c *design.Compiled, text []byte) (t table) {
	for _, separator := range []rune{',', ';', '\t'} {
		if t.cells != nil && !bytes.ContainsRune(text, separator) {
			continue
		}
		if candidate := readHeader(c, text, separator); t.cells == nil || candidate.better(t) {
			t = candidate
		}
	}
	return t
}

// UnknownColumns returns the titles of an imported table's columns that mean nothing in its study.
func UnknownColumns(snap *ledger.Snapshot, file []byte) []string {
	text, _ := readTable(bytes.NewReader(file)) // no error, as it was imported
	t := openTable(snap.Compiled(), text)
	return t.checkHeader(snap.Compiled(), true)
}

// separatorLine matches a first line for spreadsheets that says what separates cells, up to its end.
var separatorLine = regexp.MustCompile(`(?im)\Asep=[,;\t]\r?$`)

// NotUTF8 is the fault of a table in another encoding.
const NotUTF8 = "the table is not UTF-8; save it as “CSV UTF-8”"

func readTable(file io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(file, maxTable+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTable {
		return nil, fmt.Errorf("a table has at most %d bytes: %w", maxTable, ErrTooLarge)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !bytes.Contains(text, []byte("\n")) { // spreadsheets' “CSV (Macintosh)” ends lines so
		text = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	}
	text = text[len(separatorLine.Find(text)):]
	if !utf8.Valid(text) {
		return nil, design.NewInvalid("", NotUTF8, nil)
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		line := 1 + bytes.Count(text[:at], []byte("\n"))
		return nil, design.NewInvalid(fmt.Sprintf("lines[%d]", line), fmt.Sprintf("line %d holds the character U+0000; remove it", line), nil)
	}
	return keepLineEnds(text), nil
}

type table struct {
	cells        *csv.Reader
	separator    rune
	marks        design.Marks // marks of its numbers
	beyondBounds bool
	byNumber     bool
	columns      []column
	known        int // number of columns with a known meaning
	broken       error
	wideLine     int // the first line with too many cells, 0 for none
	faults       design.Faults
}

func separated(text []byte, separator rune) *csv.Reader {
	cells := csv.NewReader(bytes.NewReader(text))
	cells.Comma = separator
	cells.FieldsPerRecord = -1
	cells.ReuseRecord = true
	return cells
}

// detectMarks returns the marks that a table writes numbers with. Unless they were given, they
// follow from those numbers that can be read in one way only.
func (t *table) detectMarks(d design.Definition, text []byte, said design.Decimals) design.Marks {
	var habit design.Habit
	again := separated(text, t.separator)
	for rows := 0; rows <= maxRows && said == ""; rows++ {
		cells, err := again.Read()
		if err != nil {
			break
		}
		for i, cell := range cells[:min(len(cells), len(t.columns))] {
			if col := t.columns[i]; col.ofNumbers(d) {
				value, deviation, _ := design.CutDeviation(cell, col.unit)
				habit.Note(value)
				habit.Note(deviation)
			}
		}
	}
	return habit.Marks(said, design.MarksBeside(t.separator))
}

func readHeader(c *design.Compiled, text []byte, separator rune) table {
	cells := separated(text, separator)
	t := table{cells: cells, separator: separator, wideLine: checkWidth(text, separator)}
	if t.wideLine > 0 {
		return t
	}
	var titles []string
	titles, t.broken = cells.Read()
	for _, title := range titles {
		if len(title) > longestTitle {
			title = design.Shorten(title) // such a title is unknown anyway
		}
		col := columnOf(c.Def, strings.Clone(title))
		if col.kind != columnUnknown {
			t.known++
		}
		t.columns = append(t.columns, col)
	}
	return t
}

// better reports whether t makes more sense of the header than other.
func (t table) better(other table) bool {
	switch {
	case t.known != other.known:
		return t.known > other.known
	case (t.wideLine > 0) != (other.wideLine > 0):
		return t.wideLine > 0
	}
	return len(t.columns) > len(other.columns)
}

// checkHeader adds the faults of the header and returns the titles that mean nothing.
func (t *table) checkHeader(c *design.Compiled, ignoreUnknown bool) (unknown []string) {
	if t.wideLine > 0 {
		t.faults.Add(fmt.Sprintf("lines[%d]", t.wideLine), nil, "line %d has more than %d cells; at most %d columns are possible", t.wideLine, maxColumns, maxColumns)
		return nil
	}
	if errors.Is(t.broken, io.EOF) {
		t.faults.Add("", nil, "the table is empty; its first line names the columns")
		return nil
	}
	if t.broken != nil {
		t.unreadable(t.broken)
		return nil
	}
	first := map[string]int{}
	for i, col := range t.columns {
		at := fmt.Sprintf("columns[%d]", i)
		j, twice := first[design.FoldCase(col.name)]
		switch {
		case col.kind == columnUnknown && strings.TrimSpace(col.title) == "":
			continue // spreadsheets leave empty columns behind; the cells are checked
		case col.kind == columnUnknown:
			unknown = append(unknown, design.Shorten(col.title))
			if !ignoreUnknown && !t.faults.Full() {
				t.faults.Add(at, design.Shorten(col.title), "%s%s; "+LeavesOut, design.UnknownName("parameter or metric", col.name, columnNames(c.Def)), titleHint(c.Def, col.name))
			}
		case twice && (t.byNumber || col.kind != columnOfNumbers && col.kind != columnOfStatus):
			t.faults.Add(at, col.title, "columns %d and %d are both %q", j+1, i+1, col.name)
		}
		first[design.FoldCase(col.name)] = i
	}
	if t.byNumber && !slices.ContainsFunc(t.columns, func(col column) bool { return col.kind == columnOfNumbers }) {
		t.faults.Add("columns", nil, "there is no column %q, which says of which trial each row is", columnNumber)
	}
	for _, p := range c.Def.Parameters {
		if !t.byNumber && p.Type != design.Remainder && !t.has(p.Name) {
			t.faults.Add("columns", nil, "there is no column for the parameter %q", p.Name)
		}
	}
	return unknown
}

func (t *table) has(name string) bool {
	return slices.ContainsFunc(t.columns, func(col column) bool { return col.kind != columnUnknown && col.name == name })
}

func (t *table) unreadable(err error) {
	at, _ := errors.AsType[*csv.ParseError](err) // what is read is in memory
	wrong := at.Err.Error()
	if errors.Is(at.Err, csv.ErrQuote) || errors.Is(at.Err, csv.ErrBareQuote) {
		wrong = "a quotation mark stands alone; put a cell that holds one into quotation marks, and write it twice there"
	}
	t.faults.Add(fmt.Sprintf("lines[%d]", at.Line), nil, "line %d, character %d: %s", at.Line, at.Column, wrong)
}

func (t *table) readRows(c *design.Compiled) []importRow {
	var rows []importRow
	for len(rows) <= maxRows {
		if t.faults.Full() {
			return nil
		}
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
	t.faults.Add("", nil, "the table has more than %d rows; import it in parts", maxRows)
	return nil
}

func blank(cells []string) bool {
	return !slices.ContainsFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) != "" })
}

// readRow reads one row; ok is false if it has faults, all of which are added to t.faults.
func (t *table) readRow(c *design.Compiled, cells []string, line int) (row importRow, ok bool) {
	before := len(t.faults)
	at := fmt.Sprintf("lines[%d]", line)
	if len(cells) != len(t.columns) {
		t.faults.Add(at, len(cells), "line %d has %s; the first line names %s%s", line,
			design.Count(len(cells), "cell", "cells"), design.Count(len(t.columns), "column", "columns"), t.commaHint())
		return row, false
	}
	row = importRow{Line: line, OwnTrial: OwnTrial{Parameters: design.Settings{}, Metrics: map[string]ledger.Reading{}}, Known: map[string]float64{}, Chosen: design.Settings{}, InUnit: map[string]bool{}}
	for i, col := range t.columns {
		if col.ofNumbers(c.Def) {
			number := design.CutUnit(cells[i], col.unit)
			if col.saysUnit || number != cells[i] {
				row.InUnit[col.name] = true
			}
			cells[i] = number
		}
	}
	read := func(first bool) {
		for i, cell := range cells {
			if kind := t.columns[i].kind; first == (kind == columnParameter || kind == columnChosen || kind == columnOfStatus) {
				t.readCell(c, &row, i, strings.Clone(cell))
			}
		}
	}
	read(true)
	placeable := len(t.faults) == before && !t.byNumber
	read(false)
	t.readDeviations(&row, cells)
	if placeable {
		for _, fault := range t.place(c, &row, at) {
			where := fmt.Sprintf("line %d, %s", line, strings.TrimPrefix(strings.TrimPrefix(fault.Field, at), "."))
			t.faults.Add(fault.Field, fault.Value, "%s: %s", strings.TrimSuffix(where, ", "), fault.Message)
		}
	}
	return row, len(t.faults) == before
}

// place finds the place of a row. Settings where none may be chosen are kept if the trial was run:
// if the row says which others were chosen, if it has the status of a trial, as in an exported
// table, or if the option for the whole table says so.
func (t *table) place(c *design.Compiled, row *importRow, at string) (wrong design.Faults) {
	if len(row.Chosen) > 0 {
		return row.placeChosen(c, at, row.record || t.beyondBounds)
	}
	settings, place, forbidden := row.Place(c, at)
	if !row.record && len(forbidden) == 0 {
		row.Parameters, row.place = settings, place
		return nil
	}
	settings, place, impossible := c.PlaceUsed(row.Parameters, at)
	switch asRun := row.record || t.beyondBounds; {
	case asRun && len(impossible) > 0:
		return impossible
	case !asRun && len(impossible) == 0:
		for i := range forbidden {
			forbidden[i].Message += "; if it was really run like this, import it with beyond_bounds=true, or with “completed” in a column status"
		}
		return forbidden
	case !asRun:
		return forbidden
	}
	row.Parameters, row.place, row.beyond = settings, place, forbidden
	return nil
}

// placeChosen places the settings that were chosen and keeps those used beside them. If the trial
// was run, both are kept exactly.
func (row *importRow) placeChosen(c *design.Compiled, at string, ran bool) (wrong design.Faults) {
	chosen := row.Parameters.Clone()
	maps.Copy(chosen, row.Chosen)
	if row.Used, _, wrong = c.PlaceUsed(row.Parameters, at); len(wrong) > 0 {
		return wrong
	}
	place := c.Place
	if ran {
		place = c.PlaceUsed
	}
	row.Parameters, row.place, wrong = place(chosen, at)
	return wrong
}

func (t *table) commaHint() string {
	if t.separator != ',' {
		return ""
	}
	return "; numbers with a decimal comma need ; between the columns"
}

func (t *table) readCell(c *design.Compiled, row *importRow, i int, cell string) {
	col, trimmed := t.columns[i], strings.TrimSpace(cell)
	switch col.kind {
	case columnOfNotes:
		row.Note = unescape(cell)
		if wrong := checkNote(row.Note); len(wrong) > 0 && !row.record { // the row of an exported trial joins all its notes
			t.cellFault(row.Line, i, "", "%s", wrong[0].Message)
		}
	case columnParameter:
		if trimmed != "" {
			t.readSetting(c, row, row.Parameters, i, trimmed)
		} else if !t.byNumber && c.Def.Parameters[col.parameter].Type != design.Remainder {
			t.cellFault(row.Line, i, cell, "is empty; every parameter needs a value")
		}
	case columnChosen:
		if trimmed != "" {
			t.readSetting(c, row, row.Chosen, i, trimmed)
		}
	case columnMetric:
		if !notMeasured(trimmed) {
			t.readReading(row, i, trimmed)
		}
	case columnGiven:
		if notMeasured(trimmed) {
			return
		}
		if value, good := t.readNumber(row, i, trimmed); good {
			row.Known[col.name] = value
		}
	case columnUnknown:
		if strings.TrimSpace(col.title) == "" && trimmed != "" {
			t.cellFault(row.Line, i, cell, "the column has no name")
		}
	case columnOfStatus:
		status := strings.ToLower(trimmed)
		row.record = ledger.Status(status).Known()
		if strings.HasPrefix(status, "fail") || strings.HasPrefix(status, "abandon") {
			row.ended = status
		} else if t.byNumber && trimmed != "" && !row.record {
			t.cellFault(row.Line, i, cell, "%q says nothing of a trial; “failed”, “failed by chance” and “abandoned” end it, and a blank cell leaves it as it is", design.Shorten(trimmed))
		}
	case columnOfNumbers:
		if number, err := t.number(trimmed); err == nil && number == math.Trunc(number) && math.Abs(number) < math.MaxInt32 {
			row.Number = int(number)
		} else if t.byNumber {
			t.cellFault(row.Line, i, cell, "must be the number of a trial")
		}
	case columnDeviation: // are read after the readings
	}
}

func (t *table) readSetting(c *design.Compiled, row *importRow, into design.Settings, i int, cell string) {
	p := c.Def.Parameters[t.columns[i].parameter]
	if p.Type == design.Categorical {
		at := slices.Index(p.Choices, unescape(cell))
		if at < 0 {
			at = slices.Index(p.Choices, cell)
		}
		if at < 0 { // spreadsheets write accents in two ways
			at = slices.IndexFunc(p.Choices, func(choice string) bool { return norm.NFC.String(choice) == norm.NFC.String(unescape(cell)) })
		}
		if at < 0 {
			into[p.Name] = design.TextValue(cell)
			t.cellFault(row.Line, i, cell, "%q is unknown; it must be %s", design.Shorten(cell), c.Wanted(p.Name))
			return
		}
		into[p.Name] = design.TextValue(p.Choices[at])
		return
	}
	x, err := t.number(cell)
	if err != nil {
		t.cellFault(row.Line, i, cell, "%s", wrongNumber(cell, err, "is not a number; it must be "+c.Wanted(p.Name)))
		return
	}
	into[p.Name] = design.NumberValue(x)
}

func (t *table) cellFault(line, i int, cell, format string, args ...any) {
	col := t.columns[i]
	name := cmp.Or(col.name, strconv.Itoa(i+1))
	var value any
	if cell != "" {
		value = design.Shorten(cell)
	}
	t.faults.Add(fmt.Sprintf("lines[%d].%s", line, name), value, "line %d, column %s: %s", line, name, fmt.Sprintf(format, args...))
}

// number reads a number as the table writes them. A number that can be read in two ways is an
// error, unless other numbers of the table tell which is meant.
func (t *table) number(cell string) (float64, error) { return design.ReadCell(cell, t.marks) }

// wrongNumber says what is wrong with a cell that should be a number and what would be right;
// plainly is the message if its marks are not the reason.
func wrongNumber(cell string, err error, plainly string) string {
	switch err.(type) {
	case *design.AmbiguousNumber:
		return err.Error() + " No other number of the table shows it; decimal=comma or decimal=point says it for the whole table."
	case *design.MarkedOtherwise:
		return err.Error()
	}
	return fmt.Sprintf("%q %s", design.Shorten(cell), plainly)
}

// keepLineEnds doubles the carriage return of each CRLF within quotes, because package csv reads
// CRLF as LF there.
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

// readReading reads the cell of a metric: a value, or a value ± its standard deviation.
func (t *table) readReading(row *importRow, i int, cell string) {
	name := t.columns[i].name
	text, deviation, told := design.CutDeviation(cell, t.columns[i].unit)
	if half := design.HalfReading(text, deviation); told && half != nil {
		t.cellFault(row.Line, i, cell, "%q is half a reading; %s", design.Shorten(cell), half)
		return
	}
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
	switch tooLarge := errors.Is(err, design.ErrTooLarge) || !design.Computable(value); {
	case err != nil && !tooLarge:
		t.cellFault(row.Line, i, cell, "%s", wrongNumber(cell, err, "is not a number; leave it blank or write "+pending+" if it is not measured"))
	case tooLarge:
		t.cellFault(row.Line, i, cell, design.NotComputable)
	default:
		return value, true
	}
	return 0, false
}

func (t *table) readDeviation(row *importRow, i int, cell string) (float64, bool) {
	sd, err := t.number(cell)
	if err != nil || !(sd > 0 && sd <= design.Largest) {
		t.cellFault(row.Line, i, cell, "%s", wrongNumber(cell, err, "is not a standard deviation; write a number above 0 and at most 1e100, or leave it blank if you do not know it"))
		return 0, false
	}
	return sd, true
}

// readDeviations reads the columns of standard deviations, after the readings that they belong to.
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
		case !there && t.filled(col.metric, cells): // whose cell is faulty already
		case !there:
			t.cellFault(row.Line, i, cell, "belongs to a reading of %s, and there is none; leave it blank too", col.metric)
		case reading.StdDev != nil && *reading.StdDev != sd:
			t.cellFault(row.Line, i, cell, "is another standard deviation than the one beside the value of %s; leave one of them out", col.metric)
		default:
			row.Metrics[col.metric] = ledger.Reading{Value: reading.Value, StdDev: &sd}
		}
	}
}

func notMeasured(cell string) bool { return cell == "" || strings.EqualFold(cell, pending) }

func (t *table) filled(metric string, cells []string) bool {
	i := slices.IndexFunc(t.columns, func(col column) bool { return col.kind == columnMetric && col.name == metric })
	return i >= 0 && !notMeasured(strings.TrimSpace(cells[i]))
}

// checkWidth returns the line on which the first record with too many cells begins, 0 if there is
// none. It runs before the table is read, since package csv makes all cells of a record before it
// returns the first. It treats quotes as package csv does; after a wrong quote that reads no
// further than this.
func checkWidth(text []byte, separator rune) int {
	line, begun, cells, quoted := 1, 1, 1, false
	for _, b := range text {
		switch {
		case b == '"':
			quoted = !quoted
		case b == '\n':
			line++
			if !quoted {
				begun, cells = line, 1
			}
		case rune(b) == separator && !quoted:
			if cells++; cells > maxColumns {
				return begun
			}
		}
	}
	return 0
}

// ImportOptions are the options of an import. With BeyondBounds every row counts as run with its
// settings, even if they may not be chosen. With ByNumber each row tells what came of the trial whose
// number it has, and with a Reason corrects what was told before. Decimals says how the table writes
// numbers, if that is known.
type ImportOptions struct {
	DryRun, IgnoreUnknown, BeyondBounds, ByNumber bool
	Reason                                        string
	Decimals                                      design.Decimals
}

// Check returns a fault of the reason, if it is none or comes with rows that correct nothing.
func (opt ImportOptions) Check() error {
	switch {
	case opt.Reason == "":
		return nil
	case !opt.ByNumber:
		return design.NewInvalid("reason", "is for correcting results of trials that are here. "+ByNumber+" goes with it.", opt.Reason)
	}
	return checkReason(opt.Reason).Err()
}

// LeavesOut tells programs what to do about a column that means nothing.
const LeavesOut = "ignore_unknown=true leaves the column out"

// ByNumber tells programs how a table's rows are told of the trials whose numbers they have.
const ByNumber = "by_number=true"
