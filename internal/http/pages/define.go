package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/view"
	"headroom/web/templates"
)

// newStudyDraft names what a browser keeps of an unfinished form; forms filled in from something else keep theirs apart.
const newStudyDraft = "new-study"

// draftOf names the draft of a form.
func draftOf(values url.Values) string {
	if name := values.Get("draft"); strings.HasPrefix(name, newStudyDraft) {
		return name
	}
	return newStudyDraft
}

// NewStudyPage is the form of a new study, blank or filled in from another study.
func (s *Site) NewStudyPage(w http.ResponseWriter, r *http.Request) error {
	values := url.Values{"objective.direction": {"maximize"}}
	setRows(values, "parameters", []formRow{{"type": "real"}, {"type": "real"}})
	setRows(values, "constraints", []formRow{{"op": "<="}})
	if from := r.URL.Query().Get("from"); from != "" {
		original, err := s.Studies.Snapshot(r.Context(), from, 0)
		if err != nil {
			return err
		}
		values = definitionValues(chosen(original))
		values.Set("name", "Copy of "+original.Definition.Name)
		values.Set("draft", newStudyDraft+"-from-"+from)
	}
	for field, answers := range map[string]bool{"template": false, "simulated": true} {
		if name := r.URL.Query().Get(field); name != "" {
			var err error
			if values, err = simulationValues(name, answers); err != nil {
				return err
			}
			values.Set("draft", newStudyDraft+"-"+field+"-"+name)
		}
	}
	values.Set("key", newKey(r))
	return showDefine(w, r, http.StatusOK, templates.DefinePage{Form: templates.Form{Values: values}})
}

// showDefine draws the form, alone when htmx asks for it.
func showDefine(w http.ResponseWriter, r *http.Request, status int, page templates.DefinePage) error {
	title := "New study"
	if page.Reconfigure {
		title = "Change limits or algorithm"
	}
	page.Page = newPage(r, title)
	page.Width = "medium"
	page.Key = page.Form.Value("key")
	fillDefine(&page)
	if isPart(r) {
		return show(w, r, status, templates.DefineForm(page))
	}
	return show(w, r, status, templates.DefineView(page))
}

// fillDefine works out what the form looks like from what it holds.
func fillDefine(page *templates.DefinePage) {
	values := url.Values(page.Form.Values)
	for _, row := range rowsOf(values, "parameters") {
		page.Parameters = append(page.Parameters, row["type"])
	}
	page.Scales = scalesOf(values)
	for _, row := range rowsOf(values, "constraints") {
		kind := "learned"
		if row["expression"] != "" || row["sampled"] != "" {
			kind = "known"
		}
		page.Constraints = append(page.Constraints, kind)
	}
	page.Recorded = len(rowsOf(values, "recorded_metrics"))
	page.Draft = draftOf(values)
	if problem := values.Get("lab"); problem != "" {
		page.Labs = []templates.Option{{Value: "", Label: "a laboratory"}, {Value: problem, Label: "a simulated lab: " + problem}}
	}
	for _, a := range optimizer.Algorithms() {
		page.Algorithms = append(page.Algorithms, templates.Option{Value: a.Name, Label: a.Title})
	}
	chosen := view.Algorithm(values.Get("algorithm.name"))
	page.Summary, page.Source = chosen.Summary, chosen.Source
	page.Settings = settingGroups(chosen, values)
	if !page.Reconfigure {
		fillWay(page, values)
	}
	if !page.Reconfigure {
		page.Kernels = []templates.Option{{Value: "", Label: "as suits the parameters"}}
	}
	for _, kernel := range []string{"matern52", "mixed", "anova", "matern32", "matern12", "se", "linear"} {
		page.Kernels = append(page.Kernels, templates.Option{Value: kernel, Label: kernel})
	}
	if kernel := values.Get("model.kernel"); !slices.ContainsFunc(page.Kernels, func(o templates.Option) bool { return o.Value == kernel }) {
		page.Kernels = append(page.Kernels, templates.Option{Value: kernel, Label: "as it is"})
	}
	page.Advanced = page.Advanced || page.Reconfigure || advancedFault(page.Form)
}

func advancedFault(form templates.Form) bool {
	for name := range form.Errors {
		for _, prefix := range []string{"algorithm.", "settings.", "model.", "seed", "input_constraints"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
	}
	return false
}

// formFields are the names of all fields that the form has.
func formFields(form templates.Form) map[string]bool {
	fields := map[string]bool{}
	for name := range form.Values {
		fields[name] = true
	}
	for _, f := range studyFields(&design.Definition{Stop: &design.Stop{}}) {
		fields[f.name] = true
	}
	for _, name := range []string{"candidates", "seed", "reason"} {
		fields[name] = true
	}
	for _, group := range settingGroups(view.Algorithm(form.Value("algorithm.name")), form.Values) {
		for _, in := range group.Inputs {
			fields[in.Name] = true
		}
	}
	return fields
}

// MakeStudy makes a study of the form, or does to the form what a button beside its lines asks.
func (s *Site) MakeStudy(w http.ResponseWriter, r *http.Request) error {
	return submit(w, r, func(form *typed) submission {
		pressed, before := form.pressed(), form.values.Get("algorithm.name")
		takeWay(form.values)
		if rearrange(form.values, pressed) {
			page := templates.DefinePage{Form: form.shown(), Advanced: pressed == "refresh" && form.values.Get("algorithm.drawn") != before}
			return submission{done: func() error { return showDefine(w, r, http.StatusOK, page) }}
		}
		dropBlank(form.values)
		d := form.definition()
		names := defineNames(formFields(form.shown()))
		if _, err := d.Check(); !form.ok() {
			form.place(err, names) // so that everything that is wrong is said at once
		}
		var made string
		return submission{
			do: func(cmd study.Command) error {
				after, err := s.Studies.Create(r.Context(), cmd, d)
				made = madeAt(after, err, "?done=made&saved="+url.QueryEscape(draftOf(form.values)))
				return err
			},
			done:  func() error { return GoTo(w, r, made) },
			names: names,
			again: func(form templates.Form) error {
				return showDefine(w, r, http.StatusUnprocessableEntity, templates.DefinePage{Form: form})
			},
		}
	})
}

// candidatesText is the candidates as they could have been pasted.
func candidatesText(d design.Definition) string {
	if len(d.Candidates) == 0 {
		return ""
	}
	var text strings.Builder
	for i, p := range d.Parameters {
		if i > 0 {
			text.WriteByte('\t')
		}
		text.WriteString(p.Name)
	}
	for _, candidate := range d.Candidates {
		for i, p := range d.Parameters {
			text.WriteByte("\n\t"[min(i, 1)])
			text.WriteString(candidate[p.Name].String())
		}
	}
	return text.String()
}
