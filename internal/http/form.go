package server

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"headroom/internal/study/design"
	"headroom/web/templates"
)

// readForm reads a posted form. What it holds is kept as typed, so that nothing is lost when something is wrong.
func readForm(r *http.Request) (url.Values, error) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		if err := r.ParseMultipartForm(maxBody); err != nil {
			return nil, formError(err)
		}
		return r.PostForm, nil
	}
	if err := r.ParseForm(); err != nil {
		return nil, formError(err)
	}
	return r.PostForm, nil
}

func formError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	return malformed("body", "The form cannot be read.")
}

// decimal reads a number as people type it: decimal point or comma, thin spaces between thousands.
func decimal(text string) (float64, error) {
	plain := strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\u00a0', '\u2009', '\u202f':
			return -1
		case '−':
			return '-'
		}
		return r
	}, text)
	if strings.Count(plain, ",") == 1 && !strings.Contains(plain, ".") {
		plain = strings.Replace(plain, ",", ".", 1)
	}
	for _, r := range plain {
		if !strings.ContainsRune("0123456789.eE+-", r) {
			return 0, errNotDecimal
		}
	}
	x, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(x, 0) {
		return 0, errNotDecimal
	}
	return x + 0, nil // −0 becomes 0
}

var errNotDecimal = errors.New("write a number such as 0.31 or 0,31")

// typed is a form being read: values taken from it, faults found on the way.
type typed struct {
	values url.Values
	faults map[string]string
	order  []string // of the faults
}

func newTyped(values url.Values) *typed {
	return &typed{values: values, faults: map[string]string{}}
}

func (t *typed) text(name string) string { return strings.TrimSpace(t.values.Get(name)) }

func (t *typed) fault(name, message string) {
	if _, known := t.faults[name]; !known {
		t.faults[name] = message
		t.order = append(t.order, name)
	}
}

// number reads an optional number; nil when the field is empty or faulty.
func (t *typed) number(name string) *float64 {
	text := t.text(name)
	if text == "" {
		return nil
	}
	x, err := decimal(text)
	if err != nil {
		t.fault(name, err.Error())
		return nil
	}
	return &x
}

// required reads a number that must be there.
func (t *typed) required(name, missing string) float64 {
	if t.text(name) == "" {
		t.fault(name, missing)
		return 0
	}
	if x := t.number(name); x != nil {
		return *x
	}
	return 0
}

// whole reads an optional whole number, absent when the field is empty.
func (t *typed) whole(name string, absent int) int {
	text := t.text(name)
	if text == "" {
		return absent
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.fault(name, "write a whole number")
		return absent
	}
	return n
}

// list reads texts separated by commas, semicolons or line ends.
func (t *typed) list(name string) []string {
	var items []string
	for _, item := range strings.FieldsFunc(t.values.Get(name), func(r rune) bool { return r == ',' || r == ';' || r == '\n' || r == '\r' }) {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// ok tells whether nothing is wrong so far.
func (t *typed) ok() bool { return len(t.faults) == 0 }

// place puts an error of the domain beside the fields it is about; names turns a location into a field's name, "" when the
// form has no such field. The result is false when the error needs a page of its own.
func (t *typed) place(err error, names func(location string) string) (general string, ok bool) {
	if err == nil {
		return "", true
	}
	var faulty *design.Invalid
	if !errors.As(err, &faulty) {
		return refusal(err)
	}
	var rest []string
	for _, fault := range faulty.Faults {
		if name := names(fault.Location); name != "" {
			t.fault(name, fault.Message)
		} else {
			rest = append(rest, strings.TrimPrefix(fault.Location, "body.")+": "+fault.Message)
		}
	}
	return strings.Join(rest, "; "), true
}

// form is what the page shows again.
func (t *typed) form(general string) templates.Form {
	form := templates.Form{Values: t.values, Errors: t.faults, General: general}
	if len(t.order) > 0 {
		form.First = t.order[0]
	}
	return form
}
