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

// sheet is a table pasted from a spreadsheet: names in the first row, one combination in each row
// below.
type sheet struct {
	names, units []string
	rows         [][]string
	lines        []int  // line numbers of the rows
	texts        []bool // by column: whether its cells are texts, not numbers
	marks        design.Marks
}

const longestRow = 64 << 10

var errLongRow = fmt.Errorf("a row is longer than %d kB", longestRow>>10)

// boundedReader returns errLongRow after left bytes: csv.Reader would make all cells of a row,
// however long, before it returns it.
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

// decimalField is the field that says which decimal mark a table has, where the table does not show
// it.
const decimalField = "decimal"

// Decimals returns that field.
func (t *Typed) Decimals() design.Decimals { return design.Decimals(t.Text(decimalField)) }

// offerDecimals asks which decimal mark the table in a field has, by one of its ambiguous numbers.
func (t *Typed) offerDecimals(name string, two *design.AmbiguousNumber) {
	comma, point := templates.Option{Value: string(design.DecimalComma)}, templates.Option{Value: string(design.DecimalPoint)}
	comma.Label, point.Label = formatExact(two.Decimal), formatExact(two.Thousands)
	if !strings.Contains(two.Text, ",") {
		comma.Label, point.Label = point.Label, comma.Label
	}
	comma.Label, point.Label = two.Text+" is "+comma.Label, two.Text+" is "+point.Label
	t.offerReadings(name, decimalField, point, comma)
}

// sheet reads the table pasted into a field, nil if it is faulty.
func (t *Typed) sheet(name string) *sheet {
	there := words.Either(t.filledIn != nil, t.filledIn, t.Values) // a form of changes does not send the parameters' names
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

// AsksDecimals asks which decimal mark the table in a field has if value is an ambiguous number,
// and reports whether it is.
func (t *Typed) AsksDecimals(name, value string) bool {
	_, err := design.ReadNumber(value, design.Marks{})
	two, either := errors.AsType[*design.AmbiguousNumber](err)
	if either {
		t.offerDecimals(name, two)
	}
	return either
}

// readSheet reads a table of settings; lines are the form's parameters. The first of tab, semicolon
// and comma that is in the first row separates columns. The decimal mark is the one said, else the
// one that the table shows, else what follows from the separator, or from the reader's language
// with tabs.
func readSheet(text string, lines rows, language design.Marks, said design.Decimals) (sheet, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	in := &boundedReader{text: strings.NewReader(text), left: longestRow}
	reader := csv.NewReader(in)
	reader.Comma, reader.LazyQuotes = delimiter(text), true
	reader.TrimLeadingSpace = reader.Comma != '\t' // which counts as a space
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

// readHeader takes the names of the columns from the first row. A text in brackets behind a name is
// its unit, unless there is a parameter of that whole name.
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
	return '\t' // a single column may have decimal commas
}

// unitInBrackets splits "temperature (°C)".
var unitInBrackets = regexp.MustCompile(`^(.*?)\s*[\(\[]([^()\[\]]+)[\)\]]$`)

// add appends a row, which begins at that line, unless it is empty.
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
	if len(s.rows) == design.MaxCandidates {
		return fmt.Errorf("there are more than %d combinations", design.MaxCandidates)
	}
	s.rows, s.lines = append(s.rows, row), append(s.lines, line)
	return nil
}

// findTextColumns finds the columns that hold texts. In a column of numbers, one that is ambiguous
// or contradicts the decimal mark is an error.
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

// candidates returns the combinations, with numbers in the columns that have nothing else.
func (s sheet) candidates() []design.Settings {
	all := make([]design.Settings, len(s.rows))
	for k, row := range s.rows {
		all[k] = design.Settings{}
		for i, cell := range row {
			if s.texts[i] {
				all[k][s.names[i]] = design.TextValue(cell)
				continue
			}
			x, _ := s.number(cell) // is one, as findTextColumns saw
			all[k][s.names[i]] = design.NumberValue(x)
		}
	}
	return all
}

// column returns what a parameter with that column is: its choices, or its range.
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
