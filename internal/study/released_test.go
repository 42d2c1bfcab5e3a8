package study

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

var record = flag.Bool("record", false, "record testdata/released, see its README")

// playedForRelease are studies that make the engine work: one of the default with choices, a batch,
// a failure and corrections; and one of a published algorithm with fixed hyperparameters.
func playedForRelease(t *testing.T) map[string]*bench {
	t.Helper()
	answer := func(b *bench, n int) {
		x := b.snap.Trial(n).Parameters["temperature"].Number / 60
		y := b.snap.Trial(n).Parameters["cycles"].Number / 12
		b.tell(n, map[string]float64{"yield": 70 + 20*x - 30*x*x + 5*y, "impurity": x*x + 0.2*y})
	}
	d := oven()
	d.Parameters = append(d.Parameters, design.Parameter{Name: "catalyst", Type: design.Categorical, Choices: []string{"A", "B"}})
	d.Algorithm = design.Algorithm{Horizon: 20}
	standard := newBench(t, d)
	for i := range 6 {
		standard.ask(1)
		answer(standard, i+1)
	}
	standard.must(ruleClose(standard.snap, ledger.Excluded, ledger.ClosedData{Number: 2, Reason: "spilled"}))
	standard.must(ruleCorrect(standard.snap, Correction{Number: 3, Metrics: map[string]*ledger.Reading{"yield": {Value: 72, StdDev: new(0.5)}}, Reason: "typo"}))
	standard.ask(2)
	standard.must(ruleClose(standard.snap, ledger.Failed, ledger.ClosedData{Number: 7, Reason: "broke", Cause: ledger.BySettings}))
	answer(standard, 8)
	limit := standard.snap.Definition.Constraints[0]
	limit.Threshold = 0.45
	standard.must(ruleReconfigure(standard.snap, design.Reconfiguration{Constraints: []design.Constraint{limit}, Reason: "stricter"}))
	standard.ask(1)
	answer(standard, 9)
	standard.ask(1)

	d = ovenWith(policy.Description{Name: "ckb-ucb"})
	d.Model = design.Model{Fit: "fixed"}
	published := newBench(t, d)
	for i := range 5 {
		published.ask(1)
		answer(published, i+1)
	}
	return map[string]*bench{"standard": standard, "published": published}
}

// TestReleasedLedgersStand holds every recorded ledger to what is promised of it: each decision is
// made again to the last bit, and the study goes on.
func TestReleasedLedgersStand(t *testing.T) {
	t.Parallel()
	recorded := func(name string) string {
		return filepath.Join("testdata", "released", "engine-"+optimizer.Engine+"-"+name+".json")
	}
	for name, b := range playedForRelease(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if *record {
				text := must.Get(json.MarshalIndent(ledger.Bundle{Format: ledger.BundleFormat, Definition: b.snap.Definition, State: b.snap.State, Version: b.snap.Version, Hash: b.snap.Hash, Events: b.events}, "", " "))(t)
				must.Do(t, os.WriteFile(recorded(name), append(text, '\n'), 0o644))
			}
			text := must.Get(os.ReadFile(recorded(name)))(t)
			wantStanding(t, text)
		})
	}
}

func wantStanding(t *testing.T, text []byte) {
	t.Helper()
	var bundle ledger.Bundle
	must.Do(t, json.Unmarshal(text, &bundle))
	b := newBench(t, oven())
	b.snap = nil
	file := ledger.NewBundleReader(bytes.NewReader(text))
	for events, err := range file.Parts() {
		if err != nil {
			t.Fatal(err)
		}
		if b.snap, err = b.service.foldImported(newID(), b.snap, events); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, file.Describes(b.snap))
	decided := len(b.snap.Trials)
	if v, err := VerifyBundle(t.Context(), text); err != nil || !v.OK || !v.LedgerIntact || v.Checked != decided || v.Rules != RulesPresent {
		t.Errorf("of %d decisions: %+v, %v", decided, v, err)
	}
	wantTheSameDecisions(t, b.service, bundle.Events)
	b.clock, b.events = b.snap.UpdatedAt, slices.Clone(bundle.Events)
	b.ask(1)
	if v, err := verifyEvents(t.Context(), b.events); err != nil || !v.OK || v.Checked != decided+1 {
		t.Errorf("gone on with: %+v, %v", v, err)
	}
}

// wantTheSameDecisions asks again for all that was asked of the ledger, from what was seen then,
// and wants the same events, fits and decisions to the last bit. Sentences may be worded anew.
func wantTheSameDecisions(t *testing.T, service *Service, events []ledger.Event) {
	t.Helper()
	var snap *ledger.Snapshot
	for i := 0; i < len(events); {
		asked := i
		for asked < len(events) && events[asked].Kind == ledger.Fitted {
			asked++
		}
		end := asked
		for end < len(events) && events[end].Kind == ledger.Chosen {
			end++
		}
		if end == asked {
			end = i + 1
		} else {
			again, err := service.ruleAsk(t.Context(), Command{By: events[i].By}, snap, Ask{Count: new(end - asked)})
			if err != nil || len(again.drafts) != end-i {
				t.Fatalf("event %d: %d drafts, %v", events[i].Seq, len(again.drafts), err)
			}
			for j, draft := range again.drafts {
				if was, is := unworded(t, events[i+j].Data), unworded(t, draft.Data); was != is {
					t.Errorf("event %d was\n%s\nand is\n%s", events[i+j].Seq, was, is)
				}
			}
		}
		var err error
		if snap, err = ledger.Fold("again", snap, events[i:end], nil); err != nil {
			t.Fatal(err)
		}
		i = end
	}
}

// unworded is the JSON of what an event holds, without the decision's sentence.
func unworded(t *testing.T, data any) string {
	t.Helper()
	text := must.Get(json.Marshal(data))(t)
	var tree map[string]any
	must.Do(t, json.Unmarshal(text, &tree))
	if decision, ok := tree["decision"].(map[string]any); ok {
		delete(decision, "because")
	}
	return fmt.Sprint(tree)
}
