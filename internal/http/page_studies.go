package server

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"headroom/internal/optimizer"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// studiesPage lists the studies that the caller may see.
func (s *Server) studiesPage(w http.ResponseWriter, r *http.Request) error {
	list, err := s.visibleStudies(r)
	if err != nil {
		return err
	}
	page := templates.StudiesPage{Page: newPage(r, "Studies"), Archived: r.URL.Query().Get("archived") == "yes"}
	page.Width = "medium"
	titles := algorithmTitles()
	for _, one := range list {
		if one.State == ledger.Archived && !page.Archived {
			page.Hidden++
			continue
		}
		line := templates.StudyLine{ID: one.ID, Name: one.Name, State: string(one.State), Trials: count(one.Trials, "trial", "trials"), Algorithm: titles[one.Algorithm], Updated: stamp(one.UpdatedAt, page.Now)}
		if one.Waiting > 0 {
			line.Waiting = strconv.Itoa(one.Waiting) + " waiting"
			line.Oldest = optionalStamp(one.OldestWaiting, page.Now)
		}
		page.Lines = append(page.Lines, line)
	}
	return show(w, r, http.StatusOK, templates.StudiesView(page))
}

func algorithmTitles() map[string]string {
	titles := map[string]string{}
	for _, a := range optimizer.Algorithms() {
		titles[a.Name] = a.Title
	}
	return titles
}

// editPage changes what does not touch the algorithm.
func (s *Server) editPage(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	d := snap.Definition
	return s.showEdit(w, r, http.StatusOK, snap, templates.Form{Values: url.Values{"name": {d.Name}, "description": {d.Description}, "state": {string(snap.State)}}})
}

func (s *Server) showEdit(w http.ResponseWriter, r *http.Request, status int, snap *ledger.Snapshot, form templates.Form) error {
	page := templates.EditPage{Page: narrowPage(r, "Name and state"), Study: studyHead(r, snap), Form: form}
	return show(w, r, status, templates.EditView(page))
}

func (s *Server) editOnPage(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	form := newTyped(values)
	edit := changedParts(snap, form)
	if edit == (ledger.EditedData{}) {
		return goTo(w, r, "/studies/"+snap.ID)
	}
	_, err = s.studies.Edit(r.Context(), pageCommand(r, values), snap.ID, edit)
	if err == nil {
		return goTo(w, r, "/studies/"+snap.ID+"?done=edited")
	}
	general, placed := form.place(err, func(location string) string { return strings.TrimPrefix(location, "body.") })
	if !placed {
		return err
	}
	return s.showEdit(w, r, http.StatusUnprocessableEntity, snap, form.form(general))
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
