package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/memory"
	"headroom/internal/memory/memorytest"
	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// ledgers are the events of so many studies of so many trials.
func ledgers(t *testing.T, studies, trials int) [][]ledger.Event {
	t.Helper()
	b := newBench(t, oven())
	for n := range trials {
		b.ask(1)
		x := b.snap.Trial(n + 1).Parameters["temperature"].Number / 60
		b.tell(n+1, map[string]float64{"yield": 70 + 20*x - 30*x*x, "impurity": x * x})
	}
	all := make([][]ledger.Event, studies)
	for i := range all {
		all[i] = slices.Clone(b.events)
		for n := range all[i] {
			all[i][n].Data = slices.Clone(all[i][n].Data) // as each study's own are read
		}
	}
	return all
}

// size is how many bytes are kept, of how many versions.
func size(s *Service) (bytes int64, versions int) {
	for _, held := range s.Derived.Held() {
		bytes += held.Bytes
	}
	return bytes, s.Derived.Held()["versions"].Entries
}

// A service is led through every version of some studies, replayed; what it says it keeps is what
// the heap holds, and within its limit.
func TestNoMoreIsKeptThanTheLimit(t *testing.T) {
	all := ledgers(t, 3, 20)
	for _, limit := range []int64{1 << 30, 1 << 20, 600 << 10} {
		before := memorytest.Held()
		s := NewService(nil, Options{CacheBytes: limit})
		fill(t, s, all)
		held := memorytest.Held() - before
		said, versions := size(s)
		if said > limit || versions < 2 {
			t.Errorf("limit %d: %d bytes in %d versions", limit, said, versions)
		}
		if ratio := float64(said) / float64(held); ratio < 0.75 || ratio > 1.3 {
			t.Errorf("limit %d: it says that it holds %d bytes, and holds %d", limit, said, held)
		}
		s.Stop()
	}
}

func fill(t *testing.T, s *Service, all [][]ledger.Event) {
	t.Helper()
	for i, events := range all {
		var snap *ledger.Snapshot
		for n := range events {
			next := must.Get(ledger.Fold(fmt.Sprint("study ", i), snap, events[n:n+1], nil))(t)
			snap = s.Derived.Put(next)
			must.Get(s.state(t.Context(), snap))(t)
		}
	}
}

// TestAStateIsWeighedAsItsReadingsCome: also while trials only wait, or only are told, and where what
// is fitted to them makes one of its own for the next decision.
func TestAStateIsWeighedAsItsReadingsCome(t *testing.T) {
	t.Parallel()
	for fit, tells := range map[string]int{"fixed": 150, "marginal_likelihood": 30} {
		d := oven()
		d.Algorithm = design.Algorithm{Name: "rpol-ucb", Horizon: 400, Settings: map[string]json.RawMessage{"pending": json.RawMessage(`"ignore"`)}}
		d.Model = design.Model{Fit: fit}
		b := newBench(t, d)
		weighings, last := 0, measurement{}
		look := func() {
			t.Helper()
			must.Get(b.service.state(t.Context(), b.snap))(t)
			r := b.service.newestReplayed(b.snap)
			if r.measured != last {
				weighings, last = weighings+1, r.measured
			}
			if said, holds := float64(r.Bytes()), float64(memory.NewMeter().Of([]*optimizer.State{r.state, r.next})); said < 0.7*holds || said > 1.4*holds {
				t.Fatalf("%s, of %d trials a state is said to hold %.0f bytes, and holds %.0f", fit, len(b.snap.Trials), said, holds)
			}
		}
		for range 6 {
			b.ask(25)
			look()
		}
		weighings = 0
		for n := 1; n <= tells; n++ {
			b.tell(n, map[string]float64{"yield": 60 + float64(n%7), "impurity": 0.2 + float64(n%5)/10})
			if n%3 == 0 {
				look()
			}
		}
		if weighings > 20 {
			t.Errorf("%s: of %d states %d were weighed", fit, tells/3, weighings)
		}
	}
}

func TestStatesAreExtendedNotMadeAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	if b.service.newestReplayed(b.snap).state == nil {
		t.Error("the state that the decision was made from is there to extend")
	}
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Algorithm: &design.Algorithm{Name: "ckb-ucb", Horizon: 50}, Reason: "x"}))
	if b.service.newestReplayed(b.snap).state != nil {
		t.Error("a state under another definition is no use")
	}
}

func TestOneVersionIsReplayedOnceAndAStudyAsItMightBeApart(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	again, mightBe := *b.snap, *b.snap
	state := func(snap *ledger.Snapshot) *optimizer.State {
		return must.Get(b.service.state(t.Context(), snap))(t)
	}
	if state(&again) != state(b.snap) {
		t.Error("the same version read twice has two states")
	}
	mightBe.Hash = "of a correction that is only looked at"
	used, _ := size(b.service)
	if state(&mightBe) == state(b.snap) {
		t.Error("a study as it might be has the state of the study as it is")
	}
	if now, _ := size(b.service); b.service.newestReplayed(b.snap).state != state(b.snap) || used != now {
		t.Error("a study as it might be is kept")
	}
}

// TestChartsOfOtherPlacesAreOthers: what is kept of a chart is found by all of its places,
// candidates among them.
func TestChartsOfOtherPlacesAreOthers(t *testing.T) {
	t.Parallel()
	known := map[chartOf]bool{}
	for _, places := range [][]optimizer.Place{{{U: []float64{0.5}, Arm: -1}}, {{U: []float64{0.25}, Arm: -1}}, {{U: []float64{0.5}, Arm: 3}}, {{Arm: 3}},
		{{U: []float64{0.5}, Arm: -1}, {U: []float64{0.25}, Arm: -1}}} {
		if at := chartAt(places); known[at] || at != chartAt(places) {
			t.Errorf("%v is found as another chart", places)
		} else {
			known[at] = true
		}
	}
}

// The limit is the whole program's: tests beside this one run under it for a moment.
func TestTheCacheKeepsToTheProgramsMemory(t *testing.T) {
	before := debug.SetMemoryLimit(800 << 20)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	if got := atMostHalf(1 << 30); got != 400<<20 {
		t.Errorf("%d MiB of 800", got>>20)
	}
	debug.SetMemoryLimit(1 << 50)
	if got := atMostHalf(1 << 30); got != 1<<30 {
		t.Errorf("%d MiB where there is no limit to speak of", got>>20)
	}
}

// Where a model would be too large, trials are refused with what that would take and what helps;
// telling goes on, and a reader is told the same.
func TestATooLargeModelIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.service.memory.bytes = 10
	b.ask(3)
	for n := range 3 {
		b.tell(n+1, map[string]float64{"yield": 50 + float64(n), "impurity": 0.1})
	}
	ruled, err := b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{})
	b.refused(ruled, err, ErrConflict, ": 1 regression of up to 3 readings would take 0.0 MiB of memory and less than a minute, and a model may take 0.0 MiB here")
	if _, err := b.service.StateOf(t.Context(), b.snap); !errors.Is(err, ErrConflict) {
		t.Errorf("the state of too large a model is answered with %v", err)
	}
	choices, err := b.service.Compare(t.Context(), b.snap, []design.Algorithm{{Name: "rpol-ucb"}})
	if err != nil || len(choices) != 1 || !strings.Contains(choices[0].Because, "would take 0.0 MiB of memory") {
		t.Errorf("of too large a model another algorithm would choose %+v, %v", choices, err)
	}
	b.must(ruleCorrect(b.snap, Correction{Number: 1, Metrics: map[string]*ledger.Reading{"yield": {Value: 1}}, Reason: "typo"}))
}

// fitDue is a study with so many readings that its first fit is due.
func fitDue(t *testing.T, d design.Definition) *bench {
	t.Helper()
	b := newBench(t, d)
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
	b := fitDue(t, oven())
	fit := func() *ledger.FittedData { return must.Get(b.service.replay(t.Context(), b.snap))(t).fit }
	first := fit()
	if first == nil || fit() != first {
		t.Error("the same version of a study is fitted again")
	}
	b.ask(1)
	b.tell(9, map[string]float64{"yield": 2, "impurity": 0.1})
	if again := fit(); again == nil || again == first {
		t.Error("a fit serves other readings than it was made from")
	}
}

// TestTheStateIsWhatTheNextDecisionUses: also while a fit is due, which is recorded with that
// decision.
func TestTheStateIsWhatTheNextDecisionUses(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Algorithm = design.Algorithm{Name: "rpol-ucb"}
	b := fitDue(t, d)
	state, fits := must.Get(b.service.StateOf(t.Context(), b.snap))(t), len(b.snap.Fits)
	b.ask(1)
	decided := b.snap.Trials[len(b.snap.Trials)-1].Decision
	if len(b.snap.Fits) != fits+1 || len(decided.Multipliers) != 1 {
		t.Fatalf("%d fits, then %d, multipliers %v: nothing to compare", fits, len(b.snap.Fits), decided.Multipliers)
	}
	if diff := cmp.Diff(decided.Multipliers, state.Multipliers); diff != "" {
		t.Errorf("multipliers decided with (-) and shown before (+):\n%s", diff)
	}
	for name, used := range decided.Model {
		shown := state.Metrics[name]
		if beta := decided.Beta[name]; shown.Beta == nil || *shown.Beta != beta {
			t.Errorf("%s: beta %v decided with, %v shown before", name, beta, shown.Beta)
		}
		if shown.Kernel.Lengthscales["temperature"] != used.Lengthscales[0] || shown.Lambda != used.Lambda || shown.Scale != used.Scale {
			t.Errorf("%s: %+v decided with, %+v shown before", name, used, shown)
		}
	}
}

// A batch that goes beyond the first design is fitted where the design ends, as its trials asked for
// one by one are: none of them is chosen by a model that does not know what readings are large.
func TestABatchIsFittedWhereTheFirstDesignEnds(t *testing.T) {
	t.Parallel()
	const first = 5
	d := oven()
	d.Algorithm.Settings = map[string]json.RawMessage{"initial_design": rawJSON(`5`)}
	inTurn, together := newBench(t, d), newBench(t, d)
	for _, b := range []*bench{inTurn, together} {
		b.ask(first - 1)
		for i := range first - 1 {
			b.tell(i+1, map[string]float64{"yield": 60 + float64(i), "impurity": 0.1 * float64(i)})
		}
	}
	for range 3 {
		inTurn.ask(1)
	}
	together.ask(3)
	if len(together.snap.Fits) != 1 || together.snap.Fits[0].From != first+1 {
		t.Errorf("fits: %+v", together.snap.Fits)
	}
	for i := first - 1; i < first+2; i++ {
		one, other := inTurn.snap.Trials[i].Decision, together.snap.Trials[i].Decision
		one.Seen = other.Seen
		if diff := cmp.Diff(one, other); diff != "" {
			t.Errorf("trial %d asked for alone (-) and in a batch (+):\n%s", i+1, diff)
		}
	}
	if v, err := verifyEvents(t.Context(), together.events); err != nil || !v.OK {
		t.Errorf("the batch is verified with %+v, %v", v, err)
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
			state := must.Get(b.service.StateOf(t.Context(), b.snap))(t)
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
	b := fitDue(t, oven())
	b.ask(1)
	if len(b.snap.Fits) == 0 {
		t.Fatal("no fit was made")
	}
	due := func() bool {
		return must.Get(b.service.replay(t.Context(), b.snap))(t).fit != nil
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

// TestAMetricThatCannotBeFittedHoldsNoOtherBack: told deviations a billion times as wide as the
// readings differ leave nothing to fit of one, and the others are fitted all the same.
func TestAMetricThatCannotBeFittedHoldsNoOtherBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, ovenWith(policy.Description{Name: "log-cei"}))
	for n := 1; n <= 8; n++ {
		b.ask(1)
		b.must(ruleTell(b.snap, n, ledger.Telling{Metrics: map[string]ledger.Reading{
			"yield": {Value: b.snap.Trial(n).Parameters["temperature"].Number}, "impurity": {Value: float64(n % 3), StdDev: new(1e9)}}}))
	}
	b.ask(1)
	last := b.snap.Fits[len(b.snap.Fits)-1]
	if _, fitted := last.Metrics["yield"]; !fitted || len(last.Metrics) != 1 || last.From != 9 {
		t.Errorf("fitted %+v", last)
	}
	if v, err := verifyEvents(t.Context(), b.events); err != nil || !v.OK {
		t.Errorf("%+v, %v", v, err)
	}
}
