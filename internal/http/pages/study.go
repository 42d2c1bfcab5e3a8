package pages

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"headroom/internal/account"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// visit is a study as one request sees it: what all parts of its pages are made from.
type visit struct {
	head  templates.StudyHead
	snap  *ledger.Snapshot
	now   time.Time
	url   string     // of the page, for links that stay on it
	query url.Values // which rows and charts to show
	at    int64      // the moment that links keep to, 0 for now
	// parts tells that the page fetches its parts one by one.
	parts bool
	whole bool             // everything is asked for at once, however long it takes
	who   account.Identity // the viewer
	// working tells that the page does not wait for the model, which is still being worked out, since when.
	working bool
	since   time.Time
}

func visiting(r *http.Request, snap *ledger.Snapshot) visit {
	head := studyHead(r, snap)
	who, _ := request.Caller(r)
	query := r.URL.Query()
	return visit{who: who, head: head, snap: snap, now: time.Now(), url: head.URL(""), query: query, parts: true, whole: query.Has("whole")}
}

// StudyPage is the study, top to bottom.
func (s *Site) StudyPage(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	return s.showStudy(w, r, http.StatusOK, visiting(r, snap), nil)
}

// BenchPage is what is waiting, and nothing else: for whoever stands at the bench with a phone or a tablet.
func (s *Site) BenchPage(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	v := visiting(r, snap)
	page := templates.BenchPage{Page: newPage(r, "Bench of "+v.head.Name), Study: v.head, Next: v.next()}
	page.Width = "bench"
	page.Live = templates.Live{URL: v.head.URL("/stream?after=" + strconv.FormatInt(v.snap.Version, 10)), Version: v.snap.Version}
	return show(w, r, http.StatusOK, templates.BenchView(page))
}

// showStudy draws the study page; change may put a form with its faults into it.
func (s *Site) showStudy(w http.ResponseWriter, r *http.Request, status int, v visit, change func(*templates.StudyPage)) error {
	page := templates.StudyPage{Page: newPage(r, v.head.Name), Study: v.head, Description: markdown(v.snap.Definition.Description)}
	page.Charts = true
	page.Live = templates.Live{URL: v.head.URL("/stream?after=" + strconv.FormatInt(v.snap.Version, 10)), Version: v.snap.Version}
	err := s.awaitModel(r.Context(), &v)
	if err != nil {
		return err
	}
	page.Work = v.work()
	page.Next, page.Lab = v.next(), s.lab(v)
	if page.Status, err = s.status(r.Context(), v); err != nil {
		return err
	}
	if page.Verdict, err = s.verdict(r.Context(), v); err != nil {
		return err
	}
	if v.whole {
		page.Whole, err = s.whole(r.Context(), v)
	} else {
		page.Later = v.later()
	}
	if err != nil {
		return err
	}
	if change != nil {
		change(&page)
	}
	return show(w, r, status, templates.StudyView(page))
}

// whole is everything below the next trial.
func (s *Site) whole(ctx context.Context, v visit) (*templates.Whole, error) {
	var whole templates.Whole
	var err error
	if whole.Progress, err = s.progress(ctx, v); err != nil {
		return nil, err
	}
	if whole.Beliefs, err = s.beliefs(ctx, v); err != nil {
		return nil, err
	}
	if whole.Trials, err = s.trials(ctx, v); err != nil {
		return nil, err
	}
	whole.Ledger, err = s.ledger(ctx, v)
	return &whole, err
}

// later are the sections that the page fetches when they are seen, with what of the page's query they are to show.
func (v visit) later() []templates.Later {
	var list []templates.Later
	for _, section := range []struct{ name, title string }{
		{"progress", "How well are we doing?"}, {"beliefs", "What the model believes"}, {"trials", "Trials"}, {"ledger", "Ledger"},
	} {
		list = append(list, templates.Later{Name: section.name, Title: section.title, Query: parts[section.name].query(v)})
	}
	return list
}

// part is a section of the study page, fetched again when the study has changed.
type part struct {
	// query is what of a query the section depends on, in one form for all that mean the same; nothing else of it reaches draw.
	query func(v visit) url.Values
	draw  func(s *Site, ctx context.Context, v visit) (templ.Component, error)
	// personal sections have forms with keys of their own, and are not shared.
	personal bool
	// modelled sections are nothing without the model: of a long study they come when it is there.
	modelled bool
	// slow sections take long even then, and are drawn behind the request too.
	slow bool
}

// parts are the sections by name.
var parts map[string]part

func init() { parts = sections() }

func sections() map[string]part {
	return map[string]part{
		"verdict": {query: nothing, modelled: true, draw: func(s *Site, ctx context.Context, v visit) (templ.Component, error) {
			verdict, err := s.verdict(ctx, v)
			return templates.VerdictSection(verdict), err
		}},
		"gain": {query: nothing, modelled: true, slow: true, draw: func(s *Site, ctx context.Context, v visit) (templ.Component, error) {
			gain, err := s.gain(ctx, v, true)
			return templates.GainPart(gain), err
		}},
		"status": {query: nothing, draw: func(s *Site, ctx context.Context, v visit) (templ.Component, error) {
			status, err := s.status(ctx, v)
			return templates.StatusStrip(status), err
		}},
		"lab": {query: nothing, personal: true, draw: func(s *Site, _ context.Context, v visit) (templ.Component, error) {
			return templates.LabPanel(s.lab(v)), nil
		}},
		"next": {query: visit.typedQuery, personal: true, draw: func(_ *Site, _ context.Context, v visit) (templ.Component, error) {
			return templates.NextSection(v.next()), nil
		}},
		"bench": {query: visit.typedQuery, personal: true, draw: func(_ *Site, _ context.Context, v visit) (templ.Component, error) {
			return templates.BenchSection(v.next()), nil
		}},
		"progress": {query: nothing, modelled: true, draw: func(s *Site, ctx context.Context, v visit) (templ.Component, error) {
			progress, err := s.progress(ctx, v)
			return templates.ProgressSection(progress), err
		}},
		"progress-table": {query: nothing, modelled: true, draw: func(s *Site, ctx context.Context, v visit) (templ.Component, error) {
			p, empty, err := s.panelling(ctx, v)
			if err != nil || empty != "" {
				return templ.Raw(templ.EscapeString(empty)), err
			}
			return templates.NewestLines(p.table(p.all()), len(v.snap.Trials), v.head), nil
		}},
		"beliefs": {query: visit.beliefsQuery, modelled: true, slow: true, draw: func(s *Site, ctx context.Context, v visit) (templ.Component, error) {
			beliefs, err := s.beliefs(ctx, v)
			return templates.BeliefsSection(beliefs), err
		}},
		"trials": {query: visit.trialsQuery, draw: func(s *Site, ctx context.Context, v visit) (templ.Component, error) {
			trials, err := s.trials(ctx, v)
			return templates.TrialsSection(trials), err
		}},
		"ledger": {query: visit.ledgerQuery, draw: func(s *Site, ctx context.Context, v visit) (templ.Component, error) {
			ledger, err := s.ledger(ctx, v)
			return templates.LedgerSection(ledger), err
		}},
	}
}

func nothing(visit) url.Values { return nil }

// StudyPart is one section of the study page, as it is after the event that the page has heard of, or later.
func (s *Site) StudyPart(w http.ResponseWriter, r *http.Request) error {
	name := chi.URLParam(r, "part")
	part, there := parts[name]
	if !there && name != modelPart {
		return problem.NoSuchThing
	}
	seen, err := request.Seen(r)
	if err != nil {
		return err
	}
	snap, err := s.Studies.Since(r.Context(), request.StudyID(r), seen)
	if err != nil {
		return err
	}
	v := visiting(r, snap)
	if name == modelPart {
		return s.showWork(w, r, v)
	}
	v.query = part.query(v)
	if err := s.awaitModel(r.Context(), &v); err != nil {
		return err
	}
	if part.modelled {
		if ready, err := s.drawnBehind(r.Context(), name, v); err != nil || !ready {
			return leaveAsIs(w, v, err)
		}
	}
	section := func(ctx context.Context) (templ.Component, error) { return part.draw(s, ctx, v) }
	if part.personal {
		drawn, err := section(r.Context())
		if err != nil {
			return err
		}
		return show(w, r, http.StatusOK, drawn)
	}
	return s.showShared(w, r, snap, partKey{v.head, name + v.without(), v.query.Encode()}, section)
}

// status is the strip on top.
func (s *Site) status(ctx context.Context, v visit) (templates.Status, error) {
	d := v.snap.Definition
	summary := v.snap.Summary()
	strip := templates.Status{Study: v.head, Version: v.snap.Version, Still: v.at > 0, Trial: trialCount(summary.Trials, d.Algorithm.Horizon)}
	if summary.Waiting > 0 {
		strip.Waiting = strconv.Itoa(summary.Waiting) + " waiting"
		strip.Oldest = stamp(*summary.OldestWaiting, v.now)
	}
	if v.head.Operates && !strip.Still {
		strip.Found = findings(v.head, study.Health(v.snap))
	}
	strip.Doubtful, strip.MoreDoubtful = v.inDoubt()
	if feasible, known := v.snap.Feasibility(); known > 0 && len(d.Constraints) > 0 {
		strip.Feasible = strconv.Itoa(feasible) + " of " + strconv.Itoa(known) + " within every limit"
	}
	if summary.Trials == 0 || v.working {
		return strip, nil
	}
	readout, err := s.Studies.StateOf(ctx, v.snap)
	if sentence := withoutModel(err); sentence != "" {
		strip.Notes = append(study.Notes(v.snap), sentence)
		return strip, nil
	}
	strip.Refitting, strip.Notes = readout.FitPending && v.snap.State == ledger.Open, readout.Notes
	return strip, err
}

// withoutModel says why a study has no model to show, "" when err says anything else: the page then shows the rest.
func withoutModel(err error) string {
	if errors.Is(err, study.ErrConflict) {
		return err.Error()
	}
	return ""
}

func unitAfter(unit string) string {
	if unit == "" {
		return ""
	}
	return thin + unit
}

func trialCount(n, horizon int) string {
	if n == 0 {
		return "no trials yet, " + strconv.Itoa(horizon) + " planned"
	}
	return "trial " + strconv.Itoa(n) + " of " + strconv.Itoa(horizon)
}
