package study

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"headroom/internal/memory/memorytest"
	"headroom/internal/must"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// locked is a store whose studies cannot be written to: what is refused for what it is must not get
// so far as to lock one.
type locked struct {
	Store
	events []ledger.Event
}

func (s locked) Events(_ context.Context, _ string, after int64, _ int) ([]ledger.Event, error) {
	return s.events[after:], nil
}

func (s locked) Write(context.Context, string, Command, Known, func([]ledger.Event) (Append, error)) error {
	return fmt.Errorf("the study was locked")
}

func (s locked) Choosing(context.Context, string, func(context.Context) error) error {
	return fmt.Errorf("the study was locked")
}

// TestWhatIsWrongIsToldInLittleAndWithoutALock: a command that is wrong in very many ways costs
// little and keeps nobody waiting.
func TestWhatIsWrongIsToldInLittleAndWithoutALock(t *testing.T) {
	b := newBench(t, queue())
	b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: b.snap.Definition.Candidates[1],
		Brought: design.Brought{Context: map[string]float64{"omega": 2}, ConstraintValues: map[string][]float64{"backlog": {0, 2, 3, 4}}}}))
	service := NewService(locked{events: b.events}, Options{})
	t.Cleanup(service.Stop)
	const many = 60_000
	name := func(i int) string { return fmt.Sprintf("%s%d", strings.Repeat("backlo", 30), i) }
	readings, corrections := map[string]ledger.Reading{}, map[string]*ledger.Reading{}
	context, values, settings := map[string]float64{}, map[string][]float64{}, design.Settings{}
	var tellings []NumberedTelling
	for i := range many {
		readings[name(i)], corrections[name(i)] = ledger.Reading{Value: 1}, nil
		context[name(i)], values[name(i)], settings[name(i)] = 1, nil, design.NumberValue(1)
		tellings = append(tellings, NumberedTelling{1, ledger.Telling{Metrics: map[string]ledger.Reading{"backlok": {}}}})
	}
	id := b.snap.ID
	for what, send := range map[string]func() error{
		"metrics of a tell": func() error {
			_, err := service.Tell(t.Context(), Command{}, id, 1, ledger.Telling{Metrics: readings})
			return err
		},
		"settings of a tell": func() error {
			_, err := service.Tell(t.Context(), Command{}, id, 1, ledger.Telling{Parameters: settings})
			return err
		},
		"a tell of too many trials": func() error {
			_, err := service.TellMany(t.Context(), Command{}, id, tellings)
			return err
		},
		"a tell of many trials": func() error {
			_, err := service.TellMany(t.Context(), Command{}, id, tellings[:9000])
			return err
		},
		"a note like a library": func() error {
			_, err := service.Tell(t.Context(), Command{}, id, 1, ledger.Telling{Note: strings.Repeat("n", 8<<20)})
			return err
		},
		"metrics of a correction": func() error {
			_, err := service.Correct(t.Context(), Command{}, id, Correction{Number: 1, Metrics: corrections, Reason: "typo"})
			return err
		},
		"settings of a correction": func() error {
			_, err := service.Correct(t.Context(), Command{}, id, Correction{Number: 1, Parameters: settings, Reason: "typo"})
			return err
		},
		"a reason like a library": func() error {
			_, err := service.Close(t.Context(), Command{}, id, ledger.Failed, ledger.ClosedData{Number: 1, Cause: ledger.BySettings, Reason: strings.Repeat("n", 8<<20)})
			return err
		},
		"context of an ask": func() error {
			_, _, err := service.Ask(t.Context(), Command{}, id, Ask{Brought: design.Brought{Context: context}})
			return err
		},
		"values of an ask": func() error {
			_, _, err := service.Ask(t.Context(), Command{}, id, Ask{Brought: design.Brought{Context: map[string]float64{"omega": 1}, ConstraintValues: values}})
			return err
		},
		"metrics of an own trial": func() error {
			_, _, err := service.AddTrial(t.Context(), Command{}, id, OwnTrial{Parameters: b.snap.Definition.Candidates[0], Metrics: readings})
			return err
		},
		"settings of an own trial": func() error {
			_, _, err := service.AddTrial(t.Context(), Command{}, id, OwnTrial{Parameters: settings})
			return err
		},
		"points of a posterior": func() error {
			_, err := service.PosteriorAt(t.Context(), b.snap, []design.Settings{settings, settings})
			return err
		},
		"names in an edit": func() error {
			text := strings.Repeat("n", 8<<20)
			_, err := service.Edit(t.Context(), Command{}, id, ledger.EditedData{Name: &text, Description: &text})
			return err
		},
	} {
		toldInLittle(t, what, 64, send)
	}
}

// TestDefinitionsThatAreWrongInManyWays: the same of a definition.
func TestDefinitionsThatAreWrongInManyWays(t *testing.T) {
	const many = 60_000
	text := func(i int) string { return fmt.Sprintf("temperatur%d", i) }
	byName := map[string]int{}
	var parameters []design.Parameter
	var constraints []design.Constraint
	var recorded []design.RecordedMetric
	var names []string
	var numbers []design.Value
	candidates := make([]design.Settings, 10_000)
	for i := range many {
		byName[text(i)] = i
		parameters = append(parameters, design.Parameter{Name: text(i), Type: design.Remainder, Of: []string{text(i + 1)}})
		constraints = append(constraints, design.Constraint{Metric: text(i), Op: "<"})
		recorded = append(recorded, design.RecordedMetric{Metric: text(i % 100)})
		names = append(names, text(i))
		numbers = append(numbers, design.TextValue(text(i)))
	}
	for i := range candidates {
		candidates[i] = design.Settings{text(i): design.NumberValue(1)}
	}
	keyed := must.Get(json.Marshal(byName))(t)
	for what, change := range map[string]func(*design.Definition){
		"parameters":  func(d *design.Definition) { d.Parameters = parameters },
		"a remainder": func(d *design.Definition) { d.Parameters[0].Type, d.Parameters[0].Of = design.Remainder, names },
		"choices": func(d *design.Definition) {
			d.Parameters[0] = design.Parameter{Name: "x", Type: design.Categorical, Choices: names}
		},
		"constraints":       func(d *design.Definition) { d.Constraints = constraints },
		"recorded metrics":  func(d *design.Definition) { d.RecordedMetrics = recorded },
		"contexts":          func(d *design.Definition) { d.Constraints[0].Expression, d.Constraints[0].Context = "a", names },
		"candidates":        func(d *design.Definition) { d.Candidates = candidates },
		"input constraints": func(d *design.Definition) { d.InputConstraints = names },
		"what has run out":  func(d *design.Definition) { d.Unavailable = map[string][]design.Value{"cycles": numbers} },
		"lengthscales":      func(d *design.Definition) { d.Model.Lengthscales = keyed },
		"kernels":           func(d *design.Definition) { d.Model.Kernel = keyed },
		"variances":         func(d *design.Definition) { d.Model.Variance = keyed },
		"an unknown setting": func(d *design.Definition) {
			d.Algorithm.Settings = map[string]json.RawMessage{strings.Repeat("b", 8<<20): keyed}
		},
		"a setting by name": func(d *design.Definition) { d.Algorithm.Settings = map[string]json.RawMessage{"margin": keyed} },
		"safe seeds":        func(d *design.Definition) { d.Algorithm.Settings = map[string]json.RawMessage{"safe_seeds": keyed} },
		"a name":            func(d *design.Definition) { d.Objective.Metric = strings.Repeat("µ", 4<<20) },
		"an algorithm":      func(d *design.Definition) { d.Algorithm.Name = strings.Repeat("µ", 4<<20) },
		"a unit":            func(d *design.Definition) { d.Objective.Unit = strings.Repeat("µ", 4<<20) },
		"an expression": func(d *design.Definition) {
			d.Constraints[0].Expression = "(" + strings.Repeat("(", 900) + "temperature" + strings.Repeat(")", 10)
		},
	} {
		d := oven()
		change(&d)
		toldInLittle(t, what, 128, func() error {
			_, err := d.Check()
			return err
		})
	}
}

// toldInLittle: what is found wrong is told in little, and finding it allocates no more than so
// many MB.
func toldInLittle(t *testing.T, what string, most int, find func() error) {
	t.Helper()
	start := time.Now()
	var err error
	allocated := memorytest.Allocated(func() { err = find() }) >> 20
	took := time.Since(start)
	faults := faultsOf(t, err)
	told, err := json.Marshal(faults)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d faults in %d bytes, %d MB, %v", what, len(faults), len(told), allocated, took)
	if len(faults) > design.MostFaults || len(told) > 200<<10 || allocated > most {
		t.Errorf("%s: %d faults in %d bytes, %d MB", what, len(faults), len(told), allocated)
	}
}
