package ledger

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"headroom/internal/memory"
	"headroom/internal/must"
	"headroom/internal/study/design"
)

// brings is a manual trial of the queue that brings values.
func brings(number int, values ...float64) ChosenData {
	candidate := 1
	return ChosenData{Number: number, Origin: Manual, Seen: 1, Engine: "1", Candidate: &candidate, KnownValues: map[string]float64{"load": -1, "backlog limit": values[1]},
		Parameters: design.Settings{"x": design.NumberValue(1), "mode": design.TextValue("slow")},
		Brought:    design.Brought{Context: map[string]float64{"omega": 2}, ConstraintValues: map[string][]float64{"backlog": values}}}
}

// TestSampledValuesStandOnceInALedger: where they come first; later events name them, whoever
// brings them and whatever came between.
func TestSampledValuesStandOnceInALedger(t *testing.T) {
	t.Parallel()
	b := newBench(t, queue(t))
	contents := [][]float64{{0, 2, 3, 4}, {1, 2, 3, 4}, {0, 2, 3, 4}, {0, 2, 3, 4}, {1, 2, 3, 4}}
	for i, values := range contents {
		b.add(Chosen, brings(i+1, append([]float64{}, values...)...))
	}
	// python3 -c 'import struct, hashlib; print(hashlib.sha256(struct.pack("<4d", 0, 2, 3,
	// 4)).hexdigest())'
	const first = "ee17261ef1250e6e1666d33c6c8ee89e9cc8d87ec1844e605ff2a70ec10c2c85"
	for i, event := range b.events[1:] {
		text := string(event.Data)
		if inline := strings.Contains(text, `"constraint_values":`); inline != (i < 2) || strings.Contains(text, `"constraint_values_sha256":`) == inline {
			t.Errorf("trial %d: %s", i+1, text)
		}
		if i == 2 && !strings.Contains(text, first) {
			t.Errorf("trial 3 names its values otherwise than by %s: %s", first, text)
		}
		if trial := b.snap.Trial(i + 1); len(trial.ConstraintValues) != 1 || trial.ConstraintValues["backlog"][0] != contents[i][0] {
			t.Errorf("trial %d has %v", i+1, trial.ConstraintValues)
		}
	}
	if &b.snap.Trial(1).ConstraintValues["backlog"][0] != &b.snap.Trial(4).ConstraintValues["backlog"][0] {
		t.Error("values of the same content are held twice")
	}
	if err := CheckChain(b.events); err != nil {
		t.Error(err)
	}
	again, err := Fold("bench", nil, b.events, nil)
	if err != nil || again.Trial(5).ConstraintValues["backlog"][0] != 1 || again.Bytes != b.snap.Bytes {
		t.Errorf("%v, %+v", err, again)
	}
	partly := must.Get(Fold("bench", nil, b.events[:3], nil))(t)
	if whole, err := Fold("bench", partly, b.events[3:], nil); err != nil || len(whole.values) != 2 || len(partly.values) != 2 {
		t.Errorf("%v", err)
	}
	unknown := brings(6, 9, 9, 9, 9)
	unknown.ConstraintValues, unknown.ValueHashes = nil, map[string]string{"backlog": strings.Repeat("0", 64)}
	b.refuses("values that stand nowhere", Draft{Chosen, unknown})
	twice := brings(6, 9, 9, 9, 9)
	twice.ValueHashes = map[string]string{"backlog": first}
	b.refuses("values that are named and brought", Draft{Chosen, twice})
}

// TestLedgersThatRepeatValuesAreRead: earlier programs wrote the values with every trial. They are
// held once.
func TestLedgersThatRepeatValuesAreRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, queue(t))
	for i := range 3 {
		data := must.Get(json.Marshal(brings(i+1, 0, 2, 3, 4)))(t)
		b.add(Chosen, json.RawMessage(data))
	}
	for _, event := range b.events[1:] {
		if !strings.Contains(string(event.Data), `"constraint_values":`) {
			t.Fatalf("%s", event.Data)
		}
	}
	if err := CheckChain(b.events); err != nil {
		t.Error(err)
	}
	if &b.snap.Trial(1).ConstraintValues["backlog"][0] != &b.snap.Trial(3).ConstraintValues["backlog"][0] {
		t.Error("values of the same content are held twice")
	}
}

// TestZeroHasOneHash: JSON may lose its sign.
func TestZeroHasOneHash(t *testing.T) {
	t.Parallel()
	if hashValues([]float64{math.Copysign(0, -1)}) != hashValues([]float64{0}) {
		t.Error("0 and −0 have two hashes")
	}
}

// TestALargeAskIsWrittenOnce: fifty trials with ten sampled metrics of ten thousand candidates take
// hardly more room than one.
func TestALargeAskIsWrittenOnce(t *testing.T) {
	t.Parallel()
	values := map[string][]float64{}
	for _, metric := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		for n := range 10_000 {
			values[metric] = append(values[metric], float64(n)/7+float64(len(metric))+float64(metric[0]))
		}
	}
	size := func(count int) (bytes int) {
		var drafts []Draft
		for i := range count {
			data := brings(i+1, 0, 0, 0, 0)
			data.ConstraintValues = values
			drafts = append(drafts, Draft{Chosen, data})
		}
		events := must.Get(Next(nil, newBench(t, queue(t)).clock, "Ana", drafts...))(t)
		for _, e := range events {
			bytes += len(e.Data)
		}
		return bytes
	}
	if one, fifty := size(1), size(50); one < 1_000_000 || fifty > one+50*2000 {
		t.Errorf("one trial takes %d bytes, fifty take %d", one, fifty)
	}
}

// TestManyTrialsAreWeighedBySome: what some of many trials hold stands for the others within a tenth.
func TestManyTrialsAreWeighedBySome(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(5*measuredTrials + 3)
	for n := 1; n <= len(b.snap.Trials); n += 2 {
		b.tell(n, map[string]float64{"yield": 60 + float64(n%7)})
	}
	all := memory.NewMeter().Of(b.snap)
	if said := b.snap.BytesBeside(); math.Abs(float64(said-all)) > 0.1*float64(all) {
		t.Errorf("%d trials are said to hold %d bytes, and hold %d", len(b.snap.Trials), said, all)
	}
}
