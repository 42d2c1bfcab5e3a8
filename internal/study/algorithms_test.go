package study

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
)

// ovenWith is the oven on a grid of candidates, with what the algorithm needs.
func ovenWith(a policy.Description) design.Definition {
	d := oven()
	for i := range 6 {
		for j := range 6 {
			d.Candidates = append(d.Candidates, design.Settings{"temperature": design.NumberValue(20 + 8*float64(i)), "cycles": design.NumberValue(1 + 2*float64(j))})
		}
	}
	d.Algorithm.Name, d.Algorithm.Settings = a.Name, neededSettings(a)
	if a.NeedsSafeSeeds {
		d.Algorithm.Settings["safe_seeds"] = rawJSON(`[{"temperature": 20, "cycles": 1}, {"temperature": 28, "cycles": 3}]`)
	}
	if a.NeedsGivenConstraint {
		d.Constraints = []design.Constraint{{Metric: "load", Op: "<=", Threshold: 50, Expression: "temperature + cycles - slack", Context: []string{"slack"}}}
		d.RecordedMetrics = []design.RecordedMetric{{Metric: "impurity"}}
	}
	return d
}

// TestEventsNameEverySetting: the events that define a study say all that is in force, of every
// algorithm, whoever left what out.
func TestEventsNameEverySetting(t *testing.T) {
	t.Parallel()
	for _, a := range policy.Descriptions() {
		b := newBench(t, ovenWith(a))
		change := b.snap.Definition.Constraints[0]
		change.Threshold += 0.1
		b.must(ruleReconfigure(b.snap, design.Reconfiguration{Constraints: []design.Constraint{change}, Algorithm: &design.Algorithm{Name: a.Name, Horizon: 31, Settings: ovenWith(a).Algorithm.Settings}, Reason: "longer"}))
		for _, e := range b.events {
			var data struct {
				Engine     string `json:"engine"`
				Definition struct {
					Algorithm struct {
						Settings map[string]any `json:"settings"`
					} `json:"algorithm"`
					Model map[string]any `json:"model"`
					Stop  map[string]any `json:"stop"`
				} `json:"definition"`
			}
			must.Do(t, json.Unmarshal(e.Data, &data))
			for _, setting := range a.Settings {
				value, named := data.Definition.Algorithm.Settings[setting.Name]
				if !named || value == nil && setting.Default != nil {
					t.Errorf("%s, event %s: %s is %v", a.Name, e.Kind, setting.Name, value)
				}
			}
			if start, _ := data.Definition.Model["start"].(map[string]any); data.Engine != optimizer.Engine || len(start) != 3 || len(data.Definition.Stop) != 2 || data.Definition.Model["kernel"] == nil {
				t.Errorf("%s, event %s: %s", a.Name, e.Kind, e.Data)
			}
		}
	}
}

func TestGamesExplainAndVerify(t *testing.T) {
	t.Parallel()
	for _, a := range policy.Descriptions() {
		playExplainAndVerify(t, a, "")
	}
	option := func(algorithm, setting, value string) {
		a, _ := policy.Find(algorithm)
		playExplainAndVerify(t, a, setting, value)
	}
	option("ckb-ucb", "horizon", "doubling")
	option("ckb-ts", "horizon", "doubling_reuse")
	option("ckb", "explore_limits", "random")
	option("penalty-noiseless", "acquisition", "thompson")
}

// playExplainAndVerify plays an algorithm with a setting that has one of several words.
func playExplainAndVerify(t *testing.T, a policy.Description, setting string, word ...string) {
	t.Helper()
	t.Run(strings.TrimSpace(strings.Join(append([]string{a.Name, setting}, word...), " ")), func(t *testing.T) {
		t.Parallel()
		d := ovenWith(a)
		for _, w := range word {
			d.Algorithm.Settings[setting] = rawJSON(strconv.Quote(w))
		}
		b := newBench(t, d)
		for i := range 12 {
			question := Ask{Count: new(1 + i%3)}
			if a.NeedsGivenConstraint {
				question.Context = map[string]float64{"slack": float64(i)}
			}
			given := 28.
			if a.NeedsSafeSeeds {
				given = 20
			}
			if i%4 == 3 {
				question.Held = design.Settings{"temperature": design.NumberValue(given)}
			}
			b.must(b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, question))
			asked := b.snap.Trial(len(b.snap.Trials))
			if asked.Decision.Because == "" || asked.Decision.Algorithm != a.Name {
				t.Errorf("%+v", asked.Decision)
			}
			if held := i%4 == 3; held != slices.Equal(asked.Held, []string{"temperature"}) || held && asked.Parameters["temperature"].Number != given ||
				held != strings.Contains(asked.Decision.Because, fmt.Sprintf(" (held, as asked: %g °C)", given)) {
				t.Errorf("of %+v the temperature is to be held: %t", asked, held)
			}
			x := asked.Parameters["temperature"].Number / 60
			b.tell(asked.Number, map[string]float64{"yield": 70 + 20*x - 30*x*x, "impurity": x * x})
		}
		v, err := verifyEvents(t.Context(), b.events)
		if text, _ := json.Marshal(v); err != nil || !v.OK || v.Checked != len(b.snap.Trials) {
			t.Errorf("%v %s", err, text)
		}
		for i, round := range b.snap.History(b.snap.Compiled()).Rounds {
			if round.Suggested != (len(b.snap.Trials[i].Held) == 0) {
				t.Errorf("trial %d, with %v held, counts as suggested: %t", i+1, b.snap.Trials[i].Held, round.Suggested)
			}
		}
		state, err := b.service.StateOf(t.Context(), b.snap)
		writable(t, state, err)
		rows, err := b.service.HistoryOf(t.Context(), b.snap)
		writable(t, rows, err)
		for i, row := range rows {
			phase := 0
			if setting == "horizon" {
				phase = 1 << (bits.Len(uint(i+1)) - 1)
			}
			because := strings.Contains(b.snap.Trial(i+1).Decision.Because, fmt.Sprintf("those of T = %d, the length of the phase that began with trial %d.", phase, phase))
			if row.Horizon != phase || b.snap.Trial(i+1).Decision.Horizon != phase || because != (phase > 0 && b.snap.Trial(i+1).Decision.Reason != policy.FirstDesign) {
				t.Errorf("trial %d was decided in a phase of %d trials, is traced in one of %d, and is in one of %d: %s", i+1, b.snap.Trial(i+1).Decision.Horizon, row.Horizon, phase, b.snap.Trial(i+1).Decision.Because)
			}
		}
	})
}

// TestAReadingBelowZeroMovesNoMultiplierFar: what an instrument reads a little below zero, among readings
// over decades that were taken for their logarithms, counts by how many deviations it lies beside them.
func TestAReadingBelowZeroMovesNoMultiplierFar(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Parameters = []design.Parameter{{Name: "u", Type: design.Real, Low: new(0.0), High: new(1.0)}}
	d.Constraints, d.InputConstraints = []design.Constraint{{Metric: "impurity", Op: ">=", Threshold: 70}}, nil
	d.Algorithm = design.Algorithm{Name: "rpol-ucb", Horizon: 40}
	for _, below := range []float64{-0.05, -2.9} {
		b := newBench(t, d)
		for n := range 6 {
			b.ask(1)
			u := b.snap.Trial(n + 1).Parameters["u"].Number
			read := math.Exp(7*u - 2.2)
			if n == 4 {
				read = below
			}
			b.tell(n+1, map[string]float64{"yield": -(u - 0.3) * (u - 0.3), "impurity": read})
		}
		if w := b.snap.Trial(5).Decision.Model["impurity"].Warp; !w.Logarithmic() {
			t.Fatalf("trial 5 was decided under %+v, no logarithm", w)
		}
		was, is := b.snap.Trial(5).Decision.Multipliers["impurity"], b.snap.Trial(6).Decision.Multipliers["impurity"]
		if is < was || is-was > 12 {
			t.Errorf("a reading of %g moves the multiplier from %g to %g", below, was, is)
		}
	}
}
