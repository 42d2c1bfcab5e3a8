package pages

import (
	"net/http"
	"strings"

	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/view"
	"headroom/web/templates"
)

// Ask asks for the next trials.
func (s *Site) Ask(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(form *typed) submission {
		ask := study.Ask{Count: new(form.whole("count", 1)), Brought: design.Brought{Context: form.context(snap.Definition)}}
		return submission{
			do: func(cmd study.Command) error {
				_, _, err := s.Studies.Ask(r.Context(), cmd, snap.ID, ask)
				return err
			},
			done:  func() error { return s.afterAsking(w, r) },
			names: nowhere,
			again: func(shown templates.Form) error {
				for _, name := range form.order { // the form has no room beside its fields
					shown.General = strings.TrimPrefix(shown.General+"; "+form.faults[name], "; ")
				}
				return s.askAgain(w, r, visiting(r, snap), shown)
			},
		}
	})
}

// askAgain shows the form again, with what is wrong.
func (s *Site) askAgain(w http.ResponseWriter, r *http.Request, v view.Facts, form templates.Form) error {
	next := v.Next()
	next.Ask = form
	if isPart(r) {
		return show(w, r, http.StatusUnprocessableEntity, templates.NextSection(next))
	}
	return s.showStudy(w, r, http.StatusUnprocessableEntity, v, func(page *templates.StudyPage) { page.Next = next })
}

func (s *Site) afterAsking(w http.ResponseWriter, r *http.Request) error {
	if !isPart(r) {
		return GoTo(w, r, "/studies/"+request.StudyID(r)+"?done=asked#next")
	}
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	letPartsFollow(w, snap)
	return show(w, r, http.StatusOK, templates.NextSection(visiting(r, snap).Next()))
}

// context reads the values that limits of known form need.
func (t *typed) context(d design.Definition) map[string]float64 {
	var context map[string]float64
	for _, in := range view.ContextInputs(d) {
		value := t.required(in.Name, in.Label+" is needed")
		if context == nil {
			context = map[string]float64{}
		}
		context[in.Label] = value
	}
	return context
}
