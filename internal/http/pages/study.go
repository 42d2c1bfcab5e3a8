package pages

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"headroom/internal/http/problem"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// visit is a study as one request sees it: what all parts of its pages are made from.
type visit struct {
	head templates.StudyHead
	snap *ledger.Snapshot
	now  time.Time
	url  string // of the page, for links that stay on it
	// parts tells that the page fetches its parts one by one.
	parts bool
}

func visiting(r *http.Request, snap *ledger.Snapshot) visit {
	head := studyHead(r, snap)
	return visit{head: head, snap: snap, now: time.Now(), url: head.URL(""), parts: true}
}

// StudyPage is the study, top to bottom.
func (s *Site) StudyPage(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	return s.showStudy(w, r, http.StatusOK, visiting(r, snap), nil)
}

// showStudy draws the study page; change may put a form with its faults into it.
func (s *Site) showStudy(w http.ResponseWriter, r *http.Request, status int, v visit, change func(*templates.StudyPage)) error {
	page := templates.StudyPage{Page: newPage(r, v.head.Name), Study: v.head, Description: markdown(v.snap.Definition.Description)}
	page.Charts = true
	page.Live = templates.Live{URL: v.head.URL("/stream?after=" + strconv.FormatInt(v.snap.Version, 10)), Version: v.snap.Version}
	var err error
	page.Next = v.next()
	if page.Status, err = s.status(r.Context(), v); err != nil {
		return err
	}
	if page.Progress, err = s.progress(r.Context(), v); err != nil {
		return err
	}
	if page.Beliefs, err = s.beliefs(r, v); err != nil {
		return err
	}
	if page.Trials, err = s.trials(r, v); err != nil {
		return err
	}
	if page.Ledger, err = s.ledgerOf(r, v); err != nil {
		return err
	}
	if change != nil {
		change(&page)
	}
	return show(w, r, status, templates.StudyView(page))
}

// StudyPart is one part of the study page, fetched again when the study has changed.
func (s *Site) StudyPart(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	v := visiting(r, snap)
	if chi.URLParam(r, "part") != "next" { // whose forms carry keys of their own
		return s.showShared(w, r, v)
	}
	part, err := s.part(r, v)
	if err != nil {
		return err
	}
	return show(w, r, http.StatusOK, part)
}

func (s *Site) part(r *http.Request, v visit) (templ.Component, error) {
	switch chi.URLParam(r, "part") {
	case "status":
		status, err := s.status(r.Context(), v)
		return templates.StatusStrip(status), err
	case "next":
		return templates.NextSection(v.next()), nil
	case "progress":
		progress, err := s.progress(r.Context(), v)
		return templates.ProgressSection(progress), err
	case "beliefs":
		beliefs, err := s.beliefs(r, v)
		return templates.BeliefsSection(beliefs), err
	case "trials":
		trials, err := s.trials(r, v)
		return templates.TrialsSection(trials), err
	case "ledger":
		ledger, err := s.ledgerOf(r, v)
		return templates.LedgerSection(ledger), err
	}
	return nil, problem.NoSuchThing
}

// status is the strip on top.
func (s *Site) status(ctx context.Context, v visit) (templates.Status, error) {
	d := v.snap.Definition
	summary := v.snap.Summary()
	strip := templates.Status{Study: v.head, Version: v.snap.Version, Trial: trialCount(summary.Trials, d.Algorithm.Horizon)}
	if summary.Waiting > 0 {
		strip.Waiting = strconv.Itoa(summary.Waiting) + " waiting"
		strip.Oldest = stamp(*summary.OldestWaiting, v.now)
	}
	if feasible, known := v.snap.Feasibility(); known > 0 && len(d.Constraints) > 0 {
		strip.Feasible = "feasible " + strconv.Itoa(feasible) + " of " + strconv.Itoa(known)
	}
	if best := v.snap.Best(); best != nil {
		strip.Best = "best feasible "
		if len(d.Constraints) == 0 {
			strip.Best = "best "
		}
		strip.Best += quantity(best.Metrics[d.Objective.Metric].Value, d.Objective.Unit)
		strip.BestNumber = best.Number
	}
	if running := v.snap.ViolationSoFar(); len(running) > 0 {
		for j, c := range d.Constraints {
			now := running[len(running)-1][j]
			if now.Known > 0 && (now.Rounds > 0 || len(d.Constraints) <= mostQuietLimits) {
				strip.Violations = append(strip.Violations, templates.ViolationLine{Name: c.Name, Text: rough(now.Hard) + unitAfter(c.Unit) + " (" + count(now.Rounds, "trial", "trials") + ")"})
			}
		}
	}
	if summary.Trials == 0 {
		return strip, nil
	}
	readout, err := s.Studies.StateOf(ctx, v.snap)
	if sentence := withoutModel(err); sentence != "" {
		strip.Notes = append(study.Notes(v.snap), sentence)
		return strip, nil
	}
	strip.Refitting, strip.Notes = readout.FitPending, readout.Notes
	return strip, err
}

// withoutModel says why a study has no model to show, "" when err says anything else: the page then shows the rest.
func withoutModel(err error) string {
	if errors.Is(err, study.ErrConflict) {
		return err.Error()
	}
	return ""
}

// mostQuietLimits is up to how many limits the strip also names those that were never broken.
const mostQuietLimits = 2

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
