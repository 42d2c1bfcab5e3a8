package study

import (
	"encoding/json"
	"math"
	"testing"

	"headroom/internal/must"
	"headroom/internal/study/design"
)

// readEverything asks for everything that pages and answers show, and fails unless all of it can be
// written as JSON.
func readEverything(t testing.TB, b *bench) {
	t.Helper()
	s, ctx, snap := b.service, b.Context(), b.snap
	through := design.Settings{}
	for _, p := range snap.Definition.Parameters {
		if p.Type != design.Remainder {
			through[p.Name] = p.Spread(3)[1]
		}
	}
	through = withRemainders(snap.Definition, through, nil)
	state, err := s.StateOf(ctx, snap)
	writable(t, state, err)
	posterior, err := s.PosteriorAt(ctx, snap, []design.Settings{through})
	writable(t, posterior, err)
	acquisition, err := s.AcquisitionAt(ctx, snap, AcquisitionQuery{Points: []design.Settings{through}})
	writable(t, acquisition, err)
	rows, err := s.HistoryOf(ctx, snap)
	writable(t, rows, err)
	choices, err := s.Compare(ctx, snap, []design.Algorithm{{Name: "rpol-ucb"}, {Name: "ckb-ucb"}})
	writable(t, choices, err)
	slices, err := s.Slices(ctx, snap, through, 5)
	writable(t, slices, err)
	writable(t, snap.Summary(), nil)
	writable(t, snap.Trials, nil)
	snap.BestSoFar()
	for i, told := range snap.ViolationSoFar() {
		for j, c := range snap.Definition.Constraints {
			replayed := rows[i].Violation[c.Name]
			if told[j].Soft != replayed.Soft || told[j].Hard != replayed.Hard || told[j].Rounds != replayed.Rounds {
				t.Errorf("trial %d, %s: the ledger says %+v, the replay %+v", i+1, c.Name, told[j], replayed)
			}
		}
	}
	verified, err := verifyEvents(ctx, b.events)
	if writable(t, verified, err); !verified.OK {
		text, _ := json.Marshal(verified)
		t.Errorf("not verified: %s", text)
	}
}

func writable(t testing.TB, value any, err error) {
	t.Helper()
	must.Do(t, err)
	must.Get(json.Marshal(value))(t)
}

func TestOddStudiesCanBeReadAndContinued(t *testing.T) {
	t.Parallel()
	for name, readings := range map[string]func(i int) map[string]float64{
		"nothing told":       func(int) map[string]float64 { return nil },
		"only the objective": func(i int) map[string]float64 { return map[string]float64{"yield": float64(i)} },
		"only the limit":     func(i int) map[string]float64 { return map[string]float64{"impurity": float64(i)} },
		"all equal":          func(int) map[string]float64 { return map[string]float64{"yield": 3, "impurity": 0.5} },
		"huge": func(i int) map[string]float64 {
			return map[string]float64{"yield": 1e9 * float64(i), "impurity": -1e9 * float64(i)}
		},
		"tiny": func(i int) map[string]float64 {
			return map[string]float64{"yield": 1e-9 * float64(i), "impurity": 1e-9 * float64(i*i)}
		},
		"huge and nearly same": func(i int) map[string]float64 {
			return map[string]float64{"yield": 1e9 + 1e-6*float64(i), "impurity": 1e9}
		},
		"as large as allowed": func(i int) map[string]float64 {
			return map[string]float64{"yield": math.Copysign(1e100, float64(i%2)-0.5), "impurity": 1e100}
		},
		"never feasible": func(i int) map[string]float64 {
			return map[string]float64{"yield": float64(i), "impurity": 10 + float64(i%3)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, oven())
			readEverything(t, b)
			for i := range 8 {
				b.ask(1)
				if metrics := readings(i); metrics != nil {
					b.tell(i+1, metrics)
				}
				if i == 0 {
					readEverything(t, b)
				}
			}
			readEverything(t, b)
		})
	}
}

func TestStudiesOfEveryShapeCanBePlayed(t *testing.T) {
	t.Parallel()
	noLimits := oven()
	noLimits.Constraints = nil
	for name, d := range map[string]design.Definition{"every type": bufferScreen(), "a mixture": mixture(), "no limits": noLimits} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, d)
			for i := range 9 {
				b.ask(1)
				metrics := map[string]float64{}
				for k, name := range b.snap.Compiled().MetricNames {
					metrics[name] = math.Sin(float64(3*i + k))
				}
				b.tell(i+1, metrics)
			}
			readEverything(t, b)
		})
	}
}
