package design

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
)

func TestCostsAndMetrics(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	d.Objective.Direction = "minimize"
	d.Constraints = append(d.Constraints,
		Constraint{Name: "worth it", Metric: "yield", Op: ">=", Threshold: 20},
		Constraint{Metric: "heat", Op: "<=", Threshold: 5, Expression: "temperature/10"})
	d.Algorithm.Settings = map[string]json.RawMessage{"margin": rawJSON(`{"default": 0.05, "pH high": 0.1}`)}
	d.Seed = 7
	c := mustCompile(t, d)
	if !slices.Equal(c.MetricNames, []string{"yield", "impurity", "pH"}) || !slices.Equal(c.ConstraintNames, []string{"impurity", "pH low", "pH high", "worth it", "heat"}) {
		t.Errorf("metrics %v, constraints %v", c.MetricNames, c.ConstraintNames)
	}
	want := []optimizer.Cost{
		{Name: "impurity", Metric: 1, Sign: 1, Threshold: 0.5, Margin: 0.05},
		{Name: "pH low", Metric: 2, Sign: -1, Threshold: 7, Margin: 0.05},
		{Name: "pH high", Metric: 2, Sign: 1, Threshold: 8, Margin: 0.1},
		{Name: "worth it", Metric: 0, Sign: -1, Threshold: 20, Margin: 0.05},
		{Name: "heat", Metric: -1, Sign: 1, Threshold: 5, Margin: 0.05, Knowledge: optimizer.Given},
	}
	if !slices.Equal(c.Config.Costs, want) {
		t.Errorf("costs %+v\nwant %+v", c.Config.Costs, want)
	}
	if c.Config.Objective != (optimizer.Objective{Metric: 0, Sign: -1}) || c.Config.Seed != 7 || c.Config.Algorithm != "log-cei" || c.Config.Horizon != 100 {
		t.Errorf("config %+v", c.Config)
	}
	type kind struct{ there, modelled, known bool }
	for name, want := range map[string]kind{"yield": {true, true, false}, "pH": {true, true, false}, "heat": {true, false, true}, "colour": {true, false, false}, "pH low": {}} {
		if m, there := c.Metric(name); (kind{there, m.Modelled, m.Known}) != want {
			t.Errorf("%s is %+v, %v, want %+v", name, m, there, want)
		}
	}
	for wrong, meant := range map[string]string{"Yield": "yield", "PH": "pH", "impurty": "impurity", "pressure": ""} {
		if _, there := c.Metric(wrong); there || closest(wrong, d.MetricNames()) != meant {
			t.Errorf("%s: there %v, meant %q, want %q", wrong, there, closest(wrong, d.MetricNames()), meant)
		}
	}
	names := lists.Map(c.metrics, func(m MetricInfo) string { return m.Name })
	if !slices.Equal(names, []string{"yield", "impurity", "pH", "heat", "colour"}) {
		t.Errorf("all metrics %v", names)
	}
	if m := c.metrics[0]; !m.Modelled || m.Unit != "%" || len(m.Constraints) != 1 {
		t.Errorf("the objective's metric %+v", m)
	}
	if m := c.metrics[3]; !m.Known || m.Modelled {
		t.Errorf("the known metric %+v", m)
	}
}

func TestConstraintsOfOneKnownMetricShareIt(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	for i := 1; i <= 2; i++ {
		d.Constraints[i].Expression = "5 + time"
	}
	c := mustCompile(t, d)
	if !slices.Equal(c.MetricNames, []string{"yield", "impurity"}) {
		t.Errorf("modelled metrics %v", c.MetricNames)
	}
	s := Settings{"temperature": NumberValue(30), "cycles": NumberValue(3), "salt": NumberValue(0.1), "time": NumberValue(0.8), "catalyst": TextValue("B")}
	_, place, _ := c.Place(s, "at")
	known, wrong := c.KnownAt(s, place, Brought{})
	if len(wrong) > 0 || known["pH low"] != 5.8 || known["pH high"] != 5.8 || len(known) != 2 {
		t.Errorf("known %v %v", known, wrong)
	}
}

func TestKnownOfCandidates(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, queue())
	backlog := map[string][]float64{"backlog": {1, 2, 3, 4}}
	known, wrong := c.Known(Brought{map[string]float64{"omega": 2}, backlog})
	if len(wrong) > 0 || known.At != nil || len(known.Arms) != 2 || !slices.Equal(known.Arms[0], []float64{2, -1, -1, -7}) || !slices.Equal(known.Arms[1], []float64{1, 2, 3, 4}) {
		t.Errorf("known %v %v", known, wrong)
	}
	s, place, _ := c.Place(queue().Candidates[3], "at")
	at, wrong := c.KnownAt(s, place, Brought{map[string]float64{"omega": 2}, backlog})
	if len(wrong) > 0 || at["load"] != -7 || at["backlog limit"] != 4 || len(at) != 2 {
		t.Errorf("known at candidate 3: %v %v", at, wrong)
	}
	known, wrong = c.KnownFor([]optimizer.Place{place, {Arm: 0}}, Brought{map[string]float64{"omega": 2}, map[string][]float64{"backlog": {40, 10}}})
	if len(wrong) > 0 || known.Arms[1][3] != 40 || known.Arms[1][0] != 10 || known.Arms[0][3] != -7 {
		t.Errorf("known for two points: %v %v", known, wrong)
	}
}

func TestKnownFaults(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, queue())
	omega, backlog := map[string]float64{"omega": 2}, map[string][]float64{"backlog": {1, 2, 3, 4}}
	for _, test := range []struct {
		name              string
		context           map[string]float64
		values            map[string][]float64
		location, message string
	}{
		{"no context", nil, backlog, "context.omega", "is missing; the constraint load needs it"},
		{"more context", map[string]float64{"omega": 2, "Omega": 1}, backlog, "context.Omega", `did you mean "omega"?`},
		{"infinite context", map[string]float64{"omega": math.Inf(1)}, backlog, "context.omega", "must be a number between -1e100 and 1e100"},
		{"no values", omega, nil, "constraint_values.backlog", "is missing; give 4 numbers, one per candidate"},
		{"one value", omega, map[string][]float64{"backlog": {1}}, "constraint_values.backlog", "has 1 number; give 4, one per candidate"},
		{"too few values", omega, map[string][]float64{"backlog": {1, 2, 3}}, "constraint_values.backlog", "has 3 numbers; give 4, one per candidate"},
		{"values of another metric", omega, map[string][]float64{"backlog": {1, 2, 3, 4}, "load": {1}}, "constraint_values.load", "there is no sampled metric"},
		{"a value that is no number", omega, map[string][]float64{"backlog": {1, 2, math.NaN(), 4}}, "constraint_values.backlog[2]", "must be a number between -1e100 and 1e100"},
	} {
		known, wrong := c.Known(Brought{test.context, test.values})
		wantFault(t, wrong, test.location, test.message)
		at, wrong := c.KnownAt(queue().Candidates[0], c.placeOfArm(0), Brought{test.context, test.values})
		wantFault(t, wrong, test.location, test.message)
		if known.Arms != nil || known.At != nil || at != nil {
			t.Errorf("%s: values in spite of faults: %v, %v", test.name, known, at)
		}
	}
	screen := mustCompile(t, bufferScreen())
	if known, wrong := screen.Known(Brought{}); len(wrong) > 0 || known.Arms != nil || known.At != nil {
		t.Errorf("a study without known constraints: %v %v", known, wrong)
	}
	_, wrong := screen.Known(Brought{Context: map[string]float64{"omega": 1}})
	wantFault(t, wrong, "context.omega", "the study has none")
}

func TestKnownAnywhere(t *testing.T) {
	t.Parallel()
	d := mixture()
	d.Constraints = []Constraint{{Metric: "price", Op: "<=", Threshold: 3, Expression: "omega*a/b", Context: []string{"omega"}}}
	d.Parameters[1].Low = new(1.0)
	d.Constraints[0].Expression = "omega*a/(b - shift)"
	d.Constraints[0].Context = []string{"omega", "shift"}
	c := mustCompile(t, d)
	known, wrong := c.Known(Brought{Context: map[string]float64{"omega": 2, "shift": 0}})
	if len(wrong) > 0 || known.Arms != nil {
		t.Fatalf("known %v %v", known, wrong)
	}
	s := Settings{"a": NumberValue(20), "b": NumberValue(40)}
	kept, place, _ := c.Place(s, "at")
	if v := known.At(0, place.U); math.Abs(v-1) > 1e-12 {
		t.Errorf("price %v, want 1", v)
	}
	if at, wrong := c.KnownAt(kept, place, Brought{Context: map[string]float64{"omega": 2, "shift": 0}}); len(wrong) > 0 || at["price"] != 1 {
		t.Errorf("price %v %v", at, wrong)
	}
	_, wrong = c.Known(Brought{Context: map[string]float64{"omega": 2, "shift": 1}})
	wantFault(t, wrong, "context", "the expression of price has no finite value at")
	_, wrong = c.KnownAt(kept, place, Brought{Context: map[string]float64{"omega": 2, "shift": 40}})
	wantFault(t, wrong, "", "the expression of price has no finite value at a = 20, b = 40")
	known, _ = c.Known(Brought{Context: map[string]float64{"omega": 2, "shift": 40}})
	if v := known.At(0, place.U); v != Largest {
		t.Errorf("where the price has no value it is %v", v)
	}
}

// firstThat is the first algorithm that needs something.
func firstThat(t *testing.T, needs func(policy.Description) bool) string {
	t.Helper()
	all := policy.Descriptions()
	i := slices.IndexFunc(all, needs)
	if i < 0 {
		t.Fatal("no algorithm needs it")
	}
	return all[i].Name
}

func TestSafeSeedsArePlaced(t *testing.T) {
	t.Parallel()
	d := bufferScreen()
	d.Algorithm.Name = firstThat(t, func(a policy.Description) bool { return a.NeedsSafeSeeds })
	_, err := d.Check()
	wantFault(t, faultsOf(t, err), "algorithm.settings.safe_seeds", "give at least one")
	for _, wrong := range []string{`{"temperature": 30}`, `[[30, 3]]`} {
		d.Algorithm.Settings = map[string]json.RawMessage{"safe_seeds": rawJSON(wrong)}
		_, err = d.Check()
		wantFault(t, faultsOf(t, err), "algorithm.settings.safe_seeds", "must be a list of points")
	}
	d.Algorithm.Settings = map[string]json.RawMessage{"safe_seeds": rawJSON("[" + strings.Repeat(`{"temperature": 30}, `, 1000) + `{"temperature": 30}]`)}
	_, err = d.Check()
	wantFault(t, faultsOf(t, err), "algorithm.settings.safe_seeds", "1001 points; at most 1000")
	d.Algorithm.Settings = map[string]json.RawMessage{"safe_seeds": rawJSON(`[{"temperature": 30, "cycles": 3, "salt": 0.1, "time": 0.8, "catalyst": "B"}, {"temperature": 300, "cycles": 3, "salt": 0.1, "time": 0.8, "catalyst": "B"}]`)}
	_, err = d.Check()
	wantFault(t, faultsOf(t, err), "algorithm.settings.safe_seeds[1].temperature", "300 is above the highest, 60")
	d.Algorithm.Settings["safe_seeds"] = rawJSON(`[{"temperature": 30, "cycles": 3, "salt": 0.1, "time": 0.8, "catalyst": "B"}]`)
	if seeds := mustCompile(t, d).Config.SafeSeeds; len(seeds) != 1 || !allNear(seeds[0].U, []float64{0.25, 2.0 / 11, 0.5, 0.2, 0.5}, 1e-12) {
		t.Errorf("safe seeds %v", seeds)
	}
}

func TestKnownConstraintIsNeeded(t *testing.T) {
	t.Parallel()
	name := firstThat(t, func(a policy.Description) bool { return a.NeedsGivenConstraint })
	d := bufferScreen()
	d.Algorithm = Algorithm{Name: name, Preset: "paper"}
	_, err := d.Check()
	if !slices.ContainsFunc(faultsOf(t, err), func(f Fault) bool { return f.Field == "algorithm.name" }) {
		t.Errorf("%v does not ask for a constraint of known form", err)
	}
}

// TestCondition: a comparison holds by the settings' own numbers, a remainder's too, and is refused
// in the words of an input constraint.
func TestCondition(t *testing.T) {
	t.Parallel()
	c := mustCompile(t, mixture())
	at := func(a, b, rest float64) Settings {
		return Settings{"a": NumberValue(a), "b": NumberValue(b), "water": NumberValue(rest)}
	}
	for text, want := range map[string]bool{"a + b > 30": true, "a + b > 40": false, "water <= 60": true, "water < 60": false, "1/(b - 15) > 0": false} {
		holds := must.Get(c.Condition(text))(t)
		if got := holds(at(25, 15, 60)); got != want {
			t.Errorf("%s: holds is %t", text, got)
		}
	}
	for _, text := range []string{"a + b", "a < b < 3", "oil > 3"} {
		if _, err := c.Condition(text); err == nil {
			t.Errorf("%s is taken for a comparison of parameters", text)
		}
	}
}

// drawModel draws what a person may say of the model of two metrics.
func drawModel(t *rapid.T) Model {
	sampled := func(of string, texts ...string) json.RawMessage {
		return json.RawMessage(rapid.SampledFrom(append(texts, "")).Draw(t, of))
	}
	return Model{
		Fit:           rapid.SampledFrom([]string{"", fitFixed, fitMAP}).Draw(t, "fit"),
		Inputs:        rapid.SampledFrom([]string{"", inputsRaw}).Draw(t, "inputs"),
		Kernel:        sampled("kernel", `"se"`, `{"yield": "se"}`, `{"default": "matern32"}`),
		Lengthscales:  sampled("lengthscales", "0.5", `{"impurity": [0.2, 1]}`, `{"default": 2}`),
		Variance:      sampled("variance", "2", `{"yield": 0.5}`),
		Lambda:        sampled("lambda", "0.1", `{"yield": 0.2}`),
		NoiseVariance: sampled("noise", `{"impurity": 0.01}`),
	}
}

// whole are a definition's settings that may be left out, each under its path; the words of the
// model have always been written out.
func whole(t must.T, d Definition) map[string]any {
	tree := must.Get(asTree(d))(t)
	parts := map[string]any{"stop": tree.(map[string]any)["stop"]}
	settings, _ := tree.(map[string]any)["algorithm"].(map[string]any)["settings"].(map[string]any)
	for name, value := range settings {
		parts["settings."+name] = value
	}
	for name, value := range tree.(map[string]any)["model"].(map[string]any) {
		parts["model."+name] = value
	}
	return parts
}

// TestNothingIsLeftToDefaults takes one setting after another from a checked definition: without
// any of them it cannot be computed with. So whatever the defaults will be, a study that has them
// all written out is what it was.
func TestNothingIsLeftToDefaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := example("oven")
		d.Model = drawModel(t)
		d.Algorithm.Name = rapid.SampledFrom([]string{"log-cei", "rpol-ucb", "ckb-ucb", "penalty-noisy"}).Draw(t, "algorithm")
		d.Algorithm.Settings = nil
		checked, err := d.Check()
		if err != nil {
			return // both lambda and noise, say
		}
		c := must.Get(Compile(checked))(t)
		described, _ := policy.Find(d.Algorithm.Name)
		if len(checked.Algorithm.Settings) != len(described.Settings) {
			t.Fatalf("%d of %d settings are written out", len(checked.Algorithm.Settings), len(described.Settings))
		}
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(checked.Algorithm.Settings))).Draw(t, "taken")
		less := checked
		less.Algorithm.Settings = maps.Clone(checked.Algorithm.Settings)
		delete(less.Algorithm.Settings, name)
		if _, err := Compile(less); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
		for part, take := range map[string]func(*Model){"kernel": func(m *Model) { m.Kernel = nil }, "lengthscales": func(m *Model) { m.Lengthscales = nil },
			"variance": func(m *Model) { m.Variance = nil }, "lambda": func(m *Model) { m.Lambda = nil }, "start": func(m *Model) { m.Start = nil }} {
			less := checked
			take(&less.Model)
			if reflect.DeepEqual(less.Model, checked.Model) || part != "start" && part != "kernel" && less.Model.Start != nil {
				continue // it was not there, or was given in place of what a fit finds
			}
			again, err := Compile(less)
			if err == nil && reflect.DeepEqual(again.Config.Metrics, c.Config.Metrics) {
				continue // it says nothing that is not given
			}
			if err == nil || !strings.Contains(err.Error(), "is not written out") {
				t.Errorf("without %s: %v", part, err)
			}
		}
		for _, again := range []Definition{checked, c.Chosen(checked)} {
			if again, err = again.Check(); err != nil || !reflect.DeepEqual(whole(t, again), whole(t, checked)) {
				t.Fatalf("%v: checked again it is\n%v\nand was\n%v", err, whole(t, again), whole(t, checked))
			}
		}
		for part, value := range whole(t, c.Chosen(checked)) {
			if name, of, _ := strings.Cut(part, "."); value != nil && (name == "settings" || of == "start" || name == "stop") {
				t.Errorf("nobody chose %s, %v", part, value)
			}
		}
	})
}

// TestDefaultsFollowWhatTheyComeFrom: what a study has by default follows a change of the horizon
// or of the fit; what somebody chose stays.
func TestDefaultsFollowWhatTheyComeFrom(t *testing.T) {
	t.Parallel()
	d := example("oven")
	d.Algorithm = Algorithm{Name: "ckb-ucb", Horizon: 100, Settings: map[string]json.RawMessage{"slack": json.RawMessage("0.2")}}
	d.Model = Model{Fit: fitFixed, Variance: json.RawMessage("3")}
	checked := must.Get(d.Check())(t)
	want := func(d Definition, parts map[string]any) {
		t.Helper()
		all := whole(t, d)
		for part, value := range parts {
			if !reflect.DeepEqual(all[part], value) {
				t.Errorf("%s is %v, want %v", part, all[part], value)
			}
		}
	}
	want(checked, map[string]any{"settings.step": 5.0, "settings.slack": 0.2, "settings.initial_design": 0.0, "settings.slater": nil,
		"model.lambda": 1.02, "model.lengthscales": 0.3, "model.variance": 3.0, "model.start": nil, "stop": map[string]any{"within": 0.01, "risk": 0.05}})
	c, err := Compile(checked)
	if err != nil {
		t.Fatal(err)
	}
	longer := checked.Algorithm
	longer.Horizon, longer.Settings = 400, map[string]json.RawMessage{"slack": checked.Algorithm.Settings["slack"]}
	after, faults := Reconfiguration{Algorithm: &longer}.Apply(c.Chosen(checked))
	if after, err = after.Check(); err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	want(after, map[string]any{"settings.step": 10.0, "settings.slack": 0.2, "model.lambda": 1.005, "model.variance": 3.0})
	fitted, _ := Reconfiguration{Model: &Model{Fit: fitMAP, Variance: checked.Model.Variance}}.Apply(c.Chosen(checked))
	if after, err = fitted.Check(); err != nil {
		t.Fatal(err)
	}
	want(after, map[string]any{"settings.initial_design": 4.0, "settings.slack": 0.2, "model.lambda": nil, "model.lengthscales": nil, "model.variance": 3.0,
		"model.start": map[string]any{"lengthscale": 0.3, "variance": 1.0, "lambda": 1.02}})
	if metric := mustCompile(t, after).Config.Metrics[0]; !metric.FreeLengthscales || !metric.FreeNoise || metric.FreeVariance {
		t.Errorf("a fit may move %+v", metric)
	}
}

// TestStartsThatAreNone are refused by name.
func TestStartsThatAreNone(t *testing.T) {
	t.Parallel()
	good := Start{Lengthscale: 0.2, Variance: 1, Lambda: 0.5}
	for at, change := range map[string]func(*Definition){
		"model.start.lengthscale": func(d *Definition) { d.Model.Start.Lengthscale = 0 },
		"model.start.variance":    func(d *Definition) { d.Model.Start.Variance = -1 },
		"model.start.lambda":      func(d *Definition) { d.Model.Start.Lambda = 1e300 },
		"model.start":             func(d *Definition) { d.Model.Fit = fitFixed },
	} {
		d := example("oven")
		start := good
		d.Model = Model{Start: &start}
		change(&d)
		_, err := d.Check()
		if err == nil || !slices.ContainsFunc(faultsOf(t, err), func(f Fault) bool { return f.Field == at }) {
			t.Errorf("%s: %v", at, err)
		}
	}
}
