package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// reconfigurePage is the form that changes limits, bounds, units, what has run out, the algorithm and the model.
func (s *Server) reconfigurePage(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	values := definitionValues(snap.Definition)
	values.Set("key", newKey())
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
func (s *Server) showReconfigure(w http.ResponseWriter, r *http.Request, status int, snap *ledger.Snapshot, form templates.Form) error {
	fixed := definitionValues(snap.Definition)
	shown := url.Values(maps.Clone(form.Values))
	for i := range snap.Definition.Parameters {
		copyFields(shown, fixed, fmt.Sprintf("parameters.%d.", i), "name", "type", "choices")
	}
	for i := range snap.Definition.Constraints {
		copyFields(shown, fixed, fmt.Sprintf("constraints.%d.", i), "metric", "op", "name")
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

// reconfigureOnPage changes the study from the next decision on.
func (s *Server) reconfigureOnPage(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	do := values.Get("do")
	values.Del("do")
	if do == "refresh" {
		return s.showReconfigure(w, r, http.StatusOK, snap, templates.Form{Values: values})
	}
	form := newTyped(values)
	change := form.reconfiguration(snap.Definition)
	if form.ok() {
		_, err = s.studies.Reconfigure(r.Context(), pageCommand(r, values), snap.ID, change)
		if _, twice := answeredBefore(err); twice || err == nil {
			return goTo(w, r, "/studies/"+snap.ID+"?done=changed")
		}
	}
	general, placed := form.place(err, defineNames(formFields(form.form(""))))
	if !placed {
		return err
	}
	return s.showReconfigure(w, r, http.StatusUnprocessableEntity, snap, form.form(general))
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
		c.Threshold, c.Unit = t.required(at+"threshold", "write the limit"), t.text(at+"unit")
		change.Constraints = append(change.Constraints, c)
	}
	objective := d.Objective
	objective.Unit = t.text("objective.unit")
	change.Objective = &objective
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
