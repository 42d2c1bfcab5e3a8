package pages

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// ReconfigurePage is the form that changes limits, bounds, units, what has run out, the algorithm and the model.
func (s *Site) ReconfigurePage(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	values := definitionValues(snap.Definition)
	values.Set("key", newKey())
	if way := r.URL.Query().Get("way"); way != "" {
		values.Set("way", way)
		takeWay(values)
	}
	for i, p := range snap.Definition.Parameters {
		values.Set(unavailableField(i), strings.Join(texts(snap.Definition.Unavailable[p.Name]), ", "))
	}
	return s.showReconfigure(w, r, http.StatusOK, snap, templates.Form{Values: values})
}

func unavailableField(i int) string { return fmt.Sprintf("unavailable.%d.choices", i) }

func texts(values []design.Value) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.String()
	}
	return out
}

// showReconfigure draws the form. What cannot be changed is shown from the study, whatever was sent.
func (s *Site) showReconfigure(w http.ResponseWriter, r *http.Request, status int, snap *ledger.Snapshot, form templates.Form) error {
	fixed := definitionValues(snap.Definition)
	shown := url.Values(maps.Clone(form.Values))
	for i := range snap.Definition.Parameters {
		copyFields(shown, fixed, fmt.Sprintf("parameters.%d.", i), "name", "type", "choices")
	}
	for i := range snap.Definition.Constraints {
		copyFields(shown, fixed, fmt.Sprintf("constraints.%d.", i), "metric", "op", "name")
	}
	for i := range snap.Definition.RecordedMetrics {
		copyFields(shown, fixed, fmt.Sprintf("recorded_metrics.%d.", i), "metric", "unit")
	}
	copyFields(shown, fixed, "objective.", "metric", "direction")
	form.Values = shown
	return s.showDefine(w, r, status, templates.DefinePage{Reconfigure: true, Study: studyHead(r, snap), Form: form})
}

func copyFields(into, from url.Values, at string, fields ...string) {
	for _, field := range fields {
		into.Set(at+field, from.Get(at+field))
	}
}

// Reconfigure changes the study from the next decision on.
func (s *Site) Reconfigure(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	again := func(status int, form templates.Form) error { return s.showReconfigure(w, r, status, snap, form) }
	return submit(w, r, func(form *typed) submission {
		if form.pressed() == "refresh" {
			return submission{done: func() error { return again(http.StatusOK, form.shown()) }}
		}
		change := form.reconfiguration(snap.Definition)
		return submission{
			do: func(cmd study.Command) error {
				_, err := s.Studies.Reconfigure(r.Context(), cmd, snap.ID, change)
				return err
			},
			to:    "/studies/" + snap.ID + "?done=changed",
			names: defineNames(formFields(form.shown())),
			again: func(form templates.Form) error { return again(http.StatusUnprocessableEntity, form) },
		}
	})
}

// reconfiguration reads the form; what it has no field for stays.
func (t *typed) reconfiguration(d design.Definition) design.Reconfiguration {
	change := design.Reconfiguration{Reason: t.text("reason"), Unavailable: maps.Clone(d.Unavailable)}
	if change.Unavailable == nil {
		change.Unavailable = map[string][]design.Value{}
	}
	for i, p := range d.Parameters {
		change.Parameters = append(change.Parameters, t.changedParameter(i, p))
		if p.Type == design.Categorical {
			t.runOut(i, p, change.Unavailable)
		}
	}
	for i, c := range d.Constraints {
		at := fmt.Sprintf("constraints.%d.", i)
		c.Threshold, c.Unit, c.Plausible = t.required(at+"threshold", "write the limit"), t.text(at+"unit"), t.plausible(at)
		change.Constraints = append(change.Constraints, c)
	}
	objective := d.Objective
	objective.Unit, objective.Plausible = t.text("objective.unit"), t.plausible("objective.")
	change.Objective = &objective
	for i, r := range d.RecordedMetrics {
		r.Plausible = t.plausible(fmt.Sprintf("recorded_metrics.%d.", i))
		change.RecordedMetrics = append(change.RecordedMetrics, r)
	}
	algorithm, model, rules := t.algorithm(d.Algorithm), t.model(d.Model), t.lines("input_constraints")
	change.Algorithm, change.Model, change.InputConstraints = &algorithm, &model, &rules
	if change.Reason == "" {
		t.fault("reason", "say why, so that others can follow")
	}
	return change
}

func (t *typed) changedParameter(i int, p design.Parameter) design.Parameter {
	at := fmt.Sprintf("parameters.%d.", i)
	if p.Type == design.Categorical {
		return p
	}
	p.Unit, p.Low, p.High = t.text(at+"unit"), t.number(at+"low"), t.number(at+"high")
	if p.Type == design.Remainder {
		p.Total, p.Of = t.number(at+"total"), t.list(at+"of")
	}
	return p
}

// runOut reads which choices cannot be used for now.
func (t *typed) runOut(i int, p design.Parameter, unavailable map[string][]design.Value) {
	delete(unavailable, p.Name)
	for _, choice := range t.list(unavailableField(i)) {
		if !slices.Contains(p.Choices, choice) {
			t.fault(unavailableField(i), fmt.Sprintf("%s is none of the choices", choice))
			continue
		}
		unavailable[p.Name] = append(unavailable[p.Name], design.TextValue(choice))
	}
}
