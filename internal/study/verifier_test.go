package study

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// walkInParts verifies a ledger as callers do who leave at any moment: what was computed with is
// let go of and made again.
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

// TestWhatOtherEnginesDecidedIsNotReplayed has a study whose first suggestions are said to be
// another engine's: they are counted, not called different.
func TestWhatOtherEnginesDecidedIsNotReplayed(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	for n := 1; n <= 6; n++ {
		b.ask(1)
		b.tell(n, map[string]float64{"yield": float64(50 + n), "impurity": 0.1 * float64(n)})
	}
	older := slices.Clone(b.events)
	for i, e := range older {
		var chosen ledger.ChosenData
		if e.Kind != ledger.Chosen || e.Decode(&chosen) != nil || chosen.Number > 2 {
			continue
		}
		chosen.Engine, chosen.Parameters = "4", b.snap.Trial(6).Parameters
		again, err := ledger.Next(nil, e.At, e.By, ledger.Draft{Kind: ledger.Chosen, Data: chosen})
		if err != nil {
			t.Fatal(err)
		}
		older[i].Data = again[0].Data
	}
	for name, c := range map[string]struct {
		events          []ledger.Event
		checked, beyond int
		rules           string
	}{"as it was": {b.events, 6, 0, RulesPresent}, "begun by an older engine": {rehashed(t, older, 0), 4, 2, RulesGone}} {
		found, err := verifyEvents(t.Context(), c.events, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !found.OK && name == "as it was" || found.Checked != c.checked || found.Unchecked != c.beyond || found.Rules != c.rules || len(found.GoneEngines) != c.beyond/2 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// The chain is checked across the parts too: nobody may set the clock back between them, or leave
// an event out.
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

// Where too many verifications are remembered, those that go on stay.
func TestVerificationsThatGoOnAreNotForgotten(t *testing.T) {
	t.Parallel()
	all := verifications{byID: map[string]*verification{}}
	going := all.of("going")
	if !going.begin(7) || going.begin(8) {
		t.Error("one may begin, and no other meanwhile")
	}
	for i := range 3 * mostVerifications {
		all.of(fmt.Sprint(i))
	}
	if len(all.byID) > mostVerifications || all.of("going") != going {
		t.Errorf("%d are remembered", len(all.byID))
	}
	for _, goesOn := range []func(){func() { going.begin(9) }, func() { going.progressed(&verifier{}) }} {
		going.end(context.DeadlineExceeded)
		if now := going.stands(); now.Going != 0 || !errors.Is(now.Failed, context.DeadlineExceeded) {
			t.Errorf("ended as %+v", now)
		}
		if goesOn(); going.stands().Failed != nil {
			t.Error("what goes on is still said to have failed")
		}
	}
}
