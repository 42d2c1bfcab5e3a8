package study

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"headroom/internal/must"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// TestDecisionsOfSharedValuesVerify: decisions whose sampled values stand in another's event are
// replayed with them, also where a verification goes on in between, and by whoever takes the ledger
// in.
func TestDecisionsOfSharedValuesVerify(t *testing.T) {
	t.Parallel()
	b := newBench(t, queue())
	brought := design.Brought{Context: map[string]float64{"omega": 2}, ConstraintValues: map[string][]float64{"backlog": {0, 2, 3, 4}}}
	for i := range 4 {
		b.must(b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{Count: new(2), Brought: brought}))
		b.tell(2*i+1, map[string]float64{"rate": float64(i)})
	}
	b.must(b.service.ruleReplicate(t.Context(), Command{By: "Ana"}, b.snap, 1))
	inline := 0
	for _, e := range b.events {
		if e.Kind == ledger.Chosen && strings.Contains(string(e.Data), `"constraint_values":`) {
			inline++
		}
	}
	if inline != 1 {
		t.Errorf("%d events hold the values", inline)
	}
	v, err := verifyEvents(t.Context(), b.events)
	if text, _ := json.Marshal(v); err != nil || !v.OK || v.Checked != 9 {
		t.Errorf("%v %s", err, text)
	}
	for cut, e := range b.events { // gone on from after every event
		before := must.Get(verifyEvents(t.Context(), b.events[:cut]))(t)
		v := newVerifier(&Verified{Verification: before, Version: e.Seq - 1})
		must.Do(t, v.walk(t.Context(), b.events))
		if got := v.outcome(); !got.OK || got.Checked != 9 {
			t.Errorf("after %d events: %+v", cut, got)
		}
	}
	after, err := b.service.foldImported(newID(), nil, b.events)
	if err != nil || after.Hash != b.snap.Hash {
		t.Errorf("taken in: %v", err)
	}
}

// TestAFullLedgerGetsNoNewTrials: what waits can still be told, then nothing, and all of it can be
// read and taken out.
func TestAFullLedgerGetsNoNewTrials(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(2)
	b.service.largest = b.snap.Bytes + 100
	rule := func(kind ledger.Kind, data any) error {
		_, err := b.service.append(Command{By: "Ana"}, "bench", b.snap, ruling{drafts: []ledger.Draft{{Kind: kind, Data: data}}})
		return err
	}
	chosen := must.Get(b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{}))(t)
	for _, d := range chosen.drafts {
		if err := rule(d.Kind, d.Data); d.Kind == ledger.Chosen && (!errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "in a copy")) {
			t.Errorf("a new trial got %v", err)
		}
	}
	told := ledger.ToldData{Number: 1, Telling: ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 60}}}}
	if err := rule(ledger.Told, told); err != nil {
		t.Errorf("a result got %v", err)
	}
	told.Note = strings.Repeat("x", 5000)
	b.service.largest = 1000
	if err := rule(ledger.Told, told); !errors.Is(err, ErrConflict) {
		t.Errorf("a result beyond all room got %v", err)
	}
	if err := readable(t.Context(), b.service, b.snap); err != nil {
		t.Error(err)
	}
	CSV(b.snap.Definition, b.snap.Trials, b.snap.Chosen, design.DecimalPoint)
}
