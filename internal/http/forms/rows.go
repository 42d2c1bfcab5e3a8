package forms

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/study/design"
	"headroom/web/templates"
)

type row map[string]string

// rows are the lines of a list by number. A line keeps its number as long as the form is open, so
// that what is typed while an answer is on its way finds its line again.
type rows map[int]row

const parameters, constraints, recorded = templates.Parameters, templates.Constraints, templates.Recorded

var (
	chosenFields = []string{"type", "scale", "op"} // a line with nothing else is blank
	newRow       = map[string]row{parameters: {"type": "real"}, constraints: {"op": "<="}, recorded: {"metric": ""}}
	firstOfRow   = map[string]string{parameters: "name", constraints: "metric", recorded: "metric"}
)

func (r row) blank() bool {
	for name, text := range r {
		if strings.TrimSpace(text) != "" && !slices.Contains(chosenFields, name) {
			return false
		}
	}
	return true
}

// mostRows is more than any list of a study can have; lines beyond it are ignored.
const mostRows = 100

// largestNumber is the largest line number, far beyond what a page left open all day reaches.
const largestNumber = 1_000_000

func rowsOf(values url.Values, list string) rows {
	lines := rows{}
	for name := range values {
		inList, _ := strings.CutPrefix(name, list+".")
		at, field, _ := strings.Cut(inList, ".")
		if n, err := strconv.Atoi(at); err == nil && 0 <= n && n <= largestNumber && at == strconv.Itoa(n) && field != "" {
			if lines[n] == nil {
				lines[n] = row{}
			}
			lines[n][field] = values.Get(name)
		}
	}
	return lines
}

func (lines rows) numbers() []int {
	sorted := slices.Sorted(maps.Keys(lines))
	return sorted[:min(len(sorted), mostRows)]
}

func (lines rows) notBlank() []int {
	return slices.DeleteFunc(lines.numbers(), func(n int) bool { return lines[n].blank() })
}

// numbered returns the line numbers that which selects, by list.
func numbered(values url.Values, which func(rows) []int) map[string][]int {
	numbers := map[string][]int{}
	for list := range newRow {
		numbers[list] = which(rowsOf(values, list))
	}
	return numbers
}

func (lines rows) named(name string) row {
	for _, n := range lines.numbers() {
		if strings.EqualFold(strings.TrimSpace(lines[n]["name"]), name) {
			return lines[n]
		}
	}
	return nil
}

func (lines rows) add(r row) (next int) {
	for n := range lines {
		next = max(next, n+1)
	}
	lines[next] = r
	return next
}

func setRows(values url.Values, list string, lines rows) {
	for name := range values {
		if strings.HasPrefix(name, list+".") {
			values.Del(name)
		}
	}
	for n, r := range lines {
		for field, text := range r {
			values.Set(list+"."+strconv.Itoa(n)+"."+field, text)
		}
	}
}

// Rearrange carries out the button beside a line that was pressed, and reports whether it was one
// of these or one that only draws the form again. The focus moves to a new line, and from a removed
// line to the next one or to the button that adds one.
func (t *Typed) Rearrange() bool {
	what, at, _ := strings.Cut(t.Pressed(), ".")
	doing, list, _ := strings.Cut(what, "-")
	lines := rowsOf(t.Values, list)
	begin := func(n int) { t.focus = list + "." + strconv.Itoa(n) + "." + firstOfRow[list] }
	switch n, err := strconv.Atoi(at); {
	case newRow[list] == nil:
		return t.Redraws()
	case doing == "add":
		begin(lines.add(newRow[list]))
	case doing == "remove" && err == nil: // the line may be gone already, by an earlier press
		delete(lines, n)
		t.focus = "add-" + list
		if i := slices.IndexFunc(lines.numbers(), func(other int) bool { return other > n }); i >= 0 {
			begin(lines.numbers()[i])
		}
	default:
		return t.Redraws()
	}
	setRows(t.Values, list, lines)
	return true
}

// Redraws reports whether the form is only to be drawn again, if need be with the scale whose
// button was pressed.
func (t *Typed) Redraws() bool {
	scale, line, ok := strings.Cut(t.Pressed(), "-")
	if field := line + ".scale"; ok && (scale == design.ScaleLinear || scale == design.ScaleLog) && t.Values.Has(field) {
		t.Values.Set(field, scale)
		return true
	}
	return t.Pressed() == "refresh"
}
