package view

import (
	"fmt"
	"slices"

	"headroom/internal/study/design"
	"headroom/internal/study/ledger"
	"headroom/internal/view/chart"
	"headroom/internal/view/words"
)

// posed is the simulated laboratory that answers, where the study has asked its problem as it
// stands all along, so that the problem's best settings are its own; else nil.
func (p *panelling) posed() design.SimulatedLab {
	d := p.Snap.Definition
	lab, err := design.FindSimulatedLab(d.SimulatedLab)
	if err != nil {
		return nil
	}
	for _, revision := range p.Snap.Revisions {
		if d.Constraints = revision.Limits; (revision.Kind == ledger.Created || revision.Kind == ledger.Reconfigured) && !d.Poses(lab) {
			return nil
		}
	}
	return lab
}

// truthName is what legends call what is true.
const truthName = "the truth, which only the simulated lab knows"

// trueAlong is a metric along a parameter as it is in truth at the next trial, nothing where nobody
// knows it or only listed settings can be played.
func (o Outlook) trueAlong(metric, parameter string, at []design.Value) chart.Trace {
	line := chart.Trace{Name: truthName, Style: chart.Truth}
	lab, err := design.FindSimulatedLab(o.Snap.Definition.SimulatedLab)
	if err != nil || len(o.Snap.Definition.Candidates) > 0 {
		return line
	}
	settings := o.Point.Clone()
	for _, value := range at {
		settings[parameter] = value
		if y, there := lab.Truth(len(o.Snap.Trials)+1, settings)[metric]; there {
			line.X, line.Y = append(line.X, plotValue(value)), append(line.Y, words.SixDigits(y))
		}
	}
	return line
}

// behind are, for each trial, the best that could be had then, and how far those up to it are
// behind it on average, in truth:
//
//	f*_t and R(t)/t = (1/t) Σ_{s≤t} (f*_s − f_s(x_s))
//
// and own is the sum over those that the algorithm chose and that count; nil where it is not known.
// Where limits were broken it may be negative.
func (p *panelling) behind() (best, average, own []float64) {
	lab := p.posed()
	if lab == nil {
		return nil, nil, nil
	}
	objective, sum, chosen := p.Snap.Definition.Objective.Metric, 0.0, 0.0
	for _, t := range p.Snap.Trials {
		most := lab.Truth(t.Number, lab.Best(t.Number))[objective]
		behind := most - lab.Truth(t.Number, t.Parameters)[objective]
		sum += behind
		if t.Origin == ledger.Suggested && !t.Excluded {
			chosen += behind
		}
		best, average, own = append(best, most), append(average, sum/float64(t.Number)), append(own, chosen)
	}
	return best, average, own
}

// trueLines are the best that could be had over trials, and below it by R(t)/t the average; must
// are their ends, said what they come to.
func (p *panelling) trueLines() (lines []chart.Trace, must []float64, said string) {
	if len(p.regret) == 0 {
		return nil, nil, ""
	}
	best, reachable := p.line(sum{"best that can be had, in truth", chart.Truth, func(i int) *float64 { return &p.reachable[i] }})
	mean, _ := p.line(sum{"average of the trials so far, in truth", chart.Second, func(i int) *float64 { return new(p.reachable[i] - p.regret[i]) }})
	last, unit := len(p.regret)-1, p.Snap.Definition.Objective.Unit
	behind, within := p.regret[last], "within the limits"
	if slices.ContainsFunc(p.Snap.Definition.Constraints, design.Constraint.Given) { // known anew for each trial
		within += " on average"
	}
	return []chart.Trace{best, mean}, append(reachable, p.reachable[last]-behind), fmt.Sprintf("In truth %s can be had %s; on average per trial those so far are %s%s it (R(t)/t).",
		words.Roughly(p.reachable[last], unit), within, words.Roughly(max(behind, -behind), unit), words.Either(behind < 0, " above, beyond a limit,", " behind"))
}

// averageOf is the threshold and V(t)/t = (1/t) Σ_{s≤t} g_s after trial i+1, in the metric's unit:
// the average of its readings, nil where there is none.
func (p *panelling) averageOf(j, i int) *float64 {
	c, sum := p.Snap.Definition.Constraints[j], p.sums[i][j]
	if sum.Known == 0 {
		return nil
	}
	return new(c.Exceeded(sum.Balance / float64(sum.Known)))
}

// averageWords say where the average stands, and what is left to spend before the sum of all trials
// breaks the limit.
func (p *panelling) averageWords(j int) string {
	last := len(p.sums) - 1
	c, sum := p.Snap.Definition.Constraints[j], p.sums[last][j]
	if sum.Known == 0 {
		return ""
	}
	said := fmt.Sprintf("On average %s is %s per trial against its limit of %s (V(t)/t is %s): ", c.Metric, words.With(words.RoughOr(p.averageOf(j, last)), c.Unit),
		words.Quantity(c.Threshold, c.Unit), words.Roughly(sum.Balance/float64(sum.Known), c.Unit))
	if sum.Balance > 0 {
		said += words.Roughly(sum.Balance, c.Unit) + " in sum is overspent"
	} else {
		said += "where margin pays for excess, " + words.Roughly(-sum.Balance, c.Unit) + " in sum is left to spend"
	}
	if left := p.Snap.Definition.Algorithm.Horizon - sum.Known; left > 0 && !p.Snap.State.Over() {
		said += fmt.Sprintf(", so that the %s still planned may average %s or %s", words.Count(left, "trial", "trials"),
			words.Roughly(c.Exceeded(-sum.Balance/float64(left)), c.Unit), words.Either(c.Op == ">=", "more", "less"))
	}
	return said + "."
}
