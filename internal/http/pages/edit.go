package pages

import (
	"net/http"
	"net/url"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// EditPage changes what does not touch the algorithm.
func (s *Site) EditPage(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	d := snap.Definition
	return showEdit(w, r, http.StatusOK, snap, templates.Form{Values: url.Values{"key": {newKey(r)}, "name": {d.Name}, "description": {d.Description}, "state": {string(snap.State)}}})
}

func showEdit(w http.ResponseWriter, r *http.Request, status int, snap *ledger.Snapshot, form templates.Form) error {
	page := templates.EditPage{Page: narrowPage(r, "Name and state"), Study: studyHead(r, snap), Form: form}
	return show(w, r, status, templates.EditView(page))
}

// Edit saves what was changed.
func (s *Site) Edit(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(form *typed) submission {
		edit := changedParts(snap, form)
		asked := submission{
			to:    "/studies/" + snap.ID + "?done=edited",
			names: itself,
			again: func(form templates.Form) error { return showEdit(w, r, http.StatusUnprocessableEntity, snap, form) },
		}
		if edit != (ledger.EditedData{}) {
			asked.do = func(cmd study.Command) error {
				_, err := s.Studies.Edit(r.Context(), cmd, snap.ID, edit)
				return err
			}
		}
		return asked
	})
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
