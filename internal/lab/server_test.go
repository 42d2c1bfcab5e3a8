package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/db/dbtest"
	"headroom/internal/must"
	"headroom/internal/optimizer/checkpoint"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// games cover finite and continuous spaces, recorded draws, batches, late results and noise.
func games(t testing.TB) map[string]Game {
	own := Noise{Kind: OwnNoise}
	return map[string]Game{
		"table":      {Problem: problem(t, "made-mixed"), Start: 5, Asks: 12, Batch: 1, Noise: own, Seed: 3},
		"readings":   {Problem: problem(t, "made-uneven"), Algorithm: design.Algorithm{Name: "cei"}, Start: 4, Asks: 12, Batch: 1, Noise: own, Seed: 4},
		"continuous": {Problem: problem(t, "gramacy"), Asks: 12, Batch: 1, Noise: own, Seed: 5},
		"late": {Problem: problem(t, "tension-spring"), Algorithm: design.Algorithm{Name: "ckb-rand"}, Model: design.Model{Kernel: json.RawMessage(`"se"`)},
			Start: 3, Asks: 13, Batch: 3, Delay: 1, Noise: Noise{Kind: Gaussian, Size: 0.1}, Told: ToldLow, Seed: 6},
		"told": {Problem: problem(t, "reaction"), Start: 3, Asks: 12, Batch: 1, Noise: own, Told: ToldTrue, Seed: 7},
	}
}

// TestServerDecidesTheSame plays games in memory, and then by hand against the service on
// PostgreSQL: import the start rows, ask, tell what the game's readings were. Every decision and
// every fit must be the same, to the last bit.
func TestServerDecidesTheSame(t *testing.T) {
	t.Parallel()
	for name, g := range games(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMemory := study.NewService(new(memoryStore), study.Options{})
			t.Cleanup(inMemory.Stop)
			record := must.Get(g.PlayOn(t.Context(), inMemory, nil))(t)
			want := only(t, inMemory)
			onServer := study.NewService(dbtest.New(t).Studies, study.Options{})
			t.Cleanup(onServer.Stop)
			got := repeated(t, onServer, g, record)
			if len(want.Trials) != g.Start+g.Asks {
				t.Fatalf("%d trials in memory", len(want.Trials))
			}
			compareGames(t, want, got)
		})
	}
}

// TestASlowServerDecidesTheSame plays a game on a service whose only processor is taken for a
// second at a time by somebody else: whatever a decision needs comes late, and is waited for. Time
// is that of the test's own clock.
func TestASlowServerDecidesTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		play := func(crowded bool) *ledger.Snapshot {
			service := study.NewService(new(memoryStore), study.Options{Replays: 1})
			defer service.Stop()
			ctx, leave := context.WithCancel(t.Context())
			var others sync.WaitGroup
			defer others.Wait()
			defer leave()
			if crowded {
				takes := func(ctx context.Context) error {
					for range 2 {
						time.Sleep(time.Second)
						if err := checkpoint.Reach(ctx); err != nil {
							return err
						}
					}
					return nil
				}
				others.Go(func() {
					for ctx.Err() == nil {
						_ = service.Derived.Compute(ctx, "another study", takes)
					}
				})
			}
			must.Get(games(t)["table"].PlayOn(t.Context(), service, nil))(t)
			return only(t, service)
		}
		begun := time.Now()
		want := play(false)
		if alone := time.Since(begun); alone > time.Second {
			t.Fatalf("alone it takes %v of a clock that waits for nobody", alone)
		}
		got := play(true)
		if time.Since(begun) < 10*time.Second {
			t.Error("nobody was in the way")
		}
		compareGames(t, want, got)
	})
}

// compareGames fails where the two decided otherwise, or fitted otherwise.
func compareGames(t *testing.T, want, got *ledger.Snapshot) {
	t.Helper()
	if len(want.Fits) == 0 {
		t.Error("no fit was made: the game is too short to compare any")
	}
	if difference := cmp.Diff(want.Fits, got.Fits); difference != "" {
		t.Errorf("fits differ, expected (-) and found (+):\n%s", difference)
	}
	if len(got.Trials) != len(want.Trials) {
		t.Fatalf("%d trials, want %d", len(got.Trials), len(want.Trials))
	}
	for i := range want.Trials {
		if difference := cmp.Diff(choiceOf(want.Trials[i]), choiceOf(got.Trials[i])); difference != "" {
			t.Fatalf("trial %d differs, expected (-) and found (+):\n%s", i+1, difference)
		}
	}
}

// only is the one study of a service.
func only(t testing.TB, s *study.Service) *ledger.Snapshot {
	t.Helper()
	all, _, err := s.Summaries(t.Context(), study.Listing{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d studies, %v", len(all), err)
	}
	return must.Get(s.Snapshot(t.Context(), all[0].ID, 0))(t)
}

// chosen is what was decided in a trial.
type chosen struct {
	Parameters design.Settings
	Candidate  *int
	Origin     ledger.Origin
	Seen       int64
	Decision   *ledger.Decision
}

func choiceOf(t *ledger.Trial) chosen {
	return chosen{t.Parameters, t.Candidate, t.Origin, t.Seen, t.Decision}
}

// repeated plays the readings of a record on a service, written down anew from what a rehearsal
// promises.
func repeated(t testing.TB, s *study.Service, g Game, record *Record) *ledger.Snapshot {
	t.Helper()
	by := study.Command{By: "rehearsal"}
	snap := must.Get(s.Create(t.Context(), by, g.definition()))(t)
	if g.Start > 0 {
		must.Get(s.ImportCSV(t.Context(), by, snap.ID, tableOf(g.Problem, record.Start), study.ImportOptions{}))(t)
	}
	for i, row := range record.Start {
		must.Get(s.Tell(t.Context(), by, snap.ID, i+1, tellingOf(row)))(t)
	}
	told := 0
	for asked := 0; asked < g.Asks; {
		count := min(g.Batch, g.Asks-asked)
		must.Get2(s.Ask(t.Context(), by, snap.ID, study.Ask{Count: &count}))(t)
		asked += count
		due := asked - count*g.Delay // of a delay of at most 1
		if asked == g.Asks {
			due = asked
		}
		for ; told < due; told++ {
			must.Get(s.Tell(t.Context(), by, snap.ID, g.Start+told+1, tellingOf(record.Asks[told])))(t)
		}
	}
	return only(t, s)
}

func tellingOf(trial Trial) ledger.Telling {
	told := ledger.Telling{Metrics: map[string]ledger.Reading{}}
	for metric, value := range trial.Read {
		told.Metrics[metric] = ledger.Reading{Value: value}
		if sd := trial.Told[metric]; sd > 0 {
			told.Metrics[metric] = ledger.Reading{Value: value, StdDev: &sd}
		}
	}
	return told
}

func tableOf(p *Problem, rows []Trial) *bytes.Buffer {
	var out bytes.Buffer
	for _, parameter := range p.Study.Parameters {
		fmt.Fprintf(&out, "%s,", parameter.Name)
	}
	for _, row := range rows {
		out.Truncate(out.Len() - 1) // the comma behind the last
		out.WriteByte('\n')
		for _, parameter := range p.Study.Parameters {
			fmt.Fprintf(&out, "%s,", row.Settings[parameter.Name])
		}
	}
	out.Truncate(out.Len() - 1)
	return &out
}
