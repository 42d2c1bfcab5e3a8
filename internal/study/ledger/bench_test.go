package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"headroom/internal/must"
	"headroom/internal/study/design"
)

// bench is a ledger in memory to which a test adds events.
type bench struct {
	testing.TB
	snap   *Snapshot
	events []Event
	clock  time.Time
}

// example is one of the studies that the tests of all packages about studies share.
func example(t testing.TB, name string) (d design.Definition) {
	t.Helper()
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(filepath.Join("..", "design", "testdata", name+".json")))(t), &d))
	return d
}

// oven is a small study: two settings, one limit.
func oven(t testing.TB) design.Definition { return example(t, "oven") }

func newBench(t testing.TB, d design.Definition) *bench {
	t.Helper()
	checked := must.Get(d.Check())(t)
	b := &bench{TB: t, clock: time.Date(2026, 3, 1, 9, 0, 0, 123456789, time.UTC)}
	b.add(Created, CreatedData{Definition: checked})
	return b
}

// add adds one event to the ledger.
func (b *bench) add(kind Kind, data any) {
	b.Helper()
	b.clock = b.clock.Add(time.Second)
	events := must.Get(Next(b.snap, b.clock, "Ana", Draft{kind, data}))(b)
	b.snap = must.Get(Fold("bench", b.snap, events, nil))(b)
	b.events = append(b.events, events...)
}

// chosen is the next trial of an oven, decided from event seen.
func (b *bench) chosen(seen int64) ChosenData {
	number := len(b.snap.Trials) + 1
	return ChosenData{Number: number, Origin: Suggested, Seen: seen, Engine: "1",
		Parameters: design.Settings{"temperature": design.NumberValue(20 + float64(number)), "cycles": design.NumberValue(1 + float64(number%12))}}
}

// choose begins trials that were decided together.
func (b *bench) choose(count int) {
	b.Helper()
	seen := b.snap.Version
	for range count {
		b.add(Chosen, b.chosen(seen))
	}
}

func (b *bench) tell(number int, metrics map[string]float64) {
	b.Helper()
	readings := map[string]Reading{}
	for name, value := range metrics {
		readings[name] = Reading{Value: value}
	}
	b.add(Told, ToldData{Number: number, Telling: Telling{Metrics: readings}})
}

// correct changes the yield of a trial; nil takes it back.
func (b *bench) correct(number int, after *Reading) {
	b.Helper()
	m := b.snap.Trial(number).Metrics["yield"]
	b.add(Corrected, CorrectedData{Number: number, Reason: "typo",
		Metrics: map[string]CorrectedValue{"yield": {Before: &Reading{m.Value, m.StdDev}, After: after}}})
}

// move says that another value of a setting was used than the ledger has.
func (b *bench) move(number int, name string, to float64) {
	b.Helper()
	before := b.snap.Trial(number).Parameters
	after := maps.Clone(before)
	after[name] = design.NumberValue(to)
	b.add(Corrected, CorrectedData{Number: number, Reason: "misread", Parameters: &CorrectedSettings{Before: before, After: after}})
}

// refuses fails unless the ledger refuses an event, naming it and whatever else it is to say.
func (b *bench) refuses(what string, d Draft, says ...string) {
	b.Helper()
	events := must.Get(Next(b.snap, b.clock, "Ana", d))(b)
	_, err := Fold("bench", b.snap, events, nil)
	for _, words := range append(says, fmt.Sprintf("event %d (%s): ", b.snap.Version+1, d.Kind)) {
		if err == nil || !strings.Contains(err.Error(), words) {
			b.Errorf("%s: got %v", what, err)
		}
	}
}

func (b *bench) close(kind Kind, number int, reason string) {
	b.Helper()
	data := ClosedData{Number: number, Reason: reason}
	if kind == Failed {
		data.Cause = BySettings
	}
	b.add(kind, data)
}

// reconfigure changes the definition.
func (b *bench) reconfigure(change func(*design.Definition)) {
	b.Helper()
	after := b.snap.Definition
	after.Parameters = append([]design.Parameter(nil), after.Parameters...)
	after.Constraints = append([]design.Constraint(nil), after.Constraints...)
	change(&after)
	checked := must.Get(after.Check())(b)
	b.add(Reconfigured, ReconfiguredData{Definition: checked, Changes: must.Get(design.Differences(b.snap.Definition, checked))(b), Reason: "x"})
}
