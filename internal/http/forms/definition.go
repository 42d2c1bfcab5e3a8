package forms

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/view"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// Names of fields on which other fields depend.
const algorithmField, presetField, kernelField = "algorithm.name", "algorithm.preset", "model.kernel"

var (
	types      = []templates.Option{{Value: "real", Label: "real number"}, {Value: "integer", Label: "whole number"}, {Value: "categorical", Label: "choice"}, {Value: "remainder", Label: "what is left"}}
	scales     = []templates.Option{{Value: design.ScaleLinear, Label: "linear"}, {Value: design.ScaleLog, Label: "logarithmic"}}
	directions = []templates.Option{{Value: "maximize", Label: "as high as possible"}, {Value: "minimize", Label: "as low as possible"}}
	operators  = []templates.Option{{Value: "<=", Label: "≤ at most"}, {Value: ">=", Label: "≥ at least"}}
	presets    = []templates.Option{{Label: "practical"}, {Value: "paper", Label: "as published"}}
	fits       = []templates.Option{{Label: "default"}, {Value: "marginal_likelihood", Label: "fitted to the data"}, {Value: "fixed", Label: "fixed"}}
	outputs    = []templates.Option{{Label: "default"}, {Value: "standardize", Label: "standardised"}, {Value: "raw", Label: "as they are"}}
	warps      = []templates.Option{{Label: "where it suits"}, {Value: design.WarpNone, Label: "none"}}
	inputs     = []templates.Option{{Label: "default"}, {Value: "unit", Label: "scaled to 0…1"}, {Value: "raw", Label: "as they are"}}
)

// definitionForm makes the form of a definition: of a new study or of changes to one. Its fields
// show and fill d.
type definitionForm struct {
	d       *design.Definition
	values  url.Values       // as typed; some fields depend on them
	lines   map[string][]int // by list, the line numbers of its items; nil: 0, 1, …
	changes bool
	reason  *string // for changes
}

// studyForm has the fields of that form, part by part.
type studyForm struct {
	about, objective, stop, algorithm, model Fields
	parameters, constraints, recorded        []Fields // line by line
	candidates, lab, rules, reason           Field
}

// all returns the fields in the order of the page, without those of the algorithm's settings.
func (f studyForm) all() Fields {
	whole := slices.Concat(f.about, slices.Concat(f.parameters...), Fields{f.candidates}, f.objective, f.stop, slices.Concat(f.constraints...),
		slices.Concat(f.recorded...), Fields{f.lab}, f.algorithm, f.model, Fields{f.rules})
	if f.reason.read != nil {
		whole = append(whole, f.reason)
	}
	return whole
}

// fixedLater marks fields that cannot be changed once the study is made.
func (b definitionForm) fixedLater(fields ...Field) Fields {
	for i := range fields {
		fields[i].fixed = b.changes
	}
	return fields
}

// placeholder returns an example for an empty field of a new study, and nothing for changes.
func (b definitionForm) placeholder(example string) string {
	return words.Either(b.changes, "", example)
}

// form returns the whole form without the algorithm's settings. What each field holds, how it is
// drawn, and whether it can be changed later is said here and nowhere else.
func (b definitionForm) form() studyForm {
	d := b.d
	rules := templates.Input{Label: "Rules for the settings", Kind: "area", Help: "One per line, such as temperature + 2*cycles <= 70"}
	lab := templates.Input{Label: "Who measures", Options: whoMeasures(b.values.Get("lab")), Help: "A simulated lab answers by itself with made-up readings; the study says so everywhere."}
	form := studyForm{
		about: b.fixedLater(
			text("name", templates.Input{Label: "Name", Required: true, Placeholder: "Buffer screen"}, &d.Name),
			text("description", templates.Input{Label: "Description", Kind: "area", Help: "What it is about, in Markdown if you like. Can be changed at any time."}, &d.Description)),
		candidates: b.fixedLater(newField("candidates", templates.Input{Label: "Combinations", Kind: "area"}, func() string { return candidatesText(d) },
			func(*Typed, string) {}))[0], // combinations has read them, since lines of parameters follow from them
		objective: b.objective(), stop: b.stop(), algorithm: b.algorithm(), model: b.model(),
		parameters:  rowFields(b, parameters, d.Parameters, b.parameter),
		constraints: rowFields(b, constraints, d.Constraints, b.constraint),
		recorded:    rowFields(b, recorded, d.RecordedMetrics, b.recorded),
		lab:         b.fixedLater(choice("simulated_lab", lab, &d.SimulatedLab))[0],
		rules: newField("input_constraints", rules, func() string {
			inOneLine := func(rule string) string { return strings.Join(strings.Fields(rule), " ") }
			return strings.Join(lists.Map(d.InputConstraints, inOneLine), "\n")
		}, func(t *Typed, name string) { d.InputConstraints = nonEmpty(strings.Split(t.Values.Get(name), "\n")) }),
	}
	if b.changes {
		form.reason = Reason("Everybody can read it in the ledger.", b.reason)
	}
	return form
}

func (b definitionForm) number(list string, i int) int {
	if b.lines == nil {
		return i
	}
	return b.lines[list][i]
}

// rowFields returns the fields of each line of a list. Their names have the numbers of the lines,
// and their paths the indices of the items.
func rowFields[T any](b definitionForm, list string, said []T, fieldsOf func(number int, one *T) Fields) []Fields {
	lines := make([]Fields, len(said))
	for i := range said {
		number := b.number(list, i)
		lines[i] = fieldsOf(number, &said[i])
		for k := range lines[i] {
			f := &lines[i][k]
			f.path, f.whole = strings.Replace(f.path, indexed(list, number), indexed(list, i), 1), strings.Replace(f.whole, indexed(list, number), indexed(list, i), 1)
		}
	}
	return lines
}

func (b definitionForm) objective() Fields {
	o := &b.d.Objective
	fields := b.fixedLater(
		text("objective.metric", templates.Input{Label: "Metric", Class: "w4", Required: true, Placeholder: "yield"}, &o.Metric).alsoShowing("objective"),
		choice("objective.direction", templates.Input{Label: "Wanted", Class: "w4", Options: directions}, &o.Direction))
	fields = append(fields, text("objective.unit", templates.Input{Label: "Unit", Class: "w4", Placeholder: b.placeholder("%")}, &o.Unit))
	return append(fields, plausibleRange("objective", b.placeholder, &o.Plausible)...)
}

func (b definitionForm) stop() Fields {
	stop := cmp.Or(b.d.Stop, &design.Stop{})
	return Fields{
		percent("stop.within", templates.Input{Label: "Left, % of the recommended value", Class: "w3", Placeholder: "1"}, &stop.Within, design.DefaultStop().Within),
		percent("stop.risk", templates.Input{Label: "Risk that more is left, %", Class: "w3", Placeholder: "5"}, &stop.Risk, design.DefaultStop().Risk),
	}
}

func (b definitionForm) recorded(i int, m *design.RecordedMetric) Fields {
	path := indexed(recorded, i)
	fields := b.fixedLater(
		text(path+".metric", templates.Input{Label: "Metric", Class: "w6"}, &m.Metric).alsoShowing(path),
		text(path+".unit", templates.Input{Label: "Unit", Class: "w4"}, &m.Unit))
	return append(fields, plausibleRange(path, b.placeholder, &m.Plausible)...)
}

func indexed(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

func (b definitionForm) parameter(i int, p *design.Parameter) Fields {
	path := indexed(parameters, i)
	fields := b.fixedLater(
		text(path+".name", templates.Input{Label: "Parameter", Class: "w3", Placeholder: "temperature"}, &p.Name).alsoShowing(path),
		choice(path+".type", templates.Input{Label: "Kind", Options: types, Refreshes: true}, &p.Type))
	unit := text(path+".unit", templates.Input{Label: "Unit", Class: "w1", Placeholder: b.placeholder("°C")}, &p.Unit)
	runOut := b.unavailable(path, p)
	shown := len(b.d.Unavailable[p.Name]) > 0 || b.values.Has(runOut.Name) || b.changes && len(b.d.Candidates) > 0
	switch p.Type {
	case design.Categorical:
		unit.Placeholder = ""
		fields = append(fields, b.fixedLater(list(path+".choices", templates.Input{Label: "Choices", Class: "w4", Help: "separated by commas", Placeholder: "A, B, C"}, &p.Choices))...)
		if fields = append(fields, unit); b.changes || shown {
			fields = append(fields, runOut)
		}
		return fields
	case design.Remainder:
		fields = append(fields,
			number(path+".total", templates.Input{Label: "Total", Class: "w1", Placeholder: "100"}, &p.Total),
			list(path+".of", templates.Input{Label: "minus", Class: "w2", Help: "parameters, separated by commas"}, &p.Of))
	}
	fields = append(fields,
		number(path+".low", templates.Input{Label: "Lowest", Class: "w1", Signed: true}, &p.Low),
		number(path+".high", templates.Input{Label: "Highest", Class: "w1", Signed: true}, &p.High),
		unit)
	if p.Type == design.Real || p.Type == design.Integer {
		suits := words.Either(b.changes, scales, append([]templates.Option{{Label: "automatic"}}, scales...))
		fields = append(fields, choice(path+".scale", templates.Input{Label: "Scale", Options: suits}, &p.Scale))
	}
	if p.Type == design.Real {
		fields = append(fields, b.fixedLater(number(path+".step", templates.Input{Label: "Step", Class: "w1", Placeholder: "any"}, &p.Step))...)
	}
	if shown {
		fields = append(fields, runOut)
	}
	return fields
}

// unavailable returns the field of the values that cannot be used for now. For numbers it is shown
// only where some are unavailable, or where candidates are listed, which can run out by any of
// their values.
func (b definitionForm) unavailable(path string, p *design.Parameter) Field {
	in := templates.Input{Label: "Unavailable", Class: "w6", Help: "Cannot be used for now; separated by commas."}
	if len(p.Choices) > 0 {
		in.Help += " All: " + joined(p.Choices)
	}
	show := func() string {
		return joined(lists.Map(b.d.Unavailable[p.Name], design.Value.String))
	}
	return newField(path+".unavailable", in, show, func(t *Typed, name string) {
		var gone []design.Value
		for _, one := range t.list(name) {
			x, err := design.ReadNumber(one, t.marks)
			switch {
			case p.Type != design.Categorical && err != nil:
				t.Fault(name, err.Error())
			case p.Type != design.Categorical:
				gone = append(gone, design.NumberValue(x))
			case !slices.Contains(p.Choices, one):
				t.Fault(name, fmt.Sprintf("%s is not one of the choices", one))
			default:
				gone = append(gone, design.TextValue(one))
			}
		}
		switch {
		case gone != nil && b.d.Unavailable == nil:
			b.d.Unavailable = map[string][]design.Value{p.Name: gone}
		case gone != nil:
			b.d.Unavailable[p.Name] = gone
		case len(b.d.Unavailable[p.Name]) > 0: // an empty list stays
			delete(b.d.Unavailable, p.Name)
		}
	})
}

func (b definitionForm) constraint(i int, c *design.Constraint) Fields {
	path := indexed(constraints, i)
	threshold := templates.Input{Label: "Limit", Kind: "number", Signed: true, Placeholder: b.placeholder("0.5")}
	fields := append(b.fixedLater(
		text(path+".metric", templates.Input{Label: "Metric", Class: "w3", Placeholder: "impurity"}, &c.Metric).alsoShowing(path),
		choice(path+".op", templates.Input{Label: "Must be", Options: operators}, &c.Op)),
		newField(path+".threshold", threshold, func() string { return formatExact(c.Threshold) }, func(t *Typed, name string) { c.Threshold = t.required(name, "write the limit") }),
		text(path+".unit", templates.Input{Label: "Unit", Class: "w1", Placeholder: b.placeholder("%")}, &c.Unit))
	fields = append(fields, b.fixedLater(text(path+".name", templates.Input{Label: "Name", Class: "w3", Placeholder: "as the metric"}, &c.Name))...)
	fields = append(fields, plausibleRange(path, b.placeholder, &c.Plausible)...)
	known := b.fixedLater(
		text(path+".expression", templates.Input{Label: "Formula", Help: "from the parameters, such as 3*flow + 2*cycles", Class: "wide"}, &c.Expression),
		list(path+".context", templates.Input{Label: "Values brought with each trial", Help: "names in the formula that are not parameters, separated by commas"}, &c.Context),
		check(path+".sampled", templates.Input{Label: "Every request brings its value at each combination (API)"}, &c.Sampled))
	for i := range known {
		known[i].fold = calculated
	}
	return append(fields, known...)
}

func (b definitionForm) algorithm() Fields {
	a := &b.d.Algorithm
	algorithms := lists.Map(policy.Descriptions(), func(one policy.Description) templates.Option {
		return templates.Option{Value: one.Name, Label: one.Title}
	})
	horizon := templates.Input{Label: "Trials planned", Help: "horizon T; going past it is allowed", Kind: "number", Placeholder: "100"}
	return Fields{
		choice(algorithmField, templates.Input{Label: "Algorithm", Class: "wide", Options: algorithms, Refreshes: true}, &a.Name).alsoShowing("algorithm"),
		newField("algorithm.horizon", horizon, func() string { return words.Either(a.Horizon > 0, strconv.Itoa(a.Horizon), "") }, func(t *Typed, name string) { a.Horizon = t.Whole(name, 0) }),
		choice(presetField, templates.Input{Label: "Defaults", Options: presets}, &a.Preset),
	}
}

func (b definitionForm) model() Fields {
	d, m := b.d, &b.d.Model
	kernel := templates.Input{Label: "Kernel", Kind: "select", Options: b.kernels()}
	fields := Fields{
		newField(kernelField, kernel, func() string { return jsonText(m.Kernel) }, func(t *Typed, name string) {
			switch said := t.Text(name); {
			case said == "":
			case strings.HasPrefix(said, "{"): // by metric, or a covariance, in a copy of such a study
				m.Kernel = t.typedJSON(name)
			default:
				m.Kernel = policy.AsJSON(said)
			}
		}),
		choice("model.fit", templates.Input{Label: "Hyperparameters", Options: fits}, &m.Fit),
		choice("model.outputs", templates.Input{Label: "Values are modelled", Options: outputs}, &m.Outputs),
		choice("model.inputs", templates.Input{Label: "Parameters enter", Options: inputs}, &m.Inputs),
		newField("model.warp", templates.Input{Label: "Output warping", Kind: "select", Options: warps}, func() string { return words.Either(m.Warp == design.WarpNone, m.Warp, "") },
			func(t *Typed, name string) { m.Warp = t.Text(name) }), // otherwise it follows from fit and outputs
		numbers("model.lengthscales", templates.Input{Label: "Lengthscales", Placeholder: "worked out", Help: "one number, or one per parameter, separated by commas"}, &m.Lengthscales),
		numbers("model.variance", templates.Input{Label: "Kernel variance", Kind: "number", Placeholder: "worked out"}, &m.Variance),
		numbers("model.noise_variance", templates.Input{Label: "Noise variance", Kind: "number", Placeholder: "worked out", Help: "in the metric’s units, squared"}, &m.NoiseVariance),
		numbers("model.lambda", templates.Input{Label: "Regulariser λ", Kind: "number", Placeholder: "worked out"}, &m.Lambda),
		startField(&m.Start),
	}
	seed := templates.Input{Label: "Seed", Kind: "number", Help: "makes random choices repeatable", Placeholder: "chosen"}
	if !b.changes {
		fields = append(fields, newField("seed", seed, func() string { return "" }, func(t *Typed, name string) { d.Seed = t.seed(name) }))
	}
	return fields
}

// startField returns the field of the hyperparameters at which fits begin: three numbers.
func startField(into **design.Start) Field {
	in := templates.Input{Label: "Fits begin at", Placeholder: "worked out", Help: "lengthscale as a share of each range, kernel variance and λ, separated by commas"}
	return newField("model.start", in, func() string {
		s := *into
		if s == nil {
			return ""
		}
		return strings.Join(lists.Map([]float64{s.Lengthscale, s.Variance, s.Lambda}, formatExact), ", ")
	}, func(t *Typed, name string) {
		var three []float64
		*into = nil
		switch written := t.numbersJSON(name); {
		case written == nil:
		case json.Unmarshal(written, &three) != nil || len(three) != 3:
			t.Fault(name, "write three numbers, or leave it empty")
		default:
			*into = &design.Start{Lengthscale: three[0], Variance: three[1], Lambda: three[2]}
		}
	})
}

// kernels returns the kernels to choose from, with the present one if it is another.
func (b definitionForm) kernels() []templates.Option {
	var options []templates.Option
	if !b.changes {
		options = []templates.Option{{Label: "as suits the parameters"}}
	}
	for _, name := range []string{"matern52", "mixed", "anova", "matern32", "matern12", "se", "linear"} {
		options = append(options, templates.Option{Value: name, Label: name})
	}
	if now := b.values.Get(kernelField); !slices.ContainsFunc(options, func(o templates.Option) bool { return o.Value == now }) {
		options = append(options, templates.Option{Value: now, Label: "as it is"})
	}
	return options
}

// whoMeasures returns who may measure, if the form was filled in from a simulated lab.
func whoMeasures(problem string) []templates.Option {
	if problem == "" {
		return nil
	}
	return []templates.Option{{Label: "a laboratory"}, {Value: problem, Label: "a simulated lab: " + problem}}
}

func (t *Typed) seed(name string) uint64 {
	text := t.Text(name)
	if text == "" {
		return rand.Uint64N(1 << 32)
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fault(name, "write a whole number, 0 or more")
	}
	return seed
}

// Reason returns the field of why something is changed.
func Reason(help string, into *string) Field {
	return newField("reason", templates.Input{Label: "Reason", Required: true, Help: help}, func() string { return *into }, func(t *Typed, name string) {
		if *into = t.Text(name); *into == "" {
			t.Fault(name, "say why, so that others can follow")
		}
	})
}

// NewStudy reads the form of a new study. Blank lines are not read, but kept.
func (t *Typed) NewStudy() (design.Definition, Fields) {
	candidates := t.combinations()
	lines := numbered(t.Values, rows.notBlank)
	if len(lines[parameters]) > 0 {
		return t.definition(candidates, lines)
	}
	missing := "candidates" // a table that cannot be read may name them
	if t.faults[missing] == "" {
		missing = t.blankLine(parameters) + ".name"
		t.Fault(missing, "name at least one thing that you can set")
	}
	d, fields := t.definition(candidates, lines)
	return d, append(fields, Field{Input: templates.Input{Name: missing}, path: parameters})
}

// blankLine returns the first line of a list whose lines are all blank, or a new one.
func (t *Typed) blankLine(list string) string {
	lines := rowsOf(t.Values, list)
	if len(lines) == 0 {
		lines.add(newRow[list])
		setRows(t.Values, list, lines)
	}
	return fmt.Sprintf("%s.%d", list, lines.numbers()[0])
}

func (t *Typed) definition(candidates []design.Settings, lines map[string][]int) (design.Definition, Fields) {
	d := emptyDefinition(t.Values, lines)
	d.Candidates = candidates
	return d, t.fill(definitionForm{d: &d, values: t.Values, lines: lines})
}

// emptyDefinition returns a definition with as many items as the form has such lines, and with the
// parameters' types.
func emptyDefinition(values url.Values, lines map[string][]int) (d design.Definition) {
	d.Parameters = lists.Map(lines[parameters], func(n int) design.Parameter {
		return design.Parameter{Type: design.ParameterType(strings.TrimSpace(values.Get(fmt.Sprintf("%s.%d.type", parameters, n))))}
	})
	d.Constraints, d.RecordedMetrics = make([]design.Constraint, len(lines[constraints])), make([]design.RecordedMetric, len(lines[recorded]))
	return d
}

// Changes reads the form of changes to a study. What the form has no field for stays as it is
// there.
func (t *Typed) Changes(there design.Definition) (design.Reconfiguration, Fields) {
	t.filledIn = ShowingChanges(there, "")
	d := there
	d.Parameters, d.Constraints, d.RecordedMetrics = slices.Clone(d.Parameters), slices.Clone(d.Constraints), slices.Clone(d.RecordedMetrics)
	d.Unavailable = map[string][]design.Value{}
	maps.Copy(d.Unavailable, there.Unavailable)
	var reason string
	fields := t.fill(definitionForm{d: &d, values: t.Values, changes: true, reason: &reason})
	return d.Whole(reason), fields
}

// fill reads the form into a definition and returns all its fields.
func (t *Typed) fill(b definitionForm) Fields {
	d, before := b.d, *b.d
	d.Stop = new(*cmp.Or(d.Stop, new(design.DefaultStop())))
	fields := b.form().all()
	fields.Read(t)
	d.Algorithm.Settings = t.settingsOf(d.Algorithm.Name, before.Algorithm)
	for _, setting := range view.Algorithm(d.Algorithm.Name).Settings {
		fields = append(fields, settingFields(setting, t.Values)...)
	}
	return fields
}

// Showing returns what the form of a new study like d is filled in with.
func Showing(d design.Definition) url.Values { return definitionForm{d: &d}.showing() }

// ShowingChanges returns what the form of changes that lead to d is filled in with.
func ShowingChanges(d design.Definition, reason string) url.Values {
	return definitionForm{d: &d, changes: true, reason: &reason}.showing()
}

func (b definitionForm) showing() url.Values {
	values := b.form().all().Show()
	values.Set("lab", b.d.SimulatedLab)
	showSettings(values, b.d.Algorithm)
	return values
}

// Blank returns what the form of a new study begins with.
func Blank() url.Values {
	values := Showing(design.Definition{Objective: design.Objective{Direction: "maximize"}})
	setRows(values, parameters, rows{0: newRow[parameters], 1: newRow[parameters]})
	setRows(values, constraints, rows{0: newRow[constraints]})
	return values
}

// combinations reads the pasted candidates and fills in the lines of their parameters.
func (t *Typed) combinations() []design.Settings {
	const field = "candidates"
	if t.Text(field) == "" {
		return nil
	}
	pasted := t.sheet(field)
	if pasted == nil {
		return nil
	}
	lines := rowsOf(t.Values, parameters)
	for i, name := range pasted.names {
		line := lines.named(name)
		if line == nil {
			line = row{"name": name, "unit": pasted.units[i]}
			lines.add(line)
		}
		t.completeRow(line, pasted, i)
	}
	maps.DeleteFunc(lines, func(_ int, line row) bool { return line.blank() })
	setRows(t.Values, parameters, lines)
	return pasted.candidates()
}

// completeRow fills in a parameter's line from a column, except for what the person wrote.
func (t *Typed) completeRow(line row, s *sheet, column int) {
	kind, choices, low, high := s.column(column)
	if line["type"] == "" || kind == design.Categorical {
		line["type"] = string(kind)
	}
	said := words.Either(kind == design.Categorical, row{"choices": joined(choices)}, row{"low": t.formatAsUser(low), "high": t.formatAsUser(high)})
	for name, text := range said {
		line[name] = cmp.Or(line[name], text)
	}
}

// candidatesText returns the candidates as a table that could have been pasted.
func candidatesText(d *design.Definition) string {
	if len(d.Candidates) == 0 {
		return ""
	}
	var text strings.Builder
	names, table := d.ParameterNames(), csv.NewWriter(&text)
	table.Comma = delimiter(strings.Join(names, "\t"))
	_ = table.Write(names)
	for _, candidate := range d.Candidates {
		_ = table.Write(lists.Map(names, func(name string) string { return candidate[name].String() }))
	}
	table.Flush()
	return strings.TrimSuffix(text.String(), "\n")
}
