package pages

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"headroom/internal/study/design"
	"headroom/internal/view/words"
)

// field is a field of the form of a study, bound to the place in a definition that it shows and fills.
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

// studyFields are the fields of a definition's form in their order, but for those of the algorithm's settings, the candidates and the seed, which are read from
// more than a field of their own. What each holds, and what of it can be changed later, is said here and nowhere else.
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
