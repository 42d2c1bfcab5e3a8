package study

import (
	"testing"

	"headroom/internal/must"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// trays is an oven with a choice of trays after ten rounds; what limits are on adds up.
func trays(t *testing.T) *bench {
	t.Helper()
	d := oven()
	d.Parameters = append(d.Parameters, design.Parameter{Name: "tray", Type: design.Categorical, Choices: []string{"steel", "glass", "stone"}})
	b := newBench(t, d)
	dear := map[string]float64{"steel": 0, "glass": 0.2, "stone": 0.9}
	for i := range 10 {
		b.ask(1)
		at := b.snap.Trial(i + 1).Parameters
		x := at["temperature"].Number / 60
		b.tell(i+1, map[string]float64{"yield": 70 + 20*x - 30*x*x, "impurity": x + dear[at["tray"].Text]})
	}
	b.ask(1)
	return b
}

// TestTheInteractionIsLedgerState: what a fit found is in its event, in force in the decisions
// after it, shown in the state, and verified.
func TestTheInteractionIsLedgerState(t *testing.T) {
	t.Parallel()
	b := trays(t)
	state := must.Get(b.service.StateOf(t.Context(), b.snap))(t)
	fits, decision := b.snap.Fits, b.snap.Trial(11).Decision
	for _, metric := range []string{"yield", "impurity"} {
		fitted := fits[len(fits)-1].Metrics[metric]
		if fitted.Kernel != "anova" || !(fitted.Interaction > 0 && fitted.Interaction < 1) {
			t.Errorf("%s: fitted %+v", metric, fitted)
		}
		if decided, shown := decision.Model[metric].Interaction, state.Metrics[metric].Kernel.Interaction; decided != fitted.Interaction || shown != fitted.Interaction {
			t.Errorf("%s: interaction %g fitted, %g in the decision, %g in the state", metric, fitted.Interaction, decided, shown)
		}
	}
	honest, err := verifyEvents(t.Context(), b.events)
	if err != nil || !honest.OK {
		t.Errorf("%v %+v", err, honest)
	}
	forged := b.rewritten(11, func(c *ledger.ChosenData) {
		m := c.Decision.Model["impurity"]
		m.Interaction /= 2
		c.Decision.Model["impurity"] = m
	})
	v, err := verifyEvents(t.Context(), forged)
	if err != nil || v.OK || len(v.Different) != 1 || v.Different[0].Field != "model.impurity.interaction" {
		t.Errorf("another interaction in a decision: %v %+v", err, v)
	}
}

// TestInteractionsThatNoFitFinds: an imported fit has one between 0 and 1 or, as before there were
// any, none; and only under the kernel that has it.
func TestInteractionsThatNoFitFinds(t *testing.T) {
	t.Parallel()
	b := trays(t)
	honest := b.snap.Fits[len(b.snap.Fits)-1]
	with := func(metric ledger.FittedMetric) ledger.FittedData {
		data := honest
		data.Metrics = map[string]ledger.FittedMetric{"impurity": metric}
		return data
	}
	for interaction, good := range map[float64]bool{0: true, 0.4: true, 1: false, -0.1: false, 7: false} {
		metric := honest.Metrics["impurity"]
		metric.Interaction = interaction
		if err := checkFit(b.snap, with(metric)); (err == nil) != good {
			t.Errorf("interaction %g: %v", interaction, err)
		}
	}
	plain := played(t)
	metric := plain.snap.Fits[len(plain.snap.Fits)-1].Metrics["impurity"]
	metric.Interaction = 0.4
	if err := checkFit(plain.snap, with(metric)); err == nil {
		t.Errorf("the kernel %s passes with an interaction", metric.Kernel)
	}
}
