package study

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"headroom/internal/lists"
	"headroom/internal/must"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

func TestCandidatesCanBeLookedAtFromBetween(t *testing.T) {
	t.Parallel()
	ctx, between := t.Context(), design.Settings{"temperature": design.NumberValue(23.4), "cycles": design.NumberValue(4)}
	d := ovenWith(policy.Description{Name: "rpol-ucb"})
	b := newBench(t, d)
	for i := range 8 {
		b.ask(1)
		b.tell(i+1, map[string]float64{"yield": float64(i % 5), "impurity": 0.1 * float64(i)})
	}
	posterior, err := b.service.PosteriorAt(ctx, b.snap, []design.Settings{between, d.Candidates[0]})
	if err != nil || len(posterior.Metrics["yield"].Mean) != 2 || !(posterior.Metrics["yield"].SD[0] > 0) {
		t.Errorf("%v %+v", err, posterior)
	}
	acquisition, err := b.service.AcquisitionAt(ctx, b.snap, AcquisitionQuery{})
	if err != nil || len(acquisition.Values) != 36 {
		t.Fatalf("%v %+v", err, acquisition)
	}
	if _, err := b.service.Slices(ctx, b.snap, between, 7); err != nil {
		t.Error(err)
	}
	if _, err := b.service.AcquisitionAt(ctx, b.snap, AcquisitionQuery{Points: []design.Settings{between}}); err == nil {
		t.Error("the acquisition is that of candidates only")
	}
}

// TestWhatTheNextAskWouldDo: the fit that comes before it does so before what is said of it, too.
func TestWhatTheNextAskWouldDo(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"log-cei", "rpol-ucb"} {
		b := newBench(t, ovenWith(policy.Description{Name: algorithm}))
		for n := 1; n <= 16; n++ {
			acquisition := must.Get(b.service.AcquisitionAt(t.Context(), b.snap, AcquisitionQuery{}))(t)
			choices := must.Get(b.service.Compare(t.Context(), b.snap, []design.Algorithm{b.snap.Definition.Algorithm}))(t)
			b.ask(1)
			chosen := b.snap.Trial(n)
			if chosen.Decision.Acquisition != nil && *chosen.Candidate != *acquisition.Argmax {
				t.Errorf("%s, trial %d: candidate %d was to maximise the acquisition, and %d was asked for", algorithm, n, *acquisition.Argmax, *chosen.Candidate)
			}
			if !maps.Equal(*choices[0].Parameters, chosen.Parameters) {
				t.Errorf("%s, trial %d: compared it would choose %v, and asked for is %v", algorithm, n, *choices[0].Parameters, chosen.Parameters)
			}
			temperature, cycles := chosen.Parameters["temperature"].Number, chosen.Parameters["cycles"].Number
			b.tell(n, map[string]float64{"yield": math.Sin(temperature/8) * cycles, "impurity": 0.02*temperature - 0.1*math.Cos(cycles)})
		}
	}
}

func TestACovarianceKnowsOnlyItsCandidates(t *testing.T) {
	t.Parallel()
	d := ovenWith(policy.Description{Name: "rpol-ucb"})
	d.Candidates = d.Candidates[:2]
	matrix := must.Get(json.Marshal(map[string]any{"name": "covariance", "matrix": [][]float64{{1, 0.5}, {0.5, 1}}}))(t)
	d.Model = design.Model{Kernel: matrix, Fit: "fixed"}
	b := newBench(t, d)
	b.ask(1)
	b.tell(1, map[string]float64{"yield": 1})
	if _, err := b.service.PosteriorAt(t.Context(), b.snap, d.Candidates); err != nil {
		t.Error(err)
	}
	_, err := b.service.PosteriorAt(t.Context(), b.snap, []design.Settings{{"temperature": design.NumberValue(23.4), "cycles": design.NumberValue(4)}})
	wantFault(t, faultsOf(t, err), "points[0]", "not one of the 2 candidates")
	if slices, err := b.service.Slices(t.Context(), b.snap, d.Candidates[0], 7); err != nil || slices != nil {
		t.Errorf("%v %v", slices, err)
	}
}

// TestSlicesAndMapsHaveTheChanceThatATrialWorks once one has failed because of its settings: less
// at its settings than elsewhere, and nothing where the algorithm does not learn from it.
func TestSlicesAndMapsHaveTheChanceThatATrialWorks(t *testing.T) {
	t.Parallel()
	for _, preset := range []string{"", "paper"} {
		d := oven()
		d.Algorithm = design.Algorithm{Name: "ckb-ucb", Horizon: 20, Preset: preset}
		if preset == "paper" {
			d.Algorithm.Settings = map[string]json.RawMessage{"beta": json.RawMessage(`{"schedule": "theory", "B": 2, "R": 0.1}`), "slater": json.RawMessage(`0.1`)}
		}
		b := newBench(t, d)
		for n := range 4 {
			b.ask(1)
			b.tell(n+1, map[string]float64{"yield": 60 + float64(n), "impurity": 0.1})
		}
		look := func() ([]Slice, Map) {
			failed := b.snap.Trials[len(b.snap.Trials)-1].Parameters
			along := must.Get(b.service.Slices(t.Context(), b.snap, failed, 5))(t)
			over := must.Get(b.service.Map(t.Context(), b.snap, "temperature", "cycles", failed, 3))(t)
			return along, over
		}
		b.ask(1)
		if along, over := look(); along[0].Works != nil || over.Works != nil {
			t.Errorf("%q: before a trial failed its chance to work is %v and %v", preset, along[0].Works, over.Works)
		}
		b.must(ruleClose(b.snap, ledger.Failed, ledger.ClosedData{Number: 5, Reason: "broke", Cause: ledger.BySettings}))
		along, over := look()
		if preset == "paper" {
			if along[0].Works != nil || over.Works != nil {
				t.Errorf("an algorithm that learns nothing from failures gives the chances %v and %v", along[0].Works, over.Works)
			}
			continue
		}
		if lowest, highest := slices.Min(along[0].Works), slices.Max(along[0].Works); lowest >= highest || lowest <= 0 || highest > 1 {
			t.Errorf("along a parameter through the trial that failed the chances are %v", along[0].Works)
		}
		if len(over.Works) != 3 || len(over.Works[0]) != 3 {
			t.Errorf("over two parameters the chances are %v", over.Works)
		}
	}
}

// TestWhatHasRunOutIsNotTheLargestAcquisition: the next ask would not choose it, whatever its score.
func TestWhatHasRunOutIsNotTheLargestAcquisition(t *testing.T) {
	t.Parallel()
	d := ovenWith(policy.Description{Name: "log-cei"})
	d.Candidates, d.Unavailable = nil, map[string][]design.Value{"cycles": {design.NumberValue(4)}}
	b := newBench(t, d)
	at := func(temperature, cycles float64) design.Settings {
		return design.Settings{"temperature": design.NumberValue(temperature), "cycles": design.NumberValue(cycles)}
	}
	points := []design.Settings{at(30, 4), at(30, 3), at(40, 4)}
	got, err := b.service.AcquisitionAt(t.Context(), b.snap, AcquisitionQuery{Points: points})
	if err != nil || got.Values[0] != nil || got.Values[1] == nil || got.Values[2] != nil || got.Argmax == nil || *got.Argmax != 1 {
		t.Errorf("%v %+v", err, got)
	}
	if got, err = b.service.AcquisitionAt(t.Context(), b.snap, AcquisitionQuery{Points: points[:1]}); err != nil || got.Argmax != nil {
		t.Errorf("%v %+v", err, got)
	}
}

// TestNoPointsAreNotAllCandidates: only where nothing is said of points are they meant.
func TestNoPointsAreNotAllCandidates(t *testing.T) {
	t.Parallel()
	b := newBench(t, ovenWith(policy.Description{Name: "log-cei"}))
	if got, err := b.service.AcquisitionAt(t.Context(), b.snap, AcquisitionQuery{}); err != nil || len(got.Values) != len(b.snap.Definition.Candidates) {
		t.Errorf("%v %+v", err, got)
	}
	_, err := b.service.AcquisitionAt(t.Context(), b.snap, AcquisitionQuery{Points: []design.Settings{}})
	wantFault(t, faultsOf(t, err), "points", "leave it out")
}

// TestNoChanceIsSaidInUnknownUnits, and no improvement or belief: until a first fit says how large readings are, the prior is as
// wide as one of whatever unit they are in, and of two units would give two chances.
func TestNoChanceIsSaidInUnknownUnits(t *testing.T) {
	t.Parallel()
	b := newBench(t, ovenWith(policy.Description{Name: "log-cei"}))
	for n := 1; n <= 8; n++ {
		b.ask(1)
		decidedFitted, decided := len(b.snap.Fits) > 0, b.snap.Trial(n)
		posterior := must.Get(b.service.PosteriorAt(t.Context(), b.snap, []design.Settings{decided.Parameters}))(t)
		state := must.Get(b.service.StateOf(t.Context(), b.snap))(t)
		if by := decided.Decision; by.ExpectedImprovement != nil != decidedFitted || by.FeasibilityProbability != nil != decidedFitted {
			t.Errorf("trial %d, fitted %t: to improve by %v with a chance of %v", n, decidedFitted, by.ExpectedImprovement, by.FeasibilityProbability)
		}
		if by := decided.Decision; len(by.Mean)+len(by.SD) > 0 != decidedFitted {
			t.Errorf("trial %d, fitted %t: expected were %v ± %v", n, decidedFitted, by.Mean, by.SD)
		}
		if fitted := state.Metrics["yield"].Fitted; state.Metrics["yield"].Scaled != fitted || posterior.Uncertain == fitted || posterior.Unread["yield"] == fitted || state.Recommendation != nil != fitted || fitted != (n >= 5) {
			t.Errorf("after trial %d, fitted %t: a chance at any point %t, nothing of %v, recommended %+v", n, fitted, !posterior.Uncertain, posterior.Unread, state.Recommendation)
		}
		b.tell(n, map[string]float64{"yield": float64(60 + n%5), "impurity": 0.1 * float64(n)})
	}
	if len(b.snap.Fits) == 0 {
		t.Error("nothing was fitted")
	}
}

// TestNoBoundIsToldInUnknownUnits: before a metric's first scale a bound would be in units of the prior,
// whatever the metric is measured in. Raw readings have their own from the start.
func TestNoBoundIsToldInUnknownUnits(t *testing.T) {
	t.Parallel()
	for outputs, known := range map[string]bool{"standardize": false, "raw": true} {
		d := ovenWith(policy.Description{Name: "rpol-ucb"})
		d.Model.Outputs = outputs
		b := newBench(t, d)
		limit := b.snap.Definition.Constraints[0].Name
		told := func(known bool) {
			t.Helper()
			state, rows := must.Get(b.service.StateOf(t.Context(), b.snap))(t), must.Get(b.service.HistoryOf(t.Context(), b.snap))(t)
			last := rows[len(rows)-1]
			if at := state.Violation[limit]; (at.Bound != nil) != known || (at.Left != nil) != known || (last.Violation[limit].Bound != nil) != known || (state.Regret != nil) != known || (last.Regret != nil) != known {
				t.Errorf("%s, %d trials: %+v %+v %+v", outputs, len(rows), at, state.Regret, last)
			}
		}
		b.ask(1)
		b.tell(1, map[string]float64{"yield": 3, "impurity": 0.1})
		told(known)
		for n := 2; n <= 6; n++ {
			b.ask(1)
			b.tell(n, map[string]float64{"yield": float64(n), "impurity": 0.1 * float64(n)})
		}
		told(true)
	}
}

// TestNothingIsExpectedBeforeAReading: of a metric that a decision saw no reading of, its row of the
// history expects none, as the decision itself does; nor later, when all its readings are taken out.
func TestNothingIsExpectedBeforeAReading(t *testing.T) {
	t.Parallel()
	for _, outputs := range []string{"standardize", "raw"} {
		d := ovenWith(policy.Description{Name: "rpol-ucb"})
		d.Model.Outputs = outputs
		b := newBench(t, d)
		for n := 1; n <= 6; n++ {
			b.ask(1)
			readings := map[string]float64{"yield": float64(n)}
			if n > 2 {
				readings["impurity"] = 0.1 * float64(n)
			}
			b.tell(n, readings)
		}
		first := map[string]int{"yield": 1, "impurity": 3}
		for _, out := range []int{0, 1} {
			if first["yield"] += out; out == 1 {
				b.must(ruleClose(b.snap, ledger.Excluded, ledger.ClosedData{Number: 1, Reason: "wrong batch"}))
			}
			for _, row := range must.Get(b.service.HistoryOf(t.Context(), b.snap))(t) {
				for metric, first := range first {
					if at, is := row.Ahead[metric]; !is || at != nil && row.Number <= first || at == nil && row.Number == 6 {
						t.Errorf("%s: the %s of trial %d was expected to be %v; it was read first in trial %d", outputs, metric, row.Number, at, first)
					}
				}
			}
		}
	}
}

// TestAReadingBeyondALogarithmMovesNothingElse: before the fit that it makes due, it would lie many
// deviations below all others, and what is shown would be off by orders of magnitude.
func TestAReadingBeyondALogarithmMovesNothingElse(t *testing.T) {
	t.Parallel()
	d := ovenWith(policy.Description{Name: "log-cei"})
	b := newBench(t, d)
	reads := func(n int) float64 {
		p := b.snap.Trial(n).Parameters
		return math.Exp(p["temperature"].Number/6 - p["cycles"].Number/4)
	}
	for n := 1; n <= 22; n++ {
		b.ask(1)
		b.tell(n, map[string]float64{"yield": reads(n), "impurity": 0.1})
	}
	b.ask(1)
	if !b.snap.Fits[len(b.snap.Fits)-1].Metrics["yield"].Warp.Logarithmic() {
		t.Fatal("the readings are not taken for logarithms")
	}
	b.tell(23, map[string]float64{"yield": -0.001, "impurity": 0.1})
	shown := must.Get(b.service.PosteriorAt(t.Context(), b.snap, d.Candidates))(t).Metrics["yield"].Mean
	b.ask(1)
	asked := must.Get(b.service.PosteriorAt(t.Context(), b.snap, d.Candidates))(t).Metrics["yield"].Mean
	for i := range shown {
		if math.Abs(shown[i]-asked[i]) > 1e-3*math.Abs(asked[i])+1 {
			t.Errorf("at candidate %d %g is expected, and %g once it is fitted", i, shown[i], asked[i])
		}
	}
}

// TestChartsKnowWhereATrialMayBeChosen, along parameters and over two, in the same rows and columns.
func TestChartsKnowWhereATrialMayBeChosen(t *testing.T) {
	t.Parallel()
	d := oven()
	d.InputConstraints = []string{"temperature + 2*cycles <= 60"}
	b := newBench(t, d)
	b.ask(1)
	through := b.snap.Trials[0].Parameters
	may := func(to design.Settings) bool {
		return b.snap.Compiled().MayChoose(withRemainders(b.snap.Definition, through, to))
	}
	seen := map[bool]bool{}
	for _, slice := range must.Get(b.service.Slices(t.Context(), b.snap, through, 9))(t) {
		for i, v := range slice.At {
			if open := may(design.Settings{slice.Parameter: v}); slice.Open[i] != open {
				t.Errorf("along %s, %v may be chosen: %v", slice.Parameter, v, slice.Open[i])
			}
		}
	}
	over := must.Get(b.service.Map(t.Context(), b.snap, "temperature", "cycles", through, 9))(t)
	for i, y := range over.Y {
		for j, x := range over.X {
			open := may(design.Settings{"temperature": x, "cycles": y})
			if seen[open] = true; over.Open[i][j] != open {
				t.Errorf("%v and %v may be chosen: %v", x, y, over.Open[i][j])
			}
		}
	}
	if !seen[true] || !seen[false] {
		t.Errorf("the map shows only such as may be chosen, or only others: %v", seen)
	}
}

// TestChartsHaveNoMixtureThatCannotBe: along parameters and over two nothing is shown of settings whose
// remainder lies beyond its bounds, and of all others everything is.
func TestChartsHaveNoMixtureThatCannotBe(t *testing.T) {
	t.Parallel()
	b := newBench(t, mixture())
	b.ask(1)
	through := design.Settings{"a": design.NumberValue(20), "b": design.NumberValue(60), "water": design.NumberValue(20)}
	can := func(a, b float64) bool { return 100-a-b >= 10-1e-9 && 100-a-b <= 90+1e-9 }
	along := must.Get(b.service.Slices(t.Context(), b.snap, through, 9))(t)
	for i, want := range [][]float64{{0, 10, 20, 30}, {0, 10, 20, 30, 40, 50, 60, 70}} {
		at := lists.Map(along[i].At, func(v design.Value) float64 { return v.Number })
		if band := along[i].Metrics["strength"]; !slices.Equal(at, want) || len(band.Mean) != len(at) || len(along[i].Open) != len(at) || len(along[i].Feasible) != len(at) {
			t.Errorf("along %s there is %v, want %v; %+v", along[i].Parameter, at, want, along[i])
		}
	}
	over := must.Get(b.service.Map(t.Context(), b.snap, "a", "b", through, 9))(t)
	for i, y := range over.Y {
		for j, x := range over.X {
			for what, value := range map[string]float64{"mean": over.Mean["strength"][i][j], "sd": over.SD["strength"][i][j], "chance": over.Feasible[i][j]} {
				if math.IsNaN(value) == can(x.Number, y.Number) {
					t.Errorf("at %v and %v the %s is %g", x, y, what, value)
				}
			}
		}
	}
	nowhere := design.Settings{"a": design.NumberValue(80), "b": design.NumberValue(400), "water": design.NumberValue(-380)}
	if along := must.Get(b.service.Slices(t.Context(), b.snap, nowhere, 9))(t); len(along[0].At) != 9 {
		t.Errorf("through what was run beyond all mixtures there is %v", along[0].At)
	}
}

// TestWhatIsGoneIsNotRecommended: neither settings beyond narrowed bounds nor such that have run out
// are the study's answer, or what the next trial is compared with; a trial that was run a little beyond its own settings stays.
func TestWhatIsGoneIsNotRecommended(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Algorithm.Name = "log-cei"
	b := newBench(t, d)
	at := func(temperature, cycles float64) design.Settings {
		return design.Settings{"temperature": design.NumberValue(temperature), "cycles": design.NumberValue(cycles)}
	}
	for n, s := range []design.Settings{at(25, 2), at(30, 8), at(35, 4), at(40, 2), at(45, 6), at(58, 4)} {
		b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: s}))
		used := s
		if n == 2 {
			used = at(35.5, 4)
			b.must(ruleTell(b.snap, n+1, ledger.Telling{Parameters: used}))
		}
		b.tell(n+1, map[string]float64{"yield": used["temperature"].Number - used["cycles"].Number/4, "impurity": 0.1 + 0.001*used["cycles"].Number})
	}
	b.ask(1)
	b.tell(7, map[string]float64{"yield": 20, "impurity": 0.1})
	recommended := func(what string, want int) {
		t.Helper()
		state := must.Get(b.service.StateOf(t.Context(), b.snap))(t)
		switch {
		case want == 0 && state.Recommendation != nil:
			t.Errorf("%s: trial %d is recommended", what, state.Recommendation.Number)
		case want > 0 && (state.Recommendation == nil || state.Recommendation.Number != want):
			t.Errorf("%s: recommended is %+v, want trial %d", what, state.Recommendation, want)
		}
	}
	recommended("as it was", 6)
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Parameters: []design.Parameter{{Name: "temperature", Type: design.Real, Low: new(20.0), High: new(35.0), Unit: "°C"}, d.Parameters[1]}, Reason: "the seal"}))
	recommended("within narrower bounds", 3)
	b.ask(1)
	last := b.snap.Trials[len(b.snap.Trials)-1]
	if incumbent := last.Decision.Incumbent; incumbent != 3 {
		t.Errorf("the next trial is compared with trial %d: %s", incumbent, last.Decision.Because)
	}
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Unavailable: map[string][]design.Value{"cycles": {design.NumberValue(2), design.NumberValue(4), design.NumberValue(8), b.snap.Trials[6].Parameters["cycles"]}}, Reason: "out of stock"}))
	recommended("with nothing left", 0)
	v, err := verifyEvents(t.Context(), b.events)
	if must.Do(t, err); !v.OK {
		t.Errorf("%+v", v)
	}
}

// TestACandidateThatARuleForbidsIsNotRecommended: a rule that came after trials rules candidates out of
// what is recommended and of what could still be gained, as it does of what is suggested.
func TestACandidateThatARuleForbidsIsNotRecommended(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Algorithm.Name, d.InputConstraints = "log-cei", nil
	for n := range 5 {
		d.Candidates = append(d.Candidates, design.Settings{"temperature": design.NumberValue(float64(30 + 5*n)), "cycles": design.NumberValue(4)})
	}
	b := newBench(t, d)
	for n, s := range d.Candidates {
		b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: s}))
		b.tell(n+1, map[string]float64{"yield": s["temperature"].Number, "impurity": 0.1 + 0.001*float64(n)})
	}
	told := func(want int, lowest, highest float64) {
		t.Helper()
		state, gain := must.Get(b.service.StateOf(t.Context(), b.snap))(t), must.Get(b.service.GainOf(t.Context(), b.snap))(t)
		if r := state.Recommendation; r == nil || r.Number != want {
			t.Errorf("recommended is %+v, want trial %d", r, want)
		}
		if best := gain.Best; best.Low < lowest || best.High > highest {
			t.Errorf("the best is said to lie within %+v, want within %g to %g", best, lowest, highest)
		}
	}
	told(5, 45, 55)
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{InputConstraints: &[]string{"temperature <= 42"}, Reason: "the seal"}))
	told(3, 35, 45)
	b.ask(1)
	if incumbent := b.snap.Trial(6).Decision.Incumbent; incumbent != 3 {
		t.Errorf("the next trial is to outdo trial %d, want 3", incumbent)
	}
	if !b.snap.Gone(5) || b.snap.Gone(3) {
		t.Errorf("trials 3 and 5 may be chosen no more: %t, %t", b.snap.Gone(3), b.snap.Gone(5))
	}
	const breaks = "breaks the input constraint"
	if _, err := b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: d.Candidates[4]}); err == nil || !strings.Contains(err.Error(), breaks) {
		t.Errorf("a person's own trial at it: %v", err)
	}
	if why := WhyNotAgain(b.snap, b.snap.Trial(5)); !strings.Contains(why, breaks) || WhyNotAgain(b.snap, b.snap.Trial(3)) != "" {
		t.Errorf("trial 5 is not to be repeated because of %q", why)
	}
}

// TestWhatRanOutIsWhatWasUsed: where a trial was run at other settings than those chosen, those are
// recommended, or have run out.
func TestWhatRanOutIsWhatWasUsed(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Algorithm.Name = "log-cei"
	b := newBench(t, d)
	for n, cycles := range []float64{2, 4, 6, 2, 4, 6} {
		chosen := design.Settings{"temperature": design.NumberValue(float64(30 + 5*n)), "cycles": design.NumberValue(cycles)}
		b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: chosen}))
		value := float64(n)
		if n == 3 { // the best
			used := chosen.Clone()
			used["cycles"], value = design.NumberValue(8), 40
			b.must(ruleTell(b.snap, n+1, ledger.Telling{Parameters: used}))
		}
		b.tell(n+1, map[string]float64{"yield": 40 + value, "impurity": 0.1})
	}
	recommended := func(gone float64, best bool) {
		t.Helper()
		b.must(ruleReconfigure(b.snap, design.Reconfiguration{Unavailable: map[string][]design.Value{"cycles": {design.NumberValue(gone)}}, Reason: "out of stock"}))
		if state := must.Get(b.service.StateOf(t.Context(), b.snap))(t); (state.Recommendation.Number == 4) != best {
			t.Errorf("without %g cycles recommended is trial %d, at %v", gone, state.Recommendation.Number, state.Recommendation.Parameters)
		}
	}
	recommended(1, true)
	recommended(2, true)
	recommended(8, false)
	if decision := b.ask(1).Trials[6].Decision; decision.Incumbent == 4 {
		t.Errorf("the next trial is compared with what has run out: %s", decision.Because)
	}
}

// TestSafeSettingsThatBreakALimitAreNoted: the algorithm goes on trying them, as its paper has it.
func TestSafeSettingsThatBreakALimitAreNoted(t *testing.T) {
	t.Parallel()
	d := design.Definition{Name: "Seeds", Objective: design.Objective{Metric: "y", Direction: "maximize"}, Constraints: []design.Constraint{{Metric: "c", Op: "<=", Threshold: 1}},
		Parameters: []design.Parameter{{Name: "a", Type: design.Real, Low: new(0.0), High: new(10.0)}},
		Algorithm:  design.Algorithm{Name: "stageopt", Horizon: 20, Settings: map[string]json.RawMessage{"safe_seeds": rawJSON(`[{"a": 2}]`)}}}
	b := newBench(t, d)
	noted := func(what, want string) {
		t.Helper()
		said := strings.Join(Notes(b.snap), "\n")
		if !strings.Contains(said, want) || strings.Contains(said, "given as safe") != (want != "") {
			t.Errorf("%s: %q", what, said)
		}
	}
	for _, cost := range []float64{0.5, 1.5, 2} {
		b.ask(1)
		b.tell(len(b.snap.Trials), map[string]float64{"y": 1, "c": cost})
		if len(b.snap.Trials) == 1 {
			noted("while they keep it", "")
		}
	}
	noted("once they broke it", "Settings that were given as safe were read beyond a limit: in 2 of 3 trials there, first in trial 2.")
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Algorithm: &design.Algorithm{Name: "log-cei", Horizon: 20}, Reason: "they are not safe"}))
	noted("with an algorithm that needs none", "")
}

// TestSuggestionsThatAreRunElsewhereAreNoted: an offset, an instrument that rounds, and one that is
// stuck are said, but not settings that were now and then another, or nearly as suggested.
func TestSuggestionsThatAreRunElsewhereAreNoted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		used func(number int, chosen float64) float64
		says string
	}{
		"an offset":    {func(_ int, x float64) float64 { return x + 1.5 }, "another a than suggested: 6 of 6, 1.5 mm above on average;"},
		"a deficit":    {func(_ int, x float64) float64 { return x - 1.5 }, "another a than suggested: 6 of 6, 1.5 mm below on average;"},
		"rounding":     {func(_ int, x float64) float64 { return math.Round(x) }, "mm away on average;"},
		"once":         {func(n int, x float64) float64 { return x + 3*float64(n/6) }, ""},
		"in the third": {func(_ int, x float64) float64 { return x + 0.01 }, ""},
		"as suggested": {func(_ int, x float64) float64 { return x }, ""},
	} {
		d := design.Definition{Name: "Offset", Objective: design.Objective{Metric: "y", Direction: "maximize"}, Algorithm: design.Algorithm{Name: "halton", Horizon: 20},
			Parameters: []design.Parameter{{Name: "a", Type: design.Real, Low: new(0.0), High: new(10.0), Unit: "mm"}, {Name: "k", Type: design.Categorical, Choices: []string{"u", "v"}}}}
		b := newBench(t, d)
		for n := 1; n <= 6; n++ {
			chosen := b.ask(1).Trials[n-1].Parameters
			used := chosen.Clone()
			used["a"] = design.NumberValue(c.used(n, chosen["a"].Number))
			b.must(ruleTell(b.snap, n, ledger.Telling{Parameters: used, Metrics: map[string]ledger.Reading{"y": {Value: float64(n)}}}))
		}
		said := strings.Join(Notes(b.snap), "\n")
		if noted := strings.Contains(said, "put the instrument right"); noted != (c.says != "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// TestAFixedModelSaysThatItTakesNoDeviations: λ is what was given, whatever was told with readings.
func TestAFixedModelSaysThatItTakesNoDeviations(t *testing.T) {
	t.Parallel()
	d := ovenWith(policy.Description{Name: "rpol-ucb"})
	for _, fit := range []string{"fixed", "marginal_likelihood"} {
		d.Model = design.Model{Fit: fit}
		b := newBench(t, d)
		b.ask(1)
		b.must(ruleTell(b.snap, 1, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 60}}}))
		before := len(Notes(b.snap))
		b.must(ruleTell(b.snap, 1, ledger.Telling{Metrics: map[string]ledger.Reading{"impurity": {Value: 0.2, StdDev: new(0.01)}}}))
		if said := len(Notes(b.snap)) > before; said != (fit == "fixed") {
			t.Errorf("%s: %q", fit, Notes(b.snap))
		}
	}
}
