package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// OwnPage is a form for a person's own point.
func (s *Site) OwnPage(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	return s.showOwn(w, r, http.StatusOK, visiting(r, snap), templates.Form{Values: map[string][]string{}}, nil)
}

func (s *Site) showOwn(w http.ResponseWriter, r *http.Request, status int, v view.Facts, form templates.Form, change func(*templates.OwnPage)) error {
	d := v.Snap.Definition
	page := templates.OwnPage{Page: newPage(r, "My own point"), Study: v.Head, Form: form, Key: form.Value("key"), Context: view.ContextInputs(d)}
	page.Width = "medium"
	if page.Key == "" {
		page.Key = newKey(r)
	}
	for i, p := range d.Parameters {
		in := view.SettingInput(view.SettingField(i), p)
		if in.Kind == "select" {
			in.Options = slices.Insert(in.Options, 0, templates.Option{Label: "choose…"}) // nobody's choice is made for them
		}
		page.Settings = append(page.Settings, in)
	}
	for i, metric := range view.Told(d) {
		in := templates.Input{Name: view.MetricField(i), Label: metric, Unit: view.UnitOf(d, metric), Kind: "number"}
		for _, c := range d.Constraints {
			if c.Metric == metric {
				in.Help = strings.TrimPrefix(in.Help+", "+view.LimitLine(c), ", ")
			}
		}
		page.Metrics = append(page.Metrics, in)
	}
	if change != nil {
		change(&page)
	}
	return show(w, r, status, templates.OwnView(page))
}

// AddOwn makes a person's own point a trial, once what is expected of it was seen.
func (s *Site) AddOwn(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	names := formNames(snap.Definition, view.MetricField, view.SettingField)
	return submit(w, r, func(form *typed) submission {
		own := form.own(snap)
		asked := submission{
			do: func(cmd study.Command) error {
				_, _, err := s.Studies.AddTrial(r.Context(), cmd, snap.ID, own)
				return err
			},
			to:    "/studies/" + snap.ID + "?done=own&saved=" + url.QueryEscape(snap.ID+"/own") + "#next",
			names: names,
			again: func(form templates.Form) error {
				return s.showOwn(w, r, http.StatusUnprocessableEntity, visiting(r, snap), form, nil)
			},
		}
		expect := func(status int) error { return s.showForecast(w, r, status, form, own) }
		asked.doubted = func(templates.Form, []study.Doubt) error { return expect(http.StatusUnprocessableEntity) }
		switch seen := form.text("shown"); {
		case form.pressed() == "forecast":
			asked.do, asked.done = nil, func() error { return expect(http.StatusOK) }
		case seen != "" && seen != form.asShown(""):
			asked.do, asked.done = nil, func() error { return expect(http.StatusUnprocessableEntity) }
		}
		return asked
	})
}

// showForecast shows the form again with what is expected of the point, and what is odd about it.
func (s *Site) showForecast(w http.ResponseWriter, r *http.Request, status int, form *typed, own study.OwnTrial) error {
	who, _ := request.Caller(r)
	snap, forecast, err := s.Studies.Forecast(r.Context(), study.Command{By: who.By()}, request.StudyID(r), own)
	if snap == nil {
		return err
	}
	names := formNames(snap.Definition, view.MetricField, view.SettingField)
	if err != nil {
		if !form.place(err, names) {
			return err
		}
		return s.showOwn(w, r, http.StatusUnprocessableEntity, visiting(r, snap), form.shown(), nil)
	}
	return s.showOwn(w, r, status, visiting(r, snap), form.shown(), func(page *templates.OwnPage) {
		page.Doubts = doubtful(study.DoubtOwn(snap, own, forecast), names)
		page.Forecast = view.ForecastOf(snap, forecast, knownAt(snap, own))
		page.Forecast.Shown = form.asShown("")
	})
}

// knownAt are the limits' metrics that need no model, at a person's own point, by the limit's name.
func knownAt(snap *ledger.Snapshot, own study.OwnTrial) map[string]float64 {
	settings, place, faults := snap.Compiled().Place(own.Parameters, "parameters")
	if len(faults) > 0 {
		return nil
	}
	values, _ := snap.Compiled().KnownAt(settings, place, own.Brought)
	return values
}

func (t *typed) own(snap *ledger.Snapshot) study.OwnTrial {
	d := snap.Definition
	return study.OwnTrial{
		Parameters: t.settings(d, view.SettingField, nil), Note: t.text("note"), Brought: design.Brought{Context: t.context(d)}, Metrics: t.readings(snap, &ledger.Trial{}),
	}
}
