package pages

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// ReconfigurePage is the form that changes limits, bounds, units, what has run out, the algorithm
// and the model.
func (s *Site) ReconfigurePage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	values := definitionValues(chosen(v.Snap))
	values.Set("key", newKey(r))
	page := templates.DefinePage{}
	if r.URL.Query().Get("way") == driftWay {
		page.Offered = offerWindow(values, v.Snap, r.URL.Query().Get("since"))
	}
	if name := r.URL.Query().Get("log"); name != "" {
		page.Offered = offerLog(values, v.Snap, name)
	}
	for i, p := range v.Snap.Definition.Parameters {
		values.Set(unavailableField(i), strings.Join(texts(v.Snap.Definition.Unavailable[p.Name]), ", "))
	}
	page.Form = templates.Form{Values: values}
	return showReconfigure(w, r, http.StatusOK, v, page)
}

// chosen is the study's definition as forms show it: a field is blank where the study has what a
// new one would have.
func chosen(snap *ledger.Snapshot) design.Definition { return snap.Compiled().Chosen(snap.Definition) }

// leastWindow is the fewest trials that a window is offered for.
const leastWindow = 10

// offerWindow fills the form with the algorithm that looks only at the last trials, those since the
// process seems to have moved where that is known, and with the reason. It says what was filled in.
func offerWindow(values url.Values, snap *ledger.Snapshot, since string) string {
	values.Set("way", driftWay)
	takeWay(values)
	from, err := strconv.Atoi(since)
	if last := len(snap.Trials); err == nil && from > 0 && from <= last {
		values.Set("settings.window", strconv.Itoa(max(last-from+1, leastWindow)))
		values.Set("reason", fmt.Sprintf("Readings are not what was predicted since about trial %d: the process may have drifted.", from))
	}
	return fmt.Sprintf("Filled in below, and not changed yet: the algorithm that looks only at the last trials, here the last %s. Under “Advanced” you can change how many.", values.Get("settings.window"))
}

func unavailableField(i int) string { return fmt.Sprintf("unavailable.%d.choices", i) }

func texts(values []design.Value) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.String()
	}
	return out
}

// showReconfigure draws the form. What cannot be changed is shown from the study, whatever was
// sent.
func showReconfigure(w http.ResponseWriter, r *http.Request, status int, v view.Facts, page templates.DefinePage) error {
	there := chosen(v.Snap)
	shown := url.Values(maps.Clone(page.Form.Values))
	for _, f := range studyFields(&there) {
		if f.once {
			shown.Set(f.name, f.show())
		}
	}
	shown.Set("candidates", candidatesText(there))
	page.Form.Values, page.Reconfigure, page.Study = shown, true, v.Head
	return showDefine(w, r, status, page)
}

// Reconfigure changes the study from the next decision on.
func (s *Site) Reconfigure(w http.ResponseWriter, r *http.Request, v view.Facts, form *typed) submission {
	again := func(status int, form templates.Form) error {
		return showReconfigure(w, r, status, v, templates.DefinePage{Form: form})
	}
	if form.pressed() == "refresh" || rescale(form.values, form.pressed()) {
		return submission{done: func() error { return again(http.StatusOK, form.shown()) }}
	}
	change := form.reconfiguration(chosen(v.Snap))
	asked := submission{
		do: func(cmd study.Command) error {
			cmd.IfMatch = v.Snap.Version
			_, err := s.Studies.Reconfigure(r.Context(), cmd, v.Snap.ID, change)
			return err
		},
		to:    "/studies/" + v.Snap.ID + "?done=changed",
		names: defineNames(formFields(form.shown())),
		again: func(form templates.Form) error { return again(http.StatusUnprocessableEntity, form) },
	}
	return asked.previewed(form, v.Snap, "changed", func() (*templates.Consequences, error) {
		impact, err := s.Studies.PreviewReconfiguration(r.Context(), v.Snap.ID, change)
		if err != nil {
			return nil, err
		}
		return v.ChangeConsequences(change.Constraints, impact), nil
	}, func(preview *templates.Consequences) error {
		return showReconfigure(w, r, http.StatusOK, v, templates.DefinePage{Form: form.shown(), Preview: preview})
	})
}

// reconfiguration reads the form; what it has no field for stays.
func (t *typed) reconfiguration(d design.Definition) design.Reconfiguration {
	t.kept = definitionValues(d)
	d.Parameters, d.Constraints, d.RecordedMetrics = slices.Clone(d.Parameters), slices.Clone(d.Constraints), slices.Clone(d.RecordedMetrics)
	t.fill(&d, true)
	change := design.Reconfiguration{
		Reason: t.text("reason"), Unavailable: maps.Clone(d.Unavailable), Parameters: d.Parameters, Constraints: d.Constraints, Objective: &d.Objective,
		RecordedMetrics: d.RecordedMetrics, Algorithm: &d.Algorithm, Model: &d.Model, InputConstraints: &d.InputConstraints, Stop: d.Stop,
	}
	if change.Unavailable == nil {
		change.Unavailable = map[string][]design.Value{}
	}
	for i, p := range d.Parameters {
		if p.Type == design.Categorical {
			t.runOut(i, p, change.Unavailable)
		}
	}
	if change.Reason == "" {
		t.fault("reason", "say why, so that others can follow")
	}
	return change
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

// EditPage changes what does not touch the algorithm.
func (s *Site) EditPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	d := v.Snap.Definition
	return showEdit(w, r, http.StatusOK, v, templates.Form{Values: url.Values{"key": {newKey(r)}, "name": {d.Name}, "description": {d.Description}, "state": {string(v.Snap.State)}}})
}

func showEdit(w http.ResponseWriter, r *http.Request, status int, v view.Facts, form templates.Form) error {
	return show(w, r, status, templates.EditView(templates.EditPage{Page: newPage(r, "Name and state", "narrow"), Study: v.Head, Form: form}))
}

// Edit saves what was changed.
func (s *Site) Edit(w http.ResponseWriter, r *http.Request, v view.Facts, form *typed) submission {
	edit := changedParts(v.Snap, form)
	asked := submission{
		to:    "/studies/" + v.Snap.ID + "?done=edited",
		names: itself,
		again: func(form templates.Form) error { return showEdit(w, r, http.StatusUnprocessableEntity, v, form) },
	}
	if edit != (ledger.EditedData{}) {
		asked.do = func(cmd study.Command) error {
			_, err := s.Studies.Edit(r.Context(), cmd, v.Snap.ID, edit)
			return err
		}
	}
	return asked
}

// changedParts are the parts of the form that differ from the study.
func changedParts(snap *ledger.Snapshot, form *typed) ledger.EditedData {
	var edit ledger.EditedData
	if name := form.text("name"); name != snap.Definition.Name {
		edit.Name = &name
	}
	if description := strings.ReplaceAll(form.text("description"), "\r\n", "\n"); description != snap.Definition.Description {
		edit.Description = &description
	}
	if state := ledger.State(form.text("state")); state != snap.State {
		edit.State = &state
	}
	return edit
}
