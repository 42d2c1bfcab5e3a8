package server

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// show renders a page, or a part of one, whole before a byte is sent.
func show(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	var page bytes.Buffer
	if err := c.Render(r.Context(), &page); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Add("Vary", "HX-Request")
	w.WriteHeader(status)
	_, err := w.Write(page.Bytes())
	return err
}

// isPart tells whether htmx asks for a part of a page.
func isPart(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// newPage is what every page has.
func newPage(r *http.Request, title string) templates.Page {
	return templates.Page{Title: title, Viewer: viewerOf(r), Now: time.Now(), Done: doneSentence[r.URL.Query().Get("done")]}
}

func viewerOf(r *http.Request) templates.Viewer {
	who, known := identity(r)
	if !known {
		return templates.Viewer{}
	}
	return templates.Viewer{
		Name: who.Name, Role: string(who.Role), Creates: who.MayCreateStudies(), Admin: who.MayAdminister(),
		Person: who.Kind == account.BySession, OneStudy: who.StudyID != "",
	}
}

// studyHead names a study to the pages about it, with what the viewer may do there.
func studyHead(r *http.Request, snap *ledger.Snapshot) templates.StudyHead {
	who, _ := identity(r)
	return templates.StudyHead{
		ID: snap.ID, Name: snap.Definition.Name, State: snap.State,
		Operates: who.MayOperate(snap.ID), Shares: who.MayAdminister(), Clones: who.MayCreateStudies(), ReadsMore: who.StudyID == "",
	}
}

// doneSentence says what has just been done, by the word in ?done.
var doneSentence = map[string]string{
	"made":       "The study is made. Ask for its first trial below.",
	"changed":    "Changed. The change is in effect from the next decision on.",
	"edited":     "Saved.",
	"corrected":  "Corrected. Both values stand in the ledger.",
	"closed":     "Saved.",
	"saved":      "Saved. Thank you.",
	"asked":      "Here is what to try next.",
	"own":        "Your point is a trial now.",
	"replicated": "The same settings are waiting to be run again.",
	"imported":   "The rows are imported.",
	"revoked":    "Revoked. It stopped working just now.",
	"role":       "The role is changed.",
	"disabled":   "Disabled: every session of theirs has ended.",
	"enabled":    "Enabled.",
	"ended":      "That browser is signed out.",
}

// goTo sends the browser to another page after a form did its work, also when htmx sent the form.
func goTo(w http.ResponseWriter, r *http.Request, address string) error {
	if isPart(r) {
		w.Header().Set("HX-Redirect", address)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// newKey makes the Idempotency-Key that a form carries: sending the same form twice does its work once.
func newKey() string { return rand.Text() }

// pageCommand is how a form's write enters. Its retry key is the form's own; what it answers is where to go.
func pageCommand(r *http.Request, form url.Values) study.Command {
	who, _ := identity(r)
	cmd := study.Command{By: who.By()}
	key := form.Get("key")
	if key == "" || len(key) > 255 {
		return cmd
	}
	rest := url.Values{}
	for name, values := range form {
		if name != "key" {
			rest[name] = values
		}
	}
	cmd.Retry = &study.Retry{
		Caller: who.Caller(), Method: r.Method, Path: r.URL.Path, Key: key, Body: sha256.Sum256([]byte(rest.Encode())),
		Answer: func(after *ledger.Snapshot, _ []int) (study.Answer, error) {
			return study.Answer{Status: http.StatusSeeOther, Location: "/studies/" + after.ID}, nil
		},
	}
	return cmd
}

// answeredBefore tells whether a form was sent twice, which counts as having worked.
func answeredBefore(err error) (*study.Answer, bool) {
	var before *study.AlreadyAnswered
	if errors.As(err, &before) {
		return &before.Answer, true
	}
	return nil, false
}

// refusal is what a person is told about an error that belongs beside a form; ok is false for errors that need a page
// of their own.
func refusal(err error) (sentence string, ok bool) {
	p := asProblem(err)
	return p.Detail, p.Status == http.StatusConflict || p.Status == http.StatusUnprocessableEntity || p.Status == http.StatusPreconditionFailed || p.Status == http.StatusRequestEntityTooLarge
}

// studyNow is the study in the path as it is now.
func (s *Server) studyNow(r *http.Request) (*ledger.Snapshot, error) {
	return s.studies.Snapshot(r.Context(), chi.URLParam(r, "id"), 0)
}
