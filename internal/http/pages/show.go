package pages

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"headroom/internal/account"
	"headroom/internal/http/request"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// show renders a page, or a part of one, whole before a byte is sent.
func show(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	var page bytes.Buffer
	if err := c.Render(r.Context(), &page); err != nil {
		return err
	}
	beHTML(w)
	w.WriteHeader(status)
	_, err := w.Write(page.Bytes())
	return err
}

func beHTML(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Add("Vary", "HX-Request")
}

// isPart tells whether htmx asks for a part of a page.
func isPart(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// letPartsFollow makes the other parts of the page fetch themselves, as they are after the study has become as given; nil is for the store
// to say.
func letPartsFollow(w http.ResponseWriter, after *ledger.Snapshot) {
	trigger := "changed"
	if after != nil {
		trigger = fmt.Sprintf(`{"changed": {"seen": %d}}`, after.Version)
	}
	w.Header().Set("HX-Trigger", trigger)
}

// newPage is what every page has.
func newPage(r *http.Request, title string) templates.Page {
	return templates.Page{Title: title, Viewer: viewerOf(r), Switch: switchURL(r), Now: time.Now(), Done: doneSentence[r.URL.Query().Get("done")]}
}

// switchURL is where somebody else comes back by their PIN and then to this page, "" where nobody can.
func switchURL(r *http.Request) string {
	if !slices.ContainsFunc(r.Cookies(), func(c *http.Cookie) bool { return strings.HasSuffix(c.Name, "headroom-device") }) {
		return ""
	}
	if r.Method != http.MethodGet {
		return "/switch" // a form's address is no page to come back to
	}
	return "/switch?" + url.Values{"to": {r.URL.Path}}.Encode()
}

func viewerOf(r *http.Request) templates.Viewer {
	who, known := request.Caller(r)
	if !known {
		return templates.Viewer{}
	}
	return templates.Viewer{
		Name: who.Name, Caller: who.Caller(), Role: string(who.Role), Creates: who.MayCreateStudies(), Admin: who.MayAdminister(),
		Person: who.Kind == account.BySession, OneStudy: who.StudyID != "",
	}
}

// studyHead names a study to the pages about it, with what the viewer may do there.
func studyHead(r *http.Request, snap *ledger.Snapshot) templates.StudyHead {
	who, _ := request.Caller(r)
	return templates.StudyHead{
		ID: snap.ID, Name: snap.Definition.Name, State: snap.State,
		Operates: who.MayOperate(snap.ID), Shares: who.MayAdminister(), Clones: who.MayCreateStudies(),
	}
}

// doneSentence says what has just been done, by the word in ?done.
var doneSentence = map[string]string{
	"made":       "The study is made.",
	"demo":       "The demo study is made. Its simulated lab is filling it now; this page follows.",
	"changed":    "Changed. The change is in effect from the next decision on.",
	"edited":     "Saved.",
	"corrected":  "Corrected. Both values stand in the ledger.",
	"closed":     "Saved.",
	"confirmed":  "Saved: it is right as it is.",
	"saved":      "Saved. Thank you.",
	"undone":     "Undone. What was saved stands in the ledger, and the trial is waiting again.",
	"asked":      "Here is what to try next.",
	"own":        "Your point is a trial now.",
	"replicated": "The same settings are waiting to be run again.",
	"imported":   "The rows are imported.",
	"revoked":    "Revoked. It stopped working just now.",
	"role":       "The role is changed. Of what they gave out, what they may not give any more has ended.",
	"disabled":   "Disabled: every session of theirs has ended, and so have the tokens, unused links and share links that they gave out.",
	"enabled":    "Enabled.",
	"ended":      "That browser is signed out.",
	"pin":        "Set. “Switch person” on top brings you back here with it.",
	"forgotten":  "Forgotten: no PIN of yours works any more, on any device.",
}

// GoTo sends the browser to another page after a form did its work, also when htmx sent the form.
func GoTo(w http.ResponseWriter, r *http.Request, address string) error {
	if isPart(r) {
		w.Header().Set("HX-Redirect", address)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// studyNow is the study in the path as it is now.
func (s *Site) studyNow(r *http.Request) (*ledger.Snapshot, error) {
	return s.Studies.Snapshot(r.Context(), request.StudyID(r), 0)
}
