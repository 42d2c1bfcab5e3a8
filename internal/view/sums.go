package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/lists"
	"headroom/internal/optimizer"
	"headroom/internal/study"
	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
	"headroom/web/templates"
)

// progressPanels makes the panels over trials. Its lists, except notes, have an entry for each
// trial.
type progressPanels struct {
	Facts
	limitsThen [][]design.Constraint // which each trial's readings are judged by
	bestSoFar  []int                 // number of the best trial up to this one, 0 for none
	tallies    [][]optimizer.Tally   // violation of each limit up to this trial
	// Empty unless a simulated lab knows the truth: the optimum, and the means up to this trial of
	// its values and of its regret.
	trueOptimum, trueAverage, trueMeanRegret []float64
	trueRegret                               []float64 // sum over the trials that the algorithm chose
	notes                                    []string  // sentences under the chart being made
}

func (v Facts) progressPanels() *progressPanels {
	p := &progressPanels{Facts: v, limitsThen: v.Snap.LimitsOfReadings(), bestSoFar: v.Snap.BestSoFar(), tallies: v.Snap.ViolationSoFar()}
	p.computeTruth()
	return p
}

// labOfProblem is the simulated laboratory that answers, if the study has always had the limits of
// its problem, so that the problem's optimum is the study's; else nil.
func (p *progressPanels) labOfProblem() design.SimulatedLab {
	d, lab := p.Snap.Definition, p.lab()
	if lab == nil {
		return nil
	}
	asked := map[int][]design.Constraint{} // by the trial after which they held; the last of several
	for _, revision := range p.Snap.Revisions {
		asked[revision.After] = revision.Limits
	}
	for _, d.Constraints = range asked {
		if !d.IsProblemOf(lab) {
			return nil
		}
	}
	return lab
}

// computeTruth computes for each trial t, where the truth is known,
//
//	f*_t, (1/t) Σ_{s≤t} f_s(x_s), and R(t)/t = (1/t) Σ_{s≤t} (f*_s − f_s(x_s)),
//
// and the sum of f*_s − f_s(x_s) over the trials that the algorithm chose and that count. Where
// limits were broken, regret may be negative.
func (p *progressPanels) computeTruth() {
	lab := p.labOfProblem()
	if lab == nil {
		return
	}
	objective, sum, reached, count, chosen := p.Snap.Definition.Objective.Metric, 0.0, 0.0, 0.0, 0.0
	for _, t := range p.Snap.Trials {
		most, had := lab.Truth(t.Number, lab.Best(t.Number))[objective], lab.Truth(t.Number, t.Parameters)[objective]
		if behind := most - had; design.Finite(behind) { // there is no truth below absolute zero
			sum, reached, count = sum+behind, reached+had, count+1
			if t.Freely() && !t.Excluded {
				chosen += behind
			}
		}
		p.trueOptimum, p.trueRegret = append(p.trueOptimum, most), append(p.trueRegret, chosen)
		p.trueAverage, p.trueMeanRegret = append(p.trueAverage, reached/count), append(p.trueMeanRegret, sum/max(count, 1))
	}
}

func (p *progressPanels) trialsPerBar() int { return max(1, (len(p.Snap.Trials)+mostBars-1)/mostBars) }

func (p *progressPanels) addNotes(sentences ...string) {
	p.notes = append(p.notes, lists.Pick(sentences, func(sentence string) (string, bool) { return sentence, sentence != "" })...)
}

// dense tells whether there are too many trials for a mark each.
func (p *progressPanels) dense() bool { return len(p.Snap.Trials) > mostMarks }

// runningSum is a running figure: at gives its value after trial i+1, nil where that is not known.
type runningSum struct {
	name  string
	style chart.Style
	at    func(i int) *float64
}

// line draws a running sum as steps that hold until the next trial, and returns the values drawn.
func (p *progressPanels) line(s runningSum) (line chart.Trace, values []float64) {
	line = chart.Trace{Name: s.name, Style: s.style}
	for i := range p.Snap.Trials {
		if y := s.at(i); y != nil && !p.omitted(i) {
			line.Add(i+1, *y)
			values = append(values, *y)
		}
	}
	p.extend(&line)
	return line, values
}

// extend lets the last value of a line hold until the next trial.
func (p *progressPanels) extend(line *chart.Trace) {
	if n := len(line.X); n > 0 {
		line.Add(len(p.Snap.Trials)+1, line.Y[n-1])
	}
}

// omitted tells whether a running sum is drawn without a point at trial i+1: with many trials, only
// every few get one.
func (p *progressPanels) omitted(i int) bool {
	n := len(p.Snap.Trials)
	return p.dense() && i%max(1, n/mostBars) != 0 && i+1 < n
}

// sumPanel draws running sums, with 0 in its range.
func (p *progressPanels) sumPanel(title string, sums ...runningSum) chart.Panel {
	var lines []chart.Trace
	all := []float64{0}
	for _, s := range sums {
		line, values := p.line(s)
		lines, all = append(lines, line), append(all, values...)
	}
	within := robustRange(nil, all)
	return chart.Panel{Title: title, Height: lesserHeight, Y: chart.Axis{Range: within}, Traces: nonEmpty(lines...)}
}

// violationPanel is the cumulative violation of a limit.
func (p *progressPanels) violationPanel(c design.Constraint) (panel chart.Panel, said string) {
	now := p.Readout.Violation[c.Name]
	hard, soft, estimate, bound := p.violationSums(c)
	lines := []runningSum{estimate, hard, soft}
	if !boundFarAway(now) {
		lines = slices.Insert(lines, 0, bound)
	}
	return p.sumPanel(design.Capitalised(c.Name)+": "+words.AxisName("cumulative violation", design.UnitApart(c.Unit)), lines...), p.violationCaption(c, now)
}

// violationSums are the cumulative violation of a limit, hard and soft by the readings, the model's
// estimate of it, and its bound.
func (p *progressPanels) violationSums(c design.Constraint) (hard, soft, estimate, bound runningSum) {
	out, estimated := func(i int) study.ViolationOut { return p.History[i].Violation[c.Name] }, p.violationEstimate(c)
	return runningSum{"violation so far (hard)", chart.Fifth, func(i int) *float64 { return new(out(i).Hard) }},
		runningSum{"with margin paying back (soft)", chart.Second, func(i int) *float64 { return new(out(i).Soft) }},
		runningSum{"model’s estimate of it", chart.Estimate, func(i int) *float64 { return estimated(out(i)) }},
		runningSum{"algorithm’s bound", chart.Bound, func(i int) *float64 { return out(i).Bound }}
}

// violationEstimate returns a function that reads the model's estimate of a limit's violation, nil
// where no model of it stands.
func (p *progressPanels) violationEstimate(c design.Constraint) func(study.ViolationOut) *float64 {
	modelled, scale := !c.Given() && p.ModelStands(), p.Readout.Metrics[c.Metric].Scale
	return func(out study.ViolationOut) *float64 {
		if !modelled || out.Estimated == nil {
			return nil
		}
		return new(words.Unsubtracted(*out.Estimated, scale))
	}
}

func (p *progressPanels) violationCaption(c design.Constraint, now study.ViolationOut) string {
	_, known := countBroken(p.Snap.Trials, c)
	amount := func(x float64) string { return words.RoughlyApart(x, c.Unit) }
	caption := fmt.Sprintf("Violation of %s: none of %s went beyond the limit of %s.", design.Name(c.Name), design.Count(known, "reading", "readings"), words.Quantity(c.Threshold, c.Unit))
	if now.Hard > 0 {
		caption = fmt.Sprintf("Violation of %s: %d of %s went beyond the limit of %s, by %s in sum, %s per reading, at most %s in one (hard); counting margin against it leaves %s (soft).",
			design.Name(c.Name), now.Rounds, design.Count(known, "reading", "readings"), words.Quantity(c.Threshold, c.Unit), amount(now.Hard), amount(now.Hard/float64(max(1, known))), amount(now.Largest), amount(now.Soft))
	}
	if estimate := p.violationEstimate(c)(now); estimate != nil {
		caption += fmt.Sprintf(" The model, allowing for noise, estimates %s.", amount(*estimate))
	}
	if now.Bound != nil {
		caption += fmt.Sprintf(" The algorithm’s bound, on %s, is %s (%s).", p.boundedTrials(), amount(*now.Bound), *now.BoundWhy)
		if boundFarAway(now) {
			caption += " It is too far away to be drawn beside them."
		}
		caption = strings.TrimSpace(caption + " " + boundLeftWords(now, c.Unit))
	}
	return caption
}

func boundLeftWords(now study.ViolationOut, unit string) string {
	switch {
	case now.Left == nil:
		return ""
	case *now.Left < 0:
		return fmt.Sprintf("Left under it: nothing; the readings, noise included, are beyond it by %s.", words.RoughlyApart(-*now.Left, unit))
	}
	return fmt.Sprintf("Left under it: %s.", words.RoughlyApart(*now.Left, unit))
}

// farFactor is how many times larger than everything else something has to be to be left out of a
// chart that it would flatten.
const farFactor = 10

// boundFarAway tells whether the bound on a violation is too large to be drawn beside it.
func boundFarAway(now study.ViolationOut) bool {
	return now.Bound != nil && *now.Bound > farFactor*max(now.Hard, now.Soft)
}

// regretPanel is the bound on the cumulative regret of the algorithm's own trials, and that regret
// where the truth is known. It has no traces if there is no bound.
func (p *progressPanels) regretPanel() (panel chart.Panel, said string) {
	now := p.Readout.Regret
	if now == nil || now.Bound == nil {
		return panel, ""
	}
	far := len(p.trueRegret) > 0 && *now.Bound > farFactor*slices.Max(p.trueRegret)
	return p.sumPanel(design.Capitalised(p.Snap.Definition.Objective.Metric)+": "+words.AxisName("cumulative regret", design.UnitApart(p.Snap.Definition.Objective.Unit)),
		runningSum{"algorithm’s bound", chart.Bound, func(i int) *float64 {
			if r := p.History[i].Regret; r != nil && !far {
				return r.Bound
			}
			return nil
		}},
		runningSum{"regret so far, in truth", chart.Sixth, func(i int) *float64 {
			if i < len(p.trueRegret) {
				return &p.trueRegret[i]
			}
			return nil
		}}), p.regretCaption(*now, far)
}

// regretCaption says what is bounded, by how much and on what condition, and the true regret if
// known.
func (p *progressPanels) regretCaption(now study.RegretOut, far bool) string {
	unit, last := p.Snap.Definition.Objective.Unit, len(p.trueRegret)-1
	caption := fmt.Sprintf("Regret is how far trials are behind the best that can be had%s, in sum. Over %s, its bound is %s (%s).",
		words.Either(limited(p.Snap.Definition), " within the limits", ""), p.boundedTrials(), words.RoughlyApart(*now.Bound, unit), now.BoundWhy)
	if slices.ContainsFunc(p.Snap.Compiled().Config.Costs, func(c optimizer.Cost) bool { return c.Margin > 0 }) {
		caption += " The bound counts from the best that keeps the margins too."
	}
	if last >= 0 {
		caption += fmt.Sprintf(" In truth, which only the simulated lab knows, it is %s.", words.RoughlyApart(p.trueRegret[last], unit))
	}
	if far {
		caption += " The bound is too far away to be drawn beside it."
	}
	return caption
}

// multiplierPanel shows the multipliers of some limits. It has no traces if there are none.
func (p *progressPanels) multiplierPanel(limits []int) (panel chart.Panel, notes []string) {
	panel = chart.Panel{Title: "Price of breaking a limit (multiplier)", Height: lesserHeight, Traces: []chart.Trace{}}
	var all []float64
	if len(limits) > len(lineStyles) { // only the largest are told apart
		limits = slices.SortedStableFunc(slices.Values(limits), func(a, b int) int { return cmp.Compare(p.priceNow(b), p.priceNow(a)) })
	}
	for _, j := range limits {
		c := p.Snap.Definition.Constraints[j]
		now, priced := p.Readout.Multipliers[c.Name]
		if !priced {
			continue
		}
		trace := chart.Trace{Name: "multiplier of " + c.Name, Style: lineStyle(chart.Sixth, len(panel.Traces))}
		path := append(lists.Map(p.History, func(row study.HistoryRow) float64 { return row.Multipliers[c.Name] }), now) // used by each decision, and by the next
		for i, price := range path {
			if i == 0 || i == len(path)-1 || price != path[i-1] || price != path[i+1] {
				trace.Add(i+1, price)
			}
		}
		all = append(all, path...)
		panel.Traces = append(panel.Traces, trace)
		notes = append(notes, design.OpeningName(c.Name)+": "+multiplierWords(path, p.violationsByRound(c, path), now, slices.Contains(p.Readout.AtCeiling, c.Name)))
	}
	if moved, others := slices.ContainsFunc(limits, p.limitMoved), p.chosenByOthers(); notes != nil && (moved || others != nil) {
		var with []string
		why := "what each decision used is on its trial’s page"
		if others != nil {
			with = append(with, p.Snap.Definition.Algorithm.Name)
			why = fmt.Sprintf("another algorithm chose %s, by the numbers on %s", TrialsInWords(others), words.Either(len(others) == 1, "its page", "their pages"))
		}
		if moved {
			with = append(with, "today’s limits")
		}
		notes = append(notes, fmt.Sprintf("These are what the multipliers would have been with %s from the first trial on: %s.", design.Listed(with, "and"), why))
	}
	panel.Y.Range = robustRange(nil, append(all, 0))
	return panel, notes
}

func (p *progressPanels) priceNow(j int) float64 {
	return p.Readout.Multipliers[p.Snap.Definition.Constraints[j].Name]
}

// chosenByOthers lists the trials that were chosen by another algorithm than the present one.
func (v Facts) chosenByOthers() []int {
	return lists.Pick(v.Snap.Trials, func(t *ledger.Trial) (int, bool) {
		return t.Number, t.Freely() && t.Decision != nil && t.Decision.Algorithm != v.Snap.Definition.Algorithm.Name
	})
}

// boundedTrials names the trials that a bound is on: all suggested ones, also those of a former
// algorithm.
func (v Facts) boundedTrials() string {
	return "the trials that the algorithm chose itself" + countingWords(v.chosenByOthers(), "")
}

// countingWords says that the trials of another algorithm count too, "" if there are none.
func countingWords(others []int, end string) string {
	if len(others) == 0 {
		return ""
	}
	return ", counting " + TrialsInWords(others) + " of another algorithm" + end
}

// violationsByRound lists the trials that break a limit as it is now, by which multipliers go,
// under the round after which they may have moved its multiplier: the trial's own, if the value is
// known beforehand or estimated; else the one in which the reading was told, or with which that
// epoch ended. Readings from before the metric had a scale count when it got one.
func (p *progressPanels) violationsByRound(c design.Constraint, path []float64) map[int][]int {
	trials, during, scaled := map[int][]int{}, p.Snap.During(), 0
	for !c.Given() && scaled < len(path) && !p.hadScale(c.Metric, scaled+1) {
		scaled++
	}
	for _, t := range p.Snap.Trials {
		m, there := t.Metrics[c.Metric]
		if !there || t.Excluded || c.Holds(m.Value) {
			continue
		}
		round := max(t.Number, scaled)
		if !p.Readout.ByEstimate && !c.Given() {
			for round = max(during(m.ToldSeq), scaled); round+1 < len(path) && path[round] == path[round-1]; {
				round++
			}
		}
		trials[round] = append(trials[round], t.Number)
	}
	return trials
}

// limitMoved tells whether a trial was chosen under another limit j than the present one.
func (p *progressPanels) limitMoved(j int) bool {
	return slices.ContainsFunc(p.Snap.LimitsThrough(), func(then []design.Constraint) bool { return limitDiffers(then[j], p.Snap.Definition.Constraints[j]) })
}

// multiplierWords says what a multiplier is and when it moved. It does not say why: estimates move
// some of them, schedules and margins others. path[i] is what decision i+1 used, the last entry
// what the next one will; breaking has the trials that broke the limit, by round.
func multiplierWords(path []float64, breaking map[int][]int, now float64, atCeiling bool) string {
	text := fmt.Sprintf("the next decision weighs possible excess with %s.", words.Rough(now))
	var broken, others []int
	rises, falls := 0, 0
	for i := 1; i < len(path); i++ {
		if path[i] < path[i-1] {
			falls++
		}
		if path[i] <= path[i-1] {
			continue
		}
		rises++
		if breaking[i] == nil {
			others = append(others, i)
		}
		broken = append(broken, breaking[i]...)
	}
	slices.Sort(broken)
	switch {
	case rises == 0:
		text += words.Either(falls == 0, " It has not moved.", " It has only fallen.")
	case len(others) == 0:
		text += " It rose after " + TrialsInWords(broken) + ", which broke the limit."
	case rises == len(path)-1:
		text += " It rose after every trial, whether the limit was broken or not, as the algorithm’s rule has it."
	case len(broken) == 0:
		text += " It rose after " + TrialsInWords(others) + ", not for a reading beyond the limit but as the algorithm’s rule has it."
	default:
		text += fmt.Sprintf(" It rose after %s, which broke the limit, and after %s, as the algorithm’s rule has it.", TrialsInWords(broken), design.Count(len(others), "other", "others"))
	}
	if falls > 0 && rises > 0 {
		text += fmt.Sprintf(" It fell after %s.", design.Count(falls, "trial", "trials"))
	}
	if atCeiling {
		text += " That is the most that the algorithm’s settings allow."
	}
	return text
}

// hasCurve tells whether more than one point of a limit's price curve is known.
func hasCurve(p study.Price) bool { return len(knownBest(p)) > 1 }

// knownBest lists the best values along a price curve, where they are known.
func knownBest(p study.Price) (best []float64) {
	for _, step := range p.Curve {
		if step.Best != nil {
			best = append(best, *step.Best)
		}
	}
	return best
}

// priceWords says what moving a limit by one step in either direction would be worth.
func priceWords(o design.Objective, p study.Price) string {
	now, looser, tighter := len(p.Curve)/2, len(p.Curve)/2+1, len(p.Curve)/2-1
	loosen, tighten := "Raising", "lowering"
	if p.Op == ">=" {
		loosen, tighten, looser, tighter = "Lowering", "raising", tighter, looser
	}
	at := func(i int) string { return words.Quantity(p.Curve[i].Threshold, p.Unit) }
	from := design.WriteNumber(p.Curve[now].Threshold)
	worth := func(i int) string {
		return "about " + words.Apart(words.Brief(math.Abs(*p.Curve[i].Best-*p.Curve[now].Best)), o.Unit) + " of " + design.Name(o.Metric)
	}
	matters := func(i int) bool {
		return p.Curve[i].Best != nil && math.Abs(*p.Curve[i].Best-*p.Curve[now].Best) > littleBesideSD**p.Curve[now].SD
	}
	move := fmt.Sprintf("%s the limit of %s from %s to %s ", loosen, design.Name(p.Constraint), from, at(looser))
	switch {
	case p.Curve[now].Best == nil:
		return fmt.Sprintf("%s: no settings have a 90%s%% chance to stay within every limit as it is.", design.OpeningName(p.Constraint), words.Thin)
	case matters(looser):
		move += "would be worth " + worth(looser)
	default:
		move += "would gain next to nothing"
	}
	switch {
	case p.Curve[tighter].Best == nil:
		move += fmt.Sprintf("; %s it to %s would leave no settings that probably keep every limit", tighten, at(tighter))
	case matters(tighter):
		move += fmt.Sprintf("; %s it to %s would cost %s", tighten, at(tighter), worth(tighter))
	default:
		move += fmt.Sprintf("; %s it to %s would cost next to nothing", tighten, at(tighter))
	}
	if matters(looser) || matters(tighter) {
		move += slopeWords(p, o)
	}
	return move + "."
}

// littleBesideSD is the share of the standard deviation of an expected value below which a
// difference is called next to nothing.
const littleBesideSD = 0.05

// slopeWords gives the slope of a price curve, which is the limit's multiplier, "" if it is 0 or
// unknown.
func slopeWords(p study.Price, o design.Objective) string {
	if p.Slope == nil || *p.Slope == 0 {
		return ""
	}
	each := cmp.Or(design.UnitApart(p.Unit), "unit")
	return fmt.Sprintf(" (slope, the limit’s multiplier: %s for each %s of %s)", words.Apart(words.Brief(*p.Slope), o.Unit), words.Either(each == design.UnitApart("%"), "point", each), design.Name(p.Metric))
}

func (v Facts) priceChart() *templates.Chart {
	if !slices.ContainsFunc(v.Prices, hasCurve) {
		return nil
	}
	d := v.Snap.Definition
	var cells []chart.Panel
	notes := []string{fmt.Sprintf("Each line is the %s %s that the model expects among settings with a 90%s%% chance to stay within every limit, one limit being moved and the others not. Dashed: the limit as it is.",
		words.Either(d.Objective.Direction == "minimize", "lowest", "highest"), design.Name(d.Objective.Metric), words.Thin)}
	table := templates.Table{Head: []templates.Column{column("Limit"), number("At", ""), number("Best expected "+d.Objective.Metric, d.Objective.Unit),
		number("±", d.Objective.Unit), column("With")}}
	var all, sds []float64
	for _, p := range v.Prices {
		all = append(all, knownBest(p)...)
		for _, step := range p.Curve {
			if step.SD != nil {
				sds = append(sds, *step.SD)
			}
		}
	}
	low, high := paddedRange(all, slices.Min(sds))
	show := words.Alike(slices.Min(sds))
	for _, p := range v.Prices {
		at := words.Column(lists.Map(p.Curve, func(step study.PriceStep) float64 { return step.Threshold }))
		if notes = append(notes, priceWords(d.Objective, p)); !hasCurve(p) {
			continue
		}
		best := chart.Trace{Name: "best expected", Style: chart.Line}
		for _, step := range p.Curve {
			row := []string{p.Constraint, words.With(at(step.Threshold), p.Unit), "–", "", "no settings probably keep every limit"}
			if step.Best != nil {
				best.Add(step.Threshold, *step.Best)
				row = []string{row[0], row[1], show(*step.Best), show(*step.SD), settingsLine(d, *step.Parameters)}
			}
			table.Rows = append(table.Rows, row)
		}
		limit := chart.Trace{Name: "limit as it is", Style: chart.Threshold, X: []any{p.Threshold, p.Threshold}, Y: []any{low, high}}
		cells = append(cells, chart.Panel{Group: "prices", Title: words.AxisName(design.Capitalised(d.Objective.Metric), d.Objective.Unit),
			X: chart.Axis{Title: words.AxisName("limit of "+p.Constraint, p.Unit)}, Y: chart.Axis{Range: []float64{low, high}}, Traces: []chart.Trace{limit, best}})
	}
	return new(v.withSource(templates.Chart{ID: "chart-prices", Title: "What moving a limit would be worth", Beside: true, Notes: notes, Table: table, Drawing: chart.Drawing{Cells: cells}}))
}

// paddedRange is the range of one or more values with some room around: at least their standard
// deviation sd, so that differences without meaning do not fill the chart.
func paddedRange(values []float64, sd float64) (low, high float64) {
	low, high = slices.Min(values), slices.Max(values)
	room := cmp.Or(math.Max(0.08*(high-low), sd), math.Max(math.Abs(low), 1)*0.01)
	return low - room, high + room
}
