package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"headroom/internal/http/problem"
	"headroom/internal/study"
	"headroom/internal/study/design"
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
	var err error
	if v.Entries, v.Earlier, err = s.Studies.EventsOf(r.Context(), v.Snap, t.Number, view.LedgerLines); err != nil {
		return err
	}
	page, err := v.Trial(t)
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
func (s *Site) Close(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial, form *typed) submission {
	to := view.TrialURL(v.Snap.ID, trial.Number) + "?done=closed"
	if form.text("kind") == string(ledger.Confirmed) {
		to = "/studies/" + v.Snap.ID + "?done=confirmed"
	}
	return submission{
		do: func(cmd study.Command) (err error) {
			kind, reason := form.text("kind"), form.text("reason")
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
		to:    to,
		names: itself,
		again: func(form templates.Form) error {
			return s.showTrial(w, r, http.StatusUnprocessableEntity, v, trial, func(page *templates.TrialPage) { page.Closing = form })
		},
	}
}

// Replicate asks for the same settings again.
func (s *Site) Replicate(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial, _ *typed) submission {
	return submission{
		do: func(cmd study.Command) error {
			_, _, err := s.Studies.Replicate(r.Context(), cmd, v.Snap.ID, trial.Number)
			return err
		},
		to: "/studies/" + v.Snap.ID + "?done=replicated#next",
	}
}

// Undo takes back what the viewer saved of a trial just now.
func (s *Site) Undo(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial, _ *typed) submission {
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
	page, err := v.Sheet(trial, s.PublicURL.JoinPath(view.TrialURL(v.Snap.ID, trial.Number)).String())
	if err != nil {
		return err
	}
	page.Page = newPage(r, fmt.Sprintf("Sheet of trial %d of %s", trial.Number, page.Study.Name), "medium")
	return show(w, r, http.StatusOK, templates.SheetView(page))
}

// CorrectPage is the form in which a trial is corrected, filled in with what is kept.
func (s *Site) CorrectPage(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial) error {
	values := keptValues(v.Snap.Definition, trial)
	values.Set("key", newKey(r))
	return showCorrect(w, r, http.StatusOK, v, trial, templates.Form{Values: values}, nil)
}

// keptValues are a trial's results as a form shows them to be corrected.
func keptValues(d design.Definition, trial *ledger.Trial) url.Values {
	values := url.Values{}
	for i, metric := range view.Told(d) {
		if m, there := trial.Metrics[metric]; there {
			values.Set(view.MetricField(i), exactly(m.Value))
		}
	}
	return values
}

func showCorrect(w http.ResponseWriter, r *http.Request, status int, v view.Facts, t *ledger.Trial, form templates.Form, preview *templates.Consequences) error {
	d := v.Snap.Definition
	page := templates.CorrectPage{Page: newPage(r, fmt.Sprintf("Correct trial %d", t.Number), "medium"), Study: v.Head, Number: t.Number, Form: form, Preview: preview, Key: form.Value("key")}
	for i, metric := range view.Told(d) {
		if m, there := t.Metrics[metric]; there {
			page.Metrics = append(page.Metrics, templates.Input{Name: view.MetricField(i), Label: metric, Unit: view.UnitOf(d, metric), Kind: "number", Help: "now " + v.Measured(metric, m)})
		}
	}
	page.Settings = view.UsedInputs(d, t.Parameters, form.Values)
	return show(w, r, status, templates.CorrectView(page))
}

// Correct previews a correction, or makes it.
func (s *Site) Correct(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial, form *typed) submission {
	names := formNames(v.Snap.Definition)
	correction := form.correction(v.Snap, trial)
	doubts := study.DoubtCorrection(v.Snap, trial, correction)
	asked := submission{
		do: func(cmd study.Command) error {
			sure := study.Doubted(doubts) // they stood in the preview
			cmd.IfMatch, cmd.Sure = v.Snap.Version, &sure
			_, err := s.Studies.Correct(r.Context(), cmd, v.Snap.ID, correction)
			return err
		},
		to:    view.TrialURL(v.Snap.ID, trial.Number) + "?done=corrected",
		names: names,
		again: func(form templates.Form) error {
			return showCorrect(w, r, http.StatusUnprocessableEntity, v, trial, form, nil)
		},
	}
	return asked.previewed(form, v.Snap, "corrected", func() (*templates.Consequences, error) {
		impact, err := s.Studies.PreviewCorrection(r.Context(), v.Snap.ID, correction)
		if err != nil {
			return nil, err
		}
		preview := v.CorrectionConsequences(impact)
		preview.Doubts = doubtful(doubts, names)
		return preview, nil
	}, func(preview *templates.Consequences) error {
		return showCorrect(w, r, http.StatusOK, v, trial, form.shown(), preview)
	})
}

// correction reads the form: only what differs from what is kept is corrected, an emptied result is
// taken back.
func (t *typed) correction(snap *ledger.Snapshot, trial *ledger.Trial) study.Correction {
	d := snap.Definition
	t.kept = keptValues(d, trial)
	c := study.Correction{Number: trial.Number, Reason: t.text("reason"), Metrics: map[string]*ledger.Reading{}}
	for i, metric := range view.Told(d) {
		m, there := trial.Metrics[metric]
		if !there || !t.values.Has(view.MetricField(i)) {
			continue
		}
		if t.text(view.MetricField(i)) == "" {
			c.Metrics[metric] = nil
			continue
		}
		if x := t.numberLike(view.MetricField(i), likeOthers(snap, trial, metric)); x != nil && *x != m.Value {
			c.Metrics[metric] = &ledger.Reading{Value: *x, StdDev: m.StdDev}
		}
	}
	if used := t.settings(d, trial.Parameters); used != nil && !used.Equal(trial.Parameters) {
		c.Parameters = used
	}
	if t.ok() && len(c.Metrics) == 0 && c.Parameters == nil {
		i := slices.IndexFunc(view.Told(d), func(metric string) bool { _, there := trial.Metrics[metric]; return there })
		t.fault(view.MetricField(max(i, 0)), "nothing differs from what is kept; change what is wrong")
	}
	if c.Reason == "" {
		t.fault("reason", "say why, so that others can follow")
	}
	return c
}
