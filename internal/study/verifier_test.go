package study

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// patient is a context that ends after it has been asked so many times.
type patient struct {
	context.Context
	left *atomic.Int64
}

func (p patient) Err() error {
	if p.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// walkInParts verifies a ledger as callers do who leave at any moment: what was computed with is let go of and made again.
func walkInParts(t *testing.T, events []ledger.Event, random *rand.Rand) (v verifier, interrupted int) {
	t.Helper()
	patience := int64(50)
	for v.walked() < int64(len(events)) {
		before := v.walked()
		var left atomic.Int64
		left.Store(random.Int64N(patience))
		to := min(len(events), int(v.walked())+1+random.IntN(8))
		err := v.next(patient{t.Context(), &left}, events[v.walked():to])
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			interrupted++
		}
		patience *= 4 // or a long decision would never be come through
		if v.walked() > before {
			patience = 50
		}
		base, walked := v.base, v.walked()
		if v.rest(); walked == 0 || v.ended != 0 {
			continue
		}
		var snap *ledger.Snapshot
		if base > 0 {
			if snap, err = ledger.Fold("parts", nil, events[:base], nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := v.resume(snap, slices.Clone(events[base:walked])); err != nil {
			t.Fatal(err)
		}
	}
	v.finish()
	return v, interrupted
}

func TestVerifyingInPartsIsVerifyingAtOnce(t *testing.T) {
	t.Parallel()
	honest := played(t).events
	forged := slices.Clone(honest)
	for i, e := range forged {
		var chosen ledger.ChosenData
		if e.Kind != ledger.Chosen || e.Decode(&chosen) != nil || chosen.Number%4 != 0 {
			continue
		}
		chosen.Decision.Mean["yield"]++
		again, err := ledger.Next(nil, e.At, e.By, ledger.Draft{Kind: ledger.Chosen, Data: chosen})
		if err != nil {
			t.Fatal(err)
		}
		forged[i].Data = again[0].Data // its hash no longer holds either
	}
	for name, events := range map[string][]ledger.Event{"honest": honest, "forged": forged} {
		random := rand.New(rand.NewPCG(1, 2))
		parts, interrupted := walkInParts(t, events, random)
		if interrupted < 3 {
			t.Errorf("%s: only %d interruptions", name, interrupted)
		}
		for n := len(events); n > 0; n -= 5 { // what was found up to each event is what the ledger to there gives
			whole, err := verifyEvents(t.Context(), events[:n], nil)
			if err != nil {
				t.Fatal(err)
			}
			got := parts.outcome(int64(n))
			intact := ledger.CheckChain(events[:n]) == nil
			if got.LedgerIntact != intact {
				t.Errorf("%s, %d events: intact %v, want %v", name, n, got.LedgerIntact, intact)
			}
			got.LedgerIntact, got.Different = whole.LedgerIntact, slices.DeleteFunc(got.Different, func(d Difference) bool { return d.Field == "ledger" })
			got.OK = len(got.Different) == 0
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Errorf("%s, %d events: %s", name, n, diff)
			}
		}
	}
}

// TestEveryEngineIsHeldToItsOwnRules: a batch that the present engine held apart is as it would be chosen, and none that the engine before could have chosen.
func TestEveryEngineIsHeldToItsOwnRules(t *testing.T) {
	t.Parallel()
	var d design.Definition
	if err := json.Unmarshal([]byte(`{"name": "Plates", "parameters": [{"name": "x", "type": "real", "low": 0, "high": 1}, {"name": "y", "type": "real", "low": 0, "high": 1}],
		"objective": {"metric": "gloss", "direction": "maximize"}, "constraints": [{"metric": "haze", "op": "<=", "threshold": 2}], "algorithm": {"name": "log-cei", "horizon": 80}}`), &d); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, d)
	for n := 1; n <= 40; n++ {
		if n%8 == 1 {
			b.ask(8)
		}
		at := b.snap.Trial(n).Parameters
		x, y := at["x"].Number, at["y"].Number
		b.tell(n, map[string]float64{"gloss": 90 - 60*(x-0.8)*(x-0.8) - 40*(y-0.4)*(y-0.4), "haze": 0.5 + 2.5*x*x + 0.6*y})
	}
	b.ask(8)
	older, apart := slices.Clone(b.events), map[int]bool{}
	for i, e := range older {
		var chosen ledger.ChosenData
		if e.Kind != ledger.Chosen || e.Decode(&chosen) != nil || chosen.Number <= 40 {
			continue
		}
		apart[chosen.Number] = chosen.Decision.Reason == string(optimizer.ReasonApart)
		chosen.Engine = "4"
		again, err := ledger.Next(nil, e.At, e.By, ledger.Draft{Kind: ledger.Chosen, Data: chosen})
		if err != nil {
			t.Fatal(err)
		}
		older[i].Data = again[0].Data
	}
	for name, events := range map[string][]ledger.Event{optimizer.Engine: b.events, "4": rehashed(t, older, 0)} {
		found, err := verifyEvents(t.Context(), events, nil)
		if err != nil {
			t.Fatal(err)
		}
		differs := map[int]bool{}
		for _, d := range found.Different {
			differs[d.Number] = true
		}
		for number, held := range apart {
			if differs[number] != (held && name == "4") {
				t.Errorf("as chosen by engine %s, trial %d, held apart %v, differs %v", name, number, held, differs[number])
			}
		}
	}
	if held := slices.Collect(maps.Values(apart)); !slices.Contains(held, true) || !slices.Contains(held, false) {
		t.Errorf("held apart are %v", held)
	}
}

// The chain is checked across the parts too: nobody may set the clock back between them, or leave an event out.
func TestChainsAreCheckedAcrossParts(t *testing.T) {
	t.Parallel()
	events := played(t).events
	for name, change := range map[string]func(next []ledger.Event) []ledger.Event{
		"an event left out": func(next []ledger.Event) []ledger.Event { return next[1:] },
		"an earlier time": func(next []ledger.Event) []ledger.Event {
			next[0].At = events[0].At
			return next
		},
	} {
		var v verifier
		if err := v.next(t.Context(), events[:8]); err != nil {
			t.Fatal(err)
		}
		if err := v.next(t.Context(), change(slices.Clone(events[8:12]))); err != nil {
			t.Fatal(err)
		}
		if v.outcome(8).LedgerIntact == false || v.outcome(12).LedgerIntact {
			t.Errorf("%s: intact up to 8: %v, up to 12: %v", name, v.outcome(8).LedgerIntact, v.outcome(12).LedgerIntact)
		}
	}
}
