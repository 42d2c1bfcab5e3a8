package ledger

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/warp"
	"headroom/internal/study/design"
)

func TestSnapshotFiguresForPages(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	if b.snap.Best() != nil {
		t.Error("best of nothing")
	}
	readings := []map[string]float64{{"yield": 90, "impurity": 0.9}, {"yield": 60, "impurity": 0.4}, {"yield": 70}, {"yield": 65, "impurity": 0.1}, {}, {"yield": 64, "impurity": 0.5}}
	for i, metrics := range readings {
		b.choose(1)
		if len(metrics) > 0 {
			b.tell(i+1, metrics)
		}
	}
	feasible, known := b.snap.Feasibility()
	if best := b.snap.BestSoFar(); feasible != 3 || known != 4 || b.snap.Best().Number != 4 ||
		best[0] != 0 || best[1] != 2 || best[2] != 2 || best[3] != 4 || best[5] != 4 {
		t.Errorf("%d of %d, best %v", feasible, known, best)
	}
	if waiting := b.snap.WaitingTrials(); len(waiting) != 2 || waiting[0].Number != 3 || waiting[1].Number != 5 {
		t.Errorf("waiting %v", waiting)
	}
	last := b.snap.ViolationSoFar()[5][0]
	if math.Abs(last.Hard-0.4) > 1e-12 || last.Soft != 0 || last.Rounds != 1 || last.Known != 4 {
		t.Errorf("%+v", last)
	}
	b.close(Excluded, 4, "x")
	if b.snap.Best().Number != 6 {
		t.Error("an excluded trial is never best")
	}
	b.close(Excluded, 3, "x")
	if s := b.snap.Summary(); s.Waiting != 1 || !s.OldestWaiting.Equal(b.snap.Trial(5).CreatedAt) {
		t.Errorf("with one that waits taken out: %+v", s)
	}
}

func (b *bench) round(number int) optimizer.Round {
	return b.snap.History(b.snap.compiled).Rounds[number-1]
}

func (b *bench) yieldRevealed(number int) int { return b.round(number).Readings[0].Revealed }

func TestReadingsAreRevealedInTheRoundOfTheLastDecisionThatMissedThem(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(1)
	b.tell(1, map[string]float64{"yield": 1}) // told between decisions 1 and 2
	b.choose(3)                               // 2, 3 and 4 all see it
	b.tell(3, map[string]float64{"yield": 3}) // told after decision 4
	b.choose(1)                               // 5
	b.tell(2, map[string]float64{"yield": 2}) // told after decision 5
	for number, want := range map[int]int{1: 1, 2: 5, 3: 4} {
		if got := b.yieldRevealed(number); got != want {
			t.Errorf("yield of trial %d was revealed during round %d, want %d", number, got, want)
		}
	}
	// A tell that comes while decision 6 is being made belongs to round 6: decision 6 has not seen
	// it.
	sixth := b.chosen(b.snap.Version)
	b.tell(5, map[string]float64{"yield": 5})
	if got := b.yieldRevealed(5); got != 5 {
		t.Errorf("before decision 6 is written: %d", got)
	}
	b.add(Chosen, sixth)
	if got := b.yieldRevealed(5); got != 6 {
		t.Errorf("after decision 6 was written: %d", got)
	}
}

func TestCorrectionsKeepTheirRoundAndTakenBackValuesDoNot(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(1)
	b.tell(1, map[string]float64{"yield": 1})
	b.choose(2)
	b.correct(1, &Reading{Value: 10, StdDev: new(0.5)})
	if want := (optimizer.Reading{Told: true, Value: 10, SD: 0.5, Revealed: 1}); b.round(1).Readings[0] != want {
		t.Errorf("corrected: %+v", b.round(1).Readings[0])
	}
	b.correct(1, nil)
	if b.round(1).Readings[0] != (optimizer.Reading{}) {
		t.Errorf("taken back: %+v", b.round(1).Readings[0])
	}
	b.tell(1, map[string]float64{"yield": 11})
	if want := (optimizer.Reading{Told: true, Value: 11, Revealed: 3}); b.round(1).Readings[0] != want {
		t.Errorf("told again: %+v", b.round(1).Readings[0])
	}
}

func TestClosedSpellsAndExclusion(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	b.choose(1)
	b.close(Failed, 1, "spilled")
	if want := []optimizer.Spell{{From: 2, Cause: optimizer.BySettings}}; !cmp.Equal(b.round(1).Closed, want) {
		t.Errorf("failed: %v", b.round(1).Closed)
	}
	b.choose(1)
	b.add(Failed, ClosedData{Number: 1, Reason: "a fuse blew", Cause: ByChance})
	b.choose(1)
	b.tell(1, map[string]float64{"yield": 1})
	if want := []optimizer.Spell{{From: 2, To: 3, Cause: optimizer.BySettings}, {From: 3, To: 4, Cause: optimizer.ByChance}}; !cmp.Equal(b.round(1).Closed, want) {
		t.Errorf("reopened: %v", b.round(1).Closed)
	}
	b.close(Abandoned, 2, "no time")
	b.tell(2, map[string]float64{"yield": 2})
	if len(b.round(2).Closed) != 0 {
		t.Errorf("reopened before any decision noticed: %v", b.round(2).Closed)
	}
	b.close(Excluded, 2, "wrong bottle")
	if !b.round(2).Excluded {
		t.Error("excluded")
	}
	b.close(Included, 2, "right bottle")
	if b.round(2).Excluded {
		t.Error("included again")
	}
}

func TestFitsKeepOnlyWhatTheModelInForceMeans(t *testing.T) {
	t.Parallel()
	fit := FittedMetric{Kernel: "matern52", Inputs: "unit", Outputs: "standardize"}
	fit.FittedMetric = optimizer.FittedMetric{Centre: 5, Scale: 2, Lengthscales: []float64{0.1, 0.2}, Lambda: 0.01, Variance: 1.5, Interaction: 0.3, Told: 0.4, Inflation: 1.2, Freedom: 8, Count: 9,
		Warp: warp.Warp{Power: 0.7, Centre: 0.1, Scale: 1.1}, Settings: []optimizer.NoiseAt{{Round: 2, Lambda: 0.03}}, Wrong: []optimizer.NoiseAt{{Round: 4, Lambda: 9}}}
	under := func(model design.Model) optimizer.FittedMetric {
		d := oven(t)
		d.Model = model
		return FitsUnder(newBench(t, d).snap.Compiled(), []FittedData{{From: 3, Metrics: map[string]FittedMetric{"yield": fit}}})[0].Metrics[0]
	}
	whole := optimizer.FittedMetric{Set: true, Centre: 5, Scale: 2, Lengthscales: []float64{0.1, 0.2}, Lambda: 0.01, Variance: 1.5, Interaction: 0.3, Told: 0.4, Inflation: 1.2, Freedom: 8, Count: 9,
		Warp: warp.Warp{Power: 0.7, Centre: 0.1, Scale: 1.1}, Settings: []optimizer.NoiseAt{{Round: 2, Lambda: 0.03}}, Wrong: []optimizer.NoiseAt{{Round: 4, Lambda: 9}}}
	units := optimizer.FittedMetric{Set: true, Centre: 5, Scale: 2, Count: 9}
	for name, c := range map[string]struct {
		model design.Model
		want  optimizer.FittedMetric
	}{
		"the same model":      {design.Model{}, whole},
		"another kernel":      {design.Model{Kernel: json.RawMessage(`"se"`)}, units},
		"other inputs":        {design.Model{Inputs: "raw"}, units},
		"lengthscales given":  {design.Model{Lengthscales: json.RawMessage(`0.4`)}, whole},
		"noise given":         {design.Model{NoiseVariance: json.RawMessage(`0.1`)}, whole},
		"hyperparameters set": {design.Model{Fit: "fixed", Outputs: "standardize"}, whole},
		"raw outputs":         {design.Model{Fit: "fixed", Outputs: "raw"}, optimizer.FittedMetric{}},
	} {
		if diff := cmp.Diff(c.want, under(c.model)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestOnlyTheAlgorithmThatDrewKnowsItsDraws(t *testing.T) {
	t.Parallel()
	decision := &Decision{Algorithm: "ckb-ts", RandomSeed: 7, Draws: []float64{1, 2}}
	for algorithm, want := range map[string]optimizer.Draw{"ckb-ts": {Seed: 7, Z: []float64{1, 2}}, "rpol-ucb": {Seed: 7}} {
		if diff := cmp.Diff(want, decision.Draw(algorithm)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", algorithm, diff)
		}
	}
	if diff := cmp.Diff(optimizer.Draw{}, (*Decision)(nil).Draw("ckb-ts")); diff != "" {
		t.Errorf("a trial without a decision drew %s", diff)
	}
}

// TestRevisionsAndLimitsAsTheyStood: what changed the rules is listed in order, and each trial keeps
// the limit under which it was chosen.
func TestRevisionsAndLimitsAsTheyStood(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	limit := b.snap.Definition.Constraints[0].Threshold
	b.choose(1)
	b.tell(1, map[string]float64{"yield": 70, "impurity": 0.4})
	b.reconfigure(func(d *design.Definition) {
		d.Constraints = append([]design.Constraint(nil), d.Constraints...)
		d.Constraints[0].Threshold = limit / 2
	})
	b.choose(1)
	before := b.snap
	b.correct(1, &Reading{Value: 71})
	b.close(Excluded, 1, "wrong batch")
	kinds := lists.Map(b.snap.Revisions, func(revision Revision) Kind { return revision.Kind })
	if len(kinds) != 4 || kinds[0] != Created || kinds[1] != Reconfigured || kinds[2] != Corrected || kinds[3] != Excluded {
		t.Fatalf("%v", kinds)
	}
	if last := b.snap.Revisions[3]; last.Number != 1 || last.Reason != "wrong batch" || last.After != 2 {
		t.Errorf("%+v", last)
	}
	if len(before.Revisions) != 2 {
		t.Errorf("an earlier version has %d revisions", len(before.Revisions))
	}
	through := b.snap.LimitsThrough()
	if through[0][0].Threshold != limit || through[1][0].Threshold != limit/2 {
		t.Errorf("the limits were %v and %v, want %v and %v", through[0][0].Threshold, through[1][0].Threshold, limit, limit/2)
	}
}

// TestWhatANameEndsWithIsNoField: a change of a setting for something named “….unit” concerns the
// algorithm, and is no change of a unit.
func TestWhatANameEndsWithIsNoField(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven(t))
	for path, seen := range map[string]bool{"unavailable.catalyst.unit": true, "algorithm.settings.margin.g.plausible": true, "model.variance.y.unit": true, "parameters[a.unit].low": true,
		"objective.unit": false, "parameters[catalyst.unit].unit": false, "constraints[a] b].plausible": false, "recorded_metrics[0].unit": false, "stop.risk": false} {
		b.add(Reconfigured, ReconfiguredData{Definition: b.snap.Definition, Changes: []design.Change{{Path: path}}, Reason: "x"})
		last := b.snap.Revisions[len(b.snap.Revisions)-1]
		if got := len(last.Changes) == 1; got != seen {
			t.Errorf("%s concerns the algorithm: %t", path, got)
		}
		units := len(b.snap.former) > 0 && b.snap.former[len(b.snap.former)-1].until == last.Seq
		if want := !seen && path[len(path)-5:] == ".unit"; units != want {
			t.Errorf("%s changes a unit: %t", path, units)
		}
	}
}

func TestALimitOnTheObjectiveHasAnEstimateOfItsOwn(t *testing.T) {
	t.Parallel()
	d := oven(t)
	d.Constraints = append(d.Constraints, design.Constraint{Metric: "yield", Op: ">=", Threshold: 20}, design.Constraint{Metric: "smell", Op: "<="})
	checked := must.Get(d.Check())(t)
	decision := Decision{Estimates: Estimates(checked, []float64{3, -1, -2, math.NaN()})}
	if decision.Estimates["yield"] != 3 || len(decision.Estimates) != 3 {
		t.Errorf("%v", decision.Estimates)
	}
	for i, want := range []float64{-1, -2} {
		if got, there := decision.LimitEstimate(checked, checked.Constraints[i]); !there || got != want {
			t.Errorf("limit on %s: %v, %v", checked.Constraints[i].Name, got, there)
		}
	}
	if got, there := decision.LimitEstimate(checked, checked.Constraints[2]); there {
		t.Errorf("a limit without an estimate has %v", got)
	}
}
