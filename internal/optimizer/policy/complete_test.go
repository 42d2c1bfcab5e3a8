package policy

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

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
		case int:
			return v + 3
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
		if before, after := d.build(study, now), d.build(later, then); !reflect.DeepEqual(before, after) {
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
