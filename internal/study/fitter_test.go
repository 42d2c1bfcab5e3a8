package study

import "testing"

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
	job := &fitting{base: b.snap, done: ready, result: &FittedData{From: 3, Seen: b.snap.Version}}
	b.service.fits.running[b.snap.ID] = job
	within := func() *FittedData { return b.service.fits.within(t.Context(), b.service, b.snap, state) }
	b.tell(2, map[string]float64{"yield": 2})
	if within() == nil {
		t.Error("more data do not void a fit")
	}
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*Reading{"yield": {Value: 3}}, Reason: "typo"}))
	if within() != nil {
		t.Error("corrected data do")
	}
}
