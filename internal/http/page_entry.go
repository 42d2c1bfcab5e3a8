package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// trialNow is the study and the trial that the path names.
func (s *Server) trialNow(r *http.Request) (*ledger.Snapshot, *ledger.Trial, error) {
	snap, err := s.studyNow(r)
	if err != nil {
		return nil, nil, err
	}
	n, err := strconv.Atoi(chi.URLParam(r, "number"))
	if err != nil || snap.Trial(n) == nil {
		return nil, nil, errNoSuchThing
	}
	return snap, snap.Trial(n), nil
}

// askOnPage asks for the next trials.
func (s *Server) askOnPage(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	form := newTyped(values)
	ask := study.Ask{Count: form.whole("count", 1), Context: form.context(snap.Definition)}
	if form.ok() {
		_, _, err = s.studies.Ask(r.Context(), pageCommand(r, values), snap.ID, ask)
		if _, twice := answeredBefore(err); twice || err == nil {
			return s.afterAsking(w, r)
		}
	}
	general, placed := form.place(err, func(string) string { return "" })
	if !placed {
		return err
	}
	for _, name := range form.order {
		general = strings.TrimPrefix(general+"; "+form.faults[name], "; ")
	}
	v := look(r, snap)
	change := func(next *templates.Next) { next.Ask = form.form(general) }
	if isPart(r) {
		next := v.next()
		change(&next)
		return show(w, r, http.StatusUnprocessableEntity, templates.NextSection(next))
	}
	return s.showStudy(w, r, http.StatusUnprocessableEntity, v, func(page *templates.StudyPage) { change(&page.Next) })
}

func (s *Server) afterAsking(w http.ResponseWriter, r *http.Request) error {
	if !isPart(r) {
		return goTo(w, r, "/studies/"+chi.URLParam(r, "id")+"?done=asked#next")
	}
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	w.Header().Set("HX-Trigger", "changed")
	return show(w, r, http.StatusOK, templates.NextSection(look(r, snap).next()))
}

// context reads the values that limits of known form need.
func (t *typed) context(d design.Definition) map[string]float64 {
	var context map[string]float64
	for _, in := range contextInputs(d) {
		value := t.required(in.Name, in.Label+" is needed")
		if context == nil {
			context = map[string]float64{}
		}
		context[in.Label] = value
	}
	return context
}

// tellOnPage saves what was measured. Values that look wrong are asked back once.
func (s *Server) tellOnPage(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	v, form := look(r, snap), newTyped(values)
	telling := form.telling(snap.Definition, trial)
	if form.ok() && values.Get("sure") == "" {
		if doubts := v.doubts(plainValues(telling.Metrics)); len(doubts) > 0 {
			return s.tellAgain(w, r, v, trial, form.form(""), doubts)
		}
	}
	if form.ok() {
		_, err = s.studies.Tell(r.Context(), pageCommand(r, withoutSure(values)), snap.ID, []study.Telling{telling})
		if _, twice := answeredBefore(err); twice || err == nil {
			return s.afterTelling(w, r, trial.Number)
		}
	}
	general, placed := form.place(err, formNames(snap.Definition, metricField, settingField))
	if !placed {
		return err
	}
	return s.tellAgain(w, r, v, trial, form.form(general), nil)
}

// withoutSure keeps a saving that was asked back the same request as one that was not.
func withoutSure(values url.Values) url.Values {
	rest := url.Values{}
	for name, list := range values {
		if name != "sure" {
			rest[name] = list
		}
	}
	return rest
}

func plainValues(readings map[string]ledger.Reading) map[string]float64 {
	values := make(map[string]float64, len(readings))
	for metric, reading := range readings {
		values[metric] = reading.Value
	}
	return values
}

// telling reads the entry form of a trial.
func (t *typed) telling(d design.Definition, trial *ledger.Trial) study.Telling {
	telling := study.Telling{Number: trial.Number, Metrics: map[string]ledger.Reading{}, Note: t.text("note")}
	metrics := told(d)
	for i, metric := range metrics {
		if x := t.number(metricField(i)); x != nil {
			telling.Metrics[metric] = ledger.Reading{Value: *x}
		}
	}
	if used := t.settings(d, settingField, trial.Parameters); used != nil && !used.Equal(trial.Parameters) {
		telling.Parameters = used
	}
	if t.ok() && len(telling.Metrics) == 0 && telling.Parameters == nil && telling.Note == "" {
		t.fault(t.firstAsked(metrics), "type the value that was measured")
	}
	return telling
}

// firstAsked is the first of the metrics' fields that the form has.
func (t *typed) firstAsked(metrics []string) string {
	for i := range metrics {
		if t.values.Has(metricField(i)) {
			return metricField(i)
		}
	}
	return metricField(0)
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
		if x := t.number(name); x != nil {
			settings[p.Name] = design.NumberValue(*x)
		}
	}
	if !any {
		return nil
	}
	return settings
}

// formNames turns locations of faults in a telling, a correction or an own trial into the names of fields.
func formNames(d design.Definition, metric, setting func(int) string) func(string) string {
	return func(location string) string {
		location = strings.TrimPrefix(location, "body.")
		if name, ok := strings.CutPrefix(location, "metrics."); ok {
			name = strings.TrimSuffix(name, ".stddev")
			if i := slices.Index(told(d), name); i >= 0 {
				return metric(i)
			}
		}
		if name, ok := strings.CutPrefix(location, "parameters."); ok {
			for i, p := range d.Parameters {
				if p.Name == name {
					return setting(i)
				}
			}
		}
		if name, ok := strings.CutPrefix(location, "context."); ok {
			return "context." + name
		}
		if location == "note" || location == "reason" {
			return location
		}
		return ""
	}
}

// tellAgain shows the entry form again, as typed, with what is wrong or odd.
func (s *Server) tellAgain(w http.ResponseWriter, r *http.Request, v sight, trial *ledger.Trial, form templates.Form, doubts []templates.Doubt) error {
	entry := v.entry(trial, form)
	entry.Doubts = doubts
	if isPart(r) {
		return show(w, r, http.StatusUnprocessableEntity, templates.EntryForm(v.head, trial.Number, entry))
	}
	return s.showTrial(w, r, http.StatusUnprocessableEntity, v, trial, func(page *templates.TrialPage) { page.Card.Entry = entry })
}

// afterTelling shows the study again, or lets its parts fetch themselves.
func (s *Server) afterTelling(w http.ResponseWriter, r *http.Request, number int) error {
	w.Header().Set("X-Saved", strconv.Itoa(number))
	if isPart(r) {
		w.Header().Set("HX-Trigger", "changed")
		if !strings.HasSuffix(currentPath(r), "/studies/"+chi.URLParam(r, "id")) {
			return goTo(w, r, trialURL(chi.URLParam(r, "id"), number)+"?done=saved")
		}
		w.WriteHeader(http.StatusOK) // an empty answer takes the form away; the card follows with the refresh
		return nil
	}
	id := chi.URLParam(r, "id")
	return goTo(w, r, "/studies/"+id+"?done=saved&saved="+url.QueryEscape(fmt.Sprintf("%s/%d", id, number))+"#next")
}

// currentPath is the path of the page that htmx sends from.
func currentPath(r *http.Request) string {
	page, err := url.Parse(r.Header.Get("HX-Current-URL"))
	if err != nil {
		return ""
	}
	return page.Path
}

// closeOnPage ends a trial or sets it aside.
func (s *Server) closeOnPage(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	kind := ledger.Kind(values.Get("kind"))
	if !slices.Contains([]ledger.Kind{ledger.Failed, ledger.Abandoned, ledger.Excluded, ledger.Included}, kind) {
		return malformed("body.kind", "The form must say whether the trial failed, was not run, is excluded or included.")
	}
	_, err = s.studies.Close(r.Context(), pageCommand(r, values), snap.ID, kind, trial.Number, strings.TrimSpace(values.Get("reason")))
	if err != nil {
		if _, twice := answeredBefore(err); !twice {
			return err
		}
	}
	return goTo(w, r, trialURL(snap.ID, trial.Number)+"?done=closed")
}

// replicateOnPage asks for the same settings again.
func (s *Server) replicateOnPage(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	snap, trial, err := s.trialNow(r)
	if err != nil {
		return err
	}
	_, _, err = s.studies.Replicate(r.Context(), pageCommand(r, values), snap.ID, trial.Number)
	if err != nil {
		if _, twice := answeredBefore(err); !twice {
			return err
		}
	}
	return goTo(w, r, "/studies/"+snap.ID+"?done=replicated#next")
}

// ownPage is a form for a person's own point.
func (s *Server) ownPage(w http.ResponseWriter, r *http.Request) error {
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	return s.showOwn(w, r, http.StatusOK, look(r, snap), templates.Form{Values: map[string][]string{}})
}

func (s *Server) showOwn(w http.ResponseWriter, r *http.Request, status int, v sight, form templates.Form) error {
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

// addOwn makes a person's own point a trial.
func (s *Server) addOwn(w http.ResponseWriter, r *http.Request) error {
	values, err := readForm(r)
	if err != nil {
		return err
	}
	snap, err := s.studyNow(r)
	if err != nil {
		return err
	}
	form := newTyped(values)
	own := form.own(snap.Definition)
	if form.ok() {
		_, _, err = s.studies.AddTrial(r.Context(), pageCommand(r, values), snap.ID, own)
		if _, twice := answeredBefore(err); twice || err == nil {
			return goTo(w, r, "/studies/"+snap.ID+"?done=own&saved="+url.QueryEscape(snap.ID+"/own")+"#next")
		}
	}
	general, placed := form.place(err, formNames(snap.Definition, metricField, settingField))
	if !placed {
		return err
	}
	return s.showOwn(w, r, http.StatusUnprocessableEntity, look(r, snap), form.form(general))
}

func (t *typed) own(d design.Definition) study.OwnTrial {
	own := study.OwnTrial{Parameters: t.settings(d, settingField, nil), Note: t.text("note"), Context: t.context(d), Metrics: map[string]ledger.Reading{}}
	for i, metric := range told(d) {
		if x := t.number(metricField(i)); x != nil {
			own.Metrics[metric] = ledger.Reading{Value: *x}
		}
	}
	return own
}
