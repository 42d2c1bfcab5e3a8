package lab

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"headroom/internal/files"
	"headroom/internal/lists"
	"headroom/internal/study/design"
)

// Spec says how a table of recorded rows becomes a study. Parameters and metrics are named as their
// columns; bounds, choices and types that are left out are taken from the rows.
type Spec struct {
	Name        string                  `json:"name"`
	Table       string                  `json:"table,omitempty"` // path of the CSV file, relative to the spec's
	Where       map[string]design.Value `json:"where,omitempty"` // only rows with these values, by column
	Parameters  []design.Parameter      `json:"parameters"`
	Objective   design.Objective        `json:"objective"`
	Constraints []design.Constraint     `json:"constraints,omitempty"`
}

// ReadSpec reads a spec and refuses fields that it does not know.
func ReadSpec(file io.Reader) (Spec, error) {
	var s Spec
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&s)
	if err == nil && s.Name == "" {
		err = errors.New("name is missing")
	}
	return s, err
}

// Row is one recorded reading at a setting.
type Row struct {
	Settings design.Settings
	Values   Values
}

// ReadTable reads the rows of a CSV file with a header as spec says.
func ReadTable(file io.Reader, spec Spec) (*Problem, error) {
	t, err := readRecorded(file)
	if err != nil {
		return nil, err
	}
	d := design.Definition{Name: spec.Name, Parameters: slices.Clone(spec.Parameters), Objective: spec.Objective, Constraints: spec.Constraints}
	if err := t.hasAll(spec.Where, d); err != nil {
		return nil, err
	}
	t.rows = slices.DeleteFunc(t.rows, func(l recordedRow) bool { return !l.matches(spec.Where) })
	if len(t.rows) == 0 {
		return nil, errors.New("no row has the values that “where” asks for")
	}
	for i := range d.Parameters {
		if err := t.describe(&d.Parameters[i]); err != nil {
			return nil, err
		}
	}
	rows, err := t.readings(d)
	if err != nil {
		return nil, err
	}
	return newTable(d, rows)
}

type recordedTable struct {
	header []string
	rows   []recordedRow
}

type recordedRow struct {
	number int // in the file
	cells  map[string]string
}

func readRecorded(file io.Reader) (*recordedTable, error) {
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	records, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff")))).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(records) < 2 {
		return nil, errors.New("a header and at least one row are needed")
	}
	t := &recordedTable{header: records[0]}
	for i, name := range t.header {
		t.header[i] = strings.TrimSpace(name)
	}
	for i, cells := range records[1:] {
		l := recordedRow{number: i + 2, cells: map[string]string{}}
		for k, cell := range cells {
			l.cells[t.header[k]] = strings.TrimSpace(cell)
		}
		t.rows = append(t.rows, l)
	}
	return t, nil
}

func (t *recordedTable) hasAll(where map[string]design.Value, d design.Definition) (err error) {
	require := func(what, column string) {
		switch lists.Count(t.header, func(name string) bool { return name == column }) {
		case 0:
			err = errors.Join(err, fmt.Errorf("%s: there is no column %q; there are %s", what, column, strings.Join(slices.Sorted(slices.Values(t.header)), ", ")))
		case 1:
		default:
			err = errors.Join(err, fmt.Errorf("%s: two columns are called %q", what, column))
		}
	}
	for name := range where {
		require("where", name)
	}
	for _, p := range d.Parameters {
		require("parameters", p.Name)
	}
	for _, m := range d.Metrics() {
		require("metrics", m.Name)
	}
	return err
}

func (l recordedRow) read(column string) (float64, error) {
	x, err := design.ParseNumber(l.cells[column])
	if err != nil {
		err = fmt.Errorf("row %d, column %s: %q is not a finite number", l.number, column, l.cells[column])
	}
	return x, err
}

// matches reports whether the row has the values wanted; numbers are compared as numbers.
func (l recordedRow) matches(where map[string]design.Value) bool {
	for name, want := range where {
		x, err := l.read(name)
		if want.IsText && l.cells[name] != want.Text || !want.IsText && (err != nil || x != want.Number) {
			return false
		}
	}
	return true
}

// describe fills in what the spec leaves out of a parameter.
func (t *recordedTable) describe(p *design.Parameter) error {
	var choices []string
	low, high, numeric := math.Inf(1), math.Inf(-1), true
	for _, l := range t.rows {
		choices = append(choices, l.cells[p.Name])
		x, err := l.read(p.Name)
		numeric = numeric && err == nil
		low, high = math.Min(low, x), math.Max(high, x)
	}
	if p.Type == "" {
		p.Type = design.Categorical
		if numeric {
			p.Type = design.Real
		}
	}
	switch {
	case p.Type == design.Categorical && p.Choices == nil:
		slices.Sort(choices)
		p.Choices = slices.Compact(choices)
	case p.Type == design.Categorical:
	case !numeric:
		return fmt.Errorf("parameter %q: not every row has a number; give it the type categorical", p.Name)
	default:
		p.Low = cmp.Or(p.Low, &low)
		p.High = cmp.Or(p.High, &high)
		if *p.Low == *p.High {
			return fmt.Errorf("parameter %q has the value %g in every row: leave it out", p.Name, low)
		}
	}
	return nil
}

func (t *recordedTable) readings(d design.Definition) (rows []Row, err error) {
	for _, l := range t.rows {
		row := Row{design.Settings{}, Values{}}
		for _, p := range d.Parameters {
			if row.Settings[p.Name] = design.TextValue(l.cells[p.Name]); p.Type != design.Categorical {
				x, failed := l.read(p.Name)
				row.Settings[p.Name], err = design.NumberValue(x), errors.Join(err, failed)
			}
		}
		for _, m := range d.Metrics() {
			x, failed := l.read(m.Name)
			row.Values[m.Name], err = x, errors.Join(err, failed)
		}
		rows = append(rows, row)
	}
	return rows, err
}

// newTable makes a problem of rows: the different settings are the candidates, in the order of
// their first row. Rows with the same settings are readings of these, whose truth is their mean.
func newTable(d design.Definition, rows []Row) (*Problem, error) {
	index := map[string]int{}
	var readings [][]Values
	d.Candidates = nil
	for _, r := range rows {
		key := keyOf(r.Settings)
		i, known := index[key]
		if !known {
			i = len(readings)
			index[key] = i
			readings = append(readings, nil)
			d.Candidates = append(d.Candidates, r.Settings)
		}
		readings[i] = append(readings[i], r.Values)
	}
	means := lists.Map(readings, meanOf)
	fingerprint, err := digest(rows)
	if err != nil {
		return nil, err
	}
	candidates := d.Candidates
	row := func(at design.Settings) int {
		i, known := index[keyOf(at)]
		if !known {
			panic(fmt.Sprintf("%v is no row of %s", at, d.Name))
		}
		return i
	}
	p := &Problem{
		Name: d.Name, Study: d, fingerprint: fingerprint,
		truth: func(at design.Settings) Values { return means[row(at)] },
		read: func(at design.Settings, random *rand.Rand) Values {
			own := readings[row(at)]
			return own[random.IntN(len(own))]
		},
		draw: func(count int, random *rand.Rand) []design.Settings { return drawDifferent(candidates, count, random) },
	}
	if len(rows) == len(readings) {
		p.own = func(design.Settings) Values { return Values{} } // what stands in the table is the truth
	}
	return p.complete(candidates, math.NaN())
}

// drawDifferent returns count different settings at random, or all if there are fewer.
func drawDifferent(from []design.Settings, count int, random *rand.Rand) []design.Settings {
	return lists.Map(random.Perm(len(from))[:min(count, len(from))], func(i int) design.Settings { return from[i] })
}

// meanOf returns the running mean, which leaves values that are all the same as they are.
func meanOf(list []Values) Values {
	mean := Values{}
	for i, v := range list {
		for name, x := range v {
			mean[name] += (x - mean[name]) / float64(i+1)
		}
	}
	return mean
}

func csvOf(rows [][]string) []byte {
	var out bytes.Buffer
	_ = csv.NewWriter(&out).WriteAll(rows) // a buffer never fails
	return out.Bytes()
}

// aligned returns rows as text with gap spaces between columns: the first column flush left and the
// others right. A heading in the first row extends over those behind it that are empty.
func aligned(gap int, rows [][]string) []byte {
	widths := make([]int, len(rows[0]))
	for n, row := range rows {
		for i, cell := range row {
			if n > 0 || i+1 == len(row) || row[i+1] != "" {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell)+gap)
			}
		}
	}
	var out bytes.Buffer
	for n, row := range rows {
		line := fmt.Sprintf("%-*s", widths[0]-gap, row[0])
		for i := 1; i < len(row); i++ {
			cell, width := row[i], widths[i]
			for ; n == 0 && i+1 < len(row) && row[i+1] == ""; i++ {
				width += widths[i+1]
			}
			line += fmt.Sprintf("%*s", width, cell)
		}
		fmt.Fprintln(&out, strings.TrimRight(line, " "))
	}
	return out.Bytes()
}

// markdown returns rows as a table in Markdown, the first of them its heading.
func markdown(rows [][]string) string {
	var out strings.Builder
	for i, row := range rows {
		line := "|"
		for _, cell := range row {
			line += strings.TrimRight(" "+strings.ReplaceAll(cell, "|", `\|`), " ") + " |"
		}
		fmt.Fprintln(&out, line)
		if i == 0 {
			fmt.Fprintln(&out, strings.Repeat("|---", len(row))+"|")
		}
	}
	return out.String()
}

// noValue stands in tables where a figure has no meaning.
const noValue = "–"

func indented(object any) ([]byte, error) {
	content, err := json.MarshalIndent(object, "", "  ")
	return append(content, '\n'), err
}

// formatNumber returns "" for NaN.
func formatNumber(v float64, digits int) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// plusMinus returns a standard error, "" for a single game, which has none.
func plusMinus(deviation float64) string {
	if math.IsNaN(deviation) {
		return ""
	}
	return fmt.Sprintf(" ± %.2g", deviation)
}

// Write writes a file whole or not at all, readable by everyone.
func Write(path string, content []byte) error {
	if err := files.CreateWhole(path, func(draft io.Writer) error { _, err := draft.Write(content); return err }); err != nil {
		return err
	}
	return os.Chmod(path, 0o644)
}
