package pages

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	numbers "golang.org/x/text/number"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// readForm reads a posted form.
func readForm(r *http.Request) (*typed, error) {
	parse := r.ParseForm
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		parse = func() error { return r.ParseMultipartForm(request.MaxBody) }
	}
	if err := parse(); err != nil {
		return nil, formError(err)
	}
	form := newTyped(r.PostForm)
	form.marks = marksOf(r)
	return form, nil
}

func formError(err error) error {
	var tooLarge *http.MaxBytesError
	var bounded *problem.Problem
	if errors.As(err, &tooLarge) || errors.As(err, &bounded) {
		return err
	}
	return problem.Malformed("body", "", "The form cannot be read.")
}

// marksOf are the marks that whoever sent the request is known to write numbers with: pages show
// decimal points, and where the reader's language has decimal commas, these.
func marksOf(r *http.Request) design.Marks {
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err == nil && len(tags) > 0 && strings.Contains(message.NewPrinter(tags[0]).Sprint(numbers.Decimal(0.5)), ",") {
		return design.Marks{Decimal: ','}
	}
	return design.Marks{Decimal: '.'}
}

// typed is a form being read: values taken from it, faults found on the way. What it holds is kept
// as typed, so that nothing is lost when something is wrong.
type typed struct {
	values  url.Values
	faults  map[string]string
	order   []string // of the faults
	general []string // what is wrong with the whole
	marks   design.Marks
	kept    url.Values                    // what fields were filled in with: as it stands there, it needs no reading
	meant   map[string][]templates.Option // for fields whose number can be read in two ways, the buttons that say which is meant
}

func newTyped(values url.Values) *typed {
	t := &typed{values: values, faults: map[string]string{}, marks: design.Marks{Decimal: '.'}, meant: map[string][]templates.Option{}}
	t.takeMeant()
	for name, texts := range values {
		for i, text := range texts {
			if design.CheckText(text) != "" {
				texts[i] = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\ufffd")
				t.fault(name, "something here was no text and is taken out; look whether the rest is right")
			}
		}
	}
	return t
}

// offer asks which of two readings of a number is meant, by buttons that put it into field into and
// press again what was pressed.
func (t *typed) offer(name, into string, readings ...templates.Option) {
	for _, o := range readings {
		t.meant[name] = append(t.meant[name], templates.Option{Value: t.pressed() + " " + o.Value + " " + into, Label: o.Label})
	}
}

// takeMeant does what such a button says.
func (t *typed) takeMeant() {
	if said := strings.SplitN(t.values.Get("meant"), " ", 3); len(said) == 3 {
		t.values.Set("do", said[0])
		t.values.Set(said[2], said[1])
	}
	t.values.Del("meant")
}

// pressed is which of the form's buttons sent it.
func (t *typed) pressed() string { return t.values.Get("do") }

func (t *typed) text(name string) string { return strings.TrimSpace(t.values.Get(name)) }

func (t *typed) fault(name, message string) {
	if _, known := t.faults[name]; !known {
		t.faults[name] = message
		t.order = append(t.order, name)
	}
}

// number reads an optional number; nil when the field is empty or faulty.
func (t *typed) number(name string) *float64 { return t.numberLike(name, nil) }

// numberLike is number where fits, unless it is nil, tells whether a value is as those before: it
// decides between two readings if it can.
func (t *typed) numberLike(name string, fits func(float64) bool) *float64 {
	text := t.text(name)
	if text == "" {
		return nil
	}
	marks := t.marks
	if text == t.kept.Get(name) {
		marks = design.PointDecimal
	}
	x, err := design.ReadNumber(text, marks)
	if two := (*design.AmbiguousNumber)(nil); errors.As(err, &two) {
		switch {
		case fits == nil || fits(two.Decimal) == fits(two.Thousands):
			// in the reader's own way of writing, so that it is not asked about again
			t.offer(name, name, templates.Option{Value: strings.ReplaceAll(exactly(two.Decimal), ".", string(t.marks.Decimal)), Label: exactly(two.Decimal)},
				templates.Option{Value: exactly(two.Thousands), Label: exactly(two.Thousands)})
		case fits(two.Decimal):
			return &two.Decimal
		default:
			return &two.Thousands
		}
	}
	if err != nil {
		t.fault(name, err.Error())
		return nil
	}
	return &x
}

func exactly(x float64) string { return design.NumberValue(x).String() }

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

// day reads a date as its end; nil when the field is empty.
func (t *typed) day(name string) *time.Time {
	text := t.text(name)
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.fault(name, "write a date such as 2027-01-31")
		return nil
	}
	end := at.Add(24*time.Hour - time.Second)
	return &end
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

// err is what is wrong, for a form that is not shown again.
func (t *typed) err() error {
	var faults []design.Fault
	for _, name := range t.order {
		faults = append(faults, design.Fault{Field: name, Message: t.faults[name]})
	}
	if len(faults) == 0 {
		return nil
	}
	return &design.Invalid{Faults: faults}
}

// place puts an error of the domain beside the fields it is about; names turns a fault's field into
// the form's, "" when the form has no such field, and is nil when the page shows faults in a way of
// its own. It returns false when the error needs a page of its own.
func (t *typed) place(err error, names func(field string) string) bool {
	if err == nil {
		return true
	}
	p := problem.Of(err)
	switch p.Status {
	case http.StatusUnprocessableEntity, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge:
	default:
		return false
	}
	faults := p.Errors
	if errors.Is(err, account.ErrNameTaken) {
		faults = []design.Fault{{Field: "name", Message: p.Detail}}
	}
	if len(faults) == 0 {
		t.general = append(t.general, p.Detail)
	}
	for _, fault := range faults {
		if names == nil {
			break
		}
		if name := names(fault.Field); name != "" {
			t.fault(name, fault.Message)
		} else {
			t.general = append(t.general, fault.String())
		}
	}
	return true
}

// shown is what the page shows again.
func (t *typed) shown() templates.Form {
	form := templates.Form{Values: t.values, Errors: t.faults, Meant: t.meant, General: strings.Join(t.general, "; ")}
	if len(t.order) > 0 {
		form.First = t.order[0]
	}
	return form
}

// itself is for forms whose fields are named as those of the domain.
func itself(field string) string { return field }

// nowhere is for forms that show faults as a whole.
func nowhere(string) string { return "" }

// submission is what a posted form asks for, once it is read.
type submission struct {
	// do carries it out; nil when there is nothing to carry out.
	do func(study.Command) error
	// to is the page to see then. done shows something else.
	to   string
	done func() error
	// names turns the field of a fault into the form's, "" when the form has no such field; nil
	// when again shows faults in a way of its own.
	names func(field string) string
	// again shows the form again with what was typed and what is wrong; nil lets that have a page
	// of its own.
	again func(templates.Form) error
	// doubted shows the form again with what is odd about it; nil for forms without such values.
	doubted func(templates.Form, []study.Doubt) error
}

// submit is the way of every form: what was typed is read, becomes a command with the form's own
// idempotency key, and is answered: by the page to see next, or by the form again with its faults.
// Sending the same form twice counts as having worked.
func submit(w http.ResponseWriter, r *http.Request, read func(*typed) submission) error {
	form, err := readForm(r)
	if err != nil {
		return err
	}
	asked := read(form)
	if err = ofAnother(r, form.values); err == nil && asked.do != nil && form.ok() {
		cmd := command(r, form.values)
		if asked.doubted != nil {
			sure := form.text("sure")
			cmd.Sure = &sure
		}
		err = asked.do(cmd)
	}
	var odd *study.Doubtful
	if errors.As(err, &odd) {
		return asked.doubted(form.shown(), odd.Doubts)
	}
	if form.ok() && (err == nil || doneBefore(err) != nil) {
		return asked.answer(w, r)
	}
	if asked.again == nil {
		return errors.Join(err, form.err())
	}
	if !form.place(err, asked.names) {
		return err
	}
	return asked.again(form.shown())
}

func (asked submission) answer(w http.ResponseWriter, r *http.Request) error {
	if asked.done != nil {
		return asked.done()
	}
	return GoTo(w, r, asked.to)
}

// previewed is what asked carries out where the form was sent from the preview of these values, at
// this moment of the study; else it is that preview, which look makes and draw shows.
func (asked submission) previewed(form *typed, snap *ledger.Snapshot, done string, look func() (*templates.Consequences, error), draw func(*templates.Consequences) error) submission {
	shown, seen := form.asShown(snap.Hash), form.text("shown")
	last := seen != "" && slices.Contains([]string{"save", "correct"}, form.pressed())
	if last && seen == shown {
		return asked
	}
	var preview *templates.Consequences
	asked.do = func(study.Command) (err error) {
		preview, err = look()
		return err
	}
	asked.done = func() error {
		preview.Shown = shown
		if last {
			preview.Again = "Nothing is " + done + " yet: what you typed, or the study, is not as it was in the preview you saw. This is the new one."
		}
		return draw(preview)
	}
	return asked
}

// newKey makes the Idempotency-Key that a form carries, which also says whose form it is.
func newKey(r *http.Request) string {
	who, _ := request.Caller(r)
	return keyOf(who)
}

func keyOf(who account.Identity) string { return who.Caller() + " " + rand.Text() }

// ofAnother refuses a form that somebody else had opened, since nobody's typing is saved in
// another's name unless they send it themselves: the form becomes the caller's, to be sent again.
func ofAnother(r *http.Request, values url.Values) error {
	who, _ := request.Caller(r)
	owner, _, named := strings.Cut(values.Get("key"), " ")
	if !named || owner == who.Caller() {
		return nil
	}
	values.Set("key", keyOf(who))
	return problem.New(http.StatusUnprocessableEntity, "Nothing is saved: this form was opened under another sign-in, and you are signed in as "+who.Name+". Send it again to save it in your own name.")
}

// command is how a form's write enters.
func command(r *http.Request, values url.Values) study.Command {
	who, _ := request.Caller(r)
	cmd := study.Command{By: who.By(), Author: who.Caller()}
	if key := values.Get("key"); key != "" && len(key) <= 255 {
		cmd.Key = request.Key(r, key, []byte(withoutButtons(values).Encode()))
	}
	return cmd
}

// withoutButtons is what a form says, whichever button sent it: a saving that was asked back is the
// same request as one that was not.
func withoutButtons(values url.Values) url.Values {
	said := url.Values{}
	for name, list := range values {
		if name != "key" && name != "do" && name != "sure" && name != "shown" {
			said[name] = list
		}
	}
	return said
}

// madeAt is the page of a study that was made, with what is said there the first time.
func madeAt(after *ledger.Snapshot, err error, said string) string {
	if first := doneBefore(err); first != nil {
		return "/studies/" + first.Study
	}
	if err != nil {
		return ""
	}
	return "/studies/" + after.ID + said
}

// doneBefore is what a form did that was sent twice, else nil.
func doneBefore(err error) *study.Done {
	var before *study.AlreadyDone
	if errors.As(err, &before) {
		return &before.Done
	}
	return nil
}
