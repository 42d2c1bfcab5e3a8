package policy

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"headroom/internal/must"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	paper := studyOf(1)
	paper.Paper = true
	for _, c := range []struct {
		algorithm, settings string
		study               Context
		paths               string // of the faults, in order
	}{
		{"rpol-ucb", `{}`, studyOf(1), ""},
		{"rpol-ucb", `{"beta": 2, "eta": 0.5, "initial_design": 3, "pending": "ignore", "margin": {"limit1": 0.1}}`, studyOf(1), ""},
		{"rpol-ucb", `{"beta": {"F": 3, "default": null}}`, studyOf(1), ""},
		{"rpol-ucb", `{"beta": {"F": 3, "f": 2}}`, studyOf(1), "beta.f"},
		{"rpol-ucb", `{"beta": {"F": null, "f": 2}}`, studyOf(1), ""},
		{"rpol-ucb", `{"beta": -1}`, studyOf(1), "beta"},
		{"rpol-ucb", `{"beta": 0}`, studyOf(1), ""},
		{"rpol-ucb", `{"beta": {"schedule": "constant", "value": -1}}`, studyOf(1), "beta.value"},
		{"rpol-ucb", `{"beta": 1e13, "eta": 1e-13, "margin": {"limit1": 1e300}}`, studyOf(1), "beta eta margin.limit1"},
		{"penalty-noiseless", `{"psi": {"form": "exponential", "rate": 1e13}}`, studyOf(1), "psi.rate"},
		{"rpol-ucb", `{"beta": "wide"}`, studyOf(1), "beta"},
		{"rpol-ucb", `{"beta": {"schedule": "constant"}}`, studyOf(1), "beta.value"},
		{"rpol-ucb", `{"beta": {"schedule": "theory", "B": 1, "p": 0.1}}`, studyOf(1), "beta.R"},
		{"rpol-ucb", `{"beta": {"schedule": "theory", "B": 1, "R": 1, "p": 1}}`, studyOf(1), "beta.p"},
		{"rpol-ucb", `{"beta": {"schedule": "theory", "B": 1, "R": 1, "value": 2}}`, studyOf(1), "beta.value"},
		{"rpol-ucb", `{"beta": {"schedule": "sqrt_log", "value": 1, "B": 2}}`, studyOf(1), "beta"},
		{"rpol-ucb", `{"beta": {"schedule": "sometimes", "value": 1}}`, studyOf(1), "beta.schedule"},
		{"rpol-ucb", `{"beta": {"schedule": "srinivas", "B": 1}}`, paper, ""},
		{"rpol-ucb", `{"beta": {"schedule": "srinivas", "p": 0.1}}`, studyOf(1), "beta.B"},
		{"rpol-ucb", `{"beta": {"schedule": "srinivas", "B": 1, "R": 1}}`, studyOf(1), "beta.R"},
		{"rpol-ucb", `{"beta": {"schedule": "srinivas", "B": 1, "p": 0}}`, studyOf(1), "beta.p"},
		{"rpol-ucb", `{"beta": {"schedule": "srinivas", "B": 1, "value": 2}}`, studyOf(1), "beta.value"},
		{"rpol-sw-ucb", `{"window": 3, "beta": {"schedule": "srinivas", "B": 1}}`, studyOf(1), "beta.schedule"},
		{"ckb-ucb", `{"beta": {"f": {"schedule": "srinivas", "B": 1}}}`, studyOf(1), "beta.f.schedule"},
		{"penalty-noiseless", `{"acquisition": "thompson"}`, studyOf(1), ""},
		{"penalty-noiseless", `{"acquisition": "random"}`, studyOf(1), "acquisition"},
		{"penalty-noisy", `{"acquisition": "thompson"}`, studyOf(1), "acquisition"},
		{"rpol-ucb", `{"beta": {"schedule": "constant", "value": 1, "width": 1}}`, studyOf(1), "beta.width"},
		{"rpol-ucb", `{"beta": {"taste": 1}}`, studyOf(1), "beta.taste"},
		{"rpol-ucb", `{"eta": -1}`, studyOf(1), "eta"},
		{"rpol-ucb", `{"eta": "1"}`, studyOf(1), "eta"},
		{"rpol-ucb", `{"eta": {"limit1": 1}}`, studyOf(1), "eta"},
		{"rpol-ucb", `{"initial_design": 2.5}`, studyOf(1), "initial_design"},
		{"rpol-ucb", `{"pending": "maybe"}`, studyOf(1), "pending"},
		{"rpol-ucb", `{"margin": {"g1": 1}}`, studyOf(1), "margin.g1"},
		{"rpol-ucb", `{"window": 3}`, studyOf(1), "window"},
		{"rpol-censored-ucb", `{"delay_window": 3, "response_bound": 0}`, studyOf(2), ""},
		{"rpol-censored-ucb", `{"delay_window": 3, "response_bound": {"g1": 1}}`, studyOf(1), "response_bound"},
		{"rpol-censored-ucb", `{"response_bound": 0}`, studyOf(1), "delay_window"},
		{"rpol-censored-ucb", `{"delay_window": 3}`, studyOf(1), "response_bound"},
		{"rpol-censored-ucb", `{"delay_window": 3, ` + theory + `}`, paper, ""},
		{"rpol-sw-ucb", `{}`, studyOf(1), "window"},
		{"rpol-sw-ucb", `{"window": 5}`, studyOf(1), ""},
		{"rpol-sw-ucb", `{"window": 0}`, studyOf(1), "window"},
		{"rpol-sw-ucb", `{"variation_budget": 1}`, studyOf(1), "gamma_T"},
		{"rpol-sw-ucb", `{"variation_budget": 1, "gamma_T": 5}`, studyOf(1), ""},
		{"rpol-sw-ucb", `{"variation_budget": 0, "gamma_T": 5}`, studyOf(1), "variation_budget"},
		{"rpol-sw-ucb", `{"window": 5, "drift_per_round": {"g1": 1}}`, studyOf(1), "gamma_T"},
		{"rpol-sw-ucb", `{"window": 5, "drift_per_round": 1, "gamma_T": 2}`, studyOf(1), ""},
		{"rpol-sw-ucb", `{"window": 5, "drift_per_round": 1, "gamma_T": 2, "drift_width": 1}`, studyOf(1), "drift_per_round"},
		{"rpol-ucb", `{}`, paper, "beta"},
		{"rpol-ucb", `{"beta": {"f": 2}}`, paper, "beta"},
		{"rpol-ucb", `{"beta": {"f": 2, "g1": {"schedule": "theory", "B": 1, "R": 1}}}`, paper, ""},
		{"rpol-ucb", `{"beta": {"schedule": "theory"}}`, paper, "beta.B beta.R"},
		{"rpol-ucb", `{"beta": {"schedule": 5}}`, paper, "beta.schedule"},
		{"log-cei", `{}`, paper, ""},
		{"ckb-ucb", `{}`, paper, "beta slater"},
		{"ckb-ucb", `{"slater": 0.5, ` + theory + `}`, paper, ""},
		{"ckb-ucb", `{"slater": 0.5, "beta": 2}`, paper, "objective_bound"},
		{"ckb-ucb", `{"slater": 0.5, "beta": 2, "objective_bound": 3}`, paper, "constraint_bound"},
		{"ckb-ucb", `{"slater": 0.5, "beta": 2, "objective_bound": 3, "constraint_bound": 1}`, paper, ""},
		{"ckb-ucb", `{"multiplier_cap": {"limit1": 4}, ` + theory + `}`, paper, ""},
		{"ckb-ts", `{` + theory + `}`, paper, "slater"},
		{"ckb-ucb", `{"multiplier_cap": 0}`, studyOf(1), "multiplier_cap"},
		{"ckb-ucb", `{"truncate": "no"}`, studyOf(1), "truncate"},
		{"ckb-ucb", `{"horizon": "doubling"}`, studyOf(2), ""},
		{"ckb-ucb", `{"horizon": "doubling", "step": {"limit2": 3}}`, studyOf(2), "step"},
		{"ckb-ucb", `{"horizon": 64}`, studyOf(1), "horizon"},
		{"ckb-sw-ucb", `{"horizon": "doubling_reuse", "step": 2}`, studyOf(1), "step window"},
		{"ckb", `{"explore_objective": "random", "explore_limits": "thompson"}`, studyOf(1), ""},
		{"ckb", `{"explore_objective": "greedy", "explore_limits": {"limit1": "ucb"}}`, studyOf(1), "explore_objective explore_limits"},
		{"ckb-rand", `{"distribution": "cauchy", "points": 1, "spread": 0}`, studyOf(1), "distribution points spread"},
		{"ckb-restart-ucb", `{}`, studyOf(1), "restart_every"},
		{"ckb-restart-ucb", `{}`, paper, "beta slater restart_every"},
		{"ckb-sw-ucb", `{}`, studyOf(1), "window"},
		{"scgp-ucb", `{}`, studyOf(1), ""},
		{"scgp-ucb", `{}`, knownBefore(studyOf(1)), ""},
		{"scgp-ucb", `{"variant": "ii"}`, knownBefore(studyOf(1)), "slater"},
		{"scgp-ucb", `{"variant": "iii"}`, knownBefore(studyOf(1)), "variant"},
		{"scgp-ucb", `{}`, knownBefore(paper), "beta slater"},
		{"scgp-ucb", `{"slater": 1, ` + theory + `}`, knownBefore(paper), ""},
		{"scgp-ucb", `{"slater": 1, "beta": 2}`, knownBefore(paper), "objective_bound"},
		{"scgp-ucb", `{"schedule_bound": -1}`, knownBefore(studyOf(1)), "schedule_bound"},
		{"penalty-noiseless", `{"psi": {"form": "exponential", "rate": 0}}`, studyOf(1), "psi.rate"},
		{"penalty-noiseless", `{"psi": {"form": "polynomial", "power": 1}}`, studyOf(1), "psi.power"},
		{"penalty-noiseless", `{"psi": {"form": "exponential", "power": 2}}`, studyOf(1), "psi.power"},
		{"penalty-noiseless", `{"psi": {"form": "square"}}`, studyOf(1), "psi.form"},
		{"penalty-noiseless", `{"psi": 3}`, studyOf(1), "psi"},
		{"penalty-noiseless", `{"kappa_max": 0.5, "epoch_length": 0, "reuse": 1}`, studyOf(1), "epoch_length reuse kappa_max"},
		{"penalty-noisy", `{"step": {"limit1": 0.2}}`, studyOf(1), ""},
		{"penalty-noisy", `{"step": {"limit9": 0.2}}`, studyOf(1), "step.limit9"},
		{"igp-ucb", `{"beta": {"f": 1}}`, studyOf(1), ""},
		{"config", `{"on_infeasible": "pray"}`, studyOf(1), "on_infeasible"},
		{"epbo", `{"penalty": -1}`, studyOf(1), "penalty"},
		{"cei", `{"beta": 1}`, studyOf(1), "beta"},
		{"scbo", `{"beta": 1}`, studyOf(1), "beta"},
		{"safeopt", `{"safe_seeds": [{"x": 1}], "lipschitz": 2}`, studyOf(1), ""},
		{"safeopt", `{"safe_seeds": {"x": 1}, "lipschitz": 0}`, studyOf(1), "safe_seeds lipschitz"},
		{"stageopt", `{"seed_rounds": 1}`, studyOf(1), "seed_rounds"},
		{"sgp-ucb", `{"seed_rounds": -1}`, studyOf(1), "seed_rounds"},
		{"random", `{"beta": 1}`, studyOf(1), "beta"},
		{"halton", `{}`, studyOf(0), ""},
		{"simulated-annealing", `{}`, studyOf(1), ""},
	} {
		_, faults := settle(t, c.algorithm, c.settings, c.study)
		var paths []string
		for _, f := range faults {
			paths = append(paths, f.Path)
			if f.Message == "" {
				t.Errorf("%s %s: the fault at %q says nothing", c.algorithm, c.settings, f.Path)
			}
		}
		if got := strings.Join(paths, " "); got != c.paths {
			t.Errorf("%s %s: faults at %q, want %q: %v", c.algorithm, c.settings, got, c.paths, faults)
		}
	}
	if _, faults := settle(t, "rpol-ucb", `{"beta": "theory"}`, studyOf(1)); !strings.Contains(faults[0].Message, `must be a number, or {"schedule": …} with one of constant, sqrt_log, theory`) {
		t.Errorf("a width by its name: %v", faults)
	}
	if _, faults := settle(t, "ckb-restart-ucb", `{"restart_every": 0}`, studyOf(1)); faults[0].Message != "0 is out of range: it must be a number of at least 1 and at most 1e+06" {
		t.Errorf("a number between two others: %v", faults)
	}
	if _, faults := settle(t, "scgp-ucb", `{}`, studyOf(1)); len(faults) != 1 || !strings.Contains(faults[0].Message, "limit1") {
		t.Errorf("scgp-ucb with a learned constraint: %v", faults)
	}
}

// TestDescriptions holds what the API, the form and the documentation rely on.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, d := range Descriptions() {
		if names[d.Name] {
			t.Errorf("%s is listed twice", d.Name)
		}
		names[d.Name] = true
		if d.Title == "" || d.Source == "" || d.Feedback == "" || !strings.HasSuffix(d.Summary, ".") {
			t.Errorf("%s is not described: %+v", d.Name, d)
		}
		text, err := json.Marshal(d.Settings)
		if err != nil || strings.Contains(string(text), "null,\"DefaultMeans\":\"\"") {
			t.Errorf("%s: %v %s", d.Name, err, text)
		}
		seen := map[string]bool{}
		for _, s := range d.Settings {
			if s.Meaning == "" || seen[s.Name] || s.Default == nil && s.DefaultMeans == "" {
				t.Errorf("%s: setting %s is not described once: %+v", d.Name, s.Name, s)
			}
			seen[s.Name] = true
			if n, ok := s.Default.(float64); ok && (s.Low != nil && n < *s.Low || s.High != nil && n > *s.High) {
				t.Errorf("%s: the default of %s is out of its range", d.Name, s.Name)
			}
			if s.Type == Text && !slices.Contains(s.Choices, s.Default.(string)) {
				t.Errorf("%s: the default of %s is none of its choices", d.Name, s.Name)
			}
		}
		if d.NeedsSafeSeeds != seen["safe_seeds"] {
			t.Errorf("%s needs safe seeds: %v, has the setting: %v", d.Name, d.NeedsSafeSeeds, seen["safe_seeds"])
		}
	}
}

// TestDefaultsRoundTrip gives every default explicitly, which must change nothing.
func TestDefaultsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, d := range Descriptions() {
		for _, setting := range d.Settings {
			if setting.Default == nil {
				continue
			}
			value := must.Get(json.Marshal(setting.Default))(t)
			_, faults := d.Resolve(map[string]json.RawMessage{setting.Name: value}, studyOf(1))
			for _, f := range faults {
				if strings.HasPrefix(f.Path, setting.Name) {
					t.Errorf("%s refuses its own default %s = %s: %s", d.Name, setting.Name, value, f.Message)
				}
			}
		}
	}
}

// anyJSON is a JSON value, mostly of the kinds that settings take.
func anyJSON() *rapid.Generator[string] {
	words := []string{`"theory"`, `"constant"`, `"sqrt_log"`, `"gaussian"`, `"uniform"`, `"ii"`, `"stop"`, `"exponential"`, `"polynomial"`, `"ignore"`, `""`}
	numbers := []string{"0", "-1", "1", "2.5", "1e-300", "1e300", "1e999", "1e5", "0.1", "7", "null", "true", "false"}
	keys := []string{"schedule", "value", "B", "R", "p", "form", "rate", "power", "default", "f", "g1", "limit1", "name", "Limit1", "?"}
	return rapid.Custom(func(t *rapid.T) string {
		scalar := rapid.SampledFrom(append(slices.Clone(words), numbers...))
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return scalar.Draw(t, "scalar")
		case 1:
			return "[" + strings.Join(rapid.SliceOfN(scalar, 0, 3).Draw(t, "list"), ",") + "]"
		}
		var fields []string
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 4, rapid.ID[string]).Draw(t, "keys") {
			fields = append(fields, `"`+key+`":`+scalar.Draw(t, "field"))
		}
		return "{" + strings.Join(fields, ",") + "}"
	})
}

// TestAnySettings resolves arbitrary JSON: either it names a fault, or the algorithm works with it
// without a panic or a number that is none.
func TestAnySettings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(Descriptions()).Draw(t, "algorithm")
		study := studyOf(rapid.IntRange(0, 2).Draw(t, "constraints"))
		if d.NeedsGivenConstraint {
			study = knownBefore(study)
		}
		study.Horizon = rapid.SampledFrom([]int{1, 2, 50, 10000}).Draw(t, "horizon")
		study.Paper, study.Standardized = rapid.Bool().Draw(t, "paper"), rapid.Bool().Draw(t, "standardized")
		raw := map[string]json.RawMessage{}
		for _, s := range d.Settings {
			if rapid.Bool().Draw(t, s.Name) {
				raw[s.Name] = json.RawMessage(anyJSON().Draw(t, s.Name+" value"))
			}
		}
		s, faults := d.Resolve(raw, study)
		if len(faults) > 0 {
			return
		}
		p := d.Build(study, s)
		q := p.Start()
		w := WidthInput{Round: 3, Gain: filled(3, 1), Lambda: filled(3, 0.5), Multipliers: q}
		for _, v := range slices.Concat(q, p.Beta(w)) {
			if math.IsNaN(v) {
				t.Fatalf("%s with %s: multipliers %v and widths %v", d.Name, raw, q, p.Beta(w))
			}
		}
		if first := p.Traits().Earliest(9); first < 1 || first > 9 {
			t.Fatalf("%s with %s: decision 9 sees rounds from %d", d.Name, raw, first)
		}
		r := &Revealed{Round: 3, Costs: make([][]float64, len(q)), Own: make([]float64, len(q)), Given: make([]float64, len(q)),
			Since: func(int, int) []float64 { return []float64{0.5} }}
		for _, v := range p.Step(q, r) {
			if math.IsNaN(v) {
				t.Fatalf("%s with %s steps to %v", d.Name, raw, v)
			}
		}
	})
}

// TestPracticalMargin keeps rectified learning clear of learned limits, unless it is told
// otherwise, outputs are raw, or as published.
func TestPracticalMargin(t *testing.T) {
	t.Parallel()
	study := studyOf(3)
	study.Standardized, study.CostMetrics[2] = true, ""
	margins := func(algorithm, settings string, c Context) []float64 {
		t.Helper()
		s, faults := settle(t, algorithm, settings, c)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		var list []float64
		for _, name := range c.Constraints {
			list = append(list, s.Margin(name))
		}
		return list
	}
	published := study
	published.Paper = true
	raw := study
	raw.Standardized = false
	equal(t, "practical", margins("rpol-ucb", `{}`, study), []float64{0.05, 0.05, 0})
	equal(t, "set to 0", margins("rpol-ucb", `{"margin": 0}`, study), []float64{0, 0, 0})
	equal(t, "set for one", margins("rpol-ucb", `{"margin": {"limit1": 0.3}}`, study), []float64{0.3, 0.05, 0})
	equal(t, "as published", margins("rpol-ucb", `{"beta": 2}`, published), make([]float64, 3))
	equal(t, "raw outputs", margins("rpol-ucb", `{}`, raw), make([]float64, 3))
	equal(t, "log-cei", margins("log-cei", `{}`, study), make([]float64, 3))
}

// TestPublishedBounds: as published, estimates are cut at the B and G of their widths, ρ = 4B/δ has
// the same B, and waiting trials do not count.
func TestPublishedBounds(t *testing.T) {
	t.Parallel()
	paper := studyOf(2)
	paper.Paper = true
	widths := `"beta": {"f": {"schedule": "theory", "B": 3, "R": 1}, "g1": {"schedule": "theory", "B": 2, "R": 1}, "default": {"schedule": "theory", "B": 7, "R": 1}}, "slater": 0.5`
	s, faults := settle(t, "ckb-ucb", `{`+widths+`, "objective_bound": null}`, paper)
	if len(faults) > 0 || s.PendingNarrows() {
		t.Fatalf("%v; waiting trials narrow: %v", faults, s.PendingNarrows())
	}
	equal(t, "B, G, G, ρ", []float64{s.Value("objective_bound", ""), s.Value("constraint_bound", "limit1"), s.Value("constraint_bound", "limit2"), s.Value("multiplier_cap", "limit1")},
		[]float64{3, 2, 7, 24})
	mixed := studyOf(2) // whose second limit is known before, and has no width
	mixed.Paper, mixed.Metrics, mixed.CostMetrics[1] = true, mixed.Metrics[:2], ""
	for settings, says := range map[string]string{
		`{"beta": {"schedule": "theory", "B": 3, "R": 1}, "slater": 0.5}`:                                    `; limit2 has none yet: give {"limit2": …}`,
		`{"beta": {"schedule": "theory", "B": 3, "R": 1}, "slater": 0.5, "constraint_bound": {"limit2": 4}}`: "",
		`{"beta": 2, "slater": 0.5, "objective_bound": 1}`:                                                   "or this bound itself",
	} {
		_, faults := settle(t, "ckb-ucb", settings, mixed)
		if good := len(faults) == 0; good != (says == "") || !good && !strings.HasSuffix(faults[0].Message, says) {
			t.Errorf("%s: %v, want %q", settings, faults, says)
		}
	}
	paper = knownBefore(paper)
	s, faults = settle(t, "scgp-ucb", `{"beta": {"schedule": "theory", "B": 3, "R": 1}, "slater": 0.5}`, paper)
	equal(t, "B, B of V, V", []float64{s.Value("objective_bound", ""), s.Value("schedule_bound", ""), s.Value("penalty_scale", "")}, []float64{3, 3, 0.5 / 24})
	if len(faults) > 0 {
		t.Error(faults)
	}
}

// TestFirstDesign is five rounds for the default, and by the number of parameters for the others.
func TestFirstDesign(t *testing.T) {
	t.Parallel()
	study := studyOf(1)
	study.Fitted, study.Dimensions = true, 9
	for algorithm, want := range map[string]int{"log-cei": 5, "rpol-ucb": 11} {
		s, _ := settle(t, algorithm, `{}`, study)
		if got := s.InitialDesign(); got != want {
			t.Errorf("%s starts with %d rounds, want %d", algorithm, got, want)
		}
	}
}

// otherDefaults is the algorithm as a later program could have it, every default another.
func otherDefaults(d Description) Description {
	other := func(s Setting, v any) any {
		switch v := v.(type) {
		case Beta:
			return Beta{Schedule: "sqrt_log", Value: v.Value + 0.75}
		case Psi:
			return Psi{Form: "polynomial", Rate: v.Rate + 1, Power: 3}
		case bool:
			return !v
		case string:
			return s.Choices[(slices.Index(s.Choices, v)+1)%len(s.Choices)]
		case float64:
			return v + 3
		}
		return v
	}
	d.Settings = slices.Clone(d.Settings)
	for i := range d.Settings {
		s := &d.Settings[i]
		s.Default, s.Paper = other(*s, s.Default), other(*s, s.Paper)
		if s.Default == nil {
			s.workOut = func(Context, Settings, string) (float64, bool) { return 1, true }
		}
	}
	return d
}

// drawStudied draws an algorithm with some of its settings, and a study for it.
func drawStudied(t *rapid.T) (Description, map[string]json.RawMessage, Context) {
	d := rapid.SampledFrom(Descriptions()).Draw(t, "algorithm")
	study := studyOf(rapid.IntRange(0, 3).Draw(t, "constraints"))
	if d.NeedsGivenConstraint {
		study = knownBefore(study)
	}
	study.Horizon = rapid.SampledFrom([]int{1, 2, 50, 10000}).Draw(t, "horizon")
	study.Paper, study.Standardized, study.Fitted = rapid.Bool().Draw(t, "paper"), rapid.Bool().Draw(t, "standardized"), rapid.Bool().Draw(t, "fitted")
	settable := map[string][]string{"window": {"5"}, "restart_every": {"7"}, "slater": {"0.5"}, "delay_window": {"2"}, "response_bound": {"0", `{"f": 1, "default": 2}`},
		"beta": {"1.5", `{"schedule": "theory", "B": 1, "R": 0.5}`, `{"schedule": "srinivas", "B": 1}`, `{"f": 3}`, `{"f": {"schedule": "sqrt_log", "value": 0}, "default": null}`}, "variant": {`"ii"`}, "psi": {`{"form": "polynomial"}`},
		"gamma_T": {"4"}, "variation_budget": {"0.1"}, "drift_per_round": {"0.1"}, "multiplier_cap": {"4"}, "most_risk": {"0.1", `{"default": 0.2}`}, "margin": {"0.2", "{}"},
		"horizon": {`"doubling"`, `"doubling_reuse"`, "null"}, "explore_limits": {`"thompson"`}, "acquisition": {`"thompson"`}}
	raw := map[string]json.RawMessage{}
	for _, s := range d.Settings {
		if values := settable[s.Name]; values != nil && rapid.Bool().Draw(t, s.Name) {
			raw[s.Name] = json.RawMessage(rapid.SampledFrom(values).Draw(t, s.Name+" value"))
		}
	}
	return d, raw, study
}

// TestCompleteSettingsNeedNoDefaults changes every default, and what they depend on, under settings
// that were written out: nothing may be read otherwise.
func TestCompleteSettingsNeedNoDefaults(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		d, raw, study := drawStudied(t)
		whole, faults := d.Completed(raw, study)
		if len(faults) > 0 {
			return
		}
		taken[d.Name] = true
		if len(whole) != len(d.Settings) {
			t.Fatalf("%s with %s has %d settings, of which %d are written out", d.Name, raw, len(d.Settings), len(whole))
		}
		later := study
		later.Paper, later.Standardized, later.Fitted, later.Dimensions = !study.Paper, !study.Standardized, !study.Fitted, study.Dimensions+5
		now, faults := d.Read(whole, study)
		then, wrong := otherDefaults(d).Read(whole, later)
		if len(faults) > 0 || len(wrong) > 0 || !reflect.DeepEqual(now, then) {
			t.Fatalf("%s with %s, written out as %s, is read as\n%+v %v\nand with other defaults as\n%+v %v", d.Name, raw, whole, now, faults, then, wrong)
		}
		if before, after := d.Build(study, now), d.Build(later, then); !reflect.DeepEqual(before, after) {
			t.Fatalf("%s with %s is\n%+v\nand with other defaults\n%+v", d.Name, raw, before, after)
		}
		again, faults := d.Completed(whole, study)
		if len(faults) > 0 || !agree(again, whole) {
			t.Fatalf("%s: %s completed again is %s, %v", d.Name, whole, again, faults)
		}
		chosen := d.Chosen(whole, study)
		again, faults = d.Completed(chosen, study)
		if len(faults) > 0 || !agree(again, whole) {
			t.Fatalf("%s: of %s was chosen %s, which completes to %s, %v", d.Name, whole, chosen, again, faults)
		}
		for name := range chosen {
			if _, given := raw[name]; !given {
				t.Fatalf("%s: of %s was chosen %s, though nobody gave %s", d.Name, whole, chosen, name)
			}
		}
	})
	if len(taken) < len(Descriptions())/2 {
		t.Errorf("only %d algorithms were tried", len(taken))
	}
}

// TestReadingMissesWhatIsNotWrittenOut: a setting that is not there is no reason to take the
// default of now.
func TestReadingMissesWhatIsNotWrittenOut(t *testing.T) {
	t.Parallel()
	study := studyOf(1)
	whole, _ := rpolUCB.Completed(nil, study)
	for name := range whole {
		part := maps.Clone(whole)
		delete(part, name)
		if _, faults := rpolUCB.Read(part, study); len(faults) != 1 || faults[0].Path != name {
			t.Errorf("without %s: %v", name, faults)
		}
	}
}

// TestWorkedOutOfRange refuses what could not be given either.
func TestWorkedOutOfRange(t *testing.T) {
	t.Parallel()
	_, faults := ckbUCB.Completed(map[string]json.RawMessage{"constraint_bound": json.RawMessage("1e12"), "multiplier_cap": json.RawMessage("1e-6")}, studyOf(1))
	if len(faults) != 1 || faults[0].Path != "step" {
		t.Errorf("faults %v", faults)
	}
}
