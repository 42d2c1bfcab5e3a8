package pages

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/study/design"
	"headroom/internal/view/words"
)

// lists are those of the form of a study, of which a line in which all fields but the chosen ones
// are empty is blank.
var lists = []string{"parameters", "constraints", "recorded_metrics"}

var chosenFields = []string{"type", "scale", "op"}

// formRow is one line of a list, by field.
type formRow map[string]string

func (row formRow) blank() bool {
	for name, text := range row {
		if strings.TrimSpace(text) != "" && !slices.Contains(chosenFields, name) {
			return false
		}
	}
	return true
}

// mostRows is more lines than any list of a study has. What was sent beyond them would only be
// counted, and drawn again.
const mostRows = 100

// rowsOf reads the lines of a list in order.
func rowsOf(values url.Values, list string) []formRow {
	rows := make([]formRow, mostRows)
	for name := range values {
		inList, _ := strings.CutPrefix(name, list+".")
		at, field, _ := strings.Cut(inList, ".")
		if i, err := strconv.Atoi(at); err == nil && 0 <= i && i < mostRows && at == strconv.Itoa(i) && field != "" {
			if rows[i] == nil {
				rows[i] = formRow{}
			}
			rows[i][field] = values.Get(name)
		}
	}
	if end := slices.IndexFunc(rows, func(row formRow) bool { return row == nil }); end >= 0 {
		rows = rows[:end]
	}
	return rows
}

// setRows replaces the lines of a list.
func setRows(values url.Values, list string, rows []formRow) {
	for name := range values {
		if strings.HasPrefix(name, list+".") {
			values.Del(name)
		}
	}
	for i, row := range rows {
		for field, text := range row {
			values.Set(list+"."+strconv.Itoa(i)+"."+field, text)
		}
	}
}

// dropBlank takes blank lines out, so that faults are counted as people see the lines.
func dropBlank(values url.Values) {
	for _, list := range lists {
		setRows(values, list, slices.DeleteFunc(rowsOf(values, list), formRow.blank))
	}
}

var newRows = map[string]struct {
	list string
	row  formRow
}{
	"add-parameter":  {"parameters", formRow{"type": "real"}},
	"add-constraint": {"constraints", formRow{"op": "<="}},
	"add-recorded":   {"recorded_metrics", formRow{"metric": ""}},
}

// rearrange does what the buttons beside the lines ask, and tells whether one was pressed.
func rearrange(values url.Values, do string) bool {
	if add, ok := newRows[do]; ok {
		setRows(values, add.list, append(rowsOf(values, add.list), add.row))
		return true
	}
	if rescale(values, do) {
		return true
	}
	list, at, ok := strings.Cut(strings.TrimPrefix(do, "remove-"), ".")
	row, err := strconv.Atoi(at)
	rows := rowsOf(values, list)
	if !ok || err != nil || row < 0 || row >= len(rows) {
		return do == "refresh"
	}
	setRows(values, list, slices.Delete(rows, row, row+1))
	return true
}

// definition reads the form of a new study.
func (t *typed) definition() design.Definition {
	d := design.Definition{Candidates: t.candidates()}
	for _, row := range rowsOf(t.values, "parameters") {
		d.Parameters = append(d.Parameters, design.Parameter{Type: design.ParameterType(strings.TrimSpace(row["type"]))})
	}
	if len(d.Parameters) == 0 {
		setRows(t.values, "parameters", []formRow{{"type": "real"}})
		t.fault("parameters.0.name", "name at least one thing that you can set")
	}
	for range rowsOf(t.values, "constraints") {
		d.Constraints = append(d.Constraints, design.Constraint{})
	}
	for range rowsOf(t.values, "recorded_metrics") {
		d.RecordedMetrics = append(d.RecordedMetrics, design.RecordedMetric{})
	}
	t.fill(&d, false)
	d.Seed = randomSeed()
	if text := t.text("seed"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.fault("seed", "write a whole number, 0 or more")
		}
		d.Seed = seed
	}
	return d
}

// share is a number of per cent as a share; 0 would be taken for a blank field.
func (t *typed) share(name string, percent float64) float64 {
	if percent <= 0 {
		t.fault(name, "write a number above 0, or nothing for the usual one")
	}
	return percent / 100
}

// lines are the texts of an area, one a line.
func (t *typed) lines(name string) []string {
	var lines []string
	for line := range strings.Lines(t.values.Get(name)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// plausible reads the lowest and the highest plausible value of a metric; nil when neither is
// given.
func (t *typed) plausible(at string) []float64 {
	low, high := at+"plausible.0", at+"plausible.1"
	if t.text(low) == "" && t.text(high) == "" {
		return nil
	}
	const both = "give both ends, or neither"
	return []float64{t.required(low, both), t.required(high, both)}
}

// candidates reads the pasted combinations and fills in the parameters they tell of.
func (t *typed) candidates() []design.Settings {
	if t.text("candidates") == "" {
		return nil
	}
	pasted := t.sheet("candidates")
	if pasted == nil {
		return nil
	}
	rows := rowsOf(t.values, "parameters")
	for i, name := range pasted.names {
		at := slices.IndexFunc(rows, func(row formRow) bool { return strings.EqualFold(strings.TrimSpace(row["name"]), name) })
		if at < 0 {
			rows = append(rows, formRow{"name": name, "unit": pasted.units[i]})
			at = len(rows) - 1
		}
		pasted.names[i] = strings.TrimSpace(rows[at]["name"])
		pasted.fill(rows[at], i)
	}
	setRows(t.values, "parameters", rows)
	return pasted.candidates()
}

// fill completes a parameter's line from a column: what the person wrote stays.
func (s sheet) fill(row formRow, column int) {
	kind, choices, low, high := s.column(column)
	if row["type"] == "" || kind == design.Categorical {
		row["type"] = string(kind)
	}
	if kind == design.Categorical {
		if row["choices"] == "" {
			row["choices"] = strings.Join(choices, ", ")
		}
		return
	}
	if row["low"] == "" {
		row["low"] = design.NumberValue(low).String()
	}
	if row["high"] == "" {
		row["high"] = design.NumberValue(high).String()
	}
}

var indexInPath = regexp.MustCompile(`\[(\d+)\]`)

// defineNames turns the path of a fault in a definition into the field it is about: the longest
// part of the path that is one.
func defineNames(fields map[string]bool) func(string) string {
	return func(path string) string {
		name := strings.Replace(indexInPath.ReplaceAllString(path, ".$1"), "algorithm.settings.", "settings.", 1)
		for name != "" {
			for _, field := range []string{name, name + ".name", name + ".metric", name + ".schedule", name + ".form", name + ".0"} {
				if fields[field] {
					return field
				}
			}
			end := strings.LastIndexByte(name, '.')
			name = name[:max(end, 0)]
		}
		return ""
	}
}

// jsonText is what a field shows of a JSON value: text and numbers plainly, lists by commas, the
// rest as JSON.
func jsonText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var numbers []json.Number
	if json.Unmarshal(raw, &numbers) == nil {
		parts := make([]string, len(numbers))
		for i, n := range numbers {
			parts[i] = n.String()
		}
		return strings.Join(parts, ", ")
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// numbersJSON reads one number, several separated by commas, or JSON.
func (t *typed) numbersJSON(name string, before json.RawMessage) json.RawMessage {
	text := t.text(name)
	switch {
	case text == "":
		return nil
	case text == jsonText(before):
		return before
	case strings.HasPrefix(text, "{"):
		if !json.Valid([]byte(text)) {
			t.fault(name, "this is not JSON")
			return nil
		}
		return json.RawMessage(text)
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ' ' })
	if len(parts) == 1 {
		parts = strings.Split(text, ",")
	}
	var written []string
	for _, part := range parts {
		if part = strings.Trim(part, ", []"); part == "" {
			continue
		}
		x, err := design.ReadNumber(part, t.marks)
		if err != nil {
			t.fault(name, err.Error())
			return nil
		}
		written = append(written, design.NumberValue(x).String())
	}
	if len(written) == 1 {
		return json.RawMessage(written[0])
	}
	return json.RawMessage("[" + strings.Join(written, ",") + "]")
}

// field is a field of the form of a study, bound to the place in a definition that it shows and
// fills.
type field struct {
	name string
	show func() string
	read func(t *typed)
	once bool // filled when the study is made, and fixed afterwards
}

func (f field) fixed() field {
	f.once = true
	return f
}

func textField[T ~string](name string, into *T) field {
	return field{name: name, show: func() string { return string(*into) }, read: func(t *typed) { *into = T(strings.ReplaceAll(t.text(name), "\r\n", "\n")) }}
}

func numberField(name string, into **float64) field {
	return field{name: name, show: func() string { return plainNumber(*into) }, read: func(t *typed) { *into = t.number(name) }}
}

func listField(name string, into *[]string) field {
	return field{name: name, show: func() string { return strings.Join(*into, ", ") }, read: func(t *typed) { *into = t.list(name) }}
}

// percentField shows a share in per cent; left blank, it stays what it is.
func percentField(name string, into *float64) field {
	return field{name: name, show: func() string { return words.InPercent(*into) }, read: func(t *typed) {
		if x := t.number(name); x != nil {
			*into = t.share(name, *x)
		}
	}}
}

// numbersField shows JSON that is a number or several.
func numbersField(name string, into *json.RawMessage) field {
	return field{name: name, show: func() string { return jsonText(*into) }, read: func(t *typed) { *into = t.numbersJSON(name, *into) }}
}

// plausibleFields are the lowest and the highest plausible value of a metric.
func plausibleFields(at string, into *[]float64) []field {
	end := func(i int) string {
		if i < len(*into) {
			return plainNumber(&(*into)[i])
		}
		return ""
	}
	return []field{
		{name: at + "plausible.0", show: func() string { return end(0) }, read: func(t *typed) { *into = t.plausible(at) }},
		{name: at + "plausible.1", show: func() string { return end(1) }, read: func(*typed) {}}, // both are read at once
	}
}

// studyFields are the fields of a definition's form in their order, but for those of the
// algorithm's settings, the candidates and the seed, which are read from more than a field of their
// own. What each holds, and what of it can be changed later, is said here and nowhere else.
func studyFields(d *design.Definition) []field {
	fields := []field{textField("name", &d.Name).fixed(), textField("description", &d.Description).fixed()}
	for i := range d.Parameters {
		fields = append(fields, parameterFields(fmt.Sprintf("parameters.%d.", i), &d.Parameters[i])...)
	}
	o := &d.Objective
	fields = append(fields, textField("objective.metric", &o.Metric).fixed(), textField("objective.direction", &o.Direction).fixed(), textField("objective.unit", &o.Unit))
	fields = append(fields, plausibleFields("objective.", &o.Plausible)...)
	if d.Stop != nil {
		fields = append(fields, percentField("stop.within", &d.Stop.Within), percentField("stop.risk", &d.Stop.Risk))
	}
	for i := range d.Constraints {
		fields = append(fields, constraintFields(fmt.Sprintf("constraints.%d.", i), &d.Constraints[i])...)
	}
	for i := range d.RecordedMetrics {
		at, m := fmt.Sprintf("recorded_metrics.%d.", i), &d.RecordedMetrics[i]
		fields = append(append(fields, textField(at+"metric", &m.Metric).fixed(), textField(at+"unit", &m.Unit).fixed()), plausibleFields(at, &m.Plausible)...)
	}
	a, m := &d.Algorithm, &d.Model
	return append(fields, textField("simulated_lab", &d.SimulatedLab).fixed(),
		textField("algorithm.name", &a.Name), textField("algorithm.preset", &a.Preset),
		field{name: "algorithm.horizon", show: func() string { return strconv.Itoa(a.Horizon) }, read: func(t *typed) { a.Horizon = t.whole("algorithm.horizon", 0) }},
		field{name: "model.kernel", show: func() string { return jsonText(m.Kernel) }, read: func(t *typed) { m.Kernel = t.kernel(m.Kernel) }},
		textField("model.fit", &m.Fit), textField("model.outputs", &m.Outputs), textField("model.inputs", &m.Inputs),
		numbersField("model.lengthscales", &m.Lengthscales), numbersField("model.noise_variance", &m.NoiseVariance), numbersField("model.lambda", &m.Lambda),
		field{name: "input_constraints", show: func() string { return strings.Join(d.InputConstraints, "\n") }, read: func(t *typed) { d.InputConstraints = t.lines("input_constraints") }},
	)
}

func parameterFields(at string, p *design.Parameter) []field {
	fields := []field{textField(at+"name", &p.Name).fixed(), textField(at+"type", &p.Type).fixed()}
	switch p.Type {
	case design.Categorical:
		return append(fields, listField(at+"choices", &p.Choices).fixed())
	case design.Remainder:
		fields = append(fields, numberField(at+"total", &p.Total), listField(at+"of", &p.Of))
	case design.Real:
		fields = append(fields, textField(at+"scale", &p.Scale), numberField(at+"step", &p.Step).fixed())
	case design.Integer:
		fields = append(fields, textField(at+"scale", &p.Scale))
	}
	return append(fields, numberField(at+"low", &p.Low), numberField(at+"high", &p.High), textField(at+"unit", &p.Unit))
}

func constraintFields(at string, c *design.Constraint) []field {
	fields := []field{
		textField(at+"metric", &c.Metric).fixed(), textField(at+"op", &c.Op).fixed(),
		{name: at + "threshold", show: func() string { return plainNumber(&c.Threshold) }, read: func(t *typed) { c.Threshold = t.required(at+"threshold", "write the limit") }},
		textField(at+"unit", &c.Unit), textField(at+"name", &c.Name).fixed(),
		textField(at+"expression", &c.Expression).fixed(), listField(at+"context", &c.Context).fixed(),
		{name: at + "sampled", once: true, show: func() string { return map[bool]string{true: "yes"}[c.Sampled] }, read: func(t *typed) { c.Sampled = t.text(at+"sampled") != "" }},
	}
	return append(fields, plausibleFields(at, &c.Plausible)...)
}

// fill reads the form into a definition; of one that is there already, what can be changed.
func (t *typed) fill(d *design.Definition, there bool) {
	before, stop := *d, design.UsualStop()
	d.Stop = &stop
	for _, f := range studyFields(d) {
		if !there || !f.once {
			f.read(t)
		}
	}
	d.Algorithm.Settings = t.settingsOf(d.Algorithm.Name, before.Algorithm)
	if d.Model.Fit != before.Model.Fit {
		d.Model.Start = nil
	}
	if d.Model.Warp != design.WarpNone { // declined stays declined; else fit and outputs say whether readings are bent
		d.Model.Warp = ""
	}
}

// kernel is the kernel as the form names it, or the one before where that stands there as it is.
func (t *typed) kernel(before json.RawMessage) json.RawMessage {
	if name := t.text("model.kernel"); name != "" && name != jsonText(before) {
		return asJSON(name)
	}
	return before
}

// definitionValues fills the form from a definition.
func definitionValues(d design.Definition) url.Values {
	values := url.Values{"lab": {d.SimulatedLab}, "candidates": {candidatesText(d)}}
	for _, f := range studyFields(&d) {
		values.Set(f.name, f.show())
	}
	showSettings(values, d.Algorithm)
	return values
}

func plainNumber(x *float64) string {
	if x == nil {
		return ""
	}
	return design.NumberValue(*x).String()
}
