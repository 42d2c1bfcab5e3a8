package pages

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"headroom/internal/http/forms"
	"headroom/internal/http/problem"
	"headroom/internal/http/request"
	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

const studiesOnPage = 100

// StudiesPage lists the studies that the caller may see.
func (s *Site) StudiesPage(w http.ResponseWriter, r *http.Request) error {
	wanted, err := request.Parse(r, func(q *request.Query) study.Listing {
		return study.Listing{Only: request.Studies(r), Find: q.Text("find"), After: q.Mark("after"), Limit: studiesOnPage}
	})
	if err != nil {
		return err
	}
	page := templates.StudiesPage{Page: newPage(r, "Studies", "medium"), Archived: r.URL.Query().Get("archived") == "yes", Find: wanted.Find, Later: wanted.After != nil}
	if !page.Archived {
		wanted.States = []ledger.State{ledger.Open, ledger.Paused, ledger.Finished}
		hidden, _, err := s.Studies.Summaries(r.Context(), study.Listing{Only: wanted.Only, Find: wanted.Find, States: []ledger.State{ledger.Archived}, Limit: 1})
		if err != nil {
			return err
		}
		page.Hides = len(hidden) > 0
	}
	list, next, err := s.Studies.Summaries(r.Context(), wanted)
	if err != nil {
		return err
	}
	if next != nil {
		page.Next = next.String()
	}
	page.Lines = lists.Map(list, func(one ledger.Summary) templates.StudyLine { return view.Line(one, page.Now) })
	if page.Viewer.MayCreateStudies() {
		page.Start = templates.Start{Key: newKey(r), Examples: examples, Problems: lists.Map(design.SimulatedLabs(), func(lab design.SimulatedLab) templates.Option {
			return templates.Option{Value: lab.Name(), Label: lab.Name() + ": " + lab.Summary()}
		})}
	}
	return show(w, r, http.StatusOK, templates.StudiesView(page))
}

var examples = []templates.Example{
	{Problem: "reaction", Title: "Reaction", Text: "Yield as high as possible by temperature, time and catalyst, with a limit on an impurity."},
	{Problem: "formulation", Title: "Formulation", Text: "A mixture of four parts that adds up to 100 %, as stable as possible, with a limit on its viscosity."},
	{Problem: "machine", Title: "Machine settings", Text: "Parts per hour by speed, feed and coolant, with a limit on the temperature of the tool."},
}

// simulationValues fills in the form of a new study from a problem of the simulator; answers says
// whether the simulated lab measures, too.
func simulationValues(name string, answers bool) (url.Values, error) {
	lab, err := design.FindSimulatedLab(name)
	if err != nil {
		return nil, problem.InQuery(design.NewInvalid("template", err.Error(), name))
	}
	d := lab.Study()
	if !answers {
		d.SimulatedLab = ""
	}
	values := forms.Showing(d)
	values.Set("lab", name)
	return values, nil
}

// MakeDemo makes the demo study and lets its simulated lab fill it, also if whoever pressed leaves
// meanwhile.
func (s *Site) MakeDemo(w http.ResponseWriter, r *http.Request, _ *forms.Typed) submission {
	var made string
	ctx := context.WithoutCancel(r.Context())
	return submission{
		do: func(cmd study.Command) error {
			d, err := study.Demo()
			if err != nil {
				return err
			}
			after, err := s.Studies.Create(ctx, cmd, d)
			if made = madeStudyURL(after, err, "?done=demo"); err != nil {
				return err
			}
			err = s.Studies.Simulate(ctx, cmd, after.ID, study.DemoTrials, study.DemoMishaps...)
			if errors.Is(err, study.ErrConflict) { // all simulated labs are busy: the study's page has a button for later
				made, err = madeStudyURL(after, nil, "?done=made"), nil
			}
			return err
		},
		done: func() error { return GoTo(w, r, made) },
	}
}

// Simulate lets the study's simulated lab run some trials, or stops it.
func (s *Site) Simulate(w http.ResponseWriter, r *http.Request, v view.Facts, form *forms.Typed) submission {
	show := func(again templates.Form) error {
		if !isHTMX(r) {
			if again.Faulty() {
				return s.showStudy(w, r, http.StatusUnprocessableEntity, v, func(page *templates.StudyPage) { page.Error = again.General })
			}
			return GoTo(w, r, v.Head.URL("#lab"))
		}
		if err := s.load(r.Context(), &v, labRun); err != nil {
			return err
		}
		panel := v.Lab()
		panel.Fault = again.General
		return show(w, r, http.StatusOK, templates.LabPanel(panel))
	}
	return submission{
		do: func(cmd study.Command) error {
			if form.Pressed() == "stop" {
				s.Studies.StopSimulating(v.Snap.ID)
				return nil
			}
			return s.Studies.Simulate(r.Context(), cmd, v.Snap.ID, view.SimulatedAtOnce(v.Snap.Definition))
		},
		done:  func() error { return show(templates.Form{}) },
		again: show,
	}
}
