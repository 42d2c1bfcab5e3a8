package study

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// rewritten is the ledger of b with the data of decision number changed and every hash made anew,
// as a forger would.
func (b *bench) rewritten(number int, change func(*ledger.ChosenData)) []ledger.Event {
	b.Helper()
	var forged []ledger.Event
	var last *ledger.Snapshot
	for _, e := range b.events {
		d := ledger.Draft{Kind: e.Kind, Data: e.Data}
		if e.Kind == ledger.Chosen {
			var data ledger.ChosenData
			must.Do(b, e.Decode(&data))
			if data.Number == number {
				change(&data)
				d.Data = data
			}
		}
		next := must.Get(ledger.Next(last, e.At, e.By, d))(b)
		last = &ledger.Snapshot{Version: next[0].Seq, UpdatedAt: next[0].At, Hash: next[0].Hash}
		forged = append(forged, next...)
	}
	return forged
}

// played is an oven after ten rounds, of which the first six are the first design.
func played(t testing.TB) *bench {
	b := newBench(t, oven())
	for i := range 10 {
		b.ask(1)
		x := b.snap.Trial(i + 1).Parameters["temperature"].Number / 60
		b.tell(i+1, map[string]float64{"yield": 70 + 20*x - 30*x*x, "impurity": x * x})
	}
	return b
}

func TestVerifyFindsForgedDecisions(t *testing.T) {
	t.Parallel()
	b := played(t)
	for field, change := range map[string]func(*ledger.ChosenData){
		"multipliers.impurity":    func(c *ledger.ChosenData) { c.Decision.Multipliers["impurity"] += 1e-4 },
		"beta.yield":              func(c *ledger.ChosenData) { c.Decision.Beta["yield"] = 3 },
		"mean.yield":              func(c *ledger.ChosenData) { c.Decision.Mean["yield"] *= 1.001 },
		"sd.impurity":             func(c *ledger.ChosenData) { c.Decision.SD["impurity"] += 1e-3 },
		"estimates.yield":         func(c *ledger.ChosenData) { delete(c.Decision.Estimates, "yield") },
		"acquisition":             func(c *ledger.ChosenData) { *c.Decision.Acquisition += 0.01 },
		"random_seed":             func(c *ledger.ChosenData) { c.Decision.RandomSeed++ },
		"horizon":                 func(c *ledger.ChosenData) { c.Decision.Horizon++ },
		"feasibility_probability": func(c *ledger.ChosenData) { *c.Decision.FeasibilityProbability += 0.01 },
		"model.yield.lambda": func(c *ledger.ChosenData) {
			m := c.Decision.Model["yield"]
			m.Lambda *= 1.1
			c.Decision.Model["yield"] = m
		},
		"mean.impurity": func(c *ledger.ChosenData) {
			c.Parameters = design.Settings{"temperature": design.NumberValue(33), "cycles": design.NumberValue(7)}
		},
	} {
		events := b.rewritten(9, change)
		v := must.Get(verifyEvents(t.Context(), events))(t)
		found := false
		for _, d := range v.Different {
			found = found || d.Number == 9 && d.Field == field
		}
		if v.OK || !v.LedgerIntact || !found {
			text, _ := json.Marshal(v)
			t.Errorf("%s: %s", field, text)
		}
	}
	v, err := verifyEvents(t.Context(), b.events)
	if err != nil || !v.OK || v.Checked != 10 {
		t.Errorf("%v %+v", err, v)
	}
}

// chooser has begun to choose.
func (b *bench) chooser(t *testing.T) *chooser {
	t.Helper()
	c := &chooser{models: b.service.Models, snap: b.snap}
	must.Do(t, c.begin(t.Context()))
	return c
}

// asIfSuggested begins a trial at a place that the algorithm did not choose, as if it had.
func (b *bench) asIfSuggested(t *testing.T, c *chooser, place optimizer.Place, settings design.Settings) {
	t.Helper()
	own := must.Get(c.state.Own(t.Context(), place, optimizer.Known{}))(t)
	kept := decisionRecord(b.snap.Compiled(), c.state, own)
	kept.Acquisition = must.Get(scoreAt(t.Context(), c.state, place, optimizer.Known{}))(t)
	kept.Seen, kept.Reason = b.snap.Version, "trade-off"
	var ruled ruling
	c.draft(&ruled, "", &ledger.ChosenData{Origin: ledger.Suggested, Parameters: settings, Decision: &kept, Seen: kept.Seen, Engine: kept.Engine})
	b.must(ruled, nil)
}

func TestVerifyRefusesAChoiceThatIsNotTheBest(t *testing.T) {
	t.Parallel()
	b := played(t)
	// A suggestion somewhere else, with every number as it is there: only the maximum tells.
	settings, place, _ := b.snap.Compiled().Place(design.Settings{"temperature": design.NumberValue(33), "cycles": design.NumberValue(7)}, "")
	b.asIfSuggested(t, b.chooser(t), place, settings)
	v, err := verifyEvents(t.Context(), b.events)
	if err != nil || len(v.Different) != 1 || v.Different[0].Number != 11 || v.Different[0].Field != "acquisition" {
		text, _ := json.Marshal(v)
		t.Errorf("%v %s", err, text)
	}
}

func TestVerifyToleratesASearchThatEndsNearby(t *testing.T) {
	t.Parallel()
	b := played(t)
	c := b.chooser(t)
	best := must.Get(c.state.Suggest(t.Context(), optimizer.Known{}))(t)
	near := best.Place
	near.U = append([]float64(nil), near.U...)
	near.U[0] += 1e-6
	settings := b.snap.Compiled().Settings(near)
	place := b.snap.Compiled().Locate(settings, nil)
	b.asIfSuggested(t, c, place, settings)
	if v, err := verifyEvents(t.Context(), b.events); err != nil || !v.OK {
		text, _ := json.Marshal(v)
		t.Errorf("%v %s", err, text)
	}
}

// On a range so narrow that a float64 holds few values of it, what was chosen is compared as it is
// written down.
func TestAnHonestLedgerOnANarrowRangeIsVerified(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Parameters[0].Low, d.Parameters[0].High = new(1e9), new(1e9+5)
	b := newBench(t, d)
	for i := range 8 {
		b.ask(1)
		b.tell(i+1, map[string]float64{"yield": float64(i * i % 5), "impurity": 0.1 * float64(i)})
	}
	v, err := verifyEvents(t.Context(), b.events)
	if err != nil || !v.OK || v.Checked != 8 {
		t.Errorf("%+v, %v", v, err)
	}
}

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

// TestVerifyingGoesOnFromWhatIsRemembered: callers who leave at any moment, and servers that are
// restarted, come to what verifying at once finds.
func TestVerifyingGoesOnFromWhatIsRemembered(t *testing.T) {
	t.Parallel()
	honest := played(t)
	forged := *honest
	forged.events = slices.Clone(honest.events)
	for i, e := range forged.events {
		var chosen ledger.ChosenData
		if e.Kind != ledger.Chosen || e.Decode(&chosen) != nil || chosen.Number%4 != 0 {
			continue
		}
		chosen.Decision.Mean["yield"]++
		again := must.Get(ledger.Next(nil, e.At, e.By, ledger.Draft{Kind: ledger.Chosen, Data: chosen}))(t)
		forged.events[i].Data = again[0].Data // its hash no longer holds either
	}
	for name, b := range map[string]*bench{"honest": honest, "forged": &forged} {
		store, interrupted, remembered, random := &kept{bench: b}, 0, 0, rand.New(rand.NewPCG(1, 2))
		for verified, patience := false, int64(40); !verified; patience *= 2 { // or a long decision would never be come through
			server := NewService(store, Options{})
			var left atomic.Int64
			left.Store(random.Int64N(patience))
			v := newVerifier(store.verified)
			if store.verified != nil && !store.verified.OK {
				v = newVerifier(nil)
			}
			err := server.verifyPart(patient{t.Context(), &left}, v, b.snap)
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			server.Stop()
			if verified = err == nil; verified {
				continue
			}
			interrupted++
			if last := store.verified; last != nil && last.Version > 0 {
				remembered++
			}
		}
		if interrupted < 3 || remembered < 1 {
			t.Errorf("%s: %d interruptions, and something remembered after %d", name, interrupted, remembered)
		}
		whole := must.Get(verifyEvents(t.Context(), b.events))(t)
		if diff := cmp.Diff(whole, store.verified.Verification); diff != "" || store.verified.Version != b.snap.Version || whole.OK != (name == "honest") {
			t.Errorf("%s, up to event %d of %d: %s", name, store.verified.Version, b.snap.Version, diff)
		}
	}
}

// TestVerifyingKeepsToTheProgramsMemory: a model that is too large is refused and no fault of the
// ledger, and verifications wait for each other's memory while decisions do not.
func TestVerifyingKeepsToTheProgramsMemory(t *testing.T) {
	t.Parallel()
	b := played(t)
	store := &kept{bench: b}
	server := NewService(store, Options{})
	t.Cleanup(server.Stop)
	room := server.verifyMemory.bytes
	server.verifyMemory.bytes = 10
	if v, err := server.Verify(t.Context(), b.snap); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), "headroom verify") || len(v.Different) > 0 {
		t.Errorf("with too little memory: %+v, %v", v, err)
	}
	if store.verified != nil && !store.verified.OK {
		t.Errorf("kept as a fault of the ledger: %+v", store.verified)
	}
	server.verifyMemory.bytes = room
	must.Do(t, server.verifyMemory.free.Acquire(t.Context(), room))
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := server.Verify(short, b.snap); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while others take all memory: %v", err)
	}
	if _, err := server.StateOf(t.Context(), b.snap); err != nil {
		t.Errorf("the state while others verify: %v", err)
	}
	server.verifyMemory.free.Release(room)
	if v := must.Get(server.Verify(t.Context(), b.snap))(t); !v.OK || v.Checked == 0 {
		t.Errorf("with memory again: %+v", v)
	}
}

// TestProgressIsOfWhatGoesOn: verifying an older version meanwhile is no progress of a verification
// behind requests, and whoever else verifies the same version is.
func TestProgressIsOfWhatGoesOn(t *testing.T) {
	t.Parallel()
	b := played(t)
	server := NewService(&kept{bench: b}, Options{})
	defer server.Stop()
	must.Do(t, server.Derived.Begin(verifying, "bench", b.snap.Version, func(ctx context.Context) error { <-ctx.Done(); return nil }))
	for _, at := range []int64{b.snap.Version - 3, b.snap.Version} {
		snap := must.Get(ledger.Fold("bench", nil, b.events[:at], nil))(t)
		must.Get(server.Verify(t.Context(), snap))(t)
		now, _, err := server.Verifying(t.Context(), "bench")
		want := map[bool]int64{true: b.snap.Version}[at == b.snap.Version]
		if err != nil || !now.Going || now.Done != want {
			t.Errorf("after event %d of %d was verified: %+v, %v", at, b.snap.Version, now, err)
		}
	}
}

// TestWhatIsRememberedIsGoneOnFromOnlyWhereItHolds: another server goes on from an outcome of the
// same ledger and engine that found nothing wrong, and looks at everything else anew.
func TestWhatIsRememberedIsGoneOnFromOnlyWhereItHolds(t *testing.T) {
	t.Parallel()
	b := played(t)
	remembered := Verified{Verification{OK: true, Checked: 100, LedgerIntact: true, Rules: RulesPresent}, 15, b.events[14].Hash, optimizer.Engine, b.clock}
	decided := 0 // after that
	for _, e := range b.events[15:] {
		if e.Kind == ledger.Chosen {
			decided++
		}
	}
	for name, c := range map[string]struct {
		change  func(*Verified)
		at      int64
		checked int
	}{
		"as it is":        {func(*Verified) {}, b.snap.Version, 100 + decided},
		"another ledger":  {func(v *Verified) { v.Hash = b.events[13].Hash }, b.snap.Version, 10},
		"another engine":  {func(v *Verified) { v.Engine = "9" }, b.snap.Version, 10},
		"of what differs": {func(v *Verified) { v.OK = false }, b.snap.Version, 10},
		"a later version": {func(*Verified) {}, 2, 1},
	} {
		last := remembered
		c.change(&last)
		server := NewService(&kept{bench: b, verified: &last}, Options{})
		snap := must.Get(ledger.Fold("bench", nil, b.events[:c.at], nil))(t)
		found, err := server.Verify(t.Context(), snap)
		if err != nil || !found.OK || found.Checked != c.checked {
			t.Errorf("%s: %+v, %v, want %d checked", name, found, err, c.checked)
		}
		_, known, err := server.Verifying(t.Context(), "bench")
		if err != nil || known.Version != max(c.at, 15) {
			t.Errorf("%s: remembered up to %d, %v", name, known.Version, err)
		}
		server.Stop()
	}
	other := slices.Clone(b.events)
	other[4].By = "a forger" // of what was verified before
	b.events = other
	server := NewService(&kept{bench: b, verified: &remembered}, Options{})
	defer server.Stop()
	if found, err := server.Verify(t.Context(), b.snap); err != nil || found.OK || found.LedgerIntact {
		t.Errorf("what was changed since: %+v, %v", found, err)
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
		again := must.Get(ledger.Next(nil, e.At, e.By, ledger.Draft{Kind: ledger.Chosen, Data: chosen}))(t)
		older[i].Data = again[0].Data
	}
	for name, c := range map[string]struct {
		events          []ledger.Event
		checked, beyond int
		rules           string
	}{"as it was": {b.events, 6, 0, RulesPresent}, "begun by an older engine": {rehashed(t, older, 0), 4, 2, RulesGone}} {
		found := must.Get(verifyEvents(t.Context(), c.events))(t)
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
		v := newVerifier(nil)
		if err := v.walk(t.Context(), events[:8]); err != nil || !v.outcome().LedgerIntact {
			t.Fatalf("%+v, %v", v.outcome(), err)
		}
		if err := v.walk(t.Context(), change(slices.Clone(events[8:12]))); err != nil || v.outcome().LedgerIntact {
			t.Errorf("%s: %+v, %v", name, v.outcome(), err)
		}
	}
}
