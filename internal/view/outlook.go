package view

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// SliceSamples is how many values of a parameter a chart of the model asks for.
const SliceSamples = 61

// mostSlices is how many slices are drawn before the page shows one metric at a time.
const mostSlices = 24

// Outlook is what of the model is to be shown.
type Outlook struct {
	Facts
	Point   design.Settings
	Through string
	Held    string // the same, of the settings that a chart has no axis for
	Metrics []string
	Metric  string // of the map
	X, Y    string // its axes, "" where there is no map
	Others  bool   // show what other algorithms would choose
	form    templates.Form
}

// Outlook reads what to show from the query; what is missing or senseless is replaced by a good
// choice. It has the axes of a map once there are slices.
func (v Facts) Outlook() Outlook {
	d := v.Snap.Definition
	o := Outlook{Facts: v, Others: v.Query.Get("others") == "yes", Metric: v.Query.Get("metric"), Metrics: metricsShown(v.Snap)}
	o.form = templates.Form{Values: url.Values{}, Errors: map[string]string{}}
	trial := v.Snap.Trial(len(v.Snap.Trials))
	o.Through = fmt.Sprintf("through the last trial, %d", trial.Number)
	if best := v.Snap.Best(); best != nil {
		trial, o.Through = best, fmt.Sprintf("through the best trial so far, %d", best.Number)
	}
	if r := v.recommended(); r != nil {
		trial, o.Through = v.Snap.Trial(r.Number), fmt.Sprintf("through the recommended point, trial %d", r.Number)
	}
	o.Point, o.Held = trial.Parameters.Clone(), fmt.Sprintf("as in trial %d", trial.Number)
	o.form.Values.Set("from", strconv.Itoa(trial.Number))
	if o.readPins(o.pinnedFrom(trial)) {
		o.Through, o.Held = "through the point you set", "at the point you set"
	}
	if !slices.Contains(o.Metrics, o.Metric) {
		o.Metric = d.Objective.Metric
	}
	if len(o.Metrics)*len(axisNames(d)) > mostSlices {
		o.Metrics = []string{o.Metric}
	}
	o.form.Values.Set("metric", o.Metric)
	o.chooseAxes()
	return o
}

// chooseAxes takes the axes of the map that were asked for, or the two parameters along which the
// objective changes most.
func (o *Outlook) chooseAxes() {
	influences := influences(o.Slices, o.Snap.Definition.Objective.Metric)
	if len(influences) < 2 {
		return
	}
	names := axisNames(o.Snap.Definition)
	usualX, usualY := influences[0].Parameter, influences[1].Parameter
	if o.X, o.Y = o.Query.Get("x"), o.Query.Get("y"); !slices.Contains(names, o.X) || !slices.Contains(names, o.Y) || o.X == o.Y {
		o.X, o.Y = usualX, usualY
	}
	for name, value := range map[string]string{"x": o.X, "y": o.Y, "usual.x": usualX, "usual.y": usualY} {
		o.form.Values.Set(name, value)
	}
}

// influences are slices in order of influence: by how much the expected objective changes along
// each parameter, the others held at the point shown.
func influences(all []study.Slice, objective string) []study.Slice {
	return slices.SortedStableFunc(slices.Values(all), func(a, b study.Slice) int { return cmp.Compare(influence(b, objective), influence(a, objective)) })
}

// influence is the range of the expected objective along a slice.
func influence(along study.Slice, objective string) float64 {
	mean := along.Metrics[objective].Mean
	if len(mean) == 0 {
		return 0
	}
	return slices.Max(mean) - slices.Min(mean)
}

// pinnedFrom is the trial whose settings the form showed when it was sent. Fields that still hold
// them were not set by the person, and follow the recommendation.
func (o Outlook) pinnedFrom(now *ledger.Trial) design.Settings {
	if trial := trialNamed(o.Snap, o.Query.Get("from")); trial != nil {
		return trial.Parameters
	}
	return now.Parameters
}

// readPins takes the point from the form's fields and tells whether any was set by the person.
func (o *Outlook) readPins(shown design.Settings) bool {
	changed := false
	for i, p := range o.Snap.Definition.Parameters {
		field := pinField(i)
		o.form.Values.Set(field, design.FormatSetting(p, o.Point[p.Name]))
		if !o.Query.Has(field) || p.Type == design.Remainder || o.Query.Get(field) == design.FormatSetting(p, shown[p.Name]) {
			continue
		}
		o.form.Values[field] = o.Query[field]
		value, err := pinned(p, o.Query.Get(field))
		if err != nil {
			o.form.Errors[field] = err.Error()
			continue
		}
		changed = changed || value != o.Point[p.Name]
		o.Point[p.Name] = value
	}
	return changed
}

func pinned(p design.Parameter, text string) (design.Value, error) {
	if p.Type == design.Categorical {
		if slices.Contains(p.Choices, text) {
			return design.TextValue(text), nil
		}
		return design.Value{}, errors.New("choose one of the list")
	}
	x, err := design.ReadNumber(text, design.Marks{Decimal: '.'})
	if err != nil {
		return design.Value{}, err
	}
	if p.Low != nil && x < *p.Low || p.High != nil && x > *p.High {
		return design.Value{}, fmt.Errorf("between %s and %s", words.Number(*p.Low), words.Number(*p.High))
	}
	return design.NumberValue(x), nil
}

// MapSamples is how many values of a parameter a map asks for: fewer beside choices, which have no
// order and so no values between.
func (o Outlook) MapSamples() int {
	return words.Either(o.smooth(), 41, 7)
}

// smooth tells whether both axes of the map have an order.
func (o Outlook) smooth() bool {
	d := o.Snap.Definition
	return parameter(d, o.X).Type != design.Categorical && parameter(d, o.Y).Type != design.Categorical
}

func plotValue(v design.Value) any {
	if v.IsText {
		return v.Text
	}
	return v.Number
}

// axisOf is the axis of a parameter.
func axisOf(p design.Parameter) chart.Axis {
	axis := chart.Axis{Title: words.AxisName(p.Name, p.Unit), Log: p.Logarithmic(), Categories: p.Choices, Whole: p.Type == design.Integer}
	axis.Plain = axis.Log && *p.Low >= words.Small && *p.High < words.Large
	return axis
}
