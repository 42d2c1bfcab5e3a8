package forms

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// sheet is a table pasted from a spreadsheet: names in the first row, one combination in each
// further row.
type sheet struct {
	names, units []string
	rows         [][]string
	lines        []int  // where they stand in what was pasted
	texts        []bool // by column: whether any cell is not a number, or numbers are names of choices
	marks        design.Marks
}

// The longest row of a sheet, in bytes, and the most rows below the first: as many as a study has
// candidates.
const (
	longestRow       = 64 << 10
	mostCombinations = 10_000
)

var errLongRow = fmt.Errorf("a row is longer than %d kB", longestRow>>10)

// boundedReader reads no more than its ration until it is given another: a reader of tables makes all
// cells of a row before it hands on the first.
type boundedReader struct {
	text *strings.Reader
	left int
}

func (r *boundedReader) Read(into []byte) (int, error) {
	if r.left <= 0 && r.text.Len() > 0 {
		return 0, errLongRow
	}
	n, err := r.text.Read(into[:min(len(into), max(r.left, 1))])
	r.left -= n
	return n, err
}

// decimalField says, where a table does not, which mark its numbers write decimals with.
const decimalField = "decimal"

// Decimals are what was said of how a table in the form writes decimals.
func (t *Typed) Decimals() design.Decimals { return design.Decimals(t.Text(decimalField)) }

// offerDecimals asks which mark is decimal in the table of a field, by one of its numbers.
func (t *Typed) offerDecimals(name string, two *design.AmbiguousNumber) {
	comma, point := templates.Option{Value: string(design.DecimalComma)}, templates.Option{Value: string(design.DecimalPoint)}
	comma.Label, point.Label = formatExact(two.Decimal), formatExact(two.Thousands)
	if !strings.Contains(two.Text, ",") {
		comma.Label, point.Label = point.Label, comma.Label
	}
	comma.Label, point.Label = two.Text+" is "+comma.Label, two.Text+" is "+point.Label
	t.offerReadings(name, decimalField, point, comma)
}

// sheet reads what was pasted into a field, nil when that is faulty.
func (t *Typed) sheet(name string) *sheet {
	there := words.Either(t.kept != nil, t.kept, t.Values) // a form of changes has their names as text only
	s, err := readSheet(t.Values.Get(name), rowsOf(there, parameters), t.marks, t.Decimals())
	if two, ok := errors.AsType[*design.AmbiguousNumber](err); ok {
		t.offerDecimals(name, two)
	}
	if err != nil {
		t.Fault(name, err.Error())
		return nil
	}
	return &s
}

// AsksDecimals asks which mark is decimal in the table of a field, if one of its values is a number
// that can be read in two ways, and tells whether it is.
func (t *Typed) AsksDecimals(name, value string) bool {
	_, err := design.ReadNumber(value, design.Marks{})
	two, either := errors.AsType[*design.AmbiguousNumber](err)
	if either {
		t.offerDecimals(name, two)
	}
	return either
}

// readSheet reads what was pasted about parameters, of which the form has these lines. Tabs, semicolons
// or commas stand between columns, whichever the first row has. How numbers are written is said, or
// the table shows it; else that follows from what separates columns, and with tabs from the reader's
// language.
func readSheet(text string, lines rows, language design.Marks, said design.Decimals) (sheet, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	in := &boundedReader{text: strings.NewReader(text), left: longestRow}
	reader := csv.NewReader(in)
	reader.Comma, reader.LazyQuotes = delimiter(text), true
	reader.TrimLeadingSpace = reader.Comma != '\t' // which is a space, too
	header, err := reader.Read()
	if errors.Is(err, errLongRow) {
		return sheet{}, err
	}
	if err != nil {
		return sheet{}, errors.New("the first row must name the parameters")
	}
	s := sheet{marks: language}
	if err := s.readHeader(header, lines); err != nil {
		return sheet{}, err
	}
	if reader.Comma != '\t' {
		s.marks = design.MarksBeside(reader.Comma)
	}
	var habit design.Habit
	for {
		in.left = longestRow
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, csv.ErrFieldCount) {
			return sheet{}, fmt.Errorf("cannot be read: %w", err)
		}
		for i, cell := range row {
			if i < len(s.texts) && !s.texts[i] {
				habit.Note(cell)
			}
		}
		line, _ := reader.FieldPos(0)
		if err := s.add(row, line); err != nil {
			return sheet{}, err
		}
	}
	s.marks = habit.Marks(said, s.marks)
	if err := s.findTextColumns(); err != nil {
		return sheet{}, err
	}
	if len(s.rows) == 0 {
		return sheet{}, errors.New("below the names there must be at least one combination")
	}
	return s, nil
}

// readHeader takes the names of the columns from the first row. What is in brackets behind one is its unit,
// unless there is a parameter of that whole name.
func (s *sheet) readHeader(row []string, lines rows) error {
	if len(row) > mostRows {
		return fmt.Errorf("the first row names %d parameters, which is more than a study has", len(row))
	}
	for _, cell := range row {
		title := strings.TrimSpace(strings.TrimPrefix(cell, "\ufeff"))
		name, unit, line := title, "", lines.named(title)
		if line == nil {
			if parts := unitInBrackets.FindStringSubmatch(title); parts != nil && parts[1] != "" {
				name, unit = parts[1], parts[2]
			}
			line = lines.named(name)
		}
		if line != nil {
			name = strings.TrimSpace(line["name"])
		}
		switch {
		case name == "":
			return errors.New("a column has no name in the first row")
		case slices.ContainsFunc(s.names, func(other string) bool { return design.FoldCase(other) == design.FoldCase(name) }):
			return fmt.Errorf("two columns are called %s in the first row", design.Shorten(name))
		}
		s.names, s.units = append(s.names, name), append(s.units, unit)
		s.texts = append(s.texts, line["type"] == string(design.Categorical))
	}
	return nil
}

func delimiter(text string) rune {
	first, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	for _, mark := range "\t;," {
		if strings.ContainsRune(first, mark) {
			return mark
		}
	}
	return '\t' // a column alone may have decimal commas
}

// unitInBrackets splits "temperature (°C)".
var unitInBrackets = regexp.MustCompile(`^(.*?)\s*[\(\[]([^()\[\]]+)[\)\]]$`)

// add takes one more row, which begins at that line; empty ones are passed over.
func (s *sheet) add(row []string, line int) error {
	for i := range row {
		row[i] = strings.TrimSpace(row[i])
	}
	if !slices.ContainsFunc(row, func(cell string) bool { return cell != "" }) {
		return nil
	}
	if len(row) != len(s.names) {
		return fmt.Errorf("row %d has %s; the first row names %d", line, design.Count(len(row), "cell", "cells"), len(s.names))
	}
	for i, cell := range row {
		if cell == "" {
			return fmt.Errorf("row %d has nothing under %s", line, s.names[i])
		}
	}
	if len(s.rows) == mostCombinations {
		return fmt.Errorf("there are more than %d combinations", mostCombinations)
	}
	s.rows, s.lines = append(s.rows, row), append(s.lines, line)
	return nil
}

// findTextColumns finds out which columns hold texts. A number that can be read in two ways, or not as was said, in
// a column of numbers, is an error.
func (s *sheet) findTextColumns() error {
	for i, name := range s.names {
		var wrong error
		for k, row := range s.rows {
			_, err := s.number(row[i])
			switch err.(type) {
			case nil:
			case *design.AmbiguousNumber, *design.MarkedOtherwise:
				wrong = fmt.Errorf("row %d, %s: %w", s.lines[k], name, err)
			default:
				s.texts[i] = true
			}
		}
		if wrong != nil && !s.texts[i] {
			return wrong
		}
	}
	return nil
}

func (s *sheet) number(cell string) (float64, error) { return design.ReadCell(cell, s.marks) }

// candidates are the combinations, numbers where a column has nothing else.
func (s sheet) candidates() []design.Settings {
	all := make([]design.Settings, len(s.rows))
	for k, row := range s.rows {
		all[k] = design.Settings{}
		for i, cell := range row {
			if s.texts[i] {
				all[k][s.names[i]] = design.TextValue(cell)
				continue
			}
			x, _ := s.number(cell) // tell has seen that it is one
			all[k][s.names[i]] = design.NumberValue(x)
		}
	}
	return all
}

// column says what a parameter of that column is: its choices, or its range.
func (s sheet) column(i int) (kind design.ParameterType, choices []string, low, high float64) {
	if s.texts[i] {
		seen := map[string]bool{}
		for _, row := range s.rows {
			if !seen[row[i]] {
				choices = append(choices, row[i])
			}
			seen[row[i]] = true
		}
		return design.Categorical, choices, 0, 0
	}
	numbers := lists.Map(s.rows, func(row []string) float64 {
		x, _ := s.number(row[i])
		return x
	})
	whole := !slices.ContainsFunc(numbers, func(x float64) bool { return x != float64(int64(x)) })
	return words.Either(whole, design.Integer, design.Real), nil, slices.Min(numbers), slices.Max(numbers)
}
