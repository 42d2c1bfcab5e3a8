package study

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/optimizer"
)

func (b *bench) round(number int) optimizer.Round {
	return b.snap.history(b.snap.compiled).Rounds[number-1]
}

func (b *bench) yieldRevealed(number int) int { return b.round(number).Readings[0].Revealed }

func TestReadingsAreRevealedInTheRoundOfTheLastDecisionThatMissedThem(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	b.tell(1, map[string]float64{"yield": 1}) // told between decisions 1 and 2
	b.ask(3)                                  // 2, 3 and 4 all see it
	b.tell(3, map[string]float64{"yield": 3}) // told after decision 4
	b.ask(1)                                  // 5
	b.tell(2, map[string]float64{"yield": 2}) // told after decision 5
	for number, want := range map[int]int{1: 1, 2: 5, 3: 4} {
		if got := b.yieldRevealed(number); got != want {
			t.Errorf("yield of trial %d was revealed during round %d, want %d", number, got, want)
		}
	}
	// A tell that comes while decision 6 is being made belongs to round 6: decision 6 has not seen it.
	prepared, err := b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{})
	if err != nil {
		t.Fatal(err)
	}
	b.tell(5, map[string]float64{"yield": 5})
	if got := b.yieldRevealed(5); got != 5 {
		t.Errorf("before decision 6 is written: %d", got)
	}
	b.must(prepared, nil)
	if got := b.yieldRevealed(5); got != 6 {
		t.Errorf("after decision 6 was written: %d", got)
	}
}

func TestCorrectionsKeepTheirRoundAndTakenBackValuesDoNot(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	b.tell(1, map[string]float64{"yield": 1})
	b.ask(2)
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*Reading{"yield": {Value: 10, StdDev: pointer(0.5)}}, Reason: "typo"}))
	if want := (optimizer.Reading{Told: true, Value: 10, SD: 0.5, Revealed: 1}); b.round(1).Readings[0] != want {
		t.Errorf("corrected: %+v", b.round(1).Readings[0])
	}
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*Reading{"yield": nil}, Reason: "wrong trial"}))
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
	b := newBench(t, oven())
	b.ask(1)
	b.must(ruleClose(b.snap, Failed, 1, "spilled"))
	if want := []optimizer.Spell{{From: 2}}; !cmp.Equal(b.round(1).Closed, want) {
		t.Errorf("failed: %v", b.round(1).Closed)
	}
	b.ask(2)
	b.tell(1, map[string]float64{"yield": 1})
	if want := []optimizer.Spell{{From: 2, To: 4}}; !cmp.Equal(b.round(1).Closed, want) {
		t.Errorf("reopened: %v", b.round(1).Closed)
	}
	b.must(ruleClose(b.snap, Abandoned, 2, "no time"))
	b.tell(2, map[string]float64{"yield": 2})
	if len(b.round(2).Closed) != 0 {
		t.Errorf("reopened before any decision noticed: %v", b.round(2).Closed)
	}
	b.must(ruleClose(b.snap, Excluded, 2, "wrong bottle"))
	if !b.round(2).Excluded {
		t.Error("excluded")
	}
	b.must(ruleClose(b.snap, Included, 2, "right bottle"))
	if b.round(2).Excluded {
		t.Error("included again")
	}
}

func TestFitsKeepOnlyWhatTheModelInForceMeans(t *testing.T) {
	t.Parallel()
	fit := FittedMetric{Kernel: "matern52", Inputs: "unit", Outputs: "standardize", Centre: 5, Scale: 2, Lengthscales: []float64{0.1, 0.2}, Lambda: 0.01, Count: 9}
	under := func(model Model) optimizer.FittedMetric {
		d := oven()
		d.Model = model
		c := mustCompile(t, d)
		return fitsFor(c, []FittedData{{From: 3, Metrics: map[string]FittedMetric{"yield": fit}}})[0].Metrics[0]
	}
	whole := optimizer.FittedMetric{Set: true, Centre: 5, Scale: 2, Lengthscales: []float64{0.1, 0.2}, Lambda: 0.01, Count: 9}
	units := optimizer.FittedMetric{Set: true, Centre: 5, Scale: 2, Count: 9}
	noise, lengths := units, whole
	noise.Lambda, lengths.Lambda = 0.01, 0
	for name, c := range map[string]struct {
		model Model
		want  optimizer.FittedMetric
	}{
		"the same model":      {Model{}, whole},
		"another kernel":      {Model{Kernel: rawJSON(`"se"`)}, units},
		"other inputs":        {Model{Inputs: "raw"}, units},
		"lengthscales given":  {Model{Lengthscales: rawJSON(`0.4`)}, noise},
		"noise given":         {Model{NoiseVariance: rawJSON(`0.1`)}, lengths},
		"hyperparameters set": {Model{Fit: "fixed", Outputs: "standardize"}, units},
		"raw outputs":         {Model{Fit: "fixed", Outputs: "raw"}, optimizer.FittedMetric{}},
	} {
		if diff := cmp.Diff(c.want, under(c.model)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestARewrittenPastMakesAFitDue(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	for i := range 8 {
		b.ask(1)
		b.tell(i+1, map[string]float64{"yield": float64(i * i % 7), "impurity": 0.1 * float64(i)})
	}
	b.ask(1)
	if len(b.snap.Fits) == 0 {
		t.Fatal("no fit was made")
	}
	due := func() bool {
		state, err := b.service.state(t.Context(), b.snap)
		if err != nil {
			t.Fatal(err)
		}
		return state.FitDue()
	}
	if due() {
		t.Fatal("a fit is due right after one")
	}
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*Reading{"yield": {Value: 3}}, Reason: "typo"}))
	if !due() {
		t.Error("a correction makes a fit due")
	}
	fits := len(b.snap.Fits)
	b.ask(1)
	if len(b.snap.Fits) != fits+1 || due() {
		t.Errorf("%d fits, due %v", len(b.snap.Fits), due())
	}
	if fit := b.snap.Fits[fits]; fit.From != len(b.snap.Trials) {
		t.Errorf("the fit is in force from decision %d, the decision was %d", fit.From, len(b.snap.Trials))
	}
}
