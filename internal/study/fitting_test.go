package study

import (
	"fmt"
	"maps"
	"math"
	"testing"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// fitDue is a study with so many readings that its first fit is due.
func fitDue(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, oven())
	for i := range 8 {
		b.ask(1)
		b.tell(i+1, map[string]float64{"yield": float64(i * i % 7), "impurity": 0.1 * float64(i)})
	}
	return b
}

// A fit that is due is made once for each version: who asks what would be expected, and who asks
// for a trial after that, have the same one.
func TestAFitThatIsDueIsMadeOnce(t *testing.T) {
	t.Parallel()
	b := fitDue(t)
	chooser := func() *chooser {
		c, err := b.service.chooser(t.Context(), b.snap)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := chooser().fit
	if first == nil || chooser().fit != first {
		t.Error("the same version of a study is fitted again")
	}
	b.ask(1)
	b.tell(9, map[string]float64{"yield": 2, "impurity": 0.1})
	if again := chooser().fit; again == nil || again == first {
		t.Error("a fit serves other readings than it was made from")
	}
}

// What is given stays as it is given; what is fitted beside it is in force from the fit on, and no
// fit is made anew for want of the rest.
func TestWhatIsFittedIsInForceBesideWhatIsGiven(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]design.Model{
		"nothing given":      {},
		"noise given":        {NoiseVariance: rawJSON(`0.01`)},
		"lambda given":       {Lambda: rawJSON(`0.02`)},
		"lengthscales given": {Lengthscales: rawJSON(`0.4`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := oven()
			d.Model = model
			b := newBench(t, d)
			for i := range 14 {
				b.ask(1)
				x := b.snap.Trial(i + 1).Parameters
				b.tell(i+1, map[string]float64{"yield": math.Sin(x["temperature"].Number/8) + 0.1*x["cycles"].Number, "impurity": math.Cos(x["temperature"].Number / 9)})
			}
			b.ask(1) // after the fit with the last reading
			fits := len(b.snap.Fits)
			if b.ask(1); fits == 0 || len(b.snap.Fits) != fits {
				t.Errorf("%d fits after 14 readings, %d after one more trial without a reading", fits, len(b.snap.Fits))
			}
			state, err := b.service.StateOf(t.Context(), b.snap)
			if err != nil {
				t.Fatal(err)
			}
			recorded, now := b.snap.Fits[len(b.snap.Fits)-1].Metrics["yield"], state.Metrics["yield"]
			if !now.Fitted {
				t.Error("shown as not fitted")
			}
			want := map[string]float64{"temperature": recorded.Lengthscales[0], "cycles": recorded.Lengthscales[1]}
			if model.Lengthscales != nil {
				want = map[string]float64{"temperature": 0.4, "cycles": 0.4}
			}
			lambda := recorded.Lambda * recorded.Inflation
			switch {
			case model.NoiseVariance != nil:
				lambda = 0.01 / (recorded.Scale * recorded.Scale)
			case model.Lambda != nil:
				lambda = 0.02
			}
			if !maps.Equal(now.Kernel.Lengthscales, want) || now.Lambda != lambda {
				t.Errorf("in force are %v and λ = %v, want %v and %v", now.Kernel.Lengthscales, now.Lambda, want, lambda)
			}
		})
	}
}

func TestARewrittenPastMakesAFitDue(t *testing.T) {
	t.Parallel()
	b := fitDue(t)
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
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": {Value: 3}}, Reason: "typo"}))
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

// A study whose readings were all imported has its first fit before its first decision.
func TestAFitComesBeforeTheFirstDecision(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	table := "temperature,cycles,yield,impurity\n"
	for i := range 40 {
		table += fmt.Sprintf("%d,%d,%g,%g\n", 20+i, 1+i%12, 60+float64(i)/2+math.Sin(float64(i)), 0.1+float64(i)/100)
	}
	b.table(t, table)
	b.ask(1)
	if decision := b.snap.Trials[40].Decision; len(b.snap.Fits) != 1 || b.snap.Fits[0].From != 41 || decision.Mean["yield"] < 40 {
		t.Errorf("%d fits before the first decision, which expects %v", len(b.snap.Fits), decision.Mean)
	}
}
