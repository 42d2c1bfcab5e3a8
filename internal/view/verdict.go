package view

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// GainAtOnce is the number of trials up to which the page itself says how much could still be
// gained. With more, the page fetches that after it has loaded.
const GainAtOnce = 150

// verdictFacts is Facts whose Readout is reduced to what may be said of it.
type verdictFacts struct{ Facts }

// Verdict is the answer of the study: what to use, how sure that is, and what could still be
// gained.
func (v Facts) Verdict() templates.Verdict {
	a := verdictFacts{v}
	verdict := templates.Verdict{Heading: words.Either(v.Snap.State.Over(), "The answer", "The answer so far"), Lucky: a.bestReading(), None: a.whyNone()}
	switch {
	case !a.hasReadout():
		a.Readout = study.Readout{}
	case verdict.None != "":
		a.Readout.Recommendation = nil
		if !v.ModelStands() {
			a.Readout.Undecided = nil
		}
	}
	verdict.Limits, verdict.Next, verdict.Risk = a.limitLines(), a.nextStep(), a.riskOf("any limit", a.Readout.Risk)
	if !a.hasReadout() {
		return verdict
	}
	a.recommend(&verdict)
	verdict.Gain = v.GainWords()
	switch asks := verdict.Next == a.askFor("next"); {
	case asks && verdict.Gain.Enough:
		verdict.Next = "You could stop here: little is left to gain. Or ask for the next trial."
	case asks && verdict.Answer == nil && verdict.Gain.None:
		verdict.Next = "Ask whether every limit has to be what it is: as far as the model knows, no settings keep them all. Or ask for the next trial."
	}
	return verdict
}

func (v verdictFacts) hasReadout() bool {
	return len(v.Snap.Trials) > 0 && !v.Working && v.Modelless == ""
}

// recommend fills in the recommended settings, those that may be better, or those closest to the
// limits.
func (v verdictFacts) recommend(verdict *templates.Verdict) {
	u, r := v.Readout.Undecided, v.Readout.Recommendation
	if r != nil {
		verdict.Answer, verdict.Doubt = v.answer(*r), v.modelDoubt()
		if at := slices.IndexFunc(v.Snap.Trials, func(t *ledger.Trial) bool {
			return len(t.Doubts) > 0 && !t.Excluded && maps.Equal(t.Parameters, r.Parameters)
		}); at >= 0 {
			verdict.Doubt = strings.TrimSpace(fmt.Sprintf("That rests on trial %d, which is in doubt. %s", at+1, verdict.Doubt))
		}
		if best := v.Snap.Best(); best != nil && v.notNow(best) != "" {
			verdict.Doubt = strings.TrimSpace(fmt.Sprintf("The settings of trial %d, the best reading, %s. %s", best.Number, v.notNow(best), verdict.Doubt))
		}
		if works := v.Readout.Works; works.Failed > 0 && works.Chance != nil {
			verdict.Answer.Works = newValue(words.Percent(*works.Chance), *works.Chance)
		}
	} else {
		verdict.Closest = v.leastViolating()
	}
	if u == nil {
		return
	}
	verdict.More = readingsNeeded(v.Snap.Definition, *u)
	if r == nil || u.Number != r.Number {
		verdict.Undecided = v.answer(u.Recommendation)
	}
}

// notNow says why a trial that was within every limit would not be so again, "" if nothing speaks
// against it.
func (v verdictFacts) notNow(t *ledger.Trial) string {
	if v.Snap.Gone(t.Number) {
		return "may no longer be chosen"
	}
	broken, is := lists.Find(v.Snap.Definition.Constraints, func(c design.Constraint) bool {
		m, there := v.limitValue(t, c)
		return there && !c.Holds(m.Value)
	})
	return words.Either(is, "would break the limit of "+design.Name(broken.Name)+" by its present formula", "")
}

// whyNone says why nothing can be recommended, "" when something is.
func (v verdictFacts) whyNone() string {
	nothing := words.Either(v.Snap.State.Over(), "Nothing could be recommended", "Nothing can be recommended yet")
	switch {
	case len(v.Snap.Trials) == 0 && v.Snap.State.Over():
		return "Nothing was tried."
	case len(v.Snap.Trials) == 0:
		return "Nothing has been tried yet."
	case v.Working:
		return "The answer comes with the model, which is being worked out."
	case v.Modelless != "":
		return v.Modelless
	}
	missing := unread(v.Snap)
	switch {
	case len(missing) > 0 && whyNoResults(v.Snap.Trials) != "":
		return nothing + ": " + whyNoResults(v.Snap.Trials) + "."
	case len(missing) > 0:
		return nothing + ": " + noReadingWords(v.Snap, missing) + "."
	case !v.ModelStands():
		return nothing + ": " + v.whyNoModel() + "."
	case v.Readout.Recommendation == nil && !slices.ContainsFunc(v.Snap.Trials, func(t *ledger.Trial) bool { return !v.Snap.Gone(t.Number) }):
		return nothing + ": none of the settings tried may still be chosen."
	case v.Readout.Recommendation == nil && len(v.Snap.Definition.Constraints) == 0:
		return nothing + "."
	case v.Readout.Recommendation == nil:
		some := slices.ContainsFunc(v.Snap.Trials, func(t *ledger.Trial) bool { return v.Snap.Gone(t.Number) })
		return nothing + ": no settings tried " + words.Either(some, "that may still be chosen ", "") + "are more likely to stay within every limit than to break one, by the model and by what was read there."
	}
	return ""
}

func (v verdictFacts) bestReading() *templates.Lucky {
	best := v.Snap.Best()
	if best == nil {
		return nil
	}
	o := v.Snap.Definition.Objective
	value := best.Metrics[o.Metric].Value
	what := words.Either(o.Direction == "minimize", "Lowest", "Highest") + " single reading" + words.Either(limited(v.Snap.Definition), " within the limits", "")
	return &templates.Lucky{Number: best.Number, URL: v.trialURL(best.Number), What: what, Value: *newValue(words.Quantity(value, v.Snap.UnitTold(best.Number, o.Metric)), value)}
}

func newValue(text string, x float64) *templates.Value {
	return &templates.Value{Text: text, Raw: words.Raw(x)}
}

// answer describes settings that were tried, and what the model expects of them.
func (v verdictFacts) answer(r study.Recommendation) *templates.Answer {
	tried := v.Of(v.Snap.Trial(r.Number))
	answer := &templates.Answer{Number: r.Number, URL: v.trialURL(r.Number), Settings: tried.settings(), Copy: tried.copyText()}
	answer.Expected = lists.Map(v.metricsShown(), func(metric string) templates.Expected { return v.expected(metric, r.Believed) })
	if limited(v.Snap.Definition) {
		answer.Chance, answer.Brought = newValue(words.Percent(r.FeasibilityProbability), r.FeasibilityProbability), v.contextWords()
	}
	return answer
}

// expected is what the model expects of a metric, with as many digits as the band leaves meaning
// in.
func (v verdictFacts) expected(metric string, b study.Believed) templates.Expected {
	d := v.Snap.Definition
	unit := d.Unit(metric)
	show := design.WriteTogether(b.SD[metric], b.Mean[metric], b.Lower95[metric], b.Upper95[metric])
	value := func(x float64) templates.Value { return *newValue(show(x), x) }
	return templates.Expected{Metric: metric, Unit: unit, Mean: value(b.Mean[metric]), Low: value(b.Lower95[metric]), High: value(b.Upper95[metric]),
		ReadingSD: *newValue(words.Alike(b.ReadingSD[metric])(b.ReadingSD[metric]), b.ReadingSD[metric])}
}

func (v verdictFacts) limitLines() []templates.LimitLine {
	var lines []templates.LimitLine
	for j, c := range v.Snap.Definition.Constraints {
		line := templates.LimitLine{Name: c.Name, Asks: limitText(c), Mark: string(chart.Feasible)}
		if v.Paper {
			line.Before = formerLimits(v.Snap, j)
		}
		broken, known := countBroken(v.Snap.Trials, c)
		line.Count = "broken in " + strconv.Itoa(broken) + " of " + design.Count(known, "trial", "trials")
		if broken > 0 {
			line.Mark = string(chart.Violated)
		}
		if known == 0 {
			line.Count, line.Mark = "no reading yet", string(chart.Unknown)
			lines = append(lines, line)
			continue
		}
		if now, there := v.Readout.Violation[c.Name]; there && now.Hard > 0 {
			line.Violation = newValue(words.RoughlyApart(now.Hard, c.Unit), now.Hard)
			if now.Rounds > 1 {
				line.Largest = newValue(words.RoughlyApart(now.Largest, c.Unit), now.Largest)
			}
		}
		line.Risk = v.riskOf("this limit", v.Readout.Violation[c.Name].Risk)
		line.Headroom, line.Room = v.expectedHeadroom(c)
		lines = append(lines, line)
	}
	return lines
}

// formerLimits says what limit j was when earlier trials were chosen, "" if it never changed
// between trials.
func formerLimits(snap *ledger.Snapshot, j int) string {
	var said []string
	through := append(snap.LimitsThrough(), snap.Definition.Constraints)
	for i, limits := range through[1:] {
		if was, c := through[i][j], limits[j]; limitDiffers(was, c) {
			said = append(said, fmt.Sprintf("%s before trial %d", changedSign(was, c)+words.Quantity(was.Threshold, was.Unit), i+2))
		}
	}
	return strings.Join(said, "; ")
}

// riskOf is the account of the risk granted for a limit, or for all, nil where none was granted.
func (v Facts) riskOf(limit string, r *optimizer.Risk) *templates.Risk {
	if r == nil {
		return nil
	}
	others := slices.DeleteFunc(v.chosenByOthers(), func(n int) bool { return !slices.Contains(r.Chosen, n) })
	risk := &templates.Risk{Words: fmt.Sprintf("%s of the %s that the model chooses%s may break %s", words.Percent(r.Most), design.Count(r.Trials, "trial", "trials"), countingWords(others, ","), limit),
		Allowed: *newValue(words.Brief(r.Allowed), r.Allowed), Expected: *newValue(words.Brief(r.Expected), r.Expected), SoFar: *newValue(strconv.Itoa(r.SoFar), float64(r.SoFar))}
	if r.Now < r.Most {
		risk.Next = "The next may take a chance of " + words.Percent(r.Now) + ", because more than the share allowed have broken it so far."
	}
	return risk
}

// expectedHeadroom is how far the recommended settings are expected to stay within a limit, and the
// words that go with the figure.
func (v verdictFacts) expectedHeadroom(c design.Constraint) (*templates.Value, string) {
	r := v.Readout.Recommendation
	if r == nil {
		return nil, ""
	}
	if mean, there := r.Mean[c.Metric]; there && v.Snap.HasReading(c.Metric) {
		room := c.Headroom(mean)
		return newValue(words.Apart(words.Alike(r.SD[c.Metric])(math.Abs(room)), c.Unit), room), sideWords(room) + ", as the model expects"
	}
	if value, known := v.Snap.KnownValues(r.Number)[c.Name]; known {
		room := c.Headroom(value)
		return newValue(words.RoughlyApart(math.Abs(room), c.Unit), room), sideWords(room) + v.contextWords()
	}
	return nil, ""
}

// contextWords limits what is said of a limit to the context of one trial, if the next may bring
// another.
func (v verdictFacts) contextWords() string {
	return words.Either(v.Snap.Definition.Foreseeable(), "", ", with what that trial brought")
}

func sideWords(room float64) string { return words.Either(room < 0, "beyond the limit", "inside") }

// readingsNeeded says how many readings would tell whether undecided settings can be recommended.
func readingsNeeded(d design.Definition, u study.Undecided) string {
	readings := "not even a thousand more readings"
	if u.Readings != nil {
		readings = design.Count(*u.Readings, "more reading", "more readings")
	}
	return fmt.Sprintf("Not yet known to be within %s limit: %s there would tell, should all be as expected.", words.Either(len(d.Constraints) > 1, "every", "the"), readings)
}

// leastViolating is the trial that breaks the limits least, with the limit that it breaks most. It
// is nil if a trial breaks none. Excluded trials do not count.
func (v verdictFacts) leastViolating() *templates.Answer {
	d := v.Snap.Definition
	var nearest *ledger.Trial
	var binding design.Constraint
	spreads, least := lists.Map(d.Constraints, v.spreadOf), math.Inf(1)
	for _, t := range v.Snap.Trials {
		c, excess, known := v.largestExcess(t, spreads)
		if t.Excluded || !known || excess >= least {
			continue
		}
		nearest, binding, least = t, c, excess
	}
	if nearest == nil || least <= 0 {
		return nil
	}
	m, _ := v.limitValue(nearest, binding)
	came := Measured(v.Snap, nearest, binding.Metric, m)
	if binding.Expression != "" { // the formula in force has its own unit
		came = words.Quantity(m.Value, binding.Unit)
	}
	said := fmt.Sprintf("%s was %s, %s beyond its limit of %s%s.", design.OpeningName(binding.Name), came,
		words.RoughlyApart(binding.Excess(m.Value), binding.Unit), words.Quantity(binding.Threshold, binding.Unit), words.Either(len(d.Constraints) > 1, ", the one broken most", ""))
	if objective, told := nearest.Metrics[d.Objective.Metric]; told && binding.Metric != d.Objective.Metric {
		said += fmt.Sprintf(" %s was %s.", design.OpeningName(d.Objective.Metric), Measured(v.Snap, nearest, d.Objective.Metric, objective))
	}
	return &templates.Answer{Number: nearest.Number, URL: v.trialURL(nearest.Number), Settings: v.Of(nearest).settings(),
		Copy: v.Of(nearest).copyText(), Words: said}
}

// largestExcess is the limit that a trial exceeds most, and by how much in units of spreads, which
// hold each limit's standard deviation over the trials; 0 if it exceeds none. It is not known if a
// limit has no value at the trial.
func (v verdictFacts) largestExcess(t *ledger.Trial, spreads []float64) (binding design.Constraint, excess float64, known bool) {
	for j, c := range v.Snap.Definition.Constraints {
		m, there := v.limitValue(t, c)
		if !there {
			return c, 0, false
		}
		if g := c.Excess(m.Value) / spreads[j]; g > excess {
			binding, excess = c, g
		}
	}
	return binding, excess, len(v.Snap.Definition.Constraints) > 0
}

// limitValue is what a limit is compared with at a trial: the value of the formula in force, else
// the reading.
func (v verdictFacts) limitValue(t *ledger.Trial, c design.Constraint) (ledger.Measurement, bool) {
	if value, known := v.Snap.KnownValues(t.Number)[c.Name]; known {
		return ledger.Measurement{Value: value}, true
	}
	m, there := t.Metrics[c.Metric]
	return m, there
}

// spreadOf is the standard deviation of a limit's values over the trials, 1 if they are all equal.
func (v verdictFacts) spreadOf(c design.Constraint) float64 {
	sd := stat.StdDev(lists.Pick(v.Snap.Trials, func(t *ledger.Trial) (float64, bool) {
		m, there := v.limitValue(t, c)
		return m.Value, there && !t.Excluded
	}), nil)
	if sd > 0 {
		return sd
	}
	return 1
}

func (v verdictFacts) nextStep() string {
	summary, u, r := v.Snap.Summary(), v.Readout.Undecided, v.Readout.Recommendation
	switch {
	case !v.Head.Operates && !v.Snap.State.Over():
		return v.viewerStatus()
	case v.Snap.State == ledger.Finished && r != nil:
		return "The study is finished: these settings are its answer."
	case v.Snap.State == ledger.Finished && (v.Working || v.Modelless != ""):
		return "The study is finished."
	case v.Snap.State == ledger.Finished:
		return "The study is finished without settings that it could recommend."
	case v.Snap.State == ledger.Archived:
		return "The study is archived; it can be copied as a new one."
	case len(v.Snap.ToRun()) > 0 && v.Snap.Definition.SimulatedLab != "":
		return v.viewerStatus() + " Enter some" + words.Either(v.Snap.State == ledger.Paused, ".", ", or let the simulated lab run on.")
	case len(v.Snap.ToRun()) > 0:
		return waitingWords(v.Snap.ToRun())
	case v.Snap.State == ledger.Paused:
		return "The study is paused. Open it again to ask for more trials."
	case summary.Trials == 0:
		return v.askFor("first")
	case v.Modelless != "":
		return "Without its model the study takes results, and no new trials."
	case countStatus(v.Snap.Trials, ledger.StatusFailed) > 0 && whyNoResults(v.Snap.Trials) != "":
		return design.Capitalised(whyNoResults(v.Snap.Trials)) + ". Find out why, then ask for the next."
	case v.Readout.Version > 0 && len(unread(v.Snap)) > 0:
		missing := unread(v.Snap)
		add := ", or add " + words.Either(len(missing) == 1, "it", "them") + " to one that was made"
		counts := slices.ContainsFunc(v.Snap.Trials, func(t *ledger.Trial) bool { return !t.Excluded })
		return "Measure " + design.Listed(missing, "and") + " in the next trial" + words.Either(counts, add, "") + "."
	case u != nil && u.Readings != nil && *u.Readings <= fewReadings && study.WhyNotAgain(v.Snap, v.Snap.Trial(u.Number)) == "":
		better := words.Either(r != nil && r.Number == u.Number, "", "it looks better, and ")
		return fmt.Sprintf("Repeat trial %d: %s%s would tell whether it can be used.", u.Number, better, design.Count(*u.Readings, "more reading", "more readings"))
	case v.allMade():
		return v.horizonReached() + words.Either(v.ModelStands(), " Finish the study, or go on if there is enough to gain.", " Finish the study, or go on: it has no model yet, and so no answer.")
	}
	return v.askFor("next")
}

// askFor is the advice to ask for the next, or the first, trial.
func (v verdictFacts) askFor(which string) string {
	return "Ask for the " + which + " trial" + words.Either(sampled(v.Snap.Definition), " through the API", "") + "."
}

// viewerStatus says how the study goes on, for those who may only look.
func (v verdictFacts) viewerStatus() string {
	switch waiting := v.Snap.ToRun(); {
	case len(waiting) == 1:
		return fmt.Sprintf("Trial %d waits for results.", waiting[0].Number)
	case len(waiting) > 1:
		return fmt.Sprintf("%d trials wait for results, trial %d for the longest time.", len(waiting), waiting[0].Number)
	case v.Snap.State == ledger.Paused:
		return "The study is paused."
	case len(v.Snap.Trials) == 0:
		return "The first trial has not been asked for."
	case v.allMade():
		return v.horizonReached()
	}
	return "No trial is waiting; the next has not been asked for."
}

// allMade tells whether as many trials as were planned were made.
func (v verdictFacts) allMade() bool { return made(v.Snap) >= v.Snap.Definition.Algorithm.Horizon }

// made returns how many trials were begun, without those that were not run.
func made(snap *ledger.Snapshot) int {
	return lists.Count(snap.Trials, func(t *ledger.Trial) bool { return !notRun(t) })
}

// ofPlanned says how many trials of those planned were made. If all were run, the last one's number
// says it.
func ofPlanned(snap *ledger.Snapshot) string {
	begun, made, planned := len(snap.Trials), made(snap), snap.Definition.Algorithm.Horizon
	switch {
	case begun == 0:
		return fmt.Sprintf("no trials yet, %d planned", planned)
	case made < begun:
		return fmt.Sprintf("%s made, %d planned", design.Count(made, "trial", "trials"), planned)
	case made > planned:
		return fmt.Sprintf("trial %d, %d planned", begun, planned)
	}
	return fmt.Sprintf("trial %d of %d", begun, planned)
}

// horizonReached says that all planned trials were made.
func (v verdictFacts) horizonReached() string {
	return design.Count(v.Snap.Definition.Algorithm.Horizon, "trial was planned, and is made", "trials were planned, and are made") + "."
}

const fewReadings = 10

func waitingWords(waiting []ledger.Trial) string {
	first := waiting[0]
	text := fmt.Sprintf(words.Either(first.Status == ledger.StatusPartial, "Enter the missing results of trial %d", "Run trial %d and enter its results"), first.Number)
	if n := len(waiting) - 1; n > 0 {
		text += "; " + design.Count(n, "more waits", "more wait")
	}
	return text + "."
}

// GainWords says how much better the study could still get, or where that is fetched from if it is
// not computed yet.
func (v Facts) GainWords() templates.Gain {
	switch {
	case v.Modelless != "" || !v.ModelStands():
		return templates.Gain{}
	case !v.Snap.Definition.Foreseeable():
		return templates.Gain{Words: "That depends on what each trial brings with it, so it cannot be said beforehand."}
	case v.Snap.Compiled().WideForSafety():
		return templates.Gain{Words: "How much better it could get cannot be said: for safety, the model of this algorithm is so wide that better settings seem to be anywhere."}
	case !v.Gained:
		return templates.Gain{Later: v.laterPart("gain")}
	}
	return gainOf(v.Snap.Definition, v.Gain, v.Snap.State.Over())
}

// fewestFeasible is the share of draws with settings within every limit below which there are too
// few draws to say where the best of them lies.
const fewestFeasible = 0.1

// gainOf says what the best value may be, and what stopping would risk, or has risked if the study
// is over.
func gainOf(d design.Definition, gain *optimizer.Gain, over bool) templates.Gain {
	within := words.Either(len(d.Constraints) == 0, "possible", "within every limit")
	if gain == nil {
		return templates.Gain{Words: "As far as the model knows, no settings that may be chosen are " + within + ".", None: true}
	}
	show := design.WriteTogether((gain.Best.High-gain.Best.Low)/4, gain.Best.Low, gain.Best.High)
	value := func(x float64) templates.Value { return *newValue(show(x), x) }
	out := templates.Gain{Best: &templates.Range{Low: value(gain.Best.Low), High: value(gain.Best.High), Level: words.Percent(gain.Best.Level), Of: words.Either(limited(d), "the best within the limits", "the best"), Unit: d.Objective.Unit}}
	if len(gain.ChanceLeft) == 0 {
		some := "The chance that any settings are " + within + " is " + words.Percent(gain.Feasible)
		if gain.Feasible < fewestFeasible {
			return templates.Gain{Words: some + ", too little to say how good they would be."}
		}
		if out.Words = "Nothing is recommended" + words.Either(over, "", " yet") + ", so all of that is left to gain."; gain.Feasible <= 0.99 {
			out.Words = some + "; what is said is of the best where there are. " + out.Words
		}
		return out
	}
	stop, left := study.StopNow(gain, *d.Stop), gain.ChanceLeft[0]
	atMost := words.Percent(stop.AtMost)
	if stop.AtMost <= 0.99 {
		up := math.Ceil(100*stop.AtMost-1e-9) / 100 // a bound is rounded up, but not beyond a target that it meets
		if stop.Reached {
			up = min(up, stop.Risk)
		}
		atMost = "up to " + words.InPercent(up) + words.Thin + "%"
	}
	chance := fmt.Sprintf("the chance that more than %s of %s, %s, is left to gain%s is %s. %s risks %s", words.InPercent(stop.Within)+words.Thin+"%",
		words.Either(gain.OfRange, "how far the readings lie apart", "the recommended value"), words.Apart(words.Brief(stop.Within*left.Of), d.Objective.Unit),
		words.Either(limited(d), ", or that a limit would be broken,", ""), words.Percent(stop.Chance), words.Either(over, "To have stopped", "Stopping now"), atMost)
	target := words.InPercent(stop.Risk) + words.Thin + "%."
	out.Words = design.Capitalised(chance) + "; the target is " + target
	if out.Enough = stop.Reached; out.Enough {
		out.Words = "Little is left to gain: " + chance + ", no more than the target of " + target
	}
	return out
}

// Status is the strip at the top of the page.
func (v Facts) Status() templates.Status {
	summary := v.Snap.Summary()
	strip := templates.Status{Study: v.Head, Still: v.At > 0 || v.Paper, Ledger: design.Capitalised(v.ledgerLine()), Trial: ofPlanned(v.Snap)}
	if summary.Waiting > 0 {
		strip.Waiting = strconv.Itoa(summary.Waiting) + " waiting"
		strip.Oldest = v.stamp(*summary.OldestWaiting)
	}
	if v.Head.Operates && !strip.Still {
		strip.Found = study.Health(v.Snap)
	}
	strip.Doubtful, strip.MoreDoubtful = v.inDoubt()
	if feasible, known := v.Snap.Feasibility(); known > 0 && limited(v.Snap.Definition) {
		strip.Feasible = strconv.Itoa(feasible) + " of " + strconv.Itoa(known) + " within every limit"
	}
	switch {
	case summary.Trials == 0 || v.Working:
	case v.Modelless != "":
		strip.Notes = append(study.Notes(v.Snap), v.Modelless)
	default:
		strip.Notes = v.Readout.Notes
	}
	return strip
}

// inDoubt lists the first trials with an unconfirmed doubt; more says how many others there are.
func (v Facts) inDoubt() (shown []templates.Doubtful, more string) {
	all := lists.Pick(v.Snap.Trials, func(t *ledger.Trial) (Tried, bool) { return v.Of(t), len(t.Doubts) > 0 && !t.Excluded })
	if n := len(all) - mostInDoubt; n > 0 {
		all, more = all[:mostInDoubt], design.Count(n, "more trial is", "more trials are")+" in doubt; "+words.Either(n == 1, "its page says why.", "their pages say why.")
	}
	return lists.Map(all, Tried.inDoubt), more
}

// mostInDoubt is how many trials in doubt are shown at the top of the page.
const mostInDoubt = 3

// Line is a study in the list of studies.
func Line(one ledger.Summary, now time.Time) templates.StudyLine {
	line := templates.StudyLine{ID: one.ID, Name: one.Name, State: string(one.State), Trials: design.Count(one.Trials, "trial", "trials"), Algorithm: Algorithm(one.Algorithm).Title,
		Updated: Stamp(one.UpdatedAt, now), Oldest: OptionalStamp(one.OldestWaiting, now), Simulated: one.SimulatedLab != ""}
	if one.Waiting > 0 {
		line.Waiting = strconv.Itoa(one.Waiting) + " waiting"
	}
	if one.Best != nil {
		line.Best = fmt.Sprintf("best reading of %s %s at trial\u00a0%d", design.Name(one.Best.Metric), words.Quantity(one.Best.Value, one.Best.Unit), one.Best.Number)
	}
	line.Limits = lists.Map(one.Limits, func(limit ledger.Limit) string {
		return design.Name(limit.Metric) + " " + words.Sign(limit.Op) + words.Thin + words.Quantity(limit.Threshold, limit.Unit)
	})
	if one.Known > 0 && len(one.Limits) > 0 {
		line.Feasible = fmt.Sprintf("%d of %d within every limit", one.Feasible, one.Known)
		line.FeasibleMark = string(words.Either(one.Feasible == 0, chart.Violated, chart.Feasible))
	}
	return line
}

// SimulatedAtOnce is how many trials the simulated lab runs at one press: a twentieth of those
// planned, at least 5 and at most 25.
func SimulatedAtOnce(d design.Definition) int { return min(max(5, d.Algorithm.Horizon/20), 25) }

// Lab is the panel of a study's simulated lab, empty where a real one measures.
func (v Facts) Lab() templates.Lab {
	d := v.Snap.Definition
	panel := templates.Lab{Study: v.Head, Problem: d.SimulatedLab, Going: v.Run.Going, AtOnce: SimulatedAtOnce(d)}
	lab := v.lab()
	if lab == nil {
		return panel
	}
	panel.Summary = lab.Summary()
	noise := lab.StdDev()
	panel.Noise = lists.Pick(tableMetrics(d), func(metric string) (string, bool) {
		return design.Name(metric) + " ±" + words.Thin + words.With(words.Brief(noise[metric]), d.Unit(metric)), noise[metric] > 0
	})
	wanted := design.Count(int(v.Run.Wanted), "trial", "trials")
	switch {
	case v.Run.Wanted == 0:
	case v.Run.Going:
		panel.Text = fmt.Sprintf("It is at work: %d of %s read.", v.Run.Done, wanted)
	case v.Run.Failed != nil:
		panel.Text = fmt.Sprintf("It ended after %d of %s: %s", v.Run.Done, wanted, v.Run.Failed)
	case v.Run.Stopped:
		panel.Text = fmt.Sprintf("It was stopped after %d of %s.", v.Run.Done, wanted)
	default:
		panel.Text = fmt.Sprintf("It has run %s.", wanted)
	}
	return panel
}

// ModelPart is the part of a page that says how far the computation of the model is, and asks again
// until it has ended.
const ModelPart = "model"

// Work says how far the computation of the model is; it is empty for a study that is not Long.
func (v Facts) Work() templates.Work {
	if !v.Long() {
		return templates.Work{}
	}
	work := templates.Work{Part: v.laterPart(ModelPart), Follows: v.Parts, Going: v.Working, Whole: withQuery(v.URL, v.atMoment(url.Values{"whole": {"yes"}}))}
	if v.Working {
		work.Words = "The model of " + design.Count(len(v.Snap.Trials), "trial", "trials") + " is being worked out" + words.ForSoLong(v.Now.Sub(v.Since)) + ". What it says will appear here by itself."
	}
	return work
}
