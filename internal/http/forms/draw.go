package forms

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"headroom/internal/study/design"
	"headroom/internal/view"
	"headroom/web/templates"
)

// DrawNew works out what the form of a new study looks like from what it holds.
func DrawNew(page *templates.DefinePage) {
	values := page.Form.Values
	lines := numbered(values, rows.numbers)
	d := shaped(values, lines)
	table{d: &d, values: values, lines: lines}.draw(page)
	page.Draft = Draft(values)
	fillWay(page, values)
}

// DrawChanges does so for the form of changes to a study. What cannot be changed is shown from the
// study, whatever was sent.
func DrawChanges(page *templates.DefinePage, there design.Definition) {
	values := maps.Clone(page.Form.Values)
	b := table{d: &there, values: values, changes: true}
	for _, f := range b.form().all() {
		if f.fixed {
			values.Set(f.Name, f.show())
		}
	}
	page.Form.Values, page.Reconfigure, page.Advanced, page.Draft = values, true, true, values.Get(draftField)
	b.draw(page)
}

func (b table) draw(page *templates.DefinePage) {
	form, values := b.form(), b.values
	read := Of(cloned(values), design.Marks{Decimal: '.'})
	said, _ := read.definition(read.combinations(), numbered(values, rows.numbers))
	page.About, page.Stop, page.Algorithm, page.Model = form.about.Inputs(), form.stop.Inputs(), form.algorithm.Inputs(), form.model.Inputs()
	page.Candidates, page.Rules, page.Reason = form.candidates.Input, form.rules.Input, form.reason.Input
	if len(form.lab.Options) > 0 {
		page.Lab = Fields{form.lab}.Inputs()
	}
	page.Objective = form.objective.line("", 0, "w6", labelOf(directions, said.Objective.Direction), said.Objective.Metric)
	for i, fields := range form.parameters {
		p := said.Parameters[i]
		line := fields.line(parameters, b.number(parameters, i), "w3", labelOf(types, string(p.Type)), p.Name)
		line.Scale = scaleOf(said, p)
		page.Parameters = append(page.Parameters, line)
	}
	for i, fields := range form.constraints {
		c := said.Constraints[i]
		kind := labelOf(operators, c.Op)
		if c.Name != "" && c.Name != c.Metric {
			kind = c.Metric + " " + kind
		}
		page.Constraints = append(page.Constraints, fields.line(constraints, b.number(constraints, i), "w4", kind, cmp.Or(c.Name, c.Metric)))
	}
	for i, fields := range form.recorded {
		page.Recorded = append(page.Recorded, fields.line(recorded, b.number(recorded, i), "w6", "", said.RecordedMetrics[i].Metric))
	}
	algorithm := view.Algorithm(values.Get(algorithmField))
	page.Chosen = templates.Option{Value: algorithm.Name, Label: algorithm.Title}
	page.Summary, page.Source, page.Settings = algorithm.Advice(), algorithm.Source, settingGroups(algorithm, values)
	for _, group := range page.Settings {
		page.Advanced = page.Advanced || page.Form.AnyFault(group.Inputs)
	}
	page.Advanced = page.Advanced || page.Form.AnyFault(slices.Concat(page.Algorithm, page.Model, []templates.Input{page.Rules}))
}

// line is the line of a list that has these fields; where they are fixed, it says its kind and name.
func (fields Fields) line(list string, number int, class, kind, name string) templates.FormLine {
	line := templates.FormLine{List: list, Number: number, Class: class, Kind: kind, Name: name, Inputs: fields.within(open), Plausible: fields.within(plausible), Calculated: fields.within(calculated)}
	for _, f := range fields {
		if f.fixed {
			line.Fixed = append(line.Fixed, f.Name)
		}
	}
	return line
}

// labelOf is how a list says a value.
func labelOf(options []templates.Option, value string) string {
	for _, o := range options {
		if o.Value == value {
			return o.Label
		}
	}
	return value
}

// scaleOf says on which scale a parameter will be or should be, as far as its line is filled in.
func scaleOf(d design.Definition, p design.Parameter) templates.Scale {
	why := d.WhyLog(p, d.LevelsOf(p.Name))
	switch {
	case why == "" || p.Logarithmic():
		return templates.Scale{}
	case d.ScaleOf(p) == design.ScaleLog:
		return templates.Scale{Says: "This will be on a logarithmic scale: " + why + ".", Offer: design.ScaleLinear, Label: "Keep it linear"}
	}
	return templates.Scale{Says: "This belongs on a logarithmic scale: " + why + ".", Offer: design.ScaleLog, Label: "Make it logarithmic"}
}

func cloned(values url.Values) url.Values {
	copied := url.Values{}
	for name, list := range values {
		copied[name] = slices.Clone(list)
	}
	return copied
}

// draftField carries the name of what a browser keeps of an unfinished form.
const draftField = "draft"

// newStudyDraft is that name; forms filled in from something else keep theirs apart.
const newStudyDraft = "new-study"

// Draft is the name of the draft of the form of a new study.
func Draft(values url.Values) string {
	if name := values.Get(draftField); strings.HasPrefix(name, newStudyDraft) {
		return name
	}
	return newStudyDraft
}

// KeepApart gives the draft of a form that was filled in from something a name of its own.
func KeepApart(values url.Values, from string) { values.Set(draftField, newStudyDraft+"-"+from) }

// KeepWith does so for a form of changes to something by what it was filled in with, and by what else
// it shows: what is typed over that is not put over what others have changed since.
func KeepWith(values url.Values, about, shown string) {
	values.Set(draftField, about+"/"+Of(values, design.PointDecimal).AsShown(shown))
}

// Saved is an address that says that the form's draft is done with.
func (t *Typed) Saved(address string) string {
	return address + "&saved=" + url.QueryEscape(t.Text(draftField))
}
