package pages

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

const (
	sliceSamples = 61
	mapSamples   = 41
	// mostSlices is how many slices are drawn before the page shows one metric at a time.
	mostSlices = 24
	// mostObservations is how many observations a map of the model shows, the newest.
	mostObservations = 400
)

// outlook is what the beliefs section was asked to show.
type outlook struct {
	point   design.Settings
	through string
	held    string // the same, of the settings that a chart has no axis for
	metrics []string
	metric  string // of the map
	x, y    string
	others  bool // show what other algorithms would choose
	form    templates.Form
}

// beliefs is what the model believes: a map of two parameters and a slice along each.
func (s *Site) beliefs(ctx context.Context, v visit) (templates.Beliefs, error) {
	section := templates.Beliefs{Study: v.head, Action: v.url, At: v.at, Part: v.partURL("beliefs", nil)}
	if !v.anyTold() {
		section.Empty = "After the first result, the model’s picture of each metric will be drawn here: what it expects, how sure it is, and where the limits leave room."
		return section, nil
	}
	readout, err := s.Studies.StateOf(ctx, v.snap)
	if section.Empty = withoutModel(err); section.Empty != "" {
		return section, nil
	}
	if err != nil {
		return section, err
	}
	if section.Empty = v.noModelWords(); section.Empty != "" {
		return section, nil
	}
	if !v.modelStands() {
		readout.Recommendation = nil
	}
	o := v.outlook(readout.Recommendation)
	drawn, err := s.Studies.Slices(ctx, v.snap, o.point, sliceSamples)
	if err != nil {
		return section, err
	}
	if len(drawn) == 0 {
		section.Empty = "This study’s prior knows only its candidates, so there is nothing to draw between them. The trials are in the table below."
		return section, nil
	}
	influences := influencesOf(drawn, v.snap.Definition.Objective.Metric)
	o.chooseAxes(v, influences)
	section.Form, section.Through = o.form, o.through
	v.beliefInputs(&section, o)
	chosen := v.beliefsQuery()
	chosen.Del("others")
	section.Set = len(chosen) > 0
	grid := v.sliceGrid(o, drawn, influences, readout)
	section.Slices = &grid
	if section.Map, err = s.beliefMap(ctx, v, o, readout.Recommendation); err != nil {
		return section, err
	}
	prices, err := s.prices(ctx, v)
	if err != nil {
		return section, err
	}
	section.Prices = v.priceChart(prices)
	section.Trust = v.trust(readout)
	if o.others {
		section.Others, err = s.others(ctx, v, section.Map, o)
	} else {
		section.OthersPart = v.partURL("beliefs", url.Values{"others": {"yes"}})
	}
	return section, err
}

// noModelWords say why there is nothing to draw of a model, "" when there is.
func (v visit) noModelWords() string {
	objective := v.snap.Definition.Objective.Metric
	switch {
	case !v.snap.HasReading(objective):
		return "The model’s picture of each metric will be drawn here once " + objective + " has a reading."
	case len(v.metricsShown()) > 0:
		return ""
	case v.over():
		return "The study ended before the model had begun."
	}
	if v.over() {
		return "The study ended before the model had begun, so there is no picture of it."
	}
	return "The model begins when the first few trials have shown how large the values are; its picture of each metric will then be drawn here."
}

// beliefMap is the map of two parameters, nil where there are fewer.
func (s *Site) beliefMap(ctx context.Context, v visit, o outlook, recommended *study.Recommendation) (*templates.Chart, error) {
	if o.x == "" {
		return nil, nil
	}
	drawn, err := s.mapOf(ctx, v, o)
	if err != nil {
		return nil, err
	}
	chart := v.mapChart(o, drawn, recommended)
	return &chart, nil
}

// mapOf works out the map of an outlook, finer where numbers have an order.
func (s *Site) mapOf(ctx context.Context, v visit, o outlook) (study.Map, error) {
	samples := mapSamples
	if v.unordered(o.x) || v.unordered(o.y) {
		samples = gridSamples
	}
	return s.Studies.Map(ctx, v.snap, o.x, o.y, o.point, samples)
}

// beliefsQuery keeps what chooses the charts where that is not the usual choice: a metric, two parameters, and the settings of the point
// that the slices pass through, with the trial that the form showed before somebody set them. The form says which parameters it had shown by itself; those that stay so follow the model.
func (v visit) beliefsQuery() url.Values {
	d, kept := v.snap.Definition, url.Values{}
	if metric := v.query.Get("metric"); metric != d.Objective.Metric && slices.Contains(modelled(d), metric) {
		kept.Set("metric", metric)
	}
	names := axisNames(d)
	x, y := v.query.Get("x"), v.query.Get("y")
	usual := x == v.query.Get("usual.x") && y == v.query.Get("usual.y")
	if !usual && x != y && slices.Contains(names, x) && slices.Contains(names, y) {
		kept.Set("x", x)
		kept.Set("y", y)
	}
	if v.query.Get("others") == "yes" {
		kept.Set("others", "yes")
	}
	shown := v.trialNamed(v.query.Get("from"))
	for i, p := range d.Parameters {
		field := pinField(i)
		if text := v.query.Get(field); v.query.Has(field) && p.Type != design.Remainder && (shown == nil || text != design.FormatSetting(p, shown.Parameters[p.Name])) {
			kept.Set(field, text)
			if shown != nil {
				kept.Set("from", strconv.Itoa(shown.Number))
			}
		}
	}
	return kept
}

// trialNamed is the trial of that number, nil when there is none.
func (v visit) trialNamed(text string) *ledger.Trial {
	number, _ := strconv.Atoi(text)
	return v.snap.Trial(number)
}

// anyTold tells whether any modelled metric has a value yet.
func (v visit) anyTold() bool {
	metrics := modelled(v.snap.Definition)
	return slices.ContainsFunc(v.snap.Trials, func(t *ledger.Trial) bool {
		return slices.ContainsFunc(metrics, func(metric string) bool { _, there := t.Metrics[metric]; return there && !t.Excluded })
	})
}

// outlook reads what to show from the query; what is missing or senseless is replaced by a good choice.
func (v visit) outlook(recommended *study.Recommendation) outlook {
	d, query := v.snap.Definition, v.query
	o := outlook{form: templates.Form{Values: map[string][]string{}, Errors: map[string]string{}}}
	trial := v.snap.Trial(len(v.snap.Trials))
	o.through = fmt.Sprintf("through the last trial, %d", trial.Number)
	if best := v.snap.Best(); best != nil {
		trial, o.through = best, fmt.Sprintf("through the best trial so far, %d", best.Number)
	}
	if recommended != nil {
		trial, o.through = v.snap.Trial(recommended.Number), fmt.Sprintf("through the recommended point, trial %d", recommended.Number)
	}
	o.point, o.held = trial.Parameters.Clone(), fmt.Sprintf("as in trial %d", trial.Number)
	o.form.Values["from"] = []string{fmt.Sprint(trial.Number)}
	if o.readPins(d, query, v.pinnedFrom(trial)) {
		o.through, o.held = "through the point you set", "at the point you set"
	}
	o.metric = query.Get("metric")
	if !slices.Contains(v.metricsShown(), o.metric) {
		o.metric = d.Objective.Metric
	}
	o.metrics, o.others = v.metricsShown(), query.Get("others") == "yes"
	if axes := axisNames(d); len(o.metrics)*len(axes) > mostSlices {
		o.metrics = []string{o.metric}
	}
	o.form.Values["metric"] = []string{o.metric}
	return o
}

// chooseAxes takes the axes of the map that were asked for, or the two parameters along which the objective changes most.
func (o *outlook) chooseAxes(v visit, influences []influence) {
	if len(influences) < 2 {
		return
	}
	names := axisNames(v.snap.Definition)
	usualX, usualY := influences[0].parameter, influences[1].parameter
	if o.x, o.y = v.query.Get("x"), v.query.Get("y"); !slices.Contains(names, o.x) || !slices.Contains(names, o.y) || o.x == o.y {
		o.x, o.y = usualX, usualY
	}
	o.form.Values["x"], o.form.Values["y"] = []string{o.x}, []string{o.y}
	o.form.Values["usual.x"], o.form.Values["usual.y"] = []string{usualX}, []string{usualY}
}

// pinnedFrom is the trial whose settings the form showed when it was sent. Fields that still hold them were not set by the person,
// and follow the recommendation.
func (v visit) pinnedFrom(now *ledger.Trial) design.Settings {
	if trial := v.trialNamed(v.query.Get("from")); trial != nil {
		return trial.Parameters
	}
	return now.Parameters
}

// readPins takes the point from the form's fields and tells whether any was set by the person.
func (o *outlook) readPins(d design.Definition, query url.Values, shown design.Settings) bool {
	changed := false
	for i, p := range d.Parameters {
		field := pinField(i)
		o.form.Values[field] = []string{design.FormatSetting(p, o.point[p.Name])}
		if !query.Has(field) || p.Type == design.Remainder || query.Get(field) == design.FormatSetting(p, shown[p.Name]) {
			continue
		}
		o.form.Values[field] = query[field]
		value, err := pinned(p, query.Get(field))
		if err != nil {
			o.form.Errors[field] = err.Error()
			continue
		}
		changed = changed || value != o.point[p.Name]
		o.point[p.Name] = value
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
		return design.Value{}, fmt.Errorf("between %s and %s", number(*p.Low), number(*p.High))
	}
	return design.NumberValue(x), nil
}

// axisNames are the parameters that can be set, which charts can have along an axis.
func axisNames(d design.Definition) []string {
	var names []string
	for _, p := range d.Parameters {
		if p.Type != design.Remainder {
			names = append(names, p.Name)
		}
	}
	return names
}

// beliefInputs are the form above the charts.
func (v visit) beliefInputs(section *templates.Beliefs, o outlook) {
	d := v.snap.Definition
	section.Metric = templates.Input{Name: "metric", Label: "Map of", Kind: "select", Options: optionsOf(v.metricsShown())}
	if o.x != "" {
		section.Axes[0] = templates.Input{Name: "x", Label: "across", Kind: "select", Options: optionsOf(axisNames(d))}
		section.Axes[1] = templates.Input{Name: "y", Label: "up", Kind: "select", Options: optionsOf(axisNames(d))}
	} else {
		section.Metric.Label = "Metric"
	}
	for i, p := range d.Parameters {
		if p.Type == design.Remainder {
			continue
		}
		in := settingInput(pinField(i), p)
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

func parameter(d design.Definition, name string) design.Parameter {
	for _, p := range d.Parameters {
		if p.Name == name {
			return p
		}
	}
	return design.Parameter{}
}

func plotValue(v design.Value) any {
	if v.IsText {
		return v.Text
	}
	return v.Number
}

func axisOf(p design.Parameter) templates.Axis {
	axis := templates.Axis{Title: axisName(p.Name, p.Unit), Log: p.Scale == "log", Categories: p.Choices}
	axis.Plain = axis.Log && *p.Low >= smallNumber && *p.High < largeNumber
	return axis
}
