package pages

import (
	"crypto/sha256"
	"encoding/hex"
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
func (s *Site) Tell(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial, form *typed) submission {
	telling, names := form.telling(v.Snap, trial), formNames(v.Snap.Definition)
	var after *ledger.Snapshot
	return submission{
		do: func(cmd study.Command) (err error) {
			after, err = s.Studies.Tell(r.Context(), cmd, v.Snap.ID, trial.Number, telling)
			return err
		},
		done:  func() error { return s.afterTelling(w, r, trial.Number, after) },
		names: names,
		again: func(form templates.Form) error { // beside what others saved of the trial meanwhile
			return s.OfTrial(func(w http.ResponseWriter, r *http.Request, v view.Facts, trial *ledger.Trial) error {
				return s.tellAgain(w, r, v, trial, form, templates.Doubts{})
			})(w, r)
		},
		doubted: func(form templates.Form, doubts []study.Doubt) error {
			return s.tellAgain(w, r, v, trial, form, doubtful(doubts, names))
		},
	}
}

// telling reads the entry form of a trial.
func (t *typed) telling(snap *ledger.Snapshot, trial *ledger.Trial) ledger.Telling {
	d := snap.Definition
	telling := ledger.Telling{Metrics: t.readings(snap, trial), Note: t.text("note")}
	if used := t.settings(d, trial.Parameters); used != nil && !used.Equal(trial.Parameters) {
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

// settings reads a field for each parameter; nil when the form has none of them. base fills what it
// has not.
func (t *typed) settings(d design.Definition, base design.Settings) design.Settings {
	settings, any := design.Settings{}, false
	for i, p := range d.Parameters {
		name := view.SettingField(i)
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

// formNames turns the fields of faults in a telling, a correction or an own trial into the names of
// fields.
func formNames(d design.Definition) func(string) string {
	return func(field string) string {
		if name, ok := strings.CutPrefix(field, "metrics."); ok {
			name = strings.TrimSuffix(name, ".stddev")
			if i := slices.Index(view.Told(d), name); i >= 0 {
				return view.MetricField(i)
			}
		}
		if name, ok := strings.CutPrefix(field, "parameters."); ok {
			for i, p := range d.Parameters {
				if p.Name == name {
					return view.SettingField(i)
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

// afterTelling shows the study again, or lets its parts fetch themselves. after is nil when the
// form had been sent before.
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

// Ask asks for the next trials.
func (s *Site) Ask(w http.ResponseWriter, r *http.Request, v view.Facts, form *typed) submission {
	ask := study.Ask{Count: new(form.whole("count", 1)), Brought: design.Brought{Context: form.context(v.Snap.Definition)}}
	return submission{
		do: func(cmd study.Command) error {
			_, _, err := s.Studies.Ask(r.Context(), cmd, v.Snap.ID, ask)
			return err
		},
		done:  func() error { return s.afterAsking(w, r) },
		names: nowhere,
		again: func(shown templates.Form) error {
			for _, name := range form.order { // the form has no room beside its fields
				shown.General = strings.TrimPrefix(shown.General+"; "+form.faults[name], "; ")
			}
			return s.askAgain(w, r, v, shown)
		},
	}
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
	return s.Of(func(w http.ResponseWriter, r *http.Request, v view.Facts) error {
		letPartsFollow(w, v.Snap)
		return show(w, r, http.StatusOK, templates.NextSection(v.Next()))
	})(w, r)
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

// OwnPage is a form for a person's own point.
func (s *Site) OwnPage(w http.ResponseWriter, r *http.Request, v view.Facts) error {
	return s.showOwn(w, r, http.StatusOK, v, templates.Form{Values: map[string][]string{}}, nil)
}

func (s *Site) showOwn(w http.ResponseWriter, r *http.Request, status int, v view.Facts, form templates.Form, change func(*templates.OwnPage)) error {
	d := v.Snap.Definition
	page := templates.OwnPage{Page: newPage(r, "My own point", "medium"), Study: v.Head, Form: form, Key: form.Value("key"), Context: view.ContextInputs(d)}
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
func (s *Site) AddOwn(w http.ResponseWriter, r *http.Request, v view.Facts, form *typed) submission {
	names := formNames(v.Snap.Definition)
	own := form.own(v.Snap)
	asked := submission{
		do: func(cmd study.Command) error {
			_, _, err := s.Studies.AddTrial(r.Context(), cmd, v.Snap.ID, own)
			return err
		},
		to:    "/studies/" + v.Snap.ID + "?done=own&saved=" + url.QueryEscape(v.Snap.ID+"/own") + "#next",
		names: names,
		again: func(form templates.Form) error {
			return s.showOwn(w, r, http.StatusUnprocessableEntity, v, form, nil)
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
}

// showForecast shows the form again with what is expected of the point, and what is odd about it.
func (s *Site) showForecast(w http.ResponseWriter, r *http.Request, status int, form *typed, own study.OwnTrial) error {
	who, _ := request.Caller(r)
	snap, forecast, err := s.Studies.Forecast(r.Context(), study.Command{By: who.By()}, request.StudyID(r), own)
	if snap == nil {
		return err
	}
	names := formNames(snap.Definition)
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
		Parameters: t.settings(d, nil), Note: t.text("note"), Brought: design.Brought{Context: t.context(d)}, Metrics: t.readings(snap, &ledger.Trial{}),
	}
}

// doubtful is what a form shows of doubts; names turns their fields into the form's.
func doubtful(doubts []study.Doubt, names func(field string) string) templates.Doubts {
	shown := templates.Doubts{Sure: study.Doubted(doubts)}
	for _, d := range doubts {
		shown.List = append(shown.List, templates.Doubt{Field: names(d.Field), Text: d.Text})
	}
	return shown
}

// asShown names what a form said when its preview was made, and what else the preview was made
// from: what is carried out later must be the same.
func (t *typed) asShown(from string) string {
	said := strings.ReplaceAll(withoutButtons(t.values).Encode(), "%0D%0A", "%0A") // browsers end lines in their own way
	sum := sha256.Sum256([]byte(from + "\x00" + said))
	return hex.EncodeToString(sum[:12])
}
