package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// TrialPage is one trial with everything behind it.
func (s *Site) TrialPage(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	return s.showTrial(w, r, http.StatusOK, visiting(r, snap), trial, nil)
}

// showTrial draws the page of a trial; change may put a form with its faults into it.
func (s *Site) showTrial(w http.ResponseWriter, r *http.Request, status int, v view.Facts, t *ledger.Trial, change func(*templates.TrialPage)) error {
	var err error
	if v.Entries, v.Earlier, err = s.Studies.EventsOf(r.Context(), v.Snap, t.Number, view.LedgerLines); err != nil {
		return err
	}
	page, err := v.Trial(t)
	if err != nil {
		return err
	}
	page.Page = newPage(r, fmt.Sprintf("Trial %d of %s", t.Number, v.Head.Name))
	page.Width = "medium"
	if change != nil {
		change(&page)
	}
	return show(w, r, status, templates.TrialView(page))
}

// trialNow is the study and the trial that the path names.
func (s *Site) trialNow(r *http.Request) (*ledger.Snapshot, *ledger.Trial, error) {
	snap, err := s.studyNow(r)
	if err != nil {
		return nil, nil, err
	}
	number, err := request.TrialNumber(r)
	if err != nil {
		return nil, nil, err
	}
	trial := snap.Trial(number)
	if trial == nil {
		return nil, nil, problem.NoSuchThing
	}
	return snap, trial, nil
}

// Close ends a trial or sets it aside.
func (s *Site) Close(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(form *typed) submission {
		to := view.TrialURL(snap.ID, trial.Number) + "?done=closed"
		if form.text("kind") == string(ledger.Confirmed) {
			to = "/studies/" + snap.ID + "?done=confirmed"
		}
		return submission{
			do: func(cmd study.Command) (err error) {
				kind, reason := form.text("kind"), form.text("reason")
				switch {
				case ledger.Kind(kind) == ledger.Confirmed:
					_, err = s.Studies.Confirm(r.Context(), cmd, snap.ID, trial.Number)
				case ledger.Cause(kind).Known():
					_, err = s.Studies.Fail(r.Context(), cmd, snap.ID, trial.Number, ledger.Cause(kind), reason)
				case slices.Contains([]ledger.Kind{ledger.Abandoned, ledger.Excluded, ledger.Included}, ledger.Kind(kind)):
					_, err = s.Studies.Close(r.Context(), cmd, snap.ID, ledger.Kind(kind), trial.Number, reason)
				default:
					err = problem.Malformed("body", "kind", "The form must say whether the trial failed because of its settings or by chance, was not run, is excluded, included or confirmed.")
				}
				return err
			},
			to:    to,
			names: itself,
			again: func(form templates.Form) error {
				return s.showTrial(w, r, http.StatusUnprocessableEntity, visiting(r, snap), trial, func(page *templates.TrialPage) { page.Closing = form })
			},
		}
	})
}

// Replicate asks for the same settings again.
func (s *Site) Replicate(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(*typed) submission {
		return submission{
			do: func(cmd study.Command) error {
				_, _, err := s.Studies.Replicate(r.Context(), cmd, snap.ID, trial.Number)
				return err
			},
			to: "/studies/" + snap.ID + "?done=replicated#next",
		}
	})
}

// Undo takes back what the viewer saved of a trial just now.
func (s *Site) Undo(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(*typed) submission {
		var after *ledger.Snapshot
		return submission{
			do: func(cmd study.Command) (err error) {
				after, err = s.Studies.Undo(r.Context(), cmd, snap.ID, trial.Number)
				return err
			},
			done: func() error {
				w.Header().Set("X-Undone", strconv.Itoa(trial.Number))
				if isPart(r) && onStudyPage(r) {
					letPartsFollow(w, after)
					w.WriteHeader(http.StatusOK)
					return nil
				}
				if isPart(r) {
					return GoTo(w, r, view.TrialURL(snap.ID, trial.Number)+"?done=undone")
				}
				return GoTo(w, r, "/studies/"+snap.ID+"?done=undone#next")
			},
		}
	})
}
