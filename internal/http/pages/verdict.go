package pages

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/web/templates"
)

// gainAtOnce is up to how many trials the page itself says how much could still be gained; with more, that is fetched once the page stands.
const gainAtOnce = 150

// verdict is the answer of the study: what to use, how sure that is, and what could still be gained.
func (s *Site) verdict(ctx context.Context, v visit) (templates.Verdict, error) {
	if len(v.snap.Trials) == 0 {
		return v.verdictWithout(v.untriedWords()), nil
	}
	if v.working {
		return v.verdictWithout("The answer comes with the model, which is being worked out."), nil
	}
	readout, err := s.Studies.StateOf(ctx, v.snap)
	if sentence := withoutModel(err); sentence != "" {
		return v.verdictWithout(sentence), nil
	}
	verdict := v.emptyVerdict()
	if err != nil {
		return verdict, err
	}
	v.fillVerdict(&verdict, readout)
	if v.modelStands() {
		verdict.Gain, err = s.gain(ctx, v, !v.fetches() || len(v.snap.Trials) <= gainAtOnce)
		if verdict.Gain.Enough && verdict.Next == askNext {
			verdict.Next = "You could stop here: little is left to gain. Or ask for the next trial."
		}
	}
	return verdict, err
}

func (v visit) untriedWords() string {
	if v.over() {
		return "Nothing was tried."
	}
	return "Nothing has been tried yet."
}

// emptyVerdict is a verdict without anything that the model says.
func (v visit) emptyVerdict() templates.Verdict {
	verdict := templates.Verdict{Study: v.head, Heading: "The answer so far", Lucky: v.lucky()}
	if v.over() {
		verdict.Heading = "The answer"
	}
	return verdict
}

// verdictWithout is a verdict that says why there is no answer, and how the limits stand by the readings alone.
func (v visit) verdictWithout(why string) templates.Verdict {
	verdict := v.emptyVerdict()
	verdict.None, verdict.Next, verdict.Limits = why, v.toDo(study.Readout{}), v.limitLines(study.Readout{})
	return verdict
}

// fillVerdict says what the model makes of what has been read.
func (v visit) fillVerdict(verdict *templates.Verdict, readout study.Readout) {
	verdict.None = v.whyNone(readout)
	if verdict.None != "" {
		readout.Recommendation, readout.Undecided = nil, v.undecided(readout)
	}
	verdict.Limits, verdict.Next = v.limitLines(readout), v.toDo(readout)
	verdict.Risk = riskOf("any limit", readout.Risk)
	if r := readout.Recommendation; r != nil {
		verdict.Answer, verdict.Doubt = v.answer(*r), v.driftDoubt(readout)
		if len(v.snap.Trial(r.Number).Doubts) > 0 {
			verdict.Doubt = strings.TrimSpace(fmt.Sprintf("That rests on trial %d, which is in doubt. %s", r.Number, verdict.Doubt))
		}
		if works := readout.Works; works.Failed > 0 && works.Chance != nil {
			verdict.Answer.Works = &templates.Value{Text: percent(*works.Chance), Raw: raw(*works.Chance)}
		}
	} else {
		verdict.Closest = v.closest(readout)
	}
	switch u, r := readout.Undecided, readout.Recommendation; {
	case u == nil:
	case r != nil && u.Number == r.Number:
		verdict.Unsure = more(v.snap.Definition, *u)
	default:
		verdict.Undecided, verdict.More = v.answer(u.Recommendation), more(v.snap.Definition, *u)
	}
}

// undecided is what the model has not decided on; nothing while it does not stand.
func (v visit) undecided(readout study.Readout) *study.Undecided {
	if !v.modelStands() {
		return nil
	}
	return readout.Undecided
}

// whyNone says why nothing can be recommended, "" when something is.
func (v visit) whyNone(readout study.Readout) string {
	nothing := "Nothing can be recommended yet"
	if v.over() {
		nothing = "Nothing could be recommended"
	}
	missing := v.unread()
	switch {
	case len(missing) > 0 && v.fruitless() != "":
		return nothing + ": " + v.fruitless() + "."
	case len(missing) > 0:
		return nothing + ": " + listed(missing) + " " + isOrAre(len(missing)) + " without a reading."
	case !v.modelStands() && v.over():
		return nothing + ": the study ended before the model had begun."
	case !v.modelStands():
		return nothing + ": the model begins when the first few trials have shown how large the values are."
	case readout.Recommendation == nil && len(v.snap.Definition.Constraints) == 0:
		return nothing + "."
	case readout.Recommendation == nil:
		return nothing + ": no settings tried are more likely to stay within every limit than to break one."
	}
	return ""
}

// over tells whether no further trial will be asked for.
func (v visit) over() bool { return v.snap.State == ledger.Finished || v.snap.State == ledger.Archived }

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func itOrThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// listed joins names as a sentence does.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// unread lists the modelled metrics of which no included trial has a reading. Of them nothing is known but the prior, which is not shown.
func (v visit) unread() []string {
	var missing []string
	for _, metric := range modelled(v.snap.Definition) {
		if !v.snap.HasReading(metric) {
			missing = append(missing, metric)
		}
	}
	return missing
}

func (v visit) readEverything() bool { return len(v.unread()) == 0 }

// modelStands tells whether every metric has readings and a model in their units: before its first fit, a model that standardises has nothing but
// its prior to say.
func (v visit) modelStands() bool {
	return v.readEverything() && !slices.ContainsFunc(modelled(v.snap.Definition), func(metric string) bool { return !v.scaled(metric) })
}

// scaled tells whether a metric's model knows how large its values are.
func (v visit) scaled(metric string) bool {
	return !v.snap.Compiled().Config.Standardize || slices.ContainsFunc(v.snap.Fits, func(fit ledger.FittedData) bool { _, in := fit.Metrics[metric]; return in })
}

// lucky is the best single reading within the limits.
func (v visit) lucky() *templates.Lucky {
	best := v.snap.Best()
	if best == nil {
		return nil
	}
	o := v.snap.Definition.Objective
	value := best.Metrics[o.Metric].Value
	return &templates.Lucky{Number: best.Number, URL: trialURL(v.snap.ID, best.Number), What: v.luckyWords(), Value: templates.Value{Text: quantity(value, o.Unit), Raw: raw(value)}}
}

func (v visit) luckyWords() string {
	word := "Highest"
	if v.snap.Definition.Objective.Direction == "minimize" {
		word = "Lowest"
	}
	if len(v.snap.Definition.Constraints) == 0 {
		return word + " single reading"
	}
	return word + " single reading within the limits"
}

// raw is a number as programs read it, equal to the API's to the bit.
func raw(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// answer is what the model says of settings that were tried.
func (v visit) answer(r study.Recommendation) *templates.Answer {
	d := v.snap.Definition
	answer := &templates.Answer{Number: r.Number, URL: trialURL(v.snap.ID, r.Number), Settings: settingsOf(d, r.Parameters), Copy: copyText(d, r.Parameters)}
	for _, metric := range v.metricsShown() {
		answer.Expected = append(answer.Expected, v.expected(metric, r.Believed))
	}
	if len(d.Constraints) > 0 {
		answer.Chance = &templates.Value{Text: percent(r.FeasibilityProbability), Raw: raw(r.FeasibilityProbability)}
	}
	return answer
}

// metricsShown are the modelled metrics with a reading, the objective first.
func (v visit) metricsShown() []string {
	shown := []string{v.snap.Definition.Objective.Metric}
	for _, metric := range modelled(v.snap.Definition) {
		if metric != shown[0] {
			shown = append(shown, metric)
		}
	}
	return slices.DeleteFunc(shown, func(metric string) bool { return !v.snap.HasReading(metric) || !v.scaled(metric) })
}

// expected is what the model expects of a metric somewhere, all to the digits that its band means.
func (v visit) expected(metric string, b study.Believed) templates.Expected {
	d := v.snap.Definition
	unit := unitOf(d, metric)
	show := alike(b.SD[metric])
	value := func(x float64) templates.Value { return templates.Value{Text: show(x), Raw: raw(x)} }
	return templates.Expected{Metric: metric, Unit: unit, Mean: value(b.Mean[metric]), Low: value(b.Lower95[metric]), High: value(b.Upper95[metric]),
		ReadingSD: templates.Value{Text: alike(b.ReadingSD[metric])(b.ReadingSD[metric]), Raw: raw(b.ReadingSD[metric])}, Objective: metric == d.Objective.Metric}
}

// limitLines say how each limit stands.
func (v visit) limitLines(readout study.Readout) []templates.LimitLine {
	var lines []templates.LimitLine
	for _, c := range v.snap.Definition.Constraints {
		line := templates.LimitLine{Name: c.Name, Asks: limitText(c), Mark: string(templates.Feasible)}
		if c.Name != c.Metric {
			line.Asks = c.Metric + " " + line.Asks
		}
		broken, known := v.brokenIn(c)
		line.Count, line.NoReading = "broken in "+strconv.Itoa(broken)+" of "+count(known, "trial", "trials"), known == 0
		if broken > 0 {
			line.Mark = string(templates.Violated)
		}
		if known == 0 {
			line.Count, line.Mark = "no reading yet", string(templates.Unknown)
			lines = append(lines, line)
			continue
		}
		if now, there := readout.Violation[c.Name]; there && now.Hard > 0 {
			line.Violation = &templates.Value{Text: design.WithUnit(rough(now.Hard), c.Unit, thin), Raw: raw(now.Hard)}
			if now.Rounds > 1 {
				line.Largest = &templates.Value{Text: design.WithUnit(rough(now.Largest), c.Unit, thin), Raw: raw(now.Largest)}
			}
		}
		line.Risk = riskOf("this limit", readout.Violation[c.Name].Risk)
		line.Headroom, line.Room = v.room(c, readout.Recommendation)
		lines = append(lines, line)
	}
	return lines
}

// riskOf is the account of the risk that was asked for with a limit, nil where none was.
func riskOf(limit string, r *study.Risk) *templates.Risk {
	if r == nil {
		return nil
	}
	value := func(text string, x float64) templates.Value { return templates.Value{Text: text, Raw: raw(x)} }
	risk := &templates.Risk{Words: fmt.Sprintf("%s of the %s that the model chooses may break %s", percent(r.Most), count(r.Trials, "trial", "trials"), limit),
		Allowed: value(brief(r.Allowed), r.Allowed), Expected: value(brief(r.Expected), r.Expected), SoFar: value(strconv.Itoa(r.SoFar), float64(r.SoFar))}
	if r.Now < r.Most {
		risk.Next = "The next may take a chance of " + percent(r.Now) + ", since more than that share were beyond it so far."
	}
	return risk
}

// brokenIn counts the trials that broke a limit as it stands now, and those of which that is known.
func (v visit) brokenIn(c design.Constraint) (n, known int) {
	for _, t := range v.snap.Trials {
		if m, there := t.Metrics[c.Metric]; there {
			known++
			if broken(c, m.Value) {
				n++
			}
		}
	}
	return n, known
}

// room is how far the recommended settings are expected to stay from a limit.
func (v visit) room(c design.Constraint, r *study.Recommendation) (*templates.Value, string) {
	if r == nil {
		return nil, ""
	}
	if mean, there := r.Mean[c.Metric]; there && v.snap.HasReading(c.Metric) {
		room := 0 - c.Excess(mean)
		return &templates.Value{Text: design.WithUnit(alike(r.SD[c.Metric])(math.Abs(room)), c.Unit, thin), Raw: raw(room)}, sideWords(room) + ", as the model expects"
	}
	if m, there := v.snap.Trial(r.Number).Metrics[c.Metric]; there {
		room := 0 - c.Excess(m.Value)
		return &templates.Value{Text: quantity(math.Abs(room), c.Unit), Raw: raw(room)}, sideWords(room)
	}
	return nil, ""
}

func sideWords(room float64) string {
	if room < 0 {
		return "beyond the limit"
	}
	return "inside"
}

// more says what would tell whether undecided settings can be recommended.
func more(d design.Definition, u study.Undecided) string {
	text := "Not yet known to be within the limit: "
	if len(d.Constraints) > 1 {
		text = "Not yet known to be within every limit: "
	}
	if u.Readings == nil {
		return text + "not even a thousand more readings there would tell, should they come out as expected."
	}
	return text + count(*u.Readings, "more reading", "more readings") + " there would tell, should they come out as expected."
}

// closest is the trial that breaks the limits least, and which of them binds; nil when some trial breaks none.
func (v visit) closest(readout study.Readout) *templates.Answer {
	if feasible, known := v.snap.Feasibility(); feasible > 0 || known == 0 {
		return nil
	}
	d := v.snap.Definition
	var nearest *ledger.Trial
	var binding design.Constraint
	least := math.Inf(1)
	for _, t := range v.snap.Trials {
		if c, excess, known := v.worst(t, readout); known && !t.Excluded && excess < least {
			nearest, binding, least = t, c, excess
		}
	}
	if nearest == nil {
		return nil
	}
	m := nearest.Metrics[binding.Metric]
	words := fmt.Sprintf("%s binds: %s, %s beyond its limit of %s.", capitalised(binding.Name), v.measured(binding.Metric, m),
		quantity(rounded(binding.Excess(m.Value), m.Value), binding.Unit), quantity(binding.Threshold, binding.Unit))
	if objective, told := nearest.Metrics[d.Objective.Metric]; told && binding.Metric != d.Objective.Metric {
		words += fmt.Sprintf(" %s was %s.", capitalised(d.Objective.Metric), v.measured(d.Objective.Metric, objective))
	}
	return &templates.Answer{Number: nearest.Number, URL: trialURL(v.snap.ID, nearest.Number), Settings: settingsOf(d, nearest.Parameters),
		Copy: copyText(d, nearest.Parameters), Words: words}
}

// worst is the limit that a trial breaks most, excesses being measured in the scale of what has been read of each metric.
func (v visit) worst(t *ledger.Trial, readout study.Readout) (binding design.Constraint, excess float64, known bool) {
	excess = math.Inf(-1)
	for _, c := range v.snap.Definition.Constraints {
		m, there := t.Metrics[c.Metric]
		if !there {
			return c, 0, false
		}
		scale := 1.0
		if state, modelled := readout.Metrics[c.Metric]; modelled && state.Scale > 0 {
			scale = state.Scale
		}
		if g := c.Excess(m.Value) / scale; g > excess {
			binding, excess = c, g
		}
	}
	return binding, excess, len(v.snap.Definition.Constraints) > 0
}

// rounded takes away what only the subtraction of two decimal numbers put into a difference.
func rounded(difference, of float64) float64 {
	if difference == 0 || of == 0 {
		return difference
	}
	return design.Rounded(difference, 9-design.ExponentOf(math.Max(math.Abs(of), math.Abs(difference))))
}

// toDo says what to do next.
func (v visit) toDo(readout study.Readout) string {
	summary := v.snap.Summary()
	switch {
	case !v.head.Operates && !v.over():
		return v.watching(summary.Waiting)
	case v.snap.State == ledger.Finished && readout.Recommendation != nil:
		return "The study is finished: these settings are its answer."
	case v.snap.State == ledger.Finished:
		return "The study is finished without settings that it could recommend."
	case v.snap.State == ledger.Archived:
		return "The study is archived; it can be copied as a new one."
	case summary.Trials == 0:
		return "Ask for the first trial. The first few spread over the space, then the model chooses."
	case summary.Waiting > 0:
		return v.waitingWords(summary.Waiting)
	case v.snap.State == ledger.Paused:
		return "The study is paused. Open it again to ask for more trials."
	case v.ended(ledger.StatusFailed) > 0 && v.fruitless() != "":
		return capitalised(v.fruitless()) + ". Find out why, then ask for the next."
	case readout.Version > 0 && !v.readEverything():
		return "Measure " + listed(v.unread()) + " in the next trial, or add " + itOrThem(len(v.unread())) + " to one that was made."
	case few(readout.Undecided) && readout.Recommendation != nil && readout.Recommendation.Number == readout.Undecided.Number:
		return fmt.Sprintf("Repeat trial %d: %s would tell whether it can be used.", readout.Undecided.Number, count(*readout.Undecided.Readings, "more reading", "more readings"))
	case few(readout.Undecided):
		return fmt.Sprintf("Repeat trial %d: it looks better, and %s would tell whether it can be used.", readout.Undecided.Number, count(*readout.Undecided.Readings, "more reading", "more readings"))
	case summary.Trials >= v.snap.Definition.Algorithm.Horizon:
		return fmt.Sprintf("All %s planned are made. Finish the study, or go on if there is enough to gain.", count(v.snap.Definition.Algorithm.Horizon, "trial", "trials"))
	}
	return askNext
}

// few tells whether a few readings would tell whether undecided settings can be used.
func few(u *study.Undecided) bool { return u != nil && u.Readings != nil && *u.Readings <= fewReadings }

// askNext is what to do where nothing else is.
const askNext = "Ask for the next trial."

// watching says how the study goes on, for those who may only look.
func (v visit) watching(waiting int) string {
	switch {
	case waiting == 1:
		return fmt.Sprintf("Trial %d waits for results.", v.snap.WaitingTrials()[0].Number)
	case waiting > 1:
		return fmt.Sprintf("%d trials wait for results, trial %d for the longest time.", waiting, v.snap.WaitingTrials()[0].Number)
	case v.snap.State == ledger.Paused:
		return "The study is paused."
	case len(v.snap.Trials) == 0:
		return "The first trial has not been asked for."
	}
	return "No trial is waiting; the next has not been asked for."
}

// fewReadings is how many more readings are worth advising.
const fewReadings = 10

func (v visit) waitingWords(waiting int) string {
	first := v.snap.WaitingTrials()[0]
	text := fmt.Sprintf("Run trial %d and enter its results", first.Number)
	if first.Status == ledger.StatusPartial {
		text = fmt.Sprintf("Enter the missing results of trial %d", first.Number)
	}
	if waiting > 1 {
		text += fmt.Sprintf("; %s", count(waiting-1, "more waits", "more wait"))
	}
	return text + "."
}

// gain is how much better it could still get.
func (s *Site) gain(ctx context.Context, v visit, now bool) (templates.Gain, error) {
	if !v.modelStands() {
		return templates.Gain{}, nil
	}
	if !now {
		return templates.Gain{Later: v.laterPart("gain")}, nil
	}
	if _, missing := v.snap.Compiled().Known(design.Brought{}); len(missing) > 0 {
		return templates.Gain{Words: "That depends on what each trial brings with it, so it cannot be said beforehand."}, nil
	}
	gain, err := s.Studies.GainOf(ctx, v.snap)
	if err != nil {
		return templates.Gain{}, err
	}
	return v.gainOf(gain), nil
}

// gainOf says what the best may be, and what it would risk to stop.
func (v visit) gainOf(gain *study.Gain) templates.Gain {
	d := v.snap.Definition
	within := "within every limit"
	if len(d.Constraints) == 0 {
		within = "possible"
	}
	if gain == nil {
		return templates.Gain{Words: "As far as the model knows, no settings are " + within + "."}
	}
	show := alike((gain.Best.High - gain.Best.Low) / 4)
	value := func(x float64) templates.Value { return templates.Value{Text: show(x), Raw: raw(x)} }
	out := templates.Gain{Best: &templates.Range{Low: value(gain.Best.Low), High: value(gain.Best.High), Level: percent(gain.Best.Level), Unit: d.Objective.Unit}}
	if len(gain.ChanceLeft) == 0 {
		out.Words = "Nothing is recommended yet, so all of that is left to gain."
		return out
	}
	stop, left := gain.Stop(*d.Stop), gain.ChanceLeft[0]
	atMost := percent(stop.AtMost)
	if stop.AtMost <= 0.99 {
		atMost = "up to " + atMost
	}
	chance := fmt.Sprintf("the chance that more than %s of what is recommended, %s, is left is %s. Stopping now risks %s", inPercent(stop.Within)+thin+"%",
		design.WithUnit(brief(stop.Within*left.Of), d.Objective.Unit, thin), percent(stop.Chance), atMost)
	target := inPercent(stop.Risk) + thin + "%."
	out.Words = capitalised(chance) + "; the target is " + target
	if out.Enough = stop.Reached; out.Enough {
		out.Words = "Little is left to gain: " + chance + ", no more than the target of " + target
	}
	return out
}
