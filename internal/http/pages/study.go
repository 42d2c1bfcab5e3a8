package pages

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"headroom/internal/derived"
	"headroom/internal/http/forms"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/internal/view/words"
	"headroom/web/static"
	"headroom/web/templates"
)

// newFacts returns what all parts of a study's pages are made from, as the request sees it.
func newFacts(r *http.Request, snap *ledger.Snapshot) view.Facts {
	head := studyHead(r, snap)
	who, _ := request.Caller(r)
	query := r.URL.Query()
	asked := view.Asked{Head: head, Now: time.Now(), URL: head.URL(""), Query: query, Parts: true, Whole: query.Has("whole")}
	v := view.Facts{Snap: snap, Latest: snap, Who: who, Asked: asked}
	if head.Operates { // others have no forms
		v.Key = newKey(r)
	}
	return v
}

// StudyPage shows the whole study.
func (s *Site) StudyPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	if at, err := request.At(r); err != nil {
		return err
	} else if at > 0 { // which the board shows
		return GoTo(w, r, v.Head.URL("/board?at="+strconv.FormatInt(at, 10)))
	}
	return s.showStudy(w, r, http.StatusOK, v, nil)
}

// BenchPage shows only what is waiting, for whoever stands at the bench with a phone or a tablet.
func (s *Site) BenchPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	if err := isNow(r, v); err != nil {
		return err
	}
	page := newPage(r, "Bench of "+v.Head.Name, "bench")
	page.Live = liveOf(v.Snap)
	return show(w, r, http.StatusOK, templates.BenchView(page, v.Next()))
}

// PrintWaiting is all that waits on paper, or as a table for a machine.
func (s *Site) PrintWaiting(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	page := v.WaitingSheet()
	page.Page = newPage(r, "What waits in "+v.Head.Name, "wide")
	return show(w, r, http.StatusOK, templates.WaitingView(page))
}

// liveOf returns the stream of a study's changes from now on.
func liveOf(now *ledger.Snapshot) templates.Live {
	return templates.Live{URL: "/studies/" + now.ID + "/stream?after=" + strconv.FormatInt(now.Version, 10), Version: now.Version}
}

// showStudy shows the study page; change may put a form with its faults into it.
func (s *Site) showStudy(w http.ResponseWriter, r *http.Request, status int, v view.Facts, change func(*templates.StudyPage)) error {
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	needed := labRun | readout | quickGain
	if v.Whole {
		needed |= history | picture | entries | listed
	}
	if err := s.load(r.Context(), &v, needed); err != nil {
		return err
	}
	page := templates.StudyPage{Page: newPage(r, v.Head.Name, ""), Study: v.Head, Description: view.Markdown(v.Snap.Definition.Description), Work: v.Work(),
		Next: v.Next(), Lab: v.Lab(), Status: v.Status(), Verdict: v.Verdict()}
	page.Charts, page.Live = true, liveOf(v.Snap)
	if v.Whole {
		page.Whole = new(v.BelowNext())
	} else {
		page.Later = v.Later()
	}
	if change != nil {
		change(&page)
	}
	return show(w, r, status, templates.StudyView(page))
}

// part is a section of the study page, which is fetched again when the study has changed.
type part struct {
	needs needs
	draw  func(v view.Facts) templ.Component
	// query returns what the section depends on of a query, in canonical form; draw sees nothing
	// else of it. nil: nothing.
	query    func(asked url.Values, snap *ledger.Snapshot) url.Values
	personal bool // it has forms with keys, and is not shared
	modelled bool // it needs the model: in a long study it appears when that is ready
	slow     bool // it takes long even then, and is computed in the background
}

var parts = map[string]part{
	"verdict": {needs: readout | quickGain, modelled: true, draw: func(v view.Facts) templ.Component { return templates.VerdictSection(v.Verdict()) }},
	"gain":    {needs: gain, modelled: true, slow: true, draw: func(v view.Facts) templ.Component { return templates.GainPart(v.GainWords()) }},
	"status":  {needs: readout, draw: func(v view.Facts) templ.Component { return templates.StatusStrip(v.Status()) }},
	"lab":     {needs: labRun, personal: true, draw: func(v view.Facts) templ.Component { return templates.LabPanel(v.Lab()) }},
	"next":    {query: view.TypedQuery, personal: true, draw: func(v view.Facts) templ.Component { return templates.NextSection(v.Next()) }},
	"bench":   {query: view.TypedQuery, personal: true, draw: func(v view.Facts) templ.Component { return templates.BenchSection(v.Next()) }},
	"progress": {needs: history, modelled: true, draw: func(v view.Facts) templ.Component {
		return templates.ProgressSection(v.Progress())
	}},
	"progress-table": {needs: history, modelled: true, draw: func(v view.Facts) templ.Component {
		if v.Modelless != "" {
			return templ.Raw(templ.EscapeString(v.Modelless))
		}
		return templates.NewestLines(v.ProgressTable(), len(v.Snap.Trials), v.Head)
	}},
	"beliefs": {needs: picture, query: view.BeliefsQuery, modelled: true, slow: true, draw: func(v view.Facts) templ.Component {
		return templates.BeliefsSection(v.Beliefs())
	}},
	"trials": {needs: listed | readout, query: view.TrialsQuery, draw: func(v view.Facts) templ.Component { return templates.TrialsSection(v.Trials()) }},
	"ledger": {needs: entries, query: view.LedgerQuery, draw: func(v view.Facts) templ.Component { return templates.LedgerSection(v.Ledger()) }},
}

// queryFor returns what the section depends on of the page's query.
func (p part) queryFor(v view.Facts) url.Values {
	if p.query == nil {
		return nil
	}
	return p.query(v.Query, v.Snap)
}

// section returns the function that loads what a section needs and draws it.
func (s *Site) section(p part, v view.Facts) func(ctx context.Context) (templ.Component, error) {
	return func(ctx context.Context) (templ.Component, error) {
		if err := s.load(ctx, &v, p.needs); err != nil {
			return nil, err
		}
		return p.draw(v), nil
	}
}

// StudyPart shows one section of the study page.
func (s *Site) StudyPart(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	name := chi.URLParam(r, "part")
	if _, there := parts[name]; !there && name != view.ModelPart {
		return problem.NoSuchThing
	}
	return s.showPart(w, r, v, name, name, "")
}

// showPart shows the section of that name once what it needs is ready. It is cached under key for
// this version of the study. The browser's address becomes address, unless that is empty.
func (s *Site) showPart(w http.ResponseWriter, r *http.Request, v view.Facts, name, key, address string) error {
	part := parts[name]
	if name == view.ModelPart {
		return s.showWork(w, r, v)
	}
	v.Query = part.queryFor(v)
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	if part.modelled {
		if ready, err := s.partReady(r.Context(), name, v); err != nil || !ready {
			return keepShown(w, v, err)
		}
	}
	if address != "" {
		w.Header().Set("HX-Replace-Url", address)
	}
	if part.personal {
		drawn, err := s.section(part, v)(r.Context())
		if err != nil {
			return err
		}
		return show(w, r, http.StatusOK, drawn)
	}
	return s.showShared(w, r, v, key+v.CacheSuffix(), s.section(part, v))
}

// shareFor is how long a rendered part is reused: its times are written as "2 min ago".
const shareFor = 5 * time.Second

// partKey is all that a rendered part depends on besides the study's version and the time.
type partKey struct {
	study templates.StudyHead // with what the viewer may do
	part  string
	query string // canonical
}

// Kind groups rendered parts in the server's figures.
func (partKey) Kind() string { return "rendered" }

// showShared shows a section that is the same for everyone with the same rights. When a result
// comes in, everyone who looks at the study asks for the same sections at once: each is computed,
// rendered and compressed once.
func (s *Site) showShared(w http.ResponseWriter, r *http.Request, v view.Facts, part string, section func(ctx context.Context) (templ.Component, error)) error {
	key := partKey{v.Head, part, v.Query.Encode()}
	drawn, err := derived.Fresh(r.Context(), s.Studies.Derived, v.Latest, key, shareFor, func(ctx context.Context) (asset, error) {
		fresh, err := section(ctx)
		if err != nil {
			return asset{}, err
		}
		page, err := rendered(ctx, fresh)
		if err != nil {
			return asset{}, err
		}
		return asset{bytes.Clone(page), gzipped(page)}, nil
	})
	if err != nil {
		return err
	}
	setHTMLHeaders(w)
	return drawn.write(w, r)
}

// modelReady is the event upon which the sections that wait for the model fetch themselves.
const modelReady = "model-ready"

// awaitModel waits ModelPatience for the model of a long study, and sets v.Working if it is not
// ready.
func (s *Site) awaitModel(ctx context.Context, v *view.Facts) error {
	if !v.Long() || v.Whole {
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, s.ModelPatience)
	defer cancel()
	ready, since, err := s.Studies.Prepare(patient, v.Snap)
	v.Working, v.Since = !ready, since
	return err
}

// showWork shows the progress of the model, and tells the sections that need it when it is ready.
func (s *Site) showWork(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	if !v.Working {
		w.Header().Set("HX-Trigger", modelReady)
	}
	return show(w, r, http.StatusOK, templates.ModelWork(v.Work()))
}

// partReady reports whether a section that needs the model can be drawn from what is cached, after
// at most ModelPatience. What a slow section of a long study needs besides the model is computed in
// the background.
func (s *Site) partReady(ctx context.Context, name string, v view.Facts) (ready bool, err error) {
	if !v.Long() || v.Working || !parts[name].slow {
		return !v.Working, nil
	}
	ready, _, err = s.runBehind(ctx, v, name+"?"+v.Query.Encode(), func(ctx context.Context, of *view.Facts) error {
		return s.load(ctx, of, parts[name].needs)
	})
	return ready, err
}

// runBehind runs work in the background, waits ModelPatience for it, and reports whether it is
// done, or since when it runs.
func (s *Site) runBehind(ctx context.Context, v view.Facts, what string, work func(context.Context, *view.Facts) error) (ready bool, since time.Time, err error) {
	patient, cancel := context.WithTimeout(ctx, s.ModelPatience)
	defer cancel()
	return s.Studies.Derived.Behind(patient, v.Snap, what, func(ctx context.Context) error { return work(ctx, &v) })
}

// keepShown answers 204, so that a page keeps what it shows. A section that waits for the model is
// told when it is ready; one that waits for more asks again.
func keepShown(w http.ResponseWriter, v view.Facts, err error) error {
	if err != nil {
		return err
	}
	if !v.Working {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// BoardPage is the reviewer's board: the study without entry. It follows the study's changes, and
// the slider on top moves it to any event of the ledger.
func (s *Site) BoardPage(w http.ResponseWriter, r *http.Request, now view.Facts) error {
	v, err := s.boardFacts(r, now)
	if err != nil {
		return err
	}
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	if isHTMX(r) {
		part := boardPart(v, "") + v.CacheSuffix()
		follows := r.Header.Get("HX-Trigger") == boardMoment
		if follows {
			place := sentFrom(r).Query() // the study has changed: the reader's choices stay
			maps.Copy(place, v.Query)
			v.Query = place
			part += " following"
		}
		v.Query = view.BoardQuery(v.Query, v.Snap)
		return s.showShared(w, r, v, part, func(ctx context.Context) (templ.Component, error) {
			board, err := s.board(ctx, v)
			board.Keeps = follows && v.Working
			return templates.BoardContent(board), err
		})
	}
	v.Query = view.BoardQuery(v.Query, v.Snap)
	page := newPage(r, v.Head.Name, "")
	page.Charts, page.Live = true, liveOf(v.Latest)
	board, err := s.board(r.Context(), v)
	if err != nil {
		return err
	}
	return show(w, r, http.StatusOK, templates.BoardView(page, board))
}

// boardMoment is the id of the element that fetches the board again when the study has changed.
const boardMoment = "board-moment"

// atMoment returns the study as it was after event ?at, or now.
func (s *Site) atMoment(r *http.Request, now view.Facts) (view.Facts, error) {
	at, err := request.At(r)
	if err != nil || at == 0 {
		return now, err
	}
	then, err := s.Studies.Snapshot(r.Context(), now.Snap.ID, at)
	if err != nil {
		return now, problem.InQuery(err)
	}
	v := newFacts(r, then)
	v.Latest, v.At = now.Snap, at
	return v, nil
}

// boardFacts returns the same as a board shows it.
func (s *Site) boardFacts(r *http.Request, now view.Facts) (view.Facts, error) {
	v, err := s.atMoment(r, now)
	v.Head.Operates, v.Parts, v.URL = false, false, v.Head.URL("/board")
	return v, err
}

// boardPart returns the cache key of a part of the board, "" being all of it, at v's moment.
func boardPart(v view.Facts, name string) string { return "board" + strconv.FormatInt(v.At, 10) + name }

// BoardPart shows one section of the board, which has no forms, at a moment. If the reader has
// chosen what it shows, the browser's address says so.
func (s *Site) BoardPart(w http.ResponseWriter, r *http.Request, now view.Facts) error {
	name := chi.URLParam(r, "part")
	if part, there := parts[name]; part.personal || !there && name != view.ModelPart {
		return problem.NoSuchThing
	}
	v, err := s.boardFacts(r, now)
	if err != nil {
		return err
	}
	address := ""
	if parts[name].query != nil {
		address = v.BoardAddress(name, sentFrom(r).Query())
	}
	return s.showPart(w, r, v, name, boardPart(v, name), address)
}

func (s *Site) board(ctx context.Context, v view.Facts) (templates.Board, error) {
	if err := errors.Join(s.load(ctx, &v, readout|quickGain|history|picture|entries|listed), s.loadBoard(ctx, &v)); err != nil {
		return templates.Board{}, err
	}
	return v.Content(), nil
}

// Verify verifies the study. With scripts the page shows the progress; without them the answer
// comes when it is done.
func (s *Site) Verify(w http.ResponseWriter, r *http.Request, v view.Facts, _ *forms.Typed) submission {
	return submission{
		do: func(study.Command) error {
			if isHTMX(r) {
				return s.Studies.VerifyBehind(v.Snap)
			}
			_, err := s.Studies.Verify(r.Context(), v.Snap)
			return err
		},
		done: func() error {
			if !isHTMX(r) {
				return GoTo(w, r, v.Head.URL("/board#verified"))
			}
			return s.Verifying(w, r, v)
		},
	}
}

// Verifying shows how far a verification is, or how it ended.
func (s *Site) Verifying(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	if err := s.loadVerification(r.Context(), &v); err != nil {
		return err
	}
	return show(w, r, http.StatusOK, templates.VerifiedLine(v.Verified()))
}

// Report is the study in one file, as it is or as it was after an event.
func (s *Site) Report(w http.ResponseWriter, r *http.Request, now view.Facts) error {
	v, err := s.atMoment(r, now)
	if err != nil {
		return err
	}
	v.Whole, v.Paper, v.Query, v.Head.Operates = true, true, nil, false // nothing can be fetched later, or chosen
	if ready, err := s.reportBehind(r, &v); err != nil {
		return err
	} else if !ready {
		w.Header().Set("Refresh", "2") // the browser looks again by itself
		return show(w, r, http.StatusAccepted, templates.ReportToCome(newPage(r, "Report of "+v.Head.Name, ""), v.Head,
			fmt.Sprintf("The report is being made from %s%s. It will open here by itself.", design.Count(len(v.Snap.Trials), "trial", "trials"), words.ForSoLong(v.Now.Sub(v.Since)))))
	}
	if err := s.loadReport(r.Context(), &v); err != nil {
		return err
	}
	report := v.Report()
	name := mime.FormatMediaType("inline", map[string]string{"filename": fmt.Sprintf("%s, entry %d.html", fileName(v.Head.Name), v.Snap.Version)})
	w.Header().Set("Content-Disposition", name)
	w.Header().Set("Content-Security-Policy", templates.ReportPolicy+"; frame-ancestors 'none'")
	var page []byte // is sent outside Compute, so that slow readers hold no processor
	if err := s.Studies.Derived.Compute(r.Context(), v.Snap.ID, func(ctx context.Context) (err error) {
		page, err = rendered(ctx, templates.ReportView(report))
		return err
	}); err != nil {
		return err
	}
	return send(w, http.StatusOK, page)
}

// reportBehind reports whether what a report needs is ready, after at most ModelPatience. For
// browsers a long study's report is made in the background; programs wait, and end the work when
// they leave.
func (s *Site) reportBehind(r *http.Request, v *view.Facts) (ready bool, err error) {
	if !v.Long() || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return true, nil
	}
	ready, v.Since, err = s.runBehind(r.Context(), *v, fmt.Sprintf("report?entries=%d", v.Latest.Version), s.loadReport)
	return ready, err
}

// fileName replaces the characters that file systems do not take.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		return words.Either(strings.ContainsRune(`/\:*?"<>|`, r), '-', r)
	}, name)
}

func (s *Site) loadReport(ctx context.Context, v *view.Facts) error {
	return errors.Join(s.load(ctx, v, readout|gain|history|picture|entries), s.loadBoard(ctx, v))
}

// asset is content served to many, plain and compressed.
type asset struct{ plain, gzip []byte }

// assets are the static files, compressed when the first is asked for.
var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	for name := range static.Paths() {
		plain := []byte(static.Text(name))
		all[name] = asset{plain, gzipped(plain)}
	}
	return all
})

func gzipped(plain []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(plain) // a bytes.Buffer takes everything
	w.Close()
	return out.Bytes()
}

// StaticFile serves a static file. Browsers may keep it for good if its address names its content.
func StaticFile(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "*")
	file, there := assets()[name]
	if !there {
		return problem.NoSuchThing
	}
	h := w.Header()
	h.Set("Content-Type", cmp.Or(mediaTypes[path.Ext(name)], mime.TypeByExtension(path.Ext(name))))
	h.Set("Cache-Control", "public, max-age=300")
	if r.URL.Query().Get("v") == static.Stamp(name) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	return file.write(w, r)
}

// write answers with the form that the browser accepts.
func (a asset) write(w http.ResponseWriter, r *http.Request) error {
	w.Header().Add("Vary", "Accept-Encoding")
	body := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		body = a.gzip
	}
	_, err := w.Write(body)
	return err
}

// mediaTypes takes precedence over the operating system's table, which may say anything.
var mediaTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json",
}
