package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// drawn is what the property below draws from; t.Fatal of a testing.TB inside a rapid check must be rapid's.
type drawn struct {
	*rapid.T
	b *bench
}

// Numbers up to the limits of what is accepted, and beyond.
var (
	awkward = []float64{0, 1, -1, 0.5, 3, -1000, 1e-9, 1e-150, -1e-200, 5e-324, 1e30, -1e50, 1e99, 1e100, -1e100}
	beyond  = []float64{1.1e100, 1e200, 1e308, -1e308, math.Inf(1), math.NaN()}
)

func (d drawn) number(label string) float64 {
	if pick(d, label+" beyond", false, false, false, false, false, false, false, false, false, true) {
		return rapid.SampledFrom(beyond).Draw(d.T, label)
	}
	return rapid.SampledFrom(awkward).Draw(d.T, label)
}

func pick[V any](d drawn, label string, of ...V) V { return rapid.SampledFrom(of).Draw(d.T, label) }

// definition draws a study of awkward numbers. Most are refused, which is as well.
func (d drawn) definition() design.Definition {
	bounds := func(label string) (low, high *float64, scale string) {
		b := pick(d, label, [2]float64{0, 1}, [2]float64{0, 1}, [2]float64{-1e100, 1e100}, [2]float64{1e9, 1e9 + 5}, [2]float64{1e-300, 3e-300}, [2]float64{1e-100, 1e100}, [2]float64{1e99, 1e100})
		scale = "linear"
		if b[0] > 0 {
			scale = pick(d, label+" scale", "linear", "log")
		}
		return &b[0], &b[1], scale
	}
	s := design.Definition{Name: "Awkward", Objective: design.Objective{Metric: "y", Direction: pick(d, "direction", "maximize", "minimize")}, Seed: 7}
	for _, name := range []string{"a", "b"}[:pick(d, "parameters", 1, 2)] {
		p := design.Parameter{Name: name, Type: design.Real}
		p.Low, p.High, p.Scale = bounds(name)
		s.Parameters = append(s.Parameters, p)
	}
	if pick(d, "candidates", false, false, true) {
		for i := range 4 {
			settings := design.Settings{}
			for _, p := range s.Parameters {
				settings[p.Name] = design.NumberValue(*p.Low + float64(i)/3*(*p.High-*p.Low))
			}
			s.Candidates = append(s.Candidates, settings)
		}
	}
	if pick(d, "learned", true, false) {
		s.Constraints = append(s.Constraints, design.Constraint{Metric: "g", Op: pick(d, "op", "<=", ">="), Threshold: d.number("threshold")})
	}
	if pick(d, "formula", false, true) {
		s.Constraints = append(s.Constraints, design.Constraint{Metric: "known", Op: "<=", Threshold: d.number("known threshold"), Expression: pick(d, "expression", "w", "a*w", "a + w", "w*w", "a/w"), Context: []string{"w"}})
	}
	if s.Candidates != nil && pick(d, "sampled", false, true) {
		s.Constraints = append(s.Constraints, design.Constraint{Metric: "queue", Op: ">=", Threshold: d.number("sampled threshold"), Sampled: true})
	}
	var names []string
	for _, a := range optimizer.Algorithms() {
		names = append(names, a.Name)
	}
	s.Algorithm = design.Algorithm{Name: rapid.SampledFrom(names).Draw(d.T, "algorithm"), Horizon: pick(d, "horizon", 1, 10, 1_000_000)}
	s.Model = design.Model{Inputs: pick(d, "inputs", "unit", "raw"), Outputs: pick(d, "outputs", "raw", "standardize"), Fit: pick(d, "fit", "fixed", "marginal_likelihood"),
		Kernel: rawJSON(pick(d, "kernel", `"matern52"`, `"se"`, `"linear"`, `"matern12"`))}
	if pick(d, "noise given", false, true) {
		s.Model.NoiseVariance = rawJSON(pick(d, "noise", "1e-30", "1e-6", "1e30"))
	}
	s.Algorithm.Settings = d.settings(s)
	return s
}

// settings are those that the algorithm cannot do without.
func (d drawn) settings(s design.Definition) map[string]json.RawMessage {
	seed := design.Settings{}
	for _, p := range s.Parameters {
		seed[p.Name] = design.NumberValue(*p.Low)
	}
	seeds, err := json.Marshal([]design.Settings{seed})
	if err != nil {
		d.Fatal(err)
	}
	given := map[string]json.RawMessage{}
	for _, a := range optimizer.Algorithms() {
		if a.Name != s.Algorithm.Name {
			continue
		}
		for _, setting := range a.Settings {
			switch setting.Name {
			case "safe_seeds":
				given["safe_seeds"] = seeds
			case "window", "restart_every", "delay_window":
				given[setting.Name] = rawJSON("3")
			}
		}
	}
	return given
}

// begin takes in two trials, so that there is something to command about.
func (d drawn) begin() {
	s := d.b.snap
	var titles, cells []string
	for name, value := range s.Compiled().Settings(s.Compiled().Probes()[0]) {
		titles, cells = append(titles, name), append(cells, value.String())
	}
	for _, m := range s.Definition.Metrics() {
		titles, cells = append(titles, m.Name), append(cells, fmt.Sprint(rapid.SampledFrom(awkward).Draw(d.T, m.Name)))
	}
	row := strings.Join(cells, ",")
	rows, _, err := parseCSV(s.Compiled(), strings.NewReader(strings.Join(titles, ",")+"\n"+row+"\n"+row), ImportOptions{})
	if err != nil {
		d.Fatal(err)
	}
	ruled, err := ruleImport(s, s, rows)
	if err == nil {
		d.add(ruled)
	}
	d.refused(err)
}

// add writes what was ruled.
func (d drawn) add(ruled ruling) {
	b := d.b
	b.clock = b.clock.Add(time.Second)
	events, err := ledger.Next(b.snap, b.clock, "Ana", ruled.drafts...)
	if err != nil {
		d.Fatalf("what was ruled cannot be written: %v", err)
	}
	after, err := ledger.Fold("bench", b.snap, events, nil)
	if err != nil {
		d.Fatalf("what was ruled cannot be read again: %v", err)
	}
	b.snap, b.events = b.service.cache.put(after), append(b.events, events...)
}

// send is one more command; whether it is accepted is not the question here.
func (d drawn) send() {
	b, s := d.b, d.b.snap
	if len(s.Trials) == 0 {
		d.begin()
		return
	}
	brought := map[string]float64{}
	values := map[string][]float64{}
	for _, c := range s.Definition.Constraints {
		switch {
		case c.Expression != "":
			brought["w"] = d.number("w")
		case c.Sampled:
			values[c.Metric] = []float64{d.number("v0"), d.number("v1"), d.number("v2"), d.number("v3")}
		}
	}
	readings := func() map[string]ledger.Reading {
		told := map[string]ledger.Reading{}
		for _, name := range s.Compiled().MetricNames {
			reading := ledger.Reading{Value: d.number(name)}
			if pick(d, "with sd", false, false, true) {
				sd := d.number("sd")
				reading.StdDev = &sd
			}
			told[name] = reading
		}
		return told
	}
	number := 1
	if n := len(s.Trials); n > 1 {
		number = rapid.IntRange(1, n).Draw(d.T, "trial")
	}
	var ruled ruling
	var err error
	switch what := pick(d, "command", "ask", "ask", "tell", "tell", "tell", "own", "correct", "exclude", "fail", "replicate", "import", "limit"); what {
	case "ask":
		ruled, err = b.service.ruleAsk(b.Context(), Command{By: "Ana"}, s, Ask{Count: new(pick(d, "count", 1, 2)), Brought: design.Brought{Context: brought, ConstraintValues: values}})
	case "tell":
		ruled, err = ruleTell(s, number, ledger.Telling{Metrics: readings()})
	case "own":
		settings := s.Compiled().Settings(s.Compiled().Probes()[0])
		ruled, err = b.service.ruleOwn(b.Context(), Command{By: "Ana"}, s, OwnTrial{Parameters: settings, Metrics: readings(), Brought: design.Brought{Context: brought, ConstraintValues: values}})
	case "correct":
		corrected := map[string]*ledger.Reading{}
		for name, reading := range readings() {
			corrected[name] = &reading
		}
		ruled, err = ruleCorrect(s, Correction{Number: number, Metrics: corrected, Reason: "typo"})
	case "exclude":
		ruled, err = ruleClose(s, ledger.Excluded, ledger.ClosedData{Number: number, Reason: "odd"})
	case "fail":
		ruled, err = ruleClose(s, ledger.Failed, ledger.ClosedData{Number: number, Reason: "broke", Cause: ledger.BySettings})
	case "replicate":
		ruled, err = b.service.ruleReplicate(b.Context(), Command{By: "Ana"}, s, number)
	case "import":
		var table strings.Builder
		settings := s.Compiled().Settings(s.Compiled().Probes()[0])
		var titles, cells []string
		for _, p := range s.Definition.Parameters {
			titles, cells = append(titles, p.Name), append(cells, settings[p.Name].String())
		}
		for _, name := range s.Definition.MetricNames() {
			titles, cells = append(titles, name), append(cells, fmt.Sprint(d.number(name)))
		}
		fmt.Fprintf(&table, "%s\n%s\n", strings.Join(titles, ","), strings.Join(cells, ","))
		var rows []importRow
		if rows, _, err = parseCSV(s.Compiled(), strings.NewReader(table.String()), ImportOptions{}); err == nil {
			ruled, err = ruleImport(s, s, rows)
		}
	case "limit":
		if len(s.Definition.Constraints) > 0 {
			c := s.Definition.Constraints[0]
			c.Threshold = d.number("new limit")
			ruled, err = ruleReconfigure(s, design.Reconfiguration{Constraints: []design.Constraint{c}, Reason: "new limit"})
		}
	}
	if err == nil && len(ruled.drafts) > 0 {
		d.add(ruled)
		return
	}
	d.refused(err)
}

// refused fails unless err is one that a caller is told of as their own.
func (d drawn) refused(err error) {
	if !callers(err) {
		d.Fatalf("refused with %v", err)
	}
}

// callers tells whether err is none, or one that a caller is told of as their own.
func callers(err error) bool {
	var invalid *design.Invalid
	return err == nil || errors.As(err, &invalid) || errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound)
}

// read reads everything there is to read of the study and fails unless all of it can be told.
func (d drawn) read() {
	if err := readable(d.b.Context(), d.b.service, d.b.snap); err != nil {
		d.Fatal(err)
	}
	verified, err := verifyEvents(d.b.Context(), d.b.events, ledger.CheckChain(d.b.events))
	if err != nil || !verified.OK {
		text, _ := json.Marshal(verified.Different)
		d.Fatalf("an honest ledger is called false: %v, %s", err, text)
	}
	if pick(d, "compare", false, false, false, true) {
		choices, err := d.b.service.Compare(d.b.Context(), d.b.snap, []design.Algorithm{{Name: "rpol-ucb"}, {Name: "cei"}})
		d.refused(err)
		if _, err := json.Marshal(choices); err != nil {
			d.Fatal(err)
		}
	}
}

// readable reads what is shown of a study; the error is one that no caller should meet. What cannot be computed may be refused.
func readable(ctx context.Context, s *Service, snap *ledger.Snapshot) error {
	settings := snap.Compiled().Settings(snap.Compiled().Probes()[0])
	for what, read := range map[string]func() (any, error){
		"state":     func() (any, error) { return s.StateOf(ctx, snap) },
		"history":   func() (any, error) { return s.HistoryOf(ctx, snap) },
		"posterior": func() (any, error) { return s.PosteriorAt(ctx, snap, []design.Settings{settings}) },
		"slices":    func() (any, error) { return s.Slices(ctx, snap, settings, 3) },
		"acquisition": func() (any, error) {
			return s.AcquisitionAt(ctx, snap, AcquisitionQuery{Points: []design.Settings{settings}, Brought: design.Brought{Context: map[string]float64{"w": 1}}})
		},
		"trials":    func() (any, error) { return snap.Trials, nil },
		"summary":   func() (any, error) { return snap.Summary(), nil },
		"violation": func() (any, error) { return snap.ViolationSoFar(), nil },
		"best":      func() (any, error) { return snap.BestSoFar(), nil },
		"table":     func() (any, error) { return nil, WriteCSV(io.Discard, snap.Definition, snap.Trials, snap.Chosen) },
	} {
		value, err := read()
		if errors.Is(err, ErrConflict) && !strings.Contains(err.Error(), "cannot be computed") || err != nil && !callers(err) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if _, err := json.Marshal(value); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// TestNoCommandPoisonsAStudy: whatever was accepted, everything can be read.
func TestNoCommandPoisonsAStudy(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		d := drawn{T: r}
		definition := d.definition()
		if _, err := definition.Check(); err != nil {
			return
		}
		d.b = newBench(t, definition)
		for range rapid.IntRange(1, 12).Draw(r, "commands") {
			d.send()
		}
		d.read()
	})
}

// poisoned is a study as one could become before known values were bounded: two decisions made under a context of 1e308.
func poisoned(t *testing.T) *bench {
	d := oven()
	d.Constraints = append(d.Constraints, design.Constraint{Metric: "load", Op: "<=", Threshold: -1e30, Expression: "w + 0*temperature", Context: []string{"w"}})
	b := newBench(t, d)
	for i := range 3 {
		b.ask0(t, i+1, 1e308)
		b.tell(i+1, map[string]float64{"yield": float64(i), "impurity": 0.1})
	}
	b.must(b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{Brought: design.Brought{Context: map[string]float64{"w": 1}}}))
	return b
}

// ask0 begins a trial whose known value is beyond what is accepted now.
func (b *bench) ask0(t *testing.T, number int, w float64) {
	t.Helper()
	asked, err := b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{Brought: design.Brought{Context: map[string]float64{"w": 1}}})
	if err != nil {
		t.Fatal(err)
	}
	chosen := asked.drafts[len(asked.drafts)-1].Data.(ledger.ChosenData)
	chosen.Context, chosen.KnownValues = map[string]float64{"w": w}, map[string]float64{"load": w}
	chosen.Decision.Beta, chosen.Decision.Multipliers = nil, nil
	b.must(ruling{drafts: []ledger.Draft{{Kind: ledger.Chosen, Data: chosen}}, numbers: []int{number}}, nil)
}

// TestAPoisonedStudyOpensAgain: what was accepted once is counted as the largest that is accepted now, and that is said.
func TestAPoisonedStudyOpensAgain(t *testing.T) {
	t.Parallel()
	b := poisoned(t)
	s, ctx, snap := b.service, t.Context(), b.snap
	state, err := s.StateOf(ctx, snap)
	must(t, state, err)
	if v := state.Violation["load"]; v.Rounds != 4 || !(v.Hard >= 3e100 && v.Hard < 4e100) {
		t.Errorf("violation %+v", v)
	}
	if len(state.Notes) != 1 || !strings.Contains(state.Notes[0], "load") || !strings.Contains(state.Notes[0], "trials 1, 2 and 3") {
		t.Errorf("notes %q", state.Notes)
	}
	rows, err := s.HistoryOf(ctx, snap)
	must(t, rows, err)
	if rows[2].Values["load"] != 1e308 {
		t.Errorf("what was read is told as it is: %v", rows[2].Values)
	}
	for _, trial := range snap.Trials {
		must(t, trial, nil)
	}
	must(t, snap.ViolationSoFar(), nil)
	posterior, err := s.PosteriorAt(ctx, snap, []design.Settings{snap.Trial(1).Parameters})
	must(t, posterior, err)
	must(t, nil, WriteCSV(io.Discard, snap.Definition, snap.Trials, snap.Chosen))
	verified, err := verifyEvents(ctx, b.events, ledger.CheckChain(b.events))
	must(t, verified, err)
	if !verified.LedgerIntact || verified.Checked != 4 {
		t.Errorf("verified %+v", verified)
	}
	_, err = s.ruleReplicate(ctx, Command{}, snap, 1)
	b.refused(ruling{}, err, ErrConflict, "cannot be repeated")
}
