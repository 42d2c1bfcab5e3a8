package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"headroom/internal/http/forms"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// ReconfigurePage is the form that changes limits, bounds, units, what has run out, the algorithm
// and the model.
func (s *Site) ReconfigurePage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	d, query := chosen(v.Snap), r.URL.Query()
	var offered, reason string
	if query.Get("way") == forms.DriftWay {
		offered, reason = offerWindow(&d, v.Snap, query.Get("since"))
	}
	if name := query.Get("log"); name != "" {
		offered, reason = offerLog(&d, v.Snap, name)
	}
	values := forms.ShowingChanges(d, reason)
	forms.KeepWith(values, v.Snap.ID+"/changes", "")
	values.Set("key", newKey(r))
	return showReconfigure(w, r, http.StatusOK, v, templates.DefinePage{Form: templates.Form{Values: values}, Offered: offered})
}

// chosen is the study's definition as forms show it: a field is blank where the study has what a
// new one would have.
func chosen(snap *ledger.Snapshot) design.Definition { return snap.Compiled().Chosen(snap.Definition) }

// leastWindow is the fewest trials that a window is offered for.
const leastWindow = 10

// offerWindow leads to the algorithm that looks only at the last trials, those since the process
// seems to have moved where that is known. It says what is filled in, and the reason.
func offerWindow(d *design.Definition, snap *ledger.Snapshot, since string) (says, reason string) {
	window := 0
	from, err := strconv.Atoi(since)
	if last := len(snap.Trials); err == nil && from > 0 && from <= last {
		window = max(last-from+1, leastWindow)
		reason = fmt.Sprintf("Readings are not what was predicted since about trial %d: the process may have drifted.", from)
	}
	d.Algorithm = forms.Drifting(d.Algorithm.Horizon, window)
	return fmt.Sprintf("Filled in below, and not changed yet: the algorithm that looks only at the last trials, here the last %s. Under “Advanced” you can change how many.", d.Algorithm.Settings["window"]), reason
}

// offerLog leads to a log scale for the parameter. It says what is filled in, and the reason; "" where
// nothing speaks for it.
func offerLog(d *design.Definition, snap *ledger.Snapshot, name string) (says, reason string) {
	for _, finding := range study.Health(snap) {
		if finding.Kind == "scale" && finding.Parameter == name {
			i := slices.IndexFunc(d.Parameters, func(p design.Parameter) bool { return p.Name == name })
			d.Parameters = slices.Clone(d.Parameters)
			d.Parameters[i].Scale = design.ScaleLog
			return fmt.Sprintf("Filled in below, and not changed yet: %s on a logarithmic scale. All trials stay, and the next decision sees them on it.", name), finding.Says
		}
	}
	return "", ""
}

func showReconfigure(w http.ResponseWriter, r *http.Request, status int, v view.Facts, page templates.DefinePage) error {
	page.Study = v.Head
	forms.DrawChanges(&page, chosen(v.Snap))
	return showDefine(w, r, status, "Change limits or algorithm", page)
}

// Reconfigure changes the study from the next decision on.
func (s *Site) Reconfigure(w http.ResponseWriter, r *http.Request, v view.Facts, form *forms.Typed) submission {
	again := func(status int, form templates.Form) error {
		return showReconfigure(w, r, status, v, templates.DefinePage{Form: form})
	}
	if form.Redraws() {
		return submission{done: func() error { return again(http.StatusOK, form.Shown()) }}
	}
	change, fields := form.Changes(chosen(v.Snap))
	asked := submission{
		do: func(cmd study.Command) error {
			cmd.IfMatch = v.Snap.Version
			_, err := s.Studies.Reconfigure(r.Context(), cmd, v.Snap.ID, change)
			return err
		},
		to:     form.Saved("/studies/" + v.Snap.ID + "?done=changed"),
		fields: fields,
		again:  func(form templates.Form) error { return again(http.StatusUnprocessableEntity, form) },
	}
	return asked.previewed(form, v.Snap, "changed", func() (*templates.Consequences, error) {
		impact, err := s.Studies.PreviewReconfiguration(r.Context(), v.Snap.ID, change)
		if err != nil {
			return nil, err
		}
		return view.ChangeConsequences(v.Snap, change.Constraints, impact), nil
	}, func(preview *templates.Consequences) error {
		return showReconfigure(w, r, http.StatusOK, v, templates.DefinePage{Form: form.Shown(), Preview: preview})
	})
}

// EditPage changes what does not touch the algorithm.
func (s *Site) EditPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	values := editing(v.Snap).fields().Show()
	forms.KeepWith(values, v.Snap.ID+"/edit", "")
	values.Set("key", newKey(r))
	return showEdit(w, r, http.StatusOK, v, templates.Form{Values: values})
}

func showEdit(w http.ResponseWriter, r *http.Request, status int, v view.Facts, form templates.Form) error {
	form.Inputs = editing(v.Snap).fields().Inputs()
	return show(w, r, status, templates.EditView(newPage(r, "Name and state", "narrow"), v.Head, form))
}

// edited are the parts of a study that its editing changes.
type edited struct {
	name, description string
	state             ledger.State
}

func editing(snap *ledger.Snapshot) *edited {
	return &edited{snap.Definition.Name, snap.Definition.Description, snap.State}
}

func (e *edited) fields() forms.Fields { return forms.NewEdit(&e.name, &e.description, &e.state) }

// Edit saves what was changed.
func (s *Site) Edit(w http.ResponseWriter, r *http.Request, v view.Facts, form *forms.Typed) submission {
	now, typed := editing(v.Snap), &edited{}
	typed.fields().Read(form)
	asked := submission{
		to:     form.Saved("/studies/" + v.Snap.ID + "?done=edited"),
		fields: typed.fields(),
		again:  func(form templates.Form) error { return showEdit(w, r, http.StatusUnprocessableEntity, v, form) },
	}
	var edit ledger.EditedData
	if typed.name != now.name {
		edit.Name = &typed.name
	}
	if typed.description != now.description {
		edit.Description = &typed.description
	}
	if typed.state != now.state {
		edit.State = &typed.state
	}
	if edit != (ledger.EditedData{}) {
		asked.do = func(cmd study.Command) error {
			_, err := s.Studies.Edit(r.Context(), cmd, v.Snap.ID, edit)
			return err
		}
	}
	return asked
}
