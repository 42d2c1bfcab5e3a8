package view

import (
	"net/url"
	"slices"
	"testing"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// TestAPointOfOnesOwnIsOneThatCanBeSet: what cannot be is marked at its field, and the charts stay
// where they were.
func TestAPointOfOnesOwnIsOneThatCanBeSet(t *testing.T) {
	t.Parallel()
	b := newBench(t, `{"name": "Pins", "parameters": [{"name": "x", "type": "integer", "low": 1, "high": 12}, {"name": "solvent", "type": "categorical", "choices": ["water", "toluene"]}],
		"objective": {"metric": "yield", "direction": "maximize"}, "algorithm": {"name": "random", "horizon": 20}, "seed": 7}`)
	b.ask(3)
	for text, want := range map[string]string{"5": "", "2.5": "a whole number between 1 and 12", "13": "a whole number between 1 and 12", "many": "write a number such as 0.31 or 0,31"} {
		v := b.facts(0)
		v.Query = url.Values{"pin.0": {text}}
		o := v.Outlook()
		if at := o.Point["x"] == design.NumberValue(5); o.form.Fault("pin.0") != want || at != (want == "") {
			t.Errorf("%q is at fault by %q, and the charts pass through %v", text, o.form.Fault("pin.0"), o.Point["x"])
		}
	}
	v := b.facts(0)
	v.Query = url.Values{"pin.1": {"ethanol"}}
	if o := v.Outlook(); o.form.Fault("pin.1") != "choose one of the list" {
		t.Errorf("a choice that there is not is at fault by %q", o.form.Fault("pin.1"))
	}
}

// TestNoMapOfTooManyChoices: two parameters with a thousand choices each took 40 GB, and the
// program with them.
func TestNoMapOfTooManyChoices(t *testing.T) {
	t.Parallel()
	d := design.Definition{Parameters: []design.Parameter{{Name: "x"}, {Name: "tray", Choices: make([]string, mostMapped+1)}, {Name: "few", Choices: make([]string, mostMapped)}}}
	asked := func(y string) url.Values {
		return BeliefsQuery(url.Values{"x": {"x"}, "y": {y}, "usual.x": {"few"}}, &ledger.Snapshot{Definition: d})
	}
	if !slices.Equal(mapNames(d), []string{"x", "few"}) || asked("tray").Has("y") || !asked("few").Has("y") {
		t.Errorf("maps are over %v, and when asked for over %v and %v", mapNames(d), asked("tray"), asked("few"))
	}
}
