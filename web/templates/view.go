// Package templates draws the pages: templ components and the view models they take. View models
// hold text that is ready to be read; the handlers in package pages fill them in.
package templates

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"

	"headroom/internal/account"
	"headroom/internal/view/chart"
)

// Page is what every page needs around its content.
type Page struct {
	Title  string
	Viewer account.Identity // who looks at the page, nobody in particular when not signed in
	Now    time.Time
	Width  string // "narrow", "medium" or "" for all there is
	Live   Live
	Switch string // where somebody else who uses this browser comes back by PIN
	Charts bool   // the page draws charts
	Error  string // what went wrong with the last thing done, for a notice on top
	Done   string // what has just been done
}

// person names whose forms the page has, "" when not signed in.
func (p Page) person() string {
	if p.Viewer.Name == "" {
		return ""
	}
	return p.Viewer.Caller()
}

// hasSession tells whether the viewer has one that can be ended.
func (p Page) hasSession() bool { return p.Viewer.Kind == account.BySession }

// Live is the stream a page listens to.
type Live struct {
	URL     string
	Version int64
}

// Form is what a person typed, and what is wrong with it by field name.
type Form struct {
	Inputs []Input // its fields; none where the page has them part by part
	Values url.Values
	Errors map[string]string
	// Meant are, by field, the buttons that say which of two readings of a number is meant.
	Meant map[string][]Option
	// First is the name of the first faulty field, which gets the focus.
	First string
	// General is what is wrong with the whole.
	General string
	// Sent tells that the page holds what was sent.
	Sent bool
}

// Value returns the text typed into a field.
func (f Form) Value(name string) string { return f.Values.Get(name) }

// Fault returns what is wrong with a field, "" when nothing is.
func (f Form) Fault(name string) string { return f.Errors[name] }

// Like is what was typed into a form with the fields of another.
func (f Form) Like(other Form) Form {
	f.Inputs = other.Inputs
	return f
}

// AnyFault tells whether something is wrong with one of the fields.
func (f Form) AnyFault(inputs []Input) bool {
	return slices.ContainsFunc(inputs, func(in Input) bool { return f.Fault(in.Name) != "" })
}

// Touched tells whether something is typed into one of the fields, or wrong with it.
func (f Form) Touched(inputs []Input) bool {
	return f.AnyFault(inputs) || slices.ContainsFunc(inputs, func(in Input) bool { return f.Value(in.Name) != "" })
}

// Faulty tells whether anything is wrong.
func (f Form) Faulty() bool { return len(f.Errors) > 0 || f.General != "" }

// Option is one choice of a list.
type Option struct{ Value, Label string }

// Input is one field of a form.
type Input struct {
	Name        string
	Of          string // begins the id, where several forms of a page have fields of that name
	Label       string
	Help        string
	Unit        string
	Kind        string // "text" (default), "number", "area", "select", "check", "date"
	Options     []Option
	Placeholder string
	Class       string
	Required    bool
	Refreshes   bool // changing it redraws the form, since other fields depend on it
}

// ID is the input's id in the page.
func (i Input) ID() string { return i.Of + fieldID(i.Name) }

func fieldID(name string) string {
	id := []byte("f-")
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			id = append(id, c)
		default:
			id = append(id, '_')
		}
	}
	return string(id)
}

// Stamp is a moment, as it reads now and exactly.
type Stamp struct {
	Ago   string
	Exact string
	ISO   string
}

// Table is a table with everything in it already text.
type Table struct {
	Head []Column
	Rows [][]string
}

// Column is a table's column.
type Column struct {
	Name, Unit string
	Number     bool
}

// Chart is one chart: what is drawn, the sentence under it, and the table behind it.
type Chart struct {
	ID      string
	Title   string
	Caption string
	Notes   []string // further sentences of the caption
	Beside  bool     // the caption stands beside the plot where there is room
	Drawing chart.Drawing
	Table   Table
	Later   string // address of the table, when it is fetched once somebody opens it
	Paper   bool   // it stands in a file, where nothing can be unfolded or saved
	Printed bool   // the table stands below it there
}

// longestWhole is how long a word in a table may be so that it is never broken: more, and a sheet
// of paper could be too narrow for it.
const longestWhole = 12

// cell is the class of a cell of a table: a number, or words so long that they may be broken.
func cell(number bool, text string) templ.Attributes {
	var classes []string
	if number {
		classes = append(classes, "number")
	}
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(word) > longestWhole {
			classes = append(classes, "long")
			break
		}
	}
	if classes == nil {
		return nil
	}
	return templ.Attributes{"class": strings.Join(classes, " ")}
}
