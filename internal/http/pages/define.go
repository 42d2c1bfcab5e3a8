package pages

import (
	"net/http"

	"headroom/internal/http/forms"
	"headroom/internal/study"
	"headroom/web/templates"
)

// NewStudyPage is the form of a new study, blank or filled in from another study.
func (s *Site) NewStudyPage(w http.ResponseWriter, r *http.Request) error {
	values := forms.Blank()
	query := r.URL.Query()
	if from := query.Get("from"); from != "" {
		original, err := s.Studies.Snapshot(r.Context(), from, 0)
		if err != nil {
			return err
		}
		d := chosen(original)
		d.Name = "Copy of " + d.Name
		values = forms.Showing(d)
		forms.KeepApart(values, "from-"+from)
	}
	for field, answers := range map[string]bool{"template": false, "simulated": true} {
		if name := query.Get(field); name != "" {
			var err error
			if values, err = simulationValues(name, answers); err != nil {
				return err
			}
			forms.KeepApart(values, field+"-"+name)
		}
	}
	values.Set("key", newKey(r))
	return showNew(w, r, http.StatusOK, templates.DefinePage{Form: templates.Form{Values: values}})
}

func showNew(w http.ResponseWriter, r *http.Request, status int, page templates.DefinePage) error {
	forms.DrawNew(&page)
	return showDefine(w, r, status, "New study", page)
}

// showDefine shows the form, alone when htmx asks for it.
func showDefine(w http.ResponseWriter, r *http.Request, status int, title string, page templates.DefinePage) error {
	page.Page = newPage(r, title, "medium")
	if isPart(r) {
		return show(w, r, status, templates.DefineForm(page))
	}
	return show(w, r, status, templates.DefineView(page))
}

// MakeStudy makes a study of the form, or does to the form what a button beside its lines asks.
func (s *Site) MakeStudy(w http.ResponseWriter, r *http.Request, form *forms.Typed) submission {
	otherAlgorithm := form.OtherAlgorithm()
	forms.TakeWay(form.Values)
	if form.Rearrange() {
		page := templates.DefinePage{Form: form.Shown(), Advanced: otherAlgorithm}
		return submission{done: func() error { return showNew(w, r, http.StatusOK, page) }}
	}
	d, fields := form.NewStudy()
	if _, err := d.Check(); !form.OK() {
		placed(err, form, fields) // so that everything that is wrong is said at once
	}
	var made string
	return submission{
		do: func(cmd study.Command) error {
			after, err := s.Studies.Create(r.Context(), cmd, d)
			made = madeAt(after, err, form.Saved("?done=made"))
			return err
		},
		done:   func() error { return GoTo(w, r, made) },
		fields: fields,
		again: func(form templates.Form) error {
			return showNew(w, r, http.StatusUnprocessableEntity, templates.DefinePage{Form: form})
		},
	}
}
