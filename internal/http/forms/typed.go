// Package forms is what people type: a table of fields for each form, by which it is drawn, filled
// in and read, and by which faults find their fields.
package forms

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	localised "golang.org/x/text/number"
	"golang.org/x/text/width"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/lists"
	"headroom/internal/study/design"
	"headroom/internal/view"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Typed is a posted form: values are read from it, and faults collected. What was typed is kept, so
// that nothing is lost when something is faulty.
type Typed struct {
	Values          url.Values
	faults          map[string]string
	order           []string // names of the faulty fields
	general         []string // faults of the whole form
	focus           string   // the field that gets the focus where nothing is faulty
	marks           design.Marks
	filledIn        url.Values                    // what the fields were filled in with
	readingsOffered map[string][]templates.Option // by field with an ambiguous number, the buttons that say which is meant
}

// newTyped returns the form with these values, whose sender writes numbers with these marks.
func newTyped(values url.Values, marks design.Marks) *Typed {
	t := &Typed{Values: values, faults: map[string]string{}, marks: marks, readingsOffered: map[string][]templates.Option{}}
	t.takeChosenReading()
	for name, texts := range values {
		for i, text := range texts {
			if design.CheckText(text) != "" {
				texts[i] = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\ufffd")
				t.Fault(name, "characters that are not text were removed; check that the rest is right")
			}
		}
	}
	return t
}

// offerReadings offers two readings of an ambiguous number as buttons, which put the chosen one
// into field into and repeat the press that sent the form.
func (t *Typed) offerReadings(name, into string, readings ...templates.Option) {
	for _, o := range readings {
		t.readingsOffered[name] = append(t.readingsOffered[name], templates.Option{Value: t.Pressed() + " " + o.Value + " " + into, Label: o.Label})
	}
}

// takeChosenReading carries out such a button, if one was pressed.
func (t *Typed) takeChosenReading() {
	if said := strings.SplitN(t.Values.Get("meant"), " ", 3); len(said) == 3 {
		t.Values.Set("do", said[0])
		t.Values.Set(said[2], said[1])
	}
	t.Values.Del("meant")
}

// Pressed returns the value of the button that sent the form.
func (t *Typed) Pressed() string { return t.Values.Get("do") }

// Text returns what was typed into a field, without surrounding spaces.
func (t *Typed) Text(name string) string { return strings.TrimSpace(t.Values.Get(name)) }

// Fault sets the fault of a field, if it has none yet.
func (t *Typed) Fault(name, message string) {
	if _, known := t.faults[name]; !known {
		t.faults[name] = message
		t.order = append(t.order, name)
	}
}

// TakeOver takes over what others have changed since the form was opened. It was filled in with
// was, and would be with now. A field in which nothing was typed gets the new value; contested are
// the fields in which both others and the sender changed something.
func (t *Typed) TakeOver(was, now url.Values) (contested []string) {
	for name := range now {
		switch typed, before, there := plain(t.Values.Get(name)), plain(was.Get(name)), plain(now.Get(name)); {
		case typed == before:
			t.Values[name] = now[name]
		case there != before && there != typed:
			contested = append(contested, name)
		}
	}
	t.filledIn = now
	return contested
}

// plain returns a text as it is both before and after a browser has sent it: browsers change line
// ends and omit a leading one.
func plain(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// unchangedText reports whether a field holds the text that it was filled in with, which may be
// less than what is stored.
func (t *Typed) unchangedText(name string) bool {
	return t.Text(name) != "" && plain(t.Values.Get(name)) == plain(t.filledIn.Get(name))
}

// cutUnit removes the unit from the end of what was typed into a field. A number that was typed
// beside another unit, which has been changed since, is a fault.
func (t *Typed) cutUnit(unit, name string) {
	typed := t.Text(name)
	if field := templates.UnitOf(name); typed != "" && t.Values.Has(field) && view.Typed(t.Values, name) {
		if was, is := t.Text(field), strings.TrimSpace(unit); was != is {
			t.Fault(name, "this was typed "+inUnit(was)+" and would now be read "+inUnit(is)+": look at the number, and press again")
		}
	}
	if number := design.CutUnit(typed, unit); number != typed {
		t.Values.Set(name, number)
	}
}

func inUnit(unit string) string { return words.Either(unit == "", "without a unit", "in "+unit) }

// number reads an optional number; nil if the field is empty or faulty.
func (t *Typed) number(name string) *float64 { return t.numberLike(name, nil) }

// numberLike is number, but lets likely choose between two readings of an ambiguous number: the one
// that is likely, if the other is not. likely may be nil.
func (t *Typed) numberLike(name string, likely func(float64) bool) *float64 {
	text := t.Text(name)
	if text == "" {
		return nil
	}
	marks := words.Either(text == t.filledIn.Get(name), design.PointDecimal, t.marks)
	x, err := design.ReadNumber(text, marks)
	if two, ok := errors.AsType[*design.AmbiguousNumber](err); ok {
		switch {
		case likely == nil || likely(two.Decimal) == likely(two.Thousands):
			t.offerReadings(name, name, templates.Option{Value: t.formatAsUser(two.Decimal), Label: formatExact(two.Decimal)},
				templates.Option{Value: t.formatAsUser(two.Thousands), Label: formatExact(two.Thousands)})
		case likely(two.Decimal):
			return &two.Decimal
		default:
			return &two.Thousands
		}
	}
	if err != nil {
		t.Fault(name, err.Error())
		return nil
	}
	return &x
}

func formatExact(x float64) string { return design.NumberValue(x).String() }

// formatAsUser returns x with the sender's decimal mark, so that it is not ambiguous to them.
func (t *Typed) formatAsUser(x float64) string {
	return strings.ReplaceAll(formatExact(x), ".", string(t.marks.Decimal))
}

func (t *Typed) required(name, missing string) float64 {
	x := t.number(name)
	if t.Text(name) == "" {
		t.Fault(name, missing)
	}
	if x == nil {
		return 0
	}
	return *x
}

// day reads a date and returns its last second; nil if the field is empty.
func (t *Typed) day(name string) *time.Time {
	text := t.Text(name)
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fault(name, "write a date such as 2027-01-31")
		return nil
	}
	return new(at.Add(24*time.Hour - time.Second))
}

// Whole reads an optional whole number, absent if the field is empty.
func (t *Typed) Whole(name string, absent int) int {
	text := t.Text(name)
	if text == "" {
		return absent
	}
	n, err := strconv.Atoi(width.Narrow.String(text))
	if err != nil {
		t.Fault(name, "write a whole number")
		return absent
	}
	return n
}

func (t *Typed) list(name string) []string { return separated(t.Values.Get(name)) }

const separators = ",;\n\r"

// separated returns the texts between commas, semicolons or line ends, or in quotes. A comma
// between two digits belongs to a name, as in 1,4-dioxane, unless all are numbers.
func separated(text string) (items []string) {
	numbers := strings.Trim(text, separators+" 0123456789") == ""
	digit := func(i int) bool { return i < len(text) && text[i] >= '0' && text[i] <= '9' }
	begun := 0
	for i := 0; i < len(text); i++ {
		if rest := text[i:]; rest[0] == '"' && strings.TrimSpace(text[begun:i]) == "" {
			inner, after, closed := quoted(rest)
			if closed && (after == "" || strings.ContainsRune(separators, rune(after[0]))) {
				items, i = append(items, inner), len(text)-len(after)
				begun = i + 1
				continue
			}
		}
		if !strings.ContainsRune(separators, rune(text[i])) || text[i] == ',' && !numbers && i > begun && digit(i-1) && digit(i+1) {
			continue
		}
		items, begun = append(items, text[begun:i]), i+1
	}
	return nonEmpty(append(items, text[min(begun, len(text)):]))
}

// quoted returns the text in the quotes that text begins with, in which a doubled quote stands for
// one, and what follows them.
func quoted(text string) (inner, after string, closed bool) {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '"':
		case strings.HasPrefix(text[i+1:], `"`):
			i++
		default:
			return strings.ReplaceAll(text[1:i], `""`, `"`), strings.TrimLeft(text[i+1:], " "), true
		}
	}
	return "", "", false
}

// joined returns the list that separated reads as these items.
func joined(items []string) string {
	return strings.Join(lists.Map(items, func(item string) string {
		if whole := separated(item); len(whole) == 1 && whole[0] == item {
			return item
		}
		return `"` + strings.ReplaceAll(item, `"`, `""`) + `"`
	}), ", ")
}

// nonEmpty returns the texts without surrounding spaces and without empty ones.
func nonEmpty(texts []string) []string {
	return lists.Pick(texts, func(text string) (string, bool) { return strings.TrimSpace(text), strings.TrimSpace(text) != "" })
}

// OK reports whether nothing is faulty so far.
func (t *Typed) OK() bool { return len(t.faults) == 0 }

// Err returns the faults as an error, for a form that is not shown again.
func (t *Typed) Err() error {
	return design.Faults(lists.Map(t.order, func(name string) design.Fault { return design.Fault{Field: name, Message: t.faults[name]} })).Err()
}

// Place puts faults beside the fields that they are about, in the order of the page, and the others
// above the form.
func (t *Typed) Place(faults []design.Fault, fields Fields) {
	for _, fault := range faults {
		if name := fields.NameOf(fault.Field); name != "" {
			t.Fault(name, fault.Message)
		} else {
			t.general = append(t.general, fault.String())
		}
	}
	at := func(name string) int { return slices.IndexFunc(fields, func(f Field) bool { return f.Name == name }) }
	slices.SortStableFunc(t.order, func(a, b string) int { return at(a) - at(b) })
}

// General adds a fault of the form as a whole.
func (t *Typed) General(message string) { t.general = append(t.general, message) }

// FaultsAboveForm puts the faults of fields above the form, for a form that has no room beside
// them.
func (t *Typed) FaultsAboveForm() {
	for _, name := range t.order {
		t.General(strings.TrimPrefix(name, "context.") + ": " + t.faults[name])
	}
}

// Shown returns the form as the page shows it again.
func (t *Typed) Shown() templates.Form {
	form := templates.Form{Values: t.Values, Errors: t.faults, Meant: t.readingsOffered, General: strings.Join(t.general, "; "), Sent: true, First: t.focus}
	if len(t.order) > 0 {
		form.First = t.order[0]
	}
	return form
}

// Content returns what was typed, whichever button sent it: a request that was confirmed in a
// second step is the same as one that needed no confirmation.
func (t *Typed) Content() string {
	said := url.Values{}
	for name, list := range t.Values {
		if name != "key" && name != "do" && name != "sure" && name != "shown" {
			said[name] = list
		}
	}
	return said.Encode()
}

// Fingerprint returns a hash of what was typed and of from, what else a preview was made from. A
// request is carried out only if it has the fingerprint of the preview that was shown.
func (t *Typed) Fingerprint(from string) string {
	said := strings.ReplaceAll(t.Content(), "%0D%0A", "%0A") // browsers end lines in their own way
	sum := sha256.Sum256([]byte(from + "\x00" + said))
	return hex.EncodeToString(sum[:12])
}

const unreadable = "The form cannot be read."

// Read reads a posted form.
func Read(r *http.Request) (*Typed, error) {
	parse := r.ParseForm
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		parse = func() error { return r.ParseMultipartForm(request.MaxBody) }
	}
	if err := parse(); err != nil {
		return nil, problem.Unreadable(err, unreadable)
	}
	return newTyped(r.PostForm, marksOf(r)), nil
}

// marksOf returns the marks with which the sender writes numbers: decimal commas if their language
// has them, else decimal points, which pages show.
func marksOf(r *http.Request) design.Marks {
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err == nil && len(tags) > 0 && strings.Contains(message.NewPrinter(tags[0]).Sprint(localised.Decimal(0.5)), ",") {
		return design.Marks{Decimal: ','}
	}
	return design.Marks{Decimal: '.'}
}

// Upload returns the text of the uploaded file, "" if there is none.
func Upload(r *http.Request) (string, error) {
	file, _, err := r.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		return "", nil
	}
	if err != nil {
		return "", problem.Unreadable(err, unreadable)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		return "", problem.Unreadable(err, unreadable)
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(content), "\ufffd"), "\ufeff"), nil
}
