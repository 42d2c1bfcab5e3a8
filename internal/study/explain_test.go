package study

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"headroom/internal/optimizer/policy"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
)

// predicted is a decision at 47 °C and 6 cycles with a prediction for every metric of the oven.
func predicted(reason string) ledger.ChosenData {
	return ledger.ChosenData{
		Number:     24,
		Parameters: design.Settings{"temperature": design.NumberValue(47), "cycles": design.NumberValue(6)},
		Decision: &ledger.Decision{Algorithm: "rpol-ucb", Reason: string(reason), Mean: map[string]float64{"yield": 82.2, "impurity": 0.441},
			SD: map[string]float64{"yield": 5.1, "impurity": 0.0502}, FeasibilityProbability: new(0.883), Multipliers: map[string]float64{"impurity": 1.73}},
	}
}

func TestTheSentenceOfThePages(t *testing.T) {
	t.Parallel()
	want := "Trial 24 tries 47 °C and 6 cycles: predicted yield 82 ± 5 %, impurity 0.44 ± 0.05 % (limit 0.50 %, chance to stay within 88 %). " +
		"Chosen because its optimistic yield is the highest among points whose impurity could still be within the limit. " +
		"Here ± holds about two times in three, without the noise of a reading."
	d := oven()
	d.Constraints[0].Name = "impurity"
	if got := explain(d, predicted(policy.Optimistic), background{by: "Ana", withinLimits: true}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestASymbolStandsBeforeItsValue: 6 cycles are counted, 6 k are nothing.
func TestASymbolStandsBeforeItsValue(t *testing.T) {
	t.Parallel()
	d := oven()
	for name, want := range map[string]string{"cycles": "6 cycles", "temp": "temp 6", "k": "k 6", "n_steps": "n_steps 6"} {
		p := design.Parameter{Name: name, Type: design.Integer}
		if got := describeSetting(d, p, design.NumberValue(6)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestTheSentenceHasTheDecisionsChance: where several limits are learned, or one is known to be
// broken, the chance is the one for all of them that the decision has, not each one's under another
// distribution.
func TestTheSentenceHasTheDecisionsChance(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Constraints[0].Name = "impurity"
	d.Constraints = append(d.Constraints, design.Constraint{Name: "pressure", Metric: "pressure", Op: "<=", Threshold: 4, Unit: "bar"})
	p := predicted(policy.Optimistic)
	p.Decision.Mean["pressure"], p.Decision.SD["pressure"], p.Decision.FeasibilityProbability = 3.1, 0.42, new(0.71)
	if got, want := explain(d, p, background{}), "impurity 0.44 ± 0.05 % (limit 0.50 %), pressure 3.1 ± 0.4 bar (limit 4.0 bar), chance to stay within every limit 71 %."; !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p.KnownValues, p.Decision.FeasibilityProbability = map[string]float64{"pressure": 5}, new(0.0)
	if got, want := explain(d, p, background{}), "impurity 0.44 ± 0.05 % (limit 0.50 %), pressure 5 bar (limit 4 bar, known beforehand), chance to stay within every limit under 1 %."; !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAMetricIsNamedOnce: with all of its limits, those of the objective too.
func TestAMetricIsNamedOnce(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Constraints[0].Name = "not too impure"
	p := predicted(policy.Optimistic)
	says := func(want string) {
		t.Helper()
		if got := explain(d, p, background{}); !strings.Contains(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	d.Constraints = append(d.Constraints, design.Constraint{Name: "not too pure", Metric: "impurity", Op: ">=", Threshold: 0.1, Unit: "%"})
	says("predicted yield 82 ± 5 %, impurity 0.44 ± 0.05 % (limits 0.50 % and 0.10 %), chance to stay within every limit 88 %.")
	d.Constraints = d.Constraints[:1]
	d.Constraints[0] = design.Constraint{Name: "enough", Metric: "yield", Op: ">=", Threshold: 75, Unit: "%"}
	says("predicted yield 82 ± 5 % (limit 75 %, chance to stay within 88 %). Chosen")
}

// TestSentencesSetNamesApart that are written right to left, each time, or the numbers after them would be
// read in that order.
func TestSentencesSetNamesApart(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Parameters[0].Name, d.Parameters[0].Unit, d.Parameters[1].Name = "חום", "", "מחזורים"
	d.Objective.Metric, d.Constraints[0].Metric, d.Constraints[0].Name = "תפוקה", "זיהום", "זיהום"
	d.Constraints = append(d.Constraints, design.Constraint{Name: "לחץ", Metric: "לחץ", Op: "<=", Threshold: 4})
	for _, reason := range []string{policy.Optimistic, policy.TradeOff, policy.LeastBad, policy.Explore, policy.Seed, policy.Sample, policy.Improve, policy.Apart, policy.Settled, policy.Own} {
		for _, known := range []map[string]float64{nil, {"לחץ": 5}} {
			p := predicted(reason)
			p.KnownValues = known
			p.Parameters = design.Settings{"חום": design.NumberValue(47), "מחזורים": design.NumberValue(6)}
			p.Decision.Mean = map[string]float64{"תפוקה": 82.2, "זיהום": 0.441, "לחץ": 3}
			p.Decision.SD, p.Decision.Multipliers = map[string]float64{"תפוקה": 5, "זיהום": 0.05, "לחץ": 1}, map[string]float64{"זיהום": 1.7}
			said := explain(d, p, background{})
			if bare := isolated.ReplaceAllString(said, ""); strings.ContainsFunc(bare, func(r rune) bool { return unicode.Is(unicode.Hebrew, r) }) || bare == said {
				t.Errorf("%s: %s", reason, said)
			}
		}
	}
}

// isolated is a name that is set apart.
var isolated = regexp.MustCompile("\u2068[^\u2069]*\u2069")

func TestEveryReasonHasItsSentence(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Constraints[0].Name = "impurity"
	for reason, want := range map[string]string{
		policy.FirstDesign: "tries 47 °C and 6 cycles. Chosen to spread the first trials over the whole space",
		policy.Optimistic:  "optimistic yield is the highest among points whose impurity could still be within the limit. No trial is known to be within every limit yet.",
		policy.TradeOff:    "after a price for possibly breaking the limit on impurity (multiplier 1.7).",
		policy.LeastBad:    "no point that may be tried now is as sure to stay within the limit on impurity as it has to be now, and this one comes closest",
		policy.Explore:     "to learn where the limit on impurity lies",
		policy.Seed:        "Drawn among the safe settings, from which this algorithm learns yield and impurity first. No trial",
		policy.Sample:      "best in one random draw of what yield and impurity could be",
		policy.Improve:     "best chance to keep impurity within the limit",
		policy.Apart:       "near which hardly anything is left to gain: of the other points that are likely to keep impurity within the limit, it is the best in one random draw of what yield and impurity could be, given",
		policy.Space:       "Chosen to fill the space; this algorithm does not use the results.",
		policy.Settled:     "hardly anything is left to gain: of the points not tried yet, and of those whose chance to stay within the limit on impurity is no less than that of the best so far, it promises most.",
		policy.Restart:     "spread trials over the whole space once more: the region around the best of the last search shrank to nothing without anything better.",
		policy.Own:         "Chosen by Ana, not by the algorithm.",
	} {
		got := explain(d, predicted(reason), background{by: "Ana"})
		if !strings.Contains(got, want) || strings.Contains(got, "e-") || !strings.HasSuffix(got, ".") {
			t.Errorf("%s: got %s\nwant %s", reason, got, want)
		}
	}
	two := d
	two.Constraints = append(slices.Clone(d.Constraints), design.Constraint{Name: "load", Metric: "load", Op: "<=", Threshold: 5})
	for reason, want := range map[string]string{
		policy.Sample:     "one random draw of what yield, impurity and load could be",
		policy.Optimistic: "points whose impurity and load could still be within their limits.",
		policy.TradeOff:   "breaking the limits on impurity and load (multipliers impurity 1.7, load 2).",
		policy.LeastBad:   "as sure to stay within the limits on impurity and load as it has to be now",
		policy.Explore:    "to learn where the limits on impurity and load lie:",
		policy.Improve:    "best chance to keep impurity and load within their limits.",
		policy.Settled:    "whose chance to stay within the limits on impurity and load is no less",
	} {
		p := predicted(reason)
		p.Decision.Multipliers = map[string]float64{"impurity": 1.7, "load": 2}
		if got := explain(two, p, background{}); !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	unlimited, settled := d, predicted(policy.Settled)
	unlimited.Constraints, settled.Decision.Works = nil, &ledger.Works{Chance: 0.9}
	if got, want := explain(unlimited, settled, background{algorithm: policy.Description{Compares: true}}), "and of those whose chance to work is no less than that of the best so far, it promises most."; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	improving := predicted(policy.Improve)
	improving.Decision.ExpectedImprovement, improving.Decision.Incumbent = new(1.84), 12
	seen := &ledger.Snapshot{Trials: make([]*ledger.Trial, 12)}
	for trial, aside := range map[*ledger.Trial]string{
		{Status: ledger.StatusCompleted, Feasible: new(true)}:  "",
		{Status: ledger.StatusCompleted, Feasible: new(false)}: " (which broke a limit)",
		{Status: ledger.StatusSuggested}:                       " (which waits for its results)",
		nil:                                                    " (which waits for its results)", // chosen by the same request
	} {
		seen.Trials[11] = trial
		got := explain(d, improving, background{withinLimits: true, best: true, seen: seen})
		if want := "the largest improvement of yield, on average 1.8 points over trial 12" + aside + ", weighed with the chance to stay within the limit on impurity."; !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	seen.Trials[11] = &ledger.Trial{Status: ledger.StatusPartial, Metrics: map[string]ledger.Measurement{"yield": {Value: 80}}}
	if got, want := explain(d, improving, background{seen: seen}), "over trial 12 (which waits for more results)"; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	seen.Trials[11] = &ledger.Trial{Status: ledger.StatusCompleted, Parameters: improving.Parameters}
	if got, want := explain(d, improving, background{seen: seen}), "Chosen to read the settings of trial 12, the best so far, again: to know whether they are as good and as far within the limit on impurity as they seem is worth more than what another point promises."; !strings.Contains(got, want) || strings.Contains(got, "improvement") {
		t.Errorf("got %s\nwant %s", got, want)
	}
	seen.Trials[11] = &ledger.Trial{Status: ledger.StatusCompleted}
	teaching := improving
	teaching.Decision = new(*improving.Decision)
	teaching.Decision.Works = &ledger.Works{Chance: 0.8, Failed: 2, Of: 9}
	for compares, want := range map[bool]string{true: "weighed with the chance to stay within the limit on impurity and to work.", false: "weighed with the chance to stay within the limit on impurity."} {
		if got := explain(d, teaching, background{seen: seen, algorithm: policy.Description{Compares: compares}}); !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	if got := explain(d, improving, background{seen: seen, unpredicted: map[string]string{"impurity": "no reading"}}); strings.Contains(got, "weighed") {
		t.Errorf("a limit of which nothing was read is weighed: %s", got)
	}
	given := improving
	given.KnownValues = map[string]float64{"impurity": 0.2}
	if got := explain(d, given, background{seen: seen}); strings.Contains(got, "weighed") {
		t.Errorf("a limit that is known is weighed as a chance: %s", got)
	}
	doubtful := predicted(policy.LeastBad)
	doubtful.Decision.FeasibilityProbability = new(0.1)
	if got, want := explain(d, doubtful, background{}), "no point that may be tried now looks able to stay within the limit on impurity, and this one comes closest"; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	teaching.Decision.Works = &ledger.Works{Chance: 0.8, Failed: 1, Of: 1}
	if got, want := explain(d, teaching, background{seen: seen}), "chance that it works 80 %: 1 of 1 trial failed because of its settings. Chosen"; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	improving.Decision.ExpectedImprovement = new(1e-70)
	if got, want := explain(d, improving, background{withinLimits: true, seen: seen}), "improvement of yield, though hardly any over trial 12, weighed"; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	seen.Trials[11].Feasible = new(false)
	if got, want := explain(d, improving, background{seen: seen}), "Chosen for its chance to keep impurity within the limit, weighed with yield: it was compared with trial 12, which broke a limit, and hardly any improvement of yield over that one is expected."; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	improving.Decision.ExpectedImprovement = nil
	if got, want := explain(d, improving, background{withinLimits: true, best: true, algorithm: policy.Description{Compares: true}}), "best chance to keep impurity within the limit."; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	replicate := predicted(policy.Own)
	replicate.ReplicateOf = 12
	if got := explain(d, replicate, background{by: "Ana"}); !strings.Contains(got, "Repeats trial 12 on purpose") {
		t.Error(got)
	}
	own := predicted(policy.Own)
	if own.Decision.Horizon = 16; strings.Contains(explain(d, own, background{by: "Ana"}), "T = 16") {
		t.Error("a person's choice follows from the algorithm's constants")
	}
	free := design.Definition{Parameters: d.Parameters, Objective: design.Objective{Metric: "cost", Direction: "minimize"}}
	for reason, want := range map[string]string{
		policy.Optimistic: "its optimistic cost is the lowest of all.",
		policy.Explore:    "to learn where cost is the lowest: it is where the model is least sure among the points it may try.",
		policy.Seed:       "from which this algorithm learns cost first.",
		policy.Improve:    "the largest improvement of cost, weighed with the chance to work.",
	} {
		p := predicted(reason)
		p.Decision.Works = &ledger.Works{Chance: 0.8, Failed: 2, Of: 9}
		if got := explain(free, p, background{algorithm: policy.Description{Compares: true}}); !strings.HasSuffix(got, want) {
			t.Errorf("%s without limits: got %s\nwant %s", reason, got, want)
		}
	}
	d.Algorithm.Name, d.Algorithm.Settings = "igp-ucb", map[string]json.RawMessage{"initial_design": rawJSON(`0`)}
	if got, want := newBench(t, d).ask(1).Trials[0].Decision.Because, "its optimistic yield is the highest of all."; !strings.HasSuffix(got, want) {
		t.Errorf("by an algorithm that takes no account of limits: got %s\nwant %s", got, want)
	}
}

// TestWhatIsReadAgainMayBeNoBest: where nothing that was tried is within the limits, all points are
// compared with a trial beyond one, which may be read again, too, and be what others are as sure as.
func TestWhatIsReadAgainMayBeNoBest(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Constraints[0].Name = "impurity"
	again := predicted(policy.Improve)
	again.Decision.ExpectedImprovement, again.Decision.Incumbent = new(1.84), 1
	trial := &ledger.Trial{Status: ledger.StatusCompleted, Feasible: new(false), Parameters: again.Parameters}
	seen := &ledger.Snapshot{Trials: []*ledger.Trial{trial}}
	says := func(who background, want string) {
		t.Helper()
		if got := explain(d, again, who); !strings.Contains(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	says(background{seen: seen}, "Chosen to read the settings of trial 1 (which broke a limit) again: to know how good they are and how far from the limit on impurity is worth more than what another point promises.")
	says(background{seen: seen, unpredicted: map[string]string{"impurity": "no reading"}}, "again: to know how good they are is worth more")
	again.Decision.Reason = policy.Settled
	says(background{seen: seen}, "no less than that of trial 1 (which broke a limit), it promises most.")
	again.Decision.Reason = policy.Improve
	trial.Feasible, trial.Status = new(true), ledger.StatusSuggested
	trial.Metrics = map[string]ledger.Measurement{"load": {Value: 1, Known: true}}
	says(background{seen: seen}, "Chosen to read the settings of trial 1 (which waits for its results) again: to know whether they are as good and as far within the limit on impurity as they seem")
	trial.Status, trial.Doubts = ledger.StatusCompleted, make([]ledger.Doubted, 1)
	says(background{seen: seen}, "Chosen to read the settings of trial 1 (which is in doubt) again: to know whether")
}

// TestWhatIsKnownBeforehandIsNotLearned: no reading tells of a limit whose value is known, and what is
// known to break one is not said to promise the most.
func TestWhatIsKnownBeforehandIsNotLearned(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Constraints[0].Name = "impurity"
	seen := &ledger.Snapshot{Trials: []*ledger.Trial{{Status: ledger.StatusCompleted, Feasible: new(true), Parameters: predicted("").Parameters}}}
	for reason, want := range map[string]string{
		policy.Explore: "Chosen to learn where yield is the highest: it is",
		policy.Seed:    "learns yield first.",
		policy.Sample:  "one random draw of what yield could be, given",
		policy.Improve: "again: to know whether they are as good as they seem is worth more",
		policy.Apart:   "of the other points it is the best in one random draw of what yield could be",
	} {
		p := predicted(reason)
		p.KnownValues = map[string]float64{"impurity": 0.2}
		p.Decision.ExpectedImprovement, p.Decision.Incumbent = new(1.84), 1
		if got := explain(d, p, background{seen: seen}); !strings.Contains(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	beyond := predicted(policy.Improve)
	beyond.KnownValues = map[string]float64{"impurity": 0.9}
	if got, want := explain(d, beyond, background{seen: seen}), "Chosen although it is known to break the limit on impurity: no point within promises any improvement."; !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestNothingIsImprovedOnThatWasTakenOut: before cei has a reading within the limits to improve on, it goes by
// chances alone, and says so.
func TestNothingIsImprovedOnThatWasTakenOut(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Algorithm.Name, d.Algorithm.Settings = "cei", map[string]json.RawMessage{"initial_design": rawJSON(`2`)}
	b := newBench(t, d)
	for number, impurity := range []float64{0.2, 0.9, 0.8} {
		b.ask(1)
		b.tell(1+number, map[string]float64{"yield": 60 - float64(number), "impurity": impurity})
	}
	because := func(want string) {
		t.Helper()
		if got := b.ask(1).Trials[len(b.snap.Trials)-1].Decision.Because; !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	because("promises the largest improvement of yield, weighed with the chance to stay within the limit on impurity.")
	b.must(ruleClose(b.snap, ledger.Excluded, ledger.ClosedData{Number: 1, Reason: "spilt"}))
	because("has the best chance to keep impurity within the limit.")
}

// TestSafeSettingsAreNotSaidToBePossiblySafe: an algorithm that goes on from safe settings takes what
// it believes to be within the limits, not what could be.
func TestSafeSettingsAreNotSaidToBePossiblySafe(t *testing.T) {
	t.Parallel()
	d := oven()
	d.Algorithm.Name, d.Algorithm.Settings = "stageopt", map[string]json.RawMessage{"safe_seeds": rawJSON(`[{"temperature": 30, "cycles": 2}]`)}
	b := newBench(t, d)
	chosen := b.ask(1).Trials[0]
	if want := "among the safe settings and the points that the model believes to keep impurity within the limit."; !strings.Contains(chosen.Decision.Because, want) {
		t.Errorf("got %s\nwant %s", chosen.Decision.Because, want)
	}
	d.Algorithm.Settings["lipschitz"] = rawJSON(`3`) // by which points are safe whatever is believed of them
	b = newBench(t, d)
	d = b.snap.Definition
	if notes := Notes(b.snap); !strings.HasSuffix(notes[0], "mostly by little. Which settings are safe follows from the Lipschitz constant that was given: one that is too small lets trials break a limit by much.") {
		t.Errorf("notes %q", notes)
	}
	got := explain(d, ledger.ChosenData{Parameters: chosen.Parameters, Decision: chosen.Decision}, background{algorithm: policy.Description{NeedsSafeSeeds: true}, withinLimits: true})
	if want := "among the safe settings and the points that the Lipschitz constant says keep impurity within the limit."; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestManySettingsAndSharedUnits(t *testing.T) {
	t.Parallel()
	d, s := design.Definition{}, design.Settings{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		d.Parameters = append(d.Parameters, design.Parameter{Name: name, Type: design.Real, Low: new(0.0), High: new(1.0), Unit: "mol"})
		s[name] = design.NumberValue(0.5)
	}
	if got, want := describeSettings(d, s), "a 0.5 mol, b 0.5 mol, c 0.5 mol, d 0.5 mol, e 0.5 mol and 2 more settings"; got != want {
		t.Errorf("got %s", got)
	}
}

// What nobody has measured has no number in a sentence, nor has what its readings gave no scale yet:
// it would be the prior's alone.
func TestUnreadMetricsHaveNoNumber(t *testing.T) {
	t.Parallel()
	b := newBench(t, oven())
	b.ask(1)
	again := func() string {
		b.must(b.service.ruleReplicate(b.Context(), Command{By: "Ana"}, b.snap, 1))
		return b.snap.Trials[len(b.snap.Trials)-1].Decision.Because
	}
	because := again()
	if !strings.Contains(because, "no reading of yield yet, no reading of impurity yet (limit") || strings.Contains(because, "±") || strings.Contains(because, "chance") {
		t.Errorf("with nothing read it says %q", because)
	}
	b.tell(1, map[string]float64{"yield": 60})
	if because = again(); !strings.Contains(because, "too few readings of yield yet, no reading of impurity yet") || strings.Contains(because, "±") {
		t.Errorf("with one reading, which gives no scale, it says %q", because)
	}
	for number := 2; number <= 5; number++ {
		again()
		b.tell(number, map[string]float64{"yield": 60 + float64(number%2)})
	}
	if because = again(); !strings.Contains(because, "predicted yield ") || !strings.Contains(because, "no reading of impurity yet") {
		t.Errorf("with one metric read it says %q", because)
	}
}
