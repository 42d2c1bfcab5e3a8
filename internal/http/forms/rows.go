package forms

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/study/design"
	"headroom/web/templates"
)

// row is one line of a list, by field.
type row map[string]string

// The lists of the form of a study.
const parameters, constraints, recorded = templates.Parameters, templates.Constraints, templates.Recorded

// A line in which all fields but the chosen ones are empty is blank.
var (
	chosenFields = []string{"type", "scale", "op"}
	newRow       = map[string]row{parameters: {"type": "real"}, constraints: {"op": "<="}, recorded: {"metric": ""}}
)

func (r row) blank() bool {
	for name, text := range r {
		if strings.TrimSpace(text) != "" && !slices.Contains(chosenFields, name) {
			return false
		}
	}
	return true
}

// mostRows is more lines than any list of a study has. What was sent beyond them would only be
// counted, and drawn again.
const mostRows = 100

// rowsOf reads the lines of a list in order.
func rowsOf(values url.Values, list string) []row {
	rows := make([]row, mostRows)
	for name := range values {
		inList, _ := strings.CutPrefix(name, list+".")
		at, field, _ := strings.Cut(inList, ".")
		if i, err := strconv.Atoi(at); err == nil && 0 <= i && i < mostRows && at == strconv.Itoa(i) && field != "" {
			if rows[i] == nil {
				rows[i] = row{}
			}
			rows[i][field] = values.Get(name)
		}
	}
	if end := slices.IndexFunc(rows, func(r row) bool { return r == nil }); end >= 0 {
		rows = rows[:end]
	}
	return rows
}

// setRows replaces the lines of a list.
func setRows(values url.Values, list string, rows []row) {
	for name := range values {
		if strings.HasPrefix(name, list+".") {
			values.Del(name)
		}
	}
	for i, r := range rows {
		for field, text := range r {
			values.Set(list+"."+strconv.Itoa(i)+"."+field, text)
		}
	}
}

// dropBlank takes blank lines out, so that faults are counted as people see the lines.
func dropBlank(values url.Values) {
	for list := range newRow {
		setRows(values, list, slices.DeleteFunc(rowsOf(values, list), row.blank))
	}
}

// Rearrange does what the pressed one of the buttons beside the lines asks, and tells whether it was
// one of them, or one that only draws the form again.
func (t *Typed) Rearrange() bool {
	what, at, _ := strings.Cut(t.Pressed(), ".")
	doing, list, _ := strings.Cut(what, "-")
	rows := rowsOf(t.Values, list)
	switch i, err := strconv.Atoi(at); {
	case doing == "add" && newRow[list] != nil:
		setRows(t.Values, list, append(rows, newRow[list]))
	case doing == "remove" && err == nil && 0 <= i && i < len(rows):
		setRows(t.Values, list, slices.Delete(rows, i, i+1))
	default:
		return t.Redraws()
	}
	return true
}

// Redraws tells whether the form is only to be drawn again, with another scale where a button beside
// one was pressed.
func (t *Typed) Redraws() bool {
	scale, line, ok := strings.Cut(t.Pressed(), "-")
	if field := line + ".scale"; ok && (scale == design.ScaleLinear || scale == design.ScaleLog) && t.Values.Has(field) {
		t.Values.Set(field, scale)
		return true
	}
	return t.Pressed() == "refresh"
}
