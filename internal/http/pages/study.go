package pages

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"headroom/internal/derived"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// visiting is a study as a request sees it: what all parts of its pages are made from.
func visiting(r *http.Request, snap *ledger.Snapshot) view.Facts {
	head := studyHead(r, snap)
	who, _ := request.Caller(r)
	query := r.URL.Query()
	asked := view.Asked{Head: head, Now: time.Now(), URL: head.URL(""), Query: query, Parts: true, Whole: query.Has("whole")}
	return view.Facts{Snap: snap, Who: who, Key: newKey(r), Asked: asked}
}

// StudyPage is the study, top to bottom.
func (s *Site) StudyPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	return s.showStudy(w, r, http.StatusOK, v, nil)
}

// BenchPage is what is waiting, and nothing else: for whoever stands at the bench with a phone or a
// tablet.
func (s *Site) BenchPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	page := newPage(r, "Bench of "+v.Head.Name, "bench")
	page.Live = liveOf(v.Snap)
	return show(w, r, http.StatusOK, templates.BenchView(page, v.Next()))
}

// liveOf is the stream of what happens in a study from now on.
func liveOf(now *ledger.Snapshot) templates.Live {
	return templates.Live{URL: "/studies/" + now.ID + "/stream?after=" + strconv.FormatInt(now.Version, 10), Version: now.Version}
}

// showStudy draws the study page; change may put a form with its faults into it.
func (s *Site) showStudy(w http.ResponseWriter, r *http.Request, status int, v view.Facts, change func(*templates.StudyPage)) error {
	err := s.awaitModel(r.Context(), &v)
	if err != nil {
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
		whole, err := v.BelowNext()
		if err != nil {
			return err
		}
		page.Whole = &whole
	} else {
		page.Later = v.Later()
	}
	if change != nil {
		change(&page)
	}
	return show(w, r, status, templates.StudyView(page))
}

// part is a section of the study page, fetched again when the study has changed.
type part struct {
	needs needs
	draw  func(v view.Facts) (templ.Component, error)
	// query is what of a query the section depends on, in one form for all that mean the same;
	// nothing else of it reaches draw. nil: nothing.
	query func(asked url.Values, snap *ledger.Snapshot) url.Values
	// personal sections have forms with keys of their own, and are not shared.
	personal bool
	// modelled sections are nothing without the model: of a long study they come when it is there.
	modelled bool
	// slow sections take long even then, and are worked out behind the request too.
	slow bool
}

// parts are the sections by name.
var parts = map[string]part{
	"verdict": {needs: readout | quickGain, modelled: true, draw: drawn(func(v view.Facts) templ.Component { return templates.VerdictSection(v.Verdict()) })},
	"gain":    {needs: gain, modelled: true, slow: true, draw: drawn(func(v view.Facts) templ.Component { return templates.GainPart(v.GainWords()) })},
	"status":  {needs: readout, draw: drawn(func(v view.Facts) templ.Component { return templates.StatusStrip(v.Status()) })},
	"lab":     {needs: labRun, personal: true, draw: drawn(func(v view.Facts) templ.Component { return templates.LabPanel(v.Lab()) })},
	"next":    {query: view.TypedQuery, personal: true, draw: drawn(func(v view.Facts) templ.Component { return templates.NextSection(v.Next()) })},
	"bench":   {query: view.TypedQuery, personal: true, draw: drawn(func(v view.Facts) templ.Component { return templates.BenchSection(v.Next()) })},
	"progress": {needs: history, modelled: true, draw: drawn(func(v view.Facts) templ.Component {
		return templates.ProgressSection(v.Progress())
	})},
	"progress-table": {needs: history, modelled: true, draw: drawn(func(v view.Facts) templ.Component {
		if v.Modelless != "" {
			return templ.Raw(templ.EscapeString(v.Modelless))
		}
		return templates.NewestLines(v.ProgressTable(), len(v.Snap.Trials), v.Head)
	})},
	"beliefs": {needs: picture, query: view.BeliefsQuery, modelled: true, slow: true, draw: drawn(func(v view.Facts) templ.Component {
		return templates.BeliefsSection(v.Beliefs())
	})},
	"trials": {needs: listed | readout, query: view.TrialsQuery, draw: drawn(func(v view.Facts) templ.Component { return templates.TrialsSection(v.Trials()) })},
	"ledger": {needs: entries, query: view.LedgerQuery, draw: func(v view.Facts) (templ.Component, error) {
		list, err := v.Ledger()
		return templates.LedgerSection(list), err
	}},
}

// drawn is the drawing of a section of which nothing can be wrong.
func drawn(section func(view.Facts) templ.Component) func(view.Facts) (templ.Component, error) {
	return func(v view.Facts) (templ.Component, error) { return section(v), nil }
}

// asked is what of the page's query a section depends on.
func (p part) asked(v view.Facts) url.Values {
	if p.query == nil {
		return nil
	}
	return p.query(v.Query, v.Snap)
}

// section is what loads what a section needs and draws it.
func (s *Site) section(p part, v view.Facts) func(ctx context.Context) (templ.Component, error) {
	return func(ctx context.Context) (templ.Component, error) {
		if err := s.load(ctx, &v, p.needs); err != nil {
			return nil, err
		}
		return p.draw(v)
	}
}

// StudyPart is one section of the study page.
func (s *Site) StudyPart(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	name := chi.URLParam(r, "part")
	if _, there := parts[name]; !there && name != view.ModelPart {
		return problem.NoSuchThing
	}
	return s.showPart(w, r, v.Snap, v, name, name, "")
}

// showPart answers with the section of that name, which is kept under key while the study is as
// now, once what it needs is there. The browser's address is told to be that one, unless it is
// empty.
func (s *Site) showPart(w http.ResponseWriter, r *http.Request, now *ledger.Snapshot, v view.Facts, name, key, address string) error {
	part := parts[name]
	if name == view.ModelPart {
		return s.showWork(w, r, v)
	}
	v.Query = part.asked(v)
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	if part.modelled {
		if ready, err := s.drawnBehind(r.Context(), name, v); err != nil || !ready {
			return leaveAsIs(w, v, err)
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
	return s.showShared(w, r, now, partKey{v.Head, key + v.Without(), v.Query.Encode()}, s.section(part, v))
}

// shareFor is how long a rendered part serves others: its times are written as "2 min ago".
const shareFor = 5 * time.Second

// partKey is all that a rendered part depends on, besides the study's version and the moment.
type partKey struct {
	study templates.StudyHead // with what the viewer may do
	part  string
	query string // canonical
}

// Kind groups rendered parts in the server's figures.
func (partKey) Kind() string { return "rendered" }

// showShared answers with a section of a study as it is now that is the same for everybody with the
// same rights. When a result comes in, everybody who looks at the study asks for the same sections
// at the same moment; each is worked out, rendered and compressed once.
func (s *Site) showShared(w http.ResponseWriter, r *http.Request, now *ledger.Snapshot, key partKey, section func(ctx context.Context) (templ.Component, error)) error {
	drawn, err := derived.Fresh(r.Context(), s.Studies.Derived, now, key, shareFor, func(ctx context.Context) (asset, error) {
		fresh, err := section(ctx)
		if err != nil {
			return asset{}, err
		}
		var out bytes.Buffer
		if err := fresh.Render(ctx, &out); err != nil {
			return asset{}, err
		}
		return asset{bytes.Clone(out.Bytes()), packed(out.Bytes())}, nil
	})
	if err != nil {
		return err
	}
	beHTML(w)
	return drawn.write(w, r)
}

// modelReady is the event that lets the sections that wait for the model fetch themselves.
const modelReady = "model-ready"

// awaitModel gives the model of a long study a moment to be there, and notes where it is not.
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

// showWork answers whoever waits for the model. Once it is there, the sections that need it are
// told.
func (s *Site) showWork(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	if !v.Working {
		w.Header().Set("HX-Trigger", modelReady)
	}
	return show(w, r, http.StatusOK, templates.ModelWork(v.Work()))
}

// drawnBehind tells whether a section that needs the model can be drawn from what is at hand,
// having given it a moment. Of a long study what a slow one needs beyond the model is worked out
// behind the request too.
func (s *Site) drawnBehind(ctx context.Context, name string, v view.Facts) (ready bool, err error) {
	if !v.Long() || v.Working || !parts[name].slow {
		return !v.Working, nil
	}
	patient, cancel := context.WithTimeout(ctx, s.ModelPatience)
	defer cancel()
	ready, _, err = s.Studies.Derived.Behind(patient, v.Snap, name+"?"+v.Query.Encode(), func(ctx context.Context) error {
		of := v
		return s.load(ctx, &of, parts[name].needs)
	})
	return ready, err
}

// leaveAsIs lets what a page shows stay until there is something better. What waits for the model
// is told when that is there; what waits for more asks again.
func leaveAsIs(w http.ResponseWriter, v view.Facts, err error) error {
	if err != nil {
		return err
	}
	if !v.Working {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
