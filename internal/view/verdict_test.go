package view

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"headroom/internal/must"
	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
)

func TestNothingIsSaidOfAMetricWithoutAReading(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(8, 0, "yield", "impurity")
	verdict := b.facts(8).Verdict()
	says(t, "the verdict", verdict.None, []string{"Nothing can be recommended yet: pressure is without a reading."}, nil)
	if verdict.Answer != nil || verdict.Gain.Words != "" || verdict.Limits[1].Count != "no reading yet" || verdict.Limits[0].Count == "no reading yet" {
		t.Errorf("%+v", verdict)
	}
	for i := range 8 {
		b.end(ledger.Abandoned, i+1) // the rest is not measured
	}
	says(t, "what to do", b.facts(8).Verdict().Next, []string{"Measure pressure in the next trial, or add it to one that was made."}, nil)
}

// TestExcludedReadingsAreNotDenied: a metric all of whose readings are taken out has none that
// counts, beside a table that shows them.
func TestExcludedReadingsAreNotDenied(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(3, 0, "yield", "impurity", "pressure")
	for i := range 3 {
		b.end(ledger.Excluded, i+1)
	}
	v := b.facts(0)
	says(t, "what to do", v.Verdict().Next, []string{"Measure yield, impurity and pressure in the next trial."}, []string{"or add"}) // they have them already
	says(t, "the page", v.Verdict().None+captionOf(v.Progress().Chart)+v.NothingBelieved(),
		[]string{"yield, impurity and pressure are without a reading that counts.", "Yield: no reading that counts.", "After the next result that counts"}, []string{"no reading yet"})
}

func TestVerdictBeforeAndAfter(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	says(t, "before the first trial", whole(b.facts(0).Verdict()), []string{"Nothing has been tried yet", "Ask for the first trial"}, []string{"The answer so far was"})
	safe := newBench(t, strings.Replace(twoLimits, `"log-cei"`, `"stageopt", "settings": {"safe_seeds": [{"x": 0.1}]}`, 1))
	says(t, "before the first of those that begin with safe settings", safe.facts(0).Verdict().Next, []string{"Ask for the first trial."}, []string{"spread"})
	safe.curve(8, 0, "yield", "impurity", "pressure")
	safe.fit()
	says(t, "how much better it could get by a model that is wide for safety", safe.facts(8).Verdict().Gain.Words, []string{"cannot be said: for safety,"}, nil)
	b.ask(0.5)
	says(t, "while the first waits", b.facts(0).Verdict().Next, []string{"Run trial 1 and enter its results."}, nil)
	b.end(ledger.Failed, 1)
	b.curve(12, 0, "yield", "impurity", "pressure")
	before := b.facts(8).Verdict()
	says(t, "before its first fit", before.None, []string{"the model begins when the first few trials have shown how large the values are"}, nil)
	if before.Answer != nil {
		t.Error("something is recommended before the model stands")
	}
	due := b.facts(8)
	for _, metric := range Modelled(b.snap.Definition) {
		due.Readout.Metrics[metric] = study.MetricState{Model: optimizer.Model{Scaled: true}}
	}
	says(t, "with the fit that is due", due.NothingBelieved()+due.Verdict().None, nil, []string{"the model begins", "The model begins"})
	if due.Verdict().Answer == nil {
		t.Error("nothing is recommended by the fit that the next ask records")
	}
	b.fit()
	b.become(ledger.Finished)
	verdict := b.facts(8).Verdict()
	says(t, "when finished", whole(verdict), []string{"The study is finished: these settings are its answer.", "The answer"}, []string{"The answer so far"})
	if verdict.Answer == nil || verdict.Answer.Number != 8 || verdict.Answer.Chance.Text != "93\u202f%" || verdict.Answer.Chance.Raw != "0.93" {
		t.Errorf("%+v", verdict.Answer)
	}
}

// TestClosestWhileNothingIsWithinTheLimits names the least violating point and the limit that
// it broke most.
func TestClosestWhileNothingIsWithinTheLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(8, 5, "yield", "impurity", "pressure")
	b.fit()
	closest := b.facts(0).Verdict().Closest
	if closest == nil || closest.Number != 1 {
		t.Fatalf("%+v", closest)
	}
	says(t, "the closest", closest.Words, []string{"Impurity was 5.1 %, 4.6 points beyond its limit of 0.5 %, the one broken most. Yield was 60 %."}, nil)
	b.tell(b.ask(0.4), map[string]float64{"yield": 60, "impurity": 0.5219525211, "pressure": 2})
	says(t, "the closest", b.facts(0).Verdict().Closest.Words, []string{"Impurity was 0.521953 %, 0.022 points beyond its limit of 0.5 %, the one broken most."}, nil)
	b.tell(b.ask(0.5), map[string]float64{"yield": 60, "impurity": 0.1, "pressure": 2})
	if closest := b.facts(0).Verdict().Closest; closest != nil {
		t.Errorf("beside a trial within the limits: %+v", closest)
	}
	b.end(ledger.Excluded, 10)
	if closest := b.facts(0).Verdict().Closest; closest == nil || closest.Number != 9 {
		t.Errorf("when that was taken out: %+v", closest)
	}
}

// TestWhatHasNoCardIsSaid, one or many, but not of what was typed in, which has.
func TestWhatHasNoCardIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	for _, c := range []struct {
		trials      int
		typed, said string
	}{{50, "", ""}, {51, "", "1 more is waiting; it is in the study’s table of trials."}, {51, "51", ""}, {53, "", "3 more are waiting; they are in the study’s table of trials."}} {
		for len(b.snap.Trials) < c.trials {
			b.ask(0.5)
		}
		v := b.facts(0)
		v.Query = url.Values{"typed": {c.typed}}
		if got := v.Next().More; got != c.said {
			t.Errorf("of %d trials that wait, with %q typed in, it says %q", c.trials, c.typed, got)
		}
	}
}

// TestWhatBindsIsInNoUnits: a limit in hundreds does not bind because it is in hundreds, be it
// measured or known beforehand.
func TestWhatBindsIsInNoUnits(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{"", `, "expression": "1000*x"`} {
		b := newBench(t, strings.Replace(twoLimits, `"constraints": [`, `"constraints": [{"metric": "load", "op": "<=", "threshold": 100`+expression+`}, `, 1))
		for i, x := range []float64{0.11, 0.4, 0.8} {
			load := map[string]float64{"load": 1000 * x}
			c := ledger.ChosenData{Number: i + 1, Origin: ledger.Suggested, Seen: 1, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(x)}}
			told := map[string]float64{"yield": 60, "impurity": 0.9 - x/10, "pressure": 2}
			if expression == "" {
				told["load"] = load["load"]
			} else {
				c.KnownValues = load
			}
			b.add(ledger.Chosen, c)
			b.tell(i+1, told)
		}
		closest := b.facts(0).Verdict().Closest
		if closest == nil {
			t.Fatalf("%q: none is closest", expression)
		}
		says(t, "the closest", closest.Words, []string{"Impurity was 0.82 %, 0.32 points beyond its limit of 0.5 %, the one broken most."}, nil)
		if closest.Number != 3 {
			t.Errorf("%q: trial %d", expression, closest.Number)
		}
	}
}

// TestClosestByTheFormulaInForce: trials that kept a limit as it was break it by the formula that it
// has now.
func TestClosestByTheFormulaInForce(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(twoLimits, `"constraints": [`, `"constraints": [{"metric": "load", "op": "<=", "threshold": 0.9, "expression": "x"}, `, 1))
	for i, x := range []float64{0.5, 0.7, 0.8} {
		b.add(ledger.Chosen, ledger.ChosenData{Number: i + 1, Origin: ledger.Suggested, Seen: 1, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(x)},
			KnownValues: map[string]float64{"load": x}})
		b.tell(i+1, map[string]float64{"yield": 60 + x, "impurity": 0.1, "pressure": 2})
	}
	if closest := b.facts(0).Verdict().Closest; closest != nil {
		t.Errorf("where all are within: %+v", closest)
	}
	d := b.snap.Definition
	d.Constraints = slices.Clone(d.Constraints)
	d.Constraints[0].Expression = "2*x"
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{}, Reason: "two at a time"})
	closest := b.facts(0).Verdict().Closest
	if closest == nil || closest.Number != 1 {
		t.Fatalf("%+v", closest)
	}
	says(t, "the closest", closest.Words, []string{"Load was 1, 0.1 beyond its limit of 0.9, the one broken most."}, nil)
	d.Constraints = slices.Clone(d.Constraints)
	d.Constraints[0].Expression, d.Constraints[0].Threshold, d.Constraints[0].Unit = "2000*x", 900, "kg"
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{{Path: "constraints[load].unit", Before: json.RawMessage(`""`), After: json.RawMessage(`"kg"`)}}, Reason: "weighed"})
	says(t, "the closest in another unit", b.facts(0).Verdict().Closest.Words, []string{"Load was 1000 kg, 100 kg beyond its limit of 900 kg, the one broken most."}, nil)
	says(t, "the notes", strings.Join(study.Notes(b.snap), " "), []string{"Values of load in another unit than today’s: 3 of 3; they count as the numbers that they are"}, nil)
}

// TestTheBestReadingByTheFormulaInForce: that it is not recommended is no matter of luck where its settings
// would break a limit now.
func TestTheBestReadingByTheFormulaInForce(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(twoLimits, `"constraints": [`, `"constraints": [{"metric": "load", "op": "<=", "threshold": 0.9, "expression": "x"}, `, 1))
	for i, x := range []float64{0.2, 0.4, 0.8} {
		b.add(ledger.Chosen, ledger.ChosenData{Number: i + 1, Origin: ledger.Suggested, Seen: 1, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(x)}, KnownValues: map[string]float64{"load": x}})
		b.tell(i+1, map[string]float64{"yield": 60 + x, "impurity": 0.1, "pressure": 2})
	}
	b.fit()
	const would = "The settings of trial 3, the best reading, would break the limit of load by its present formula."
	says(t, "by the formula of then", b.facts(3).Verdict().Doubt, nil, []string{"formula"})
	d := b.snap.Definition
	d.Constraints = slices.Clone(d.Constraints)
	d.Constraints[0].Expression = "2*x"
	b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: d, Changes: []design.Change{}, Reason: "two at a time"})
	b.fit()
	says(t, "by the formula in force", b.facts(1).Verdict().Doubt, []string{would}, nil)
}

// TestWordsFollowHowTrialsEnded: nobody is told that failed trials have results, or that an ended
// study is still looking.
func TestWordsFollowHowTrialsEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	page := func() string { v := b.facts(0); return whole(v.Verdict()) + whole(v.Next()) + whole(v.Status()) }
	for range 3 {
		b.ask(0.5)
	}
	b.end(ledger.Failed, 1)
	b.end(ledger.Failed, 2)
	b.end(ledger.Abandoned, 3)
	says(t, "nothing came of any", page(), []string{"Of 3 trials, 2 failed and 1 was not run.", "Nothing can be recommended yet: of 3 trials", "Find out why, then ask for the next."}, []string{"Every trial has its results", "add it to one"})
	b.curve(8, 5, "yield", "impurity", "pressure")
	b.ask(0.5)
	b.end(ledger.Abandoned, 12)
	b.fit()
	says(t, "some failed", page(), []string{"8 trials have their results, 2 failed and 2 were not run.", "no settings tried are more likely to stay within every limit than to break one, by the model and by what was read there."}, []string{"Every trial has its results"})
	says(t, "nothing within the limits", b.facts(0).Next().Nothing, []string{"The algorithm is looking for where they can be met"}, nil)
	for _, heedless := range []string{"random", "halton", "igp-ucb"} {
		d := b.snap.Definition
		d.Algorithm = design.Algorithm{Name: heedless, Horizon: 20}
		b.add(ledger.Reconfigured, ledger.ReconfiguredData{Definition: must.Get(d.Check())(t), Changes: []design.Change{}, Reason: "to compare"})
		says(t, "nothing within the limits of "+heedless, b.facts(0).Next().Nothing, []string{"The algorithm takes no account of them"}, []string{"is looking"})
	}
	b.fit()
	b.become(ledger.Finished)
	says(t, "finished", page(), []string{"Nothing could be recommended: no settings tried are more likely to stay within every limit than to break one", "without settings that it could recommend"}, []string{"recommended yet"})
	b.become(ledger.Archived)
	says(t, "archived", page(), []string{"The study is archived"}, []string{"The answer so far"})
	b = newBench(t, twoLimits)
	b.add(ledger.Failed, ledger.ClosedData{Number: b.ask(0.5), Reason: "It exploded!", Cause: ledger.ByChance})
	says(t, "a card that is kept", b.facts(0).Of(b.snap.Trial(1)).ending().Words, []string{"Failed by chance: It exploded!"}, []string{"!."})
}

func TestTrialsBeyondThosePlanned(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(20, 0, "yield", "impurity", "pressure")
	says(t, "the last planned", b.facts(0).Status().Trial, []string{"trial 20 of 20"}, nil)
	b.ask(0.5)
	says(t, "one more", b.facts(0).Status().Trial, []string{"trial 21, 20 planned"}, nil)
	b.end(ledger.Abandoned, 21)
	says(t, "one not run", b.facts(0).Status().Trial, []string{"20 trials made, 20 planned"}, nil)
	says(t, "all of several", b.facts(0).Verdict().Next, []string{"20 trials were planned, and are made."}, nil)
	b.reads = true
	says(t, "all of several, to who looks on", b.facts(0).Verdict().Next, []string{"20 trials were planned, and are made."}, []string{"not been asked for", "Finish"})
	b.reads = false
	b.end(ledger.Abandoned, b.ask(0.5))
	b.snap.Definition.Algorithm.Horizon = 21
	says(t, "what was not run is not made", b.facts(0).Verdict().Next, []string{"Ask for the next trial."}, nil)
	b.reads = true
	says(t, "what was not run, to who looks on", b.facts(0).Verdict().Next, []string{"the next has not been asked for"}, nil)
	b.snap.Definition.Algorithm.Horizon = 1
	b.reads = false
	says(t, "all of one", b.facts(0).Verdict().Next, []string{"1 trial was planned, and is made."}, nil)
}

// TestAPlanTooShortForAModelSaysSo: of three trials planned, none is chosen by a model, so that
// nothing says what there is to gain.
func TestAPlanTooShortForAModelSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(twoLimits, `"horizon": 20`, `"horizon": 3`, 1))
	b.curve(3, 0, "yield", "impurity", "pressure")
	says(t, "without a model", b.facts(0).Verdict().Next, []string{"3 trials were planned, and are made. Finish the study, or go on: it has no model yet, and so no answer."}, nil)
	b.fit()
	says(t, "with one", b.facts(1).Verdict().Next, []string{"Finish the study, or go on if there is enough to gain."}, nil)
}

// TestWhoAsksInVainIsToldOfTheLimits: where no settings keep them by all that is known, the next
// trial is not the only advice.
func TestWhoAsksInVainIsToldOfTheLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(8, 5, "yield", "impurity", "pressure")
	b.fit()
	v := b.facts(0)
	v.Gained = true
	says(t, "no draw within the limits", v.Verdict().Next, []string{"Ask whether every limit has to be what it is: as far as the model knows, no settings keep them all. Or ask for the next trial."}, nil)
	v.Gain = &optimizer.Gain{Feasible: 0.4}
	says(t, "some draws within", v.Verdict().Next, []string{"Ask for the next trial."}, []string{"has to be"})
	b.ask(0.5)
	v = b.facts(0)
	v.Gained = true
	says(t, "while a trial waits", v.Verdict().Next, []string{"Run trial 9 and enter its results."}, []string{"has to be"})
}

// TestNobodyWaitsForWhatWasTakenOut: neither who runs trials nor who looks on.
func TestNobodyWaitsForWhatWasTakenOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.ask(0.1)
	b.ask(0.2)
	b.ask(0.3)
	b.end(ledger.Excluded, 1)
	b.reads = true
	for i, want := range []string{"2 trials wait for results, trial 2 for the longest time.", "Trial 3 waits for results.", "No trial is waiting; the next has not been asked for."} {
		if i > 0 {
			b.end(ledger.Excluded, i+1)
		}
		if got := b.facts(0).Verdict().Next; got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestWhoMayOnlyLookIsNotToldToWork: the reader of a study hears how it stands, not what to press
// or enter.
func TestWhoMayOnlyLookIsNotToldToWork(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.reads = true
	for _, want := range []string{"The first trial has not been asked for.", "Trial 1 waits for results.", "2 trials wait for results, trial 1 for the longest time."} {
		if next := b.facts(0).Verdict().Next; next != want {
			t.Errorf("%q, want %q", next, want)
		}
		b.ask(0.5)
	}
}

// TestNobodyIsToRunWhatASimulatedLabAnswers: it tells late results by itself.
func TestNobodyIsToRunWhatASimulatedLabAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.ask(0.5)
	b.snap.Definition.SimulatedLab = "branin"
	says(t, "what to do", b.facts(0).Verdict().Next, []string{"Trial 1 waits for results. Enter some, or let the simulated lab run on."}, []string{"Run trial"})
}

// TestALimitBeforeIsOneThatTrialsHad: what was set and taken back between two trials is none.
func TestALimitBeforeIsOneThatTrialsHad(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	before := func(want string) {
		t.Helper()
		if got := strings.ReplaceAll(formerLimits(b.snap, 0), words.Thin, " "); got != want {
			t.Errorf("it was %q, want %q", got, want)
		}
	}
	b.limit(0, 0.7)
	before("")
	b.ask(0.5)
	b.limit(0, 0.6)
	before("0.7 % before trial 2")
	b.limit(0, 0.7)
	before("")
	b.ask(0.5)
	b.limit(0, 0.6)
	b.limit(0, 0.4)
	b.ask(0.5)
	b.limit(0, 0.3)
	before("0.7 % before trial 3; 0.4 % before trial 4")
}

// TestWhatToDoCanBeDone: nobody is told to press what is not there.
func TestWhatToDoCanBeDone(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.become(ledger.Paused)
	says(t, "paused before the first trial", b.facts(0).Verdict().Next, []string{"The study is paused. Open it again to ask for more trials."}, nil)
	b.become(ledger.Open)
	b.ask(0.5)
	b.snap.Definition.SimulatedLab = "branin"
	b.become(ledger.Paused)
	says(t, "paused beside a simulated lab", b.facts(0).Verdict().Next, []string{"Trial 1 waits for results. Enter some."}, []string{"run on"})

	b = newBench(t, twoLimits)
	b.snap.Definition.Constraints[0].Sampled = true
	says(t, "before the first trial of a sampled limit", b.facts(0).Verdict().Next, []string{"Ask for the first trial through the API."}, nil)
}

// TestASettingThatWaitsTwiceIsSaid where the algorithm had no other, as on a plate with more wells than
// a list has combinations; not where the first has been run.
func TestASettingThatWaitsTwiceIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	for _, x := range []float64{0.5, 0.6, 0.5, 0.5} {
		b.ask(x)
	}
	cards := b.facts(0).Next().Cards
	for i, want := range []string{"", "", "Trial 1 has the same settings, and waits, too.", "Trial 3 has the same settings, and waits, too."} {
		if got := cards[i].Since; got != want {
			t.Errorf("trial %d: %q", i+1, got)
		}
	}
	b.end(ledger.Failed, 1)
	says(t, "once the first has ended", b.facts(0).Next().Cards[1].Since, nil, []string{"the same settings"})
}

// TestNobodyIsToRunATrialThatWasTakenOut: its card says so, and what to do is said of the others.
func TestNobodyIsToRunATrialThatWasTakenOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.ask(0.5)
	b.ask(0.6)
	b.end(ledger.Excluded, 1)
	v := b.facts(0)
	says(t, "what to do", v.Verdict().Next, []string{"Run trial 2 and enter its results."}, []string{"trial 1", "more"})
	says(t, "its card", v.Next().Cards[0].Since, []string{"It is excluded, and need not be run: pump"}, nil)
	says(t, "the other's card", v.Next().Cards[1].Since+"|", nil, []string{"excluded"})
	b.end(ledger.Excluded, 2)
	says(t, "what to do without them", b.facts(0).Verdict().Next, nil, []string{"Run trial"})
}

// TestWithoutAModelTheReadingsSpeak: while a model is worked out, or there cannot be one, the
// verdict says why and how the limits stand.
func TestWithoutAModelTheReadingsSpeak(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(8, 0, "yield", "impurity", "pressure")
	b.fit()
	working, modelless := b.facts(8), b.facts(8)
	working.Working, modelless.Modelless = true, "Its kernel is gone."
	for want, v := range map[string]Facts{"The answer comes with the model, which is being worked out.": working, "Its kernel is gone.": modelless} {
		verdict := v.Verdict()
		if verdict.None != want || verdict.Answer != nil || verdict.Gain.Later != "" || verdict.Limits[0].Count != "broken in 2 of 8 trials" || verdict.Limits[0].Mark != string(chart.Violated) || verdict.Lucky == nil {
			t.Errorf("%+v", verdict)
		}
	}
	says(t, "what to do without one", modelless.Verdict().Next, []string{"Without its model the study takes results, and no new trials."}, nil)
	b.become(ledger.Finished)
	working.Head.State, working.Snap = ledger.Finished, b.snap
	says(t, "what to do once it is finished", working.Verdict().Next, []string{"The study is finished."}, []string{"could recommend"})
	b.become(ledger.Open)
	if gain := b.facts(8).Verdict().Gain; gain.Later != "/studies/bench/parts/gain" {
		t.Errorf("what could be gained and was not worked out is fetched from %+v", gain)
	}
}

// TestWordsOfGain: little is left only where the chance that more is left is no larger than the
// target, which is named with it.
func TestWordsOfGain(t *testing.T) {
	t.Parallel()
	left := func(chance, atMost float64) []optimizer.ChanceLeft {
		return []optimizer.ChanceLeft{{MoreThan: 0.01, Of: 79, Chance: chance, AtMost: atMost}}
	}
	usual := design.DefaultStop()
	best := optimizer.BestRange{Low: 74.2, High: 81.04, Level: 0.9}
	for _, c := range []struct {
		name   string
		stop   design.Stop
		gain   *optimizer.Gain
		words  string
		enough bool
	}{
		{"no model", usual, nil, "As far as the model knows, no settings that may be chosen are within every limit.", false},
		{"nothing recommended", usual, &optimizer.Gain{Best: best, Feasible: 0.4}, "The chance that any settings are within every limit is 40 %; what is said is of the best where there are. Nothing is recommended yet, so all of that is left to gain.", false},
		{"hardly anything within the limits", usual, &optimizer.Gain{Best: optimizer.BestRange{Low: 74.2, High: 74.2, Level: 0.9}, Feasible: 1.0 / 256}, "The chance that any settings are within every limit is under 1 %, too little to say how good they would be.", false},
		{"much left", usual, &optimizer.Gain{Best: best, ChanceLeft: left(0.65, 0.7)}, "The chance that more than 1 % of the recommended value, 0.79 points, is left to gain, or that a limit would be broken, is 65 %. Stopping now risks up to 70 %; the target is 5 %.", false},
		{"nearly all left", usual, &optimizer.Gain{Best: best, ChanceLeft: left(0.98, 0.999)}, "The chance that more than 1 % of the recommended value, 0.79 points, is left to gain, or that a limit would be broken, is 98 %. Stopping now risks over 99 %; the target is 5 %.", false},
		{"not known well enough", usual, &optimizer.Gain{Best: best, ChanceLeft: left(0.04, 0.07)}, "The chance that more than 1 % of the recommended value, 0.79 points, is left to gain, or that a limit would be broken, is 4 %. Stopping now risks up to 7 %; the target is 5 %.", false},
		{"just beyond the target, which is a bound and is rounded up", usual, &optimizer.Gain{Best: best, ChanceLeft: left(0.02, 0.0503)}, "The chance that more than 1 % of the recommended value, 0.79 points, is left to gain, or that a limit would be broken, is 2 %. Stopping now risks up to 6 %; the target is 5 %.", false},
		{"within a target of no whole per cent", design.Stop{Within: 0.01, Risk: 0.025}, &optimizer.Gain{Best: best, ChanceLeft: left(0.008, 0.021)},
			"Little is left to gain: the chance that more than 1 % of the recommended value, 0.79 points, is left to gain, or that a limit would be broken, is under 1 %. Stopping now risks up to 2.5 %, no more than the target of 2.5 %.", true},
		{"at the target", usual, &optimizer.Gain{Best: best, ChanceLeft: left(0.02, 0.05)},
			"Little is left to gain: the chance that more than 1 % of the recommended value, 0.79 points, is left to gain, or that a limit would be broken, is 2 %. Stopping now risks up to 5 %, no more than the target of 5 %.", true},
		{"a target of one's own", design.Stop{Within: 0.005, Risk: 0.7}, &optimizer.Gain{Best: best, ChanceLeft: left(0.65, 0.7)},
			"Little is left to gain: the chance that more than 0.5 % of the recommended value, 0.4 points, is left to gain, or that a limit would be broken, is 65 %. Stopping now risks up to 70 %, no more than the target of 70 %.", true},
	} {
		d := design.Definition{Objective: design.Objective{Metric: "yield", Direction: "maximize", Unit: "%"}, Constraints: []design.Constraint{{Metric: "impurity"}}, Stop: &c.stop}
		shown := gainOf(d, c.gain, false)
		if said := strings.ReplaceAll(shown.Words, words.Thin, " "); said != c.words || shown.Enough != c.enough || (shown.Best != nil) != (c.gain != nil && c.gain.Best.High > c.gain.Best.Low) {
			t.Errorf("%s: %q, enough %v", c.name, said, shown.Enough)
		}
		says(t, c.name+" of a study that is over", gainOf(d, c.gain, true).Words, nil, []string{"Stopping now", "yet"})
		if c.gain != nil && len(c.gain.ChanceLeft) > 0 {
			c.gain.OfRange = true
			says(t, c.name+" of readings on both sides of 0", gainOf(d, c.gain, false).Words, []string{" of how far the readings lie apart, "}, []string{"of what is recommended"})
		}
		if d.Constraints = nil; shown.Best != nil && (shown.Best.Of != "the best within the limits" || gainOf(d, c.gain, false).Best.Of != "the best") {
			t.Errorf("%s: what is found there is %s", c.name, shown.Best.Of)
		}
		if shown.Best != nil && (shown.Best.Low.Text != "74" && shown.Best.Low.Text != "74.2" || shown.Best.Low.Raw != "74.2") {
			t.Errorf("%s: from %+v", c.name, shown.Best)
		}
	}
}

// TestTrialsInDoubtThatHaveNoRoom are counted, and so are their pages.
func TestTrialsInDoubtThatHaveNoRoom(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(8, 0, "yield", "impurity", "pressure")
	yield := 7e3
	for n, want := range []string{"", "1 more trial is in doubt; its page says why.", "2 more trials are in doubt; their pages say why."} {
		for range max(1, mostInDoubt*(1-n)) {
			yield *= 1000
			b.tell(b.ask(0.5), map[string]float64{"yield": yield})
		}
		if _, more := b.facts(0).inDoubt(); more != want {
			t.Errorf("%q, want %q", more, want)
		}
	}
}

// TestAnAnswerRestsOnAllReadingsOfItsSettings: what is in doubt of a repetition is said too.
func TestAnAnswerRestsOnAllReadingsOfItsSettings(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(12, 0, "yield", "impurity", "pressure")
	b.fit()
	again := b.ask(b.snap.Trial(8).Parameters["x"].Number)
	b.tell(again, map[string]float64{"yield": 8000, "impurity": 0.4, "pressure": 2})
	says(t, "the answer", b.facts(8).Verdict().Doubt, []string{"That rests on trial 13, which is in doubt."}, nil)
	says(t, "the answer of other settings", b.facts(7).Verdict().Doubt, nil, []string{"rests"})
	b.end(ledger.Excluded, again)
	says(t, "the answer without it", b.facts(8).Verdict().Doubt, nil, []string{"rests"})
}

// TestWhoImportedATrialDidNotChooseIt: its settings stood in a table.
func TestWhoImportedATrialDidNotChooseIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.add(ledger.Chosen, ledger.ChosenData{Number: 1, Origin: ledger.Imported, Seen: b.snap.Version, Engine: "1", Parameters: design.Settings{"x": design.NumberValue(0.5)}})
	says(t, "its card", b.facts(0).Next().Cards[0].Why, []string{"Trial 1 was imported by Ana, without a prediction."}, []string{"chosen"})
}

// TestWhatWouldTell speaks of one reading as of several, and of one limit as of several.
func TestWhatWouldTell(t *testing.T) {
	t.Parallel()
	d := newBench(t, twoLimits).snap.Definition
	says(t, "one reading", readingsNeeded(d, study.Undecided{Readings: new(1)}), []string{"within every limit: 1 more reading there would tell, should all be as expected."}, nil)
	d.Constraints = d.Constraints[:1]
	says(t, "of one limit", readingsNeeded(d, study.Undecided{Readings: new(2)}), []string{"within the limit: 2 more readings there would tell, should all be as expected."}, nil)
}

// TestAMapWithoutLimitsSaysWhy: a metric was never read, or not often enough to know its scale.
func TestAMapWithoutLimitsSaysWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoLimits)
	b.curve(6, 0, "yield", "impurity")
	b.fit()
	delete(b.snap.Fits[0].Metrics, "pressure")
	says(t, "never read", Outlook{Facts: b.facts(0)}.mapCaption(nil, ""), []string{"Pressure is without a reading, so nothing is said of the limits."}, nil)
	b.tell(1, map[string]float64{"pressure": 2})
	says(t, "read once", Outlook{Facts: b.facts(0)}.mapCaption(nil, ""), []string{"Of some metric there are too few readings, so nothing is said of the limits."}, []string{"without a reading"})
}
