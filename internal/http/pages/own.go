package pages

import (
	"net/http"
	"net/url"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// OwnPage is a form for a person's own point.
func (s *Site) OwnPage(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	return s.showOwn(w, r, http.StatusOK, visiting(r, snap), templates.Form{Values: map[string][]string{}})
}

func (s *Site) showOwn(w http.ResponseWriter, r *http.Request, status int, v visit, form templates.Form) error {
	d := v.snap.Definition
	page := templates.OwnPage{Page: newPage(r, "My own point"), Study: v.head, Form: form, Key: form.Value("key"), Context: contextInputs(d)}
	page.Width = "medium"
	if page.Key == "" {
		page.Key = newKey()
	}
	for i, p := range d.Parameters {
		page.Settings = append(page.Settings, settingInput(settingField(i), p))
	}
	for i, metric := range told(d) {
		in := templates.Input{Name: metricField(i), Label: metric, Unit: unitOf(d, metric), Kind: "number"}
		for _, c := range d.Constraints {
			if c.Metric == metric {
				in.Help = strings.TrimPrefix(in.Help+", "+limitLine(c), ", ")
			}
		}
		page.Metrics = append(page.Metrics, in)
	}
	return show(w, r, status, templates.OwnView(page))
}

// AddOwn makes a person's own point a trial.
func (s *Site) AddOwn(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	return submit(w, r, func(form *typed) submission {
		own := form.own(snap.Definition)
		return submission{
			do: func(cmd study.Command) error {
				_, _, err := s.Studies.AddTrial(r.Context(), cmd, snap.ID, own)
				return err
			},
			to:    "/studies/" + snap.ID + "?done=own&saved=" + url.QueryEscape(snap.ID+"/own") + "#next",
			names: formNames(snap.Definition, metricField, settingField),
			again: func(form templates.Form) error {
				return s.showOwn(w, r, http.StatusUnprocessableEntity, visiting(r, snap), form)
			},
		}
	})
}

func (t *typed) own(d design.Definition) study.OwnTrial {
	own := study.OwnTrial{Parameters: t.settings(d, settingField, nil), Note: t.text("note"), Brought: design.Brought{Context: t.context(d)}, Metrics: map[string]ledger.Reading{}}
	for i, metric := range told(d) {
		if x := t.number(metricField(i)); x != nil {
			own.Metrics[metric] = ledger.Reading{Value: *x}
		}
	}
	return own
}
