package study

import (
	"bytes"
	"testing"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// flow is the oven with a number over decades whose scale is said.
func flow(t testing.TB, scale string, high float64) *bench {
	d := oven()
	d.Parameters[0].Name, d.Parameters[0].Low, d.Parameters[0].High, d.Parameters[0].Scale = "flow", new(float64), &high, scale
	*d.Parameters[0].Low = 0.1
	d.Parameters[0].Step, d.InputConstraints = nil, nil
	return newBench(t, d)
}

func TestAScaleThatDoesNotSuitIsFound(t *testing.T) {
	t.Parallel()
	found := func(b *bench) []Finding { b.Helper(); return Health(b.snap) }
	if got := found(flow(t, "", 100)); len(got) > 0 {
		t.Errorf("the scale that was chosen for it: %v", got)
	}
	b := flow(t, "linear", 100)
	want := Finding{Kind: "scale", Parameter: "flow", Says: "flow is on a linear scale, but 100 is 1000 times 0.1: on a log scale the model learns from fewer trials.",
		Remedy: `reconfigure the parameter with "scale": "log"; every trial stays, and the next decision sees them all on the new scale`}
	if got := found(b); len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	state, err := b.service.StateOf(t.Context(), b.snap)
	if err != nil || len(state.Health) != 1 || state.Health[0] != want {
		t.Errorf("in the state: %+v, %v", state.Health, err)
	}
	low, high := 0.1, 100.0
	remedy := design.Reconfiguration{Parameters: []design.Parameter{{Name: "flow", Type: design.Real, Low: &low, High: &high, Scale: "log"}}, Reason: "it spans decades"}
	b.must(ruleReconfigure(b.snap, remedy))
	if got := found(b); len(got) > 0 {
		t.Errorf("after the remedy: %v", got)
	}
	b = flow(t, "linear", 100)
	b.ask(1)
	b.must(ruleTell(b.snap, 1, ledger.Telling{Parameters: design.Settings{"flow": design.NumberValue(0), "cycles": design.NumberValue(3)}}))
	if got := found(b); len(got) > 0 {
		t.Errorf("where it is no remedy: %v", got)
	}
	_, err = ruleReconfigure(b.snap, remedy)
	wantFault(t, faultsOf(t, err), "parameters[0].scale", "trial 1 was run at 0")
}

// A table is looked at before it is imported, and what was imported afterwards: its levels speak
// where the bounds do not.
func TestImportedLevelsSpeakForAScale(t *testing.T) {
	t.Parallel()
	b := flow(t, "linear", 8)
	table := "flow,cycles,yield,impurity\n0.1,3,60,0.1\n0.4,3,61,0.1\n1.6,3,62,0.2\n6.4,3,64,0.3\n"
	rows, _ := must.Get2(parseCSV(b.snap.Compiled(), bytes.NewReader([]byte(table)), ImportOptions{}))(t)
	if got := Health(b.snap); len(got) > 0 {
		t.Errorf("before: %v", got)
	}
	says := "flow is on a linear scale, but its 4 values from 0.1 to 6.4 are spaced by factors rather than by differences: on a log scale the model learns from fewer trials."
	if got := Health(b.snap, lists.Map(rows, importRow.used)...); len(got) != 1 || got[0].Says != says {
		t.Errorf("at the import: %+v", got)
	}
	b.table(t, table)
	if got := Health(b.snap); len(got) != 1 || got[0].Says != says {
		t.Errorf("after it: %+v", got)
	}
}

// A scale is changed from the next decision on: what was decided before is verified under the scale
// of its time.
func TestAnotherScaleLeavesEarlierDecisionsAsTheyWere(t *testing.T) {
	t.Parallel()
	b := flow(t, "linear", 100)
	play := func() {
		for range 7 {
			b.ask(1)
			n := len(b.snap.Trials)
			x := b.snap.Trial(n).Parameters["flow"].Number
			b.tell(n, map[string]float64{"yield": 60 + x/10, "impurity": x / 200})
		}
	}
	play()
	before := b.snap
	low, high := 0.1, 100.0
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Parameters: []design.Parameter{{Name: "flow", Type: design.Real, Low: &low, High: &high, Scale: "log"}}, Reason: "it spans decades"}))
	if u := b.snap.Place(1).U[0]; u == before.Place(1).U[0] {
		t.Errorf("trial 1 stays at %v of the range", u)
	}
	play()
	outcome, err := verifyEvents(t.Context(), b.events)
	if err != nil || !outcome.OK || outcome.Checked != 14 {
		t.Errorf("%+v, %v", outcome, err)
	}
}
