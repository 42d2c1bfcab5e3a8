package pages

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// submission is what a posted form asks for, once it is read.
type submission struct {
	// do carries it out; nil when there is nothing to carry out.
	do func(study.Command) error
	// to is the page to see then. done shows something else.
	to   string
	done func() error
	// names turns the field of a fault into the form's, "" when the form has no such field; nil when again
	// shows faults in a way of its own.
	names func(field string) string
	// again shows the form again with what was typed and what is wrong; nil lets that have a page of its own.
	again func(templates.Form) error
	// doubted shows the form again with what is odd about it; nil for forms without such values.
	doubted func(templates.Form, []study.Doubt) error
}

// submit is the way of every form: what was typed is read, becomes a command with the form's own retry key, and is answered: by the page
// to see next, or by the form again with its faults. Sending the same form twice counts as having worked.
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

// previewed is what asked carries out where the form was sent from the preview of these values, at this moment of the study; else it is that preview, which look
// makes and draw shows.
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

// ofAnother refuses a form that somebody else had opened, since nobody's typing is saved in another's name unless they send it themselves:
// the form becomes the caller's, to be sent again.
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
	key := values.Get("key")
	if key == "" || len(key) > 255 {
		return cmd
	}
	cmd.Retry = &study.Retry{Caller: who.Caller(), Request: r.Method + " " + r.URL.Path, Key: key, Body: sha256.New()}
	cmd.Retry.Body.Write([]byte(withoutButtons(values).Encode()))
	return cmd
}

// withoutButtons is what a form says, whichever button sent it: a saving that was asked back is the same request as one that was not.
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
