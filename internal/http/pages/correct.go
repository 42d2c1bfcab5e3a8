package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// CorrectPage is the form in which a trial is corrected, filled in with what is kept.
func (s *Site) CorrectPage(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	values := keptValues(snap.Definition, trial)
	values.Set("key", newKey(r))
	return showCorrect(w, r, http.StatusOK, visiting(r, snap), trial, templates.Form{Values: values}, nil)
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
	page := templates.CorrectPage{Page: newPage(r, fmt.Sprintf("Correct trial %d", t.Number)), Study: v.Head, Number: t.Number, Form: form, Preview: preview, Key: form.Value("key")}
	page.Width = "medium"
	for i, metric := range view.Told(d) {
		if m, there := t.Metrics[metric]; there {
			page.Metrics = append(page.Metrics, templates.Input{Name: view.MetricField(i), Label: metric, Unit: view.UnitOf(d, metric), Kind: "number", Help: "now " + v.Measured(metric, m)})
		}
	}
	page.Settings = view.UsedInputs(d, t.Parameters, form.Values)
	return show(w, r, status, templates.CorrectView(page))
}

// Correct previews a correction, or makes it.
func (s *Site) Correct(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	v := visiting(r, snap)
	names := formNames(snap.Definition, view.MetricField, view.SettingField)
	return submit(w, r, func(form *typed) submission {
		correction := form.correction(snap, trial)
		doubts := study.DoubtCorrection(snap, trial, correction)
		asked := submission{
			do: func(cmd study.Command) error {
				sure := study.Doubted(doubts) // they stood in the preview
				cmd.IfMatch, cmd.Sure = snap.Version, &sure
				_, err := s.Studies.Correct(r.Context(), cmd, snap.ID, correction)
				return err
			},
			to:    view.TrialURL(snap.ID, trial.Number) + "?done=corrected",
			names: names,
			again: func(form templates.Form) error {
				return showCorrect(w, r, http.StatusUnprocessableEntity, v, trial, form, nil)
			},
		}
		return asked.previewed(form, snap, "corrected", func() (*templates.Consequences, error) {
			impact, err := s.Studies.PreviewCorrection(r.Context(), snap.ID, correction)
			if err != nil {
				return nil, err
			}
			preview := v.CorrectionConsequences(impact)
			preview.Doubts = doubtful(doubts, names)
			return preview, nil
		}, func(preview *templates.Consequences) error {
			return showCorrect(w, r, http.StatusOK, v, trial, form.shown(), preview)
		})
	})
}

// correction reads the form: only what differs from what is kept is corrected, an emptied result is taken back.
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
	if used := t.settings(d, view.SettingField, trial.Parameters); used != nil && !used.Equal(trial.Parameters) {
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
