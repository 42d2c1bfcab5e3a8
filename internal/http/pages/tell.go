package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/http/request"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// Tell saves what was measured. Values that look wrong are asked back once.
func (s *Site) Tell(w http.ResponseWriter, r *http.Request) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	v := visiting(r, snap)
	return submit(w, r, func(form *typed) submission {
		telling := form.telling(snap, trial)
		var after *ledger.Snapshot
		return submission{
			do: func(cmd study.Command) (err error) {
				after, err = s.Studies.Tell(r.Context(), cmd, snap.ID, trial.Number, telling)
				return err
			},
			done:  func() error { return s.afterTelling(w, r, trial.Number, after) },
			names: formNames(snap.Definition, view.MetricField, view.SettingField),
			again: func(form templates.Form) error { return s.tellBesideOthers(w, r, form) },
			doubted: func(form templates.Form, doubts []study.Doubt) error {
				return s.tellAgain(w, r, v, trial, form, doubtful(doubts, formNames(snap.Definition, view.MetricField, view.SettingField)))
			},
		}
	})
}

// telling reads the entry form of a trial.
func (t *typed) telling(snap *ledger.Snapshot, trial *ledger.Trial) ledger.Telling {
	d := snap.Definition
	telling := ledger.Telling{Metrics: t.readings(snap, trial), Note: t.text("note")}
	if used := t.settings(d, view.SettingField, trial.Parameters); used != nil && !used.Equal(trial.Parameters) {
		telling.Parameters = used
	}
	if t.ok() && len(telling.Metrics) == 0 && telling.Parameters == nil && telling.Note == "" {
		t.fault(t.firstAsked(view.Told(d)), "type the value that was measured")
	}
	return telling
}

// readings reads what was typed of a trial's metrics.
func (t *typed) readings(snap *ledger.Snapshot, trial *ledger.Trial) map[string]ledger.Reading {
	read := map[string]ledger.Reading{}
	for i, metric := range view.Told(snap.Definition) {
		if x := t.numberLike(view.MetricField(i), likeOthers(snap, trial, metric)); x != nil {
			read[metric] = ledger.Reading{Value: *x}
		}
	}
	return read
}

// likeOthers tells whether a value is like the other readings of a metric.
func likeOthers(snap *ledger.Snapshot, trial *ledger.Trial, metric string) func(float64) bool {
	return func(x float64) bool { return snap.Likely(trial, metric, x) }
}

// firstAsked is the first of the metrics' fields that the form has.
func (t *typed) firstAsked(metrics []string) string {
	for i := range metrics {
		if t.values.Has(view.MetricField(i)) {
			return view.MetricField(i)
		}
	}
	return view.MetricField(0)
}

// settings reads a field for each parameter; nil when the form has none of them. base fills what it has not.
func (t *typed) settings(d design.Definition, field func(int) string, base design.Settings) design.Settings {
	settings, any := design.Settings{}, false
	for i, p := range d.Parameters {
		name := field(i)
		if !t.values.Has(name) {
			if value, there := base[p.Name]; there {
				settings[p.Name] = value
			}
			continue
		}
		any = true
		if kept, there := base[p.Name]; there && t.text(name) == design.FormatSetting(p, kept) {
			settings[p.Name] = kept // as it was shown, which may be rounded
			continue
		}
		if p.Type == design.Categorical && t.values.Get(name) == "" {
			t.fault(name, "choose one")
			continue
		}
		if p.Type == design.Categorical {
			settings[p.Name] = design.TextValue(t.values.Get(name))
			continue
		}
		if t.text(name) == "" {
			if p.Type != design.Remainder {
				t.fault(name, "a value is needed")
			}
			continue
		}
		var allowed func(float64) bool
		if p.Low != nil && p.High != nil {
			allowed = func(x float64) bool { return *p.Low <= x && x <= *p.High }
		}
		if x := t.numberLike(name, allowed); x != nil {
			settings[p.Name] = design.NumberValue(*x)
		}
	}
	if !any {
		return nil
	}
	return settings
}

// formNames turns the fields of faults in a telling, a correction or an own trial into the names of fields.
func formNames(d design.Definition, metric, setting func(int) string) func(string) string {
	return func(field string) string {
		if name, ok := strings.CutPrefix(field, "metrics."); ok {
			name = strings.TrimSuffix(name, ".stddev")
			if i := slices.Index(view.Told(d), name); i >= 0 {
				return metric(i)
			}
		}
		if name, ok := strings.CutPrefix(field, "parameters."); ok {
			for i, p := range d.Parameters {
				if p.Name == name {
					return setting(i)
				}
			}
		}
		if name, ok := strings.CutPrefix(field, "context."); ok {
			return "context." + name
		}
		if field == "note" || field == "reason" {
			return field
		}
		return ""
	}
}

// tellBesideOthers shows the entry form again with what is wrong, and what others saved of the trial meanwhile beside what was typed.
func (s *Site) tellBesideOthers(w http.ResponseWriter, r *http.Request, form templates.Form) error {
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	return s.tellAgain(w, r, visiting(r, snap), trial, form, templates.Doubts{})
}

// tellAgain shows the entry form again, as typed, with what is wrong or odd.
func (s *Site) tellAgain(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial, form templates.Form, doubts templates.Doubts) error {
	if first := doubts.First(); form.First == "" {
		form.First = first
	}
	entry := v.Entry(trial, form)
	entry.Doubts = doubts
	if slices.ContainsFunc(entry.Meanwhile, func(m templates.Meanwhile) bool { return m.Mine != "" }) {
		entry.Form.General = "Nothing of yours is saved yet: somebody else saved a result of this trial meanwhile."
	}
	if isPart(r) {
		return show(w, r, http.StatusUnprocessableEntity, templates.EntryForm(v.Head, trial.Number, entry))
	}
	return s.showTrial(w, r, http.StatusUnprocessableEntity, v, trial, func(page *templates.TrialPage) { page.Card.Entry = entry })
}

// afterTelling shows the study again, or lets its parts fetch themselves. after is nil when the form had been sent before.
func (s *Site) afterTelling(w http.ResponseWriter, r *http.Request, number int, after *ledger.Snapshot) error {
	w.Header().Set("X-Saved", strconv.Itoa(number))
	if isPart(r) {
		letPartsFollow(w, after)
		if !onStudyPage(r) {
			return GoTo(w, r, view.TrialURL(request.StudyID(r), number)+"?done=saved")
		}
		w.WriteHeader(http.StatusOK) // an empty answer takes the form away; the card follows with the refresh
		return nil
	}
	id := request.StudyID(r)
	return GoTo(w, r, "/studies/"+id+"?done=saved&saved="+url.QueryEscape(fmt.Sprintf("%s/%d", id, number))+"#next")
}

// onStudyPage tells whether htmx sends from the page of the study.
func onStudyPage(r *http.Request) bool {
	return strings.HasSuffix(strings.TrimSuffix(currentPath(r), "/bench"), "/studies/"+request.StudyID(r))
}

// currentPath is the path of the page that htmx sends from.
func currentPath(r *http.Request) string {
	page, err := url.Parse(r.Header.Get("HX-Current-URL"))
	if err != nil {
		return ""
	}
	return page.Path
}
