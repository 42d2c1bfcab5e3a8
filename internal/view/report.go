package view

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/study/design"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// BelowNext is everything below the next trial.
func (v Facts) BelowNext() (templates.Whole, error) {
	list, err := v.Ledger()
	whole := templates.Whole{Trials: v.Trials(), Ledger: list}
	if !v.Working {
		whole.Progress, whole.Beliefs = v.Progress(), v.Beliefs()
	}
	return whole, err
}

// Content is everything below the board's slider.
func (v Facts) Content() (templates.Board, error) {
	board := templates.Board{
		Study: v.Head, Description: Markdown(v.Snap.Definition.Description), At: v.Snap.Version, Last: v.Board.Entries, Past: v.At > 0, Hash: v.Snap.Hash,
		Moment: v.stamp(v.Board.Last.At), Work: v.Work(), Status: v.Status(), Verdict: v.Verdict(), Verified: v.Verified(),
	}
	entry, err := v.entryOf(v.Board.Last)
	if err != nil {
		return board, err
	}
	board.Event = entry.By + " " + entry.Text + "."
	if board.Amends, err = v.amends(); err != nil {
		return board, err
	}
	board.Whole, err = v.BelowNext()
	return board, err
}

// Report is the study in one file: the sections of its board, as paper has them, and what it is.
func (v Facts) Report() (templates.Report, error) {
	board, err := v.Content()
	d := v.Snap.Definition
	return templates.Report{Board: board, Made: words.Exact(v.Now), Parameters: parameterTable(d), Facts: studyFacts(d)}, err
}

// parameterTable lists what can be set.
func parameterTable(d design.Definition) templates.Table {
	table := templates.Table{Head: []templates.Column{column("Parameter"), column("Kind"), number("From", ""), number("To", ""), column("Unit"), column("Choices, steps")}}
	for _, p := range d.Parameters {
		more := strings.Join(p.Choices, ", ")
		switch {
		case p.Type == design.Remainder && p.Total != nil:
			more = "what is left of " + words.Number(*p.Total)
		case p.Step != nil:
			more = "in steps of " + words.Number(*p.Step)
		case p.Logarithmic():
			more = "logarithmic"
		}
		table.Rows = append(table.Rows, []string{p.Name, string(p.Type), optionalNumber(p.Low), optionalNumber(p.High), p.Unit, more})
	}
	return table
}

func optionalNumber(x *float64) string {
	if x == nil {
		return ""
	}
	return words.Number(*x)
}

// studyFacts are how the study decides.
func studyFacts(d design.Definition) []templates.Fact {
	wanted := words.Either(d.Objective.Direction == "minimize", "as low as possible", "as high as possible")
	algorithm := Algorithm(d.Algorithm.Name)
	facts := []templates.Fact{
		{Name: "Objective", Value: words.AxisName(d.Objective.Metric, d.Objective.Unit) + ", " + wanted},
		{Name: "Algorithm", Value: algorithm.Title + " (" + algorithm.Name + ")", Meaning: algorithm.Source},
		{Name: "Trials planned", Value: strconv.Itoa(d.Algorithm.Horizon)},
		{Name: "Model", Value: "kernel " + plainJSON(d.Model.Kernel) + ", hyperparameters " + strings.ReplaceAll(d.Model.Fit, "_", " ")},
		{Name: "Seed", Value: strconv.FormatUint(d.Seed, 10)},
	}
	for _, rule := range d.InputConstraints {
		facts = append(facts, templates.Fact{Name: "Rule for the settings", Value: rule})
	}
	return facts
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
	chosen := BeliefsQuery(v.Query, v.Snap)
	chosen.Del("others")
	section.Set = len(chosen) > 0
	section.Slices = new(o.sliceGrid())
	if o.X != "" {
		section.Map = new(o.mapChart())
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
	case len(metricsShown(v.Snap)) > 0:
		return ""
	case v.Snap.State.Over():
		return "The study ended before the model had begun."
	case v.fitComes():
		return "The model is fitted when the next trial is asked for; its picture of each metric will then be drawn here."
	}
	return "The model begins when the first few trials have shown how large the values are; its picture of each metric will then be drawn here."
}

// inputs are the form above the charts.
func (o Outlook) inputs(section *templates.Beliefs) {
	d := o.Snap.Definition
	section.Metric = templates.Input{Name: "metric", Label: "Map of", Kind: "select", Options: optionsOf(metricsShown(o.Snap))}
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

// otherAlgorithms are asked what they would do next.
var otherAlgorithms = []string{"log-cei", "rpol-ucb", "ckb-ucb", "scbo"}

// OtherAlgorithms are asked what they would do next on the same readings.
func OtherAlgorithms(d design.Definition) []string {
	return slices.DeleteFunc(slices.Clone(otherAlgorithms), func(name string) bool { return name == d.Algorithm.Name })
}

// choices are what other algorithms would do next, as points on the map and in words.
func (o Outlook) choices(onto *templates.Chart) []templates.Fact {
	if len(o.Choices) == 0 {
		return []templates.Fact{{Name: "None", Value: "The other algorithms cannot choose here without being told more."}}
	}
	var list []templates.Fact
	points := chart.Trace{Name: "other algorithms’ next", Style: chart.Other}
	for _, choice := range o.Choices {
		list = append(list, templates.Fact{Name: choice.Name, Value: choice.Because})
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
