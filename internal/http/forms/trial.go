package forms

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/web/templates"
)

// Trial is the form of a trial: its settings, the values to bring with them, its results, note and
// reason.
type Trial struct {
	snap                       *ledger.Snapshot
	trial                      *ledger.Trial // whose results are told or corrected; empty for a new one
	Settings, Context, Metrics Fields
	Note, Reason               Field
}

// TrialForm returns the form of an existing trial.
func TrialForm(snap *ledger.Snapshot, trial *ledger.Trial) Trial {
	d := snap.Definition
	form := Trial{snap: snap, trial: trial, Note: Field{Input: templates.Input{Name: "note", Label: "Note"}, path: "note"}}
	form.Reason = Reason("Such as “typo” or “instrument was not calibrated”. Everybody can read it.", new(string))
	for i, p := range d.Parameters {
		form.Settings = append(form.Settings, Field{Input: view.SettingInput(view.SettingField(i), p), path: "parameters." + p.Name})
	}
	form.Context = lists.Map(view.ContextInputs(d), func(in templates.Input) Field { return Field{Input: in, path: "context." + in.Label} })
	for i, metric := range view.Told(d) {
		form.Metrics = append(form.Metrics, Field{Input: view.ResultInput(d, i, metric), path: "metrics." + metric})
	}
	return form
}

// NewTrialForm returns the form of a person's own point.
func NewTrialForm(snap *ledger.Snapshot) Trial {
	form := TrialForm(snap, &ledger.Trial{})
	for i, f := range form.Settings {
		if f.Kind == "select" {
			form.Settings[i].Options = slices.Insert(f.Options, 0, templates.Option{Label: "choose…"}) // so that nothing is chosen by default
		}
	}
	return form
}

// Holding returns the form in which some settings are given and the algorithm chooses the others.
func (form Trial) Holding() Trial {
	form.Settings = lists.Map(form.Settings, func(f Field) Field { f.path = "held" + strings.TrimPrefix(f.path, "parameters"); return f })
	return form
}

// All returns the fields in the order of the page.
func (form Trial) All() Fields {
	return slices.Concat(form.Settings, form.Context, form.Metrics, Fields{form.Note, form.Reason})
}

// Telling reads the results of a trial.
func (t *Typed) Telling(form Trial) ledger.Telling {
	telling := ledger.Telling{Metrics: t.readings(form), Parameters: t.settingsUsed(form), Note: t.Text(form.Note.Name)}
	if t.OK() && len(telling.Metrics) == 0 && telling.Parameters == nil && telling.Note == "" {
		t.Fault(form.Metrics.first(t.Values).Name, "type the value that was measured")
	}
	return telling
}

// Own reads a person's own point.
func (t *Typed) Own(form Trial) study.OwnTrial {
	return study.OwnTrial{Parameters: t.settings(form), Note: t.Text(form.Note.Name), Brought: design.Brought{Context: t.Context(form)}, Metrics: t.readings(form)}
}

// Held reads the settings that are given where the algorithm chooses the others.
func (t *Typed) Held(form Trial) study.Ask {
	held := design.Settings{}
	for i, p := range form.snap.Definition.Parameters {
		name := form.Settings[i].Name
		if t.Text(name) == "" {
			continue
		}
		if value := t.value(name, p); value != nil {
			held[p.Name] = *value
			if why := study.MovedByStep(form.snap.Compiled(), p, *value); why != "" { // the oven is at what was typed
				t.Fault(name, why)
			}
		}
	}
	if t.OK() && len(held) == 0 {
		t.Fault(form.Settings[0].Name, "fill in what is given, and leave empty what the algorithm is to choose")
	}
	for _, f := range append(form.Metrics, form.Note) {
		if t.Text(f.Name) != "" {
			t.Fault(f.Name, "belongs to a trial whose settings are all known: empty it, and add it once the trial is there")
		}
	}
	return study.Ask{Count: new(t.Whole("count", 1)), Held: held, Brought: design.Brought{Context: t.Context(form)}}
}

// Context reads the values that constraints of known form need.
func (t *Typed) Context(form Trial) map[string]float64 {
	if len(form.Context) == 0 {
		return nil
	}
	context := map[string]float64{}
	for _, f := range form.Context {
		context[f.Label] = t.required(f.Name, f.Label+" is needed")
	}
	return context
}

// FillIn fills in what is stored of a trial, except where somebody typed something.
func (form Trial) FillIn(values url.Values) url.Values {
	for _, f := range form.Metrics {
		if m, there := form.trial.Metrics[f.Label]; there {
			view.FillIn(values, f.Name, formatExact(m.Value))
		}
	}
	view.UsedInputs(form.snap.Definition, form.trial.Parameters, values)
	return values
}

// Correction reads the form that corrects a trial: what differs from what is stored is corrected,
// and an emptied result is taken back.
func (t *Typed) Correction(form Trial) study.Correction {
	trial := form.trial
	t.filledIn = form.FillIn(url.Values{})
	form.FillIn(t.Values) // keeps what others have corrected since
	c := study.Correction{Number: trial.Number, Metrics: map[string]*ledger.Reading{}}
	for _, f := range form.Metrics {
		m, there := trial.Metrics[f.Label]
		if !t.Values.Has(f.Name) {
			continue
		}
		if typed := t.Text(f.Name); !there {
			if typed != "" && view.Typed(t.Values, f.Name) {
				t.Fault(f.Name, "somebody has taken this value back meanwhile: empty the field, and enter the value on the trial’s page")
			}
		} else if typed == "" {
			c.Metrics[f.Label] = nil
		} else if reading := t.reading(form, f); reading != nil && (reading.Value != m.Value || reading.StdDev != nil) {
			reading.StdDev = cmp.Or(reading.StdDev, m.StdDev)
			c.Metrics[f.Label] = reading
		}
	}
	c.Parameters = t.settingsUsed(form)
	if t.OK() && len(c.Metrics) == 0 && c.Parameters == nil {
		t.Fault(form.Metrics.first(t.filledIn).Name, "nothing here differs from what is saved; change what is wrong")
	}
	Fields{Reason("", &c.Reason)}.Read(t)
	return c
}

// reading reads a value of a metric, perhaps with its standard deviation, as in 0.31 ± 0.02 or 0.31
// +- 0.02. An ambiguous number is read as the one that is like the metric's other readings.
func (t *Typed) reading(form Trial, metric Field) *ledger.Reading {
	t.cutUnit(metric.Unit, metric.Name)
	text, deviation, told := design.CutDeviation(t.Text(metric.Name), metric.Unit)
	if !told {
		if x := t.numberLike(metric.Name, func(x float64) bool { return form.snap.Likely(form.trial, metric.Label, x) }); x != nil {
			return &ledger.Reading{Value: *x}
		}
		return nil
	}
	value, err := design.ReadNumber(text, t.marks)
	sd, wrong := design.ReadNumber(deviation, t.marks)
	if err = cmp.Or(design.HalfReading(text, deviation), err, wrong); err != nil {
		t.Fault(metric.Name, err.Error())
		return nil
	}
	return &ledger.Reading{Value: value, StdDev: &sd}
}

func (t *Typed) readings(form Trial) map[string]ledger.Reading {
	read := map[string]ledger.Reading{}
	for _, f := range form.Metrics {
		if reading := t.reading(form, f); reading != nil {
			read[f.Label] = *reading
		}
	}
	return read
}

// settingsUsed returns the settings that were used instead of the trial's; nil if they are the
// same. A remainder that nobody changed is left out, as what the changed parts leave.
func (t *Typed) settingsUsed(form Trial) design.Settings {
	used, kept := t.settings(form), form.trial.Parameters
	if used.Equal(kept) {
		return nil
	}
	for _, p := range form.snap.Definition.Parameters {
		changed := func(part string) bool { return used[part] != kept[part] }
		if p.Type == design.Remainder && !changed(p.Name) && slices.ContainsFunc(p.Of, changed) {
			delete(used, p.Name)
		}
	}
	return used
}

// settings reads a field for each parameter; a missing one is as the trial has it. It returns nil
// if the form has none of them.
func (t *Typed) settings(form Trial) design.Settings {
	settings, some := design.Settings{}, false
	for i, p := range form.snap.Definition.Parameters {
		kept, there := form.trial.Parameters[p.Name]
		name := form.Settings[i].Name
		typed, was := t.Values.Has(name), templates.WasOf(name)
		some = some || typed
		switch {
		case there && (!typed || t.Text(name) == design.FormatSetting(p, kept) || t.Values.Has(was) && t.Text(name) == t.Text(was)):
			settings[p.Name] = kept // unchanged, though it was shown rounded or others have corrected it since
		case typed:
			if value := t.value(name, p); value != nil {
				settings[p.Name] = *value
			}
		}
	}
	if !some {
		return nil
	}
	return settings
}

// value reads a value of a parameter; nil if there is none, which only a remainder may have.
func (t *Typed) value(name string, p design.Parameter) *design.Value {
	text := t.Values.Get(name)
	switch categorical := p.Type == design.Categorical; {
	case categorical && text == "":
		t.Fault(name, "choose one")
	case categorical:
		return new(design.TextValue(text))
	case t.Text(name) != "":
		t.cutUnit(p.Unit, name)
		var allowed func(float64) bool
		if p.Low != nil && p.High != nil {
			allowed = func(x float64) bool { return *p.Low <= x && x <= *p.High }
		}
		if x := t.numberLike(name, allowed); x != nil {
			return new(design.NumberValue(*x))
		}
	case p.Type != design.Remainder:
		t.Fault(name, "a value is needed")
	}
	return nil
}
