package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
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
	return s.showCorrect(w, r, http.StatusOK, visiting(r, snap), trial, templates.Form{Values: values}, nil)
}

// keptValues are a trial's results as a form shows them to be corrected.
func keptValues(d design.Definition, trial *ledger.Trial) url.Values {
	values := url.Values{}
	for i, metric := range told(d) {
		if m, there := trial.Metrics[metric]; there {
			values.Set(metricField(i), exactly(m.Value))
		}
	}
	return values
}

func (s *Site) showCorrect(w http.ResponseWriter, r *http.Request, status int, v visit, t *ledger.Trial, form templates.Form, preview *templates.Consequences) error {
	d := v.snap.Definition
	page := templates.CorrectPage{Page: newPage(r, fmt.Sprintf("Correct trial %d", t.Number)), Study: v.head, Number: t.Number, Form: form, Preview: preview, Key: form.Value("key")}
	page.Width = "medium"
	for i, metric := range told(d) {
		if m, there := t.Metrics[metric]; there {
			page.Metrics = append(page.Metrics, templates.Input{Name: metricField(i), Label: metric, Unit: unitOf(d, metric), Kind: "number", Help: "now " + v.measured(metric, m)})
		}
	}
	page.Settings = usedInputs(d, t.Parameters, form.Values)
	return show(w, r, status, templates.CorrectView(page))
}

// Correct previews a correction, or makes it.
func (s *Site) Correct(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	v := visiting(r, snap)
	names := formNames(snap.Definition, metricField, settingField)
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
			to:    trialURL(snap.ID, trial.Number) + "?done=corrected",
			names: names,
			again: func(form templates.Form) error {
				return s.showCorrect(w, r, http.StatusUnprocessableEntity, v, trial, form, nil)
			},
		}
		return asked.previewed(form, snap, "corrected", func() (*templates.Consequences, error) {
			impact, err := s.Studies.PreviewCorrection(r.Context(), snap.ID, correction)
			if err != nil {
				return nil, err
			}
			preview := v.correctionConsequences(impact)
			preview.Doubts = doubtful(doubts, names)
			return preview, nil
		}, func(preview *templates.Consequences) error {
			return s.showCorrect(w, r, http.StatusOK, v, trial, form.shown(), preview)
		})
	})
}

// correction reads the form: only what differs from what is kept is corrected, an emptied result is taken back.
func (t *typed) correction(snap *ledger.Snapshot, trial *ledger.Trial) study.Correction {
	d := snap.Definition
	t.kept = keptValues(d, trial)
	c := study.Correction{Number: trial.Number, Reason: t.text("reason"), Metrics: map[string]*ledger.Reading{}}
	for i, metric := range told(d) {
		m, there := trial.Metrics[metric]
		if !there || !t.values.Has(metricField(i)) {
			continue
		}
		if t.text(metricField(i)) == "" {
			c.Metrics[metric] = nil
			continue
		}
		if x := t.numberLike(metricField(i), likeOthers(snap, trial, metric)); x != nil && *x != m.Value {
			c.Metrics[metric] = &ledger.Reading{Value: *x, StdDev: m.StdDev}
		}
	}
	if used := t.settings(d, settingField, trial.Parameters); used != nil && !used.Equal(trial.Parameters) {
		c.Parameters = used
	}
	if t.ok() && len(c.Metrics) == 0 && c.Parameters == nil {
		i := slices.IndexFunc(told(d), func(metric string) bool { _, there := trial.Metrics[metric]; return there })
		t.fault(metricField(max(i, 0)), "nothing differs from what is kept; change what is wrong")
	}
	if c.Reason == "" {
		t.fault("reason", "say why, so that others can follow")
	}
	return c
}

// correctionConsequences puts what a correction would change into words.
func (v visit) correctionConsequences(impact study.Impact) *templates.Consequences {
	out := v.consequences(v.snap.Definition.Constraints, impact)
	out.Summary = fmt.Sprintf("Trial %d would be: %s.", impact.Trial.Number, v.stateWords(impact.Trial))
	switch impact.DecisionsAfter {
	case 0:
		out.Summary += " No decision was made from the old value."
	default:
		out.Summary += fmt.Sprintf(" %s made from the old value; they keep what they recorded.", count(impact.DecisionsAfter, "decision was", "decisions were"))
	}
	if len(out.Changes) == 0 {
		out.Summary += " Nothing else would look different."
	}
	return out
}

// consequences lists what a change would change, constraints being those afterwards.
func (v visit) consequences(constraints []design.Constraint, impact study.Impact) *templates.Consequences {
	d, out := v.snap.Definition, templates.Consequences{}
	add := func(name, before, after string) {
		if before != after {
			out.Changes = append(out.Changes, templates.BeforeAfter{Name: name, Before: before, After: after})
		}
	}
	was, would, trials := impact.Trials[0], impact.Trials[1], len(v.snap.Trials)
	of := func(n int) string { return fmt.Sprintf("%d of %d", n, trials) }
	add("Trials within every limit", of(was.Within), of(would.Within))
	add("Trials that break a limit", of(was.Broken), of(would.Broken))
	add("Recommended", v.recommended(impact.Recommendation[0]), v.recommended(impact.Recommendation[1]))
	for _, c := range constraints {
		violation := impact.Violation[c.Name]
		add("Violation of "+c.Name, rough(violation[0].Hard)+unitAfter(c.Unit), rough(violation[1].Hard)+unitAfter(c.Unit))
		if price, there := impact.Multipliers[c.Name]; there {
			add("Multiplier of "+c.Name, rough(price[0]), rough(price[1]))
		}
	}
	add("Next suggestion", nextText(d, impact.NextBefore), nextText(d, impact.NextAfter))
	return &out
}

func (v visit) recommended(r *study.Recommendation) string {
	if r == nil {
		return "none"
	}
	o := v.snap.Definition.Objective
	return fmt.Sprintf("trial %d, expected %s %s (± one standard deviation, without the noise of a reading)", r.Number, o.Metric, uncertain(r.Mean[o.Metric], r.SD[o.Metric], o.Unit))
}

func nextText(d design.Definition, next *design.Settings) string {
	if next == nil {
		return "none"
	}
	return settingsLine(d, *next)
}
