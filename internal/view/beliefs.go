package view

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// SliceSamples is how many values of a parameter a chart of the model asks for.
const SliceSamples = 61

const (
	// mostSlices is how many slices are drawn before the page shows one metric at a time.
	mostSlices = 24
	// mostObservations is how many observations a map of the model shows, the newest.
	mostObservations = 400
)

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

// Beliefs is what the model believes: a map of two parameters and a slice along each.
func (v Facts) Beliefs() templates.Beliefs {
	section := templates.Beliefs{At: v.At, Part: v.partURL("beliefs", nil)}
	if !v.Paper {
		section.Action = v.URL
	}
	if section.Empty = v.NothingBelieved(); section.Empty != "" {
		return section
	}
	if len(v.Slices) == 0 {
		section.Empty = "This study’s prior knows only its candidates, so there is nothing to draw between them. The trials are in the table below."
		return section
	}
	o := v.Outlook()
	section.Form, section.Through = o.form, o.Through
	o.inputs(&section)
	chosen := v.BeliefsQuery()
	chosen.Del("others")
	section.Set = len(chosen) > 0
	grid := o.sliceGrid()
	section.Slices = &grid
	if o.X != "" {
		chart := o.mapChart()
		section.Map = &chart
	}
	section.Prices = v.priceChart()
	section.Trust = trusting{v}.section()
	if o.Others {
		section.Others = o.choices(section.Map)
	} else if !v.Paper {
		section.OthersPart = v.partURL("beliefs", url.Values{"others": {"yes"}})
	}
	return section
}

// MapSamples is how many values of a parameter a map asks for: fewer beside choices, which have no
// order and so no values between.
func (o Outlook) MapSamples() int {
	if o.smooth() {
		return 41
	}
	return 7
}

// smooth tells whether both axes of the map have an order.
func (o Outlook) smooth() bool {
	d := o.Snap.Definition
	return parameter(d, o.X).Type != design.Categorical && parameter(d, o.Y).Type != design.Categorical
}

// NothingBelieved says why there is nothing to draw of a model, "" when there is.
func (v Facts) NothingBelieved() string {
	objective := v.Snap.Definition.Objective.Metric
	switch {
	case !slices.ContainsFunc(Modelled(v.Snap.Definition), v.Snap.HasReading):
		return "After the first result, the model’s picture of each metric will be drawn here: what it expects, how sure it is, and where the limits leave room."
	case v.Modelless != "":
		return v.Modelless
	case !v.Snap.HasReading(objective):
		return "The model’s picture of each metric will be drawn here once " + objective + " has a reading."
	case len(v.metricsShown()) > 0:
		return ""
	case v.over():
		return "The study ended before the model had begun."
	}
	return "The model begins when the first few trials have shown how large the values are; its picture of each metric will then be drawn here."
}

// Outlook reads what to show from the query; what is missing or senseless is replaced by a good
// choice. It has the axes of a map once there are slices.
func (v Facts) Outlook() Outlook {
	d := v.Snap.Definition
	o := Outlook{Facts: v, Others: v.Query.Get("others") == "yes", Metric: v.Query.Get("metric"), Metrics: v.metricsShown()}
	o.form = templates.Form{Values: map[string][]string{}, Errors: map[string]string{}}
	trial := v.Snap.Trial(len(v.Snap.Trials))
	o.Through = fmt.Sprintf("through the last trial, %d", trial.Number)
	if best := v.Snap.Best(); best != nil {
		trial, o.Through = best, fmt.Sprintf("through the best trial so far, %d", best.Number)
	}
	if r := v.recommended(); r != nil {
		trial, o.Through = v.Snap.Trial(r.Number), fmt.Sprintf("through the recommended point, trial %d", r.Number)
	}
	o.Point, o.Held = trial.Parameters.Clone(), fmt.Sprintf("as in trial %d", trial.Number)
	o.form.Values["from"] = []string{strconv.Itoa(trial.Number)}
	if o.readPins(o.pinnedFrom(trial)) {
		o.Through, o.Held = "through the point you set", "at the point you set"
	}
	if !slices.Contains(o.Metrics, o.Metric) {
		o.Metric = d.Objective.Metric
	}
	if len(o.Metrics)*len(axisNames(d)) > mostSlices {
		o.Metrics = []string{o.Metric}
	}
	o.form.Values["metric"] = []string{o.Metric}
	o.chooseAxes()
	return o
}

// chooseAxes takes the axes of the map that were asked for, or the two parameters along which the
// objective changes most.
func (o *Outlook) chooseAxes() {
	influences := o.influences()
	if len(influences) < 2 {
		return
	}
	names := axisNames(o.Snap.Definition)
	usualX, usualY := influences[0].Parameter, influences[1].Parameter
	if o.X, o.Y = o.Query.Get("x"), o.Query.Get("y"); !slices.Contains(names, o.X) || !slices.Contains(names, o.Y) || o.X == o.Y {
		o.X, o.Y = usualX, usualY
	}
	o.form.Values["x"], o.form.Values["y"] = []string{o.X}, []string{o.Y}
	o.form.Values["usual.x"], o.form.Values["usual.y"] = []string{usualX}, []string{usualY}
}

// pinnedFrom is the trial whose settings the form showed when it was sent. Fields that still hold
// them were not set by the person, and follow the recommendation.
func (o Outlook) pinnedFrom(now *ledger.Trial) design.Settings {
	if trial := o.trialNamed(o.Query.Get("from")); trial != nil {
		return trial.Parameters
	}
	return now.Parameters
}

// readPins takes the point from the form's fields and tells whether any was set by the person.
func (o *Outlook) readPins(shown design.Settings) bool {
	changed := false
	for i, p := range o.Snap.Definition.Parameters {
		field := pinField(i)
		o.form.Values[field] = []string{design.FormatSetting(p, o.Point[p.Name])}
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

func pinField(i int) string { return fmt.Sprintf("pin.%d", i) }

func pinned(p design.Parameter, text string) (design.Value, error) {
	if p.Type == design.Categorical {
		if slices.Contains(p.Choices, text) {
			return design.TextValue(text), nil
		}
		return design.Value{}, fmt.Errorf("choose one of the list")
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

// inputs are the form above the charts.
func (o Outlook) inputs(section *templates.Beliefs) {
	d := o.Snap.Definition
	section.Metric = templates.Input{Name: "metric", Label: "Map of", Kind: "select", Options: optionsOf(o.metricsShown())}
	if o.X != "" {
		section.Axes[0] = templates.Input{Name: "x", Label: "across", Kind: "select", Options: optionsOf(axisNames(d))}
		section.Axes[1] = templates.Input{Name: "y", Label: "up", Kind: "select", Options: optionsOf(axisNames(d))}
	} else {
		section.Metric.Label = "Metric"
	}
	for i, p := range d.Parameters {
		if p.Type == design.Remainder {
			continue
		}
		in := SettingInput(pinField(i), p)
		in.Label, in.Help = p.Name+" at", ""
		section.Pins = append(section.Pins, in)
	}
}

func optionsOf(names []string) []templates.Option {
	options := make([]templates.Option, len(names))
	for i, name := range names {
		options[i] = templates.Option{Value: name, Label: name}
	}
	return options
}

func plotValue(v design.Value) any {
	if v.IsText {
		return v.Text
	}
	return v.Number
}

// axisOf is the axis of a parameter.
func axisOf(p design.Parameter) chart.Axis {
	axis := chart.Axis{Title: words.AxisName(p.Name, p.Unit), Log: p.Scale == "log", Categories: p.Choices, Whole: p.Type == design.Integer}
	axis.Plain = axis.Log && *p.Low >= words.Small && *p.High < words.Large
	return axis
}

// otherAlgorithms are asked what they would do next.
var otherAlgorithms = []string{"log-cei", "rpol-ucb", "ckb-ucb", "scbo"}

// OtherAlgorithms are asked what they would do next on the same readings.
func (v Facts) OtherAlgorithms() []string {
	return slices.DeleteFunc(slices.Clone(otherAlgorithms), func(name string) bool { return name == v.Snap.Definition.Algorithm.Name })
}

// choices are what other algorithms would do next, as points on the map and in words.
func (o Outlook) choices(onto *templates.Chart) []templates.OtherChoice {
	if len(o.Choices) == 0 {
		return []templates.OtherChoice{{Name: "None", Text: "The other algorithms cannot choose here without being told more."}}
	}
	var list []templates.OtherChoice
	points := chart.Trace{Name: "other algorithms’ next", Style: chart.Other}
	for _, choice := range o.Choices {
		list = append(list, templates.OtherChoice{Name: choice.Name, Text: choice.Because})
		if choice.Parameters == nil || onto == nil || !onto.Drawing.Surface.Smooth {
			continue
		}
		points.X, points.Y = append(points.X, plotValue((*choice.Parameters)[o.X])), append(points.Y, plotValue((*choice.Parameters)[o.Y]))
		points.Text = append(points.Text, choice.Name+" would try "+settingsLine(o.Snap.Definition, *choice.Parameters))
	}
	if len(points.X) > 0 {
		onto.Drawing.Traces = append(onto.Drawing.Traces, points)
	}
	return list
}
