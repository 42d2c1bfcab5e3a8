// Package pages is what people see: handlers turn what the service says into view models of package
// templates, and forms into commands. Package http's table says which route leads to which handler,
// and for whom.
package pages

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"headroom/internal/account"
	"headroom/internal/http/forms"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Site holds what the handlers share.
type Site struct {
	Studies   *study.Service
	Accounts  account.Store
	PublicURL *url.URL // where people reach the server
	// Once calls do at most once for a form's key, for what belongs to no study.
	Once func(ctx context.Context, key *study.IdempotencyKey, do func(ctx context.Context) (made []byte, err error)) error
	// ModelPatience is how long the page of a long study waits for its model before it is shown
	// without it.
	ModelPatience time.Duration
}

// People serves the pages about people: who may come in, the browsers they use, and the links and
// tokens that they gave out.
type People struct{ *Site }

type handler = func(http.ResponseWriter, *http.Request) error

// WithStudy returns the handler that calls page with the study in the path, as it is after the
// event ?seen or later.
func (s *Site) WithStudy(page func(http.ResponseWriter, *http.Request, view.Facts) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		seen, err := request.Seen(r)
		if err != nil {
			return err
		}
		snap, err := s.Studies.Since(r.Context(), request.StudyID(r), seen)
		if err != nil {
			return err
		}
		return page(w, r, newFacts(r, snap))
	}
}

// WithTrial returns the handler that calls page with the study and the trial in the path.
func (s *Site) WithTrial(page func(http.ResponseWriter, *http.Request, view.Tried) error) handler {
	return s.WithStudy(func(w http.ResponseWriter, r *http.Request, v view.Facts) error {
		if err := isNow(r, v); err != nil {
			return err
		}
		number, err := request.TrialNumber(r)
		if err != nil {
			return err
		}
		trial := v.Snap.Trial(number)
		if trial == nil {
			return problem.NoSuchThing
		}
		return page(w, r, v.Of(trial))
	})
}

// isNow refuses a request for an earlier moment, which only the board and the report show.
func isNow(r *http.Request, v view.Facts) error {
	at, err := request.At(r)
	if err == nil && at > 0 {
		board := v.Head.URL("/board?at=" + strconv.FormatInt(at, 10))
		err = problem.InQuery(design.NewInvalid("at", "this page shows what there is now; "+board+" shows the study as it was", at))
	}
	return err
}

// Form returns the handler of a form; read says what to do with it.
func Form(read func(http.ResponseWriter, *http.Request, *forms.Typed) submission) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		return submit(w, r, func(form *forms.Typed) submission { return read(w, r, form) })
	}
}

// Button returns the handler of a form that is only a button: it calls do and then leads to the
// page to.
func Button(to string, do func(*http.Request) error) handler {
	return Form(func(_ http.ResponseWriter, r *http.Request, _ *forms.Typed) submission {
		return submission{do: func(study.Command) error { return do(r) }, to: to}
	})
}

// StudyForm returns the handler of a form about the study in the path.
func (s *Site) StudyForm(read func(http.ResponseWriter, *http.Request, view.Facts, *forms.Typed) submission) handler {
	return s.WithStudy(func(w http.ResponseWriter, r *http.Request, v view.Facts) error {
		return submit(w, r, func(form *forms.Typed) submission { return read(w, r, v, form) })
	})
}

// TrialForm returns the handler of a form about the trial in the path.
func (s *Site) TrialForm(read func(http.ResponseWriter, *http.Request, view.Tried, *forms.Typed) submission) handler {
	return s.WithTrial(func(w http.ResponseWriter, r *http.Request, v view.Tried) error {
		return submit(w, r, func(form *forms.Typed) submission { return read(w, r, v, form) })
	})
}

// show answers with a page, or a part of one, which is rendered before a byte is sent.
func show(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	page, err := rendered(r.Context(), c)
	if err != nil {
		return err
	}
	return send(w, status, page)
}

func rendered(ctx context.Context, c templ.Component) ([]byte, error) {
	var page bytes.Buffer
	err := c.Render(ctx, &page)
	return page.Bytes(), err
}

func send(w http.ResponseWriter, status int, page []byte) error {
	setHTMLHeaders(w)
	w.WriteHeader(status)
	_, err := w.Write(page)
	return err
}

func setHTMLHeaders(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Add("Vary", "HX-Request")
}

func isHTMX(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

func sentFrom(r *http.Request) *url.URL {
	page, err := url.Parse(cmp.Or(r.Header.Get("HX-Current-URL"), r.Referer()))
	if err != nil {
		return &url.URL{}
	}
	return page
}

// refreshOtherParts makes the other parts of the page fetch themselves, as of the version after;
// nil leaves it to the server.
func refreshOtherParts(w http.ResponseWriter, after *ledger.Snapshot) {
	trigger := "changed"
	if after != nil {
		trigger = fmt.Sprintf(`{"changed": {"seen": %d}}`, after.Version)
	}
	w.Header().Set("HX-Trigger", trigger)
}

func newPage(r *http.Request, title, width string) templates.Page {
	who, _ := request.Caller(r)
	query := r.URL.Query()
	page := templates.Page{Title: title, Width: width, Viewer: who, Switch: switchURL(r), Now: time.Now(), Done: doneSentence[query.Get("done")]}
	if event := query.Get("event"); event != "" && page.Done != "" {
		page.Undo = "/studies/" + request.StudyID(r) + "/undo?event=" + url.QueryEscape(event)
	}
	return page
}

// switchURL returns the address where somebody else signs in by PIN and then returns to this page,
// "" where nobody can.
func switchURL(r *http.Request) string {
	if !slices.ContainsFunc(r.Cookies(), func(c *http.Cookie) bool { return strings.HasSuffix(c.Name, "headroom-device") }) {
		return ""
	}
	return words.Either(r.Method != http.MethodGet, "/switch", "/switch?"+url.Values{"to": {r.URL.Path}}.Encode()) // a form's address is no page to return to
}

// studyHead returns what every page about a study says of it, and what the viewer may do there.
func studyHead(r *http.Request, snap *ledger.Snapshot) templates.StudyHead {
	who, _ := request.Caller(r)
	return templates.StudyHead{
		ID: snap.ID, Name: snap.Definition.Name, State: snap.State,
		Operates: who.MayOperate(snap.ID), Shares: who.MayAdminister(), Clones: who.MayCreateStudies(),
	}
}

// doneSentence has the sentences about what has just been done, by the word in ?done.
var doneSentence = map[string]string{
	"made":       "The study is made.",
	"demo":       "The demo study is made. Its simulated lab is filling it now; this page follows.",
	"changed":    "Changed. The change is in effect from the next decision on.",
	"edited":     "Saved.",
	"corrected":  "Corrected. The ledger has both values.",
	"closed":     "Saved.",
	"confirmed":  "Saved: the trial is right as it is.",
	"saved":      "Saved. Thank you.",
	"undone":     "Undone: results and settings are as they were. The ledger has what was saved, and a note stays.",
	"asked":      "Here is what to try next.",
	"own":        "Your point is a trial now.",
	"replicated": "The same settings are waiting to be run again.",
	"imported":   "The rows are imported.",
	"taken-back": "Taken back. The ledger has all of it.",
	"revoked":    "Revoked. It stopped working just now.",
	"role":       "The role is changed. Tokens, invites and sign-in links that they may not give any more have ended; share links of theirs go on.",
	"disabled":   "Disabled: every session of theirs has ended, and so have the tokens, unused links and share links that they gave out.",
	"enabled":    "Enabled.",
	"ended":      "That browser is signed out.",
	"pin":        "Set. “Switch person” on top brings you back here with it.",
	"forgotten":  "Forgotten: no PIN of yours works any more, on any device.",
}

// GoTo sends the browser to another page after a form was carried out, also if htmx sent the form.
func GoTo(w http.ResponseWriter, r *http.Request, address string) error {
	if isHTMX(r) {
		w.Header().Set("HX-Redirect", address)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// Problem shows a problem to a person: what is wrong, and where to go from here.
func Problem(w http.ResponseWriter, r *http.Request, p *problem.Problem) error {
	if p.Status == http.StatusUnauthorized {
		return SignIn(w, r, p.Status)
	}
	heading := cmp.Or(problemHeadings[p.Status], "This did not work")
	view := templates.ProblemPage{Page: newPage(r, heading, "narrow"), Heading: heading, Detail: p.Detail}
	view.Back, view.BackText = "/studies", "Go to the studies"
	if p.Status == http.StatusNotFound && p != problem.DeadLink {
		view.Detail = problem.NoSuchThing.Detail
	}
	view.Faults = lists.Map(p.Errors, func(fault design.Fault) string { return fault.String() })
	if len(view.Faults) > 0 {
		view.Detail = "" // says the same
	}
	if p.InAddress() && r.Method == http.MethodGet {
		view.Faults = lists.Map(p.Errors, func(f design.Fault) string {
			return fmt.Sprintf("In this page’s address, %s=%v: %s", f.Field, f.Value, f.Message)
		})
		view.Back, view.BackText = r.URL.Path, "Open the page without it"
	}
	if p.Status == http.StatusServiceUnavailable {
		page := words.Either(r.Method == http.MethodPost, sentFrom(r), r.URL) // where a form is sent to is often none
		view.Back, view.BackText = page.RequestURI(), "Try again"
	}
	return show(w, r, p.Status, templates.ProblemView(view))
}

var problemHeadings = map[int]string{
	http.StatusNotFound:            "Nothing here",
	http.StatusForbidden:           "Not allowed",
	http.StatusConflict:            "This cannot be done now",
	http.StatusPreconditionFailed:  "The study has gone on meanwhile",
	http.StatusServiceUnavailable:  "This cannot be done now",
	http.StatusTooManyRequests:     "Too many tries",
	http.StatusInternalServerError: "Something failed here",
}

// needs is a set of what a page or a section needs besides the study itself.
type needs uint

const (
	entries   needs = 1 << iota // of the ledger
	labRun                      // the progress of the simulated lab
	listed                      // which trials to list
	readout                     // what the model says now
	history                     // what the model said at each trial
	quickGain                   // what is left to gain, unless the page fetches it later
	gain                        // what is left to gain, however long that takes
	picture                     // what the model believes of each metric
)

// load gets the facts that are needed. It gets none of the model if the study has no trials or the
// model is not ready.
func (s *Site) load(ctx context.Context, v *view.Facts, needed needs) error {
	if needed&labRun != 0 && v.Snap.Definition.SimulatedLab != "" {
		v.Run = s.Studies.Simulated(v.Snap.ID)
	}
	if needed&listed != 0 {
		if err := loadListed(v); err != nil {
			return err
		}
	}
	if needed&entries != 0 {
		if err := loadEntries(ctx, s.Studies, v); err != nil {
			return err
		}
	}
	if needed < readout || len(v.Snap.Trials) == 0 || v.Working {
		return nil
	}
	var err error
	if v.Readout, err = s.Studies.StateOf(ctx, v.Snap); err == nil && needed&history != 0 {
		v.History, err = s.Studies.HistoryOf(ctx, v.Snap)
	}
	if errors.Is(err, study.ErrConflict) {
		v.Modelless = err.Error()
		return nil
	}
	atOnce := needed&gain != 0 || needed&quickGain != 0 && (!v.Fetches() || len(v.Snap.Trials) <= view.GainAtOnce)
	if err == nil && atOnce && v.ModelStands() && v.Snap.Definition.Foreseeable() {
		v.Gain, err = s.Studies.GainOf(ctx, v.Snap)
		v.Gained = true
	}
	if err == nil && needed&picture != 0 {
		err = loadPicture(ctx, s.Studies, v)
	}
	return err
}

func loadListed(v *view.Facts) error {
	q := request.QueryOf(view.TrialsQuery(v.Query, v.Snap))
	v.Show, _ = q.One("show")
	v.Below = int(q.Int("below", 0, int64(len(v.Snap.Trials)), 0))
	if err := q.Err(); err != nil {
		return err
	}
	if !slices.Contains(view.TrialFilters(), v.Show) {
		return problem.InQuery(design.NewInvalid("show", "must be one of the filters above the table", v.Show))
	}
	return nil
}

// loadEntries gets a page of the ledger, which ends before the entry that the query names.
func loadEntries(ctx context.Context, studies *study.Service, v *view.Facts) (err error) {
	q := request.QueryOf(view.LedgerQuery(v.Query, v.Snap))
	before := q.Int("before", 1, v.Snap.Version, v.Snap.Version+1)
	if err := q.Err(); err != nil {
		return err
	}
	shown, earlier := v.LedgerShown(before)
	v.Earlier = int(earlier)
	v.Entries, err = studies.EventsAt(ctx, v.Snap.ID, shown)
	return err
}

// loadPicture gets slices through the point of the query, the map of the two parameters that matter
// most or are asked for, the prices of the limits, and other algorithms' choices if they are asked
// for.
func loadPicture(ctx context.Context, studies *study.Service, v *view.Facts) (err error) {
	if v.NothingBelieved() != "" {
		return nil
	}
	if v.Slices, err = studies.Slices(ctx, v.Snap, v.Outlook().Point, view.SliceSamples); err != nil || len(v.Slices) == 0 {
		return err
	}
	o := v.Outlook()
	if o.X != "" {
		if v.Map, err = studies.Map(ctx, v.Snap, o.X, o.Y, o.Point, o.MapSamples()); err != nil {
			return err
		}
	}
	if v.ModelStands() && v.Snap.Definition.Foreseeable() {
		for _, c := range v.Snap.Definition.Constraints {
			price, err := studies.PriceOf(ctx, v.Snap, c.Name)
			if err != nil {
				return err
			}
			if len(price.Curve) > 0 {
				v.Prices = append(v.Prices, price)
			}
		}
	}
	if o.Others {
		return loadChoices(ctx, studies, v)
	}
	return nil
}

// loadChoices gets the choices of other algorithms, except those that the study does not suit.
func loadChoices(ctx context.Context, studies *study.Service, v *view.Facts) error {
	for _, name := range view.OtherAlgorithms(v.Snap.Definition) {
		found, err := studies.Compare(ctx, v.Snap, []design.Algorithm{{Name: name}})
		if _, ok := errors.AsType[*design.Invalid](err); ok {
			continue
		}
		if err != nil {
			return err
		}
		v.Choices = append(v.Choices, found...)
	}
	return nil
}

// loadBoard gets what a board has besides the sections of a study's page.
func (s *Site) loadBoard(ctx context.Context, v *view.Facts) error {
	if err := s.loadVerification(ctx, v); err != nil {
		return err
	}
	last, err := s.Studies.Events(ctx, v.Snap.ID, v.Snap.Version-1, 1)
	if err != nil {
		return err
	}
	v.Board.Last = last[0]
	for _, together := range view.Amended(v.Snap) {
		if len(v.Board.Amended) == v.MostAmends() {
			v.Board.Unseen += len(together)
			continue
		}
		last, err := s.Studies.Events(ctx, v.Snap.ID, together[len(together)-1].Seq-1, 1)
		if err != nil {
			return err
		}
		v.Board.Amended = append(v.Board.Amended, view.Amendment{Revisions: together, Last: last[0]})
	}
	return nil
}

func (s *Site) loadVerification(ctx context.Context, v *view.Facts) error {
	under, last, err := s.Studies.Verifying(ctx, v.Snap.ID)
	v.Board.Verification = view.Verification{Progress: under, Paused: errors.Is(under.Failed, context.DeadlineExceeded), Last: last}
	return err
}

// placeFaults puts the faults of err beside the fields that they are about, or above the form. It
// returns false if the error needs a page of its own.
func placeFaults(err error, form *forms.Typed, fields forms.Fields) bool {
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

// submission is what a posted form asks for.
type submission struct {
	do     func(study.Command) error // carries it out; nil if there is nothing to carry out
	to     string                    // the page to see then,
	done   func() error              // unless this shows something else
	fields forms.Fields              // beside which faults are shown
	// again shows the form again with what was typed and its faults; nil: they get a page of their
	// own.
	again func(templates.Form) error
	// doubted shows the form again with its unlikely values; nil for forms without such values.
	doubted func(templates.Form, []study.Doubt) error
}

// submit handles every form: it reads what was typed, carries it out as a command with the form's
// own idempotency key, and answers with the page to see next or with the form and its faults. A
// form that is sent twice counts as having worked.
func submit(w http.ResponseWriter, r *http.Request, read func(*forms.Typed) submission) error {
	form, err := forms.Read(r)
	if err != nil {
		return err
	}
	asked := read(form)
	if err = checkOwner(r, form.Values); err == nil && asked.do != nil && form.OK() {
		cmd := command(r, form)
		if asked.doubted != nil {
			cmd.Sure = new(form.Text("sure"))
		}
		err = asked.do(cmd)
	}
	if errors.Is(err, study.ErrReused) { // the form was changed after the answer to it was lost
		form.Values.Set("key", newKey(r))
		err = problem.New(http.StatusUnprocessableEntity, "This form was sent before, and that is saved. What it says now is not saved yet: to save it, too, send it again.")
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
	if !placeFaults(err, form, asked.fields) {
		return err
	}
	return asked.again(form.Shown())
}

// withPreview returns asked if the form was sent from the preview of these values at this version
// of the study; else it returns the submission that shows the preview, which look makes and draw
// shows.
func (asked submission) withPreview(form *forms.Typed, snap *ledger.Snapshot, done string, look func() (*templates.Consequences, error), draw func(*templates.Consequences) error) submission {
	shown, seen := form.Fingerprint(snap.Hash), form.Text("shown")
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

// newKey returns a new idempotency key for a form, which also says whose form it is.
func newKey(r *http.Request) string {
	who, _ := request.Caller(r)
	return who.Caller() + " " + rand.Text()
}

// checkOwner refuses a form that somebody else had opened, so that nobody's typing is saved in
// another person's name unknowingly. The form becomes the caller's, to be sent again.
func checkOwner(r *http.Request, values url.Values) error {
	who, _ := request.Caller(r)
	owner, _, named := strings.Cut(values.Get("key"), " ")
	if !named || owner == who.Caller() {
		return nil
	}
	values.Set("key", newKey(r))
	return problem.New(http.StatusUnprocessableEntity, "Nothing is saved: this form was opened under another sign-in, and you are signed in as "+who.Name+". Send it again to save it in your own name.")
}

func command(r *http.Request, form *forms.Typed) study.Command {
	who, _ := request.Caller(r)
	cmd := study.Command{By: who.By(), Author: who.Caller()}
	if key := form.Values.Get("key"); key != "" && len(key) <= 255 {
		cmd.Key = request.Key(r, key, []byte(form.Content()))
	}
	return cmd
}

// madeStudyURL returns the page of a study that was made, with the query said the first time.
func madeStudyURL(after *ledger.Snapshot, err error, said string) string {
	if first := doneBefore(err); first != nil {
		return "/studies/" + first.Study
	}
	if err != nil {
		return ""
	}
	return "/studies/" + after.ID + said
}

// doneBefore returns what a form did that was carried out before, else nil.
func doneBefore(err error) *study.Done {
	if before, ok := errors.AsType[*study.AlreadyDone](err); ok {
		return &before.Done
	}
	return nil
}
