package lab

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"headroom/internal/study/design"
)

// Spec says how a table of recorded rows becomes a study. Parameters and metrics are named as their columns; bounds, choices and types
// that are left out are taken from the rows.
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

// ReadTable reads the rows of a CSV file with a header as the spec says.
func ReadTable(file io.Reader, spec Spec) (*Problem, error) {
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
	t := recorded{header: map[string]int{}}
	for i, name := range records[0] {
		t.header[strings.TrimSpace(name)] = i
	}
	if t.rows, err = t.filter(records[1:], spec.Where); err != nil {
		return nil, err
	}
	if len(t.rows) == 0 {
		return nil, errors.New("no row has the values that “where” asks for")
	}
	d := design.Definition{Name: spec.Name, Parameters: slices.Clone(spec.Parameters), Objective: spec.Objective, Constraints: spec.Constraints}
	for i := range d.Parameters {
		if err := t.describe(&d.Parameters[i]); err != nil {
			return nil, err
		}
	}
	rows, err := t.read(d)
	if err != nil {
		return nil, err
	}
	return NewTable(d, rows)
}

// recorded is a table as text.
type recorded struct {
	header map[string]int
	rows   []line
}

type line struct {
	number int // in the file
	cells  []string
}

func (t *recorded) column(name string) (int, error) {
	if i, ok := t.header[name]; ok {
		return i, nil
	}
	var names []string
	for other := range t.header {
		names = append(names, other)
	}
	slices.Sort(names)
	return 0, fmt.Errorf("there is no column %q; there are %s", name, strings.Join(names, ", "))
}

// filter keeps the rows with the values wanted; numbers are compared as numbers.
func (t *recorded) filter(records [][]string, where map[string]design.Value) ([]line, error) {
	var kept []line
	for name := range where {
		if _, err := t.column(name); err != nil {
			return nil, fmt.Errorf("where: %w", err)
		}
	}
	for i, cells := range records {
		keep := true
		for name, want := range where {
			cell := strings.TrimSpace(cells[t.header[name]])
			number, err := design.ParseNumber(cell)
			if want.IsText {
				keep = keep && cell == want.Text
			} else {
				keep = keep && err == nil && number == want.Number
			}
		}
		if keep {
			kept = append(kept, line{i + 2, cells})
		}
	}
	return kept, nil
}

// describe fills in what the spec leaves out of a parameter.
func (t *recorded) describe(p *design.Parameter) error {
	column, err := t.column(p.Name)
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	var choices []string
	low, high, numeric := math.Inf(1), math.Inf(-1), true
	for _, row := range t.rows {
		cell := strings.TrimSpace(row.cells[column])
		if !slices.Contains(choices, cell) {
			choices = append(choices, cell)
		}
		x, err := design.ParseNumber(cell)
		numeric = numeric && err == nil
		low, high = math.Min(low, x), math.Max(high, x)
	}
	if p.Type == "" {
		p.Type = design.Categorical
		if numeric {
			p.Type = design.Real
		}
	}
	if p.Type == design.Categorical {
		if p.Choices == nil {
			slices.Sort(choices)
			p.Choices = choices
		}
		return nil
	}
	if !numeric {
		return fmt.Errorf("parameter %q: not every row has a number; give it the type categorical", p.Name)
	}
	if p.Low == nil {
		p.Low = &low
	}
	if p.High == nil {
		p.High = &high
	}
	if *p.Low == *p.High {
		return fmt.Errorf("parameter %q has the value %g in every row: leave it out", p.Name, low)
	}
	return nil
}

func (t *recorded) read(d design.Definition) ([]Row, error) {
	rows := make([]Row, len(t.rows))
	for i, from := range t.rows {
		rows[i] = Row{design.Settings{}, Values{}}
		for _, p := range d.Parameters {
			cell := strings.TrimSpace(from.cells[t.header[p.Name]])
			if p.Type == design.Categorical {
				rows[i].Settings[p.Name] = design.TextValue(cell)
				continue
			}
			x, err := design.ParseNumber(cell)
			if err != nil {
				return nil, fmt.Errorf("row %d, column %s: %q is not a finite number", from.number, p.Name, cell)
			}
			rows[i].Settings[p.Name] = design.NumberValue(x)
		}
		for _, m := range d.Metrics() {
			column, err := t.column(m.Name)
			if err != nil {
				return nil, fmt.Errorf("metrics: %w", err)
			}
			x, err := design.ParseNumber(strings.TrimSpace(from.cells[column]))
			if err != nil {
				return nil, fmt.Errorf("row %d, column %s: %q is not a finite number", from.number, m.Name, from.cells[column])
			}
			rows[i].Values[m.Name] = x
		}
	}
	return rows, nil
}

// NewTable makes a problem of rows: the different settings are the candidates, in the order of their first row. Rows with the same settings are
// readings of one setting, whose truth is their mean.
func NewTable(d design.Definition, rows []Row) (*Problem, error) {
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
	means := make([]Values, len(readings))
	for i, list := range readings {
		means[i] = meanOf(list)
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	candidates := d.Candidates
	p := &Problem{
		Name: d.Name, Study: d, fingerprint: hex.EncodeToString(sum[:]),
		truth: func(_ design.Settings, at *int) Values { return means[*at] },
		read: func(_ design.Settings, at *int, random *rand.Rand) Values {
			return readings[*at][random.IntN(len(readings[*at]))]
		},
		draw: func(count int, random *rand.Rand) []design.Settings { return drawn(candidates, count, random) },
	}
	if len(rows) == len(readings) {
		p.own = func(design.Settings, *int) Values { return Values{} } // what stands in the table is the truth
	}
	return p, p.complete(candidates, math.NaN())
}

// drawn takes count different settings at random, all of them where there are fewer.
func drawn(from []design.Settings, count int, random *rand.Rand) []design.Settings {
	var list []design.Settings
	for _, i := range random.Perm(len(from))[:min(count, len(from))] {
		list = append(list, from[i])
	}
	return list
}

// meanOf is the running mean, which leaves values that are all the same as they are.
func meanOf(list []Values) Values {
	mean := Values{}
	for i, v := range list {
		for name, x := range v {
			mean[name] += (x - mean[name]) / float64(i+1)
		}
	}
	return mean
}
