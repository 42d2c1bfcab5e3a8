package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// twoLimits is a study of two limits.
const twoLimits = `{"name": "Two limits",
	"parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}],
	"objective": {"metric": "yield", "direction": "maximize", "unit": "%"},
	"constraints": [{"metric": "impurity", "op": "<=", "threshold": 0.5, "unit": "%"}, {"metric": "pressure", "op": "<=", "threshold": 4, "unit": "bar"}],
	"algorithm": {"name": "log-cei", "horizon": 20}, "seed": 7}`

// bench is a ledger in a test, and what its pages are made from.
type bench struct {
	testing.TB
	snap   *ledger.Snapshot
	clock  time.Time
	events []ledger.Event
	reads  bool // the viewer may only look
}

func newBench(t testing.TB, definition string) *bench {
	t.Helper()
	var d design.Definition
	must.Do(t, json.Unmarshal([]byte(definition), &d))
	checked := must.Get(d.Check())(t)
	b := &bench{TB: t, clock: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	b.add(ledger.Created, ledger.CreatedData{Definition: checked})
	return b
}

// add adds one event to the ledger.
func (b *bench) add(kind ledger.Kind, data any) {
	b.Helper()
	b.clock = b.clock.Add(time.Second)
	events, err := ledger.Next(b.snap, b.clock, "Ana", ledger.Draft{Kind: kind, Data: data})
	if err == nil {
		b.snap, err = ledger.Fold("bench", b.snap, events, nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.events = append(b.events, events...)
}

// ask begins a trial at x.
func (b *bench) ask(x float64) int {
	b.Helper()
	number := len(b.snap.Trials) + 1
	b.add(ledger.Chosen, ledger.ChosenData{Number: number, Origin: ledger.Suggested, Seen: b.snap.Version, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(x)}})
	return number
}

func (b *bench) tell(number int, metrics map[string]float64) {
	b.Helper()
	readings := map[string]ledger.Reading{}
	for name, value := range metrics {
		readings[name] = ledger.Reading{Value: value}
	}
	b.add(ledger.Told, ledger.ToldData{Number: number, Telling: ledger.Telling{Metrics: readings}})
}

func (b *bench) end(kind ledger.Kind, number int) {
	b.Helper()
	data := ledger.ClosedData{Number: number, Reason: "pump"}
	if kind == ledger.Failed {
		data.Cause = ledger.BySettings
	}
	b.add(kind, data)
}

func (b *bench) become(state ledger.State) {
	b.Helper()
	b.add(ledger.Edited, ledger.EditedData{State: &state})
}

// limit changes the threshold of a limit.
func (b *bench) limit(j int, to float64) {
	b.Helper()
	d := b.snap.Definition
	d.Constraints = slices.Clone(d.Constraints)
	d.Constraints[j].Threshold = to
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{}, Reason: "new rule"})
}

// curve makes n trials with results along x; shift raises both limits' metrics.
func (b *bench) curve(n int, shift float64, metrics ...string) {
	b.Helper()
	for i := range n {
		x := float64(i) / float64(n)
		values := map[string]float64{"yield": 60 + 30*x + float64(i%3)*0.3, "impurity": 0.1 + 0.6*x + shift + float64(i%2)*0.01, "pressure": 1 + x + shift}
		told := map[string]float64{}
		for _, metric := range metrics {
			told[metric] = values[metric]
		}
		b.tell(b.ask(x), told)
	}
}

// fit fits the model of every metric.
func (b *bench) fit() {
	b.Helper()
	data := ledger.FittedData{From: len(b.snap.Trials) + 1, Metrics: map[string]ledger.FittedMetric{}}
	for _, metric := range Modelled(b.snap.Definition) {
		data.Metrics[metric] = ledger.FittedMetric{FittedMetric: optimizer.FittedMetric{Scale: 1, Variance: 1, Lambda: 0.1, Lengthscales: []float64{0.3}}}
	}
	b.add(ledger.Fitted, data)
}

// facts are what a page is made from, with the figures that follow from the readings alone;
// recommended is the trial whose settings the model recommends, 0 for none.
func (b *bench) facts(recommended int) Facts {
	v := Facts{Asked: Asked{Now: b.clock, Head: templates.StudyHead{ID: "bench", Operates: !b.reads, State: b.snap.State}, URL: "/studies/bench", Parts: true}, Snap: b.snap, Key: "person:ana key", Entries: b.events}
	v.Readout = study.Readout{Version: b.snap.Version, Violation: map[string]study.ViolationOut{}, Metrics: map[string]study.MetricState{}}
	for i, running := range b.snap.ViolationSoFar() {
		row := study.HistoryRow{Number: i + 1, Violation: map[string]study.ViolationOut{}}
		for j, sum := range running {
			out := study.ViolationOut{Tally: sum}
			row.Violation[b.snap.Definition.Constraints[j].Name], v.Readout.Violation[b.snap.Definition.Constraints[j].Name] = out, out
		}
		v.History = append(v.History, row)
	}
	if t := b.snap.Trial(recommended); t != nil {
		believed := study.Believed{Mean: map[string]float64{}, SD: map[string]float64{}, ReadingSD: map[string]float64{}, Lower95: map[string]float64{}, Upper95: map[string]float64{}, FeasibilityProbability: 0.93}
		for metric, m := range t.Metrics {
			believed.Mean[metric], believed.SD[metric], believed.ReadingSD[metric], believed.Lower95[metric], believed.Upper95[metric] = m.Value, 0.1, 0.2, m.Value-0.2, m.Value+0.2
		}
		v.Readout.Recommendation = &study.Recommendation{Number: recommended, Parameters: t.Parameters, Believed: believed}
	}
	return v
}

// says fails unless a text has some words and not others.
func says(t testing.TB, where, text string, there, gone []string) {
	t.Helper()
	text = strings.ReplaceAll(text, "\u202f", " ")
	for _, words := range there {
		if !strings.Contains(text, words) {
			t.Errorf("%s does not say %q: %s", where, words, text)
		}
	}
	for _, words := range gone {
		if strings.Contains(text, words) {
			t.Errorf("%s says %q: %s", where, words, text)
		}
	}
}

// whole is all that a view model holds, as text.
func whole(model any) string { return fmt.Sprintf("%+v", model) }
