package study

import (
	"encoding/json"
	"testing"

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
			if err := e.Decode(&data); err != nil {
				b.Fatal(err)
			}
			if data.Number == number {
				change(&data)
				d.Data = data
			}
		}
		next, err := ledger.Next(last, e.At, e.By, d)
		if err != nil {
			b.Fatal(err)
		}
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
		v, err := verifyEvents(t.Context(), events)
		if err != nil {
			t.Fatal(err)
		}
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

// asIfSuggested is the record of a decision for a place that the algorithm did not choose.
func (b *bench) asIfSuggested(t *testing.T, state *optimizer.State, place optimizer.Place) ledger.Decision {
	t.Helper()
	own, err := state.Own(t.Context(), place, optimizer.Known{})
	if err != nil {
		t.Fatal(err)
	}
	kept := decisionRecord(b.snap.Compiled(), state, own)
	if kept.Acquisition, err = scoreAt(t.Context(), state, place, optimizer.Known{}); err != nil {
		t.Fatal(err)
	}
	return kept
}

func TestVerifyRefusesAChoiceThatIsNotTheBest(t *testing.T) {
	t.Parallel()
	b := played(t)
	// A suggestion somewhere else, with every number as it is there: only the maximum tells.
	state, err := b.service.state(t.Context(), b.snap)
	if err != nil {
		t.Fatal(err)
	}
	settings, place, _ := b.snap.Compiled().Place(design.Settings{"temperature": design.NumberValue(33), "cycles": design.NumberValue(7)}, "")
	kept := b.asIfSuggested(t, state, place)
	kept.Seen, kept.Reason = b.snap.Version, "trade-off"
	p := chosenPoint{settings: settings, place: place, decision: kept}
	b.must(ruling{drafts: []ledger.Draft{{Kind: ledger.Chosen, Data: p.event(11, ledger.Suggested, design.Brought{})}}}, nil)
	v, err := verifyEvents(t.Context(), b.events)
	if err != nil || len(v.Different) != 1 || v.Different[0].Number != 11 || v.Different[0].Field != "acquisition" {
		text, _ := json.Marshal(v)
		t.Errorf("%v %s", err, text)
	}
}

func TestVerifyToleratesASearchThatEndsNearby(t *testing.T) {
	t.Parallel()
	b := played(t)
	state, err := b.service.state(t.Context(), b.snap)
	if err != nil {
		t.Fatal(err)
	}
	best, err := state.Suggest(t.Context(), optimizer.Known{})
	if err != nil {
		t.Fatal(err)
	}
	near := best.Place
	near.U = append([]float64(nil), near.U...)
	near.U[0] += 1e-6
	settings := b.snap.Compiled().Settings(near)
	place := b.snap.Compiled().Locate(settings, nil)
	kept := b.asIfSuggested(t, state, place)
	kept.Seen, kept.Reason = b.snap.Version, "trade-off"
	p := chosenPoint{settings: settings, place: place, decision: kept}
	b.must(ruling{drafts: []ledger.Draft{{Kind: ledger.Chosen, Data: p.event(11, ledger.Suggested, design.Brought{})}}}, nil)
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
