package design

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"headroom/internal/optimizer/policy"

	"pgregory.net/rapid"
)

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
func whole(t interface{ Fatal(...any) }, d Definition) map[string]any {
	tree, err := asTree(d)
	if err != nil {
		t.Fatal(err)
	}
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
		c, err := Compile(checked)
		if err != nil {
			t.Fatal(err)
		}
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
	checked, err := d.Check()
	if err != nil {
		t.Fatal(err)
	}
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
