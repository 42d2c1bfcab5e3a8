package pages

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/study/design"
)

func TestSheetTellsChoicesAndRanges(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"temp (°C)\tligand\tn\n20,5\tA\t1\n60\tB\t3\n\n",
		"temp (°C);ligand;n\r\n20,5;A;1\r\n60;B;3\r\n",
		"temp (°C),ligand,n\n20.5,A,1\n60,B,3",
	} {
		s, err := readSheet(text, design.Marks{Decimal: '.'}, "")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if s.names[0] != "temp" || s.units[0] != "°C" {
			t.Errorf("%q: the first column is %q in %q", text, s.names[0], s.units[0])
		}
		want := []design.Settings{
			{"temp": design.NumberValue(20.5), "ligand": design.TextValue("A"), "n": design.NumberValue(1)},
			{"temp": design.NumberValue(60), "ligand": design.TextValue("B"), "n": design.NumberValue(3)},
		}
		if diff := cmp.Diff(want, s.candidates()); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if kind, _, low, high := s.column(0); kind != design.Real || low != 20.5 || high != 60 {
			t.Errorf("%q: the first column is %s from %v to %v", text, kind, low, high)
		}
		if kind, choices, _, _ := s.column(1); kind != design.Categorical || len(choices) != 2 {
			t.Errorf("%q: the second column is %s %v", text, kind, choices)
		}
		if kind, _, _, _ := s.column(2); kind != design.Integer {
			t.Errorf("%q: the third column is %s", text, kind)
		}
	}
	for _, text := range []string{"", "a,b\n", "a,\n1,2", "a,b\n1", "a,b\n1,\n"} {
		if _, err := readSheet(text, design.Marks{Decimal: '.'}, ""); err == nil {
			t.Errorf("readSheet(%q) found nothing wrong", text)
		}
	}
}

func TestFaultsFindTheirFields(t *testing.T) {
	t.Parallel()
	name := defineNames(map[string]bool{"name": true, "parameters.1.high": true, "parameters.1.name": true, "constraints.0.metric": true, "settings.beta.schedule": true, "settings.beta.value": true, "settings.eta": true, "candidates": true})
	for location, want := range map[string]string{
		"name":                               "name",
		"parameters[1].high":                 "parameters.1.high",
		"parameters[1]":                      "parameters.1.name",
		"constraints[0]":                     "constraints.0.metric",
		"algorithm.settings.beta":            "settings.beta.schedule",
		"algorithm.settings.beta.value":      "settings.beta.value",
		"algorithm.settings.eta":             "settings.eta",
		"candidates[17].temperature":         "candidates",
		"nothing":                            "",
		"algorithm.settings.nothing.of.this": "",
	} {
		if got := name(location); got != want {
			t.Errorf("a fault at %s is shown at %q, want %q", location, got, want)
		}
	}
}

func TestLinesComeAndGo(t *testing.T) {
	t.Parallel()
	values := url.Values{"name": {"x"}}
	setRows(values, "parameters", []formRow{{"name": "a", "type": "real"}, {"type": "real"}, {"name": "c", "type": "real"}})
	if !rearrange(values, "remove-parameters.0") || values.Get("parameters.1.name") != "c" {
		t.Errorf("removing the first line left %v", values)
	}
	if !rearrange(values, "add-constraint") || values.Get("constraints.0.op") != "<=" {
		t.Errorf("adding a limit left %v", values)
	}
	dropBlank(values)
	if rows := rowsOf(values, "parameters"); len(rows) != 1 || rows[0]["name"] != "c" {
		t.Errorf("without blank lines there are %v", rows)
	}
	if len(rowsOf(values, "constraints")) != 0 {
		t.Error("the blank limit stayed")
	}
	for _, do := range []string{"", "save", "remove-parameters.7", "remove-nothing.0", "remove-parameters.-1"} {
		if rearrange(values, do) {
			t.Errorf("%q rearranged lines", do)
		}
	}
}

// TestDefaultsAreInWords: a form says of a setting what it is when nothing is typed as people would, an object by its kind and what belongs to it.
func TestDefaultsAreInWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`2.5`: "2.5", `{"kind": "constant", "value": 2}`: "constant, value 2"} {
		if got := plainSetting([]byte(text)); got != want {
			t.Errorf("%s is said as %q, want %q", text, got, want)
		}
	}
}
