package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// limits are constraints as written on the command line.
type limits []limit

type limit struct {
	metric, op string
	threshold  float64
}

func (l *limits) String() string { return fmt.Sprint(*l) }

func (l *limits) Set(text string) error {
	for _, op := range []string{"<=", ">="} {
		metric, value, found := strings.Cut(text, op)
		if !found {
			continue
		}
		threshold, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return fmt.Errorf("%q: the limit after %s must be a number", text, op)
		}
		*l = append(*l, limit{strings.TrimSpace(metric), op, threshold})
		return nil
	}
	return fmt.Errorf("%q: write a limit as metric<=number or metric>=number", text)
}

// table is a recorded experiment: one row a setting that was tried.
type table struct {
	header     []string
	rows       [][]string
	parameters []string
	column     map[string]int
	goal       int
}

func readTable(o options) (*table, error) {
	file, err := os.Open(o.table)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.table, err)
	}
	if len(records) < 2 {
		return nil, fmt.Errorf("%s: a header and at least one row are needed", o.table)
	}
	t := &table{header: records[0], rows: records[1:], parameters: strings.Split(o.parameters, ","), column: map[string]int{}}
	for i, name := range t.header {
		t.column[name] = i
	}
	needed := append(slices.Clone(t.parameters), o.objective)
	for _, l := range o.limits {
		needed = append(needed, l.metric)
	}
	for _, name := range needed {
		if _, ok := t.column[name]; !ok {
			return nil, fmt.Errorf("%s has no column %q; it has %s", o.table, name, strings.Join(t.header, ", "))
		}
	}
	t.goal = t.column[o.objective]
	return t, t.checkNumbers(o)
}

func (t *table) checkNumbers(o options) error {
	for i := range t.rows {
		for name := range t.readings(o, i) {
			if _, err := strconv.ParseFloat(t.rows[i][t.column[name]], 64); err != nil {
				return fmt.Errorf("row %d: %s must be a number", i+2, name)
			}
		}
	}
	return nil
}

func (t *table) number(row int, name string) float64 {
	v, _ := strconv.ParseFloat(t.rows[row][t.column[name]], 64) // checked on reading
	return v
}

func (t *table) objective(row int) float64 { return t.number(row, t.header[t.goal]) }

func (t *table) within(o options, row int) bool {
	for _, l := range o.limits {
		if v := t.number(row, l.metric); l.op == "<=" && v > l.threshold || l.op == ">=" && v < l.threshold {
			return false
		}
	}
	return true
}

// readings are what the lab would measure at a row.
func (t *table) readings(o options, row int) map[string]float64 {
	values := map[string]float64{o.objective: t.number(row, o.objective)}
	for _, l := range o.limits {
		values[l.metric] = t.number(row, l.metric)
	}
	return values
}

// parameter describes a column: numbers become a real parameter over their range, anything else a categorical one.
func (t *table) parameter(name string) map[string]any {
	var numbers []float64
	var choices []string
	for _, row := range t.rows {
		text := row[t.column[name]]
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			numbers = append(numbers, v)
		}
		if !slices.Contains(choices, text) {
			choices = append(choices, text)
		}
	}
	if len(numbers) == len(t.rows) {
		return map[string]any{"name": name, "type": "real", "low": slices.Min(numbers), "high": slices.Max(numbers)}
	}
	return map[string]any{"name": name, "type": "categorical", "choices": choices}
}

func (t *table) definition(o options, seed int) map[string]any {
	var parameters []map[string]any
	for _, name := range t.parameters {
		parameters = append(parameters, t.parameter(name))
	}
	var candidates []map[string]any
	for i := range t.rows {
		settings := map[string]any{}
		for k, name := range t.parameters {
			if parameters[k]["type"] == "real" {
				settings[name] = t.number(i, name)
			} else {
				settings[name] = t.rows[i][t.column[name]]
			}
		}
		candidates = append(candidates, settings)
	}
	direction := "maximize"
	if o.minimize {
		direction = "minimize"
	}
	var constraints []map[string]any
	for _, l := range o.limits {
		constraints = append(constraints, map[string]any{"metric": l.metric, "op": l.op, "threshold": l.threshold})
	}
	definition := map[string]any{
		"name": fmt.Sprintf("Rehearsal %d", seed), "parameters": parameters, "candidates": candidates, "seed": seed,
		"objective": map[string]any{"metric": o.objective, "direction": direction}, "constraints": constraints,
	}
	if o.algorithm != "" {
		definition["algorithm"] = map[string]any{"name": o.algorithm}
	}
	return definition
}

// csv writes rows as the import expects them.
func (t *table) csv(rows []int) []byte {
	var buffer bytes.Buffer
	w := csv.NewWriter(&buffer)
	_ = w.Write(t.header)
	for _, i := range rows {
		_ = w.Write(t.rows[i])
	}
	w.Flush()
	return buffer.Bytes()
}
