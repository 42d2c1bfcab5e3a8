package study

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// provenOven is the oven with candidates, and all that the theorem of rpol-ucb asks of the
// settings.
func provenOven() design.Definition {
	d := ovenWith(policy.Description{Name: "rpol-ucb"})
	d.Algorithm.Settings = map[string]json.RawMessage{"beta": rawJSON(`{"schedule": "theory", "B": 2, "R": 0.1}`)}
	d.Model = design.Model{Fit: "fixed", Outputs: "raw"}
	return d
}

// shown are the state and its history.
func (b *bench) shown() (Readout, []HistoryRow) {
	b.Helper()
	state := must.Get(b.service.StateOf(b.Context(), b.snap))(b)
	rows := must.Get(b.service.HistoryOf(b.Context(), b.snap))(b)
	return state, rows
}

// findings are the assumptions of a study's theorem by the beginning of their text.
func (b *bench) findings() map[string]policy.Finding {
	b.Helper()
	state, _ := b.shown()
	theorem := TheoremOf(b.snap, state)
	if theorem == nil || len(theorem.Findings) != len(theorem.Assumptions) {
		b.Fatalf("the bound rests on %+v", theorem)
	}
	found := map[string]policy.Finding{}
	for i, f := range theorem.Findings {
		found[theorem.Assumptions[i].Text] = f
	}
	met, notMet, unknown := theorem.Counts()
	if met+notMet+unknown != len(theorem.Findings) {
		b.Errorf("%d + %d + %d assumptions of %d", met, notMet, unknown, len(theorem.Findings))
	}
	return found
}

// wantFinding fails unless the assumption whose text contains about stands so, for a reason that
// contains because.
func (b *bench) wantFinding(about string, want policy.Standing, because string) {
	b.Helper()
	for text, f := range b.findings() {
		if strings.Contains(text, about) {
			if f.Standing != want || !strings.Contains(f.Because, because) {
				b.Errorf("%s: %s, %s; want %s, %s", about, f.Standing, f.Because, want, because)
			}
			return
		}
	}
	b.Errorf("nothing is assumed of %q", about)
}

// wantWorth fails unless state and history call the bound on impurity so, in these words.
func (b *bench) wantWorth(kind, why string) {
	b.Helper()
	state, rows := b.shown()
	for _, v := range []ViolationOut{state.Violation["impurity"], rows[0].Violation["impurity"], rows[len(rows)-1].Violation["impurity"]} {
		if v.BoundKind == nil || v.BoundWhy == nil {
			b.Fatalf("a bound of no kind: %+v", v)
		}
		if *v.BoundKind != kind || *v.BoundWhy != why {
			b.Errorf("the bound is %s, %s; want %s, %s", *v.BoundKind, *v.BoundWhy, kind, why)
		}
	}
}

// TestWhatWasTakenOutForATimeBreaksAGuarantee: what was chosen meanwhile was not chosen from the readings that
// count now.
func TestWhatWasTakenOutForATimeBreaksAGuarantee(t *testing.T) {
	t.Parallel()
	b := newBench(t, provenOven())
	b.ask(1)
	b.tell(1, map[string]float64{"yield": 0.2, "impurity": 0.1})
	set := func(kind ledger.Kind) { b.must(ruleClose(b.snap, kind, ledger.ClosedData{Number: 1, Reason: "spilt"})) }
	set(ledger.Excluded)
	b.wantFinding("readings that count now", policy.NotMet, "1 trial was taken out")
	set(ledger.Included)
	b.wantFinding("readings that count now", policy.Met, "nothing was corrected or taken out")
	set(ledger.Excluded)
	b.ask(1)
	b.tell(2, map[string]float64{"yield": 0.3, "impurity": 0.2})
	set(ledger.Included)
	b.wantFinding("readings that count now", policy.NotMet, "1 trial was taken out")
	b.wantWorth("growth", "growth rate only, because 1 trial was taken out")
}

// TestWhatNoDecisionSawBreaksNoGuarantee: a slip put right before the next trial is chosen, in a reading or
// in a limit, units, what is plausible and when to stop, and a person's own trial at other settings, which
// the sum does not count.
func TestWhatNoDecisionSawBreaksNoGuarantee(t *testing.T) {
	t.Parallel()
	b := newBench(t, provenOven())
	for i := range 2 {
		b.ask(1)
		b.tell(i+1, map[string]float64{"yield": 0.2, "impurity": 0.1})
	}
	correct := func(number int) {
		b.must(ruleCorrect(b.snap, Correction{Number: number, Metrics: map[string]*ledger.Reading{"yield": {Value: 0.1}}, Reason: "typo"}))
	}
	correct(2)
	b.wantFinding("readings that count now", policy.Met, "nothing was corrected")
	o := b.snap.Definition.Objective
	o.Unit, o.Plausible = "parts", []float64{-5, 5}
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Objective: &o, Stop: &design.Stop{Within: 0.02, Risk: 0.1}, Reason: "for people"}))
	b.wantFinding("those of the first round", policy.Met, "never changed")
	limit := func(threshold float64) {
		c := b.snap.Definition.Constraints[0]
		c.Threshold = threshold
		b.must(ruleReconfigure(b.snap, design.Reconfiguration{Constraints: []design.Constraint{c}, Reason: "typo"}))
	}
	was := b.snap.Definition.Constraints[0].Threshold
	limit(was / 2)
	b.wantFinding("those of the first round", policy.NotMet, "were changed after 2 trials")
	limit(was / 4)
	limit(was)
	b.wantFinding("those of the first round", policy.Met, "never changed")
	b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: b.snap.Definition.Candidates[1]}))
	b.must(ruleTell(b.snap, 3, ledger.Telling{Metrics: map[string]ledger.Reading{"yield": {Value: 0.2}, "impurity": {Value: 0.1}}, Parameters: b.snap.Definition.Candidates[2]}))
	if !b.snap.Trial(3).SettingsChanged {
		t.Fatal("the own trial was run as it was meant")
	}
	b.wantFinding("chosen by the rule", policy.Met, "1 trial chosen otherwise")
	b.wantWorth("guarantee", "a guarantee, if what cannot be known holds: 4 of the 16 assumptions of its theorem")
	correct(1)
	b.wantFinding("readings that count now", policy.NotMet, "1 trial was corrected")
	b.ask(2)
	b.tell(4, map[string]float64{"yield": 0.2, "impurity": 0.1})
	correct(4) // trial 5, chosen beside it, had not seen it
	b.wantFinding("readings that count now", policy.NotMet, "1 trial was corrected")
}

// TestABoundRestsOnWhatTheStudyIs plays a study that meets its theorem as far as can be known, and
// then breaks one assumption after another.
func TestABoundRestsOnWhatTheStudyIs(t *testing.T) {
	t.Parallel()
	b := newBench(t, provenOven())
	for i := range 6 {
		b.ask(1)
		b.tell(i+1, map[string]float64{"yield": 0.2 * float64(i%3), "impurity": 0.1 * float64(i)})
	}
	for text, f := range b.findings() {
		if f.Standing == policy.NotMet {
			t.Errorf("in a study that contradicts nothing: %s %s", text, f.Because)
		}
	}
	b.wantFinding("Some settings are within", policy.Unknown, "6 trials read within every limit")
	b.wantFinding("maximises the acquisition", policy.Met, "every candidate")
	b.wantFinding("before the next trial", policy.Met, "")
	b.wantWorth("guarantee", "a guarantee, if what cannot be known holds: 4 of the 16 assumptions of its theorem")
	b.ask(2) // trial 7 waits while 8 is chosen
	b.wantFinding("before the next trial", policy.NotMet, "1 trial")
	b.wantWorth("growth", "growth rate only, because 1 trial lacked a reading when the next one was chosen")
	b.tell(7, map[string]float64{"yield": 0.3, "impurity": 0.2})
	b.tell(8, map[string]float64{"yield": 0.3, "impurity": 0.2})
	b.wantFinding("before the next trial", policy.NotMet, "1 trial")

	b.must(ruleCorrect(b.snap, Correction{Number: 2, Metrics: map[string]*ledger.Reading{"yield": {Value: 0.1}}, Reason: "typo"}))
	b.must(ruleClose(b.snap, ledger.Excluded, ledger.ClosedData{Number: 3, Reason: "spilled"}))
	b.wantFinding("readings that count now", policy.NotMet, "1 trial was corrected, and 1 trial was taken out")

	b.wantFinding("chosen by the rule", policy.Met, "no trial")
	b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: b.snap.Definition.Candidates[1]}))
	b.wantFinding("chosen by the rule", policy.Met, "1 trial chosen otherwise")
	b.must(b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{Held: design.Settings{"cycles": b.snap.Definition.Candidates[1]["cycles"]}}))
	b.wantFinding("chosen by the rule", policy.Met, "2 trials chosen otherwise")
	b.wantFinding("Rows brought from elsewhere", policy.Met, "")
	b.table(t, "temperature,cycles,yield,impurity\n20,1,0.2,0.1\n")
	b.wantFinding("Rows brought from elsewhere", policy.Unknown, "1 trial")
	b.wantFinding("chosen by the rule", policy.Met, "3 trials chosen otherwise")

	b.wantFinding("those of the first round", policy.Met, "")
	widths := map[string]json.RawMessage{"beta": b.snap.Definition.Algorithm.Settings["beta"]}
	b.must(ruleReconfigure(b.snap, design.Reconfiguration{Algorithm: &design.Algorithm{Name: "ckb-ucb", Horizon: 5, Settings: widths}, Reason: "averages will do"}))
	b.wantFinding("those of the first round", policy.NotMet, "11 trials")
	b.wantFinding("no more rounds than T", policy.NotMet, "11 trials where 5")
	b.wantFinding("Slater", policy.Unknown, "no δ is given")
	b.wantFinding("chosen by the rule", policy.NotMet, "1 chosen by people, 1 with settings held, 1 imported")

	b = newBench(t, provenOven())
	b.ask(1)
	before := b.snap
	b.tell(1, map[string]float64{"yield": 0.2, "impurity": 0.1}) // while the next one is being chosen
	b.must(b.service.ruleAsk(t.Context(), Command{By: "Ana"}, before, Ask{}))
	b.wantFinding("before the next trial", policy.NotMet, "1 trial")
}

// TestAFittedStudyRestsOnLess: the usual study meets neither the kernel, nor the units, nor the
// widths of the theorem.
func TestAFittedStudyRestsOnLess(t *testing.T) {
	t.Parallel()
	b := newBench(t, ovenWith(policy.Description{Name: "rpol-ucb"}))
	for i := range 7 {
		b.ask(1)
		b.tell(i+1, map[string]float64{"yield": float64(i % 5), "impurity": 0.1 * float64(i)})
	}
	b.wantFinding("given before the first reading", policy.NotMet, "fitted")
	b.wantFinding("modelled as they are told", policy.NotMet, "standardised")
	b.wantFinding("The widths are", policy.NotMet, "a constant")
	b.wantFinding("chosen by the rule", policy.NotMet, "4 trials of the first design")
	b.wantWorth("growth", "growth rate only, because no B is given for any metric; 8 of the 16 assumptions of its theorem are not met")
	d := provenOven()
	d.Algorithm.Name = "ckb-ts"
	drawn := newBench(t, d)
	drawn.ask(1)
	drawn.tell(1, map[string]float64{"yield": 0.2, "impurity": 0.1})
	drawn.wantWorth("growth", "growth rate only, because the theorem hides its constants, so no sum follows from it: the figure is that of Theorem 1 for upper confidence bounds, and shows a rate")
	b = newBench(t, ovenWith(policy.Description{Name: "log-cei"}))
	b.ask(1)
	state, err := b.service.StateOf(t.Context(), b.snap)
	if err != nil || TheoremOf(b.snap, state) != nil {
		t.Errorf("%v, and a theorem for an algorithm that draws no bound", err)
	}
}

// TestPeakOfAKernel: k(x, x) where it is largest.
func TestPeakOfAKernel(t *testing.T) {
	t.Parallel()
	dims := []optimizer.Dim{{Low: 0, High: 1}, {Kind: optimizer.Categorical, Choices: 3}, {Low: -3, High: 2}}
	for _, test := range []struct {
		kernel optimizer.Kernel
		want   float64
	}{
		{optimizer.Kernel{Name: "matern52"}, 2},
		{optimizer.Kernel{Name: "covariance", Matrix: [][]float64{{0.5, 0}, {0, 0.75}}}, 1.5},
		{optimizer.Kernel{Name: "linear", Lengthscales: []float64{0.5, 1, 3}}, 2 * (4 + 1 + 1)},
	} {
		if got := peak(test.kernel, 2, dims); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", test.kernel.Name, got, test.want)
		}
	}
}

// residuals are standard normal, shifted from a reading on.
func residuals(random *rand.Rand, n, from int, by float64) []optimizer.Innovation {
	list := make([]optimizer.Innovation, n)
	for i := range list {
		list[i] = optimizer.Innovation{Round: i + 1, Z: random.NormFloat64()}
		if i >= from {
			list[i].Z += by
		}
	}
	return list
}

// firstBeyond is how many readings it takes until a sum passes the limit, 0 for never.
func firstBeyond(d Drift) int {
	for i := range d.Up {
		if d.Up[i] > CUSUMLimit || d.Down[i] > CUSUMLimit {
			return i + 1
		}
	}
	return 0
}

// TestTheCUSUMKeepsItsFalseAlarmRate: readings of a process that stands take 850 until the limit is
// passed, on average, and those of one that shifts by a standard deviation about 12. (Were
// residuals to count in full, 465 and 10.4 would be known: Montgomery, table 9.3, k = ½ and h = 5.)
func TestTheCUSUMKeepsItsFalseAlarmRate(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 0))
	const plays, enough = 1000, 5000 // readings; what lasts longer is cut there
	sum := 0.0
	for range plays {
		first := firstBeyond(DriftOf(optimizer.Calibration{Innovations: residuals(random, enough, enough, 0)}))
		if first == 0 {
			first = enough
		}
		sum += float64(first)
	}
	if mean := sum / plays; math.Abs(mean-CUSUMFalseAlarm) > 81 { // three standard errors: 850/√1000 each
		t.Errorf("a process that stands takes %.0f readings, want %d", mean, CUSUMFalseAlarm)
	}
	sum = 0
	for range plays {
		sum += float64(firstBeyond(DriftOf(optimizer.Calibration{Innovations: residuals(random, 400, 0, -1)})))
	}
	if mean := sum / plays; math.Abs(mean-12) > 0.5 {
		t.Errorf("a shift by a standard deviation takes %.1f readings, want 12", mean)
	}
}

// TestBandsAreJudged by the likelihood of what fell inside, whose integral is known where that is all
// or nothing: ∫ qⁿ dq = (1 − pⁿ⁺¹)/(n + 1) from p to 1, and pⁿ⁺¹/(n + 1) from 0 to p for (1 − q)ⁿ turned around.
func TestBandsAreJudged(t *testing.T) {
	t.Parallel()
	held := func(inside, n int) BandVerdict {
		return JudgeBands(optimizer.Coverage{Count: n, Coverage95: float64(inside) / float64(n)})
	}
	for n := FewPredictions; n < 200; n++ {
		all := (1 - math.Pow(0.95, float64(n+1))) / float64(n+1) / 0.05 / math.Pow(0.95, float64(n))
		if got := held(n, n); (got == TooWide) != (all >= 20) || got != TooWide && got != NothingAgainst {
			t.Errorf("all of %d inside, %.3g times likelier: %s", n, all, got)
		}
	}
	for inside, want := range map[int]BandVerdict{40: NothingAgainst, 34: NothingAgainst, 31: TooNarrow, 20: TooNarrow, 0: TooNarrow} {
		if got := held(inside, 40); got != want {
			t.Errorf("%d of 40: %s", inside, got)
		}
	}
	if got := held(0, FewPredictions-1); got != TooFew {
		t.Errorf("few: %s", got)
	}
	for c, want := range map[optimizer.Coverage]string{
		{Count: 1, Coverage95: 1}:          "1 of 1 reading fell in the 95\u202f% band predicted for it (noise included): too few to judge.",
		{Count: 40, Coverage95: 37.0 / 40}: "37 of 40 readings fell in the 95\u202f% band predicted for them (noise included): nothing speaks against the bands.",
	} {
		if got := CoverageWords(c); got != want {
			t.Error(got)
		}
	}
}

// TestRightBandsAreSeldomCalledWrong: however often they are looked at. Tails of the binomial distribution
// called one in ten too narrow at some time.
func TestRightBandsAreSeldomCalledWrong(t *testing.T) {
	t.Parallel()
	random, called := rand.New(rand.NewPCG(1, 1)), map[BandVerdict]int{}
	const studies = 500
	for range studies {
		inside, said := 0, map[BandVerdict]bool{}
		for n := 1; n <= 200; n++ {
			if random.Float64() < 0.95 {
				inside++
			}
			said[JudgeBands(optimizer.Coverage{Count: n, Coverage95: float64(inside) / float64(n)})] = true
		}
		for held := range said {
			called[held]++
		}
	}
	for _, wrong := range []BandVerdict{TooNarrow, TooWide} {
		if share := float64(called[wrong]) / studies; share > 0.05 {
			t.Errorf("%g of them were told that %s", share, wrong)
		}
	}
}

// TestTwoReadingsFarOutAreNoDrift: a young model is often far out once or twice; a run of readings
// on one side is a drift, from the reading where it began.
func TestTwoReadingsFarOutAreNoDrift(t *testing.T) {
	t.Parallel()
	list := []optimizer.Innovation{{Round: 1, Z: 0.1}, {Round: 2, Z: 8}, {Round: 3, Z: 9}, {Round: 4, Z: 0.2}}
	if d := DriftOf(optimizer.Calibration{Innovations: list}); d.Since != 0 {
		t.Errorf("two readings far out are a drift since trial %d", d.Since)
	}
	for i := range 5 {
		list = append(list, optimizer.Innovation{Round: 5 + i, Z: -1.9})
	}
	if d := DriftOf(optimizer.Calibration{Innovations: list}); d.Since != 5 || d.Rising {
		t.Errorf("five readings far below are a drift since trial %d, upwards: %v", d.Since, d.Rising)
	}
}

// TestADriftIsFound: a script is told of it as the page tells people, unless the algorithm looks only
// at the last trials anyway.
func TestADriftIsFound(t *testing.T) {
	t.Parallel()
	var list []optimizer.Innovation
	for i := range 9 {
		list = append(list, optimizer.Innovation{Round: 1 + i, Z: -1.9})
	}
	calibrations := map[string]optimizer.Calibration{"yield": {Coverage: optimizer.Coverage{Count: 9}, Innovations: list}, "impurity": {Coverage: optimizer.Coverage{Count: 4}, Innovations: list}}
	if found := Miscalibrated(newBench(t, oven()).snap, map[string]optimizer.Calibration{
		"yield": {Coverage: optimizer.Coverage{Count: 40, Coverage95: 0.5}}, "impurity": {Coverage: optimizer.Coverage{Count: 4}}}); len(found) != 1 || found[0].Kind != "calibration" || found[0].Metric != "yield" ||
		found[0].Says != "Yield: 20 of 40 readings fell in the 95\u202f% band predicted for them (noise included): the bands are too narrow." || found[0].Remedy == "" {
		t.Errorf("found %+v", found)
	}
	found := Drifting(newBench(t, oven()).snap, calibrations)
	if len(found) != 1 || found[0].Kind != "drift" || found[0].Metric != "yield" || found[0].Since != 1 || !strings.Contains(found[0].Says, "Yield has come out lower than predicted") || !strings.Contains(found[0].Remedy, "rpol-sw-ucb") {
		t.Errorf("found %+v", found)
	}
	if c := circumstances(newBench(t, oven()).snap, Readout{Calibration: calibrations}); !slices.Equal(c.Drifted, []string{"yield"}) {
		t.Errorf("to a theorem %v drift", c.Drifted)
	}
	d := oven()
	d.Algorithm.Name, d.Algorithm.Settings = "rpol-sw-ucb", map[string]json.RawMessage{"window": []byte("20")}
	if found := Drifting(newBench(t, d).snap, calibrations); len(found) > 0 {
		t.Errorf("by an algorithm that forgets, found %+v", found)
	}
}

// sixTold is a study of which six trials were told.
func sixTold(t *testing.T, d design.Definition) *bench {
	t.Helper()
	b := newBench(t, d)
	for i := range 6 {
		b.ask(1)
		b.tell(i+1, map[string]float64{"yield": 0.2 * float64(i%3), "impurity": 0.8 * float64(i)})
	}
	return b
}

// bounds are what state and the last row of the history say of impurity and regret.
func (b *bench) bounds() (ViolationOut, *RegretOut) {
	b.Helper()
	state, rows := b.shown()
	if diff := cmp.Diff(state.Regret, rows[len(rows)-1].Regret); diff != "" {
		b.Errorf("state and history differ: %s", diff)
	}
	return state.Violation["impurity"], state.Regret
}

// TestWhatIsLeftUnderABound: the bound less the sum that it is for, over the algorithm's own
// trials.
func TestWhatIsLeftUnderABound(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]string{"rpol-ucb": `{}`, "ckb-ucb": `{"slater": 0.5}`} {
		d := provenOven()
		d.Algorithm.Name = name
		extra := map[string]json.RawMessage{}
		must.Do(t, json.Unmarshal([]byte(settings), &extra))
		maps.Copy(d.Algorithm.Settings, extra)
		b := sixTold(t, d)
		v, regret := b.bounds()
		excess, balance := 0.0, 0.0
		for _, trial := range b.snap.Trials {
			g := trial.Metrics["impurity"].Value - b.snap.Definition.Constraints[0].Threshold
			excess, balance = excess+max(g, 0), balance+g
		}
		if name == "ckb-ucb" {
			excess = max(balance, 0)
		}
		if v.Left == nil || math.Abs(*v.Left-(*v.Bound-excess)) > 1e-9 || excess == 0 {
			t.Errorf("%s: of %g there were %g, and %g is left", name, *v.Bound, excess, *v.Left)
		}
		if regret == nil || regret.Bound == nil || *regret.Bound <= 0 || regret.BoundKind != *v.BoundKind || !strings.HasPrefix(regret.BoundWhy, "a guarantee, if") {
			t.Errorf("%s: regret is bounded by %+v, violation by %+v", name, regret, v)
		}
		own := b.snap.Definition.Candidates[1]
		b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: own}))
		b.tell(7, map[string]float64{"yield": 0.3, "impurity": 20})
		with, regretWith := b.bounds()
		if want := *with.Bound - excess; math.Abs(*with.Left-want) > 1e-9 {
			t.Errorf("%s: with a trial of somebody's own %g is left, want %g", name, *with.Left, want)
		}
		if *regretWith.Bound != *regret.Bound {
			t.Errorf("%s: a trial of somebody's own is in the bound on regret: %g after %g", name, *regretWith.Bound, *regret.Bound)
		}
	}
	b := sixTold(t, ovenWith(policy.Description{Name: "log-cei"}))
	if v, regret := b.bounds(); v.Left != nil || regret != nil {
		t.Errorf("log-cei draws no bound, and %v is left, regret %v", v.Left, regret)
	}
}

// TestRegretRestsOnMore: the queue bounds violation whatever the slack; regret takes what the slack
// costs.
func TestRegretRestsOnMore(t *testing.T) {
	t.Parallel()
	d := provenOven()
	d.Algorithm.Name = "ckb-lyapunov"
	d.Algorithm.Settings["slack"] = rawJSON(`0.1`)
	v, regret := sixTold(t, d).bounds()
	if *v.BoundKind != "guarantee" || regret.BoundKind != "growth" || !strings.Contains(regret.BoundWhy, "growth rate only, because no δ is given") {
		t.Errorf("violation is bounded by a %s, regret by %+v", *v.BoundKind, regret)
	}
	d.Algorithm.Settings["slater"] = rawJSON(`0.5`)
	if _, regret = sixTold(t, d).bounds(); regret.BoundKind != "guarantee" {
		t.Errorf("with δ regret is bounded by %+v", regret)
	}
}

// TestExactReadingsAgree: a theorem on constraints read exactly is contradicted by settings that
// were read twice, and by a multiplier at its cap.
func TestExactReadingsAgree(t *testing.T) {
	t.Parallel()
	d := provenOven()
	d.Algorithm.Name = "penalty-noiseless"
	maps.Copy(d.Algorithm.Settings, map[string]json.RawMessage{"reuse": rawJSON(`false`), "epoch_length": rawJSON(`1`), "kappa_max": rawJSON(`1000`)})
	b := newBench(t, d)
	own := func(number int, impurity float64) {
		b.must(b.service.ruleOwn(t.Context(), Command{By: "Ana"}, b.snap, OwnTrial{Parameters: b.snap.Definition.Candidates[1]}))
		b.tell(number, map[string]float64{"yield": 0.3, "impurity": impurity})
	}
	own(1, 0.2)
	own(2, 0.2)
	b.wantFinding("read without noise", policy.Unknown, "")
	b.wantFinding("without a largest value", policy.Met, "")
	own(3, 20)
	b.wantFinding("read without noise", policy.NotMet, "impurity")
	b.wantFinding("without a largest value", policy.NotMet, "impurity has reached kappa_max")
}

// TestBoundsOnSampledLimits: of limits that are known before the choice a bound on the sum of their
// samples is told, never as a guarantee, and one on regret where δ says what the slack costs.
func TestBoundsOnSampledLimits(t *testing.T) {
	t.Parallel()
	scgp, _ := policy.Find("scgp-ucb")
	for settings, bounds := range map[string]bool{`{}`: false, `{"slater": 0.5}`: true} {
		d := ovenWith(scgp)
		d.Model = design.Model{Fit: "fixed", Outputs: "raw"}
		must.Do(t, json.Unmarshal([]byte(settings), &d.Algorithm.Settings))
		d.Algorithm.Settings["beta"] = provenOven().Algorithm.Settings["beta"]
		b := newBench(t, d)
		sum := 0.0
		for i := range 5 {
			room := -40.0 + 2*float64(i) // so that no settings keep the limit
			b.must(b.service.ruleAsk(t.Context(), Command{By: "Ana"}, b.snap, Ask{Brought: design.Brought{Context: map[string]float64{"slack": room}}}))
			b.tell(i+1, map[string]float64{"yield": 0.2 * float64(i%3), "impurity": 1})
			at := b.snap.Trial(i + 1).Parameters
			sum += at["temperature"].Number + at["cycles"].Number - room - 50
		}
		state := must.Get(b.service.StateOf(t.Context(), b.snap))(t)
		v := state.Violation["load"]
		if v.Bound == nil || sum <= 0 || math.Abs(*v.Bound-sum) > 1e-9 || math.Abs(*v.Left) > 1e-9 || *v.BoundKind != "growth" {
			t.Errorf("with %s samples come to %g, and their bound is %+v", settings, sum, v)
		}
		if told := state.Regret != nil; told != bounds {
			t.Errorf("with %s regret is bounded by %+v", settings, state.Regret)
		}
		if bounds && !strings.HasPrefix(state.Regret.BoundWhy, "growth rate only, because what was proved is about expectations") {
			t.Errorf("the bound on regret is %s", state.Regret.BoundWhy)
		}
	}
}

// TestBoundsAreInTheirUnit: a bound is so many of the unit that readings are told in, also over the trials
// that were chosen before there was a scale.
func TestBoundsAreInTheirUnit(t *testing.T) {
	t.Parallel()
	for _, a := range policy.Descriptions() {
		if a.Theorem == nil || a.NeedsGivenConstraint {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			var bounds, regrets [2][]float64
			for i, unit := range []float64{1, 1000} {
				d := ovenWith(a)
				d.Model = design.Model{Fit: "fixed", Outputs: "standardize"}
				d.Constraints[0].Threshold *= unit
				b := newBench(t, d)
				for n := range 5 {
					b.ask(1)
					s := b.snap.Trials[n].Parameters
					b.tell(n+1, map[string]float64{"yield": unit * (s["temperature"].Number/10 + float64(n)), "impurity": unit * (s["cycles"].Number + float64(n)) / 4})
				}
				state, rows := b.shown()
				violation, regret := []ViolationOut{state.Violation["impurity"]}, []*RegretOut{state.Regret}
				for _, row := range rows {
					violation, regret = append(violation, row.Violation["impurity"]), append(regret, row.Regret)
				}
				for n := range violation {
					if v := violation[n].Bound; v != nil {
						bounds[i] = append(bounds[i], *v/unit)
					}
					if r := regret[n]; r != nil && r.Bound != nil {
						regrets[i] = append(regrets[i], *r.Bound/unit)
					}
				}
			}
			near := cmpopts.EquateApprox(1e-6, 1e-9)
			if diff := cmp.Diff(bounds[0], bounds[1], near); diff != "" {
				t.Errorf("in thousandths the bound on violation is another: %s", diff)
			}
			if diff := cmp.Diff(regrets[0], regrets[1], near); diff != "" {
				t.Errorf("in thousandths the bound on regret is another: %s", diff)
			}
		})
	}
}
