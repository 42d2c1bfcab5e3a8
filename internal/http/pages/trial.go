package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"headroom/internal/http/forms"
	"headroom/internal/http/problem"
	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// TrialPage is one trial with everything behind it.
func (s *Site) TrialPage(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial) error {
	return s.showTrial(w, r, http.StatusOK, v, trial, nil)
}

// showTrial draws the page of a trial; change may put a form with its faults into it.
func (s *Site) showTrial(w http.ResponseWriter, r *http.Request, status int, v view.Facts, t *ledger.Trial, change func(*templates.TrialPage)) error {
	if err := s.loadEntriesOf(r.Context(), &v, t); err != nil {
		return err
	}
	page, err := v.Of(t).Page()
	if err != nil {
		return err
	}
	page.Page = newPage(r, fmt.Sprintf("Trial %d of %s", t.Number, v.Head.Name), "medium")
	if change != nil {
		change(&page)
	}
	return show(w, r, status, templates.TrialView(page))
}

// Close ends a trial or sets it aside.
func (s *Site) Close(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial, form *forms.Typed) submission {
	var kind, reason string
	fields := forms.NewClosing(&kind, &reason)
	fields.Read(form)
	to := view.TrialURL(v.Snap.ID, trial.Number) + "?done=closed"
	if ledger.Kind(kind) == ledger.Confirmed {
		to = "/studies/" + v.Snap.ID + "?done=confirmed"
	}
	return submission{
		do: func(cmd study.Command) (err error) {
			switch {
			case ledger.Kind(kind) == ledger.Confirmed:
				_, err = s.Studies.Confirm(r.Context(), cmd, v.Snap.ID, trial.Number)
			case ledger.Cause(kind).Known():
				_, err = s.Studies.Fail(r.Context(), cmd, v.Snap.ID, trial.Number, ledger.Cause(kind), reason)
			case slices.Contains([]ledger.Kind{ledger.Abandoned, ledger.Excluded, ledger.Included}, ledger.Kind(kind)):
				_, err = s.Studies.Close(r.Context(), cmd, v.Snap.ID, ledger.Kind(kind), trial.Number, reason)
			default:
				err = problem.Malformed("body", "kind", "The form must say whether the trial failed because of its settings or by chance, was not run, is excluded, included or confirmed.")
			}
			return err
		},
		to:     to,
		fields: fields,
		again: func(form templates.Form) error {
			return s.showTrial(w, r, http.StatusUnprocessableEntity, v, trial, func(page *templates.TrialPage) { page.Closing = form })
		},
	}
}

// Replicate asks for the same settings again.
func (s *Site) Replicate(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial, _ *forms.Typed) submission {
	return submission{
		do: func(cmd study.Command) error {
			_, _, err := s.Studies.Replicate(r.Context(), cmd, v.Snap.ID, trial.Number)
			return err
		},
		to: "/studies/" + v.Snap.ID + "?done=replicated#next",
	}
}

// Undo takes back what the viewer saved of a trial just now.
func (s *Site) Undo(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial, _ *forms.Typed) submission {
	var after *ledger.Snapshot
	return submission{
		do: func(cmd study.Command) (err error) {
			after, err = s.Studies.Undo(r.Context(), cmd, v.Snap.ID, trial.Number)
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
				return GoTo(w, r, view.TrialURL(v.Snap.ID, trial.Number)+"?done=undone")
			}
			return GoTo(w, r, "/studies/"+v.Snap.ID+"?done=undone#next")
		},
	}
}

// PrintSheet is a trial on paper: what to set, the limits, blanks to write in, and the way back to
// its page.
func (s *Site) PrintSheet(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial) error {
	page, err := v.Of(trial).Sheet(s.PublicURL.JoinPath(view.TrialURL(v.Snap.ID, trial.Number)).String())
	if err != nil {
		return err
	}
	page.Page = newPage(r, fmt.Sprintf("Sheet of trial %d of %s", trial.Number, page.Study.Name), "medium")
	return show(w, r, http.StatusOK, templates.SheetView(page))
}

// CorrectPage is the form in which a trial is corrected, filled in with what is kept.
func (s *Site) CorrectPage(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial) error {
	values := forms.OfTrial(v.Snap, trial).Kept()
	forms.KeepWith(values, fmt.Sprintf("%s/%d/correction", v.Snap.ID, trial.Number), fmt.Sprint(trial.Parameters))
	values.Set("key", newKey(r))
	return showCorrect(w, r, http.StatusOK, v, trial, templates.Form{Values: values}, nil)
}

func showCorrect(w http.ResponseWriter, r *http.Request, status int, v view.Facts, t *ledger.Trial, form templates.Form, preview *templates.Consequences) error {
	table := forms.OfTrial(v.Snap, t)
	page := templates.CorrectPage{Page: newPage(r, fmt.Sprintf("Correct trial %d", t.Number), "medium"), Study: v.Head, Number: t.Number, Form: form, Preview: preview,
		Settings: view.UsedInputs(v.Snap.Definition, t.Parameters, form.Values), Reason: table.Reason.Input}
	for _, in := range table.Metrics.Inputs() {
		if m, there := t.Metrics[in.Label]; there {
			in.Help = "now " + view.Measured(v.Snap.Definition, in.Label, m)
			page.Metrics = append(page.Metrics, in)
		}
	}
	return show(w, r, status, templates.CorrectView(page))
}

// Correct previews a correction, or makes it.
func (s *Site) Correct(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial, form *forms.Typed) submission {
	table := forms.OfTrial(v.Snap, trial)
	correction, fields := form.Correction(table), table.All()
	doubts := study.DoubtCorrection(v.Snap, trial, correction)
	asked := submission{
		do: func(cmd study.Command) error {
			sure := study.Doubted(doubts) // they stood in the preview
			cmd.IfMatch, cmd.Sure = v.Snap.Version, &sure
			_, err := s.Studies.Correct(r.Context(), cmd, v.Snap.ID, correction)
			return err
		},
		to:     form.Saved(view.TrialURL(v.Snap.ID, trial.Number) + "?done=corrected"),
		fields: fields,
		again: func(form templates.Form) error {
			return showCorrect(w, r, http.StatusUnprocessableEntity, v, trial, form, nil)
		},
	}
	return asked.previewed(form, v.Snap, "corrected", func() (*templates.Consequences, error) {
		impact, err := s.Studies.PreviewCorrection(r.Context(), v.Snap.ID, correction)
		if err != nil {
			return nil, err
		}
		preview := view.CorrectionConsequences(v.Snap, impact)
		preview.Doubts = doubtful(doubts, fields)
		return preview, nil
	}, func(preview *templates.Consequences) error {
		return showCorrect(w, r, http.StatusOK, v, trial, form.Shown(), preview)
	})
}
