package pages

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/account"
	"headroom/internal/http/forms"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// placed puts an error of the domain beside the fields that it is about, those that have no field, or
// all where the page has none for them, above the form. It returns false when the error needs a page
// of its own.
func placed(err error, form *forms.Typed, fields forms.Fields) bool {
	if err == nil {
		return true
	}
	p := problem.Of(err)
	ofForms := []int{http.StatusUnprocessableEntity, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge}
	if !slices.Contains(ofForms, p.Status) {
		return false
	}
	faults := p.Errors
	if errors.Is(err, account.ErrNameTaken) {
		faults = []design.Fault{{Field: "name", Message: p.Detail}}
	}
	if len(faults) == 0 {
		form.General(p.Detail)
	}
	form.Place(faults, fields)
	return true
}

// submission is what a posted form asks for, once it is read.
type submission struct {
	// do carries it out; nil when there is nothing to carry out.
	do func(study.Command) error
	// to is the page to see then. done shows something else.
	to   string
	done func() error
	// fields are those beside which faults are shown.
	fields forms.Fields
	// again shows the form again with what was typed and what is wrong; nil lets that have a page
	// of its own.
	again func(templates.Form) error
	// doubted shows the form again with what is odd about it; nil for forms without such values.
	doubted func(templates.Form, []study.Doubt) error
}

// submit is the way of every form: what was typed is read, becomes a command with the form's own
// idempotency key, and is answered: by the page to see next, or by the form again with its faults.
// Sending the same form twice counts as having worked.
func submit(w http.ResponseWriter, r *http.Request, read func(*forms.Typed) submission) error {
	form, err := forms.Read(r)
	if err != nil {
		return err
	}
	asked := read(form)
	if err = ofAnother(r, form.Values); err == nil && asked.do != nil && form.OK() {
		cmd := command(r, form)
		if asked.doubted != nil {
			cmd.Sure = new(form.Text("sure"))
		}
		err = asked.do(cmd)
	}
	if odd, ok := errors.AsType[*study.Doubtful](err); ok {
		return asked.doubted(form.Shown(), odd.Doubts)
	}
	if form.OK() && (err == nil || doneBefore(err) != nil) {
		if asked.done != nil {
			return asked.done()
		}
		return GoTo(w, r, asked.to)
	}
	if asked.again == nil {
		return errors.Join(err, form.Err())
	}
	if !placed(err, form, asked.fields) {
		return err
	}
	return asked.again(form.Shown())
}

// previewed is what asked carries out where the form was sent from the preview of these values, at
// this moment of the study; else it is that preview, which look makes and draw shows.
func (asked submission) previewed(form *forms.Typed, snap *ledger.Snapshot, done string, look func() (*templates.Consequences, error), draw func(*templates.Consequences) error) submission {
	shown, seen := form.AsShown(snap.Hash), form.Text("shown")
	last := seen != "" && slices.Contains([]string{"save", "correct"}, form.Pressed())
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
func command(r *http.Request, form *forms.Typed) study.Command {
	who, _ := request.Caller(r)
	cmd := study.Command{By: who.By(), Author: who.Caller()}
	if key := form.Values.Get("key"); key != "" && len(key) <= 255 {
		cmd.Key = request.Key(r, key, []byte(form.Said()))
	}
	return cmd
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
	if before, ok := errors.AsType[*study.AlreadyDone](err); ok {
		return &before.Done
	}
	return nil
}
