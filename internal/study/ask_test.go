package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// gated is a store whose choosing lock is free once the gate opens, and which fails by a panic
// where “a fault” writes.
type gated struct {
	*kept
	entered chan struct{} // hears of everybody who comes for the lock
	gate    chan struct{}
	done    map[string]Done // by who wrote
}

func (g gated) Choosing(ctx context.Context, _ string, choose func(context.Context) error) error {
	g.entered <- struct{}{}
	<-g.gate
	return choose(ctx)
}

func (g gated) Write(ctx context.Context, id string, cmd Command, known Known, decide func([]ledger.Event) (Append, error)) error {
	if cmd.IfMatch != 0 && cmd.IfMatch != int64(len(g.bench.events)) {
		return ErrStale
	}
	if cmd.By == "a fault" {
		panic(cmd.By)
	}
	return g.kept.Write(ctx, id, cmd, known, func(news []ledger.Event) (Append, error) {
		add, err := decide(news)
		if err == nil {
			g.done[cmd.By] = *add.Done
		}
		return add, err
	})
}

// askedOf is what came of one ask.
type askedOf struct {
	after   *ledger.Snapshot
	numbers []int
	err     error
}

// crowd are callers who ask while the first holds the turn, so that all others wait together. The
// clock stands still, so that no turn is over before all are answered.
type crowd struct {
	bench *bench
	store gated
	came  []chan askedOf
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	q := &crowd{bench: readyBench(t)}
	q.store = gated{&kept{bench: q.bench}, make(chan struct{}, 10), make(chan struct{}), map[string]Done{}}
	q.bench.service.store, q.bench.service.now = q.store, func() time.Time { return q.bench.clock }
	return q
}

// readyBench is a study with five trials told.
func readyBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, oven())
	b.ask(5)
	for n := range 5 {
		b.tell(n+1, map[string]float64{"yield": 50 + float64(3*n), "impurity": 0.2 + 0.05*float64(n)})
	}
	return b
}

// ask joins the queue, behind those before it. The first is taken at once.
func (q *crowd) ask(ctx context.Context, cmd Command, ask Ask) {
	if q.came = append(q.came, q.join(ctx, cmd, ask)); len(q.came) == 1 {
		<-q.store.entered
	}
}

// join asks, and returns once the ask waits with the others.
func (q *crowd) join(ctx context.Context, cmd Command, ask Ask) chan askedOf {
	came, waits := make(chan askedOf, 1), make(chan struct{})
	go func() {
		after, numbers, err := q.bench.service.Ask(waiting{ctx, sync.OnceFunc(func() { close(waits) })}, cmd, "bench", ask)
		came <- askedOf{after, numbers, err}
	}()
	<-waits
	return came
}

// waiting tells when somebody waits for its end.
type waiting struct {
	context.Context
	tell func()
}

func (w waiting) Done() <-chan struct{} {
	w.tell()
	return w.Context.Done()
}

// answers opens the gate.
func (q *crowd) answers() (all []askedOf) {
	close(q.store.gate)
	for _, came := range q.came {
		all = append(all, <-came)
	}
	return all
}

// TestAsksThatWaitAreAnsweredAsOneBatch: each gets the trials that it would have got in one ask for
// all of them, under its own name and with its own answer; whose ask is refused, or who left, costs
// the others nothing.
func TestAsksThatWaitAreAnsweredAsOneBatch(t *testing.T) {
	t.Parallel()
	q := newCrowd(t)
	by := func(name string) Command { return Command{By: name} }
	leaving, leave := context.WithCancel(t.Context())
	q.ask(t.Context(), by("Ana"), Ask{})
	q.ask(t.Context(), by("Ben"), Ask{})
	q.ask(t.Context(), by("Cy"), Ask{Brought: design.Brought{Context: map[string]float64{"nothing": 1}}})
	q.ask(leaving, by("Dan"), Ask{})
	q.ask(t.Context(), Command{By: "Eve", IfMatch: 1}, Ask{})
	q.ask(t.Context(), by("Fay"), Ask{Count: new(3)})
	q.ask(t.Context(), by("Gus"), Ask{})
	leave()
	came := q.answers()
	for i, want := range [][]int{{6}, {7}, nil, nil, nil, {8, 9, 10}, {11}} {
		if !slices.Equal(came[i].numbers, want) || (want == nil) != (came[i].err != nil) {
			t.Fatalf("the caller at place %d got %v, %v, not %v", i, came[i].numbers, came[i].err, want)
		}
		if want != nil && len(came[i].after.Trials) != want[len(want)-1] {
			t.Errorf("the caller at place %d sees %d trials, not those up to its own", i, len(came[i].after.Trials))
		}
	}
	var invalid *design.Invalid
	if !errors.As(came[2].err, &invalid) || !errors.Is(came[3].err, context.Canceled) || !errors.Is(came[4].err, ErrStale) {
		t.Errorf("refused were %v, %v and %v", came[2].err, came[3].err, came[4].err)
	}

	alone := readyBench(t)
	alone.ask(1)
	alone.ask(5)
	version, names := alone.snap.Version, []string{"Ana", "Ben", "Fay", "Fay", "Fay", "Gus"}
	if q.bench.snap.Version != version {
		t.Fatalf("%d events, alone %d", q.bench.snap.Version, version)
	}
	for i := range 6 {
		number := 6 + i
		got, want := q.bench.snap.Trial(number), alone.snap.Trial(number)
		if diff := cmp.Diff(want.Parameters, got.Parameters); diff != "" || got.By != names[i] || got.Decision.Seen != want.Decision.Seen {
			t.Errorf("trial %d, by %s and from event %d, alone from %d: %s", number, got.By, got.Decision.Seen, want.Decision.Seen, diff)
		}
		if diff := cmp.Diff(want.Decision.Mean, got.Decision.Mean) + cmp.Diff(want.Decision.SD, got.Decision.SD); diff != "" {
			t.Errorf("trial %d: %s", number, diff)
		}
	}
	for name, numbers := range map[string][]int{"Ben": {7}, "Fay": {8, 9, 10}, "Gus": {11}} {
		want := Done{Study: "bench", Version: version - 11 + int64(numbers[len(numbers)-1]), Trials: numbers}
		if diff := cmp.Diff(want, q.store.done[name]); diff != "" {
			t.Errorf("%s did %s", name, diff)
		}
	}
	if outcome, err := verifyEvents(t.Context(), q.bench.events); err != nil || !outcome.OK || outcome.Checked != 11 {
		t.Errorf("verified: %+v, %v", outcome, err)
	}
}

// TestAskSeesWhatWasToldBeforeIt: whoever comes while others are being answered is answered from
// the study as it was when it came, or later.
func TestAskSeesWhatWasToldBeforeIt(t *testing.T) {
	t.Parallel()
	q := newCrowd(t)
	q.ask(t.Context(), Command{By: "Ana"}, Ask{})
	q.ask(t.Context(), Command{By: "Ben"}, Ask{})
	told := q.bench.must(ruleTell(q.bench.snap, 1, ledger.Telling{Note: "seen"}))
	for i, came := range q.answers() {
		if came.err != nil {
			t.Fatal(came.err)
		}
		if seen := came.after.Trial(came.numbers[0]).Decision.Seen; seen < told.Version {
			t.Errorf("ask %d saw event %d, and event %d was before it", i, seen, told.Version)
		}
	}
}

// TestAsksAreAnsweredAgainAfterAPanic: a fault in one answer is that answer's.
func TestAsksAreAnsweredAgainAfterAPanic(t *testing.T) {
	t.Parallel()
	q := newCrowd(t)
	q.ask(t.Context(), Command{By: "Ana"}, Ask{})
	q.ask(t.Context(), Command{By: "a fault"}, Ask{})
	q.ask(t.Context(), Command{By: "Cy"}, Ask{})
	came := q.answers()
	if came[0].err != nil || came[1].err == nil || came[2].err == nil {
		t.Fatalf("got %v, %v and %v", came[0].err, came[1].err, came[2].err)
	}
	if _, numbers, err := q.bench.service.Ask(t.Context(), Command{By: "Dan"}, "bench", Ask{}); err != nil || !slices.Equal(numbers, []int{7}) {
		t.Errorf("afterwards: %v, %v", numbers, err)
	}
}

// TestTheLockIsNotHeldForLong: whoever is left when the turn is over is answered in the next one,
// before those who came meanwhile.
func TestTheLockIsNotHeldForLong(t *testing.T) {
	t.Parallel()
	q := newCrowd(t)
	clock, turns, late := q.bench.clock, 0, make(chan askedOf)
	q.bench.service.now = func() time.Time { clock = clock.Add(turnTime); return clock }
	q.bench.service.store = counted{q.store, func() {
		if turns++; turns == 2 {
			late = q.join(t.Context(), Command{By: "latecomer"}, Ask{})
		}
	}}
	for i := range 6 {
		q.ask(t.Context(), Command{By: fmt.Sprint("asker ", i)}, Ask{})
	}
	for i, came := range q.answers() {
		if came.err != nil || !slices.Equal(came.numbers, []int{6 + i}) {
			t.Errorf("asker %d got %v, %v", i, came.numbers, came.err)
		}
	}
	if turns < 4 || turns > 5 { // the first of a turn does not count, so that two are answered in each
		t.Errorf("the lock was taken %d times", turns)
	}
	if came := <-late; came.err != nil || !slices.Equal(came.numbers, []int{12}) {
		t.Errorf("who came last got %v, %v", came.numbers, came.err)
	}
}

// counted tells of every time that the choosing lock is taken.
type counted struct {
	gated
	taken func()
}

func (c counted) Choosing(ctx context.Context, id string, choose func(context.Context) error) error {
	c.taken()
	return c.gated.Choosing(ctx, id, choose)
}

// TestWhatIsSettledIsNotAskedOnAndOn: of few candidates, all of them tried, those that are all but sure
// to break the limit are not asked for again and again, for a trace of improvement, once the best is
// known.
func TestWhatIsSettledIsNotAskedOnAndOn(t *testing.T) {
	t.Parallel()
	for _, oven := range [][]struct{ yield, impurity float64 }{
		{{4.7, 0.9}, {6.9, 0.4}}, {{12.5, 0.7}, {17.4, 0.3}}, {{15.2, 0.4}, {11.2, 1.2}},
		{{15.4, 1.2}, {14.3, 0.4}, {13, 0.9}}, {{19.2, 1.2}, {14.6, 0.7}, {5.5, 0.7}, {8.1, 0.3}},
	} {
		for _, apart := range []int{2, 1} { // candidates, or whole numbers
			d := ovenWith(policy.Description{Name: "log-cei"})
			d.Candidates = d.Candidates[:len(oven)]
			if d.Constraints[0].Threshold = 0.5; apart == 1 {
				d.Candidates, d.Parameters, d.InputConstraints = nil, []design.Parameter{{Name: "cycles", Type: design.Integer, Low: new(1.), High: new(float64(len(oven)))}}, nil
			}
			b := newBench(t, d)
			noise, settled := rand.New(rand.NewPCG(1, 1)), 0
			for n := 1; n <= 16; n++ {
				b.ask(1)
				decision := b.snap.Trial(n).Decision
				if chance := decision.FeasibilityProbability; n > 8 && chance != nil && *chance < 0.02 {
					t.Errorf("%v: trial %d has a chance of %g to keep the limit: %s", oven, n, *chance, decision.Because)
				}
				if decision.Reason == policy.Settled {
					settled++
				}
				truth := oven[int(b.snap.Trial(n).Parameters["cycles"].Number-1)/apart]
				b.tell(n, map[string]float64{"yield": truth.yield + 0.3*noise.NormFloat64(), "impurity": truth.impurity + 0.05*noise.NormFloat64()})
			}
			if settled == 0 {
				t.Errorf("%v: nothing is settled", oven)
			}
		}
	}
}

// TestAReadingAtItsLimitIsWithinIt: where the best settings meet a limit exactly, on either side of a
// metric that is counted, they are recommended with a chance that readings bring near to 1, not to ½.
func TestAReadingAtItsLimitIsWithinIt(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"<=", ">="} {
		sign := map[string]float64{"<=": 1, ">=": -1}[op]
		d := ovenWith(policy.Description{Name: "log-cei"})
		d.Candidates, d.Parameters, d.InputConstraints = nil, []design.Parameter{{Name: "cycles", Type: design.Integer, Low: new(1.), High: new(12.)}}, nil
		d.Constraints[0].Op, d.Constraints[0].Threshold = op, sign*7
		b := newBench(t, d)
		noise := rand.New(rand.NewPCG(1, 1))
		for n := 1; n <= 16; n++ {
			cycles := b.ask(1).Trial(n).Parameters["cycles"].Number
			b.tell(n, map[string]float64{"yield": cycles + 0.3*noise.NormFloat64(), "impurity": sign * cycles})
		}
		state, _ := b.shown()
		if r := state.Recommendation; r == nil || r.Parameters["cycles"].Number != 7 || r.FeasibilityProbability < 0.95 || state.Undecided != nil {
			t.Errorf("%s: recommended is %+v, undecided %+v", op, r, state.Undecided)
		}
		v, err := verifyEvents(t.Context(), b.events)
		if err != nil || !v.OK {
			t.Errorf("%v %+v", err, v)
		}
	}
}

// TestWhereNothingMayBeChosen: what would be right is said, whichever side of its limit a metric has to
// stay on.
func TestWhereNothingMayBeChosen(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Constraints[0].Op = ">="
	d.Algorithm = design.Algorithm{Name: "config", Settings: map[string]json.RawMessage{"on_infeasible": rawJSON(`"stop"`), "initial_design": rawJSON(`2`)}}
	b := newBench(t, d)
	for number := 1; number <= 2; number++ {
		b.ask(1)
		b.tell(number, map[string]float64{"yield": 60 + float64(number), "impurity": 0.1 + 0.001*float64(number)})
	}
	ruled, err := b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{})
	b.refused(ruled, err, ErrConflict, "No setting may be chosen now: config allows none of the settings. Loosen a limit, make settings available again, or change the algorithm.")
}

// TestWhatIsHeldAgainstTheRules: where the rules leave nothing beside what is held, that is said
// first, since no limit need be loosened.
func TestWhatIsHeldAgainstTheRules(t *testing.T) {
	t.Parallel()
	d := hill()
	d.InputConstraints = []string{"a + b <= 8"}
	b := newBench(t, d)
	ruled, err := b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{Held: design.Settings{"a": design.NumberValue(9)}})
	b.refused(ruled, err, ErrConflict, "No setting may be chosen now: log-cei allows none of the settings that have the values held and keep every bound and rule. Hold other values or fewer, loosen a limit, make settings available again, or change the algorithm.")
}

// hill is a study of two numbers whose yield rises to 10 at 7 and 7, under a limit on their sum.
func hill() design.Definition {
	side := func(name string) design.Parameter {
		return design.Parameter{Name: name, Type: design.Real, Low: new(0.0), High: new(10.0)}
	}
	return design.Definition{Name: "Hill", Parameters: []design.Parameter{side("a"), side("b")}, Objective: design.Objective{Metric: "yield", Direction: "maximize"},
		Constraints: []design.Constraint{{Metric: "sum", Op: "<=", Threshold: 11}}, Algorithm: design.Algorithm{Horizon: 30}, Seed: 1}
}

func onHill(at design.Settings) map[string]float64 {
	a, b := at["a"].Number, at["b"].Number
	return map[string]float64{"yield": 10 * math.Exp(-((a-7)*(a-7)+(b-7)*(b-7))/18), "sum": a + b}
}

// asksAgain counts the suggestions after the first design that lie as near to an earlier one as the
// settings of one trial differ from those of another by rounding.
func asksAgain(b *bench) (again int) {
	near := func(p, q design.Settings) bool {
		return math.Hypot(p["a"].Number-q["a"].Number, p["b"].Number-q["b"].Number) < 1e-3
	}
	for n := 6; n <= len(b.snap.Trials); n++ {
		for before := 1; before < n; before++ {
			if near(b.snap.Chosen(n), b.snap.Chosen(before)) {
				again++
				break
			}
		}
	}
	return again
}

// TestWhatALimitIsAwaitedOfIsNotReadAgain: its reading will say what another one would.
func TestWhatALimitIsAwaitedOfIsNotReadAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, hill())
	for n := 1; n <= 14; n++ {
		b.ask(1)
		b.tell(n, map[string]float64{"yield": onHill(b.snap.Trial(n).Parameters)["yield"]})
	}
	if again := asksAgain(b); again > 0 {
		t.Errorf("%d of 14 trials were asked for again", again)
	}
}

// TestSettingsThatAreNotRunAreNotAskedForAgain: an instrument that is 1.5 too high will be so again.
func TestSettingsThatAreNotRunAreNotAskedForAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, hill())
	for n := 1; n <= 24; n++ {
		used := b.ask(1).Trial(n).Parameters.Clone()
		used["a"] = design.NumberValue(min(used["a"].Number+1.5, 10))
		told := ledger.Telling{Parameters: used, Metrics: map[string]ledger.Reading{}}
		for metric, value := range onHill(used) {
			told.Metrics[metric] = ledger.Reading{Value: value}
		}
		b.must(ruleTell(b.snap, n, told))
	}
	if again := asksAgain(b); again > 0 {
		t.Errorf("%d of 24 trials were asked for again", again)
	}
	v, err := verifyEvents(t.Context(), b.events)
	if text, _ := json.Marshal(v); err != nil || !v.OK || v.Checked != 24 {
		t.Errorf("%v %s", err, text)
	}
}
