package forms

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"headroom/internal/account"
	"headroom/internal/lists"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Field is one field of a form: how it is drawn, the path of what it is about, and how it is filled
// in and read.
type Field struct {
	templates.Input
	path  string
	whole string // path of a whole whose faults it shows, too; "" for none
	fold  fold
	fixed bool // shown as text, and never read
	show  func() string
	read  func(t *Typed, name string)
}

type fold int

const (
	open fold = iota
	plausible
	calculated
)

var indexInPath = regexp.MustCompile(`\[(\d+)\]`)

// newField returns a field about what is at path, which also gives its name.
func newField(path string, in templates.Input, show func() string, read func(t *Typed, name string)) Field {
	in.Name = indexInPath.ReplaceAllString(path, ".$1")
	return Field{Input: in, path: path, show: show, read: read}
}

// alsoShowing returns the field as one that also shows the faults of whole, which it is a part of.
func (f Field) alsoShowing(whole string) Field {
	f.whole = whole
	return f
}

// prefixed returns the field with a prefix to its name, for a page with several forms.
func (f Field) prefixed(word string) Field {
	f.Name = word + "." + f.Name
	return f
}

// Fields are the fields of a form, in the order of the page.
type Fields []Field

// Read reads all fields, except those that still hold what they were filled in with.
func (fields Fields) Read(t *Typed) {
	for _, f := range fields {
		if !f.fixed && !t.unchangedText(f.Name) {
			f.read(t, f.Name)
		}
	}
}

// Show returns what the form is filled in with.
func (fields Fields) Show() url.Values {
	values := url.Values{}
	for _, f := range fields {
		values.Set(f.Name, f.show())
	}
	return values
}

// Inputs returns the fields to draw.
func (fields Fields) Inputs() []templates.Input {
	return lists.Pick(fields, func(f Field) (templates.Input, bool) { return f.Input, !f.fixed })
}

// within returns the fields to draw of one fold.
func (fields Fields) within(of fold) []templates.Input {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return f.fold != of }).Inputs()
}

// first returns the first field that was sent, or else the first of all.
func (fields Fields) first(values url.Values) Field {
	return fields[max(0, slices.IndexFunc(fields, func(f Field) bool { return values.Has(f.Name) }))]
}

// NameOf returns the name of the field that a fault at path is about: the field, not shown as text,
// of the longest prefix of path that has one; "" if none has.
func (fields Fields) NameOf(path string) string {
	for ; path != ""; path = path[:max(0, strings.LastIndexAny(path, ".["))] {
		if i := slices.IndexFunc(fields, func(f Field) bool { return !f.fixed && (f.path == path || f.whole == path) }); i >= 0 {
			return fields[i].Name
		}
	}
	return ""
}

func text[T ~string](path string, in templates.Input, into *T) Field {
	return newField(path, in, func() string { return string(*into) }, func(t *Typed, name string) { *into = T(strings.ReplaceAll(t.Text(name), "\r\n", "\n")) })
}

func choice[T ~string](path string, in templates.Input, into *T) Field {
	in.Kind = "select"
	return text(path, in, into)
}

func check(path string, in templates.Input, into *bool) Field {
	in.Kind = "check"
	return newField(path, in, func() string { return words.Either(*into, "yes", "") }, func(t *Typed, name string) { *into = t.Text(name) != "" })
}

func number(path string, in templates.Input, into **float64) Field {
	in.Kind = "number"
	show := func() string {
		if *into == nil {
			return ""
		}
		return formatExact(**into)
	}
	return newField(path, in, show, func(t *Typed, name string) { *into = t.number(name) })
}

func list(path string, in templates.Input, into *[]string) Field {
	return newField(path, in, func() string { return joined(*into) }, func(t *Typed, name string) { *into = t.list(name) })
}

func day(path string, in templates.Input, into **time.Time) Field {
	in.Kind = "date"
	return newField(path, in, func() string { return "" }, func(t *Typed, name string) { *into = t.day(name) })
}

// percent returns a field of a share in per cent, usual if it is left blank.
func percent(path string, in templates.Input, into *float64, usual float64) Field {
	in.Kind = "number"
	show := func() string { return words.Either(*into > 0, words.InPercent(*into), "") }
	return newField(path, in, show, func(t *Typed, name string) {
		x := t.number(name)
		if x == nil {
			*into = usual
			return
		}
		if *x <= 0 { // 0 would be taken for a blank field
			t.Fault(name, "write a number above 0, or leave it empty for the usual one")
		}
		*into = design.Scaled(*x, -2) // 0.7 / 100 is no 0.007
	})
}

// numbers returns a field of JSON that is a number or a list of numbers.
func numbers(path string, in templates.Input, into *json.RawMessage) Field {
	return newField(path, in, func() string { return jsonText(*into) }, func(t *Typed, name string) { *into = t.numbersJSON(name) })
}

// plausibleRange returns the fields of the lowest and the highest plausible value of a metric.
// placeholder makes their examples.
func plausibleRange(path string, placeholder func(string) string, into *[]float64) Fields {
	fields := make(Fields, 2)
	for i, said := range [...][2]string{{"Lowest plausible", "0"}, {"Highest plausible", "100"}} {
		in := templates.Input{Label: said[0], Kind: "number", Signed: true, Class: "w3", Placeholder: placeholder(said[1])}
		fields[i] = newField(fmt.Sprintf("%s.plausible[%d]", path, i), in, func() string {
			if i < len(*into) {
				return formatExact((*into)[i])
			}
			return ""
		}, nil)
		fields[i].fold = plausible
	}
	low, high := fields[0].Name, fields[1].Name
	fields[0] = fields[0].alsoShowing(path + ".plausible")
	fields[0].read = func(t *Typed, _ string) { // both at once
		*into = nil
		if t.Text(low) != "" || t.Text(high) != "" {
			const both = "give both ends, or neither"
			*into = []float64{t.required(low, both), t.required(high, both)}
		}
	}
	fields[1].read = fields[0].read
	return fields
}

// jsonText returns a JSON value as a field shows it: text and numbers plainly, lists with commas,
// and anything else as JSON.
func jsonText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var numbers []json.Number
	if json.Unmarshal(raw, &numbers) == nil {
		return strings.Join(lists.Map(numbers, json.Number.String), ", ")
	}
	return string(raw)
}

func (t *Typed) typedJSON(name string) json.RawMessage {
	text := t.Text(name)
	if !json.Valid([]byte(text)) {
		t.Fault(name, `this is not JSON, such as {"default": 0.3, "yield": 0.5}`)
		return nil
	}
	return json.RawMessage(text)
}

// numbersJSON reads one number, several separated by commas, or JSON. If the sender writes decimal
// commas, a single word that can be one number is one.
func (t *Typed) numbersJSON(name string) json.RawMessage {
	text := t.Text(name)
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, "{"):
		return t.typedJSON(name)
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ' ' })
	if len(parts) == 1 {
		_, err := design.ReadNumber(text, t.marks)
		if t.marks.Decimal != ',' || err != nil {
			parts = strings.Split(text, ",")
		}
	}
	var written []string
	for _, part := range parts {
		if part = strings.Trim(part, ", []"); part == "" {
			continue
		}
		x, err := design.ReadNumber(part, t.marks)
		if err != nil {
			t.Fault(name, err.Error())
			return nil
		}
		written = append(written, formatExact(x))
	}
	if len(written) == 1 {
		return json.RawMessage(written[0])
	}
	return json.RawMessage("[" + strings.Join(written, ",") + "]")
}

// DrawNew fills in the page of a new study's form from the form's values.
func DrawNew(page *templates.DefinePage) {
	values := page.Form.Values
	lines := numbered(values, rows.numbers)
	d := emptyDefinition(values, lines)
	definitionForm{d: &d, values: values, lines: lines}.draw(page)
	page.Draft = newStudyDraft
	if name := values.Get(draftField); strings.HasPrefix(name, newStudyDraft) {
		page.Draft = name
	}
	drawWay(page, values)
}

// DrawChanges fills in the page of changes to a study. What cannot be changed is shown from the
// study, whatever was sent.
func DrawChanges(page *templates.DefinePage, there design.Definition) {
	values := maps.Clone(page.Form.Values)
	b := definitionForm{d: &there, values: values, changes: true}
	for _, f := range b.form().all() {
		if f.fixed {
			values.Set(f.Name, f.show())
		}
	}
	page.Form.Values, page.Reconfigure, page.Advanced, page.Draft = values, true, true, values.Get(draftField)
	b.draw(page)
}

func (b definitionForm) draw(page *templates.DefinePage) {
	form, values := b.form(), b.values
	read := newTyped(maps.Clone(values), design.Marks{Decimal: '.'})
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
		kind := words.Either(c.Name != "" && c.Name != c.Metric, c.Metric+" ", "") + labelOf(operators, c.Op)
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

// line returns these fields as a line of a list, with the kind and name that it shows where they
// are fixed.
func (fields Fields) line(list string, number int, class, kind, name string) templates.FormLine {
	fixed := lists.Pick(fields, func(f Field) (string, bool) { return f.Name, f.fixed })
	return templates.FormLine{List: list, Number: number, Class: class, Kind: kind, Name: name, Fixed: fixed,
		Inputs: fields.within(open), Plausible: fields.within(plausible), Calculated: fields.within(calculated)}
}

func labelOf(options []templates.Option, value string) string {
	found, there := lists.Find(options, func(o templates.Option) bool { return o.Value == value })
	return words.Either(there, found.Label, value)
}

// scaleOf returns what the form says about a parameter's scale, as far as its line is filled in.
func scaleOf(d design.Definition, p design.Parameter) templates.Scale {
	why := d.WhyLog(p, design.Levels(d.Candidates, p.Name))
	switch {
	case why == "" || p.Logarithmic():
		return templates.Scale{}
	case d.ScaleOf(p) == design.ScaleLog:
		return templates.Scale{Says: "This will be on a logarithmic scale: " + why + ".", Offer: design.ScaleLinear, Label: "Keep it linear"}
	}
	return templates.Scale{Says: "This belongs on a logarithmic scale: " + why + ".", Offer: design.ScaleLog, Label: "Make it logarithmic"}
}

// draftField has the name under which a browser keeps an unfinished form.
const draftField = "draft"

// newStudyDraft is that name for a new study; forms filled in from something else add to it.
const newStudyDraft = "new-study"

// KeepApart names the draft of a form that was filled in from something, so that it is kept apart.
func KeepApart(values url.Values, from string) { values.Set(draftField, newStudyDraft+"-"+from) }

// Saved returns an address that tells the page to forget the form's draft.
func (t *Typed) Saved(address string) string {
	return address + "&saved=" + url.QueryEscape(t.Text(draftField))
}

// NewInvite returns the form of an invite.
func NewInvite(into *account.NewInvite) Fields {
	return Fields{
		text("name", templates.Input{Label: "Name", Help: "As the ledger will call them"}, &into.Name).prefixed("invite"),
		choice("role", templates.Input{Label: "Role", Options: Roles()}, &into.Role).prefixed("invite"),
	}
}

// NewToken returns the form of a token for one of the studies or for all.
func NewToken(studies []templates.Option, into *account.NewToken) Fields {
	return Fields{
		text("name", templates.Input{Label: "Name", Help: "What it is for, such as “HPLC upload”"}, &into.Name).prefixed("token"),
		choice("role", templates.Input{Label: "Role", Options: Roles()}, &into.Role).prefixed("token"),
		day("expires_at", templates.Input{Label: "Valid to the end of", Help: "Days end at midnight UTC; leave empty for no end"}, &into.ExpiresAt).prefixed("token"),
		newField("study_id", templates.Input{Label: "Study", Kind: "select", Class: "wide", Options: studies}, func() string { return "" }, func(t *Typed, name string) {
			if id := t.Text(name); id != "" { // "" is every study
				into.StudyID = &id
			}
		}).prefixed("token"),
	}
}

// Roles returns the roles to choose from.
func Roles() []templates.Option {
	return lists.Map(account.Roles, func(role account.Role) templates.Option {
		return templates.Option{Value: string(role), Label: role.Title()}
	})
}

// NewShare returns the form of a read-only link.
func NewShare(into *account.NewShare) Fields {
	ends := &into.ExpiresAt
	return Fields{
		text("name", templates.Input{Label: "Who is it for?"}, &into.Name),
		newField("expires_at", templates.Input{Label: "Valid to the end of", Kind: "date", Help: "Days end at midnight UTC"}, func() string { return ends.UTC().Format(time.DateOnly) }, func(t *Typed, name string) {
			if day := t.day(name); day != nil {
				*ends = *day
			} else {
				t.Fault(name, "choose the day it ends")
			}
		}),
	}
}

// NewEdit returns the form of what can be changed in a study without touching its decisions. All
// pointers of into must be set.
func NewEdit(into ledger.EditedData) Fields {
	states := []templates.Option{{Value: "open", Label: "open: trials can be asked for"}, {Value: "paused", Label: "paused: results only"},
		{Value: "finished", Label: "finished: late results only"}, {Value: "archived", Label: "archived: nothing can be saved"}}
	return Fields{
		text("name", templates.Input{Label: "Name", Required: true}, into.Name),
		text("description", templates.Input{Label: "Description", Kind: "area", Help: "Markdown: headings, lists, links. Seen by everybody who can read the study."}, into.Description),
		choice("state", templates.Input{Label: "State", Options: states}, into.State),
	}
}

// ByNumberLabel stands beside the box that lets a table tell of trials that are there.
const ByNumberLabel = "Each row tells of the trial whose number it has"

// NewImport returns the form into which rows of results are pasted.
func NewImport(rows *string, options *study.ImportOptions) Fields {
	return Fields{
		newField("text", templates.Input{Label: "Rows", Kind: "area"}, func() string { return *rows }, func(t *Typed, name string) {
			*rows = strings.ReplaceAll(t.Values.Get(name), "\r\n", "\n") // as browsers send every line end
		}),
		check("ignore", templates.Input{Label: "Ignore columns that match nothing in this study"}, &options.IgnoreUnknown),
		check("by_number", templates.Input{Label: ByNumberLabel, Help: "No trials are made. The column “number” and those with results are enough; in a column “status”, “failed”, “failed by chance” or “abandoned” ends a trial. What stands there already stays."}, &options.ByNumber),
		text("reason", templates.Input{Label: "Reason, if such rows correct results", Help: "Without one, a result unlike the one that stands there is refused."}, &options.Reason),
	}
}

// NewClosing returns the form that ends a trial or sets it aside.
func NewClosing(kind, reason *string) Fields {
	return Fields{text("kind", templates.Input{}, kind), text("reason", templates.Input{}, reason)}
}
