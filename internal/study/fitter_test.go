package study

import (
	"testing"

	"headroom/internal/study/ledger"
)

func TestAFitIsUsedOnlyWhileItsDataStand(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(2)
	b.tell(1, map[string]float64{"yield": 1})
	state, err := b.service.state(t.Context(), b.snap)
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	close(ready)
	job := &fitting{base: b.snap, done: ready, result: &ledger.FittedData{From: 3, Seen: b.snap.Version}}
	b.service.fits.running[b.snap.ID] = job
	within := func() *ledger.FittedData { return b.service.fits.within(t.Context(), b.service, b.snap, state) }
	b.tell(2, map[string]float64{"yield": 2})
	if within() == nil {
		t.Error("more data do not void a fit")
	}
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": {Value: 3}}, Reason: "typo"}))
	if within() != nil {
		t.Error("corrected data do")
	}
}

func TestARewrittenPastMakesAFitDue(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	for i := range 8 {
		b.ask(1)
		b.tell(i+1, map[string]float64{"yield": float64(i * i % 7), "impurity": 0.1 * float64(i)})
	}
	b.ask(1)
	if len(b.snap.Fits) == 0 {
		t.Fatal("no fit was made")
	}
	due := func() bool {
		state, err := b.service.state(t.Context(), b.snap)
		if err != nil {
			t.Fatal(err)
		}
		return state.FitDue()
	}
	if due() {
		t.Fatal("a fit is due right after one")
	}
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": {Value: 3}}, Reason: "typo"}))
	if !due() {
		t.Error("a correction makes a fit due")
	}
	fits := len(b.snap.Fits)
	b.ask(1)
	if len(b.snap.Fits) != fits+1 || due() {
		t.Errorf("%d fits, due %v", len(b.snap.Fits), due())
	}
	if fit := b.snap.Fits[fits]; fit.From != len(b.snap.Trials) {
		t.Errorf("the fit is in force from decision %d, the decision was %d", fit.From, len(b.snap.Trials))
	}
}
